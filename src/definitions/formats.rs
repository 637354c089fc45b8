//! Reads YAML, TOML and JSON with comments into one tree, every key and value with its place.
//!
//! What the tree means is left to others. The input may be hostile: size, depth, number of values
//! and what YAML aliases expand to are bounded, and everything past a bound is a [`Problem`] with
//! a place. A file without content is an empty map.
//!
//! What the formats make of some unquoted words:
//!
//! - YAML is read by the core schema of version 1.2: only `true` and `false` (also `True`, `TRUE`)
//!   are booleans. `on`, `off`, `yes`, `no`, `y` and `n` are strings, so `on:` is a key like any
//!   other. `12:30` and `1_000` are strings, too.
//! - Octal: YAML's `0o17` and TOML's `0o17` are 15. YAML's `017` is 17 (YAML 1.1 said 15); TOML
//!   and JSON refuse it.
//! - Keys are text as written: YAML's `1:` and `true:` are the keys `1` and `true`.
//! - TOML dates and times become strings.
//! - Whole numbers beyond 64 bits and JSON numbers beyond a double are problems, not roundings.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use super::diagnostic::LineIndex;
use super::node::{Entry, Node, NodeValue, Span, clip};

/// The formats of definition files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Version 1.2, one document.
    Yaml,
    /// Version 1.1.
    Toml,
    /// With comments and trailing commas.
    Json,
}

impl Format {
    /// By the extension: `yaml`, `yml`, `toml` or `json`, in any case.
    pub fn from_path(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "yaml" | "yml" => Some(Format::Yaml),
            "toml" => Some(Format::Toml),
            "json" => Some(Format::Json),
            _ => None,
        }
    }
}

/// Why a text couldn't be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where; empty if the point is that something is missing there.
    pub span: Span,
    /// Lowercase, no full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// Texts beyond this are refused.
pub const MAX_BYTES: usize = 4 << 20;
/// How many lists and maps may be inside one another.
pub const MAX_DEPTH: usize = 64;
/// How many values a file may have.
pub const MAX_NODES: usize = 200_000;

/// Bytes that anchors and what aliases expand to may occupy.
const EXPANSION_BUDGET: usize = 16 << 20;
/// A broken file needs no longer list than this to be mended.
const MAX_PROBLEMS: usize = 50;

/// Reads a whole file. A byte-order mark at its start is skipped; spans count it.
pub fn parse(text: &str, format: Format) -> Result<Node, Vec<Problem>> {
    if text.len() > MAX_BYTES {
        let message = format!("the file is larger than {} MiB", MAX_BYTES >> 20);
        return Err(vec![Problem::new(0..0, message)]);
    }
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let n_skipped = text.len() - body.len();
    let index = LineIndex::new(body);
    let mut result = match format {
        Format::Yaml => yaml::parse(body, &index),
        Format::Toml => toml_format::parse(body, &index),
        Format::Json => json::parse(body, &index),
    };
    match &mut result {
        Ok(node) => shift(node, n_skipped),
        Err(problems) => {
            for problem in problems {
                problem.span = problem.span.start + n_skipped..problem.span.end + n_skipped;
            }
        }
    }
    result
}

impl Problem {
    fn new(span: Span, message: impl Into<String>) -> Problem {
        Problem { span, message: message.into(), help: None }
    }

    fn help(self, help: impl Into<String>) -> Problem {
        Problem { help: Some(help.into()), ..self }
    }

    fn duplicate(key: &str, span: Span, first: Option<&Span>, index: &LineIndex<'_>) -> Problem {
        let problem = Problem::new(span, format!("the key `{}` is given twice", clip(key)));
        match first.map(|first| index.position(first.start)) {
            None => problem,
            Some(first) => {
                let (line, column) = (first.line, first.column);
                problem.help(format!("it was first given at line {line}, column {column}"))
            }
        }
    }

    fn too_deep(span: Span) -> Problem {
        let message = format!("more than {MAX_DEPTH} lists and maps are inside one another");
        Problem::new(span, message)
    }

    fn too_many(span: Span) -> Problem {
        Problem::new(span, format!("the file has more than {MAX_NODES} values"))
    }

    fn number_too_large(span: Span) -> Problem {
        Problem::new(span, "the number is too large").help("put it in quotes if it is meant as text")
    }
}

fn shift(node: &mut Node, by: usize) {
    if by == 0 {
        return;
    }
    node.span = node.span.start + by..node.span.end + by;
    match &mut node.value {
        NodeValue::Seq(items) => items.iter_mut().for_each(|item| shift(item, by)),
        NodeValue::Map(entries) => {
            for entry in entries {
                entry.key_span = entry.key_span.start + by..entry.key_span.end + by;
                shift(&mut entry.value, by);
            }
        }
        _ => {}
    }
}

/// The character at `offset`, for problems that have a point but no extent.
fn span_at(text: &str, offset: usize) -> Span {
    let rest = text.get(offset..).unwrap_or("");
    match rest.chars().next() {
        Some(character) if character != '\n' && character != '\r' => offset..offset + character.len_utf8(),
        _ => offset.min(text.len())..offset.min(text.len()),
    }
}

fn rest_of_line(text: &str, start: usize) -> Span {
    let rest = text.get(start..).unwrap_or("");
    start..start + rest.find(['\n', '\r']).unwrap_or(rest.len())
}

fn empty_map() -> Node {
    Node { span: 0..0, value: NodeValue::Map(Vec::new()) }
}

mod yaml {
    //! The parser hands out events with byte offsets; the tree is built here, on a stack of its
    //! own, so that depth costs no recursion.

    use std::collections::HashSet;

