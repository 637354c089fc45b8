//! What stands in the directories of definitions: their files, where links lead, and what is to be
//! watched.

use super::approved::{self, State};
use super::cases::{is_cases_file, is_definition_file};
use super::file_state::{FileState, file_problem};
use super::layer_dir::{Kept, LayerDir, is_hidden};
use super::links::Links;
use super::untrusted::Distrusted;
use hookwire_base::support::file::{Signature, identity, signature};
use hookwire_base::syntax::diagnostic::{Diagnostic, LineIndex, Severity};
use hookwire_base::syntax::problem::Problem;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MAX_FILES: usize = 20_000;
const MAX_DEPTH: usize = 16;

/// No definitions of a project are in force.
pub const NOT_TRUSTED: &str = "not-trusted";
/// Other definitions of a project are in force than it has now.
pub const CHANGED_SINCE: &str = "changed-since-trusted";

/// What a person can do with definitions that aren't in force.
const TRUST_SHOWS: &str = "`hookwire trust` shows it and asks whether it is to be in force";

/// Whether a diagnostic says that definitions aren't in force as they are, which is no mistake of
/// theirs. Its file is their directory.
pub fn is_about_trust(diagnostic: &Diagnostic) -> bool {
    [NOT_TRUSTED, CHANGED_SINCE].contains(&&*diagnostic.code)
}

/// The directories to watch, by their real paths, and what of each matters.
pub type Watch = BTreeMap<PathBuf, Interest>;

/// Which entries of a watched directory matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// It holds definitions: whatever may be one.
    pub all: bool,
    /// These names besides: they lead to definitions. Without names, only the directory itself
    /// matters: it may be moved.
    pub names: BTreeSet<OsString>,
    /// Some of them are files that are read.
    pub contents: bool,
}

/// A file's layer, by its number, and its path.
pub(super) type Key = (usize, PathBuf);
pub(super) type Files = BTreeMap<Key, Arc<FileState>>;

/// A file that has lost hooks: since when it looks like this. One that isn't there looks like the
/// directory around it, which changes when the file comes and goes between two looks.
#[derive(Clone, Copy)]
pub(super) struct Loss {
    pub(super) since: Instant,
    pub(super) looks: Option<Signature>,
}

/// A name that may be a definition file.
pub(super) struct Found {
    /// As people know it.
    pub(super) path: PathBuf,
    /// Without symlinks, as far as it leads anywhere.
    pub(super) real: PathBuf,
    /// `None` if it leads nowhere.
    pub(super) signature: Option<Signature>,
    /// It was found in a directory; otherwise somebody has named it.
    pub(super) is_found: bool,
}

/// One walk over the directories.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) files: Files,
    pub(super) problems: Vec<Diagnostic>,
    pub(super) watch: Watch,
    pub(super) links: Links,
    pub(super) restless: HashMap<PathBuf, Signature>,
    pub(super) losses: HashMap<Key, Loss>,
    pub(super) unsettled: bool,
    pub(super) again: Option<Duration>,
    /// A file was changed after the wait for quiet: others may be of the same change.
    pub(super) is_early: bool,
    pub(super) looked_at: Vec<Found>,
    pub(super) directories: Vec<(PathBuf, Signature)>,
    /// The directory of the fleet's definitions.
    pub(super) published_in: Option<Arc<Path>>,
    /// Of each layer's directory, whether it isn't there.
    pub(super) is_missing: Vec<bool>,
    /// Directories that were walked, by what names them, with the layer and the path by which they
    /// were reached first.
    walked: HashMap<(u64, u64), (usize, PathBuf)>,
    /// Files that were read, by their real paths, with the path by which they were reached first.
    pub(super) loaded: HashMap<PathBuf, PathBuf>,
    // Of one layer's directory.
    pub(super) index: usize,
    pub(super) found: Vec<Found>,
    /// Directories that can't be read, and what is said of each.
    pub(super) unreadable: Vec<(PathBuf, String)>,
    /// Files that aren't read and look like definitions.
    pub(super) passed_over: Vec<PathBuf>,
    /// Definitions of projects that aren't in force as they are, because nobody has approved them.
    pub(super) distrusted: Vec<Distrusted>,
}

