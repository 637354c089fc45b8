//! The body of a request, within bounds of size and time.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use std::fmt;
use std::time::Duration;
use tokio::time::timeout;

/// How long a body may take to come, all of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why there is no body.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It has more than so many bytes.
    TooLong(usize),
    TooSlow,
    Broken(hyper::Error),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::TooLong(max) => {
                write!(f, "the message is longer than {max} bytes (--max-message)")
            }
            Unread::TooSlow => write!(
                f,
                "the message took longer than {} s to come",
                PATIENCE.as_secs()
            ),
            Unread::Broken(error) => write!(f, "the message didn't come: {error}"),
        }
    }
}

impl Unread {
    /// How it is said over HTTP.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Unread::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Unread::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Unread::Broken(_) => StatusCode::BAD_REQUEST,
        }
    }
}

/// Reads a body. One that is too long is read to its end all the same, and dropped: a client that
/// was cut off while it sends may never read the answer, and what it asked about would go on as if
/// nobody had said no.
pub(crate) async fn read_body(mut body: Incoming, max: usize) -> Result<Bytes, Unread> {
    let all = async {
        let mut bytes = BytesMut::new();
        let mut is_too_long = body.size_hint().lower() > max as u64;
        while let Some(frame) = body.frame().await {
            let Ok(part) = frame.map_err(Unread::Broken)?.into_data() else {
                continue;
            };
            is_too_long |= bytes.len() + part.len() > max;
            if is_too_long {
                bytes = BytesMut::new();
            } else {
                bytes.extend_from_slice(&part);
            }
        }
        if is_too_long {
            Err(Unread::TooLong(max))
        } else {
            Ok(bytes.freeze())
        }
    };
    timeout(PATIENCE, all).await.unwrap_or(Err(Unread::TooSlow))
}
