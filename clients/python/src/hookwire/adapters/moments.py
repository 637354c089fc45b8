"""What all adapters do at a moment."""

from __future__ import annotations

import time
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
        call = {"name": name, "callId": call_id, "input": input}
        call["input"] = (await self.send("PreToolUse", tool=call)).enforce()
        started = time.monotonic()
        try:
            output = await run(call["input"])
        except Exception as error:
            if isinstance(error, (Denied, *passed_on)):
                raise
            told = {"error": str(error), "output": f"failed: {error}", "durationMs": (time.monotonic() - started) * 1000}
            verdict = await self.send("PostToolUseFailure", tool={**call, **told})
            if verdict.stops:
                raise Stopped(verdict) from error
            if verdict.rewritten and verdict.decision == "allow":
                return verdict.value
            raise
        done = {"output": to_json(output), "durationMs": (time.monotonic() - started) * 1000}
        return after(await self.send("PostToolUse", tool={**call, **done}), output)


def after(verdict: Verdict, value: Any) -> Any:
    """What takes the place of a value after the fact: another value, or the reason why it is withheld."""
    if verdict.stops:
        raise Stopped(verdict)
    if verdict.decision != "allow":
        return f"withheld: {verdict.reason or 'a hook said no'}"
    return verdict.value if verdict.rewritten else value
