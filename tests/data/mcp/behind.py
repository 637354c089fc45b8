#!/usr/bin/env python3
"""A server for the tests of the gateway: behind.py LOG [TOOLS]

LOG gets each line as it came. A tool answers with what its arguments say: `lines` are written as they are, `result`
is the result, `error` the error; `ask` is a request for the client, whose answer is the result; `hold` never ends."""

import json
import os
import sys

log = open(sys.argv[1], "ab", buffering=0)
asked = {}


def tools():
    if len(sys.argv) > 2 and os.path.exists(sys.argv[2]):
        return json.loads(open(sys.argv[2]).read())
    return [{"name": name, "description": f"The tool {name}.", "inputSchema": {"type": "object"}} for name in ("echo", "rm")]


def write(text):
    sys.stdout.write(text.replace("$ID", current) + "\n")
    sys.stdout.flush()


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def call(id, params):
    arguments = params.get("arguments") or {}
    if "lines" in arguments:
        return [write(line) for line in arguments["lines"]]
    if "exit" in arguments:
        os._exit(arguments["exit"])
    if "hold" in arguments:
        return None
    if "ask" in arguments:
        asked[f"s{id}"] = id
        return send({"id": f"s{id}", **arguments["ask"]})
    if "error" in arguments:
        return send({"id": id, "error": arguments["error"]})
    send({"id": id, "result": arguments.get("result", {"content": [{"type": "text", "text": json.dumps(params)}]})})


for line in sys.stdin.buffer:
    log.write(line)
    try:
        message = json.loads(line)
        id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        params = params if isinstance(params, dict) else {}
    except (ValueError, AttributeError):
        continue
    current = json.dumps(id)
    if method is None and id in asked:
        text = json.dumps({key: message.get(key) for key in ("result", "error")})
        send({"id": asked.pop(id), "result": {"content": [{"type": "text", "text": text}]}})
    elif id is None or method is None:
        continue
    elif method == "initialize":
        send({"id": id, "result": {"protocolVersion": params.get("protocolVersion"), "capabilities": {"tools": {}},
                                   "serverInfo": {"name": "calls-itself-so", "version": "1"}}})
    elif method == "tools/list":
        send({"id": id, "result": {"tools": tools()}})
    elif method == "tools/call":
        call(id, params)
    else:
        send({"id": id, "result": {"method": method, "params": params}})
