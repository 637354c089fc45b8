//! A guard that denies its own case no more is told at once, wherever people look.

use crate::support::*;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const CASES: &str = "cases:
  - { bash: rm -r build, expect: deny }
  - { bash: git status, expect: allow }
  - { bash: ls, before: [{ bash: ls }], expect: deny }
  - { bash: make, expect: deny }
";

/// A rule, and a command that alone could deny the last case: it would leave a file behind.
fn guard(rule: &str) -> String {
    format!(
        "hooks:
  - {{ name: rm, on: PreToolUse, if: '{rule}', deny: Not here. }}
  - {{ name: make, on: PreToolUse, if: Bash(make *), fail: closed, command: [touch, ran] }}
  - {{ name: log, on: '*', async: true, command: [touch, ran] }}
"
    )
}

/// What a host says of itself.
fn canaries(host: &mut TestHost) -> Value {
    let mut recent = host.request("hooks/recent", json!({ "limit": 0 }));
    assert_eq!(recent["total"], 0, "a trial is no event");
    recent["canaries"].take()
}

/// The cases that the next notice names.
fn told(host: &mut TestHost) -> Value {
    let mut notice = host.receive_where(|message| {
        message["method"] == "hooks/changed"
            && message["params"]["added"] == json!([])
            && message["params"]["changed"] == json!([])
    });
    notice["params"]["notDenied"].take()
}

#[test]
fn a_guard_that_no_longer_denies_is_told() {
    let (root, runtime) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let hooks = root.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    let (file, cases) = (hooks.join("guard.yaml"), hooks.join("guard.test.yaml"));
    fs::write(&file, guard("Bash(rm -r *)")).unwrap();
    fs::write(&cases, CASES).unwrap();
    let mut command = serve(&hooks);
    command
        .arg("--root")
        .arg(root.path())
        .env("XDG_RUNTIME_DIR", runtime.path());
    let mut host = TestHost::start(&mut command);
    let wanted = json!({ "hooks": { "notifications": ["hooks/changed"] } });
    host.request("initialize", json!({ "capabilities": wanted }));
    host.may_leave_unread = true;
    let cli = |arguments: &[&str]| {
        let mut command = hookwire();
        command
            .current_dir(root.path())
            .args(arguments)
            .env("XDG_RUNTIME_DIR", runtime.path());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let place = |line: usize| format!("{}:{line}", cases.display());

    let fine = json!({ "denied": 1, "notTried": 2, "notDenied": 0 });
    eventually("the cases were tried", || {
        Some(canaries(&mut host)).filter(|found| *found == fine)
    });

    // The rule is changed so that its case passes.
    replace(&file, &guard("Bash(rmdir *)"));
    let file_of_cases = cases.display().to_string();
    let failed = json!([
        { "file": file_of_cases, "line": 2, "name": "rm -r build", "decision": "allow" },
    ]);
    assert_eq!(told(&mut host), failed);
    assert_eq!(
        canaries(&mut host),
        json!({ "denied": 0, "notTried": 2, "notDenied": 1, "failed": failed })
    );
    let checked = host.request("hooks/check", json!({}));
    let diagnostics = checked["diagnostics"].as_array().unwrap();
    let found = diagnostics.iter().find(|it| it["code"] == "not-denied");
    let found = found.unwrap_or_else(|| panic!("{checked}"));
    assert_eq!(
        (&found["file"], &found["range"]["start"]),
        (&json!(file_of_cases), &json!({ "line": 2, "column": 3 }))
    );
    let line = format!("{}: `rm -r build` is to be denied, and isn't", place(2));
    let status = cli(&["host", "status"]);
    assert!(status.contains(&format!("not denied: {line}")), "{status}");
    let tail = cli(&["tail", "--no-follow"]);
    assert!(tail.contains(&line), "{tail}");

    // It is mended.
    replace(&file, &guard("Bash(rm -r *)"));
    assert_eq!(told(&mut host), Value::Null);
    assert_eq!(canaries(&mut host), fine);

    // The cases alone are changed.
    replace(
        &cases,
        &CASES.replace("git status, expect: allow", "git status, expect: deny"),
    );
    assert_eq!(told(&mut host)[0]["name"], "git status");
    replace(&cases, CASES);
    assert_eq!(told(&mut host), Value::Null);
    assert!(
        !Path::new(&root.path().join("ran")).exists(),
        "a trial has effects"
    );
}
