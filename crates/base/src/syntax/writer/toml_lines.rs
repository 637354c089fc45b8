//! Tables of TOML that have lines of their own: below a header, or with dotted keys.

use super::{Attempt, Writer, each_span, extent};
use crate::syntax::formats::Format;
use crate::syntax::node::{Entry, Node, NodeValue, Span, Step};
use crate::syntax::quoting::{Within, key, member};
use serde_json::Value;

impl Writer<'_> {
    /// A key more of a table: beside another one, behind the last one, behind the header, before
    /// the file's first header, or with a header of its own.
    pub(super) fn toml_insertions(
        &self,
        way: &[Step<'_>],
        table: &Node,
        position: usize,
        is_before: bool,
        keys: &[&str],
        value: &Value,
    ) -> Vec<Attempt> {
        let br = self.br();
        let entries = table.entries();
        let names: Vec<_> = keys.iter().map(|it| key(it, Format::Toml)).collect();
        let line = |neighbour: Option<&Entry>, name: &str| {
            Some(member(
                name,
                &self.value_like(neighbour, value, "", Within::Line)?,
                Format::Toml,
            ))
        };
        let at = |at: usize, text: String| Some(vec![(at..at, text)]);
        // What stands before a key is the beginning of a dotted one, or it is in a header.
        let before = |entry: &Entry| {
            let start = self.line(entry.key_span.start).start;
            self.text
                .get(start..entry.key_span.start)
                .filter(|it| !it.contains('['))
                .map(|it| (start, it))
        };
        let beside = |entry: &Entry, is_before: bool| {
            let (start, prefix) = before(entry)?;
            let new = format!("{prefix}{}", line(Some(entry), &names.join("."))?);
            let end = self.line(self.end_of(entry)).end;
            if is_before {
                at(start, format!("{new}{br}"))
            } else {
                at(end, format!("{br}{new}"))
            }
        };
        let first_header = self.first_header();
        let end = first_header.unwrap_or(self.text.len());
        let is_begun = end > 0
            && self
                .text
                .get(..end)
                .is_some_and(|it| !it.ends_with(['\n', '\u{feff}']));
        let lead = if is_begun { br } else { "" };
        let below_own_header = || {
            let way: Option<Vec<_>> = way
                .iter()
                .map(|it| Some(key(it.key()?, Format::Toml)))
                .collect();
            let names = [way?, names.clone()].concat();
            let (last, header) = names
                .split_last()
                .filter(|(_, header)| !header.is_empty())?;
            let gap = first_header.map_or("", |_| br);
            at(
                end,
                format!(
                    "{lead}[{}]{br}{}{br}{gap}",
                    header.join("."),
                    line(None, last)?
                ),
            )
        };
        let header = self
            .begins(&table.span, '[')
            .then(|| self.line(table.span.end).end);
        vec![
            first_header
                .filter(|_| keys.len() > 1)
                .and_then(|_| below_own_header()),
            entries.get(position).and_then(|it| beside(it, is_before)),
            entries
                .iter()
                .rfind(|it| before(it).is_some())
                .and_then(|it| beside(it, false)),
            header.and_then(|end| at(end, format!("{br}{}", line(None, &names.join("."))?))),
            at(
                end,
                format!(
                    "{lead}{}{br}",
                    line(None, &names.join(".")).unwrap_or_default()
                ),
            )
            .filter(|_| way.is_empty()),
            below_own_header(),
        ]
    }

    /// A table without a key, or a list without one of its tables. All its lines go, wherever they
    /// are.
    pub(super) fn toml_without(&self, whole: &Node, position: usize) -> Attempt {
        let (key_span, value) = match &whole.value {
            NodeValue::Seq(items) => (None, items.get(position)?),
            _ => whole
                .entries()
                .get(position)
                .map(|it| (Some(it.key_span.clone()), &it.value))?,
        };
        let is_item = key_span.is_none();
        let mut lines: Vec<Span> = Vec::new();
        let mut add =
            |span: &Span| lines.push(self.line(span.start).start..self.next_line(span.end));
        if let Some(span) =
            key_span.filter(|_| !matches!(value.value, NodeValue::Map(_) | NodeValue::Seq(_)))
        {
            add(&span);
        }
        each_span(value, &mut add);
        lines.sort_by_key(|it| it.start);
        lines.dedup_by(|next, last| {
            let is_within = next.start < last.end;
            last.end = if is_within {
                last.end.max(next.end)
            } else {
                last.end
            };
            is_within
        });
        let is_one_piece = lines.windows(2).all(|it| it[1].start <= it[0].end);
        if let (true, Some(end), Some(first)) = (
            is_item && is_one_piece,
            lines.last().map(|it| it.end),
            lines.first_mut(),
        ) {
            first.start = self.gap_before(first.start..end).unwrap_or(first.start);
        }
        Some(lines.into_iter().map(|it| (it, String::new())).collect())
    }

    /// Where the blank line before lines begins that parts them from others, where another one does
    /// so as well or nothing follows: such as one that [`Writer::toml_append`] has put there.
    fn gap_before(&self, lines: Span) -> Option<usize> {
        let (before, behind) = (self.text.get(..lines.start)?, self.text.get(lines.end..)?);
        let above = before
            .strip_suffix("\r\n")
            .or_else(|| before.strip_suffix('\n'))?;
        let start = above.rfind('\n')? + 1;
        let is_blank = |line: &str| line.trim().is_empty();
        (is_blank(&above[start..]) && behind.lines().next().is_none_or(is_blank)).then_some(start)
    }

    /// A table more at the end of a list of tables.
    pub(super) fn toml_append(&self, list: &Node, item: &Value) -> Attempt {
        let (last, br) = (list.items().last()?, self.br());
        let header = self.text.get(last.span.clone())?;
        let line = |(name, value): (&String, &Value)| {
            let value = self.value_like(last.entries().first(), value, "", Within::Line)?;
            Some(format!(
                "{br}{}",
                member(&key(name, Format::Toml), &value, Format::Toml)
            ))
        };
        let lines: Option<String> = item.as_object()?.iter().map(line).collect();
        let end = self.line(extent(last, Format::Toml).end).end;
        Some(vec![(end..end, format!("{br}{br}{header}{}", lines?))])
    }

    /// Where the line of the file's first header begins.
    fn first_header(&self) -> Option<usize> {
        let mut first: Option<usize> = None;
        self.root.each(&mut |table| {
            if self.begins(&table.span, '[') && matches!(table.value, NodeValue::Map(_)) {
                let start = self.line(table.span.start).start;
                first = Some(first.map_or(start, |it| it.min(start)));
            }
        });
        first
    }
}
