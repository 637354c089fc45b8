//! The chain of hooks of one event: runs them, each on the value that those before it have made.

use super::aggregate::{Folded, combine_rewrites, ends};
use super::counted_call::CountedCall;
use super::failure::{self, Refusal};
use super::plan::{Member, Next, Rest, Turn};
use super::question::RunLimits;
use super::run::{self, HookRun};
use super::sessions::OnceClaim;
use super::state::Engine;
use crate::hook::Hook;
use crate::hook_set::Selected;
use futures_util::future::{Either, Ready, join_all, ready};
use hookwire_base::event::{Event, Phase};
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::{Answer, Decision, Outcome, Status};
use hookwire_handlers::handlers::Moment;
use hookwire_rules::contract::Contract;
use serde_json::Value;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// The state of an event's chain.
pub(super) struct Chain {
    /// The event as it arrived.
    pub first: Arc<Moment>,
    /// The event with all rewrites so far.
    pub moment: Arc<Moment>,
    pub folded: Folded,
    pub outcomes: Vec<Outcome>,
    pub errors: Vec<String>,
    /// Counts the rewrites.
    pub version: u32,
    /// Which version each hook has judged last, and which it made: [`SHARED`] if other hooks made
    /// it too.
    pub judged: Vec<(Arc<Hook>, u32)>,
    pub made: Vec<(Arc<Hook>, u32)>,
    /// Who allowed, why, and which version: an allow is for the value that it saw or made.
    pub allowed: Vec<(Arc<str>, Option<String>, u32)>,
    /// The outermost layer of the hooks whose answers end the client's chain.
    ended_at: Option<Layer>,
    /// The `once` hooks that have run: they are spent when the event is decided.
    pub claims: Vec<OnceClaim>,
    /// The limits that count the call, if it isn't denied.
    pub counted: Vec<CountedCall>,
}

/// The version of a value that several hooks made. It equals no real version, because a hook that
/// rewrote a part has not judged the whole.
const SHARED: u32 = 0;

/// The result of running a member.
struct MemberRun {
    name: Arc<str>,
    /// The layer for which the answer ends the chain, if it does.
    layer: Layer,
    /// It belongs to the one list of the client's system.
    is_listed: bool,
    answer: Box<Answer>,
    /// The hook that gave it couldn't tell whether it applies.
    in_doubt: bool,
    withheld: bool,
    /// The hooks that rewrote, for judging again, and whether the value is theirs alone.
    rewrote: Vec<(Arc<Hook>, bool)>,
    judged: SmallVec<[Arc<Hook>; 1]>,
    outcomes: Vec<Outcome>,
    errors: Vec<String>,
    claims: Vec<OnceClaim>,
}

impl Chain {
    pub(super) fn start(moment: Arc<Moment>, counted: Vec<CountedCall>) -> Chain {
        Chain {
            first: moment.clone(),
            moment,
            folded: Folded::default(),
            outcomes: Vec::new(),
            errors: Vec::new(),
            version: 0,
            judged: Vec::new(),
            made: Vec::new(),
            allowed: Vec::new(),
            ended_at: None,
            claims: Vec::new(),
            counted,
        }
    }

    /// Runs members under a composition, those that follow on what those before have made.
    pub(super) async fn run_members(
        &mut self,
        engine: &Engine,
        limits: &RunLimits<'_>,
        contract: &'static Contract,
        members: Vec<Member>,
    ) {
        let client = limits.question.contract;
        let mut rest = Rest::of(members, contract, client, self.moment.event().spec);
        loop {
            let Some(runs) = self.run_next(engine, limits, &mut rest) else {
                return;
            };
            let runs = runs.await;
            self.absorb([contract, client], runs, &mut rest);
        }
    }

