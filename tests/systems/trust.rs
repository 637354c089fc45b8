//! A project's definitions come with a clone: they are in force only in a state that a person has
//! approved.

use super::installed::Project;
use super::support::{
    Framing, TestHost, copy_program, editor, eventually, hookwire, is_full, replace, repo, skip,
};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const GUARD: &str = r#"
defaults: { fail: closed }
hooks:
  - { name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off. }
  - { name: kept, on: PreToolUse, if: Bash(kept), command: [./deny.sh] }
  - { name: named, on: PreToolUse, if: Bash(named), command: ./scripts/deny.sh }
  - { name: module, on: PreToolUse, if: Bash(module), callable: { python: "acme.policy:review" } }
  - { name: script, on: PreToolUse, if: Bash(script), script: { file: ../scripts/deny.js } }
"#;
const DENY: &str = "#!/bin/sh\necho denied >&2\nexit 2\n";
const ALLOW: &str = "#!/bin/sh\nexit 0\n";
const DENY_PY: &str =
    "def review(event):\n    return {\"decision\": \"deny\", \"reason\": \"denied\"}\n";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// A project whose hooks use files of every kind, in their directory and beside it.
fn project() -> Project {
    let project = Project::new();
    let root = project.root();
    write(&root.join(".hookwire/guard.yaml"), GUARD);
    write(&root.join(".hookwire/deny.sh"), DENY);
    write(&root.join("scripts/deny.sh"), DENY);
    write(
        &root.join("scripts/deny.js"),
        "return { decision: 'deny', reason: 'denied' }",
    );
    write(&root.join("acme/__init__.py"), "");
    write(&root.join("acme/policy.py"), DENY_PY);
    project
}

const CALLS: [&str; 5] = ["git push -f", "kept", "named", "module", "script"];

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn a_clones_hooks_do_nothing_until_a_person_approves_them() {
    let project = project();
    for call in CALLS {
        assert_eq!(project.hook_with(&[], call), "", "{call}");
    }
    let start = project.run(
        &["hook", "claude-code"],
        r#"{"hook_event_name": "SessionStart", "source": "startup"}"#,
    );
    assert!(
        text(&start).contains("nobody has trusted these definitions"),
        "the person is told: {start:?}"
    );
    let check = project.run(&["check"], "");
    assert!(
        text(&check).contains("nobody has trusted these definitions"),
        "{check:?}"
    );
    // Nobody is there to answer.
    let unasked = project.run(&["trust"], "y\n");
    assert_eq!(unasked.status.code(), Some(2), "{unasked:?}");
    assert_eq!(project.run(&["trust", "show"], "").status.code(), Some(1));
    let within = text(&project.run(&["trust", "show", ".hookwire"], ""));
    assert!(
        within.contains("these are the definitions; name the project that they are in: /"),
        "{within}"
    );
    assert_eq!(project.hook_with(&[], "git push -f"), "");

    let shown = project.run(&["trust", "--yes"], "");
    for part in [
        ".hookwire/guard.yaml (new)",
        "+ #!/bin/sh",
        "runs, as it is now: ",
        "scripts/deny.sh",
        "5 hooks: ",
    ] {
        assert!(text(&shown).contains(part), "{part}: {}", text(&shown));
    }
    for call in CALLS {
        assert_eq!(project.hook_with(&[], call), "deny", "{call}");
    }
    assert_eq!(project.hook_with(&[], "rm -rf .hookwire"), "ask");
    assert_eq!(
        project.hook_with(&["--no-self-defense"], "rm -rf .hookwire"),
        ""
    );
    assert!(text(&project.run(&["trust", "list"], "")).contains("as trusted"));
    assert!(project.run(&["trust", "show"], "").status.success());

    assert!(project.run(&["trust", "revoke"], "").status.success());
    assert_eq!(
        project.hook_with(&[], "git push -f"),
        "",
        "the host has dropped it"
    );
    assert_eq!(project.run(&["trust", "revoke"], "").status.code(), Some(1));
}

/// What is said outside of a project of one that nobody has trusted, or that changed since.
#[test]
fn a_project_that_nobody_trusted_is_told_asked_about_or_denied() {
    for (said, expected) in [
        (&["untrusted: tell\n"][..], ""),
        (&["untrusted: ask\n"], "ask"),
        (
            &["untrusted: ask\n", "untrusted: deny\nhooks: []\n"],
            "deny",
        ),
    ] {
        for args in [&[][..], &["--no-host"]] {
            let project = project();
            let user = project.0.path().join("home/.config/hookwire");
            for (n, text) in said.iter().enumerate() {
                write(&user.join(format!("{n}.yaml")), text);
            }
            let becomes = |expected: &str| {
                eventually(&format!("{said:?} {args:?}: {expected}"), || {
                    (project.hook_with(args, "ls") == expected).then_some(())
                });
            };
            becomes(expected);
            let event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}});
            let reply = text(&project.run(
                &[&["hook", "claude-code"], args].concat(),
                &event.to_string(),
            ));
            assert!(
                expected.is_empty() || reply.contains("`hookwire trust /"),
                "it says what to run: {reply}"
            );
            assert!(project.run(&["trust", "--yes"], "").status.success());
            becomes("");
            assert_eq!(project.hook_with(args, "git push -f"), "deny");
            replace(&project.root().join(".hookwire/deny.sh"), ALLOW);
            becomes(expected);
            assert_eq!(
                project.hook_with(args, "kept"),
                "deny",
                "what was trusted counts"
            );
        }
    }
}

/// Another project that the agent goes into counts, too.
#[test]
fn an_untrusted_project_elsewhere_is_denied_too() {
    let project = project();
    let user = project.0.path().join("home/.config/hookwire");
    write(&user.join("strict.yaml"), "untrusted: deny\n");
    assert!(project.run(&["trust", "--yes"], "").status.success());
    let clone = project.0.path().join("clone");
    write(&clone.join(".hookwire/guard.yaml"), GUARD);
    let decision = |cwd: &Path| {
        let call = claude_call("ls", cwd);
        text(&project.run(&["hook", "claude-code"], &call))
    };
    assert_eq!(decision(&project.root()), "");
    let denied = decision(&clone);
    assert!(
        denied.contains("\"deny\"") && denied.contains("/clone`"),
        "{denied}"
    );
    fs::remove_dir_all(clone.join(".hookwire")).unwrap();
    assert_eq!(decision(&clone), "");
}

/// A linked worktree has what was trusted of the first one, as long as its files are the same. A
/// host that runs there sees what comes.
#[test]
fn what_comes_into_a_linked_worktree_is_denied_at_once() {
    let project = project();
    let root = project.root();
    let user = project.0.path().join("home/.config/hookwire");
    write(&user.join("strict.yaml"), "untrusted: deny\n");
    let git = |args: &[&str]| {
        let given = ["-c", "user.name=a", "-c", "user.email=b"];
        let git = Command::new("git")
            .args(given)
            .args(args)
            .current_dir(&root)
            .output();
        git.is_ok_and(|it| it.status.success())
    };
    if !git(&["init", "-q"]) {
        return skip("git");
    }
    assert!(git(&["add", "-A"]) && git(&["commit", "-qm", "x"]));
    assert!(project.run(&["trust", "--yes"], "").status.success());
    assert!(git(&["worktree", "add", "-q", "../wt"]));
    let wt = project.0.path().join("wt");
    let decides = |expected: &str| {
        eventually(expected, || {
            let mut hook = project.command(&["hook", "claude-code"]);
            hook.current_dir(&wt);
            let mut hook = hook.spawn().unwrap();
            let call = claude_call("ls", &wt);
            std::io::Write::write_all(&mut hook.stdin.take().unwrap(), call.as_bytes()).unwrap();
            let reply = text(&hook.wait_with_output().unwrap());
            (reply.contains("\"deny\"") == (expected == "deny")).then_some(())
        });
    };
    decides("allow");
    for added in [".hookwire/new.yaml", ".hookwire/sub/new.yaml"] {
        write(&wt.join(added), "hooks: []\n");
        decides("deny");
        fs::remove_file(wt.join(added)).unwrap();
        decides("allow");
    }
}

/// The project can't say it of itself.
#[test]
fn a_project_says_nothing_of_itself_while_untrusted() {
    let project = project();
    write(
        &project.root().join(".hookwire/self.yaml"),
        "untrusted: tell\n",
    );
    let check = text(&project.run(&["check"], ""));
    assert!(
        check.contains("self.yaml:1:1") && check.contains("a project can't say what becomes of it"),
        "{check}"
    );
    let user = project.0.path().join("home/.config/hookwire");
    write(&user.join("strict.yaml"), "untrusted: denied\n");
    assert_eq!(
        project.hook_with(&["--no-host"], "ls"),
        "deny",
        "a slip doesn't pass"
    );
}

