//! Paths into events, and what was there.

use super::super::docs;
use super::super::plain_text::{clip_value, code_span};
use super::writer::{Item, MAX_WORD};
use hookwire_base::event::Event;
use hookwire_base::syntax::node::Span;
use ls_types::CompletionItemKind as ItemKind;
use serde_json::Value;
use std::collections::BTreeSet;

/// Paths that are taken from events.
pub(super) const MAX_PATHS: usize = 300;
/// How deep they go.
const MAX_PATH_DEPTH: usize = 8;

/// A path into an event with what was there.
pub(super) fn path_item(path: &str, value: &Value, span: &Span) -> Item {
    Item {
        origin: Some("seen".into()),
        ..Item::named(ItemKind::FIELD, path, sample_markdown(value), span)
    }
}

/// A value from an event, as Markdown.
pub(super) fn sample_markdown(value: &Value) -> String {
    if value.is_null() || value == "" {
        return String::new();
    }
    format!("last: {}", code_span(&clip_value(value)))
}

/// The paths into events with the newest value of each; the first item stands for a list.
pub(super) fn event_paths<'v>(events: &[&'v Event]) -> Vec<(String, &'v Value)> {
    let mut found = Vec::new();
    let mut told = BTreeSet::new();
    for event in events {
        flatten_paths(event.data(), "", 0, &mut found, &mut told);
    }
    found
}

fn flatten_paths<'v>(
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
        let path = if path.is_empty() {
            key.to_string()
        } else {
            format!("{path}.{key}")
        };
        if told.insert(path.clone()) {
            found.push((path.clone(), value));
        }
        flatten_paths(value, &path, depth + 1, found, told);
    };
    match value {
        Value::Object(members) => members
            .iter()
            .take(MAX_PATHS)
            .for_each(|(key, value)| member(key, value)),
        Value::Array(items) => items.iter().take(1).for_each(|item| member("0", item)),
        _ => {}
    }
}

/// The paths that an event may have by the schema, with their descriptions, for when no event was
/// seen.
pub(super) fn schema_paths() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for member in docs::EVENT.docs_at(&[]).members() {
        found.push((member.name.to_string(), member.docs.text()));
        for inner in member.docs.members() {
            found.push((format!("{}.{}", member.name, inner.name), inner.docs.text()));
        }
    }
    found
}

/// The value at a dotted path.
pub(in super::super) fn at_path<'v>(data: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(data, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}
