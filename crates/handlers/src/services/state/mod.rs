//! What hooks know together: values by key, per session or global, with a time to live.
//!
//! One store serves every way to it: scripts, workers, RPC, the command line and the guards' own
//! counters. It lives in memory; an [opened](Store::open) one keeps itself in a file too, written
//! behind (see [`Store::saved`]).

mod counted;
mod file;
pub mod runs;

pub use counted::Occasion;

use hookwire_base::support::decimal::fits_double;
use parking_lot::{Mutex, MutexGuard};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Whose values they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// All sessions share them.
    Global,
    /// A session's.
    Session(Arc<str>),
    /// The guards' counters. No API can name them, so that no hook resets what another counts.
    #[doc(hidden)]
    #[non_exhaustive]
    Guards,
}

impl Scope {
    /// The scope of a session; the global one where there is none, or one without a name.
    pub fn of(session: Option<&str>) -> Scope {
        match session.filter(|it| !it.is_empty()) {
            Some(session) => Scope::Session(session.into()),
            None => Scope::Global,
        }
    }
}

/// The scope of the guards' counters, for the engine. It is no method of [`Scope`], which programs
/// that embed the host see.
pub fn guards() -> Scope {
    Scope::Guards
}

/// Why the store can't do what it was asked. The text finishes the sentence "failed to ...".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateError(pub String);

impl std::fmt::Display for StateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StateError {}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// How long it has left, in milliseconds; absent: for good.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ttl_ms: Option<u64>,
}

/// The longest key, in bytes.
pub const MAX_KEY: usize = 512;
/// The largest value, as JSON in bytes.
pub const MAX_VALUE: usize = 256 * 1024;
/// All keys and values together, in bytes.
pub const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Of these, the part that only the guards may use, so that other values can't take the room of
/// their counts.
const GUARDS_BYTES: usize = 8 * 1024 * 1024;
/// Sessions whose values are kept. Beyond that, and when the store is full, the one that was
/// changed longest ago is forgotten.
pub const MAX_SESSIONS: usize = 10_000;

/// A time beyond which clocks can't count.
const FOR_GOOD: Duration = Duration::from_secs(1 << 32);

/// When a value is forgotten.
enum Expiry {
    /// After so long.
    In(Option<Duration>),
    /// So too, but one that is there keeps its own time.
    OfNew(Option<Duration>),
}

/// What hooks know together: values by key, of a session or everybody's, with a time to live.
///
/// Closures, scripts, workers, the command line and clients all see the same values. A store lives
/// in memory; an [opened](Store::open) one is kept in a file too. What is kept is bounded: a value
/// to 256 KiB, all together to 56 MiB and 10,000 sessions; in a full store the session that was
/// changed longest ago is forgotten first. Cheap to clone; clones share the values.
///
/// ```
/// use hookwire_handlers::services::state::{Scope, StateError, Store};
/// use serde_json::json;
///
/// let (store, session) = (Store::default(), Scope::of(Some("session-1")));
/// store.set(&session, "pushes", json!(1), None)?;
/// assert_eq!(store.increment(&session, "pushes", &2.into(), None)?.as_i64(), Some(3));
/// assert_eq!(store.get(&Scope::Global, "pushes"), None);
/// # Ok::<(), StateError>(())
/// ```
#[derive(Clone, Default)]
pub struct Store(Arc<Shared>);

#[derive(Default)]
struct Shared {
    values: Mutex<Values>,
}

#[derive(Default)]
struct Values {
    file: Option<file::File>,
    scopes: HashMap<Scope, Entries>,
    bytes: usize,
    /// Counts changes, to know which session was changed longest ago.
    clock: u64,
}

#[derive(Default)]
struct Entries {
    by_key: BTreeMap<String, Entry>,
    changed: u64,
}

#[derive(Clone)]
struct Entry {
    value: Value,
    size: usize,
    expires: Option<SystemTime>,
}

