//! JSON, and maps and lists in brackets.

use super::{Attempt, Writer};
use crate::support::changes::Change;
use crate::syntax::formats::Format;
use crate::syntax::node::{Node, NodeValue, Span};

impl Writer<'_> {
    /// Something more in a map or list, beside one of its parts. A comment behind a part stays
    /// there.
    pub(super) fn flow_beside(
        &self,
        whole: &Node,
        position: usize,
        is_before: bool,
        written: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<Attempt> {
        let parts = self.flow_parts(whole);
        let Some(Span { start, end }) = parts.get(position).cloned() else {
            return Vec::new();
        };
        let starts_line = self.starts_line(start);
        let indent = if starts_line {
            self.indentation(start)
        } else {
            self.line_indentation(start)
        };
        let Some(new) = written(&indent) else {
            return Vec::new();
        };
        let line = if starts_line {
            format!("{}{indent}", self.br())
        } else {
            " ".into()
        };
        let at = |at: usize, text: String| (at..at, text);
        if is_before {
            return vec![Some(vec![at(start, format!("{new},{line}"))])];
        }
        let behind: Vec<Change> = match (self.comma(end), starts_line) {
            (Some(comma), true) if self.is_end_of_line(comma + 1) => {
                vec![at(self.line(comma).end, format!("{line}{new},"))]
            }
            (Some(comma), _) if position + 1 < parts.len() => {
                vec![at(comma + 1, format!("{line}{new},"))]
            }
            (None, true) if self.is_end_of_line(end) => {
                vec![
                    at(end, ",".into()),
                    at(self.line(end).end, format!("{line}{new}")),
                ]
            }
            _ => vec![at(end, format!(",{line}{new}"))],
        };
        vec![Some(behind), Some(vec![at(end, format!(",{line}{new}"))])]
    }

    /// A map or list without one of its parts: with its lines if it has lines of its own, and with
    /// one of the commas beside it.
    pub(super) fn flow_without(&self, whole: &Node, position: usize) -> Vec<Attempt> {
        let parts = self.flow_parts(whole);
        let Some(Span { start, end }) = parts.get(position).cloned() else {
            return Vec::new();
        };
        let comma = self.comma(end);
        let after = comma.map_or(end, |at| at + 1);
        let has_own_lines = self.starts_line(start) && self.is_end_of_line(after);
        let rest = self.text.get(after..).unwrap_or_default();
        let content = rest.trim_start_matches(' ');
        // Without a blank before it, a comment of YAML isn't one.
        let blanks = if content.starts_with('#') {
            0
        } else {
            rest.len() - content.len()
        };
        let own = match (has_own_lines, comma) {
            (true, _) => self.line(start).start..self.next_line(after),
            (false, Some(_)) => start..after + blanks,
            (false, None) => start..end,
        };
        let mut changes = vec![(own.clone(), String::new())];
        // The last one takes the comma before it along.
        let before = position
            .checked_sub(1)
            .and_then(|at| self.comma(parts[at].end))
            .filter(|_| comma.is_none());
        if let Some(before) = before {
            let is_beside = self
                .text
                .get(before + 1..start)
                .is_some_and(|it| it.trim().is_empty());
            match is_beside && !has_own_lines {
                true => changes = vec![(before..end, String::new())],
                false => changes.insert(0, (before..before + 1, String::new())),
            }
        }
        let inner = whole.span.start + 1..whole.span.end.saturating_sub(1);
        let is_blank = |span: Span| self.text.get(span).is_some_and(|it| it.trim().is_empty());
        let is_all =
            parts.len() == 1 && is_blank(inner.start..own.start) && is_blank(own.end..inner.end);
        vec![is_all.then(|| vec![(inner, String::new())]), Some(changes)]
    }

    /// Where each part is written, from what comes before it, such as an anchor, to the end of its
    /// value.
    fn flow_parts(&self, whole: &Node) -> Vec<Span> {
        let own: Vec<usize> = match &whole.value {
            NodeValue::Seq(items) => items.iter().map(|it| it.span.end).collect(),
            _ => self
                .own_entries(whole)
                .iter()
                .map(|it| self.end_of(it))
                .collect(),
        };
        let mut start = whole.span.start + 1;
        let part = |end: usize| {
            let part = self.skip(start)..end;
            start = self.comma(end).map_or(end, |at| at + 1);
            part
        };
        own.into_iter().map(part).collect()
    }

    /// The comma behind a part.
    fn comma(&self, end: usize) -> Option<usize> {
        let at = self.skip(end);
        self.text
            .get(at..)
            .filter(|rest| rest.starts_with(','))
            .map(|_| at)
    }

    /// The next place that is neither blank nor a comment.
    fn skip(&self, mut at: usize) -> usize {
        loop {
            let rest = self.text.get(at..).unwrap_or_default();
            // Other white space is a part of a text without quotes.
            let content = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            at += rest.len() - content.len();
            let is_json = self.format == Format::Json;
            let len = match content.as_bytes() {
                [b'/', b'*', ..] if is_json => content.find("*/").map(|len| len + 2),
                [b'/', b'/', ..] if is_json => content.find('\n'),
                [b'#', ..] if !is_json => content.find('\n'),
                _ => return at,
            };
            at += len.unwrap_or(content.len());
        }
    }
}
