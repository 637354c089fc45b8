//! The hooks of the article on lifecycle hooks with four execution modes: command, prompt, agent
//! and http. What it leaves open is as with Claude Code, whose event names and conditions it has.
//!
//! Its runner lets every hook run and keeps every reason of a block; a hook that fails or takes too
//! long never blocks.

mod files;
mod quotes;

use super::{other_name, unknown_reply};
use crate::claude_code;
use crate::native::CONTRACT;
use crate::replies::{bad_exit, text_or, unreadable_reply};
use crate::{Dialect, EventRow, Files, NO_FILES, have_field};
use hookwire_base::event::{CUSTOM_PREFIX, Event, set_pointer};
use hookwire_base::support::amounts::rfc3339;
use hookwire_base::template::{Placeholders, Style};
use hookwire_base::verdict::{Answer, Decision, Outcome, Status, Verdict};
use hookwire_rules::contract::{Composition, Contract, Exit, Judgement};
use hookwire_rules::matching::tools::{MainArgument, Row};
use hookwire_rules::matching::{MatcherRule, ToolNaming};
use serde_json::{Value, json};
use std::path::Path;
use std::time::SystemTime;

const fn note_row(name: &'static str) -> EventRow {
    EventRow::new(name, name)
}
const fn gate_row(name: &'static str) -> EventRow {
    note_row(name).blocks()
}
/// A gate or an after-event with a subject that its clients take back.
const fn rewritten_row(name: &'static str) -> EventRow {
    gate_row(name).rewrites()
}

pub(super) static DIALECT: Dialect = Dialect {
    about: "the article on lifecycle hooks in four modes",
    contract: Contract {
        dialect: "hooks-article",
        composition: Composition::Veto,
        event_name: |event| DIALECT.name_of(event),
        takes_no: |event| DIALECT.row(event).is_none_or(|row| row.blocks),
        tool_naming: ToolNaming::Own,
        matcher: MatcherRule::WholeName,
        matched: claude_code::matcher_target,
        takes_other_events: true,
        decisions: &[],
        context: &["metadata"],
        payload: write_payload,
        environment: command_environment,
        placeholders: Placeholders {
            style: Style::Dollars,
            names: &NAMES,
            knows: is_known_name,
            value: placeholder_value,
        },
        judgement: Judgement::YesDenies,
        has_small_model: true,
        reply: read_reply,
        exit: read_exit,
        ..CONTRACT
    },
    events: &[
        // There `model` is a name, in hookwire an object.
        gate_row("SessionStart").members(&[("/model", "/model/name")]),
        note_row("SessionEnd"),
        note_row("Setup"),
        note_row("InstructionsLoaded"),
        rewritten_row("UserPromptSubmit"),
        rewritten_row("UserPromptExpansion"),
        rewritten_row("PreToolUse"),
        rewritten_row("PermissionRequest"),
        note_row("PermissionDenied"),
        rewritten_row("PostToolUse"),
        rewritten_row("PostToolUseFailure").members(&[
            ("/error", "/tool/error"),
            ("/is_interrupt", "/tool/isInterrupt"),
        ]),
        gate_row("PostToolBatch"),
        note_row("Notification"),
        gate_row("MessageDisplay").members(&[("/delta", "/lastMessage")]),
        gate_row("Stop"),
        note_row("StopFailure").members(&[("/error", "/error")]),
        rewritten_row("SubagentStart"),
        gate_row("SubagentStop"),
        gate_row("TaskCreated"),
        gate_row("TaskCompleted"),
        gate_row("TeammateIdle"),
        gate_row("PreCompact"),
        note_row("PostCompact"),
        gate_row("PreModelSwitch"),
        note_row("PostModelSwitch"),
        gate_row("ConfigChange"),
        note_row("CwdChanged"),
        note_row("DirectoryAdded"),
        note_row("FileChanged"),
        gate_row("WorktreeCreate"),
        note_row("WorktreeRemove"),
        gate_row("Elicitation"),
        gate_row("ElicitationResult"),
    ],
    event_name: "/event",
    members: &[
        ("/hook_event_name", "/event"),
        ("/session_id", "/session"),
        ("/prompt_id", "/run"),
        ("/cwd", "/cwd"),
        ("/tool_name", "/tool/name"),
        ("/tool_use_id", "/tool/callId"),
        ("/tool_input", "/tool/input"),
        ("/tool_output", "/tool/output"),
        ("/duration_ms", "/tool/durationMs"),
        ("/prompt", "/prompt"),
        ("/agent_type", "/agent/name"),
        ("/agent_id", "/agent/id"),
        ("/stop_hook_active", "/stopActive"),
        ("/last_assistant_message", "/lastMessage"),
        ("/compact_summary", "/summary"),
    ],
    complete: complete_event,
    files: Some(Files {
        marks: &MARKS,
        has_such_lists: |_, hooks| have_field(hooks, "mode"),
        has_canonical_tools: true,
        read: |_, root, own, problems| files::read_configs(root, own, problems),
        ..NO_FILES
    }),
    reply: write_reply,
    agent: None,
};

