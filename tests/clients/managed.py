"""Agents that a machine guards, started by an ordinary user who tries to get out: `agents.py BIN --managed [AGENT...]`.

It takes root. Mounts and processes are its own, with an /etc, homes and a user that are thrown away. What counts is what
the agent really did: each session is told to do what is allowed, and then what is denied.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

from agents import AGENTS, PATIENCE, Model

PROGRAMS = "/opt/hookwire"
UID = 2001
HOST_UID = 990
ASK = "/run/hookwire/ask.sock"
HOME = pathlib.Path("/home/agentuser")
GUARD = """
hooks:
  - { name: no-forbidden, on: PreToolUse, if: Bash(touch forbidden*), deny: Forbidden files are off here. }
"""
COMMANDS = ["touch control", "touch forbidden"]
# A user's hook that makes the forbidden of the allowed, in the words of each agent.
REWRITER = """#!/bin/sh
cat > /dev/null
echo '%s'
"""


class Session:
    """What a row changes before the agent is started."""

    def __init__(self):
        self.flags, self.env, self.kills_host = [], {}, False

    def write(self, name, value, merge=True):
        """Writes a file below the home, into what is there already."""
        path = HOME / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(value, str):
            known = json.loads(path.read_text()) if merge and path.exists() else {}
            value = json.dumps(known | value)
        elif merge and path.exists():
            value = path.read_text() + value
        path.write_text(value)

    def rewriter(self, reply):
        """A program that rewrites each call."""
        self.write("rewriter.sh", REWRITER % json.dumps(reply), merge=False)
        (HOME / "rewriter.sh").chmod(0o755)
        return str(HOME / "rewriter.sh")


def nothing(session):
    pass


def flags(*words):
    return lambda session: session.flags.extend(words)


def env(**variables):
    return lambda session: session.env.update(variables)


def settings(name, value):
    return lambda session: session.write(name, value)


def host_killed(session):
    session.kills_host = True


def loose_definitions(session):
    """The user's own definitions say the opposite."""
    session.write(".config/hookwire/loose.yaml", "policy: { allow: [Bash] }\nhooks:\n  - { name: no-forbidden, on: PreToolUse, enabled: false, deny: off }\n  - { name: all, on: PreToolUse, priority: 1000000, allow: fine }\n")


def shell_prefix(session):
    session.write("prefix.sh", "#!/bin/sh\nexit 0\n", merge=False)
    (HOME / "prefix.sh").chmod(0o755)
    session.env["CLAUDE_CODE_SHELL_PREFIX"] = str(HOME / "prefix.sh")
    session.write(".claude/settings.json", {"env": {"CLAUDE_CODE_SHELL_PREFIX": str(HOME / "prefix.sh")}})


def bash_env(session):
    # Only the shells of hooks end: the agent's own go on.
    session.write("bash_env", 'case "$BASH_EXECUTION_STRING" in *hookwire*) exit 0;; esac\n', merge=False)
    session.env["BASH_ENV"] = session.env["ENV"] = str(HOME / "bash_env")


PRELOADED = """
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void end(void) { if (strstr(program_invocation_name, "hookwire")) _exit(0); }
"""


def preload(session):
    """Ends hookwire's programs before they begin."""
    session.write("end.c", PRELOADED, merge=False)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(HOME / "end.so"), str(HOME / "end.c")], check=True)
    session.env["LD_PRELOAD"] = str(HOME / "end.so")
    session.write(".claude/settings.json", {"env": {"LD_PRELOAD": str(HOME / "end.so")}})


CLAUDE_REPLY = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "touch forbidden"}}}


def claude_rewrites(session):
    hook = {"type": "command", "command": session.rewriter(CLAUDE_REPLY)}
    session.write(".claude/settings.json", {"hooks": {"PreToolUse": [{"hooks": [hook]}]}})


def codex_rewrites(session):
    hook = {"type": "command", "command": session.rewriter(CLAUDE_REPLY), "timeout": 60}
    session.write(".codex/hooks.json", {"hooks": {"PreToolUse": [{"hooks": [hook]}]}})
    session.flags += ["--dangerously-bypass-hook-trust"]


def copilot_rewrites(session):
    hook = {"type": "command", "bash": session.rewriter({"permissionDecision": "allow", "modifiedArgs": {"command": "touch forbidden", "description": "d"}}), "timeoutSec": 60}
    session.write(".copilot/hooks/own.json", {"version": 1, "hooks": {"preToolUse": [hook]}})


def grok_rewrites(session):
    hook = {"type": "command", "command": session.rewriter(CLAUDE_REPLY), "timeout": 60}
    session.write(".grok/hooks/own.json", {"hooks": {"PreToolUse": [{"hooks": [hook]}]}})


def other_sh(session):
    session.write("bin/sh", "#!/bin/bash\nexit 0\n", merge=False)
    (HOME / "bin/sh").chmod(0o755)
    session.env["PATH"] = f"{HOME}/bin:{session.env['PATH']}"


