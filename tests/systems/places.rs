//! Who judges doesn't depend on where an agent goes, nor on what its environment says.

use super::installed::{Project, event};
use super::support::hookwire;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const LIB: &str = r#"
hooks:
  - { name: no-publish, on: PreToolUse, if: Bash(npm publish*), deny: Only CI publishes. }
  - { name: no-pnpm, on: PreToolUse, if: Bash(pnpm *), deny: This library has no lock file of pnpm. }
  - { name: push, on: PreToolUse, if: Bash(git push*), allow: Everybody may push. }
"#;

fn deny(name: &str, rule: &str) -> String {
    format!("hooks: [{{ name: {name}, on: PreToolUse, if: \"{rule}\", deny: \"No.\" }}]\n")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

impl Project {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// The project as it is guarded usually: trusted, and installed for Claude Code.
    fn guarded() -> Project {
        let project = Project::new();
        for args in [&["trust", "--yes"][..], &["install", "claude-code"]] {
            let output = project.run(args, "");
            assert!(output.status.success(), "{args:?}: {output:?}");
        }
        project
    }

    fn settings(&self) -> PathBuf {
        self.root().join(".claude/settings.local.json")
    }

    /// The command that is installed.
    fn installed(&self) -> String {
        let settings: Value =
            serde_json::from_str(&fs::read_to_string(self.settings()).unwrap()).unwrap();
        let handler = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
        let args = handler["args"].as_array().into_iter().flatten();
        let words = [&handler["command"]].into_iter().chain(args);
        hookwire_base::support::shell_word::command(words.map(|it| it.as_str().unwrap()))
    }

    /// What a command says of a call in a directory, as Claude Code runs it: the decision, or the
    /// context, or nothing.
    fn say(
        &self,
        command: &str,
        cwd: &Path,
        environment: &[(&str, Option<&str>)],
        call: &str,
    ) -> String {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", command])
            .current_dir(cwd)
            .env("HOME", self.path("home"));
        shell
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME");
        for (name, value) in environment {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let mut sent = event(call);
        sent["cwd"] = cwd.to_str().unwrap().into();
        let mut child = shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(sent.to_string().as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{command} {environment:?} {call}: {output:?}"
        );
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let said = &reply["hookSpecificOutput"];
        said["permissionDecision"]
            .as_str()
            .or(said["additionalContext"].as_str())
            .unwrap_or_default()
            .to_string()
    }

    fn doctor(&self) -> (Option<i32>, String) {
        let output: Output = self.run(&["doctor", "claude-code"], "");
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    }
}

#[test]
fn a_projects_guards_go_where_its_agent_goes() {
    let project = Project::guarded();
    for (file, text) in [
        ("lib/.hookwire/guard.yaml", LIB),
        ("untrusted/.hookwire/guard.yaml", &deny("no-ls", "Bash(ls)")),
        (
            "project/part/.hookwire/guard.yaml",
            &deny("no-deploy", "Bash(make deploy)"),
        ),
        // As `git worktree add ../worktree` makes them.
        (
            "worktree/.git",
            &format!(
                "gitdir: {}\n",
                project.path("project/.git/worktrees/worktree").display()
            ),
        ),
        ("project/.git/worktrees/worktree/commondir", "../..\n"),
    ] {
        write(&project.path(file), text);
    }
    for name in ["lib", "project/part"] {
        let path = project.path(name);
        let output = project.run(&["trust", path.to_str().unwrap(), "--yes"], "");
        assert!(output.status.success(), "{name}: {output:?}");
    }
    let installed = project.installed();
    let alone = format!("{installed} --no-host");
    // As `install --user` writes it.
    let users = installed.replace(
        &format!(" --root {}", project.path("project").display()),
        "",
    );
    assert_ne!(users, installed);
    for (command, cwd, call, expected) in [
        (&installed, "project", "ls", "the first"),
        (&installed, "lib", "ls", ""),
        (&installed, "project", "git push -f", "deny"),
        (&installed, "project", "npm publish", ""),
        (&installed, "lib", "git push -f", "deny"),
        (&installed, "lib", "git push", "allow"),
        (&installed, "lib", "npm publish", "deny"),
        (&installed, "lib", "npm i x", "deny"),
        (&alone, "lib", "git push -f", "deny"),
        (&alone, "lib", "npm publish", "deny"),
        (&installed, "untrusted", "git push -f", "deny"),
        (&installed, "untrusted", "ls", ""),
        (&installed, "project/part", "git push -f", "deny"),
        (&installed, "project/part", "make deploy", "deny"),
        (&installed, "project", "make deploy", ""),
        (&installed, "worktree", "git push -f", "deny"),
        (&users, "worktree", "git push -f", "deny"),
        (&users, "lib", "npm publish", "deny"),
    ] {
        assert_eq!(
            project.say(command, &project.path(cwd), &[], call),
            expected,
            "{cwd}: {call}"
        );
    }
    // Both are in force as they were trusted, also after an edit.
    write(
        &project.path("lib/.hookwire/guard.yaml"),
        &deny("no-ls", "Bash(ls)"),
    );
    assert_eq!(project.say(&installed, &project.path("lib"), &[], "ls"), "");
    project.run(
        &["trust", project.path("lib").to_str().unwrap(), "--yes"],
        "",
    );
    assert_eq!(
        project.say(&installed, &project.path("lib"), &[], "ls"),
        "deny"
    );
    project.run(
        &["trust", "revoke", project.path("lib").to_str().unwrap()],
        "",
    );
    assert_eq!(project.say(&installed, &project.path("lib"), &[], "ls"), "");
}

#[test]
fn a_project_that_has_moved_lets_nothing_pass() {
    let project = Project::guarded();
    let installed = project.installed();
    fs::rename(project.root(), project.path("moved")).unwrap();
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &installed])
        .current_dir(project.path("moved"))
        .env("HOME", project.path("home"));
    let mut child = shell
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(event("ls").to_string().as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("`hookwire install claude-code` in the project writes it anew"),
        "{said}"
    );
}

