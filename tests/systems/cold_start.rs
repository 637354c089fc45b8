//! A host that starts beside a broken definition: what was last good is in force, and without that
//! no tool is called.

use super::installed::Project;
use super::support::{eventually, replace, repo};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const GUARD: &str =
    "hooks:\n  - { name: no-echo, on: PreToolUse, if: Bash(echo *), deny: No echo. }\n";
const BROKEN: &str = "hooks: [\n";

/// Agents, their names of the moments before a call and at a prompt, and the member in which the
/// person is told.
const AGENTS: [(&str, &str, &str, Option<&str>); 7] = [
    (
        "claude-code",
        "PreToolUse",
        "UserPromptSubmit",
        Some("systemMessage"),
    ),
    (
        "codex",
        "PreToolUse",
        "UserPromptSubmit",
        Some("systemMessage"),
    ),
    ("gemini", "BeforeTool", "BeforeAgent", Some("systemMessage")),
    (
        "qwen",
        "PreToolUse",
        "UserPromptSubmit",
        Some("systemMessage"),
    ),
    ("copilot", "preToolUse", "userPromptSubmitted", None),
    ("cline", "PreToolUse", "UserPromptSubmit", None),
    ("opencode", "tool.execute.before", "chat.message", None),
];

fn config(project: &Project) -> PathBuf {
    project.0.path().join("home/.config/hookwire")
}

/// Where hosts keep what was last good.
fn kept(project: &Project) -> PathBuf {
    project
        .0
        .path()
        .join("home/.local/share/hookwire/last-good")
}

/// The one record there.
fn record(project: &Project) -> PathBuf {
    let records: Vec<_> = fs::read_dir(kept(project))
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    let [record] = &records[..] else {
        panic!("{records:?}")
    };
    record.clone()
}

