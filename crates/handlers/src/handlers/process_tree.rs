//! Children that never outlive their call.
//!
//! Every call gets a process group of its own and a marker in its environment.
//! At its end the group is killed, and with it every process that left the group: on Linux
//! the host is a child subreaper, so a process that lost its parent becomes the
//! host's own child, and the marker tells whose it was. Elsewhere only the group
//! is killed. A helper process ([`enable_reaper`]) does the same when the host
//! itself is killed.
//!
//! A process that left the group, lost its parent *and* wiped its environment is
//! of one of the calls that lived when it came to us: it is killed with the last
//! of them, if this process has no other children ([`enable_reaper`]). Elsewhere
//! other modules may start children by other means: without our marker they are
//! left alone, and reaped only if no other code does so for a second. A PID
//! namespace or a cgroup is the cure for that.

use hookwire_base::support::file::{MAX_FILE, read_small, read_text};
use hookwire_base::support::process::stat;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
#[cfg(target_os = "linux")]
use rustix::process::PidfdFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};
use tokio::sync::SemaphorePermit;
use tracing::warn;

use super::starts::{NICENESS, is_crowd};

/// No more children than this live at once.
pub(super) const MAX_LIVE: usize = 256;

/// Warm workers that may live beside them, beyond the call that started them.
pub(super) const MAX_CALLABLE_WORKERS: usize = 16;
/// MCP servers that may live beside them.
pub(super) const MAX_SERVERS: usize = 16;

/// Names the call to its processes. The value is `PID-NONCE-N`, after the
/// host's own value and a slash when the host runs inside a call of another.
pub const CALL_ID: &str = "HOOKWIRE_CALL_ID";

/// A running child, its group and all that came of it. Dropping it kills them.
pub(super) struct Tree {
    call: Option<Call>,
}

/// The host's ends of a child's pipes.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Tree {
    /// Starts the command, whose three streams must be piped, in a new group.
    /// The permit is given back when the child has been reaped.
    pub(super) fn spawn(
        command: &mut Command,
        permit: SemaphorePermit<'static>,
    ) -> io::Result<(Self, Pipes)> {
        LazyLock::force(&SETUP);
        let number = NEXT_CALL.fetch_add(1, Ordering::Relaxed);
        {
            let mut registry = registry();
            // Before the child: a host that is killed between the two leaves nobody behind.
            registry.reaper_table.start_helper();
            // Known before it exists: another call's sweep must not take it for a leftover.
            registry.live.insert(number, None);
        }
        let started = command
            .env(CALL_ID, format!("{}{}-{number}", HOST.outer, HOST.id))
            .process_group(0)
            .spawn();
        let mut registry = registry();
        let mut child = started.inspect_err(|_| {
            registry.live.remove(&number);
        })?;
        registry.live.insert(number, Some(child.id()));
        registry.reaper_table.add(child.id());
        drop(registry);

        let pipes = child
            .stdin
            .take()
            .zip(child.stdout.take())
            .zip(child.stderr.take());
        let tree = Self {
            call: Some(Call {
                number,
                child,
                _permit: permit,
            }),
        };
        let ((stdin, stdout), stderr) =
            pipes.ok_or_else(|| io::Error::other("a stream is not piped"))?;
        Ok((
            tree,
            Pipes {
                stdin,
                stdout,
                stderr,
            },
        ))
    }

    /// Makes the child, and what it starts from now on, less urgent than the host.
    pub(super) fn yield_to_host(&self) {
        let own = rustix::process::getpriority_process(None).unwrap_or(0);
        let group = self.call.as_ref().and_then(|call| as_pid(call.child.id()));
        // An error means that the child has ended already.
        let _ = group
            .map(|group| rustix::process::setpriority_pgrp(Some(group), (own + NICENESS).min(19)));
    }

    /// Waits for the child itself to exit. It stays a zombie until
    /// [`finish`](Self::finish), so its id can't pass to another group.
    pub(super) async fn exited(&self) -> io::Result<()> {
        let Some(child) = self.call.as_ref().map(|call| call.child.id()) else {
            return Ok(());
        };
        #[cfg(target_os = "linux")]
        if let Some(Ok(pidfd)) =
            as_pid(child).map(|pid| rustix::process::pidfd_open(pid, PidfdFlags::NONBLOCK))
        {
            use tokio::io::{Interest, unix::AsyncFd};
            #[allow(
                deprecated,
                reason = "its successor is unsafe; an OwnedFd can't be closed by others"
            )]
            let pidfd = AsyncFd::with_interest(pidfd, Interest::READABLE)?;
            pidfd.readable().await?.retain_ready();
            return Ok(());
        }
        // Listen before looking, or an exit in between is missed.
        let mut exits = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child())?;
        while !is_zombie(child) {
            exits.recv().await;
        }
        Ok(())
    }

    /// Kills what is left after the child has exited, and returns its status.
    pub(super) fn finish(mut self) -> io::Result<ExitStatus> {
        let call = self
            .call
            .take()
            .ok_or_else(|| io::Error::other("already finished"))?;
        end(call, Leader::Exited)?.ok_or_else(|| io::Error::other("the child is still running"))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        let mut registry = registry();
        // The deadlines of a crowd may strike at once, and no answer is to wait until the others'
        // processes are killed.
        if is_crowd(registry.live.len())
            && let Some(janitor) = &*JANITOR
        {
            registry.dropped.push(call);
            let _ = janitor.try_send(());
            return;
        }
        std::mem::drop(registry);
        let _ = end(call, Leader::Unknown);
    }
}

