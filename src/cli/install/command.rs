//! The command that is written into an agent's configuration, and the handler around it.

use super::super::copies::lasting;
use super::super::own::{OTHERWISE, missing_told, otherwise_said};
use super::super::{Failure, agent_version};
use super::program::{asking_program, own_program, path_text};
use super::{EntryArgs, InstallArgs, Missing};
use hookwire_base::event::set_pointer;
use hookwire_base::support::{places, shell_word};
use hookwire_rules::agents::{AGENTS, Agent, ExecForm, HookFile, Place, Unit};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// Seconds that an agent waits for the hook, at least, and how much longer than the hook's own
/// limit.
pub(super) const TIMEOUT: u64 = 60;

pub(super) const LONGER: u64 = 10;

/// What an agent's status line runs of this program.
pub(super) const STATUS_LINE: [&str; 3] = ["host", "status", "--line"];

impl InstallArgs {
    /// The agent's place for hooks, in the project or in the user's home.
    pub(in crate::cli) fn place(&self) -> &'static Place {
        self.place.agent.place(self.place.user)
    }

    pub(in crate::cli) fn path(&self) -> Result<PathBuf, Failure> {
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
    pub(in crate::cli) fn path_at(&self, path: &str) -> Result<PathBuf, Failure> {
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
    pub(super) fn command_words(&self, event: Option<&str>) -> Result<Vec<String>, Failure> {
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
    pub(super) fn fixed(&self) -> Result<Vec<[String; 2]>, Failure> {
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

    pub(super) fn command_line(&self, event: Option<&str>) -> Result<String, Failure> {
        Ok(shell_word::command(
            self.command_words(event)?.iter().map(String::as_str),
        ))
    }

    /// The command at an event of the agent's, by its name.
    pub(super) fn command_at(&self, event: &str, is_named: bool) -> Result<String, Failure> {
        let command = self.command_line(is_named.then_some(event))?;
        Ok(match self.otherwise(event) {
            Some(otherwise) => format!("{command}{OTHERWISE}{otherwise}"),
            None => command,
        })
    }

    /// Whether the command is to deny when hookwire is missing. On a person's own machine nobody
    /// else is stopped by it.
    pub(super) fn is_required(&self) -> bool {
        self.entry.require
            || self.entry.missing == Some(Missing::Stop)
            || self.place.user && self.place.agent.package.is_some()
    }

    /// What becomes of people who haven't got hookwire, and what else the entry could say.
    pub(super) fn tell_teammates(&self) -> String {
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
    pub(super) fn otherwise(&self, event: &str) -> Option<String> {
        match self.entry.missing {
            Some(Missing::Tell) => Some(missing_told(self.place.agent, event)),
            _ if self.is_required() => otherwise_said(self.place.agent, event),
            _ => None,
        }
    }

    /// What has the agent show hookwire's line.
    pub(super) fn status_line(&self) -> Result<Value, Failure> {
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

    /// Our entry of an event.
    pub(super) fn entry_handlers(&self, file: &HookFile, event: &str) -> Result<Value, Failure> {
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
    pub(super) fn is_started_directly(&self, form: &ExecForm, event: &str) -> bool {
        !self.entry.shared && self.otherwise(event).is_none() && all_take(form, self.place.agent)
    }
}

impl EntryArgs {
    /// The words of the command.
    pub(super) fn words(&self) -> Result<Vec<String>, Failure> {
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
    pub(super) fn is_plain(&self) -> bool {
        self.allow_host.is_empty() && self.model.is_none() && self.timeout.is_none()
    }

    /// The seconds that the agent waits.
    pub(super) fn timeout(&self) -> u64 {
        seconds_within(self.timeout)
    }
}

/// The seconds that an agent waits for a hook that has this limit of its own.
pub(in crate::cli) fn seconds_within(limit: Option<Duration>) -> u64 {
    limit.map_or(TIMEOUT, |time| {
        TIMEOUT.max(time.as_secs().saturating_add(LONGER))
    })
}

/// How an agent starts a command.
pub(in crate::cli) enum Started {
    /// By a shell, of this text.
    Shell(String),
    /// As this program with arguments.
    Program(Vec<String>),
}

/// Whether the agent that is on `PATH` is older than a version. Each agent is asked once.
pub(super) fn is_older(agent: &Agent, than: &str) -> bool {
    type Versions = HashMap<&'static str, Option<[u64; 3]>>;
    pub(super) static FOUND: LazyLock<Mutex<Versions>> = LazyLock::new(Mutex::default);
    let found = *FOUND
        .lock()
        .entry(agent.name)
        .or_insert_with(|| agent_version::version_on_path(agent));
    found
        .zip(agent_version::version_numbers(than))
        .is_some_and(|(found, than)| found < than)
}

/// Whether all agents here that run an agent's hooks know the form that no shell starts.
pub(super) fn all_take(form: &ExecForm, agent: &Agent) -> bool {
    reader_of(agent).is_none() && !is_older(agent, &form.since)
}

/// A handler as it is written.
pub(in crate::cli) fn write_handler(
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

/// The agent on `PATH` that runs an agent's hooks, too. It passes over arguments, and starts the
/// program without them.
pub(super) fn reader_of(agent: &Agent) -> Option<&'static Agent> {
    let reads = |it: &&Agent| it.also_reads.iter().any(|name| name == agent.name);
    AGENTS
        .iter()
        .filter(reads)
        .find(|it| agent_version::on_path(&it.program).is_some())
}
