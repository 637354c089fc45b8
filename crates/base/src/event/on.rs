//! Which events a hook is for.

use super::{EVENTS, EventSpec, PRE_EXEC, Phase, may_be_about_a_tool, spec};
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

    /// Whether it names this event itself, or is for every one; a program's start is meant by its
    /// name only, because hooks for every event would run for every program.
    pub fn is_for(&self, name: &str) -> bool {
        match self {
            On::Every => name != PRE_EXEC,
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

    /// The gates of a tool call.
    pub fn tool_gates() -> impl Iterator<Item = Arc<str>> {
        EVENTS
            .iter()
            .filter(|spec| spec.tool && spec.phase == Phase::Gate)
            .map(|spec| spec.name.into())
    }

    /// Whether one of them may be about a call of a tool: before it, or after.
    pub fn may_be_about_a_tool(&self) -> bool {
        match self {
            On::Every => true,
            On::Names(names) => names.iter().any(|name| may_be_about_a_tool(name)),
        }
    }

    /// Whether one of them is a moment that hooks can block.
    pub fn includes_a_gate(&self) -> bool {
        match self {
            On::Every => true,
            On::Names(names) => names
                .iter()
                .any(|name| spec(name).is_some_and(|spec| spec.phase == Phase::Gate)),
        }
    }

    /// The moments among them that hooks can block.
    pub fn gates(&self) -> Vec<Arc<str>> {
        let is_gate = |spec: &EventSpec| spec.phase == Phase::Gate;
        match self {
            On::Every => EVENTS
                .iter()
                .filter(|it| is_gate(it))
                .map(|spec| spec.name.into())
                .collect(),
            On::Names(names) => names
                .iter()
                .filter(|name| spec(name).is_some_and(is_gate))
                .cloned()
                .collect(),
        }
    }
}
