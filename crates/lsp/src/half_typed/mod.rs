//! What is being written at a place of a text that may be half typed.
//!
//! A made-up word is put there, with what is open around it closed, and the format's own parser
//! reads the whole: where the word then stands in the tree is where the place is. What is open is
//! looked for format by format.

mod json;
mod toml;
mod yaml;

use hookwire_base::syntax::formats::{self, Format};
use hookwire_base::syntax::node::Step;
use hookwire_base::syntax::node::{Node, NodeValue, Span};

/// One reading of what is being written at a place of a text, which may be half typed.
#[derive(Debug)]
pub(super) struct Completing {
    /// The text as a tree, or as much of it as could be mended. Has a made-up word at the place.
    pub(super) root: Node,
    /// Which child at each level leads there; of a key, to its map.
    hops: Vec<usize>,
    /// A key, else a value.
    pub(super) is_key: bool,
    /// The place of the token so far, quotes included.
    pub(super) token: Span,
    /// The quote that it begins with.
    pub(super) quote: Option<&'static str>,
    /// The quote is closed.
    pub(super) is_closed: bool,
    /// Its text up to the place.
    pub(super) typed: String,
    /// Its text behind the place.
    pub(super) rest: String,
    /// The text that has to be written before it to make this reading true.
    pub(super) lead: &'static str,
    /// A value follows the key already.
    pub(super) has_value: bool,
    /// A comma has to be written behind it.
    pub(super) wants_comma: bool,
    /// Where a comma has to be written before it.
    pub(super) comma: Option<usize>,
    /// It is within brackets or braces.
    pub(super) in_flow: bool,
}

/// Stands for what is being written while the text is parsed.
const MARKER: &str = "hookwireIsBeingAsked";

/// The key or value that is being written at a byte of a text. Several readings where the text
/// would do for a key as well as for a value; which of them makes sense the schema knows.
pub(super) fn find_completing(text: &str, format: Format, offset: usize) -> Vec<Completing> {
    if !text.is_char_boundary(offset) || text.len() > formats::MAX_BYTES || text.contains(MARKER) {
        return Vec::new();
    }
    let whole = Window {
        span: 0..text.len(),
        before: "",
        after: "",
    };
    let hook = hook_around(text, format, offset);
    // While another hook is broken the one at hand is read alone; while the text behind the place
    // makes no sense of it, without that.
    let attempts = [
        (Some(&whole), Mend::Nothing),
        (hook.as_ref(), Mend::Nothing),
        (hook.as_ref(), Mend::Close),
        (Some(&whole), Mend::Close),
        (hook.as_ref(), Mend::Cut),
        (Some(&whole), Mend::Cut),
    ];
    for (window, mend) in attempts {
        let Some(window) = window else { continue };
        let mut readings: Vec<Completing> = Vec::new();
        for form in all_forms(text, format, offset, window) {
            let Some(reading) = read_draft(text, format, offset, window, &form, mend) else {
                continue;
            };
            if !readings
                .iter()
                .any(|it| it.is_key == reading.is_key && it.path() == reading.path())
            {
                readings.push(reading);
            }
        }
        if !readings.is_empty() {
            return readings;
        }
    }
    Vec::new()
}

