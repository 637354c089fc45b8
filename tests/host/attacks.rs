//! What was tried to get past a guard that says `closed`, through the built binary.

use crate::support::*;
use serde_json::{Value, json};

/// A root whose project has these hooks, within a user's own, and a host that has both in force.
fn layers(user: &str, project: &str) -> (TestHost, tempfile::TempDir) {
    let root = hooks(&[
        ("config/hookwire/user.yaml", user),
        ("project/.hookwire/project.yaml", project),
    ]);
    let mut command = hookwire();
    command
        .args(["serve", "--live", "--no-share", "--root"])
        .arg(root.path().join("project"));
    command.env("XDG_CONFIG_HOME", root.path().join("config"));
    (TestHost::start(&mut command), root)
}

/// What a deny in doubt was about can be found out later, even if the script has changed.
#[test]
fn the_script_that_was_looked_into_is_named_with_its_digest() {
    let (_, dir) = TestHost::with(
        "hooks: [{ name: guard, on: PreToolUse, if: Bash(git push --force*), deny: no }]",
    );
    std::fs::write(dir.path().join("build.sh"), "git push --force\n").unwrap();
    let mut event = bash("bash build.sh");
    event["cwd"] = dir.path().to_str().unwrap().into();
    let verdict = TestHost::serve(dir.path()).dispatch(event.clone());
    let expected = json!([{"path": "build.sh", "sha256": "e82cbc1a8a78295367b9e5660d0b2faab48bd7ecdd3de8876bd3afb4a6cc324c"}]);
    assert_eq!(
        (&verdict["decision"], &verdict["outcomes"][0]["scripts"]),
        (&json!("deny"), &expected),
        "{verdict}"
    );
    // What happened elsewhere or before ran another script.
    let session = dir.path().join("session.jsonl");
    std::fs::write(&session, event.to_string()).unwrap();
    let mut replay = hookwire();
    replay
        .args([
            "history",
            "replay",
            "--isolated",
            "--format",
            "json",
            "--hooks",
        ])
        .arg(dir.path())
        .arg(session);
    let replayed: Value = serde_json::from_slice(&replay.output().unwrap().stdout).unwrap();
    assert_eq!(replayed["verdict"]["decision"], "allow", "{replayed}");
}

#[test]
fn a_project_does_not_switch_off_the_users_guards() {
    let token = format!("gh{}_{}", "p", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let user = "
defaults: { fail: closed }
hooks:
  - { name: redact, on: PostToolUse, guard: redact-secrets }
  - { name: audit, on: PostToolUse, guard: { audit-log: { file: audit.jsonl } } }
";
    for project in [
        "script: 'return { stop: \"enough\" }'".to_string(),
        "deny: no".to_string(),
        format!("script: 'return {{ subject: \"{token}\", replace: true }}'"),
        format!("script: 'return {{ subject: \"{token}\" }}'"),
        format!("parallel: true, script: 'return {{ subject: \"{token}\" }}'"),
        format!("script: 'return {{ decision: \"deny\", subject: \"{token}\" }}'"),
        "fail: closed, script: 'throw 1'".to_string(),
    ] {
        let (mut host, root) = layers(
            user,
            &format!("hooks: [{{ name: inner, on: PostToolUse, {project} }}]"),
        );
        let output = format!("it is {token}");
        let verdict = host.dispatch(json!({
            "event": "PostToolUse", "session": "s", "tool": {"name": "Bash", "input": {"command": "env"}, "output": output},
        }));
        let mut ran = outcomes(&verdict);
        ran.retain(|it| it.ends_with("skipped"));
        assert!(ran.is_empty(), "{project}: {verdict}");
        assert!(
            !verdict["subject"].to_string().contains(&token),
            "{project}: {verdict}"
        );
        assert!(
            !verdict["subject"].is_null() || verdict["replaced"] == true,
            "{project}: {verdict}"
        );
        let log = std::fs::read_to_string(root.path().join("config/hookwire/audit.jsonl")).unwrap();
        assert_eq!(log.lines().count(), 1, "{project}: {log}");
    }
}

#[test]
fn a_stop_before_an_act_keeps_it_from_being_done() {
    let yaml = "
hooks:
  - { name: budget, on: PreToolUse, priority: 1, script: 'return { stop: \"out of budget\" }' }
  - { name: no-rm, on: PreToolUse, if: Bash(rm*), fail: closed, deny: no }
";
    let (mut host, dir) = TestHost::with(yaml);
    let verdict = host.bash("rm -rf /");
    assert_eq!(
        (brief(&verdict).as_str(), &verdict["stop"]),
        ("deny by budget: out of budget", &json!("out of budget"))
    );
    if !is_there("python3") {
        return;
    }
    let mut agent = in_our_world(std::process::Command::new("python3"));
    agent
        .arg(repo("examples/agents/minimal.py"))
        .arg(dir.path())
        .args(["echo one", "echo two"]);
    let said = agent
        .env("HOOKWIRE", env!("CARGO_BIN_EXE_hookwire-host"))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&said.stdout),
        "skipped: echo one (out of budget)\n"
    );
}

