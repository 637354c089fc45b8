//! What differs between two texts, line by line.

use hookwire_base::support::visible::safe;
use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Token};
use std::ops::Range;

/// Lines that stay, around those that change.
const CONTEXT: u32 = 3;

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Added,
    Removed,
    Same,
    /// Lines were left out here.
    Gap,
}

/// The lines that change with some around them, each with its sign, for people.
pub fn line_diff(old: &str, new: &str) -> Vec<(Fate, String)> {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let hunks: Vec<Hunk> = diff.hunks().collect();
    let mut shown = Vec::new();
    for group in hunks.chunk_by(|hunk, next| next.before.start - hunk.before.end <= 2 * CONTEXT) {
        if !shown.is_empty() {
            shown.push((Fate::Gap, "...".into()));
        }
        let mut show = |fate, sign: char, lines: &[Token], range: Range<u32>| {
            let tokens = lines
                .iter()
                .take(range.end as usize)
                .skip(range.start as usize);
            // What a terminal or an editor obeys must not hide what changes.
            let text = |token: &Token| {
                safe(&format!(
                    "{sign} {}",
                    input.interner[*token].trim_end_matches('\n')
                ))
            };
            shown.extend(tokens.map(|token| (fate, text(token))));
        };
        let mut line = group[0].before.start.saturating_sub(CONTEXT);
        for hunk in group {
            show(Fate::Same, ' ', &input.before, line..hunk.before.start);
            show(Fate::Removed, '-', &input.before, hunk.before.clone());
            show(Fate::Added, '+', &input.after, hunk.after.clone());
            line = hunk.before.end;
        }
        show(Fate::Same, ' ', &input.before, line..line + CONTEXT);
    }
    shown
}
