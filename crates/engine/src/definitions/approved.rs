//! Where the approved state of a project is kept, and how the project differs from it.
//!
//! `<data>/hookwire/trust/<project>/current` leads to a directory that is never changed: `tree/`
//! holds the files, each where it is below the project's root, `outside/` those that are elsewhere,
//! and `record.json` says what they were; the directory's name holds the digest of the record.
//! Approving another state makes another directory and turns `current` to it at once. A state that
//! differs from its record is broken: nothing of it counts.

use super::deny_gates::deny_gates;
use super::layer_dir::is_hidden;
pub use hookwire_ask::project::{DEFINITIONS, current};
use hookwire_handlers::handlers::approved::Approved;
pub use hookwire_handlers::handlers::approved::{
    bin, content_of, copy_of, digest_of, record_file, tree,
};
pub use hookwire_handlers::handlers::programs::{
    Programs, is_the_systems, named_in_script, starter,
};

use hookwire_ask::project::TRUST;
use hookwire_base::support::file;
use hookwire_base::support::visible::safe;
use hookwire_base::support::{digest, places};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most files that a project's definitions may have, and how many bytes together.
pub const MAX_FILES: usize = 2_000;
/// See [`MAX_FILES`].
pub const MAX_BYTES: u64 = 16 << 20;
const MAX_DEPTH: usize = 16;
/// How long a `.git` file may be that leads to a repository, in bytes.
const MAX_POINTER: u64 = 8 << 10;
/// What is read of the record of a state, in bytes.
const MAX_RECORD: u64 = 64 << 20;

/// The record of an approval, as it is kept on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The project's root.
    pub root: PathBuf,
    /// When, in RFC 3339.
    pub at: String,
    /// A random text, so that no two states have one name.
    #[serde(default)]
    pub nonce: String,
    /// The files of the copy, by their paths below the root or in full, with the digests of their
    /// contents.
    pub files: BTreeMap<PathBuf, String>,
    /// Files that hooks run where they are; `None` if there was none.
    pub named: BTreeMap<PathBuf, Option<String>>,
    /// Files among the definitions that hooks write: they are no part of what was approved.
    pub written: Vec<PathBuf>,
    /// Links among what is kept, by their paths below the state, with what they lead to.
    #[serde(default)]
    pub links: BTreeMap<PathBuf, PathBuf>,
    /// The programs that hooks start by name. A version that didn't look for them made no record of
    /// them.
    #[serde(default)]
    pub programs: Option<Programs>,
}

/// The places of what a user has approved: the first one that knows a project counts for it.
pub fn stores() -> Vec<PathBuf> {
    places::data_dirs()
        .iter()
        .map(|dir| dir.join(TRUST))
        .collect()
}

/// The place of what is approved of the project at a root from now on, if there is a user: the one
/// that counts for it.
pub fn store(root: &Path) -> Option<PathBuf> {
    let known = stores()
        .into_iter()
        .find(|store| current(store, root).exists());
    known.or_else(|| Some(places::data()?.join(TRUST)))
}

/// The places of a project's approved state, one in each store.
pub fn currents(stores: &[PathBuf], root: &Path) -> Vec<PathBuf> {
    stores.iter().map(|store| current(store, root)).collect()
}

/// Whether anything was approved of the project at a root, broken or not.
pub fn is_approved(root: &Path) -> bool {
    hookwire_ask::project::is_approved(places::data_dirs(), root)
}

/// Whether the definitions of a worktree, and what was kept with them, are what was approved of the
/// repository's first one.
pub(super) fn is_same(first: &Path, worktree: &Path) -> bool {
    let approved = currents(&stores(), first)
        .iter()
        .find_map(|link| State::read(link).transpose());
    let Some(Ok(State { record, .. })) = approved else {
        return false;
    };
    let record = Record {
        root: worktree.to_path_buf(),
        ..record
    };
    record.changed().is_empty()
}

