//! Texts as they are written: where each character of a value stands in its file.

use super::formats::Format;
use super::node::{Node, NodeValue, Span};
use std::ops::Range;

/// The characters of a value's text that are more than white space, each with where it is written,
/// as far as it is. Escapes are understood; formats indent and fold white space.
pub struct Written(Vec<(Range<usize>, Span)>);

impl Written {
    /// Nothing unless the value is a text.
    pub fn of_node(node: &Node, file: &str, format: Format) -> Written {
        let NodeValue::String(text) = &node.value else {
            return Written(Vec::new());
        };
        let source = file.get(node.span.clone()).unwrap_or_default();
        let mut source = Source::new(source, text, format);
        let mut places = Vec::new();
        for (at, c) in text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
            match source.find(|(_, found)| !found.is_whitespace()) {
                Some((span, found)) if found == c => {
                    let span = node.span.start + span.start..node.span.start + span.end;
                    places.push((at..at + c.len_utf8(), span));
                }
                _ => break,
            }
        }
        Written(places)
    }

    /// Where a part of the text is written, one place a line.
    pub fn lines(&self, part: &Range<usize>, file: &str) -> Vec<Span> {
        let first = self.0.partition_point(|(at, _)| at.start < part.start);
        let mut lines: Vec<Span> = Vec::new();
        for (_, span) in self
            .0
            .iter()
            .skip(first)
            .take_while(|(at, _)| at.end <= part.end)
        {
            let goes_on = |last: &&mut Span| {
                file.get(last.end..span.start)
                    .is_some_and(|it| !it.contains(['\n', '\r']))
            };
            match lines.last_mut().filter(goes_on) {
                Some(last) => last.end = span.end,
                None => lines.push(span.clone()),
            }
        }
        lines
    }

    /// The whole text without what is around it, if all of it is written as it is.
    pub fn whole(&self, text: &str) -> Option<Span> {
        let ((_, first), (at, last)) = (self.0.first()?, self.0.last()?);
        (at.end == text.trim_end().len()).then_some(first.start..last.end)
    }

    /// The byte of the text that is written at a place, or ends there.
    pub fn text_offset(&self, place: usize) -> Option<usize> {
        let (at, span) = self
            .0
            .get(self.0.partition_point(|(_, span)| span.end < place))?;
        (span.start <= place).then_some(if span.end == place { at.end } else { at.start })
    }
}

/// The characters of a value as it is written, with their places.
struct Source<'s> {
    text: &'s str,
    at: usize,
    quote: Quote,
}

#[derive(Clone, Copy, PartialEq)]
enum Quote {
    /// As it is.
    None,
    /// YAML's: two stand for one.
    Single,
    /// With escapes.
    Double,
}

impl<'s> Source<'s> {
    /// What is written for a value, which tells a quote around it from one of its own: the place of
    /// a YAML block is that of its first character.
    fn new(text: &'s str, value: &str, format: Format) -> Source<'s> {
        let inner = text.get(1..).unwrap_or_default().trim_start();
        let is_own = |quote: char, escaped: &str| {
            value.trim_start().starts_with(quote) && !inner.starts_with(escaped)
        };
        let (at, quote) = match (text.as_bytes(), format) {
            ([b'"', b'"', b'"', ..], Format::Toml) => (3, Quote::Double),
            ([b'\'', b'\'', b'\'', ..], Format::Toml) => (3, Quote::None),
            ([b'\'', ..], Format::Toml) => (1, Quote::None),
            ([b'\'', ..], Format::Yaml) if !is_own('\'', "''") => (1, Quote::Single),
            ([b'"', ..], Format::Yaml) if !is_own('"', "\\") => (1, Quote::Double),
            ([b'"', ..], Format::Toml | Format::Json) => (1, Quote::Double),
            _ => (0, Quote::None),
        };
        Source { text, at, quote }
    }
}

impl Iterator for Source<'_> {
    type Item = (Span, char);

    fn next(&mut self) -> Option<(Span, char)> {
        let rest = self.text.get(self.at..)?;
        let c = rest.chars().next()?;
        let (c, len) = match (self.quote, c) {
            (Quote::Single, '\'') if rest.starts_with("''") => ('\'', 2),
            (Quote::Double, '\\') => escape(rest)?,
            _ => (c, c.len_utf8()),
        };
        let start = self.at;
        self.at += len;
        Some((start..self.at, c))
    }
}

/// The character that an escape stands for, and its length.
fn escape(text: &str) -> Option<(char, usize)> {
    let hex = |from: usize, n: usize| u32::from_str_radix(text.get(from..from + n)?, 16).ok();
    let kind = text.chars().nth(1)?;
    let c = match kind {
        'n' | 'r' | 't' | 'v' | 'f' | '\n' | '\r' | 'N' | 'L' | 'P' | '_' => ' ',
        'x' => return Some((char::from_u32(hex(2, 2)?)?, 4)),
        'U' => return Some((char::from_u32(hex(2, 8)?)?, 10)),
        'u' => {
            let high = hex(2, 4)?;
            if let (0xd800..0xdc00, Some("\\u"), Some(low @ 0xdc00..0xe000)) =
                (high, text.get(6..8), hex(8, 4))
            {
                return Some((
                    char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))?,
                    12,
                ));
            }
            return Some((char::from_u32(high)?, 6));
        }
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' => '\u{1b}',
        '0' => '\0',
        other => other,
    };
    Some((c, 1 + kind.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::formats::parse;

    #[test]
    fn characters_have_their_places() {
        for (format, file, part, expected) in [
            (Format::Yaml, "a: one two", "two", "two"),
            (Format::Yaml, "a: 'it''s two'", "two", "two"),
            (Format::Yaml, "a: '''two'", "two", "two"),
            (
                Format::Yaml,
                "a: \"x \\\"two\\\" y\"",
                "\"two\"",
                "\\\"two\\\"",
            ),
            (
                Format::Yaml,
                "a: |\n  one\n  two\n  three\n",
                "two\nthree",
                "two/three",
            ),
            (Format::Yaml, "a: >-\n  one\n  two", "one two", "one/two"),
            (Format::Yaml, "a: |\n  \"one\" two\n", "two", "two"),
            (Format::Yaml, "a: |\n  'one' two\n", "two", "two"),
            (Format::Yaml, "a: |\n  > one two\n", "> one", "> one"),
            (Format::Yaml, "a: \"\\\"one\\\" two\"", "two", "two"),
            (Format::Yaml, "a: '''one'' two'", "two", "two"),
            (
                Format::Json,
                r#"{"a": "\"\u00e9\ud83d\ude00\ntwo"}"#,
                "\u{e9}\u{1f600}",
                "\\u00e9\\ud83d\\ude00",
            ),
            (Format::Json, r#"{"a": "x\\\"two"}"#, "two", "two"),
            (Format::Toml, "a = 'C:\\two'", "two", "two"),
            (Format::Toml, "a = '''\n''two'''", "two", "two"),
            (
                Format::Toml,
                "a = \"\"\"\none \\\n   two\"\"\"",
                "two",
                "two",
            ),
            (Format::Toml, "a = \"\\ttwo\\u0041\"", "twoA", "two\\u0041"),
        ] {
            let root = parse(file, format).unwrap();
            let node = root.get("a").unwrap();
            let NodeValue::String(text) = &node.value else {
                panic!("{file}")
            };
            let at = text.find(part).unwrap();
            let lines = Written::of_node(node, file, format).lines(&(at..at + part.len()), file);
            let found: Vec<&str> = lines.into_iter().map(|it| &file[it]).collect();
            assert_eq!(found.join("/"), expected, "{file}");
        }
    }
}
