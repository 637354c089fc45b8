//! What is written at a place of a definition file, and where in the tree that is.

use crate::definitions::formats::{self, Format};
use crate::definitions::node::{Entry, Node, NodeValue, Span};
use crate::dialects::{self, DIALECTS, Dialect};
use crate::event::Event;
use crate::handlers::guards::natural_events;
use crate::hook::On;
use std::sync::Arc;

/// A place in a tree.
#[derive(Debug)]
pub(super) struct Place<'t> {
    /// The keys and positions that lead there from the root; of a key, those of its map.
    pub(super) path: Vec<Step<'t>>,
    /// What is written there.
    pub(super) what: What<'t>,
}

/// A step down a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'t> {
    /// Into the value of a map's key.
    Key(&'t str),
    /// Into an item of a list.
    Index(usize),
}

/// What is written at a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum What<'t> {
    /// A key with its value.
    Key(&'t Entry),
    /// A value that is neither map nor list.
    Value(&'t Node),
}

impl What<'_> {
    /// Where it is written: the key, or the value.
    pub(super) fn span(&self) -> &Span {
        match self {
            What::Key(entry) => &entry.key_span,
            What::Value(node) => &node.span,
        }
    }
}

/// What is written at a byte of the text. A place just behind it counts.
pub(super) fn at(root: &Node, offset: usize) -> Option<Place<'_>> {
    let mut path = Vec::new();
    let what = find(root, offset, &mut path)?;
    Some(Place { path, what })
}

// The parser bounds the depth. A TOML table's members are outside of its span: each is looked at.
fn find<'t>(node: &'t Node, offset: usize, path: &mut Vec<Step<'t>>) -> Option<What<'t>> {
    let holds = |span: &Span| span.start <= offset && offset <= span.end && !span.is_empty();
    match &node.value {
        NodeValue::Map(entries) => entries.iter().find_map(|entry| {
            if holds(&entry.key_span) {
                return Some(What::Key(entry));
            }
            path.push(Step::Key(&entry.key));
            let found = find(&entry.value, offset, path);
            if found.is_none() {
                path.pop();
            }
            found
        }),
        NodeValue::Seq(items) => items.iter().enumerate().find_map(|(index, item)| {
            path.push(Step::Index(index));
            let found = find(item, offset, path);
            if found.is_none() {
                path.pop();
            }
            found
        }),
        NodeValue::Null
        | NodeValue::Bool(_)
        | NodeValue::Int(_)
        | NodeValue::UInt(_)
        | NodeValue::Float(_)
        | NodeValue::String(_) => holds(&node.span).then_some(What::Value(node)),
    }
}

/// Where a path leads, in the words of whoever reads the file.
pub(super) struct Here<'t> {
    /// The hook that it is in.
    pub(super) hook: Option<&'t Node>,
    /// The path as the schema has it: other systems' files have their hooks elsewhere.
    pub(super) path: Vec<Step<'t>>,
    /// The vocabulary.
    pub(super) dialect: &'static Dialect,
    /// What other systems' files say of the hook's event by where it is.
    listed_under: Option<&'t str>,
}

impl<'t> Here<'t> {
    /// Of a path in a file; `text` is the whole of it, if `root` isn't.
    pub(super) fn new(root: &'t Node, path: &[Step<'t>], text: &str) -> Here<'t> {
        let of_file = match root.get("dialect") {
            Some(node) => string(node).and_then(|name| dialects::by_name(name).ok()),
            None => dialect_line(text).or_else(|| {
                DIALECTS.iter().copied().find(|it| it.files.as_ref().is_some_and(|files| (files.are)(root)))
            }),
        };
        let of_file = of_file.unwrap_or_else(native);
        let mut node = Some(root);
        let mut found: Option<(usize, &'t Node, Option<&'t str>)> = None;
        let mut previous: &[Step<'_>] = &[];
        for (at, step) in path.iter().enumerate() {
            node = node.and_then(|node| child(node, *step));
            if let (Step::Index(_), [.., Step::Key(list)], Some(hook), None) = (step, previous, node, found) {
                let is_below = previous.contains(&Step::Key("hooks"));
                if previous == [Step::Key("hooks")] {
                    found = Some((at, hook, None));
                } else if is_below && dialects::canonical(list, of_file.name()).is_ok() {
                    found = Some((at, hook, Some(list)));
                }
            }
            previous = path.get(..=at).unwrap_or_default();
        }
        let own = found.and_then(|(_, hook, _)| hook.get("dialect")).and_then(string);
        let dialect = own.and_then(|name| dialects::by_name(name).ok()).unwrap_or(of_file);
        let path = match found {
            Some((at, ..)) => {
                let rest = path.get(at + 1..).unwrap_or_default();
                [Step::Key("hooks"), Step::Index(0)].into_iter().chain(rest.iter().copied()).collect()
            }
            None => path.to_vec(),
        };
        let listed_under = found.and_then(|(.., list)| list);
        Here { hook: found.map(|(_, hook, _)| hook), path, dialect, listed_under }
    }

    /// The path within the hook; empty outside of one, and for the hook itself.
    pub(super) fn within(&self) -> &[Step<'t>] {
        self.path.get(2..).filter(|_| self.hook.is_some()).unwrap_or_default()
    }

    /// The canonical names of the hook's events; `None` if it is for any, or nobody knows.
    pub(super) fn events(&self) -> Option<Vec<Arc<str>>> {
        let hook = self.hook?;
        let names: Vec<&str> = match (hook.get("on").map(|on| &on.value), self.listed_under) {
            (_, Some(event)) => vec![event],
            (Some(NodeValue::String(name)), None) => vec![name],
            (Some(NodeValue::Seq(names)), None) => names.iter().filter_map(string).collect(),
            (_, None) => {
                return match natural_events(hook.get("guard")?)? {
                    On::Every => None,
                    On::Names(names) => Some(names),
                };
            }
        };
        if names.contains(&"*") {
            return None;
        }
        let names = names.iter().filter_map(|name| dialects::canonical(name, self.dialect.name()).ok()).flatten();
        let names: Vec<_> = names.collect();
        (!names.is_empty()).then_some(names)
    }

    /// Of these events those that the hook is for.
    pub(super) fn relevant<'s>(&self, events: &'s [Arc<Event>]) -> Vec<&'s Event> {
        let names = self.events();
        let is_for = |event: &&Arc<Event>| names.as_ref().is_none_or(|it| it.contains(&event.name));
        events.iter().filter(is_for).map(|event| &**event).collect()
    }
}

