//! The hooks of instructor-php's agents (`packages/agents`): ten triggers of an agent loop, a
//! `HookContext` that every hook gets and gives back changed, guards that signal a stop.
//!
//! A context is JSON here. A hook returns the whole of it or only what it changes: what is absent
//! or null stays, members of `metadata` and of the state are set one by one, and what was signalled
//! or blocked can't be taken back.

mod files;

use super::other_name;
use crate::native::CONTRACT;
use crate::replies::{bad_exit, unreadable_reply};
use crate::{Dialect, Files, NO_FILES, named_row};
use hookwire_base::event::{BLOCKED as MARK, CONTEXT_MEMBERS, Event, merge_patch, set_pointer};
use hookwire_base::support::amounts::rfc3339;
use hookwire_base::support::json::whole;
use hookwire_base::support::nearest::{closest, did_you_mean, differ_in_number};
use hookwire_base::verdict::{Answer, Decision, Outcome, StopReason, StopSignal, Verdict};
use hookwire_rules::contract::{Composition, Contract, Exit, Fail, Tally};
use hookwire_rules::matching::ToolNaming;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::SystemTime;

/// A finished call has its tool within the execution.
const EXECUTED: &[(&str, &str)] = &[
    ("/toolExecution/toolCall/name", "/tool/name"),
    ("/toolExecution/toolCall/id", "/tool/callId"),
    ("/toolExecution/toolCall/arguments", "/tool/input"),
];

pub(super) static DIALECT: Dialect = Dialect {
    about: "instructor-php agents, as of 2.x",
    contract: Contract {
        dialect: "instructor",
        composition: Composition::Middleware,
        has_one_list: true,
        // What has ended can't be kept from it, and doesn't go on.
        event_name: |event| DIALECT.name_of(event),
        takes_no: |event| !matches!(event, "Stop" | "RunEnd" | "RunError"),
        tool_naming: ToolNaming::Own,
        // An exception of a hook breaks the run there.
        gates_fail: Fail::Closed,
        decisions: &[],
        context: &CONTEXT_MEMBERS,
        payload: write_context,
        reply: read_reply,
        exit: read_exit,
        trace: Some(trace_patch),
        tally: Some(read_tally),
        ..CONTRACT
    },
    events: &[
        named_row("before_execution", &["BeforeExecution"], "RunStart"),
        named_row("before_step", &["BeforeStep"], "StepStart"),
        named_row(
            "before_inference_request",
            &["BeforeInferenceRequest"],
            "PreModelCall",
        )
        .rewrites(),
        named_row(
            "after_inference_response",
            &["AfterInferenceResponse"],
            "PostModelCall",
        )
        .rewrites(),
        named_row("before_tool_use", &["BeforeToolUse"], "PreToolUse")
            .blocks()
            .rewrites(),
        named_row("after_tool_use", &["AfterToolUse"], "PostToolUseFailure")
            .rewrites()
            .members(EXECUTED)
            .picks(has_failed),
        named_row("after_tool_use", &["AfterToolUse"], "PostToolUse")
            .rewrites()
            .members(EXECUTED),
        named_row("after_step", &["AfterStep"], "StepEnd"),
        named_row("on_stop", &["OnStop"], "Stop"),
        named_row("after_execution", &["AfterExecution"], "RunEnd"),
        named_row("on_error", &["OnError"], "RunError"),
    ],
    event_name: "/triggerType",
    members: &[
        // Without what has a place of its own, below.
        ("/state", "/state"),
        ("/state/metadata", "/metadata"),
        ("/state/systemPrompt", "/systemPrompt"),
        ("/state/messages", "/messages"),
        ("/state/responseFormat", "/responseFormat"),
        ("/toolCall/name", "/tool/name"),
        ("/toolCall/id", "/tool/callId"),
        ("/toolCall/arguments", "/tool/input"),
        ("/toolExecution/result", "/tool/output"),
        ("/toolExecution/error", "/tool/error"),
        ("/inferenceRequest", "/model/request"),
        ("/inferenceResponse", "/model/response"),
        ("/errorList", "/errors"),
        ("/metadata", "/eventMetadata"),
        ("/updatedAt", "/updatedAt"),
    ],
    complete: |theirs, ours| {
        check_count(theirs)?;
        complete_event(theirs, ours);
        Ok(())
    },
    files: Some(Files {
        recognises: files::recognises_file,
        members: &files::CAPABILITIES,
        read: files::read_capabilities,
        ..NO_FILES
    }),
    reply: write_reply,
    agent: None,
};

