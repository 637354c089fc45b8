//! The file of a store: changes are written behind, many in one line, by a thread of its own.
//!
//! The file begins with [`HEADER`]; each line after it holds the changes of one write, behind their
//! checksum. A line that is not whole can only be the last one: nobody was told that it is on the
//! disk, so it is cut off. In front of a whole line it is damage, which the host doesn't start
//! with. Zeros at the end are [`ROOM`] for further lines. A file that holds many old values is
//! written anew.

use super::{Entry, Scope, StateError};
use hookwire_base::support::amounts::millis;
use hookwire_base::support::digest;
use hookwire_base::support::file::{identity, new_beside, open_as, sync_directory};
use parking_lot::{Condvar, Mutex};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::TryLockError;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Seek, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// How every state file begins.
const HEADER: &[u8] = b"hookwire state 1\n";
/// The hexadecimal digits of a line's checksum.
const SUM: usize = 16;
/// A file grows by so much at a time, because the disk keeps bytes sooner where it needn't keep a
/// new size.
const ROOM: u64 = 64 * 1024;
/// A file is written anew when it is larger than twice its values and this.
const SLACK: usize = 1 << 20;
/// What a line has beside a key and its value, about.
const AROUND: usize = 64;
/// Changes that may wait for the disk; more are refused.
const MAX_WAITING: usize = 100_000;
/// After a failed write.
const RETRY: Duration = Duration::from_secs(1);
/// How long another host that has the file open is waited for: a short command ends meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What is in the file: whose values, their keys and themselves.
pub(super) type Rows = HashMap<(Scope, String), Entry>;
/// Values that change; `None` is a removal.
type Changes = HashMap<(Scope, String), Option<Entry>>;

/// The way to the file. Dropping it writes what is left.
pub(super) struct File {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// The last change that is on the disk, and why later ones aren't.
    saved: watch::Sender<(u64, Option<Unsaved>)>,
}

/// Why changes aren't on the disk.
#[derive(Clone)]
enum Unsaved {
    /// Another host has the file open. What is counted meanwhile counts in memory, which the log
    /// says once: a guard that failed instead would stop the agent for as long as the other host
    /// runs.
    Held,
    Failed(String),
}

impl From<io::Error> for Unsaved {
    fn from(error: io::Error) -> Unsaved {
        Unsaved::Failed(error.to_string())
    }
}

#[derive(Default)]
struct Waiting {
    changes: Changes,
    /// Counts the changes.
    last: u64,
    closed: bool,
}

impl File {
    /// Opens the file, or makes it, readable by its owner only, and gives what is in it.
    pub(super) fn open(path: &Path) -> Result<(File, Rows), StateError> {
        let failed = |error: &dyn std::fmt::Display| {
            StateError(format!("open the state file {}: {error}", path.display()))
        };
        let (open, rows) = match Open::wait_for(path) {
            Ok((open, rows)) => (Some(open), rows),
            // Without a host, an agent would have no hooks at all.
            Err(Unsaved::Held) => {
                let path = path.display();
                tracing::error!(%path, "Another host has the state file open; until that ends, what is counted here is kept in memory.");
                (None, Rows::new())
            }
            Err(Unsaved::Failed(error)) => return Err(failed(&error)),
        };
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            changed: Condvar::new(),
            saved: watch::Sender::new((0, open.is_none().then_some(Unsaved::Held))),
        });
        let writer = shared.clone();
        let path = path.to_path_buf();
        let write = move || writer.run(open, &path);
        let thread = std::thread::Builder::new()
            .name("state".into())
            .spawn(write)
            .map_err(|error| failed(&error))?;
        Ok((
            File {
                shared,
                thread: Some(thread),
            },
            rows,
        ))
    }

    /// Whether there is room for another change.
    pub(super) fn has_room(&self) -> bool {
        self.shared.waiting.lock().changes.len() < MAX_WAITING
    }

    /// Takes a change; `None` is a removal.
    pub(super) fn note(&self, scope: &Scope, key: &str, entry: Option<&Entry>) {
        let mut waiting = self.shared.waiting.lock();
        waiting.last += 1;
        waiting
            .changes
            .insert((scope.clone(), key.to_string()), entry.cloned());
        drop(waiting);
        self.shared.changed.notify_one();
    }

    /// Returns when every change taken so far is on the disk, or counts in memory because another
    /// host has the file.
    pub(super) fn saved(&self) -> impl Future<Output = Result<(), StateError>> + use<> {
        let mine = self.shared.waiting.lock().last;
        let mut saved = self.shared.saved.subscribe();
        async move {
            let done = saved
                .wait_for(|(last, problem)| *last >= mine || problem.is_some())
                .await;
            match done.as_deref() {
                Ok((last, _)) if *last >= mine => Ok(()),
                Ok((_, Some(Unsaved::Held))) => Ok(()),
                Ok((_, Some(Unsaved::Failed(problem)))) => {
                    Err(StateError(format!("write the state file: {problem}")))
                }
                _ => Err(StateError(
                    "write the state file: its thread has ended".into(),
                )),
            }
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.shared.waiting.lock().closed = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self, mut present: Option<Open>, path: &Path) {
        loop {
            let mut waiting = self.waiting.lock();
            self.changed
                .wait_while(&mut waiting, |it| it.changes.is_empty() && !it.closed);
            if waiting.changes.is_empty() {
                drop(waiting);
                if present.is_some_and(|mut open| open.keep().is_err()) {
                    tracing::error!("The state file is gone and can't be made again.");
                }
                return;
            }
            let (changes, last, closed) = (
                std::mem::take(&mut waiting.changes),
                waiting.last,
                waiting.closed,
            );
            drop(waiting);
            // After a failed write the file is read again, because it may hold anything.
            let open = match present.take() {
                Some(open) => Ok(open),
                None => Open::new(path).map(|(open, _)| open),
            };
            let written = open.and_then(|mut open| {
                open.append(&changes)?;
                open.keep()?;
                Ok(open)
            });
            match written {
                Ok(open) => {
                    present = Some(open);
                    self.saved.send_replace((last, None));
                }
                Err(why) => {
                    let before = self.saved.borrow().0;
                    if let Unsaved::Failed(error) = &why {
                        tracing::error!(
                            error,
                            "The state file can't be written; state is kept in memory meanwhile."
                        );
                    }
                    self.saved.send_replace((before, Some(why)));
                    if closed {
                        return;
                    }
                    let mut waiting = self.waiting.lock();
                    for (key, entry) in changes {
                        // A value that has changed again since is kept.
                        waiting.changes.entry(key).or_insert(entry);
                    }
                    self.changed
                        .wait_while_for(&mut waiting, |it| !it.closed, RETRY);
                }
            }
        }
    }
}