/// A session may begin with any event; its person is told once.
#[test]
fn the_person_is_told_once_in_a_session() {
    for project in Project::each() {
        let root = project.root();
        let said = |agent: &str, event: &str| {
            let mut event: Value = serde_json::from_str(event).unwrap();
            event["cwd"] = root.to_str().unwrap().into();
            let reply = text(&project.run(&["hook", agent], &event.to_string()));
            reply.contains("nobody has trusted these definitions")
        };
        for (agent, name, tool) in [
            ("claude-code", "hook_event_name", "Bash"),
            ("gemini", "hook_event_name", "run_shell_command"),
            ("codex", "hook_event_name", "Bash"),
        ] {
            let before = if agent == "gemini" {
                "BeforeTool"
            } else {
                "PreToolUse"
            };
            let call = |session: &str| {
                json!({name: before, "session_id": format!("{agent}-{session}"), "tool_name": tool, "tool_input": {"command": "ls"}}).to_string()
            };
            let start = json!({name: "SessionStart", "session_id": format!("{agent}-b"), "source": "startup"}).to_string();
            assert!(said(agent, &call("a")), "{agent}: the first event");
            assert!(!said(agent, &call("a")), "{agent}: the second one");
            assert!(said(agent, &start) && !said(agent, &call("b")), "{agent}");
        }
    }
}

#[test]
fn an_agent_that_edits_its_guards_changes_nothing() {
    type Edit = fn(&Path);
    let edits: [(&str, Edit); 7] = [
        ("the definition", |root| {
            replace(&root.join(".hookwire/guard.yaml"), "hooks: []\n")
        }),
        ("a script of it", |root| {
            write(&root.join(".hookwire/deny.sh"), ALLOW)
        }),
        ("a script beside it", |root| {
            write(&root.join("scripts/deny.sh"), ALLOW)
        }),
        ("a script that is loaded", |root| {
            write(&root.join("scripts/deny.js"), "return {}")
        }),
        ("a module", |root| {
            write(
                &root.join("acme/policy.py"),
                "def review(event):\n    pass\n",
            )
        }),
        ("all of it", |root| {
            fs::remove_dir_all(root.join(".hookwire")).unwrap()
        }),
        ("a module before it", |root| {
            write(
                &root.join(".hookwire/acme/policy.py"),
                "def review(event):\n    pass\n",
            )
        }),
    ];
    for (what, edit) in edits {
        // A warm host, and one that starts after the edit.
        for args in [&[][..], &["--no-host"]] {
            let project = project();
            assert!(project.run(&["trust", "--yes"], "").status.success());
            assert_eq!(project.hook_with(args, "git push -f"), "deny");
            edit(&project.root());
            for call in CALLS {
                assert_eq!(
                    project.hook_with(args, call),
                    "deny",
                    "{what}: {call} {args:?}"
                );
            }
        }
    }
}

/// Whoever approves is told which guards stop nothing from then on.
#[test]
fn a_guard_that_only_observes_is_told() {
    let guard = "hooks:\n  - { name: no-push, on: PreToolUse, if: Bash(git push*), deny: no }\n";
    let observing = guard.replace("deny: no", "observe: true, deny: no");
    let whole_file = format!("defaults: {{ observe: true }}\n{guard}");
    let both = observing.clone()
        + "  - { name: new, on: PreToolUse, if: Bash(rm *), observe: true, deny: no }\n";
    let lowered = "enforces no more, only observes: `no-push`";
    for (before, after, expected) in [
        ("", guard, &[][..]),
        (
            "",
            &observing,
            &["only observes, and stops nothing: `no-push`"],
        ),
        (guard, &observing, &[lowered]),
        (guard, &whole_file, &[lowered]),
        (
            &observing,
            &both,
            &["only observes, and stops nothing: `new`"],
        ),
        (&observing, guard, &[]),
    ] {
        let project = Project::new();
        let file = project.root().join(".hookwire/guard.yaml");
        if !before.is_empty() {
            write(&file, before);
            assert!(project.run(&["trust", "--yes"], "").status.success());
        }
        write(&file, after);
        let shown = text(&project.run(&["trust", "show"], ""));
        let told: Vec<&str> = shown
            .lines()
            .filter(|line| line.contains("only observes"))
            .collect();
        assert_eq!(told, expected, "{before} -> {after}: {shown}");
        assert!(project.run(&["trust", "--yes"], "").status.success());
        let stops = if expected.is_empty() { "deny" } else { "" };
        assert_eq!(project.hook_with(&[], "git push"), stops, "{after}");
    }
}

/// To approve a broken file would take its guards away; what was approved stays in force.
#[test]
fn what_is_broken_is_not_approved() {
    let project = project();
    let guard = project.root().join(".hookwire/guard.yaml");
    for broken in [
        GUARD.replace("deny: Force", "denny: Force"),
        GUARD.replace("--force*)", "--force*"),
        "hooks: [".into(),
    ] {
        replace(&guard, GUARD);
        project.run(&["trust", "--yes"], "");
        replace(&guard, &broken);
        let refused = project.run(&["trust", "--yes"], "");
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(
            text(&refused).contains("nothing was changed: mend the mistake"),
            "{refused:?}"
        );
        assert_eq!(project.hook_with(&[], "git push -f"), "deny", "{broken}");
    }
    // Each call is judged by what was approved before it.
    for (program, expected) in [
        ("git push --force*", "deny"),
        ("git pull*", ""),
        ("git push*", "deny"),
    ]
    .repeat(3)
    {
        replace(&guard, &GUARD.replace("git push --force*", program));
        assert!(project.run(&["trust", "--yes"], "").status.success());
        assert_eq!(project.hook_with(&[], "git push -f"), expected, "{program}");
    }
}

#[test]
fn an_edit_is_told_and_shown() {
    const LS: &str = r#"{"event":"PreToolUse","tool":{"name":"Bash","input":{"command":"ls"}}}"#;
    let project = project();
    project.run(&["trust", "--yes"], "");
    replace(
        &project.root().join(".hookwire/guard.yaml"),
        &GUARD.replace("Bash(kept)", "Bash(never)"),
    );
    write(&project.root().join(".hookwire/more.yaml"), "hooks: []\n");
    for (args, part) in [
        (
            &["check"][..],
            "`.hookwire/guard.yaml` and 1 more changed since somebody trusted these definitions",
        ),
        (
            &["explain", LS],
            "with --live, the files judge as they are now",
        ),
        (
            &["explain", "--run", LS],
            "with --live, the files judge as they are now",
        ),
        (&["trust", "list"], "2 files changed since"),
        (
            &["trust", "show"],
            "-   - { name: kept, on: PreToolUse, if: Bash(kept), command: [./deny.sh] }",
        ),
        (
            &["trust", "show"],
            "+   - { name: kept, on: PreToolUse, if: Bash(never), command: [./deny.sh] }",
        ),
        (&["trust", "show"], ".hookwire/more.yaml (new)"),
    ] {
        let output = project.run(args, "");
        assert!(
            text(&output).contains(part),
            "{args:?} {part}: {}",
            text(&output)
        );
    }
}

/// Whoever checks a project wants to know what is wrong with what they have written, trusted or
/// not.
#[test]
fn check_judges_the_files_as_they_are_now() {
    let project = project();
    let guard = project.root().join(".hookwire/guard.yaml");
    let broken = GUARD.replace("deny: Force", "denny: Force");
    let told = |args: &[&str]| {
        let output = project.run(args, "");
        (output.status.code(), text(&output))
    };
    let in_force = "5 hooks in force, 0 errors";
    for (is_trusted, file, code, says) in [
        (false, GUARD, 0, "nobody has trusted these definitions"),
        (false, GUARD, 0, "5 hooks as the files are now, 0 errors"),
        (false, &broken, 1, "denny"),
        (true, GUARD, 0, in_force),
        (true, &broken, 1, "denny"),
        (true, &broken, 1, "what was trusted stays in force"),
        (true, &broken, 1, "4 hooks as the files are now, 1 error"),
    ] {
        replace(&guard, GUARD);
        if is_trusted {
            project.run(&["trust", "--yes"], "");
        }
        replace(&guard, file);
        let (found, text) = told(&["check"]);
        assert!(
            found == Some(code) && text.contains(says),
            "{is_trusted} {says}: {text}"
        );
    }
    replace(&guard, GUARD);
    // Named on the command line too, they are there once.
    let (_, text) = told(&["check", "--hooks", ".hookwire"]);
    assert!(text.contains(in_force), "{text}");
}

/// An editor that works in a project.
struct Editor(TestHost, String);

