//! One run of one hook: time limit, cancellation, panics and the failure direction, applied here
//! once for every kind of handler.

use super::aside;
use super::clock;
use super::failure::{self, Failure};
use super::nested::NestedJudge;
use super::question::{Question, RunLimits};
use super::sessions::{Claim, OnceClaim};
use super::state::{Effects, Engine};
use crate::hook::Hook;
use crate::hook_set::Selected;
use futures_util::FutureExt;
use hookwire_base::event::{CONTEXT_MEMBERS, Event, Phase, merge_patch};
use hookwire_base::support::amounts::millis;
use hookwire_base::support::failpoint;
use hookwire_base::verdict::{Answer, Decision, Observed, Outcome, Status};
use hookwire_handlers::handlers::said::{self, Redactor};
use hookwire_handlers::handlers::{Call, Effect, Handler, Moment, Transcript};
use hookwire_rules::contract::{Contract, Fail, NATIVE};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_util::sync::CancellationToken;

/// Why a hook was skipped by an engine that skips effects.
pub const NOT_RUN: &str = "not run here: it starts something or counts";

/// Why a hook isn't run that does more than answer.
const MAY_HAVE_RUN: &str = "the host that was asked first may have run it, and doesn't answer";

/// The redactors that a hook's texts go through: those of its layer and of outer ones, as for the
/// value itself.
fn redactors(redacting: &[Arc<Hook>], hook: &Hook) -> Vec<Redactor> {
    let are_around = redacting
        .iter()
        .filter(|it| it.source.layer <= hook.source.layer && !std::ptr::eq(&***it, hook));
    are_around.filter_map(|it| it.handler.redactor()).collect()
}

/// The result of a run: the answer that counts, and the outcome that the verdict lists.
///
/// Both are some hundred bytes and go through several futures: boxed, so that they aren't copied
/// from one to the next.
pub(super) struct HookRun {
    pub answer: Box<Answer>,
    pub outcome: Box<Outcome>,
    /// It gave no answer: the one here is what its failure counts as.
    pub has_failed: bool,
    /// The event was over before the hook was.
    is_cut_off: bool,
    /// Spent when the event is decided.
    pub claim: Option<OnceClaim>,
}

impl HookRun {
    fn without_answer(outcome: Outcome) -> HookRun {
        let (answer, outcome) = (Box::default(), Box::new(outcome));
        HookRun {
            answer,
            outcome,
            has_failed: false,
            is_cut_off: false,
            claim: None,
        }
    }

