"""Asks a pool about commands, each with a deadline in seconds: python3 ask_pool.py FLEET POOL USER PASSWORD_FILE CA_FILE
COMMAND DEADLINE... Prints a line for each: what may be run, and after how many seconds. An empty argument isn't given."""

import asyncio
import logging
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import hookwire  # noqa: E402

logging.getLogger("hookwire").setLevel(logging.CRITICAL)


def commanded(verdict):
    try:
        return verdict.enforce()["command"]
    except hookwire.Denied as denied:
        return f"denied: {denied}"


async def main():
    options = dict(zip(("fleet", "pool", "user", "password_file", "ca_file"), sys.argv[1:6]))
    async with hookwire.Hooks(**{name: value for name, value in options.items() if value}) as hooks:
        for command, deadline in zip(sys.argv[6::2], sys.argv[7::2]):
            event = {"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": command}}}
            begun = time.monotonic()
            verdict = await hooks.dispatch(event, deadline=float(deadline))
            print(commanded(verdict), f"{time.monotonic() - begun:.3f}", sep="\t", flush=True)
        # The blocking client has the same connection.
        assert hooks.sync.dispatch({"event": "Stop"}, deadline=0.001).decision in ("allow", "deny")
        for refused in (lambda: hooks.sync.list(), lambda: hooks.sync.state.get("a")):
            try:
                refused()
                sys.exit("a pool has listed hooks or given state")
            except hookwire.RequestFailed as problem:
                assert problem.code == -32601, problem


asyncio.run(main())
