//! `hookwire import AGENT`: an agent's own hooks do through hookwire what they did without it.

use super::installed::{Project, files};
use super::support::repo;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

/// A project without definitions and with these files; scripts among them can be run.
fn project(files: &[(&str, &str)]) -> Project {
    let project = Project::new();
    fs::remove_dir_all(project.root().join(".hookwire")).unwrap();
    for (name, text) in files {
        let path = project.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    project
}

/// What `import` says, one row a hook, and the file that it writes.
fn import(project: &Project, args: &[&str]) -> (Vec<Value>, String) {
    let output = project.run(&[&["import", "--format", "json"], args].concat(), "");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let mut rows: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let written = rows
        .pop()
        .unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let is_whole = rows.iter().all(|row| row["carried"] == true);
    assert_eq!(output.status.code(), Some(i32::from(!is_whole)), "{rows:?}");
    let file = project.root().join(written["file"].as_str().unwrap());
    (rows, fs::read_to_string(file).unwrap())
}

/// A script for an agent that can say no in two ways.
fn script(deny: &Value) -> String {
    format!(
        "#!/bin/sh\ncase \"$(cat)\" in\n*secret*) echo '{deny}';;\n*wipe*) echo 'Not that.' >&2; exit 2;;\nesac\n"
    )
}

/// What a command says about a payload: its reply, or that it is denied by exit code and why.
fn said(mut command: Command, payload: &Value) -> Value {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Who fails early doesn't read.
    let _ = child
        .stdin
        .take()
        .unwrap()
        .write_all(payload.to_string().as_bytes());
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    match output.status.code() {
        Some(0) if stdout.is_empty() => Value::Null,
        Some(0) => serde_json::from_str(&stdout).unwrap(),
        code => json!({ "exit": code, "stderr": String::from_utf8_lossy(&output.stderr).trim() }),
    }
}

#[test]
fn imported_hooks_answer_as_they_did() {
    let hso = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "A secret."}});
    let flat = json!({"permissionDecision": "deny", "permissionDecisionReason": "A secret."});
    let groups = |event: &str, command: &str, timeout: u32| {
        let handler = json!({"type": "command", "command": command, "timeout": timeout});
        json!({"hooks": {event: [{"matcher": "Bash|run_shell_command", "hooks": [handler]}]}})
            .to_string()
    };
    let toml = "model = 'gpt-5'\n[[hooks.PreToolUse]]\nmatcher = '^Bash$'\n[[hooks.PreToolUse.hooks]]\ntype = 'command'\ncommand = './guard.sh'\ntimeout = 5\n";
    for (agent, file, settings, deny, event, tool) in [
        ("claude-code", ".claude/settings.json", groups("PreToolUse", "\"$CLAUDE_PROJECT_DIR\"/guard.sh", 5), &hso, "PreToolUse", "Bash"),
        ("claude-code", ".claude/settings.local.json", groups("PreToolUse", "\"${CLAUDE_PROJECT_DIR}/guard.sh\"", 5), &hso, "PreToolUse", "Bash"),
        ("codex", ".codex/hooks.json", groups("PreToolUse", "./guard.sh", 5), &hso, "PreToolUse", "Bash"),
        ("codex", ".codex/config.toml", toml.to_string(), &hso, "PreToolUse", "Bash"),
        ("gemini", ".gemini/settings.json", groups("BeforeTool", "$GEMINI_PROJECT_DIR/guard.sh", 5000), &json!({"decision": "deny", "reason": "A secret."}), "BeforeTool", "run_shell_command"),
        ("qwen", ".qwen/settings.json", groups("PreToolUse", "./guard.sh", 5000), &hso, "PreToolUse", "run_shell_command"),
        ("copilot", ".github/hooks/guard.json", json!({"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "./guard.sh", "timeoutSec": 5}]}}).to_string(), &flat, "preToolUse", "bash"),
    ] {
        let project = project(&[(&format!("project/{file}"), &settings), ("project/guard.sh", &script(deny))]);
        let (rows, text) = import(&project, &[agent]);
        assert_eq!(rows.len(), 1, "{agent}");
        assert_eq!((&rows[0]["carried"], &rows[0]["notes"]), (&json!(true), &json!([])), "{agent}: {rows:?}");
        let timeout = if settings.contains("5000") { "timeout: 5000ms\n" } else { "timeout: 5\n" };
        for part in [&format!("dialect: {agent}\n"), timeout, &format!("on: {event}\n"), &format!("  # {file}:")] {
            assert!(text.contains(part), "{agent}: {part} {text}");
        }
        // What came with a clone runs nothing before somebody has looked at it.
        let before = project.run(&["check", "--list", "--format", "json"], "");
        assert!(before.stdout.is_empty(), "{agent}: {}", String::from_utf8_lossy(&before.stdout));
        project.run(&["trust", "--yes"], "");
        for (words, is_denied) in [("ls", false), ("cat secret", true), ("wipe", true)] {
            let payload = match agent {
                "copilot" => json!({"sessionId": "s", "cwd": project.root(), "toolName": tool, "toolArgs": {"command": words}}),
                _ => json!({"session_id": "s", "cwd": project.root(), "hook_event_name": event, "tool_name": tool, "tool_input": {"command": words}}),
            };
            let mut original = Command::new("./guard.sh");
            original.current_dir(project.root());
            let without = said(original, &payload);
            let mut with = said(project.command(&["hook", agent, "--event", event]), &payload);
            // Gemini CLI's people are shown the reason, too.
            if let Some(reply) = with.as_object_mut().filter(|_| agent == "gemini") {
                reply.remove("systemMessage");
            }
            if without["exit"] == 2 {
                // By a reply, the same for the agent.
                let reason = with.to_string();
                assert!(is_denied && reason.contains("deny") && reason.contains("Not that."), "{agent} {words}: {with}");
            } else {
                assert_eq!((&with, without.is_null()), (&without, !is_denied), "{agent} {words}");
            }
        }
        // A script that was trusted with them counts as it was.
        let guard = project.root().join("guard.sh");
        fs::write(&guard, "#!/bin/sh\nexit 0\n").unwrap();
        let tail = String::from_utf8(project.run(&["trust", "list"], "").stdout).unwrap();
        assert!(tail.contains("`guard.sh` changed since"), "{agent}: {tail}");
    }
}

/// Collections as they are published: what is carried over of each, and what is told.
#[test]
fn plugins_are_carried_over() {
    let published = repo("tests/data/plugins");
    let plugins: Vec<(String, String)> = files(&published)
        .into_iter()
        .map(|(path, text)| {
            (
                format!(
                    "plugins/{}",
                    path.strip_prefix(&published).unwrap().display()
                ),
                text,
            )
        })
        .collect();
    let project = project(
        &plugins
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect::<Vec<_>>(),
    );
    for (name, expected) in [
        (
            "guardrails",
            &[
                ("SessionStart/startup|resume#1", true, ""),
                ("PreToolUse/Bash#1", true, ""),
                ("PreToolUse/Read|Edit|Write#1", true, ""),
            ][..],
        ),
        (
            "formatters",
            &[
                ("PostToolUse/Write|Edit|MultiEdit#1", true, ""),
                (
                    "PostToolUse/Write|Edit|MultiEdit#2",
                    true,
                    "`hookwire hook` answers within 50s",
                ),
                ("Stop#1", true, "it can't wake the model here"),
                ("Notification/idle_prompt#1", true, ""),
            ],
        ),
        (
            "reviews",
            &[
                (
                    "PreToolUse/mcp__github__.*#1",
                    true,
                    "here the agent is told why and goes on",
                ),
                (
                    "PreToolUse/Bash(git push*)#1",
                    false,
                    "the MCP server `review` is the agent's own",
                ),
                ("UserPromptSubmit#1", true, ""),
                ("Stop#1", true, "which model `haiku` is"),
                ("AfterLunch#1", false, "unknown event `AfterLunch`"),
            ],
        ),
    ] {
        let from = project.0.path().join("plugins").join(name);
        let (rows, text) = import(&project, &["claude-code", "--from", from.to_str().unwrap()]);
        assert_eq!(rows.len(), expected.len(), "{rows:?}");
        for (row, (hook, is_carried, note)) in rows.iter().zip(expected) {
            assert_eq!(
                (&row["hook"], &row["carried"]),
                (&json!(hook), &json!(is_carried)),
                "{row}"
            );
            assert!(row["notes"].to_string().contains(note), "{row}");
        }
        assert!(!text.contains("${CLAUDE_PLUGIN_ROOT}"), "{text}");
        let file = format!(".hookwire/claude-code-{name}.yaml");
        let check = project.run(&["check", "--isolated", "--hooks", &file], "");
        assert!(
            check.status.success(),
            "{}",
            String::from_utf8_lossy(&check.stdout)
        );
    }
    // Once they are trusted they are in force, and find what they belong to.
    project.run(&["trust", "--yes"], "");
    for (event, members, expected) in [
        (
            "SessionStart",
            json!({"source": "startup"}),
            "Rules are in guardrails.",
        ),
        (
            "PreToolUse",
            json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}),
            "Not without a person.",
        ),
        (
            "PreToolUse",
            json!({"tool_name": "Read", "tool_input": {"file_path": "/a/.env"}}),
            "Secrets, --strict.",
        ),
    ] {
        let mut payload =
            json!({"session_id": "s", "cwd": project.root(), "hook_event_name": event});
        payload
            .as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        let reply = said(project.command(&["hook", "claude-code"]), &payload);
        assert!(reply.to_string().contains(expected), "{event}: {reply}");
    }
}

