//! The agent of the documentation, against a real host: which commands really ran.

mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use support::*;

/// A run of the agent in a directory of its own.
struct Run {
    dir: tempfile::TempDir,
    stdout: String,
    stderr: String,
}

impl Run {
    /// The files that the commands made, of those that tests use.
    fn made(&self) -> Vec<&'static str> {
        let made = |name: &&str| self.dir.path().join(name).exists();
        ["one", "two", "three", "trash/build/out", "build"].into_iter().filter(made).collect()
    }
}

/// Runs the agent to its end; `None` where it can't run.
fn agent(hooks: &Path, task: &[&str], env: &[(&str, &str)]) -> Option<Run> {
    if !is_there("python3") {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new("python3")
        .arg(repo("examples/agents/minimal.py"))
        .arg(hooks)
        .args(task)
        .current_dir(dir.path())
        .env("HOOKWIRE", env!("CARGO_BIN_EXE_hookwire"))
        .env("XDG_CONFIG_HOME", dir.path())
        // Tells on stderr what it otherwise keeps to itself, such as a pipe that failed to close.
        .env("PYTHONDEVMODE", "1")
        .env_remove("HOOKWIRE_LOG")
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("the agent ends", || child.try_wait().unwrap());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let run = Run { dir, stdout: text(output.stdout), stderr: text(output.stderr) };
    assert!(output.status.success(), "the agent failed: {}{}", run.stdout, run.stderr);
    Some(run)
}

/// Leaves the host's process id where a command of the task finds it.
const TELL_PID: &str = "
defaults: { timeout: 5s, fail: closed }
hooks:
  - { name: tell-pid, on: PreToolUse, command: 'echo $PPID > host.pid' }
";

#[test]
fn obeys_a_deny_and_a_rewrite() {
    let Some(run) = agent(&repo("examples/agents/hooks"), &[], &[]) else { return };
    assert_eq!(
        run.stdout,
        "\
running: mkdir build && echo hello > build/out
skipped: git push --force (Force pushes are off; push a branch and open a pull request.)
running: mkdir -p trash && mv build trash
running: cat trash/build/out
hello
"
    );
    assert_eq!(run.stderr, "");
    assert_eq!(run.made(), ["trash/build/out"]);
}

#[test]
fn runs_no_part_of_a_denied_command() {
    let task = ["touch one", "touch two && git push --force", "touch three"];
    let Some(run) = agent(&repo("examples/agents/hooks"), &task, &[]) else { return };
    assert_eq!(run.made(), ["one", "three"], "{}{}", run.stdout, run.stderr);
}

#[test]
fn outlives_a_host_that_is_killed_between_two_commands() {
    let hooks = hooks(&[("hooks.yaml", TELL_PID)]);
    let task = ["touch one", "kill -9 $(cat host.pid)", "touch two", "touch three"];
    let Some(run) = agent(hooks.path(), &task, &[]) else { return };
    assert_eq!(run.made(), ["one"], "{}{}", run.stdout, run.stderr);
    assert_eq!(
        run.stdout,
        "\
running: touch one
running: kill -9 $(cat host.pid)
skipped: touch two (hookwire gave no verdict)
skipped: touch three (hookwire gave no verdict)
"
    );
    assert_eq!(run.stderr, "");
    let Some(run) = agent(hooks.path(), &task, &[("FAIL", "open")]) else { return };
    assert_eq!(run.made(), ["one", "two", "three"], "{}{}", run.stdout, run.stderr);
}

#[test]
fn outlives_a_host_that_dies_while_it_judges() {
    let hooks = hooks(&[(
        "hooks.yaml",
        "
defaults: { timeout: 5s, fail: closed }
hooks:
  - { name: kill-host, on: PreToolUse, if: Bash(touch two), command: 'kill -9 $PPID' }
",
    )]);
    let Some(run) = agent(hooks.path(), &["touch one", "touch two", "touch three"], &[]) else { return };
    assert_eq!(run.made(), ["one"], "{}{}", run.stdout, run.stderr);
}

#[test]
fn waits_for_a_hung_host_as_long_as_it_chose() {
    let hooks = hooks(&[("hooks.yaml", TELL_PID)]);
    let task = ["touch one", "kill -STOP $(cat host.pid)", "touch two", "touch three"];
    let Some(run) = agent(hooks.path(), &task, &[("PATIENCE", "3")]) else { return };
    assert_eq!(run.made(), ["one"], "{}{}", run.stdout, run.stderr);
}

#[test]
fn hears_which_hook_is_late_and_goes_on() {
    let hooks = hooks(&[(
        "hooks.yaml",
        "hooks: [{ name: slow, on: PreToolUse, if: Bash(touch two), command: sleep 60, fail: closed }]",
    )]);
    let task = ["touch one", "touch two", "touch three"];
    let Some(run) = agent(hooks.path(), &task, &[("PATIENCE", "3")]) else { return };
    assert_eq!(run.made(), ["one", "three"], "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("skipped: touch two (hook `slow` failed to "), "{}", run.stdout);
}

#[test]
fn takes_a_missing_binary_for_a_dead_host() {
    let hooks = repo("examples/agents/hooks");
    let missing = ("HOOKWIRE", "/nonexistent/hookwire");
    let Some(run) = agent(&hooks, &["touch one"], &[missing]) else { return };
    assert_eq!(run.made(), Vec::<&str>::new());
    assert_eq!(run.stdout, "skipped: touch one (hookwire gave no verdict)\n");
    assert!(run.stderr.starts_with("hookwire did not start: "), "{}", run.stderr);
    let Some(run) = agent(&hooks, &["touch one"], &[missing, ("FAIL", "open")]) else { return };
    assert_eq!(run.made(), ["one"]);
}

#[test]
fn its_definitions_are_without_a_diagnostic() {
    let check =
        hookwire().args(["check", "--isolated", "--hooks"]).arg(repo("examples/agents/hooks")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&check.stdout), "2 hooks in force, 0 errors, 0 warnings\n");
}
