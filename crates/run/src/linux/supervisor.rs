//! What the process that judges knows, and how it sees the end of its tree.

use super::asking::Asking;
use super::host::is_held;
use super::obeyed::Obeyed;
use super::pool::Pool;
use super::programs::Snapshot;
use super::runs::Runs;
use super::sys::{self, Change};
use super::told::Told;
use super::tree;
use super::words::Said;
use crate::args::Options;
use libc::pid_t;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the end of a tree may take before people are told that it doesn't come.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// From this round on, what is to end is slowed down as well.
const SLOW_FROM: u32 = 8;
/// How often something is looked at that nothing tells of.
const LOOK: Duration = Duration::from_millis(1);
/// How long starts wait for a host that hasn't said yet what its rules name.
pub const SILENCE: Duration = Duration::from_secs(30);
/// Why they are refused then.
pub const SILENT: &str = "hookwire's host doesn't say what its rules name";

/// All that starts are judged by.
pub struct Supervisor {
    /// What was asked for.
    pub options: Options,
    /// This process.
    pub pid: pid_t,
    /// When the command began, by the clock of file systems since 1970.
    pub since: Duration,
    /// A start that is being judged is taken back by a deadly signal only.
    pub is_killable: bool,
    /// When something was held before, and is held beside this.
    pub runs: Runs,
    /// Who is asked.
    pub asking: Asking,
    /// What has been said to people.
    pub said: Said,
    /// Which processes are starting something.
    pub turns: Turns,
    /// The threads that do it.
    pub pool: Arc<Pool>,
    /// A host was started from here.
    pub has_started_host: AtomicBool,
    listener: OwnedFd,
    command: CommandState,
    snapshot: Mutex<Option<Result<Arc<Snapshot>, String>>>,
    has_snapshot: Condvar,
}

/// The command's process and its end.
pub struct CommandState {
    /// The process.
    pub pid: pid_t,
    /// Its process holds the other end until it has become the command.
    pub becoming: UnixStream,
    has_become: AtomicBool,
    /// Who is told of it.
    pub front: UnixStream,
    has_ended: Mutex<bool>,
    told: (Mutex<bool>, Condvar),
}

impl CommandState {
    /// The command's process has been started.
    pub fn new(pid: pid_t, becoming: UnixStream, front: UnixStream) -> CommandState {
        let has_become = AtomicBool::new(false);
        CommandState {
            pid,
            becoming,
            has_become,
            front,
            has_ended: Mutex::new(false),
            told: Default::default(),
        }
    }
}

impl Supervisor {
    /// Nothing has been started, and no rule is known yet.
    pub fn new(
        options: Options,
        obeyed: Obeyed,
        command: CommandState,
        listener: OwnedFd,
        is_killable: bool,
        pool: Arc<Pool>,
        (since, runs): (Duration, Runs),
    ) -> Supervisor {
        let session = options
            .session
            .clone()
            .unwrap_or_else(|| format!("run-{}", command.pid));
        Supervisor {
            asking: Asking::new(
                options.socket.clone(),
                obeyed,
                session,
                options.tool_event.clone(),
            ),
            options,
            pid: std::process::id() as pid_t,
            since,
            runs,
            is_killable,
            said: Said::default(),
            turns: Turns::default(),
            pool,
            has_started_host: AtomicBool::new(false),
            listener,
            command,
            snapshot: Mutex::default(),
            has_snapshot: Condvar::new(),
        }
    }

    /// Where program starts are heard of.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Whether the kernel says that no process is left below the filter.
    pub fn has_ended(&self) -> bool {
        let mut ready = [PollFd::new(self.listener(), PollFlags::empty())];
        let is_polled = poll(&mut ready, PollTimeout::ZERO).is_ok();
        is_polled
            && ready[0]
                .revents()
                .is_some_and(|revents| revents.contains(PollFlags::POLLHUP))
    }

    /// Whether a start is that of the command itself, which was asked for.
    pub fn is_commands_own_start(&self, tid: pid_t) -> bool {
        let command = &self.command;
        if tid != command.pid || command.has_become.load(Ordering::Relaxed) {
            return false;
        }
        let mut ready = [PollFd::new(command.becoming.as_fd(), PollFlags::empty())];
        let _ = poll(&mut ready, PollTimeout::ZERO);
        let has_become = ready[0]
            .revents()
            .is_some_and(|revents| revents.contains(PollFlags::POLLHUP));
        command.has_become.store(has_become, Ordering::Relaxed);
        !has_become
    }

    /// What rules name. Waits until the host has said it for the first time.
    ///
    /// # Errors
    /// The host has not said it.
    pub fn wait_for_snapshot(&self, before_waiting: impl Fn()) -> Result<Arc<Snapshot>, String> {
        let snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(snapshot) = &*snapshot {
            return snapshot.clone();
        }
        before_waiting();
        let waited = self
            .has_snapshot
            .wait_timeout_while(snapshot, SILENCE, |it| it.is_none());
        let snapshot = waited.unwrap_or_else(PoisonError::into_inner).0;
        snapshot.clone().unwrap_or_else(|| Err(SILENT.into()))
    }

