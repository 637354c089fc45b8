//! WorkflowFramework's agent hooks (.NET, `WorkflowFramework.Extensions.Agents`): 13 events, a
//! pipeline in order of registration, commands that exchange JSON over stdin and stdout. From its
//! documentation; where that is silent, from its source.
//!
//! Some things differ on purpose. Its prompts hold the event's values as text, here a model reads
//! them as data. What leaves its pipeline as an exception denies a gate here. More words of a
//! model's reply are a "no", and a reply that says neither "no" nor ALLOW is an error. A "no"
//! before something happens holds for other systems' clients, though it passes it over itself.

use super::none_known;
use crate::native::CONTRACT;
use crate::replies::unreadable_reply;
use crate::{Dialect, named_row};
use hookwire_base::event::{Event, Phase, spec};
use hookwire_base::template::{Placeholders, Style};
use hookwire_base::verdict::{Answer, Decision, Outcome, Status, Verdict};
use hookwire_rules::contract::{Composition, Contract, Exit, Fail, Judgement, Target};
use hookwire_rules::matching::{MatcherRule, ToolNaming};
use serde_json::{Value, json};

pub(super) static DIALECT: Dialect = Dialect {
    about: "WorkflowFramework's agent hooks (.NET)",
    contract: Contract {
        dialect: "workflow-framework",
        composition: Composition::Pipeline,
        event_name: |event| DIALECT.name_of(event),
        takes_no: |event| DIALECT.row(event).is_none_or(|row| row.blocks),
        takes_no_elsewhere: |event| {
            spec(event).is_some_and(|it| it.phase == Phase::Gate && !it.rest)
        },
        has_one_list: true,
        tool_naming: ToolNaming::Own,
        matcher: MatcherRule::SearchOnly,
        matched: |_| Target::Texts(matcher_targets),
        matcher_names_events: true,
        is_for_others: Some(is_for_others),
        gates_fail: Fail::Closed,
        decisions: &[],
        context: &["metadata"],
        payload: write_context,
        stdin: Some(write_stdin),
        placeholders: Placeholders {
            style: Style::Braces,
            names: &PLACEHOLDERS,
            knows: |name| PLACEHOLDERS.contains(&name),
            value: placeholder_value,
        },
        judgement: Judgement::Words {
            deny: &REFUSALS,
            allow: "allow",
        },
        has_small_model: true,
        reply: |event, value| read_result(event, &value).map_err(unreadable_reply),
        exit: read_exit,
        unstarted: |program, _| {
            Ok(Answer::decide(
                Decision::Deny,
                format!("Failed to start command: {program}"),
            ))
        },
        ..CONTRACT
    },
    // The other name is the value in the system's enum: a context that .NET has serialised says no
    // more.
    events: &[
        named_row("WorkflowStarting", &["0"], "RunStart"),
        named_row("PreAgentPrompt", &["1"], "PreModelCall"),
        // The system ignores the results of hooks at all other events.
        named_row("PreToolCall", &["2"], "PreToolUse")
            .blocks()
            .rewrites(),
        named_row("PostToolCall", &["3"], "PostToolUse"),
        named_row("PostToolCallFailure", &["4"], "PostToolUseFailure"),
        named_row("StepCompleted", &["5"], "StepEnd"),
        named_row("SubWorkflowStarting", &["6"], "SubagentStart"),
        named_row("SubWorkflowCompleted", &["7"], "SubagentStop"),
        named_row("PreCompact", &["8"], "PreCompact"),
        named_row("PostCompact", &["9"], "PostCompact"),
        named_row("Checkpoint", &["10"], "Checkpoint"),
        named_row("Notification", &["11"], "Notification"),
        named_row("WorkflowCompleted", &["12"], "RunEnd"),
    ],
    event_name: "/Event",
    // The second spelling is that of a command's stdin.
    members: &[
        ("/event", "/event"),
        ("/stepName", "/stepName"),
        ("/StepName", "/stepName"),
        ("/toolName", "/tool/name"),
        ("/ToolName", "/tool/name"),
        ("/toolArgs", "/tool/input"),
        ("/ToolArgs", "/tool/input"),
        ("/ToolResult", "/tool/output"),
        ("/WorkflowContext", "/workflowContext"),
        ("/Metadata", "/metadata"),
        ("/Messages", "/messages"),
    ],
    complete: complete_event,
    reply: write_reply,
    files: None,
    agent: None,
};

