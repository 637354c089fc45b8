//! `hookwire install AGENT` and `uninstall`: one entry of an agent's own configuration, and nothing else in it.

use super::output::{Output, Tone, safe};
use super::run::{SMALL, supervisor};
use super::{Failure, Finding, project};
use crate::agents::{self, Agent, Form, HookFile, Place, Unit};
use crate::definitions::approved::{self, DEFINITIONS};
use crate::dialects::{self, Dialect};
use crate::support::file::replace;
use crate::support::{places, shell_word};
use crate::syntax::formats::{self, Format};
use crate::syntax::node::Step;
use crate::syntax::problem::Problem;
use crate::syntax::writer::{At, Op, rewritten};
use serde_json::{Map, Value, json};
use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

#[derive(clap::Args)]
pub(super) struct InstallArgs {
    /// The agent.
    #[arg(value_parser = agents::by_name)]
    pub(super) agent: &'static Agent,
    /// Guard all projects of this user. Otherwise this project.
    #[arg(long)]
    user: bool,
    /// Guard this project; so it is without --user.
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// Have edits of the project's own definitions in force at once, without `hookwire trust`: for whoever writes them.
    #[arg(long)]
    live: bool,
    /// The project root; else the nearest directory upwards that is a project's.
    #[arg(long, value_name = "DIR", default_value_os_t = project(), hide_default_value = true)]
    root: PathBuf,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Seconds that an agent waits for the hook: longer than the hook's own limit.
const TIMEOUT: u64 = 60;

/// The line of a plug-in that names the command.
const COMMAND: &str = "const COMMAND = ";

/// How many lines of a change are shown.
const SHOWN: usize = 16;

/// What an agent's configuration has of hookwire.
pub(super) enum Entry {
    /// The file can't be read; why.
    Unreadable(String),
    /// The commands before a tool call, the events at which it doesn't ask, and what has become of the entry of a tool
    /// call since it was written.
    Asks { commands: Vec<String>, missing: Vec<&'static str>, edits: Vec<String> },
}

/// A file of an agent's configuration, as it is and as it is to be; nothing if it isn't there.
struct Change {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
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
    let changes = args.changes(true)?;
    let n_changed = args.carry_out(&changes, true, out)?;
    if n_changed == 0 {
        out.line(&format!("{} is guarded already.", args.agent.name));
    } else if !args.dry_run {
        out.line(&format!("{} asks hookwire from now on. {}", args.agent.name, args.agent.then));
        let definitions = args.root.join(DEFINITIONS);
        if !args.user && !definitions.is_dir() {
            out.line(
                "There are no hooks yet: `hookwire init` writes a starter, `hookwire init --list` shows ready ones.",
            );
        } else if definitions.is_dir() && !args.live && !approved::is_approved(&args.root) {
            out.line(
                "Nobody has trusted the hooks of this project yet: `hookwire trust` shows them and puts them in force.",
            );
        }
        out.line(&format!("`hookwire uninstall {}` takes it back.", args.agent.name));
    }
    Ok(Finding::Fine)
}

pub(super) fn uninstall(args: &InstallArgs, out: &mut Output) -> Result<Finding, Failure> {
    let changes = args.changes(false)?;
    match args.carry_out(&changes, false, out)? {
        0 => out.line(&format!("{} doesn't ask hookwire here.", args.agent.name)),
        _ if args.dry_run => {}
        _ => out.line(&format!("{} asks hookwire no more.", args.agent.name)),
    }
    Ok(Finding::Fine)
}

impl InstallArgs {
    /// As if they were given so.
    pub(super) fn of(agent: &'static Agent, user: bool, root: &Path) -> InstallArgs {
        InstallArgs { agent, user, project: !user, live: false, root: root.to_path_buf(), dry_run: true }
    }

    /// What the agent's configuration has of hookwire, if anything.
    pub(super) fn entry(&self) -> Option<Entry> {
        let path = self.path().ok()?;
        let text = match read(&path) {
            _ if matches!(self.agent.form, Form::Programs) => return self.entry_of_programs(&path),
            Ok(text) => text?,
            Err(Failure(problem)) => return Some(Entry::Unreadable(problem)),
        };
        match &self.agent.form {
            Form::File(file) => self.entry_of_file(file, &text),
            Form::Programs => None,
            Form::Plugin => {
                let words = text.lines().find_map(|line| line.strip_prefix(COMMAND)?.strip_suffix(';'))?;
                let words: Vec<String> = serde_json::from_str(words).ok()?;
                let command = shell_word::command(words.iter().map(String::as_str));
                let edits = self.unsaid(&command);
                Some(Entry::Asks { commands: vec![command], missing: Vec::new(), edits })
            }
        }
    }

