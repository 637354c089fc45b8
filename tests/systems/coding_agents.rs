//! The words of coding agents: what they say of a moment, and what a verdict is in their words. The
//! payloads are in tests/data/agents.

use crate::support::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// A hook that answers what the payload has under `answer`.
const ECHO: &str = "hooks: [{ name: echo, on: '*', fail: closed, script: return event.answer }]";

const GUARD: &str = "hooks: [{ name: no-echo, on: PreToolUse, if: Bash(echo *), deny: No echo. }]";

/// The canonical events of payloads and the replies to them.
fn replay(dialect: &str, definitions: &str, payloads: &[Value]) -> Vec<(String, Value)> {
    let lines: String = payloads.iter().map(|it| format!("{it}\n")).collect();
    let dir = hooks(&[("hooks.yaml", definitions), ("lines.txt", &lines)]);
    let mut command = hookwire();
    command
        .args([
            "history",
            "replay",
            "--isolated",
            "--format",
            "json",
            "--dialect",
            dialect,
            "--hooks",
        ])
        .arg(dir.path());
    let output = command.arg(dir.path().join("lines.txt")).output().unwrap();
    assert!(
        output.status.success(),
        "{dialect}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let replies = String::from_utf8(output.stdout).unwrap();
    let read = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        (
            line["event"].as_str().unwrap().to_string(),
            line["reply"].take(),
        )
    };
    replies.lines().map(read).collect()
}

fn session(agent: &str) -> Vec<Value> {
    let lines =
        std::fs::read_to_string(repo("tests/data/agents").join(agent).join("session.jsonl"))
            .unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Every moment of a session is understood, a guard of commands holds whatever the tool is called,
/// and where no hook has an opinion nothing is said.
fn check_session(agent: &str, events: &[&str], denied: Value) {
    let said = replay(agent, GUARD, &session(agent));
    assert_eq!(
        said.iter()
            .map(|(event, _)| event.as_str())
            .collect::<Vec<_>>(),
        events,
        "{agent}"
    );
    for (event, reply) in said {
        assert_eq!(
            reply,
            if event == "PreToolUse" {
                denied.clone()
            } else {
                json!({})
            },
            "{agent} {event}"
        );
    }
}

/// An event with members, what a hook answers, and the agent's reply.
type Case = (&'static str, Value, Value, Value);

fn check_replies(agent: &str, name: &str, cases: Vec<Case>) {
    let payload = |(event, members, answer, _): &Case| {
        let mut payload = members.clone();
        payload[name] = json!(event);
        payload["answer"] = answer.clone();
        payload
    };
    let payloads: Vec<Value> = cases.iter().map(payload).collect();
    let said = replay(agent, ECHO, &payloads);
    assert_eq!(said.len(), cases.len());
    for ((_, reply), (event, _, answer, expected)) in said.iter().zip(&cases) {
        assert_eq!(reply, expected, "{agent} {event} {answer}");
    }
}

fn no() -> Value {
    json!({"decision": "deny", "reason": "No."})
}

fn ask() -> Value {
    json!({"decision": "ask", "reason": "Sure?"})
}

fn allow() -> Value {
    json!({"decision": "allow"})
}

fn rewrite() -> Value {
    json!({"subject": {"command": "pwd"}})
}

fn stop() -> Value {
    json!({"stop": "Enough."})
}

fn context() -> Value {
    json!({"additionalContext": ["a", "b"]})
}

fn bash() -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": "ls"}})
}

fn specific(event: &str, mut members: Value) -> Value {
    members["hookEventName"] = event.into();
    json!({ "hookSpecificOutput": members })
}

const ENDS: &str = "Enough. (the run is to end, and the agent can't be told so here)";
const NO_REWRITE: &str = "hook `echo` rewrote this, and the client can't take a rewrite";

#[test]
fn codex() {
    let pre = |members| specific("PreToolUse", members);
    let deny = |reason: &str| {
        pre(json!({"permissionDecision": "deny", "permissionDecisionReason": reason}))
    };
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SessionEnd",
    ];
    check_session("codex", &events, deny("No echo."));
    let request = |decision: Value| specific("PermissionRequest", json!({ "decision": decision }));
    let block = json!({"decision": "block", "reason": "No."});
    let end = |reason: &str| json!({"continue": false, "stopReason": reason});
    let cant_ask = "Sure? (this needs a person's approval, and the client can't ask)";
    check_replies(
        "codex",
        "hook_event_name",
        vec![
            ("PreToolUse", bash(), no(), deny("No.")),
            (
                "PreToolUse",
                bash(),
                json!({"decision": "deny", "reason": ""}),
                deny("Blocked by hook"),
            ),
            ("PreToolUse", bash(), ask(), deny(cant_ask)),
            // An approval by itself voids the reply.
            ("PreToolUse", bash(), allow(), json!({})),
            (
                "PreToolUse",
                bash(),
                rewrite(),
                pre(json!({"permissionDecision": "allow", "updatedInput": {"command": "pwd"}})),
            ),
            (
                "PreToolUse",
                bash(),
                json!({"subject": "pwd"}),
                deny("a hook rewrote this, and a tool's input is an object"),
            ),
            ("PreToolUse", bash(), stop(), deny(ENDS)),
            (
                "PreToolUse",
                bash(),
                context(),
                pre(json!({"additionalContext": "a\nb"})),
            ),
            (
                "PermissionRequest",
                bash(),
                no(),
                request(json!({"behavior": "deny", "message": "No."})),
            ),
            (
                "PermissionRequest",
                bash(),
                allow(),
                request(json!({"behavior": "allow"})),
            ),
            (
                "PermissionRequest",
                bash(),
                rewrite(),
                request(json!({"behavior": "deny", "message": NO_REWRITE})),
            ),
            ("PostToolUse", bash(), no(), block.clone()),
            (
                "UserPromptSubmit",
                json!({"prompt": "hi", "model": "m"}),
                no(),
                block.clone(),
            ),
            (
                "UserPromptSubmit",
                json!({}),
                stop(),
                json!({"continue": false, "stopReason": "Enough.", "decision": "block", "reason": "Enough."}),
            ),
            ("Stop", json!({"tool_use_id": "x"}), no(), block),
            ("Stop", json!({}), context(), json!({})),
            ("SessionStart", json!({"model": "m"}), no(), end("No.")),
            (
                "SessionStart",
                json!({}),
                context(),
                specific("SessionStart", json!({"additionalContext": "a\nb"})),
            ),
            ("Interrupt", json!({}), stop(), json!({})),
            (
                "SessionEnd",
                json!({"reason": "other"}),
                json!({"userMessages": ["bye"]}),
                json!({}),
            ),
            ("BrandNew", json!({"model": []}), no(), json!({})),
        ],
    );
}

/// The JSON Schemas of hooks' outputs that Codex ships (codex-rs/hooks), by event. They aren't ours
/// to keep: the variable names a directory with `codex/*.command.output.schema.json`.
fn schemas_of_codex() -> Option<BTreeMap<String, Value>> {
    let Some(dir) = std::env::var_os("HOOKWIRE_PROTOCOLS") else {
        tried_elsewhere(
            "HOOKWIRE_PROTOCOLS names no directory with Codex's schemas, which aren't ours to keep",
        );
        return None;
    };
    let mut schemas = BTreeMap::new();
    for entry in std::fs::read_dir(Path::new(&dir).join("codex")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(name) = name.strip_suffix(".command.output.schema.json") else {
            continue;
        };
        let event = name
            .split('-')
            .map(|word| word[..1].to_uppercase() + &word[1..])
            .collect();
        schemas.insert(
            event,
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap(),
        );
    }
    Some(schemas)
}

/// Codex drops a reply with a word too many, and the tool runs.
#[test]
fn codex_takes_every_reply() {
    let Some(schemas) = schemas_of_codex() else {
        return;
    };
    let mut payloads = Vec::new();
    for event in schemas.keys() {
        let said = json!({"userMessages": ["m"], "additionalContext": ["c"]});
        for answer in [
            json!(null),
            no(),
            ask(),
            allow(),
            rewrite(),
            stop(),
            context(),
            said,
        ] {
            for more in [
                json!({}),
                json!({"stop": "s", "reason": "", "userMessages": ["m"]}),
            ] {
                let mut payload = bash();
                payload["hook_event_name"] = json!(event);
                payload["answer"] = answer.clone();
                if let (Some(answer), Some(more)) =
                    (payload["answer"].as_object_mut(), more.as_object())
                {
                    answer.extend(more.clone());
                }
                payloads.push(payload);
            }
        }
    }
    let mut spoken = BTreeSet::new();
    for (payload, (_, reply)) in payloads.iter().zip(replay("codex", ECHO, &payloads)) {
        let event = payload["hook_event_name"].as_str().unwrap();
        assert!(
            is_valid(&schemas[event], &schemas[event], &reply),
            "{payload} {reply}"
        );
        spoken.extend((reply != json!({})).then_some(event));
        // What the schema lets pass and the client refuses.
        let pre = &reply["hookSpecificOutput"];
        assert!(
            pre["permissionDecision"] != "allow" || pre["updatedInput"].is_object(),
            "{reply}"
        );
        assert!(
            event != "PreToolUse" || reply.get("continue").is_none(),
            "{reply}"
        );
        let reasons = [
            (&reply["decision"], &reply["reason"]),
            (&pre["permissionDecision"], &pre["permissionDecisionReason"]),
        ];
        for (decision, reason) in reasons {
            assert!(
                !["block", "deny"].iter().any(|it| decision == it)
                    || reason.as_str().is_some_and(|it| !it.is_empty())
            );
        }
    }
    assert_eq!(
        spoken.len(),
        schemas.len(),
        "something is said at every event"
    );
}