fn native() -> &'static Dialect {
    // The table has it; whatever is first is as good as anything.
    DIALECTS.iter().copied().find(|it| it.name() == dialects::NATIVE).unwrap_or(DIALECTS[0])
}

/// The dialect that a file names on a line of its own, also when the file is broken.
fn dialect_line(text: &str) -> Option<&'static Dialect> {
    let line = text.lines().find_map(|line| line.trim_start().trim_start_matches('"').strip_prefix("dialect"))?;
    let name = line.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    dialects::by_name(name).ok()
}

/// The text that a node is.
pub(super) fn string(node: &Node) -> Option<&str> {
    match &node.value {
        NodeValue::String(text) => Some(text),
        _ => None,
    }
}

fn child<'t>(node: &'t Node, step: Step<'_>) -> Option<&'t Node> {
    match (step, &node.value) {
        (Step::Key(key), _) => node.get(key),
        (Step::Index(index), NodeValue::Seq(items)) => items.get(index),
        _ => None,
    }
}

/// One reading of what is being written at a place of a text, which may be half typed.
#[derive(Debug)]
pub(super) struct Completing {
    /// The text as a tree, or as much of it as could be mended. Has a made-up word at the place.
    pub(super) root: Node,
    /// Which child at each level leads there; of a key, to its map.
    hops: Vec<usize>,
    /// A key, else a value.
    pub(super) is_key: bool,
    /// What it is written as so far, quotes included.
    pub(super) token: Span,
    /// The quote that it begins with.
    pub(super) quote: Option<&'static str>,
    /// The quote is closed.
    pub(super) is_closed: bool,
    /// What it says up to the place.
    pub(super) typed: String,
    /// What it says behind the place.
    pub(super) rest: String,
    /// What has to be written before it, so that it is what this reading takes it for.
    pub(super) lead: &'static str,
    /// A value follows the key already.
    pub(super) has_value: bool,
    /// A comma has to be written behind it.
    pub(super) wants_comma: bool,
    /// It is within brackets or braces.
    pub(super) in_flow: bool,
}

/// Stands for what is being written while the text is parsed.
const MARKER: &str = "hookwireIsBeingAsked";

