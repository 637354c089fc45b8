//! The engine's memory of sessions: send-backs in a row, and `once` hooks that have run.

use crate::hook::Hook;
use hookwire_base::event::Event;
use hookwire_base::support::digest::of_texts;
use hookwire_base::verdict::{Decision, Verdict};
use hookwire_rules::contract::Contract;
use lru::LruCache;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// How often in a row an agent that wants to rest may be sent back to work.
pub const MAX_SEND_BACKS: u32 = 8;

/// Sessions that are remembered at once; the one without an event for longest is forgotten first.
const MAX_SESSIONS: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// `once` hooks that are remembered of one session: each edit of a hook makes another one of it.
const MAX_ONCE: usize = 1000;
/// Of all sessions together; the sessions without an event for longest are forgotten first.
const MAX_ALL_ONCE: usize = 100_000;

pub(super) struct Sessions(Mutex<Known>);

struct Known {
    sessions: LruCache<Name, Session>,
    /// The `once` hooks of all of them.
    n_once: usize,
}

/// A short value that stands for a text of any length.
type Name = [u8; 32];

impl Default for Sessions {
    fn default() -> Sessions {
        Sessions(Mutex::new(Known {
            sessions: LruCache::new(MAX_SESSIONS),
            n_once: 0,
        }))
    }
}

#[derive(Default)]
struct Session {
    /// Per event name and agent.
    send_backs: HashMap<Name, u32>,
    /// Why an agent was sent back last.
    sent_back_for: Option<Name>,
    ran: HashSet<Name>,
    /// A person was told what is to be known of the definitions.
    is_told: bool,
}

/// Whether a `once` hook may run.
pub(super) enum Claim {
    /// It hasn't in this session.
    First(OnceClaim),
    /// It has.
    Ran,
    /// It may have: so many have in this session that no more are remembered.
    Unknown,
}

/// The one run of a `once` hook in a session. A claim that is dropped before it is spent is given
/// back: the hook has judged nothing if its event was cancelled.
pub(super) struct OnceClaim {
    sessions: Arc<Sessions>,
    session: Name,
    hook: Name,
    is_spent: bool,
}

impl OnceClaim {
    /// The hook's run has ended, and so has its event: it doesn't run again in this session.
    pub(super) fn spend(mut self) {
        self.is_spent = true;
    }
}

impl Drop for OnceClaim {
    fn drop(&mut self) {
        if !self.is_spent {
            self.sessions.0.lock().give_back(&self.session, &self.hook);
        }
    }
}

/// Agents of a session that are sent back at once. Beyond, all are counted anew, because each may
/// be another one for ever.
const MAX_SENT_BACK: usize = 1000;

impl Session {
    /// How often in a row an agent has been sent back; one time too many begins anew.
    fn count_send_back(&mut self, key: Name, is_sent_back: bool) -> u32 {
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

    /// Whether a prompt begins something new. Some agents send an empty one after a tool's result,
    /// and some give the reason of a send-back as the next prompt: then an agent that is sent back
    /// for ever would be counted anew each time.
    fn is_new(&self, prompt: Option<&str>) -> bool {
        match prompt.map(str::trim) {
            Some("") => false,
            Some(prompt) => self.sent_back_for != Some(of_texts(&[prompt])),
            None => true,
        }
    }
}

impl Sessions {
    /// Whether a `once` hook may run now: the first in a session may, until it gives its claim
    /// back.
    pub(super) fn claim(self: &Arc<Self>, event: &Event, hook: &Hook) -> Claim {
        // Names may be given twice; the place in the file changes with every edit above it.
        // A hook that only observes must not use up the one run of the hook that enforces.
        let fingerprint = format!("{:x} {}", hook.fingerprint, hook.observe);
        let spends = event.unknown_gate().is_none();
        self.claim_name(
            event.session(),
            of_texts(&[&*hook.source.file, &hook.name, &fingerprint]),
            spends,
        )
    }

    fn claim_name(self: &Arc<Self>, session: &str, hook: Name, spends: bool) -> Claim {
        let known = &mut *self.0.lock();
        let ran = &mut known.session(of_texts(&[session])).ran;
        if ran.contains(&hook) {
            return Claim::Ran;
        }
        let claim = |is_spent| {
            Claim::First(OnceClaim {
                sessions: self.clone(),
                session: of_texts(&[session]),
                hook,
                is_spent,
            })
        };
        // Nothing is kept of it, so nothing can be given back.
        if !spends {
            return claim(true);
        }
        if ran.len() >= MAX_ONCE {
            return Claim::Unknown;
        }
        ran.insert(hook);
        known.n_once += 1;
        // The present session is the last one, and has fewer.
        while known.n_once > MAX_ALL_ONCE && known.forget_oldest() {}
        claim(false)
    }

    /// Tells a person once in a session, at the first event whose reply has a place for it.
    pub(super) fn tell_once(
        &self,
        event: &Event,
        client: &Contract,
        verdict: &mut Verdict,
        told: Vec<String>,
    ) {
        let Ok(dialect) = hookwire_dialects::by_name(client.dialect) else {
            return;
        };
        let key = name_of(event);
        if self.0.lock().session(key).is_told {
            return;
        }
        let silent = dialect.reply_to(event, verdict);
        verdict.user_messages.extend(told);
        let is_told = dialect.reply_to(event, verdict) != silent;
        self.0.lock().session(key).is_told |= is_told;
    }