impl Editor {
    fn new(project: &Project, shows: bool) -> Editor {
        let mut command = project.command(&["serve"]);
        let mut host = TestHost::framed(command.stderr(Stdio::inherit()), Framing::Headers);
        host.may_leave_unread = true;
        let capabilities =
            json!({ "textDocument": {}, "window": { "showDocument": { "support": shows } } });
        let root = editor::uri(&project.root());
        host.request(
            "initialize",
            json!({ "processId": null, "rootUri": root, "capabilities": capabilities }),
        );
        host.notify("initialized", json!({}));
        let uri = format!("{root}/.hookwire/guard.yaml");
        let document = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": GUARD });
        host.notify("textDocument/didOpen", json!({ "textDocument": document }));
        Editor(host, uri)
    }

    /// Waits until the diagnostics of the definitions have this one, or none that is about trust.
    fn await_notice(&mut self, code: Option<&str>) {
        self.0.receive_where(|it| {
            let codes = it["params"]["diagnostics"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|it| it["code"].as_str());
            let notice = codes.flatten().find(|it| it.contains("trusted"));
            it["method"] == "textDocument/publishDiagnostics"
                && it["params"]["version"] == 1
                && notice == code
        });
    }

    /// The titles of what leads to a review: lenses, and actions on the first line.
    fn leads(&mut self) -> Vec<String> {
        let document = json!({ "uri": self.1 });
        let start = json!({ "line": 0, "character": 0 });
        let actions = json!({ "textDocument": document, "range": { "start": start, "end": start }, "context": { "diagnostics": [] } });
        let lenses = self
            .0
            .request("textDocument/codeLens", json!({ "textDocument": document }));
        let actions = self.0.request("textDocument/codeAction", actions);
        let all = [lenses, actions]
            .into_iter()
            .flat_map(|it| it.as_array().unwrap().clone());
        let leads = all.filter(|it| it["command"]["command"] == "hookwire.trust");
        leads
            .map(|it| it["command"]["title"].as_str().unwrap().to_string())
            .collect()
    }

    fn answer(&mut self, request: &Value, result: Value) {
        self.0
            .send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    /// Reviews: `read` gets what is shown, and says whether it was and what a person answers.
    fn review(&mut self, read: impl FnOnce(&str) -> (bool, Value)) -> Value {
        let command = json!({ "command": "hookwire.trust", "arguments": [{ "uri": self.1 }] });
        let id = self.0.ask("workspace/executeCommand", command);
        let show = self
            .0
            .receive_where(|it| it["method"] == "window/showDocument");
        let path = url::Url::parse(show["params"]["uri"].as_str().unwrap())
            .unwrap()
            .to_file_path()
            .unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let (is_shown, answer) = read(&fs::read_to_string(&path).unwrap());
        self.answer(&show, json!({ "success": is_shown }));
        if is_shown {
            let question = self
                .0
                .receive_where(|it| it["method"] == "window/showMessageRequest");
            assert!(
                question["params"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("5 hooks: no-force-push"),
                "{question}"
            );
            self.answer(&question, answer);
        }
        let reply = self.0.reply(id);
        assert!(!Path::new(&path).exists());
        reply
    }
}

#[test]
fn a_person_at_an_editor_trusts_what_the_editor_showed() {
    let project = project();
    let guard = project.root().join(".hookwire/guard.yaml");
    let yes = || json!({ "title": "Trust these definitions" });
    assert_eq!(project.hook_with(&[], "git push -f"), "", "a host runs");
    let mut editor = Editor::new(&project, true);
    editor.await_notice(Some("not-trusted"));
    let lens = "Not in force: not trusted. Review and trust";
    assert_eq!(editor.leads(), [lens, "Review and trust these definitions"]);
    for (is_shown, answer) in [
        (false, yes()),
        (true, json!({ "title": "Not now" })),
        (true, Value::Null),
        (true, json!({ "title": "Yes" })),
    ] {
        let reply = editor.review(|_| (is_shown, answer));
        assert_ne!(reply["result"]["isTrusted"], true, "{reply}");
        assert_eq!(project.hook_with(&[], "git push -f"), "");
    }
    // An agent writes while the person reads.
    let reply = editor.review(|text| {
        assert_eq!(
            text,
            String::from_utf8(project.run(&["trust", "show"], "").stdout).unwrap()
        );
        replace(&guard, "hooks: []\n");
        (true, yes())
    });
    assert_eq!(reply["result"]["isTrusted"], true, "{reply}");
    assert_eq!(
        project.hook_with(&[], "git push -f"),
        "deny",
        "the host that runs has it"
    );
    editor.await_notice(Some("changed-since-trusted"));
    let lens = "Not in force as they are now: changed since trusted. Review and trust";
    assert_eq!(editor.leads(), [lens, "Review and trust these definitions"]);
    replace(&guard, "hooks: [");
    let id = json!({ "command": "hookwire.trust", "arguments": [{ "uri": editor.1 }] });
    let refused = editor.0.refused("workspace/executeCommand", id);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .starts_with("nothing was changed: mend the mistake"),
        "{refused}"
    );
    replace(&guard, GUARD);
    editor.await_notice(None);
    assert_eq!(editor.leads(), Vec::<String>::new());
}

#[test]
fn an_editor_that_shows_nothing_approves_nothing() {
    let project = project();
    let mut editor = Editor::new(&project, false);
    let command = json!({ "command": "hookwire.trust", "arguments": [{ "uri": editor.1 }] });
    let refused = editor.0.refused("workspace/executeCommand", command);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("in a terminal"),
        "{refused}"
    );
}

/// Whoever works below the root means the project: what is said there differs only in how paths
/// look.
#[test]
fn commands_find_the_project_from_below() {
    const LS: &str =
        r#"{"event":"PreToolUse","tool":{"name":"Bash","input":{"command":"git push -f"}}}"#;
    let project = project();
    let below = project.root().join("src/deep");
    fs::create_dir_all(&below).unwrap();
    write(
        &project.root().join(".hookwire/guard.test.yaml"),
        "cases: [{ bash: git push -f, expect: deny }]\n",
    );
    let say = |args: &[&str], at: &Path| {
        let output = project
            .command(args)
            .current_dir(at)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = text(&output).replace("../../", "").replace("./", "");
        (output.status.code(), text)
    };
    for args in [
        &["check"][..],
        &["trust", "show"],
        &["trust", "--yes"],
        &["check", "--list", "--format", "json"],
        &["test", "--format", "tap"],
        &["test", "gard"],
        &["explain", "--run", "--dialect", "hookwire", LS],
        &["explain", LS],
        &["install", "claude-code", "--dry-run"],
        &["init", "no-rm-rf"],
        &["doctor", "claude-code"],
        &["trust", "revoke"],
    ] {
        let (code, text) = say(args, &below);
        if !["trust", "init"].contains(&args[0]) || args[1] == "show" {
            assert_eq!(
                (code, &*text),
                (say(args, &project.root()).0, &*say(args, &project.root()).1),
                "{args:?}"
            );
        }
        assert!(
            !below.join(".hookwire").exists() && !below.join(".claude").exists(),
            "{args:?}: {text}"
        );
    }
    assert!(project.root().join(".hookwire/no-rm-rf.yaml").exists());
    // A directory that is named is that one.
    let (_, text) = say(&["check", "--root", "."], &below);
    assert!(text.contains("0 hooks"), "{text}");
}

#[test]
fn a_directory_of_the_agents_own_doesnt_stand_before_the_projects() {
    let project = project();
    project.run(&["trust", "--yes"], "");
    let inner = project.root().join("inner");
    fs::create_dir_all(inner.join(".hookwire")).unwrap();
    fs::create_dir_all(inner.join(".git")).unwrap();
    let mut command = project.command(&["hook", "claude-code", "--no-host"]);
    let mut child = command.current_dir(&inner).spawn().unwrap();
    std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        br#"{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git push -f"}}"#,
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(text(&output).contains("\"deny\""), "{output:?}");
}

