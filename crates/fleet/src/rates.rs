//! How often hosts deny, doubt and fail by a bundle, and whether its canary does so clearly more
//! often.
//!
//! Hosts count for themselves and report it, so a host can lie. What comes of it may hold a bundle
//! or take it back, and never puts one in force.

use crate::digest::Sha256;
use serde::{Deserialize, Serialize};

/// How many events a bundle must have judged before its rates are compared.
pub const MIN_EVENTS: u64 = 50;
/// How many of the canary's events must have come out so before they say anything.
pub const MIN_BAD: u64 = 5;
/// By how many standard errors the canary's rate must be above the other: by chance it is once in
/// 700 comparisons.
pub const MIN_Z: f64 = 3.0;
/// What the canary's rate must be at least, as a multiple of the other: of very many events, any
/// difference is certain.
pub const MIN_RATIO: f64 = 1.2;

/// What became of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Counts {
    /// How many were judged.
    pub events: u64,
    /// How many were denied.
    pub denied: u64,
    /// At how many a hook couldn't tell whether it applies, and the decision could hang on it.
    pub doubtful: u64,
    /// At how many a hook failed.
    pub failed: u64,
}

impl Counts {
    /// With those of another host.
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            events: self.events.saturating_add(other.events),
            denied: self.denied.saturating_add(other.denied),
            doubtful: self.doubtful.saturating_add(other.doubtful),
            failed: self.failed.saturating_add(other.failed),
        }
    }

    /// How many of a kind there are.
    pub fn count_of(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Denied => self.denied,
            Measure::Doubtful => self.doubtful,
            Measure::Failed => self.failed,
        }
    }

    /// How many of a kind there are, as a part of all. A host may have said more than all.
    pub fn rate(&self, measure: Measure) -> f64 {
        if self.events == 0 {
            0.0
        } else {
            (self.count_of(measure) as f64 / self.events as f64).min(1.0)
        }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Measure {
    /// Denied events.
    Denied,
    /// Events in doubt.
    Doubtful,
    /// Events at which a hook failed.
    Failed,
}

/// All of them, in the order of their columns.
pub const MEASURES: [Measure; 3] = [Measure::Denied, Measure::Doubtful, Measure::Failed];

/// What a host has judged by one bundle since it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    /// Its revision.
    pub revision: u64,
    /// Of its files.
    pub content: Sha256,
    /// What became of the events.
    #[serde(flatten)]
    pub counts: Counts,
}

/// The rates of a canary beside those of what all hosts have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Of the canary's revision.
    pub canary: Counts,
    /// Of the files that all others have, on any host: one of the canary has judged by them before.
    pub before: Counts,
}

impl Compared {
    /// Adds up what hosts report, by the canary's revision and by the files of what was there
    /// before.
    pub fn from_judged<'a>(
        judged: impl Iterator<Item = &'a Judged>,
        canary: u64,
        before: &Sha256,
    ) -> Compared {
        judged.fold(Compared::default(), |sum, judged| {
            match (judged.revision == canary, judged.content == *before) {
                (true, _) => Compared {
                    canary: sum.canary.plus(judged.counts),
                    ..sum
                },
                (false, true) => Compared {
                    before: sum.before.plus(judged.counts),
                    ..sum
                },
                (false, false) => sum,
            }
        })
    }

    /// Whether there are enough events on both sides to compare.
    pub fn is_enough(&self) -> bool {
        self.canary.events >= MIN_EVENTS && self.before.events >= MIN_EVENTS
    }

    /// What the canary does clearly more often: a one-sided test of two proportions with a pooled
    /// standard error.
    pub fn worse(&self) -> Vec<Measure> {
        if self.is_enough() {
            MEASURES
                .into_iter()
                .filter(|measure| {
                    let (canary, before) = (self.canary.rate(*measure), self.before.rate(*measure));
                    self.canary.count_of(*measure) >= MIN_BAD
                        && canary >= before * MIN_RATIO
                        && self.z_score(*measure) >= MIN_Z
                })
                .collect()
        } else {
            Vec::new()
        }
    }

    /// By how many standard errors the canary's rate is above the other.
    fn z_score(&self, measure: Measure) -> f64 {
        let (n_canary, n_before) = (self.canary.events as f64, self.before.events as f64);
        let (canary, before) = (self.canary.rate(measure), self.before.rate(measure));
        let pooled = (canary * n_canary + before * n_before) / (n_canary + n_before);
        let error = (pooled * (1.0 - pooled) * (1.0 / n_canary + 1.0 / n_before)).sqrt();
        if error > 0.0 {
            (canary - before) / error
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Compared, Counts, Measure};

    #[test]
    fn only_what_is_clearly_more_is_worse() {
        let counts = |events, denied| Counts {
            events,
            denied,
            ..Counts::default()
        };
        for (canary, before, is_worse) in [
            // Enough, and clear.
            ((100, 30), (1000, 20), true),
            ((60, 60), (60, 0), true),
            ((50, 6), (100_000, 0), true),
            // The same, less, and a little more.
            ((100, 30), (1000, 300), false),
            ((100, 0), (1000, 300), false),
            ((100, 8), (1000, 50), false),
            // Too few events on either side, or too few of them denied.
            ((49, 49), (1000, 0), false),
            ((1000, 500), (49, 0), false),
            ((50, 4), (100_000, 0), false),
            // Certain, and too little to matter.
            ((1_000_000, 110_000), (1_000_000, 100_000), false),
            // What a lying host says.
            ((u64::MAX, u64::MAX), (u64::MAX, 0), true),
            ((100, u64::MAX), (100, u64::MAX), false),
        ] {
            let compared = Compared {
                canary: counts(canary.0, canary.1),
                before: counts(before.0, before.1),
            };
            let worse = compared.worse();
            assert_eq!(
                worse == [Measure::Denied],
                is_worse,
                "{compared:?}: {worse:?}"
            );
        }
        let failing = Counts {
            events: 100,
            failed: 20,
            doubtful: 20,
            ..Counts::default()
        };
        let compared = Compared {
            canary: failing,
            before: counts(100, 0),
        };
        assert_eq!(compared.worse(), [Measure::Doubtful, Measure::Failed]);
    }
}
