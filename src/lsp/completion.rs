//! What could be written at a place.
//!
//! What the schema knows comes from it; names of tools, paths into events and values from what
//! running hosts have told, as far as they have.

use super::context::{Here, Step};
use super::docs::{self, Docs, Kind, Member};
use super::half_typed::{Completing, completing};
use super::{Answer, Snapshot};
use crate::definitions::formats::{self, Format};
use crate::definitions::node::{Node, NodeValue, Span};
use crate::dialects::{self, DIALECTS};
use crate::event::{EVENTS, Event, Phase};
use crate::handlers::KINDS;
use crate::handlers::guards::GUARDS;
use crate::hook::Target;
use crate::matching::tools::{self, ArgumentKind, TOOLS};
use crate::matching::when::MEMBERS;
use crate::template::Style;
use ls_types::{
    CompletionItem, CompletionItemKind as ItemKind, CompletionItemLabelDetails, CompletionParams, CompletionResponse,
    CompletionTextEdit, Documentation, InsertTextFormat, InsertTextMode, MarkupContent, MarkupKind, TextEdit,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// More than anybody reads.
const MAX_ITEMS: usize = 500;
/// Events that are looked into.
pub(super) const MAX_EVENTS: usize = 50;
/// Paths that are taken from them.
const MAX_PATHS: usize = 300;
/// How deep they go.
const MAX_PATH_DEPTH: usize = 8;
/// The longest name or value from an event that is offered.
const MAX_WORD: usize = 200;

pub(super) fn completion(snapshot: &Snapshot, params: CompletionParams) -> Answer<Option<CompletionResponse>> {
    let place = params.text_document_position;
    let Some(document) = snapshot.document(&place.text_document.uri) else { return Ok(None) };
    let lines = document.lines();
    let live = &snapshot.server.live;
    let events = live.recent().iter().take(MAX_EVENTS).map(|it| it.event.clone()).collect();
    let seen = Seen { events, tools: live.tools() };
    let snippets = snapshot.server.abilities.snippets;
    let renders = snapshot.server.abilities.markdown_completions;
    let items = items(&document.text, document.format(), lines.offset(place.position), &seen, snippets);
    let items = items.into_iter().enumerate().map(|(rank, item)| {
        let range = lines.range(&item.span);
        as_lsp(rank, item, range, renders)
    });
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
}

fn as_lsp(rank: usize, item: Item, range: ls_types::Range, renders: bool) -> CompletionItem {
    let details = |it| CompletionItemLabelDetails { detail: None, description: Some(it) };
    let has_lines = item.text.contains('\n');
    CompletionItem {
        label_details: item.origin.map(details),
        kind: item.kind,
        detail: item.detail,
        documentation: (!item.about.is_empty()).then_some(if renders {
            Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: item.about })
        } else {
            Documentation::String(item.about)
        }),
        sort_text: Some(format!("{rank:04}")),
        filter_text: Some(item.filter.unwrap_or_else(|| item.label.clone())),
        label: item.label,
        insert_text_format: item.is_snippet.then_some(InsertTextFormat::SNIPPET),
        insert_text_mode: has_lines.then_some(InsertTextMode::ADJUST_INDENTATION),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text: item.text })),
        ..CompletionItem::default()
    }
}

