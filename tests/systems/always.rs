//! `hookwire approvals approve --always`: the exception is shown, then it is written into the file
//! of the hook that asks, and is in force.

use super::installed::Project;
use super::support::{PATIENCE, eventually};
use hookwire::history::{History, Written};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::SystemTime;

/// A host that waits for a person at another terminal, and what it has said.
struct Asking {
    host: Child,
    said: Receiver<String>,
}

impl Asking {
    /// A call that the host asks about; the question is there.
    fn new(project: &Project, call: &Value) -> Asking {
        let mut host = project
            .command(&["serve", "--ask-elsewhere", "5m"])
            .spawn()
            .unwrap();
        let mut params = json!({ "event": "PreToolUse", "session": "s", "cwd": project.root() });
        params["tool"] = call.clone();
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "hooks/dispatch", "params": params });
        let stdin = host.stdin.as_mut().unwrap();
        stdin.write_all(format!("{request}\n").as_bytes()).unwrap();
        let (says, said) = channel();
        let lines = BufReader::new(host.stdout.take().unwrap()).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|it| says.send(it)));
        let asking = Asking { host, said };
        eventually("a question waits", || {
            if let Ok(reply) = asking.said.try_recv() {
                panic!("nobody was asked: {reply}");
            }
            let listed = project.run(&["approvals", "list", "--format", "json"], "");
            let text = String::from_utf8(listed.stdout).unwrap();
            let mut lists = text
                .lines()
                .filter_map(|it| serde_json::from_str::<Value>(it).ok());
            lists
                .any(|list| list["approvals"][0]["id"].is_string())
                .then_some(())
        });
        asking
    }

    /// What the agent got.
    fn reply(&self) -> String {
        self.said.recv_timeout(PATIENCE).unwrap()
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let _ = self.host.kill();
        let _ = self.host.wait();
    }
}

