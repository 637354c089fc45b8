//! The threads that scripts run on.
//!
//! A script may run into a loop inside of QuickJS that no deadline ends. So scripts have threads of
//! their own, a few for all hooks: whoever asks waits for the answer and never for the thread. A
//! thread that doesn't come back after its run was ended is given up and another takes its place,
//! until too many are stuck.
//!
//! Waking a thread costs more than most scripts. One of a trusted layer that was quick the last
//! times is tried on the spot, for an event of ordinary size, for a millisecond at most and without
//! changing anything: whatever comes of it but an answer, it is run again on a thread of its own
//! ([`on_the_spot`]).

use super::super::error::HandlerError;
use super::job::{Done, Job, Program, RunRequest};
use super::realm::{Failure, Realm};
use hookwire_base::support::memory;
use parking_lot::{Mutex, MutexGuard};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::thread::Thread;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Scripts that run at once. More than CPUs: a script that loops until its deadline must not keep
/// the others waiting.
pub(in crate::handlers) const MAX_THREADS: usize = 8;
/// Threads that didn't come back; with more, no script is run.
const MAX_STUCK: usize = 4;
/// How long a thread may take to come back after its run was ended.
const GRACE: Duration = Duration::from_secs(2);
/// Realms that are kept for the next run: a realm has more than half a MiB. Where there are more,
/// the one that was used longest ago goes.
const MAX_REALMS: usize = 96;
/// After so long without a run, a thread looks for realms that are no longer needed.
const REST: Duration = Duration::from_secs(2);
/// A realm that wasn't used for so long is no longer needed.
const UNUSED: Duration = Duration::from_secs(60);
/// Of a thread, in bytes: what QuickJS is allowed and what is around it.
pub(super) const STACK: usize = 4 * 1024 * 1024;
/// The longest run on the spot.
const ON_THE_SPOT: Duration = Duration::from_millis(1);
/// The largest event that a script is tried on, on the spot: what takes its time inside of QuickJS
/// does so by the size of the event.
const MAX_EVENT: usize = 64 * 1024;
/// A run that takes no longer is quick.
pub(in crate::handlers) const QUICK: Duration = Duration::from_micros(100);
/// Quick runs in a row after which a script is tried on the spot.
pub(in crate::handlers) const ENOUGH: u32 = 3;

/// How long whoever asks waits on the spot: shorter than being woken takes.
pub(in crate::handlers) const BRIEFLY: Duration = Duration::from_micros(150);

/// What became of a run on the spot.
pub(in crate::handlers) enum OnTheSpot {
    Done(Done),
    /// The event is too large, or there is no realm at hand: to make one takes too long.
    NotTried,
    /// It took too long, wanted to change something, or failed.
    GivenUp,
}

type Outcome = Result<Done, String>;

struct Task {
    job: Arc<Job>,
    reply: oneshot::Sender<Outcome>,
    /// The thread that waits on the spot.
    waiter: Thread,
    /// The way back to the thread, for when it is idle again. The thread itself has none, so that
    /// it ends with the pool.
    thread: Sender<Task>,
}

/// See the module.
#[derive(Default)]
pub struct Pool(Arc<Shared>);

struct Shared {
    turns: Arc<Semaphore>,
    threads: Mutex<Threads>,
    realms: Realms,
}

#[derive(Default)]
struct Threads {
    /// The one that ran last is last.
    idle: Vec<Sender<Task>>,
    stuck: usize,
}

/// Realms between two runs, of all threads; the one that was used last is last.
#[derive(Default)]
struct Realms(Mutex<Vec<Rested>>);

struct Rested {
    program: Weak<Program>,
    realm: Realm,
    since: Instant,
}

impl Realms {
    fn take(&self, program: &Arc<Program>) -> Option<Realm> {
        let mut rested = self.0.lock();
        let at = rested
            .iter()
            .rposition(|it| std::ptr::eq(it.program.as_ptr(), Arc::as_ptr(program)))?;
        Some(rested.remove(at).realm)
    }