impl Entry {
    fn is_live(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|expires| expires > now)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

impl Store {
    /// A store that keeps itself in a file, across restarts and a kill of the host. While another
    /// host has the file open, which is waited for a moment, values are kept in memory and written
    /// when it ends.
    ///
    /// # Errors
    /// The file can't be opened, or is something else.
    pub fn open(path: &Path) -> Result<Store, StateError> {
        let (file, rows) = file::File::open(path)?;
        let mut values = Values::default();
        let now = SystemTime::now();
        for ((scope, key), entry) in rows {
            values.insert(&scope, &key, entry, now)?;
        }
        values.file = Some(file);
        Ok(Store(Arc::new(Shared {
            values: Mutex::new(values),
        })))
    }

    /// For tests of hooks: values come as near to their end as if this time had passed.
    pub fn pass(&self, time: Duration) {
        let mut values = self.values();
        for entry in values
            .scopes
            .values_mut()
            .flat_map(|entries| entries.by_key.values_mut())
        {
            entry.expires = entry
                .expires
                .map(|at| at.checked_sub(time).unwrap_or(SystemTime::UNIX_EPOCH));
        }
    }

    /// The value of a key.
    pub fn get(&self, scope: &Scope, key: &str) -> Option<Value> {
        let values = self.values();
        let entry = values.scopes.get(scope)?.by_key.get(key)?;
        entry
            .is_live(SystemTime::now())
            .then(|| entry.value.clone())
    }

    /// Sets a value; without a time to live it stays. In a full store the session that was changed
    /// longest ago makes room.
    ///
    /// # Errors
    /// The key or the value is too large, or the store is full of what isn't another session's.
    pub fn set(
        &self,
        scope: &Scope,
        key: &str,
        value: Value,
        ttl: Option<Duration>,
    ) -> Result<(), StateError> {
        self.update(scope, key, ttl, |_| Ok(Some(value))).map(drop)
    }

    /// Adds to a number; a key without a value counts as 0. Integers stay integers. The time to
    /// live is that of a new number: one that is there keeps its own, so that counting doesn't
    /// prolong it.
    ///
    /// # Errors
    /// The value is not a number or leaves the range of 64-bit integers; as for [`Store::set`].
    pub fn increment(
        &self,
        scope: &Scope,
        key: &str,
        by: &Number,
        ttl: Option<Duration>,
    ) -> Result<Number, StateError> {
        let mut sum = Number::from(0);
        self.change(scope, key, Expiry::OfNew(ttl), |value| {
            sum = match value {
                None => by.clone(),
                Some(Value::Number(number)) => add(number, by).ok_or_else(|| {
                    StateError(format!(
                        "increment `{key}`: the sum of {number} and {by} doesn't fit into 64 bits"
                    ))
                })?,
                Some(_) => {
                    return Err(StateError(format!(
                        "increment `{key}`: its value is not a number"
                    )));
                }
            };
            Ok(Some(Value::Number(sum.clone())))
        })?;
        Ok(sum)
    }

    /// Sets a value if the present one is the expected one (`None`: there is none). Gives the value
    /// that is there afterwards, and whether it was set.
    ///
    /// # Errors
    /// As for [`Store::set`].
    pub fn compare_and_set(
        &self,
        scope: &Scope,
        key: &str,
        expected: Option<&Value>,
        value: Value,
        ttl: Option<Duration>,
    ) -> Result<(bool, Option<Value>), StateError> {
        let mut present = None;
        let mut swapped = false;
        self.update(scope, key, ttl, |now| {
            swapped = now == expected;
            present = if swapped {
                Some(value.clone())
            } else {
                now.cloned()
            };
            if swapped {
                Ok(Some(value))
            } else {
                Err(StateError(String::new()))
            }
        })
        .or_else(|error| {
            if swapped || !error.0.is_empty() {
                Err(error)
            } else {
                Ok(None)
            }
        })?;
        Ok((swapped, present))
    }

    /// Removes a value; says whether there was one.
    pub fn delete(&self, scope: &Scope, key: &str) -> bool {
        let removed = self.values().remove(scope, key);
        removed.is_some_and(|entry| entry.is_live(SystemTime::now()))
    }

