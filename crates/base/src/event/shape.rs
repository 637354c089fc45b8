//! The shape of a native event: what its members are, for the check of one that arrives and for the
//! schema.

use super::NotAnEvent;
use crate::support::json::without_types;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, Visitor};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The shape of a native event. The members here are checked when one arrives; unknown members
/// pass through to hooks untouched.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename = "Event")]
#[schemars(rename = "Event")]
#[allow(dead_code, reason = "read by the schema and the check only")]
pub struct EventShape {
    /// A canonical event name, or `custom:Anything`.
    event: Text,
    /// The session that the event belongs to.
    session: Option<Text>,
    /// The run: one prompt until the agent rests.
    run: Option<Text>,
    /// The run that started this one: what happens here counts towards it too.
    parent_run: Option<Text>,
    /// The session of `parentRun`, where it is another one than this event's.
    parent_session: Option<Text>,
    /// The iteration of the agent loop, counted from 1.
    step: Option<u64>,
    agent: Option<AgentShape>,
    tool: Option<ToolShape>,
    exec: Option<ExecShape>,
    model: Option<ModelShape>,
    /// What the agent's own policy grants a tool call; hooks see it with what hookwire's adds:
    /// sandbox, timeoutMs, maxOutputBytes, callsLeft.
    grant: Option<Anything>,
    /// The subject of UserPromptSubmit and RunStart.
    prompt: Option<Anything>,
    /// The subject of RunEnd and RunError.
    result: Option<Anything>,
    /// The error of RunError.
    error: Option<Anything>,
    /// The subject of StepEnd, Stop and SubagentStop.
    last_message: Option<Anything>,
    /// Whether a stop hook has already sent the agent back to work.
    stop_active: Option<bool>,
    /// The subject of PreCompact: a hint for the compaction.
    compaction: Option<Anything>,
    /// Absolute path of the agent's working directory; relative paths are taken against it.
    cwd: Option<Text>,
    /// The shell that reads the text of a shell tool: `bash`, `zsh`, `/bin/sh`, `pwsh`.
    shell: Option<Text>,
    /// The conversation so far.
    messages: Option<Vec<Anything>>,
    /// Whatever the agent wants hooks to know; hooks may change it.
    metadata: Option<BTreeMap<Text, Anything>>,
    /// The system prompt, where hooks may change it.
    system_prompt: Option<Text>,
    /// The form of the model's answers, where hooks may change it.
    response_format: Option<Anything>,
    /// How long the whole event may take, in milliseconds.
    deadline_ms: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(expecting = "an object")]
#[schemars(rename = "EventAgent")]
#[allow(dead_code, reason = "read by the schema and the check only")]
struct AgentShape {
    /// The agent's name.
    name: Option<Text>,
    /// The agent that started this one.
    parent: Option<Text>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", expecting = "an object with `name`")]
#[schemars(rename = "EventTool")]
#[allow(dead_code, reason = "read by the schema and the check only")]
struct ToolShape {
    /// The tool's name.
    name: Text,
    /// The call's identifier.
    call_id: Option<Text>,
    /// The subject of PreToolUse and PermissionRequest.
    input: Option<Anything>,
    /// The subject of PostToolUse and PostToolUseFailure.
    output: Option<Anything>,
    /// What went wrong, in PostToolUseFailure.
    error: Option<Anything>,
    /// How long the tool ran, in milliseconds.
    duration_ms: Option<f64>,
}

/// A program that is about to start, in PreExec.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", expecting = "an object with `argv`")]
#[schemars(rename = "EventExec")]
#[allow(dead_code, reason = "read by the schema and the check only")]
struct ExecShape {
    /// Its words, its own name first.
    argv: Vec<Text>,
    /// The file as the caller named it.
    path: Option<Text>,
    /// The file that is run, absolute and without links.
    real_path: Option<Text>,
    /// Its process.
    pid: Option<u64>,
    /// The processes that it comes from, the nearest first: `pid` and `argv` of each. The first
    /// ones have `sameProgram: true` if they certainly run the same program, the nearest has
    /// `realPath` if it is certain what it runs.
    parents: Option<Vec<Anything>>,
    /// The identifier of the event of the tool call that it belongs to, as its verdict had it,
    /// where that is certain.
    tool_call: Option<Text>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[schemars(rename = "EventModel")]
#[allow(dead_code, reason = "read by the schema and the check only")]
struct ModelShape {
    /// The model's name, as its provider writes it.
    name: Option<Text>,
    /// The subject of PreModelCall: messages, tools, parameters.
    request: Option<Anything>,
    /// The subject of PostModelCall.
    response: Option<Anything>,
    /// Token counts: inputTokens, outputTokens.
    usage: Option<Anything>,
    /// Why the model stopped.
    finish_reason: Option<Text>,
    /// The error of ModelCallError.
    error: Option<Anything>,
    /// How many attempts were made, in ModelCallError.
    attempt: Option<u64>,
}

/// Any JSON, looked at and not kept: the check is on the way of every event.
#[derive(Deserialize)]
struct Anything(#[allow(dead_code, reason = "nothing is read of it")] IgnoredAny);

/// A string, looked at and not kept.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Text;

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        struct AnyText;
        impl Visitor<'_> for AnyText {
            type Value = Text;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, _: &str) -> Result<Text, E> {
                Ok(Text)
            }
        }
        deserializer.deserialize_str(AnyText)
    }
}

impl JsonSchema for Anything {
    fn schema_name() -> Cow<'static, str> {
        Value::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Value::json_schema(generator)
    }
}

impl JsonSchema for Text {
    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

pub(super) fn check_shape(data: &Value) -> Result<(), NotAnEvent> {
    if let Err(error) = EventShape::deserialize(data) {
        return Err(NotAnEvent(match misfit(data) {
            Some(member) => format!("`{member}`: {}", without_types(&error)),
            None => without_types(&error),
        }));
    }
    Ok(())
}

/// The top-level member that doesn't fit; found by trying each alone, since this is the error path.
fn misfit(data: &Value) -> Option<String> {
    data.as_object()?
        .iter()
        .find_map(|(key, value)| (!fits(key, value)).then(|| key.clone()))
}

/// Whether a member has the type that it has in an event.
fn fits(key: &str, value: &Value) -> bool {
    let mut alone = Map::new();
    alone.insert("event".into(), Value::String(String::new()));
    alone.insert(key.into(), value.clone());
    EventShape::deserialize(&Value::Object(alone)).is_ok()
}

/// Takes out the members of a type that no event has, and of `agent`, `tool` and `model` only what
/// doesn't fit.
pub fn drop_misfits(data: &mut Value) {
    if check_shape(data).is_ok() {
        return;
    }
    let Some(object) = data.as_object_mut() else {
        return;
    };
    object.retain(|key, value| {
        if let Value::Object(members) = value
            && !fits(key, &Value::Object(members.clone()))
        {
            members.retain(|inner, value| {
                let mut alone = Map::new();
                // It must be there.
                alone.insert("name".into(), "".into());
                alone.insert(inner.clone(), value.take());
                let fits = fits(key, &Value::Object(alone.clone()));
                *value = alone.remove(inner).unwrap_or_default();
                fits
            });
        }
        fits(key, value)
    });
}
