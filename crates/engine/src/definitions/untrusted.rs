//! What becomes of tool calls in a project whose own definitions count in no state that somebody
//! has approved, or have changed since.

use super::approved::DEFINITIONS;
use super::deny_gates::{ask_at_gates, deny_gates};
use super::embedded::compile_json;
use crate::hook::Hook;
use crate::hook_set::{Untrusted, UntrustedRule};
use hookwire_base::support::shell_word;
use hookwire_base::support::visible::safe;
use hookwire_base::syntax::source::Layer;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Definitions of a project that count as nobody has approved them.
pub(super) struct Distrusted {
    /// Its place among the directories of definitions.
    pub(super) index: usize,
    /// The project's root.
    pub(super) root: Arc<Path>,
    /// They have changed since somebody has approved them.
    pub(super) has_changed: bool,
}

/// The definitions that stand in for those of a project; none if its person is only told.
pub(super) fn stand_in(rule: &UntrustedRule, root: &Path, has_changed: bool) -> Option<String> {
    let what = match has_changed {
        true => "have changed since somebody trusted them",
        false => "aren't trusted by anybody",
    };
    let (shown, file) = (root.display(), &rule.file);
    let trust = format!(
        "hookwire trust {}",
        shell_word::argument(&root.to_string_lossy())
    );
    let why = |word: &str, until: &str| {
        safe(&format!(
            "the definitions of {shown} {what}, and {file} says `untrusted: {word}`: {until} `{trust}`"
        ))
    };
    match rule.how {
        Untrusted::Tell => None,
        Untrusted::Ask => {
            let question = why("ask", "this is asked at each call until a person runs");
            Some(ask_at_gates(NAME, &question))
        }
        Untrusted::Deny => {
            let reason = why("deny", "no tool is called until a person runs");
            Some(deny_gates(NAME, &reason))
        }
    }
}

/// The same, compiled.
pub(super) fn hooks(rule: &UntrustedRule, root: &Path, has_changed: bool) -> Vec<Arc<Hook>> {
    let Some(text) = stand_in(rule, root, has_changed) else {
        return Vec::new();
    };
    let file = root.join(DEFINITIONS).display().to_string();
    let definitions: Value = serde_json::from_str(&text).unwrap_or_default();
    let compiled = compile_json(&file, Layer::Project, &definitions["hooks"]);
    compiled
        .hooks
        .into_iter()
        .filter_map(|it| it.hook)
        .collect()
}

/// The name of the hook that stands in for definitions that nobody has trusted.
const NAME: &str = "untrusted";
