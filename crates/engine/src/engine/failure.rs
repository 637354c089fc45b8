//! Where an error becomes a decision: each way in which judging goes wrong, with what is answered
//! then.
//!
//! A decision that no hook, no policy and no person gave is made in this file and nowhere else:
//! `tests/repo` finds any other place. So "fail open or closed?" has one place to look.

use super::question::{HooksInForce, Question, Within};
use crate::hook::Hook;
use crate::hook_set::Selected;
use hookwire_base::event::{Event, Phase};
use hookwire_base::verdict::{Answer, Decision, Status, Verdict};
use hookwire_handlers::services::approvals::NoAnswer;
use hookwire_handlers::services::state::StateError;
use hookwire_rules::contract::{Fail, NATIVE};
use hookwire_rules::matching::Facts;
use hookwire_rules::policy;
use serde_json::Value;
use std::sync::Arc;

/// The target of what is logged of a hook and stands in the verdict, too.
pub const JUDGED: &str = "hookwire::judged";

/// Why a run gave no answer.
pub(super) enum Failure {
    /// Crashed, unreadable, refused.
    Error(String),
    /// Out of its own time.
    Stopped(String),
    /// Out of the event's time.
    CutOff(String),
}

/// Every error, timeout and cancelled run of a hook: its author said by `fail` what that counts as.
pub(super) fn failed_hook(hook: &Hook, event: &Event, error: &str) -> Answer {
    // The verdict doesn't wait for a detached hook, so its failure decides nothing.
    let is_unfound = event.spec.phase == Phase::Gate && (hook.contract.is_unfound)(error);
    let fail = match hook.said_fail(event.spec.phase) {
        _ if hook.detached => Fail::Open,
        None if is_unfound => Fail::Closed,
        _ => hook.fail_at(event.spec.phase),
    };
    let mut answer = by_direction(
        fail,
        event.spec.phase,
        event.rest().is_some(),
        &hook.name,
        error,
    );
    if event.spec.subject.is_none() {
        (answer.subject, answer.replace) = (None, false);
    }
    match answer.decision.filter(|_| !hook.observe) {
        // No verdict says how such a hook ends.
        None if hook.detached => {
            tracing::warn!(hook = %hook.name, %error, event = %event.name, event_id = %event.id, "Hook failed; it decides nothing.")
        }
        None => {
            tracing::warn!(target: JUDGED, hook = %hook.name, %error, event = %event.name, event_id = %event.id, "Hook failed; it decides nothing.")
        }
        Some(decision) => {
            tracing::warn!(target: JUDGED, hook = %hook.name, %error, event = %event.name, event_id = %event.id, decision = decision.as_str(), "Hook failed.")
        }
    }
    answer
}

/// The answer that a failure counts as in a direction.
///
/// `lets_rest` marks a moment at which the agent wants to rest, where `closed` must not send it
/// back to work for ever: the agent may rest.
fn by_direction(fail: Fail, phase: Phase, lets_rest: bool, hook: &str, error: &str) -> Answer {
    let reason = || format!("hook `{hook}` failed to {error}");
    match (fail, phase) {
        (Fail::Open, _) | (_, Phase::Note) => Answer::default(),
        (Fail::Closed | Fail::Ask, Phase::Gate | Phase::After) if lets_rest => Answer::default(),
        (Fail::Closed, Phase::Gate) => Answer::decide(Decision::Deny, reason()),
        (Fail::Ask, Phase::Gate) => Answer::decide(Decision::Ask, reason()),
        // It has happened, so there is nothing to ask about: the subject is withheld.
        (Fail::Closed | Fail::Ask, Phase::After) => Answer {
            subject: Some(Value::Null),
            replace: true,
            ..Answer::decide(Decision::Deny, reason())
        },
    }
}

/// Whether a failed hook withholds what has happened: no later rewrite may bring back what nobody
/// has looked at.
pub(super) fn withholds(has_failed: bool, answer: &Answer, event: &Event) -> bool {
    has_failed
        && event.spec.phase == Phase::After
        && event.spec.subject.is_some()
        && answer.decision.is_some()
}