#[test]
fn an_import_takes_nothing_away() {
    let settings = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
    let files = [
        ("project/.claude/settings.json", settings),
        ("project/.claude/settings.local.json", settings),
    ];
    let project = project(&files);
    // What `install` writes is no hook to carry over.
    project.run(&["install", "claude-code"], "");
    let definitions = project.root().join(".hookwire");
    let dry = project.run(&["import", "claude-code", "--dry-run"], "");
    let said = String::from_utf8(dry.stdout).unwrap();
    assert!(
        said.contains("    on: Stop") && !definitions.exists(),
        "{said}"
    );

    let (rows, text) = import(&project, &["claude-code"]);
    let names: Vec<&str> = rows.iter().filter_map(|row| row["hook"].as_str()).collect();
    assert_eq!(names, ["Stop#1", "Stop#1-2"]);
    assert_eq!(
        fs::read_to_string(project.root().join(".claude/settings.json")).unwrap(),
        settings
    );

    // The same again is no change; another text stays.
    let again = project.run(&["import", "claude-code"], "");
    assert!(
        again.status.success()
            && String::from_utf8_lossy(&again.stdout).contains("is there already, with the same")
    );
    let path = definitions.join("claude-code.yaml");
    fs::write(&path, "hooks: []\n").unwrap();
    assert_eq!(
        project.run(&["import", "claude-code"], "").status.code(),
        Some(1)
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "hooks: []\n");
    assert!(text.contains("# .claude/settings.local.json:"), "{text}");

    for (args, code, expected) in [
        (
            &["opencode"][..],
            2,
            "the hooks of opencode are code that runs within it",
        ),
        (&["cline"], 0, "cline has no hooks to carry over"),
        (&["gemini"], 0, "gemini has no hooks to carry over"),
        (
            &["claude-code", "--from", "missing.json"],
            2,
            "--from missing.json: ",
        ),
    ] {
        let output = project.run(&[&["import"], args].concat(), "");
        let said = [output.stdout, output.stderr].concat();
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(
            String::from_utf8_lossy(&said).contains(expected),
            "{args:?}"
        );
    }
}

