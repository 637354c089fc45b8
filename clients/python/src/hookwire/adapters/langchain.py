"""LangChain's `create_agent`, tested with 1.4, and LangGraph's `ToolNode`, tested with 1.2:

    create_agent(model, tools, middleware=[hooks.middleware()])
    ToolNode(tools, wrap_tool_call=guard.wrap_tool_call, awrap_tool_call=guard.awrap_tool_call)

A tool node has no other moments than those of tools. Not guarded: what was streamed of a model's reply before
PostModelCall, and tools that the provider runs."""

from __future__ import annotations

import json
from typing import Any

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, messages_from_dict, messages_to_dict
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from ..blocking import now
from ..verdict import Denied, Stopped
from .moments import Moments

# Marks the message with which a hook sends the agent back to work.
SENT_BACK = {"hookwire": "Stop"}


class Middleware(AgentMiddleware):
    def __init__(self, hooks: Any, blocking: Any, **known: Any):
        """`blocking` is the same client, of which waiting blocks the thread."""
        super().__init__()
        self.hooks, self.blocking, self.known = hooks, blocking, known

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return now(self._tool(self.blocking, request, _later(handler)))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await self._tool(self.hooks, request, handler)

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return now(self._model(self.blocking, request, _later(handler)))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await self._model(self.hooks, request, handler)

    def before_agent(self, state: Any, runtime: Any) -> Any:
        return now(self._prompt(self.blocking, state))

    async def abefore_agent(self, state: Any, runtime: Any) -> Any:
        return await self._prompt(self.hooks, state)

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> Any:
        return now(self._stop(self.blocking, state))

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: Any, runtime: Any) -> Any:
        return await self._stop(self.hooks, state)

    def _moments(self, hooks: Any, notes: list[str]) -> Moments:
        thread = get_config().get("configurable", {}).get("thread_id")
        return Moments(hooks, notes.append, **{**({"session": str(thread)} if thread else {}), **self.known})

    async def _tool(self, hooks: Any, request: Any, handler: Any) -> Any:
        notes: list[str] = []
        call = request.tool_call

        async def run(input: Any) -> Any:
            message = await handler(request.override(tool_call={**call, "args": input}))
            if isinstance(message, ToolMessage) and message.status == "error":
                raise _ToolError(message)
            return message

        try:
            output = await self._moments(hooks, notes).tool(
                call["name"], call["id"], call["args"], run, _output, (GraphBubbleUp,)
            )
        except _ToolError as error:
            output = error.message
        except Stopped:
            raise
        except Denied as denied:
            refusal = f"denied: {denied}"
            output = ToolMessage(refusal, name=call["name"], tool_call_id=call["id"], status="error")
        if not isinstance(output, (ToolMessage, Command)):
            output = ToolMessage(_text(output), name=call["name"], tool_call_id=call["id"])
        if notes and isinstance(output, ToolMessage):
            # Nothing may stand between a call and its result, so the result carries them.
            parts = [output.content] if isinstance(output.content, str) else list(output.content)
            content = "\n\n".join([*parts, *notes]) if isinstance(output.content, str) else [*parts, *map(_block, notes)]
            output = output.model_copy(update={"content": content})
        return output

    async def _model(self, hooks: Any, request: Any, handler: Any) -> Any:
        notes: list[str] = []
        moments = self._moments(hooks, notes)
        name = getattr(request.model, "model_name", None) or getattr(request.model, "model", None)
        name = name if isinstance(name, str) else type(request.model).__name__
        system = request.system_message and request.system_message.text
        asked = {"systemPrompt": system, "messages": messages_to_dict(request.messages)}
        verdict = await moments.send("PreModelCall", model={"name": name, "request": asked})
        value = verdict.enforce()
        if verdict.rewritten:
            request = request.override(messages=messages_from_dict(value["messages"]))
        if notes:
            request = request.override(messages=[*request.messages, *map(HumanMessage, notes)])
        try:
            response = await handler(request)
        except Exception as error:
            await moments.send("ModelCallError", model={"name": name, "error": {"message": str(error)}})
            raise
        said = next((it for it in reversed(response.result) if isinstance(it, AIMessage)), None)
        used: Any = (said and said.usage_metadata) or {}
        usage = {"inputTokens": used.get("input_tokens", 0), "outputTokens": used.get("output_tokens", 0)}
        model = {"name": name, "response": messages_to_dict(response.result), **({"usage": usage} if used else {})}
        verdict = await moments.send("PostModelCall", model=model)
        value = verdict.enforce()
        if verdict.rewritten:
            response.result = messages_from_dict(value)
        return response

    async def _prompt(self, hooks: Any, state: Any) -> Any:
        message = state["messages"][-1] if state["messages"] else None
        if not isinstance(message, HumanMessage):
            return None
        notes: list[str] = []
        verdict = await self._moments(hooks, notes).send("UserPromptSubmit", prompt=message.content)
        prompt = verdict.enforce()
        # A message with the same id takes the place of the one that is there.
        changed = [message.model_copy(update={"content": prompt})] if verdict.rewritten else []
        return {"messages": [*changed, *map(HumanMessage, notes)]}

    async def _stop(self, hooks: Any, state: Any) -> Any:
        message = state["messages"][-1]
        if not isinstance(message, AIMessage) or message.tool_calls:
            return None
        asked = next((it for it in reversed(state["messages"]) if isinstance(it, HumanMessage)), None)
        again = bool(asked and asked.additional_kwargs == SENT_BACK)
        verdict = await self._moments(hooks, []).send("Stop", lastMessage=message.text, stopActive=again)
        if verdict.decision != "allow" and not verdict.stops:
            reason = verdict.reason or "a hook says that there is more to do"
            return {"messages": [HumanMessage(reason, additional_kwargs=SENT_BACK)], "jump_to": "model"}
        if verdict.rewritten:
            return {"messages": [message.model_copy(update={"content": verdict.value})]}
        return None


class _ToolError(Exception):
    """What a tool node has made a message of."""

    def __init__(self, message: Any):
        super().__init__(message.text)
        self.message = message


def _later(handler: Any) -> Any:
    async def call(request: Any) -> Any:
        return handler(request)

    return call


def _output(output: Any) -> Any:
    return output.content if isinstance(output, ToolMessage) else str(output)


def _text(output: Any) -> Any:
    return output if isinstance(output, (str, list)) else json.dumps(output)


def _block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