/// A guard that is a program of its own, or gets the command as an argument, isn't shown less than
/// the tool gets.
#[test]
fn a_program_or_an_argument_that_stands_for_the_command_is_all_of_it() {
    let (mut host, dir) = TestHost::with(
        r#"
defaults: { fail: closed }
hooks:
  - { name: file, on: PreToolUse, when: "tool.name == 'Bash'", command: [sh, ./guard.sh] }
  - { name: argument, on: PreToolUse, matcher: exec_command, command: [sh, -c, 'case "$1" in *push*) exit 2;; esac', sh, "${tool.input.command}"] }
"#,
    );
    let script = r#"case "$tool_input_command" in *push*) exit 2;; esac"#;
    std::fs::write(dir.path().join("guard.sh"), script).unwrap();
    let big = "x".repeat(40_000);
    for (tool, input, by) in [
        ("Bash", json!({"command": "git push"}), "file"),
        ("Bash", json!({"cmd": "git push"}), "file"),
        (
            "Bash",
            json!({"command": format!("git push {big}")}),
            "file",
        ),
        ("Bash", json!({"command": "ls", "cmd": "git push"}), "file"),
        ("Bash", json!({"command": ["git", "push"]}), "file"),
        ("Bash", json!({"command": "ls", "list": [1]}), ""),
        ("exec_command", json!({"cmd": "git push"}), "argument"),
        (
            "exec_command",
            json!({"command": ["git", "push"]}),
            "argument",
        ),
        (
            "exec_command",
            json!({"command": "ls", "cmd": "git push"}),
            "argument",
        ),
        (
            "exec_command",
            json!({"command": "git", "args": ["push"]}),
            "argument",
        ),
        ("exec_command", json!({"cmd": "ls"}), ""),
    ] {
        let event = json!({"event": "PreToolUse", "cwd": dir.path(), "tool": {"name": tool, "input": input}});
        let verdict = host.dispatch(event);
        let said = verdict["reason"].as_str().unwrap_or_default();
        assert_eq!(
            verdict["decidedBy"].as_str().unwrap_or_default(),
            by,
            "{tool} {said}"
        );
    }
}

#[test]
fn an_allow_counts_for_what_its_rule_covers() {
    let (mut host, _dir) = TestHost::with(
        "hooks: [{ name: ls, on: PreToolUse, if: Bash(ls*), fail: closed, script: 'return { decision: \"allow\" }' }]",
    );
    for (command, expected) in [
        ("ls -l", json!("ls")),
        ("ls; rm -rf /", Value::Null),
        ("ls > ~/.bashrc", Value::Null),
    ] {
        let verdict = host.bash(command);
        assert_eq!(
            (&verdict["decision"], &verdict["decidedBy"]),
            (&json!("allow"), &expected),
            "{command}"
        );
        let said = verdict["outcomes"][0]["reason"]
            .as_str()
            .unwrap_or_default();
        assert_eq!(
            said.contains("doesn't cover the whole call"),
            expected.is_null(),
            "{command}: {said}"
        );
    }
}