/// The members of a context; a client may have others, which pass through.
const MEMBERS: [&str; 14] = [
    "triggerType",
    "state",
    "toolCall",
    "toolExecution",
    "errorList",
    "metadata",
    "isToolExecutionBlocked",
    "inferenceRequest",
    "inferenceResponse",
    "stopSignals",
    "createdAt",
    "updatedAt",
    "hooksExecuted",
    "hasErrors",
];

/// Members of the state that mean something here.
const STATE: [&str; 9] = [
    "metadata",
    "systemPrompt",
    "messages",
    "responseFormat",
    "stopSignals",
    "stepCount",
    "usage",
    "finishReason",
    "executionStartedAt",
];

/// Members of the state that have a place of their own in an event.
const OWN_PLACES: [&str; 4] = ["metadata", "systemPrompt", "messages", "responseFormat"];

const BLOCKED: &str = "ToolExecutionBlockedException";

fn has_failed(payload: &Value) -> bool {
    let error = payload.pointer("/toolExecution/error");
    error.is_some_and(|error| !error.is_null() && error != "")
}

fn is_post_tool(event: &Event) -> bool {
    matches!(&*event.name, "PostToolUse" | "PostToolUseFailure")
}

/// Refuses a count of steps that can't be read: a guard would count its own events instead, and
/// stop too late.
fn check_count(theirs: &Value) -> Result<(), String> {
    let state = &theirs["state"];
    other_name(state, "stepCount", &["step_count", "stepcount"])
        .map_err(|error| format!("`state`: {error}"))?;
    match state.get("stepCount").filter(|it| !it.is_null()) {
        Some(steps) if read_count(steps).is_none() => {
            Err("`state.stepCount` is not a whole number".into())
        }
        Some(_) | None => Ok(()),
    }
}

/// A count, however PHP writes it.
fn read_count(value: &Value) -> Option<u64> {
    whole(value).or_else(|| value.as_str()?.trim().parse().ok())
}

/// Completes the native event with what the tables can't say of a context.
fn complete_event(theirs: &Value, ours: &mut Value) {
    if let Some(ours) = ours.as_object_mut() {
        // As `tool` and `state`; of what was said about an earlier event, nothing.
        let twice = [
            "toolCall",
            "toolExecution",
            "isToolExecutionBlocked",
            "stopSignals",
            "hooksExecuted",
        ];
        twice.iter().for_each(|key| drop(ours.remove(*key)));
        if theirs.get("errorList").is_none() {
            ours.remove("errors");
        }
    }
    if let Some(state) = ours.get_mut("state").and_then(Value::as_object_mut) {
        OWN_PLACES.iter().for_each(|key| drop(state.remove(*key)));
    }
    // There null means absent, and PHP writes an empty map as an empty list.
    let empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    for key in [
        "metadata",
        "eventMetadata",
        "systemPrompt",
        "messages",
        "responseFormat",
        "errors",
    ] {
        if ours
            .get(key)
            .is_some_and(|value| value.is_null() || key.ends_with("etadata") && empty(value))
            && let Some(ours) = ours.as_object_mut()
        {
            ours.remove(key);
        }
    }
    let event = ours["event"].as_str().unwrap_or_default().to_string();
    let within_step = [
        "StepStart",
        "PreModelCall",
        "PostModelCall",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
    ];
    let is_tool = event.contains("ToolUse");
    if is_tool {
        // As the library itself writes an execution.
        for (key, pointer) in [
            ("name", "/tool/name"),
            ("id", "/tool/callId"),
            ("arguments", "/tool/input"),
        ] {
            if let Some(value) = theirs
                .pointer("/toolExecution/tool_call")
                .and_then(|call| call.get(key))
                && ours.pointer(pointer).is_none()
            {
                set_pointer(ours, pointer, value.clone());
            }
        }
        if ours.pointer("/tool/input").is_some_and(empty) {
            set_pointer(ours, "/tool/input", json!({}));
        }
        match ours.get_mut("tool") {
            Some(Value::Object(tool)) => {
                for key in ["callId", "error"] {
                    if tool
                        .get(key)
                        .is_some_and(|value| value.is_null() || value == "")
                    {
                        tool.remove(key);
                    }
                }
            }
            // Reported as missing, because otherwise every guard of a tool would pass it.
            Some(_) | None => ours["tool"] = json!({}),
        }
    }
    let state = |key: &str| {
        theirs
            .get("state")
            .and_then(|state| state.get(key))
            .filter(|it| !it.is_null())
    };
    for (key, pointer) in [
        ("sessionId", "/session"),
        ("executionId", "/run"),
        ("parentExecutionId", "/parentRun"),
        ("agentName", "/agent/name"),
        ("parentAgentId", "/agent/parent"),
        ("finishReason", "/model/finishReason"),
    ] {
        if let Some(text) = state(key).filter(|it| it.is_string()) {
            set_pointer(ours, pointer, text.clone());
        }
    }
    // An agent that names no session is one, and one that has no name goes by its identifier.
    for pointer in ["/session", "/agent/name"] {
        if let Some(id) = state("agentId").filter(|it| it.is_string())
            && ours.pointer(pointer).is_none()
        {
            set_pointer(ours, pointer, id.clone());
        }
    }
    // So is the agent that started it.
    if let Some(parent) =
        state("parentAgentId").filter(|it| it.is_string() && state("sessionId").is_none())
    {
        ours["parentSession"] = parent.clone();
    }
    let steps = state("stepCount")
        .and_then(read_count)
        .filter(|_| within_step.contains(&&*event));
    if let Some(step) = state("currentStep")
        .and_then(Value::as_u64)
        .or(steps.map(|steps| steps.saturating_add(1)))
    {
        ours["step"] = step.into();
    }
    // Of this call; what the state tells is of all.
    for (theirs_key, key) in [("input", "inputTokens"), ("output", "outputTokens")] {
        let usage = theirs.pointer("/inferenceResponse/usage");
        if let Some(tokens) = usage.and_then(|usage| usage.get(key).or(usage.get(theirs_key))) {
            set_pointer(ours, &format!("/model/usage/{key}"), tokens.clone());
        }
    }
    if let Some(reason) = theirs
        .pointer("/inferenceResponse/finishReason")
        .filter(|it| it.is_string())
    {
        set_pointer(ours, "/model/finishReason", reason.clone());
    }
    let last = |role: &str| {
        let messages = state("messages")?.as_array()?;
        messages
            .iter()
            .rfind(|message| message["role"] == role)?
            .get("content")
            .cloned()
    };
    let (pointer, value) = match &*event {
        "RunStart" => ("prompt", last("user")),
        "StepEnd" | "Stop" => ("lastMessage", last("assistant")),
        "RunEnd" => ("result", last("assistant")),
        "RunError" => (
            "error",
            theirs
                .pointer("/errorList")
                .and_then(|it| it.as_array()?.last().cloned()),
        ),
        _ => return,
    };
    if let Some(value) = value
        && ours.get(pointer).is_none()
    {
        ours[pointer] = value;
    }
}

