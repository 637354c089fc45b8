//! Processes that stay up between events: the workers of functions, and MCP servers.
//!
//! One is started at its first call, shared by every hook whose definition of it is equal, started
//! again at the next call after a crash, and replaced when it is stale. It ends when it was not
//! called for a while, when another one needs its place, or with the host. A call that waits for a
//! start may give up; the start goes on for the next call. What fails again and again is left alone
//! for a while.
//!
//! A kind of them says how its process is started and spoken to: see [`Kept::live`].

use super::output_log::OutputLog;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, SemaphorePermit, watch};
#[cfg(feature = "mcp")]
use tokio::time::sleep_until;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Definitions that may be remembered without a process.
const MAX_UNUSED: usize = 64;
/// How often a call that found its process leaving looks for the next one.
pub(super) const MAX_TRIES: usize = 5;
/// What is asked to end has ended within this time, whatever its kind.
const FAREWELL: Duration = Duration::from_secs(3);
/// The longest wait between two starts of what keeps failing.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// A kind of processes that stay up, as those who call one see it.
pub(super) trait Kept: Send + Sync + Sized + 'static {
    /// What one is; equal ones are shared.
    type Definition: Eq + Hash + Send + Sync + 'static;
    /// What a start takes beside that.
    type Start: Send + 'static;

    /// How messages name one.
    const SUBJECT: &'static str;
    /// Begins what a call is told that there is no place for one.
    const NO_PLACE: &'static str;
    /// How long one may take until it is ready.
    const START: Duration;
    /// How many run at once.
    const PLACES: &'static Places;

    /// What one that is about to start says on stderr goes here.
    fn log(definition: &Self::Definition, start: &Self::Start) -> OutputLog;
    /// One without a process.
    fn new(definition: &Arc<Self::Definition>, life: Life) -> Self;
    /// What all kinds have.
    fn life(&self) -> &Life;
    /// Whether another one is to take over.
    fn is_stale(&self) -> bool;
    /// Its process from the start to the end. It says when it is [ready](Life::set_ready), and ends
    /// it when it is [over](Life::upkeep).
    fn live(
        self: &Arc<Self>,
        start: Self::Start,
        place: SemaphorePermit<'static>,
    ) -> impl Future<Output = End> + Send;
    /// The process has ended, and will answer no call any more.
    fn fail_calls(&self, why: &str);
}

/// Places of processes. One that is ending keeps its place until it has ended.
pub(super) struct Places {
    permits: Semaphore,
    most: usize,
    /// Some process has nothing to do any more.
    freed: Notify,
}

impl Places {
    pub(super) const fn new(most: usize) -> Places {
        Places {
            permits: Semaphore::const_new(most),
            most,
            freed: Notify::const_new(),
        }
    }
}

/// How a process came to its end.
pub(super) enum End {
    /// It was asked to.
    Left,
    /// Nothing was started.
    NotStarted(String),
    /// It ended by itself, or had to be ended.
    Failed(String),
}

/// Why there is no answer.
pub(super) enum NotAnswered {
    /// The call never reached the process, which is leaving: another one is to be asked.
    Leaving,
    /// What went wrong.
    Failed(String),
}

/// The life of one process, whatever its kind.
pub(super) struct Life {
    pub(super) log: Arc<OutputLog>,
    phase: watch::Sender<Phase>,
    usage: Mutex<Usage>,
    /// No new call is taken; it ends when those in flight have.
    leaving: CancellationToken,
    /// The last call has ended, or the process is ready.
    rests: Notify,
    places: &'static Places,
}

#[derive(Clone)]
enum Phase {
    Starting,
    Ready,
    Left,
    Failed(Arc<str>),
}

struct Usage {
    calls: usize,
    /// When the last call ended.
    idle_since: Instant,
    /// How long it stays up without a call.
    idle: Duration,
    has_answered: bool,
}

/// What a look at a life says about its process.
pub(super) enum Upkeep {
    /// It isn't needed any more.
    Leave,
    /// Look again at this time at the latest, if there is one, and when something has changed.
    LookAgain(Option<Instant>),
}

