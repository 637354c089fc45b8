//! What tests of several crates share: rows of `tests/data`, and a model server on loopback.

pub mod models;
pub mod rows;

use std::path::{Path, PathBuf};

/// A path of the repository.
pub fn repo(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}
