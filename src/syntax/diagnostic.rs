//! What is wrong with a definition file, and how that is shown.
//!
//! A [`Diagnostic`] names file, place and hook. It is serialised for clients and editors, and
//! [`render`]ed with the lines it is about for a terminal. [`LineIndex`] translates byte offsets
//! to the ways people and editors count.

use std::fmt::Write as _;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use schemars::JsonSchema;
use serde::Serialize;

use super::fix::Fix;
use super::node::Span;
use crate::support::visible::is_unsafe;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
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
        let place = if self.span == (0..0) { String::new() } else { format!(":{line}:{column}") };
        let help = self.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
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

    /// How many errors and warnings there are: a hint is neither.
    pub(crate) fn n_mistakes(&self) -> usize {
        self.iter().filter(|it| it.severity != Severity::Hint).count()
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
        let mut starts = vec![if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }];
        let bytes = text.as_bytes();
        let ends = bytes.iter().enumerate().filter(|&(at, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        starts.extend(ends.map(|(at, _)| at + 1));
        LineIndex { text, starts }
    }

    /// The text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The place as people count it.
    pub fn position(&self, offset: usize) -> Position {
        let (line, before) = self.line_up_to(offset);
        Position { line: line + 1, column: before.chars().count() + 1 }
    }

    /// Both ends of a span as people count them.
    pub fn range(&self, span: &Span) -> Range {
        Range { start: self.position(span.start), end: self.position(span.end.max(span.start)) }
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
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }

    fn line_up_to(&self, offset: usize) -> (usize, &'a str) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|&start| start <= offset).saturating_sub(1);
        // An offset inside the byte-order mark lies before the first line.
        (line, self.text.get(self.starts[line]..offset).unwrap_or(""))
    }
}

/// Writes diagnostics with the lines they are about, in the given order.
///
/// `sources` gives the text of a file by its name; without one the place is named but not shown.
/// Characters that could move the cursor or reorder text (control characters, bidirectional marks, invisible
/// characters) are written as `\u{…}`, whether it comes from a file or from a message.
pub fn render<S: AsRef<str>>(diagnostics: &[Diagnostic], sources: impl Fn(&str) -> Option<S>, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    let mut latest: Option<(&str, Option<S>)> = None;
    for diagnostic in diagnostics {
        // Diagnostics come file by file; its text is asked for once.
        if latest.as_ref().is_none_or(|(file, _)| *file != diagnostic.file) {
            latest = Some((&diagnostic.file, sources(&diagnostic.file)));
        }
        let source = latest.as_ref().and_then(|(_, source)| source.as_ref()).map(AsRef::as_ref);
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        let excerpt = source.and_then(|text| Excerpt::new(text, diagnostic));
        let has_excerpt = excerpt.is_some();
        let rendered = renderer.render(&[report(diagnostic, excerpt)]);
        match rendered.split_once('\n') {
            Some((title, rest)) if has_excerpt => {
                let _ = write!(out, "{title}\n{}\n{rest}", arrow_line(diagnostic, color));
            }
            _ => out.push_str(&rendered),
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn report<'a>(diagnostic: &Diagnostic, excerpt: Option<Excerpt>) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Hint => Level::INFO.with_name("hint"),
    };
    let title = level.primary_title(escaped(&diagnostic.message));
    let mut group = Group::with_title(title.id(escaped(&diagnostic.code)));
    let Position { line, column } = diagnostic.range.start;
    group = match excerpt {
        None => {
            let file = escaped(&diagnostic.file);
            group.element(Origin::path(file).line(line).char_column(column))
        }
        Some(excerpt) => {
            let snippet = Snippet::source(excerpt.text).line_start(line);
            group.element(snippet.annotation(AnnotationKind::Primary.span(excerpt.marked)))
        }
    };
    if let Some(hook) = &diagnostic.hook {
        let note = format!("in hook `{}`", escaped(hook));
        group = group.element(Level::NOTE.message(note));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(escaped(help)));
    }
    group
}

// An escaped or cut excerpt has other columns than its file, and a snippet with a path would
// count them, so the line that names the place is written here.
fn arrow_line(diagnostic: &Diagnostic, color: bool) -> String {
    let Position { line, column } = diagnostic.range.start;
    let n_digits = line.to_string().len();
    let arrow = if color { "\u{1b}[1m\u{1b}[94m-->\u{1b}[0m" } else { "-->" };
    let file = escaped(&diagnostic.file);
    format!("{:n_digits$}{arrow} {file}:{line}:{column}", "")
}

/// The first line of a place, made safe to print and cut to what is of interest.
struct Excerpt {
    text: String,
    marked: Span,
}

impl Excerpt {
    /// How much is shown on either side of the start of the place.
    const N_CHARS: usize = 100;

