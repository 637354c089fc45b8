//! The dialects held against each other, and against what agents sent.

use super::*;
use hookwire_ask::attended::LOOKED_UP;
use hookwire_base::event::EVENTS;
use hookwire_rules::agents::AGENTS;
use hookwire_rules::contract::{Exit, PROJECT_VARIABLES};
use hookwire_testing::{repo, rows};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;

/// Whatever hooks judge must be what the client means.
#[test]
fn payloads_that_say_two_things_are_refused() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        dialect: String,
        payload: Value,
        told: String,
    }
    rows::compare("dialects/payloads.jsonl", |row: Row| {
        let event = by_name(&row.dialect).unwrap().read_event(row.payload);
        (
            event.map_or_else(
                |error| error.0,
                |event| event.tool_name().unwrap_or_default().to_string(),
            ),
            row.told,
        )
    });
}

/// A reply is the one that there would be without the hooks that only observe.
#[test]
fn no_reply_shows_what_only_observes() {
    let enforced = json!({"hook": "a", "status": "success", "reason": "why", "durationMicros": 1});
    let observed = json!({"hook": "o", "status": "non_blocking_error", "error": "failed to run", "opaque": "why",
        "durationMicros": 1, "observed": {"decision": "deny", "reason": "no", "rewrote": true, "stop": "enough"}});
    let verdict = |outcomes: Value| -> Verdict {
        let verdict = json!({"decision": "allow", "reason": "fine", "decidedBy": "a", "outcomes": outcomes,
            "generation": 1, "hash": "h", "eventId": "e"});
        serde_json::from_value(verdict).unwrap()
    };
    for dialect in DIALECTS.iter().filter(|dialect| dialect.name() != NATIVE) {
        for row in dialect.events {
            let event =
                json!({"event": row.canonical, "session": "s", "tool": {"name": "t", "input": {}}});
            let payload = (dialect.contract.payload)(&Event::from_json(event).unwrap());
            let event = dialect.read_event(payload).unwrap();
            let without = dialect.reply_to(&event, &verdict(json!([enforced])));
            let with = dialect.reply_to(&event, &verdict(json!([observed, enforced, observed])));
            assert_eq!(with, without, "{} {}", dialect.name(), row.canonical);
        }
    }
}

/// What another system means by a name is not what hookwire means by it.
#[test]
fn nothing_foreign_is_read_as_native() {
    let kinds = [
        json!(null),
        json!(true),
        json!(-1.5),
        json!("text"),
        json!([1, "a"]),
        json!({"name": 3, "x": []}),
    ];
    for dialect in DIALECTS.iter().filter(|dialect| dialect.name() != NATIVE) {
        let pairs = dialect
            .members
            .iter()
            .chain(dialect.events.iter().flat_map(|row| row.members));
        let mapped: Vec<&str> = pairs
            .map(|(theirs, _)| *theirs)
            .chain([dialect.event_name])
            .filter_map(|it| it.split('/').nth(1))
            .collect();
        for row in dialect.events {
            let event =
                json!({"event": row.canonical, "session": "s", "tool": {"name": "t", "input": {}}});
            let payload = (dialect.contract.payload)(&Event::from_json(event).unwrap());
            let read = |payload: &Value| {
                dialect
                    .read_event(payload.clone())
                    .map(|event| event.data().clone())
            };
            let expected = read(&payload).unwrap();
            for (name, kind) in MEMBERS
                .iter()
                .flat_map(|name| kinds.iter().map(move |kind| (name, kind)))
            {
                let mut payload = payload.clone();
                payload[*name] = kind.clone();
                payload["tool/name"] = kind.clone();
                let data = read(&payload).map(|mut data| {
                    data.as_object_mut().unwrap().remove("tool/name");
                    data
                });
                if !mapped.contains(name) {
                    assert_eq!(data.as_ref(), Ok(&expected), "{} {payload}", dialect.name());
                } else if dialect.agent.is_some() && format!("/{name}") != dialect.event_name {
                    // Only the name of a tool can't be done without.
                    let fine = data
                        .as_ref()
                        .err()
                        .is_none_or(|it| it.0.ends_with("is missing: the event is about a tool"));
                    assert!(fine, "{} {payload}: {data:?}", dialect.name());
                }
            }
        }
    }
}

