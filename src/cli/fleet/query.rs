//! `hookwire fleet query`: the verdicts of all hosts of a fleet, as they were.

use super::super::output::Output;
#[cfg(feature = "history")]
use super::super::tail::{Clean, print_record};
use super::super::{Failure, Finding};
use super::ServerArgs;
#[cfg(feature = "history")]
use super::verdicts::{read_stored, start_reader};
#[cfg(feature = "history")]
use hookwire_engine::fleet::stream;
use hookwire_fleet::name::Name;
#[cfg(feature = "history")]
use serde_json::Value;
#[cfg(feature = "history")]
use std::time::SystemTime;

#[derive(clap::Args)]
pub(super) struct QueryArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Only the verdicts of this host.
    #[arg(long, value_name = "NAME")]
    host: Option<Name>,
    /// What is looked for, as for `hookwire history query`: words, and `decision:deny`,
    /// `agent:codex`, `tool:Bash`, `session:ID`, `event:NAME`, `hook:NAME`, `project:DIR`,
    /// `since:7d`, `until:2026-11-28`. A `-` before one leaves out what it is about; where the
    /// query begins with one, two dashes (--) stand before it.
    query: Vec<String>,
}

#[cfg(feature = "history")]
pub(super) async fn run(args: &QueryArgs, out: &mut Output) -> Result<Finding, Failure> {
    let query = args.query.join(" ");
    let since = crate::history::query_span(&query).map_err(Failure)?.since;
    let since = since
        .and_then(|since| since.checked_sub(stream::SKEW))
        .unwrap_or(SystemTime::UNIX_EPOCH);
    let (server, _) = args.server.connect().await?;
    let mut reader = start_reader(&server, args.host.clone(), Some(since)).await?;
    let (mut records, mut n_found, mut is_over) = (Vec::new(), 0, false);
    while !is_over && !out.is_gone() {
        match reader.next_stored().await {
            // The end of an `async` hook is no verdict. What was lost may have been what is looked
            // for.
            Some(stored) => match read_stored(stored)? {
                Some(record) if record.get("lost").is_some() => {
                    n_found += show_found(&query, &std::mem::take(&mut records), out)?;
                    print_record(&Clean::new(record), out);
                }
                Some(record) if record.get("verdict").is_some() => {
                    records.push((stream::name(&record), record))
                }
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
fn show_found(
    query: &str,
    records: &[(String, Value)],
    out: &mut Output,
) -> Result<usize, Failure> {
    let found = crate::history::sift_records(query, records, crate::history::Order::Oldest)
        .map_err(Failure)?;
    let n_found = found.len();
    found
        .into_iter()
        .for_each(|it| print_record(&Clean::new(it), out));
    Ok(n_found)
}

#[cfg(not(feature = "history"))]
pub(super) async fn run(args: &QueryArgs, _: &mut Output) -> Result<Finding, Failure> {
    let _ = (&args.server, &args.host, &args.query);
    Err(Failure(
        "this hookwire was built without `history`, which reads queries".into(),
    ))
}
