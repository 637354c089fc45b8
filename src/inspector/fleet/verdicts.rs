//! The verdict stream, as it comes.

use super::{Fleet, MAX_MACHINES, Part};
use crate::inspector::shown::shown_record;
use hookwire_base::verdict::Verdict;
use hookwire_engine::fleet::stream;
use hookwire_engine::journal::{Ended, Record};
use hookwire_fleet::name::Name;
use hookwire_fleet::server::ServerError;
use hookwire_fleet::verdicts::{From, Reader, Stored};
use hookwire_handlers::handlers::guards::without_secrets;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A page begins with so many of the stream's last messages. What is older, the history finds.
const BACK: u64 = 1000;

/// Tells pages each verdict as the servers store it.
pub(super) async fn follow_verdicts(fleet: Arc<Fleet>) {
    let from = From {
        back: BACK,
        ..From::default()
    };
    let mut reader = loop {
        match Reader::start(&fleet.source.server, &from).await {
            Ok(reader) => break reader,
            Err(error) => fleet.note_failed(Part::Verdicts, &error).await,
        }
    };
    loop {
        match reader.next().await {
            // Taking secrets out takes its time, and others are to go on meanwhile.
            Ok(stored) => tokio::task::block_in_place(|| fleet.take_stored(stored)),
            Err(error @ ServerError::Other(_)) => tracing::debug!(%error, "Verdicts are left out."),
            Err(error) => {
                fleet.note_failed(Part::Verdicts, &error).await;
                continue;
            }
        }
        fleet.note_works(Part::Verdicts);
    }
}

impl Fleet {
    fn take_stored(&self, stored: Stored) {
        let host = stored.host.clone();
        match stream::record(stored).and_then(read_record) {
            Ok(News::Judged(message)) => self.feed.tell_pages("verdict", message),
            Ok(News::Ended(message)) => self.feed.tell_pages("ended", message),
            Ok(News::Lost(message)) => self.feed.tell_pages("lost", message),
            Err(problem) => tracing::debug!(problem, "A verdict is left out."),
        }
        self.know_host(host);
    }

    fn know_host(&self, host: Name) {
        let mut known = self.known.lock();
        if known.machines.len() < MAX_MACHINES && known.machines.insert(host) {
            self.met.notify_one();
        }
    }
}

/// What a record of the stream says, as pages are told it.
enum News {
    Judged(Map<String, Value>),
    Ended(Map<String, Value>),
    Lost(Map<String, Value>),
}

/// Reads a record as hostile input: a host may write what it likes, and a page takes it as it is
/// told.
fn read_record(record: Value) -> Result<News, String> {
    let host = record["of"]["host"].clone();
    let of_host = |name: &str, value: Value| {
        Map::from_iter([("host".to_string(), host.clone()), (name.into(), value)])
    };
    if let Some(ended) = record.get("ended") {
        let ended =
            Ended::deserialize(ended).map_err(|error| format!("an `ended` of {host}: {error}"))?;
        return Ok(News::Ended(of_host("ended", without_secrets(json!(ended)))));
    }
    if let Some(lost) = record["lost"].as_u64() {
        return Ok(News::Lost(of_host("count", lost.into())));
    }
    judged_members(record).map(News::Judged)
}

/// A verdict as pages are told it.
///
/// # Errors
/// It isn't what a host writes.
pub(super) fn judged_members(mut record: Value) -> Result<Map<String, Value>, String> {
    let id = stream::name(&record);
    check_verdict(&record).map_err(|error| format!("{id}: {error}"))?;
    if record
        .get("params")
        .is_some_and(|params| !params.is_object())
        || !record["project"].is_string()
    {
        return Err(format!(
            "{id}: its params or its project aren't what a host writes"
        ));
    }
    let host = record["of"]["host"].take();
    record["of"]["host"] = host.clone();
    let mut message = shown_record(record);
    message.insert("host".into(), host);
    message.insert("id".into(), id.into());
    Ok(message)
}

/// Whether the verdict of a record can be read.
fn check_verdict(record: &Value) -> Result<(), serde_json::Error> {
    let text = record.to_string();
    let read: Record<'_> = serde_json::from_str(&text)?;
    serde_json::from_str::<Verdict>(read.verdict.get()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_has_written_is_hostile_input() {
        let verdict = json!({ "decision": "deny", "outcomes": [], "generation": 1, "hash": "", "eventId": "e" });
        let of = json!({ "host": "web-1", "spool": "5", "number": 7 });
        let record = json!({
            "seq": 1, "at": "2026-01-01T00:00:00.000Z", "event": "PreToolUse", "tool": "Bash", "dialect": "native",
            "params": { "event": "PreToolUse" }, "verdict": verdict, "project": "/srv/shop", "of": of,
        });
        let message = judged_members(record.clone()).unwrap();
        assert_eq!(
            (&message["host"], &message["id"]),
            (&json!("web-1"), &json!("web-1.5.7"))
        );
        for (name, value) in [
            ("seq", json!("x")),
            ("at", json!(1)),
            ("event", Value::Null),
            ("tool", json!({ "a": 1 })),
            ("client", json!([])),
            ("via", json!("pigeon")),
            ("params", json!("x")),
            ("verdict", json!({ "decision": "maybe" })),
            ("project", json!(1)),
        ] {
            let mut other = record.clone();
            other[name] = value;
            assert!(judged_members(other).is_err(), "{name}");
        }
        assert!(
            matches!(read_record(json!({ "lost": 3, "of": of })), Ok(News::Lost(it)) if it["count"] == 3)
        );
        assert!(read_record(json!({ "ended": { "seq": 1 }, "of": of })).is_err());
    }
}