/// A hook of an agent reads what it would have read from the agent, to the letter.
#[test]
fn an_agents_payload_goes_there_and_back() {
    let mut held = Vec::new();
    for dialect in DIALECTS.iter().filter(|dialect| dialect.agent.is_some()) {
        let path = repo(format!(
            "tests/data/agents/{}/session.jsonl",
            dialect.name()
        ));
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            let payload: Value = serde_json::from_str(line).unwrap();
            let event = dialect.read_event(payload.clone()).unwrap();
            assert_eq!(
                (dialect.contract.payload)(&event),
                payload,
                "{}",
                dialect.name()
            );
            assert_eq!(event.text("/cwd"), Some("/home/dev/project"), "{payload}");
            assert!(!event.session().is_empty(), "{payload}");
            held.push(dialect.name());
        }
    }
    // A patch that is the whole of a call's arguments.
    for args in [
        "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n",
        r#""*** Begin Patch\n""#,
    ] {
        let payload =
            json!({"hook_event_name": "preToolUse", "toolName": "apply_patch", "toolArgs": args});
        let event = copilot::DIALECT.read_event(payload.clone()).unwrap();
        assert!(
            event
                .text("/tool/input/input")
                .unwrap()
                .starts_with("*** Begin Patch\n")
        );
        assert_eq!((copilot::DIALECT.contract.payload)(&event), payload);
    }
    held.dedup();
    let recorded = AGENTS
        .iter()
        .map(|agent| agent.name)
        .filter(|name| *name != "claude-code");
    assert_eq!(held, recorded.collect::<Vec<_>>());
}

/// A command that was written for an agent means here what it means there.
#[test]
fn commands_are_understood_as_the_agent_does() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        dialect: String,
        event: String,
        exit: i32,
        #[serde(default)]
        stdout: Value,
        #[serde(default)]
        stderr: String,
        understood: String,
    }
    rows::compare("dialects/exits.jsonl", |row: Row| {
        let dialect = by_name(&row.dialect).unwrap();
        let canonical = dialect
            .rows_named(&row.event)
            .next()
            .map_or(&*row.event, |named| named.canonical);
        let event =
            Event::from_json(json!({"event": canonical, "tool": {"name": "t", "input": {"a": 1}}}))
                .unwrap();
        let stdout = rows::written_value(&row.stdout);
        let exit = Exit {
            code: Some(row.exit),
            command: "c",
            stdout: &stdout,
            stderr: &row.stderr,
        };
        let told = match (dialect.contract.exit)(&event, &exit) {
            Err(_) => "failed".to_string(),
            Ok(it) => {
                let said = it
                    .user_messages
                    .iter()
                    .chain(&it.additional_context)
                    .map(|text| format!("said {text}"));
                let decision = it.decision.map(|decision| decision.as_str().to_string());
                let parts = decision
                    .into_iter()
                    .chain(it.reason)
                    .chain(it.subject.map(|subject| subject.to_string()));
                let remark = (!it.remarks.is_empty()).then(|| "with a remark".to_string());
                parts
                    .chain(said)
                    .chain(remark)
                    .collect::<Vec<_>>()
                    .join(" ")
            }
        };
        (told, row.understood)
    });
}

#[test]
fn an_agent_is_told_no_in_the_words_that_it_obeys() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        dialect: String,
        event: String,
        #[serde(default)]
        stdout: Value,
        #[serde(default)]
        stderr: String,
        #[serde(default)]
        exit: i32,
    }
    rows::compare("dialects/refusals.jsonl", |row: Row| {
        let said = by_name(&row.dialect).unwrap().refuse(
            "Down.",
            &Moment {
                name: row.event,
                is_unknown_gate: false,
            },
        );
        (
            said,
            Said {
                stdout: rows::written_value(&row.stdout),
                stderr: row.stderr,
                exit: row.exit,
            },
        )
    });
}

