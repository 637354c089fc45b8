//! agentpool's hooks (`agentpool/hooks` of phil65/agentpool 2.2.4), and its YAML as it stands.
//!
//! All hooks of an event run at once on the same input, and what they say is combined in the order
//! of the list. A reply is made of what each hook said in its own words ([`Outcome::said`]):
//! agentpool gives the reasons of hooks that allow too, and only the arguments that change.
//!
//! It differs from the source on purpose: `$PROJECT_DIR` is a variable and not a replacement in the
//! shell's text, a command that is out of time is ended, a prompt's values are data and never part
//! of its instructions, and its time limit counts.

mod files;

use super::{other_name, unknown_reply};
use crate::native::CONTRACT;
use crate::replies::{bad_exit, text_or, unreadable_reply};
use crate::{Dialect, EventRow, Files, NO_FILES};
use hookwire_base::event::{Event, spec};
use hookwire_base::template::{Placeholders, Style};
use hookwire_base::verdict::{Answer, Decision, Outcome, Status, Verdict};
use hookwire_rules::contract::{Composition, Contract, Exit, Judgement, TOOL_NAME, Target};
use hookwire_rules::matching::{MatcherRule, ToolNaming};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

pub(super) static DIALECT: Dialect = Dialect {
    about: "agentpool 2.2.4",
    contract: Contract {
        dialect: "agentpool",
        composition: Composition::Parallel,
        event_name: |event| DIALECT.name_of(event),
        takes_no: |event| DIALECT.row(event).is_none_or(|row| row.blocks),
        tool_naming: ToolNaming::Own,
        matcher: MatcherRule::Search,
        matched: matcher_target,
        timeout: Duration::from_secs(60),
        decisions: &[Decision::Ask],
        context: &["metadata"],
        payload: write_payload,
        environment: command_environment,
        placeholders: Placeholders {
            style: Style::Dollars,
            names: &VALUES,
            knows: |name| VALUES.contains(&name),
            value: placeholder_value,
        },
        judgement: Judgement::AllowOrDeny,
        has_small_model: true,
        reply: read_reply,
        returned: Some(read_returned),
        is_unfound,
        failed: describe_failure,
        exit: read_exit,
        belongs_to_agents: true,
        ..CONTRACT
    },
    events: &[
        EventRow::new("pre_run", "RunStart").blocks(),
        EventRow::new("post_run", "RunEnd"),
        EventRow::new("pre_tool_use", "PreToolUse")
            .blocks()
            .rewrites(),
        EventRow::new("post_tool_use", "PostToolUse"),
    ],
    event_name: "/event",
    members: &[
        ("/agent_name", "/agent/name"),
        ("/conversation_id", "/session"),
        ("/prompt", "/prompt"),
        ("/result", "/result"),
        ("/tool_name", "/tool/name"),
        ("/tool_input", "/tool/input"),
        ("/tool_output", "/tool/output"),
        ("/duration_ms", "/tool/durationMs"),
    ],
    complete: |payload, event| {
        if payload["event"] == "pre_run" {
            other_name(payload, "prompt", &["input", "user_prompt"])?;
        }
        let is_about_tool = event["event"]
            .as_str()
            .and_then(spec)
            .is_some_and(|spec| spec.tool);
        if let Some(members) = event.as_object_mut() {
            // Tool events have none.
            if members.get("session").is_some_and(Value::is_null) {
                members.remove("session");
            }
            // A run has no tool. Later editions send its `duration_ms`, which is a tool's here.
            if !is_about_tool {
                members.remove("tool");
            }
        }
        Ok(())
    },
    reply: write_reply,
    files: Some(Files {
        recognises: files::recognises_file,
        marks: &["type", "import_path", "arguments"],
        members: &files::MEMBERS,
        has_such_lists: |dialect, hooks| {
            let mut events = hooks.entries().iter();
            events.any(|event| dialect.rows_named(&event.key).next().is_some())
        },
        form: Some("write it as there, under `agents` and the agent's name"),
        read: |_, root, own, problems| files::read_agents(root, own, problems),
        ..NO_FILES
    }),
    agent: None,
};

/// A matcher is held against the tool's name at those of its own events that are about a tool.
fn matcher_target(event: &str) -> Target {
    match DIALECT.row(event).and_then(|row| spec(row.canonical)) {
        Some(spec) if spec.tool => Target::Member(TOOL_NAME),
        _ => Target::Nothing,
    }
}

