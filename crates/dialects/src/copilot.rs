//! GitHub Copilot CLI's hooks: names in camel case, flat replies.
//!
//! A payload mostly doesn't name its event: the command that reads it adds `hook_event_name`, from
//! where it is registered. What a hook writes to stderr is lost there, so a "no" is always a reply.
//! New arguments, results and prompts replace the old ones whole. The end of the run is a deny, but
//! where the agent rests. All of it is what the CLI did when it was driven.
//!
//! VS Code's Copilot reads the same files with Claude Code's names of events and takes nearly
//! Claude Code's replies. It passes over a rewrite that doesn't fit its tool, and takes none
//! elsewhere, so there a rewrite is a deny. The CLI has those names too, where hooks are registered
//! by them; what is the same in both is answered in both forms, because each passes over the
//! other's. VS Code alone says `hookEventName`, or the id of the call or a transcript.
//!
//! A hook that fails blocks there.

use super::claude_code;
use super::decisive::check_understood;
use super::native::AGENT;
use super::replies::{
    BLOCKED, denied_verdict, exit_of_reply, is_decided, reply_members, stop_denies, text_member,
    text_or, unreadable_reply,
};
use super::{CodingAgent, Dialect, Files, Refusal, named_row, settings};
use hookwire_base::event::{Event, set_pointer, spec};
use hookwire_base::support::json::parse;
use hookwire_base::verdict::{Answer, Decision, Verdict};
use hookwire_rules::contract::{Contract, Exit, Fail, TOOL_NAME, Target};
use hookwire_rules::matching::MatcherRule;
use serde_json::{Map, Value, json};
use std::time::UNIX_EPOCH;

pub(super) static DIALECT: Dialect = Dialect {
    about: "",
    contract: Contract {
        dialect: "copilot",
        matcher: MatcherRule::Search,
        matched: |event| match event {
            _ if spec(event).is_some_and(|spec| spec.tool) => Target::Member(TOOL_NAME),
            "Notification" => Target::Member("/notification_type"),
            _ => Target::Nothing,
        },
        gates_fail: Fail::Closed,
        decisions: &[Decision::Ask],
        payload: write_payload,
        reply: read_reply,
        exit: read_exit,
        ..AGENT
    },
    // The other name is VS Code's.
    events: &[
        named_row("sessionStart", &["SessionStart"], "SessionStart"),
        named_row("sessionEnd", &["SessionEnd"], "SessionEnd"),
        named_row(
            "userPromptSubmitted",
            &["UserPromptSubmit"],
            "UserPromptSubmit",
        )
        .blocks()
        .rewrites(),
        named_row("preToolUse", &["PreToolUse"], "PreToolUse")
            .blocks()
            .rewrites(),
        named_row("postToolUse", &["PostToolUse"], "PostToolUse")
            .blocks()
            .rewrites(),
        named_row("postToolUseFailure", &[], "PostToolUseFailure")
            .members(&[("/error", "/tool/error")]),
        named_row("permissionRequest", &[], "PermissionRequest").blocks(),
        named_row("agentStop", &["Stop"], "Stop").blocks(),
        named_row("subagentStart", &["SubagentStart"], "SubagentStart"),
        named_row("subagentStop", &["SubagentStop"], "SubagentStop").blocks(),
        named_row("preCompact", &["PreCompact"], "PreCompact"),
        named_row("errorOccurred", &[], "ModelCallError")
            .members(&[("/error", "/model/error")])
            .picks(|payload| {
                payload
                    .get("errorContext")
                    .is_some_and(|it| it == "model_call")
            }),
        named_row("errorOccurred", &[], "RunError").members(&[("/error", "/error")]),
        named_row("notification", &[], "Notification"),
    ],
    event_name: "/hook_event_name",
    members: &[
        ("/hook_event_name", "/event"),
        ("/hookEventName", "/event"),
        ("/hookName", "/event"),
        ("/sessionId", "/session"),
        ("/session_id", "/session"),
        ("/cwd", "/cwd"),
        ("/toolName", "/tool/name"),
        ("/tool_name", "/tool/name"),
        ("/toolCallId", "/tool/callId"),
        ("/tool_use_id", "/tool/callId"),
        ("/toolArgs", "/tool/input"),
        ("/toolInput", "/tool/input"),
        ("/tool_input", "/tool/input"),
        ("/toolResult", "/tool/output"),
        ("/tool_result", "/tool/output"),
        ("/tool_response", "/tool/output"),
        ("/prompt", "/prompt"),
        ("/agentName", "/agent/name"),
        ("/stop_hook_active", "/stopActive"),
    ],
    complete: complete_event,
    reply: write_reply,
    files: Some(Files {
        recognises: |root| settings::has_handlers(root, |event| DIALECT.has_event(event)),
        ..settings::FILES
    }),
    agent: Some(CodingAgent {
        refusal: Refusal::Reply,
        withholds: false,
        mcp: None,
    }),
};

