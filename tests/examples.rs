//! Every example of a handler kind does what it says: its session is replayed, and each verdict has
//! what `expected.jsonl` lists.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/models.rs"]
mod models;
mod support;

use models::ModelServer;
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::Command;
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

/// Replays an example's session, or has its own agent do it, and holds the verdicts to what it
/// expects. A model says what `replies.jsonl` holds.
fn replay(kind: &str) {
    let dir = tempfile::tempdir().unwrap();
    let example = dir.path().join(kind);
    copy(&repo("examples/handlers").join(kind), &example);
    let (session, agent) = (example.join("session.jsonl"), example.join("agent.py"));
    let mut command = hookwire();
    if agent.exists() {
        command = Command::new("python3");
        command.arg(agent).stdin(File::open(session).unwrap()).env("HOOKWIRE", env!("CARGO_BIN_EXE_hookwire"));
    } else {
        command.args(["replay", "--format", "json", "--isolated", "--hooks"]).arg(&example);
        command.arg("--root").arg(&example).arg(session);
    }
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
    assert!(!expected.is_empty() && replayed.len() == expected.len(), "{kind}: {} events\n{problems}", replayed.len());
    for (n, (replayed, expected)) in replayed.iter().zip(&expected).enumerate() {
        let verdict = replayed.get("verdict").unwrap_or(replayed);
        assert!(has(verdict, expected), "{kind}, line {}: {expected} is not in {verdict}\n{problems}", n + 1);
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
    if !is_there("python3") {
        return;
    }
    if !is_there("node") {
        return;
    }
    let examples = std::fs::read_dir(repo("examples/handlers")).unwrap();
    let kinds: Vec<_> = examples.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    kinds.iter().for_each(|kind| replay(kind));
    for kind in hookwire::handlers::KINDS.iter().map(|kind| kind.key) {
        let kind = if ["allow", "deny", "ask"].contains(&kind) { "verdict" } else { kind };
        assert!(kinds.iter().any(|it| it == kind), "no example of {kind}");
    }
}
