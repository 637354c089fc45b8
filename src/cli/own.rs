//! Which hooks of an agent are hookwire's own. Whoever runs, replaces, removes or counts an entry
//! asks here: an entry that only speaks of hookwire is a person's, or came with a clone.

use super::copies::version_of_copy;
use super::kept;
use hookwire_ask::programs::NAMES;
use hookwire_base::event::{Phase, spec};
use hookwire_base::support::file::read_text;
use hookwire_base::support::{places, shell_word};
use hookwire_dialects::asked::{Moment, refusal};
use hookwire_dialects::{self as dialects, Dialect};
use hookwire_rules::agents::{Agent, Form, HookFile};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What stands between the command and what is said if that doesn't end as hookwire does.
pub(super) const OTHERWISE: &str = " || ";

/// The line of a plug-in that names the command.
const COMMAND: &str = "const COMMAND = ";

/// The options that `install` writes, and how many words follow each.
const OPTIONS: [(&str, usize); 11] = [
    ("--event", 1),
    ("--root", 1),
    ("--user-dir", 1),
    ("--data-dir", 1),
    ("--hooks", 1),
    ("--allow-host", 1),
    ("--model", 1),
    ("--timeout", 1),
    ("--connect", 1),
    ("--live", 0),
    ("--observe", 0),
];

/// A command that is hookwire's own: the program, `hook`, the agent, and options that `install`
/// writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Own {
    words: Vec<String>,
    /// A shell says something if the program fails.
    has_otherwise: bool,
}

/// What a hook is to hookwire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Hookwire's own.
    Own(Own),
    /// It only speaks of hookwire: this text does.
    Speaks(String),
    /// Somebody else's.
    Others,
}

/// Why an entry isn't tried.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Untried {
    /// It can't work.
    Gone(String),
    /// It may, and nothing says that a person vouches for what it would start.
    Unvouched(String),
}

impl Own {
    /// The command without what is said if it fails.
    pub(super) fn line(&self) -> String {
        shell_word::command(self.words.iter().map(String::as_str))
    }

    /// The program and its arguments.
    pub(super) fn words(&self) -> &[String] {
        &self.words
    }

    /// What options with this name say.
    pub(super) fn flag_values<'o>(&'o self, flag: &'o str) -> impl Iterator<Item = &'o str> {
        self.options()
            .filter(move |(option, _)| *option == flag)
            .filter_map(|(_, value)| value)
    }

    /// The options that decide how it judges, as `install` takes them.
    pub(super) fn install_options(&self) -> Vec<String> {
        const OF_ITS_PLACE: [&str; 4] = ["--event", "--root", "--user-dir", "--data-dir"];
        let kept = self
            .options()
            .filter(|(flag, _)| !OF_ITS_PLACE.contains(flag));
        let mut options: Vec<String> = kept
            .flat_map(|(flag, value)| [Some(flag), value])
            .flatten()
            .map(String::from)
            .collect();
        options.extend(self.has_otherwise.then(|| "--require".to_string()));
        options
    }

    /// Whether its program is looked up.
    pub(super) fn is_shared(&self) -> bool {
        !self.words[0].contains('/')
    }

    fn options(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let mut words = self.words[3..].iter();
        std::iter::from_fn(move || {
            let flag = words.next()?.as_str();
            let n = OPTIONS
                .iter()
                .find(|(option, _)| *option == flag)
                .map_or(0, |(_, n)| *n);
            Some((
                flag,
                (0..n)
                    .filter_map(|_| words.next())
                    .last()
                    .map(String::as_str),
            ))
        })
    }

    /// The program and its arguments, for a doctor who tries the entry in a file of a project or of
    /// the user's.
    ///
    /// What is run is hookwire as it is installed here, and nothing that the project brings:
    /// neither its program, nor definitions that an entry which came with it names. Those of an
    /// entry that `install` wrote on this machine count.
    pub(super) fn to_try(&self, file: &Path, root: &Path) -> Result<(PathBuf, &[String]), Untried> {
        let program = installed_program(&self.words[0], root)?;
        let is_in_project = is_below(file, root);
        // Of a directory with a program an event, the one that says this.
        let of_event = self
            .flag_values("--event")
            .next()
            .filter(|_| file.is_dir())
            .map(|event| file.join(event));
        if is_in_project
            && !kept::was_written(of_event.as_deref().unwrap_or(file), &self.line())
            && let Some((flag, value)) = self.options().find(|(flag, value)| may_open(flag, *value))
        {
            let option = [Some(flag), value]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" ");
            return Err(Untried::Unvouched(format!(
                "`{option}` has definitions count that you haven't vouched for on this machine"
            )));
        }
        Ok((program, &self.words[1..]))
    }
}

