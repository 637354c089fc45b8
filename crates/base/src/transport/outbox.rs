//! The way out: messages to the client, written whole and in order, never blocking the sender.
//!
//! A sender writes at once what the pipe takes without waiting, which saves a thread switch for
//! nearly every reply; what is left goes to a thread of its own. Nothing sets `O_NONBLOCK`, since
//! that would change the descriptor for every process that shares it.
//!
//! Where a message is answered as a whole, as over HTTP, replies are kept until they are taken.

use super::framing::Framing;
use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Waiting bytes beyond which the reader takes no more requests in.
const PRESSURE: usize = 4 * 1024 * 1024;
/// Waiting bytes beyond which notifications are dropped.
const DROP_NOTIFICATIONS: usize = 1024 * 1024;
/// Waiting bytes beyond which the client counts as gone: replies that were under way when it
/// stopped reading.
const GIVE_UP: usize = 64 * 1024 * 1024;
/// What a pipe that is writable takes without blocking (`PIPE_BUF`).
const ATOMIC: usize = 4096;

/// See the module. Cheap to clone.
#[derive(Clone)]
pub struct Outbox(Arc<Shared>);

struct Shared {
    /// Nowhere to write to if replies are kept.
    fd: Option<OwnedFd>,
    kind: Kind,
    /// The system can't write without waiting: it is asked first how much it takes.
    asks_first: AtomicBool,
    framing: OnceLock<Framing>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pipe,
    Socket,
    File,
    Kept,
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    /// The thread is writing what it took.
    writing: bool,
    /// The reader has gone.
    gone: bool,
    /// When the client last took something of what waits, or when that began to wait.
    taken: Option<Instant>,
    /// The connection ends: since when, and how long the client may then take nothing.
    ending: Option<(Instant, Duration)>,
}

impl State {
    /// Whether something isn't written yet.
    fn waits(&self) -> bool {
        self.writing || !self.waiting.is_empty()
    }

    /// Whether a client that has had time since then has taken nothing for so long.
    fn is_stalled(&self, since: Instant, grace: Duration) -> bool {
        self.taken.map_or(since, |taken| taken.max(since)).elapsed() >= grace
    }
}

