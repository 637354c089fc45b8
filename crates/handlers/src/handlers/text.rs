//! The texts within a JSON value: to look through, to rewrite, to hash.

use super::error::HandlerError;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// All texts of a value that are looked through, in bytes.
pub(super) const MOST: usize = 16 * 1024 * 1024;
/// What takes longer than answering other events may wait for, in bytes.
const LARGE: usize = 128 * 1024;
/// The time that a value takes whatever is in it, as bytes of a text that take as long.
const EACH_VALUE: usize = 64;

/// All texts of a value, in bytes.
pub(super) fn size(value: &Value) -> usize {
    let mut bytes = 0;
    each(value, &mut |text| bytes += text.len());
    bytes
}

/// Tells work that nobody waits for its result any more.
#[derive(Clone, Default)]
pub struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Abandons the work when it is dropped.
struct Waiting(Abandoned);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Looks through a value whose size is bounded; beside the threads that answer other events, if it
/// is large or has many members. The work looks at times whether it is abandoned, and may then
/// return anything.
pub(super) async fn look_through<T: Send + 'static>(
    value: &Value,
    work: impl FnOnce(&Abandoned) -> T + Send + 'static,
) -> Result<T, HandlerError> {
    let bytes = size(value);
    if bytes > MOST {
        return Err(HandlerError(format!(
            "look through {bytes} bytes of text: the most is {MOST}"
        )));
    }
    let abandoned = Abandoned::default();
    if bytes + EACH_VALUE * count(value, LARGE / EACH_VALUE) < LARGE {
        return Ok(work(&abandoned));
    }
    let _waiting = Waiting(abandoned.clone());
    tokio::task::spawn_blocking(move || work(&abandoned))
        .await
        .map_err(|_| HandlerError("look through the texts: the work was cut off".into()))
}

/// How many values are in one, itself included, as far as they are counted.
fn count(value: &Value, most: usize) -> usize {
    let mut inner: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(members) => Box::new(members.values()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => return 1,
    };
    let mut n = 1;
    while n < most
        && let Some(value) = inner.next()
    {
        n += count(value, most - n);
    }
    n
}

/// Visits every text of a value, keys included. As deep as JSON may be.
pub(super) fn each<'v>(value: &'v Value, visit: &mut impl FnMut(&'v str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each(item, visit)),
        Value::Object(members) => {
            for (key, value) in members {
                visit(key);
                each(value, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Where a text of a value stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'v> {
    /// It is a value, under the nearest key that says what it is, if there is one.
    Value(Option<&'v str>),
    /// It is a key.
    Key,
}

/// The value with texts replaced, or `None` if none was.
pub(super) fn rewrite(
    value: &Value,
    change: &mut impl FnMut(Place<'_>, &str) -> Option<String>,
) -> Option<Value> {
    rewrite_under(None, value, change)
}

/// As deep as JSON may be.
fn rewrite_under(
    under: Option<&str>,
    value: &Value,
    change: &mut impl FnMut(Place<'_>, &str) -> Option<String>,
) -> Option<Value> {
    match value {
        Value::String(text) => change(Place::Value(under), text).map(Value::String),
        Value::Array(items) => {
            let changed: Vec<_> = items
                .iter()
                .map(|item| rewrite_under(under, item, change))
                .collect();
            changed.iter().any(Option::is_some).then(|| {
                items
                    .iter()
                    .zip(changed)
                    .map(|(item, changed)| changed.unwrap_or_else(|| item.clone()))
                    .collect()
            })
        }
        Value::Object(members) => {
            let one = |(key, value): (&String, &Value)| {
                (
                    change(Place::Key, key),
                    rewrite_under(named(under, members, key), value, change),
                )
            };
            let changed: Vec<_> = members.iter().map(one).collect();
            let is_changed = changed
                .iter()
                .any(|(key, value)| key.is_some() || value.is_some());
            is_changed.then(|| Value::Object(renamed(members, changed)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// What a member is called: the key, or for the value of something what that is called.
fn named<'v>(
    under: Option<&'v str>,
    members: &'v Map<String, Value>,
    key: &'v str,
) -> Option<&'v str> {
    const VALUES: [&str; 6] = ["value", "plain", "plaintext", "raw", "#text", "_text"];
    const NAMES: [&str; 4] = ["name", "key", "Name", "Key"];
    if !VALUES.iter().any(|it| it.eq_ignore_ascii_case(key)) {
        return Some(key);
    }
    NAMES
        .iter()
        .find_map(|name| members.get(*name)?.as_str())
        .or(under)
        .or(Some(key))
}

/// The members with what has changed of them. No two get the same key: a number behind it tells
/// them apart.
fn renamed(
    members: &Map<String, Value>,
    changed: Vec<(Option<String>, Option<Value>)>,
) -> Map<String, Value> {
    let mut all = Map::new();
    // It only goes up, so that many equal keys take no more time than as many others.
    let mut number = 1;
    for ((key, value), (new_key, new_value)) in members.iter().zip(changed) {
        let new_key = match new_key {
            None => key.clone(),
            Some(name) => {
                let mut free = name.clone();
                while members.contains_key(&free) || all.contains_key(&free) {
                    number += 1;
                    free = format!("{name} {number}");
                }
                free
            }
        };
        all.insert(new_key, new_value.unwrap_or_else(|| value.clone()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn many_small_members_are_looked_through_beside_and_not_for_nobody() {
        for (value, is_beside) in [
            (json!("x".repeat(LARGE / 2)), false),
            (json!(vec![0; 1_000]), false),
            (json!("x".repeat(LARGE)), true),
            (json!(vec![""; 10_000]), true),
            (json!(vec![json!({"a": 1}); 5_000]), true),
        ] {
            let (told, abandoned) = std::sync::mpsc::channel();
            let here = std::thread::current().id();
            let work = look_through(&value, move |abandoned| {
                let is_beside = std::thread::current().id() != here;
                while is_beside && !abandoned.is_set() {
                    std::thread::yield_now();
                }
                told.send(is_beside).unwrap();
            });
            let result = futures_util::FutureExt::now_or_never(work);
            assert_eq!(
                (result.is_none(), abandoned.recv().unwrap()),
                (is_beside, is_beside)
            );
        }
    }

    #[test]
    fn keys_are_rewritten_and_no_member_is_lost() {
        let value = json!({"a1": 1, "a2": {"a3": "a4"}, "x": 2, "x 2": [3, "a5"], "b": 4});
        let rewritten = rewrite(&value, &mut |_, text| {
            text.starts_with('a').then(|| "x".to_string())
        });
        assert_eq!(
            rewritten,
            Some(json!({"x 3": 1, "x 4": {"x": "x"}, "x": 2, "x 2": [3, "x"], "b": 4}))
        );
        let values = rewrite(&value, &mut |place, _| {
            matches!(place, Place::Value(Some("x 2"))).then(|| "y".into())
        });
        assert_eq!(
            values,
            Some(json!({"a1": 1, "a2": {"a3": "a4"}, "x": 2, "x 2": [3, "y"], "b": 4}))
        );
        assert_eq!(rewrite(&value, &mut |_, _| None), None);
    }
}
