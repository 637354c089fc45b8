//! What a guard says of itself beside what any kind of handler does, and the events that guards act
//! at.

use super::super::kind::Kind;
use hookwire_base::event::{EventSpec, Phase};

/// A guard.
pub(super) trait GuardKind: Kind {
    /// Settings as a definition may have them, for people who have written them wrongly.
    const EXAMPLE: &'static str;

    /// The events of a hook that doesn't say `on`.
    const EVENTS: &'static [&'static str];

    /// Whether the guard can do anything at an event.
    fn acts_at(spec: &EventSpec) -> bool;

    /// Whether it can, with its settings.
    fn acts_as_set(&self, spec: &EventSpec) -> bool {
        Self::acts_at(spec)
    }

    /// Whether it may only observe. A guard of the guards themselves may not.
    const MAY_OBSERVE: bool = true;

    /// Whether it learns at an event what it acts on at others, if it must.
    const LEARNS_AT: Option<fn(&EventSpec) -> bool> = None;
}

/// Something has happened, and the event says how.
pub(super) fn reports(spec: &EventSpec) -> bool {
    spec.phase == Phase::After
}

/// The answer can stop something.
pub(super) fn decides(spec: &EventSpec) -> bool {
    spec.phase != Phase::Note
}

/// Something waits for the answer, and a deny prevents it.
pub(super) fn gates(spec: &EventSpec) -> bool {
    spec.phase == Phase::Gate && !spec.rest
}

/// There is something to look through.
pub(super) fn has_subject(spec: &EventSpec) -> bool {
    spec.subject.is_some()
}
