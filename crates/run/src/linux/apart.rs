//! `hookwire-run apart`: runs a command apart from this machine. What it writes is gone when it
//! ends, it reaches no network, and nothing that it starts outlives it.
//!
//! `hookwire doctor --drive` starts an agent so, as the person starts it: in their home and in
//! their project, by their real paths, because some agents know by its path whom they trust.

use super::command::{enter_namespace, exec_command};
use super::sys::{self, Fork};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::io::{Error, Result};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where what is written goes: into memory. Each system has the directory, and what a program
/// shares there with others is nothing that it should find here.
const SCRATCH: &str = "/dev/shm";
/// The file systems that hold no files of the person's; what they show is the kernel's.
const KERNELS: [&str; 16] = [
    "proc",
    "sysfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "mqueue",
    "securityfs",
    "debugfs",
    "tracefs",
    "bpf",
    "pstore",
    "configfs",
    "fusectl",
    "binfmt_misc",
    "nsfs",
    "autofs",
];
const USAGE: &str = "apart [--copy DIR]... -- COMMAND...";

/// What is run, and what it sees.
#[derive(Debug, Default, PartialEq, Eq)]
struct Apart {
    /// Directories that it sees as they are; what it changes there isn't changed outside.
    copies: Vec<PathBuf>,
    command: Vec<OsString>,
}

/// Does what the words behind `apart` say, and ends as the command does.
pub fn main(words: Vec<OsString>) -> ExitCode {
    let Some(apart) = Apart::from_words(words) else {
        return crate::refuse_run(USAGE);
    };
    match run_apart(&apart) {
        Ok(code) => ExitCode::from(code),
        Err(problem) => crate::refuse_run(&problem.to_string()),
    }
}

impl Apart {
    fn from_words(words: Vec<OsString>) -> Option<Apart> {
        let mut apart = Apart::default();
        let mut words = words.into_iter();
        loop {
            let word = words.next()?;
            match word.to_str()? {
                "--copy" => apart.copies.push(PathBuf::from(words.next()?)),
                "--" => break,
                _ => return None,
            }
        }
        apart.command = words.collect();
        (!apart.command.is_empty()).then_some(apart)
    }
}

fn run_apart(apart: &Apart) -> Result<u8> {
    // Root needs no namespace of users, and in one the files of all others would be nobody's: some
    // agents pass over the settings of a machine then.
    let others = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC;
    if !nix::unistd::geteuid().is_root() || unshare(others).is_err() {
        enter_namespace().map_err(|error| about("a user namespace", error))?;
        unshare(others).map_err(|error| about("namespaces", error.into()))?;
    }
    match sys::fork()? {
        Fork::Parent(child) => loop {
            match waitpid(Pid::from_raw(child), None)? {
                WaitStatus::Exited(_, code) => return Ok(u8::try_from(code).unwrap_or(u8::MAX)),
                WaitStatus::Signaled(..) => return Ok(u8::MAX),
                _ => {}
            }
        },
        Fork::Child => {
            let prepared = set_pdeathsig(Signal::SIGKILL)
                .map_err(Error::from)
                .and_then(|()| prepare_files(apart))
                .and_then(|()| {
                    sys::bring_up_loopback().map_err(|error| about("the loopback", error))
                });
            if let Err(problem) = prepared {
                crate::say_message(format_args!("nothing was started: {problem}"));
                sys::exit_now(i32::from(crate::UNUSABLE));
            }
            exec_command(&apart.command)
        }
    }
}

