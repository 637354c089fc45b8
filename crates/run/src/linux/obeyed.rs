//! Which host is obeyed: the one that the run began with, and after it only one that proves to be
//! another of the same program for the same project.
//!
//! Whoever may write beside the socket may put another in its place, and the tree may. So nothing
//! is believed because of where it listens. The kernel says which process listens; that process
//! must be there, must not be held, and must be the one that is known, or run the known program
//! with the words that it has for this socket.

use super::host::Link;
use super::lookup::{self, FileKey};
use super::tree;
use crate::args::Options;
use hookwire_ask::peer::Peer;
use nix::sys::stat::lstat;
use std::ffi::OsString;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a host that has just been started may take until it listens itself.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(2);
/// The option by which a host is given the socket of its project.
const INHERIT: &[u8] = b"--inherit";

/// The host that is obeyed.
pub struct Obeyed {
    known: Mutex<Known>,
    /// The program that is a host, where the command that starts one says so: its path, and which
    /// file is there.
    program: Option<(PathBuf, FileKey)>,
}

/// The process that is the host.
struct Known {
    peer: Peer,
    file: Option<FileKey>,
    words: Option<Vec<Vec<u8>>>,
}

impl Obeyed {
    /// Connects to the host that a run begins with.
    ///
    /// # Errors
    /// Nobody answers there, or somebody who isn't obeyed.
    pub fn begin(options: &Options) -> Result<(Obeyed, Link)> {
        let program = options
            .host
            .first()
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        let program = program.and_then(|path| lookup::file_at(&path).map(|key| (path, key)));
        let until = Instant::now() + PATIENCE;
        loop {
            let (stream, peer) = open_socket(&options.socket)?;
            let is_host = is_free(&peer).and_then(|()| match &program {
                Some((_, key)) if !is_program(&peer, *key, &options.socket) => Err(not_the_host()),
                _ => Ok(()),
            });
            match is_host {
                Ok(()) => {
                    let obeyed = Obeyed {
                        known: Mutex::new(Known::from_peer(peer)),
                        program,
                    };
                    return Ok((obeyed, Link::over_stream(stream)?));
                }
                // Until it listens itself, the kernel names the process that has started it.
                Err(_) if Instant::now() < until && program.is_some() => std::thread::sleep(LOOK),
                Err(error) => return Err(error),
            }
        }
    }

    /// Connects to the host.
    ///
    /// # Errors
    /// Nobody answers there, or somebody who isn't obeyed.
    pub fn connect(&self, socket: &Path) -> Result<Link> {
        let (stream, peer) = open_socket(socket)?;
        is_free(&peer)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.is_peer(&peer) {
            let is_proven = match self.program() {
                Some(key) => is_program(&peer, key, socket),
                None => self.program.is_none() && known.is_same_again(&peer),
            };
            if !is_proven {
                return Err(not_the_host());
            }
            *known = Known::from_peer(peer);
        }
        drop(known);
        Link::over_stream(stream)
    }

    /// Whether the command that starts a host may be run: what the tree has put in its place would
    /// run unheld.
    pub fn may_start(&self, command: &[OsString]) -> bool {
        let is_known = command
            .first()
            .is_some_and(|command| Path::new(command).is_absolute());
        !is_known || self.program().is_some()
    }

    /// The process that is the host.
    pub fn process(&self) -> Peer {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .peer
            .clone()
    }

    /// The file of the known program, as long as it is the one that was there when the run began,
    /// or nobody but root can have put another there.
    fn program(&self) -> Option<FileKey> {
        let (path, key) = self.program.as_ref()?;
        lookup::file_at(path).filter(|now| now == key || is_beyond_reach(path))
    }
}

impl Known {
    fn from_peer(peer: Peer) -> Known {
        let (file, words) = (
            lookup::running_key(peer.pid).ok(),
            tree::process_arguments(peer.pid).ok(),
        );
        Known { peer, file, words }
    }

    /// Whether it is this process.
    fn is_peer(&self, peer: &Peer) -> bool {
        self.peer.pid == peer.pid && self.peer.is_there() && peer.is_there()
    }

    /// Whether another process runs the same program with the same words.
    fn is_same_again(&self, peer: &Peer) -> bool {
        let (file, words) = (
            lookup::running_key(peer.pid).ok(),
            tree::process_arguments(peer.pid).ok(),
        );
        file.is_some()
            && file == self.file
            && words.is_some()
            && words == self.words
            && peer.is_there()
    }
}

fn open_socket(socket: &Path) -> Result<(UnixStream, Peer)> {
    let stream = UnixStream::connect(socket)?;
    let peer = Peer::from_stream(&stream)?;
    Ok((stream, peer))
}

/// The socket must belong to a process of this user or of root, and not to one of the tree that is
/// held: a program of the tree could otherwise take the host's place and allow everything.
fn is_free(peer: &Peer) -> Result<()> {
    let own = nix::unistd::geteuid().as_raw();
    if peer.uid != own && peer.uid != 0 {
        return Err(denied_error(format!("the socket is user {}'s", peer.uid)));
    }
    if peer.is_held() {
        return Err(denied_error(
            "who listens there is itself held, or can't be looked at".into(),
        ));
    }
    Ok(())
}

/// Whether a process runs a program's file as the host of a socket.
fn is_program(peer: &Peer, key: FileKey, socket: &Path) -> bool {
    lookup::running_key(peer.pid) == Ok(key)
        && tree::process_arguments(peer.pid).is_ok_and(|words| {
            words
                .windows(2)
                .any(|it| it[0] == INHERIT && it[1] == socket.as_os_str().as_bytes())
        })
        && peer.is_there()
}

/// Whether only root can put something else at a path, where this process isn't root.
fn is_beyond_reach(path: &Path) -> bool {
    !nix::unistd::geteuid().is_root()
        && path
            .ancestors()
            .all(|path| lstat(path).is_ok_and(|it| it.st_uid == 0 && it.st_mode & 0o022 == 0))
}

fn not_the_host() -> Error {
    denied_error("who listens there isn't this project's host".into())
}

fn denied_error(why: String) -> Error {
    Error::new(ErrorKind::PermissionDenied, why)
}
