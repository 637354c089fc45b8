//! What hooks, clients and people share with a running host: state, approvals, the socket.

use crate::support::*;
use hookwire::Client;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// A host with a root of its own, and whatever else its command line says.
struct World {
    root: tempfile::TempDir,
    runtime: tempfile::TempDir,
    definitions: String,
}

impl World {
    fn new(definitions: &str) -> World {
        let (root, runtime) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        World {
            root,
            runtime,
            definitions: definitions.into(),
        }
    }

    fn host(&self, arguments: &[&str]) -> TestHost {
        let hooks = self.root.path().join("hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        std::fs::write(hooks.join("hooks.yaml"), &self.definitions).unwrap();
        let mut command = serve(&hooks);
        command
            .arg("--root")
            .arg(self.root.path())
            .args(arguments)
            .env("XDG_RUNTIME_DIR", self.runtime.path());
        // Commands of hooks find the built binary.
        let bin = Path::new(env!("CARGO_BIN_EXE_hookwire-host"))
            .parent()
            .unwrap();
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        let mut host = TestHost::start(&mut command);
        // The socket is there before the first reply.
        host.request("hooks/list", json!({}));
        host
    }

    /// Another terminal.
    fn cli(&self, arguments: &[&str]) -> Output {
        let mut command = hookwire();
        command
            .current_dir(self.root.path())
            .args(arguments)
            .env("XDG_RUNTIME_DIR", self.runtime.path());
        command.output().unwrap()
    }

    /// Exit code and what was printed.
    fn said(&self, arguments: &[&str]) -> String {
        let output = self.cli(arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
        let parts = [
            output.status.code().unwrap().to_string(),
            text(&output.stdout),
            text(&output.stderr),
        ];
        parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn sockets(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.runtime.path().join("hookwire"))
            .into_iter()
            .flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// The one question that waits, as soon as it does.
    fn question(&self) -> Value {
        let list = eventually("a question waits", || {
            let output = self.cli(&["approvals", "list", "--format", "json"]);
            let list: Value = serde_json::from_slice(&output.stdout).ok()?;
            (!list["approvals"].as_array()?.is_empty()).then_some(list)
        });
        assert_eq!(
            list["root"],
            *self.root.path().canonicalize().unwrap().to_str().unwrap()
        );
        list["approvals"][0].clone()
    }
}

/// Hooks are asked again about what another hook made of a call, and have still seen one call.
#[test]
fn an_event_counts_once_where_a_rewrite_is_judged_again() {
    let world = World::new(
        "
defaults: { fail: closed }
hooks:
  - { name: command, on: PreToolUse, matcher: Bash, command: 'hookwire state increment commands >&2' }
  - { name: script, on: PreToolUse, matcher: Bash, script: \"state.increment('scripts')\" }
  - { name: callable, on: PreToolUse, matcher: Bash, callable: { python: 'count.py:count' } }
  - { name: pnpm, on: PreToolUse, if: Bash(npm *), rewrite: { program: pnpm } }
",
    );
    let function = "from hookwire import state\n\ndef count():\n    state.increment('callables')\n";
    std::fs::create_dir_all(world.root.path().join("hooks")).unwrap();
    std::fs::write(world.root.path().join("hooks/count.py"), function).unwrap();
    let mut host = world.host(&[]);
    for n in 1..=2 {
        let verdict = host.bash("npm i");
        let again = verdict["outcomes"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["rejudged"] == true)
            .count();
        assert_eq!(
            (verdict["decision"].as_str(), again),
            (Some("allow"), 3),
            "{verdict}"
        );
        for key in ["commands", "scripts", "callables"] {
            let found = host.request("state/get", json!({ "key": key, "session": "s" }));
            assert_eq!(found, json!({ "value": n }), "{key}");
        }
    }
}

#[test]
fn state_over_the_wire() {
    let world = World::new("hooks: []");
    let mut host = world.host(&[]);
    for (method, params, expected) in [
        ("state/get", json!({"key": "a"}), json!({})),
        ("state/set", json!({"key": "a", "value": null}), json!(null)),
        ("state/get", json!({"key": "a"}), json!({"value": null})),
        ("state/get", json!({"key": "a", "session": "s"}), json!({})),
        (
            "state/increment",
            json!({"key": "n", "session": "s"}),
            json!({"value": 1}),
        ),
        (
            "state/increment",
            json!({"key": "n", "session": "s", "by": 2.5}),
            json!({"value": 3.5}),
        ),
        (
            "state/compareAndSet",
            json!({"key": "a", "value": 1}),
            json!({"value": null, "set": false}),
        ),
        (
            "state/compareAndSet",
            json!({"key": "a", "value": 1, "expected": null}),
            json!({"value": 1, "set": true}),
        ),
        (
            "state/set",
            json!({"key": "b", "value": [1], "ttlMs": 0}),
            json!(null),
        ),
        (
            "state/list",
            json!({}),
            json!({"items": [{"key": "a", "value": 1}]}),
        ),
        (
            "state/delete",
            json!({"key": "a"}),
            json!({"deleted": true}),
        ),
        (
            "state/delete",
            json!({"key": "a"}),
            json!({"deleted": false}),
        ),
        (
            "state/list",
            json!({"session": "s", "prefix": "n"}),
            json!({"items": [{"key": "n", "value": 3.5}]}),
        ),
    ] {
        assert_eq!(
            host.request(method, params.clone()),
            expected,
            "{method} {params}"
        );
    }
    for (method, params, expected) in [
        (
            "state/set",
            json!({"key": "a"}),
            "invalid params: the field `value` is missing",
        ),
        (
            "state/set",
            json!({"key": "", "value": 1}),
            "failed to use the key: it has 1 to 512 bytes, this has 0",
        ),
        (
            "state/get",
            json!({"kee": "a"}),
            "invalid params: `kee`: unknown field `kee`, expected `key` or `session`; did you mean `key`?",
        ),
        (
            "state/increment",
            json!({"key": "a", "by": "1"}),
            "invalid params: `by`: expected a JSON number, found a string",
        ),
    ] {
        assert_eq!(
            host.refused(method, params.clone())["message"],
            expected,
            "{method} {params}"
        );
    }
    // Pipelined requests take effect in the order in which they were read.
    let ids: Vec<_> = (0..100)
        .map(|_| host.ask("state/increment", json!({"key": "count"})))
        .collect();
    for (n, id) in ids.into_iter().enumerate() {
        assert_eq!(host.reply(id)["result"]["value"], n + 1);
    }
}

#[test]
fn a_state_file_survives_a_kill() {
    let world = World::new("hooks: []");
    let file = world.root.path().join("state");
    let arguments = ["--state-file", file.to_str().unwrap()];
    let mut host = world.host(&arguments);
    for n in 1..=50 {
        assert_eq!(
            host.request("state/increment", json!({"key": "n", "session": "s"}))["value"],
            n
        );
    }
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    // Another host of the same file serves too, and says what that means.
    let other = world.cli(&[
        "serve",
        "--isolated",
        "--no-share",
        "--state-file",
        file.to_str().unwrap(),
    ]);
    assert_eq!(other.status.code(), Some(0));
    let problem = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(
        problem.contains("Another host has the state file open"),
        "{problem}"
    );
    host.kill();
    host.wait();
    let mut host = world.host(&arguments);
    assert_eq!(
        host.request("state/increment", json!({"key": "n", "session": "s"}))["value"],
        51
    );
    drop(host);
    std::fs::write(&file, "not a database, but a text").unwrap();
    let refused = world.said(&[
        "serve",
        "--isolated",
        "--state-file",
        file.to_str().unwrap(),
    ]);
    assert!(
        refused.starts_with("2 hookwire: --state-file: failed to open the state file"),
        "{refused}"
    );
}

#[test]
fn commands_of_hooks_use_the_state_of_their_session() {
    let world = World::new(
        "
hooks:
  - name: count
    on: PreToolUse
    fail: closed
    command: test $(hookwire state increment calls) -le 2 || { echo enough >&2; exit 2; }
  - name: total
    on: PostToolUse
    fail: closed
    command: hookwire state increment --shared calls >&2",
    );
    let mut host = world.host(&[]);
    for (session, expected) in [
        ("a", "allow"),
        ("a", "allow"),
        ("b", "allow"),
        ("a", "deny by count: enough"),
    ] {
        let event = json!({"event": "PreToolUse", "session": session, "tool": {"name": "Bash", "input": {}}});
        assert_eq!(brief(&host.dispatch(event)), expected);
    }
    let event =
        json!({"event": "PostToolUse", "session": "a", "tool": {"name": "Bash", "input": {}}});
    assert_eq!(brief(&host.dispatch(event)), "allow");
    for (arguments, expected) in [
        (&["state", "get", "calls", "--session", "a"][..], "0 3"),
        (&["state", "get", "calls"], "0 1"),
        (&["state", "get", "other"], "1"),
        (&["state", "set", "text", "some words", "--ttl", "1h"], "0"),
        (
            &["state", "list"],
            "0 calls                    1\ntext                     \"some words\"",
        ),
        (&["state", "get", "text"], "0 some words"),
        (
            &[
                "state",
                "compare-and-set",
                "text",
                "{\"a\":1}",
                "--expected",
                "some words",
            ],
            "0",
        ),
        (&["state", "compare-and-set", "text", "2"], "1"),
        (&["state", "get", "text"], "0 {\"a\":1}"),
        (&["state", "delete", "text"], "0"),
        (&["state", "delete", "text"], "1"),
        (&["state", "increment", "calls", "-5"], "0 -4"),
        (
            &["state", "get", "x", "--root", "/"],
            "2 hookwire: no host runs for / yet: an agent's first event starts one",
        ),
    ] {
        assert_eq!(world.said(arguments), expected, "{arguments:?}");
    }
}

const ASK: &str = "
hooks:
  - { name: careful, on: PreToolUse, matcher: Bash, ask: this needs a look }
  - { name: never, on: PreToolUse, if: Bash(rm *), deny: no removals }
";

#[test]
fn a_client_asks_its_person() {
    let approve = |more: Value| {
        let mut reply = json!({"decision": "approve"});
        reply
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        reply
    };
    let world = World::new(ASK);
    let mut host = world.host(&[]);
    host.request(
        "initialize",
        json!({"capabilities": {"hooks": {"requests": ["approval/request"]}}}),
    );
    for (reply, expected, subject) in [
        (
            approve(json!({})),
            "allow by careful: approved by a person",
            None,
        ),
        (
            approve(json!({"reason": "go"})),
            "allow by careful: approved by a person: go",
            None,
        ),
        (
            approve(json!({"subject": {"command": "ls"}})),
            "allow by careful: approved by a person",
            Some("ls"),
        ),
        // What a person changed is judged like anything else.
        (
            approve(json!({"subject": {"command": "rm -r x"}})),
            "deny by never: no removals",
            None,
        ),
        (
            json!({"decision": "deny", "reason": "no"}),
            "deny by careful: this needs a look (denied by a person: no)",
            None,
        ),
        (
            json!({"decision": "yes"}),
            "deny by careful: this needs a look (failed to read the approval: unknown variant `yes`, expected `approve` or `deny`)",
            None,
        ),
        (
            json!(null),
            "deny by careful: this needs a look (failed to read the approval: invalid type: null, expected an object with `decision`)",
            None,
        ),
    ] {
        let id = host.ask("hooks/dispatch", bash("git push"));
        let question = host.receive_where(|message| message["method"] == "approval/request");
        let params = &question["params"];
        assert_eq!(
            (
                &params["hook"],
                &params["tool"],
                &params["subject"]["command"]
            ),
            (&json!("careful"), &json!("Bash"), &json!("git push"))
        );
        host.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": reply}));
        let verdict = host.reply(id)["result"].take();
        assert_eq!(brief(&verdict), expected, "{reply}");
        assert_eq!(verdict["subject"]["command"].as_str(), subject, "{reply}");
    }
    // There may be nothing to change.
    host.request(
        "hooks/register",
        json!({"hooks": [{"name": "start", "on": "SessionStart", "ask": "begin?"}]}),
    );
    let id = host.ask(
        "hooks/dispatch",
        json!({"event": "SessionStart", "session": "s"}),
    );
    let question = host.receive_where(|message| message["method"] == "approval/request");
    host.send(
        &json!({"jsonrpc": "2.0", "id": question["id"], "result": approve(json!({"subject": 1}))}),
    );
    let verdict = host.reply(id)["result"].take();
    let expected =
        "deny by start: begin? (failed to take the change: SessionStart has nothing to change)";
    assert_eq!(
        (brief(&verdict), verdict.get("subject")),
        (expected.into(), None)
    );
    // A deadline takes the question back.
    let mut event = bash("git push");
    event["deadlineMs"] = json!(300);
    let id = host.ask("hooks/dispatch", event);
    let question = host.receive_where(|message| message["method"] == "approval/request");
    assert_eq!(
        brief(&host.reply(id)["result"]),
        "deny by careful: this needs a look (failed to get an approval in time)"
    );
    let cancelled = host.receive_where(|message| message["method"] == "$/cancelRequest");
    assert_eq!(cancelled["params"]["id"], question["id"]);
    // Remembered, for this session and this input only.
    let ask = |host: &mut TestHost, event: Value, reply: Option<Value>| {
        let id = host.ask("hooks/dispatch", event);
        if let Some(reply) = reply {
            let question = host.receive_where(|message| message["method"] == "approval/request");
            host.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": reply}));
        }
        brief(&host.reply(id)["result"])
    };
    let yes = "allow by careful: approved by a person";
    assert_eq!(
        ask(
            &mut host,
            bash("make"),
            Some(approve(json!({"remember": true})))
        ),
        yes
    );
    assert_eq!(ask(&mut host, bash("make"), None), yes);
    assert_eq!(
        ask(&mut host, bash("make all"), Some(approve(json!({})))),
        yes
    );
    let mut other = bash("make");
    other["session"] = json!("other");
    assert_eq!(ask(&mut host, other, Some(approve(json!({})))), yes);
}

const NONE_WAITS: &str = "0 Nothing waits for a person; `--watch` waits for questions.";

#[test]
fn a_person_answers_from_another_terminal() {
    let world = World::new(ASK);
    let mut host = world.host(&["--ask-elsewhere", "60s"]);
    assert_eq!(world.said(&["approvals", "list"]), NONE_WAITS);
    assert!(
        world
            .said(&["approvals", "approve"])
            .starts_with("2 hookwire: nothing waits for a person")
    );
    let push = |host: &mut TestHost| host.ask("hooks/dispatch", bash("git push"));
    for (answer, expected) in [
        (
            &["approvals", "approve", "--reason", "fine"][..],
            "allow by careful: approved by a person: fine",
        ),
        (
            &["approvals", "deny", "--reason", "not today"],
            "deny by careful: this needs a look (denied by a person: not today)",
        ),
        (
            &[
                "approvals",
                "approve",
                "--input",
                "{\"command\":\"git status\"}",
            ],
            "allow by careful: approved by a person",
        ),
    ] {
        let id = push(&mut host);
        let question = world.question();
        let question = question["id"].as_str().unwrap();
        let shown = world.said(&["approvals", "list"]);
        let whole = format!(
            "{question}  Bash\n          careful asks: this needs a look\n          command  git push\n"
        );
        assert!(shown.contains(&whole), "{shown}");
        let mut arguments = answer.to_vec();
        arguments.insert(2, question);
        let said = world.said(&arguments);
        // What is approved is shown first.
        let is_shown = said.contains(&whole);
        assert!(
            is_shown == (answer[1] == "approve")
                && said.starts_with("0 ")
                && said.ends_with("Answered."),
            "{said}"
        );
        let verdict = host.reply(id)["result"].take();
        assert_eq!(brief(&verdict), expected);
        assert_eq!(
            verdict["subject"]["command"].as_str(),
            answer.contains(&"--input").then_some("git status")
        );
        let again = world.said(&arguments);
        assert!(
            again.starts_with(&format!("2 hookwire: no approval `{question}` waits")),
            "{again}"
        );
    }
    // A question survives a reload, even of the hook that asks; a cancelled one is gone.
    let id = push(&mut host);
    let question = world.question();
    replace(&world.root.path().join("hooks/hooks.yaml"), "hooks: []");
    host.request("hooks/reload", json!({}));
    // It is the only one.
    let said = world.said(&["approvals", "approve"]);
    assert!(
        said.contains(question["id"].as_str().unwrap()) && said.ends_with("Answered."),
        "{said}"
    );
    assert_eq!(
        brief(&host.reply(id)["result"]),
        "allow by careful: approved by a person"
    );
    replace(&world.root.path().join("hooks/hooks.yaml"), ASK);
    host.request("hooks/reload", json!({}));
    let id = push(&mut host);
    world.question();
    host.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(host.reply(id)["error"]["code"], -32800);
    eventually("the question is taken back", || {
        (world.said(&["approvals", "list"]) == NONE_WAITS).then_some(())
    });
    // Without either way, an ask is a deny.
    drop(host);
    let mut host = world.host(&[]);
    let verdict = brief(&host.bash("git push"));
    assert_eq!(
        verdict,
        "deny by careful: this needs a look (this needs a person's approval, and the client can't ask)"
    );
}

/// Whoever watches is told when a question comes and when it is gone, and asks nobody again and
/// again.
#[test]
fn questions_are_announced() {
    let world = World::new(ASK);
    let mut host = world.host(&["--ask-elsewhere", "60s"]);
    let [socket] = &world.sockets()[..] else {
        panic!("not one socket: {:?}", world.sockets())
    };
    let mut watcher = Client::new(UnixStream::connect(socket).unwrap(), PATIENCE).unwrap();
    let wanted = json!({"capabilities": {"hooks": {"notifications": ["approvals/changed"]}}});
    watcher.request("initialize", &wanted).unwrap();
    let mut command = hookwire();
    command
        .args(["approvals", "list", "--watch"])
        .env("XDG_RUNTIME_DIR", world.runtime.path())
        .stdout(Stdio::piped());
    let mut watching = command.current_dir(world.root.path()).spawn().unwrap();
    let mut shown = BufReader::new(watching.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert_eq!(
        shown.next().unwrap(),
        "Nothing waits for a person; waiting for a question; Ctrl-C ends it."
    );
    for text in ["git push", "git push --tags"] {
        let id = host.ask("hooks/dispatch", bash(text));
        assert_eq!(
            watcher.notification("approvals/changed", |_| true).unwrap(),
            json!({"waiting": 1})
        );
        assert_eq!(
            shown
                .find(|line| line.contains("command  "))
                .unwrap()
                .trim(),
            format!("command  {text}")
        );
        assert!(world.said(&["approvals", "approve"]).ends_with("Answered."));
        assert_eq!(
            watcher.notification("approvals/changed", |_| true).unwrap(),
            json!({"waiting": 0})
        );
        assert_eq!(host.reply(id)["result"]["decision"], "allow");
    }
    watching.kill().unwrap();
    watching.wait().unwrap();
}

/// Nothing that decides is pushed out of sight by what doesn't, and no text passes for another
/// member.
#[test]
fn a_person_sees_all_that_decides() {
    let world = World::new("hooks: [{ name: careful, on: PreToolUse, ask: 'sure?' }]");
    let mut host = world.host(&["--ask-elsewhere", "60s"]);
    let memo = "for the office ".repeat(1000);
    let content = format!(
        "a\n          file_path  /tmp/harmless\n\u{1b}[2Kb\u{202e}\n{}",
        "line\n".repeat(100)
    );
    for (tool, input, shown_at_once, left) in [
        (
            "pay",
            json!({"amount": 5, "memo": memo, "to": {"name": "mallory", "iban": ["X1", "X2"]}, "zone": ""}),
            &[
                "          amount  5\n",
                "          to.name  mallory\n",
                "          to.iban[1]  X2\n",
            ][..],
            memo.len() - 400,
        ),
        (
            "Write",
            json!({"content": content, "file_path": "/etc/passwd"}),
            &[
                "          file_path  /etc/passwd\n",
                "          |           file_path  /tmp/harmless\n",
                "| \\u{1b}[2Kb\\u{202e}\n",
            ],
            "line\n".len() * 97,
        ),
    ] {
        let event =
            json!({"event": "PreToolUse", "session": "s", "tool": {"name": tool, "input": input}});
        let id = host.ask("hooks/dispatch", event);
        let question = world.question();
        let question = question["id"].as_str().unwrap();
        let (list, whole) = (
            world.said(&["approvals", "list"]),
            world.said(&["approvals", "list", question]),
        );
        for expected in shown_at_once {
            assert!(
                list.contains(expected) && whole.contains(expected),
                "{expected:?}: {list}"
            );
        }
        let told = format!("characters more: `hookwire approvals list {question}` shows all");
        assert!(
            list.contains(&told) && list.len() < 3000,
            "{tool} {left}: {list}"
        );
        let approved = world.said(&["approvals", "approve", question]);
        assert!(
            !whole.contains(&told) && approved.contains(whole.trim_start_matches("0 ")),
            "{approved}"
        );
        // A short member stands last, where a terminal ends up.
        let last = whole.lines().rev().nth(1).unwrap();
        assert!(last.len() < 100 && !last.contains('|'), "{whole}");
        assert_eq!(host.reply(id)["result"]["decision"], "allow");
    }
}

#[test]
fn the_guard_waits_for_a_person() {
    let guard = |settings: &str| {
        format!(
            "hooks: [{{ name: pay, description: This pays, matcher: pay, fail: closed, guard: {{ approval: {settings} }} }}]"
        )
    };
    let pay = json!({"event": "PreToolUse", "session": "s", "tool": {"name": "pay", "input": {"amount": 5}}});
    let world = World::new(&guard(
        "{ message: 'Pay ${tool.input.amount}?', remember: tool }",
    ));
    let mut host = world.host(&[]);
    let mut ask = |answer: &[&str]| {
        let id = host.ask("hooks/dispatch", pay.clone());
        if !answer.is_empty() {
            let question = world.question();
            assert_eq!(
                (&question["message"], &question["hook"]),
                (&json!("Pay 5?"), &json!("pay"))
            );
            let mut arguments = answer.to_vec();
            arguments.insert(2, question["id"].as_str().unwrap());
            assert!(world.said(&arguments).ends_with("Answered."));
        }
        let verdict = host.reply(id)["result"].take();
        format!("{} {}", brief(&verdict), verdict["subject"])
            .trim_end_matches(" null")
            .to_string()
    };
    for (answer, expected) in [
        (
            &["approvals", "deny", "--reason", "too much"][..],
            "deny by pay: Pay 5? (denied by a person: too much)",
        ),
        (
            &["approvals", "approve", "--input", "{\"amount\":1}"],
            "allow by pay: approved by a person {\"amount\":1}",
        ),
        (
            &["approvals", "approve", "--remember"],
            "allow by pay: approved by a person",
        ),
        (&[], "allow by pay: approved by a person"),
    ] {
        assert_eq!(ask(answer), expected, "{answer:?}");
    }
    for (settings, expected) in [
        (
            "{ wait: 50ms }",
            "deny by pay: This pays (nobody answered within 50ms)",
        ),
        ("{ wait: 50ms, default: allow }", "allow"),
        (
            "{ wait: 50ms, default: fail }",
            "deny by pay: hook `pay` failed to get an approval: nobody answered within 50ms",
        ),
    ] {
        let world = World::new(&guard(settings));
        assert_eq!(
            brief(&world.host(&[]).dispatch(pay.clone())),
            expected,
            "{settings}"
        );
    }
}

/// What a person said to one question is no answer to another.
#[test]
fn what_is_remembered_is_the_question() {
    let world = World::new(
        "
hooks:
  - { name: careful, on: PreToolUse, matcher: Bash, ask: this needs a look }
  - name: payments
    on: PreToolUse
    when: has(tool.input.amount)
    ask: this pays
  - { name: push, on: PreToolUse, matcher: Push, fail: closed, guard: { approval: { remember: tool } } }
  - { name: secrets, on: PreToolUse, guard: { redact-secrets: { action: redact } }, fail: closed }
",
    );
    let mut host = world.host(&[]);
    host.request(
        "initialize",
        json!({"capabilities": {"hooks": {"requests": ["approval/request"]}}}),
    );
    let mut ask = |tool: &str, input: Value, reply: Option<Value>| {
        let event =
            json!({"event": "PreToolUse", "session": "s", "tool": {"name": tool, "input": input}});
        let id = host.ask("hooks/dispatch", event);
        let asked = reply.map(|reply| {
            let question = host.receive_where(|message| message["method"] == "approval/request");
            host.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": reply}));
            question["params"]["message"].as_str().unwrap().to_string()
        });
        let verdict = host.reply(id)["result"].take();
        (
            asked,
            verdict["decision"].as_str().unwrap().to_string(),
            verdict["subject"].clone(),
        )
    };
    let approve = || Some(json!({"decision": "approve", "remember": true}));
    let asked = |text: &str| Some(text.to_string());
    let (yes, unchanged) = ("allow".to_string(), Value::Null);
    let (both, one) = (
        json!({"command": "pay", "amount": 1}),
        json!({"command": "pay"}),
    );
    assert_eq!(
        ask("Bash", one.clone(), approve()),
        (asked("this needs a look"), yes.clone(), unchanged.clone())
    );
    assert_eq!(
        ask("Bash", one, None),
        (None, yes.clone(), unchanged.clone())
    );
    // Another hook asks as well, and so does the person hear of it.
    let answer = (
        asked("this needs a look; this pays"),
        yes.clone(),
        unchanged.clone(),
    );
    assert_eq!(ask("Bash", both, approve()), answer);
    // What stands in for one input doesn't for another.
    let instead = json!({"decision": "approve", "remember": true, "subject": {"to": "topic"}});
    let pushed = ask("Push", json!({"to": "main"}), Some(instead.clone()));
    assert_eq!(
        pushed,
        (
            asked("`push` needs an approval"),
            yes.clone(),
            json!({"to": "topic"})
        )
    );
    assert_eq!(ask("Push", json!({"to": "other"}), approve()).2, unchanged);
    assert_eq!(
        ask("Push", json!({"to": "third"}), None),
        (None, yes, unchanged)
    );
    // Null is a value, and nobody takes a secret in for a person.
    let null = ask(
        "Bash",
        json!({"command": "x"}),
        Some(json!({"decision": "approve", "subject": null})),
    );
    assert_eq!((null.1.as_str(), null.2), ("allow", Value::Null));
    let secret = format!(
        "curl -H 'Authorization: token gh{}_{}'",
        "p", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    );
    let reply = json!({"decision": "approve", "subject": {"command": secret}});
    assert_eq!(
        ask(
            "Bash",
            json!({"command": secret.replace('1', "2")}),
            Some(reply)
        )
        .1,
        "deny"
    );
}

/// Guests that come and go leave nothing open.
#[test]
fn guests_leave_nothing_behind() {
    let world = World::new("hooks: []");
    let mut host = world.host(&[]);
    let socket = world.sockets().pop().unwrap();
    let descriptors =
        |pid: u32| std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    let before = descriptors(host.pid());
    for _ in 0..20 {
        let mut guest = BufReader::new(UnixStream::connect(&socket).unwrap());
        let wanted = json!({"capabilities": {"hooks": {"notifications": ["hooks/executed", "hooks/changed"]}}});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": wanted});
        guest
            .get_mut()
            .write_all(format!("{request}\n").as_bytes())
            .unwrap();
        guest.read_line(&mut String::new()).unwrap();
    }
    eventually("their descriptors are closed", || {
        (descriptors(host.pid()) <= before).then_some(())
    });
    host.request("hooks/list", json!({}));
}

#[test]
fn the_socket_is_its_user_s_alone() {
    let world = World::new("hooks: [{ name: g, on: PreToolUse, deny: no }]");
    let mut host = world.host(&[]);
    let socket = world.sockets().pop().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(socket.parent().unwrap()), 0o700);
    let mut guest = BufReader::new(UnixStream::connect(&socket).unwrap());
    let mut ask = |method: &str, params: Value| -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        guest
            .get_mut()
            .write_all(format!("{request}\n").as_bytes())
            .unwrap();
        let mut line = String::new();
        guest.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    assert_eq!(
        brief(&ask("hooks/dispatch", bash("ls"))["result"]),
        "deny by g: no"
    );
    let refused = ask(
        "hooks/register",
        json!({"hooks": [{"name": "x", "on": "Stop", "command": "touch /tmp/x"}]}),
    );
    assert_eq!(
        refused["error"]["message"],
        "invalid request: over the shared socket only callbacks can be registered"
    );
    let both = json!([{"name": "x", "on": "Stop", "callback": "c"}]);
    assert_eq!(
        ask("hooks/register", json!({ "hooks": both }))["result"]["registered"],
        json!(["x"])
    );
    // A guest's end is not the host's.
    assert_eq!(ask("shutdown", json!({}))["result"], json!(null));
    drop(guest);
    assert_eq!(brief(&host.bash("ls")), "deny by g: no");
    // What a killed host leaves is removed by the next who looks; a host that ends well leaves
    // nothing.
    host.kill();
    host.wait();
    assert_eq!(world.sockets(), [socket]);
    assert_eq!(world.said(&["approvals", "list"]), NONE_WAITS);
    assert!(
        world
            .said(&["approvals", "approve"])
            .starts_with("2 hookwire: nothing waits for a person")
    );
    assert_eq!(world.sockets(), [] as [PathBuf; 0]);
    drop(world.host(&[]));
    assert_eq!(world.sockets(), [] as [PathBuf; 0]);
    drop(world.host(&["--no-share"]));
    // A directory that others may enter is not used, and the host serves all the same.
    std::fs::set_permissions(
        world.runtime.path().join("hookwire"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let mut host = world.host(&[]);
    assert_eq!(brief(&host.bash("ls")), "deny by g: no");
    assert_eq!(world.sockets(), [] as [PathBuf; 0]);
}

#[test]
fn connections_that_stay_keep_no_command_out() {
    let world = World::new("hooks: []");
    let mut host = world.host(&[]);
    host.request("state/set", json!({"key": "a", "value": 7}));
    let [socket] = &world.sockets()[..] else {
        panic!("one socket")
    };
    let idle: Vec<_> = (0..40)
        .map(|_| UnixStream::connect(socket).unwrap())
        .collect();
    assert_eq!(world.said(&["state", "get", "a"]), "0 7");
    drop(idle);
}

/// Asks a host something, from a process that has connected as its argument says.
const ASKS: &str = r#"
import ctypes, os, socket, struct, sys
how, path, message = sys.argv[1:]
if how != "free":
    libc = ctypes.CDLL(None)
    allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
    filter = ctypes.create_string_buffer(struct.pack("HP", 1, ctypes.addressof(allow)))
    # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter, 0, 0) == 0
go, gone = os.pipe()
if how == "gone" and (connecting := os.fork()):
    os.waitpid(connecting, 0)
    os.write(gone, b"1")
    sys.exit()
guest = socket.socket(socket.AF_UNIX)
guest.connect(path)
if how == "gone":
    if os.fork():
        os._exit(0)
    os.read(go, 1)
guest.sendall(message.encode() + b"\n")
print(guest.recv(10000).decode())
"#;

/// What `hookwire run` holds could answer what a person is asked about it, or end the host and take
/// its place; what isn't held answers, and takes the place after an upgrade.
#[cfg(target_os = "linux")]
#[test]
fn who_is_held_answers_no_question_and_ends_no_host() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let mut command = serve(no_hooks());
    command
        .args(["--idle-exit", "30s", "--inherit"])
        .arg(&path)
        .stdin(std::os::fd::OwnedFd::from(listener));
    let mut host = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let ask = |how: &str, method: &str, params: Value| {
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let mut asked = in_our_world(std::process::Command::new("python3"));
        let asked = asked
            .args(["-c", ASKS, how])
            .arg(&path)
            .arg(message)
            .output()
            .unwrap();
        assert!(asked.status.success(), "{asked:?}");
        let reply: Value = serde_json::from_slice(&asked.stdout).unwrap();
        reply["error"]["message"].as_str().map(str::to_string)
    };
    let answer = |how: &str| {
        ask(
            how,
            "approvals/answer",
            json!({"id": "none", "reply": {"decision": "approve"}}),
        )
    };
    let retire = |how: &str| ask(how, "host/retire", json!({}));
    for how in ["held", "gone"] {
        let refused = answer(how).unwrap_or_default();
        assert!(
            refused.contains("the program that answers is held"),
            "{how}: {refused}"
        );
        let refused = retire(how).unwrap_or_default();
        assert!(
            refused.contains("the program that asks is held"),
            "{how}: {refused}"
        );
    }
    assert_eq!(host.try_wait().unwrap(), None);
    let unknown = answer("free").unwrap_or_default();
    assert!(unknown.contains("`id`"), "{unknown}");
    assert_eq!(retire("free"), None);
    assert_eq!(host.wait().unwrap().code(), Some(0));
}
