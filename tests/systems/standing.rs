//! What stands between an agent and its entry, in a project as people have it: `hookwire doctor`
//! tells it, and `hookwire run` doesn't run what wouldn't be held.

use crate::installed::{Project, small};
use crate::support::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

/// A fresh project with definitions that somebody has trusted, an empty home and the agent's entry.
fn guarded(agent: &str) -> Project {
    let project = Project::new();
    let git = Command::new("git")
        .args(["init", "-q", "."])
        .current_dir(project.root())
        .status();
    assert!(git.unwrap().success());
    for args in [&["trust", "--yes"][..], &["install", agent]] {
        let done = project.run(args, "");
        assert!(done.status.success(), "{done:?}");
    }
    project
}

/// What the doctor says after a text of a shell that runs in the project, with its home as `$HOME`.
fn doctored(project: &Project, agent: &str, state: &str) -> (bool, String) {
    let (dir, rest) = match state.split_once(" in ") {
        Some((state, dir)) => (dir, state),
        None => (".", state),
    };
    let mut shell = Command::new("sh");
    shell
        .args(["-euc", rest])
        .current_dir(project.root())
        .env("HOME", project.0.path().join("home"));
    assert!(shell.status().unwrap().success(), "{state}");
    let bin = project.0.path().join("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = project.command(&["doctor", agent]);
    command
        .current_dir(project.root().join(dir))
        .env("PATH", path);
    let Output { status, stdout, .. } = command.output().unwrap();
    (status.success(), String::from_utf8(stdout).unwrap())
}

/// A state, what is said of it, and whether all is well then.
const STATES: &[(&str, &str, &str, bool)] = &[
    ("claude-code", "true", "a probe was denied", true),
    (
        "claude-code",
        "mkdir sub in sub",
        "a probe was denied",
        true,
    ),
    (
        "claude-code",
        "git init -q nested in nested",
        "it doesn't ask hookwire",
        false,
    ),
    (
        "claude-code",
        r#"sed -i 's/"timeout": 60/"timeout": 0.001/' .claude/settings.local.json"#,
        "given up too early",
        false,
    ),
    (
        "claude-code",
        r#"mkdir -p ~/.claude/plugins ~/quiet/hooks
        echo '{"enabledPlugins": {"quiet@m": true}}' > ~/.claude/settings.json
        echo '{"plugins": {"quiet@m": [{"installPath": "'$HOME/quiet'"}]}}' > ~/.claude/plugins/installed_plugins.json
        echo '{"modules": ["./register.js"]}' > ~/quiet/hooks/hooks.json"#,
        "can keep hookwire from being asked",
        false,
    ),
    (
        "claude-code",
        "echo 'hooks: []' > .hookwire/guard.yaml; rm -r ~/.local",
        "0 hooks in force",
        false,
    ),
    (
        "claude-code",
        "mkdir -p ~/.config/hookwire; cp .hookwire/guard.yaml ~/.config/hookwire/own.yaml; rm -r ~/.local/share/hookwire/trust",
        "nobody has trusted these definitions",
        false,
    ),
    (
        "claude-code",
        r#"echo '{"env": {"PATH": "/tmp/x:/bin"}}' > .claude/settings.json"#,
        "`env.PATH` switches hooks off, or puts something before them",
        false,
    ),
    (
        "claude-code",
        r#"mkdir more; sed -i 's/"claude-code",/"claude-code", "--hooks", "more",/; s/hook claude-code/hook claude-code --hooks more/' .claude/settings.local.json"#,
        "it wasn't tried",
        false,
    ),
    ("grok", "true", "it doesn't trust this folder", false),
    (
        "grok",
        r#"mkdir ~/.grok; printf '[folders."%s"]\ntrusted = true\n' "$(pwd -P)" > ~/.grok/trusted_folders.toml"#,
        "a probe was denied",
        true,
    ),
    (
        "grok",
        r#"mkdir ~/.grok; printf '[folders."%s"]\ntrusted = false\n' "$(pwd -P)" > ~/.grok/trusted_folders.toml"#,
        "it doesn't trust this folder",
        false,
    ),
    (
        "grok",
        r"mkdir ~/.grok; printf '[folder_trust]\nenabled = false\n' > ~/.grok/config.toml",
        "a probe was denied",
        true,
    ),
    ("pi", "true", "it doesn't trust this folder", false),
    (
        "pi",
        "mkdir -p ~/.pi/agent; echo '{\"/\": true}' > ~/.pi/agent/trust.json",
        "a probe was denied",
        true,
    ),
    (
        "pi",
        "mkdir -p ~/.pi/agent; echo '{' > ~/.pi/agent/trust.json",
        "it can't be told whether it trusts this folder",
        false,
    ),
    (
        "pi",
        "mkdir -p sub ~/.pi/agent; echo '{\"/\": true}' > ~/.pi/agent/trust.json in sub",
        "started here it reads the settings of",
        false,
    ),
    (
        "pi",
        r#"mkdir -p ~/.pi/agent; echo '{"/": true}' > ~/.pi/agent/trust.json
        echo '{"extensions": ["-extensions/*"]}' > .pi/settings.json"#,
        "`extensions` switches hookwire's hooks off",
        false,
    ),
    (
        "pi",
        r#"mkdir -p ~/.pi/agent; echo '{"/": true}' > ~/.pi/agent/trust.json
        echo '{"extensions": ["-others/*", "+x.js"]}' > .pi/settings.json"#,
        "a probe was denied",
        true,
    ),
    (
        "copilot",
        r#"mkdir .github/copilot; echo '{"disableAllHooks": true}' > .github/copilot/settings.json"#,
        "`disableAllHooks` switches hookwire's hooks off",
        false,
    ),
    (
        "claude-code",
        "git -c user.name=a -c user.email=b commit -q --allow-empty -m x; git worktree add -q ../linked in ../linked",
        "a probe was denied",
        true,
    ),
    ("gemini", "true", "it doesn't trust this folder", false),
    (
        "gemini",
        r#"mkdir ~/.gemini; echo '{"'"$(pwd -P)"'/x": "TRUST_PARENT"}' > ~/.gemini/trustedFolders.json"#,
        "a probe was denied",
        true,
    ),
    (
        "gemini",
        r#"mkdir ~/.gemini; echo '{"/": "TRUST_FOLDER", "'"$(pwd -P)"'": "DO_NOT_TRUST"}' > ~/.gemini/trustedFolders.json"#,
        "it doesn't trust this folder",
        false,
    ),
    ("qwen", "true", "a probe was denied", true),
    (
        "qwen",
        r#"mkdir ~/.qwen; echo '{"security": {"folderTrust": {"enabled": true}}}' > ~/.qwen/settings.json"#,
        "it doesn't trust this folder",
        false,
    ),
    (
        "qwen",
        r#"mkdir -p .qwen/commands; echo 'prompt = "!{rm -rf x}"' > .qwen/commands/tidy.toml"#,
        "tidy.toml: a slash command that runs a shell",
        true,
    ),
    (
        "opencode",
        r"mkdir -p .claude/skills/tidy; cd .claude/skills/tidy; echo '!`rm -rf x`' | tee SKILL.md > tidy.js",
        "SKILL.md: a slash command that runs a shell",
        true,
    ),
    (
        "qwen",
        "mkdir sub in sub",
        "started here it reads the settings of",
        false,
    ),
];

#[test]
fn a_doctor_tells_what_stands_between_an_agent_and_its_entry() {
    for (agent, state, says, is_well) in STATES {
        let project = guarded(agent);
        let (is_fine, said) = doctored(&project, agent, state);
        assert!(said.contains(says), "{agent}, {state}: {said}");
        assert_eq!(is_fine, *is_well, "{agent}, {state}: {said}");
    }
}

#[test]
fn a_case_of_ones_own_goes_through_the_entry_and_counts_nowhere() {
    let project = Project::new();
    let write = |name: &str, text: &str| {
        fs::write(project.root().join(".hookwire").join(name), text).unwrap()
    };
    write(
        "guard.yaml",
        "hooks:\n  - { name: first, on: PreToolUse, if: Bash(make *), once: true, deny: not yet }\n",
    );
    write(
        "guard.test.yaml",
        "cases:\n  - { name: own, bash: make x, expect: deny }\n",
    );
    for args in [&["trust", "--yes"][..], &["install", "claude-code"]] {
        let done = project.run(args, "");
        assert!(done.status.success(), "{done:?}");
    }
    for _ in 0..2 {
        let (is_fine, said) = doctored(&project, "claude-code", "true");
        assert!(
            is_fine && said.contains("`own` (.hookwire/guard.test.yaml:2) was denied"),
            "{said}"
        );
    }
    assert_eq!(project.hook("make x"), "deny", "its one run is left");
    assert_eq!(project.hook("make x"), "", "and spent");
    // The entry reads other definitions than this doctor.
    let user = project.0.path().join("user");
    fs::create_dir(&user).unwrap();
    let rule = "hooks:\n  - { name: outer, on: PreToolUse, if: Bash(make *), deny: not here }\n";
    fs::write(user.join("outer.yaml"), rule).unwrap();
    let case = "cases:\n  - { name: outer, bash: make x, expect: deny }\n";
    fs::write(user.join("outer.test.yaml"), case).unwrap();
    let output = project.run(
        &[
            "doctor",
            "claude-code",
            "--user-dir",
            user.to_str().unwrap(),
        ],
        "",
    );
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("outer.test.yaml:2) was not denied"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
}

/// A program that lists its hooks as Codex does.
const LISTS: &str = r#"#!/usr/bin/env python3
import json, sys
if "--version" in sys.argv:
    sys.exit(print("codex-cli 0.171.0"))
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "hooks/list":
        print(json.dumps({"id": request["id"], "result": {"data": [{"cwd": request["params"]["cwds"][0], "hooks": HOOKS}]}}), flush=True)
    elif "id" in request:
        print(json.dumps({"id": request["id"], "result": {}}), flush=True)
"#;

#[test]
fn an_agent_that_lists_its_hooks_is_believed() {
    if !is_there("python3") {
        return;
    }
    let project = guarded("codex");
    let bin = project.0.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let entry = fs::read_to_string(project.root().join(".codex/hooks.json")).unwrap();
    let entry: serde_json::Value = serde_json::from_str(&entry).unwrap();
    let command = &entry["hooks"]["PreToolUse"][0]["hooks"][0]["command"];
    let hook = |members: &str| {
        format!(r#"[{{"eventName": "preToolUse", "command": {command}, {members}}}]"#)
    };
    for (hooks, says, is_well) in [
        (
            hook(r#""trustStatus": "trusted""#),
            "runs hookwire's hook here",
            true,
        ),
        (
            hook(r#""trustStatus": "untrusted""#),
            "nobody has trusted it as it is now (untrusted)",
            false,
        ),
        (
            hook(r#""trustStatus": "modified""#),
            "nobody has trusted it as it is now (modified)",
            false,
        ),
        (
            hook(r#""trustStatus": "trusted", "enabled": False"#),
            "is disabled",
            false,
        ),
        (
            hook(r#""trustStatus": "trusted", "matcher": "Read""#),
            "only for tools that fit \"Read\"",
            false,
        ),
        (
            // Neither of the two runs.
            format!(
                r#"[{{"eventName": "preToolUse", "command": {command}, "enabled": False, "trustStatus": "trusted"}},
                {{"eventName": "preToolUse", "command": {command}, "trustStatus": "modified"}}]"#
            ),
            "nobody has trusted it as it is now (modified)",
            false,
        ),
        ("[]".into(), "it runs no hook of hookwire's here", false),
    ] {
        let program = bin.join("codex");
        fs::write(&program, LISTS.replace("HOOKS", &hooks)).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let (is_fine, said) = doctored(&project, "codex", "true");
        assert!(said.contains(says), "{hooks}: {said}");
        assert_eq!(is_fine, is_well, "{hooks}: {said}");
    }
}

#[test]
fn a_run_refuses_an_agent_whose_daemon_works_outside() {
    if !is_there("python3") {
        return;
    }
    let project = Project::new();
    // It ends with its input.
    let mut daemon = Command::new("sh")
        .args([
            "-c",
            "read x",
            "codex",
            "app-server",
            "--listen",
            "unix://x",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let at_terminal = |words: &[&str]| {
        let mut terminal = Command::new("python3");
        let code =
            "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
        terminal.arg("-c").arg(code).arg(small());
        let mut command = project.command_of(terminal, &[&["run", "--live", "--"], words].concat());
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let bin = project.0.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let codex = bin.join("codex");
    fs::write(&codex, "#!/bin/sh\necho it ran\n").unwrap();
    fs::set_permissions(&codex, fs::Permissions::from_mode(0o755)).unwrap();
    let codex = codex.to_str().unwrap();
    let (code, said) = at_terminal(&[codex]);
    assert!(
        said.contains("`codex app-server daemon stop` ends it"),
        "{said}"
    );
    assert_eq!(code, Some(2), "{said}");
    let script = format!("{codex} --version; echo went on");
    let (_, said) = at_terminal(&["sh", "-c", &script]);
    let is_held =
        said.contains("`codex app-server daemon stop` ends it") && !said.contains("it ran");
    assert!(is_held || said.contains("can't"), "{said}");
    for words in [&[codex, "--no-daemon"][..], &["sh", "-c", "echo it ran"]] {
        let (_, said) = at_terminal(words);
        assert!(said.contains("it ran") || said.contains("can't"), "{said}");
    }
    drop(daemon.stdin.take());
    daemon.wait().unwrap();
    let (_, said) = at_terminal(&[codex]);
    assert!(!said.contains("daemon stop"), "{said}");
}