impl Outbox {
    /// Starts the writing thread. `gone` is called once, from that thread, when the reader has
    /// gone.
    ///
    /// # Errors
    /// The descriptor is not open, or no thread could be started.
    pub fn new(fd: OwnedFd, gone: impl FnOnce() + Send + 'static) -> std::io::Result<Outbox> {
        let kind = match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
            FileType::Socket => Kind::Socket,
            FileType::RegularFile => Kind::File,
            _ => Kind::Pipe,
        };
        let outbox = Outbox::from_parts(Some(fd), kind);
        let writer = outbox.clone();
        std::thread::Builder::new()
            .name("write".into())
            .spawn(move || writer.run(gone))?;
        if kind != Kind::File {
            let watcher = outbox.clone();
            std::thread::Builder::new()
                .name("watch-stdout".into())
                .spawn(move || watcher.watch())?;
        }
        Ok(outbox)
    }

    /// Keeps what is sent, framed as lines, until it is taken.
    pub fn kept() -> Outbox {
        Outbox::from_parts(None, Kind::Kept)
    }

    fn from_parts(fd: Option<OwnedFd>, kind: Kind) -> Outbox {
        let (framing, state, changed) = (OnceLock::new(), Mutex::default(), Condvar::new());
        Outbox(Arc::new(Shared {
            fd,
            kind,
            asks_first: AtomicBool::new(false),
            framing,
            state,
            changed,
        }))
    }

    /// What was kept so far.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.state.lock().waiting)
    }

    /// Messages are framed as the client frames its own.
    pub fn set_framing(&self, framing: Framing) {
        let _ = self.0.framing.set(framing);
    }

    fn framing(&self) -> Framing {
        self.0.framing.get().copied().unwrap_or(Framing::Lines)
    }

    /// Appends a message to a buffer that will be sent with [`Outbox::send_framed`].
    pub fn frame(&self, message: &[u8], out: &mut Vec<u8>) {
        self.framing().write(message, out);
    }

    /// Sends a message.
    pub fn send(&self, message: &[u8]) {
        let mut framed = Vec::with_capacity(message.len() + 32);
        self.frame(message, &mut framed);
        self.send_framed(&framed);
    }

    /// Sends a message that may be lost under load; says whether it was taken.
    pub fn offer(&self, message: &[u8]) -> bool {
        if self.0.state.lock().waiting.len() > DROP_NOTIFICATIONS {
            return false;
        }
        self.send(message);
        true
    }

    /// Sends framed messages.
    pub fn send_framed(&self, framed: &[u8]) {
        if framed.is_empty() {
            return;
        }
        let mut state = self.0.state.lock();
        if state.gone {
            return;
        }
        let mut rest = framed;
        if !state.waits() {
            while !rest.is_empty() {
                match self.write_now(rest) {
                    Ok(0) => break,
                    Ok(written) => rest = &rest[written..],
                    Err(_) => {
                        state.gone = true;
                        break;
                    }
                }
            }
        }
        if rest.is_empty() {
            return;
        }
        // One message may be longer than that.
        state.gone |= state.waiting.len() > GIVE_UP;
        if state.gone {
            state.waiting = Vec::new();
        } else {
            if !state.waits() {
                state.taken = Some(Instant::now());
            }
            state.waiting.extend_from_slice(rest);
        }
        drop(state);
        self.0.changed.notify_all();
    }

    /// Waits until the client has read enough. One that has ended its requests, as `has_ended`
    /// says, and has taken nothing of what waits for as long as `grace` has stopped reading: it
    /// counts as gone, and this is false.
    pub fn wait_for_room(&self, has_ended: impl Fn() -> bool, grace: Duration) -> bool {
        let mut state = self.0.state.lock();
        while !state.gone && state.waits() {
            if state.taken.is_some_and(|taken| taken.elapsed() >= grace) && has_ended() {
                state.gone = true;
                state.waiting = Vec::new();
                self.0.changed.notify_all();
                // One that has closed its end stopped with good reason: what it has sent last is
                // judged.
                return self
                    .0
                    .fd
                    .as_ref()
                    .is_some_and(|fd| is_writable(fd.as_fd(), Duration::ZERO).is_err());
            }
            if state.waiting.len() <= PRESSURE {
                break;
            }
            self.0
                .changed
                .wait_for(&mut state, Duration::from_millis(20));
        }
        true
    }

    /// Waits until everything is written, or until the client has taken nothing for so long.
    pub fn flush(&self, grace: Duration) {
        let mut state = self.0.state.lock();
        let now = Instant::now();
        state.ending = Some((now, grace));
        self.0.changed.notify_all();
        while state.waits() && !state.gone && !state.is_stalled(now, grace) {
            self.0
                .changed
                .wait_for(&mut state, grace.min(Duration::from_millis(20)));
        }
    }

    /// Writes what can be written without waiting; 0 means that nothing can.
    fn write_now(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let Some(fd) = self.0.fd.as_ref().map(OwnedFd::as_fd) else {
            return Ok(0);
        };
        match self.0.kind {
            Kind::Kept => Ok(0),
            Kind::File => rustix::io::write(fd, bytes),
            Kind::Socket => {
                use rustix::net::{SendFlags, send};
                match send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                    Err(Errno::AGAIN | Errno::INTR) => Ok(0),
                    result => result,
                }
            }
            Kind::Pipe => {
                if !self.0.asks_first.load(Ordering::Relaxed) {
                    match write_without_waiting(fd, bytes) {
                        Err(Errno::AGAIN | Errno::INTR) => return Ok(0),
                        Err(error) if error != Errno::PIPE => {
                            self.0.asks_first.store(true, Ordering::Relaxed)
                        }
                        result => return result,
                    }
                }
                if !is_writable(fd, Duration::ZERO)? {
                    return Ok(0);
                }
                match rustix::io::write(fd, &bytes[..bytes.len().min(ATOMIC)]) {
                    Err(Errno::AGAIN | Errno::INTR) => Ok(0),
                    result => result,
                }
            }
        }
    }

    /// Notices that the reader has gone even while there is nothing to write.
    fn watch(&self) {
        let Some(fd) = &self.0.fd else { return };
        let mut fds = [PollFd::new(fd, PollFlags::empty())];
        while !fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
        self.0.state.lock().gone = true;
        self.0.changed.notify_all();
    }

    fn run(self, gone: impl FnOnce()) {
        loop {
            let mut state = self.0.state.lock();
            while state.waiting.is_empty() && !state.gone {
                self.0.changed.wait(&mut state);
            }
            if state.gone {
                drop(state);
                self.0.changed.notify_all();
                gone();
                return;
            }
            let batch = std::mem::take(&mut state.waiting);
            state.writing = true;
            drop(state);
            let written = self.write_all(&batch);
            let mut state = self.0.state.lock();
            state.writing = false;
            state.gone |= !written;
            drop(state);
            self.0.changed.notify_all();
        }
    }

    fn write_all(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match self.write_now(bytes) {
                Ok(0) => {
                    let state = self.0.state.lock();
                    if state.gone
                        || state
                            .ending
                            .is_some_and(|(since, grace)| state.is_stalled(since, grace))
                    {
                        return false;
                    }
                    drop(state);
                    let ready = self
                        .0
                        .fd
                        .as_ref()
                        .map(|fd| is_writable(fd.as_fd(), Duration::from_millis(50)));
                    if ready.is_none_or(|ready| ready.is_err()) {
                        return false;
                    }
                }
                Ok(written) => {
                    bytes = &bytes[written..];
                    self.0.state.lock().taken = Some(Instant::now());
                }
                Err(_) => return false,
            }
        }
        true
    }
}