fn items(text: &str, format: Format, offset: usize, seen: &Seen, snippets: bool) -> Vec<Item> {
    let mut items = Vec::new();
    for reading in &completing(text, format, offset) {
        let path = reading.path();
        let here = Here::new(&reading.root, &path, text);
        let writer = Writer { text, format, offset, reading, here: &here, snippets };
        items.extend(if reading.is_key { writer.keys() } else { writer.values(seen) });
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

impl Writer<'_> {
    // ---- Keys

    fn keys(&self) -> Vec<Item> {
        let docs = docs::FILE.at(&self.here.path);
        let there: BTreeSet<&str> = self.reading.siblings().collect();
        let is_hook = self.here.hook.is_some() && self.here.within().is_empty();
        let is_handler = |name: &str| is_hook && KINDS.iter().any(|kind| kind.key == name);
        let has_handler = there.iter().any(|key| is_handler(key));
        let mut members = docs.members();
        members.retain(|it| !(there.contains(it.name) || has_handler && is_handler(it.name)));
        if docs.is_tagged() && !there.is_empty() {
            members.clear();
        }
        let path_is_root = self.here.path.is_empty();
        let rank = |member: &Member<'_>| {
            let kind = KINDS.iter().position(|kind| kind.key == member.name).filter(|_| is_hook);
            let first = ["on", "matcher", "if", "when"].iter().position(|it| *it == member.name).filter(|_| is_hook);
            match (first, kind) {
                _ if member.is_required || path_is_root && member.name == "hooks" => (0, 0),
                (Some(at), _) => (1, at),
                (None, Some(at)) => (2, at),
                (None, None) if member.name.starts_with('$') => (4, 0),
                (None, None) => (3, 0),
            }
        };
        members.sort_by_key(rank);
        // A new item of a list begins with what it can't do without.
        if self.reading.lead == "- " && members.iter().any(|it| it.is_required) {
            members.retain(|it| it.is_required);
        }
        let mut items: Vec<Item> = members.iter().map(|it| self.key(it.name, &it.docs, it.docs.text())).collect();
        if self.here.path.last() == Some(&Step::Key("hooks")) && self.here.dialect.files.is_some() {
            items.extend(self.event_keys(&there));
        }
        items
    }

    /// Other systems list their hooks under the events.
    fn event_keys(&self, there: &BTreeSet<&str>) -> Vec<Item> {
        let list = docs::FILE.at(&[Step::Key("hooks")]);
        let rows = self.here.dialect.events.iter().filter(|row| !there.contains(row.name));
        rows.map(|row| self.key(row.name, &list, about_event(row.canonical))).collect()
    }

    fn key(&self, name: &str, docs: &Docs<'_>, about: String) -> Item {
        let reading = self.reading;
        let item = Item {
            label: name.into(),
            kind: Some(ItemKind::PROPERTY),
            detail: docs.type_line(),
            about,
            span: reading.token.clone(),
            ..Item::default()
        };
        let is_in_quotes = reading.quote.is_some();
        let quoted = match (self.format, reading.quote) {
            (Format::Json, _) => format!("\"{name}\""),
            (_, Some(quote)) => format!("{quote}{name}{quote}"),
            (_, None) => name.to_string(),
        };
        let filter = is_in_quotes.then(|| quoted.clone());
        let comma = if reading.wants_comma { "," } else { "" };
        if reading.has_value {
            return Item { text: format!("{}{quoted}", reading.lead), filter, ..item };
        }
        let (joint, bare) = match self.format {
            Format::Yaml => (":", if docs.is_only(Kind::Map) { ":" } else { ": " }),
            Format::Toml => (" =", " = "),
            Format::Json => (":", ": "),
        };
        let is_table = self.format == Format::Toml && self.here.path.is_empty() && !reading.in_flow;
        let skeleton = if is_table && docs.is_only(Kind::Map) {
            format!("[{name}]\n{STOP}")
        } else if is_table && docs.is_only(Kind::List) {
            format!("[[{name}]]\n{}", members_of(&docs.items(), self.format, "\n"))
        } else {
            format!("{}{quoted}{joint}{}{comma}", reading.lead, self.skeleton(docs, self.indent(), reading.in_flow))
        };
        if self.snippets {
            Item { text: with_stops(&skeleton), is_snippet: true, filter, ..item }
        } else if is_table && skeleton.starts_with('[') {
            Item { text: skeleton.lines().next().unwrap_or_default().into(), filter, ..item }
        } else {
            Item { text: format!("{}{quoted}{bare}", reading.lead), filter, ..item }
        }
    }

    /// How far right of its line's first character the key begins: editors indent as that line is.
    fn indent(&self) -> usize {
        let before = self.text.get(..self.reading.token.start).unwrap_or_default();
        let line = before.get(before.rfind('\n').map_or(0, |at| at + 1)..).unwrap_or_default();
        let content = line.trim_start_matches(' ');
        let dashes: usize = if content.starts_with("- ") { 2 } else { 0 };
        if self.reading.lead == "- " { 2 } else { dashes }
    }

    /// What follows a key, with [`STOP`]s where something has to be written.
    fn skeleton(&self, docs: &Docs<'_>, indent: usize, in_flow: bool) -> String {
        if self.format != Format::Yaml || in_flow {
            return format!(" {}", inline(docs, self.format));
        }
        let inner = " ".repeat(indent + 2);
        if docs.is_only(Kind::Map) {
            let required: Vec<_> = docs.members().into_iter().filter(|it| it.is_required).collect();
            let lines = required
                .iter()
                .map(|it| format!("\n{inner}{}:{}", it.name, self.skeleton(&it.docs, indent + 2, false)));
            let lines: String = lines.collect();
            return if lines.is_empty() { format!("\n{inner}{STOP}") } else { lines };
        }
        if docs.is_only(Kind::List) && docs.items().is_only(Kind::Map) {
            let items = docs.items();
            let first = items.members().into_iter().find(|it| it.is_required);
            let first = first.map(|it| format!("{}:{}", it.name, self.skeleton(&it.docs, indent + 4, false)));
            return format!("\n{inner}- {}", first.unwrap_or_else(|| STOP.to_string()));
        }
        if docs.is_only(Kind::List) { format!(" [{STOP}]") } else { format!(" {STOP}") }
    }

    // ---- Values

    fn values(&self, seen: &Seen) -> Vec<Item> {
        let within = self.here.within();
        match within {
            [Step::Key("on")] | [Step::Key("on"), Step::Index(_)] => return self.events(),
            [Step::Key("matcher")] => return self.matchers(seen),
            [Step::Key("if")] => return self.rules(seen),
            [Step::Key("agents"), ..] => return self.agents(seen),
            [Step::Key("when")] | [Step::Key("guard"), .., Step::Key("by")] => return self.expression(seen),
            [Step::Key("dialect")] => return self.dialects(),
            [_, ..] => {
                if let Some(items) = self.placeholders(seen) {
                    return items;
                }
            }
            [] => {}
        }
        match &self.here.path[..] {
            [Step::Key("policy"), Step::Key("allow" | "deny"), ..] => return self.rules(seen),
            [Step::Key("dialect")] => return self.dialects(),
            [Step::Key("defaults"), Step::Key("agents"), ..] => return self.agents(seen),
            _ => {}
        }
        let docs = docs::FILE.at(&self.here.path);
        let there: Vec<&str> = self.reading.neighbours().collect();
        let choices = docs.choices();
        let choices = choices.iter().filter(|it| it.value.as_str().is_none_or(|it| !there.contains(&it)));
        let mut items: Vec<Item> = choices
            .filter_map(|choice| {
                let (label, is_text) = match choice.value {
                    Value::String(text) => (text.clone(), true),
                    other => (other.to_string(), false),
                };
                let about = choice.about.map(str::to_string).unwrap_or_default();
                let item = Item { kind: Some(ItemKind::ENUM_MEMBER), about, ..Item::default() };
                if is_text { self.value(&label, item) } else { self.literal(&label, item) }
            })
            .collect();
        if docs.is_tagged() {
            items.extend(self.tagged(&docs));
        }
        if self.format != Format::Yaml && docs.is_only(Kind::Map) && self.reading.quote.is_none() && self.snippets {
            let text = with_stops(&inline(&docs, self.format));
            let span = self.reading.token.clone();
            let label = "{ … }".to_string();
            items.push(Item {
                label,
                kind: Some(ItemKind::SNIPPET),
                about: docs.text(),
                span,
                text,
                is_snippet: true,
                ..Item::default()
            });
        }
        items
    }

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

    /// A value that is a map of one member, each with what it can't do without.
    fn tagged(&self, docs: &Docs<'_>) -> Vec<Item> {
        if !self.snippets || self.reading.quote.is_some() {
            return Vec::new();
        }
        let token = &self.reading.token;
        let before = self.text.get(..token.start).unwrap_or_default();
        let is_beside_key = before.trim_end_matches(' ').ends_with(':');
        let is_block = self.format == Format::Yaml && !self.reading.in_flow;
        if is_block && !is_beside_key {
            // There it is a key.
            return Vec::new();
        }
        let indent = self.indent();
        let item = |member: &Member<'_>| {
            let skeleton = if is_block {
                let inner = " ".repeat(indent + 2);
                format!("\n{inner}{}:{}", member.name, self.skeleton(&member.docs, indent + 2, false))
            } else {
                let (open, joint) = self.quoted_key(member.name);
                format!("{}{{ {open}{joint}{} }}", self.reading.lead, inline(&member.docs, self.format))
            };
            Item {
                label: format!("{}: …", member.name),
                kind: Some(ItemKind::SNIPPET),
                about: member.docs.text(),
                span: token.clone(),
                text: with_stops(&skeleton),
                is_snippet: true,
                ..Item::default()
            }
        };
        docs.members().iter().map(item).collect()
    }

    fn quoted_key(&self, name: &str) -> (String, &'static str) {
        match self.format {
            Format::Json => (format!("\"{name}\""), ": "),
            Format::Yaml => (name.into(), ": "),
            Format::Toml => (name.into(), " = "),
        }
    }

    fn dialects(&self) -> Vec<Item> {
        let of_product = docs::FILE.at(&[Step::Key("dialect")]).choices();
        let dialects = of_product.iter().filter_map(|it| dialects::by_name(it.value.as_str()?).ok());
        let item = |it: &'static dialects::Dialect| {
            let item = Item { kind: Some(ItemKind::MODULE), about: it.about.into(), ..Item::default() };
            self.value(it.name(), item)
        };
        dialects.filter_map(item).collect()
    }

    fn events(&self) -> Vec<Item> {
        let guard = self.here.hook.and_then(|hook| hook.get("guard")).and_then(guard_name);
        let guard = guard.and_then(|name| GUARDS.iter().find(|row| row.name == name));
        let own = self.here.dialect;
        let mut names: Vec<(&str, &str, Option<&str>)> =
            EVENTS.iter().map(|spec| (spec.name, spec.name, None)).collect();
        if let Some(guard) = guard {
            names.sort_by_key(|(_, canonical, _)| crate::event::spec(canonical).is_none_or(|it| !(guard.acts_at)(it)));
        }
        let others = DIALECTS.iter().filter(|it| it.name() != own.name() && it.name() != "sample");
        for dialect in std::iter::once(&own).chain(others) {
            for row in dialect.events {
                let all = std::iter::once(row.name).chain(row.also.iter().copied());
                names.extend(all.map(|name| (name, row.canonical, Some(dialect.name()))));
            }
        }
        let mut there: BTreeSet<&str> = self.reading.neighbours().collect();
        let mut items = Vec::new();
        for (name, canonical, dialect) in names {
            if name.bytes().all(|byte| byte.is_ascii_digit()) || !there.insert(name) {
                continue;
            }
            let item = Item {
                kind: Some(ItemKind::EVENT),
                origin: dialect.map(str::to_string),
                detail: dialect.map(|_| canonical.to_string()),
                about: about_event(canonical),
                ..Item::default()
            };
            items.extend(self.value(name, item));
        }
        let every = Item { kind: Some(ItemKind::EVENT), about: "every event".into(), ..Item::default() };
        if self.here.path.last() == Some(&Step::Key("on")) {
            items.extend(self.value("*", every));
        }
        items
    }

    /// Names of tools: those that were called before those that are known.
    fn tools(seen: &Seen) -> Vec<(String, bool)> {
        let called = seen.tools.iter().map(String::as_str).chain(seen.events.iter().filter_map(|it| it.tool_name()));
        let called: BTreeSet<&str> = called.filter(|name| is_word(name)).collect();
        let known = TOOLS.iter().map(|tool| tool.name).filter(|name| !called.contains(name));
        called.iter().map(|name| (name.to_string(), true)).chain(known.map(|name| (name.to_string(), false))).collect()
    }

    fn matchers(&self, seen: &Seen) -> Vec<Item> {
        let contract = &self.here.dialect.contract;
        let events = self.here.events();
        let targets: Vec<(Option<Arc<str>>, Target)> = match &events {
            Some(events) => events.iter().map(|it| (Some(it.clone()), (contract.matched)(it))).collect(),
            None => vec![(None, (contract.matched)("PreToolUse"))],
        };
        let mut names: Vec<(String, Option<&str>)> = Vec::new();
        for (event, target) in &targets {
            match target {
                Target::Nothing => {}
                Target::Member(_) if target.is_tool() => {
                    let tools = Writer::tools(seen).into_iter();
                    names.extend(tools.map(|(name, is_called)| (name, is_called.then_some("called"))));
                }
                Target::Member(pointer) => {
                    let of_event = seen.events.iter().filter(|it| event.as_ref().is_none_or(|name| *name == it.name));
                    let texts = of_event.filter_map(|it| it.text(pointer)).filter(|text| is_word(text));
                    names.extend(texts.map(|text| (text.to_string(), Some("seen"))));
                }
                Target::Texts(texts) => {
                    let of_event = seen.events.iter().filter(|it| event.as_ref().is_none_or(|name| *name == it.name));
                    let texts = of_event.flat_map(|it| texts(it)).filter(|text| is_word(text));
                    names.extend(texts.map(|text| (text, Some("seen"))));
                }
            }
        }
        if contract.matcher_names_events {
            names.extend(self.here.dialect.events.iter().map(|row| (row.name.to_string(), None)));
        }
        // One of several: `Write|Ed`.
        let typed = &self.reading.typed;
        let part = typed.rfind(['|', ',', '(']).map_or(0, |at| at + 1);
        let part = typed.get(part..).unwrap_or_default().trim_start();
        let rest = self.reading.rest.split(['|', ',', ')']).next().unwrap_or_default();
        let mut told = BTreeSet::new();
        let item = |(name, origin): (String, Option<&str>)| {
            if !told.insert(name.clone()) {
                return None;
            }
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | '/'));
            let pattern = if is_name { name.clone() } else { regex::escape(&name) };
            let item = Item { kind: Some(ItemKind::FUNCTION), origin: origin.map(str::to_string), ..Item::default() };
            let is_whole = part.len() == typed.len() && rest.len() == self.reading.rest.len();
            if is_whole {
                return self
                    .value(&pattern, Item { filter: Some(name.clone()), ..item })
                    .map(|it| Item { label: name, ..it });
            }
            let span = self.part(part, rest)?;
            Some(Item { text: self.inner(&pattern)?, label: name, span, ..item })
        };
        names.into_iter().filter_map(item).collect()
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

    /// `Tool(pattern)`.
    fn rules(&self, seen: &Seen) -> Vec<Item> {
        let reading = self.reading;
        let Some((tool, pattern)) = reading.typed.split_once('(') else {
            let rest = reading.rest.split('(').next().unwrap_or_default();
            let has_pattern = reading.rest.contains('(');
            let item = |(name, is_called): (String, bool)| {
                let item = Item {
                    kind: Some(ItemKind::FUNCTION),
                    origin: is_called.then(|| "called".to_string()),
                    about: about_rule(&name),
                    ..Item::default()
                };
                if has_pattern {
                    let span = self.part(&reading.typed, rest)?;
                    return Some(Item { text: self.inner(&name)?, label: name, span, ..item });
                }
                if !self.snippets {
                    return self.value(&name, item);
                }
                let stop = format!("{name}({STOP})");
                // The stop is no character that any format would escape or quote away.
                let (span, text) = self.written(&stop.replace(STOP, "_STOP_"))?;
                let text = with_stops(&text.replace("_STOP_", &STOP.to_string()));
                Some(Item { label: name, span, text, is_snippet: true, ..item })
            };
            return Writer::tools(seen).into_iter().filter_map(item).collect();
        };
        let tool = tool.trim();
        let mut told = BTreeSet::new();
        let mut arguments = Vec::new();
        for event in seen.events.iter().filter(|it| it.tool_name() == Some(tool)) {
            let argument = event.at("/tool/input").and_then(|input| tools::main_argument(tool, input));
            let Some((kind, argument)) = argument.filter(|(_, it)| is_word(it)) else { continue };
            if kind == ArgumentKind::Shell {
                let words: Vec<&str> = argument.split(' ').take(2).collect();
                arguments.push((format!("{} *", words.join(" ")), "like one that was called"));
            }
            arguments.push((argument.to_string(), "called"));
        }
        arguments.sort_by_key(|(_, origin)| *origin == "called");
        let rest = reading.rest.strip_suffix(')').unwrap_or(&reading.rest);
        let close = if rest.len() == reading.rest.len() { ")" } else { "" };
        let item = |(argument, origin): (String, &str)| {
            if !told.insert(argument.clone()) {
                return None;
            }
            let whole = format!("{tool}({argument})");
            if reading.quote.is_none() && self.format == Format::Yaml && !is_plain(&whole, reading.in_flow) {
                return None;
            }
            let span = self.part(pattern, rest)?;
            let text = format!("{}{close}", self.inner(&argument)?);
            let origin = Some(origin.to_string());
            Some(Item { label: argument, kind: Some(ItemKind::VALUE), origin, span, text, ..Item::default() })
        };
        arguments.into_iter().filter_map(item).collect()
    }

    fn agents(&self, seen: &Seen) -> Vec<Item> {
        let names: BTreeSet<&str> =
            seen.events.iter().filter_map(|it| it.text("/agent/name")).filter(|it| is_word(it)).collect();
        let there: Vec<&str> = self.reading.neighbours().collect();
        let item = || Item { kind: Some(ItemKind::VALUE), origin: Some("seen".into()), ..Item::default() };
        names.iter().filter(|name| !there.contains(name)).filter_map(|name| self.value(name, item())).collect()
    }

    // ---- CEL

    fn expression(&self, seen: &Seen) -> Vec<Item> {
        let typed = self.reading.typed.as_str();
        let events = self.here.relevant(&seen.events);
        let rest_len = self.reading.rest.find(|c: char| !is_name_char(c)).unwrap_or(self.reading.rest.len());
        let rest = self.reading.rest.get(..rest_len).unwrap_or_default();
        let calls = self.reading.rest.get(rest_len..).is_some_and(|it| it.starts_with('('));
        if let Some((before, text)) = open_string(typed) {
            return self.compared(before, text, &events);
        }
        let start = typed
            .rfind(|c: char| !is_name_char(c) && c != '.')
            .map_or(0, |at| at + typed.get(at..).and_then(|it| it.chars().next()).map_or(1, char::len_utf8));
        let chain = typed.get(start..).unwrap_or_default();
        let follows_value = chain.starts_with('.') || chain.starts_with(|c: char| c.is_ascii_digit());
        let (base, word) = chain.rsplit_once('.').map_or((None, chain), |(base, word)| (Some(base), word));
        let Some(span) = self.part(word, rest) else { return Vec::new() };
        let mut items = Vec::new();
        if let Some(base) = base.filter(|_| !follows_value) {
            let path: Vec<&str> = base.split('.').collect();
            items.extend(self.members(&path, &events, &span));
        }
        if base.is_some() {
            let values: Vec<&Value> = match base.filter(|_| !follows_value) {
                Some(base) => events.iter().filter_map(|it| at_path(&it.data, base)).collect(),
                None => Vec::new(),
            };
            let is_map = !values.is_empty() && values.iter().all(|it| it.is_object());
            let fits = |it: &&Function| {
                it.is_method && (values.is_empty() || is_map || values.iter().any(|value| (it.fits)(value)))
            };
            items.extend(FUNCTIONS.iter().filter(fits).filter_map(|it| self.function(it, &span, calls)));
            return items;
        }
        items.extend(self.members(&[], &events, &span));
        let chosen = paths(&events);
        let identifiers = |path: &str| path.split('.').all(is_identifier);
        let deep = chosen.iter().filter(|(path, _)| path.contains('.') && identifiers(path));
        items.extend(deep.map(|(path, value)| path_item(path, path.clone(), value, &span)));
        if chosen.is_empty() {
            for (path, about) in shape() {
                let item = Item { about, ..Item::default() };
                items.push(Item {
                    label: path.clone(),
                    kind: Some(ItemKind::FIELD),
                    text: path,
                    span: span.clone(),
                    ..item
                });
            }
        }
        items.extend(FUNCTIONS.iter().filter(|it| !it.is_method).filter_map(|it| self.function(it, &span, calls)));
        items
    }

    /// What a value may say that is compared with a text.
    fn compared(&self, before: &str, text: &str, events: &[&Event]) -> Vec<Item> {
        let before = before.trim_end();
        let before = ["==", "!=", "in ["].iter().find_map(|it| before.strip_suffix(it)).map(str::trim_end);
        let Some(before) = before else { return Vec::new() };
        let start = before.rfind(|c: char| !is_name_char(c) && c != '.').map_or(0, |at| at + 1);
        let path = before.get(start..).unwrap_or_default();
        let mut values: Vec<String> = Vec::new();
        let said = events.iter().filter_map(|it| at_path(&it.data, path)?.as_str()).filter(|it| is_word(it));
        values.extend(said.map(str::to_string));
        match path {
            "tool.name" => values.extend(TOOLS.iter().map(|tool| tool.name.to_string())),
            "event" => values.extend(self.here.events().into_iter().flatten().map(|name| name.to_string())),
            _ => {}
        }
        let is_end = |c: char| matches!(c, '"' | '\'' | '\\') || c.is_whitespace();
        let rest = self.reading.rest.split(is_end).next().unwrap_or_default();
        let Some(span) = self.part(text, rest) else { return Vec::new() };
        let mut told = BTreeSet::new();
        values.retain(|it| !it.contains(['"', '\'', '\\']) && told.insert(it.clone()));
        let item = |value: String| {
            let text = self.inner(&value)?;
            Some(Item { label: value, kind: Some(ItemKind::VALUE), span: span.clone(), text, ..Item::default() })
        };
        values.into_iter().filter_map(item).collect()
    }

    /// The members of what a path leads to.
    fn members(&self, path: &[&str], events: &[&Event], span: &Span) -> Vec<Item> {
        let mut told = BTreeSet::new();
        let mut items = Vec::new();
        let steps: Vec<Step<'_>> = path.iter().map(|key| Step::Key(key)).collect();
        let shape = docs::EVENT.at(&steps).members();
        let about = |key: &str| shape.iter().find(|it| it.name == key).map(|it| it.docs.text()).unwrap_or_default();
        let whole = path.join(".");
        for event in events {
            let found = if path.is_empty() { Some(&event.data) } else { at_path(&event.data, &whole) };
            for (key, value) in found.and_then(Value::as_object).into_iter().flatten().take(MAX_PATHS) {
                if is_identifier(key) && told.insert(key.to_string()) {
                    let item = path_item(key, key.clone(), value, span);
                    let about = [about(key), item.about].join("\n\n");
                    items.push(Item { about: about.trim().into(), ..item });
                }
            }
        }
        let known = shape.iter().map(|it| it.name);
        let known = known.chain(MEMBERS.iter().copied().filter(|_| path.is_empty()));
        for key in known {
            if told.insert(key.to_string()) {
                let (label, text) = (key.to_string(), key.to_string());
                items.push(Item {
                    label,
                    kind: Some(ItemKind::FIELD),
                    about: about(key),
                    span: span.clone(),
                    text,
                    ..Item::default()
                });
            }
        }
        items
    }

    fn function(&self, function: &Function, span: &Span, calls: bool) -> Option<Item> {
        let quote = if self.reading.quote.is_some_and(|it| it.starts_with('\'')) { "\"" } else { "'" };
        let call = function.call.replace('\'', quote);
        let (text, is_snippet) = match (calls, self.snippets) {
            (true, _) => (function.name.to_string(), false),
            (false, true) => (with_stops(&call), true),
            (false, false) => (format!("{}(", function.name), false),
        };
        Some(Item {
            label: function.name.into(),
            kind: Some(if function.is_method { ItemKind::METHOD } else { ItemKind::FUNCTION }),
            detail: Some(function.call.replace(STOP, "…")),
            about: function.about.into(),
            span: span.clone(),
            text,
            is_snippet,
            ..Item::default()
        })
    }

    // ---- Placeholders

    /// What may stand in a placeholder, if the place is in one.
    fn placeholders(&self, seen: &Seen) -> Option<Vec<Item>> {
        let style = self.here.dialect.contract.placeholders.style;
        let (is_path, is_env) = self.takes_placeholders()?;
        let typed = self.reading.typed.as_str();
        let style = if is_env { Style::Paths } else { style };
        let open = match style {
            Style::Paths => "${",
            Style::Braces => "{",
            Style::Dollars => "$",
        };
        let (before, name) = typed.rsplit_once(open)?;
        let (open, name) = match name.strip_prefix('{').filter(|_| style == Style::Dollars) {
            Some(name) => ("${", name),
            None => (open, name),
        };
        let fits = |c: char| is_name_char(c) || (style == Style::Paths && matches!(c, '.' | '-'));
        // `$${` stands for `${`.
        if !name.chars().all(fits) || (style != Style::Braces && before.ends_with('$')) {
            return None;
        }
        let rest_len = self.reading.rest.find(|c: char| !fits(c)).unwrap_or(self.reading.rest.len());
        let (rest, next) = self.reading.rest.split_at_checked(rest_len)?;
        let close = if open == "$" || next.starts_with('}') { "" } else { "}" };
        let span = self.part(name, rest)?;
        let events = self.here.relevant(&seen.events);
        let mut items = Vec::new();
        if is_env {
            items.extend(self.variables().into_iter().map(|name| {
                let label = format!("env.{name}");
                let text = label.clone();
                Item { label, kind: Some(ItemKind::VARIABLE), text, span: span.clone(), ..Item::default() }
            }));
        }
        if is_path && style == Style::Paths {
            let chosen = paths(&events);
            items.extend(
                chosen
                    .iter()
                    .filter(|(path, _)| path.chars().all(fits))
                    .map(|(path, value)| path_item(path, path.clone(), value, &span)),
            );
            if chosen.is_empty() {
                items.extend(shape().into_iter().map(|(path, about)| {
                    let text = path.clone();
                    Item {
                        label: path,
                        kind: Some(ItemKind::FIELD),
                        about,
                        text,
                        span: span.clone(),
                        ..Item::default()
                    }
                }));
            }
            for (name, about) in [("timestamp", "the time in RFC 3339"), ("hook", "the hook's name")] {
                let (label, text, about) = (name.to_string(), name.to_string(), about.to_string());
                items.push(Item {
                    label,
                    kind: Some(ItemKind::VARIABLE),
                    about,
                    text,
                    span: span.clone(),
                    ..Item::default()
                });
            }
        } else if is_path {
            items.extend(self.names(&events, &span));
        }
        for item in &mut items {
            item.text.push_str(close);
        }
        Some(items)
    }

    /// Whether the text at hand may name values of the event, and variables. What the schema says of
    /// a field tells.
    fn takes_placeholders(&self) -> Option<(bool, bool)> {
        let path = &self.here.path;
        let mentions = |what: &str| {
            (3..=path.len()).any(|n| {
                let docs = docs::FILE.at(path.get(..n).unwrap_or_default());
                let of_members = docs.members().into_iter().filter(|_| n == path.len()).flat_map(|it| it.docs.about);
                docs.about.iter().copied().chain(of_members).any(|it| it.contains(what))
            })
        };
        let is_shell = self.here.within().first() == Some(&Step::Key("command"))
            && !matches!(path.last(), Some(Step::Index(index)) if *index > 0);
        let is_own = self.here.dialect.contract.placeholders.style != Style::Paths;
        let is_path = mentions("${path}") && (is_own || !is_shell);
        let is_env = mentions("${env.NAME}");
        (is_path || is_env).then_some((is_path, is_env))
    }

    /// The variables that are taken over beside the map that the place is in.
    fn variables(&self) -> Vec<String> {
        let path = self.reading.path();
        let parent = path.get(..path.len().saturating_sub(2)).unwrap_or_default();
        let parent = parent.iter().try_fold(&self.reading.root, |node, step| match (step, &node.value) {
            (Step::Key(key), _) => node.get(key),
            (Step::Index(index), NodeValue::Seq(items)) => items.get(*index),
            _ => None,
        });
        let names = parent.and_then(|it| it.get("inheritEnv")).map(|it| &it.value);
        let Some(NodeValue::Seq(names)) = names else { return Vec::new() };
        names.iter().filter_map(super::context::string).map(str::to_string).collect()
    }

    /// The names of another system's placeholders, as far as its table of members tells them.
    fn names(&self, events: &[&Event], span: &Span) -> Vec<Item> {
        let placeholders = &self.here.dialect.contract.placeholders;
        let own = self.here.dialect.members.iter().filter_map(|(theirs, _)| theirs.rsplit('/').next());
        let mut names: Vec<String> = ["event", "timestamp"].map(String::from).into();
        for name in own {
            let (head, tail) = name.split_at_checked(1).unwrap_or((name, ""));
            names.extend([name.to_string(), name.to_uppercase(), head.to_lowercase() + tail]);
        }
        for (of, pointer) in [("tool_input_", "/tool/input"), ("tool_output_", "/tool/output")] {
            let members = events.iter().filter_map(|it| it.at(pointer)?.as_object()).flatten();
            names.extend(members.filter(|(key, _)| is_word(key)).take(MAX_PATHS).map(|(key, _)| format!("{of}{key}")));
        }
        let mut told = BTreeSet::new();
        names.retain(|name| is_identifier(name) && (placeholders.knows)(name) && told.insert(name.clone()));
        let item = |name: String| {
            let value = events.iter().find_map(|event| (placeholders.value)(event, &name));
            let about = value.map(|value| sample(&value)).unwrap_or_default();
            let text = name.clone();
            Item { label: name, kind: Some(ItemKind::VARIABLE), about, text, span: span.clone(), ..Item::default() }
        };
        names.into_iter().map(item).collect()
    }
}

