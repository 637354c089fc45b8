//! Where cases take place.

use super::super::scratch::scratch;
use super::MAX_DEPTH;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Where one file's cases take place, removed in the end: an empty directory to work in, and a copy of the
/// definitions, because hooks write beside them.
pub(super) struct Place(TempDir);

impl Place {
    pub(super) fn new() -> std::io::Result<Place> {
        let place = Place(scratch("test")?);
        for dir in [place.work(), place.project()] {
            std::fs::create_dir(dir)?;
        }
        Ok(place)
    }

    pub(super) fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }

    fn project(&self) -> PathBuf {
        self.0.path().join("project")
    }

    /// Copies the directory of the definitions; the directories beside it, which may hold scripts, are linked. Gives
    /// the definitions' new place.
    pub(super) fn copy(&self, subject: &Path) -> std::io::Result<PathBuf> {
        let none = || std::io::Error::other("it has no directory");
        let dir = if subject.is_dir() { subject } else { subject.parent().ok_or_else(none)? };
        let name = dir.file_name().ok_or_else(none)?;
        for entry in dir.parent().ok_or_else(none)?.read_dir()? {
            let entry = entry?;
            if entry.file_name() != name && entry.path().is_dir() {
                std::os::unix::fs::symlink(entry.path(), self.project().join(entry.file_name()))?;
            }
        }
        let copied = self.project().join(name);
        let mut left = MAX_COPIED;
        copy(dir, &copied, &mut left, 0)?;
        Ok(match subject.strip_prefix(dir) {
            Ok(file) if subject != dir => copied.join(file),
            _ => copied,
        })
    }
}

/// How much a directory of definitions may hold, in bytes.
const MAX_COPIED: u64 = 64 * 1024 * 1024;

fn copy(from: &Path, to: &Path, left: &mut u64, depth: usize) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        // A link that leads nowhere.
        let Ok(about) = from.metadata() else { continue };
        if about.is_dir() && depth < MAX_DEPTH && !from.is_symlink() {
            copy(&from, &to, left, depth + 1)?;
        } else if about.is_dir() {
            std::os::unix::fs::symlink(&from, &to)?;
        } else if about.is_file() {
            let too_large = || std::io::Error::other("it holds more than 64 MiB, too much to test a copy of it");
            *left = left.checked_sub(about.len()).ok_or_else(too_large)?;
            std::fs::copy(&from, &to)?;
        }
    }
    Ok(())
}
