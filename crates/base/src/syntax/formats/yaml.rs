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
    Map {
        entries: Vec<Entry>,
        seen: HashMap<String, Span>,
        key: Option<Key>,
        merged: Vec<Node>,
    },
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
                    let problem = Problem::syntax(place, message);
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
                let content = Content::Map {
                    entries,
                    seen,
                    key: None,
                    merged: Vec::new(),
                };
                self.open(style, anchor, &place, content)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(&place)?,
            Event::Alias(id) => self.alias(id, place.clone())?,
            Event::UnresolvedAlias(name) => {
                let message = format!("nothing before this is anchored as `&{}`", clip(&name));
                self.problems.push(Problem::syntax(place.clone(), message));
                let node = Node {
                    span: place.clone(),
                    value: NodeValue::Null,
                };
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
            let problem = Problem::syntax(place.clone(), format!("a key can't be {what}"));
            return Err(problem.quoted("put the text in quotes if it is meant as text"));
        }
        if self.stack.len() >= MAX_DEPTH {
            return Err(Problem::too_deep(place.clone()));
        }
        let is_flow = style == StructureStyle::Flow;
        self.stack.push(Frame {
            start: place.start,
            is_flow,
            anchor,
            content,
        });
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
            Content::Map {
                mut entries,
                seen,
                merged,
                ..
            } => {
                let last = entries.last().map(|entry| entry.value.span.end);
                merge(&mut entries, seen, merged);
                (NodeValue::Map(entries), last)
            }
        };
        // The end of a block is noticed at whatever follows it, blank lines later.
        let end = if frame.is_flow {
            place.end
        } else {
            last.unwrap_or(frame.start)
        };
        self.node(
            Node {
                span: frame.start..end.max(frame.start),
                value,
            },
            frame.anchor,
        )
    }

    fn key(
        &mut self,
        text: String,
        span: Span,
        is_plain: bool,
        anchor: usize,
    ) -> Result<(), Problem> {
        if anchor != 0 {
            let value = NodeValue::String(text.clone());
            self.remember(
                anchor,
                &Node {
                    span: span.clone(),
                    value,
                },
            )?;
        }
        let Some(Frame {
            content: Content::Map { seen, key, .. },
            ..
        }) = self.stack.last_mut()
        else {
            return Ok(());
        };
        if span.is_empty() {
            self.problems
                .push(Problem::syntax(span.clone(), "a key is missing here"));
        } else if let Some(first) = seen.get(&text) {
            let problem = Problem::duplicate(&text, span.clone(), Some(first), self.index);
            self.problems.push(problem);
        } else {
            seen.insert(text.clone(), span.clone());
        }
        *key = Some(Key {
            is_merge: is_plain && text == "<<",
            text,
            span,
        });
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
            Some(Content::Map {
                entries,
                key,
                merged,
                ..
            }) => match key.take() {
                None => {}
                Some(key) if key.is_merge => match node.value {
                    NodeValue::Map(_) => merged.push(node),
                    NodeValue::Seq(items)
                        if items.iter().all(|it| matches!(it.value, NodeValue::Map(_))) =>
                    {
                        merged.extend(items);
                    }
                    _ => {
                        let message = "only a map or a list of maps can be merged with `<<`";
                        self.problems.push(Problem::syntax(node.span, message));
                    }
                },
                Some(Key { text, span, .. }) => {
                    entries.push(Entry {
                        key: text,
                        key_span: span,
                        value: node,
                    });
                }
            },
        }
        Ok(())
    }

    fn remember(&mut self, anchor: usize, node: &Node) -> Result<(), Problem> {
        let (depth, cost) = measure(node);
        self.spend(cost, &node.span)?;
        self.anchors.insert(
            anchor,
            Anchor {
                node: node.clone(),
                depth,
                cost,
            },
        );
        Ok(())
    }

    fn spend(&mut self, cost: usize, place: &Span) -> Result<(), Problem> {
        match self.budget.checked_sub(cost) {
            Some(rest) => self.budget = rest,
            None => {
                let message = "the anchors and aliases of this file expand to too much";
                return Err(Problem::syntax(place.clone(), message));
            }
        }
        Ok(())
    }

    fn alias(&mut self, id: usize, place: Span) -> Result<(), Problem> {
        let Some(anchor) = self.anchors.get(&id) else {
            let message = "this alias stands inside the very value it refers to";
            return Err(Problem::syntax(place, message));
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
                _ => Err(Problem::syntax(place, "a key must be text")),
            };
        }
        self.node(Node { span: place, value }, 0)
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        place: &Span,
    ) -> NodeValue {
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
            let text = if is_absent {
                String::new()
            } else {
                text.into_owned()
            };
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
                self.problems.push(Problem::syntax(place.clone(), message));
                NodeValue::Null
            }
        }
    }

    fn check_tag(&mut self, tag: Option<&Tag>, fitting: &str, place: &Span) {
        let Some(tag) = tag else { return };
        if tag.original() != "!" && !tag.is_yaml_core_schema_tag(fitting) {
            let tag = clip(&tag.original());
            let message = format!("the tag `{tag}` doesn't go with this value");
            self.problems.push(Problem::syntax(place.clone(), message));
        }
    }

    fn scan_problem(&self, error: &ScanError) -> Problem {
        let offset = error.marker().byte_offset().unwrap_or(self.last_end);
        let mut span = span_at(self.text, offset);
        let indentation = Some("look at the indentation here and on the line before");
        let (message, help) = match error.kind() {
            ErrorKind::RecursionLimitExceeded => return Problem::too_deep(span),
            ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
                // Noticed where the text leaves the block, often at the end of the file.
                if let Some(quote) = self.next_quote() {
                    span = rest_of_line(self.text, quote);
                }
                return Problem::syntax(span, "the quote that opens here isn't closed");
            }
            ErrorKind::UnexpectedCharacter { character } if !character.is_control() => {
                let message = format!("unquoted text can't start with `{character}`");
                return Problem::syntax(span, message).quoted("put the text in quotes");
            }
            ErrorKind::MappingValueNotAllowed => {
                let help = "text that holds `: ` needs quotes; else look at the indentation";
                return Problem::syntax(span, "a `key: value` can't stand here").quoted(help);
            }
            ErrorKind::SimpleKeyExpected => ("a `:` is expected after the key".to_owned(), indentation),
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
            ErrorKind::ExpectedBlockSequenceEntry => (
                "this line is neither a new item, which begins with `- `, nor a part of the last one".to_owned(),
                indentation,
            ),
            ErrorKind::ExpectedBlockMappingKey => {
                ("this line is no `key: value` of the map that it is in".to_owned(), indentation)
            }
            ErrorKind::InvalidIndentation => {
                ("this line is indented unlike those that it belongs to".to_owned(), indentation)
            }
            ErrorKind::UnclosedFlowCollection { open } => (format!("the `{open}` isn't closed"), None),
            // The name that an alias needs is missing.
            _ if self.text.get(offset..).is_some_and(|rest| rest.starts_with('*')) => {
                let message = "unquoted text can't start with `*`";
                return Problem::syntax(span, message).quoted("put the text in quotes: `'*'`");
            }
            _ => (error.info(), None),
        };
        Problem {
            help: help.map(str::to_owned),
            ..Problem::syntax(span, message)
        }
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
            (
                depth.max(value_depth + 1),
                cost + entry.key.len() + value_cost,
            )
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
            let is_all = |digits: &str, radix| {
                !digits.is_empty() && digits.chars().all(|it| it.is_digit(radix))
            };
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
