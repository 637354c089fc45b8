#!/usr/bin/env python3
"""An agent that asks hookwire before it runs a command: minimal.py HOOKS [COMMAND...]"""

import json
import os
import subprocess
import sys
import threading

HOOKWIRE = os.environ.get("HOOKWIRE", "hookwire")
FAIL = os.environ.get("FAIL", "closed")  # without a verdict: "closed" skips a command, "open" runs it
PATIENCE = float(os.environ.get("PATIENCE", "5"))  # seconds for a verdict
TASK = ["mkdir build && echo hello > build/out", "git push --force", "rm -r build", "cat trash/build/out"]


def ask(host, command):
    """The verdict on a command. A missing, dead or hung host gives none, then FAIL decides."""
    event = {"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": command}}, "cwd": os.getcwd()}
    event["deadlineMs"] = int(PATIENCE * 800)  # sooner than the watchdog, so that the host tells which hook is late
    watchdog = threading.Timer(PATIENCE, host.kill)
    watchdog.start()
    try:
        request = {"jsonrpc": "2.0", "id": 1, "method": "hooks/dispatch", "params": event}
        host.stdin.write(json.dumps(request).encode() + b"\n")
        host.stdin.flush()
        return json.loads(host.stdout.readline())["result"]
    except (OSError, ValueError, KeyError):
        return {"decision": "deny" if FAIL == "closed" else "allow", "reason": "hookwire gave no verdict"}
    finally:
        watchdog.cancel()


def main(hooks, *task):
    host = subprocess.Popen([HOOKWIRE, "serve", "--hooks", hooks], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for command in task or TASK:
        verdict = ask(host, command)
        if verdict["decision"] != "allow":
            print(f"skipped: {command} ({verdict['reason']})", flush=True)
            continue
        command = verdict.get("subject", {"command": command})["command"]
        print(f"running: {command}", flush=True)
        subprocess.run(command, shell=True)
    host.communicate()  # ends its input, and so the host


main(*sys.argv[1:])