/// A project of a user who has these definitions.
fn user(files: &[(&str, &str)]) -> Project {
    let project = Project::new();
    for (name, text) in files {
        let path = config(&project).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    project
}

/// What an agent sends at a moment, before `echo` is run or at a prompt.
fn payload(agent: &str, moment: &str) -> String {
    if agent == "claude-code" {
        let echo = json!({"tool_name": "Bash", "tool_input": {"command": "echo x"}, "prompt": "x"});
        let mut payload = json!({"session_id": "s", "hook_event_name": moment});
        payload
            .as_object_mut()
            .unwrap()
            .extend(echo.as_object().unwrap().clone());
        return payload.to_string();
    }
    let session =
        fs::read_to_string(repo("tests/data/agents").join(agent).join("session.jsonl")).unwrap();
    let named = format!("\"{moment}\"");
    session
        .lines()
        .find(|line| line.contains(&named))
        .unwrap()
        .into()
}

/// An agent's reply at a moment.
fn reply(project: &Project, agent: &str, moment: &str) -> Value {
    let output = project.run(&["hook", agent], &payload(agent, moment));
    assert_eq!(
        output.status.code(),
        Some(0),
        "{agent} {moment}: {output:?}"
    );
    match output.stdout.is_empty() {
        true => json!({}),
        false => serde_json::from_slice(&output.stdout).unwrap(),
    }
}

/// The reason for which Claude Code's call of `echo` is denied, with what the person is told.
fn denied(project: &Project) -> (String, String) {
    let reply = reply(project, "claude-code", "PreToolUse");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let said = &reply["hookSpecificOutput"];
    assert!(
        said.is_null() || said["permissionDecision"] == "deny",
        "{reply}"
    );
    (
        text(&said["permissionDecisionReason"]),
        text(&reply["systemMessage"]),
    )
}

#[test]
fn every_agent_is_denied_what_a_broken_file_forbade() {
    let project = user(&[("x.yaml", GUARD)]);
    let file = config(&project).join("x.yaml");
    let whole: Vec<Value> = AGENTS
        .iter()
        .map(|(agent, before, ..)| reply(&project, agent, before))
        .collect();
    let at = |text: &str| {
        let start = text
            .find("its state of ")
            .unwrap_or_else(|| panic!("{text}"))
            + 13;
        text[start..].split(' ').next().unwrap().to_string()
    };
    project.kill_host();
    fs::write(&file, BROKEN).unwrap();
    for ((agent, before, prompt, told), whole) in AGENTS.into_iter().zip(&whole) {
        let denied = reply(&project, agent, before);
        assert!(
            whole.to_string().contains("No echo.") && denied.to_string().contains("No echo."),
            "{agent}: {denied}"
        );
        let prompted = reply(&project, agent, prompt);
        let Some(member) = told else {
            assert_eq!(prompted, json!({}), "{agent}");
            continue;
        };
        for reply in [denied, prompted] {
            let said = reply[member].as_str().unwrap();
            let expected = format!(
                "hookwire: {} is broken; its state of {} is in force",
                file.display(),
                at(said)
            );
            // Gemini CLI shows the reason of a deny before it, and nobody has trusted the project.
            let is_told = said.lines().any(|line| line == expected);
            assert!(is_told, "{agent}: {said}, not {expected}");
        }
    }

    // Without what was kept, no tool is called.
    project.kill_host();
    fs::remove_dir_all(kept(&project)).unwrap();
    for (agent, before, prompt, told) in AGENTS {
        let denied = reply(&project, agent, before).to_string();
        for part in ["x.yaml:1:8: the `[` isn't closed", "x.yaml` shows it)"] {
            assert!(denied.contains(part), "{agent}: {denied}");
        }
        let prompted = reply(&project, agent, prompt);
        let said = format!(
            "hookwire: {} is broken, so every tool call is denied",
            file.display()
        );
        match told {
            Some(member) => assert!(
                prompted[member].as_str().unwrap().starts_with(&said),
                "{agent}: {prompted}"
            ),
            None => assert_eq!(prompted, json!({}), "{agent}"),
        }
    }
    // Once it is fixed, it is in force without a word.
    replace(&file, GUARD);
    eventually("the file is in force", || {
        (denied(&project) == ("No echo.".into(), String::new())).then_some(())
    });
}

/// How a definition that was good breaks, and how what stands there then is called.
type Breaks = (&'static str, fn(&Path));

const BREAKS: [Breaks; 9] = [
    ("a text that doesn't parse", |file| {
        fs::write(file, BROKEN).unwrap()
    }),
    ("half a character", |file| {
        fs::write(file, b"hooks: \xff").unwrap()
    }),
    ("nothing", |file| fs::write(file, "").unwrap()),
    ("no definitions", |file| {
        fs::write(file, "{ hoks: [] }").unwrap()
    }),
    ("a misspelt hook", |file| {
        fs::write(file, GUARD.replace("deny:", "dney:")).unwrap()
    }),
    ("a misspelt default", |file| {
        fs::write(file, format!("defaults: {{ fail: shut }}\n{GUARD}")).unwrap()
    }),
    ("a directory", |file| {
        fs::remove_file(file).unwrap();
        fs::create_dir(file).unwrap();
    }),
    ("a link to nothing", |file| {
        fs::remove_file(file).unwrap();
        symlink("nowhere", file).unwrap();
    }),
    ("a directory that is a file", |file| {
        fs::remove_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file.parent().unwrap(), "").unwrap();
    }),
];

#[test]
fn whatever_breaks_a_file_opens_nothing() {
    for (what, break_it) in BREAKS {
        for has_record in [true, false] {
            let project = user(&[("x.yaml", GUARD)]);
            let ask = || {
                let reply = project.run(
                    &["hook", "claude-code", "--no-host"],
                    &payload("claude-code", "PreToolUse"),
                );
                String::from_utf8(reply.stdout).unwrap()
            };
            assert!(ask().contains("No echo."), "{what}");
            break_it(&config(&project).join("x.yaml"));
            if !has_record {
                fs::remove_dir_all(kept(&project)).unwrap();
            }
            let said = ask();
            match has_record {
                true => {
                    assert!(
                        said.contains("No echo.") && said.contains(" is broken; its state of "),
                        "{what}: {said}"
                    )
                }
                // An empty file forbids nothing, and nobody knows better.
                false if what == "nothing" => {
                    assert!(!said.contains("permissionDecision"), "{what}: {said}")
                }
                false => {
                    assert!(
                        said.contains("deny") && said.contains("so every tool call is denied"),
                        "{what}: {said}"
                    )
                }
            }
        }
    }
}

#[test]
fn a_cold_start_goes_on_where_the_last_host_stopped() {
    let two = |first: &str, second: &str| {
        format!(
            "hooks:\n  - {{ name: a, on: PreToolUse, {first} }}\n  - {{ name: b, on: PreToolUse, {second} }}\n"
        )
    };
    let on = |tool: &str, reason: &str| format!("matcher: {tool}, deny: {reason}");
    let project = user(&[("x.yaml", &two(&on("Bash", "A1"), &on("Read", "B1")))]);
    let file = config(&project).join("x.yaml");
    let says = |tool: &str| {
        let event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": tool,
            "tool_input": {"command": "ls", "file_path": "x"}});
        let output = project.run(&["hook", "claude-code"], &event.to_string());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(says("Bash").contains("A1") && says("Read").contains("B1"));
    // One is broken while the other is edited, and then the whole file.
    replace(&file, &two("matcher: Bash, dney: A2", &on("Read", "B2")));
    eventually("the edit is in force", || {
        says("Read").contains("B2").then_some(())
    });
    replace(&file, BROKEN);
    for _ in 0..2 {
        project.kill_host();
        assert!(
            says("Bash").contains("A1") && says("Read").contains("B2"),
            "{} {}",
            says("Bash"),
            says("Read")
        );
    }
    // A hook that the file no longer names is gone, and so is a file.
    replace(
        &file,
        &two("matcher: Bash, dney: A2", "matcher: Read, dney: B3").replace("name: a", "name: c"),
    );
    project.kill_host();
    for tool in ["Bash", "Read", "LS"] {
        let said = says(tool);
        assert!(
            said.contains("hook `c` failed to run: its definition is broken, at"),
            "{said}"
        );
    }
    fs::remove_file(&file).unwrap();
    project.kill_host();
    assert!(!says("Bash").contains("permissionDecision"));
    fs::write(&file, BROKEN).unwrap();
    project.kill_host();
    assert!(
        says("Bash").contains("so every tool call is denied"),
        "its record is gone"
    );
}

