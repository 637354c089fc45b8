//! What is wrong with a definition file.
//!
//! A [`Diagnostic`] names file, place and hook. It is serialised for clients and editors; the
//! command line writes it with the lines it is about. [`LineIndex`] translates byte offsets to the
//! ways people and editors count.

use std::sync::Arc;

use memchr::memchr2_iter;
use schemars::JsonSchema;
use serde::Serialize;

use super::fix::Fix;
use super::node::Span;

/// One remark about one place of a definition file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// The path of the file, as it was given to the loader.
    pub file: String,
    /// How much it matters.
    pub severity: Severity,
    /// Says what kind of remark it is and never changes, e.g. `unknown-field`.
    pub code: String,
    /// Lowercase, no full stop.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The name of the hook in which it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// Where it is.
    pub range: Range,
    /// Where it is, in bytes.
    #[serde(skip)]
    pub span: Span,
    /// Edits that mend it, the best one first.
    #[serde(skip)]
    pub fixes: Vec<Fix>,
    /// Another place that it is about, `file:line`.
    #[serde(skip)]
    pub other_place: Option<String>,
}

/// How much a remark matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The hook, or the whole file, is not in force.
    Error,
    /// In force, but probably not as meant.
    Warning,
    /// In force and as meant; there is a better way.
    Hint,
}

/// From the first character up to, not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Range {
    /// The first character.
    pub start: Position,
    /// Just behind the last character.
    pub end: Position,
}

/// A place as people count it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct Position {
    /// The first line is 1.
    pub line: usize,
    /// In characters (Unicode scalar values); the first column is 1.
    pub column: usize,
}

impl Diagnostic {
    /// `file:line:column: message (help)`, for logs and verdicts.
    pub fn one_line(&self) -> String {
        let Position { line, column } = self.range.start;
        // An empty place at the start is the file, or directory, as a whole.
        let place = if self.span == (0..0) {
            String::new()
        } else {
            format!(":{line}:{column}")
        };
        let help = self
            .help
            .as_deref()
            .map(|help| format!(" ({help})"))
            .unwrap_or_default();
        format!("{}{place}: {}{help}", self.file, self.message)
    }
}

/// All remarks about some definitions. Each is kept once, however many hold them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostics(Arc<[Arc<Diagnostic>]>);

impl Diagnostics {
    /// Each of them, in the order of files and places.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter().map(|it| &**it)
    }

    /// With these behind them.
    pub fn with(&self, more: &[Arc<Diagnostic>]) -> Diagnostics {
        self.0.iter().chain(more).cloned().collect()
    }

    /// How many errors and warnings there are: a hint is neither.
    pub fn n_mistakes(&self) -> usize {
        self.iter()
            .filter(|it| it.severity != Severity::Hint)
            .count()
    }
}

impl FromIterator<Arc<Diagnostic>> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Arc<Diagnostic>>>(all: I) -> Diagnostics {
        Diagnostics(all.into_iter().collect())
    }
}

