//! From an event to a verdict: select, run, judge rewrites again, aggregate.
//!
//! Knows neither JSON-RPC nor files. [`decide`] is the place to start reading hookwire.

mod aggregate;
pub use failure::JUDGED;
pub use run::panic_text;
mod aside;
mod calls;
mod compose;
mod counted_call;
mod failure;
mod intercept;
mod limits;
mod passed_on;
mod policy_gate;
mod repeated;
mod run;
mod sessions;
#[cfg(test)]
mod tests;

use crate::hook::Hook;
use crate::hook_set::{HookSet, Selected};
use calls::Calls;
use compose::{Asks, Chain, Equals, Member, Rest};
use counted_call::CountedCall;
use hookwire_base::event::{Event, Phase, patch_between, set_pointer};
use hookwire_base::verdict::{Decision, Outcome, Verdict};
use hookwire_handlers::handlers::{self, Judge, Moment, Services};
use hookwire_handlers::services::client::Client;
use hookwire_handlers::services::emit::EventSender;
use hookwire_rules::contract::Honours;
use hookwire_rules::contract::{Composition, Contract, NATIVE};
use hookwire_rules::matching::{Facts, patience, rule};
use hookwire_rules::policy;
pub use intercept::{Interceptor, Judging, PassThrough};
use limits::RunLimits;
use lru::LruCache;
use parking_lot::Mutex;
use passed_on::PassedOn;
use policy_gate::Admission;
use repeated::Repeated;
pub use run::NOT_RUN;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sessions::{OnceClaim, Sessions};
use std::mem::take;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{Semaphore, broadcast};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The state that outlives an event: shared services, the memory of sessions, listeners. Clones share it.
#[derive(Clone)]
pub struct Engine {
    /// The services that handlers share.
    pub services: Services,
    /// How long an `ask` that the client can't put to a person waits for one at another terminal;
    /// `None`: it is a deny.
    pub ask_elsewhere: Option<Duration>,
    /// Scripts that calls run aren't looked into.
    pub no_scripts: bool,
    /// What becomes of hooks that do more than answer.
    pub effects: Effects,
    /// An event's deadline is for its hooks only, and its conditions may take longer.
    pub unhurried: bool,
    /// Called with the event and the outcome of each detached hook when that ends.
    pub on_detached_end: Arc<OnceLock<Box<DetachedEnd>>>,
    /// The moments that were judged just now, for an agent that asks about each of them twice.
    pub repeated: Arc<Repeated<Verdict>>,
    /// The questions that an agent is to be asked at a later event of the same call.
    pub passed_on: Arc<PassedOn>,
    reports: EventSender<Report>,
    sessions: Arc<Sessions>,
    detached: Arc<Semaphore>,
    /// The tools of which was told that they may be shells.
    maybe_shells: Arc<Mutex<LruCache<Box<str>, ()>>>,
    calls: Arc<Calls>,
}

/// What becomes of hooks that do more than answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    /// They run.
    Happen,
    /// Those that start something or count are skipped; their outcomes say so by [`NOT_RUN`].
    Skip,
    /// They fail: another host was asked about the event and may have run them.
    Fail,
}

/// Takes the event and the outcome of a detached hook that has ended.
pub type DetachedEnd = dyn Fn(&Event, &Outcome) + Send + Sync;

/// One event to decide.
pub struct Question {
    /// The event.
    pub event: Arc<Event>,
    /// When it has to be decided, if it says so: its `deadlineMs` from when it was read, less the time to answer.
    pub deadline: Option<Instant>,
    /// The hooks in force when it was read.
    pub hooks: HooksInForce,
    /// The vocabulary, and with it the composition, of the client.
    pub contract: &'static Contract,
    /// The decisions that the client can honour.
    pub honours: Honours,
    /// The client, if hooks may ask it something.
    pub client: Option<Arc<dyn Client>>,
    /// Cancelled when the event's time is over before its deadline, as at the end of the input: hooks
    /// that still run take their failure direction.
    pub early_deadline: CancellationToken,
}

/// The hooks that judge an event: one published set and what the connection registered.
#[derive(Clone)]
pub struct HooksInForce {
    /// From files.
    pub files: Arc<HookSet>,
    /// Registered over the wire.
    pub session: Option<Arc<HookSet>>,
}

