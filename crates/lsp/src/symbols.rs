//! The outline of a file: its hooks, and what can be folded.

use super::document::{Document, Lines, Readable};
use super::written::Reading;
use hookwire_base::support::visible::first_line_cut;
use hookwire_base::syntax::formats::Format;
use hookwire_base::syntax::node::{Node, NodeValue, Span};
use hookwire_base::syntax::writer::extent;
use hookwire_engine::definitions::compile::Compiled;
use hookwire_handlers::handlers::KINDS;
use ls_types::{
    DocumentSymbol, DocumentSymbolResponse, FoldingRange, FoldingRangeKind, Location,
    SymbolInformation, SymbolKind,
};
use std::collections::BTreeMap;

/// As a tree if the editor shows one (`nested`), else as a list.
pub(super) fn document_symbols(document: &Document, nested: bool) -> DocumentSymbolResponse {
    let symbols = document_outline(document);
    if nested {
        return DocumentSymbolResponse::Nested(symbols);
    }
    let mut flat = Vec::new();
    for symbol in symbols {
        let DocumentSymbol { children, .. } = &symbol;
        let inner = children
            .iter()
            .flatten()
            .map(|child| symbol_information(document, child, Some(&symbol.name)));
        let inner: Vec<_> = inner.collect();
        flat.push(symbol_information(document, &symbol, None));
        flat.extend(inner);
    }
    DocumentSymbolResponse::Flat(flat)
}

#[expect(deprecated, reason = "the type has a field for it")]
fn symbol_information(
    document: &Document,
    symbol: &DocumentSymbol,
    within: Option<&String>,
) -> SymbolInformation {
    SymbolInformation {
        name: symbol.name.clone(),
        kind: symbol.kind,
        tags: None,
        deprecated: None,
        location: Location {
            uri: document.uri.clone(),
            range: symbol.range,
        },
        container_name: within.cloned(),
    }
}

/// The longest detail, in characters.
const MAX_DETAIL: usize = 60;

/// The settings for the whole file, and its hooks with their handlers, in the order of the text.
fn document_outline(document: &Document) -> Vec<DocumentSymbol> {
    let Some(readable) = document.readable() else {
        return Vec::new();
    };
    let Some(reading) = Reading::of_document(readable.document) else {
        return Vec::new();
    };
    let (lines, format) = (document.lines(), document.format());
    let mut symbols: Vec<(usize, DocumentSymbol)> = Vec::new();
    for entry in reading
        .root
        .entries()
        .iter()
        .filter(|entry| matches!(entry.key.as_str(), "policy" | "defaults"))
    {
        let keys: Vec<&str> = entry
            .value
            .entries()
            .iter()
            .map(|entry| entry.key.as_str())
            .collect();
        let Some(selection) = readable.part(&entry.key_span) else {
            continue;
        };
        let whole = readable.whole(&span_around(&entry.key_span, &extent(&entry.value, format)));
        let symbol = make_symbol(
            &lines,
            entry.key.clone(),
            keys.join(", "),
            SymbolKind::NAMESPACE,
            &whole,
            &selection,
        );
        symbols.push((whole.start, symbol));
    }
    for (n, (compiled, node)) in reading.hooks().enumerate() {
        let whole = extent(node, format);
        let selection = if is_within(&compiled.span, &whole) {
            &compiled.span
        } else {
            &node.span
        };
        let whole = readable.whole(&whole);
        let Some(selection) = readable.part(selection) else {
            continue;
        };
        let name = match &compiled.name {
            Some(name) => name.to_string(),
            None => format!("hook {}", n + 1),
        };
        let handler = handler_entry(node);
        let mut hook = make_symbol(
            &lines,
            name,
            hook_detail(compiled, node),
            SymbolKind::EVENT,
            &whole,
            &selection,
        );
        hook.children = handler.and_then(|entry| {
            let inner =
                readable.whole(&span_around(&entry.key_span, &extent(&entry.value, format)));
            let key = readable.part(&entry.key_span)?;
            let (inner, key) = if is_within(&inner, &whole) {
                (inner, key)
            } else {
                (whole.clone(), selection)
            };
            Some(vec![make_symbol(
                &lines,
                entry.key.clone(),
                brief_value(&entry.value),
                SymbolKind::FUNCTION,
                &inner,
                &key,
            )])
        });
        symbols.push((whole.start, hook));
    }
    symbols.sort_by_key(|(start, _)| *start);
    symbols.into_iter().map(|(_, symbol)| symbol).collect()
}

