//! What the entries of installed agents let hooks reach. Commands that look at definitions go by
//! it, as the agents' hosts do: an address that an entry allows is no finding.

use super::install::{Entry, InstallArgs};
use super::own::Own;
use super::{Cli, Command, ReachArgs};
use clap::Parser;
use hookwire_handlers::handlers::HostPort;
use hookwire_rules::agents::{AGENTS, Agent};
use std::path::{Path, PathBuf};

/// An agent's entry.
pub(super) struct Granting {
    /// Where it stands.
    pub(super) path: PathBuf,
    reach: ReachArgs,
}

impl Granting {
    /// The entries of these agents that ask about a project.
    pub(super) fn of_agents(
        agents: impl Iterator<Item = &'static Agent>,
        root: &Path,
    ) -> Vec<Granting> {
        own_entries(agents, root)
            .filter_map(|(path, own)| {
                Some(Granting {
                    path,
                    reach: entry_reach(&own)?,
                })
            })
            .collect()
    }

    /// The hosts that another entry allows and this one doesn't.
    pub(super) fn lacking_hosts<'e>(
        &'e self,
        all: &'e [Granting],
    ) -> impl Iterator<Item = &'e HostPort> {
        let mut lacking: Vec<&HostPort> = Vec::new();
        for host in all.iter().flat_map(|it| &it.reach.allow_host) {
            if !self.reach.allow_host.contains(host) && !lacking.contains(&host) {
                lacking.push(host);
            }
        }
        lacking.into_iter()
    }
}

impl ReachArgs {
    /// Adds what every installed entry says. What only some agents allow fails in the others, so it
    /// isn't added.
    pub(super) fn with_installed(&self, root: &Path) -> ReachArgs {
        self.with_entries(&Granting::of_agents(AGENTS.iter(), root))
    }

    /// Adds what each of these entries says.
    pub(super) fn with_entries(&self, entries: &[Granting]) -> ReachArgs {
        let Some((first, others)) = entries.split_first() else {
            return self.clone();
        };
        let model = first.reach.model.as_ref();
        let model = model.filter(|model| {
            others
                .iter()
                .all(|it| it.reach.model.as_ref() == Some(model))
        });
        let granted = first
            .reach
            .allow_host
            .iter()
            .filter(|host| others.iter().all(|it| it.reach.allow_host.contains(host)));
        ReachArgs {
            allow_host: self.allow_host.iter().chain(granted).cloned().collect(),
            model: self.model.as_ref().or(model).cloned(),
        }
    }
}

/// The commands of hookwire in the entries of these agents that ask about a project, each with its
/// file.
pub(super) fn own_entries(
    agents: impl Iterator<Item = &'static Agent>,
    root: &Path,
) -> impl Iterator<Item = (PathBuf, Own)> {
    let places = agents
        .flat_map(move |agent| InstallArgs::for_each_place(agent, root))
        .filter_map(|place| match place.entry()? {
            Entry::Unreadable(_) => None,
            Entry::Asks { commands, .. } => Some((place.path().ok()?, commands)),
        });
    places.flat_map(|(path, commands)| {
        commands
            .into_iter()
            .map(move |command| (path.clone(), command))
    })
}

/// What the command of an entry says, read as the program will read it.
fn entry_reach(own: &Own) -> Option<ReachArgs> {
    match Cli::try_parse_from(own.words()).ok()?.command {
        Command::Hook(args) => Some(args.hooks.host.reach.clone()),
        _ => None,
    }
}
