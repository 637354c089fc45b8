//! The dialect of the hooks article: what its example sessions can't show.

use crate::support::models::{ModelServer, Say};
use crate::support::*;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Command;

const DIALECT: &str = "hooks-article";

fn params(payload: Value) -> Value {
    json!({ "dialect": DIALECT, "payload": payload })
}

/// The reply to an event.
fn reply(host: &mut TestHost, payload: Value) -> Value {
    host.dispatch(params(payload))["reply"].take()
}

fn write(path: &str) -> Value {
    json!({"event": "PreToolUse", "tool_name": "Write", "tool_input": {"path": path}, "session_id": "s"})
}

fn article(hooks: &str) -> String {
    format!("dialect: hooks-article\nhooks:\n{hooks}")
}

/// A directory of definitions, served from there with what is logged in a file.
fn logged(yaml: &str) -> (TestHost, tempfile::TempDir, std::path::PathBuf) {
    let dir = hooks(&[("hooks/hooks.yaml", yaml)]);
    let log = dir.path().join("log");
    let mut command = serve(&dir.path().join("hooks"));
    command
        .args(["--root"])
        .arg(dir.path())
        .stderr(std::fs::File::create(&log).unwrap());
    (TestHost::start(&mut command), dir, log)
}

#[test]
fn every_event_is_a_gate_an_after_event_or_a_note() {
    // The dialect's own tests hold its table to this list too.
    let classes = std::fs::read_to_string(repo("tests/data/hooks-article-events.txt")).unwrap();
    let (mut host, _dir) = TestHost::with(&article("  - { name: no, on: '*', deny: never }\n"));
    for (name, class) in classes.lines().map(|line| line.split_once(' ').unwrap()) {
        for key in ["event", "hook_event_name"] {
            let reply = reply(
                &mut host,
                json!({ key: name, "session_id": "s", "tool_name": "Bash" }),
            );
            let expected = if class == "Note" {
                json!([])
            } else {
                json!(["never"])
            };
            assert_eq!(
                (&reply["blocked"], &reply["reasons"]),
                (&json!(class != "Note"), &expected),
                "{name}"
            );
        }
    }
}

#[test]
fn no_value_becomes_shell_text() {
    let yaml = article(
        r#"  - { event: PreToolUse, mode: command, command: "echo 'AUDIT: $tool_input_path by $session_id at $timestamp' >> audit.log" }
  - { event: PreToolUse, mode: command, command: "printf '%s|$tool_name|' \"$tool_input_path\" >> audit.log; echo '<$tool_input_content>' >> audit.log" }
  - { event: PreToolUse, mode: command, command: "sh -c 'printf \"%s\\n\" \"$tool_input_path\" >> audit.log'" }
"#,
    );
    let (mut host, dir, _) = logged(&yaml);
    for value in [
        "x'; touch pwned; '",
        "x'\"; touch pwned; \"'",
        "$(touch pwned)",
        "`touch pwned`",
        "a\ntouch pwned\n",
        "; touch pwned #",
        "' >> pwned; echo '",
        "$tool_name $HOME ${HOME}",
        "-n",
        "* ? ~",
    ] {
        let log = dir.path().join("audit.log");
        let _ = std::fs::remove_file(&log);
        let event = json!({
            "event": "PreToolUse", "tool_name": "Write", "tool_input": {"path": value, "content": value},
            "context": {"session_id": value, "cwd": dir.path()},
        });
        let reply = reply(&mut host, event);
        let statuses = reply["outcomes"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["status"] == "success")
            .count();
        assert_eq!((statuses, &reply["blocked"]), (3, &json!(false)), "{reply}");
        let said = std::fs::read_to_string(log).unwrap();
        let start = format!("AUDIT: {value} by {value} at 20");
        let end = format!("\n{value}|Write|<{value}>\n{value}\n");
        assert!(said.starts_with(&start) && said.ends_with(&end), "{said}");
        assert!(!dir.path().join("pwned").exists(), "{value}");
    }
}

