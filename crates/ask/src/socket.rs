//! Where the sockets of hosts are, and a connection to one that is the user's own.

#[cfg(target_os = "linux")]
use crate::peer::user_of_peer;
use crate::{hex, places};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

/// How long a host may take no connections.
#[cfg(target_os = "linux")]
const BUSY: Duration = Duration::from_secs(2);

/// Where every user of the machine may ask, and nowhere else: the one host of another user that is
/// obeyed.
pub const EVERYBODYS: &str = "/run/hookwire/ask.sock";

/// What the files of sockets end in.
pub const EXTENSION: &str = "sock";

/// The socket that all callers of a project share, by the `variant` of host that they want.
///
/// # Errors
/// There is no directory that is the user's alone.
pub fn shared_path(root: &Path, variant: &str) -> Result<PathBuf> {
    path_beside(root, &format!("{variant}.{EXTENSION}"))
}

/// A file beside the sockets, for this user alone.
///
/// # Errors
/// There is no directory that is the user's alone.
pub fn path_beside(root: &Path, name: &str) -> Result<PathBuf> {
    Ok(directory()?.join(format!("{}-{name}", key(root))))
}

/// What names a project root in the names of sockets.
pub fn key(root: &Path) -> String {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let hash = Sha256::digest(root.as_os_str().as_encoded_bytes());
    hex(&hash[..8])
}

/// `$XDG_RUNTIME_DIR/hookwire`, else a directory of the user's own under the temporary directory.
///
/// # Errors
/// It can't be made, or isn't the user's alone.
pub fn directory() -> Result<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let path = places::runtime();
    match rustix::fs::mkdir(&path, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    // Another user may have made it first: it must be a directory, ours, and closed to others.
    let directory = rustix::fs::open(
        &path,
        OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let stat = rustix::fs::fstat(&directory)?;
    if stat.st_uid != user || Mode::from_raw_mode(stat.st_mode).intersects(Mode::RWXG | Mode::RWXO)
    {
        let problem = format!(
            "{}: is not a directory of this user's alone",
            path.display()
        );
        return Err(Error::new(ErrorKind::PermissionDenied, problem));
    }
    Ok(path)
}

/// The path of `unix:PATH`, by which a command line names a host.
///
/// # Errors
/// It is something else; says what to write.
pub fn parse_address(text: &str) -> std::result::Result<PathBuf, String> {
    let path = text
        .strip_prefix("unix:")
        .map(Path::new)
        .filter(|path| path.is_absolute());
    path.map(Path::to_path_buf)
        .ok_or_else(|| "write `unix:` and the absolute path of a host's socket".into())
}

/// Connects to a socket on which a process of this user listens, or to the one of the machine's.
///
/// # Errors
/// Nobody listens, or somebody else does.
pub fn connect(path: &Path) -> Result<UnixStream> {
    let stream = open_at_once(path)?;
    #[cfg(target_os = "linux")]
    {
        let listens = user_of_peer(&stream)?;
        let is_trusted = match path == Path::new(EVERYBODYS) {
            true => is_machines(path, listens)?,
            false => listens == rustix::process::getuid().as_raw(),
        };
        if !is_trusted {
            let problem = format!("{}: another user listens there", path.display());
            return Err(Error::new(ErrorKind::PermissionDenied, problem));
        }
    }
    Ok(stream)
}

/// Whether the one who listens at the machine's socket may: its directory is that user's, and
/// nobody else writes there. Whose `/run` is, is the machine's matter. In a user namespace both are
/// nobody's, and so alike.
#[cfg(target_os = "linux")]
fn is_machines(path: &Path, listens: u32) -> Result<bool> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let about = rustix::fs::lstat(directory)?;
    let is_directory = rustix::fs::FileType::from_raw_mode(about.st_mode).is_dir();
    let is_open = Mode::from_raw_mode(about.st_mode).intersects(Mode::WGRP | Mode::WOTH);
    Ok(is_directory && !is_open && about.st_uid == listens)
}

/// Connects without waiting for a process that takes no connections because it is stopped.
#[cfg(target_os = "linux")]
fn open_at_once(path: &Path) -> Result<UnixStream> {
    use rustix::net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
    };
    let address = SocketAddrUnix::new(path)?;
    let until = Instant::now() + BUSY;
    loop {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        match connect(&socket, &address) {
            Ok(()) => {
                let stream = UnixStream::from(socket);
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            // More wait already than its queue holds.
            Err(Errno::AGAIN) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(10))
            }
            Err(Errno::AGAIN) => return Err(Error::other("the host takes no connections")),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn open_at_once(path: &Path) -> Result<UnixStream> {
    UnixStream::connect(path)
}
