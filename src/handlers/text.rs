//! The texts within a JSON value: to look through, to rewrite, to hash.

use super::error::HandlerError;
use serde_json::{Map, Value};

/// All texts of a value that are looked through, in bytes.
const MOST: usize = 16 * 1024 * 1024;
/// What takes longer than answering other events may wait for, in bytes.
const LARGE: usize = 128 * 1024;

/// Looks through a value whose size is bounded; beside the threads that answer other events, if it
/// is large.
pub(super) async fn look_through<T: Send + 'static>(
    value: &Value,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HandlerError> {
    let mut bytes = 0;
    each(value, &mut |text| bytes += text.len());
    match bytes {
        0..LARGE => Ok(work()),
        LARGE..=MOST => tokio::task::spawn_blocking(work)
            .await
            .map_err(|_| HandlerError("look through the texts: the work was cut off".into())),
        _ => Err(HandlerError(format!("look through {bytes} bytes of text: the most is {MOST}"))),
    }
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

/// The value with texts replaced, or `None` if none was. `change` gets each text with the key that
/// it stands under; keys stay as they are.
pub(super) fn rewrite(
    value: &Value,
    under: Option<&str>,
    change: &mut impl FnMut(Option<&str>, &str) -> Option<String>,
) -> Option<Value> {
    match value {
        Value::String(text) => change(under, text).map(Value::String),
        Value::Array(items) => {
            let changed: Vec<_> = items.iter().map(|item| rewrite(item, under, change)).collect();
            changed.iter().any(Option::is_some).then(|| {
                items.iter().zip(changed).map(|(item, changed)| changed.unwrap_or_else(|| item.clone())).collect()
            })
        }
        Value::Object(members) => {
            let changed: Vec<_> = members.iter().map(|(key, value)| rewrite(value, Some(key), change)).collect();
            changed.iter().any(Option::is_some).then(|| {
                let pairs = members.iter().zip(changed);
                let pairs =
                    pairs.map(|((key, value), changed)| (key.clone(), changed.unwrap_or_else(|| value.clone())));
                Value::Object(pairs.collect::<Map<_, _>>())
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
