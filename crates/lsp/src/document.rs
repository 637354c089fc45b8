//! The texts that an editor has open, each version immutable, and how it counts in them.

use super::editor::Encoding;
use hookwire_base::support::file::{self, read_named};
use hookwire_base::syntax::diagnostic::{Diagnostic, LineIndex, Severity};
use hookwire_base::syntax::formats::Format;
use hookwire_base::syntax::node::Span;
use hookwire_base::syntax::source::Layer;
use hookwire_engine::definitions::check::{Checked, check};
use hookwire_engine::definitions::compile::{Compiled, CompiledFile, compile};
use hookwire_engine::definitions::mend::Mending;
use hookwire_engine::definitions::origin::Origin;
use hookwire_handlers::handlers::{Means, Obstacle};
use ls_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The open definition files by their URIs.
pub(super) type Documents = HashMap<String, Arc<Document>>;

/// One version of an open definition file.
pub(super) struct Document {
    /// As the editor names it.
    pub uri: Uri,
    /// Where it is, or would be.
    pub path: PathBuf,
    /// The editor's number for this version.
    pub version: i32,
    /// The text.
    pub text: String,
    /// Whose rights its hooks have.
    pub(super) layer: Layer,
    encoding: Encoding,
    checked: Arc<OnceLock<Checked>>,
    /// Versions before it that can be read or may be, the newest first.
    earlier: Vec<Earlier>,
}

/// Versions before a document that it keeps at most: usually one, which can be read. Several while
/// changes come faster than they are read.
const MAX_EARLIER: usize = 4;

/// A version before a document's, which itself keeps none.
#[derive(Clone)]
struct Earlier {
    document: Arc<Document>,
    way: Way,
}

impl Document {
    /// A document of the layer with the fewest rights.
    pub(super) fn new(
        uri: Uri,
        path: PathBuf,
        version: i32,
        text: String,
        encoding: Encoding,
    ) -> Document {
        let (layer, checked) = (Layer::Project, Arc::default());
        Document {
            uri,
            path,
            version,
            text,
            layer,
            encoding,
            checked,
            earlier: Vec::new(),
        }
    }

    /// The same in another layer.
    pub(super) fn in_layer(self, layer: Layer) -> Document {
        Document {
            layer,
            checked: Arc::default(),
            ..self
        }
    }

    /// The next version. A change that says no range is the whole text.
    pub(super) fn with_changes(
        &self,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
    ) -> Document {
        let mut text = self.text.clone();
        let mut way = Way::default();
        for change in changes {
            let span = change.range.map_or(0..text.len(), |range| {
                let lines = Lines {
                    index: LineIndex::new(&text),
                    encoding: self.encoding,
                };
                let (start, end) = (lines.offset(range.start), lines.offset(range.end));
                start.min(end)..start.max(end)
            });
            way.push(Edit::new(&text, span.clone(), &change.text));
            text.replace_range(span, &change.text);
        }
        let mut next = Document::new(
            self.uri.clone(),
            self.path.clone(),
            version,
            text,
            self.encoding,
        );
        next.layer = self.layer;
        next.earlier = self.earlier_of_next(&way);
        next
    }

    /// The earlier versions that the next one keeps: the newest that can be read, and the newer
    /// ones that haven't been read yet.
    fn earlier_of_next(&self, way: &Way) -> Vec<Earlier> {
        let own = Document {
            uri: self.uri.clone(),
            path: self.path.clone(),
            text: self.text.clone(),
            checked: self.checked.clone(),
            earlier: Vec::new(),
            ..*self
        };
        let own = Earlier {
            document: Arc::new(own),
            way: Way::default(),
        };
        let mut kept: Vec<Earlier> = Vec::new();
        for earlier in std::iter::once(&own).chain(&self.earlier) {
            let can_be_read = earlier
                .document
                .checked
                .get()
                .map(|checked| checked.root.is_some());
            if can_be_read != Some(false) {
                kept.push(earlier.clone());
            }
            if can_be_read == Some(true) {
                break;
            }
        }
        if kept.len() > MAX_EARLIER {
            // The oldest may be the only one that can be read.
            kept.remove(1);
        }
        for earlier in &mut kept {
            earlier.way.then(way);
        }
        kept
    }