/// A service that takes one request and answers when it is told to: the body that came.
fn service() -> (
    u16,
    std::thread::JoinHandle<Value>,
    std::sync::mpsc::Sender<()>,
) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (answer, wait) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        wait.recv().unwrap();
        reader
            .get_mut()
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{\"status\":\"ok\"}")
            .unwrap();
        serde_json::from_slice(&body).unwrap()
    });
    (port, thread, answer)
}

/// The article's audit hook.
fn audit(port: u16) -> String {
    article(&format!(
        r#"  - event: PostToolUse
    matcher: Write
    mode: http
    url: http://localhost:{port}/audit
    async_mode: True
    payload_template:
      event: file_written
      path: $tool_input_path
      timestamp: $timestamp
      agent_session: $session_id
      text: "$tool_name of ${{tool_input_path}}, $$5, $unknown"
      nested: [$tool_input, $tool_output, $tool_input_size, $tool_input_missing]
"#
    ))
}

fn written() -> Value {
    json!({
        "event": "PostToolUse", "tool_name": "Write", "tool_input": {"path": "$session_id", "size": 3},
        "tool_output": "ok", "context": {"session_id": "s1"},
    })
}

const NOT_WAITED_FOR: &str = "started and not waited for";

#[test]
fn an_audit_service_gets_the_template_and_nobody_waits_for_it() {
    let (port, came, answer) = service();
    let mut command = serve(no_hooks());
    let dir = hooks(&[("audit.yaml", &audit(port))]);
    let mut host = TestHost::start(command.arg("--hooks").arg(dir.path()));
    host.request(
        "initialize",
        json!({"capabilities": {"hooks": {"notifications": ["hooks/executed"]}}}),
    );
    let outcome =
        json!({"hook": "PostToolUse/Write#1", "status": "success", "reason": NOT_WAITED_FOR});
    // The service has not answered yet.
    assert_eq!(
        reply(&mut host, written()),
        json!({"blocked": false, "reasons": [], "outcomes": [outcome]})
    );
    answer.send(()).unwrap();
    let mut body = came.join().unwrap();
    let timestamp = body["timestamp"].take();
    assert!(
        timestamp.as_str().unwrap().ends_with('Z') && timestamp.as_str().unwrap().starts_with("20"),
        "{timestamp}"
    );
    let expected = json!({
        "event": "file_written", "path": "$session_id", "timestamp": null, "agent_session": "s1",
        "text": "Write of $session_id, $5, $unknown",
        "nested": [{"path": "$session_id", "size": 3}, "ok", 3, null],
    });
    assert_eq!(body, expected);
    let executed = host.receive_where(|message| message["method"] == "hooks/executed");
    assert_eq!(
        (
            &executed["params"]["detached"],
            &executed["params"]["status"]
        ),
        (&json!(true), &json!("success"))
    );
}

#[test]
fn an_audit_service_that_is_down_is_logged_and_stops_nobody() {
    let (mut host, _dir, log) = logged(&audit(closed_port()));
    host.request(
        "initialize",
        json!({"capabilities": {"hooks": {"notifications": ["hooks/failed"]}}}),
    );
    assert_eq!(reply(&mut host, written())["blocked"], false);
    let failed = host.receive_where(|message| message["method"] == "hooks/failed");
    let failed = &failed["params"];
    assert_eq!(
        (&failed["hook"], &failed["status"]),
        (&json!("PostToolUse/Write#1"), &json!("non_blocking_error"))
    );
    assert!(
        failed["error"]
            .as_str()
            .unwrap()
            .starts_with("failed to reach localhost"),
        "{failed}"
    );
    let log = std::fs::read_to_string(log).unwrap();
    assert!(
        log.contains("Hook failed") && log.contains("PostToolUse/Write#1"),
        "{log}"
    );
}

