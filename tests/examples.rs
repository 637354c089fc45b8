//! Every example of a handler kind does what it says: its session is replayed, and each verdict has
//! what `expected.jsonl` lists.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/models.rs"]
mod models;
mod support;

use models::ModelServer;
use serde_json::Value;
use std::path::Path;
use support::*;

/// Whether a value has everything that is expected of it: members of objects, at any depth.
fn has(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Object(value), Value::Object(expected)) => {
            expected.iter().all(|(key, expected)| has(value.get(key).unwrap_or(&Value::Null), expected))
        }
        (Value::Array(value), Value::Array(expected)) => {
            value.len() == expected.len() && value.iter().zip(expected).all(|(value, expected)| has(value, expected))
        }
        _ => value == expected,
    }
}

/// Replays an example's session and holds the verdicts to what it expects. A model says what
/// `replies.jsonl` holds.
fn replay(kind: &str) {
    let dir = tempfile::tempdir().unwrap();
    let example = dir.path().join(kind);
    copy(&repo("examples/handlers").join(kind), &example);
    let mut command = hookwire();
    command.args(["replay", "--format", "json", "--isolated", "--hooks"]).arg(&example);
    command.arg("--root").arg(&example).arg(example.join("session.jsonl"));
    let replies = example.join("replies.jsonl");
    let model = replies.exists().then(|| ModelServer::replaying(&replies));
    if let Some(model) = &model {
        model.serve_for(&mut command);
    }
    // Hooks find the built binary.
    let bin = Path::new(env!("CARGO_BIN_EXE_hookwire")).parent().unwrap().display();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let output = command.env("PATH", path).current_dir(&example).output().unwrap();
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{kind}: {problems}");
    let lines = |text: &str| -> Vec<Value> { text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    let replayed = lines(&String::from_utf8_lossy(&output.stdout));
    let expected = lines(&std::fs::read_to_string(example.join("expected.jsonl")).unwrap());
    assert!(!expected.is_empty() && replayed.len() == expected.len(), "{kind}: {} events", replayed.len());
    for (replayed, expected) in replayed.iter().zip(&expected) {
        let verdict = &replayed["verdict"];
        assert!(
            has(verdict, expected),
            "{kind}, line {}: {expected} is not in {verdict}\n{problems}",
            replayed["line"]
        );
    }
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
    let examples = std::fs::read_dir(repo("examples/handlers")).unwrap();
    let kinds: Vec<_> = examples.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    kinds.iter().for_each(|kind| replay(kind));
    // Fixed verdicts, `command` and `http` are shown by the quickstart, callbacks by the agents.
    for kind in ["agent", "callable", "guard", "mcp", "prompt", "script", "state"] {
        assert!(kinds.iter().any(|it| it == kind), "no example of {kind}");
    }
}