/// As far as these schemas go.
fn is_valid(root: &Value, schema: &Value, value: &Value) -> bool {
    let holds = |(key, rule): (&String, &Value)| match key.as_str() {
        "$ref" => is_valid(
            root,
            root.pointer(rule.as_str().unwrap().trim_start_matches('#'))
                .unwrap(),
            value,
        ),
        "allOf" => rule
            .as_array()
            .unwrap()
            .iter()
            .all(|rule| is_valid(root, rule, value)),
        "enum" => rule.as_array().unwrap().contains(value),
        "const" => rule == value,
        "required" => rule
            .as_array()
            .unwrap()
            .iter()
            .all(|key| value.get(key.as_str().unwrap()).is_some()),
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            other => panic!("{other}"),
        },
        "properties" => {
            let members = value.as_object().unwrap();
            members
                .iter()
                .all(|(key, value)| rule.get(key).is_none_or(|rule| is_valid(root, rule, value)))
        }
        "additionalProperties" => {
            assert_eq!(rule, false);
            value
                .as_object()
                .is_none_or(|it| it.keys().all(|key| schema["properties"].get(key).is_some()))
        }
        "$schema" | "definitions" | "title" | "default" | "description" => true,
        other => panic!("{other}"),
    };
    schema
        .as_object()
        .is_none_or(|rules| rules.iter().all(holds))
}

#[test]
fn gemini() {
    let events = [
        "SessionStart",
        "RunStart",
        "PreCompact",
        "PreModelCall",
        "custom:BeforeToolSelection",
        "PostModelCall",
        "PreToolUse",
        "PostToolUse",
        "RunEnd",
        "SessionEnd",
        "Notification",
    ];
    let deny = |reason: &str| json!({"decision": "deny", "reason": reason});
    // Of a call its people see nothing else.
    let no_call =
        |reason: &str| json!({"decision": "deny", "reason": reason, "systemMessage": reason});
    check_session("gemini", &events, no_call("No echo."));
    let shell = || json!({"tool_name": "run_shell_command", "tool_input": {"command": "ls", "description": "d"}});
    let removed = "a hook took away a member, and Gemini CLI only adds and replaces members";
    let input = json!({"command": "pwd", "description": "d"});
    let request = || json!({"llm_request": {"model": "g", "messages": []}});
    let ends_and_denies = json!({"continue": false, "stopReason": "Enough.", "decision": "deny", "reason": "Enough.",
        "systemMessage": "Enough."});
    let model = json!({"model": "h", "messages": []});
    check_replies(
        "gemini",
        "hook_event_name",
        vec![
            ("BeforeTool", shell(), no(), no_call("No.")),
            (
                "BeforeTool",
                shell(),
                json!({"decision": "deny"}),
                no_call("Blocked by hook"),
            ),
            (
                "BeforeTool",
                shell(),
                ask(),
                json!({"decision": "ask", "reason": "Sure?", "systemMessage": "Sure?"}),
            ),
            ("BeforeTool", shell(), allow(), json!({"decision": "allow"})),
            (
                "BeforeTool",
                shell(),
                json!({"patch": {"command": "pwd"}}),
                specific("BeforeTool", json!({"tool_input": input})),
            ),
            ("BeforeTool", shell(), rewrite(), no_call(removed)),
            ("BeforeTool", shell(), stop(), ends_and_denies),
            ("AfterTool", shell(), no(), deny("No.")),
            (
                "AfterTool",
                shell(),
                json!({"subject": "x"}),
                deny(NO_REWRITE),
            ),
            (
                "AfterTool",
                shell(),
                context(),
                specific("AfterTool", json!({"additionalContext": "a\nb"})),
            ),
            ("BeforeAgent", json!({"prompt": "hi"}), no(), deny("No.")),
            (
                "BeforeAgent",
                json!({"prompt": "hi"}),
                json!({"subject": "ho"}),
                deny(NO_REWRITE),
            ),
            (
                "AfterAgent",
                json!({"prompt_response": "done"}),
                no(),
                deny("No."),
            ),
            (
                "BeforeModel",
                request(),
                json!({"patch": {"model": "h"}}),
                specific("BeforeModel", json!({"llm_request": model})),
            ),
            ("BeforeModel", request(), no(), deny("No.")),
            (
                "PreCompress",
                json!({"trigger": "auto"}),
                no(),
                json!({"systemMessage": "No."}),
            ),
            (
                "SessionStart",
                json!({"source": "startup"}),
                stop(),
                json!({"continue": false, "stopReason": "Enough.", "systemMessage": "Enough."}),
            ),
            (
                "BeforeToolSelection",
                request(),
                no(),
                json!({
                    "hookSpecificOutput": {"hookEventName": "BeforeToolSelection", "toolConfig": {"mode": "NONE"}},
                    "systemMessage": "No.",
                }),
            ),
            (
                "BrandNew",
                json!({"data": 1, "step": "x"}),
                no(),
                json!({"systemMessage": "No."}),
            ),
        ],
    );
}

#[test]
fn qwen() {
    let events = [
        "Notification",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "UserPromptSubmit",
        "Stop",
    ];
    let pre = |decision: &str, reason: &str| {
        specific(
            "PreToolUse",
            json!({"permissionDecision": decision, "permissionDecisionReason": reason}),
        )
    };
    check_session("qwen", &events, pre("deny", "No echo."));
    let block = json!({"decision": "block", "reason": "No."});
    let request = |decision: Value| specific("PermissionRequest", json!({ "decision": decision }));
    check_replies(
        "qwen",
        "hook_event_name",
        vec![
            ("PreToolUse", bash(), no(), pre("deny", "No.")),
            ("PreToolUse", bash(), ask(), pre("ask", "Sure?")),
            (
                "PreToolUse",
                bash(),
                allow(),
                specific("PreToolUse", json!({"permissionDecision": "allow"})),
            ),
            // It would run the original.
            ("PreToolUse", bash(), rewrite(), pre("deny", NO_REWRITE)),
            (
                "PermissionRequest",
                bash(),
                rewrite(),
                request(json!({"behavior": "deny", "message": NO_REWRITE})),
            ),
            (
                "UserPromptSubmit",
                json!({"prompt": ""}),
                no(),
                block.clone(),
            ),
            ("Stop", json!({"stop_hook_active": true}), no(), block),
            (
                "PreToolUse",
                bash(),
                stop(),
                json!({"continue": false, "stopReason": "Enough.", "hookSpecificOutput": pre("deny", "Enough.")["hookSpecificOutput"]}),
            ),
        ],
    );
}

