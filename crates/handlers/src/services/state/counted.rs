//! Increments of hooks, which count an event once.
//!
//! After a rewrite, hooks judge the new value, so a hook may run more than once about one event.
//! The increments of such a run are those of the first one: they give the same sums and add
//! nothing.

use super::{Scope, StateError, Store};
use lru::LruCache;
use parking_lot::Mutex;
use serde_json::Number;
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// One run of a hook about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occasion {
    /// The event, whatever hooks have made of it.
    pub event: Arc<str>,
    /// The hook's name.
    pub hook: Arc<str>,
    /// The run, apart from all others about the event.
    pub run: Arc<str>,
}

/// The sums of a hook's increments of one value about one event.
#[derive(Default)]
struct Counted {
    sums: Vec<Number>,
    /// The run that asked last, and how many of the sums it has been given.
    run: Arc<str>,
    n_given: usize,
}

/// Whose increments they are, and of what.
type Place = (Arc<str>, Arc<str>, Scope, String);

/// Counters whose sums are remembered: as many events may be on their way at once without one being
/// counted twice.
const MAX_COUNTERS: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
/// The sums of one counter about one event that are remembered.
const MAX_SUMS: usize = 100;

static COUNTED: LazyLock<Mutex<LruCache<Place, Counted>>> =
    LazyLock::new(|| Mutex::new(LruCache::new(MAX_COUNTERS)));

impl Store {
    /// Adds to a number as [`Store::increment`] does, once an event, however often a hook runs
    /// about it: the nth increment of a later run gives the sum that the nth of the first one gave.
    ///
    /// # Errors
    /// As for [`Store::increment`].
    pub fn increment_once(
        &self,
        scope: &Scope,
        key: &str,
        by: &Number,
        ttl: Option<Duration>,
        Occasion { event, hook, run }: &Occasion,
    ) -> Result<Number, StateError> {
        let mut all = COUNTED.lock();
        let place = (event.clone(), hook.clone(), scope.clone(), key.to_string());
        let counted = all.get_or_insert_mut(place, Counted::default);
        if counted.run != *run {
            (counted.run, counted.n_given) = (run.clone(), 0);
        }
        let before = counted.sums.get(counted.n_given).cloned();
        counted.n_given += 1;
        if let Some(sum) = before {
            return Ok(sum);
        }
        let sum = self.increment(scope, key, by, ttl)?;
        if counted.sums.len() < MAX_SUMS {
            counted.sums.push(sum.clone());
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_counts_once_however_often_a_hook_runs_about_it() {
        let store = Store::default();
        let sums = |event: &str, hook: &str, run: &str, n: usize| -> Vec<Option<u64>> {
            let occasion = Occasion {
                event: event.into(),
                hook: hook.into(),
                run: run.into(),
            };
            let one = || store.increment_once(&Scope::Global, "calls", &1.into(), None, &occasion);
            (0..n).map(|_| one().ok()?.as_u64()).collect()
        };
        for (event, hook, run, expected) in [
            ("counted-1", "a", "1", &[1][..]),
            // It judges what another hook made of the call.
            ("counted-1", "a", "2", &[1]),
            ("counted-1", "b", "3", &[2]),
            ("counted-2", "a", "4", &[3, 4]),
            // One more than before is new.
            ("counted-2", "a", "5", &[3, 4, 5]),
        ] {
            let expected: Vec<_> = expected.iter().copied().map(Some).collect();
            assert_eq!(
                sums(event, hook, run, expected.len()),
                expected,
                "{event} {hook} {run}"
            );
        }
    }
}
