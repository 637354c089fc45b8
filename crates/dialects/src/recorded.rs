//! An event in a file of recorded ones: a line of JSON in some vocabulary, by itself, as a capture
//! of an agent's hooks wraps it, or with its verdict as `hookwire tail` writes it.

use super::{Dialect, by_name, read_sent_event};
use hookwire_base::event::Event;
use hookwire_base::verdict::Verdict;
use serde_json::Value;

/// A line of a file of events.
pub struct Recorded {
    pub event: Event,
    /// The vocabulary in which it was sent.
    pub dialect: &'static Dialect,
    /// The verdict that it had, if the file says so.
    pub verdict: Option<Verdict>,
}

/// Whether a line of JSON says something about a recording rather than an event: that an `async`
/// hook ended, or that events were lost.
pub fn is_remark(line: &str) -> bool {
    ["{\"ended\":", "{\"lost\":"]
        .iter()
        .any(|start| line.starts_with(start))
}

impl Recorded {
    /// Reads a line. `dialect` is the vocabulary of one that doesn't say.
    pub fn read_line(line: &str, dialect: &'static Dialect) -> Result<Recorded, String> {
        Recorded::from_value(
            hookwire_base::support::json::parse(line).map_err(|error| error.to_string())?,
            dialect,
        )
    }

    /// The same of a line that was parsed.
    pub fn from_value(mut value: Value, dialect: &'static Dialect) -> Result<Recorded, String> {
        let spoken = value["dialect"]
            .as_str()
            .filter(|_| value.get("verdict").is_some());
        let Some(spoken) = spoken.map(by_name) else {
            let event = dialect
                .read_event(unwrap_capture(value))
                .map_err(|error| error.to_string())?;
            return Ok(Recorded {
                event,
                dialect,
                verdict: None,
            });
        };
        let dialect = spoken.map_err(|error| error.to_string())?;
        let event = read_sent_event(value["params"].take(), dialect.name())
            .ok_or("the event wasn't recorded whole")?;
        let verdict =
            serde_json::from_value(value["verdict"].take()).map_err(|error| error.to_string())?;
        Ok(Recorded {
            event,
            dialect,
            verdict: Some(verdict),
        })
    }
}

/// A line of a capture wraps what a hook got on stdin.
pub fn unwrap_capture(mut value: Value) -> Value {
    match value.get_mut("stdin") {
        Some(stdin @ Value::Object(_)) => stdin.take(),
        _ => value,
    }
}
