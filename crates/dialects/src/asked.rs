//! What agents' hooks have in common, whether they ask by a command or over HTTP.

pub use hookwire_ask::refusal;

use super::{Dialect, by_name};
use hookwire_ask::members::{Named, find_text, has_members};
use hookwire_ask::said::Said;
use hookwire_base::event::{Event, NotAnEvent, PROBE_SESSION};
use hookwire_base::support::json::parse_event;
use hookwire_base::support::nearest::closest;
use hookwire_base::support::visible::{safe, safe_lines};
use hookwire_rules::agents;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long an event may take, unless it is said.
pub const TIME_LIMIT: &str = "50s";
/// What stands before what is said of the event that `hookwire hook` is told.
pub const EVENT: &str = "--event ";
/// What names the event in what agents send, and where it is added for those that don't.
const EVENT_MEMBER: &str = "hook_event_name";

/// What a hook of an agent's is asked, and how it answers.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The agent.
    pub agent: &'static Dialect,
    /// The event, as far as it is known.
    pub moment: Moment,
    /// What hookwire's own failures come to.
    pub fails_open: bool,
    /// How long the event may take.
    pub time_limit: Duration,
    /// Whether a person can be asked where the agent runs, if that is known.
    pub attended: Option<bool>,
    /// The user who asks, where every user of the machine may.
    pub asker: Option<u32>,
}

/// What is known of the event that an agent asks about.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// The agent's name for it, or the canonical one; empty until it is known.
    pub name: String,
    /// Nobody knows the event, and it looks like one before a call of a tool.
    pub is_unknown_gate: bool,
}

impl Asked {
    /// What an agent asks; a `name` is the event's where the agent doesn't say it.
    pub fn new(agent: &'static Dialect, name: Option<String>) -> Asked {
        let moment = Moment {
            name: name.unwrap_or_default(),
            is_unknown_gate: false,
        };
        Asked {
            agent,
            moment,
            fails_open: false,
            time_limit: hookwire_ask::TIME_LIMIT,
            attended: None,
            asker: None,
        }
    }

    /// The payload that the agent sent, with the event's name in it; from here on, `agent` is who
    /// asks. `option` is what names an event beside the payload.
    ///
    /// # Errors
    /// Says why it can't be read.
    pub fn read_payload(&mut self, sent: &[u8], option: &str) -> Result<Value, String> {
        let mut payload = read_payload(self.agent, &mut self.moment, sent)?;
        self.agent = find_speaker(self.agent, &payload);
        name_event(self.agent, &mut self.moment, &mut payload)
            .map_err(|problem| format!("{option}{problem}"))?;
        Ok(payload)
    }

    /// The event in a payload, which may take so long.
    ///
    /// # Errors
    /// It is no event of the agent's.
    pub fn read_event(&self, payload: Value, time_limit: Duration) -> Result<Event, NotAnEvent> {
        let mut event = self.agent.read_event(payload)?;
        event.change(|data| data["deadlineMs"] = deadline_ms(time_limit).into());
        if let Some(original) = event.original.as_mut().and_then(Arc::get_mut) {
            original.attended = self.attended;
            original.asker = self.asker;
        }
        // One user can't spend what is another's by the name of that one's session.
        if let Some(uid) = self.asker.filter(|_| event.session() != PROBE_SESSION) {
            let whose = match event.session() {
                "" => event.cwd().unwrap_or_default().to_string(),
                session => session.to_string(),
            };
            event.change(|data| data["session"] = format!("{uid}:{whose}").into());
        }
        Ok(event)
    }

    /// What a command says of a reply to the agent, or of a failure.
    pub fn said(&self, judged: Result<Value, String>) -> Said {
        let said = match judged {
            Ok(reply) => self.agent.say_reply(&reply, &self.moment.name),
            Err(problem) => {
                let reason = refusal(&safe(&problem));
                let refused = match self.fails_open {
                    false => self.agent.refuse(&reason, &self.moment),
                    true => Said::default(),
                };
                // What can't be denied isn't, but somebody should know.
                let is_silent = refused == Said::default();
                if is_silent {
                    Said {
                        stderr: format!("hookwire: {problem}"),
                        ..refused
                    }
                } else {
                    refused
                }
            }
        };
        Said {
            stderr: safe_lines(&said.stderr).into_owned(),
            ..said
        }
    }
}