/// Null is absent there, and arguments are a text that holds JSON.
fn complete_event(_: &Value, event: &mut Value) -> Result<(), String> {
    let Some(members) = event.as_object_mut() else {
        return Ok(());
    };
    members.retain(|_, value| !value.is_null());
    let failed = members
        .get("event")
        .is_some_and(|name| name == "PostToolUseFailure");
    let Some(Value::Object(tool)) = members.get_mut("tool") else {
        return Ok(());
    };
    tool.retain(|_, value| !value.is_null());
    if tool.is_empty() {
        members.remove("tool");
        return Ok(());
    }
    tool.entry("name").or_insert_with(|| "".into());
    if let Some(Value::String(text)) = tool.get("input") {
        let input = parse_arguments(text).map_err(|error| format!("`ToolArgs` {error}"))?;
        tool.insert("input".into(), input);
    }
    let content = tool.get("output").and_then(|output| output.get("Content"));
    if let Some(content) = content.filter(|_| failed).cloned() {
        tool.insert("error".into(), content);
    }
    Ok(())
}

/// The value that a text of arguments holds. What isn't JSON stays a text; so does the JSON of a
/// text, or the way back would be lost.
///
/// # Errors
/// The text begins like JSON and hookwire can't read it. .NET may read it all the same, and a guard
/// that sees the escapes as they stand would not know what the arguments are.
fn parse_arguments(text: &str) -> Result<Value, String> {
    let is_begun = text.trim_start().starts_with(['{', '[', '"']);
    match hookwire_base::support::json::parse(text) {
        Ok(Value::String(_)) if text.contains('\\') => {
            Err("is the JSON of a text with escapes: send the text".into())
        }
        Err(error) if is_begun => Err(format!(
            "begins like JSON and can't be read as such: {error}"
        )),
        Ok(Value::String(_)) | Err(_) => Ok(Value::String(text.to_string())),
        Ok(value) => Ok(value),
    }
}

/// The way back.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// The arguments as a text: the client's own while they say the same.
fn tool_args(event: &Event) -> Option<String> {
    let input = event.at("/tool/input").filter(|input| !input.is_null())?;
    let own = DIALECT.original_payload(event);
    let own = own.and_then(|context| {
        context
            .get("ToolArgs")
            .filter(|it| !it.is_null())
            .or(context.get("toolArgs"))?
            .as_str()
    });
    Some(
        own.filter(|text| parse_arguments(text).as_ref() == Ok(input))
            .map_or_else(|| text_of(input), str::to_string),
    )
}

fn tool_result(event: &Event) -> Option<Value> {
    let failed = &*event.name == "PostToolUseFailure";
    let output = event
        .at("/tool/output")
        .or(event.at("/tool/error").filter(|_| failed))?;
    if output.get("Content").is_some() {
        return Some(output.clone());
    }
    Some(json!({"Content": text_of(output), "IsError": failed}))
}

fn step_name(event: &Event) -> Option<&str> {
    event.text("/stepName").filter(|text| !text.is_empty())
}

fn tool_name(event: &Event) -> Option<&str> {
    event.tool_name().filter(|name| !name.is_empty())
}

/// `Event:StepName:ToolName`. The system leaves out what is empty, its documentation doesn't: a
/// guard that is written by either fires.
fn matcher_targets(event: &Event) -> Vec<String> {
    let (name, step, tool) = (DIALECT.name_of(event), step_name(event), tool_name(event));
    let short: Vec<&str> = [Some(name), step, tool].into_iter().flatten().collect();
    let mut texts = vec![short.join(":")];
    if short.len() < 3 {
        texts.push(format!(
            "{name}:{}:{}",
            step.unwrap_or_default(),
            tool.unwrap_or_default()
        ));
    }
    texts
}