/// What a command says to each agent at each event that it is asked at: to a "no", to a question,
/// to a rewrite, and where hookwire failed. `UPDATE_EXPECT=1` writes the table anew.
#[test]
fn no_agent_is_left_without_a_word() {
    let mut table = String::new();
    for dialect in DIALECTS.iter().filter(|dialect| dialect.agent.is_some()) {
        for name in dialect.asked_events() {
            let row = dialect.rows_named(name).next().unwrap();
            let event = json!({"event": row.canonical, "session": "s", "tool": {"name": "t", "input": {"a": 1}}});
            let mut payload = (dialect.contract.payload)(&Event::from_json(event).unwrap());
            set_pointer(&mut payload, dialect.event_name, name.into());
            let event = dialect.read_event(payload).unwrap();
            let say = |decision: Decision, subject: Option<Value>| {
                let mut verdict = Verdict::silent(decision, 0, "".into(), event.id.clone());
                verdict.reason = Some("WHY".into()).filter(|_| decision != Decision::Allow);
                verdict.decided_by = Some("h".into()).filter(|_| decision != Decision::Allow);
                verdict.subject = subject;
                shown(&dialect.say_reply(&dialect.reply_to(&event, &verdict), name))
            };
            let moment = Moment {
                name: name.into(),
                is_unknown_gate: false,
            };
            let mut cells = vec![
                ("deny", say(Decision::Deny, None)),
                ("ask", say(Decision::Ask, None)),
            ];
            cells.push(("silence", say(Decision::Allow, None)));
            cells.extend(
                row.rewrites
                    .then(|| ("rewrite", say(Decision::Allow, event.subject().cloned()))),
            );
            cells.push(("failure", shown(&dialect.refuse("WHY", &moment))));
            table.push_str(&format!("{} {name} = {}\n", dialect.name(), row.canonical));
            cells
                .iter()
                .for_each(|(what, said)| table.push_str(&format!("    {what}: {said}\n")));
            // Whatever can be blocked is told no, in words or by the exit code.
            assert!(
                !row.blocks || cells[0].1 != "-",
                "{} {name}: nothing says no",
                dialect.name()
            );
        }
    }
    let path = repo("tests/data/agents/moments.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == table,
        "UPDATE_EXPECT=1 writes {} anew",
        path.display()
    );
}

/// The small program says no in the same words. `UPDATE_EXPECT=1` writes its table anew.
#[test]
fn absence_says_no_in_the_same_words() {
    let mut table = String::new();
    for dialect in DIALECTS.iter().filter(|dialect| dialect.agent.is_some()) {
        let (mut by_exit, mut others) = (Vec::new(), Vec::new());
        let mut by_reply: Vec<(Value, Vec<&str>)> = Vec::new();
        let names = dialect.events.iter().flat_map(|row| {
            let own = row.also.iter().chain([&row.name]).copied();
            own.chain([row.canonical])
        });
        for name in names.collect::<BTreeSet<_>>() {
            let moment = Moment {
                name: name.into(),
                is_unknown_gate: false,
            };
            let row = dialect
                .rows_named(name)
                .next()
                .or(dialect.row(name))
                .unwrap();
            let is_ahead =
                spec(row.canonical).is_some_and(|spec| spec.phase == Phase::Gate && !spec.rest);
            let said = dialect.refuse("${reason}", &moment);
            match (said.exit, &*said.stdout) {
                (0, "") => others.push(name),
                _ if !is_ahead => others.push(name),
                (0, reply) => {
                    let reply: Value = serde_json::from_str(reply).unwrap();
                    match by_reply.iter_mut().find(|(other, _)| *other == reply) {
                        Some((_, names)) => names.push(name),
                        None => by_reply.push((reply, vec![name])),
                    }
                }
                _ => by_exit.push(name),
            }
        }
        let readers = AGENTS
            .iter()
            .filter(|agent| agent.also_reads.iter().any(|name| name == dialect.name()));
        let replies: Vec<_> = by_reply
            .iter()
            .map(|(reply, events)| json!({"events": events, "reply": reply}))
            .collect();
        let members = [
            (
                "namedBy",
                json!(dialect.naming_members().collect::<BTreeSet<_>>()),
            ),
            ("call", json!(dialect.tool_members().collect::<Vec<_>>())),
            (
                "readBy",
                json!(readers.map(|agent| agent.name).collect::<Vec<_>>()),
            ),
            ("exit", json!(by_exit)),
            ("replies", json!(replies)),
            ("others", json!(others)),
        ];
        let members = members.map(|(name, value)| format!(",\"{name}\":{value}"));
        table += &format!("{{\"agent\":\"{}\"{}}}\n", dialect.name(), members.concat());
    }
    let path = repo("crates/run/src/absent.jsonl");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, &table).unwrap();
    } else {
        assert!(
            std::fs::read_to_string(&path).unwrap() == table,
            "UPDATE_EXPECT=1 writes {} anew",
            path.display()
        );
    }
}