impl Completing {
    /// The keys and positions that lead there from the root; of a key, those of its map.
    pub(super) fn path(&self) -> Vec<Step<'_>> {
        let mut node = &self.root;
        let mut path = Vec::new();
        for hop in &self.hops {
            let (step, next) = match &node.value {
                NodeValue::Map(entries) => match entries.get(*hop) {
                    Some(entry) => (Step::Key(entry.key.as_str()), &entry.value),
                    None => break,
                },
                NodeValue::Seq(items) => match items.get(*hop) {
                    Some(item) => (Step::Index(*hop), item),
                    None => break,
                },
                _ => break,
            };
            path.push(step);
            node = next;
        }
        path
    }

    /// The map or list that it is in.
    pub(super) fn around(&self) -> Option<&Node> {
        let hops = if self.is_key {
            &self.hops[..]
        } else {
            self.hops.split_last()?.1
        };
        hops.iter()
            .try_fold(&self.root, |node, hop| match &node.value {
                NodeValue::Map(entries) => entries.get(*hop).map(|entry| &entry.value),
                NodeValue::Seq(items) => items.get(*hop),
                _ => None,
            })
    }

    /// The other keys of its map.
    pub(super) fn siblings(&self) -> impl Iterator<Item = &str> {
        let entries = self.around().map(Node::entries).unwrap_or_default();
        entries
            .iter()
            .map(|entry| entry.key.as_str())
            .filter(|key| !key.contains(MARKER))
    }

    /// The other texts of its list.
    pub(super) fn neighbours(&self) -> impl Iterator<Item = &str> {
        let items = self.around().map(Node::items).unwrap_or_default();
        items.iter().filter_map(|item| match &item.value {
            NodeValue::String(text) if !text.contains(MARKER) => Some(text.as_str()),
            _ => None,
        })
    }
}

/// The part of a text that is read, and what makes a file of it.
struct Window {
    span: Span,
    before: &'static str,
    after: &'static str,
}

/// The way to close brackets and quotes that are open at the place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mend {
    Nothing,
    /// They are closed there.
    Close,
    /// The same, and what follows is left out.
    Cut,
}

/// How the text has to be completed around a place for the parser to see what is meant.
#[derive(Clone, Debug, Default)]
struct Form {
    /// The word that is being written, as far as it isn't in quotes; else the place.
    word: Span,
    /// Put before the word.
    before: String,
    /// Put behind it.
    after: String,
    /// Closes what is open behind it.
    closers: String,
    lead: &'static str,
    has_value: bool,
    wants_comma: bool,
    comma: Option<usize>,
    in_flow: bool,
}

/// A text made of another one's parts, and the way back.
#[derive(Default)]
struct Draft {
    text: String,
    kept: Vec<(usize, Span)>,
}

impl Draft {
    fn keep_span(&mut self, source: &str, span: Span) {
        if let Some(part) = source.get(span.clone()) {
            self.kept.push((self.text.len(), span));
            self.text.push_str(part);
        }
    }

    /// Where a byte of the draft is in the other text.
    fn original_offset(&self, at: usize) -> usize {
        match self.kept.iter().rfind(|(start, _)| *start <= at) {
            Some((start, span)) => (span.start + (at - start)).min(span.end),
            None => self.kept.first().map_or(0, |(_, span)| span.start),
        }
    }
}

fn read_draft(
    text: &str,
    format: Format,
    offset: usize,
    window: &Window,
    form: &Form,
    mend: Mend,
) -> Option<Completing> {
    if mend == Mend::Close && (form.closers.is_empty() || format == Format::Json) {
        return None;
    }
    let mut draft = Draft::default();
    draft.text.push_str(window.before);
    match form
        .comma
        .filter(|at| (window.span.start..=form.word.start).contains(at))
    {
        Some(at) => {
            draft.keep_span(text, window.span.start..at);
            draft.text.push(',');
            draft.keep_span(text, at..form.word.start);
        }
        None => draft.keep_span(text, window.span.start..form.word.start),
    }
    draft.text.push_str(&form.before);
    draft.keep_span(text, form.word.start..offset);
    draft.text.push_str(MARKER);
    draft.keep_span(text, offset..form.word.end);
    draft.text.push_str(&form.after);
    if mend != Mend::Nothing {
        draft.text.push_str(&form.closers);
    }
    if mend != Mend::Cut {
        draft.keep_span(text, form.word.end..window.span.end);
        draft.text.push_str(window.after);
    }
    let root = formats::parse(&draft.text, format).ok()?;
    let mut hops = Vec::new();
    let (span, said, is_key) = find_marked(&root, &mut hops)?;
    let (typed, rest) = said.split_once(MARKER)?;
    let (typed, rest) = (typed.to_string(), rest.to_string());
    let token = draft.original_offset(span.start)..draft.original_offset(span.end);
    let source = text.get(token.clone()).unwrap_or_default();
    let quote = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|quote| source.starts_with(quote));
    let is_closed =
        quote.is_some_and(|quote| source.len() >= 2 * quote.len() && source.ends_with(quote));
    let Form {
        lead,
        has_value,
        wants_comma,
        comma,
        in_flow,
        ..
    } = *form;
    Some(Completing {
        root,
        hops,
        is_key,
        token,
        quote,
        is_closed,
        typed,
        rest,
        lead,
        has_value,
        wants_comma,
        comma,
        in_flow,
    })
}

