//! Texts of others on a terminal, in a log or in an editor, so that nothing in them can hide or
//! reorder what stands around it.

use std::borrow::Cow;

/// Whether a character can't be seen, or changes where others are shown.
pub fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            // The last of these selectors makes the sign before it an emoji.
            | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a character moves the cursor, is obeyed by a terminal, or can't be seen.
pub fn is_unsafe(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// The beginning of a text, with `…` where it goes on.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The beginning of a text's first line.
pub fn first_line_cut(text: &str, most: usize) -> String {
    cut(text.lines().next().unwrap_or_default(), most)
}

/// A text on one line, in which what could move the cursor or reorder characters is spelt out.
pub fn safe(text: &str) -> String {
    spelt_out(text, |c| match c {
        '\n' | '\t' => Some(' '),
        _ => None,
    })
    .into_owned()
}

/// A text of several lines with what a terminal would obey spelt out; the lines stay.
pub fn safe_lines(text: &str) -> Cow<'_, str> {
    spelt_out(text, |c| matches!(c, '\n' | '\t').then_some(c))
}

/// A text in which what is unsafe is spelt out, but for what is `kept` as another character.
fn spelt_out(text: &str, kept: impl Fn(char) -> Option<char>) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match kept(c) {
            Some(kept) => shown.push(kept),
            None if is_unsafe(c) => shown.extend(c.escape_unicode()),
            None => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// JSON that says the same, in which texts spell out what can't be seen.
pub fn safe_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(|c| is_unsafe(c) && c != '\n') {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        // Outside of texts, JSON has no such character but these.
        if is_unsafe(c) && !matches!(c, '\n' | '\t' | '\r') {
            c.encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| shown.push_str(&format!("\\u{unit:04x}")));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of each kind, one.
    pub const HOSTILE: &str = "a\u{1b}[31mb\u{202e}c\rd\u{0}e\u{9b}f\u{200b}g\u{e0041}h\u{e0101}i\u{7f}j\u{2028}k\u{ad}l\u{3164}m\n\tn";

    #[test]
    fn nothing_unsafe_is_left() {
        let one = safe(HOSTILE);
        assert!(!one.chars().any(is_unsafe), "{one:?}");
        assert!(
            one.starts_with(
                "a\\u{1b}[31mb\\u{202e}c\\u{d}d\\u{0}e\\u{9b}f\\u{200b}g\\u{e0041}h\\u{e0101}i"
            ),
            "{one}"
        );
        let lines = safe_lines(HOSTILE);
        assert!(
            lines
                .chars()
                .all(|c| !is_unsafe(c) || c == '\n' || c == '\t')
                && lines.ends_with("m\n\tn"),
            "{lines:?}"
        );
        assert!(matches!(safe_lines("plain ⚠️ text, é"), Cow::Borrowed(_)));
        let json = serde_json::to_string(HOSTILE).unwrap();
        let shown = safe_json(&json);
        assert!(!shown.chars().any(is_unsafe), "{shown:?}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), HOSTILE);
    }
}
