//! When something was held, kept from one run to the next.
//!
//! A program of many names goes by the name that it has along PATH, and a held tree may put names
//! there. In that run such a name is newer than the command. In a later one only the times tell:
//! what was made while a tree was held may be the tree's.
//!
//! The tree may write where the times are kept. So they are written anew when it has ended, and
//! where that can't be, a later run can't write there either, and takes every time for one in which
//! something was held.

use hookwire_ask::places::{Places, Settled};
use nix::fcntl::{Flock, FlockArg};
use nix::time::{ClockId, clock_gettime};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file in the directory of what is kept for the user.
const FILE: &str = "held-runs";
/// More than so much isn't read, and then nothing is known.
const MOST_BYTES: u64 = 64 << 10;
/// So many times are kept apart. Of more, the oldest become one.
const MOST_TIMES: usize = 256;
/// The clock of file systems may be so far behind.
const GRAIN: Duration = Duration::from_millis(10);

/// The times in which something was held before this run, and is held beside it.
#[derive(Debug, Default)]
pub struct Runs {
    /// The directories in which they are kept.
    places: Vec<PathBuf>,
    /// Why every time may be one: what was kept can't be read, or nothing can be kept.
    unknown: Option<String>,
    earlier: Vec<Time>,
    own: Option<Time>,
}

/// From when on something was held, and until when; or by which process it still is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Time {
    from: Duration,
    until: Option<Duration>,
    /// The process that holds, and when it was started.
    by: (i32, u64),
}

impl Runs {
    /// Reads what is kept in these directories, before anything is held: the tree could take it
    /// away. Without any they are those of the user.
    pub fn read_kept(named: Vec<PathBuf>, now: Duration) -> Runs {
        let named = Places {
            data: named,
            ..Places::default()
        };
        let places = Settled::new(named, crate::meant::home_dir).read.data;
        let mut runs = Runs {
            places,
            ..Runs::default()
        };
        for place in &runs.places {
            match read_times(&place.join(FILE)) {
                Ok(times) => runs.earlier.extend(times),
                Err(error) if is_own_ground(place, &error) => {
                    runs.unknown = Some(describe_problem(place, &error))
                }
                Err(_) => {}
            }
        }
        // The supervisor that was killed can't say when its tree has ended.
        runs.earlier = runs
            .earlier
            .into_iter()
            .map(|time| {
                if time.is_under_way() {
                    time
                } else {
                    time.closed_by(time.until.unwrap_or(now))
                }
            })
            .collect();
        runs
    }

    /// Notes that this process holds something from now on.
    pub fn note_begin(&mut self, since: Duration) {
        let pid = std::process::id() as i32;
        self.own = start_time(pid).map(|started| Time {
            from: since,
            until: None,
            by: (pid, started),
        });
        for place in self.places.clone() {
            if let Err(error) = self.keep_times(&place, self.own)
                && is_own_ground(&place, &error)
            {
                self.unknown.get_or_insert(describe_problem(&place, &error));
            }
        }
    }

    /// Since when something was held at this time, as far as it is known, before this run began or
    /// beside it.
    pub fn held_from(&self, time: Duration) -> Option<Duration> {
        let known = self
            .earlier
            .iter()
            .filter(|it| it.from <= time && it.until.is_none_or(|until| time <= until))
            .map(|it| it.from)
            .min();
        self.unknown.as_ref().map(|_| Duration::ZERO).or(known)
    }

    #[cfg(test)]
    fn has(&self, time: Duration) -> bool {
        self.held_from(time).is_some()
    }

    /// Why it isn't known when something was held.
    pub fn unknown(&self) -> Option<&str> {
        self.unknown.as_deref()
    }

    /// Notes that this process holds nothing any more. What the tree has taken away of earlier
    /// times is there again.
    pub fn note_end(&self, now: Duration) {
        let own = self.own.map(|it| it.closed_by(now + GRAIN));
        for place in &self.places {
            let _ = self.keep_times(place, own);
        }
    }