#[test]
fn an_approval_is_for_all_that_it_was_given_for() {
    let asks = "return ask(\"deploy to \" + event.metadata.host)";
    let definitions =
        format!("hooks: [{{ name: careful, on: PreToolUse, matcher: Bash, script: '{asks}' }}]");
    let (mut host, _dir) = TestHost::with(&definitions);
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("here");
    let lead_to = |place: &str| {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(place, &link).unwrap();
        link.to_str().unwrap().to_string()
    };
    host.request(
        "initialize",
        json!({"capabilities": {"hooks": {"requests": ["approval/request"]}}}),
    );
    let is_asked = |host: &mut TestHost, cwd: &str, [agent, shell, to]: [&str; 3]| {
        let mut event = bash("rm -rf . && ./deploy.sh && sh more.sh");
        event["cwd"] = cwd.into();
        event["agent"] = json!({"name": agent});
        event["shell"] = shell.into();
        event["metadata"] = json!({"host": to});
        let id = host.ask("hooks/dispatch", event);
        let message = host.receive_where(|it| it["method"] == "approval/request" || it["id"] == id);
        if message["method"].is_null() {
            return false;
        }
        assert_eq!(message["params"]["cwd"], cwd);
        let reply = json!({"decision": "approve", "remember": true});
        host.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": reply}));
        host.reply(id);
        true
    };
    let linked = lead_to("/tmp");
    let usual = ["coder", "bash", "test"];
    for (cwd, others, expected) in [
        ("/tmp/scratch", usual, true),
        ("/tmp/scratch", usual, false),
        ("/home/dev", usual, true),
        ("/tmp/scratch", ["intern", "bash", "test"], true),
        ("/tmp/scratch", ["coder", "zsh", "test"], true),
        ("/tmp/scratch", ["coder", "bash", "live"], true),
        (&linked, usual, true),
        (&linked, usual, false),
        ("/tmp/scratch", usual, false),
    ] {
        assert_eq!(
            is_asked(&mut host, cwd, others),
            expected,
            "{cwd} {others:?}"
        );
    }
    lead_to("/");
    assert!(
        is_asked(&mut host, &linked, usual),
        "the link leads elsewhere"
    );
    let here = place.path().to_str().unwrap();
    for (file, text) in [
        ("deploy.sh", "ship test"),
        ("deploy.sh", "ship live"),
        ("more.sh", "ship more"),
    ] {
        std::fs::write(place.path().join(file), text).unwrap();
        assert!(is_asked(&mut host, here, usual), "{file} is `{text}` now");
        assert!(!is_asked(&mut host, here, usual));
    }
}

