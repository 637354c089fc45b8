//! `hookwire install AGENT` and `uninstall`: one entry of an agent's own configuration, and nothing
//! else in it.

pub(super) mod program;

use self::program::{BESIDE, asking_program, own_program, path_text};
use super::copies::{keep_programs, lasting};
use super::kept::{self, Before, Kept};
use super::output::{Output, Tone, safe};
use super::own::{
    OTHERWISE, Own, Whose, dialect_of, events_of, has_own, is_whole_plugin, missing_told,
    otherwise_said, own_entry, plugin_with, spoken_by, whose_plugin, whose_program,
};
use super::{Failure, Finding, agent_parser, agent_version, find_project};
use clap::ValueEnum;
use hookwire_base::event::set_pointer;
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::file;
use hookwire_base::support::file::replace;
use hookwire_base::support::os_error::in_words;
use hookwire_base::support::{places, shell_word};
use hookwire_base::syntax::diagnostic::{LineIndex, Position};
use hookwire_base::syntax::formats::{self, Format};
use hookwire_base::syntax::node::Step;
use hookwire_base::syntax::writer::{At, Op, rewritten};
use hookwire_engine::definitions::approved::{self, DEFINITIONS};
use hookwire_handlers::handlers::HostPort;
use hookwire_handlers::services::models::ModelRef;
use hookwire_rules::agents::{AGENTS, Agent, ExecForm, Form, HookFile, Place, Unit};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
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
    #[arg(value_parser = agent_parser())]
    agent: &'static Agent,
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

/// Seconds that an agent waits for the hook, at least, and how much longer than the hook's own
/// limit.
const TIMEOUT: u64 = 60;
const LONGER: u64 = 10;

/// What an agent's status line runs of this program.
const STATUS_LINE: [&str; 3] = ["host", "status", "--line"];

/// What an agent's configuration has of hookwire.
pub(super) enum Entry {
    /// The file can't be read; why.
    Unreadable(String),
    /// It asks, as far as it does.
    Asks {
        /// What the agent runs before a tool call.
        commands: Vec<Own>,
        /// The events at which it doesn't ask.
        missing: Vec<&'static str>,
        /// What has become of the entry of a tool call since it was written.
        edits: Vec<String>,
        /// What else is to be known of it.
        remarks: Vec<String>,
    },
}

/// A file of an agent's configuration, as it is and as it is to be; nothing if it isn't there.
struct Change {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    /// The commands that are written.
    commands: Vec<String>,
    /// Entries of hookwire's are there.
    had_own: bool,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Others' settings with our entries.
    Settings,
    /// All of it is hookwire's.
    Own,
    /// The same, to be executed.
    Program,
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

