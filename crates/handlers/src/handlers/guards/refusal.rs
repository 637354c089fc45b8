//! What stands against an event, and the answers that say so.

use super::super::call::Call;
use hookwire_base::event::{Event, Phase};
use hookwire_base::verdict::{Answer, Decision, StopReason, StopSignal};
use serde_json::{Map, Value};

/// What stands against an event, and the numbers behind it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Refusal {
    pub(super) message: String,
    pub(super) facts: Map<String, Value>,
}

impl Refusal {
    pub(super) fn new<const N: usize>(message: String, facts: [(&str, Value); N]) -> Refusal {
        Refusal {
            message,
            facts: facts
                .into_iter()
                .map(|(key, value)| (key.to_string(), value))
                .collect(),
        }
    }
}

impl From<String> for Refusal {
    fn from(message: String) -> Refusal {
        Refusal {
            message,
            facts: Map::new(),
        }
    }
}

/// Denies, and ends the run. A deny of Stop would send the agent back to work, so there the run is
/// only ended; the same holds in systems whose guards only signal.
pub(super) fn end_run(call: &Call<'_>, reason: StopReason, refusal: Refusal) -> Answer {
    let event = call.moment.event();
    let Refusal {
        message,
        facts: context,
    } = refusal;
    let denies = event.spec.phase == Phase::Gate
        && event.rest().is_none()
        && call.hook.contract.tally.is_none();
    Answer {
        decision: denies.then_some(Decision::Deny),
        reason: Some(message.clone()),
        stop: Some(message.clone()),
        signals: vec![StopSignal {
            reason,
            message,
            context,
            source: None,
        }],
        ..Answer::default()
    }
}

/// Denies. At an after-event, what happened can't be undone, but its result is withheld.
pub(super) fn deny(event: &Event, message: String) -> Answer {
    let answer = Answer::decide(Decision::Deny, message);
    match event.spec.phase {
        Phase::Gate | Phase::Note => answer,
        Phase::After => Answer {
            subject: Some(Value::Null),
            replace: true,
            ..answer
        },
    }
}
