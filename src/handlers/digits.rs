//! The digits of numbers that have been through JavaScript. It knows floats of 64 bits only: whole numbers beyond
//! 2^53 come back rounded, even where a hook hasn't touched them.

use crate::event::Event;
use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// From here on not every whole number is a float.
const FIRST_ROUNDED: f64 = 9_007_199_254_740_992.0;

/// The numbers of an event that JavaScript rounds, by what it makes of them; `None` where several become one.
type Rounded<'e> = BTreeMap<u64, Option<&'e Number>>;

/// Reads a reply from JavaScript: a number that an event's number was rounded to is that number.
///
/// # Errors
/// The reply isn't JSON, or it can't be told which number was meant.
pub(super) fn read(text: &str, event: &Event) -> Result<Value, String> {
    let mut reply = crate::support::json::parse_rounded(text).map_err(|error| error.to_string())?;
    if !has_rounded(&reply) {
        return Ok(reply);
    }
    let mut numbers = Rounded::new();
    collect(&event.data, &mut numbers);
    match &mut reply {
        Value::Object(members) => {
            for (key, value) in members {
                let before = match key.as_str() {
                    "subject" | "patch" => event.subject(),
                    _ => None,
                };
                restore(value, before, &numbers)?;
            }
        }
        other => restore(other, None, &numbers)?,
    }
    Ok(reply)
}

/// The bits that tell a rounded number from others.
fn rounded(number: &Number) -> Option<u64> {
    number.as_f64().filter(|it| it.abs() >= FIRST_ROUNDED).map(f64::to_bits)
}

/// As deep as JSON may be; so are the others.
fn has_rounded(value: &Value) -> bool {
    match value {
        Value::Number(number) => rounded(number).is_some(),
        Value::Array(items) => items.iter().any(has_rounded),
        Value::Object(members) => members.values().any(has_rounded),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn collect<'e>(value: &'e Value, numbers: &mut Rounded<'e>) {
    match value {
        Value::Number(number) => {
            if let Some(bits) = rounded(number) {
                let known = numbers.entry(bits).or_insert(Some(number));
                *known = known.filter(|known| *known == number);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, numbers)),
        Value::Object(members) => members.values().for_each(|value| collect(value, numbers)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// `before`: what was in the place of the value.
fn restore(value: &mut Value, before: Option<&Value>, numbers: &Rounded<'_>) -> Result<(), String> {
    match value {
        Value::Number(number) => {
            let Some(bits) = rounded(number) else { return Ok(()) };
            let same = before.and_then(Value::as_number).filter(|before| rounded(before) == Some(bits));
            match (same, numbers.get(&bits).copied()) {
                (Some(whole), _) | (None, Some(Some(whole))) => *number = whole.clone(),
                (None, Some(None)) => {
                    return Err(format!("several numbers of the event are {number} in JavaScript; give texts instead"));
                }
                (None, None) => {}
            }
            Ok(())
        }
        Value::Array(items) => {
            items.iter_mut().enumerate().try_for_each(|(n, it)| restore(it, before.and_then(|it| it.get(n)), numbers))
        }
        Value::Object(members) => {
            members.iter_mut().try_for_each(|(key, it)| restore(it, before.and_then(|it| it.get(key)), numbers))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn untouched_numbers_have_all_their_digits() {
        const ID: u64 = 1_234_567_890_123_456_789;
        let event = Event::from_json(json!({
            "event": "PreToolUse", "tool": {"name": "pay", "input":
                {"id": ID, "max": u64::MAX, "min": i64::MIN, "a": [ID + 300, 1, 0.1], "b": ID + 301}},
        }))
        .unwrap();
        for (reply, expected) in [
            // As JavaScript writes them.
            (
                r#"{"subject":{"id":1234567890123456800,"max":18446744073709552000,"min":-9223372036854776000,"n":5}}"#,
                Some(json!({"subject": {"id": ID, "max": u64::MAX, "min": i64::MIN, "n": 5}})),
            ),
            // In another place.
            (r#"{"patch":{"copy":1234567890123456800}}"#, Some(json!({"patch": {"copy": ID}}))),
            (
                r#"{"context":{"metadata":{"id":1234567890123456800}}}"#,
                Some(json!({"context": {"metadata": {"id": ID}}})),
            ),
            (r#"{"modified_input":{"id":1234567890123456800}}"#, Some(json!({"modified_input": {"id": ID}}))),
            // Another number.
            (
                r#"{"subject":{"id":1234567890123460000}}"#,
                Some(json!({"subject": {"id": 1_234_567_890_123_460_000_u64}})),
            ),
            (r#"{"subject":{"id":1e+25}}"#, Some(json!({"subject": {"id": 1e25}}))),
            // Two numbers are one to JavaScript: the place tells them apart, and nothing else does.
            (r#"{"subject":{"a":[1234567890123457000]}}"#, Some(json!({"subject": {"a": [ID + 300]}}))),
            (r#"{"subject":{"b":1234567890123457000}}"#, Some(json!({"subject": {"b": ID + 301}}))),
            (r#"{"subject":{"c":1234567890123457000}}"#, None),
        ] {
            assert_eq!(read(reply, &event).ok(), expected, "{reply}");
        }
    }
}
