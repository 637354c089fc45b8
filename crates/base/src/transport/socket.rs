//! The host's socket: how other terminals, hooks' own commands and editors reach a running host.
//!
//! One socket a host, in a directory that only its user can enter: a program that can connect could
//! as well attach a debugger. The name contains a key of the project root, so that the hosts of a
//! project can be found.

pub use hookwire_ask::socket::{directory, key, path_beside};

use super::guests::{Guests, MAX_AGENTS};
use hookwire_ask::file::open_as;
use hookwire_ask::socket::{EXTENSION, connect};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::Result;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Connections that last, of a host that has a client of its own.
const MAX_GUESTS: usize = 32;
/// Connections beside them: those of hooks' own commands, which come and go, find a place whoever
/// stays.
const MAX_BRIEF_GUESTS: usize = 32;
/// How long those are.
const BRIEF: Duration = Duration::from_secs(5);
/// So many may wait to be let in, as far as the kernel allows so many.
const BACKLOG: i32 = 4096;
/// How long another one may take to start a host.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// A bound socket. Dropping it removes the file; connections stay.
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// How many connections may last.
    lasting: usize,
    guests: Arc<Guests>,
}

impl Socket {
    /// Binds the socket of this process for a project root.
    ///
    /// # Errors
    /// There is no directory that is the user's alone, or the path is too long for a socket.
    pub fn bind(root: &Path) -> Result<Socket> {
        let path = directory()?.join(format!("{}-{}.{EXTENSION}", key(root), std::process::id()));
        Ok(Socket::new(listen_at(&path)?, path, MAX_GUESTS))
    }

    /// Binds a socket for this user alone, for many agents. What is left there by a process that
    /// was killed is removed.
    ///
    /// # Errors
    /// The path can't be bound.
    pub fn bind_at(path: PathBuf) -> Result<Socket> {
        Ok(Socket::new(listen_at(&path)?, path, MAX_AGENTS))
    }

    /// Binds a socket that every user of the machine may reach. What is left there by a process that
    /// was killed is removed.
    ///
    /// # Errors
    /// The path can't be bound.
    pub fn bind_for_everybody(path: PathBuf) -> Result<Socket> {
        let listener = listen_at(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666))?;
        Ok(Socket::new(listener, path, MAX_AGENTS))
    }

    /// The socket that the process was given as its standard input, bound already.
    ///
    /// # Errors
    /// It is none.
    pub fn inherited(listener: OwnedFd, path: PathBuf) -> Result<Socket> {
        // From now on the kernel tells whoever connects that this process listens, and not the one
        // that has started it and may be gone: one that is gone is obeyed by nobody who holds
        // programs.
        rustix::net::listen(&listener, BACKLOG)?;
        Ok(Socket::new(listener.into(), path, MAX_AGENTS))
    }

    fn new(listener: UnixListener, path: PathBuf, lasting: usize) -> Socket {
        Socket {
            listener,
            path,
            lasting,
            guests: Guests::new(),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Serves each connection on a thread of its own, for as long as the process runs.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn serve(
        &self,
        serve: impl Fn(UnixStream) -> Result<()> + Send + Sync + 'static,
    ) -> Result<()> {
        let listener = self.listener.try_clone()?;
        let (serve, guests, lasting) = (Arc::new(serve), self.guests.clone(), self.lasting);
        let accept = move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    // Most likely there are no descriptors left: asking again at once would not
                    // help.
                    std::thread::sleep(Duration::from_millis(100));
                    continue;
                };
                let (place, before) = guests.enter();
                let is_over = before >= lasting + MAX_BRIEF_GUESTS;
                if is_over || before >= lasting && !ends_soon(&stream) {
                    tracing::warn!("A connection to the socket was refused: {before} are open.");
                    continue;
                }
                let serve = serve.clone();
                // Without a thread the place is free again at once.
                let _ = seat(place, stream, move |stream| serve(stream));
            }
        };
        std::thread::Builder::new()
            .name("socket".into())
            .spawn(accept)
            .map(drop)
    }

    /// Makes that nobody finds the socket any more; who has connected is served.
    ///
    /// # Errors
    /// Somebody is looking for it for so long that it can't be removed.
    pub fn retire(mut self) -> Result<Socket> {
        let _lock = lock(&self.path)?;
        std::fs::remove_file(std::mem::take(&mut self.path))?;
        Ok(self)
    }

    /// Returns once nobody has been connected for this long, or if it `is_over` with so many who
    /// are, which is looked at now and then.
    pub fn await_idle(&self, time: Duration, is_over: impl Fn(usize) -> bool) {
        self.guests.await_idle(time, is_over);
    }
}

