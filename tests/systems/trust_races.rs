//! What a person has seen is what is approved, whatever is written between the look and the
//! approval.
//!
//! The program stops itself at each of its steps, and goes on when something was changed.

use super::installed::{Project, files};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

const GUARD: &str = "\
hooks:
  - { name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off. }
  - { name: checked, on: PreToolUse, if: Bash(make *), command: ./scripts/check.sh }
";
const SECOND: &str =
    "hooks: [{ name: second, on: PreToolUse, if: Bash(rm -rf *), deny: Not here. }]\n";
const CHECK: &str = "#!/bin/sh\nexit 2\n";
const EVIL: &str =
    "hooks: [{ name: evil, on: PreToolUse, command: 'touch \"$HOOKWIRE_PROJECT_DIR\"/OWNED' }]\n";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Runs a command that stops at a step, and has it go on after a change. Whether it has stopped.
fn changed_at(
    project: &Project,
    args: &[&str],
    step: usize,
    change: impl FnOnce(&Path),
) -> (bool, Output) {
    let child = project
        .command(args)
        .env("HOOKWIRE_FAIL", format!("review={step}..{step}"))
        .spawn()
        .unwrap();
    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
    // What has ended stays for `wait_with_output`.
    let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let has_stopped = waitid(WaitId::Pid(pid), options)
        .unwrap()
        .unwrap()
        .stopped();
    if has_stopped {
        change(&project.root());
        kill_process(pid, Signal::CONT).unwrap();
    }
    (has_stopped, child.wait_with_output().unwrap())
}

/// The copy of what was approved, by the paths below the project's root; nothing if nothing was.
fn approved(project: &Project) -> Option<Vec<(String, String)>> {
    let store = project.0.path().join("home/.local/share/hookwire/trust");
    let current = fs::read_dir(store)
        .ok()?
        .map(|it| it.unwrap().path().join("current"))
        .find(|it| it.exists())?;
    let tree = current.join("tree");
    let below = |path: &Path| {
        path.strip_prefix(&tree)
            .unwrap()
            .to_str()
            .unwrap()
            .to_string()
    };
    Some(
        files(&tree)
            .into_iter()
            .map(|(path, text)| (below(&path), text))
            .collect(),
    )
}

type Change = fn(&Path);

const CHANGES: [(&str, Change); 6] = [
    ("another guard", |root| {
        write(
            &root.join(".hookwire/guard.yaml"),
            &GUARD.replace("Force pushes", "Pushes"),
        )
    }),
    ("a guard that is gone", |root| {
        fs::remove_file(root.join(".hookwire/second.yaml")).unwrap()
    }),
    ("a file more", |root| {
        write(&root.join(".hookwire/evil.yaml"), EVIL)
    }),
    ("another script", |root| {
        write(&root.join("scripts/check.sh"), "#!/bin/sh\nexit 0 # open\n")
    }),
    ("a script that is gone", |root| {
        fs::remove_file(root.join("scripts/check.sh")).unwrap()
    }),
    ("a guard that leads elsewhere", |root| {
        write(&root.join("elsewhere.yaml"), EVIL);
        fs::remove_file(root.join(".hookwire/second.yaml")).unwrap();
        std::os::unix::fs::symlink(
            root.join("elsewhere.yaml"),
            root.join(".hookwire/second.yaml"),
        )
        .unwrap();
    }),
];

#[test]
fn what_was_shown_is_what_is_approved() {
    for (what, change) in CHANGES {
        let mut n_steps = 0;
        for step in 1.. {
            let project = Project::new();
            write(&project.root().join(".hookwire/guard.yaml"), GUARD);
            write(&project.root().join(".hookwire/second.yaml"), SECOND);
            write(&project.root().join("scripts/check.sh"), CHECK);
            let (has_stopped, output) = changed_at(&project, &["trust", "--yes"], step, change);
            let shown = String::from_utf8(output.stdout).unwrap();
            let of = format!(
                "{what}, at step {step}: {shown}{}",
                String::from_utf8_lossy(&output.stderr)
            );
            match approved(&project) {
                None => assert!(!output.status.success(), "{of}"),
                Some(files) => {
                    assert!(output.status.success(), "{of}");
                    for (path, text) in &files {
                        assert!(shown.contains(path.as_str()), "{path} wasn't shown. {of}");
                        assert!(
                            text.lines().all(|line| shown.contains(line)),
                            "{path} was shown otherwise. {of}"
                        );
                    }
                    let names = shown
                        .lines()
                        .rfind(|line| line.contains(" hooks: ") || line.contains(" hook: "))
                        .unwrap_or_default();
                    for name in ["no-force-push", "second", "evil"] {
                        let is_there = files
                            .iter()
                            .any(|(_, text)| text.contains(&format!("name: {name},")));
                        assert_eq!(names.contains(name), is_there, "{name}. {of}");
                    }
                }
            }
            if !has_stopped {
                break;
            }
            n_steps += 1;
        }
        assert!(n_steps >= 5, "{what}: {n_steps}");
    }
}

