//! What could be written at a place.
//!
//! What the schema knows comes from it; names of tools, paths into events and values from what
//! running hosts have told, as far as they have.

mod conditions;
mod keys;
mod paths;
mod placeholders;
mod rules;
mod values;

use super::context::{Here, Step};
use super::document::Lines;
use super::effects::is_invisible;
use super::half_typed::{Completing, completing};
use super::server::Abilities;
use super::{Answer, Snapshot};
use crate::event::Event;
use crate::syntax::formats::{self, Format};
use crate::syntax::node::{Node, NodeValue, Span};
use ls_types::{
    CompletionItem, CompletionItemKind as ItemKind, CompletionItemLabelDetails, CompletionParams, CompletionResponse,
    CompletionTextEdit, Documentation, InsertTextFormat, InsertTextMode, MarkupContent, MarkupKind, TextEdit,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) use conditions::about_function;
pub(super) use paths::at_path;
pub(super) use rules::about_rule;

/// More than anybody reads.
const MAX_ITEMS: usize = 500;
/// Events that are looked into.
pub(super) const MAX_EVENTS: usize = 50;
/// The longest name or value from an event that is offered.
const MAX_WORD: usize = 200;

pub(super) fn completion(snapshot: &Snapshot, params: CompletionParams) -> Answer<Option<CompletionResponse>> {
    let place = params.text_document_position;
    let Some(document) = snapshot.document(&place.text_document.uri) else { return Ok(None) };
    let lines = document.lines();
    let live = &snapshot.server.live;
    let folder = snapshot.server.folder(&document.path);
    let events = live.recent(&folder).iter().take(MAX_EVENTS).map(|it| it.event.clone()).collect();
    let seen = Seen { events, tools: live.tools() };
    let abilities = &snapshot.server.abilities;
    let items = items(&document.text, document.format(), lines.offset(place.position), &seen, abilities.snippets);
    let items = items.into_iter().enumerate().map(|(rank, item)| as_lsp(rank, item, &document.text, &lines, abilities));
    Ok(Some(CompletionResponse::Array(items.collect())))
}

/// What hosts have told, as far as it matters here: the last events, newest first.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) events: Vec<Arc<Event>>,
    pub(super) tools: BTreeSet<String>,
}

/// Something that could be written.
#[derive(Debug, Default)]
struct Item {
    label: String,
    kind: Option<ItemKind>,
    /// Beside the label: the dialect, where it was seen.
    origin: Option<String>,
    /// What it is in a few words.
    detail: Option<String>,
    /// What it is, in Markdown.
    about: String,
    /// What it replaces.
    span: Span,
    text: String,
    is_snippet: bool,
    /// What is compared with what the span holds, if not the label.
    filter: Option<String>,
    /// What has to be written elsewhere too, and where.
    also: Option<(usize, String)>,
}

fn as_lsp(rank: usize, item: Item, text: &str, lines: &Lines<'_>, abilities: &Abilities) -> CompletionItem {
    let details = |it| CompletionItemLabelDetails { detail: None, description: Some(it) };
    let has_lines = item.text.contains('\n');
    let adjusts = abilities.adjusts_indentation;
    let new_text = if has_lines && !adjusts { indented(&item.text, text, item.span.start) } else { item.text };
    let also = item.also.map(|(at, text)| TextEdit { range: lines.range(&(at..at)), new_text: text });
    CompletionItem {
        label_details: item.origin.map(details),
        kind: item.kind,
        detail: item.detail,
        documentation: (!item.about.is_empty()).then_some(if abilities.markdown_completions {
            Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: item.about })
        } else {
            Documentation::String(item.about)
        }),
        sort_text: Some(format!("{rank:04}")),
        filter_text: Some(item.filter.unwrap_or_else(|| item.label.clone())),
        label: item.label,
        insert_text_format: item.is_snippet.then_some(InsertTextFormat::SNIPPET),
        insert_text_mode: (has_lines && adjusts).then_some(InsertTextMode::ADJUST_INDENTATION),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit { range: lines.range(&item.span), new_text })),
        additional_text_edits: also.map(|it| vec![it]),
        ..CompletionItem::default()
    }
}