#[test]
fn no_environment_takes_a_guard_away() {
    let project = Project::guarded();
    let user = deny("no-destroy", "Bash(terraform destroy*)").replace("}]", "}, HOME]");
    let home = r#"{ name: home, on: PreToolUse, if: Bash(home), fail: closed, command: 'test -z "$HOME" || exit 2' }"#;
    write(
        &project.path("home/.config/hookwire/user.yaml"),
        &user.replace("HOME", home),
    );
    let added = deny("added", "Bash(added)");
    for dir in [
        "other/hookwire",
        "other/.config/hookwire",
        "project/own/hookwire",
    ] {
        write(&project.path(dir).join("added.yaml"), &added);
    }
    let (installed, root) = (project.installed(), project.path("project"));
    let [other, up, own] =
        ["other", "run/../other", "project/own"].map(|it| project.0.path().join(it));
    let [other, up, own] = [&other, &up, &own].map(|it| it.to_str());
    for (name, value, adds) in [
        ("HOME", Some(""), false),
        ("HOME", None, false),
        ("HOME", Some("home"), false),
        ("HOME", other, true),
        ("XDG_CONFIG_HOME", other, true),
        ("XDG_CONFIG_HOME", up, true),
        ("XDG_CONFIG_HOME", own, false),
        ("XDG_CONFIG_HOME", Some("/proc/self/cwd/own"), false),
        ("XDG_DATA_HOME", other, false),
        ("XDG_RUNTIME_DIR", other, false),
        ("XDG_RUNTIME_DIR", up, false),
        ("XDG_RUNTIME_DIR", Some("/nowhere"), false),
    ] {
        // A correct session comes after the one that has started a host.
        for (environment, adds) in [(&[(name, value)][..], adds), (&[], false)] {
            let say = |call| project.say(&installed, &root, environment, call);
            assert_eq!(say("git push -f"), "deny", "{environment:?}");
            assert_eq!(
                say("terraform destroy -auto-approve"),
                "deny",
                "{environment:?}"
            );
            assert_eq!(say("home"), "deny", "{environment:?}");
            assert_eq!(say("added") == "deny", adds, "{environment:?}");
        }
    }
}

