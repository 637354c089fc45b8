//! What running hosts have judged, kept on the disk of the user, without secrets, for as long as a
//! person wants: searched by words and by what is known of an event, and told as JSON lines.
//!
//! SQLite, because a million events are searched in milliseconds only with an index of their words.
//! A scan of their texts alone took a quarter of a second. The index is in `parts`, so that a page
//! of results costs what it shows and not what there is.
//!
//! `cargo bench --bench history` measures a search of a million events.

mod parts;
mod query;

use hookwire_base::support::json::parse;
use hookwire_base::support::places;
use hookwire_base::support::visible::cut;
use hookwire_engine::running::told;
use parking_lot::{Mutex, MutexGuard};
use query::{ANY, Query, facet_word, unix_millis};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long another process may take to write.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest text of an event that is searched, in characters.
const MAX_TEXT: usize = 4000;
/// An event's number begins with its time, in milliseconds, and these bits count the events of one:
/// so events are in the order of time, whenever they were written, and a span of time is a span of
/// numbers.
const COUNT_BITS: u32 = 10;
/// The version of the tables.
const VERSION: i64 = 2;
/// At most so many events go at once.
const GO_AT_ONCE: i64 = 5000;
/// So many are read at once.
const READ_AT_ONCE: usize = 500;

const TABLES: &str = "
    CREATE TABLE event (id INTEGER PRIMARY KEY, run TEXT NOT NULL, seq INTEGER NOT NULL, line TEXT NOT NULL,
        UNIQUE (run, seq)) STRICT;
    CREATE TABLE part (nth INTEGER PRIMARY KEY, first INTEGER NOT NULL UNIQUE, events INTEGER NOT NULL) STRICT;
    CREATE TABLE wish (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
    PRAGMA user_version = 2;
";

/// Where events are missing, by minutes. An older hookwire doesn't look at it, so it needs no
/// version of its own.
const GAPS: &str = "
    CREATE TABLE IF NOT EXISTS gap (minute INTEGER NOT NULL, run TEXT NOT NULL, events INTEGER NOT NULL,
        PRIMARY KEY (minute, run)) STRICT;
";
/// At most so many gaps are told, the newest first.
const MAX_GAPS: i64 = 200;
const MINUTE: i64 = 60_000;

/// Why something of the history can't be had; for people.
pub type Result<T> = std::result::Result<T, String>;

/// See the module.
pub struct History {
    writer: Mutex<Connection>,
    /// Another connection, because a search doesn't wait for what is being written or let go. What
    /// is in memory has one.
    reader: Option<Mutex<Connection>>,
}

/// What a person wants of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// Whether what is judged is written into it.
    pub is_on: bool,
    /// How long an event is kept, in days.
    pub days: u32,
    /// How large the file may become, in MiB.
    pub mebibytes: u32,
}

impl Default for Wishes {
    fn default() -> Wishes {
        Wishes {
            is_on: false,
            days: 30,
            mebibytes: 1024,
        }
    }
}

/// An event that was judged.
pub struct Written<'a> {
    /// The run of the host.
    pub run: &'a str,
    /// The project of that host.
    pub root: &'a str,
    /// The record, without secrets.
    pub record: &'a Value,
}

/// An event that was found.
pub struct Found {
    /// Where the search goes on behind it.
    pub cursor: i64,
    /// The run of the host.
    pub run: String,
    /// The record, as JSON.
    pub line: String,
}

/// Events that were judged and are not there: they came faster than they were written, or couldn't
/// be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The minute in which that was noticed.
    pub at: SystemTime,
    /// The run of the host.
    pub run: String,
    /// How many.
    pub events: u64,
}

/// Where a query looks for events, as far as it says that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Since when.
    pub since: Option<SystemTime>,
    /// Until when.
    pub until: Option<SystemTime>,
    /// At which hosts of a fleet; none: at all.
    pub hosts: Vec<String>,
}

/// Where a query looks for events.
///
/// # Errors
/// The query makes no sense.
pub fn query_span(query: &str) -> Result<Span> {
    let Query {
        since,
        until,
        hosts,
        ..
    } = Query::parse(query, SystemTime::now())?;
    let time = |it: i64| SystemTime::UNIX_EPOCH + Duration::from_millis(it.max(0).cast_unsigned());
    Ok(Span {
        since: since.map(time),
        until: until.map(time),
        hosts,
    })
}