/// Further lines as far right as the line that they go into, for editors that insert them as they are.
fn indented(inserted: &str, text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.get(before.rfind('\n').map_or(0, |at| at + 1)..).unwrap_or_default();
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    inserted.replace('\n', &format!("\n{}", line.get(..indent).unwrap_or_default()))
}

fn items(text: &str, format: Format, offset: usize, seen: &Seen, snippets: bool) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut told = BTreeSet::new();
    let mut readings = completing(text, format, offset);
    // Where a hook may begin, that is what is meant.
    readings.sort_by_key(|it| !(it.lead == "- " && matches!(it.path()[..], [Step::Key("hooks"), Step::Index(_)])));
    for reading in &readings {
        let path = reading.path();
        let here = Here::new(&reading.root, &path, text);
        let writer = Writer { text, format, offset, reading, here: &here, snippets };
        let offered = if reading.is_key { writer.keys() } else { writer.values(seen) };
        for mut item in offered {
            match reading.comma {
                Some(at) if at == item.span.start => item.text = format!(", {}", item.text),
                Some(at) => item.also = Some((at, ",".into())),
                None => {}
            }
            items.extend(told.insert((item.label.clone(), item.kind == Some(ItemKind::METHOD))).then_some(item));
        }
    }
    // A whole document's text has to be on one line: editors take no other edits here.
    items.retain(|item| text.get(item.span.clone()).is_some_and(|it| !it.contains('\n')) && holds(&item.span, offset));
    items.truncate(MAX_ITEMS);
    items
}

fn holds(span: &Span, offset: usize) -> bool {
    span.start <= offset && offset <= span.end
}

/// Writes what is offered into the text at hand.
struct Writer<'a> {
    text: &'a str,
    format: Format,
    offset: usize,
    reading: &'a Completing,
    here: &'a Here<'a>,
    snippets: bool,
}

/// Where the cursor may go in a skeleton.
const STOP: char = '\u{1}';
/// Around what such a place has in it already: `:` and a text, or choices between bars.
const OPEN: char = '\u{2}';
const CLOSE: char = '\u{3}';

impl Writer<'_> {
    /// What a text is written as here, and what it replaces. `None` where it can't be.
    fn written(&self, value: &str) -> Option<(Span, String)> {
        let token = &self.reading.token;
        let comma = if self.reading.wants_comma { "," } else { "" };
        match self.reading.quote {
            Some(quote @ ("\"" | "'")) => {
                let inner = escaped(value, quote, self.format)?;
                let end = if self.reading.is_closed { token.end - 1 } else { token.end };
                let close = if self.reading.is_closed { String::new() } else { format!("{quote}{comma}") };
                Some((token.start + 1..end, format!("{inner}{close}")))
            }
            Some(_) => None,
            None => {
                let lead = self.reading.lead;
                let is_plain = self.format == Format::Yaml && is_plain(value, self.reading.in_flow);
                let value = if is_plain { value.to_string() } else { Value::from(value).to_string() };
                Some((token.clone(), format!("{lead}{value}{comma}")))
            }
        }
    }

    fn value(&self, value: &str, item: Item) -> Option<Item> {
        let (span, text) = self.written(value)?;
        Some(Item { label: value.into(), span, text, ..item })
    }

    /// A number or a truth value.
    fn literal(&self, value: &str, item: Item) -> Option<Item> {
        let comma = if self.reading.wants_comma { "," } else { "" };
        let text = format!("{}{value}{comma}", self.reading.lead);
        self.reading.quote.is_none().then(|| Item {
            label: value.into(),
            span: self.reading.token.clone(),
            text,
            ..item
        })
    }

    /// Where a word that the place is in is written, by what it says before and behind the place.
    fn part(&self, before: &str, behind: &str) -> Option<Span> {
        let span = self.offset.checked_sub(before.len())?..self.offset + behind.len();
        let is_as_written = self.text.get(span.clone())? == format!("{before}{behind}");
        is_as_written.then_some(span)
    }

    /// A text as part of another one, in the quotes that this is in.
    fn inner(&self, text: &str) -> Option<String> {
        match self.reading.quote {
            Some(quote) => escaped(text, quote, self.format),
            None => Some(text.to_string()),
        }
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_name_char) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// What may be offered of what events say: one line, not too long, nothing that isn't seen.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_WORD && !text.chars().any(|c| c.is_control() || is_invisible(c))
}

