//! The AgentHook trait of an agent framework's design: its methods as events for clients in any
//! language, an action as the reply. The trait itself, in `agent_hook`, speaks this too.
//!
//! The design has no wire form: a payload is a method's arguments by their names, a reply is its
//! action. Durations are in seconds.

use super::other_name;
use crate::files::{error_at, rename_entry, text_value, wrong_type};
use crate::native::CONTRACT;
use crate::replies::{bad_exit, parse_stdout, text_or, unreadable_reply};
use crate::{Dialect, EventRow, Files, NO_FILES, OwnKeys};
use hookwire_base::event::{Event, Phase, set_pointer};
use hookwire_base::syntax::node::{Entry, Node, NodeValue};
use hookwire_base::syntax::problem::Problem;
use hookwire_base::verdict::{Answer, Decision, Retry, RetryAction, Verdict, millis_up};
use hookwire_rules::contract::{Composition, Contract, Exit, Fail};
use hookwire_rules::matching::ToolNaming;
use serde_json::{Map, Value, json};
use std::time::Duration;

type Members = &'static [(&'static str, &'static str)];

/// A method that returns an action.
const fn method_row(name: &'static str, canonical: &'static str, members: Members) -> EventRow {
    EventRow::new(name, canonical)
        .blocks()
        .rewrites()
        .members(members)
}

/// A method that doesn't.
const fn notice_row(name: &'static str, canonical: &'static str, members: Members) -> EventRow {
    EventRow::new(name, canonical).members(members)
}

pub static DIALECT: Dialect = Dialect {
    about: "the AgentHook trait",
    contract: Contract {
        dialect: "agent-hook-trait",
        composition: Composition::Onion,
        event_name: |event| DIALECT.name_of(event),
        takes_no: |event| DIALECT.row(event).is_none_or(|row| row.blocks),
        has_one_list: true,
        tool_naming: ToolNaming::Own,
        decisions: &[],
        context: &["metadata"],
        payload: write_payload,
        reply: read_reply,
        exit: read_exit,
        ..CONTRACT
    },
    events: &[
        // By the design only a failure blocks it; an explicit deny counts too.
        EventRow {
            rewrites: false,
            ..method_row("on_session_start", "SessionStart", &[])
        },
        notice_row("on_session_end", "SessionEnd", &[]),
        method_row("pre_turn", "RunStart", &[("/input/message", "/prompt")]),
        method_row(
            "post_turn",
            "RunEnd",
            &[("/input/message", "/prompt"), ("/output", "/result")],
        ),
        method_row(
            "on_turn_error",
            "RunError",
            &[("/input/message", "/prompt"), ("/output", "/result")],
        ),
        method_row(
            "pre_llm_call",
            "PreModelCall",
            &[
                ("/messages", "/model/request/messages"),
                ("/tools", "/model/request/tools"),
            ],
        ),
        method_row(
            "post_llm_call",
            "PostModelCall",
            &[("/response", "/model/response")],
        ),
        // The decision is its own member of a verdict, not a rewritten subject.
        EventRow {
            rewrites: false,
            ..method_row(
                "on_llm_error",
                "ModelCallError",
                &[("/error", "/model/error"), ("/attempt", "/model/attempt")],
            )
        },
        method_row(
            "pre_tool_call",
            "PreToolUse",
            &[
                ("/args", "/tool/input"),
                ("/grant", "/grant"),
                ("/grant/timeout_ms", "/grant/timeoutMs"),
                ("/grant/max_output_bytes", "/grant/maxOutputBytes"),
                ("/grant/calls_left", "/grant/callsLeft"),
            ],
        ),
        method_row(
            "post_tool_call",
            "PostToolUseFailure",
            &[
                ("/args", "/tool/input"),
                ("/result/Ok", "/tool/output"),
                ("/result/Err", "/tool/error"),
            ],
        )
        .picks(|payload| payload.pointer("/result/Err").is_some()),
        method_row(
            "post_tool_call",
            "PostToolUse",
            &[("/args", "/tool/input"), ("/result/Ok", "/tool/output")],
        ),
        method_row(
            "pre_compaction",
            "PreCompact",
            &[
                ("/messages", "/messages"),
                ("/budget", "/budget"),
                ("/hint", "/compaction"),
            ],
        ),
        notice_row(
            "post_compaction",
            "PostCompact",
            &[
                ("/removed_count", "/removedCount"),
                ("/summary", "/summary"),
            ],
        ),
    ],
    event_name: "/method",
    members: &[
        ("/ctx/session_id", "/session"),
        ("/ctx/turn_number", "/turn"),
        ("/ctx/step_number", "/step"),
        // It has no agent's name; the kind of core comes nearest.
        ("/ctx/core_type", "/agent/name"),
        ("/tool_name", "/tool/name"),
    ],
    complete: |theirs, ours| {
        check_arguments(theirs)?;
        complete_event(theirs, ours);
        Ok(())
    },
    files: Some(Files {
        marks: &["fail_open"],
        read: read_file,
        ..NO_FILES
    }),
    reply: write_reply,
    agent: None,
};

