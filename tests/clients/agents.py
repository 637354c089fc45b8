#!/usr/bin/env python3
"""Drives real coding agents against a stand-in model and says what hookwire's hooks came to: agents.py BIN [AGENT...]

BIN is a directory with the agents' programs. Nothing leaves this machine: the model is a server of this program.
Each agent has `hookwire install` done in a project of its own, or http hooks that ask a host; what counts is what the
agent really did. A second table is of agents below `hookwire run`, whose programs do what no text of a call shows, and
a third of what `hookwire doctor --unasked` finds in the agents' transcripts. The last one is of agents that a machine
guards, whose user tries to get out: see `managed.py`.
"""

import contextlib
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOOKS = """
defaults: { fail: closed }
hooks:
  - { name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off here. }
  - { name: rename, on: PreToolUse, if: Bash(touch plain), rewrite: { command: [touch, rewritten] } }
  - name: tell
    on: UserPromptSubmit
    command: { run: echo the-word-is-heron, stdout: context }
  - name: no-secrets
    on: UserPromptSubmit
    when: prompt.contains("forbidden")
    deny: Such prompts are off here.
  - { name: not-yet, on: Stop, once: true, deny: The tests were not run. }
  - { name: seen, on: [SessionStart, PostToolUse], command: { run: 'echo "$event" >> seen.txt', stdout: log } }
"""
COMMANDS = ["touch allowed", "touch forced; git push -f origin main", "touch plain", "touch edited", "touch last"]
PATIENCE = 180


class Model(ThreadingHTTPServer):
    """Says the commands one after the other, as calls of the shell tool, and then that it's done."""

    daemon_threads = True

    def __init__(self, speak, on_turn):
        super().__init__(("127.0.0.1", 0), Handler)
        self.speak, self.on_turn = speak, on_turn
        self.requests, self.lock = [], threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer("application/json", b'{"data": [], "models": []}')

    def do_HEAD(self):
        self.answer("application/json", b"")

    def do_POST(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            request = json.loads(body)
        except ValueError:
            return self.answer("application/json", b"{}")
        with self.server.lock:
            self.server.requests.append((self.path, request))
            kind, text = self.server.speak(self.path, request, self.server.on_turn)
        self.answer(kind, text.encode())

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        # An agent that has heard enough closes the connection.
        with contextlib.suppress(BrokenPipeError):
            if self.command != "HEAD":
                self.wfile.write(body)


def events(*items, named=False, done=False):
    lines = [(f"event: {item['type']}\n" if named else "") + f"data: {json.dumps(item)}\n\n" for item in items]
    return "text/event-stream", "".join(lines) + ("data: [DONE]\n\n" if done else "")


# What the calls of tools came to, as the model is told: for each protocol the results within a request.
def anthropic_results(request):
    blocks = [b for m in request.get("messages", []) if isinstance(m["content"], list) for b in m["content"]]
    return [block for block in blocks if block.get("type") == "tool_result"]


def chat_results(request):
    return [message for message in request.get("messages", []) if message["role"] == "tool"]


def gemini_results(request):
    parts = [part for content in request.get("contents", []) for part in content.get("parts", [])]
    return [part for part in parts if "functionResponse" in part]


def responses_results(request):
    return [item for item in request.get("input", []) if item.get("type", "").endswith("_call_output")]


def call_of(command, name, given):
    """The tool that is called and what it is given: a command is one of the shell, anything else is both."""
    return (name, given) if isinstance(command, str) else command


def anthropic(path, request, on_turn):
    if "count_tokens" in path:
        return "application/json", '{"input_tokens": 10}'
    tools = [tool["name"] for tool in request.get("tools", [])]
    results = len(anthropic_results(request))
    command = on_turn(results) if "Bash" in tools else None
    if command:
        name, given = call_of(command, "Bash", {"command": command, "description": "d"})
        start = {"type": "tool_use", "id": f"toolu_{results}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
    else:
        start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "All done."}
    message = {"id": f"msg_{results}", "type": "message", "role": "assistant", "model": "m", "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    if not request.get("stream"):
        message |= {"content": [{"type": "text", "text": "All done."}], "stop_reason": "end_turn"}
        return "application/json", json.dumps(message)
    return events(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "usage": {"output_tokens": 1},
         "delta": {"stop_reason": "tool_use" if command else "end_turn", "stop_sequence": None}},
        {"type": "message_stop"},
        named=True,
    )


def chat(path, request, on_turn):
    results = len(chat_results(request))
    names = [tool["function"]["name"] for tool in request.get("tools") or []]
    shells = ("run_shell_command", "bash", "run_commands", "Bash", "run_terminal_command")
    name = next((it for it in names if it in shells), None)
    command = on_turn(results) if name else None
    if command:
        arguments = {"command": command, "description": "d", "is_background": False}
        if name == "Bash":
            del arguments["is_background"]
        if name == "run_commands":
            arguments = {"commands": [command]}
        name, arguments = call_of(command, name, arguments)
        call = {"index": 0, "id": f"call_{results}", "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)}}
        delta, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    else:
        delta, reason = {"role": "assistant", "content": "All done."}, "stop"
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not request.get("stream"):
        choice = {"index": 0, "message": delta, "finish_reason": reason}
        return "application/json", json.dumps(head | {"object": "chat.completion", "choices": [choice], "usage": usage})
    return events(
        head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        head | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
        done=True,
    )


def gemini(path, request, on_turn):
    results = len(gemini_results(request))
    declared = [f["name"] for tool in request.get("tools") or [] for f in tool.get("functionDeclarations", [])]
    command = on_turn(results) if "run_shell_command" in declared else None
    part = {"text": "All done."}
    if command:
        name, given = call_of(command, "run_shell_command", {"command": command, "description": "d"})
        part = {"functionCall": {"name": name, "args": given}}
    reply = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
             "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
    if "countTokens" in path:
        return "application/json", '{"totalTokens": 10}'
    if "stream" not in path:
        return "application/json", json.dumps(reply)
    return "text/event-stream", f"data: {json.dumps(reply)}\n\n"


def responses(path, request, on_turn):
    results = len(responses_results(request))
    tools = [tool.get("name") or tool.get("type") for tool in request.get("tools", [])]
    name = next((it for it in tools if it in ("shell_command", "exec_command", "shell", "local_shell")), None)
    command = on_turn(results) if name else None
    item = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "All done."}]}
    if command:
        arguments = {"shell": {"command": ["bash", "-lc", command]}, "shell_command": {"command": command},
                     "exec_command": {"cmd": command}}.get(name, {"command": command})
        name, arguments = call_of(command, name, arguments)
        item = {"type": "function_call", "id": f"f_{results}", "call_id": f"call_{results}", "name": name,
                "arguments": json.dumps(arguments)}
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None,
             "total_tokens": 2}
    return events(
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "usage": usage}},
        named=True,
    )


