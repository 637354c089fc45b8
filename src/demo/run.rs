//! `hookwire demo --run`: a little agent below `hookwire run`, whose Makefile pushes by force
//! through an alias.
//!
//! All of it is real: the repository, its remote, the programs, the kernel's refusal. What is
//! printed of a start is what the host says that it has judged.

use super::print_detail;
use crate::cli::output::{Output, Tone, safe};
use crate::cli::run::find_supervisor;
use crate::cli::scratch::{forget_git, scratch_dir};
use crate::cli::tail::program_tree;
use crate::cli::{Failure, Finding};
use hookwire_base::verdict::Decision;
use hookwire_dialects as dialects;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output as Ran, Stdio};

const GUARD: &str = "hooks:
  - name: no-force-push
    on: PreToolUse
    if: Bash(git push --force*)
    deny: Force pushes are off; push a branch and open a pull request.
";
const MAKEFILE: &str = "test:\n\t@echo 3 tests passed\npublish:\n\tgit publish\n";
/// The agent's calls, each with why it matters.
const CALLS: &[(&str, &str)] = &[
    (
        "make test",
        "The rule names neither make nor echo, so the kernel asks nobody.",
    ),
    (
        "make publish",
        "The call names no push, and the Makefile names no force. The kernel asks at each start.",
    ),
    (
        "git push origin HEAD:fix",
        "An ordinary push of a branch: the rule lets it start.",
    ),
];
const RUN: &[&str] = &[
    "run",
    "--isolated",
    "--no-self-defense",
    "--root",
    ".",
    "--hooks",
    "hooks",
    "--idle-exit",
    "1m",
    "--",
    "sh",
    "-c",
];

pub(super) fn run(out: &mut Output) -> Result<Finding, Failure> {
    can_hold()?;
    let place = scratch_dir("demo")?;
    let root = place.path();
    prepare_repository(root)?;
    let main_before = remote_main(root)?;
    let head = out.tone(
        Tone::Strong,
        "A little agent at work below `hookwire run`, in a repository of its own.",
    );
    out.line(&head);
    let about = out.tone(
        Tone::Dim,
        "The rule is no-force-push. Each program really starts, or really doesn't.",
    );
    out.line(&about);
    let mut n_shown = 0;
    for (call, why) in CALLS {
        out.line("");
        let head = out.tone(Tone::Strong, &format!("Bash  {call}"));
        out.line(&head);
        let ran = hookwire_command(root, RUN).arg(call).output()?;
        let starts = judged_starts(root)?;
        let mut shown = Vec::new();
        starts
            .iter()
            .skip(n_shown)
            .for_each(|record| print_start(record, &mut shown, out));
        n_shown = starts.len();
        print_ran(&ran, out);
        print_detail(out, "", Tone::Dim, why);
    }
    if remote_main(root)? != main_before {
        return Err(Failure(
            "the remote's main branch has moved: this is a defect of hookwire, please report it"
                .into(),
        ));
    }
    out.line("");
    let end = out.tone(Tone::Strong, "The remote's main branch is where it was.");
    out.line(&end);
    out.line("");
    out.line("npm's scripts and Python's code are held alike. Now yours, your agent below it:");
    out.line("  hookwire run -- claude                (or codex, gemini, opencode, make, ...)");
    out.line("  hookwire docs run                     (what is held, and what isn't)");
    Ok(Finding::Fine)
}

/// Whether this kernel can hold what starts.
fn can_hold() -> Result<(), Failure> {
    let probed = Command::new(find_supervisor()?)
        .args(["run", "--probe"])
        .stdin(Stdio::null())
        .output()?;
    if probed.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&probed.stderr).into_owned();
    let why: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("no "))
        .map(str::trim)
        .collect();
    Err(Failure(format!(
        "this demo needs a kernel that can hold what starts, and here it can't ({}); `hookwire doctor` says more, and \
         `hookwire demo` runs everywhere",
        why.join("; ")
    )))
}

