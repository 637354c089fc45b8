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
                let count = self.with(event.session(), |session| {
                    let count = session.send_backs.entry(key).or_default();
                    *count = if verdict.decision == Decision::Deny { *count + 1 } else { 0 };
                    let reached = *count;
                    if reached > MAX_SEND_BACKS {
                        *count = 0;
                    }
                    reached
                });
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