#[test]
fn a_kept_script_is_the_one_that_was_read() {
    let hook = "hooks: [{ name: s, on: PreToolUse, fail: closed, script: { file: ./s.js } }]";
    let project = user(&[
        ("x.yaml", hook),
        ("s.js", "return { decision: 'deny', reason: 'by script' }"),
    ]);
    assert_eq!(denied(&project).0, "by script");
    project.kill_host();
    fs::write(config(&project).join("s.js"), "return {").unwrap();
    let (reason, told) = denied(&project);
    assert!(
        reason == "by script" && told.contains("x.yaml is broken; its state of"),
        "{reason} {told}"
    );
}

/// A record that others could have written counts as none.
#[test]
fn a_record_of_others_counts_as_none() {
    let chmod =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    type Spoil<'a> = &'a dyn Fn(&Path);
    let spoilt: [(&str, Spoil<'_>); 6] = [
        ("others can change it", &|record| chmod(record, 0o660)),
        ("others can change it", &|record| {
            chmod(record.parent().unwrap(), 0o770)
        }),
        ("it is damaged", &|record| {
            let text = fs::read_to_string(record).unwrap();
            fs::write(record, text.replace("echo *", "ecto *")).unwrap();
        }),
        ("EOF", &|record| fs::write(record, "{").unwrap()),
        ("symbolic links", &|record| {
            fs::rename(record, record.with_extension("moved")).unwrap();
            symlink(record.with_extension("moved"), record).unwrap();
        }),
        ("it belongs to another user", &|record| {
            if rustix::process::geteuid().is_root() {
                std::os::unix::fs::chown(record, Some(65534), None).unwrap();
            }
        }),
    ];
    for (why, spoil) in spoilt {
        if why.contains("another user") && !rustix::process::geteuid().is_root() {
            continue;
        }
        let project = user(&[("x.yaml", GUARD)]);
        assert_eq!(denied(&project).0, "No echo.");
        let record = record(&project);
        assert_eq!(
            (
                record.metadata().unwrap().mode() & 0o777,
                kept(&project).metadata().unwrap().mode() & 0o777
            ),
            (0o600, 0o700)
        );
        project.kill_host();
        spoil(&record);
        fs::write(config(&project).join("x.yaml"), BROKEN).unwrap();
        let (reason, told) = denied(&project);
        assert!(
            reason.contains("x.yaml:1:8: the `[` isn't closed"),
            "{why}: {reason}"
        );
        assert!(
            told.contains("counts as none") && told.contains(why),
            "{why}: {told}"
        );
    }
}

/// Who only looks writes nothing, nor does a host that has nothing new to keep, or is told to keep
/// apart.
#[test]
fn only_hosts_of_agents_write_and_only_what_changed() {
    let project = user(&[("x.yaml", GUARD)]);
    let isolated =
        ["--isolated", "--hooks", config(&project).to_str().unwrap()].map(str::to_string);
    let isolated: Vec<&str> = isolated.iter().map(String::as_str).collect();
    for args in [
        &["check"][..],
        &["check", "--list"],
        &["doctor"],
        &[
            "hook",
            "claude-code",
            "--no-host",
            isolated[0],
            isolated[1],
            isolated[2],
        ],
    ] {
        project.run(args, &payload("claude-code", "PreToolUse"));
        assert!(!kept(&project).exists(), "{args:?}");
    }
    let doctor = || String::from_utf8(project.run(&["doctor"], "").stdout).unwrap();
    assert!(
        doctor().contains("isn't kept: no host has run since it changed"),
        "{}",
        doctor()
    );
    assert_eq!(denied(&project).0, "No echo.");
    let written = || {
        record(&project)
            .metadata()
            .map(|it| (it.ino(), it.mtime_nsec()))
            .unwrap()
    };
    let first = written();
    project.kill_host();
    assert_eq!(denied(&project).0, "No echo.");
    assert_eq!(written(), first);
    assert!(
        doctor().contains("ok    the last good state of"),
        "{}",
        doctor()
    );
}

#[test]
fn a_host_that_cant_keep_what_is_good_judges_and_says_so() {
    let project = user(&[("x.yaml", GUARD)]);
    fs::create_dir_all(kept(&project).parent().unwrap()).unwrap();
    // What is to be a directory is a file: nothing can be written, whoever tries.
    fs::write(kept(&project), "").unwrap();
    assert_eq!(denied(&project).0, "No echo.");
    let logs: Vec<_> = fs::read_dir(project.0.path().join("run/hookwire"))
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    let log = logs
        .iter()
        .find(|path| path.extension().is_some_and(|it| it == "log"))
        .unwrap();
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("can't be kept"), "{log}");
    let doctor = String::from_utf8(project.run(&["doctor"], "").stdout).unwrap();
    assert!(doctor.contains("look  the last good state of"), "{doctor}");
}

