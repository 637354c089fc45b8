//! Changes what a text in YAML, TOML or JSON holds, and leaves every other byte of it as it is:
//! comments, order, quotes, indentation, line breaks.
//!
//! What is to change is said by the way down the tree. Several ways of writing it are tried, the
//! nicest first, and one counts only if the text with it, read again, holds exactly what was meant.
//! So whatever a format has in store, such as an anchor whose value stands elsewhere too, a change
//! is right or it isn't made.
//!
//! JSON, and what stands in brackets in YAML and TOML, is written by the same functions; lines of
//! YAML and of TOML have their own.

mod flow;
mod lines;
#[cfg(test)]
mod tests;
mod toml_lines;

use super::formats::{Format, parse};
use super::node::{Entry, Node, NodeValue, Span, Step};
use super::quoting::{Within, escaped, inline, key, member, quoted};
use crate::support::changes::{Change, apply};
use serde_json::{Map, Value};

/// What is to become of a place.
#[derive(Debug)]
pub enum Op<'a> {
    /// It holds this value. Where nothing is, a member is made, with the maps that lead to it.
    Set(Value, At<'a>),
    /// The member or item goes.
    Remove,
    /// The member gets this key.
    Rename(&'a str),
    /// The list gets this item at its end.
    Append(Value),
    /// The list that is the whole text becomes the value of this key.
    Under(&'a str),
}

/// Where a new member stands in its map. Where there is no such key, it stands at the end.
#[derive(Clone, Copy, Debug)]
pub enum At<'a> {
    End,
    Before(&'a str),
    Behind(&'a str),
}

/// A text that can be changed.
#[derive(Clone, Copy)]
pub struct Writer<'t> {
    text: &'t str,
    format: Format,
    root: &'t Node,
}

/// One way to write a change; `None` if it can't be written in this way.
type Attempt = Option<Vec<Change>>;

/// The text after these changes, made one after the other; `None` if one of them can't be written.
pub fn rewritten(text: &str, format: Format, ops: &[(Vec<Step<'_>>, Op<'_>)]) -> Option<String> {
    if ops.is_empty() {
        return Some(text.to_string());
    }
    let read = (text.to_string(), parse(text, format).ok()?);
    let after = ops.iter().try_fold(read, |(text, root), (path, op)| {
        let (_, after, root) = Writer::new(&text, format, &root).written(path, op)?;
        Some((after, root))
    });
    after.map(|(text, _)| text)
}

impl<'t> Writer<'t> {
    /// `root` is what the text was read as.
    pub fn new(text: &'t str, format: Format, root: &'t Node) -> Writer<'t> {
        Writer { text, format, root }
    }

    /// What changes in the text; `None` if the path doesn't lead to such a place, or the change
    /// can't be written.
    pub fn changes(&self, path: &[Step<'_>], op: &Op<'_>) -> Option<Vec<Change>> {
        self.written(path, op).map(|(changes, ..)| changes)
    }

    /// The same with the text that comes of it, and what that is read as.
    fn written(&self, path: &[Step<'_>], op: &Op<'_>) -> Option<(Vec<Change>, String, Node)> {
        let wanted = wanted(self.root.to_json(), path, op)?;
        self.attempts(path, op)?
            .into_iter()
            .flatten()
            .find_map(|changes| {
                let after = apply(self.text, &changes);
                let root = parse(&after, self.format)
                    .ok()
                    .filter(|root| root.to_json() == wanted)?;
                Some((changes, after, root))
            })
    }

    fn attempts(&self, path: &[Step<'_>], op: &Op<'_>) -> Option<Vec<Attempt>> {
        let to_parent = || {
            path.split_last()
                .and_then(|(last, way)| Some((last, self.root.at(way)?)))
        };
        match op {
            Op::Set(value, at) => self.set(path, value, *at),
            Op::Remove => {
                let (last, parent) = to_parent()?;
                let position = match last {
                    Step::Key(key) => parent.entries().iter().position(|it| it.key == *key)?,
                    Step::Index(n) => *n,
                };
                Some(match () {
                    () if self.is_flow(parent) => self.flow_without(parent, position),
                    () if self.format == Format::Toml => vec![self.toml_without(parent, position)],
                    () => self.lines_without(parent, position),
                })
            }
            Op::Rename(new) => {
                let (Step::Key(old), parent) = to_parent()? else {
                    return None;
                };
                let span = parent.entry(old)?.key_span.clone();
                let attempts = [
                    self.in_quotes_of(&span, new),
                    Some(key(new, self.format)),
                    Some(quoted(new)),
                ];
                Some(
                    attempts
                        .map(|written| Some(vec![(span.clone(), written?)]))
                        .into(),
                )
            }
            Op::Append(item) => {
                let list = self.root.at(path)?;
                let written = |indent: &str| self.spread(item, indent, Within::List);
                Some(match list.items() {
                    [] if self.is_flow(list) => vec![self.only(list, &written)],
                    [] => self.set(path, &Value::from(vec![item.clone()]), At::End)?,
                    items if self.is_flow(list) => {
                        self.flow_beside(list, items.len() - 1, false, &written)
                    }
                    _ if self.format == Format::Toml => vec![self.toml_append(list, item)],
                    _ => vec![self.line_append(list, item)],
                })
            }
            Op::Under(key) => {
                let Span { start, end } = self.root.span;
                let written = self.key_like(None, key);
                let line = self.line(start).start;
                Some(vec![
                    Some(vec![(line..line, format!("{written}:{}", self.br()))]),
                    Some(vec![
                        (start..start, format!("{{{written}: ")),
                        (end..end, "}".into()),
                    ]),
                ])
            }
        }
    }

    fn set(&self, path: &[Step<'_>], value: &Value, at: At<'_>) -> Option<Vec<Attempt>> {
        if let (Some(node), Some((last, way))) = (self.root.at(path), path.split_last()) {
            let parent = self.root.at(way)?;
            let entry = match last {
                Step::Key(key) => parent.entry(key),
                Step::Index(_) => None,
            };
            return Some(self.replacements(parent, entry, node, value));
        }
        // What leads there, as far as it is there.
        let depth = (0..path.len())
            .rev()
            .find(|depth| self.root.at(&path[..*depth]).is_some())?;
        let (node, rest) = (self.root.at(&path[..depth])?, &path[depth..]);
        let keys: Vec<_> = rest.iter().map(Step::key).collect::<Option<_>>()?;
        match node.value {
            NodeValue::Map(_) => Some(self.insertions(&path[..depth], node, &keys, value, at)),
            NodeValue::Null if depth > 0 => {
                let whole = keys
                    .iter()
                    .rev()
                    .fold(value.clone(), |value, key| nested(key, value));
                let mut attempts = self.set(&path[..depth], &whole, at)?;
                attempts.insert(0, self.lines_below(&path[..depth], &keys, value));
                Some(attempts)
            }
            _ => None,
        }
    }

    /// Another value in the place of one.
    fn replacements(
        &self,
        parent: &Node,
        entry: Option<&Entry>,
        old: &Node,
        new: &Value,
    ) -> Vec<Attempt> {
        let within = match (self.is_flow(parent), &parent.value) {
            (true, NodeValue::Seq(_)) => Within::List,
            (true, _) => Within::Map,
            (false, _) => Within::Line,
        };
        let span = entry.map_or(old.span.clone(), |entry| {
            value_span(self.text, self.format, entry)
        });
        // From behind the colon: without an anchor, a tag or a line break before the value.
        let start = entry.map_or(span.start, |entry| self.end_of_key(entry));
        let between = self.text.get(start..span.start).unwrap_or_default();
        // What stands before the line of the value, if that has comments.
        let comments = between
            .rfind('\n')
            .and_then(|end| between.get(..end))
            .filter(|it| it.contains('#'));
        let comments = comments.map_or("", str::trim_end);
        let is_on_its_line = !between.contains(['\n', '\r']);
        let behind_key = start..span.end.max(start);
        let same = match (old.text(), new) {
            (Some(old_text), Value::String(new)) if !old_text.is_empty() => {
                match old.span == span {
                    true => self.in_quotes_of(&span, new).map(|new| (span.clone(), new)),
                    false => Some((old.span.clone(), self.block_text(old, new))),
                }
            }
            _ => None,
        };
        let written = inline(new, self.format, within);
        let certain = new.as_str().map(quoted);
        let mut attempts = vec![same];
        for written in [written, certain] {
            let in_place = written
                .clone()
                .filter(|_| !span.is_empty())
                .map(|new| (span.clone(), new));
            let afresh = written.filter(|_| self.format == Format::Yaml).map(|new| {
                let is_apart = self
                    .text
                    .get(..behind_key.start)
                    .is_some_and(|it| it.ends_with([' ', '[', '{']));
                let blank = if is_apart { "" } else { " " };
                (behind_key.clone(), format!("{blank}{new}{comments}"))
            });
            // A block becomes a value on the line of its key, unless a comment stands between them.
            let stays = is_on_its_line || !comments.is_empty();
            attempts.extend(if stays {
                [in_place, afresh]
            } else {
                [afresh, in_place]
            });
        }
        attempts
            .into_iter()
            .map(|change| change.map(|it| vec![it]))
            .collect()
    }

    /// A text in the quotes that another one has, if it can stand in them.
    fn in_quotes_of(&self, span: &Span, new: &str) -> Option<String> {
        let quote = self
            .text
            .get(span.clone())?
            .get(..1)
            .filter(|it| ["\"", "'"].contains(it))?;
        Some(format!(
            "{quote}{}{quote}",
            escaped(new, quote, self.format)?
        ))
    }

    /// A member more of a map.
    fn insertions(
        &self,
        way: &[Step<'_>],
        map: &Node,
        keys: &[&str],
        value: &Value,
        at: At<'_>,
    ) -> Vec<Attempt> {
        let entries = self.own_entries(map);
        let position = |key: &str| entries.iter().position(|it| it.key == key);
        let (position, is_before) = match at {
            At::Before(key) => (position(key), position(key).is_some()),
            At::Behind(key) => (position(key), false),
            At::End => (None, false),
        };
        let position = position.unwrap_or(entries.len().saturating_sub(1));
        if self.format == Format::Toml && !self.is_flow(map) {
            return self.toml_insertions(way, map, position, is_before, keys, value);
        }
        let neighbour = entries.get(position).copied();
        let Some((first, rest)) = keys.split_first() else {
            return Vec::new();
        };
        let whole = rest
            .iter()
            .rev()
            .fold(value.clone(), |value, key| nested(key, value));
        let written = |indent: &str| {
            let value = self.value_like(neighbour, &whole, indent, Within::Map)?;
            Some(member(
                &self.key_like(neighbour, first),
                &value,
                self.format,
            ))
        };
        match (entries.is_empty(), self.is_flow(map)) {
            (true, _) => vec![self.only(map, &written)],
            (false, true) => self.flow_beside(map, position, is_before, &written),
            (false, false) => [is_before, !is_before]
                .map(|before| self.line_beside(&entries, position, before, keys, value))
                .into(),
        }
    }

    /// The first part of a map or list that has none.
    fn only(&self, whole: &Node, written: &dyn Fn(&str) -> Option<String>) -> Attempt {
        if self.is_flow(whole) {
            let indent = self.line_indentation(whole.span.start);
            let inner = whole.span.start + 1..whole.span.end - 1;
            let line = written(&indent)?;
            if !self.text.get(inner.clone())?.trim().is_empty() {
                return Some(vec![(inner.start..inner.start, line)]);
            }
            let (br, unit) = (self.br(), self.unit());
            return Some(vec![
                match self.format == Format::Json && line.len() > WIDTH {
                    true => (
                        inner,
                        format!(
                            "{br}{indent}{unit}{}{br}{indent}",
                            written(&format!("{indent}{unit}"))?
                        ),
                    ),
                    false if matches!(whole.value, NodeValue::Seq(_)) => (inner, line),
                    false => (inner, format!(" {line} ")),
                },
            ]);
        }
        // A text that says nothing, or only has comments.
        let end = self.text.len();
        let line = written("")?;
        let line = if self.format == Format::Json {
            format!("{{ {line} }}")
        } else {
            line
        };
        let is_begun = !self.text.is_empty() && !self.text.ends_with(['\n', '\u{feff}']);
        let before = if is_begun { self.br() } else { "" };
        Some(vec![(end..end, format!("{before}{line}{}", self.br()))])
    }

    /// A key as it is written beside another one.
    fn key_like(&self, neighbour: Option<&Entry>, name: &str) -> String {
        match neighbour.is_some_and(|it| self.begins(&it.key_span, '"')) {
            true => quoted(name),
            false => key(name, self.format),
        }
    }

    /// A value as it is written beside another member's.
    fn value_like(
        &self,
        neighbour: Option<&Entry>,
        value: &Value,
        indent: &str,
        within: Within,
    ) -> Option<String> {
        match (value, neighbour) {
            (Value::String(text), Some(it))
                if self.format == Format::Yaml && self.begins(&it.key_span, '"') =>
            {
                Some(quoted(text))
            }
            (Value::String(text), Some(it))
                if self.format == Format::Toml && self.begins(&it.value.span, '\'') =>
            {
                let literal = escaped(text, "'", self.format).map(|it| format!("'{it}'"));
                literal.or_else(|| Some(quoted(text)))
            }
            _ => self.spread(value, indent, within),
        }
    }

    /// A value on one line, or, in JSON, on several if it would be long.
    fn spread(&self, value: &Value, indent: &str, within: Within) -> Option<String> {
        let line = inline(value, self.format, within)?;
        if self.format != Format::Json || line.len() <= WIDTH {
            return Some(line);
        }
        let (inner, br) = (format!("{indent}{}", self.unit()), self.br());
        let block = |open: char, parts: Vec<String>, close: char| {
            let parts: Vec<_> = parts
                .into_iter()
                .map(|it| format!("{br}{inner}{it}"))
                .collect();
            format!("{open}{}{br}{indent}{close}", parts.join(","))
        };
        Some(match value {
            Value::Array(items) => {
                let items: Option<Vec<_>> = items
                    .iter()
                    .map(|it| self.spread(it, &inner, Within::List))
                    .collect();
                block('[', items?, ']')
            }
            Value::Object(members) => {
                let written = |(name, value): (&String, &Value)| {
                    Some(member(
                        &quoted(name),
                        &self.spread(value, &inner, Within::Map)?,
                        self.format,
                    ))
                };
                let members: Option<Vec<_>> = members.iter().map(written).collect();
                block('{', members?, '}')
            }
            _ => line,
        })
    }

    /// Whether the parts of a map or list stand in brackets. A list that begins where its first
    /// item does has none: the bracket there is the item's, or that of a TOML header.
    fn is_flow(&self, node: &Node) -> bool {
        match &node.value {
            NodeValue::Map(_) => self.begins(&node.span, '{'),
            NodeValue::Seq(items) => {
                self.begins(&node.span, '[')
                    && items
                        .first()
                        .is_none_or(|it| it.span.start > node.span.start)
            }
            _ => false,
        }
    }

    /// The members that a map has by itself: those of a YAML merge are written elsewhere.
    fn own_entries<'n>(&self, map: &'n Node) -> Vec<&'n Entry> {
        let is_own = |it: &&Entry| {
            self.format != Format::Yaml
                || (map.span.start <= it.key_span.start && it.key_span.end <= map.span.end)
        };
        map.entries().iter().filter(is_own).collect()
    }

    /// Behind the colon of a member, or behind its key if it has none.
    fn end_of_key(&self, entry: &Entry) -> usize {
        let end = entry.key_span.end;
        let colon = self.text.get(end..).and_then(|rest| {
            rest.find(|c| c != ' ')
                .filter(|at| rest[*at..].starts_with(':'))
        });
        colon.map_or(end, |at| end + at + 1)
    }

    /// Where a member ends, which may have no value.
    fn end_of(&self, entry: &Entry) -> usize {
        match entry.value.span.is_empty() {
            true => self.end_of_key(entry),
            false => extent(&entry.value, self.format)
                .end
                .max(entry.key_span.end),
        }
    }

    fn begins(&self, span: &Span, quote: char) -> bool {
        self.text
            .get(span.clone())
            .is_some_and(|it| it.starts_with(quote))
    }

    /// The line around an offset, without its line break and the text's byte-order mark.
    fn line(&self, offset: usize) -> Span {
        let before = self
            .text
            .get(..offset)
            .and_then(|it| it.rfind(['\n', '\r']));
        let behind = self.text.get(offset..).and_then(|it| it.find(['\n', '\r']));
        let first = if self.text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        before.map_or(first, |at| at + 1)..behind.map_or(self.text.len(), |len| offset + len)
    }

    /// Where the line behind this one begins.
    fn next_line(&self, offset: usize) -> usize {
        let end = self.line(offset).end;
        let rest = self.text.get(end..).unwrap_or_default();
        end + if rest.starts_with("\r\n") {
            2
        } else {
            usize::from(!rest.is_empty())
        }
    }

    /// Whether only blanks are before an offset on its line.
    fn starts_line(&self, offset: usize) -> bool {
        self.text
            .get(self.line(offset).start..offset)
            .is_some_and(|it| it.trim().is_empty())
    }

    /// The rest of a line, if it is blank or a comment.
    fn is_end_of_line(&self, offset: usize) -> bool {
        let rest = self
            .text
            .get(offset..self.line(offset).end)
            .unwrap_or_default()
            .trim();
        let comment = if self.format == Format::Json {
            "//"
        } else {
            "#"
        };
        let is_whole =
            rest.starts_with("/*") && rest.find("*/").is_some_and(|at| at + 2 == rest.len());
        rest.is_empty() || rest.starts_with(comment) || (self.format == Format::Json && is_whole)
    }

    /// The indentation of what begins at an offset: the blanks before it, and blanks in place of a
    /// dash.
    fn indentation(&self, offset: usize) -> String {
        let before = self
            .text
            .get(self.line(offset).start..offset)
            .unwrap_or_default();
        before
            .chars()
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect()
    }

    /// The blanks that the line around an offset begins with.
    fn line_indentation(&self, offset: usize) -> String {
        let line = self.text.get(self.line(offset)).unwrap_or_default();
        line.chars()
            .take_while(|c| [' ', '\t'].contains(c))
            .collect()
    }

    /// By how much a level is indented.
    fn unit(&self) -> String {
        let first = self
            .root
            .entries()
            .first()
            .filter(|_| self.format == Format::Json);
        let unit = first
            .filter(|it| self.starts_line(it.key_span.start))
            .map(|it| self.indentation(it.key_span.start));
        unit.filter(|it| !it.is_empty())
            .unwrap_or_else(|| "  ".into())
    }

    fn br(&self) -> &'static str {
        if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }
}

/// The longest value that JSON has on one line.
const WIDTH: usize = 80;

fn nested(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_string(), value)]))
}