/// Those of some records that a query finds. Each has a name, because hosts count their events from
/// 1 after each start.
///
/// # Errors
/// The query makes no sense, or there is no memory for it.
pub fn sift_records(query: &str, records: &[(String, Value)], order: Order) -> Result<Vec<Value>> {
    let history = History::in_memory()?;
    history.write_events(records.iter().map(|(run, record)| Written {
        run,
        root: record["project"].as_str().unwrap_or_default(),
        record,
    }))?;
    let found = history.search(query, None, order, records.len())?;
    found
        .iter()
        .map(|it| parse(&it.line).map_err(error_text))
        .collect()
}

/// In which order events are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The newest first.
    Newest,
    /// The oldest first.
    Oldest,
}

impl Order {
    /// As SQL has it.
    fn direction(self) -> &'static str {
        if self == Order::Newest { "DESC" } else { "ASC" }
    }
}

impl Found {
    /// Of a row of `id, run, line`.
    fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Found> {
        Ok(Found {
            cursor: row.get(0)?,
            run: row.get(1)?,
            line: row.get(2)?,
        })
    }
}

fn error_text(error: impl std::fmt::Display) -> String {
    format!("the history: {error}")
}

/// Where the history of this user is kept, if the user has a home directory. It need not be there
/// yet.
pub fn history_dir() -> Option<PathBuf> {
    places::data().map(|it| it.join("history"))
}