    fn new(text: &str, diagnostic: &Diagnostic) -> Option<Excerpt> {
        // The file may have changed since: then its old places mean nothing.
        let before = text.get(..diagnostic.span.start)?;
        let rest = &text[diagnostic.span.start..];
        let is_break = |c| c == '\n' || c == '\r';
        let before = &before[before.rfind(is_break).map_or(0, |at| at + 1)..];
        let before = before.trim_start_matches('\u{feff}');
        let rest = &rest[..rest.find(is_break).unwrap_or(rest.len())];
        let n_marked = diagnostic.span.len().min(rest.len());
        let (marked, after) = rest.split_at_checked(n_marked)?;

        let first = before.char_indices().rev().nth(Self::N_CHARS - 1);
        let mut out = String::new();
        match first {
            Some((start, _)) if start > 0 => {
                out.push('…');
                out.push_str(&escaped(&before[start..]));
            }
            _ => out.push_str(&escaped(before)),
        }
        let start = out.len();
        let (marked, is_cut) = head(marked, Self::N_CHARS);
        out.push_str(&escaped(marked));
        let end = out.len();
        let (after, is_cut) = if is_cut { ("", true) } else { head(after, Self::N_CHARS) };
        out.push_str(&escaped(after));
        if is_cut {
            out.push('…');
        }
        Some(Excerpt { text: out, marked: start..end })
    }
}

fn head(text: &str, n_chars: usize) -> (&str, bool) {
    match text.char_indices().nth(n_chars) {
        None => (text, false),
        Some((end, _)) => (&text[..end], true),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => out.push_str("    "),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ if is_unsafe(character) => {
                // Writing to a string can't fail.
                let _ = write!(out, "{}", character.escape_unicode());
            }
            _ => out.push(character),
        }
    }
    out
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

    fn rendered(text: &str, diagnostic: Diagnostic) -> String {
        render(&[diagnostic], |_| Some(text), false)
    }

    #[test]
    fn a_rendered_diagnostic() {
        let help = Some("did you mean `matcher`?".to_owned());
        let hook = Some("guard".to_owned());
        let first = Diagnostic { help, hook, ..diagnostic(TEXT, "mathcer") };
        let severity = Severity::Warning;
        let second = Diagnostic { severity, ..diagnostic(TEXT, "\u{202e}b") };
        let expected = "\
error[unknown-field]: unknown field `x`
 --> a/guard.yaml:3:5
  |
3 |     mathcer: Bash
  |     ^^^^^^^
  |
  = note: in hook `guard`
  = help: did you mean `matcher`?

warning[unknown-field]: unknown field `x`
 --> a/guard.yaml:2:12
  |
2 |   - näme: a\\u{202e}b
  |            ^^^^^^^^^
";
        assert_eq!(render(&[first, second], |_| Some(TEXT), false), expected);
    }

    #[test]
    fn nothing_reaches_the_terminal_unescaped() {
        let text = "a: \u{1b}[31m\u{9b}x\u{200f}\tb";
        let mut hostile = diagnostic(text, "x");
        for field in [&mut hostile.file, &mut hostile.message, &mut hostile.code] {
            field.push_str("\u{1b}]0;x\u{7}\n\u{2066}");
        }
        hostile.hook = Some("\r\u{e0041}".to_owned());
        let out = rendered(text, hostile);
        let is_safe = |it: char| it == '\n' || !is_unsafe(it);
        assert!(out.chars().all(is_safe), "{out:?}");
    }

    #[test]
    fn odd_places_are_no_trouble() {
        let long = "é".repeat(100_000);
        let texts = ["", "\n", "\u{feff}x", "ab\rcd", "é\té", "\u{feff}", long.as_str(), "a\n\n"];
        for text in texts {
            let index = LineIndex::new(text);
            for start in [0, 1, 2, 3, text.len() / 2, text.len(), usize::MAX] {
                for end in [0, start, start.saturating_add(1), text.len(), usize::MAX] {
                    let place = Diagnostic { severity: Severity::Hint, ..at(start..end, &index) };
                    let out = rendered(text, place.clone());
                    assert!(out.starts_with("hint[unknown-field]: unknown"), "{out}");
                    assert!(out.contains("--> a/guard.yaml:"), "{out}");
                    assert!(out.len() < 2000, "{}", out.len());
                    assert!(render(&[place], |_| None::<&str>, true).contains("guard"));
                }
            }
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
            assert_eq!(index.position(offset), Position { line, column }, "{offset}");
            assert_eq!(index.utf16(offset), (line - 1, utf16), "{offset}");
            assert_eq!(index.utf8(offset), (line - 1, utf8), "{offset}");
        }
        let back = [((0, 0), 3), ((0, 2), 6), ((0, 3), 6), ((0, 4), 10), ((0, 99), 11), ((9, 0), 17)];
        for ((line, column), expected) in back {
            assert_eq!(index.offset_of_utf16(line, column), expected, "{line}:{column}");
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
