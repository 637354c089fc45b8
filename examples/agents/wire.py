"""The client that an agent needs: the host, and `fire`. Copy it unchanged."""

import json
import os
import subprocess
import threading

HOOKWIRE = os.environ.get("HOOKWIRE", "hookwire")
PATIENCE = float(os.environ.get("PATIENCE", "5"))  # seconds for a verdict

# The member that hooks may rewrite at each event.
SUBJECTS = {
    "UserPromptSubmit": "prompt",
    "RunStart": "prompt",
    "RunEnd": "result",
    "RunError": "result",
    "StepEnd": "lastMessage",
    "PreModelCall": "model.request",
    "PostModelCall": "model.response",
    "PreToolUse": "tool.input",
    "PostToolUse": "tool.output",
    "PostToolUseFailure": "tool.output",
    "PermissionRequest": "tool.input",
    "SubagentStart": "prompt",
    "SubagentStop": "lastMessage",
    "PreCompact": "compaction",
    "Stop": "lastMessage",
}
# A run that a hook has ended starts none of these.
ACTS = ["StepStart", "PreCompact", "PreModelCall", "PreToolUse", "PermissionRequest", "SubagentStop", "Stop"]
# These events only inform hooks; they can't be refused.
NOTES = ["PermissionDenied", "PostCompact", "Checkpoint", "Notification", "SessionEnd"]


class Refused(Exception):
    """A hook's refusal. It is an answer, so nothing here treats it as a failure."""


class Hooked:
    """An agent's state that hooks see and may change."""

    def __init__(self, host, name, run=None, parent=None):
        self.host, self.name, self.parent = host, name, parent
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
        moment = {
            "event": event,
            "session": f"s{os.getpid()}",
            "run": self.run_id,
            "parentRun": parent and parent.run_id,
            "step": self.step or None,
            "agent": {"name": self.name, "parent": parent and parent.name},
            "cwd": os.getcwd(),
            "metadata": self.context["metadata"],
            **data,
        }
        verdict = self.host.judge(moment)
        for text in verdict.get("userMessages", []):
            print(f"[hook] {text}", flush=True)
        self.notes += verdict.get("additionalContext", [])
        patched = merged({**self.context, **data}, verdict.get("context", {}))
        self.context = {key: patched.get(key) or type(value)() for key, value in self.context.items()}
        if "stop" in verdict:  # refuses this act and whatever the run would do next
            self.ending = verdict["stop"] or "a hook ended the run"
            verdict.update(decision="deny", reason=self.ending)
        if verdict["decision"] != "allow" and event not in NOTES:
            raise Refused(verdict.get("reason", "a hook said no"))
        if event == "PermissionRequest" and "decidedBy" not in verdict:
            raise Refused("nobody has allowed it")  # where your agent would ask its user
        left = {key: patched.get(key) for key in data}
        if "subject" in verdict:
            member, _, inner = SUBJECTS[event].partition(".")
            left[member] = {**left[member], inner: verdict["subject"]} if inner else verdict["subject"]
        return {**verdict, **left}


class Host:
    """hookwire on two pipes. Without it every verdict is a deny, so that nothing runs unjudged."""

    def __init__(self, arguments):
        self.problem = None
        try:
            command = [HOOKWIRE, "serve", *arguments]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as problem:
            self.process, self.problem = None, f"hookwire did not start: {problem}"

    def judge(self, event):
        if not self.problem:
            event["deadlineMs"] = int(PATIENCE * 800)  # if a hook hangs, the host answers without it
            watchdog = threading.Timer(PATIENCE, self.process.kill)  # if the host hangs, killing it ends the wait
            watchdog.start()
            try:
                request = {"jsonrpc": "2.0", "id": 1, "method": "hooks/dispatch", "params": event}
                self.process.stdin.write(json.dumps(request).encode() + b"\n")
                self.process.stdin.flush()
                # One question at a time, so the next line is the answer.
                reply = json.loads(self.process.stdout.readline())
                return reply.get("result") or {"decision": "deny", "reason": reply["error"]["message"]}
            except (OSError, ValueError, KeyError):
                self.problem = "hookwire gave no verdict"
            finally:
                watchdog.cancel()
        return {"decision": "deny", "reason": self.problem}

    def stop(self):
        if self.process:
            try:
                self.process.communicate(timeout=PATIENCE)  # closes its stdin, which ends the host
            except subprocess.TimeoutExpired:
                self.process.kill()


def merged(target, patch):
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
