//! The system calls that no crate offers safely. All `unsafe` code of the program is here.

#![expect(
    unsafe_code,
    reason = "system calls without a safe wrapper; each has its reason"
)]

use libc::{c_int, c_ulong, c_void, pid_t};
use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Which of two processes the caller is after [`fork`].
pub enum Fork {
    /// The old one; the new one's id.
    Parent(pid_t),
    /// The new one.
    Child,
}

/// Makes a copy of this process, which must have one thread only.
pub fn fork() -> Result<Fork> {
    // SAFETY: callers fork before they start threads, so no lock is held by a thread that the child
    // doesn't have.
    match unsafe { libc::fork() } {
        -1 => Err(Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid)),
    }
}

/// Ends the process without running what was registered for its end, which belongs to the process
/// it was copied from.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: takes a number and doesn't return.
    unsafe { libc::_exit(code) }
}

/// Gives a signal its default effect.
pub fn reset_signal(signal: c_int) {
    // SAFETY: SIG_DFL is no handler, so no code runs in a signal's context.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Ignores a signal.
pub fn ignore_signal(signal: c_int) {
    // SAFETY: SIG_IGN is no handler, so no code runs in a signal's context.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Ends this process by a signal, as if it had come from outside.
pub fn die_by(signal: c_int) {
    reset_signal(signal);
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: all pointers are to values of this frame, which the calls only read; no handler is
    // installed. The core file would be the wrong program's.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        let mut set = zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(signal);
    }
}

/// Closes all descriptors from 3 on but these; the caller owns no other that it still uses.
pub fn close_all_but(kept: &[BorrowedFd<'_>]) {
    let mut kept: Vec<u32> = kept
        .iter()
        .map(|fd| fd.as_raw_fd() as u32)
        .filter(|fd| *fd > 2)
        .collect();
    kept.sort_unstable();
    let mut from = 3;
    for fd in kept.into_iter().chain([u32::MAX]) {
        if from < fd {
            // SAFETY: takes numbers only; the descriptors were inherited, so no value of this
            // program owns them.
            unsafe { libc::syscall(libc::SYS_close_range, from, fd - 1, 0) };
        }
        from = fd.saturating_add(1);
    }
}

/// A program start that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub struct Notification {
    /// Names it.
    pub id: u64,
    /// The thread that asks, in the supervisor's numbering; 0 if it can't be seen from here.
    pub tid: pid_t,
    /// The entry.
    pub arch: u32,
    /// The number of the system call.
    pub number: u32,
    /// Its arguments.
    pub args: [u64; 6],
}

/// Installs a filter for this thread and all that it starts.
///
/// # Errors
/// `EBUSY`: there is a listener already; `EINVAL`, `ENOSYS`: the kernel knows no listeners, or not
/// these flags.
pub fn install_filter(program: &[libc::sock_filter], flags: c_ulong) -> Result<OwnedFd> {
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: `program` points to as many instructions as it says, and the kernel copies them.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &program,
        )
    };
    if fd < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for the caller.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

/// Waits for the next program start.
pub fn receive_start(listener: BorrowedFd<'_>) -> Result<Notification> {
    // SAFETY: all bytes zero is a valid value of this plain struct, and what the kernel demands.
    let mut it: libc::seccomp_notif = unsafe { zeroed() };
    // SAFETY: the kernel writes one `seccomp_notif`, whose size is part of the request's number.
    let result = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            &mut it,
        )
    };
    if result < 0 {
        return Err(Error::last_os_error());
    }
    let number = it.data.nr as u32;
    Ok(Notification {
        id: it.id,
        tid: it.pid as pid_t,
        arch: it.data.arch,
        number,
        args: it.data.args,
    })
}

/// What a waiting program start is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Let the kernel carry the call out.
    Continue,
    /// The call fails with this error.
    Fail(c_int),
}

