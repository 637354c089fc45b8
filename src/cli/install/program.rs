//! Which program an agent starts.

use super::super::Failure;
use super::super::run::{find_supervisor, other_version, version_of};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The small program beside this one, and what keeps agents from starting it.
pub(super) static BESIDE: LazyLock<Option<(PathBuf, Option<String>)>> = LazyLock::new(|| {
    let small = find_supervisor().ok()?;
    let problem = other_version(&small, &version_of(&small));
    Some((small, problem))
});

/// The path in full of the program that agents start: the small one, which is quicker, if it is
/// there and as new as this.
pub(in crate::cli) fn asking_program() -> Result<String, Failure> {
    match &*BESIDE {
        Some((small, None)) => path_text(small),
        _ => own_program(),
    }
}

/// This program's path in full.
pub(in crate::cli) fn own_program() -> Result<String, Failure> {
    path_text(&std::env::current_exe()?)
}

/// A path in the command.
pub(in crate::cli) fn path_text(path: &Path) -> Result<String, Failure> {
    path.to_str()
        .map(str::to_string)
        .ok_or_else(|| Failure(format!("{}: not UTF-8", path.display())))
}