#[test]
fn copilot() {
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "Stop",
        "ModelCallError",
        "RunError",
        "SessionEnd",
        // The same agent, where hooks have Claude Code's names of events.
        "SessionStart",
        "PreToolUse",
        "PostToolUse",
    ];
    let pre = |decision: &str, reason: &str| json!({"permissionDecision": decision, "permissionDecisionReason": reason});
    let in_both = |reason: &str| {
        let deny = pre("deny", reason);
        let mut both = specific("PreToolUse", deny.clone());
        both.as_object_mut()
            .unwrap()
            .extend(deny.as_object().unwrap().clone());
        both
    };
    // Of the calls, the last has VS Code's name of the event.
    let said = replay("copilot", GUARD, &session("copilot"));
    let mut denied = vec![
        pre("deny", "No echo."),
        pre("deny", "No echo."),
        in_both("No echo."),
    ]
    .into_iter();
    assert_eq!(
        said.iter()
            .map(|(event, _)| event.as_str())
            .collect::<Vec<_>>(),
        events
    );
    for (event, reply) in said {
        assert_eq!(
            reply,
            if event == "PreToolUse" {
                denied.next().unwrap()
            } else {
                json!({})
            },
            "{event}"
        );
    }
    let call = || json!({"toolName": "bash", "toolArgs": {"command": "ls"}});
    let request = || json!({"hookName": "permissionRequest", "toolName": "bash", "toolInput": {"command": "ls"}});
    let of_vs_code = || json!({"sessionId": "s", "hookEventName": "PreToolUse", "tool_name": "x", "tool_input": {}});
    let in_snake_case =
        || json!({"session_id": "s", "tool_name": "x", "tool_input": {}, "tool_use_id": "1"});
    let ends =
        json!({"decision": "block", "reason": "No.", "continue": false, "stopReason": "No."});
    let hso = json!({"permissionDecision": "deny", "permissionDecisionReason": "No."});
    let unproven = "a hook rewrote this, and VS Code's Copilot isn't known to take a rewrite";
    let of_vs_code_no = json!({"permissionDecision": "deny", "permissionDecisionReason": unproven});
    let unasked = "Sure? (a hook rewrote this, and Copilot isn't known to ask about a rewrite)";
    let result = json!({"resultType": "success", "textResultForLlm": "out"});
    let done = || json!({"toolName": "bash", "toolArgs": {"command": "ls"}, "toolResult": result});
    check_replies(
        "copilot",
        "hook_event_name",
        vec![
            ("preToolUse", call(), no(), pre("deny", "No.")),
            (
                "preToolUse",
                call(),
                json!({"decision": "deny", "reason": ""}),
                pre("deny", "Blocked by hook"),
            ),
            ("preToolUse", call(), ask(), pre("ask", "Sure?")),
            (
                "preToolUse",
                call(),
                allow(),
                json!({"permissionDecision": "allow"}),
            ),
            (
                "preToolUse",
                call(),
                rewrite(),
                json!({"modifiedArgs": {"command": "pwd"}}),
            ),
            (
                "preToolUse",
                call(),
                json!({"decision": "ask", "reason": "Sure?", "subject": {"command": "pwd"}}),
                pre("deny", unasked),
            ),
            (
                "preToolUse",
                call(),
                json!({"subject": "pwd"}),
                pre(
                    "deny",
                    "a hook rewrote this, and Copilot takes no such rewrite",
                ),
            ),
            (
                "preToolUse",
                call(),
                context(),
                json!({"additionalContext": "a\nb"}),
            ),
            ("preToolUse", call(), stop(), pre("deny", ENDS)),
            (
                "postToolUse",
                done(),
                no(),
                json!({"decision": "block", "reason": "No."}),
            ),
            (
                "postToolUse",
                done(),
                json!({"subject": "x"}),
                json!({"modifiedResult": {"resultType": "success", "textResultForLlm": "x"}}),
            ),
            (
                "postToolUse",
                done(),
                json!({"patch": {"textResultForLlm": "y"}}),
                json!({"modifiedResult": {"resultType": "success", "textResultForLlm": "y"}}),
            ),
            (
                "postToolUse",
                done(),
                context(),
                json!({"additionalContext": "a\nb"}),
            ),
            (
                "permissionRequest",
                request(),
                rewrite(),
                json!({"behavior": "deny", "message": NO_REWRITE}),
            ),
            (
                "permissionRequest",
                request(),
                no(),
                json!({"behavior": "deny", "message": "No."}),
            ),
            (
                "permissionRequest",
                request(),
                allow(),
                json!({"behavior": "allow"}),
            ),
            ("permissionRequest", request(), ask(), json!({})),
            (
                "agentStop",
                json!({"stop_hook_active": false}),
                no(),
                json!({"decision": "block", "reason": "No."}),
            ),
            ("agentStop", json!({}), stop(), json!({})),
            (
                "userPromptSubmitted",
                json!({"prompt": "hi"}),
                no(),
                json!({"decision": "block", "reason": "No."}),
            ),
            (
                "userPromptSubmitted",
                json!({"prompt": "hi"}),
                json!({"subject": "ho"}),
                json!({"modifiedPrompt": "ho"}),
            ),
            (
                "sessionStart",
                json!({}),
                context(),
                json!({"additionalContext": "a\nb"}),
            ),
            (
                "PreToolUse",
                of_vs_code(),
                no(),
                specific("PreToolUse", hso),
            ),
            (
                "PreToolUse",
                of_vs_code(),
                rewrite(),
                specific("PreToolUse", of_vs_code_no),
            ),
            // VS Code's payloads of today, and the CLI's under the same names.
            ("PreToolUse", in_snake_case(), no(), in_both("No.")),
            ("PreToolUse", in_snake_case(), rewrite(), in_both(unproven)),
            (
                "PreToolUse",
                bash(),
                rewrite(),
                json!({"modifiedArgs": {"command": "pwd"}}),
            ),
            ("PreToolUse", in_snake_case(), allow(), {
                let mut both = specific("PreToolUse", json!({"permissionDecision": "allow"}));
                both["permissionDecision"] = "allow".into();
                both
            }),
            (
                "PostToolUse",
                in_snake_case(),
                no(),
                json!({"decision": "block", "reason": "No."}),
            ),
            (
                "UserPromptSubmit",
                json!({"prompt": "hi"}),
                no(),
                ends.clone(),
            ),
            ("PreCompact", json!({"trigger": "auto"}), no(), ends),
            ("Stop", json!({"stop_hook_active": false}), no(), {
                let mut both = specific("Stop", json!({"decision": "block", "reason": "No."}));
                both["decision"] = "block".into();
                both["reason"] = "No.".into();
                both
            }),
            (
                "SubagentStop",
                json!({"agent_id": "a"}),
                no(),
                json!({"decision": "block", "reason": "No."}),
            ),
        ],
    );
}

/// A tool of an MCP server goes by one name, if the agent says which server it is of.
#[test]
fn tools_of_mcp_servers_have_one_name() {
    let guard = "hooks: [{ name: g, on: PreToolUse, if: 'mcp__pay__*', deny: No. }]";
    let by_argument =
        "hooks: [{ name: g, on: PreToolUse, if: 'mcp__my_pay__send(to=bob)', deny: No. }]";
    let by_matcher = "hooks: [{ name: g, on: PreToolUse, matcher: 'mcp__pay__.*', deny: No. }]";
    let of_its_dialect = "{ dialect: gemini, hooks: [{ name: g, on: BeforeTool, matcher: mcp_pay_send, deny: No. }] }";
    let allow = "hooks: [{ name: g, on: PreToolUse, if: 'mcp__pay__*', allow: Fine. }]";
    let policy = "policy: { deny: ['mcp__pay__send'] }";
    let gemini = |server: &str| {
        json!({"hook_event_name": "BeforeTool", "tool_name": "mcp_pay_send", "tool_input": {"to": "bob"},
            "mcp_context": {"server_name": server, "tool_name": "send"}})
    };
    let claude = |tool: &str| json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": tool, "tool_input": {"to": "bob"}});
    let exact = "hooks: [{ name: g, on: PreToolUse, if: 'mcp__pay__send', deny: No. }]";
    let but_pay =
        "hooks: [{ name: g, on: PreToolUse, if: 'mcp__*', unless: 'mcp__pay__*', deny: No. }]";
    let allow_by_matcher =
        "hooks: [{ name: g, on: PreToolUse, matcher: 'mcp__pay__.*', allow: Fine. }]";
    let cline = |tool: &str, server: &str| {
        let input = json!({"server_name": server, "tool_name": "send", "arguments": "{}"});
        json!({"hook_event_name": "PreToolUse", "preToolUse": {"toolName": tool, "parameters": input}})
    };
    for (dialect, definitions, payload, expected) in [
        ("gemini", guard, gemini("pay"), "No."),
        ("gemini", guard, gemini("other"), ""),
        ("gemini", by_argument, gemini("my pay"), "No."),
        ("gemini", by_matcher, gemini("pay"), "No."),
        ("gemini", of_its_dialect, gemini("pay"), "No."),
        (
            "gemini",
            policy,
            gemini("pay"),
            "the policy denies `mcp__pay__send`",
        ),
        ("gemini", allow, gemini("pay"), "Fine."),
        ("gemini", allow, gemini("other"), ""),
        (
            "claude-code",
            guard,
            claude("mcp__plugin_shop_pay__send"),
            "No.",
        ),
        (
            "claude-code",
            exact,
            claude("mcp__plugin_my-shop_pay__send"),
            "No.",
        ),
        (
            "claude-code",
            by_matcher,
            claude("mcp__plugin_shop_pay__send"),
            "No.",
        ),
        (
            "claude-code",
            policy,
            claude("mcp__plugin_shop_pay__send"),
            "the policy denies `mcp__pay__send`",
        ),
        // Other servers and tools, and what only looks like a plug-in's.
        (
            "claude-code",
            guard,
            claude("mcp__plugin_pay_other__send"),
            "",
        ),
        (
            "claude-code",
            guard,
            claude("mcp__plugin_shop_my_pay__send"),
            "",
        ),
        ("claude-code", guard, claude("mcp__plugin_pay__send"), ""),
        (
            "claude-code",
            exact,
            claude("mcp__plugin_shop_pay__refund"),
            "",
        ),
        ("claude-code", exact, claude("mcp__plugin_shop_pay__"), ""),
        // A plug-in chooses its server's name: nothing is allowed by that.
        ("claude-code", allow, claude("mcp__pay__send"), "Fine."),
        (
            "claude-code",
            allow,
            claude("mcp__plugin_evil_pay__send"),
            "",
        ),
        (
            "claude-code",
            allow_by_matcher,
            claude("mcp__plugin_evil_pay__send"),
            "",
        ),
        ("claude-code", but_pay, claude("mcp__pay__send"), ""),
        (
            "claude-code",
            but_pay,
            claude("mcp__plugin_evil_pay__send"),
            "No.",
        ),
        ("cline", guard, cline("use_mcp_tool", "pay"), "No."),
        ("cline", guard, cline("use_mcp_tool", "other"), ""),
        ("cline", guard, cline("another", "pay"), ""),
        (
            "kiro",
            guard,
            json!({"hook_event_name": "preToolUse", "tool_name": "@pay/send", "tool_input": {}}),
            "No.",
        ),
        (
            "kiro",
            guard,
            json!({"hook_event_name": "preToolUse", "tool_name": "@other/send", "tool_input": {}}),
            "",
        ),
        (
            "grok",
            guard,
            json!({"hookEventName": "pre_tool_use", "toolName": "use_tool", "toolInput": {"tool_name": "pay__send", "tool_input": {}}}),
            "No.",
        ),
    ] {
        let reply = replay(dialect, definitions, std::slice::from_ref(&payload))
            .remove(0)
            .1;
        let specific = reply.pointer("/hookSpecificOutput/permissionDecisionReason");
        let reason = reply
            .get("reason")
            .or(reply.get("errorMessage"))
            .or(specific);
        let reason = reason.and_then(Value::as_str).unwrap_or_default();
        assert_eq!(reason, expected, "{dialect} {definitions} {payload}");
    }
}

