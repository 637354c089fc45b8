//! A repository of git, as far as rules ask about it: read from its files, because git itself would
//! run what the repository's settings name.
//!
//! A look that fails is told, and never taken for "there is none".

use super::paths;
use hookwire_ask::look::is_nothing;
use hookwire_base::support::file::read_small;
use std::io;
use std::path::{Path, PathBuf};

/// The largest file of a repository that is read, in bytes.
const MOST: u64 = 4 << 20;
/// So many remotes are looked at.
const MOST_REMOTES: usize = 32;
/// So many files of settings are read for one command.
const MOST_FILES: usize = 32;

/// A repository, from a directory in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repository {
    /// The root of the work tree; the repository itself if it has none.
    pub(super) root: PathBuf,
    /// What this work tree has of its own.
    own: PathBuf,
    /// What all of its work trees share.
    common: PathBuf,
}

/// What is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A branch, which may have no commit yet.
    Branch(String),
    /// A commit.
    Detached,
}

type Told<T> = Result<T, &'static str>;

const UNREAD: &str = "the repository can't be read";

impl Repository {
    /// The repository that a directory is in, if it is in one.
    ///
    /// # Errors
    /// It can't be told, in words for people.
    pub(super) fn find(directory: &Path) -> Told<Option<Repository>> {
        // It may be made by what runs before.
        if !directory.is_dir() {
            return Err("the directory isn't there yet");
        }
        let directory = directory.canonicalize().map_err(|_| UNREAD)?;
        for root in directory.ancestors() {
            let dot = root.join(".git");
            let own = match dot.symlink_metadata() {
                Ok(_) if dot.is_dir() => dot,
                Ok(_) => {
                    let text = read(&dot)?.ok_or(UNREAD)?;
                    let path = text.strip_prefix("gitdir:").ok_or(UNREAD)?.trim();
                    root.join(path)
                }
                Err(error) if is_nothing(&error) => {
                    if !is_bare(root) {
                        continue;
                    }
                    root.to_path_buf()
                }
                Err(_) => return Err(UNREAD),
            };
            if root.join(".jj").exists() {
                return Err("jj has a repository there, too");
            }
            let common = match read(&own.join("commondir"))? {
                Some(path) => own.join(path.trim()),
                None => own.clone(),
            };
            return Ok(Some(Repository {
                root: root.to_path_buf(),
                own,
                common,
            }));
        }
        Ok(None)
    }

    /// Whether this is the same work tree of the same repository.
    pub(super) fn is_same(&self, other: &Repository) -> bool {
        self.own == other.own
    }

