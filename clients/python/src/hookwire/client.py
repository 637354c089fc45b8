"""The client: keeps a host, sends it events, and answers what the host asks."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import json
import logging
import os
import sys
import threading
import time
import weakref
from concurrent.futures import Future, TimeoutError as FutureTimeout
from typing import Any, Callable, Iterable, Mapping, TypeVar

from .blocking import now
from .connection import Connection, HostGone, RequestFailed
from .nats import Pool, PoolConnection
from .program import NoProgram, find_program
from .protocol import (
    VERSION,
    ApprovalAnswer,
    ApprovalList,
    CheckResult,
    ExplainResult,
    Item,
    ListResult,
    Recent,
    ReloadResult,
)
from .verdict import Verdict
from .websocket import address

log = logging.getLogger("hookwire")
F = TypeVar("F", bound=Callable[..., Any])

# JSON-RPC's codes for a request that is wrong by itself: another host would refuse it too.
CALLERS_FAULT = (-32600, -32601, -32602)
# Pauses before the next start of a host, in seconds, after so many starts that came to nothing.
PAUSES = (0, 0, 0.1, 0.5, 2, 5, 15, 30)


class _Client:
    """All but how a reply is waited for."""

    def __init__(
        self,
        *hooks: str | os.PathLike[str],
        live: bool = False,
        root: str | os.PathLike[str] | None = None,
        connect: str | os.PathLike[str] | None = None,
        token: str | None = None,
        fleet: str | None = None,
        pool: str | None = None,
        user: str | None = None,
        password_file: str | os.PathLike[str] | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        program: str | os.PathLike[str] | None = None,
        arguments: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        fail: str = "closed",
        deadline: float | None = None,
        patience: float = 5.0,
        decisions: Iterable[str] = ("allow", "deny", "rewrite"),
        session: str | None = None,
        agent: str | None = None,
        approve: Callable[..., Any] | None = None,
        complete: Callable[..., Any] | None = None,
        show: Callable[[str], Any] | None = None,
    ):
        """`hooks`: directories of definitions. `live`: also those of the project's `.hookwire`, in `root` or the
        current directory. `connect`: a host's socket, or its `ws://127.0.0.1:PORT` with a `token` (else that of
        HOOKWIRE_TOKEN), instead of a host of one's own. `fleet`: NATS servers, `nats://HOST` or `tls://HOST`, whose
        `pool` of hosts judges instead; `user` and `password_file` say who asks, `ca_file` whose certificates count.
        `program`: the hookwire to run,
        `arguments`: more arguments for its `serve`, `env`: its environment.

        `fail`: what holds while there is no host: `closed` denies, `open` allows. `deadline`: seconds for a verdict;
        by default 30, or 330 where a person may be asked. `patience`: a host that has been silent for so many seconds
        when a deadline passes is replaced. `decisions`: what this agent can honour; any other becomes a deny.

        `session` and `agent` name what sends the events, where an event doesn't. `approve` asks a person: it gets a
        question and returns true, false or an `ApprovalReply`. `complete` is the agent's own model. `show` shows hooks'
        messages to the person; by default they go to stderr."""
        if fail not in ("closed", "open"):
            raise ValueError(f'fail is "closed" or "open", not {fail!r}')
        own = hooks or live or root or program or arguments or env
        if connect is not None and own:
            raise ValueError("a host that runs already has its own definitions: connect takes no others")
        if fleet is None and (pool or user or password_file or ca_file):
            raise ValueError("pool=, user=, password_file= and ca_file= are for fleet=")
        if fleet is not None and (own or connect is not None or approve or complete):
            raise ValueError("a pool's hosts have their own definitions, people and models: fleet takes no others")
        if fleet is not None and set(decisions) != {"allow", "deny", "rewrite"}:
            raise ValueError("a pool's verdicts allow, deny and rewrite")
        self._pool = None if fleet is None else Pool.of(fleet, pool, user, password_file, ca_file)
        self.fail = fail
        self.deadline = deadline or (330.0 if approve else 30.0)
        self.show = show or (lambda text: print(f"[hook] {text}", file=sys.stderr, flush=True))
        self.session = session or f"{os.getpid():x}-{time.time_ns():x}"
        self.agent = agent
        self._patience, self._decisions = patience, list(decisions)
        self._connect = None if connect is None else os.fspath(connect).removeprefix("unix:")
        self._url, self._token = None, token or os.environ.get("HOOKWIRE_TOKEN", "")
        if self._connect is not None and self._connect.startswith(("ws:", "http:")):
            self._url, _ = self._connect, address(self._connect)
            if not self._token:
                raise ValueError("a host at a port of this machine wants a token: token= or HOOKWIRE_TOKEN")
        self._program, self._env = program, env
        self._arguments = [it for path in hooks for it in ("--hooks", os.fspath(path))]
        self._arguments += ["--live"] if live else []
        self._arguments += ["--root", os.fspath(root)] if root is not None else []
        self._arguments += list(arguments)
        self._callbacks: dict[str, tuple[dict[str, Any], Callable[..., Any]]] = {}
        self._answers = {
            method: function
            for method, function in (("approval/request", approve), ("model/complete", complete))
            if function
        }
        self._listeners: dict[str, list[Callable[[Any], Any]]] = {}
        self._closed = False
        self._reset()
        _open.add(self)

    def _reset(self) -> None:
        """Without a host; also in a forked process, which has none of its parent's threads, while the host stays that
        of the parent."""
        self._lock = threading.RLock()
        self._connection: Connection | PoolConnection | None = None
        self._in_vain = 0
        self._pause_until = 0.0
        # Where async functions run: the loop that last used this client, else one of its own.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._own_loop: asyncio.AbstractEventLoop | None = None

    # What is called back

    def on(self, event: str | list[str], *, name: str | None = None, rule: Any = None, **fields: Any) -> Callable[[F], F]:
        """Makes the decorated function a hook: it gets the event and returns an answer, or None for no opinion.
        `rule` is the definition's `if`; `fields` are its other fields, such as `matcher`, `when`, `fail`, `priority`."""

        self._only_by_own_host()

        def decorate(function: F) -> F:
            called = name or function.__name__
            hook = {"name": called, "on": event, "callback": called, **fields}
            if rule is not None:
                hook["if"] = rule
            json.dumps(hook)  # what isn't JSON is the caller's mistake, here and not at the next event
            with self._lock:
                if called in self._callbacks:
                    raise ValueError(f"there is a hook {called} already")
                self._callbacks[called] = hook, function
                if isinstance(self._connection, Connection) and self._connection.gone is None:
                    try:
                        self._register(self._connection, [hook])
                    except HostGone:
                        pass  # the next host gets them all
            return function

        return decorate

    def listen(self, notification: str) -> Callable[[F], F]:
        """Calls the decorated function with each such notification: `hooks/changed`, `hooks/executed`, `hooks/failed`
        or `hooks/judged`. It runs on the thread that reads from the host, so it must be quick. Decorate before the
        first event is sent."""

        self._only_by_own_host()

        def decorate(function: F) -> F:
            self._listeners.setdefault(notification, []).append(function)
            return function

        return decorate

    def _only_by_own_host(self) -> None:
        if self._pool is not None:
            raise ValueError("a pool's hosts can't call functions of this program")

    def guard(self, agent: Any, **known: Any) -> Any:
        """Returns what stands for an agent, guarded; its events have the members `known`, such as `session`. It knows
        agents of pydantic-ai, the OpenAI Agents SDK and Strands, Google ADK's `App`, and the Claude Agent SDK's
        `ClaudeAgentOptions`."""
        from .adapters import guard

        return guard(self, agent, **known)

    def middleware(self, **known: Any) -> Any:
        """For LangChain's `create_agent(..., middleware=[hooks.middleware()])`. A thread is a session."""
        from .adapters.langchain import Middleware

        return Middleware(self, _Blocking(self), **known)

    # The host

    def _host(self) -> Connection | PoolConnection:
        with self._lock:
            if self._closed:
                raise HostGone("the client is closed")
            if self._connection and self._connection.gone is None:
                return self._connection
            if time.monotonic() < self._pause_until:
                raise HostGone((self._connection and self._connection.gone) or "no host could be started")
            self._pause_until = time.monotonic() + PAUSES[min(self._in_vain, len(PAUSES) - 1)]
            self._in_vain += 1
            try:
                connection = self._start()
            except (OSError, NoProgram) as problem:
                raise HostGone(f"no host: {problem}") from problem
            self._connection = connection
            return connection

    def _start(self) -> Connection | PoolConnection:
        if self._pool is not None:
            return PoolConnection(self._pool, self._is_up)
        if self._url is not None:
            connection = Connection(self._serve, self._notified, url=self._url, token=self._token)
        elif self._connect is not None:
            connection = Connection(self._serve, self._notified, path=self._connect)
        else:
            command = [os.fspath(self._program or find_program()), "serve", *self._arguments]
            env = None if self._env is None else dict(self._env)
            # Its own session, because a Ctrl-C that interrupts the agent's turn mustn't end the host.
            options = {"env": env, "start_new_session": True}
            connection = Connection(self._serve, self._notified, command=command, options=options)
        can = {"decisions": self._decisions, "requests": list(self._answers), "notifications": list(self._listeners)}
        # Nothing waits for the replies: what is sent after them is judged after them.
        _, initialized = connection.request("initialize", {"capabilities": {"hooks": can}})
        initialized.add_done_callback(lambda reply: self._check_version(connection, reply))
        self._register(connection, [hook for hook, _ in self._callbacks.values()])
        return connection

    def _is_up(self) -> None:
        self._in_vain = 0

    def _check_version(self, connection: Connection, reply: Future[Any]) -> None:
        if reply.cancelled() or isinstance(reply.exception(), HostGone):
            return
        found = None if reply.exception() else reply.result().get("protocolVersion")
        if found == VERSION:
            self._in_vain = 0
        else:
            connection.end(f"the host speaks version {found} of the protocol, this client version {VERSION}")

    def _register(self, connection: Connection, hooks: list[dict[str, Any]]) -> None:
        if not hooks:
            return

        def check(reply: Future[Any]) -> None:
            if isinstance(problem := reply.exception(), RequestFailed):
                # A guard that isn't in force must not be taken for one that has no objection.
                names = ", ".join(hook["name"] for hook in hooks)
                connection.end(f"the hooks {names} could not be registered: {problem}")
            elif problem is None:
                for remark in reply.result()["diagnostics"]:
                    log.warning("hook %s: %s", remark.get("hook"), remark["message"])

        connection.request("hooks/register", {"hooks": hooks})[1].add_done_callback(check)

    def _send(self, method: str, params: Any) -> tuple[Connection | PoolConnection, int, Future[Any]]:
        if self._pool is not None and method != "hooks/dispatch":
            raise RequestFailed(-32601, f"a pool answers hooks/dispatch, not {method}")
        connection = self._host()
        return connection, *connection.request(method, params)

    def _late(self, connection: Connection | PoolConnection, id: int, deadline: float) -> HostGone:
        connection.cancel(id)
        silent = connection.silent_since
        if silent is not None and time.monotonic() - silent >= self._patience:
            connection.end("the host hangs")
        return HostGone(f"no reply within {deadline:g} s")

    def _event(self, event: str | Mapping[str, Any], members: dict[str, Any], deadline: float) -> dict[str, Any]:
        given = {"event": event} if isinstance(event, str) else dict(event)
        known: dict[str, Any] = {"session": self.session, "cwd": os.getcwd()}
        if self.agent:
            known["agent"] = {"name": self.agent}
        # The host answers a little before this client gives up.
        return {**known, **given, **members, "deadlineMs": max(1, int(deadline * 900))}

    def _failed(self, event: dict[str, Any], problem: Exception) -> Verdict:
        if isinstance(problem, RequestFailed) and problem.code in CALLERS_FAULT:
            raise problem
        log.warning("hookwire gave no verdict: %s", problem)
        return Verdict.without_host(event, self.fail, str(problem))

    # What the host asks

    def _serve(
        self, method: str, params: Any, reply: Callable[[Any], None], refuse: Callable[[Exception], None]
    ) -> Callable[[], Any]:
        if method == "hooks/invoke":
            _, function = self._callbacks.get(params["callback"], (None, None))
            argument = params["event"]
        else:
            function, argument = self._answers.get(method), params
        if function is None:
            refuse(RequestFailed(-32601, f"this client doesn't answer {method}"))
            return lambda: None

        def answer(result: Any) -> None:
            if method == "approval/request" and isinstance(result, bool):
                result = {"decision": "approve" if result else "deny"}
            reply({} if result is None and method == "hooks/invoke" else result)

        if inspect.iscoroutinefunction(function):
            return self._run_async(function(argument), answer, refuse)

        def work() -> None:
            try:
                answer(function(argument))
            except Exception as error:
                refuse(error)

        threading.Thread(target=work, daemon=True, name=f"hookwire {method}").start()
        return lambda: None

    def _run_async(
        self, coroutine: Any, answer: Callable[[Any], None], refuse: Callable[[Exception], None]
    ) -> Callable[[], Any]:
        def done(task: Future[Any]) -> None:
            if task.cancelled():
                refuse(RequestFailed(-32800, "cancelled"))
            elif isinstance(error := task.exception(), Exception):
                refuse(error)
            else:
                answer(task.result())

        task = asyncio.run_coroutine_threadsafe(coroutine, self._running_loop())
        task.add_done_callback(done)
        return task.cancel

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop and self._loop.is_running():
            return self._loop
        with self._lock:
            if not self._own_loop:
                self._own_loop = asyncio.new_event_loop()
                threading.Thread(target=self._own_loop.run_forever, daemon=True, name="hookwire loop").start()
            return self._own_loop

    def _notified(self, method: str, params: Any) -> None:
        for function in self._listeners.get(method, []):
            try:
                function(params)
            except Exception:
                log.exception("a listener of %s failed", method)

    def _close(self) -> None:
        with self._lock:
            self._closed, connection = True, self._connection
        if connection:
            connection.close()