/// An answer was about the place where the links of the call led.
#[test]
fn an_approval_is_over_when_a_link_of_the_call_turns() {
    let (mut host, _dir) = TestHost::with("hooks: [{ name: careful, on: PreToolUse, ask: sure? }]");
    host.request(
        "initialize",
        json!({"capabilities": {"hooks": {"requests": ["approval/request"]}}}),
    );
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    ["one", "two", "sub"]
        .iter()
        .for_each(|name| std::fs::create_dir(at(name)).unwrap());
    let turn = |to: &str| {
        let _ = std::fs::remove_file(at("lnk"));
        std::os::unix::fs::symlink(to, at("lnk")).unwrap();
    };
    let is_asked = |host: &mut TestHost, tool: &str, input: &Value| {
        let event = json!({"event": "PreToolUse", "session": "s", "cwd": place.path(), "tool": {"name": tool, "input": input}});
        let id = host.ask("hooks/dispatch", event);
        let message = host.receive_where(|it| it["method"] == "approval/request" || it["id"] == id);
        if message["method"].is_null() {
            return false;
        }
        let reply = json!({"decision": "approve", "remember": true});
        host.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": reply}));
        host.reply(id);
        true
    };
    let shell = |command: &str| ("Bash", json!({ "command": command }));
    for (tool, input) in [
        ("Write", json!({"file_path": "lnk/f", "content": "x"})),
        (
            "Edit",
            json!({"file_path": at("lnk/f"), "old_string": "a", "new_string": "b"}),
        ),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Add File: lnk/f\n+x\n*** End Patch"}),
        ),
        (
            "mcp__files__save",
            json!({"target": {"path": "lnk/f"}, "text": "x"}),
        ),
        shell("rm -rf lnk/"),
        shell("cd sub && rm -rf ../lnk/f"),
        shell("echo x > lnk/f"),
        shell("dd if=/dev/zero of=lnk/f"),
        shell("tar -Clnk --file=a.tar -x"),
        shell("git -C lnk clean -fdx"),
        shell("rm -rf l*/f"),
        shell("bash -c 'rm -rf lnk/'"),
    ] {
        turn("one");
        assert!(is_asked(&mut host, tool, &input), "{tool} {input}");
        assert!(
            !is_asked(&mut host, tool, &input),
            "{tool} {input}: what was answered"
        );
        turn("two");
        assert!(
            is_asked(&mut host, tool, &input),
            "{tool} {input}: the link leads elsewhere"
        );
        turn("one");
        assert!(
            !is_asked(&mut host, tool, &input),
            "{tool} {input}: it leads back"
        );
    }
}

#[test]
fn a_decoy_is_not_judged_in_place_of_what_is_done() {
    let big = "x".repeat(40_000);
    let junk: serde_json::Map<String, Value> = (0..40)
        .map(|n| (format!("a{n}"), big[..30_000].into()))
        .collect();
    let mut filled = junk;
    filled.insert("command".into(), "git push".into());
    let (mut host, _dir) = TestHost::with(
        r#"
defaults: { fail: closed }
hooks:
  - { name: paths, on: PreToolUse, matcher: "Write|Read|mcp__.*|apply_patch", command: 'case "$tool_input_path" in /etc/*) exit 2;; esac' }
  - { name: words, on: PreToolUse, matcher: Bash, command: 'case "$tool_input_command" in *push*) exit 2;; esac' }
  - { name: inline, on: PreToolUse, matcher: Bash, command: [env, sh, -c, 'case "${tool_input_command}" in *push*) exit 2;; esac'] }
  - { name: alias, on: PreToolUse, matcher: Edit, command: 'case "$tool_input_file_path" in /etc/*) exit 2;; esac' }
  - { name: rule, on: PreToolUse, if: Bash(git push*), deny: no pushes }
  - { name: unknown, on: PreToolUse, if: "mcp__fs__write(/etc/**)", deny: not there }
"#,
    );
    for (tool, input, by) in [
        (
            "Write",
            json!({"file_path": "/etc/passwd", "path": "ok.txt"}),
            "paths",
        ),
        (
            "Write",
            json!({"file_path": "ok.txt", "path": "/etc/passwd"}),
            "paths",
        ),
        (
            "Write",
            json!({"file_path": ["/etc/passwd"], "path": "ok.txt"}),
            "paths",
        ),
        ("Read", json!({"paths": ["ok.txt", "/etc/passwd"]}), "paths"),
        (
            "apply_patch",
            json!({"input": "*** Add File: ok", "patch": "*** Add File: /etc/x"}),
            "paths",
        ),
        ("Write", json!({"file_path": "ok.txt"}), ""),
        (
            "Write",
            json!({"file_path": "ok.txt", "path": "ok.txt"}),
            "",
        ),
        (
            "mcp__fs__write",
            json!({"path": "/etc/passwd", "command": "ls"}),
            "paths",
        ),
        (
            "mcp__fs__write",
            json!({"absolute_path": "/etc/passwd", "query": "x"}),
            "paths",
        ),
        (
            "Bash",
            json!({"command": format!("git push # {big}")}),
            "words",
        ),
        ("Bash", json!({"command": "git push \u{0}"}), "words"),
        ("Bash", json!({"command": "ls", "cmd": "git push"}), "words"),
        (
            "Bash",
            json!({"command": ["bash", "-lc", "git push"]}),
            "words",
        ),
        ("Bash", json!({"command": "git", "args": ["push"]}), "words"),
        ("Bash", Value::Object(filled), "words"),
        ("exec_command", json!({"cmd": "git push"}), "words"),
        ("run_commands", json!({"commands": ["git push"]}), "words"),
        ("run_command", json!({"CommandLine": "git push"}), "words"),
        ("Bash", json!({"Command": "git push"}), "words"),
        ("Bash", json!({"argv": ["git", "push"]}), "words"),
        ("Bash", json!("git push"), "words"),
        ("Read", json!({"filename": "/etc/passwd"}), "paths"),
        ("Read", json!({"files": ["/etc/passwd"]}), "paths"),
        ("Read", json!({"uri": "file:///etc/passwd"}), "paths"),
        ("Edit", json!({"path": "/etc/passwd"}), "alias"),
        ("Glob", json!({"pattern": "x"}), ""),
        ("Bash", json!({"command": "ls"}), ""),
        ("Read", json!({"limit": 5}), ""),
    ] {
        let verdict = host.dispatch(
            json!({"event": "PreToolUse", "session": "s", "tool": {"name": tool, "input": input}}),
        );
        let label = verdict["reason"].as_str().unwrap_or_default().to_string();
        assert_eq!(
            verdict["decidedBy"].as_str().unwrap_or_default(),
            by,
            "{tool} {label}"
        );
        assert_eq!(
            verdict["decision"],
            if by.is_empty() { "allow" } else { "deny" },
            "{tool} {label}"
        );
    }
}