    /// Whether the agent shows hookwire's line.
    pub(super) fn shows_line(&self) -> bool {
        let Some(member) = &self.place.agent.status_line else {
            return false;
        };
        let settings = self.path().ok().and_then(|path| {
            let text = read_file(&path).ok()??;
            value_of(&text, Format::from_path(&path).unwrap_or_default()).ok()
        });
        settings.is_some_and(|settings| is_own_line(&settings[member]))
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

    /// Whether `install` would change anything.
    ///
    /// # Errors
    /// The entry can't be written there; why.
    pub(super) fn would_change(&self) -> Result<bool, Failure> {
        let changes = self.plan_changes(true)?;
        Ok(changes.iter().any(|change| change.before != change.after))
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

    /// What the agent's configuration has of hookwire, if anything.
    pub(super) fn entry(&self) -> Option<Entry> {
        let path = self.path().ok()?;
        let text = match read_file(&path) {
            _ if matches!(self.place.agent.form, Form::Programs) => {
                return self.entry_of_programs(&path);
            }
            Ok(text) => text?,
            Err(Failure(problem)) => return Some(Entry::Unreadable(problem)),
        };
        match &self.place.agent.form {
            Form::File(file) => {
                self.entry_of_file(file, Format::from_path(&path).unwrap_or_default(), &text)
            }
            Form::Programs => None,
            Form::Plugin => {
                let Whose::Own(own) = whose_plugin(self.place.agent, &text) else {
                    return None;
                };
                let is_edited = !is_whole_plugin(self.place.agent, &own, &text);
                let edits = is_edited.then(|| "it isn't as this hookwire writes it".to_string());
                Some(self.asks(vec![own], Vec::new(), edits.into_iter().collect()))
            }
        }
    }

    /// What in the agent's configuration speaks of hookwire and isn't hookwire's own: it is a
    /// person's, or it came with a clone.
    pub(super) fn spoken(&self) -> Vec<String> {
        let agent = self.place.agent;
        let Ok(path) = self.path() else {
            return Vec::new();
        };
        let texts = |path: &Path| read_file(path).ok().flatten();
        let spoken = |whose: Whose| match whose {
            Whose::Speaks(text) => Some(text),
            Whose::Own(_) | Whose::Others => None,
        };
        match &agent.form {
            Form::File(_) => {
                let settings = texts(&path)
                    .map(|text| value_of(&text, Format::from_path(&path).unwrap_or_default()));
                settings
                    .and_then(Result::ok)
                    .map(|settings| spoken_by(agent, &settings))
                    .unwrap_or_default()
            }
            Form::Plugin => texts(&path)
                .and_then(|text| spoken(whose_plugin(agent, &text)))
                .into_iter()
                .collect(),
            Form::Programs => {
                let programs = events_of(agent)
                    .into_iter()
                    .filter_map(|event| texts(&path.join(event)));
                programs
                    .filter_map(|text| spoken(whose_program(agent, &text)))
                    .collect()
            }
        }
    }

    /// What the programs in a directory are to hookwire that are there, each with its event.
    fn own_programs(&self, dir: &Path) -> Vec<(&'static str, Own)> {
        events_of(self.place.agent)
            .into_iter()
            .filter_map(|event| {
                match whose_program(self.place.agent, &read_file(&dir.join(event)).ok()??) {
                    Whose::Own(own) => Some((event, own)),
                    Whose::Speaks(_) | Whose::Others => None,
                }
            })
            .collect()
    }

    fn entry_of_programs(&self, dir: &Path) -> Option<Entry> {
        let own = self.own_programs(dir);
        let missing = events_of(self.place.agent)
            .into_iter()
            .filter(|event| !own.iter().any(|(it, _)| it == event))
            .collect();
        let gate = own.iter().find(|(event, _)| *event == "PreToolUse");
        let edits = gate
            .filter(|(event, _)| {
                !std::fs::metadata(dir.join(event))
                    .is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
            })
            .map(|(event, _)| format!("its {event} can't be executed"));
        let commands = gate.map(|(_, own)| own.clone()).into_iter().collect();
        (!own.is_empty()).then(|| self.asks(commands, missing, edits.into_iter().collect()))
    }

    fn entry_of_file(&self, file: &HookFile, format: Format, text: &str) -> Option<Entry> {
        let settings = match value_of(text, format) {
            Ok(settings) => settings,
            Err(Failure(problem)) => return Some(Entry::Unreadable(problem)),
        };
        let hooks = &settings[&file.at];
        let is_fit = if file.event.is_some() {
            hooks.is_array()
        } else {
            hooks.is_object()
        };
        for (is_wrong, what) in [
            (!settings.is_object(), "it isn't a JSON object"),
            (!hooks.is_null() && !is_fit, &not_so(file)),
        ] {
            if is_wrong {
                return Some(Entry::Unreadable(what.to_string()));
            }
        }
        // Each handler of ours with its group; where there are no groups, it is its own.
        let ours = |event: &str| -> Vec<(Value, Value)> {
            let groups = listed_in(file, hooks, event);
            let all =
                groups.flat_map(|group| handlers_of(group).into_iter().map(move |it| (group, it)));
            let own = all.filter(|(_, handler)| has_own(self.place.agent, file, handler));
            own.map(|(group, handler)| (group.clone(), handler.clone()))
                .collect()
        };
        let asked = events_of(self.place.agent);
        let missing: Vec<&str> = asked
            .iter()
            .copied()
            .filter(|event| ours(event).is_empty())
            .collect();
        let gates = dialect_of(self.place.agent)?
            .row("PreToolUse")
            .map(|row| ours(row.name))
            .unwrap_or_default();
        let commands = gates
            .iter()
            .filter_map(|(_, handler)| own_entry(self.place.agent, &file.command_in(handler)))
            .collect();
        let edits = gates
            .iter()
            .flat_map(|(group, handler)| describe_edits(file, group, handler))
            .collect();
        let by_shell = gates
            .iter()
            .any(|(_, handler)| self.needs_no_shell(file, handler));
        let unread = gates
            .iter()
            .any(|(_, handler)| file.arguments_in(handler).is_some())
            .then(|| reader_of(self.place.agent))
            .flatten();
        (missing.len() < asked.len()).then(|| match self.asks(commands, missing, edits) {
            Entry::Asks {
                commands,
                missing,
                edits,
                mut remarks,
            } => {
                remarks.extend(by_shell.then(|| self.tell_shell()));
                remarks.extend(unread.map(|reader| self.tell_unread(reader)));
                Entry::Asks {
                    commands,
                    missing,
                    edits,
                    remarks,
                }
            }
            unreadable @ Entry::Unreadable(_) => unreadable,
        })
    }

    /// Whether a shell starts an entry that could do without.
    fn needs_no_shell(&self, file: &HookFile, handler: &Value) -> bool {
        let Some(form) = &file.exec_form else {
            return false;
        };
        let own = own_entry(self.place.agent, &file.command_in(handler));
        file.arguments_in(handler).is_none()
            && own.is_some_and(|own| !own.is_shared())
            && all_take(form, self.place.agent)
    }

    fn tell_unread(&self, reader: &Agent) -> String {
        let user = if self.place.user { " --user" } else { "" };
        let title = &reader.title;
        format!(
            "{title} runs it, too, and starts it without its arguments, so each of its calls is denied: `hookwire install {}{user}` \
             writes one for both",
            self.place.agent.name
        )
    }

    fn tell_shell(&self) -> String {
        let user = if self.place.user { " --user" } else { "" };
        format!(
            "a shell starts its command, which variables and the shell's start files can replace: `hookwire install {}{user}` \
             writes one that no shell starts",
            self.place.agent.name
        )
    }

    fn asks(
        &self,
        commands: Vec<Own>,
        missing: Vec<&'static str>,
        mut edits: Vec<String>,
    ) -> Entry {
        let mut remarks = Vec::new();
        for (unsaid, remarked) in commands.iter().map(|command| self.unsaid_words(command)) {
            edits.extend(unsaid);
            remarks.extend(remarked);
        }
        Entry::Asks {
            commands,
            missing,
            edits,
            remarks,
        }
    }

    /// The agent's place for hooks, in the project or in the user's home.
    pub(super) fn place(&self) -> &'static Place {
        self.place.agent.place(self.place.user)
    }

    pub(super) fn path(&self) -> Result<PathBuf, Failure> {
        let Agent { name, title, .. } = self.place.agent;
        let Place { entry, shared, .. } = self.place();
        match &**shared
            .as_ref()
            .filter(|_| self.entry.shared || self.place.team)
            .unwrap_or(entry)
        {
            "" if self.place.user => Err(Failure(format!(
                "{title} has no hooks for all projects: leave --user out"
            ))),
            "" => Err(Failure(format!(
                "{title} has hooks for all projects of a user and no others: `hookwire install {name} --user`"
            ))),
            entry => self.path_at(entry),
        }
    }

    /// Where a path of the place leads.
    pub(super) fn path_at(&self, path: &str) -> Result<PathBuf, Failure> {
        if !self.place.user {
            return Ok(self.place.root.join(path));
        }
        self.place
            .agent
            .of_user(path)
            .ok_or_else(|| Failure("--user: you have no home directory".into()))
    }

    /// The command that the agent runs. The path is whole: an agent's PATH is often not the
    /// person's.
    fn command_words(&self, event: Option<&str>) -> Result<Vec<String>, Failure> {
        let program = match () {
            () if self.entry.shared => "hookwire".into(),
            () if self.entry.is_plain() => path_text(&lasting(Path::new(&asking_program()?))?)?,
            () => path_text(&lasting(Path::new(&own_program()?))?)?,
        };
        let mut words = vec![program, "hook".into(), self.place.agent.name.into()];
        words.extend(
            event
                .into_iter()
                .flat_map(|event| ["--event".into(), event.into()]),
        );
        words.extend(self.fixed()?.into_iter().flatten());
        words.extend(self.entry.words()?);
        Ok(words)
    }

    /// What the command says of the project and of the user's places: neither where the agent goes
    /// nor what its environment says must change who judges.
    fn fixed(&self) -> Result<Vec<[String; 2]>, Failure> {
        if self.entry.shared {
            return Ok(Vec::new());
        }
        let root = if self.place.user {
            None
        } else {
            Some(self.place.root.canonicalize()?)
        };
        let root = root.into_iter().map(|root| ("--root", root));
        let places = places::all()
            .to_args()
            .map(|(flag, place)| (flag, place.to_path_buf()));
        root.chain(places)
            .map(|(flag, path)| Ok([flag.to_string(), path_text(&path)?]))
            .collect()
    }

    fn command_line(&self, event: Option<&str>) -> Result<String, Failure> {
        Ok(shell_word::command(
            self.command_words(event)?.iter().map(String::as_str),
        ))
    }

    /// The command at an event of the agent's, by its name.
    fn command_at(&self, event: &str, is_named: bool) -> Result<String, Failure> {
        let command = self.command_line(is_named.then_some(event))?;
        Ok(match self.otherwise(event) {
            Some(otherwise) => format!("{command}{OTHERWISE}{otherwise}"),
            None => command,
        })
    }

    /// Whether the command is to deny when hookwire is missing. On a person's own machine nobody
    /// else is stopped by it.
    fn is_required(&self) -> bool {
        self.entry.require
            || self.entry.missing == Some(Missing::Stop)
            || self.place.user && self.place.agent.package.is_some()
    }

    /// What becomes of people who haven't got hookwire, and what else the entry could say.
    fn tell_teammates(&self) -> String {
        let Agent { title, name, .. } = self.place.agent;
        let without = format!("Without hookwire, {title}");
        match self.entry.missing {
            _ if self.is_required() => format!("{without} acts no more."),
            Some(Missing::Tell) => {
                format!("{without} runs each call, and says that it is unguarded.")
            }
            _ => {
                let does = match &*self.place.agent.missing {
                    "" => format!(
                        ": a tool call {}, by its description",
                        self.place.agent.gone
                    ),
                    seen => format!(" {seen}"),
                };
                format!(
                    "{without}{does}: `hookwire install {name} --shared --missing stop` has it act no more, `--missing tell` has it \
                     go on and say that it is unguarded."
                )
            }
        }
    }

    /// What the command says when it doesn't end as hookwire does, if it is to.
    fn otherwise(&self, event: &str) -> Option<String> {
        match self.entry.missing {
            Some(Missing::Tell) => Some(missing_told(self.place.agent, event)),
            _ if self.is_required() => otherwise_said(self.place.agent, event),
            _ => None,
        }
    }

    /// What of that a command lacks, and what it says otherwise. One that teams share says nothing
    /// of it.
    fn unsaid_words(&self, command: &Own) -> (Vec<String>, Vec<String>) {
        let (mut edits, mut remarks) = (Vec::new(), Vec::new());
        if command.is_shared() {
            return (edits, remarks);
        }
        for [flag, value] in self.fixed().unwrap_or_default() {
            let mut said = command.flag_values(&flag);
            if command.flag_values(&flag).any(|it| it == value) {
                continue;
            }
            match (&*flag, said.next()) {
                // Committed in one checkout, and read in another.
                ("--root", Some(other)) if Path::new(other).is_dir() => remarks.push(format!(
                    "its command names another root, so the hooks of {other} judge here; `hookwire install {} --shared` \
                     writes one that fits every checkout",
                    self.place.agent.name
                )),
                ("--root", Some(other)) => edits.push(format!("its command names the root {other}, which isn't there")),
                ("--root", None) => edits.push(format!(
                    "its command doesn't say `{flag} {value}`: the project's hooks don't judge where the agent leaves its \
                     directory"
                )),
                _ => edits.push(format!(
                    "its command doesn't say `{flag} {value}`: the agent's environment decides whether hooks there are in \
                     force"
                )),
            }
        }
        (edits, remarks)
    }

    fn plan_changes(&self, install: bool) -> Result<Vec<Change>, Failure> {
        let path = self.path()?;
        let agent = self.place.agent;
        if install && self.entry.status_line {
            self.check_status_line()?;
        }
        let Some(file) = agent.file() else {
            return match agent.form {
                Form::Programs => self.program_changes(&path, install),
                Form::File(_) | Form::Plugin => Ok(vec![self.plugin_change(path, install)?]),
            };
        };
        let kind = if file.own.is_some() {
            Kind::Own
        } else {
            Kind::Settings
        };
        let text = read_file(&path)?;
        let format = Format::from_path(&path).unwrap_or_default();
        let problem = |Failure(problem)| {
            Failure(format!(
                "{}: {problem}; nothing was written",
                path.display()
            ))
        };
        let is_own_link = kind == Kind::Own && is_link(&path);
        let settings = match text.as_deref().filter(|text| !text.trim().is_empty()) {
            Some(text) if is_own_link => value_of(text, format).unwrap_or_default(),
            Some(text) => value_of(text, format).map_err(problem)?,
            None => Value::Null,
        };
        let shows_own = agent
            .status_line
            .as_ref()
            .is_some_and(|member| is_own_line(&settings[member]));
        let had_own =
            shows_own || listed_values(file, &settings).any(|value| has_own(agent, file, value));
        // What a link leads to that may have come with a clone is nobody's to change.
        let before = text.filter(|_| !install || !is_own_link);
        let after = match self
            .find_restored(&path, before.as_deref(), kind)
            .filter(|_| !install)
        {
            _ if !install && !had_own => before.clone(),
            Some(Before::Nothing) => None,
            Some(Before::Text(text)) => Some(text),
            None => self
                .change_settings(file, format, before.as_deref(), install)
                .map_err(problem)?,
        };
        let commands = match (&after, install) {
            (Some(after), true) => {
                let settings = value_of(after, format).map_err(problem)?;
                let handlers = listed_values(file, &settings).flat_map(|group| handlers_of(group));
                handlers
                    .filter_map(|handler| own_entry(agent, &file.command_in(handler)))
                    .map(|own| own.line())
                    .collect()
            }
            _ => Vec::new(),
        };
        Ok(vec![Change {
            path,
            before,
            after,
            commands,
            had_own,
            kind,
        }])
    }

    /// What was there before hookwire wrote the file, if it is as it was written then.
    fn find_restored(&self, path: &Path, text: Option<&str>, kind: Kind) -> Option<Before> {
        let path = if kind == Kind::Settings {
            kept::real_path(path)?
        } else {
            path.to_path_buf()
        };
        Kept::of_file(&path)?.text_before(text?)
    }

    /// The programs in a directory, one an event.
    fn program_changes(&self, dir: &Path, install: bool) -> Result<Vec<Change>, Failure> {
        let agent = self.place.agent;
        let mut changes = Vec::new();
        for event in events_of(agent) {
            let path = dir.join(event);
            let before = read_file(&path)?;
            let whose = before.as_deref().map(|text| whose_program(agent, text));
            let had_own = matches!(whose, Some(Whose::Own(_)));
            if install && before.is_some() && !had_own {
                return Err(Failure(format!(
                    "{}: another hook is there, and {} runs one program an event; call hookwire in it: {}",
                    path.display(),
                    agent.name,
                    self.command_line(Some(event))?
                )));
            }
            let after = match install {
                true => {
                    // A shell that has something to say afterwards stays.
                    let exec = if self.otherwise(event).is_some() {
                        ""
                    } else {
                        "exec "
                    };
                    Some(format!(
                        "#!/bin/sh\n{exec}{}\n",
                        self.command_at(event, true)?
                    ))
                }
                false if had_own => None,
                false => before.clone(),
            };
            let commands = if install {
                vec![self.command_line(Some(event))?]
            } else {
                Vec::new()
            };
            changes.push(Change {
                path,
                before,
                after,
                commands,
                had_own,
                kind: Kind::Program,
            });
        }
        Ok(changes)
    }

    /// The plug-in, which is a file of hookwire's alone.
    fn plugin_change(&self, path: PathBuf, install: bool) -> Result<Change, Failure> {
        if install && self.entry.missing == Some(Missing::Tell) {
            return Err(Failure(format!(
                "--missing tell: {}'s plug-in always stops without hookwire; nothing was written",
                self.place.agent.title
            )));
        }
        let text = read_file(&path)?;
        let whose = text
            .as_deref()
            .map(|text| whose_plugin(self.place.agent, text));
        let had_own = matches!(whose, Some(Whose::Own(_)));
        let before = text.filter(|_| !install || !is_link(&path));
        if install && before.is_some() && !had_own {
            return Err(Failure(format!(
                "{}: another plug-in is there, and hookwire's has this name; nothing was written",
                path.display()
            )));
        }
        let words = self.command_words(None)?;
        let (after, commands) = match install {
            true => (
                Some(plugin_with(self.place.agent, &words)),
                vec![self.command_line(None)?],
            ),
            false if had_own => (None, Vec::new()),
            false => (before.clone(), Vec::new()),
        };
        Ok(Change {
            path,
            before,
            after,
            commands,
            had_own,
            kind: Kind::Own,
        })
    }

    /// The settings with our entries, or without them; all else stays as it is written. Nothing if
    /// hookwire has made the file and nothing else is in it.
    fn change_settings(
        &self,
        file: &HookFile,
        format: Format,
        before: Option<&str>,
        install: bool,
    ) -> Result<Option<String>, Failure> {
        let empty = match &file.own {
            Some(own) => serde_json::to_string_pretty(own)?,
            None if format == Format::Json => "{}\n".into(),
            None => String::new(),
        };
        let text = before
            .filter(|text| !text.trim().is_empty())
            .unwrap_or(&empty);
        let settings = value_of(text, format)?;
        if !settings.is_object() {
            return Err(Failure("it isn't a JSON object".into()));
        }
        let entry = |event| Ok((event, self.entry_handlers(file, event)?));
        let entries = events_of(self.place.agent)
            .into_iter()
            .map(entry)
            .collect::<Result<Vec<_>, Failure>>()?;
        let wanted = |(event, entry): &(&str, Value)| {
            listed_in(file, &settings[&file.at], event)
                .filter(|it| has_own(self.place.agent, file, it))
                .eq([entry])
        };
        let beside = file.own.as_ref().unwrap_or(&file.beside);
        let lacks = |settings: &Value| {
            beside
                .iter()
                .find(|(key, _)| settings.get(key.as_str()).is_none())
        };
        let line = self.place.agent.status_line.as_deref();
        let shows = line.filter(|_| install && self.entry.status_line);
        let shows = shows
            .map(|member| Ok::<_, Failure>((member, self.status_line()?)))
            .transpose()?;
        let is_shown = shows
            .as_ref()
            .is_none_or(|(member, line)| settings[*member] == *line);
        if install && entries.iter().all(wanted) && lacks(&settings).is_none() && is_shown {
            return Ok(before.map(str::to_string));
        }
        let cannot =
            || Failure("it can't be changed without changing more than our entries".into());
        let mut after = rewritten(
            text,
            format,
            &plan_removals(self.place.agent, file, &settings),
        )
        .ok_or_else(cannot)?;
        let kept = self
            .path()
            .ok()
            .and_then(|path| Kept::of_file(&kept::real_path(&path)?));
        let added = kept
            .as_ref()
            .filter(|_| !install)
            .map(|kept| added_members(kept, file, format))
            .unwrap_or_default();
        for key in added
            .iter()
            .filter(|key| settings.get(key.as_str()).is_some())
        {
            after = rewritten(&after, format, &[(vec![Step::Key(key)], Op::Remove)])
                .ok_or_else(cannot)?;
        }
        if let Some(member) = line.filter(|it| !install && is_own_line(&settings[*it])) {
            after = rewritten(&after, format, &[(vec![Step::Key(member)], Op::Remove)])
                .ok_or_else(cannot)?;
        }
        if let Some((member, line)) = shows.filter(|_| !is_shown) {
            let op = Op::Set(line, At::End);
            after =
                rewritten(&after, format, &[(vec![Step::Key(member)], op)]).ok_or_else(cannot)?;
        }
        if let Some((key, value)) = lacks(&settings).filter(|_| install) {
            let op = Op::Set(value.clone(), At::End);
            after = rewritten(&after, format, &[(vec![Step::Key(key)], op)]).ok_or_else(cannot)?;
        }
        let mut now = value_of(&after, format)?;
        let entries = if install { &*entries } else { &[] };
        let ops = plan_additions(file, &mut now, entries)?;
        let after = rewritten(&after, format, &ops).ok_or_else(cannot)?;
        let left = value_of(&after, format)?;
        // What the file must have says nothing by itself.
        let is_empty = left.as_object().is_none_or(|left| {
            !left
                .iter()
                .any(|(key, value)| beside.get(key) != Some(value))
        }) && !has_comment(&after, format);
        let is_made = file.own.is_some() || kept.is_some_and(|kept| kept.is_created());
        Ok((install || !is_empty || !is_made).then_some(after))
    }

    /// What has the agent show hookwire's line.
    fn status_line(&self) -> Result<Value, Failure> {
        let mut words = vec![path_text(&lasting(Path::new(&own_program()?))?)?];
        words.extend(STATUS_LINE.map(String::from));
        if !self.place.user {
            words.extend([
                "--root".into(),
                path_text(&self.place.root.canonicalize()?)?,
            ]);
        }
        let command = shell_word::command(words.iter().map(String::as_str));
        Ok(json!({ "type": "command", "command": command }))
    }

    /// Whether hookwire's status line would take the place of nobody's.
    fn check_status_line(&self) -> Result<(), Failure> {
        let agent = self.place.agent;
        let Some(member) = &agent.status_line else {
            return Err(Failure(format!(
                "--status-line: no status line of {} is known; nothing was written",
                agent.title
            )));
        };
        let project = agent.place(false).hooks.iter();
        let project = project.map(|it| self.place.root.join(it));
        let users = agent.place(true).hooks.iter();
        let users = users.filter_map(|it| agent.of_user(it));
        for path in project.filter(|_| !self.place.user).chain(users) {
            let Some(text) = read_file(&path)?.filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            let problem = |what: &str| {
                Failure(format!(
                    "--status-line: {}: {what}; nothing was written",
                    path.display()
                ))
            };
            let settings = value_of(&text, Format::from_path(&path).unwrap_or_default())
                .map_err(|Failure(what)| problem(&what))?;
            let line = &settings[member];
            if !line.is_null() && !is_own_line(line) {
                return Err(problem(
                    "a status line of your own is there; it can run `hookwire host status --line`, too",
                ));
            }
        }
        Ok(())
    }

    /// Our entry of an event.
    fn entry_handlers(&self, file: &HookFile, event: &str) -> Result<Value, Failure> {
        let started = match &file.exec_form {
            Some(form) if self.is_started_directly(form, event) => {
                let event = file.names_event.then_some(event);
                Started::Program(self.command_words(event)?)
            }
            _ => Started::Shell(self.command_at(event, file.names_event)?),
        };
        let handler = write_handler(file, event, self.entry.timeout(), &started);
        Ok(if file.groups(event) {
            json!({ "hooks": [handler] })
        } else {
            handler
        })
    }

    /// Whether an entry names the program and its arguments, so that no shell stands between, which
    /// variables and start files could replace. What a shell is to say needs one. Which version the
    /// others of a team have isn't known.
    fn is_started_directly(&self, form: &ExecForm, event: &str) -> bool {
        !self.entry.shared && self.otherwise(event).is_none() && all_take(form, self.place.agent)
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

    /// Shows and makes the changes; how many there are.
    fn carry_out(
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

/// What takes our handlers out, and what is empty then. The last ones go first: the others keep
/// their positions.
pub(super) fn plan_removals<'s>(
    agent: &Agent,
    file: &'s HookFile,
    settings: &'s Value,
) -> Vec<(Vec<Step<'s>>, Op<'s>)> {
    let hooks = &settings[&file.at];
    let at = vec![Step::Key(&file.at)];
    let (mut removed, mut n_left) = (Vec::new(), 0);
    let lists = match &file.event {
        Some(_) => vec![(at.clone(), hooks)],
        None => hooks
            .as_object()
            .into_iter()
            .flatten()
            .map(|(event, it)| (vec![at[0], Step::Key(event)], it))
            .collect(),
    };
    for (path, groups) in lists {
        let groups = groups.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut n_others = groups.len();
        for (n, group) in groups
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, group)| has_own(agent, file, group))
        {
            let place = [&path[..], &[Step::Index(n)]].concat();
            let handlers = group["hooks"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            if handlers.iter().all(|handler| has_own(agent, file, handler)) {
                n_others -= 1;
                removed.push((place, Op::Remove));
                continue;
            }
            let ours = handlers
                .iter()
                .enumerate()
                .rev()
                .filter(|(_, handler)| has_own(agent, file, handler));
            removed.extend(ours.map(|(m, _)| {
                (
                    [&place[..], &[Step::Key("hooks"), Step::Index(m)]].concat(),
                    Op::Remove,
                )
            }));
        }
        match n_others {
            0 if !groups.is_empty() && path.len() > 1 => removed.push((path, Op::Remove)),
            0 if !groups.is_empty() => {}
            _ => n_left += 1,
        }
    }
    if n_left == 0 && !removed.is_empty() {
        removed.push((at, Op::Remove));
    }
    removed
}
/// What adds an entry at each of these events to the settings as they are now.
///
/// Each change is made in what the ones before it leave, and all of them at once: a large file
/// would be read three times for each event.
pub(super) fn plan_additions<'s>(
    file: &'s HookFile,
    now: &mut Value,
    entries: &[(&'s str, Value)],
) -> Result<Vec<(Vec<Step<'s>>, Op<'s>)>, Failure> {
    let mut ops = Vec::new();
    for (event, entry) in entries {
        let (at, hooks) = (Step::Key(&file.at), &mut now[&file.at]);
        let (path, list) = match &file.event {
            Some(_) => (vec![at], hooks),
            None if !hooks.is_null() && !hooks.is_object() => {
                return Err(Failure(not_so(file)));
            }
            None => (vec![at, Step::Key(event)], &mut hooks[*event]),
        };
        let op = match list {
            Value::Array(list) => {
                list.push(entry.clone());
                Op::Append(entry.clone())
            }
            Value::Null => {
                *list = json!([entry]);
                Op::Set(list.clone(), At::End)
            }
            _ if file.event.is_some() => return Err(Failure(not_so(file))),
            _ => return Err(Failure(format!("its `{}.{event}` isn't a list", file.at))),
        };
        ops.push((path, op));
    }
    Ok(ops)
}

/// What is listed for an event among the hooks of a file.
pub(super) fn listed_in<'v>(
    file: &HookFile,
    hooks: &'v Value,
    event: &str,
) -> impl Iterator<Item = &'v Value> {
    let (list, member) = match &file.event {
        Some(member) => (hooks, Some(member)),
        None => (&hooks[event], None),
    };
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .filter(move |item| member.is_none_or(|member| item[member] == *event))
}

impl EntryArgs {
    /// The words of the command.
    fn words(&self) -> Result<Vec<String>, Failure> {
        let mut words = Vec::new();
        let mut add = |flag: &str, value: String| words.extend([flag.to_string(), value]);
        for path in &self.hooks {
            let path = path
                .canonicalize()
                .map_err(|error| Failure(format!("--hooks {}: {error}", path.display())))?;
            add("--hooks", path_text(&path)?);
        }
        self.allow_host
            .iter()
            .for_each(|host| add("--allow-host", host.to_string()));
        self.model
            .iter()
            .for_each(|model| add("--model", model.to_string()));
        self.timeout.iter().for_each(|time| {
            add(
                "--timeout",
                humantime::format_duration(*time)
                    .to_string()
                    .replace(' ', ""),
            )
        });
        if let Some(socket) = &self.connect {
            add("--connect", format!("unix:{}", path_text(socket)?));
        }
        words.extend(self.live.then(|| "--live".to_string()));
        words.extend(self.observe.then(|| "--observe".to_string()));
        Ok(words)
    }

