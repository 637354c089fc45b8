//! What a kind of handler is: the trait, and what a kind says of itself for people and editors.

use super::call::{Call, HookView};
use super::compile::{Compile, Mistake};
use super::effect::Effect;
use super::environment::Secrets;
use super::error::HandlerError;
use super::means::{Means, Obstacle};
use super::said::Redactor;
use hookwire_base::event::On;
use hookwire_base::syntax::node::{Node, NodeValue, Step};
use hookwire_base::verdict::{Answer, Decision};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One kind of handler.
pub trait Kind: std::fmt::Debug + Sized + Send + Sync {
    /// What the definition's key may hold.
    type Raw: DeserializeOwned + JsonSchema;

    /// Whether it can be defined in a file.
    const IN_FILES: bool = true;

    /// Whether it may only run where its hook certainly applies: a change of what was never meant
    /// does harm. Only a `fail` of the hook itself says otherwise, not its file's.
    const NEEDS_CERTAINTY: bool = false;

    /// What the texts of its definition are, by where they stand. A place is the keys on the way,
    /// with dots between them; `*` stands for any key or item, `#` for an item that isn't the
    /// first, `**` for any way.
    const TEXTS: &'static [(&'static str, TextKind)] = &[];

    /// What a text of its definition is, by the way to it; items of lists are `0` and `#`.
    fn text_kind(path: &[&str]) -> Option<TextKind> {
        Self::TEXTS
            .iter()
            .find(|(place, _)| leads_to(place, path))
            .map(|(_, kind)| *kind)
    }

    /// Checks what was written.
    fn compile(raw: Self::Raw, cx: &Compile<'_>) -> Result<Self, Mistake>;

    /// Carries the hook out once.
    fn run(&self, call: &Call<'_>) -> impl Future<Output = Result<Answer, HandlerError>> + Send;

    /// Whether a run does anything beyond its answer: it starts, sends, asks, writes or counts.
    /// Where it may have happened already, in a host that doesn't answer, it isn't done again.
    fn has_effects(&self) -> bool {
        true
    }

    /// What that does beyond looking at the event, to be shown.
    fn effect(&self) -> Option<Effect> {
        None
    }

    /// What is known to keep a run from working, with these means.
    fn obstacle(&self, _hook: &HookView<'_>, _means: &Means) -> Option<Obstacle> {
        None
    }

    /// What of its answers counts only if somebody waits for it, at these events: it is nothing for
    /// a handler that may do something else.
    fn awaited(&self, _on: &On) -> Option<&'static str> {
        None
    }

    /// How long a run may take where neither the hook nor its file says, if longer than others.
    fn default_timeout(&self) -> Option<Duration> {
        None
    }

    /// Whether its own rewrite leaves it nothing to rewrite.
    fn is_idempotent(&self) -> bool {
        false
    }

    /// What it takes out of what passes, if it does: then a failure must not let it pass.
    fn redactor(&self) -> Option<Redactor> {
        None
    }

    /// Whether its answer depends on what it has counted or seen before.
    fn counts(&self) -> bool {
        false
    }

    /// Whether its rules over files are held against what a call does by any means.
    fn judges_acts(&self) -> bool {
        false
    }

    /// Whether it is asked about programs that start, below a tool's call.
    fn judges_starts(&self) -> bool {
        false
    }

    /// The files that a run starts or loads, as far as the definition names them; a relative one
    /// starts where the hook runs. `root` is the project's.
    fn files(&self, root: &Path) -> Vec<PathBuf> {
        let _ = root;
        Vec::new()
    }

    /// The programs that a run looks for by name, as far as the definition says.
    fn programs(&self) -> Vec<String> {
        Vec::new()
    }

    /// The file that it writes.
    fn writes(&self) -> Option<&Path> {
        None
    }

    /// What must not be in its answers and errors.
    fn secrets(&self) -> Vec<&Secrets> {
        Vec::new()
    }

    /// The decision and reason, if every run has the same.
    fn fixed(&self) -> Option<(Decision, &str)> {
        None
    }
}

/// What a text of a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// Filled in with what the event says, with the placeholders of the hook's vocabulary.
    Template,
    /// Filled in with what the event says, with hookwire's own placeholders whatever the
    /// vocabulary.
    NativeTemplate,
    /// A CEL expression over the event.
    Expression,
    /// A regex.
    Regex,
    /// A file, from the definition's directory.
    File,
}

/// Whether a place, written as for [`Kind::TEXTS`], is where a path leads.
fn leads_to(place: &str, path: &[&str]) -> bool {
    let (first, rest) = place.split_once('.').unwrap_or((place, ""));
    match (first, path) {
        ("", path) => path.is_empty(),
        ("**", _) => true,
        (_, []) => false,
        (word, [key, path @ ..]) => (word == "*" || word == *key) && leads_to(rest, path),
    }
}

/// Every text of a value with the way to it, as [`Kind::text_kind`] reads it. The parser bounds the
/// depth.
pub(super) fn each_text<'n>(
    node: &'n Node,
    path: &mut Vec<&'n str>,
    visit: &mut impl FnMut(&[&'n str], &'n Node),
) {
    if let NodeValue::String(_) = node.value {
        visit(path, node);
    }
    for (step, child) in node.children() {
        path.push(match step {
            Step::Key(key) => key,
            Step::Index(0) => "0",
            Step::Index(_) => "#",
        });
        each_text(child, path, visit);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::leads_to;

    #[test]
    fn places() {
        for (place, path, expected) in [
            ("", "", true),
            ("", "text", false),
            ("text", "text", true),
            ("text", "", false),
            ("text", "text a", false),
            ("#", "#", true),
            ("#", "0", false),
            ("run.#", "run #", true),
            ("headers.*", "headers a", true),
            ("headers.*", "headers a b", false),
            ("body.**", "body", true),
            ("body.**", "body a 0 b", true),
            ("body.**", "url", false),
        ] {
            let path: Vec<&str> = path.split_whitespace().collect();
            assert_eq!(leads_to(place, &path), expected, "{place} {path:?}");
        }
    }
}
