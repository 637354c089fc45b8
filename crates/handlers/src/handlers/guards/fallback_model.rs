//! `fallback-model`: decides on failed model calls: first the same model again, then the others in
//! turn, then no more.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::{Kind, TextKind};
use super::super::pattern::Pattern;
use super::guard_kind::GuardKind;
use hookwire_base::event::{Event, EventSpec};
use hookwire_base::support::amounts::millis;
use hookwire_base::syntax::values::RawDuration;
use hookwire_base::verdict::{Answer, Retry, RetryAction};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// Goes by `model.attempt`: how many attempts were made, other models' included.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "FallbackModelGuard")]
pub struct RawFallbackModel {
    /// The models to fall back to, one attempt each.
    #[serde(default)]
    models: Vec<String>,
    /// How often the same model is tried again first.
    #[serde(default)]
    retry: RawRetry,
    /// Only for errors that one of these regexes matches; about others it has no opinion.
    #[serde(default)]
    errors: Vec<Pattern>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RetrySettings")]
struct RawRetry {
    /// How often; 0 if not said.
    #[serde(default)]
    max: u64,
    /// How long to wait first, where the error doesn't say; 1 s if not said. Doubles each time.
    after: Option<RawDuration>,
    /// An error that asks for a longer wait than this is not waited for; 60 s if not said.
    longest: Option<RawDuration>,
}

#[derive(Debug)]
pub struct FallbackModel {
    models: Vec<String>,
    retries: u64,
    after: Duration,
    longest: Duration,
    errors: Vec<Pattern>,
}

impl GuardKind for FallbackModel {
    const EXAMPLE: &'static str = "{ models: [a-second-model] }";

    const EVENTS: &'static [&'static str] = &["ModelCallError"];

    fn acts_at(spec: &EventSpec) -> bool {
        spec.name == "ModelCallError"
    }
}

impl Kind for FallbackModel {
    type Raw = RawFallbackModel;

    const TEXTS: &'static [(&'static str, TextKind)] = &[("errors.*", TextKind::Regex)];

    fn compile(raw: RawFallbackModel, _: &Compile<'_>) -> Result<Self, Mistake> {
        let RawFallbackModel {
            models,
            retry,
            errors,
        } = raw;
        if models.is_empty() && retry.max == 0 {
            return Err(
                Mistake::whole("neither a model to fall back to nor a retry")
                    .help("add `models: [...]`, or `retry: { max: 2 }`"),
            );
        }
        if models.iter().any(|name| name.trim().is_empty()) {
            return Err(Mistake::new("models", "a model's name is empty"));
        }
        let or = |raw: Option<RawDuration>, seconds| {
            raw.map_or(Duration::from_secs(seconds), RawDuration::get)
        };
        let (after, longest) = (or(retry.after, 1), or(retry.longest, 60));
        Ok(FallbackModel {
            models,
            retries: retry.max,
            after,
            longest,
            errors,
        })
    }

    fn has_effects(&self) -> bool {
        false
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let event = call.moment.event();
        if &*event.name != "ModelCallError" {
            return Ok(Answer::default());
        }
        let error = event.at("/model/error").map(|error| match error {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let error = error.unwrap_or_default();
        if !self.errors.is_empty()
            && !self
                .errors
                .iter()
                .any(|Pattern(regex)| regex.is_match(&error))
        {
            return Ok(Answer::default());
        }
        // Without a count, trying again might never end.
        let attempt =
            event.at("/model/attempt").and_then(Value::as_u64).filter(|attempt| *attempt > 0).ok_or_else(|| {
                HandlerError("decide on a retry: the event has no model.attempt, the number of attempts so far".into())
            })?;
        let (retry, reason) = self.decide(attempt, retry_after(event));
        Ok(Answer {
            retry: Some(retry),
            reason: Some(reason),
            ..Answer::default()
        })
    }
}

impl FallbackModel {
    fn decide(&self, attempt: u64, asked: Option<Duration>) -> (Retry, String) {
        let retry = |action, after: Option<Duration>, model: Option<&String>| Retry {
            action,
            after_ms: after.map(millis),
            model: model.cloned(),
        };
        let is_too_long = asked.is_some_and(|asked| asked > self.longest);
        if attempt <= self.retries && !is_too_long {
            let doubled = self
                .after
                .saturating_mul(1 << (attempt - 1).min(20))
                .min(self.longest);
            let reason = format!(
                "Attempt {attempt} failed; retry {attempt} of {}",
                self.retries
            );
            return (
                retry(RetryAction::Retry, Some(asked.unwrap_or(doubled)), None),
                reason,
            );
        }
        // Only the number of attempts is known, so an agent that skips the retries begins with the
        // first model.
        let next = attempt.saturating_sub(self.retries.saturating_add(1));
        match usize::try_from(next)
            .ok()
            .and_then(|next| self.models.get(next))
        {
            Some(model) => (
                retry(RetryAction::Fallback, None, Some(model)),
                format!("Attempt {attempt} failed; on to `{model}`"),
            ),
            None => (
                retry(RetryAction::Fail, None, None),
                format!("Attempt {attempt} failed, and there is none left"),
            ),
        }
    }
}

/// How long the provider asks to wait, wherever the agent put it: seconds as a number or a text, as
/// in the header of that name, or milliseconds.
fn retry_after(event: &Event) -> Option<Duration> {
    let error = event.at("/model/error")?;
    let number = |value: &Value| {
        value
            .as_f64()
            .or_else(|| value.as_str()?.trim().parse().ok())
    };
    let header = |headers: &Value| {
        let (_, value) = headers
            .as_object()?
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("retry-after"))?;
        number(value)
    };
    let millis = error
        .get("retryAfterMs")
        .and_then(number)
        .map(|ms| ms / 1000.0);
    let seconds = millis
        .or_else(|| error.get("retryAfter").and_then(number))
        .or_else(|| header(error))
        .or_else(|| error.get("headers").and_then(header))?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn waits_as_long_as_the_provider_asks() {
        for (error, seconds) in [
            (json!({"retryAfter": 7}), Some(7.0)),
            (json!({"retryAfterMs": 250}), Some(0.25)),
            (json!({"headers": {"Retry-After": "3"}}), Some(3.0)),
            (
                json!({"headers": {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}}),
                None,
            ),
            (json!({"retryAfter": -1}), None),
            (json!("overloaded"), None),
        ] {
            let event = json!({"event": "ModelCallError", "model": {"error": error}});
            let event = Event::from_json(event).unwrap();
            assert_eq!(
                retry_after(&event).map(|it| it.as_secs_f64()),
                seconds,
                "{error}"
            );
        }
    }
}
