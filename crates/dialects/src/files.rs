//! Shared by the readers of other systems' definition files: problems, and nodes that keep the
//! place where their original is written.

use hookwire_base::support::nearest::closest;
use hookwire_base::syntax::node::{Entry, Node, NodeValue, Span};
use hookwire_base::syntax::problem::Problem;

/// A mistake that keeps the hook or the file from being in force.
pub(super) fn error_at(
    span: &Span,
    code: &'static str,
    message: impl Into<String>,
    help: Option<String>,
) -> Problem {
    Problem {
        help,
        ..Problem::error(span, code, message)
    }
}

/// A mistake that leaves the hook in force.
pub(super) fn warning_at(
    span: &Span,
    code: &'static str,
    message: impl Into<String>,
    help: Option<String>,
) -> Problem {
    Problem {
        help,
        ..Problem::warning(span, code, message)
    }
}

/// A value of another type than it has to be.
pub(super) fn wrong_type(node: &Node, what: &str, expected: &str) -> Problem {
    error_at(
        &node.span,
        "wrong-type",
        format!("{what} is {expected}, found {}", node.kind()),
        None,
    )
}

/// A word that isn't known, with the known one that is nearest.
pub(super) fn unknown_word<'a>(
    span: &Span,
    code: &'static str,
    message: String,
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Problem {
    Problem::error(span, code, message).did_you_mean(word, closest(word, known))
}

/// A member whose key and value stand at one place.
pub(super) fn make_entry(key: &str, span: &Span, value: NodeValue) -> Entry {
    Entry {
        key: key.to_string(),
        key_span: span.clone(),
        value: Node {
            span: span.clone(),
            value,
        },
    }
}

/// A member under another key.
pub(super) fn rename_entry(it: &Entry, key: &str) -> Entry {
    Entry {
        key: key.to_string(),
        ..it.clone()
    }
}

/// A text as a value.
pub(super) fn text_value(text: impl Into<String>) -> NodeValue {
    NodeValue::String(text.into())
}