/// What a command said of a reply to a payload as it is recorded, with its event's name.
pub fn said_of(agent: &'static Dialect, payload: &Value, reply: Value) -> Said {
    let name = payload
        .get(EVENT_MEMBER)
        .or(payload.pointer(agent.event_name))
        .and_then(Value::as_str);
    Asked::new(agent, name.map(str::to_string)).said(Ok(reply))
}

/// The dialect of an agent, by its name.
///
/// # Errors
/// It is no agent; names those that there are.
pub fn agent_dialect(name: &str) -> Result<&'static Dialect, String> {
    agents::check(name)?;
    by_name(name).map_err(|unknown| unknown.to_string())
}

/// The payload that an agent sent. If it can't be read, what is known of the event is taken from
/// what can be.
pub(super) fn read_payload(
    agent: &Dialect,
    moment: &mut Moment,
    sent: &[u8],
) -> Result<Value, String> {
    let text = std::str::from_utf8(sent).map_err(|_| "the event is not UTF-8".to_string());
    // Cursor sends one or two marks of the byte order on Windows.
    let text = text.map(|text| text.trim_start_matches('\u{feff}'));
    let payload = text.and_then(|text| {
        parse_event(text).map_err(|error| format!("the event is not JSON: {error}"))
    });
    if payload.is_err() {
        let text = String::from_utf8_lossy(sent);
        if moment.name.is_empty() {
            let names: Vec<&str> = agent.naming_members().collect();
            if let Named::Text(name) = find_text(&text, &names) {
                moment.name = name;
            }
        }
        let call: Vec<&str> = agent.tool_members().collect();
        moment.is_unknown_gate = agent.may_be_gate(&moment.name) && has_members(&text, &call);
    }
    payload
}

/// The agents whose hooks others run, too.
pub(super) const RUN_BY_OTHERS: [&str; 2] = ["claude-code", "cursor"];
/// Members of which each agent that runs others' hooks has one in its payloads.
pub(super) const SIGNS: [&str; 4] = ["hookEventName", "cursor_version", "hookName", "timestamp"];

/// Who asks: another agent may run the hooks of this one, and is answered in its own words. It is
/// known by its payloads, and the one of whom more is known counts. Facts of agents are read only if
/// a payload lacks the session, which each agent names in its own way, or has a sign of another.
pub fn find_speaker(agent: &'static Dialect, payload: &Value) -> &'static Dialect {
    let has = |member: &str| payload.get(member).is_some();
    let session = agent
        .members
        .iter()
        .find(|(_, ours)| *ours == "/session")
        .map(|(theirs, _)| *theirs);
    let is_own = session.is_none_or(|place| payload.pointer(place).is_some());
    if !RUN_BY_OTHERS.contains(&agent.name()) || is_own && !SIGNS.into_iter().any(has) {
        return agent;
    }
    let speaker = agents::AGENTS
        .iter()
        .filter(|candidate| {
            candidate.also_reads.iter().any(|name| name == agent.name())
                && !candidate.known_by.is_empty()
                && candidate.known_by.iter().all(|member| has(member))
                && !candidate.lacks.iter().any(|member| has(member))
        })
        .max_by_key(|candidate| candidate.known_by.len())
        .and_then(|agent| by_name(agent.name).ok());
    speaker.unwrap_or(agent)
}

/// Writes the event that the hook is for into a payload that doesn't name one, or reads it from
/// there.
///
/// # Errors
/// The agent has no such event: a misspelt one would never be one that a hook is for. Then it isn't
/// known.
fn name_event(agent: &Dialect, moment: &mut Moment, payload: &mut Value) -> Result<(), String> {
    let event = &mut moment.name;
    let names = || {
        agent
            .events
            .iter()
            .flat_map(|row| row.also.iter().chain([&row.name]).copied())
    };
    if !event.is_empty() && names().all(|name| name != event) {
        let event = std::mem::take(event);
        let meant = closest(&event, names())
            .map(|it| format!(", did you mean {it}?"))
            .unwrap_or_default();
        return Err(format!(
            "{event}: {} has no such event{meant}",
            agent.name()
        ));
    }
    if let (Some(members), false) = (payload.as_object_mut(), event.is_empty()) {
        members.entry(EVENT_MEMBER).or_insert_with(|| json!(event));
    }
    let members = || std::iter::once(EVENT_MEMBER).chain(agent.naming_members());
    let named = members().find_map(|member| payload.get(member));
    if let (true, Some(name)) = (event.is_empty(), named.and_then(Value::as_str)) {
        event.push_str(name);
    }
    moment.is_unknown_gate = agent.is_unknown_gate(payload);
    Ok(())
}

/// The params of the `hooks/dispatch` that judges an agent's event.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Params<'a> {
    dialect: &'static str,
    payload: &'a Value,
    deadline_ms: u64,
}