/// Copilot's patches are a text and no object.
#[test]
fn the_files_of_copilots_patches_are_judged() {
    let guard = "hooks: [{ name: g, on: PreToolUse, if: 'Edit(**/secret/**)', deny: Secret. }]";
    let call = |file: &str| {
        let patch =
            format!("*** Begin Patch\n*** Update File: {file}\n@@\n-a\n+b\n*** End Patch\n");
        json!({"hook_event_name": "preToolUse", "cwd": "/p", "toolName": "apply_patch", "toolArgs": patch})
    };
    let secret = json!({"permissionDecision": "deny", "permissionDecisionReason": "Secret."});
    let said = replay("copilot", guard, &[call("ok.ts"), call("secret/a")]);
    assert_eq!(
        said.into_iter().map(|(_, reply)| reply).collect::<Vec<_>>(),
        [json!({}), secret]
    );
    let rewrites = "hooks: [{ name: g, on: PreToolUse, rewrite: { patch: { input: x } } }]";
    let reason = "a hook rewrote this, and Copilot isn't known to take another patch";
    let denied = json!({"permissionDecision": "deny", "permissionDecisionReason": reason});
    assert_eq!(replay("copilot", rewrites, &[call("a")])[0].1, denied);
}

#[test]
fn cline() {
    let events = [
        "RunStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "RunEnd",
        "SubagentStart",
        "SubagentStop",
        "RunError",
        "SessionEnd",
    ];
    let cancel = |reason: &str| json!({"cancel": true, "errorMessage": reason});
    check_session("cline", &events, cancel("No echo."));
    let call =
        || json!({"tool_call": {"id": "1", "name": "execute_command", "input": {"command": "ls"}}});
    let of_extension =
        || json!({"preToolUse": {"toolName": "execute_command", "parameters": {"command": "ls"}}});
    let cant_ask = "Sure? (this needs a person's approval, and the client can't ask)";
    check_replies(
        "cline",
        "hook_event_name",
        vec![
            ("PreToolUse", call(), no(), cancel("No.")),
            (
                "PreToolUse",
                call(),
                json!({"decision": "deny", "reason": ""}),
                cancel("Blocked by hook"),
            ),
            ("PreToolUse", call(), ask(), cancel(cant_ask)),
            ("PreToolUse", call(), allow(), json!({})),
            (
                "PreToolUse",
                call(),
                rewrite(),
                json!({"overrideInput": {"command": "pwd"}}),
            ),
            (
                "PreToolUse",
                of_extension(),
                rewrite(),
                json!({"overrideInput": {"command": "pwd"}}),
            ),
            ("PreToolUse", call(), stop(), cancel("Enough.")),
            (
                "PreToolUse",
                call(),
                context(),
                json!({"context": "a\nb", "contextModification": "a\nb"}),
            ),
            (
                "UserPromptSubmit",
                json!({"userPromptSubmit": {"prompt": "hi"}}),
                no(),
                cancel("No."),
            ),
            ("BrandNew", json!({"session": 1}), allow(), json!({})),
        ],
    );
}

/// Its CLI runs several texts in one call: one that is denied is enough, and an allow is for all of
/// them.
#[test]
fn cline_runs_several_commands_in_one_call() {
    let definitions = "
hooks:
  - { name: no-push, on: PreToolUse, if: Bash(git push *), deny: No push. }
  - { name: list, on: PreToolUse, if: Bash(ls *), allow: Fine. }
policy: { deny: ['Bash(shutdown *)'] }";
    let call = |commands: Value| json!({"hook_event_name": "PreToolUse", "tool_call": {"name": "run_commands", "input": {"commands": commands}}});
    let payloads = [
        json!(["ls -l", "ls -a"]),
        json!(["ls -l", "git push -f"]),
        json!(["ls", "shutdown -h now"]),
        json!([{"x": 1}]),
    ];
    let said = replay("cline", definitions, &payloads.map(call));
    let cancelled: Vec<bool> = said
        .iter()
        .map(|(_, reply)| reply["cancel"] == true)
        .collect();
    // What can't be read is in doubt.
    assert_eq!(cancelled, [false, true, true, true], "{said:?}");
}

#[test]
fn opencode() {
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PreCompact",
        "ModelCallError",
        "RunEnd",
    ];
    let deny = |reason: &str| json!({ "deny": reason });
    check_session("opencode", &events, deny("No echo."));
    let call = || json!({"tool": "bash", "args": {"command": "ls"}, "output": "a"});
    let cant_ask = "Sure? (this needs a person's approval, and the client can't ask)";
    check_replies(
        "opencode",
        "event",
        vec![
            ("tool.execute.before", call(), no(), deny("No.")),
            ("tool.execute.before", call(), ask(), deny(cant_ask)),
            ("tool.execute.before", call(), allow(), json!({})),
            (
                "tool.execute.before",
                call(),
                rewrite(),
                json!({"args": {"command": "pwd"}}),
            ),
            ("tool.execute.before", call(), stop(), deny(ENDS)),
            (
                "tool.execute.after",
                call(),
                json!({"subject": "b"}),
                json!({"output": "b"}),
            ),
            (
                "tool.execute.after",
                call(),
                json!({"subject": 3}),
                deny("a hook rewrote this, and OpenCode takes no such rewrite"),
            ),
            ("chat.message", json!({"prompt": "hi"}), no(), deny("No.")),
            (
                "experimental.session.compacting",
                json!({}),
                context(),
                json!({"context": ["a", "b"]}),
            ),
            ("session.idle", json!({}), no(), json!({})),
        ],
    );
}

/// What the plug-in does with what a command prints, and without a command.
#[test]
fn the_plug_in_of_opencode_obeys() {
    if !is_there("node") {
        return;
    }
    let plugin = hookwire::agents::by_name("opencode").unwrap().plugin;
    let driver = r#"
import { Hookwire } from "./plugin.mjs";
const hooks = await Hookwire({ directory: "." });
const call = { tool: "bash", sessionID: "s", callID: "c" };
const before = { args: { command: "ls", timeout: 1 } };
const after = { title: "t", output: "secret", metadata: {} };
const thrown = await hooks["tool.execute.before"](call, before).then(() => null, (error) => error.message);
await hooks["tool.execute.after"]({ ...call, args: {} }, after);
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } });
console.log(JSON.stringify([thrown, before.args, after.output]));
"#;
    let same = json!({"command": "ls", "timeout": 1});
    for (command, expected) in [
        (r#"cat >&2; echo '{}'"#, json!([null, same, "secret"])),
        ("cat >&2", json!([null, same, "secret"])),
        (r#"echo '{"deny":"No."}'"#, json!(["No.", same, "No."])),
        (
            r#"cat > /dev/null; echo '{"args":{"command":"pwd"},"output":"b"}'"#,
            json!([null, {"command": "pwd"}, "b"]),
        ),
        (
            "echo oops",
            json!([
                "hookwire gave no verdict: ",
                same,
                "hookwire gave no verdict: "
            ]),
        ),
        (
            "echo down >&2; exit 2",
            json!([
                "hookwire gave no verdict: down",
                same,
                "hookwire gave no verdict: down"
            ]),
        ),
    ] {
        let command = json!(["sh", "-c", command]).to_string();
        let plugin = plugin.replace(r#"["hookwire", "hook", "AGENT"]"#, &command);
        assert!(
            plugin.contains(&command),
            "the command is where it is put in"
        );
        let dir = hooks(&[("plugin.mjs", &plugin), ("driver.mjs", driver)]);
        let output = std::process::Command::new("node")
            .arg("driver.mjs")
            .current_dir(dir.path())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let told: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{stderr}"));
        for (told, expected) in told
            .as_array()
            .unwrap()
            .iter()
            .zip(expected.as_array().unwrap())
        {
            let begins = |text: &Value| {
                text.as_str()
                    .zip(told.as_str())
                    .is_some_and(|(text, it)| it.starts_with(text))
            };
            assert!(
                told == expected || begins(expected),
                "{command}: {told}, not {expected}"
            );
        }
    }
}

/// The sessions of the agents whose dialects are made of their facts. A guard of commands holds,
/// whatever the tool and its argument are called.
#[test]
fn agents_by_their_facts() {
    let specific = |reason: &str| {
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
            "permissionDecisionReason": reason}})
    };
    let by_exit = json!({"decision": "block", "reason": "No echo."});
    let permission = json!({"continue": true, "permission": "deny", "user_message": "No echo.", "agent_message": "No echo."});
    for (agent, denied, n_denied) in [
        ("cursor", permission, 2),
        (
            "antigravity",
            json!({"decision": "deny", "reason": "No echo."}),
            1,
        ),
        ("kiro", by_exit.clone(), 1),
        ("droid", specific("No echo."), 1),
        ("grok", specific("No echo."), 1),
        ("kimi", specific("No echo."), 1),
        ("amp", json!({"deny": "No echo."}), 1),
        ("pi", json!({"deny": "No echo."}), 1),
        ("windsurf", by_exit, 1),
    ] {
        let said = replay(agent, GUARD, &session(agent));
        let replies: Vec<_> = said
            .iter()
            .filter(|(_, reply)| *reply == denied)
            .map(|(event, _)| &**event)
            .collect();
        let gates = said
            .iter()
            .filter(|(event, _)| event == "PreToolUse")
            .count();
        assert_eq!(
            (replies.len(), gates),
            (n_denied, n_denied),
            "{agent} {said:?}"
        );
        assert!(
            said.iter().all(|(event, _)| !event.starts_with("custom:")),
            "{agent} {said:?}"
        );
    }
}

