//! The threads that see program starts through. One of them waits for the next start; once it has one, another thread
//! waits in its place.

use super::supervisor::Supervisor;
use super::{start, sys};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// So many starts are seen through at once; more wait.
const MAX_THREADS: usize = 256;
/// So many threads stay when there is nothing to do.
const MAX_IDLE: usize = 4;
const STACK: usize = 256 << 10;

/// The threads.
#[derive(Default)]
pub struct Pool {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    threads: usize,
    idle: usize,
    /// Nobody waits for the next start.
    is_free: bool,
}

impl Pool {
    /// Begins to take starts.
    pub fn begin(supervisor: &Arc<Supervisor>) {
        supervisor.pool.hand_over(supervisor);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets another thread wait for the next start.
    fn hand_over(&self, supervisor: &Arc<Supervisor>) {
        let mut state = self.state();
        state.is_free = true;
        if state.idle > 0 {
            drop(state);
            self.changed.notify_one();
        } else if state.threads < MAX_THREADS {
            state.threads += 1;
            drop(state);
            let supervisor = supervisor.clone();
            let thread = std::thread::Builder::new().name("starts".into()).stack_size(STACK);
            // Without a thread, the one that comes back first takes the next start.
            if thread.spawn(move || work(&supervisor)).is_err() {
                self.state().threads -= 1;
            }
        }
    }

    /// Waits until the next start is this thread's to take; not if enough others wait.
    fn take_over(&self) -> bool {
        let mut state = self.state();
        while !state.is_free {
            if state.idle >= MAX_IDLE {
                state.threads -= 1;
                return false;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        state.is_free = false;
        true
    }
}

fn work(supervisor: &Arc<Supervisor>) {
    while supervisor.pool.take_over() {
        let Some(notification) = next(supervisor) else { return };
        supervisor.pool.hand_over(supervisor);
        start::serve(supervisor, &notification);
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