    /// Its name, as hooks that come from it say.
    pub(super) fn file(&self) -> String {
        self.path.display().to_string()
    }

    /// YAML if the name doesn't tell.
    pub(super) fn format(&self) -> Format {
        Format::from_path(&self.path).unwrap_or_default()
    }

    /// The text parsed and checked; done once.
    pub(super) fn checked(&self) -> &Checked {
        self.checked
            .get_or_init(|| check(&self.file(), &self.text, self.layer, None))
    }

    /// What is wrong with it, and, as soon as it is saved, what it needs that this machine hasn't
    /// got. A model, a key and an address may be given to the host that serves the hooks, so that
    /// one without is only a hint.
    pub(super) fn diagnostics(&self, means: Option<&Means>) -> Vec<Diagnostic> {
        let Some(means) =
            means.filter(|_| file::read(&self.path).is_ok_and(|(text, _)| text == *self.text))
        else {
            return self.checked().diagnostics.clone();
        };
        let mut diagnostics = check(&self.file(), &self.text, self.layer, Some(means)).diagnostics;
        for diagnostic in &mut diagnostics {
            if Obstacle::DEPENDS_ON_HOST.contains(&&*diagnostic.code) {
                diagnostic.severity = Severity::Hint;
            }
        }
        diagnostics
    }

    /// The text with what is wrong with it; `file` is its name.
    pub(super) fn mending<'d>(&'d self, file: &'d str) -> Mending<'d> {
        Mending::new(file, &self.text, self.layer, self.checked())
    }

    /// Its hooks, as written; none while it isn't YAML, TOML or JSON.
    pub(super) fn hooks(&self) -> &[Compiled] {
        self.checked().file.as_ref().map_or(&[], |file| &file.hooks)
    }

    /// The text compiled, with the files that hooks name as they are on disk now; `None` while it
    /// isn't YAML, TOML or JSON.
    pub(super) fn compile(&self) -> Option<CompiledFile> {
        let root = self.checked().root.as_ref()?;
        let file = self.file();
        let dir = self.path.parent().unwrap_or(Path::new(""));
        let origin = Origin::new(&file, dir, self.layer, &read_named);
        Some(compile(root, &origin, &LineIndex::new(&self.text)))
    }

    /// A hook by its name.
    pub(super) fn hook(&self, name: &str) -> Option<&Compiled> {
        self.hooks()
            .iter()
            .find(|hook| hook.name.as_deref() == Some(name))
    }

    /// The newest version that can be read, this one if it can; `None` when there has been none.
    pub(super) fn readable(&self) -> Option<Readable<'_>> {
        if self.checked().root.is_some() {
            return Some(Readable {
                document: self,
                way: None,
            });
        }
        let earlier = self
            .earlier
            .iter()
            .find(|it| it.document.checked().root.is_some())?;
        Some(Readable {
            document: &earlier.document,
            way: Some(&earlier.way),
        })
    }

    /// Places in the text as the editor counts them.
    pub(super) fn lines(&self) -> Lines<'_> {
        Lines {
            index: LineIndex::new(&self.text),
            encoding: self.encoding,
        }
    }
}

/// The newest version of a text that can be read, and where its places are in the text as it is.
pub(super) struct Readable<'d> {
    /// That version. Its places are not those of the text.
    pub(super) document: &'d Document,
    way: Option<&'d Way>,
}

impl Readable<'_> {
    /// Whether it is the text as it is.
    pub(super) fn is_present(&self) -> bool {
        self.way.is_none()
    }

    /// Where something is now that is as it was written; `None` when it has changed.
    pub(super) fn part(&self, span: &Span) -> Option<Span> {
        match self.way {
            None => Some(span.clone()),
            Some(way) => way.part(span),
        }
    }

    /// Where something is now of which parts may have changed: from where it began to where it
    /// ended.
    pub(super) fn whole(&self, span: &Span) -> Span {
        match self.way {
            None => span.clone(),
            Some(way) => way.whole(span),
        }
    }
}

/// A change of a text: one place of it is another text since.
#[derive(Clone, Debug)]
struct Edit {
    start: usize,
    /// Where it ended before.
    old_end: usize,
    /// Where it ends since.
    new_end: usize,
}