impl History {
    /// Opens the one in a directory, which is made for this user alone if it isn't there.
    ///
    /// # Errors
    /// It can't be opened, or another version of hookwire has made it.
    pub fn open(dir: &Path) -> Result<History> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(error_text)?;
        let path = dir.join("events.sqlite");
        // SQLite gives the files beside it the same rights.
        File::options()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(error_text)?;
        let connect = || {
            let db = Connection::open(&path).map_err(error_text)?;
            db.busy_timeout(PATIENCE).map_err(error_text)?;
            db.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;")
                .map_err(error_text)?;
            Result::Ok(db)
        };
        let mut db = connect()?;
        let version = |db: &Connection| {
            db.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
                .map_err(error_text)
        };
        if version(&db)? == 0 {
            // Of two that come at once, one makes the tables.
            db.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;")
                .map_err(error_text)?;
            let begun = begin_writing(&mut db)?;
            if version(&begun)? == 0 {
                begun.execute_batch(TABLES).map_err(error_text)?;
            }
            begun.commit().map_err(error_text)?;
        }
        match version(&db)? {
            VERSION => {}
            other => {
                let path = path.display();
                return Err(format!(
                    "{path}: it is of version {other}, and this hookwire reads {VERSION}; move it away to begin a new one"
                ));
            }
        }
        db.execute_batch(GAPS).map_err(error_text)?;
        Ok(History {
            writer: Mutex::new(db),
            reader: Some(Mutex::new(connect()?)),
        })
    }

    /// An empty one in memory, for events that are kept elsewhere.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn in_memory() -> Result<History> {
        let db = Connection::open_in_memory().map_err(error_text)?;
        db.execute_batch(TABLES).map_err(error_text)?;
        db.execute_batch(GAPS).map_err(error_text)?;
        Ok(History {
            writer: Mutex::new(db),
            reader: None,
        })
    }

    fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.as_ref().unwrap_or(&self.writer).lock()
    }

    /// What is wanted of it.
    ///
    /// # Errors
    /// It can't be read.
    pub fn wishes(&self) -> Result<Wishes> {
        let db = self.reader();
        let wish = |name: &str, default: u32| {
            let found = db.query_row("SELECT value FROM wish WHERE name = ?1", [name], |row| {
                row.get(0)
            });
            found
                .optional()
                .map(|it| it.unwrap_or(default))
                .map_err(error_text)
        };
        let Wishes {
            is_on,
            days,
            mebibytes,
        } = Wishes::default();
        Ok(Wishes {
            is_on: wish("on", is_on.into())? != 0,
            days: wish("days", days)?,
            mebibytes: wish("mebibytes", mebibytes)?,
        })
    }

    /// Wants something else of it, from now on.
    ///
    /// # Errors
    /// It can't be written.
    pub fn set_wishes(&self, wishes: Wishes) -> Result<()> {
        let db = self.writer.lock();
        for (name, value) in [
            ("on", u32::from(wishes.is_on)),
            ("days", wishes.days),
            ("mebibytes", wishes.mebibytes),
        ] {
            let set = "INSERT INTO wish VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
            db.execute(set, params![name, value]).map_err(error_text)?;
        }
        Ok(())
    }

    /// Writes events, those that aren't there yet; how many.
    ///
    /// # Errors
    /// It can't be written; then none is.
    pub fn write_events<'a>(&self, events: impl IntoIterator<Item = Written<'a>>) -> Result<usize> {
        let mut db = self.writer.lock();
        let begun = begin_writing(&mut db)?;
        let mut n_new = 0;
        let mut crowded: BTreeMap<String, u64> = BTreeMap::new();
        {
            let mut last = begun
                .prepare("SELECT max(id) FROM event WHERE id BETWEEN ?1 AND ?2")
                .map_err(error_text)?;
            let mut into_events = begun
                .prepare(
                    "INSERT INTO event VALUES (?1, ?2, ?3, ?4) ON CONFLICT (run, seq) DO NOTHING",
                )
                .map_err(error_text)?;
            let mut into_words = parts::Writer::new(&begun)?;
            for Written { run, root, record } in events {
                let at = record["at"]
                    .as_str()
                    .and_then(|it| humantime::parse_rfc3339(it).ok());
                let at = unix_millis(at.unwrap_or_else(SystemTime::now));
                let seq = record["seq"].as_i64().unwrap_or_default();
                let (first, end) = (first_of(at), first_of(at + 1));
                let last: Option<i64> = last
                    .query_row([first, end - 1], |row| row.get(0))
                    .map_err(error_text)?;
                let id = last.map_or(first, |last| last + 1);
                // More than can be counted in one millisecond, or a clock that is far off.
                if id >= end {
                    *crowded.entry(run.to_string()).or_default() += 1;
                    continue;
                }
                if into_events
                    .execute(params![id, run, seq, record.to_string()])
                    .map_err(error_text)?
                    == 0
                {
                    continue;
                }
                n_new += 1;
                let (text, facets) = searched_text(record, root);
                into_words.write_words(id, &text, &facets)?;
            }
            into_words.finish()?;
        }
        note_gaps(&begun, &crowded)?;
        begun.commit().map_err(error_text)?;
        Ok(n_new)
    }

    /// Notes that events of these runs are missing, so many of each.
    ///
    /// # Errors
    /// It can't be written; then none is.
    pub fn note_gaps(&self, gaps: &BTreeMap<String, u64>) -> Result<()> {
        let mut db = self.writer.lock();
        let begun = begin_writing(&mut db)?;
        note_gaps(&begun, gaps)?;
        begun.commit().map_err(error_text)
    }

    /// Where events are missing in the time that a query is about, the newest first. Nobody knows
    /// what they were, so what else it looks for doesn't count.
    ///
    /// # Errors
    /// The query makes no sense, or it can't be read.
    pub fn find_gaps(&self, query: &str) -> Result<Vec<Gap>> {
        let Query { since, until, .. } = Query::parse(query, SystemTime::now())?;
        let minute = |at: i64| at.div_euclid(MINUTE);
        let (first, last) = (since.map_or(0, minute), until.map_or(i64::MAX, minute));
        let db = self.reader();
        let sql = "SELECT minute, run, events FROM gap WHERE minute BETWEEN ?1 AND ?2 ORDER BY minute DESC LIMIT ?3";
        let mut select = db.prepare(sql).map_err(error_text)?;
        let rows = select.query_map(params![first, last, MAX_GAPS], |row| {
            let millis = row
                .get::<_, i64>(0)?
                .saturating_mul(MINUTE)
                .max(0)
                .cast_unsigned();
            let at = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
            Ok(Gap {
                at,
                run: row.get(1)?,
                events: row.get::<_, i64>(2)?.max(0).cast_unsigned(),
            })
        });
        rows.and_then(Iterator::collect).map_err(error_text)
    }

    /// How many events are missing in all, or those of one run.
    ///
    /// # Errors
    /// It can't be read.
    pub fn count_lost(&self, run: Option<&str>) -> Result<u64> {
        let sql = "SELECT coalesce(sum(events), 0) FROM gap WHERE ?1 IS NULL OR run = ?1";
        let found: i64 = self
            .reader()
            .query_row(sql, [run], |row| row.get(0))
            .map_err(error_text)?;
        Ok(found.max(0).cast_unsigned())
    }

    /// The number of the last event of a run that is there.
    ///
    /// # Errors
    /// It can't be read.
    pub fn last_of(&self, run: &str) -> Result<Option<u64>> {
        let sql = "SELECT max(seq) FROM event WHERE run = ?1";
        let found: Option<i64> = self
            .reader()
            .query_row(sql, [run], |row| row.get(0))
            .map_err(error_text)?;
        Ok(found.map(|it| it.max(0).cast_unsigned()))
    }

    /// Looks for events, behind a cursor if there is one; at most so many.
    ///
    /// # Errors
    /// The query makes no sense, or it can't be read.
    pub fn search(
        &self,
        query: &str,
        behind: Option<i64>,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Found>> {
        let Query {
            matched,
            since,
            until,
            ..
        } = Query::parse(query, SystemTime::now())?;
        let mut first = since.map_or(0, first_of);
        let mut last = until.map_or(i64::MAX, |until| first_of(until.saturating_add(1)) - 1);
        match (behind, order) {
            (Some(behind), Order::Newest) => last = last.min(behind - 1),
            (Some(behind), Order::Oldest) => first = first.max(behind.saturating_add(1)),
            (None, _) => {}
        }
        let mut db = self.reader();
        // Of one moment: what the index names is there.
        let seen = db.transaction().map_err(error_text)?;
        if let Some(matched) = matched {
            return parts::search_parts(&seen, &matched, (first, last), order, limit);
        }
        let direction = order.direction();
        let sql = format!(
            "SELECT id, run, line FROM event WHERE id BETWEEN ?1 AND ?2 ORDER BY id {direction} LIMIT ?3"
        );
        let mut select = seen.prepare(&sql).map_err(error_text)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = select.query_map(params![first, last, limit], Found::from_row);
        rows.and_then(Iterator::collect).map_err(error_text)
    }

    /// Hands on what is found behind a cursor, in the order of time, until it is told to end.
    ///
    /// # Errors
    /// As those of [`search`](Self::search).
    pub fn each_found(
        &self,
        query: &str,
        behind: Option<i64>,
        mut take: impl FnMut(&Found) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut behind = behind;
        loop {
            let found = self.search(query, behind, Order::Oldest, READ_AT_ONCE)?;
            let Some(last) = found.last() else {
                return Ok(());
            };
            behind = Some(last.cursor);
            if found.iter().any(|it| take(it).is_break()) {
                return Ok(());
            }
        }
    }

    /// What lies before the newest so many events, as a cursor.
    ///
    /// # Errors
    /// It can't be read.
    pub fn before_newest(&self, n: usize) -> Result<Option<i64>> {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        let found = "SELECT id FROM event ORDER BY id DESC LIMIT 1 OFFSET ?1";
        self.reader()
            .query_row(found, [n], |row| row.get(0))
            .optional()
            .map_err(error_text)
    }

    /// How many events there are, and the bytes of the file.
    ///
    /// # Errors
    /// It can't be read.
    pub fn size(&self) -> Result<(u64, u64)> {
        let db = self.reader();
        Ok((
            parts::count_events(&db)?.max(0).cast_unsigned(),
            used_bytes(&db)?,
        ))
    }

    /// Lets go what is too old, and the oldest where there is too much; how many that were.
    ///
    /// # Errors
    /// It can't be written.
    pub fn trim_events(&self, wishes: Wishes, now: SystemTime) -> Result<u64> {
        let oldest = now.checked_sub(Duration::from_secs(u64::from(wishes.days) * 24 * 3600));
        let oldest = oldest.map_or(0, unix_millis);
        let old_gaps = "DELETE FROM gap WHERE minute < ?1";
        self.writer
            .lock()
            .execute(old_gaps, [oldest.div_euclid(MINUTE)])
            .map_err(error_text)?;
        let oldest = first_of(oldest);
        let most = u64::from(wishes.mebibytes) << 20;
        let mut n_gone = 0;
        loop {
            // Others write between two turns.
            let mut db = self.writer.lock();
            let is_full = used_bytes(&db)? > most;
            let begun = begin_writing(&mut db)?;
            let last =
                "SELECT max(id) FROM (SELECT id FROM event WHERE id < ?1 ORDER BY id LIMIT ?2)";
            let last_old: Option<i64> = begun
                .query_row(last, [oldest, GO_AT_ONCE], |row| row.get(0))
                .map_err(error_text)?;
            // A twentieth at a time, so that what goes is little more than what there is no room
            // for.
            let twentieth = if is_full {
                parts::count_events(&begun)? / 20 + 1
            } else {
                0
            };
            let last = "SELECT max(id) FROM (SELECT id FROM event ORDER BY id LIMIT ?1)";
            let last_of_many: Option<i64> = begun
                .query_row(last, [twentieth.min(GO_AT_ONCE)], |row| row.get(0))
                .map_err(error_text)?;
            let Some(last) = last_old.max(last_of_many) else {
                return Ok(n_gone);
            };
            parts::forget_words(&begun, last)?;
            n_gone += begun
                .execute("DELETE FROM event WHERE id <= ?1", [last])
                .map_err(error_text)? as u64;
            begun.commit().map_err(error_text)?;
            db.execute_batch("PRAGMA incremental_vacuum")
                .map_err(error_text)?;
        }
    }
}

