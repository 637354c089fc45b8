//! What events are, in a line.

use crate::event::{Phase, spec};

/// Whether an event is about a tool. A custom event may be.
pub(super) fn is_about_tool(event: &str) -> bool {
    let Some(spec) = spec(event) else { return true };
    spec.subject.is_some_and(|it| it.starts_with("/tool")) || ["Tool", "Permission"].iter().any(|it| event.contains(it))
}

/// An event in a line, and what hooks may do there.
pub(super) fn about_event(canonical: &str) -> String {
    let Some(spec) = spec(canonical) else { return String::new() };
    let phase = match spec.phase {
        Phase::Gate => "a gate: hooks may block it",
        Phase::After => "after the fact",
        Phase::Note => "hooks are only told",
    };
    format!("{} ({phase})", spec.about)
}
