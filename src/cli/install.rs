//! `hookwire install AGENT` and `uninstall`: one entry of an agent's own configuration, and nothing else in it.

use super::output::{Output, Tone, safe};
use super::run::{other_version, supervisor, version_of};
use super::{Failure, Finding, agent, project};
use crate::agents::{Agent, Form, HookFile, Place, Unit};
use crate::definitions::approved::{self, DEFINITIONS};
use crate::dialects::asked::{Moment, refusal};
use crate::dialects::{self, Dialect};
use crate::event::{Phase, set_pointer, spec};
use crate::handlers::HostPort;
use crate::services::models::ModelRef;
use crate::support::amounts::number_of;
use crate::support::file;
use crate::support::file::replace;
use crate::support::{places, shell_word};
use crate::syntax::diagnostic::{LineIndex, Position};
use crate::syntax::formats::{self, Format};
use crate::syntax::node::Step;
use crate::syntax::problem::Problem;
use crate::syntax::writer::{At, Op, rewritten};
use serde_json::{Value, json};
use std::io::{Error, ErrorKind, Write};
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
    /// The agent.
    #[arg(value_parser = agent())]
    agent: &'static Agent,
    /// Guard all projects of this user. Otherwise this project.
    #[arg(long)]
    user: bool,
    /// Guard this project; so it is without --user.
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// The project root; else the nearest directory upwards that is a project's.
    #[arg(long, value_name = "DIR", default_value_os_t = project(), hide_default_value = true)]
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
    /// Have edits of the project's own definitions in force at once, without `hookwire trust`: for whoever writes them.
    #[arg(long)]
    live: bool,
    /// Write an entry that a team can commit: `hookwire` as it is found on PATH, and no path of this machine.
    #[arg(long, conflicts_with_all = ["user", "live", "hooks", "user_dir", "data_dir"])]
    shared: bool,
    /// Deny also where hookwire is missing or killed, for agents that go on then. With --user it is so for those that
    /// hookwire was tried with; in a file that is shared it stops whoever hasn't got hookwire.
    #[arg(long)]
    require: bool,
    /// Judge by these definitions too, a directory or a file; may be given several times. To name it is to trust it.
    #[arg(long, value_name = "PATH")]
    hooks: Vec<PathBuf>,
    /// A host:port that http hooks and models may reach although it is not on the public internet.
    #[arg(long, value_name = "HOST:PORT")]
    allow_host: Vec<HostPort>,
    /// The model for hooks that ask one without naming it, such as anthropic:claude-haiku-4-5.
    #[arg(long, value_name = "PROVIDER:NAME")]
    model: Option<ModelRef>,
    /// How long an event may take; the agent waits a little longer. Without it, 50s.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    time_limit: Option<Duration>,
    /// Have the host asked that listens on this socket, and no other: one beside the agent's container.
    #[arg(long, value_name = "unix:PATH", value_parser = hookwire_ask::socket::named)]
    #[arg(conflicts_with_all = ["live", "hooks", "allow_host", "model"])]
    connect: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(super) struct UninstallArgs {
    #[command(flatten)]
    place: PlaceOfEntry,
}

/// Seconds that an agent waits for the hook, at least, and how much longer than the hook's own limit.
const TIMEOUT: u64 = 60;
const LONGER: u64 = 10;

/// What stands between the command and what is said if that doesn't end as hookwire does.
const OTHERWISE: &str = " || ";

/// The line of a plug-in that names the command.
const COMMAND: &str = "const COMMAND = ";

/// What an agent's configuration has of hookwire.
pub(super) enum Entry {
    /// The file can't be read; why.
    Unreadable(String),
    /// It asks, as far as it does.
    Asks {
        /// What the agent runs before a tool call.
        commands: Vec<String>,
        /// The command lines of hookwire in them.
        lines: Vec<String>,
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
    /// What is there that isn't hookwire's.
    others: Option<String>,
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

impl Agent {
    /// Its vocabulary.
    pub(super) fn dialect(&self) -> Option<&'static Dialect> {
        dialects::by_name(self.name).ok()
    }

    /// The events at which it asks hookwire.
    fn events(&self) -> Vec<&'static str> {
        self.dialect().map(Dialect::asked_events).unwrap_or_default()
    }

    /// Whether a command is the one that is installed for it.
    pub(super) fn is_its_command(&self, command: &str) -> bool {
        // A program of another name is known by its path; the small one has no other.
        let is_this = || program().is_ok_and(|program| command.starts_with(&shell_word::program(&program)));
        command.contains(&format!(" hook {}", self.name)) && (command.contains("hookwire") || is_this())
    }

