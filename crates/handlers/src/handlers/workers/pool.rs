//! The workers of a host: equal hooks share one, stale ones are replaced, those that keep crashing
//! are left alone for a while, and at most [`MAX_CALLABLE_WORKERS`] run at once.

use super::super::process_tree::MAX_CALLABLE_WORKERS;
use super::launch::Launch;
use super::life::{self, LEAVE};
use super::wire::Request;
use super::worker::{FREED, NotAnswered, Worker};
use crate::services::state::Store;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// See the module.
#[derive(Default)]
pub(in super::super) struct WorkerPool {
    slots: Arc<Slots>,
}

/// What is known of equal launches.
type Slots = Mutex<HashMap<Arc<Launch>, Arc<Slot>>>;

/// The place of one worker, whichever process is in it.
#[derive(Debug)]
pub(in crate::handlers) struct Slot {
    launch: Arc<Launch>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    worker: Option<Arc<Worker>>,
    circuit: Circuit,
}

/// Slots that may be remembered without being used.
const MAX_UNUSED: usize = 64;
/// How often a call that found its worker leaving looks for the next one.
const MAX_TRIES: usize = 5;

static WORKERS: Semaphore = Semaphore::const_new(MAX_CALLABLE_WORKERS);

impl WorkerPool {
    /// Where the worker for a launch is.
    pub(in crate::handlers) fn slot(&self, launch: Launch) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        if slots.len() > MAX_UNUSED {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.is_in_use());
        }
        let launch = Arc::new(launch);
        let new = || {
            Arc::new(Slot {
                launch: launch.clone(),
                state: Mutex::default(),
            })
        };
        slots.entry(launch.clone()).or_insert_with(new).clone()
    }

    /// Calls a function.
    ///
    /// # Errors
    /// Finishes "failed to call it: ...".
    pub(in crate::handlers) async fn call(
        &self,
        slot: &Arc<Slot>,
        store: &Store,
        request: &Request<'_>,
    ) -> Result<Box<RawValue>, String> {
        for _ in 0..MAX_TRIES {
            let worker = slot.worker(self, store, request)?;
            let reply = async {
                worker.ready().await?;
                worker.call(request).await
            };
            match reply.await {
                Ok(reply) => return Ok(reply),
                Err(NotAnswered::Failed(error)) => return Err(error),
                Err(NotAnswered::Leaving) => {}
            }
        }
        Err("its worker was replaced again and again; do its files change all the time?".into())
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        for slot in self.slots.lock().values() {
            if let Some(worker) = slot.state.lock().worker.take() {
                worker.retire();
            }
        }
    }
}

impl Slot {
    /// The worker that is up to date, started if need be.
    fn worker(
        self: &Arc<Slot>,
        pool: &WorkerPool,
        store: &Store,
        request: &Request<'_>,
    ) -> Result<Arc<Worker>, String> {
        let present = self.state.lock().worker.clone();
        let stale = match present {
            Some(worker) if worker.is_leaving() => Some(worker),
            Some(worker) if worker.is_stale() => {
                tracing::info!(
                    hook = request.hook,
                    "A source of the worker changed; a new one takes over."
                );
                worker.retire();
                Some(worker)
            }
            Some(worker) => return Ok(worker),
            None => None,
        };
        let mut state = self.state.lock();
        // Another call may have started one meanwhile.
        if let Some(worker) = &state.worker
            && stale.is_none_or(|stale| !Arc::ptr_eq(worker, &stale))
        {
            return Ok(worker.clone());
        }
        state.circuit.check(Instant::now())?;
        let (slot, slots) = (self.clone(), pool.slots.clone());
        let permit = async move { permit(&slots).await };
        let ended = move |worker: &Arc<Worker>, crash: Option<&str>| slot.ended(worker, crash);
        let worker = life::start(self.launch.clone(), store.clone(), request, permit, ended);
        state.worker = Some(worker.clone());
        Ok(worker)
    }

    /// Forgets a worker that has ended, and counts a crash.
    fn ended(&self, worker: &Arc<Worker>, crash: Option<&str>) {
        let mut state = self.state.lock();
        if let Some(why) = crash {
            state.circuit.crashed(Instant::now(), why);
        }
        if state
            .worker
            .as_ref()
            .is_some_and(|it| Arc::ptr_eq(it, worker))
        {
            state.worker = None;
        }
    }

