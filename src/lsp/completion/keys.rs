//! Keys, with what follows them.

use super::super::context::Step;
use super::super::docs::{self, Docs, Kind, Member};
use super::values::about_event;
use super::{Item, STOP, Writer, with_stops};
use crate::definitions::formats::Format;
use crate::handlers::KINDS;
use ls_types::CompletionItemKind as ItemKind;
use std::collections::BTreeSet;

impl Writer<'_> {
    pub(super) fn keys(&self) -> Vec<Item> {
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

    /// A value that is a map of one member, each with what it can't do without.
    pub(super) fn tagged(&self, docs: &Docs<'_>) -> Vec<Item> {
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

    pub(super) fn quoted_key(&self, name: &str) -> (String, &'static str) {
        match self.format {
            Format::Json => (format!("\"{name}\""), ": "),
            Format::Yaml => (name.into(), ": "),
            Format::Toml => (name.into(), " = "),
        }
    }
}

/// A value on one line.
pub(super) fn inline(docs: &Docs<'_>, format: Format) -> String {
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