/// What tells a moment from others. Where it also runs the hooks of Claude Code it asks twice of one
/// moment, in two forms: with another name of the tool, and with the time in other words. A result
/// has a form of its own in each, so it isn't part of the name: what one hook makes of it fits that
/// alone.
pub(super) fn moment(event: &Event) -> Option<String> {
    let time = match DIALECT.original_payload(event)?.get("timestamp")? {
        Value::String(text) => humantime::parse_rfc3339(text)
            .ok()?
            .duration_since(UNIX_EPOCH)
            .ok()?
            .as_millis(),
        time => time.as_u64()?.into(),
    };
    let tool = event.tool_name().map(str::to_ascii_lowercase);
    let parts = ["/session", "/tool/input", "/prompt"].map(|place| event.at(place));
    Some(json!([*event.name, time.to_string(), tool, parts]).to_string())
}

fn complete_event(_: &Value, event: &mut Value) -> Result<(), String> {
    let Some(Value::String(text)) = event.pointer("/tool/input") else {
        return Ok(());
    };
    let tool = event
        .pointer(TOOL_NAME)
        .and_then(Value::as_str)
        .unwrap_or_default();
    let input = parse_arguments(tool, text)?;
    set_pointer(event, "/tool/input", input);
    Ok(())
}

/// Arguments may be a text that holds JSON, or a patch as it is. JSON that can't be read is
/// refused: no guard could know what it says.
fn parse_arguments(tool: &str, text: &str) -> Result<Value, String> {
    let input = if is_json(text) {
        parse(text)
            .map_err(|error| format!("`toolArgs` begins like JSON and can't be read: {error}"))?
    } else {
        text.into()
    };
    Ok(if tool == "apply_patch" && input.is_string() {
        json!({ "input": input })
    } else {
        input
    })
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"'])
}

/// The patch of a call whose arguments are a patch as it is.
fn patch_text(event: &Event) -> Option<&str> {
    let payload = DIALECT.original_payload(event)?;
    let text = ["toolArgs", "toolInput", "tool_input"]
        .iter()
        .find_map(|place| payload.get(place)?.as_str());
    text.filter(|text| !is_json(text) && event.tool_name() == Some("apply_patch"))
}

fn write_payload(event: &Event) -> Value {
    let mut payload = DIALECT.write_event(event);
    // Arguments that came as a text go on as one: the same if nothing has changed.
    for place in ["toolArgs", "toolInput", "tool_input"] {
        let before = DIALECT
            .original_payload(event)
            .and_then(|payload| payload.get(place))
            .and_then(Value::as_str);
        let Some(input) = event.at("/tool/input").filter(|it| it.is_object()) else {
            continue;
        };
        if let Some(before) = before {
            let tool = event.tool_name().unwrap_or_default();
            let same = parse_arguments(tool, before).is_ok_and(|before| before == *input);
            let patch = patch_text(event).and_then(|_| input.get("input")?.as_str());
            payload[place] = match patch {
                _ if same => before.into(),
                Some(patch) => patch.into(),
                None => input.to_string().into(),
            };
        }
    }
    payload
}

