//! The protocol of a worker: one JSON object a line.
//!
//! To the worker: `{"id", "hook", "call", "dialect", "args", "deadlineMs", "event"}` is a call,
//! `{"cancel": id}` ends one, `{"id", "value"}` or `{"id", "error"}` answers what it asked of the
//! store. From the worker: `{"ready": true}` once, `{"id", "answer"}` or `{"id", "error", "place"}`
//! for each call. It may also write `{"id", "abandoned": true}` for a cancelled call that it can't
//! end, `{"loaded": [paths]}` for files whose change makes it stale, and `{"id", "state": {...},
//! "call": id}` to ask the store.

use super::super::digits::Handed;
use crate::services::state::Occasion;
use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A call as it goes to a worker.
pub(in crate::handlers) struct Request<'a> {
    pub(in crate::handlers) hook: &'a str,
    pub(in crate::handlers) target: Option<&'a str>,
    pub(in crate::handlers) dialect: &'a str,
    /// JSON.
    pub(in crate::handlers) args: &'a str,
    pub(in crate::handlers) deadline_ms: u64,
    /// JSON.
    pub(in crate::handlers) event: &'a Bytes,
    pub(in crate::handlers) session: &'a str,
    /// What its increments count for.
    pub(in crate::handlers) occasion: Occasion,
    /// What it gets from the store is noted here.
    pub(in crate::handlers) handed: &'a Arc<Mutex<Handed>>,
    /// How long the worker is to stay up after it.
    pub(in crate::handlers) idle: Duration,
}

impl Request<'_> {
    /// The call as a line.
    pub(super) fn line(&self, id: u64) -> Bytes {
        let mut line = Vec::with_capacity(self.event.len() + self.args.len() + 256);
        let hook = Value::from(self.hook);
        // Writing into memory doesn't fail.
        let _ = write!(line, r#"{{"id":{id},"hook":{hook}"#);
        if let Some(target) = self.target {
            let _ = write!(line, r#","call":{}"#, Value::from(target));
        }
        let _ = write!(
            line,
            r#","dialect":"{}","args":{}"#,
            self.dialect, self.args
        );
        let _ = write!(line, r#","deadlineMs":{},"event":"#, self.deadline_ms);
        line.extend_from_slice(self.event);
        line.extend_from_slice(b"}\n");
        line.into()
    }
}

/// The line that ends a call.
pub(super) fn cancel_line(id: u64) -> Bytes {
    format!("{{\"cancel\":{id}}}\n").into()
}

/// A line from a worker.
#[derive(Deserialize)]
pub(super) struct WorkerLine<'a> {
    pub(super) ready: Option<bool>,
    pub(super) id: Option<u64>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) answer: Option<&'a RawValue>,
    pub(super) error: Option<String>,
    pub(super) place: Option<String>,
    pub(super) abandoned: Option<bool>,
    pub(super) loaded: Option<Vec<PathBuf>>,
    #[serde(borrow)]
    pub(super) state: Option<&'a RawValue>,
    pub(super) call: Option<u64>,
}

/// `Some(null)` for a member that is there and null.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}