fn approve(project: &Project, args: &[&str]) -> (Option<i32>, String) {
    let output = project.run(&[&["approvals", "approve", "--always"], args].concat(), "");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

fn bash(command: &str) -> Value {
    json!({ "name": "Bash", "input": { "command": command } })
}

/// The decision of the project's hooks on a command.
fn decision(project: &Project, command: &str) -> String {
    let output = project.run(&["explain", "--run", "--bash", command], "");
    let said = String::from_utf8(output.stdout).unwrap();
    said.split_whitespace()
        .next()
        .unwrap_or_default()
        .to_string()
}

/// Files of a project, or of the user's, with calls: what `unless` gets, or why there is none.
#[test]
fn the_exception_is_as_narrow_as_the_call() {
    let careful = "# guards\nhooks:\n  - { name: careful, on: PreToolUse, if: [Bash(git push *), Bash(npm publish *)], ask: Sure? }  # keep\n";
    let lines = "hooks:\n  - name: first\n    on: Stop\n    deny: no\n  - name: careful\n    on: PreToolUse\n    if: Write(/etc/**)\n    unless: Write(/etc/motd)\n    ask: Sure?\n";
    let approval = "[[hooks]]\nname = \"careful\"\non = \"PreToolUse\"\nif = \"Bash(git push *)\"\nguard = { approval = { message = \"Sure?\", wait = \"1m\" } }\n";
    let payments =
        "hooks:\n  - { name: careful, on: PreToolUse, if: mcp__pay__send, ask: Sure? }\n";
    for (file, text, call, expected) in [
        (
            "project/.hookwire/a.yaml",
            careful,
            bash("git push origin topic"),
            "unless: Bash(git push origin topic)",
        ),
        (
            "project/.hookwire/a.yaml",
            careful,
            bash("git push origin topic && npm publish --tag next"),
            "unless: [\"Bash(git push origin topic)\", \"Bash(npm publish --tag next)\"]",
        ),
        (
            "project/.hookwire/a.yaml",
            lines,
            json!({ "name": "Write", "input": { "file_path": "/etc/hosts", "content": "x" } }),
            "unless: [\"Write(/etc/motd)\", \"Write(/etc/hosts)\"]",
        ),
        (
            "home/.config/hookwire/a.toml",
            approval,
            bash("git push"),
            "unless = \"Bash(git push)\"",
        ),
        (
            "project/.hookwire/a.yaml",
            payments,
            json!({ "name": "mcp__pay__send", "input": { "to": "bob", "amount": 3 } }),
            "no rule that is as narrow as this call",
        ),
        (
            "project/.hookwire/a.yaml",
            careful,
            bash("git push $WHERE"),
            "no rule that is as narrow as this call",
        ),
    ] {
        let project = Project::new();
        fs::remove_file(project.root().join(".hookwire/guard.yaml")).unwrap();
        let path = project.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let trusted = project.run(&["trust", "--yes"], "");
        assert!(
            file.starts_with("home") || trusted.status.success(),
            "{trusted:?}"
        );
        let asking = Asking::new(&project, &call);
        // Nobody is at a terminal: without a word, nothing is written.
        let (code, said) = approve(&project, &[]);
        let is_possible = expected.starts_with("unless");
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains(if is_possible {
                "needs `--yes`"
            } else {
                expected
            }),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        let (code, said) = approve(&project, &["--yes"]);
        if !is_possible {
            assert!(code == Some(2) && said.contains(expected), "{said}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            continue;
        }
        assert_eq!(code, Some(0), "{said}");
        let answered = asking.reply();
        assert!(answered.contains("approved by a person"), "{answered}");
        let written = fs::read_to_string(&path).unwrap();
        assert!(written.contains(expected), "{written}");
        let comments = |text: &str| text.matches('#').count();
        assert_eq!(comments(&written), comments(text), "{written}");
        // It is in force, as narrow as it was shown, and its cases hold.
        if let Some(command) = call["input"]["command"].as_str() {
            assert_eq!(decision(&project, command), "allow", "{written}");
            // A guard would wait for a person here.
            let other = format!("{command} --force");
            assert!(
                text.contains("guard") || decision(&project, &other) == "ask",
                "{written}"
            );
        }
        let listed = project.run(&["trust", "list"], "");
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert!(
            file.starts_with("home") || listed.contains("as trusted"),
            "{listed}"
        );
        let tested = project.run(&["test", path.parent().unwrap().to_str().unwrap()], "");
        assert!(tested.status.success(), "{tested:?} {written}");
    }
}

/// What was recorded says what the exception would have changed.
#[test]
fn the_record_says_what_would_have_passed() {
    let project = Project::new();
    let hook = "hooks:\n  - { name: careful, on: PreToolUse, if: Bash(git push *), ask: Sure? }\n";
    fs::write(project.root().join(".hookwire/guard.yaml"), hook).unwrap();
    project.run(&["trust", "--yes"], "");
    let dir = project.0.path().join("home/.local/share/hookwire/history");
    fs::create_dir_all(&dir).unwrap();
    let millis = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    let records: Vec<Value> = ["git push origin topic", "git push origin main", "ls", "cd x && git push origin topic"]
        .iter()
        .enumerate()
        .map(|(n, command)| {
            let event = json!({ "event": "PreToolUse", "cwd": project.root(), "tool": bash(command) });
            json!({
                "seq": n + 1, "at": millis as u64, "event": "PreToolUse", "tool": "Bash", "dialect": "native",
                "params": event, "verdict": { "decision": "ask", "outcomes": [] },
            })
        })
        .collect();
    let root = project.root();
    let root = Path::new(&root).display().to_string();
    let history = History::open(&dir).unwrap();
    let written = records.iter().map(|record| Written {
        run: "1@x",
        root: &root,
        record,
    });
    assert_eq!(history.write_events(written).unwrap(), records.len());
    let _asking = Asking::new(&project, &bash("git push origin topic"));
    let (_, said) = approve(&project, &[]);
    assert!(
        said.contains(
            "2 calls that it asks about would have passed, and 1 would be asked about still"
        ),
        "{said}"
    );
    assert!(said.contains("  cd x && git push origin topic"), "{said}");
}
