"""Limits a command's timeout to a minute: the event comes on stdin, the reply goes to stdout."""

import json
import sys

event = json.load(sys.stdin)
asked = json.loads(sys.argv[1] or "0")
if asked > 60_000:
    print(json.dumps({"subject": {**event["tool"]["input"], "timeout": 60_000}}))