/// Makes that what is written from here on stays in this process's view of the files.
fn prepare_files(apart: &Apart) -> Result<()> {
    let here = std::env::current_dir()?;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount_at(None, Path::new("/"), None, private, None)?;
    let mounts = read_mounts()?;
    // What is mounted within a copy is copied, too.
    let mut copies: Vec<PathBuf> = Vec::new();
    for dir in &apart.copies {
        let dir = dir
            .canonicalize()
            .map_err(|error| about(&dir.display().to_string(), error))?;
        let within = mounts
            .iter()
            .filter(|it| it.place.starts_with(&dir) && !KERNELS.contains(&&*it.kind))
            .map(|it| it.place.clone());
        for place in [dir.clone()].into_iter().chain(within) {
            if !copies.contains(&place) && place.is_dir() {
                copies.push(place);
            }
        }
    }
    // One within another comes after it, and is one of its own all the same: below the top of a copy
    // a directory that belongs to a group which isn't known here can't be written into.
    copies.sort();

    for found in mounts.iter().filter(|it| !KERNELS.contains(&&*it.kind)) {
        make_readonly(&found.place)?;
    }
    let memory = Path::new("tmpfs");
    mount_at(
        Some(memory),
        Path::new(SCRATCH),
        Some("tmpfs"),
        MsFlags::empty(),
        Some("mode=0700"),
    )?;
    let scratch = Path::new(SCRATCH).join("hookwire");
    for (at, place) in copies.iter().enumerate() {
        for part in ["lower", "upper", "work"] {
            std::fs::create_dir_all(scratch.join(format!("{part}{at}")))?;
        }
        // The top of a copy has the mode of its layer for what is written.
        let mode = place.metadata()?.permissions();
        std::fs::set_permissions(scratch.join(format!("upper{at}")), mode)?;
        // By a path of ours: a path in the options of an overlay has no place for each character.
        let lower = scratch.join(format!("lower{at}"));
        mount_at(Some(place), &lower, None, MsFlags::MS_BIND, None)?;
    }
    for (at, place) in copies.iter().enumerate() {
        let scratch = scratch.display();
        let parts = format!(
            "lowerdir={scratch}/lower{at},upperdir={scratch}/upper{at},workdir={scratch}/work{at}"
        );
        // In a namespace of users an overlay keeps its notes in attributes of users.
        let mount_overlay = |parts: &str| {
            let kind = "overlay";
            let none = MsFlags::empty();
            mount_at(Some(Path::new(kind)), place, Some(kind), none, Some(parts))
        };
        mount_overlay(&format!("{parts},userxattr")).or_else(|_| mount_overlay(&parts))?;
    }
    let proc = Path::new("proc");
    mount_at(
        Some(proc),
        Path::new("/proc"),
        Some("proc"),
        MsFlags::empty(),
        None,
    )?;
    // What it worked in until here is a directory of before.
    std::env::set_current_dir(here)
}

/// Something mounted.
struct Mounted {
    place: PathBuf,
    /// Its file system.
    kind: String,
}

/// What is mounted, as the kernel lists it.
fn read_mounts() -> Result<Vec<Mounted>> {
    let listed = std::fs::read("/proc/self/mountinfo")?;
    let lines = listed.split(|byte| *byte == b'\n');
    let mounts = lines.filter_map(|line| {
        let mut words = line.split(|byte| *byte == b' ');
        let place = unescape(words.nth(4)?);
        let kind = words.skip_while(|word| *word != b"-").nth(1)?;
        Some(Mounted {
            place: PathBuf::from(OsString::from_vec(place)),
            kind: String::from_utf8_lossy(kind).into_owned(),
        })
    });
    Ok(mounts.collect())
}

/// A path without the kernel's `\040` for what would end a word.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((byte, behind)) = rest.split_first() {
        let code = (*byte == b'\\')
            .then(|| std::str::from_utf8(behind.get(..3)?).ok())
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(code);
                rest = &behind[3..];
            }
            None => {
                plain.push(*byte);
                rest = behind;
            }
        }
    }
    plain
}

/// Makes that nothing can be written where something is mounted.
fn make_readonly(place: &Path) -> Result<()> {
    let Ok(about_it) = statvfs(place) else {
        // Covered by another mount, or another user's.
        return Ok(());
    };
    // What the kernel has locked must be said again.
    let kept = [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    let flags = kept
        .iter()
        .filter(|(is, _)| about_it.flags().contains(*is))
        .fold(MsFlags::empty(), |all, (_, flag)| all | *flag);
    let readonly = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    match mount(
        None::<&Path>,
        place,
        None::<&str>,
        readonly | flags,
        None::<&str>,
    ) {
        // It isn't a mount of this view: covered by another one.
        Ok(()) | Err(Errno::EINVAL) => Ok(()),
        Err(error) => Err(about(&place.display().to_string(), error.into())),
    }
}

fn mount_at(
    what: Option<&Path>,
    place: &Path,
    kind: Option<&str>,
    flags: MsFlags,
    options: Option<&str>,
) -> Result<()> {
    mount(what, place, kind, flags, options)
        .map_err(|error| about(&place.display().to_string(), error.into()))
}

/// An error with what it is about.
fn about(what: &str, error: Error) -> Error {
    Error::new(error.kind(), format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_whole() {
        let read = |text: &str| Apart::from_words(text.split(' ').map(OsString::from).collect());
        let whole = read("--copy /a --copy /b -- true --copy").unwrap();
        assert_eq!(whole.copies, [Path::new("/a"), Path::new("/b")]);
        assert_eq!(whole.command, ["true", "--copy"]);
        for text in [
            "",
            "true",
            "--",
            "--copy --",
            "--copy /a",
            "--other /a -- true",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn the_kernels_words_for_places_are_read() {
        assert_eq!(unescape(br"/a\040b\134c"), br"/a b\c");
        assert_eq!(unescape(br"/a\04"), br"/a\04");
    }
}
