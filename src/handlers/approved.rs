//! What a person has approved of a project: its definitions are read from a copy that only they make anew, and the
//! files that a hook runs where they are must be as they were then.

use crate::contract::PROJECT_VARIABLES;
use crate::matching::paths::normalise;
use crate::matching::shell::{self, Shell};
use crate::support::digest;
use crate::support::file::{Signature, signature};
use crate::support::places;
use crate::support::shell_word;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// The approved state of a project: a directory that is never changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Approved {
    /// The project's root.
    pub root: PathBuf,
    /// The directory with all that is kept.
    pub state: PathBuf,
    /// The files of the copy, by their paths below the root or in full, with the digests of their contents.
    pub files: BTreeMap<PathBuf, String>,
    /// Files that hooks run where they are, with the digests of their contents; `None` if there was none.
    pub named: BTreeMap<PathBuf, Option<String>>,
}

/// The file that holds the record, in an approved state.
pub fn record_file(state: &Path) -> PathBuf {
    state.join("record.json")
}

/// The copy of the project's files, in an approved state.
pub fn tree(state: &Path) -> PathBuf {
    state.join("tree")
}

/// Where the copy of a file is in an approved state: of one below the root, or of another one by its full path.
pub fn copy_of(state: &Path, file: &Path) -> PathBuf {
    match file.strip_prefix("/") {
        Ok(rest) => state.join("outside").join(rest),
        Err(_) => tree(state).join(file),
    }
}

impl Approved {
    /// Where a directory of the copy is in the project.
    pub(super) fn original(&self, dir: &Path) -> PathBuf {
        dir.strip_prefix(tree(&self.state)).map_or_else(|_| dir.to_path_buf(), |rest| self.root.join(rest))
    }

    /// Looks whether the copy is what was approved, all of it and nothing else: what lies beside a script may be loaded
    /// in the place of what the script names.
    ///
    /// # Errors
    /// It isn't, or can't be read; for people.
    pub(crate) fn verify(&self) -> Result<(), String> {
        let mut expected = BTreeSet::from([record_file(&self.state)]);
        for (file, digest) in &self.files {
            let copy = copy_of(&self.state, file);
            let is_file = fs::symlink_metadata(&copy).is_ok_and(|about| about.is_file());
            match digest_of(&copy) {
                Ok(Some(now)) if is_file && now == *digest => {}
                Ok(Some(_)) => return Err(format!("the copy of `{}` was changed", file.display())),
                Ok(None) => return Err(format!("the copy of `{}` is gone", file.display())),
                Err(error) => return Err(format!("the copy of `{}`: {error}", file.display())),
            }
            let ancestors = copy.ancestors().take_while(|it| *it != self.state).map(Path::to_path_buf);
            expected.extend(ancestors);
        }
        let mut dirs = vec![self.state.clone()];
        while let Some(dir) = dirs.pop() {
            let unread = |error: io::Error| format!("{}: {error}", dir.display());
            for entry in fs::read_dir(&dir).map_err(unread)? {
                let entry = entry.map_err(unread)?;
                let path = entry.path();
                if !expected.contains(&path) {
                    let shown = path.strip_prefix(&self.state).unwrap_or(&path).display();
                    return Err(format!("the copy has `{shown}`, which nobody has trusted"));
                }
                if entry.file_type().map_err(unread)?.is_dir() {
                    dirs.push(path);
                }
            }
        }
        Ok(())
    }

    /// What must be unchanged for a hook that runs these files. Those of the copy are.
    pub(crate) fn pins(self: &Arc<Self>, files: Vec<PathBuf>) -> Option<Pins> {
        let files: Vec<PathBuf> = files.into_iter().filter(|file| !file.starts_with(&self.state)).collect();
        (!files.is_empty()).then(|| Pins { approved: self.clone(), files })
    }
}

/// Files that a hook runs, that must be as they were when they were approved.
#[derive(Clone, Debug)]
pub struct Pins {
    approved: Arc<Approved>,
    /// Relative ones start where the hook runs.
    files: Vec<PathBuf>,
}

impl Pins {
    /// Looks at every file, for a hook that runs in `cwd`. It reads those that look changed.
    ///
    /// # Errors
    /// One is another than the one that was approved.
    pub fn check(&self, cwd: &Path) -> Result<(), String> {
        for file in &self.files {
            let path = normalise(&cwd.join(file));
            let now = digest_of(&path).map_err(|error| format!("run `{}`: {error}", path.display()))?;
            let approved = self.approved.named.get(&path).cloned().flatten();
            if now.is_some() && now != approved {
                let what = if approved.is_some() { "it has changed since then" } else { "it wasn't there then" };
                return Err(format!("run `{}`, as it was trusted: {what}; see `hookwire trust`", path.display()));
            }
        }
        Ok(())
    }
}

type Seen = HashMap<PathBuf, (Signature, String)>;

/// What files that were read looked like. An interpreter has many megabytes.
static SEEN: LazyLock<Mutex<Seen>> = LazyLock::new(Mutex::default);
const MAX_SEEN: usize = 1024;

/// The digest of a file's content, `None` if there is no such file.
///
/// # Errors
/// It can't be read, or is no regular file.
pub fn digest_of(path: &Path) -> io::Result<Option<String>> {
    let Some(before) = signature(path) else { return Ok(None) };
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

/// The files that a shell text runs, as far as it names them: programs by their paths, and scripts. A relative one
/// starts where the text runs, unless that's known. `root` is what [`PROJECT_VARIABLES`] stand for.
pub(super) fn run_by_text(text: &str, cwd: Option<&Path>, root: &Path) -> Vec<PathBuf> {
    let root = root.to_string_lossy();
    let word = shell_word::argument(&root);
    let spellings = PROJECT_VARIABLES.iter().flat_map(|name| [format!("${{{name}}}"), format!("${name}")]);
    let text = spellings.fold(text.to_string(), |text, variable| match word == root {
        // Within quotes or without.
        true => text.replace(&variable, &word),
        false => text.replace(&format!("\"{variable}\""), &variable).replace(&variable, &word),
    });
    let text = places::home().map_or_else(|| text.clone(), |home| with_home(&text, &home.to_string_lossy()));
    let script = shell::read(&text, Shell::Posix);
    script.files().map(|name| cwd.map_or_else(|| name.into(), |cwd| cwd.join(name))).collect()
}

/// A text with the home directory where a shell puts it: for `$HOME`, and for a `~` that begins a word.
fn with_home(text: &str, home: &str) -> String {
    if shell_word::argument(home) != home {
        return text.to_string();
    }
    let text = text.replace("${HOME}", home).replace("$HOME/", &format!("{home}/"));
    let mut rest = text.as_str();
    let mut expanded = String::with_capacity(text.len());
    while let Some(at) = rest.find("~/") {
        let before = &rest[..at];
        let is_first = expanded.is_empty() && before.is_empty();
        expanded.push_str(before);
        expanded.push_str(if is_first || before.ends_with([' ', '\t', '\n', ';', '&', '|', '(']) { home } else { "~" });
        rest = &rest[at + 1..];
    }
    expanded + rest
}

/// The same of a program with its arguments.
pub(super) fn run_by_words<'w>(words: impl Iterator<Item = &'w str>, cwd: Option<&Path>, root: &Path) -> Vec<PathBuf> {
    run_by_text(&shell_word::command(words), cwd, root)
}
