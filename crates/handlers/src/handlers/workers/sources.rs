//! The files that a worker was made from. A change of one makes the worker stale.

use hookwire_base::support::file::{Signature, signature};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// Source files whose changes are noticed.
const MAX_SOURCES: usize = 4096;
/// Looking for changes may take this part of the time ...
const LOOKING_SHARE: u32 = 20;
/// ... but is never put off for longer than this.
const MAX_BLIND: Duration = Duration::from_millis(20);

pub(super) struct Sources {
    files: HashMap<PathBuf, Option<Signature>>,
    /// When the process was started.
    started: SystemTime,
    /// A source was changed while it was being loaded, or later.
    is_stale: bool,
    look_again: Instant,
}

impl Sources {
    /// For a process that is about to start, with the files that are known to decide about it.
    pub(super) fn new(files: Vec<PathBuf>) -> Sources {
        Sources {
            started: SystemTime::now(),
            files: files
                .into_iter()
                .map(|path| (path.clone(), signature(&path)))
                .collect(),
            is_stale: false,
            look_again: Instant::now(),
        }
    }

    /// Adds a file that the worker has loaded.
    pub(super) fn add(&mut self, path: &Path) {
        if !path.is_absolute() || self.files.len() >= MAX_SOURCES || self.files.contains_key(path) {
            return;
        }
        let signature = signature(path);
        // Changed since the process started, so perhaps after it was read. A time in the future is
        // another clock's.
        let changed = signature.map(|it| it.changed);
        self.is_stale |= changed.is_some_and(|at| at >= self.started && at <= SystemTime::now());
        self.files.insert(path.to_path_buf(), signature);
    }

    /// Whether a file has changed since it was loaded.
    pub(super) fn have_changed(&mut self) -> bool {
        let started = Instant::now();
        if !self.is_stale && started >= self.look_again {
            self.is_stale = self
                .files
                .iter()
                .any(|(path, then)| signature(path) != *then);
            let now = Instant::now();
            self.look_again = now + ((now - started) * LOOKING_SHARE).min(MAX_BLIND);
        }
        self.is_stale
    }
}
