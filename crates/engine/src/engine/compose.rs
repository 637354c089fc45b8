//! The chain of hooks of one event: which hook runs when and on which value, and which hooks judge a
//! rewrite again.

use super::aggregate::{Folded, combine_rewrites, ends};
use super::counted_call::CountedCall;
use super::limits::RunLimits;
use super::run::{self, HookRun};
use super::sessions::OnceClaim;
use super::{Engine, HooksInForce, aside, failure, is_chain};
use crate::hook::Hook;
use crate::hook_set::Selected;
use futures_util::future::join_all;
use hookwire_base::event::{Event, EventSpec, Phase};
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::{Answer, Decision, Outcome, Status};
use hookwire_handlers::handlers::Moment;
use hookwire_handlers::services::approvals::{self, NoAnswer, Remember};
use hookwire_rules::contract::{Composition, Contract, NATIVE};
use serde_json::Value;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::iter::Peekable;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use std::vec;

/// A hook, or hooks of a foreign dialect, which enter as one: those of a layer, or the dialect's one list.
pub(super) enum Member {
    Hook(Selected),
    /// `layer` is the outermost of its hooks.
    Block {
        contract: &'static Contract,
        layer: Layer,
        members: Vec<Member>,
    },
}

/// Puts selected hooks in the client's order: blocks for foreign dialects, equal definitions once where the dialect
/// says so. [`turn`] reverses where something closes.
pub(super) fn plan(selected: Vec<Selected>, client: &'static Contract, event: &EventSpec) -> Vec<Member> {
    arrange(selected, client, event, Equals::RunOnce)
}

/// The fate of hooks that equal another one, where the dialect runs such hooks once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Equals {
    RunOnce,
    /// They are for different events, or are shown.
    Stay,
}

fn arrange(selected: Vec<Selected>, client: &'static Contract, event: &EventSpec, equals: Equals) -> Vec<Member> {
    let runs_once = |contract: &Contract| contract.runs_equal_hooks_once && equals == Equals::RunOnce;
    if matches!(&selected[..], [only] if only.hook.contract == client) {
        return selected.into_iter().map(Member::Hook).collect();
    }
    let composition = client.composition;
    let closes_by_layers = event.closes && composition == Composition::Onion;
    let parted = if closes_by_layers { parted_lists(&selected, client) } else { Vec::new() };
    let mut keyed: Vec<((Layer, bool, i64), Member)> = Vec::with_capacity(selected.len());
    for selected in selected {
        let layer = selected.hook.source.layer;
        let contract = selected.hook.contract;
        let is_list = contract.has_one_list && !parted.contains(&contract);
        let list = |layer: Layer| if is_list { layer.min(Layer::Hooks) } else { layer };
        if contract == client {
            let key = composition.order_key(selected.hook.priority);
            if !(runs_once(client) && keyed.iter().any(|(_, member)| member.is_equal(&selected))) {
                keyed.push(((list(layer), false, key), Member::Hook(selected)));
            }
            continue;
        }
        let block = keyed.iter_mut().find_map(|(_, member)| match member {
            Member::Block { contract: theirs, layer: at, members }
                if *theirs == contract && list(*at) == list(layer) =>
            {
                Some(members)
            }
            Member::Block { .. } | Member::Hook(_) => None,
        });
        match block {
            Some(members) if runs_once(contract) && members.iter().any(|member| member.is_equal(&selected)) => {}
            Some(members) => members.push(Member::Hook(selected)),
            None => {
                let members = vec![Member::Hook(selected)];
                keyed.push(((layer, false, composition.order_key(None)), Member::Block { contract, layer, members }));
            }
        }
    }
    for (key, member) in &mut keyed {
        if let Member::Block { contract, layer, members } = member {
            // In the turned order a list of several layers comes before the other hooks of its outermost one.
            key.1 = closes_by_layers && members.iter().any(|member| member.layer() > *layer);
            members.sort_by_key(|member| contract.composition.order_key(member.priority()));
        }
    }
    // Stable: within one key, the order of the set.
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, member)| member).collect()
}

