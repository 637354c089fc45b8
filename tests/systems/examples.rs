//! Every example does what it says: its session is replayed and held to what `expected.jsonl`
//! lists. Of a handler's, each verdict has what is listed; of another system's, each reply is what
//! is listed.

use crate::support::models::ModelServer;
use crate::support::*;
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Whether a value has everything that is expected of it: members of objects, at any depth.
fn has(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Object(value), Value::Object(expected)) => expected
            .iter()
            .all(|(key, expected)| has(value.get(key).unwrap_or(&Value::Null), expected)),
        (Value::Array(value), Value::Array(expected)) => {
            value.len() == expected.len()
                && value
                    .iter()
                    .zip(expected)
                    .all(|(value, expected)| has(value, expected))
        }
        _ => value == expected,
    }
}

/// Whether a reply is what is expected: `<time>` and `<ms>` stand for times, which no two runs
/// share.
fn is(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Object(value), Value::Object(expected)) => {
            value.len() == expected.len()
                && expected
                    .iter()
                    .all(|(key, expected)| value.get(key).is_some_and(|value| is(value, expected)))
        }
        (Value::Array(value), Value::Array(expected)) => {
            value.len() == expected.len()
                && value
                    .iter()
                    .zip(expected)
                    .all(|(value, expected)| is(value, expected))
        }
        (Value::String(value), Value::String(expected)) if expected == "<time>" => {
            value.len() == 24 && value.ends_with('Z') && value.as_bytes()[10] == b'T'
        }
        (Value::Number(value), Value::String(expected)) if expected == "<ms>" => value.is_u64(),
        _ => value == expected,
    }
}

/// Replays an example's session in a dialect, or has its own agent do it: what came of each event,
/// and what is expected of it. A model says what `replies.jsonl` holds.
fn replay(name: &str, dialect: &str) -> Vec<(Value, Value)> {
    let dir = tempfile::tempdir().unwrap();
    let example = dir.path().join("example");
    copy(&repo("examples").join(name), &example);
    // A file of this test's own: another user's may be at the place that the example names.
    let audit = example.join("audit.toml");
    if let Ok(text) = std::fs::read_to_string(&audit) {
        std::fs::write(
            &audit,
            text.replace("/tmp/", &format!("{}/", dir.path().display())),
        )
        .unwrap();
    }
    let (session, agent) = (example.join("session.jsonl"), example.join("agent.py"));
    let mut command = hookwire();
    if agent.exists() {
        command = Command::new("python3");
        command
            .arg(agent)
            .stdin(File::open(session).unwrap())
            .env("HOOKWIRE", env!("CARGO_BIN_EXE_hookwire-host"));
    } else {
        command
            .args([
                "history",
                "replay",
                "--format",
                "json",
                "--dialect",
                dialect,
                "--isolated",
                "--hooks",
            ])
            .arg(&example);
        command.arg("--root").arg(&example).arg(session);
    }
    let replies = example.join("replies.jsonl");
    let model = replies.exists().then(|| ModelServer::replaying(&replies));
    if let Some(model) = &model {
        model.serve_for(&mut command);
    }
    // Hooks find the built binary.
    let bin = Path::new(env!("CARGO_BIN_EXE_hookwire-host"))
        .parent()
        .unwrap()
        .display();
    let path = format!("{bin}:{}", *PATH);
    let output = command
        .env("PATH", path)
        .current_dir(&example)
        .output()
        .unwrap();
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {problems}");
    let lines = |text: &str| -> Vec<Value> {
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let replayed = lines(&String::from_utf8_lossy(&output.stdout));
    let expected = lines(&std::fs::read_to_string(example.join("expected.jsonl")).unwrap());
    assert!(
        !expected.is_empty() && replayed.len() == expected.len(),
        "{name}: {} events\n{problems}",
        replayed.len()
    );
    replayed.into_iter().zip(expected).collect()
}

/// The names of the directories in one of the examples.
fn directories(of: &str) -> Vec<String> {
    let entries = std::fs::read_dir(repo("examples").join(of))
        .unwrap()
        .map(Result::unwrap);
    let directories = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> = directories
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn each_does_what_it_says() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let kinds = directories("handlers");
    for kind in &kinds {
        for (n, (replayed, expected)) in replay(&format!("handlers/{kind}"), "native")
            .iter()
            .enumerate()
        {
            let verdict = replayed.get("verdict").unwrap_or(replayed);
            assert!(
                has(verdict, expected),
                "{kind}, line {}: {expected} is not in {verdict}",
                n + 1
            );
        }
    }
    for (replayed, expected) in replay("rollout", "native") {
        assert!(
            has(&replayed["verdict"], &expected),
            "rollout: {expected} is not in {replayed}"
        );
    }
    for kind in handler_kinds() {
        let kind = if ["allow", "deny", "ask"].contains(&&*kind) {
            "verdict"
        } else {
            &*kind
        };
        assert!(kinds.iter().any(|it| it == kind), "no example of {kind}");
    }
}

/// One directory a system, in it one a case of its documentation.
#[test]
fn each_system_answers_as_it_does_itself() {
    if !is_there("python3") {
        return;
    }
    let schema = schema("definitions");
    let systems = schema["$defs"]["Hook"]["properties"]["dialect"]["enum"]
        .as_array()
        .unwrap();
    let systems = systems.iter().map(|system| system.as_str().unwrap());
    // Coding agents are held to sessions of theirs.
    let is_agent =
        |name: &str| name == "claude-code" || repo("tests/data/agents").join(name).is_dir();
    for system in systems.filter(|name| *name != "native" && !is_agent(name)) {
        let cases = directories(&format!("systems/{system}"));
        assert!(!cases.is_empty(), "no example of {system}");
        for case in cases {
            for (n, (replayed, expected)) in replay(&format!("systems/{system}/{case}"), system)
                .iter()
                .enumerate()
            {
                let reply = replayed.get("reply").unwrap_or(replayed);
                let line = n + 1;
                assert!(
                    is(reply, expected),
                    "{system}/{case}, line {line}: expected {expected}\n{replayed}"
                );
            }
        }
    }
}
