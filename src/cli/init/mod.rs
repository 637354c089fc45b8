//! `hookwire init`: all that a beginning takes, or single rules of the cookbook.

mod begin;
mod found;
mod named;
mod preview;

use super::output::Output;
use super::{Failure, Finding, agent_parser, definitions_dir};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hookwire_engine::definitions::cookbook::{SETS, Set};
use hookwire_rules::agents::Agent;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct InitArgs {
    /// Rules of the cookbook, see --list, written with the cases that test them. Without any, all
    /// that a beginning takes: the agents that are here are found, a set of rules is shown, and
    /// after one question they are written, put in force, connected and tried.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Where to write. A file that is there already is left as it is.
    #[arg(long, value_name = "DIR", default_value_os_t = definitions_dir())]
    hooks: PathBuf,
    /// Write your own definitions, which judge in all projects.
    #[arg(long, conflicts_with = "hooks")]
    user: bool,
    /// List the rules of the cookbook instead.
    #[arg(long, conflicts_with = "names")]
    list: bool,
    /// Write a commented file to start from, and nothing else.
    #[arg(long, conflicts_with_all = ["names", "list"])]
    starter: bool,
    /// Which rules a beginning takes. With `watch` they only observe.
    #[arg(long, value_parser = set_parser(), conflicts_with_all = ["names", "list", "starter"])]
    set: Option<&'static Set>,
    /// The agents that it connects, separated by commas; else those that are found.
    #[arg(long, value_name = "AGENT", value_parser = agent_parser(), value_delimiter = ',')]
    #[arg(conflicts_with_all = ["names", "list", "starter"])]
    agents: Vec<&'static Agent>,
    /// Do it without being asked.
    #[arg(long, conflicts_with_all = ["names", "list", "starter"])]
    yes: bool,
}

fn set_parser() -> impl TypedValueParser<Value = &'static Set> {
    let values = SETS
        .iter()
        .map(|set| PossibleValue::new(set.name).help(set.about));
    PossibleValuesParser::new(values).try_map(|name| Set::by_name(&name).ok_or(name))
}

pub(super) fn run(args: &InitArgs, out: &mut Output) -> Result<Finding, Failure> {
    // Whoever names a place wants files there, and nothing else.
    let is_beginning =
        args.names.is_empty() && !args.list && !args.starter && args.hooks == definitions_dir();
    if is_beginning {
        begin::run(args, out)
    } else {
        named::run(args, out)
    }
}