    /// Makes the outcome of a run. `is_partial`: its allow isn't about all that the hook would have
    /// to be for.
    fn of_result(
        selected: &Selected,
        client: &Contract,
        moment: &Moment,
        mut result: Result<Box<Answer>, Failure>,
        is_partial: bool,
        elapsed: Duration,
    ) -> HookRun {
        let hook = &selected.hook;
        hook.handler.mask(match &mut result {
            Ok(answer) => Ok(answer),
            Err(Failure::Error(error) | Failure::Stopped(error) | Failure::CutOff(error)) => {
                Err(error)
            }
        });
        if let (Err(Failure::Error(error)), Some(copy)) = (&mut result, &hook.copy) {
            *error = copy.as_written(error);
        }
        let event = moment.event();
        let mut said = None;
        if let Some(failure) = result
            .as_ref()
            .ok()
            .and_then(|it| failure::misread_reply(hook, event.spec.phase, it))
        {
            result = Err(failure);
        }
        let is_cut_off = matches!(result, Err(Failure::CutOff(_)));
        let (mut answer, error, stopped) = match result {
            Ok(answer) => (answer, None, false),
            Err(failure) => {
                let (error, stopped) = match failure {
                    Failure::Error(error) => {
                        said = (hook.contract.failed)(hook.handler.key(), &error);
                        (error, false)
                    }
                    Failure::Stopped(error) | Failure::CutOff(error) => (error, true),
                };
                (
                    Box::new(failure::failed_hook(hook, event, &error)),
                    Some(format!("failed to {error}")),
                    stopped,
                )
            }
        };
        // To allow takes that all of it is what the hook is for.
        if is_partial && answer.decision == Some(Decision::Allow) {
            failure::partial_allow(&mut answer);
        }
        refuse_what_a_stop_ends(&mut answer, hook, client, event);
        // The hook's author has said what a failure counts as, so it is heard.
        let unheard = if error.is_none() {
            no_that_nobody_takes(&mut answer, hook, client, event)
        } else {
            None
        };
        if let Some(unheard) = &unheard {
            tracing::warn!(hook = %hook.name, error = %unheard, event = %event.name, event_id = %event.id, "Hook's answer counts for nothing.");
        }
        // These are hookwire's own words, which quote what the agent has written.
        if selected.doubt.is_some() || matches!(hook.handler, Handler::Guard(_)) {
            answer.make_readable();
        }
        for remark in &answer.remarks {
            tracing::warn!(hook = %hook.name, remark, event = %event.name, event_id = %event.id, "Hook's reply is odd.");
        }
        let counts = !hook.detached && event.spec.phase != Phase::Note;
        let observed = hook
            .observe
            .then(|| observation(std::mem::take(&mut answer), event, counts));
        let has_failed = error.is_some() && observed.is_none();
        let error = error.or(unheard);
        let decision = answer.decision.filter(|_| counts);
        let blocks = decision.is_some_and(|decision| decision != Decision::Allow);
        let status = match (stopped, blocks, error.is_some()) {
            (true, _, _) => Status::Cancelled,
            (false, true, _) => Status::Blocking,
            (false, false, true) => Status::NonBlockingError,
            (false, false, false) => Status::Success,
        };
        let mut outcome = outcome(selected, event.spec.phase, status, elapsed);
        outcome.decision = decision;
        outcome.rewrote = changes_value(&answer, event);
        // A reason without a decision is still worth reading.
        outcome.reason = if has_failed {
            None
        } else {
            answer.reason.clone()
        };
        outcome.error = error;
        if !hook.tools.is_empty() {
            outcome.scripts = moment.facts.scripts();
        }
        outcome.said = answer.said.take().or(said).filter(|_| observed.is_none());
        outcome.observed = observed;
        outcome.stop = answer.stop.clone();
        if counts {
            for signal in &mut answer.signals {
                signal.source.get_or_insert_with(|| hook.name.to_string());
            }
            outcome.stop_signals = answer.signals.clone();
        } else {
            answer.signals.clear();
        }
        HookRun {
            answer,
            outcome: Box::new(outcome),
            has_failed,
            is_cut_off,
            claim: None,
        }
    }
}

/// The run of a fixed verdict: without a future or a timer, because there is nothing to wait for.
/// `None` for all else.
pub(super) fn run_at_once(
    engine: &Engine,
    limits: &RunLimits<'_>,
    selected: &Selected,
    moment: &Arc<Moment>,
) -> Option<HookRun> {
    let (hook, moment) = (&selected.hook, selected.about.as_ref().unwrap_or(moment));
    if hook.once || hook.detached || !limits.redacting.is_empty() {
        return None;
    }
    let result = fixed_answer(selected, moment.event().spec.phase)?;
    // Whether an allow counts may take time to tell.
    if result
        .as_ref()
        .is_ok_and(|answer| answer.decision == Some(Decision::Allow))
    {
        return None;
    }
    // It takes less time than a look at the clock.
    let mut run = HookRun::of_result(
        selected,
        limits.question.contract,
        moment,
        result,
        false,
        Duration::ZERO,
    );
    run.outcome.started_at = Some(SystemTime::now());
    engine.report(moment, &run.outcome, false);
    Some(run)
}

