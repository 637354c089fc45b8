//! Trials: what hooks in force would say about an event that doesn't happen.
//!
//! A trial goes the way of every event, through an engine of its own that skips hooks with effects
//! and is thrown away. So it counts in no limit, spends no `once`, and nobody hears of it.

use super::clock;
use super::question::{HooksInForce, Question, deadline};
use super::run::NOT_RUN;
use super::state::Engine;
use super::{Within, judge_event};
use hookwire_base::event::{Event, PROBE_SESSION};
use hookwire_base::verdict::{Decision, Status, Verdict};
use hookwire_dialects::Dialect;
use hookwire_rules::contract::Honours;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a trial may take, unless the event gives it less.
const LIMIT: Duration = Duration::from_secs(2);

/// What came of a trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What the hooks say that were run. An `ask` stays one, because nobody is asked.
    pub verdict: Verdict,
}

impl Trial {
    /// The hooks that apply and weren't run, because they start something or count.
    pub fn left_out(&self) -> impl Iterator<Item = &Arc<str>> {
        self.verdict
            .outcomes
            .iter()
            .filter(|outcome| outcome.reason.as_deref() == Some(NOT_RUN))
            .map(|outcome| &outcome.hook)
    }

    /// The hooks that weren't run to their end, because the time was over.
    pub fn cut_off(&self) -> impl Iterator<Item = &Arc<str>> {
        self.verdict
            .outcomes
            .iter()
            .filter(|outcome| outcome.status == Status::Cancelled)
            .map(|outcome| &outcome.hook)
    }
}

impl Engine {
    /// Tries an event of a vocabulary with some hooks. It starts nothing, and leaves this engine's
    /// values and sessions as they are.
    pub async fn try_event(
        &self,
        hooks: HooksInForce,
        dialect: &'static Dialect,
        event: &Event,
    ) -> Trial {
        let limit = clock::now() + LIMIT;
        let question = Question {
            deadline: Some(deadline(event).map_or(limit, |deadline| deadline.min(limit))),
            event: Arc::new(event.clone()),
            hooks,
            contract: &dialect.contract,
            honours: Honours {
                ask: true,
                ..dialect.honours(event)
            },
            client: None,
            early_deadline: CancellationToken::new(),
        };
        let within = Within {
            depth: 0,
            asks_nobody: true,
        };
        let verdict = judge_event(&self.scratch(), question, within).await;
        Trial { verdict }
    }

    /// The deny of an event that is asked only to see it arrive, if the hooks without effects deny
    /// it: it counts nowhere. Any other event is judged as it is. So an agent that calls its session
    /// the same hides nothing but what it may not do.
    pub async fn answer_probe(
        &self,
        hooks: &HooksInForce,
        dialect: &'static Dialect,
        event: &Event,
    ) -> Option<Verdict> {
        if event.session() != PROBE_SESSION {
            return None;
        }
        let trial = Box::pin(self.try_event(hooks.clone(), dialect, event)).await;
        Some(trial.verdict).filter(|verdict| verdict.decision == Decision::Deny)
    }
}
