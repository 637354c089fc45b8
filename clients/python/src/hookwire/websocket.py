"""A WebSocket (RFC 6455) to a host on this machine, read and written as a pipe is: one message a line."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import socket
import threading
from urllib.parse import urlsplit

# RFC 6455: what is hashed behind the key, and the kinds of frames.
MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
GOES_ON, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
PATIENCE = 5.0


class WebSocket:
    def __init__(self, url: str, token: str):
        host = address(url)
        if not re.fullmatch(r"[\w.~+/=-]+", token, re.ASCII):
            raise ValueError("the token has characters that a header can't hold")
        #: For whoever has to cut it off.
        self.socket = socket.create_connection((host.hostname or "", host.port or 80), PATIENCE)
        self._file, self._lock = self.socket.makefile("rb"), threading.Lock()
        try:
            self._shake_hands(host.netloc, token)
        except BaseException:
            self.close()
            raise
        self.socket.settimeout(None)

    def _shake_hands(self, netloc: str, token: str) -> None:
        key = base64.b64encode(os.urandom(16))
        request = (
            f"GET /rpc HTTP/1.1\r\nHost: {netloc}\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\n"
            f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key.decode()}\r\n\r\n"
        )
        self.socket.sendall(request.encode())
        status = self._file.readline(1000).split(b" ", 2)
        headers = {}
        while (line := self._file.readline(1000)) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        if status[1:2] != [b"101"]:
            raise ConnectionRefusedError(f"the host refuses the WebSocket: {b' '.join(status[1:]).decode().strip()}")
        if headers.get(b"sec-websocket-accept") != base64.b64encode(hashlib.sha1(key + MAGIC).digest()):
            raise ConnectionRefusedError("who answers there is no host")

    def readline(self, limit: int) -> bytes:
        """A message and a line feed; nothing at the end."""
        message = b""
        while True:
            head = self._file.read(2)
            if len(head) < 2:
                return b""
            kind, length = head[0] & 15, head[1] & 127
            if length >= 126:
                length = int.from_bytes(self._file.read(2 if length == 126 else 8), "big")
            if len(message) + length > limit:
                raise ValueError("the message is too long")
            data = self._file.read(length)
            if len(data) < length or kind == CLOSE:
                return b""
            if kind == PING:
                self._send(PONG, data)
            elif kind in (GOES_ON, TEXT, BINARY):
                message += data
                if head[0] & 128:
                    return message + b"\n"

    def write(self, line: bytes) -> None:
        self._send(TEXT, line.rstrip(b"\n"))

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        """Says that nothing more will be written."""
        self._send(CLOSE, b"")

    def close(self) -> None:
        self._file.close()
        self.socket.close()

    def _send(self, kind: int, data: bytes) -> None:
        length, key = len(data), os.urandom(4)
        if length < 126:
            head = bytes([128 | kind, 128 | length])
        elif length < 1 << 16:
            head = bytes([128 | kind, 254]) + length.to_bytes(2, "big")
        else:
            head = bytes([128 | kind, 255]) + length.to_bytes(8, "big")
        mask = int.from_bytes((key * (length // 4 + 1))[:length], "big")
        masked = (int.from_bytes(data, "big") ^ mask).to_bytes(length, "big")
        with self._lock:
            self.socket.sendall(head + key + masked)


def address(url: str):
    """The parts of a host's address. The token isn't encrypted, so it stays on this machine."""
    parts = urlsplit(url)
    if parts.scheme not in ("ws", "http") or parts.hostname not in ("127.0.0.1", "::1", "localhost") or parts.username:
        raise ValueError(f"a host's address is ws://127.0.0.1:PORT, not {url}")
    return parts