/// The result of one hook's run, for those who listen.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The event's name.
    pub event: Arc<str>,
    /// The event's identifier.
    pub event_id: Arc<str>,
    /// Started and not waited for: not part of a verdict.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub detached: bool,
    /// When the run began: RFC 3339, in UTC, to the millisecond.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub started_at: Option<String>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completed_at: Option<String>,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Detached hooks that may run at once; more are skipped, and said to be.
const MAX_DETACHED: usize = 256;
/// Tools of which is remembered that a person was told something.
const MAX_TOLD: NonZeroUsize = NonZeroUsize::new(1000).unwrap();
/// How long a client's person has for an `ask`, unless the host is started with another time.
const ASK_TIMEOUT: Duration = Duration::from_secs(300);
/// How often in a row an agent that wants to rest may be sent back to work.
pub const MAX_SEND_BACKS: u32 = 8;

impl Engine {
    /// An engine.
    pub fn new(services: Services) -> Engine {
        Engine {
            services,
            ask_elsewhere: None,
            no_scripts: false,
            effects: Effects::Happen,
            unhurried: false,
            on_detached_end: Arc::default(),
            repeated: Arc::default(),
            passed_on: Arc::default(),
            reports: EventSender::default(),
            sessions: Arc::default(),
            detached: Arc::new(Semaphore::new(MAX_DETACHED)),
            maybe_shells: Arc::new(Mutex::new(LruCache::new(MAX_TOLD))),
            calls: Arc::default(),
        }
    }

    /// Every hook's run from now on. A listener that falls behind loses the oldest.
    pub fn reports(&self) -> broadcast::Receiver<Report> {
        self.reports.subscribe()
    }

    /// Tells once of each tool that it may be a shell, and what makes that certain.
    fn tell_of_shell(&self, facts: &Facts) {
        let Some(tool) = facts.tool().filter(|_| facts.was_taken_for_shell()) else { return };
        if self.maybe_shells.lock().put(tool.into(), ()).is_none() {
            let advice = rule::declaration(tool);
            tracing::warn!(tool, advice, "A tool that isn't known may be a shell; rules about commands are in doubt.");
        }
    }

    /// From now on the client tells of programs that start, which belong to calls.
    pub fn watch_calls(&self) {
        self.calls.watch();
    }

    /// Whether no detached hook runs.
    pub fn is_settled(&self) -> bool {
        self.detached.available_permits() == MAX_DETACHED
    }

    /// Returns when no detached hook runs any more; none can be started meanwhile.
    pub async fn settle(&self) {
        // The semaphore is never closed.
        let _ = self.detached.acquire_many(MAX_DETACHED as u32).await;
    }
}

impl HooksInForce {
    /// The hooks that apply, outermost layer first.
    pub fn select(&self, facts: &Facts) -> Vec<Selected> {
        let mut selected = self.files.select(facts);
        if let Some(session) = &self.session {
            selected.extend(session.select(facts));
        }
        selected
    }

    /// Every hook, whether it applies or not.
    fn all(&self) -> impl Iterator<Item = &Arc<Hook>> {
        self.files.hooks.iter().chain(self.session.iter().flat_map(|set| &set.hooks))
    }
}

/// Judges one event. Never fails: what goes wrong in a hook counts in that hook's failure direction.
/// Dropping the future cancels the hooks and ends their processes.
pub fn decide(engine: &Engine, question: Question) -> impl Future<Output = Verdict> + Send + '_ {
    decide_within(engine, question, Within { depth: handlers::depth(), asks_nobody: false })
}

/// The hooks of a set that are for an event, in the order in which a client has them run if they all
/// apply. Left out are hooks that are switched off, and those that an equal hook stands for.
pub fn order(hooks: &HookSet, event: &str, client: &'static Contract) -> Vec<Arc<Hook>> {
    let Some(spec) = hookwire_base::event::spec(event) else { return Vec::new() };
    let is_for = |hook: &&Arc<Hook>| hook.enabled && hook.on.includes(event);
    let selected =
        hooks.hooks.iter().filter(is_for).map(|hook| Selected { hook: hook.clone(), doubt: None, about: None });
    compose::order(selected.collect(), client, spec, Equals::RunOnce)
}