/// Runs a hook, or starts it if it is detached.
pub(super) async fn run_in_time(
    engine: &Engine,
    limits: &RunLimits<'_>,
    selected: &Selected,
    moment: &Arc<Moment>,
) -> HookRun {
    let (hook, moment) = (&selected.hook, selected.about.as_ref().unwrap_or(moment));
    let event = moment.event();
    if engine.effects == Effects::Skip && has_effect(hook) {
        return HookRun::without_answer(skipped(selected, NOT_RUN));
    }
    if may_have_run(engine, hook) && hook.detached {
        return HookRun::without_answer(skipped(
            selected,
            format!("not run again: {MAY_HAVE_RUN}"),
        ));
    }
    let (claim, is_unknown) = match hook.once.then(|| engine.sessions.claim(event, hook)) {
        None => (None, false),
        Some(Claim::First(claim)) => (Some(claim), false),
        Some(Claim::Unknown) => (None, true),
        Some(Claim::Ran) => {
            return HookRun::without_answer(skipped(selected, "ran once in this session"));
        }
    };
    let mut run = match hook.detached {
        true => HookRun::without_answer(start_detached(engine, limits, selected, moment)),
        false => run_timed(engine, limits, selected, moment).await,
    };
    // A hook that didn't come to its end has judged nothing.
    run.claim = claim.filter(|_| !run.is_cut_off && run.outcome.status != Status::Skipped);
    if hook.detached {
        // It runs on, whatever becomes of the event.
        run.claim.take().into_iter().for_each(OnceClaim::spend);
    }
    if is_unknown {
        // A guard that judges once too often is better than one that doesn't judge.
        let why = "can't tell whether it ran once in this session: too many hooks have";
        tracing::warn!(hook = %hook.name, event_id = %event.id, "{why}");
        run.outcome.opaque.get_or_insert_with(|| why.into());
    }
    run
}

/// The run of a hook from its beginning to its end, detached or not.
async fn run_timed(
    engine: &Engine,
    limits: &RunLimits<'_>,
    selected: &Selected,
    moment: &Arc<Moment>,
) -> HookRun {
    let hook = &selected.hook;
    let (started, began) = (clock::now(), SystemTime::now());
    let transcript = Transcript::default();
    let redactors = redactors(limits.redacting, hook);
    // The verdict doesn't wait for a detached hook, so a doubt about it decides nothing: it runs.
    let known = match hook.detached {
        true => None,
        false => fixed_answer(selected, moment.event().spec.phase)
            .or_else(|| failure::run_in_doubt(selected)),
    };
    let result = match known {
        Some(Ok(answer)) => {
            let redacted = said::redact(redactors.clone(), Ok(*answer)).await;
            redacted
                .map(Box::new)
                .map_err(|error| Failure::Error(error.0))
        }
        Some(Err(failure)) => Err(failure),
        None if may_have_run(engine, hook) => Err(Failure::Error(format!("run: {MAY_HAVE_RUN}"))),
        None => call_handler(engine, limits, selected, moment, &redactors, &transcript)
            .await
            .map(Box::new),
    };
    let is_partial = match &result {
        Ok(answer) if answer.decision == Some(Decision::Allow) && !hook.detached => {
            let hook = hook.clone();
            !aside::hold(engine, limits, &mut moment.clone(), move |facts| {
                hook.covers(facts)
            })
            .await
        }
        Ok(_) | Err(_) => false,
    };
    let mut run = HookRun::of_result(
        selected,
        limits.question.contract,
        moment,
        result,
        is_partial,
        clock::now() - started,
    );
    run.outcome.started_at = Some(began);
    run.outcome.transcript = redacted_steps(limits, redactors, transcript.take()).await;
    engine.report(moment, &run.outcome, hook.detached);
    run
}

/// The steps of a run as redacted as what it says; none if there is no time for that.
async fn redacted_steps(
    limits: &RunLimits<'_>,
    redactors: Vec<Redactor>,
    steps: Vec<Value>,
) -> Vec<Value> {
    if steps.is_empty() || redactors.is_empty() {
        return steps;
    }
    tokio::select! {
        biased;
        redacted = said::redact_steps(redactors, steps) => redacted,
        () = limits.wait_until_over() => Vec::new(),
    }
}

/// Whether a hook may have done already what it does.
fn may_have_run(engine: &Engine, hook: &Hook) -> bool {
    engine.effects == Effects::Fail && hook.handler.has_effects()
}

/// Whether running a hook does something beyond this event's verdict: it starts or asks something,
/// or counts. A question to a person is none, because an engine that skips effects asks nobody.
fn has_effect(hook: &Hook) -> bool {
    let handler = &hook.handler;
    handler.counts() || handler.has_effects() && handler.effect() != Some(Effect::Person)
}

/// The outcome of a hook that was selected but not run.
pub(super) fn skipped(selected: &Selected, why: impl Into<String>) -> Outcome {
    Outcome {
        reason: Some(why.into()),
        ..outcome(selected, Phase::Gate, Status::Skipped, Duration::ZERO)
    }
}