fn shown(said: &Said) -> String {
    let exit = if said.exit == 0 {
        String::new()
    } else {
        format!(" exit {}", said.exit)
    };
    let told = format!("{} {}{exit}", said.stdout, said.stderr);
    if told.trim().is_empty() {
        "-".into()
    } else {
        told.trim().into()
    }
}

/// What isn't as it is described keeps no agent from its tools, and no guard from judging.
#[test]
fn whatever_form_a_payload_has_it_is_judged() {
    let big = "x".repeat(3 << 20);
    for dialect in DIALECTS.iter().filter(|dialect| dialect.agent.is_some()) {
        let call = json!({"event": "PreToolUse", "session": "s", "cwd": "/p", "tool": {"name": "t", "input": {"command": big}}});
        let mut payload = (dialect.contract.payload)(&Event::from_json(call).unwrap());
        payload["neverHeardOf"] = json!({"a": [1]});
        let text = serde_json::to_string_pretty(&payload)
            .unwrap()
            .replace('\n', "\r\n");
        for mark in ["", "\u{feff}", "\u{feff}\u{feff}"] {
            let mut moment = Moment::default();
            let read =
                asked::read_payload(dialect, &mut moment, format!("{mark}{text}\r\n").as_bytes())
                    .unwrap();
            assert_eq!(asked::find_speaker(dialect, &read).name(), dialect.name());
            let event = dialect.read_event(read).unwrap();
            assert_eq!(&*event.name, "PreToolUse", "{}", dialect.name());
            assert_eq!(
                event.text("/tool/input/command").map(str::len),
                Some(big.len()),
                "{}",
                dialect.name()
            );
            assert_eq!(
                event.data()["neverHeardOf"],
                json!({"a": [1]}),
                "{}",
                dialect.name()
            );
        }
    }
}

/// An agent that runs the hooks of another one is answered in its own words.
#[test]
fn who_asks_is_known_by_the_payload() {
    let session = |agent: &str| {
        let path = repo(format!("tests/data/agents/{agent}/session.jsonl"));
        let lines = std::fs::read_to_string(path).unwrap();
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect::<Vec<Value>>()
    };
    for (registered, speaks) in [
        ("claude-code", "grok"),
        ("claude-code", "cursor"),
        ("cursor", "grok"),
        ("codex", "codex"),
        ("grok", "grok"),
    ] {
        for payload in session(speaks)
            .iter()
            .filter(|it| it.get("session_id").is_none())
        {
            assert_eq!(
                asked::find_speaker(by_name(registered).unwrap(), payload).name(),
                speaks,
                "{payload}"
            );
        }
    }
    // Some have the members of others beside their own.
    for (payload, speaks) in [
        (
            json!({"hook_event_name": "Stop", "session_id": "s", "permission_mode": "default"}),
            "claude-code",
        ),
        (
            json!({"hook_event_name": "Stop", "session_id": "s", "hookEventName": "stop", "workspaceRoot": "/p",
                "permission_mode": "default", "timestamp": "2026-11-30T03:56:30.129311197+00:00"}),
            "grok",
        ),
        (
            json!({"hook_event_name": "Stop", "session_id": "s", "timestamp": "2026-11-30T03:56:36.570Z"}),
            "copilot",
        ),
        (
            json!({"hookName": "permissionRequest", "sessionId": "s", "timestamp": 1, "toolName": "bash"}),
            "copilot",
        ),
        (
            json!({"hook_event_name": "Stop", "session_id": "s", "cursor_version": "2"}),
            "cursor",
        ),
    ] {
        assert_eq!(
            asked::find_speaker(by_name("claude-code").unwrap(), &payload).name(),
            speaks,
            "{payload}"
        );
    }
}

