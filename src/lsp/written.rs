//! Where things are written: hooks with their trees, values character by character, and what an
//! edit makes of a text.

use super::context::Step;
use super::document::Document;
use super::editor::Abilities;
use crate::definitions::compile::{Compiled, native};
use crate::support::changes::Change;
use crate::syntax::formats::Format;
use crate::syntax::node::{Entry, Node, NodeValue, Span};
use ls_types::{
    DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, TextDocumentEdit, TextEdit, WorkspaceEdit,
};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// A document's tree as hookwire reads it; another system's file is translated.
pub(super) struct Reading<'d> {
    /// The tree.
    pub(super) root: Cow<'d, Node>,
    /// The vocabulary that the file is written in.
    pub(super) dialect: &'static str,
    /// The hooks of the document, in the same order as those of the tree.
    compiled: &'d [Compiled],
}

impl<'d> Reading<'d> {
    /// `None` while the text isn't YAML, TOML or JSON.
    pub(super) fn of_document(document: &'d Document) -> Option<Reading<'d>> {
        let root = document.checked().root.as_ref()?;
        let (dialect, read) = native(root, &mut Vec::new());
        Some(Reading { root: read.map_or(Cow::Borrowed(root), Cow::Owned), dialect, compiled: document.hooks() })
    }

    /// Each hook with its tree.
    pub(super) fn hooks(&self) -> impl Iterator<Item = (&'d Compiled, &Node)> {
        let items = match self.root.get("hooks").map(|it| &it.value) {
            Some(NodeValue::Seq(items)) => &items[..],
            Some(_) | None => &[],
        };
        self.compiled.iter().zip(items)
    }
}

/// All of a value: of a TOML table, what is below its header too.
pub(super) fn extent(node: &Node, format: Format) -> Span {
    let mut span = node.span.clone();
    // Values of a YAML alias are written elsewhere.
    if format == Format::Toml {
        widen(node, &mut span);
    }
    span
}

fn widen(node: &Node, span: &mut Span) {
    let mut add = |of: &Span| *span = span.start.min(of.start)..span.end.max(of.end);
    add(&node.span);
    match &node.value {
        NodeValue::Map(entries) => {
            entries.iter().for_each(|entry| add(&entry.key_span));
            entries.iter().for_each(|entry| widen(&entry.value, span));
        }
        NodeValue::Seq(items) => items.iter().for_each(|item| widen(item, span)),
        _ => {}
    }
}

/// The map that has this very key or value, and the member's position.
pub(super) fn owner<'n>(node: &'n Node, span: &Span) -> Option<(&'n Node, usize)> {
    match &node.value {
        NodeValue::Map(entries) => {
            let own = entries.iter().position(|it| it.key_span == *span || it.value.span == *span);
            let inner = || entries.iter().find_map(|entry| owner(&entry.value, span));
            own.map(|at| (node, at)).or_else(inner)
        }
        NodeValue::Seq(items) => items.iter().find_map(|item| owner(item, span)),
        _ => None,
    }
}

/// Where a member's value begins, the header of a YAML block included, which its place leaves out.
pub(super) fn value_span(document: &Document, member: &Entry) -> Span {
    let span = member.value.span.clone();
    let between = document.text.get(member.key_span.end..span.start).unwrap_or_default();
    let header = between.find(['|', '>']).filter(|at| {
        let before = between.get(..*at).unwrap_or_default();
        document.format() == Format::Yaml && !before.contains(['\n', '#']) && between.contains('\n')
    });
    header.map_or(span.start, |at| member.key_span.end + at)..span.end
}

/// Every text of a tree with the way to it. The parser bounds the depth.
pub(super) fn each_text<'n>(node: &'n Node, visit: &mut impl FnMut(&[Step<'n>], &'n Node, &'n str)) {
    fn walk<'n>(node: &'n Node, path: &mut Vec<Step<'n>>, visit: &mut impl FnMut(&[Step<'n>], &'n Node, &'n str)) {
        match &node.value {
            NodeValue::String(text) => visit(path, node, text),
            NodeValue::Map(entries) => {
                for entry in entries {
                    path.push(Step::Key(&entry.key));
                    walk(&entry.value, path, visit);
                    path.pop();
                }
            }
            NodeValue::Seq(items) => {
                for (n, item) in items.iter().enumerate() {
                    path.push(Step::Index(n));
                    walk(item, path, visit);
                    path.pop();
                }
            }
            _ => {}
        }
    }
    walk(node, &mut Vec::new(), visit);
}

/// The characters of a value's text that are more than white space, each with where it is written,
/// as far as it is. Escapes are understood; formats indent and fold white space.
pub(super) struct Written(Vec<(Range<usize>, Span)>);

impl Written {
    /// Nothing unless the value is a text.
    pub(super) fn of_node(node: &Node, document: &Document) -> Written {
        Written::within(node, &document.text, document.format())
    }

