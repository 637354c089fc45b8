//! Which events a hook is for.

use super::{Phase, spec};
use std::sync::Arc;

/// The events that a hook is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// `'*'`.
    Every,
    /// These names.
    Names(Vec<Arc<str>>),
}

impl On {
    /// Whether an event of this name is meant.
    pub fn includes(&self, name: &str) -> bool {
        match self {
            On::Every => true,
            On::Names(names) => names.iter().any(|it| **it == *name),
        }
    }

    /// The names for people and clients: `*` is every event.
    pub fn names(&self) -> Vec<Arc<str>> {
        match self {
            On::Every => vec!["*".into()],
            On::Names(names) => names.clone(),
        }
    }

    /// Whether one of them is a moment that hooks can block.
    pub fn includes_a_gate(&self) -> bool {
        match self {
            On::Every => true,
            On::Names(names) => names.iter().any(|name| spec(name).is_some_and(|spec| spec.phase == Phase::Gate)),
        }
    }
}