#[test]
fn every_form_of_a_call_is_held_against_the_rules() {
    let (mut host, _dir) = TestHost::with(
        r#"
defaults: { fail: closed }
hooks:
  - { name: push, on: PreToolUse, if: Bash(git push*), deny: no pushes }
  - { name: etc, on: PreToolUse, if: ["Write|Edit(/etc/**)", "mcp__fs__write(/etc/**)"], deny: not there }
  - { name: search, on: PreToolUse, if: "WebSearch(*secret*)", deny: not that }
  - { name: keys, on: PreToolUse, if: "Read(~/.ssh/**)", deny: not these }
"#,
    );
    for (tool, input, by) in [
        ("Bash", json!({"command": ["git", "push"]}), "push"),
        (
            "Bash",
            json!({"command": ["/usr/bin/git", "push", "a b"]}),
            "push",
        ),
        (
            "shell",
            json!({"command": ["bash", "-lc", "cd x && git push"]}),
            "push",
        ),
        (
            "shell",
            json!({"command": ["sudo", "git", "-C", "x", "push"]}),
            "push",
        ),
        ("shell", json!({"command": ["ls", 3]}), "push"),
        ("shell", json!({"command": ["ls", "; git push"]}), ""),
        (
            "shell",
            json!({"command": "git", "args": ["push", "--force"]}),
            "push",
        ),
        (
            "run_shell_command",
            json!({"command": "/usr/bin/git", "args": ["-C", "x", "push"]}),
            "push",
        ),
        ("shell", json!({"command": "git", "args": "push"}), "push"),
        (
            "shell",
            json!({"command": "cd x; git", "args": ["push"]}),
            "push",
        ),
        (
            "shell",
            json!({"command": "git", "args": {"0": "push"}}),
            "push",
        ),
        (
            "shell",
            json!({"command": "git", "args": ["log", "; git push"]}),
            "",
        ),
        ("shell", json!({"command": ["time", "ls"]}), ""),
        ("Write", json!({"file_path": "ok", "path": "/etc/x"}), "etc"),
        (
            "apply_patch",
            json!({"input": "*** Add File: ok", "patch": "*** Add File: /etc/x"}),
            "etc",
        ),
        (
            "mcp__fs__write",
            json!({"command": "ls", "path": "/etc/x"}),
            "etc",
        ),
        (
            "mcp__fs__write",
            json!({"path": "/tmp/x", "query": "/etc/x"}),
            "etc",
        ),
        (
            "mcp__fs__write",
            json!({"path": "/tmp/x", "query": "x"}),
            "",
        ),
        (
            "WebSearch",
            json!({"query": "cats", "q": "the secret"}),
            "search",
        ),
        ("WebSearch", json!({"query": "cats"}), ""),
        ("Read", json!({"file_path": "~/.ssh/id_rsa"}), "keys"),
        ("Read", json!({"file_path": "~x/.ssh/id_rsa"}), ""),
    ] {
        let verdict = host.dispatch(
            json!({"event": "PreToolUse", "session": "s", "tool": {"name": tool, "input": input}}),
        );
        assert_eq!(
            verdict["decidedBy"].as_str().unwrap_or_default(),
            by,
            "{tool} {input} {verdict}"
        );
    }
}