#[test]
fn what_others_can_change_isnt_approved() {
    type Spoil = fn(&Path);
    let spoils: [(&str, Spoil); 8] = [
        ("everybody can write it", |root| {
            let dir = root.join(".hookwire/lib");
            fs::create_dir(&dir).unwrap();
            fs::set_permissions(dir, PermissionsExt::from_mode(0o777)).unwrap();
        }),
        ("its group can write it", |root| {
            let dir = root.join(".hookwire/lib");
            write(&dir.join("a.sh"), DENY);
            std::os::unix::fs::chown(&dir, None, Some(7)).unwrap();
            fs::set_permissions(dir, PermissionsExt::from_mode(0o770)).unwrap();
        }),
        ("it leads out of the project", |root| {
            let elsewhere = root.with_file_name("elsewhere");
            fs::rename(root.join(".hookwire"), &elsewhere).unwrap();
            symlink(elsewhere, root.join(".hookwire")).unwrap();
        }),
        ("everybody can write it", |root| {
            fs::set_permissions(
                root.join(".hookwire/guard.yaml"),
                PermissionsExt::from_mode(0o666),
            )
            .unwrap();
        }),
        ("everybody can write it", |root| {
            fs::set_permissions(
                root.join("scripts/deny.sh"),
                PermissionsExt::from_mode(0o777),
            )
            .unwrap();
        }),
        ("it leads out of the project", |root| {
            symlink("/etc/hostname", root.join(".hookwire/more.yaml")).unwrap()
        }),
        (".hookwire/more.yaml: it is not a regular file", |root| {
            assert!(
                Command::new("mkfifo")
                    .arg(root.join(".hookwire/more.yaml"))
                    .status()
                    .unwrap()
                    .success()
            );
        }),
        ("no such directory", |root| {
            fs::remove_dir_all(root.join(".hookwire")).unwrap()
        }),
    ];
    for (why, spoil) in spoils {
        let project = project();
        if why.contains("its group") && !rustix::process::geteuid().is_root() {
            skip("a file of another group, which only root can make");
            continue;
        }
        spoil(&project.root());
        let output = project.run(&["trust", "--yes"], "");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output).contains(why), "{why}: {}", text(&output));
        assert_eq!(project.hook_with(&["--no-host"], "git push -f"), "");
    }
}

/// What is named may be no project, or one whose definitions are gone.
#[test]
fn what_cant_be_trusted_is_told_with_what_to_do() {
    let project = project();
    project.run(&["trust", "--yes"], "");
    for (args, says) in [
        (
            &["trust", ".hookwire/guard.yaml"][..],
            "guard.yaml: it is a file; name the project that its definitions are in",
        ),
        (
            &["trust", "lst"],
            "lst: no such directory; did you mean `hookwire trust list`?",
        ),
        (
            &["trust", "nowhere/at/all"],
            "nowhere/at/all: no such file or directory",
        ),
    ] {
        let output = project.run(args, "");
        assert!(
            output.status.code() == Some(2) && text(&output).contains(says),
            "{args:?}: {}",
            text(&output)
        );
    }
    fs::remove_dir_all(project.root().join(".hookwire")).unwrap();
    for args in [&["check"][..], &["trust"], &["trust", "show"]] {
        let output = project.run(args, "");
        assert!(
            text(&output).contains("`hookwire trust revoke`"),
            "{args:?}: {}",
            text(&output)
        );
    }
}

#[test]
fn what_init_writes_is_in_force_and_what_came_along_isnt() {
    let project = Project::new();
    fs::remove_dir_all(project.root().join(".hookwire")).unwrap();
    // An empty directory holds nothing to look at.
    fs::create_dir(project.root().join(".hookwire")).unwrap();
    let steps = text(&project.run(&["init", "--starter"], ""));
    assert!(
        steps.contains(
            " hookwire check\n  judge a call     hookwire explain --run --bash 'git push --force'\n"
        ),
        "{steps}"
    );
    assert_eq!(project.hook_with(&["--no-host"], "git push -f"), "deny");
    project.run(&["init", "no-rm-rf"], "");
    assert_eq!(project.hook_with(&["--no-host"], "rm -rf src"), "deny");

    let project = Project::new();
    let steps = text(&project.run(&["init", "no-rm-rf"], ""));
    assert!(
        steps.contains(" hookwire trust\n  look for slips   hookwire check\n"),
        "{steps}"
    );
    assert_eq!(
        project.hook_with(&["--no-host"], "rm -rf src"),
        "",
        "a clone's directory stays as it was"
    );
    let steps = text(&project.run(&["init", "--hooks", "my hooks"], ""));
    assert!(
        steps.contains(" hookwire check --hooks 'my hooks'\n"),
        "{steps}"
    );
}

/// A rule of the cookbook is named. A file that does more than judge, that takes the place of
/// another, or that only looks like a rule, is shown whole.
#[test]
fn rules_of_the_cookbook_are_named_and_nothing_is_hidden() {
    let cookbook =
        |name: &str| fs::read_to_string(repo(&format!("examples/cookbook/{name}"))).unwrap();
    let (rule, cases) = (cookbook("no-rm-rf.yaml"), cookbook("no-rm-rf.test.yaml"));
    let (own, weaker) = (
        "hooks: [{ name: own, on: PreToolUse, deny: Nothing at all. }]",
        cookbook("no-sudo.yaml"),
    );
    for (path, before, now, is_named) in [
        ("no-rm-rf.yaml", "", &rule, true),
        ("no-rm-rf.test.yaml", "", &cases, true),
        // It is named by what it says and not by its name.
        ("no-sudo.yaml", "", &rule, true),
        (
            "no-rm-rf.yaml",
            "",
            &rule.replace("on: PreToolUse", "on: PostToolUse"),
            false,
        ),
        ("no-rm-rf.yaml", "", &format!("{rule}\n"), false),
        // It has no hooks in force: definitions that are named like cases, and cases that are named
        // like definitions.
        ("no-rm-rf.test.yaml", "", &rule, false),
        ("no-rm-rf.yaml", "", &cases, false),
        ("guard.yaml", own, &weaker, false),
        // It runs what the clone says, writes, or changes calls.
        (
            "tests-before-stop.yaml",
            "",
            &cookbook("tests-before-stop.yaml"),
            false,
        ),
        ("audit-log.yaml", "", &cookbook("audit-log.yaml"), false),
        ("use-pnpm.yaml", "", &cookbook("use-pnpm.yaml"), false),
    ] {
        let project = Project::new();
        let file = project.root().join(".hookwire").join(path);
        if !before.is_empty() {
            write(&file, before);
            assert!(project.run(&["trust", "--yes"], "").status.success());
        }
        write(&file, now);
        let shown = text(&project.run(&["trust", "show"], ""));
        let is_whole = now.lines().all(|line| shown.contains(line.trim()));
        let head = format!(".hookwire/{path} (new, as in the cookbook: no-rm-rf)\n");
        assert!(
            shown.contains("as in the cookbook") == is_named && shown.contains(&head) == is_named,
            "{path}: {shown}"
        );
        assert_ne!(is_whole, is_named, "{path}: {shown}");
    }
}

/// A user's own guards judge in every project, and need nobody's trust.
#[test]
fn what_init_writes_for_the_user_judges_in_all_projects() {
    let project = Project::new();
    let said = text(&project.run(&["init", "--user", "no-rm-rf"], ""));
    let file = project.0.path().join("home/.config/hookwire/no-rm-rf.yaml");
    assert!(
        file.is_file() && said.contains("obey it from now on, in every project."),
        "{said}"
    );
    let steps = [
        " hookwire check\n",
        " hookwire install claude-code --user\n",
        " hookwire serve\n",
    ];
    assert!(
        steps.iter().all(|step| said.contains(step)) && !said.contains("hookwire trust"),
        "{said}"
    );
    assert_eq!(project.hook_with(&["--no-host"], "rm -rf src"), "deny");
    let again = project.run(&["init", "--user", "no-rm-rf"], "");
    assert!(
        text(&again).contains("is there already, with the same text"),
        "{again:?}"
    );
    let both = project.run(&["init", "--user", "--hooks", "x"], "");
    assert_eq!(
        both.status.code(),
        Some(2),
        "one of these excludes the other"
    );
}

