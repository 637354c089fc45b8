//! stdin and stdout as a connection. At start stdout is taken from the rest of the process, so that
//! nothing but the protocol can get there.

use rustix::event::{PollFd, PollFlags, poll};
use std::os::fd::{BorrowedFd, OwnedFd};

/// Takes stdout for the protocol and points descriptor 1 at stderr.
///
/// # Errors
/// A standard descriptor is closed.
pub fn take_stdout() -> std::io::Result<OwnedFd> {
    let protocol = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(protocol)
}

/// Whether the other side has closed its sending half, though bytes may be left to read.
pub fn hung_up(input: BorrowedFd<'_>) -> bool {
    // For a socket of which only that half is closed there is a flag of its own, on request.
    #[cfg(target_os = "linux")]
    let half = PollFlags::RDHUP;
    #[cfg(not(target_os = "linux"))]
    let half = PollFlags::empty();
    let mut fds = [PollFd::new(&input, half)];
    let now = rustix::event::Timespec::default();
    poll(&mut fds, Some(&now)).is_ok()
        && fds[0]
            .revents()
            .intersects(PollFlags::HUP | PollFlags::ERR | half)
}
