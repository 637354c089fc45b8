#!/usr/bin/env python3
"""agentpool's programmatic example, with hookwire behind it: agent.py < events. Prints one reply per line."""

import json
import sys

from agentpool_hooks import AgentHooks, CallableHook


def my_pre_tool_hook(tool_name: str, tool_input: dict, **kwargs):
    if tool_name == "Bash" and "rm" in tool_input.get("command", ""):
        return {"decision": "deny", "reason": "rm commands not allowed"}
    return {"decision": "allow"}


hooks = AgentHooks(
    pre_tool_use=[
        CallableHook(
            event="pre_tool_use",
            fn=my_pre_tool_hook,
            matcher="Bash",
        )
    ]
)

if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(hooks.dispatch(json.loads(line))), flush=True)