impl Life {
    /// Notes that the process takes calls.
    pub(super) fn set_ready(&self) {
        // The time that it took to start doesn't count as idle.
        self.usage.lock().idle_since = Instant::now();
        self.phase.send_if_modified(|phase| {
            let is_starting = matches!(phase, Phase::Starting);
            if is_starting {
                *phase = Phase::Ready;
            }
            is_starting
        });
        self.rests.notify_one();
        self.places.freed.notify_waiters();
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Ready)
    }

    /// Notes that it has answered: its failures so far were not in a row.
    pub(super) fn set_answered(&self) {
        self.usage.lock().has_answered = true;
    }

    /// Takes no more calls, and ends when those in flight have.
    pub(super) fn leave(&self) {
        let _no_new_call = self.usage.lock();
        self.leaving.cancel();
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.is_cancelled()
    }

    /// Returns when it takes no more calls.
    pub(super) async fn left(&self) {
        self.leaving.cancelled().await;
    }

    /// Why it failed, as soon as it has ended; `None` if it was asked to end.
    #[cfg(feature = "mcp")]
    pub(super) async fn failure(&self) -> Option<Arc<str>> {
        let mut phase = self.phase.subscribe();
        let ended = phase.wait_for(|phase| matches!(phase, Phase::Left | Phase::Failed(_)));
        match ended.await.as_deref() {
            Ok(Phase::Failed(why)) => Some(why.clone()),
            Ok(_) | Err(_) => None,
        }
    }

    /// Waits until it takes calls.
    async fn ready(&self) -> Result<(), NotAnswered> {
        let mut phase = self.phase.subscribe();
        let started = phase.wait_for(|phase| !matches!(phase, Phase::Starting));
        tokio::select! {
            biased;
            phase = started => match phase.as_deref() {
                Ok(Phase::Ready | Phase::Starting) => Ok(()),
                // `Err` can't happen, because the sender is in this struct.
                Ok(Phase::Left) | Err(_) => Err(NotAnswered::Leaving),
                Ok(Phase::Failed(why)) => Err(NotAnswered::Failed(why.to_string())),
            },
            () = self.left() => Err(NotAnswered::Leaving),
        }
    }

    /// Since when it has nothing to do, if it has nothing to do.
    fn idle_since(&self) -> Option<Instant> {
        let usage = self.usage.lock();
        (self.is_ready() && usage.calls == 0 && !self.is_leaving()).then_some(usage.idle_since)
    }

    /// Ends it unless it has been called meanwhile. Returns whether it ends.
    fn leave_if_idle(&self) -> bool {
        let usage = self.usage.lock();
        if usage.calls == 0 {
            self.leaving.cancel();
        }
        usage.calls == 0
    }

    /// Decides whether the process may go on.
    pub(super) fn upkeep(&self, now: Instant) -> Upkeep {
        let usage = self.usage.lock();
        match usage.calls {
            0 if self.is_leaving() => Upkeep::Leave,
            0 if self.is_ready() => {
                let until = usage.idle_since + usage.idle;
                if until > now {
                    return Upkeep::LookAgain(Some(until));
                }
                self.leaving.cancel();
                Upkeep::Leave
            }
            _ => Upkeep::LookAgain(None),
        }
    }

    /// Waits until the upkeep may say something else.
    pub(super) async fn changed(&self) {
        tokio::select! {
            () = self.rests.notified() => {}
            () = self.left(), if !self.is_leaving() => {}
        }
    }

    /// Returns when the process is to be ended from this side.
    #[cfg(feature = "mcp")]
    pub(super) async fn over(&self) {
        loop {
            match self.upkeep(Instant::now()) {
                Upkeep::Leave => return,
                Upkeep::LookAgain(None) => self.changed().await,
                Upkeep::LookAgain(Some(until)) => tokio::select! {
                    () = sleep_until(until) => {}
                    () = self.changed() => {}
                },
            }
        }
    }
}

/// A process in use: it isn't idle as long as this lives.
pub(super) struct Lease<K: Kept>(Arc<K>);

impl<K: Kept> Lease<K> {
    /// `None`: it takes no calls any more.
    fn new(kept: &Arc<K>, idle: Duration) -> Option<Lease<K>> {
        let mut usage = kept.life().usage.lock();
        if kept.life().is_leaving() {
            return None;
        }
        usage.calls += 1;
        usage.idle = usage.idle.max(idle);
        drop(usage);
        Some(Lease(kept.clone()))
    }
}

impl<K: Kept> Deref for Lease<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.0
    }
}