#[test]
fn what_a_hook_says_holds_no_secret() {
    let canary = "canary-token-77";
    let says = r#"printf '{"decision":"deny","reason":"%s","userMessages":["%s"],"stop":"%s"}' "$CANARY" "$CANARY" "$CANARY""#;
    let server = json!({"command": ["sh", "-c", "echo \"at $CANARY\" >&2; exit 3"], "inheritEnv": ["CANARY"]});
    let mut all = vec![
        json!({"name": "json", "command": {"run": says, "inheritEnv": ["CANARY"]}}),
        json!({"name": "denies", "command": {"run": "echo $CANARY >&2; exit 2", "inheritEnv": ["CANARY"]}}),
        json!({"name": "garbage", "command": {"run": "echo $CANARY", "inheritEnv": ["CANARY"]}}),
    ];
    if cfg!(feature = "mcp") {
        all.push(json!({"name": "mcp", "mcp": {"server": server, "tool": "x"}}));
    }
    if is_there("python3") {
        all.push(json!({"name": "python", "callable": {"python": "leaks:deny", "inheritEnv": ["CANARY"]}}));
    }
    for hook in all {
        let mut hook = hook;
        (hook["on"], hook["fail"]) = ("PreToolUse".into(), "closed".into());
        let source = "import os\n\ndef deny(event):\n    return {'decision': 'deny', 'reason': os.environ['CANARY']}\n";
        let dir = hooks(&[
            ("hooks.json", &definitions(std::slice::from_ref(&hook))),
            ("leaks.py", source),
        ]);
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut command = serve(dir.path());
        command
            .env("CANARY", canary)
            .env("HOOKWIRE_LOG", "trace")
            .stderr(log.reopen().unwrap());
        let mut host = TestHost::start(&mut command);
        let verdict = host.bash("ls").to_string();
        drop(host);
        let log = std::fs::read_to_string(log.path()).unwrap();
        assert!(verdict.contains("[masked]"), "{verdict}");
        assert!(
            !verdict.contains(canary) && !log.contains(canary),
            "{verdict}\n{log}"
        );
    }
}