/// A clone brings a link from where hookwire writes to somewhere else: nothing is written there.
/// Each row: the link and where it leads, a command, and whether it tells that. What leads to the
/// project's own files is written.
#[test]
fn nothing_is_written_through_a_link_out_of_the_project() {
    let settings = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
    let slip =
        "hooks:\n  - { name: mine, on: PreToolUse, if: \"Bash(git push -force)\", deny: no }\n";
    let cases = "cases:\n  - { bash: ls, expect: deny }\n";
    let user = "../../home/.config/hookwire";
    for (link, to, command, is_told) in [
        (
            ".hookwire",
            "../home/.config/hookwire",
            "import claude-code",
            true,
        ),
        (
            ".hookwire",
            "$/home/.config/hookwire",
            "import claude-code",
            true,
        ),
        (
            ".hookwire",
            "../home/.config/hookwire",
            "init no-rm-rf",
            true,
        ),
        (
            ".hookwire",
            "../home/.config/hookwire",
            "init no-rm-rf --hooks $/project/.hookwire",
            true,
        ),
        (
            ".hookwire",
            "../home/.config/hookwire",
            "tail --no-follow --record .hookwire",
            true,
        ),
        (".hookwire/cline", user, "import cline", true),
        (
            ".hookwire/rules",
            user,
            "init no-rm-rf --hooks .hookwire/rules",
            true,
        ),
        (
            ".hookwire/x.yaml",
            "../../home/.config/hookwire/mine.yaml",
            "check --fix .hookwire/x.yaml",
            true,
        ),
        (
            ".hookwire/x.yaml",
            "../../home/.config/hookwire/mine.yaml",
            "check --migrate .hookwire/x.yaml",
            true,
        ),
        (
            ".hookwire/x.test.yaml",
            "../../home/.config/hookwire/mine.test.yaml",
            "test --update",
            true,
        ),
        (".hookwire", "rules", "import claude-code", false),
        (".hookwire", "$/project/rules", "init no-rm-rf", false),
        (
            ".hookwire/x.yaml",
            "../rules/mine.yaml",
            "check --fix .hookwire/x.yaml",
            false,
        ),
    ] {
        let project = project(&[
            ("project/.claude/settings.json", settings),
            ("project/.cline/hooks/PreToolUse", "#!/bin/sh\n"),
            ("project/rules/mine.yaml", slip),
            ("home/.config/hookwire/mine.yaml", slip),
            ("home/.config/hookwire/mine.test.yaml", cases),
        ]);
        let top = project.0.path().canonicalize().unwrap();
        let in_full = |text: &str| text.replace('$', top.to_str().unwrap());
        let link = project.root().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(in_full(to), &link).unwrap();
        if command.starts_with("test") {
            fs::write(link.with_file_name("x.yaml"), slip).unwrap();
        }
        let users = top.join("home/.config");
        let before = (files(&users), files(&top.join("project/rules")));
        let command: Vec<String> = command.split(' ').map(in_full).collect();
        let output = project.run(&command.iter().map(String::as_str).collect::<Vec<_>>(), "");
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(
            said.contains("it leads out of the project, to "),
            is_told,
            "{link:?} {command:?}: {said}"
        );
        assert_eq!(files(&users), before.0, "{link:?} {command:?}");
        assert_eq!(
            files(&top.join("project/rules")) == before.1,
            is_told,
            "{link:?} {command:?}: {said}"
        );
    }
}

