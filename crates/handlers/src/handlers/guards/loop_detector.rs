//! `loop-detector`: denies a call that the agent makes over and over: the same tool with the same
//! input several times in a row, or a few calls in turn again and again.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::Kind;
use super::guard_kind::{GuardKind, gates, has_subject};
use super::memory::{Memory, Per, now};
use super::refusal::deny;
use hookwire_base::event::EventSpec;
use hookwire_base::support::amounts::millis;
use hookwire_base::support::digest;
use hookwire_base::syntax::values::RawDuration;
use hookwire_base::verdict::Answer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Denies the call that completes the last repetition, and those that go on with it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "LoopDetectorGuard")]
pub struct RawLoopDetector {
    /// How often makes a loop: 2 to 20.
    #[serde(default = "default_repeats")]
    repeats: usize,
    /// The most calls that take turns: 1 to 8.
    #[serde(default = "default_cycle")]
    cycle: usize,
    /// Calls that are longer ago don't count; without it, all of the run do.
    window: Option<RawDuration>,
    /// What is looked at together.
    #[serde(default)]
    per: Per,
}

fn default_repeats() -> usize {
    3
}

fn default_cycle() -> usize {
    4
}

#[derive(Debug)]
pub struct LoopDetector {
    repeats: usize,
    cycle: usize,
    window: Option<Duration>,
    memory: Memory,
}

/// A call that was made.
#[derive(Serialize, Deserialize)]
struct Made {
    /// Tool and input, as the beginning of a hash.
    call: String,
    tool: String,
    at: u64,
}

impl GuardKind for LoopDetector {
    const EXAMPLE: &'static str = "{ repeats: 3 }";

    const EVENTS: &'static [&'static str] = &["PreToolUse"];

    fn acts_at(spec: &EventSpec) -> bool {
        gates(spec) && has_subject(spec)
    }
}

impl Kind for LoopDetector {
    type Raw = RawLoopDetector;

    fn compile(raw: RawLoopDetector, _: &Compile<'_>) -> Result<Self, Mistake> {
        if !(2..=20).contains(&raw.repeats) {
            return Err(Mistake::new(
                "repeats",
                format!("a loop is 2 to 20 repetitions, found `{}`", raw.repeats),
            ));
        }
        if !(1..=8).contains(&raw.cycle) {
            return Err(Mistake::new(
                "cycle",
                format!("a cycle has 1 to 8 calls, found `{}`", raw.cycle),
            ));
        }
        let memory = Memory::new("loop-detector", raw.per);
        Ok(LoopDetector {
            repeats: raw.repeats,
            cycle: raw.cycle,
            window: raw.window.map(RawDuration::get),
            memory,
        })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let event = call.moment.event();
        let tool = event.tool_name().unwrap_or(&event.name);
        let mut hash = digest::of_value(event.subject().unwrap_or(&serde_json::Value::Null));
        hash.truncate(32);
        let made = Made {
            call: format!("{}\n{tool}\n{hash}", event.name),
            tool: tool.to_string(),
            at: now(call),
        };
        let refusal = self
            .memory
            .judge(call, |calls: &mut Vec<Made>| self.judge(calls, made));
        Ok(refusal
            .await?
            .map_or_else(Answer::default, |refusal| deny(event, refusal.message)))
    }

    fn counts(&self) -> bool {
        true
    }
}

impl LoopDetector {
    fn judge(&self, calls: &mut Vec<Made>, made: Made) -> Option<String> {
        if let Some(window) = self.window {
            let window = millis(window);
            calls.retain(|it| made.at.saturating_sub(it.at) < window);
        }
        calls.push(made);
        let most = self.repeats * self.cycle;
        calls.drain(..calls.len().saturating_sub(most));
        let repeats = self.repeats;
        let is_loop = |length: usize| {
            let Some(start) = calls.len().checked_sub(length * repeats) else {
                return false;
            };
            let last = &calls[start..];
            (length..last.len()).all(|n| last[n].call == last[n - length].call)
        };
        let length = (1..=self.cycle).find(|length| is_loop(*length))?;
        let tools: Vec<_> = calls[calls.len() - length..]
            .iter()
            .map(|it| format!("`{}`", it.tool))
            .collect();
        Some(match &tools[..] {
            [tool] => format!(
                "Loop detected: {tool} was called {repeats} times in a row with the same input. Its result won't \
                 change: do something else, or say what is in the way."
            ),
            tools => format!(
                "Loop detected: the last {} calls are the same {length} over and over: {}. Their results won't \
                 change: do something else, or say what is in the way.",
                length * repeats,
                tools.join(", ")
            ),
        })
    }
}
