//! By which bundle a host has judged, and what came of it: for the record of each verdict, and for
//! the host's report.

use crate::definitions::published_sets::PublishedSets;
use hookwire_base::verdict::{Decision, Verdict};
use hookwire_fleet::follow::Status;
use hookwire_fleet::hosts::InForce;
use hookwire_fleet::rates::{Counts, Judged};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;

/// How many bundles a host counts for: the one in force and those before it, newest last.
const MAX_COUNTED: usize = 3;

/// What became of events by each of the last bundles.
#[derive(Debug, Default)]
pub struct Tally(Mutex<Vec<Judged>>);

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
        let known = counted
            .iter()
            .position(|it| it.revision == by.revision)
            .map(|at| counted.remove(at));
        let before = known.map(|it| it.counts).unwrap_or_default();
        if counted.len() == MAX_COUNTED {
            counted.remove(0);
        }
        counted.push(Judged {
            revision: by.revision,
            content: by.content,
            counts: before.plus(one),
        });
    }

    /// What was counted so far.
    pub fn counted(&self) -> Vec<Judged> {
        self.0.lock().clone()
    }
}

/// The last bundles, by the directories that name them in a host's sets.
#[derive(Debug, Default)]
pub struct Known(Mutex<Vec<(PathBuf, InForce)>>);

/// How many of them: the one in force, and those by which events were judged a moment ago.
const MAX_KNOWN: usize = 8;

impl Known {
    /// Notes what is in force, before the host judges by it.
    pub(super) fn note(&self, status: &Status) {
        let Some(bundle) = &status.bundle else { return };
        let mut known = self.0.lock();
        if known.iter().any(|(dir, _)| *dir == bundle.dir) {
            return;
        }
        if known.len() == MAX_KNOWN {
            known.remove(0);
        }
        known.push((bundle.dir.clone(), bundle.in_force().clone()));
    }
}

/// Tells of verdicts by which bundle they were made.
pub(super) struct ByBundle {
    pub(super) sets: Arc<PublishedSets>,
    pub(super) known: Arc<Known>,
    pub(super) tally: Arc<Tally>,
}

impl ByBundle {
    /// The bundle that was in force when a verdict was made, which is counted. There is none where
    /// nothing was published yet, and where nothing can be believed.
    pub(super) fn of(&self, verdict: &str) -> Option<InForce> {
        let verdict: Verdict = serde_json::from_str(verdict).ok()?;
        let dir = self.sets.of(verdict.generation)?;
        let by = self
            .known
            .0
            .lock()
            .iter()
            .find(|(known, _)| **known == *dir)?
            .1
            .clone();
        self.tally.count(&by, &verdict);
        Some(by)
    }
}
