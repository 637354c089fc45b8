//! Claude Code's hooks: 34 events, decisions as the client's documentation and
//! published types have them, exit codes as the client behaves.
//!
//! Where the client lets latency decide between two rewrites, the order of definition does here.

use super::decisive::check_understood;
use super::native::{AGENT, CONTRACT};
use super::replies::{
    BLOCKED, bad_exit, denied_verdict, describe_unread, is_decided, parse_stdout, reply_members,
    text_member, text_or, unread_reply, unreadable_reply, whole_reply,
};
use super::{CodingAgent, Dialect, EventRow, Files, Refusal, canonical_row, have_field, settings};
use hookwire_base::event::{Event, set_pointer, spec};
use hookwire_base::verdict::{Answer, Decision, Verdict};
use hookwire_rules::contract::{Contract, Exit, Reader, TOOL_NAME, Target};
use hookwire_rules::matching::MatcherRule;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Before a shell text of a skill or a slash command runs, of which PreToolUse isn't told.
const SKILL_COMMAND: &str = "PreSkillShellCommand";

pub(super) static DIALECT: Dialect = Dialect {
    about: "",
    contract: Contract {
        dialect: "claude-code",
        runs_equal_hooks_once: true,
        matcher: MatcherRule::ListOrSearch,
        tools_apart: &["MultiEdit", "NotebookEdit", "NotebookRead"],
        matched: matcher_target,
        timeout: Duration::from_secs(600),
        project_variables: &["CLAUDE_PROJECT_DIR"],
        decisions: CONTRACT.decisions,
        context_resumes: true,
        payload: |event| DIALECT.write_event(event),
        reply: |event, reply| read_reply(&DIALECT, event, reply),
        exit: read_exit,
        ..AGENT
    },
    events: &[
        // There `model` is a name, in hookwire an object.
        canonical_row("SessionStart").members(&[("/model", "/model/name")]),
        canonical_row("SessionEnd"),
        canonical_row("Setup"),
        canonical_row("InstructionsLoaded"),
        canonical_row("UserPromptSubmit").blocks(),
        canonical_row("UserPromptExpansion").blocks(),
        canonical_row("PreToolUse").blocks().rewrites(),
        // Whatever isn't an allow keeps the text from running, a rewrite too.
        EventRow::new(SKILL_COMMAND, "PreToolUse")
            .near(SKILL_COMMAND)
            .blocks(),
        canonical_row("PermissionRequest").blocks().rewrites(),
        canonical_row("PermissionDenied"),
        canonical_row("PostToolUse").blocks().rewrites(),
        canonical_row("PostToolUseFailure").blocks().members(&[
            ("/error", "/tool/error"),
            ("/is_interrupt", "/tool/isInterrupt"),
        ]),
        canonical_row("PostToolBatch").blocks(),
        canonical_row("Notification"),
        canonical_row("MessageDisplay")
            .rewrites()
            .members(&[("/delta", "/lastMessage")]),
        canonical_row("Stop").blocks(),
        canonical_row("StopFailure").members(&[("/error", "/error")]),
        canonical_row("SubagentStart"),
        canonical_row("SubagentStop").blocks(),
        canonical_row("TaskCreated").blocks(),
        canonical_row("TaskCompleted").blocks(),
        canonical_row("TeammateIdle").blocks().denies_by_exit(),
        canonical_row("PreCompact").blocks(),
        canonical_row("PostCompact"),
        canonical_row("PreModelSwitch").blocks(),
        canonical_row("PostModelSwitch"),
        canonical_row("ConfigChange").blocks(),
        canonical_row("CwdChanged"),
        canonical_row("DirectoryAdded"),
        canonical_row("FileChanged"),
        // What a command prints there is the path of the worktree.
        canonical_row("WorktreeCreate").blocks().denies_by_exit(),
        canonical_row("WorktreeRemove"),
        canonical_row("Elicitation").blocks(),
        canonical_row("ElicitationResult").blocks(),
    ],
    event_name: "/hook_event_name",
    members: &[
        ("/session_id", "/session"),
        ("/prompt_id", "/run"),
        ("/cwd", "/cwd"),
        ("/tool_name", "/tool/name"),
        ("/tool_use_id", "/tool/callId"),
        ("/tool_input", "/tool/input"),
        ("/tool_response", "/tool/output"),
        ("/duration_ms", "/tool/durationMs"),
        ("/prompt", "/prompt"),
        ("/agent_type", "/agent/name"),
        ("/agent_id", "/agent/id"),
        ("/stop_hook_active", "/stopActive"),
        ("/last_assistant_message", "/lastMessage"),
        ("/compact_summary", "/summary"),
    ],
    complete: |_, _| Ok(()),
    files: Some(Files {
        // Codex and Qwen Code have the same events in the same form: their files have to say whose
        // they are.
        recognises: |root| settings::has_groups(root, |event| DIALECT.has_event(event)),
        has_such_lists: |_, hooks| have_field(hooks, "hooks"),
        ..settings::FILES
    }),
    reply: |event, verdict| write_reply(&DIALECT, event, verdict),
    // Exit code 2 can't block a permission request.
    agent: Some(CodingAgent {
        refusal: Refusal::ExitCode(&["PermissionRequest"]),
        withholds: false,
        mcp: None,
    }),
};