    /// Whether the small program knows all of it. It would start this one each time.
    fn is_plain(&self) -> bool {
        self.allow_host.is_empty() && self.model.is_none() && self.timeout.is_none()
    }

    /// The seconds that the agent waits.
    fn timeout(&self) -> u64 {
        seconds_within(self.timeout)
    }
}

/// The seconds that an agent waits for a hook that has this limit of its own.
pub(super) fn seconds_within(limit: Option<Duration>) -> u64 {
    limit.map_or(TIMEOUT, |time| {
        TIMEOUT.max(time.as_secs().saturating_add(LONGER))
    })
}

/// The members that `install` has added to a file which was there before, and which the file must
/// have.
fn added_members(kept: &Kept, file: &HookFile, format: Format) -> Vec<String> {
    let Some(before) = kept
        .original()
        .and_then(|text| value_of(&text, format).ok())
    else {
        return Vec::new();
    };
    file.beside
        .keys()
        .filter(|key| before.get(key.as_str()).is_none())
        .cloned()
        .collect()
}

/// Whether a status line is one that hookwire writes, with the program's whole path; another may
/// run the same for a person.
fn is_own_line(line: &Value) -> bool {
    let Some(words) = line["command"].as_str().and_then(shell_word::written) else {
        return false;
    };
    let program = words.first().map(Path::new).filter(|it| it.is_absolute());
    let name = program.and_then(|it| it.file_name());
    name.and_then(|it| it.to_str())
        .is_some_and(|name| name.starts_with("hookwire"))
        && words.get(1..4).is_some_and(|it| it == STATUS_LINE)
        && matches!(words.get(4..), Some([] | [_, _]))
}

/// What is listed for any event: groups, or handlers.
pub(super) fn listed_values<'v>(
    file: &HookFile,
    settings: &'v Value,
) -> impl Iterator<Item = &'v Value> {
    let hooks = &settings[&file.at];
    let lists: Vec<&Value> = match &file.event {
        Some(_) => vec![hooks],
        None => hooks
            .as_object()
            .into_iter()
            .flat_map(|hooks| hooks.values())
            .collect(),
    };
    lists
        .into_iter()
        .flat_map(|list| list.as_array().into_iter().flatten())
}

