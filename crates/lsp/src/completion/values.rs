//! Values: what the schema lists, events, tools, agents.

use super::super::docs::{self, Kind};
use super::super::texts::{self, TextKind};
use super::about::about_event;
use super::snippet::{inline_value, with_stops, without_stops};
use super::writer::{Item, Seen, Writer, is_word};
use hookwire_base::event::{EVENTS, may_be_about_a_tool};
use hookwire_base::syntax::formats::Format;
use hookwire_base::syntax::node::Step;
use hookwire_base::syntax::node::{Node, NodeValue};
use hookwire_dialects::{self as dialects, DIALECTS};
use hookwire_handlers::handlers::guards::GUARDS;
use hookwire_rules::contract::Target;
use ls_types::CompletionItemKind as ItemKind;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Writer<'_> {
    pub(super) fn value_items(&self, seen: &Seen) -> Vec<Item> {
        match texts::kind_at(self.here) {
            Some(TextKind::Event) => return self.events(),
            Some(TextKind::Matcher) => return self.matcher_items(seen),
            Some(TextKind::Rule) => return self.rule_items(seen),
            Some(TextKind::Agent) => return self.agent_items(seen),
            Some(TextKind::Condition) => return self.complete_expression(seen),
            Some(TextKind::Dialect) => return self.dialects(),
            _ => {}
        }
        if !self.here.path_in_hook().is_empty()
            && let Some(items) = self.placeholder_items(seen)
        {
            return items;
        }
        let docs = docs::FILE.docs_at(&self.here.path);
        let there: Vec<&str> = self.reading.neighbours().collect();
        let choices = docs.choices();
        let choices = choices.iter().filter(|choice| {
            choice
                .value
                .as_str()
                .is_none_or(|value| !there.contains(&value))
        });
        let mut items: Vec<Item> = choices
            .filter_map(|choice| {
                let (label, is_text) = match choice.value {
                    Value::String(text) => (text.clone(), true),
                    other => (other.to_string(), false),
                };
                let about = choice.about.map(str::to_string).unwrap_or_default();
                let item = Item {
                    kind: Some(ItemKind::ENUM_MEMBER),
                    about,
                    ..Item::default()
                };
                if is_text {
                    self.value_item(&label, item)
                } else {
                    self.literal_item(&label, item)
                }
            })
            .collect();
        if docs.is_tagged() {
            items.extend(self.tagged_items(&docs));
        }
        if self.format != Format::Yaml && docs.is_only(Kind::Map) && self.reading.quote.is_none() {
            let text = inline_value(&docs, self.format);
            let text = if self.snippets {
                with_stops(&text)
            } else {
                without_stops(&text)
            };
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
        let of_product = docs::FILE.docs_at(&[Step::Key("dialect")]).choices();
        let dialects = of_product
            .iter()
            .filter_map(|it| dialects::by_name(it.value.as_str()?).ok());
        dialects
            .filter_map(|dialect| {
                let item = Item {
                    kind: Some(ItemKind::MODULE),
                    about: dialect.about.into(),
                    ..Item::default()
                };
                self.value_item(dialect.name(), item)
            })
            .collect()
    }

    fn events(&self) -> Vec<Item> {
        let guard = self
            .here
            .hook
            .and_then(|hook| hook.get("guard"))
            .and_then(guard_name);
        let guard = guard.and_then(|name| GUARDS.iter().find(|row| row.name == name));
        let own = self.here.dialect;
        let of_own = own.events.iter().filter(|_| own.name() != dialects::NATIVE);
        let of_own = of_own.flat_map(|row| {
            let all = std::iter::once(row.name).chain(row.also.iter().copied());
            all.map(|name| (name, row.meant(), Some(own.name())))
        });
        let native = EVENTS.iter().map(|spec| (spec.name, spec.name, None));
        let mut names: Vec<(&str, &str, Option<&str>)> = of_own.chain(native).collect();
        names.sort_by_key(|(_, canonical, dialect)| {
            (
                dialect.is_none(),
                COMMON
                    .iter()
                    .position(|it| it == canonical)
                    .unwrap_or(COMMON.len()),
            )
        });
        if let Some(guard) = guard {
            names.sort_by_key(|(_, canonical, _)| {
                hookwire_base::event::spec(canonical).is_none_or(|it| !(guard.acts_at)(it))
            });
        }
        let others = DIALECTS
            .iter()
            .filter(|dialect| dialect.name() != own.name() && dialect.name() != "sample");
        for dialect in others {
            for row in dialect.events {
                let all = std::iter::once(row.name).chain(row.also.iter().copied());
                names.extend(all.map(|name| (name, row.meant(), Some(dialect.name()))));
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
                // Editors sort by how well the start of this fits before they sort by rank.
                filter: dialect
                    .filter(|dialect| *dialect != own.name())
                    .map(|dialect| format!("{dialect} {name}")),
                ..Item::default()
            };
            items.extend(self.value_item(name, item));
        }
        let every = Item {
            kind: Some(ItemKind::EVENT),
            about: "every event".into(),
            ..Item::default()
        };
        if self.here.path.last() == Some(&Step::Key("on")) {
            items.extend(self.value_item("*", every));
        }
        items
    }

    fn matcher_items(&self, seen: &Seen) -> Vec<Item> {
        let contract = &self.here.dialect.contract;
        let events = self.here.events();
        let targets: Vec<(Option<Arc<str>>, Target)> = match &events {
            Some(events) => events
                .iter()
                .map(|event| (Some(event.clone()), (contract.matched)(event)))
                .collect(),
            None => vec![(None, (contract.matched)("PreToolUse"))],
        };
        let mut names: Vec<(String, Option<&str>)> = Vec::new();
        for (event, target) in &targets {
            match target {
                Target::Nothing => {}
                Target::Member(_)
                    if target.is_tool()
                        && event
                            .as_ref()
                            .is_some_and(|event| !may_be_about_a_tool(event)) => {}
                Target::Member(_) if target.is_tool() => {
                    let tools = seen.tool_names().into_iter();
                    names.extend(
                        tools.map(|(name, is_called)| (name, is_called.then_some("called"))),
                    );
                }
                Target::Member(pointer) => {
                    let of_event = seen
                        .events
                        .iter()
                        .filter(|it| event.as_ref().is_none_or(|name| *name == it.name));
                    let texts = of_event
                        .filter_map(|of_event| of_event.text(pointer))
                        .filter(|text| is_word(text));
                    names.extend(texts.map(|text| (text.to_string(), Some("seen"))));
                }
                Target::Texts(texts) => {
                    let of_event = seen
                        .events
                        .iter()
                        .filter(|it| event.as_ref().is_none_or(|name| *name == it.name));
                    let texts = of_event
                        .flat_map(|of_event| texts(of_event))
                        .filter(|text| is_word(text));
                    names.extend(texts.map(|text| (text, Some("seen"))));
                }
            }
        }
        if contract.matcher_names_events {
            names.extend(
                self.here
                    .dialect
                    .events
                    .iter()
                    .map(|row| (row.name.to_string(), None)),
            );
        }
        // One of several: `Write|Ed`.
        let typed = &self.reading.typed;
        let part = typed.rfind(['|', ',', '(']).map_or(0, |at| at + 1);
        let part = typed.get(part..).unwrap_or_default().trim_start();
        let rest = self
            .reading
            .rest
            .split(['|', ',', ')'])
            .next()
            .unwrap_or_default();
        let mut told = BTreeSet::new();
        names
            .into_iter()
            .filter_map(|(name, origin)| {
                if !told.insert(name.clone()) {
                    return None;
                }
                let is_name = name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | '/'));
                let pattern = if is_name {
                    name.clone()
                } else {
                    regex::escape(&name)
                };
                let item = Item {
                    kind: Some(ItemKind::FUNCTION),
                    origin: origin.map(str::to_string),
                    ..Item::default()
                };
                let is_whole = part.len() == typed.len() && rest.len() == self.reading.rest.len();
                if is_whole {
                    return self
                        .value_item(
                            &pattern,
                            Item {
                                filter: Some(name.clone()),
                                ..item
                            },
                        )
                        .map(|item| Item {
                            label: name,
                            ..item
                        });
                }
                let span = self.word_span(part, rest)?;
                Some(Item {
                    text: self.inner_text(&pattern)?,
                    label: name,
                    span,
                    ..item
                })
            })
            .collect()
    }

    fn agent_items(&self, seen: &Seen) -> Vec<Item> {
        let names: BTreeSet<&str> = seen
            .events
            .iter()
            .filter_map(|event| event.text("/agent/name"))
            .filter(|it| is_word(it))
            .collect();
        let there: Vec<&str> = self.reading.neighbours().collect();
        names
            .iter()
            .filter(|name| !there.contains(name))
            .filter_map(|name| {
                self.value_item(
                    name,
                    Item {
                        kind: Some(ItemKind::VALUE),
                        origin: Some("seen".into()),
                        ..Item::default()
                    },
                )
            })
            .collect()
    }
}

/// The events that most hooks are for, the commonest first.
const COMMON: [&str; 10] = [
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "Stop",
    "SessionStart",
    "PermissionRequest",
    "PostToolUseFailure",
    "SubagentStop",
    "SessionEnd",
    "PreCompact",
];

pub(super) fn guard_name(guard: &Node) -> Option<&str> {
    match &guard.value {
        NodeValue::String(name) => Some(name),
        NodeValue::Map(entries) => entries.first().map(|entry| entry.key.as_str()),
        _ => None,
    }
}
