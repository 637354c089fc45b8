//! The policy gate: judges a tool call by the policies before any hook, and again after hooks or a
//! person changed it.

use super::aside;
use super::chain::Chain;
use super::counted_call::{COUNT_KEPT, CountedCall};
use super::failure::{self, Refusal};
use super::question::RunLimits;
use super::state::Engine;
use hookwire_base::event::set_pointer;
use hookwire_base::support::digest;
use hookwire_base::verdict::Decision;
use hookwire_handlers::handlers::Moment;
use hookwire_handlers::services::state::guards;
use hookwire_rules::policy::{self, Policy};
use serde_json::{Value, json};
use std::sync::Arc;

/// Judges a tool call by the policies: why it is denied, if it is, or else the limits that count
/// it. The moment gets what they grant.
pub(super) async fn admit(
    engine: &Engine,
    limits: &RunLimits<'_>,
    moment: &mut Arc<Moment>,
) -> (Option<Refusal>, Vec<CountedCall>) {
    if !policy::is_tool_request(moment.event()) {
        return (None, Vec::new());
    }
    let refusal = refused_by(engine, limits, moment).await;
    if refusal.is_some() || moment.event().spec.start {
        return (refusal, Vec::new());
    }
    let policies = &limits.question.hooks.files.policies;
    let (left, counted) = match count_call(engine, policies, moment).await {
        Ok(counted) => counted,
        Err(reason) => return (Some(denied(reason)), Vec::new()),
    };
    let event = moment.event();
    if let Some(grant) = policy::grant(
        policies.iter().map(|it| &**it),
        event.data().get("grant"),
        left,
    ) {
        let mut event = (**event).clone();
        event.change(|data| set_pointer(data, "/grant", grant));
        *moment = Arc::new(moment.rewritten(Arc::new(event)));
    }
    (None, counted)
}

/// Why the policies deny a call, if they do.
async fn refused_by(
    engine: &Engine,
    limits: &RunLimits<'_>,
    moment: &mut Arc<Moment>,
) -> Option<Refusal> {
    let set = limits.question.hooks.files.clone();
    aside::hold(engine, limits, moment, move |facts| {
        policy::refusal(&set.policies, facts)
    })
    .await
    .map(denied)
}

fn denied(reason: String) -> Refusal {
    Refusal {
        by: Some(policy::NAME.into()),
        decision: Some(Decision::Deny),
        reason,
    }
}

/// Counts a call against every limit of its run: how many are left, or which limit is reached. A
/// call that is refused doesn't count.
async fn count_call(
    engine: &Engine,
    policies: &[Arc<Policy>],
    moment: &Moment,
) -> Result<(Option<u64>, Vec<CountedCall>), String> {
    let event = moment.event();
    let state = &engine.services.state;
    let (mut left, mut all): (Option<u64>, _) = (None, Vec::new());
    if &*event.name != "PreToolUse" || event.unknown_gate().is_some() {
        return Ok((left, all));
    }
    for policy in policies {
        let Some(max) = policy.limits().max_calls else {
            continue;
        };
        let run = engine.services.runs.durable(event);
        let position = policy.source.position.to_string();
        let key = format!(
            "policy:{}",
            digest::hex(&digest::of_texts(&[&policy.source.file, &position, &run]))
        );
        let mut reached = false;
        let counted = state.update(&guards(), &key, Some(COUNT_KEPT), |calls| {
            let calls = calls.and_then(Value::as_u64).unwrap_or(0);
            reached = calls >= max;
            let calls = if reached { calls } else { calls + 1 };
            left = Some(left.unwrap_or(u64::MAX).min(max.saturating_sub(calls)));
            Ok(Some(json!(calls)))
        });
        let saved = match counted {
            Ok(_) => {
                if !reached {
                    all.push(CountedCall::new(state, key));
                }
                state.saved().await
            }
            Err(error) => Err(error),
        };
        saved.map_err(failure::uncounted)?;
        if reached {
            return Err(format!(
                "the policy's limit is reached: {max} tool calls in this run"
            ));
        }
    }
    Ok((left, all))
}

impl Chain {
    /// Judges a call that hooks or a person changed by the policies again, because a rewrite must
    /// not smuggle in what they deny. The call is not counted a second time.
    pub(super) async fn judge_by_policies(&mut self, engine: &Engine, limits: &RunLimits<'_>) {
        let (first, last) = (self.first.event(), self.moment.event());
        let is_done = limits.question.hooks.files.policies.is_empty()
            || self.folded.decision == Some(Decision::Deny);
        let is_same = || {
            first.subject() == last.subject() && first.data().get("tool") == last.data().get("tool")
        };
        if is_done || !policy::is_tool_request(last) || is_same() {
            return;
        }
        if let Some(refusal) = refused_by(engine, limits, &mut self.moment).await {
            self.refuse(refusal, &[]);
        }
    }
}