impl Scan {
    /// Says how a project differs from its approved state, if it has one, and gives that with its
    /// place.
    ///
    /// # Errors
    /// The approved state that a link leads to is broken. It counts all the same: another store's
    /// would be an older one.
    pub(super) fn compare(
        &mut self,
        dir: &LayerDir,
        is_own: bool,
        links: &[PathBuf],
    ) -> Result<Option<State>, (PathBuf, String)> {
        // All are followed, because each may come to lead somewhere.
        for link in links {
            let real = self.follow_path(link);
            self.leads(real, OsStr::new("record.json"));
        }
        let root = dir.path.parent().unwrap_or(Path::new("/"));
        let counts_approved = matches!(dir.kept, Kept::Approved(_));
        let is_there = dir.path.is_dir();
        // Definitions that come to be in a directory around the project are in force when somebody
        // trusts them, which turns a link; until then, nobody is told of them before the next load.
        if is_there || is_own {
            self.follow_path(&dir.path);
        }
        let read = |link: &PathBuf| {
            State::read(link)
                .map_err(|problem| (link.clone(), problem))
                .transpose()
        };
        let Some(state) = links.iter().find_map(read).transpose()? else {
            if is_there {
                let mut message =
                    "nobody has trusted these definitions: none of them is in force".to_string();
                let first =
                    approved::first_worktree(root).filter(|first| approved::is_approved(first));
                let is_as_first = || first.as_ref().is_some_and(|it| approved::is_same(it, root));
                if counts_approved && !is_as_first() {
                    self.distrust(root, false);
                }
                if first.is_some() {
                    // What is the same as the first worktree's may change.
                    self.watch_all(&dir.path);
                }
                if let Some(first) = &first {
                    let first = first.display();
                    message.push_str(&format!(
                        "; what was trusted of {first}, the repository's first worktree, is"
                    ));
                }
                self.tell_distrust(dir, NOT_TRUSTED, message, TRUST_SHOWS);
            }
            return Ok(None);
        };
        let record = &state.record;
        let changed = record.changed();
        let first = changed
            .iter()
            .find(|path| !is_cases_file(path))
            .or(changed.first());
        if let Some(first) = first {
            let more = changed.len() - 1;
            let others = if more == 0 {
                String::new()
            } else {
                format!(" and {more} more")
            };
            let message = format!(
                "`{}`{others} changed since somebody trusted these definitions; what was trusted stays in force",
                first.display()
            );
            let help = if is_there {
                TRUST_SHOWS
            } else {
                "`hookwire trust revoke` takes it out of force"
            };
            self.tell_distrust(dir, CHANGED_SINCE, message, help);
            if counts_approved {
                self.distrust(root, true);
            }
        }
        if is_there {
            self.watch_all(&dir.path);
        }
        for path in record
            .files
            .keys()
            .map(|path| root.join(path))
            .chain(record.named.keys().cloned())
        {
            if let Some((parent, name)) = path.parent().zip(path.file_name()) {
                self.leads(parent.to_path_buf(), name);
            }
        }
        for copy in record
            .files
            .keys()
            .map(|path| approved::copy_of(&state.place, path))
        {
            if let Some((parent, name)) = copy.parent().zip(copy.file_name()) {
                self.leads(parent.to_path_buf(), name);
            }
        }
        Ok(Some(state))
    }

    fn distrust(&mut self, root: &Path, has_changed: bool) {
        self.distrusted.push(Distrusted {
            index: self.index,
            root: root.into(),
            has_changed,
        });
    }

    fn tell_distrust(&mut self, dir: &LayerDir, code: &'static str, message: String, help: &str) {
        let mut problem = file_problem(code, message);
        problem.severity = Severity::Warning;
        problem.help = Some(help.into());
        self.problems.push(at_path(&dir.path, problem));
    }

    /// Whether a directory was reached by an outer layer already, which is told: its hooks run
    /// once.
    pub(super) fn is_loaded_by_outer(&mut self, metadata: &Metadata, path: &Path) -> bool {
        let Some((index, known_as)) = self.walked.get(&identity(metadata)) else {
            return false;
        };
        let is_outer = *index != self.index;
        if is_outer {
            let known_as = known_as.clone();
            self.tell_twice("directory", path, &known_as);
        }
        is_outer
    }

