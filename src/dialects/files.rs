//! Shared by the readers of other systems' definition files: problems, and nodes that keep the place
//! where their original is written.

use crate::support::nearest::closest;
use crate::syntax::diagnostic::Severity;
use crate::syntax::node::{Entry, Node, NodeValue, Span};
use crate::syntax::problem::Problem;

/// A mistake that keeps the hook or the file from being in force.
pub(super) fn error(span: &Span, code: &'static str, message: impl Into<String>, help: Option<String>) -> Problem {
    Problem { span: span.clone(), severity: Severity::Error, code, message: message.into(), help, hook: None }
}

/// A mistake that leaves the hook in force.
pub(super) fn warning(span: &Span, code: &'static str, message: impl Into<String>, help: Option<String>) -> Problem {
    Problem { severity: Severity::Warning, ..error(span, code, message, help) }
}

/// A value of another type than it has to be.
pub(super) fn wrong_type(node: &Node, what: &str, expected: &str) -> Problem {
    error(&node.span, "wrong-type", format!("{what} is {expected}, found {}", node.kind()), None)
}

/// The help for a word that isn't known, if it is nearly one that is.
pub(super) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(word, known).map(|nearest| format!("did you mean `{nearest}`?"))
}

/// The same, with all that there are where none is near.
pub(super) fn one_of(word: &str, known: &[&str]) -> Option<String> {
    did_you_mean(word, known.iter().copied()).or_else(|| Some(format!("there are {}", known.join(", "))))
}

/// A member whose key and value stand at one place.
pub(super) fn entry(key: &str, span: &Span, value: NodeValue) -> Entry {
    Entry { key: key.to_string(), key_span: span.clone(), value: Node { span: span.clone(), value } }
}

/// A member under another key.
pub(super) fn renamed(it: &Entry, key: &str) -> Entry {
    Entry { key: key.to_string(), ..it.clone() }
}

/// A text as a value.
pub(super) fn text(text: impl Into<String>) -> NodeValue {
    NodeValue::String(text.into())
}