/// Copilot's two forms of a moment are one moment.
#[test]
fn a_moment_is_known_in_both_its_forms() {
    let copilot = by_name("copilot").unwrap();
    let moment = |name: &str, time: Value, payload: Value| {
        let mut payload = payload;
        payload["hook_event_name"] = name.into();
        payload["timestamp"] = time;
        copilot.moment(&copilot.read_event(payload).unwrap())
    };
    let own =
        json!({"sessionId": "s", "cwd": "/p", "toolName": "bash", "toolArgs": {"command": "ls"}});
    let other = json!({"session_id": "s", "cwd": "/p", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let first = moment("preToolUse", json!(1_796_010_996_570_u64), own.clone());
    assert!(first.is_some());
    assert_eq!(
        first,
        moment(
            "PreToolUse",
            json!("2026-11-30T03:56:36.570Z"),
            other.clone()
        )
    );
    assert_ne!(
        first,
        moment("PreToolUse", json!("2026-11-30T03:56:36.571Z"), other)
    );
    assert_eq!(moment("preToolUse", json!(true), own), None);
}

#[test]
fn a_command_denies_by_its_exit_where_nothing_else_is_a_no() {
    let block = json!({"decision": "block", "reason": "No."});
    let by_exit = Said {
        stderr: "No.".into(),
        exit: 2,
        ..Said::default()
    };
    let by_reply = |reply: &Value| Said {
        stdout: reply.to_string(),
        ..Said::default()
    };
    let end = json!({"continue": false, "stopReason": "Enough."});
    for (event, reply, expected) in [
        ("WorktreeCreate", &block, by_exit.clone()),
        ("TeammateIdle", &block, by_exit),
        ("TeammateIdle", &end, by_reply(&end)),
        ("WorktreeCreate", &json!({}), Said::default()),
        ("TaskCreated", &block, by_reply(&block)),
    ] {
        assert_eq!(
            claude_code::DIALECT.say_reply(reply, event),
            expected,
            "{event} {reply}"
        );
    }
    let event = Event::from_json(json!({"event": "TeammateIdle"})).unwrap();
    let mut verdict = Verdict::silent(Decision::Deny, 0, "".into(), event.id.clone());
    verdict.reason = Some("No.".into());
    let reply = (claude_code::DIALECT.reply)(&event, &verdict);
    assert_eq!(
        reply,
        json!({"continue": false, "stopReason": "No.", "decision": "block", "reason": "No."})
    );
}

#[test]
fn an_agent_is_not_blocked_by_what_is_not_known() {
    for dialect in DIALECTS.iter().filter(|dialect| dialect.agent.is_some()) {
        for (name, expected) in [
            ("Never-Heard-Of", "custom:Never-Heard-Of"),
            ("CwdChanged", "CwdChanged"),
        ] {
            let mut payload = json!({"extra": 1});
            set_pointer(&mut payload, dialect.event_name, name.into());
            let event = dialect.read_event(payload.clone()).unwrap();
            assert_eq!(
                (&*event.name, &event.data()["extra"]),
                (expected, &json!(1))
            );
            assert_eq!(
                (dialect.contract.payload)(&event),
                payload,
                "{}",
                dialect.name()
            );
            let moment = Moment {
                name: name.into(),
                is_unknown_gate: dialect.is_unknown_gate(&payload),
            };
            assert_eq!(dialect.refuse("no", &moment), Said::default());
            let verdict = Verdict::silent(Decision::Allow, 0, "".into(), event.id.clone());
            assert_eq!((dialect.reply)(&event, &verdict), json!({}));
        }
    }
}

/// An event that nobody knows is judged, and refused, where it looks like one before a call.
#[test]
fn an_unknown_gate_is_known_by_its_members() {
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}});
    let with = |name: &str, members: &Value, more: Value| {
        let mut payload = members.clone();
        payload["hook_event_name"] = name.into();
        payload
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        payload
    };
    let cline = json!({"tool_call": {"name": "execute_command", "input": {"command": "ls"}}});
    let copilot = json!({"toolName": "bash", "toolArgs": "{}"});
    for (dialect, payload, expected) in [
        ("claude-code", with("PreSkillThing", &bash, json!({})), true),
        (
            "claude-code",
            with("SkillThing", &bash, json!({"tool_response": null})),
            true,
        ),
        (
            "claude-code",
            with("SkillThing", &bash, json!({"tool_response": "x"})),
            false,
        ),
        (
            "claude-code",
            with("SkillThing", &bash, json!({"error": "x"})),
            false,
        ),
        (
            "claude-code",
            with("SkillThing", &bash, json!({"durationMs": 3})),
            false,
        ),
        ("claude-code", with("PostThing", &bash, json!({})), false),
        ("claude-code", with("after_thing", &bash, json!({})), false),
        (
            "claude-code",
            with("SkillThing", &json!({"tool_name": "Bash"}), json!({})),
            false,
        ),
        (
            "claude-code",
            with(
                "SkillThing",
                &json!({"tool_name": "", "tool_input": {}}),
                json!({}),
            ),
            false,
        ),
        ("claude-code", with("PreToolUse", &bash, json!({})), false),
        ("qwen", with("PermissionDenied", &bash, json!({})), false),
        ("codex", with("BeforeSkill", &bash, json!({})), true),
        ("gemini", with("BeforeSkill", &bash, json!({})), true),
        ("qwen", with("BeforeSkill", &bash, json!({})), true),
        ("cline", with("BeforeSkill", &cline, json!({})), true),
        (
            "cline",
            with(
                "BeforeSkill",
                &cline,
                json!({"postToolUse": {"result": "x"}}),
            ),
            false,
        ),
        ("copilot", with("preSkill", &copilot, json!({})), true),
        (
            "opencode",
            json!({"event": "skill.before", "tool": "bash", "args": {}}),
            true,
        ),
        ("agentpool", with("BeforeSkill", &bash, json!({})), false),
    ] {
        let dialect = by_name(dialect).unwrap();
        assert_eq!(
            dialect.is_unknown_gate(&payload),
            expected,
            "{} {payload}",
            dialect.name()
        );
        let moment = Moment {
            name: "X".into(),
            is_unknown_gate: expected,
        };
        assert_eq!(
            dialect.refuse("Down.", &moment).exit,
            if expected { 2 } else { 0 }
        );
        let Ok(event) = dialect.read_event(payload.clone()) else {
            continue;
        };
        assert_eq!(event.unknown_gate().is_some(), expected, "{payload}");
        if expected {
            assert_eq!(
                (&*event.name, dialect.takes_rewrites(&event)),
                ("PreToolUse", false),
                "{payload}"
            );
            let own = event.unknown_gate().unwrap();
            assert!(
                own.starts_with(CUSTOM_PREFIX) && event.names().any(|name| name == own),
                "{own}"
            );
        }
    }
}