    /// Values whose keys start with a prefix, in order of the keys.
    pub fn list(&self, scope: &Scope, prefix: &str, limit: usize) -> Vec<Item> {
        let values = self.values();
        let Some(entries) = values.scopes.get(scope) else {
            return Vec::new();
        };
        let now = SystemTime::now();
        let left = |expires: SystemTime| {
            let left = expires.duration_since(now).unwrap_or_default().as_millis();
            u64::try_from(left).unwrap_or(u64::MAX)
        };
        let from = entries.by_key.range::<str, _>((
            std::ops::Bound::Included(prefix),
            std::ops::Bound::Unbounded,
        ));
        from.take_while(|(key, _)| key.starts_with(prefix))
            .filter(|(_, entry)| entry.is_live(now))
            .take(limit)
            .map(|(key, entry)| Item {
                key: key.clone(),
                value: entry.value.clone(),
                ttl_ms: entry.expires.map(left),
            })
            .collect()
    }

    /// Replaces a value by what is made of it, in one step: `None` removes it. Gives the new value.
    ///
    /// `change` runs while the store is locked: it must not block, and a call of this store
    /// within it would wait for itself for ever.
    ///
    /// # Errors
    /// What `change` says, which then changes nothing; as for [`Store::set`].
    pub fn update(
        &self,
        scope: &Scope,
        key: &str,
        ttl: Option<Duration>,
        change: impl FnOnce(Option<&Value>) -> Result<Option<Value>, StateError>,
    ) -> Result<Option<Value>, StateError> {
        self.change(scope, key, Expiry::In(ttl), change)
    }

    fn change(
        &self,
        scope: &Scope,
        key: &str,
        expiry: Expiry,
        change: impl FnOnce(Option<&Value>) -> Result<Option<Value>, StateError>,
    ) -> Result<Option<Value>, StateError> {
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(StateError(format!(
                "use the key: it has 1 to {MAX_KEY} bytes, this has {}",
                key.len()
            )));
        }
        let now = SystemTime::now();
        let mut values = self.values();
        let present = values
            .scopes
            .get(scope)
            .and_then(|entries| entries.by_key.get(key));
        let present = present.filter(|entry| entry.is_live(now));
        let at =
            |ttl: Option<Duration>| ttl.map(|ttl| now.checked_add(ttl).unwrap_or(now + FOR_GOOD));
        let expires = match (expiry, present) {
            (Expiry::OfNew(_), Some(entry)) => entry.expires,
            (Expiry::OfNew(ttl) | Expiry::In(ttl), _) => at(ttl),
        };
        let Some(value) = change(present.map(|entry| &entry.value))? else {
            values.remove(scope, key);
            return Ok(None);
        };
        let size = value.to_string().len();
        if size > MAX_VALUE {
            return Err(StateError(format!(
                "keep `{key}`: a value has at most {MAX_VALUE} bytes, this has {size}"
            )));
        }
        let entry = Entry {
            value: value.clone(),
            size: size + key.len(),
            expires,
        };
        values.insert(scope, key, entry, now)?;
        Ok(Some(value))
    }

    /// Returns when every change made so far survives the end of the host, if the store has a file.
    ///
    /// # Errors
    /// The file can't be written.
    pub async fn saved(&self) -> Result<(), StateError> {
        let saved = self.values().file.as_ref().map(file::File::saved);
        match saved {
            Some(saved) => saved.await,
            None => Ok(()),
        }
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.0.values.lock()
    }
}

impl Values {
    fn remove(&mut self, scope: &Scope, key: &str) -> Option<Entry> {
        let entries = self.scopes.get_mut(scope)?;
        let removed = entries.by_key.remove(key)?;
        self.bytes -= removed.size;
        if entries.by_key.is_empty() {
            self.scopes.remove(scope);
        }
        self.note(scope, key, None);
        Some(removed)
    }

    fn insert(
        &mut self,
        scope: &Scope,
        key: &str,
        entry: Entry,
        now: SystemTime,
    ) -> Result<(), StateError> {
        let before = self
            .scopes
            .get(scope)
            .and_then(|entries| entries.by_key.get(key))
            .map_or(0, |entry| entry.size);
        let room = if *scope == Scope::Guards {
            MAX_BYTES
        } else {
            MAX_BYTES - GUARDS_BYTES
        };
        if self.bytes - before + entry.size > room {
            self.sweep(now);
            let before = before.min(self.bytes);
            while self.bytes - before + entry.size > room && self.forget_a_session(scope) {}
            if self.bytes - before + entry.size > room {
                return Err(StateError(format!(
                    "keep `{key}`: the store is full ({room} bytes)"
                )));
            }
        }
        if matches!(scope, Scope::Session(_))
            && !self.scopes.contains_key(scope)
            && self.scopes.len() >= MAX_SESSIONS
        {
            self.forget_a_session(scope);
        }
        if self.file.as_ref().is_some_and(|file| !file.has_room()) {
            return Err(StateError(format!(
                "keep `{key}`: the state file can't keep up"
            )));
        }
        self.note(scope, key, Some(&entry));
        self.clock += 1;
        self.bytes += entry.size;
        let entries = self.scopes.entry(scope.clone()).or_default();
        entries.changed = self.clock;
        if let Some(before) = entries.by_key.insert(key.to_string(), entry) {
            self.bytes -= before.size;
        }
        Ok(())
    }