/// A repository whose main branch only a forced push can move, with a Makefile and an alias that do
/// that.
fn prepare_repository(root: &Path) -> Result<(), Failure> {
    std::fs::create_dir(root.join("hooks"))?;
    std::fs::write(root.join("hooks/guard.yaml"), GUARD)?;
    std::fs::write(root.join("Makefile"), MAKEFILE)?;
    std::fs::write(root.join(".gitignore"), "hooks\nremote\n")?;
    for text in [
        "init --quiet --initial-branch=main .",
        "init --quiet --bare --initial-branch=main remote",
        "config user.name demo",
        "config user.email demo@localhost",
        "config commit.gpgsign false",
        "remote add origin ./remote",
        "add --all",
        "commit --quiet --no-verify --message=First",
        "push --quiet origin HEAD:main",
        "commit --quiet --no-verify --amend --message=Other",
    ] {
        run_git(root, &text.split(' ').collect::<Vec<_>>())?;
    }
    run_git(
        root,
        &["config", "alias.publish", "push --force origin HEAD:main"],
    )?;
    let made = Command::new("make")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    made.map(drop)
        .map_err(|error| Failure(format!("this demo needs make: {error}")))
}

fn run_git(root: &Path, args: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new("git");
    forget_git(&mut command);
    let ran = command
        .args(args)
        .current_dir(root)
        .stdin(Stdio::null())
        .output();
    let ran = ran.map_err(|error| Failure(format!("this demo needs git: {error}")))?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        return Err(Failure(format!("git {}: {}", args.join(" "), said.trim())));
    }
    Ok(String::from_utf8_lossy(&ran.stdout).trim().to_string())
}

fn remote_main(root: &Path) -> Result<String, Failure> {
    run_git(&root.join("remote"), &["rev-parse", "main"])
}

fn hookwire_command(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap_or_else(|_| "hookwire".into()));
    forget_git(&mut command);
    command.args(args).current_dir(root).stdin(Stdio::null());
    command
}

/// The starts that the host was asked about, the first one first.
fn judged_starts(root: &Path) -> Result<Vec<Value>, Failure> {
    let tail = hookwire_command(
        root,
        &[
            "tail",
            "--root",
            ".",
            "--no-follow",
            "--last",
            "100",
            "--format",
            "json",
        ],
    )
    .output()?;
    let text = String::from_utf8_lossy(&tail.stdout).into_owned();
    Ok(text
        .lines()
        .filter_map(|line| hookwire_base::support::json::parse(line).ok())
        .filter(|it| it["event"] == "PreExec")
        .collect())
}

/// Prints a start in its place in the tree, without what was `shown` of that already, and its
/// verdict.
fn print_start(record: &Value, shown: &mut Vec<String>, out: &mut Output) {
    let Some(event) = dialects::read_sent_event(record["params"].clone(), dialects::NATIVE) else {
        return;
    };
    let lines = program_tree(&event);
    let n_same = lines
        .iter()
        .zip(shown.iter())
        .take_while(|(a, b)| a == b)
        .count();
    let Some((start, parents)) = lines.split_last() else {
        return;
    };
    for line in parents.iter().skip(n_same) {
        let line = out.tone(Tone::Dim, &format!("    {line}"));
        out.line(&line);
    }
    let verdict = &record["verdict"];
    let decision = verdict["decision"].as_str().unwrap_or_default();
    let tone = Decision::from_word(decision).map_or(Tone::Warn, Tone::of_decision);
    let decision = out.tone(tone, decision);
    out.line(&format!("    {start:<62}  {decision}"));
    if let Some(reason) = verdict["reason"].as_str() {
        print_detail(
            out,
            verdict["decidedBy"].as_str().unwrap_or_default(),
            tone,
            reason,
        );
    }
    *shown = lines;
}

/// Prints what the agent gets back.
fn print_ran(ran: &Ran, out: &mut Output) {
    let code = ran.status.code().unwrap_or(-1);
    let said = [&ran.stdout, &ran.stderr]
        .map(|it| String::from_utf8_lossy(it).into_owned())
        .concat();
    for line in said.lines().filter(|line| !line.trim().is_empty()) {
        print_detail(out, "", Tone::Plain, &safe(line));
    }
    let tone = if code == 0 { Tone::Good } else { Tone::Bad };
    print_detail(out, "exit", tone, &code.to_string());
}