#[test]
fn no_environment_makes_definitions_trusted() {
    let project = Project::new();
    let forged = project.path("forged");
    let output = hookwire()
        .args(["trust", "--yes", "--data-dir"])
        .arg(forged.join("hookwire"))
        .current_dir(project.root())
        .env("XDG_RUNTIME_DIR", project.path("run"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    project.run(&["install", "claude-code"], "");
    let environment = [("XDG_DATA_HOME", forged.to_str())];
    assert_eq!(
        project.say(
            &project.installed(),
            &project.path("project"),
            &environment,
            "git push -f"
        ),
        ""
    );
}

#[test]
fn a_home_directory_is_the_same_in_rules_whatever_the_environment_says() {
    let project = Project::guarded();
    write(
        &project.path("home/.config/hookwire/user.yaml"),
        &deny("no-keys", "Bash(cat ~/.ssh/*)"),
    );
    let home = database_home();
    assert!(home.starts_with('/'), "{home}");
    for value in [Some(""), None, Some("/other")] {
        let command = format!("cat {home}/.ssh/id_rsa");
        let said = project.say(
            &project.installed(),
            &project.path("project"),
            &[("HOME", value)],
            &command,
        );
        assert_eq!(said, "deny", "{value:?}");
    }
}

/// The home directory that the password database has; nothing is read there.
fn database_home() -> String {
    let output = Command::new("/bin/sh")
        .args(["-c", "getent passwd $(id -u) | cut -d: -f6"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

#[test]
fn a_doctor_says_where_definitions_are_read_and_where_a_host_differs() {
    let project = Project::guarded();
    let users = project.path("home/.config/hookwire");
    write(
        &users.join("user.yaml"),
        &deny("no-destroy", "Bash(terraform destroy*)"),
    );
    let (code, said) = project.doctor();
    assert!(
        code == Some(0) && said.contains("read from /etc/hookwire"),
        "{said}"
    );
    assert!(said.contains(users.to_str().unwrap()), "{said}");
    let list = String::from_utf8(project.run(&["check", "--list"], "").stdout).unwrap();
    assert!(
        list.contains("Read from /etc/hookwire") && list.contains(users.to_str().unwrap()),
        "{list}"
    );

    // A host that somebody has started with other places.
    let elsewhere = project.installed().replace(
        users.to_str().unwrap(),
        project.path("nothing").to_str().unwrap(),
    );
    let environment = [("HOME", Some("/nowhere"))];
    assert_eq!(
        project.say(
            &elsewhere,
            &project.path("project"),
            &environment,
            "git push -f"
        ),
        "deny"
    );
    let (code, said) = project.doctor();
    let expected = format!(
        "it doesn't read {}, which this command does",
        users.display()
    );
    assert!(code == Some(1) && said.contains(&expected), "{said}");

    // An older entry works, and is to be written anew.
    let project = Project::guarded();
    let root = project.path("project");
    for (flag, place) in [
        ("--root", root.clone()),
        ("--user-dir", project.path("home/.config/hookwire")),
    ] {
        let lost = format!(" {flag} {}", place.display());
        project.run(&["install", "claude-code"], "");
        let settings = fs::read_to_string(project.settings()).unwrap();
        let mut settings: Value = serde_json::from_str(&settings).unwrap();
        let args = &mut settings["hooks"]["PreToolUse"][0]["hooks"][0]["args"];
        let args = args.as_array_mut().unwrap();
        let at = args.iter().position(|it| it == flag).unwrap();
        args.drain(at..at + 2);
        fs::write(project.settings(), settings.to_string()).unwrap();
        if lost.contains("root") {
            assert_eq!(
                project.say(&project.installed(), &root, &[], "git push -f"),
                "deny"
            );
        }
        let (code, said) = project.doctor();
        let expected = format!("its command doesn't say `{}`: ", lost.trim());
        assert!(
            code == Some(1) && said.contains(&expected),
            "{lost}: {said}"
        );
        assert!(
            said.contains("`hookwire install claude-code` writes it anew"),
            "{said}"
        );
    }
}

/// A trusted project in git with these definitions, and a worktree of it that has the same files.
fn with_worktree(files: &[(&str, &str)]) -> Project {
    let project = Project::new();
    for (file, text) in files {
        write(&project.path("project").join(file), text);
        write(&project.path("worktree").join(file), text);
    }
    // As `git worktree add ../worktree` makes them.
    let git_dir = project.path("project/.git/worktrees/worktree");
    write(
        &project.path("worktree/.git"),
        &format!("gitdir: {}\n", git_dir.display()),
    );
    write(&git_dir.join("commondir"), "../..\n");
    project.trust("project");
    project
}

impl Project {
    fn trust(&self, name: &str) {
        let output = self.run(&["trust", self.path(name).to_str().unwrap(), "--yes"], "");
        assert!(output.status.success(), "{name}: {output:?}");
    }

    /// What `hookwire check --strict` in a directory exits with and says.
    fn check_in(&self, name: &str) -> (Option<i32>, String) {
        let output = self
            .command(&["check", "--strict"])
            .current_dir(self.path(name))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    }

    /// How often each hook of a project writes its line at one event in the worktree, for a host of
    /// a root.
    fn runs(&self, root: &str) -> Vec<String> {
        let log = self.path("log");
        let _ = fs::remove_file(&log);
        let cwd = self.path("worktree");
        let mut sent = event("ls");
        sent["cwd"] = cwd.to_str().unwrap().into();
        let args = ["hook", "claude-code", "--no-host", "--root"];
        let mut command = self.command(&[&args[..], &[self.path(root).to_str().unwrap()]].concat());
        let mut child = command.current_dir(&cwd).spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(sent.to_string().as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = fs::read_to_string(&log).unwrap_or_default();
        let mut lines: Vec<String> = said.lines().map(str::to_string).collect();
        lines.sort();
        lines
    }
}

#[test]
fn a_hook_that_a_worktree_has_from_the_first_one_runs_once() {
    const LOGS: &str = r#"
hooks:
  - { name: plain, on: PreToolUse, fail: closed, command: 'echo plain >> ../log' }
  - { name: script, on: PreToolUse, fail: closed, command: sh scripts/log.sh }
  - { name: no-push, on: PreToolUse, if: Bash(git push*), deny: "No." }
"#;
    const SCRIPT: &str = "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\n";
    let project = with_worktree(&[
        (".hookwire/guard.yaml", LOGS),
        ("scripts/log.sh", SCRIPT),
        ("scripts/lib.sh", "echo script >> ../log\n"),
    ]);
    assert_eq!(
        project.runs("worktree"),
        ["plain", "script"],
        "the first one's guard it"
    );
    let (_, said) = project.check_in("worktree");
    let first = format!(
        "what was trusted of {}, the repository's first worktree, is",
        project.path("project").display()
    );
    assert!(
        said.contains("nobody has trusted these") && said.contains(&first),
        "{said}"
    );
    assert!(!said.contains("duplicate-name"), "{said}");

    project.trust("worktree");
    for root in ["worktree", "project"] {
        assert_eq!(project.runs(root), ["plain", "script"], "{root}");
    }
    let (code, said) = project.check_in("worktree");
    assert!(
        code == Some(0) && said.contains("3 hooks in force"),
        "{said}"
    );

    // A hook that is another one, or that runs another file, holds beside that of the first
    // worktree.
    write(
        &project.path("worktree/.hookwire/guard.yaml"),
        &LOGS.replace("echo plain", "echo other"),
    );
    write(
        &project.path("worktree/scripts/lib.sh"),
        "echo changed >> ../log\n",
    );
    project.trust("worktree");
    for root in ["worktree", "project"] {
        assert_eq!(
            project.runs(root),
            ["changed", "other", "plain", "script"],
            "{root}"
        );
    }
    let (code, said) = project.check_in("worktree");
    assert!(
        code == Some(1) && said.matches("warning[duplicate-name]").count() == 2,
        "{said}"
    );
    let expected = "that is the repository's first worktree, whose trusted hooks guard this worktree, too; both run";
    assert!(
        said.matches(expected).count() == 2 && said.contains("`plain` is another hook than"),
        "{said}"
    );

    // What is edited and not trusted takes no guard away, and neither does a weaker copy that
    // somebody trusts.
    project.run(&["install", "claude-code"], "");
    let command = format!("{} --no-host", project.installed());
    let push = || project.say(&command, &project.path("worktree"), &[], "git push -f");
    write(
        &project.path("worktree/.hookwire/guard.yaml"),
        "hooks: []\n",
    );
    assert_eq!(push(), "deny");
    write(
        &project.path("worktree/.hookwire/guard.yaml"),
        &LOGS.replace("deny: \"No.\"", "allow: Go."),
    );
    project.trust("worktree");
    assert_eq!(push(), "deny");
    // Without the first one's, the worktree's own are all there is.
    write(&project.path("worktree/.hookwire/guard.yaml"), LOGS);
    project.trust("worktree");
    project.run(&["trust", "revoke"], "");
    assert_eq!(push(), "deny");
}

#[test]
fn a_hook_that_works_in_its_own_worktree_runs_in_each() {
    let hooks = "hooks: [{ name: cwd, on: PreToolUse, fail: closed, command: { run: 'echo $PWD >> \"$HOOKWIRE_PROJECT_DIR/../log\"', cwd: .. } }]\n";
    let project = with_worktree(&[(".hookwire/guard.yaml", hooks)]);
    project.trust("worktree");
    let expected = ["project", "worktree"].map(|name| project.path(name).display().to_string());
    assert_eq!(project.runs("worktree"), expected);
    let (code, said) = project.check_in("worktree");
    assert!(
        code == Some(0) && !said.contains("duplicate-name"),
        "{said}"
    );
}

#[test]
fn a_worktree_of_a_project_without_definitions_has_no_mistake() {
    let hooks = deny("no-push", "Bash(git push*)");
    let project = with_worktree(&[(".hookwire/guard.yaml", &hooks)]);
    project.trust("worktree");
    fs::remove_file(project.path("project/.hookwire/guard.yaml")).unwrap();
    project.trust("project");
    for name in ["worktree", "project"] {
        let (_, said) = project.check_in(name);
        assert!(!said.contains("unreadable"), "{name}: {said}");
    }
    assert_eq!(project.check_in("worktree").0, Some(0));
}