#[expect(deprecated, reason = "the type has a field for it")]
fn make_symbol(
    lines: &Lines<'_>,
    name: String,
    detail: String,
    kind: SymbolKind,
    whole: &Span,
    selection: &Span,
) -> DocumentSymbol {
    DocumentSymbol {
        // Editors refuse an outline with a name that is empty.
        name: if name.trim().is_empty() {
            "hook".into()
        } else {
            name
        },
        detail: Some(detail).filter(|it| !it.is_empty()),
        kind,
        tags: None,
        deprecated: None,
        range: lines.range(whole),
        selection_range: lines.range(selection),
        children: None,
    }
}

fn is_within(inner: &Span, outer: &Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn span_around(one: &Span, other: &Span) -> Span {
    one.start.min(other.start)..one.end.max(other.end)
}

fn handler_entry(hook: &Node) -> Option<&hookwire_base::syntax::node::Entry> {
    hook.entries()
        .iter()
        .find(|entry| KINDS.iter().any(|kind| kind.key == entry.key))
}

/// Events as written and the handler's key.
fn hook_detail(compiled: &Compiled, node: &Node) -> String {
    let on = match node.get("on").map(|it| &it.value) {
        Some(NodeValue::String(event)) => event.clone(),
        Some(NodeValue::Seq(events)) => events
            .iter()
            .map(brief_value)
            .collect::<Vec<_>>()
            .join(", "),
        // A guard's own.
        _ => match compiled.hook.as_ref().map(|hook| &hook.on) {
            Some(hookwire_base::event::On::Names(names)) => names.join(", "),
            Some(hookwire_base::event::On::Every) => "*".into(),
            None => String::new(),
        },
    };
    let key = handler_entry(node)
        .map(|it| it.key.as_str())
        .unwrap_or_default();
    let parts: Vec<&str> = [on.as_str(), key]
        .into_iter()
        .filter(|it| !it.is_empty())
        .collect();
    parts.join(" \u{b7} ")
}

/// The beginning of a value.
fn brief_value(node: &Node) -> String {
    let text = match &node.value {
        NodeValue::String(text) => text.clone(),
        NodeValue::Seq(items) => items
            .iter()
            .take(8)
            .map(brief_value)
            .collect::<Vec<_>>()
            .join(" "),
        NodeValue::Map(entries) => match entries.first() {
            Some(first) if entries.len() == 1 => first.key.clone(),
            Some(first) => match &first.value.value {
                NodeValue::String(text) => text.clone(),
                _ => first.key.clone(),
            },
            None => String::new(),
        },
        NodeValue::Null => String::new(),
        _ => node.to_json().to_string(),
    };
    first_line_cut(text.trim(), MAX_DETAIL)
}

pub(super) fn folding_ranges(document: &Document) -> Vec<FoldingRange> {
    document_folds(document)
        .into_iter()
        .map(FoldingRange::from)
        .collect()
}

/// Whole lines, counted from 0.
#[derive(Debug, PartialEq)]
struct Fold {
    first: usize,
    last: usize,
    is_comment: bool,
}

impl From<Fold> for FoldingRange {
    fn from(fold: Fold) -> FoldingRange {
        FoldingRange {
            start_line: fold.first.try_into().unwrap_or(u32::MAX),
            end_line: fold.last.try_into().unwrap_or(u32::MAX),
            kind: fold.is_comment.then_some(FoldingRangeKind::Comment),
            ..FoldingRange::default()
        }
    }
}

/// Every value and every block of comments that takes several lines; while the text can't be read,
/// the values that are still there.
fn document_folds(document: &Document) -> Vec<Fold> {
    let lines = document.lines();
    let readable = document.readable();
    let mut texts = Vec::new();
    let mut found = BTreeMap::new();
    if let Some(readable) = &readable
        && let Some(root) = &readable.document.checked().root
    {
        let mut finder = Folds {
            readable,
            lines: &lines,
            found,
            texts,
        };
        root.entries()
            .iter()
            .for_each(|entry| finder.add_fold(entry.key_span.start, &entry.value));
        // The root is a list, so its items have no keys.
        root.items()
            .iter()
            .for_each(|item| finder.add_fold(item.span.start, item));
        (found, texts) = (finder.found, finder.texts);
    }
    let comments = comment_folds(document, &lines, &texts);
    let values = found.into_iter().map(|(first, last)| Fold {
        first,
        last,
        is_comment: false,
    });
    let mut folds: Vec<Fold> = values.chain(comments).collect();
    folds.sort_by_key(|fold| fold.first);
    folds
}

struct Folds<'d> {
    readable: &'d Readable<'d>,
    lines: &'d Lines<'d>,
    /// The last line by the first: the longest counts.
    found: BTreeMap<usize, usize>,
    /// Lines of texts, in which nothing is a comment.
    texts: Vec<(usize, usize)>,
}

