#!/usr/bin/env python3
import json
import sys

data = json.load(sys.stdin)
tool_input = data.get("tool_input", {})

if "rm -rf" in tool_input.get("command", ""):
    print("Dangerous command blocked", file=sys.stderr)
    sys.exit(2)  # Deny

print(json.dumps({"decision": "allow"}))
sys.exit(0)
