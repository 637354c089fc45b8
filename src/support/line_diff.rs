//! What differs between two texts, line by line.

use super::visible::safe;
use similar::{ChangeTag, TextDiff};

/// Lines that stay, around those that change.
const CONTEXT: usize = 3;

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Added,
    Removed,
    Same,
    /// Lines were left out here.
    Gap,
}

/// The lines that change with some around them, each with its sign, for people.
pub(crate) fn line_diff(old: &str, new: &str) -> Vec<(Fate, String)> {
    let lines = TextDiff::from_lines(old, new);
    let mut shown = Vec::new();
    for group in lines.grouped_ops(CONTEXT) {
        if !shown.is_empty() {
            shown.push((Fate::Gap, "...".into()));
        }
        for line in group.iter().flat_map(|op| lines.iter_changes(op)) {
            let (sign, fate) = match line.tag() {
                ChangeTag::Delete => ("-", Fate::Removed),
                ChangeTag::Insert => ("+", Fate::Added),
                ChangeTag::Equal => (" ", Fate::Same),
            };
            // What a terminal or an editor obeys must not hide what changes.
            shown.push((fate, safe(&format!("{sign} {}", line.value().trim_end_matches('\n')))));
        }
    }
    shown
}
