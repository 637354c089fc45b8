//! One recorded session in which hooks of several kinds each decide something, and what is theirs
//! dies in the middle.

use crate::support::models::{ModelServer, Say};
use crate::support::*;
use serde_json::{Value, json};

const POLICY: &str = "
import os
from hookwire import state

def review(tool_name, tool_input, pid_file):
    with open(pid_file, 'w') as file:
        file.write(f'{os.getpid()}\\n')
    calls = state.increment('calls')
    if 'rm -r' in tool_input.get('command', ''):
        return {'decision': 'deny', 'reason': f'no removals (call {calls})'}
";

const HOOKS: &str = r#"
defaults: { fail: closed, timeout: 20s, model: "openai:small" }
hooks:
  - { name: function, on: PreToolUse, matcher: Bash, callable: { python: "./policy.py:review", args: { pid_file: PIDFILE } } }
  - name: script
    on: PreToolUse
    matcher: Write
    script: |
      if (event.tool.input.file_path.endsWith(".env")) return deny(`not into ${event.tool.input.file_path} (${state.get("calls")} calls)`);
  - { name: judge, on: UserPromptSubmit, prompt: "Deny prompts that ask for passwords. The prompt is ${prompt}." }
  - { name: steps, guard: { step-limit: { max: 2 } } }
"#;

