//! What stands above a hook: how to run it on a real event, and what it has done so far.

use super::commands::counted;
use super::document::Readable;
use super::effects::{self, plain};
use super::run::{Past, newest_name, past};
use super::{Answer, Server, Snapshot, sample};
use crate::definitions::compile::Compiled;
use crate::hook::Hook;
use ls_types::{CodeLens, CodeLensParams, Command};
use serde_json::json;
use std::collections::HashSet;

/// The longest outcome, in characters.
const MAX_OUTCOME: usize = 100;

pub(super) fn lenses(snapshot: &Snapshot, params: CodeLensParams) -> Answer<Option<Vec<CodeLens>>> {
    let server = &snapshot.server;
    let Some(document) = snapshot.document(&params.text_document.uri) else { return Ok(None) };
    let folder = server.folder(&document.path);
    let past = past(server, &document.path);
    let Some(readable) = document.readable() else { return Ok(Some(Vec::new())) };
    let lines = document.lines();
    // Commands know a hook by its name: of two with one name, the first is meant.
    let mut names = HashSet::new();
    let mut lenses = Vec::new();
    for compiled in readable.document.hooks() {
        let Some(name) = compiled.name.as_deref().filter(|name| names.insert(*name)) else { continue };
        if readable.part(&compiled.span).is_none() {
            continue;
        }
        let whole = readable.whole(&compiled.whole);
        let start = whole.start;
        let end_of_line = lines.index.offset_of_utf8(lines.index.utf8(start).0, usize::MAX);
        let range = lines.range(&(start..end_of_line.min(whole.end)));
        let argument = json!({ "uri": document.uri, "hook": name });
        lenses.extend(of(server, &readable, name, compiled, &past, &folder).into_iter().map(|(title, command)| {
            CodeLens {
                range,
                command: Some(Command { title, command: command.into(), arguments: Some(vec![argument.clone()]) }),
                data: None,
            }
        }));
    }
    Ok(Some(lenses))
}

/// The titles above a hook and the commands behind them, in order.
fn of(
    server: &Server,
    readable: &Readable<'_>,
    name: &str,
    compiled: &Compiled,
    past: &[Past],
    folder: &str,
) -> Vec<(String, &'static str)> {
    let mut lenses = Vec::new();
    let document = readable.document;
    let is_file_broken = document.checked().file.as_ref().is_some_and(|file| file.is_broken);
    if let Some(hook) = compiled.hook.as_ref().filter(|_| !is_file_broken) {
        let last = server.runs.last(document.uri.as_str(), name, &compiled.digest);
        lenses.extend(last.map(|outcome| (plain(&outcome, MAX_OUTCOME), "hookwire.explain")));
        if readable.is_present() {
            lenses.push((format!("▶ run {}", on_what(hook, past)), "hookwire.run"));
        }
        lenses.push(("explain".into(), "hookwire.explain"));
    }
    let counts = counted(&server.live.counts(folder, name), !past.is_empty() && compiled.hook.is_some());
    lenses.extend(counts.map(|counts| (counts, "hookwire.matches")));
    lenses
}

/// What running a hook would run it on, and what that would do to the world.
pub(super) fn on_what(hook: &Hook, past: &[Past]) -> String {
    let effects = effects::of(hook).map(|it| format!(": {it}")).unwrap_or_default();
    match newest_name(hook, past) {
        Some(event) => format!("on last {}{effects}", plain(event, MAX_OUTCOME)),
        None => format!("on a sample {}{effects}", plain(sample::name(hook), MAX_OUTCOME)),
    }
}