/// The payload of a hook. Functions take these members as keywords, so every one of them is there,
/// even if another system's client sent the event.
fn write_payload(event: &Event) -> Value {
    let mut payload = DIALECT.write_event(event);
    let members: &[(&str, Value)] = match &*event.name {
        "RunStart" => &[("prompt", json!(""))],
        "RunEnd" => &[("prompt", json!("")), ("result", Value::Null)],
        "PreToolUse" => &[("tool_input", json!({}))],
        "PostToolUse" => &[
            ("tool_input", json!({})),
            ("tool_output", Value::Null),
            ("duration_ms", json!(0.0)),
        ],
        _ => &[],
    };
    let common = [("agent_name", json!("")), ("conversation_id", Value::Null)];
    if let Value::Object(payload) = &mut payload {
        for (name, value) in common.iter().chain(members) {
            payload.entry(*name).or_insert_with(|| value.clone());
        }
    }
    payload
}

fn command_environment(_: &Event, cwd: &Path) -> Vec<(String, String)> {
    let dir = std::env::var("PROJECT_DIR").unwrap_or_else(|_| cwd.to_string_lossy().into_owned());
    vec![("PROJECT_DIR".into(), dir)]
}

/// The placeholders that a prompt may have.
const VALUES: [&str; 7] = [
    "INPUT",
    "TOOL_NAME",
    "TOOL_INPUT",
    "TOOL_OUTPUT",
    "AGENT_NAME",
    "PROMPT",
    "EVENT",
];

fn placeholder_value(event: &Event, name: &str) -> Option<Value> {
    let payload = write_payload(event);
    let member = |name: &str, none: Value| payload.get(name).cloned().unwrap_or(none);
    Some(match name {
        "INPUT" => payload,
        "TOOL_INPUT" => member("tool_input", json!({})),
        name => member(&name.to_ascii_lowercase(), json!("")),
    })
}

/// The members of a hook's reply: agentpool's `HookResult`.
const RESULT: [&str; 5] = [
    "decision",
    "reason",
    "modified_input",
    "additional_context",
    "continue_",
];

/// Those of a command's JSON: the same with their second names, and one that has a remark of its
/// own.
const REPLY: [&str; 11] = [
    "decision",
    "reason",
    "modified_input",
    "additional_context",
    "continue",
    "continue_",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
    "additionalContext",
    "hookSpecificOutput",
];

/// The JSON of a command: every member has a second name, and decisions have synonyms. Nothing
/// nested is read.
fn read_reply(event: &Event, value: Value) -> Result<Answer, String> {
    let Value::Object(reply) = value else {
        return Err(unreadable_reply("it is not a JSON object"));
    };
    let either = |first: &str, second: &str| {
        reply
            .get(first)
            .filter(|it| is_true(it))
            .or(reply.get(second))
            .cloned()
    };
    let given = |first: &str, second: &str| reply.get(first).or(reply.get(second)).cloned();
    let decision =
        either("decision", "permissionDecision").map(|decision| match decision.as_str() {
            Some("approve") => json!(Decision::Allow),
            Some("block") => json!(Decision::Deny),
            _ => decision,
        });
    let members = [
        decision,
        either("reason", "permissionDecisionReason"),
        given("modified_input", "updatedInput"),
        given("additional_context", "additionalContext"),
        given("continue", "continue_"),
    ];
    let said = RESULT
        .into_iter()
        .zip(members)
        .filter_map(|(name, value)| Some((name.to_string(), value?)));
    let mut answer = read_answer(event, said.collect())?;
    answer.remarks.extend(unknown_reply(event, &reply, &REPLY));
    if reply.contains_key("hookSpecificOutput") {
        answer.remarks.push(
            "`hookSpecificOutput` means nothing to agentpool; give its members themselves".into(),
        );
    }
    Ok(answer)
}

/// A function's result.
fn read_returned(event: &Event, value: Value) -> Result<Answer, String> {
    let decide = |decision: Decision| Map::from_iter([("decision".to_string(), json!(decision))]);
    let mut remark = None;
    let said = match value {
        Value::Null => Map::new(),
        Value::Bool(true) => decide(Decision::Allow),
        Value::Bool(false) => decide(Decision::Deny),
        Value::String(text) => Map::from_iter([("additional_context".to_string(), json!(text))]),
        Value::Object(mut members) => {
            remark = unknown_reply(event, &members, &RESULT);
            members.retain(|name, _| RESULT.contains(&name.as_str()));
            members
        }
        Value::Number(_) | Value::Array(_) => {
            remark = Some(
                "it returned neither a dict, a text, a bool nor None, which counts as allow"
                    .to_string(),
            );
            Map::new()
        }
    };
    let mut answer = read_answer(event, said)?;
    answer.remarks.extend(remark);
    Ok(answer)
}