/// A context as its hooks read it.
fn write_context(event: &Event) -> Value {
    let mut context = DIALECT.write_event(event);
    let mut default = |pointer: &str, value: Value| {
        if context.pointer(pointer).is_none_or(Value::is_null) {
            set_pointer(&mut context, pointer, value);
        }
    };
    for pointer in ["/state", "/state/metadata", "/metadata"] {
        default(pointer, json!({}));
    }
    default("/errorList", json!([]));
    if is_post_tool(event) && event.at("/tool/error").is_none() {
        // A hook has turned the failure into a success.
        set_pointer(&mut context, "/toolExecution/error", Value::Null);
    }
    let blocked = block_reason(event);
    if blocked.is_none()
        && DIALECT.original_payload(event).is_none()
        && &*event.name == "PreToolUse"
    {
        // No hook blocked it, so a hook that returns such an exception means it.
        let errors = context["errorList"].as_array_mut();
        errors
            .into_iter()
            .for_each(|errors| errors.retain(|error| error["type"] != BLOCKED));
    }
    context["hasErrors"] = context["errorList"]
        .as_array()
        .is_some_and(|errors| !errors.is_empty())
        .into();
    context["isToolExecutionBlocked"] = blocked.is_some().into();
    if let Some(message) = blocked {
        let call = context.get("toolCall").cloned().unwrap_or_default();
        context["toolExecution"] =
            json!({"toolCall": call, "result": null, "error": message, "blocked": true});
    }
    context
}

/// Why a tool is blocked, if it is: by a hook before, or since the context arrived so.
fn block_reason(event: &Event) -> Option<String> {
    if let Some(message) = event.text(&format!("/{MARK}")) {
        return Some(message.to_string());
    }
    let theirs = DIALECT
        .original_payload(event)
        .filter(|_| event.name.contains("ToolUse"))?;
    let errors = theirs
        .get("errorList")
        .and_then(Value::as_array)
        .filter(|_| &*event.name == "PreToolUse");
    let exception = errors.and_then(|errors| errors.iter().find(|error| error["type"] == BLOCKED));
    if theirs.get("isToolExecutionBlocked") != Some(&Value::Bool(true)) && exception.is_none() {
        return None;
    }
    let message = theirs.pointer("/toolExecution/error").and_then(error_text);
    Some(
        message
            .or_else(|| exception.and_then(error_text))
            .unwrap_or_default(),
    )
}

