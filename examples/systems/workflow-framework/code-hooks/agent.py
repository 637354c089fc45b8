#!/usr/bin/env python3
"""The documentation's two CodeHooks, in the agent's own process: agent.py < contexts. Prints one
HookResult per line, with what the audit hook printed."""

import json
import os
import subprocess
import sys

printed = []


def audit(ctx):
    printed.append(f"[AUDIT] {ctx['Event']}: tool={ctx['ToolName']}, args={ctx['ToolArgs']}")
    return {"Decision": "Allow"}


def deny_dangerous(ctx):
    if ctx["ToolName"] == "delete_database":
        return {"Decision": "Deny", "Reason": "Dangerous tool blocked"}
    return {"Decision": "Allow"}


CALLBACKS = {"audit": audit, "deny_dangerous": deny_dangerous}
HOOKS = [
    {"name": "audit", "matcher": "PreToolCall", "callback": "audit"},
    {"name": "deny-dangerous", "matcher": "PreToolCall:.*:delete_.*", "callback": "deny_dangerous"},
]

host = subprocess.Popen(
    [os.environ.get("HOOKWIRE", "hookwire"), "serve", "--isolated"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
)


def send(**message):
    host.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    host.stdin.flush()


def ask(id, method, params):
    """Sends a request, and answers the host's requests until the reply arrives."""
    send(id=id, method=method, params=params)
    while True:
        message = json.loads(host.stdout.readline())
        if message.get("method") == "hooks/invoke":
            call = message["params"]
            send(id=message["id"], result=CALLBACKS[call["callback"]](call["event"]))
        elif message.get("id") == id:
            return message["result"]


dialect = "workflow-framework"
ask(1, "hooks/register", {"hooks": [{"dialect": dialect, **hook} for hook in HOOKS]})
for number, line in enumerate(sys.stdin, 2):
    printed.clear()
    reply = ask(number, "hooks/dispatch", {"dialect": dialect, "payload": json.loads(line)})["reply"]
    print(json.dumps({"result": reply, "printed": printed}), flush=True)
host.communicate()