/// Programs in Cline's directory, which an installed hookwire takes the places of.
#[test]
fn clines_programs_are_copied() {
    let guard = script(&json!({"cancel": true, "errorMessage": "A secret."}));
    let project = project(&[
        ("project/.cline/hooks/PreToolUse", &guard),
        ("project/.cline/hooks/notes.txt", "none"),
    ]);
    let (rows, text) = import(&project, &["cline"]);
    assert_eq!(
        rows.iter().map(|row| &row["hook"]).collect::<Vec<_>>(),
        ["PreToolUse"],
        "{rows:?}"
    );
    assert!(
        text.contains("dialect: cline\n") && text.contains("command: .hookwire/cline/PreToolUse\n"),
        "{text}"
    );
    let original = project.root().join(".cline/hooks/PreToolUse");
    let refused = project.run(&["install", "cline"], "");
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("another hook is there"),
        "{refused:?}"
    );
    fs::remove_file(&original).unwrap();
    project.run(&["install", "cline"], "");
    project.run(&["trust", "--yes"], "");
    for (words, expected) in [("ls", Value::Null), ("cat secret", json!("A secret."))] {
        let call = json!({"id": "1", "name": "execute_command", "input": {"command": words}});
        let payload = json!({"hookName": "tool_call", "taskId": "t", "workspaceRoots": [project.root()], "tool_call": call});
        let reply = said(
            project.command(&["hook", "cline", "--event", "PreToolUse"]),
            &payload,
        );
        assert_eq!(reply["errorMessage"], expected, "{words}: {reply}");
    }
    // What hookwire wrote there is no hook to carry over.
    let again = project.run(&["import", "cline", "--dry-run"], "");
    assert!(
        String::from_utf8_lossy(&again.stdout).contains("cline has no hooks to carry over"),
        "{again:?}"
    );
}

