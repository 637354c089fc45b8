"""Coroutines of a client whose waiting blocks the thread."""

from __future__ import annotations

from typing import Any


def now(coroutine: Any) -> Any:
    """Runs a coroutine that never waits but by blocking."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("a blocking call has waited for an event loop")
