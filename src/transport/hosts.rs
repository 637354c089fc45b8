//! All hosts of this user that run, asked the same.

use super::client::Client;
use super::socket;
use serde_json::{Value, json};
use std::io::Result;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// A host answers at once; one that doesn't is stuck.
pub const TIME_LIMIT: Duration = Duration::from_secs(3);

/// A host's socket, and its answer or why there is none.
pub type Answered = (PathBuf, Result<(Client, Value)>);

/// Asks every running host.
///
/// # Errors
/// There is no place for sockets that is the user's alone, so no host can be found.
pub fn ask_all(method: &str) -> Result<Vec<Answered>> {
    let hosts = socket::connect_to_hosts(None)?.into_iter();
    Ok(hosts
        .map(|(path, stream)| {
            let asked = Client::new(stream, TIME_LIMIT).and_then(|mut host| {
                let reply = host.request(method, &json!({}))?;
                Ok((host, reply))
            });
            (path, asked)
        })
        .collect())
}

/// Has every running host read its definitions before this returns; gives those that may not have, with why.
pub fn reload_all() -> Vec<(PathBuf, std::io::Error)> {
    // Without a place for sockets, no host runs.
    let asked = ask_all("hooks/reload").unwrap_or_default().into_iter();
    let failed = asked.filter_map(|(path, reply)| Some((path, reply.err()?)));
    // One that was ending when it was asked has read everything that it ever will.
    failed.filter(|(path, _)| UnixStream::connect(path).is_ok()).collect()
}
