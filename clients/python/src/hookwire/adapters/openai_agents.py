"""The OpenAI Agents SDK, tested with 0.24. Guards function tools, those of MCP servers included, of an agent and of
the agents that it hands off to; prompts, model calls and handoffs can be refused, which ends the run, but not rewritten,
and at Stop a hook can only watch or end the run, because the SDK has no place for more. Not guarded: tools that the
provider runs, and the agent behind `as_tool()` unless it was guarded itself. An agent with other tools that run here is
refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from agents import (
    AgentHooks,
    ApplyPatchTool,
    ComputerTool,
    CustomTool,
    FunctionTool,
    Handoff,
    LocalShellTool,
    ShellTool,
)

from ..verdict import Denied, Stopped, Verdict
from .moments import Moments, refused

UNGUARDED = (ApplyPatchTool, ComputerTool, CustomTool, LocalShellTool, ShellTool)


def guard(hooks: Any, agent: Any, **known: Any) -> Any:
    return _guard(hooks, agent, known, {})


def _guard(hooks: Any, agent: Any, known: dict[str, Any], guarded: dict[int, Any]) -> Any:
    """`guarded` are those of the agents that hand off to one another that have been seen, by their ids."""
    if id(agent) in guarded:
        return guarded[id(agent)]
    if isinstance(agent, _Guarded):
        return agent

    def guard_handoff(handoff: Any) -> Any:
        if not isinstance(handoff, Handoff):
            return _guard(hooks, handoff, known, guarded)

        async def invoke(context: Any, arguments: str) -> Any:
            return _guard(hooks, await handoff.on_invoke_handoff(context, arguments), known, guarded)

        return replace(handoff, on_invoke_handoff=invoke)

    kind = type(f"Guarded{type(agent).__name__}", (_Guarded, type(agent)), {"hookwire": hooks, "known": known})
    fields = {name: getattr(agent, name) for name in type(agent).__dataclass_fields__}
    mine = guarded[id(agent)] = kind(**{**fields, "handoffs": []})
    mine.hooks = _Hooks(hooks, agent.hooks)
    mine.handoffs = [guard_handoff(it) for it in agent.handoffs]
    return mine


class _Guarded:
    """In front of an agent's class."""

    hookwire: Any
    known: dict[str, Any]

    async def get_all_tools(self, run_context: Any) -> list[Any]:
        tools = await super().get_all_tools(run_context)  # type: ignore[misc]
        for tool in tools:
            if isinstance(tool, UNGUARDED):
                raise TypeError(f"the tool {tool.name} can't be guarded: {type(tool).__name__}")
        return [_guard_tool(self, tool) if isinstance(tool, FunctionTool) else tool for tool in tools]


def _guard_tool(agent: Any, tool: Any) -> Any:
    async def invoke(context: Any, arguments: str) -> Any:
        notes: list[str] = []

        async def run(input: Any) -> Any:
            return await tool.on_invoke_tool(context, arguments if input == given else json.dumps(input))

        try:
            given = json.loads(arguments or "{}")
            moments = _moments(agent.hookwire, agent, notes)
            output = await moments.tool(tool.name, context.tool_call_id, given, run, _json)
        except json.JSONDecodeError:
            return "denied: the arguments are not JSON"
        except Stopped:
            raise
        except Denied as denied:
            output = f"denied: {denied}"
        return "\n\n".join([str(output), *notes]) if notes else output

    return replace(tool, on_invoke_tool=invoke)


def _moments(hooks: Any, agent: Any, notes: list[str]) -> Moments:
    return Moments(hooks, notes.append, **{"agent": {"name": agent.name}, **agent.known})


def _json(output: Any) -> Any:
    try:
        return json.loads(json.dumps(output))
    except (TypeError, ValueError):
        return str(output)


class _Hooks(AgentHooks):
    """The agent's own hooks, and before them hookwire's: what they raise ends the run."""

    def __init__(self, hooks: Any, own: Any):
        self._hooks, self._own = hooks, own

    async def _gate(self, agent: Any, event: str, *, parent: Any = None, **members: Any) -> None:
        moments = _moments(self._hooks, agent, [])
        if parent:
            moments.known = {"agent": {"name": agent.name, "parent": parent.name}, **parent.known}
        verdict = await moments.send(event, **members)
        verdict.enforce()
        if verdict.rewritten:
            reason = refused(verdict, "the OpenAI Agents SDK")
            raise Denied(Verdict({**verdict.message, "decision": "deny", "reason": reason}, verdict.event))

    async def on_start(self, context: Any, agent: Any) -> None:
        await self._gate(agent, "UserPromptSubmit", prompt=_prompt(_json(context.turn_input)))
        if self._own:
            await self._own.on_start(context, agent)

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        request = {"systemPrompt": system_prompt, "messages": _json(input_items)}
        await self._gate(agent, "PreModelCall", model={"name": _model(agent), "request": request})
        if self._own:
            await self._own.on_llm_start(context, agent, system_prompt, input_items)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        usage = {"inputTokens": response.usage.input_tokens, "outputTokens": response.usage.output_tokens}
        said = [it.model_dump(mode="json") if hasattr(it, "model_dump") else _json(it) for it in response.output]
        await self._gate(agent, "PostModelCall", model={"name": _model(agent), "response": said, "usage": usage})
        if self._own:
            await self._own.on_llm_end(context, agent, response)

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        # The agent can't be sent back to work, and hooks are told so.
        moments = _moments(self._hooks, agent, [])
        verdict = await moments.send("Stop", lastMessage=_json(output), stopActive=True)
        if verdict.stops:
            raise Stopped(verdict)
        if self._own:
            await self._own.on_end(context, agent, output)

    async def on_handoff(self, context: Any, agent: Any, source: Any) -> None:
        # Of the agent that hands off, before the other one starts.
        await self._gate(agent, "SubagentStart", parent=source, prompt=_prompt(_json(context.turn_input)))
        if self._own:
            await self._own.on_handoff(context, agent, source)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        if self._own:
            await self._own.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        if self._own:
            await self._own.on_tool_end(context, agent, tool, result)


def _prompt(items: Any) -> Any:
    """The text of the last message, where that is all it has."""
    content = items[-1].get("content") if isinstance(items, list) and items and isinstance(items[-1], dict) else items
    return content if isinstance(content, str) else items


def _model(agent: Any) -> str:
    return agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", None) or "default"
