"""Strands, tested with 1.62: `hooks.guard(agent)` guards the agent itself, with its public middleware and hooks, so guard
it last: middleware that is added later is inside. Agents that are tools or nodes of others are guarded one by one. Not
guarded: tools that the provider runs, `structured_output`'s model call, bidirectional agents, and of a streamed reply
what was streamed before PostModelCall. What a Stop hook rewrites stays in a session manager's store as the model said it."""

from __future__ import annotations

from typing import Any

from strands.hooks import AfterInvocationEvent, BeforeInvocationEvent
from strands.middleware import ExecuteToolStage, InvokeModelStage, ModelStopReason, ToolResultEvent

from ..verdict import Denied, Stopped
from .moments import Moments, after, jsonable

# Kept in the state of the invocation: the verdict that ended it, and whether a hook has sent the agent back to work.
STOPPED, SENT_BACK = "hookwire stopped", "hookwire sent back"


def guard(hooks: Any, agent: Any, **known: Any) -> Any:
    guarded = _Guard(hooks, {"agent": {"name": agent.name}, **known})
    agent.add_middleware(ExecuteToolStage, guarded.tool)
    agent.add_middleware(InvokeModelStage, guarded.model)
    agent.add_hook(guarded.prompt, BeforeInvocationEvent)
    agent.add_hook(guarded.stop, AfterInvocationEvent)
    return agent


class _Guard:
    def __init__(self, hooks: Any, known: dict[str, Any]):
        self.hooks, self.known = hooks, known

    def _moments(self, notes: list[str]) -> Moments:
        return Moments(self.hooks, notes.append, **self.known)

    async def tool(self, context: Any, next_fn: Any) -> Any:
        use, notes = context.tool_use, []
        moments = self._moments(notes)
        id = use["toolUseId"]

        def result(content: Any, **of: Any) -> Any:
            status = of.pop("status", "error")
            return ToolResultEvent({"toolUseId": id, "status": status, "content": [*content, *map(_text, notes)]}, **of)

        try:
            call = await moments.before_tool(use["name"], id, jsonable(use["input"]))
            if call.rewritten:
                context = context.replace(tool_use={**use, "input": call.input})
            events = _Events(next_fn(context), ToolResultEvent)
            async for event in events:
                yield event
            done = events.last
            if done is None:
                return  # a person is asked first
            content, status = done.tool_result["content"], done.tool_result["status"]
            if status == "error":
                error = done.exception or RuntimeError(_said(content))
                try:
                    content, status = [_content(await moments.tool_failed(call, error))], "success"
                except Exception as raised:
                    if raised is not error:
                        raise
            else:
                value = after(await moments.after_tool(call, _plain(content)), content)
                content = content if value is content else [_content(value)]
            yield result(content, status=status, exception=done.exception)
        except Stopped as stopped:
            # What is raised here would be an error of the tool, and the run would go on.
            context.invocation_state[STOPPED] = stopped
            yield result([_text(f"denied: {stopped}")])
        except Denied as denied:
            yield result([_text(f"denied: {denied}")])

    async def model(self, context: Any, next_fn: Any) -> Any:
        if stopped := context.invocation_state.pop(STOPPED, None):
            raise stopped
        notes: list[str] = []
        moments = self._moments(notes)
        name = str(context.model.get_config().get("model_id") or type(context.model).__name__)
        request = {"systemPrompt": context.system_prompt, "messages": context.messages}
        verdict = await moments.send("PreModelCall", model={"name": name, "request": jsonable(request)})
        value = verdict.enforce()
        if verdict.rewritten:
            context = context.replace(system_prompt=value.get("systemPrompt"), messages=value["messages"])
        if notes:
            context = context.replace(messages=_with(context.messages, notes))
        events = _Events(next_fn(context), ModelStopReason)
        try:
            async for event in events:
                yield event
        except Exception as error:
            await moments.send("ModelCallError", model={"name": name, "error": {"message": str(error)}})
            raise
        done = events.last
        if done is None:
            return
        usage = {"inputTokens": done.usage["inputTokens"], "outputTokens": done.usage["outputTokens"]}
        model = {"name": name, "response": jsonable(done.message), "finishReason": done.stop_reason, "usage": usage}
        verdict = await moments.send("PostModelCall", model=model)
        said = verdict.enforce()
        yield ModelStopReason(
            done.stop_reason, said if verdict.rewritten else done.message, done.usage, done.metrics
        )

    async def prompt(self, event: BeforeInvocationEvent) -> None:
        event.invocation_state.pop(STOPPED, None)
        message = event.messages[-1] if event.messages else None
        if event.invocation_state.get(SENT_BACK) or not message or message["role"] != "user":
            return  # no person's words
        notes: list[str] = []
        verdict = await self._moments(notes).send("UserPromptSubmit", prompt=_plain(message["content"]))
        value = verdict.enforce()
        if verdict.rewritten:
            message = {**message, "content": value if isinstance(value, list) else [_content(value)]}
        event.messages = [*event.messages[:-1], {**message, "content": [*message["content"], *map(_text, notes)]}]

    async def stop(self, event: AfterInvocationEvent) -> None:
        sent_back = event.invocation_state.pop(SENT_BACK, False)
        if event.result is None or event.result.stop_reason != "end_turn":
            return
        message = event.result.message
        verdict = await self._moments([]).send("Stop", lastMessage=_said(message["content"]), stopActive=sent_back)
        if verdict.decision != "allow" and not verdict.stops:
            event.invocation_state[SENT_BACK] = True
            event.resume = verdict.reason or "a hook says that there is more to do"
        elif verdict.rewritten:
            message["content"] = [_content(verdict.value)]


class _Events:
    """Events on their way, without the last one, which is kept."""

    def __init__(self, events: Any, kind: type):
        self.events, self.kind, self.last = events, kind, None

    async def __aiter__(self) -> Any:
        async for event in self.events:
            if isinstance(event, self.kind):
                self.last = event
            else:
                yield event


def _text(text: str) -> dict[str, Any]:
    return {"text": text}


def _content(value: Any) -> dict[str, Any]:
    return _text(value) if isinstance(value, str) else {"json": value}


def _said(content: Any) -> str:
    return "".join(it.get("text", "") for it in content)


def _plain(content: Any) -> Any:
    """The text, where that is all there is."""
    return content[0]["text"] if len(content) == 1 and "text" in content[0] else jsonable(content)


def _with(messages: Any, notes: list[str]) -> Any:
    """The same messages, of which the last one, the user's, has the notes too."""
    *others, last = messages
    return [*others, {**last, "content": [*last["content"], *map(_text, notes)]}]
