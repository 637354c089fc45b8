//! What holds however many hooks run at once.

use crate::support::{TestHost, hooks, is_full};
use serde_json::{Value, json};

/// Hooks for the tools `Command` and `Script`.
fn definitions(command: &str) -> String {
    format!(
        "hooks:\n  - {{ name: command, on: PreToolUse, matcher: Command, fail: closed, command: '{command}' }}\n  \
           - {{ name: script, on: PreToolUse, matcher: Script, fail: closed, script: \"return deny('at once')\" }}\n"
    )
}

fn call(tool: &str, deadline: u64) -> Value {
    json!({"event": "PreToolUse", "deadlineMs": deadline, "tool": {"name": tool, "input": {}}})
}

/// Sends so many calls that run the command.
fn crowd(host: &mut TestHost, n: usize, deadline: u64) -> Vec<u64> {
    (0..n)
        .map(|_| host.ask("hooks/dispatch", call("Command", deadline)))
        .collect()
}

/// Calls of `Script`, one after the other.
fn scripts(host: &mut TestHost, n: usize) {
    for _ in 0..n {
        assert_eq!(host.dispatch(call("Script", 60_000))["reason"], "at once");
    }
}

#[test]
fn scripts_dont_wait_for_commands_that_compute() {
    let n = if is_full() { 100 } else { 30 };
    let log = tempfile::NamedTempFile::new().unwrap();
    let computes = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done";
    let path = log.path().display();
    let (mut host, _dir) =
        TestHost::with(&definitions(&format!("{computes}; echo ended >> {path}")));
    let ids = crowd(&mut host, n, 110_000);
    scripts(&mut host, 50);
    let n_ended = std::fs::read_to_string(log.path()).unwrap().lines().count();
    assert!(n_ended < n / 2, "scripts waited for {n_ended} commands");
    for id in ids {
        assert_eq!(host.reply(id)["result"]["decision"], "allow");
    }
}

#[test]
fn a_crowd_of_commands_keeps_no_event_from_its_answer() {
    let (deadline, one_in) = if is_full() { (6_000, 1) } else { (3_000, 4) };
    // Computes without an end, waits without an end; the latter ones have all places.
    for (command, n) in [("while :; do :; done", 200), ("read line < fifo", 400)] {
        let dir = hooks(&[("hooks.yaml", &definitions(command))]);
        let made = std::process::Command::new("mkfifo")
            .arg(dir.path().join("fifo"))
            .status()
            .unwrap();
        assert!(made.success());
        let mut host = TestHost::start(crate::support::serve(dir.path()).current_dir(dir.path()));
        let ids = crowd(&mut host, n / one_in, deadline);
        scripts(&mut host, 50);
        for id in ids {
            let verdict = host.reply(id)["result"].take();
            assert_eq!(verdict["decision"], "deny", "{command}: {verdict}");
            let took = verdict["outcomes"][0]["durationMicros"].as_u64().unwrap() / 1000;
            // On a quiet machine none is late. Other work beside it may delay one, but not by what
            // the crowd computes: that took five times as long.
            assert!(took < 2 * deadline, "{command}: {took} ms");
        }
    }
}
