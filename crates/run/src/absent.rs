//! What an agent is told of an event that nobody could judge, because the large program isn't there
//! or nobody answers in time: a "no" in its own words to what is about to happen, and nothing else.
//! An agent that is told it may not rest would go on for ever.
//!
//! The words are the dialects', which the small program doesn't have. `absent.jsonl` has them as
//! they come of the dialects; a test there holds the two equal and writes the file anew.

use hookwire_ask::members::{Named, find_text, has_members};
use hookwire_ask::refusal;
use hookwire_ask::said::Said;
use serde_json::Value;

/// A line for each agent, which begins with the agent's name.
const TABLE: &str = include_str!("absent.jsonl");
/// What stands in a reply for the reason.
const REASON: &str = "${reason}";
/// The event that is meant where nothing says which.
const UNNAMED: &str = "PreToolUse";

/// What is known of an agent's words.
struct Words(Value);

impl Words {
    /// The words of the agent of a name. Other lines aren't read.
    fn of(agent: &str) -> Option<Words> {
        let line = TABLE.lines().find(|line| {
            line.strip_prefix("{\"agent\":\"")
                .and_then(|rest| rest.strip_prefix(agent))
                .is_some_and(|rest| rest.starts_with('"'))
        })?;
        serde_json::from_str(line).ok().map(Words)
    }

    fn texts(&self, member: &str) -> Vec<&str> {
        let list = self.0[member].as_array();
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// Whether it is one of its events.
    fn has_event(&self, event: &str) -> bool {
        self.texts("others").contains(&event) || self.no_at(event, "").is_some()
    }

    /// How it is told no at an event: by the exit code, or with a reply.
    fn no_at(&self, event: &str, reason: &str) -> Option<Said> {
        if self.texts("exit").contains(&event) {
            return Some(Said::no_by_exit(reason));
        }
        let replies = self.0["replies"].as_array().into_iter().flatten();
        let is_of = |reply: &&Value| {
            let events = reply["events"].as_array().into_iter().flatten();
            events.into_iter().any(|it| it == event)
        };
        let reply = replies.into_iter().find(is_of)?;
        Some(Said {
            stdout: with_reason(&reply["reply"], reason).to_string(),
            ..Said::default()
        })
    }
}

/// Whether there is an agent of a name.
pub fn is_agent(name: &str) -> bool {
    Words::of(name).is_some()
}

/// What an agent is told that couldn't be judged, and why it couldn't. `event` is what the command
/// line says, `sent` what is there of the payload. Which event it is goes by either; what can't be
/// told is denied.
pub fn say_unjudged(agent: &str, event: Option<&str>, sent: &[u8], problem: &str) -> Said {
    let reason = refusal(problem);
    let Some(own) = Words::of(agent) else {
        return Said::no_by_exit(&reason);
    };
    let sent = String::from_utf8_lossy(sent);
    let (words, event) = match event {
        // One that the agent hasn't is none, as for the large program.
        Some(event) if own.has_event(event) => (own, Some(event.to_string())),
        Some(_) => (own, None),
        None => named_event(own, &sent),
    };
    let said = match &event {
        Some(event) if words.texts("others").contains(&&**event) => None,
        Some(event) => words.no_at(event, &reason).or_else(|| {
            // An event that nobody knows is one before a call if it looks like one.
            let is_call = !is_after(event) && has_members(&sent, &words.texts("call"));
            is_call.then(|| Said::no_by_exit(&reason))
        }),
        None => words
            .no_at(UNNAMED, &reason)
            .or_else(|| Some(Said::no_by_exit(&reason))),
    };
    said.unwrap_or_else(|| Said {
        stderr: format!("hookwire: {problem}"),
        ..Said::default()
    })
}

/// The event in a payload, by the words of who sent it: another agent may run the hooks of this one.
fn named_event(own: Words, sent: &str) -> (Words, Option<String>) {
    match find_text(sent, &own.texts("namedBy")) {
        Named::Nothing => {}
        Named::Unclear => return (own, None),
        Named::Text(event) => return (own, Some(event)),
    }
    let others = own.texts("readBy").into_iter().filter_map(Words::of);
    let found =
        others
            .into_iter()
            .find_map(|other| match find_text(sent, &other.texts("namedBy")) {
                Named::Text(event) if other.has_event(&event) => Some((other, Some(event))),
                Named::Text(_) | Named::Nothing | Named::Unclear => None,
            });
    found.unwrap_or((own, None))
}

/// Whether an event comes after something, by its name.
fn is_after(event: &str) -> bool {
    let name = event.to_ascii_lowercase();
    name.starts_with("post") || name.starts_with("after")
}

/// A reply with the reason in its place.
fn with_reason(reply: &Value, reason: &str) -> Value {
    match reply {
        Value::String(text) => text.replace(REASON, reason).into(),
        Value::Array(items) => items.iter().map(|item| with_reason(item, reason)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), with_reason(value, reason)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => reply.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is about to happen is denied in the agent's words, and nothing else is.
    #[test]
    fn only_what_is_about_to_happen_is_denied() {
        let cancel = r#"{"cancel":true,"errorMessage":"hookwire failed, so this is denied: gone"}"#;
        for (agent, event, sent, expected) in [
            ("cline", Some("PreToolUse"), "", cancel),
            (
                "cline",
                None,
                r#"{"hookName":"tool_call","tool_call":{"#,
                cancel,
            ),
            (
                "cline",
                Some("TaskComplete"),
                r#"{"hookName":"agent_end"}"#,
                "",
            ),
            ("codex", None, r#"{"hook_event_name":"PreToolUse"}"#, "2"),
            ("codex", None, r#"{"hook_event_name":"Stop"}"#, ""),
            (
                "codex",
                None,
                r#"{"hook_event_name":"PostToolUse","tool_name":"x","tool_input":{}}"#,
                "",
            ),
            ("grok", None, r#"{"hookEventName":"stop"}"#, ""),
            ("kimi", None, r#"{"hook_event_name":"Interrupt"}"#, ""),
            // Who runs the hooks of another one.
            (
                "claude-code",
                None,
                r#"{"hookEventName":"stop","workspaceRoot":"/p"}"#,
                "",
            ),
            (
                "claude-code",
                None,
                r#"{"hookEventName":"pre_tool_use","workspaceRoot":"/p"}"#,
                "2",
            ),
            // A later version's.
            (
                "codex",
                None,
                r#"{"hook_event_name":"PreX","tool_name":"x","tool_input":{}}"#,
                "2",
            ),
            (
                "codex",
                None,
                r#"{"hook_event_name":"PostX","tool_name":"x","tool_input":{}}"#,
                "",
            ),
            ("codex", None, r#"{"hook_event_name":"X"}"#, ""),
            // What can't be told.
            ("codex", None, "", "2"),
            (
                "codex",
                None,
                r#"{"hook_event_name":"Stop","hook_event_name":"PreToolUse"}"#,
                "2",
            ),
            (
                "codex",
                None,
                r#"{"tool_input":{"hook_event_name":"Stop"}"#,
                "2",
            ),
            ("codex", Some("PreToolUze"), "", "2"),
            ("cline", None, "\u{0}", cancel),
            ("none", Some("Stop"), "", "2"),
        ] {
            let said = say_unjudged(agent, event, sent.as_bytes(), "gone");
            let told = match said.exit {
                0 => said.stdout.clone(),
                code => code.to_string(),
            };
            assert_eq!(told, expected, "{agent} {event:?} {sent}");
            assert!(
                said.stdout.is_empty() == said.stderr.ends_with("gone"),
                "{said:?}"
            );
        }
    }
}
