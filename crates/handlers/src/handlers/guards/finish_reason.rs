//! `finish-reason`: ends a run when the model stops for one of the listed reasons.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::Kind;
use super::guard_kind::GuardKind;
use super::refusal::{Refusal, end_run};
use hookwire_base::event::EventSpec;
use hookwire_base::verdict::{Answer, StopReason};
use schemars::JsonSchema;
use serde::Deserialize;

/// Ends the run when `model.finishReason` is one of these.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "FinishReasonGuard")]
pub struct RawFinishReason {
    /// In the provider's words, e.g. `content_filter`.
    stop: Vec<String>,
}

#[derive(Debug)]
pub struct FinishReason {
    stop: Vec<String>,
}

impl GuardKind for FinishReason {
    const EXAMPLE: &'static str = "{ stop: [content_filter] }";

    const EVENTS: &'static [&'static str] = &["PostModelCall"];

    fn acts_at(spec: &EventSpec) -> bool {
        matches!(spec.name, "PostModelCall" | "StepEnd")
    }
}

impl Kind for FinishReason {
    type Raw = RawFinishReason;

    fn compile(raw: RawFinishReason, _: &Compile<'_>) -> Result<Self, Mistake> {
        if raw.stop.is_empty() {
            return Err(
                Mistake::new("stop", "without a reason, this guard does nothing")
                    .help("name reasons of your provider, e.g. `[content_filter, length]`"),
            );
        }
        Ok(FinishReason { stop: raw.stop })
    }

    fn has_effects(&self) -> bool {
        false
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let event = call.moment.event();
        Ok(match event.text("/model/finishReason") {
            Some(reason) if self.stop.iter().any(|it| it == reason) => {
                let message = format!("Finish reason \"{reason}\" matched stop condition");
                let facts = [
                    ("finishReason", reason.into()),
                    ("stopReasons", self.stop.clone().into()),
                ];
                end_run(call, StopReason::FinishReason, Refusal::new(message, facts))
            }
            _ => Answer::default(),
        })
    }
}
