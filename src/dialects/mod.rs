//! Other systems' vocabularies. A dialect is mostly a table, read by the one translator in this
//! file; what no table can say is a function in the dialect's own file.
//!
//! A new dialect is one new file and one line in [`DIALECTS`]; see `sample.rs`.

pub(crate) mod agent_hook_trait;
mod agentpool;
mod claude_code;
mod files;
mod hooks_article;
mod instructor;
mod native;
mod replies;
#[cfg(test)]
mod sample;
mod workflow_framework;

use crate::contract::{Contract, TOOL_NAME};
use crate::event::{CUSTOM_PREFIX, Event, NotAnEvent, Original, lacks_tool, no_tool, set_pointer, spec, unknown_event};
use crate::support::nearest::{UnknownName, closest};
use crate::syntax::node::Node;
use crate::syntax::problem::Problem;
use crate::verdict::Verdict;
use serde_json::{Map, Value};
use std::sync::Arc;

pub use crate::contract::NATIVE;
#[cfg(test)]
pub(crate) use native::CONTRACT;

/// Where an event has its canonical name.
const EVENT: &str = "/event";

/// hookwire's own.
pub fn native() -> &'static Dialect {
    &native::DIALECT
}

/// Every dialect.
pub static DIALECTS: &[&Dialect] = &[
    &native::DIALECT,
    &claude_code::DIALECT,
    &agent_hook_trait::DIALECT,
    &agentpool::DIALECT,
    &hooks_article::DIALECT,
    &instructor::DIALECT,
    &workflow_framework::DIALECT,
    #[cfg(test)]
    &sample::DIALECT,
];

/// A vocabulary.
#[derive(Debug)]
pub struct Dialect {
    /// One line, with the version of the system it was taken from.
    pub about: &'static str,
    /// How its hooks are spoken to. Holds the dialect's name.
    pub contract: Contract,
    /// Its events.
    pub events: &'static [EventRow],
    /// JSON pointer of the event's name in a payload.
    pub event_name: &'static str,
    /// Where members live: JSON pointers, theirs and ours. An event's own pairs come first. A pair
    /// with `/event` is another place of the event's name, which then counts before `event_name`.
    pub members: &'static [(&'static str, &'static str)],
    /// Completes the native event with what the tables can't say, given the payload and the event. An
    /// error says what is wrong with the payload.
    pub complete: fn(&Value, &mut Value) -> Result<(), String>,
    /// A verdict in its words: what a hook of that system would have replied.
    pub reply: fn(&Event, &Verdict) -> Value,
    /// How its own definition files become hookwire's, if it has such.
    pub files: Option<Files>,
}

/// Definition files as another system writes them.
#[derive(Debug)]
pub struct Files {
    /// Whether a file that names no dialect is written for that system.
    pub recognises: fn(&Node) -> bool,
    /// The same file as hookwire's own would be: `hooks` with native fields, each value where its
    /// original is written. What is native already stays as it is. A problem that names a hook, by
    /// the `name` that it has in the result, breaks that hook alone.
    pub read: fn(&Node, &mut Vec<Problem>) -> Node,
}

/// An event of a dialect.
#[derive(Debug)]
pub struct EventRow {
    /// Its name there.
    pub name: &'static str,
    /// Other names of it, in definitions and payloads.
    pub also: &'static [&'static str],
    /// Whether a payload is of this row, where several rows have the same name.
    pub picks: Option<fn(&Value) -> bool>,
    /// Its canonical name.
    pub canonical: &'static str,
    /// A deny is obeyed there.
    pub blocks: bool,
    /// A rewritten subject is obeyed there.
    pub rewrites: bool,
    /// Members that live elsewhere in this event.
    pub members: &'static [(&'static str, &'static str)],
}

impl EventRow {
    /// An event with one name, which the row alone has, and members where the dialect has them.
    const fn new(name: &'static str, canonical: &'static str) -> EventRow {
        EventRow { name, also: &[], picks: None, canonical, blocks: false, rewrites: false, members: &[] }
    }

    /// A deny is obeyed there.
    const fn blocks(self) -> EventRow {
        EventRow { blocks: true, ..self }
    }

    /// A rewritten subject is obeyed there.
    const fn rewrites(self) -> EventRow {
        EventRow { rewrites: true, ..self }
    }

