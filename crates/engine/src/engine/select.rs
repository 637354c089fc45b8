//! The first step: which hooks judge an event, and whether any may.

use super::aside;
use super::counted_call::CountedCall;
use super::failure::{self, Refusal};
use super::policy_gate;
use super::question::{Question, RunLimits, Within};
use super::state::Engine;
use crate::hook::Hook;
use crate::hook_set::Selected;
use hookwire_handlers::handlers::Moment;
use hookwire_rules::matching::Facts;
use std::sync::Arc;

/// The hooks that apply to an event.
pub(super) struct Selection {
    /// The moment that they judge, with what policies grant.
    pub moment: Arc<Moment>,
    /// Outermost layer first.
    pub selected: Vec<Selected>,
    /// Those of them that take something out of what passes.
    pub redacting: Vec<Arc<Hook>>,
    /// Why none of them judges it.
    pub refusal: Option<Refusal>,
    /// The limits of policies that count the call.
    pub counted: Vec<CountedCall>,
}

/// Finds the hooks that apply. Policies judge the event before, and it has to name its tool.
pub(super) async fn select_hooks(
    engine: &Engine,
    question: &mut Question,
    within: Within,
) -> Selection {
    if let Some(refusal) = failure::too_deep(&question.event, within) {
        let moment = Arc::new(Moment::new(question.event.clone(), &engine.services.root));
        let (selected, redacting, counted) = (Vec::new(), Vec::new(), Vec::new());
        return Selection {
            moment,
            selected,
            redacting,
            refusal: Some(refusal),
            counted,
        };
    }
    engine.services.runs.note(&question.event);
    engine.calls.join(&mut question.event);
    let files = &question.hooks.files;
    let (event, names) = (question.event.clone(), files.tool_names.clone());
    let mut moment = Arc::new(Moment::of(Facts::within(
        event,
        &engine.services.root,
        names,
        !engine.no_scripts,
    )));
    // No hook is known yet that redacts.
    let limits = RunLimits {
        question,
        within,
        redacting: &[],
    };
    let (refusal, counted) = match files.policies.is_empty() {
        true => (None, Vec::new()),
        // Boxed: most hosts have no policies, and an event's future is made for each event.
        false => Box::pin(policy_gate::admit(engine, &limits, &mut moment)).await,
    };
    let hooks = question.hooks.clone();
    let selected = aside::hold(engine, &limits, &mut moment, move |facts| {
        hooks.select(facts)
    })
    .await;
    engine.tell_of_shell(&moment.facts);
    let refusal = refusal.or_else(|| failure::unnamed_tool(&question.hooks, &moment.facts));
    let redacting = selected
        .iter()
        .filter(|it| it.hook.redacts())
        .map(|it| it.hook.clone())
        .collect();
    Selection {
        moment,
        selected,
        redacting,
        refusal,
        counted,
    }
}