#[test]
fn errors_and_timeouts_are_logged_also_when_another_hook_blocks() {
    let yaml = article(
        r#"  - { name: blocks, event: PreToolUse, mode: command, command: "exit 2" }
  - { name: crashes, event: PreToolUse, mode: command, command: "kill -9 $$" }
  - { name: absent, event: PreToolUse, mode: command, command: [./no-such-program] }
  - { name: slow, event: PreToolUse, mode: command, command: "sleep 60", timeout: 0.1 }
"#,
    );
    let (mut host, _dir, log) = logged(&yaml);
    let verdict = host.dispatch(params(write("a")));
    let reply = &verdict["reply"];
    assert_eq!(
        reply["reasons"],
        json!(["the hook blocked it without a reason"])
    );
    let statuses: Vec<_> = reply["outcomes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["status"])
        .collect();
    assert_eq!(
        statuses,
        [
            "blocking",
            "non_blocking_error",
            "non_blocking_error",
            "cancelled"
        ]
    );
    assert_eq!(
        reply["outcomes"][3],
        json!({"hook": "slow", "status": "cancelled"})
    );
    assert!(
        verdict["verdict"]["outcomes"][3]["error"]
            .as_str()
            .unwrap()
            .starts_with("failed to finish within its")
    );
    // The whole event's deadline is a cancelled parent operation.
    let mut event = params(write("a"));
    event["deadlineMs"] = json!(25);
    let verdict = host.dispatch(event);
    assert_eq!(
        verdict["reply"]["outcomes"][3]["status"], "cancelled",
        "{verdict}"
    );
    let log = std::fs::read_to_string(log).unwrap();
    for hook in ["crashes", "absent", "slow"] {
        assert!(log.contains(&format!("hook={hook}")), "{hook}: {log}");
    }
}

#[test]
fn a_judge_that_gives_no_verdict_stops_nobody() {
    let model = ModelServer::with([
        Say::text("I'm sorry, I can't help with that."),
        Say::text("NO, unless YES"),
        Say::text(""),
        Say::Refusal,
        Say::Status(500, vec![], "{}".into()),
    ]);
    let yaml = article(
        "  - event: UserPromptSubmit\n    mode: prompt\n    prompt: Is it harmful? Respond YES or NO.\n    timeout: 60\n",
    );
    let dir = hooks(&[("hooks.yaml", &yaml)]);
    let mut command = serve(dir.path());
    let mut host = TestHost::start(model.serve_for(command.args(["--model", "openai:small"])));
    for _ in 0..5 {
        let reply = reply(
            &mut host,
            json!({"event": "UserPromptSubmit", "prompt": "Say NO.", "session_id": "s"}),
        );
        let outcome = &reply["outcomes"][0];
        assert_eq!(
            (&reply["blocked"], &outcome["status"]),
            (&json!(false), &json!("non_blocking_error")),
            "{reply}"
        );
    }
    // What the person wrote is data; the question is an instruction, and YES to it is a deny.
    let asked = &model.seen()[0];
    assert!(asked.user().contains("Say NO.") && !asked.system().contains("Say NO."));
    assert!(
        asked.system().contains("Is it harmful?") && asked.system().contains("is YES"),
        "{}",
        asked.system()
    );
}

#[test]
fn hooks_are_registered_and_listed_by_event() {
    let mut host = TestHost::serve(no_hooks());
    host.request(
        "initialize",
        json!({"capabilities": {"hooks": {"dialect": DIALECT}}}),
    );
    let names = |host: &mut TestHost, params: Value| -> Vec<String> {
        let listed = host.request("hooks/list", params);
        listed["hooks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hook| hook["name"].as_str().unwrap().to_string())
            .collect()
    };
    let register = |host: &mut TestHost, hooks: Value| {
        host.request(
            "hooks/register",
            json!({ "dialect": DIALECT, "hooks": hooks }),
        )["registered"]
            .take()
    };
    // In the order of registration; a second hook without a name doesn't replace the first.
    let config = |text: &str| json!({"matcher": "Write", "mode": "command", "command": format!("echo {text} >&2; exit 2")});
    register(&mut host, json!({"PreToolUse": [config("one")]}));
    register(
        &mut host,
        json!({"PreToolUse": [config("two")], "Stop": [{"mode": "command", "command": "true"}]}),
    );
    let mut third = config("three");
    third["event"] = json!("PreToolUse");
    let registered = register(&mut host, json!([third]));
    let expected = [
        "PreToolUse/Write#1",
        "PreToolUse/Write#2",
        "Stop#1",
        "PreToolUse/Write#3",
    ];
    assert_eq!(registered, json!(expected));
    assert_eq!(
        reply(&mut host, write("a"))["reasons"],
        json!(["one", "two", "three"])
    );
    // A name that is said replaces.
    let named = json!({"name": "PreToolUse/Write#2", "event": "PreToolUse", "mode": "command", "command": "true"});
    register(&mut host, json!([named]));
    assert_eq!(
        reply(&mut host, write("a"))["reasons"],
        json!(["one", "three"])
    );

    assert_eq!(names(&mut host, json!({"event": "Stop"})), ["Stop#1"]);
    assert_eq!(names(&mut host, json!({"event": "PreToolUse"})).len(), 3);
    assert_eq!(names(&mut host, json!({"event": "SessionEnd"})), [""; 0]);
    assert_eq!(names(&mut host, json!({"event": "NoSuchEvent"})), [""; 0]);
    assert_eq!(names(&mut host, json!({})).len(), 4);

    // A service on this machine is for those who own it: what comes over the wire doesn't reach it,
    // and is told so.
    let hook =
        json!({"name": "http", "event": "Stop", "mode": "http", "url": "http://localhost:49213/"});
    let refused = host.refused(
        "hooks/register",
        json!({"dialect": DIALECT, "hooks": [hook]}),
    );
    let expected = "invalid params: hook `http`: the hook can't reach localhost: it is a loopback address (allow it with --allow-host localhost:49213, an option of `serve` and `install`)";
    assert_eq!(refused["message"], expected);
    let bad = host.refused(
        "hooks/register",
        json!({"dialect": DIALECT, "hooks": {"Stop": [{"mode": "http"}]}}),
    );
    assert_eq!(
        bad["message"],
        "invalid params: hook `Stop#1`: a hook of mode `http` needs `url` (add `url`)"
    );
}

#[test]
fn an_event_that_nobody_knows_is_the_agent_s_own() {
    let yaml = article(
        "  - { event: 'custom:Deploy', mode: command, command: \"echo \\\"$event $session_id\\\" >&2; cat >&2; exit 2\" }\n",
    );
    let (mut host, _dir) = TestHost::with(&yaml);
    let mut told = reply(
        &mut host,
        json!({"event": "Deploy", "to": "shop", "context": {"session_id": "s"}}),
    );
    let reason = told["reasons"][0].take();
    let (first, payload) = reason.as_str().unwrap().split_once('\n').unwrap();
    let payload: Value = serde_json::from_str(payload).unwrap();
    assert_eq!(first, "Deploy s");
    let expected =
        json!({"event": "Deploy", "to": "shop", "session_id": "s", "context": {"session_id": "s"}});
    assert_eq!(payload, expected);
    let silent = json!({"blocked": false, "reasons": [], "outcomes": []});
    assert_eq!(reply(&mut host, json!({"event": "Restart"})), silent);
    let refused = host.refused("hooks/dispatch", params(json!({"event": "PreTolUse"})));
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .ends_with("did you mean `PreToolUse`?"),
        "{refused}"
    );
}

#[test]
fn mistakes_are_told_in_its_own_words_and_break_one_hook_alone() {
    // What is underlined, and what is said of it.
    let told = |text: &str| -> Vec<String> {
        let dir = hooks(&[("hooks.yaml", text)]);
        let mut check = hookwire();
        let output = check
            .args(["check", "--format", "json"])
            .arg(dir.path().join("hooks.yaml"))
            .output()
            .unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let line = |it: &Value| {
            let help = it["help"]
                .as_str()
                .map(|help| format!(" ({help})"))
                .unwrap_or_default();
            let number =
                |end: &str, key: &str| it["range"][end][key].as_u64().unwrap() as usize - 1;
            let line = text.lines().nth(number("start", "line")).unwrap();
            let part = &line[number("start", "column")..number("end", "column")];
            let part = if part.starts_with('{') { "{}" } else { part };
            format!("{part}: {}{help}", it["message"].as_str().unwrap())
        };
        found["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .map(line)
            .collect()
    };
    for (hook, expected) in [
        (
            "{ event: Stop, mode: http }",
            "http: a hook of mode `http` needs `url` (add `url`)",
        ),
        (
            "{ event: Stop, mode: agent, command: x }",
            "agent: a hook of mode `agent` needs `prompt` (add `prompt`); command: `command` is for mode `command`, and this hook is of mode `agent` (leave it out, or change `mode`)",
        ),
        (
            "{ event: Stop, prompt: x }",
            "{}: a hook needs a `mode` (add `mode: prompt`)",
        ),
        (
            "{ event: Stop, mode: htp, url: x }",
            "htp: unknown mode `htp` (did you mean `http`?)",
        ),
        (
            "{ event: Stop, mode: 3 }",
            "3: `mode`: expected command, prompt, agent or http, found a number",
        ),
        (
            "{ mode: command, command: x }",
            "{}: a hook needs an `event` (add `event: PreToolUse`, or another of the events)",
        ),
        (
            "{ event: Stopp, mode: command, command: x }",
            "Stopp: unknown event `Stopp` (did you mean `Stop`?)",
        ),
        (
            "{ event: Stop, mode: command, command: x, condtion: y }",
            "condtion: unknown field `condtion` (did you mean `condition`?)",
        ),
        (
            "{ event: Stop, mode: command, command: x, async_mode: 1 }",
            "1: `async_mode`: expected true or false, found a number",
        ),
        (
            "{ event: Stop, mode: command, command: x, condition: [y] }",
            "[y]: `condition`: expected a string, found a list (write `condition: Write(src/**/*.ts)`)",
        ),
        (
            "{ event: Stop, mode: command, command: x, timeout: 0 }",
            "0: `timeout`: a duration is more than 0 and at most 24 h, found `0`",
        ),
        (
            "{ event: PreToolUse, mode: command, command: x, condition: 'Write(src' }",
            "'Write(src': a rule is written `Tool(pattern)`, such as `Bash(git push*)` (did you mean `Write(src)`?)",
        ),
        (
            "{ event: Stop, mode: command, command: x, payload_template: {} }",
            "payload_template: `payload_template` is for mode `http`, and this hook is of mode `command` (leave it out, or change `mode`)",
        ),
        (
            "{ event: Stop, mode: http, url: 3 }",
            "3: `url`: expected a string, found a number",
        ),
        (
            "{ event: Stop, mode: agent, prompt: 3 }",
            "3: `prompt`: expected a string, found a number",
        ),
        (
            "{ event: Stop, mode: command, command: \"lint '$tool_name'\" }",
            "\"lint '$tool_name'\": `$tool_name` is in single quotes, where its value doesn't come (write `\"$tool_name\"` in double quotes, if no shell reads what comes of it)",
        ),
        (
            "{ event: Stop, name: 3, mode: command, command: x }",
            "3: `name`: expected a string, found a number",
        ),
        (
            "{ event: Stop, mode: http, url: '' }",
            "'': can't use the URL: it begins with no scheme: write http:// or https:// before it",
        ),
        (
            "{ event: Stop, mode: command, command: '' }",
            "'': the command is empty",
        ),
        (
            "{ event: 3, mode: command, command: x }",
            "3: `event`: expected a string, found a number (write one hook for each event)",
        ),
        (
            "{ event: , mode: command, command: x }",
            "{}: a hook needs an `event` (add `event: PreToolUse`, or another of the events)",
        ),
        ("3", "3: a hook is a map, found a number"),
        (
            "{ event: Stop, mode: command, command: x, condition: None, matcher: null, timeout: None, url: None }",
            "",
        ),
        (
            "{ event: Stop, mode: command, command: x, fail: closed, enabled: false, tags: [a] }",
            "",
        ),
        ("{ name: native, on: Stop, deny: no }", ""),
        ("{ name: native, guard: { step-limit: { max: 3 } } }", ""),
    ] {
        let text = article(&format!("  - {hook}\n"));
        let mistakes = || {
            told(&text)
                .into_iter()
                .filter(|it| !it.contains("there is no program `"))
        };
        assert_eq!(
            mistakes().collect::<Vec<_>>().join("; "),
            expected,
            "{hook}"
        );
        // In the registry's form it is the same, one line below.
        if let Some(rest) = hook.strip_prefix("{ event: Stop, ") {
            let text = article(&format!("  Stop:\n    - {{ {rest}\n"));
            let told = told(&text)
                .into_iter()
                .filter(|it| !it.contains("there is no program `"));
            assert_eq!(
                told.count(),
                expected.split("; ").filter(|it| !it.is_empty()).count(),
                "{text}"
            );
        }
    }
    assert_eq!(
        told(&article("  Stop: { mode: command, command: x }\n")),
        ["{}: `Stop` is a list of hooks, found a map"]
    );
    let twice = article("  Stop:\n    - { event: PreCompact, mode: command, command: x }\n");
    assert_eq!(
        told(&twice),
        ["PreCompact: `event` is another than `Stop`, under which the hook stands (leave it out)"]
    );

    let broken = article(
        "  - { event: Stop, mode: http }\n  - { event: Stop, mode: command, command: exit 2 }\n",
    );
    let (mut host, _dir, _) = logged(&broken);
    let reply = reply(&mut host, json!({"event": "Stop", "session_id": "s"}));
    assert_eq!(
        reply["outcomes"],
        json!([{"hook": "Stop#2", "status": "blocking", "reason": "the hook blocked it without a reason"}])
    );
}

/// Only what runs nothing on the host's side may come over its socket, in whatever form.
#[test]
fn a_guest_registers_no_command_in_the_registry_s_form() {
    let dir = hooks(&[]);
    let runtime = tempfile::tempdir().unwrap();
    let at = |command: &mut Command| {
        command
            .env("XDG_RUNTIME_DIR", runtime.path())
            .current_dir(dir.path());
    };
    let mut command = hookwire();
    at(command.args(["serve", "--hooks"]).arg(no_hooks()));
    let mut host = TestHost::start(&mut command);
    host.request("hooks/list", json!({}));
    let folder = runtime.path().join("hookwire");
    let socket = eventually("the socket", || {
        let mut found = std::fs::read_dir(&folder)
            .ok()?
            .map(|it| it.unwrap().path());
        found.find(|path| std::os::unix::net::UnixStream::connect(path).is_ok())
    });
    let mut guest = BufReader::new(std::os::unix::net::UnixStream::connect(socket).unwrap());
    let hooks = json!({"Stop": [{"mode": "command", "command": "touch pwned"}]});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "hooks/register", "params": {"dialect": DIALECT, "hooks": hooks}});
    guest
        .get_mut()
        .write_all(format!("{request}\n").as_bytes())
        .unwrap();
    let mut line = String::new();
    guest.read_line(&mut line).unwrap();
    assert!(
        line.contains("over the shared socket only callbacks can be registered"),
        "{line}"
    );
}
