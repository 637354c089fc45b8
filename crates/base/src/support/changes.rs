//! Changes of a text.

use std::ops::Range;

/// A part of a text, in bytes, and what takes its place.
pub type Change = (Range<usize>, String);

/// The text with all changes, which must not overlap.
pub fn apply(text: &str, changes: &[Change]) -> String {
    let mut changes: Vec<_> = changes.iter().collect();
    changes.sort_by_key(|(span, _)| span.start);
    let mut changed = text.to_string();
    for (span, new) in changes.iter().rev() {
        if changed.get(span.clone()).is_some() {
            changed.replace_range(span.clone(), new);
        }
    }
    changed
}
