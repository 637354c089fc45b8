//! The file that a process would start, looked up as that process sees it: from its root, its directory, its open files.

use super::remote::Base;
use libc::pid_t;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, open, openat2, readlink};
use nix::sys::stat::{FileStat, Mode, fstat, stat};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Names a file for as long as it exists, and changes whenever its bytes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileKey {
    /// The device and the inode.
    pub inode: (u64, u64),
    /// Its size in bytes.
    pub size: u64,
    /// When it was last changed in any way, which no program can set.
    changed: (i64, i64),
}

impl FileKey {
    /// The key in what `stat` says.
    pub fn from_stat(stat: &FileStat) -> FileKey {
        FileKey {
            inode: (stat.st_dev, stat.st_ino),
            size: stat.st_size as u64,
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

/// A file that a program start names.
pub struct Seen {
    /// Refers to the file, but doesn't read it.
    pub file: OwnedFd,
    /// Which one it is.
    pub key: FileKey,
}

impl Seen {
    /// Where the file is, links resolved, as far as it can be told.
    pub fn real_path(&self) -> PathBuf {
        readlink(own_path(self.file.as_fd()).as_str()).map(PathBuf::from).unwrap_or_default()
    }
}

/// How one's own descriptor is opened again.
pub fn own_path(file: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// What the lookup has found.
pub enum Lookup {
    /// The file.
    Found(Seen),
    /// There is none; what the call fails with.
    Missing(Errno),
    /// It can't be told from outside, so only the look after tells.
    Unknown,
}

impl Lookup {
    /// The file, if there is one that could be told.
    pub fn found(self) -> Option<Seen> {
        match self {
            Lookup::Found(seen) => Some(seen),
            Lookup::Missing(_) | Lookup::Unknown => None,
        }
    }
}

/// Looks up a program's path as the thread would.
pub fn find(tid: pid_t, base: Base, path: &[u8]) -> Lookup {
    match open_as(tid, base, path) {
        Ok(file) => match fstat(&file) {
            Ok(stat) => Lookup::Found(Seen { file, key: FileKey::from_stat(&stat) }),
            Err(_) => Lookup::Unknown,
        },
        // In /proc, names such as `self` mean someone else to this process than to that one.
        Err(error @ (Errno::ENOENT | Errno::ENOTDIR)) if !path.starts_with(b"/proc/") => Lookup::Missing(error),
        Err(_) => Lookup::Unknown,
    }
}

fn open_as(tid: pid_t, base: Base, path: &[u8]) -> Result<OwnedFd, Errno> {
    if let Base::OpenFile(fd) = base {
        return open_of_process(tid, &format!("fd/{fd}"));
    }
    if let Some(link) = own_link(path) {
        return open_of_process(tid, &link);
    }
    let absolute = path.starts_with(b"/");
    let directory = match base {
        Base::Directory(fd) => format!("fd/{fd}"),
        Base::WorkingDirectory | Base::OpenFile(_) => "cwd".to_owned(),
    };
    if !absolute {
        let from = open_of_process(tid, &directory)?;
        match open_below(&from, path, ResolveFlag::RESOLVE_BENEATH) {
            // A link or `..` leads out of the directory, where only the process's own root tells what is meant.
            Err(Errno::EXDEV) => {}
            other => return other,
        }
    }
    let root = open_of_process(tid, "root")?;
    if absolute {
        return open_below(&root, path, ResolveFlag::RESOLVE_IN_ROOT);
    }
    let link = |name: &str| readlink(format!("/proc/{tid}/{name}").as_str()).map(PathBuf::from);
    let (directory, root_path) = (link(&directory)?, link("root")?);
    let inside = directory.strip_prefix(&root_path).map_err(|_| Errno::EXDEV)?;
    let joined = Path::new("/").join(inside).join(Path::new(std::ffi::OsStr::from_bytes(path)));
    open_below(&root, joined.as_os_str().as_bytes(), ResolveFlag::RESOLVE_IN_ROOT)
}

/// Below the process's directory in /proc, what a path means that only the process itself can follow.
fn own_link(path: &[u8]) -> Option<String> {
    let rest = path.strip_prefix(b"/proc/self/").or_else(|| path.strip_prefix(b"/proc/thread-self/"));
    let rest = rest.or_else(|| path.strip_prefix(b"/dev/").filter(|it| it.starts_with(b"fd/")))?;
    let number = rest.strip_prefix(b"fd/");
    let is_number = number.is_some_and(|it| !it.is_empty() && it.iter().all(u8::is_ascii_digit));
    (rest == b"exe" || is_number).then(|| String::from_utf8_lossy(rest).into_owned())
}

fn open_of_process(tid: pid_t, name: &str) -> Result<OwnedFd, Errno> {
    open(format!("/proc/{tid}/{name}").as_str(), OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())
}

fn open_below(directory: &OwnedFd, path: &[u8], how: ResolveFlag) -> Result<OwnedFd, Errno> {
    openat2(directory, path, OpenHow::new().flags(OFlag::O_PATH | OFlag::O_CLOEXEC).resolve(how))
}

/// Which file is at a path.
pub fn at(path: &Path) -> Option<FileKey> {
    stat(path).ok().map(|stat| FileKey::from_stat(&stat))
}

/// Which file a process runs.
pub fn running(pid: pid_t) -> Option<FileKey> {
    stat(format!("/proc/{pid}/exe").as_str()).ok().map(|stat| FileKey::from_stat(&stat))
}

/// The file that a process runs.
pub fn running_file(pid: pid_t) -> Option<Seen> {
    let file = open_of_process(pid, "exe").ok()?;
    let key = FileKey::from_stat(&fstat(&file).ok()?);
    Some(Seen { file, key })
}

/// The working directory of a process.
pub fn working_directory(pid: pid_t) -> Option<PathBuf> {
    readlink(format!("/proc/{pid}/cwd").as_str()).ok().map(PathBuf::from)
}

/// What is known of a path itself, not of what it links to.
pub fn lstat(path: &Path) -> Option<FileStat> {
    nix::sys::stat::fstatat(nix::fcntl::AT_FDCWD, path, AtFlags::AT_SYMLINK_NOFOLLOW).ok()
}