def claude_code(url, home, prompt):
    env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
           "CLAUDE_CONFIG_DIR": str(home / ".claude"), "DISABLE_AUTOUPDATER": "1"}
    return ["claude", "-p", prompt, "--allowedTools", "Bash", "--model", "claude-sonnet-4-5"], env


def codex(url, home, prompt, is_sandboxed=False):
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex/config.toml").write_text(
        f'model = "gpt-5"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\nbase_url = "{url}/v1"\n'
        'wire_api = "responses"\nenv_key = "LOCAL_KEY"\n'
        f'[projects."{home.parent / "project"}"]\ntrust_level = "trusted"\n'
    )
    sandbox = ["--sandbox", "workspace-write"] if is_sandboxed else ["--dangerously-bypass-approvals-and-sandbox"]
    flags = [*sandbox, "--dangerously-bypass-hook-trust", "--skip-git-repo-check"]
    return ["codex", "exec", *flags, prompt], {"LOCAL_KEY": "x", "CODEX_HOME": str(home / ".codex")}


def codex_sandboxed(url, home, prompt):
    return codex(url, home, prompt, is_sandboxed=True)


def gemini_cli(url, home, prompt):
    (home / ".gemini").mkdir(exist_ok=True)
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "telemetry": {"enabled": False}}
    (home / ".gemini/settings.json").write_text(json.dumps(settings))
    env = {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true",
           "GEMINI_TELEMETRY_ENABLED": "false"}
    return ["gemini", "-p", prompt, "--approval-mode", "yolo", "-m", "gemini-2.5-flash"], env


def qwen(url, home, prompt):
    env = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "m"}
    return ["qwen", "-p", prompt, "--yolo", "--auth-type", "openai"], env


def opencode(url, home, prompt):
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "local", "models": {"m": {"name": "m"}},
                "options": {"baseURL": f"{url}/v1", "apiKey": "x"}}
    (home / ".config/opencode").mkdir(parents=True, exist_ok=True)
    config = {"provider": {"local": provider}, "model": "local/m", "small_model": "local/m", "autoupdate": False,
              "permission": "allow", "share": "disabled"}
    (home / ".config/opencode/opencode.json").write_text(json.dumps(config))
    return ["opencode", "run", prompt], {"OPENCODE_DISABLE_AUTOUPDATE": "1"}


def cline(url, home, prompt):
    auth = ["cline", "auth", "-p", "openai", "-k", "x", "-m", "m", "-b", f"{url}/v1"]
    return ["sh", "-c", f"{' '.join(auth)} >&2; exec cline '{prompt}'"], {}


def copilot(url, home, prompt):
    env = {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_MODEL": "gpt-4.1",
           "COPILOT_PROVIDER_API_KEY": "x", "COPILOT_ALLOW_ALL": "true", "COPILOT_AUTO_UPDATE": "false"}
    return ["copilot", "-p", prompt], env


def grok(url, home, prompt):
    (home / ".grok").mkdir(exist_ok=True)
    (home / ".grok/config.toml").write_text(
        f'[models]\ndefault = "local"\n[model.local]\nmodel = "m"\nbase_url = "{url}/v1"\nname = "local"\n'
        'api_key = "x"\ncontext_window = 100000\n[features]\ntelemetry = false\n[cli]\nauto_update = false\n'
    )
    env = {"GROK_FOLDER_TRUST": "0", "XAI_API_KEY": "x", "GROK_HOME": str(home / ".grok")}
    return ["grok", "-p", prompt, "-m", "local", "--always-approve"], env


def kimi(url, home, prompt):
    env = {"KIMI_MODEL_NAME": "m", "KIMI_MODEL_BASE_URL": f"{url}/v1", "KIMI_MODEL_API_KEY": "x",
           "KIMI_MODEL_PROVIDER_TYPE": "openai", "KIMI_MODEL_MAX_CONTEXT_SIZE": "100000", "KIMI_DISABLE_TELEMETRY": "1"}
    return ["kimi", "-p", prompt], env


