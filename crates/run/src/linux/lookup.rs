//! The file that a process would start, looked up as that process sees it: from its root, its
//! directory, its open files.

use super::remote::Base;
use hookwire_ask::look::Look;
use libc::pid_t;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat, openat2, readlink, readlinkat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, lstat, stat};
use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// The number that the kernel gives to the root of each /proc.
const PROC_ROOT_INO: u64 = 1;
/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// Names a file for as long as it exists, and changes with its name, its rights and its size. With
/// its bytes it changes only if they are written by a call: what a process writes into memory that
/// it shares with the file shows at no certain time.
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
    /// It holds bytes, and is no directory or device.
    pub is_regular: bool,
}

impl Seen {
    fn new(file: OwnedFd) -> Result<Seen, Errno> {
        let stat = fstat(&file)?;
        Ok(Seen {
            file,
            key: FileKey::from_stat(&stat),
            is_regular: is_regular(&stat),
        })
    }

    /// Where the file is, links resolved.
    ///
    /// # Errors
    /// It couldn't be looked.
    pub fn real_path(&self) -> Result<PathBuf, Errno> {
        readlink(own_path(self.file.as_fd()).as_str()).map(PathBuf::from)
    }
}

/// Whether something holds bytes, and is no directory or device.
pub fn is_regular(stat: &FileStat) -> bool {
    stat.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFREG.bits()
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
    /// It couldn't be looked.
    Failed(Errno),
}

/// Looks up a program's path as the thread would.
pub fn look_up(tid: pid_t, base: Base, path: &[u8]) -> Lookup {
    let error = match open_as(tid, base, path).and_then(Seen::new) {
        Ok(seen) => return Lookup::Found(seen),
        Err(error) => error,
    };
    match look_of_answer(Err::<(), _>(error)) {
        Look::Nothing => Lookup::Missing(error),
        // The process may have other rights, and other links that lead each process elsewhere.
        _ if matches!(
            error,
            Errno::EACCES | Errno::EPERM | Errno::EXDEV | Errno::EAGAIN
        ) =>
        {
            Lookup::Unknown
        }
        _ => Lookup::Failed(error),
    }
}

/// What an answer of the kernel says, by the one table.
pub fn look_of_answer<T>(answer: Result<T, Errno>) -> Look<T> {
    Look::of_io(answer.map_err(std::io::Error::from))
}

fn open_as(tid: pid_t, base: Base, path: &[u8]) -> Result<OwnedFd, Errno> {
    if let Base::OpenFile(fd) = base {
        return open_of_process(tid, &format!("fd/{fd}"));
    }
    let is_own = path.starts_with(b"/proc/") || path.windows(4).any(|it| it == b"/fd/");
    match if is_own {
        Err(Errno::EXDEV)
    } else {
        open_plain(tid, base, path)
    } {
        // Some links in /proc mean something else to this process, and others aren't text.
        Err(Errno::EXDEV) => walk_path(tid, base, path),
        other => other,
    }
}

/// Where a path starts from, if it isn't absolute.
fn start_of(base: Base) -> String {
    match base {
        Base::Directory(fd) => format!("fd/{fd}"),
        Base::WorkingDirectory | Base::OpenFile(_) => "cwd".to_owned(),
    }
}

/// By one call of the kernel, which follows no link of /proc that isn't text.
fn open_plain(tid: pid_t, base: Base, path: &[u8]) -> Result<OwnedFd, Errno> {
    if path.starts_with(b"/") {
        return open_below(
            &open_of_process(tid, "root")?,
            path,
            ResolveFlag::RESOLVE_IN_ROOT,
        );
    }
    let directory = start_of(base);
    let from = open_of_process(tid, &directory)?;
    match open_below(&from, path, ResolveFlag::RESOLVE_BENEATH) {
        // A link or `..` leads out of the directory, where only the process's own root tells what
        // is meant.
        Err(Errno::EXDEV) => {}
        other => return other,
    }
    let link = |name: &str| readlink(format!("/proc/{tid}/{name}").as_str()).map(PathBuf::from);
    let (directory, root) = (link(&directory)?, link("root")?);
    let inside = directory.strip_prefix(&root).map_err(|_| Errno::EXDEV)?;
    let joined = Path::new("/")
        .join(inside)
        .join(Path::new(std::ffi::OsStr::from_bytes(path)));
    open_below(
        &open_of_process(tid, "root")?,
        joined.as_os_str().as_bytes(),
        ResolveFlag::RESOLVE_IN_ROOT,
    )
}

