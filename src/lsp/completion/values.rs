//! Values: what the schema lists, events, tools, agents.

use super::super::context::{Step, text_kind};
use super::super::docs::{self, Kind};
use super::keys::inline;
use super::{Item, Seen, Writer, is_word, with_stops, without_stops};
use crate::contract::Target;
use crate::dialects::{self, DIALECTS};
use crate::event::{EVENTS, Phase};
use crate::handlers::TextKind;
use crate::handlers::guards::GUARDS;
use crate::matching::tools::TOOLS;
use crate::syntax::formats::Format;
use crate::syntax::node::{Node, NodeValue};
use ls_types::CompletionItemKind as ItemKind;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Writer<'_> {
    pub(super) fn values(&self, seen: &Seen) -> Vec<Item> {
        let within = self.here.within();
        match within {
            [Step::Key("on")] | [Step::Key("on"), Step::Index(_)] => return self.events(),
            [Step::Key("matcher")] => return self.matchers(seen),
            [Step::Key("if")] => return self.rules(seen),
            [Step::Key("agents"), ..] => return self.agents(seen),
            [Step::Key("when")] => return self.expression(seen),
            _ if text_kind(within) == Some(TextKind::Expression) => return self.expression(seen),
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
        if self.format != Format::Yaml && docs.is_only(Kind::Map) && self.reading.quote.is_none() {
            let text = inline(&docs, self.format);
            let text = if self.snippets { with_stops(&text) } else { without_stops(&text) };
            let comma = if self.reading.wants_comma { "," } else { "" };
            let text = format!("{text}{comma}");
            let span = self.reading.token.clone();
            let label = "{ … }".to_string();
            items.push(Item {
                label,
                kind: Some(ItemKind::SNIPPET),
                about: docs.text(),
                span,
                text,
                is_snippet: self.snippets,
                ..Item::default()
            });
        }
        items
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
        let of_own = own.events.iter().filter(|_| own.name() != dialects::NATIVE);
        let of_own = of_own.flat_map(|row| {
            let all = std::iter::once(row.name).chain(row.also.iter().copied());
            all.map(|name| (name, row.canonical, Some(own.name())))
        });
        let native = EVENTS.iter().map(|spec| (spec.name, spec.name, None));
        let mut names: Vec<(&str, &str, Option<&str>)> = of_own.chain(native).collect();
        if let Some(guard) = guard {
            names.sort_by_key(|(_, canonical, _)| crate::event::spec(canonical).is_none_or(|it| !(guard.acts_at)(it)));
        }
        let others = DIALECTS.iter().filter(|it| it.name() != own.name() && it.name() != "sample");
        for dialect in others {
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
    pub(super) fn tools(seen: &Seen) -> Vec<(String, bool)> {
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
                Target::Member(_) if target.is_tool() && event.as_ref().is_some_and(|it| !is_about_tool(it)) => {}
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

    fn agents(&self, seen: &Seen) -> Vec<Item> {
        let names: BTreeSet<&str> =
            seen.events.iter().filter_map(|it| it.text("/agent/name")).filter(|it| is_word(it)).collect();
        let there: Vec<&str> = self.reading.neighbours().collect();
        let item = || Item { kind: Some(ItemKind::VALUE), origin: Some("seen".into()), ..Item::default() };
        names.iter().filter(|name| !there.contains(name)).filter_map(|name| self.value(name, item())).collect()
    }
}

pub(super) fn guard_name(guard: &Node) -> Option<&str> {
    match &guard.value {
        NodeValue::String(name) => Some(name),
        NodeValue::Map(entries) => entries.first().map(|entry| entry.key.as_str()),
        _ => None,
    }
}

/// Whether tools are what an event is about, as far as anybody knows.
pub(super) fn is_about_tool(event: &str) -> bool {
    let Some(spec) = crate::event::spec(event) else { return true };
    spec.subject.is_some_and(|it| it.starts_with("/tool")) || ["Tool", "Permission"].iter().any(|it| event.contains(it))
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