/// A function of CEL.
struct Function {
    name: &'static str,
    /// It is called on a value.
    is_method: bool,
    call: &'static str,
    about: &'static str,
    /// Whether it can be called on this.
    fits: fn(&Value) -> bool,
}

const fn method(name: &'static str, call: &'static str, fits: fn(&Value) -> bool, about: &'static str) -> Function {
    Function { name, is_method: true, call, about, fits }
}

const fn global(name: &'static str, call: &'static str, about: &'static str) -> Function {
    Function { name, is_method: false, call, about, fits: |_| true }
}

/// What the CEL at hand understands.
static FUNCTIONS: &[Function] = &[
    global("has", "has(\u{1})", "whether a member is there: `has(tool.input.path)`"),
    method("contains", "contains('\u{1}')", Value::is_string, "whether the text has this in it"),
    method("startsWith", "startsWith('\u{1}')", Value::is_string, "whether the text begins with this"),
    method("endsWith", "endsWith('\u{1}')", Value::is_string, "whether the text ends with this"),
    method("matches", "matches('\u{1}')", Value::is_string, "whether a regex is found in the text"),
    method("size", "size()", |it| it.is_string() || it.is_array(), "how many characters, items or members there are"),
    method("exists", "exists(it, \u{1})", Value::is_array, "whether the condition holds for one item at least"),
    method("exists_one", "exists_one(it, \u{1})", Value::is_array, "whether the condition holds for one item only"),
    method("all", "all(it, \u{1})", Value::is_array, "whether the condition holds for every item"),
    method("filter", "filter(it, \u{1})", Value::is_array, "the items for which the condition holds"),
    method("map", "map(it, \u{1})", Value::is_array, "what becomes of each item"),
    global("size", "size(\u{1})", "how many characters, items or members there are"),
    global("string", "string(\u{1})", "as a text"),
    global("int", "int(\u{1})", "as a whole number"),
    global("double", "double(\u{1})", "as a number with a fraction"),
];