/// Step by step, where `self` in /proc is the process that asks.
fn walk_path(tid: pid_t, base: Base, path: &[u8]) -> Result<OwnedFd, Errno> {
    let steps = |path: &[u8]| {
        path.split(|byte| *byte == b'/')
            .rev()
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    };
    let root = || open_of_process(tid, "root");
    let top = fstat(root()?)?;
    let process = super::tree::process_of(tid).ok_or(Errno::ESRCH)?;
    let mut at = if path.starts_with(b"/") {
        root()?
    } else {
        open_of_process(tid, &start_of(base))?
    };
    let (mut pending, mut n_links) = (steps(path), 0);
    while let Some(name) = pending.pop() {
        if matches!(&*name, b"" | b".") {
            continue;
        }
        let here = fstat(&at)?;
        if &*name == b".." {
            if (here.st_dev, here.st_ino) != (top.st_dev, top.st_ino) {
                at = step_into(&at, &name, OFlag::empty())?;
            }
            continue;
        }
        let next = step_into(&at, &name, OFlag::O_NOFOLLOW)?;
        if fstat(&next)?.st_mode & SFlag::S_IFMT.bits() != SFlag::S_IFLNK.bits() {
            at = next;
            continue;
        }
        n_links += 1;
        if n_links > MAX_LINKS {
            return Err(Errno::ELOOP);
        }
        let is_proc = fstatfs(&at)?.filesystem_type() == PROC_SUPER_MAGIC;
        at = match (is_proc, here.st_ino == PROC_ROOT_INO, &*name) {
            (true, true, b"self") => open_of_process(process, "")?,
            (true, true, b"thread-self") => open_of_process(process, &format!("task/{tid}"))?,
            (true, false, _) => step_into(&at, &name, OFlag::empty())?,
            _ => {
                let target = readlinkat(&next, "")?;
                pending.extend(steps(target.as_bytes()));
                if target.as_bytes().starts_with(b"/") {
                    root()?
                } else {
                    at
                }
            }
        };
    }
    Ok(at)
}

fn step_into(at: &OwnedFd, name: &[u8], how: OFlag) -> Result<OwnedFd, Errno> {
    openat(
        at,
        name,
        OFlag::O_PATH | OFlag::O_CLOEXEC | how,
        Mode::empty(),
    )
}

fn open_of_process(tid: pid_t, name: &str) -> Result<OwnedFd, Errno> {
    open(
        format!("/proc/{tid}/{name}").as_str(),
        OFlag::O_PATH | OFlag::O_CLOEXEC,
        Mode::empty(),
    )
}

fn open_below(directory: &OwnedFd, path: &[u8], how: ResolveFlag) -> Result<OwnedFd, Errno> {
    openat2(
        directory,
        path,
        OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
            .resolve(how),
    )
}

/// What was found in a directory of PATH; nothing in one that this process may not search.
///
/// # Errors
/// It couldn't be looked.
pub fn on_path<T>(answer: Result<T, Errno>) -> Result<Option<T>, Errno> {
    look_of_answer(answer)
        .or_closed()
        .known()
        .map_err(|error| Errno::from_raw(error.raw_os_error()))
}

/// Which file is at a path.
pub fn file_at(path: &Path) -> Option<FileKey> {
    stat(path).ok().map(|stat| FileKey::from_stat(&stat))
}

/// Which file a process runs.
///
/// # Errors
/// It couldn't be looked.
pub fn running_key(pid: pid_t) -> Result<FileKey, Errno> {
    stat(format!("/proc/{pid}/exe").as_str()).map(|stat| FileKey::from_stat(&stat))
}

/// The file that a process runs.
///
/// # Errors
/// It couldn't be looked.
pub fn running_file(pid: pid_t) -> Result<Seen, Errno> {
    open_of_process(pid, "exe").and_then(Seen::new)
}

/// The working directory of a process or a thread.
///
/// # Errors
/// It couldn't be looked.
pub fn working_directory(pid: pid_t) -> Result<Seen, Errno> {
    open_of_process(pid, "cwd").and_then(Seen::new)
}

/// What leads from a path to a file, by when it was last changed.
#[derive(Default)]
pub struct Chain {
    /// Each link, and the file itself.
    pub files: Vec<Duration>,
    /// Each directory, and the one that it is in: one that was moved has changed both.
    pub directories: Vec<(Duration, Duration)>,
}

/// What leads from a path to a file. None if it leads to another one, or it can't be told.
pub fn link_chain(path: &Path, to: FileKey) -> Option<Chain> {
    let mut chain = Chain::default();
    let mut at = PathBuf::from("/");
    let mut pending: Vec<PathBuf> = path_names(path);
    let mut last = None;
    while let Some(name) = pending.pop() {
        if name.as_os_str() == ".." {
            at.pop();
            continue;
        }
        let above = lstat(&at).ok()?;
        at.push(name);
        let about = lstat(&at).ok()?;
        let kind = about.st_mode & SFlag::S_IFMT.bits();
        if kind == SFlag::S_IFLNK.bits() {
            chain.files.push(change_time(&about));
            if chain.files.len() > MAX_LINKS {
                return None;
            }
            let target = PathBuf::from(readlink(&at).ok()?);
            at.pop();
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            pending.extend(path_names(&target));
        } else if kind == SFlag::S_IFDIR.bits() {
            chain
                .directories
                .push((change_time(&about), change_time(&above)));
        }
        last = Some(about);
    }
    let last = last.filter(|it| FileKey::from_stat(it) == to)?;
    chain.files.push(change_time(&last));
    Some(chain)
}

/// The names of a path, the last one first.
fn path_names(path: &Path) -> Vec<PathBuf> {
    let parts = path
        .components()
        .filter(|component| matches!(component, Component::Normal(_) | Component::ParentDir));
    parts
        .rev()
        .map(|part| PathBuf::from(part.as_os_str()))
        .collect()
}

fn change_time(about: &FileStat) -> Duration {
    Duration::new(
        about.st_ctime.max(0) as u64,
        about.st_ctime_nsec.clamp(0, 999_999_999) as u32,
    )
}
