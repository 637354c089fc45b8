//! `hookwire host`: the hosts that run.

mod status;
mod stop;

use super::output::Output;
use super::{Failure, Finding};

#[derive(clap::Args)]
pub(super) struct HostArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List the hosts that run: process, age, clients, and what is not in force.
    Status(status::StatusArgs),
    /// End the hosts of this project that hooks have started; the next event starts one anew.
    Stop(stop::StopArgs),
}

pub(super) fn run(args: &HostArgs, out: &mut Output) -> Result<Finding, Failure> {
    match &args.action {
        Action::Status(args) => status::run(args, out),
        Action::Stop(args) => stop::run(args, out),
    }
}