    fn within(node: &Node, file: &str, format: Format) -> Written {
        let NodeValue::String(text) = &node.value else { return Written(Vec::new()) };
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
    pub(super) fn lines(&self, part: &Range<usize>, file: &str) -> Vec<Span> {
        let first = self.0.partition_point(|(at, _)| at.start < part.start);
        let mut lines: Vec<Span> = Vec::new();
        for (_, span) in self.0.iter().skip(first).take_while(|(at, _)| at.end <= part.end) {
            let goes_on =
                |last: &&mut Span| file.get(last.end..span.start).is_some_and(|it| !it.contains(['\n', '\r']));
            match lines.last_mut().filter(goes_on) {
                Some(last) => last.end = span.end,
                None => lines.push(span.clone()),
            }
        }
        lines
    }

    /// The whole text without what is around it, if all of it is written as it is.
    pub(super) fn whole(&self, text: &str) -> Option<Span> {
        let ((_, first), (at, last)) = (self.0.first()?, self.0.last()?);
        (at.end == text.trim_end().len()).then_some(first.start..last.end)
    }

    /// The byte of the text that is written at a place, or ends there.
    pub(super) fn text_offset(&self, place: usize) -> Option<usize> {
        let (at, span) = self.0.get(self.0.partition_point(|(_, span)| span.end < place))?;
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
    /// What is written for a value, which tells a quote around it from one of its own: the place of a
    /// YAML block is that of its first character.
    fn new(text: &'s str, value: &str, format: Format) -> Source<'s> {
        let inner = text.get(1..).unwrap_or_default().trim_start();
        let is_own = |quote: char, escaped: &str| value.trim_start().starts_with(quote) && !inner.starts_with(escaped);
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
            if let (0xd800..0xdc00, Some("\\u"), Some(low @ 0xdc00..0xe000)) = (high, text.get(6..8), hex(8, 4)) {
                return Some((char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))?, 12));
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

/// Changes of a document as the editor carries them out.
pub(super) fn workspace_edit(document: &Document, changes: &[Change], abilities: &Abilities) -> WorkspaceEdit {
    let lines = document.lines();
    let edits = changes.iter().map(|(span, new)| TextEdit { range: lines.range(span), new_text: new.clone() });
    if !abilities.versioned_edits {
        let changes = HashMap::from([(document.uri.clone(), edits.collect())]);
        return WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() };
    }
    let (uri, version) = (document.uri.clone(), Some(document.version));
    let edit = TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier { uri, version },
        edits: edits.map(OneOf::Left).collect(),
    };
    WorkspaceEdit { document_changes: Some(DocumentChanges::Edits(vec![edit])), ..WorkspaceEdit::default() }
}

/// Every example that may be a definition file, whole and cut off in the middle, for tests.
#[cfg(test)]
pub(super) fn examples() -> Vec<Document> {
    fn walk(dir: &std::path::Path, found: &mut Vec<Document>) {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if crate::definitions::cases::is_definition_file(&path) {
                let text = std::fs::read_to_string(&path).unwrap();
                let uri = ls_types::Uri::from_file_path(&path).unwrap();
                let half = (0..=text.len() / 2).rfind(|at| text.is_char_boundary(*at)).unwrap();
                for text in [&text, &text[..half]] {
                    let encoding = super::editor::Encoding::Utf16;
                    found.push(Document::new(uri.clone(), path.clone(), 1, text.to_string(), encoding));
                }
            }
        }
    }
    let mut found = Vec::new();
    walk(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"), &mut found);
    found
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
            (Format::Yaml, "a: \"x \\\"two\\\" y\"", "\"two\"", "\\\"two\\\""),
            (Format::Yaml, "a: |\n  one\n  two\n  three\n", "two\nthree", "two/three"),
            (Format::Yaml, "a: >-\n  one\n  two", "one two", "one/two"),
            (Format::Yaml, "a: |\n  \"one\" two\n", "two", "two"),
            (Format::Yaml, "a: |\n  'one' two\n", "two", "two"),
            (Format::Yaml, "a: |\n  > one two\n", "> one", "> one"),
            (Format::Yaml, "a: \"\\\"one\\\" two\"", "two", "two"),
            (Format::Yaml, "a: '''one'' two'", "two", "two"),
            (Format::Json, r#"{"a": "\"\u00e9\ud83d\ude00\ntwo"}"#, "\u{e9}\u{1f600}", "\\u00e9\\ud83d\\ude00"),
            (Format::Json, r#"{"a": "x\\\"two"}"#, "two", "two"),
            (Format::Toml, "a = 'C:\\two'", "two", "two"),
            (Format::Toml, "a = '''\n''two'''", "two", "two"),
            (Format::Toml, "a = \"\"\"\none \\\n   two\"\"\"", "two", "two"),
            (Format::Toml, "a = \"\\ttwo\\u0041\"", "twoA", "two\\u0041"),
        ] {
            let root = parse(file, format).unwrap();
            let node = root.get("a").unwrap();
            let NodeValue::String(text) = &node.value else { panic!("{file}") };
            let at = text.find(part).unwrap();
            let lines = Written::within(node, file, format).lines(&(at..at + part.len()), file);
            let found: Vec<&str> = lines.into_iter().map(|it| &file[it]).collect();
            assert_eq!(found.join("/"), expected, "{file}");
        }
    }
}
