//! Where cases take place.

use super::super::scratch::scratch_dir;
use hookwire_engine::definitions::approved::DEFINITIONS;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tempfile::TempDir;

/// Where the cases of one file take place, removed in the end: an empty directory to work in, one
/// for temporary files, and a copy of the project, because hooks write beside their definitions and
/// further away.
pub(super) struct Place<'p> {
    dir: TempDir,
    project: &'p Path,
}

/// The copy of a project that the files of one run share. Each finds it as it was.
pub(super) struct Copied {
    /// The real one, without links.
    root: PathBuf,
    dir: TempDir,
    pristine: Stamps,
}

/// How much a directory of definitions may hold, in bytes, and how much of what is beside it is
/// copied.
const MAX_COPIED: u64 = 64 * 1024 * 1024;
/// So many files and directories of what is beside it are copied.
const MAX_FILES: usize = 20_000;
/// The directory that isn't copied: in a worktree it is a link, through which a command could
/// change the real repository.
const GIT: &str = ".git";

impl Place<'_> {
    pub(super) fn new(copied: &Copied) -> Result<Place<'_>> {
        let place = Place {
            dir: scratch_dir("test")?,
            project: copied.dir.path(),
        };
        for dir in [place.work(), place.temporary()] {
            std::fs::create_dir(dir)?;
        }
        Ok(place)
    }

    pub(super) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    /// Where a file of the project is in the copy.
    pub(super) fn copy_of(&self, real: &Path) -> PathBuf {
        path_below(self.project, real)
    }
}

/// Definitions by their path without links, but for a file that is one itself.
pub(super) fn locate_definitions(subject: &Path) -> Result<PathBuf> {
    match subject.file_name().filter(|_| !subject.is_dir()) {
        Some(name) => Ok(definitions_dir(subject)?.canonicalize()?.join(name)),
        None => subject.canonicalize(),
    }
}

/// The directory of definitions that a file, or a directory itself, is in.
fn definitions_dir(subject: &Path) -> Result<&Path> {
    let dir = if subject.is_dir() {
        Some(subject)
    } else {
        subject.parent()
    };
    dir.ok_or_else(|| Error::other("it has no directory"))
}

/// The project that a directory belongs to; without one, the directory stands for it.
fn project_of(dir: &Path) -> &Path {
    dir.ancestors()
        .find(|dir| dir.join(DEFINITIONS).exists() || dir.join(GIT).exists())
        .unwrap_or(dir)
}

/// A path in a copy: as deep as the real one, so that no number of `..` that leads somewhere in the
/// project leads out of the copy.
fn path_below(copy: &Path, real: &Path) -> PathBuf {
    copy.join(real.strip_prefix("/").unwrap_or(real))
}

impl Copied {
    /// Copies the project of some definitions: their directory, and of the rest what isn't too
    /// large, the smallest first. Gives the names of what was left out, too.
    pub(super) fn new(subject: &Path) -> Result<(Copied, Vec<String>)> {
        let dir = definitions_dir(subject)?;
        let root = project_of(dir);
        // Its name is known to `children`.
        let copy = Copied {
            root: root.to_path_buf(),
            dir: scratch_dir("project")?,
            pristine: Stamps::new(),
        };
        std::fs::create_dir_all(copy.copy_of(dir))?;
        if !copy.copy_tree(dir, &mut Room::default())? {
            return Err(Error::other(
                "it holds more than 64 MiB, too much to test a copy of it",
            ));
        }
        let left_out = if dir == root {
            Vec::new()
        } else {
            copy.copy_surroundings(dir)?
        };
        let pristine = dir_stamps(copy.dir.path());
        Ok((Copied { pristine, ..copy }, left_out))
    }

    /// Whether the definitions are a part of the project.
    pub(super) fn is_of(&self, subject: &Path) -> bool {
        definitions_dir(subject).is_ok_and(|dir| {
            path_below(self.dir.path(), dir).is_dir() && project_of(dir) == self.root
        })
    }

    /// Undoes what hooks have done to the copy.
    pub(super) fn restore(&self) -> Result<()> {
        let now = dir_stamps(self.dir.path());
        for Stamp { path, .. } in now.difference(&self.pristine) {
            let gone = if path.is_dir() && !path.is_symlink() {
                std::fs::remove_dir_all(path)
            } else {
                std::fs::remove_file(path)
            };
            // The directory around it may be gone already.
            gone.or_else(|error| {
                if path.is_symlink() || path.exists() {
                    Err(error)
                } else {
                    Ok(())
                }
            })?;
        }
        let now = dir_stamps(self.dir.path());
        for Stamp { path, .. } in self.pristine.difference(&now) {
            let real = Path::new("/").join(path.strip_prefix(self.dir.path()).unwrap_or(path));
            self.copy_entry(&real)?;
        }
        Ok(())
    }

