//! The programs that rules name, known by their names and by what their files are.
//!
//! A name says little: a link, a copy or a file in memory runs the same program under any name. So the files of the
//! named programs are found along the PATH, and a file is such a program if it is the same file, or has the same size
//! and the same bytes.

use super::lookup::{self, FileKey, Seen, own_path};
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, SFlag, stat};
use nix::sys::uio::pread;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How many files are remembered.
const MAX_REMEMBERED: usize = 4096;
/// How much of a script the kernel reads to find its interpreter.
const MAX_SCRIPT_LINE: usize = 256;
/// Programs that run the program which they are given, by the kernel's own rules for dynamic linking.
const LOADERS: &[&str] = &[
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-linux-armhf.so.3",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

/// What rules name, as the host has said it.
pub struct Snapshot {
    /// Whether every program is named.
    pub every: bool,
    names: BTreeSet<Vec<u8>>,
    files: OnceLock<Mutex<Files>>,
}

/// The file of a program.
#[derive(Clone, Debug)]
pub struct ProgramFile {
    /// Which one it is.
    pub key: FileKey,
    /// What it is.
    pub kind: Kind,
    /// Where it is, links resolved, as far as it can be told.
    pub real_path: PathBuf,
}

/// What a file is, for somebody who starts it.
#[derive(Clone, Debug, Default)]
pub struct Kind {
    /// The named program that it is, by where that one was found.
    pub named: Option<Named>,
    /// It is a script.
    pub script: Option<Arc<ScriptLine>>,
    /// It is a dynamic loader.
    pub is_loader: bool,
}

/// A named program that a file is.
#[derive(Clone, Debug)]
pub struct Named {
    /// Where it was found.
    pub path: Arc<Path>,
    /// It is the file that the name there links to, and so the program itself.
    is_target: bool,
}

/// The first line of a script.
#[derive(Debug, PartialEq, Eq)]
pub struct ScriptLine {
    /// The interpreter's path.
    pub interpreter: Vec<u8>,
    /// What stands behind it, as one argument.
    pub argument: Option<Vec<u8>>,
}

#[derive(Default)]
struct Files {
    /// The directories of PATH, with their times of change.
    directories: Vec<(PathBuf, Option<(i64, i64)>)>,
    by_inode: HashMap<(u64, u64), Arc<Path>>,
    by_size: HashMap<u64, Vec<Arc<Path>>>,
    loaders: HashSet<(u64, u64)>,
    loaders_by_size: HashMap<u64, Vec<Arc<Path>>>,
    remembered: HashMap<FileKey, Kind>,
}

impl Snapshot {
    /// A snapshot of which no file has been looked for yet.
    pub fn new(every: bool, names: impl Iterator<Item = String>) -> Snapshot {
        Snapshot { every, names: names.map(String::into_bytes).collect(), files: OnceLock::new() }
    }

    /// Whether nothing is named, so that nothing needs to be judged.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.every
    }

    /// Whether a name, without its directory, is that of a program which a rule names.
    pub fn has_name(&self, name: &[u8]) -> bool {
        self.names.contains(name)
    }

    /// A file with what it is.
    pub fn look_at(&self, seen: &Seen) -> ProgramFile {
        let kind = if self.is_empty() { Kind::default() } else { self.kind(seen.file.as_fd(), seen.key) };
        let real_path = if self.is_empty() { PathBuf::new() } else { seen.real_path() };
        ProgramFile { key: seen.key, kind, real_path }
    }

    fn kind(&self, file: BorrowedFd<'_>, key: FileKey) -> Kind {
        let mut files = self.files();
        if let Some(kind) = files.remembered.get(&key) {
            return kind.clone();
        }
        // A program may have been installed since; the files that are known already were looked at before it was.
        if files.directories.iter().any(|(path, changed)| changed_at(path) != *changed) {
            *files = self.find_files();
        }
        let inode = files.by_inode.get(&key.inode).cloned();
        let is_loader = files.loaders.contains(&key.inode);
        let (alike, alike_loaders) = (files.alike(key.size), files.alike_loaders(key.size));
        drop(files);
        let kind = examine(file, key, inode, is_loader, &alike, &alike_loaders);
        let mut files = self.files();
        if files.remembered.len() >= MAX_REMEMBERED {
            files.remembered.clear();
        }
        files.remembered.insert(key, kind.clone());
        kind
    }

    /// Whether a name was a file's own along the PATH before `since`, as `ls` is busybox's where `rm` is, too. Then the
    /// program goes by the name, and that it shares a file with a named one says nothing.
    pub fn is_own_name(&self, name: &[u8], file: &ProgramFile, since: Duration) -> bool {
        let is_named = file.kind.named.as_ref().is_some_and(|it| it.is_target);
        // `python3.11` is what `python3` links to, by whatever name it is started.
        if name.is_empty() || is_named && base_name(file.real_path.as_os_str().as_bytes()) == name {
            return false;
        }
        let name = Path::new(std::ffi::OsStr::from_bytes(name));
        let paths: Vec<PathBuf> = self.files().directories.iter().map(|(path, _)| path.join(name)).collect();
        paths.iter().any(|path| {
            let is_old = lookup::lstat(path).is_some_and(|it| {
                let changed = Duration::new(it.st_ctime.max(0) as u64, it.st_ctime_nsec.clamp(0, 999_999_999) as u32);
                changed < since
            });
            is_old && lookup::at(path) == Some(file.key)
        })
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        let files = self.files.get_or_init(|| Mutex::new(self.find_files()));
        files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the files of the named programs, along the PATH that the command was started with.
    fn find_files(&self) -> Files {
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let mut files = Files::default();
        for directory in std::env::split_paths(&path).filter(|it| it.is_absolute()) {
            for name in &self.names {
                files.add(directory.join(std::ffi::OsStr::from_bytes(name)));
            }
            let changed = changed_at(&directory);
            files.directories.push((directory, changed));
        }
        for loader in LOADERS {
            if let Ok(stat) = stat(*loader) {
                files.loaders.insert((stat.st_dev, stat.st_ino));
                files.loaders_by_size.entry(stat.st_size as u64).or_default().push(Path::new(loader).into());
            }
        }
        files
    }
}

impl Files {
    fn add(&mut self, path: PathBuf) {
        let Ok(stat) = stat(&path) else { return };
        let is_program = stat.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFREG.bits() && stat.st_mode & 0o111 != 0;
        if !is_program {
            return;
        }
        let path: Arc<Path> = path.into();
        // The first one along the PATH gives the name.
        self.by_inode.entry((stat.st_dev, stat.st_ino)).or_insert_with(|| path.clone());
        self.by_size.entry(stat.st_size as u64).or_default().push(path);
    }

    fn alike(&self, size: u64) -> Vec<Arc<Path>> {
        self.by_size.get(&size).cloned().unwrap_or_default()
    }

    fn alike_loaders(&self, size: u64) -> Vec<Arc<Path>> {
        self.loaders_by_size.get(&size).cloned().unwrap_or_default()
    }
}

/// Looks into a file.
fn examine(
    file: BorrowedFd<'_>,
    key: FileKey,
    inode: Option<Arc<Path>>,
    is_loader: bool,
    alike: &[Arc<Path>],
    alike_loaders: &[Arc<Path>],
) -> Kind {
    let mut kind = Kind { named: None, script: None, is_loader };
    kind.named = inode.map(|path| Named { is_target: path.is_symlink(), path });
    let regular =
        nix::sys::stat::fstat(file).is_ok_and(|it| it.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFREG.bits());
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    // A file that may be started and not read can't be copied either, so nobody has its bytes elsewhere.
    let Some(file) = regular.then(|| open(own_path(file).as_str(), flags, Mode::empty()).ok()).flatten() else {
        return kind;
    };
    let mut start = [0; MAX_SCRIPT_LINE];
    let n = pread(&file, &mut start, 0).unwrap_or(0);
    kind.script = script_line(&start[..n]).map(Arc::new);
    let same_as = |others: &[Arc<Path>]| others.iter().find(|it| has_same_bytes(&file, it, key.size)).cloned();
    if kind.named.is_none() {
        kind.named = same_as(alike).map(|path| Named { path, is_target: false });
    }
    kind.is_loader = is_loader || same_as(alike_loaders).is_some();
    kind
}

fn has_same_bytes(file: &OwnedFd, other: &Path, size: u64) -> bool {
    let open_other = File::open(other).ok().filter(|it| it.metadata().is_ok_and(|it| it.size() == size));
    let (Some(other), Ok(file)) = (open_other, file.try_clone()) else { return false };
    let mut file = File::from(file);
    if std::io::Seek::rewind(&mut file).is_err() {
        return false;
    }
    let (mut one, mut two) = (BufReader::with_capacity(1 << 16, file), BufReader::with_capacity(1 << 16, other));
    let (mut a, mut b) = ([0; 1 << 14], [0; 1 << 14]);
    let mut left = size;
    while left > 0 {
        let n = left.min(a.len() as u64) as usize;
        if one.read_exact(&mut a[..n]).is_err() || two.read_exact(&mut b[..n]).is_err() || a[..n] != b[..n] {
            return false;
        }
        left -= n as u64;
    }
    true
}

/// Reads `#!interpreter argument`, as the kernel does.
fn script_line(start: &[u8]) -> Option<ScriptLine> {
    let line = start.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n' || *byte == 0).next()?;
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let from = line.iter().position(|byte| !is_blank(byte))?;
    let to = line.iter().rposition(|byte| !is_blank(byte))?;
    let line = &line[from..=to];
    let end = line.iter().position(is_blank).unwrap_or(line.len());
    let argument = line[end..].iter().position(|byte| !is_blank(byte)).map(|at| line[end + at..].to_vec());
    Some(ScriptLine { interpreter: line[..end].to_vec(), argument })
}

fn changed_at(path: &Path) -> Option<(i64, i64)> {
    stat(path).ok().map(|it| (it.st_mtime, it.st_mtime_nsec))
}

/// A path's last part.
pub fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Whether a file is a dynamic loader by what it is called.
pub fn is_loader_name(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    name == "ld.so" || name.starts_with("ld-") && name.contains(".so")
}

/// What a dynamic loader's arguments have it run: the program's path, and its arguments, its own name first.
pub fn loaded_program(argv: &[Vec<u8>]) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    /// Those whose value is the next argument, unless it is written behind `=`.
    const WITH_VALUE: &[&[u8]] = &[
        b"--library-path",
        b"--glibc-hwcaps-prepend",
        b"--glibc-hwcaps-mask",
        b"--inhibit-rpath",
        b"--audit",
        b"--preload",
        b"--argv0",
    ];
    let mut rest = argv.get(1..)?;
    let mut name = None;
    while let Some((option, after)) = rest.split_first().filter(|(it, _)| it.starts_with(b"--")) {
        rest = after;
        if option == b"--" {
            break;
        }
        if let Some(value) = option.strip_prefix(b"--argv0=") {
            name = Some(value.to_vec());
        }
        if WITH_VALUE.contains(&option.as_slice()) {
            let (value, after) = rest.split_first()?;
            if option == b"--argv0" {
                name = Some(value.clone());
            }
            rest = after;
        }
    }
    let (path, arguments) = rest.split_first()?;
    let mut inner = vec![name.unwrap_or_else(|| path.clone())];
    inner.extend_from_slice(arguments);
    Some((path.clone(), inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_names_its_interpreter_as_the_kernel_reads_it() {
        for (text, interpreter, argument) in [
            ("#!/bin/sh\n", "/bin/sh", None),
            ("#! /usr/bin/env  python3 -u \nx", "/usr/bin/env", Some("python3 -u")),
            ("#!/bin/sh\t-e", "/bin/sh", Some("-e")),
        ] {
            let line = script_line(text.as_bytes()).unwrap();
            let argument = argument.map(|it: &str| it.as_bytes().to_vec());
            assert_eq!(line, ScriptLine { interpreter: interpreter.into(), argument }, "{text}");
        }
        assert_eq!(script_line(b"\x7fELF"), None);
        assert_eq!(script_line(b"#!  \n"), None);
    }

    #[test]
    fn a_loader_runs_what_follows_its_options() {
        let words = |text: &str| text.split(' ').map(|it| it.as_bytes().to_vec()).collect::<Vec<_>>();
        for (text, path, inner) in [
            ("ld.so ./git push -f", "./git", "./git push -f"),
            ("ld.so --library-path /x --inhibit-cache /usr/bin/git push", "/usr/bin/git", "/usr/bin/git push"),
            ("ld.so --argv0 ls ./git push", "./git", "ls push"),
        ] {
            assert_eq!(loaded_program(&words(text)), Some((path.into(), words(inner))), "{text}");
        }
        assert_eq!(loaded_program(&words("ld.so --version")), None);
    }
}