/// A text within these quotes; `None` if it can't be.
fn escaped(text: &str, quote: &str, format: Format) -> Option<String> {
    match (quote, format) {
        ("'" | "'''", Format::Toml) => (!text.contains('\'')).then(|| text.to_string()),
        ("'", _) => Some(text.replace('\'', "''")),
        _ => {
            let quoted = Value::from(text).to_string();
            Some(quoted.get(1..quoted.len() - 1)?.to_string())
        }
    }
}

/// Whether a text needs no quotes in YAML: the parser tells.
fn is_plain(text: &str, in_flow: bool) -> bool {
    let file = if in_flow { format!("[{text}]") } else { format!("- {text}") };
    match formats::parse(&file, Format::Yaml).map(|node| node.value) {
        Ok(NodeValue::Seq(items)) => matches!(&items[..], [Node { value: NodeValue::String(it), .. }] if it == text),
        _ => false,
    }
}

/// A snippet of a skeleton: the last stop is where the cursor stays.
fn with_stops(skeleton: &str) -> String {
    let n_stops = skeleton.matches([STOP, OPEN]).count();
    let mut n = 0;
    let mut snippet = String::new();
    let mut chars = skeleton.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            STOP | OPEN => {
                n += 1;
                // Choices can't be the last stop: editors would not show them.
                let stop = if n == n_stops && chars.peek() != Some(&'|') { 0 } else { n };
                snippet.push_str(&if c == OPEN { format!("${{{stop}") } else { format!("${stop}") });
            }
            CLOSE => snippet.push('}'),
            '$' | '\\' => snippet.extend(['\\', c]),
            _ => snippet.push(c),
        }
    }
    snippet
}

