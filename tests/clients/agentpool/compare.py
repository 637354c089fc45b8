"""Whether two files hold the same replies, line by line: compare.py SESSION THEIRS OURS."""

import json
import sys

session, theirs, ours = ([json.loads(line) for line in open(file)] for file in sys.argv[1:])
if not len(session) == len(theirs) == len(ours):
    sys.exit(f"{len(session)} events, {len(theirs)} and {len(ours)} replies")
differ = 0
for event, their, our in zip(session, theirs, ours):
    # Where agentpool has an error of its own, nobody knows what it would have said.
    if their != our["reply"] and "raised" not in their:
        differ += 1
        print(json.dumps({"event": event, "agentpool": their, "hookwire": our["reply"], "verdict": our["verdict"]}))
print(f"{len(session)} events, {differ} replies differ", file=sys.stderr)
sys.exit(differ > 0)
