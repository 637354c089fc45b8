//! From an event to a verdict: select, run, judge rewrites again, aggregate.
//!
//! Knows neither JSON-RPC nor files. [`decide`] is the place to start reading hookwire. Each step
//! of `judge_event` is a file: `select` (with `policy_gate`), `plan`, `chain` (with `run`),
//! `settle`, `verdict`. The steps stand on `question` and `state`, and ask `failure` what an error
//! counts as.

mod aggregate;
mod aside;
mod calls;
mod chain;
mod clock;
mod counted_call;
mod failure;
mod intercept;
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
mod trial;
mod verdict;

use chain::Chain;
pub use failure::JUDGED;
pub use hookwire_base::event::PROBE_SESSION;
use hookwire_base::verdict::Verdict;
use hookwire_handlers::handlers;
pub use intercept::{Interceptor, Judging, PassThrough};
use plan::Equals;
pub use plan::{in_running_order, order};
pub use question::{HooksInForce, Question, deadline};
use question::{RunLimits, Within};
pub use run::{NOT_RUN, panic_text};
use select::Selection;
pub use sessions::MAX_SEND_BACKS;
pub use state::{DetachedEnd, Effects, Engine, Report};
pub use trial::Trial;

/// Judges one event. Never fails: what goes wrong in a hook counts in that hook's failure
/// direction. Dropping the future cancels the hooks and ends their processes.
pub fn decide(engine: &Engine, question: Question) -> impl Future<Output = Verdict> + Send + '_ {
    judge_event(
        engine,
        question,
        Within {
            depth: handlers::depth(),
            asks_nobody: false,
        },
    )
}

/// The way of an event, whether a client sent it or a hook does what it is about.
///
/// It is the same for an event that is decided at once and for one that waits: where all hooks that
/// apply are fixed verdicts, it passes each `await` without waiting. What waits is boxed where it
/// begins, because this future is made for each event.
#[expect(
    clippy::manual_async_fn,
    reason = "the future of an `async fn` keeps its arguments twice"
)]
fn judge_event(
    engine: &Engine,
    mut question: Question,
    within: Within,
) -> impl Future<Output = Verdict> + Send + '_ {
    async move {
        let selection = select::select_hooks(engine, &mut question, within).await;
        let Selection {
            moment,
            selected,
            redacting,
            refusal,
            counted,
        } = selection;
        let limits = RunLimits {
            question: &question,
            within,
            redacting: &redacting,
        };
        let mut chain = Chain::start(moment, counted);
        match refusal {
            Some(refusal) => chain.refuse(refusal, &selected),
            None => {
                let members = plan::arrange(
                    selected,
                    question.contract,
                    question.event.spec,
                    Equals::RunOnce,
                );
                chain
                    .run_members(engine, &limits, question.contract, members)
                    .await;
            }
        }
        chain.settle_decision(engine, &limits).await;
        verdict::make_verdict(engine, &question, &mut chain)
    }
}
