#!/usr/bin/env python3
"""An agent's dispatch of tools with hooks around it: agent.py < calls. Prints one result per line."""

import json
import os
import subprocess
import sys

host = subprocess.Popen(
    [os.environ.get("HOOKWIRE", "hookwire"), "serve", "--isolated", "--hooks", "."],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
)
calls = 0


def run_hooks(event, **context):
    """Returns the reply of the hooks to an event."""
    global calls
    calls += 1
    params = {"dialect": "hooks-article", "payload": {"event": event, **context}}
    request = {"jsonrpc": "2.0", "id": calls, "method": "hooks/dispatch", "params": params}
    host.stdin.write(json.dumps(request).encode() + b"\n")
    host.stdin.flush()
    return json.loads(host.stdout.readline())["result"]["reply"]


def write(args):
    return f"wrote {args['content']} to {args['path']}"


def read(args):
    raise FileNotFoundError(args["path"])


TOOLS = {"Write": write, "Read": read}


def dispatch_with_hooks(name, args, context):
    # Pre-tool hooks: can block execution or modify arguments
    pre_result = run_hooks("PreToolUse", tool_name=name, tool_input=args, context=context)
    if pre_result["blocked"]:
        return {"error": f"Blocked by hook: {pre_result['reasons']}"}
    args = pre_result.get("tool_input", args)
    try:
        result = TOOLS[name](args)
    except OSError as error:
        # Post-tool hooks run only after tools that returned.
        return {"error": f"no such file: {error}"}
    post_result = run_hooks("PostToolUse", tool_name=name, tool_input=args, tool_output=result, context=context)
    return {"result": post_result.get("tool_output", result)}


for line in sys.stdin:
    call = json.loads(line)
    result = dispatch_with_hooks(call["name"], call["args"], {"session_id": "s1", "cwd": os.getcwd()})
    print(json.dumps(result), flush=True)
host.communicate()