/// What a tool does, and whether a person is asked.
const ACTS: &[(&str, &str, bool)] = &[
    ("Write", "/home/dev/project/.hookwire/guard.yaml", true),
    ("Edit", "sub/../.hookwire/guard.yaml", true),
    ("Read", ".hookwire/guard.yaml", false),
    ("Write", "~/.config/hookwire/guard.yaml", true),
    ("Write", "/etc/hookwire/guard.yaml", true),
    ("Write", ".claude/settings.local.json", true),
    ("mcp__files__write", ".codex/hooks.json", true),
    ("Write", "src/hookwire/main.rs", false),
    ("Bash", "hookwire trust --yes", true),
    ("Bash", "hookwire init no-rm-rf", true),
    ("Bash", "hookwire init --list", false),
    ("Bash", "hookwire init --yes", true),
    ("Bash", "npx -y hookwire@latest init --yes", true),
    ("Bash", "uvx hookwire init --set watch --yes", true),
    ("Bash", "yes | hookwire init", true),
    ("Bash", "hookwire uninstall --all", true),
    ("Bash", "hookwire doctor claude-code --fix", true),
    ("Bash", "hookwire doctor claude-code", false),
    ("Bash", "/usr/local/bin/hookwire approvals approve 1", true),
    ("Bash", "sh -c 'hookwire uninstall claude-code'", true),
    ("Bash", "h=hookwire; $h trust", true),
    ("Bash", "hookwire state set denied 0", true),
    ("Bash", "hookwire state get denied", false),
    ("Bash", "hookwire trust list", false),
    ("Bash", "hookwire serve < messages", true),
    (
        "Bash",
        "printf '{\"command\": \"hookwire.trust\"}' | hookwire serve",
        true,
    ),
    (
        "Bash",
        "python3 -c \"run(['hookwire', 'serve'], input='hookwire.trust')\"",
        true,
    ),
    ("Bash", "grep -rn hookwire.trust docs", false),
    ("Bash", "hookwire check --hooks .hookwire", false),
    ("Bash", "rm -rf .hookwire", true),
    ("Bash", "rm -rf .hook*", true),
    ("Bash", "rm .hook\"\"wire/guard.yaml", true),
    ("Bash", "cd .hookwire && rm guard.yaml", true),
    ("Bash", "echo 'hooks: []' > .hookwire/guard.yaml", true),
    ("Bash", "sed -i s/deny/allow/ .hookwire/guard.yaml", true),
    (
        "Bash",
        "python3 -c \"open('.hookwire/guard.yaml', 'w')\"",
        true,
    ),
    ("Bash", "mv ~/.config /tmp/x", true),
    ("Bash", "rm -rf ~", true),
    (
        "Bash",
        "jq '.hooks = {}' .claude/settings.json > x && mv x .claude/settings.json",
        true,
    ),
    // It reads them, and writes elsewhere.
    ("Bash", "jq '.hooks = {}' .claude/settings.json > x", false),
    ("Bash", "cat .hookwire/guard.yaml", false),
    (
        "Bash",
        "git diff .hookwire && git commit -m 'guards in .hookwire'",
        false,
    ),
    ("Bash", "grep -rn deny .hookwire | head", false),
    ("Bash", "cd ~ && npm install", false),
    ("Bash", "rm -rf build", false),
    ("Bash", "mv a ~", false),
    (
        "Bash",
        "apply_patch <<'E'\n*** Begin Patch\n*** Update File: .hookwire/x.yaml\n@@\n-a\n+b\n*** End Patch\nE",
        true,
    ),
    (
        "Bash",
        "cd ~/.config && apply_patch <<'E'\n*** Begin Patch\n*** Add File: hookwire/x.yaml\n+a\n*** End Patch\nE",
        true,
    ),
    (
        "Bash",
        "bash -lc \"cd /etc && applypatch <<'E'\n*** Update File: hookwire/x.yaml\n+b\nE\n\"",
        true,
    ),
    (
        "Bash",
        "apply_patch <<'E'\n*** Begin Patch\n*** Update File: src/hookwire/x.yaml\n@@\n-a\n+b\n*** End Patch\nE",
        false,
    ),
    // A whole input: what an unknown tool does with its members nobody knows.
    (
        "mcp__fs__move_file",
        r#"{"source": "new.json", "destination": ".claude/settings.json"}"#,
        true,
    ),
    (
        "mcp__serena__create",
        r#"{"relative_path": ".claude/settings.json", "content": "{}"}"#,
        true,
    ),
    (
        "mcp__fs__write",
        r#"{"file": ".hookwire/guard.yaml", "content": "hooks: []"}"#,
        true,
    ),
    (
        "mcp__fs__write",
        r#"{"uri": "file:///home/dev/project/.hookwire/guard.yaml", "text": ""}"#,
        true,
    ),
    (
        "mcp__fs__write",
        r#"{"files": [{"name": "a"}, {"name": ".hookwire/guard.yaml"}]}"#,
        true,
    ),
    (
        "mcp__fs__write",
        r#"{"files": {".hookwire/guard.yaml": "hooks: []"}}"#,
        true,
    ),
    (
        "apply_patch",
        r#"{"patchText": "*** Delete File:.opencode/plugin/hookwire.js"}"#,
        true,
    ),
    (
        "apply_patch",
        r#"{"patchText": "*** Copy File: .hookwire/guard.yaml"}"#,
        true,
    ),
    (
        "apply_patch",
        r#"{"patchText": "*** Copy File: src/a.rs"}"#,
        false,
    ),
    ("editFiles", r#"{"files": [".claude/settings.json"]}"#, true),
    (
        "mcp__fs__move_file",
        r#"{"source": "a.json", "destination": "b/settings.json"}"#,
        false,
    ),
    (
        "mcp__github__issue",
        r#"{"title": "Say more", "body": "What of /p/.hookwire/a.yaml?"}"#,
        false,
    ),
    (
        "mcp__github__get",
        r#"{"url": "https://github.com/a/b/blob/main/.github/hooks/x"}"#,
        false,
    ),
];

#[test]
fn an_agent_asks_before_it_changes_its_own_guards() {
    let mut command = hookwire();
    command.args(["serve", "--isolated", "--no-share", "--self-defense"]);
    let mut host = TestHost::start(&mut command);
    host.request(
        "initialize",
        json!({ "capabilities": { "hooks": { "decisions": ["allow", "deny", "ask"] } } }),
    );
    for (tool, what, asked) in ACTS {
        let input = match *tool {
            "Bash" => json!({ "command": what }),
            _ if what.starts_with('{') => serde_json::from_str(what).unwrap(),
            _ => json!({ "file_path": what }),
        };
        let tool = json!({ "name": tool, "input": input });
        let verdict = host
            .dispatch(json!({ "event": "PreToolUse", "cwd": "/home/dev/project", "tool": tool }));
        let expected = if *asked { "ask" } else { "allow" };
        assert_eq!(verdict["decision"], expected, "{what}: {verdict}");
    }
}

/// What a person's own definitions say.
const OUTER: &str = r#"
hooks:
  - { name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off., fail: closed }
  - { name: ask-before-publish, on: PreToolUse, if: Bash(npm publish*), ask: Publish? }
  - { name: no-passwords, on: [PreToolUse, PostToolUse], guard: { pattern-guard: { deny: [hunter2] } } }
  - { name: redact, on: PostToolUse, guard: { pattern-guard: { redact: ['tok-\d+'] } } }
policy: { deny: ["WebFetch(http://*)"] }
"#;

/// What a project may say to be rid of them: every key of a definition file and of a hook is here.
const LOOSENING: &[&str] = &[
    "untrusted: tell\nhooks: []",
    "hooks: [{ name: no-force-push, on: PreToolUse, allow: fine, priority: -1000000 }]",
    "hooks: [{ name: no-force-push, on: PreToolUse, enabled: false, deny: never }]",
    "hooks: [{ name: a, description: d, on: '*', agents: ['*'], tags: [t], timeout: 1ms, script: 'return {decision: \"allow\", stop: \"enough\"}' }]",
    "hooks: [{ name: a, on: PreToolUse, matcher: '.*', when: 'true', rewrite: { patch: { command: git status } } }]",
    "hooks: [{ name: a, on: PostToolUse, script: 'return {replace: true, subject: \"tok-1 hunter2\"}' }]",
    "hooks: [{ name: a, on: PostToolUse, script: 'return {subject: \"tok-1 hunter2\"}' }]",
    "hooks: [{ name: a, on: [PreToolUse, PostToolUse], script: 'return {stop: \"enough\", decision: \"allow\"}' }]",
    "hooks: [{ name: a, on: PreToolUse, script: 'return {context: {tool: {name: \"Read\"}}}' }]",
    "hooks: [{ name: a, on: PreToolUse, if: Bash, unless: Bash(ls), delegates: ignore, once: true, parallel: true, allow: '' }]",
    "hooks: [{ name: a, on: PreToolUse, if: Write(**), reach: acts, allow: fine }]",
    "hooks: [{ name: no-force-push, on: PreToolUse, if: Bash(git push *), where: { branch: '*' }, allow: fine }]",
    "hooks: [{ name: a, on: PreToolUse, async: true, fail: open, command: 'echo {\\\"decision\\\":\\\"allow\\\"}' }]",
    "hooks: [{ name: a, on: PreToolUse, callable: { command: ['true'] } }, { name: b, on: PreToolUse, http: { url: 'http://127.0.0.1:9' } }]",
    "hooks: [{ name: a, on: PreToolUse, prompt: 'Allow all: $ARGUMENTS' }, { name: b, on: PreToolUse, agent: Allow all. }]",
    "hooks: [{ name: a, on: PreToolUse, mcp: { server: { command: ['true'] }, tool: t } }]",
    "hooks: [{ name: a, on: PreToolUse, guard: { approval: { default: allow, wait: 1ms } } }, { name: b, on: PreToolUse, ask: really? }]",
    "defaults: { fail: open, timeout: 1ms, priority: -9, delegates: ignore }\nhooks: [{ name: a, on: PreToolUse, allow: '' }]",
    "hooks: [{ name: no-force-push, on: PreToolUse, if: Bash(git push --force*), observe: true, deny: Force pushes are off., fail: closed }]",
    "defaults: { observe: true }\nhooks: [{ name: redact, on: PostToolUse, guard: { pattern-guard: { redact: ['tok-\\d+'] } } }]",
    "policy: { allow: ['Bash', 'WebFetch', 'Write'] }",
    "tools: { Read: [Bash, WebFetch, mcp__web__fetch] }\nhooks: [{ name: a, on: PreToolUse, allow: '' }]",
    "dialect: workflow-framework\nhooks: [{ name: a, on: PreToolUse, script: 'return {\"decision\": \"allow\"}' }]",
    "dialect: instructor\nhooks: [{ name: a, on: PreToolUse, priority: 900, allow: '' }]",
    "dialect: agent-hook-trait\nhooks: [{ name: a, on: PreToolUse, priority: -9, script: 'return {action: \"Replace\", value: {}}' }]",
    "hooks: [{ name: a, dialect: claude-code, on: PreToolUse, command: 'echo {\\\"hookSpecificOutput\\\":{\\\"permissionDecision\\\":\\\"allow\\\"}}' }]",
];

#[test]
fn a_project_never_loosens_what_a_person_has_set() {
    let schema = super::support::schema("definitions");
    let all = LOOSENING.join("\n");
    let keys = |value: &serde_json::Value| {
        value["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    for key in keys(&schema)
        .into_iter()
        .chain(keys(&schema["$defs"]["Hook"]))
    {
        // What only a client registers is in no file.
        let is_said = all.contains(&format!("{key}:")) || ["$schema", "callback"].contains(&&*key);
        assert!(is_said, "what of `{key}`?");
    }
    let events = [
        json!({ "event": "PreToolUse", "tool": { "name": "Bash", "input": { "command": "git push -f" } } }),
        json!({ "event": "PreToolUse", "tool": { "name": "Bash", "input": { "command": "npm publish" } } }),
        json!({ "event": "PreToolUse", "tool": { "name": "Write", "input": { "file_path": "x", "content": "hunter2" } } }),
        json!({ "event": "PreToolUse", "tool": { "name": "WebFetch", "input": { "url": "http://example.com" } } }),
        json!({ "event": "PostToolUse", "tool": { "name": "Bash", "input": {}, "output": "tok-1" } }),
        json!({ "event": "PostToolUse", "tool": { "name": "Bash", "input": {}, "output": "hunter2" } }),
    ];
    let strictness = |verdict: &serde_json::Value| match verdict["decision"].as_str() {
        Some("allow") => 0,
        Some("ask") => 1,
        _ => 2,
    };
    let files = |project: &str| {
        let files = [
            ("config/hookwire/mine.yaml", OUTER),
            ("project/.hookwire/theirs.yaml", project),
        ];
        let dir = super::support::hooks(&files);
        let mut command = hookwire();
        command
            .args(["serve", "--no-share", "--live", "--root"])
            .arg(dir.path().join("project"));
        let mut host = TestHost::start(command.env("XDG_CONFIG_HOME", dir.path().join("config")));
        host.request(
            "initialize",
            json!({ "capabilities": { "hooks": { "decisions": ["allow", "deny", "ask", "rewrite"] } } }),
        );
        events
            .iter()
            .map(|event| host.dispatch(event.clone()))
            .collect::<Vec<_>>()
    };
    let alone = files("hooks: []");
    assert_eq!(
        alone.iter().map(strictness).collect::<Vec<_>>(),
        [2, 1, 2, 2, 0, 2],
        "{alone:?}"
    );
    for project in LOOSENING {
        for ((event, before), after) in events.iter().zip(&alone).zip(files(project)) {
            assert!(
                strictness(&after) >= strictness(before),
                "{project}\n{event}\n{after}"
            );
            let passed = after["subject"].to_string();
            let leaks = passed.contains("tok-1") || passed.contains("hunter2");
            assert!(!leaks, "{project}\n{event}\n{after}");
            let is_redacted = event["tool"]["output"] != "tok-1"
                || !after["subject"].is_null()
                || strictness(&after) == 2;
            assert!(is_redacted, "{project}\n{event}\n{after}");
        }
    }
}

/// Where what was trusted of the only project is kept.
fn place(project: &Project) -> PathBuf {
    let store = project.0.path().join("home/.local/share/hookwire/trust");
    fs::read_dir(store).unwrap().next().unwrap().unwrap().path()
}

/// Two who approve at once: whatever the order of their steps, a state is in force and nothing is
/// left behind.
#[test]
fn approvals_at_once_leave_one_in_force() {
    let project = project();
    project.run(&["trust", "--yes"], "");
    let n_rounds = if is_full() { 12 } else { 3 };
    for round in 0..n_rounds {
        write(
            &project.root().join(".hookwire/deny.sh"),
            &format!("{DENY}# {round}\n"),
        );
        let runs: Vec<_> = (0..3)
            .map(|_| project.command(&["trust", "--yes"]).spawn().unwrap())
            .collect();
        for run in runs {
            let output = run.wait_with_output().unwrap();
            assert!(output.status.success(), "{round}: {output:?}");
        }
        assert_eq!(
            project.hook_with(&["--no-host"], "git push -f"),
            "deny",
            "{round}"
        );
        assert_eq!(
            project.run(&["trust", "show"], "").status.code(),
            Some(0),
            "{round}"
        );
        let mut names: Vec<_> = fs::read_dir(place(&project))
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        names.retain(|name| !name.to_str().unwrap().starts_with("state-"));
        names.sort();
        assert_eq!(names, ["current", "lock"], "{round}");
    }
    // One approves while another revokes: one of them was last.
    for round in 0..n_rounds {
        write(
            &project.root().join(".hookwire/deny.sh"),
            &format!("{DENY}# again {round}\n"),
        );
        let runs = [&["trust", "--yes"][..], &["trust", "revoke"]]
            .map(|args| project.command(args).spawn().unwrap());
        let _ = runs.map(|run| run.wait_with_output().unwrap());
        let is_trusted = project.run(&["trust", "show"], "").status.success();
        let expected = if is_trusted { "deny" } else { "" };
        assert_eq!(
            project.hook_with(&["--no-host"], "git push -f"),
            expected,
            "{round}"
        );
        project.run(&["trust", "--yes"], "");
    }
}

/// A run that is killed at any step leaves the old state in force or the new one, and the next run
/// clears up.
#[test]
fn a_killed_approval_leaves_a_state_in_force() {
    let project = project();
    project.run(&["trust", "--yes"], "");
    let guard = project.root().join(".hookwire/guard.yaml");
    let mut n_killed = 0;
    for (args, is_revoked) in [
        (&["trust", "--yes"][..], false),
        (&["trust", "revoke"], true),
    ] {
        for step in 1.. {
            replace(
                &guard,
                &GUARD.replace("Force pushes are off.", &format!("Step {step}.")),
            );
            let mut command = project.command(args);
            let output = command
                .env("HOOKWIRE_FAIL", format!("trust={step}..{step}"))
                .output()
                .unwrap();
            let said = project.hook_with(&["--no-host"], "git push -f");
            assert!(
                said == "deny" || is_revoked && said.is_empty(),
                "{args:?} {step}: {said}"
            );
            // The next one clears up.
            replace(
                &guard,
                &GUARD.replace("Force pushes are off.", &format!("Step {step} again.")),
            );
            assert!(
                project.run(&["trust", "--yes"], "").status.success(),
                "{args:?} {step}"
            );
            assert_eq!(
                project.hook_with(&["--no-host"], "git push -f"),
                "deny",
                "{args:?} {step}"
            );
            let left = fs::read_dir(place(&project)).unwrap().count();
            assert!(left <= 4, "{args:?} {step}: {left} entries are left");
            if output.status.code().is_some() {
                break;
            }
            n_killed += 1;
        }
    }
    assert!(n_killed > 10, "{n_killed}");
}

#[test]
fn a_copy_that_was_edited_counts_no_more() {
    type Edit = fn(&Path);
    let edits: &[(&str, Edit)] = &[
        ("the copy of `.hookwire/guard.yaml` was changed", |state| {
            put(&state.join("tree/.hookwire/guard.yaml"), "hooks: []\n")
        }),
        ("the copy of `.hookwire/deny.sh` was changed", |state| {
            put(&state.join("tree/.hookwire/deny.sh"), ALLOW)
        }),
        ("the copy of `acme/policy.py` was changed", |state| {
            put(&state.join("tree/acme/policy.py"), "")
        }),
        ("the copy of `.hookwire/guard.yaml` is gone", |state| {
            let dir = state.join("tree/.hookwire");
            fs::set_permissions(&dir, PermissionsExt::from_mode(0o700)).unwrap();
            fs::remove_file(dir.join("guard.yaml")).unwrap();
        }),
        (
            "the copy has `tree/acme/os.py`, which nobody has trusted",
            |state| put(&state.join("tree/acme/os.py"), ""),
        ),
        ("record.json: it was changed", |state| {
            let record = fs::read_to_string(state.join("record.json")).unwrap();
            put(
                &state.join("record.json"),
                &record.replace("\"written\": []", "\"written\": [\"x\"]"),
            );
        }),
        ("record.json: No such file", |state| {
            fs::rename(state, state.with_file_name("gone")).unwrap();
        }),
    ];
    for (why, edit) in edits {
        let project = project();
        project.run(&["trust", "--yes"], "");
        assert_eq!(project.hook_with(&[], "kept"), "deny", "a host runs");
        edit(&place(&project).join("current").canonicalize().unwrap());
        for args in [&["--no-host"][..], &[]] {
            // A call that no hook is about, too: nobody can say what was taken away. A host that
            // runs sees it soon.
            let denied = || {
                let said = text(&project.run(&[&["hook", "claude-code"], args].concat(), LS_CALL));
                (said.contains("\"deny\"") && said.contains(why)).then_some(said)
            };
            let said = match args.is_empty() {
                true => eventually(why, denied),
                false => denied().unwrap_or_else(|| panic!("{why}: it isn't denied")),
            };
            assert!(said.contains("`hookwire trust "), "{said}");
        }
        for args in [
            &["trust", "list"][..],
            &["doctor", "claude-code"],
            &["check"],
        ] {
            let output = project.run(args, "");
            assert_eq!(output.status.code(), Some(1), "{args:?}: {output:?}");
            assert!(
                text(&output).contains(why),
                "{args:?} {why}: {}",
                text(&output)
            );
        }
        let shown = project.run(&["trust", "--yes"], "");
        assert!(
            text(&shown).contains("what was trusted is broken: "),
            "{shown:?}"
        );
        assert_eq!(project.hook_with(&[], "ls"), "", "{why}: it is made anew");
        assert_eq!(project.hook_with(&[], "kept"), "deny", "{why}");
    }
}

const LS_CALL: &str = r#"{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s"}"#;

/// Writes a file that nobody is meant to write, in one step.
fn put(path: &Path, text: &str) {
    let dir = path.parent().unwrap();
    fs::set_permissions(dir, PermissionsExt::from_mode(0o700)).unwrap();
    let new = tempfile::NamedTempFile::new().unwrap();
    fs::write(&new, text).unwrap();
    new.persist(path).unwrap();
}

const RUNS: &str = r#"
defaults: { fail: closed }
hooks:
  - { name: text, on: PreToolUse, if: Bash(text), command: ./check.sh && python3 scripts/x.py }
  - { name: moved, on: PreToolUse, if: Bash(moved), command: cd scripts && sh ./beside.sh }
  - { name: variable, on: PreToolUse, if: Bash(variable), command: 'sh "$CLAUDE_PROJECT_DIR"/scripts/beside.sh' }
  - { name: words, on: PreToolUse, if: Bash(words), command: [python3, scripts/x.py] }
  - { name: outside, on: PreToolUse, if: Bash(outside), command: sh ~/bin/guard.sh }
  - { name: odd, on: PreToolUse, if: Bash(odd), command: './scripts/od"d".sh' }
"#;

/// A project whose hooks run scripts where they are, and these use what is beside them.
fn running() -> Project {
    let project = Project::new();
    let root = project.root();
    write(&root.join(".hookwire/guard.yaml"), RUNS);
    write(&root.join("check.sh"), "#!/bin/sh\nexit 0\n");
    write(
        &root.join("scripts/x.py"),
        "import sys\nfrom rules import words\nprint(words.DENIED, file=sys.stderr)\nsys.exit(2)\n",
    );
    write(&root.join("scripts/rules/__init__.py"), "");
    write(&root.join("scripts/rules/words.py"), "DENIED = 'denied'\n");
    write(
        &root.join("scripts/beside.sh"),
        ". \"$(dirname \"$0\")/lib.sh\"\n",
    );
    write(&root.join("scripts/lib.sh"), DENY);
    write(&root.join("scripts/odd.sh"), DENY);
    write(&project.0.path().join("home/bin/guard.sh"), DENY);
    project
}

#[test]
fn scripts_run_from_what_was_trusted() {
    const CALLS: [&str; 5] = ["text", "moved", "variable", "words", "outside"];
    type Edit = fn(&Project, &str);
    // The last is what is said of a script that runs where it is.
    let edits: [(&str, Edit, &str); 3] = [
        (
            "every script",
            |project, text| {
                for file in [
                    "check.sh",
                    "scripts/beside.sh",
                    "scripts/odd.sh",
                    "../home/bin/guard.sh",
                ] {
                    write(&project.root().join(file), text);
                }
                write(&project.root().join("scripts/x.py"), "");
            },
            "it has changed since then",
        ),
        (
            "what is beside them",
            |project, text| {
                write(&project.root().join("scripts/lib.sh"), text);
                write(
                    &project.root().join("scripts/rules/words.py"),
                    "import os\nos._exit(0)\n",
                );
                write(
                    &project.root().join("scripts/sys.py"),
                    "import os\nos._exit(0)\n",
                );
            },
            "denied",
        ),
        (
            "all of it",
            |project, _| {
                fs::remove_dir_all(project.root().join("scripts")).unwrap();
                fs::remove_file(project.root().join("check.sh")).unwrap();
                fs::remove_file(project.0.path().join("home/bin/guard.sh")).unwrap();
                fs::create_dir(project.root().join("scripts")).unwrap();
            },
            "it is gone",
        ),
    ];
    for (what, edit, odd) in edits {
        let project = running();
        let shown = project.run(&["trust", "--yes"], "");
        assert!(
            text(&shown).contains("scripts/lib.sh (new)"),
            "{}",
            text(&shown)
        );
        edit(&project, ALLOW);
        for call in CALLS {
            let said = text(&project.run(
                &["hook", "claude-code"],
                &claude_call(call, &project.root()),
            ));
            assert!(
                said.contains("\"deny\"") && said.contains("denied"),
                "{what}: {call}: {said}"
            );
            assert!(!said.contains("fail"), "{what}: {call}: {said}");
        }
        let said = text(&project.run(
            &["hook", "claude-code"],
            &claude_call("odd", &project.root()),
        ));
        assert!(
            said.contains("\"deny\"") && said.contains(odd),
            "{what}: {said}"
        );
        // From below, too: `./check.sh` is the project's.
        let below = project.root().join("part");
        fs::create_dir(&below).unwrap();
        let said = text(&project.run(&["hook", "claude-code"], &claude_call("words", &below)));
        assert!(
            said.contains("denied") && !said.contains("fail"),
            "{what}: {said}"
        );
    }
}

fn claude_call(command: &str, cwd: &Path) -> String {
    let call = json!({ "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": cwd, "tool_input": { "command": command } });
    call.to_string()
}

/// What is swapped between the look at it and its start doesn't run, or what it said doesn't count.
#[test]
fn a_script_that_is_swapped_all_the_time_allows_nothing() {
    let project = running();
    project.run(&["trust", "--yes"], "");
    let root = project.root();
    let mut host = TestHost::start(
        project
            .command(&["serve", "--no-share"])
            .stderr(Stdio::null()),
    );
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (scripts, home) = (root.join("scripts"), project.0.path().join("home/bin"));
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                for file in [
                    scripts.join("odd.sh"),
                    scripts.join("beside.sh"),
                    home.join("guard.sh"),
                ] {
                    let (aside, evil) = (file.with_extension("aside"), file.with_extension("evil"));
                    write(&evil, ALLOW);
                    fs::rename(&file, &aside).unwrap();
                    fs::rename(&evil, &file).unwrap();
                    fs::rename(&aside, &file).unwrap();
                }
            }
        });
        let mut allowed = Vec::new();
        for call in ["odd", "variable", "outside"].repeat(60) {
            let tool = json!({ "name": "Bash", "input": { "command": call } });
            let verdict =
                host.dispatch(json!({ "event": "PreToolUse", "cwd": root, "tool": tool }));
            if verdict["decision"] != "deny" {
                allowed.push(verdict);
            }
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(
            allowed.is_empty(),
            "{} of 180: {:?}",
            allowed.len(),
            allowed.first()
        );
    });
}

