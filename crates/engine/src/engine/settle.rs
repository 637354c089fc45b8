//! The step after the hooks: what they made of the event is judged again, by hooks, policies and a
//! person.

use super::chain::{Chain, rewrites};
use super::plan::is_chain;
use super::question::{Question, RunLimits};
use super::state::Engine;
use super::{aside, failure, run};
use crate::hook::Hook;
use hookwire_base::event::Phase;
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::{Decision, Status};
use hookwire_handlers::services::approvals::{self, NoAnswer, Remember};
use hookwire_rules::contract::{Composition, NATIVE};
use std::sync::Arc;
use std::time::Duration;

/// How long a client's person has for an `ask`, unless the host is started with another time.
const ASK_TIMEOUT: Duration = Duration::from_secs(300);

/// How an `ask` counts when a value is judged again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// A person is to be asked.
    Count,
    /// They are answered: a person made or has seen this very value.
    AreAnswered,
}

impl Chain {
    /// Comes to the decision that stands: hooks judge a rewrite again, then the policies, then a
    /// person is asked, and what the person changed is judged once more.
    pub(super) async fn settle_decision(&mut self, engine: &Engine, limits: &RunLimits<'_>) {
        if !self.is_judged() {
            // Boxed, as below: an event's future is made for each event, and most have nothing to
            // settle.
            Box::pin(self.judge_again(engine, limits, Asks::Count)).await;
        }
        self.settle_allow();
        self.judge_by_policies(engine, limits).await;
        let Some(timeout) = self.time_for_person(engine, limits) else {
            return;
        };
        let is_changed = Box::pin(self.ask_person(engine, limits, timeout)).await;
        if is_changed && !self.is_judged() {
            Box::pin(self.judge_again(engine, limits, Asks::AreAnswered)).await;
        }
        self.judge_by_policies(engine, limits).await;
    }

    /// Puts an `ask` to a person; without an answer it is a deny. Returns whether the person
    /// changed the value, because no hook has judged that one.
    async fn ask_person(
        &mut self,
        engine: &Engine,
        limits: &RunLimits<'_>,
        timeout: Duration,
    ) -> bool {
        let moment = self.moment.clone();
        // One question for all hooks that ask, so that one answer settles them all.
        let asking = || {
            self.outcomes
                .iter()
                .filter(|outcome| outcome.decision == Some(Decision::Ask))
        };
        let hooks: Vec<&str> = asking().map(|outcome| &*outcome.hook).collect();
        let mut reasons: Vec<&str> = Vec::new();
        for outcome in asking() {
            let reason = outcome.reason.as_deref().or(outcome.error.as_deref());
            reasons.extend(reason.filter(|reason| !reasons.contains(reason)));
        }
        let reason = reasons.join("; ");
        let asks = |hook: &&Arc<Hook>| hooks.contains(&&*hook.name);
        let definitions = limits
            .question
            .hooks
            .all()
            .filter(asks)
            .map(|hook| hook.fingerprint)
            .collect();
        let hooks = hooks.join(", ");
        let question = approvals::Question {
            hook: &hooks,
            file: "",
            definitions,
            message: reason.clone(),
            event: moment.event(),
            files: moment.facts.files_run(),
            paths: moment.facts.paths_named(),
            timeout,
            unanswered: Decision::Deny,
            remember: Remember::Input,
        };
        let services = &engine.services;
        let asked =
            services
                .approvals
                .ask(question, &services.state, limits.question.client.as_ref());
        let reply = tokio::select! {
            reply = asked => reply,
            () = limits.wait_until_over() => Err(NoAnswer::Error("get an approval in time".into())),
        };
        let reply = match reply {
            Ok(answered)
                if answered.reply.subject.is_some() && moment.event().subject().is_none() =>
            {
                Err(NoAnswer::Error(format!(
                    "take the change: {} has nothing to change",
                    moment.event().name
                )))
            }
            reply => reply,
        };
        let (decision, reasons) = match &reply {
            Ok(answered) => answered.decided(&reason, limits.question.contract.dialect == NATIVE),
            Err(no_answer) => failure::unanswered(&reason, no_answer),
        };
        self.folded.decision = Some(decision);
        self.folded.reasons = vec![reasons];
        let changed = reply
            .ok()
            .and_then(|answered| answered.reply.subject)
            .filter(|_| decision == Decision::Allow);
        let Some(subject) = changed.filter(|subject| Some(subject) != moment.event().subject())
        else {
            return false;
        };
        self.version += 1;
        self.moment =
            Arc::new(moment.rewritten(Arc::new(moment.event().with_subject(subject.clone()))));
        self.folded.subject = Some(subject);
        true
    }

    /// Whether no value is left to be judged [again](Self::judge_again).
    fn is_judged(&self) -> bool {
        // A replacement keeps the rest of the chain from judging even when it changes nothing.
        let is_new = self.version > 0 || self.folded.replaced;
        !is_new
            || self.moment.event().spec.phase != Phase::Gate
            || self.folded.decision == Some(Decision::Deny)
    }