/// The part of an event that a matcher is held against. At other events the client ignores
/// matchers.
pub(super) fn matcher_target(event: &str) -> Target {
    Target::Member(match event {
        _ if spec(event).is_some_and(|spec| spec.tool) => TOOL_NAME,
        "SessionStart" | "ConfigChange" | "DirectoryAdded" => "/source",
        "SessionEnd" => "/reason",
        "Setup" | "PreCompact" | "PostCompact" => "/trigger",
        "InstructionsLoaded" => "/load_reason",
        "UserPromptExpansion" => "/command_name",
        "Notification" => "/notification_type",
        "StopFailure" => "/error",
        "SubagentStart" | "SubagentStop" => "/agent/name",
        "FileChanged" => "/file_path",
        "Elicitation" | "ElicitationResult" => "/mcp_server_name",
        _ => return Target::Nothing,
    })
}

/// Events whose plain stdout is context for the model.
const TEXT_IS_CONTEXT: [&str; 4] = [
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "PostModelSwitch",
];

/// Where a hook's text for the model has a place. Elsewhere it would void the whole reply, so the
/// person reads it.
const TAKES_CONTEXT: [&str; 13] = [
    "SessionStart",
    "Setup",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PostModelSwitch",
];

/// The JSON reply on a command's stdout, if there is one: only an object counts as JSON, and with
/// other output before it the whole is plain text.
pub(super) fn reply_on_stdout(
    event: &Event,
    stdout: &str,
    read: Reader,
) -> Option<Result<Answer, String>> {
    stdout
        .starts_with('{')
        .then(|| read(event, parse_stdout(stdout)?))
}

/// The answer of plain text on the stdout of a command that exited with 0.
pub(super) fn plain_stdout(event: &Event, stdout: &str) -> Answer {
    Answer {
        remarks: describe_unread(event, stdout),
        ..text_on_stdout(event, stdout)
    }
}

/// The same, where a word for a decision is a text as any other.
pub(super) fn text_on_stdout(event: &Event, stdout: &str) -> Answer {
    let is_context = !stdout.is_empty() && TEXT_IS_CONTEXT.contains(&&*event.name);
    let additional_context = is_context.then(|| stdout.to_string()).into_iter().collect();
    Answer {
        additional_context,
        remarks: unread_reply(stdout),
        ..Answer::default()
    }
}

/// The reason of a reply that denies, which counts before stderr where the exit code denies too.
pub(super) fn reason_of_deny(reply: Option<Result<Answer, String>>) -> Option<String> {
    reply?
        .ok()
        .filter(|answer| answer.decision == Some(Decision::Deny))?
        .reason
}