/// What a function of CEL is, and how it is called.
pub(super) fn about_function(name: &str) -> Option<(String, &'static str)> {
    let function = FUNCTIONS.iter().find(|it| it.name == name)?;
    Some((function.call.replace('\u{1}', "…"), function.about))
}

/// A path into an event with what was there.
fn path_item(label: &str, text: String, value: &Value, span: &Span) -> Item {
    Item {
        label: label.into(),
        kind: Some(ItemKind::FIELD),
        origin: Some("seen".into()),
        about: sample(value),
        span: span.clone(),
        text,
        ..Item::default()
    }
}

/// A value from an event, as Markdown.
fn sample(value: &Value) -> String {
    if value.is_null() || value == "" {
        return String::new();
    }
    format!("last: {}", super::hover::code(&super::hover::clipped(value)))
}

/// The paths into events with the newest value of each; the first item stands for a list.
fn paths<'v>(events: &[&'v Event]) -> Vec<(String, &'v Value)> {
    let mut found = Vec::new();
    let mut told = BTreeSet::new();
    for event in events {
        flatten(&event.data, "", 0, &mut found, &mut told);
    }
    found
}

fn flatten<'v>(
    value: &'v Value,
    path: &str,
    depth: usize,
    found: &mut Vec<(String, &'v Value)>,
    told: &mut BTreeSet<String>,
) {
    let mut member = |key: &str, value: &'v Value| {
        let is_fit = !key.is_empty() && key.len() <= MAX_WORD && !key.contains(['.', '}', '\n']);
        if found.len() >= MAX_PATHS || depth >= MAX_PATH_DEPTH || !is_fit {
            return;
        }
        let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
        if told.insert(path.clone()) {
            found.push((path.clone(), value));
        }
        flatten(value, &path, depth + 1, found, told);
    };
    match value {
        Value::Object(members) => members.iter().take(MAX_PATHS).for_each(|(key, value)| member(key, value)),
        Value::Array(items) => items.iter().take(1).for_each(|item| member("0", item)),
        _ => {}
    }
}

