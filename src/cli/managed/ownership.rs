//! Whether a file is root's alone, and whether every user can read it.
//!
//! What root's settings name runs for each user, and what an ancestor of it allows, its owner can
//! replace. So each step that leads to a file is looked at, links included.

use hookwire_base::support::file;
use hookwire_base::support::os_error::in_words;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// So many steps lead to a file, those of links included.
const MAX_STEPS: usize = 256;
/// Of a program, where its headers stand.
const MAX_HEADERS: u64 = 64 * 1024;
/// The kind of program header that names a loader.
const PT_INTERP: u32 = 3;

/// What is wanted of a file for people who aren't root.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Use {
    /// They read it.
    Read,
    /// They start it.
    Start,
}

/// What keeps a file from being root's alone, or from being of use to its readers.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum Trouble {
    /// It isn't there.
    Missing(PathBuf),
    /// Somebody but root can change what is there; how root ends that.
    Open { what: String, mend: String },
    /// Users can't get at it; how root ends that.
    Closed { what: String, mend: String },
    /// It can't be looked at.
    Unseen(String),
}

impl Trouble {
    /// For people.
    pub(in crate::cli) fn told(&self) -> String {
        match self {
            Trouble::Missing(path) => format!("{} isn't there", path.display()),
            Trouble::Open { what, mend } | Trouble::Closed { what, mend } => {
                format!("{what}: `{mend}`")
            }
            Trouble::Unseen(problem) => problem.clone(),
        }
    }
}

/// How a program is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Loading {
    /// By itself: no variable puts code into it.
    Static,
    /// By a loader that obeys variables such as `LD_PRELOAD`.
    Dynamic,
    /// It isn't a program of Linux.
    Unknown,
}

/// What is wrong with a file that is to be root's alone and of use to every user: nothing is left
/// out, because root mends all of it at once.
pub(in crate::cli) fn troubles_of(path: &Path, wanted: Use) -> Vec<Trouble> {
    let (mut troubles, mut at) = (Vec::new(), PathBuf::from("/"));
    let mut steps: VecDeque<OsString> = steps_of(path);
    let mut n_steps = 0;
    troubles.extend(open_to_others(&at));
    while let Some(step) = steps.pop_front() {
        n_steps += 1;
        if n_steps > MAX_STEPS {
            troubles.push(Trouble::Unseen(format!(
                "{}: too many steps lead to it",
                path.display()
            )));
            break;
        }
        if step == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&step);
        let about = match std::fs::symlink_metadata(&next) {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                troubles.push(Trouble::Missing(next));
                break;
            }
            Err(error) => {
                troubles.push(unseen(&next, &error));
                break;
            }
        };
        if about.is_symlink() {
            match std::fs::read_link(&next) {
                Ok(target) => {
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    for step in steps_of(&target).into_iter().rev() {
                        steps.push_front(step);
                    }
                    // The link itself: its directory was looked at, and a link has no mode.
                    if about.uid() != 0 {
                        troubles.push(owned_by(&next, &about));
                    }
                }
                Err(error) => {
                    troubles.push(unseen(&next, &error));
                    break;
                }
            }
            continue;
        }
        at = next;
        troubles.extend(open_in(&at, &about));
        troubles.extend(closed_in(&at, &about, steps.is_empty(), wanted));
    }
    troubles
}

/// How a program is loaded.
///
/// # Errors
/// It can't be read.
pub(in crate::cli) fn loading_of(program: &Path) -> io::Result<Loading> {
    let (file, _) = file::open(program)?;
    let mut bytes = Vec::new();
    file.take(MAX_HEADERS).read_to_end(&mut bytes)?;
    Ok(read_loading(&bytes).unwrap_or(Loading::Unknown))
}

/// The same of the beginning of a program; nothing if it isn't one of 64 bits, or its headers
/// aren't there.
fn read_loading(bytes: &[u8]) -> Option<Loading> {
    let number = |at: usize, size: usize| -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(size)?)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        )
    };
    // 64 bits, the lowest byte first.
    if bytes.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let start = usize::try_from(number(32, 8)?).ok()?;
    let (size, count) = (number(54, 2)?, number(56, 2)?);
    for n in 0..count {
        let at = start.checked_add(usize::try_from(n * size).ok()?)?;
        if number(at, 4)? == u64::from(PT_INTERP) {
            return Some(Loading::Dynamic);
        }
    }
    Some(Loading::Static)
}

