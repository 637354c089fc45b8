//! What guards remember between events: counters and the like, in a scope of the shared store that
//! no API reaches.
//!
//! What is remembered belongs to a hook by file and name, so that an edit of its definition keeps
//! it, and to a run, a session or the whole host. An event counts once, however often a hook is
//! asked about it: after a rewrite, guards judge the new value again.

use super::super::call::Call;
use super::super::error::HandlerError;
use super::raw::Expression;
use super::refusal::Refusal;
use crate::services::state::{Scope, StateError};
use hookwire_base::support::amounts::millis;
use hookwire_base::support::digest;
use hookwire_rules::matching::patience;
use lru::LruCache;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::OnceCell;

/// What a guard counts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Per {
    /// One prompt until the agent rests, its sub-agents included.
    #[default]
    Run,
    /// A session.
    Session,
    /// All sessions of the host.
    Host,
}

/// What a guard counts together that can count on all hosts of a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum PerOrFleet {
    /// One prompt until the agent rests, its sub-agents included.
    #[default]
    Run,
    /// A session.
    Session,
    /// All sessions of the host.
    Host,
    /// All hosts of the fleet.
    Fleet,
}

impl PerOrFleet {
    /// What is counted together in this host; where there is no fleet really, the host stands for
    /// it.
    pub(super) fn here(self) -> Per {
        match self {
            PerOrFleet::Run => Per::Run,
            PerOrFleet::Session => Per::Session,
            PerOrFleet::Host | PerOrFleet::Fleet => Per::Host,
        }
    }
}

/// Whose memory a guard keeps.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) guard: &'static str,
    pub(super) per: Per,
    /// One memory for each value of it.
    pub(super) by: Option<Expression>,
}

/// Long after any run has ended; what nothing touches is forgotten.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// Judgements that are remembered, for events that are judged again: as many may be on their way at
/// once without one being counted twice. The one that was asked for longest ago is forgotten first.
const MAX_JUDGEMENTS: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// What was said of events, by event and counter; whoever asks first finds it out. No event
/// outlives the process.
type Judgements = LruCache<(Arc<str>, String), Arc<OnceCell<Option<Refusal>>>>;

static JUDGEMENTS: LazyLock<Mutex<Judgements>> =
    LazyLock::new(|| Mutex::new(LruCache::new(MAX_JUDGEMENTS)));

/// What is said of an event by a counter.
fn judgement(event: Arc<str>, key: String) -> Arc<OnceCell<Option<Refusal>>> {
    JUDGEMENTS
        .lock()
        .get_or_insert_mut((event, key), Arc::default)
        .clone()
}

impl Memory {
    pub(super) fn new(guard: &'static str, per: Per) -> Memory {
        Memory {
            guard,
            per,
            by: None,
        }
    }

    /// Lets `judge` change the state and say what stands against the event, if anything; for an
    /// event that was judged before, gives what was said then. One step for all who ask at once.
    /// Returns when it will survive the host.
    pub(super) async fn judge<S: Serialize + DeserializeOwned + Default, R: Into<Refusal>>(
        &self,
        call: &Call<'_>,
        judge: impl FnOnce(&mut S) -> Option<R>,
    ) -> Result<Option<Refusal>, HandlerError> {
        let key = self.key(call).await?;
        let event = call.moment.event();
        let state = &call.services.state;
        let failed = |StateError(error)| HandlerError(error);
        let mut is_new = false;
        let said = judgement(event.id.clone(), key.clone());
        let find_out = async || {
            is_new = true;
            let mut said = None;
            let judge = |present: Option<&Value>| {
                // Of another version, or nothing: begin anew.
                let mut kept = present
                    .and_then(|value| S::deserialize(value).ok())
                    .unwrap_or_default();
                said = judge(&mut kept).map(R::into);
                let value = serde_json::to_value(kept)
                    .map_err(|error| StateError(format!("keep a count: {error}")))?;
                Ok(Some(value))
            };
            state
                .update(&Scope::Guards, &key, Some(KEPT), judge)
                .map_err(failed)?;
            Ok::<_, HandlerError>(said)
        };
        let said = said.get_or_try_init(find_out).await?.clone();
        if is_new {
            state.saved().await.map_err(failed)?;
        }
        Ok(said)
    }

    /// The same where what is counted is elsewhere: `judge` is given the value of `by`, and is
    /// asked once about an event.
    pub(super) async fn judge_elsewhere(
        &self,
        call: &Call<'_>,
        judge: impl AsyncFnOnce(&str) -> Result<Option<Refusal>, HandlerError>,
    ) -> Result<Option<Refusal>, HandlerError> {
        let said = judgement(call.moment.event().id.clone(), self.key(call).await?);
        let find_out = async || judge(&self.by(call).await?).await;
        said.get_or_try_init(find_out).await.cloned()
    }

    /// What stands for the value by which is counted; empty without one.
    async fn by(&self, call: &Call<'_>) -> Result<String, HandlerError> {
        let Some(Expression(by)) = &self.by else {
            return Ok(String::new());
        };
        let key = || by.key(call.moment.event().data());
        let found = match patience::quickly(key) {
            Some(found) => found,
            None => {
                // The first poll is the connection's reader, which has no time for this.
                tokio::task::yield_now().await;
                key()
            }
        };
        found.map_err(|error| {
            HandlerError(format!("tell by what to count: `{}` {error}", by.source()))
        })
    }

    async fn key(&self, call: &Call<'_>) -> Result<String, HandlerError> {
        let event = call.moment.event();
        let session = event.session();
        let whose = match self.per {
            Per::Run => call.services.runs.durable(event),
            Per::Session if session.is_empty() => PROCESS.clone(),
            Per::Session => session.to_string(),
            // Where every user may ask, one can't spend another's.
            Per::Host => match event.asker() {
                Some(uid) => uid.to_string(),
                None => String::new(),
            },
        };
        let by = self.by(call).await?;
        let per = match self.per {
            Per::Run => "run",
            Per::Session => "session",
            Per::Host => "host",
        };
        let key = digest::of_texts(&[&call.hook.source.file, call.hook.name, per, &whose, &by]);
        Ok(format!("{}:{}", self.guard, digest::hex(&key)))
    }
}

static PROCESS: LazyLock<String> =
    LazyLock::new(|| format!("{:x}-{:x}", clock(), std::process::id()));

/// The time in milliseconds since 1970; in a test, with the time that it pretends to have passed.
pub(super) fn now(call: &Call<'_>) -> u64 {
    clock().saturating_add(
        call.services
            .fakes
            .as_ref()
            .map_or(0, |fakes| fakes.ahead()),
    )
}

/// Within a process it moves as a stopwatch does, whatever becomes of the system's clock.
fn clock() -> u64 {
    static START: LazyLock<(Duration, Instant)> = LazyLock::new(|| {
        (
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
            Instant::now(),
        )
    });
    let (start, instant) = *START;
    millis(start + instant.elapsed())
}