/// Foreign lists that can't be run as one where something closes, because outer layers judge there what inner ones
/// made: other hooks stand in a layer between those of the list, or there are two such lists.
fn parted_lists(selected: &[Selected], client: &Contract) -> Vec<&'static Contract> {
    let mut spans: Vec<(&'static Contract, Layer, Layer)> = Vec::new();
    for hook in selected.iter().map(|it| &it.hook) {
        let (contract, layer) = (hook.contract, hook.source.layer);
        if contract == client || !contract.has_one_list || layer < Layer::Hooks {
            continue;
        }
        match spans.iter_mut().find(|(it, _, _)| *it == contract) {
            Some((_, outermost, innermost)) => {
                (*outermost, *innermost) = (layer.min(*outermost), layer.max(*innermost))
            }
            None => spans.push((contract, layer, layer)),
        }
    }
    spans.retain(|(_, outermost, innermost)| outermost < innermost);
    let is_alone = spans.len() == 1;
    spans.retain(|(contract, outermost, innermost)| {
        let is_between = |hook: &Hook| *outermost < hook.source.layer && hook.source.layer < *innermost;
        !is_alone || selected.iter().any(|it| it.hook.contract != *contract && is_between(&it.hook))
    });
    spans.into_iter().map(|(contract, _, _)| contract).collect()
}

/// The order in which a client has hooks run at an event.
pub(super) fn order(
    hooks: Vec<Selected>,
    client: &'static Contract,
    event: &EventSpec,
    equals: Equals,
) -> Vec<Arc<Hook>> {
    fn unfold(mut members: Vec<Member>, composition: Composition, event: &EventSpec, into: &mut Vec<Arc<Hook>>) {
        turn(&mut members, composition, event);
        members.into_iter().for_each(|member| match member {
            Member::Hook(selected) => into.push(selected.hook),
            Member::Block { contract, members, .. } => unfold(members, contract.composition, event, into),
        });
    }
    let mut order = Vec::with_capacity(hooks.len());
    unfold(arrange(hooks, client, event, equals), client.composition, event, &mut order);
    order
}

/// Puts members in the order in which they run. Where something closes, inner layers come first, because the
/// outer ones judge the value that goes out.
fn turn(members: &mut [Member], composition: Composition, event: &EventSpec) {
    match composition {
        _ if !event.closes => {}
        Composition::Onion => members.reverse(),
        Composition::Pipeline | Composition::Veto | Composition::Middleware | Composition::Parallel => {
            members.sort_by_key(|member| Reverse(member.stage(composition)));
        }
    }
}

impl Member {
    fn is_equal(&self, other: &Selected) -> bool {
        match self {
            // Hooks that decide differently are not equal: an observer's copy must not replace a guard.
            Member::Hook(it) => {
                let (mine, theirs) = (&it.hook, &other.hook);
                mine.fingerprint == theirs.fingerprint
                    && mine.fail_at(Phase::Gate) == theirs.fail_at(Phase::Gate)
                    && mine.timeout == theirs.timeout
                    && (mine.detached, mine.once, mine.observe) == (theirs.detached, theirs.once, theirs.observe)
                    && it.doubt.is_some() == other.doubt.is_some()
            }
            Member::Block { .. } => false,
        }
    }

    fn layer(&self) -> Layer {
        match self {
            Member::Hook(it) => it.hook.source.layer,
            Member::Block { layer, .. } => *layer,
        }
    }

    /// The outermost layer of those that run in one go where something closes. Other systems know one list of
    /// hooks, but no list has the managed and the user layer in it.
    fn stage(&self, composition: Composition) -> Layer {
        match composition {
            Composition::Onion => self.layer(),
            Composition::Pipeline | Composition::Veto | Composition::Middleware | Composition::Parallel => {
                self.layer().min(Layer::Hooks)
            }
        }
    }

    /// Whether it belongs to the one list of the client's system, whose order and end are that system's.
    fn is_in_one_list(&self, client: &Contract) -> bool {
        match self {
            Member::Hook(it) => {
                client.has_one_list && it.hook.contract == client && it.hook.source.layer >= Layer::Hooks
            }
            Member::Block { .. } => false,
        }
    }

    fn priority(&self) -> Option<i64> {
        match self {
            Member::Hook(it) => it.hook.priority,
            Member::Block { .. } => None,
        }
    }

    fn runs_in_parallel(&self) -> bool {
        match self {
            // A detached hook isn't waited for, so nothing waits behind it.
            Member::Hook(it) => it.hook.parallel || it.hook.detached,
            Member::Block { .. } => false,
        }
    }
}

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
    version: u32,
    /// Which version each hook has judged last, and which it made: [`SHARED`] if other hooks made it
    /// too.
    judged: Vec<(Arc<Hook>, u32)>,
    made: Vec<(Arc<Hook>, u32)>,
    /// Who allowed, why, and which version: an allow is for the value that it saw or made.
    allowed: Vec<(Arc<str>, Option<String>, u32)>,
    /// The outermost layer of the hooks whose answers end the client's chain.
    ended_at: Option<Layer>,
    /// The `once` hooks that have run: they are spent when the event is decided.
    pub claims: Vec<OnceClaim>,
    /// The limits that count the call, if it isn't denied.
    pub counted: Vec<CountedCall>,
}