/// Serves a connection on a thread of its own, which keeps its place.
///
/// # Errors
/// No thread could be started.
pub fn seat(
    place: impl Send + 'static,
    stream: UnixStream,
    serve: impl FnOnce(UnixStream) -> Result<()> + Send + 'static,
) -> Result<()> {
    let guest = move || {
        if let Err(error) = serve(stream) {
            tracing::debug!(%error, "A connection over the socket ended.");
        }
        drop(place);
    };
    std::thread::Builder::new()
        .name("guest".into())
        .spawn(guest)
        .map(drop)
}

/// Sees to it that a connection ends; says whether it will.
fn ends_soon(stream: &UnixStream) -> bool {
    let Ok(stream) = stream.try_clone() else {
        return false;
    };
    let end = move || {
        std::thread::sleep(BRIEF);
        let _ = stream.shutdown(Shutdown::Both);
    };
    std::thread::Builder::new()
        .name("brief-guest".into())
        .spawn(end)
        .is_ok()
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Nothing is there once it has been retired.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Binds a path for this user alone.
fn listen_at(path: &Path) -> Result<UnixListener> {
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to a shared socket; if nobody listens, `start` is given a listener for whom it starts.
/// Of many that come at once, one starts somebody; what is sent before that one listens waits in
/// the socket.
///
/// # Errors
/// Nobody listens, and nobody could be started.
pub fn connect_or_start(
    path: &Path,
    start: impl FnOnce(OwnedFd) -> Result<()>,
) -> Result<UnixStream> {
    if let Ok(stream) = connect(path) {
        return Ok(stream);
    }
    let _lock = lock(path)?;
    if let Ok(stream) = connect(path) {
        return Ok(stream);
    }
    start(listen_at(path)?.into())?;
    connect(path)
}

/// Held while a shared socket comes or goes.
fn lock(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    let file = open_as(&mut options, &path.with_extension("lock"))?;
    let until = Instant::now() + LOCK_PATIENCE;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            // Who holds it starts a process and no more.
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The sockets of other processes' hosts of these projects, by their [`key`]s, without a
/// connection.
///
/// # Errors
/// There is no directory that is the user's alone.
pub fn others(keys: &[String]) -> Result<Vec<PathBuf>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let own = format!("-{}", std::process::id());
    let is_own = |path: &PathBuf| {
        path.file_stem()
            .and_then(|it| it.to_str())
            .is_some_and(|it| it.ends_with(&own))
    };
    let mut paths = of_projects(keys)?;
    paths.retain(|path| !is_own(path));
    Ok(paths)
}

/// The sockets of the hosts of these projects, by their [`key`]s, or of all if there is none; in
/// order, without a connection.
///
/// # Errors
/// There is no directory that is the user's alone.
pub fn of_projects(keys: &[String]) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory()?)? {
        let path = entry?.path();
        let stem = path
            .file_stem()
            .and_then(|it| it.to_str())
            .unwrap_or_default();
        let is_of = |key: &String| {
            stem.strip_prefix(key.as_str())
                .is_some_and(|rest| rest.starts_with('-'))
        };
        if path.extension().is_some_and(|it| it == EXTENSION)
            && (keys.is_empty() || keys.iter().any(is_of))
        {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
