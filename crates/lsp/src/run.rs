//! Trying a hook out: run as it stands in the editor, on a real event of the past or on one made
//! for it, with nothing else in force.

use super::answer::{Answer, Refusal, off_the_reader};
use super::document::Document;
use super::editor::{path_of, without_links};
use super::effects::is_counting;
use super::live::{Judged, Live};
use super::past::{MAX_SUBJECT, Past, Run, event_subject, newest_event};
use super::plain_text::{MAX_QUOTED, one_line};
use super::project::Project;
use super::report::{Note, Report, Tone, outcome_in_words, tone_of_outcome, verdict_in_words};
use super::sample;
use super::server::{Server, Snapshot};
use hookwire_base::event::Event;
use hookwire_base::support::amounts::duration;
use hookwire_base::support::file::read_named;
use hookwire_base::support::nearest::{closest, did_you_mean};
use hookwire_base::syntax::diagnostic::Severity;
use hookwire_base::verdict::{Decision, Outcome, Status, Verdict};
use hookwire_engine::hook::{Hook, Miss};
use hookwire_handlers::services::client::{self, Answers, Client, Reply};
use hookwire_rules::contract::Fail;
use hookwire_rules::matching::Facts;
use ls_types::{MessageType, Uri};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// A hook by the file that it is written in, and its name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfHook {
    pub(super) uri: Uri,
    pub(super) hook: String,
}

/// The same, and an event.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfRun {
    uri: Uri,
    hook: String,
    /// The event to run it on.
    event: Option<OfEvent>,
}

/// An event that a host has judged.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfEvent {
    host: u32,
    seq: u64,
}

impl OfEvent {
    /// The event, unless it is too old.
    pub(super) fn find_event(self, live: &Live) -> Answer<Arc<Judged>> {
        let mut events = live.timeline().into_iter();
        events
            .find(|event| event.host == self.host && event.seq == self.seq)
            .ok_or_else(|| self.is_gone())
    }

    fn is_gone(self) -> Refusal {
        Refusal::Failed(format!(
            "event {} of process {} is not known any more",
            self.seq, self.host
        ))
    }
}

/// A hook of a file, compiled as it would be in force.
struct Found {
    document: Arc<Document>,
    project: Project,
    hook: Arc<Hook>,
}

/// Finds a hook in the editor's text, or in a file that isn't open.
fn find_hook(snapshot: &Snapshot, uri: &Uri, name: &str) -> Answer<Found> {
    let failed = |why: String| Refusal::Failed(why);
    let document = match snapshot.document(uri) {
        Some(document) => document.clone(),
        None => closed_document(snapshot, uri)?,
    };
    let project = snapshot.server.workspace_of(&document.path);
    let project = project.ok_or_else(|| failed("no folder is open".into()))?;
    let quoted = one_line(name, MAX_QUOTED);
    let Some(file) = document.compile() else {
        let why = document
            .checked()
            .diagnostics
            .first()
            .map(|diagnostic| diagnostic.message.clone())
            .unwrap_or_default();
        return Err(failed(format!(
            "`{quoted}` can't be read: {}",
            one_line(&why, MAX_QUOTED)
        )));
    };
    let first_error = |range: std::ops::Range<usize>| {
        let problems = file.problems.get(range).unwrap_or_default();
        problems
            .iter()
            .find(|problem| problem.severity == Severity::Error)
            .map(|problem| one_line(&problem.message, MAX_QUOTED))
    };
    let Some(compiled) = file
        .hooks
        .iter()
        .find(|hook| hook.name.as_deref() == Some(name))
    else {
        let names = file.hooks.iter().filter_map(|hook| hook.name.as_deref());
        let nearest = did_you_mean(closest(name, names).map(|it| one_line(it, MAX_QUOTED)));
        return Err(failed(format!(
            "no hook `{quoted}` is in this file{nearest}"
        )));
    };
    if file.is_broken {
        let why = first_error(0..file.problems.len()).unwrap_or_default();
        return Err(failed(format!("the file of `{quoted}` is broken: {why}")));
    }
    let position = file
        .hooks
        .iter()
        .position(|hook| std::ptr::eq(hook, compiled))
        .unwrap_or_default();
    let why = first_error(compiled.problems.clone());
    let hook = file
        .hooks
        .into_iter()
        .nth(position)
        .and_then(|hook| hook.hook);
    let hook =
        hook.ok_or_else(|| failed(format!("`{quoted}` is broken: {}", why.unwrap_or_default())))?;
    Ok(Found {
        document,
        project,
        hook,
    })
}