/// A user's hooks come with those of the plugins that are installed and enabled.
#[test]
fn a_users_hooks_come_with_plugins() {
    let hooks = |command: &str| json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
    let mut settings = hooks("mine");
    settings["enabledPlugins"] = json!({"on@market": true, "off@market": false});
    let project = project(&[("home/.claude/settings.json", &settings.to_string())]);
    let plugins = project.0.path().join("home/.claude/plugins");
    let mut installed = json!({"version": 2, "plugins": {}});
    for name in ["on", "off"] {
        let plugin = plugins.join("cache").join(name);
        fs::create_dir_all(plugin.join("hooks")).unwrap();
        fs::write(plugin.join("hooks/hooks.json"), hooks(name).to_string()).unwrap();
        installed["plugins"][format!("{name}@market")] =
            json!([{"scope": "user", "installPath": plugin}]);
    }
    fs::write(
        plugins.join("installed_plugins.json"),
        installed.to_string(),
    )
    .unwrap();
    let (rows, text) = import(&project, &["claude-code", "--user"]);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(
        text.contains("command: mine\n") && text.contains("run: on"),
        "{text}"
    );
}

/// Settings are definitions as they stand.
#[test]
fn settings_are_loaded_as_they_stand() {
    let deny = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "A secret."}});
    let settings = r#"{"model": "opus", "hooks": {"PreToolUse": [{"matcher": "Bash|Read", "hooks": [
        {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/guard.sh"}, {"type": "surprise"}]}]}}"#;
    let files = [
        ("project/.claude/settings.json", settings),
        ("project/guard.sh", &*script(&deny)),
    ];
    let project = project(&files);
    let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "secret"}});
    let hook = [
        "hook",
        "claude-code",
        "--isolated",
        "--hooks",
        ".claude/settings.json",
    ];
    // A bad entry doesn't take the others along.
    assert_eq!(said(project.command(&hook), &payload), deny);
    let check = project.run(
        &["check", "--isolated", "--hooks", ".claude/settings.json"],
        "",
    );
    let said = String::from_utf8(check.stdout).unwrap() + &String::from_utf8_lossy(&check.stderr);
    assert!(
        said.contains("a hook of type `surprise` has no counterpart here"),
        "{said}"
    );
}

