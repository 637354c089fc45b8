# hookwire's Python worker: loads functions and calls them. The standard library only, from Python 3.8 on.
#
# The protocol is on descriptors 3 (out) and 4 (in), which the shell that started us has set up; what user
# code writes to stdout goes to stderr, and stdin is /dev/null. One thread reads. Sync functions run on
# threads, async ones on the loop in the main thread, which is started with the first of them.
import sys

# The working directory must not shadow the standard library.
if sys.path and sys.path[0] == "":
    del sys.path[0]
if sys.version_info < (3, 8):
    sys.exit("hookwire needs Python 3.8 or later; %s is %s" % (sys.executable, sys.version.split()[0]))

import contextvars
import importlib
import importlib.util
import inspect
import itertools
import json
import os
import queue
import threading
import types

OUT, IN = 3, 4
MAX_LINE = 16 * 1024 * 1024
STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
# How long an async function that was cancelled has to come to its end before it counts as abandoned.
CANCEL_GRACE = 0.1


class Complaint(Exception):
    """Told as it is, without the exception's name."""


class StateError(Exception):
    """The shared store can't do what it was asked."""


# The wire.

forked = False
write_lock = threading.Lock()


def send(*messages):
    if forked:
        os._exit(0)  # A child of ours answers for nobody.
    data = memoryview(b"".join(messages))
    with write_lock:
        try:
            while data:
                data = data[os.write(OUT, data) :]
        except OSError:
            os._exit(1)  # The host is gone.