/// Nothing within the layer of a broken file, or further in, can loosen what it denies.
#[test]
fn nothing_loosens_what_stands_in_for_a_broken_file() {
    let replace_all = "hooks: [{ name: r, on: PreToolUse, priority: -1000, script: \"return { replace: true, subject: {} }\" }]";
    let allow =
        "hooks: [{ name: yes, on: [PreToolUse, PermissionRequest], priority: -1000, allow: fine }]";
    let project = user(&[
        ("broken.yaml", BROKEN),
        ("a.yaml", replace_all),
        ("b.yaml", allow),
    ]);
    fs::write(project.root().join(".hookwire/guard.yaml"), allow).unwrap();
    let output = project.run(&["serve", "--live", "--no-share"], &format!(
        "{}\n{}\n{}\n{}\n",
        json!({"jsonrpc": "2.0", "id": 1, "method": "hooks/register", "params": {"hooks": [{"name": "s", "on": "*", "allow": "x"}]}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "hooks/dispatch", "params": {"event": "PreToolUse", "tool": {"name": "Read", "input": {}}}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "hooks/dispatch", "params": {"event": "PermissionRequest", "tool": {"name": "Read", "input": {}}}}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "hooks/dispatch", "params": {"event": "PostToolUse", "tool": {"name": "Read", "input": {}, "output": "x"}}}),
    ));
    let replies = String::from_utf8(output.stdout).unwrap();
    let verdict = |id: u64| {
        let replies = replies
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        replies.into_iter().find(|it| it["id"] == id).unwrap()["result"].take()
    };
    for id in [2, 3] {
        let verdict = verdict(id);
        assert_eq!(
            (&verdict["decision"], &verdict["decidedBy"]),
            (&json!("deny"), &json!("broken.yaml")),
            "{verdict}"
        );
    }
    let after = verdict(4);
    assert_eq!(after["decision"], "allow", "{after}");
    assert!(
        after["userMessages"][0]
            .as_str()
            .unwrap()
            .contains("broken.yaml is broken"),
        "{after}"
    );
    assert!(
        after["errors"][0]
            .as_str()
            .unwrap()
            .contains("broken.yaml:1:8"),
        "{after}"
    );
}