/// The handlers of a group; where there are no groups, it is its own.
pub(super) fn handlers_of(group: &Value) -> Vec<&Value> {
    group["hooks"]
        .as_array()
        .map_or_else(|| vec![group], |handlers| handlers.iter().collect())
}

fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink())
}

/// Says which hooks only speak of hookwire.
fn tell_left_alone(path: &Path, spoken: &[String], out: &mut Output) {
    for text in spoken {
        let line = format!(
            "{}: left alone, because it isn't hookwire's own entry: {text}",
            path.display()
        );
        let line = out.tone(Tone::Warn, &safe(&line));
        out.line(&line);
    }
}

/// How an agent starts a command.
pub(super) enum Started {
    /// By a shell, of this text.
    Shell(String),
    /// As this program with arguments.
    Program(Vec<String>),
}

/// Whether the agent that is on `PATH` is older than a version. Each agent is asked once.
fn is_older(agent: &Agent, than: &str) -> bool {
    type Versions = HashMap<&'static str, Option<[u64; 3]>>;
    static FOUND: LazyLock<Mutex<Versions>> = LazyLock::new(Mutex::default);
    let found = *FOUND
        .lock()
        .entry(agent.name)
        .or_insert_with(|| agent_version::version_on_path(agent));
    found
        .zip(agent_version::version_numbers(than))
        .is_some_and(|(found, than)| found < than)
}

