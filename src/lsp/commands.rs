//! `workspace/executeCommand`: everything that the editor can do with hooks beyond their text. What
//! a command gives back is for extensions; editors without one are told with `window/showMessage`.

use super::answer::{Answer, Refusal, off_the_reader, typed};
use super::hints::Orders;
use super::listed::{groups, listed_event, listed_hook};
use super::live::Judged;
use super::past::{MAX_SUBJECT, subject};
use super::plain_text::{MAX_QUOTED, counts_in_words, number_of, one_line};
use super::project::Project;
use super::run::{OfHook, closed, explain, run};
use super::server::Snapshot;
use super::standing::status;
use crate::support::nearest::closest;
use crate::syntax::node::{Node, decode};
use crate::verdict::{Outcome, Status};
use ls_types::{ExecuteCommandParams, MessageType};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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
    let ExecuteCommandParams { command, arguments, .. } = typed(params)?;
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
            as_value(&json!({ "events": recent.iter().take(limit).map(|it| listed_event(it)).collect::<Vec<_>>() }))
        }
        "hookwire.status" => {
            let Nothing {} = argument(arguments)?;
            Ok(status(&snapshot.server.workspaces, &snapshot.server.live))
        }
        "hookwire.reload" => {
            let Nothing {} = argument(arguments)?;
            let reloaded = snapshot.server.live.reload().await;
            let summary = match reloaded {
                0 => "no host is attached: nothing to reload".into(),
                1 => "1 running host loaded its definitions".into(),
                n => format!("{n} running hosts loaded their definitions"),
            };
            Ok(json!({ "reloaded": reloaded, "summary": summary }))
        }
        unknown => {
            let nearest = closest(unknown, COMMANDS).map(|it| format!("; did you mean `{it}`?")).unwrap_or_default();
            Err(Refusal::Failed(format!("unknown command `{}`{nearest}", one_line(unknown, MAX_QUOTED))))
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

fn matches(snapshot: &Snapshot, OfHook { uri, hook }: &OfHook) -> Answer<Value> {
    let server = &snapshot.server;
    // Broken or not: what it has done, it has done.
    let document = match snapshot.document(uri) {
        Some(document) => document.clone(),
        None => closed(snapshot, uri)?,
    };
    let quoted = one_line(hook, MAX_QUOTED);
    if document.readable().is_none_or(|it| it.document.hook(hook).is_none()) {
        return Err(Refusal::Failed(format!("no hook `{quoted}` is in this file")));
    }
    let key = snapshot.around(&document.path).key();
    let counts = server.live.counts(&key, hook);
    let recent = server.live.recent(&key);
    let ran: Vec<_> = recent.iter().filter_map(|it| Some((it, outcome_of(it, hook)?))).collect();
    let mut lines =
        vec![format!("{quoted}: {}", counts_in_words(&counts, !recent.is_empty()).unwrap_or("no event yet".into()))];
    lines.extend(ran.iter().take(5).map(|(judged, outcome)| line(judged, outcome)));
    server.editor.show(MessageType::INFO, &lines.join("\n"));
    let events: Vec<_> = ran.iter().map(|(judged, _)| listed_event(judged)).collect();
    Ok(json!({ "hook": hook, "counts": counts, "events": events }))
}

/// The outcome of a hook at an event, if it ran there.
fn outcome_of<'j>(judged: &'j Judged, hook: &str) -> Option<&'j Outcome> {
    judged.verdict.outcomes.iter().find(|it| *it.hook == *hook && it.status != Status::Skipped)
}

fn line(judged: &Judged, outcome: &Outcome) -> String {
    let what = match (outcome.decision, &outcome.error) {
        (_, Some(error)) => one_line(error, MAX_SUBJECT),
        (Some(decision), None) => decision.as_str().into(),
        (None, None) => "no opinion".into(),
    };
    format!("{} {} {}: {what}", judged.at, judged.event.name, subject(&judged.event))
}

fn hooks(snapshot: &Snapshot) -> Answer<Value> {
    let server = &snapshot.server;
    let root = |project: &Project| {
        let set = project.hooks();
        let mut orders = Orders::new(set.clone());
        let around = server.around(&snapshot.documents, Some(project.clone()));
        let hooks: Vec<_> = set.hooks.iter().map(|hook| listed_hook(hook, &mut orders, &around)).collect();
        json!({ "root": project.root(), "groups": groups(&hooks), "summary": number_of(hooks.len(), "hook"), "hooks": hooks })
    };
    Ok(json!({ "roots": server.workspaces().iter().map(root).collect::<Vec<_>>() }))
}

#[cfg(test)]
mod tests {
    use super::super::past::tests::judged;
    use super::*;

    #[test]
    fn a_hooks_part_in_an_event_is_one_line() {
        let judged = judged(
            7,
            json!({ "event": "PreToolUse", "tool": { "name": "Bash", "input": { "command": "git push\u{202e}" } } }),
            json!([
                { "hook": "a", "status": "skipped", "durationMicros": 1 },
                { "hook": "b", "status": "blocking", "decision": "deny", "reason": "no\nnever", "durationMicros": 41 },
                { "hook": "c", "status": "non_blocking_error", "error": "failed to run", "durationMicros": 1 },
            ]),
        );
        let line = |hook| outcome_of(&judged, hook).map(|outcome| line(&judged, outcome));
        assert_eq!(line("a"), None, "it didn't run");
        assert_eq!(line("b").unwrap(), "2030-01-02T03:04:05.678Z PreToolUse Bash git push\\u{202e}: deny");
        assert!(line("c").unwrap().ends_with(": failed to run"));
    }
}