    fn entry_of_programs(&self, dir: &Path) -> Option<Entry> {
        let is_ours = |event: &&str| {
            let text = read(&dir.join(event)).ok().flatten();
            text.is_some_and(|text| self.agent.is_its_program(&text))
        };
        let (asked, missing): (Vec<&str>, Vec<&str>) = self.agent.events().into_iter().partition(is_ours);
        let gate = asked.contains(&"PreToolUse").then(|| dir.join("PreToolUse"));
        let text = gate.as_deref().and_then(|gate| read(gate).ok().flatten());
        (!asked.is_empty()).then(|| Entry::Asks {
            commands: gate.iter().map(|gate| shell_word::program(&gate.to_string_lossy())).collect(),
            missing,
            edits: text.iter().flat_map(|text| self.unsaid(text)).collect(),
        })
    }

    fn entry_of_file(&self, file: &HookFile, text: &str) -> Option<Entry> {
        let settings = match json_of(text) {
            Ok(settings) => settings,
            Err(Failure(problem)) => return Some(Entry::Unreadable(problem)),
        };
        let hooks = &settings[&file.at];
        for (value, what) in [(&settings, "it isn't a JSON object"), (hooks, &not_an_object(file))] {
            if !value.is_null() && !value.is_object() {
                return Some(Entry::Unreadable(what.to_string()));
            }
        }
        // Each handler of ours with its group; where there are no groups, it is its own.
        let ours = |event: &str| -> Vec<(Value, Value)> {
            let groups = hooks[event].as_array().cloned().unwrap_or_default();
            let handlers = |group: &Value| group["hooks"].as_array().cloned().unwrap_or_else(|| vec![group.clone()]);
            let all = groups.iter().flat_map(|group| handlers(group).into_iter().map(|it| (group.clone(), it)));
            all.filter(|(_, handler)| self.is_ours(file, handler)).collect()
        };
        let asked = self.agent.events();
        let missing: Vec<&str> = asked.iter().copied().filter(|event| ours(event).is_empty()).collect();
        let gates = self.agent.dialect()?.row("PreToolUse").map(|row| ours(row.name)).unwrap_or_default();
        let text = |handler: &Value| handler[&file.command].as_str().map(str::to_string);
        let commands: Vec<String> = gates.iter().filter_map(|(_, handler)| text(handler)).collect();
        let edits = gates.iter().flat_map(|(group, handler)| edits(file, group, handler));
        let edits = edits.chain(commands.iter().flat_map(|command| self.unsaid(command))).collect();
        (missing.len() < asked.len()).then_some(Entry::Asks { commands, missing, edits })
    }

    /// The agent's place for hooks, in the project or in the user's home.
    pub(super) fn place(&self) -> &'static Place {
        self.agent.place(self.user)
    }

    pub(super) fn path(&self) -> Result<PathBuf, Failure> {
        self.at(&self.place().entry)
    }

    /// Where a path of the place leads.
    pub(super) fn at(&self, path: &str) -> Result<PathBuf, Failure> {
        if !self.user {
            return Ok(self.root.join(path));
        }
        self.agent.of_user(path).ok_or_else(|| Failure("--user: you have no home directory".into()))
    }

    /// The command that the agent runs. The path is whole: an agent's PATH is often not the person's.
    fn words(&self, event: Option<&str>) -> Result<Vec<String>, Failure> {
        let mut words = vec![asking_program()?, "hook".into(), self.agent.name.into()];
        words.extend(event.into_iter().flat_map(|event| ["--event".into(), event.into()]));
        words.extend(self.fixed()?.into_iter().flatten());
        words.extend(self.live.then(|| "--project".to_string()));
        Ok(words)
    }

    /// What the command says of the project and of the user's places: neither where the agent goes nor what its
    /// environment says must change who judges.
    fn fixed(&self) -> Result<Vec<[String; 2]>, Failure> {
        let root = if self.user { None } else { Some(self.root.canonicalize()?) };
        let root = root.into_iter().map(|root| ("--root", root));
        let places = places::all().to_args().map(|(flag, place)| (flag, place.to_path_buf()));
        let text = |path: &Path| {
            path.to_str().map(str::to_string).ok_or_else(|| Failure(format!("{}: not UTF-8", path.display())))
        };
        root.chain(places).map(|(flag, path)| Ok([flag.to_string(), text(&path)?])).collect()
    }

    fn command(&self, event: Option<&str>) -> Result<String, Failure> {
        Ok(shell_word::command(self.words(event)?.iter().map(String::as_str)))
    }

