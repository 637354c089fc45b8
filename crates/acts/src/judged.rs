//! What rules said of a script's commands before: it depends on nothing but the rule and the
//! commands. A call is judged when it is about to run, when a permission is asked for it, and after
//! it ran; and agents repeat what they do.

use smallvec::SmallVec;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many rules a script remembers.
const KEPT: usize = 32;

/// Three values for one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Held {
    No,
    Doubt(&'static str),
    Yes,
}

pub(super) fn to_held(holds: bool) -> Held {
    if holds { Held::Yes } else { Held::No }
}

/// Which rule it is. Copies of a rule say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RuleId(u64);

impl RuleId {
    pub(super) fn next() -> RuleId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        RuleId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A rule, and what it said of each command.
type Said = (RuleId, Arc<[Held]>);

/// What each rule said that was asked last.
#[derive(Default)]
pub(super) struct Judged(Mutex<SmallVec<[Said; 2]>>);

impl Judged {
    pub(super) fn by(&self, rule: RuleId, judge: impl FnOnce() -> Arc<[Held]>) -> Arc<[Held]> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, held)) = kept().iter().find(|(id, _)| *id == rule) {
            return held.clone();
        }
        let held = judge();
        let mut kept = kept();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((rule, held.clone()));
        held
    }
}

/// Two readings of a text are the same whatever they were asked.
impl fmt::Debug for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Judged")
    }
}
