//! What events say about model calls, and what the agent itself has counted.

use super::super::call::Call;
use super::super::error::HandlerError;
use hookwire_base::event::{Event, Phase};
use hookwire_base::support::json::whole;
use hookwire_rules::contract::Tally;
use serde_json::Value;

/// The agent's own counts of the run, if its system has them.
pub(super) fn tally(call: &Call<'_>) -> Option<Tally> {
    call.hook
        .contract
        .tally
        .map(|tally| tally(call.moment.event()))
}

/// The name of the model that an event is about, wherever its agent says it.
pub(super) fn model_name(event: &Event) -> Option<&str> {
    [
        "/model/name",
        "/model/response/model",
        "/model/request/model",
    ]
    .into_iter()
    .find_map(|at| event.text(at))
}

/// The tokens of a model call: input and output.
pub(super) fn usage(event: &Event) -> Result<(u64, u64), HandlerError> {
    let usage = event.at("/model/usage");
    let tokens = |key: &str| match usage.and_then(|usage| usage.get(key)) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => whole(value).map(Some).ok_or_else(|| {
            HandlerError(format!(
                "count tokens: model.usage.{key} of {} is not a whole number",
                event.name
            ))
        }),
    };
    match (tokens("inputTokens")?, tokens("outputTokens")?) {
        (None, None) => Err(HandlerError(format!(
            "count tokens: {} has no model.usage with inputTokens and outputTokens",
            event.name
        ))),
        (input, output) => Ok((input.unwrap_or_default(), output.unwrap_or_default())),
    }
}

/// Whether an event says how many tokens a model call used.
pub(super) fn tells_usage(event: &Event) -> bool {
    &*event.name == "PostModelCall"
        || event.spec.phase == Phase::After && event.at("/model/usage").is_some()
}
