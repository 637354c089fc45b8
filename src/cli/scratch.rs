//! A directory for a while.

use std::path::{Path, PathBuf};

/// An empty directory of this process, removed in the end.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Fails if the directory is there already, so that nothing of another user is in it.
    pub(super) fn new(purpose: &str) -> std::io::Result<Scratch> {
        let dir = std::env::temp_dir().canonicalize()?;
        let dir = dir.join(format!("hookwire-{purpose}-{}", std::process::id()));
        std::fs::create_dir(&dir)?;
        Ok(Scratch(dir))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
