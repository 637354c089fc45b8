//! `workspace/executeCommand`: everything that the editor can do with hooks beyond their text. What
//! a command gives back is for extensions; editors without one are told with `window/showMessage`.

use super::answer::{Answer, Refusal, off_the_reader, typed_params};
use super::hints::Orders;
use super::lenses::TRUST;
use super::listed::{group_by_event, group_by_file, listed_event, listed_hook};
use super::live::Judged;
use super::past::MAX_SUBJECT;
use super::plain_text::{MAX_QUOTED, counts_in_words, one_line, plain_quotes};
use super::project::Project;
use super::report::{Report, Row, outcome_in_words, tone_of_outcome};
use super::run::{OfEvent, OfHook, closed_document, explain_hook, run_hook};
use super::server::Snapshot;
use super::standing::workspace_status;
use super::timeline::{OfEvents, Redacting, build_timeline};
use super::trusting::trust_project;
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::nearest::{closest, did_you_mean};
use hookwire_base::syntax::node::{Node, decode};
use hookwire_base::verdict::{Outcome, Status};
use hookwire_engine::running;
use ls_types::{ExecuteCommandParams, MessageType};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Every command.
pub const COMMANDS: [&str; 9] = [
    "hookwire.run",
    "hookwire.explain",
    "hookwire.matches",
    "hookwire.hooks",
    "hookwire.events",
    "hookwire.event",
    "hookwire.status",
    "hookwire.reload",
    TRUST,
];

/// Carries a command out. Dropping the future ends what it has started.
pub async fn execute_command(snapshot: Snapshot, params: Value) -> Answer<Value> {
    // Editors show why not as it is.
    carry_out(snapshot, params)
        .await
        .map_err(|refusal| match refusal {
            Refusal::Failed(why) => Refusal::Failed(plain_quotes(&why)),
            other => other,
        })
}