def pi(url, home, prompt):
    agent = home / ".pi/agent"
    agent.mkdir(parents=True, exist_ok=True)
    provider = {"baseUrl": f"{url}/v1", "apiKey": "x", "api": "openai-completions", "models": [{"id": "m"}]}
    (agent / "models.json").write_text(json.dumps({"providers": {"local": provider}}))
    return ["pi", "--approve", "--provider", "local", "--model", "m", "-p", prompt], {"PI_OFFLINE": "1"}


# The program, what speaks to it, and what it can't do by itself.
AGENTS = {
    "claude-code": (claude_code, anthropic, ()),
    "claude-code, http": (claude_code, anthropic, ("session",)),
    "codex": (codex, responses, ()),
    # There a no after the run means: try again.
    "gemini": (gemini_cli, gemini, ()),
    "qwen": (qwen, chat, ("rewrite", "session")),
    "opencode": (opencode, chat, ("context", "stop")),
    "cline": (cline, chat, ()),
    "copilot": (copilot, chat, ()),
    "grok": (grok, chat, ("context",)),
    "kimi": (kimi, chat, ("rewrite",)),
    "pi": (pi, chat, ()),
}

# Those that have no hooks in a project.
FOR_USER = ("kimi",)


# Those that pass over the hooks of a project that nobody has let them trust.
TRUSTING = ("codex", "gemini", "grok", "pi")


# A deny ends the run.
APART = ("cline",)


def over_http(hookwire, project, base):
    """Starts a host and writes the settings of an agent that asks it over HTTP; gives that agent's environment."""
    known = {"HOOKWIRE_TOKEN": secrets.token_hex(32)}
    host = subprocess.Popen(
        [hookwire, "serve", "--root", str(project), "--listen", "http://127.0.0.1:0"],
        cwd=project, env=base | known, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )
    # Warnings about the definitions come first.
    url = next(line for line in host.stderr if "listening on " in line).split("listening on ")[1].split(";")[0]
    hook = {"type": "http", "url": f"{url}/hook/claude-code", "headers": {"Authorization": "Bearer $HOOKWIRE_TOKEN"},
            "allowedEnvVars": ["HOOKWIRE_TOKEN"], "onFailure": "block", "timeout": 60}
    events = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
    (project / ".claude").mkdir()
    settings = {"hooks": {event: [{"hooks": [hook]}] for event in events}}
    (project / ".claude/settings.json").write_text(json.dumps(settings))
    return known


