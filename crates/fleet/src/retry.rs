//! A message with an id, published until the server's word has come: the stream takes each id once
//! within its window.

use crate::server::{Server, ServerError};
use async_nats::HeaderMap;
use async_nats::jetstream::publish::PublishAck;
use bytes::Bytes;
use std::time::{Duration, Instant};

/// The header of what is added to a counter.
pub(crate) const INCREMENT: &str = "Nats-Incr";

/// The pause before a message is sent again that nobody took.
const AGAIN: Duration = Duration::from_millis(50);
/// How long one try may take at least: a message that was lost on its way is sent again.
const TRY: Duration = Duration::from_millis(700);

/// Publishes a message that has an id, again and again until the server's word has come or the time
/// is up.
///
/// # Errors
/// The last one. After [`ServerError::TimedOut`] the message may be stored.
pub(crate) async fn publish_surely(
    server: &Server,
    subject: &str,
    headers: &HeaderMap,
    payload: &Bytes,
    within: Duration,
) -> Result<PublishAck, ServerError> {
    let until = Instant::now() + within;
    let mut in_doubt = false;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let tried = match server.usable() {
            Ok(()) => {
                let time = left.min(TRY.max(within / 3));
                let tried = server
                    .publish(subject, headers.clone(), payload.clone(), time)
                    .await;
                // The connection may have been lost behind the message.
                in_doubt |= matches!(
                    tried,
                    Err(ServerError::Away { .. } | ServerError::TimedOut(_))
                );
                tried
            }
            Err(error) => Err(error),
        };
        let left = until.saturating_duration_since(Instant::now());
        match tried {
            Err(ServerError::Away { .. } | ServerError::NoStream(_) | ServerError::TimedOut(_))
                if left > AGAIN =>
            {
                tokio::time::sleep(AGAIN).await;
            }
            Err(ServerError::Away { .. } | ServerError::NoStream(_)) if in_doubt => {
                return Err(ServerError::TimedOut(subject.into()));
            }
            done => return done,
        }
    }
}