    fn keep_times(&self, directory: &Path, own: Option<Time>) -> Result<()> {
        let Some(own) = own else {
            return Err(Error::other("the time of this process can't be told"));
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        let path = directory.join(FILE);
        let lock = open_kept(
            File::options().create(true).append(true),
            &path.with_extension("lock"),
        );
        // Who holds it writes a small file; one that doesn't let go, or can't be opened, is the
        // tree's.
        let lock = lock.and_then(|file| {
            let locked = (0..50).find_map(|n| {
                std::thread::sleep(Duration::from_millis(u64::from(n > 0)));
                Flock::lock(file.try_clone().ok()?, FlockArg::LockExclusiveNonblock).ok()
            });
            locked.ok_or(Error::from(ErrorKind::WouldBlock))
        });
        let now_kept = read_times(&path).unwrap_or_default();
        let mut times: Vec<Time> = now_kept
            .into_iter()
            .chain(self.earlier.iter().copied())
            .collect();
        times.retain(|time| time.by != own.by);
        times.push(own);
        let text = merge_times(times)
            .iter()
            .map(Time::line)
            .collect::<String>();
        let written = write_anew(&path, &text).or_else(|_| {
            fs::set_permissions(directory, Permissions::from_mode(0o700))?;
            write_anew(&path, &text)
        });
        drop(lock);
        written
    }
}

/// Puts a new file in the place of another one. Nobody else can know its name beforehand.
fn write_anew(path: &Path, text: &str) -> Result<()> {
    let nanos = clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map(|it| Duration::from(it).as_nanos())
        .unwrap_or_default();
    let new = path.with_extension(format!("{}-{nanos}", std::process::id()));
    let mut file = open_kept(File::options().write(true).create_new(true), &new)?;
    let moved = file
        .write_all(text.as_bytes())
        .and_then(|()| fs::rename(&new, path));
    moved.inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Opens a file that holds bytes: nothing that waits for somebody else, and no link.
fn open_kept(how: &mut OpenOptions, path: &Path) -> Result<File> {
    let file = how
        .mode(0o600)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(Error::other("it is no plain file"))
    }
}

fn describe_problem(place: &Path, error: &Error) -> String {
    format!(
        "when something was held before isn't known, because {} can't be used: {error}",
        place.join(FILE).display()
    )
}

/// Whether a tree may have made that a directory can't be written. Where nobody but others can,
/// nothing was ever kept.
fn is_own_ground(place: &Path, error: &Error) -> bool {
    let own = nix::unistd::geteuid();
    let nearest = place
        .ancestors()
        .find_map(|ancestor| fs::symlink_metadata(ancestor).ok());
    error.kind() != ErrorKind::ReadOnlyFilesystem
        && (own.is_root() || nearest.is_none_or(|nearest| nearest.uid() == own.as_raw()))
}

impl Time {
    fn closed_by(self, until: Duration) -> Time {
        Time {
            until: Some(until),
            ..self
        }
    }

    fn is_under_way(&self) -> bool {
        self.until.is_none() && start_time(self.by.0) == Some(self.by.1)
    }

    fn line(&self) -> String {
        let until = self
            .until
            .map_or("-".to_string(), |it| it.as_nanos().to_string());
        format!(
            "{} {until} {} {}\n",
            self.from.as_nanos(),
            self.by.0,
            self.by.1
        )
    }

