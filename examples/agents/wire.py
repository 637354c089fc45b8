"""The wire to hookwire: spawn it, ask it, take its answers. To be copied as it is."""

import json
import os
import subprocess
import threading

HOOKWIRE = os.environ.get("HOOKWIRE", "hookwire")
PATIENCE = float(os.environ.get("PATIENCE", "5"))  # seconds for a verdict


class Refused(Exception):
    """A hook's no. It is an answer and not a failure, so nothing here treats it as one."""


class Host:
    """hookwire on two pipes. Without it every answer is a no: nothing goes on unjudged."""

    def __init__(self, arguments):
        self.problem = None
        try:
            command = [HOOKWIRE, "serve", *arguments]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as problem:
            self.process, self.problem = None, f"hookwire did not start: {problem}"

    def judge(self, event):
        if not self.problem:
            event["deadlineMs"] = int(PATIENCE * 800)  # a hook that hangs: the host answers without it
            watchdog = threading.Timer(PATIENCE, self.process.kill)  # a host that hangs: its end ends the waiting
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
                self.process.communicate(timeout=PATIENCE)  # ends its input, and so the host
            except subprocess.TimeoutExpired:
                self.process.kill()


def settled(verdict, value=None):
    """The value as hooks left it."""
    if verdict["decision"] != "allow":
        raise Refused(verdict.get("reason", "a hook said no"))
    return verdict.get("subject", value)


def merged(target, patch):
    """A JSON merge patch, RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result
