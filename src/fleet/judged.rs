//! By which bundle a host has judged, and what came of it: for the record of each verdict, and for the host's report.

use crate::definitions::published_sets::PublishedSets;
use crate::verdict::{Decision, Verdict};
use hookwire_fleet::follow::{Pins, in_force_in};
use hookwire_fleet::hosts::InForce;
use hookwire_fleet::rates::{Counts, Judged};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

/// How many bundles a host counts for: the one in force and those before it, newest last.
const MAX_COUNTED: usize = 3;

/// What became of events by each of the last bundles.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<Vec<Judged>>);

impl Tally {
    /// Counts a verdict.
    fn count(&self, by: &InForce, verdict: &Verdict) {
        let one = Counts {
            events: 1,
            denied: u64::from(verdict.decision == Decision::Deny),
            doubtful: u64::from(verdict.doubts().next().is_some()),
            failed: u64::from(verdict.outcomes.iter().any(|it| it.error.is_some())),
        };
        let mut counted = self.0.lock();
        let known = counted.iter().position(|it| it.revision == by.revision).map(|at| counted.remove(at));
        let before = known.map(|it| it.counts).unwrap_or_default();
        if counted.len() == MAX_COUNTED {
            counted.remove(0);
        }
        counted.push(Judged { revision: by.revision, content: by.content, counts: before.plus(one) });
    }

    /// What was counted so far.
    pub(crate) fn counted(&self) -> Vec<Judged> {
        self.0.lock().clone()
    }
}

/// Tells of verdicts by which bundle they were made.
pub(super) struct ByBundle {
    pub(super) sets: Arc<PublishedSets>,
    /// Whose bundles are believed; `None`: none is followed.
    pub(super) pins: Option<Pins>,
    pub(super) tally: Arc<Tally>,
    /// The last directory that was looked at, and the bundle that it holds.
    pub(super) known: Option<(Arc<Path>, Option<InForce>)>,
}

impl ByBundle {
    /// The bundle that was in force when a verdict was made, which is counted. There is none where nothing was published
    /// yet, and where something stands in for a bundle that is broken.
    pub(super) fn of(&mut self, verdict: &str) -> Option<InForce> {
        let pins = self.pins.as_ref()?;
        let verdict: Verdict = serde_json::from_str(verdict).ok()?;
        let dir = self.sets.of(verdict.generation)?;
        if self.known.as_ref().is_none_or(|(known, _)| *known != dir) {
            let by = in_force_in(&dir, pins);
            self.known = Some((dir, by));
        }
        let by = self.known.as_ref()?.1.clone()?;
        self.tally.count(&by, &verdict);
        Some(by)
    }
}