impl Folds<'_> {
    fn add_fold(&mut self, start: usize, node: &Node) {
        let document = self.readable.document;
        let line = |offset: usize| self.lines.index.utf8(offset).0;
        let span = extent(node, document.format());
        let whole = self.readable.whole(&span);
        let is_there = self.readable.part(&(start..start)).is_some();
        let (first, mut last) = (
            line(self.readable.whole(&(start..span.end)).start),
            line(whole.end),
        );
        if let NodeValue::String(_) = &node.value {
            self.texts
                .push((line(self.readable.whole(&node.span).start), last));
        } else if last > first
            && self
                .lines
                .index
                .line(last)
                .trim_start()
                .starts_with([']', '}'])
        {
            // The bracket stays in sight.
            last -= 1;
        }
        // The tables of a TOML array fold each by itself.
        let is_tables = document
            .text
            .get(span.start..)
            .is_some_and(|it| it.starts_with("[["))
            && matches!(node.value, NodeValue::Seq(_))
            && document.format() == Format::Toml;
        if is_there && last > first && line(whole.start) >= first && !is_tables {
            let known = self.found.entry(first).or_insert(last);
            *known = last.max(*known);
        }
        match &node.value {
            NodeValue::Map(entries) => entries
                .iter()
                .for_each(|entry| self.add_fold(entry.key_span.start, &entry.value)),
            NodeValue::Seq(items) => items
                .iter()
                .for_each(|item| self.add_fold(item.span.start, item)),
            _ => {}
        }
    }
}

