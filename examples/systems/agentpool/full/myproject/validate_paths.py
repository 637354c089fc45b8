import json
import sys

path = json.load(sys.stdin)["tool_input"].get("file_path", "")
if path.startswith("/etc/"):
    print(f"{path} is out of bounds", file=sys.stderr)
    sys.exit(2)