/// The trait's word for a hook's failure direction: `fail_open: false` is `fail: closed`.
fn read_file(_: &Dialect, root: &Node, _: OwnKeys, problems: &mut Vec<Problem>) -> Node {
    let mut twice = Vec::new();
    let mut map = |node: &Node| match &node.value {
        NodeValue::Map(entries) => {
            if let (Some(fail), Some(_)) = (node.entry("fail"), node.get("fail_open")) {
                let help =
                    Some("leave one of them out: `fail_open: false` is `fail: closed`".to_string());
                let problem = error_at(
                    &fail.key_span,
                    "contradiction",
                    "`fail` stands beside `fail_open`",
                    help,
                );
                twice.push(Problem {
                    hook: node.get("name").and_then(Node::text).map(str::to_string),
                    ..problem
                });
            }
            Node {
                value: NodeValue::Map(
                    entries
                        .iter()
                        .map(|entry| {
                            if entry.key != "fail_open" {
                                return entry.clone();
                            }
                            let is_open = matches!(entry.value.value, NodeValue::Bool(true));
                            if !matches!(entry.value.value, NodeValue::Bool(_)) {
                                let problem =
                                    wrong_type(&entry.value, "`fail_open`", "true or false");
                                problems.push(Problem {
                                    message: format!("{}; it counts as false", problem.message),
                                    ..problem
                                });
                            }
                            let fail = if is_open { Fail::Open } else { Fail::Closed };
                            let value = Node {
                                value: text_value(fail.as_str()),
                                ..entry.value.clone()
                            };
                            Entry {
                                value,
                                ..rename_entry(entry, "fail")
                            }
                        })
                        .collect(),
                ),
                ..node.clone()
            }
        }
        _ => node.clone(),
    };
    let read = match &root.value {
        NodeValue::Map(entries) => Node {
            value: NodeValue::Map(
                entries
                    .iter()
                    .map(|entry| {
                        let value = match (entry.key.as_str(), &entry.value.value) {
                            ("defaults", _) => map(&entry.value),
                            ("hooks", NodeValue::Seq(hooks)) => Node {
                                value: NodeValue::Seq(hooks.iter().map(&mut map).collect()),
                                ..entry.value.clone()
                            },
                            _ => entry.value.clone(),
                        };
                        Entry {
                            value,
                            ..entry.clone()
                        }
                    })
                    .collect(),
            ),
            ..root.clone()
        },
        _ => root.clone(),
    };
    problems.extend(twice);
    read
}

/// Refuses a payload whose arguments aren't those of its method: a guard would look where nothing
/// is, and pass.
fn check_arguments(payload: &Value) -> Result<(), String> {
    let wrong = |key: &str, what: &str| Err(format!("`{key}` is not {what}"));
    let given = |key: &str| payload.get(key).filter(|it| !it.is_null());
    match payload["method"].as_str().unwrap_or_default() {
        "pre_turn" | "post_turn" | "on_turn_error"
            if given("input").is_some_and(|it| !it["message"].is_string()) =>
        {
            wrong("input", "an object with a text as `message`")
        }
        "pre_llm_call" | "pre_compaction" if given("messages").is_some_and(|it| !it.is_array()) => {
            wrong("messages", "a list")
        }
        "post_llm_call" if given("response").is_some_and(|it| !it.is_object()) => {
            wrong("response", "an object")
        }
        "post_tool_call"
            if given("result")
                .is_some_and(|it| !(it.get("Ok").is_some() || it.get("Err").is_some())) =>
        {
            wrong("result", "an object with `Ok` or `Err`")
        }
        "pre_tool_call" | "post_tool_call" if payload.get("args").is_none() => {
            other_name(payload, "args", &["arguments"])
        }
        "pre_turn" if given("input").is_none() => {
            other_name(payload, "input", &["turn_input", "user_input"])
        }
        _ => Ok(()),
    }
}

