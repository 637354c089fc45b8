#!/usr/bin/env python3
"""A small MCP server over stdio, with nothing but the standard library. What it does wrong, it does
on purpose: see TOOLS."""

import json
import os
import sys
import time

held = {}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def answer(value):
    return {**text(json.dumps(value)), "structuredContent": value}


def judge(arguments):
    if "rm -rf" in str(arguments.get("command")):
        return answer({"decision": "deny", "reason": f"not {arguments['command']}"})
    return answer({})


def crash(_):
    print("about to fall over", file=sys.stderr, flush=True)
    os._exit(3)


def flood(_):
    sys.stdout.write("x" * (5 * 1024 * 1024))
    sys.stdout.flush()
    time.sleep(60)


def flood_with(stream, line):
    """Never answers; says the same again and again."""

    def flood(_):
        while True:
            stream.write(line * 1000)
            stream.flush()

    return flood


def asks(_):
    """Asks the client for what it can't give, and tells what came back."""
    replies = []
    for method, params in [
        ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
        ("elicitation/create", {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}),
        ("roots/list", {}),
    ]:
        send({"id": method, "method": method, "params": params})
        reply = json.loads(sys.stdin.readline())
        replies.append(reply["result"].get("action", "empty") if "result" in reply else "refused")
    return answer({"reason": " ".join(replies)})


TOOLS = {
    "judge": judge,
    "text": lambda arguments: text(json.dumps(arguments)),
    "wrapped": lambda _: {**text('{"reason": "unwrapped"}'), "structuredContent": {"result": '{"reason": "unwrapped"}'}},
    "echo": lambda arguments: answer({"reason": json.dumps(arguments)}),
    "chat": lambda _: text("all is well"),
    "wrapped_object": lambda _: {"content": [], "structuredContent": {"result": {"decision": "deny", "reason": "inside"}}},
    "image": lambda _: {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]},
    "nothing": lambda _: {"content": []},
    "misspelt": lambda _: answer({"decison": "deny"}),
    "twice": lambda _: text('{"decision": "deny", "decision": "allow"}'),
    "fails": lambda _: {**text("the disk is full"), "isError": True},
    "big": lambda _: text("x" * (2 * 1024 * 1024)),
    "pid": lambda _: answer({"reason": str(os.getpid())}),
    "environment": lambda _: answer({"reason": " ".join(sorted(os.environ)) + " in " + os.getcwd()}),
    "crash": crash,
    "flood": flood,
    "notices": flood_with(sys.stdout, '{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}\n'),
    "garbage": flood_with(sys.stdout, "not JSON\n"),
    "frames": flood_with(sys.stdout, '{"jsonrpc": "2.0", "method": "x", "params": {"x": "' + "x" * 100_000 + '"}}\n'),
    "stderr": flood_with(sys.stderr, "all is well\n"),
    "asks": asks,
    "holds": None,
}


def handle(message):
    method, params = message.get("method"), message.get("params", {})
    if method == "notifications/cancelled":
        with open(held.pop(params["requestId"]), "w") as file:
            file.write("cancelled\n")
    if "id" not in message or method is None:
        return
    if method == "initialize":
        info = {"name": "tiny", "version": "1"}
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        # Two pages, as long lists come.
        names = list(TOOLS)
        page = names[5:] if params.get("cursor") else names[:5]
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in page]}
        if not params.get("cursor"):
            result["nextCursor"] = "more"
    elif method == "tools/call" and params["name"] == "holds":
        # Never answers; tells when it is called, and when the call is cancelled.
        held[message["id"]] = params["arguments"]["file"]
        with open(params["arguments"]["file"], "w") as file:
            file.write(f"{os.getpid()}\n")
        return
    elif method == "tools/call":
        result = TOOLS[params["name"]](params.get("arguments", {}))
    else:
        send({"id": message["id"], "error": {"code": -32601, "message": f"no method {method}"}})
        return
    send({"id": message["id"], "result": result})


if __name__ == "__main__":
    print("ready", file=sys.stderr, flush=True)
    for line in sys.stdin:
        handle(json.loads(line))
