//! A directory for a while.

use std::process::Command;
use tempfile::TempDir;

/// An empty directory of this user's own, which goes when the value goes.
pub(crate) fn scratch_dir(purpose: &str) -> std::io::Result<TempDir> {
    // Without links, so that a path in it is spelt in one way.
    tempfile::Builder::new()
        .prefix(&format!("hookwire-{purpose}-"))
        .tempdir_in(std::env::temp_dir().canonicalize()?)
}

/// What git tells the programs that it starts, such as its hooks (`git rev-parse
/// --local-env-vars`). A git below them would change the repository that is being committed to,
/// wherever it stands.
const LOCAL_TO_GIT: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Has a command in a scratch directory meet the repositories that are there, and no other.
pub(crate) fn forget_git(command: &mut Command) {
    for variable in LOCAL_TO_GIT {
        command.env_remove(variable);
    }
}
