//! The verdicts of all hosts of a fleet, as `tail`, `query` and `publish --replay` read them.

use super::super::Failure;
use super::super::output::say_on_stderr;
use hookwire_engine::fleet::stream;
use hookwire_fleet::name::Name;
use hookwire_fleet::server::{Server, ServerError};
use hookwire_fleet::verdicts::{From, Reader, Stored};
use serde_json::Value;
use std::time::SystemTime;

pub(super) async fn start_reader(
    server: &Server,
    host: Option<Name>,
    since: Option<SystemTime>,
) -> Result<Reader, Failure> {
    Ok(Reader::start(
        server,
        &From {
            host,
            since,
            back: 0,
        },
    )
    .await?)
}

/// A verdict of the stream as a record. What can't be read is told and left out.
pub(super) fn read_stored(stored: Result<Stored, ServerError>) -> Result<Option<Value>, Failure> {
    match stored {
        Ok(stored) => match stream::record(stored) {
            Ok(record) => return Ok(Some(record)),
            Err(problem) => say_on_stderr(problem),
        },
        Err(error @ ServerError::Other(_)) => say_on_stderr(error),
        Err(error) => return Err(error.into()),
    }
    Ok(None)
}
