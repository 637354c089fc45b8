//! The programs that rules name, known by their names and by what their files are.
//!
//! A name says little: a link, a copy or a file in memory runs the same program under any name. So
//! the files of the named programs are found along the PATH, and a file is such a program if it is
//! the same file, or has the same size and the same bytes.

use super::lookup::{self, FileKey, Seen, own_path};
use super::runs::Runs;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, fstat, stat};
use nix::sys::uio::pread;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many copies of named programs are remembered.
const MAX_REMEMBERED: usize = 4096;
/// How many files of named programs are known.
const MAX_KNOWN: usize = 1 << 16;
/// So much of two files is compared at a time.
const CHUNK: usize = 1 << 16;
/// How much of a script the kernel reads to find its interpreter.
const MAX_SCRIPT_LINE: usize = 256;
/// Programs that run the program which they are given, by the kernel's own rules for dynamic
/// linking.
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
    files: Mutex<Files>,
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
    /// It has the size of a named program or of a loader, so that it could become one without a
    /// sign.
    pub is_alike: bool,
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

/// A named program that was found along the PATH.
#[derive(Clone, Debug)]
struct Original {
    path: Arc<Path>,
    /// Which file was there.
    key: FileKey,
}

/// What has been found. A file that was a named program once stays known, wherever the tree moves
/// it.
#[derive(Default)]
struct Files {
    /// The directories of PATH, with their times of change.
    directories: Vec<(PathBuf, Option<(i64, i64)>)>,
    by_inode: HashMap<Inode, Arc<Path>>,
    by_size: HashMap<u64, Vec<Original>>,
    loaders: HashSet<Inode>,
    loaders_by_size: HashMap<u64, Vec<Original>>,
    /// Files that have the bytes of a named program. That a file is none is never remembered: bytes
    /// change without a sign.
    copies: HashMap<FileKey, Arc<Path>>,
}

/// A device and an inode, and the size, because a number is given again.
type Inode = ((u64, u64), u64);

fn file_inode(key: &FileKey) -> Inode {
    (key.inode, key.size)
}

impl Snapshot {
    /// A snapshot of which no file has been looked for yet.
    pub fn new(every: bool, names: impl Iterator<Item = String>) -> Snapshot {
        Snapshot {
            every,
            names: names.map(String::into_bytes).collect(),
            files: Mutex::default(),
        }
    }

