//! Reading: what is known of a time, and what isn't.

use super::{Gap, Line, MAX_BYTES, Record, SHARED, Short, TORN, WHOLE, boot_id, dir_of, millis};
use hookwire_base::support::file;
use hookwire_base::support::places;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How long after its last line, in milliseconds, a process that was killed may have answered a
/// call: a line is written as soon as there is one.
const LATE: u64 = 5_000;
/// The same where the machine has started anew: a disk may lack what was written last.
const LATE_ON_DISK: u64 = 60_000;
/// The bytes that are read of all projects.
const MAX_OF_OTHERS: u64 = 256 << 20;

/// What is kept of a time.
#[derive(Debug, Default)]
pub struct Kept {
    /// The answered calls.
    pub records: Vec<Record>,
    /// Where some may be missing.
    pub gaps: Vec<Gap>,
    /// When the first of its files began, in milliseconds since 1970; none without a file.
    pub begun: Option<u64>,
    /// What is wrong with the files, for people.
    pub problems: Vec<String>,
}

/// The ledger of a project since a time, wherever the user's things are.
pub fn project(root: &Path, since: SystemTime) -> Kept {
    let mut kept = Kept::default();
    for data in places::data_dirs() {
        kept.read_dir(&dir_of(data, root), since, &mut (2 * MAX_BYTES));
    }
    kept
}

/// The ledgers of all other projects since a time.
pub fn others(root: &Path, since: SystemTime) -> Kept {
    let (mut kept, mut room) = (Kept::default(), MAX_OF_OTHERS);
    for data in places::data_dirs() {
        let own = dir_of(data, root);
        for dir in entries(&data.join("ledger")).into_iter().flatten() {
            if dir != own {
                kept.read_dir(&dir, since, &mut room);
            }
        }
    }
    kept
}

/// What is in a directory, by name; none if it isn't there.
fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed?,
    };
    let mut paths = Vec::new();
    for entry in listed {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

/// A file's lines, as far as they are its own.
#[derive(Default)]
struct Lines {
    begin: Option<u64>,
    last: u64,
    has_ended: bool,
    boot: Option<Short>,
}

impl Kept {
    pub(super) fn read_dir(&mut self, dir: &Path, since: SystemTime, room: &mut u64) {
        let paths = match entries(dir) {
            Ok(paths) => paths,
            Err(error) => return self.doubt(dir, since, &error.to_string()),
        };
        let mut cut: Vec<(u64, u64)> = Vec::new();
        let mut begins = Vec::new();
        for path in paths {
            let ending = path.extension().and_then(|it| it.to_str());
            let Some(is_torn) = ending.and_then(|it| match it {
                WHOLE => Some(false),
                TORN => Some(true),
                _ => None,
            }) else {
                continue;
            };
            match self.read_file(&path, since, room) {
                Ok(Some(lines)) => {
                    begins.extend(lines.begin);
                    let is_shared = path.to_string_lossy().ends_with(SHARED);
                    if !lines.has_ended && !is_shared && (is_torn || !is_held(&path)) {
                        let late = match is_torn {
                            true => u64::MAX,
                            false if lines.boot.is_some() && lines.boot == boot_id() => LATE,
                            false => LATE_ON_DISK,
                        };
                        cut.push((lines.last, late));
                    }
                }
                Ok(None) => {}
                Err(error) => self.doubt(&path, since, &error.to_string()),
            }
        }
        self.begun = begins.iter().copied().chain(self.begun).min();
        let now = millis(SystemTime::now());
        for (last, late) in cut {
            let next = begins.iter().copied().filter(|begin| *begin > last).min();
            self.gaps.push(Gap {
                from: last,
                until: next.unwrap_or(now).min(last.saturating_add(late)),
                calls: None,
            });
        }
    }

    /// What can't be read is no proof that nobody was asked.
    fn doubt(&mut self, path: &Path, since: SystemTime, error: &str) {
        self.problems.push(format!("{}: {error}", path.display()));
        self.gaps.push(Gap {
            from: millis(since),
            until: millis(SystemTime::now()),
            calls: None,
        });
    }

    /// Reads a file, or only its begin if it is older.
    fn read_file(
        &mut self,
        path: &Path,
        since: SystemTime,
        room: &mut u64,
    ) -> io::Result<Option<Lines>> {
        let (mut file, about) = match file::open(path) {
            // It was too old just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let is_old = about.modified()? < since;
        let most = if is_old { 4096 } else { *room };
        if !is_old {
            *room = room
                .checked_sub(about.len())
                .ok_or_else(|| io::Error::other("there is too much of it to be read"))?;
        }
        let text = read_start(&mut file, most)?;
        let (mut lines, mut before, mut n_astray) = (Lines::default(), None, 0);
        for written in whole_lines(&text) {
            let Ok(line) = serde_json::from_str::<Line>(written) else {
                n_astray += 1;
                before = None;
                continue;
            };
            // Processes that share a file may write without knowing the line before.
            if line.before.is_some() && before.is_some() && line.before != before {
                n_astray += 1;
            }
            before = Some(Short::of_text(written));
            if let Some(begin) = line.begin {
                lines.begin = lines.begin.or(Some(begin.at));
                lines.last = lines.last.max(begin.at);
                lines.boot = begin.boot;
                if is_old {
                    break;
                }
            }
            if let Some(record) = line.call {
                // A file is made for the first record.
                lines.begin = lines.begin.map(|begin| begin.min(record.at));
                lines.last = lines.last.max(record.at);
                self.records.push(record);
            }
            if let Some(gap) = line.gap {
                lines.last = lines.last.max(gap.until);
                self.gaps.push(gap);
            }
            lines.has_ended = line.end.is_some();
        }
        lines.has_ended |= is_old;
        if n_astray > 0 {
            let what = "lines don't follow the ones before, so it was changed";
            self.problems
                .push(format!("{}: {n_astray} {what}", path.display()));
        }
        Ok(Some(lines))
    }
}

fn read_start(file: &mut File, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The lines that have an end: a power failure may have cut the last one.
fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
        .filter(|line| !line.is_empty())
}

/// Whether the process that writes a file is still there.
fn is_held(path: &Path) -> bool {
    let Ok(file) = file::open_own(path) else {
        return false;
    };
    flock(&file, FlockOperation::NonBlockingLockShared).is_err()
}
