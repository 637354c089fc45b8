"""Denies, with its input as the reason."""

import json
import sys

context = json.load(sys.stdin)
given = sys.argv[1:] or context
print(json.dumps({"Decision": 1, "Reason": json.dumps(given, sort_keys=True)}))