    /// What is checked out.
    pub(super) fn head(&self) -> Told<Head> {
        let file = self.own.join("HEAD");
        // As it was long ago.
        if file.is_symlink() {
            return Err("what is checked out is a link");
        }
        let text = read(&file)?.ok_or(UNREAD)?;
        let text = text.trim();
        match text.strip_prefix("ref:").map(str::trim) {
            // Where references are kept in tables, the file says nothing.
            Some("refs/heads/.invalid") => Err("the repository keeps its references in tables"),
            Some(name) => match name.strip_prefix("refs/heads/") {
                Some(branch) => {
                    self.own_name(branch)?;
                    Ok(Head::Branch(branch.to_string()))
                }
                None => Ok(Head::Detached),
            },
            None if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                Ok(Head::Detached)
            }
            None => Err(UNREAD),
        }
    }

    /// Whether there is such a branch here, or one of a remote that is checked out by its name.
    pub(super) fn has_branch(&self, name: &str) -> Told<bool> {
        let is_there = |reference: &str| -> Told<bool> {
            match self.common.join(reference).symlink_metadata() {
                Ok(metadata) => Ok(metadata.is_file()),
                Err(error) if is_nothing(&error) => Ok(false),
                Err(_) => Err(UNREAD),
            }
        };
        if is_there(&format!("refs/heads/{name}"))? {
            self.own_name(name)?;
            return Ok(true);
        }
        for remote in self.remotes()? {
            if is_there(&format!("refs/remotes/{remote}/{name}"))? {
                return Ok(true);
            }
        }
        let packed = read(&self.common.join("packed-refs"))?.unwrap_or_default();
        Ok(packed.lines().any(|line| {
            let reference = line.split_once(' ').map_or("", |(_, reference)| reference);
            let own = reference.strip_prefix("refs/heads/");
            let others = || {
                let behind = reference.strip_prefix("refs/remotes/")?;
                behind.split_once('/').map(|(_, name)| name)
            };
            own.or_else(others) == Some(name)
        }))
    }

    /// Nothing if a branch goes by its own name alone.
    fn own_name(&self, branch: &str) -> Told<()> {
        let text = read(&self.common.join("refs/heads").join(branch))?;
        match text.is_some_and(|text| text.starts_with("ref:")) {
            true => Err("the branch is another name of one"),
            false => Ok(()),
        }
    }

    /// Whether settings stand beside those of the repository: a work tree's own, or a remote's as
    /// they were kept long ago.
    pub(super) fn has_old_settings(&self, remote: Option<&str>) -> bool {
        let is_there =
            |path: PathBuf| !matches!(path.symlink_metadata(), Err(error) if is_nothing(&error));
        let remote = remote.unwrap_or("origin");
        is_there(self.own.join("config.worktree"))
            || is_there(self.common.join("remotes").join(remote))
            || is_there(self.common.join("branches").join(remote))
    }

    /// The branches that remotes have checked out, which is what a clone begins with.
    pub(super) fn default_branches(&self) -> Told<Vec<String>> {
        let mut found = Vec::new();
        for remote in self.remotes()? {
            let beginning = format!("refs/remotes/{remote}/");
            let head = read(&self.common.join(&beginning).join("HEAD"))?;
            let named = head.as_deref().and_then(|text| {
                text.trim()
                    .strip_prefix("ref:")?
                    .trim()
                    .strip_prefix(&beginning)
            });
            found.extend(named.map(str::to_string));
        }
        Ok(found)
    }

    /// The remotes from which something is here.
    fn remotes(&self) -> Told<Vec<String>> {
        let entries = match std::fs::read_dir(self.common.join("refs/remotes")) {
            Ok(entries) => entries,
            Err(error) if is_nothing(&error) => return Ok(Vec::new()),
            Err(_) => return Err(UNREAD),
        };
        let names = entries
            .take(MOST_REMOTES)
            .map(|entry| Ok(entry.map_err(|_| UNREAD)?.file_name().into_string().ok()));
        names.filter_map(Result::transpose).collect()
    }

    /// The values of the repository's own settings: each with its section and its name, in small
    /// letters but for what stands in quotes: `remote.origin.url`.
    ///
    /// # Errors
    /// There are more elsewhere, or they can't be read.
    pub(super) fn settings(&self) -> Told<Vec<(String, String)>> {
        let text = read(&self.common.join("config"))?.unwrap_or_default();
        let found = settings_of(&text);
        match found.iter().any(|(name, _)| name.starts_with("include")) {
            true => Err("the repository's settings include others"),
            false => Ok(found),
        }
    }

    /// Adds the repository's own settings, with what they include.
    ///
    /// # Errors
    /// They can't be read.
    pub(super) fn all_settings(&self, settings: &mut Settings) -> Told<()> {
        settings.add(&self.common.join("config"))
    }
}

/// Settings of git from several files, in their order.
#[derive(Clone, Default)]
pub(super) struct Settings {
    pub(super) found: Vec<(String, String)>,
    n_files: usize,
}

impl Settings {
    /// Adds what a file says, and what it includes under whatever condition.
    ///
    /// # Errors
    /// One can't be read, or there are too many.
    pub(super) fn add(&mut self, path: &Path) -> Told<()> {
        self.n_files += 1;
        if self.n_files > MOST_FILES {
            return Err("git's settings include too many files");
        }
        let Some(text) = read(path)? else {
            return Ok(());
        };
        for (name, value) in settings_of(&text) {
            if name.starts_with("include") && name.ends_with(".path") {
                let included = match value.strip_prefix("~/") {
                    Some(rest) => paths::home().ok_or(UNREAD)?.join(rest),
                    None => path.parent().unwrap_or(path).join(value),
                };
                self.add(&included)?;
            } else {
                self.found.push((name, value));
            }
        }
        Ok(())
    }
}

fn settings_of(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    // A backslash at a line's end joins it with the next one.
    let joined = text.replace("\\\r\n", "").replace("\\\n", "");
    for line in joined.lines().map(str::trim) {
        let (head, line) = match line.strip_prefix('[').and_then(|it| it.split_once(']')) {
            // A value may stand on the line of its section.
            Some((head, rest)) => (Some(head), rest.trim()),
            None => (None, line),
        };
        if let Some(head) = head {
            section = match head.split_once(' ') {
                Some((name, sub)) => {
                    format!(
                        "{}.{}",
                        name.to_ascii_lowercase(),
                        sub.trim().trim_matches('"')
                    )
                }
                None => head.to_ascii_lowercase(),
            };
        }
        if let Some((name, value)) = line.split_once('=') {
            let name = name.trim().to_ascii_lowercase();
            let value = value.trim().trim_matches('"').to_string();
            found.push((format!("{section}.{name}"), value));
        }
    }
    found
}

/// The text of a small file; nothing if it isn't there.
fn read(path: &Path) -> Told<Option<String>> {
    match read_small(path, MOST) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| UNREAD),
        Err(error) if is_nothing(&error) || error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(_) => Err(UNREAD),
    }
}

/// Whether a directory is a repository without a work tree.
fn is_bare(directory: &Path) -> bool {
    directory.join("HEAD").is_file()
        && directory.join("objects").is_dir()
        && directory.join("refs").is_dir()
}
