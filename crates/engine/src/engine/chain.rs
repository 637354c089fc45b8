//! The chain of hooks of one event: runs them, each on the value that those before it have made.

use super::aggregate::{Folded, combine_rewrites, ends};
use super::counted_call::CountedCall;
use super::failure;
use super::limits::RunLimits;
use super::plan::{Ended, Member, Rest, is_chain};
use super::run::{self, HookRun};
use super::sessions::OnceClaim;
use super::state::Engine;
use crate::hook::Hook;
use crate::hook_set::Selected;
use futures_util::future::join_all;
use hookwire_base::event::{Event, Phase};
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::{Answer, Decision, Outcome, Status};
use hookwire_handlers::handlers::Moment;
use hookwire_rules::contract::{Composition, Contract};
use serde_json::Value;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

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
    /// Which version each hook has judged last, and which it made: [`SHARED`] if other hooks made it
    /// too.
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

/// The members whose turn it is.
enum Next {
    One(Member),
    /// They run at the same time, on the same value.
    Several(Vec<Member>),
}

/// The result of running a member.
struct MemberRun {
    name: Arc<str>,
    /// The layer for which the answer ends the chain, if it does.
    layer: Layer,
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
        // A list ends as its system says only for that system's clients: in another chain the layers count.
        let client = limits.contract;
        let mut rest = Rest::of(members, contract, self.moment.event().spec);
        while let Some(next) = self.next_members(&mut rest, contract.composition, client) {
            match next {
                Next::One(member) => {
                    let is_in_one_list = member.is_in_one_list(client);
                    let run = run_member(engine, limits, member, &self.moment).await;
                    self.note_end(&mut rest.ended, [contract, client], &run, is_in_one_list);
                    self.absorb(contract, [run]);
                }
                Next::Several(members) => {
                    let listed: Vec<bool> = members.iter().map(|it| it.is_in_one_list(client)).collect();
                    let all = members.into_iter().map(|member| run_member(engine, limits, member, &self.moment));
                    let runs = join_all(all).await;
                    for (run, is_in_one_list) in runs.iter().zip(listed) {
                        self.note_end(&mut rest.ended, [contract, client], run, is_in_one_list);
                    }
                    self.absorb(contract, runs);
                }
            }
        }
    }

    /// The members whose turn it is; those for which the chain has ended are skipped.
    fn next_members(&mut self, rest: &mut Rest, composition: Composition, client: &Contract) -> Option<Next> {
        let Rest { members, ended } = rest;
        let closes = self.moment.event().spec.closes;
        let member = loop {
            if let Some(member) = self.skip_ended(members.next()?, ended, client) {
                break member;
            }
        };
        let stage = member.stage(composition);
        let in_parallel = |member: &Member| {
            (!is_chain(composition) || member.runs_in_parallel())
                && (!closes || member.stage(composition) == stage)
                && !ended.includes(member, client)
        };
        if in_parallel(&member)
            && let Some(second) = members.next_if(in_parallel)
        {
            let mut group = vec![member, second];
            group.extend(std::iter::from_fn(|| members.next_if(in_parallel)));
            return Some(Next::Several(group));
        }
        Some(Next::One(member))
    }

    /// Ends before any hook, with the decision that a failure counts as.
    pub(super) fn fail(&mut self, (decision, why): (Option<Decision>, String)) {
        self.folded.decision = decision;
        self.folded.reasons = vec![why.clone()];
        self.errors.push(why);
    }

    /// Denies in the name of the policy or of a hook; the hooks that were selected are skipped.
    pub(super) fn refuse(&mut self, name: Arc<str>, reason: String, selected: &[Selected]) {
        let outcome = Outcome {
            hook: name.clone(),
            status: Status::Blocking,
            decision: Some(Decision::Deny),
            reason: Some(reason.clone()),
            error: None,
            opaque: None,
            scripts: self.moment.facts.scripts(),
            rewrote: false,
            rejudged: !self.outcomes.is_empty(),
            observed: None,
            transcript: Vec::new(),
            stop: None,
            stop_signals: Vec::new(),
            said: None,
            fails_closed: true,
            started_at: None,
            duration_micros: 0,
        };
        let why = format!("denied by the {name} before");
        self.outcomes.push(outcome);
        self.outcomes.extend(selected.iter().map(|selected| run::skipped(selected, &*why)));
        self.folded.decision = Some(Decision::Deny);
        self.folded.decided_by = Some(name);
        self.folded.reasons = vec![reason];
    }

    /// Notes whether an answer ends the chain that is run, and the client's.
    fn note_end(&mut self, ended: &mut Ended, [own, client]: [&Contract; 2], run: &MemberRun, is_in_one_list: bool) {
        let phase = self.moment.event().spec.phase;
        if ends(own.composition, phase, &run.answer) {
            ended.layer = ended.layer.into_iter().chain([run.layer]).min();
            ended.one_list |= is_in_one_list;
        }
        if ends(client.composition, phase, &run.answer) {
            self.ended_at = self.ended_at.into_iter().chain([run.layer]).min();
        }
    }

    /// Skips the hooks for which the chain has ended, and returns the others.
    fn skip_ended(&mut self, member: Member, ended: &Ended, client: &Contract) -> Option<Member> {
        let has_ended = ended.includes(&member, client);
        match member {
            Member::Hook(selected)
                if has_ended && !ended.layer.is_some_and(|layer| self.is_to_say_why(&selected, layer)) =>
            {
                let why = match &self.folded.decided_by {
                    Some(hook) if self.folded.decision == Some(Decision::Deny) => format!("denied by `{hook}` before"),
                    _ => "the chain had ended".to_string(),
                };
                self.outcomes.push(run::skipped(&selected, why));
                None
            }
            hook @ Member::Hook(_) => Some(hook),
            Member::Block { contract, layer, members } => {
                let left = members.into_iter().filter_map(|it| self.skip_ended(it, ended, client));
                let members: Vec<Member> = left.collect();
                (!members.is_empty()).then_some(Member::Block { contract, layer, members })
            }
        }
    }

    /// Whether a hook has a say although a deny has ended the chain of its layer: that deny was in doubt, and this one is
    /// certain. It says why, then, whatever the priorities are: a doubt of another rule would mislead.
    pub(super) fn is_to_say_why(&self, selected: &Selected, ended_at: Layer) -> bool {
        let Folded { decision, in_doubt, .. } = self.folded;
        decision == Some(Decision::Deny)
            && in_doubt
            && selected.hook.source.layer == ended_at
            && selected.is_certain_deny()
    }

    /// Adds what members made of the same value to the chain, in list order.
    fn absorb<R>(&mut self, contract: &Contract, runs: R)
    where
        R: AsRef<[MemberRun]> + IntoIterator<Item = MemberRun>,
    {
        let event = self.moment.event().clone();
        let all = runs.as_ref();
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
        let rewritten = subject.as_deref().filter(|subject| Some(*subject) != event.subject());
        let mut next = rewritten.map(|subject| event.with_subject(subject.clone()));
        let patch = |next: &mut Option<Event>, patch: &Value| {
            let patched = next.as_ref().unwrap_or(&event).with_context(patch);
            *next = Some(patched).filter(|patched| patched.data() != event.data());
        };
        all.iter().filter_map(|run| run.answer.context.as_ref()).for_each(|context| patch(&mut next, context));
        if let Some(trace) = contract.trace {
            for run in all {
                if let Some(traces) = trace(next.as_ref().unwrap_or(&event), &run.answer) {
                    patch(&mut next, &traces);
                }
            }
        }
        // The value of a single member stays in its answer, for `Folded::add` to take.
        let combined = if is_alone { None } else { subject.map(Cow::into_owned) };
        let mut makers = Vec::new();
        let mut allows = Vec::new();
        for mut run in runs {
            if run.answer.decision == Some(Decision::Allow) {
                allows.push((run.name.clone(), run.answer.reason.clone(), !run.rewrote.is_empty()));
            }
            self.judged.extend(run.judged.into_iter().map(|hook| (hook, self.version)));
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
            self.folded.add(contract.composition, event.spec.phase, &run.name, *run.answer, run.in_doubt);
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
            self.made.extend(makers.into_iter().map(|(hook, whole)| (hook, version(whole))));
        }
        // Whoever made the value alone has allowed what it made.
        let version = |rewrote| if rewrote && alone { self.version } else { before };
        self.allowed.extend(allows.into_iter().map(|(hook, reason, rewrote)| (hook, reason, version(rewrote))));
        let Some(next) = next else { return };
        self.moment = Arc::new(self.moment.rewritten(Arc::new(next)));
    }

    /// Takes back an allow at a gate that was for another value than the one that goes out, unless somebody has
    /// allowed that one.
    pub(super) fn settle_allow(&mut self) {
        let is_stale = self.version > 0 && self.moment.event().spec.phase == Phase::Gate;
        if !is_stale || self.folded.decision != Some(Decision::Allow) {
            return;
        }
        let (decision, decided_by, reason) = match self.allowed.iter().find(|(_, _, at)| *at == self.version) {
            Some((hook, reason, _)) => (Some(Decision::Allow), Some(hook.clone()), reason.clone()),
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
        patch.get("tool").is_some() && event.with_context(patch).data().get("tool") != event.data().get("tool")
    };
    answer.subject.as_ref().is_some_and(|subject| Some(subject) != event.subject())
        || answer.context.as_ref().is_some_and(changes_tool)
}