/// Begins to write. Who reads first and then writes would fail where another process writes in
/// between.
fn begin_writing(db: &mut Connection) -> Result<Transaction<'_>> {
    db.transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(error_text)
}

fn note_gaps(begun: &Transaction<'_>, gaps: &BTreeMap<String, u64>) -> Result<()> {
    let minute = unix_millis(SystemTime::now()).div_euclid(MINUTE);
    let sql = "INSERT INTO gap VALUES (?1, ?2, ?3) ON CONFLICT (minute, run) DO UPDATE SET events = events + ?3";
    for (run, events) in gaps {
        let events = i64::try_from(*events).unwrap_or(i64::MAX);
        begun
            .execute(sql, params![minute, run, events])
            .map_err(error_text)?;
    }
    Ok(())
}

/// The first number of a millisecond.
fn first_of(millisecond: i64) -> i64 {
    millisecond.clamp(0, i64::MAX >> (COUNT_BITS + 1)) << COUNT_BITS
}

/// The bytes that are used of the file.
fn used_bytes(db: &Connection) -> Result<u64> {
    let value = |name: &str| {
        db.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
            .map_err(error_text)
    };
    let pages = value("page_count")?.saturating_sub(value("freelist_count")?);
    Ok(pages
        .saturating_mul(value("page_size")?)
        .max(0)
        .cast_unsigned())
}