fn error_text(error: &Value) -> Option<String> {
    error
        .as_str()
        .or_else(|| error.get("message")?.as_str())
        .map(str::to_string)
}

fn expect_object<'v>(value: &'v Value, what: &str) -> Result<&'v Map<String, Value>, String> {
    value
        .as_object()
        .ok_or_else(|| unreadable_reply(format_args!("`{what}` is not an object")))
}

/// Reads a reply by comparing it with the context that the hook was given.
fn read_reply(event: &Event, reply: Value) -> Result<Answer, String> {
    let reply = reply
        .as_object()
        .ok_or_else(|| unreadable_reply("it is not a HookContext, a JSON object"))?;
    let given = write_context(event);
    let mut answer = Answer::default();
    let mut patch = Map::new();
    let mut blocks = false;
    for (key, value) in reply {
        if !MEMBERS.contains(&key.as_str()) && given.get(key).is_none() {
            let nearest = did_you_mean(closest(key, MEMBERS));
            return Err(unreadable_reply(format_args!(
                "a HookContext has no `{key}`{nearest}"
            )));
        }
        let before = given.get(key).unwrap_or(&Value::Null);
        // Of a context that arrived blocked, no hook has said so yet.
        let says_no =
            key == "isToolExecutionBlocked" && event.data().get(MARK).is_none() && *value == true;
        if says_no && before == true && &*event.name == "PreToolUse" {
            answer.reason = answer.reason.or_else(|| block_reason(event));
            blocks = true;
        }
        if value.is_null() || value == before {
            continue;
        }
        match (key.as_str(), &*event.name) {
            ("state", _) => read_state(
                expect_object(value, "state")?,
                before,
                &mut patch,
                &mut answer,
            )?,
            ("stopSignals", _) => read_signals(value, &given["state"]["stopSignals"], &mut answer)?,
            ("metadata", _) => set(
                &mut patch,
                "eventMetadata",
                changed_entries(expect_object(value, "metadata")?, before),
            ),
            ("errorList", _) => {
                let errors = value
                    .as_array()
                    .ok_or_else(|| unreadable_reply("`errorList` is not a list"))?;
                patch.insert("errors".into(), value.clone());
                // An exception of this kind blocks, flag or no flag.
                let new = errors
                    .iter()
                    .find(|error| error["type"] == BLOCKED && !contains_item(before, error));
                if let Some(new) = new.filter(|_| &*event.name == "PreToolUse") {
                    blocks = true;
                    let text = error_text(new).unwrap_or_default();
                    answer.reason = Some(
                        text.split_once(" was blocked: ")
                            .map_or(&*text, |(_, it)| it)
                            .to_string(),
                    );
                }
            }
            ("isToolExecutionBlocked", name) => match value {
                Value::Bool(true) if name == "PreToolUse" => blocks = true,
                Value::Bool(true) => {
                    answer.remarks.push(format!(
                        "it blocks a tool at {}, where none can be blocked",
                        DIALECT.name_of(event)
                    ));
                }
                // Once blocked, it stays so.
                Value::Bool(false) => {}
                _ => {
                    return Err(unreadable_reply(
                        "`isToolExecutionBlocked` is not true or false",
                    ));
                }
            },
            ("toolCall", "PreToolUse") => {
                let call = expect_object(value, "toolCall")?;
                let changed = |key: &str| {
                    call.get(key)
                        .filter(|it| !it.is_null() && **it != before[key])
                };
                let mut tool = Map::new();
                for (theirs, ours) in [("name", "name"), ("id", "callId")] {
                    if let Some(value) = changed(theirs) {
                        tool.insert(ours.into(), value.clone());
                    }
                }
                set(&mut patch, "tool", tool);
                answer.subject = changed("arguments").cloned();
            }
            ("toolExecution", "PreToolUse") => {
                // Without a block, an execution before the call is not a result.
                let message = expect_object(value, "toolExecution")?
                    .get("error")
                    .and_then(error_text);
                if let Some(message) = message.filter(|message| before["error"] != **message) {
                    blocks |= given["isToolExecutionBlocked"] == true;
                    answer.reason = Some(message);
                }
            }
            ("toolExecution", "PostToolUse" | "PostToolUseFailure") => {
                let execution = expect_object(value, "toolExecution")?;
                let changed = |key: &str| {
                    execution
                        .get(key)
                        .filter(|it| !it.is_null() && **it != before[key])
                };
                // It is either a success or a failure.
                let error = match (changed("error"), changed("result")) {
                    (Some(error), _) => {
                        answer.subject = Some(Value::Null);
                        error.clone()
                    }
                    (None, Some(result)) => {
                        answer.subject = Some(result.clone());
                        Value::Null
                    }
                    (None, None) => continue,
                };
                if error != before["error"] {
                    set(
                        &mut patch,
                        "tool",
                        Map::from_iter([("error".to_string(), error)]),
                    );
                }
            }
            ("inferenceRequest", "PreModelCall") | ("inferenceResponse", "PostModelCall") => {
                answer.subject = Some(value.clone());
            }
            // The rest belongs to the loop, or not to this event.
            _ => {}
        }
    }
    match blocks {
        true => answer.decision = Some(Decision::Deny),
        false => answer.reason = None,
    }
    answer.context = (!patch.is_empty()).then_some(Value::Object(patch));
    answer.stop = answer
        .signals
        .first()
        .map(|signal| signal.text().to_string());
    Ok(answer)
}