/// The agent on `PATH` that runs an agent's hooks, too. It passes over arguments, and starts the
/// program without them.
fn reader_of(agent: &Agent) -> Option<&'static Agent> {
    let reads = |it: &&Agent| it.also_reads.iter().any(|name| name == agent.name);
    AGENTS
        .iter()
        .filter(reads)
        .find(|it| agent_version::on_path(&it.program).is_some())
}

/// Whether all agents here that run an agent's hooks know the form that no shell starts.
fn all_take(form: &ExecForm, agent: &Agent) -> bool {
    reader_of(agent).is_none() && !is_older(agent, &form.since)
}

/// A handler as it is written.
pub(super) fn write_handler(
    file: &HookFile,
    event: &str,
    seconds: u64,
    started: &Started,
) -> Value {
    let most = file.waits.iter().find(|(name, _)| name == event);
    let seconds = most.map_or(seconds, |(_, most)| seconds.min(*most));
    let timeout = match &file.unit {
        Unit::Seconds => seconds,
        Unit::Millis | Unit::ByAmount(_) => seconds.saturating_mul(1000),
    };
    let mut handler = Value::Object(file.handler.clone());
    if let Some(member) = &file.event {
        handler[member] = event.into();
    }
    let (command, arguments) = match started {
        Started::Shell(text) => (text.as_str(), &[][..]),
        Started::Program(words) => match words.split_first() {
            Some((program, arguments)) => (program.as_str(), arguments),
            None => ("", &[][..]),
        },
    };
    set_pointer(&mut handler, &format!("/{}", file.command), command.into());
    if let (Started::Program(_), Some(form)) = (started, &file.exec_form) {
        handler[&form.member] = arguments.into();
    }
    handler[&file.timeout] = timeout.into();
    if let Some(closed) = &file.fails_closed {
        handler[&closed.member] = closed.value.clone();
    }
    handler
}