/// The key or value that has the marker in it: its place, its text, and whether it is a key.
fn find_marked<'t>(node: &'t Node, hops: &mut Vec<usize>) -> Option<(Span, &'t str, bool)> {
    match &node.value {
        NodeValue::String(text) => {
            text.contains(MARKER)
                .then_some((node.span.clone(), text, false))
        }
        NodeValue::Map(entries) => entries.iter().enumerate().find_map(|(hop, entry)| {
            if entry.key.contains(MARKER) {
                return Some((entry.key_span.clone(), entry.key.as_str(), true));
            }
            into_child(hop, &entry.value, hops)
        }),
        NodeValue::Seq(items) => items
            .iter()
            .enumerate()
            .find_map(|(hop, item)| into_child(hop, item, hops)),
        _ => None,
    }
}

fn into_child<'t>(
    hop: usize,
    child: &'t Node,
    hops: &mut Vec<usize>,
) -> Option<(Span, &'t str, bool)> {
    hops.push(hop);
    let found = find_marked(child, hops);
    if found.is_none() {
        hops.pop();
    }
    found
}

fn all_forms(text: &str, format: Format, offset: usize, window: &Window) -> Vec<Form> {
    match format {
        Format::Yaml => yaml::draft_forms(text, offset, window.span.start),
        Format::Toml => toml::draft_form(text, offset, window.span.start)
            .into_iter()
            .collect(),
        Format::Json => json::draft_form(text, offset, window.span.start)
            .into_iter()
            .collect(),
    }
}

fn line_around(text: &str, offset: usize) -> Span {
    let before = text.get(..offset).unwrap_or_default();
    let behind = text.get(offset..).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    start..offset + behind.find(['\n', '\r']).unwrap_or(behind.len())
}

/// The characters around a place that hold.
pub(super) fn run_around(text: &str, offset: usize, holds: fn(char) -> bool) -> Span {
    let before = text.get(..offset).unwrap_or_default();
    let behind = text.get(offset..).unwrap_or_default();
    let n_before: usize = before
        .chars()
        .rev()
        .take_while(|c| holds(*c))
        .map(char::len_utf8)
        .sum();
    let n_behind: usize = behind
        .chars()
        .take_while(|c| holds(*c))
        .map(char::len_utf8)
        .sum();
    offset - n_before..offset + n_behind
}

fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '*' | '.' | '$')
}

fn closing_brackets(open: &[u8]) -> String {
    open.iter()
        .rev()
        .map(|bracket| if *bracket == b'[' { ']' } else { '}' })
        .collect()
}

/// Where the string that a place is in ends on its line, behind the quote.
fn closing_quote(line: &str, quote: u8, enders: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'\\' && quote == b'"' {
            at += 2;
            continue;
        }
        at += 1;
        if *byte == quote {
            let rest = line.get(at..).unwrap_or_default().trim_start();
            if rest.chars().next().is_none_or(|c| enders.contains(c)) {
                return Some(at);
            }
        }
    }
    None
}

/// The hook that a place is in, without the rest of the file.
fn hook_around(text: &str, format: Format, offset: usize) -> Option<Window> {
    match format {
        Format::Yaml => yaml::hook_window(text, offset),
        Format::Toml => toml::hook_window(text, offset),
        Format::Json => json::hook_window(text, offset),
    }
}

/// Something that is neither blank nor comment: its last byte, and where it ends.
#[derive(Clone, Copy)]
struct Solid {
    byte: u8,
    end: usize,
}