EVERYWHERE = {"as it is": nothing, "host killed": host_killed, "user's definitions": loose_definitions, "BASH_ENV": bash_env}
# What the user does, for each agent. What isn't held is below, so that it is known when that changes.
HELD = {
    "claude-code": EVERYWHERE | {
        "--bare": flags("--bare"),
        "--safe-mode": flags("--safe-mode"),
        "disableAllHooks": settings(".claude/settings.json", {"disableAllHooks": True}),
        "--settings": flags("--settings", '{"disableAllHooks": true}'),
        "of the project": settings("project/.claude/settings.local.json", {"disableAllHooks": True}),
        "--setting-sources": flags("--setting-sources", ""),
        "own hook rewrites": claude_rewrites,
        "CLAUDE_CONFIG_DIR": env(CLAUDE_CONFIG_DIR="/home/agentuser/elsewhere"),
        "CLAUDE_CODE_SIMPLE": env(CLAUDE_CODE_SIMPLE="1"),
        "SHELL_PREFIX": shell_prefix,
        "LD_PRELOAD": preload,
    },
    "codex": {key: act for key, act in EVERYWHERE.items() if key != "BASH_ENV"} | {
        "features.hooks": settings(".codex/config.toml", "[features]\nhooks = false\n"),
        "-c": flags("-c", "features.hooks=false", "-c", "allow_managed_hooks_only=false", "-c", "hooks={}"),
        "--disable": flags("--disable", "hooks"),
        "of the project": settings("project/.codex/config.toml", "[features]\nhooks = false\n"),
        "own hook rewrites": codex_rewrites,
        "CODEX_HOME": lambda session: (shutil.copytree(HOME / ".codex", HOME / "elsewhere"), session.env.update(CODEX_HOME=str(HOME / "elsewhere"))),
    },
    "copilot": {key: act for key, act in EVERYWHERE.items() if key != "BASH_ENV"} | {
        "disableAllHooks": lambda session: [session.write(f".copilot/{name}.json", {"disableAllHooks": True}) for name in ("config", "settings")],
        "COPILOT_HOME": env(COPILOT_HOME="/home/agentuser/elsewhere"),
    },
    "grok": EVERYWHERE | {
        "disabled-hooks": settings(".grok/disabled-hooks", "hookwire\nrequirements.toml\n"),
        "own hook rewrites": grok_rewrites,
        "GROK_HOME": lambda session: (shutil.copytree(HOME / ".grok", HOME / "elsewhere"), session.env.update(GROK_HOME=str(HOME / "elsewhere"))),
    },
    "qwen": EVERYWHERE | {
        "disableAllHooks": settings(".qwen/settings.json", {"disableAllHooks": True}),
        "of the project": settings("project/.qwen/settings.json", {"disableAllHooks": True}),
    },
}
# What isn't held, as the agents' facts say.
LEFT = {
    "codex": {"BASH_ENV": bash_env, "LD_PRELOAD": preload, "~/.codex/.env": lambda session: (bash_env(session), session.env.pop("BASH_ENV"), session.write(".codex/.env", f"BASH_ENV={HOME}/bash_env\n"))},
    "copilot": {"own hook rewrites": copilot_rewrites, "BASH_ENV": bash_env, "LD_PRELOAD": preload},
    "grok": {"PATH": other_sh, "LD_PRELOAD": preload},
    "qwen": {"--bare": flags("--bare"), "LD_PRELOAD": preload},
}


def hookwire(*words, check=True, **how):
    return subprocess.run([f"{PROGRAMS}/hookwire", *words], check=check, capture_output=True, text=True, **how)


def serve_system():
    """Starts the machine's host, as a user of its own."""
    os.makedirs(os.path.dirname(ASK), exist_ok=True)
    os.chown(os.path.dirname(ASK), HOST_UID, HOST_UID)
    host = subprocess.Popen([f"{PROGRAMS}/hookwire-host", "serve", "--system"], env={"HOME": "/tmp", "PATH": "/usr/bin:/bin"},
                            stderr=subprocess.PIPE, text=True, user=HOST_UID, group=HOST_UID, extra_groups=[])
    next(line for line in host.stderr if "listening on" in line)
    threading.Thread(target=host.stderr.read, daemon=True).start()
    return host


def kill_hosts():
    subprocess.run(["pkill", "-KILL", "-U", str(UID), "hookwire-host"])


