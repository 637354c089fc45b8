//! `hookwire doctor --fix`: entries whose program won't stay, has gone, or is of another version are
//! written anew with the options that they have.

use super::super::copies::{cache_of, version_of_copy};
use super::super::install::{self, Entry, InstallArgs};
use super::super::output::Output;
use super::super::own::Own;
use super::super::{Cli, Command, Failure, Finding, entry_hosts};
use clap::Parser;
use hookwire_rules::agents::Agent;
use std::path::Path;

/// Writes those entries of an agent anew; how many there were.
pub(super) fn renew_entries(
    agent: &'static Agent,
    root: &Path,
    out: &mut Output,
) -> Result<usize, Failure> {
    let mut n_renewed = 0;
    for place in InstallArgs::for_each_place(agent, root) {
        // What a team shares names no program of this machine.
        let Some(Entry::Asks { commands, .. }) = place.entry().filter(|_| !place.is_teams()) else {
            continue;
        };
        let Some(own) = commands.iter().find(|own| is_to_renew(own)) else {
            continue;
        };
        let mut words = vec!["hookwire".into(), "install".into(), agent.name.to_string()];
        if place.is_users() {
            words.push("--user".into());
        } else {
            words.extend(["--root".into(), root.to_string_lossy().into_owned()]);
        }
        words.extend(own.install_options());
        words.extend(place.shows_line().then(|| "--status-line".to_string()));
        let cli = Cli::try_parse_from(&words)
            .map_err(|error| Failure(format!("{}: {error}", own.line())))?;
        let Command::Install(args) = &cli.command else {
            continue;
        };
        entry_hosts::renew_hosts(root, out, |out| install::install(args, out))?;
        n_renewed += 1;
    }
    Ok(n_renewed)
}

fn is_to_renew(own: &Own) -> bool {
    let program = Path::new(&own.words()[0]);
    let is_other = version_of_copy(program).is_some_and(|it| it != env!("CARGO_PKG_VERSION"));
    !own.is_shared() && (cache_of(program).is_some() || is_other || !program.exists())
}

/// The same of several agents.
pub(super) fn renew_all(
    agents: impl Iterator<Item = &'static Agent>,
    root: &Path,
    out: &mut Output,
) -> Result<Finding, Failure> {
    let mut n_renewed = 0;
    for agent in agents {
        n_renewed += renew_entries(agent, root, out)?;
    }
    if n_renewed == 0 {
        out.aside("Each entry starts a program that stays and is of this version.");
    }
    Ok(Finding::Fine)
}
