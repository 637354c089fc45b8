//! What `install` and `uninstall` would change: an agent's files as they are, and as they are to be.

use super::super::kept::{Before, Kept};
use super::super::own::{
    Whose, events_of, has_own, own_entry, plugin_with, whose_plugin, whose_program,
};
use super::super::{Failure, kept};
use super::entry::{handlers_of, is_own_line, listed_in, listed_values, not_so};
use super::read::{is_link, read_file, value_of};
use super::{InstallArgs, Missing};
use hookwire_base::syntax::formats::Format;
use hookwire_base::syntax::node::Step;
use hookwire_base::syntax::writer::{At, Op, rewritten};
use hookwire_rules::agents::{Agent, Form, HookFile};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A file of an agent's configuration, as it is and as it is to be; nothing if it isn't there.
pub(in crate::cli) struct Change {
    pub(in crate::cli) path: PathBuf,
    pub(in crate::cli) before: Option<String>,
    pub(in crate::cli) after: Option<String>,
    /// The commands that are written.
    pub(in crate::cli) commands: Vec<String>,
    /// Entries of hookwire's are there.
    pub(in crate::cli) had_own: bool,
    pub(in crate::cli) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Kind {
    /// Others' settings with our entries.
    Settings,
    /// All of it is hookwire's.
    Own,
    /// The same, to be executed.
    Program,
}

impl InstallArgs {
    /// Whether `install` would change anything.
    ///
    /// # Errors
    /// The entry can't be written there; why.
    pub(in crate::cli) fn would_change(&self) -> Result<bool, Failure> {
        let changes = self.plan_changes(true)?;
        Ok(changes.iter().any(|change| change.before != change.after))
    }

    pub(super) fn plan_changes(&self, install: bool) -> Result<Vec<Change>, Failure> {
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
    pub(super) fn find_restored(
        &self,
        path: &Path,
        text: Option<&str>,
        kind: Kind,
    ) -> Option<Before> {
        let path = if kind == Kind::Settings {
            kept::real_path(path)?
        } else {
            path.to_path_buf()
        };
        Kept::of_file(&path)?.text_before(text?)
    }

    /// The programs in a directory, one an event.
    pub(super) fn program_changes(
        &self,
        dir: &Path,
        install: bool,
    ) -> Result<Vec<Change>, Failure> {
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
    pub(super) fn plugin_change(&self, path: PathBuf, install: bool) -> Result<Change, Failure> {
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
    pub(super) fn change_settings(
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

    /// Whether hookwire's status line would take the place of nobody's.
    pub(super) fn check_status_line(&self) -> Result<(), Failure> {
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
}

/// What takes our handlers out, and what is empty then. The last ones go first: the others keep
/// their positions.
pub(in crate::cli) fn plan_removals<'s>(
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
pub(in crate::cli) fn plan_additions<'s>(
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

/// The members that `install` has added to a file which was there before, and which the file must
/// have.
pub(super) fn added_members(kept: &Kept, file: &HookFile, format: Format) -> Vec<String> {
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

/// Whether settings without a member may hold a person's remarks.
pub(super) fn has_comment(text: &str, format: Format) -> bool {
    format == Format::Toml && !text.trim().is_empty()
}