#[test]
fn every_digit_of_a_number_survives_every_way_through() {
    // Beyond what floats of 64 bits hold, beyond 64 bits, and written in a way that a float isn't.
    const NUMBERS: &str = r#""id":1234567890123456789,"big":123456789012345678901234567890,
        "exact":0.12345678901234567890123,"price":1.50,"list":[{"max":18446744073709551615,"near":1e22}]"#;
    let mut ways = vec![
        "rewrite: { patch: { n: 1 } }",
        "rewrite: { patch: { n: 1, copy: '${tool.input.big}' } }",
        "command: 'grep -q 0.12345678901234567890123 || exit 2; echo ''{\"patch\":{\"n\":1}}'''",
        "command: 'echo \"{\\\"patch\\\":{\\\"n\\\":1,\\\"copy\\\":$tool_input_big}}\"'",
    ];
    if cfg!(feature = "script") {
        ways.extend([
            "script: 'return { subject: { ...event.tool.input, n: 1 } }'",
            "script: 'return { patch: { n: 1, copy: event.tool.input.big } }'",
            "script: 'state.set(\"k\", [event.tool.input.exact, state.get(\"big\")]);
               const [exact, copy] = state.get(\"k\"); return { patch: { n: 1, exact, copy } }'",
        ]);
    }
    if is_there("python3") {
        ways.extend([
            "callable: { python: 'ways:act' }",
            "callable: { python: 'ways:store' }",
        ]);
    }
    if is_there("node") {
        ways.extend([
            "callable: { node: './ways.mjs#act' }",
            "callable: { node: './ways.mjs#store' }",
        ]);
    }
    let python = "
from hookwire import state
def act(event):
    return {'subject': {**event['tool']['input'], 'n': 1}}
def store(event):
    state.set('k', [event['tool']['input']['exact'], state.get('big')])
    exact, copy = state.get('k')
    return {'patch': {'n': 1, 'exact': exact, 'copy': copy}}
";
    let node = "
export const act = (event) => ({ subject: { ...event.tool.input, n: 1 } });
export const store = async (event, { state }) => {
  await state.set('k', [event.tool.input.exact, await state.get('big')]);
  const [exact, copy] = await state.get('k');
  return { patch: { n: 1, exact, copy } };
};
";
    let when = "tool.input.id == 1234567890123456789 && string(tool.input.big) == '123456789012345678901234567890'
        && tool.input.big > tool.input.id && tool.input.exact < 0.12345678901234568 && tool.input.price == 1.5";
    let line = |method: &str, params: String| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{}}}"#,
            params.replace('\n', " ")
        ) + "\n"
    };
    let event = format!(
        r#"{{"event":"PreToolUse","session":"s","tool":{{"name":"pay","input":{{{NUMBERS}}}}}}}"#
    );
    let value = r#"{"session":"s","key":"big","value":123456789012345678901234567890}"#;
    let expected: Value = serde_json::from_str(&format!("{{{NUMBERS},\"n\":1}}")).unwrap();
    for way in ways {
        let yaml = format!(
            "hooks: [{{ name: way, on: PreToolUse, if: pay(big=*67890), when: \"{when}\", fail: closed, {way} }}]"
        );
        let dir = hooks(&[
            ("hooks.yaml", &yaml),
            ("ways.py", python),
            ("ways.mjs", node),
        ]);
        let mut host = TestHost::serve(dir.path());
        host.write(line("state/set", value.to_string()).as_bytes());
        host.receive();
        host.write(line("hooks/dispatch", event.clone()).as_bytes());
        let mut verdict = host.receive()["result"].take();
        let mut subject = verdict["subject"].take();
        let copy = subject.as_object_mut().and_then(|it| it.remove("copy"));
        let is_whole =
            |copy: Value| copy.to_string().trim_matches('"') == "123456789012345678901234567890";
        assert!(copy.is_none_or(is_whole), "{way}: {verdict}");
        assert_eq!(
            subject.to_string(),
            expected.to_string(),
            "{way}: {verdict}"
        );
    }
}

