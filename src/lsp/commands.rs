//! `workspace/executeCommand`: everything that the editor can do with hooks beyond their text. What
//! a command gives back is for extensions; editors without one are told with `window/showMessage`.

use super::effects::plain;
use super::hints::{Orders, events_of};
use super::live::{self, Counts, Judged, LiveHost};
use super::run::{MAX_SUBJECT, MAX_TOLD, OfHook, closed, explain, run, show, subject};
use super::{Answer, Refusal, Server, Snapshot, off_the_reader};
use crate::contract::{Composition, Fail};
use crate::event::Phase;
use crate::hook::Hook;
use crate::host::Host;
use crate::support::nearest::closest;
use crate::syntax::diagnostic::Severity;
use crate::syntax::node::{Node, decode};
use crate::syntax::source::Layer;
use crate::verdict::{Decision, Outcome, Status};
use ls_types::{ExecuteCommandParams, MessageType, Position, Range, Uri};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// Every command.
pub const COMMANDS: [&str; 7] = [
    "hookwire.run",
    "hookwire.explain",
    "hookwire.matches",
    "hookwire.hooks",
    "hookwire.events",
    "hookwire.status",
    "hookwire.reload",
];

/// Carries a command out. Dropping the future ends what it has started.
pub async fn execute(snapshot: Snapshot, params: Value) -> Answer<Value> {
    let ExecuteCommandParams { command, arguments, .. } = super::typed(params)?;
    match command.as_str() {
        "hookwire.run" => as_value(&run(snapshot, argument(arguments)?).await?),
        "hookwire.explain" => {
            let of: OfHook = argument(arguments)?;
            as_value(&off_the_reader(move || explain(&snapshot, &of)).await?)
        }
        "hookwire.matches" => {
            let of: OfHook = argument(arguments)?;
            as_value(&off_the_reader(move || matches(&snapshot, &of)).await?)
        }
        "hookwire.hooks" => {
            let Nothing {} = argument(arguments)?;
            as_value(&off_the_reader(move || hooks(&snapshot)).await?)
        }
        "hookwire.events" => {
            let OfEvents { limit } = argument(arguments)?;
            let recent = snapshot.server.live.timeline();
            as_value(&json!({ "events": recent.iter().take(limit).map(|it| told(it)).collect::<Vec<_>>() }))
        }
        "hookwire.status" => {
            let Nothing {} = argument(arguments)?;
            Ok(status(&snapshot.server))
        }
        "hookwire.reload" => {
            let Nothing {} = argument(arguments)?;
            Ok(json!({ "reloaded": snapshot.server.live.reload().await }))
        }
        unknown => {
            let nearest = closest(unknown, COMMANDS).map(|it| format!("; did you mean `{it}`?")).unwrap_or_default();
            Err(Refusal::Failed(format!("unknown command `{}`{nearest}", plain(unknown, MAX_TOLD))))
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfEvents {
    /// At most so many.
    #[serde(default = "default_limit")]
    limit: usize,
}

fn default_limit() -> usize {
    50
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The one argument of a command, an object; where there is none, an empty one.
fn argument<T: DeserializeOwned>(mut arguments: Vec<Value>) -> Answer<T> {
    if arguments.len() > 1 {
        return Err(Refusal::Params(format!("`arguments` is a list of one object, found {}", arguments.len())));
    }
    let given = arguments.pop().filter(|it| !it.is_null()).unwrap_or_else(|| json!({}));
    decode(&Node::from_json(&given)).map_err(|error| {
        let path = if error.path.is_empty() { String::new() } else { format!(".{}", error.path) };
        let nearest = error.suggestion().map(|it| format!("; did you mean `{it}`?")).unwrap_or_default();
        Refusal::Params(format!("`arguments[0]{path}`: {}{nearest}", error.message))
    })
}

fn as_value(result: &impl Serialize) -> Answer<Value> {
    serde_json::to_value(result).map_err(|error| Refusal::Failed(error.to_string()))
}

/// An event as `hookwire.events` tells it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'j> {
    host: u32,
    seq: u64,
    at: &'j str,
    event: &'j str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'j str>,
    /// What it is about, in a few words.
    subject: String,
    decision: Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<&'j str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    micros: u64,
    outcomes: Vec<ToldOutcome<'j>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToldOutcome<'j> {
    hook: &'j str,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    duration_micros: u64,
}

fn told(judged: &Judged) -> Told<'_> {
    let Judged { folder: _, host, seq, at, event, verdict, truncated: _ } = judged;
    Told {
        host: *host,
        seq: *seq,
        at,
        event: &event.name,
        tool: event.tool_name(),
        subject: subject(event),
        decision: verdict.decision,
        decided_by: verdict.decided_by.as_deref(),
        reason: clipped(&verdict.reason),
        micros: verdict.outcomes.iter().fold(0, |sum, it| it.duration_micros.saturating_add(sum)),
        outcomes: verdict.outcomes.iter().map(told_outcome).collect(),
    }
}

fn told_outcome(outcome: &Outcome) -> ToldOutcome<'_> {
    ToldOutcome {
        hook: &outcome.hook,
        status: outcome.status,
        decision: outcome.decision,
        reason: clipped(&outcome.reason),
        error: clipped(&outcome.error),
        duration_micros: outcome.duration_micros,
    }
}

fn clipped(text: &Option<String>) -> Option<String> {
    text.as_deref().map(|text| plain(text, MAX_TOLD))
}

fn matches(snapshot: &Snapshot, OfHook { uri, hook }: &OfHook) -> Answer<Value> {
    let server = &snapshot.server;
    // Broken or not: what it has done, it has done.
    let document = match snapshot.document(uri) {
        Some(document) => document.clone(),
        None => closed(snapshot, uri)?,
    };
    let quoted = plain(hook, MAX_TOLD);
    if document.readable().is_none_or(|it| it.document.hook(hook).is_none()) {
        return Err(Refusal::Failed(format!("no hook `{quoted}` is in this file")));
    }
    let folder = server.folder(&document.path);
    let counts = server.live.counts(&folder, hook);
    let recent = server.live.recent(&folder);
    let ran: Vec<_> = recent.iter().filter_map(|it| Some((it, outcome_of(it, hook)?))).collect();
    let mut lines =
        vec![format!("{quoted}: {}", counted(&counts, !recent.is_empty()).unwrap_or("no event yet".into()))];
    lines.extend(ran.iter().take(5).map(|(judged, outcome)| line(judged, outcome)));
    show(server, MessageType::INFO, &lines.join("\n"));
    let events: Vec<_> = ran.iter().map(|(judged, _)| told(judged)).collect();
    Ok(json!({ "hook": hook, "counts": counts, "events": events }))
}

/// What came of a hook at an event, if it ran there.
fn outcome_of<'j>(judged: &'j Judged, hook: &str) -> Option<&'j Outcome> {
    judged.verdict.outcomes.iter().find(|it| *it.hook == *hook && it.status != Status::Skipped)
}