fn write_reply(event: &Event, verdict: &Verdict) -> Value {
    let mut verdict = match &*event.name {
        "Stop" | "SubagentStop" => verdict.clone(),
        _ => stop_denies(verdict),
    };
    let payload = DIALECT.original_payload(event);
    let has =
        |key: &str| payload.is_some_and(|payload| payload.get(key).is_some_and(|it| !it.is_null()));
    let name = payload.and_then(|payload| payload.get("hook_event_name")?.as_str());
    let of_vs_code = DIALECT.row(&event.name).map_or(&[][..], |row| row.also);
    // Without a payload it is the refusal of one that can't be read: then it isn't known which of
    // the two it is.
    let may_be_vs_code = has("hookEventName")
        || !of_vs_code.is_empty() && payload.is_none()
        || name.is_some_and(|name| of_vs_code.contains(&name));
    let is_vs_code = may_be_vs_code
        && ["hookEventName", "tool_use_id", "transcript_path"]
            .into_iter()
            .any(has);
    if verdict.subject.is_some()
        && (is_vs_code || may_be_vs_code && verdict.decision != Decision::Allow)
    {
        verdict = match verdict.decision {
            Decision::Deny => Verdict {
                subject: None,
                ..verdict
            },
            Decision::Allow | Decision::Ask | Decision::Defer => denied_verdict(
                &verdict,
                "a hook rewrote this, and VS Code's Copilot isn't known to take a rewrite",
            ),
        };
    }
    let mut reply = if has("hookEventName") {
        Map::new()
    } else {
        reply_of_cli(event, verdict.clone())
    };
    if may_be_vs_code && verdict.subject.is_none() {
        reply.extend(reply_of_vs_code(event, &verdict));
    }
    Value::Object(reply)
}

/// Claude Code's form, but where VS Code has another place for a "no".
fn reply_of_vs_code(event: &Event, verdict: &Verdict) -> Map<String, Value> {
    let Value::Object(mut reply) = claude_code::write_reply(&claude_code::DIALECT, event, verdict)
    else {
        return Map::new();
    };
    let reason = reply.get("reason").cloned().filter(|_| {
        reply
            .get("decision")
            .is_some_and(|decision| decision == "block")
    });
    match (&*event.name, reason) {
        ("Stop", Some(reason)) if verdict.stop.is_none() => {
            let specific = reply
                .entry("hookSpecificOutput")
                .or_insert_with(|| json!({"hookEventName": "Stop"}));
            specific["decision"] = json!("block");
            specific["reason"] = reason;
        }
        ("UserPromptSubmit" | "PreCompact", Some(reason)) => {
            reply.insert("continue".into(), json!(false));
            reply.insert("stopReason".into(), reason);
        }
        _ => {}
    }
    reply
}

fn reply_of_cli(event: &Event, verdict: Verdict) -> Map<String, Value> {
    let verdict = match (&*event.name, &verdict.subject, verdict.decision) {
        (_, None, _) | (_, Some(_), Decision::Deny) => verdict,
        ("PreToolUse", Some(Value::Object(_)), _) if patch_text(event).is_some() => denied_verdict(
            &verdict,
            "a hook rewrote this, and Copilot isn't known to take another patch",
        ),
        ("PreToolUse", Some(Value::Object(_)), Decision::Allow) => verdict,
        ("PostToolUse" | "UserPromptSubmit", Some(_), _) => verdict,
        // Whether a person would be asked about the new arguments isn't known.
        ("PreToolUse", Some(Value::Object(_)), _) => denied_verdict(
            &verdict,
            "a hook rewrote this, and Copilot isn't known to ask about a rewrite",
        ),
        (_, Some(_), _) => denied_verdict(
            &verdict,
            "a hook rewrote this, and Copilot takes no such rewrite",
        ),
    };
    let reason = verdict.reason.as_deref().unwrap_or_default();
    let mut reply = Map::new();
    let mut say = |key: &str, value: &str| drop(reply.insert(key.into(), value.into()));
    match (&*event.name, verdict.decision) {
        (_, Decision::Allow) if !is_decided(&verdict) => {}
        ("PreToolUse", decision) => {
            // It has no word for putting off.
            let decision = if decision == Decision::Defer {
                Decision::Deny
            } else {
                decision
            };
            say("permissionDecision", decision.as_str());
            if decision != Decision::Allow || !reason.is_empty() {
                say("permissionDecisionReason", &text_or(reason, BLOCKED));
            }
        }
        ("PermissionRequest", Decision::Allow) => say("behavior", "allow"),
        ("PermissionRequest", Decision::Deny) => {
            say("behavior", "deny");
            say("message", &text_or(reason, BLOCKED));
        }
        (
            "Stop" | "SubagentStop" | "PostToolUse" | "UserPromptSubmit",
            Decision::Ask | Decision::Defer | Decision::Deny,
        ) if verdict.stop.is_none() || event.spec.subject.is_some() => {
            say("decision", "block");
            say("reason", &text_or(reason, BLOCKED));
        }
        // A question goes on to the person; the rest can't be blocked.
        _ => {}
    }
    if let Some(subject) = verdict
        .subject
        .as_ref()
        .filter(|_| verdict.decision == Decision::Allow)
    {
        let (key, value) = match &*event.name {
            "PreToolUse" => ("modifiedArgs", subject.clone()),
            "PostToolUse" => ("modifiedResult", write_result(event, subject)),
            _ => ("modifiedPrompt", subject.clone()),
        };
        reply.insert(key.into(), value);
    }
    let is_read = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
    ]
    .contains(&&*event.name);
    if is_read && !verdict.additional_context.is_empty() {
        reply.insert(
            "additionalContext".into(),
            verdict.additional_context.join("\n").into(),
        );
    }
    reply
}

