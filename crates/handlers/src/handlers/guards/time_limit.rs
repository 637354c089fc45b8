//! `time-limit`: ends a run that has taken too long, by the wall, since the first event that the
//! hook has seen of it, or since the agent says that it began.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::Kind;
use super::guard_kind::{GuardKind, decides};
use super::memory::{Memory, Per, now};
use super::refusal::{Refusal, end_run};
use super::usage::tally;
use hookwire_base::event::EventSpec;
use hookwire_base::syntax::values::RawDuration;
use hookwire_base::verdict::{Answer, StopReason};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::Value;
use std::time::Duration;

/// Measures from the first event of the run that the hook sees.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "TimeLimitGuard")]
pub struct RawTimeLimit {
    /// How long; 300 s if not said.
    #[serde(default, deserialize_with = "limit")]
    #[schemars(with = "Option<RawDuration>")]
    max: Option<Duration>,
    /// What is measured.
    #[serde(default)]
    per: Per,
}

/// A duration, which may be 0.
fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::Number(zero) if zero.as_f64() == Some(0.0) => Ok(Some(Duration::ZERO)),
        other => RawDuration::deserialize(other)
            .map(|it| Some(it.get()))
            .map_err(D::Error::custom),
    }
}

#[derive(Debug)]
pub struct TimeLimit {
    max: Duration,
    memory: Memory,
}

impl GuardKind for TimeLimit {
    const EXAMPLE: &'static str = "{ max: 10m }";

    const EVENTS: &'static [&'static str] = &[
        "RunStart",
        "UserPromptSubmit",
        "StepStart",
        "PreModelCall",
        "PreToolUse",
    ];

    fn acts_at(spec: &EventSpec) -> bool {
        decides(spec)
    }
}

impl Kind for TimeLimit {
    type Raw = RawTimeLimit;

    fn compile(raw: RawTimeLimit, cx: &Compile<'_>) -> Result<Self, Mistake> {
        let max = raw.max.unwrap_or(Duration::from_secs(300));
        if max.is_zero() && !cx.signals_stops {
            return Err(Mistake::new("max", "a limit of 0 would let nothing pass"));
        }
        Ok(TimeLimit {
            max,
            memory: Memory::new("time-limit", raw.per),
        })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let max = self.max;
        let tally = tally(call);
        let event = &*call.moment.event().name;
        let refusal = self.memory.judge(call, |start: &mut Option<u64>| {
            let now = tally
                .and_then(|tally| tally.now_ms)
                .unwrap_or_else(|| now(call));
            match tally {
                None => *start = start.or(Some(now)),
                Some(_) if event == "RunStart" => *start = Some(now),
                // An unknown start, or one in the future, would never reach the limit, so the run
                // starts now.
                Some(tally) if event == "StepStart" => {
                    let past = |it: &u64| *it <= now;
                    *start = tally
                        .started_ms
                        .filter(past)
                        .or(start.filter(past))
                        .or(Some(now));
                }
                Some(_) => return None,
            }
            // A clock that was set back between two hosts makes a start in the future: no time has
            // passed.
            let elapsed = Duration::from_millis(now.saturating_sub((*start)?));
            let [seconds, most] = [elapsed, max].map(|it| it.as_secs_f64());
            let message = format!("Execution time limit reached: {seconds:.2}s/{most:.2}s");
            let facts = [
                ("elapsedSeconds", seconds.into()),
                ("maxSeconds", most.into()),
            ];
            (elapsed >= max).then(|| Refusal::new(message, facts))
        });
        Ok(refusal.await?.map_or_else(Answer::default, |refusal| {
            end_run(call, StopReason::TimeLimit, refusal)
        }))
    }

    fn counts(&self) -> bool {
        true
    }
}
