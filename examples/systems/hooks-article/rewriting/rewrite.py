"""Changes what it reads: the payload comes on stdin, the reply goes to stdout."""

import json
import sys

payload = json.load(sys.stdin)
arguments = payload.get("tool_input", {})
print(
    json.dumps(
        {
            "timeout": lambda: {"tool_input": {**arguments, "timeout": 60}},
            "dry-run": lambda: {"tool_input": {**arguments, "command": arguments["command"] + " --dry-run"}},
            "shorten": lambda: {"tool_output": payload["tool_output"][:10]},
            "remind": lambda: {"tool_output": payload["tool_output"] + "...", "additional_context": "It was cut."},
            "polite": lambda: {"prompt": payload["prompt"] + " Please."},
        }[sys.argv[1]]()
    )
)
