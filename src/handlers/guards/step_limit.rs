//! `step-limit`: ends a run after a number of steps. A runaway agent's simplest leash.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::{Kind, TextKind};
use super::guard_kind::{GuardKind, decides};
use super::memory::{Memory, Per};
use super::raw::Expression;
use super::refusal::{Refusal, end_run};
use super::usage::tally;
use crate::event::EventSpec;
use crate::verdict::{Answer, StopReason};
use schemars::JsonSchema;
use serde::Deserialize;

/// Counts the events of the hook, and ends the run at the one after the last that is allowed.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "StepLimitGuard")]
pub(crate) struct RawStepLimit {
    /// How many pass.
    #[serde(default = "default_max")]
    max: u64,
    /// What is counted together.
    #[serde(default)]
    per: Per,
    /// Counts apart for each value of this CEL expression, e.g. `agent.name`.
    by: Option<Expression>,
}

fn default_max() -> u64 {
    20
}

#[derive(Debug)]
pub(crate) struct StepLimit {
    max: u64,
    memory: Memory,
}

impl GuardKind for StepLimit {
    const EVENTS: &'static [&'static str] = &["StepStart"];

    fn acts_at(spec: &EventSpec) -> bool {
        decides(spec)
    }
}

impl Kind for StepLimit {
    type Raw = RawStepLimit;

    const TEXTS: &'static [(&'static str, TextKind)] = &[("by", TextKind::Expression)];

    fn compile(raw: RawStepLimit, _: &Compile<'_>) -> Result<Self, Mistake> {
        if raw.max == 0 {
            return Err(Mistake::new("max", "a limit of 0 would let nothing pass"));
        }
        Ok(StepLimit { max: raw.max, memory: Memory { guard: "step-limit", per: raw.per, by: raw.by } })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let max = self.max;
        let judge = |steps: u64| {
            let facts = [("currentSteps", steps.into()), ("maxSteps", max.into())];
            (steps >= max).then(|| Refusal::new(format!("Step limit reached: {steps}/{max}"), facts))
        };
        let counts_steps = self.memory.per == Per::Run && self.memory.by.is_none();
        let refusal = match tally(call).filter(|_| counts_steps).and_then(|tally| tally.steps) {
            Some(steps) => judge(steps),
            None => {
                let count = |steps: &mut u64| {
                    let refusal = judge(*steps);
                    *steps += u64::from(refusal.is_none());
                    refusal
                };
                self.memory.judge(call, count).await?
            }
        };
        Ok(refusal.map_or_else(Answer::default, |refusal| end_run(call, StopReason::StepsLimit, refusal)))
    }

    fn counts(&self) -> bool {
        true
    }
}