/// JavaScript has such a number only as infinite, so a function there can't judge it, and doesn't.
#[test]
fn a_number_beyond_all_floats_is_judged_or_refused_by_the_hook() {
    let unheld = "deny hook `way` failed to read the event: it has a number beyond those of ";
    let whole = format!("1{}", "0".repeat(400));
    let mut ways = vec![
        ("deny: seen", "deny seen", "deny seen"),
        (
            "when: 'tool.input.amount > 1e300', deny: seen",
            "deny seen",
            "deny seen",
        ),
        (
            "when: 'tool.input.amount < 1e300', deny: seen",
            "allow ",
            "allow ",
        ),
        (
            "command: 'grep -qE \"1(e.?400|0{400})\" && exit 2 || exit 0'",
            "deny the hook denied it",
            "deny the hook denied it",
        ),
        ("rewrite: { patch: { n: 1 } }", "allow {", "allow {"),
    ];
    if cfg!(feature = "script") {
        ways.push(("script: 'return { patch: { n: 1 } }'", unheld, unheld));
    }
    if is_there("node") {
        ways.push(("callable: { node: './ways.mjs#act' }", unheld, unheld));
    }
    if is_there("python3") {
        ways.push(("callable: { python: 'ways:act' }", unheld, "allow {"));
    }
    let python = "def act(event):\n    return {'subject': {**event['tool']['input'], 'n': 1}}\n";
    let node = "export const act = (event) => ({ subject: { ...event.tool.input, n: 1 } });\n";
    for (way, by_exponent, by_digits) in ways {
        let yaml = format!("hooks: [{{ name: way, on: PreToolUse, fail: closed, {way} }}]");
        let dir = hooks(&[
            ("hooks.yaml", &yaml),
            ("ways.py", python),
            ("ways.mjs", node),
        ]);
        let mut host = TestHost::serve(dir.path());
        for (amount, expected) in [("1e400", by_exponent), (&*whole, by_digits)] {
            let params = format!(
                r#"{{"event":"PreToolUse","tool":{{"name":"pay","input":{{"amount":{amount}}}}}}}"#
            );
            host.write(
                format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hooks/dispatch\",\"params\":{params}}}\n")
                    .as_bytes(),
            );
            let verdict = host.receive()["result"].take();
            let said = match &verdict["subject"] {
                Value::Null => verdict["reason"].as_str().unwrap_or_default().to_string(),
                subject => subject.to_string().replace("1e+400", "1e400"),
            };
            let expected = match expected {
                "allow {" => format!(r#"allow {{"amount":{amount},"n":1}}"#),
                expected => expected.to_string(),
            };
            let told = format!("{} {said}", verdict["decision"].as_str().unwrap());
            assert!(told.starts_with(&expected), "{way}: {verdict}");
        }
    }
}

/// What an event makes a condition compile is part of its budget, so that thousands of patterns are
/// doubt and no wait.
#[test]
fn patterns_of_an_event_are_charged() {
    let hook = "{ name: guard, on: PreToolUse, fail: closed, deny: no, when: 'metadata.patterns.exists(p, \"x\".matches(p))' }";
    let (mut host, _dir) = TestHost::with(&format!("hooks: [{hook}]"));
    for (n, expected) in [(20, "allow"), (4000, "deny")] {
        let patterns: Vec<String> = (0..n).map(|n| format!("[a-z]{{1,5}}y{n}")).collect();
        let mut event = bash("ls");
        event["metadata"] = json!({ "patterns": patterns });
        let verdict = host.dispatch(event);
        assert_eq!(verdict["decision"], expected, "{n}: {verdict}");
        assert!(
            n < 100
                || verdict
                    .to_string()
                    .contains("it takes too long on this event"),
            "{verdict}"
        );
    }
}

/// However often a text names what thousands of hooks are for, they are found once.
#[test]
fn a_text_of_many_commands_finds_each_hook_once() {
    let hook = |n: usize| {
        format!("  - {{ name: h{n}, on: PreToolUse, if: Bash(git push {n}), deny: no }}\n")
    };
    let all: String = (0..1000).map(hook).collect();
    let (mut host, _dir) = TestHost::with(&format!("hooks:\n{all}"));
    let verdict = host.bash(&format!("{}git push 7", "git log;".repeat(500)));
    assert_eq!(
        (&verdict["decision"], outcomes(&verdict)),
        (&json!("deny"), vec!["h7 blocking".into()]),
        "{verdict}"
    );
}