#[test]
fn replies_by_facts() {
    let cursor = |permission: &str, reason: &str| json!({"continue": true, "permission": permission, "user_message": reason, "agent_message": reason});
    let call = || json!({"tool_name": "Shell", "tool_input": {"command": "ls"}});
    let shell = || json!({"command": "ls", "cwd": ""});
    check_replies(
        "cursor",
        "hook_event_name",
        vec![
            ("preToolUse", call(), no(), cursor("deny", "No.")),
            // It is left to the next event.
            (
                "preToolUse",
                call(),
                ask(),
                json!({"continue": true, "permission": "allow"}),
            ),
            (
                "preToolUse",
                call(),
                allow(),
                json!({"continue": true, "permission": "allow"}),
            ),
            (
                "preToolUse",
                call(),
                rewrite(),
                json!({"continue": true, "permission": "allow", "updated_input": {"command": "pwd"}}),
            ),
            ("preToolUse", call(), stop(), cursor("deny", ENDS)),
            (
                "beforeShellExecution",
                shell(),
                ask(),
                cursor("ask", "Sure?"),
            ),
            (
                "beforeShellExecution",
                shell(),
                rewrite(),
                cursor("deny", NO_REWRITE),
            ),
            (
                "beforeSubmitPrompt",
                json!({"prompt": "hi"}),
                no(),
                json!({"continue": false, "user_message": "No."}),
            ),
            ("stop", json!({}), no(), json!({"followup_message": "No."})),
            (
                "postToolUse",
                call(),
                context(),
                json!({"additional_context": "a\nb"}),
            ),
            ("BrandNew", json!({}), no(), json!({})),
        ],
    );
    let call =
        || json!({"toolCall": {"name": "run_command", "args": {"CommandLine": "ls", "Cwd": "/p"}}});
    check_replies(
        "antigravity",
        "hook_event_name",
        vec![
            (
                "PreToolUse",
                call(),
                json!(null),
                json!({"decision": "allow"}),
            ),
            (
                "PreToolUse",
                call(),
                ask(),
                json!({"decision": "force_ask", "reason": "Sure?"}),
            ),
            (
                "PreToolUse",
                call(),
                allow(),
                json!({"decision": "auto_approve", "reason": ""}),
            ),
            (
                "PreToolUse",
                call(),
                json!({"patch": {"CommandLine": "pwd"}}),
                json!({"decision": "allow", "overwrite": {"CommandLine": "pwd", "Cwd": "/p"}}),
            ),
            (
                "PreToolUse",
                call(),
                rewrite(),
                json!({"decision": "deny", "reason": "a hook rewrote this, and Antigravity CLI only adds and replaces members"}),
            ),
            (
                "Stop",
                json!({}),
                no(),
                json!({"decision": "continue", "reason": "No."}),
            ),
        ],
    );
    check_replies(
        "kiro",
        "hook_event_name",
        vec![
            (
                "UserPromptSubmit",
                json!({"prompt": "hi"}),
                context(),
                json!({"printed": "a\nb"}),
            ),
            (
                "preToolUse",
                bash(),
                rewrite(),
                json!({"decision": "block", "reason": NO_REWRITE}),
            ),
            ("preToolUse", bash(), allow(), json!({})),
        ],
    );
    check_replies(
        "pi",
        "event",
        vec![
            (
                "tool_call",
                json!({"tool": "bash", "input": {"command": "ls"}}),
                rewrite(),
                json!({"input": {"command": "pwd"}}),
            ),
            (
                "input",
                json!({"prompt": "hi"}),
                json!({"subject": "ho"}),
                json!({"prompt": "ho"}),
            ),
            (
                "input",
                json!({"prompt": "hi"}),
                context(),
                json!({"context": "a\nb"}),
            ),
            (
                "agent_before_settle",
                json!({}),
                no(),
                json!({"deny": "No."}),
            ),
            (
                "tool_result",
                json!({"tool": "bash", "input": {}, "output": "k"}),
                json!({"subject": "x"}),
                json!({"output": "x"}),
            ),
        ],
    );
}

/// One set of hooks: where an agent has no moment for an event, the nearest one runs its hooks,
/// once.
#[test]
fn hooks_run_at_the_nearest_moment() {
    const HOOKS: &str = r#"hooks:
  - { name: prompt, on: [UserPromptSubmit, RunStart], fail: closed, script: "return { reason: 'p', decision: 'deny' }" }
  - { name: rest, on: Stop, fail: closed, script: "return { reason: 's', decision: 'deny' }" }"#;
    for (dialect, payload, expected) in [
        (
            "gemini",
            json!({"hook_event_name": "BeforeAgent", "prompt": "x"}),
            json!({"decision": "deny", "reason": "p"}),
        ),
        (
            "gemini",
            json!({"hook_event_name": "AfterAgent", "prompt_response": "x"}),
            json!({"decision": "deny", "reason": "s"}),
        ),
        (
            "gemini",
            json!({"hook_event_name": "SessionEnd", "reason": "x"}),
            json!({}),
        ),
        (
            "claude-code",
            json!({"hook_event_name": "Stop"}),
            json!({"decision": "block", "reason": "s"}),
        ),
        ("native", json!({"event": "RunEnd"}), Value::Null),
    ] {
        let (_, reply) = replay(dialect, HOOKS, std::slice::from_ref(&payload)).remove(0);
        assert_eq!(reply, expected, "{dialect} {payload}");
    }
}

/// A hook that never lets its agent rest: each dialect's agent is sent back eight times in a row.
/// What only looks like a new prompt begins nothing new.
#[test]
fn no_agent_is_sent_back_for_ever() {
    const DENIES: &str =
        "hooks: [{ name: rest, on: [Stop, SubagentStop, TeammateIdle], deny: Go on. }]";
    const TELLS: &str = "hooks: [{ name: rest, on: Stop, fail: closed, script: \"return { additionalContext: ['Go on.'] }\" }]";
    let stop = |name: &str| json!({ "hook_event_name": name, "cwd": "/p", "session_id": "s" });
    let without_session = |name: &str| json!({ "hook_event_name": name, "cwd": "/p" });
    let prompt = |name: &str, text: &str| json!({ "hook_event_name": name, "session_id": "s", "prompt": text });
    let copilot = json!({ "hook_event_name": "agentStop", "cwd": "/p", "sessionId": "s" });
    let sent_back_ten_times = [true; 10];
    let rests_once = [true, true, true, true, true, true, true, true, false, true];
    for (dialect, definitions, stop, between, expected) in [
        ("claude-code", DENIES, stop("Stop"), None, rests_once),
        (
            "claude-code",
            DENIES,
            stop("SubagentStop"),
            None,
            rests_once,
        ),
        (
            "claude-code",
            DENIES,
            stop("TeammateIdle"),
            None,
            rests_once,
        ),
        ("claude-code", TELLS, stop("Stop"), None, rests_once),
        (
            "claude-code",
            DENIES,
            without_session("Stop"),
            None,
            rests_once,
        ),
        (
            "claude-code",
            DENIES,
            stop("Stop"),
            Some(prompt("UserPromptSubmit", "Now this.")),
            sent_back_ten_times,
        ),
        (
            "codex",
            DENIES,
            stop("Stop"),
            Some(prompt("UserPromptSubmit", " Go on.\n")),
            rests_once,
        ),
        ("gemini", DENIES, stop("AfterAgent"), None, rests_once),
        (
            "gemini",
            DENIES,
            without_session("AfterAgent"),
            None,
            rests_once,
        ),
        (
            "gemini",
            DENIES,
            stop("AfterAgent"),
            Some(prompt("BeforeAgent", "Go on.")),
            rests_once,
        ),
        (
            "gemini",
            DENIES,
            stop("AfterAgent"),
            Some(prompt("BeforeAgent", "Now this.")),
            sent_back_ten_times,
        ),
        (
            "qwen",
            DENIES,
            stop("Stop"),
            Some(prompt("UserPromptSubmit", "")),
            rests_once,
        ),
        ("copilot", DENIES, copilot, None, rests_once),
    ] {
        let payloads: Vec<Value> = (0..10)
            .flat_map(|_| [Some(stop.clone()), between.clone()])
            .flatten()
            .collect();
        let said = replay(dialect, definitions, &payloads);
        let of_stop = said.iter().step_by(1 + usize::from(between.is_some()));
        let sent_back: Vec<bool> = of_stop.map(|(_, reply)| *reply != json!({})).collect();
        assert_eq!(sent_back, expected, "{dialect} {stop} {between:?}");
    }
    // A hook that fails sends nobody back.
    let fails = "hooks: [{ name: rest, on: Stop, fail: closed, command: exit 1 }]";
    assert_eq!(
        replay("gemini", fails, &[stop("AfterAgent")])[0].1,
        json!({})
    );
}