/// Whether a project's definitions aren't in force as they are: if so, whether they were once, in
/// the state that the link leads to, and have changed since.
pub(super) fn is_distrusted(root: &Path, link: Option<&Path>) -> Option<bool> {
    let Some(link) = link else {
        let is_same = || first_worktree(root).is_some_and(|first| is_same(&first, root));
        return (root.join(DEFINITIONS).is_dir() && !is_same()).then_some(false);
    };
    // What is broken denies by itself.
    let state = State::read(link).ok()??;
    (!state.record.changed().is_empty()).then_some(true)
}

/// The directories whose projects somebody who works in `dir` works in, outermost first: those
/// around it, and for a worktree of git's those around the repository that it belongs to. A
/// repository's first worktree is outside of the others, wherever they are.
pub fn around(dir: &Path) -> Vec<PathBuf> {
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    let first = dir.ancestors().find_map(first_worktree);
    let outermost_first = |dir: &Path| {
        dir.ancestors()
            .map(Path::to_path_buf)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
    };
    let mut roots: Vec<PathBuf> = Vec::new();
    for place in first
        .iter()
        .flat_map(|first| outermost_first(first))
        .chain(outermost_first(&dir))
    {
        if !roots.contains(&place) {
            roots.push(place);
        }
    }
    roots
}

/// The first worktree of the repository that a directory is another worktree of.
pub fn first_worktree(dir: &Path) -> Option<PathBuf> {
    let dot_git = dir.join(".git");
    if !fs::metadata(&dot_git).is_ok_and(|about| about.is_file() && about.len() <= MAX_POINTER) {
        return None;
    }
    let text = file::read_text(dot_git).ok()?;
    let git_dir = dir.join(text.strip_prefix("gitdir:")?.trim());
    // Only a worktree has this file: a submodule hasn't.
    let common = file::read_text(git_dir.join("commondir")).ok()?;
    let common = fs::canonicalize(git_dir.join(common.trim())).ok()?;
    if common.ends_with(".git") {
        common.parent().map(Path::to_path_buf)
    } else {
        None
    }
}

/// The name of the directory of a state with this record.
pub fn state_name(record: &[u8]) -> String {
    format!("state-{}", &digest::of_bytes(record)[..16])
}

/// An approved state whose files are as its record says.
#[derive(Clone, Debug)]
pub struct State {
    /// Its record.
    pub record: Record,
    /// Its directory.
    pub place: PathBuf,
}