/// All of these hooks, as they are shown to a client: first those that are for the event, in the order in which the client
/// has them run there, then the others. Without an event, all are in the order of one that opens something.
pub fn in_running_order<'h>(
    hooks: impl Iterator<Item = &'h Arc<Hook>>,
    event: Option<&str>,
    client: &'static Contract,
) -> Vec<Arc<Hook>> {
    let spec = hookwire_base::event::spec(event.unwrap_or(OPENS));
    let is_for = |hook: &&Arc<Hook>| event.is_none_or(|event| hook.enabled && hook.on.includes(event));
    let (run, others): (Vec<_>, Vec<_>) = hooks.partition(is_for);
    let Some(spec) = spec else { return run.into_iter().chain(others).cloned().collect() };
    let selected = run.into_iter().map(|hook| Selected { hook: hook.clone(), doubt: None, about: None });
    let mut order = compose::order(selected.collect(), client, spec, Equals::Stay);
    order.extend(others.into_iter().cloned());
    order
}

/// An event that opens something.
const OPENS: &str = "PreToolUse";

/// The hooks whose own act an event is.
#[derive(Clone, Copy)]
struct Within {
    /// How many there are.
    depth: u8,
    /// One of them only observes, and so no person is asked about what it does.
    asks_nobody: bool,
}

impl Within {
    /// For what a hook does that runs at such an event.
    fn acts_of(self, hook: &Hook) -> Within {
        Within { asks_nobody: self.asks_nobody || hook.observe, ..self }
    }
}

/// Decides about what a hook does itself.
async fn decide_within(engine: &Engine, mut question: Question, within: Within) -> Verdict {
    if within.depth > failure::MAX_DEPTH {
        return too_deep(engine, &question);
    }
    engine.services.runs.note(&question.event);
    engine.calls.join(&mut question.event);
    match decide_at_once(engine, &question, within) {
        Ok(verdict) => verdict,
        // Boxed: this future is made for each event, and most have nothing to wait for.
        Err(begun) => Box::pin(decide_in_time(engine, &question, within, begun)).await,
    }
}

/// How far an event was judged before there was something to wait for.
enum Begun {
    /// Policies are to judge it before any hook.
    Read(Arc<Moment>),
    /// To tell which hooks apply takes time.
    Unselected(Arc<Moment>),
    Runs(Box<Running>),
}

/// The chain of the hooks that apply.
struct Running {
    chain: Chain,
    /// The hooks that go next, where they have to wait.
    waiting: Option<Vec<Member>>,
    rest: Rest,
    /// The hooks that take something out of what passes.
    redacting: Vec<Arc<Hook>>,
}

impl Running {
    /// A chain that begins. All hooks are skipped where policies deny the event, for a reason, or where it doesn't name its
    /// tool.
    fn begin(
        engine: &Engine,
        question: &Question,
        moment: Arc<Moment>,
        denied: Option<String>,
        selected: Vec<Selected>,
    ) -> Running {
        engine.tell_of_shell(&moment.facts);
        let refusal = denied.map(|reason| (policy::NAME.into(), reason));
        let refusal = refusal.or_else(|| failure::unnamed_tool(&question.hooks, &moment.facts));
        let mut chain = Chain::start(moment);
        let (contract, spec) = (question.contract, question.event.spec);
        let redacting = selected.iter().filter(|it| it.hook.redacts()).map(|it| it.hook.clone()).collect();
        let members = match refusal {
            Some((by, reason)) => {
                chain.refuse(by, reason, &selected);
                Vec::new()
            }
            None => compose::plan(selected, contract, spec),
        };
        Running { chain, waiting: None, rest: Rest::of(members, contract, spec), redacting }
    }
}