    use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, StructureStyle, Tag};

    use super::*;

    pub(super) fn parse(text: &str, index: &LineIndex<'_>) -> Result<Node, Vec<Problem>> {
        let options = granit_parser::options! {
            emit_comments: false,
            emit_unresolved_aliases: true,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
        };
        let mut builder = Builder {
            text,
            index,
            stack: Vec::new(),
            root: None,
            n_documents: 0,
            n_nodes: 0,
            last_end: 0,
            anchors: HashMap::new(),
            budget: EXPANSION_BUDGET,
            problems: Vec::new(),
        };
        for next in Parser::new_from_str_with_options(text, options) {
            let result = match next {
                Ok((event, span)) => builder.event(event, &span),
                Err(error) => Err(builder.scan_problem(&error)),
            };
            if let Err(problem) = result {
                builder.problems.push(problem);
                break;
            }
            if builder.problems.len() >= MAX_PROBLEMS {
                break;
            }
        }
        if builder.problems.is_empty() {
            let is_absent = |root: &Node| root.value == NodeValue::Null && root.span.is_empty();
            let root = builder.root.filter(|root| !is_absent(root));
            Ok(root.unwrap_or_else(empty_map))
        } else {
            Err(builder.problems)
        }
    }

    struct Builder<'t> {
        text: &'t str,
        index: &'t LineIndex<'t>,
        stack: Vec<Frame>,
        root: Option<Node>,
        n_documents: usize,
        n_nodes: usize,
        /// Where the latest event ended.
        last_end: usize,
        anchors: HashMap<usize, Anchor>,
        budget: usize,
        problems: Vec<Problem>,
    }

    /// A list or map whose end hasn't been reached.
    struct Frame {
        start: usize,
        is_flow: bool,
        anchor: usize,
        content: Content,
    }

    enum Content {
        Seq(Vec<Node>),
        Map { entries: Vec<Entry>, seen: HashMap<String, Span>, key: Option<Key>, merged: Vec<Node> },
    }

    struct Key {
        text: String,
        span: Span,
        is_merge: bool,
    }

    struct Anchor {
        node: Node,
        depth: usize,
        cost: usize,
    }

    impl Builder<'_> {
        fn event(&mut self, event: Event<'_>, span: &granit_parser::Span) -> Result<(), Problem> {
            let place = span.byte_range().unwrap_or(self.last_end..self.last_end);
            match event {
                Event::DocumentStart(..) => {
                    self.n_documents += 1;
                    if self.n_documents > 1 {
                        let message = "a definition file holds one document, this starts a second";
                        let problem = Problem::new(place, message);
                        return Err(problem.help("put it into a file of its own"));
                    }
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let place = self.scalar_place(place, &text, style);
                    self.last_end = self.last_end.max(place.end);
                    if self.is_key_due() {
                        let is_plain = style == ScalarStyle::Plain && tag.is_none();
                        self.key(text.into_owned(), place, is_plain, anchor)?;
                    } else {
                        let value = self.scalar(text, style, tag.as_deref(), &place);
                        self.node(Node { span: place, value }, anchor)?;
                    }
                    return Ok(());
                }
                Event::SequenceStart(style, anchor, tag) => {
                    self.check_tag(tag.as_deref(), "seq", &place);
                    self.open(style, anchor, &place, Content::Seq(Vec::new()))?;
                }
                Event::MappingStart(style, anchor, tag) => {
                    self.check_tag(tag.as_deref(), "map", &place);
                    let (entries, seen) = (Vec::new(), HashMap::new());
                    let content = Content::Map { entries, seen, key: None, merged: Vec::new() };
                    self.open(style, anchor, &place, content)?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.close(&place)?,
                Event::Alias(id) => self.alias(id, place.clone())?,
                Event::UnresolvedAlias(name) => {
                    let message = format!("nothing before this is anchored as `&{}`", clip(&name));
                    self.problems.push(Problem::new(place.clone(), message));
                    let node = Node { span: place.clone(), value: NodeValue::Null };
                    if self.is_key_due() {
                        self.key(format!("*{name}"), place.clone(), false, 0)?;
                    } else {
                        self.node(node, 0)?;
                    }
                }
                _ => {}
            }
            self.last_end = self.last_end.max(place.end);
            Ok(())
        }

        /// Where the scalar is to be shown. A block scalar's span runs on into the indentation of
        /// what follows, and a value that isn't there is shown at the end of its key.
        fn scalar_place(&self, place: Span, text: &str, style: ScalarStyle) -> Span {
            match style {
                ScalarStyle::Literal | ScalarStyle::Folded => {
                    let written = self.text.get(place.clone()).unwrap_or("");
                    place.start..place.start + written.trim_end().len()
                }
                ScalarStyle::Plain if place.is_empty() && text == "~" => {
                    match self.stack.last().map(|frame| &frame.content) {
                        Some(Content::Map { key: Some(key), .. }) => key.span.end..key.span.end,
                        _ => place,
                    }
                }
                _ => place,
            }
        }

        fn is_key_due(&self) -> bool {
            let content = self.stack.last().map(|frame| &frame.content);
            matches!(content, Some(Content::Map { key: None, .. }))
        }

        fn open(
            &mut self,
            style: StructureStyle,
            anchor: usize,
            place: &Span,
            content: Content,
        ) -> Result<(), Problem> {
            if self.is_key_due() {
                let what = match content {
                    Content::Seq(_) => "a list",
                    Content::Map { .. } => "a map",
                };
                let problem = Problem::new(place.clone(), format!("a key can't be {what}"));
                return Err(problem.help("put the text in quotes if it is meant as text"));
            }
            if self.stack.len() >= MAX_DEPTH {
                return Err(Problem::too_deep(place.clone()));
            }
            let is_flow = style == StructureStyle::Flow;
            self.stack.push(Frame { start: place.start, is_flow, anchor, content });
            Ok(())
        }

        fn close(&mut self, place: &Span) -> Result<(), Problem> {
            let Some(frame) = self.stack.pop() else {
                return Ok(());
            };
            let (value, last) = match frame.content {
                Content::Seq(items) => {
                    let last = items.last().map(|item| item.span.end);
                    (NodeValue::Seq(items), last)
                }
                Content::Map { mut entries, seen, merged, .. } => {
                    let last = entries.last().map(|entry| entry.value.span.end);
                    merge(&mut entries, seen, merged);
                    (NodeValue::Map(entries), last)
                }
            };
            // The end of a block is noticed at whatever follows it, blank lines later.
            let end = if frame.is_flow { place.end } else { last.unwrap_or(frame.start) };
            self.node(Node { span: frame.start..end.max(frame.start), value }, frame.anchor)
        }

        fn key(&mut self, text: String, span: Span, is_plain: bool, anchor: usize) -> Result<(), Problem> {
            if anchor != 0 {
                let value = NodeValue::String(text.clone());
                self.remember(anchor, &Node { span: span.clone(), value })?;
            }
            let Some(Frame { content: Content::Map { seen, key, .. }, .. }) = self.stack.last_mut() else {
                return Ok(());
            };
            if span.is_empty() {
                self.problems.push(Problem::new(span.clone(), "a key is missing here"));
            } else if let Some(first) = seen.get(&text) {
                let problem = Problem::duplicate(&text, span.clone(), Some(first), self.index);
                self.problems.push(problem);
            } else {
                seen.insert(text.clone(), span.clone());
            }
            *key = Some(Key { is_merge: is_plain && text == "<<", text, span });
            Ok(())
        }

        /// Puts a finished value where it belongs.
        fn node(&mut self, node: Node, anchor: usize) -> Result<(), Problem> {
            self.n_nodes += 1;
            if self.n_nodes > MAX_NODES {
                return Err(Problem::too_many(node.span));
            }
            if anchor != 0 {
                self.remember(anchor, &node)?;
            }
            match self.stack.last_mut().map(|frame| &mut frame.content) {
                None => self.root = Some(node),
                Some(Content::Seq(items)) => items.push(node),
                Some(Content::Map { entries, key, merged, .. }) => match key.take() {
                    None => {}
                    Some(key) if key.is_merge => match node.value {
                        NodeValue::Map(_) => merged.push(node),
                        NodeValue::Seq(items) if items.iter().all(|it| matches!(it.value, NodeValue::Map(_))) => {
                            merged.extend(items);
                        }
                        _ => {
                            let message = "only a map or a list of maps can be merged with `<<`";
                            self.problems.push(Problem::new(node.span, message));
                        }
                    },
                    Some(Key { text, span, .. }) => {
                        entries.push(Entry { key: text, key_span: span, value: node });
                    }
                },
            }
            Ok(())
        }

        fn remember(&mut self, anchor: usize, node: &Node) -> Result<(), Problem> {
            let (depth, cost) = measure(node);
            self.spend(cost, &node.span)?;
            self.anchors.insert(anchor, Anchor { node: node.clone(), depth, cost });
            Ok(())
        }

        fn spend(&mut self, cost: usize, place: &Span) -> Result<(), Problem> {
            match self.budget.checked_sub(cost) {
                Some(rest) => self.budget = rest,
                None => {
                    let message = "the anchors and aliases of this file expand to too much";
                    return Err(Problem::new(place.clone(), message));
                }
            }
            Ok(())
        }

        fn alias(&mut self, id: usize, place: Span) -> Result<(), Problem> {
            let Some(anchor) = self.anchors.get(&id) else {
                let message = "this alias stands inside the very value it refers to";
                return Err(Problem::new(place, message));
            };
            let (depth, cost) = (anchor.depth, anchor.cost);
            if self.stack.len() + depth > MAX_DEPTH {
                return Err(Problem::too_deep(place));
            }
            self.spend(cost, &place)?;
            let Some(anchor) = self.anchors.get(&id) else {
                return Ok(());
            };
            let value = anchor.node.value.clone();
            if self.is_key_due() {
                return match value {
                    NodeValue::String(text) => self.key(text, place, false, 0),
                    NodeValue::Int(number) => self.key(number.to_string(), place, false, 0),
                    _ => Err(Problem::new(place, "a key must be text")),
                };
            }
            self.node(Node { span: place, value }, 0)
        }

        fn scalar(&mut self, text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>, place: &Span) -> NodeValue {
            let Some(tag) = tag else {
                if style != ScalarStyle::Plain {
                    return NodeValue::String(text.into_owned());
                }
                return plain(&text).unwrap_or_else(|| {
                    self.problems.push(Problem::number_too_large(place.clone()));
                    NodeValue::Null
                });
            };
            if tag.original() == "!" || tag.is_yaml_core_schema_tag("str") {
                // A tagged value that isn't there comes as the word for null.
                let is_absent = style == ScalarStyle::Plain && place.is_empty();
                let text = if is_absent { String::new() } else { text.into_owned() };
                return NodeValue::String(text);
            }
            let value = plain(&text).unwrap_or(NodeValue::Null);
            match (tag.core_suffix(), value) {
                (Some("null"), NodeValue::Null) => NodeValue::Null,
                (Some("bool"), value @ NodeValue::Bool(_)) => value,
                (Some("int"), value @ (NodeValue::Int(_) | NodeValue::UInt(_))) => value,
                (Some("float"), value @ NodeValue::Float(_)) => value,
                (Some("float"), NodeValue::Int(value)) => NodeValue::Float(value as f64),
                _ => {
                    let tag = clip(&tag.original());
                    let message = format!("the tag `{tag}` doesn't go with this value");
                    self.problems.push(Problem::new(place.clone(), message));
                    NodeValue::Null
                }
            }
        }

        fn check_tag(&mut self, tag: Option<&Tag>, fitting: &str, place: &Span) {
            let Some(tag) = tag else { return };
            if tag.original() != "!" && !tag.is_yaml_core_schema_tag(fitting) {
                let tag = clip(&tag.original());
                let message = format!("the tag `{tag}` doesn't go with this value");
                self.problems.push(Problem::new(place.clone(), message));
            }
        }

        fn scan_problem(&self, error: &ScanError) -> Problem {
            let offset = error.marker().byte_offset().unwrap_or(self.last_end);
            let mut span = span_at(self.text, offset);
            let indentation = "look at the indentation here and on the line before";
            let (message, help) = match error.kind() {
                ErrorKind::RecursionLimitExceeded => return Problem::too_deep(span),
                ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
                    // Noticed where the text leaves the block, often at the end of the file.
                    if let Some(quote) = self.next_quote() {
                        span = rest_of_line(self.text, quote);
                    }
                    return Problem::new(span, "the quote that opens here isn't closed");
                }
                ErrorKind::UnexpectedCharacter { character } if !character.is_control() => {
                    (format!("unquoted text can't start with `{character}`"), Some("put the text in quotes"))
                }
                ErrorKind::MappingValueNotAllowed => (
                    "a `key: value` can't stand here".to_owned(),
                    Some("text that holds `: ` needs quotes; else look at the indentation"),
                ),
                ErrorKind::SimpleKeyExpected => ("a `:` is expected after the key".to_owned(), Some(indentation)),
                ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation | ErrorKind::TabNotAllowed => {
                    if self.text.get(..offset).is_some_and(|before| before.ends_with('\t')) {
                        span = offset - 1..offset;
                    }
                    ("a tab can't indent".to_owned(), Some("indent with spaces"))
                }
                ErrorKind::TabInPlainScalar => {
                    // Placed at the start of the text that the tab would continue.
                    let rest = self.text.get(offset..).unwrap_or("");
                    if let Some(at) = rest.find('\t') {
                        span = offset + at..offset + at + 1;
                    }
                    ("a tab can't indent".to_owned(), Some("indent with spaces"))
                }
                ErrorKind::InvalidColonPlacement if self.stack.iter().any(|it| it.is_flow) => {
                    ("a `:` can't stand here".to_owned(), Some("look whether a `[` or `{` before this isn't closed"))
                }
                ErrorKind::ExpectedBlockMappingKey
                | ErrorKind::ExpectedBlockSequenceEntry
                | ErrorKind::InvalidIndentation => (error.info(), Some(indentation)),
                ErrorKind::UnclosedFlowCollection { open } => (format!("the `{open}` isn't closed"), None),
                _ => (error.info(), None),
            };
            Problem { span, message, help: help.map(str::to_owned) }
        }

        /// The first quote behind the latest event that isn't in a comment.
        fn next_quote(&self) -> Option<usize> {
            let mut is_comment = false;
            let mut before = ' ';
            let rest = self.text.get(self.last_end..)?;
            for (at, character) in rest.char_indices() {
                match character {
                    '\n' | '\r' => is_comment = false,
                    '#' if before.is_whitespace() => is_comment = true,
                    '"' | '\'' if !is_comment => return Some(self.last_end + at),
                    _ => {}
                }
                before = character;
            }
            None
        }
    }

    /// Keys of the map itself win, whatever the order, then those of earlier merges.
    fn merge(entries: &mut Vec<Entry>, seen: HashMap<String, Span>, merged: Vec<Node>) {
        let mut seen: HashSet<String> = seen.into_keys().collect();
        for node in merged {
            let NodeValue::Map(more) = node.value else {
                continue;
            };
            for entry in more {
                if !seen.contains(&entry.key) {
                    seen.insert(entry.key.clone());
                    entries.push(entry);
                }
            }
        }
    }

    /// How deep a node is (0 for a scalar) and about how many bytes it occupies. Recursive, as a
    /// finished node is at most `MAX_DEPTH` deep.
    fn measure(node: &Node) -> (usize, usize) {
        let own = size_of::<Entry>();
        match &node.value {
            NodeValue::String(text) => (0, own + text.len()),
            NodeValue::Seq(items) => items.iter().fold((1, own), |(depth, cost), item| {
                let (item_depth, item_cost) = measure(item);
                (depth.max(item_depth + 1), cost + item_cost)
            }),
            NodeValue::Map(entries) => entries.iter().fold((1, own), |(depth, cost), entry| {
                let (value_depth, value_cost) = measure(&entry.value);
                (depth.max(value_depth + 1), cost + entry.key.len() + value_cost)
            }),
            _ => (0, own),
        }
    }

    /// What unquoted text means in the core schema of YAML 1.2; none if it is a whole number of
    /// more than 64 bits.
    fn plain(text: &str) -> Option<NodeValue> {
        let value = match text {
            "" | "~" | "null" | "Null" | "NULL" => NodeValue::Null,
            "true" | "True" | "TRUE" => NodeValue::Bool(true),
            "false" | "False" | "FALSE" => NodeValue::Bool(false),
            ".nan" | ".NaN" | ".NAN" => NodeValue::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => NodeValue::Float(f64::INFINITY),
            "-.inf" | "-.Inf" | "-.INF" => NodeValue::Float(f64::NEG_INFINITY),
            _ => {
                let is_all = |digits: &str, radix| !digits.is_empty() && digits.chars().all(|it| it.is_digit(radix));
                let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
                if is_all(unsigned, 10) {
                    return whole_number(text, 10);
                }
                match (text.strip_prefix("0o"), text.strip_prefix("0x")) {
                    (Some(digits), _) if is_all(digits, 8) => return whole_number(digits, 8),
                    (_, Some(digits)) if is_all(digits, 16) => return whole_number(digits, 16),
                    _ => {}
                }
                match text.parse() {
                    Ok(number) if is_float(unsigned) => NodeValue::Float(number),
                    _ => NodeValue::String(text.to_owned()),
                }
            }
        };
        Some(value)
    }

    /// `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`; Rust would also take `inf` and `nan`.
    fn is_float(unsigned: &str) -> bool {
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let (number, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, Some(exponent)),
            None => (unsigned, None),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let exponent = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
        is_digits(whole)
            && is_digits(fraction)
            && !(whole.is_empty() && fraction.is_empty())
            && exponent.is_none_or(|text| !text.is_empty() && is_digits(text))
    }
}