/// The answer of a fixed verdict; or what a hook says of code that isn't shown, whatever its
/// handler is.
fn fixed_answer(selected: &Selected, phase: Phase) -> Option<Result<Box<Answer>, Failure>> {
    if selected.doubt.is_some() {
        return failure::verdict_in_doubt(selected, phase);
    }
    let (decision, reason) = selected.hook.handler.fixed()?;
    let reason = Some(reason.to_string()).filter(|it| !it.is_empty());
    Some(Ok(Box::new(Answer {
        decision: Some(decision),
        reason,
        ..Answer::default()
    })))
}

/// Calls a hook's handler within its time and the event's.
async fn call_handler(
    engine: &Engine,
    limits: &RunLimits<'_>,
    selected: &Selected,
    moment: &Arc<Moment>,
    redactors: &[Redactor],
    transcript: &Transcript,
) -> Result<Answer, Failure> {
    let hook = &selected.hook;
    let now = clock::now();
    let timeout = now.checked_add(hook.timeout);
    let (until, why) = match (limits.question.deadline, timeout) {
        (Some(deadline), Some(timeout)) if timeout < deadline => (Some(timeout), OWN_LIMIT),
        (Some(deadline), _) => (Some(deadline), "the event's deadline"),
        (None, timeout) => (timeout, OWN_LIMIT),
    };
    if limits.question.early_deadline.is_cancelled() || until.is_some_and(|until| until <= now) {
        return Err(out_of_time(why, format!("start before {why}")));
    }
    let judge = NestedJudge {
        engine,
        limits,
        within: limits.within.acts_of(hook),
    };
    let call = Call {
        hook: hook.view(),
        moment,
        services: &engine.services,
        client: limits.question.client.as_ref(),
        transcript,
        judge: &judge,
    };
    let guarded = AssertUnwindSafe(async {
        assert!(
            !failpoint::is_due("handler"),
            "a test lets this handler panic"
        );
        while failpoint::is_due("stuck") {
            std::thread::sleep(Duration::from_millis(50));
        }
        said::redact(redactors.to_vec(), hook.handler.run(&call).await).await
    });
    // Unconstrained, because a handler that always finds something ready uses up the task's budget,
    // and a timer that counts against the budget would then never be due.
    let timer = tokio::task::unconstrained(async {
        match until {
            Some(until) => clock::sleep_until(until).await,
            None => std::future::pending().await,
        }
    });
    let early_deadline = tokio::task::unconstrained(limits.question.early_deadline.cancelled());
    let stopped = || {
        let took = Duration::from_millis(millis(clock::now() - now));
        // A timer is late by a moment, which says nothing.
        let is_on_time = why == OWN_LIMIT && took < hook.timeout.saturating_add(LATE);
        let had = if is_on_time { hook.timeout } else { took };
        out_of_time(
            why,
            format!("finish within {why} ({})", humantime::format_duration(had)),
        )
    };
    let result = tokio::select! {
        biased;
        result = guarded.catch_unwind() => match result {
            Ok(Ok(answer)) => checked_answer(moment, answer).map_err(Failure::Error),
            Ok(Err(error)) => Err(Failure::Error(error.0)),
            Err(panic) => Err(panicked(hook, &*panic)),
        },
        () = timer => Err(stopped()),
        () = early_deadline => Err(Failure::CutOff("finish before the input ended".into())),
    };
    // No timer stops a handler that computes. What a strict one lets pass after its time, it has
    // not judged in time.
    let is_late = until.is_some_and(|until| until < clock::now());
    let is_strict = hook.fail_at(moment.event().spec.phase) != Fail::Open;
    match result {
        Ok(answer) if is_late && is_strict && answer.decision != Some(Decision::Deny) => {
            Err(stopped())
        }
        result => result,
    }
}

/// Who gave the time tells whose end it is: the hook's own, or the event's.
fn out_of_time(limit: &'static str, error: String) -> Failure {
    if limit == OWN_LIMIT {
        Failure::Stopped(error)
    } else {
        Failure::CutOff(error)
    }
}