/// Members of an entry that only say something to people.
const SAID_FOR_PEOPLE: [&str; 4] = ["name", "description", "statusMessage", "comment"];

/// What of an entry isn't as it was written, so that the agent doesn't ask or doesn't obey.
fn describe_edits(file: &HookFile, group: &Value, found: &Value) -> Vec<String> {
    let written = write_handler(file, "", TIMEOUT, &Started::Shell(String::new()));
    let narrowed = group["matcher"]
        .as_str()
        .filter(|it| !["", "*", ".*"].contains(it));
    let mut told: Vec<_> = narrowed
        .map(|it| format!("its entry is only for `{it}`"))
        .into_iter()
        .collect();
    let is_arguments = |key: &String| file.exec_form.as_ref().is_some_and(|it| it.member == *key);
    for (key, value) in found
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, value)| written[key] != **value && !is_arguments(key))
    {
        // So little time may be over before the answer is there.
        told.extend(match (key.as_str(), value) {
            ("type", kind) => Some(format!(
                "its entry has the type {kind}, which the agent passes over"
            )),
            ("async", Value::Bool(true)) => {
                Some("its entry is `async`: the agent doesn't wait for it".into())
            }
            ("if", condition) => Some(format!("its entry is under a condition: {condition}")),
            (_, limit)
                if limit.as_f64().is_some_and(|limit| {
                    written[key]
                        .as_f64()
                        .is_some_and(|written| limit < written / 6.0)
                }) =>
            {
                Some(format!(
                    "its entry is given up too early: `{key}` is {limit}"
                ))
            }
            (key, value) if written.get(key).is_none() && !SAID_FOR_PEOPLE.contains(&key) => Some(
                format!("its entry has `{key}: {value}`, and it isn't known what that changes"),
            ),
            _ => None,
        });
    }
    if let Some(closed) = file
        .fails_closed
        .as_ref()
        .filter(|fails_closed| fails_closed.value != found[&fails_closed.member])
    {
        let (member, value) = (&closed.member, &closed.value);
        told.push(format!(
            "its entry lacks `{member}: {value}`: a tool runs when hookwire is missing or killed"
        ));
    }
    told
}