fn line(judged: &Judged, outcome: &Outcome) -> String {
    let what = match (outcome.decision, &outcome.error) {
        (_, Some(error)) => plain(error, MAX_SUBJECT),
        (Some(decision), None) => decision.as_str().into(),
        (None, None) => "no opinion".into(),
    };
    format!("{} {} {}: {what}", judged.at, judged.event.name, subject(&judged.event))
}

/// What a hook has done; `None` when no event was seen at all.
pub(super) fn counted(counts: &Counts, was_any_seen: bool) -> Option<String> {
    let Counts { matched, denied, asked, rewrote, failed } = *counts;
    let matched = match matched {
        0 => None,
        1 => Some("matched once".to_string()),
        n => Some(format!("matched {n} times")),
    };
    let others = [("denied", denied), ("asked", asked), ("rewrote", rewrote), ("failed", failed)];
    let others = others.into_iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{what} {n}"));
    let parts: Vec<_> = matched.into_iter().chain(others).collect();
    match parts.len() {
        0 => was_any_seen.then(|| "never matched".into()),
        _ => Some(parts.join(", ")),
    }
}

/// A hook as `hookwire.hooks` tells it.
#[derive(Serialize)]
struct Listed {
    name: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    on: Vec<Arc<str>>,
    handler: &'static str,
    layer: Layer,
    uri: Option<Uri>,
    range: Range,
    order: Vec<Ordered>,
    composition: Composition,
    fail: Fail,
    enabled: bool,
    dialect: &'static str,
    counts: Counts,
}

#[derive(Serialize)]
struct Ordered {
    event: Arc<str>,
    place: usize,
    of: usize,
}

fn hooks(snapshot: &Snapshot) -> Answer<Value> {
    let server = &snapshot.server;
    let root = |workspace: &Arc<Host>| {
        let set = workspace.hooks();
        let mut orders = Orders::new(set.clone());
        let folder = live::folder(workspace.root());
        let hooks: Vec<_> = set.hooks.iter().map(|hook| listed(snapshot, &folder, hook, &mut orders)).collect();
        json!({ "root": workspace.root(), "hooks": hooks })
    };
    Ok(json!({ "roots": server.workspaces().iter().map(root).collect::<Vec<_>>() }))
}