/// Answers a program start. Whether it still waits is not known before.
pub fn respond_to(listener: BorrowedFd<'_>, id: u64, reply: Reply) -> Result<()> {
    let (error, flags) = match reply {
        Reply::Continue => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
        Reply::Fail(errno) => (-errno, 0),
    };
    let mut it = libc::seccomp_notif_resp {
        id,
        val: 0,
        error,
        flags,
    };
    // SAFETY: the kernel reads one `seccomp_notif_resp`.
    check_result(unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SEND,
            &mut it,
        )
    })
}

/// Whether a program start still waits, and so whether its thread's number still means that thread.
pub fn still_waits(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the kernel reads one u64.
    unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
            &id,
        ) == 0
    }
}

/// Whether there is such a thread in such a process: no signal is sent.
pub fn thread_is_of(process: pid_t, thread: pid_t) -> bool {
    // SAFETY: takes numbers only; signal 0 is none.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) };
    result == 0 || Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Traces a thread from now on, for its next exec; it is killed if this thread ends before it is
/// let go.
pub fn seize(tid: pid_t) -> Result<()> {
    let options = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
    ptrace_call(libc::PTRACE_SEIZE, tid, options as usize)
}

/// Stops a traced thread when it returns from its call.
pub fn interrupt(tid: pid_t) -> Result<()> {
    ptrace_call(libc::PTRACE_INTERRUPT, tid, 0)
}

/// Lets a stopped thread go, with a signal that it was about to get, or 0.
pub fn detach(tid: pid_t, signal: c_int) -> Result<()> {
    ptrace_call(libc::PTRACE_DETACH, tid, signal as usize)
}

/// A request of `ptrace`.
#[cfg(target_env = "musl")]
type TraceRequest = c_int;
#[cfg(not(target_env = "musl"))]
type TraceRequest = libc::c_uint;

fn ptrace_call(request: TraceRequest, tid: pid_t, data: usize) -> Result<()> {
    let none: *mut c_void = std::ptr::null_mut();
    // SAFETY: with these three requests the kernel takes `data` as a number and reads or writes no
    // memory of ours.
    match unsafe { libc::ptrace(request, tid, none, data as *mut c_void) } {
        -1 => Err(Error::last_os_error()),
        _ => Ok(()),
    }
}

/// What became of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It has ended; the status as `wait` has it.
    Ended(c_int),
    /// It has stopped by this signal.
    Stopped(c_int),
    /// It is stopped for its tracer: the event, or 0 for the signal that it is about to get.
    Trapped {
        /// `PTRACE_EVENT_...`, or 0.
        event: c_int,
        /// The signal.
        signal: c_int,
    },
}

/// Waits for the next change of a process that this thread traces.
///
/// # Errors
/// `ECHILD`: it traces none.
pub fn wait_for_traced() -> Result<(pid_t, Change)> {
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes one number. A pid of a thread would not do: exec gives it the
        // process's.
        match unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) } {
            -1 if Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            -1 => return Err(Error::last_os_error()),
            pid if libc::WIFSTOPPED(status) => {
                return Ok((
                    pid,
                    Change::Trapped {
                        event: status >> 16,
                        signal: libc::WSTOPSIG(status),
                    },
                ));
            }
            pid => return Ok((pid, Change::Ended(status))),
        }
    }
}

/// Waits until a child of this thread has changed, without taking the change away.
///
/// # Errors
/// `ECHILD`: there is none.
pub fn await_child() -> Result<(pid_t, Change)> {
    wait_id(
        libc::P_ALL,
        0,
        libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT,
    )
    .and_then(|it| it.ok_or_else(|| Error::from_raw_os_error(libc::EINTR)))
}

/// The change that a child of this thread has now, without taking it away.
pub fn peek_child() -> Result<Option<(pid_t, Change)>> {
    wait_id(
        libc::P_ALL,
        0,
        libc::WEXITED | libc::WNOWAIT | libc::WNOHANG,
    )
}

