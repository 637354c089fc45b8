"""What a host answers, and what a callback may answer."""

from __future__ import annotations

import warnings
from typing import Any

from .protocol import EVENTS, Answer, Outcome, Retry, Verdict as VerdictMessage


class Denied(Exception):
    """The act must not be done. `str(denied)` is the reason, `denied.verdict` the whole verdict."""

    def __init__(self, verdict: Verdict):
        super().__init__(verdict.reason or "a hook said no")
        self.verdict = verdict


class Stopped(Denied):
    """The act must not be done, and the run is over."""


# What comes next is an act, which a verdict that nobody looks at doesn't hold up.
GATES = ("UserPromptSubmit", "PreModelCall", "PreToolUse", "PermissionRequest", "SubagentStart")


class Verdict:
    """The answer to one event. `enforce()` is how it is obeyed."""

    def __init__(self, message: VerdictMessage, event: dict[str, Any], failure: str | None = None):
        self._message, self._looked_at = message, False
        self.event = event
        #: Why the host gave no verdict; then this one comes from the client's failure direction.
        self.failure = failure

    def __del__(self, warn: Any = warnings.warn) -> None:
        # Like a coroutine that was never awaited. At the interpreter's end, modules may be gone already.
        if self._looked_at or self.event.get("event") not in GATES:
            return
        if self._message["decision"] != "allow" or self._message.get("stop") is not None or "subject" in self._message:
            text = f"a verdict at {self.event['event']} was dropped without enforce(): {self!r}"
            warn(text, RuntimeWarning, stacklevel=2)

    @property
    def message(self) -> VerdictMessage:
        """The whole verdict, as the host sent it."""
        self._looked_at = True
        return self._message

    @classmethod
    def without_host(cls, event: dict[str, Any], fail: str, failure: str) -> Verdict:
        # A deny at Stop would send the agent back to work for as long as there is no host.
        rests = event.get("event") in ("Stop", "SubagentStop")
        reason = f"hookwire gave no verdict: {failure}"
        message: VerdictMessage = {
            "decision": "allow" if fail == "open" or rests else "deny",
            "reason": reason,
            "errors": [reason],
            "outcomes": [],
            "generation": 0,
            "hash": "",
            "eventId": "",
        }
        return cls(message, event, failure)

    def __bool__(self) -> bool:
        raise TypeError("a verdict is neither true nor false; use enforce(), or compare its decision")

    def __repr__(self) -> str:
        what = f"{self.decision}, rewrites" if self.rewritten else self.decision
        return f"Verdict({what}, decided_by={self.decided_by!r}, reason={self.reason!r})"

    @property
    def decision(self) -> str:
        """`allow`, `ask`, `defer` or `deny`."""
        return self.message["decision"]

    @property
    def allowed(self) -> bool:
        return self.decision == "allow" and not self.stops

    @property
    def reason(self) -> str | None:
        return self.stop or self.message.get("reason")

    @property
    def decided_by(self) -> str | None:
        """The hook that decided; None where no hook had an opinion."""
        return self.message.get("decidedBy")

    @property
    def rewritten(self) -> bool:
        return "subject" in self.message

    @property
    def value(self) -> Any:
        """The event's subject as it is to be used: as hooks rewrote it, else as it was."""
        return self.message["subject"] if self.rewritten else subject_of(self.event)

    @property
    def stop(self) -> str | None:
        return self.message.get("stop")

    @property
    def stops(self) -> bool:
        """Whether the run is over."""
        return self.message.get("stop") is not None

    @property
    def user_messages(self) -> list[str]:
        """For the person."""
        return self._message.get("userMessages") or []

    @property
    def additional_context(self) -> list[str]:
        """For the model."""
        return self._message.get("additionalContext") or []

    @property
    def context(self) -> Any:
        """A JSON merge patch over metadata, messages and system prompt."""
        return self.message.get("context")

    def patched(self, value: Any) -> Any:
        """The value as `context` changes it."""
        return value if self.context is None else merged(value, self.context)

    @property
    def retry(self) -> Retry | None:
        """What to do about a failed model call."""
        return self.message.get("retry")

    @property
    def grant(self) -> Any:
        """What the policies grant a tool call: the agent keeps to it."""
        return self.message.get("grant")

    @property
    def errors(self) -> list[str]:
        return self.message.get("errors") or []

    @property
    def outcomes(self) -> list[Outcome]:
        return self.message.get("outcomes") or []

    def enforce(self) -> Any:
        """Returns the subject as it is to be used. Raises Denied where the act must not be done, and Stopped where
        the run is over too. A question that nobody answered is a deny."""
        if self.stops:
            raise Stopped(self)
        if self.decision != "allow":
            raise Denied(self)
        return self.value


def merged(target: Any, patch: Any) -> Any:
    """Applies a JSON merge patch, RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def subject_of(event: dict[str, Any]) -> Any:
    value: Any = event
    for member in (EVENTS.get(event.get("event", "")) or "").split("/")[1:]:
        value = value.get(member) if isinstance(value, dict) else None
    return None if value is event else value


def allow(reason: str | None = None) -> Answer:
    return {"decision": "allow", "reason": reason}


def deny(reason: str) -> Answer:
    return {"decision": "deny", "reason": reason}


def ask(reason: str) -> Answer:
    return {"decision": "ask", "reason": reason}


def rewrite(subject: Any) -> Answer:
    """Another value in the place of the event's subject."""
    return {"subject": subject}


def patch(**members: Any) -> Answer:
    """Other members of the event's subject; None removes one."""
    return {"patch": members}
