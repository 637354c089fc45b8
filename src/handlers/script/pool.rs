//! The threads that scripts run on.
//!
//! A script may run into a loop inside of QuickJS that no deadline ends. So scripts have threads of
//! their own, a few for all hooks: whoever asks waits for the answer and never for the thread. A
//! thread that doesn't come back after its run was ended is given up and another takes its place,
//! until too many are stuck.
//!
//! Waking a thread costs more than most scripts. One of a trusted layer that was quick the last times
//! is tried on the spot, for an event of ordinary size, for a millisecond at most and without changing anything:
//! whatever comes of it but an answer, it is run again on a thread of its own ([`on_the_spot`]).

use super::super::error::HandlerError;
use super::job::{Done, Job, Program, RunRequest};
use super::realm::{Failure, Realm};
use parking_lot::{Mutex, MutexGuard};
use std::cell::RefCell;
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
pub(super) const MAX_THREADS: usize = 8;
/// Threads that didn't come back; with more, no script is run.
const MAX_STUCK: usize = 4;
/// How long a thread may take to come back after its run was ended.
const GRACE: Duration = Duration::from_secs(2);
/// Realms that are kept by all threads together, beside one each: a realm has more than half a MiB. Where there are
/// more, the one that a thread used longest ago goes first.
const MAX_REALMS: usize = 96;
/// After so long without a run a thread lets go of realms whose definitions are no longer in force.
const REST: Duration = Duration::from_secs(2);
/// After so many of these, of all realms.
const RESTS: u32 = 30;
/// Of a thread, in bytes: what QuickJS is allowed and what is around it.
pub(super) const STACK: usize = 4 * 1024 * 1024;
/// How long a realm may take to be made on the spot.
const MAKING: Duration = Duration::from_millis(50);
/// The longest run on the spot.
const ON_THE_SPOT: Duration = Duration::from_millis(1);
/// The largest event that a script is tried on, on the spot: what takes its time inside of QuickJS does so
/// by the size of the event.
const MAX_EVENT: usize = 64 * 1024;
/// A run that takes no longer is quick.
pub(super) const QUICK: Duration = Duration::from_micros(100);
/// Quick runs in a row after which a script is tried on the spot.
pub(super) const ENOUGH: u32 = 3;

/// How long whoever asks waits on the spot: shorter than being woken takes.
pub(super) const BRIEFLY: Duration = Duration::from_micros(150);

/// Runs a script on this very thread, if it is done at once and changes nothing.
pub(super) fn on_the_spot(request: &RunRequest) -> Option<Done> {
    thread_local! {
        static REALMS: RefCell<Vec<(Weak<Program>, Realm)>> = const { RefCell::new(Vec::new()) };
    }
    if request.event.len() > MAX_EVENT {
        return None;
    }
    REALMS.with(|realms| {
        let mut realms = realms.try_borrow_mut().ok()?;
        let job = |time| Arc::new(request.clone().job(Some(Instant::now() + time), None));
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
            // Made once: nothing of the script is run yet.
            let realm = realm(&mut realms, &job(MAKING))?;
            run_in(realm, &mut realms, &job(ON_THE_SPOT))
        }));
        if outcome.is_err() {
            realms.clear();
        }
        outcome.ok()?.ok().filter(|done| !done.changed)
    })
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
pub(crate) struct Pool(Arc<Shared>);

struct Shared {
    turns: Arc<Semaphore>,
    threads: Mutex<Threads>,
}

#[derive(Default)]
struct Threads {
    /// The one that ran last is last.
    idle: Vec<Idle>,
    stuck: usize,
}

/// A thread that waits for a task.
struct Idle {
    thread: Sender<Task>,
    /// The scripts that it has a realm for.
    warm: Vec<Weak<Program>>,
}

impl Threads {
    /// A thread that has a realm for a script, else the one that ran last: to make a realm takes far longer than most
    /// runs, and each takes memory.
    fn take(&mut self, program: &Arc<Program>) -> Option<Sender<Task>> {
        let is_it = |known: &Weak<Program>| std::ptr::eq(known.as_ptr(), Arc::as_ptr(program));
        let warm = self.idle.iter().rposition(|it| it.warm.iter().any(is_it));
        let at = warm.or(self.idle.len().checked_sub(1))?;
        Some(self.idle.remove(at).thread)
    }
}

impl Default for Shared {
    fn default() -> Self {
        Shared { turns: Arc::new(Semaphore::new(MAX_THREADS)), threads: Mutex::default() }
    }
}

impl Shared {
    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock()
    }
}

