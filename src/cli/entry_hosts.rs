//! The hosts that the entries of agents reach.
//!
//! An entry that is written anew with other options reaches another host. The earlier host would
//! stay until its idle exit, with a process and with counts that nobody adds to, so it is ended.

use super::granted::own_entries;
use super::output::Output;
use super::own::Own;
use super::warm_host::for_agents;
use super::{Cli, Command, Failure, Finding};
use clap::Parser;
use hookwire_ask::programs::{HOST, SMALL, TYPED};
use hookwire_ask::warm::Warm;
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::places;
use hookwire_engine::running::{self, Stopped};
use hookwire_rules::agents::AGENTS;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Carries out a command that changes entries, and ends the hosts of the project that they have
/// reached and reach no more.
pub(super) fn renew_hosts(
    root: &Path,
    out: &mut Output,
    command: impl FnOnce(&mut Output) -> Result<Finding, Failure>,
) -> Result<Finding, Failure> {
    let before = entry_sockets(root);
    let finding = command(out)?;
    if end_unreached(root, &before) > 0 && !out.json {
        out.line("The host of the earlier entry has ended.");
    }
    Ok(finding)
}

/// The same for every project that an entry is for or that a host judges.
pub(super) fn renew_all_hosts(
    mut roots: BTreeSet<PathBuf>,
    out: &mut Output,
    command: impl FnOnce(&mut Output) -> Result<Finding, Failure>,
) -> Result<Finding, Failure> {
    for mut host in running::find(None)? {
        roots.extend(host.about().ok().map(|host| PathBuf::from(host.root)));
    }
    let before: Vec<_> = roots
        .into_iter()
        .map(|root| (entry_sockets(&root), root))
        .collect();
    let finding = command(out)?;
    let n_ended: usize = before
        .iter()
        .map(|(sockets, root)| end_unreached(root, sockets))
        .sum();
    if n_ended > 0 && !out.json {
        out.line(&format!("{} ended.", number_of(n_ended, "host")));
    }
    Ok(finding)
}

/// The sockets of the hosts that the entries in force reach for a project.
fn entry_sockets(root: &Path) -> BTreeSet<PathBuf> {
    own_entries(AGENTS.iter(), root)
        .filter_map(|(_, own)| socket_of(&own))
        .collect()
}

/// Ends those that entries have reached and reach no more; how many have ended.
fn end_unreached(root: &Path, before: &BTreeSet<PathBuf>) -> usize {
    let now = entry_sockets(root);
    let Ok(hosts) = running::find(Some(root)) else {
        return 0;
    };
    let left = hosts
        .into_iter()
        .filter(|host| before.contains(&host.socket) && !now.contains(&host.socket));
    left.filter_map(|host| host.stop().ok())
        .filter(|ended| *ended == Stopped::Gone)
        .count()
}

/// The socket of the host that an entry's command reaches, as the command finds it.
fn socket_of(own: &Own) -> Option<PathBuf> {
    let program = large_program(own.words().first()?)?;
    let cli = Cli::try_parse_from(own.words()).ok()?;
    let Command::Hook(args) = &cli.command else {
        return None;
    };
    let hooks = for_agents(&args.hooks, !args.no_self_defense).ok()?;
    Some(
        Warm::new(
            program,
            hooks.wanted().ok()?,
            &places::as_agent(cli.places.named_places()),
        )
        .ok()?
        .socket,
    )
}

/// The large program that a command leads to, which is the one whose host it reaches.
fn large_program(word: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    // A name alone is looked up on the agent's PATH, which most often leads here.
    let Some(path) = Some(Path::new(word)).filter(|it| it.is_absolute()) else {
        return Some(own);
    };
    let path = path.canonicalize().ok()?;
    if path.parent() == own.parent() {
        return Some(own);
    }
    let host = path.with_file_name(HOST);
    let is_small = path.file_name()? == SMALL;
    Some(if host.is_file() {
        host
    } else if is_small {
        path.with_file_name(TYPED)
    } else {
        path
    })
}
