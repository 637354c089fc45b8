//! What is to be in an agent's file of a machine: the members that hold the entry, and the entry of
//! each event. All else stays as it is written.

use super::ownership::{Trouble, Use, troubles_of};
use super::record::{Record, make_dirs};
use crate::cli::Failure;
use crate::cli::install::{
    Started, listed_values, plan_additions, plan_removals, read_file, value_of, write_handler,
};
use crate::cli::own::{OTHERWISE, events_of, has_own, otherwise_said};
use hookwire_base::event::set_pointer;
use hookwire_base::support::digest;
use hookwire_base::support::file::replace;
use hookwire_base::support::shell_word;
use hookwire_base::syntax::diagnostic::{LineIndex, Position};
use hookwire_base::syntax::formats::{self, Format};
use hookwire_base::syntax::node::Step;
use hookwire_base::syntax::writer::{At, Op, rewritten};
use hookwire_rules::agents::{Agent, HookFile, Managed};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The mode of a file that every user reads.
const FILE_MODE: u32 = 0o644;

/// What an agent is to be told.
pub(in crate::cli) struct Entries {
    pub(in crate::cli) agent: &'static Agent,
    pub(in crate::cli) managed: &'static Managed,
    pub(in crate::cli) program: String,
    /// What the command says beside the agent and the event.
    pub(in crate::cli) options: Vec<String>,
    pub(in crate::cli) seconds: u64,
    pub(in crate::cli) observe: bool,
}

/// A file as it is and as it is to be; nothing if it isn't there.
pub(super) struct Plan {
    pub(super) agent: &'static Agent,
    pub(super) path: PathBuf,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    /// What stays that hookwire may have written.
    pub(super) left: Vec<String>,
    /// What is known of the file from then on; nothing if the entry goes.
    record: Option<Record>,
    /// The directories that go with it.
    dirs: Vec<PathBuf>,
    /// Others have changed what goes, so a copy is kept.
    is_edited: bool,
}

/// A file without what hookwire has written.
struct Without {
    text: Option<String>,
    left: Vec<String>,
    is_edited: bool,
}

impl Plan {
    pub(super) fn to_install(entries: &Entries) -> Result<Plan, Failure> {
        let (agent, managed) = (entries.agent, entries.managed);
        let path = PathBuf::from(&managed.file);
        check_place(&path)?;
        let before = read_file(&path)?;
        let known = Record::of_agent(agent.name)?;
        let without = without_own(agent, managed, before.as_deref(), known.as_ref())?;
        if managed.own && without.text.is_some() {
            return Err(Failure(format!(
                "{}: another file is there, and hookwire's has this name; nothing was written",
                path.display()
            )));
        }
        let (after, added) = entries
            .written_into(without.text.as_deref(), format_of(&path))
            .map_err(|Failure(problem)| {
                Failure(format!("{}{problem}; nothing was written", path.display()))
            })?;
        let dirs = known.map(|known| known.dirs).unwrap_or_default();
        let record = Record {
            before: without.text,
            written: digest::of_bytes(after.as_bytes()),
            added,
            dirs,
        };
        Ok(Plan {
            agent,
            path,
            before,
            after: Some(after),
            left: Vec::new(),
            record: Some(record),
            dirs: Vec::new(),
            is_edited: false,
        })
    }

    pub(super) fn to_uninstall(
        agent: &'static Agent,
        managed: &'static Managed,
    ) -> Result<Plan, Failure> {
        let path = PathBuf::from(&managed.file);
        let before = read_file(&path)?;
        let known = Record::of_agent(agent.name)?;
        let without = without_own(agent, managed, before.as_deref(), known.as_ref())?;
        Ok(Plan {
            agent,
            path,
            before,
            after: without.text,
            left: without.left,
            record: None,
            dirs: known.map(|known| known.dirs).unwrap_or_default(),
            is_edited: without.is_edited,
        })
    }

    pub(super) fn is_change(&self) -> bool {
        self.before != self.after
    }

    /// Writes the file at once or not at all.
    pub(super) fn write(&self) -> Result<(), Failure> {
        let problem = |why: String| Failure(format!("{}: {why}", self.path.display()));
        if read_file(&self.path)? != self.before {
            return Err(problem(
                "somebody has changed it meanwhile; nothing was written".into(),
            ));
        }
        self.put().map_err(|error| problem(error.to_string()))
    }