    /// What of that a command lacks.
    fn unsaid(&self, command: &str) -> Vec<String> {
        let is_unsaid = |words: &[String; 2]| {
            let [flag, value] = words;
            !command.contains(&format!(" {flag} {}", shell_word::argument(value)))
        };
        let unsaid = self.fixed().unwrap_or_default().into_iter().filter(is_unsaid);
        let tell = |[flag, value]: [String; 2]| {
            let why = match flag.as_str() {
                "--root" => "the project's hooks don't judge where the agent leaves its directory",
                _ => "the agent's environment decides whether hooks there are in force",
            };
            format!("its command doesn't say `{flag} {value}`: {why}")
        };
        unsaid.map(tell).collect()
    }

    fn changes(&self, install: bool) -> Result<Vec<Change>, Failure> {
        let path = self.path()?;
        if matches!(self.agent.form, Form::Programs) {
            return self.programs(&path, install);
        }
        let before = read(&path)?;
        let (kind, after) = match self.agent.file() {
            None => (Kind::Own, install.then(|| self.plugin()).transpose()?),
            Some(file @ HookFile { own: Some(own), .. }) => {
                let bare = install.then(|| serde_json::to_string_pretty(own)).transpose()?;
                (Kind::Own, bare.map(|bare| self.settings(file, Some(&bare), true)).transpose()?.flatten())
            }
            Some(file) => {
                let after = self.settings(file, before.as_deref(), install).map_err(|Failure(problem)| {
                    Failure(format!("{}: {problem}; nothing was written", path.display()))
                })?;
                (Kind::Settings, after)
            }
        };
        Ok(vec![Change { path, before, after, kind }])
    }

    /// The programs in a directory, one an event.
    fn programs(&self, dir: &Path, install: bool) -> Result<Vec<Change>, Failure> {
        let agent = self.agent;
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
                true => Some(format!("#!/bin/sh\nexec {}\n", self.command(Some(event))?)),
                false if is_ours => None,
                false => before.clone(),
            };
            changes.push(Change { path, before, after, kind: Kind::Program });
        }
        Ok(changes)
    }

    fn plugin(&self) -> Result<String, Failure> {
        let command = self.words(None)?;
        let line = |line: &str| match line.starts_with(COMMAND) {
            true => format!("{COMMAND}{};\n", json!(command)),
            false => format!("{line}\n"),
        };
        Ok(self.agent.plugin.lines().map(line).collect())
    }

    /// The settings with our entries, or without them; all else stays as it is written. Nothing if they would be
    /// empty.
    fn settings(&self, file: &HookFile, before: Option<&str>, install: bool) -> Result<Option<String>, Failure> {
        let text = before.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
        let settings = json_of(text)?;
        if !settings.is_object() {
            return Err(Failure("it isn't a JSON object".into()));
        }
        let entry = |event| Ok((event, self.handlers(file, event)?));
        let entries = self.agent.events().into_iter().map(entry).collect::<Result<Vec<_>, Failure>>()?;
        let wanted = |(event, entry): &(&str, Value)| {
            let groups = settings[&file.at][*event].as_array();
            groups.is_some_and(|groups| groups.iter().filter(|it| self.is_ours(file, it)).eq([entry]))
        };
        if install && entries.iter().all(wanted) {
            return Ok(before.map(str::to_string));
        }
        let cannot = || Failure("it can't be changed without changing more than our entries".into());
        let mut after = rewritten(text, Format::Json, &self.removals(file, &settings)).ok_or_else(cannot)?;
        for (event, entry) in entries.iter().filter(|_| install) {
            let now = json_of(&after)?;
            let (hooks, path) = (&now[&file.at], vec![Step::Key(&file.at), Step::Key(event)]);
            let op = match &hooks[*event] {
                _ if !hooks.is_null() && !hooks.is_object() => return Err(Failure(not_an_object(file))),
                Value::Array(_) => Op::Append(entry.clone()),
                Value::Null => Op::Set(json!([entry]), At::End),
                _ => return Err(Failure(format!("its `{}.{event}` isn't a list", file.at))),
            };
            after = rewritten(&after, Format::Json, &[(path, op)]).ok_or_else(cannot)?;
        }
        let is_empty = json_of(&after)?.as_object().is_none_or(Map::is_empty);
        Ok((install || !is_empty || before.is_some_and(|it| it.trim() == "{}")).then_some(after))
    }

    /// Our entry of an event.
    fn handlers(&self, file: &HookFile, event: &str) -> Result<Value, Failure> {
        let handler = handler(file, &self.command(file.names_event.then_some(event))?);
        Ok(if file.has_groups { json!({ "hooks": [handler] }) } else { handler })
    }

    /// Whether a group of an event, or a handler, is ours.
    fn is_ours(&self, file: &HookFile, value: &Value) -> bool {
        let is_ours = |it: &Value| self.agent.is_its_command(it[&file.command].as_str().unwrap_or_default());
        is_ours(value) || value["hooks"].as_array().is_some_and(|handlers| handlers.iter().any(is_ours))
    }

    /// What takes our handlers out, and what is empty then. The last ones go first: the others keep their positions.
    fn removals<'s>(&self, file: &'s HookFile, settings: &'s Value) -> Vec<(Vec<Step<'s>>, Op<'s>)> {
        let events = settings[&file.at].as_object().into_iter().flatten();
        let (mut removed, mut n_left) = (Vec::new(), 0);
        for (event, groups) in events {
            let groups = groups.as_array().map(Vec::as_slice).unwrap_or_default();
            let mut n_others = groups.len();
            let path = vec![Step::Key(&file.at), Step::Key(event)];
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
                0 if !groups.is_empty() => removed.push((path, Op::Remove)),
                _ => n_left += 1,
            }
        }
        if n_left == 0 && !removed.is_empty() {
            removed.push((vec![Step::Key(&file.at)], Op::Remove));
        }
        removed
    }

    /// Shows and makes the changes; how many there are.
    fn carry_out(&self, changes: &[Change], is_install: bool, out: &mut Output) -> Result<usize, Failure> {
        let mut n_changed = 0;
        for change in changes.iter().filter(|change| change.before != change.after) {
            n_changed += 1;
            out.line(&safe(&change.path.to_string_lossy()));
            change.show(if self.dry_run { usize::MAX } else { SHOWN }, out);
            if !self.dry_run {
                change.write(is_install).map_err(|error| Failure(format!("{}: {error}", change.path.display())))?;
            }
        }
        Ok(n_changed)
    }
}