/// A definition file that isn't open under this very URI.
pub(super) fn closed_document(snapshot: &Snapshot, uri: &Uri) -> Answer<Arc<Document>> {
    let server = &snapshot.server;
    let path = path_of(uri);
    // Editors differ in which characters of a path they escape.
    if let Some(open) = snapshot
        .documents
        .values()
        .find(|document| Some(&document.path) == path.as_ref())
    {
        return Ok(open.clone());
    }
    let Some(path) = path.filter(|path| {
        server
            .workspaces()
            .iter()
            .any(|workspace| workspace.layer_of(path).is_some())
    }) else {
        return Err(Refusal::Failed(
            "the document is neither open nor among the definitions of a folder".into(),
        ));
    };
    let text = read_named(&path)
        .map_err(|error| Refusal::Failed(format!("the file can't be read: {error}")))?;
    Ok(Arc::new(server.new_document(uri.clone(), path, 0, text)))
}

/// An event to hold a hook against.
struct Chosen {
    event: Arc<Event>,
    /// When it was; `None`: it is a sample.
    at: Option<String>,
    /// It was asked for, however old it is.
    is_pinned: bool,
    /// Whether the hook runs at it, and why that can't be told.
    applies: Result<Option<String>, Miss>,
}

impl Chosen {
    fn new(hook: &Hook, past: &[Past], pinned: Option<OfEvent>, root: &Path) -> Answer<Chosen> {
        let is_pinned = pinned.is_some();
        let real = match pinned {
            None => newest_event(hook, past),
            Some(of @ OfEvent { host, seq }) => {
                let found = past
                    .iter()
                    .find(|it| it.judged.host == host && it.judged.seq == seq);
                Some(found.ok_or_else(|| of.is_gone())?)
            }
        };
        let applies = |facts: &Facts| {
            let doubt = hook
                .applies(facts)
                .map_err(|failed| hook.miss(failed, facts))?;
            Ok(doubt.map(|doubt| doubt.why.to_string()))
        };
        if let Some(Past { judged, facts }) = real {
            let applies = applies(facts);
            return Ok(Chosen {
                event: judged.event.clone(),
                at: Some(judged.at.clone()),
                is_pinned,
                applies,
            });
        }
        let event = sample::event_for(hook, root).map_err(Refusal::Failed)?;
        let applies = applies(&Facts::new(event.clone(), root));
        Ok(Chosen {
            event,
            at: None,
            is_pinned,
            applies,
        })
    }

    fn from(&self) -> &'static str {
        if self.at.is_some() { "live" } else { "sample" }
    }

    /// The event in words.
    fn describe_event(&self) -> String {
        let subject = event_subject(&self.event);
        let subject = if subject.is_empty() {
            subject
        } else {
            format!(" ({subject})")
        };
        let event = format!("{}{subject}", one_line(&self.event.name, MAX_SUBJECT));
        match &self.at {
            Some(at) if self.is_pinned => format!("{event} of {}", one_line(at, MAX_SUBJECT)),
            Some(_) => format!("the last {event}"),
            None => format!("a sample {event}"),
        }
    }
}

/// Why a hook doesn't run, as `explain` says it.
fn describe_miss(miss: &Miss) -> String {
    one_line(&miss.to_string(), MAX_QUOTED)
}

/// The result of `hookwire.run`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ran {
    hook: Arc<str>,
    event: Arc<str>,
    from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    ran: bool,
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_out_by: Option<Miss>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    /// For an editor that has a panel.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<Report>,
}