fn panicked(hook: &Hook, panic: &(dyn std::any::Any + Send)) -> Failure {
    let panic = panic_text(panic);
    if matches!(hook.handler, Handler::Closure(_)) {
        return Failure::Error(format!("run: it panicked: {panic}"));
    }
    tracing::error!(hook = %hook.name, panic, "A handler panicked; this is a bug in hookwire.");
    Failure::Error("run: the handler panicked; this is a bug in hookwire".into())
}

/// Applies an answer's patch, and refuses an answer that contradicts itself or the event, so that a
/// guard's mistake is not an allow.
fn checked_answer(moment: &Moment, mut answer: Answer) -> Result<Answer, String> {
    let event = moment.event();
    let is_rewrite = answer.subject.is_some() || answer.patch.is_some();
    if is_rewrite && event.spec.subject.is_none() {
        return Err(format!("rewrite: {} has no subject", event.name));
    }
    if let Some(patch) = answer.patch.take() {
        if answer.subject.is_some() {
            return Err("rewrite: the reply has `subject` and `patch`; give the whole value or what changes".into());
        }
        answer.subject = Some(patched(event, &patch)?);
    }
    if let Some(context) = &answer.context {
        let members = context
            .as_object()
            .ok_or("give a context: it is not an object")?;
        if let Some(other) = members
            .keys()
            .find(|key| !CONTEXT_MEMBERS.contains(&key.as_str()))
        {
            return Err(format!(
                "give a context: `{other}` can't be changed, only {}",
                CONTEXT_MEMBERS.join(", ")
            ));
        }
        // Given twice, hooks could judge one value of the subject and the client take the other.
        if event
            .spec
            .subject
            .is_some_and(|pointer| touches(context, pointer))
        {
            return Err(
                "give a context: it changes the subject, whose new value belongs in `subject`"
                    .into(),
            );
        }
        if context
            .pointer("/tool/name")
            .is_some_and(|name| !name.is_string())
        {
            return Err("give a context: `tool.name` is not a string".into());
        }
    }
    Ok(answer)
}

/// The event's subject with a hook's merge patch applied.
fn patched(event: &Event, patch: &Value) -> Result<Value, String> {
    if !patch.is_object() {
        return Err("rewrite: `patch` is not an object".into());
    }
    let what = match event.subject() {
        Some(subject @ Value::Object(_)) => {
            let mut subject = subject.clone();
            merge_patch(&mut subject, patch);
            return Ok(subject);
        }
        None => "absent",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a text",
        Some(Value::Array(_)) => "a list",
    };
    Err(format!(
        "rewrite: `patch` needs an object, and the subject of {} is {what}; give `subject`",
        event.name
    ))
}

/// Whether a merge patch reaches the value at a JSON pointer.
fn touches(patch: &Value, pointer: &str) -> bool {
    let mut at = patch;
    for key in pointer.split('/').skip(1) {
        match at {
            Value::Object(members) => match members.get(key) {
                Some(inner) => at = inner,
                None => return false,
            },
            _ => return true,
        }
    }
    true
}

/// The record of what a hook that observes would have done. Its answer ends here: every run that
/// has an answer is made by [`HookRun::of_result`], so no composition and no dialect can let it
/// count. `counts`: a decision would have counted.
fn observation(answer: Box<Answer>, event: &Event, counts: bool) -> Observed {
    Observed {
        rewrote: changes_value(&answer, event),
        decision: answer.decision.filter(|_| counts),
        reason: answer.reason,
        stop: answer.stop,
        retry: answer.retry,
    }
}

/// Whether an answer changes the subject or the context.
fn changes_value(answer: &Answer, event: &Event) -> bool {
    answer
        .subject
        .as_ref()
        .is_some_and(|subject| Some(subject) != event.subject())
        || answer
            .context
            .as_ref()
            .is_some_and(|context| context.as_object().is_none_or(|it| !it.is_empty()))
}