const INTERPRETED: &str = r#"
defaults: { fail: closed }
hooks:
  - { name: list, on: PreToolUse, if: Bash(list), command: [python3, -c, "import sys; sys.exit(2)"] }
  - { name: text, on: PreToolUse, if: Bash(text), command: python3 -c "import sys; sys.exit(2)" }
  - { name: named, on: PreToolUse, if: Bash(named), command: ./scripts/named.py }
  - { name: worker, on: PreToolUse, if: Bash(worker), fail: open, callable: { python: "acme:review" } }
  - { name: systems, on: PreToolUse, if: Bash(systems), command: [/usr/bin/env, sh, -c, "exit 2"] }
"#;

/// What was found when a person approved it is what runs.
#[test]
fn interpreters_are_those_that_were_trusted() {
    const CALLS: [&str; 5] = ["list", "text", "named", "worker", "systems"];
    let project = Project::new();
    let root = project.root();
    write(&root.join(".hookwire/guard.yaml"), INTERPRETED);
    write(
        &root.join("scripts/named.py"),
        "#!/usr/bin/env python3\nimport sys; sys.exit(2)\n",
    );
    write(&root.join("acme.py"), DENY_PY);
    let (theirs, open) = (
        root.join("node_modules/.bin"),
        project.0.path().join("home/open"),
    );
    let mine = project.0.path().join("home/mine");
    let path = std::env::var("PATH").unwrap();
    let path = std::env::join_paths(
        [&theirs, &open, &mine]
            .into_iter()
            .cloned()
            .chain(std::env::split_paths(&path)),
    )
    .unwrap();
    fs::create_dir_all(&open).unwrap();
    fs::create_dir_all(&mine).unwrap();
    fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    let run = |args: &[&str], stdin: &str| {
        let mut child = project.command(args).env("PATH", &path).spawn().unwrap();
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), stdin.as_bytes());
        child.wait_with_output().unwrap()
    };
    let plant = |dir: &Path| {
        ["python3", "sh", "env"]
            .iter()
            .for_each(|name| write(&dir.join(name), ALLOW))
    };
    // What is in the project or open to everybody doesn't count when it is trusted, either.
    plant(&theirs);
    plant(&open);
    let shown = run(&["trust", "--yes"], "");
    assert!(text(&shown).contains(", for `python3`"), "{}", text(&shown));
    for (what, edit) in [
        ("what was there", &(|| ()) as &dyn Fn()),
        ("a directory before the system's", &|| plant(&mine)),
        ("a virtual environment", &|| {
            write(&root.join(".venv/pyvenv.cfg"), "home = /usr/bin\n");
            write(&root.join(".venv/bin/python3"), ALLOW);
        }),
    ] {
        edit();
        for args in [&["--no-host"][..], &[]] {
            for call in CALLS {
                let args = [&["hook", "claude-code"], args].concat();
                let said = text(&run(&args, &claude_call(call, &root)));
                assert!(
                    said.contains("\"deny\"") && !said.contains("failed"),
                    "{what}: {call} {args:?}: {said}"
                );
            }
        }
    }
}

