//! Hooks that an agent never asks about: `install` doesn't register their events with it, or it has no such moment. A
//! definition that is in force and never asked would look like a guard.

use super::install::{Entry, InstallArgs};
use super::output::{Output, Tone, safe};
use crate::agents::{AGENTS, Agent};
use crate::dialects::EventRow;
use crate::event::{CUSTOM_PREFIX, On};
use crate::hook::Hook;
use crate::syntax::diagnostic::{Diagnostic, LineIndex};
use crate::syntax::problem::Problem;
use std::path::Path;
use std::sync::Arc;

/// An agent that asks hookwire in a project.
pub(super) struct Asker {
    agent: &'static Agent,
    /// The events that an earlier `install` didn't register.
    missing: Vec<&'static str>,
}

/// What a person should know of a hook.
pub(super) struct Note {
    pub(super) text: String,
    /// The agent has the moment. Otherwise the hook may well be meant for others.
    is_by_mistake: bool,
}

/// Why an agent doesn't ask about an event.
enum Why {
    /// It has no such moment.
    Unknown,
    /// It isn't registered there, for this reason.
    Unasked(&'static EventRow, &'static str),
    /// It was installed before that event was registered.
    Missing(&'static EventRow),
}

impl Asker {
    /// An agent with what its entries lack; an event is asked about if one of them names it.
    pub(super) fn new<'e>(agent: &'static Agent, entries: impl Iterator<Item = &'e Entry>) -> Option<Asker> {
        let lacks = |entry: &Entry| match entry {
            Entry::Asks { missing, .. } => Some(missing.clone()),
            Entry::Unreadable(_) => None,
        };
        let both = |one: Vec<&'static str>, other: Vec<_>| one.into_iter().filter(|it| other.contains(it)).collect();
        Some(Asker { agent, missing: entries.filter_map(lacks).reduce(both)? })
    }

    /// Why it doesn't ask about an event, if it doesn't.
    fn why(&self, event: &str) -> Option<Why> {
        let dialect = self.agent.dialect()?;
        let rows: Vec<&EventRow> = dialect.events.iter().filter(|row| row.is_for(event)).collect();
        let is_missing = |row: &&&'static EventRow| self.missing.contains(&row.name);
        match (rows.iter().find(|row| dialect.unasked(row.name).is_none()), rows.first()) {
            (Some(row), _) => Some(*row).filter(|row| is_missing(&row)).map(Why::Missing),
            (None, Some(row)) => dialect.unasked(row.name).map(|why| Why::Unasked(row, why)),
            (None, None) => Some(Why::Unknown),
        }
    }

    /// What a person should know of a hook: the events that the agent could tell of and isn't asked to, and whether it
    /// never asks about the hook at all.
    pub(super) fn notes(&self, hook: &Hook) -> Vec<Note> {
        let (On::Names(names), true) = (&hook.on, hook.enabled) else { return Vec::new() };
        let found: Vec<_> = names.iter().map(|name| (name, self.why(name))).collect();
        let agent = self.agent.name;
        if found.iter().all(|(_, why)| matches!(why, Some(Why::Unknown))) {
            let names: Vec<&str> = names.iter().map(|name| name.strip_prefix(CUSTOM_PREFIX).unwrap_or(name)).collect();
            let text = format!("`{}` never runs here: {agent} tells nobody of {}", hook.name, names.join(", "));
            return vec![Note { text, is_by_mistake: false }];
        }
        let text = |(_, why): &(&Arc<str>, Option<Why>)| match why {
            None | Some(Why::Unknown) => None,
            Some(Why::Unasked(row, why)) => Some(format!(
                "`{}` never runs at {}: {agent} isn't told to ask there, because {why}",
                hook.name, row.name
            )),
            Some(Why::Missing(row)) => Some(format!(
                "`{}` doesn't run at {}: {agent} isn't told to ask there; `hookwire install {agent}` tells it",
                hook.name, row.name
            )),
        };
        found.iter().filter_map(text).map(|text| Note { text, is_by_mistake: true }).collect()
    }
}

/// The agents that ask hookwire in a project, by its own configuration or the user's.
fn askers(root: &Path) -> Vec<Asker> {
    let of = |agent| {
        let entries = [false, true].into_iter().filter_map(|user| InstallArgs::of(agent, user, root).entry());
        let entries: Vec<Entry> = entries.collect();
        Asker::new(agent, entries.iter())
    };
    AGENTS.iter().filter_map(of).collect()
}

/// What is to be said of a hook: all notes of the agents, unless one of them asks about each of its events.
fn notes(askers: &[Asker], hook: &Hook) -> Vec<Note> {
    let notes: Vec<Vec<Note>> = askers.iter().map(|asker| asker.notes(hook)).collect();
    if notes.iter().any(Vec::is_empty) { Vec::new() } else { notes.into_iter().flatten().collect() }
}

/// A warning for each hook that the agents of a project don't ask about. The texts of the files give their places.
pub(super) fn warnings(hooks: &[Arc<Hook>], root: &Path, mut text_of: impl FnMut(&str) -> Arc<str>) -> Vec<Diagnostic> {
    let askers = askers(root);
    let mut found = Vec::new();
    for (hook, note) in hooks.iter().flat_map(|hook| notes(&askers, hook).into_iter().map(move |note| (hook, note))) {
        let text = text_of(&hook.source.file);
        let lines = LineIndex::new(&text);
        let (line, column) = (hook.source.line.saturating_sub(1), hook.source.column.saturating_sub(1));
        let start = lines.offset_of_utf8(line, 0);
        let rest = text.get(start..lines.offset_of_utf8(line, usize::MAX)).unwrap_or_default();
        let at = start + rest.char_indices().nth(column).map_or(0, |(at, _)| at);
        let problem = if note.is_by_mistake { Problem::warning } else { Problem::hint };
        let problem = problem(&(at..start + rest.len()), "never-asked", note.text);
        found.push(problem.to_diagnostic(&hook.source.file, &lines));
    }
    found
}

/// The same for people who are about to trust a project's hooks.
pub(super) fn tell(hooks: &[Arc<Hook>], root: &Path, out: &mut Output) {
    let askers = askers(root);
    for note in hooks.iter().flat_map(|hook| notes(&askers, hook)).filter(|_| !out.json).collect::<Vec<_>>() {
        let note = out.tone(Tone::Warn, &safe(&note.text));
        out.line(&note);
    }
}