/// Adds members under the names that guards and hooks of other vocabularies read.
fn complete_event(payload: &Value, data: &mut Value) {
    for (theirs, ours) in [
        ("/response/usage/input_tokens", "/model/usage/inputTokens"),
        ("/response/usage/output_tokens", "/model/usage/outputTokens"),
        ("/response/model", "/model/name"),
        ("/response/finish_reason", "/model/finishReason"),
        ("/error/retry_after", "/model/error/retryAfter"),
    ] {
        if let Some(value) = payload.pointer(theirs).filter(|it| !it.is_null()) {
            set_pointer(data, ours, value.clone());
        }
    }
    if let Some(seconds) = payload.get("elapsed").and_then(Value::as_f64) {
        set_pointer(data, "/tool/durationMs", json!(seconds * 1000.0));
    }
}

fn write_payload(event: &Event) -> Value {
    let mut payload = DIALECT.write_event(event);
    if let Some(grant) = payload.get_mut("grant") {
        *grant = write_grant(grant.take());
    }
    if let Some(Value::Object(result)) = payload.get_mut("result")
        && result.contains_key("Ok")
    {
        // A hook has made a result of the error.
        result.remove("Err");
    }
    if payload.get("elapsed").is_none()
        && let Some(ms) = event.at("/tool/durationMs").and_then(Value::as_f64)
    {
        set_pointer(&mut payload, "/elapsed", json!(ms / 1000.0));
    }
    payload
}

/// A grant in the trait's words.
pub(crate) fn write_grant(mut grant: Value) -> Value {
    for (theirs, ours) in [
        ("timeout_ms", "timeoutMs"),
        ("max_output_bytes", "maxOutputBytes"),
        ("calls_left", "callsLeft"),
    ] {
        if let Value::Object(members) = &mut grant
            && let Some(value) = members.remove(ours)
        {
            members.insert(theirs.into(), value);
        }
    }
    grant
}

/// An action: `{"action": "Continue" | "Transform" | "Reject" | "Replace", "value", "reason"}`.
fn read_reply(event: &Event, reply: Value) -> Result<Answer, String> {
    let Value::Object(mut reply) = reply else {
        return Err(unreadable_reply("it is not a JSON object"));
    };
    let (value, reason) = (reply.remove("value"), reply.remove("reason"));
    let replace = match reply.get("action").and_then(Value::as_str) {
        Some("Continue") => return Ok(Answer::default()),
        Some("Reject") => {
            let reason = reason
                .as_ref()
                .and_then(Value::as_str)
                .unwrap_or("rejected without a reason");
            return Ok(reject_operation(event, reason));
        }
        Some("Transform") => false,
        Some("Replace") => true,
        Some(other) => {
            return Err(unreadable_reply(format_args!(
                "`action` is `{other}`, not Continue, Transform, Reject or Replace"
            )));
        }
        None => {
            return Err(unreadable_reply(
                "`action` is missing: Continue, Transform, Reject or Replace",
            ));
        }
    };
    let value = value.ok_or_else(|| unreadable_reply("`value` is missing"))?;
    Ok(match &*event.name {
        "ModelCallError" => Answer {
            retry: Some(read_retry(&value)?),
            replace,
            ..Answer::default()
        },
        "RunStart" => {
            let message = value.get("message").and_then(Value::as_str);
            let message =
                message.ok_or_else(|| unreadable_reply("`value.message` is not a string"))?;
            Answer {
                replace,
                ..Answer::rewrite(message)
            }
        }
        _ => Answer {
            replace,
            ..Answer::rewrite(value)
        },
    })
}