    fn put(&self) -> std::io::Result<()> {
        let name = self.agent.name;
        if let (Some(record), Some(after)) = (&self.record, &self.after) {
            let mut record = record.clone();
            let made = make_dirs(self.path.parent().unwrap_or(Path::new("/")))?;
            if self.before.is_none() {
                record.dirs = made;
            }
            record.save(name)?;
            return replace(&self.path, after, FILE_MODE);
        }
        match &self.after {
            Some(after) => replace(&self.path, after, FILE_MODE)?,
            None => {
                if let Some(before) = self.before.as_ref().filter(|_| self.is_edited) {
                    replace(&Record::copy_place(name), before, 0o600)?;
                }
                std::fs::remove_file(&self.path)?;
                // One that holds something stays, and so do those around it.
                let dirs = self.dirs.iter().map(std::fs::remove_dir);
                let _ = dirs.take_while(Result::is_ok).count();
            }
        }
        Record::forget(name)
    }
}

impl Entries {
    /// The entry of an event.
    pub(in crate::cli) fn entry_of(&self, file: &HookFile, event: &str) -> Value {
        let mut words = vec![self.program.clone(), "hook".into(), self.agent.name.into()];
        if file.names_event {
            words.extend(["--event".into(), event.into()]);
        }
        words.extend(self.options.iter().cloned());
        let started = match file.exec_form {
            Some(_) => Started::Program(words),
            None => {
                let command = shell_word::command(words.iter().map(String::as_str));
                let otherwise = otherwise_said(self.agent, event).filter(|_| !self.observe);
                Started::Shell(match otherwise {
                    Some(otherwise) => format!("{command}{OTHERWISE}{otherwise}"),
                    None => command,
                })
            }
        };
        let mut handler = write_handler(file, event, self.seconds, &started);
        if let (Some(closed), Some(members), true) =
            (&file.fails_closed, handler.as_object_mut(), self.observe)
        {
            members.remove(&closed.member);
        }
        if file.groups(event) {
            json!({ "hooks": [handler] })
        } else {
            handler
        }
    }

    /// The text of the file with the entry, and the members that were added for it. Problems begin
    /// with the place in the file.
    fn written_into(
        &self,
        text: Option<&str>,
        format: Format,
    ) -> Result<(String, Vec<String>), Failure> {
        let Some(file) = self.agent.file() else {
            return Err(Failure(": the agent has no file of hooks".into()));
        };
        let entries: Vec<(&str, Value)> = events_of(self.agent)
            .into_iter()
            .map(|event| (event, self.entry_of(file, event)))
            .collect();
        if self.managed.own {
            return Ok((self.own_text(file, &entries)?, Vec::new()));
        }
        let text = text
            .filter(|text| !text.trim().is_empty())
            .unwrap_or(match format {
                Format::Json => "{}\n",
                Format::Toml | Format::Yaml => "",
            });
        let cannot =
            || Failure(": it can't be changed without changing more than hookwire's part".into());
        let unreadable = |Failure(problem): Failure| Failure(format!(": {problem}"));
        let root = formats::parse(text, format)
            .map_err(|_| unreadable(value_of(text, format).err().unwrap_or_else(cannot)))?;
        if !root.to_json().is_object() {
            return Err(Failure(": it isn't an object".into()));
        }
        let (mut ops, mut added) = (Vec::new(), Vec::new());
        for (name, value) in self.managed.members_of(self.observe) {
            let steps = steps_of(name);
            match root.at(&steps) {
                Some(found) if found.to_json() == *value => {}
                Some(found) => {
                    let Position { line, column } = LineIndex::new(text).position(found.span.start);
                    return Err(Failure(format!(
                        ":{line}:{column}: `{name}` is {} there, and hookwire's entry holds only with {value}",
                        found.to_json()
                    )));
                }
                None => {
                    ops.push((steps, Op::Set(value.clone(), At::End)));
                    added.push(name.clone());
                }
            }
        }
        let after = rewritten(text, format, &ops).ok_or_else(cannot)?;
        let mut now = value_of(&after, format).map_err(unreadable)?;
        let ops = plan_additions(file, &mut now, &entries).map_err(unreadable)?;
        let after = rewritten(&after, format, &ops).ok_or_else(cannot)?;
        Ok((after, added))
    }

    /// The text of a file that is hookwire's alone.
    fn own_text(&self, file: &HookFile, entries: &[(&str, Value)]) -> Result<String, Failure> {
        let mut settings = Value::Object(file.own.clone().unwrap_or_default());
        for (name, value) in self.managed.members_of(self.observe) {
            set_pointer(
                &mut settings,
                &format!("/{}", name.replace('.', "/")),
                value.clone(),
            );
        }
        let hooks: Map<String, Value> = entries
            .iter()
            .map(|(event, entry)| (event.to_string(), json!([entry])))
            .collect();
        settings[&file.at] = hooks.into();
        let mut text = serde_json::to_string_pretty(&settings)?;
        text.push('\n');
        Ok(text)
    }
}