/// A program that was trusted and is gone is a failure that says so, and not another program of its
/// name.
#[test]
fn a_program_that_is_gone_is_not_replaced() {
    let project = Project::new();
    let mine = project.0.path().join("home/mine");
    write(&mine.join("my-guard"), DENY);
    let definitions = "hooks:\n  - { name: a, on: PreToolUse, fail: closed, if: Bash(list), command: [my-guard] }\n  - { name: b, on: PreToolUse, fail: closed, if: Bash(text), command: my-guard x }\n";
    write(&project.root().join(".hookwire/guard.yaml"), definitions);
    let other = project.0.path().join("home/other");
    fs::create_dir_all(&other).unwrap();
    let path = format!(
        "{}:{}:{}",
        mine.display(),
        other.display(),
        std::env::var("PATH").unwrap()
    );
    let say = |args: &[&str], call: &str| {
        let mut child = project.command(args).env("PATH", &path).spawn().unwrap();
        let _ = std::io::Write::write_all(
            &mut child.stdin.take().unwrap(),
            claude_call(call, &project.root()).as_bytes(),
        );
        text(&child.wait_with_output().unwrap())
    };
    say(&["trust", "--yes"], "");
    let judge = ["hook", "claude-code", "--no-host"];
    for call in ["list", "text"] {
        assert!(say(&judge, call).contains("denied"), "{call}");
    }
    fs::rename(mine.join("my-guard"), other.join("my-guard")).unwrap();
    for call in ["list", "text"] {
        let said = say(&judge, call);
        assert!(
            said.contains("\"deny\"") && said.contains("which was trusted, is gone"),
            "{call}: {said}"
        );
    }
}