/// How an `ask` counts when a value is judged again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// A person is to be asked.
    Count,
    /// They are answered: a person made or has seen this very value.
    AreAnswered,
}

/// The version of a value that several hooks made. It equals no real version, because a hook that
/// rewrote a part has not judged the whole.
const SHARED: u32 = 0;

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

/// The members that a chain has yet to run, in order, and where it has ended.
pub(super) struct Rest {
    members: Peekable<vec::IntoIter<Member>>,
    ended: Ended,
}

impl Rest {
    /// All of them.
    pub(super) fn of(mut members: Vec<Member>, contract: &Contract, event: &EventSpec) -> Rest {
        turn(&mut members, contract.composition, event);
        Rest { members: members.into_iter().peekable(), ended: Ended::default() }
    }
}

/// Where a chain has ended.
#[derive(Default)]
struct Ended {
    /// The outermost layer whose answer ended it: for itself and for inner layers, never for an outer one.
    layer: Option<Layer>,
    one_list: bool,
}

impl Ended {
    fn includes(&self, member: &Member, client: &Contract) -> bool {
        self.layer.is_some_and(|ended| member.layer() >= ended) || self.one_list && member.is_in_one_list(client)
    }
}

impl Chain {
    pub(super) fn start(moment: Arc<Moment>) -> Chain {
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
            counted: Vec::new(),
        }
    }

    /// Runs members under a composition: those that are `waiting`, and then the rest.
    pub(super) async fn run(
        &mut self,
        engine: &Engine,
        limits: &RunLimits<'_>,
        contract: &'static Contract,
        mut waiting: Option<Vec<Member>>,
        mut rest: Rest,
    ) {
        while let Some(next) = waiting.take().or_else(|| self.run_ahead(engine, limits, contract, &mut rest)) {
            let (runs, listed) = run_waiting(engine, limits, next, &self.moment).await;
            for (run, is_in_one_list) in runs.iter().zip(listed) {
                self.end(&mut rest.ended, [contract, limits.contract], run, is_in_one_list);
            }
            self.absorb(contract, runs);
        }
    }

    /// Runs members as long as there is nothing to wait for. Returns the one that has to wait, or those that run in
    /// parallel.
    pub(super) fn run_ahead(
        &mut self,
        engine: &Engine,
        limits: &RunLimits<'_>,
        contract: &'static Contract,
        Rest { members: rest, ended }: &mut Rest,
    ) -> Option<Vec<Member>> {
        let composition = contract.composition;
        let spec = self.moment.event().spec;
        // A list ends as its system says only for that system's clients: in another chain the layers count.
        let client = limits.contract;
        while let Some(member) = rest.next() {
            let Some(member) = self.skip_ended(member, ended, client) else { continue };
            let stage = member.stage(composition);
            let in_parallel = |member: &Member| {
                (!is_chain(composition) || member.runs_in_parallel())
                    && (!spec.closes || member.stage(composition) == stage)
                    && !ended.includes(member, client)
            };
            if in_parallel(&member)
                && let Some(next) = rest.next_if(in_parallel)
            {
                let mut group = vec![member, next];
                group.extend(std::iter::from_fn(|| rest.next_if(in_parallel)));
                return Some(group);
            }
            let is_in_one_list = member.is_in_one_list(client);
            let run = match run_at_once(engine, limits, member, &self.moment) {
                Ok(run) => run,
                Err(member) => return Some(vec![member]),
            };
            self.end(ended, [contract, client], &run, is_in_one_list);
            self.absorb(contract, [run]);
        }
        None
    }

    /// Notes whether an answer ends the chain that is run, and the client's.
    fn end(&mut self, ended: &mut Ended, [own, client]: [&Contract; 2], run: &MemberRun, is_in_one_list: bool) {
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
    fn is_to_say_why(&self, selected: &Selected, ended_at: Layer) -> bool {
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

    /// Puts an `ask` to a person; without an answer it is a deny. Returns whether the person changed the
    /// value, because no hook has judged that one.
    pub(super) async fn ask(&mut self, engine: &Engine, limits: &RunLimits<'_>, timeout: Duration) -> bool {
        let moment = self.moment.clone();
        // One question for all hooks that ask, so that one answer settles them all.
        let asking = || self.outcomes.iter().filter(|outcome| outcome.decision == Some(Decision::Ask));
        let hooks: Vec<&str> = asking().map(|outcome| &*outcome.hook).collect();
        let mut reasons: Vec<&str> = Vec::new();
        for outcome in asking() {
            let reason = outcome.reason.as_deref().or(outcome.error.as_deref());
            reasons.extend(reason.filter(|reason| !reasons.contains(reason)));
        }
        let reason = reasons.join("; ");
        let asks = |hook: &&Arc<Hook>| hooks.contains(&&*hook.name);
        let definitions = limits.hooks.all().filter(asks).map(|hook| hook.fingerprint).collect();
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
        let asked = services.approvals.ask(question, &services.state, limits.client);
        let reply = tokio::select! {
            reply = asked => reply,
            () = limits.wait_until_over() => Err(NoAnswer::Error("get an approval in time".into())),
        };
        let reply = match reply {
            Ok(answered) if answered.reply.subject.is_some() && moment.event().subject().is_none() => {
                Err(NoAnswer::Error(format!("take the change: {} has nothing to change", moment.event().name)))
            }
            reply => reply,
        };
        let (decision, reasons) = match &reply {
            Ok(answered) => answered.decided(&reason, limits.contract.dialect == NATIVE),
            Err(no_answer) => failure::unanswered(&reason, no_answer),
        };
        self.folded.decision = Some(decision);
        self.folded.reasons = vec![reasons];
        let changed = reply.ok().and_then(|answered| answered.reply.subject).filter(|_| decision == Decision::Allow);
        let Some(subject) = changed.filter(|subject| Some(subject) != moment.event().subject()) else { return false };
        self.version += 1;
        self.moment = Arc::new(moment.rewritten(Arc::new(moment.event().with_subject(subject.clone()))));
        self.folded.subject = Some(subject);
        true
    }

    /// Whether no value is left to be judged [again](Self::judge_again).
    pub(super) fn is_judged(&self) -> bool {
        // A replacement keeps the rest of the chain from judging even when it changes nothing.
        let is_new = self.version > 0 || self.folded.replaced;
        !is_new || self.moment.event().spec.phase != Phase::Gate || self.folded.decision == Some(Decision::Deny)
    }

    /// Has a rewrite judged again: every hook that applies to the final value and has neither judged nor
    /// made it runs once more, except detached and `once` hooks. Otherwise a hook could smuggle in what a
    /// guard would have refused. (Kubernetes' reinvocation.)
    pub(super) async fn judge_again(
        &mut self,
        engine: &Engine,
        limits: &RunLimits<'_>,
        hooks: &HooksInForce,
        asks: Asks,
    ) {
        if self.is_judged() {
            return;
        }
        let phase = self.moment.event().spec.phase;
        let client = limits.contract;
        // In other systems no hook judges again what another hook of that system made. That rule is only
        // for their own hooks: hookwire's judge every rewrite. Nor do their systems have layers: what an inner
        // layer made, the managed and the user layer judge, unless all hooks see the same snapshot.
        let is_their_own = client.dialect != NATIVE
            && asks == Asks::Count
            && self.made.iter().all(|(hook, _)| hook.contract == client);
        let innermost = self.made.iter().map(|(hook, _)| hook.source.layer).max();
        let is_outside = |layer: Layer| {
            is_chain(client.composition) && layer < Layer::Hooks && innermost.is_some_and(|made| layer < made)
        };
        let version = self.version;
        let knows = |list: &[(Arc<Hook>, u32)], hook: &Arc<Hook>, version: Option<u32>| {
            list.iter().any(|(it, at)| Arc::ptr_eq(it, hook) && version.is_none_or(|version| version == *at))
        };
        let hooks = hooks.clone();
        let again = aside::hold(engine, limits, &mut self.moment, move |facts| hooks.select(facts)).await;
        // The layer of the hook that denies the value: it ends the judging.
        let mut ended = None;
        for selected in again {
            let hook = &selected.hook;
            let made_it = version > 0 && knows(&self.made, hook, Some(version));
            let is_exempt = is_their_own && hook.contract == client && !is_outside(hook.source.layer);
            let settled = made_it || is_exempt || knows(&self.judged, hook, Some(version));
            if settled || hook.detached || hook.once || ended.is_some_and(|at| !self.is_to_say_why(&selected, at)) {
                continue;
            }
            let moment = self.moment.clone();
            let mut run = run::run(engine, limits, &selected, &moment).await;
            run.outcome.rejudged = true;
            let mut answer = *std::mem::take(&mut run.answer);
            if run.has_failed && answer.decision != Some(Decision::Deny) {
                answer = failure::failed_again(hook, run.outcome.error.as_deref());
            }
            // A hook that adds something to every value would add it again: that is ignored. A hook that takes
            // out what must not be there has found something left, and no hook may change what a person made.
            let may_repeat = knows(&self.made, hook, None) && !hook.handler.is_idempotent() && asks == Asks::Count;
            if rewrites(moment.event(), &answer) && !may_repeat {
                let cause = if asks == Asks::Count { "another hook rewrote" } else { "a person changed" };
                answer = failure::rewritten_again(hook, cause);
            }
            if answer.decision == Some(Decision::Allow) && !rewrites(moment.event(), &answer) {
                self.allowed.push((hook.name.clone(), answer.reason.clone(), version));
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
            self.folded.add(Composition::Onion, phase, &hook.name, answer, run.outcome.opaque.is_some());
            self.outcomes.push(*run.outcome);
        }
    }
}

/// Whether an answer changes what hooks can veto: the subject or the tool.
fn rewrites(event: &Event, answer: &Answer) -> bool {
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
}

/// The run of a member that has nothing to wait for, or the member.
fn run_at_once(
    engine: &Engine,
    limits: &RunLimits<'_>,
    member: Member,
    moment: &Arc<Moment>,
) -> Result<MemberRun, Member> {
    match member {
        Member::Hook(selected) => match run::run_fixed(engine, limits, &selected, moment) {
            Some(run) => Ok(MemberRun::of_hook(selected.hook, run, moment.event())),
            None => Err(Member::Hook(selected)),
        },
        block @ Member::Block { .. } => Err(block),
    }
}

/// Runs a member, or several in parallel; and which of them belong to the one list of the client's system.
async fn run_waiting(
    engine: &Engine,
    limits: &RunLimits<'_>,
    waiting: Vec<Member>,
    moment: &Arc<Moment>,
) -> (Vec<MemberRun>, Vec<bool>) {
    let listed = waiting.iter().map(|it| it.is_in_one_list(limits.contract)).collect();
    let runs = match <[Member; 1]>::try_from(waiting) {
        Ok([only]) => vec![run_in_time(engine, limits, only, moment).await],
        Err(several) => join_all(several.into_iter().map(|member| run_member(engine, limits, member, moment))).await,
    };
    (runs, listed)
}

async fn run_member(engine: &Engine, limits: &RunLimits<'_>, member: Member, moment: &Arc<Moment>) -> MemberRun {
    match run_at_once(engine, limits, member, moment) {
        Ok(run) => run,
        Err(member) => run_in_time(engine, limits, member, moment).await,
    }
}

async fn run_in_time(engine: &Engine, limits: &RunLimits<'_>, member: Member, moment: &Arc<Moment>) -> MemberRun {
    match member {
        Member::Hook(selected) => {
            // Boxed, or the largest handler's state would be part of every member's future.
            let run = Box::pin(run::run_in_time(engine, limits, &selected, moment)).await;
            MemberRun::of_hook(selected.hook, run, moment.event())
        }
        Member::Block { contract, layer, members } => {
            let mut chain = Chain::start(moment.clone());
            run_block(engine, limits, contract, members, &mut chain).await;
            chain.settle_allow();
            // People look for the hook that decided, not for the block that it is in.
            let name = chain.folded.decided_by.clone().unwrap_or_else(|| contract.dialect.into());
            let unchanged = chain.version == 0;
            MemberRun {
                name,
                layer: chain.ended_at.unwrap_or(layer),
                in_doubt: chain.folded.in_doubt,
                withheld: chain.folded.withheld,
                rewrote: chain.made.into_iter().map(|(hook, version)| (hook, version == chain.version)).collect(),
                // Of a block that rewrote, no hook is known to have judged the final value.
                judged: if unchanged {
                    chain.judged.into_iter().map(|(hook, _)| hook).collect()
                } else {
                    SmallVec::new()
                },
                answer: Box::new(chain.folded.into_answer()),
                outcomes: chain.outcomes,
                errors: chain.errors,
                claims: chain.claims,
            }
        }
    }
}

/// Boxed, since a block runs members in turn; blocks don't nest deeper.
fn run_block<'a>(
    engine: &'a Engine,
    limits: &'a RunLimits<'_>,
    contract: &'static Contract,
    members: Vec<Member>,
    chain: &'a mut Chain,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    let rest = Rest::of(members, contract, chain.moment.event().spec);
    Box::pin(chain.run(engine, limits, contract, None, rest))
}