/// What is being written at a byte of a text. Several readings where the text would do for a key as
/// well as for a value; which of them makes sense the schema knows.
pub(super) fn completing(text: &str, format: Format, offset: usize) -> Vec<Completing> {
    if !text.is_char_boundary(offset) || text.len() > formats::MAX_BYTES || text.contains(MARKER) {
        return Vec::new();
    }
    let whole = Window { span: 0..text.len(), before: "", after: "" };
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
        for form in forms(text, format, offset, window) {
            let Some(reading) = read(text, format, offset, window, &form, mend) else { continue };
            if !readings.iter().any(|it| it.is_key == reading.is_key && it.path() == reading.path()) {
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
        let hops = if self.is_key { &self.hops[..] } else { self.hops.split_last()?.1 };
        hops.iter().try_fold(&self.root, |node, hop| match &node.value {
            NodeValue::Map(entries) => entries.get(*hop).map(|entry| &entry.value),
            NodeValue::Seq(items) => items.get(*hop),
            _ => None,
        })
    }

    /// The other keys of its map.
    pub(super) fn siblings(&self) -> impl Iterator<Item = &str> {
        let entries = match self.around().map(|node| &node.value) {
            Some(NodeValue::Map(entries)) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|entry| entry.key.as_str()).filter(|key| !key.contains(MARKER))
    }

    /// The other texts of its list.
    pub(super) fn neighbours(&self) -> impl Iterator<Item = &str> {
        let items = match self.around().map(|node| &node.value) {
            Some(NodeValue::Seq(items)) => items.as_slice(),
            _ => &[],
        };
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

/// What is done about brackets and quotes that are open at the place.
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
    /// What is being written, as far as it isn't in quotes; else the place.
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
    in_flow: bool,
}

/// A text made of another one's parts, and the way back.
#[derive(Default)]
struct Draft {
    text: String,
    kept: Vec<(usize, Span)>,
}

impl Draft {
    fn keep(&mut self, source: &str, span: Span) {
        if let Some(part) = source.get(span.clone()) {
            self.kept.push((self.text.len(), span));
            self.text.push_str(part);
        }
    }

    /// Where a byte of the draft is in the other text.
    fn back(&self, at: usize) -> usize {
        match self.kept.iter().rfind(|(start, _)| *start <= at) {
            Some((start, span)) => (span.start + (at - start)).min(span.end),
            None => self.kept.first().map_or(0, |(_, span)| span.start),
        }
    }
}

fn read(text: &str, format: Format, offset: usize, window: &Window, form: &Form, mend: Mend) -> Option<Completing> {
    if mend == Mend::Close && (form.closers.is_empty() || format == Format::Json) {
        return None;
    }
    let mut draft = Draft::default();
    draft.text.push_str(window.before);
    draft.keep(text, window.span.start..form.word.start);
    draft.text.push_str(&form.before);
    draft.keep(text, form.word.start..offset);
    draft.text.push_str(MARKER);
    draft.keep(text, offset..form.word.end);
    draft.text.push_str(&form.after);
    if mend != Mend::Nothing {
        draft.text.push_str(&form.closers);
    }
    if mend != Mend::Cut {
        draft.keep(text, form.word.end..window.span.end);
        draft.text.push_str(window.after);
    }
    let root = formats::parse(&draft.text, format).ok()?;
    let mut hops = Vec::new();
    let (span, said, is_key) = marked(&root, &mut hops)?;
    let (typed, rest) = said.split_once(MARKER)?;
    let (typed, rest) = (typed.to_string(), rest.to_string());
    let token = draft.back(span.start)..draft.back(span.end);
    let source = text.get(token.clone()).unwrap_or_default();
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| source.starts_with(quote));
    let is_closed = quote.is_some_and(|it| source.len() >= 2 * it.len() && source.ends_with(it));
    let Form { lead, has_value, wants_comma, in_flow, .. } = *form;
    Some(Completing { hops, is_key, token, quote, is_closed, typed, rest, lead, has_value, wants_comma, in_flow, root })
}

/// The key or value that has the marker in it: its place, its text, and whether it is a key.
fn marked<'t>(node: &'t Node, hops: &mut Vec<usize>) -> Option<(Span, &'t str, bool)> {
    match &node.value {
        NodeValue::String(text) => text.contains(MARKER).then_some((node.span.clone(), text, false)),
        NodeValue::Map(entries) => entries.iter().enumerate().find_map(|(hop, entry)| {
            if entry.key.contains(MARKER) {
                return Some((entry.key_span.clone(), entry.key.as_str(), true));
            }
            into_child(hop, &entry.value, hops)
        }),
        NodeValue::Seq(items) => items.iter().enumerate().find_map(|(hop, item)| into_child(hop, item, hops)),
        _ => None,
    }
}

fn into_child<'t>(hop: usize, child: &'t Node, hops: &mut Vec<usize>) -> Option<(Span, &'t str, bool)> {
    hops.push(hop);
    let found = marked(child, hops);
    if found.is_none() {
        hops.pop();
    }
    found
}

fn forms(text: &str, format: Format, offset: usize, window: &Window) -> Vec<Form> {
    match format {
        Format::Yaml => yaml_forms(text, offset, window.span.start),
        Format::Toml => toml_form(text, offset, window.span.start).into_iter().collect(),
        Format::Json => json_form(text, offset, window.span.start).into_iter().collect(),
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
    let n_before: usize = before.chars().rev().take_while(|c| holds(*c)).map(char::len_utf8).sum();
    let n_behind: usize = behind.chars().take_while(|c| holds(*c)).map(char::len_utf8).sum();
    offset - n_before..offset + n_behind
}

fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '*' | '.' | '$')
}

