//! The last step: the verdict of what the chain has come to.

use super::chain::Chain;
use super::counted_call::CountedCall;
use super::failure;
use super::question::Question;
use super::sessions::OnceClaim;
use super::state::Engine;
use hookwire_base::event::{Phase, patch_between, set_pointer};
use hookwire_base::verdict::{Decision, Verdict};
use hookwire_rules::contract::NATIVE;
use serde_json::{Value, json};
use std::mem::take;

/// The verdict, which takes what the chain has come to.
pub(super) fn make_verdict(engine: &Engine, question: &Question, chain: &mut Chain) -> Verdict {
    let Chain {
        folded,
        outcomes,
        errors,
        first,
        moment,
        claims,
        counted,
        ..
    } = chain;
    let (outcomes, mut errors) = (take(outcomes), take(errors));
    take(claims).into_iter().for_each(OnceClaim::spend);
    let event = &question.event;
    errors.extend(question.hooks.files.broken.iter().cloned());
    if let Some(session) = &question.hooks.session {
        errors.extend(session.broken.iter().cloned());
    }
    // Whoever begins a session may otherwise never hear that guards are missing.
    let notices = &question.hooks.files.notices;
    let begins = event.name.as_ref() == "SessionStart";
    let own = |it: &String| format!("hookwire: {it}");
    if begins {
        folded.user_messages.extend(errors.iter().map(own));
    }
    folded.user_messages.extend(
        question
            .hooks
            .files
            .told
            .iter()
            .map(|it| format!("hookwire: {it}")),
    );
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
        grant: if has_policies {
            moment.event().data().get("grant").cloned()
        } else {
            None
        },
        outcomes,
        errors,
        generation: question.hooks.files.generation,
        hash: question.hooks.files.hash.clone(),
        session_generation: question.hooks.session.as_ref().map(|set| set.generation),
        event_id: event.id.clone(),
    };
    // A hook that returns the value unchanged has changed nothing.
    if !verdict.replaced
        && verdict.subject.is_some()
        && verdict.subject.as_ref() == first.event().subject()
    {
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
    if let Some(error) = event
        .spec
        .error()
        .filter(|error| is_withheld && event.at(error).is_some())
    {
        set_pointer(
            verdict.context.get_or_insert_with(|| json!({})),
            error,
            Value::Null,
        );
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
        engine.calls.note_call(event, &verdict.outcomes);
    }
    verdict.patch = verdict
        .subject
        .as_ref()
        .and_then(|after| patch_between(first.event().subject()?, after));
    engine
        .sessions
        .limit_send_backs(event, question.contract, &mut verdict);
    if !notices.is_empty() {
        let told = notices.iter().map(own).collect();
        engine
            .sessions
            .tell_once(event, question.contract, &mut verdict, told);
    }
    verdict.make_own_words_readable();
    verdict
}