    /// Goes on to know the files that an earlier snapshot has found, as far as their names are
    /// named here.
    pub fn inherit_from(&self, earlier: &Snapshot) {
        let (mut files, known) = (self.lock(), earlier.lock());
        let is_named = |path: &Path| self.has_name(base_name(path.as_os_str().as_bytes()));
        let by_inode = known.by_inode.iter().filter(|(_, path)| is_named(path));
        files
            .by_inode
            .extend(by_inode.map(|(key, path)| (*key, path.clone())));
        for (size, originals) in &known.by_size {
            let originals = originals
                .iter()
                .filter(|original| is_named(&original.path))
                .cloned();
            files.by_size.entry(*size).or_default().extend(originals);
        }
        let copies = known.copies.iter().filter(|(_, path)| is_named(path));
        files
            .copies
            .extend(copies.map(|(key, path)| (*key, path.clone())));
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
    ///
    /// # Errors
    /// It couldn't be looked.
    pub fn look_at(&self, seen: &Seen) -> Result<ProgramFile, Errno> {
        let (key, mut kind, mut real_path) = (seen.key, Kind::default(), PathBuf::new());
        if !self.is_empty() {
            (kind, real_path) = (self.kind_of(seen)?, seen.real_path()?);
        }
        Ok(ProgramFile {
            key,
            kind,
            real_path,
        })
    }

    fn kind_of(&self, seen: &Seen) -> Result<Kind, Errno> {
        let key = seen.key;
        let files = self.files()?;
        let named = files
            .by_inode
            .get(&file_inode(&key))
            .or_else(|| files.copies.get(&key))
            .cloned();
        let mut kind = Kind {
            is_loader: files.loaders.contains(&file_inode(&key)),
            ..Kind::default()
        };
        let alike = if named.is_none() {
            of_size(&files.by_size, key.size)
        } else {
            Vec::new()
        };
        let alike_loaders = if kind.is_loader {
            Vec::new()
        } else {
            of_size(&files.loaders_by_size, key.size)
        };
        drop(files);
        kind.named = named.map(|path| Named {
            is_target: path.is_symlink(),
            path,
        });
        if !seen.is_regular {
            return Ok(kind);
        }
        kind.is_alike = !alike.is_empty() || !alike_loaders.is_empty();
        let file = match open_to_read(seen) {
            Ok(file) => file,
            // A file that may be started and not read may be any of those of its size.
            Err(Errno::EACCES | Errno::EPERM) => {
                kind.is_loader |= !alike_loaders.is_empty();
                kind.named = kind.named.or_else(|| alike.first().map(Original::copied));
                return Ok(kind);
            }
            Err(error) => return Err(error),
        };
        let mut start = [0; MAX_SCRIPT_LINE];
        let n = pread(&file, &mut start, 0)?;
        kind.script = script_line(&start[..n]).map(Arc::new);
        for original in alike {
            if has_same_bytes(&file, &original)? {
                let mut files = self.lock();
                if files.copies.len() >= MAX_REMEMBERED {
                    files.copies.clear();
                }
                files.copies.insert(key, original.path.clone());
                kind.named = Some(original.copied());
                break;
            }
        }
        for loader in alike_loaders {
            kind.is_loader |= has_same_bytes(&file, &loader)?;
        }
        Ok(kind)
    }

    /// Whether a name was a file's own along the PATH before `since`, as `ls` is busybox's where
    /// `rm` is, too. Then the program goes by the name, and that it shares a file with a named one
    /// says nothing. All links that lead from there to the file, and the file itself, must be older
    /// than the command, and mustn't have come while an earlier one was held. No directory on the
    /// way may have been moved there since.
    pub fn is_own_name(
        &self,
        name: &[u8],
        file: &ProgramFile,
        since: Duration,
        runs: &Runs,
    ) -> bool {
        let is_named = file
            .kind
            .named
            .as_ref()
            .is_some_and(|named| named.is_target);
        // `python3.11` is what `python3` links to, by whatever name it is started.
        if name.is_empty() || is_named && base_name(file.real_path.as_os_str().as_bytes()) == name {
            return false;
        }
        let name = Path::new(std::ffi::OsStr::from_bytes(name));
        let paths: Vec<PathBuf> = self
            .lock()
            .directories
            .iter()
            .map(|(path, _)| path.join(name))
            .collect();
        let held_from = |changed: Duration| {
            (changed >= since)
                .then_some(since)
                .or_else(|| runs.held_from(changed))
        };
        paths
            .iter()
            .filter_map(|path| lookup::link_chain(path, file.key))
            .any(|chain| {
                chain.files.iter().all(|file| held_from(*file).is_none())
                    && chain
                        .directories
                        .iter()
                        .all(|(own, above)| held_from(*own).is_none_or(|from| *above < from))
            })
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of the named programs, along the PATH that the command was started with. One may
    /// have been installed since they were looked for.
    fn files(&self) -> Result<MutexGuard<'_, Files>, Errno> {
        let mut files = self.lock();
        if files.directories.is_empty()
            || !files
                .directories
                .iter()
                .all(|(path, changed)| changed_at(path) == *changed)
        {
            // As they were before it is looked, so that no change is missed.
            let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
            let directories = std::env::split_paths(&path).filter(|path| path.is_absolute());
            let directories: Vec<_> = directories
                .map(|directory| (changed_at(&directory), directory))
                .map(|(at, it)| (it, at))
                .collect();
            for (directory, _) in &directories {
                for name in &self.names {
                    files.add_path(directory.join(std::ffi::OsStr::from_bytes(name)))?;
                }
            }
            for loader in LOADERS {
                files.add_loader(loader)?;
            }
            files.directories = directories;
        }
        Ok(files)
    }
}

impl Original {
    fn copied(&self) -> Named {
        Named {
            path: self.path.clone(),
            is_target: false,
        }
    }
}

impl Files {
    fn add_path(&mut self, path: PathBuf) -> Result<(), Errno> {
        let Some(stat) = lookup::on_path(stat(&path))? else {
            return Ok(());
        };
        if !lookup::is_regular(&stat) || stat.st_mode & 0o111 == 0 {
            return Ok(());
        }
        let (path, key) = (Arc::<Path>::from(path), FileKey::from_stat(&stat));
        // The first one along the PATH gives the name.
        if let Entry::Vacant(vacant) = self.by_inode.entry(file_inode(&key)) {
            vacant.insert(path.clone());
            self.by_size
                .entry(key.size)
                .or_default()
                .push(Original { path, key });
        }
        // Who makes so many names may make them to have others forgotten.
        if self.by_inode.len() > MAX_KNOWN {
            Err(Errno::EOVERFLOW)
        } else {
            Ok(())
        }
    }