/// Runs a hook and shows what comes of it. Dropping the future ends what it has started.
pub(super) async fn run_hook(snapshot: Snapshot, OfRun { uri, hook, event }: OfRun) -> Answer<Ran> {
    let server = snapshot.server.clone();
    if server.connection.runs_no_hook() {
        return Err(Refusal::Failed(
            "no hook runs: the host was started with --pass-through".into(),
        ));
    }
    let (
        Found {
            document,
            project,
            mut hook,
        },
        chosen,
    ) = off_the_reader(move || {
        let found = find_hook(&snapshot, &uri, &hook)?;
        let past = Past::of_project(&snapshot.server.live, Some(&found.project));
        let chosen = Chosen::new(&found.hook, &past, event, found.project.root())?;
        Ok((found, chosen))
    })
    .await?;
    let (name, is_detached, counts) = (hook.name.clone(), hook.detached, is_counting(&hook));
    // A person waits for what comes of it, and may cancel it.
    if let Some(hook) = Arc::get_mut(&mut hook)
        && hook.detached
    {
        (hook.detached, hook.fail) = (false, Some(Fail::Open));
    }
    let named = chosen.describe_event();
    let ran_at = chosen.at.clone();
    let mut ran = Ran {
        hook: name.clone(),
        event: chosen.event.name.clone(),
        from: chosen.from(),
        at: chosen.at.clone(),
        ran: false,
        summary: String::new(),
        decision: None,
        kept_out_by: None,
        verdict: None,
        report: None,
    };
    let mut kind = MessageType::INFO;
    let report = |verdict: &str, tone| {
        Report::of_hook(&name, verdict, tone).at(
            format!("run on {named}"),
            &chosen.event,
            ran_at.clone(),
        )
    };
    match chosen.applies {
        Err(miss) => {
            ran.summary = format!("did not run: {}", describe_miss(&miss));
            ran.report = Some(report("did not run", Tone::None).because(&describe_miss(&miss)));
            ran.kept_out_by = Some(miss);
        }
        Ok(_) => {
            let person = Arc::new(Person(server.clone()));
            let is_redacting = hook.handler.is_redacting();
            let verdict = project.run_alone(hook, &chosen.event, counts, person).await;
            let outcome = verdict.outcomes.iter().find(|outcome| outcome.hook == name);
            ran.ran = outcome.is_some_and(|outcome| outcome.status != Status::Skipped);
            ran.decision = outcome
                .and_then(|outcome| outcome.decision)
                .filter(|_| !is_detached);
            let told = Told {
                is_detached,
                counts,
            };
            ran.summary = outcome
                .map(|outcome| summarize_run(outcome, &verdict, &chosen.event, told))
                .unwrap_or_default();
            if outcome.is_some_and(|outcome| outcome.error.is_some()) {
                kind = MessageType::ERROR;
            }
            let is_redacted = is_redacting && verdict.subject.is_some();
            let words = match outcome {
                Some(outcome) if verdict.subject.is_none() => outcome_in_words(outcome),
                _ => verdict_in_words(&verdict, is_redacted),
            };
            let report = report(&words, outcome.map(tone_of_outcome).unwrap_or_default());
            let report = if let Some(why) = outcome.and_then(Outcome::why) {
                report.because(why)
            } else {
                report
            };
            let mut report = report.with(&chosen.event, &verdict, is_redacted);
            if is_redacted {
                // Its subject has the secret.
                report.about = format!("run on {}", one_line(&chosen.event.name, MAX_SUBJECT));
            }
            report.notes.extend(
                is_detached
                    .then(|| Note::new("Async", "It is async: what it answers decides nothing.")),
            );
            report
                .notes
                .extend(counts.then(|| Note::new("Counts", "It counted from zero for this run.")));
            ran.report = Some(report);
            ran.verdict = Some(verdict);
        }
    }
    if let Some(compiled) = document.hook(&name) {
        let run = Run {
            digest: compiled.digest,
            summary: ran.summary.clone(),
        };
        server
            .runs
            .keep_run(&server.documents(), document.uri.as_str(), &name, run);
    }
    ran.report = ran.report.filter(|_| server.abilities.panel);
    if ran.report.is_none() {
        server.editor.show_message(
            kind,
            &format!(
                "{} on {named}: {}",
                one_line(&name, MAX_QUOTED),
                ran.summary
            ),
        );
    }
    server.refresh_live();
    Ok(ran)
}

/// The person at the editor, whom a hook may ask.
struct Person(Arc<Server>);

impl Client for Person {
    fn request(&self, method: &'static str, params: Value) -> Reply {
        let text = |key: &str| one_line(params[key].as_str().unwrap_or_default(), MAX_QUOTED);
        let question = format!("{} at {}: {}", text("hook"), text("event"), text("message"));
        let actions = json!([{ "title": APPROVE }, { "title": DENY }]);
        let asked = json!({ "type": MessageType::INFO, "message": without_links(&question), "actions": actions });
        let reply = self
            .0
            .editor
            .ask("window/showMessageRequest", asked)
            .filter(|_| method == client::APPROVE);
        Box::pin(async move {
            let reply = reply.ok_or("the editor can't be asked that")?.await?;
            match reply["title"].as_str() {
                Some(APPROVE) => Ok(json!({ "decision": "approve" })),
                Some(DENY) => Ok(json!({ "decision": "deny" })),
                Some(_) | None => Err("the question was closed without an answer".into()),
            }
        })
    }