/// A fixed verdict whose condition is in doubt, or what a hook says of code that isn't shown: the
/// reason that was written is about what the rule names, and nobody knows that this is it.
pub(super) fn verdict_in_doubt(
    selected: &Selected,
    phase: Phase,
) -> Option<Result<Box<Answer>, Failure>> {
    let (hook, doubt) = (&selected.hook, selected.doubt.as_ref()?);
    let decide = |decision, reason| Ok(Box::new(Answer::decide(decision, reason)));
    let said = || format!("hook `{}` {}", hook.name, doubt.why);
    if let Some(decision) = doubt.delegates {
        return Some(decide(decision, said()));
    }
    let (decision, reason) = hook.handler.fixed()?;
    Some(match decision {
        // To allow takes certainty.
        Decision::Allow => Ok(Box::default()),
        Decision::Deny => match hook.said_fail(phase) {
            None | Some(Fail::Ask) => decide(Decision::Ask, said()),
            Some(Fail::Closed) => decide(Decision::Deny, said()),
            Some(Fail::Open) => Err(Failure::Error(doubt.why.failure())),
        },
        Decision::Ask | Decision::Defer => decide(
            decision,
            format!("{reason} ({})", said()).trim_start().to_string(),
        ),
    })
}

/// A hook that may not run in doubt: it says nothing, unless its author said what a failure counts
/// as.
pub(super) fn run_in_doubt(selected: &Selected) -> Option<Result<Box<Answer>, Failure>> {
    let doubt = selected
        .doubt
        .as_ref()
        .filter(|_| selected.hook.handler.needs_certainty())?;
    Some(match selected.hook.fail {
        None => Ok(Box::default()),
        Some(_) => Err(Failure::Error(doubt.why.failure())),
    })
}

/// A reply that lets the event pass only because part of it could not be understood: a vocabulary
/// may read it as an allow, but a hook that fails closed must not be read so.
pub(super) fn misread_reply(hook: &Hook, phase: Phase, answer: &Answer) -> Option<Failure> {
    let is_strict = matches!(hook.said_fail(phase), Some(Fail::Closed | Fail::Ask));
    let passes = answer.decision.is_none_or(|it| it == Decision::Allow) && answer.subject.is_none();
    let is_misread = is_strict && passes && !answer.remarks.is_empty();
    is_misread.then(|| Failure::Error(format!("give a valid reply: {}", answer.remarks.join("; "))))
}

/// An allow of a hook whose condition is about a part of the call: nobody has allowed the rest.
pub(super) fn partial_allow(answer: &mut Answer) {
    answer.decision = None;
    answer.reason = Some("its allow doesn't count: `if` doesn't cover the whole call".into());
}

/// A hook that fails on a rewritten value: no hook may be led around by a value that it can't
/// judge.
pub(super) fn failed_again(hook: &Hook, error: Option<&str>) -> Answer {
    let error = error.unwrap_or("run");
    Answer::decide(
        Decision::Deny,
        format!("hook `{}` {error}, judging a rewritten value", hook.name),
    )
}

/// A hook that would change a rewritten value once more: then no value is left that all hooks have
/// judged.
pub(super) fn rewritten_again(hook: &Hook, cause: &str) -> Answer {
    Answer::decide(
        Decision::Deny,
        format!("hook `{}` would rewrite again what {cause}", hook.name),
    )
}

/// A person who doesn't answer: silence is no consent.
pub(super) fn unanswered(reason: &str, answer: &NoAnswer) -> (Decision, String) {
    match answer {
        NoAnswer::Silence(error) => (Decision::Deny, format!("{reason} ({error})")),
        NoAnswer::Error(error) => (Decision::Deny, format!("{reason} (failed to {error})")),
    }
}

/// A call that a policy can't count: without a count nobody knows that it is within the limit, so
/// it is denied.
pub(super) fn uncounted(StateError(error): StateError) -> String {
    format!("the policy failed to count calls: {error}")
}

/// Why no hook judges an event.
pub(super) struct Refusal {
    /// The policy or the hook that denies it; `None`: nobody was asked.
    pub by: Option<Arc<str>>,
    pub decision: Option<Decision>,
    pub reason: String,
}

/// An event that doesn't name its tool is denied in the name of whoever asks for it, because nobody
/// can tell what they would say.
pub(super) fn unnamed_tool(hooks: &HooksInForce, facts: &Facts) -> Option<Refusal> {
    let event = &facts.event;
    if facts.tool().is_some_and(|tool| !tool.is_empty()) || !event.lacks_tool() {
        return None;
    }
    let (by, who) = match hooks.files.policies.is_empty() {
        false => (policy::NAME.into(), "the policy".to_string()),
        true => {
            let hook = hooks.all().find(|hook| hook.asks_for_tool(event))?;
            (hook.name.clone(), format!("hook `{}`", hook.name))
        }
    };
    let reason = format!("the event doesn't name its tool, for which {who} asks");
    Some(Refusal {
        by: Some(by),
        decision: Some(Decision::Deny),
        reason,
    })
}

/// How deep hooks may dispatch events of their own that other hooks judge.
const MAX_DEPTH: u8 = 5;