fn read_state(
    state: &Map<String, Value>,
    given: &Value,
    patch: &mut Map<String, Value>,
    answer: &mut Answer,
) -> Result<(), String> {
    let mut others = Map::new();
    for (key, value) in state {
        let before = &given[key];
        if value.is_null() || value == before {
            continue;
        }
        match key.as_str() {
            "metadata" => set(
                patch,
                key,
                changed_entries(expect_object(value, "state.metadata")?, before),
            ),
            "systemPrompt" if !value.is_string() => {
                return Err(unreadable_reply("`state.systemPrompt` is not a string"));
            }
            "messages" if !value.is_array() => {
                return Err(unreadable_reply("`state.messages` is not a list"));
            }
            "systemPrompt" | "messages" | "responseFormat" => {
                drop(patch.insert(key.clone(), patch_between(before, value)))
            }
            "stopSignals" => read_signals(value, before, answer)?,
            key if given.get(key).is_none() && !STATE.contains(&key) => {
                if let Some(complaint) = describe_misplaced(key) {
                    return Err(unreadable_reply(complaint));
                }
                others.insert(key.to_string(), value.clone());
            }
            _ => drop(others.insert(key.clone(), patch_between(before, value))),
        }
    }
    set(patch, "state", others);
    Ok(())
}

/// What is wrong with a new member of the state, to which an agent may add what it likes: a name
/// that is nearly one of its own, or that blocks a tool in the context.
fn describe_misplaced(key: &str) -> Option<String> {
    if ["isToolExecutionBlocked", "toolExecution", "errorList"].contains(&key) {
        return Some(format!("`{key}` stands beside the state, not in it"));
    }
    let meant = closest(key, STATE)
        .filter(|meant| meant.len().abs_diff(key.len()) < 3 && !differ_in_number(key, meant))?;
    Some(format!("a state has no `{key}`; did you mean `{meant}`?"))
}

/// The signals that a hook has added; those that it left out stay.
fn read_signals(signals: &Value, before: &Value, answer: &mut Answer) -> Result<(), String> {
    let signals = signals
        .as_array()
        .ok_or_else(|| unreadable_reply("`stopSignals` is not a list"))?;
    for (n, signal) in signals
        .iter()
        .enumerate()
        .filter(|(_, signal)| !contains_item(before, signal))
    {
        let signal = StopSignal::deserialize(signal);
        let signal = signal
            .map_err(|error| unreadable_reply(format_args!("`stopSignals[{n}]`: {error}")))?;
        if !answer.signals.contains(&signal) {
            answer.signals.push(signal);
        }
    }
    Ok(())
}

fn contains_item(list: &Value, item: &Value) -> bool {
    list.as_array().is_some_and(|list| list.contains(item))
}

/// Adds members to a member of a patch.
fn set(patch: &mut Map<String, Value>, key: &str, members: Map<String, Value>) {
    if !members.is_empty()
        && let Value::Object(present) = patch.entry(key).or_insert_with(|| json!({}))
    {
        present.extend(members);
    }
}

/// The entries that were set; the others stay.
fn changed_entries(after: &Map<String, Value>, before: &Value) -> Map<String, Value> {
    let changed = after
        .iter()
        .filter(|(key, value)| before.get(key) != Some(value));
    changed
        .map(|(key, value)| (key.clone(), patch_between(&before[key], value)))
        .collect()
}

/// A merge patch that makes one value another. As deep as the parser let them be.
fn patch_between(before: &Value, after: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return after.clone();
    };
    let gone = before
        .keys()
        .filter(|key| !after.contains_key(*key))
        .map(|key| (key.clone(), Value::Null));
    let changed = after
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(value));
    let changed = changed.map(|(key, value)| match before.get(key) {
        Some(present) => (key.clone(), patch_between(present, value)),
        None => (key.clone(), value.clone()),
    });
    gone.chain(changed).collect()
}