class Hooks(_Client):
    """An async client. It can be used from several event loops, one after the other or at once; `sync` is for
    programs without one."""

    async def dispatch(
        self, event: str | Mapping[str, Any], *, deadline: float | None = None, **members: Any
    ) -> Verdict:
        """Sends an event; its name and members, or as a whole. Cancelling the task cancels the hooks."""
        deadline = deadline or self.deadline
        whole = self._event(event, members, deadline)
        try:
            reply = await self.request("hooks/dispatch", whole, deadline)
            if not isinstance(reply, dict) or not isinstance(reply.get("decision"), str):
                raise HostGone("the host's reply is no verdict")
            return Verdict(reply, whole)
        except (HostGone, RequestFailed) as problem:
            return self._failed(whole, problem)

    async def request(self, method: str, params: Any = None, deadline: float | None = None) -> Any:
        """Any request of the protocol. Raises HostGone without a host, and RequestFailed if it refuses."""
        deadline = deadline or self.deadline
        self._loop = asyncio.get_running_loop()
        connection, id, future = self._send(method, params)
        waiting = asyncio.wrap_future(future)
        try:
            done, _ = await asyncio.wait({waiting}, timeout=deadline)
        except asyncio.CancelledError:
            connection.cancel(id)
            raise
        if not done:
            waiting.cancel()
            raise self._late(connection, id, deadline)
        return waiting.result()

    @property
    def state(self) -> State:
        return State(self)

    @property
    def sync(self) -> SyncHooks:
        return SyncHooks(self)

    async def start(self) -> None:
        """Starts the host now and not with the first event. Raises HostGone if there is none."""
        await self.request("hooks/list", {})

    async def list(self, event: str | None = None) -> ListResult:
        return await self.request("hooks/list", {"event": event})

    async def explain(self, event: str | Mapping[str, Any], **members: Any) -> ExplainResult:
        return await self.request("hooks/explain", self._event(event, members, self.deadline))

    async def check(self, text: str | None = None, file: str | None = None) -> CheckResult:
        return await self.request("hooks/check", {"text": text, "file": file})

    async def reload(self) -> ReloadResult:
        return await self.request("hooks/reload")

    async def recent(self, limit: int | None = None) -> Recent:
        return await self.request("hooks/recent", {} if limit is None else {"limit": limit})

    async def approvals(self) -> ApprovalList:
        return await self.request("approvals/list")

    async def answer(self, answer: ApprovalAnswer) -> None:
        await self.request("approvals/answer", answer)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._close)

    async def __aenter__(self) -> Hooks:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()


