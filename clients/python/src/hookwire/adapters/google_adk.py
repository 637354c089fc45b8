"""Google ADK, tested with 2.13: `Runner(app=hooks.guard(App(...)))`, a plugin for all agents and tools of the app. It comes
before the app's own plugins, and what they and the agents' callbacks change afterwards isn't judged again. Calls of models
and transfers to sub-agents can be refused; a sub-agent's prompt can't be rewritten, and a hook can't send an agent back to
work, because the SDK has no place for either. An agent behind AgentTool is a tool, and what it is asked is a prompt. Not
guarded: live sessions, tools that the provider runs, and of a streamed reply what was streamed before PostModelCall."""

from __future__ import annotations

import asyncio
from typing import Any

from google.adk.apps import App
from google.adk.plugins import BasePlugin
from google.genai import types

from ..verdict import Denied, Stopped
from .moments import Call, Moments, after, jsonable, refused


def guard(hooks: Any, app: Any, **known: Any) -> Any:
    if not isinstance(app, App):
        raise TypeError("of Google ADK an app is guarded: Runner(app=hooks.guard(App(name=..., root_agent=...)), ...)")
    return app.model_copy(update={"plugins": [_Plugin(hooks, known), *app.plugins]})


class _Plugin(BasePlugin):
    def __init__(self, hooks: Any, known: dict[str, Any]):
        super().__init__(name="hookwire")
        self.hooks, self.known = hooks, known
        # By invocation and id, the calls that run, and what hooks have told the model about them.
        self.calls: dict[str, dict[str, tuple[Call, list[str]]]] = {}

    def _moments(self, context: Any, agent: str | None, notes: list[str]) -> Moments:
        known = {"session": context.session.id, **({"agent": {"name": agent}} if agent else {}), **self.known}
        return Moments(self.hooks, notes.append, **known)

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> Any:
        if any(it.function_response for it in user_message.parts or []):
            return None  # no person's words
        notes: list[str] = []
        moments = self._moments(invocation_context, None, notes)
        verdict = await moments.send("UserPromptSubmit", prompt=_plain(user_message))
        content = _content(verdict.enforce(), "user") if verdict.rewritten else user_message
        verdict.enforce()
        return _content([*content.parts, *notes], "user") if verdict.rewritten or notes else None

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> Any:
        if not agent.parent_agent:
            return None
        notes: list[str] = []
        moments = self._moments(callback_context, agent.name, notes)
        prompt = callback_context.user_content
        verdict = await moments.send("SubagentStart", prompt=prompt and _plain(prompt))
        if verdict.stops:
            raise Stopped(verdict)
        if verdict.decision != "allow" or verdict.rewritten:
            return _content(f"denied: {refused(verdict, 'Google ADK')}", "model")
        return None

    async def after_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        if agent.parent_agent:
            moments = self._moments(callback_context, agent.name, [])
            verdict = await moments.send("SubagentStop", stopActive=True)
            if verdict.stops:
                raise Stopped(verdict)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        notes: list[str] = []
        config = llm_request.config
        request = {"systemPrompt": _json(config.system_instruction), "messages": _json(llm_request.contents)}
        moments = self._moments(callback_context, callback_context.agent_name, notes)
        verdict = await moments.send("PreModelCall", model={"name": llm_request.model, "request": request})
        value = verdict.enforce()
        if verdict.rewritten:
            llm_request.contents = [types.Content.model_validate(it) for it in value["messages"]]
            if value.get("systemPrompt") != request["systemPrompt"]:
                config.system_instruction = value.get("systemPrompt")
        if notes:
            llm_request.contents = [*llm_request.contents, _content(notes, "user")]

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> Any:
        if llm_response.partial or not llm_response.content:
            return None
        moments = self._moments(callback_context, callback_context.agent_name, [])
        used = llm_response.usage_metadata
        counts = used and {
            "inputTokens": used.prompt_token_count or 0,
            "outputTokens": used.candidates_token_count or 0,
        }
        model = {"name": llm_response.model_version, "response": _json(llm_response.content)}
        verdict = await moments.send("PostModelCall", model={**model, **({"usage": counts} if counts else {})})
        value = verdict.enforce()
        content = types.Content.model_validate(value) if verdict.rewritten else llm_response.content
        changed = verdict.rewritten
        if not any(it.function_call for it in content.parts or []):
            # ADK can't be sent back to work, and hooks are told so.
            verdict = await moments.send("Stop", lastMessage=_said(content), stopActive=True)
            if verdict.rewritten and verdict.decision == "allow":
                content, changed = _content(verdict.value, "model"), True
        return llm_response.model_copy(update={"content": content}) if changed else None

    async def on_model_error_callback(self, *, callback_context: Any, llm_request: Any, error: Exception) -> None:
        moments = self._moments(callback_context, callback_context.agent_name, [])
        await moments.send("ModelCallError", model={"name": llm_request.model, "error": {"message": str(error)}})

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> Any:
        notes: list[str] = []
        moments = self._moments(tool_context, tool_context.agent_name, notes)
        id = tool_context.function_call_id
        try:
            call = await moments.before_tool(tool.name, id, jsonable(tool_args))
        except Stopped:
            raise
        except Denied as denied:
            return _result(f"denied: {denied}", notes, "error")
        if call.rewritten:
            tool_args.clear()
            tool_args.update(call.input)
        self.calls.setdefault(tool_context.invocation_id, {})[id] = call, notes
        return None

    async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> Any:
        call, notes = self._done(tool_context)
        if not call:
            return None  # it wasn't run
        moments = self._moments(tool_context, tool_context.agent_name, notes)
        value = after(await moments.after_tool(call, jsonable(result)), result)
        return None if value is result and not notes else _result(value, notes)

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: Any, tool_context: Any, error: BaseException
    ) -> Any:
        call, notes = self._done(tool_context)
        if not call or isinstance(error, asyncio.CancelledError):
            return None
        moments = self._moments(tool_context, tool_context.agent_name, notes)
        try:
            return _result(await moments.tool_failed(call, error), notes)
        except Exception as raised:
            if raised is error:
                return None  # it stays the failure that it is
            raise

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        self.calls.pop(invocation_context.invocation_id, None)

    async def on_run_error_callback(self, *, invocation_context: Any, error: Exception) -> None:
        self.calls.pop(invocation_context.invocation_id, None)

    def _done(self, context: Any) -> tuple[Call | None, list[str]]:
        calls = self.calls.get(context.invocation_id, {})
        return calls.pop(context.function_call_id, (None, []))


def _result(value: Any, notes: list[str], name: str = "result") -> dict[str, Any]:
    """A function's response is an object."""
    told = {"additionalContext": notes} if notes else {}
    return {**(value if isinstance(value, dict) else {name: value}), **told}


def _content(value: Any, role: str) -> Any:
    parts = value if isinstance(value, list) else [value]
    return types.Content(role=role, parts=[types.Part(text=it) if isinstance(it, str) else it for it in parts])


def _said(content: Any) -> str:
    return "".join(it.text or "" for it in content.parts or [])


def _plain(content: Any) -> Any:
    """The text, where that is all there is."""
    parts = content.parts or []
    return parts[0].text if len(parts) == 1 and parts[0].text else _json(parts)


def _json(value: Any) -> Any:
    if isinstance(value, list):
        return [_json(it) for it in value]
    return value.model_dump(mode="json", exclude_none=True) if hasattr(value, "model_dump") else jsonable(value)