/// A command is no hook of that system: it gives a context back on stdout, or nothing if it changes
/// none. Any other end than with 0 is what an exception is there.
fn read_exit(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    match exit.code {
        Some(0) if exit.stdout.trim().is_empty() => Ok(Answer::default()),
        Some(0) => {
            let reply = hookwire_base::support::json::parse(exit.stdout)
                .map_err(|error| unreadable_reply(format_args!("stdout: {error}")))?;
            read_reply(event, reply)
        }
        Some(_) | None => Err(bad_exit(exit)),
    }
}

/// The marks of a block in the context: the message, and one error in the place of all.
fn block_patch(event: &Event, message: Option<&str>) -> Value {
    let tool = event.tool_name().unwrap_or_default();
    let arguments = event
        .at("/tool/input")
        .map_or("{}".into(), Value::to_string);
    let message = message.filter(|message| !message.is_empty()).map(str::to_string).unwrap_or_else(|| {
        let errors = event.at("/errors").and_then(Value::as_array).map_or(0, Vec::len);
        format!(
            "Execution blocked by hook: HookContext(triggerType=BeforeToolUse, toolCall={tool}({arguments}), \
             toolExecution=null, errors={errors})"
        )
    });
    let error = format!("Tool call to '{tool}' ({arguments}) was blocked: {message}");
    json!({MARK: message, "errors": [{"type": BLOCKED, "message": error}]})
}

/// A merge patch that shows a block and signals to later hooks.
fn trace_patch(event: &Event, answer: &Answer) -> Option<Value> {
    let mut patch = json!({});
    let denies = answer.decision == Some(Decision::Deny);
    let stop = foreign_stop(answer.stop.as_deref(), &answer.signals);
    if (denies || stop.is_some()) && &*event.name == "PreToolUse" {
        patch = block_patch(
            event,
            if denies {
                answer.reason.as_deref()
            } else {
                stop
            },
        );
    }
    if !answer.signals.is_empty() {
        patch["state"] = json!({"stopSignals": all_signals(event, &answer.signals)});
    }
    let unchanged = answer.subject.is_none() && answer.context.is_none() && patch == json!({});
    if unchanged {
        return None;
    }
    patch["updatedAt"] = rfc3339(SystemTime::now()).into();
    Some(patch)
}

/// The word of another vocabulary that ends a run. There it keeps the tool from running, what a
/// signal doesn't.
fn foreign_stop<'a>(stop: Option<&'a str>, signals: &[StopSignal]) -> Option<&'a str> {
    stop.filter(|stop| !signals.iter().any(|signal| signal.text() == *stop))
}

/// Those of the state and new ones.
fn all_signals(event: &Event, new: &[StopSignal]) -> Vec<Value> {
    let present = event
        .at("/state/stopSignals")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    present
        .into_iter()
        .chain(new.iter().filter_map(|it| serde_json::to_value(it).ok()))
        .collect()
}

/// The counts of the execution so far, from the state.
fn read_tally(event: &Event) -> Tally {
    let usage = |key: &str| {
        event
            .at("/state/usage")
            .and_then(|usage| usage.get(key))
            .and_then(read_count)
    };
    Tally {
        steps: event.at("/state/stepCount").and_then(read_count),
        tokens: usage("total")
            .or_else(|| Some(usage("input").unwrap_or(0).saturating_add(usage("output")?))),
        started_ms: event.at("/state/executionStartedAt").and_then(since_1970),
        now_ms: event.at("/createdAt").and_then(since_1970),
    }
}

/// Of what is no time that a clock could show, nothing.
fn in_millis(seconds: f64) -> Option<u64> {
    (0.0..1e12)
        .contains(&seconds)
        .then(|| (seconds * 1000.0).round() as u64)
}

/// A time in milliseconds: RFC 3339 in any zone, or seconds as PHP's `U.u` has them.
fn since_1970(time: &Value) -> Option<u64> {
    let text = match time {
        Value::String(text) => text.as_str(),
        other => return in_millis(other.as_f64()?),
    };
    if let Ok(seconds) = text.parse::<f64>() {
        return in_millis(seconds);
    }
    let (local, offset) = match text.strip_suffix('Z') {
        Some(local) => (local, 0),
        None => {
            let (local, zone) = text.split_at_checked(text.len().checked_sub(6)?)?;
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
            (
                local,
                if zone.starts_with('-') {
                    -minutes
                } else {
                    minutes
                },
            )
        }
    };
    let time = humantime::parse_rfc3339(&format!("{local}Z"))
        .ok()?
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()?;
    u64::try_from(i64::try_from(time.as_millis()).ok()? - offset * 60_000).ok()
}