/// A handler as it is written.
fn handler(file: &HookFile, command: &str) -> Value {
    let timeout = match &file.unit {
        Unit::Seconds => TIMEOUT,
        Unit::Millis | Unit::ByAmount(_) => TIMEOUT * 1000,
    };
    let mut handler = json!({ "type": "command", &file.command: command, &file.timeout: timeout });
    if let Some(closed) = &file.fails_closed {
        handler[&closed.member] = closed.value.clone();
    }
    handler
}

/// What of an entry isn't as it was written, so that the agent doesn't ask or doesn't obey.
fn edits(file: &HookFile, group: &Value, found: &Value) -> Vec<String> {
    let written = handler(file, "");
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

fn not_an_object(file: &HookFile) -> String {
    format!("its `{}` isn't an object", file.at)
}

impl Change {
    /// Shows the lines that change, those between the same beginning and the same end, but not more than `most`.
    fn show(&self, most: usize, out: &mut Output) {
        let lines = |text: &Option<String>| -> Vec<String> {
            text.iter().flat_map(|text| text.lines()).map(str::to_string).collect()
        };
        let (before, after) = (lines(&self.before), lines(&self.after));
        let start = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
        let (old, new) = (&before[start..], &after[start..]);
        let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
        for (sign, tone, lines) in [('-', Tone::Bad, old), ('+', Tone::Good, new)] {
            for line in lines.iter().take(most) {
                let line = out.tone(tone, &safe(&format!("{sign} {line}")));
                out.line(&format!("  {line}"));
            }
            if lines.len() > most {
                let more = out.tone(Tone::Dim, &format!("{sign} and {} lines more", lines.len() - most));
                out.line(&format!("  {more}"));
            }
        }
    }

    /// Writes the file at once or not at all. What was there before hookwire is kept beside it until hookwire is
    /// gone again.
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
        match (&self.before, is_install) {
            // What a link leads to stays there.
            (Some(before), true) if !is_link || is_edited_behind_link => keep(&kept, before)?,
            // What it would restore is there.
            (_, false) if std::fs::read_to_string(&kept).is_ok_and(|kept| Some(&*kept) == after) => {
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
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure(format!("{}: {error}", path.display()))),
    }
}

/// What settings hold.
fn json_of(text: &str) -> Result<Value, Failure> {
    let told = |problems: Vec<Problem>| problems.into_iter().next().map(|it| it.message).unwrap_or_default();
    formats::parse(text, Format::Json).map(|root| root.to_json()).map_err(|problems| Failure(told(problems)))
}

/// The path in full of the program that agents start: the small one, which is quicker, if it is there and as new as this.
fn asking_program() -> Result<String, Failure> {
    static SMALL_ONE: LazyLock<Option<String>> = LazyLock::new(|| {
        let small = supervisor().ok()?.into_os_string().into_string().ok()?;
        let said = Command::new(&small).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        let expected = format!("{SMALL} {}", env!("CARGO_PKG_VERSION"));
        (String::from_utf8_lossy(&said.stdout).trim() == expected).then_some(small)
    });
    SMALL_ONE.clone().map_or_else(program, Ok)
}

/// This program's path in full.
pub(super) fn program() -> Result<String, Failure> {
    let program = std::env::current_exe()?;
    program.into_os_string().into_string().map_err(|it| Failure(format!("{}: not UTF-8", Path::new(&it).display())))
}
