//! Quotas: at most so many of something in a window of time, on all hosts together.
//!
//! A take is a message at the quota's subject, of which the stream holds as many as the limit and
//! each for as long as the window. So the server admits exactly the limit, however many ask at
//! once, and a place is free when the oldest take goes. Limit and window are the stream's, which an
//! administrator makes, and stand in the quota's [full name](full_name): a host that means other
//! limits finds no stream, and nobody is held to limits that aren't meant.

use crate::name::Name;
use crate::retry::publish_surely;
use crate::server::{Limit, Server, ServerError};
use crate::streams;
use async_nats::HeaderMap;
use async_nats::header::NATS_MESSAGE_ID;
use bytes::Bytes;
use std::time::Duration;

/// What the server says of a take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// It counts.
    Admitted,
    /// The limit is reached; it doesn't count.
    Refused,
}

/// The name that a quota has on the bus: `deploys-50-3600s` for 50 in an hour. `None`: the window
/// isn't a number of whole seconds, or the name is too long.
pub fn full_name(quota: &Name, limit: u32, window: Duration) -> Option<Name> {
    let is_whole = window.subsec_nanos() == 0 && window.as_secs() > 0 && limit > 0;
    is_whole
        .then(|| {
            format!("{quota}-{limit}-{}s", window.as_secs())
                .parse()
                .ok()
        })
        .flatten()
}

/// Takes one of a quota by its full name, for one key of it. `id` names what takes: the same id is
/// charged once within the window.
///
/// # Errors
/// The quota isn't there, or the server doesn't answer in that time. Then the take may count all
/// the same; to ask again with the same id charges nothing more.
pub async fn take_one(
    server: &Server,
    quota: &Name,
    key: &Name,
    id: &str,
    within: Duration,
) -> Result<Take, ServerError> {
    let subject = streams::quota_subject(quota, key);
    let mut headers = HeaderMap::new();
    headers.insert(NATS_MESSAGE_ID, id);
    match publish_surely(server, &subject, &headers, &Bytes::new(), within).await {
        Ok(_) => Ok(Take::Admitted),
        // A stream has other limits, too: one that is reached by many keys is a failure, not a
        // refusal.
        Err(ServerError::Full {
            limit: Limit::Subject,
            ..
        }) => Ok(Take::Refused),
        Err(ServerError::NoStream(_)) => Err(ServerError::NoStream(format!("the quota `{quota}`"))),
        Err(error) => Err(error),
    }
}