fn closers(open: &[u8]) -> String {
    open.iter().rev().map(|bracket| if *bracket == b'[' { ']' } else { '}' }).collect()
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

// ---- YAML

/// What is open at a place of a YAML text.
#[derive(Default)]
struct Yaml {
    open: Vec<u8>,
    quote: Option<(u8, usize)>,
    in_block: bool,
    in_comment: bool,
    /// Where what the line says begins, behind its dashes.
    content: usize,
}

fn scan_yaml(text: &str, start: usize, offset: usize) -> Yaml {
    let mut state = Yaml::default();
    // The column that the texts of a block scalar are right of.
    let mut block: Option<usize> = None;
    let mut opener_indent = 0;
    let mut line_start = start;
    let source = text.get(start..).unwrap_or_default();
    for line in source.split_inclusive('\n') {
        let start = line_start;
        line_start += line.len();
        let is_last = offset < line_start || line_start == text.len() && !line.ends_with('\n');
        let bare = line.trim_end_matches(['\n', '\r']);
        let indent = bare.len() - bare.trim_start_matches(' ').len();
        let is_blank = bare.trim().is_empty();
        state.content = start + indent;
        if let Some(column) = block {
            let indent = if is_last && is_blank { offset.saturating_sub(start) } else { indent };
            if indent > column || (is_blank && !is_last) {
                if is_last {
                    state.in_block = true;
                    return state;
                }
                continue;
            }
            block = None;
        }
        let is_open = !state.open.is_empty() || state.quote.is_some();
        if is_open && !is_blank && indent <= opener_indent && !bare.trim_start().starts_with([']', '}']) {
            // Nobody closed it: it was half typed.
            state.open.clear();
            state.quote = None;
        }
        if state.open.is_empty() && state.quote.is_none() {
            opener_indent = indent;
        }
        let until = if is_last { offset.saturating_sub(start).min(bare.len()) } else { bare.len() };
        scan_yaml_line(bare.as_bytes().get(..until).unwrap_or_default(), bare.as_bytes(), start, &mut state);
        if is_last {
            return state;
        }
        state.in_comment = false;
        if state.open.is_empty() && state.quote.is_none() && is_block_header(bare) {
            let content = state.content - start;
            let has_key = bare.get(content..).is_some_and(|it| it.contains(": ") || it.contains(":\t"));
            block = Some(if has_key { content } else { content.saturating_sub(2) });
        }
    }
    state.content = line_start;
    state
}

fn scan_yaml_line(line: &[u8], whole: &[u8], start: usize, state: &mut Yaml) {
    let mut at = 0;
    let mut starts_token = true;
    let mut only_dashes = true;
    while let Some(byte) = line.get(at).copied() {
        let next = whole.get(at + 1).copied();
        let is_spaced = next.is_none_or(|it| it == b' ' || it == b'\t');
        if let Some((quote, _)) = state.quote {
            match byte {
                b'\\' if quote == b'"' => at += 1,
                b'\'' if quote == b'\'' && next == Some(b'\'') => at += 1,
                _ if byte == quote => state.quote = None,
                _ => {}
            }
            (starts_token, only_dashes) = (false, false);
            at += 1;
            continue;
        }
        let was_dash = only_dashes && byte == b'-' && is_spaced;
        match byte {
            b' ' | b'\t' => {}
            b'#' if at == 0 || line.get(at - 1).is_some_and(u8::is_ascii_whitespace) => {
                state.in_comment = true;
                return;
            }
            b'"' | b'\'' if starts_token => state.quote = Some((byte, start + at)),
            b'[' | b'{' if starts_token || !state.open.is_empty() => {
                if state.open.len() < formats::MAX_DEPTH {
                    state.open.push(byte);
                }
                starts_token = true;
            }
            b']' | b'}' if !state.open.is_empty() => {
                state.open.pop();
                starts_token = false;
            }
            b',' if !state.open.is_empty() => starts_token = true,
            b':' if is_spaced => starts_token = true,
            _ if was_dash => {
                let gap = whole.get(at + 1..).unwrap_or_default().iter().take_while(|it| **it == b' ').count();
                state.content = start + at + 1 + gap;
            }
            _ => starts_token = false,
        }
        only_dashes &= was_dash || matches!(byte, b' ' | b'\t');
        at += 1;
    }
}

fn is_block_header(line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or_default().trim_end();
    let head = line.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'));
    let head = head.strip_suffix(['|', '>']);
    head.is_some_and(|head| head.ends_with([' ', '\t']) && head.trim_end().ends_with([':', '-']))
}

fn yaml_forms(text: &str, offset: usize, start: usize) -> Vec<Form> {
    let state = scan_yaml(text, start, offset);
    if state.in_comment {
        return Vec::new();
    }
    let line = line_around(text, offset);
    let behind = text.get(offset..line.end).unwrap_or_default();
    let as_is = Form { word: offset..offset, in_flow: !state.open.is_empty(), ..Form::default() };
    if state.in_block {
        return vec![as_is];
    }
    let as_is = Form { closers: closers(&state.open), ..as_is };
    if let Some((quote, opened)) = state.quote {
        let text_quote = if quote == b'"' { "\"" } else { "'" };
        let end = run_around(text, offset, is_bare).end;
        let closed = Form { word: offset..end, after: text_quote.into(), ..as_is.clone() };
        return match closing_quote(behind, quote, ",]}:#") {
            Some(end) => vec![Form { word: offset..offset + end, ..as_is }],
            None if opened >= line.start => vec![closed, as_is],
            None => vec![as_is, closed],
        };
    }
    let head = text.get(state.content.min(offset)..offset).unwrap_or_default();
    let previous = text.get(line.start..offset).and_then(|it| it.chars().next_back());
    let is_dash = previous == Some('-') && head.is_empty() && behind.trim().is_empty();
    // `key:` and `-` mean nothing without a blank behind them.
    let is_colon = previous == Some(':') && (behind.trim().is_empty() || !state.open.is_empty());
    let lead = if is_dash || is_colon { " " } else { "" };
    let as_is = Form { before: lead.into(), lead, ..as_is };
    if !state.open.is_empty() {
        let word = run_around(text, offset, is_bare);
        let next = text.get(word.end..).unwrap_or_default().trim_start_matches([' ', '\t']).chars().next();
        let has_value = next == Some(':');
        return vec![Form { word: offset..word.end, has_value, ..as_is }];
    }
    let is_indent = head.is_empty() && !behind.trim().is_empty() && behind.starts_with([' ', '\t']);
    if is_indent || offset < state.content && !behind.trim().is_empty() {
        return Vec::new();
    }
    let word = head.trim_start();
    let is_word = !word.contains(|c: char| c.is_whitespace() || matches!(c, ':' | '"' | '\'' | '['));
    let end = offset + behind.find(|c: char| !is_bare(c)).unwrap_or(behind.len());
    let tail = text.get(end..line.end).unwrap_or_default().trim();
    if is_colon || !is_word || !(tail.is_empty() || tail.starts_with('#')) {
        let has_value = is_word && tail.starts_with(':');
        return vec![Form { has_value, ..as_is }];
    }
    // A word alone on its line may become a key, be a value, or begin a new item.
    let word_start = if lead == " " { offset } else { offset - word.len() };
    let key = Form { word: word_start..end, before: lead.into(), after: ":".into(), lead, ..Form::default() };
    let value = Form { word: word_start..end, after: String::new(), ..key.clone() };
    let is_item = text.get(line.start..word_start).is_some_and(|it| it.contains('-')) || lead == " ";
    let item = Form { before: "- ".into(), lead: "- ", ..key.clone() };
    let mut forms = vec![key, value];
    forms.extend((!is_item).then_some(item));
    forms
}

// ---- JSON and TOML

/// Skips a comment or blanks at the start of a text; how long they are.
fn blanks(text: &str, comments: &[(&str, &str)]) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some((open, close)) = comments.iter().find(|(open, _)| rest.starts_with(open)) else { break };
        let body = rest.get(open.len()..).unwrap_or_default();
        rest = body.find(close).and_then(|at| body.get(at + close.len()..)).unwrap_or_default();
    }
    text.len() - rest.len()
}