struct Call {
    number: u64,
    child: Child,
    _permit: SemaphorePermit<'static>,
}

/// Reaps what calls that last have left behind dead.
pub(super) fn tidy() {
    if registry().tidy() {
        let _ = JANITOR.as_ref().map(|janitor| janitor.try_send(()));
    }
}

/// Kills what still runs, because the process is about to end; waits for that, at most for so long.
pub fn leave(time: Duration) {
    let until = Instant::now() + time;
    let leaders: Vec<u32> = registry()
        .live
        .drain()
        .filter_map(|(_, leader)| leader)
        .collect();
    for leader in leaders {
        let below = descendants(leader);
        kill_group(leader);
        below.into_iter().for_each(kill);
    }
    while registry().tidy() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills a call's processes; the status is there if the leader had exited.
fn end(mut call: Call, leader: Leader) -> io::Result<Option<ExitStatus>> {
    let (number, group) = (call.number, call.child.id());
    // Processes below the leader are found through it, so before it dies. After
    // its exit they are children of the host, and `tidy` finds them.
    let below = match leader {
        Leader::Exited => Vec::new(),
        Leader::Unknown => descendants(group),
    };
    kill_group(group);
    below.iter().copied().for_each(kill);

    let mut registry = registry();
    registry.live.remove(&number);
    registry.reaper_table.remove(group);
    registry
        .doomed
        .extend(below.into_iter().map(|pid| (pid, number)));
    let status = call.child.try_wait();
    let reaped = matches!(status, Ok(Some(_)));
    let leader = (!reaped).then_some(call);
    registry.ended.push(Ended {
        number,
        group,
        leader,
    });
    // The rest of a killed call is left to the janitor: many deadlines may
    // strike at once, and one round then serves them all.
    if !reaped || registry.tidy() {
        // A full channel means that the janitor has been told already.
        let _ = JANITOR.as_ref().map(|janitor| janitor.try_send(()));
    }
    status
}

enum Leader {
    Exited,
    Unknown,
}

static NEXT_CALL: AtomicU64 = AtomicU64::new(1);

static REGISTRY: LazyLock<Mutex<Registry>> = LazyLock::new(Mutex::default);

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock()
}

/// All that is known about our processes.
#[derive(Default)]
struct Registry {
    /// Call number to leader; the leader is unknown while it is being started.
    live: HashMap<u64, Option<u32>>,
    /// To be killed.
    dropped: Vec<Call>,
    /// Killed, but perhaps not gone.
    ended: Vec<Ended>,
    /// Killed below a leader, and the call; they come to us if they lose their parent.
    doomed: HashMap<u32, u64>,
    /// The host's children that it didn't start, as far as seen.
    orphans: HashMap<u32, Orphan>,
    reaper_table: ReaperTable,
}