fn read_answer(event: &Event, said: Map<String, Value>) -> Result<Answer, String> {
    let mut answer = Answer::default();
    let mut unfit = |name: &str, what: &str| {
        answer
            .remarks
            .push(format!("`{name}` of its reply is not {what}"))
    };
    let mut text = |name: &str| match said.get(name).filter(|it| is_true(it)) {
        None => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => {
            unfit(name, "a text");
            None
        }
    };
    answer.reason = text("reason");
    answer.additional_context = text("additional_context").into_iter().collect();
    let mut rewrite = None;
    match said
        .get("modified_input")
        .filter(|modified_input| is_true(modified_input))
    {
        Some(Value::Object(changes)) => rewrite = Some(changes),
        Some(_) => unfit("modified_input", "an object"),
        None => {}
    }
    if let Some(decision) = said.get("decision").filter(|decision| is_true(decision)) {
        // It has no word for `defer`.
        answer.decision = decision
            .as_str()
            .and_then(Decision::from_word)
            .filter(|it| *it != Decision::Defer);
        if answer.decision.is_none() {
            unfit("decision", "`allow`, `deny` or `ask`, and counts as allow");
        }
    }
    if said.get("continue_") == Some(&Value::Bool(false)) {
        answer.stop = Some(answer.reason.clone().unwrap_or_default());
    }
    // agentpool reads it at every event, and obeys it here.
    match rewrite {
        Some(changes) if &*event.name == "PreToolUse" => {
            let mut input = event
                .subject()
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default();
            input.extend(changes.clone());
            answer.subject = Some(Value::Object(input));
        }
        Some(_) => answer
            .remarks
            .push("`modified_input` counts only at pre_tool_use: nothing is changed".into()),
        None => {}
    }
    answer.said = Some(Value::Object(said));
    Ok(answer)
}

/// Python's truth.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// 0 is fine, 2 is a deny, anything else failed and decides nothing.
fn read_exit(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    match exit.code {
        Some(0) => read_stdout(event, exit.stdout.trim()),
        Some(2) => {
            let reason = text_or(exit.stderr.trim(), "Hook denied the operation");
            let said = [
                ("decision".into(), json!(Decision::Deny)),
                ("reason".into(), json!(reason)),
            ];
            read_answer(event, Map::from_iter(said))
        }
        Some(_) | None => Err(bad_exit(exit)),
    }
}

fn read_stdout(event: &Event, stdout: &str) -> Result<Answer, String> {
    match hookwire_base::support::json::parse(stdout) {
        _ if stdout.is_empty() => read_answer(event, Map::new()),
        Ok(value @ Value::Object(_)) => read_reply(event, value),
        Ok(_) => Err("read the reply on stdout: it is JSON, but not an object".into()),
        // JSON that can be read in two ways.
        Err(error) if serde_json::from_str::<IgnoredAny>(stdout).is_ok() => {
            Err(format!("read the reply on stdout: {error}"))
        }
        Err(error) => {
            let mut answer = read_answer(
                event,
                Map::from_iter([("additional_context".into(), json!(stdout))]),
            )?;
            if stdout.starts_with('{') {
                answer.remarks.push(format!(
                    "its stdout begins like JSON, but is only a text: {error}"
                ));
            } else if ["decision", "permissionDecision"]
                .iter()
                .any(|it| stdout.contains(&format!("\"{it}\"")))
            {
                let remark =
                    "its stdout tells of a decision, but is only a text; print the JSON alone";
                answer.remarks.push(remark.into());
            }
            Ok(answer)
        }
    }
}

/// There a hook whose module can't be imported lets everything pass, and nobody is told that the
/// guard isn't there.
fn is_unfound(error: &str) -> bool {
    [
        "`: can't import it: ",
        "ModuleNotFoundError",
        "No module named",
    ]
    .iter()
    .any(|it| error.contains(it))
}

/// agentpool gives the error of a function or a prompt as a reason, that of a command to the log
/// only.
fn describe_failure(kind: &str, error: &str) -> Option<Value> {
    let reason = match kind {
        "callable" => error.split_once("`: ").map_or(error, |(_, error)| error),
        "callback" => error.strip_prefix("call back: ").unwrap_or(error),
        "prompt" => error,
        _ => return None,
    };
    Some(json!({ "reason": reason }))
}

