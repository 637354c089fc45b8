//! A worker as its callers see it: the calls in flight, whether it takes more, and when it is to
//! end.
//!
//! The process itself is [`super::life`]'s, what it writes is [`super::listen`]'s.

use super::super::digits::{Handed, Language};
use super::super::output_log::OutputLog;
use super::launch::Launch;
use crate::services::state::Occasion;

use super::sources::Sources;
use super::wire::{Request, cancel_line};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;

/// Calls that one worker may have in flight; more wait.
const MAX_IN_FLIGHT: usize = 128;
/// Calls that one hook may have in flight beyond those of all hooks.
const RESERVE: usize = 8;
/// As many hooks' reserves are looked through for those that nobody uses.
const MANY_RESERVES: usize = 64;
/// Calls that a worker may have given up on and still be working at, before another takes its
/// place.
const MAX_ABANDONED: usize = 8;
/// Cancelled calls that it may not have heard of yet.
const MAX_CANCELLED: usize = 1024;
/// A worker that has said nothing about a cancelled call for this long hangs as a whole.
const STUCK: Duration = Duration::from_secs(2);
/// How long a worker may take until it is ready.
pub(super) const START: Duration = Duration::from_secs(10);

/// Some worker has nothing to do any more.
pub(super) static FREED: Notify = Notify::const_new();

/// Why a call has no answer.
pub(super) enum NotAnswered {
    /// It never reached the worker, which is leaving: another one is to be asked.
    Leaving,
    /// Finishes "failed to call it: ...".
    Failed(String),
}

type CallResult = Result<Box<RawValue>, String>;

/// See the module. Its process belongs to a task, which lives until the process has ended.
pub(super) struct Worker {
    pub(super) log: OutputLog,
    pub(super) language: Option<Language>,
    /// What goes to its stdin.
    pub(super) lines: mpsc::Sender<Bytes>,
    phase: watch::Sender<Phase>,
    vacancies: Arc<Semaphore>,
    /// A few places for each hook that others can't take, however slow they are.
    reserves: Mutex<HashMap<Box<str>, Arc<Semaphore>>>,
    state: Mutex<State>,
    sources: Mutex<Sources>,
    /// Something happened that its task may have to act on.
    wake: Notify,
}

#[derive(Clone)]
pub(super) enum Phase {
    Starting,
    Ready,
    /// It ended because it was asked to: another one is to be asked.
    Left,
    Failed(Arc<str>),
}

struct State {
    next_id: u64,
    calls: HashMap<u64, InFlight>,
    /// Cancelled calls of which nothing was heard since.
    cancelled: HashMap<u64, Instant>,
    /// Cancelled calls that the worker can't end.
    abandoned: HashSet<u64>,
    /// No new call is taken; it ends when those in flight have.
    is_leaving: bool,
    /// When the last call ended.
    idle_since: Instant,
    idle: Duration,
    /// A call has come since dead descendants were reaped.
    was_called: bool,
}

struct InFlight {
    reply: oneshot::Sender<CallResult>,
    asker: Asker,
}

/// A call in flight, as the store sees it.
#[derive(Clone)]
pub(super) struct Asker {
    pub(super) session: Arc<str>,
    /// What its increments count for.
    pub(super) occasion: Occasion,
    /// JSON.
    pub(super) event: Bytes,
    pub(super) handed: Arc<Mutex<Handed>>,
}

/// What a look at a worker's state says about its process.
pub(super) enum Upkeep {
    /// It isn't needed any more.
    Leave,
    /// Look again at this time at the latest.
    LookAgain(Instant),
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("hook", &self.log.name)
            .finish_non_exhaustive()
    }
}

impl Worker {
    /// A worker without a process, and the lines that its process is to get.
    pub(super) fn new(
        launch: &Launch,
        request: &Request<'_>,
    ) -> (Arc<Worker>, mpsc::Receiver<Bytes>) {
        let (lines, to_write) = mpsc::channel(2 * MAX_IN_FLIGHT);
        let worker = Worker {
            log: OutputLog::of_hook(request.hook, launch.secrets.clone()),
            language: launch.runtime.language(),
            lines,
            phase: watch::Sender::new(Phase::Starting),
            vacancies: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            reserves: Mutex::default(),
            state: Mutex::new(State {
                next_id: 1,
                calls: HashMap::new(),
                cancelled: HashMap::new(),
                abandoned: HashSet::new(),
                is_leaving: false,
                idle_since: Instant::now(),
                idle: request.idle,
                was_called: false,
            }),
            sources: Mutex::new(Sources::new(Vec::new())),
            wake: Notify::new(),
        };
        (Arc::new(worker), to_write)
    }