/// Two lines or more of nothing but comments.
fn comment_folds(document: &Document, lines: &Lines<'_>, texts: &[(usize, usize)]) -> Vec<Fold> {
    let mut folds: Vec<Fold> = Vec::new();
    let mut in_block = false;
    let mut texts = texts.to_vec();
    texts.sort_unstable();
    let mut texts = texts
        .into_iter()
        .filter(|(first, last)| first < last)
        .peekable();
    let n_lines = lines.index.utf8(document.text.len()).0 + 1;
    let mut block: Option<(usize, usize)> = None;
    let mut close = |block: &mut Option<(usize, usize)>| {
        if let Some((first, last)) = block.take().filter(|(first, last)| first < last) {
            folds.push(Fold {
                first,
                last,
                is_comment: true,
            });
        }
    };
    for at in 0..n_lines {
        while texts.next_if(|(_, last)| *last < at).is_some() {}
        let in_text = texts
            .peek()
            .is_some_and(|(first, last)| *first < at && at <= *last);
        let line = lines.index.line(at).trim();
        let is_comment = match document.format() {
            Format::Yaml | Format::Toml => line.starts_with('#'),
            Format::Json => {
                let was_in_block = in_block;
                if was_in_block || line.starts_with("/*") {
                    in_block = !line.contains("*/");
                }
                was_in_block || line.starts_with("/*") || line.starts_with("//")
            }
        };
        if is_comment && !in_text {
            block = Some((block.map_or(at, |(first, _)| first), at));
        } else {
            close(&mut block);
        }
    }
    close(&mut block);
    folds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::document;

    const YAML: &str = "# one\n# two\ndefaults:\n  fail: open\nhooks:\n  - name: a\n    on: [PreToolUse, Stop]\n    script: |\n      # no comment\n      # nor this\n      return;\n  - on: Stop\n    deny:\n      - 1\n";
    const TOML: &str = "[policy]\ndeny = ['Bash']\n\n[[hooks]]\nname = 'a'\non = 'Stop'\n[hooks.script]\nfile = 'x.js'\n\n[[hooks]]\nguard = 'redact-secrets'\n";
    const JSON: &str = "{\n  // one\n  // two\n  \"hooks\": [\n    {\n      \"name\": \"a\",\n      \"deny\": \"x\"\n    },\n    {\"name\": \"b\"}\n  ]\n}\n";

    #[test]
    fn outlines() {
        for (name, text, expected) in [
            (
                "a.yaml",
                YAML,
                "defaults (fail) 2-3 | a (PreToolUse, Stop \u{b7} script) 5-10 > script (# no comment) 7-10 | \
                 hook 2 (Stop \u{b7} deny) 11-13 > deny (1) 12-13",
            ),
            (
                "a.toml",
                TOML,
                "policy (deny) 0-1 | a (Stop \u{b7} script) 3-7 > script (file) 6-7 | \
                 hook 2 (guard) 9-10 > guard (redact-secrets) 10-10",
            ),
            ("a.json", JSON, "a (deny) 4-7 > deny (x) 6-6 | b 8-8"),
            ("broken.yaml", "hooks: [", ""),
        ] {
            let line = |symbol: &DocumentSymbol| {
                let detail = symbol
                    .detail
                    .as_ref()
                    .map(|detail| format!(" ({detail})"))
                    .unwrap_or_default();
                let (range, selection) = (symbol.range, symbol.selection_range);
                assert!(
                    range.start <= selection.start && selection.end <= range.end,
                    "{symbol:?}"
                );
                format!(
                    "{}{detail} {}-{}",
                    symbol.name, range.start.line, range.end.line
                )
            };
            let symbols: Vec<String> = document_outline(&document(name, text))
                .iter()
                .map(|symbol| {
                    let inner = symbol
                        .children
                        .iter()
                        .flatten()
                        .map(|child| format!(" > {}", line(child)));
                    line(symbol) + &inner.collect::<String>()
                })
                .collect();
            assert_eq!(symbols.join(" | "), expected, "{name}");
        }
    }

    #[test]
    fn what_takes_lines_folds() {
        for (name, text, expected) in [
            ("a.yaml", YAML, "0-1c 2-3 4-13 5-10 7-10 11-13 12-13"),
            ("a.toml", TOML, "0-1 3-7 6-7 9-10"),
            ("a.json", JSON, "1-2c 3-8 4-6"),
            ("b.json", "/* a\n b\n */\n{\"hooks\": []}", "0-2c"),
            ("broken.yaml", "# a\n# b\nhooks: [", "0-1c"),
        ] {
            let folds: Vec<String> = document_folds(&document(name, text))
                .iter()
                .map(|fold| {
                    format!(
                        "{}-{}{}",
                        fold.first,
                        fold.last,
                        if fold.is_comment { "c" } else { "" }
                    )
                })
                .collect();
            assert_eq!(folds.join(" "), expected, "{name}");
        }
    }
}