fn listed(snapshot: &Snapshot, folder: &str, hook: &Arc<Hook>, orders: &mut Orders) -> Listed {
    let order = events_of(hook, orders.hooks()).into_iter().filter_map(|event| {
        let (place, of) = orders.place(hook, &event)?;
        Some(Ordered { event, place, of })
    });
    let source = &hook.source;
    let uri = Uri::from_file_path(&*source.file);
    let open = snapshot.documents.values().find(|it| *it.file() == *source.file);
    let place = |document: &super::Document| {
        let readable = document.readable()?;
        let span = readable.part(&readable.document.hook(&hook.name)?.span)?;
        Some(document.lines().range(&span))
    };
    let range = match open.and_then(|document| place(document)) {
        Some(range) => range,
        None => {
            // Columns of a file that isn't open: nothing but indentation stands before a hook.
            let count = |n: usize| n.saturating_sub(1).try_into().unwrap_or(u32::MAX);
            let start = Position::new(count(source.line), count(source.column));
            Range::new(start, start)
        }
    };
    Listed {
        name: hook.name.clone(),
        description: hook.description.clone(),
        on: hook.on.names(),
        handler: hook.handler.key(),
        layer: source.layer,
        uri,
        range,
        order: order.collect(),
        composition: hook.contract.composition,
        fail: hook.fail_at(if hook.on.includes_a_gate() { Phase::Gate } else { Phase::After }),
        enabled: hook.enabled,
        dialect: hook.contract.dialect,
        counts: snapshot.server.live.counts(folder, &hook.name),
    }
}

/// What `hookwire.status` gives.
#[derive(Serialize)]
struct Standing {
    version: &'static str,
    hosts: Vec<LiveHost>,
    hooks: usize,
    errors: usize,
    warnings: usize,
    events: u64,
}

/// Which hosts are attached, and how the definitions stand.
pub(super) fn status(server: &Server) -> Value {
    let published: Vec<_> = server.workspaces().iter().map(|it| it.published()).collect();
    // Folders have the machine's and the user's definitions in common.
    let hooks: HashSet<_> =
        published.iter().flat_map(|it| &it.hooks.hooks).map(|hook| (&hook.source.file, hook.source.position)).collect();
    let mut diagnostics = HashSet::new();
    let (mut errors, mut warnings) = (0, 0);
    for it in published.iter().flat_map(|it| it.diagnostics.iter()) {
        if diagnostics.insert((&it.file, it.span.start, &it.code, &it.message)) {
            match it.severity {
                Severity::Error => errors += 1,
                Severity::Warning => warnings += 1,
                Severity::Hint => {}
            }
        }
    }
    let standing = Standing {
        version: env!("CARGO_PKG_VERSION"),
        hosts: server.live.hosts(),
        hooks: hooks.len(),
        errors,
        warnings,
        events: server.live.total(),
    };
    serde_json::to_value(standing).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsp::run::tests::judged;

    #[test]
    fn counts_in_words() {
        let counts = |matched, denied, asked, rewrote, failed| Counts { matched, denied, asked, rewrote, failed };
        for (counts, was_any_seen, expected) in [
            (counts(0, 0, 0, 0, 0), false, None),
            (counts(0, 0, 0, 0, 0), true, Some("never matched")),
            (counts(1, 0, 0, 0, 0), true, Some("matched once")),
            (counts(12, 2, 0, 0, 0), true, Some("matched 12 times, denied 2")),
            (counts(9, 0, 1, 2, 3), false, Some("matched 9 times, asked 1, rewrote 2, failed 3")),
        ] {
            assert_eq!(counted(&counts, was_any_seen).as_deref(), expected);
        }
    }

    #[test]
    fn events_are_told_in_short() {
        let judged = judged(
            7,
            json!({ "event": "PreToolUse", "tool": { "name": "Bash", "input": { "command": "git push\u{202e}" } } }),
            json!([
                { "hook": "a", "status": "skipped", "durationMicros": 1 },
                { "hook": "b", "status": "blocking", "decision": "deny", "reason": "no\nnever", "durationMicros": 41 },
                { "hook": "c", "status": "non_blocking_error", "error": "failed to run", "durationMicros": 1 },
            ]),
        );
        let told = serde_json::to_value(told(&judged)).unwrap();
        assert_eq!(
            told,
            json!({
                "host": 1, "seq": 7, "at": "2030-01-02T03:04:05.678Z", "event": "PreToolUse", "tool": "Bash",
                "subject": "Bash git push\\u{202e}", "decision": "deny", "decidedBy": "b", "micros": 43,
                "outcomes": [
                    { "hook": "a", "status": "skipped", "durationMicros": 1 },
                    { "hook": "b", "status": "blocking", "decision": "deny", "reason": "no never", "durationMicros": 41 },
                    { "hook": "c", "status": "non_blocking_error", "error": "failed to run", "durationMicros": 1 },
                ],
            })
        );
        let line = |hook| outcome_of(&judged, hook).map(|outcome| line(&judged, outcome));
        assert_eq!(line("a"), None, "it didn't run");
        assert_eq!(line("b").unwrap(), "2030-01-02T03:04:05.678Z PreToolUse Bash git push\\u{202e}: deny");
        assert!(line("c").unwrap().ends_with(": failed to run"));
    }
}