    /// Waits until it takes calls.
    ///
    /// # Errors
    /// Why it doesn't.
    pub(super) async fn ready(&self) -> Result<(), NotAnswered> {
        let mut phase = self.phase.subscribe();
        match phase
            .wait_for(|phase| !matches!(phase, Phase::Starting))
            .await
            .as_deref()
        {
            Ok(Phase::Ready | Phase::Starting) => Ok(()),
            // `Err` can't happen, because the sender is in this struct.
            Ok(Phase::Left) | Err(_) => Err(NotAnswered::Leaving),
            Ok(Phase::Failed(why)) => Err(NotAnswered::Failed(why.to_string())),
        }
    }

    /// Calls a function. Dropping the future cancels it.
    pub(super) async fn call(&self, request: &Request<'_>) -> Result<Box<RawValue>, NotAnswered> {
        let new = || Arc::new(Semaphore::new(RESERVE));
        let reserve = {
            let mut reserves = self.reserves.lock();
            // Hooks come and go while a worker stays: those that have no call now need no place.
            if reserves.len() >= MANY_RESERVES {
                reserves.retain(|_, reserve| Arc::strong_count(reserve) > 1);
            }
            reserves
                .entry(request.hook.into())
                .or_insert_with(new)
                .clone()
        };
        let permit = tokio::select! {
            biased;
            permit = reserve.acquire_owned() => permit,
            permit = self.vacancies.clone().acquire_owned() => permit,
        };
        let permit = permit.map_err(|_| NotAnswered::Leaving)?;
        let (mut call, reply) = self.register(request, permit).ok_or(NotAnswered::Leaving)?;
        // An error means that the worker has just ended; then the reply is an error, too.
        let _ = self.lines.send(request.line(call.id)).await;
        call.is_sent = true;
        let reply = reply
            .await
            .unwrap_or_else(|_| Err("its worker was ended".into()));
        reply.map_err(NotAnswered::Failed)
    }

    fn register(
        &self,
        request: &Request<'_>,
        permit: OwnedSemaphorePermit,
    ) -> Option<(Registered<'_>, oneshot::Receiver<CallResult>)> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state.lock();
        if state.is_leaving {
            return None;
        }
        let id = state.next_id;
        state.next_id += 1;
        state.idle = state.idle.max(request.idle);
        state.was_called = true;
        self.log.flow.refill();
        let (event, handed) = (request.event.clone(), request.handed.clone());
        let occasion = request.occasion.clone();
        let asker = Asker {
            session: request.session.into(),
            occasion,
            event,
            handed,
        };
        state.calls.insert(
            id,
            InFlight {
                reply: sender,
                asker,
            },
        );
        Some((
            Registered {
                worker: self,
                id,
                is_sent: false,
                _permit: permit,
            },
            receiver,
        ))
    }

    /// Takes no more calls, and ends when those in flight have.
    pub(super) fn retire(&self) {
        self.leave(&mut self.state.lock());
    }

    /// Ends it unless it has been called meanwhile. Returns whether it ends.
    pub(super) fn retire_if_idle(&self) -> bool {
        let mut state = self.state.lock();
        let is_idle = state.calls.is_empty();
        if is_idle {
            self.leave(&mut state);
        }
        is_idle
    }

    fn leave(&self, state: &mut State) {
        state.is_leaving = true;
        // Calls that wait for a vacancy go to the next worker.
        self.vacancies.close();
        self.wake.notify_one();
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.state.lock().is_leaving
    }