/// Each agent's own form: what is carried over, what is switched off or unknown, and what can't be.
#[test]
fn other_forms_are_read() {
    let kimi = "[[hooks]]\nevent = 'PreToolUse'\nmatcher = 'Bash'\ncommand = './guard.sh'\ntimeout = 5\n[[hooks]]\nevent = 'Stop'\ncommand = './stop.sh'\n";
    let group = json!([{"matcher": "run_command", "hooks": [{"type": "command", "command": "./guard.sh", "timeout": 5}]}]);
    for (agent, file, settings, expected) in [
        (
            "cursor",
            "project/.cursor/hooks.json",
            json!({"version": 1, "hooks": {
                "preToolUse": [{"command": "./guard.sh", "matcher": "Shell", "timeout": 5, "failClosed": true}],
                "beforeShellExecution": [{"command": "./shell.sh"}, {"command": "./other.sh", "matcher": "curl"}],
                "stop": [{"type": "prompt", "prompt": "Is it done?"}],
            }}).to_string(),
            &[
                ("preToolUse/Shell#1", "fail: closed timeout: 5 command: ./guard.sh"),
                ("beforeShellExecution#1", "command: ./shell.sh"),
                ("beforeShellExecution/curl#1", "Cursor holds a matcher at beforeShellExecution against the command"),
                ("stop#1", "a hook of type `prompt` has no counterpart here"),
            ][..],
        ),
        (
            "windsurf",
            "project/.windsurf/hooks.json",
            json!({"hooks": {
                "pre_run_command": [{"command": "./guard.sh", "show_output": true, "working_directory": "tools"}],
                "post_write_code": [{"powershell": "guard.ps1"}],
            }}).to_string(),
            &[
                ("pre_run_command#1", "/tools || exit 1"),
                ("post_write_code#1", "it has a text for PowerShell and none for a shell of this system"),
            ],
        ),
        (
            "kiro",
            "project/.kiro/hooks/team.json",
            json!({"version": "v1", "hooks": [
                {"name": "guard", "trigger": "PreToolUse", "matcher": "execute_bash", "timeout": 0,
                    "action": {"type": "command", "command": "./guard.sh"}},
                {"name": "off", "trigger": "Stop", "enabled": false, "action": {"type": "command", "command": "./stop.sh"}},
                {"name": "ask", "trigger": "Stop", "action": {"type": "agent", "prompt": "Look again."}},
            ]}).to_string(),
            &[
                ("guard", "matcher: execute_bash command: ./guard.sh"),
                ("off", "enabled: false command: ./stop.sh"),
                ("ask", "a hook of type `prompt for the agent itself` has no counterpart here"),
            ],
        ),
        (
            "antigravity",
            "project/.agents/hooks.json",
            json!({
                "lint": {"PreToolUse": group, "Stop": [{"type": "command", "command": "./stop.sh"}]},
                "off": {"enabled": false, "Stop": [{"type": "command", "command": "./never.sh"}]},
            }).to_string(),
            &[("PreToolUse/run_command#1", "timeout: 5 command: ./guard.sh"), ("Stop#1", "command: ./stop.sh")],
        ),
        (
            "kimi",
            "home/.kimi-code/config.toml",
            kimi.to_string(),
            &[("PreToolUse/Bash#1", "timeout: 5 command: ./guard.sh"), ("Stop#1", "command: ./stop.sh")],
        ),
        (
            "droid",
            "project/.factory/settings.json",
            json!({"hooks": {"PreToolUse": group}}).to_string(),
            &[("PreToolUse/run_command#1", "timeout: 5 command: ./guard.sh")],
        ),
        (
            "grok",
            "project/.grok/hooks/team.json",
            json!({"hooks": {"PreToolUse": group}}).to_string(),
            &[("PreToolUse/run_command#1", "timeout: 5 command: ./guard.sh")],
        ),
    ] {
        let project = project(&[(file, &settings)]);
        let is_user = file.starts_with("home");
        let args: &[&str] = if is_user { &[agent, "--user", "--dry-run"] } else { &[agent, "--dry-run"] };
        let output = project.run(&[&["import"], args].concat(), "");
        let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for (name, part) in expected {
            assert!(words.contains(name) && words.contains(part), "{agent} {name}: {part}: {said}");
        }
        let n_named = said.lines().filter(|line| line.contains("- name: ")).count();
        let n_carried = expected.iter().filter(|(_, part)| part.contains(':') || part.contains("||")).count();
        assert_eq!(n_named, n_carried, "{agent}: {said}");
        assert!(!said.contains("never.sh"), "{agent}: {said}");
    }
}
