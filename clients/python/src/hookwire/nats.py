"""A pool of hosts behind a NATS server: what asking one takes of NATS's text protocol, and nothing else.

A member of the pool says at once that it has an event, and again and again while it judges. So a member that has died
is known from one that takes long, and another is asked, once, within the deadline.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import selectors
import socket
import ssl
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Callable
from urllib.parse import urlsplit

from .connection import HostGone, RequestFailed, settle

# Servers before it let clients pass their permissions.
OLDEST = (2, 12, 7)
# Seconds for a server to answer while the connection is made, and for a pool without members to find one.
PATIENCE, PAUSE = 5.0, 0.25
# No line of a server and no headers are longer, and no message: 64 MiB is the most that a server can be set to.
LONGEST_LINE, LONGEST = 64 << 10, 64 << 20
# What headers and the protocol may take of a message.
OVERHEAD = 1024
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
READ_WRITE = selectors.EVENT_READ | selectors.EVENT_WRITE


@dataclass
class Pool:
    """Where a pool is, and as whom it is asked."""

    servers: list[tuple[str, int, bool]]
    name: str
    user: str | None
    password_file: str | os.PathLike[str] | None
    ca_file: str | os.PathLike[str] | None

    @classmethod
    def of(
        cls,
        fleet: str,
        pool: str | None,
        user: str | None,
        password_file: str | os.PathLike[str] | None,
        ca_file: str | os.PathLike[str] | None,
    ) -> Pool:
        if pool is None or not NAME.fullmatch(pool):
            raise ValueError(f"pool= is 1 to 64 of the characters A-Z, a-z, 0-9, _ and -, not {pool!r}")
        if user is not None and not NAME.fullmatch(user):
            raise ValueError(f"user= stands in a subject: 1 to 64 of the characters A-Z, a-z, 0-9, _ and -, not {user!r}")
        if (user is None) != (password_file is None):
            raise ValueError("user= and password_file= belong together")
        scheme = fleet.partition("://")[0]
        servers = []
        for url in fleet.split(","):
            parts = urlsplit(url if "://" in url else f"{scheme}://{url}")
            if parts.username is not None or parts.password is not None:
                raise ValueError("a password in fleet= can be read in logs; write user= and password_file=")
            if parts.scheme not in ("nats", "tls") or not parts.hostname or parts.path not in ("", "/"):
                raise ValueError("fleet= is nats://HOST:PORT or tls://HOST:PORT, several with commas between them")
            servers.append((parts.hostname, parts.port or 4222, parts.scheme == "tls"))
        return cls(servers, pool, user, password_file, ca_file)

    def password(self) -> str | None:
        if self.password_file is None:
            return None
        with open(self.password_file, encoding="utf-8") as file:
            about = os.fstat(file.fileno())
            if about.st_mode & (0o037 if about.st_uid == 0 else 0o077):
                raise PermissionError(f"others can read {self.password_file}; chmod 600 it")
            return file.read(4096).rstrip("\r\n")


@dataclass
class _Asked:
    """A request on its way; times are those of the monotonic clock."""

    future: Future[Any]
    payload: bytes
    wait: float
    end: float
    #: When something is to be done about it: it is sent, or its member was silent for too long.
    due: float
    n_sent: int = 0
    #: Whether it is to be sent when it is due.
    sends: bool = True


class PoolConnection:
    """A connection to a server, until it is gone. Nothing here waits but its own thread, so it can be used from any
    thread and any event loop."""

    def __init__(self, pool: Pool, on_ready: Callable[[], None]):
        self._pool, self._on_ready = pool, on_ready
        self._lock = threading.Lock()
        self._pending: dict[int, _Asked] = {}
        self._last_id = 0
        self._inbox = f"_INBOX.{pool.user or 'hookwire'}.{secrets.token_hex(16)}"
        self._max_payload = 1 << 20
        self._input, self._output = bytearray(), bytearray()
        self._wakes, self._woken = socket.socketpair()
        self._wakes.setblocking(False)
        self._woken.setblocking(False)
        #: Why this connection is gone; None while it is there.
        self.gone: str | None = None
        #: When a request was sent to which the server has given no sign of life.
        self.silent_since: float | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="hookwire pool")
        self._thread.start()

    def request(self, method: str, params: Any) -> tuple[int, Future[Any]]:
        future: Future[Any] = Future()
        with self._lock:
            if self.gone is not None:
                raise HostGone(self.gone)
            self._last_id += 1
            id = self._last_id
            message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
            payload = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
            # The host is told nine tenths of the time that this client waits.
            now, wait = time.monotonic(), params["deadlineMs"] / 900
            self._pending[id] = _Asked(future, payload, wait, now + wait, now)
            self.silent_since = self.silent_since or now
        self._wake()
        return id, future

    def cancel(self, id: int) -> None:
        """Ends a request; its reply, if one still comes, is passed over."""
        with self._lock:
            self._pending.pop(id, None)

    def close(self) -> None:
        self.end("the client has closed")
        if threading.current_thread() is not self._thread:
            self._thread.join(1.0)

    def end(self, why: str) -> None:
        """The connection is gone or has to go. What waits for it fails at once."""
        with self._lock:
            if self.gone is not None:
                return
            self.gone = why
            pending, self._pending = self._pending, {}
        self._wake()
        for asked in pending.values():
            settle(asked.future, HostGone(why))

    def _wake(self) -> None:
        try:
            self._wakes.send(b"x")
        except OSError:
            pass  # it is full, so the thread wakes; or it is closed

    # What the thread does

    def _run(self) -> None:
        sock = None
        try:
            sock = self._connect()
            self._serve(sock)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
            self.end(f"the pool {self._pool.name} can't be asked: {problem or type(problem).__name__}")
        finally:
            self.end("the connection has ended")
            for it in (sock, self._wakes, self._woken):
                if it:
                    it.close()

    def _connect(self) -> socket.socket:
        problem: Exception | None = None
        for host, port, tls in self._pool.servers:
            if self.gone is not None:
                break
            try:
                return self._connect_to(host, port, tls)
            except (OSError, ValueError) as failed:
                problem = ConnectionError(f"{host}:{port}: {failed or type(failed).__name__}")
        raise problem or OSError("the client has closed")

    def _connect_to(self, host: str, port: int, tls: bool) -> socket.socket:
        sock = socket.create_connection((host, port), PATIENCE)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._input.clear()
            self._output.clear()
            info = self._read_info(self._line(sock))
            if tls or info.get("tls_required"):
                if not (info.get("tls_required") or info.get("tls_available")):
                    raise ConnectionRefusedError("the server speaks no TLS")
                if self._input:
                    raise ConnectionRefusedError("something is said before TLS is spoken")
                context = ssl.create_default_context(cafile=self._pool.ca_file)
                sock = context.wrap_socket(sock, server_hostname=host)
            options = {
                "verbose": False, "pedantic": False, "tls_required": tls, "name": "hookwire", "lang": "python",
                "version": "0", "protocol": 1, "echo": False, "headers": True, "no_responders": True,
            }  # fmt: skip
            if self._pool.user is not None:
                options.update(user=self._pool.user, **{"pass": self._pool.password()})
            sock.sendall(f"CONNECT {json.dumps(options)}\r\nSUB {self._inbox}.> 1\r\nPING\r\n".encode())
            while (line := self._line(sock)) != b"PONG":
                if line.startswith(b"-ERR"):
                    raise ConnectionRefusedError(_readable(line[4:]).strip(" '"))
                if line.startswith(b"PING"):
                    sock.sendall(b"PONG\r\n")
            return sock
        except BaseException:
            sock.close()
            raise

    def _read_info(self, line: bytes) -> dict[str, Any]:
        if not line.startswith(b"INFO "):
            raise ConnectionRefusedError("who answers there is no NATS server")
        info = json.loads(line[5:])
        version = str(info.get("version", ""))
        numbers = re.fullmatch(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})([-+].*)?", version)
        found = tuple(int(it) for it in numbers.group(1, 2, 3)) if numbers else ()
        if found < OLDEST or (found == OLDEST and "-" in version):
            raise ConnectionRefusedError(f"the server is {version}, which lets clients pass its permissions; 2.12.7 is needed")
        self._max_payload = min(int(info.get("max_payload", self._max_payload)), LONGEST)
        return info

    def _line(self, sock: socket.socket) -> bytes:
        """A line, while the connection is made."""
        while (end := self._input.find(b"\r\n")) < 0:
            if len(self._input) > LONGEST_LINE:
                raise ValueError("a line of the server is too long")
            data = sock.recv(4096)
            if not data:
                raise ConnectionResetError("the server has closed the connection")
            self._input += data
        line = bytes(self._input[:end])
        del self._input[: end + 2]
        return line

    def _serve(self, sock: socket.socket) -> None:
        """Sends and reads until the connection is gone. One thread does both, because TLS can't be spoken by two."""
        self._on_ready()
        sock.setblocking(False)
        with selectors.DefaultSelector() as selector:
            selector.register(sock, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while self.gone is None:
                due = self._act()
                self._send(sock)
                selector.modify(sock, READ_WRITE if self._output else selectors.EVENT_READ)
                selector.select(None if due is None else max(0.0, due - time.monotonic()))
                try:
                    self._woken.recv(4096)
                except BlockingIOError:
                    pass
                if not self._receive(sock):
                    return self.end("the server has closed the connection")

    def _send(self, sock: socket.socket) -> None:
        try:
            while self._output:
                sent = sock.send(bytes(self._output[: 1 << 16]))
                del self._output[:sent]
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass

    def _receive(self, sock: socket.socket) -> bool:
        """Takes in what has come; false at the end."""
        try:
            while data := sock.recv(1 << 16):
                self.silent_since = None
                self._input += data
                while self._take():
                    pass
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return True
        return False

    def _take(self) -> bool:
        """Takes one message out of what was read, if it is there as a whole."""
        end = self._input.find(b"\r\n", 0, LONGEST_LINE)
        if end < 0:
            if len(self._input) >= LONGEST_LINE:
                raise ValueError("a line of the server is too long")
            return False
        line = bytes(self._input[:end])
        word, *words = line.split()[:6] or [b""]
        if word not in (b"MSG", b"HMSG"):
            del self._input[: end + 2]
            if word == b"PING":
                self._output += b"PONG\r\n"
            elif word == b"-ERR":
                self._refused(_readable(line[4:]).strip(" '"))
            return True
        n_header = int(words[-2]) if word == b"HMSG" else 0
        size = int(words[-1])
        if not 0 <= n_header <= min(size, LONGEST_LINE) or size > LONGEST + LONGEST_LINE:
            raise ValueError("a message is too long")
        begin = end + 2
        if len(self._input) < begin + size + 2:
            return False
        header = bytes(self._input[begin : begin + n_header])
        payload = bytes(self._input[begin + n_header : begin + size])
        del self._input[: begin + size + 2]
        self._hear(words[0].decode(), header, payload)
        return True

    def _refused(self, problem: str) -> None:
        if not problem.lower().startswith("permissions violation for publish"):
            return self.end(f"the server says: {problem}")
        # The one thing that is published is requests.
        with self._lock:
            pending, self._pending = self._pending, {}
        for asked in pending.values():
            settle(asked.future, HostGone(f"the server doesn't permit that: {problem}"))

    def _hear(self, subject: str, header: bytes, payload: bytes) -> None:
        """What is said of a request. Anything but `done` is no answer."""
        place = re.fullmatch(r"(.*)\.(\d{1,9})\.(\d{1,9})", subject, re.ASCII)
        if place is None or place[1] != self._inbox:
            return
        id, n_sent = int(place[2]), int(place[3])
        status, *lines = header.decode("utf-8", "replace").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        state = headers.get("hookwire-state")
        with self._lock:
            asked = self._pending.get(id)
            if asked is None:
                return
            is_last = n_sent == asked.n_sent
            if state == "done":
                del self._pending[id]
            elif state == "working" and not asked.sends:
                asked.due = time.monotonic() + silence(asked.wait)
        if state == "done":
            settle(asked.future, _result(payload, id))
        elif state == "refused" and is_last:
            host = _readable(headers.get("hookwire-host", "").encode())
            self._again(id, f"the host {host} of the pool refuses: {_readable(payload)}", 0)
        elif status.split()[1:2] == ["503"] and is_last:
            self._again(id, f"no host answers for the pool {self._pool.name}", PAUSE)

    def _act(self) -> float | None:
        """Does what is due; gives when the next thing is."""
        now = time.monotonic()
        with self._lock:
            due = [(id, it) for id, it in self._pending.items() if it.due <= now or it.end <= now]
        for id, asked in due:
            if asked.end <= now:
                self._fail(id, f"no answer of the pool {self._pool.name} within {asked.wait:g} s")
            elif asked.sends:
                self._publish(id, asked, now)
            else:
                self._again(id, f"{asked.n_sent} of the pool's hosts had the event and fell silent", 0)
        with self._lock:
            return min((min(it.due, it.end) for it in self._pending.values()), default=None)

    def _publish(self, id: int, asked: _Asked, now: float) -> None:
        if (size := len(asked.payload)) > self._max_payload - OVERHEAD:
            return self._fail(id, f"the event has {size} bytes, and the server takes {self._max_payload - OVERHEAD}")
        asked.n_sent += 1
        asked.sends, asked.due = False, now + silence(asked.wait)
        header = f"NATS/1.0\r\nHookwire-Wait: {int((asked.end - now) * 1000)}\r\n\r\n".encode()
        place = f"HPUB hw.dispatch.{self._pool.name} {self._inbox}.{id}.{asked.n_sent}"
        self._output += f"{place} {len(header)} {len(header) + size}\r\n".encode() + header + asked.payload + b"\r\n"

    def _again(self, id: int, problem: str, pause: float) -> None:
        """Asks once more, or gives up."""
        now = time.monotonic()
        with self._lock:
            asked = self._pending.get(id)
            if asked is not None and asked.n_sent < 2:
                asked.sends, asked.due = True, now + min(pause, (asked.end - now) / 4)
                return
        self._fail(id, problem)

    def _fail(self, id: int, problem: str) -> None:
        with self._lock:
            asked = self._pending.pop(id, None)
        if asked is not None:
            settle(asked.future, HostGone(problem))


def silence(wait: float) -> float:
    """How long a member may be silent, in seconds, for a client that waits so long: it is heard several times by then."""
    return min(max(wait / 3, 0.2), 3.0)


def _result(payload: bytes, id: int) -> Any:
    try:
        message = json.loads(payload)
        if message["id"] != id:
            return HostGone("the pool's reply is to something else")
        if error := message.get("error"):
            return RequestFailed(error["code"], error["message"])
        return message["result"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return HostGone("the pool's reply can't be read")


def _readable(text: bytes) -> str:
    return "".join(it for it in text[:1000].decode("utf-8", "replace") if it.isprintable())