/// What a shell's profile prints before a reply voids the reply in every agent. A hook that fails
/// closed must not be void.
#[test]
fn a_reply_behind_other_text_is_a_failure() {
    let deny = |event: &str| {
        specific(
            event,
            json!({"permissionDecision": "deny", "permissionDecisionReason": "No."}),
        )
    };
    for (dialect, event, reply) in [
        ("claude-code", "PreToolUse", deny("PreToolUse")),
        ("codex", "PreToolUse", deny("PreToolUse")),
        ("qwen", "PreToolUse", deny("PreToolUse")),
        (
            "gemini",
            "BeforeTool",
            json!({"decision": "deny", "reason": "No."}),
        ),
        (
            "copilot",
            "preToolUse",
            json!({"permissionDecision": "deny"}),
        ),
        ("cline", "PreToolUse", json!({"cancel": true})),
        ("opencode", "tool.execute.before", json!({"deny": "No."})),
    ] {
        let remark = "its reply on stdout isn't read, because other text stands before it";
        for (said, fail, expected) in [
            (
                format!("Welcome!\n{reply}"),
                "closed",
                format!("deny by h: hook `h` failed to give a valid reply: {remark}"),
            ),
            (
                format!("Welcome! {reply}"),
                "open",
                format!("allow; hook `h`: {remark}"),
            ),
            ("Welcome! {x}".into(), "closed", "allow".into()),
        ] {
            let hook = format!("{{ name: h, on: {event}, fail: {fail}, command: cat said }}");
            let dir = hooks(&[
                (
                    "hooks.yaml",
                    &format!("dialect: {dialect}\nhooks: [{hook}]"),
                ),
                ("said", &said),
            ]);
            let mut host = TestHost::start(serve(dir.path()).arg("--root").arg(dir.path()));
            let verdict = host.bash("ls");
            let errors = verdict["errors"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            let told = if fail == "open" {
                errors.map(|it| format!("; {it}")).collect()
            } else {
                String::new()
            };
            assert_eq!(brief(&verdict) + &told, expected, "{dialect} {said}");
        }
    }
}

/// Cursor asks nobody at preToolUse, and asks at the event of the shell that comes next: so the
/// question is left to that one, and it is asked there, even where that event says less of the
/// call. What no later event can ask is denied.
#[test]
fn a_question_is_asked_where_the_agent_can_ask() {
    let definitions = "hooks:\n  - { name: push, on: PreToolUse, if: Bash(git push *), ask: Push this? }\n  \
        - { name: place, on: PreToolUse, when: \"cwd.endsWith('/sub') || has(tool.input.file_path)\", ask: There? }\n  \
        - { name: send, on: PreToolUse, matcher: 'MCP:send', ask: Send? }\n  \
        - { name: never, on: PreToolUse, if: Bash(rm *), deny: No. }\n";
    let dir = hooks(&[("hooks.yaml", definitions)]);
    let mut host = TestHost::start(serve(dir.path()).arg("--root").arg(dir.path()));
    let tool = |tool: &str, input: Value, cwd: &str| {
        json!({"hook_event_name": "preToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": "t", "cwd": cwd,
            "conversation_id": "c", "workspace_roots": ["/p"]})
    };
    let shell = |command: &str, conversation: &str| {
        json!({"hook_event_name": "beforeShellExecution", "command": command, "cwd": "", "conversation_id": conversation,
            "workspace_roots": ["/p"]})
    };
    let run = |command: &str, cwd: &str| tool("Shell", json!({"command": command}), cwd);
    let read = json!({"hook_event_name": "beforeReadFile", "file_path": "/p/a", "conversation_id": "c", "workspace_roots": ["/p"]});
    for (payload, permission, message) in [
        (run("git push", "/p"), "allow", Value::Null),
        (shell("git push", "c"), "ask", json!("Push this?")),
        (run("touch x", "/p/sub"), "allow", Value::Null),
        (shell("touch x", "another"), "allow", Value::Null),
        (shell("touch x", "c"), "ask", json!("There?")),
        (run("touch x", "/p"), "allow", Value::Null),
        (shell("touch x", "c"), "allow", Value::Null),
        (run("rm -rf x", "/p/sub"), "deny", json!("No.")),
        (
            tool("Read", json!({"file_path": "/p/a"}), "/p"),
            "deny",
            json!("There? (Cursor can't ask here)"),
        ),
        (read, "deny", json!("There? (Cursor can't ask here)")),
        (
            tool("MCP:send", json!({}), "/p"),
            "deny",
            json!("Send? (Cursor can't ask here)"),
        ),
    ] {
        let asked = json!({"agent": "cursor", "deadlineMs": 30000, "sent": payload.to_string()});
        let said = host.request("hooks/answer", asked);
        let reply: Value = serde_json::from_str(said["stdout"].as_str().unwrap()).unwrap();
        assert_eq!(
            (&reply["permission"], &reply["user_message"]),
            (&json!(permission), &message),
            "{payload} {said}"
        );
    }
}

/// An agent that was started so that it asks nobody is told no, where it would run what is answered
/// with a question.
#[test]
fn nothing_is_asked_of_an_agent_that_asks_nobody() {
    let asks = "hooks: [{ name: h, on: PreToolUse, if: Bash(git push *), ask: Push this? }]";
    let guards = "hooks: [{ name: h, on: PreToolUse, guard: self-defense }]";
    let grok = |member: &str, mode: &str| {
        json!({"hookEventName": "pre_tool_use", "hook_event_name": "PreToolUse", "sessionId": "g", "workspaceRoot": "/p",
            "toolName": "run_terminal_command", "toolInput": {"command": "git push origin"}, member: mode})
    };
    let claude = |mode: &str, command: &str| {
        json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": "Bash",
            "tool_input": {"command": command}, "permission_mode": mode})
    };
    let (bypass, settings) = ("bypassPermissions", "rm .claude/settings.json");
    for (dialect, definitions, payload, expected) in [
        ("grok", asks, grok("permissionMode", bypass), "deny"),
        ("grok", asks, grok("permission_mode", bypass), "deny"),
        ("grok", asks, grok("permissionMode", "default"), "ask"),
        (
            "claude-code",
            asks,
            claude(bypass, "git push origin"),
            "ask",
        ),
        ("claude-code", guards, claude(bypass, settings), "deny"),
        (
            "claude-code",
            guards,
            claude(bypass, "cd .claude && echo '{}' > settings.local.json"),
            "deny",
        ),
        (
            "claude-code",
            guards,
            claude("acceptEdits", settings),
            "ask",
        ),
        (
            "claude-code",
            guards,
            claude(bypass, "hookwire trust --yes"),
            "ask",
        ),
    ] {
        let (_, reply) = replay(dialect, definitions, std::slice::from_ref(&payload)).remove(0);
        assert_eq!(
            reply["hookSpecificOutput"]["permissionDecision"], expected,
            "{dialect} {payload} {reply}"
        );
    }
}

/// Where nobody is, a question would be waited for without an end.
#[test]
fn nobody_is_asked_where_nobody_is() {
    let (mut host, _dir) = TestHost::with(
        "hooks: [{ name: h, on: PreToolUse, if: Bash(git push *), ask: Push this? }]",
    );
    let payload = json!({"hook_event_name": "BeforeTool", "session_id": "s", "cwd": "/p",
        "tool_name": "run_shell_command", "tool_input": {"command": "git push origin"}});
    for (attended, expected) in [
        (Value::Null, "ask"),
        (json!(true), "ask"),
        (json!(false), "deny"),
    ] {
        let asked = json!({"agent": "gemini", "attended": attended, "sent": payload.to_string()});
        let said = host.request("hooks/answer", asked);
        let reply: Value = serde_json::from_str(said["stdout"].as_str().unwrap()).unwrap();
        assert_eq!(reply["decision"], expected, "{attended} {reply}");
        // Its people see nothing else of it.
        let shown = reply["systemMessage"].as_str().unwrap();
        assert!(shown.starts_with("Push this?"), "{reply}");
    }
}