/// The rules that JSON and TOML have in common: strings in quotes, commas between things.
struct Quoted<'t> {
    text: &'t str,
    offset: usize,
    /// Where the string begins that the place is in, and its quote.
    string: Option<(usize, &'static str)>,
    comments: &'static [(&'static str, &'static str)],
}

impl Quoted<'_> {
    fn write_form(
        &self,
        is_key: bool,
        open: &[u8],
        last: Option<Solid>,
        value: &str,
        colon: char,
    ) -> Form {
        let (text, offset) = (self.text, self.offset);
        let line = line_around(text, offset);
        let bare = run_around(text, offset, is_bare);
        let (word, before, mut after) = match self.string {
            Some((_, quote)) => {
                let behind = text.get(offset..line.end).unwrap_or_default();
                let byte = quote.bytes().next().unwrap_or(b'"');
                match closing_quote(behind, byte, ",:=]}#/") {
                    Some(_) if quote.len() > 1 => (offset..offset, "", String::new()),
                    Some(end) => (offset..offset + end, "", String::new()),
                    None if quote.len() > 1 => (offset..offset, "", String::new()),
                    None => (offset..bare.end, "", quote.to_string()),
                }
            }
            None => (bare, "\"", "\"".to_string()),
        };
        let next = next_solid(text, word.end, self.comments).chars().next();
        let has_value = is_key && next == Some(colon);
        if is_key && !has_value {
            after.push_str(value);
        }
        let wants_comma = !open.is_empty()
            && !has_value
            && next.is_some_and(|c| {
                c.is_alphanumeric() || matches!(c, '"' | '\'' | '{' | '[' | '-' | '_')
            });
        if wants_comma {
            after.push(',');
        }
        let comma = last
            .filter(|it| !open.is_empty() && !matches!(it.byte, b'{' | b'[' | b',' | b':' | b'='))
            .map(|it| it.end);
        let (before, in_flow) = (before.to_string(), !open.is_empty());
        Form {
            word,
            before,
            after,
            closers: closing_brackets(open),
            lead: "",
            has_value,
            wants_comma,
            comma,
            in_flow,
        }
    }
}

/// Skips a comment or blanks at the start of a text; how long they are.
fn skip_blanks(text: &str, comments: &[(&str, &str)]) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some((open, close)) = comments.iter().find(|(open, _)| rest.starts_with(open)) else {
            break;
        };
        let body = rest.get(open.len()..).unwrap_or_default();
        rest = body
            .find(close)
            .and_then(|at| body.get(at + close.len()..))
            .unwrap_or_default();
    }
    text.len() - rest.len()
}

/// The first character that follows a place, past blanks and comments.
fn next_solid<'t>(text: &'t str, at: usize, comments: &[(&str, &str)]) -> &'t str {
    let rest = text.get(at..).unwrap_or_default();
    rest.get(skip_blanks(rest, comments)..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_testing::rows;

    fn shown(text: &str, format: Format) -> Vec<String> {
        let (before, after) = text.split_once('¦').unwrap();
        let text = format!("{before}{after}");
        find_completing(&text, format, before.len())
            .iter()
            .map(|completing| {
                let path: String = completing
                    .path()
                    .iter()
                    .map(|step| match step {
                        Step::Key(key) => format!("/{key}"),
                        Step::Index(index) => format!("/{index}"),
                    })
                    .collect();
                let kind = if completing.is_key { "key" } else { "value" };
                format!(
                    "{kind} {path} {}‹{}› ‹{}›",
                    completing.lead,
                    completing.typed,
                    &text[completing.token.clone()]
                )
            })
            .collect()
    }

    #[test]
    fn half_typed_files_are_read() {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Row {
            format: String,
            text: String,
            completing: Vec<String>,
        }
        rows::compare("lsp/half_typed.jsonl", |row: Row| {
            (
                shown(&row.text, Format::from_extension(&row.format).unwrap()),
                row.completing,
            )
        });
    }
}