struct Ended {
    number: u64,
    group: u32,
    /// Until it is reaped.
    leader: Option<Call>,
}

/// Can't turn into another process under the same id: we are its parent.
#[derive(Clone)]
enum Orphan {
    Of {
        call: u64,
        killed: bool,
    },
    /// A child that other code started, or a zombie without a trace of its origin.
    Unknown {
        since: Instant,
        zombie_since: Option<Instant>,
        /// The calls that lived when it was first seen.
        suspects: Arc<[u64]>,
    },
}

/// Stands for the call of an orphan of which only that is known: it has ended.
const ENDED_CALL: u64 = 0;

impl Orphan {
    /// A process in the middle of an exec shows no environment, and a zombie
    /// may be just about to be reaped by its owner: look again for a while.
    fn is_undecided(&self) -> bool {
        match self {
            Self::Of { .. } => false,
            Self::Unknown {
                since,
                zombie_since,
                ..
            } => zombie_since.is_some() || since.elapsed() < PATIENCE,
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(1);

impl Registry {
    /// One round of killing and reaping; `true` if another one is needed.
    fn tidy(&mut self) -> bool {
        for ended in &mut self.ended {
            // An error means that there is no such child any more.
            if ended
                .leader
                .as_mut()
                .is_some_and(|call| !matches!(call.child.try_wait(), Ok(None)))
            {
                ended.leader = None;
            }
        }
        let busy = self.tidy_orphans();
        // What dies of a group may hand us children that have left it.
        self.ended
            .retain(|it| it.leader.is_some() || busy.contains(&it.number) || is_group(it.group));
        if !self.ended.is_empty() || !busy.is_empty() {
            return true;
        }
        self.doomed.clear();
        self.orphans.values().any(Orphan::is_undecided)
    }

    /// Kills and reaps orphans of calls that have ended; returns those calls.
    fn tidy_orphans(&mut self) -> HashSet<u64> {
        let mut busy = HashSet::new();
        let children = orphans();
        self.orphans.retain(|pid, _| children.contains(pid));
        for pid in children {
            if self.leads(pid) || self.reaper_table.is_helper(pid) {
                continue;
            }
            let mut orphan = match self.orphans.get(&pid).cloned() {
                Some(known) if !known.is_undecided() => known,
                Some(known) => self.identify(pid).unwrap_or(known),
                None => self.identify(pid).unwrap_or_else(|| self.unknown()),
            };
            if let Orphan::Unknown { suspects, .. } = &orphan
                && REAPER.get().is_some()
                && !suspects.iter().any(|call| self.live.contains_key(call))
            {
                orphan = Orphan::Of {
                    call: ENDED_CALL,
                    killed: false,
                };
            }
            match &mut orphan {
                // A call may last as long as the host: what it leaves behind dead is not kept till
                // its end.
                Orphan::Of { call, .. } if self.live.contains_key(call) => {
                    if reap(pid) {
                        self.orphans.remove(&pid);
                        continue;
                    }
                }
                Orphan::Of { call, killed } => {
                    // Also if it is reaped: its own children come only now.
                    busy.insert(*call);
                    if reap(pid) {
                        self.orphans.remove(&pid);
                        continue;
                    }
                    if !*killed {
                        let below = descendants(pid);
                        kill(pid);
                        below.iter().copied().for_each(kill);
                        self.doomed.extend(below.into_iter().map(|it| (it, *call)));
                        *killed = true;
                    }
                }
                Orphan::Unknown { zombie_since, .. } if is_zombie(pid) => {
                    // The code that started it would have reaped it by then.
                    if zombie_since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                        reap(pid);
                    }
                }
                Orphan::Unknown { .. } => {}
            }
            self.orphans.insert(pid, orphan);
        }
        busy
    }

    fn unknown(&self) -> Orphan {
        let suspects = self.live.keys().copied().collect();
        Orphan::Unknown {
            since: Instant::now(),
            zombie_since: None,
            suspects,
        }
    }

    fn leads(&self, pid: u32) -> bool {
        self.live.values().any(|leader| *leader == Some(pid))
            || self
                .ended
                .iter()
                .any(|it| it.group == pid && it.leader.is_some())
    }

    /// By what we did to it, by its group, or by its marker. A zombie shows no marker.
    fn identify(&self, pid: u32) -> Option<Orphan> {
        if let Some(call) = self.doomed.get(&pid) {
            return Some(Orphan::Of {
                call: *call,
                killed: true,
            });
        }
        let of_group = || {
            let group = Stat::read(pid)?.group;
            let ended = self
                .ended
                .iter()
                .find(|it| it.group == group)
                .map(|it| it.number);
            ended.or_else(|| {
                self.live
                    .iter()
                    .find(|it| *it.1 == Some(group))
                    .map(|it| *it.0)
            })
        };
        let call = of_group().or_else(|| call_of(pid))?;
        Some(Orphan::Of {
            call,
            killed: false,
        })
    }
}

/// Ends the calls that were dropped, and does one round of killing and reaping; `true` if another
/// one is needed.
fn tidy_up_round() -> bool {
    // Apart from the loop, which would keep the registry locked.
    let dropped = std::mem::take(&mut registry().dropped);
    for call in dropped {
        let _ = end(call, Leader::Unknown);
    }
    registry().tidy()
}

/// Finishes what the end of a call began. A thread, because it must work
/// while a runtime shuts down and drops its tasks.
static JANITOR: LazyLock<Option<SyncSender<()>>> = LazyLock::new(|| {
    let (wake, woken) = sync_channel(1);
    let tidy_up = move || {
        while woken.recv().is_ok() {
            let mut pause = Duration::from_micros(500);
            while tidy_up_round() {
                pause = match woken.recv_timeout(pause) {
                    Ok(()) => Duration::from_micros(500),
                    Err(RecvTimeoutError::Timeout) => (pause * 2).min(Duration::from_millis(100)),
                    Err(RecvTimeoutError::Disconnected) => return,
                };
            }
        }
    };
    match std::thread::Builder::new()
        .name("hook-janitor".into())
        .spawn(tidy_up)
    {
        Ok(_) => Some(wake),
        Err(error) => {
            warn!(%error, "Thread that reaps killed hooks could not be started.");
            None
        }
    }
});

/// Done once, before the first child.
static SETUP: LazyLock<()> = LazyLock::new(|| {
    seal_descriptors();
    #[cfg(target_os = "linux")]
    {
        if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
            warn!(%error, "Host can't adopt orphans; hooks that leave their process group may survive.");
        }
        // A host started with SIGCHLD ignored would never see an exit status.
        // Installing a handler, which then stays, ends that.
        let ignored = read_text("/proc/self/status").ok().and_then(|status| {
            let mask = status
                .lines()
                .find_map(|line| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        });
        if ignored.is_some_and(|mask| mask & (1 << (Signal::CHILD.as_raw() - 1)) != 0) {
            let _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child());
        }
    }
});

/// Makes descriptors that the host itself was started with stay out of its
/// children. Those opened since are close-on-exec anyway.
fn seal_descriptors() {
    let listed = std::fs::read_dir("/proc/self/fd").or_else(|_| std::fs::read_dir("/dev/fd"));
    let names = listed
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    for fd in names
        .filter_map(|name| name.parse::<i32>().ok())
        .filter(|fd| *fd > 2)
    {
        // SAFETY: the descriptor is used for this one call, which changes no
        // more than a flag. Closed by another thread meanwhile, it is an error;
        // reused, it has the flag already.
        #[allow(
            unsafe_code,
            reason = "a descriptor that nobody in this process owns has only a number"
        )]
        let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
        let _ = rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC);
    }
}

