"""Reads the documentation's stdin, and writes the documentation's stdout."""

import json
import sys

context = json.load(sys.stdin)
shown = {
    "event": "PreToolCall",
    "stepName": "Agent",
    "toolName": "run_query",
    "toolArgs": '{"sql": "SELECT * FROM users"}',
}
if context != shown:
    sys.exit(3)
print(json.dumps({"Decision": 0, "Reason": "Query approved", "ModifiedArgs": None}))
