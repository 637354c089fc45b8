//! What a worker asks of the store, and the replies.

use super::super::digits::{self, Handed, Language};
use super::worker::Asker;
use crate::services::state::{Scope, Store};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Number, Value, json};
use std::time::Duration;
use tokio::sync::mpsc;

/// Requests to the store whose replies wait until it is saved.
pub(super) const MAX_WAITING: usize = 1024;
/// Values that one `list` gives.
const MAX_LISTED: usize = 1000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoreRequest {
    op: Operation,
    /// For `list`, a prefix.
    #[serde(default)]
    key: String,
    #[serde(default)]
    scope: RequestScope,
    value: Option<Value>,
    expected: Option<Value>,
    by: Option<Number>,
    /// Seconds.
    ttl: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Operation {
    Get,
    Set,
    Increment,
    CompareAndSet,
    Delete,
    List,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum RequestScope {
    #[default]
    Session,
    Global,
}

/// A reply on its way to the worker.
pub(super) struct StoreReply {
    id: u64,
    result: Result<Value, String>,
    /// The store has changed and must be saved first.
    is_change: bool,
}

/// Does what a worker asks; `asker` is the call that asks, while it is in flight.
pub(super) fn perform(
    id: u64,
    request: &RawValue,
    language: Option<Language>,
    asker: Option<&Asker>,
    store: &Store,
) -> StoreReply {
    let mut is_change = false;
    let result = operate(request, language, asker, store, &mut is_change);
    StoreReply {
        id,
        result,
        is_change,
    }
}

fn operate(
    request: &RawValue,
    language: Option<Language>,
    asker: Option<&Asker>,
    store: &Store,
    is_change: &mut bool,
) -> Result<Value, String> {
    let unreadable =
        |error: &dyn std::fmt::Display| format!("read what is wanted of the store: {error}");
    let value =
        hookwire_base::support::json::parse(request.get()).map_err(|error| unreadable(&error))?;
    let request = StoreRequest::deserialize(value).map_err(|error| unreadable(&error))?;
    let scope = match request.scope {
        RequestScope::Global => Scope::Global,
        RequestScope::Session => Scope::Session(
            asker
                .ok_or("reach the session's values: the call is over")?
                .session
                .clone(),
        ),
    };
    let ttl = request.ttl.map(|seconds| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| format!("keep it for {seconds} seconds: not a duration"))
    });
    let (key, ttl) = (request.key.as_str(), ttl.transpose()?);
    let given = |value: Value| given(value, language, asker, || store.get(&scope, key));
    let value = given(request.value.unwrap_or_default())?;
    *is_change = !matches!(request.op, Operation::Get | Operation::List);
    let result = match request.op {
        Operation::Get => Ok(store.get(&scope, key).unwrap_or_default()),
        Operation::Set => store.set(&scope, key, value, ttl).map(|()| Value::Null),
        Operation::Increment => {
            let by = given(request.by.unwrap_or_else(|| 1.into()).into())?;
            let by = by.as_number().cloned().unwrap_or_else(|| 1.into());
            match asker {
                Some(asker) => store
                    .increment_once(&scope, key, &by, ttl, &asker.occasion)
                    .map(Value::Number),
                None => store.increment(&scope, key, &by, ttl).map(Value::Number),
            }
        }
        Operation::CompareAndSet => {
            let expected = request
                .expected
                .filter(|it| !it.is_null())
                .map(given)
                .transpose()?;
            store
                .compare_and_set(&scope, key, expected.as_ref(), value, ttl)
                .map(|(is_set, _)| is_set.into())
        }
        Operation::Delete => Ok(store.delete(&scope, key).into()),
        Operation::List => {
            let items = store.list(&scope, key, MAX_LISTED);
            Ok(Value::Object(
                items
                    .into_iter()
                    .map(|item| (item.key, item.value))
                    .collect(),
            ))
        }
    };
    let value = result.map_err(|error| error.to_string())?;
    if let Some(language) = language {
        // Nobody would know the digits of what is got outside of a call.
        let mut outside = Handed::outside_of_calls();
        match asker {
            Some(asker) => asker.handed.lock().add(language, &value)?,
            None => outside.add(language, &value)?,
        }
    }
    Ok(value)
}

/// A value as the worker means it, with all its digits.
fn given(
    mut value: Value,
    language: Option<Language>,
    asker: Option<&Asker>,
    before: impl FnOnce() -> Option<Value>,
) -> Result<Value, String> {
    let Some(language) = language.filter(|_| digits::has_number(&value)) else {
        return Ok(value);
    };
    let before = before();
    let restored = match asker {
        Some(asker) => digits::restore(
            &mut value,
            language,
            &asker.event,
            &asker.handed.lock(),
            before.as_ref(),
        ),
        None => digits::restore(
            &mut value,
            language,
            b"",
            &Handed::default(),
            before.as_ref(),
        ),
    };
    restored.map_err(|error| format!("read the value: {error}"))?;
    Ok(value)
}

/// Sends replies to the worker, in order; after a change, once it is saved.
pub(super) async fn send_replies(
    store: &Store,
    mut replies: mpsc::Receiver<StoreReply>,
    lines: &mpsc::Sender<Bytes>,
) {
    while let Some(first) = replies.recv().await {
        let mut batch = vec![first];
        while batch.len() < MAX_WAITING
            && let Ok(next) = replies.try_recv()
        {
            batch.push(next);
        }
        let saved = if batch.iter().any(|it| it.is_change) {
            store.saved().await
        } else {
            Ok(())
        };
        for StoreReply {
            id,
            result,
            is_change,
        } in batch
        {
            let result = match (&saved, result) {
                (Err(error), Ok(_)) if is_change => Err(error.to_string()),
                (_, result) => result,
            };
            let reply = match result {
                Ok(value) => json!({"id": id, "value": value}),
                Err(error) => json!({"id": id, "error": format!("failed to {error}")}),
            };
            // An error means that the worker has ended.
            let _ = lines.send(format!("{reply}\n").into()).await;
        }
    }
}
