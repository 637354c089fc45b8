//! `token-limit`: ends a run that has used a number of tokens. The call that crosses the limit has
//! been paid for, so its answer may still be used; the next call is denied.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::Kind;
use super::guard_kind::{GuardKind, decides, reports};
use super::memory::{Memory, Per};
use super::refusal::{Refusal, end_run};
use super::usage::{tally, tells_usage, usage};
use crate::event::{EventSpec, On};
use crate::verdict::{Answer, StopReason};
use schemars::JsonSchema;
use serde::Deserialize;

/// Adds up `model.usage` at PostModelCall and denies at gates once the limit is reached. On no gate
/// at all, it ends the run at PostModelCall.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "TokenLimitGuard")]
pub(crate) struct RawTokenLimit {
    /// How many tokens.
    #[serde(default = "default_max")]
    max: u64,
    /// Which tokens.
    #[serde(default)]
    count: Count,
    /// What is counted together.
    #[serde(default)]
    per: Per,
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
pub(crate) struct TokenLimit {
    max: u64,
    count: Count,
    memory: Memory,
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
        Ok(TokenLimit { max: raw.max, count: raw.count, memory: Memory::new("token-limit", raw.per) })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let event = call.moment.event();
        let max = self.max;
        let judge = |tokens: u64| {
            let facts = [("totalTokens", tokens.into()), ("maxTotalTokens", max.into())];
            (tokens >= max).then(|| Refusal::new(format!("Token limit reached: {tokens}/{max}"), facts))
        };
        if let Some(tally) = tally(call) {
            let tokens = tally.tokens.filter(|_| self.memory.per == Per::Run);
            match tokens {
                Some(tokens) => {
                    let refusal = judge(tokens);
                    return Ok(refusal.map_or_else(Answer::default, |it| end_run(call, StopReason::TokenLimit, it)));
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
        let refusal = self.memory.judge(call, |tokens: &mut u64| {
            *tokens = tokens.saturating_add(used);
            judge(*tokens)
        });
        let refusal = refusal.await?;
        // Where a gate follows, it is the gate that ends the run.
        let refusal = refusal.filter(|_| !tells_usage(event) || !call.hook.on.includes_a_gate());
        Ok(refusal.map_or_else(Answer::default, |refusal| end_run(call, StopReason::TokenLimit, refusal)))
    }

    fn counts(&self) -> bool {
        true
    }
}

/// Whether a hook is told the tokens of model calls.
fn sees_usage(on: &On) -> bool {
    on.includes("PostModelCall")
}