class State:
    """The values that hooks share, of a session or of all. `ttl` is in seconds."""

    def __init__(self, hooks: Hooks):
        self._hooks = hooks

    async def get(self, key: str, *, session: str | None = None) -> Any:
        """The value; None where there is none."""
        return (await self._ask("get", session, key=key)).get("value")

    async def set(self, key: str, value: Any, *, ttl: float | None = None, session: str | None = None) -> None:
        await self._ask("set", session, ttl, key=key, value=value)

    async def increment(self, key: str, by: float = 1, *, ttl: float | None = None, session: str | None = None) -> Any:
        return (await self._ask("increment", session, ttl, key=key, by=by))["value"]

    async def compare_and_set(
        self, key: str, expected: Any, value: Any, *, ttl: float | None = None, session: str | None = None
    ) -> bool:
        """Sets the value if it is the expected one, where None means that there is none."""
        members = {"key": key, "value": value, **({} if expected is None else {"expected": expected})}
        return (await self._ask("compareAndSet", session, ttl, **members))["set"]

    async def delete(self, key: str, *, session: str | None = None) -> bool:
        return (await self._ask("delete", session, key=key))["deleted"]

    async def list(self, prefix: str = "", *, session: str | None = None) -> list[Item]:
        return (await self._ask("list", session, prefix=prefix))["items"]

    async def _ask(self, operation: str, session: str | None, ttl: float | None = None, **params: Any) -> Any:
        if ttl is not None:
            params["ttlMs"] = int(ttl * 1000)
        return await self._hooks.request(f"state/{operation}", {"session": session, **params})


