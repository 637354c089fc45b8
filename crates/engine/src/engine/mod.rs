//! From an event to a verdict: select, run, judge rewrites again, aggregate.
//!
//! Knows neither JSON-RPC nor files. [`decide`] is the place to start reading hookwire: each step that `judge_event`
//! takes is a file of its own, which the event enters once.

mod aggregate;
mod aside;
mod calls;
mod chain;
mod counted_call;
mod failure;
mod intercept;
mod limits;
mod nested;
mod passed_on;
mod plan;
mod policy_gate;
mod question;
mod repeated;
mod run;
mod select;
mod sessions;
mod settle;
mod state;
#[cfg(test)]
mod tests;
mod verdict;

use chain::Chain;
pub use failure::JUDGED;
use hookwire_base::verdict::Verdict;
use hookwire_handlers::handlers::{self, Moment};
pub use intercept::{Interceptor, Judging, PassThrough};
use limits::RunLimits;
pub use plan::{in_running_order, order};
use question::Within;
pub use question::{HooksInForce, Question, deadline};
pub use run::{NOT_RUN, panic_text};
pub use sessions::MAX_SEND_BACKS;
pub use state::{DetachedEnd, Effects, Engine, Report};
use std::sync::Arc;

/// Judges one event. Never fails: what goes wrong in a hook counts in that hook's failure direction.
/// Dropping the future cancels the hooks and ends their processes.
pub fn decide(engine: &Engine, question: Question) -> impl Future<Output = Verdict> + Send + '_ {
    judge_event(engine, question, Within { depth: handlers::depth(), asks_nobody: false })
}

/// The way of an event, whether a client sent it or a hook does what it is about.
///
/// The same way for an event that is decided at once and for one that has to wait: an event whose hooks are all fixed
/// verdicts passes every `await` without waiting. What does wait is boxed where it begins, so that this future, which
/// is made for each event, stays small.
async fn judge_event(engine: &Engine, mut question: Question, within: Within) -> Verdict {
    if within.depth > failure::MAX_DEPTH {
        let moment = Moment::new(question.event.clone(), &engine.services.root);
        let mut chain = Chain::start(Arc::new(moment), Vec::new());
        chain.fail(failure::too_deep(&question.event));
        return verdict::make_verdict(engine, &question, &mut chain);
    }
    engine.services.runs.note(&question.event);
    engine.calls.join(&mut question.event);

    let selection = select::select_hooks(engine, &question, within).await;
    let redacting = selection.redacting();
    let limits = RunLimits::of(&question, within, &redacting);

    let mut chain = Chain::start(selection.moment, selection.counted);
    match selection.refusal {
        Some((by, reason)) => chain.refuse(by, reason, &selection.selected),
        None => {
            let members = plan::plan(selection.selected, question.contract, question.event.spec);
            chain.run_members(engine, &limits, question.contract, members).await;
        }
    }
    chain.settle(engine, &limits, &question).await;
    verdict::make_verdict(engine, &question, &mut chain)
}