    /// The runs of the members whose turn it is: over already if there was nothing to wait for.
    fn run_next<'a>(
        &'a mut self,
        engine: &'a Engine,
        limits: &'a RunLimits<'_>,
        rest: &mut Rest,
    ) -> Option<Running<'a, Runs>> {
        let turn = rest.next_turn(|hook, ended_at| self.skip_unless_surer(hook, ended_at))?;
        let moment = &self.moment;
        Some(match turn {
            Turn::One(next) => match run_member(engine, limits, next, moment) {
                Either::Left(run) => Either::Left(ready(smallvec![run.into_inner()])),
                Either::Right(run) => Either::Right(Box::pin(async move { smallvec![run.await] })),
            },
            Turn::Several(group) => {
                let runs = group
                    .into_iter()
                    .map(|next| run_member(engine, limits, next, moment));
                let runs = join_all(runs);
                Either::Right(Box::pin(async move { runs.await.into() }))
            }
        })
    }

    /// Denies an event that no hook judges; the hooks that were selected are skipped.
    pub(super) fn refuse(&mut self, refusal: Refusal, selected: &[Selected]) {
        let Refusal {
            by,
            decision,
            reason,
        } = refusal;
        match &by {
            Some(name) => {
                let denied = run::outcome_of(name.clone(), Status::Blocking, Duration::ZERO);
                self.outcomes.push(Outcome {
                    decision,
                    reason: Some(reason.clone()),
                    scripts: self.moment.facts.scripts(),
                    rejudged: !self.outcomes.is_empty(),
                    fails_closed: true,
                    ..denied
                });
                let why = format!("denied by the {name} before");
                self.outcomes.extend(
                    selected
                        .iter()
                        .map(|selected| run::skipped(selected, &*why)),
                );
            }
            None => self.errors.push(reason.clone()),
        }
        self.folded.decision = decision;
        self.folded.decided_by = by;
        self.folded.reasons = vec![reason];
    }

    /// Skips a hook for which the chain has ended, unless it is [to say why](Self::is_to_say_why).
    fn skip_unless_surer(
        &mut self,
        selected: Selected,
        ended_at: Option<Layer>,
    ) -> Option<Selected> {
        if ended_at.is_some_and(|layer| self.is_to_say_why(&selected, layer)) {
            return Some(selected);
        }
        let why = match &self.folded.decided_by {
            Some(hook) if self.folded.decision == Some(Decision::Deny) => {
                format!("denied by `{hook}` before")
            }
            _ => "the chain had ended".to_string(),
        };
        self.outcomes.push(run::skipped(&selected, why));
        None
    }

    /// Whether a hook has a say although a deny has ended the chain of its layer: that deny was in
    /// doubt, and this one is certain. It says why, then, whatever the priorities are: a doubt of
    /// another rule would mislead.
    pub(super) fn is_to_say_why(&self, selected: &Selected, ended_at: Layer) -> bool {
        let Folded {
            decision, in_doubt, ..
        } = self.folded;
        decision == Some(Decision::Deny)
            && in_doubt
            && selected.hook.source.layer == ended_at
            && selected.is_certain_deny()
    }

    /// Adds what members made of the same value to the chain, in list order, and notes where their
    /// answers end it.
    fn absorb(&mut self, [contract, client]: [&Contract; 2], runs: Runs, rest: &mut Rest) {
        let event = self.moment.event().clone();
        let phase = event.spec.phase;
        let all = &runs[..];
        let is_alone = all.len() == 1;
        let withheld = all.iter().any(|run| run.withheld);
        let rewrites: Vec<_> = all
            .iter()
            .filter_map(|run| Some((&*run.name, run.answer.subject.as_ref()?)))
            // A hook that returns the value unchanged is not a rewrite, so it can't conflict.
            .filter(|(_, subject)| is_alone || Some(*subject) != event.subject())
            .collect();
        let (subject, conflicts) = match &rewrites[..] {
            _ if withheld => (Some(Cow::Owned(Value::Null)), Vec::new()),
            [] => (None, Vec::new()),
            [(_, only)] => (Some(Cow::Borrowed(*only)), Vec::new()),
            _ => {
                let (combined, conflicts) = combine_rewrites(event.subject(), &rewrites);
                (combined.map(Cow::Owned), conflicts)
            }
        };
        let rewritten = subject
            .as_deref()
            .filter(|subject| Some(*subject) != event.subject());
        let mut next = rewritten.map(|subject| event.with_subject(subject.clone()));
        let patch = |next: &mut Option<Event>, patch: &Value| {
            let patched = next.as_ref().unwrap_or(&event).with_context(patch);
            *next = Some(patched).filter(|patched| patched.data() != event.data());
        };
        all.iter()
            .filter_map(|run| run.answer.context.as_ref())
            .for_each(|context| patch(&mut next, context));
        if let Some(trace) = contract.trace {
            for run in all {
                if let Some(traces) = trace(next.as_ref().unwrap_or(&event), &run.answer) {
                    patch(&mut next, &traces);
                }
            }
        }
        // The value of a single member stays in its answer, for `Folded::add` to take.
        let combined = if is_alone {
            None
        } else {
            subject.map(Cow::into_owned)
        };
        let mut makers = Vec::new();
        let mut allows = Vec::new();
        for mut run in runs {
            if run.answer.decision == Some(Decision::Allow) {
                allows.push((
                    run.name.clone(),
                    run.answer.reason.clone(),
                    !run.rewrote.is_empty(),
                ));
            }
            self.judged
                .extend(run.judged.into_iter().map(|hook| (hook, self.version)));
            makers.extend(run.rewrote);
            self.claims.extend(run.claims);
            self.errors.extend(run.errors);
            let remark = |remark: &String| format!("hook `{}`: {remark}", run.name);
            self.errors.extend(run.answer.remarks.iter().map(remark));
            match self.outcomes.is_empty() {
                true => self.outcomes = run.outcomes,
                false => self.outcomes.extend(run.outcomes),
            }
            if !is_alone {
                run.answer.subject = None;
            }
            if ends(contract.composition, phase, &run.answer) {
                rest.end_at(run.layer, run.is_listed);
            }
            if ends(client.composition, phase, &run.answer) {
                self.ended_at = self.ended_at.into_iter().chain([run.layer]).min();
            }
            self.folded.add(
                contract.composition,
                phase,
                &run.name,
                *run.answer,
                run.in_doubt,
            );
        }
        self.errors.extend(conflicts);
        if combined.is_some() && !self.folded.withheld {
            self.folded.subject = combined;
        }
        self.folded.withheld |= withheld;
        let before = self.version;
        let is_changed = |next: &Event| {
            // Only what hooks can veto counts as another value: the subject and the tool.
            next.subject() != event.subject() || next.data().get("tool") != event.data().get("tool")
        };
        let alone = is_alone || makers.len() == 1;
        if next.as_ref().is_some_and(is_changed) {
            self.version += 1;
            let version = |whole| if alone && whole { self.version } else { SHARED };
            self.made.extend(
                makers
                    .into_iter()
                    .map(|(hook, whole)| (hook, version(whole))),
            );
        }
        // Whoever made the value alone has allowed what it made.
        let version = |rewrote| {
            if rewrote && alone {
                self.version
            } else {
                before
            }
        };
        self.allowed.extend(
            allows
                .into_iter()
                .map(|(hook, reason, rewrote)| (hook, reason, version(rewrote))),
        );
        let Some(next) = next else { return };
        self.moment = Arc::new(self.moment.rewritten(Arc::new(next)));
    }

    /// Takes back an allow at a gate that was for another value than the one that goes out, unless
    /// somebody has allowed that one.
    pub(super) fn settle_allow(&mut self) {
        let is_stale = self.version > 0 && self.moment.event().spec.phase == Phase::Gate;
        if !is_stale || self.folded.decision != Some(Decision::Allow) {
            return;
        }
        let (decision, decided_by, reason) =
            match self.allowed.iter().find(|(_, _, at)| *at == self.version) {
                Some((hook, reason, _)) => {
                    (Some(Decision::Allow), Some(hook.clone()), reason.clone())
                }
                None => (None, None, None),
            };
        self.folded.decision = decision;
        self.folded.decided_by = decided_by;
        self.folded.reasons = reason.into_iter().collect();
    }
}

