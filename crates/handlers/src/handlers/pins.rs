//! What must be as a person has approved it when a process starts, and still when it has ended:
//! between the look at a file and its start, somebody else may put another one in its place.

use super::approved::{Approved, copy_of};
use super::programs::is_the_systems;
use hookwire_base::support::digest;
use hookwire_base::support::file::{Signature, signature};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a process is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pins {
    pub(super) approved: Arc<Approved>,
    /// The files that it is told to run, each where it is run.
    pub(super) files: Vec<PathBuf>,
    /// The programs that it looks for by name.
    pub(super) names: Vec<String>,
}

/// What the files looked like when they were read; `None`: there was none.
#[derive(Debug)]
pub struct Seal(BTreeMap<PathBuf, Option<Signature>>);

/// A larger file isn't read at each start, if it looks as it did when it was read.
const MAX_READ: u64 = 1 << 20;

impl Pins {
    /// Looks at everything.
    ///
    /// # Errors
    /// Something isn't as it was approved; finishes "failed to ...".
    pub fn check(&self) -> Result<Seal, String> {
        let approved = &self.approved;
        approved
            .verify()
            .map_err(|problem| match approved.is_bundle {
                true => format!("run what was published: {problem}"),
                false => format!("run what was trusted: {problem}; see `hookwire trust`"),
            })?;
        for name in &self.names {
            approved
                .programs
                .as_ref()
                .map_or(Ok(Path::new("")), |programs| programs.place(name))?;
        }
        let mut seen = BTreeMap::new();
        for file in &self.files {
            let shown = file.display();
            let trusted = approved.digest_of(file);
            if approved.is_bundle && trusted.is_none() {
                continue;
            }
            let Some(before) = signature(file) else {
                // Whoever is about to put another one there has taken it away for a moment.
                if trusted.is_some() {
                    return Err(format!(
                        "run `{shown}`, as it was trusted: it is gone; see `hookwire trust`"
                    ));
                }
                seen.insert(file.clone(), None);
                continue;
            };
            // A system's programs are changed by the system's updates, and by nobody else.
            if file.is_dir() || trusted.is_none() && is_the_systems(file) {
                continue;
            }
            let (now, read) =
                content_of(file, before).map_err(|error| format!("run `{shown}`: {error}"))?;
            if trusted != Some(&now) {
                let what = if trusted.is_some() {
                    "it has changed since then"
                } else {
                    "it wasn't there then"
                };
                return Err(format!(
                    "run `{shown}`, as it was trusted: {what}; see `hookwire trust`"
                ));
            }
            seen.insert(file.clone(), Some(read));
            // Nothing is made or moved in the directories of the copy.
            let dirs = file
                .ancestors()
                .skip(1)
                .take_while(|dir| dir.starts_with(&approved.state));
            seen.extend(dirs.filter_map(|dir| Some((dir.to_path_buf(), Some(signature(dir)?)))));
        }
        Ok(Seal(seen))
    }
}

impl Seal {
    /// Whether the files that were read were there until now.
    ///
    /// # Errors
    /// One was changed, moved or replaced; finishes "failed to ...".
    pub fn is_whole(&self) -> Result<(), String> {
        match self.0.iter().find(|(path, seen)| signature(path) != **seen) {
            None => Ok(()),
            Some((path, _)) => Err(format!(
                "run `{}`, as it was trusted: it was changed while it ran",
                path.display()
            )),
        }
    }
}

/// What a file's content is called in a record, and what the file looked like that was read.
fn content_of(file: &Path, looks: Signature) -> Result<(String, Signature), String> {
    if let Some(target) = super::approved::system_target(file) {
        return Ok((target, looks));
    }
    if looks.size() > MAX_READ {
        let now = super::approved::content_of(file).map_err(|error| error.to_string())?;
        return Ok((now.unwrap_or_default(), looks));
    }
    digest::of_open_file(file).map_err(|error| error.to_string())
}

impl Approved {
    /// What the content of a file was called when it was approved: one of the copy, or one that
    /// runs where it is.
    fn digest_of(&self, file: &Path) -> Option<&String> {
        if let Ok(rest) = file.strip_prefix(copy_of(&self.state, Path::new("/"))) {
            return self.files.get(&Path::new("/").join(rest));
        }
        if let Ok(rest) = file.strip_prefix(self.tree()) {
            return self.files.get(rest);
        }
        let below = file
            .strip_prefix(&self.root)
            .ok()
            .and_then(|below| self.files.get(below));
        below
            .or_else(|| self.files.get(file))
            .or_else(|| self.named.get(file)?.as_ref())
    }
}
