//! When something was held, kept from one run to the next.
//!
//! A program of many names goes by the name that it has along PATH, and a held tree may put names there. In that run such a
//! name is newer than the command. In a later one only the times tell: what was made while a tree was held may be the tree's.

use hookwire_ask::look::Look;
use hookwire_ask::places::{Places, Settled};
use nix::fcntl::{Flock, FlockArg};
use nix::time::{ClockId, clock_gettime};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{Read, Result, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
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
    path: Option<PathBuf>,
    /// What was kept can't be read, so every time may be one.
    is_unknown: bool,
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
    /// Reads what is kept, and notes that this process holds something from now on.
    pub fn begin(since: Duration) -> Runs {
        let kept = Settled::new(Places::default(), || None).written.data;
        let Some(directory) = kept.first() else { return Runs::default() };
        let pid = std::process::id() as i32;
        let own = started(pid).map(|started| Time { from: since, until: None, by: (pid, started) });
        Runs::begin_in(directory, own, since)
    }

    fn begin_in(directory: &Path, own: Option<Time>, now: Duration) -> Runs {
        let path = directory.join(FILE);
        let (earlier, is_unknown) = match Look::of_io(read(&path)) {
            Look::Found(Some(times)) => (times, false),
            Look::Nothing => (Vec::new(), false),
            Look::Found(None) | Look::Failed(_) => (Vec::new(), true),
        };
        // The supervisor that was killed can't say when its tree has ended.
        let close = |time: Time| if time.is_under_way() { time } else { time.closed(time.until.unwrap_or(now)) };
        let runs = Runs { earlier: earlier.into_iter().map(close).collect(), path: Some(path), is_unknown, own };
        // Where nothing can be kept, nothing is known later either.
        let _ = runs.note(directory);
        runs
    }

    fn note(&self, directory: &Path) -> Result<()> {
        let (Some(path), Some(own)) = (&self.path, self.own) else { return Ok(()) };
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut file = File::options().append(true).create(true).mode(0o600).open(path)?;
        file.write_all(own.line().as_bytes())
    }

    /// Whether something was held at this time, as far as it is known, before this run began or beside it.
    pub fn has(&self, time: Duration) -> bool {
        self.is_unknown || self.earlier.iter().any(|it| it.from <= time && it.until.is_none_or(|until| time <= until))
    }

    /// Notes that this process holds nothing any more. What the tree has taken away of earlier times is there again.
    pub fn end(&self, now: Duration) {
        let _ = self.keep(now);
    }

    fn keep(&self, now: Duration) -> Result<()> {
        let (Some(path), Some(own)) = (&self.path, self.own) else { return Ok(()) };
        let lock = File::options().create(true).append(true).mode(0o600).open(path.with_extension("lock"))?;
        // Who holds it writes a small file; one that doesn't let go is the tree's.
        let lock = (0..50).find_map(|n| {
            std::thread::sleep(Duration::from_millis(u64::from(n > 0)));
            Flock::lock(lock.try_clone().ok()?, FlockArg::LockExclusiveNonblock).ok()
        });
        let now_kept = read(path).ok().flatten().unwrap_or_default();
        let mut times: Vec<Time> = now_kept.into_iter().chain(self.earlier.iter().copied()).collect();
        times.retain(|it| it.by != own.by);
        times.push(own.closed(now + GRAIN));
        let new = path.with_extension(format!("{}", own.by.0));
        fs::write(&new, merged(times).iter().map(Time::line).collect::<String>())?;
        fs::set_permissions(&new, Permissions::from_mode(0o600))?;
        fs::rename(new, path)?;
        drop(lock);
        Ok(())
    }
}

impl Time {
    fn closed(self, until: Duration) -> Time {
        Time { until: Some(until), ..self }
    }

    fn is_under_way(&self) -> bool {
        self.until.is_none() && started(self.by.0) == Some(self.by.1)
    }

    fn line(&self) -> String {
        let until = self.until.map_or("-".to_string(), |it| it.as_nanos().to_string());
        format!("{} {until} {} {}\n", self.from.as_nanos(), self.by.0, self.by.1)
    }

    fn parse(line: &str) -> Option<Time> {
        let time = |text: &str| text.parse().ok().map(Duration::from_nanos);
        let mut fields = line.split(' ');
        let from = time(fields.next()?)?;
        let until = match fields.next()? {
            "-" => None,
            until => Some(time(until)?),
        };
        Some(Time { from, until, by: (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?) })
    }
}

/// What is kept; nothing of it if it can't be understood.
fn read(path: &Path) -> Result<Option<Vec<Time>>> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)?;
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    let is_whole = text.len() as u64 <= MOST_BYTES;
    Ok(is_whole.then(|| text.lines().map(Time::parse).collect::<Option<Vec<Time>>>()).flatten())
}

/// The same times in order: those that touch are one, and of those that are under way each stands for itself.
fn merged(mut times: Vec<Time>) -> Vec<Time> {
    times.sort_unstable();
    times.dedup();
    let (under_way, ended): (Vec<Time>, Vec<Time>) = times.into_iter().partition(|it| it.until.is_none());
    // One that has ended meanwhile is no longer under way.
    let has_ended = |it: &Time| ended.iter().any(|ended| ended.by == it.by);
    let under_way: Vec<Time> = under_way.into_iter().filter(|it| !has_ended(it)).collect();
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
fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

/// The time as file systems have it: their clock is the coarse one, which is behind the other.
pub fn file_time() -> Duration {
    clock_gettime(ClockId::CLOCK_REALTIME_COARSE).map(Duration::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn own(from: u64) -> Option<Time> {
        let pid = std::process::id() as i32;
        Some(Time { from: at(from), until: None, by: (pid, started(pid)?) })
    }

    #[test]
    fn what_was_held_is_known_to_later_runs() {
        let dir = tempfile::tempdir().unwrap();
        let begin = |from| Runs::begin_in(dir.path(), own(from), at(from));
        let first = begin(10);
        assert!(!first.has(at(12)), "it is this run itself");
        let beside = begin(13);
        assert!(beside.has(at(12)) && !beside.has(at(9)));
        // The tree takes away what is known.
        fs::remove_file(dir.path().join(FILE)).unwrap();
        beside.end(at(20));
        first.end(at(21));
        let later = begin(30);
        let times: Vec<u64> = (0..40).filter(|time| later.has(at(*time))).collect();
        assert_eq!(times, (10..=21).collect::<Vec<u64>>());
        fs::write(dir.path().join(FILE), "x").unwrap();
        assert!(begin(40).has(at(1)), "what can't be understood may say anything");
    }

    #[test]
    fn a_supervisor_that_was_killed_held_until_that_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), "5000000000 - 1 0\n").unwrap();
        let runs = Runs::begin_in(dir.path(), own(9), at(9));
        assert!(!runs.has(at(4)) && runs.has(at(9)) && !runs.has(at(10)));
    }

    #[test]
    fn many_times_take_little_room() {
        let time = |n: u64| Time { from: at(3 * n), until: Some(at(3 * n + 1)), by: (1, 1) };
        let all = merged((0..1000).map(time).collect());
        assert_eq!((all.len(), all[0].from, all[255].until), (MOST_TIMES, at(0), Some(at(2998))));
    }
}