/// Judges an event as far as there is nothing to wait for: to the end, if all hooks that apply are fixed verdicts.
fn decide_at_once(engine: &Engine, question: &Question, within: Within) -> Result<Verdict, Begun> {
    let names = question.hooks.files.tool_names.clone();
    let facts = Facts::within(question.event.clone(), &engine.services.root, names, !engine.no_scripts);
    let moment = Arc::new(Moment::of(facts));
    if !question.hooks.files.policies.is_empty() {
        return Err(Begun::Read(moment));
    }
    let Some(selected) = patience::quickly(|| question.hooks.select(&moment.facts)) else {
        return Err(Begun::Unselected(moment));
    };
    let mut running = Running::begin(engine, question, moment, None, selected);
    let limits = RunLimits::of(question, within, &running.redacting);
    let chain = &mut running.chain;
    running.waiting = chain.run_ahead(engine, &limits, question.contract, &mut running.rest);
    if running.waiting.is_some() || !chain.is_judged() || asks_a_person(engine, question, within, chain).is_some() {
        return Err(Begun::Runs(Box::new(running)));
    }
    chain.settle_allow();
    Ok(finish(engine, question, chain))
}

async fn decide_in_time(engine: &Engine, question: &Question, within: Within, begun: Begun) -> Verdict {
    let hooks = question.hooks.clone();
    let select = move |facts: &Facts| hooks.select(facts);
    // No hook is known yet that redacts.
    let limits = RunLimits::of(question, within, &[]);
    let running = match begun {
        Begun::Read(moment) => {
            let Admission { mut moment, denied, counted } = policy_gate::admit(engine, &limits, moment).await;
            let selected = aside::hold(engine, &limits, &mut moment, select).await;
            let mut running = Running::begin(engine, question, moment, denied, selected);
            running.chain.counted = counted;
            running
        }
        Begun::Unselected(mut moment) => {
            let selected = aside::hold_aside(engine, &limits, &mut moment, select).await;
            Running::begin(engine, question, moment, None, selected)
        }
        Begun::Runs(running) => *running,
    };
    let Running { mut chain, waiting, rest, redacting } = running;
    let limits = RunLimits::of(question, within, &redacting);
    chain.run(engine, &limits, question.contract, waiting, rest).await;
    chain.judge_again(engine, &limits, &question.hooks, Asks::Count).await;
    chain.settle_allow();
    chain.judge_by_policies(engine, &limits).await;
    if let Some(timeout) = asks_a_person(engine, question, within, &chain) {
        if chain.ask(engine, &limits, timeout).await {
            chain.judge_again(engine, &limits, &question.hooks, Asks::AreAnswered).await;
        }
        chain.judge_by_policies(engine, &limits).await;
    }
    finish(engine, question, &mut chain)
}

/// Denies an event of hooks within hooks.
fn too_deep(engine: &Engine, question: &Question) -> Verdict {
    let mut chain = Chain::start(Arc::new(Moment::new(question.event.clone(), &engine.services.root)));
    let (decision, why) = failure::too_deep(&question.event);
    chain.folded.decision = decision;
    chain.folded.reasons = vec![why.clone()];
    chain.errors.push(why);
    finish(engine, question, &mut chain)
}

/// How long a person has for an answer, if one is asked: at a gate, on an `ask` that the client can't
/// honour itself.
fn asks_a_person(engine: &Engine, question: &Question, within: Within, chain: &Chain) -> Option<Duration> {
    let event = &question.event;
    let may_wait = event.spec.phase == Phase::Gate && event.unknown_gate().is_none();
    let is_open = chain.folded.decision == Some(Decision::Ask) && may_wait;
    let client = question.client.as_ref().is_some_and(|client| client.answers().approvals);
    let timeout = if client { Some(engine.ask_elsewhere.unwrap_or(ASK_TIMEOUT)) } else { engine.ask_elsewhere };
    timeout.filter(|_| is_open && !question.honours.ask && !within.asks_nobody)
}

/// Judges what a hook itself is about to do, by the hooks of the event that the hook runs at.
struct NestedJudge<'a> {
    engine: &'a Engine,
    hooks: &'a HooksInForce,
    contract: &'static Contract,
    client: Option<&'a Arc<dyn Client>>,
    early_deadline: &'a CancellationToken,
    within: Within,
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
        Box::pin(decide_within(self.engine, question, within))
    }

    fn depth(&self) -> u8 {
        self.within.depth
    }

    fn asks_nobody(&self) -> bool {
        self.within.asks_nobody
    }
}

