//! `token-limit`: ends a run that has used a number of tokens. The call that crosses the limit has
//! been paid for, so its answer may still be used; the next call is denied.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::Kind;
use super::fleet::{Period, SharedBudget};
use super::guard_kind::{GuardKind, decides, reports};
use super::memory::{Memory, Per, PerOrFleet};
use super::refusal::{Refusal, end_run};
use super::usage::{tally, tells_usage, usage};
use hookwire_base::event::{EventSpec, On};
use hookwire_base::verdict::{Answer, StopReason};
use schemars::JsonSchema;
use serde::Deserialize;

/// Adds up `model.usage` at PostModelCall and denies at gates once the limit is reached. On no gate
/// at all, it ends the run at PostModelCall.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "TokenLimitGuard")]
pub struct RawTokenLimit {
    /// How many tokens.
    #[serde(default = "default_max")]
    max: u64,
    /// Which tokens.
    #[serde(default)]
    count: Count,
    /// What is counted together.
    #[serde(default)]
    per: PerOrFleet,
    /// With `per: fleet`, the budget that all hosts spend of.
    budget: Option<String>,
    /// With `per: fleet`, when the budget begins anew: a day if not said.
    period: Option<Period>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CountedTokens")]
enum Count {
    /// Input and output.
    #[default]
    Total,
    /// What the model read.
    Input,
    /// What the model wrote.
    Output,
}

fn default_max() -> u64 {
    32_768
}

#[derive(Debug)]
pub struct TokenLimit {
    max: u64,
    count: Count,
    memory: Memory,
    /// That of all hosts, unless it counts in this one.
    budget: Option<SharedBudget>,
}

impl GuardKind for TokenLimit {
    const EXAMPLE: &'static str = "{ max: 50000 }";

    const EVENTS: &'static [&'static str] = &["PostModelCall", "PreModelCall"];

    fn acts_at(spec: &EventSpec) -> bool {
        decides(spec)
    }

    const LEARNS_AT: Option<fn(&EventSpec) -> bool> = Some(reports);
}

impl Kind for TokenLimit {
    type Raw = RawTokenLimit;

    fn compile(raw: RawTokenLimit, cx: &Compile<'_>) -> Result<Self, Mistake> {
        if raw.max == 0 && !cx.signals_stops {
            return Err(Mistake::new("max", "a limit of 0 would let nothing pass"));
        }
        let max = i64::try_from(raw.max).unwrap_or(i64::MAX);
        let budget = SharedBudget::compile(raw.budget, raw.period, raw.per, max)?;
        Ok(TokenLimit {
            max: raw.max,
            count: raw.count,
            memory: Memory::new("token-limit", raw.per.here()),
            budget,
        })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let event = call.moment.event();
        let max = self.max;
        let reached = |tokens: u64, of: &str| {
            let facts = [
                ("totalTokens", tokens.into()),
                ("maxTotalTokens", max.into()),
            ];
            Refusal::new(format!("Token limit reached: {tokens}/{max}{of}"), facts)
        };
        let judge = |tokens: u64| (tokens >= max).then(|| reached(tokens, ""));
        if let Some(tally) = tally(call) {
            let tokens = tally.tokens.filter(|_| self.memory.per == Per::Run);
            match tokens {
                Some(tokens) => {
                    let refusal = judge(tokens);
                    return Ok(refusal.map_or_else(Answer::default, |it| {
                        end_run(call, StopReason::TokenLimit, it)
                    }));
                }
                None if !sees_usage(call.hook.on) => {
                    let what = "neither the event nor another one that the hook is for tells how many there are";
                    return Err(HandlerError(format!("count tokens: {what}")));
                }
                None => {}
            }
        }
        let used = match (tells_usage(event), self.count) {
            (false, _) => 0,
            (true, count) => {
                let (input, output) = usage(event)?;
                match count {
                    Count::Total => input.saturating_add(output),
                    Count::Input => input,
                    Count::Output => output,
                }
            }
        };
        let shared = self
            .budget
            .as_ref()
            .filter(|_| !call.services.fleet.is_pretended());
        let refusal = match shared {
            Some(budget) => {
                let used = tells_usage(event).then(|| i64::try_from(used).unwrap_or(i64::MAX));
                let reached = |counted: i64, of: &str| {
                    reached(counted.max(0).cast_unsigned(), &format!(" {of}"))
                };
                budget.judge(call, &self.memory, used, reached).await?
            }
            None => {
                let judged = self.memory.judge(call, |tokens: &mut u64| {
                    *tokens = tokens.saturating_add(used);
                    judge(*tokens)
                });
                judged.await?
            }
        };
        // Where a gate follows, it is the gate that ends the run.
        let refusal = refusal.filter(|_| !tells_usage(event) || !call.hook.on.includes_a_gate());
        Ok(refusal.map_or_else(Answer::default, |refusal| {
            end_run(call, StopReason::TokenLimit, refusal)
        }))
    }

    fn counts(&self) -> bool {
        true
    }
}

/// Whether a hook is told the tokens of model calls.
fn sees_usage(on: &On) -> bool {
    on.includes("PostModelCall")
}
