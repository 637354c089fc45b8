//! Where transcripts are.

use hookwire_rules::agents::Agent;
use rustix::io::Errno;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// The transcripts that are read of an agent, the newest first.
const MAX_FILES: usize = 2000;
/// The entries of directories that are looked at.
const MAX_ENTRIES: usize = 200_000;

/// The transcripts of an agent that were written since a time, the newest first; and what couldn't
/// be looked at.
pub(super) fn find(
    agent: &Agent,
    since: SystemTime,
    deadline: Instant,
) -> (Vec<PathBuf>, Vec<String>) {
    let mut search = Search {
        room: MAX_ENTRIES,
        deadline,
        problems: Vec::new(),
    };
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    for pattern in &agent.transcripts {
        let Some(path) = agent.of_user(pattern) else {
            continue;
        };
        let found = search.expand(&path);
        files.extend(found.into_iter().filter_map(|path| {
            let written = written(&path)?;
            (written >= since).then_some((written, path))
        }));
    }
    files.sort();
    files.dedup();
    files.reverse();
    if files.len() > MAX_FILES {
        let n_over = files.len() - MAX_FILES;
        search
            .problems
            .push(format!("{n_over} older transcripts are left out"));
        files.truncate(MAX_FILES);
    }
    let files = files.into_iter().map(|(_, path)| path).collect();
    (files, search.problems)
}

/// When a file was written; a database writes beside itself first.
fn written(path: &Path) -> Option<SystemTime> {
    let mut beside = path.as_os_str().to_os_string();
    beside.push("-wal");
    let written = |path: &Path| fs::metadata(path).and_then(|it| it.modified()).ok();
    written(path).max(written(Path::new(&beside)))
}

struct Search {
    room: usize,
    deadline: Instant,
    problems: Vec<String>,
}

impl Search {
    /// The paths that a pattern leads to. A `*` stands for any characters of one name.
    fn expand(&mut self, pattern: &Path) -> Vec<PathBuf> {
        let mut found = vec![PathBuf::new()];
        for part in pattern.components() {
            let name = part.as_os_str().to_string_lossy();
            let Some((before, after)) = name.split_once('*') else {
                for path in &mut found {
                    path.push(part);
                }
                continue;
            };
            let dirs = std::mem::take(&mut found);
            for dir in dirs {
                self.list(&dir, before, after, &mut found);
            }
        }
        found.retain(|path| path.is_file());
        found
    }

    fn list(&mut self, dir: &Path, before: &str, after: &str, found: &mut Vec<PathBuf>) {
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if is_no_directory(&error) => return,
            Err(error) => {
                return self.problems.push(format!("{}: {error}", dir.display()));
            }
        };
        for entry in entries.flatten() {
            if self.room == 0 || Instant::now() > self.deadline {
                let dir = dir.display();
                return self
                    .problems
                    .push(format!("{dir}: there is too much to look at all of it"));
            }
            self.room -= 1;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_meant = name
                .strip_prefix(before)
                .is_some_and(|rest| rest.ends_with(after));
            if is_meant {
                found.push(entry.path());
            }
        }
    }
}

/// Whether a directory can't be listed because nothing of the kind is there.
fn is_no_directory(error: &io::Error) -> bool {
    [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind())
        || error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}