/// Whether each alternative of a matcher names another event, and none names this one.
fn is_for_others(matcher: &str, event: &Event) -> bool {
    let own = DIALECT.name_of(event);
    !matcher.contains(own)
        && matcher.split('|').all(|part| {
            DIALECT
                .events
                .iter()
                .any(|row| row.name != own && part.contains(row.name))
        })
}

/// The `HookContext`, with whatever else its client put in.
fn write_context(event: &Event) -> Value {
    let mut context = DIALECT
        .original_payload(event)
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    for spelling in ["event", "stepName", "toolName", "toolArgs"] {
        context.remove(spelling);
    }
    let member = |pointer: &str, default| event.at(pointer).cloned().unwrap_or(default);
    for (key, value) in [
        ("Event", json!(DIALECT.name_of(event))),
        ("StepName", json!(step_name(event))),
        ("ToolName", json!(tool_name(event))),
        ("ToolArgs", json!(tool_args(event))),
        ("ToolResult", json!(tool_result(event))),
        ("WorkflowContext", member("/workflowContext", Value::Null)),
        ("Metadata", member("/metadata", json!({}))),
        ("Messages", member("/messages", json!([]))),
    ] {
        context.insert(key.into(), value);
    }
    Value::Object(context)
}

/// Commands read these four at every event, and nothing else.
fn write_stdin(event: &Event) -> Value {
    json!({
        "event": DIALECT.name_of(event),
        "stepName": step_name(event),
        "toolName": tool_name(event),
        "toolArgs": tool_args(event),
    })
}

/// What a model says no with. The system itself knows `deny`, `block` and `reject`, and takes all
/// else for an allow.
const REFUSALS: [&str; 10] = [
    "deny",
    "denied",
    "denies",
    "denial",
    "block",
    "reject",
    "refus",
    "not allow",
    "n't allow",
    "n\u{2019}t allow",
];

const PLACEHOLDERS: [&str; 3] = ["event", "toolName", "toolArgs"];

/// Absent is empty there, not null: a model is asked all the same.
fn placeholder_value(event: &Event, placeholder: &str) -> Option<Value> {
    Some(match placeholder {
        "event" => DIALECT.name_of(event).into(),
        "toolName" => tool_name(event).unwrap_or_default().into(),
        "toolArgs" => tool_args(event).unwrap_or_default().into(),
        _ => return None,
    })
}

const MEMBERS: [&str; 4] = ["Decision", "Reason", "ModifiedArgs", "OutputMessage"];

enum Kind {
    Allow,
    Deny,
    Modify,
}

