"""Agents of frameworks, guarded. Each adapter is one file and uses what its framework documents, nothing private."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The framework's package, and the module here that guards its agents.
ADAPTERS = {
    "pydantic_ai": "pydantic_ai",
    "agents": "openai_agents",
    "strands": "strands",
    "google.adk": "google_adk",
    "claude_agent_sdk": "claude_agent",
}


def guard(hooks: Any, agent: Any, **known: Any) -> Any:
    for kind in type(agent).__mro__:
        for package, module in ADAPTERS.items():
            if f"{kind.__module__}.".startswith(f"{package}."):
                return import_module(f".{module}", __name__).guard(hooks, agent, **known)
        if kind.__module__.split(".")[0] in ("langgraph", "langchain"):
            raise TypeError(
                "a compiled graph can't be guarded from outside: create_agent(..., middleware=[hooks.middleware()])"
            )
    names = ", ".join(ADAPTERS)
    raise TypeError(f"no adapter guards {type(agent).__qualname__}: guard() knows {names}; dispatch() is for all others")