    /// Whether a program that it runs for an event is the one that is installed for it.
    fn is_its_program(&self, text: &str) -> bool {
        text.contains(&format!(" hook {}", self.name))
    }

    /// The programs of the user's in a directory of an agent that runs one an event: each event with its file.
    pub(super) fn programs(&self, dir: &Path) -> Option<Vec<(&'static str, PathBuf)>> {
        if !matches!(self.form, Form::Programs) {
            return None;
        }
        let is_own = |path: &Path| read(path).is_ok_and(|text| text.is_some_and(|text| !self.is_its_program(&text)));
        let programs = self.events().into_iter().map(|event| (event, dir.join(event)));
        Some(programs.filter(|(_, path)| is_own(path)).collect())
    }
}

pub(super) fn install(args: &InstallArgs, out: &mut Output) -> Result<Finding, Failure> {
    let InstallArgs { place, entry } = args;
    let changes = args.changes(true)?;
    let n_changed = place.carry_out(&changes, true, out)?;
    let (name, n_events) = (place.agent.name, number_of(place.agent.events().len(), "event"));
    let (command, path) = (args.command(None)?, args.path()?);
    if out.json {
        out.json(&json!({ "agent": name, "events": place.agent.events(), "command": command, "file": path,
            "changed": n_changed > 0 && !place.dry_run }));
        return Ok(Finding::Fine);
    }
    if n_changed == 0 {
        out.line(&format!("{name} is guarded already."));
        return Ok(Finding::Fine);
    }
    out.line(&format!("{n_events} of {name} -> {command}, in {}", path.display()));
    if place.dry_run {
        return Ok(Finding::Fine);
    }
    if let Some((_, Some(problem))) = BESIDE.as_ref().filter(|_| !entry.shared) {
        let problem = out.tone(Tone::Warn, &safe(problem));
        out.line(&problem);
    }
    if let Some(source) = &place.agent.by_description {
        out.line(&format!("hookwire was not tried with {}. It goes by {source}.", place.agent.title));
    }
    let user = if place.user { " --user" } else { "" };
    out.line(&format!("{} `hookwire uninstall {name}{user}` takes it back.", place.agent.then));
    if place.agent.goes_on_without() && !args.is_required() {
        out.line(&format!(
            "Where hookwire is missing or killed, {} goes on: `hookwire install {name}{user} --require` denies then.",
            place.agent.title
        ));
    }
    let definitions = place.root.join(DEFINITIONS);
    if !place.user && !definitions.is_dir() {
        out.line("There are no hooks yet: `hookwire init` writes a starter, `hookwire init --list` shows ready ones.");
    } else if definitions.is_dir() && !entry.live && !approved::is_approved(&place.root) {
        out.line(
            "Nobody has trusted the hooks of this project yet: `hookwire trust` shows them and puts them in force.",
        );
    }
    Ok(Finding::Fine)
}

