//! What agents' hooks have in common, whether they ask by a command or over HTTP.

use super::{DIALECTS, Dialect, by_name};
use crate::support::json::parse_event;
use crate::support::nearest::closest;
use serde_json::{Value, json};

/// How long an event may take, unless it is said.
pub const TIME_LIMIT: &str = "50s";
/// What names the event in what agents send, and where it is added for those that don't.
const EVENT_MEMBER: &str = "hook_event_name";

/// What is known of the event that an agent asks about.
#[derive(Debug, Default)]
pub struct Moment {
    /// The agent's name for it, or the canonical one; empty until it is known.
    pub name: String,
    /// Nobody knows the event, and it looks like one before a call of a tool.
    pub is_unknown_gate: bool,
}

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

/// The payload that an agent sent. If it can't be read, the event's name is taken from what can be, unless it is known.
///
/// # Errors
/// Says why it can't be read.
pub fn read(agent: &Dialect, event: &mut String, sent: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(sent).map_err(|_| "the event is not UTF-8".to_string());
    let payload = text.and_then(|text| parse_event(text).map_err(|error| format!("the event is not JSON: {error}")));
    if let (Err(_), true) = (&payload, event.is_empty()) {
        event.push_str(&find_name(agent, &String::from_utf8_lossy(sent)).unwrap_or_default());
    }
    payload
}

/// The event's name in a payload that can't be read. What stands deeper than at the top may be anybody's word, and of
/// several names none counts.
fn find_name(agent: &Dialect, text: &str) -> Option<String> {
    let (mut rest, mut depth, mut key) = (text, 0, None);
    let mut found: Option<String> = None;
    while let Some(next) = rest.chars().next() {
        if next == '"' {
            let mut is_escaped = false;
            let end = rest[1..].find(|c| {
                let is_end = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                is_end
            });
            let Some(end) = end else { break };
            let (string, after) = rest.split_at(end + 2);
            let string: Option<String> = serde_json::from_str(string).ok();
            if depth == 1 && after.trim_start().starts_with(':') {
                key = string;
            } else if key.take().is_some_and(|key| agent.names_event(&key)) {
                let name = string?;
                if found.as_ref().is_some_and(|found| *found != name) {
                    return None;
                }
                found = Some(name);
            }
            rest = after;
            continue;
        }
        match next {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        if !(next == ':' || next.is_whitespace()) {
            key = None;
        }
        rest = &rest[next.len_utf8()..];
    }
    found
}

/// Writes the event that the hook is for into a payload that doesn't name one, or reads it from there.
///
/// # Errors
/// The agent has no such event: a misspelt one would never be one that a hook is for. Then it isn't known.
pub fn name_event(agent: &Dialect, moment: &mut Moment, payload: &mut Value) -> Result<(), String> {
    let event = &mut moment.name;
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
    moment.is_unknown_gate = agent.is_unknown_gate(payload);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_event_that_cannot_be_read_is_found() {
        for (name, text, expected) in [
            (
                "claude-code",
                r#"{"a": "\"hook_event_name\": \"Stop\"", "hook_event_name" : "PostToolUse", "b": "cut"#,
                "PostToolUse",
            ),
            (
                "claude-code",
                r#"{"hook_event_name":"Stop","tool_input":{"hook_event_name":"PreToolUse"},"a":nan}"#,
                "Stop",
            ),
            ("claude-code", r#"{"hook_event_name":"St\u006fp","a":1,"a":2}"#, "Stop"),
            ("claude-code", r#"{"hook_event_name":"Stop","hook_event_name":"Stop"}"#, "Stop"),
            ("copilot", r#"{"hookEventName":"PreToolUse","#, "PreToolUse"),
            ("cline", r#"{"hookName":"tool_call","#, "tool_call"),
            ("opencode", r#"{"event":"session.idle","#, "session.idle"),
            // Anybody may have written it there, or it isn't known which counts.
            ("claude-code", r#"{"tool_input":{"hook_event_name":"Stop"},"a":1,"a":2}"#, ""),
            ("claude-code", r#"["hook_event_name", "Stop"]"#, ""),
            ("claude-code", r#"{"hook_event_name":"PreToolUse","hook_event_name":"Stop"}"#, ""),
            ("claude-code", r#"{"hook_event_name":["Stop"]"#, ""),
            ("claude-code", r#"{"hook_event_name":"Stop"#, ""),
            ("claude-code", "", ""),
        ] {
            let mut event = String::new();
            let read = read(agent(name).unwrap(), &mut event, text.as_bytes());
            assert!(read.is_err() || expected.is_empty(), "{text}");
            assert_eq!(event, expected, "{text}");
        }
        let mut event = "PreToolUse".to_string();
        assert!(read(agent("claude-code").unwrap(), &mut event, br#"{"hook_event_name":"Stop","#).is_err());
        assert_eq!(event, "PreToolUse");
    }
}