    fn note(&self, scope: &Scope, key: &str, entry: Option<&Entry>) {
        if let Some(file) = &self.file {
            file.note(scope, key, entry);
        }
    }

    /// Removes what has expired.
    fn sweep(&mut self, now: SystemTime) {
        let gone = |entries: &Entries| -> Vec<String> {
            entries
                .by_key
                .iter()
                .filter(|(_, entry)| !entry.is_live(now))
                .map(|(key, _)| key.clone())
                .collect()
        };
        let gone: Vec<_> = self
            .scopes
            .iter()
            .map(|(scope, entries)| (scope.clone(), gone(entries)))
            .collect();
        for (scope, keys) in gone {
            for key in keys {
                self.remove(&scope, &key);
            }
        }
    }

    /// Removes the values of the session that was changed longest ago, if there is another one than
    /// `but`.
    fn forget_a_session(&mut self, but: &Scope) -> bool {
        let sessions = self
            .scopes
            .iter()
            .filter(|(scope, _)| matches!(scope, Scope::Session(_)) && *scope != but);
        let oldest = sessions
            .min_by_key(|(_, entries)| entries.changed)
            .map(|(scope, _)| scope.clone());
        let Some((oldest, entries)) = oldest.and_then(|oldest| self.scopes.remove_entry(&oldest))
        else {
            return false;
        };
        for (key, entry) in entries.by_key {
            self.bytes -= entry.size;
            self.note(&oldest, &key, None);
        }
        true
    }
}