    /// Copies what is beside a directory, on all levels up to the root. Gives what is left out.
    fn copy_surroundings(&self, dir: &Path) -> Result<Vec<String>> {
        let levels = dir
            .ancestors()
            .skip(1)
            .take_while(|level| level.starts_with(&self.root))
            .zip(dir.ancestors());
        let mut beside = Vec::new();
        for path in levels
            .flat_map(|(level, inner)| copied_children(level).filter(move |path| path != inner))
        {
            let mut room = Room::default();
            // A directory that doesn't fit at all comes last.
            let size = self
                .walk_copied(&path, &mut room, |_| Ok(()))?
                .then(|| MAX_COPIED - room.bytes);
            beside.push((size.unwrap_or(u64::MAX), path));
        }
        beside.sort();
        let (mut room, mut left_out) = (Room::default(), Vec::new());
        for (size, path) in beside {
            if size > room.bytes || !self.copy_tree(&path, &mut room)? {
                left_out.push(
                    path.strip_prefix(&self.root)
                        .unwrap_or(&path)
                        .display()
                        .to_string(),
                );
            }
        }
        Ok(left_out)
    }

    /// Copies a file, or a directory with all that it holds, as far as there is room; says whether
    /// there was.
    fn copy_tree(&self, real: &Path, room: &mut Room) -> Result<bool> {
        self.walk_copied(real, room, |path| self.copy_entry(path))
    }

    /// Visits what is to be copied of a file or a directory: a directory before what it holds.
    fn walk_copied(
        &self,
        real: &Path,
        room: &mut Room,
        visit: impl Fn(&Path) -> Result<()>,
    ) -> Result<bool> {
        let mut todo = vec![real.to_path_buf()];
        while let Some(path) = todo.pop() {
            if self.target_within(&path).is_none() {
                // A link that leads nowhere.
                let Ok(about) = path.metadata() else { continue };
                if !room.take_room(&about) {
                    return Ok(false);
                }
                if about.is_dir() {
                    todo.extend(copied_children(&path));
                }
            }
            visit(&path)?;
        }
        Ok(true)
    }

    fn copy_of(&self, real: &Path) -> PathBuf {
        path_below(self.dir.path(), real)
    }

    /// Copies one file or directory, without what a directory holds.
    fn copy_entry(&self, real: &Path) -> Result<()> {
        let copy = self.copy_of(real);
        // A link within the project is one within the copy. What another one leads to is copied,
        // because a hook that writes there would change the real one.
        if let Some(target) = self.target_within(real) {
            return std::os::unix::fs::symlink(self.copy_of(&target), copy);
        }
        if real.is_dir() {
            std::fs::create_dir_all(copy)
        } else {
            // A file that can't be read is of no use to hooks either, and a pipe or a socket is no
            // part of a project.
            let _ = real.is_file().then(|| std::fs::copy(real, copy));
            Ok(())
        }
    }

    /// Where a link leads, if that is in the project.
    fn target_within(&self, link: &Path) -> Option<PathBuf> {
        let target = link
            .is_symlink()
            .then(|| link.canonicalize().ok())
            .flatten()?;
        target.starts_with(&self.root).then_some(target)
    }
}

/// How much may still be copied.
struct Room {
    bytes: u64,
    files: usize,
}

impl Default for Room {
    fn default() -> Room {
        Room {
            bytes: MAX_COPIED,
            files: MAX_FILES,
        }
    }
}

impl Room {
    /// Takes what a file needs, if there is as much.
    fn take_room(&mut self, about: &Metadata) -> bool {
        let bytes = if about.is_file() { about.len() } else { 0 };
        let (Some(bytes), Some(files)) = (self.bytes.checked_sub(bytes), self.files.checked_sub(1))
        else {
            return false;
        };
        *self = Room { bytes, files };
        true
    }
}

/// The entries of a directory that are copied: neither `.git` nor the copies that `hookwire test`
/// has made.
fn copied_children(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = dir.read_dir().into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let name = entry.file_name();
            name != GIT && !name.as_encoded_bytes().starts_with(b"hookwire-project-")
        })
        .map(|entry| entry.path())
}

/// A file, a link or a directory as it is now.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    path: PathBuf,
    /// When a file was written; a directory changes with what it holds.
    written: Option<SystemTime>,
    length: u64,
}

type Stamps = BTreeSet<Stamp>;

fn dir_stamps(dir: &Path) -> Stamps {
    let mut found = Stamps::new();
    let mut todo = vec![dir.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in dir.read_dir().into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else {
                continue;
            };
            let path = entry.path();
            let (written, length) = if about.is_dir() {
                (None, 0)
            } else {
                (about.modified().ok(), about.len())
            };
            todo.extend(about.is_dir().then(|| path.clone()));
            found.insert(Stamp {
                path,
                written,
                length,
            });
        }
    }
    found
}
