//! Hooks that an agent never asks about: `install` doesn't register their events with it, or it has
//! no such moment. A definition that is in force and never asked would look like a guard.

use super::install::{Entry, InstallArgs};
use super::output::{Output, Tone, safe};
use super::own::dialect_of;
use hookwire_base::event::{CUSTOM_PREFIX, On};
use hookwire_base::syntax::diagnostic::{Diagnostic, LineIndex};
use hookwire_base::syntax::problem::Problem;
use hookwire_dialects::EventRow;
use hookwire_engine::hook::Hook;
use hookwire_handlers::handlers::Handler;
use hookwire_rules::agents::{AGENTS, Agent};
use std::path::Path;
use std::sync::Arc;

/// An agent that asks hookwire in a project.
pub(super) struct Asker {
    agent: &'static Agent,
    /// The events that an earlier `install` didn't register.
    missing: Vec<&'static str>,
}

/// A note about a hook for people. There is one note, however many agents don't ask about the hook.
pub(super) struct Note {
    pub(super) text: String,
    /// An agent has the moment. Otherwise the hook may well be meant for others.
    is_by_mistake: bool,
}

/// Why an agent doesn't ask about a hook.
struct Reason {
    agent: &'static str,
    /// Before the agents' names, and behind them: of one, of several. Agents with the same ones are
    /// told together.
    text: (String, [String; 2]),
    is_by_mistake: bool,
}

