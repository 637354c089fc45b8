"""An agent's state that hooks see and may change, and `fire`. Copy it unchanged."""

import os

from hookwire.protocol import EVENTS

# A run that a hook has ended starts none of these.
ACTS = ["StepStart", "PreCompact", "PreModelCall", "PreToolUse", "PermissionRequest", "SubagentStop", "Stop"]
# These events only inform hooks; they can't be refused.
NOTES = ["PermissionDenied", "PostCompact", "Checkpoint", "Notification", "SessionEnd"]


class Refused(Exception):
    """A hook's refusal. It is an answer, so nothing here treats it as a failure."""


class Hooked:
    """An agent's state that hooks see and may change."""

    problem = None  # why there was once no verdict

    def __init__(self, hooks, name, run=None, parent=None):
        self.hooks, self.name, self.parent = hooks, name, parent
        self.context = {"metadata": {}, "systemPrompt": f"You are {name}.", "messages": []}
        self.notes = []  # messages of hooks to the model
        self.tokens = 0  # read by the model in its last call
        self.begin(run)

    def begin(self, run):
        self.run_id, self.step, self.ending = run, 0, None
        self.usage = {"inputTokens": 0, "outputTokens": 0}

    @property
    def messages(self):
        return self.context["messages"]

    def add_notes(self):
        self.messages.extend({"role": "user", "content": note} for note in self.notes)
        self.notes.clear()

    def count(self, usage):
        self.tokens = usage["inputTokens"]
        self.usage = {kind: tokens + usage[kind] for kind, tokens in self.usage.items()}

    def fire(self, event, **data):
        """Sends an event; returns the verdict with `data` as hooks changed it. A refusal is Refused."""
        if self.ending and event in ACTS:
            raise Refused(self.ending)
        if event == "StepStart":
            self.step += 1
        parent = self.parent
        about = {"session": f"s{os.getpid()}", "run": self.run_id, "parentRun": parent and parent.run_id}
        about |= {"step": self.step or None, "agent": {"name": self.name, "parent": parent and parent.name}}
        verdict = self.hooks.dispatch(event, **{**about, "metadata": self.context["metadata"], **data})
        Hooked.problem = Hooked.problem or verdict.failure
        for text in verdict.user_messages:
            print(f"[hook] {text}", flush=True)
        self.notes += verdict.additional_context
        patched = verdict.patched({**self.context, **data})
        self.context = {key: patched.get(key) or type(value)() for key, value in self.context.items()}
        if verdict.stops:  # refuses this act and whatever the run would do next
            self.ending = verdict.stop or "a hook ended the run"
        if not verdict.allowed and event not in NOTES:
            raise Refused(verdict.reason or "a hook said no")
        if event == "PermissionRequest" and not verdict.decided_by:
            raise Refused("nobody has allowed it")  # where your agent would ask its user
        left = {key: patched.get(key) for key in data}
        if verdict.rewritten:
            member, _, inner = EVENTS[event][1:].partition("/")
            left[member] = {**left[member], inner: verdict.value} if inner else verdict.value
        return {**verdict.message, **left}
