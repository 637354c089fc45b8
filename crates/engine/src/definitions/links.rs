//! Where paths lead. A symlink is read once: all that lies behind it is seen in one state, however
//! often it is pointed elsewhere meanwhile. That is how whole sets of files are replaced at once (a
//! volume of Kubernetes' `ConfigMap`s has `guard.yaml -> ..data/guard.yaml` and swaps `..data`).

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The kernel's limit.
const MAX_SYMLINKS: usize = 40;

/// The symlinks that were read.
#[derive(Default)]
pub(super) struct Links(HashMap<PathBuf, PathBuf>);

impl Links {
    /// A path without symlinks, as far as it leads anywhere.
    pub(super) fn real(&mut self, path: &Path) -> PathBuf {
        self.follow("/", path, |_, _| {})
    }

    /// Follows a path from a directory without symlinks. `leads` hears what decides where it leads:
    /// the directory and the name of every symlink, of what the last one ends at, and of what
    /// doesn't exist.
    pub(super) fn follow(
        &mut self,
        dir: impl Into<PathBuf>,
        path: &Path,
        mut leads: impl FnMut(PathBuf, &OsStr),
    ) -> PathBuf {
        let mut at = dir.into();
        let mut names: VecDeque<OsString> = path.components().filter_map(step).collect();
        let mut n_links = 0;
        while let Some(name) = names.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&name);
            if let Some(target) = self.target(&next) {
                leads(at.clone(), &name);
                n_links += 1;
                if n_links > MAX_SYMLINKS {
                    // Who opens it is told of too many links.
                    return next;
                }
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                target
                    .components()
                    .rev()
                    .filter_map(step)
                    .for_each(|name| names.push_front(name));
                continue;
            }
            if fs::symlink_metadata(&next).is_err() {
                leads(at, &name);
                return names.into_iter().fold(next, |path, name| path.join(name));
            }
            // The end of a link's way: it can be replaced where it is.
            if names.is_empty() && n_links > 0 {
                leads(at, &name);
            }
            at = next;
        }
        // A file system may not care for a name's case; whoever tells of changes does.
        fs::canonicalize(&at).unwrap_or(at)
    }

    fn target(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(target) = self.0.get(path) {
            return Some(target.clone());
        }
        let target = fs::read_link(path).ok()?;
        self.0.insert(path.to_path_buf(), target.clone());
        Some(target)
    }
}

/// The name by which a part of a path leads on from a directory; `None` if it stays there.
fn step(part: Component<'_>) -> Option<OsString> {
    match part {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    }
}