def make_project(bin_dir, hookwire, name, hooks):
    """Makes a project with definitions that are approved; gives its place, its environment and what approves again."""
    scratch = pathlib.Path(tempfile.mkdtemp(prefix=f"hookwire-{name}-"))
    home, project, runtime = scratch / "home", scratch / "project", scratch / "run"
    for folder in (home, project / ".hookwire", runtime):
        folder.mkdir(parents=True)
    runtime.chmod(0o700)
    (project / ".hookwire/hooks.yaml").write_text(hooks)
    base = {key: os.environ[key] for key in ("PATH", "LANG", "TERM", "USER") if key in os.environ}
    base |= {"HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "PATH": f"{bin_dir}:{base['PATH']}", "CI": "true"}
    subprocess.run(["git", "init", "-q"], cwd=project, env=base, check=True)
    subprocess.run([hookwire, "check", "--isolated", "--live"], cwd=project, env=base, check=True, stdout=subprocess.DEVNULL)
    # The project's own definitions count only once a person has approved them.
    trust = lambda: subprocess.run([hookwire, "trust", "--yes"], cwd=project, env=base, check=True, stdout=subprocess.DEVNULL)
    trust()
    return project, base, trust


def drive(argv, project, env):
    """Runs an agent to its end; gives what it printed."""
    out = project.parent / "out.txt"
    with out.open("wb") as sink:
        child = subprocess.Popen(argv, cwd=project, env=env, stdin=subprocess.DEVNULL, stdout=sink,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        # With what it has left behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    return out.read_text(errors="replace")


def signal_hosts(hookwire, project, env, what):
    """Sends the hosts of a project a signal; gives their process ids."""
    asked = subprocess.run([hookwire, "host", "status", "--format", "json", "--root", str(project)], cwd=project, env=env, capture_output=True, text=True)
    pids = {json.loads(line).get("pid") for line in asked.stdout.splitlines()} - {None}
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, what)
    return pids


def kill_hosts(hookwire, project, env):
    """Ends the hosts of a project at once."""
    signal_hosts(hookwire, project, env, signal.SIGKILL)


def run(bin_dir, hookwire, agent, prompt, commands, between=None):
    """Runs one session; gives what the project holds, what the model heard and what the agent printed."""
    program, speak, _ = AGENTS[agent]
    project, base, trust = make_project(bin_dir, hookwire, agent, HOOKS)
    scratch, home = project.parent, project.parent / "home"
    if agent.endswith(", http"):
        base |= over_http(hookwire, project, base)
    else:
        flags = ["--user"] if agent in FOR_USER else []
        subprocess.run([hookwire, "install", agent, *flags], cwd=project, env=base, check=True, stdout=subprocess.DEVNULL)

    turns = {}

    def on_turn(results):
        turns[results] = turns.get(results, 0) + 1
        if between and turns[results] == 1:
            between(results, project, trust, lambda: kill_hosts(hookwire, project, base))
        return commands[results] if results < len(commands) else None

    model = Model(speak, on_turn)
    argv, env = program(model.url, home, prompt)
    printed = drive(argv, project, base | env)
    model.shutdown()
    kill_hosts(hookwire, project, base)
    files = sorted(path.name for path in project.iterdir() if not path.name.startswith("."))
    seen = (project / "seen.txt").read_text() if (project / "seen.txt").exists() else ""
    heard = json.dumps([request for _, request in model.requests])
    shutil.rmtree(scratch, ignore_errors=True)
    return files, heard, seen, printed


def guard_instead(project, command, trust):
    """Edits the hooks as an editor does and approves that: another command is denied from now on."""
    hooks = project / ".hookwire/hooks.yaml"
    new = hooks.with_suffix(".new")
    new.write_text(HOOKS.replace("Bash(git push --force*)", f"Bash({command})"))
    new.rename(hooks)
    trust()


def edit(project, trust, kill_host=None):
    guard_instead(project, "touch edited", trust)
    # The host has its own eyes on the file; an agent that is faster would be judged by the old hooks.
    time.sleep(1)


def kill(project, trust, kill_host):
    guard_instead(project, "touch last", trust)
    kill_host()


def edit_and_kill(results, project, trust, kill_host):
    """Edits the hooks in mid-session, and later kills the host."""
    if results == 3:
        edit(project, trust)
    if results == 4:
        kill(project, trust, kill_host)


def check_apart(bin_dir, hookwire, agent):
    """The same for an agent whose run a deny ends: a session for each."""
    session = lambda commands, between=None: run(bin_dir, hookwire, agent, "Do it.", commands, between)
    after_first = lambda act: lambda results, *given: act(*given) if results == 1 else None
    denied, _, _, printed = session(COMMANDS[:2])
    renamed, _, seen, _ = session(["touch plain"])
    edited, *_ = session(["touch allowed", "touch edited"], after_first(edit))
    killed, *_ = session(["touch allowed", "touch last"], after_first(kill))
    return {
        "deny": "allowed" in denied and "forced" not in denied,
        "rewrite": "rewritten" in renamed and "plain" not in renamed,
        "context": "-",
        "prompt": "-",
        "stop": "-",
        "session": "tools only" if "PostToolUse" in seen else False,
        "edit": "allowed" in edited and "edited" not in edited,
        "host killed": "allowed" in killed and "last" not in killed,
    }, printed


def hooks_of_codex(project, env):
    """What Codex itself says of the hooks in a project."""
    server = subprocess.Popen(["codex", "app-server"], cwd=project, env=env, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    client = {"name": "hookwire", "version": "0"}
    for request in ({"id": 1, "method": "initialize", "params": {"clientInfo": client}}, {"method": "initialized"},
                    {"id": 2, "method": "hooks/list", "params": {"cwds": [str(project)]}}):
        server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    answers = (json.loads(line) for line in server.stdout)
    listed = next(answer for answer in answers if answer.get("id") == 2)
    server.kill()
    server.wait()
    return listed["result"]["data"][0]["hooks"]


def let_trust(agent, project, env):
    """Has an agent trust a project and the hooks in it, as a person does; whether it asks for that."""
    home, place = pathlib.Path(env["HOME"]), json.dumps(str(project.resolve()))
    said = {"gemini": (".gemini/trustedFolders.json", f'{{{place}: "TRUST_FOLDER"}}'),
            "grok": (".grok/trusted_folders.toml", f"[folders.{place}]\ntrusted = true\n"),
            "pi": (".pi/agent/trust.json", f"{{{place}: true}}"),
            "codex": (".codex/config.toml", f'[projects.{place}]\ntrust_level = "trusted"\n')}
    if agent not in said:
        return False
    name, text = said[agent]
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(text)
    if agent == "codex":
        with (home / name).open("a") as config:
            for hook in hooks_of_codex(project, env):
                config.write(f'[hooks.state.{json.dumps(hook["key"])}]\ntrusted_hash = "{hook["currentHash"]}"\n')
    return True


def is_driven(bin_dir, hookwire, agent):
    """Whether `hookwire doctor` and its `--drive` see what the agent does: it is guarded once it trusts the project, not
    before, and not in a repository within the project."""
    if agent.endswith(", http"):
        return "-"
    project, env, _ = make_project(bin_dir, hookwire, agent, HOOKS)
    flags = ["--user"] if agent in FOR_USER else []
    subprocess.run([hookwire, "install", agent, *flags], cwd=project, env=env, check=True, stdout=subprocess.DEVNULL)

    def doctored(*more, below="."):
        doctor = [hookwire, "doctor", agent, *more]
        return subprocess.run(doctor, cwd=project / below, env=env, capture_output=True, text=True)

    guarded = lambda: doctored().returncode == 0 and "ok    driven" in doctored("--drive").stdout
    bare = lambda **given: doctored(**given).returncode == 1 and "it ran what is denied" in doctored("--drive", **given).stdout
    refuses = agent == "gemini"
    # Gemini doesn't start at all in a folder that it doesn't trust.
    before = refuses or agent not in TRUSTING or bare()
    let_trust(agent, project, env)
    subprocess.run(["git", "init", "-q", "inner"], cwd=project, env=env, check=True)
    inner = refuses or agent in FOR_USER or bare(below="inner")
    found = before and guarded() and inner
    shutil.rmtree(project.parent, ignore_errors=True)
    return found


def check(bin_dir, hookwire, agent):
    files, heard, seen, printed = run(bin_dir, hookwire, agent, "Do it.", COMMANDS, edit_and_kill)
    unsupported = AGENTS[agent][2]
    # Over HTTP, nobody starts another host for the stop that comes after the kill.
    at_stop = run(bin_dir, hookwire, agent, "Do it.", COMMANDS[:1])[1] if agent.endswith(", http") else heard
    found = {
        "deny": "allowed" in files and "forced" not in files and "Force pushes are off here." in heard,
        "rewrite": "rewritten" in files and "plain" not in files,
        "context": "the-word-is-heron" in heard,
        "stop": "The tests were not run." in at_stop,
        "session": "SessionStart" in seen and "PostToolUse" in seen,
        "edit": "edited" not in files,
        "host killed": "last" not in files,
    }
    if "rewrite" in unsupported:
        # Then it mustn't run as it was either.
        found["rewrite"] = "refused" if not {"plain", "rewritten"} & set(files) else False
    for key in {"context", "stop"} & set(unsupported):
        found[key] = "-"
    if "session" in unsupported:
        found["session"] = "tools only" if "PostToolUse" in seen else False
    _, heard, _, blocked = run(bin_dir, hookwire, agent, "Do the forbidden thing.", COMMANDS)
    found["prompt"] = "forbidden thing" not in heard
    return found, printed + "\n--- prompt ---\n" + blocked


# Below `hookwire run`. The remote is in the project, where a sandbox lets things be written.
FORCED = "git push --force ./remote HEAD:main"
BELOW_HOOKS = """
defaults: { fail: closed }
hooks: [{ name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off here. }]
"""
BELOW_FILES = {
    "Makefile": f"push:\n\t{FORCED}\nwork:\n\tcc -o hello hello.c && ./hello > hello.txt\n\tgit push ./remote HEAD:refs/heads/work\n",
    "package.json": json.dumps({"name": "work", "scripts": {"push": FORCED}}),
    "push.sh": f"#!/bin/sh\necho pushing\n{FORCED}\n",
    "hello.c": '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n',
}
# Each way to start the push, and the program that its place in the tree is below.
WAYS = {
    "make": ("make push", "make"),
    "npm": ("npm run push", "npm"),
    "python": (f"python3 -c 'import subprocess; subprocess.run({json.dumps(FORCED.split())})'", "python3"),
    "alias": ("git p", "git"),
    "script": ("./push.sh", "push.sh"),
}
# The program, what speaks to it, what reads its results, whether it has hooks too, and whether it has a sandbox of its own.
BELOW = {
    "claude-code": (claude_code, anthropic, anthropic_results, False, False),
    "claude-code, hooks": (claude_code, anthropic, anthropic_results, True, False),
    "codex": (codex, responses, responses_results, False, False),
    "codex, hooks": (codex, responses, responses_results, True, False),
    "codex, sandbox": (codex_sandboxed, responses, responses_results, False, True),
    "gemini": (gemini_cli, gemini, gemini_results, False, False),
    "qwen": (qwen, chat, chat_results, False, False),
    "opencode": (opencode, chat, chat_results, False, False),
    "copilot": (copilot, chat, chat_results, False, False),
}


def push_target(project, env):
    """Where the remote's main branch is."""
    asked = subprocess.run(["git", "-C", "remote", "rev-parse", "main"], cwd=project, env=env, check=True, capture_output=True, text=True)
    return asked.stdout.strip()


def make_remote(project, env):
    """Gives the project a remote whose main branch only a forced push can move, and ways to start one."""
    for name, text in BELOW_FILES.items():
        (project / name).write_text(text)
    (project / "push.sh").chmod(0o755)
    git = lambda *words: subprocess.run(["git", *words], cwd=project, env=env, check=True, capture_output=True)
    for key, value in {"user.name": "a", "user.email": "a@b", "alias.p": FORCED.removeprefix("git ")}.items():
        git("config", key, value)
    (project / ".git/info/exclude").write_text("remote\n.hookwire\n")
    git("init", "-q", "--bare", "remote")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    git("push", "-q", "./remote", "HEAD:main")
    git("commit", "-q", "--amend", "-m", "another")


def check_below(bin_dir, hookwire, agent):
    """Runs an agent that is told to push by force in each way, and then to do ordinary work."""
    program, speak, results_of, has_hooks, is_sandboxed = BELOW[agent]
    project, env, _ = make_project(bin_dir, hookwire, agent.replace(", ", "-"), BELOW_HOOKS)
    make_remote(project, env)
    # Codex makes the program of its sandbox in its home, and not below /tmp.
    home = pathlib.Path(tempfile.mkdtemp(prefix="home-", dir=os.path.dirname(hookwire))) if is_sandboxed else project.parent / "home"
    if has_hooks:
        subprocess.run([hookwire, "install", agent.split(",")[0]], cwd=project, env=env, check=True, stdout=subprocess.DEVNULL)
    outside = pathlib.Path.home() / f"outside-{project.parent.name}"
    commands = [command for command, _ in WAYS.values()] + ["make work", f"touch {outside}"]
    model = Model(speak, lambda results: commands[results] if results < len(commands) else None)
    argv, own = program(model.url, home, "Do it.")
    before = push_target(project, env)
    printed = drive([hookwire, "run", "--idle-exit", "1m", "--", *argv], project, env | own)
    model.shutdown()
    held = push_target(project, env) == before
    results = max((results_of(request) for _, request in model.requests), key=len, default=[])
    told = [json.dumps(result) for result in results]
    tail = [hookwire, "tail", "--no-follow", "--denied", "--last", "100", "--format", "json"]
    tail = subprocess.run(tail, cwd=project, env=env, check=True, capture_output=True, text=True).stdout
    starts = [row["params"]["exec"] for row in map(json.loads, tail.splitlines()) if row["event"] == "PreExec"]
    parents = [" ".join(word for parent in start["parents"] for word in parent["argv"]) for start in starts]
    found = {}
    for at, (way, (_, below)) in enumerate(WAYS.items()):
        # Where the agent has hooks, a text that may push is refused already.
        reasons = ["Force pushes are off here.", *(["no-force-push"] if has_hooks else [])]
        reason = at < len(told) and any(it in told[at] for it in reasons)
        is_seen = any(below in words for words in parents) or has_hooks
        found[way] = held and reason and is_seen
    branches = subprocess.run(["git", "-C", "remote", "branch"], cwd=project, env=env, capture_output=True, text=True).stdout
    found["work"] = (project / "hello.txt").exists() and "work" in branches and len(told) == len(commands)
    found["sandbox"] = not outside.exists() if is_sandboxed else "-"
    outside.unlink(missing_ok=True)
    # Unheld, each way does move the branch: the table above says something.
    for way, (command, _) in WAYS.items():
        subprocess.run(["git", "-C", "remote", "update-ref", "refs/heads/main", before], cwd=project, env=env, check=True)
        subprocess.run(["sh", "-c", command], cwd=project, env=env, capture_output=True)
        if push_target(project, env) == before:
            found[way] = "no push"
    kill_hosts(hookwire, project, env)
    shutil.rmtree(project.parent, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)
    return found, printed + "\n--- what the model was told ---\n" + "\n".join(told)


def table_below(bin_dir, hookwire, names):
    """Prints the table of agents below `hookwire run`; whether something failed."""
    probe = subprocess.run([str(pathlib.Path(hookwire).with_name("hookwire-run")), "--probe"], capture_output=True, text=True)
    if probe.returncode:
        print(f"SKIPPED, because starts can't be held here: {probe.stderr}")
        return bool(os.environ.get("CI"))
    columns = [*WAYS, "work", "sandbox"]
    print(f"\n{'below hookwire run':<20}" + "".join(f"{column:<9}" for column in columns))
    failed = False
    for agent in (it for it in BELOW if it.split(",")[0] in names or it in names):
        found, printed = check_below(bin_dir, hookwire, agent)
        words = {key: value if isinstance(value, str) else "passed" if value else "FAILED" for key, value in found.items()}
        is_bad = not set(words.values()) <= {"passed", "-"}
        failed |= is_bad
        print(f"{agent:<20}" + "".join(f"{words[column]:<9}" for column in columns), flush=True)
        if is_bad:
            print(printed[-4000:])
    return failed


# Calls that agents refuse before they ask, or that fail, and what is in the table's sessions beside commands.
REFUSED = {
    "claude-code": [("NoSuch", {"a": 1}), ("Bash", {"cmd": 1}), ("Read", {"file_path": "/nonexistent"})],
    "codex": [("NoSuch", {"a": 1}), ("exec_command", {"x": 1}), ("write_stdin", {"session_id": 1, "chars": "x"})],
    "gemini": [("no_such", {"a": 1}), ("run_shell_command", {"x": 1}), ("read_file", {"file_path": "/nonexistent"})],
    "qwen": [("no_such", {"a": 1}), ("run_shell_command", {"x": 1}), ("todo_write", {"todos": []})],
    "opencode": [("no_such", {"a": 1})],
    "copilot": [("no_such", {"a": 1})],
    "grok": [("no_such", {"a": 1}), ("run_terminal_command", {"x": 1})],
    "kimi": [("NoSuch", {"a": 1}), ("Bash", {"x": 1})],
    "pi": [("no_such", {"a": 1}), ("bash", {"x": 1})],
    "cline": [],
}
# Those that name no session of their own in which a call was denied go on; a deny ends the others' run.
UNASKED = ["touch unasked", "exit 3", "touch forced; git push -f origin main"]


def check_unasked(bin_dir, hookwire, agent):
    """Runs a session that is guarded and one after `uninstall`: `doctor --unasked` must find exactly the second one's calls."""
    program, speak, _ = AGENTS[agent]
    project, base, _ = make_project(bin_dir, hookwire, agent, HOOKS.replace("once: true", "enabled: false"))
    home = project.parent / "home"
    flags = ["--user"] if agent in FOR_USER else []
    hookwire_does = lambda *words: subprocess.run([hookwire, *words], cwd=project, env=base, capture_output=True, text=True)

    def session(commands):
        model = Model(speak, lambda results: commands[results] if results < len(commands) else None)
        argv, env = program(model.url, home, "Do it.")
        printed = drive(argv, project, base | env)
        model.shutdown()
        return printed

    def doctor():
        said = hookwire_does("doctor", agent, "--unasked", "--format", "json")
        return said.returncode, json.loads(said.stdout.splitlines()[0]) if said.stdout else {"unasked": [], "error": said.stderr}

    hookwire_does("install", agent, *flags)
    printed = session(["touch allowed", *REFUSED[agent], "exit 3", "touch last", *UNASKED[2:]])
    guarded_code, guarded = doctor()
    hookwire_does("uninstall", agent, *flags)
    # What is killed leaves a gap.
    hookwire_does("host", "stop")
    printed += session([*UNASKED, *REFUSED[agent]])
    code, found = doctor()
    acts = [call["act"] for call in found["unasked"]]
    shutil.rmtree(project.parent, ignore_errors=True)
    return {
        "guarded": guarded_code == 0 and not guarded["unasked"] and guarded.get("asked", 0) >= 3,
        "found": code == 1 and acts == UNASKED and found["asked"] == guarded["asked"],
        "denied": found.get("wouldBeDenied") == 1,
    }, json.dumps([guarded, found], indent=1) + printed


def table_unasked(bin_dir, hookwire, names):
    """Prints the table of calls that nobody was asked about; whether something failed."""
    print(f"\n{'never asked':<19}{'guarded':<9}{'found':<8}denied")
    failed = False
    for agent in (it for it in REFUSED if it in names):
        found, printed = check_unasked(bin_dir, hookwire, agent)
        words = {key: "passed" if value else "FAILED" for key, value in found.items()}
        failed |= "FAILED" in words.values()
        print(f"{agent:<19}{words['guarded']:<9}{words['found']:<8}{words['denied']}", flush=True)
        if "FAILED" in words.values():
            print(printed[-6000:])
    return failed


def take_runtime(project):
    """A file stands where hosts are to be found."""
    runtime = project.parent / "run"
    shutil.rmtree(runtime)
    runtime.write_text("")


# What breaks between an act that is allowed and one that is denied, given the programs' directory, the project, its
# environment and the whole program; whether it has broken before the session; and what `install` is told.
DEFINITIONS = ".hookwire/hooks.yaml"
BREAKS = {
    "fine": (lambda *_: None, False, []),
    "host killed": (lambda _, project, env, whole: kill_hosts(whole, project, env), False, []),
    "host stopped": (lambda _, project, env, whole: signal_hosts(whole, project, env, signal.SIGSTOP), False, []),
    "large gone": (lambda programs, *_: (programs / "hookwire-host").unlink(), False, []),
    "large gone before": (lambda programs, *_: (programs / "hookwire-host").unlink(), True, []),
    "both gone, --require": (lambda programs, *_: shutil.rmtree(programs), False, ["--require"]),
    "broken": (lambda _, project, *__: (project / DEFINITIONS).write_text("hooks: [{"), False, []),
    "broken before": (lambda _, project, *__: (project / DEFINITIONS).write_text("hooks: [{"), True, []),
    "removed": (lambda _, project, *__: (project / DEFINITIONS).unlink(), False, []),
    "removed before": (lambda _, project, *__: (project / DEFINITIONS).unlink(), True, []),
    "runtime taken": (lambda _, project, *__: take_runtime(project), True, []),
}
# With these the host goes too, which would answer on.
ALONE = ("large gone", "both gone, --require", "broken", "removed")
# More requests than this to the model are an agent that is sent back to work for ever.
MOST_REQUESTS = 20


def check_broken(bin_dir, hookwire, agent, name):
    """Runs a session in which something breaks; what became of the act that is denied."""
    break_it, is_before, flags = BREAKS[name]
    program, speak, _ = AGENTS[agent]
    project, base, _ = make_project(bin_dir, hookwire, agent, BELOW_HOOKS)
    programs = pathlib.Path(tempfile.mkdtemp(prefix="programs-", dir=os.path.dirname(hookwire)))
    for it in ("hookwire", "hookwire-host"):
        os.link(pathlib.Path(hookwire).with_name(it), programs / it)
    flags = [*flags, *(["--user"] if agent in FOR_USER else [])]
    subprocess.run([programs / "hookwire", "install", agent, *flags], cwd=project, env=base, check=True, stdout=subprocess.DEVNULL)

    stopped, broken = set(), []

    def do_break():
        done = break_it(programs, project, base, hookwire)
        # One that stands still says nothing of itself any more.
        stopped.update(done if name == "host stopped" else ())
        if name in ALONE:
            kill_hosts(hookwire, project, base)


    def on_turn(results):
        if results == 1 and not is_before and not broken:
            broken.append(do_break())
        # One that asks for ever mustn't be told to act for ever.
        return ["touch allowed", "touch forced; git push -f origin main"][results] if results < 2 else None

    if is_before:
        do_break()
    model = Model(speak, on_turn)
    argv, env = program(model.url, project.parent / "home", "Do it.")
    began = time.monotonic()
    printed = drive(argv, project, base | env)
    is_late = time.monotonic() - began >= PATIENCE
    model.shutdown()
    kill_hosts(hookwire, project, base)
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    files = [path.name for path in project.iterdir()]
    n_requests, heard = len(model.requests), json.dumps([request for _, request in model.requests])
    shutil.rmtree(project.parent, ignore_errors=True)
    shutil.rmtree(programs, ignore_errors=True)
    told = "told" if "hookwire failed" in heard or "Force pushes are off" in heard else "held"
    match ("forced" in files, n_requests > MOST_REQUESTS, is_late):
        case (True, _, _):
            return "RAN", printed
        case (_, True, _):
            return "LOOPS", printed
        case (_, _, True):
            return "HANGS", printed
    return told, printed


def table_broken(bin_dir, hookwire, names):
    """Prints the table of what broke; whether something ran or went on for ever."""
    print(f"\n{'broken':<14}" + "".join(f"{name:<{len(name) + 2}}" for name in BREAKS))
    failed = False
    for agent in (it for it in names if it in AGENTS and not it.endswith(", http")):
        print(f"{agent:<14}", end="", flush=True)
        wrong = []
        for name in BREAKS:
            word, printed = check_broken(bin_dir, hookwire, agent, name)
            wrong += [f"{name}: {printed[-2000:]}"] if word.isupper() else []
            print(f"{word:<{len(name) + 2}}", end="", flush=True)
        print()
        failed |= bool(wrong)
        print("".join(wrong), end="")
    return failed


# What `install --shared` is told, and what an agent without hookwire does then: whether the act runs, and who hears of it.
MISSING = {"": [], "stop": ["--missing", "stop"], "tell": ["--missing", "tell"]}


def check_missing(bin_dir, hookwire, agent, flags):
    """Runs a session with the team's entry and no hookwire on PATH; what became of an act and what was said."""
    program, speak, _ = AGENTS[agent]
    project, base, _ = make_project(bin_dir, hookwire, agent, BELOW_HOOKS)
    subprocess.run([hookwire, "install", agent, "--shared", *flags], cwd=project, env=base, check=True, stdout=subprocess.DEVNULL)
    model = Model(speak, lambda results: "touch ran" if results == 0 else None)
    argv, env = program(model.url, project.parent / "home", "Do it.")
    printed = drive(argv, project, base | env)
    model.shutdown()
    ran = (project / "ran").exists()
    heard = "hookwire" in json.dumps([request["messages"] if "messages" in request else request for _, request in model.requests]).replace(str(project.parent), "")
    said = "hookwire" in printed.replace(str(project.parent), "")
    shutil.rmtree(project.parent, ignore_errors=True)
    word = "runs" if ran else "held" if model.requests else "no turn"
    return word + (", model told" if heard else "") + (", person told" if said else ""), printed


def table_missing(bin_dir, hookwire, names):
    """Prints the table of agents whose team has hookwire and whose person hasn't; whether one isn't as it was told."""
    print(f"\n{'without hookwire':<18}" + "".join(f"{name or 'as it is':<32}" for name in MISSING))
    failed = False
    for agent in (it for it in names if it in AGENTS and it not in FOR_USER and not it.endswith(", http")):
        print(f"{agent:<18}", end="", flush=True)
        for name, flags in MISSING.items():
            word, printed = check_missing(bin_dir, hookwire, agent, flags)
            is_wrong = name == "stop" and word.startswith("runs") or name == "tell" and not word.startswith("runs")
            failed |= is_wrong
            print(f"{word:<32}" + (printed[-2000:] if is_wrong else ""), end="", flush=True)
        print()
    return failed


def described():
    """The agents that nobody can drive here, and what hookwire goes by instead."""
    facts = pathlib.Path(__file__).parents[2] / "crates/rules/src/agents"
    for file in sorted(facts.glob("*.toml")):
        if by := tomllib.loads(file.read_text()).get("by-description"):
            yield file.stem, by


def table_managed(bin_dir, hookwire, names):
    """Prints the table of agents that a machine guards; whether one isn't as it is to be."""
    import managed

    return managed.table_managed(bin_dir, hookwire, names)


def main():
    bin_dir, hookwire = os.path.abspath(sys.argv[1]), os.path.abspath(os.environ["HOOKWIRE"])
    only = {"--below": table_below, "--unasked": table_unasked, "--broken": table_broken, "--missing": table_missing, "--managed": table_managed}
    names = [it for it in sys.argv[2:] if it not in only] or list(dict.fromkeys([*AGENTS, *BELOW]))
    for flag in set(sys.argv) & set(only):
        sys.exit(only[flag](bin_dir, hookwire, names))
    failed = False
    print(f"{'agent':<19}{'deny':<8}{'rewrite':<10}{'context':<10}{'prompt':<9}{'stop':<7}{'session':<16}{'edit':<7}{'driven':<8}host killed")
    for agent in (it for it in names if it in AGENTS):
        found, printed = (check_apart if agent in APART else check)(bin_dir, hookwire, agent)
        found["driven"] = is_driven(bin_dir, hookwire, agent)
        words = {key: value if isinstance(value, str) else "passed" if value else "FAILED" for key, value in found.items()}
        failed |= "FAILED" in words.values()
        print(f"{agent:<19}{words['deny']:<8}{words['rewrite']:<10}{words['context']:<10}{words['prompt']:<9}"
              f"{words['stop']:<7}{words['session']:<16}{words['edit']:<7}{words['driven']:<8}{words['host killed']}", flush=True)
        if "FAILED" in words.values():
            print(printed[-4000:])
    failed |= table_below(bin_dir, hookwire, names)
    failed |= table_unasked(bin_dir, hookwire, names)
    failed |= table_broken(bin_dir, hookwire, names)
    failed |= table_managed(bin_dir, hookwire, names)
    for name, by in described() if not sys.argv[2:] else ():
        print(f"{name:<19}by description: {by}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