fn read_exit(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    let stdout = exit.stdout.trim();
    match (
        exit.code,
        reply_on_stdout(event, stdout, DIALECT.contract.reply),
    ) {
        // Documented: exit 2 can't block a permission request.
        (Some(2), _) if &*event.name == "PermissionRequest" => Ok(Answer::default()),
        (Some(2), reply) => Ok(block_event(
            &DIALECT,
            event,
            reason_of_deny(reply).unwrap_or_else(|| {
                format!(
                    "[{}]: {}",
                    exit.command,
                    text_or(exit.stderr, "No stderr output")
                )
            }),
        )),
        (Some(0), reply) => reply.unwrap_or_else(|| Ok(plain_stdout(event, stdout))),
        // The client takes the reply all the same. The yes or the silence of a command that failed
        // is no judgement.
        (Some(code), Some(Ok(mut answer))) => {
            let is_no = answer
                .decision
                .is_some_and(|decision| decision != Decision::Allow)
                || answer.stop.is_some();
            answer
                .remarks
                .extend((!is_no).then(|| format!("exit status {code}, whatever it replied")));
            Ok(answer)
        }
        (Some(_) | None, _) => Err(bad_exit(exit)),
    }
}

/// A deny, if the event can be blocked; else a message to the person.
pub(super) fn block_event(dialect: &Dialect, event: &Event, reason: String) -> Answer {
    if dialect.row(&event.name).is_none_or(|row| row.blocks) {
        Answer::decide(Decision::Deny, reason)
    } else {
        Answer {
            user_messages: vec![reason],
            ..Answer::default()
        }
    }
}

/// Reads a reply of Claude Code's form in a dialect that has it.
pub(super) fn read_reply(dialect: &Dialect, event: &Event, value: Value) -> Result<Answer, String> {
    let answer = read_members(dialect, event, &value)?;
    let of_event = match &*event.name {
        "PermissionRequest" => Some("/hookSpecificOutput/decision"),
        "Elicitation" | "ElicitationResult" => Some("/hookSpecificOutput/action"),
        _ => None,
    };
    let read: Vec<&str> = ["/decision", "/hookSpecificOutput/permissionDecision"]
        .into_iter()
        .chain(of_event)
        .collect();
    check_understood(event, &value, &read, answer)
}

/// The same, where what else looks like a decision means nothing.
pub(super) fn read_members(
    dialect: &Dialect,
    event: &Event,
    value: &Value,
) -> Result<Answer, String> {
    let object = reply_members(value)?;
    let mut answer = Answer::default();
    match object.get("continue") {
        None | Some(Value::Bool(true)) => {}
        Some(Value::Bool(false)) => {
            answer.stop = Some(text_member(object, "stopReason")?.unwrap_or_default())
        }
        Some(_) => return Err(unreadable_reply("`continue` is not a boolean")),
    }
    answer
        .user_messages
        .extend(text_member(object, "systemMessage")?);
    match text_member(object, "decision")?.as_deref() {
        None => {}
        Some("block") => {
            let blocked = block_event(
                dialect,
                event,
                text_member(object, "reason")?.unwrap_or_else(|| BLOCKED.into()),
            );
            answer.decision = blocked.decision;
            answer.reason = blocked.reason;
            answer.user_messages.extend(blocked.user_messages);
        }
        Some("approve") => {
            answer.decision = Some(Decision::Allow);
            answer.reason = text_member(object, "reason")?;
        }
        Some(other) => {
            return Err(unreadable_reply(format_args!(
                "`decision` is `{other}`, not `block` or `approve`"
            )));
        }
    }
    match object.get("hookSpecificOutput") {
        None | Some(Value::Null) => {}
        Some(Value::Object(specific)) => read_specific(dialect, event, specific, &mut answer)?,
        Some(_) => return Err(unreadable_reply("`hookSpecificOutput` is not an object")),
    }
    Ok(answer)
}