/// What a value is to be after a change below it.
fn wanted(value: Value, path: &[Step<'_>], op: &Op<'_>) -> Option<Value> {
    // As it is read, a number may have another spelling.
    let read = |value: &Value| Node::from_json(value).to_json();
    Some(match (path, op, value) {
        ([], Op::Set(new, _), _) => read(new),
        ([], Op::Append(item), Value::Null) => vec![read(item)].into(),
        ([], Op::Append(item), Value::Array(mut items)) => {
            items.push(read(item));
            items.into()
        }
        ([], Op::Under(key), list @ Value::Array(_)) => nested(key, list),
        ([Step::Key(key)], Op::Remove, Value::Object(mut members)) => {
            members.remove(*key)?;
            members.into()
        }
        ([Step::Key(key)], Op::Rename(new), Value::Object(mut members))
            if !members.contains_key(*new) =>
        {
            let value = members.remove(*key)?;
            members.insert((*new).to_string(), value);
            members.into()
        }
        ([Step::Index(n)], Op::Remove, Value::Array(mut items)) if *n < items.len() => {
            items.remove(*n);
            items.into()
        }
        ([Step::Key(key), rest @ ..], Op::Set(..), Value::Null) => {
            nested(key, wanted(Value::Null, rest, op)?)
        }
        ([Step::Key(key), rest @ ..], _, Value::Object(mut members)) => {
            let inner = members
                .remove(*key)
                .or(matches!(op, Op::Set(..)).then_some(Value::Null))?;
            members.insert((*key).to_string(), wanted(inner, rest, op)?);
            members.into()
        }
        ([Step::Index(n), rest @ ..], _, Value::Array(mut items)) => {
            let item = items.get_mut(*n)?;
            *item = wanted(item.take(), rest, op)?;
            items.into()
        }
        _ => return None,
    })
}

/// All of a value: of a TOML table, what is below its header too.
pub fn extent(node: &Node, format: Format) -> Span {
    let mut span = node.span.clone();
    // Values of a YAML alias are written elsewhere.
    if format == Format::Toml {
        each_span(node, &mut |of| {
            span = span.start.min(of.start)..span.end.max(of.end)
        });
    }
    span
}

/// The place of each key and value of a tree.
fn each_span(node: &Node, visit: &mut impl FnMut(&Span)) {
    node.each(&mut |node| {
        visit(&node.span);
        node.entries().iter().for_each(|it| visit(&it.key_span));
    });
}

/// Where a member's value begins, the header of a YAML block included, which its place leaves out.
pub fn value_span(text: &str, format: Format, member: &Entry) -> Span {
    let span = member.value.span.clone();
    let between = text
        .get(member.key_span.end..span.start)
        .unwrap_or_default();
    let header = between.find(['|', '>']).filter(|at| {
        let before = between.get(..*at).unwrap_or_default();
        format == Format::Yaml && !before.contains(['\n', '#']) && between.contains('\n')
    });
    header.map_or(span.start, |at| member.key_span.end + at)..span.end
}
