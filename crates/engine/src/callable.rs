//! Which tools may be called at all, so that a list of tools can leave out the others.
//!
//! A tool is left out only where a fixed deny or a policy holds for each of its calls, whatever the
//! input. All others may be called, and each call is judged.

use crate::hook_set::HookSet;
use hookwire_base::event::{Event, NotAnEvent};
use hookwire_rules::matching::Facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// The tools that may be called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallableTools {
    /// The generation in force.
    pub generation: u64,
    /// Those of the tools that were asked about.
    pub callable: Vec<String>,
}

/// The event before a call of a tool, of which nothing but this is known.
///
/// # Errors
/// There can be no such event.
pub fn call_of(tool: &str, agent: Option<&str>) -> Result<Event, NotAnEvent> {
    Event::from_json(json!({
        "event": "PreToolUse",
        "tool": { "name": tool, "input": {} },
        "agent": { "name": agent },
    }))
}

/// Whether a call of a tool may be allowed, by hooks of these sets.
pub fn is_callable<'s>(
    sets: impl IntoIterator<Item = &'s HookSet>,
    call: Event,
    root: &Path,
) -> bool {
    let mut sets = sets.into_iter().peekable();
    let Some(first) = sets.peek() else {
        return true;
    };
    let facts = Facts::new(Arc::new(call), root).with_names(&first.tool_names);
    !sets.any(|set| {
        let mut hooks = set.hooks.iter();
        let mut policies = set.policies.iter();
        hooks.any(|hook| hook.denies_every_call_of(&facts))
            || policies.any(|policy| policy.denies_every_call(&facts))
    })
}
