//! What an agent's configuration has of hookwire, and what in it isn't as `install` writes it.

use super::super::Failure;
use super::super::output::{Output, Tone, safe};
use super::super::own::{
    Own, Whose, dialect_of, events_of, has_own, is_whole_plugin, own_entry, spoken_by,
    whose_plugin, whose_program,
};
use super::InstallArgs;
use super::command::{STATUS_LINE, Started, TIMEOUT, all_take, reader_of, write_handler};
use super::read::{read_file, value_of};
use hookwire_base::support::shell_word;
use hookwire_base::syntax::formats::Format;
use hookwire_rules::agents::{Agent, Form, HookFile};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What an agent's configuration has of hookwire.
pub(in crate::cli) enum Entry {
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

impl InstallArgs {
    /// Whether the agent shows hookwire's line.
    pub(in crate::cli) fn shows_line(&self) -> bool {
        let Some(member) = &self.place.agent.status_line else {
            return false;
        };
        let settings = self.path().ok().and_then(|path| {
            let text = read_file(&path).ok()??;
            value_of(&text, Format::from_path(&path).unwrap_or_default()).ok()
        });
        settings.is_some_and(|settings| is_own_line(&settings[member]))
    }

    /// What the agent's configuration has of hookwire, if anything.
    pub(in crate::cli) fn entry(&self) -> Option<Entry> {
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
    pub(in crate::cli) fn spoken(&self) -> Vec<String> {
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
    pub(super) fn own_programs(&self, dir: &Path) -> Vec<(&'static str, Own)> {
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

    pub(super) fn entry_of_programs(&self, dir: &Path) -> Option<Entry> {
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

    pub(super) fn entry_of_file(
        &self,
        file: &HookFile,
        format: Format,
        text: &str,
    ) -> Option<Entry> {
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
    pub(super) fn needs_no_shell(&self, file: &HookFile, handler: &Value) -> bool {
        let Some(form) = &file.exec_form else {
            return false;
        };
        let own = own_entry(self.place.agent, &file.command_in(handler));
        file.arguments_in(handler).is_none()
            && own.is_some_and(|own| !own.is_shared())
            && all_take(form, self.place.agent)
    }

    pub(super) fn tell_unread(&self, reader: &Agent) -> String {
        let user = if self.place.user { " --user" } else { "" };
        let title = &reader.title;
        format!(
            "{title} runs it, too, and starts it without its arguments, so each of its calls is denied: `hookwire install {}{user}` \
             writes one for both",
            self.place.agent.name
        )
    }

    pub(super) fn tell_shell(&self) -> String {
        let user = if self.place.user { " --user" } else { "" };
        format!(
            "a shell starts its command, which variables and the shell's start files can replace: `hookwire install {}{user}` \
             writes one that no shell starts",
            self.place.agent.name
        )
    }

    pub(super) fn asks(
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

    /// What of that a command lacks, and what it says otherwise. One that teams share says nothing
    /// of it.
    pub(super) fn unsaid_words(&self, command: &Own) -> (Vec<String>, Vec<String>) {
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
}

/// What is listed for an event among the hooks of a file.
pub(in crate::cli) fn listed_in<'v>(
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

/// Whether a status line is one that hookwire writes, with the program's whole path; another may
/// run the same for a person.
pub(super) fn is_own_line(line: &Value) -> bool {
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
pub(in crate::cli) fn listed_values<'v>(
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
pub(in crate::cli) fn handlers_of(group: &Value) -> Vec<&Value> {
    group["hooks"]
        .as_array()
        .map_or_else(|| vec![group], |handlers| handlers.iter().collect())
}

/// Says which hooks only speak of hookwire.
pub(super) fn tell_left_alone(path: &Path, spoken: &[String], out: &mut Output) {
    for text in spoken {
        let line = format!(
            "{}: left alone, because it isn't hookwire's own entry: {text}",
            path.display()
        );
        let line = out.tone(Tone::Warn, &safe(&line));
        out.line(&line);
    }
}

/// Members of an entry that only say something to people.
const SAID_FOR_PEOPLE: [&str; 4] = ["name", "description", "statusMessage", "comment"];

/// What of an entry isn't as it was written, so that the agent doesn't ask or doesn't obey.
pub(super) fn describe_edits(file: &HookFile, group: &Value, found: &Value) -> Vec<String> {
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

pub(super) fn not_so(file: &HookFile) -> String {
    let form = if file.event.is_some() {
        "a list"
    } else {
        "an object"
    };
    format!("its `{}` isn't {form}", file.at)
}