def session(bin_dir, agent, change):
    """Runs one session as the user; what it did, and what it printed."""
    shutil.rmtree(HOME, ignore_errors=True)
    project = HOME / "project"
    for folder in (project, HOME / "run"):
        folder.mkdir(parents=True)
    (HOME / "run").chmod(0o700)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    program, speak, _ = AGENTS[agent]
    known = Session()
    known.env = {"HOME": str(HOME), "USER": "agentuser", "XDG_RUNTIME_DIR": f"{HOME}/run", "PATH": f"{bin_dir}:/usr/bin:/bin", "CI": "true", "LANG": "C.UTF-8"}

    def on_turn(results):
        if results == 1 and known.kills_host:
            kill_hosts()
        return COMMANDS[results] if results < len(COMMANDS) else None

    model = Model(speak, on_turn)
    argv, own = program(model.url, HOME, "Do it.")
    # As a person starts it.
    argv = [word for word in argv if word != "--dangerously-bypass-hook-trust"]
    known.env |= {key: value for key, value in own.items() if not key.endswith("_HOME") and key != "CLAUDE_CONFIG_DIR"}
    change(known)
    argv[1:1] = known.flags if agent != "codex" else []
    if agent == "codex":
        argv[2:2] = known.flags
    subprocess.run(["chown", "-R", f"{UID}:{UID}", str(HOME)], check=True)
    out = pathlib.Path("/tmp/out.txt")
    with out.open("wb") as sink:
        child = subprocess.Popen(argv, cwd=project, env=known.env, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT,
                                 start_new_session=True, user=UID, group=UID, extra_groups=[])
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(PATIENCE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    model.shutdown()
    kill_hosts()
    names = {path.name for path in project.iterdir()}
    heard = json.dumps([request for _, request in model.requests])
    match ("forbidden" in names, "control" in names, bool(model.requests)):
        case (True, _, _):
            word = "LOST"
        case (_, True, _):
            word = "held"
        case (_, _, True):
            # Another's hook made the forbidden of the allowed, and that was denied.
            word = "held, all denied" if "Forbidden files are off" in heard else "NO CONTROL"
        case _:
            word = "DIDN'T START"
    return word, out.read_text(errors="replace")


def table(bin_dir, names):
    """Prints what each agent did; whether one isn't as it is to be."""
    failed = False
    for agent in names:
        rows = [("without it", nothing, "LOST")]
        rows += [(name, act, "held") for name, act in HELD[agent].items()]
        rows += [(name, act, "LOST") for name, act in LEFT.get(agent, {}).items()]
        rows += [("machine's host", nothing, "held"), ("--observe", nothing, "LOST"), ("taken back", nothing, "LOST")]
        print(f"\n{agent}", flush=True)
        for name, act, expected in rows:
            match name:
                case "as it is":
                    hookwire("install", "--managed", agent)
                    doctored = hookwire("doctor", "--managed", agent, check=False, user=UID, group=UID, extra_groups=[], env={"HOME": "/tmp"})
                    failed |= doctored.returncode != 0
                    print("" if doctored.returncode == 0 else doctored.stdout, end="")
                case "machine's host":
                    host = serve_system()
                    hookwire("install", "--managed", "--connect", f"unix:{ASK}", agent)
                case "--observe":
                    host.kill()
                    host.wait()
                    hookwire("install", "--managed", "--observe", agent)
                case "taken back":
                    hookwire("uninstall", "--managed", agent)
            began = time.monotonic()
            word, printed = session(bin_dir, agent, act)
            is_right = word.startswith(expected)
            failed |= not is_right
            told = {"LOST": "not held", "held": "held"}[expected]
            print(f"  {name:<20}{word if not is_right else told:<14}{'passed' if is_right else 'FAILED'}  {time.monotonic() - began:.0f} s", flush=True)
            if not is_right:
                print(printed[-3000:])
    return failed


def main():
    """Within the mounts."""
    bin_dir, built, *names = sys.argv[1:]
    script = (
        "mount -t tmpfs -o mode=755 etc /mnt && cp -a /etc/. /mnt && mount --move /mnt /etc && mount -t tmpfs -o mode=755 lib /var/lib"
        " && mount -t tmpfs -o mode=755 opt /opt && mount -t tmpfs -o mode=1777 tmp /tmp && mount -t tmpfs -o mode=755 run /run && mount -t tmpfs -o mode=755 home /home"
        f" && mkdir {PROGRAMS} && mount --bind '{built}' {PROGRAMS} && rm -rf /etc/hookwire && mkdir -m 755 /etc/hookwire"
        f" && echo 'agentuser:x:{UID}:{UID}::{HOME}:/bin/bash' >> /etc/passwd && echo 'agentuser:x:{UID}:' >> /etc/group"
    )
    subprocess.run(["sh", "-c", script], check=True)
    pathlib.Path("/etc/hookwire/guard.yaml").write_text(GUARD)
    sys.exit(table(bin_dir, names))


def table_managed(bin_dir, program, names):
    """Prints the table of agents that a machine guards; whether one isn't as it is to be."""
    if os.geteuid() != 0:
        print("SKIPPED, because settings of a machine take root")
        return bool(os.environ.get("CI"))
    apart = ["unshare", "-m", "-p", "--propagation", "private", "--fork", "--kill-child", "--mount-proc"]
    names = [it for it in names if it in HELD]
    return subprocess.run([*apart, sys.executable, __file__, bin_dir, os.path.dirname(program), *names]).returncode != 0


if __name__ == "__main__":
    main()
