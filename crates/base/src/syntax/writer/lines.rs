//! Maps and lists of YAML whose parts have lines of their own.

use super::{Attempt, Writer};
use crate::syntax::node::{Entry, Node, NodeValue, Span, Step};
use crate::syntax::quoting::{Within, inline, member};
use serde_json::Value;

impl Writer<'_> {
    /// A member more, before or behind another one, with a line for each of the keys.
    pub(super) fn line_beside(
        &self,
        entries: &[&Entry],
        position: usize,
        is_before: bool,
        keys: &[&str],
        value: &Value,
    ) -> Attempt {
        let entry = *entries.get(position)?;
        let (start, br) = (entry.key_span.start, self.br());
        let indent = self.indentation(start);
        let new = self.members(Some(entry), &indent, keys, value)?;
        let end = self.line(self.end_of(entry)).end;
        Some(vec![match is_before {
            true => (start..start, format!("{new}{br}{indent}")),
            false => (end..end, format!("{br}{indent}{new}")),
        }])
    }

    /// A line for each of the keys, in the place of a value that isn't there.
    pub(super) fn lines_below(&self, path: &[Step<'_>], keys: &[&str], value: &Value) -> Attempt {
        let (Step::Key(key), way) = path.split_last()? else {
            return None;
        };
        let entry = self
            .root
            .at(way)?
            .entry(key)
            .filter(|it| it.value.span.is_empty())?;
        let indent = format!("{}{}", self.indentation(entry.key_span.start), self.unit());
        let end = self.line(self.end_of_key(entry)).end;
        let new = self.members(None, &indent, keys, value)?;
        Some(vec![(end..end, format!("{}{indent}{new}", self.br()))])
    }

    /// A member as lines, of which the first one isn't indented.
    fn members(
        &self,
        neighbour: Option<&Entry>,
        indent: &str,
        keys: &[&str],
        value: &Value,
    ) -> Option<String> {
        let (first, rest) = keys.split_first()?;
        let key = self.key_like(neighbour, first);
        if rest.is_empty() {
            let value = self.value_like(neighbour, value, indent, Within::Line)?;
            return Some(member(&key, &value, self.format));
        }
        let inner = format!("{indent}{}", self.unit());
        Some(format!(
            "{key}:{}{inner}{}",
            self.br(),
            self.members(None, &inner, rest, value)?
        ))
    }

    /// An item more at the end of a list.
    pub(super) fn line_append(&self, list: &Node, item: &Value) -> Attempt {
        let indent = self.indentation(self.first_dash(list));
        let end = self.line(self.line_parts(list).last()?.end).end;
        let item = inline(item, self.format, Within::Line)?;
        Some(vec![(end..end, format!("{}{indent}- {item}", self.br()))])
    }

    /// A map or list without one of its parts, and the comment behind that.
    pub(super) fn lines_without(&self, whole: &Node, position: usize) -> Vec<Attempt> {
        let parts = self.line_parts(whole);
        let Some(Span { start, end }) = parts.get(position).cloned() else {
            return Vec::new();
        };
        let nothing = if matches!(whole.value, NodeValue::Map(_)) {
            "{}"
        } else {
            "[]"
        };
        let emptied =
            |blank| (parts.len() == 1).then(|| vec![(start..end, format!("{blank}{nothing}"))]);
        let next = self.next_line(end);
        let rest = self.text.get(next..).unwrap_or_default();
        let is_last_line = rest.is_empty() && !self.text.ends_with(['\n', '\r']);
        let region = match self.starts_line(start) {
            // The line break before the last line, which has none behind it.
            true if is_last_line => self.end_of_line_before(start)..next,
            true => self.line(start).start..next,
            // Behind a dash: what comes next takes its place.
            false => start..next + (rest.len() - rest.trim_start().len()),
        };
        vec![
            emptied(""),
            emptied(" "),
            Some(vec![(region, String::new())]),
        ]
    }

    fn end_of_line_before(&self, offset: usize) -> usize {
        let before = self.text.get(..self.line(offset).start).unwrap_or_default();
        let before = before.strip_suffix('\n').unwrap_or(before);
        before.strip_suffix('\r').unwrap_or(before).len()
    }

    /// Where each part is written, from its key or dash to the end of its value.
    fn line_parts(&self, whole: &Node) -> Vec<Span> {
        let NodeValue::Seq(items) = &whole.value else {
            return self
                .own_entries(whole)
                .iter()
                .map(|it| it.key_span.start..self.end_of(it))
                .collect();
        };
        let first = self.first_dash(whole);
        let column = first - self.line(first).start;
        let mut parts: Vec<Span> = Vec::new();
        for item in items {
            let start = match parts.last() {
                None => first,
                Some(before) => self
                    .dash(before.end, item.span.start, column)
                    .unwrap_or(item.span.start),
            };
            parts.push(start..item.span.end.max(start + 1));
        }
        parts
    }

    /// The first dash of a list. A list that isn't indented below its key begins behind it, for the
    /// parser.
    fn first_dash(&self, list: &Node) -> usize {
        let start = list.span.start;
        let is_behind = list
            .items()
            .first()
            .is_some_and(|it| it.span.start == start);
        let before = self.text.get(..start).filter(|_| is_behind);
        before
            .and_then(|it| it.rfind("- ").or(it.rfind('-')))
            .unwrap_or(start)
    }

    /// The dash at a column on one of the lines between two places, the last of them if there are
    /// several.
    fn dash(&self, from: usize, to: usize, column: usize) -> Option<usize> {
        let mut at = self.next_line(from);
        let mut found = None;
        while at <= to && at < self.text.len() {
            let dash = at + column;
            if self.starts_line(dash) && self.text.get(dash..).is_some_and(|it| it.starts_with('-'))
            {
                found = Some(dash);
            }
            at = self.next_line(at);
        }
        found
    }

    /// Another text in the place of one below a `|` or `>`, indented like it.
    pub(super) fn block_text(&self, old: &Node, new: &str) -> String {
        let indent = self.indentation(old.span.start);
        let lines = new.trim_end_matches('\n').split('\n');
        lines
            .collect::<Vec<_>>()
            .join(&format!("{}{indent}", self.br()))
    }
}
