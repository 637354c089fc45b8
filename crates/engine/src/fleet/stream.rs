//! A verdict of the stream as a record, with whose it is.

use hookwire_base::support::amounts::rfc3339;
use hookwire_base::support::json::parse;
use hookwire_fleet::verdicts::Stored;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// A verdict may be stored before it was judged, by clocks that differ.
pub const SKEW: Duration = Duration::from_secs(600);
/// Records that are looked through at once.
pub const AT_ONCE: usize = 2000;

/// A verdict of the stream as a record. It has `of` beside what the host has written, which says
/// only that a host wrote it.
///
/// # Errors
/// It is no record; for people.
pub fn record(stored: Stored) -> Result<Value, String> {
    let Stored {
        host,
        spool,
        number,
        at,
        record,
    } = stored;
    let mut record = match parse(&String::from_utf8_lossy(&record)) {
        Ok(record @ Value::Object(_)) => record,
        Ok(_) | Err(_) => {
            return Err(format!(
                "record {number} of {host} is no record of an event"
            ));
        }
    };
    let stored = SystemTime::UNIX_EPOCH + Duration::from_millis(at);
    record["of"] = json!({
        "host": host, "spool": spool, "number": number, "storedAt": rfc3339(stored), "project": record["project"],
        "revision": record["published"]["revision"],
    });
    Ok(record)
}

/// What names a record in the stream: `web-1.4f2a9c01d3e87b56.12`.
pub fn name(record: &Value) -> String {
    let of = &record["of"];
    let [host, spool] = ["host", "spool"].map(|it| of[it].as_str().unwrap_or_default());
    format!("{host}.{spool}.{}", of["number"])
}
