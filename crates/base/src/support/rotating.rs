//! A file of lines that begins anew when it is full.
//!
//! Lines are appended whole (`O_APPEND`), by however many processes share a file. Whoever finds it
//! full rotates it under the file's lock; one that doesn't get the lock appends to the full file.

use super::file::{open_as, sync_directory};
use rustix::fs::FlockOperation;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// See the module. It is created for its owner only.
#[derive(Debug)]
pub struct RotatingFile {
    /// Where it is.
    pub path: PathBuf,
    /// How large it may become, in bytes.
    pub max_bytes: u64,
    /// How many full files are kept: `path.1` is the latest.
    pub keep: usize,
}

impl RotatingFile {
    /// Appends a line, to a new file if it wouldn't fit. Gives the file, which isn't synced yet.
    pub fn append(&self, mut line: String) -> std::io::Result<File> {
        let mut file = self.open()?;
        let size = file.metadata()?.len();
        if size > 0 && size + line.len() as u64 > self.max_bytes && self.rotate(&file)? {
            file = self.open()?;
        }
        if is_torn(&file)? {
            line.insert(0, '\n');
        }
        file.write_all(line.as_bytes())?;
        if size == 0 {
            // The file's name has to be on the disk, too.
            let directory = self
                .path
                .parent()
                .filter(|it| !it.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            sync_directory(directory)?;
        }
        Ok(file)
    }

    /// The files that there may be, the latest last.
    pub fn all(&self) -> Vec<PathBuf> {
        (1..=self.keep)
            .rev()
            .map(|n| self.numbered(n))
            .chain([self.path.clone()])
            .collect()
    }

    fn numbered(&self, n: usize) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{n}"));
        PathBuf::from(name)
    }

    /// Opens the file, if it is one: a pipe that nobody reads would keep its writer for ever.
    fn open(&self) -> std::io::Result<File> {
        let mut options = OpenOptions::new();
        open_as(
            options.read(true).append(true).create(true).mode(0o600),
            &self.path,
        )
    }

    /// Makes room for a new file; says whether to open again.
    fn rotate(&self, full: &File) -> std::io::Result<bool> {
        // Another host that holds it is doing the same; waiting for it could take for ever.
        if rustix::fs::flock(full, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(false);
        }
        let (ours, there) = (full.metadata()?, std::fs::metadata(&self.path)?);
        if (ours.dev(), ours.ino()) != (there.dev(), there.ino()) {
            // It has been done meanwhile.
            return Ok(true);
        }
        let numbered = |n| self.numbered(n);
        if self.keep == 0 {
            std::fs::remove_file(&self.path)?;
            return Ok(true);
        }
        for n in (1..self.keep).rev() {
            match std::fs::rename(numbered(n), numbered(n + 1)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        std::fs::rename(&self.path, numbered(1))?;
        Ok(true)
    }
}

/// Whether the last line has no end, as when the disk was full: another must not be glued to it.
fn is_torn(file: &File) -> std::io::Result<bool> {
    let size = file.metadata()?.len();
    let mut last = [b'\n'];
    if size > 0 {
        file.read_exact_at(&mut last, size - 1)?;
    }
    Ok(last != [b'\n'])
}
