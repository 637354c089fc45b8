//! The threads that see program starts through. One of them has the role to wait for the next start; before it waits for
//! anything else, it hands the role over.
//!
//! Reading another process's memory and looking up its files is quick and can still block for good, on a file system that
//! answers never. For this time an alarm is set, and the watching thread hands the role over when it goes off.

use super::supervisor::Supervisor;
use super::{start, sys};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// So many starts are seen through at once; more wait.
const MAX_THREADS: usize = 256;
/// So many threads stay when there is nothing to do.
const MAX_IDLE: usize = 4;
const STACK: usize = 256 << 10;
/// How long the one with the role may be busy with what can block.
const ALARM: Duration = Duration::from_millis(20);

/// The threads.
pub struct Pool {
    state: Mutex<State>,
    changed: Condvar,
    alarm: TimerFd,
}

#[derive(Default)]
struct State {
    threads: usize,
    idle: usize,
    /// The number of the role, a new one each time that it is handed over.
    role: u64,
    /// Nobody has the role.
    is_free: bool,
}

/// The role to wait for the next start, as long as it isn't handed over.
pub struct Role<'a> {
    supervisor: &'a Arc<Supervisor>,
    number: u64,
}

impl Pool {
    /// Without a thread yet.
    ///
    /// # Errors
    /// The kernel has no timers.
    pub fn new() -> nix::Result<Pool> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let alarm = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        Ok(Pool { state: Mutex::default(), changed: Condvar::new(), alarm })
    }

    /// Readable when the one with the role is busy for too long.
    pub fn alarm(&self) -> BorrowedFd<'_> {
        self.alarm.as_fd()
    }

    /// Takes the role from whoever is busy for too long.
    pub fn sound(supervisor: &Arc<Supervisor>) {
        let _ = supervisor.pool.alarm.wait();
        let number = supervisor.pool.state().role;
        Role { supervisor, number }.hand_over();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the role is free; not if enough others wait for it.
    fn take_role<'a>(&self, supervisor: &'a Arc<Supervisor>) -> Option<Role<'a>> {
        let mut state = self.state();
        while !state.is_free {
            if state.idle >= MAX_IDLE {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        state.is_free = false;
        Some(Role { supervisor, number: state.role })
    }

    fn set_alarm(&self, after: Duration) {
        let _ = self.alarm.set(Expiration::OneShot(TimeSpec::from_duration(after)), TimerSetTimeFlags::empty());
    }
}

impl Role<'_> {
    /// Begins to take starts.
    pub fn begin(supervisor: &Arc<Supervisor>) {
        Role { supervisor, number: 0 }.hand_over();
    }

    /// Lets another thread wait for the next start, if it doesn't already.
    pub fn hand_over(&self) {
        let pool = &self.supervisor.pool;
        let mut state = pool.state();
        if state.role != self.number {
            return;
        }
        state.role += 1;
        state.is_free = true;
        if state.idle > 0 {
            drop(state);
            pool.changed.notify_one();
        } else if state.threads < MAX_THREADS {
            state.threads += 1;
            drop(state);
            let supervisor = self.supervisor.clone();
            let thread = std::thread::Builder::new().name("starts".into()).stack_size(STACK);
            // Without a thread, the one that comes back first takes the role.
            if thread.spawn(move || work(&supervisor)).is_err() {
                pool.state().threads -= 1;
            }
        }
    }

    /// Hands the role over unless `what`, which can block and hardly ever does, is done soon.
    pub fn busy_with<T>(&self, what: impl FnOnce() -> T) -> T {
        self.supervisor.pool.set_alarm(ALARM);
        let result = what();
        let _ = self.supervisor.pool.alarm.unset();
        result
    }

    fn is_kept(&self) -> bool {
        self.supervisor.pool.state().role == self.number
    }
}

fn work(supervisor: &Arc<Supervisor>) {
    while let Some(role) = supervisor.pool.take_role(supervisor) {
        while role.is_kept() {
            let Some(notification) = next(supervisor) else { return };
            start::serve(supervisor, &notification, &role);
        }
    }
}

/// The next start; none when no process is left that could start anything.
fn next(supervisor: &Supervisor) -> Option<sys::Notification> {
    loop {
        match sys::receive(supervisor.listener()) {
            Ok(notification) => return Some(notification),
            // The process has gone before its start was taken; or all have.
            Err(_) if has_ended(supervisor) => return None,
            Err(error) if error.raw_os_error() == Some(Errno::EBADF as i32) => return None,
            Err(_) => {}
        }
    }
}

/// Whether the kernel says that no process is left below the filter.
pub fn has_ended(supervisor: &Supervisor) -> bool {
    let mut ready = [PollFd::new(supervisor.listener(), PollFlags::empty())];
    poll(&mut ready, PollTimeout::ZERO).is_ok() && ready[0].revents().is_some_and(|it| it.contains(PollFlags::POLLHUP))
}
