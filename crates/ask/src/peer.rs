//! Which process is at the other end of a socket, and whether `hookwire run` holds it.
//!
//! Both sides ask this: the host of who has connected to it, and whoever asks a host of who listens
//! there. The kernel names the process that connected or that has called `listen`. It may have
//! ended since and have left the socket to anybody, so only one that is there can be told from
//! those that are held.

use crate::look::Look;
use rustix::io::Errno;
use std::io::Result;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// The process at the other end. The connection may be another's by now.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its number, 0 if that can't be known here.
    pub pid: i32,
    /// Its user.
    pub uid: u32,
    process: Process,
}

/// How it is told that a number still means the process.
#[derive(Clone, Debug)]
enum Process {
    /// The kernel has given what stands for it.
    Known(Arc<OwnedFd>),
    /// The kernel gives nothing: it was there at this time, in hundredths of a second since the
    /// machine was started, as /proc counts.
    Seen(u64),
    /// It has ended.
    Gone,
}

#[cfg(target_os = "linux")]
impl Peer {
    /// Who is at the other end.
    ///
    /// # Errors
    /// The kernel doesn't say it.
    pub fn from_stream(stream: &UnixStream) -> Result<Peer> {
        use rustix::time::{ClockId, clock_gettime};
        let about = linux::credentials_of_peer(stream)?;
        let process = match linux::pidfd_of_peer(stream) {
            Ok(Some(process)) => Process::Known(Arc::new(process)),
            Ok(None) => {
                let now = clock_gettime(ClockId::Boottime);
                let [seconds, nanoseconds] =
                    [now.tv_sec, now.tv_nsec].map(|it| u64::try_from(it).unwrap_or_default());
                Process::Seen(seconds * 100 + nanoseconds / 10_000_000)
            }
            Err(_) => Process::Gone,
        };
        Ok(Peer {
            pid: about.pid,
            uid: about.uid,
            process,
        })
    }

    /// Whether it is, or may be, below a seccomp filter that this process isn't below. One that
    /// can't be looked at may be: nobody knows to whom one that is gone has left its socket.
    pub fn is_held(&self) -> bool {
        let own = match filters("self") {
            Look::Found(own) => own,
            // Nothing is held where the kernel has no filters.
            Look::Nothing => return false,
            Look::Failed(_) => return true,
        };
        let theirs = filters(&self.pid.to_string());
        !matches!(theirs, Look::Found(theirs) if theirs <= own) || !self.is_there()
    }

    /// Whether the process is there, so that its number means it.
    pub fn is_there(&self) -> bool {
        match &self.process {
            Process::Known(process) => !linux::has_ended(process),
            Process::Seen(at) => linux::start_time(self.pid).is_some_and(|started| started <= *at),
            Process::Gone => false,
        }
    }

    /// What stands for the process, where the kernel gives it.
    pub fn process(&self) -> Option<&OwnedFd> {
        match &self.process {
            Process::Known(process) => Some(process),
            Process::Seen(_) | Process::Gone => None,
        }
    }
}

/// The user at the other end.
///
/// # Errors
/// The kernel doesn't say it.
#[cfg(target_os = "linux")]
pub fn user_of_peer(stream: &UnixStream) -> Result<u32> {
    linux::credentials_of_peer(stream).map(|about| about.uid)
}

#[cfg(not(target_os = "linux"))]
impl Peer {
    /// Who is at the other end: nothing holds a process here.
    ///
    /// # Errors
    /// None here.
    pub fn from_stream(_: &UnixStream) -> Result<Peer> {
        Ok(Peer {
            pid: 0,
            uid: rustix::process::getuid().as_raw(),
            process: Process::Gone,
        })
    }

    /// Nothing holds a process here.
    pub fn is_held(&self) -> bool {
        false
    }
}

