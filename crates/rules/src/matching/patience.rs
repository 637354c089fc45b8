//! How long holding conditions may take. A connection's reader has hardly any patience: it must go
//! on to the next message, a cancellation perhaps. Where a condition needs more, because it asks
//! the disk or because the event is long, the answer is thrown away and found again on a thread
//! that may take its time.
//!
//! Kept by thread, because every leaf of a condition has to heed it and none needs to know who
//! waits.

use super::noted;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a reader stays with one event's conditions.
const QUICK: Duration = Duration::from_millis(2);

enum Patience {
    /// Nobody waits.
    Unbounded,
    Quick {
        /// Set when it is first asked for: to look at the clock takes as long as most conditions.
        until: Option<Instant>,
        is_used_up: bool,
    },
    /// Until whoever waits has given up.
    Until(Arc<AtomicBool>),
}

thread_local! {
    static PATIENCE: RefCell<Patience> = const { RefCell::new(Patience::Unbounded) };
}

/// Does what hardly takes time. `None`: it does, and has been broken off.
pub fn quickly<T>(work: impl FnOnce() -> T) -> Option<T> {
    let patience = Patience::Quick {
        until: None,
        is_used_up: false,
    };
    match with(patience, work) {
        (
            _,
            Patience::Quick {
                is_used_up: true, ..
            },
        ) => None,
        (result, _) => Some(result),
    }
}

/// Does what may take time; once `given_up` is set, nobody wants the result and it ends early.
pub fn unless_given_up<T>(given_up: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    with(Patience::Until(given_up.clone()), work).0
}

fn with<T>(patience: Patience, work: impl FnOnce() -> T) -> (T, Patience) {
    /// Also if the work panics: the thread lives on.
    struct Restore(Option<Patience>);
    impl Drop for Restore {
        fn drop(&mut self) {
            if let Some(before) = self.0.take() {
                PATIENCE.replace(before);
            }
        }
    }
    let mut restore = Restore(Some(PATIENCE.replace(patience)));
    let result = work();
    let after = restore
        .0
        .take()
        .map_or(Patience::Unbounded, |before| PATIENCE.replace(before));
    (result, after)
}

/// Whether there is time for something slow, such as to list a directory. If not, the caller
/// answers with anything: nobody will see it.
pub fn allows_slow() -> bool {
    run_out();
    !is_quick()
}

/// Breaks off what is done in a hurry: it takes time after all.
pub(super) fn run_out() {
    noted::by_more();
    PATIENCE.with_borrow_mut(|patience| {
        if let Patience::Quick { is_used_up, .. } = patience {
            *is_used_up = true;
        }
    });
}

/// Whether whoever waits is in a hurry.
pub(super) fn is_quick() -> bool {
    PATIENCE.with_borrow(|patience| matches!(patience, Patience::Quick { .. }))
}

/// Whether nothing was broken off so far.
pub fn was_enough() -> bool {
    PATIENCE.with_borrow(|patience| {
        !matches!(
            patience,
            Patience::Quick {
                is_used_up: true,
                ..
            }
        )
    })
}

/// Whether to go on, to be asked between one hook and the next. If not, the caller answers with
/// anything.
pub fn is_left() -> bool {
    PATIENCE.with_borrow_mut(|patience| match patience {
        Patience::Unbounded => true,
        Patience::Quick { until, is_used_up } => {
            let now = Instant::now();
            *is_used_up |= now >= *until.get_or_insert(now + QUICK);
            !*is_used_up
        }
        Patience::Until(given_up) => !given_up.load(Ordering::Relaxed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_with_what_it_is_for() {
        assert_eq!(quickly(is_left), Some(true));
        assert_eq!(
            quickly(|| allows_slow() || is_left()),
            None,
            "what is slow is not done quickly"
        );
        assert!(std::panic::catch_unwind(|| quickly(|| panic!("a test"))).is_err());
        assert!(
            !is_quick() && allows_slow(),
            "a thread that has been quick isn't for ever"
        );
        let given_up = Arc::new(AtomicBool::new(true));
        assert!(unless_given_up(&given_up, || allows_slow() && !is_left()));
    }
}