impl Pool {
    /// Starts a run when it is its turn. Dropping what this gives ends the run.
    pub(super) async fn start(&self, request: RunRequest) -> Result<Running, HandlerError> {
        let permit = match self.0.turns.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.0.turns.clone().acquire_owned().await.map_err(|_| HandlerError("run the script".into()))?,
        };
        let program = request.program.clone();
        let job = Arc::new(request.job(None, Some(permit)));
        let (sender, reply) = oneshot::channel();
        let idle = {
            let mut threads = self.0.threads();
            if threads.stuck >= MAX_STUCK {
                let stuck = threads.stuck;
                return Err(HandlerError(format!("run the script: {stuck} others can't be ended; restart the host")));
            }
            threads.take(&program)
        };
        let thread = match idle {
            Some(thread) => thread,
            None => {
                let (sender, tasks) = mpsc::channel();
                let shared = Arc::downgrade(&self.0);
                let thread = std::thread::Builder::new().name("script".into()).stack_size(STACK);
                let started = thread.spawn(move || work(&shared, &tasks));
                started.map_err(|error| HandlerError(format!("start a thread for the script: {error}")))?;
                sender
            }
        };
        let task = Task { job: job.clone(), reply: sender, waiter: std::thread::current(), thread: thread.clone() };
        // Sending can't fail: a thread ends only when its last sender is gone.
        let _ = thread.send(task);
        Ok(Running { job, reply, shared: self.0.clone(), is_done: false })
    }
}

/// A run with a caller that waits for it.
pub(super) struct Running {
    job: Arc<Job>,
    reply: oneshot::Receiver<Outcome>,
    shared: Arc<Shared>,
    is_done: bool,
}

impl Running {
    /// Waits on the spot, so briefly that other events aren't held up.
    pub(super) fn wait_briefly(&mut self) -> Option<Result<Done, HandlerError>> {
        let until = Instant::now() + BRIEFLY;
        loop {
            match self.reply.try_recv() {
                Err(oneshot::error::TryRecvError::Empty) => {}
                result => {
                    self.is_done = true;
                    return Some(outcome(result.ok()));
                }
            }
            let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
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
    result.unwrap_or_else(|| Err("run the script: its thread has ended".into())).map_err(HandlerError)
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
    let mut realms: Vec<(Weak<Program>, Realm)> = Vec::new();
    let mut rests = 0;
    loop {
        let Task { job, reply, waiter, thread } = match tasks.recv_timeout(REST) {
            Ok(task) => task,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                rests += 1;
                realms.retain(|(known, _)| known.strong_count() > 0 && rests < RESTS);
                if realms.is_empty() {
                    // There is nothing to wake up for but the next task.
                    match tasks.recv() {
                        Ok(task) => task,
                        Err(_) => return,
                    }
                } else {
                    continue;
                }
            }
        };
        rests = 0;
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| run(&mut realms, &job))).unwrap_or_else(|_| {
            realms.clear();
            Err("run the script: it panicked; this is a bug in hookwire".into())
        });
        let Some(shared) = shared.upgrade() else { return };
        let Some(permit) = take(&job) else {
            // Another one has taken its place.
            shared.threads().stuck -= 1;
            return;
        };
        // Idle before the answer is known, or the next event would start another thread.
        let warm = realms.iter().map(|(known, _)| known.clone()).collect();
        shared.threads().idle.push(Idle { thread, warm });
        drop(permit);
        // An error means that nothing waits any more.
        let _ = reply.send(outcome);
        waiter.unpark();
    }
}

fn run(realms: &mut Vec<(Weak<Program>, Realm)>, job: &Arc<Job>) -> Outcome {
    let realm = realm(realms, job)?;
    run_in(realm, realms, job)
}

/// The realm of a job's script; put back by [`run_in`].
fn realm(realms: &mut Vec<(Weak<Program>, Realm)>, job: &Arc<Job>) -> Result<Realm, String> {
    let program = &job.request.program;
    // Definitions that are no longer in force.
    realms.retain(|(known, _)| known.strong_count() > 0);
    match realms.iter().position(|(known, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(program))) {
        Some(at) => Ok(realms.remove(at).1),
        None => Realm::new(program, job).map_err(|failure| failure.text),
    }
}

fn run_in(realm: Realm, realms: &mut Vec<(Weak<Program>, Realm)>, job: &Arc<Job>) -> Outcome {
    let program = &job.request.program;
    let started = Instant::now();
    let mut result = realm.run(program, job);
    if let Ok(done) = &mut result {
        done.took = started.elapsed();
    }
    if !result.as_ref().is_err_and(|failure| failure.is_fatal) {
        realms.push((Arc::downgrade(program), realm));
        if realms.len() > 1 && Realm::count() > MAX_REALMS {
            realms.remove(0);
        }
    }
    result.map_err(|Failure { text, .. }| text)
}
