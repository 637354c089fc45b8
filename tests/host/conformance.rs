//! `hookwire conformance`: our host and our Python client pass, planted faults don't, and what an earlier host said
//! still holds.

use crate::support::*;
use serde_json::Value;
use std::process::Command;

/// What a run says of each case, and whether all passed.
fn rows(options: &[&str], command: &[&str]) -> (Vec<Value>, bool) {
    let mut run = hookwire();
    run.args(["--format", "json", "conformance"]).args(options).arg("--").args(command);
    let output = run.current_dir(repo("")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (rows, output.status.code() == Some(0))
}

fn failed(rows: &[Value]) -> Vec<String> {
    let failed = rows.iter().filter(|row| row["outcome"] == "failed");
    failed.map(|row| format!("{} {}", row["name"].as_str().unwrap(), row["why"].as_str().unwrap())).collect()
}

fn host() -> Vec<&'static str> {
    vec![env!("CARGO_BIN_EXE_hookwire"), "--log", "off", "serve", "--isolated", "--no-share", "--hooks", "{hooks}"]
}

#[test]
fn the_host_passes() {
    let (rows, is_fine) = rows(&[], &host());
    assert!(is_fine, "{}", failed(&rows).join("\n"));
    // What isn't built in can't be tried.
    let skipped: Vec<_> = rows.iter().filter(|row| row["outcome"] == "skipped").collect();
    assert!(skipped.is_empty() || !cfg!(feature = "models"), "{skipped:?}");
}

/// Members and words that a client may rely on: `schema/conformance` may change, this may not.
#[test]
fn what_an_earlier_host_said_still_holds() {
    let (rows, is_fine) = rows(&["--cases", "tests/data/conversations"], &host());
    assert!(is_fine && rows.len() > 80, "{}", failed(&rows).join("\n"));
}

/// Each row is a fault in what a host sends, as a rule for sed, and a case that notices it.
#[test]
fn a_wrong_host_fails() {
    for (fault, case) in [
        (r#"s/"decision":"deny"/"decision":"allow"/"#, "verdicts/deny"),
        (r#"s/"jsonrpc":"2.0",//"#, "messages/initialize"),
        (r#"s/"id":2/"id":3/"#, "verdicts/deny"),
        (r#"s/"subject":/"subjects":/"#, "rewrites/subject"),
        (r#"s/"decision":"allow"/"decision":"allow","subject":null/"#, "rewrites/unchanged"),
        (r#"s/"durationMicros":/"micros":/"#, "verdicts/allow"),
        (r#"s/-32602/-32000/"#, "messages/no-event"),
        (r#"/cancelRequest/d"#, "messages/cancel"),
        (r#"1i {"jsonrpc":"2.0","method":"hooks/changed","params":{}}"#, "messages/initialize"),
        (r#"s/^/ready: /"#, "messages/initialize"),
        (r#"d"#, "messages/initialize"),
    ] {
        let pipe = format!("{} | sed -u '{fault}'", host()[..6].join(" "));
        let (rows, is_fine) = rows(&["--time-limit", "2s", "--case", case], &["sh", "-c", &pipe]);
        assert!(!is_fine && failed(&rows).len() == 1, "{fault}: {rows:?}");
    }
    let (rows, is_fine) = rows(&["--case", "messages/initialize"], &["/no/such/host"]);
    assert!(!is_fine && failed(&rows)[0].contains("failed to start"), "{rows:?}");
}

/// The Python that the client needs, if it is here.
fn python() -> Option<String> {
    let is_new = |python: &&str| {
        let version = Command::new(python).args(["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).output();
        version.is_ok_and(|it| it.status.success())
    };
    let found = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"]
        .into_iter()
        .find(|it| is_new(it));
    if found.is_none() {
        println!("SKIPPED: the Python client needs Python 3.10 or later");
    }
    found.map(str::to_string)
}

const CLIENT: &str = "clients/python/tests/conformance.py";

#[test]
fn the_python_client_passes() {
    let Some(python) = python() else { return };
    let (rows, is_fine) = rows(&["--client"], &[&python, CLIENT]);
    assert!(is_fine && rows.len() > 40, "{}", failed(&rows).join("\n"));
}

/// Each row is a fault in what a client does or sends, and a case that notices it.
#[test]
fn a_wrong_client_fails() {
    let Some(python) = python() else { return };
    for (does, sends, case) in [
        (r#"s/"deny"/"run"/"#, "", "verdicts/deny"),
        (r#"s/"stop"/"deny"/"#, "", "verdicts/stop"),
        (r#"s/ -l//"#, "", "verdicts/rewrite"),
        ("p", "", "verdicts/allow"),
        ("", r#"s/"session":/"sesion":/"#, "messages/event"),
        ("", r#"s/-32601/-32000/"#, "messages/unknown-request"),
        ("", r#"/cancelRequest/d"#, "messages/cancel"),
        ("", r#"s/"jsonrpc":"2.0",//"#, "verdicts/allow"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let between = dir.path().join("hookwire");
        std::fs::write(&between, format!("#!/bin/sh\nsed -u '{sends}' | \"$STAND_IN\" \"$@\"\n")).unwrap();
        std::fs::set_permissions(&between, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let between = between.display();
        let pipe = format!("STAND_IN=$HOOKWIRE HOOKWIRE={between} {python} {CLIENT} | sed -u '{does}'");
        let (rows, is_fine) = rows(&["--client", "--time-limit", "2s", "--case", case], &["sh", "-c", &pipe]);
        assert!(!is_fine && failed(&rows).len() == 1, "{does} {sends}: {rows:?}");
    }
}
