//! The lenses above a hook: run it on a real event, and what it has done so far.

use super::document::{Document, Readable};
use super::past::{Past, Runs, newest_name};
use super::plain_text::{counts_in_words, one_line, plain_quotes};
use super::surroundings::Surroundings;
use super::{effects, sample};
use hookwire_base::syntax::diagnostic::Diagnostic;
use hookwire_engine::definitions::compile::Compiled;
use hookwire_engine::definitions::scan::NOT_TRUSTED;
use hookwire_engine::hook::Hook;
use hookwire_engine::journal::Counts;
use ls_types::{CodeLens, Command, Range};
use serde_json::json;
use std::collections::HashSet;

/// The most that stands above a hook, in characters: a line of an editor beside a tree.
const MAX_LINE: usize = 100;
/// The least that is left of an outcome.
const MIN_OUTCOME: usize = 24;
/// The longest name of an event.
const MAX_EVENT: usize = 40;

pub(super) fn code_lenses(
    document: &Document,
    around: &Surroundings<'_>,
    runs: &Runs,
) -> Vec<CodeLens> {
    let past = around.past();
    let lines = document.lines();
    let first_line = lines.range(&lines.first());
    let mut lenses: Vec<_> = around
        .distrust(&document.path)
        .iter()
        .map(|it| trust_lens(document, it, first_line))
        .collect();
    let Some(readable) = document.readable() else {
        return lenses;
    };
    // Commands know a hook by its name: of two with one name, the first is meant.
    let mut names = HashSet::new();
    for compiled in readable.document.hooks() {
        let Some(name) = compiled.name.as_deref().filter(|name| names.insert(*name)) else {
            continue;
        };
        if readable.part(&compiled.span).is_none() {
            continue;
        }
        let whole = readable.whole(&compiled.whole);
        let start = whole.start;
        let end_of_line = lines
            .index
            .offset_of_utf8(lines.index.utf8(start).0, usize::MAX);
        let range = lines.range(&(start..end_of_line.min(whole.end)));
        let argument = json!({ "uri": document.uri, "hook": name });
        let last = compiled
            .hook
            .as_ref()
            .and_then(|_| runs.last_result(document.uri.as_str(), name, &compiled.digest));
        let counts = around.live.hook_counts(&around.key(), name);
        let titles = lens_titles(&readable, compiled, &past, last, &counts).into_iter();
        lenses.extend(titles.map(|(title, command)| CodeLens {
            range,
            command: Some(Command {
                title,
                command: command.into(),
                arguments: Some(vec![argument.clone()]),
            }),
            data: None,
        }));
    }
    lenses
}

/// The lens above all hooks of a project that somebody has to look at before they count.
fn trust_lens(document: &Document, distrust: &Diagnostic, range: Range) -> CodeLens {
    let why = match &*distrust.code {
        NOT_TRUSTED => "Not in force: not trusted.",
        _ => "Not in force as they are now: changed since trusted.",
    };
    let argument = json!({ "uri": document.uri });
    let title = format!("{why} Review and trust");
    CodeLens {
        range,
        command: Some(Command {
            title,
            command: TRUST.into(),
            arguments: Some(vec![argument]),
        }),
        data: None,
    }
}

/// Has a person review what a project's definitions are, and puts them in force.
pub(super) const TRUST: &str = "hookwire.trust";

/// The titles above a hook and the commands behind them, in order.
fn lens_titles(
    readable: &Readable<'_>,
    compiled: &Compiled,
    past: &[Past],
    last_run: Option<String>,
    counts: &Counts,
) -> Vec<(String, &'static str)> {
    let mut lenses = Vec::new();
    let document = readable.document;
    let is_file_broken = document
        .checked()
        .file
        .as_ref()
        .is_some_and(|file| file.is_broken);
    let is_whole = compiled.hook.as_ref().filter(|_| !is_file_broken);
    if let Some(hook) = is_whole {
        if readable.is_present() {
            lenses.push((format!("▶ run {}", on_what(hook, past)), "hookwire.run"));
        }
        lenses.push(("explain".into(), "hookwire.explain"));
    }
    let counts = counts_in_words(counts, !past.is_empty() && compiled.hook.is_some());
    lenses.extend(counts.map(|counts| (counts, "hookwire.matches")));
    if let Some(outcome) = last_run.filter(|_| is_whole.is_some()) {
        let others: usize = lenses
            .iter()
            .map(|(title, _)| title.chars().count() + " | ".len())
            .sum();
        let outcome = one_line(
            &plain_quotes(&outcome),
            MAX_LINE.saturating_sub(others).max(MIN_OUTCOME),
        );
        lenses.insert(0, (outcome, "hookwire.explain"));
    }
    lenses
}

/// The event on which a hook would be run, and what that would do to the world.
pub(super) fn on_what(hook: &Hook, past: &[Past]) -> String {
    let effects = effects::of_running(hook)
        .map(|it| format!(": {it}"))
        .unwrap_or_default();
    match newest_name(hook, past) {
        Some(event) => format!("on last {}{effects}", one_line(event, MAX_EVENT)),
        None => format!(
            "on a sample {}{effects}",
            one_line(sample::event_name(hook), MAX_EVENT)
        ),
    }
}
