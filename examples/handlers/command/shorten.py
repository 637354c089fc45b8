"""Limits a command's timeout to a minute: the patch on stdout leaves the rest of the input as it is."""

import json
import sys

asked = json.loads(sys.argv[1] or "0")
if asked > 60_000:
    print(json.dumps({"patch": {"timeout": 60_000}}))
