"""The Claude Agent SDK, tested with 0.2.186 and the Claude Code that it brings, 2.1.329: `query(prompt=...,
options=hooks.guard(options))`. It guards every tool, the prompts, what sub-agents are asked, and the end of a turn; the
application's own hooks stay. Prompts and last messages can't be rewritten, and calls of the model can't be seen, because
the SDK has no place for either. Not guarded: tools that the provider runs, and sessions whose settings have
`disableAllHooks`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

from ..verdict import Denied, Stopped
from .moments import Moments, after, refused

# The tools that start a sub-agent, whose prompt is in their input.
SUBAGENT = ("Agent", "Task")


def guard(hooks: Any, options: Any, **known: Any) -> Any:
    if not isinstance(options, ClaudeAgentOptions):
        raise TypeError("of the Claude Agent SDK the options are guarded: ClaudeSDKClient(hooks.guard(options))")
    guarded = _Guard(hooks, known)
    # The client answers by its deadline; what fails here, beside it, fails in its direction.
    failing = "block" if hooks.fail == "closed" else "continue"
    merged = {event: list(matchers) for event, matchers in (options.hooks or {}).items()}
    for event, callback in guarded.callbacks().items():
        matcher = HookMatcher(hooks=[callback], timeout=hooks.deadline + 5, on_failure=failing)
        merged.setdefault(event, []).append(matcher)
    return replace(options, hooks=merged)


class _Guard:
    def __init__(self, hooks: Any, known: dict[str, Any]):
        self.hooks, self.known = hooks, known

    def callbacks(self) -> dict[str, Any]:
        return {
            "PreToolUse": self.before_tool,
            "PostToolUse": self.after_tool,
            "PostToolUseFailure": self.tool_failed,
            "UserPromptSubmit": self.prompt,
            "Stop": self.stop,
            "SubagentStop": self.stop,
        }

    def _moments(self, data: Any, notes: list[str]) -> Moments:
        known = {"session": data["session_id"], "cwd": data["cwd"]}
        if data.get("agent_type"):
            known["agent"] = {"name": data["agent_type"]}
        return Moments(self.hooks, notes.append, **{**known, **self.known})

    async def before_tool(self, data: Any, id: str | None, context: Any) -> Any:
        notes: list[str] = []
        moments = self._moments(data, notes)
        name, given = data["tool_name"], data["tool_input"]
        call = {"name": name, "callId": data["tool_use_id"], "input": given}
        try:
            verdict = await moments.send("PreToolUse", tool=call)
            input = verdict.enforce()
            if name in SUBAGENT and "prompt" in input:
                agent = {"name": input.get("subagent_type") or "general-purpose", "parent": data.get("agent_type")}
                started = await moments.send("SubagentStart", agent=agent, prompt=input["prompt"])
                input = {**input, "prompt": started.enforce()}
        except Denied as denied:
            said = {"permissionDecision": "deny", "permissionDecisionReason": str(denied)}
            return {**_answer(data, notes, **said), **_ending(denied)}
        changed = {"updatedInput": input} if input != given else {}
        # An allow is a permission only if a hook decided it; otherwise no hook had an opinion.
        permitted = {"permissionDecision": "allow"} if verdict.decided_by else {}
        return _answer(data, notes, **permitted, **changed)

    async def after_tool(self, data: Any, id: str | None, context: Any) -> Any:
        notes: list[str] = []
        output = data["tool_response"]
        tool = {**_call(data), "output": output}
        verdict = await self._moments(data, notes).send("PostToolUse", tool=tool)
        try:
            value = after(verdict, output)
        except Stopped as stopped:
            withheld = _shaped(f"withheld: {stopped}", output)
            return {**_answer(data, notes, updatedToolOutput=withheld), **_ending(stopped)}
        return _answer(data, notes, **({} if value is output else {"updatedToolOutput": _shaped(value, output)}))

    async def tool_failed(self, data: Any, id: str | None, context: Any) -> Any:
        notes: list[str] = []
        tool = {**_call(data), "error": data["error"], "output": f"failed: {data['error']}"}
        verdict = await self._moments(data, notes).send("PostToolUseFailure", tool=tool)
        return {**_answer(data, notes), **(_ending(Stopped(verdict)) if verdict.stops else {})}

    async def prompt(self, data: Any, id: str | None, context: Any) -> Any:
        notes: list[str] = []
        verdict = await self._moments(data, notes).send("UserPromptSubmit", prompt=data["prompt"])
        if verdict.allowed and not verdict.rewritten:
            return _answer(data, notes)
        blocked = {"decision": "block", "reason": verdict.stop or refused(verdict, "the Claude Agent SDK")}
        return {**blocked, "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "suppressOriginalPrompt": True}}

    async def stop(self, data: Any, id: str | None, context: Any) -> Any:
        """Also a sub-agent's."""
        said = {"lastMessage": data.get("last_assistant_message"), "stopActive": data["stop_hook_active"]}
        verdict = await self._moments(data, []).send(data["hook_event_name"], **said)
        if verdict.decision != "allow" and not verdict.stops:
            return {"decision": "block", "reason": verdict.reason or "a hook says that there is more to do"}
        return _ending(Stopped(verdict)) if verdict.stops else {}


def _call(data: Any) -> dict[str, Any]:
    call = {"name": data["tool_name"], "callId": data["tool_use_id"], "input": data["tool_input"]}
    return {**call, "durationMs": data.get("duration_ms") or 0}


def _answer(data: Any, notes: list[str], **said: Any) -> dict[str, Any]:
    if notes:
        said["additionalContext"] = "\n\n".join(notes)
    return {"hookSpecificOutput": {"hookEventName": data["hook_event_name"], **said}} if said else {}


def _ending(denied: Denied) -> dict[str, Any]:
    return {"continue_": False, "stopReason": str(denied)} if isinstance(denied, Stopped) else {}


def _shaped(value: Any, output: Any) -> Any:
    """A value in the shape that the tool's output has, because Claude Code keeps the output if it has another one."""
    if not isinstance(value, str):
        return value
    if isinstance(output, dict):
        texts = {key: "" for key, it in output.items() if isinstance(it, str)}
        if isinstance(output.get("stdout"), str):
            return {**output, **texts, "stdout": value}
        if isinstance(output.get("file"), dict) and "content" in output["file"]:
            return {**output, "file": {**output["file"], "content": value}}
        if isinstance(output.get("content"), list):
            return {**output, "content": [{"type": "text", "text": value}]}
        return {**output, **texts, next(iter(texts), "content"): value}
    return [{"type": "text", "text": value}] if isinstance(output, list) else value
