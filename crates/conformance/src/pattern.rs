//! Whether a message is as expected. Only the members that the pattern has are compared.

use crate::make_safe;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// What the texts that are `$` and a name stand for.
pub(crate) struct Variables(HashMap<String, Value>);

/// The most characters of a value that are shown.
const MAX_BRIEF: usize = 240;
const ANY: &str = "$any";
const ABSENT: &str = "$absent";

impl Variables {
    pub(crate) fn new() -> Variables {
        Variables(HashMap::from([(
            "$long".into(),
            "x".repeat(1_000_000).into(),
        )]))
    }

    /// What is to be sent, with values in the place of variables.
    pub(crate) fn fill_template(&self, template: &Value) -> Value {
        match template {
            Value::String(text) => self.0.get(text).unwrap_or(template).clone(),
            Value::Array(items) => items.iter().map(|item| self.fill_template(item)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| (key.clone(), self.fill_template(value)))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
        }
    }

    /// What is wrong with a value, and where.
    pub(crate) fn find_mismatch(
        &mut self,
        pattern: &Value,
        value: &Value,
        place: &str,
    ) -> Option<String> {
        match (pattern, value) {
            (Value::String(text), _) if text == ANY => None,
            (Value::String(text), _) if is_variable(text) => match self.0.get(text) {
                Some(known) if known == value => None,
                Some(known) => Some(describe_difference(place, known, value)),
                None => {
                    self.0.insert(text.clone(), value.clone());
                    None
                }
            },
            (Value::Object(members), Value::Object(found)) => {
                members.iter().find_map(|(key, pattern)| {
                    let place = format!("{place}/{key}");
                    match found.get(key) {
                        None if pattern == ABSENT => None,
                        None => Some(format!("{place} is missing")),
                        Some(value) if pattern == ABSENT => Some(format!(
                            "{place} is {}, but must be absent",
                            shorten_value(value)
                        )),
                        Some(value) => self.find_mismatch(pattern, value, &place),
                    }
                })
            }
            (Value::Array(items), Value::Array(found)) => {
                if items.len() != found.len() {
                    return Some(format!(
                        "{place} has {} items and not {}",
                        found.len(),
                        items.len()
                    ));
                }
                let pairs = items.iter().zip(found).enumerate();
                pairs.into_iter().find_map(|(n, (item, found))| {
                    self.find_mismatch(item, found, &format!("{place}/{n}"))
                })
            }
            _ if pattern == value => None,
            _ => Some(describe_difference(place, pattern, value)),
        }
    }
}

/// What was received, as a pattern: what the given pattern says stays as it is; words of the
/// protocol are kept, other texts and numbers may differ the next time.
pub(crate) fn record_pattern(pattern: Option<&Value>, value: &Value, key: &str) -> Value {
    match (pattern, value) {
        (Some(Value::Object(_)) | None, Value::Object(members)) => {
            let pattern = pattern.and_then(Value::as_object);
            let absent = pattern
                .into_iter()
                .flatten()
                .filter(|(key, _)| !members.contains_key(*key));
            let absent = absent.map(|(key, value)| (key.clone(), value.clone()));
            members
                .iter()
                .map(|(key, value)| {
                    (
                        key.clone(),
                        record_pattern(pattern.and_then(|pattern| pattern.get(key)), value, key),
                    )
                })
                .chain(absent)
                .collect::<Map<_, _>>()
                .into()
        }
        (None, Value::Array(_)) if OPEN.contains(&key) => ANY.into(),
        (Some(Value::Array(_)) | None, Value::Array(items)) => {
            let patterns = pattern.and_then(Value::as_array);
            items
                .iter()
                .enumerate()
                .map(|(n, item)| {
                    record_pattern(patterns.and_then(|patterns| patterns.get(n)), item, key)
                })
                .collect()
        }
        (Some(pattern), _) => pattern.clone(),
        (None, Value::String(_) | Value::Number(_)) if !WORDS.contains(&key) => ANY.into(),
        (None, _) => value.clone(),
    }
}

/// Members whose value is a word of the protocol or a name that the case gave.
const WORDS: &[&str] = &[
    "jsonrpc",
    "code",
    "decision",
    "status",
    "decidedBy",
    "hook",
    "event",
    "phase",
    "fail",
    "severity",
    "set",
];
/// Lists to which a later host may add.
const OPEN: &[&str] = &["diagnostics", "dialects", "handlers"];

fn is_variable(text: &str) -> bool {
    text.strip_prefix('$').is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn describe_difference(place: &str, expected: &Value, found: &Value) -> String {
    format!(
        "{place} is {} and not {}",
        shorten_value(found),
        shorten_value(expected)
    )
}

/// A value, at most a line of it.
pub(crate) fn shorten_value(value: &Value) -> String {
    let text = make_safe(&value.to_string());
    match text.char_indices().nth(MAX_BRIEF) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pattern_says_what_is_wrong_and_where() {
        for (pattern, value, expected) in [
            (json!({"a": 1}), json!({"a": 1, "b": 2}), ""),
            (
                json!({"a": {"b": 1}}),
                json!({"a": {"b": 2}}),
                "/a/b is 2 and not 1",
            ),
            (json!({"a": "$any"}), json!({}), "/a is missing"),
            (
                json!({"a": "$absent"}),
                json!({"a": null}),
                "/a is null, but must be absent",
            ),
            (json!({"a": "$absent"}), json!({}), ""),
            (json!([1, "$x", "$x"]), json!([1, {}, {}]), ""),
            (json!(["$x", "$x"]), json!([1, 2]), "/1 is 2 and not 1"),
            (json!([]), json!([1]), " has 1 items and not 0"),
            (json!("$/a"), json!("$/b"), r#" is "$/b" and not "$/a""#),
            (json!(null), json!(false), " is false and not null"),
        ] {
            let found = Variables::new().find_mismatch(&pattern, &value, "");
            assert_eq!(found.unwrap_or_default(), expected, "{pattern} {value}");
        }
    }

    #[test]
    fn what_is_recorded_fits_what_it_was_recorded_from() {
        let pattern = json!({"id": 1, "result": {"reason": "no", "outcomes": [{"hook": "a"}], "subject": "$absent"}});
        let value = json!({"id": 1, "result": {"reason": "no", "decision": "deny", "eventId": "7",
            "outcomes": [{"hook": "a", "status": "blocking", "durationMicros": 3}]}});
        let expected = json!({"id": 1, "result": {"reason": "no", "decision": "deny", "eventId": "$any",
            "outcomes": [{"hook": "a", "status": "blocking", "durationMicros": "$any"}], "subject": "$absent"}});
        assert_eq!(record_pattern(Some(&pattern), &value, ""), expected);
        assert_eq!(Variables::new().find_mismatch(&expected, &value, ""), None);
    }
}