const MARKS: [&str; 5] = [
    "event",
    "mode",
    "condition",
    "async_mode",
    "payload_template",
];

/// Takes members that stand in `context` and not beside it.
fn complete_event(payload: &Value, data: &mut Value) -> Result<(), String> {
    if payload["event"] == "UserPromptSubmit" {
        other_name(payload, "prompt", &["user_prompt", "input"])?;
    }
    for (theirs, ours) in IN_CONTEXT {
        let in_context = payload
            .get("context")
            .and_then(|context| context.get(theirs));
        let Some(value) = in_context.filter(|value| !value.is_null()) else {
            continue;
        };
        match data.get(ours) {
            None | Some(Value::Null) => set_pointer(data, &format!("/{ours}"), value.clone()),
            Some(beside) if beside == value => {}
            Some(_) => {
                return Err(format!(
                    "`{theirs}` and `context.{theirs}` differ: send one of them"
                ));
            }
        }
    }
    Ok(())
}

/// Members of a payload's `context`: theirs, ours.
const IN_CONTEXT: [(&str, &str); 2] = [("session_id", "session"), ("cwd", "cwd")];

fn write_payload(event: &Event) -> Value {
    let mut payload = DIALECT.write_event(event);
    payload["event"] = json!(client_name(event));
    if payload.get("context").is_none_or(Value::is_object) {
        for (theirs, ours) in IN_CONTEXT {
            if let Some(value) = event.data().get(ours) {
                set_pointer(&mut payload, &format!("/context/{theirs}"), value.clone());
            }
        }
    }
    payload
}

/// The event's name as clients have it.
fn client_name(event: &Event) -> &str {
    event
        .name
        .strip_prefix(CUSTOM_PREFIX)
        .unwrap_or(&event.name)
}

/// The member that holds the event's subject.
fn subject_member(event: &Event) -> &'static str {
    match event.spec.subject {
        Some("/tool/input") => "tool_input",
        Some("/tool/output") => "tool_output",
        Some("/prompt") => "prompt",
        Some(_) | None => "subject",
    }
}

/// Names of what an event says, beside the members of `tool_input` and `tool_output`.
const NAMES: [&str; 9] = [
    "event",
    "timestamp",
    "session_id",
    "tool_name",
    "tool_input",
    "tool_output",
    "prompt",
    "cwd",
    "tool_input_path",
];

fn is_known_name(name: &str) -> bool {
    NAMES.contains(&name)
        || ["tool_input_", "tool_output_"]
            .iter()
            .any(|it| name.len() > it.len() && name.starts_with(it))
}

