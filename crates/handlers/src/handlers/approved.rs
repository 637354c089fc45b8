//! What a person has approved of a project: its definitions, and the scripts that they name, are
//! read and run from a copy that only a person makes anew; other files that a hook runs must be as
//! they were then. What a fleet has published is held to its digests in the same way.

use super::programs::{Programs, is_the_systems, starter, trusted_dirs};
use hookwire_base::support::digest;
use hookwire_base::support::file;
use hookwire_base::support::file::{Signature, signature};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The approved state of a project, or a bundle of a fleet: a directory that is never changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Approved {
    /// The project's root.
    pub root: PathBuf,
    /// The directory with all that is kept.
    pub state: PathBuf,
    /// The files of the copy, by their paths below the root or in full, with the digests of their
    /// contents.
    pub files: BTreeMap<PathBuf, String>,
    /// Files that hooks run where they are, with the digests of their contents; `None` if there was
    /// none.
    pub named: BTreeMap<PathBuf, Option<String>>,
    /// Links among what is kept, by their paths below the state, with what they lead to.
    pub links: BTreeMap<PathBuf, PathBuf>,
    /// The programs that hooks start by name; `None` in a state that an earlier version made.
    pub programs: Option<Programs>,
    /// It is a bundle: `root` and `state` are the directory of its files. What its hooks run
    /// elsewhere is this machine's, and was signed by nobody.
    pub is_bundle: bool,
}

/// The file that holds the record, in an approved state.
pub fn record_file(state: &Path) -> PathBuf {
    state.join("record.json")
}

/// The copy of the project's files, in an approved state.
pub fn tree(state: &Path) -> PathBuf {
    state.join("tree")
}

/// Where the copy of a file is in an approved state: of one below the root, or of another one by
/// its full path.
pub fn copy_of(state: &Path, file: &Path) -> PathBuf {
    match file.strip_prefix("/") {
        Ok(rest) => state.join("outside").join(rest),
        Err(_) => tree(state).join(file),
    }
}

/// The links to the programs that hooks start by name, in an approved state.
pub fn bin(state: &Path) -> PathBuf {
    state.join("bin")
}

impl Approved {
    /// The files of a bundle, with the digests that were signed.
    pub fn of_bundle(dir: &Path, files: BTreeMap<PathBuf, String>) -> Approved {
        Approved {
            root: dir.into(),
            state: dir.into(),
            files,
            is_bundle: true,
            ..Approved::default()
        }
    }

    /// The copy of the project's files.
    pub(super) fn tree(&self) -> PathBuf {
        if self.is_bundle {
            self.state.clone()
        } else {
            tree(&self.state)
        }
    }

    /// Where the copy of a file is.
    pub(super) fn copy_of(&self, file: &Path) -> PathBuf {
        if self.is_bundle {
            self.state.join(file)
        } else {
            copy_of(&self.state, file)
        }
    }

    /// The `PATH` of its hooks: the programs that were found when it was approved, then where they
    /// were looked for.
    pub(super) fn path(&self) -> Option<String> {
        let programs = self.programs.as_ref()?;
        let dirs = trusted_dirs(
            &std::env::join_paths(&programs.path).ok()?,
            Some(&self.root),
        );
        std::env::join_paths(std::iter::once(bin(&self.state)).chain(dirs))
            .ok()?
            .into_string()
            .ok()
    }

    /// Whether a virtual environment had an interpreter when it was approved.
    pub(super) fn was_there(&self, venv: &Path) -> bool {
        let within = self
            .named
            .range(venv.to_path_buf()..)
            .take_while(|(file, _)| file.starts_with(venv));
        within.into_iter().any(|(_, content)| content.is_some())
    }

    /// Where a directory of the copy is in the project.
    pub(super) fn original(&self, dir: &Path) -> PathBuf {
        dir.strip_prefix(self.tree())
            .map_or_else(|_| dir.to_path_buf(), |rest| self.root.join(rest))
    }

    /// A text with the places of the copy as people know them, in the project.
    pub fn as_written(&self, text: &str) -> String {
        let copy = self.tree();
        let (copy, root) = (copy.to_string_lossy(), self.root.to_string_lossy());
        text.replace(&format!("{copy}/"), &format!("{root}/"))
            .replace("/./", "/")
    }