    /// Whether a file is loaded already, in an outer layer or in this one.
    pub(super) fn is_loaded_already(&mut self, found: &Found) -> bool {
        let Some(known_as) = self.loaded.get(&found.real).cloned() else {
            // A link that leads nowhere is a mistake in each place where it stands.
            if found.signature.is_some() {
                self.loaded.insert(found.real.clone(), found.path.clone());
            }
            return false;
        };
        self.tell_twice("file", &found.path, &known_as);
        true
    }

    fn tell_twice(&mut self, what: &str, path: &Path, known_as: &Path) {
        let message = if path == known_as {
            format!("this {what} is named twice; it counts once, in the outer layer")
        } else {
            format!(
                "this is the {what} {}, which counts: its hooks run once",
                known_as.display()
            )
        };
        let problem = Problem {
            severity: Severity::Warning,
            ..file_problem("loaded-twice", message)
        };
        self.problems.push(at_path(path, problem));
    }

    /// Whether everything still looks as it was found.
    pub(super) fn is_still_true(&self) -> bool {
        self.directories
            .iter()
            .all(|(path, it)| signature(path) == Some(*it))
            && self
                .looked_at
                .iter()
                .all(|it| signature(&it.path) == it.signature)
    }

    /// Watches a directory that isn't read, and those in it.
    fn watch_all(&mut self, dir: &Path) {
        let real = self.links.real(dir);
        self.watch.entry(real).or_default().all = true;
        let mut dirs = vec![(dir.to_path_buf(), 0)];
        while let Some((dir, depth)) = dirs.pop() {
            let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
            for path in entries
                .map(|entry| entry.path())
                .filter(|path| depth < MAX_DEPTH && path.is_dir())
            {
                let real = self.links.real(&path);
                self.watch.entry(real).or_default().all = true;
                dirs.push((path, depth + 1));
            }
        }
    }

    /// Collects the definition files of a directory. `real` is where it is, `path` how it is known.
    pub(super) fn directory(&mut self, path: &Path, real: &Path, depth: usize) {
        // A directory is walked once, whatever leads to it.
        if let Ok(metadata) = fs::metadata(real) {
            if self.is_loaded_by_outer(&metadata, path) {
                return;
            }
            match self.walked.entry(identity(&metadata)) {
                Entry::Occupied(_) => return,
                Entry::Vacant(entry) => entry.insert((self.index, path.to_path_buf())),
            };
        }
        if depth > MAX_DEPTH {
            let message = format!(
                "more than {MAX_DEPTH} directories are inside one another; this one is not read"
            );
            self.problems
                .push(path_diagnostic(path, "too-deep", message));
            return;
        }
        self.watch.entry(real.to_path_buf()).or_default().all = true;
        let listing = fs::metadata(real).and_then(|metadata| {
            self.directories
                .push((real.to_path_buf(), Signature::from_metadata(&metadata)));
            fs::read_dir(real)?.collect::<io::Result<Vec<_>>>()
        });
        let entries = match listing {
            Ok(entries) => entries,
            // It was deleted while we looked: a deletion like any other.
            Err(error) if error.kind() == io::ErrorKind::NotFound && depth > 0 => return,
            Err(error) => {
                self.unreadable.push((
                    path.to_path_buf(),
                    format!("failed to read the directory: {error}"),
                ));
                return;
            }
        };
        for entry in entries {
            let name = entry.file_name();
            if is_hidden(&name) {
                continue;
            }
            let (path, mut target) = (path.join(&name), real.join(&name));
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                target = self.follow(real, Path::new(&name));
            }
            let metadata = fs::metadata(&target).ok();
            let is_definition = is_found_as_definitions(Path::new(&name));
            match metadata {
                Some(metadata) if metadata.is_dir() && !is_definition => {
                    self.directory(&path, &target, depth + 1)
                }
                metadata if is_definition => {
                    if self.looked_at.len() + self.found.len() < MAX_FILES {
                        let signature = metadata.as_ref().map(Signature::from_metadata);
                        self.found.push(Found {
                            path,
                            real: target,
                            signature,
                            is_found: true,
                        });
                    } else if !self.problems.iter().any(|it| it.code == "too-many-files") {
                        let message = format!(
                            "more than {MAX_FILES} definition files; the rest are not read"
                        );
                        self.problems
                            .push(path_diagnostic(&path, "too-many-files", message));
                    }
                }
                _ if is_nearly_definition(Path::new(&name)) => self.passed_over.push(path),
                _ => {}
            }
        }
    }

    /// Says which files aren't read and look like definitions.
    pub(super) fn tell_passed_over(&mut self) {
        for path in std::mem::take(&mut self.passed_over) {
            let message =
                "it isn't read: definitions are in files that end in .yaml, .yml, .toml or .json";
            let problem = file_problem("not-definitions", message.into());
            let problem = Problem {
                severity: Severity::Warning,
                ..problem
            };
            self.problems.push(at_path(&path, problem));
        }
    }

    /// Where a path leads; what may change that is watched.
    pub(super) fn follow_path(&mut self, path: &Path) -> PathBuf {
        let real = self.follow(Path::new("/"), path);
        if let Some((parent, name)) = path.parent().zip(path.file_name()) {
            let parent = self.links.real(parent);
            // The kernel tells that a directory itself is moved, so others' changes beside it are
            // of no interest.
            if cfg!(target_os = "linux") && real.is_dir() {
                self.watch.entry(parent).or_default();
            } else if parent.exists() {
                self.leads(parent, name);
            }
        }
        real
    }

    /// Watches every symlink on a way: it can be pointed elsewhere. What doesn't exist can appear.
    fn follow(&mut self, dir: &Path, path: &Path) -> PathBuf {
        let Scan { links, watch, .. } = self;
        links.follow(dir, path, |dir, name| leads(watch, dir, name))
    }

    pub(super) fn leads(&mut self, dir: PathBuf, name: &OsStr) {
        leads(&mut self.watch, dir, name);
    }
}