/// The text of an event that is searched, and what else is known of it.
fn searched_text(record: &Value, root: &str) -> (String, String) {
    let event = told::event_in_part(record);
    let verdict = &record["verdict"];
    let about = told::about(record, event.as_ref());
    let texts = [
        about.as_deref(),
        verdict["reason"].as_str(),
        verdict["decidedBy"].as_str(),
    ];
    let text = texts
        .into_iter()
        .flatten()
        .map(|text| cut(text, MAX_TEXT))
        .collect::<Vec<_>>()
        .join("\n");
    let mut facets = vec![
        ANY.to_string(),
        facet_word("project", root),
        facet_word("agent", &told::sender(record, event.as_ref())),
    ];
    let known = [
        ("decision", verdict["decision"].as_str()),
        ("tool", record["tool"].as_str()),
        ("event", record["event"].as_str()),
        ("host", record["of"]["host"].as_str()),
        (
            "session",
            event
                .as_ref()
                .map(|event| event.session())
                .filter(|it| !it.is_empty()),
        ),
    ];
    facets.extend(
        known
            .into_iter()
            .filter_map(|(key, value)| Some(facet_word(key, value?))),
    );
    let hooks = verdict["outcomes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["hook"].as_str());
    facets.extend(hooks.map(|hook| facet_word("hook", hook)));
    (text, facets.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(seq: u64, at: SystemTime, command: &str, decision: &str) -> Value {
        json!({
            "seq": seq, "at": hookwire_base::support::amounts::rfc3339(at), "event": "PreToolUse", "tool": "Bash", "dialect": "native",
            "client": "bot", "params": { "event": "PreToolUse", "session": "s1", "tool": { "name": "Bash", "input": { "command": command } } },
            "verdict": { "decision": decision, "reason": "Not from here.", "outcomes": [{ "hook": "no-push" }] },
        })
    }

    fn write(history: &History, records: &[Value]) -> usize {
        history
            .write_events(records.iter().map(|record| Written {
                run: "1@x",
                root: "/p",
                record,
            }))
            .unwrap()
    }

    fn seqs(history: &History, query: &str) -> Vec<u64> {
        let found = history.search(query, None, Order::Newest, 100).unwrap();
        found
            .iter()
            .map(|found| {
                serde_json::from_str::<Value>(&found.line).unwrap()["seq"]
                    .as_u64()
                    .unwrap()
            })
            .collect()
    }

    #[test]
    fn what_is_missing_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let history = History::open(dir.path()).unwrap();
        history
            .note_gaps(
                &[("1@x", 3)]
                    .iter()
                    .map(|(run, n)| (run.to_string(), *n))
                    .collect::<BTreeMap<_, _>>(),
            )
            .unwrap();
        // More than one millisecond has room for.
        let now = SystemTime::now();
        let crowd: Vec<_> = (1..=1030)
            .map(|seq| record(seq, now, "ls", "allow"))
            .collect();
        assert_eq!(write(&history, &crowd), 1024);
        assert_eq!(
            (
                history.count_lost(None),
                history.count_lost(Some("1@x")),
                history.count_lost(Some("2@x"))
            ),
            (Ok(9), Ok(9), Ok(0))
        );
        assert_eq!(
            (history.last_of("1@x"), history.last_of("2@x")),
            (Ok(Some(1024)), Ok(None))
        );
        let told = |query: &str| {
            history
                .find_gaps(query)
                .unwrap()
                .iter()
                .map(|gap| gap.events)
                .sum::<u64>()
        };
        assert_eq!(
            (
                told(""),
                told("since:1h decision:deny"),
                told("until:2020-01-01")
            ),
            (9, 9, 0)
        );
        let later = now + Duration::from_secs(40 * 24 * 3600);
        history.trim_events(Wishes::default(), later).unwrap();
        assert_eq!(history.count_lost(None), Ok(0));
    }

    #[test]
    fn events_are_found_by_words_and_by_what_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let history = History::open(dir.path()).unwrap();
        let now = SystemTime::now();
        let ago = |secs: u64| now - Duration::from_secs(secs);
        let records = [
            record(1, ago(7200), "git push -f origin", "deny"),
            record(2, ago(60), "cat src/main.rs", "allow"),
            record(3, ago(1), "git pull", "allow"),
        ];
        assert_eq!(
            (write(&history, &records), write(&history, &records)),
            (3, 0),
            "each is there once"
        );
        for (query, expected) in [
            ("", &[3, 2, 1][..]),
            ("push", &[1]),
            ("pus", &[1]),
            ("src/main.rs", &[2]),
            ("\"push origin\"", &[]),
            ("git", &[3, 1]),
            ("git -push", &[3]),
            ("-git", &[2]),
            ("decision:deny", &[1]),
            ("decision:deny decision:allow tool:bash", &[3, 2, 1]),
            ("-decision:deny since:1h", &[3, 2]),
            ("until:1h", &[1]),
            ("since:0s", &[]),
            ("agent:bo*", &[3, 2, 1]),
            ("agent:other", &[]),
            (
                "hook:no-push session:s1 project:/p event:pretooluse \"not from\"",
                &[3, 2, 1],
            ),
            ("\" OR text:* ) NEAR(", &[]),
        ] {
            match history.search(query, None, Order::Newest, 100) {
                Ok(_) => assert_eq!(seqs(&history, query), expected, "{query}"),
                Err(problem) => assert!(problem.contains("quote"), "{query}: {problem}"),
            }
        }
        let page = history.search("", None, Order::Oldest, 2).unwrap();
        let rest = history
            .search("", Some(page[1].cursor), Order::Oldest, 2)
            .unwrap();
        assert_eq!((page.len(), rest.len()), (2, 1));
        // Another process finds the same.
        assert_eq!(seqs(&History::open(dir.path()).unwrap(), "push"), [1]);
    }

    #[test]
    fn what_is_too_old_or_too_much_goes() {
        let dir = tempfile::tempdir().unwrap();
        let history = History::open(dir.path()).unwrap();
        assert_eq!(history.wishes().unwrap(), Wishes::default());
        let now = SystemTime::now();
        let day = Duration::from_secs(24 * 3600);
        write(
            &history,
            &[
                record(1, now - 3 * day, "old", "deny"),
                record(2, now - day, "new", "deny"),
            ],
        );
        let wishes = Wishes {
            is_on: true,
            days: 2,
            mebibytes: 1,
        };
        history.set_wishes(wishes).unwrap();
        assert_eq!(history.wishes().unwrap(), wishes);
        assert_eq!(history.trim_events(wishes, now), Ok(1));
        assert_eq!(
            (
                seqs(&history, ""),
                seqs(&history, "old"),
                seqs(&history, "new")
            ),
            (vec![2], vec![], vec![2])
        );
        let many: Vec<Value> = (3..9000)
            .map(|n| {
                record(
                    n,
                    now + Duration::from_millis(n),
                    &format!("word{n} {}", "x".repeat(100)),
                    "allow",
                )
            })
            .collect();
        write(&history, &many);
        assert!(history.size().unwrap().1 > 1 << 20);
        assert!(history.trim_events(wishes, now).unwrap() > 0);
        assert!(history.size().unwrap().1 <= 1 << 20);
        assert!(
            seqs(&history, "word8999").len() == 1 && seqs(&history, "word3").is_empty(),
            "the newest stay"
        );
    }

    /// What is found is the same in however many parts the index is, and whenever an event is
    /// written.
    #[test]
    fn parts_of_the_index_are_searched_as_one() {
        let dir = tempfile::tempdir().unwrap();
        let history = History::open(dir.path()).unwrap();
        let now = SystemTime::now();
        let at = |n: u64| now - Duration::from_secs(10_000 - n);
        let event = |n: u64| {
            record(
                n,
                at(n),
                if n.is_multiple_of(3) {
                    "git push"
                } else {
                    "ls"
                },
                "allow",
            )
        };
        // Every seventh comes late, from another host, when the part of its time is full.
        let (late, rest): (Vec<u64>, Vec<u64>) = (1..=2000).partition(|n| n % 7 == 0);
        for batch in [rest, late] {
            write(&history, &batch.into_iter().map(event).collect::<Vec<_>>());
        }
        let parts: i64 = history
            .reader()
            .query_row("SELECT count(*) FROM part", [], |row| row.get(0))
            .unwrap();
        assert!(parts > 2, "{parts}");
        let pages = |query: &str, order: Order| {
            let (mut all, mut behind) = (Vec::new(), None);
            loop {
                let page = history.search(query, behind, order, 300).unwrap();
                let Some(last) = page.last() else { return all };
                behind = Some(last.cursor);
                all.extend(page.iter().map(|found| {
                    serde_json::from_str::<Value>(&found.line).unwrap()["seq"]
                        .as_u64()
                        .unwrap()
                }));
            }
        };
        let pushes: Vec<u64> = (1..=2000).filter(|n| n % 3 == 0).collect();
        assert_eq!(pages("push", Order::Oldest), pushes);
        assert_eq!(
            pages("gi*", Order::Newest),
            pushes.iter().rev().copied().collect::<Vec<_>>()
        );
        assert_eq!(pages("-ls", Order::Oldest), pushes);
        assert_eq!(
            pages("since:10s until:5s push", Order::Oldest),
            Vec::<u64>::new()
        );
        // Half of the time is gone, and with it whole parts.
        let wishes = Wishes {
            is_on: true,
            days: 1,
            mebibytes: 100,
        };
        assert_eq!(
            history.trim_events(wishes, at(1000) + Duration::from_secs(24 * 3600)),
            Ok(999)
        );
        assert_eq!(
            pages("push", Order::Oldest),
            pushes
                .iter()
                .copied()
                .filter(|n| *n >= 1000)
                .collect::<Vec<_>>()
        );
        let left: i64 = history
            .reader()
            .query_row("SELECT count(*) FROM part", [], |row| row.get(0))
            .unwrap();
        assert!(left < parts, "{left} of {parts}");
        write(&history, &[event(3), event(2001)]);
        let found = pages("push", Order::Oldest);
        assert_eq!(
            (found.first(), found.last()),
            (Some(&3), Some(&2001)),
            "one that comes too late, and a new one"
        );
        assert_eq!(history.size().unwrap().0, 1003);
    }
}