fn write_reply(event: &Event, verdict: &Verdict) -> Value {
    let mut decision = verdict.decision;
    let mut reasons: Vec<&str> = verdict.outcomes.iter().filter_map(given_reason).collect();
    // Where no hook decided this, the host did, for its client, or a person.
    if verdict
        .outcomes
        .iter()
        .filter_map(|outcome| outcome.decision)
        .max()
        .unwrap_or(Decision::Allow)
        != decision
    {
        reasons = verdict.reason.as_deref().into_iter().collect();
    }
    let said = || {
        verdict
            .outcomes
            .iter()
            .filter_map(|outcome| outcome.said.as_ref())
    };
    let mut changes = Map::new();
    let mut refusals = Vec::new();
    let row = DIALECT.row(&event.name);
    if verdict
        .outcomes
        .iter()
        .any(|outcome| outcome.rewrote && outcome.said.is_none())
        && let (Some(after), Some("pre_tool_use")) = (&verdict.subject, row.map(|row| row.name))
    {
        // Hooks of another vocabulary rewrote too: what came of it all.
        match (event.subject().unwrap_or(&Value::Null), after) {
            (before @ (Value::Object(_) | Value::Null), Value::Object(after)) => {
                let members = before.as_object().into_iter().flatten();
                let lost = members
                    .map(|(key, _)| key)
                    .find(|key| !after.contains_key(*key));
                refusals.extend(lost.map(|key| {
                    format!(
                        "a hook took `{key}` out of the input, and the client can only set members"
                    )
                }));
                let changed = after
                    .iter()
                    .filter(|(key, value)| before.get(key) != Some(value));
                changes.extend(changed.map(|(key, value)| (key.clone(), value.clone())));
            }
            _ => refusals.push(
                "a hook rewrote the input as a whole, and the client can only set members".into(),
            ),
        }
    } else {
        for modified in said().filter_map(|said| said.get("modified_input")?.as_object()) {
            changes.extend(modified.clone());
        }
    }
    // agentpool ignores `continue_`, which its own hooks know; hooks of other vocabularies mean
    // their stop.
    if row.is_some_and(|row| row.blocks)
        && let Some(why) = foreign_stop(verdict)
        && decision != Decision::Deny
    {
        refusals.push(text_or(why, "a hook ended the run"));
    }
    if !refusals.is_empty() {
        decision = Decision::Deny;
        reasons.extend(refusals.iter().map(String::as_str));
    }
    let mut reply = Map::from_iter([("decision".to_string(), json!(decision))]);
    let mut put = |name: &str, value: Value| drop(reply.insert(name.to_string(), value));
    if !reasons.is_empty() {
        put("reason", json!(reasons.join("; ")));
    }
    if !changes.is_empty() {
        put("modified_input", Value::Object(changes));
    }
    if !verdict.additional_context.is_empty() {
        put(
            "additional_context",
            json!(verdict.additional_context.join("\n")),
        );
    }
    if verdict.stop.is_some() {
        put("continue_", json!(false));
    }
    Value::Object(reply)
}

/// Why a hook of another vocabulary, or the host, ends the run.
fn foreign_stop(verdict: &Verdict) -> Option<&str> {
    let is_own = |outcome: &Outcome| {
        outcome
            .said
            .as_ref()
            .is_some_and(|said| said.get("continue_") == Some(&Value::Bool(false)))
    };
    let mut foreign = verdict
        .outcomes
        .iter()
        .filter(|outcome| !is_own(outcome))
        .filter_map(|outcome| outcome.stop.as_deref());
    let other = verdict
        .stop
        .as_deref()
        .filter(|_| !verdict.outcomes.iter().any(is_own));
    foreign.next().or(other)
}

/// The reason that a hook itself gave; that of a failed hook, which says no decision, counts only
/// if the failure decided something.
fn given_reason(outcome: &Outcome) -> Option<&str> {
    let text = match &outcome.said {
        _ if matches!(outcome.status, Status::Skipped | Status::Started) => None,
        Some(said)
            if outcome.error.is_none()
                || outcome.decision.is_none()
                || said.get("decision").is_some() =>
        {
            said.get("reason")?.as_str()
        }
        _ => outcome
            .decision
            .and(outcome.reason.as_deref().or(outcome.error.as_deref())),
    };
    text.filter(|text| !text.is_empty())
}
