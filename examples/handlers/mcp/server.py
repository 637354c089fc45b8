#!/usr/bin/env python3
"""A policy server: MCP over stdio, with the standard library only. It starts once and judges every
call after that, so it remembers earlier calls."""

import json
import sys

TOOLS = [
    {
        "name": "judge_command",
        "description": "Whether a shell command may run now.",
        "inputSchema": {
            "type": "object",
            "properties": {"session": {"type": "string"}, "command": {"type": "string"}},
            "required": ["session", "command"],
        },
    }
]
pushes = {}


def judge_command(session, command):
    if "git push" not in command:
        return {}
    pushes[session] = pushes.get(session, 0) + 1
    if pushes[session] > 1:
        return {"decision": "deny", "reason": f"{pushes[session]} pushes in one session; one is enough"}
    return {"decision": "allow", "reason": "the first push of this session"}


def result_of(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "policy", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        verdict = judge_command(**params["arguments"])
        text = {"type": "text", "text": json.dumps(verdict)}
        return {"content": [text], "structuredContent": verdict}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    result = result_of(message["method"], message.get("params", {}))
    if result is None:
        reply["error"] = {"code": -32601, "message": "no such method"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
