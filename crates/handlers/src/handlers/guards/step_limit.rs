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
use hookwire_base::event::EventSpec;
use hookwire_base::verdict::{Answer, StopReason};
use hookwire_rules::matching::when::When;
use schemars::JsonSchema;
use serde::Deserialize;

/// Counts the events of the hook, and ends the run at the one after the last that is allowed.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "StepLimitGuard")]
pub struct RawStepLimit {
    /// How many pass.
    #[serde(default = "default_max")]
    max: u64,
    /// What is counted together.
    #[serde(default)]
    per: Per,
    /// Counts apart for each value of this CEL expression, e.g. `agent.name`.
    by: Option<Expression>,
    /// A CEL expression that gives the count instead, from what the agent says of itself:
    /// `state.stepCount`.
    counter: Option<Expression>,
}

fn default_max() -> u64 {
    20
}

#[derive(Debug)]
pub struct StepLimit {
    max: u64,
    counter: Option<Expression>,
    memory: Memory,
}

impl GuardKind for StepLimit {
    const EXAMPLE: &'static str = "{ max: 30 }";

    const EVENTS: &'static [&'static str] = &["StepStart"];

    fn acts_at(spec: &EventSpec) -> bool {
        decides(spec)
    }
}

impl Kind for StepLimit {
    type Raw = RawStepLimit;

    const TEXTS: &'static [(&'static str, TextKind)] = &[
        ("by", TextKind::Expression),
        ("counter", TextKind::Expression),
    ];

    fn compile(raw: RawStepLimit, cx: &Compile<'_>) -> Result<Self, Mistake> {
        if raw.max == 0 && !cx.signals_stops {
            return Err(Mistake::new("max", "a limit of 0 would let nothing pass"));
        }
        let memory = Memory {
            guard: "step-limit",
            per: raw.per,
            by: raw.by,
        };
        Ok(StepLimit {
            max: raw.max,
            counter: raw.counter,
            memory,
        })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let max = self.max;
        let judge = |steps: u64| {
            let facts = [("currentSteps", steps.into()), ("maxSteps", max.into())];
            (steps >= max)
                .then(|| Refusal::new(format!("Step limit reached: {steps}/{max}"), facts))
        };
        let counts_steps = self.memory.per == Per::Run && self.memory.by.is_none();
        let told = match &self.counter {
            Some(counter) => Some(count(&counter.0, call)?),
            None => tally(call)
                .filter(|_| counts_steps)
                .and_then(|tally| tally.steps),
        };
        let refusal = match told {
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
        Ok(refusal.map_or_else(Answer::default, |refusal| {
            end_run(call, StopReason::StepsLimit, refusal)
        }))
    }

    fn counts(&self) -> bool {
        self.counter.is_none()
    }
}

/// The count that an expression gives.
fn count(counter: &When, call: &Call<'_>) -> Result<u64, HandlerError> {
    let failed = |why: &str| HandlerError(format!("count the steps: `{}` {why}", counter.source()));
    let value = counter
        .key(call.moment.event().data())
        .map_err(|error| failed(&error))?;
    value.parse().map_err(|_| failed("is not a whole number"))
}