    /// Looks whether the copy is what was approved, all of it and nothing else: what lies beside a
    /// script may be loaded in the place of what the script names.
    ///
    /// # Errors
    /// It isn't, or can't be read; for people.
    pub fn verify(&self) -> Result<(), String> {
        let mut expected = match self.is_bundle {
            true => BTreeSet::new(),
            false => BTreeSet::from([record_file(&self.state), tree(&self.state)]),
        };
        for (file, digest) in &self.files {
            let copy = self.copy_of(file);
            let is_file = fs::symlink_metadata(&copy).is_ok_and(|about| about.is_file());
            match digest_of(&copy) {
                Ok(Some(now)) if is_file && now == *digest => {}
                Ok(Some(_)) => return Err(format!("the copy of `{}` was changed", file.display())),
                Ok(None) => return Err(format!("the copy of `{}` is gone", file.display())),
                Err(error) => return Err(format!("the copy of `{}`: {error}", file.display())),
            }
            expected.extend(
                copy.ancestors()
                    .take_while(|it| *it != self.state)
                    .map(Path::to_path_buf),
            );
        }
        for (link, target) in &self.links {
            let link = self.state.join(link);
            if fs::read_link(&link).ok().as_ref() != Some(target) {
                return Err(format!("`{}` was changed", link.display()));
            }
            expected.extend(
                link.ancestors()
                    .take_while(|it| *it != self.state)
                    .map(Path::to_path_buf),
            );
        }
        for (name, program) in self.programs.iter().flat_map(|programs| &programs.found) {
            let entry = bin(&self.state).join(name);
            let is_as_it_was = match program.is_linked {
                true => fs::read_link(&entry).is_ok_and(|target| target == program.path),
                false => {
                    fs::symlink_metadata(&entry).is_ok_and(|about| about.is_file())
                        && file::read_text(&entry).is_ok_and(|text| text == starter(&program.path))
                }
            };
            if !is_as_it_was {
                return Err(format!("`{}` was changed", entry.display()));
            }
            expected.extend([bin(&self.state), entry]);
        }
        let mut dirs = vec![self.state.clone()];
        while let Some(dir) = dirs.pop() {
            let unread = |error: io::Error| format!("{}: {error}", dir.display());
            for entry in fs::read_dir(&dir).map_err(unread)? {
                let entry = entry.map_err(unread)?;
                let path = entry.path();
                if !expected.contains(&path) {
                    let shown = path.strip_prefix(&self.state).unwrap_or(&path).display();
                    let whose = if self.is_bundle { "signed" } else { "trusted" };
                    return Err(format!("the copy has `{shown}`, which nobody has {whose}"));
                }
                if entry.file_type().map_err(unread)?.is_dir() {
                    dirs.push(path);
                }
            }
        }
        Ok(())
    }
}

type Seen = HashMap<PathBuf, (Signature, String)>;

/// What files that were read looked like. An interpreter has many megabytes.
static SEEN: LazyLock<Mutex<Seen>> = LazyLock::new(Mutex::default);
const MAX_SEEN: usize = 1024;

/// What the content of a file is called that runs where it is, `None` if there is no such file: its
/// digest, or for a link to one of the system's files, which the system's updates change, where it
/// leads.
///
/// # Errors
/// It can't be read, or is no regular file.
pub fn content_of(path: &Path) -> io::Result<Option<String>> {
    match system_target(path) {
        Some(target) => Ok(Some(target)),
        None => digest_of(path),
    }
}

pub(super) fn system_target(path: &Path) -> Option<String> {
    let real = fs::canonicalize(path)
        .ok()
        .filter(|real| is_the_systems(real) && !is_the_systems(path))?;
    Some(format!("-> {}", real.display()))
}

/// The digest of a file's content, `None` if there is no such file.
///
/// # Errors
/// It can't be read, or is no regular file.
pub fn digest_of(path: &Path) -> io::Result<Option<String>> {
    let Some(before) = signature(path) else {
        return Ok(None);
    };
    if let Some((_, digest)) = SEEN.lock().get(path).filter(|(seen, _)| *seen == before) {
        return Ok(Some(digest.clone()));
    }
    let digest = digest::of_file(path)?;
    if signature(path) == Some(before) && !before.is_racy() {
        let mut seen = SEEN.lock();
        if seen.len() >= MAX_SEEN {
            seen.clear();
        }
        seen.insert(path.to_path_buf(), (before, digest.clone()));
    }
    Ok(Some(digest))
}