/// The host in markers: unique per host, also across PID namespaces and over time.
struct Host {
    id: String,
    /// The marker of the call that this host itself runs in, and a slash.
    outer: String,
}

static HOST: LazyLock<Host> = LazyLock::new(|| {
    let nonce = RandomState::new().build_hasher().finish();
    let outer = std::env::var(CALL_ID)
        .map(|outer| outer + "/")
        .unwrap_or_default();
    Host {
        id: format!("{}-{nonce:016x}", std::process::id()),
        outer,
    }
});

/// The number of the call of this host that a process was started by.
fn call_of(pid: u32) -> Option<u64> {
    marks(pid)
        .split('/')
        .find_map(|mark| mark.strip_prefix(&HOST.id)?.strip_prefix('-')?.parse().ok())
}

/// A process's marker; empty if it has none or doesn't show it.
fn marks(pid: u32) -> String {
    let environ =
        read_small(Path::new(&format!("/proc/{pid}/environ")), MAX_FILE).unwrap_or_default();
    let value = environ.split(|byte| *byte == 0).find_map(|entry| {
        let value = entry.strip_prefix(CALL_ID.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    });
    value.unwrap_or_default()
}

struct Stat {
    parent: u32,
    group: u32,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        let fields = stat(pid)?;
        let mut fields = fields.split(' ').skip(1);
        Some(Self {
            parent: fields.next()?.parse().ok()?,
            group: fields.next()?.parse().ok()?,
        })
    }
}