fn not_so(file: &HookFile) -> String {
    let form = if file.event.is_some() {
        "a list"
    } else {
        "an object"
    };
    format!("its `{}` isn't {form}", file.at)
}

/// Shows the lines that change, those between the same beginning and the same end.
pub(super) fn show_diff(before: Option<&str>, after: Option<&str>, out: &mut Output) {
    let lines = |text: Option<&str>| -> Vec<String> {
        text.iter()
            .flat_map(|text| text.lines())
            .map(str::to_string)
            .collect()
    };
    let (before, after) = (lines(before), lines(after));
    let start = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (&before[start..], &after[start..]);
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    for (sign, tone, lines) in [('-', Tone::Bad, old), ('+', Tone::Good, new)] {
        for line in lines {
            let line = out.tone(tone, &safe(&format!("{sign} {line}")));
            out.line(&format!("  {line}"));
        }
    }
}

impl Change {
    /// Writes the file at once or not at all, and keeps a copy of it as it was; where, unless what
    /// was there before hookwire is there again.
    ///
    /// Settings may be a link into somebody's collection of them. The link stays, and what it leads
    /// to is edited, but never removed: nothing says who made it, and the link would lead nowhere.
    /// A file that is hookwire's alone takes the place of a link, and what that leads to is left as
    /// it is: the link may have come with a clone.
    ///
    /// `dirs` gets the directories that were made for the file, if it goes.
    fn write_file(
        &self,
        is_install: bool,
        dirs: &mut Vec<PathBuf>,
    ) -> std::io::Result<Option<PathBuf>> {
        let is_link = is_link(&self.path);
        let is_edited_behind_link = is_link && self.kind == Kind::Settings;
        let path = match is_edited_behind_link {
            true => self
                .path
                .canonicalize()
                .map_err(|_| Error::other("it is a link, and what it leads to isn't there"))?,
            false => self.path.clone(),
        };
        let is_replaced = is_link && !is_edited_behind_link && self.before.is_none();
        // One that leads to an entry of hookwire's isn't to come back.
        let link = if is_replaced && !self.had_own {
            Some(std::fs::read_link(&path)?)
        } else {
            None
        };
        let now = if is_replaced {
            None
        } else {
            read_file(&path).map_err(|Failure(problem)| Error::other(problem))?
        };
        if now != self.before {
            return Err(Error::other(
                "somebody has changed it meanwhile; nothing was written",
            ));
        }
        let mut kept = Kept::of_file(&path).ok_or_else(|| {
            Error::other("there is no place to keep a copy of it in: you have no home directory")
        })?;
        let dir = kept.dir().display().to_string();
        let unkept = |error| {
            Error::other(format!(
                "a copy of it can't be kept in {dir}: {}",
                in_words(&error)
            ))
        };
        let after = self
            .after
            .as_deref()
            .or(is_edited_behind_link.then_some("{}\n"));
        if is_install {
            let after = after.unwrap_or_default();
            let copy = kept
                .note_install(
                    now.as_deref(),
                    self.had_own,
                    link,
                    after,
                    self.commands.clone(),
                )
                .map_err(unkept)?;
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            replace(
                &path,
                after,
                if self.kind == Kind::Program {
                    0o755
                } else {
                    0o644
                },
            )?;
            return Ok(copy);
        }
        let before = now.as_deref().and_then(|now| kept.text_before(now));
        let copy = now
            .as_deref()
            .map(|now| kept.keep_copy(now))
            .transpose()
            .map_err(unkept)?;
        match after {
            Some(after) => replace(&path, after, 0o644)?,
            None => {
                std::fs::remove_file(&path)?;
                if let Some(link) = kept.link() {
                    symlink(link, &path)?;
                }
                dirs.extend_from_slice(kept.dirs());
            }
        }
        kept.note_uninstall()?;
        Ok(copy.filter(|_| before.is_none()))
    }
}

pub(super) fn read_file(path: &Path) -> Result<Option<String>, Failure> {
    match file::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure(format!("{}: {error}", path.display()))),
    }
}

/// What settings hold.
pub(super) fn value_of(text: &str, format: Format) -> Result<Value, Failure> {
    formats::parse(text, format)
        .map(|root| root.to_json())
        .map_err(|problems| {
            let first = problems.into_iter().next().map(|problem| {
                let Position { line, column } = LineIndex::new(text).position(problem.span.start);
                format!("line {line}, column {column}: {}", problem.message)
            });
            Failure(first.unwrap_or_default())
        })
}

/// Whether settings without a member may hold a person's remarks.
fn has_comment(text: &str, format: Format) -> bool {
    format == Format::Toml && !text.trim().is_empty()
}