impl<K: Kept> Drop for Lease<K> {
    fn drop(&mut self) {
        let life = self.0.life();
        let mut usage = life.usage.lock();
        usage.calls -= 1;
        if usage.calls == 0 {
            usage.idle_since = Instant::now();
            drop(usage);
            life.rests.notify_one();
            life.places.freed.notify_waiters();
        }
    }
}

/// The processes of a host that are of one kind.
pub(super) struct Pool<K: Kept>(Arc<Slots<K>>);

/// What is known of equal definitions.
type Slots<K> = Mutex<HashMap<Arc<<K as Kept>::Definition>, Arc<Slot<K>>>>;

/// The place of one definition, whether it has a process or not.
pub(super) struct Slot<K: Kept> {
    definition: Arc<K::Definition>,
    state: Mutex<State<K>>,
}

struct State<K> {
    current: Option<Arc<K>>,
    health: Health,
}

impl<K: Kept> Default for Pool<K> {
    fn default() -> Pool<K> {
        Pool(Arc::default())
    }
}

impl<K: Kept> fmt::Debug for Slot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

impl<K: Kept> Pool<K> {
    /// Where the process of a definition is.
    pub(super) fn slot(&self, definition: impl Into<Arc<K::Definition>>) -> Arc<Slot<K>> {
        let definition = definition.into();
        let mut slots = self.0.lock();
        if slots.len() > MAX_UNUSED {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.is_in_use());
        }
        let new = || {
            Arc::new(Slot {
                definition: definition.clone(),
                state: Mutex::new(State {
                    current: None,
                    health: Health::default(),
                }),
            })
        };
        slots.entry(definition.clone()).or_insert_with(new).clone()
    }

    /// The process that is up to date and takes calls, started if need be. `idle` is how long it
    /// stays up without a call.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn get(
        &self,
        slot: &Arc<Slot<K>>,
        idle: Duration,
        start: impl Fn() -> K::Start,
    ) -> Result<Lease<K>, String> {
        for _ in 0..MAX_TRIES {
            let lease = slot.lease(&self.0, idle, &start)?;
            match lease.life().ready().await {
                Ok(()) => return Ok(lease),
                Err(NotAnswered::Failed(why)) => return Err(why),
                Err(NotAnswered::Leaving) => {}
            }
        }
        Err(replaced::<K>())
    }
}

/// Why a call gives up whose process left as often as may be.
pub(super) fn replaced<K: Kept>() -> String {
    format!(
        "{} was replaced again and again; do its files change all the time?",
        K::SUBJECT
    )
}

impl<K: Kept> Drop for Pool<K> {
    fn drop(&mut self) {
        for slot in self.0.lock().values() {
            if let Some(kept) = slot.state.lock().current.take() {
                kept.life().leave();
            }
        }
    }
}

impl<K: Kept> Slot<K> {
    fn lease(
        self: &Arc<Slot<K>>,
        slots: &Arc<Slots<K>>,
        idle: Duration,
        start: impl Fn() -> K::Start,
    ) -> Result<Lease<K>, String> {
        let present = self.state.lock().current.clone();
        // Apart, because it may look at files.
        if let Some(present) = present
            && !present.life().is_leaving()
            && present.is_stale()
        {
            present.life().leave();
        }
        let mut state = self.state.lock();
        if let Some(lease) = state
            .current
            .as_ref()
            .and_then(|kept| Lease::new(kept, idle))
        {
            return Ok(lease);
        }
        let now = Instant::now();
        state.health.check(K::SUBJECT, now)?;
        let start = start();
        let life = Life {
            log: Arc::new(K::log(&self.definition, &start)),
            phase: watch::Sender::new(Phase::Starting),
            usage: Mutex::new(Usage {
                calls: 1,
                idle_since: now,
                idle,
                has_answered: false,
            }),
            leaving: CancellationToken::new(),
            rests: Notify::new(),
            places: K::PLACES,
        };
        let kept = Arc::new(K::new(&self.definition, life));
        state.current = Some(kept.clone());
        let (slot, slots, task) = (self.clone(), slots.clone(), kept.clone());
        tokio::spawn(async move {
            let end = match timeout(K::START, place(&slots)).await {
                Ok(place) => task.live(start, place).await,
                Err(_) => {
                    let most = K::PLACES.most;
                    let begin = K::NO_PLACE;
                    End::NotStarted(format!("{begin}{most} others run, and all are busy"))
                }
            };
            slot.ended(&task, end);
        });
        Ok(Lease(kept))
    }

