//! `hookwire uninstall`: an agent's entry taken out, or everything that hookwire has written for this
//! user.

use super::copies::forget_programs;
use super::install::{InstallArgs, ManagedWish, PlaceOfEntry, uninstall_at};
use super::kept::{real_path, written_files};
use super::output::{Output, Tone};
use super::trust::reload_hosts;
use super::written::record::Record;
use super::{Failure, Finding, entry_hosts, find_project};
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::{places, shell_word};
use hookwire_engine::definitions::approved;
use hookwire_engine::trust;
use hookwire_rules::agents::{AGENTS, Agent};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(super) struct UninstallArgs {
    #[command(flatten)]
    place: Option<PlaceOfEntry>,
    /// Take back everything that hookwire has written for you on this machine: the entries of all
    /// agents, in all projects, and the rules that `init` wrote. A rule that you have edited stays,
    /// and is named.
    #[arg(long, exclusive = true)]
    all: bool,
}

/// A place where an agent has an entry.
struct EntryPlace {
    agent: &'static Agent,
    is_user: bool,
    root: PathBuf,
}

pub(super) fn run(args: &UninstallArgs, out: &mut Output) -> Result<Finding, Failure> {
    match &args.place {
        Some(place) => entry_hosts::renew_hosts(place.root(), out, |out| uninstall_at(place, out)),
        None => uninstall_all(out),
    }
}

impl UninstallArgs {
    /// The place of a file of MCP servers, if one is meant.
    pub(super) fn of_servers(&self) -> Option<&PlaceOfEntry> {
        let place = self.place.as_ref();
        place.filter(|place| place.servers().is_some())
    }

    /// Whether a machine's settings are meant.
    pub(super) fn is_managed(&self) -> bool {
        self.place.as_ref().is_some_and(PlaceOfEntry::is_managed)
    }

    /// What is to be taken out of a machine's settings.
    pub(super) fn managed_wish(&self) -> Result<ManagedWish, Failure> {
        match &self.place {
            Some(place) => place.wish_to_remove(),
            None => Err(Failure("--managed: name the agents".into())),
        }
    }
}

fn uninstall_all(out: &mut Output) -> Result<Finding, Failure> {
    let places = entry_places()?;
    let roots: BTreeSet<PathBuf> = places
        .iter()
        .map(|place| place.root.clone())
        .chain([find_project()])
        .collect();
    entry_hosts::renew_all_hosts(roots, out, |out| {
        let mut finding = Finding::Fine;
        let mut n_taken = 0;
        for place in &places {
            n_taken += place.uninstall(out)?;
        }
        for record in Record::all()? {
            n_taken += 1;
            if !take_back_definitions(&record, out)? {
                finding = Finding::Found;
            }
        }
        reload_hosts();
        forget_programs()?;
        tell_rest(n_taken, out);
        Ok(finding)
    })
}

/// Where entries are: those that were written on this machine, and those that are found here.
fn entry_places() -> Result<Vec<EntryPlace>, Failure> {
    let mut found: BTreeMap<(&str, bool, PathBuf), EntryPlace> = BTreeMap::new();
    let mut add = |place: EntryPlace| {
        let root = place.root.canonicalize().unwrap_or(place.root.clone());
        let key = (place.agent.name, place.is_user, root);
        found.entry(key).or_insert(place);
    };
    let here = find_project();
    for agent in AGENTS.iter() {
        for is_user in [false, true] {
            add(EntryPlace {
                agent,
                is_user,
                root: here.clone(),
            });
        }
    }
    for (path, commands) in written_files()? {
        for command in commands {
            if let Some((agent, root)) = read_command(&command, &path) {
                add(EntryPlace {
                    agent,
                    is_user: root.is_none(),
                    root: root.unwrap_or_else(|| here.clone()),
                });
            }
        }
    }
    Ok(found.into_values().collect())
}

