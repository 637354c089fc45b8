//! Every answer is under a clock: neither an event nor a disk nor a host keeps an agent waiting
//! beyond the limit, and none of them makes a guard fall silent.

use super::installed::{Project, event};
use super::support::{TestHost, await_end, eventually, hookwire, is_there};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long a test waits for an answer that is due within seconds, on a machine that is busy.
const MOST: Duration = Duration::from_secs(60);

fn ask(mut command: Command, event: &Value) -> Child {
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(event.to_string().as_bytes())
        .unwrap();
    child
}

/// What is decided, and why. What doesn't end is ended.
fn decided(mut child: Child) -> (String, String) {
    let until = Instant::now() + MOST;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("no answer: {:?}", child.wait_with_output().unwrap());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    // Without a reply, this exit code is Claude Code's no, and stderr says why.
    if output.stdout.is_empty() && output.status.code() == Some(2) {
        return ("deny".into(), String::from_utf8(output.stderr).unwrap());
    }
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let said = |name: &str| {
        reply["hookSpecificOutput"][name]
            .as_str()
            .unwrap_or_default()
            .to_string()
    };
    (said("permissionDecision"), said("permissionDecisionReason"))
}

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A repository of git in which an agent's settings aren't kept.
fn repository(root: &Path) {
    let mut git = Command::new("git");
    assert!(
        git.args(["init", "-q"])
            .arg(root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status()
            .unwrap()
            .success()
    );
    fs::create_dir_all(root.join(".claude")).unwrap();
    fs::write(root.join(".claude/settings.json"), "{}").unwrap();
}

#[test]
fn a_pipe_in_the_place_of_a_file_keeps_no_rule_from_answering() {
    if !is_there("git") {
        return;
    }
    let places = [
        ".gitignore",
        ".git/info/exclude",
        ".claude/settings.json",
        ".git/index",
    ];
    for (place, project) in places
        .iter()
        .flat_map(|place| Project::each().map(move |project| (place, project)))
    {
        repository(&project.root());
        let _ = fs::remove_file(project.root().join(place));
        pipe(&project.root().join(place));
        for args in [&["--live"][..], &["--live", "--no-host"]] {
            let command = project.command(&[&["hook", "claude-code"], args].concat());
            let (decision, reason) = decided(ask(
                command,
                &event("git push --force; git clean -fd; git checkout x"),
            ));
            assert_eq!(
                (&*decision, &*reason),
                ("deny", "Force pushes are off."),
                "{place} {args:?}"
            );
        }
    }
    // Nor a connection from its next message.
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path());
    pipe(&dir.path().join(".gitignore"));
    let mut serve = hookwire();
    serve
        .args([
            "serve",
            "--isolated",
            "--no-share",
            "--self-defense",
            "--root",
        ])
        .arg(dir.path());
    let mut host = TestHost::start(&mut serve);
    host.request(
        "initialize",
        json!({ "capabilities": { "hooks": { "decisions": ["allow", "deny", "ask"] } } }),
    );
    for (command, expected) in [("git clean -fd", "ask"), ("ls", "allow")] {
        let input = json!({ "command": command });
        let tool = json!({ "name": "Bash", "input": input });
        let verdict =
            host.dispatch(json!({ "event": "PreToolUse", "cwd": dir.path(), "tool": tool }));
        assert_eq!(verdict["decision"], expected, "{command}: {verdict}");
    }
}

/// Whatever a guard does: the thread that judges isn't the one that answers.
#[test]
fn what_never_ends_is_denied_at_the_limit() {
    for (args, expected) in [(&[][..], "deny"), (&["--fail", "open"], "")] {
        let project = Project::new();
        let args = [
            &[
                "hook",
                "claude-code",
                "--live",
                "--no-host",
                "--timeout",
                "1s",
            ],
            args,
        ]
        .concat();
        let mut command = project.command(&args);
        command.env("HOOKWIRE_FAIL", "stuck=1..");
        let (decision, reason) = decided(ask(command, &event("ls")));
        assert_eq!(decision, expected, "{args:?}: {reason}");
        assert!(
            expected.is_empty() || reason.contains("no answer within 1s"),
            "{reason}"
        );
    }
}

/// The clock counts before the command line is read, of which parts are looked for on the disk, and
/// before the event is.
#[test]
fn what_keeps_the_entry_itself_is_denied_at_the_limit() {
    for (fails, fail, expected) in [
        (true, "closed", "deny"),
        (true, "open", ""),
        (false, "closed", "deny"),
        (false, "open", ""),
    ] {
        let project = Project::new();
        let mut command = project.command(&[
            "hook",
            "claude-code",
            "--live",
            "--no-host",
            "--fail",
            fail,
            "--timeout",
            "300ms",
        ]);
        command.env("HOOKWIRE_FAIL", if fails { "entry=1.." } else { "" });
        let mut child = command.spawn().unwrap();
        // An agent that doesn't say that the event is at its end.
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(event("ls").to_string().as_bytes()).unwrap();
        let (decision, reason) = decided(child);
        assert_eq!(decision, expected, "{fails} {fail}: {reason}");
        assert!(
            expected.is_empty() || reason.contains("no answer within 300ms"),
            "{reason}"
        );
        drop(stdin);
    }
}

/// A host that is asked and then stopped may have run the hooks that do more than answer: they
/// aren't run again.
#[test]
fn what_a_lost_host_may_have_run_fails() {
    for (fail, expected) in [("closed", "deny"), ("open", "allow")] {
        for project in Project::each() {
            let hooks = format!(
                "hooks:\n\
                 - {{ name: runs, on: PreToolUse, fail: {fail}, command: 'echo x >> runs; while :; do sleep 1; done' }}\n\
                 - {{ name: fixed, on: PreToolUse, if: Bash(ls *), allow: fine }}\n"
            );
            fs::write(project.root().join(".hookwire/guard.yaml"), hooks).unwrap();
            let asked = ask(
                project.command(&["hook", "claude-code", "--live"]),
                &event("ls x"),
            );
            let runs = project.root().join("runs");
            eventually("the host runs it", || runs.exists().then_some(()));
            let host = project.signal(Signal::STOP);
            let (decision, reason) = decided(asked);
            assert_eq!(decision, expected, "{reason}");
            assert_eq!(fs::read_to_string(&runs).unwrap(), "x\n", "{fail}");
            assert_eq!(
                fail == "closed",
                reason.contains("the host that was asked first may have run it"),
                "{reason}"
            );
            rustix::process::kill_process(
                rustix::process::Pid::from_raw(host.cast_signed()).unwrap(),
                Signal::KILL,
            )
            .unwrap();
            await_end(host, "the host ends");
        }
    }
}