/// The changed context, and beside it what came of it: `stopSignals`, the strongest first;
/// `toolResult`, what the model is to read in the place of a result; `hooksExecuted`.
fn write_reply(event: &Event, verdict: &Verdict) -> Value {
    let mut after = event.clone();
    if let Some(patch) = &verdict.context {
        after = after.with_context(patch);
    }
    if let Some(subject) = &verdict.subject {
        after = after.with_subject(subject.clone());
    }
    let denied = verdict.decision == Decision::Deny;
    let is_gate_of_tool = &*event.name == "PreToolUse";
    let mut new = given_signals(verdict);
    let mut refusal = None;
    let stop = verdict
        .outcomes
        .iter()
        .find_map(|outcome| foreign_stop(outcome.stop.as_deref(), &outcome.stop_signals));
    if is_gate_of_tool && (denied || stop.is_some()) {
        let mark = block_patch(
            event,
            if denied {
                verdict.reason.as_deref()
            } else {
                stop
            },
        );
        refusal = mark[MARK].as_str().map(str::to_string);
        // Errors that came after the block stay.
        if !after
            .at("/errors")
            .is_some_and(|errors| contains_item(errors, &mark["errors"][0]))
        {
            after.change(|data| merge_patch(data, &json!({"errors": mark["errors"]})));
        }
        after.change(|data| merge_patch(data, &json!({MARK: mark[MARK]})));
    } else if let Some(message) = block_reason(event).filter(|_| is_gate_of_tool) {
        let mark = block_patch(event, Some(&message));
        refusal = mark[MARK].as_str().map(str::to_string);
        after.change(|data| merge_patch(data, &json!({MARK: mark[MARK]})));
    } else if denied && is_post_tool(event) {
        let reason = verdict
            .reason
            .clone()
            .unwrap_or_else(|| "withheld by a hook".into());
        after.change(|data| set_pointer(data, "/tool/output", Value::Null));
        after.change(|data| set_pointer(data, "/tool/error", reason.clone().into()));
        refusal = Some(reason);
    } else if denied && new.is_empty() && &*event.name != "Stop" {
        // A signal is its only way to deny at these events. At `Stop` none is sent, because the
        // loop ends anyway.
        let source = verdict.decided_by.as_ref().map(ToString::to_string);
        let message = verdict.reason.clone().unwrap_or_default();
        new.push(StopSignal {
            reason: StopReason::StopRequested,
            message,
            context: Map::new(),
            source,
        });
    }
    if let Some(subject) = &verdict.subject {
        write_subject(event, &mut after, subject);
    }
    let all = all_signals(event, &new);
    if !new.is_empty() {
        after.change(|data| set_pointer(data, "/state/stopSignals", all.clone().into()));
    }
    let mut context = match DIALECT.original_payload(event) {
        // No hook changed it.
        Some(original) if after.data() == event.data() => original.clone(),
        Some(_) | None => {
            let ended = verdict
                .outcomes
                .iter()
                .filter_map(|outcome| Some(outcome.times()?.1))
                .max();
            if let Some(ended) = ended {
                after.change(|data| data["updatedAt"] = rfc3339(ended).into());
            }
            let mut context = write_context(&after);
            // A client that sends the subject as a member of its own reads it there again.
            let own = event
                .spec
                .subject
                .map(|subject| subject.trim_start_matches('/'));
            if let (Some(key @ ("lastMessage" | "result")), Some(subject)) = (own, &verdict.subject)
                && context.get(key).is_some()
            {
                context[key] = if subject.is_null() {
                    empty_response(&context[key])
                } else {
                    subject.clone()
                };
            }
            if let Some(original) = DIALECT.original_payload(event) {
                keep_nulls(original, &mut context);
            }
            context
        }
    };
    let mut say = |key: &str, value: Value| {
        if value.as_array().is_none_or(|it| !it.is_empty()) {
            context[key] = value;
        }
    };
    let mut strongest = all;
    strongest.sort_by_key(|value| {
        StopReason::deserialize(&value["reason"]).unwrap_or(StopReason::Unknown)
    });
    say("stopSignals", strongest.into());
    if let Some(message) = refusal {
        say(
            "toolResult",
            json!({"isError": true, "content": format!("Error in tool call: {message}")}),
        );
    }
    say(
        "additionalContext",
        verdict.additional_context.clone().into(),
    );
    say("userMessages", verdict.user_messages.clone().into());
    say(
        "hooksExecuted",
        verdict
            .outcomes
            .iter()
            .filter_map(|outcome| hook_executed(event, outcome))
            .collect(),
    );
    if let Some(context) = context.as_object_mut() {
        // The list says so itself.
        context.remove("hasErrors");
    }
    context
}