/// A state file that is this host's: no other one can lock it.
struct Open {
    file: std::fs::File,
    /// Its path without symlinks.
    path: PathBuf,
    /// Up to where it has lines, in bytes; the next one follows there.
    size: u64,
    /// How long it is with the room for further lines.
    length: u64,
    /// The size beyond which it is written anew.
    most: u64,
}

impl Open {
    /// Opens the file, or makes it, readable by its owner only, and gives what is in it.
    fn new(path: &Path) -> Result<(Open, Rows), Unsaved> {
        let mut options = std::fs::OpenOptions::new();
        let file = open_as(
            options
                .read(true)
                .write(true)
                .create(true)
                .mode(0o600)
                .truncate(false),
            path,
        )?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Unsaved::Held),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let (about, there) = (file.metadata()?, std::fs::metadata(path).ok());
        // The host that had it may have put a new file in its place while it was waited for.
        if there.is_none_or(|there| identity(&there) != identity(&about)) {
            return Err(Unsaved::Held);
        }
        let (rows, size) = read(&file)?;
        let mut open = Open {
            file,
            path: path.canonicalize()?,
            size,
            length: size,
            most: most(&rows),
        };
        if about.len() > size {
            open.file.set_len(size)?;
        }
        if size == 0 {
            open.write(HEADER)?;
            sync_directory(directory(&open.path))?;
        }
        Ok((open, rows))
    }

    /// The same, with some patience for another host that has it open.
    fn wait_for(path: &Path) -> Result<(Open, Rows), Unsaved> {
        let until = Instant::now() + PATIENCE;
        loop {
            match Open::new(path) {
                Err(Unsaved::Held) if Instant::now() < until => std::thread::sleep(LOOK_AGAIN),
                opened => return opened,
            }
        }
    }

    /// Adds changes; when this returns, they are on the disk.
    fn append(&mut self, changes: &Changes) -> io::Result<()> {
        if self.size > self.most
            && let Err(error) = self.rewrite()
        {
            tracing::warn!(%error, "The state file can't be written anew without its old values; it grows meanwhile.");
            self.most = self.most.saturating_mul(2);
        }
        self.write(&line(
            changes.iter().map(|(key, entry)| (key, entry.as_ref())),
        )?)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.size + bytes.len() as u64;
        let mut bytes = Cow::Borrowed(bytes);
        if end > self.length {
            bytes.to_mut().resize((end - self.size + ROOM) as usize, 0);
        }
        let written = self
            .file
            .write_all_at(&bytes, self.size)
            .and_then(|()| self.file.sync_data());
        if written.is_ok() {
            self.length = self.length.max(self.size + bytes.len() as u64);
            self.size = end;
        } else {
            // Nobody is told that this line is on the disk. If it stays, whoever opens the file
            // cuts off what isn't whole.
            let _ = self.file.set_len(self.size);
        }
        written
    }

    /// Sees to it that what was written can be found: a file that was removed under the host is
    /// made again.
    fn keep(&mut self) -> io::Result<()> {
        match std::fs::metadata(&self.path) {
            Ok(there) if identity(&there) == identity(&self.file.metadata()?) => return Ok(()),
            Ok(_) => return Err(io::Error::other("another file has taken its place")),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        tracing::error!(path = %self.path.display(), "The state file was removed under the host, which makes it again.");
        self.rewrite()
    }

    /// Puts a new file with the values alone in the place of this one, at once or not at all.
    fn rewrite(&mut self) -> io::Result<()> {
        let (rows, _) = read(&self.file)?;
        let new = new_beside(&self.path)?;
        // Before others can find it.
        new.as_file().try_lock().map_err(io::Error::from)?;
        let mut lines = BufWriter::new(new.as_file());
        lines.write_all(HEADER)?;
        for (key, entry) in &rows {
            lines.write_all(&line(std::iter::once((key, Some(entry))))?)?;
        }
        lines.flush()?;
        drop(lines);
        new.as_file()
            .set_permissions(self.file.metadata()?.permissions())?;
        new.as_file().sync_all()?;
        let file = new.persist(&self.path).map_err(|error| error.error)?;
        sync_directory(directory(&self.path))?;
        self.size = file.metadata()?.len();
        (self.length, self.most) = (self.size, most(&rows));
        self.file = file;
        Ok(())
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// The size beyond which a file with these values is written anew.
fn most(rows: &Rows) -> u64 {
    let values: usize = rows.values().map(|entry| entry.size + AROUND).sum();
    (2 * values + SLACK) as u64
}

/// A change as the file has it: its scope, its session, its key and, unless it is removed, when it
/// expires (milliseconds since 1970; 0: never) with the value itself.
type Written<'a> = (u8, String, String, Option<(u64, &'a RawValue)>);

