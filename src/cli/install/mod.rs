//! `hookwire install AGENT` and `uninstall`: one entry of an agent's own configuration, and nothing
//! else in it.

mod command;
mod entry;
mod plan;
pub(super) mod program;
mod read;
mod write;

pub(super) use self::command::{Started, seconds_within, write_handler};
pub(super) use self::entry::{Entry, handlers_of, listed_in, listed_values};
pub(super) use self::plan::{Change, Kind, plan_additions, plan_removals};
pub(super) use self::program::{own_program, path_text};
pub(super) use self::read::{read_file, value_of};
pub(super) use self::write::show_diff;

use self::entry::tell_left_alone;
use self::program::BESIDE;
use super::copies::keep_programs;
use super::output::{Output, Tone, safe};
use super::own::events_of;
use super::{Failure, Finding, agent_parser, find_project};
use clap::ValueEnum;
use clap::builder::ArgPredicate;
use hookwire_base::support::amounts::number_of;
use hookwire_engine::definitions::approved::{self, DEFINITIONS};
use hookwire_handlers::handlers::HostPort;
use hookwire_handlers::services::models::ModelRef;
use hookwire_rules::agents::Agent;
use serde_json::json;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct InstallArgs {
    #[command(flatten)]
    place: PlaceOfEntry,
    #[command(flatten)]
    entry: EntryArgs,
}

/// Which agent, and where it is told.
#[derive(clap::Args)]
pub(super) struct PlaceOfEntry {
    /// The agent. With --managed, several may be given.
    #[arg(value_parser = agent_parser(), required = false, required_unless_present = "mcp", conflicts_with = "mcp")]
    #[arg(default_value_if("mcp", ArgPredicate::IsPresent, Some("claude-code")))]
    agent: &'static Agent,
    /// Have `hookwire mcp` stand before each MCP server that this file names: an mcp.json of any
    /// client.
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["user", "managed", "project", "root"])]
    mcp: Option<PathBuf>,
    #[arg(value_parser = agent_parser(), value_name = "AGENT", requires = "managed", hide = true)]
    more: Vec<&'static Agent>,
    /// Guard all projects of this user. Otherwise this project.
    #[arg(long)]
    user: bool,
    /// Guard every user of this machine, by settings of the agent's that only root can change. It
    /// takes root.
    #[arg(long, conflicts_with_all = ["user", "project", "root"])]
    managed: bool,
    /// Guard this project; so it is without --user.
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// The project root; else the nearest directory upwards that is a project's.
    #[arg(long, value_name = "DIR", default_value_os_t = find_project(), hide_default_value = true)]
    root: PathBuf,
    /// Show what would be written, all of it, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// The file is the team's.
    #[arg(skip)]
    team: bool,
}

/// What the command that is written says.
#[derive(clap::Args, Default)]
struct EntryArgs {
    /// Have edits of the project's own definitions in force at once, without `hookwire trust`: for
    /// whoever writes them.
    #[arg(long, conflicts_with = "managed")]
    live: bool,
    /// Write an entry that a team can commit: `hookwire` as it is found on PATH, and no path of
    /// this machine.
    #[arg(long, conflicts_with_all = ["user", "managed", "live", "hooks", "user_dir", "data_dir"])]
    shared: bool,
    /// Deny also where hookwire is missing or killed, for agents that go on then. With --user it is
    /// so for those that hookwire was tried with; in a file that is shared it stops whoever hasn't
    /// got hookwire.
    #[arg(long, conflicts_with = "managed")]
    require: bool,
    /// What an agent does for a person who hasn't got hookwire; else it is the agent's choice.
    #[arg(long, value_enum, requires = "shared", conflicts_with = "require")]
    missing: Option<Missing>,
    /// Judge by these definitions too, a directory or a file; may be given several times. To name
    /// it is to trust it.
    #[arg(long, value_name = "PATH", conflicts_with = "managed")]
    hooks: Vec<PathBuf>,
    /// A host:port that http hooks and models may reach although it is not on the public internet.
    #[arg(long, value_name = "HOST:PORT")]
    allow_host: Vec<HostPort>,
    /// The model for hooks that ask one without naming it, such as anthropic:claude-haiku-4-5.
    #[arg(long, value_name = "PROVIDER:NAME")]
    model: Option<ModelRef>,
    /// How long an event may take; the agent waits a little longer. Without it, 50s.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    /// Have the host asked that listens on this socket, and no other: one beside the agent's
    /// container.
    #[arg(long, value_name = "unix:PATH", value_parser = hookwire_ask::socket::parse_address)]
    #[arg(conflicts_with_all = ["live", "hooks", "allow_host", "model"])]
    connect: Option<PathBuf>,
    /// Have the agent's status line show what is in force, and what was denied last. A status line
    /// of your own stays.
    #[arg(long, conflicts_with_all = ["shared", "connect", "managed"])]
    status_line: bool,
    /// Have all hooks only observe: what is judged is noted, and the agent is told nothing of it.
    /// Without --observe, it guards again.
    #[arg(long, requires = "managed")]
    observe: bool,
}

