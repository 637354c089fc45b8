//! The conversations of `hookwire-conformance`: our host passes, planted faults don't, and what an
//! earlier host said still holds.

use serde_json::Value;
use std::ffi::OsString;

/// What a run says of each case, and whether all passed.
fn rows(options: &[&str], command: &[&str]) -> (Vec<Value>, bool) {
    let words = [
        &["hookwire-conformance", "--format", "json"],
        options,
        &["--"],
        command,
    ]
    .concat();
    let mut said = Vec::new();
    let is_fine =
        hookwire_conformance::run(words.into_iter().map(OsString::from), &mut said).unwrap();
    let text = String::from_utf8(said).unwrap();
    let rows = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    (rows, is_fine)
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

fn host() -> Vec<&'static str> {
    vec![
        env!("CARGO_BIN_EXE_hookwire-host"),
        "--log",
        "off",
        "serve",
        "--isolated",
        "--no-share",
        "--hooks",
        "{hooks}",
    ]
}

#[test]
fn the_host_passes() {
    let (rows, is_fine) = rows(&[], &host());
    assert!(is_fine, "{}", failed(&rows).join("\n"));
    // What isn't built in can't be tried.
    let skipped: Vec<_> = rows
        .iter()
        .filter(|row| row["outcome"] == "skipped")
        .collect();
    assert!(
        skipped.is_empty() || !cfg!(feature = "models"),
        "{skipped:?}"
    );
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
    let faults = [
        (
            r#"s/"decision":"deny"/"decision":"allow"/"#,
            "verdicts/deny",
        ),
        (r#"s/"jsonrpc":"2.0",//"#, "messages/initialize"),
        (r#"s/"id":2/"id":3/"#, "verdicts/deny"),
        (r#"s/"subject":/"subjects":/"#, "rewrites/subject"),
        (
            r#"s/"decision":"allow"/"decision":"allow","subject":null/"#,
            "rewrites/unchanged",
        ),
        (r#"s/"durationMicros":/"micros":/"#, "verdicts/allow"),
        (r#"s/-32602/-32000/"#, "messages/no-event"),
        (r#"/cancelRequest/d"#, "messages/cancel"),
        (
            r#"1i {"jsonrpc":"2.0","method":"hooks/changed","params":{}}"#,
            "messages/initialize",
        ),
        (r#"s/^/ready: /"#, "messages/initialize"),
        (r#"d"#, "messages/initialize"),
    ];
    // At once, because most of them are noticed by what doesn't come.
    std::thread::scope(|scope| {
        for (fault, case) in faults {
            scope.spawn(move || {
                let pipe = format!("{} | sed -u '{fault}'", host()[..6].join(" "));
                let (rows, is_fine) =
                    rows(&["--timeout", "2s", "--case", case], &["sh", "-c", &pipe]);
                assert!(!is_fine && failed(&rows).len() == 1, "{fault}: {rows:?}");
            });
        }
    });
    let (rows, is_fine) = rows(&["--case", "messages/initialize"], &["/no/such/host"]);
    assert!(
        !is_fine && failed(&rows)[0].contains("failed to start"),
        "{rows:?}"
    );
}
