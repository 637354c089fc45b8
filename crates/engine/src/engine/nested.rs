//! The one way back to the beginning: what a hook itself does is an event again.

use super::judge_event;
use super::question::{Question, RunLimits, Within, deadline};
use super::state::Engine;
use hookwire_base::event::Event;
use hookwire_base::verdict::Verdict;
use hookwire_handlers::handlers::Judge;
use hookwire_rules::contract::Honours;
use std::pin::Pin;
use std::sync::Arc;

/// Judges what a hook itself is about to do, by the hooks of the event that the hook runs at.
pub(super) struct NestedJudge<'a> {
    pub engine: &'a Engine,
    pub limits: &'a RunLimits<'a>,
    /// The hooks whose own act it is.
    pub within: Within,
}

impl Judge for NestedJudge<'_> {
    fn judge(&self, event: Event) -> Pin<Box<dyn Future<Output = Verdict> + Send + '_>> {
        let Question {
            hooks,
            contract,
            client,
            early_deadline,
            ..
        } = self.limits.question;
        let question = Question {
            deadline: deadline(&event),
            event: Arc::new(event),
            hooks: hooks.clone(),
            contract,
            // There is no person to ask, and the hook takes a rewrite.
            honours: Honours::default(),
            client: client.clone(),
            early_deadline: early_deadline.clone(),
        };
        let within = Within {
            depth: self.within.depth.saturating_add(1),
            ..self.within
        };
        Box::pin(judge_event(self.engine, question, within))
    }

    fn depth(&self) -> u8 {
        self.within.depth
    }

    fn asks_nobody(&self) -> bool {
        self.within.asks_nobody
    }
}
