//! The server: a process of this one's own, or one at an address.

use super::carrier::Carrier;
use hookwire_base::transport::outbox::Outbox;
use hookwire_gateway::Side;
use parking_lot::{Condvar, Mutex};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

/// How long what a server has written last may take to be read once the server has ended, where
/// programs that it has started keep its stdout open.
const LINGER: Duration = Duration::from_millis(300);
/// How long what the client has sent last may take to reach the server.
const FLUSH: Duration = Duration::from_secs(2);

/// A server that runs.
pub(super) struct Server {
    stream: UnixStream,
    outbox: Mutex<Option<Outbox>>,
    /// Nothing if it is at an address.
    process: Option<u32>,
    ended: Arc<Mutex<Option<ExitStatus>>>,
    /// All that it has sent was read.
    read: Arc<(Mutex<bool>, Condvar)>,
}

impl Server {
    /// Starts it, and says when it has ended. Its stderr is this process's.
    pub(super) fn start(
        words: &[OsString],
        done: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<Server> {
        // Servers know sockets as stdin: clients in Node give them no other.
        let (stream, theirs) = UnixStream::pair()?;
        let (program, arguments) = words
            .split_first()
            .ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(OwnedFd::from(theirs.try_clone()?))
            .stdout(OwnedFd::from(theirs))
            .spawn()?;
        let (process, ended) = (Some(child.id()), Arc::new(Mutex::new(None)));
        let (told, reading) = (ended.clone(), stream.try_clone()?);
        std::thread::Builder::new()
            .name("wait".into())
            .spawn(move || {
                let status = child.wait();
                *told.lock() = status.ok();
                done();
                std::thread::sleep(LINGER);
                let _ = reading.shutdown(Shutdown::Read);
            })?;
        Ok(Server {
            stream,
            outbox: Mutex::new(None),
            process,
            ended,
            read: Arc::default(),
        })
    }

    /// One that is reached by its address, over a stream that this gives to `carry`.
    #[cfg(feature = "mcp")]
    pub(super) fn far(
        carry: impl FnOnce(UnixStream, Box<dyn FnOnce() + Send>) -> std::io::Result<()>,
        done: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<Server> {
        let (stream, theirs) = UnixStream::pair()?;
        let ended: Arc<Mutex<Option<ExitStatus>>> = Arc::default();
        let told = ended.clone();
        let end = move || {
            *told.lock() = Some(ExitStatus::default());
            done();
        };
        carry(theirs, Box::new(end))?;
        Ok(Server {
            stream,
            outbox: Mutex::new(None),
            process: None,
            ended,
            read: Arc::default(),
        })
    }

    /// The way to it.
    pub(super) fn outbox(&self) -> std::io::Result<Outbox> {
        let outbox = Outbox::new(self.stream.try_clone()?.into(), || {})?;
        *self.outbox.lock() = Some(outbox.clone());
        Ok(outbox)
    }

    /// Carries what it sends, and says when it sends no more.
    pub(super) fn read_in_thread(
        &self,
        carrier: &Arc<Carrier>,
        max_message: usize,
        done: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        let (carrier, stream) = (carrier.clone(), self.stream.try_clone()?);
        let read = self.read.clone();
        std::thread::Builder::new()
            .name("server".into())
            .spawn(move || {
                carrier.carry(Side::Server, stream.as_fd(), max_message);
                *read.0.lock() = true;
                read.1.notify_all();
                done();
            })
            .map(drop)
    }

    /// Ends its input, as a client does that has no more to say.
    pub(super) fn finish_input(&self) {
        if let Some(outbox) = &*self.outbox.lock() {
            outbox.flush(FLUSH);
        }
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Waits until what it has sent last was read.
    pub(super) fn await_rest(&self) {
        let mut is_read = self.read.0.lock();
        if !*is_read {
            self.read.1.wait_for(&mut is_read, FLUSH);
        }
    }

    /// How it has ended, if it has.
    pub(super) fn ended(&self) -> Option<ExitStatus> {
        *self.ended.lock()
    }

    /// Tells it to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends it.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        // A process that has ended was waited for, and its number may be another's.
        let ended = self.ended.lock();
        let Some(process) = self.process else {
            if ended.is_none() {
                let _ = self.stream.shutdown(Shutdown::Both);
            }
            return;
        };
        let process = i32::try_from(process).ok().and_then(Pid::from_raw);
        if let Some(process) = process.filter(|_| ended.is_none()) {
            let _ = kill_process(process, signal);
        }
    }
}
