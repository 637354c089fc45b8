# myproject/hooks.py
from typing import Any, Dict, Optional


def log_tool_usage(
    tool_name: str,
    tool_output: Any,
    duration_ms: float,
    log_file: str,
    **kwargs
) -> Optional[Dict]:
    with open(log_file, "a") as f:
        f.write(f"{tool_name}: {duration_ms:.1f}ms\n")
    return {"decision": "allow"}