impl Edit {
    /// The part that really changes when a part of a text is replaced, because editors may replace
    /// all of it for a letter.
    fn new(text: &str, span: Span, new: &str) -> Edit {
        let old = text.get(span.clone()).unwrap_or_default();
        let same = |(a, b): &(char, char)| a == b;
        let before: usize = old
            .chars()
            .zip(new.chars())
            .take_while(same)
            .map(|(c, _)| c.len_utf8())
            .sum();
        let lead = old
            .get(..before)
            .and_then(|same| same.rsplit('\n').next())
            .unwrap_or_default();
        let (old, new) = (
            old.get(before..).unwrap_or_default(),
            new.get(before..).unwrap_or_default(),
        );
        let behind: usize = old
            .chars()
            .rev()
            .zip(new.chars().rev())
            .take_while(same)
            .map(|(c, _)| c.len_utf8())
            .sum();
        let mut start = span.start + before;
        let (added, removed) = (new.len() - behind, old.len() - behind);
        let only = match (added, removed) {
            (_, 0) => new.get(..added),
            (0, _) => old.get(..removed),
            _ => None,
        };
        // Lines that come or go begin like the next one: they do so as a whole.
        if only.is_some_and(|only| only.contains('\n') && only.ends_with(lead)) {
            start -= lead.len();
        }
        Edit {
            start,
            old_end: start + removed,
            new_end: start + added,
        }
    }

    fn is_none(&self) -> bool {
        self.start == self.old_end && self.start == self.new_end
    }

    /// Where what is behind the change has gone.
    fn behind(&self, offset: usize) -> usize {
        offset.saturating_sub(self.old_end) + self.new_end
    }

    fn part(&self, span: &Span) -> Option<Span> {
        if span.end <= self.start {
            return Some(span.clone());
        }
        (span.start >= self.old_end).then(|| self.behind(span.start)..self.behind(span.end))
    }

    fn whole(&self, span: &Span) -> Span {
        let start = match span.start {
            start if start >= self.old_end => self.behind(start),
            start => start.min(self.start),
        };
        let end = match span.end {
            end if end <= self.start => end,
            end => self.behind(end),
        };
        start..end.max(start)
    }

    /// Takes in the change that comes next if it touches this one.
    fn absorb(&mut self, next: &Edit) -> bool {
        let touches = next.start <= self.new_end && self.start <= next.old_end;
        if touches {
            let old_end = self.old_end + next.old_end.saturating_sub(self.new_end);
            let new_end = next.behind(self.new_end.max(next.old_end));
            *self = Edit {
                start: self.start.min(next.start),
                old_end,
                new_end,
            };
        }
        touches
    }
}

/// Changes that a way keeps at most.
const MAX_EDITS: usize = 64;

/// The way from a text to another: changes one after the other.
#[derive(Clone, Debug, Default)]
struct Way(Vec<Edit>);

impl Way {
    fn push(&mut self, next: Edit) {
        if next.is_none() || self.0.last_mut().is_some_and(|last| last.absorb(&next)) {
            return;
        }
        self.0.push(next);
        // Many at once, such as a replacement everywhere: what is between two of them counts as
        // changed.
        while self.0.len() > MAX_EDITS
            && let Some(next) = self.0.pop()
            && let Some(last) = self.0.last_mut()
        {
            let (start, end) = (last.start.min(next.start), last.new_end.max(next.old_end));
            last.absorb(&Edit {
                start,
                old_end: end,
                new_end: next.behind(end),
            });
        }
    }

    fn then(&mut self, next: &Way) {
        next.0.iter().for_each(|edit| self.push(edit.clone()));
    }

    fn part(&self, span: &Span) -> Option<Span> {
        self.0
            .iter()
            .try_fold(span.clone(), |span, edit| edit.part(&span))
    }

    fn whole(&self, span: &Span) -> Span {
        self.0
            .iter()
            .fold(span.clone(), |span, edit| edit.whole(&span))
    }
}

/// Translates places. Made once for a request: it reads the whole text.
pub(super) struct Lines<'t> {
    /// In bytes.
    pub index: LineIndex<'t>,
    encoding: Encoding,
}