fn whole_number(digits: &str, radix: u32) -> Option<NodeValue> {
    match i64::from_str_radix(digits, radix) {
        Ok(number) => Some(NodeValue::Int(number)),
        Err(_) => u64::from_str_radix(digits, radix).ok().map(NodeValue::UInt),
    }
}

mod toml_format {
    //! The tree comes from the toml crate. [`Survey`] goes over the text first, because that crate
    //! bounds brackets but not the product of brackets and dotted keys, and because its error for
    //! a key given twice doesn't say where the first one is.

    use toml::de::{DeTable, DeValue};
    use toml_parser::decoder::Encoding;
    use toml_parser::parser::EventReceiver;
    use toml_parser::{ErrorSink, Source};

    use super::*;

    pub(super) fn parse(text: &str, index: &LineIndex<'_>) -> Result<Node, Vec<Problem>> {
        let survey = Survey::of(text);
        if let Some(problem) = survey.problem {
            return Err(vec![problem]);
        }
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut problems: Vec<Problem> = Vec::new();
        for error in errors.iter().take(MAX_PROBLEMS) {
            let span = error.span().unwrap_or(0..0);
            if error.message() == "duplicate key" {
                let key = text.get(span.clone()).unwrap_or("");
                let first = survey.repeated.get(&span.start);
                problems.push(Problem::duplicate(key, span, first, index));
                continue;
            }
            problems.push(match survey.unclosed.get(&span.start) {
                Some(start) => {
                    let line = rest_of_line(text, *start);
                    Problem::new(line, "the quote that opens here isn't closed")
                }
                None => syntax_problem(error.message(), span),
            });
            // What follows is mostly the echo of this mistake.
            break;
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut converter = Converter { problems, n_nodes: 0 };
        let value = converter.table(table.into_inner());
        if !converter.problems.is_empty() {
            return Err(converter.problems);
        }
        Ok(Node { span: 0..text.trim_end().len(), value })
    }

    fn syntax_problem(message: &str, span: Span) -> Problem {
        if message.starts_with("string values must be quoted") {
            return match span.is_empty() {
                true => Problem::new(span, "a value is missing"),
                false => Problem::new(span, "text as a value must be in quotes"),
            };
        }
        Problem::new(span, message.strip_suffix(", expected nothing").unwrap_or(message))
    }

    struct Converter {
        problems: Vec<Problem>,
        n_nodes: usize,
    }

    impl Converter {
        // Recursive, as the survey has refused what is too deep.
        fn node(&mut self, span: Span, value: DeValue<'_>) -> Node {
            self.n_nodes += 1;
            if self.n_nodes == MAX_NODES {
                self.problems.push(Problem::too_many(span.clone()));
            }
            let value = match value {
                DeValue::String(text) => NodeValue::String(text.into_owned()),
                DeValue::Boolean(value) => NodeValue::Bool(value),
                DeValue::Datetime(time) => NodeValue::String(time.to_string()),
                DeValue::Integer(number) => whole_number(number.as_str(), number.radix()).unwrap_or_else(|| {
                    self.problems.push(Problem::number_too_large(span.clone()));
                    NodeValue::Null
                }),
                DeValue::Float(number) => {
                    let value: f64 = number.as_str().parse().unwrap_or(f64::NAN);
                    if value.is_infinite() && !number.as_str().contains("inf") {
                        self.problems.push(Problem::number_too_large(span.clone()));
                    }
                    NodeValue::Float(value)
                }
                DeValue::Array(items) => {
                    let items = items.into_iter();
                    let items = items.map(|item| self.node(item.span(), item.into_inner()));
                    NodeValue::Seq(items.collect())
                }
                DeValue::Table(table) => self.table(table),
            };
            Node { span, value }
        }

        fn table(&mut self, table: DeTable<'_>) -> NodeValue {
            let entry = |(key, value): (toml::Spanned<Cow<'_, str>>, toml::Spanned<DeValue<'_>>)| {
                let (key_span, value_span) = (key.span(), value.span());
                let value = self.node(value_span, value.into_inner());
                Entry { key: key.into_inner().into_owned(), key_span, value }
            };
            let mut entries: Vec<Entry> = table.into_iter().map(entry).collect();
            entries.sort_by_key(|entry| entry.key_span.start);
            NodeValue::Map(entries)
        }
    }

    /// What can be said of a document without building its values.
    struct Survey<'t> {
        source: Source<'t>,
        /// Every place a key can name, as a tree; 0 is the root.
        places: Vec<Place>,
        children: HashMap<(usize, Cow<'t, str>), usize>,
        /// The place that the current `[header]` opened, and how deep it is.
        header: (usize, usize),
        is_in_header: bool,
        /// Arrays and inline tables that haven't ended.
        open: Vec<Open>,
        keys: Vec<(Cow<'t, str>, Span)>,
        /// The place of the value to come.
        target: (usize, usize),
        /// From the start of a repeated key to the first of its kind.
        repeated: HashMap<usize, Span>,
        /// From the end of a quoted text that isn't closed to its start.
        unclosed: HashMap<usize, usize>,
        problem: Option<Problem>,
    }

    #[derive(Default)]
    struct Place {
        first: Option<Span>,
        /// For `[[header]]`: the place of its latest element.
        element: Option<usize>,
    }

    struct Open {
        is_table: bool,
        /// What held before: goes back into `target`.
        outer: (usize, usize),
        /// Where the keys of the table start from.
        base: (usize, usize),
    }

    impl<'t> Survey<'t> {
        fn of(text: &'t str) -> Survey<'t> {
            let source = Source::new(text);
            let mut survey = Survey {
                source,
                places: vec![Place::default()],
                children: HashMap::new(),
                header: (0, 0),
                is_in_header: false,
                open: Vec::new(),
                keys: Vec::new(),
                target: (0, 0),
                repeated: HashMap::new(),
                unclosed: HashMap::new(),
                problem: None,
            };
            let tokens = source.lex().into_vec();
            toml_parser::parser::parse_document(&tokens, &mut survey, &mut ());
            survey
        }

        fn add(&mut self, place: Place) -> usize {
            self.places.push(place);
            self.places.len() - 1
        }

        /// Walks the collected keys down from `base` and notes the last one as defined.
        fn define(&mut self, base: (usize, usize), is_array: bool) -> (usize, usize) {
            let (mut place, mut depth) = base;
            let keys = std::mem::take(&mut self.keys);
            let n_keys = keys.len();
            for (at, (name, span)) in keys.into_iter().enumerate() {
                let key = (place, name);
                place = match self.children.get(&key) {
                    Some(child) => *child,
                    None => {
                        let child = self.add(Place::default());
                        self.children.insert(key, child);
                        child
                    }
                };
                depth += 1;
                if depth > MAX_DEPTH {
                    self.problem.get_or_insert(Problem::too_deep(span));
                    return (place, depth);
                }
                let is_last = at + 1 == n_keys;
                match &self.places[place].first {
                    Some(first) if is_last => {
                        self.repeated.insert(span.start, first.clone());
                    }
                    Some(_) => {}
                    None => self.places[place].first = Some(span),
                }
                if is_last && is_array {
                    let element = self.add(Place::default());
                    self.places[place].element = Some(element);
                    depth += 1;
                }
                place = self.places[place].element.unwrap_or(place);
            }
            (place, depth)
        }

        fn check_quotes(&mut self, span: &Span, encoding: Option<Encoding>) {
            let quotes = match encoding {
                None => return,
                Some(Encoding::LiteralString) => "'",
                Some(Encoding::BasicString) => "\"",
                Some(Encoding::MlLiteralString) => "'''",
                Some(Encoding::MlBasicString) => "\"\"\"",
            };
            let written = self.source.input().get(span.clone()).unwrap_or("");
            if written.len() < 2 * quotes.len() || !written.ends_with(quotes) {
                self.unclosed.insert(span.end, span.start);
            }
        }

        fn base(&self) -> (usize, usize) {
            self.open.last().map_or(self.header, |open| open.base)
        }

        fn enter(&mut self, span: toml_parser::Span, is_table: bool) -> bool {
            let (place, depth) = self.target;
            if depth >= MAX_DEPTH || self.open.len() >= MAX_DEPTH {
                let span = span.start()..span.end();
                self.problem.get_or_insert(Problem::too_deep(span));
                return false;
            }
            // Each value of an array is a place of its own.
            let place = if is_table { place } else { self.add(Place::default()) };
            let base = (place, depth);
            self.open.push(Open { is_table, outer: self.target, base });
            self.target = (place, depth + 1);
            true
        }

        fn leave(&mut self) {
            if let Some(open) = self.open.pop() {
                self.target = open.outer;
            }
        }
    }

    impl EventReceiver for Survey<'_> {
        fn std_table_open(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
            self.keys.clear();
            self.open.clear();
            self.is_in_header = true;
        }

        fn array_table_open(&mut self, span: toml_parser::Span, error: &mut dyn ErrorSink) {
            self.std_table_open(span, error);
        }

        fn std_table_close(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
            self.header = self.define((0, 0), false);
            self.is_in_header = false;
        }

        fn array_table_close(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
            self.header = self.define((0, 0), true);
            self.is_in_header = false;
        }

        fn simple_key(&mut self, span: toml_parser::Span, encoding: Option<Encoding>, _: &mut dyn ErrorSink) {
            let place = span.start()..span.end();
            self.check_quotes(&place, encoding);
            let Some(written) = self.source.input().get(place.clone()) else {
                return;
            };
            let mut name = Cow::Borrowed("");
            let raw = toml_parser::Raw::new_unchecked(written, encoding, span);
            raw.decode_key(&mut name, &mut ());
            self.keys.push((name, place));
        }

        fn key_val_sep(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
            if !self.is_in_header {
                self.target = self.define(self.base(), false);
            }
        }

        fn scalar(&mut self, span: toml_parser::Span, encoding: Option<Encoding>, _: &mut dyn ErrorSink) {
            self.check_quotes(&(span.start()..span.end()), encoding);
        }

        fn newline(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
            // After a mistake, keys of the line must not become part of the next one's.
            self.keys.clear();
        }

        fn inline_table_open(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) -> bool {
            self.enter(span, true)
        }

        fn inline_table_close(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
            self.leave();
        }

        fn array_open(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) -> bool {
            self.enter(span, false)
        }

        fn array_close(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
            self.leave();
        }

        fn value_sep(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
            if self.open.last().is_some_and(|open| !open.is_table) {
                let place = self.add(Place::default());
                self.target.0 = place;
            }
        }
    }
}

mod json {
    //! The tree comes from jsonc-parser. A look at brackets and quotes goes before it: that crate
    //! lets a string run over the end of its line, so a forgotten quote would be reported at the
    //! next one.

    use jsonc_parser::ast::Value;
    use jsonc_parser::common::Ranged;
    use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

    use super::*;

    pub(super) fn parse(text: &str, index: &LineIndex<'_>) -> Result<Node, Vec<Problem>> {
        survey(text).map_err(|problem| vec![problem])?;
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
        let parsed = parsed.map_err(|error| {
            let range = error.range();
            let message = error.kind().to_string();
            let mut characters = message.chars();
            let first = characters.next().map(|it| it.to_ascii_lowercase());
            let message: String = first.into_iter().chain(characters).collect();
            vec![Problem::new(range.start..range.end, message)]
        })?;
        let Some(value) = parsed.value else {
            return Ok(empty_map());
        };
        let mut converter = Converter { index, problems: Vec::new(), n_nodes: 0 };
        let node = converter.node(value);
        if converter.problems.is_empty() { Ok(node) } else { Err(converter.problems) }
    }

    struct Converter<'t> {
        index: &'t LineIndex<'t>,
        problems: Vec<Problem>,
        n_nodes: usize,
    }

    impl Converter<'_> {
        // Recursive, as the survey has refused what is too deep.
        fn node(&mut self, value: Value<'_>) -> Node {
            let span = value.start()..value.end();
            self.n_nodes += 1;
            if self.n_nodes == MAX_NODES {
                self.problems.push(Problem::too_many(span.clone()));
            }
            let value = match value {
                Value::NullKeyword(_) => NodeValue::Null,
                Value::BooleanLit(literal) => NodeValue::Bool(literal.value),
                Value::StringLit(literal) => NodeValue::String(literal.value.into_owned()),
                Value::NumberLit(literal) => number(literal.value).unwrap_or_else(|| {
                    self.problems.push(Problem::number_too_large(span.clone()));
                    NodeValue::Null
                }),
                Value::Array(array) => {
                    let items = array.elements.into_iter();
                    NodeValue::Seq(items.map(|item| self.node(item)).collect())
                }
                Value::Object(object) => {
                    let mut seen: HashMap<String, Span> = HashMap::new();
                    let mut entries = Vec::new();
                    for property in object.properties {
                        let key_span = property.name.start()..property.name.end();
                        let key = property.name.into_string();
                        let value = self.node(property.value);
                        match seen.get(&key) {
                            Some(first) if self.problems.len() < MAX_PROBLEMS => {
                                let span = key_span;
                                let index = self.index;
                                let problem = Problem::duplicate(&key, span, Some(first), index);
                                self.problems.push(problem);
                            }
                            Some(_) => {}
                            None => {
                                seen.insert(key.clone(), key_span.clone());
                                entries.push(Entry { key, key_span, value });
                            }
                        }
                    }
                    NodeValue::Map(entries)
                }
            };
            Node { span, value }
        }
    }