/// What an agent asks by its own entry and by that of an agent whose hooks it also runs is judged
/// once, and answered in its own words.
#[test]
fn what_is_asked_by_two_agents_entries_is_judged_once() {
    let guard = "hooks: [{ name: h, on: '*', if: Bash(ls), once: true, deny: Once. }]";
    let grok = json!({"hookEventName": "pre_tool_use", "hook_event_name": "PreToolUse", "sessionId": "g",
        "session_id": "g", "workspaceRoot": "/p", "timestamp": "2026-11-30T03:56:30.129311197+00:00",
        "toolName": "run_terminal_command", "toolInput": {"command": "ls"}, "toolUseId": "call_0",
        "tool_name": "run_terminal_command", "tool_input": {"command": "ls"}, "tool_use_id": "call_0"});
    let own = json!({"sessionId": "s", "timestamp": 1_796_010_996_570_u64, "cwd": "/p",
        "toolName": "bash", "toolArgs": {"command": "ls"}});
    let other = json!({"hook_event_name": "PreToolUse", "session_id": "s", "timestamp": "2026-11-30T03:56:36.570Z",
        "cwd": "/p", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let request = json!({"hookName": "permissionRequest", "sessionId": "s", "timestamp": 2, "cwd": "/p",
        "toolName": "bash", "toolInput": {"command": "ls"}, "permissionSuggestions": []});
    for (agent, event, payloads) in [
        ("grok", None, [grok.clone(), grok]),
        ("copilot", Some("preToolUse"), [own, other]),
        (
            "copilot",
            Some("permissionRequest"),
            [request.clone(), request],
        ),
    ] {
        let (mut host, _dir) = TestHost::with(guard);
        let said = [(agent, event), ("claude-code", None)]
            .into_iter()
            .zip(payloads);
        for ((entry, event), payload) in said {
            let asked = json!({"agent": entry, "event": event, "sent": payload.to_string()});
            let said = host.request("hooks/answer", asked);
            assert!(
                said["stdout"].as_str().unwrap().contains("Once."),
                "{entry} {payload} {said}"
            );
        }
    }
}

/// What the first of two entries makes of a call, the other is asked about, at the same time.
#[test]
fn a_call_that_one_entry_rewrites_counts_once() {
    let guard = "hooks:
  - { name: rename, on: PreToolUse, if: Bash(touch old), rewrite: { command: [touch, new] } }
  - { name: few, on: PreToolUse, guard: { step-limit: { max: 1 } } }
";
    let time = "2026-11-30T03:56:36.570Z";
    let own = json!({"sessionId": "s", "timestamp": 1_796_010_996_570_u64, "cwd": "/p",
        "toolName": "bash", "toolArgs": {"command": "touch old"}});
    let other = json!({"hook_event_name": "PreToolUse", "session_id": "s", "timestamp": time,
        "cwd": "/p", "tool_name": "Bash", "tool_input": {"command": "touch new"}});
    let next = json!({"hook_event_name": "PreToolUse", "session_id": "s", "timestamp": "2026-11-30T03:56:37.570Z",
        "cwd": "/p", "tool_name": "Bash", "tool_input": {"command": "touch new"}});
    let (mut host, _dir) = TestHost::with(guard);
    for (entry, event, payload, is_denied) in [
        ("copilot", Some("preToolUse"), own, false),
        ("claude-code", None, other, false),
        ("claude-code", None, next, true),
    ] {
        let asked = json!({"agent": entry, "event": event, "sent": payload.to_string()});
        let said = host.request("hooks/answer", asked);
        assert_eq!(
            said["stdout"].as_str().unwrap().contains("deny"),
            is_denied,
            "{payload} {said}"
        );
    }
}

/// A reply in another agent's words, or with a slip, is no silence: it fails, whoever reads it.
#[test]
fn a_reply_that_looks_like_a_decision_is_understood_or_fails() {
    let near = [
        json!({"permission": "deny"}),
        json!({"approve": false}),
        json!({"verdict": "reject", "reason": "No."}),
        json!({"blocked": true}),
        json!({"Decision": "block"}),
        json!({"deny": {"reason": "No."}}),
        json!({"permission": ["deny"]}),
    ];
    let fine = json!({"status": "ok", "blocked": 0, "metadata": {"decision": "deny"}});
    for (dialect, event) in [
        ("claude-code", "PreToolUse"),
        ("qwen", "PreToolUse"),
        ("gemini", "BeforeTool"),
        ("copilot", "preToolUse"),
        ("cline", "PreToolUse"),
        ("opencode", "tool.execute.before"),
        ("grok", "PreToolUse"),
        ("droid", "PreToolUse"),
        ("native", "PreToolUse"),
    ] {
        let own = |reply: &Value, nth: usize, fail: &str| {
            format!(
                "  - {{ name: {fail}{nth}, on: {event}, fail: {fail}, if: Bash({fail}{nth}), command: \"printf '%s' '{}'\" }}\n",
                reply.to_string().replace('"', "\\\"")
            )
        };
        let replies: Vec<&Value> = near.iter().chain([&fine]).collect();
        let hooks_of = |fail: &str| -> String {
            replies
                .iter()
                .enumerate()
                .map(|(nth, it)| own(it, nth, fail))
                .collect()
        };
        let definitions = format!(
            "dialect: {dialect}\nhooks:\n{}{}",
            hooks_of("open"),
            hooks_of("closed")
        );
        let dir = hooks(&[("hooks.yaml", &definitions)]);
        let mut host = TestHost::start(serve(dir.path()).arg("--root").arg(dir.path()));
        for (nth, reply) in replies.iter().enumerate() {
            // hookwire's own vocabulary knows no other members at all.
            let is_fine = *reply == &fine && dialect != "native";
            let open = host.bash(&format!("open{nth}"));
            let status = if is_fine {
                "success"
            } else {
                "non_blocking_error"
            };
            assert_eq!(
                (&open["decision"], &open["outcomes"][0]["status"]),
                (&json!("allow"), &json!(status)),
                "{dialect} {reply} {open}"
            );
            let closed = host.bash(&format!("closed{nth}"));
            assert_eq!(
                closed["decision"],
                if is_fine { "allow" } else { "deny" },
                "{dialect} {reply} {closed}"
            );
        }
        let check = hookwire()
            .args(["check", "--isolated"])
            .arg(dir.path().join("hooks.yaml"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&check.stdout).to_string()
            + &String::from_utf8_lossy(&check.stderr);
        let n_told = said.matches("a reply of it counts as a failure").count();
        assert_eq!(
            n_told,
            2 * (near.len() + usize::from(dialect == "native")),
            "{dialect} {said}"
        );
    }
    // Those whose documents say that a near miss is an allow keep to them, and tell it as a remark.
    for (dialect, on) in [
        ("hooks-article", "on: PreToolUse"),
        ("agentpool", "on: pre_tool_use"),
        ("workflow-framework", "matcher: PreToolCall"),
    ] {
        let hook = format!(
            "{{ name: h, {on}, fail: open, command: \"echo '{{\\\"approve\\\": false}}'\" }}"
        );
        let dir = hooks(&[(
            "hooks.yaml",
            &format!("dialect: {dialect}\nhooks: [{hook}]"),
        )]);
        let verdict = TestHost::start(serve(dir.path()).arg("--root").arg(dir.path())).bash("ls");
        let told = (
            &verdict["decision"],
            &verdict["outcomes"][0]["status"],
            verdict["errors"][0].is_string(),
        );
        assert_eq!(
            told,
            (&json!("allow"), &json!("success"), true),
            "{dialect} {verdict}"
        );
    }
}

/// Python and shells end with the code of a "no" when their script isn't there. It stays a "no",
/// which says what is wrong.
#[test]
fn a_deny_says_that_its_command_never_started() {
    if !is_there("python3") {
        return;
    }
    let there = "import sys; sys.exit('No.' if len(sys.argv) > 1 else 2)";
    for (dialect, event, command, expected) in [
        (
            "native",
            "PreToolUse",
            "python3 missing.py",
            "the command didn't start: there is no file `missing.py`; ",
        ),
        (
            "claude-code",
            "PreToolUse",
            "python3 missing.py",
            "the command didn't start: there is no file `missing.py`; [",
        ),
        (
            "codex",
            "PreToolUse",
            "[python3, ./missing.py]",
            "the command didn't start: there is no file `./missing.py`; ",
        ),
        (
            "qwen",
            "PreToolUse",
            "python3 sub/missing.py",
            "the command didn't start: there is no file `sub/missing.py`; ",
        ),
        (
            "gemini",
            "BeforeTool",
            "./missing.sh",
            "the command didn't start: there is no file `./missing.sh`; ",
        ),
        (
            "gemini",
            "BeforeTool",
            "nothing-like-it",
            "the command didn't start: there is no program `nothing-like-it` on",
        ),
        (
            "workflow-framework",
            "PreToolCall",
            "python3 missing.py",
            "the command didn't start: there is no file `missing",
        ),
        (
            "native",
            "PreToolUse",
            "python3 there.py",
            "the hook denied it without a reason",
        ),
        ("native", "PreToolUse", "cat missing.txt; exit 2", "cat: "),
        (
            "native",
            "PreToolUse",
            "echo Mine. >&2; exit 2; sh missing.sh",
            "Mine.",
        ),
    ] {
        let definitions =
            format!("dialect: {dialect}\nhooks: [{{ name: h, on: {event}, command: {command} }}]");
        let definitions = definitions.replace(
            "command: cat missing.txt; exit 2",
            "command: 'cat missing.txt; exit 2'",
        );
        let dir = hooks(&[("hooks.yaml", &definitions), ("there.py", there)]);
        let mut host = TestHost::start(serve(dir.path()).arg("--root").arg(dir.path()));
        let verdict = host.bash("ls");
        let reason = verdict["reason"].as_str().unwrap_or_default();
        assert!(
            verdict["decision"] == "deny" && reason.starts_with(expected),
            "{dialect} {command}: {verdict}"
        );
    }
}

/// Claude Code asks before a shell text of a skill runs, of which its PreToolUse isn't told. Any
/// rewrite keeps the text from running, and there is no place for a text for the model.
#[test]
fn a_skills_shell_text_is_a_call() {
    let skill = |command: &str| {
        json!({"hook_event_name": "PreSkillShellCommand", "tool_name": "Bash", "tool_input": {"command": command},
            "tool_use_id": "x", "command_name": "deploy", "invoked_by": "user"})
    };
    let pre = |members| specific("PreSkillShellCommand", members);
    let said = |decision: &str, reason: &str| {
        pre(json!({"permissionDecision": decision, "permissionDecisionReason": reason}))
    };
    let answered = |answer: Value| {
        let mut payload = skill("ls");
        payload["answer"] = answer;
        replay("claude-code", ECHO, &[payload]).remove(0)
    };
    for (answer, expected) in [
        (no(), said("deny", "No.")),
        (ask(), said("ask", "Sure?")),
        (rewrite(), said("deny", NO_REWRITE)),
        (context(), json!({"systemMessage": "a\nb"})),
        (json!(null), json!({})),
    ] {
        assert_eq!(
            answered(answer.clone()),
            ("PreToolUse".into(), expected),
            "{answer}"
        );
    }
    let policy = "policy: { deny: ['Bash(curl *)'] }";
    assert_eq!(
        replay("claude-code", GUARD, &[skill("echo x")])[0].1,
        said("deny", "No echo.")
    );
    assert_eq!(
        replay("claude-code", policy, &[skill("curl x")])[0].1,
        said("deny", "the policy denies `Bash(curl *)`")
    );
    // A hook of the client's own that is for either name; one that is for skills isn't for other
    // calls.
    let dir = hooks(&[
        ("say", &said("deny", "No.").to_string()),
        (
            "pre",
            &specific("PreToolUse", json!({"permissionDecision": "deny"})).to_string(),
        ),
    ]);
    let hook = |event: &str, file: &str| {
        let file = dir.path().join(file);
        format!(
            "dialect: claude-code\nhooks: [{{ name: h, on: {event}, command: 'cat {}' }}]",
            file.display()
        )
    };
    let tool = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    for (definitions, payload, is_denied) in [
        (hook("PreSkillShellCommand", "say"), skill("ls"), true),
        (hook("PreToolUse", "pre"), skill("ls"), true),
        (hook("PreSkillShellCommand", "say"), tool.clone(), false),
        (hook("PreToolUse", "pre"), tool, true),
    ] {
        let reply = &replay("claude-code", &definitions, std::slice::from_ref(&payload))[0].1;
        assert_eq!(
            reply["hookSpecificOutput"]["permissionDecision"] == "deny",
            is_denied,
            "{definitions} {payload} {reply}"
        );
    }
}

/// An event that nobody knows is judged as a call by what can deny it, and counts for nothing.
#[test]
fn an_unknown_gate_is_judged_by_what_stops() {
    let event = |name: &str, command: &str| json!({"hook_event_name": name, "session_id": "s", "tool_name": "Bash", "tool_input": {"command": command}});
    let no = |reason: &str| json!({"decision": "block", "reason": reason});
    let cant_ask = "Sure? (this needs a person's approval, and the client can't ask)";
    let dir = hooks(&[]);
    let log = dir.path().join("audit.jsonl");
    let audit = format!(
        "{{ name: a, on: [PreToolUse], guard: {{ audit-log: {{ file: '{}' }} }} }}",
        log.display()
    );
    for (hook, command, expected) in [
        (
            "{ name: h, on: PreToolUse, if: Bash(git push *), deny: No push. }",
            "git push",
            no("No push."),
        ),
        (
            "{ name: h, on: PreToolUse, if: Bash(git push *), deny: No push. }",
            "ls",
            json!({}),
        ),
        (
            "{ name: h, on: PreToolUse, ask: Sure? }",
            "ls",
            no(cant_ask),
        ),
        ("{ name: h, on: PreToolUse, allow: Fine. }", "ls", json!({})),
        (
            "{ name: h, on: PreToolUse, if: Bash(npm *), rewrite: { program: pnpm } }",
            "npm i",
            no(&NO_REWRITE.replace("echo", "h")),
        ),
        (
            "{ name: h, on: PreToolUse, command: 'echo Mine. >&2; exit 2' }",
            "ls",
            no("Mine."),
        ),
        (
            "{ name: h, on: PreToolUse, fail: closed, command: exit 1 }",
            "ls",
            no("hook `h` failed to run: exit status 1"),
        ),
        (
            "{ name: h, on: PreToolUse, async: true, command: 'exit 2' }",
            "ls",
            json!({}),
        ),
        (
            "{ name: h, on: PreToolUse, guard: { rate-limit: { max: 1, within: 1h } } }",
            "ls",
            json!({}),
        ),
        (
            "{ name: h, on: PreToolUse, guard: { approval: { message: Sure? } } }",
            "ls",
            no(cant_ask),
        ),
        (
            "{ name: h, on: 'custom:SkillThing', deny: Mine. }",
            "ls",
            no("Mine."),
        ),
        ("{ name: h, on: '*', deny: All. }", "ls", no("All.")),
        (&audit, "ls", json!({})),
    ] {
        let payload = event("SkillThing", command);
        let said = replay(
            "claude-code",
            &format!("hooks: [{hook}]"),
            &[payload.clone(), payload],
        );
        assert_eq!(
            said.iter().map(|(_, reply)| reply).collect::<Vec<_>>(),
            [&expected, &expected],
            "{hook} {command}"
        );
    }
    assert!(!log.exists(), "what only writes isn't asked");
    let policy = "policy: { deny: ['Bash(git push *)'], limits: { maxCalls: 1 } }";
    let (unknown, known) = (
        |command| event("SkillThing", command),
        |command| event("PreToolUse", command),
    );
    let events = [
        unknown("git push"),
        unknown("ls"),
        unknown("ls"),
        known("ls"),
        known("ls"),
        unknown("ls"),
    ];
    let said = replay("claude-code", policy, &events);
    let is_denied: Vec<bool> = said.iter().map(|(_, reply)| *reply != json!({})).collect();
    assert_eq!(
        is_denied,
        [true, false, false, false, true, false],
        "{said:?}"
    );
    let known = replay("claude-code", GUARD, &[event("PostThing", "echo x")]).remove(0);
    assert_eq!(known, ("custom:PostThing".into(), json!({})));
}

/// Where hardly a file may be opened, the agent's hook says no and why; it never ends as programs
/// do that broke.
#[test]
fn few_files_are_a_refusal_with_its_reason() {
    let dir = hooks(&[
        (
            ".hookwire/guard.yaml",
            "hooks: [{ name: guard, on: PreToolUse, deny: No. }]",
        ),
        ("run/x", ""),
    ]);
    let at = |name: &str| dir.path().join(name);
    let event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": dir.path(), "tool_name": "Bash",
        "tool_input": {"command": "ls"}});
    std::fs::write(at("event"), event.to_string()).unwrap();
    for limit in 4..=24 {
        let mut shell = Command::new("/bin/sh");
        shell
            .args([
                "-c",
                &format!(r#"exec < event; ulimit -n {limit}; exec "$0" "$@""#),
            ])
            .current_dir(dir.path());
        shell.arg(env!("CARGO_BIN_EXE_hookwire-host")).args([
            "hook",
            "claude-code",
            "--live",
            "--isolated",
        ]);
        shell
            .env("XDG_RUNTIME_DIR", at("run"))
            .env("HOME", at("home"))
            .env_remove("HOOKWIRE_LOG");
        let output = shell.output().unwrap();
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        match output.status.code() {
            Some(0) => assert!(
                stdout.contains(r#""permissionDecision":"deny""#),
                "{limit}: {stdout}{stderr}"
            ),
            code => {
                assert!(
                    code == Some(2) && stdout.is_empty(),
                    "{limit}: {code:?} {stdout}{stderr}"
                );
                assert!(
                    stderr.contains("this is denied") && stderr.contains("open"),
                    "{limit}: {stderr}"
                );
            }
        }
        assert!(!stderr.contains("panicked"), "{limit}: {stderr}");
        // A host under such a limit would stay and serve nobody.
        let sockets = std::fs::read_dir(at("run/hookwire"))
            .into_iter()
            .flatten()
            .flatten();
        let logs = sockets.filter(|it| it.path().extension().is_some_and(|it| it == "log"));
        assert_eq!(logs.count(), 0, "{limit}: a host was started");
    }
}
