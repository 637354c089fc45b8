//! Other systems' vocabularies. A dialect is mostly a table, read by the one translator in this
//! file; what no table can say is a function in the dialect's own file.
//!
//! A new dialect is one new file and one line in [`DIALECTS`]; see `sample.rs`.

pub(crate) mod agent_hook_trait;
mod agentpool;
mod claude_code;
mod hooks_article;
mod instructor;
mod native;
#[cfg(test)]
mod sample;
mod workflow_framework;

use crate::definitions::compile::Problem;
use crate::definitions::node::{Node, closest};
use crate::event::{CUSTOM_PREFIX, Event, NotAnEvent, Original, set_pointer, spec, unknown_event};
use crate::hook::Contract;
use crate::verdict::Verdict;
use serde_json::{Map, Value};
use std::sync::Arc;

pub use crate::hook::NATIVE;
pub use native::CONTRACT;

/// Where an event has its canonical name.
const EVENT: &str = "/event";

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
    /// What the tables can't say of a payload: makes the native event whole. Theirs, then ours.
    pub complete: fn(&Value, &mut Value),
    /// A verdict in its words: what a hook of that system would have replied.
    pub reply: fn(&Event, &Verdict) -> Value,
    /// How its own definition files become hookwire's, if it has such.
    pub files: Option<Files>,
}

/// Definition files as another system writes them.
#[derive(Debug)]
pub struct Files {
    /// Whether a file that names no dialect is written for that system.
    pub are: fn(&Node) -> bool,
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
    /// Tells it from other rows of the same name, by the payload.
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

impl Dialect {
    /// The name.
    pub fn name(&self) -> &'static str {
        self.contract.dialect
    }

    /// Whether a text names the row's event.
    fn named<'a>(&self, name: &'a str) -> impl Iterator<Item = &'static EventRow> + use<'a> {
        self.events.iter().filter(move |row| row.name == name || row.also.contains(&name))
    }

    /// The row of an event, by its canonical name.
    pub fn row(&self, canonical: &str) -> Option<&EventRow> {
        self.events.iter().find(|row| row.canonical == canonical)
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
        let member = self.event_name.trim_start_matches('/');
        let others = self.members.iter().filter(|(_, ours)| *ours == EVENT).map(|(theirs, _)| *theirs);
        let name = others.chain([self.event_name]).find_map(|place| match payload.pointer(place)? {
            Value::String(name) => Some(name.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        });
        let Some(name) = name.as_deref() else {
            return Err(NotAnEvent(format!("`{member}` is missing: the name of the event")));
        };
        let row = self.named(name).find(|row| row.picks.is_none_or(|picks| picks(&payload)));
        let canonical = match row {
            Some(row) => row.canonical.to_string(),
            None => self.other_event(name)?,
        };
        let mut data = Value::Object(Map::new());
        set_pointer(&mut data, EVENT, Value::String(canonical));
        let mut taken = vec![self.event_name];
        for (theirs, ours) in row.map_or(&[][..], |row| row.members).iter().chain(self.members) {
            if let Some(value) = payload.pointer(theirs)
                && !taken.contains(theirs)
            {
                if *ours != EVENT {
                    set_pointer(&mut data, ours, value.clone());
                }
                taken.push(theirs);
            }
        }
        // What the table doesn't know passes through under its own name.
        for (key, value) in object {
            if !taken.iter().any(|pointer| pointer.strip_prefix('/') == Some(key)) && data.get(key).is_none() {
                set_pointer(&mut data, &format!("/{key}"), value.clone());
            }
        }
        (self.complete)(&payload, &mut data);
        let mut event = Event::from_json(data)?;
        event.original = Some(Arc::new(Original { dialect: self.name(), payload }));
        Ok(event)
    }

    /// The canonical name of an event that the table lacks. A slip of the pen is not an event.
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
        let mut payload = match &event.original {
            Some(original) if original.dialect == self.name() => original.payload.clone(),
            Some(_) | None => Value::Object(Map::new()),
        };
        let name = row.map_or(&*event.name, |row| row.name);
        set_pointer(&mut payload, self.event_name, Value::String(name.to_string()));
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

/// The dialect of this name.
///
/// # Errors
/// Names the nearest one.
pub fn by_name(name: &str) -> Result<&'static Dialect, String> {
    if let Some(dialect) = DIALECTS.iter().find(|dialect| dialect.name() == name) {
        return Ok(dialect);
    }
    let names = DIALECTS.iter().map(|dialect| dialect.name());
    Err(match closest(name, names.clone()) {
        Some(nearest) => format!("unknown dialect `{name}`; did you mean `{nearest}`?"),
        None => format!("unknown dialect `{name}`; there are {}", names.collect::<Vec<_>>().join(", ")),
    })
}

/// The canonical names for an event that a definition names in its own dialect's words, hookwire's
/// or any other's. Where others have one event for several of ours, they are all meant.
///
/// # Errors
/// Names the nearest one.
pub fn canonical(name: &str, own: &str) -> Result<Vec<Arc<str>>, String> {
    let of = |dialect: &&'static Dialect| {
        let names: Vec<Arc<str>> = dialect.named(name).map(|row| row.canonical.into()).collect();
        (!names.is_empty()).then_some(names)
    };
    if let Some(names) = DIALECTS.iter().filter(|dialect| dialect.name() == own).find_map(of) {
        return Ok(names);
    }
    if spec(name).is_some() {
        return Ok(vec![name.into()]);
    }
    // A number that one system's enum has says nothing in another's file.
    let is_word = !name.bytes().all(|byte| byte.is_ascii_digit());
    DIALECTS.iter().filter(|_| is_word).find_map(of).ok_or_else(|| {
        let rows = DIALECTS.iter().filter(|dialect| dialect.name() == own).flat_map(|dialect| dialect.events);
        match closest(name, rows.flat_map(|row| row.also.iter().copied().chain([row.name]))) {
            Some(nearest) => format!("unknown event `{name}`; did you mean `{nearest}`?"),
            None => unknown_event(name),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EVENTS;

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