def encode(message, exact=False):
    """A line of JSON. Unless it has to be exact, NaN and the like are told as texts and half a character as U+FFFD."""
    try:
        line = json.dumps(message, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except ValueError:
        if exact:
            raise
        said = json.dumps(message, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        line = json.dumps(json.loads(said, parse_constant=str), separators=(",", ":")).encode()
    return line + b"\n"


def text(value):
    """What can't be encoded would void the line."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


# User code.


def is_user_code(file):
    return (
        os.path.isabs(file)
        and not file.startswith(STDLIB)
        and f"{os.sep}site-packages{os.sep}" not in file
        and f"{os.sep}dist-packages{os.sep}" not in file
    )


n_modules = 0
seen_modules = set()
source_lock = threading.Lock()


def newly_loaded(*files):
    """The line that tells the host which files of user code were loaded since the last one."""
    global n_modules
    if len(sys.modules) == n_modules and not files:
        return b""
    with source_lock:
        n_modules = len(sys.modules)
        found = {os.path.abspath(file) for file in files if file}
        for name, module in list(sys.modules.items()):
            if name not in seen_modules:
                seen_modules.add(name)
                # Not getattr: lazy modules would load themselves.
                file = getattr(module, "__dict__", {}).get("__file__")
                if isinstance(file, str) and is_user_code(file):
                    found.add(file)
        return encode({"loaded": sorted(found)}) if found else b""


def near(word, words):
    import difflib

    close = difflib.get_close_matches(word, words, 1, 0.6)
    return f"; did you mean `{close[0]}`?" if close else ""


def listed(names):
    return f"; there is {', '.join(sorted(names)[:40])}" if names else ""


def interpreter():
    return f"{sys.executable} (Python {sys.version.split()[0]})"


def modules_beside(package):
    """The modules that could have been meant, of the search path or of a package."""
    directories = search if not package else getattr(sys.modules.get(package), "__path__", [])
    for directory in directories:
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names:
            stem, ending = os.path.splitext(name)
            if stem.isidentifier() and (ending == ".py" or os.path.isdir(os.path.join(directory, name))):
                yield f"{package}.{stem}" if package else stem


def import_module(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name != missing and not name.startswith(missing + "."):
            raise
        what_to_do = near(missing, list(modules_beside(missing.rpartition(".")[0])))
        what_to_do = what_to_do or "; put it there, or install it for that interpreter"
        places = f"{', '.join(search)} or among the packages of {interpreter()}"
        raise Complaint(f"no module `{missing}` in {places}{what_to_do}") from None


def import_file(path):
    name = os.path.splitext(os.path.basename(path))[0]
    # Under its own name if an import would find it, so that other modules share it.
    if name.isidentifier() and is_importable(name, path):
        return importlib.import_module(name)
    with file_lock:
        return import_privately(path)


file_lock = threading.RLock()


def import_privately(path):
    private = "hookwire_file_" + "".join(c if c.isalnum() else "_" for c in path)
    if private in sys.modules:
        return sys.modules[private]
    spec = importlib.util.spec_from_file_location(private, path)
    if spec is None or not os.path.isfile(path):
        raise Complaint(f"no Python file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[private] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[private]
        raise
    return module


def is_importable(name, path):
    try:
        spec = importlib.util.find_spec(name)
        return spec is not None and spec.origin is not None and os.path.samefile(spec.origin, path)
    except (ImportError, ValueError, OSError):
        return False


def split(where, names):
    """Of a dotted path, the longest part that is a module, and the rest."""
    start = where, names
    while "." in where:
        try:
            if importlib.util.find_spec(where) is not None:
                return where, names
        except (ImportError, AttributeError, ValueError):
            pass
        where, _, name = where.rpartition(".")
        names = f"{name}.{names}"
    return start if importlib.util.find_spec(where) is None else (where, names)


functions = {}


def find(target, dialect="native"):
    function = functions.get(target)
    if function is None:
        # A file may have come since the directory was looked at.
        importlib.invalidate_caches()
        where, _, names = target.rpartition(":")
        if dialect == "agentpool":
            where, names = split(where, names)
        value = module = import_file(where) if where.endswith(".py") or os.sep in where else import_module(where)
        for name in names.split("."):
            if not hasattr(value, name):
                there = [it for it in dir(value) if not it.startswith("_") and callable(getattr(value, it, None))]
                file = getattr(module, "__file__", None) or where
                raise Complaint(f"no `{name}` in {file}{near(name, there) or listed(there)}")
            value = getattr(value, name)
        function = functions[target] = Function(target, value)
    return function


class Function:
    """A function and how its parameters are filled."""

    def __init__(self, target, function):
        if isinstance(function, type):
            raise Complaint(f"`{target}` is a class; name a function, or a method of an object that the module makes")
        if not callable(function):
            raise Complaint(f"`{target}` is not a function")
        self.target = target
        self.function = function
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)
        )
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            raise Complaint(f"`{target}` doesn't tell its parameters; wrap it in a function of yours") from None
        kinds = inspect.Parameter
        self.takes_all = any(it.kind is kinds.VAR_KEYWORD for it in parameters)
        self.parameters = [
            (it.name, it.kind is kinds.POSITIONAL_ONLY, it.default is kinds.empty)
            for it in parameters
            if it.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        ]
        self.names = {name for name, _, _ in self.parameters}

    def bind(self, message):
        if message["dialect"] == "agentpool":
            # It passes everything, whether the function takes it or not.
            return [], {"event": None, **message["event"], **message["args"]}
        given, members = message["args"], members_of(message)
        if not self.takes_all:
            for name in given:
                if name not in self.names:
                    raise Complaint(f"`args` has `{name}`, which `{self.target}` doesn't take{near(name, self.names)}")
        positional, named, in_order = [], {}, True
        for name, is_positional, is_required in self.parameters:
            if name in given:
                value = given[name]
            elif name in members:
                value = members[name]
            elif is_required:
                raise Complaint(self.unfilled(name, given, members))
            else:
                in_order = in_order and not is_positional
                continue
            if not is_positional:
                named[name] = value
            elif in_order:
                positional.append(value)
            else:
                raise Complaint(f"`{name}` of `{self.target}` can't be given: an optional parameter before it is missing")
        if self.takes_all:
            for source in (given, members):
                for name, value in source.items():
                    if name not in self.names:
                        named.setdefault(name, value)
        return positional, named

    def unfilled(self, name, given, members):
        if name in USUAL:
            return f"`{self.target}` wants `{name}`, which this event hasn't; give the parameter a default"
        there = {*given, *members}
        return f"`{self.target}` wants `{name}`, which is neither in `args` nor in the event{near(name, there) or listed(there)}"


# What parameters may be called, and other names that members have in Python.
USUAL = frozenset(
    "event event_name session session_id run run_id parent_run step agent agent_name agent_parent tool tool_name tool_call_id"
    " tool_input tool_output tool_error duration_ms model model_request model_response prompt result error"
    " last_message stop_active compaction summary usage data cwd messages metadata system_prompt deadline_ms".split()
)
GROUPS = ("tool", "agent", "model")
ALIASES = (("session", "session_id"), ("run", "run_id"), ("tool_duration_ms", "duration_ms"), ("hook_event_name", "event_name"))
snakes = {}


def snake(name):
    known = snakes.get(name)
    if known is None:
        known = "".join("_" * (at > 0) + c.lower() if c.isascii() and c.isupper() else c for at, c in enumerate(name))
        if len(snakes) < 1000:
            snakes[name] = known
    return known


def members_of(message):
    """Everything that a parameter may be filled with, by name."""
    event = message["event"]
    grouped = {}
    for group in GROUPS:
        inner = event.get(group)
        if isinstance(inner, dict):
            for key, value in inner.items():
                grouped.setdefault(f"{group}_{snake(key)}", value)
    # What the vocabulary knows comes first: a member that is only spelt like it doesn't hide it.
    exact = {key: value for key, value in event.items() if snake(key) == key}
    members = {**exact, **grouped} if message["dialect"] == "native" else {**grouped, **exact}
    for key, value in event.items():
        members.setdefault(snake(key), value)
    members.update(hook=message["hook"], dialect=message["dialect"], deadline_ms=message["deadlineMs"])
    for key in ("event", "Event"):
        if key in event:
            members["event_name"] = event[key]
    for name, alias in ALIASES:
        if name in members:
            members.setdefault(alias, members[name])
    members["event"] = event
    return members


def told(result):
    """What agentpool reads of a result. The rest needn't be JSON, and a value that isn't is told as a text."""
    if isinstance(result, dict):
        members = ("decision", "reason", "modified_input", "additional_context", "continue_")
        # Of one that has none of them, names tell what was probably meant.
        near = [name for name in result if isinstance(name, str)][:8]
        said = {name: plain(result[name]) for name in members if name in result}
        return said or dict.fromkeys(near)
    return result if result is None or isinstance(result, (str, bool)) else []


def plain(value):
    try:
        return json.loads(json.dumps(value, default=str))
    except (TypeError, ValueError, RecursionError):  # A key that is no text, a circle.
        return text(value)


# Calls.


class Call:
    __slots__ = ("id", "message", "cancelled", "in_thread", "is_found", "task")

    def __init__(self, message):
        self.id = message["id"]
        self.message = message
        self.cancelled = self.in_thread = self.is_found = False
        self.task = None


calls = {}
current = contextvars.ContextVar("hookwire_call", default=None)


class Threads:
    """Threads for sync functions, as many as there are at once: the host bounds them."""

    def __init__(self):
        self.queue = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.n_idle = 0

    def run(self, call):
        with self.lock:
            is_idle = self.n_idle > 0
            self.n_idle -= is_idle
        self.queue.put(call)
        if not is_idle:
            threading.Thread(target=self.work, daemon=True, name="hookwire-call").start()

    def work(self):
        while True:
            contextvars.Context().run(run, self.queue.get())
            with self.lock:
                self.n_idle += 1


threads = Threads()


def run(call):
    """Runs a call on a thread; what turns out to be async goes on to the loop."""
    call.in_thread = True
    if call.cancelled:
        return fail(call, Complaint("cancelled"))
    current.set(call)
    try:
        function = find(call.message["call"], call.message["dialect"])
        call.is_found = True
        if function.is_async:
            return on_loop(call, function, None)
        positional, named = function.bind(call.message)
        result = function.function(*positional, **named)
        if inspect.isawaitable(result):
            return on_loop(call, function, result)
    except BaseException as error:
        fail(call, error)
    else:
        answer(call, result)


loop = None
loop_wanted = threading.Event()
loop_runs = threading.Event()


def on_loop(call, function, awaitable):
    loop_wanted.set()
    loop_runs.wait()
    call.in_thread = False
    loop.call_soon_threadsafe(begin, call, function, awaitable)


def begin(call, function, awaitable):
    call.task = loop.create_task(drive(call, function, awaitable))
    if call.cancelled:
        cancel_task(call)


async def drive(call, function, awaitable):
    current.set(call)
    try:
        if awaitable is None:
            positional, named = function.bind(call.message)
            awaitable = function.function(*positional, **named)
        result = await awaitable
    except BaseException as error:
        fail(call, error)
    else:
        answer(call, result)


def answer(call, result):
    try:
        if call.message["dialect"] == "agentpool":
            result = told(result)
        line = encode({"id": call.id, "answer": result})
    except Exception as error:
        try:
            why = text(error)
        except Exception:
            why = type(error).__name__
        return fail(call, Complaint(f"what it returned can't be JSON: {why}"))
    if len(line) > MAX_LINE:
        return fail(call, Complaint(f"what it returned is more than {MAX_LINE >> 20} MiB"))
    if calls.pop(call.id, None):
        send(newly_loaded(), line)


def fail(call, error):
    try:
        message, files = failure(call, error)
    except Exception:  # The exception itself can't be told.
        message, files = {"id": call.id, "error": "it failed, and so did telling how"}, ()
    if calls.pop(call.id, None):
        send(newly_loaded(*files), encode(message))


def failure(call, error):
    message, files = {"id": call.id}, ()
    if isinstance(error, Complaint):
        message["error"] = text(error)[:4000]
    elif call.cancelled:
        message["error"] = "cancelled"
    elif call.message["dialect"] == "agentpool" and call.is_found and text(error):
        # The error's own text is the reason that is given.
        message["error"] = text(error)[:4000]
        files = place_of(error)[1]
        tell(error)
    else:
        kind = type(error)
        name = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
        what = error.msg if isinstance(error, SyntaxError) else text(error)
        if isinstance(error, ModuleNotFoundError):
            what += f"; install it for {interpreter()}"
        message["error"] = f"{name}: {what}"[:4000] if what else name
        place, files = place_of(error)
        if place:
            message["place"] = text(place)
        tell(error)
    if call.message["dialect"] == "agentpool" and not (call.is_found or call.cancelled):
        # There too the host has to know that nothing was judged.
        message["error"] = f"can't import it: {message['error']}"
    return message, files


def place_of(error):
    """The last line of user code on the way, and the files that a mended version may differ in."""
    if isinstance(error, SyntaxError) and error.filename and is_user_code(error.filename):
        return f"{error.filename}:{error.lineno}", (error.filename,)
    place, files, at = None, [], error.__traceback__
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if is_user_code(file):
            place = f"{file}:{at.tb_lineno}"
            files.append(file)
        at = at.tb_next
    return place, files


def tell(error):
    """The traceback of user code, for the log."""
    import traceback

    at = error.__traceback__
    while at is not None and not is_user_code(at.tb_frame.f_code.co_filename):
        at = at.tb_next
    traceback.print_exception(type(error), error, at)


def cancel(id):
    call = calls.get(id)
    if call is None:
        return  # The answer is on its way.
    call.cancelled = True
    if call.in_thread:
        send(encode({"id": id, "abandoned": True}))
    elif call.task is not None:
        loop.call_soon_threadsafe(cancel_task, call)


def cancel_task(call):
    call.task.cancel()
    loop.call_later(CANCEL_GRACE, abandon, call)


def abandon(call):
    if call.id in calls:
        send(encode({"id": call.id, "abandoned": True}))


# The shared store.

asked = itertools.count(1)
waiting = {}


def ask(request, take):
    if forked:
        raise StateError("a forked process can't reach the store")
    call = current.get()
    if call is None and request["scope"] != "global":
        raise StateError('a session\'s values are for functions that run for a hook; say scope="global"')
    id = next(asked)
    message = {"id": id, "state": request}
    if call is not None:
        message["call"] = call.id
    try:
        line = encode(message, exact=True)
    except (TypeError, ValueError) as error:
        raise StateError(f"the value can't be JSON: {error}") from None
    if len(line) > MAX_LINE:
        raise StateError("the value is too large")
    waiting[id] = take
    send(line)


def unwrap(reply):
    if "error" in reply:
        raise StateError(reply["error"])
    return reply.get("value")


def ask_and_wait(request):
    replies = queue.SimpleQueue()
    ask(request, replies.put)
    return unwrap(replies.get())


async def ask_async(request):
    reply = loop.create_future()

    def take(message):
        loop.call_soon_threadsafe(lambda: reply.done() or reply.set_result(message))

    ask(request, take)
    return unwrap(await reply)


class State:
    """The store that all hooks share. `scope` is "session" (the call's) or "global"."""

    def _ask(self, request, finish=lambda value: value):
        return finish(ask_and_wait(request))

    def get(self, key, default=None, *, scope="session"):
        return self._ask(
            {"op": "get", "key": key, "scope": scope}, lambda value: default if value is None else value
        )

    def set(self, key, value, *, ttl=None, scope="session"):
        return self._ask({"op": "set", "key": key, "value": value, "ttl": ttl, "scope": scope})

    def increment(self, key, by=1, *, ttl=None, scope="session"):
        return self._ask({"op": "increment", "key": key, "by": by, "ttl": ttl, "scope": scope})

    def compare_and_set(self, key, expected, value, *, ttl=None, scope="session"):
        """Sets the value if the present one is the expected one (None: there is none); says whether it did."""
        request = {"op": "compareAndSet", "key": key, "expected": expected, "value": value, "ttl": ttl, "scope": scope}
        return self._ask(request)

    def delete(self, key, *, scope="session"):
        """Says whether there was a value."""
        return self._ask({"op": "delete", "key": key, "scope": scope})

    def list(self, prefix="", *, scope="session"):
        """Values by key."""
        return self._ask({"op": "list", "key": prefix, "scope": scope})


class AsyncState(State):
    """The same, to be awaited."""

    async def _ask(self, request, finish=lambda value: value):
        return finish(await ask_async(request))


module = types.ModuleType("hookwire", "What hookwire offers to the functions that it calls.")
module.state = State()
module.state.aio = AsyncState()
module.StateError = StateError
sys.modules["hookwire"] = module


# The process.


def read():
    with open(IN, "rb", closefd=False) as lines:
        for line in lines:
            message = json.loads(line)
            if "event" in message:
                call = calls[message["id"]] = Call(message)
                function = functions.get(message["call"])
                if function is not None and function.is_async and loop_runs.is_set():
                    loop.call_soon_threadsafe(begin, call, function, None)
                else:
                    threads.run(call)
            elif "cancel" in message:
                cancel(message["cancel"])
            else:
                take = waiting.pop(message["id"], None)
                if take is not None:
                    take(message)
    # The host is gone or done with us. Whatever doesn't let the interpreter end is cut off.
    threading.Thread(target=lambda: (threading.Event().wait(0.3), os._exit(0)), daemon=True).start()
    loop_wanted.set()
    if loop is not None:
        loop.call_soon_threadsafe(loop.stop)


def after_fork():
    global forked
    forked = True


for descriptor in (OUT, IN):
    os.set_inheritable(descriptor, False)
os.register_at_fork(after_in_child=after_fork)
search = sys.argv[1:]
sys.argv = ["hookwire"]
sys.path[:0] = search
# Nothing is left beside the definitions, and no stale cache is trusted after a quick edit.
sys.dont_write_bytecode = True
reader = threading.Thread(target=read, daemon=True, name="hookwire-reader")
reader.start()
send(newly_loaded(), encode({"ready": True}))
loop_wanted.wait()
if reader.is_alive():
    import asyncio

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.call_soon(loop_runs.set)
    loop.run_forever()