/// Puts back members that were sent as null: to hooks null means absent, but PHP reads
/// `$context['toolExecution']`, and an absent member is an error there. Recursion is bounded by the
/// parser's depth limit.
fn keep_nulls(sent: &Value, context: &mut Value) {
    let (Value::Object(sent), Value::Object(context)) = (sent, context) else {
        return;
    };
    for (key, value) in sent {
        match context.get_mut(key) {
            Some(inner) => keep_nulls(value, inner),
            None if value.is_null() => drop(context.insert(key.clone(), Value::Null)),
            None => {}
        }
    }
}

/// Puts an event's new subject where clients of this vocabulary find it. Null means "unchanged"
/// there, so a withheld value is empty instead.
fn write_subject(event: &Event, after: &mut Event, subject: &Value) {
    match event.spec.subject {
        Some("/model/response") if subject.is_null() => {
            let given = event.subject().unwrap_or(&Value::Null);
            after.change(|data| set_pointer(data, "/model/response", empty_response(given)));
        }
        Some("/lastMessage" | "/result") => {
            let last = |event: &Event| {
                let messages = event.at("/messages")?.as_array()?;
                messages
                    .iter()
                    .rposition(|message| message["role"] == "assistant")
            };
            let given = last(event).and_then(|at| event.at("/messages")?.get(at)?.get("content"));
            let is_subject = given.is_some() && given == event.subject();
            let content = match (subject, given) {
                (Value::Null, Some(Value::Array(_))) => json!([]),
                (Value::Null, _) => "".into(),
                (subject, _) => subject.clone(),
            };
            if (is_subject || subject.is_null())
                && let Some(at) = last(after)
            {
                after.change(|data| {
                    if let Some(message) =
                        data["messages"].get_mut(at).and_then(Value::as_object_mut)
                    {
                        message.insert("content".into(), content);
                    }
                });
            }
        }
        Some(_) | None => {}
    }
}

/// A response with nothing in it, in its own shape; why it ended and what it cost stay.
fn empty_response(response: &Value) -> Value {
    let Value::Object(members) = response else {
        return if response.is_string() {
            "".into()
        } else {
            json!({})
        };
    };
    members
        .iter()
        .map(|(key, value)| {
            let value = match (key.as_str(), value) {
                ("finishReason" | "usage", value) => value.clone(),
                (_, Value::String(_)) => "".into(),
                (_, Value::Array(_)) => json!([]),
                (_, Value::Object(_)) => json!({}),
                (_, Value::Null | Value::Bool(_) | Value::Number(_)) => Value::Null,
            };
            (key.clone(), value)
        })
        .collect()
}

/// The signals that hooks of any vocabulary gave at an event.
fn given_signals(verdict: &Verdict) -> Vec<StopSignal> {
    let mut signals: Vec<StopSignal> = Vec::new();
    let asked = |stop: &str| StopSignal {
        reason: StopReason::StopRequested,
        message: stop.to_string(),
        context: Map::new(),
        source: None,
    };
    for outcome in &verdict.outcomes {
        signals.extend(outcome.stop_signals.iter().cloned());
        // Other vocabularies only have words for it.
        if let Some(stop) = foreign_stop(outcome.stop.as_deref(), &signals) {
            signals.push(asked(stop));
        }
        // An exception of a hook breaks the run; so does a hook that fails closed.
        if let (Some(error), Some(Decision::Deny)) = (&outcome.error, outcome.decision) {
            let message = format!("hook `{}` {error}", outcome.hook);
            let source = Some(outcome.hook.to_string());
            signals.push(StopSignal {
                reason: StopReason::Error,
                message,
                context: Map::new(),
                source,
            });
        }
    }
    if let Some(stop) = foreign_stop(verdict.stop.as_deref(), &signals) {
        signals.push(asked(stop));
    }
    signals
}

/// `HookExecuted`, for a hook that returned and not for one that threw.
fn hook_executed(event: &Event, outcome: &Outcome) -> Option<Value> {
    let (start, end) = outcome.times().filter(|_| outcome.error.is_none())?;
    Some(json!({
        "triggerType": DIALECT.name_of(event),
        "hookName": outcome.hook,
        "startedAt": rfc3339(start),
        "completedAt": rfc3339(end),
        "duration_ms": outcome.duration_micros / 1000,
    }))
}