/// The sum of two numbers: an integer if both are, `None` out of range, or where a float would lose
/// digits of one.
pub fn add(a: &Number, b: &Number) -> Option<Number> {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.checked_add(b).map(Number::from),
        _ if [a, b].iter().all(|it| fits_double(it.as_str())) => {
            Number::from_f64(a.as_f64()? + b.as_f64()?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values() {
        let store = Store::default();
        let (global, session) = (Scope::Global, Scope::of(Some("s")));
        store.set(&global, "a", json!(1), None).unwrap();
        assert_eq!(
            (store.get(&global, "a"), store.get(&session, "a")),
            (Some(json!(1)), None)
        );
        assert_eq!(
            store.increment(&global, "a", &2.into(), None).unwrap(),
            Number::from(3)
        );
        assert_eq!(
            store
                .increment(&session, "n", &Number::from_f64(0.5).unwrap(), None)
                .unwrap()
                .as_f64(),
            Some(0.5)
        );
        assert_eq!(
            store
                .increment(&global, "a", &i64::MAX.into(), None)
                .unwrap_err()
                .0,
            format!(
                "increment `a`: the sum of 3 and {} doesn't fit into 64 bits",
                i64::MAX
            )
        );
        assert_eq!(
            store
                .compare_and_set(&global, "a", Some(&json!(2)), json!(9), None)
                .unwrap(),
            (false, Some(json!(3)))
        );
        assert_eq!(
            store
                .compare_and_set(&global, "a", Some(&json!(3)), json!(9), None)
                .unwrap(),
            (true, Some(json!(9)))
        );
        assert_eq!(
            store
                .compare_and_set(&global, "new", None, json!("x"), None)
                .unwrap(),
            (true, Some(json!("x")))
        );
        assert_eq!(
            store
                .increment(&global, "new", &1.into(), None)
                .unwrap_err()
                .0,
            "increment `new`: its value is not a number"
        );
        let keys = |prefix| {
            store
                .list(&global, prefix, 10)
                .into_iter()
                .map(|item| item.key)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (keys(""), keys("n")),
            (vec!["a".to_string(), "new".into()], vec!["new".to_string()])
        );
        assert!(store.delete(&global, "a") && !store.delete(&global, "a"));
    }

    #[test]
    fn time_to_live() {
        let store = Store::default();
        store
            .set(&Scope::Global, "gone", json!(1), Some(Duration::ZERO))
            .unwrap();
        store
            .set(
                &Scope::Global,
                "here",
                json!(1),
                Some(Duration::from_secs(3600)),
            )
            .unwrap();
        assert_eq!(store.get(&Scope::Global, "gone"), None);
        assert_eq!(
            store
                .increment(&Scope::Global, "gone", &1.into(), None)
                .unwrap(),
            Number::from(1)
        );
        // Counting neither prolongs nor shortens.
        store
            .increment(&Scope::Global, "here", &1.into(), None)
            .unwrap();
        let items = store.list(&Scope::Global, "", 10);
        assert_eq!(
            (items[0].ttl_ms, items[1].ttl_ms.map(|it| it > 3_590_000)),
            (None, Some(true))
        );
    }

    #[tokio::test]
    async fn a_file_keeps_what_was_saved() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        let store = Store::open(&path).unwrap();
        // Another host has its values in memory meanwhile.
        let beside = Store::open(&path).unwrap();
        beside
            .set(&Scope::Global, "beside", json!(1), None)
            .unwrap();
        assert_eq!(beside.saved().await, Ok(()), "it counts");
        let session = Scope::of(Some("s"));
        store
            .set(
                &session,
                "k",
                json!({"a": 1}),
                Some(Duration::from_secs(3600)),
            )
            .unwrap();
        store
            .set(&Scope::Global, "gone", json!(1), Some(Duration::ZERO))
            .unwrap();
        store
            .set(&Scope::Global, "deleted", json!(1), None)
            .unwrap();
        store
            .increment(&Scope::Guards, "k", &1.into(), None)
            .unwrap();
        assert!(store.delete(&Scope::Global, "deleted"));
        store.saved().await.unwrap();
        drop(store);
        // Now the file is free.
        drop(beside);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.get(&Scope::Global, "beside"), Some(json!(1)));
        assert!(store.delete(&Scope::Global, "beside"));
        assert_eq!(
            (store.get(&session, "k"), store.get(&Scope::Guards, "k")),
            (Some(json!({"a": 1})), Some(json!(1)))
        );
        assert_eq!(store.list(&Scope::Global, "", 10), []);
        assert!(store.list(&session, "", 10)[0].ttl_ms.is_some());
        drop(store);
        std::fs::write(&path, "something else").unwrap();
        let error = Store::open(&path).unwrap_err().0;
        let expected = format!(
            "open the state file {}: it is not a state file of hookwire",
            path.display()
        );
        assert_eq!(
            (error, std::fs::read_to_string(&path).unwrap()),
            (expected, "something else".into())
        );
    }

    #[tokio::test]
    async fn a_file_is_whole_up_to_the_last_line_that_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        let opened = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Store::open(&path).map(|store| store.list(&Scope::Global, "", 10).len())
        };
        let store = Store::open(&path).unwrap();
        for key in ["a", "b"] {
            store.set(&Scope::Global, key, json!(null), None).unwrap();
            store.saved().await.unwrap();
        }
        drop(store);
        let whole = std::fs::read(&path).unwrap();
        let ends: Vec<usize> = whole
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(at, _)| at + 1)
            .collect();
        // Wherever a crash ended the file, what was acknowledged before is there, and the next
        // change is read again.
        for end in 0..=ends[2] + 2 {
            let n = ends
                .iter()
                .filter(|at| **at <= end)
                .count()
                .saturating_sub(1);
            assert_eq!(opened(&whole[..end]), Ok(n), "{end}");
            let store = Store::open(&path).unwrap();
            store.set(&Scope::Global, "c", json!(1), None).unwrap();
            store.saved().await.unwrap();
            drop(store);
            assert_eq!(
                Store::open(&path)
                    .unwrap()
                    .list(&Scope::Global, "", 10)
                    .len(),
                n + 1,
                "{end}"
            );
        }
        // The disk may have kept the end of a line and not its beginning.
        let mut torn = whole.clone();
        torn[ends[1]..ends[1] + 30].fill(0);
        assert_eq!(opened(&torn), Ok(1));
        let mut damaged = whole.clone();
        damaged[ends[0] + 3] ^= 1;
        let error = opened(&damaged).unwrap_err().0;
        assert!(
            error.ends_with(&format!("its line 2 is damaged (at byte {})", ends[0])),
            "{error}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), damaged, "nothing is cut off");
    }

    #[tokio::test]
    async fn a_file_holds_few_old_values() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("state"), dir.path().join("link"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let store = Store::open(&link).unwrap();
        let large = "x".repeat(MAX_VALUE - 10);
        for n in 0..30 {
            store
                .set(&Scope::Global, "k", json!(format!("{n}{large}")), None)
                .unwrap();
            store
                .increment(&Scope::Guards, "n", &1.into(), None)
                .unwrap();
            store.saved().await.unwrap();
            assert!(std::fs::metadata(&path).unwrap().len() < 8 * MAX_VALUE as u64);
        }
        let held = Store::open(&path).unwrap();
        assert_eq!(
            held.get(&Scope::Global, "k"),
            None,
            "the new file is held, too"
        );
        drop(store);
        drop(held);
        let store = Store::open(&path).unwrap();
        assert_eq!(
            store.get(&Scope::Global, "k"),
            Some(json!(format!("29{large}")))
        );
        assert_eq!(store.get(&Scope::Guards, "n"), Some(json!(30)));
        assert!(link.is_symlink());
    }

    #[test]
    fn a_full_store_forgets_the_session_that_was_changed_longest_ago() {
        let store = Store::default();
        let large = json!("x".repeat(MAX_VALUE - 2));
        let session = |n: usize| Scope::of(Some(&n.to_string()));
        let n_fit = (MAX_BYTES - GUARDS_BYTES) / (MAX_VALUE + 1);
        for n in 0..n_fit {
            store.set(&session(n), "k", large.clone(), None).unwrap();
        }
        store.set(&session(0), "small", json!(1), None).unwrap();
        store.set(&Scope::Global, "k", large.clone(), None).unwrap();
        store
            .set(&session(n_fit), "k", large.clone(), None)
            .unwrap();
        let is_kept = |n| store.get(&session(n), "k").is_some();
        assert_eq!(
            [0, 1, 2, 3, n_fit].map(is_kept),
            [true, false, false, true, true]
        );
        // A session doesn't make room for itself with its own values.
        let until_full = (0..).find(|n| {
            store
                .set(&session(0), &n.to_string(), large.clone(), None)
                .is_err()
        });
        assert!(until_full > Some(n_fit / 2) && is_kept(0) && !is_kept(n_fit));
        assert!(store.get(&Scope::Global, "k").is_some());
    }

    #[test]
    fn bounds() {
        let store = Store::default();
        let refused = |key: &str, value| store.set(&Scope::Global, key, value, None).unwrap_err().0;
        assert_eq!(
            refused("", json!(1)),
            "use the key: it has 1 to 512 bytes, this has 0"
        );
        let large = json!("x".repeat(MAX_VALUE - 2));
        assert_eq!(
            refused("k", json!("x".repeat(MAX_VALUE))),
            "keep `k`: a value has at most 262144 bytes, this has 262146"
        );
        let until_full = (0..).find(|n| {
            store
                .set(&Scope::Global, &format!("{n:04}"), large.clone(), None)
                .is_err()
        });
        assert_eq!(
            until_full,
            Some((MAX_BYTES - GUARDS_BYTES) / (MAX_VALUE + 4))
        );
        store
            .increment(&Scope::Guards, "count", &1.into(), None)
            .unwrap();
        store
            .set(&Scope::Global, "0000", json!(1), Some(Duration::ZERO))
            .unwrap();
        store.set(&Scope::Global, "again", large, None).unwrap();
        for n in 0..=MAX_SESSIONS {
            store
                .set(&Scope::of(Some(&n.to_string())), "k", json!(n), None)
                .unwrap();
        }
        assert_eq!(
            store.get(&Scope::of(Some("0")), "k"),
            None,
            "the oldest session is forgotten"
        );
        assert_eq!(
            store.get(&Scope::of(Some("10000")), "k"),
            Some(json!(10000))
        );
    }
}
