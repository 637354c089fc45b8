//! Texts of others on a terminal or in an editor, so that nothing in them can hide or reorder what stands around it.

/// Whether a character can't be seen, or changes where others are shown.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// The beginning of a text, with `…` where it goes on.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The beginning of a text's first line.
pub(crate) fn first_line_cut(text: &str, most: usize) -> String {
    cut(text.lines().next().unwrap_or_default(), most)
}

/// A text on one line, in which what could move the cursor or reorder characters is spelt out.
pub(crate) fn safe(text: &str) -> String {
    text.chars()
        .flat_map(|c| match c {
            '\n' | '\t' => vec![' '],
            c if c.is_control() || is_invisible(c) => c.escape_unicode().collect(),
            c => vec![c],
        })
        .collect()
}