    fn put(&self, program: &Arc<Program>, realm: Realm) {
        let mut rested = self.0.lock();
        rested.push(Rested {
            program: Arc::downgrade(program),
            realm,
            since: Instant::now(),
        });
        let oldest = (rested.len() > MAX_REALMS).then(|| rested.remove(0));
        // What ends a realm takes time.
        drop(rested);
        drop(oldest);
    }

    /// Lets go of realms that are no longer needed, among them those whose definitions are no
    /// longer in force; whether any are left.
    fn tidy(&self) -> bool {
        let is_needed = |it: &Rested| it.program.strong_count() > 0 && it.since.elapsed() < UNUSED;
        let mut rested = self.0.lock();
        let unneeded: Vec<_> = rested.extract_if(.., |it| !is_needed(it)).collect();
        let left = rested.len();
        drop(rested);
        if !unneeded.is_empty() {
            let ended = unneeded.len();
            drop(unneeded);
            memory::give_back();
            tracing::debug!(
                ended,
                left,
                "Scripts that are not in use gave their memory back."
            );
        }
        left > 0
    }

    /// Runs a script in one of its realms.
    fn run(&self, job: &Arc<Job>, realm: Option<Realm>) -> Outcome {
        let program = &job.request.program;
        let realm = realm
            .map_or_else(|| Realm::new(program, job), Ok)
            .map_err(|failure| failure.text)?;
        let started = Instant::now();
        let mut result = realm.run(program, job);
        if let Ok(done) = &mut result {
            done.took = started.elapsed();
        }
        if !result.as_ref().is_err_and(|failure| failure.is_fatal) {
            self.put(program, realm);
        }
        result.map_err(|Failure { text, .. }| text)
    }
}

impl Default for Shared {
    fn default() -> Self {
        Shared {
            turns: Arc::new(Semaphore::new(MAX_THREADS)),
            threads: Mutex::default(),
            realms: Realms::default(),
        }
    }
}

impl Shared {
    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock()
    }
}

impl Pool {
    /// Runs a script on this very thread, if it is done at once and changes nothing.
    pub(in crate::handlers) fn on_the_spot(&self, request: &RunRequest) -> OnTheSpot {
        let realm = if request.event.len() > MAX_EVENT {
            None
        } else {
            self.0.realms.take(&request.program)
        };
        let Some(realm) = realm else {
            return OnTheSpot::NotTried;
        };
        let job = Arc::new(
            request
                .clone()
                .job(Some(Instant::now() + ON_THE_SPOT), None),
        );
        let outcome =
            std::panic::catch_unwind(AssertUnwindSafe(|| self.0.realms.run(&job, Some(realm))));
        match outcome {
            Ok(Ok(done)) if !done.changed => OnTheSpot::Done(done),
            Ok(Ok(_) | Err(_)) | Err(_) => OnTheSpot::GivenUp,
        }
    }

    /// Starts a run when it is its turn. Dropping what this gives ends the run.
    pub(in crate::handlers) async fn start(
        &self,
        request: RunRequest,
    ) -> Result<Running, HandlerError> {
        let permit = match self.0.turns.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self
                .0
                .turns
                .clone()
                .acquire_owned()
                .await
                .map_err(|_| HandlerError("run the script".into()))?,
        };
        let job = Arc::new(request.job(None, Some(permit)));
        let (sender, reply) = oneshot::channel();
        let idle = {
            let mut threads = self.0.threads();
            if threads.stuck >= MAX_STUCK {
                let stuck = threads.stuck;
                return Err(HandlerError(format!(
                    "run the script: {stuck} others can't be ended; restart the host"
                )));
            }
            threads.idle.pop()
        };
        let thread = match idle {
            Some(thread) => thread,
            None => {
                let (sender, tasks) = mpsc::channel();
                let shared = Arc::downgrade(&self.0);
                let thread = std::thread::Builder::new()
                    .name("script".into())
                    .stack_size(STACK);
                let started = thread.spawn(move || work(&shared, &tasks));
                started.map_err(|error| {
                    HandlerError(format!("start a thread for the script: {error}"))
                })?;
                sender
            }
        };
        let task = Task {
            job: job.clone(),
            reply: sender,
            waiter: std::thread::current(),
            thread: thread.clone(),
        };
        // Sending can't fail: a thread ends only when its last sender is gone.
        let _ = thread.send(task);
        Ok(Running {
            job,
            reply,
            shared: self.0.clone(),
            is_done: false,
        })
    }
}

