//! A worker as its callers see it: the calls in flight, whether it takes more, and whether it
//! hangs.
//!
//! The process itself is [`super::life`]'s, what it writes is [`super::listen`]'s.

use super::super::digits::Handed;
use super::super::kept::{Life, MAX_TRIES, NotAnswered, Pool, Slot, replaced};
use super::launch::Launch;
use super::sources::Sources;
use super::wire::{Request, cancel_line};
use crate::services::state::{Occasion, Store};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
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
type CallResult = Result<Box<RawValue>, String>;

/// See the module. Its process belongs to a task, which lives until the process has ended.
pub(in crate::handlers) struct Worker {
    pub(super) life: Life,
    pub(super) launch: Arc<Launch>,
    /// What goes to its stdin.
    pub(super) lines: mpsc::Sender<Bytes>,
    /// The other end of `lines`, until the process has it.
    pub(super) to_write: Mutex<Option<mpsc::Receiver<Bytes>>>,
    vacancies: Arc<Semaphore>,
    /// A few places for each hook that others can't take, however slow they are.
    reserves: Mutex<HashMap<Box<str>, Arc<Semaphore>>>,
    state: Mutex<State>,
    sources: Mutex<Sources>,
    /// A call was cancelled or given up on.
    pub(super) wake: Notify,
}

/// What a worker's start takes beside its launch.
pub(in crate::handlers) struct Start {
    /// The hook that calls it first.
    pub(in crate::handlers) hook: String,
    pub(in crate::handlers) store: Store,
}

#[derive(Default)]
struct State {
    /// The process has ended, and nobody would answer.
    is_over: bool,
    n_calls: u64,
    calls: HashMap<u64, InFlight>,
    /// Cancelled calls of which nothing was heard since.
    cancelled: HashMap<u64, Instant>,
    /// Cancelled calls that the worker can't end.
    abandoned: HashSet<u64>,
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

/// Calls a function in the worker of its launch. Dropping the future cancels the call.
///
/// # Errors
/// Finishes "failed to call it: ...".
pub(in crate::handlers) async fn call(
    workers: &Pool<Worker>,
    slot: &Arc<Slot<Worker>>,
    store: &Store,
    request: &Request<'_>,
) -> Result<Box<RawValue>, String> {
    let start = || Start {
        hook: request.hook.to_string(),
        store: store.clone(),
    };
    for _ in 0..MAX_TRIES {
        let worker = workers.get(slot, request.idle, start).await?;
        match worker.call(request).await {
            Ok(reply) => return Ok(reply),
            Err(NotAnswered::Failed(error)) => return Err(error),
            Err(NotAnswered::Leaving) => {}
        }
    }
    Err(replaced::<Worker>())
}

impl Worker {
    /// One without a process.
    pub(super) fn new(launch: Arc<Launch>, life: Life) -> Worker {
        let (lines, to_write) = mpsc::channel(2 * MAX_IN_FLIGHT);
        Worker {
            life,
            launch,
            lines,
            to_write: Mutex::new(Some(to_write)),
            vacancies: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            reserves: Mutex::default(),
            state: Mutex::default(),
            sources: Mutex::new(Sources::new(Vec::new())),
            wake: Notify::new(),
        }
    }

    async fn call(&self, request: &Request<'_>) -> Result<Box<RawValue>, NotAnswered> {
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
            // Calls that wait for a vacancy go to the next worker.
            () = self.life.left() => return Err(NotAnswered::Leaving),
        };
        // The semaphores are never closed.
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
        if state.is_over || self.life.is_leaving() {
            return None;
        }
        state.n_calls += 1;
        let id = state.n_calls;
        state.was_called = true;
        self.life.log.flow.refill();
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

    /// Notes the files that decide about a process that is about to start.
    pub(super) fn set_sources(&self, sources: Sources) {
        *self.sources.lock() = sources;
    }

    /// Notes files that the process has loaded.
    pub(super) fn add_sources<'p>(&self, paths: impl Iterator<Item = &'p Path>) {
        let mut sources = self.sources.lock();
        paths.for_each(|path| sources.add(path));
    }

    /// Whether a source has changed since it was loaded.
    pub(super) fn has_changed_source(&self) -> bool {
        self.sources.lock().have_changed()
    }

    /// Whether it owes an answer.
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
        self.life.set_answered();
        // An error means that the caller has just gone.
        let _ = call.reply.send(result);
        true
    }

    /// Lets a worker that hangs take no more calls. When to look again, if it may come to hang.
    pub(super) fn look_for_hanging(&self, now: Instant) -> Option<Instant> {
        if self.life.is_leaving() {
            return None;
        }
        let state = self.state.lock();
        let stuck = state.cancelled.values().min().map(|since| *since + STUCK);
        let is_stuck = stuck.is_some_and(|at| at <= now) || state.cancelled.len() > MAX_CANCELLED;
        let why = if is_stuck {
            format!(
                "it said nothing about a cancelled call for {} s",
                STUCK.as_secs()
            )
        } else if state.abandoned.len() >= MAX_ABANDONED {
            format!("{MAX_ABANDONED} of its calls go on though they were cancelled")
        } else {
            return stuck;
        };
        tracing::warn!(hook = %self.life.log.name, why, "A worker is replaced.");
        self.life.leave();
        None
    }

    /// Fails the calls in flight: nobody answers them any more.
    pub(super) fn fail_calls(&self, why: &str) {
        let calls = {
            let mut state = self.state.lock();
            state.is_over = true;
            std::mem::take(&mut state.calls)
        };
        for call in calls.into_values() {
            // An error means that nothing waits for it any more.
            let _ = call.reply.send(Err(why.to_string()));
        }
    }

    /// Whether a call has come since this was asked last.
    pub(super) fn take_was_called(&self) -> bool {
        std::mem::take(&mut self.state.lock().was_called)
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
    }
}
