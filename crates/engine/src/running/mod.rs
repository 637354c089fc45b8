//! Hosts that run, of this user: finding them, asking them, following what they judge.
//!
//! Everybody who has to do with a running host comes here: commands, the editor's live events, the
//! hook that starts hosts. What a host says is data of another process: it may be older, stuck or
//! no host at all.

mod about;
pub mod follow;
mod replace;
pub mod told;

pub use about::About;
pub use replace::{Stopped, replace_superseded};

use crate::journal::Recent;
use follow::Run;
use hookwire_base::support::program::Program;
use hookwire_base::support::visible::safe;
use hookwire_base::transport::client::Client;
use hookwire_base::transport::socket;
use serde_json::{Value, json};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A host answers at once; one that doesn't is stuck.
pub const TIME_LIMIT: Duration = Duration::from_secs(3);

/// A connection to a running host.
pub struct Running {
    /// Its socket.
    pub socket: PathBuf,
    /// Each request waits no longer than [`TIME_LIMIT`].
    pub client: Client,
}

/// Connects to the running hosts of one project, or of all. Files that killed hosts left are
/// removed.
///
/// # Errors
/// There is no place for sockets that is the user's alone, so no host can be found.
pub fn find(root: Option<&Path>) -> Result<Vec<Running>> {
    Ok(connect(socket::of_projects(
        root.map(socket::key).as_slice(),
    )?))
}

fn connect(sockets: Vec<PathBuf>) -> Vec<Running> {
    let mut found = Vec::new();
    for socket in sockets {
        let connected =
            UnixStream::connect(&socket).and_then(|stream| Client::new(stream, TIME_LIMIT));
        match connected {
            Ok(client) => found.push(Running { socket, client }),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                drop(std::fs::remove_file(&socket))
            }
            Err(error) => {
                tracing::debug!(path = %socket.display(), %error, "A socket can't be reached.")
            }
        }
    }
    found
}

/// The host of one run, with its answer to who it is.
///
/// # Errors
/// It runs no more.
pub fn of_run(run: &Run) -> Result<Running> {
    let is_it = |host: &mut Running| host.run().is_ok_and(|it| it == *run);
    let found = find(None)?
        .into_iter()
        .find_map(|mut host| is_it(&mut host).then_some(host));
    found.ok_or_else(|| Error::other("that host runs no more"))
}

/// The host that runs for a project, where only one can be meant.
///
/// # Errors
/// None runs, or several do: then the message names each with what it was started with.
pub fn only(root: &Path) -> Result<Client> {
    let mut running = find(Some(root))?;
    if running.len() > 1 {
        running = replace::without_superseded(running);
    }
    if running.len() < 2 {
        let none = || {
            Error::other(format!(
                "no host runs for {} yet: an agent's first event starts one",
                root.display()
            ))
        };
        return running.pop().map(|it| it.client).ok_or_else(none);
    }
    let told: Vec<_> = running.iter_mut().map(Running::started_with).collect();
    Err(Error::other(format!(
        "several hosts run for {}, because they were started with different arguments; set HOOKWIRE_SOCKET to the one that you mean, \
         or give the agents the same arguments and end the others:{}",
        root.display(),
        told.concat()
    )))
}

impl Running {
    /// What the host says of itself, and nothing of what it judged.
    fn program(&mut self) -> Result<(u32, Option<Program>)> {
        let told = self
            .client
            .request("hooks/recent", &json!({ "limit": 0 }))?;
        let told = told.to_string();
        let recent: Recent<'_> = serde_json::from_str(&told)?;
        Ok((recent.pid, recent.program.map(|it| it.into_owned())))
    }

    /// Which run of a host it is.
    ///
    /// # Errors
    /// It doesn't answer, or not as a host does.
    pub fn run(&mut self) -> Result<Run> {
        let told = self
            .client
            .request("hooks/recent", &json!({ "limit": 0 }))?
            .to_string();
        Ok(Run::of(&serde_json::from_str(&told)?))
    }

    /// Its process, its project, and how many others are connected.
    ///
    /// # Errors
    /// It doesn't answer, or not as a host does.
    pub fn process(&mut self) -> Result<(u32, String, usize)> {
        let told = self
            .client
            .request("hooks/recent", &json!({ "limit": 0 }))?
            .to_string();
        let recent: Recent<'_> = serde_json::from_str(&told)?;
        Ok((recent.pid, recent.root.into_owned(), recent.clients.len()))
    }

    /// Its socket, its program and the arguments of that, for people: a line.
    fn started_with(&mut self) -> String {
        let told = match self.program() {
            Ok((pid, Some(it))) => format!(
                "process {pid}, hookwire {} {}",
                it.version,
                it.command_line()
            ),
            Ok((pid, None)) => format!("process {pid}, an older hookwire"),
            Err(error) => format!("it doesn't answer: {error}"),
        };
        format!("\n  {}: {}", self.socket.display(), safe(&told))
    }
}

/// Asks the hosts of these sockets; gives for each its socket, and its answer or why there is none.
pub fn ask(sockets: Vec<PathBuf>, method: &str) -> Vec<(PathBuf, Result<(Client, Value)>)> {
    let ask = |Running { socket, mut client }| {
        let reply = client.request(method, &json!({}));
        (socket, reply.map(|reply| (client, reply)))
    };
    connect(sockets).into_iter().map(ask).collect()
}

/// Has every running host read its definitions before this returns; gives those that may not have,
/// with why.
pub fn reload_all() -> Vec<(PathBuf, Error)> {
    // Without a place for sockets, no host runs.
    let asked = ask(socket::of_projects(&[]).unwrap_or_default(), "hooks/reload").into_iter();
    let failed = asked.filter_map(|(path, reply)| Some((path, reply.err()?)));
    // One that was ending when it was asked has read everything that it ever will.
    failed
        .filter(|(path, _)| UnixStream::connect(path).is_ok())
        .collect()
}
