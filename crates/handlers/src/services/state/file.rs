//! The file of a store: changes are written behind, many in one transaction, by a thread of its own.

use super::{Entry, Scope, StateError};
use hookwire_base::support::amounts::millis;
use hookwire_base::support::file::new_beside;
use parking_lot::{Condvar, Mutex};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Seek};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Scope, session, key → when it expires (milliseconds since 1970; 0: never), value as JSON.
const VALUES: TableDefinition<'_, (u8, &str, &str), (u64, &[u8])> = TableDefinition::new("values");
/// Changes that may wait for the disk; more are refused.
const MAX_WAITING: usize = 100_000;
/// After a failed write.
const RETRY: Duration = Duration::from_secs(1);
/// How long another host that has the file open is waited for: a short command ends meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What is in the file: whose value, its key and itself.
pub(super) type Row = (Scope, String, Entry);

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
    /// Another host has the file open. What is counted meanwhile counts in memory, which the log says once: a guard that
    /// failed instead would stop the agent for as long as the other host runs.
    Held,
    Failed(String),
}

#[derive(Default)]
struct Waiting {
    changes: HashMap<(Scope, String), Option<Entry>>,
    /// Counts the changes.
    last: u64,
    closed: bool,
}

impl File {
    /// Opens the file, or makes it, readable by its owner only, and gives what is in it.
    pub(super) fn open(path: &Path) -> Result<(File, Vec<Row>), StateError> {
        let failed =
            |error: &dyn std::fmt::Display| StateError(format!("open the state file {}: {error}", path.display()));
        let (open, entries) = match Open::wait_for(path) {
            Ok(open) => {
                let entries = read(&open.database).map_err(|error| failed(&error))?;
                (Some(open), entries)
            }
            // Without a host, an agent would have no hooks at all.
            Err(redb::Error::DatabaseAlreadyOpen) => {
                let path = path.display();
                tracing::error!(%path, "Another host has the state file open; until that ends, what is counted here is kept in memory.");
                (None, Vec::new())
            }
            Err(other) => return Err(failed(&other)),
        };
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            changed: Condvar::new(),
            saved: watch::Sender::new((0, open.is_none().then_some(Unsaved::Held))),
        });
        let writer = shared.clone();
        let path = path.to_path_buf();
        let write = move || writer.run(open, &path);
        let thread = std::thread::Builder::new().name("state".into()).spawn(write).map_err(|error| failed(&error))?;
        Ok((File { shared, thread: Some(thread) }, entries))
    }

    /// Whether there is room for another change.
    pub(super) fn has_room(&self) -> bool {
        self.shared.waiting.lock().changes.len() < MAX_WAITING
    }

    /// Takes a change; `None` is a removal.
    pub(super) fn note(&self, scope: &Scope, key: &str, entry: Option<&Entry>) {
        let mut waiting = self.shared.waiting.lock();
        waiting.last += 1;
        waiting.changes.insert((scope.clone(), key.to_string()), entry.cloned());
        drop(waiting);
        self.shared.changed.notify_one();
    }

    /// Returns when every change taken so far is on the disk, or counts in memory because another host has the file.
    pub(super) fn saved(&self) -> impl Future<Output = Result<(), StateError>> + use<> {
        let mine = self.shared.waiting.lock().last;
        let mut saved = self.shared.saved.subscribe();
        async move {
            let done = saved.wait_for(|(last, problem)| *last >= mine || problem.is_some()).await;
            match done.as_deref() {
                Ok((last, _)) if *last >= mine => Ok(()),
                Ok((_, Some(Unsaved::Held))) => Ok(()),
                Ok((_, Some(Unsaved::Failed(problem)))) => Err(StateError(format!("write the state file: {problem}"))),
                _ => Err(StateError("write the state file: its thread has ended".into())),
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
    fn run(&self, mut database: Option<Open>, path: &Path) {
        loop {
            let mut waiting = self.waiting.lock();
            self.changed.wait_while(&mut waiting, |it| it.changes.is_empty() && !it.closed);
            if waiting.changes.is_empty() {
                drop(waiting);
                let kept = database.is_none_or(|open| open.keep(path).is_ok());
                if !kept {
                    tracing::error!("The state file is gone and can't be made again.");
                }
                return;
            }
            let (changes, last, closed) = (std::mem::take(&mut waiting.changes), waiting.last, waiting.closed);
            drop(waiting);
            // After a failed write the database refuses all others until it is opened again.
            let open = match database.take() {
                Some(open) => Ok(open),
                None => Open::new(path),
            };
            let written = open.and_then(|open| write(&open.database, &changes).map(|()| open));
            match written.and_then(|open| open.keep(path)) {
                Ok(open) => {
                    database = Some(open);
                    self.saved.send_replace((last, None));
                }
                Err(error) => {
                    let before = self.saved.borrow().0;
                    let why = if let redb::Error::DatabaseAlreadyOpen = error {
                        Unsaved::Held
                    } else {
                        tracing::error!(%error, "The state file can't be written; state is kept in memory meanwhile.");
                        Unsaved::Failed(error.to_string())
                    };
                    self.saved.send_replace((before, Some(why)));
                    if closed {
                        return;
                    }
                    let mut waiting = self.waiting.lock();
                    for (key, entry) in changes {
                        // A value that has changed again since is kept.
                        waiting.changes.entry(key).or_insert(entry);
                    }
                    self.changed.wait_while_for(&mut waiting, |it| !it.closed, RETRY);
                }
            }
        }
    }
}

/// The database and the file that it is in.
struct Open {
    database: Database,
    file: std::fs::File,
}

impl Open {
    /// Opens the database, or makes it, readable by its owner only.
    fn new(path: &Path) -> Result<Open, redb::Error> {
        let file =
            std::fs::OpenOptions::new().read(true).write(true).create(true).mode(0o600).truncate(false).open(path)?;
        Ok(Open { file: file.try_clone()?, database: Database::builder().create_file(file)? })
    }

    /// The same, with some patience for another host that has it open.
    fn wait_for(path: &Path) -> Result<Open, redb::Error> {
        let until = Instant::now() + PATIENCE;
        loop {
            match Open::new(path) {
                Err(redb::Error::DatabaseAlreadyOpen) if Instant::now() < until => std::thread::sleep(LOOK_AGAIN),
                opened => return opened,
            }
        }
    }

    /// Sees to it that what was written can be found: a file that was removed under the host is made again.
    fn keep(self, path: &Path) -> Result<Open, redb::Error> {
        let ours = self.file.metadata()?;
        match std::fs::metadata(path) {
            Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => return Ok(self),
            Ok(_) => return Err(Error::other("another file has taken its place").into()),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        tracing::error!(path = %path.display(), "The state file was removed under the host, which makes it again.");
        let Open { database, mut file } = self;
        // Closed, the file is whole.
        drop(database);
        let mut new = new_beside(path)?;
        file.rewind()?;
        std::io::copy(&mut file, &mut new)?;
        new.as_file().sync_all()?;
        new.persist(path).map_err(|error| error.error)?;
        Open::new(path)
    }
}

fn write(database: &Database, changes: &HashMap<(Scope, String), Option<Entry>>) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut table = transaction.open_table(VALUES)?;
        for ((scope, key), entry) in changes {
            let key = row(scope, key);
            match entry {
                None => drop(table.remove(key)?),
                Some(entry) => {
                    let expires = entry.expires.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
                    let expires = expires.map_or(0, millis);
                    table.insert(key, (expires, entry.value.to_string().as_bytes()))?;
                }
            }
        }
    }
    transaction.commit()?;
    Ok(())
}

/// What is in the file; what has expired is removed.
fn read(database: &Database) -> Result<Vec<Row>, redb::Error> {
    let mut entries = Vec::new();
    let mut expired = HashMap::new();
    let table = match database.begin_read()?.open_table(VALUES) {
        Ok(table) => table,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(entries),
        Err(error) => return Err(error.into()),
    };
    for item in table.iter()? {
        let (key, value) = item?;
        let (kind, session, key) = key.value();
        let (expires, json) = value.value();
        let scope = match kind {
            0 => Scope::Global,
            1 => Scope::Session(session.into()),
            _ => Scope::Guards,
        };
        let Ok(value) = serde_json::from_slice::<Value>(json) else {
            tracing::error!(key, "A value of the state file is not JSON and was left out.");
            continue;
        };
        let expires = (expires > 0).then(|| UNIX_EPOCH + Duration::from_millis(expires));
        let entry = Entry { size: json.len() + key.len(), value, expires };
        if entry.is_live(SystemTime::now()) {
            entries.push((scope, key.to_string(), entry));
        } else {
            expired.insert((scope, key.to_string()), None);
        }
    }
    drop(table);
    if !expired.is_empty() {
        write(database, &expired)?;
    }
    Ok(entries)
}

fn row<'a>(scope: &'a Scope, key: &'a str) -> (u8, &'a str, &'a str) {
    match scope {
        Scope::Global => (0, "", key),
        Scope::Session(session) => (1, session, key),
        Scope::Guards => (2, "", key),
    }
}