fn leads(watch: &mut Watch, dir: PathBuf, name: &OsStr) {
    let is_file = fs::symlink_metadata(dir.join(name)).is_ok_and(|it| it.is_file());
    let interest = watch.entry(dir).or_default();
    interest.names.insert(name.to_os_string());
    interest.contents |= is_file;
}

/// Whether a file below a directory of definitions is read as one.
pub(crate) fn is_found_as_definitions(path: &Path) -> bool {
    let is_of_others = OF_OTHERS
        .iter()
        .any(|it| path.file_name().is_some_and(|name| name == *it));
    is_definition_file(path) && !is_of_others && !path.iter().any(is_hidden)
}

/// Whether a name has an ending of definitions, or nearly, and is none: `guard.jsonc`,
/// `guard.yaml.txt`.
fn is_nearly_definition(name: &Path) -> bool {
    let text = name.to_string_lossy().to_ascii_lowercase();
    let mut endings = text.split('.').skip(1);
    !is_definition_file(name)
        && !is_cases_file(name)
        && endings.any(|it| ENDINGS.contains(&it) || is_misspelt(it))
}

const ENDINGS: [&str; 4] = ["yaml", "yml", "toml", "json"];

/// Whether a name ends in a slip of an ending of definitions: `guard.ymal`.
pub(super) fn has_misspelt_ending(name: &Path) -> bool {
    name.extension()
        .is_some_and(|it| is_misspelt(&it.to_string_lossy().to_ascii_lowercase()))
}

fn is_misspelt(ending: &str) -> bool {
    // Recorded events and reports may stand beside definitions.
    let is_another = ["jsonl", "xml"].contains(&ending) || ENDINGS.contains(&ending);
    let is_word = ending.len() > 2 && ending.chars().all(|c| c.is_ascii_alphanumeric());
    !is_another
        && is_word
        && ENDINGS
            .iter()
            .any(|it| strsim::osa_distance(it, ending) == 1)
}

pub(super) fn path_diagnostic(path: &Path, code: &'static str, message: String) -> Diagnostic {
    at_path(path, file_problem(code, message))
}

/// A problem of a file or a directory as a whole.
pub(super) fn at_path(path: &Path, problem: Problem) -> Diagnostic {
    problem.into_diagnostic(
        &path.display().to_string(),
        LineIndex::new("").range(&(0..0)),
    )
}

/// Files of other tools, which people keep beside their definitions.
const OF_OTHERS: [&str; 11] = [
    "Cargo.toml",
    "compose.yaml",
    "compose.yml",
    "composer.json",
    "docker-compose.yaml",
    "docker-compose.yml",
    "jsconfig.json",
    "package-lock.json",
    "package.json",
    "pyproject.toml",
    "tsconfig.json",
];
