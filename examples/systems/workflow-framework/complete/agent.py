#!/usr/bin/env python3
"""The documentation's complete example: four hooks in one pipeline, two of them this agent's own functions, and
this agent's own model as the judge. agent.py < contexts prints one HookResult per line, with what was logged and
what the model was asked."""

import json
import os
import subprocess
import sys

logged = []
asked = []


def audit(ctx):
    logged.append(f"Hook: {ctx['Event']} tool={ctx['ToolName'] or ''}")
    return {"Decision": 0}


def block_deletion(ctx):
    if "delete" in (ctx["ToolName"] or ""):
        return {"Decision": 1, "Reason": "Deletion not allowed"}
    return {"Decision": 0}


def complete(request):
    """The agent's model: it lets queries pass that only read."""
    data = json.loads(request["messages"][0]["text"].splitlines()[1])
    asked.append(data)
    return {"text": "DENY, it writes." if "DROP" in data["toolArgs"] else "ALLOW"}


CALLBACKS = {"audit": audit, "block-deletion": block_deletion}
HOOKS = [
    # 1. Audit all events
    {"name": "audit", "callback": "audit"},
    # 2. Block file deletion tools
    {"name": "block-deletion", "matcher": "PreToolCall", "callback": "block-deletion"},
    # 3. External validation via shell script
    {"name": "validate", "matcher": "PreToolCall", "command": ["./validate.sh"]},
    # 4. LLM safety check for sensitive tools
    {
        "name": "judge",
        "matcher": "PreToolCall:.*:run_query",
        "prompt": "Is this tool call safe? Tool: {toolName}, Args: {toolArgs}. Reply ALLOW or DENY.",
    },
]

host = subprocess.Popen(
    [os.environ.get("HOOKWIRE", "hookwire"), "serve", "--isolated", "--root", "."],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
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
        elif message.get("method") == "model/complete":
            send(id=message["id"], result=complete(message["params"]))
        elif message.get("id") == id:
            return message["result"]


dialect = "workflow-framework"
ask(1, "initialize", {"capabilities": {"hooks": {"dialect": dialect, "requests": ["model/complete"]}}})
ask(2, "hooks/register", {"hooks": [{"dialect": dialect, **hook} for hook in HOOKS]})
for number, line in enumerate(sys.stdin, 3):
    logged.clear()
    asked.clear()
    reply = ask(number, "hooks/dispatch", {"payload": json.loads(line)})["reply"]
    print(json.dumps({"result": reply, "logged": logged, "asked": asked}), flush=True)
host.communicate()