    /// Counts send-backs and overrides the one that is too many.
    pub(super) fn limit_send_backs(&self, event: &Event, client: &Contract, verdict: &mut Verdict) {
        let session = event.session();
        let key = || name_of(event);
        if let Some(rest) = event.rest() {
            let agent = event
                .text("/agent/id")
                .or(event.text("/agent/name"))
                .unwrap_or_default();
            let goes_on = client.context_resumes && !verdict.additional_context.is_empty();
            let is_sent_back = verdict.decision == Decision::Deny || goes_on;
            let mut known = self.0.lock();
            let session = known.session(key());
            if session.count_send_back(of_texts(&[rest, agent]), is_sent_back) > MAX_SEND_BACKS {
                return let_rest(verdict);
            }
            if let Some(reason) = verdict.reason.as_deref().filter(|_| is_sent_back) {
                session.sent_back_for = Some(of_texts(&[reason.trim()]));
            }
            return;
        }
        match &*event.name {
            "UserPromptSubmit" | "RunStart" if !session.is_empty() => {
                let mut known = self.0.lock();
                let session = known.session(key());
                if session.is_new(event.text("/prompt")) {
                    session.send_backs.clear();
                }
            }
            "SessionEnd" => self.0.lock().forget(session),
            _ => {}
        }
    }
}

/// Agents without sessions are told apart by where they work.
fn name_of(event: &Event) -> Name {
    match event.session() {
        "" => of_texts(&["", event.cwd().unwrap_or_default()]),
        session => of_texts(&[session]),
    }
}

/// Takes back that an agent is sent back to work once more.
fn let_rest(verdict: &mut Verdict) {
    verdict.errors.push(format!(
        "sent back to work {MAX_SEND_BACKS} times in a row; the agent may rest (the hook should look at `stopActive`)"
    ));
    verdict.decision = Decision::Allow;
    (verdict.decided_by, verdict.reason) = (None, None);
    (verdict.subject, verdict.patch, verdict.replaced) = (None, None, false);
    verdict.additional_context.clear();
}

impl Known {
    fn session(&mut self, name: Name) -> &mut Session {
        if self.sessions.len() == MAX_SESSIONS.get() && !self.sessions.contains(&name) {
            self.forget_oldest();
        }
        self.sessions.get_or_insert_mut(name, Session::default)
    }

    fn forget(&mut self, session: &str) {
        let gone = self.sessions.pop(&of_texts(&[session]));
        self.n_once -= gone.map_or(0, |it| it.ran.len());
    }

    /// The session may be forgotten meanwhile.
    fn give_back(&mut self, session: &Name, hook: &Name) {
        if self
            .sessions
            .peek_mut(session)
            .is_some_and(|session| session.ran.remove(hook))
        {
            self.n_once -= 1;
        }
    }

    /// Whether there was one.
    fn forget_oldest(&mut self) -> bool {
        let gone = self.sessions.pop_lru();
        self.n_once -= gone.as_ref().map_or(0, |(_, it)| it.ran.len());
        gone.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_that_come_and_go_are_not_kept() {
        let mut session = Session::default();
        let mut count = |agent: usize, back| {
            let count =
                session.count_send_back(of_texts(&["SubagentStop", &agent.to_string()]), back);
            (count, session.send_backs.len())
        };
        assert_eq!(
            [count(0, true), count(0, true), count(0, false)],
            [(1, 1), (2, 1), (0, 0)]
        );
        let most = (0..3 * MAX_SENT_BACK)
            .map(|agent| count(agent, true).1)
            .max();
        assert_eq!(most, Some(MAX_SENT_BACK));
        let counts: Vec<u32> = (0..=MAX_SEND_BACKS + 1).map(|_| count(1, true).0).collect();
        assert_eq!(counts.last(), Some(&1), "{counts:?}");
    }

    #[test]
    fn an_active_session_is_remembered() {
        let sessions = Arc::<Sessions>::default();
        let ran = |session: &str| match sessions.claim_name(session, of_texts(&["hook"]), true) {
            Claim::First(claim) => {
                claim.spend();
                false
            }
            Claim::Ran => true,
            Claim::Unknown => panic!("there are few"),
        };
        assert!(!ran("active") && !ran("quiet"));
        for n in 0..MAX_SESSIONS.get() {
            ran(&n.to_string());
            if n % 1000 == 0 {
                assert!(ran("active"), "{n}");
            }
        }
        assert!(ran("active"));
        assert!(!ran("quiet"), "the quiet one made room");
        assert_eq!(sessions.0.lock().sessions.len(), MAX_SESSIONS.get());
    }

    #[test]
    fn hooks_that_ran_are_remembered_within_bounds() {
        let sessions = Arc::<Sessions>::default();
        let claim = |session: usize, hook: usize| {
            sessions.claim_name(&session.to_string(), of_texts(&[&hook.to_string()]), true)
        };
        let first = |session, hook| match claim(session, hook) {
            Claim::First(claim) => claim,
            Claim::Ran | Claim::Unknown => panic!("{hook} has not run in {session}"),
        };
        for session in 0..2 * MAX_ALL_ONCE / MAX_ONCE {
            for hook in 0..MAX_ONCE {
                // A claim that is given back leaves nothing behind.
                drop(first(session, hook));
                first(session, hook).spend();
            }
            // Neither once more nor never again: whoever asks has to say so.
            assert!(matches!(
                [claim(session, MAX_ONCE), claim(session, 0)],
                [Claim::Unknown, Claim::Ran]
            ));
            let known = sessions.0.lock();
            assert_eq!(
                known.n_once,
                known
                    .sessions
                    .iter()
                    .map(|(_, it)| it.ran.len())
                    .sum::<usize>()
            );
            assert!(known.n_once <= MAX_ALL_ONCE);
        }
    }
}
