//! The places of an event that the model reads: the subject, and after a failed call the error
//! beside it.

use hookwire_base::event::{Event, set_pointer};
use hookwire_base::verdict::Answer;
use serde_json::{Value, json};

/// The places that an event has, as JSON pointers.
pub(super) fn places(event: &Event) -> impl Iterator<Item = (&'static str, &Value)> {
    let spec = event.spec;
    [spec.subject, spec.error()]
        .into_iter()
        .flatten()
        .filter_map(|place| Some((place, event.at(place)?)))
}

/// An answer that changes what stands at places of an event. Only the subject is a hook's to
/// rewrite; the error beside it is changed by a patch of the context.
pub(super) fn changed(event: &Event, changes: Vec<(&'static str, Value)>) -> Answer {
    let mut answer = Answer::default();
    for (place, value) in changes {
        if event.spec.subject == Some(place) {
            answer.subject = Some(value);
        } else {
            set_pointer(
                answer.context.get_or_insert_with(|| json!({})),
                place,
                value,
            );
        }
    }
    answer
}