/// Why an agent doesn't ask about an event.
enum Why {
    /// It has no such moment.
    Unknown,
    /// It isn't registered there, for this reason.
    Unasked(String, &'static str),
    /// It was installed before that event was registered.
    Missing(&'static EventRow),
}

impl Asker {
    /// An agent with what its entries lack; an event is asked about if one of them names it.
    pub(super) fn new<'e>(
        agent: &'static Agent,
        entries: impl Iterator<Item = &'e Entry>,
    ) -> Option<Asker> {
        Some(Asker {
            agent,
            missing: entries
                .filter_map(|entry| match entry {
                    Entry::Asks { missing, .. } => Some(missing.clone()),
                    Entry::Unreadable(_) => None,
                })
                .reduce(|one, other| one.into_iter().filter(|it| other.contains(it)).collect())?,
        })
    }

    /// Why it doesn't ask about an event, if it doesn't.
    fn why_unasked(&self, event: &str) -> Option<Why> {
        let dialect = dialect_of(self.agent)?;
        let rows: Vec<&EventRow> = dialect
            .events
            .iter()
            .filter(|row| row.is_for(event))
            .collect();
        match (
            rows.iter()
                .find(|row| dialect.why_unasked(row.name).is_none()),
            rows.first(),
        ) {
            (Some(row), _) => Some(*row)
                .filter(|row| self.missing.contains(&row.name))
                .map(Why::Missing),
            (None, Some(row)) => dialect
                .why_unasked(row.name)
                .map(|why| Why::Unasked(row.name.to_string(), why)),
            // It may have an event of its own of which nothing is said elsewhere.
            (None, None) => {
                let name = event.strip_prefix(CUSTOM_PREFIX).unwrap_or(event);
                let why = dialect.why_unasked(name);
                Some(why.map_or(Why::Unknown, |why| Why::Unasked(name.to_string(), why)))
            }
        }
    }

    /// The events that the agent could tell of and isn't asked to, or that it never asks about the
    /// hook at all.
    fn unasked_reasons(&self, hook: &Hook) -> Vec<Reason> {
        let (On::Names(names), true) = (&hook.on, hook.enabled) else {
            return Vec::new();
        };
        let found: Vec<_> = names
            .iter()
            .map(|name| (name, self.why_unasked(name)))
            .collect();
        let agent = self.agent.name;
        if found
            .iter()
            .all(|(_, why)| matches!(why, Some(Why::Unknown)))
        {
            let names: Vec<&str> = names
                .iter()
                .map(|name| name.strip_prefix(CUSTOM_PREFIX).unwrap_or(name))
                .collect();
            let behind =
                ["tells", "tell"].map(|verb| format!(" {verb} nobody of {}", names.join(", ")));
            return vec![Reason {
                agent,
                text: ("never runs here: ".into(), behind),
                is_by_mistake: false,
            }];
        }
        let text = |(_, why): &(&Arc<str>, Option<Why>)| match why {
            None | Some(Why::Unknown) => None,
            Some(Why::Unasked(name, why)) => Some((
                format!("never runs at {name}: "),
                ["isn't", "aren't"].map(|verb| format!(" {verb} told to ask there, because {why}")),
            )),
            Some(Why::Missing(row)) => Some((
                format!("doesn't run at {}: ", row.name),
                [
                    format!(" isn't told to ask there; `hookwire install {agent}` tells it"),
                    " aren't told to ask there; `hookwire install AGENT` tells each".into(),
                ],
            )),
        };
        found
            .iter()
            .filter_map(text)
            .map(|text| Reason {
                agent,
                text,
                is_by_mistake: true,
            })
            .collect()
    }
}

/// One note about the events of a hook at which these agents don't ask.
pub(super) fn unasked_note(askers: &[Asker], hook: &Hook) -> Option<Note> {
    one_note(
        askers
            .iter()
            .flat_map(|asker| asker.unasked_reasons(hook))
            .collect(),
        hook,
    )
}

fn one_note(reasons: Vec<Reason>, hook: &Hook) -> Option<Note> {
    let mut told: Vec<(&Reason, Vec<&str>)> = Vec::new();
    for reason in &reasons {
        // Of one agent's text, what several say of themselves is the same.
        match told
            .iter_mut()
            .find(|(it, _)| (&it.text.0, &it.text.1[1]) == (&reason.text.0, &reason.text.1[1]))
        {
            Some((_, agents)) => agents.push(reason.agent),
            None => told.push((reason, vec![reason.agent])),
        }
    }
    let told: Vec<String> = told
        .iter()
        .map(
            |(
                Reason {
                    text: (before, [one, several]),
                    ..
                },
                agents,
            )| {
                format!(
                    "{before}{}{}",
                    agents.join(", "),
                    if agents.len() == 1 { one } else { several }
                )
            },
        )
        .collect();
    (!told.is_empty()).then(|| Note {
        text: format!("`{}` {}", hook.name, told.join("; it ")),
        is_by_mistake: reasons.iter().any(|reason| reason.is_by_mistake),
    })
}

/// The agents that ask hookwire in a project, by its own configuration or the user's.
fn find_askers(root: &Path) -> Vec<Asker> {
    AGENTS
        .iter()
        .filter_map(|agent| {
            let entries: Vec<Entry> = InstallArgs::for_each_place(agent, root)
                .iter()
                .filter_map(InstallArgs::entry)
                .collect();
            Asker::new(agent, entries.iter())
        })
        .collect()
}

/// A note about a hook; none if one of the agents asks about each of its events.
fn unless_asked(askers: &[Asker], hook: &Hook) -> Option<Note> {
    let reasons: Vec<Vec<Reason>> = askers
        .iter()
        .map(|asker| asker.unasked_reasons(hook))
        .collect();
    if reasons.iter().any(Vec::is_empty) {
        None
    } else {
        one_note(reasons.into_iter().flatten().collect(), hook)
    }
}

/// A warning for each hook that the agents of a project don't ask about. The texts of the files
/// give their places.
pub(super) fn unasked_warnings(
    hooks: &[Arc<Hook>],
    root: &Path,
    mut text_of: impl FnMut(&str) -> Arc<str>,
) -> Vec<Diagnostic> {
    let askers = find_askers(root);
    let mut found = Vec::new();
    for (hook, note) in hooks
        .iter()
        .filter_map(|hook| Some((hook, unless_asked(&askers, hook)?)))
    {
        let text = text_of(&hook.source.file);
        let lines = LineIndex::new(&text);
        let (line, column) = (
            hook.source.line.saturating_sub(1),
            hook.source.column.saturating_sub(1),
        );
        let start = lines.offset_of_utf8(line, 0);
        let rest = text
            .get(start..lines.offset_of_utf8(line, usize::MAX))
            .unwrap_or_default();
        let at = start + rest.char_indices().nth(column).map_or(0, |(at, _)| at);
        let problem = if note.is_by_mistake {
            Problem::warning
        } else {
            Problem::hint
        };
        let problem = problem(&(at..start + rest.len()), "never-asked", note.text);
        let problem = match handler_instead(hook).filter(|_| !note.is_by_mistake) {
            Some(help) => problem.help(help),
            None => problem,
        };
        found.push(problem.to_diagnostic(&hook.source.file, &lines));
    }
    found
}

/// What a hook may do instead, for agents that have no moment for it.
fn handler_instead(hook: &Hook) -> Option<&'static str> {
    let Handler::Guard(guard) = &hook.handler else {
        return None;
    };
    match guard.name() {
        "step-limit" => Some("with `on: PreToolUse` it counts tool calls"),
        "token-limit" | "cost-limit" => Some(
            "an agent that doesn't tell what its model calls use can be held to a number of tool calls: `step-limit`",
        ),
        _ => None,
    }
}

/// Prints the notes for people who are about to trust a project's hooks.
pub(super) fn print_notes(hooks: &[Arc<Hook>], root: &Path, out: &mut Output) {
    let askers = find_askers(root);
    for note in hooks
        .iter()
        .filter_map(|hook| unless_asked(&askers, hook))
        .filter(|_| !out.json)
        .collect::<Vec<_>>()
    {
        let note = out.tone(Tone::Warn, &safe(&note.text));
        out.line(&note);
    }
}