/// Takes the change of a child of this thread that it is known to have; none if it has no such
/// change any more.
pub fn take_change(pid: pid_t, change: Change) -> Result<bool> {
    let which = if matches!(change, Change::Ended(_)) {
        libc::WEXITED
    } else {
        libc::WSTOPPED
    };
    wait_id(libc::P_PID, pid as libc::id_t, which | libc::WNOHANG).map(|it| it.is_some())
}

fn wait_id(
    kind: libc::idtype_t,
    id: libc::id_t,
    options: c_int,
) -> Result<Option<(pid_t, Change)>> {
    // SAFETY: all bytes zero is a valid `siginfo_t`.
    let mut info: libc::siginfo_t = unsafe { zeroed() };
    // SAFETY: the kernel writes one `siginfo_t`.
    check_result(unsafe {
        libc::waitid(
            kind,
            id,
            &mut info,
            options | libc::__WALL | libc::__WNOTHREAD,
        )
    })?;
    // SAFETY: `waitid` fills these members in, or leaves them zero.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    let change = match info.si_code {
        libc::CLD_EXITED => Change::Ended((status & 0xff) << 8),
        libc::CLD_KILLED => Change::Ended(status),
        libc::CLD_DUMPED => Change::Ended(status | 0x80),
        libc::CLD_STOPPED => Change::Stopped(status),
        _ => Change::Trapped {
            event: 0,
            signal: status,
        },
    };
    Ok((pid != 0).then_some((pid, change)))
}

/// Lets a process run only when nothing else wants to. What it starts inherits that.
pub fn give_way(pid: pid_t) {
    // That is all of the kernel's `sched_param`; C libraries add members of their own.
    let priority: c_int = 0;
    // SAFETY: the kernel reads one number, which lives until the call returns; the other call takes
    // numbers.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, pid as libc::id_t, 19);
        libc::syscall(
            libc::SYS_sched_setscheduler,
            pid,
            libc::SCHED_IDLE,
            &raw const priority,
        );
    }
}

/// Sends a signal to a process.
pub fn kill(pid: pid_t, signal: c_int) {
    // SAFETY: takes numbers only. That the process is gone is no failure.
    unsafe { libc::kill(pid, signal) };
}

/// A descriptor that stands for a process.
pub fn pidfd_open(pid: pid_t) -> Result<OwnedFd> {
    // SAFETY: takes numbers only.
    owned_fd(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })
}

/// A duplicate of a descriptor of another process.
pub fn pidfd_getfd(process: BorrowedFd<'_>, fd: c_int) -> Result<OwnedFd> {
    // SAFETY: takes numbers only.
    owned_fd(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) })
}

fn owned_fd(fd: libc::c_long) -> Result<OwnedFd> {
    if fd < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for the caller.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

/// A descriptor that a message has just brought.
pub fn own_fd(fd: c_int) -> OwnedFd {
    // SAFETY: the kernel has made it for this process, and nobody else has seen its number.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// The version of Landlock, 0 without it.
pub fn landlock_version() -> i64 {
    const VERSION: c_int = 1;
    // SAFETY: with this flag the kernel reads no attribute.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<c_void>(),
            0,
            VERSION,
        )
    };
    version.max(0)
}

fn check_result(result: c_int) -> Result<()> {
    if result < 0 {
        Err(Error::last_os_error())
    } else {
        Ok(())
    }
}

const _: () =
    assert!(size_of::<libc::seccomp_notif>() == 80 && size_of::<libc::seccomp_notif_resp>() == 24);

/// Brings up the loopback of a network of this process's own.
pub fn bring_up_loopback() -> Result<()> {
    // SAFETY: takes numbers; the descriptor that it gives is nobody else's.
    let socket =
        match unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) } {
            -1 => return Err(Error::last_os_error()),
            fd => own_fd(fd),
        };
    // SAFETY: all zeros is a request without a name.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, byte) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = byte.cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: the request is of this frame and of the size that the call reads.
    match unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw const request,
        )
    } {
        -1 => Err(Error::last_os_error()),
        _ => Ok(()),
    }
}