const JSON_COMMENTS: &[(&str, &str)] = &[("//", "\n"), ("/*", "*/")];
const TOML_COMMENTS: &[(&str, &str)] = &[("#", "\n")];

/// What follows a place, past blanks and comments.
fn next_solid<'t>(text: &'t str, at: usize, comments: &[(&str, &str)]) -> &'t str {
    let rest = text.get(at..).unwrap_or_default();
    rest.get(blanks(rest, comments)..).unwrap_or_default()
}

/// What is open at a place of a JSON text.
#[derive(Default)]
struct Json {
    open: Vec<(u8, usize)>,
    /// Where the string that the place is in begins.
    string: Option<usize>,
    in_comment: bool,
    /// The last thing that isn't part of the word at the place, and the one before that string.
    last: Option<u8>,
}

fn scan_json(text: &str, start: usize, offset: usize) -> Json {
    let mut state = Json::default();
    let bytes = text.as_bytes().get(..offset).unwrap_or_default();
    let word = run_around(text, offset, is_bare).start;
    let mut at = start;
    while let Some(byte) = bytes.get(at).copied() {
        let rest = text.get(at..).unwrap_or_default();
        if let Some((open, close)) = JSON_COMMENTS.iter().find(|(open, _)| byte == b'/' && rest.starts_with(open)) {
            let body = rest.get(open.len()..).unwrap_or_default();
            let Some(end) = body.find(close) else {
                state.in_comment = true;
                return state;
            };
            at += open.len() + end + close.len();
            if at > offset {
                state.in_comment = true;
                return state;
            }
            continue;
        }
        match byte {
            b'"' => {
                let line = bytes.get(at + 1..).unwrap_or_default();
                let mut end = 0;
                let closed = loop {
                    match line.get(end) {
                        Some(b'\\') => end += 2,
                        Some(b'"') => break true,
                        // A string that nobody closed ends with its line.
                        Some(b'\n') => break true,
                        Some(_) => end += 1,
                        None => break false,
                    }
                };
                if !closed {
                    state.string = Some(at);
                    return state;
                }
                state.last = Some(b'"');
                at += 1 + end + 1;
                continue;
            }
            b'{' | b'[' => {
                if state.open.len() < formats::MAX_DEPTH {
                    state.open.push((byte, at));
                }
                state.last = Some(byte);
            }
            b'}' | b']' => {
                state.open.pop();
                state.last = Some(byte);
            }
            _ if byte.is_ascii_whitespace() || at >= word => {}
            _ => state.last = Some(byte),
        }
        at += 1;
    }
    state
}

fn json_form(text: &str, offset: usize, start: usize) -> Option<Form> {
    let state = scan_json(text, start, offset);
    let (bracket, _) = *state.open.last()?;
    if state.in_comment {
        return None;
    }
    let is_key = bracket == b'{' && state.last != Some(b':');
    let open: Vec<u8> = state.open.iter().map(|(bracket, _)| *bracket).collect();
    let quoted = Quoted { text, offset, string: state.string.map(|at| (at, "\"")), comments: JSON_COMMENTS };
    Some(quoted.form(is_key, &open, state.last, ": 0", ':'))
}

/// What JSON and TOML have in common: strings in quotes, commas between things.
struct Quoted<'t> {
    text: &'t str,
    offset: usize,
    /// Where the string begins that the place is in, and its quote.
    string: Option<(usize, &'static str)>,
    comments: &'static [(&'static str, &'static str)],
}

impl Quoted<'_> {
    fn form(&self, is_key: bool, open: &[u8], last: Option<u8>, value: &str, colon: char) -> Form {
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
        let begins = |c: char| c.is_alphanumeric() || matches!(c, '"' | '\'' | '{' | '[' | '-' | '_');
        let wants_comma = !open.is_empty() && !has_value && next.is_some_and(begins);
        if wants_comma {
            after.push(',');
        }
        let lacks_comma = !open.is_empty() && !matches!(last, Some(b'{' | b'[' | b',' | b':' | b'=') | None);
        let before = if lacks_comma && self.string.is_none() { format!(",{before}") } else { before.to_string() };
        let in_flow = !open.is_empty();
        Form { word, before, after, closers: closers(open), lead: "", has_value, wants_comma, in_flow }
    }
}

