#!/usr/bin/env python3
"""An agent with a function of its own as a hook: agent.py < events. Prints one verdict per line."""

import json
import os
import subprocess
import sys

seen = {}


def review(event):
    """A hook in the agent's own process: it sees what the agent knows."""
    path = event["tool"]["input"].get("file_path", "")
    seen[path] = seen.get(path, 0) + 1
    if seen[path] > 1:
        return {"decision": "deny", "reason": f"{path} was written already"}


CALLBACKS = {"review": review}
HOOK = {"name": "once", "on": "PreToolUse", "matcher": "Write", "fail": "closed", "callback": "review"}

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


ask(1, "hooks/register", {"hooks": [HOOK]})
for number, line in enumerate(sys.stdin, 2):
    print(json.dumps(ask(number, "hooks/dispatch", json.loads(line))), flush=True)
host.communicate()