impl<'a> Params<'a> {
    /// The params for a payload that may take so long.
    pub fn new(agent: &Dialect, payload: &'a Value, time_limit: Duration) -> Params<'a> {
        Params {
            dialect: agent.name(),
            payload,
            deadline_ms: deadline_ms(time_limit),
        }
    }
}

fn deadline_ms(time_limit: Duration) -> u64 {
    u64::try_from(time_limit.as_millis()).unwrap_or(u64::MAX)
}

/// What the agent is told; nothing if hooks have nothing to say.
pub fn text_for_agent(reply: &Value) -> String {
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
            (
                "claude-code",
                r#"{"hook_event_name":"St\u006fp","a":1,"a":2}"#,
                "Stop",
            ),
            (
                "claude-code",
                r#"{"hook_event_name":"Stop","hook_event_name":"Stop"}"#,
                "Stop",
            ),
            ("copilot", r#"{"hookEventName":"PreToolUse","#, "PreToolUse"),
            ("cline", r#"{"hookName":"tool_call","#, "tool_call"),
            ("opencode", r#"{"event":"session.idle","#, "session.idle"),
            // Anybody may have written it there, or it isn't known which counts.
            (
                "claude-code",
                r#"{"tool_input":{"hook_event_name":"Stop"},"a":1,"a":2}"#,
                "",
            ),
            ("claude-code", r#"["hook_event_name", "Stop"]"#, ""),
            (
                "claude-code",
                r#"{"hook_event_name":"PreToolUse","hook_event_name":"Stop"}"#,
                "",
            ),
            ("claude-code", r#"{"hook_event_name":["Stop"]"#, ""),
            ("claude-code", r#"{"hook_event_name":"Stop"#, ""),
            ("claude-code", "", ""),
        ] {
            let mut moment = Moment::default();
            let read = read_payload(agent_dialect(name).unwrap(), &mut moment, text.as_bytes());
            assert!(read.is_err() || expected.is_empty(), "{text}");
            assert_eq!(
                (&*moment.name, moment.is_unknown_gate),
                (expected, false),
                "{text}"
            );
        }
        let mut moment = Moment {
            name: "PreToolUse".into(),
            is_unknown_gate: false,
        };
        assert!(
            read_payload(
                agent_dialect("claude-code").unwrap(),
                &mut moment,
                br#"{"hook_event_name":"Stop","#
            )
            .is_err()
        );
        assert_eq!(moment.name, "PreToolUse");
    }

    /// What can't be read and isn't known is refused where it looks like an event before a call.
    #[test]
    fn an_unknown_gate_that_cannot_be_read_is_known() {
        for (name, text, expected) in [
            (
                "claude-code",
                r#"{"hook_event_name":"PreX","tool_name":"Bash","tool_input":{"a":1,"a":2}}"#,
                true,
            ),
            (
                "claude-code",
                r#"{"tool_input":{"tool_name":"x"},"hook_event_name":"PreX","a":nan}"#,
                false,
            ),
            (
                "claude-code",
                r#"{"hook_event_name":"PostX","tool_name":"Bash","tool_input":{"a":1,"a":2}}"#,
                false,
            ),
            (
                "claude-code",
                r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"a":1,"a":2}}"#,
                false,
            ),
            (
                "gemini",
                r#"{"hook_event_name":"BeforeX","tool_name":"Bash","tool_input":{"a":1,"a":2}}"#,
                true,
            ),
            (
                "cline",
                r#"{"hookName":"x","tool_call":{"a":1,"a":2}}"#,
                true,
            ),
            (
                "opencode",
                r#"{"event":"x","tool":"bash","args":{"a":1,"a":2}}"#,
                true,
            ),
        ] {
            let mut moment = Moment::default();
            assert!(
                read_payload(agent_dialect(name).unwrap(), &mut moment, text.as_bytes()).is_err()
            );
            assert_eq!(moment.is_unknown_gate, expected, "{text}");
        }
    }
}