    fn parse(line: &str) -> Option<Time> {
        let time = |text: &str| text.parse().ok().map(Duration::from_nanos);
        let mut fields = line.split(' ');
        let from = time(fields.next()?)?;
        let until = match fields.next()? {
            "-" => None,
            until => Some(time(until)?),
        };
        Some(Time {
            from,
            until,
            by: (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?),
        })
    }
}

/// What is kept.
fn read_times(path: &Path) -> Result<Vec<Time>> {
    let file = match open_kept(File::options().read(true), path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        file => file?,
    };
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    let times: Option<Vec<Time>> = text.lines().map(Time::parse).collect();
    times
        .filter(|_| text.len() as u64 <= MOST_BYTES)
        .ok_or(Error::other("it can't be understood"))
}

/// The same times in order: those that touch are one, and of those that are under way each stands
/// for itself.
fn merge_times(mut times: Vec<Time>) -> Vec<Time> {
    times.sort_unstable();
    times.dedup();
    let (under_way, ended): (Vec<Time>, Vec<Time>) =
        times.into_iter().partition(|time| time.until.is_none());
    // One that has ended meanwhile is no longer under way.
    let under_way: Vec<Time> = under_way
        .into_iter()
        .filter(|it| !ended.iter().any(|ended| ended.by == it.by))
        .collect();
    let mut all: Vec<Time> = Vec::new();
    for time in ended {
        match all.last_mut() {
            Some(last) if last.until >= Some(time.from) => last.until = last.until.max(time.until),
            _ => all.push(time),
        }
    }
    if all.len() > MOST_TIMES {
        let n_merged = all.len() - MOST_TIMES;
        let until = all[n_merged].until;
        all.drain(1..=n_merged);
        all[0].until = until;
    }
    all.extend(under_way);
    all
}

/// When a process was started, in hundredths of a second since the machine was.
fn start_time(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

/// The time as file systems have it: their clock is the coarse one, which is behind the other.
pub fn file_time() -> Duration {
    clock_gettime(ClockId::CLOCK_REALTIME_COARSE)
        .map(Duration::from)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn begin(dir: &Path, from: u64) -> Runs {
        let mut runs = Runs::read_kept(vec![dir.into()], at(from));
        runs.note_begin(at(from));
        runs
    }

    #[test]
    fn what_was_held_is_known_to_later_runs() {
        let dir = tempfile::tempdir().unwrap();
        let first = begin(dir.path(), 10);
        assert!(!first.has(at(12)), "it is this run itself");
        let beside = begin(dir.path(), 13);
        assert!(beside.has(at(12)) && !beside.has(at(9)));
        // The tree takes away what is known.
        fs::remove_file(dir.path().join(FILE)).unwrap();
        beside.note_end(at(20));
        first.note_end(at(21));
        let later = begin(dir.path(), 30);
        let times: Vec<u64> = (0..40).filter(|time| later.has(at(*time))).collect();
        assert_eq!(times, (10..=21).collect::<Vec<u64>>());
    }

    /// What the tree may do to the place so that its time isn't kept. A later run knows the time,
    /// or nothing.
    #[test]
    fn a_place_that_was_spoilt_holds_no_secret() {
        type Spoil = fn(&Path) -> Result<()>;
        let spoils: &[(&str, bool, Spoil)] = &[
            ("text", false, |dir| fs::write(dir.join(FILE), "x")),
            ("empty", false, |dir| fs::write(dir.join(FILE), "")),
            ("link", false, |dir| {
                fs::remove_file(dir.join(FILE)).and_then(|()| symlink("/nowhere", dir.join(FILE)))
            }),
            ("directory", true, |dir| {
                fs::remove_file(dir.join(FILE)).and_then(|()| fs::create_dir(dir.join(FILE)))
            }),
            ("fifo", false, |dir| {
                fs::remove_file(dir.join(FILE)).and_then(|()| fifo(&dir.join(FILE)))
            }),
            ("fifo for a lock", false, |dir| {
                let lock = dir.join(FILE).with_extension("lock");
                fs::remove_file(&lock)
                    .and_then(|()| fifo(&lock))
                    .and_then(|()| fs::write(dir.join(FILE), ""))
            }),
            ("closed", false, |dir| {
                fs::set_permissions(dir, Permissions::from_mode(0o500))
            }),
            ("dangling", true, |dir| {
                fs::remove_dir_all(dir).and_then(|()| symlink("/nowhere/x", dir))
            }),
            ("file", true, |dir| {
                fs::remove_dir_all(dir).and_then(|()| fs::write(dir, ""))
            }),
            ("gone", false, |dir| fs::remove_dir_all(dir)),
        ];
        for (what, is_unknown, spoil) in spoils {
            let top = tempfile::tempdir().unwrap();
            let dir = top.path().join("data");
            let first = begin(&dir, 10);
            spoil(&dir).unwrap();
            first.note_end(at(20));
            let later = begin(&dir, 30);
            assert_eq!(
                (later.has(at(15)), later.unknown().is_some()),
                (true, *is_unknown),
                "{what}: {later:?}"
            );
        }
    }

    fn fifo(path: &Path) -> Result<()> {
        Ok(nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU)?)
    }

    #[test]
    fn a_supervisor_that_was_killed_held_until_that_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), "5000000000 - 1 0\n").unwrap();
        let runs = begin(dir.path(), 9);
        assert!(!runs.has(at(4)) && runs.has(at(9)) && !runs.has(at(10)));
    }

    #[test]
    fn many_times_take_little_room() {
        let all = merge_times(
            (0..1000)
                .map(|n| Time {
                    from: at(3 * n),
                    until: Some(at(3 * n + 1)),
                    by: (1, 1),
                })
                .collect(),
        );
        assert_eq!(
            (all.len(), all[0].from, all[255].until),
            (MOST_TIMES, at(0), Some(at(2998)))
        );
    }
}