/// The agent that a written command asks for, and the project; none if it is for all projects.
fn read_command(command: &str, path: &Path) -> Option<(&'static Agent, Option<PathBuf>)> {
    let words = shell_word::written(command)?;
    let agent = AGENTS
        .iter()
        .find(|agent| words.get(2).is_some_and(|name| name == agent.name))?;
    let at = words.iter().position(|word| word == "--root");
    let named = at.and_then(|at| words.get(at + 1)).map(PathBuf::from);
    // An entry that a team shares names no root.
    let shared = || {
        let below = agent.project.shared.iter().chain([&agent.project.entry]);
        let mut roots = below
            .filter(|below| !below.is_empty() && path.ends_with(below))
            .filter_map(|below| path.ancestors().nth(Path::new(below).components().count()));
        roots.next().map(Path::to_path_buf)
    };
    let is_users = InstallArgs::for_agent(agent, true, Path::new("."))
        .path()
        .is_ok_and(|users| path.starts_with(users));
    Some((
        agent,
        named.or_else(|| if is_users { None } else { shared() }),
    ))
}

impl EntryPlace {
    /// Whether an entry was written on this machine. Another came with a clone.
    fn is_written_here(&self, path: &Path) -> Result<bool, Failure> {
        let real = real_path(path);
        let written = written_files()?;
        Ok(written.iter().any(|(path, _)| Some(path) == real.as_ref()))
    }

    /// How many files were changed.
    fn uninstall(&self, out: &mut Output) -> Result<usize, Failure> {
        let mut n_all = 0;
        let all = InstallArgs::for_each_place(self.agent, &self.root);
        for mut args in all
            .into_iter()
            .filter(|args| args.is_users() == self.is_user)
        {
            // Some agents have no hooks there.
            let Ok(path) = args.path() else { continue };
            if args.is_teams() && !self.is_written_here(&path)? {
                if args.entry().is_some() {
                    let line = format!(
                        "{}: the team's entry stays; `hookwire uninstall {}` takes it out.",
                        path.display(),
                        self.agent.name
                    );
                    let line = out.tone(Tone::Warn, &line);
                    out.aside(&line);
                }
                continue;
            }
            let n_changed = args.take_out(out)?;
            n_all += n_changed;
            if n_changed == 0 {
                continue;
            }
            if out.json {
                out.json(&json!({ "agent": self.agent.name, "file": path, "changed": true }));
            } else {
                out.line(&format!(
                    "{} asks hookwire no more: {}",
                    self.agent.title,
                    path.display()
                ));
            }
        }
        Ok(n_all)
    }
}

/// Whether nothing of what `init` wrote stays.
fn take_back_definitions(record: &Record, out: &mut Output) -> Result<bool, Failure> {
    let taken = record.take_back()?;
    // What was approved with them is approved no more.
    if let Some(root) = record.dir.parent().filter(|_| record.is_first_approval()) {
        for store in approved::stores() {
            trust::revoke(&store, root)?;
        }
    }
    if out.json {
        out.json(
            &json!({ "definitions": record.dir, "removed": taken.removed, "edited": taken.edited }),
        );
        return Ok(taken.edited.is_empty());
    }
    if !taken.removed.is_empty() {
        let n_files = number_of(taken.removed.len(), "file");
        out.line(&format!("Removed {n_files} from {}.", record.dir.display()));
    }
    for path in &taken.edited {
        let line = format!("{}: you have edited it, so it stays.", path.display());
        let line = out.tone(Tone::Warn, &line);
        out.line(&line);
    }
    Ok(taken.edited.is_empty())
}

fn tell_rest(n_taken: usize, out: &mut Output) {
    if out.json {
        return;
    }
    if n_taken == 0 {
        out.line("There is nothing to take back.");
    }
    for data in places::data_dirs().iter().filter(|dir| dir.is_dir()) {
        out.line(&format!(
            "What was recorded, approved and copied stays in {}: remove it when you don't need it.",
            data.display()
        ));
    }
}
