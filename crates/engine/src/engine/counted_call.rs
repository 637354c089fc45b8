//! A tool call that a policy's limit counts.

use hookwire_handlers::services::state::{StateError, Store, guards};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a run's count of calls is kept: long after any run has ended.
pub(super) const COUNT_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// A call that a limit counts from when it is admitted, so that calls at the same time don't pass
/// the limit together. It is counted no more when it is dropped before it is kept: then it was
/// denied or cancelled, and doesn't happen.
pub(super) struct CountedCall {
    state: Store,
    key: String,
    is_kept: bool,
}

impl CountedCall {
    /// A call that is counted already, under this key.
    pub(super) fn new(state: &Store, key: String) -> CountedCall {
        CountedCall {
            state: state.clone(),
            key,
            is_kept: false,
        }
    }

    /// The call may happen.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let one_less = |calls: Option<&Value>| {
            let calls = calls
                .and_then(Value::as_u64)
                .map(|calls| json!(calls.saturating_sub(1)));
            Ok(calls)
        };
        if let Err(StateError(error)) =
            self.state
                .update(&guards(), &self.key, Some(COUNT_KEPT), one_less)
        {
            tracing::warn!(%error, "A call that was denied stays counted.");
        }
    }
}
