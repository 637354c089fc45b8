//! `rate-limit`: denies what comes too often within a sliding window. The run goes on.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::{Kind, TextKind};
use super::guard_kind::{GuardKind, gates};
use super::memory::{Memory, Per, now};
use super::raw::Expression;
use super::refusal::deny;
use crate::event::EventSpec;
use crate::support::amounts::millis;
use crate::syntax::values::RawDuration;
use crate::verdict::Answer;
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// Counts the hook's events in a sliding window; what is denied doesn't count.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RateLimitGuard")]
pub(crate) struct RawRateLimit {
    /// How many pass within the window; at most 1000.
    #[serde(default = "default_max")]
    max: usize,
    /// The window; 60 s if not said.
    within: Option<RawDuration>,
    /// What is counted together.
    #[serde(default = "default_per")]
    per: Per,
    /// Counts apart for each value of this CEL expression, e.g. `tool.name`.
    by: Option<Expression>,
}

/// Each time is remembered: the window's bound.
const MOST: usize = 1000;

fn default_max() -> usize {
    10
}

fn default_per() -> Per {
    Per::Session
}

#[derive(Debug)]
pub(crate) struct RateLimit {
    max: usize,
    within: Duration,
    memory: Memory,
}

impl GuardKind for RateLimit {
    const EXAMPLE: &'static str = "{ max: 10, within: 60s }";

    const EVENTS: &'static [&'static str] = &["PreToolUse"];

    fn acts_at(spec: &EventSpec) -> bool {
        gates(spec)
    }
}

impl Kind for RateLimit {
    type Raw = RawRateLimit;

    const TEXTS: &'static [(&'static str, TextKind)] = &[("by", TextKind::Expression)];

    fn compile(raw: RawRateLimit, _: &Compile<'_>) -> Result<Self, Mistake> {
        if raw.max == 0 || raw.max > MOST {
            return Err(Mistake::new("max", format!("a rate is from 1 to {MOST}, found `{}`", raw.max)));
        }
        let within = raw.within.map_or(Duration::from_secs(60), RawDuration::get);
        Ok(RateLimit { max: raw.max, within, memory: Memory { guard: "rate-limit", per: raw.per, by: raw.by } })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let (max, within) = (self.max, self.within);
        let window = millis(within);
        let refusal = self.memory.judge(call, |times: &mut Vec<u64>| {
            let now = now(call);
            // Times in the future are of a clock that has been set back since.
            times.retain(|time| *time <= now && now - time < window);
            if times.len() < max {
                times.push(now);
                return None;
            }
            // The one that has to leave the window first; after an edit there may be more than `max`.
            let free = times.get(times.len() - max).map_or(0, |time| time + window - now);
            Some(format!(
                "Rate limit reached: {max} in {}; try again in {}",
                humantime::format_duration(within),
                humantime::format_duration(Duration::from_secs(free.div_ceil(1000)))
            ))
        });
        Ok(refusal.await?.map_or_else(Answer::default, |refusal| deny(call.moment.event(), refusal.message)))
    }

    fn counts(&self) -> bool {
        true
    }
}