/// Whether an option may put in force what nobody on this machine has approved.
fn may_open(flag: &str, value: Option<&str>) -> bool {
    let is_own = |dirs: &[PathBuf]| {
        value.is_some_and(|value| dirs.iter().any(|dir| dir == Path::new(value)))
    };
    match flag {
        "--hooks" | "--live" | "--connect" => true,
        "--user-dir" => !is_own(places::user_dirs()),
        "--data-dir" => !is_own(places::data_dirs()),
        _ => false,
    }
}

/// The program that is this one, or one that stands beside it.
static THIS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    let Some(own) = std::env::current_exe()
        .ok()
        .and_then(|own| own.canonicalize().ok())
    else {
        return Vec::new();
    };
    let beside = NAMES
        .iter()
        .filter_map(|name| own.with_file_name(name).canonicalize().ok());
    beside.chain([own.clone()]).collect()
});

/// The files of a name in the directories of `PATH`. One that isn't named in full is another one in
/// each directory.
fn on_path(name: &str) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
    dirs.map(|dir| dir.join(name))
        .filter(|file| file.is_file())
        .filter_map(|file| file.canonicalize().ok())
        .collect()
}

/// Whether a path leads to somewhere below a directory.
pub(super) fn is_below(path: &Path, dir: &Path) -> bool {
    let real = |path: &Path| kept::real_path(path).unwrap_or_else(|| path.to_path_buf());
    real(path).starts_with(real(dir))
}

/// The program that a word leads to, if that is hookwire as it is installed here.
fn installed_program(word: &str, root: &Path) -> Result<PathBuf, Untried> {
    let found = if word.contains('/') {
        Path::new(word).canonicalize().ok()
    } else {
        on_path(word).into_iter().next()
    };
    let Some(found) = found else {
        let nowhere = if word.contains('/') {
            "isn't there"
        } else {
            "isn't on your PATH"
        };
        return Err(Untried::Gone(format!("{word} {nowhere}")));
    };
    // A copy lies in the user's data, which may be below the root where that is the home.
    if THIS.contains(&found) || version_of_copy(&found).is_some() {
        return Ok(found);
    }
    if is_below(&found, root) {
        return Err(Untried::Gone(format!(
            "{} is a program of the project, and not this one",
            found.display()
        )));
    }
    if NAMES.iter().any(|name| on_path(name).contains(&found)) {
        return Ok(found);
    }
    Err(Untried::Unvouched(format!(
        "{} is neither this program nor a hookwire on your PATH",
        found.display()
    )))
}

/// Whether a word is the program: by the name of an installed one, wherever that was, or by its
/// place.
fn is_program(word: &str) -> bool {
    if !word.contains('/') {
        return NAMES.contains(&word)
            || on_path(word)
                .first()
                .is_some_and(|file| THIS.contains(file));
    }
    let path = Path::new(word);
    // One that is gone was moved, or is of an earlier version.
    path.is_absolute()
        && (path
            .file_name()
            .and_then(OsStr::to_str)
            .is_some_and(|name| NAMES.contains(&name))
            || path.canonicalize().is_ok_and(|real| THIS.contains(&real)))
}

/// Whether a text speaks of hookwire, by its name or by where this program is.
fn speaks_of_hookwire(text: &str) -> bool {
    text.contains("hookwire")
        || THIS
            .last()
            .and_then(|it| it.to_str())
            .is_some_and(|program| text.contains(program))
}

/// The vocabulary of an agent.
pub(super) fn dialect_of(agent: &Agent) -> Option<&'static Dialect> {
    dialects::by_name(agent.name).ok()
}

/// The events at which an agent asks hookwire.
pub(super) fn events_of(agent: &Agent) -> Vec<&'static str> {
    dialect_of(agent)
        .map(Dialect::asked_events)
        .unwrap_or_default()
}