fn placeholder_value(event: &Event, name: &str) -> Option<Value> {
    let path = || match Row::of(event.tool_name()?).main_path(event.at("/tool/input")?) {
        MainArgument::Is(path) => Some(path),
        MainArgument::Unclear | MainArgument::Absent => None,
    };
    let none = Value::Null;
    let command = || {
        let input = event.at("/tool/input").unwrap_or(&none);
        event.tool_name().map_or(MainArgument::Absent, |tool| {
            Row::of(tool).main_command(input)
        })
    };
    match name {
        "event" => Some(json!(self::client_name(event))),
        "timestamp" => Some(json!(rfc3339(SystemTime::now()))),
        "session_id" => event.at("/session").cloned(),
        "tool_name" => event.at("/tool/name").cloned(),
        "tool_input" => event.at("/tool/input").cloned(),
        "tool_output" => event.at("/tool/output").cloned(),
        "tool_input_path" => path().map(Value::from),
        "tool_input_command" if command() != MainArgument::Absent => match command() {
            MainArgument::Is(command) => Some(command.into()),
            MainArgument::Unclear | MainArgument::Absent => None,
        },
        "prompt" | "cwd" => event.data().get(name).cloned(),
        _ => {
            let (of, field) = match name.strip_prefix("tool_input_") {
                Some(field) => ("/tool/input", field),
                None => ("/tool/output", name.strip_prefix("tool_output_")?),
            };
            find_member(event.at(of)?, field).cloned()
        }
    }
}

/// A member as variables name it: what no name may hold is `_`, as is the step into a map. A key
/// that is named as it stands counts first. Recursion is bounded by the depth limit of the parser
/// that read the event.
fn find_member<'v>(value: &'v Value, field: &str) -> Option<&'v Value> {
    let members = value.as_object()?;
    let search = |exact: bool| {
        members.iter().find_map(|(key, value)| {
            let name: String = key
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
                .collect();
            match field
                .strip_prefix(&name)
                .filter(|_| exact == (name == *key))?
            {
                "" => Some(value),
                rest => find_member(value, rest.strip_prefix('_')?),
            }
        })
    };
    members
        .get(field)
        .or_else(|| search(true))
        .or_else(|| search(false))
}

/// The variables of commands beside those that every event has.
fn command_environment(event: &Event, _: &Path) -> Vec<(String, String)> {
    [
        "event",
        "timestamp",
        "session_id",
        "tool_input",
        "tool_output",
    ]
    .into_iter()
    .filter_map(|name| match placeholder_value(event, name)? {
        Value::String(text) => Some((name.to_string(), text)),
        other => Some((name.to_string(), other.to_string())),
    })
    .collect()
}

/// The article's own members, and beside them those of Claude Code with their meaning there.
fn read_reply(event: &Event, reply: Value) -> Result<Answer, String> {
    let mut answer = claude_code::read_members(&claude_code::DIALECT, event, &reply)?;
    let said = |key: &str| reply.get(key).filter(|value| !value.is_null());
    let text = |key: &str| match said(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(unreadable_reply(format_args!("`{key}` is not a string"))),
    };
    let texts = |key: &str| match said(key) {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text.clone()]),
        Some(Value::Array(texts)) if texts.iter().all(Value::is_string) => Ok(texts
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_string)
            .collect()),
        Some(_) => Err(unreadable_reply(format_args!(
            "`{key}` is not a string or a list of strings"
        ))),
    };
    let mut blocks = match said("blocked") {
        None => false,
        Some(Value::Bool(blocks)) => *blocks,
        Some(_) => return Err(unreadable_reply("`blocked` is not a boolean")),
    };
    // Services tell with a number or an `ok` that they have it.
    if let Some(Value::String(status)) = said("status") {
        match Status::from_word(status) {
            Some(Status::Success) => {}
            None if status == "ok" => {}
            Some(Status::Blocking) => blocks = true,
            Some(Status::NonBlockingError | Status::Cancelled) => {
                let why = text("error")?
                    .or(text("reason")?)
                    .unwrap_or_else(|| status.clone());
                return Err(format!("do its work: {why}"));
            }
            Some(Status::Skipped | Status::Started) | None => {
                let statuses = STATUSES.map(Status::as_str).join(", ");
                return Err(unreadable_reply(format_args!(
                    "`status` is `{status}`, not one of {statuses}"
                )));
            }
        }
    }
    if blocks {
        let mut reasons = texts("reasons")?;
        reasons.extend(text("reason")?);
        (answer.decision, answer.reason) = (
            Some(Decision::Deny),
            Some(text_or(&reasons.join("; "), NO_REASON)),
        );
    }
    for (key, pointer) in [
        ("tool_input", "/tool/input"),
        ("tool_output", "/tool/output"),
        ("prompt", "/prompt"),
    ] {
        match said(key) {
            // A hook may give back what it has read.
            Some(value) if event.at(pointer) == Some(value) => {}
            Some(_) if event.spec.subject != Some(pointer) => {
                return Err(unreadable_reply(format_args!(
                    "`{key}` can't be changed at {}",
                    self::client_name(event)
                )));
            }
            Some(value) if key == "tool_input" && !value.is_object() => {
                return Err(unreadable_reply("`tool_input` is not an object"));
            }
            Some(value) if key == "prompt" && !value.is_string() => {
                return Err(unreadable_reply("`prompt` is not a string"));
            }
            Some(value) => answer.subject = Some(value.clone()),
            None => {}
        }
    }
    answer
        .additional_context
        .extend(texts("additional_context")?);
    answer.remarks.extend(
        reply
            .as_object()
            .and_then(|members| unknown_reply(event, members, &REPLY)),
    );
    Ok(answer)
}