impl MemberRun {
    fn of_hook(hook: Arc<Hook>, run: HookRun, event: &Event) -> MemberRun {
        let withheld = failure::withholds(run.has_failed, &run.answer, event);
        let HookRun { answer, outcome, claim, .. } = run;
        let rewrote = rewrites(event, &answer).then(|| (hook.clone(), true)).into_iter().collect();
        MemberRun {
            name: hook.name.clone(),
            layer: hook.source.layer,
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
        let name = chain.folded.decided_by.clone().unwrap_or_else(|| contract.dialect.into());
        // Of a block that rewrote, no hook is known to have judged the final value.
        let judged = chain.judged.into_iter().filter(|_| chain.version == 0).map(|(hook, _)| hook).collect();
        MemberRun {
            name,
            layer: chain.ended_at.unwrap_or(layer),
            in_doubt: chain.folded.in_doubt,
            withheld: chain.folded.withheld,
            rewrote: chain.made.into_iter().map(|(hook, version)| (hook, version == chain.version)).collect(),
            judged,
            answer: Box::new(chain.folded.into_answer()),
            outcomes: chain.outcomes,
            errors: chain.errors,
            claims: chain.claims,
        }
    }
}

async fn run_member(engine: &Engine, limits: &RunLimits<'_>, member: Member, moment: &Arc<Moment>) -> MemberRun {
    match member {
        Member::Hook(selected) => {
            let run = run::run_hook(engine, limits, &selected, moment).await;
            MemberRun::of_hook(selected.hook, run, moment.event())
        }
        Member::Block { contract, layer, members } => run_block(engine, limits, contract, layer, members, moment).await,
    }
}

/// Boxed, since a block runs members in turn; blocks don't nest deeper.
fn run_block<'a>(
    engine: &'a Engine,
    limits: &'a RunLimits<'_>,
    contract: &'static Contract,
    layer: Layer,
    members: Vec<Member>,
    moment: &'a Arc<Moment>,
) -> Pin<Box<dyn Future<Output = MemberRun> + Send + 'a>> {
    Box::pin(async move {
        let mut chain = Chain::start(moment.clone(), Vec::new());
        chain.run_members(engine, limits, contract, members).await;
        chain.settle_allow();
        MemberRun::of_block(contract, layer, chain)
    })
}