/// When an event that is read now has to be decided, if it says so: it leaves the host the time to answer before the
/// client gives up.
pub fn deadline(event: &Event) -> Option<Instant> {
    let budget = Duration::from_millis(event.deadline_ms()?.min(24 * 3_600_000));
    let margin = (budget / 20).max(Duration::from_millis(20));
    Some(Instant::now() + budget.saturating_sub(margin))
}

/// The verdict, which takes what the chain has come to.
fn finish(engine: &Engine, question: &Question, chain: &mut Chain) -> Verdict {
    let Chain { folded, outcomes, errors, first, moment, claims, counted, .. } = chain;
    let (outcomes, mut errors) = (take(outcomes), take(errors));
    take(claims).into_iter().for_each(OnceClaim::spend);
    let event = &question.event;
    errors.extend(question.hooks.files.broken.iter().cloned());
    if let Some(session) = &question.hooks.session {
        errors.extend(session.broken.iter().cloned());
    }
    // Whoever begins a session may otherwise never hear that guards are missing.
    if event.name.as_ref() == "SessionStart" {
        let notices = &question.hooks.files.notices;
        folded.user_messages.extend(errors.iter().chain(notices.iter()).map(|it| format!("hookwire: {it}")));
    }
    folded.user_messages.extend(question.hooks.files.told.iter().map(|it| format!("hookwire: {it}")));
    let reason = folded.take_reason();
    let has_policies = !question.hooks.files.policies.is_empty();
    let mut verdict = Verdict {
        decision: folded.decision.unwrap_or(Decision::Allow),
        reason,
        decided_by: folded.decided_by.take(),
        subject: folded.subject.take(),
        patch: None,
        replaced: folded.replaced,
        stop: folded.stop.take(),
        user_messages: take(&mut folded.user_messages),
        additional_context: take(&mut folded.additional_context),
        context: folded.context.take(),
        retry: folded.retry.take(),
        grant: if has_policies { moment.event().data().get("grant").cloned() } else { None },
        outcomes,
        errors,
        generation: question.hooks.files.generation,
        hash: question.hooks.files.hash.clone(),
        session_generation: question.hooks.session.as_ref().map(|set| set.generation),
        event_id: event.id.clone(),
    };
    // A hook that returns the value unchanged has changed nothing.
    if !verdict.replaced && verdict.subject.is_some() && verdict.subject.as_ref() == first.event().subject() {
        verdict.subject = None;
    }
    // A replacement needs a value; if hooks gave none, it is the one that stands.
    if verdict.replaced && verdict.subject.is_none() {
        verdict.subject = moment.event().subject().cloned();
    }
    // Whoever ends the run wants the agent to rest.
    if event.rest().is_some() && verdict.stop.is_some() && question.contract.dialect == NATIVE {
        verdict.decision = Decision::Allow;
        (verdict.decided_by, verdict.reason) = (None, None);
    }
    // A result that is withheld has its error withheld, too.
    let is_withheld = verdict.replaced && verdict.subject.as_ref().is_some_and(Value::is_null);
    if let Some(error) = event.spec.error().filter(|error| is_withheld && event.at(error).is_some()) {
        set_pointer(verdict.context.get_or_insert_with(|| json!({})), error, Value::Null);
    }
    if event.spec.phase != Phase::Note {
        failure::unhonoured(&mut verdict, question);
    }
    if verdict.decision == Decision::Deny && event.spec.phase == Phase::Gate {
        verdict.subject = None;
        verdict.replaced = false;
        verdict.grant = None;
    }
    if verdict.decision != Decision::Deny {
        take(counted).into_iter().for_each(CountedCall::keep);
    }
    if event.spec.phase == Phase::Gate && verdict.decision != Decision::Deny {
        engine.calls.note(event, &verdict.outcomes);
    }
    verdict.patch = verdict.subject.as_ref().and_then(|after| patch_between(first.event().subject()?, after));
    engine.sessions.note(event, question.contract, &mut verdict);
    verdict.make_own_words_readable();
    verdict
}

/// Whether the composition is one after the other.
fn is_chain(composition: Composition) -> bool {
    match composition {
        Composition::Onion | Composition::Pipeline | Composition::Veto | Composition::Middleware => true,
        Composition::Parallel => false,
    }
}
