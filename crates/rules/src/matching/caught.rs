//! A panic while an event is judged is a bug. It becomes doubt, so that it neither lets the event
//! pass nor ends the program that judges.
//!
//! What is judged is values: the locks of this room are parking_lot's, or are taken over when they
//! are poisoned, and none is held while a text is read or a rule is asked. So nothing is left half
//! done.

use hookwire_base::support::failpoint;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why it can't be told.
pub const PANICKED: &str = "judging it panicked; this is a bug in hookwire";

/// Does `work`, unless it panics. `point` is the name of its failpoint.
pub(super) fn caught<T>(point: &'static str, work: impl FnOnce() -> T) -> Option<T> {
    let work = || {
        assert!(!failpoint::is_due(point), "a test lets this panic");
        work()
    };
    // What the panic says may hold parts of the event, and the panic hook has shown it once.
    let report = |_| {
        tracing::error!(
            point,
            "Judging an event panicked; this is a bug in hookwire."
        )
    };
    catch_unwind(AssertUnwindSafe(work)).map_err(report).ok()
}
