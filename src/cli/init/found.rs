//! What is on this machine before anything is written: agents, their own hooks and rules, and
//! definitions.

use super::super::agent_version::{ask_agent_within, is_in_project, on_path, version_numbers};
use super::super::import;
use super::super::install::InstallArgs;
use hookwire_rules::agents::{AGENTS, Agent};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A person waits for it, and can do without.
const VERSION_LIMIT: Duration = Duration::from_secs(5);

/// A coding agent that is here.
pub(super) struct FoundAgent {
    pub(super) agent: &'static Agent,
    /// Its program, if it is on `PATH`.
    pub(super) program: Option<PathBuf>,
    /// Which version it says it is.
    pub(super) version: Option<String>,
    /// It asks hookwire already at the place where it would be connected.
    pub(super) is_connected: bool,
    /// What it has of its own.
    pub(super) own: Vec<OwnSettings>,
}

/// Hooks and permission rules that an agent has of its own.
pub(super) struct OwnSettings {
    pub(super) path: PathBuf,
    pub(super) n_hooks: usize,
    pub(super) n_rules: usize,
}

/// The agents that are here: those on `PATH`, those that ask hookwire, or exactly those that are
/// named.
pub(super) fn find_agents(named: &[&'static Agent], is_user: bool, root: &Path) -> Vec<FoundAgent> {
    let mut found: Vec<FoundAgent> = Vec::new();
    for agent in AGENTS.iter() {
        let is_named = named.iter().any(|it| it.name == agent.name);
        let program = on_path(&agent.program);
        let is_connected = InstallArgs::for_agent(agent, is_user, root)
            .entry()
            .is_some();
        if is_named || named.is_empty() && (program.is_some() || is_connected) {
            found.push(FoundAgent {
                agent,
                program,
                version: None,
                is_connected,
                own: own_settings(agent, is_user, root),
            });
        }
    }
    // Each may take a second to say it. What a project brings is not started.
    thread::scope(|scope| {
        for it in &mut found {
            scope.spawn(|| {
                let program = it.program.as_ref().filter(|it| !is_in_project(it, root));
                it.version = program.and_then(|program| version_of(program, root));
            });
        }
    });
    found
}

fn version_of(program: &Path, root: &Path) -> Option<String> {
    let ended = ask_agent_within(program, root, VERSION_LIMIT).ok()??;
    let numbers = version_numbers(&String::from_utf8_lossy(&ended.stdout))?;
    Some(numbers.map(|it| it.to_string()).join("."))
}

/// What an agent has of its own that goes on beside hookwire.
fn own_settings(agent: &'static Agent, is_user: bool, root: &Path) -> Vec<OwnSettings> {
    import::count_own(agent, is_user, root)
        .into_iter()
        .map(|(path, n_hooks, n_rules)| OwnSettings {
            path,
            n_hooks,
            n_rules,
        })
        .collect()
}
