//! What outlives an event: the services that handlers share, the memory of sessions and calls, and
//! those who listen.

use super::calls::Calls;
use super::passed_on::PassedOn;
use super::repeated::Repeated;
use super::sessions::Sessions;
use hookwire_base::event::Event;
use hookwire_base::support::amounts::rfc3339;
use hookwire_base::verdict::{Outcome, Verdict};
use hookwire_handlers::handlers::{Moment, Services};
use hookwire_handlers::services::emit::EventSender;
use hookwire_rules::matching::{Facts, rule};
use lru::LruCache;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{Semaphore, broadcast};

/// The state that outlives an event: shared services, the memory of sessions, listeners. Clones
/// share it.
#[derive(Clone)]
pub struct Engine {
    /// The services that handlers share.
    pub services: Services,
    /// How long an `ask` that the client can't put to a person waits for one at another terminal;
    /// `None`: it is a deny.
    pub ask_elsewhere: Option<Duration>,
    /// Scripts that calls run aren't looked into.
    pub no_scripts: bool,
    /// What becomes of hooks that do more than answer.
    pub effects: Effects,
    /// An event's deadline is for its hooks only, and its conditions may take longer.
    pub unhurried: bool,
    /// Called with the event and the outcome of each detached hook when that ends.
    pub on_detached_end: Arc<OnceLock<Box<DetachedEnd>>>,
    /// The moments that were judged just now, for an agent that asks about each of them twice.
    pub repeated: Arc<Repeated<Verdict>>,
    /// The questions that an agent is to be asked at a later event of the same call.
    pub passed_on: Arc<PassedOn>,
    reports: EventSender<Report>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) detached: Arc<Semaphore>,
    /// The tools that a person was told may be shells.
    maybe_shells: Arc<Mutex<LruCache<Box<str>, ()>>>,
    pub(super) calls: Arc<Calls>,
}

/// What becomes of hooks that do more than answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    /// They run.
    Happen,
    /// Those that start something or count are skipped; their outcomes say so by
    /// [`NOT_RUN`](super::NOT_RUN).
    Skip,
    /// They fail: another host was asked about the event and may have run them.
    Fail,
}

/// Takes the event and the outcome of a detached hook that has ended.
pub type DetachedEnd = dyn Fn(&Event, &Outcome) + Send + Sync;

/// The result of one hook's run, for those who listen.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The event's name.
    pub event: Arc<str>,
    /// The event's identifier.
    pub event_id: Arc<str>,
    /// Started and not waited for: not part of a verdict.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub detached: bool,
    /// When the run began: RFC 3339, in UTC, to the millisecond.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub started_at: Option<String>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completed_at: Option<String>,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Detached hooks that may run at once; more are skipped, and said to be.
const MAX_DETACHED: usize = 256;
/// Tools that a person was told about, so that each is told once.
const MAX_TOLD: NonZeroUsize = NonZeroUsize::new(1000).unwrap();
impl Engine {
    /// An engine.
    pub fn new(services: Services) -> Engine {
        Engine {
            services,
            ask_elsewhere: None,
            no_scripts: false,
            effects: Effects::Happen,
            unhurried: false,
            on_detached_end: Arc::default(),
            repeated: Arc::default(),
            passed_on: Arc::default(),
            reports: EventSender::default(),
            sessions: Arc::default(),
            detached: Arc::new(Semaphore::new(MAX_DETACHED)),
            maybe_shells: Arc::new(Mutex::new(LruCache::new(MAX_TOLD))),
            calls: Arc::default(),
        }
    }

    /// An engine that does nothing but answer: what starts something or counts is skipped, nobody
    /// is asked, nobody hears of it, and its values and sessions are new and its own.
    pub(super) fn scratch(&self) -> Engine {
        Engine {
            no_scripts: self.no_scripts,
            effects: Effects::Skip,
            maybe_shells: self.maybe_shells.clone(),
            ..Engine::new(self.services.scratch())
        }
    }

    /// Every hook's run from now on. A listener that falls behind loses the oldest.
    pub fn reports(&self) -> broadcast::Receiver<Report> {
        self.reports.subscribe()
    }

    /// Sends a run's outcome to those who listen.
    pub(super) fn report(&self, moment: &Moment, outcome: &Outcome, detached: bool) {
        self.reports.emit(|| {
            let event = moment.event();
            let times = outcome
                .times()
                .map(|(start, end)| (rfc3339(start), rfc3339(end)));
            let (started_at, completed_at) = times.unzip();
            let (event, event_id, outcome) =
                (event.name.clone(), event.id.clone(), outcome.clone());
            Report {
                event,
                event_id,
                detached,
                started_at,
                completed_at,
                outcome,
            }
        });
    }

    /// Tells once of each tool that it may be a shell, and what makes that certain.
    pub(super) fn tell_of_shell(&self, facts: &Facts) {
        let Some(tool) = facts.tool().filter(|_| facts.was_taken_for_shell()) else {
            return;
        };
        if self.maybe_shells.lock().put(tool.into(), ()).is_none() {
            let advice = rule::declaration(tool);
            tracing::warn!(
                tool,
                advice,
                "A tool that isn't known may be a shell; rules about commands are in doubt."
            );
        }
    }

    /// From now on the client tells of programs that start, which belong to calls.
    pub fn watch_calls(&self) {
        self.calls.watch();
    }

    /// Whether no detached hook runs.
    pub fn is_settled(&self) -> bool {
        self.detached.available_permits() == MAX_DETACHED
    }

    /// Returns when no detached hook runs any more; none can be started meanwhile.
    pub async fn settle(&self) {
        // The semaphore is never closed.
        let _ = self.detached.acquire_many(MAX_DETACHED as u32).await;
    }
}