/// Finds lines and columns in a text. Made once per text: a look-up reads one line only.
///
/// Lines end in `\n`, `\r\n` or `\r`. A byte-order mark at the start is no column. An offset past
/// the end counts as the end, one inside a character as its start.
#[derive(Clone, Debug)]
pub struct LineIndex<'a> {
    text: &'a str,
    /// Where each line starts; the first entry is behind the byte-order mark.
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    /// Reads the whole text once.
    pub fn new(text: &'a str) -> LineIndex<'a> {
        let mut starts = vec![if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        }];
        let bytes = text.as_bytes();
        let ends = memchr2_iter(b'\n', b'\r', bytes);
        starts.extend(
            ends.filter(|at| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'))
                .map(|at| at + 1),
        );
        LineIndex { text, starts }
    }

    /// The text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The place as people count it.
    pub fn position(&self, offset: usize) -> Position {
        let (line, before) = self.line_up_to(offset);
        Position {
            line: line + 1,
            column: before.chars().count() + 1,
        }
    }

    /// Both ends of a span as people count them.
    pub fn range(&self, span: &Span) -> Range {
        Range {
            start: self.position(span.start),
            end: self.position(span.end.max(span.start)),
        }
    }

    /// Line and UTF-16 column, both from 0: how editors count unless told otherwise.
    pub fn utf16(&self, offset: usize) -> (usize, usize) {
        let (line, before) = self.line_up_to(offset);
        (line, before.encode_utf16().count())
    }

    /// Line and column in bytes, both from 0.
    pub fn utf8(&self, offset: usize) -> (usize, usize) {
        let (line, before) = self.line_up_to(offset);
        (line, before.len())
    }

    /// The way back from [`LineIndex::utf16`]. A column past the end of the line means its end.
    pub fn offset_of_utf16(&self, line: usize, column: usize) -> usize {
        let Some(&start) = self.starts.get(line) else {
            return self.text.len();
        };
        let mut n_units = 0;
        for (at, character) in self.line(line).char_indices() {
            n_units += character.len_utf16();
            if n_units > column {
                return start + at;
            }
        }
        start + self.line(line).len()
    }

    /// The way back from [`LineIndex::utf8`]. A column inside a character means its start.
    pub fn offset_of_utf8(&self, line: usize, column: usize) -> usize {
        let Some(&start) = self.starts.get(line) else {
            return self.text.len();
        };
        let text = self.line(line);
        let mut column = column.min(text.len());
        while !text.is_char_boundary(column) {
            column -= 1;
        }
        start + column
    }

    /// The text of a line, counted from 0, without what ends it. Empty if there is no such line.
    pub fn line(&self, line: usize) -> &'a str {
        let Some(&start) = self.starts.get(line) else {
            return "";
        };
        let end = self
            .starts
            .get(line + 1)
            .copied()
            .unwrap_or(self.text.len());
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }

    fn line_up_to(&self, offset: usize) -> (usize, &'a str) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self
            .starts
            .partition_point(|&start| start <= offset)
            .saturating_sub(1);
        // An offset inside the byte-order mark lies before the first line.
        (line, self.text.get(self.starts[line]..offset).unwrap_or(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "hooks:\r\n  - näme: a\u{202e}b\r\n    mathcer: Bash\r\n";

    fn diagnostic(text: &str, written: &str) -> Diagnostic {
        let start = text.find(written).expect("it is written there");
        at(start..start + written.len(), &LineIndex::new(text))
    }

    fn at(span: Span, index: &LineIndex<'_>) -> Diagnostic {
        Diagnostic {
            file: "a/guard.yaml".to_owned(),
            severity: Severity::Error,
            code: "unknown-field".to_owned(),
            message: "unknown field `x`".to_owned(),
            help: None,
            hook: None,
            range: index.range(&span),
            span,
            fixes: Vec::new(),
            other_place: None,
        }
    }

    #[test]
    fn lines_and_columns() {
        let text = "\u{feff}aé😀b\r\nc\rd\n";
        let index = LineIndex::new(text);
        // Offset, line and column for people, UTF-16 column, UTF-8 column.
        let cases = [
            (0, (1, 1), 0, 0),
            (3, (1, 1), 0, 0),
            (4, (1, 2), 1, 1),
            (5, (1, 2), 1, 1),
            (6, (1, 3), 2, 3),
            (10, (1, 4), 4, 7),
            (13, (2, 1), 0, 0),
            (15, (3, 1), 0, 0),
            (17, (4, 1), 0, 0),
            (99, (4, 1), 0, 0),
        ];
        for (offset, (line, column), utf16, utf8) in cases {
            assert_eq!(
                index.position(offset),
                Position { line, column },
                "{offset}"
            );
            assert_eq!(index.utf16(offset), (line - 1, utf16), "{offset}");
            assert_eq!(index.utf8(offset), (line - 1, utf8), "{offset}");
        }
        let back = [
            ((0, 0), 3),
            ((0, 2), 6),
            ((0, 3), 6),
            ((0, 4), 10),
            ((0, 99), 11),
            ((9, 0), 17),
        ];
        for ((line, column), expected) in back {
            assert_eq!(
                index.offset_of_utf16(line, column),
                expected,
                "{line}:{column}"
            );
        }
    }

    #[test]
    fn the_wire_form() {
        let json = serde_json::to_value(diagnostic(TEXT, "mathcer")).expect("it serialises");
        let range = serde_json::json!({
            "start": {"line": 3, "column": 5},
            "end": {"line": 3, "column": 12},
        });
        let expected = serde_json::json!({
            "file": "a/guard.yaml", "severity": "error", "code": "unknown-field",
            "message": "unknown field `x`", "range": range,
        });
        assert_eq!(json, expected);
    }
}