/// What an event may have, where none was seen: paths and what they are.
fn shape() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for member in docs::EVENT.at(&[]).members() {
        found.push((member.name.to_string(), member.docs.text()));
        for inner in member.docs.members() {
            found.push((format!("{}.{}", member.name, inner.name), inner.docs.text()));
        }
    }
    found
}

/// What a dotted path leads to.
pub(super) fn at_path<'v>(data: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(data, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

/// The string literal of CEL that a text ends in: what is before it, and what it says so far.
fn open_string(typed: &str) -> Option<(&str, &str)> {
    let mut open: Option<(usize, char)> = None;
    let mut escaped = false;
    for (at, c) in typed.char_indices() {
        match open {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some((_, quote)) if c == quote => open = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => open = Some((at, c)),
            None => {}
        }
    }
    let (at, _) = open?;
    Some((typed.get(..at)?, typed.get(at + 1..)?))
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_name_char) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// What may be offered of what events say: one line, not too long, nothing that isn't seen.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_WORD && !text.chars().any(char::is_control)
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

/// A value on one line.
fn inline(docs: &Docs<'_>, format: Format) -> String {
    let kinds = docs.kinds();
    if kinds.contains(&Kind::Text) && format != Format::Yaml {
        return format!("\"{STOP}\"");
    }
    match kinds[..] {
        [Kind::List] if docs.items().is_only(Kind::Map) => format!("[{}]", inline(&docs.items(), format)),
        [Kind::List] => format!("[{STOP}]"),
        [Kind::Map] => format!("{{ {} }}", members_of(docs, format, ", ")),
        _ => STOP.to_string(),
    }
}

