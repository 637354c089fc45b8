//! `time-limit`: ends a run that has taken too long, by the wall, since the first event that the
//! hook has seen of it.

use super::super::{Call, Compile, HandlerError, Kind, Mistake};
use super::end_run;
use super::memory::{Memory, Per, now};
use crate::definitions::compile::RawDuration;
use crate::verdict::Answer;
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// Measures from the first event of the run that the hook sees.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "TimeLimitGuard")]
pub(crate) struct RawTimeLimit {
    /// How long; 300 s if not said.
    max: Option<RawDuration>,
    /// What is measured.
    #[serde(default)]
    per: Per,
}

#[derive(Debug)]
pub(crate) struct TimeLimit {
    max: Duration,
    memory: Memory,
}

impl Kind for TimeLimit {
    type Raw = RawTimeLimit;

    fn compile(raw: RawTimeLimit, _: &Compile<'_>) -> Result<Self, Mistake> {
        let max = raw.max.map_or(Duration::from_secs(300), RawDuration::get);
        Ok(TimeLimit { max, memory: Memory::new("time-limit", raw.per) })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let max = self.max;
        let refusal = self.memory.judge(call, |start: &mut Option<u64>| {
            // A clock that was set back between two hosts makes a start in the future: no time has passed.
            let elapsed = Duration::from_millis(now().saturating_sub(*start.get_or_insert_with(now)));
            let seconds = |it: Duration| it.as_secs_f64();
            (elapsed >= max).then(|| format!("Time limit reached: {:.2}s/{:.2}s", seconds(elapsed), seconds(max)))
        });
        Ok(refusal.await?.map_or_else(Answer::default, |message| end_run(call.moment.event(), message)))
    }
}