    /// Since when it has nothing to do, if it has nothing to do. A new worker counts as busy for a
    /// while, because the hook that it was started for is about to call it.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let is_ready = self.is_ready();
        let state = self.state.lock();
        let is_new = state.next_id == 1 && state.idle_since.elapsed() < START;
        (is_ready && state.calls.is_empty() && !state.is_leaving && !is_new)
            .then_some(state.idle_since)
    }

    /// Whether a source has changed since it was loaded.
    pub(super) fn is_stale(&self) -> bool {
        self.sources.lock().have_changed()
    }

    /// Notes the files that decide about a process that is about to start.
    pub(super) fn set_sources(&self, sources: Sources) {
        *self.sources.lock() = sources;
    }

    /// Notes files that the process has loaded.
    pub(super) fn add_sources<'p>(&self, paths: impl Iterator<Item = &'p Path>) {
        let mut sources = self.sources.lock();
        paths.for_each(|path| sources.add(path));
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Ready)
    }

    /// The process says that it takes calls.
    pub(super) fn set_ready(&self) {
        // The time that it took to start doesn't count as idle.
        self.state.lock().idle_since = Instant::now();
        self.phase.send_if_modified(|phase| {
            let is_starting = matches!(phase, Phase::Starting);
            if is_starting {
                *phase = Phase::Ready;
            }
            is_starting
        });
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.state.lock().calls.is_empty()
    }

    /// A call in flight that asks the store.
    pub(super) fn asker(&self, call: u64) -> Option<Asker> {
        self.state
            .lock()
            .calls
            .get(&call)
            .map(|call| call.asker.clone())
    }

    /// The process can't end a cancelled call.
    pub(super) fn abandon(&self, id: u64) {
        let mut state = self.state.lock();
        if state.cancelled.remove(&id).is_some() {
            state.abandoned.insert(id);
            self.wake.notify_one();
        }
    }

    /// Gives a call its result. Returns whether it was in flight.
    pub(super) fn answer(&self, id: u64, result: CallResult) -> bool {
        let mut state = self.state.lock();
        let Some(call) = state.calls.remove(&id) else {
            // It was cancelled: nothing waits for the result any more.
            state.cancelled.remove(&id);
            state.abandoned.remove(&id);
            return false;
        };
        // An error means that the caller has just gone.
        let _ = call.reply.send(result);
        self.call_ended(&mut state);
        true
    }

    fn call_ended(&self, state: &mut State) {
        if state.calls.is_empty() {
            state.idle_since = Instant::now();
            self.wake.notify_one();
            FREED.notify_waiters();
        }
    }

    /// Decides whether the process may go on, and stops taking calls if it hangs.
    pub(super) fn upkeep(&self, is_ready: bool, now: Instant, look_again: Instant) -> Upkeep {
        let mut state = self.state.lock();
        let stuck = state.cancelled.values().min().map(|since| *since + STUCK);
        if !state.is_leaving {
            let is_stuck =
                stuck.is_some_and(|at| at <= now) || state.cancelled.len() > MAX_CANCELLED;
            let why = if is_stuck {
                Some(format!(
                    "it said nothing about a cancelled call for {} s",
                    STUCK.as_secs()
                ))
            } else if state.abandoned.len() >= MAX_ABANDONED {
                Some(format!(
                    "{MAX_ABANDONED} of its calls go on though they were cancelled"
                ))
            } else {
                None
            };
            if let Some(why) = why {
                tracing::warn!(hook = %self.log.name, why, "A worker is replaced.");
                self.leave(&mut state);
            }
        }
        if state.is_leaving && state.calls.is_empty() {
            return Upkeep::Leave;
        }
        let idle = (state.calls.is_empty() && is_ready).then(|| state.idle_since + state.idle);
        if idle.is_some_and(|at| at <= now) {
            tracing::info!(hook = %self.log.name, "A worker had nothing to do and is ended.");
            self.leave(&mut state);
            return Upkeep::Leave;
        }
        let stuck = stuck.filter(|_| !state.is_leaving);
        Upkeep::LookAgain(
            [idle, stuck]
                .into_iter()
                .flatten()
                .fold(look_again, Instant::min),
        )
    }

    /// Whether a call has come since this was asked last.
    pub(super) fn take_was_called(&self) -> bool {
        std::mem::take(&mut self.state.lock().was_called)
    }

    /// Waits until the state may have changed so that the process has to end; before it is ready
    /// also until the phase changes.
    pub(super) async fn changed(&self, phase: &mut watch::Receiver<Phase>, is_ready: bool) {
        tokio::select! {
            () = self.wake.notified() => {}
            _ = phase.changed(), if !is_ready => {}
        }
    }

    pub(super) fn phases(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Fails the calls in flight and those that wait for the start.
    pub(super) fn end(&self, phase: Phase) {
        let why = match &phase {
            Phase::Failed(why) => why.to_string(),
            Phase::Starting | Phase::Ready | Phase::Left => "its worker was ended".into(),
        };
        let calls = {
            let mut state = self.state.lock();
            self.leave(&mut state);
            std::mem::take(&mut state.calls)
        };
        // Before the calls, because a caller that gets its error goes to the next worker at once.
        self.phase.send_replace(phase);
        for call in calls.into_values() {
            // An error means that nothing waits for it any more.
            let _ = call.reply.send(Err(why.clone()));
        }
        FREED.notify_waiters();
    }
}

/// A call in flight. Dropped before its answer, it is cancelled.
struct Registered<'w> {
    worker: &'w Worker,
    id: u64,
    is_sent: bool,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let mut state = self.worker.state.lock();
        if state.calls.remove(&self.id).is_none() {
            return;
        }
        // A full queue means that the worker doesn't read. It won't say anything about the call, so
        // it is replaced.
        if self.is_sent {
            state.cancelled.insert(self.id, Instant::now());
            let _ = self.worker.lines.try_send(cancel_line(self.id));
            self.worker.wake.notify_one();
        }
        self.worker.call_ended(&mut state);
    }
}