    /// Has a rewrite judged again: every hook that applies to the final value and has neither
    /// judged nor made it runs once more, except detached and `once` hooks. Otherwise a hook could
    /// smuggle in what a guard would have refused. (Kubernetes' reinvocation.)
    async fn judge_again(&mut self, engine: &Engine, limits: &RunLimits<'_>, asks: Asks) {
        let phase = self.moment.event().spec.phase;
        let client = limits.question.contract;
        // In other systems no hook judges again what another hook of that system made. That rule is
        // only for their own hooks: hookwire's judge every rewrite. Nor do their systems have
        // layers: what an inner layer made, the managed and the user layer judge, unless all hooks
        // see the same snapshot.
        let is_their_own = client.dialect != NATIVE
            && asks == Asks::Count
            && self.made.iter().all(|(hook, _)| hook.contract == client);
        let innermost = self.made.iter().map(|(hook, _)| hook.source.layer).max();
        let is_outside = |layer: Layer| {
            is_chain(client.composition)
                && layer < Layer::Hooks
                && innermost.is_some_and(|made| layer < made)
        };
        let version = self.version;
        let knows = |list: &[(Arc<Hook>, u32)], hook: &Arc<Hook>, version: Option<u32>| {
            list.iter().any(|(it, at)| {
                Arc::ptr_eq(it, hook) && version.is_none_or(|version| version == *at)
            })
        };
        let hooks = limits.question.hooks.clone();
        let again = aside::hold(engine, limits, &mut self.moment, move |facts| {
            hooks.select(facts)
        })
        .await;
        // The layer of the hook that denies the value: it ends the judging.
        let mut ended = None;
        for selected in again {
            let hook = &selected.hook;
            let made_it = version > 0 && knows(&self.made, hook, Some(version));
            let is_exempt =
                is_their_own && hook.contract == client && !is_outside(hook.source.layer);
            let settled = made_it || is_exempt || knows(&self.judged, hook, Some(version));
            if settled
                || hook.detached
                || hook.once
                || ended.is_some_and(|at| !self.is_to_say_why(&selected, at))
            {
                continue;
            }
            let moment = self.moment.clone();
            let mut run = run::run_in_time(engine, limits, &selected, &moment).await;
            run.outcome.rejudged = true;
            let mut answer = *std::mem::take(&mut run.answer);
            if run.has_failed && answer.decision != Some(Decision::Deny) {
                answer = failure::failed_again(hook, run.outcome.error.as_deref());
            }
            // A hook that adds something to every value would add it again: that is ignored. A hook
            // that takes out what must not be there has found something left, and no hook may
            // change what a person made.
            let may_repeat = knows(&self.made, hook, None)
                && !hook.handler.is_idempotent()
                && asks == Asks::Count;
            if rewrites(moment.event(), &answer) && !may_repeat {
                let cause = if asks == Asks::Count {
                    "another hook rewrote"
                } else {
                    "a person changed"
                };
                answer = failure::rewritten_again(hook, cause);
            }
            if answer.decision == Some(Decision::Allow) && !rewrites(moment.event(), &answer) {
                self.allowed
                    .push((hook.name.clone(), answer.reason.clone(), version));
            }
            answer.subject = None;
            answer.replace = false;
            answer.context = None;
            answer.decision = answer.decision.filter(|decision| match decision {
                Decision::Allow => false,
                Decision::Ask => asks == Asks::Count,
                Decision::Defer | Decision::Deny => true,
            });
            run.outcome.rewrote = false;
            run.outcome.decision = answer.decision;
            let denied = answer.decision == Some(Decision::Deny);
            if denied && run.outcome.status != Status::Cancelled {
                run.outcome.status = Status::Blocking;
            }
            if denied {
                ended = ended.or(Some(hook.source.layer));
            }
            self.folded.add(
                Composition::Onion,
                phase,
                &hook.name,
                answer,
                run.outcome.opaque.is_some(),
            );
            self.outcomes.push(*run.outcome);
        }
    }

    /// How long a person has for an answer, if one is asked: at a gate, on an `ask` that the client
    /// can't honour itself.
    fn time_for_person(&self, engine: &Engine, limits: &RunLimits<'_>) -> Option<Duration> {
        let Question {
            event,
            client,
            honours,
            ..
        } = limits.question;
        let may_wait = event.spec.phase == Phase::Gate && event.unknown_gate().is_none();
        let is_open = self.folded.decision == Some(Decision::Ask) && may_wait;
        let can_ask = client
            .as_ref()
            .is_some_and(|client| client.answers().approvals);
        let timeout = if can_ask {
            Some(engine.ask_elsewhere.unwrap_or(ASK_TIMEOUT))
        } else {
            engine.ask_elsewhere
        };
        timeout.filter(|_| is_open && !honours.ask && !limits.within.asks_nobody)
    }
}