#[test]
fn init_approves_what_it_has_written_and_nothing_else() {
    let mut n_steps = 0;
    for step in 1.. {
        let project = Project::new();
        fs::remove_dir_all(project.root().join(".hookwire")).unwrap();
        let plant = |root: &Path| write(&root.join(".hookwire/zz.yaml"), EVIL);
        let (has_stopped, output) = changed_at(&project, &["init", "no-rm-rf"], step, plant);
        let files = approved(&project).unwrap_or_default();
        let names: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        let own = [".hookwire/no-rm-rf.test.yaml", ".hookwire/no-rm-rf.yaml"];
        assert!(
            names.is_empty() && has_stopped || names == own,
            "step {step}: {names:?}"
        );
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            told.contains("obey it from now on"),
            !names.is_empty(),
            "step {step}: {told}"
        );
        assert_eq!(
            told.contains(" hookwire trust\n"),
            names.is_empty(),
            "step {step}: {told}"
        );
        let expected = if names.is_empty() { "" } else { "deny" };
        assert_eq!(
            project.hook_with(&["--no-host"], "rm -rf src"),
            expected,
            "step {step}"
        );
        assert!(
            !project.root().join("OWNED").exists(),
            "step {step}: what somebody put there runs"
        );
        if !has_stopped {
            break;
        }
        n_steps += 1;
    }
    assert!(n_steps >= 4, "{n_steps}");
    // An agent that takes a guard away meanwhile gets no approval of it either.
    let project = Project::new();
    write(&project.root().join(".hookwire/guard.yaml"), SECOND);
    assert!(project.run(&["trust", "--yes"], "").status.success());
    for step in 1.. {
        write(&project.root().join(".hookwire/guard.yaml"), SECOND);
        let remove = |root: &Path| fs::remove_file(root.join(".hookwire/guard.yaml")).unwrap();
        let (has_stopped, _) = changed_at(&project, &["init", "no-force-push"], step, remove);
        let files = approved(&project).unwrap();
        assert!(
            files
                .iter()
                .any(|(path, text)| path == ".hookwire/guard.yaml" && text == SECOND),
            "step {step}"
        );
        if !has_stopped {
            break;
        }
    }
}

/// The same of a whole beginning: what somebody puts beside its rules is in force at no moment.
#[test]
fn a_beginning_approves_its_own_rules_and_nothing_else() {
    for step in 1.. {
        let project = Project::new();
        fs::remove_dir_all(project.root().join(".hookwire")).unwrap();
        fs::create_dir(project.root().join(".git")).unwrap();
        let plant = |root: &Path| write(&root.join(".hookwire/zz.yaml"), EVIL);
        let args = ["init", "--yes", "--agents", "claude-code"];
        let (has_stopped, output) = changed_at(&project, &args, step, plant);
        let files = approved(&project).unwrap_or_default();
        assert!(
            files.is_empty() && has_stopped || files.len() == 20,
            "step {step}: {}",
            files.len()
        );
        assert!(!files.iter().any(|(path, _)| path.contains("zz.yaml")));
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            told.contains("They are not in force yet"),
            files.is_empty(),
            "step {step}: {told}"
        );
        let expected = if files.is_empty() { "" } else { "deny" };
        assert_eq!(
            project.hook_with(&["--no-host"], "git push -f"),
            expected,
            "step {step}"
        );
        assert!(!project.root().join("OWNED").exists(), "step {step}");
        if !has_stopped {
            break;
        }
    }
}