/// One system call for as much as the pipe takes. Linux has it for pipes since 6.4; elsewhere it is
/// an error.
#[cfg(target_os = "linux")]
fn write_without_waiting(fd: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    // Where the descriptor stands: a pipe has no other place.
    const HERE: u64 = u64::MAX;
    rustix::io::pwritev2(
        fd,
        &[std::io::IoSlice::new(bytes)],
        HERE,
        rustix::io::ReadWriteFlags::NOWAIT,
    )
}

#[cfg(not(target_os = "linux"))]
fn write_without_waiting(_: BorrowedFd<'_>, _: &[u8]) -> Result<usize, Errno> {
    Err(Errno::OPNOTSUPP)
}

fn is_writable(fd: BorrowedFd<'_>, timeout: Duration) -> Result<bool, Errno> {
    let mut fds = [PollFd::new(&fd, PollFlags::OUT)];
    let timeout = rustix::event::Timespec::try_from(timeout).unwrap_or_default();
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) if fds[0].revents().contains(PollFlags::ERR) => Err(Errno::PIPE),
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// With one system call or with two, a pipe that is full holds nobody up and loses nothing.
    #[test]
    fn what_a_pipe_does_not_take_at_once_follows_in_order() {
        for asks_first in [false, true] {
            let (mut reader, writer) = std::io::pipe().unwrap();
            let outbox = Outbox::new(writer.into(), || ()).unwrap();
            outbox.0.asks_first.store(asks_first, Ordering::Relaxed);
            let sent: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
            sent.chunks(100_000)
                .for_each(|part| outbox.send_framed(part));
            let mut read = vec![0; sent.len()];
            reader.read_exact(&mut read).unwrap();
            assert!(read == sent, "asks_first: {asks_first}");
        }
    }
}