    fn number(text: &str) -> Option<NodeValue> {
        if text.contains(['.', 'e', 'E']) {
            let number: f64 = text.parse().ok()?;
            return number.is_finite().then_some(NodeValue::Float(number));
        }
        whole_number(text, 10)
    }

    /// Refuses what is too deep and strings that go over the end of their line.
    fn survey(text: &str) -> Result<(), Problem> {
        let bytes = text.as_bytes();
        let (mut at, mut depth) = (0, 0_usize);
        while let Some(&byte) = bytes.get(at) {
            let next = bytes.get(at + 1);
            match byte {
                b'[' | b'{' => {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return Err(Problem::too_deep(at..at + 1));
                    }
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b'/' if next == Some(&b'/') => at = rest_of_line(text, at).end,
                b'/' if next == Some(&b'*') => {
                    let rest = &text[at + 2..];
                    at = rest.find("*/").map_or(text.len(), |end| at + 2 + end + 1);
                }
                b'"' => {
                    let start = at;
                    at += 1;
                    loop {
                        match bytes.get(at) {
                            Some(b'"') => break,
                            Some(b'\\') if !matches!(bytes.get(at + 1), Some(b'\n' | b'\r')) => {
                                at += 2;
                            }
                            Some(b'\n' | b'\r') | None => {
                                let message = "the quote that opens here isn't closed on its line";
                                return Err(Problem::new(rest_of_line(text, start), message));
                            }
                            Some(_) => at += 1,
                        }
                    }
                }
                _ => {}
            }
            at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Format::{Json, Toml, Yaml};
    use super::*;

    /// `line:column message (help)`, one problem a line; the tree as JSON if there is none.
    fn outcome(text: &str, format: Format) -> String {
        let index = LineIndex::new(text);
        let problems = match parse(text, format) {
            Ok(node) => return node.to_json().to_string(),
            Err(problems) => problems,
        };
        let lines = problems.iter().map(|problem| {
            let start = index.position(problem.span.start);
            let help = problem.help.as_ref().map(|help| format!(" ({help})"));
            let help = help.unwrap_or_default();
            format!("{}:{} {}{help}", start.line, start.column, problem.message)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn check(format: Format, cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            assert_eq!(outcome(text, format), *expected, "{format:?} {text:?}");
        }
    }

    #[test]
    fn yaml_mistakes() {
        check(
            Yaml,
            &[
                ("a: 1\nb: é\na: 2\n", "3:1 the key `a` is given twice (it was first given at line 1, column 1)"),
                ("a: {b: 1, b: 2}", "1:11 the key `b` is given twice (it was first given at line 1, column 5)"),
                ("\u{feff}é: 1\r\né: 2", "2:1 the key `é` is given twice (it was first given at line 1, column 1)"),
                ("a:\n\t- b\n", "2:1 a tab can't indent (indent with spaces)"),
                ("a:\n  b: 1\n\tc: 2\n", "3:1 a tab can't indent (indent with spaces)"),
                ("é: # don't\n  \"x\nb: 3", "2:3 the quote that opens here isn't closed"),
                ("a: 'x", "1:4 the quote that opens here isn't closed"),
                ("a: [1, 2\nb: 3\n", "2:2 a `:` can't stand here (look whether a `[` or `{` before this isn't closed)"),
                ("a: {b: 1\n", "1:4 the `{` isn't closed"),
                (
                    "a: 1\n  b: 2\n",
                    "2:4 a `key: value` can't stand here (text that holds `: ` needs quotes; else look at the indentation)",
                ),
                (
                    "a: 1\nb\n",
                    "2:1 a `:` is expected after the key (look at the indentation here and on the line before)",
                ),
                (
                    "a:\r\n  - b\r\n - c\r\n",
                    "3:2 while parsing a block mapping, did not find expected key (look at the indentation here and on the line before)",
                ),
                (
                    "---\na: 1\n---\nb: 1\n",
                    "3:1 a definition file holds one document, this starts a second (put it into a file of its own)",
                ),
                (
                    "ä: [*x, *y]",
                    "1:5 nothing before this is anchored as `&x`\n1:9 nothing before this is anchored as `&y`",
                ),
                ("a: &x [*x]", "1:8 this alias stands inside the very value it refers to"),
                ("a: {{x}}", "1:5 a key can't be a map (put the text in quotes if it is meant as text)"),
                ("a: @x", "1:4 unquoted text can't start with `@` (put the text in quotes)"),
                ("a: !ruby/x y", "1:12 the tag `!ruby/x` doesn't go with this value"),
                ("<<: 3", "1:5 only a map or a list of maps can be merged with `<<`"),
                (": x", "1:1 a key is missing here"),
                ("!!str : x", "1:6 a key is missing here"),
                ("a: 99999999999999999999", "1:4 the number is too large (put it in quotes if it is meant as text)"),
            ],
        );
    }

    #[test]
    fn yaml_values() {
        check(
            Yaml,
            &[
                ("", "{}"),
                ("# nothing\n", "{}"),
                ("---\n", "{}"),
                ("on: yes\noff: no\ny: [on, True, false]", r#"{"off":"no","on":"yes","y":["on",true,false]}"#),
                ("a: 017\nb: 0o17\nc: 0x1F\nd: 1_0\ne: 12:30", r#"{"a":17,"b":15,"c":31,"d":"1_0","e":"12:30"}"#),
                ("[1e3, .5, +1., -.5e-1, inf, 1e, ., +1]", r#"[1000.0,0.5,1.0,-0.05,"inf","1e",".",1]"#),
                ("18446744073709551615: ~\ntrue: '1'", r#"{"18446744073709551615":null,"true":"1"}"#),
                ("[!!str 1, !!float 1, ! 2, '~', !!str ]", r#"["1",1.0,"2","~",""]"#),
                ("a: |\n  x\n  y\n\nb: >-\n  x\n  y\n", r#"{"a":"x\ny\n","b":"x y"}"#),
                (
                    "a: &a {x: 1, y: 1}\nb: {<<: *a, x: 2}\nc: {<<: [{x: 3}, *a]}",
                    r#"{"a":{"x":1,"y":1},"b":{"x":2,"y":1},"c":{"x":3,"y":1}}"#,
                ),
                ("&k a: 1\nb: *k\n*k : 2\n", "3:1 the key `a` is given twice (it was first given at line 1, column 4)"),
            ],
        );
    }

    #[test]
    fn toml_mistakes_and_values() {
        check(
            Toml,
            &[
                ("", "{}"),
                ("# nothing\n", "{}"),
                ("é = 1", "1:1 invalid unquoted key, expected letters, numbers, `-`, `_`"),
                (
                    "\"é\" = 'ü'\r\n\"é\" = 2",
                    "2:1 the key `\"é\"` is given twice (it was first given at line 1, column 1)",
                ),
                ("[a]\nx = 1\n[b]\n[a]\n", "4:2 the key `a` is given twice (it was first given at line 1, column 2)"),
                (
                    "[[h]]\nn = 1\n[[h]]\nn = 1\nn = 2",
                    "5:1 the key `n` is given twice (it was first given at line 4, column 1)",
                ),
                (
                    "a = [{x = 1}, {x = 1, x = 2}]",
                    "1:23 the key `x` is given twice (it was first given at line 1, column 16)",
                ),
                ("x.n = 1\nn = 2\nx.n = 3", "3:3 the key `n` is given twice (it was first given at line 1, column 3)"),
                ("a = 'ü\"\nb = \"x\n", "1:5 the quote that opens here isn't closed"),
                ("a = \"\"\"x\n\ny", "1:5 the quote that opens here isn't closed"),
                ("a = \n", "1:5 a value is missing"),
                ("a = on\n", "1:5 text as a value must be in quotes"),
                ("a = 017", "1:5 unexpected leading zero"),
                ("[a\n", "1:3 unclosed table, expected `]`"),
                ("a = [1, 2\nb = 3\n", "2:1 missing comma between array elements, expected `,`"),
                ("a = 1\na.b = 2\n", "2:1 cannot extend value of type integer with a dotted key"),
                ("a = 1e999", "1:5 the number is too large (put it in quotes if it is meant as text)"),
                (
                    "a = 2020-01-01T10:00:00Z\nb = 0o17\nc = 0xffffffffffffffff",
                    r#"{"a":"2020-01-01T10:00:00Z","b":15,"c":18446744073709551615}"#,
                ),
            ],
        );
    }

    #[test]
    fn json_mistakes_and_values() {
        check(
            Json,
            &[
                ("", "{}"),
                ("// nothing\n/* at all */", "{}"),
                ("\u{feff}{\"é\": [1, 2.5, -3,], /* x */ \"b\": null, // y\n}", r#"{"b":null,"é":[1,2.5,-3]}"#),
                ("{\"é\": 1,\r\n \"é\": 2}", "2:2 the key `é` is given twice (it was first given at line 1, column 2)"),
                ("{\"é\": \"x\n, \"b\": 1}", "1:7 the quote that opens here isn't closed on its line"),
                ("{\"a\": \"\\", "1:7 the quote that opens here isn't closed on its line"),
                ("{\"a\": 1 \"b\": 2}", "1:8 expected comma"),
                ("{a: 1}", "1:2 expected string for object property"),
                ("{\"é\": 'x'}", "1:7 single-quoted strings are not allowed"),
                ("{\"a\": 1", "1:1 unterminated object"),
                ("{} {}", "1:4 text cannot contain more than one JSON value"),
                ("/* x", "1:1 unterminated comment block"),
                ("[1e999]", "1:2 the number is too large (put it in quotes if it is meant as text)"),
            ],
        );
    }

    #[test]
    fn hostile_texts_are_refused() {
        let deep = "more than 64 lists and maps are inside one another";
        let n = 10_000;
        let keys = "a.".repeat(60);
        let steps = (0..n).map(|at| format!("{}a:\n", " ".repeat(at % 100)));
        let layer = |at: usize| format!("a{at}: &a{at} [{}x]\n", format!("*a{}, ", at - 1).repeat(9));
        let bomb = "a0: &a0 x\n".to_owned() + &(1..20).map(layer).collect::<String>();
        let layer = |at: usize| format!("a{at}: &a{at} {}*a{}{}\n", "[".repeat(30), at - 1, "]".repeat(30));
        let tower = "a0: &a0 x\n".to_owned() + &(1..200).map(layer).collect::<String>();
        let cases = [
            (Yaml, "[".repeat(n), format!("1:65 {deep}")),
            (Yaml, "- ".repeat(n), format!("1:129 {deep}")),
            (Yaml, "{a: ".repeat(n), format!("1:257 {deep}")),
            (Yaml, steps.collect(), format!("65:65 {deep}")),
            (Yaml, tower, format!("4:39 {deep}")),
            (Yaml, bomb, "7:10 the anchors and aliases of this file expand to too much".into()),
            (Yaml, "[".to_owned() + &"x,".repeat(300_000), "1:400002 the file has more than 200000 values".into()),
            (Toml, format!("a = {}", "[".repeat(n)), format!("1:68 {deep}")),
            (Toml, format!("a = {}", "{a = ".repeat(n)), format!("1:320 {deep}")),
            (Toml, format!("{}a = 1", "a.".repeat(n)), format!("1:129 {deep}")),
            (Toml, format!("[{}a]", "a.".repeat(n)), format!("1:130 {deep}")),
            (Toml, format!("[{keys}a]\n{keys}a = {}", format!("{{{keys}a = ").repeat(70)), format!("2:7 {deep}")),
            (Json, "[".repeat(n), format!("1:65 {deep}")),
            (Json, "{\"a\":".repeat(n), format!("1:321 {deep}")),
            (Json, " ".repeat(MAX_BYTES + 1), "1:1 the file is larger than 4 MiB".into()),
        ];
        for (format, text, expected) in cases {
            assert_eq!(outcome(&text, format), expected, "{format:?} {:.40}", text);
        }
    }

    /// Every key and every scalar is found in the text where its span says.
    #[test]
    fn spans_are_exact() {
        fn walk(text: &str, node: &Node, out: &mut Vec<String>) {
            let written = |span: &Span| text[span.clone()].to_owned();
            match &node.value {
                NodeValue::Seq(items) => items.iter().for_each(|item| walk(text, item, out)),
                NodeValue::Map(entries) => {
                    for entry in entries {
                        out.push(written(&entry.key_span));
                        walk(text, &entry.value, out);
                    }
                }
                _ => out.push(written(&node.span)),
            }
        }
        let cases = [
            (Yaml, "\u{feff}ä: 'ü'\r\n\"on\":\r\n  - |\r\n    é\r\n\r\n  - é # x\r\n", "ä 'ü' \"on\" é é"),
            (Toml, "\u{feff}\"ä\" = 'ü'\r\n[x.y]\r\nz = [1, \"é\"] # x\r\n", "\"ä\" 'ü' x y z 1 \"é\""),
            (Json, "\u{feff}{\"ä\": \"ü\", // ö\r\n \"b\": [1, true]}", "\"ä\" \"ü\" \"b\" 1 true"),
        ];
        for (format, text, expected) in cases {
            let mut out = Vec::new();
            walk(text, &parse(text, format).expect("no problem"), &mut out);
            assert_eq!(out.join(" "), expected);
        }
        let node = parse("a:\n  b: 1\n  c: [2]\n\n# x\nd: 1", Yaml).expect("no problem");
        assert_eq!(node.get("a").map(|it| it.span.clone()), Some(5..18), "blanks don't count");
    }

    #[test]
    fn format_comes_from_the_extension() {
        let cases = [
            ("x/a.yaml", Some(Yaml)),
            ("a.YML", Some(Yaml)),
            ("a.toml", Some(Toml)),
            ("a.b.json", Some(Json)),
            ("a.jsonc", None),
            ("yaml", None),
        ];
        for (path, expected) in cases {
            assert_eq!(Format::from_path(Path::new(path)), expected, "{path}");
        }
    }
}
