//! What events are, in a line.

use hookwire_base::event::{Phase, spec};

/// An event in a line, and what hooks may do there.
pub(super) fn about_event(canonical: &str) -> String {
    let Some(spec) = spec(canonical) else {
        return String::new();
    };
    let phase = match spec.phase {
        Phase::Gate => "a gate: hooks may block it",
        Phase::After => "after the fact",
        Phase::Note => "hooks are only told",
    };
    format!("{} ({phase})", spec.about)
}