    fn notify(&self, _: &'static str, _: &Value) {}

    fn answers(&self) -> Answers {
        Answers {
            approvals: true,
            models: false,
        }
    }
}

const APPROVE: &str = "Approve";
const DENY: &str = "Deny";

/// Facts about a run besides its outcome.
#[derive(Clone, Copy)]
struct Told {
    is_detached: bool,
    counts: bool,
}

/// The result of a run in one line.
fn summarize_run(outcome: &Outcome, verdict: &Verdict, event: &Event, told: Told) -> String {
    let mut took = duration(outcome.duration_micros);
    if told.counts {
        took.push_str(", counted from zero");
    }
    if let Some(error) = &outcome.error {
        let counts = match outcome.decision {
            Some(decision) => format!("counts as {}", decision.as_str()),
            None if verdict.replaced => "the subject is withheld".into(),
            None => "decides nothing".into(),
        };
        return format!("{}: {counts} ({took})", one_line(error, MAX_QUOTED));
    }
    if outcome.status == Status::Skipped {
        return format!(
            "did not run: {}",
            one_line(
                outcome.reason.as_deref().unwrap_or("it was skipped"),
                MAX_QUOTED
            )
        );
    }
    let mut does: Vec<String> = Vec::new();
    does.extend(outcome.observed.as_ref().map(|observed| {
        let why = outcome
            .why()
            .map(|why| format!(": {}", one_line(why, MAX_QUOTED)))
            .unwrap_or_default();
        format!("would {} (observe){why}", observed.would().as_str())
    }));
    if verdict.subject.is_some() {
        let subject = event
            .spec
            .subject
            .unwrap_or_default()
            .trim_start_matches('/')
            .replace('/', ".");
        does.push(format!(
            "{} {subject}",
            if verdict.replaced {
                "replaces"
            } else {
                "rewrites"
            }
        ));
    }
    let changed = verdict.context.as_ref().and_then(Value::as_object);
    does.extend(
        changed
            .filter(|changed| !changed.is_empty())
            .map(|changed| {
                let members: Vec<_> = changed.keys().map(String::as_str).collect();
                format!("changes {}", one_line(&members.join(", "), MAX_QUOTED))
            }),
    );
    does.extend(
        verdict
            .additional_context
            .first()
            .map(|text| format!("tells the model: {}", one_line(text, MAX_QUOTED))),
    );
    does.extend(
        verdict
            .user_messages
            .first()
            .map(|text| format!("says: {}", one_line(text, MAX_QUOTED))),
    );
    does.extend(verdict.retry.as_ref().and_then(|retry| {
        serde_json::to_value(retry.action)
            .ok()?
            .as_str()
            .map(str::to_string)
    }));
    does.extend(
        verdict
            .stop
            .as_ref()
            .map(|why| format!("ends the run: {}", one_line(why, MAX_QUOTED))),
    );
    let reason = outcome
        .reason
        .as_deref()
        .filter(|reason| !reason.trim().is_empty());
    let reason = reason
        .map(|reason| format!(": {}", one_line(reason, MAX_QUOTED)))
        .unwrap_or_default();
    let opinion = match outcome.decision {
        Some(decision) if told.is_detached => Some(format!(
            "{}{reason}, but it is async: decides nothing",
            decision.as_str()
        )),
        Some(decision) => Some(format!("{}{reason}", decision.as_str())),
        None if does.is_empty() || !reason.is_empty() => Some(format!("no opinion{reason}")),
        None => None,
    };
    let parts: Vec<_> = opinion.into_iter().chain(does).collect();
    format!("{} ({took})", parts.join("; "))
}

/// The result of `hookwire.explain`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Explained {
    hook: Arc<str>,
    event: Arc<str>,
    from: &'static str,
    applies: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_out_by: Option<Miss>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opaque: Option<String>,
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<Report>,
}

/// Tells whether a hook would run, and runs nothing.
pub(super) fn explain_hook(
    snapshot: &Snapshot,
    OfHook { uri, hook }: &OfHook,
) -> Answer<Explained> {
    let server = &snapshot.server;
    let Found { project, hook, .. } = find_hook(snapshot, uri, hook)?;
    let past = Past::of_project(&server.live, Some(&project));
    let chosen = Chosen::new(&hook, &past, None, project.root())?;
    let named = chosen.describe_event();
    let from = chosen.from();
    let (applies, (summary, opaque, kept_out_by)) = (
        chosen.applies.is_ok(),
        match &chosen.applies {
            Ok(None) if hook.observe => (format!("runs on {named}, and only observes"), None, None),
            Ok(None) => (format!("runs on {named}"), None, None),
            Ok(Some(why)) => {
                let told = format!(
                    "runs on {named}, but whether it applies can't be told: {}",
                    one_line(why, MAX_QUOTED)
                );
                (told, Some(why.clone()), None)
            }
            Err(miss) => (
                format!("does not run on {named}: {}", describe_miss(miss)),
                None,
                Some(miss.clone()),
            ),
        },
    );
    let report = server.abilities.panel.then(|| {
        let (verdict, tone) = if kept_out_by.is_none() {
            ("would run", Tone::Allow)
        } else {
            ("would not run", Tone::None)
        };
        let report = Report::of_hook(&hook.name, verdict, tone);
        let report = report.at(
            format!("on {}", chosen.describe_event()),
            &chosen.event,
            chosen.at.clone(),
        );
        match (&kept_out_by, &opaque) {
            (Some(miss), _) => report.because(&describe_miss(miss)),
            (None, Some(why)) => {
                report.because(&format!("whether it applies can't be told: {why}"))
            }
            (None, None) => report,
        }
    });
    if report.is_none() {
        server.editor.show_message(
            MessageType::INFO,
            &format!("{} {summary}", one_line(&hook.name, MAX_QUOTED)),
        );
    }
    let (hook, event) = (hook.name.clone(), chosen.event.name.clone());
    Ok(Explained {
        hook,
        event,
        from,
        applies,
        kept_out_by,
        opaque,
        summary,
        report,
    })
}