/// Children of the main thread, which orphans become: the kernel hands orphans to the first thread.
#[cfg(target_os = "linux")]
fn orphans() -> Vec<u32> {
    let own = std::process::id();
    match read_text(format!("/proc/self/task/{own}/children")) {
        Ok(text) => parse_pids(&text),
        Err(_) => children(own),
    }
}

#[cfg(not(target_os = "linux"))]
fn orphans() -> Vec<u32> {
    Vec::new()
}

fn children(pid: u32) -> Vec<u32> {
    static LISTED: LazyLock<bool> = LazyLock::new(|| {
        let own = std::process::id();
        std::path::Path::new(&format!("/proc/self/task/{own}/children")).exists()
    });
    if !*LISTED {
        // A kernel without those lists.
        return processes()
            .filter(|it| Stat::read(*it).is_some_and(|stat| stat.parent == pid))
            .collect();
    }
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    tasks
        .filter_map(|task| read_text(task.path().join("children")).ok())
        .flat_map(|text| parse_pids(&text))
        .collect()
}

fn descendants(pid: u32) -> Vec<u32> {
    let mut found = children(pid);
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        // A pid that comes twice was reused while we looked.
        let below: Vec<u32> = children(parent)
            .into_iter()
            .filter(|it| !found.contains(it))
            .collect();
        found.extend(below);
        next += 1;
    }
    found
}

/// Every process there is.
fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parse_pids(text: &str) -> Vec<u32> {
    text.split_ascii_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// `None` for what must never be signalled: 0 is our own group, 1 is init.
fn as_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok().filter(|pid| *pid > 1)?)
}

fn kill(pid: u32) {
    // An error means that it is gone, or not ours to kill.
    let _ = as_pid(pid).map(|pid| rustix::process::kill_process(pid, Signal::KILL));
}

fn kill_group(leader: u32) {
    let _ = as_pid(leader).map(|pid| rustix::process::kill_process_group(pid, Signal::KILL));
}

/// Whether a group has processes, dead ones included.
fn is_group(leader: u32) -> bool {
    as_pid(leader).is_some_and(|pid| {
        rustix::process::test_kill_process_group(pid) != Err(rustix::io::Errno::SRCH)
    })
}

/// Never waits for "any child": those of others are theirs to wait for.
fn reap(pid: u32) -> bool {
    as_pid(pid).is_some_and(|pid| {
        !matches!(
            rustix::process::waitpid(Some(pid), WaitOptions::NOHANG),
            Ok(None)
        )
    })
}

/// Whether a child of ours has exited.
fn is_zombie(pid: u32) -> bool {
    let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    as_pid(pid)
        .is_some_and(|pid| matches!(rustix::process::waitid(WaitId::Pid(pid), peek), Ok(Some(_))))
}

// The helper that outlives the host.

/// Names the helper for the rest of the process, which starts it with the first
/// child: `program` with `args` must call [`reaper_main`] and do nothing else.
/// Whoever names it starts no children but through this module.
/// If it can't be started, a host killed by SIGKILL leaves its children behind;
/// that is a warning, never a failed call.
///
/// ```ignore
/// enable_reaper(std::env::current_exe()?, vec!["reaper".into()]);
/// ```
pub fn enable_reaper(program: PathBuf, args: Vec<OsString>) {
    let _ = REAPER.set((program, args));
}

static REAPER: OnceLock<(PathBuf, Vec<OsString>)> = OnceLock::new();

