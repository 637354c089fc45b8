//! `hookwire demo`: its arguments. What it shows is a room of its own, which uses the command line.

use super::output::Output;
use super::{Failure, Finding};
use std::path::PathBuf;

/// What shows it.
pub(crate) type Show = fn(&DemoArgs, &mut Output) -> Result<Finding, Failure>;

#[derive(clap::Args)]
pub(crate) struct DemoArgs {
    /// Write every message that goes over the wire into this file, `>` to the host and `<` from it.
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub(crate) wire: Option<PathBuf>,
    /// Show instead how rules hold where programs start: an agent below `hookwire run`, whose
    /// Makefile pushes by force.
    #[arg(long)]
    pub(crate) run: bool,
    /// Show instead five hosts that share rules, a rate, a question and verdicts by a server of
    /// NATS, which is killed.
    #[cfg(feature = "fleet")]
    #[arg(long, conflicts_with_all = ["run", "wire"])]
    pub(crate) fleet: bool,
    /// The program of the server, if `nats-server` isn't on the PATH.
    #[cfg(feature = "fleet")]
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub(crate) nats: Option<PathBuf>,
}