    fn add_loader(&mut self, loader: &'static str) -> Result<(), Errno> {
        let Some(stat) = lookup::on_path(stat(loader))? else {
            return Ok(());
        };
        let key = FileKey::from_stat(&stat);
        if self.loaders.insert(file_inode(&key)) {
            let path = Path::new(loader).into();
            self.loaders_by_size
                .entry(key.size)
                .or_default()
                .push(Original { path, key });
        }
        Ok(())
    }
}

fn of_size(by_size: &HashMap<u64, Vec<Original>>, size: u64) -> Vec<Original> {
    by_size.get(&size).cloned().unwrap_or_default()
}

fn open_to_read(seen: &Seen) -> Result<File, Errno> {
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    open(own_path(seen.file.as_fd()).as_str(), flags, Mode::empty()).map(File::from)
}

/// Whether a file of the same size has the bytes that a named program has, or had: where that one
/// is gone, is another by now or can't be read, nobody can tell any more.
fn has_same_bytes(file: &File, original: &Original) -> Result<bool, Errno> {
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let opened = lookup::on_path(open(&*original.path, flags, Mode::empty()))?;
    let Some(other) = opened.map(File::from) else {
        return Ok(true);
    };
    let now = FileKey::from_stat(&fstat(&other)?);
    if now != original.key {
        return Ok(true);
    }
    let (mut a, mut b) = (vec![0; CHUNK], vec![0; CHUNK]);
    let mut at = 0;
    while at < now.size {
        let n = (now.size - at).min(CHUNK as u64) as usize;
        let (a, b) = (&mut a[..n], &mut b[..n]);
        if read_at(file, a, at)? != n || read_at(&other, b, at)? != n || a != b {
            return Ok(false);
        }
        at += n as u64;
    }
    Ok(true)
}

/// Reads as much as there is, at most all that fits.
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> Result<usize, Errno> {
    let mut n = 0;
    while n < bytes.len() {
        match pread(file, &mut bytes[n..], (at + n as u64) as i64)? {
            0 => break,
            read => n += read,
        }
    }
    Ok(n)
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
    let argument = line[end..]
        .iter()
        .position(|byte| !is_blank(byte))
        .map(|at| line[end + at..].to_vec());
    Some(ScriptLine {
        interpreter: line[..end].to_vec(),
        argument,
    })
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
    let Ok(name) = std::str::from_utf8(name) else {
        return false;
    };
    name == "ld.so" || name.starts_with("ld-") && name.contains(".so")
}

/// What a dynamic loader's arguments have it run: the program's path, and its arguments, its own
/// name first.
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
            (
                "#! /usr/bin/env  python3 -u \nx",
                "/usr/bin/env",
                Some("python3 -u"),
            ),
            ("#!/bin/sh\t-e", "/bin/sh", Some("-e")),
        ] {
            let line = script_line(text.as_bytes()).unwrap();
            let argument = argument.map(|text: &str| text.as_bytes().to_vec());
            assert_eq!(
                line,
                ScriptLine {
                    interpreter: interpreter.into(),
                    argument
                },
                "{text}"
            );
        }
        assert_eq!(script_line(b"\x7fELF"), None);
        assert_eq!(script_line(b"#!  \n"), None);
    }

    #[test]
    fn a_loader_runs_what_follows_its_options() {
        let words = |text: &str| {
            text.split(' ')
                .map(|it| it.as_bytes().to_vec())
                .collect::<Vec<_>>()
        };
        for (text, path, inner) in [
            ("ld.so ./git push -f", "./git", "./git push -f"),
            (
                "ld.so --library-path /x --inhibit-cache /usr/bin/git push",
                "/usr/bin/git",
                "/usr/bin/git push",
            ),
            ("ld.so --argv0 ls ./git push", "./git", "ls push"),
        ] {
            assert_eq!(
                loaded_program(&words(text)),
                Some((path.into(), words(inner))),
                "{text}"
            );
        }
        assert_eq!(loaded_program(&words("ld.so --version")), None);
    }
}