/// The members that a map can't do without.
fn members_of(docs: &Docs<'_>, format: Format, joint: &str) -> String {
    let written = |it: &Member<'_>| {
        let value = inline(&it.docs, format);
        match format {
            Format::Json => format!("\"{}\": {value}", it.name),
            Format::Toml => format!("{} = {value}", it.name),
            Format::Yaml => format!("{}: {value}", it.name),
        }
    };
    let required: Vec<_> = docs.members().iter().filter(|it| it.is_required).map(written).collect();
    if required.is_empty() { STOP.to_string() } else { required.join(joint) }
}

/// A snippet of a skeleton: the last stop is where the cursor stays.
fn with_stops(skeleton: &str) -> String {
    let n_stops = skeleton.matches(STOP).count();
    let mut n = 0;
    let mut snippet = String::new();
    for c in skeleton.chars() {
        match c {
            STOP => {
                n += 1;
                snippet.push_str(&format!("${}", if n == n_stops { 0 } else { n }));
            }
            '$' | '\\' => snippet.extend(['\\', c]),
            _ => snippet.push(c),
        }
    }
    snippet
}

fn guard_name(guard: &Node) -> Option<&str> {
    match &guard.value {
        NodeValue::String(name) => Some(name),
        NodeValue::Map(entries) => entries.first().map(|entry| entry.key.as_str()),
        _ => None,
    }
}