fn read_specific(
    dialect: &Dialect,
    event: &Event,
    specific: &Map<String, Value>,
    answer: &mut Answer,
) -> Result<(), String> {
    let (name, expected) = (
        text_member(specific, "hookEventName")?,
        dialect.name_of(event),
    );
    // A hook that is for a moment which the client calls otherwise may not know that name.
    if !name
        .as_deref()
        .is_some_and(|name| name == expected || name == &*event.name)
    {
        let name = name.as_deref().unwrap_or("missing");
        return Err(unreadable_reply(format_args!(
            "`hookEventName` is {name}, not `{expected}`"
        )));
    }
    answer
        .additional_context
        .extend(text_member(specific, "additionalContext")?);
    if let Some(decision) = text_member(specific, "permissionDecision")? {
        let decision = Decision::from_word(&decision).ok_or_else(|| {
            unreadable_reply(format_args!("`permissionDecision` is `{decision}`"))
        })?;
        let reason = text_member(specific, "permissionDecisionReason")?;
        // Beside a `block` in the old words, the stronger of the two.
        if answer.decision.is_none_or(|earlier| decision >= earlier) {
            (answer.decision, answer.reason) = (Some(decision), reason);
        }
    }
    match &*event.name {
        "PreToolUse" => answer.subject = read_object(specific, "updatedInput")?,
        "PostToolUse" => {
            let output = specific
                .get("updatedToolOutput")
                .or(specific.get("updatedMCPToolOutput"));
            answer.subject = output.filter(|value| !value.is_null()).cloned();
        }
        "MessageDisplay" => {
            answer.subject = text_member(specific, "displayContent")?.map(Value::String)
        }
        "Elicitation" | "ElicitationResult" => match text_member(specific, "action")?.as_deref() {
            None => {}
            Some("accept") => answer.decision = answer.decision.or(Some(Decision::Allow)),
            Some(action @ ("decline" | "cancel")) => {
                let reason = answer
                    .reason
                    .take()
                    .unwrap_or_else(|| format!("a hook answered `{action}`"));
                (answer.decision, answer.reason) = (Some(Decision::Deny), Some(reason));
            }
            Some(other) => return Err(unreadable_reply(format_args!("`action` is `{other}`"))),
        },
        "PermissionRequest" => {
            let decision = match specific.get("decision") {
                None | Some(Value::Null) => return Ok(()),
                Some(Value::Object(decision)) => decision,
                Some(_) => return Err(unreadable_reply("`decision` is not an object")),
            };
            answer.decision = match text_member(decision, "behavior")?
                .as_deref()
                .and_then(Decision::from_word)
            {
                allow_or_deny @ Some(Decision::Allow | Decision::Deny) => allow_or_deny,
                Some(Decision::Ask | Decision::Defer) | None => {
                    return Err(unreadable_reply("`behavior` is not `allow` or `deny`"));
                }
            };
            answer.reason = text_member(decision, "message")?;
            answer.subject = read_object(decision, "updatedInput")?;
            if decision.get("interrupt") == Some(&Value::Bool(true)) {
                answer.stop = Some(answer.reason.clone().unwrap_or_default());
            }
        }
        _ => {}
    }
    Ok(())
}

fn read_object(specific: &Map<String, Value>, key: &str) -> Result<Option<Value>, String> {
    match specific.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value @ Value::Object(_)) => Ok(Some(value.clone())),
        Some(_) => Err(unreadable_reply(format_args!("`{key}` is not an object"))),
    }
}