#[cfg(test)]
mod tests {
    use super::super::past::newest_name;
    use super::super::past::tests::judged;
    use super::*;
    use hookwire_engine::definitions::check::check;

    fn hook(definition: &str) -> Arc<Hook> {
        let checked = check(
            "/p/a.yaml",
            &format!("hooks:\n- {{ name: a, {definition} }}\n"),
            hookwire_base::syntax::source::Layer::Hooks,
            None,
        );
        let hook = checked
            .file
            .and_then(|file| file.hooks.into_iter().next()?.hook);
        hook.unwrap_or_else(|| panic!("{definition}: {:?}", checked.diagnostics))
    }

    #[test]
    fn the_last_event_that_fits() {
        let bash = |command: &str| json!({ "event": "PreToolUse", "tool": { "name": "Bash", "input": { "command": command } } });
        // Newest first.
        let recent = vec![
            judged(4, json!({ "event": "Stop" }), json!([])),
            judged(3, bash("ls"), json!([])),
            judged(2, bash("git push"), json!([])),
            judged(1, bash("git pull"), json!([])),
        ];
        let past = Past::with_facts(recent, Path::new("/p"));
        for (definition, pinned, expected) in [
            (
                "on: PreToolUse, if: 'Bash(git*)', deny: x",
                None,
                "live PreToolUse (Bash git push) runs",
            ),
            (
                "on: PreToolUse, deny: x",
                None,
                "live PreToolUse (Bash ls) runs",
            ),
            // None of them makes it run: the newest tells why.
            (
                "on: PreToolUse, if: 'Bash(rm*)', deny: x",
                None,
                "live PreToolUse (Bash ls) if",
            ),
            (
                "on: [Stop, PreToolUse], if: 'Bash(git*)', deny: x",
                None,
                "live PreToolUse (Bash git push) runs",
            ),
            (
                "on: [Stop, PreToolUse], matcher: Edit, deny: x",
                None,
                "live Stop matcher",
            ),
            ("on: '*', deny: x", None, "live Stop runs"),
            (
                "on: SessionStart, deny: x",
                None,
                "sample SessionStart runs",
            ),
            (
                "on: PreToolUse, deny: x",
                Some(1),
                "live PreToolUse (Bash git pull) runs",
            ),
            ("on: PreToolUse, deny: x", Some(4), "live Stop on"),
            (
                "on: PreToolUse, deny: x",
                Some(5),
                "event 5 of process 1 is not known any more",
            ),
        ] {
            let hook = hook(definition);
            let pinned = pinned.map(|seq| OfEvent { host: 1, seq });
            let is_pinned = pinned.is_some();
            let told = match Chosen::new(&hook, &past, pinned, Path::new("/p")) {
                Ok(chosen) => {
                    let subject = Some(event_subject(&chosen.event)).filter(|it| !it.is_empty());
                    let subject = subject
                        .map(|subject| format!(" ({subject})"))
                        .unwrap_or_default();
                    let applies = chosen
                        .applies
                        .as_ref()
                        .map_or_else(|miss| &*miss.test, |_| "runs");
                    if !is_pinned {
                        let name = newest_name(&hook, &past).unwrap_or(sample::event_name(&hook));
                        assert_eq!(
                            name, &*chosen.event.name,
                            "the lens says the same: {definition}"
                        );
                    }
                    format!("{} {}{subject} {applies}", chosen.from(), chosen.event.name)
                }
                Err(Refusal::Failed(why)) => why,
                Err(other) => panic!("{other:?}"),
            };
            assert_eq!(told, expected, "{definition}");
        }
    }
}
