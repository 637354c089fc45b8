//! `hookwire fleet tail`: the verdicts of all hosts of a fleet, as they come.

use super::super::output::Output;
use super::super::tail::{Clean, print_record};
use super::super::{Failure, Finding};
use super::ServerArgs;
use super::verdicts::{read_stored, start_reader};
use hookwire_fleet::name::Name;
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

pub(super) async fn run(args: &TailArgs, out: &mut Output) -> Result<Finding, Failure> {
    let since = args.since.map(|ago| {
        SystemTime::now()
            .checked_sub(ago)
            .unwrap_or(SystemTime::UNIX_EPOCH)
    });
    let (server, _) = args.server.connect().await?;
    let mut reader = start_reader(&server, args.host.clone(), since).await?;
    loop {
        let next = match args.no_follow {
            true => match reader.next_stored().await {
                Some(next) => next,
                None => return Ok(Finding::Fine),
            },
            false => reader.next().await,
        };
        if let Some(record) = read_stored(next)? {
            print_record(&Clean::new(record), out);
        }
        if out.is_gone() {
            return Ok(Finding::Fine);
        }
    }
}
