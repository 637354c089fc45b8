"""An agent whose hook asks a person: the trait's human-in-the-loop example, over the wire.

Reads payloads from stdin and prints the replies. To keep the example simple, the person's answer is in the payload.
"""

import json
import os
import subprocess
import sys

host = subprocess.Popen(
    [os.environ["HOOKWIRE"], "serve", "--isolated", "--no-share"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)
ids = iter(range(1, 1000))


def send(message):
    host.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    host.stdin.flush()


def approve(event):
    """ApprovalHook.pre_tool_call: checks the patterns, then the person's answer."""
    if event["tool_name"] not in ["bash"]:
        return {"action": "Continue"}
    match event["person"]:
        case "approved":
            return {"action": "Continue"}
        case {"denied": reason}:
            return {"action": "Reject", "reason": reason}
        case {"modified": args}:
            return {"action": "Transform", "value": args}
    raise LookupError("nobody is there to ask")


def request(method, params):
    me = next(ids)
    send({"id": me, "method": method, "params": params})
    while True:
        message = json.loads(host.stdout.readline())
        if message.get("method") == "hooks/invoke":
            try:
                send({"id": message["id"], "result": approve(message["params"]["event"])})
            except LookupError as error:
                send({"id": message["id"], "error": {"code": -32000, "message": str(error)}})
        elif message.get("id") == me:
            if "error" in message:
                raise SystemExit(message["error"]["message"])
            return message["result"]


request("initialize", {"capabilities": {"hooks": {"dialect": "agent-hook-trait"}}})
hook = {"name": "human-approval", "on": "pre_tool_call", "priority": 5, "fail_open": False, "callback": "approve"}
request("hooks/register", {"dialect": "agent-hook-trait", "hooks": [hook]})
for line in sys.stdin:
    result = request("hooks/dispatch", {"payload": json.loads(line)})
    print(json.dumps({"reply": result["reply"]}))
host.stdin.close()
host.wait()