/// A reply of Claude Code's form in a dialect that has it. No opinion is silence, not an approval.
pub(super) fn write_reply(dialect: &Dialect, event: &Event, verdict: &Verdict) -> Value {
    let is_input = ["PreToolUse", "PermissionRequest"].contains(&&*event.name);
    let is_misfit = is_input
        && verdict
            .subject
            .as_ref()
            .is_some_and(|input| !input.is_object());
    let stricter = (is_misfit && verdict.decision != Decision::Deny).then(|| {
        denied_verdict(
            verdict,
            "a hook rewrote this, and a tool's input is an object",
        )
    });
    let verdict = stricter.as_ref().unwrap_or(verdict);
    let mut reply = Map::new();
    let mut specific = Map::new();
    let mut messages = verdict.user_messages.clone();
    let reason = verdict.reason.clone().unwrap_or_default();
    let decided = is_decided(verdict);
    match &*event.name {
        "PreToolUse" | "PreModelSwitch" => {
            if decided {
                let decision = match (&*event.name, verdict.decision) {
                    // Only a tool call can be put off.
                    ("PreModelSwitch", Decision::Defer) => Decision::Deny,
                    (_, decision) => decision,
                };
                specific.insert("permissionDecision".into(), json!(decision.as_str()));
                let reason = if decision == Decision::Deny {
                    text_or(&reason, BLOCKED)
                } else {
                    reason
                };
                if !reason.is_empty() {
                    specific.insert("permissionDecisionReason".into(), json!(reason));
                }
            }
            if let Some(input) = verdict.subject.as_ref().filter(|_| !is_misfit) {
                specific.insert("updatedInput".into(), input.clone());
            }
        }
        "PermissionRequest" => {
            let (allow, deny) = (Decision::Allow.as_str(), Decision::Deny.as_str());
            let decision = match verdict.decision {
                Decision::Allow if decided => match &verdict.subject {
                    Some(input) => Some(json!({"behavior": allow, "updatedInput": input})),
                    None => Some(json!({"behavior": allow})),
                },
                Decision::Deny => {
                    Some(json!({"behavior": deny, "message": text_or(&reason, BLOCKED)}))
                }
                // A new input can only come with an approval, and no hook approved it.
                Decision::Allow | Decision::Ask | Decision::Defer if verdict.subject.is_some() => {
                    Some(json!({
                        "behavior": deny,
                        "message": "a hook rewrote this, and a permission request takes a rewrite only with an approval",
                    }))
                }
                // The question goes on to the person.
                Decision::Allow | Decision::Ask | Decision::Defer => None,
            };
            specific.extend(decision.map(|decision| ("decision".to_string(), decision)));
        }
        name => {
            let blocks = dialect.row(name).is_none_or(|row| row.blocks);
            match (verdict.decision, blocks) {
                (Decision::Allow, _) => {}
                // They don't know `block`; the idle teammate's is for `Dialect::say_reply`.
                (_, true) if name == "TaskCompleted" || name == "TeammateIdle" => {
                    reply.insert("continue".into(), json!(false));
                    reply.insert("stopReason".into(), json!(text_or(&reason, BLOCKED)));
                    if name == "TeammateIdle" && verdict.stop.is_none() {
                        reply.insert("decision".into(), json!("block"));
                        reply.insert("reason".into(), json!(text_or(&reason, BLOCKED)));
                    }
                }
                (_, true) if name == "Elicitation" || name == "ElicitationResult" => {
                    specific.insert("action".into(), json!("decline"));
                    messages.push(text_or(&reason, BLOCKED));
                }
                (_, true) => {
                    reply.insert("decision".into(), json!("block"));
                    reply.insert("reason".into(), json!(text_or(&reason, BLOCKED)));
                }
                (_, false) => messages.push(text_or(&reason, BLOCKED)),
            }
            if let Some(subject) = &verdict.subject {
                let before = event.subject().unwrap_or(&Value::Null);
                let after = if subject.is_null() && verdict.replaced {
                    withhold_output(before)
                } else {
                    subject.clone()
                };
                match name {
                    "PostToolUse" => {
                        specific.insert("updatedToolOutput".into(), in_shape_of(before, after))
                    }
                    "MessageDisplay" => specific.insert("displayContent".into(), after),
                    _ => None,
                };
            }
        }
    }
    let takes_context =
        TAKES_CONTEXT.contains(&&*event.name) && dialect.name_of(event) != SKILL_COMMAND;
    if takes_context && !verdict.additional_context.is_empty() {
        specific.insert(
            "additionalContext".into(),
            json!(verdict.additional_context.join("\n")),
        );
    } else {
        messages.extend(verdict.additional_context.iter().cloned());
    }
    if let Some(stop) = &verdict.stop {
        reply.insert("continue".into(), json!(false));
        reply.insert("stopReason".into(), json!(stop));
    }
    whole_reply(reply, specific, &messages, dialect.name_of(event))
}

/// The client takes a new output only in the tool's own shape: the same, without its texts, but for
/// those that say what it is. Recursion is bounded by the depth limit of the parser that read the
/// output.
fn withhold_output(output: &Value) -> Value {
    match output {
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| {
                (
                    key.clone(),
                    if KINDS.contains(&key.as_str()) && value.as_str().is_some_and(is_kind) {
                        value.clone()
                    } else {
                        withhold_output(value)
                    },
                )
            })
            .collect(),
        Value::Array(items) => items.iter().map(withhold_output).collect(),
        Value::String(_) => json!("[withheld by a hook]"),
        other => other.clone(),
    }
}