    /// From here on, starts are judged by this.
    pub fn publish_snapshot(&self, snapshot: Result<Snapshot, String>) {
        let mut current = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        // An older snapshot is better than none.
        if snapshot.is_ok() || current.is_none() {
            if let (Ok(snapshot), Some(Ok(earlier))) = (&snapshot, &*current) {
                snapshot.inherit_from(earlier);
            }
            *current = Some(snapshot.map(Arc::new));
        }
        self.has_snapshot.notify_all();
    }

    /// The front's end, on which it hangs up when it is gone.
    pub fn front(&self) -> BorrowedFd<'_> {
        self.command.front.as_fd()
    }

    /// Ends the command, because nobody waits for it any more.
    pub fn kill_command(&self) {
        if !*self
            .command
            .has_ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
        {
            sys::kill(self.command.pid, libc::SIGKILL);
        }
    }

    /// Waits until the front has been told how the command ended.
    pub fn await_told(&self) {
        let (told, changed) = &self.command.told;
        let told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = changed.wait_timeout_while(told, END_PATIENCE, |told| !*told);
    }

    /// A process has ended, and this process has its status.
    pub fn note_end(self: &Supervisor, pid: pid_t, status: i32) {
        if pid != self.command.pid {
            return;
        }
        let mut has_ended = self
            .command
            .has_ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *has_ended, true) {
            return;
        }
        drop(has_ended);
        if self.options.end_tree {
            self.end_tree();
        }
        Told::Ended(status).send_to(&self.command.front);
        *self
            .command
            .told
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.command.told.1.notify_all();
    }

    /// Kills all that is left until the kernel says that nothing is.
    fn end_tree(&self) {
        let mut until = Some(Instant::now() + END_PATIENCE);
        let mut round = 0_u32;
        while !self.has_ended() {
            // Whoever waits for the command needn't wait for ever.
            if until.take_if(|until| Instant::now() > *until).is_some() {
                Told::Survived.send_to(&self.command.front);
            }
            // A host that was started again is below this process too, and stays.
            let has_host = self.has_started_host.load(Ordering::Relaxed);
            // What is deeper comes up as its parents die, but may grow as fast.
            tree::meet_descendants(self.pid, round % 4 == 3, &mut |pid| {
                if !has_host || is_held(pid) {
                    // One that has made a child meanwhile gives it this, too: in the end this
                    // process is the faster one.
                    if round >= SLOW_FROM {
                        sys::give_way(pid);
                    }
                    sys::kill(pid, libc::SIGKILL);
                }
            });
            self.reap_ended();
            round += 1;
        }
    }

    /// Takes what has ended, without waiting.
    fn reap_ended(&self) {
        while let Ok(Some((pid, Change::Ended(status)))) = sys::peek_child() {
            if !sys::take_change(pid, Change::Ended(status)).unwrap_or(false) {
                break;
            }
        }
    }

    /// Takes the ends of this process's children and of all that were left to it, and tells of the
    /// command's.
    pub fn wait_for_children(&self) {
        while let Ok((pid, change)) = sys::await_child() {
            match change {
                Change::Ended(status) => {
                    if sys::take_change(pid, change).unwrap_or(false) {
                        self.note_end(pid, status);
                    }
                }
                // While a start of it is under way, its stop may be the one that its tracer waits
                // for.
                Change::Stopped(signal) => {
                    let turns = self.turns.lock();
                    if turns.contains(&pid) {
                        drop(turns);
                        std::thread::sleep(LOOK);
                    } else if sys::take_change(pid, change).unwrap_or(false)
                        && pid == self.command.pid
                    {
                        Told::Stopped(signal).send_to(&self.command.front);
                    }
                }
                Change::Trapped { .. } => std::thread::sleep(LOOK),
            }
        }
    }
}

/// Lets one start of each process be under way at a time.
#[derive(Default)]
pub struct Turns {
    busy: Mutex<HashSet<pid_t>>,
    freed: Condvar,
}

/// A process's turn, until it is dropped.
pub struct Turn<'a> {
    turns: &'a Turns,
    process: pid_t,
}

impl Turns {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<pid_t>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the process's turn, for as long as somebody waits for the answer.
    pub fn take_turn(
        &self,
        process: pid_t,
        is_waiting: impl Fn() -> bool,
        before_waiting: impl Fn(),
    ) -> Option<Turn<'_>> {
        let mut busy = self.lock();
        while !busy.insert(process) {
            before_waiting();
            busy = self
                .freed
                .wait_timeout(busy, Duration::from_secs(1))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            if !is_waiting() {
                return None;
            }
        }
        Some(Turn {
            turns: self,
            process,
        })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.lock().remove(&self.process);
        self.turns.freed.notify_all();
    }
}