/// What a place of a TOML text is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Key,
    Header,
    Value,
    Comment,
}

/// What is open at a place of a TOML text.
struct Toml {
    part: Part,
    open: Vec<u8>,
    string: Option<(usize, &'static str)>,
    last: Option<u8>,
}

fn is_header(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default().trim();
    let inner = line.strip_prefix("[[").and_then(|it| it.strip_suffix("]]"));
    let inner = inner.or_else(|| line.strip_prefix('[').and_then(|it| it.strip_suffix(']')));
    inner.is_some_and(|it| {
        !it.trim().is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '))
    })
}

fn scan_toml(text: &str, start: usize, offset: usize) -> Toml {
    let mut state = Toml { part: Part::Key, open: Vec::new(), string: None, last: None };
    let word = run_around(text, offset, is_bare).start;
    let mut at = start;
    let mut begins_line = true;
    while at < offset {
        let rest = text.get(at..).unwrap_or_default();
        let Some(byte) = text.as_bytes().get(at).copied() else { break };
        if begins_line {
            begins_line = false;
            let line = rest.lines().next().unwrap_or_default();
            let is_new_hook = line.trim_end() == "[[hooks]]";
            if is_new_hook || state.string.is_none() && !state.open.is_empty() && is_header(line) {
                state = Toml { part: Part::Key, open: Vec::new(), string: None, last: None };
            }
            if state.open.is_empty() && state.string.is_none() {
                let is_header = line.trim_start().starts_with('[');
                state.part = if is_header { Part::Header } else { Part::Key };
                state.last = None;
            }
        }
        if let Some((_, quote)) = state.string {
            if rest.starts_with(quote) {
                state.string = None;
                state.last = Some(b'"');
                at += quote.len();
            } else if byte == b'\n' && quote.len() == 1 {
                state.string = None;
            } else if byte == b'\\' && quote.starts_with('"') {
                at += 2;
            } else {
                begins_line = byte == b'\n';
                at += 1;
            }
            continue;
        }
        match byte {
            b'\n' => begins_line = true,
            b'#' => {
                let end = at + rest.find('\n').unwrap_or(rest.len());
                if end >= offset {
                    state.part = Part::Comment;
                    return state;
                }
                at = end;
                continue;
            }
            b'=' if state.part == Part::Key => (state.part, state.last) = (Part::Value, Some(b'=')),
            _ if state.part != Part::Value => {}
            b'"' | b'\'' => {
                let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| rest.starts_with(quote));
                let quote = quote.unwrap_or("\"");
                state.string = Some((at, quote));
                at += quote.len();
                continue;
            }
            b'[' | b'{' => {
                if state.open.len() < formats::MAX_DEPTH {
                    state.open.push(byte);
                }
                state.last = Some(byte);
            }
            b']' | b'}' => {
                state.open.pop();
                state.last = Some(byte);
            }
            _ if byte.is_ascii_whitespace() || at >= word => {}
            _ => state.last = Some(byte),
        }
        at += 1;
    }
    if begins_line && state.open.is_empty() && state.string.is_none() {
        state.part = Part::Key;
    }
    state
}

fn toml_form(text: &str, offset: usize, start: usize) -> Option<Form> {
    let state = scan_toml(text, start, offset);
    let line = line_around(text, offset);
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let quoted = Quoted { text, offset, string: state.string, comments: TOML_COMMENTS };
    match state.part {
        Part::Comment => None,
        Part::Header => {
            let word = run_around(text, offset, in_name);
            let behind = text.get(word.end..line.end).unwrap_or_default();
            let opened = text.get(line.start..offset).unwrap_or_default().trim_start();
            let close = if opened.starts_with("[[") { "]]" } else { "]" };
            let after = if behind.contains(']') { "" } else { close };
            Some(Form { word, after: after.into(), has_value: true, ..Form::default() })
        }
        Part::Key => {
            let word = run_around(text, offset, in_name);
            let behind = text.get(word.end..line.end).unwrap_or_default().trim_start();
            let has_value = behind.starts_with(['=', '.']);
            let after = if has_value { "" } else { " = 0" };
            Some(Form { word, after: after.into(), has_value, ..Form::default() })
        }
        Part::Value => {
            let is_key = state.open.last() == Some(&b'{') && state.last != Some(b'=');
            let mut form = quoted.form(is_key, &state.open, state.last, " = 0", '=');
            if is_key && state.string.is_none() {
                form.before = form.before.replace('"', "");
                form.after = form.after.replacen('"', "", 1);
            }
            let is_tight = form.word.start > 0 && text.as_bytes().get(form.word.start - 1) == Some(&b'=');
            if is_tight && state.string.is_none() && form.word.is_empty() {
                form.lead = " ";
            }
            Some(form)
        }
    }
}

// ---- The hook alone

/// The hook that a place is in, without the rest of the file.
fn hook_around(text: &str, format: Format, offset: usize) -> Option<Window> {
    match format {
        Format::Yaml => yaml_hook(text, offset),
        Format::Toml => toml_hook(text, offset),
        Format::Json => {
            let state = scan_json(text, 0, offset);
            let (_, start) = *state.open.get(2)?;
            let end = closing_bracket(text, start).unwrap_or(text.len());
            (end >= offset).then_some(Window { span: start..end, before: "{\"hooks\":[", after: "]}" })
        }
    }
}

