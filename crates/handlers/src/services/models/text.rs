//! Texts from outside, made fit for a message.

use hookwire_base::support::visible::is_invisible;

/// A text from outside in one line of at most so many characters.
pub fn clean(text: &str, max: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control() || is_invisible(c));
    let line = words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    match line.char_indices().nth(max) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_from_outside() {
        assert_eq!(clean("a\n\u{1b}[31mb\u{202e}c\t d", 99), "a [31mb c d");
        assert_eq!(clean("äöü", 2), "äö...");
    }
}