pub(super) fn uninstall(UninstallArgs { place }: &UninstallArgs, out: &mut Output) -> Result<Finding, Failure> {
    let mut n_changed = 0;
    for args in InstallArgs::each(place.agent, &place.root).iter().filter(|it| it.place.user == place.user) {
        let n = place.carry_out(&args.changes(false)?, false, out)?;
        if out.json {
            let changed = n > 0 && !place.dry_run;
            out.json(&json!({ "agent": place.agent.name, "file": args.path()?, "changed": changed }));
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

impl UninstallArgs {
    pub(super) fn root(&self) -> &Path {
        &self.place.root
    }
}

impl InstallArgs {
    pub(super) fn root(&self) -> &Path {
        &self.place.root
    }

    /// As if they were given so.
    pub(super) fn of(agent: &'static Agent, user: bool, root: &Path) -> InstallArgs {
        let place = PlaceOfEntry { agent, user, project: !user, root: root.to_path_buf(), dry_run: true, team: false };
        InstallArgs { place, entry: EntryArgs::default() }
    }

    /// As if they were given for each place where the agent may have an entry: a person's own in this project, a team's, and
    /// the one for all projects.
    pub(super) fn each(agent: &'static Agent, root: &Path) -> Vec<InstallArgs> {
        let mut team = InstallArgs::of(agent, false, root);
        team.place.team = true;
        let team = agent.place(false).shared.as_ref().map(|_| team);
        [InstallArgs::of(agent, false, root)]
            .into_iter()
            .chain(team)
            .chain([InstallArgs::of(agent, true, root)])
            .collect()
    }

    pub(super) fn agent(&self) -> &'static Agent {
        self.place.agent
    }

    /// What the agent's configuration has of hookwire, if anything.
    pub(super) fn entry(&self) -> Option<Entry> {
        let path = self.path().ok()?;
        let text = match read(&path) {
            _ if matches!(self.place.agent.form, Form::Programs) => return self.entry_of_programs(&path),
            Ok(text) => text?,
            Err(Failure(problem)) => return Some(Entry::Unreadable(problem)),
        };
        match &self.place.agent.form {
            Form::File(file) => self.entry_of_file(file, Format::from_path(&path).unwrap_or_default(), &text),
            Form::Programs => None,
            Form::Plugin => {
                let words = text.lines().find_map(|line| line.strip_prefix(COMMAND)?.strip_suffix(';'))?;
                let words: Vec<String> = serde_json::from_str(words).ok()?;
                let command = shell_word::command(words.iter().map(String::as_str));
                Some(self.asks(vec![command], Vec::new(), Vec::new()))
            }
        }
    }

    fn entry_of_programs(&self, dir: &Path) -> Option<Entry> {
        let is_ours = |event: &&str| {
            let text = read(&dir.join(event)).ok().flatten();
            text.is_some_and(|text| self.place.agent.is_its_program(&text))
        };
        let (asked, missing): (Vec<&str>, Vec<&str>) = self.place.agent.events().into_iter().partition(is_ours);
        let gate = asked.contains(&"PreToolUse").then(|| dir.join("PreToolUse"));
        let text = gate.as_deref().and_then(|gate| read(gate).ok().flatten());
        let is_command = |line: &&str| self.place.agent.is_its_program(line);
        let command = text.as_deref().and_then(|text| text.lines().find(is_command));
        let command = command.map(|line| line.strip_prefix("exec ").unwrap_or(line));
        let (edits, remarks) = command.map(|command| self.unsaid(command)).unwrap_or_default();
        let commands = gate.iter().map(|gate| shell_word::program(&gate.to_string_lossy())).collect();
        let lines = command.map(str::to_string).into_iter().collect();
        (!asked.is_empty()).then_some(Entry::Asks { commands, lines, missing, edits, remarks })
    }

    fn entry_of_file(&self, file: &HookFile, format: Format, text: &str) -> Option<Entry> {
        let settings = match value_of(text, format) {
            Ok(settings) => settings,
            Err(Failure(problem)) => return Some(Entry::Unreadable(problem)),
        };
        let hooks = &settings[&file.at];
        let is_fit = if file.event.is_some() { hooks.is_array() } else { hooks.is_object() };
        for (is_wrong, what) in
            [(!settings.is_object(), "it isn't a JSON object"), (!hooks.is_null() && !is_fit, &not_so(file))]
        {
            if is_wrong {
                return Some(Entry::Unreadable(what.to_string()));
            }
        }
        // Each handler of ours with its group; where there are no groups, it is its own.
        let ours = |event: &str| -> Vec<(Value, Value)> {
            let groups = file.listed(hooks, event).cloned();
            let handlers = |group: &Value| group["hooks"].as_array().cloned().unwrap_or_else(|| vec![group.clone()]);
            let all = groups.flat_map(|group| handlers(&group).into_iter().map(move |it| (group.clone(), it)));
            all.filter(|(_, handler)| self.is_ours(file, handler)).collect()
        };
        let asked = self.place.agent.events();
        let missing: Vec<&str> = asked.iter().copied().filter(|event| ours(event).is_empty()).collect();
        let gates = self.place.agent.dialect()?.row("PreToolUse").map(|row| ours(row.name)).unwrap_or_default();
        let commands: Vec<String> = gates.iter().map(|(_, handler)| file.command_in(handler).to_string()).collect();
        let edits = gates.iter().flat_map(|(group, handler)| edits(file, group, handler)).collect();
        (missing.len() < asked.len()).then(|| self.asks(commands, missing, edits))
    }

    fn asks(&self, commands: Vec<String>, missing: Vec<&'static str>, mut edits: Vec<String>) -> Entry {
        let mut remarks = Vec::new();
        for (unsaid, remarked) in commands.iter().map(|command| self.unsaid(command)) {
            edits.extend(unsaid);
            remarks.extend(remarked);
        }
        Entry::Asks { lines: commands.clone(), commands, missing, edits, remarks }
    }

    /// The agent's place for hooks, in the project or in the user's home.
    pub(super) fn place(&self) -> &'static Place {
        self.place.agent.place(self.place.user)
    }

    pub(super) fn path(&self) -> Result<PathBuf, Failure> {
        let Agent { name, title, .. } = self.place.agent;
        let Place { entry, shared, .. } = self.place();
        match &**shared.as_ref().filter(|_| self.entry.shared || self.place.team).unwrap_or(entry) {
            "" if self.place.user => Err(Failure(format!("{title} has no hooks for all projects: leave --user out"))),
            "" => Err(Failure(format!(
                "{title} has hooks for all projects of a user and no others: `hookwire install {name} --user`"
            ))),
            entry => self.at(entry),
        }
    }

    /// Where a path of the place leads.
    pub(super) fn at(&self, path: &str) -> Result<PathBuf, Failure> {
        if !self.place.user {
            return Ok(self.place.root.join(path));
        }
        self.place.agent.of_user(path).ok_or_else(|| Failure("--user: you have no home directory".into()))
    }

    /// The command that the agent runs. The path is whole: an agent's PATH is often not the person's.
    fn words(&self, event: Option<&str>) -> Result<Vec<String>, Failure> {
        let program = match () {
            () if self.entry.shared => "hookwire".into(),
            () if self.entry.is_plain() => asking_program()?,
            () => program()?,
        };
        let mut words = vec![program, "hook".into(), self.place.agent.name.into()];
        words.extend(event.into_iter().flat_map(|event| ["--event".into(), event.into()]));
        words.extend(self.fixed()?.into_iter().flatten());
        words.extend(self.entry.words()?);
        Ok(words)
    }

    /// What the command says of the project and of the user's places: neither where the agent goes nor what its
    /// environment says must change who judges.
    fn fixed(&self) -> Result<Vec<[String; 2]>, Failure> {
        if self.entry.shared {
            return Ok(Vec::new());
        }
        let root = if self.place.user { None } else { Some(self.place.root.canonicalize()?) };
        let root = root.into_iter().map(|root| ("--root", root));
        let places = places::all().to_args().map(|(flag, place)| (flag, place.to_path_buf()));
        root.chain(places).map(|(flag, path)| Ok([flag.to_string(), text(&path)?])).collect()
    }

    fn command(&self, event: Option<&str>) -> Result<String, Failure> {
        Ok(shell_word::command(self.words(event)?.iter().map(String::as_str)))
    }

    /// The command at an event of the agent's, by its name.
    fn command_at(&self, event: &str, is_named: bool) -> Result<String, Failure> {
        let command = self.command(is_named.then_some(event))?;
        Ok(match self.otherwise(event) {
            Some(otherwise) => format!("{command}{OTHERWISE}{otherwise}"),
            None => command,
        })
    }

    /// Whether the command is to deny when hookwire is missing. On a person's own machine nobody else is stopped by it.
    fn is_required(&self) -> bool {
        self.entry.require || self.place.user && self.place.agent.package.is_some()
    }

    /// What denies in a shell, in the agent's words, when the command doesn't end as hookwire does. Only what is about to
    /// happen is denied: a rest that is denied would send the agent back to work for ever.
    fn otherwise(&self, event: &str) -> Option<String> {
        let agent = self.place.agent;
        let dialect = agent.dialect().filter(|_| self.is_required() && agent.goes_on_without())?;
        let row = dialect.events.iter().find(|row| row.name == event)?;
        spec(row.canonical).filter(|spec| spec.phase == Phase::Gate && !spec.rest)?;
        let reason = refusal("its program is missing, or was killed");
        let said = dialect.refuse(&reason, &Moment { name: event.to_string(), is_unknown_gate: false });
        match said.exit {
            0 if said.stdout.is_empty() => None,
            0 => Some(format!("echo {}", shell_word::argument(&said.stdout))),
            // The shell says itself what is missing.
            no => Some(format!("exit {no}")),
        }
    }

    /// What of that a command lacks, and what it says otherwise. One that teams share says nothing of it.
    fn unsaid(&self, command: &str) -> (Vec<String>, Vec<String>) {
        let (mut edits, mut remarks) = (Vec::new(), Vec::new());
        let command = command.split_once(OTHERWISE).map_or(command, |(command, _)| command);
        let words = shell_word::words(command).unwrap_or_default();
        if words.first().is_some_and(|program| !program.contains('/')) {
            return (edits, remarks);
        }
        for [flag, value] in self.fixed().unwrap_or_default() {
            let mut said = words.windows(2).filter(|pair| pair[0] == flag).map(|pair| &pair[1]);
            if said.clone().any(|it| *it == value) {
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

    fn changes(&self, install: bool) -> Result<Vec<Change>, Failure> {
        let path = self.path()?;
        if matches!(self.place.agent.form, Form::Programs) {
            return self.programs(&path, install);
        }
        let before = read(&path)?;
        let format = Format::from_path(&path).unwrap_or_default();
        let (kind, after) = match self.place.agent.file() {
            None => (Kind::Own, install.then(|| self.plugin()).transpose()?),
            Some(file @ HookFile { own: Some(own), .. }) => {
                let bare = install.then(|| serde_json::to_string_pretty(own)).transpose()?;
                let fill = |bare: String| self.settings(file, Format::Json, Some(&bare), true);
                (Kind::Own, bare.map(fill).transpose()?.flatten())
            }
            Some(file) => {
                let after = self.settings(file, format, before.as_deref(), install).map_err(|Failure(problem)| {
                    Failure(format!("{}: {problem}; nothing was written", path.display()))
                })?;
                (Kind::Settings, after)
            }
        };
        let agent = self.place.agent;
        let names_ours =
            |text: &String| agent.is_its_program(text) || text.contains(&format!(r#""hook","{}""#, agent.name));
        let others = match (agent.file(), kind) {
            _ if !before.as_ref().is_some_and(names_ours) => before.clone(),
            (Some(file), Kind::Settings) => self.settings(file, format, before.as_deref(), false)?,
            _ => None,
        };
        Ok(vec![Change { path, before, after, others, kind }])
    }

    /// The programs in a directory, one an event.
    fn programs(&self, dir: &Path, install: bool) -> Result<Vec<Change>, Failure> {
        let agent = self.place.agent;
        let mut changes = Vec::new();
        for event in agent.events() {
            let path = dir.join(event);
            let before = read(&path)?;
            let is_ours = before.as_deref().is_none_or(|text| agent.is_its_program(text));
            if !is_ours && install {
                return Err(Failure(format!(
                    "{}: another hook is there, and {} runs one program an event; call hookwire in it: {}",
                    path.display(),
                    agent.name,
                    self.command(Some(event))?
                )));
            }
            let after = match install {
                true => {
                    // A shell that has something to say afterwards stays.
                    let exec = if self.otherwise(event).is_some() { "" } else { "exec " };
                    Some(format!("#!/bin/sh\n{exec}{}\n", self.command_at(event, true)?))
                }
                false if is_ours => None,
                false => before.clone(),
            };
            let others = before.clone().filter(|_| !is_ours);
            changes.push(Change { path, before, after, others, kind: Kind::Program });
        }
        Ok(changes)
    }

    fn plugin(&self) -> Result<String, Failure> {
        let command = self.words(None)?;
        let line = |line: &str| match line.starts_with(COMMAND) {
            true => format!("{COMMAND}{};\n", json!(command)),
            false => format!("{line}\n"),
        };
        Ok(self.place.agent.plugin.lines().map(line).collect())
    }

    /// The settings with our entries, or without them; all else stays as it is written. Nothing if they would be
    /// empty.
    fn settings(
        &self,
        file: &HookFile,
        format: Format,
        before: Option<&str>,
        install: bool,
    ) -> Result<Option<String>, Failure> {
        let empty = if format == Format::Json { "{}\n" } else { "" };
        let text = before.filter(|text| !text.trim().is_empty()).unwrap_or(empty);
        let settings = value_of(text, format)?;
        if !settings.is_object() {
            return Err(Failure("it isn't a JSON object".into()));
        }
        let entry = |event| Ok((event, self.handlers(file, event)?));
        let entries = self.place.agent.events().into_iter().map(entry).collect::<Result<Vec<_>, Failure>>()?;
        let wanted = |(event, entry): &(&str, Value)| {
            file.listed(&settings[&file.at], event).filter(|it| self.is_ours(file, it)).eq([entry])
        };
        let lacks = |settings: &Value| file.beside.iter().find(|(key, _)| settings.get(key.as_str()).is_none());
        if install && entries.iter().all(wanted) && lacks(&settings).is_none() {
            return Ok(before.map(str::to_string));
        }
        let cannot = || Failure("it can't be changed without changing more than our entries".into());
        let mut after = rewritten(text, format, &self.removals(file, &settings)).ok_or_else(cannot)?;
        for key in self.added(file, format).iter().filter(|key| !install && settings.get(key.as_str()).is_some()) {
            after = rewritten(&after, format, &[(vec![Step::Key(key)], Op::Remove)]).ok_or_else(cannot)?;
        }
        if let Some((key, value)) = lacks(&settings).filter(|_| install) {
            let op = Op::Set(value.clone(), At::End);
            after = rewritten(&after, format, &[(vec![Step::Key(key)], op)]).ok_or_else(cannot)?;
        }
        for (event, entry) in entries.iter().filter(|_| install) {
            let now = value_of(&after, format)?;
            let (at, hooks) = (Step::Key(&file.at), &now[&file.at]);
            let (path, list) = match &file.event {
                Some(_) => (vec![at], hooks),
                None if !hooks.is_null() && !hooks.is_object() => return Err(Failure(not_so(file))),
                None => (vec![at, Step::Key(event)], &hooks[*event]),
            };
            let op = match list {
                Value::Array(_) => Op::Append(entry.clone()),
                Value::Null => Op::Set(json!([entry]), At::End),
                _ if file.event.is_some() => return Err(Failure(not_so(file))),
                _ => return Err(Failure(format!("its `{}.{event}` isn't a list", file.at))),
            };
            after = rewritten(&after, format, &[(path, op)]).ok_or_else(cannot)?;
        }
        let left = value_of(&after, format)?;
        // What the file must have says nothing by itself.
        let is_left = |(key, value): (&String, &Value)| file.beside.get(key) != Some(value);
        let is_empty = left.as_object().is_none_or(|left| !left.iter().any(is_left)) && !has_comment(&after, format);
        let was_empty = before.is_some_and(|it| value_of(it, format).is_ok_and(|before| before == left));
        Ok((install || !is_empty || was_empty).then_some(after))
    }

    /// The members that `install` has added to a file which was there before, and which the file must have.
    fn added(&self, file: &HookFile, format: Format) -> Vec<String> {
        let kept = self.path().ok().and_then(|path| read(&beside(&path, "before-hookwire")).ok()?);
        let Some(kept) = kept.and_then(|kept| value_of(&kept, format).ok()) else { return Vec::new() };
        file.beside.keys().filter(|key| kept.get(key.as_str()).is_none()).cloned().collect()
    }

    /// Our entry of an event.
    fn handlers(&self, file: &HookFile, event: &str) -> Result<Value, Failure> {
        let handler = handler(file, event, self.entry.timeout(), &self.command_at(event, file.names_event)?);
        Ok(if file.groups(event) { json!({ "hooks": [handler] }) } else { handler })
    }

    /// Whether a group of an event, or a handler, is ours.
    fn is_ours(&self, file: &HookFile, value: &Value) -> bool {
        let is_ours = |it: &Value| self.place.agent.is_its_command(file.command_in(it));
        is_ours(value) || value["hooks"].as_array().is_some_and(|handlers| handlers.iter().any(is_ours))
    }

    /// What takes our handlers out, and what is empty then. The last ones go first: the others keep their positions.
    fn removals<'s>(&self, file: &'s HookFile, settings: &'s Value) -> Vec<(Vec<Step<'s>>, Op<'s>)> {
        let hooks = &settings[&file.at];
        let at = vec![Step::Key(&file.at)];
        let (mut removed, mut n_left) = (Vec::new(), 0);
        let lists = match &file.event {
            Some(_) => vec![(at.clone(), hooks)],
            None => {
                hooks.as_object().into_iter().flatten().map(|(event, it)| (vec![at[0], Step::Key(event)], it)).collect()
            }
        };
        for (path, groups) in lists {
            let groups = groups.as_array().map(Vec::as_slice).unwrap_or_default();
            let mut n_others = groups.len();
            for (n, group) in groups.iter().enumerate().rev().filter(|(_, group)| self.is_ours(file, group)) {
                let place = [&path[..], &[Step::Index(n)]].concat();
                let handlers = group["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
                if handlers.iter().all(|it| self.is_ours(file, it)) {
                    n_others -= 1;
                    removed.push((place, Op::Remove));
                    continue;
                }
                let ours = handlers.iter().enumerate().rev().filter(|(_, handler)| self.is_ours(file, handler));
                let within = |m| [&place[..], &[Step::Key("hooks"), Step::Index(m)]].concat();
                removed.extend(ours.map(|(m, _)| (within(m), Op::Remove)));
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
}

impl PlaceOfEntry {
    /// Shows and makes the changes; how many there are.
    fn carry_out(&self, changes: &[Change], is_install: bool, out: &mut Output) -> Result<usize, Failure> {
        let mut n_changed = 0;
        for change in changes.iter().filter(|change| change.before != change.after) {
            n_changed += 1;
            if self.dry_run {
                if !out.json {
                    out.line(&safe(&change.path.to_string_lossy()));
                    change.show(out);
                }
                continue;
            }
            let failed = |error| Failure(format!("{}: {error}", change.path.display()));
            change.write(is_install).map_err(failed)?;
            if !is_install && change.after.is_none() {
                let base = if self.user { places::home() } else { self.root.canonicalize().ok() };
                remove_empty(&change.path, base.as_deref());
            }
        }
        Ok(n_changed)
    }
}

impl HookFile {
    /// What is listed for an event among the hooks of a file.
    fn listed<'v>(&self, hooks: &'v Value, event: &str) -> impl Iterator<Item = &'v Value> {
        let (list, member) = match &self.event {
            Some(member) => (hooks, Some(member)),
            None => (&hooks[event], None),
        };
        let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().filter(move |it| member.is_none_or(|member| it[member] == *event))
    }
}

impl EntryArgs {
    /// The words of the command.
    fn words(&self) -> Result<Vec<String>, Failure> {
        let mut words = Vec::new();
        let mut add = |flag: &str, value: String| words.extend([flag.to_string(), value]);
        for path in &self.hooks {
            let path = path.canonicalize().map_err(|error| Failure(format!("--hooks {}: {error}", path.display())))?;
            add("--hooks", text(&path)?);
        }
        self.allow_host.iter().for_each(|host| add("--allow-host", host.to_string()));
        self.model.iter().for_each(|model| add("--model", model.to_string()));
        self.time_limit
            .iter()
            .for_each(|time| add("--time-limit", humantime::format_duration(*time).to_string().replace(' ', "")));
        if let Some(socket) = &self.connect {
            add("--connect", format!("unix:{}", text(socket)?));
        }
        words.extend(self.live.then(|| "--project".to_string()));
        Ok(words)
    }

    /// Whether the small program knows all of it. It would start this one each time.
    fn is_plain(&self) -> bool {
        self.allow_host.is_empty() && self.model.is_none() && self.time_limit.is_none()
    }

    /// The seconds that the agent waits.
    fn timeout(&self) -> u64 {
        self.time_limit.map_or(TIMEOUT, |time| TIMEOUT.max(time.as_secs().saturating_add(LONGER)))
    }
}

/// A path in the command.
fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_string).ok_or_else(|| Failure(format!("{}: not UTF-8", path.display())))
}

/// Removes the directories of a file that is gone, as far as they are empty, up to the one that the person has made.
fn remove_empty(file: &Path, base: Option<&Path>) {
    let dirs = file.ancestors().skip(1);
    let inner = dirs.take_while(|dir| {
        base.is_some_and(|base| dir.canonicalize().is_ok_and(|dir| dir != base && dir.starts_with(base)))
    });
    // One that holds something stays, and so do those around it.
    let _ = inner.map(std::fs::remove_dir).take_while(Result::is_ok).count();
}

/// A handler as it is written.
fn handler(file: &HookFile, event: &str, seconds: u64, command: &str) -> Value {
    let timeout = match &file.unit {
        Unit::Seconds => seconds,
        Unit::Millis | Unit::ByAmount(_) => seconds.saturating_mul(1000),
    };
    let mut handler = Value::Object(file.handler.clone());
    if let Some(member) = &file.event {
        handler[member] = event.into();
    }
    set_pointer(&mut handler, &format!("/{}", file.command), command.into());
    handler[&file.timeout] = timeout.into();
    if let Some(closed) = &file.fails_closed {
        handler[&closed.member] = closed.value.clone();
    }
    handler
}

/// What of an entry isn't as it was written, so that the agent doesn't ask or doesn't obey.
fn edits(file: &HookFile, group: &Value, found: &Value) -> Vec<String> {
    let written = handler(file, "", TIMEOUT, "");
    let narrowed = group["matcher"].as_str().filter(|it| !["", "*", ".*"].contains(it));
    let mut told: Vec<_> = narrowed.map(|it| format!("its entry is only for `{it}`")).into_iter().collect();
    for (key, value) in found.as_object().into_iter().flatten().filter(|(key, value)| written[key] != **value) {
        // So little time may be over before the answer is there.
        let is_short = |limit: u64| written[key].as_u64().is_some_and(|written| limit < written / 6);
        told.extend(match (key.as_str(), value) {
            ("type", kind) => Some(format!("its entry has the type {kind}, which the agent passes over")),
            ("async", Value::Bool(true)) => Some("its entry is `async`: the agent doesn't wait for it".into()),
            ("if", condition) => Some(format!("its entry is under a condition: {condition}")),
            (_, limit) if limit.as_u64().is_some_and(is_short) => {
                Some(format!("its entry is given up too early: `{key}` is {limit}"))
            }
            _ => None,
        });
    }
    if let Some(closed) = file.fails_closed.as_ref().filter(|it| it.value != found[&it.member]) {
        let (member, value) = (&closed.member, &closed.value);
        told.push(format!("its entry lacks `{member}: {value}`: a tool runs when hookwire is missing or killed"));
    }
    told
}

fn not_so(file: &HookFile) -> String {
    let form = if file.event.is_some() { "a list" } else { "an object" };
    format!("its `{}` isn't {form}", file.at)
}

impl Change {
    /// Shows the lines that change, those between the same beginning and the same end.
    fn show(&self, out: &mut Output) {
        let lines = |text: &Option<String>| -> Vec<String> {
            text.iter().flat_map(|text| text.lines()).map(str::to_string).collect()
        };
        let (before, after) = (lines(&self.before), lines(&self.after));
        let start = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
        let (old, new) = (&before[start..], &after[start..]);
        let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
        for (sign, tone, lines) in [('-', Tone::Bad, old), ('+', Tone::Good, new)] {
            for line in lines {
                let line = out.tone(tone, &safe(&format!("{sign} {line}")));
                out.line(&format!("  {line}"));
            }
        }
    }

    /// Writes the file at once or not at all. What was there before hookwire, without entries of an earlier hookwire, is
    /// kept beside it until hookwire is gone again.
    ///
    /// Settings may be a link into somebody's collection of them. The link stays, and what it leads to is edited, but
    /// never removed: nothing says who made it, and the link would lead nowhere. A file that is hookwire's alone takes
    /// the place of a link, and what that leads to is left as it is: the link may have come with a clone.
    fn write(&self, is_install: bool) -> std::io::Result<()> {
        let is_link = std::fs::symlink_metadata(&self.path).is_ok_and(|about| about.is_symlink());
        let is_edited_behind_link = is_link && self.kind == Kind::Settings;
        let path = match is_edited_behind_link {
            true => {
                self.path.canonicalize().map_err(|_| Error::other("it is a link, and what it leads to isn't there"))?
            }
            false => self.path.clone(),
        };
        let after = self.after.as_deref().or(is_edited_behind_link.then_some("{}\n"));
        let kept = beside(&path, "before-hookwire");
        match (&self.others, is_install) {
            // What a link leads to stays there.
            (Some(others), true) if !is_link || is_edited_behind_link => keep(&kept, others)?,
            (_, false) if std::fs::symlink_metadata(&kept).is_ok_and(|about| about.is_file()) => {
                std::fs::remove_file(&kept)?;
            }
            _ => {}
        }
        let Some(after) = after else { return std::fs::remove_file(path) };
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        replace(&path, after, if self.kind == Kind::Program { 0o755 } else { 0o644 })
    }
}

/// Keeps what was there before hookwire, once. The copy is a new file, because a clone may have a link of its name.
fn keep(copy: &Path, text: &str) -> std::io::Result<()> {
    match std::fs::File::create_new(copy) {
        Ok(mut file) => file.write_all(text.as_bytes()),
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        Err(_) if std::fs::symlink_metadata(copy)?.is_file() => Ok(()),
        Err(_) => Err(Error::other(format!("{} is in the way of a copy of what is there", copy.display()))),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    match file::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure(format!("{}: {error}", path.display()))),
    }
}

/// What settings hold.
fn value_of(text: &str, format: Format) -> Result<Value, Failure> {
    let told = |problems: Vec<Problem>| {
        let first = problems.into_iter().next().map(|it| {
            let Position { line, column } = LineIndex::new(text).position(it.span.start);
            format!("line {line}, column {column}: {}", it.message)
        });
        first.unwrap_or_default()
    };
    formats::parse(text, format).map(|root| root.to_json()).map_err(|problems| Failure(told(problems)))
}

/// Whether settings without a member may hold a person's remarks.
fn has_comment(text: &str, format: Format) -> bool {
    format == Format::Toml && !text.trim().is_empty()
}

/// The small program beside this one, and what keeps agents from starting it.
static BESIDE: LazyLock<Option<(PathBuf, Option<String>)>> = LazyLock::new(|| {
    let small = supervisor().ok()?;
    let problem = other_version(&small, &version_of(&small));
    Some((small, problem))
});

/// The path in full of the program that agents start: the small one, which is quicker, if it is there and as new as this.
fn asking_program() -> Result<String, Failure> {
    match &*BESIDE {
        Some((small, None)) => text(small),
        _ => program(),
    }
}

/// This program's path in full.
pub(super) fn program() -> Result<String, Failure> {
    let program = std::env::current_exe()?;
    program.into_os_string().into_string().map_err(|it| Failure(format!("{}: not UTF-8", Path::new(&it).display())))
}