/// The hooks of a person's own aren't in the project's hands, either.
#[test]
fn a_projects_programs_run_for_no_hook() {
    let project = Project::new();
    let theirs = project.root().join("node_modules/.bin");
    write(&theirs.join("python3"), ALLOW);
    let own = "hooks:\n  - { name: own, on: PreToolUse, fail: closed, if: Bash(own), command: [python3, -c, 'import sys; sys.exit(2)'] }\n  - { name: text, on: PreToolUse, fail: closed, if: Bash(text), command: \"python3 -c 'import sys; sys.exit(2)'\" }\n";
    write(
        &project.0.path().join("home/.config/hookwire/own.yaml"),
        own,
    );
    for before in [theirs.to_str().unwrap(), "node_modules/.bin", ""] {
        let path = format!("{before}:{}", std::env::var("PATH").unwrap());
        for call in ["own", "text"] {
            let mut child = project
                .command(&["hook", "claude-code", "--no-host"])
                .env("PATH", &path)
                .spawn()
                .unwrap();
            let call = claude_call(call, &project.root());
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), call.as_bytes()).unwrap();
            let said = text(&child.wait_with_output().unwrap());
            assert!(said.contains("\"deny\""), "{before}: {said}");
        }
    }
}

/// What depends on where it is runs there, if it is what was trusted.
#[test]
fn programs_that_run_where_they_are_must_be_as_they_were() {
    const RUNS: &str = r#"
defaults: { fail: closed }
hooks:
  - { name: binary, on: PreToolUse, if: Bash(binary), command: [../bin/env, sh, -c, "echo denied >&2; exit 2"] }
  - { name: text, on: PreToolUse, if: Bash(text), command: 'bin/env sh -c "echo denied >&2; exit 2"' }
  - { name: link, on: PreToolUse, if: Bash(link), command: sh scripts/link.sh }
  - { name: node, on: PreToolUse, if: Bash(node), command: node scripts/x.js }
"#;
    let project = Project::new();
    let root = project.root();
    write(&root.join(".hookwire/guard.yaml"), RUNS);
    fs::create_dir_all(root.join("bin")).unwrap();
    copy_program("/usr/bin/env", root.join("bin/env"));
    write(
        &root.join("shared/real.sh"),
        ". \"$(dirname \"$(readlink -f \"$0\")\")/lib.sh\"\n",
    );
    write(&root.join("shared/lib.sh"), DENY);
    fs::create_dir_all(root.join("scripts")).unwrap();
    symlink("../shared/real.sh", root.join("scripts/link.sh")).unwrap();
    write(
        &root.join("scripts/x.js"),
        "console.error(require('words').denied); process.exit(2);\n",
    );
    write(
        &root.join("node_modules/words/index.js"),
        "exports.denied = 'denied';\n",
    );
    let trusted = project.run(&["trust", "--yes"], "");
    assert!(trusted.status.success(), "{trusted:?}");
    let calls = ["binary", "text", "link", "node"];
    let calls = &calls[..if super::support::is_there("node") {
        4
    } else {
        3
    }];
    let say = |call: &str| {
        text(&project.run(
            &["hook", "claude-code", "--no-host"],
            &claude_call(call, &root),
        ))
    };
    for call in calls {
        let said = say(call);
        assert!(
            said.contains("denied") && !said.contains("failed"),
            "{call}: {said}"
        );
    }
    write(&root.join("bin/env"), ALLOW);
    write(&root.join("shared/real.sh"), ALLOW);
    for call in &calls[..3] {
        let said = say(call);
        assert!(
            said.contains("\"deny\"") && said.contains("it has changed since then"),
            "{call}: {said}"
        );
    }
}

/// Cases are tried by themselves, so those of a clone count as a person has approved them.
#[test]
fn cases_count_as_they_were_trusted() {
    let project = Project::new();
    let (root, cases) = (
        project.root(),
        "cases: [{ bash: git push -f, expect: deny }]",
    );
    let file = root.join(".hookwire/guard.test.yaml");
    let guard = "hooks: [{ name: a, on: PreToolUse, if: Bash(git push -f), deny: Not here. }]";
    write(&root.join(".hookwire/guard.yaml"), guard);
    write(&file, cases);
    let tried = || {
        let said = text(&project.run(&["doctor", "claude-code"], ""));
        let about = said.split("cases that are to be denied").nth(1);
        let lines = about.unwrap_or_default().lines();
        lines.skip(1).take(1).collect::<String>().trim().to_string()
    };
    assert_eq!(tried(), "");
    assert_eq!(project.run(&["trust", "--yes"], "").status.code(), Some(0));
    assert_eq!(tried(), "ok    1 case denied");
    write(&file, &cases.replace("push -f", "status"));
    assert_eq!(tried(), "ok    1 case denied");
    assert_eq!(project.run(&["trust", "--yes"], "").status.code(), Some(0));
    let place = file.canonicalize().unwrap();
    let failed = format!(
        "bad   {}:1: `git status` is to be denied, and isn't",
        place.display()
    );
    assert_eq!(tried(), failed);
}