/// A skeleton for an editor that knows no snippets.
fn without_stops(skeleton: &str) -> String {
    let mut text = String::new();
    for part in skeleton.split(CLOSE) {
        let (before, stop) = part.split_once(OPEN).unwrap_or((part, ""));
        let stop = stop.trim_start_matches([':', '|']).split([',', '|']).next().unwrap_or_default();
        text.extend(before.chars().filter(|c| *c != STOP));
        text.push_str(stop);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::conditions::FUNCTIONS;
    use super::*;
    use serde_json::json;

    fn seen() -> Seen {
        let event = |value| Arc::new(Event::from_json(value).unwrap());
        let events = vec![
            event(
                json!({"event": "PreToolUse", "session": "s", "agent": {"name": "coder"}, "tool": {"name": "Bash", "input": {"command": "git push --force", "odd-key": "x${y}"}}}),
            ),
            event(json!({"event": "PreToolUse", "tool": {"name": "mcp__pay", "input": {"amount": 12, "to": ["bob"]}}})),
            event(json!({"event": "UserPromptSubmit", "prompt": "hi"})),
            event(
                json!({"event": "PreToolUse", "cwd": "/p", "tool": {"name": "Write", "input": {"file_path": "/p/src/a.rs", "in": 1}}}),
            ),
            event(json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "echo \"a: *\""}}})),
            event(json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "ls #x"}}})),
        ];
        Seen { events, tools: BTreeSet::from(["mcp__pay".to_string()]) }
    }

    fn marked(text: &str) -> (String, usize) {
        let (before, after) = text.split_once('¦').unwrap();
        (format!("{before}{after}"), before.len())
    }

    fn of(format: Format, text: &str, seen: &Seen, snippets: bool) -> (String, Vec<Item>) {
        let (text, offset) = marked(text);
        let items = items(&text, format, offset, seen, snippets);
        (text, items)
    }

    fn format_of(text: &str) -> Format {
        match text.chars().next() {
            Some('{') => Format::Json,
            Some('[') => Format::Toml,
            _ => Format::Yaml,
        }
    }

    /// The text after the item of this label was taken, its cursor included; empty if it isn't offered.
    fn taken(text: &str, label: &str, snippets: bool) -> String {
        let (source, items) = of(format_of(text), text, &seen(), snippets);
        let Some(item) = items.iter().find(|it| it.label == label) else { return String::new() };
        let mut source = source;
        source.replace_range(item.span.clone(), &item.text);
        if let Some((at, text)) = &item.also {
            source.insert_str(*at, text);
        }
        source
    }

    #[test]
    fn what_is_taken_fits() {
        let mut wrong = Vec::new();
        for (text, label, expected) in [
            ("ho¦", "hooks", "hooks:\n  - name: $0"),
            ("hooks:\n¦", "- name: …", "hooks:\n- name: $0"),
            ("hooks:\n  - ¦", "name", "hooks:\n  - name: $0"),
            ("hooks:\n  -¦", "name", "hooks:\n  - name: $0"),
            ("hooks:\n  - name: a\n    on: Stop\n  ¦", "- name: …", "hooks:\n  - name: a\n    on: Stop\n  - name: $0"),
            ("hooks:\n  - name: a\n    ht¦\n", "http", "hooks:\n  - name: a\n    http:\n  url: $0\n"),
            ("hooks:\n  - {name: a, ht¦", "http", "hooks:\n  - {name: a, http: { url: $0 }"),
            (
                "hooks:\n  - name: a\n    on:¦\n    deny: x\n",
                "Stop",
                "hooks:\n  - name: a\n    on: Stop\n    deny: x\n",
            ),
            ("hooks:\n  - name: a\n    on: ¦", "*", "hooks:\n  - name: a\n    on: \"*\""),
            ("hooks:\n  - name: a\n    on: \"¦", "*", "hooks:\n  - name: a\n    on: \"*\""),
            ("hooks:\n  - name: a\n    on: [Stop, ¦", "PreToolUse", "hooks:\n  - name: a\n    on: [Stop, PreToolUse"),
            (
                "hooks:\n  - name: a\n    guard: ¦",
                "cost-limit: …",
                "hooks:\n  - name: a\n    guard:\n  cost-limit:\n    max: $1\n    prices:\n      $0",
            ),
            ("hooks:\n  - name: a\n    if: ¦", "Bash", "hooks:\n  - name: a\n    if: Bash($0)"),
            ("hooks:\n  - name: a\n    if: Ba¦(x*)", "Bash", "hooks:\n  - name: a\n    if: Bash(x*)"),
            ("hooks:\n  - name: a\n    if: Bash(gi¦", "git push *", "hooks:\n  - name: a\n    if: Bash(git push *)"),
            (
                "hooks:\n  - name: a\n    if: \"Bash(gi¦)\"",
                "git push *",
                "hooks:\n  - name: a\n    if: \"Bash(git push *)\"",
            ),
            (
                "hooks:\n  - name: a\n    matcher: Write|¦\n",
                "mcp__pay",
                "hooks:\n  - name: a\n    matcher: Write|mcp__pay\n",
            ),
            (
                "hooks:\n  - name: a\n    on: PreToolUse\n    when: tool.in¦",
                "input",
                "hooks:\n  - name: a\n    on: PreToolUse\n    when: tool.input",
            ),
            (
                "hooks:\n  - name: a\n    on: PreToolUse\n    when: com¦",
                "tool.input.command",
                "hooks:\n  - name: a\n    on: PreToolUse\n    when: tool.input.command",
            ),
            (
                "hooks:\n  - name: a\n    when: tool.name == ¦",
                "\"Bash\"",
                "hooks:\n  - name: a\n    when: tool.name == \"Bash\"",
            ),
            (
                "{\"hooks\": [{\"name\": \"a\", \"when\": \"tool.name in ['Bash', ¦\"}]}",
                "'mcp__pay'",
                "{\"hooks\": [{\"name\": \"a\", \"when\": \"tool.name in ['Bash', 'mcp__pay'\"}]}",
            ),
            (
                "hooks:\n  - name: a\n    when: tool.input.od¦ == 'x'",
                "odd-key",
                "hooks:\n  - name: a\n    when: tool.input[\"odd-key\"] == 'x'",
            ),
            ("hooks:\n  - name: a\n    when: tool.input.¦", "in", "hooks:\n  - name: a\n    when: tool.input[\"in\"]"),
            ("hooks:\n  - name: a\n    when: has(tool.input.¦)", "odd-key", ""),
            ("hooks:\n  - name: a\n    when: has(tool.input.¦)", "size", ""),
            ("hooks:\n  - name: a\n    when: has(¦)", "tool", ""),
            ("hooks:\n  - name: a\n    when: has(¦)", "size", ""),
            (
                "hooks:\n  - name: a\n    when: has(¦)",
                "tool.input.amount",
                "hooks:\n  - name: a\n    when: has(tool.input.amount)",
            ),
            ("hooks:\n  - name: a\n    if: Bash(ec¦", "echo *", "hooks:\n  - name: a\n    if: Bash(echo *)"),
            ("hooks:\n  - name: a\n    if: Bash(¦\n", "ls #x *", "hooks:\n  - name: a\n    if: \"Bash(ls #x *)\"\n"),
            ("hooks:\n  - name: a\n    if: Write(¦)", "src/a.rs", "hooks:\n  - name: a\n    if: Write(src/a.rs)"),
            ("hooks:\n  - name: a\n    if: Write(¦)", "src/**", "hooks:\n  - name: a\n    if: Write(src/**)"),
            ("hooks:\n  - name: a\n    if: Write(¦)", "**/*.rs", "hooks:\n  - name: a\n    if: Write(**/*.rs)"),
            ("policy:\n  deny: [Bash(¦)]", "git push *", "policy:\n  deny: [Bash(git push *)]"),
            (
                "hooks:\n  - name: a\n    on: UserPromptSubmit\n    command: [git, \"${¦}\"]",
                "prompt",
                "hooks:\n  - name: a\n    on: UserPromptSubmit\n    command: [git, \"${prompt}\"]",
            ),
            (
                "hooks:\n  - name: a\n    when: 'prompt.st¦'",
                "startsWith",
                "hooks:\n  - name: a\n    when: 'prompt.startsWith(\"$0\")'",
            ),
            (
                "hooks:\n  - name: a\n    when: tool.name == \"B¦\"",
                "Bash",
                "hooks:\n  - name: a\n    when: tool.name == \"Bash\"",
            ),
            (
                "hooks:\n  - name: a\n    prompt: see ${pro¦ now",
                "prompt",
                "hooks:\n  - name: a\n    prompt: see ${prompt} now",
            ),
            (
                "hooks:\n  - name: a\n    prompt: see ${¦}",
                "tool.input.odd-key",
                "hooks:\n  - name: a\n    prompt: see ${tool.input.odd-key}",
            ),
            (
                "hooks:\n  - name: a\n    prompt: |\n      see ${pro¦\n",
                "prompt",
                "hooks:\n  - name: a\n    prompt: |\n      see ${prompt}\n",
            ),
            (
                "dialect: agentpool\nhooks:\n  - name: a\n    prompt: see ${TOOL_¦",
                "TOOL_INPUT",
                "dialect: agentpool\nhooks:\n  - name: a\n    prompt: see ${TOOL_INPUT}",
            ),
            (
                "dialect: hooks-article\nhooks:\n  Pre¦\n",
                "PreToolUse",
                "dialect: hooks-article\nhooks:\n  PreToolUse:\n  - name: $0\n",
            ),
            ("{¦}", "hooks", "{\"hooks\": [{ \"name\": \"$0\" }]}"),
            ("{\"hooks\": [{\"na¦\"}]}", "name", "{\"hooks\": [{\"name\": \"$0\"}]}"),
            (
                "{\"hooks\": [{\"name\": \"a\", ¦ \"deny\": \"x\"}]}",
                "once",
                "{\"hooks\": [{\"name\": \"a\", \"once\": ${1|true,false|}, \"deny\": \"x\"}]}",
            ),
            (
                "{\"hooks\": [{\"name\": \"a\", \"on\": \"Pre¦",
                "PreToolUse",
                "{\"hooks\": [{\"name\": \"a\", \"on\": \"PreToolUse\"",
            ),
            (
                "{\"hooks\": [{\"name\": \"a\", \"once\": ¦}]}",
                "true",
                "{\"hooks\": [{\"name\": \"a\", \"once\": true}]}",
            ),
            ("[[hooks]]\nname = 'a'\non =¦\n", "Stop", "[[hooks]]\nname = 'a'\non = \"Stop\"\n"),
            ("[[hooks]]\nname = 'a'\nht¦\n", "http", "[[hooks]]\nname = 'a'\nhttp = { url = \"$0\" }\n"),
            ("[[hooks]]\nname = 'a'\n\n[hooks.gu¦\n", "guard", "[[hooks]]\nname = 'a'\n\n[hooks.guard]\n"),
            (
                "[[hooks]]\nname = 'a'\ndeny = 'x'\n\n¦",
                "[[hooks]]",
                "[[hooks]]\nname = 'a'\ndeny = 'x'\n\n[[hooks]]\nname = \"$0\"",
            ),
            ("[[hooks]]\nname = 'a'\n[¦]\n", "[[hooks]]", "[[hooks]]\nname = 'a'\n[[hooks]]\nname = \"$0\"\n"),
            ("[¦", "[policy]", "[policy]\n$0"),
            ("[[ho¦", "[[hooks]]", "[[hooks]]\nname = \"$0\""),
            ("[[ho¦]] # of [a]\n", "[[hooks]]", "[[hooks]]\nname = \"$0\" # of [a]\n"),
            ("[[ho¦]]\nname = 'a'\n", "[[hooks]]", "[[hooks]]\nname = 'a'\n"),
            ("[[hooks]]\nname = 'a'\ncommand.ru¦\n", "[[hooks]]", ""),
            ("[¦", "dialect", ""),
            ("[[hooks]]\nname = 'a'\n[hooks.¦", "on", ""),
            (
                "[[hooks]]\nname = 'a'\n[hooks.guard.step-limit]\n¦",
                "max",
                "[[hooks]]\nname = 'a'\n[hooks.guard.step-limit]\nmax = ${0:20}",
            ),
            ("{\"hooks\": [{\"name\": \"a\" ¦}]}", "deny", "{\"hooks\": [{\"name\": \"a\", \"deny\": \"$0\"}]}"),
            ("{\"hooks\": [{\"name\": \"a\" \"de¦\"}]}", "deny", "{\"hooks\": [{\"name\": \"a\", \"deny\": \"$0\"}]}"),
            ("{\"hooks\": [{\"name\": \"a\"}¦]}", "{ … }", "{\"hooks\": [{\"name\": \"a\"}, { \"name\": \"$0\" }]}"),
        ] {
            let found = taken(text, label, true);
            if found != expected {
                wrong.push((text, label, found));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        // Without snippets.
        assert_eq!(taken("hooks:\n  - name: a\n    ht¦", "http", false), "hooks:\n  - name: a\n    http:");
        assert_eq!(taken("{\"ho¦\"}", "hooks", false), "{\"hooks\": [{ \"name\": \"\" }]}");
        assert_eq!(
            taken("{\"hooks\": [{\"name\": \"a\", ¦}]}", "async", false),
            "{\"hooks\": [{\"name\": \"a\", \"async\": true}]}"
        );
        // With nothing there yet.
        let (_, items) = of(Format::Json, "\n¦", &seen(), true);
        assert_eq!(items.first().map(|it| &*it.text), Some("{ \"hooks\": [{ \"name\": \"$0\" }] }"));
        let (_, items) = of(Format::Toml, "¦", &seen(), true);
        assert!(items.iter().any(|it| it.text == "\"\\$schema\" = \"$0\""), "{items:?}");
        assert_eq!(taken("hooks:\n- name: a\n  if: ¦", "Bash", false), "hooks:\n- name: a\n  if: Bash");
    }

    #[test]
    fn the_likely_comes_first() {
        for (text, first, never) in [
            (
                "hooks:\n  - name: a\n    ¦",
                &["on", "matcher", "if", "when", "allow", "deny", "ask", "command"][..],
                "name",
            ),
            ("hooks:\n  - name: a\n    on: Stop\n    deny: x\n    ¦", &["matcher", "if", "when"], "command"),
            ("hooks:\n  - name: a\n    command:\n      ¦", &["run"], "name"),
            (
                "hooks:\n  - name: a\n    callable:\n      ¦",
                &["command", "idle", "node", "python", "venv", "args"],
                "name",
            ),
            ("hooks:\n  - name: a\n    guard:\n      step-limit:\n        ¦", &["max", "by", "per"], "name"),
            ("hooks:\n  - name: a\n    guard:\n      step-limit:\n        per: ¦", &["run", "session", "host"], "by"),
            ("hooks:\n  - name: a\n    guard: finish-reason\n    on: ¦", &["StepEnd", "PostModelCall"], "0"),
            ("dialect: agentpool\nhooks:\n  - name: a\n    on: ¦", &["pre_run"], "1"),
            ("hooks:\n  - name: a\n    on: [Stop, ¦]", &["SessionStart"], "Stop"),
            ("hooks:\n  - name: a\n    matcher: ¦", &["Bash", "Write", "mcp__pay", "Read"], "Stop"),
            ("hooks:\n  - name: a\n    on: UserPromptSubmit\n    when: ¦", &["prompt", "event"], "tool.input.command"),
            ("hooks:\n  - name: a\n    on: Stop\n    when: ¦", &["lastMessage"], "tool"),
            ("hooks:\n  - name: a\n    on: Stop\n    matcher: ¦", &[], "Bash"),
            ("hooks:\n  - name: a\n    on: PreToolUse\n    when: ¦", &["tool", "event"], "nobody"),
            ("hooks:\n  - name: a\n    matcher: mcp__pay\n    when: tool.input.¦", &["amount", "to"], "command"),
            ("hooks:\n  - name: a\n    if: WebFetch(*)\n    when: tool.input.¦", &["url"], "command"),
            ("dialect: claude-code\nhooks:\n  - name: a\n    on: ¦", &["SessionStart"], "0"),
            ("hooks:\n  - name: a\n    if: Bash(¦)", &["git push *", "echo *"], "echo \"a: *\""),
            ("hooks:\n  - name: a\n    when: tool.input.to.¦", &["size", "exists"], "startsWith"),
            ("hooks:\n¦", &["- name: …"], "name"),
            ("[[hooks]]\nname = 'a'\n[¦]", &["[[hooks]]", "[defaults]", "[policy]"], "dialect"),
            ("defaults:\n  ¦", &["agents", "fail", "model"], "name"),
            ("policy:\n  ¦", &["allow", "deny", "limits", "sandbox"], "name"),
            ("hooks:\n  - name: a\n    script: \"return ${¦\"", &[], "prompt"),
            (
                "hooks:\n  - name: a\n    http: {url: x, inheritEnv: [TOKEN], headers: {A: \"${¦\"}}",
                &["env.TOKEN"],
                "prompt",
            ),
        ] {
            let (_, items) = of(format_of(text), text, &seen(), true);
            let labels: Vec<&str> = items.iter().map(|it| it.label.as_str()).collect();
            assert_eq!(labels.get(..first.len()), Some(first), "{text}: {labels:?}");
            assert!(!labels.contains(&never), "{text}: {labels:?}");
        }
        let own = of(Format::Yaml, "dialect: agentpool\nhooks:\n  - name: a\n    on: ¦", &seen(), true).1;
        let place = |label: &str| own.iter().position(|it| it.label == label);
        assert!(place("pre_run") < place("Stop") && place("Stop") < place("PreToolCall"));
        let row = own.iter().find(|it| it.label == "pre_run").map(|it| (it.origin.as_deref(), it.detail.as_deref()));
        assert_eq!(row, Some((Some("agentpool"), Some("RunStart"))));
    }

    /// The table of functions is what the crate at hand understands.
    #[test]
    fn functions_are_there() {
        let text = json!({"event": "Stop", "prompt": "a", "messages": ["a"], "step": 1});
        for function in FUNCTIONS {
            let argument = match function.name {
                "has" => "tool.name",
                "int" | "double" | "string" => "step",
                "size" => "prompt",
                _ if (function.fits)(&json!([])) => "it == 'a'",
                _ => "a",
            };
            let on = if (function.fits)(&json!([])) { "messages" } else { "prompt" };
            let call = function.call.replace(STOP, argument);
            let source = if function.is_method { format!("{on}.{call}") } else { call };
            let when = crate::matching::when::When::new(&source).unwrap();
            let truth = when.holds(&text);
            let is_known = !format!("{truth:?}").contains("failed") || function.name == "has";
            assert!(is_known, "{source}: {truth:?}");
        }
    }

    /// All places would take a minute in a build that isn't optimised.
    const STRIDE: usize = 11;

    /// Wherever the cursor is in whatever is there, it is answered, and quickly.
    #[test]
    fn every_place_of_every_example_is_answered() {
        let seen = seen();
        let mut files = Vec::new();
        let mut folders = vec![std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else if let Some(format) = Format::from_path(&entry.path()) {
                    files.push((format, std::fs::read_to_string(entry.path()).unwrap()));
                }
            }
        }
        assert!(files.len() > 50);
        for (format, text) in &files {
            for (n, (offset, _)) in text.char_indices().enumerate().step_by(STRIDE) {
                // In turn: as it is, cut off there, in another format.
                let begun = std::time::Instant::now();
                let offered = match n % 3 {
                    0 => items(text, *format, offset, &seen, true),
                    1 => items(&text[..offset], *format, offset, &seen, n % 2 == 0),
                    _ => {
                        let other = if *format == Format::Yaml { Format::Toml } else { Format::Yaml };
                        items(text, other, offset, &seen, true)
                    }
                };
                assert!(offered.iter().all(|it| holds(&it.span, offset) && text.is_char_boundary(it.span.start)));
                // A build that isn't optimised is some twenty times slower.
                assert!(begun.elapsed().as_millis() < 2000, "{offset} of {text}");
            }
        }
    }

    #[test]
    fn hostile_texts_are_answered() {
        let hook = "  - name: a\n    on: PreToolUse\n    command: [x, \"y\"]\n    deny: x\n";
        let large = format!("hooks:\n{}  - name: [\n    ma", hook.repeat(250));
        let texts = [
            "[".repeat(100_000),
            "{\"a\":".repeat(50_000),
            "- ".repeat(50_000),
            "a: ".repeat(20_000),
            "\"".repeat(9_999),
            format!("hooks:\n  - when: {}", "tool.".repeat(20_000)),
            format!("hooks:\n  - prompt: {}", "${".repeat(20_000)),
            "hooks:\r\n  - name: a\r\n    on: Pre".into(),
            "\u{feff}hooks:\n  - na".into(),
            "\0\u{1}\u{2028}".into(),
            large,
        ];
        for text in &texts {
            for format in [Format::Yaml, Format::Toml, Format::Json] {
                let begun = std::time::Instant::now();
                items(text, format, text.len(), &seen(), true);
                items(text, format, 0, &seen(), true);
                assert!(begun.elapsed().as_secs() < 5, "{format:?} {text:.40} {:?}", begun.elapsed());
            }
        }
        for text in &texts[7..9] {
            assert!(!items(text, Format::Yaml, text.len(), &seen(), true).is_empty(), "{text}");
        }
    }
}