    /// Forgets a process that has ended, and counts a failure.
    fn ended(&self, kept: &Arc<K>, end: End) {
        let life = kept.life();
        life.leave();
        {
            let mut state = self.state.lock();
            if life.usage.lock().has_answered {
                state.health.failures = 0;
            }
            if let End::Failed(why) = &end {
                state.health.fail(Instant::now(), why);
            }
            if state
                .current
                .as_ref()
                .is_some_and(|current| Arc::ptr_eq(current, kept))
            {
                state.current = None;
            }
        }
        let (phase, why) = match end {
            End::Left => (Phase::Left, format!("{} was ended", K::SUBJECT)),
            End::NotStarted(why) | End::Failed(why) => (Phase::Failed(why.as_str().into()), why),
        };
        // Before the calls, because a caller that gets its error goes to the next process at once.
        life.phase.send_replace(phase);
        kept.fail_calls(&why);
    }

    fn is_in_use(&self) -> bool {
        let state = self.state.lock();
        state.current.is_some() || state.health.pause(Instant::now()).is_some()
    }
}

/// A place for one more process; the one that was idle longest makes room if there is none.
async fn place<K: Kept>(slots: &Slots<K>) -> SemaphorePermit<'static> {
    let places = K::PLACES;
    loop {
        let mut freed = pin!(places.freed.notified());
        // From here on, so that none is missed after looking.
        freed.as_mut().enable();
        if let Ok(place) = places.permits.try_acquire() {
            return place;
        }
        let kept: Vec<_> = slots
            .lock()
            .values()
            .filter_map(|slot| slot.state.lock().current.clone())
            .collect();
        let idle = kept
            .iter()
            .filter_map(|kept| Some((kept.life().idle_since()?, kept)));
        let longest = idle.min_by_key(|(since, _)| *since);
        let is_leaving = longest.is_some_and(|(_, kept)| kept.life().leave_if_idle());
        let look_again = async {
            match is_leaving {
                // Another call in the queue may get its place.
                true => sleep(FAREWELL).await,
                false => freed.await,
            }
        };
        tokio::select! {
            place = places.permits.acquire() => {
                // The semaphore is never closed.
                if let Ok(place) = place {
                    return place;
                }
            }
            () = look_again => {}
        }
    }
}

/// How often in a row what a definition names has failed.
#[derive(Default)]
struct Health {
    failures: u32,
    not_before: Option<Instant>,
    last: String,
}

impl Health {
    /// The first failure is forgiven at once; from the second on, each pause is twice as long.
    fn fail(&mut self, now: Instant, why: &str) {
        self.failures = self.failures.saturating_add(1);
        let doubled = self
            .failures
            .checked_sub(2)
            .map(|n| Duration::from_millis(500) * 2_u32.pow(n.min(6)));
        self.not_before = doubled.map(|pause| now + pause.min(MAX_PAUSE));
        self.last = why.to_string();
    }

    /// How long no start is tried.
    fn pause(&self, now: Instant) -> Option<Duration> {
        let left = self.not_before?.checked_duration_since(now)?;
        (!left.is_zero()).then_some(left)
    }

    fn check(&self, subject: &str, now: Instant) -> Result<(), String> {
        let Some(left) = self.pause(now) else {
            return Ok(());
        };
        Err(format!(
            "{subject} has failed {} times, the next attempt is in {} s ({})",
            self.failures,
            left.as_secs() + 1,
            self.last
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_failing_is_left_alone_for_ever_longer() {
        let (start, mut health) = (Instant::now(), Health::default());
        for millis in [
            0, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000,
        ] {
            health.fail(start, "it ended");
            let at = |millis| health.check("it", start + Duration::from_millis(millis));
            assert_eq!(at(millis), Ok(()), "{millis}");
            assert_eq!(
                millis > 0,
                at(millis.saturating_sub(1)).is_err(),
                "{millis}"
            );
        }
        assert_eq!(
            health.check("it", start).unwrap_err(),
            "it has failed 10 times, the next attempt is in 31 s (it ended)"
        );
    }
}
