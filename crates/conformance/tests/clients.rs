//! Our Python client passes the conversations, and planted faults don't.

#[path = "../../../tests/support/skipped.rs"]
mod skipped;

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What a run says of each case, and whether all passed.
fn rows(options: &[&str], command: &[&str]) -> (Vec<Value>, bool) {
    let mut run = Command::new(env!("CARGO_BIN_EXE_hookwire-conformance"));
    run.args(["--format", "json", "--client"])
        .args(options)
        .arg("--")
        .args(command);
    let output = run
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    (rows, output.status.code() == Some(0))
}

fn failed(rows: &[Value]) -> Vec<String> {
    let failed = rows.iter().filter(|row| row["outcome"] == "failed");
    failed
        .map(|row| {
            format!(
                "{} {}",
                row["name"].as_str().unwrap(),
                row["why"].as_str().unwrap()
            )
        })
        .collect()
}

/// The Python that the client needs, if it is here: the program itself, because what chooses one
/// may take longer than it.
fn python() -> Option<String> {
    const ITSELF: &str = "import sys; print(sys.executable); sys.exit(sys.version_info < (3, 10))";
    let found = [
        "python3",
        "python3.14",
        "python3.13",
        "python3.12",
        "python3.11",
        "python3.10",
    ]
    .into_iter()
    .find_map(|python| {
        let said = Command::new(python)
            .args(["-c", ITSELF])
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(String::from_utf8(said.stdout).ok()?.trim_end().to_string())
    });
    if found.is_none() {
        skipped::skip("the Python client needs Python 3.10 or later");
    }
    found
}

/// Does something with each of these, several at a time: a client mostly waits.
fn each<T: Sync>(all: &[T], one: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                std::iter::from_fn(|| all.get(next.fetch_add(1, Relaxed))).for_each(&one)
            });
        }
    });
}

const CLIENT: &str = "clients/python/tests/conformance.py";

#[test]
fn the_python_client_passes() {
    let Some(python) = python() else { return };
    let (listed, is_fine) = rows(&["--list"], &[]);
    assert!(is_fine && listed.len() > 40, "{listed:?}");
    let (names, wrong): (Vec<_>, _) = (
        listed
            .iter()
            .map(|row| row["name"].as_str().unwrap())
            .collect(),
        Mutex::<Vec<String>>::default(),
    );
    each(&names, |name| {
        let (rows, is_fine) = rows(&["--case", name], &[&python, CLIENT]);
        if !is_fine || rows.len() != 1 {
            wrong
                .lock()
                .unwrap()
                .push(format!("{name}: {}", failed(&rows).join("\n")));
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each row is a fault in what a client does or sends, and a case that notices it.
#[test]
fn a_wrong_client_fails() {
    let Some(python) = python() else { return };
    let faults = [
        (r#"s/"deny"/"run"/"#, "", "verdicts/deny"),
        (r#"s/"stop"/"deny"/"#, "", "verdicts/stop"),
        (r#"s/ -l//"#, "", "verdicts/rewrite"),
        ("p", "", "verdicts/allow"),
        ("", r#"s/"session":/"sesion":/"#, "messages/event"),
        ("", r#"s/-32601/-32000/"#, "messages/unknown-request"),
        ("", r#"/cancelRequest/d"#, "messages/cancel"),
        ("", r#"s/"jsonrpc":"2.0",//"#, "verdicts/allow"),
    ];
    each(&faults, |(does, sends, case)| {
        let dir = tempfile::tempdir().unwrap();
        let between = dir.path().join("hookwire");
        std::fs::write(
            &between,
            format!("#!/bin/sh\nsed -u '{sends}' | \"$STAND_IN\" \"$@\"\n"),
        )
        .unwrap();
        std::fs::set_permissions(
            &between,
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        let between = between.display();
        let pipe =
            format!("STAND_IN=$HOOKWIRE HOOKWIRE={between} {python} {CLIENT} | sed -u '{does}'");
        let (rows, is_fine) = rows(&["--timeout", "2s", "--case", case], &["sh", "-c", &pipe]);
        assert!(
            !is_fine && failed(&rows).len() == 1,
            "{does} {sends}: {rows:?}"
        );
    });
}
