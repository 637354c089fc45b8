//! One message, or one event, without a connection around it, as over HTTP: taken in, answered,
//! forgotten.

use super::connection::Connection;
use super::methods::events::{self, Judged};
use super::session::{Session, Side};
use futures_util::FutureExt;
use hookwire_base::support::failpoint;
use hookwire_base::transport::outbox::Outbox;
use hookwire_dialects::asked::Asked;
use hookwire_engine::engine::panic_text;
use hookwire_engine::host::Host;
use hookwire_engine::journal::Via;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

/// Messages that are longer, in bytes, keep a thread of the runtime for so long that others take
/// over its tasks.
const LONG: usize = 64 * 1024;

/// The reply to a message or a batch of them, without its end of line; empty if it is of
/// notifications only. Returns when all of it is done, and cancels what isn't when it is dropped.
/// To be called on the runtime.
pub async fn answer_message(
    host: &Arc<Host>,
    runtime: &Handle,
    side: Side,
    message: &[u8],
) -> Vec<u8> {
    struct Cancel(Connection, bool);
    impl Drop for Cancel {
        fn drop(&mut self) {
            if !self.1 {
                self.0.abandon();
            }
        }
    }
    let outbox = Outbox::kept();
    let session = Session::new(host.clone(), outbox.clone(), runtime.clone(), side);
    let in_flight = session.in_flight.clone();
    let mut connection = Cancel(Connection::new(session), false);
    let mut replies = Vec::new();
    if message.len() > LONG {
        block_in_place(|| connection.0.receive_message(message, &mut replies));
    } else {
        connection.0.receive_message(message, &mut replies);
    }
    in_flight.until_idle().await;
    connection.1 = true;
    replies.append(&mut outbox.take());
    replies.truncate(replies.trim_ascii_end().len());
    replies
}

/// The verdict on an event in an agent's words, which its http hook sent. Dropping the future
/// cancels the hooks.
///
/// # Errors
/// It is no event, in words for whoever sent it; or a bug.
pub async fn judge_payload(
    host: &Arc<Host>,
    runtime: &Handle,
    asked: &Asked,
    payload: Value,
) -> Result<Judged, String> {
    let session = Session::new(host.clone(), Outbox::kept(), runtime.clone(), Side::Caller);
    let judged = AssertUnwindSafe(async {
        assert!(
            !failpoint::is_due("method"),
            "a test lets this method panic"
        );
        events::judge_and_note(&session, asked, Via::Http, payload)
            .await
            .map_err(|error| error.message)
    });
    judged.catch_unwind().await.unwrap_or_else(|panic| {
        tracing::error!(
            panic = panic_text(&*panic),
            "Judging an event panicked; this is a bug in hookwire."
        );
        Err("judging it panicked; this is a bug in hookwire".into())
    })
}
