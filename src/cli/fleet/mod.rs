//! `hookwire fleet`: what a team does with many hosts; and how a host joins.

pub(super) mod approvals;
mod canary;
mod cases;
mod init;
mod join;
mod key;
pub(super) mod page;
mod pool;
mod publish;
mod query;
mod replay;
pub(super) mod state;
mod status;
mod tail;
mod verdicts;

pub(super) use join::{Joined, Joining, find_published};
pub(super) use pool::{Answering, Pool};

use super::output::Output;
use super::{Failure, Finding};
use hookwire_engine::fleet::settings::{Followed, Settings};
use hookwire_fleet::server::Server;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct FleetArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Make the streams and buckets that a fleet needs, as an administrator. Hosts never do. Exits
    /// with 1 if one differs.
    Init(init::InitArgs),
    /// Make a key that signs what is published, and print what hosts pin. For a file that is there,
    /// only print that.
    Key(key::KeyArgs),
    /// Publish definitions to the hosts of a fleet, signed. Exits with 1 if a host refuses them.
    Publish(publish::PublishArgs),
    /// Show the hosts and which published definitions are in force there. Exits with 1 if a host
    /// has others or refuses some.
    Status(status::StatusArgs),
    /// Watch what all hosts judge, as it happens.
    Tail(tail::TailArgs),
    /// Search what all hosts have judged, or write all of it out.
    Query(query::QueryArgs),
}

/// Which servers, as whom.
#[derive(clap::Args)]
pub(super) struct ServerArgs {
    /// A settings file, or servers as nats://HOST[,HOST]; without it, the machine's or your own
    /// fleet.conf.
    #[arg(long, value_name = "FILE|nats://HOST")]
    pub(super) fleet: Option<String>,
}

/// How long a command waits for a server.
const WAIT: Duration = Duration::from_secs(10);

impl ServerArgs {
    pub(super) fn settings(&self) -> Result<Settings, Failure> {
        // A person acts for somebody else than the machine's hosts.
        let found = match &self.fleet {
            Some(given) => Settings::given(given).map(Some),
            None => Settings::find(None, true),
        };
        found.map_err(Failure)?.ok_or_else(|| {
            Failure(
                "which fleet? Write `--fleet FILE` or `--fleet nats://HOST`; `hookwire docs fleet` has an example"
                    .into(),
            )
        })
    }

    pub(super) async fn connect(&self) -> Result<(Server, Option<Followed>), Failure> {
        let settings = self.settings()?;
        let place = settings.place();
        let server = Server::connect(&settings.server, WAIT).await;
        Ok((
            server.map_err(|error| Failure(format!("{place}: {error}")))?,
            settings.definitions,
        ))
    }
}

pub(super) fn run(args: &FleetArgs, out: &mut Output) -> Result<Finding, Failure> {
    match &args.action {
        Action::Init(args) => super::ending::run_to_end(async |_| init::run(args, out).await),
        Action::Key(args) => key::run(args, out),
        Action::Publish(args) => publish::run(args, out),
        Action::Status(args) => super::ending::run_to_end(async |_| status::run(args, out).await),
        Action::Tail(args) => super::ending::run_to_end(async |_| tail::run(args, out).await),
        Action::Query(args) => super::ending::run_to_end(async |_| query::run(args, out).await),
    }
}
