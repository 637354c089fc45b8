//! Looks at paths that never wait: the kernel answers from its memory of names, or not at all. A
//! disk that hangs, a server that is gone or a file system in a program of its own can't keep
//! whoever looks, because the kernel asks none of them. Where it has no answer, nor an old kernel
//! the call, somebody with more time has to look.

use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// As in Linux: NAME_MAX.
pub(super) const MAX_NAME: usize = 255;

/// Names that the kernel gives another meaning for each process.
const MAGIC: [&str; 2] = ["proc", "dev"];

/// Whether it is certain that no link takes part in an absolute path, as far as it exists.
pub(super) fn is_straight(path: &Path) -> bool {
    let goes_up = path.components().any(|it| it == Component::ParentDir);
    let mut names = path.components().map(Component::as_os_str).skip(1);
    let may_be_magic = if goes_up {
        names.clone().any(is_magic)
    } else {
        names.clone().next().is_some_and(is_magic)
    };
    if may_be_magic || names.any(|name| name.len() > MAX_NAME) {
        return false;
    }
    let mut known = path;
    loop {
        match name(known, Links::None) {
            Ok(_) => return true,
            // Below a name that doesn't exist nothing does, but what `..` leads to may.
            Err(Errno::NOENT) if known.file_name().is_some() => match known.parent() {
                Some(parent) => known = parent,
                None => return false,
            },
            Err(_) => return false,
        }
    }
}

fn is_magic(name: &OsStr) -> bool {
    MAGIC.iter().any(|magic| name == *magic)
}

/// Where a directory is.
pub(super) enum Place {
    /// Where its path says.
    Straight,
    /// Where links lead.
    Linked(PathBuf),
    Nowhere,
}

/// Where a directory is, if the kernel says so at once.
pub(super) fn place(path: &Path) -> Option<Place> {
    match name(path, Links::None) {
        Ok(_) => Some(Place::Straight),
        Err(Errno::NOENT) => Some(Place::Nowhere),
        Err(Errno::LOOP) => {
            let there = name(path, Links::Plain).ok()?;
            path_of(&there).map(Place::Linked)
        }
        Err(_) => None,
    }
}

/// Whether a path leads to a directory.
pub(super) fn is_directory(path: &Path) -> Option<bool> {
    match name(path, Links::All) {
        Ok(there) => is_of_directory(&there),
        Err(Errno::NOENT) => Some(false),
        Err(_) => None,
    }
}

/// Which links may take part.
enum Links {
    None,
    /// Those whose text says where they lead.
    Plain,
    All,
}

/// Names a file, without opening it: neither a pipe nor a device notices.
#[cfg(target_os = "linux")]
fn name(path: &Path, links: Links) -> Result<OwnedFd, Errno> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    let links = match links {
        Links::None => ResolveFlags::NO_SYMLINKS,
        Links::Plain => ResolveFlags::NO_MAGICLINKS,
        Links::All => ResolveFlags::empty(),
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(
        CWD,
        path,
        flags,
        Mode::empty(),
        ResolveFlags::CACHED | links,
    )
}

/// Whether what was found is a directory. What a server would have to be asked for isn't.
#[cfg(target_os = "linux")]
fn is_of_directory(found: &OwnedFd) -> Option<bool> {
    use rustix::fs::{AtFlags, FileType, StatxFlags, statx};
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let about = statx(found, "", flags, StatxFlags::TYPE).ok()?;
    Some(FileType::from_raw_mode(about.stx_mode.into()).is_dir())
}

#[cfg(not(target_os = "linux"))]
fn is_of_directory(_: &OwnedFd) -> Option<bool> {
    None
}

/// Only Linux tells whether it would have to wait.
#[cfg(not(target_os = "linux"))]
fn name(_: &Path, _: Links) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// The path of what was found, as the kernel says it.
fn path_of(found: &OwnedFd) -> Option<PathBuf> {
    let link = format!("/proc/self/fd/{}", found.as_raw_fd());
    let path = rustix::fs::readlink(link, Vec::new()).ok()?.into_bytes();
    // It says ` (deleted)` behind the path of what is gone, and no slash before one that nobody
    // reaches.
    let is_told = path.starts_with(b"/") && !path.ends_with(b" (deleted)");
    is_told.then(|| OsString::from_vec(path).into())
}
