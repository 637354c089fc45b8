//! `fleet tail` and `fleet query`: the verdicts of all hosts of a fleet, as they come and as they were.

use super::super::output::{Output, tell};
use super::super::tail::{Clean, print};
use super::super::{Failure, Finding};
use super::ServerArgs;
use crate::support::json::parse;
use hookwire_fleet::name::Name;
use hookwire_fleet::server::{Server, ServerError};
use hookwire_fleet::verdicts::{From, Reader, Stored};
use serde_json::{Value, json};
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
    /// What is looked for, as for `hookwire history`: words, and `decision:deny`, `agent:codex`, `tool:Bash`, `session:ID`,
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
    Ok(Reader::start(server, &From { host, since }).await?)
}

/// A verdict of the stream as a record, with whose it is. What can't be read is told and left out, because it says only
/// that a host wrote it.
pub(super) fn read(stored: Result<Stored, ServerError>) -> Result<Option<Value>, Failure> {
    let Stored { host, spool, number, at, record } = match stored {
        Ok(stored) => stored,
        Err(error @ ServerError::Other(_)) => {
            tell(error);
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8_lossy(&record);
    let mut record = match parse(&text) {
        Ok(record @ Value::Object(_)) => record,
        Ok(_) | Err(_) => {
            tell(format_args!("record {number} of {host} is no record of an event"));
            return Ok(None);
        }
    };
    let stored = SystemTime::UNIX_EPOCH + Duration::from_millis(at);
    record["of"] = json!({
        "host": host, "spool": spool, "number": number, "storedAt": crate::support::amounts::rfc3339(stored),
        "project": record["project"], "revision": record["published"]["revision"],
    });
    Ok(Some(record))
}

#[cfg(feature = "history")]
pub(super) async fn query(args: &QueryArgs, out: &mut Output) -> Result<Finding, Failure> {
    /// A verdict may be stored before it was judged, by clocks that differ.
    const SKEW: Duration = Duration::from_secs(600);
    /// Records that are looked through at once.
    const AT_ONCE: usize = 2000;
    let query = args.query.join(" ");
    let since = crate::history::since(&query).map_err(Failure)?;
    let since = since.and_then(|since| since.checked_sub(SKEW)).unwrap_or(SystemTime::UNIX_EPOCH);
    let (server, _) = args.server.connect().await?;
    let mut reader = start(&server, args.host.clone(), Some(since)).await?;
    let (mut records, mut n_found, mut is_over) = (Vec::new(), 0, false);
    while !is_over && !out.is_gone() {
        match reader.next_stored().await {
            // The end of an `async` hook, or what was lost, is no verdict.
            Some(stored) => records.extend(read(stored)?.filter(|it| it.get("verdict").is_some())),
            None => is_over = true,
        }
        if records.len() >= AT_ONCE || is_over {
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
fn show_found(query: &str, records: &[Value], out: &mut Output) -> Result<usize, Failure> {
    use crate::history::{History, Order, Written};
    let history = History::in_memory().map_err(Failure)?;
    // Hosts count their events from 1 after each start, so a record's number in the stream names it.
    let names: Vec<String> = records
        .iter()
        .map(|record| ["host", "spool", "number"].map(|it| record["of"][it].to_string()).join("/"))
        .collect();
    let written = records.iter().zip(&names).map(|(record, run)| Written {
        run,
        root: record["project"].as_str().unwrap_or_default(),
        record,
    });
    history.write(written).map_err(Failure)?;
    let found = history.search(query, None, Order::Oldest, records.len()).map_err(Failure)?;
    for found in &found {
        print(&Clean::new(parse(&found.line)?), out);
    }
    Ok(found.len())
}

#[cfg(not(feature = "history"))]
pub(super) async fn query(args: &QueryArgs, _: &mut Output) -> Result<Finding, Failure> {
    let _ = (&args.server, &args.host, &args.query);
    Err(Failure("this hookwire was built without `history`, which reads queries".into()))
}
