//! Fixes of mistakes, written into the text that they were found in. For editors, `check --fix` and
//! `check --migrate`.
//!
//! A diagnostic carries its fixes; here they are written in the format of the file. A fix counts
//! only if the text that it makes, checked again, no longer has what was wrong.

use super::check::{Checked, check};
use super::names::FreeNames;
use hookwire_base::support::changes::{Change, apply};
use hookwire_base::syntax::diagnostic::Diagnostic;
use hookwire_base::syntax::fix::{Edit, Fix, Place};
use hookwire_base::syntax::formats::{Format, parse};
use hookwire_base::syntax::node::{Node, NodeValue, Span, Step};
use hookwire_base::syntax::quoting::quoted;
use hookwire_base::syntax::source::Layer;
use hookwire_base::syntax::writer::{At, Op, Writer};
use hookwire_base::syntax::written::Written;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;

/// A fix that was written into the format of a text.
pub type WrittenFix<'d> = (&'d Diagnostic, &'d Fix, Vec<Change>);

/// A text with mistakes.
pub struct Mending<'d> {
    file: &'d str,
    text: &'d str,
    layer: Layer,
    checked: &'d Checked,
    /// The text as a tree, if it can be read.
    root: Option<Cow<'d, Node>>,
}

impl<'d> Mending<'d> {
    /// `checked` is what the text was found to be.
    pub fn new(file: &'d str, text: &'d str, layer: Layer, checked: &'d Checked) -> Mending<'d> {
        let mut mending = Mending {
            file,
            text,
            layer,
            checked,
            root: checked.root.as_ref().map(Cow::Borrowed),
        };
        if mending.root.is_none() {
            // A file of cases has no hooks, but can be read.
            mending.root = parse(text, mending.format()).ok().map(Cow::Owned);
        }
        mending
    }

    fn format(&self) -> Format {
        Format::from_path(Path::new(self.file)).unwrap_or_default()
    }

    /// The fixes of a diagnostic, where they can be written.
    pub fn fixes<'a>(&'a self, diagnostic: &'a Diagnostic) -> impl Iterator<Item = WrittenFix<'a>> {
        let write =
            move |fix: &'a Fix| Some((diagnostic, fix, self.changes(&diagnostic.span, &fix.edit)?));
        diagnostic.fixes.iter().filter_map(write)
    }

    /// Whether the text with the changes is without what was wrong, and hasn't become worse.
    pub fn solves(&self, diagnostic: &Diagnostic, changes: &[Change]) -> bool {
        let text = apply(self.text, changes);
        if text == self.text {
            return false;
        }
        let after = check(self.file, &text, self.layer, None);
        let is_it = |it: &&Diagnostic| {
            (&it.code, &it.message, &it.hook)
                == (&diagnostic.code, &diagnostic.message, &diagnostic.hook)
        };
        let count = |checked: &Checked| checked.diagnostics.iter().filter(is_it).count();
        // A text that could be read must not turn into one that can't, such as one with a key
        // twice.
        let is_read = after.root.is_some() || self.checked.root.is_none();
        is_read && count(&after) < count(self.checked)
    }

    /// The changes of the text that an edit of a mistake at a place makes.
    fn changes(&self, span: &Span, edit: &Edit) -> Option<Vec<Change>> {
        match edit {
            Edit::Replace { wrong, right } => {
                return Some(vec![self.replaced(span, wrong, right)?]);
            }
            // A text that can't be read has places, but no tree.
            Edit::QuoteLine => return Some(vec![self.line_in_quotes(span)?]),
            _ => {}
        }
        let root = self.root.as_deref()?;
        let path = || root.path_to(span);
        // The map that has the member, and the member's key.
        let member = || {
            let mut way = path()?;
            let key = way.pop()?.key()?;
            Some((way, key))
        };
        let beside = |name: &'d str| member().map(|(way, _)| [way, vec![Step::Key(name)]].concat());
        let text = |text: &str| Value::from(text);
        let (path, op) = match edit {
            Edit::Replace { .. } | Edit::QuoteLine => return None,
            Edit::Wrap { before, after } => return self.wrapped(root.at(&path()?)?, before, after),
            Edit::Cut(parts) => {
                let written = Written::of_node(root.at(&path()?)?, self.text, self.format());
                let spans = parts.iter().flat_map(|part| written.lines(part, self.text));
                return Some(spans.map(|span| (span, String::new())).collect());
            }
            Edit::Quote => (
                path()?,
                Op::Set(text(self.text.get(span.clone())?), At::End),
            ),
            Edit::Value(word) => (path()?, Op::Set(text(word), At::End)),
            Edit::Items(items) => (path()?, Op::Set(json!(items), At::End)),
            Edit::Key(new) => (path()?, Op::Rename(new)),
            Edit::Add { key, word, place } => {
                let (way, _) = member()?;
                let map = root.at(&way)?;
                let name = map.entry("name").or(map.entries().first())?;
                let at = match place {
                    Place::BehindName => At::Behind(&name.key),
                    Place::Last => At::End,
                };
                (beside(key)?, Op::Set(text(word), at))
            }
            Edit::Remove(key) => ([member()?.0, vec![Step::Key(key)]].concat(), Op::Remove),
            Edit::AddItem { key, item } => {
                let (way, before) = member()?;
                let path = beside(key)?;
                // Before the member, because its own lines may be many.
                let new = || Op::Set(json!([item]), At::Before(before));
                let op = if root.at(&way)?.get(key).is_some() {
                    Op::Append(text(item))
                } else {
                    new()
                };
                (path, op)
            }
            Edit::Name(name) => {
                let taken = self
                    .checked
                    .file
                    .iter()
                    .flat_map(|it| &it.hooks)
                    .filter_map(|hook| hook.name.as_deref());
                let name = FreeNames::new(taken).free(name);
                (
                    beside("name")?,
                    Op::Set(text(&name), At::Before(member()?.1)),
                )
            }
            Edit::Default { key, word } => (
                vec![Step::Key("defaults"), Step::Key(key)],
                Op::Set(text(word), At::Before("hooks")),
            ),
            Edit::Under(key) => (Vec::new(), Op::Under(key)),
        };
        Writer::new(self.text, self.format(), root).changes(&path, &op)
    }

    /// The first place within a span where a word stands by itself, with another.
    fn replaced(&self, span: &Span, wrong: &str, right: &str) -> Option<Change> {
        let text = self.text.get(span.clone())?;
        let is_part =
            |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
        let is_word = |at: &usize| {
            let (before, rest) = text.split_at_checked(*at).unwrap_or_default();
            let behind = rest.get(wrong.len()..).unwrap_or_default();
            let starts_word = wrong.starts_with(|c| is_part(Some(c)));
            !(starts_word
                && (is_part(before.chars().next_back()) || is_part(behind.chars().next())))
        };
        let at = text
            .match_indices(wrong)
            .map(|(at, _)| at)
            .find(is_word)
            .filter(|_| !wrong.is_empty())?;
        let start = span.start + at;
        Some((start..start + wrong.len(), right.to_string()))
    }

    /// A text with something before and behind it, within its quotes.
    fn wrapped(&self, value: &Node, before: &str, after: &str) -> Option<Vec<Change>> {
        let NodeValue::String(text) = &value.value else {
            return None;
        };
        let whole = Written::of_node(value, self.text, self.format()).whole(text)?;
        let changes = [
            (whole.start..whole.start, before.to_string()),
            (whole.end..whole.end, after.to_string()),
        ];
        Some(
            changes
                .into_iter()
                .filter(|(_, new)| !new.is_empty())
                .collect(),
        )
    }

    /// The rest of a line, or what a key holds on it, in quotes.
    fn line_in_quotes(&self, span: &Span) -> Option<Change> {
        let start = self
            .text
            .get(..span.start)?
            .rfind(['\n', '\r'])
            .map_or(0, |at| at + 1);
        let line = self.text.get(start..)?.split(['\n', '\r']).next()?;
        let joint = if self.format() == Format::Toml {
            "="
        } else {
            ": "
        };
        let key = line.find(joint)? + joint.len();
        let value = line.get(key..)?.split(" #").next()?;
        let start = start + key + (value.len() - value.trim_start().len());
        let value = value.trim();
        if value.is_empty() || value.starts_with(['"', '\'', '[', '{', '|', '>']) {
            return None;
        }
        Some((start..start + value.len(), quoted(value)))
    }
}

/// The most fixes that one text gets.
const MAX_MENDED: usize = 1000;

/// A text after these fixes of what is wrong in it, each tested, and the mistakes that are mended
/// with what was done.
pub fn mended(
    file: &str,
    text: &str,
    layer: Layer,
    is_wanted: &dyn Fn(&Diagnostic, &Fix) -> bool,
) -> (String, Vec<(Diagnostic, String)>) {
    let mut text = text.to_string();
    let mut done = Vec::new();
    for _ in 0..MAX_MENDED {
        let checked = check(file, &text, layer, None);
        let mending = Mending::new(file, &text, layer, &checked);
        let fixes = checked.diagnostics.iter().flat_map(|it| mending.fixes(it));
        let is_good =
            |(it, fix, changes): &WrittenFix<'_>| is_wanted(it, fix) && mending.solves(it, changes);
        let Some((diagnostic, fix, changes)) = { fixes }.find(is_good) else {
            break;
        };
        done.push((diagnostic.clone(), fix.title.clone()));
        let next = apply(&text, &changes);
        text = next;
    }
    (text, done)
}