/// An event of hooks within hooks: hooks that dispatch events for the same hooks would never end.
pub(super) fn too_deep(event: &Event, within: Within) -> Option<Refusal> {
    if within.depth <= MAX_DEPTH {
        return None;
    }
    let reason = format!("hooks dispatch events within hooks, more than {MAX_DEPTH} deep");
    tracing::warn!(event = %event.name, "{reason}");
    Some(Refusal {
        by: None,
        decision: Some(Decision::Deny).filter(|_| event.spec.phase == Phase::Gate),
        reason,
    })
}

/// A decision or rewrite that the client can't honour becomes a deny, which names who rewrote: it
/// would do the thing unasked, or with the old value.
pub(super) fn unhonoured(verdict: &mut Verdict, question: &Question) {
    let Question {
        event,
        honours,
        contract: client,
        ..
    } = question;
    // Other vocabularies have no word for what a context changes.
    let context = verdict.context.as_ref().and_then(|it| it.as_object());
    let unspoken =
        context.is_some_and(|it| it.keys().any(|key| !client.context.contains(&key.as_str())));
    let rewritten =
        verdict.subject.is_some() || verdict.context.is_some() && client.dialect == NATIVE;
    let untaken = !honours.rewrite && rewritten || unspoken;
    if event.spec.phase == Phase::After && untaken && !honours.withhold {
        tell_untaken(verdict, event);
    }
    let refusal = match verdict.decision {
        Decision::Ask if !honours.ask => {
            "this needs a person's approval, and the client can't ask".to_string()
        }
        Decision::Defer if !honours.defer => {
            "this would be put off, and the client can't defer".to_string()
        }
        Decision::Allow | Decision::Ask | Decision::Defer if untaken => {
            format!(
                "{}, and the client can't take a rewrite",
                verdict.who_rewrote()
            )
        }
        Decision::Allow | Decision::Ask | Decision::Defer | Decision::Deny => return,
    };
    if verdict.decision == Decision::Allow {
        // The hook that allowed it has not denied it; the one that rewrote it has.
        let rewriter = verdict
            .rewriters()
            .next()
            .map(|outcome| outcome.hook.clone());
        verdict.decided_by = rewriter;
        verdict.reason = None;
    }
    verdict.decision = Decision::Deny;
    verdict.reason = Some(match verdict.reason.take() {
        Some(reason) => format!("{reason} ({refusal})"),
        None => refusal,
    });
}

/// What has happened is read by the model of an agent that takes no other value for it. The hooks
/// that would have changed or withheld it have failed, and the person hears of it: nobody may
/// believe that a secret is gone.
fn tell_untaken(verdict: &mut Verdict, event: &Event) {
    let why = format!(
        "the agent takes no other value at {}, so its model may read the old one",
        event.name
    );
    let hooks = verdict.outcomes.iter_mut().filter(|it| it.rewrote);
    let told = hooks.map(|outcome| {
        outcome.status = Status::NonBlockingError;
        outcome.error = Some(format!("change what happened: {why}"));
        let reason = outcome
            .reason
            .as_deref()
            .map(|reason| format!(" ({reason})"))
            .unwrap_or_default();
        format!("hook `{}`{reason}: {why}", outcome.hook)
    });
    let told: Vec<String> = told.collect();
    verdict
        .user_messages
        .extend(told.iter().map(|it| format!("hookwire: {it}")));
    verdict.errors.extend(told);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_in_every_direction() {
        use Phase::{After, Gate, Note};
        for (fail, phase, lets_rest, decision, withheld) in [
            (Fail::Open, Gate, false, None, false),
            (Fail::Closed, Gate, false, Some(Decision::Deny), false),
            (Fail::Ask, Gate, false, Some(Decision::Ask), false),
            (Fail::Open, Gate, true, None, false),
            (Fail::Closed, Gate, true, None, false),
            (Fail::Ask, Gate, true, None, false),
            (Fail::Open, After, false, None, false),
            (Fail::Closed, After, false, Some(Decision::Deny), true),
            (Fail::Ask, After, false, Some(Decision::Deny), true),
            (Fail::Closed, After, true, None, false),
            (Fail::Open, Note, false, None, false),
            (Fail::Closed, Note, false, None, false),
            (Fail::Ask, Note, false, None, false),
        ] {
            let answer = by_direction(fail, phase, lets_rest, "h", "run");
            assert_eq!(
                (answer.decision, answer.subject == Some(Value::Null)),
                (decision, withheld),
                "{fail:?} {phase:?} {lets_rest}"
            );
            assert_eq!(answer.reason.is_some(), decision.is_some());
        }
    }
}
