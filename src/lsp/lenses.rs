//! What stands above a hook: how to run it on a real event, and what it has done so far.

use super::commands::counted;
use super::document::Document;
use super::effects::{self, plain};
use super::run::{Past, newest_name, past};
use super::{Answer, Server, Snapshot, sample};
use crate::definitions::compile::Compiled;
use ls_types::{CodeLens, CodeLensParams, Command};
use serde_json::json;
use std::collections::HashSet;
use std::path::Path;

/// The longest outcome, in characters.
const MAX_OUTCOME: usize = 100;

pub(super) fn lenses(snapshot: &Snapshot, params: CodeLensParams) -> Answer<Option<Vec<CodeLens>>> {
    let server = &snapshot.server;
    let Some(document) = snapshot.document(&params.text_document.uri) else { return Ok(None) };
    let workspace = server.workspace(&document.path);
    let root = workspace.as_ref().map_or(Path::new("/"), |it| it.root());
    let past = past(server.live.recent(), root);
    let lines = document.lines();
    // Commands know a hook by its name: of two with one name, the first is meant.
    let mut names = HashSet::new();
    let mut lenses = Vec::new();
    for compiled in document.hooks() {
        let Some(name) = compiled.name.as_deref().filter(|name| names.insert(*name)) else { continue };
        let start = compiled.whole.start;
        let end_of_line = lines.index.offset_of_utf8(lines.index.utf8(start).0, usize::MAX);
        let range = lines.range(&(start..end_of_line.min(compiled.whole.end)));
        let argument = json!({ "uri": document.uri, "hook": name });
        lenses.extend(of(server, document, name, compiled, &past).into_iter().map(|(title, command)| CodeLens {
            range,
            command: Some(Command { title, command: command.into(), arguments: Some(vec![argument.clone()]) }),
            data: None,
        }));
    }
    Ok(Some(lenses))
}

/// The titles above a hook and the commands behind them, in order.
fn of(
    server: &Server,
    document: &Document,
    name: &str,
    compiled: &Compiled,
    past: &[Past],
) -> Vec<(String, &'static str)> {
    let mut lenses = Vec::new();
    let is_file_broken = document.checked().file.as_ref().is_some_and(|file| file.is_broken);
    if let Some(hook) = compiled.hook.as_ref().filter(|_| !is_file_broken) {
        let last = server.runs.last(document.uri.as_str(), name, &compiled.digest);
        lenses.extend(last.map(|outcome| (plain(&outcome, MAX_OUTCOME), "hookwire.explain")));
        let effects = effects::of(hook).map(|it| format!(": {it}")).unwrap_or_default();
        let run = match newest_name(hook, past) {
            Some(event) => format!("▶ run on last {}{effects}", plain(event, MAX_OUTCOME)),
            None => format!("▶ run on a sample {}{effects}", plain(sample::name(hook), MAX_OUTCOME)),
        };
        lenses.push((run, "hookwire.run"));
        lenses.push(("explain".into(), "hookwire.explain"));
    }
    let counts = counted(&server.live.counts(name), !past.is_empty() && compiled.hook.is_some());
    lenses.extend(counts.map(|counts| (counts, "hookwire.matches")));
    lenses
}
