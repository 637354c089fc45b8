"""What all adapters do at a moment."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, Awaitable, Callable

from ..verdict import Denied, Stopped, Verdict


class Moments:
    """Sends a run's events and sees to what hooks say beside their decision."""

    def __init__(self, hooks: Any, tell_model: Callable[[str], Any], **known: Any):
        self.hooks, self.known = hooks, known
        self._tell_model = tell_model

    async def send(self, event: str, **members: Any) -> Verdict:
        verdict = await self.hooks.dispatch(event, **self.known, **members)
        for text in verdict.user_messages:
            self.hooks.show(text)
        for text in verdict.additional_context:
            self._tell_model(text)
        return verdict

    async def tool(
        self,
        name: str,
        call_id: str | None,
        input: Any,
        run: Callable[[Any], Awaitable[Any]],
        to_json: Callable[[Any], Any],
        passed_on: tuple[type[BaseException], ...] = (),
    ) -> Any:
        """Runs a tool, if hooks let it, and returns its output as hooks left it. Raises Denied if it wasn't run.
        Exceptions of the kinds `passed_on` are the framework's own and no failures."""
        call = await self.before_tool(name, call_id, input)
        try:
            output = await run(call.input)
        except Exception as error:
            if isinstance(error, (Denied, *passed_on)):
                raise
            return await self.tool_failed(call, error)
        return after(await self.after_tool(call, to_json(output)), output)

    async def before_tool(self, name: str, call_id: str | None, input: Any) -> Call:
        """A call that may be made, with the input to use. Raises Denied if it may not."""
        verdict = await self.send("PreToolUse", tool={"name": name, "callId": call_id, "input": input})
        return Call({"name": name, "callId": call_id, "input": verdict.enforce()}, verdict.rewritten, time.monotonic())

    async def after_tool(self, call: Call, output: Any) -> Verdict:
        return await self.send("PostToolUse", tool={**call.told(), "output": output})

    async def tool_failed(self, call: Call, error: Exception) -> Any:
        """What a hook puts in the place of the failure. Raises the error if it leaves it."""
        told = {"error": str(error), "output": f"failed: {error}"}
        verdict = await self.send("PostToolUseFailure", tool={**call.told(), **told})
        if verdict.stops:
            raise Stopped(verdict) from error
        if verdict.rewritten and verdict.decision == "allow":
            return verdict.value
        raise error


@dataclass
class Call:
    """A tool call that hooks have let pass."""

    tool: dict[str, Any]
    rewritten: bool
    started: float

    @property
    def input(self) -> Any:
        return self.tool["input"]

    def told(self) -> dict[str, Any]:
        return {**self.tool, "durationMs": (time.monotonic() - self.started) * 1000}


def after(verdict: Verdict, value: Any) -> Any:
    """What takes the place of a value after the fact: another value, or the reason why it is withheld."""
    if verdict.stops:
        raise Stopped(verdict)
    if verdict.decision != "allow":
        return f"withheld: {verdict.reason or 'a hook said no'}"
    return verdict.value if verdict.rewritten else value


def jsonable(value: Any) -> Any:
    """The same as JSON; what JSON can't say, as text."""
    return json.loads(json.dumps(value, default=str))


def refused(verdict: Verdict, framework: str) -> str:
    """Why an act can't be done: a hook says no, or wants what the framework can't do."""
    if verdict.decision != "allow":
        return verdict.reason or "a hook said no"
    return f"a hook rewrites at {verdict.event['event']}, which {framework} can't honour"