/// Words as hookwire's own.
fn own_words(agent: &Agent, words: Vec<String>) -> Option<Own> {
    let [program, verb, name, ..] = &*words else {
        return None;
    };
    if verb != "hook" || name != agent.name || !is_program(program) {
        return None;
    }
    let mut rest = words[3..].iter();
    while let Some(word) = rest.next() {
        let (_, n) = OPTIONS.iter().find(|(flag, _)| flag == word)?;
        for _ in 0..*n {
            rest.next()?;
        }
    }
    Some(Own {
        words,
        has_otherwise: false,
    })
}

/// What denies in a shell, in the agent's words, when the command at an event doesn't end as
/// hookwire does. Only what is about to happen is denied: a rest that is denied would send the
/// agent back to work for ever.
pub(super) fn otherwise_said(agent: &Agent, event: &str) -> Option<String> {
    let dialect = dialect_of(agent).filter(|_| agent.goes_on_without())?;
    let row = dialect.events.iter().find(|row| row.name == event)?;
    spec(row.canonical).filter(|spec| spec.phase == Phase::Gate && !spec.rest)?;
    let reason = refusal("its program is missing, or was killed");
    let said = dialect.refuse(
        &reason,
        &Moment {
            name: event.to_string(),
            is_unknown_gate: false,
        },
    );
    match said.exit {
        0 if said.stdout.is_empty() => None,
        0 => Some(format!("echo {}", shell_word::argument(&said.stdout))),
        // The shell says itself what is missing.
        no => Some(format!("exit {no}")),
    }
}

/// What tells a person in a shell, in the agent's words, that the command at an event isn't there,
/// and goes on. It is told where a person begins something. That the command failed stays a failure.
pub(super) fn missing_told(agent: &Agent, event: &str) -> String {
    const TOLD: &str = "hookwire is missing, so nothing is guarded here";
    let dialect = dialect_of(agent);
    let rows = || {
        let rows = dialect.into_iter().flat_map(|dialect| dialect.events);
        let asked = events_of(agent);
        rows.filter(move |row| {
            asked.contains(&row.name)
                && ["SessionStart", "UserPromptSubmit", "RunStart"].contains(&row.canonical)
        })
    };
    let begins = match rows().next() {
        Some(_) => rows().any(|row| row.name == event),
        // The agent tells of no beginning.
        None => dialect
            .and_then(|dialect| dialect.row("PreToolUse"))
            .is_some_and(|row| row.name == event),
    };
    let tell = match dialect
        .filter(|_| begins)
        .and_then(|it| it.telling_reply(event, TOLD))
    {
        Some(reply) => format!(" echo {};", shell_word::argument(&reply.to_string())),
        None if begins => format!(" echo {} >&2;", shell_word::argument(TOLD)),
        None => String::new(),
    };
    // What a shell says of a program that it doesn't find.
    format!("{{ n=$?; [ $n = 127 ] || exit $n;{tell} }}")
}

/// Whether a text is what [`Agent::otherwise`] says at one of its events, to the letter: another
/// `exit` or `echo` is a person's. No earlier version said it in other words; one that does belongs
/// here, so that its entries are still known.
fn is_otherwise(agent: &Agent, text: &str) -> bool {
    events_of(agent).into_iter().any(|event| {
        otherwise_said(agent, event).as_deref() == Some(text) || missing_told(agent, event) == text
    })
}

/// What a command is to hookwire. It is hookwire's own if its words are the program and its
/// arguments and nothing else, but for what `install` has a shell say if the program fails.
pub(super) fn whose_command(agent: &Agent, command: &str) -> Whose {
    let whole = [(command, None)].into_iter();
    let parts = command.match_indices(OTHERWISE);
    let parts = parts.map(|(at, parts)| (&command[..at], command.get(at + parts.len()..)));
    let mut read = whole
        .chain(parts)
        .filter_map(|(command, rest)| Some((shell_word::written(command)?, rest)));
    let own = read.find(|(_, rest)| rest.is_none_or(|rest| is_otherwise(agent, rest)));
    let own = own.and_then(|(words, rest)| {
        Some(Own {
            has_otherwise: rest.is_some(),
            ..own_words(agent, words)?
        })
    });
    match own {
        Some(own) => Whose::Own(own),
        None if speaks_of_hookwire(command) => Whose::Speaks(command.to_string()),
        None => Whose::Others,
    }
}

