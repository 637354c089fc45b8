//! Conditions in CEL.

use super::super::context::Step;
use super::super::docs;
use super::paths::{MAX_PATHS, at_path, path_item, paths, shape};
use super::{Item, STOP, Seen, Writer, is_identifier, is_name_char, is_word, with_stops};
use crate::definitions::node::Span;
use crate::event::Event;
use crate::matching::tools::TOOLS;
use crate::matching::when::MEMBERS;
use ls_types::CompletionItemKind as ItemKind;
use serde_json::Value;
use std::collections::BTreeSet;

impl Writer<'_> {
    pub(super) fn expression(&self, seen: &Seen) -> Vec<Item> {
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
}

/// A function of CEL.
pub(super) struct Function {
    pub(super) name: &'static str,
    /// It is called on a value.
    pub(super) is_method: bool,
    pub(super) call: &'static str,
    about: &'static str,
    /// Whether it can be called on this.
    pub(super) fits: fn(&Value) -> bool,
}

const fn method(name: &'static str, call: &'static str, fits: fn(&Value) -> bool, about: &'static str) -> Function {
    Function { name, is_method: true, call, about, fits }
}

const fn global(name: &'static str, call: &'static str, about: &'static str) -> Function {
    Function { name, is_method: false, call, about, fits: |_| true }
}

/// What the CEL at hand understands.
pub(super) static FUNCTIONS: &[Function] = &[
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