    fn is_in_use(&self) -> bool {
        let state = self.state.lock();
        state.worker.is_some() || state.circuit.is_open(Instant::now())
    }
}

/// A permit for one more process; the worker that was idle longest makes room if there is none.
async fn permit(slots: &Slots) -> SemaphorePermit<'static> {
    loop {
        let mut freed = pin!(FREED.notified());
        // From here on, so that none is missed after looking.
        freed.as_mut().enable();
        if let Ok(permit) = WORKERS.try_acquire() {
            return permit;
        }
        let is_leaving = retire_idlest(slots);
        let look_again = async {
            match is_leaving {
                // Another call in the queue may get its place.
                true => tokio::time::sleep(2 * LEAVE).await,
                // A new worker that isn't called after all becomes idle without a notification.
                false => drop(tokio::time::timeout(2 * LEAVE, freed).await),
            }
        };
        tokio::select! {
            permit = WORKERS.acquire() => {
                // The semaphore is never closed.
                if let Ok(permit) = permit {
                    return permit;
                }
            }
            () = look_again => {}
        }
    }
}

/// Retires the worker that has been idle longest. Returns whether there was one.
fn retire_idlest(slots: &Slots) -> bool {
    let workers: Vec<_> = slots
        .lock()
        .values()
        .filter_map(|slot| slot.state.lock().worker.clone())
        .collect();
    let idle = workers
        .into_iter()
        .filter_map(|worker| Some((worker.idle_since()?, worker)));
    idle.min_by_key(|(since, _)| *since)
        .is_some_and(|(_, worker)| worker.retire_if_idle())
}

/// Leaves alone for a while what keeps crashing.
#[derive(Debug, Default)]
struct Circuit {
    crashes: VecDeque<Instant>,
    last: String,
    open_until: Option<Instant>,
}

/// So many crashes ...
const MAX_CRASHES: usize = 5;
/// ... within this time open the circuit ...
const CRASH_WINDOW: Duration = Duration::from_secs(60);
/// ... for this long.
const OPEN_FOR: Duration = Duration::from_secs(30);

impl Circuit {
    fn crashed(&mut self, now: Instant, why: &str) {
        self.crashes.push_back(now);
        self.crashes.retain(|at| now - *at < CRASH_WINDOW);
        self.last = why.to_string();
        if self.crashes.len() >= MAX_CRASHES {
            tracing::warn!(
                error = why,
                "A worker crashed {MAX_CRASHES} times within {} s; it is left alone for {} s.",
                CRASH_WINDOW.as_secs(),
                OPEN_FOR.as_secs()
            );
            self.open_until = Some(now + OPEN_FOR);
            // One more crash after the pause opens it again.
            self.crashes.pop_front();
        }
    }

    fn is_open(&self, now: Instant) -> bool {
        self.open_until.is_some_and(|until| now < until)
    }

    fn check(&self, now: Instant) -> Result<(), String> {
        match self.open_until {
            Some(until) if now < until => Err(format!(
                "its worker crashed {MAX_CRASHES} times within {} s and is left alone for {} s more; the last time {}",
                CRASH_WINDOW.as_secs(),
                (until - now).as_secs_f64().ceil(),
                self.last
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_crashing_is_left_alone_for_a_while() {
        let (start, mut circuit) = (Instant::now(), Circuit::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        for n in 0..5 {
            assert_eq!(circuit.check(at(n)), Ok(()), "{n}");
            circuit.crashed(at(n), "it ended");
        }
        assert_eq!(
            circuit.check(at(14)).unwrap_err(),
            "its worker crashed 5 times within 60 s and is left alone for 20 s more; the last time it ended"
        );
        assert_eq!(circuit.check(at(34)), Ok(()), "it is tried again");
        circuit.crashed(at(34), "again");
        assert!(circuit.is_open(at(35)), "one more crash is enough");
        for n in 0..4 {
            circuit.crashed(at(200 + n * 59), "seldom");
        }
        assert!(
            !circuit.is_open(at(500)),
            "crashes that are far apart don't count together"
        );
    }
}
