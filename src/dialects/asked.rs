//! What agents' hooks have in common, whether they ask by a command or over HTTP.

use super::{DIALECTS, Dialect, by_name};
use crate::support::nearest::closest;
use serde_json::{Value, json};

/// How long an event may take, unless it is said.
pub const TIME_LIMIT: &str = "50s";
/// What names the event in what agents send, and where it is added for those that don't.
const EVENT_MEMBER: &str = "hook_event_name";

/// The dialect of an agent, by its name.
///
/// # Errors
/// It is no agent; names those that there are.
pub fn agent(name: &str) -> Result<&'static Dialect, String> {
    let names = || DIALECTS.iter().filter(|it| it.agent.is_some()).map(|it| it.name());
    match by_name(name) {
        Ok(dialect) if dialect.agent.is_some() => Ok(dialect),
        _ => Err(format!("one of {}", names().collect::<Vec<_>>().join(", "))),
    }
}

/// Why an agent whose hook failed is denied what it is about to do.
pub fn refusal(problem: &str) -> String {
    format!("hookwire failed, so this is denied: {problem}")
}

/// Writes the event that the hook is for into a payload that doesn't name one, or reads it from there.
///
/// # Errors
/// The agent has no such event: a misspelt one would never be one that a hook is for. Then it isn't known.
pub fn name_event(agent: &Dialect, event: &mut String, payload: &mut Value) -> Result<(), String> {
    let names = || agent.events.iter().flat_map(|row| row.also.iter().chain([&row.name]).copied());
    if !event.is_empty() && names().all(|name| name != event) {
        let event = std::mem::take(event);
        let meant = closest(&event, names()).map(|it| format!(", did you mean {it}?")).unwrap_or_default();
        return Err(format!("{event}: {} has no such event{meant}", agent.name()));
    }
    if let (Some(members), false) = (payload.as_object_mut(), event.is_empty()) {
        members.entry(EVENT_MEMBER).or_insert_with(|| json!(event));
    }
    let named = payload.get(EVENT_MEMBER).or(payload.pointer(agent.event_name));
    if let (true, Some(name)) = (event.is_empty(), named.and_then(Value::as_str)) {
        event.push_str(name);
    }
    Ok(())
}

/// The params of the `hooks/dispatch` that judges it.
pub fn params(agent: &Dialect, payload: &Value, time_limit: std::time::Duration) -> Value {
    json!({ "dialect": agent.name(), "payload": payload, "deadlineMs": time_limit.as_millis() as u64 })
}

/// What the agent is told; nothing if hooks have nothing to say.
pub fn said(reply: &Value) -> String {
    match reply {
        Value::Object(members) if members.is_empty() => String::new(),
        reply => reply.to_string(),
    }
}