const REAPER_FOR: &str = "HOOKWIRE_REAPER_FOR";

/// The helper: waits for the host to vanish, kills its children, and exits.
///
/// Started by the host only. Stdin is the table of live groups; stdout is a
/// pipe that is never read and whose reading end dies with the host.
pub fn reaper_main() -> ! {
    let Ok(host) = std::env::var(REAPER_FOR) else {
        std::process::exit(2)
    };
    // Away from the terminal's and the client's signals to the host's group.
    let _ = rustix::process::setsid();
    let stdout = io::stdout();
    // Asking for nothing still reports that the other end was closed.
    while let Err(error) = poll(&mut [PollFd::new(&stdout, PollFlags::empty())], None) {
        if error != rustix::io::Errno::INTR {
            std::process::exit(1);
        }
    }

    let groups = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(|table| ReaperTable::read(&table.into()));
    for group in groups.unwrap_or_default() {
        let below = descendants(group);
        kill_group(group);
        below.into_iter().for_each(kill);
    }
    let host = host + "-";
    // A process in the middle of a fork or of its start shows no mark yet, but in a later round.
    let mut pause = Duration::from_millis(5);
    for _ in 0..100 {
        let left: Vec<u32> = processes()
            .filter(|pid| marks(*pid).split('/').any(|mark| mark.starts_with(&host)))
            .collect();
        pause = if left.is_empty() {
            pause * 2
        } else {
            Duration::from_millis(5)
        };
        if pause > Duration::from_secs(1) {
            break;
        }
        left.into_iter().for_each(kill);
        std::thread::sleep(pause);
    }
    std::process::exit(0)
}

/// The live groups, in a file shared with the helper: told by a write of four
/// bytes that wakes no process, and read only when the host is dead.
#[derive(Default)]
struct ReaperTable {
    slots: Vec<u32>,
    helper: Option<Helper>,
    last_start: Option<Instant>,
}

/// A helper that keeps dying is not worth a spawn per call.
const BETWEEN_HELPERS: Duration = Duration::from_secs(1);

struct Helper {
    process: Child,
    table: File,
}

impl ReaperTable {
    /// Starts the helper, if there is to be one and none runs.
    fn start_helper(&mut self) {
        let Some((program, args)) = REAPER.get() else {
            return;
        };
        let is_running = self
            .helper
            .as_mut()
            .is_some_and(|helper| matches!(helper.process.try_wait(), Ok(None)));
        let may_start = self
            .last_start
            .is_none_or(|last| last.elapsed() >= BETWEEN_HELPERS);
        if !is_running && may_start {
            self.last_start = Some(Instant::now());
            self.helper = Helper::start(program, args, &self.slots)
                .inspect_err(|error| warn!(%error, "Reaper could not be started; hooks may outlive a killed host."))
                .ok();
        }
    }

    fn add(&mut self, group: u32) {
        if REAPER.get().is_none() {
            return;
        }
        let slot = self
            .slots
            .iter()
            .position(|it| *it == 0)
            .unwrap_or_else(|| {
                self.slots.push(0);
                self.slots.len() - 1
            });
        self.slots[slot] = group;
        self.write(slot);
    }

    fn is_helper(&self, pid: u32) -> bool {
        self.helper
            .as_ref()
            .is_some_and(|helper| helper.process.id() == pid)
    }

    fn remove(&mut self, group: u32) {
        if let Some(slot) = self.slots.iter().position(|it| *it == group) {
            self.slots[slot] = 0;
            self.write(slot);
        }
    }

    fn write(&self, slot: usize) {
        if let Some(helper) = &self.helper {
            let _ = helper
                .table
                .write_all_at(&self.slots[slot].to_ne_bytes(), slot as u64 * 4);
        }
    }

    fn read(table: &File) -> Vec<u32> {
        let mut bytes = [0; (MAX_LIVE + MAX_CALLABLE_WORKERS + MAX_SERVERS) * 4];
        let n = table.read_at(&mut bytes, 0).unwrap_or(0);
        bytes[..n]
            .chunks_exact(4)
            .map(|it| u32::from_ne_bytes([it[0], it[1], it[2], it[3]]))
            .filter(|it| *it != 0)
            .collect()
    }
}