    /// Members that live elsewhere in this event.
    const fn members(self, members: &'static [(&'static str, &'static str)]) -> EventRow {
        EventRow { members, ..self }
    }
}

impl Dialect {
    /// The name.
    pub fn name(&self) -> &'static str {
        self.contract.dialect
    }

    /// The rows that a text names.
    fn named<'a>(&self, name: &'a str) -> impl Iterator<Item = &'static EventRow> + use<'a> {
        self.events.iter().filter(move |row| row.name == name || row.also.contains(&name))
    }

    /// The row of an event, by its canonical name.
    pub fn row(&self, canonical: &str) -> Option<&EventRow> {
        self.events.iter().find(|row| row.canonical == canonical)
    }

    /// The name of an event there; its canonical one if it has none.
    fn name_of<'a>(&self, event: &'a Event) -> &'a str {
        self.row(&event.name).map_or(&event.name, |row| row.name)
    }

    /// The payload that an event was read from, if it came in this vocabulary.
    fn original<'a>(&self, event: &'a Event) -> Option<&'a Value> {
        event.original.as_ref().filter(|it| it.dialect == self.name()).map(|it| &it.payload)
    }

    /// Translates a payload.
    ///
    /// # Errors
    /// Says what is missing, and the nearest name for an unknown event.
    pub fn read(&'static self, payload: Value) -> Result<Event, NotAnEvent> {
        if self.name() == NATIVE {
            return Event::from_json(payload);
        }
        let Some(object) = payload.as_object() else {
            return Err(NotAnEvent(format!("a {} payload is a JSON object", self.name())));
        };
        let (row, canonical) = self.identify(&payload)?;
        let mut data = Value::Object(Map::new());
        set_pointer(&mut data, EVENT, Value::String(canonical));
        let own = row.map_or(&[][..], |row| row.members);
        let mut taken = vec![self.event_name];
        let mut placed: Vec<(&str, &str)> = Vec::new();
        for (theirs, ours) in own.iter().chain(self.members) {
            let Some(value) = payload.pointer(theirs).filter(|_| !taken.contains(theirs)) else { continue };
            taken.push(theirs);
            match placed.iter().find(|(_, it)| it == ours) {
                _ if *ours == EVENT => {}
                // Null is as good as absent.
                None => {
                    set_pointer(&mut data, ours, value.clone());
                    placed.extend((!value.is_null()).then_some((*theirs, *ours)));
                }
                Some(first) if value.is_null() || data.pointer(ours) == Some(value) || own.contains(first) => {}
                Some((first, _)) => return Err(two_values(first, theirs)),
            }
        }
        // Members that the table lacks pass through under their own names.
        for (key, value) in object {
            if !taken.iter().any(|pointer| pointer.strip_prefix('/') == Some(key)) && data.get(key).is_none() {
                set_pointer(&mut data, &format!("/{key}"), value.clone());
            }
        }
        (self.complete)(&payload, &mut data).map_err(NotAnEvent)?;
        if lacks_tool(&data)
            && let Some((theirs, _)) = self.members.iter().rfind(|(_, ours)| *ours == TOOL_NAME)
        {
            return Err(no_tool(&written(theirs)));
        }
        let mut event = Event::from_json(data)?;
        event.original = Some(Arc::new(Original { dialect: self.name(), payload }));
        Ok(event)
    }

    /// The row of a payload's event, if the table has it, and the event's canonical name.
    fn identify(&'static self, payload: &Value) -> Result<(Option<&'static EventRow>, String), NotAnEvent> {
        let others = self.members.iter().filter(|(_, ours)| *ours == EVENT).map(|(theirs, _)| *theirs);
        let mut found: Option<(&str, Option<&'static EventRow>, String)> = None;
        for place in others.chain([self.event_name]) {
            let name = match payload.pointer(place) {
                None | Some(Value::Null) => continue,
                Some(Value::String(name)) => name.clone(),
                Some(Value::Number(number)) => number.to_string(),
                Some(_) => return Err(NotAnEvent(format!("`{}`: the name of the event is a string", written(place)))),
            };
            let row = self.named(&name).find(|row| row.picks.is_none_or(|picks| picks(payload)));
            match &found {
                // Claude Code's FileChanged says under `event` what happened to the file.
                Some((_, Some(_), _)) if row.is_none() && spec(&name).is_none() && self.contract.takes_other_events => {
                }
                Some((first, _, canonical)) => {
                    let other = row.map_or_else(|| self.other_event(&name), |row| Ok(row.canonical.to_string()))?;
                    if other != *canonical {
                        return Err(two_values(first, place));
                    }
                }
                None => {
                    let canonical = row.map_or_else(|| self.other_event(&name), |row| Ok(row.canonical.to_string()))?;
                    found = Some((place, row, canonical));
                }
            }
        }
        let missing = || NotAnEvent(format!("`{}` is missing: the name of the event", written(self.event_name)));
        found.map(|(_, row, canonical)| (row, canonical)).ok_or_else(missing)
    }

    /// The canonical name of an event that the table lacks. A misspelt name of one that it has is an error.
    fn other_event(&self, name: &str) -> Result<String, NotAnEvent> {
        let nearest = closest(name, self.events.iter().map(|row| row.name));
        match nearest {
            Some(nearest) => {
                Err(NotAnEvent(format!("unknown {} event `{name}`; did you mean `{nearest}`?", self.name())))
            }
            None if !self.contract.takes_other_events || name.is_empty() => {
                Err(NotAnEvent(format!("unknown {} event `{name}`", self.name())))
            }
            None if spec(name).is_some() => Ok(name.to_string()),
            None => Ok(format!("{CUSTOM_PREFIX}{name}")),
        }
    }

    /// An event as a hook of this dialect reads it.
    fn write(&self, event: &Event) -> Value {
        let row = self.row(&event.name);
        let mut payload = self.original(event).cloned().unwrap_or_else(|| Value::Object(Map::new()));
        set_pointer(&mut payload, self.event_name, self.name_of(event).into());
        let mut given: Vec<&str> = vec![EVENT];
        for (theirs, ours) in row.map_or(&[][..], |row| row.members).iter().chain(self.members) {
            if let Some(value) = event.data.pointer(ours)
                && !given.contains(ours)
            {
                given.push(ours);
                set_pointer(&mut payload, theirs, value.clone());
            }
        }
        payload
    }
}

