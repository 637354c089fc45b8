"""One host on the other end of two pipes, a socket or a WebSocket, until it is gone."""

from __future__ import annotations

import json
import queue
import socket
import subprocess
import threading
import time
from concurrent.futures import Future, InvalidStateError
from typing import IO, Any, Callable

from .websocket import WebSocket

# No message is longer; a verdict may hold a whole file.
LONGEST = 256 << 20


class HostGone(Exception):
    """The host has ended, hangs, or can't be started."""


class RequestFailed(Exception):
    """The host refused a request: JSON-RPC's code and message."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


class Connection:
    """Nothing here waits for the host but its own two threads, so it can be used from any thread and any event loop."""

    def __init__(
        self,
        on_request: Callable[[str, Any, Callable[[Any], None], Callable[[Exception], None]], Callable[[], Any]],
        on_notification: Callable[[str, Any], None],
        *,
        command: list[str] | None = None,
        path: str | None = None,
        url: str | None = None,
        token: str = "",
        options: dict[str, Any] | None = None,
    ):
        self._on_request, self._on_notification = on_request, on_notification
        self._lock = threading.Lock()
        self._pending: dict[int, Future[Any]] = {}
        # What stops the work on a request of the host, by its id.
        self._working: dict[Any, Callable[[], Any]] = {}
        self._last_id = 0
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        #: Why this host is gone; None while it is there.
        self.gone: str | None = None
        #: When a request was sent to which the host has given no sign of life.
        self.silent_since: float | None = None
        self._input: IO[bytes] | WebSocket
        self._output: IO[bytes] | WebSocket
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        if url is not None:
            self._input = self._output = websocket = WebSocket(url, token)
            self._socket = websocket.socket
        elif path is not None:
            self._socket = socket.socket(socket.AF_UNIX)
            try:
                self._socket.connect(path)
            except OSError:
                self._socket.close()
                raise
            self._input, self._output = self._socket.makefile("rb"), self._socket.makefile("wb")
        else:
            assert command is not None
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, **(options or {}))
            assert self._process.stdin and self._process.stdout
            self._input, self._output = self._process.stdout, self._process.stdin
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True, name="hookwire").start()

    def request(self, method: str, params: Any) -> tuple[int, Future[Any]]:
        future: Future[Any] = Future()
        with self._lock:
            if self.gone is not None:
                raise HostGone(self.gone)
            self._last_id += 1
            id = self._last_id
            self._pending[id] = future
            self.silent_since = self.silent_since or time.monotonic()
        self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return id, future

    def cancel(self, id: int) -> None:
        """Ends a request; its reply, if one still comes, is passed over."""
        with self._lock:
            waiting = self._pending.pop(id, None)
        if waiting is not None:
            self._send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}})

    def close(self, patience: float = 2.0) -> None:
        """Lets the host end, for so many seconds; then it is killed."""
        self._outgoing.put(None)
        if self._process:
            try:
                self._process.wait(patience)
            except subprocess.TimeoutExpired:
                pass
        self.end("the client has closed")

    def end(self, why: str) -> None:
        """The host is gone or has to go. What waits for it fails at once."""
        with self._lock:
            if self.gone is not None:
                return
            self.gone = why
            pending, self._pending = self._pending, {}
            working, self._working = self._working, {}
        self._outgoing.put(None)
        if self._process:
            self._process.kill()
            self._process.wait()
        if self._socket:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for stop in working.values():
            stop()
        for future in pending.values():
            settle(future, HostGone(why))

    def _send(self, message: dict[str, Any]) -> None:
        try:
            line = json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        except (TypeError, ValueError):
            with self._lock:
                self._pending.pop(message.get("id", 0), None)
            raise
        self._outgoing.put(line)

    def _write(self) -> None:
        try:
            while (line := self._outgoing.get()) is not None:
                self._output.write(line)
                self._output.flush()
        except (OSError, ValueError):
            self.end("the host has ended")
        try:
            if isinstance(self._output, WebSocket):
                self._output.finish()
            else:
                self._output.close()
            if self._socket:
                self._socket.shutdown(socket.SHUT_WR)
        except (OSError, ValueError):
            pass

    def _read(self) -> None:
        why = "the host has ended"
        try:
            while (line := self._input.readline(LONGEST)).endswith(b"\n"):
                self.silent_since = None
                self._take(json.loads(line))
        except OSError:
            pass
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            why = "the host sent something unreadable"
        self.end(why)
        self._input.close()
        if self._socket:
            self._socket.close()

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            with self._lock:
                future = self._pending.pop(message["id"], None)
            if future and (error := message.get("error")):
                settle(future, RequestFailed(error["code"], error["message"]))
            elif future:
                settle(future, message.get("result"))
        elif message["method"] == "$/cancelRequest":
            with self._lock:
                stop = self._working.pop(message["params"]["id"], None)
            if stop:
                stop()
        elif "id" in message:
            self._serve(message["id"], message["method"], message.get("params"))
        else:
            self._on_notification(message["method"], message.get("params"))

    def _serve(self, id: Any, method: str, params: Any) -> None:
        def reply(result: Any) -> None:
            with self._lock:
                self._working.pop(id, None)
            try:
                self._send({"jsonrpc": "2.0", "id": id, "result": result})
            except (TypeError, ValueError) as problem:
                refuse(TypeError(f"the answer is not JSON: {problem}"))

        def refuse(error: Exception) -> None:
            with self._lock:
                self._working.pop(id, None)
            message = f"{type(error).__name__}: {error}"
            code = error.code if isinstance(error, RequestFailed) else -32000
            self._send({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})

        with self._lock:
            self._working[id] = lambda: None
        stop = self._on_request(method, params, reply, refuse)
        with self._lock:
            if id in self._working:
                self._working[id] = stop


def settle(future: Future[Any], outcome: Any) -> None:
    """The caller may have given up at this very moment."""
    try:
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
    except InvalidStateError:
        pass