impl State {
    /// Reads the state that `current` leads to, if there is one, and holds it to its record.
    ///
    /// # Errors
    /// It is broken; for people.
    pub fn read(current: &Path) -> Result<Option<State>, String> {
        let problem = |place: &Path, what: &str| format!("{}: {what}", place.display());
        loop {
            let before = match fs::read_link(current) {
                Ok(before) => before,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(problem(current, &error.to_string())),
            };
            let state = State::at(&current.with_file_name(&before));
            // Whoever approves another state removes older ones; the one that counts now isn't read
            // halfway.
            match state {
                Ok(state) => return Ok(Some(state)),
                Err(_) if fs::read_link(current).ok() != Some(before) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn at(place: &Path) -> Result<State, String> {
        let unread = |error: io::Error| format!("{}: {error}", record_file(place).display());
        let place = fs::canonicalize(place).map_err(unread)?;
        let bytes = file::read_small(&record_file(&place), MAX_RECORD).map_err(unread)?;
        if place.file_name() != Some(OsStr::new(&state_name(&bytes))) {
            return Err(format!("{}: it was changed", record_file(&place).display()));
        }
        let record: Record =
            serde_json::from_slice(&bytes).map_err(|error| unread(error.into()))?;
        record.approved(&place).verify()?;
        Ok(State { record, place })
    }

    /// As definitions that are read from it see it.
    pub fn approved(&self) -> Arc<Approved> {
        Arc::new(self.record.approved(&self.place))
    }
}

/// The message about a broken state of a directory's definitions, and the definitions that stand in
/// for it.
pub fn stand_in(dir: &Path, problem: &str) -> (String, String) {
    let root = dir.parent().unwrap_or(dir).display();
    let message = format!(
        "what was trusted of {root} is broken: {problem}; `hookwire trust {root}` makes it anew"
    );
    let text = deny_gates("broken-trust", &safe(&message));
    (message, text)
}

impl Record {
    fn approved(&self, state: &Path) -> Approved {
        let Record {
            root,
            files,
            named,
            links,
            programs,
            ..
        } = self.clone();
        Approved {
            root,
            state: state.to_path_buf(),
            files,
            named,
            links,
            programs,
            is_bundle: false,
        }
    }

    /// The root that a record names, sound or not: to tell people which project it is about.
    pub fn said_root(state: &Path) -> Option<PathBuf> {
        let record: Record =
            serde_json::from_slice(&file::read_small(&record_file(state), MAX_RECORD).ok()?)
                .ok()?;
        Some(record.root)
    }

    /// Whether it is of the same files, whenever it was made.
    pub fn is_of_the_same(&self, other: &Record) -> bool {
        let of = |it: &Record| it.programs.as_ref().map(|programs| programs.found.clone());
        self.files == other.files
            && self.named == other.named
            && self.links == other.links
            && of(self) == of(other)
    }

    /// The files that aren't as they were, by their paths, relative ones below the root.
    pub fn changed(&self) -> Vec<PathBuf> {
        let mut changed: Vec<PathBuf> = Vec::new();
        let mut add = |path: &Path| {
            if !changed.iter().any(|it| it == path) {
                changed.push(path.to_path_buf());
            }
        };
        let is_as_it_was =
            |path: &Path, digest: &Option<String>| digest_of(path).is_ok_and(|now| now == *digest);
        for (path, digest) in &self.files {
            if !is_as_it_was(&self.root.join(path), &Some(digest.clone())) {
                add(path);
            }
        }
        let dir = self.root.join(DEFINITIONS);
        let leads_away = fs::canonicalize(&dir).is_ok_and(|real| !real.starts_with(&self.root));
        let _ = walk(&self.root, &dir, &mut |path, about| {
            if about.is_file()
                && !self.files.contains_key(path)
                && !self.written.iter().any(|it| it == path)
            {
                add(path);
            }
            Ok(())
        });
        if leads_away {
            add(DEFINITIONS.as_ref());
        }
        let runs_as_it_did = |path: &Path, content: &Option<String>| {
            content_of(path).is_ok_and(|now| now == *content)
        };
        for (path, _) in self
            .named
            .iter()
            .filter(|(path, content)| !runs_as_it_did(path, content))
        {
            add(path.strip_prefix(&self.root).unwrap_or(path));
        }
        changed
    }
}

/// Visits the directories and regular files in a directory of a project, itself included, by their
/// paths below its root. Editors' and interpreters' leftovers don't count.
///
/// # Errors
/// A directory can't be read, is too deep or leads out of the project, there are too many files, or
/// `visit` errs.
pub fn walk(
    root: &Path,
    dir: &Path,
    visit: &mut impl FnMut(&Path, &Metadata) -> io::Result<()>,
) -> io::Result<()> {
    let real_root = fs::canonicalize(root)?;
    let mut left = MAX_FILES;
    let mut dirs = vec![(dir.to_path_buf(), 0)];
    while let Some((dir, depth)) = dirs.pop() {
        visit(dir.strip_prefix(root).unwrap_or(&dir), &fs::metadata(&dir)?)?;
        let bad = |path: &Path, problem: &str| {
            Err(io::Error::other(format!("{}: {problem}", path.display())))
        };
        if depth > MAX_DEPTH {
            return bad(&dir, "too many directories are inside one another");
        }
        let mut entries = fs::read_dir(&dir)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (name, path) = (entry.file_name(), entry.path());
            if is_hidden(&name) || name == "__pycache__" {
                continue;
            }
            // A link to nothing is nothing.
            let Ok(about) = fs::metadata(&path) else {
                continue;
            };
            if entry.file_type()?.is_symlink() && !fs::canonicalize(&path)?.starts_with(&real_root)
            {
                return bad(&path, "it leads out of the project");
            }
            if about.is_dir() {
                dirs.push((path, depth + 1));
            } else if about.is_file() {
                left = match left.checked_sub(1) {
                    Some(left) => left,
                    None => return bad(&dir, &format!("there are more than {MAX_FILES} files")),
                };
                visit(path.strip_prefix(root).unwrap_or(&path), &about)?;
            }
        }
    }
    Ok(())
}