/// How a file is written.
pub(in crate::cli) fn format_of(path: &Path) -> Format {
    Format::from_path(path).unwrap_or_default()
}

/// The way to a member, with `.` between the names.
pub(in crate::cli) fn steps_of(name: &str) -> Vec<Step<'_>> {
    name.split('.').map(Step::Key).collect()
}

/// Whether a file stands where only root can change it and every user can read it, as far as the
/// way to it is there.
fn check_place(path: &Path) -> Result<(), Failure> {
    let told: Vec<String> = troubles_of(path, Use::Read)
        .iter()
        .filter(|it| !matches!(it, Trouble::Missing(_)))
        .map(Trouble::told)
        .collect();
    if !told.is_empty() {
        return Err(Failure(format!(
            "--managed: {}; nothing was written",
            told.join("; ")
        )));
    }
    if std::fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink()) {
        return Err(Failure(format!(
            "--managed: {}: it is a link, and a file is to be there; nothing was written",
            path.display()
        )));
    }
    Ok(())
}

/// A file without what hookwire has written: as it was before, if nobody has changed it since.
fn without_own(
    agent: &Agent,
    managed: &Managed,
    text: Option<&str>,
    known: Option<&Record>,
) -> Result<Without, Failure> {
    let unchanged = |text: Option<&str>| Without {
        text: text.map(str::to_string),
        left: Vec::new(),
        is_edited: false,
    };
    let (Some(now), Some(file)) = (text, agent.file()) else {
        return Ok(unchanged(None));
    };
    if let Some(known) = known.filter(|known| known.is_as_written(now)) {
        return Ok(unchanged(known.before.as_deref()));
    }
    let (path, format) = (
        Path::new(&managed.file),
        format_of(Path::new(&managed.file)),
    );
    let problem = |problem: String| {
        Failure(format!(
            "{}: {problem}; nothing was written",
            path.display()
        ))
    };
    if now.trim().is_empty() {
        return Ok(unchanged(text));
    }
    let settings = value_of(now, format).map_err(|Failure(why)| problem(why))?;
    let has_entries = listed_values(file, &settings).any(|value| has_own(agent, file, value));
    if managed.own {
        return Ok(match has_entries {
            true => Without {
                is_edited: true,
                ..unchanged(None)
            },
            false => unchanged(text),
        });
    }
    let cannot =
        || problem("it can't be changed without changing more than hookwire's part".into());
    let after =
        rewritten(now, format, &plan_removals(agent, file, &settings)).ok_or_else(cannot)?;
    let is_ours = |name: &str, value: &Value| {
        let pointer = format!("/{}", name.replace('.', "/"));
        settings.pointer(&pointer) == Some(value)
    };
    let added = known.map(|known| &*known.added).unwrap_or_default();
    let ours = managed
        .members
        .iter()
        .filter(|(name, value)| is_ours(name, value));
    let (added, unknown): (Vec<_>, Vec<_>) =
        ours.partition(|(name, _)| added.iter().any(|it| it == name));
    let mut after = after;
    for (name, _) in added {
        after = rewritten(&after, format, &[(steps_of(name), Op::Remove)]).ok_or_else(cannot)?;
    }
    // Tables of TOML keep their heading when the last member goes.
    let heading = format!("[{}]\n\n", file.at);
    let had_heading = known
        .and_then(|known| known.before.as_deref())
        .is_none_or(|before| before.contains(&heading));
    let shorter = after.replacen(&heading, "", 1);
    if !had_heading && value_of(&shorter, format).ok() == value_of(&after, format).ok() {
        after = shorter;
    }
    let unknown = unknown.into_iter().filter(|_| has_entries);
    let left = unknown.map(|(name, value)| {
        format!("`{name}` is still {value}: nobody knows whether hookwire has written it")
    });
    let left = left.collect();
    let was_made = known.is_some_and(|known| known.before.is_none());
    let is_empty = match format {
        Format::Json => value_of(&after, format).is_ok_and(|it| it == json!({})),
        Format::Toml | Format::Yaml => after.trim().is_empty(),
    };
    Ok(Without {
        text: (!was_made || !is_empty).then_some(after),
        left,
        is_edited: false,
    })
}
