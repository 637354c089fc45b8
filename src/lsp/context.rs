//! What is written at a place of a definition file, and where in the tree that is.

use crate::definitions::node::{Entry, Node, NodeValue, Span};

/// A place in a tree.
#[derive(Debug)]
pub(super) struct Place<'t> {
    /// The keys and positions that lead there from the root; of a key, those of its map.
    pub(super) path: Vec<Step<'t>>,
    /// What is written there.
    pub(super) what: What<'t>,
}

/// A step down a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'t> {
    /// Into the value of a map's key.
    Key(&'t str),
    /// Into an item of a list.
    Index(usize),
}

/// What is written at a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum What<'t> {
    /// A key with its value.
    Key(&'t Entry),
    /// A value that is neither map nor list.
    Value(&'t Node),
}

impl What<'_> {
    /// Where it is written: the key, or the value.
    pub(super) fn span(&self) -> &Span {
        match self {
            What::Key(entry) => &entry.key_span,
            What::Value(node) => &node.span,
        }
    }
}

/// What is written at a byte of the text. A place just behind it counts.
pub(super) fn at(root: &Node, offset: usize) -> Option<Place<'_>> {
    let mut path = Vec::new();
    let what = find(root, offset, &mut path)?;
    Some(Place { path, what })
}

// The parser bounds the depth. A TOML table's members are outside of its span: each is looked at.
fn find<'t>(node: &'t Node, offset: usize, path: &mut Vec<Step<'t>>) -> Option<What<'t>> {
    let holds = |span: &Span| span.start <= offset && offset <= span.end && !span.is_empty();
    match &node.value {
        NodeValue::Map(entries) => entries.iter().find_map(|entry| {
            if holds(&entry.key_span) {
                return Some(What::Key(entry));
            }
            path.push(Step::Key(&entry.key));
            let found = find(&entry.value, offset, path);
            if found.is_none() {
                path.pop();
            }
            found
        }),
        NodeValue::Seq(items) => items.iter().enumerate().find_map(|(index, item)| {
            path.push(Step::Index(index));
            let found = find(item, offset, path);
            if found.is_none() {
                path.pop();
            }
            found
        }),
        NodeValue::Null
        | NodeValue::Bool(_)
        | NodeValue::Int(_)
        | NodeValue::UInt(_)
        | NodeValue::Float(_)
        | NodeValue::String(_) => holds(&node.span).then_some(What::Value(node)),
    }
}
