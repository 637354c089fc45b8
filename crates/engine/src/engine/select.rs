//! The first step: which hooks judge an event, and whether any may.

use super::counted_call::CountedCall;
use super::limits::RunLimits;
use super::policy_gate::{self, Admission};
use super::question::{HooksInForce, Question, Within};
use super::state::Engine;
use super::{aside, failure};
use crate::hook::Hook;
use crate::hook_set::Selected;
use hookwire_handlers::handlers::Moment;
use hookwire_rules::matching::Facts;
use hookwire_rules::policy;
use std::sync::Arc;

/// The hooks that apply to an event.
pub(super) struct Selection {
    /// The moment that they judge, with what policies grant.
    pub moment: Arc<Moment>,
    /// Outermost layer first.
    pub selected: Vec<Selected>,
    /// Who denies the event before any hook, and why.
    pub refusal: Option<(Arc<str>, String)>,
    /// The limits of policies that count the call.
    pub counted: Vec<CountedCall>,
}

/// Finds the hooks that apply. Policies judge the event first, and so does whether it names its tool.
pub(super) async fn select_hooks(engine: &Engine, question: &Question, within: Within) -> Selection {
    let HooksInForce { files, .. } = &question.hooks;
    let facts =
        Facts::within(question.event.clone(), &engine.services.root, files.tool_names.clone(), !engine.no_scripts);
    let moment = Arc::new(Moment::of(facts));
    // No hook is known yet that redacts.
    let limits = RunLimits::of(question, within, &[]);
    let Admission { mut moment, denied, counted } = match files.policies.is_empty() {
        true => Admission { moment, denied: None, counted: Vec::new() },
        // Boxed: most hosts have no policies, and an event's future is made for each event.
        false => Box::pin(policy_gate::admit(engine, &limits, moment)).await,
    };
    let hooks = question.hooks.clone();
    let selected = aside::hold(engine, &limits, &mut moment, move |facts| hooks.select(facts)).await;
    engine.tell_of_shell(&moment.facts);
    let denied = denied.map(|reason| (policy::NAME.into(), reason));
    let refusal = denied.or_else(|| failure::unnamed_tool(&question.hooks, &moment.facts));
    Selection { moment, selected, refusal, counted }
}

impl Selection {
    /// The hooks that take something out of what passes.
    pub(super) fn redacting(&self) -> Vec<Arc<Hook>> {
        self.selected.iter().filter(|it| it.hook.redacts()).map(|it| it.hook.clone()).collect()
    }
}
