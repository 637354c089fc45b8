//! Rules over files hold for whatever does it: a tool, a shell's command, a tool of an MCP server.

use super::support::{TestHost, definitions, hooks, hookwire, in_our_world, repo};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What stands in the project.
const FILES: &[&str] = &[
    ".env",
    "a/.env",
    "prot/g",
    ".env.example",
    "f",
    "secrets/k",
    "Makefile",
    "src/x.py",
    "src/a.pyc",
    ".claude/settings.json",
    // Names that a shell would expand, if they stood in a text.
    "app/[id]/.env",
    "app/[id]/[x]",
    "routes/$lang/.env",
    "odd/a$/.env",
    "odd/st*r/.env",
    "odd/qu?/.env",
    "odd/back`t/.env",
    "odd/back\\s/.env",
    "odd/$(x)/.env",
    "odd/${x}/.env",
];

/// What stands there besides, and says something.
const TEXTS: &[(&str, &str)] = &[
    ("reads.sh", "#!/bin/sh\nfor f in .e*; do cat \"$f\"; done\n"),
    ("other.sh", "echo .env is not read here >&2; cat f\n"),
    ("src/reads.py", "print(open('a/.env').read())\n"),
    (
        "changes.diff",
        "--- prot/g\n+++ prot/g\n@@ -1 +1 @@\n-a\n+b\n",
    ),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// Each one is the rule of a fixed deny.
    rules: Vec<String>,
    tool: String,
    command: Option<String>,
    input: Option<Value>,
    /// Where it runs in the project.
    cwd: Option<String>,
    shell: Option<String>,
    expect: String,
}

fn project() -> tempfile::TempDir {
    let files = FILES
        .iter()
        .map(|file| {
            (
                *file, "TOKEN=1
",
            )
        })
        .chain(TEXTS.iter().copied());
    let project = hooks(&files.collect::<Vec<_>>());
    let git = in_our_world(std::process::Command::new("git"))
        .args(["init", "-q"])
        .current_dir(project.path())
        .status();
    assert!(git.unwrap().success());
    project
}

fn host(rules: &[String], root: &Path) -> (TestHost, tempfile::TempDir) {
    let deny = |rule: &String| json!({ "name": rule, "on": "PreToolUse", "if": rule, "deny": "Not this file." });
    let dir = hooks(&[(
        "hooks.yaml",
        &definitions(&rules.iter().map(deny).collect::<Vec<_>>()),
    )]);
    let mut command = hookwire();
    command
        .args(["serve", "--isolated", "--no-share", "--hooks"])
        .arg(dir.path())
        .arg("--root")
        .arg(root);
    // The password database knows another home and another name.
    command
        .env("HOME", root.join("home/u"))
        .env("USER", "u")
        .env("XDG_CONFIG_HOME", root.join("home/u/.config"));
    let mut host = TestHost::start(&mut command);
    host.request(
        "initialize",
        json!({ "capabilities": { "hooks": { "decisions": ["allow", "deny", "ask"] } } }),
    );
    (host, dir)
}

#[test]
fn a_rule_over_files_holds_for_whatever_does_it() {
    let text = fs::read_to_string(repo("tests/data/rules/files.jsonl")).unwrap();
    let mut by_rules: BTreeMap<Vec<String>, Vec<(usize, Row)>> = BTreeMap::new();
    for (line, text) in text.lines().enumerate() {
        let row: Row = serde_json::from_str(text)
            .unwrap_or_else(|error| panic!("files.jsonl:{}: {error}", line + 1));
        by_rules
            .entry(row.rules.clone())
            .or_default()
            .push((line + 1, row));
    }
    let project = project();
    let mut wrong = Vec::new();
    for (rules, rows) in by_rules {
        let (mut host, _dir) = host(&rules, project.path());
        for (line, row) in rows {
            let input = row
                .input
                .unwrap_or_else(|| json!({ "command": row.command }));
            let cwd = project.path().join(row.cwd.unwrap_or_default());
            let tool = json!({ "name": row.tool, "input": input });
            let mut event = json!({ "event": "PreToolUse", "cwd": cwd, "tool": tool });
            if let Some(shell) = row.shell {
                event["shell"] = shell.into();
            }
            let verdict = host.dispatch(event);
            if verdict["decision"] != *row.expect {
                wrong.push(format!(
                    "files.jsonl:{line}: {input}: {} expected: {verdict}",
                    row.expect
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
