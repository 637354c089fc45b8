//! Texts of definitions, events and hooks in messages and Markdown: on one line, not too long, and
//! unable to pass for anything else than text. Also numbers in words.

use hookwire_base::support::visible::{cut, is_invisible};
use hookwire_engine::journal::Counts;
use serde_json::Value;

/// The longest text of a hook or an event in a message, in characters.
pub(super) const MAX_QUOTED: usize = 300;
/// How much of a value from an event is shown in Markdown, in characters.
const MAX_SHOWN: usize = 200;

/// A text of a definition, an event or a hook's answer on one line: without what could move a
/// cursor or reorder what stands around it, and at most so many characters of it.
pub(super) fn one_line(text: &str, most: usize) -> String {
    // Blanks would push what follows out of sight.
    let mut is_blank = false;
    let mut characters = text.trim().chars().filter(|c| {
        let was_blank = std::mem::replace(&mut is_blank, c.is_whitespace());
        !(was_blank && is_blank)
    });
    let mut short = String::new();
    for c in characters.by_ref().take(most) {
        match c {
            c if c.is_whitespace() && !is_invisible(c) => short.push(' '),
            c if c.is_control() || is_invisible(c) => short.extend(c.escape_unicode()),
            c => short.push(c),
        }
    }
    if characters.next().is_some() {
        short.truncate(short.trim_end().len());
        short.push('…');
    }
    short
}

/// A text as it is, over several lines, but without what could move a cursor or reorder what stands
/// around it.
pub(super) fn shown_lines(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for c in cut(text.trim_end(), most).chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if c.is_control() || is_invisible(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// A value as text, not too long.
pub(super) fn clip_value(value: &Value) -> String {
    match value {
        Value::String(text) => clipped_text(text),
        other => clipped_text(&other.to_string()),
    }
}

pub(super) fn clipped_text(text: &str) -> String {
    cut(text, MAX_SHOWN)
}

fn code_fence(text: &str, least: usize) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    "`".repeat(least.max(longest + 1))
}

/// A text as a code span of Markdown; nothing in the text ends the span.
pub(super) fn code_span(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| {
            if c.is_control() || is_invisible(c) {
                ' '
            } else {
                c
            }
        })
        .collect();
    let fence = code_fence(&text, 1);
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) || text.is_empty() {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A text as a code block of Markdown; nothing in the text ends the block.
pub(super) fn code_block(text: &str) -> String {
    let fence = code_fence(text, 3);
    format!("{fence}\n{text}\n{fence}")
}

/// The counts of a hook in words; `None` when no event was seen at all.
pub(super) fn counts_in_words(counts: &Counts, was_any_seen: bool) -> Option<String> {
    let Counts {
        matched,
        denied,
        asked,
        rewrote,
        failed,
        observed,
    } = *counts;
    let matched = match matched {
        0 => None,
        1 => Some("matched once".to_string()),
        n => Some(format!("matched {n} times")),
    };
    let others = [
        ("denied", denied),
        ("asked", asked),
        ("rewrote", rewrote),
        ("failed", failed),
        ("observed", observed),
    ];
    let others = others
        .into_iter()
        .filter(|(_, n)| *n > 0)
        .map(|(what, n)| format!("{what} {n}"));
    let parts: Vec<_> = matched.into_iter().chain(others).collect();
    match parts.len() {
        0 => was_any_seen.then(|| "never matched".into()),
        _ => Some(parts.join(", ")),
    }
}

/// A message with quotes where it has the backticks of Markdown, for places that show text as it
/// is: diagnostics, titles, notifications.
pub(super) fn plain_quotes(message: &str) -> String {
    let mut parts = message.split('`').peekable();
    let mut plain = String::with_capacity(message.len());
    let mut is_open = false;
    while let Some(part) = parts.next() {
        plain.push_str(part);
        if parts.peek().is_some() {
            plain.push(if is_open { '”' } else { '“' });
            is_open = !is_open;
        }
    }
    // One that has no other is no quote.
    if is_open { message.to_string() } else { plain }
}

/// The first and the last of a text that is longer than so many characters, because what tells it
/// from others may be at either end.
pub(super) fn both_ends(text: &str, most: usize) -> String {
    let n = text.chars().count();
    if n <= most {
        return text.to_string();
    }
    let tail = most / 3;
    let head: String = text.chars().take(most.saturating_sub(tail + 1)).collect();
    let tail: String = text.chars().skip(n - tail).collect();
    format!("{}…{}", head.trim_end(), tail.trim_start())
}

/// A text that Markdown shows as it is.
pub(super) fn escape_markdown(text: &str) -> String {
    let mut escaped = String::new();
    for c in one_line(text, usize::MAX).chars() {
        if "\\`*_{}[]()#+-.!|<>~$&".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_plain() {
        for (text, most, expected) in [
            ("  a\nb\tc ", 9, "a b c"),
            ("abcdef", 3, "abc…"),
            ("é😀x", 2, "é😀…"),
            ("\u{1b}[31m\u{202e}x", 9, "\\u{1b}[31m\\u{202e}x"),
            ("", 0, ""),
        ] {
            assert_eq!(one_line(text, most), expected);
        }
    }

    #[test]
    fn what_is_shown_as_it_is_has_no_markup() {
        for (message, expected) in [
            (
                "unknown event `Stpo`: did you mean `Stop`?",
                "unknown event “Stpo”: did you mean “Stop”?",
            ),
            ("a ` b", "a ` b"),
            ("``", "“”"),
            ("none", "none"),
        ] {
            assert_eq!(plain_quotes(message), expected);
        }
        assert_eq!(
            both_ends("check-the-payments-of-the-shop", 20),
            "check-the-pay…e-shop"
        );
        assert_eq!(both_ends("short", 5), "short");
    }

    #[test]
    fn what_a_hook_has_done_in_words() {
        let counts = |matched, denied, asked, rewrote, failed| {
            let observed = failed;
            Counts {
                matched,
                denied,
                asked,
                rewrote,
                failed,
                observed,
            }
        };
        for (counts, was_any_seen, expected) in [
            (counts(0, 0, 0, 0, 0), false, None),
            (counts(0, 0, 0, 0, 0), true, Some("never matched")),
            (counts(1, 0, 0, 0, 0), true, Some("matched once")),
            (
                counts(12, 2, 0, 0, 0),
                true,
                Some("matched 12 times, denied 2"),
            ),
            (
                counts(9, 0, 1, 2, 3),
                false,
                Some("matched 9 times, asked 1, rewrote 2, failed 3, observed 3"),
            ),
        ] {
            assert_eq!(counts_in_words(&counts, was_any_seen).as_deref(), expected);
        }
    }
}