/// Whether an answer changes what hooks can veto: the subject or the tool.
pub(super) fn rewrites(event: &Event, answer: &Answer) -> bool {
    let changes_tool = |patch: &Value| {
        patch.get("tool").is_some()
            && event.with_context(patch).data().get("tool") != event.data().get("tool")
    };
    answer
        .subject
        .as_ref()
        .is_some_and(|subject| Some(subject) != event.subject())
        || answer.context.as_ref().is_some_and(changes_tool)
}

impl MemberRun {
    fn of_hook(hook: Arc<Hook>, is_listed: bool, run: HookRun, event: &Event) -> MemberRun {
        let withheld = failure::withholds(run.has_failed, &run.answer, event);
        let HookRun {
            answer,
            outcome,
            claim,
            ..
        } = run;
        let rewrote = rewrites(event, &answer)
            .then(|| (hook.clone(), true))
            .into_iter()
            .collect();
        MemberRun {
            name: hook.name.clone(),
            layer: hook.source.layer,
            is_listed,
            answer,
            in_doubt: outcome.opaque.is_some(),
            withheld,
            rewrote,
            judged: smallvec![hook],
            outcomes: vec![*outcome],
            errors: Vec::new(),
            claims: claim.into_iter().collect(),
        }
    }

    fn of_block(contract: &Contract, layer: Layer, chain: Chain) -> MemberRun {
        // People look for the hook that decided, not for the block that it is in.
        let name = chain
            .folded
            .decided_by
            .clone()
            .unwrap_or_else(|| contract.dialect.into());
        // Of a block that rewrote, no hook is known to have judged the final value.
        let judged = chain
            .judged
            .into_iter()
            .filter(|_| chain.version == 0)
            .map(|(hook, _)| hook)
            .collect();
        MemberRun {
            name,
            layer: chain.ended_at.unwrap_or(layer),
            is_listed: false,
            in_doubt: chain.folded.in_doubt,
            withheld: chain.folded.withheld,
            rewrote: chain
                .made
                .into_iter()
                .map(|(hook, version)| (hook, version == chain.version))
                .collect(),
            judged,
            answer: Box::new(chain.folded.into_answer()),
            outcomes: chain.outcomes,
            errors: chain.errors,
            claims: chain.claims,
        }
    }
}

