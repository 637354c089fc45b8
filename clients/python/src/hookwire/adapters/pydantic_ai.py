"""pydantic-ai, tested with 2.68. Guards what goes through `run`, `run_sync`, `run_stream`, `run_stream_events` and
`iter`. Not guarded: realtime sessions, tools that the provider or the application itself runs, and of a streamed reply what
was streamed before PostModelCall."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.agent import WrapperAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, RetryModelRequest, ToolFailed
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.toolsets import WrapperToolset
from pydantic_core import to_json, to_jsonable_python

from ..verdict import Denied, Stopped
from .moments import Moments

# At one model call, whatever hooks say.
ATTEMPTS = 10


def guard(hooks: Any, agent: Any, **known: Any) -> GuardedAgent:
    return GuardedAgent(agent, hooks, known)


def _json(value: Any) -> Any:
    return to_jsonable_python(value, fallback=str)


class GuardedAgent(WrapperAgent):
    """The same agent, guarded. The one that it wraps isn't."""

    def __init__(self, wrapped: Any, hooks: Any, known: dict[str, Any]):
        super().__init__(wrapped)
        self.hooks, self.known = hooks, known

    @asynccontextmanager
    async def iter(self, user_prompt: Any = None, *, capabilities: Any = None, **settings: Any):
        notes: list[str] = []
        known: dict[str, Any] = {"agent": {"name": self.name}} if self.name else {}
        if conversation := settings.get("conversation_id"):
            known["session"] = conversation
        known |= self.known
        if user_prompt is not None:
            moments = Moments(self.hooks, notes.append, **known)
            verdict = await moments.send("UserPromptSubmit", prompt=_json(user_prompt))
            prompt = verdict.enforce()
            user_prompt = prompt if verdict.rewritten else user_prompt
        guard = _Guard(self.hooks, known, notes)
        async with self.wrapped.iter(user_prompt, capabilities=[*(capabilities or []), guard], **settings) as run:
            yield run

    def realtime(self, *_: Any, **__: Any):
        raise NotImplementedError("a realtime session isn't guarded; ask the agent that this one wraps for it")


@dataclass
class _Guard(AbstractCapability):
    hooks: Any
    # What all events have.
    known: dict[str, Any]
    # What hooks said to the prompt, for the first request.
    notes: list[str]
    sent_back: bool = False

    def moments(self, ctx: Any) -> Moments:
        return Moments(self.hooks, ctx.enqueue, **{"run": ctx.run_id, "step": ctx.run_step or None, **self.known})

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        return _GuardedToolset(toolset, self)

    async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
        moments = self.moments(ctx)
        (await moments.send("RunStart", prompt=_json(ctx.prompt))).enforce()
        try:
            result = await handler()
        except Denied:
            raise  # a refusal is an answer, not a failure
        except Exception as error:
            await moments.send("RunError", error=str(error))
            raise
        verdict = await moments.send("RunEnd", result=_json(result.output))
        value = verdict.enforce()
        return replace(result, output=_like(result.output, value)) if verdict.rewritten else result

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        for note in self.notes:
            ctx.enqueue(note)
        self.notes.clear()
        request = {"messages": _messages(request_context.messages), "settings": _json(request_context.model_settings)}
        model = {"name": request_context.model.model_name, "request": request}
        verdict = await self.moments(ctx).send("PreModelCall", model=model)
        value = verdict.enforce()
        if not verdict.rewritten:
            return request_context
        messages = ModelMessagesTypeAdapter.validate_python(value["messages"])
        return replace(request_context, messages=messages, model_settings=value.get("settings"))

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        usage = {"inputTokens": response.usage.input_tokens, "outputTokens": response.usage.output_tokens}
        model = {"name": response.model_name or request_context.model.model_name, "usage": usage}
        model |= {"response": _messages([response])[0], "finishReason": response.finish_reason}
        verdict = await self.moments(ctx).send("PostModelCall", model=model)
        value = verdict.enforce()
        return ModelMessagesTypeAdapter.validate_python([value])[0] if verdict.rewritten else response

    async def on_model_request_error(self, ctx: Any, *, request_context: Any, error: Exception) -> Any:
        attempt = request_context.attempt
        model = {"name": request_context.model.model_name, "error": {"message": str(error)}, "attempt": attempt}
        verdict = await self.moments(ctx).send("ModelCallError", model=model)
        retry = verdict.retry or {"action": "fail"}
        if retry["action"] == "fail" or attempt >= ATTEMPTS:
            raise error
        await asyncio.sleep((retry.get("afterMs") or 0) / 1000)
        raise RetryModelRequest(*([retry["model"]] if retry.get("model") else []))

    async def after_output_process(self, ctx: Any, *, output_context: Any, output: Any) -> Any:
        """The agent wants to rest with this output. Being sent back to work is one of its output retries."""
        if ctx.partial_output:
            return output
        verdict = await self.moments(ctx).send("Stop", lastMessage=_json(output), stopActive=self.sent_back)
        if verdict.decision != "allow" and not verdict.stops:
            self.sent_back = True
            raise ModelRetry(verdict.reason or "a hook says that there is more to do")
        return _like(output, verdict.value) if verdict.rewritten else output


def _like(output: Any, value: Any) -> Any:
    """A hook's value for an output, of the output's type."""
    return TypeAdapter(type(output)).validate_python(value)


def _messages(messages: Any) -> Any:
    return ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")


@dataclass
class _GuardedToolset(WrapperToolset):
    guard: _Guard

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        given = _json(tool_args)

        async def run(input: Any) -> Any:
            # Rewritten arguments are validated like those of the model.
            arguments = tool_args if input == given else tool.args_validator.validate_json(to_json(input))
            return await super(_GuardedToolset, self).call_tool(name, arguments, ctx, tool)

        moments = self.guard.moments(ctx)
        try:
            return await moments.tool(name, ctx.tool_call_id, given, run, _json, (ApprovalRequired, CallDeferred))
        except Stopped:
            raise
        except Denied as denied:
            raise ToolFailed(f"denied: {denied}") from denied