/// The operation fails; what has come of it so far is withheld.
fn reject_operation(event: &Event, reason: &str) -> Answer {
    let answer = Answer::deny(reason);
    match event.spec.phase {
        Phase::After if event.spec.subject.is_some() => Answer {
            subject: Some(Value::Null),
            replace: true,
            ..answer
        },
        Phase::Gate | Phase::After | Phase::Note => answer,
    }
}

/// `"Fail"`, `{"Retry": {"after": seconds}}` or `{"Fallback": {"model": name}}`.
fn read_retry(value: &Value) -> Result<Retry, String> {
    let retry = |action, after_ms, model| {
        Ok(Retry {
            action,
            after_ms,
            model,
        })
    };
    let (name, of) = match value {
        Value::String(name) => (name.as_str(), &Value::Null),
        Value::Object(members) if members.len() == 1 => members
            .iter()
            .next()
            .map_or(("", value), |(name, of)| (name.as_str(), of)),
        _ => ("", value),
    };
    match name {
        "Retry" => {
            let after = of.get("after").and_then(Value::as_f64);
            retry(RetryAction::Retry, after.map(millis_from), None)
        }
        "Fail" => retry(RetryAction::Fail, None, None),
        "Fallback" => {
            let model = of.get("model").and_then(Value::as_str).map(str::to_string);
            let model = model.ok_or_else(|| unreadable_reply("`Fallback` has no `model`"))?;
            retry(RetryAction::Fallback, None, Some(model))
        }
        _ => Err(unreadable_reply("`value` is not Retry, Fail or Fallback")),
    }
}

/// A time that is out of range becomes the nearest that isn't.
fn millis_from(seconds: f64) -> u64 {
    let nearest = if seconds < 0.0 {
        Duration::ZERO
    } else {
        Duration::MAX
    };
    millis_up(Duration::try_from_secs_f64(seconds).unwrap_or(nearest))
}

fn write_retry(retry: &Retry) -> Value {
    match retry.action {
        RetryAction::Retry => {
            json!({ "Retry": { "after": retry.after_ms.unwrap_or(0) as f64 / 1000.0 } })
        }
        RetryAction::Fail => "Fail".into(),
        RetryAction::Fallback => json!({ "Fallback": { "model": retry.model } }),
    }
}

fn write_reply(event: &Event, verdict: &Verdict) -> Value {
    let mut reply = Map::new();
    let mut say = |key: &str, value: Value| reply.insert(key.to_string(), value);
    // The trait has no word for a person or for later.
    let rejected = match verdict.decision {
        Decision::Allow => false,
        Decision::Ask | Decision::Defer | Decision::Deny => true,
    };
    if rejected || verdict.stop.is_some() {
        let reason = if rejected {
            &verdict.reason
        } else {
            &verdict.stop
        };
        let reason = reason
            .as_deref()
            .filter(|reason| !reason.is_empty())
            .unwrap_or("rejected without a reason");
        say("action", "Reject".into());
        say("reason", reason.into());
        if let Some(hook) = verdict.refused_by() {
            say("hook", (**hook).into());
        }
        return Value::Object(reply);
    }
    let value = match (&verdict.subject, &verdict.retry) {
        (_, Some(retry)) if &*event.name == "ModelCallError" => Some(write_retry(retry)),
        (Some(prompt), _) if &*event.name == "RunStart" => Some(json!({ "message": prompt })),
        (subject, _) => subject.clone(),
    };
    match value {
        Some(value) => {
            say(
                "action",
                if verdict.replaced {
                    "Replace"
                } else {
                    "Transform"
                }
                .into(),
            );
            say("value", value);
        }
        None => drop(say("action", "Continue".into())),
    }
    // The agent that runs the tool keeps to it.
    if let Some(grant) = &verdict.grant {
        say("grant", write_grant(grant.clone()));
    }
    Value::Object(reply)
}

/// As hookwire's own, with an action on stdout.
fn read_exit(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    let stdout = exit.stdout.trim();
    match exit.code {
        Some(0) if stdout.is_empty() => Ok(Answer::default()),
        Some(0) => read_reply(event, parse_stdout(stdout)?),
        Some(2) => Ok(reject_operation(
            event,
            &text_or(exit.stderr.trim(), "rejected without a reason"),
        )),
        Some(_) | None => Err(bad_exit(exit)),
    }
}