/// A place in a payload, as people write it.
fn written(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

/// A payload that gives two values for one member: hooks could judge the one that the client doesn't use.
fn two_values(first: &str, second: &str) -> NotAnEvent {
    NotAnEvent(format!("`{}` and `{}` differ: send one of them", written(first), written(second)))
}

/// The dialect of this name.
///
/// # Errors
/// Names the nearest one.
pub fn by_name(name: &str) -> Result<&'static Dialect, UnknownName> {
    if let Some(dialect) = DIALECTS.iter().find(|dialect| dialect.name() == name) {
        return Ok(dialect);
    }
    let names = DIALECTS.iter().map(|dialect| dialect.name());
    Err(UnknownName {
        message: format!("unknown dialect `{name}`"),
        nearest: closest(name, names.clone()),
        otherwise: format!("there are {}", names.collect::<Vec<_>>().join(", ")),
    })
}

/// The dialect of a definition file that names none but has the form of that system's own files.
pub(crate) fn recognise(root: &Node) -> Option<&'static Dialect> {
    DIALECTS.iter().copied().find(|it| it.files.as_ref().is_some_and(|files| (files.recognises)(root)))
}

/// The canonical names for an event that a definition names in its own dialect's words, hookwire's
/// or any other's. Where others have one event for several of ours, they are all meant.
///
/// # Errors
/// Names the nearest one.
pub fn canonical(name: &str, own: &str) -> Result<Vec<Arc<str>>, UnknownName> {
    let events = |dialect: &&'static Dialect| {
        let names: Vec<Arc<str>> = dialect.named(name).map(|row| row.canonical.into()).collect();
        (!names.is_empty()).then_some(names)
    };
    if let Some(names) = DIALECTS.iter().filter(|dialect| dialect.name() == own).find_map(events) {
        return Ok(names);
    }
    if spec(name).is_some() {
        return Ok(vec![name.into()]);
    }
    // The number of an event in one system's enum means nothing in another system's file.
    let is_word = !name.bytes().all(|byte| byte.is_ascii_digit());
    DIALECTS.iter().filter(|_| is_word).find_map(events).ok_or_else(|| {
        let rows = DIALECTS.iter().filter(|dialect| dialect.name() == own).flat_map(|dialect| dialect.events);
        let nearest = closest(name, rows.flat_map(|row| row.also.iter().copied().chain([row.name])));
        let unknown = unknown_event(name);
        UnknownName { nearest: nearest.or(unknown.nearest), ..unknown }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EVENTS;
    use serde_json::json;

    /// Whatever hooks judge must be what the client means.
    #[test]
    fn payloads_that_say_two_things_are_refused() {
        for (dialect, payload, expected) in [
            ("workflow-framework", json!({"Event": 2, "event": "PreToolCall", "toolName": "a", "ToolName": null}), "a"),
            ("workflow-framework", json!({"Event": null, "event": 2, "toolName": null, "ToolName": "a"}), "a"),
            ("workflow-framework", json!({"Event": 2, "toolName": "a", "ToolName": "a"}), "a"),
            (
                "workflow-framework",
                json!({"Event": 2, "toolName": "a", "ToolName": "b"}),
                "`toolName` and `ToolName` differ: send one of them",
            ),
            (
                "workflow-framework",
                json!({"event": "PostToolCall", "Event": "PreToolCall", "ToolName": "a"}),
                "`event` and `Event` differ: send one of them",
            ),
            (
                "workflow-framework",
                json!({"event": "PostToolCall", "Event": "PreTool", "ToolName": "a"}),
                "unknown workflow-framework event `PreTool`; did you mean `PreToolCall`?",
            ),
            (
                "hooks-article",
                json!({"event": "PreToolUse", "hook_event_name": "PostToolUse", "tool_name": "a"}),
                "`hook_event_name` and `event` differ: send one of them",
            ),
            (
                "hooks-article",
                json!({"event": "PreToolUse", "hook_event_name": "Deploy", "tool_name": "a"}),
                "`hook_event_name` and `event` differ: send one of them",
            ),
            ("hooks-article", json!({"event": "change", "hook_event_name": "FileChanged", "tool_name": "a"}), "a"),
            ("hooks-article", json!({"event": [], "tool_name": "a"}), "`event`: the name of the event is a string"),
            (
                "hooks-article",
                json!({"event": "Stop", "cwd": "/a", "context": {"cwd": "/b"}}),
                "`cwd` and `context.cwd` differ: send one of them",
            ),
            // An event's own place of a member counts before the common one.
            (
                "claude-code",
                json!({"hook_event_name": "MessageDisplay", "delta": "a", "last_assistant_message": "b", "tool_name": "a"}),
                "a",
            ),
            // Without a tool no guard of tools would look.
            (
                "claude-code",
                json!({"hook_event_name": "PreToolUse"}),
                "`tool_name` is missing: the event is about a tool",
            ),
            (
                "claude-code",
                json!({"hook_event_name": "PermissionRequest", "tool_name": ""}),
                "`tool_name` is missing: the event is about a tool",
            ),
            (
                "hooks-article",
                json!({"event": "PostToolUse", "tool_name": null}),
                "`tool_name` is missing: the event is about a tool",
            ),
            ("agentpool", json!({"event": "pre_tool_use"}), "`tool_name` is missing: the event is about a tool"),
            (
                "agent-hook-trait",
                json!({"method": "pre_tool_call"}),
                "`tool_name` is missing: the event is about a tool",
            ),
            (
                "workflow-framework",
                json!({"Event": "PostToolCallFailure", "ToolArgs": "{}"}),
                "`ToolName` is missing: the event is about a tool",
            ),
            ("native", json!({"event": "PreToolUse"}), "`tool.name` is missing: the event is about a tool"),
        ] {
            let event = by_name(dialect).unwrap().read(payload.clone());
            let told = event.map_or_else(|error| error.0, |event| event.tool_name().unwrap_or_default().into());
            assert_eq!(told, expected, "{dialect} {payload}");
        }
    }

    #[test]
    fn tables_are_sound() {
        for dialect in DIALECTS {
            for row in dialect.events {
                let spec = EVENTS.iter().find(|spec| spec.name == row.canonical);
                let spec = spec.unwrap_or_else(|| panic!("{}: {} is no event", dialect.name(), row.canonical));
                assert!(
                    !row.rewrites || spec.subject.is_some(),
                    "{}: {} has no subject to rewrite",
                    dialect.name(),
                    row.name
                );
            }
            for (theirs, ours) in dialect.members.iter().chain(dialect.events.iter().flat_map(|row| row.members)) {
                assert!(theirs.starts_with('/') && ours.starts_with('/'), "{theirs} {ours}");
            }
        }
    }
}