/// Members that say what the others are.
const KINDS: [&str; 6] = [
    "type",
    "status",
    "mimeType",
    "mime_type",
    "mediaType",
    "media_type",
];

/// A word of the client's own, such as `create`, `async_launched` or `image/png`.
fn is_kind(text: &str) -> bool {
    text.len() <= 80
        && text.bytes().all(
            |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'/' | b'.' | b'+'),
        )
}

/// Where a tool's output that is an object has the text that the model reads most of.
const MAIN_TEXTS: [&str; 4] = ["/stdout", "/file/content", "/content", "/result"];

/// A new output as the client takes it: what isn't of the tool's own shape would be passed over,
/// and the old one stand. What a hook has left out or made something else is withheld; a text in
/// place of an object becomes its main text. Recursion is bounded by the depth limit of the parsers
/// that read the two.
fn in_shape_of(before: &Value, after: Value) -> Value {
    match (before, after) {
        (Value::Object(before), Value::Object(mut after)) => {
            for (key, value) in before {
                let given = after
                    .remove(key)
                    .map_or_else(|| withhold_output(value), |given| in_shape_of(value, given));
                after.insert(key.clone(), given);
            }
            Value::Object(after)
        }
        (Value::Object(_), Value::String(text)) => {
            let mut output = withhold_output(before);
            if let Some(main) = MAIN_TEXTS
                .iter()
                .find(|place| before.pointer(place).is_some_and(Value::is_string))
            {
                set_pointer(&mut output, main, text.into());
            }
            output
        }
        // Blocks of content, as MCP has them.
        (Value::Array(items), Value::String(text))
            if items.iter().any(|item| item["type"] == "text") =>
        {
            json!([{ "type": "text", "text": text }])
        }
        (Value::Null, after) => after,
        (before, after) if std::mem::discriminant(before) == std::mem::discriminant(&after) => {
            after
        }
        (before, _) => withhold_output(before),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_output_has_the_shape_of_the_old_one() {
        let bash =
            json!({"stdout": "key", "stderr": "key", "interrupted": false, "isImage": false});
        let hidden = "[withheld by a hook]";
        let read =
            json!({"type": "text", "file": {"filePath": "/a", "content": "key", "numLines": 1}});
        let image = json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "key"}}]);
        let blocks = json!([{"type": "text", "text": "key"}]);
        for (before, after, expected) in [
            (
                &bash,
                json!("fine"),
                json!({"stdout": "fine", "stderr": hidden, "interrupted": false, "isImage": false}),
            ),
            (
                &bash,
                json!({"stdout": "fine", "stderr": 3, "interrupted": true}),
                json!({"stdout": "fine", "stderr": hidden, "interrupted": true, "isImage": false}),
            ),
            (&bash, json!(["x"]), withhold_output(&bash)),
            (&bash, withhold_output(&bash), withhold_output(&bash)),
            (
                &read,
                json!("fine"),
                json!({"type": "text", "file": {"filePath": hidden, "content": "fine", "numLines": 1}}),
            ),
            (
                &read,
                json!({"type": "text", "file": {"filePath": "/a", "content": "fine"}}),
                json!({"type": "text", "file": {"filePath": "/a", "content": "fine", "numLines": 1}}),
            ),
            (
                &image,
                withhold_output(&image),
                json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": hidden}}]),
            ),
            (
                &blocks,
                json!("fine"),
                json!([{"type": "text", "text": "fine"}]),
            ),
            (&blocks, json!([]), json!([])),
            (
                &blocks,
                json!({"a": 1}),
                json!([{"type": "text", "text": hidden}]),
            ),
            (&json!("key"), json!("fine"), json!("fine")),
            (&json!("key"), json!({"a": 1}), json!(hidden)),
            (
                &json!({"status": "completed", "type": "Key: x"}),
                json!(1),
                json!({"status": "completed", "type": hidden}),
            ),
            (&Value::Null, json!({"a": 1}), json!({"a": 1})),
        ] {
            assert_eq!(
                in_shape_of(before, after.clone()),
                expected,
                "{before} {after}"
            );
        }
    }
}
