#!/usr/bin/env python3
"""An agent that asks hookwire before it runs a command: minimal.py HOOKS [COMMAND...]"""

import json
import os
import subprocess
import sys
import threading

HOOKWIRE = os.environ.get("HOOKWIRE", "hookwire")
PATIENCE = float(os.environ.get("PATIENCE", "5"))  # seconds for a verdict
FAIL = os.environ.get("FAIL", "closed")  # without a verdict: "closed" skips the command, "open" runs it
NO_VERDICT = {"decision": "allow" if FAIL == "open" else "deny", "reason": "hookwire gave no verdict"}
TASK = ["mkdir build && echo hello > build/out", "git push --force", "rm -r build", "cat trash/build/out"]


def start(hooks):
    try:
        return subprocess.Popen([HOOKWIRE, "serve", "--hooks", hooks], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as problem:
        print(f"hookwire did not start: {problem}", file=sys.stderr)


def ask(host, command):
    event = {"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": command}}, "cwd": os.getcwd()}
    event["deadlineMs"] = int(PATIENCE * 800)  # if a hook hangs, the host answers without it
    watchdog = threading.Timer(PATIENCE, host.kill)  # if the host hangs, killing it ends the wait
    watchdog.start()
    try:
        request = {"jsonrpc": "2.0", "id": 1, "method": "hooks/dispatch", "params": event}
        host.stdin.write(json.dumps(request).encode() + b"\n")
        host.stdin.flush()
        return json.loads(host.stdout.readline())["result"]
    except (OSError, ValueError, KeyError):
        return NO_VERDICT
    finally:
        watchdog.cancel()


def stop(host):
    try:
        host.communicate(timeout=PATIENCE)  # closes its stdin, which ends the host
    except subprocess.TimeoutExpired:
        host.kill()


def main(hooks, *task):
    host = start(hooks)
    for command in task or TASK:
        verdict = ask(host, command) if host else NO_VERDICT
        if verdict["decision"] == "allow":
            command = verdict.get("subject", {"command": command})["command"]
            print(f"running: {command}", flush=True)
            subprocess.run(command, shell=True)
        else:
            print(f"skipped: {command} ({verdict.get('reason')})", flush=True)
        if "stop" in verdict:  # a hook ends the run
            break
    if host:
        stop(host)


main(*sys.argv[1:])