fn yaml_hook(text: &str, offset: usize) -> Option<Window> {
    let here = line_around(text, offset);
    let mut item_indent = None;
    let (mut start, mut below_hooks, mut at) = (None, false, 0);
    for line in text.split_inclusive('\n') {
        let (line_start, bare) = (at, line.trim_end());
        at += line.len();
        let indent = bare.len() - bare.trim_start_matches(' ').len();
        let said = bare.trim_start();
        let is_item = said == "-" || said.starts_with("- ");
        let is_said = !said.is_empty() && !said.starts_with('#');
        if line_start > here.start {
            // Ends before the next item, or where the list does.
            if is_said && item_indent.is_some_and(|it| indent <= it) {
                return Some(Window { span: start?..line_start, before: "hooks:\n", after: "" });
            }
            continue;
        }
        if is_said && indent == 0 && !is_item && line_start < here.start {
            below_hooks = said.starts_with("hooks:");
            (item_indent, start) = (None, None);
        } else if below_hooks && is_item && item_indent.is_none_or(|it| it == indent) {
            (item_indent, start) = (Some(indent), Some(line_start));
        }
    }
    Some(Window { span: start?..text.len(), before: "hooks:\n", after: "" })
}

fn toml_hook(text: &str, offset: usize) -> Option<Window> {
    let here = line_around(text, offset);
    let (mut start, mut at) = (None, 0);
    for line in text.split_inclusive('\n') {
        let (line_start, said) = (at, line.trim());
        at += line.len();
        let ends = said.starts_with("[[hooks]]") || is_header(said) && !said.trim_matches('[').starts_with("hooks");
        if line_start > here.start {
            if ends {
                return Some(Window { span: start?..line_start, before: "", after: "" });
            }
        } else if ends {
            start = said.starts_with("[[hooks]]").then_some(line_start);
        }
    }
    Some(Window { span: start?..text.len(), before: "", after: "" })
}