/// How many seccomp filters a process is below, where the kernel counts them: each that is held has
/// one more than its supervisor.
pub fn filters(pid: &str) -> Look<u32> {
    match Look::of_io(std::fs::read_to_string(format!("/proc/{pid}/status"))) {
        Look::Found(status) => {
            let count = status
                .lines()
                .find_map(|line| line.strip_prefix("Seccomp_filters:")?.trim().parse().ok());
            count.map_or(Look::Nothing, Look::Found)
        }
        // It ended while it was looked at.
        Look::Nothing | Look::Failed(Errno::SRCH) => Look::Nothing,
        Look::Failed(error) => Look::Failed(error),
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::io::{Error, Result};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::net::UnixStream;

    /// Who is at the other end. Rustix has no number for a process that isn't seen from here, such as
    /// one outside of a container, whose number is 0.
    ///
    /// # Errors
    /// The kernel doesn't say it.
    pub fn credentials_of_peer(stream: &UnixStream) -> Result<libc::ucred> {
        let mut about = libc::ucred {
            pid: 0,
            uid: u32::MAX,
            gid: u32::MAX,
        };
        let mut size = size_of::<libc::ucred>() as libc::socklen_t;
        #[expect(unsafe_code, reason = "rustix takes no process whose number is 0")]
        // SAFETY: the kernel writes three numbers of `size` bytes, and the size.
        let result = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut about).cast(),
                &raw mut size,
            )
        };
        if result != 0 {
            return Err(Error::last_os_error());
        }
        Ok(about)
    }

    /// What stands for the process at the other end; none where the kernel is older than 6.5.
    ///
    /// # Errors
    /// The process has ended.
    pub fn pidfd_of_peer(stream: &UnixStream) -> Result<Option<OwnedFd>> {
        let mut fd: libc::c_int = -1;
        let mut size = size_of::<libc::c_int>() as libc::socklen_t;
        #[expect(unsafe_code, reason = "an option of sockets that rustix doesn't have")]
        // SAFETY: the kernel writes one number of `size` bytes, and the size.
        let result = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERPIDFD,
                (&raw mut fd).cast(),
                &raw mut size,
            )
        };
        if result != 0 {
            let error = Error::last_os_error();
            return if error.raw_os_error() == Some(libc::ENOPROTOOPT) {
                Ok(None)
            } else {
                Err(error)
            };
        }
        #[expect(
            unsafe_code,
            reason = "a descriptor that an option of a socket has brought has only a number"
        )]
        // SAFETY: the kernel has just made this descriptor for the caller.
        Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Whether a process has ended, by what stands for it.
    pub fn has_ended(process: &OwnedFd) -> bool {
        let mut ready = [PollFd::new(process, PollFlags::IN)];
        // Whether it is there must be certain.
        poll(
            &mut ready,
            Some(&Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            }),
        ) != Ok(0)
    }

    /// When a process was started, in hundredths of a second since the machine was.
    pub fn start_time(pid: i32) -> Option<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The program's name stands in parentheses and may contain anything.
        stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::process::{Command, Stdio};

    #[test]
    fn one_that_is_there_is_told_from_one_that_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let ours = Peer::from_stream(&UnixStream::connect(&path).unwrap()).unwrap();
        assert_eq!(
            (ours.pid, ours.is_there(), ours.is_held()),
            (std::process::id() as i32, true, false)
        );
        // A process that listens, hands the listener on and ends.
        let text = "import os,socket,sys\ns=socket.socket(fileno=0)\ns.listen()\nos._exit(0)";
        let Ok(mut child) = Command::new("python3")
            .args(["-c", text])
            .stdin(Stdio::from(OwnedFd::from(listener.try_clone().unwrap())))
            .spawn()
        else {
            eprintln!("SKIPPED: there is no python3 here");
            return;
        };
        assert!(child.wait().unwrap().success());
        let gone = Peer::from_stream(&UnixStream::connect(&path).unwrap()).unwrap();
        assert_eq!(
            (gone.pid, gone.is_there(), gone.is_held()),
            (child.id() as i32, false, true)
        );
    }

    #[test]
    fn a_number_that_means_another_by_now_is_one_that_is_gone() {
        let process = Process::Seen(0);
        let peer = Peer {
            pid: std::process::id() as i32,
            uid: 0,
            process,
        };
        assert!(peer.is_held(), "this process was started later");
    }
}