/// The runs of one turn.
type Runs = SmallVec<[MemberRun; 1]>;

/// What is over already, because there was nothing to wait for; or boxed, or the largest handler's
/// state would be part of every event's future.
type Running<'a, T> = Either<Ready<T>, Pin<Box<dyn Future<Output = T> + Send + 'a>>>;

fn run_member<'a>(
    engine: &'a Engine,
    limits: &'a RunLimits<'_>,
    Next { member, is_listed }: Next,
    moment: &'a Arc<Moment>,
) -> Running<'a, MemberRun> {
    match member {
        Member::Hook(selected) => match run::run_at_once(engine, limits, &selected, moment) {
            Some(run) => Either::Left(ready(MemberRun::of_hook(
                selected.hook,
                is_listed,
                run,
                moment.event(),
            ))),
            None => Either::Right(Box::pin(async move {
                let run = run::run_in_time(engine, limits, &selected, moment).await;
                MemberRun::of_hook(selected.hook, is_listed, run, moment.event())
            })),
        },
        Member::Block {
            contract,
            layer,
            members,
        } => Either::Right(Box::pin(async move {
            let mut chain = Chain::start(moment.clone(), Vec::new());
            chain.run_members(engine, limits, contract, members).await;
            chain.settle_allow();
            MemberRun::of_block(contract, layer, chain)
        })),
    }
}