/// One line of the file.
fn line<'a>(
    changes: impl Iterator<Item = (&'a (Scope, String), Option<&'a Entry>)>,
) -> io::Result<Vec<u8>> {
    let changes: Vec<_> = changes
        .map(|((scope, key), entry)| {
            let (kind, session) = match scope {
                Scope::Global => (0, ""),
                Scope::Session(session) => (1, &**session),
                Scope::Guards => (2, ""),
            };
            let expires = |entry: &Entry| {
                entry
                    .expires
                    .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
                    .map_or(0, millis)
            };
            (
                kind,
                session,
                key,
                entry.map(|entry| (expires(entry), &entry.value)),
            )
        })
        .collect();
    let json = serde_json::to_vec(&changes)?;
    let sum = digest::of_bytes(&json);
    Ok([&sum.as_bytes()[..SUM], b" ", &json, b"\n"].concat())
}

/// The changes of a line; `None` if it is not a whole one.
fn changes_of(line: &[u8]) -> Option<Changes> {
    let (sum, json) = line.strip_suffix(b"\n")?.split_at_checked(SUM)?;
    let json = json.strip_prefix(b" ")?;
    if sum != &digest::of_bytes(json).as_bytes()[..SUM] {
        return None;
    }
    let changes: Vec<Written<'_>> = serde_json::from_slice(json).ok()?;
    let change = |(kind, session, key, value): Written<'_>| {
        let scope = match kind {
            0 => Scope::Global,
            1 => Scope::Session(session.into()),
            _ => Scope::Guards,
        };
        let entry = value.and_then(|(expires, json)| match serde_json::from_str(json.get()) {
            Ok(value) => {
                let expires = (expires > 0).then(|| UNIX_EPOCH + Duration::from_millis(expires));
                Some(Entry { size: json.get().len() + key.len(), value, expires })
            }
            Err(error) => {
                tracing::error!(key, %error, "A value of the state file can't be read and was left out.");
                None
            }
        });
        ((scope, key), entry)
    };
    Some(changes.into_iter().map(change).collect())
}

/// The live values of a file, and up to where it is whole.
fn read(mut file: &std::fs::File) -> io::Result<(Rows, u64)> {
    file.rewind()?;
    let (mut lines, mut line) = (BufReader::new(file), Vec::new());
    lines.read_until(b'\n', &mut line)?;
    match line == HEADER {
        true => {}
        // A crash may have left a part of the first line.
        false if HEADER.starts_with(&line) => return Ok((Rows::new(), 0)),
        false => return Err(io::Error::other("it is not a state file of hookwire")),
    }
    let (mut rows, mut number, mut size) = (Rows::new(), 1, line.len() as u64);
    let mut broken = None;
    loop {
        line.clear();
        number += 1;
        match lines.read_until(b'\n', &mut line)? {
            0 => break,
            _ if line.iter().all(|byte| *byte == 0) => break,
            n => match (changes_of(&line), broken) {
                (Some(_), Some(broken)) => {
                    return Err(io::Error::other(format!(
                        "its line {broken} is damaged (at byte {size})"
                    )));
                }
                (Some(changes), None) => {
                    for (key, entry) in changes {
                        match entry {
                            Some(entry) => drop(rows.insert(key, entry)),
                            None => drop(rows.remove(&key)),
                        }
                    }
                    size += n as u64;
                }
                (None, _) => broken = broken.or(Some(number)),
            },
        }
    }
    if let Some(line) = broken {
        tracing::warn!(
            line,
            byte = size,
            "The last line of the state file is not whole and was left out."
        );
    }
    let now = SystemTime::now();
    rows.retain(|_, entry| entry.is_live(now));
    Ok((rows, size))
}
