//! The threads that see program starts through. One of them has the role to wait for the next
//! start; before it waits for anything else, it hands the role over.
//!
//! Reading another process's memory and looking up its files is quick and can still block for good,
//! on a file system that answers never. For this time an alarm is set, and the watching thread
//! hands the role over when it goes off.

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// So many starts are seen through at once; more wait.
const MAX_THREADS: usize = 256;
/// So many threads stay when there is nothing to do.
const MAX_IDLE: usize = 4;
const STACK: usize = 256 << 10;
/// How long the one with the role may be busy with what can block.
const ALARM: Duration = Duration::from_millis(20);
/// How long a start waits for a thread while half of them read what never comes.
const PATIENCE: Duration = Duration::from_secs(1);

/// The threads.
pub struct Pool {
    state: Mutex<State>,
    changed: Condvar,
    alarm: TimerFd,
    serve: OnceLock<Box<Serve>>,
}

/// Waits for the next start and sees it through; says whether there was one.
type Serve = dyn Fn(&Role<'_>) -> bool + Send + Sync;

#[derive(Default)]
struct State {
    threads: usize,
    idle: usize,
    /// The number of the role, a new one each time that it is handed over.
    role: u64,
    /// Nobody has the role.
    is_free: bool,
    /// So many threads are at what may never come.
    busy: usize,
}

/// The role to wait for the next start, as long as it isn't handed over.
pub struct Role<'a> {
    pool: &'a Arc<Pool>,
    number: u64,
}

impl Pool {
    /// Without a thread yet.
    ///
    /// # Errors
    /// The kernel has no timers.
    pub fn new() -> nix::Result<Arc<Pool>> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let alarm = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        Ok(Arc::new(Pool {
            state: Mutex::default(),
            changed: Condvar::new(),
            alarm,
            serve: OnceLock::new(),
        }))
    }

    /// Begins to take starts.
    pub fn start_threads(
        self: &Arc<Pool>,
        serve: impl Fn(&Role<'_>) -> bool + Send + Sync + 'static,
    ) {
        self.serve.get_or_init(|| Box::new(serve));
        Role {
            pool: self,
            number: 0,
        }
        .hand_over();
    }

    /// Readable when the one with the role is busy for too long.
    pub fn alarm(&self) -> BorrowedFd<'_> {
        self.alarm.as_fd()
    }

    /// Takes the role from whoever is busy for too long. Whether no thread is left for it, because
    /// too many are.
    pub fn is_sound(self: &Arc<Pool>) -> bool {
        let _ = self.alarm.wait();
        let state = self.state();
        if state.is_free {
            let is_stuck = state.is_stuck();
            drop(state);
            if is_stuck {
                self.set_alarm(PATIENCE);
            }
            return is_stuck;
        }
        let number = state.role;
        drop(state);
        Role { pool: self, number }.hand_over();
        false
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the role is free; not if enough others wait for it.
    fn take_role(self: &Arc<Pool>) -> Option<Role<'_>> {
        let mut state = self.state();
        while !state.is_free {
            if state.idle >= MAX_IDLE {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        state.is_free = false;
        Some(Role {
            pool: self,
            number: state.role,
        })
    }

    fn set_alarm(&self, after: Duration) {
        let _ = self.alarm.set(
            Expiration::OneShot(TimeSpec::from_duration(after)),
            TimerSetTimeFlags::empty(),
        );
    }
}

impl State {
    fn is_stuck(&self) -> bool {
        self.threads >= MAX_THREADS && self.idle == 0 && self.busy > MAX_THREADS / 2
    }
}

impl Role<'_> {
    /// Lets another thread wait for the next start, if it doesn't already.
    pub fn hand_over(&self) {
        let pool = self.pool;
        let mut state = pool.state();
        if state.role != self.number {
            return;
        }
        state.role += 1;
        state.is_free = true;
        if state.idle > 0 {
            drop(state);
            pool.changed.notify_one();
        } else if state.is_stuck() {
            drop(state);
            pool.set_alarm(PATIENCE);
        } else if state.threads < MAX_THREADS {
            state.threads += 1;
            drop(state);
            let working = pool.clone();
            let thread = std::thread::Builder::new()
                .name("starts".into())
                .stack_size(STACK);
            // Without a thread, the one that comes back first takes the role.
            if thread.spawn(move || work_in_pool(&working)).is_err() {
                pool.state().threads -= 1;
            }
        }
    }

    /// Hands the role over unless `what`, which can block and hardly ever does, is done soon.
    pub fn busy_with<T>(&self, what: impl FnOnce() -> T) -> T {
        let mut state = self.pool.state();
        state.busy += 1;
        if state.role == self.number {
            // Where many read what never comes, the next one may not either.
            self.pool.set_alarm(ALARM / (1 + state.busy as u32 / 8));
        }
        drop(state);
        let result = what();
        let mut state = self.pool.state();
        state.busy -= 1;
        if state.role == self.number {
            let _ = self.pool.alarm.unset();
        }
        result
    }

    /// Counts a wait for another start of the same process among what may never come.
    pub fn count_wait<T>(&self, what: impl FnOnce() -> T) -> T {
        self.pool.state().busy += 1;
        let result = what();
        self.pool.state().busy -= 1;
        result
    }

    fn is_kept(&self) -> bool {
        self.pool.state().role == self.number
    }
}

fn work_in_pool(pool: &Arc<Pool>) {
    let Some(serve) = pool.serve.get() else {
        return;
    };
    while let Some(role) = pool.take_role() {
        while role.is_kept() {
            if !serve(&role) {
                return;
            }
        }
    }
}
