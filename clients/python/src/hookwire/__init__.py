"""hookwire: hooks that watch, veto and rewrite what an agent does.

    import hookwire

    hooks = hookwire.Hooks("hooks")
    agent = hooks.guard(agent)

`hooks.dispatch(...)` is for agents that no adapter knows. `hooks.sync` is the client without async.
"""

from .client import Hooks, State, SyncHooks, SyncState
from .connection import HostGone, RequestFailed
from .program import NoProgram, find_program
from .verdict import Denied, Stopped, Verdict, allow, ask, deny, patch, rewrite

__all__ = [
    "Denied",
    "Hooks",
    "HostGone",
    "NoProgram",
    "RequestFailed",
    "State",
    "Stopped",
    "SyncHooks",
    "SyncState",
    "Verdict",
    "allow",
    "ask",
    "deny",
    "find_program",
    "patch",
    "rewrite",
]