/// A `HookResult`. The error is for the hook's author.
fn read_result(event: &Event, value: &Value) -> Result<Answer, String> {
    let members = value.as_object().ok_or("it is not a JSON object")?;
    for meant in MEMBERS
        .into_iter()
        .filter(|meant| !members.contains_key(*meant))
    {
        if let Some(key) = members
            .keys()
            .find(|key| key.replace('_', "").eq_ignore_ascii_case(meant))
        {
            return Err(format!(
                "it has `{key}`, which means nothing; write `{meant}`"
            ));
        }
    }
    if let Some(unknown) = none_known(members, &MEMBERS) {
        return Err(unknown);
    }
    let text = |key: &str| match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` is not a string")),
    };
    let kind = read_kind(members.get("Decision").unwrap_or(&Value::Null))?;
    let mut answer = Answer {
        reason: text("Reason")?,
        user_messages: text("OutputMessage")?
            .filter(|text| !text.is_empty())
            .into_iter()
            .collect(),
        ..Answer::default()
    };
    let mut remark = |remark: &str| answer.remarks.push(remark.to_string());
    let modified = match members.get("ModifiedArgs") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(parse_arguments(text).unwrap_or_else(|error| {
            remark(&format!("`ModifiedArgs` {error}; it was taken as a text"));
            Value::String(text.clone())
        })),
        Some(other) => {
            remark("`ModifiedArgs` is a string that holds JSON; its value was taken as it is");
            Some(other.clone())
        }
    };
    match (kind, modified) {
        // No more than no objection: an explicit allow would approve what other systems ask a
        // person about.
        (Kind::Allow, None) => {}
        (Kind::Allow, Some(_)) => {
            remark("`ModifiedArgs` counts only with `Decision` 2 (Modify): nothing is changed")
        }
        (Kind::Deny, _) => {
            (answer.decision, answer.said) = (Some(Decision::Deny), Some(json!({"Decision": DENY})))
        }
        (Kind::Modify, None) => {
            remark("`Decision` is 2 (Modify) without `ModifiedArgs`: nothing is changed")
        }
        (Kind::Modify, Some(_)) if event.spec.subject != Some("/tool/input") => {
            remark(&format!(
                "`ModifiedArgs` counts only at PreToolCall: nothing is changed at {}",
                DIALECT.name_of(event)
            ));
        }
        (Kind::Modify, modified) => answer.subject = modified,
    }
    Ok(answer)
}

fn read_kind(decision: &Value) -> Result<Kind, String> {
    let word = match decision {
        Value::Null => return Ok(Kind::Allow),
        Value::String(word) => word.trim().to_ascii_lowercase(),
        other => other.to_string(),
    };
    match word.as_str() {
        "0" | "allow" => Ok(Kind::Allow),
        "1" | "deny" => Ok(Kind::Deny),
        "2" | "modify" => Ok(Kind::Modify),
        _ => Err(format!(
            "`Decision` is {decision}; it is 0 (Allow), 1 (Deny) or 2 (Modify)"
        )),
    }
}

/// `HookDecision.Deny`.
const DENY: u8 = 1;

fn read_exit(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    match exit.code {
        Some(0) => Ok(read_stdout(event, exit.stdout.trim())),
        Some(code) => Ok(Answer::decide(
            Decision::Deny,
            format!("Command exited with code {code}"),
        )),
        None => Ok(Answer::decide(
            Decision::Deny,
            "Command was ended by a signal",
        )),
    }
}

/// A reply that can't be read is silently an allow there. Here the verdict says so.
fn read_stdout(event: &Event, text: &str) -> Answer {
    if text.is_empty() || text == "null" {
        return Answer::default();
    }
    // Not our own parser: of two `Decision`s the last counts there, and to refuse both would allow.
    let value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"));
    value
        .and_then(|value: Value| read_result(event, &value))
        .unwrap_or_else(|error| Answer {
            remarks: vec![format!(
                "its reply on stdout can't be read (an allow in WorkflowFramework): {error}"
            )],
            ..Answer::default()
        })
}

/// The pipeline's own `HookResult`: a deny, else the last rewrite, else what the last hook said.
fn write_reply(_: &Event, verdict: &Verdict) -> Value {
    // It has no word for the end of a run.
    let denied = verdict.decision != Decision::Allow || verdict.stop.is_some();
    let modified = verdict.subject.as_ref().filter(|_| !denied);
    // What a hook says at an event whose result nobody reads is an error in its outcome, and in the
    // reply all the same.
    let is_unheard = |outcome: &&Outcome| {
        let denies = outcome
            .said
            .as_ref()
            .is_some_and(|said| said["Decision"] == DENY);
        outcome.status == Status::NonBlockingError && (outcome.reason.is_some() || denies)
    };
    let said = || {
        verdict
            .outcomes
            .iter()
            .rfind(|outcome| {
                (outcome.status == Status::Success || is_unheard(outcome))
                    && (modified.is_none() || outcome.rewrote)
            })
            .and_then(|outcome| outcome.reason.as_deref())
    };
    let unheard = verdict.outcomes.iter().find(is_unheard);
    let (decision, reason) = match (verdict.decision, &verdict.stop) {
        (Decision::Allow, Some(stop)) => (DENY, Some(stop.as_str())),
        (Decision::Allow, None) if unheard.is_some() => {
            (DENY, unheard.and_then(|outcome| outcome.reason.as_deref()))
        }
        (Decision::Allow, None) if modified.is_some() => (2, said()),
        (Decision::Allow, None) => (0, said()),
        (Decision::Ask | Decision::Defer | Decision::Deny, _) => (DENY, verdict.reason.as_deref()),
    };
    let messages = verdict.user_messages.join("\n");
    json!({
        "Decision": decision,
        "Reason": reason,
        "ModifiedArgs": modified.map(text_of),
        "OutputMessage": Some(messages).filter(|it| !it.is_empty()),
    })
}