/// What is to be written into the settings of a machine, or taken out.
pub(super) struct ManagedWish {
    /// Of which agents.
    pub(super) agents: Vec<&'static Agent>,
    /// What the command says beside the agent and the event.
    pub(super) options: Vec<String>,
    /// The small program knows all of it.
    pub(super) is_plain: bool,
    /// The seconds that an agent waits.
    pub(super) seconds: u64,
    /// Hooks only observe.
    pub(super) observe: bool,
    /// Nothing is written.
    pub(super) dry_run: bool,
}

/// What an agent does where hookwire is missing.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Missing {
    /// It acts no more.
    Stop,
    /// It goes on, and tells the person that nothing is guarded.
    Tell,
}

/// Takes an agent's entries out that are at a place.
pub(super) fn uninstall_at(place: &PlaceOfEntry, out: &mut Output) -> Result<Finding, Failure> {
    let mut n_changed = 0;
    for args in InstallArgs::for_each_place(place.agent, &place.root)
        .iter()
        .filter(|it| it.place.user == place.user)
    {
        let spoken = args.spoken();
        let n = place.carry_out(&args.plan_changes(false)?, false, out)?;
        if out.json {
            let changed = n > 0 && !place.dry_run;
            let (agent, file) = (place.agent.name, args.path()?);
            out.json(
                &json!({ "agent": agent, "file": file, "changed": changed, "leftAlone": spoken }),
            );
        } else {
            tell_left_alone(&args.path()?, &spoken, out);
        }
        n_changed += n;
    }
    if out.json {
        return Ok(Finding::Fine);
    }
    match n_changed {
        0 => out.line(&format!("{} doesn't ask hookwire here.", place.agent.name)),
        _ if place.dry_run => {}
        _ => out.line(&format!("{} asks hookwire no more.", place.agent.name)),
    }
    Ok(Finding::Fine)
}

pub(super) fn install(args: &InstallArgs, out: &mut Output) -> Result<Finding, Failure> {
    let InstallArgs { place, entry } = args;
    let changes = args.plan_changes(true)?;
    let spoken = args.spoken();
    let n_changed = place.carry_out(&changes, true, out)?;
    let (name, n_events) = (
        place.agent.name,
        number_of(events_of(place.agent).len(), "event"),
    );
    let (command, path) = (args.command_line(None)?, args.path()?);
    if out.json {
        out.json(&json!({ "agent": name, "events": events_of(place.agent), "command": command, "file": path,
            "changed": n_changed > 0 && !place.dry_run, "leftAlone": spoken }));
        return Ok(Finding::Fine);
    }
    tell_left_alone(&path, &spoken, out);
    if n_changed == 0 {
        out.line(&format!("{name} is guarded already."));
        if entry.shared {
            out.line(&args.tell_teammates());
        }
        return Ok(Finding::Fine);
    }
    out.line(&format!(
        "{n_events} of {name} -> {command}, in {}",
        path.display()
    ));
    if place.dry_run {
        return Ok(Finding::Fine);
    }
    if let Some((_, Some(problem))) = BESIDE.as_ref().filter(|_| !entry.shared) {
        let problem = out.tone(Tone::Warn, &safe(problem));
        out.line(&problem);
    }
    if let Some(source) = &place.agent.by_description {
        out.line(&format!(
            "hookwire was not tried with {}. It goes by {source}.",
            place.agent.title
        ));
    }
    let user = if place.user { " --user" } else { "" };
    out.line(&format!(
        "{} `hookwire uninstall {name}{user}` takes it back.",
        place.agent.then
    ));
    if changes.iter().any(|it| it.had_own) && !place.agent.lists_hooks.is_empty() {
        out.line(&format!(
            "The entry is another one now, so {} passes over it until you trust its hooks again: start it and say yes.",
            place.agent.title
        ));
    }
    if entry.shared {
        out.line(&args.tell_teammates());
    } else if place.agent.goes_on_without() && !args.is_required() {
        out.line(&format!(
            "Where hookwire is missing or killed, {} goes on: `hookwire install {name}{user} --require` denies then.",
            place.agent.title
        ));
    }
    let definitions = place.root.join(DEFINITIONS);
    if !place.user && !definitions.is_dir() {
        out.line("There are no hooks yet: `hookwire init` takes a set of rules, `hookwire init --list` shows all.");
    } else if definitions.is_dir() && !entry.live && !approved::is_approved(&place.root) {
        out.line(
            "Nobody has trusted the hooks of this project yet: `hookwire trust` shows them and puts them in force.",
        );
    }
    Ok(Finding::Fine)
}

/// Writes an agent's entry, and says where.
pub(super) fn connect(args: &InstallArgs, out: &mut Output) -> Result<Finding, Failure> {
    let (place, path) = (&args.place, args.path()?);
    let n_changed = place.carry_out(&args.plan_changes(true)?, true, out)?;
    let shown = path.strip_prefix(".").unwrap_or(&path);
    if out.json {
        out.json(&json!({ "agent": place.agent.name, "file": path, "changed": n_changed > 0 }));
    } else {
        let said = format!("{} asks hookwire: {}", place.agent.title, shown.display());
        let said = out.tone(Tone::Good, &said);
        out.line(&said);
    }
    tell_left_alone(&path, &args.spoken(), out);
    Ok(Finding::Fine)
}