class SyncHooks:
    """The same without async, for any number of threads: `hooks.sync`. Both have one host."""

    def __init__(self, hooks: Hooks):
        self.hooks = hooks
        self._blocking = _Blocking(hooks)

    def dispatch(self, event: str | Mapping[str, Any], *, deadline: float | None = None, **members: Any) -> Verdict:
        """Sends an event; its name and members, or as a whole."""
        return now(self._blocking.dispatch(event, deadline=deadline, **members))

    def request(self, method: str, params: Any = None, deadline: float | None = None) -> Any:
        """Any request of the protocol. Raises HostGone without a host, and RequestFailed if it refuses."""
        return now(self._blocking.request(method, params, deadline))

    @property
    def state(self) -> SyncState:
        return SyncState(State(self._blocking))

    def start(self) -> None:
        """Starts the host now and not with the first event. Raises HostGone if there is none."""
        now(self._blocking.start())

    def list(self, event: str | None = None) -> ListResult:
        return now(self._blocking.list(event))

    def explain(self, event: str | Mapping[str, Any], **members: Any) -> ExplainResult:
        return now(self._blocking.explain(event, **members))

    def check(self, text: str | None = None, file: str | None = None) -> CheckResult:
        return now(self._blocking.check(text, file))

    def reload(self) -> ReloadResult:
        return now(self._blocking.reload())

    def recent(self, limit: int | None = None) -> Recent:
        return now(self._blocking.recent(limit))

    def approvals(self) -> ApprovalList:
        return now(self._blocking.approvals())

    def answer(self, answer: ApprovalAnswer) -> None:
        now(self._blocking.answer(answer))

    def close(self) -> None:
        self.hooks._close()

    def __enter__(self) -> SyncHooks:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class SyncState:
    """The values that hooks share, of a session or of all. `ttl` is in seconds."""

    def __init__(self, state: State):
        self._state = state

    def get(self, key: str, *, session: str | None = None) -> Any:
        """The value; None where there is none."""
        return now(self._state.get(key, session=session))

    def set(self, key: str, value: Any, *, ttl: float | None = None, session: str | None = None) -> None:
        now(self._state.set(key, value, ttl=ttl, session=session))

    def increment(self, key: str, by: float = 1, *, ttl: float | None = None, session: str | None = None) -> Any:
        return now(self._state.increment(key, by, ttl=ttl, session=session))

    def compare_and_set(
        self, key: str, expected: Any, value: Any, *, ttl: float | None = None, session: str | None = None
    ) -> bool:
        """Sets the value if it is the expected one, where None means that there is none."""
        return now(self._state.compare_and_set(key, expected, value, ttl=ttl, session=session))

    def delete(self, key: str, *, session: str | None = None) -> bool:
        return now(self._state.delete(key, session=session))

    def list(self, prefix: str = "", *, session: str | None = None) -> list[Item]:
        return now(self._state.list(prefix, session=session))


class _Blocking(Hooks):
    """The same client, of which waiting for a reply blocks the thread; so none of its coroutines ever waits."""

    def __init__(self, hooks: Hooks):
        self.__dict__ = hooks.__dict__

    async def request(self, method: str, params: Any = None, deadline: float | None = None) -> Any:
        deadline = deadline or self.deadline
        connection, id, future = self._send(method, params)
        try:
            return future.result(deadline)
        except FutureTimeout:
            raise self._late(connection, id, deadline) from None
        except KeyboardInterrupt:
            connection.cancel(id)
            raise


_open: weakref.WeakSet[_Client] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for client in list(_open):
        client._close()


def _reset_all() -> None:
    for client in list(_open):
        client._reset()


os.register_at_fork(after_in_child=_reset_all)