/// Behind the bracket that closes the one at `start`.
fn closing_bracket(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut in_string) = (start, 0_usize, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'\n' => in_string = false,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, format: Format) -> Vec<String> {
        let (before, after) = text.split_once('¦').unwrap();
        let text = format!("{before}{after}");
        let show = |it: &Completing| {
            let path: String = it
                .path()
                .iter()
                .map(|step| match step {
                    Step::Key(key) => format!("/{key}"),
                    Step::Index(index) => format!("/{index}"),
                })
                .collect();
            let kind = if it.is_key { "key" } else { "value" };
            format!("{kind} {path} {}{:?} {:?}", it.lead, it.typed, &text[it.token.clone()])
        };
        completing(&text, format, before.len()).iter().map(show).collect()
    }

    fn check(format: Format, cases: &[(&str, &[&str])]) {
        let wrong = |(text, expected): &&(&str, &[&str])| shown(text, format) != *expected;
        let wrong: Vec<_> = cases.iter().filter(wrong).map(|(text, _)| (text, shown(text, format))).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn half_typed_yaml_is_read() {
        check(
            Format::Yaml,
            &[
                ("ho¦", &["key  \"ho\" \"ho\"", "value  \"ho\" \"ho\"", "key /0 - \"ho\" \"ho\""]),
                ("¦", &["key  \"\" \"\"", "value  \"\" \"\"", "key /0 - \"\" \"\""]),
                ("hooks:\n  - ¦", &["key /hooks/0 \"\" \"\"", "value /hooks/0 \"\" \"\""]),
                ("hooks:\n  - name: a\n    on: Pre¦", &["value /hooks/0/on \"Pre\" \"Pre\""]),
                ("hooks:\n  - name: a\n    on: Pre¦\n    deny: x", &["value /hooks/0/on \"Pre\" \"Pre\""]),
                ("hooks:\n  - name: a\n    on:¦", &["value /hooks/0/on  \"\" \"\""]),
                ("hooks:\n  - name: a\n    on:¦\n    deny: x\n", &["value /hooks/0/on  \"\" \"\""]),
                ("hooks:\n  - name: a\n    ma¦\n    deny: x\n", &["key /hooks/0 \"ma\" \"ma\""]),
                ("hooks:\n  - name: a\n    ¦\n    deny: x\n", &["key /hooks/0 \"\" \"\""]),
                ("hooks:\n  - name: a\n    on: [PreToolUse, ¦\n    deny: x\n", &["value /hooks/0/on/1 \"\" \"\""]),
                ("hooks:\n  - name: a\n    on: [PreToolUse, Po¦]\n", &["value /hooks/0/on/1 \"Po\" \"Po\""]),
                ("hooks:\n  - name: a\n    if: Bash(¦\n    deny: x\n", &["value /hooks/0/if \"Bash(\" \"Bash(\""]),
                (
                    "hooks:\n  - name: a\n    if: \"Bash(¦\n    deny: x\n",
                    &["value /hooks/0/if \"Bash(\" \"\\\"Bash(\""],
                ),
                ("hooks:\n  - name: a\n    when: \"tool.¦\"\n", &["value /hooks/0/when \"tool.\" \"\\\"tool.\\\"\""]),
                (
                    "hooks:\n  - name: a\n    command: |\n      echo ${¦\n    on: Stop\n",
                    &["value /hooks/0/command \"echo ${\" \"echo ${\""],
                ),
                // Another hook is broken, before and behind.
                (
                    "hooks:\n  - name: [\n  - name: a\n    ma¦\n  - name: b\n    on: [x\n",
                    &["key /hooks/0 \"ma\" \"ma\""],
                ),
                (
                    "hooks:\n  - name: a\n    guard:\n      st¦\n",
                    &[
                        "key /hooks/0/guard \"st\" \"st\"",
                        "value /hooks/0/guard \"st\" \"st\"",
                        "key /hooks/0/guard/0 - \"st\" \"st\"",
                    ],
                ),
                ("hooks:\n  - {name: a, o¦", &["key /hooks/0 \"o\" \"o\""]),
                ("hooks:\n  - {name: a, on: ¦}\n", &["value /hooks/0/on \"\" \"\""]),
                ("hooks:\n  - name: a\n    # on: Pr¦\n    deny: x\n", &[]),
                ("hooks:\n- name: a\n¦", &["key  \"\" \"\"", "key /hooks/1 - \"\" \"\""]),
                ("hooks:\n  - na¦me: a\n    on: Stop\n", &["key /hooks/0 \"na\" \"name\""]),
                (
                    "hooks:\n  - name: don't\n    deny: \"é😀 ¦ x\"\n",
                    &["value /hooks/0/deny \"é😀 \" \"\\\"é😀  x\\\"\""],
                ),
            ],
        );
    }

    #[test]
    fn half_typed_toml_is_read() {
        check(
            Format::Toml,
            &[
                ("¦", &["key  \"\" \"\""]),
                ("[[hooks]]\nname = 'a'\nma¦\ndeny = 'x'\n", &["key /hooks/0 \"ma\" \"ma\""]),
                ("[[hooks]]\nname = 'a'\non = ¦\n", &["value /hooks/0/on \"\" \"\""]),
                ("[[hooks]]\nname = 'a'\non =¦\ndeny = 'x'", &["value /hooks/0/on  \"\" \"\""]),
                ("[[hooks]]\nname = 'a'\non = \"Pre¦\ndeny = 'x'\n", &["value /hooks/0/on \"Pre\" \"\\\"Pre\""]),
                ("[[hooks]]\nname = 'a'\non = [\"PreToolUse\", ¦\ndeny = 'x'\n", &["value /hooks/0/on/1 \"\" \"\""]),
                (
                    "[[hooks]]\nname = 'a'\non = [\"PreToolUse\", \"P¦\"]\n",
                    &["value /hooks/0/on/1 \"P\" \"\\\"P\\\"\""],
                ),
                ("[[hooks]]\nname = 'a'\ncommand.ru¦\n", &["key /hooks/0/command \"ru\" \"ru\""]),
                ("[[hooks]]\nname = 'a'\ncommand = { ru¦\n", &["key /hooks/0/command \"ru\" \"ru\""]),
                ("[[hooks]]\nname = 'a'\n[hooks.gu¦", &["key /hooks/0 \"gu\" \"gu\""]),
                ("[[ho¦]]\n", &["key  \"ho\" \"ho\""]),
                ("[[hooks]]\nname = [\n[[hooks]]\nname = 'a'\nma¦\n[[hooks]]\non = ", &["key /hooks/0 \"ma\" \"ma\""]),
                ("[[hooks]]\nwhen = '''\ntool.¦\n'''\n", &["value /hooks/0/when \"tool.\" \"'''\\ntool.\\n'''\""]),
                ("[[hooks]]\nenabled = tr¦ue\n", &["value /hooks/0/enabled \"tr\" \"true\""]),
                ("# a¦\n", &[]),
            ],
        );
    }

    #[test]
    fn half_typed_json_is_read() {
        check(
            Format::Json,
            &[
                ("{¦}", &["key  \"\" \"\""]),
                ("{\"hooks\": [{\"na¦", &["key /hooks/0 \"na\" \"\\\"na\""]),
                ("{\"hooks\": [{\"name\": \"a\", \"on\": \"Pre¦", &["value /hooks/0/on \"Pre\" \"\\\"Pre\""]),
                ("{\"hooks\": [{\"name\": \"a\", \"on\": \"Pre¦\"}]}", &["value /hooks/0/on \"Pre\" \"\\\"Pre\\\"\""]),
                ("{\"hooks\": [{\"name\": \"a\",\n  ¦\n  \"deny\": \"x\"}]}", &["key /hooks/0 \"\" \"\""]),
                ("{\"hooks\": [{\"name\": \"a\"\n  ¦\n  \"deny\": \"x\"}]}", &["key /hooks/0 \"\" \"\""]),
                ("{\"hooks\": [{\"name\": \"a\", \"on\": [\"Stop\", ¦]}]}", &["value /hooks/0/on/1 \"\" \"\""]),
                ("{\"hooks\": [{\"name\": \"a\", \"on\":¦}]}", &["value /hooks/0/on \"\" \"\""]),
                ("{\"hooks\": [{\"name\": }, {\"name\": \"a\", \"ma¦\"}, {]}", &["key /hooks/0 \"ma\" \"\\\"ma\\\"\""]),
                ("{\"hooks\": [{\"na¦me\": \"a\"}]}", &["key /hooks/0 \"na\" \"\\\"name\\\"\""]),
                ("{\"hooks\": [\n// {¦\n]}", &[]),
                ("¦", &[]),
            ],
        );
    }
}