/// A tool's result in the form that it takes: another one is passed over.
fn write_result(event: &Event, subject: &Value) -> Value {
    let text = match subject {
        Value::Object(members)
            if members
                .get("textResultForLlm")
                .is_some_and(Value::is_string) =>
        {
            return subject.clone();
        }
        Value::Null => "[withheld by a hook]".to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let kind = event
        .at("/tool/output/resultType")
        .cloned()
        .unwrap_or_else(|| "success".into());
    json!({ "resultType": kind, "textResultForLlm": text })
}

fn read_reply(event: &Event, value: Value) -> Result<Answer, String> {
    let object = reply_members(&value)?;
    if ["hookSpecificOutput", "continue"]
        .iter()
        .any(|key| object.contains_key(*key))
    {
        return claude_code::read_reply(&claude_code::DIALECT, event, value);
    }
    let (decision, reason) = match &*event.name {
        "PreToolUse" => ("permissionDecision", "permissionDecisionReason"),
        "PermissionRequest" => ("behavior", "message"),
        _ => ("decision", "reason"),
    };
    let answer = read_members(event, object, decision, reason)?;
    check_understood(event, &value, &[&format!("/{decision}")], answer)
}

fn read_members(
    event: &Event,
    object: &Map<String, Value>,
    decision: &str,
    reason: &str,
) -> Result<Answer, String> {
    let word = text_member(object, decision)?;
    let decided = match word.as_deref() {
        None => None,
        Some("block") => Some(Decision::Deny),
        Some(word) => Some(
            Decision::from_word(word)
                .filter(|it| *it != Decision::Defer)
                .ok_or_else(|| unreadable_reply(format_args!("`{decision}` is `{word}`")))?,
        ),
    };
    let mut answer = Answer {
        decision: decided,
        reason: text_member(object, reason)?,
        ..Answer::default()
    };
    answer.additional_context = text_member(object, "additionalContext")?
        .into_iter()
        .collect();
    let (key, is_fit): (_, fn(&Value) -> bool) = match &*event.name {
        "PreToolUse" => ("modifiedArgs", Value::is_object),
        "PostToolUse" => ("modifiedResult", Value::is_object),
        "UserPromptSubmit" => ("modifiedPrompt", Value::is_string),
        _ => return Ok(answer),
    };
    answer.subject = match object.get(key).filter(|it| !it.is_null()) {
        // Arguments may be a text that holds JSON.
        Some(Value::String(text)) if key == "modifiedArgs" => {
            Some(parse(text).map_err(|error| {
                unreadable_reply(format_args!("`{key}` can't be read: {error}"))
            })?)
        }
        given => given.cloned(),
    };
    match &answer.subject {
        Some(subject) if !is_fit(subject) => Err(unreadable_reply(format_args!(
            "`{key}` is not what it replaces"
        ))),
        _ => Ok(answer),
    }
}

fn read_exit(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    match exit.code {
        // There the reason is lost; here it is told.
        Some(2) => Ok(claude_code::block_event(
            &DIALECT,
            event,
            text_or(exit.stderr.trim(), "the hook exited with code 2"),
        )),
        Some(_) | None => exit_of_reply(event, exit, read_reply),
    }
}
