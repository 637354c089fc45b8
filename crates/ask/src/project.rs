//! Which project an agent works in.

use crate::hex;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The directory of a project's definitions, below its root.
pub const DEFINITIONS: &str = ".hookwire";
/// The directory of what was trusted, below one of the user's data.
pub const TRUST: &str = "trust";
const GIT: &str = ".git";

/// The project that the working directory is in: the nearest directory upwards that has definitions
/// or a repository, else the working directory. Written as it looks from here.
///
/// A repository within a project is one of its own, because agents that are started there take it
/// for their project and read no settings of the outer one.
pub fn find_project() -> PathBuf {
    nearest_dir(|dir| {
        [DEFINITIONS, GIT]
            .iter()
            .any(|name| dir.join(name).exists())
    })
    .unwrap_or_else(|| ".".into())
}

fn nearest_dir(is: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let n_up = here.ancestors().position(is)?;
    Some(if n_up == 0 {
        ".".into()
    } else {
        PathBuf::from_iter(std::iter::repeat_n("..", n_up))
    })
}

/// The projects that an agent works in whose root is said to be this, without symlinks. A clone may
/// bring files of any kind and the environment, too, so the environment adds nothing from there.
pub fn foreign_projects(root: &Path) -> Vec<PathBuf> {
    let projects = [root.to_path_buf(), find_project()]
        .into_iter()
        .filter_map(|dir| dir.canonicalize().ok());
    projects
        .filter(|dir| dir.join(DEFINITIONS).exists() || dir.join(GIT).exists())
        .collect()
}

/// The root whose definitions judge an agent, given what its command line says.
///
/// The nearest directory upwards is a project's. A directory that nobody has trusted doesn't stand
/// in the way of one that somebody has, or an agent could make one to be rid of its guards.
///
/// # Errors
/// The root that was named isn't there; for people.
pub fn for_agents(
    root: &Path,
    counts_trusted: bool,
    data_dirs: &[PathBuf],
) -> Result<PathBuf, String> {
    if root != find_project() {
        return match root.is_dir() {
            true => Ok(root.to_path_buf()),
            false => Err(format!(
                "--root {}: there is no such directory",
                root.display()
            )),
        };
    }
    let trusted = if counts_trusted {
        nearest_dir(|dir| is_approved(data_dirs, dir))
    } else {
        None
    };
    let root = trusted.unwrap_or_else(|| root.to_path_buf());
    Ok(root.canonicalize().unwrap_or(root))
}

/// What was approved of the project at a root, if anything: a link that leads to it.
pub fn current(store: &Path, root: &Path) -> PathBuf {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    let name = hex(&Sha256::digest(root.as_os_str().as_encoded_bytes())[..16]);
    store.join(name).join("current")
}

/// Whether anything was approved of the project at a root, broken or not.
pub fn is_approved(data_dirs: &[PathBuf], root: &Path) -> bool {
    data_dirs
        .iter()
        .any(|dir| fs::symlink_metadata(current(&dir.join(TRUST), root)).is_ok())
}

/// Whether anything is a user's own: definitions in one of these directories, or a project at the
/// root that was approved. What can't be listed may be something.
pub fn has_own(root: &Path, user_dirs: &[PathBuf], data_dirs: &[PathBuf]) -> bool {
    let is_used = |dir: &PathBuf| match fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    user_dirs.iter().any(is_used) || is_approved(data_dirs, root)
}

/// Whether a project has definitions of its own that aren't loaded: nothing names them, and nobody
/// has approved them.
pub fn is_left_out(
    root: &Path,
    is_named: bool,
    isolated: bool,
    hooks: &[PathBuf],
    data_dirs: &[PathBuf],
) -> bool {
    let own = root.join(DEFINITIONS);
    let full = |dir: &Path| dir.canonicalize().ok();
    let is_loaded = is_named || hooks.iter().any(|dir| full(dir) == full(&own));
    own.is_dir() && !is_loaded && (isolated || !is_approved(data_dirs, root))
}