/// The members that a reply may have: the article's, Claude Code's, what services say when they
/// have got it, and the event's own name, because a hook may print what it has read.
const REPLY: [&str; 18] = [
    "blocked",
    "reasons",
    "status",
    "tool_input",
    "reason",
    "error",
    "tool_output",
    "prompt",
    "additional_context",
    "outcomes",
    "continue",
    "stopReason",
    "suppressOutput",
    "systemMessage",
    "decision",
    "hookSpecificOutput",
    "ok",
    "event",
];

/// The statuses that a reply may name.
const STATUSES: [Status; 4] = [
    Status::Success,
    Status::Blocking,
    Status::NonBlockingError,
    Status::Cancelled,
];
const NO_REASON: &str = "the hook blocked it without a reason";

/// 0 is fine, 2 blocks, anything else failed unless a reply says what is meant. (Claude Code.)
fn read_exit(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    let stdout = exit.stdout.trim();
    match (exit.code, claude_code::reply_on_stdout(event, stdout, read_reply)) {
        (Some(2), reply) => {
            let reason = claude_code::reason_of_deny(reply).unwrap_or_else(|| text_or(exit.stderr.trim(), NO_REASON));
            Ok(Answer::decide(Decision::Deny, reason))
        }
        (Some(0), reply) => reply.unwrap_or_else(|| {
            let mut answer = claude_code::text_on_stdout(event, stdout);
            if ["\"blocked\"", "\"decision\""].iter().any(|it| stdout.contains(it)) {
                let remark = "its stdout tells of a decision, but is only a text; print one JSON object alone";
                answer.remarks.push(remark.into());
            }
            Ok(answer)
        }),
        // Tools print JSON that is no reply; only one that decides is worth more than the code.
        (Some(_), Some(Ok(answer))) if answer.decision.is_some() => Ok(answer),
        (Some(_) | None, _) => Err(bad_exit(exit)),
    }
}

fn write_reply(event: &Event, verdict: &Verdict) -> Value {
    // Its clients can only be kept from going on here. At a stop that would send the agent back to
    // work.
    let stop = verdict
        .stop
        .as_ref()
        .filter(|_| DIALECT.row(&event.name).is_none_or(|row| row.blocks));
    let is_rest = event.spec.rest;
    let mut reasons = block_reasons(verdict);
    reasons.extend(
        stop.filter(|_| !is_rest)
            .map(|reason| text_or(reason, "a hook ends the run")),
    );
    let blocked =
        (verdict.decision != Decision::Allow || stop.is_some()) && !(is_rest && stop.is_some());
    if !blocked {
        reasons.clear();
    }
    let outcomes: Vec<Value> = verdict.outcomes.iter().map(write_outcome).collect();
    let mut reply = json!({ "blocked": blocked, "reasons": reasons, "outcomes": outcomes });
    if let Some(subject) = &verdict.subject {
        reply[subject_member(event)] = subject.clone();
    }
    for (key, texts) in [
        ("additional_context", &verdict.additional_context),
        ("user_messages", &verdict.user_messages),
    ] {
        if !texts.is_empty() {
            reply[key] = json!(texts);
        }
    }
    reply
}

