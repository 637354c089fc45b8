//! `hookwire fleet` of a program that was built without it.

use super::output::Output;
use super::{Failure, Finding, StandingArgs};
use hookwire_ask::exchange::Question;
use hookwire_ask::said::Said;
use hookwire_engine::definitions::signed::Signed;
use hookwire_engine::host::{Host, HostOptions};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Runtime;

const MISSING: &str = "this hookwire was built without the feature `fleet`";

#[derive(clap::Args)]
pub(super) struct FleetArgs {
    /// Nothing of it is there.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(super) fn run(args: &FleetArgs, _: &mut Output) -> Result<Finding, Failure> {
    Err(Failure(format!(
        "fleet {}: {MISSING}",
        args.words.join(" ")
    )))
}

/// A host's way into a fleet: none.
pub(super) struct Joining;

impl Joining {
    pub(super) fn begin(
        given: Option<&str>,
        _: bool,
        _: &Path,
        _: &Runtime,
    ) -> Result<Joining, Failure> {
        given.map_or(Ok(Joining), |given| {
            Err(Failure(format!("--fleet {given}: {MISSING}")))
        })
    }

    pub(super) fn options(&self, options: HostOptions) -> HostOptions {
        options
    }

    pub(super) fn follow_channel(self, _: &Arc<Host>, _: &Runtime) -> Result<Joined, Failure> {
        Ok(Joined)
    }
}

/// A host's part in a fleet: none.
#[derive(Clone, Default)]
pub(super) struct Joined;

impl Joined {
    pub(super) fn finish(&self) {}
}

pub(super) fn find_published(_: Option<&str>, _: bool) -> Result<Option<Signed>, Failure> {
    Ok(None)
}

/// A host's work for a pool: none.
#[derive(Clone)]
pub(super) struct Answering;

impl Answering {
    pub(super) fn begin(
        _: &Joining,
        pool: Option<&str>,
        _: &Arc<Host>,
        _: &Runtime,
    ) -> Result<Answering, Failure> {
        pool.map_or(Ok(Answering), |pool| {
            Err(Failure(format!("--pool {pool}: {MISSING}")))
        })
    }

    pub(super) fn leave(&self) {}

    pub(super) fn wait(&self) {}
}

/// The pool that judges what happens on this machine: none.
pub(super) enum Pool {}

impl Pool {
    pub(super) fn from_settings(_: &StandingArgs) -> Result<Option<Pool>, Failure> {
        Ok(None)
    }

    pub(super) fn ask(&self, _: &Question<'_>) -> Result<Said, Failure> {
        match *self {}
    }
}