impl Lines<'_> {
    /// A place as the editor counts it.
    pub(super) fn position(&self, offset: usize) -> Position {
        let (line, column) = match self.encoding {
            Encoding::Utf8 => self.index.utf8(offset),
            Encoding::Utf16 => self.index.utf16(offset),
        };
        Position::new(
            line.try_into().unwrap_or(u32::MAX),
            column.try_into().unwrap_or(u32::MAX),
        )
    }

    /// Both ends of a span.
    pub(super) fn range(&self, span: &Span) -> Range {
        Range::new(
            self.position(span.start),
            self.position(span.end.max(span.start)),
        )
    }

    /// The first line.
    pub(super) fn first(&self) -> Span {
        0..self.index.offset_of_utf8(0, usize::MAX)
    }

    /// The way back. What is past the end of a line or of the text means that end.
    pub(super) fn offset(&self, position: Position) -> usize {
        let (line, column) = (position.line as usize, position.character as usize);
        match self.encoding {
            Encoding::Utf8 => self.index.offset_of_utf8(line, column),
            Encoding::Utf16 => self.index.offset_of_utf16(line, column),
        }
    }
}

/// A file of a project's hooks, open in an editor.
#[cfg(test)]
pub(super) fn document(name: &str, text: &str) -> Document {
    let path = format!("/p/.hookwire/{name}");
    Document::new(
        format!("file://{path}").parse().unwrap(),
        path.into(),
        1,
        text.into(),
        Encoding::Utf8,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn change(range: Option<Range>, text: &str) -> TextDocumentContentChangeEvent {
        TextDocumentContentChangeEvent {
            range,
            range_length: None,
            text: text.into(),
        }
    }

    proptest! {
        /// Whatever ranges an editor sends, there is a text, and an edit in the middle is that
        /// edit.
        #[test]
        fn edits_are_edits(text in "[a-c\u{e9}\u{1f600}\r\n]{0,40}", at in any::<(prop::sample::Index, prop::sample::Index)>(), put in "[xy\u{1f600}\n]{0,4}", wild in any::<(u32, u32, u32, u32)>(), utf8 in any::<bool>()) {
            let encoding = if utf8 { Encoding::Utf8 } else { Encoding::Utf16 };
            let before = Document { encoding, ..document("a.yaml", &text) };
            let places: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at) && !(text[..*at].ends_with('\r') && text[*at..].starts_with('\n'))).collect();
            let (a, b) = (*at.0.get(&places), *at.1.get(&places));
            let span = a.min(b)..a.max(b);
            let range = before.lines().range(&span);
            let mut expected = text.clone();
            expected.replace_range(span, &put);
            prop_assert_eq!(&before.with_changes(2, vec![change(Some(range), &put)]).text, &expected);
            let (a, b, c, d) = wild;
            let wild = Range::new(Position::new(a % 8, b % 50), Position::new(c, d));
            before.with_changes(2, vec![change(Some(wild), &put), change(None, "z"), change(Some(wild), &put)]);
        }

        /// Whatever has changed, a part that is still there has the same text, and keeps its order;
        /// the whole of something holds its parts.
        #[test]
        fn parts_stay_the_same(text in "[a-c\u{e9}\n]{0,30}", edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[a-c\u{e9}\u{1f600}]{0,4}", any::<bool>()), 0..90), spans in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 8)) {
            let span = |text: &str, a: &prop::sample::Index, b: &prop::sample::Index| {
                let places: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
                let (a, b) = (*a.get(&places), *b.get(&places));
                a.min(b)..a.max(b)
            };
            let mut way = Way::default();
            let mut now = text.clone();
            for (a, b, put, is_whole) in &edits {
                let at = span(&now, a, b);
                let mut next = now.clone();
                next.replace_range(at.clone(), put);
                way.push(if *is_whole { Edit::new(&now, 0..now.len(), &next) } else { Edit::new(&now, at, put) });
                now = next;
            }
            prop_assert!(way.0.len() <= MAX_EDITS);
            let spans: Vec<Span> = spans.iter().map(|(a, b)| span(&text, a, b)).collect();
            for one in &spans {
                let whole = way.whole(one);
                prop_assert!(now.get(whole.clone()).is_some());
                let Some(part) = way.part(one) else { continue };
                prop_assert_eq!(now.get(part.clone()), text.get(one.clone()));
                for other in spans.iter().filter(|it| it.start <= one.start && one.end <= it.end && !one.is_empty()) {
                    let around = way.whole(other);
                    prop_assert!(around.start <= part.start && part.end <= around.end);
                }
            }
        }
    }
}
