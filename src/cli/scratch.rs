//! A directory for a while.

use tempfile::TempDir;

/// An empty directory of this user's own, which goes when the value goes.
pub(super) fn scratch(purpose: &str) -> std::io::Result<TempDir> {
    // Without links, so that a path in it is spelt in one way.
    tempfile::Builder::new().prefix(&format!("hookwire-{purpose}-")).tempdir_in(std::env::temp_dir().canonicalize()?)
}