/// A run that ends doesn't do one more thing: at a gate a `stop` is a deny, and where the agent
/// wants to rest it isn't sent back to work. What a dialect's own hooks say to its own client means
/// what its documents say.
fn refuse_what_a_stop_ends(answer: &mut Answer, hook: &Hook, client: &Contract, event: &Event) {
    let Some(stop) = &answer.stop else { return };
    let is_own = client.dialect != NATIVE && hook.contract == client;
    if is_own || event.spec.phase != Phase::Gate {
        return;
    }
    if event.rest().is_some() {
        answer.decision = answer
            .decision
            .filter(|decision| *decision == Decision::Allow);
    } else if answer.decision != Some(Decision::Deny) {
        let reason = if stop.is_empty() {
            "a hook ends the run"
        } else {
            stop
        };
        answer.reason = Some(reason.to_string());
        answer.decision = Some(Decision::Deny);
    }
}

/// What is wrong with a "no" at an event where the hook's vocabulary has none. Its own clients read
/// it in the reply and pass it over; for others it means no more, unless the vocabulary says so.
fn no_that_nobody_takes(
    answer: &mut Answer,
    hook: &Hook,
    client: &Contract,
    event: &Event,
) -> Option<String> {
    let decision = answer
        .decision
        .filter(|decision| *decision != Decision::Allow)?;
    let is_own = hook.contract == client;
    if (hook.contract.takes_no)(&event.name)
        || !is_own && (hook.contract.takes_no_elsewhere)(&event.name)
    {
        return None;
    }
    let reason = answer
        .reason
        .as_deref()
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    if !is_own {
        (answer.decision, answer.reason) = (None, None);
        // A "no" at this event withholds the value by this replacement.
        if answer.subject == Some(Value::Null) && answer.replace {
            (answer.subject, answer.replace) = (None, false);
        }
    }
    let (word, dialect, name) = (
        decision.as_str(),
        hook.contract.dialect,
        (hook.contract.event_name)(event),
    );
    Some(format!(
        "failed to {word}: {dialect} takes no \"no\" at {name}{reason}"
    ))
}

fn outcome(selected: &Selected, phase: Phase, status: Status, elapsed: Duration) -> Outcome {
    let opaque = selected.doubt.as_ref().map(|doubt| doubt.why.to_string());
    let fails_closed =
        selected.hook.said_fail(phase) == Some(Fail::Closed) && !selected.hook.observe;
    Outcome {
        opaque,
        fails_closed,
        ..outcome_of(selected.hook.name.clone(), status, elapsed)
    }
}

/// An outcome that says no more.
pub(super) fn outcome_of(name: Arc<str>, status: Status, elapsed: Duration) -> Outcome {
    Outcome {
        hook: name,
        status,
        decision: None,
        reason: None,
        error: None,
        opaque: None,
        scripts: Vec::new(),
        rewrote: false,
        rejudged: false,
        observed: None,
        transcript: Vec::new(),
        said: None,
        stop: None,
        stop_signals: Vec::new(),
        fails_closed: false,
        started_at: None,
        duration_micros: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
    }
}

/// Starts a hook without waiting for it; only its report and `on_detached_end` tell how it ended.
fn start_detached(
    engine: &Engine,
    limits: &RunLimits<'_>,
    selected: &Selected,
    moment: &Arc<Moment>,
) -> Outcome {
    let Ok(permit) = engine.detached.clone().try_acquire_owned() else {
        tracing::warn!(hook = %selected.hook.name, "Too many detached hooks are running; this one was skipped.");
        return skipped(selected, "too many detached hooks are running");
    };
    let started = outcome(
        selected,
        moment.event().spec.phase,
        Status::Started,
        Duration::ZERO,
    );
    let (engine, selected, moment) = (engine.clone(), selected.clone(), moment.clone());
    let (within, redacting) = (limits.within, limits.redacting.to_vec());
    // Only the hook's own time ends it.
    let (deadline, early_deadline) = (None, CancellationToken::new());
    let question = Question {
        deadline,
        early_deadline,
        ..limits.question.clone()
    };
    tokio::spawn(async move {
        let limits = RunLimits {
            question: &question,
            within,
            redacting: &redacting,
        };
        let run = run_timed(&engine, &limits, &selected, &moment).await;
        if let Some(ended) = engine.on_detached_end.get() {
            ended(moment.event(), &run.outcome);
        }
        drop(permit);
    });
    started
}

/// The name of a hook's own time limit in errors.
const OWN_LIMIT: &str = "its timeout";
/// How late a timer may be before an error says how long it took.
const LATE: Duration = Duration::from_millis(100);

/// The message of a panic.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
