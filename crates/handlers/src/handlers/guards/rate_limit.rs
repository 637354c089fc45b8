//! `rate-limit`: denies what comes too often within a sliding window. The run goes on.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::{Kind, TextKind};
use super::fleet::shared_name;
use super::guard_kind::{GuardKind, gates};
use super::memory::{Memory, PerOrFleet, now};
use super::raw::Expression;
use super::refusal::{Refusal, deny};
use crate::services::fleet::{Quota, key_of};
use hookwire_base::event::EventSpec;
use hookwire_base::support::amounts::millis;
use hookwire_base::syntax::values::RawDuration;
use hookwire_base::verdict::Answer;
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// Counts the hook's events in a sliding window; what is denied doesn't count.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RateLimitGuard")]
pub struct RawRateLimit {
    /// How many pass within the window; at most 1000.
    #[serde(default = "default_max")]
    max: usize,
    /// The window; 60 s if not said.
    within: Option<RawDuration>,
    /// What is counted together.
    #[serde(default = "default_per")]
    per: PerOrFleet,
    /// Counts apart for each value of this CEL expression, e.g. `tool.name`.
    by: Option<Expression>,
    /// With `per: fleet`, the quota that all hosts take of. An administrator has made it with this
    /// `max` and `within`.
    quota: Option<String>,
}

/// Each time is remembered: the window's bound.
const MOST: usize = 1000;

fn default_max() -> usize {
    10
}

fn default_per() -> PerOrFleet {
    PerOrFleet::Session
}

#[derive(Debug)]
pub struct RateLimit {
    max: usize,
    within: Duration,
    memory: Memory,
    /// That of all hosts, unless it counts in this one.
    quota: Option<Quota>,
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
            return Err(Mistake::new(
                "max",
                format!("a rate is from 1 to {MOST}, found `{}`", raw.max),
            ));
        }
        let within = raw.within.map_or(Duration::from_secs(60), RawDuration::get);
        let name = shared_name("quota", raw.quota, raw.per)?;
        if name.is_some() && within.subsec_nanos() > 0 {
            return Err(Mistake::new(
                "within",
                "with `per: fleet`, a window is a number of whole seconds",
            ));
        }
        let limit = u32::try_from(raw.max).unwrap_or(u32::MAX);
        let quota = name.map(|name| Quota {
            name,
            limit,
            window: within,
        });
        let memory = Memory {
            guard: "rate-limit",
            per: raw.per.here(),
            by: raw.by,
        };
        Ok(RateLimit {
            max: raw.max,
            within,
            memory,
            quota,
        })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        if let Some(quota) = self
            .quota
            .as_ref()
            .filter(|_| !call.services.fleet.is_pretended())
        {
            return self.take(quota, call).await;
        }
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
            // The one that has to leave the window first; after an edit there may be more than
            // `max`.
            let free = times
                .get(times.len() - max)
                .map_or(0, |time| time + window - now);
            Some(format!(
                "Rate limit reached: {max} in {}; try again in {}",
                humantime::format_duration(within),
                humantime::format_duration(Duration::from_secs(free.div_ceil(1000)))
            ))
        });
        Ok(refusal.await?.map_or_else(Answer::default, |refusal| {
            deny(call.moment.event(), refusal.message)
        }))
    }

    fn counts(&self) -> bool {
        true
    }
}

impl RateLimit {
    /// Takes one of the quota of all hosts.
    async fn take(&self, quota: &Quota, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let event = call.moment.event();
        // Two hooks that take of one quota take two.
        let id = format!("{}:{}", event.id, call.hook.name);
        let judge = async |by: &str| {
            let admitted = call
                .services
                .fleet
                .take(quota, &key_of(by), &id, call.hook.timeout)
                .await;
            let within = humantime::format_duration(self.within);
            let refusal = || format!("Rate limit reached: {} in {within} on all hosts", self.max);
            Ok((!admitted.map_err(HandlerError)?).then(|| Refusal::from(refusal())))
        };
        let refusal = self.memory.judge_elsewhere(call, judge).await?;
        Ok(refusal.map_or_else(Answer::default, |refusal| deny(event, refusal.message)))
    }
}
