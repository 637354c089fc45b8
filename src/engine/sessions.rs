//! What the engine remembers of sessions: send-backs in a row, and `once` hooks that have run.

use super::MAX_SEND_BACKS;
use crate::event::Event;
use crate::hook::Hook;
use crate::verdict::{Decision, Verdict};
use lru::LruCache;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;

/// Sessions that are remembered at once; the one without an event for longest is forgotten first.
const MAX_SESSIONS: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

pub(super) struct Sessions(Mutex<LruCache<String, Session>>);

impl Default for Sessions {
    fn default() -> Sessions {
        Sessions(Mutex::new(LruCache::new(MAX_SESSIONS)))
    }
}

#[derive(Default)]
struct Session {
    /// Per event name and agent.
    send_backs: HashMap<(String, String), u32>,
    ran: HashSet<String>,
}

/// Agents of a session that are sent back at once. Beyond, all are counted anew, because each may be
/// another one for ever.
const MAX_SENT_BACK: usize = 1000;

impl Session {
    /// How often in a row an agent has been sent back; one time too many begins anew.
    fn count_send_back(&mut self, key: (String, String), is_sent_back: bool) -> u32 {
        let before = self.send_backs.remove(&key).unwrap_or(0);
        let count = if is_sent_back { before + 1 } else { 0 };
        if (1..=MAX_SEND_BACKS).contains(&count) {
            if self.send_backs.len() >= MAX_SENT_BACK {
                self.send_backs.clear();
            }
            self.send_backs.insert(key, count);
        }
        count
    }
}

impl Sessions {
    /// Whether a `once` hook may run now; says yes once per session.
    pub(super) fn claim(&self, event: &Event, hook: &Hook) -> bool {
        // Names may be given twice; the place in the file changes with every edit above it.
        let key = format!("{}\n{}\n{:x}", hook.source.file, hook.name, hook.fingerprint);
        self.with(event.session(), |session| session.ran.insert(key))
    }

    /// Counts send-backs and overrides the one that is too many.
    pub(super) fn note(&self, event: &Event, verdict: &mut Verdict) {
        match &*event.name {
            name if event.spec.rest => {
                let agent = event.text("/agent/id").or(event.text("/agent/name")).unwrap_or_default();
                let key = (name.to_string(), agent.to_string());
                let is_sent_back = verdict.decision == Decision::Deny;
                let count = self.with(event.session(), |session| session.count_send_back(key, is_sent_back));
                if count > MAX_SEND_BACKS {
                    verdict.errors.push(format!(
                        "sent back to work {MAX_SEND_BACKS} times in a row; the agent may rest (the hook should look at `stopActive`)"
                    ));
                    verdict.decision = Decision::Allow;
                    verdict.decided_by = None;
                    verdict.reason = None;
                }
            }
            "UserPromptSubmit" | "RunStart" if !event.session().is_empty() => {
                self.with(event.session(), |session| session.send_backs.clear());
            }
            "SessionEnd" => self.forget(event.session()),
            _ => {}
        }
    }

    fn with<T>(&self, session: &str, act: impl FnOnce(&mut Session) -> T) -> T {
        act(self.0.lock().get_or_insert_mut_ref(session, Session::default))
    }

    fn forget(&self, session: &str) {
        self.0.lock().pop(session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_that_come_and_go_are_not_kept() {
        let mut session = Session::default();
        let mut count = |agent: usize, back| {
            let count = session.count_send_back(("SubagentStop".into(), agent.to_string()), back);
            (count, session.send_backs.len())
        };
        assert_eq!([count(0, true), count(0, true), count(0, false)], [(1, 1), (2, 1), (0, 0)]);
        let most = (0..3 * MAX_SENT_BACK).map(|agent| count(agent, true).1).max();
        assert_eq!(most, Some(MAX_SENT_BACK));
        let counts: Vec<u32> = (0..=MAX_SEND_BACKS + 1).map(|_| count(1, true).0).collect();
        assert_eq!(counts.last(), Some(&1), "{counts:?}");
    }

    #[test]
    fn an_active_session_is_remembered() {
        let sessions = Sessions::default();
        let ran = |session: &str| sessions.with(session, |it| !it.ran.insert("hook".into()));
        assert!(!ran("active") && !ran("quiet"));
        for n in 0..MAX_SESSIONS.get() {
            ran(&n.to_string());
            if n % 1000 == 0 {
                assert!(ran("active"), "{n}");
            }
        }
        assert!(ran("active"));
        assert!(!ran("quiet"), "the quiet one made room");
        assert_eq!(sessions.0.lock().len(), MAX_SESSIONS.get());
    }
}