impl Helper {
    fn start(program: &PathBuf, args: &[OsString], slots: &[u32]) -> io::Result<Self> {
        let table = anonymous_file()?;
        for (slot, group) in slots.iter().enumerate() {
            table.write_all_at(&group.to_ne_bytes(), slot as u64 * 4)?;
        }
        let process = Command::new(program)
            .args(args)
            .env_clear()
            .env(REAPER_FOR, &HOST.id)
            // Inside a call of another host we go when that call goes.
            .envs(std::env::var_os(CALL_ID).map(|outer| (CALL_ID, outer)))
            .current_dir("/")
            .stdin(table.try_clone()?)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { process, table })
    }
}

#[cfg(target_os = "linux")]
fn anonymous_file() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("hookwire-groups", rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

#[cfg(not(target_os = "linux"))]
fn anonymous_file() -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let path = std::env::temp_dir().join(format!("hookwire-{}", HOST.id));
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Not a test: the helper of `doomed_host`.
    #[test]
    #[ignore = "a process of its own"]
    fn helper() {
        reaper_main()
    }

    /// Not a test: a host that waits to be killed.
    #[tokio::test]
    #[ignore = "a process of its own"]
    async fn doomed_host() {
        let Ok(script) = std::env::var("DOOMED_SCRIPT") else {
            return;
        };
        let args = [
            "--exact",
            "handlers::process_tree::tests::helper",
            "--ignored",
        ];
        enable_reaper(
            std::env::current_exe().expect("exe"),
            args.map(OsString::from).to_vec(),
        );
        let spec = super::super::process::Spec {
            argv: ["sh", "-c", &script].map(String::from).to_vec(),
            env: vec![("PATH".into(), std::env::var("PATH").expect("PATH"))],
            cwd: "/".into(),
            stdin: Default::default(),
            limits: Default::default(),
            pins: None,
        };
        let _ = super::super::process::run(spec).await;
    }

    fn running(words: &str) -> Vec<u32> {
        let has_words = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").trim() == words
        };
        processes().filter(has_words).collect()
    }

    #[test]
    fn a_killed_host_takes_its_children_along() {
        // One in the group, one that wiped its environment, two that left.
        let time = format!("3{}", std::process::id());
        let words = format!("sleep {time}");
        let script =
            format!("{words} & env -i {words} & setsid {words} & (setsid {words} &) ; wait");
        let mut host = Command::new(std::env::current_exe().expect("exe"))
            .args([
                "--exact",
                "handlers::process_tree::tests::doomed_host",
                "--ignored",
            ])
            .env("DOOMED_SCRIPT", script)
            .stdout(Stdio::null())
            .spawn()
            .expect("host");
        eventually(|| running(&words).len() == 4);
        // It is a helper as soon as it has a session of its own: before, this one writes to the
        // host as tests do, and fails if nobody reads.
        let helper = "handlers::process_tree::tests::helper --ignored";
        let is_ready = |pid: &u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let fields: Vec<_> = stat
                .rsplit(')')
                .next()
                .unwrap_or_default()
                .split_whitespace()
                .collect();
            matches!(fields[..], [_, parent, _, session, ..]
                if parent == host.id().to_string() && session == pid.to_string())
        };
        let ends_in = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line)
                .replace('\0', " ")
                .trim()
                .ends_with(helper)
        };
        eventually(|| processes().any(|pid| is_ready(&pid) && ends_in(&pid)));
        // How long a process takes to be gone and missed, at the least, on a machine as busy as
        // this one is now.
        let floor = Instant::now();
        Command::new("true").status().expect("true");
        running(&words);
        let floor = floor.elapsed();
        host.kill().expect("kill");
        let killed = Instant::now();
        host.wait().expect("wait");
        eventually(|| running(&words).is_empty());
        let took = killed.elapsed();
        assert!(
            took < Duration::from_secs(1) + 50 * floor,
            "{took:?} against {floor:?}"
        );
    }

    fn eventually(condition: impl Fn() -> bool) {
        let start = Instant::now();
        while !condition() {
            assert!(start.elapsed() < Duration::from_secs(120), "still waiting");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
