//! Values that hooks of all hosts share, by key: each is replaced as a whole, and a change that
//! another one was faster than is made again of the value that is there then.
//!
//! An end of a value's life is kept with it, by the clock of whoever wrote it, because the server
//! gives a value that is replaced no end of its own accord.

use crate::hosts::TTL;
use crate::name::Name;
use crate::retry::publish_surely;
use crate::server::{Server, ServerError, jitter};
use crate::spool::new_id;
use crate::streams;
use async_nats::HeaderMap;
use async_nats::header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_MESSAGE_ID};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::{Duration, Instant, SystemTime};

/// The header of what a client of buckets takes for removed, and its word.
const OPERATION: &str = "KV-Operation";
const REMOVED: &str = "DEL";
/// How long the mark of a removed value stays.
const MARK: Duration = Duration::from_secs(3600);
/// The shortest life that the server counts.
const MIN_TTL: Duration = Duration::from_secs(1);
/// The pause after another change was faster, which grows.
const PAUSE: Duration = Duration::from_millis(5);
const MAX_PAUSE: Duration = Duration::from_millis(200);
/// The part of a message that is left for its headers and the frame of a value, in bytes.
const FRAME: usize = 1024;

/// As it is on the bus.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    pub(crate) value: Value,
    /// Until when, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
    /// Tells a change whose acknowledgement was lost from one of somebody else.
    by: String,
}

/// What becomes of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Nothing.
    None,
    /// It is another one, for so long, or for good.
    Set(Value, Option<Duration>),
    /// It is another one. One that is there keeps its end; a new one is kept for so long, or for
    /// good.
    Count(Value, Option<Duration>),
    /// It is gone.
    Remove,
}

/// The value of a key.
///
/// # Errors
/// The server doesn't answer in that time, or has something else there.
pub async fn get(
    server: &Server,
    key: &Name,
    within: Duration,
) -> Result<Option<Value>, ServerError> {
    Ok(read_value(server, key, within).await?.1.map(|it| it.value))
}

/// Changes the value of a key in one step, however many do so at once. `change` is asked again
/// where another change was faster. Gives the value that was there before.
///
/// # Errors
/// What `change` says, as [`ServerError::Other`]; the value is too large; the server doesn't answer
/// in that time.
pub async fn update_value(
    server: &Server,
    key: &Name,
    within: Duration,
    mut change: impl FnMut(Option<&Value>) -> Result<Change, String>,
) -> Result<Option<Value>, ServerError> {
    let until = Instant::now() + within;
    let left = || until.saturating_duration_since(Instant::now());
    let by = new_id().map_err(|error| ServerError::Other(error.to_string()))?;
    let mut pause = PAUSE;
    for n in 0_u32.. {
        let (sequence, present) = read_value(server, key, left()).await?;
        // This change was made, and its acknowledgement lost. What was there before isn't known any
        // more.
        if present.as_ref().is_some_and(|present| present.by == by) {
            return Ok(None);
        }
        let wanted =
            change(present.as_ref().map(|present| &present.value)).map_err(ServerError::Other)?;
        let (value, ttl) = match wanted {
            Change::None => return Ok(present.map(|present| present.value)),
            Change::Remove if present.is_none() => return Ok(None),
            Change::Remove => (None, Some(MARK)),
            Change::Set(value, ttl) => (Some(value), ttl),
            Change::Count(value, ttl) => {
                let kept = present.as_ref().map(|present| {
                    present
                        .expires
                        .map(|at| Duration::from_millis(at.saturating_sub(unix_now())))
                });
                (Some(value), kept.unwrap_or(ttl))
            }
        };
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, format!("{by}:{n}"));
        headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, sequence.to_string());
        if let Some(ttl) = ttl {
            headers.insert(
                TTL,
                format!("{}s", ttl.max(MIN_TTL).as_millis().div_ceil(1000)),
            );
        }
        let bytes = match value {
            None => {
                headers.insert(OPERATION, REMOVED);
                Vec::new()
            }
            Some(value) => {
                let expires = ttl.map(|ttl| {
                    unix_now().saturating_add(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
                });
                let kept = Kept {
                    value,
                    expires,
                    by: by.clone(),
                };
                serde_json::to_vec(&kept).map_err(|error| ServerError::Other(error.to_string()))?
            }
        };
        let most = streams::MAX_ASK - FRAME;
        if bytes.len() > most {
            return Err(ServerError::Other(format!(
                "a value that a fleet shares has at most {most} bytes as JSON"
            )));
        }
        match publish_surely(
            server,
            &streams::state_subject(key),
            &headers,
            &Bytes::from(bytes),
            left(),
        )
        .await
        {
            Ok(_) => return Ok(present.map(|present| present.value)),
            Err(ServerError::Conflict(_)) if left() > pause => {
                tokio::time::sleep(pause.mul_f64(0.5 + jitter())).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
    Err(ServerError::TimedOut(streams::state_subject(key)))
}

/// The sequence of a key's last message, and its value if it has one that lives.
async fn read_value(
    server: &Server,
    key: &Name,
    within: Duration,
) -> Result<(u64, Option<Kept>), ServerError> {
    let subject = streams::state_subject(key);
    let Some(message) = server
        .last_message(streams::STATE, &subject, within)
        .await?
    else {
        return Ok((0, None));
    };
    let kept = read_kept(&message.payload);
    let kept = kept.map_err(|problem| {
        ServerError::Other(format!("the value of `{key}` isn't hookwire's: {problem}"))
    })?;
    Ok((
        message.sequence,
        kept.filter(|it| it.expires.is_none_or(|at| at > unix_now())),
    ))
}

/// What a message says of a value. `None`: it was removed, or has come to its end and this is the
/// server's mark of that.
pub(crate) fn read_kept(payload: &[u8]) -> Result<Option<Kept>, String> {
    if payload.is_empty() {
        return Ok(None);
    }
    if payload.len() > streams::MAX_ASK {
        return Err(format!(
            "it has {} bytes, more than {}",
            payload.len(),
            streams::MAX_ASK
        ));
    }
    serde_json::from_slice(payload)
        .map(Some)
        .map_err(|error| error.to_string())
}

fn unix_now() -> u64 {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
