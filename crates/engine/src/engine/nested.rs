//! The one way back to the beginning: what a hook itself does is an event again.

use super::judge_event;
use super::limits::RunLimits;
use super::question::{HooksInForce, Question, Within, deadline};
use super::state::Engine;
use crate::hook::Hook;
use hookwire_base::event::Event;
use hookwire_base::verdict::Verdict;
use hookwire_handlers::handlers::Judge;
use hookwire_handlers::services::client::Client;
use hookwire_rules::contract::{Contract, Honours};
use std::pin::Pin;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Judges what a hook itself is about to do, by the hooks of the event that the hook runs at.
pub(super) struct NestedJudge<'a> {
    engine: &'a Engine,
    hooks: &'a HooksInForce,
    contract: &'static Contract,
    client: Option<&'a Arc<dyn Client>>,
    early_deadline: &'a CancellationToken,
    within: Within,
}

impl<'a> NestedJudge<'a> {
    /// For a hook that runs within these limits.
    pub(super) fn for_acts_of(hook: &Hook, engine: &'a Engine, limits: &RunLimits<'a>) -> NestedJudge<'a> {
        let RunLimits { early_deadline, client, hooks, contract, within, .. } = *limits;
        NestedJudge { engine, hooks, contract, client, early_deadline, within: within.acts_of(hook) }
    }
}

impl Judge for NestedJudge<'_> {
    fn judge(&self, event: Event) -> Pin<Box<dyn Future<Output = Verdict> + Send + '_>> {
        let question = Question {
            deadline: deadline(&event),
            event: Arc::new(event),
            hooks: self.hooks.clone(),
            contract: self.contract,
            // There is no person to ask, and the hook takes a rewrite.
            honours: Honours::default(),
            client: self.client.cloned(),
            early_deadline: self.early_deadline.clone(),
        };
        let within = Within { depth: self.within.depth.saturating_add(1), ..self.within };
        Box::pin(judge_event(self.engine, question, within))
    }

    fn depth(&self) -> u8 {
        self.within.depth
    }

    fn asks_nobody(&self) -> bool {
        self.within.asks_nobody
    }
}
