//! Questions that one event of a call leaves to a later one of the same call, because the agent can
//! ask there and not here.
//!
//! The later event says less of the call, so a hook may not know it again there. What was to be
//! asked is asked all the same.

use hookwire_base::support::digest::of_texts;
use hookwire_base::verdict::{Decision, Verdict};
use lru::LruCache;
use parking_lot::Mutex;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// So many questions are remembered; the oldest one is forgotten first.
const MOST: NonZeroUsize = NonZeroUsize::new(256).unwrap();
/// An agent comes to the later event at once. A person who has to agree to something else first
/// takes longer.
const WAITS: Duration = Duration::from_secs(600);

struct Question {
    at: Instant,
    reason: Option<String>,
    by: Option<Arc<str>>,
}

/// See the module.
pub struct PassedOn(Mutex<LruCache<[u8; 32], Question>>);

impl Default for PassedOn {
    fn default() -> PassedOn {
        PassedOn(Mutex::new(LruCache::new(MOST)))
    }
}

impl PassedOn {
    /// Remembers the question of a verdict on a call, which these texts tell from others; or that
    /// there is none any more.
    pub fn leave(&self, call: &[&str], verdict: &Verdict) {
        let mut left = self.0.lock();
        match verdict.decision {
            Decision::Ask => {
                let question = Question {
                    at: Instant::now(),
                    reason: verdict.reason.clone(),
                    by: verdict.decided_by.clone(),
                };
                left.put(of_texts(call), question);
            }
            Decision::Allow | Decision::Defer | Decision::Deny => drop(left.pop(&of_texts(call))),
        }
    }

    /// Asks what was left, unless the verdict is as strict.
    pub fn ask(&self, call: &[&str], verdict: &mut Verdict) {
        self.ask_at(Instant::now(), call, verdict);
    }

    fn ask_at(&self, now: Instant, call: &[&str], verdict: &mut Verdict) {
        let mut left = self.0.lock();
        let Some(question) = left
            .get(&of_texts(call))
            .filter(|question| now - question.at <= WAITS)
        else {
            return;
        };
        if verdict.decision == Decision::Allow {
            verdict.decision = Decision::Ask;
            (verdict.reason, verdict.decided_by) = (question.reason.clone(), question.by.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_asked_at_the_later_event() {
        let left = PassedOn::default();
        let verdict = |decision| {
            let mut verdict = Verdict::silent(decision, 0, "".into(), "e".into());
            verdict.reason = Some("Why".into()).filter(|_| decision != Decision::Allow);
            verdict
        };
        let asked_at = |now, call: &str, decision| {
            let mut verdict = verdict(decision);
            left.ask_at(now, &[call], &mut verdict);
            (verdict.decision, verdict.reason)
        };
        let asked = |call: &str, decision| asked_at(Instant::now(), call, decision);
        left.leave(&["a"], &verdict(Decision::Ask));
        assert_eq!(asked("b", Decision::Allow), (Decision::Allow, None));
        for _ in 0..2 {
            assert_eq!(
                asked("a", Decision::Allow),
                (Decision::Ask, Some("Why".into()))
            );
        }
        assert_eq!(asked("a", Decision::Deny).0, Decision::Deny);
        left.leave(&["a"], &verdict(Decision::Allow));
        assert_eq!(asked("a", Decision::Allow).0, Decision::Allow);
        left.leave(&["a"], &verdict(Decision::Ask));
        let later = Instant::now() + WAITS + Duration::from_secs(1);
        assert_eq!(asked_at(later, "a", Decision::Allow).0, Decision::Allow);
    }
}
