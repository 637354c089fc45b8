//! The last day's calls that nobody was asked about, as a host tells them. They are counted by the
//! program that starts the host, because that knows agents' transcripts and entries; here the
//! result is kept for a while.

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An agent's calls in the last day, where it was started in the host's project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnaskedCalls {
    /// The agent, by its name.
    pub agent: String,
    /// How many calls nobody was asked about.
    pub calls: usize,
    /// How many of them the hooks in force would deny now.
    pub would_be_denied: usize,
    /// How many of them weren't judged: they are too long, or there was no time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_judged: usize,
    /// How many calls were asked about.
    pub asked: usize,
    /// Not everything could be read, so there may be more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl UnaskedCalls {
    /// In a line, for people.
    pub fn describe(&self) -> String {
        let UnaskedCalls {
            agent,
            calls,
            would_be_denied,
            ..
        } = self;
        let calls = hookwire_base::support::amounts::number_of(*calls, "call");
        format!(
            "{agent}: {calls} never asked, {would_be_denied} would be denied: `hookwire doctor --unasked {agent}`"
        )
    }
}

type Count = dyn Fn() -> Vec<UnaskedCalls> + Send + Sync;

/// Counts when somebody looks, and keeps the result.
pub struct LastDay {
    count: Box<Count>,
    /// Held while it is counted: whoever looks meanwhile gets the same result.
    counting: Mutex<()>,
    last: Mutex<Option<(Instant, Arc<[UnaskedCalls]>)>>,
}

impl LastDay {
    /// `count` may take seconds.
    pub fn new(count: impl Fn() -> Vec<UnaskedCalls> + Send + Sync + 'static) -> LastDay {
        LastDay {
            count: Box::new(count),
            counting: Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// The count of each agent that has a transcript, not older than this. It may take seconds.
    pub fn not_older(&self, age: Duration) -> Arc<[UnaskedCalls]> {
        let _counting = self.counting.lock();
        if let Some((_, counted)) = self.known().filter(|(known, _)| *known <= age) {
            return counted;
        }
        let counted: Arc<[UnaskedCalls]> = (self.count)().into();
        *self.last.lock() = Some((Instant::now(), counted.clone()));
        counted
    }

    /// What was counted last, and how old that is.
    pub fn known(&self) -> Option<(Duration, Arc<[UnaskedCalls]>)> {
        let last = self.last.lock();
        let (at, counted) = last.as_ref()?;
        Some((at.elapsed(), counted.clone()))
    }

    /// Whether the last count is older than this, and nobody counts.
    pub fn is_due(&self, age: Duration) -> bool {
        !self.counting.is_locked() && self.known().is_none_or(|(known, _)| known > age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_count_is_kept_for_a_while() {
        let n_counts = Arc::new(AtomicUsize::new(0));
        let counting = n_counts.clone();
        let last_day = LastDay::new(move || {
            vec![UnaskedCalls {
                calls: counting.fetch_add(1, Ordering::Relaxed) + 1,
                ..UnaskedCalls::default()
            }]
        });
        assert_eq!(last_day.known(), None);
        let hour = Duration::from_secs(3600);
        for (age, calls) in [(hour, 1), (hour, 1), (Duration::ZERO, 2), (hour, 2)] {
            assert_eq!(last_day.not_older(age)[0].calls, calls);
        }
        assert_eq!(last_day.known().map(|(_, it)| it[0].calls), Some(2));
        assert_eq!(n_counts.load(Ordering::Relaxed), 2);
    }
}