/// A command as hookwire's own.
pub(super) fn own_entry(agent: &Agent, command: &str) -> Option<Own> {
    match whose_command(agent, command) {
        Whose::Own(own) => Some(own),
        Whose::Speaks(_) | Whose::Others => None,
    }
}

/// What the text of a program that it runs for an event is to hookwire.
pub(super) fn whose_program(agent: &Agent, text: &str) -> Whose {
    let line = text
        .strip_prefix("#!/bin/sh\n")
        .and_then(|rest| rest.strip_suffix('\n'));
    let own = line.and_then(|line| own_entry(agent, line.strip_prefix("exec ").unwrap_or(line)));
    whose_text(own, text)
}

/// What the text of a plug-in is to hookwire: its own begins as hookwire's does and has a command
/// of hookwire's.
pub(super) fn whose_plugin(agent: &Agent, text: &str) -> Whose {
    let words = text
        .lines()
        .find_map(|line| line.strip_prefix(COMMAND)?.strip_suffix(';'));
    let words = words.and_then(|words| serde_json::from_str(words).ok());
    let own = words.and_then(|words| own_words(agent, words));
    whose_text(
        own.filter(|_| text.lines().next() == agent.plugin.lines().next()),
        text,
    )
}

/// The text of a plug-in with a command.
pub(super) fn plugin_with(agent: &Agent, words: &[String]) -> String {
    agent
        .plugin
        .lines()
        .map(|line| match line.starts_with(COMMAND) {
            true => format!("{COMMAND}{};\n", json!(words)),
            false => format!("{line}\n"),
        })
        .collect()
}

/// Whether a plug-in is as hookwire writes it.
pub(super) fn is_whole_plugin(agent: &Agent, own: &Own, text: &str) -> bool {
    plugin_with(agent, &own.words) == text
}

/// What a group of an event, or a handler, is to hookwire: it is its own if one of its handlers is.
pub(super) fn has_own(agent: &Agent, file: &HookFile, value: &Value) -> bool {
    let is_own = |value: &Value| own_entry(agent, &file.command_in(value)).is_some();
    is_own(value)
        || value["hooks"]
            .as_array()
            .is_some_and(|handlers| handlers.iter().any(is_own))
}

/// What in a file of its hooks speaks of hookwire and isn't hookwire's own.
pub(super) fn spoken_by(agent: &Agent, settings: &Value) -> Vec<String> {
    let Some(file) = agent.file() else {
        return Vec::new();
    };
    let mut spoken = Vec::new();
    let mut lists = vec![&settings[&file.at]];
    // Events, groups and handlers; no deeper.
    for _ in 0..5 {
        let commands = lists.iter().map(|it| file.command_in(it));
        spoken.extend(
            commands.filter_map(|command| match whose_command(agent, &command) {
                Whose::Speaks(text) => Some(text),
                Whose::Own(_) | Whose::Others => None,
            }),
        );
        lists = lists
            .into_iter()
            .flat_map(|value| handler_values(file, value))
            .collect();
    }
    spoken.dedup();
    spoken
}

/// The programs of the user's in a directory of an agent that runs one an event: each event with
/// its file, and whether the program itself asks hookwire.
pub(super) fn programs_of(
    agent: &Agent,
    dir: &Path,
    events: &[&'static str],
) -> Option<Vec<(&'static str, PathBuf, bool)>> {
    if !matches!(agent.form, Form::Programs) {
        return None;
    }
    Some(
        events
            .iter()
            .filter_map(|event| {
                let path = dir.join(event);
                match whose_program(agent, &read_text(&path).ok()?) {
                    Whose::Own(_) => None,
                    Whose::Speaks(text) => Some((*event, path, text.contains(" hook "))),
                    Whose::Others => Some((*event, path, false)),
                }
            })
            .collect(),
    )
}

/// The values in one of a file of hooks; in a handler there is nothing more to look for.
fn handler_values<'v>(file: &HookFile, value: &'v Value) -> Vec<&'v Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(_) if !file.command_in(value).is_empty() => Vec::new(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    }
}

fn whose_text(own: Option<Own>, text: &str) -> Whose {
    match own {
        Some(own) => Whose::Own(own),
        None if speaks_of_hookwire(text) => {
            let line = text
                .lines()
                .find(|line| speaks_of_hookwire(line))
                .unwrap_or_default();
            Whose::Speaks(line.trim().to_string())
        }
        None => Whose::Others,
    }
}