/// Agents and dialects of agents are the same, in the docs, too.
#[test]
fn every_agent_has_its_dialect() {
    let docs = std::fs::read_to_string(repo("docs/dialects.md")).unwrap();
    let agents: Vec<&str> = DIALECTS
        .iter()
        .filter_map(|dialect| Some(dialect.facts()?.name))
        .collect();
    assert_eq!(
        agents,
        AGENTS.iter().map(|agent| agent.name).collect::<Vec<_>>()
    );
    for agent in AGENTS.iter() {
        let dialect = by_name(agent.name).unwrap();
        let row = format!("| `{}` | {}", agent.name, dialect.titled());
        assert!(docs.contains(&row), "docs/dialects.md lacks {row}");
        let known = &agent.known_by;
        for other in &agent.also_reads {
            assert!(asked::RUN_BY_OTHERS.contains(&&**other), "{other}");
            assert!(
                known.iter().any(|it| asked::SIGNS.contains(&&**it)),
                "{}",
                agent.name
            );
        }
        let conditions = agent.asks_nobody.iter();
        let is_looked_up = conditions.into_iter().any(|it| it.unattended);
        assert_eq!(
            is_looked_up,
            LOOKED_UP.contains(&agent.name),
            "{}",
            agent.name
        );
    }
}

#[test]
fn tables_are_sound() {
    for dialect in DIALECTS.iter() {
        for row in dialect.events {
            let spec = EVENTS.iter().find(|spec| spec.name == row.canonical);
            let spec =
                spec.unwrap_or_else(|| panic!("{}: {} is no event", dialect.name(), row.canonical));
            assert!(
                !row.rewrites || spec.subject.is_some(),
                "{}: {} has no subject to rewrite",
                dialect.name(),
                row.name
            );
        }
        assert!(
            dialect
                .contract
                .project_variables
                .iter()
                .all(|it| PROJECT_VARIABLES.contains(it))
        );
        for (theirs, ours) in dialect
            .members
            .iter()
            .chain(dialect.events.iter().flat_map(|row| row.members))
        {
            assert!(
                theirs.starts_with('/') && ours.starts_with('/'),
                "{theirs} {ours}"
            );
        }
    }
}
