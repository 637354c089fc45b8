//! The texts that an editor has open, each version immutable, and how it counts in them.

use super::server::Encoding;
use crate::definitions::check::{Checked, check};
use crate::definitions::compile::{Compiled, CompiledFile, Origin, compile};
use crate::definitions::diagnostic::LineIndex;
use crate::definitions::formats::Format;
use crate::definitions::load::read_named;
use crate::definitions::node::Span;
use crate::hook::Layer;
use ls_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The open definition files by their URIs.
pub type Documents = HashMap<String, Arc<Document>>;

/// One version of an open definition file.
pub struct Document {
    /// As the editor names it.
    pub uri: Uri,
    /// Where it is, or would be.
    pub path: PathBuf,
    /// The editor's number for this version.
    pub version: i32,
    /// The text.
    pub text: String,
    encoding: Encoding,
    checked: OnceLock<Checked>,
    /// As in force in the layer that the file is in.
    in_force: OnceLock<Option<CompiledFile>>,
}

impl Document {
    pub(super) fn new(uri: Uri, path: PathBuf, version: i32, text: String, encoding: Encoding) -> Document {
        Document { uri, path, version, text, encoding, checked: OnceLock::new(), in_force: OnceLock::new() }
    }

    /// The next version. A change that says no range is the whole text.
    pub(super) fn changed(&self, version: i32, changes: Vec<TextDocumentContentChangeEvent>) -> Document {
        let mut text = self.text.clone();
        for change in changes {
            match change.range {
                None => text = change.text,
                Some(range) => {
                    let lines = Lines { index: LineIndex::new(&text), encoding: self.encoding };
                    let (start, end) = (lines.offset(range.start), lines.offset(range.end));
                    text.replace_range(start.min(end)..start.max(end), &change.text);
                }
            }
        }
        Document::new(self.uri.clone(), self.path.clone(), version, text, self.encoding)
    }

    /// Its name, as hooks that come from it say.
    pub fn file(&self) -> String {
        self.path.display().to_string()
    }

    /// YAML if the name doesn't tell.
    pub fn format(&self) -> Format {
        Format::from_path(&self.path).unwrap_or(Format::Yaml)
    }

    /// What the text holds; read once.
    pub fn checked(&self) -> &Checked {
        self.checked.get_or_init(|| check(&self.file(), &self.text, Layer::Hooks))
    }

    /// Its hooks, as written; none while it isn't YAML, TOML or JSON.
    pub fn hooks(&self) -> &[Compiled] {
        self.checked().file.as_ref().map_or(&[], |file| &file.hooks)
    }

    /// Its hooks with the rights and the order of a layer; a document has one as long as it is open.
    pub fn hooks_in(&self, layer: Layer) -> &[Compiled] {
        if layer == Layer::Hooks {
            return self.hooks();
        }
        self.in_force.get_or_init(|| self.compile(layer)).as_ref().map_or(&[], |file| &file.hooks)
    }

    /// What the text means in a layer, with what hooks name on disk as it is now; `None` while it isn't
    /// YAML, TOML or JSON.
    pub fn compile(&self, layer: Layer) -> Option<CompiledFile> {
        let root = self.checked().root.as_ref()?;
        let file = self.file();
        let dir = self.path.parent().unwrap_or(Path::new(""));
        let origin = Origin { file: &file, dir, layer, client: None, read: &read_named };
        Some(compile(root, &origin, &LineIndex::new(&self.text)))
    }

    /// The hook that a place is in: the last one that begins before it.
    pub fn hook_at(&self, offset: usize) -> Option<&Compiled> {
        self.hooks().iter().rfind(|hook| hook.whole.start <= offset)
    }

    /// A hook by its name.
    pub fn hook(&self, name: &str) -> Option<&Compiled> {
        self.hooks().iter().find(|hook| hook.name.as_deref() == Some(name))
    }

    /// Places in the text as the editor counts them.
    pub fn lines(&self) -> Lines<'_> {
        Lines { index: LineIndex::new(&self.text), encoding: self.encoding }
    }
}

/// Translates places. Made once for a request: it reads the whole text.
pub struct Lines<'t> {
    /// In bytes.
    pub index: LineIndex<'t>,
    encoding: Encoding,
}

impl Lines<'_> {
    /// A place as the editor counts it.
    pub fn position(&self, offset: usize) -> Position {
        let (line, column) = match self.encoding {
            Encoding::Utf8 => self.index.utf8(offset),
            Encoding::Utf16 => self.index.utf16(offset),
        };
        Position::new(line.try_into().unwrap_or(u32::MAX), column.try_into().unwrap_or(u32::MAX))
    }

    /// Both ends of a span.
    pub fn range(&self, span: &Span) -> Range {
        Range::new(self.position(span.start), self.position(span.end.max(span.start)))
    }

    /// The way back. What is past the end of a line or of the text means that end.
    pub fn offset(&self, position: Position) -> usize {
        let (line, column) = (position.line as usize, position.character as usize);
        match self.encoding {
            Encoding::Utf8 => self.index.offset_of_utf8(line, column),
            Encoding::Utf16 => self.index.offset_of_utf16(line, column),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn document(text: &str, encoding: Encoding) -> Document {
        Document::new(
            "file:///p/.hookwire/a.yaml".parse().unwrap(),
            "/p/.hookwire/a.yaml".into(),
            1,
            text.into(),
            encoding,
        )
    }

    fn change(range: Option<Range>, text: &str) -> TextDocumentContentChangeEvent {
        TextDocumentContentChangeEvent { range, range_length: None, text: text.into() }
    }

    proptest! {
        /// Whatever ranges an editor sends, there is a text, and an edit in the middle is that edit.
        #[test]
        fn edits_are_edits(text in "[a-c\u{e9}\u{1f600}\r\n]{0,40}", at in any::<(prop::sample::Index, prop::sample::Index)>(), put in "[xy\u{1f600}\n]{0,4}", wild in any::<(u32, u32, u32, u32)>(), utf8 in any::<bool>()) {
            let before = document(&text, if utf8 { Encoding::Utf8 } else { Encoding::Utf16 });
            let places: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at) && !(text[..*at].ends_with('\r') && text[*at..].starts_with('\n'))).collect();
            let (a, b) = (*at.0.get(&places), *at.1.get(&places));
            let span = a.min(b)..a.max(b);
            let range = before.lines().range(&span);
            let mut expected = text.clone();
            expected.replace_range(span, &put);
            prop_assert_eq!(&before.changed(2, vec![change(Some(range), &put)]).text, &expected);
            let (a, b, c, d) = wild;
            let wild = Range::new(Position::new(a % 8, b % 50), Position::new(c, d));
            before.changed(2, vec![change(Some(wild), &put), change(None, "z"), change(Some(wild), &put)]);
        }
    }
}
