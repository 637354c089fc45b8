//! What a hook says beside the value, in texts of any kind: it goes through the guards that redact
//! the value.

use super::error::HandlerError;
use super::text::{self, Abandoned};
use hookwire_base::verdict::Answer;
use serde_json::{Value, json};
use std::sync::Arc;

/// Takes out of a value what must not pass; `None` if nothing of it is in there.
pub type Redactor = Arc<dyn Fn(&Value, &Abandoned) -> Option<Value> + Send + Sync>;

/// An answer, or an error, of which the redactors have taken out what must not pass.
///
/// # Errors
/// The handler's own; or it says too much to be looked through.
pub async fn redact(
    redactors: Vec<Redactor>,
    result: Result<Answer, HandlerError>,
) -> Result<Answer, HandlerError> {
    if redactors.is_empty() {
        return result;
    }
    let mut answer = match result {
        Ok(answer) => answer,
        Err(HandlerError(error)) => {
            let error = redact_value(redactors, error.into()).await?;
            return Err(HandlerError(error.as_str().unwrap_or_default().to_string()));
        }
    };
    let Answer {
        reason,
        stop,
        user_messages,
        additional_context,
        context,
        remarks,
        signals,
        said,
        ..
    } = &mut answer;
    let messages: Vec<_> = signals
        .iter()
        .map(|signal| (&signal.message, &signal.source, &signal.context))
        .collect();
    // No keys: what a text stands under here says nothing about it.
    let all = json!([
        reason,
        stop,
        user_messages,
        additional_context,
        remarks,
        context,
        said,
        messages
    ]);
    let [
        new_reason,
        new_stop,
        new_messages,
        new_additional,
        new_remarks,
        new_context,
        new_said,
        new_signals,
    ] = <[Value; 8]>::try_from(items(redact_value(redactors, all).await?)).unwrap_or_default();
    (*reason, *stop) = (text(new_reason), text(new_stop));
    for (texts, new) in [
        (user_messages, new_messages),
        (additional_context, new_additional),
        (remarks, new_remarks),
    ] {
        *texts = items(new).into_iter().filter_map(text).collect();
    }
    (*context, *said) = (
        context.is_some().then_some(new_context),
        said.is_some().then_some(new_said),
    );
    for (signal, new) in signals.iter_mut().zip(items(new_signals)) {
        if let Ok([message, source, context]) = <[Value; 3]>::try_from(items(new)) {
            (signal.message, signal.source) = (text(message).unwrap_or_default(), text(source));
            signal.context = match context {
                Value::Object(members) => members,
                _ => serde_json::Map::new(),
            };
        }
    }
    Ok(answer)
}

/// The steps of a run of which the redactors have taken out what must not pass; none if they are
/// too large to be looked through.
pub async fn redact_steps(redactors: Vec<Redactor>, steps: Vec<Value>) -> Vec<Value> {
    redact_value(redactors, Value::Array(steps))
        .await
        .map(items)
        .unwrap_or_default()
}

/// A value of which the redactors have taken out what must not pass.
///
/// # Errors
/// It is too large to be looked through.
async fn redact_value(redactors: Vec<Redactor>, value: Value) -> Result<Value, HandlerError> {
    if redactors.is_empty() {
        return Ok(value);
    }
    let shared = Arc::new(value);
    let work = shared.clone();
    let redacted = text::look_through(&shared, move |abandoned| {
        redactors.iter().fold(None, |redacted, redactor| {
            redactor(redacted.as_ref().unwrap_or(&work), abandoned).or(redacted)
        })
    });
    let redacted = redacted.await?;
    Ok(redacted.unwrap_or_else(|| Arc::unwrap_or_clone(shared)))
}

fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}
