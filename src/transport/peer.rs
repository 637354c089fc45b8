//! Which process is at the other end of a socket, and whether `hookwire run` holds it.

use crate::support::file::read_text;
use crate::support::process::stat;
use std::os::unix::net::UnixStream;

/// The process that has connected. The connection may be another's by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its number, 0 if that can't be known here.
    pid: i32,
    /// When it was there, in hundredths of a second since the machine was started, as /proc counts.
    seen: u64,
}

impl Peer {
    /// Who has connected.
    #[cfg(target_os = "linux")]
    pub fn of(stream: &UnixStream) -> Peer {
        let pid = rustix::net::sockopt::socket_peercred(stream).map_or(0, |it| it.pid.as_raw_nonzero().get());
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let [seconds, nanoseconds] = [now.tv_sec, now.tv_nsec].map(i64::cast_unsigned);
        Peer { pid, seen: seconds * 100 + nanoseconds / 10_000_000 }
    }

    /// Who has connected: nothing holds a process here.
    #[cfg(not(target_os = "linux"))]
    pub fn of(_: &UnixStream) -> Peer {
        Peer { pid: 0, seen: 0 }
    }

    /// Whether it is, or may be, below a seccomp filter that this process isn't below. One that is gone may have been,
    /// because whom it left its connection is.
    pub fn is_held(self) -> bool {
        let Some(own) = filters("self") else { return false };
        let pid = self.pid.to_string();
        let is_same = started(&pid).is_some_and(|at| at <= self.seen);
        !is_same || filters(&pid).is_none_or(|theirs| theirs > own)
    }
}

/// How many seccomp filters a process is below, where the kernel says it.
pub(super) fn filters(pid: &str) -> Option<u32> {
    let status = read_text(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:")?.trim().parse().ok())
}

/// When a process was started, in hundredths of a second since the machine was.
fn started(pid: &str) -> Option<u64> {
    stat(pid)?.split(' ').nth(19)?.parse().ok()
}