/// An event in a line, and what hooks may do there.
pub(super) fn about_event(canonical: &str) -> String {
    let Some(spec) = crate::event::spec(canonical) else { return String::new() };
    let phase = match spec.phase {
        Phase::Gate => "a gate: hooks may block it",
        Phase::After => "after the fact",
        Phase::Note => "hooks are only told",
    };
    format!("{} ({phase})", spec.about)
}

/// How a rule of a tool is read.
pub(super) fn about_rule(tool: &str) -> String {
    match tools::known(tool).map(|it| it.kind) {
        Some(ArgumentKind::Shell) => "the pattern is held against every command that the text would run".into(),
        Some(ArgumentKind::Path) => "the pattern is a glob on the path".into(),
        Some(ArgumentKind::Text) => "the pattern is a glob on the argument".into(),
        None => "the pattern is read by the shape of the tool's input".into(),
    }
}

#[cfg(test)]
mod tests {
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
        source
    }

    #[test]
    fn what_is_taken_fits() {
        let mut wrong = Vec::new();
        for (text, label, expected) in [
            ("ho¦", "hooks", "hooks:\n  - name: $0"),
            ("hooks:\n  - ¦", "name", "hooks:\n  - name: $0"),
            ("hooks:\n  -¦", "name", "hooks:\n  - name: $0"),
            ("hooks:\n  - name: a\n    on: Stop\n  ¦", "name", "hooks:\n  - name: a\n    on: Stop\n  - name: $0"),
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
                "hooks:\n  - name: a\n    guard: \n  cost-limit:\n    max: $1\n    prices:\n      $0",
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
                "{\"hooks\": [{\"name\": \"a\", \"once\": $0, \"deny\": \"x\"}]}",
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
            ("[[hooks]]\nname = 'a'\n\n[hooks.gu¦\n", "guard", "[[hooks]]\nname = 'a'\n\n[hooks.guard\n"),
        ] {
            let found = taken(text, label, true);
            if found != expected {
                wrong.push((text, label, found));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        // Without snippets.
        assert_eq!(taken("hooks:\n  - name: a\n    ht¦", "http", false), "hooks:\n  - name: a\n    http:");
        assert_eq!(taken("{\"ho¦\"}", "hooks", false), "{\"hooks\": }");
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
            ("hooks:\n  - name: a\n    callable:\n      ¦", &["args"], "name"),
            ("hooks:\n  - name: a\n    guard:\n      step-limit:\n        ¦", &["by", "max", "per"], "name"),
            ("hooks:\n  - name: a\n    guard:\n      step-limit:\n        per: ¦", &["run", "session", "host"], "by"),
            ("hooks:\n  - name: a\n    guard: finish-reason\n    on: ¦", &["StepEnd", "PostModelCall"], "0"),
            ("dialect: agentpool\nhooks:\n  - name: a\n    on: ¦", &["SessionStart"], "1"),
            ("hooks:\n  - name: a\n    on: [Stop, ¦]", &["SessionStart"], "Stop"),
            ("hooks:\n  - name: a\n    matcher: ¦", &["Bash", "mcp__pay", "Read"], "Stop"),
            ("hooks:\n  - name: a\n    on: UserPromptSubmit\n    when: ¦", &["event", "prompt"], "tool.input.command"),
            ("hooks:\n  - name: a\n    when: tool.input.to.¦", &["size", "exists"], "startsWith"),
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
        assert!(place("Stop") < place("pre_run") && place("pre_run") < place("PreToolCall"));
        let row = own.iter().find(|it| it.label == "pre_run").map(|it| (it.origin.as_deref(), it.detail.as_deref()));
        assert_eq!(row, Some((Some("agentpool"), Some("RunStart"))));
    }

    /// The table of functions is what the crate at hand understands.
    #[test]
    fn functions_are_there() {
        let text = json!({"event": "Stop", "prompt": "a", "messages": ["a"], "step": 1});
        let variables = crate::matching::when::Variables::new(&text);
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
            let truth = when.holds(&variables);
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