/// The reason of every hook that blocks, in order.
fn block_reasons(verdict: &Verdict) -> Vec<String> {
    let blocking: Vec<_> = verdict
        .outcomes
        .iter()
        .filter(|outcome| {
            outcome
                .decision
                .is_some_and(|decision| decision != Decision::Allow)
        })
        .collect();
    // The host denied it and no hook: a person refused, or none could be asked, or a rewrite can't
    // be taken.
    if !blocking
        .iter()
        .any(|outcome| outcome.decision == Some(Decision::Deny))
    {
        return verdict.reason.clone().into_iter().collect();
    }
    blocking
        .iter()
        .map(|outcome| {
            let said = outcome.reason.clone().or(outcome.error.clone());
            said.unwrap_or_else(|| NO_REASON.into())
        })
        .collect()
}

fn write_outcome(outcome: &Outcome) -> Value {
    // It has no word for a hook that was selected and then left out, and none for one that was only
    // started.
    let status = match outcome.status {
        Status::Skipped => Status::Cancelled,
        Status::Started => Status::Success,
        status => status,
    };
    let mut written = json!({ "hook": outcome.hook, "status": status });
    // Of a hook that ran out of time, the status says all.
    let error = outcome
        .error
        .as_ref()
        .filter(|_| outcome.status != Status::Cancelled);
    for (key, text) in [("reason", outcome.reason.as_ref()), ("error", error)] {
        if let Some(text) = text {
            written[key] = json!(text);
        }
    }
    if outcome.status == Status::Started {
        written["reason"] = json!("started and not waited for");
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_its_class() {
        let expected: Vec<_> = include_str!("../../../../tests/data/hooks-article-events.txt")
            .lines()
            .collect();
        let row = |row: &crate::EventRow| {
            let phase = hookwire_base::event::spec(row.canonical).unwrap().phase;
            assert_eq!(
                row.blocks,
                phase != hookwire_base::event::Phase::Note,
                "{}",
                row.name
            );
            format!("{} {phase:?}", row.name)
        };
        assert_eq!(DIALECT.events.iter().map(row).collect::<Vec<_>>(), expected);
    }

    fn event(event: &str) -> Event {
        DIALECT
            .read_event(json!({
                "event": event, "tool_name": "Bash", "tool_input": {"command": "ls", "a-b": {"c": 1}, "a": null},
                "tool_output": "out", "prompt": "Go.", "context": {"session_id": "s1", "cwd": "/p", "turn": 3},
            }))
            .unwrap()
    }

    /// An answer in one line.
    fn one_line(answer: Result<Answer, String>) -> String {
        match answer {
            Err(error) => error,
            Ok(answer) => {
                let decision = answer
                    .decision
                    .map(|decision| format!("{} ", decision.as_str()))
                    .unwrap_or_default();
                let subject = answer
                    .subject
                    .map(|subject| format!(" = {subject}"))
                    .unwrap_or_default();
                let context = answer
                    .additional_context
                    .iter()
                    .map(|it| format!(" + {it}"))
                    .collect::<String>();
                let stop = answer
                    .stop
                    .map(|it| format!(" stop: {it}"))
                    .unwrap_or_default();
                let remarks = answer
                    .remarks
                    .iter()
                    .map(|remark| format!(" ! {remark}"))
                    .collect::<String>();
                format!(
                    "{decision}{}{subject}{context}{stop}{remarks}",
                    answer.reason.unwrap_or_default()
                )
            }
        }
    }

    #[test]
    fn replies() {
        for (name, reply, expected) in [
            ("PreToolUse", json!({}), ""),
            ("PreToolUse", json!({"status": "ok", "seen": 3}), ""),
            ("PreToolUse", json!({"status": "success"}), ""),
            ("PreToolUse", json!({"status": 200}), ""),
            (
                "PreToolUse",
                json!({"status": "blocking", "reason": "r"}),
                "deny r",
            ),
            (
                "PreToolUse",
                json!({"status": "blocking"}),
                "deny the hook blocked it without a reason",
            ),
            (
                "PreToolUse",
                json!({"blocked": true, "reasons": ["a", "b"]}),
                "deny a; b",
            ),
            ("PreToolUse", json!({"blocked": false, "reasons": []}), ""),
            (
                "PreToolUse",
                json!({"status": "non_blocking_error", "error": "e"}),
                "do its work: e",
            ),
            (
                "PreToolUse",
                json!({"status": "cancelled"}),
                "do its work: cancelled",
            ),
            (
                "PreToolUse",
                json!({"tool_input": {"command": "pwd"}}),
                r#" = {"command":"pwd"}"#,
            ),
            (
                "PostToolUse",
                json!({"tool_output": {"n": 1}}),
                r#" = {"n":1}"#,
            ),
            (
                "PostToolUse",
                json!({"additional_context": ["a", "b"]}),
                " + a + b",
            ),
            (
                "UserPromptSubmit",
                json!({"prompt": "Stop.", "additional_context": "a"}),
                r#" = "Stop." + a"#,
            ),
            // A program that prints what it has read.
            (
                "PostToolUse",
                json!({"event": "PostToolUse", "tool_input": {"command": "ls", "a-b": {"c": 1}, "a": null}, "tool_output": "out"}),
                "",
            ),
            // Claude Code's words.
            (
                "PreToolUse",
                json!({"decision": "block", "reason": "r"}),
                "deny r",
            ),
            (
                "Stop",
                json!({"decision": "block", "reason": "r"}),
                "deny r",
            ),
            (
                "PreToolUse",
                json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "r"}}),
                "deny r",
            ),
            (
                "PreToolUse",
                json!({"continue": false, "stopReason": "r"}),
                " stop: r",
            ),
            // What is none is told, but for what programs print where nobody asks for a decision.
            (
                "PreToolUse",
                json!({"blockd": true}),
                " ! its reply counts as none: it has `blockd`, which means nothing; did you mean `blocked`?",
            ),
            (
                "PreToolUse",
                json!({"toolInput": {"command": "pwd"}}),
                " ! its reply counts as none: it has `toolInput`, which means nothing; did you mean `tool_input`?",
            ),
            (
                "PreToolUse",
                json!({"problems": 0}),
                " ! its reply counts as none: it has none of `blocked`, `reasons`, `status`, `tool_input`",
            ),
            ("PostToolUse", json!({"problems": 0}), ""),
            ("PostToolUse", json!({"errors": 0}), ""),
            (
                "PostToolUse",
                json!({"Blocked": true}),
                " ! its reply counts as none: it has `Blocked`, which means nothing; did you mean `blocked`?",
            ),
            // What can't be meant is not a yes.
            (
                "PreToolUse",
                json!([]),
                "read the reply: it is not a JSON object",
            ),
            (
                "PreToolUse",
                json!({"status": "blocked"}),
                "read the reply: `status` is `blocked`, not one of success, blocking, non_blocking_error, cancelled",
            ),
            (
                "PreToolUse",
                json!({"blocked": "yes"}),
                "read the reply: `blocked` is not a boolean",
            ),
            (
                "PreToolUse",
                json!({"blocked": true, "reason": 3}),
                "read the reply: `reason` is not a string",
            ),
            (
                "PreToolUse",
                json!({"tool_input": "ls"}),
                "read the reply: `tool_input` is not an object",
            ),
            (
                "PreToolUse",
                json!({"tool_output": "x"}),
                "read the reply: `tool_output` can't be changed at PreToolUse",
            ),
            (
                "UserPromptSubmit",
                json!({"prompt": 3}),
                "read the reply: `prompt` is not a string",
            ),
            (
                "Stop",
                json!({"additional_context": 3}),
                "read the reply: `additional_context` is not a string or a list of strings",
            ),
        ] {
            assert_eq!(
                one_line(read_reply(&event(name), reply.clone())),
                expected,
                "{reply}"
            );
        }
    }

    #[test]
    fn exits() {
        for (name, code, stdout, stderr, expected) in [
            ("PreToolUse", Some(0), "all good", "", ""),
            (
                "PreToolUse",
                Some(0),
                r#"{"blocked": true, "reason": "r"}"#,
                "",
                "deny r",
            ),
            (
                "PreToolUse",
                Some(0),
                r#"[{"blocked": true}]"#,
                "",
                " ! its stdout tells of a decision, but is only a text; print one JSON object alone",
            ),
            (
                "PreToolUse",
                Some(0),
                "{",
                "",
                "read the reply on stdout: EOF while parsing an object at line 1 column 1",
            ),
            ("PreToolUse", Some(2), "", "r\n", "deny r"),
            (
                "PreToolUse",
                Some(2),
                r#"{"blocked": true, "reason": "r"}"#,
                "s",
                "deny r",
            ),
            (
                "PreToolUse",
                Some(2),
                r#"{"status": "success"}"#,
                "s",
                "deny s",
            ),
            (
                "PreToolUse",
                Some(1),
                r#"{"blocked": true, "reason": "r"}"#,
                "",
                "deny r",
            ),
            (
                "PreToolUse",
                Some(1),
                r#"{"problems": 3}"#,
                "oops",
                "run: exit status 1: oops",
            ),
            (
                "PreToolUse",
                Some(127),
                "",
                "sh: no: not found",
                "run: exit status 127: sh: no: not found",
            ),
            ("PreToolUse", None, "", "", "run: ended by a signal"),
            ("UserPromptSubmit", Some(0), "a fact", "", " + a fact"),
            ("PermissionRequest", Some(2), "", "r", "deny r"),
        ] {
            let answer = read_exit(
                &event(name),
                &Exit {
                    code,
                    command: "c",
                    stdout,
                    stderr,
                },
            );
            assert_eq!(one_line(answer), expected, "{name} {code:?} {stdout}");
        }
    }

    #[test]
    fn names_stand_for_what_the_event_says() {
        let event = event("PreToolUse");
        for (name, expected) in [
            ("event", json!("PreToolUse")),
            ("session_id", json!("s1")),
            ("cwd", json!("/p")),
            (
                "tool_input",
                json!({"command": "ls", "a-b": {"c": 1}, "a": null}),
            ),
            ("tool_input_command", json!("ls")),
            ("tool_input_a_b", json!({"c": 1})),
            ("tool_input_a_b_c", json!(1)),
            ("tool_output", json!("out")),
            ("tool_input_path", json!(null)),
            ("tool_input_x", json!(null)),
        ] {
            assert!(is_known_name(name));
            assert_eq!(
                placeholder_value(&event, name).unwrap_or_default(),
                expected,
                "{name}"
            );
        }
        for unknown in ["HOME", "tool_input_", "tool", "events", ""] {
            assert!(!is_known_name(unknown), "{unknown}");
        }
        let payload = write_payload(&event);
        assert_eq!(
            payload["context"],
            json!({"session_id": "s1", "cwd": "/p", "turn": 3})
        );
        assert_eq!(
            (&payload["session_id"], &payload["event"]),
            (&json!("s1"), &json!("PreToolUse"))
        );
    }

    #[test]
    fn a_key_is_not_shadowed_by_one_that_reads_like_it() {
        for input in [
            json!({"file-path": "decoy", "file_path": "real"}),
            json!({"file": {"path": "decoy"}, "file_path": "real"}),
            json!({"a-b": {"path": "decoy"}, "file": {"path": "real"}, "file-path": "decoy"}),
            json!({"file-path": "real"}),
        ] {
            assert_eq!(
                find_member(&input, "file_path"),
                Some(&json!("real")),
                "{input}"
            );
        }
    }

    #[test]
    fn what_is_null_is_in_the_context() {
        let event = json!({"event": "Stop", "cwd": null, "session_id": null, "context": {"cwd": "/p", "session_id": "s"}});
        let event = DIALECT.read_event(event).unwrap();
        assert_eq!((event.text("/cwd"), event.session()), (Some("/p"), "s"));
    }

    #[test]
    fn an_end_of_the_run_is_not_to_go_on() {
        let verdict: Verdict = serde_json::from_value(json!({
            "decision": "allow", "stop": "enough", "outcomes": [], "generation": 1, "hash": "", "eventId": "",
        }))
        .unwrap();
        for (name, blocked) in [
            ("PreToolUse", true),
            ("PostToolUse", true),
            ("Stop", false),
            ("SessionEnd", false),
        ] {
            let reply = write_reply(&event(name), &verdict);
            let reasons = if blocked {
                json!(["enough"])
            } else {
                json!([])
            };
            assert_eq!(
                (&reply["blocked"], &reply["reasons"]),
                (&json!(blocked), &reasons),
                "{name}"
            );
        }
    }
}