async fn carry_out(snapshot: Snapshot, params: Value) -> Answer<Value> {
    let ExecuteCommandParams {
        command, arguments, ..
    } = typed_params(params)?;
    match command.as_str() {
        "hookwire.run" => as_value(&run_hook(snapshot, only_argument(arguments)?).await?),
        "hookwire.explain" => {
            let of: OfHook = only_argument(arguments)?;
            as_value(&off_the_reader(move || explain_hook(&snapshot, &of)).await?)
        }
        "hookwire.matches" => {
            let of: OfHook = only_argument(arguments)?;
            as_value(&off_the_reader(move || show_matches(&snapshot, &of)).await?)
        }
        "hookwire.hooks" => {
            let of: OfHooks = only_argument(arguments)?;
            as_value(&off_the_reader(move || list_hooks(&snapshot, of.event)).await?)
        }
        "hookwire.events" => {
            let of: OfEvents = only_argument(arguments)?;
            let redacting = Redacting::in_projects(&snapshot.server.workspaces());
            as_value(&build_timeline(
                &snapshot.server.live.timeline(),
                &redacting,
                &of,
            ))
        }
        "hookwire.event" => {
            let of: OfEvent = only_argument(arguments)?;
            let judged = of.find_event(&snapshot.server.live)?;
            let is_redacted = Redacting::in_projects(&snapshot.server.workspaces())
                .has_redacted(&judged.folder, &judged.verdict);
            let event = listed_event(&judged, is_redacted);
            as_value(&json!({ "event": event, "report": Report::of_event(&judged, is_redacted) }))
        }
        "hookwire.status" => {
            let Nothing {} = only_argument(arguments)?;
            Ok(workspace_status(
                &snapshot.server.workspaces,
                &snapshot.server.live,
            ))
        }
        "hookwire.reload" => {
            let Nothing {} = only_argument(arguments)?;
            let reloaded = off_the_reader(move || {
                let hosts = snapshot.server.workspaces.hosts().unwrap_or_default();
                Ok(running::ask(hosts, "hooks/reload")
                    .into_iter()
                    .filter(|(_, reply)| reply.is_ok())
                    .count())
            })
            .await?;
            let summary = match reloaded {
                0 => "no host is attached: nothing to reload".into(),
                1 => "1 running host loaded its definitions".into(),
                n => format!("{n} running hosts loaded their definitions"),
            };
            Ok(json!({ "reloaded": reloaded, "summary": summary }))
        }
        TRUST => trust_project(snapshot, only_argument(arguments)?).await,
        unknown => {
            let nearest = did_you_mean(closest(unknown, COMMANDS));
            Err(Refusal::Failed(format!(
                "unknown command `{}`{nearest}",
                one_line(unknown, MAX_QUOTED)
            )))
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfHooks {
    /// Only those that are for this event.
    event: Option<OfEvent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The one argument of a command, an object; where there is none, an empty one.
fn only_argument<T: DeserializeOwned>(mut arguments: Vec<Value>) -> Answer<T> {
    if arguments.len() > 1 {
        return Err(Refusal::Params(format!(
            "`arguments` is a list of one object, found {}",
            arguments.len()
        )));
    }
    let given = arguments
        .pop()
        .filter(|argument| !argument.is_null())
        .unwrap_or_else(|| json!({}));
    decode(&Node::from_json(&given)).map_err(|error| {
        let path = if error.path.is_empty() {
            String::new()
        } else {
            format!(".{}", error.path)
        };
        let nearest = did_you_mean(error.suggestion());
        Refusal::Params(format!("`arguments[0]{path}`: {}{nearest}", error.message))
    })
}

fn as_value(result: &impl Serialize) -> Answer<Value> {
    serde_json::to_value(result).map_err(|error| Refusal::Failed(error.to_string()))
}

fn show_matches(snapshot: &Snapshot, OfHook { uri, hook }: &OfHook) -> Answer<Value> {
    let server = &snapshot.server;
    // Broken or not: what it has done, it has done.
    let document = match snapshot.document(uri) {
        Some(document) => document.clone(),
        None => closed_document(snapshot, uri)?,
    };
    let quoted = one_line(hook, MAX_QUOTED);
    if document
        .readable()
        .is_none_or(|readable| readable.document.hook(hook).is_none())
    {
        return Err(Refusal::Failed(format!(
            "no hook `{quoted}` is in this file"
        )));
    }
    let key = snapshot.surroundings_of(&document.path).key();
    let counts = server.live.hook_counts(&key, hook);
    let recent = server.live.recent_events(&key);
    let ran: Vec<_> = recent
        .iter()
        .filter_map(|it| Some((it, outcome_of(it, hook)?)))
        .collect();
    let redacting = Redacting::in_projects(&server.workspaces());
    if server.abilities.panel {
        let rows = ran
            .iter()
            .take(MAX_ROWS)
            .map(|(judged, outcome)| outcome_row(judged, outcome, &redacting.event_subject(judged)))
            .collect();
        let report = Report::of_counts(hook, &counts, rows, !recent.is_empty());
        return Ok(json!({ "hook": hook, "counts": counts, "report": report }));
    }
    let mut lines = vec![format!(
        "{quoted}: {}",
        counts_in_words(&counts, !recent.is_empty()).unwrap_or("no event yet".into())
    )];
    lines.extend(
        ran.iter().take(5).map(|(judged, outcome)| {
            outcome_line(judged, outcome, &redacting.event_subject(judged))
        }),
    );
    server
        .editor
        .show_message(MessageType::INFO, &lines.join("\n"));
    let events: Vec<_> = ran
        .iter()
        .map(|(judged, _)| {
            listed_event(
                judged,
                redacting.has_redacted(&judged.folder, &judged.verdict),
            )
        })
        .collect();
    Ok(json!({ "hook": hook, "counts": counts, "events": events }))
}

/// The most events in a report on a hook.
const MAX_ROWS: usize = 50;

fn outcome_row(judged: &Judged, outcome: &Outcome, subject: &str) -> Row {
    let why = [&outcome.error, &outcome.reason]
        .into_iter()
        .flatten()
        .next();
    Row {
        tone: tone_of_outcome(outcome),
        name: format!("{}  {}", one_line(&judged.event.name, MAX_SUBJECT), subject),
        verdict: outcome_in_words(outcome),
        took: String::new(),
        text: why
            .map(|it| one_line(&plain_quotes(it), MAX_QUOTED))
            .unwrap_or_default(),
    }
}

/// The outcome of a hook at an event, if it ran there.
fn outcome_of<'j>(judged: &'j Judged, hook: &str) -> Option<&'j Outcome> {
    judged
        .verdict
        .outcomes
        .iter()
        .find(|outcome| *outcome.hook == *hook && outcome.status != Status::Skipped)
}

fn outcome_line(judged: &Judged, outcome: &Outcome, subject: &str) -> String {
    let what = match (outcome.decision, &outcome.error) {
        (_, Some(error)) => one_line(error, MAX_SUBJECT),
        (Some(decision), None) => decision.as_str().into(),
        (None, None) => "no opinion".into(),
    };
    format!("{} {} {subject}: {what}", judged.at, judged.event.name)
}

fn list_hooks(snapshot: &Snapshot, event: Option<OfEvent>) -> Answer<Value> {
    let server = &snapshot.server;
    let judged = event
        .map(|event| event.find_event(&server.live))
        .transpose()?;
    let root = |project: &Project| {
        let set = project.hooks();
        let mut orders = Orders::new(set.clone());
        let around = server.surroundings_in(&snapshot.documents, Some(project.clone()));
        let wanted = set.hooks.iter().filter(|hook| {
            judged
                .as_ref()
                .is_none_or(|judged| hook.enabled && hook.on.includes(&judged.event.name))
        });
        let hooks: Vec<_> = wanted
            .map(|hook| listed_hook(hook, &mut orders, &around))
            .collect();
        json!({
            "root": project.root(), "summary": number_of(hooks.len(), "hook"),
            "groups": group_by_event(&hooks), "files": group_by_file(project, &hooks), "hooks": hooks,
        })
    };
    let roots = server.workspaces();
    let of_event = |project: &&Project| {
        judged
            .as_ref()
            .is_none_or(|judged| *judged.folder == *project.key())
    };
    Ok(json!({ "roots": roots.iter().filter(of_event).map(root).collect::<Vec<_>>() }))
}

#[cfg(test)]
mod tests {
    use super::super::past::event_subject;
    use super::super::past::tests::judged_by_three;
    use super::*;

    #[test]
    fn a_hooks_part_in_an_event_is_one_line() {
        let judged = judged_by_three();
        let line = |hook| {
            outcome_of(&judged, hook)
                .map(|outcome| outcome_line(&judged, outcome, &event_subject(&judged.event)))
        };
        assert_eq!(line("a"), None, "it didn't run");
        assert_eq!(
            line("b").unwrap(),
            "2030-01-02T03:04:05.678Z PreToolUse Bash git push\\u{202e}: deny"
        );
        assert!(line("c").unwrap().ends_with(": failed to run"));
    }
}