/// A run with a caller that waits for it.
pub(in crate::handlers) struct Running {
    job: Arc<Job>,
    reply: oneshot::Receiver<Outcome>,
    shared: Arc<Shared>,
    is_done: bool,
}

impl Running {
    /// Waits on the spot, so briefly that other events aren't held up.
    pub(in crate::handlers) fn wait_briefly(&mut self) -> Option<Result<Done, HandlerError>> {
        let until = Instant::now() + BRIEFLY;
        loop {
            match self.reply.try_recv() {
                Err(oneshot::error::TryRecvError::Empty) => {}
                result => {
                    self.is_done = true;
                    return Some(outcome(result.ok()));
                }
            }
            let left = until
                .checked_duration_since(Instant::now())
                .filter(|left| !left.is_zero())?;
            std::thread::park_timeout(left);
        }
    }
}

impl Future for Running {
    type Output = Result<Done, HandlerError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.reply).poll(cx).map(|result| {
            self.is_done = true;
            outcome(result.ok())
        })
    }
}

fn outcome(result: Option<Outcome>) -> Result<Done, HandlerError> {
    result
        .unwrap_or_else(|| Err("run the script: its thread has ended".into()))
        .map_err(HandlerError)
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        self.job.stop.store(true, Ordering::Relaxed);
        let (job, shared) = (self.job.clone(), self.shared.clone());
        // Without a runtime the host is at its end.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(GRACE).await;
                give_up(&job, &shared);
            });
        }
    }
}

/// Lets another thread take the place of one that hasn't come back.
fn give_up(job: &Job, shared: &Shared) {
    let Some(permit) = take(job) else { return };
    let mut threads = shared.threads();
    threads.stuck += 1;
    tracing::error!(
        hook = &*job.request.hook,
        stuck = threads.stuck,
        "A script can't be ended: it is inside of a built-in. Its thread is given up."
    );
    drop(threads);
    drop(permit);
}

fn take(job: &Job) -> Option<OwnedSemaphorePermit> {
    job.permit.lock().take()
}

/// A thread: one run after the other.
fn work(shared: &Weak<Shared>, tasks: &Receiver<Task>) {
    let mut has_realms = true;
    loop {
        let task = match has_realms {
            true => tasks.recv_timeout(REST),
            // There is nothing to wake up for but the next task.
            false => tasks.recv().map_err(RecvTimeoutError::from),
        };
        let Task {
            job,
            reply,
            waiter,
            thread,
        } = match task {
            Ok(task) => task,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                has_realms = shared.upgrade().is_some_and(|shared| shared.realms.tidy());
                continue;
            }
        };
        has_realms = true;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let run = || {
            shared
                .realms
                .run(&job, shared.realms.take(&job.request.program))
        };
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            Err("run the script: it panicked; this is a bug in hookwire".into())
        });
        let Some(permit) = take(&job) else {
            // Another one has taken its place.
            shared.threads().stuck -= 1;
            return;
        };
        // Idle before the answer is known, or the next event would start another thread.
        shared.threads().idle.push(thread);
        drop(permit);
        // An error means that nothing waits any more.
        let _ = reply.send(outcome);
        waiter.unpark();
    }
}
