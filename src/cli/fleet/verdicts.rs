//! `fleet tail` and `fleet query`: the verdicts of all hosts of a fleet, as they come and as they were.

use super::super::output::{Output, tell};
use super::super::tail::{Clean, print};
use super::super::{Failure, Finding};
use super::ServerArgs;
use hookwire_engine::fleet::stream;
use hookwire_fleet::name::Name;
use hookwire_fleet::server::{Server, ServerError};
use hookwire_fleet::verdicts::{From, Reader, Stored};
use serde_json::Value;
use std::time::{Duration, SystemTime};

#[derive(clap::Args)]
pub(super) struct TailArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Only the verdicts of this host.
    #[arg(long, value_name = "NAME")]
    host: Option<Name>,
    /// Begin with what the servers have stored for so long.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    since: Option<Duration>,
    /// End with what is stored already, instead of waiting for more.
    #[arg(long, requires = "since")]
    no_follow: bool,
}

#[derive(clap::Args)]
pub(super) struct QueryArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Only the verdicts of this host.
    #[arg(long, value_name = "NAME")]
    host: Option<Name>,
    /// What is looked for, as for `hookwire history query`: words, and `decision:deny`, `agent:codex`, `tool:Bash`, `session:ID`,
    /// `event:NAME`, `hook:NAME`, `project:DIR`, `since:7d`, `until:2026-11-28`. A `-` before one leaves out what it is about;
    /// where the query begins with one, two dashes (--) stand before it.
    query: Vec<String>,
}

pub(super) async fn tail(args: &TailArgs, out: &mut Output) -> Result<Finding, Failure> {
    let since = args.since.map(|ago| SystemTime::now().checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH));
    let (server, _) = args.server.connect().await?;
    let mut reader = start(&server, args.host.clone(), since).await?;
    loop {
        let next = match args.no_follow {
            true => match reader.next_stored().await {
                Some(next) => next,
                None => return Ok(Finding::Fine),
            },
            false => reader.next().await,
        };
        if let Some(record) = read(next)? {
            print(&Clean::new(record), out);
        }
        if out.is_gone() {
            return Ok(Finding::Fine);
        }
    }
}

pub(super) async fn start(server: &Server, host: Option<Name>, since: Option<SystemTime>) -> Result<Reader, Failure> {
    Ok(Reader::start(server, &From { host, since, back: 0 }).await?)
}

/// A verdict of the stream as a record. What can't be read is told and left out.
pub(super) fn read(stored: Result<Stored, ServerError>) -> Result<Option<Value>, Failure> {
    match stored {
        Ok(stored) => match stream::record(stored) {
            Ok(record) => return Ok(Some(record)),
            Err(problem) => tell(problem),
        },
        Err(error @ ServerError::Other(_)) => tell(error),
        Err(error) => return Err(error.into()),
    }
    Ok(None)
}

#[cfg(feature = "history")]
pub(super) async fn query(args: &QueryArgs, out: &mut Output) -> Result<Finding, Failure> {
    let query = args.query.join(" ");
    let since = crate::history::span(&query).map_err(Failure)?.since;
    let since = since.and_then(|since| since.checked_sub(stream::SKEW)).unwrap_or(SystemTime::UNIX_EPOCH);
    let (server, _) = args.server.connect().await?;
    let mut reader = start(&server, args.host.clone(), Some(since)).await?;
    let (mut records, mut n_found, mut is_over) = (Vec::new(), 0, false);
    while !is_over && !out.is_gone() {
        match reader.next_stored().await {
            // The end of an `async` hook is no verdict. What was lost may have been what is looked for.
            Some(stored) => match read(stored)? {
                Some(record) if record.get("lost").is_some() => {
                    n_found += show_found(&query, &std::mem::take(&mut records), out)?;
                    print(&Clean::new(record), out);
                }
                Some(record) if record.get("verdict").is_some() => records.push((stream::name(&record), record)),
                Some(_) | None => {}
            },
            None => is_over = true,
        }
        if records.len() >= stream::AT_ONCE || is_over {
            n_found += show_found(&query, &std::mem::take(&mut records), out)?;
        }
    }
    if n_found == 0 && !out.json {
        out.line("Nothing is there.");
    }
    Ok(Finding::Fine)
}

/// Prints those of some records that a query finds.
#[cfg(feature = "history")]
fn show_found(query: &str, records: &[(String, Value)], out: &mut Output) -> Result<usize, Failure> {
    let found = crate::history::sift(query, records, crate::history::Order::Oldest).map_err(Failure)?;
    let n_found = found.len();
    found.into_iter().for_each(|it| print(&Clean::new(it), out));
    Ok(n_found)
}

#[cfg(not(feature = "history"))]
pub(super) async fn query(args: &QueryArgs, _: &mut Output) -> Result<Finding, Failure> {
    let _ = (&args.server, &args.host, &args.query);
    Err(Failure("this hookwire was built without `history`, which reads queries".into()))
}
