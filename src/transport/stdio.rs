//! stdin and stdout as a connection. At start stdout is taken away from everybody else, so that
//! nothing but the protocol can ever get there.

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

/// Whether nobody can write any more, though bytes may be left to read.
pub(crate) fn hung_up(input: BorrowedFd<'_>) -> bool {
    // A socket tells that only the other's sending half is closed by another flag, on request.
    #[cfg(target_os = "linux")]
    let half = PollFlags::RDHUP;
    #[cfg(not(target_os = "linux"))]
    let half = PollFlags::empty();
    let mut fds = [PollFd::new(&input, half)];
    let now = rustix::event::Timespec::default();
    poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | half)
}