impl InstallArgs {
    /// What is meant.
    pub(super) fn place_of_entry(&self) -> &PlaceOfEntry {
        &self.place
    }

    /// Whether the command names `hookwire` as it is found on `PATH`, and no path of this machine.
    pub(super) fn is_shared(&self) -> bool {
        self.entry.shared
    }

    /// What the command says of whom to ask and how long.
    pub(super) fn option_words(&self) -> Result<Vec<String>, Failure> {
        self.entry.words()
    }

    pub(super) fn root(&self) -> &Path {
        &self.place.root
    }

    /// Whether a machine's settings are meant.
    pub(super) fn is_managed(&self) -> bool {
        self.place.managed
    }

    /// What is to be written into a machine's settings.
    pub(super) fn managed_wish(&self) -> Result<ManagedWish, Failure> {
        self.place.managed_wish(&self.entry)
    }

    /// As if they were given so.
    pub(super) fn for_agent(agent: &'static Agent, user: bool, root: &Path) -> InstallArgs {
        let place = PlaceOfEntry {
            agent,
            mcp: None,
            user,
            project: !user,
            root: root.to_path_buf(),
            dry_run: true,
            team: false,
            more: Vec::new(),
            managed: false,
        };
        InstallArgs {
            place,
            entry: EntryArgs::default(),
        }
    }

    /// The entry that `install` writes without options.
    pub(super) fn to_write(agent: &'static Agent, user: bool, root: &Path) -> InstallArgs {
        let mut args = InstallArgs::for_agent(agent, user, root);
        args.place.dry_run = false;
        args
    }

    /// Whether it is the file that a team commits.
    pub(super) fn is_teams(&self) -> bool {
        self.place.team
    }

    /// Whether it is for all projects of the user.
    pub(super) fn is_users(&self) -> bool {
        self.place.user
    }

    /// Takes the entry out; how many files have changed.
    pub(super) fn take_out(&mut self, out: &mut Output) -> Result<usize, Failure> {
        self.place.dry_run = false;
        self.place.carry_out(&self.plan_changes(false)?, false, out)
    }

    /// As if they were given for each place where the agent may have an entry: a person's own in
    /// this project, a team's, and the one for all projects.
    pub(super) fn for_each_place(agent: &'static Agent, root: &Path) -> Vec<InstallArgs> {
        let mut team = InstallArgs::for_agent(agent, false, root);
        team.place.team = true;
        let team = agent.place(false).shared.as_ref().map(|_| team);
        [InstallArgs::for_agent(agent, false, root)]
            .into_iter()
            .chain(team)
            .chain([InstallArgs::for_agent(agent, true, root)])
            .collect()
    }
}

impl PlaceOfEntry {
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether a machine's settings are meant.
    pub(super) fn is_managed(&self) -> bool {
        self.managed
    }

    /// What is to be taken out of a machine's settings.
    pub(super) fn wish_to_remove(&self) -> Result<ManagedWish, Failure> {
        self.managed_wish(&EntryArgs::default())
    }

    fn managed_wish(&self, entry: &EntryArgs) -> Result<ManagedWish, Failure> {
        let mut known = HashSet::new();
        let agents = [self.agent].into_iter().chain(self.more.iter().copied());
        Ok(ManagedWish {
            agents: agents.filter(|agent| known.insert(agent.name)).collect(),
            options: entry.words()?,
            is_plain: entry.is_plain(),
            seconds: entry.timeout(),
            observe: entry.observe,
            dry_run: self.dry_run,
        })
    }

    /// The file of MCP servers that is meant.
    pub(super) fn servers(&self) -> Option<&Path> {
        self.mcp.as_deref()
    }

    /// Whether nothing is to be written.
    pub(super) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Shows and makes the changes; how many there are.
    pub(super) fn carry_out(
        &self,
        changes: &[Change],
        is_install: bool,
        out: &mut Output,
    ) -> Result<usize, Failure> {
        if is_install && !self.dry_run {
            keep_programs()?;
        }
        let (mut n_changed, mut dirs) = (0, Vec::new());
        for change in changes
            .iter()
            .filter(|change| change.before != change.after)
        {
            n_changed += 1;
            if self.dry_run {
                if !out.json {
                    out.line(&safe(&change.path.to_string_lossy()));
                    show_diff(change.before.as_deref(), change.after.as_deref(), out);
                }
                continue;
            }
            let copy = change
                .write_file(is_install, &mut dirs)
                .map_err(|error| Failure(format!("{}: {error}", change.path.display())))?;
            if let Some(copy) = copy.filter(|_| !out.json) {
                out.line(&format!(
                    "{}: a copy of it as it was is kept in {}",
                    change.path.display(),
                    copy.display()
                ));
            }
        }
        // One that holds something stays, and so do those around it.
        let _ = dirs
            .iter()
            .map(std::fs::remove_dir)
            .take_while(Result::is_ok)
            .count();
        Ok(n_changed)
    }
}