fn steps_of(path: &Path) -> VecDeque<OsString> {
    let steps = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    steps.collect()
}

fn unseen(path: &Path, error: &io::Error) -> Trouble {
    Trouble::Unseen(format!("{}: {}", path.display(), in_words(error)))
}

fn owned_by(path: &Path, about: &Metadata) -> Trouble {
    let (path, owner) = (path.display(), about.uid());
    Trouble::Open {
        what: format!("{path} belongs to user {owner}"),
        mend: format!("chown -h root:root {path}"),
    }
}

fn open_to_others(path: &Path) -> Option<Trouble> {
    match std::fs::symlink_metadata(path) {
        Ok(about) => open_in(path, &about),
        Err(error) => Some(unseen(path, &error)),
    }
}

fn open_in(path: &Path, about: &Metadata) -> Option<Trouble> {
    if about.uid() != 0 {
        return Some(owned_by(path, about));
    }
    let mode = about.permissions().mode();
    // An access list shows in the group's bits, so those count whichever group it is.
    (mode & 0o022 != 0).then(|| {
        let path = path.display();
        Trouble::Open {
            what: format!(
                "{path} can be changed by others than root (mode {:04o})",
                mode & 0o7777
            ),
            mend: format!("chmod go-w {path}"),
        }
    })
}

fn closed_in(path: &Path, about: &Metadata, is_last: bool, wanted: Use) -> Option<Trouble> {
    let mode = about.permissions().mode();
    let (needed, mend) = match (about.is_dir(), wanted) {
        (true, _) => (0o001, "a+rx"),
        (false, Use::Read) => (0o004, "a+r"),
        (false, Use::Start) => (0o005, "a+rx"),
    };
    let path = path.display();
    if is_last && !about.is_file() {
        return Some(Trouble::Closed {
            what: format!("{path} is no regular file"),
            mend: format!("ls -ld {path}"),
        });
    }
    (mode & needed != needed).then(|| Trouble::Closed {
        what: format!(
            "{path} is closed to users (mode {:04o}), and an agent is one",
            mode & 0o7777
        ),
        mend: format!("chmod {mend} {path}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program of one header of this kind.
    fn program(kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 128];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[32], bytes[54], bytes[56], bytes[64]) = (64, 56, 1, kind);
        bytes
    }

    #[test]
    fn a_program_with_a_loader_is_told_from_one_without() {
        for (bytes, expected) in [
            (program(1), Some(Loading::Static)),
            (program(3), Some(Loading::Dynamic)),
            (program(1)[..64].to_vec(), None),
            (b"#!/bin/sh\n".to_vec(), None),
            (Vec::new(), None),
            (
                {
                    let mut far = program(1);
                    far[32..40].copy_from_slice(&[0xff; 8]);
                    far
                },
                None,
            ),
        ] {
            assert_eq!(read_loading(&bytes), expected);
        }
    }

    #[test]
    fn each_step_to_a_file_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("open/program");
        let missing = troubles_of(&path, Use::Start);
        assert!(
            missing
                .iter()
                .any(|it| matches!(it, Trouble::Missing(at) if at.ends_with("open"))),
            "{missing:?}"
        );
        std::fs::create_dir(dir.path().join("open")).unwrap();
        std::fs::write(&path, "").unwrap();
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        mode(&dir.path().join("open"), 0o777);
        mode(&path, 0o700);
        std::os::unix::fs::symlink("open/program", dir.path().join("link")).unwrap();
        for path in [path, dir.path().join("link")] {
            let told: Vec<String> = troubles_of(&path, Use::Start)
                .iter()
                .map(Trouble::told)
                .collect();
            let has = |text: &str| told.iter().any(|it| it.contains(text));
            assert!(has("chmod go-w") || has("chown -h root:root"), "{told:?}");
            assert!(has("chmod a+rx"), "{told:?}");
        }
        std::os::unix::fs::symlink("loop", dir.path().join("loop")).unwrap();
        let endless = troubles_of(&dir.path().join("loop"), Use::Read);
        assert!(
            endless
                .iter()
                .any(|it| it.told().contains("too many steps")),
            "{endless:?}"
        );
    }
}
