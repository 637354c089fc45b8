//! The index of words, in parts that follow one another in time.
//!
//! FTS5 gathers every event in which some word begins as asked for before it gives the first one.
//! In one index of a million events that is half of them, for a word that most commands have.
//! Within a part it's little, and a page of the newest results is full before most parts are asked.
//! A part also goes as a whole, once all its events are too old.

use super::{Found, Order, Result, error_text};
use rusqlite::{Connection, OptionalExtension, Statement, Transaction, params};

/// Events in a part, before the next one begins.
#[cfg(not(test))]
const EVENTS: i64 = 1 << 16;
#[cfg(test)]
const EVENTS: i64 = 500;

/// A part. It is about the events from its first number on, up to the next part's; the first part
/// also about all before.
struct Part {
    nth: i64,
    first: i64,
    events: i64,
}

/// All parts, in the order of time.
fn all_parts(db: &Connection) -> Result<Vec<Part>> {
    let mut select = db
        .prepare("SELECT nth, first, events FROM part ORDER BY first")
        .map_err(error_text)?;
    let rows = select.query_map([], |row| {
        Ok(Part {
            nth: row.get(0)?,
            first: row.get(1)?,
            events: row.get(2)?,
        })
    });
    rows.and_then(Iterator::collect).map_err(error_text)
}

/// How many events there are.
pub(super) fn count_events(db: &Connection) -> Result<i64> {
    db.query_row("SELECT coalesce(sum(events), 0) FROM part", [], |row| {
        row.get(0)
    })
    .map_err(error_text)
}

/// The first and the last number that a part is about.
fn part_span(parts: &[Part], at: usize) -> (i64, i64) {
    let first = if at == 0 {
        i64::MIN
    } else {
        parts.get(at).map_or(i64::MAX, |parts| parts.first)
    };
    (
        first,
        parts.get(at + 1).map_or(i64::MAX, |next| next.first - 1),
    )
}

/// Looks for what matches within a span of numbers; at most so many.
pub(super) fn search_parts(
    db: &Connection,
    matched: &str,
    (first, last): (i64, i64),
    order: Order,
    limit: usize,
) -> Result<Vec<Found>> {
    let parts = all_parts(db)?;
    let mut places: Vec<usize> = (0..parts.len()).collect();
    if order == Order::Newest {
        places.reverse();
    }
    let mut event = db
        .prepare("SELECT id, run, line FROM event WHERE id = ?1")
        .map_err(error_text)?;
    let direction = order.direction();
    let mut found = Vec::new();
    for at in places {
        let (from, to) = part_span(&parts, at);
        let (from, to) = (from.max(first), to.min(last));
        let Some(Part { nth, .. }) = parts.get(at).filter(|_| from <= to) else {
            continue;
        };
        let sql = format!(
            "SELECT rowid FROM words_{nth} WHERE words_{nth} MATCH ?1 AND rowid BETWEEN ?2 AND ?3 \
             ORDER BY rowid {direction} LIMIT ?4"
        );
        let mut select = db.prepare(&sql).map_err(error_text)?;
        let left = i64::try_from(limit - found.len()).unwrap_or(i64::MAX);
        let ids = select.query_map(params![matched, from, to, left], |row| row.get(0));
        let ids: Vec<i64> = ids.and_then(Iterator::collect).map_err(error_text)?;
        for id in ids {
            found.extend(
                event
                    .query_row([id], Found::from_row)
                    .optional()
                    .map_err(error_text)?,
            );
        }
        if found.len() >= limit {
            break;
        }
    }
    Ok(found)
}

/// Writes into the parts, and begins a new one where the last is full.
pub(super) struct Writer<'a> {
    db: &'a Transaction<'a>,
    parts: Vec<Part>,
    /// The number of the newest event.
    newest: i64,
    /// What writes into the part that was written last, by its place.
    insert: Option<(usize, Statement<'a>)>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(db: &'a Transaction<'a>) -> Result<Writer<'a>> {
        let newest: Option<i64> = db
            .query_row("SELECT max(id) FROM event", [], |row| row.get(0))
            .map_err(error_text)?;
        Ok(Writer {
            db,
            parts: all_parts(db)?,
            newest: newest.unwrap_or(i64::MIN),
            insert: None,
        })
    }

    /// Writes the words of an event that is new.
    pub(super) fn write_words(&mut self, id: i64, text: &str, facets: &str) -> Result<()> {
        let is_full = self
            .parts
            .last()
            .is_none_or(|parts| parts.events >= EVENTS && id > self.newest);
        if is_full {
            self.begin_part(id)?;
        }
        self.newest = self.newest.max(id);
        let at = self
            .parts
            .partition_point(|part| part.first <= id)
            .saturating_sub(1);
        let Some(part) = self.parts.get_mut(at) else {
            return Ok(());
        };
        part.events += 1;
        let insert = match &mut self.insert {
            Some((of, insert)) if *of == at => insert,
            other => {
                let nth = part.nth;
                let sql =
                    format!("INSERT INTO words_{nth} (rowid, text, facets) VALUES (?1, ?2, ?3)");
                &mut other
                    .insert((at, self.db.prepare(&sql).map_err(error_text)?))
                    .1
            }
        };
        insert
            .execute(params![id, text, facets])
            .map(drop)
            .map_err(error_text)
    }

    fn begin_part(&mut self, first: i64) -> Result<()> {
        let nth = self
            .parts
            .iter()
            .map(|part| part.nth + 1)
            .max()
            .unwrap_or(1);
        let sql = format!(
            "CREATE VIRTUAL TABLE words_{nth} USING fts5 (text, facets, content = '', contentless_delete = 1)"
        );
        self.db.execute_batch(&sql).map_err(error_text)?;
        self.db
            .execute("INSERT INTO part VALUES (?1, ?2, 0)", [nth, first])
            .map_err(error_text)?;
        self.parts.push(Part {
            nth,
            first,
            events: 0,
        });
        Ok(())
    }

    /// Notes how many events there are in each part.
    pub(super) fn finish(self) -> Result<()> {
        let mut update = self
            .db
            .prepare("UPDATE part SET events = ?2 WHERE nth = ?1")
            .map_err(error_text)?;
        self.parts.iter().try_for_each(|part| {
            update
                .execute([part.nth, part.events])
                .map(drop)
                .map_err(error_text)
        })
    }
}

/// Lets go the words of all events up to this one, which are still there.
pub(super) fn forget_words(db: &Transaction<'_>, last: i64) -> Result<()> {
    let parts = all_parts(db)?;
    for (at, Part { nth, .. }) in parts.iter().enumerate() {
        let (from, to) = part_span(&parts, at);
        if from > last {
            break;
        }
        if to <= last {
            db.execute_batch(&format!("DROP TABLE words_{nth}"))
                .map_err(error_text)?;
            db.execute("DELETE FROM part WHERE nth = ?1", [nth])
                .map_err(error_text)?;
            continue;
        }
        let sql = format!(
            "DELETE FROM words_{nth} WHERE rowid IN (SELECT id FROM event WHERE id BETWEEN ?1 AND ?2)"
        );
        let n_gone = db.execute(&sql, [from, last]).map_err(error_text)?;
        let n_gone = i64::try_from(n_gone).unwrap_or_default();
        db.execute(
            "UPDATE part SET events = max(0, events - ?2) WHERE nth = ?1",
            [*nth, n_gone],
        )
        .map_err(error_text)?;
    }
    Ok(())
}