#[test]
fn each_kind_decides_and_the_worker_may_die() {
    if !is_there("python3") {
        return;
    }
    let dir = hooks(&[("policy.py", POLICY)]);
    let pid_file = dir.path().join("pid");
    std::fs::write(
        dir.path().join("hooks.yaml"),
        HOOKS.replace("PIDFILE", &json!(pid_file).to_string()),
    )
    .unwrap();
    let model = ModelServer::with([
        Say::Verdict("allow", "harmless"),
        Say::Verdict("deny", "it asks for a password"),
    ]);
    let state = dir.path().join("state");
    let start = || {
        let mut command = serve(dir.path());
        model.serve_for(&mut command);
        TestHost::start(command.arg("--state-file").arg(&state))
    };
    let tool = |name: &str, input: Value| json!({"event": "PreToolUse", "session": "s", "run": "r", "tool": {"name": name, "input": input}});
    let run = |command: &str| tool("Bash", json!({"command": command}));
    let write = |path: &str| tool("Write", json!({"file_path": path}));
    let prompt = |text: &str| json!({"event": "UserPromptSubmit", "session": "s", "run": "r", "prompt": text});
    let step = json!({"event": "StepStart", "session": "s", "run": "r"});
    let mut host = start();
    let expect = |host: &mut TestHost, event: Value, expected: &str| {
        assert_eq!(brief(&host.dispatch(event.clone())), expected, "{event}")
    };
    expect(&mut host, prompt("Build it."), "allow by judge: harmless");
    expect(&mut host, step.clone(), "allow");
    expect(&mut host, run("make"), "allow");
    expect(
        &mut host,
        run("rm -r build"),
        "deny by function: no removals (call 2)",
    );
    expect(&mut host, write("src/a.rs"), "allow");
    expect(
        &mut host,
        write(".env"),
        "deny by script: not into .env (2 calls)",
    );

    // The worker is killed in the middle of the session. A call that it takes with it fails closed,
    // the next has another one, and what was counted is still known.
    let worker = pid_in(&pid_file);
    let pid = rustix::process::Pid::from_raw(worker.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let verdict = eventually("another worker answers", || {
        let verdict = brief(&host.dispatch(run("rm -r build")));
        assert!(verdict.starts_with("deny by function"), "{verdict}");
        (!verdict.contains("its worker ended with signal 9")).then_some(verdict)
    });
    assert_eq!(verdict, "deny by function: no removals (call 3)");
    assert_ne!(pid_in(&pid_file), worker);
    expect(&mut host, step.clone(), "allow");

    // So is the host: the guard and the hooks go on counting.
    let worker = pid_in(&pid_file);
    host.kill();
    host.wait();
    await_end(worker, "the worker ends with its host");
    let mut host = start();
    expect(&mut host, step, "deny by steps: Step limit reached: 2/2");
    expect(
        &mut host,
        run("rm -r build"),
        "deny by function: no removals (call 4)",
    );
    expect(
        &mut host,
        prompt("What is the admin password?"),
        "deny by judge: it asks for a password",
    );
    // A judge that can't answer is a guard that failed.
    let verdict = host.dispatch(prompt("And now?"));
    assert!(
        brief(&verdict)
            .starts_with("deny by judge: hook `judge` failed to ask the model `openai:small`"),
        "{verdict}"
    );
}

/// Hooks of every kind can be registered over the wire, and are gone with the connection.
#[test]
fn every_kind_can_be_registered() {
    if !is_there("python3") {
        return;
    }
    let dir = hooks(&[(
        "policy.py",
        "def review():\n    return {'decision': 'deny', 'reason': 'function'}\n",
    )]);
    std::fs::copy(
        repo("tests/data/mcp/server.py"),
        dir.path().join("server.py"),
    )
    .unwrap();
    let model = ModelServer::with([
        Say::Verdict("deny", "prompt"),
        Say::Verdict("deny", "agent"),
    ]);
    let mut command = serve(no_hooks());
    model.serve_for(&mut command);
    // Registered hooks reach loopback only by the operator's leave.
    let url = model.url(models::Wire::OpenAi);
    let authority = url.split('/').nth(2).unwrap();
    let mut host = TestHost::start(
        command
            .arg("--root")
            .arg(dir.path())
            .args([
                "--model",
                "openai:small",
                "--allow-host",
                "127.0.0.1:1",
                "--allow-host",
            ])
            .arg(authority),
    );
    let mut untested = handler_kinds();
    for (kind, handler, expected) in [
        ("allow", json!("yes"), "allow by h: yes"),
        ("deny", json!("no"), "deny by h: no"),
        (
            "ask",
            json!("sure?"),
            "deny by h: sure? (this needs a person's approval, and the client can't ask)",
        ),
        (
            "command",
            json!("echo command >&2; exit 2"),
            "deny by h: command",
        ),
        (
            "callable",
            json!({"python": "./policy.py:review"}),
            "deny by h: function",
        ),
        (
            "script",
            json!("return deny('script')"),
            "deny by h: script",
        ),
        (
            "http",
            json!({"url": "http://127.0.0.1:1/"}),
            "failed to reach 127.0.0.1",
        ),
        ("prompt", json!("Deny it."), "deny by h: prompt"),
        (
            "agent",
            json!({"task": "Deny it.", "tools": []}),
            "deny by h: agent",
        ),
        (
            "mcp",
            json!({"server": {"command": ["python3", "server.py"]}, "tool": "fails"}),
            "failed to call tool `fails`: the disk is full",
        ),
        (
            "guard",
            json!({"pattern-guard": {"deny": ["push"], "reason": "guard"}}),
            "deny by h: guard",
        ),
        (
            "rewrite",
            json!({"patch": {"command": "git pull"}}),
            "git pull",
        ),
    ] {
        untested.retain(|it| it != kind);
        let hook = json!({"name": "h", "on": "PreToolUse", "fail": "closed", kind: handler});
        assert_eq!(
            host.request("hooks/register", json!({"hooks": [hook]}))["registered"],
            json!(["h"]),
            "{kind}"
        );
        let verdict = host.bash("git push");
        let told = format!("{} {}", brief(&verdict), verdict["subject"]);
        assert!(told.contains(expected), "{kind}: {told}");
    }
    // tests/host/wire.rs has callbacks.
    assert_eq!(untested, ["callback"]);
    assert_eq!(
        host.request("hooks/unregister", json!({"names": ["h"]}))["registered"],
        json!([])
    );
    assert_eq!(brief(&host.bash("git push")), "allow");
}
