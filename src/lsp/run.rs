//! Trying a hook out: run as it stands in the editor, on a real event of the past or on one made for
//! it, with nothing else in force.

use super::document::{Document, Documents};
use super::effects::plain;
use super::live::{Judged, folder};
use super::{Answer, Refusal, Server, Snapshot, off_the_reader, sample};
use crate::contract::Fail;
use crate::dialects;
use crate::engine::{self, Engine, Honours, HooksInForce, Question};
use crate::event::Event;
use crate::hook::{Hook, Miss};
use crate::hook_set::HookSet;
use crate::host::Host;
use crate::matching::{Facts, tools};
use crate::services::client::{self, Answers, Client, Reply};
use crate::services::state::Store;
use crate::support::file::read_named;
use crate::support::nearest::closest;
use crate::syntax::diagnostic::Severity;
use crate::verdict::{Decision, Outcome, Status, Verdict};
use ls_types::{MessageType, Uri};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;

/// The longest text of a hook or an event in a message, in characters.
pub(super) const MAX_TOLD: usize = 300;
/// The longest that an event's subject is told in, in characters.
pub(super) const MAX_SUBJECT: usize = 120;

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfEvent {
    host: u32,
    seq: u64,
}

/// What came of the last run of each hook, for the lens above it. Holds what is open only.
#[derive(Default)]
pub(super) struct Runs(Mutex<HashMap<String, HashMap<String, Run>>>);

/// What came of a hook's run.
struct Run {
    /// Of the definition that was run.
    digest: [u8; 16],
    summary: String,
}

impl Runs {
    /// What came of the last run of a hook as it is now.
    pub(super) fn last(&self, uri: &str, hook: &str, digest: &[u8; 16]) -> Option<String> {
        let runs = self.0.lock();
        runs.get(uri)?.get(hook).filter(|run| run.digest == *digest).map(|run| run.summary.clone())
    }

    /// Forgets those of a document.
    pub(super) fn forget(&self, uri: &str) {
        self.0.lock().remove(uri);
    }

    fn keep(&self, documents: &Documents, uri: &str, hook: &str, run: Run) {
        // It may have been closed meanwhile.
        let Some(document) = documents.get(uri) else { return };
        let mut runs = self.0.lock();
        let of_document = runs.entry(uri.to_string()).or_default();
        let is_there = |name: &str| document.readable().is_some_and(|it| it.document.hook(name).is_some());
        of_document.retain(|name, _| is_there(name));
        of_document.insert(hook.to_string(), run);
    }
}

/// A hook of a file, compiled as it would be in force.
struct Found {
    document: Arc<Document>,
    workspace: Arc<Host>,
    hook: Arc<Hook>,
}

/// Finds a hook in the editor's text, or in a file that isn't open.
fn find(snapshot: &Snapshot, uri: &Uri, name: &str) -> Answer<Found> {
    let failed = |why: String| Refusal::Failed(why);
    let document = match snapshot.document(uri) {
        Some(document) => document.clone(),
        None => closed(snapshot, uri)?,
    };
    let workspace = snapshot.server.workspace(&document.path);
    let workspace = workspace.ok_or_else(|| failed("no folder is open".into()))?;
    let quoted = plain(name, MAX_TOLD);
    let Some(file) = document.compile() else {
        let why = document.checked().diagnostics.first().map(|it| it.message.clone()).unwrap_or_default();
        return Err(failed(format!("`{quoted}` can't be read: {}", plain(&why, MAX_TOLD))));
    };
    let first_error = |range: std::ops::Range<usize>| {
        let problems = file.problems.get(range).unwrap_or_default();
        problems.iter().find(|it| it.severity == Severity::Error).map(|it| plain(&it.message, MAX_TOLD))
    };
    let Some(compiled) = file.hooks.iter().find(|it| it.name.as_deref() == Some(name)) else {
        let names = file.hooks.iter().filter_map(|it| it.name.as_deref());
        let nearest = closest(name, names).map(|it| format!("; did you mean `{}`?", plain(it, MAX_TOLD)));
        return Err(failed(format!("no hook `{quoted}` is in this file{}", nearest.unwrap_or_default())));
    };
    if file.is_broken {
        let why = first_error(0..file.problems.len()).unwrap_or_default();
        return Err(failed(format!("the file of `{quoted}` is broken: {why}")));
    }
    let position = file.hooks.iter().position(|it| std::ptr::eq(it, compiled)).unwrap_or_default();
    let why = first_error(compiled.problems.clone());
    let hook = file.hooks.into_iter().nth(position).and_then(|it| it.hook);
    let hook = hook.ok_or_else(|| failed(format!("`{quoted}` is broken: {}", why.unwrap_or_default())))?;
    Ok(Found { document, workspace, hook })
}

/// A definition file that isn't open under this very URI.
pub(super) fn closed(snapshot: &Snapshot, uri: &Uri) -> Answer<Arc<Document>> {
    let server = &snapshot.server;
    let path = super::server::path_of(uri);
    // Editors differ in which characters of a path they escape.
    if let Some(open) = snapshot.documents.values().find(|it| Some(&it.path) == path.as_ref()) {
        return Ok(open.clone());
    }
    let is_loaded = |path: &Path| server.workspaces().iter().any(|it| it.layer_of(path).is_some());
    let Some(path) = path.filter(|path| is_loaded(path)) else {
        return Err(Refusal::Failed("the document is neither open nor among the definitions of a folder".into()));
    };
    let text = read_named(&path).map_err(|error| Refusal::Failed(format!("the file can't be read: {error}")))?;
    Ok(Arc::new(server.document(uri.clone(), path, 0, text)))
}

/// A real event of the past.
pub(super) struct Past {
    judged: Arc<Judged>,
    facts: Facts,
}

/// The last events of the project that a file is of, newest first.
pub(super) fn past(server: &Server, file: &Path) -> Vec<Past> {
    let Some(workspace) = server.workspace(file) else { return Vec::new() };
    held(server.live.recent(&folder(workspace.root())), workspace.root())
}

/// Events as conditions are held against them.
fn held(events: Vec<Arc<Judged>>, root: &Path) -> Vec<Past> {
    events.into_iter().map(|judged| Past { facts: Facts::new(judged.event.clone(), root), judged }).collect()
}

/// The newest event at which a hook runs, else the newest that it is for.
fn newest<'p>(hook: &Hook, past: &'p [Past]) -> Option<&'p Past> {
    let mut named = past.iter().filter(|it| hook.on.includes(&it.judged.event.name)).peekable();
    let newest = *named.peek()?;
    Some(named.find(|it| hook.applies(&it.facts).is_ok()).unwrap_or(newest))
}

/// The name of the event that [`newest`] finds.
pub(super) fn newest_name<'p>(hook: &Hook, past: &'p [Past]) -> Option<&'p str> {
    let mut names = past.iter().map(|it| &*it.judged.event.name).filter(|name| hook.on.includes(name));
    let first = names.next()?;
    // What it comes to is the same whichever it is.
    if names.all(|name| name == first) { Some(first) } else { newest(hook, past).map(|it| &*it.judged.event.name) }
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
            None => newest(hook, past),
            Some(OfEvent { host, seq }) => {
                let found = past.iter().find(|it| it.judged.host == host && it.judged.seq == seq);
                let gone = || Refusal::Failed(format!("event {seq} of process {host} is not known any more"));
                Some(found.ok_or_else(gone)?)
            }
        };
        let opaque = |why: Option<Cow<'static, str>>| why.map(Cow::into_owned);
        if let Some(Past { judged, facts }) = real {
            let applies = hook.applies(facts).map(opaque);
            return Ok(Chosen { event: judged.event.clone(), at: Some(judged.at.clone()), is_pinned, applies });
        }
        let event = sample::of(hook, root).map_err(Refusal::Failed)?;
        let applies = hook.applies(&Facts::new(event.clone(), root)).map(opaque);
        Ok(Chosen { event, at: None, is_pinned, applies })
    }

    fn from(&self) -> &'static str {
        if self.at.is_some() { "live" } else { "sample" }
    }

    /// The event in words.
    fn named(&self) -> String {
        let subject = subject(&self.event);
        let subject = if subject.is_empty() { subject } else { format!(" ({subject})") };
        let event = format!("{}{subject}", plain(&self.event.name, MAX_SUBJECT));
        match &self.at {
            Some(at) if self.is_pinned => format!("{event} of {}", plain(at, MAX_SUBJECT)),
            Some(_) => format!("the last {event}"),
            None => format!("a sample {event}"),
        }
    }
}

/// Why a hook doesn't run, as `explain` says it.
fn missed(miss: &Miss) -> String {
    plain(&format!("{}: {}", miss.test, miss.why), MAX_TOLD)
}

/// What `hookwire.run` gives.
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
}

/// Runs a hook and shows what comes of it. Dropping the future ends what it has started.
pub(super) async fn run(snapshot: Snapshot, OfRun { uri, hook, event }: OfRun) -> Answer<Ran> {
    let server = snapshot.server.clone();
    if server.host.options.pass_through {
        return Err(Refusal::Failed("no hook runs: the host was started with --pass-through".into()));
    }
    let prepare = move || {
        let found = find(&snapshot, &uri, &hook)?;
        let root = found.workspace.root().to_path_buf();
        let past = past(&snapshot.server, &found.document.path);
        let chosen = Chosen::new(&found.hook, &past, event, &root)?;
        Ok((found, chosen))
    };
    let (Found { document, workspace, mut hook }, chosen) = off_the_reader(prepare).await?;
    let (name, is_detached, counts) = (hook.name.clone(), hook.detached, counts(&hook));
    // Whoever runs it is there to see what comes of it, and may cancel it.
    if let Some(hook) = Arc::get_mut(&mut hook)
        && hook.detached
    {
        (hook.detached, hook.fail) = (false, Some(Fail::Open));
    }
    let named = chosen.named();
    let mut ran = Ran {
        hook: name.clone(),
        event: chosen.event.name.clone(),
        from: chosen.from(),
        at: chosen.at,
        ran: false,
        summary: String::new(),
        decision: None,
        kept_out_by: None,
        verdict: None,
    };
    let mut kind = MessageType::INFO;
    match chosen.applies {
        Err(miss) => {
            ran.summary = format!("did not run: {}", missed(&miss));
            ran.kept_out_by = Some(miss);
        }
        Ok(_) => {
            let verdict = judge(&server, &workspace, hook, chosen.event.clone()).await;
            let outcome = verdict.outcomes.iter().find(|it| it.hook == name);
            ran.ran = outcome.is_some_and(|it| it.status != Status::Skipped);
            ran.decision = outcome.and_then(|it| it.decision).filter(|_| !is_detached);
            let told = Told { is_detached, counts };
            ran.summary = outcome.map(|it| summary(it, &verdict, &chosen.event, told)).unwrap_or_default();
            if outcome.is_some_and(|it| it.error.is_some()) {
                kind = MessageType::WARNING;
            }
            ran.verdict = Some(verdict);
        }
    }
    if let Some(compiled) = document.hook(&name) {
        let run = Run { digest: compiled.digest, summary: ran.summary.clone() };
        server.runs.keep(&server.documents(), document.uri.as_str(), &name, run);
    }
    show(&server, kind, &format!("{} on {named}: {}", plain(&name, MAX_TOLD), ran.summary));
    server.refresh_live();
    Ok(ran)
}

/// Judges an event by one hook alone.
async fn judge(server: &Arc<Server>, workspace: &Host, hook: Arc<Hook>, event: Arc<Event>) -> Verdict {
    // What sessions remember of other runs, such as `once`, must not keep it from this one.
    let mut services = workspace.engine.services.clone();
    let mut again = (*event).clone();
    // Its time ran out long ago.
    if let Some(data) = again.data.as_object_mut() {
        data.remove("deadlineMs");
    }
    if counts(&hook) {
        // An event counts once: of this one the guard would say what it said when it was run before.
        services.state = Store::default();
        again.id = format!("{} run {}", event.id, N_RUNS.fetch_add(1, Ordering::Relaxed)).into();
    }
    let engine = Engine::new(services);
    let question = Question {
        event: Arc::new(again),
        hooks: HooksInForce { files: Arc::new(HookSet::new(vec![hook], 0, "".into(), Vec::new())), session: None },
        contract: &dialects::DIALECTS[0].contract,
        // What it would ask, put off or rewrite is told as such.
        honours: Honours { ask: true, defer: true, rewrite: true },
        client: Some(Arc::new(Person(server.clone()))),
        hurry: CancellationToken::new(),
    };
    let mut verdict = engine::decide(&engine, question).await;
    verdict.event_id = event.id.clone();
    verdict
}

static N_RUNS: AtomicU64 = AtomicU64::new(0);

/// Whether a hook is a guard that counts.
fn counts(hook: &Hook) -> bool {
    hook.handler.counts()
}

/// Whoever sits at the editor: a hook that asks a person, asks them.
struct Person(Arc<Server>);

impl Client for Person {
    fn request(&self, method: &'static str, params: Value) -> Reply {
        let text = |key: &str| plain(params[key].as_str().unwrap_or_default(), MAX_TOLD);
        let question = format!("{} at {}: {}", text("hook"), text("event"), text("message"));
        let actions = json!([{ "title": APPROVE }, { "title": DENY }]);
        let asked = json!({ "type": MessageType::INFO, "message": unlinked(&question), "actions": actions });
        let reply = self.0.ask("window/showMessageRequest", asked).filter(|_| method == client::APPROVE);
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
        Answers { approvals: true, models: false }
    }
}

const APPROVE: &str = "Approve";
const DENY: &str = "Deny";

/// What there is to say of a run besides its outcome.
#[derive(Clone, Copy)]
struct Told {
    is_detached: bool,
    counts: bool,
}

/// What came of a run, in one line.
fn summary(outcome: &Outcome, verdict: &Verdict, event: &Event, told: Told) -> String {
    let mut took = took(outcome.duration_micros);
    if told.counts {
        took.push_str(", counted from zero");
    }
    if let Some(error) = &outcome.error {
        let counts = match outcome.decision {
            Some(decision) => format!("counts as {}", decision.as_str()),
            None if verdict.replaced => "the subject is withheld".into(),
            None => "decides nothing".into(),
        };
        return format!("{}: {counts} ({took})", plain(error, MAX_TOLD));
    }
    if outcome.status == Status::Skipped {
        return format!("did not run: {}", plain(outcome.reason.as_deref().unwrap_or("it was skipped"), MAX_TOLD));
    }
    let mut does: Vec<String> = Vec::new();
    if verdict.subject.is_some() {
        let subject = event.spec.subject.unwrap_or_default().trim_start_matches('/').replace('/', ".");
        does.push(format!("{} {subject}", if verdict.replaced { "replaces" } else { "rewrites" }));
    }
    let changed = verdict.context.as_ref().and_then(Value::as_object);
    does.extend(changed.filter(|it| !it.is_empty()).map(|it| {
        let members: Vec<_> = it.keys().map(String::as_str).collect();
        format!("changes {}", plain(&members.join(", "), MAX_TOLD))
    }));
    does.extend(verdict.additional_context.first().map(|text| format!("tells the model: {}", plain(text, MAX_TOLD))));
    does.extend(verdict.user_messages.first().map(|text| format!("says: {}", plain(text, MAX_TOLD))));
    does.extend(
        verdict.retry.as_ref().and_then(|it| serde_json::to_value(it.action).ok()?.as_str().map(str::to_string)),
    );
    does.extend(verdict.stop.as_ref().map(|why| format!("ends the run: {}", plain(why, MAX_TOLD))));
    let reason = outcome.reason.as_deref().filter(|it| !it.trim().is_empty());
    let reason = reason.map(|it| format!(": {}", plain(it, MAX_TOLD))).unwrap_or_default();
    let opinion = match outcome.decision {
        Some(decision) if told.is_detached => {
            Some(format!("{}{reason}, but it is async: decides nothing", decision.as_str()))
        }
        Some(decision) => Some(format!("{}{reason}", decision.as_str())),
        None if does.is_empty() || !reason.is_empty() => Some(format!("no opinion{reason}")),
        None => None,
    };
    let parts: Vec<_> = opinion.into_iter().chain(does).collect();
    format!("{} ({took})", parts.join("; "))
}

/// A short time, for people.
fn took(micros: u64) -> String {
    match micros {
        0..100 => format!("{micros} µs"),
        100..9_950 => format!("{:.1} ms", micros as f64 / 1e3),
        9_950..999_500 => format!("{:.0} ms", micros as f64 / 1e3),
        _ => format!("{:.1} s", micros as f64 / 1e6),
    }
}

/// What `hookwire.explain` gives.
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
}

/// Tells whether a hook would run, and runs nothing.
pub(super) fn explain(snapshot: &Snapshot, OfHook { uri, hook }: &OfHook) -> Answer<Explained> {
    let server = &snapshot.server;
    let Found { document, workspace, hook } = find(snapshot, uri, hook)?;
    let past = past(server, &document.path);
    let chosen = Chosen::new(&hook, &past, None, workspace.root())?;
    let named = chosen.named();
    let from = chosen.from();
    let (applies, (summary, opaque, kept_out_by)) = (
        chosen.applies.is_ok(),
        match chosen.applies {
            Ok(None) => (format!("runs on {named}"), None, None),
            Ok(Some(why)) => {
                let told = format!("runs on {named}, but whether it applies can't be told: {}", plain(&why, MAX_TOLD));
                (told, Some(why), None)
            }
            Err(miss) => (format!("does not run on {named}: {}", missed(&miss)), None, Some(miss)),
        },
    );
    show(server, MessageType::INFO, &format!("{} {summary}", plain(&hook.name, MAX_TOLD)));
    let (hook, event) = (hook.name.clone(), chosen.event.name.clone());
    Ok(Explained { hook, event, from, applies, kept_out_by, opaque, summary })
}

/// Tells the person something.
pub(super) fn show(server: &Server, kind: MessageType, message: &str) {
    server.notify("window/showMessage", &json!({ "type": kind, "message": unlinked(message) }));
}

/// A text in which editors find no link: what an agent or a hook says could carry a command of theirs.
fn unlinked(text: &str) -> String {
    text.replace("](", "] (")
}

/// What an event is about, in a few words.
pub(super) fn subject(event: &Event) -> String {
    let input = event.at("/tool/input");
    let main = event.tool_name().and_then(|tool| tools::main_argument(tool, input?)).map(|(_, text)| text);
    let text = match (event.tool_name(), main) {
        (Some(tool), Some(main)) => format!("{tool} {main}"),
        (Some(tool), None) => tool.to_string(),
        (None, _) => match event.subject() {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        },
    };
    plain(&text, MAX_SUBJECT)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::definitions::check::check;

    /// An event as a running host tells it.
    pub(in crate::lsp) fn judged(seq: u64, event: Value, outcomes: Value) -> Arc<Judged> {
        let decided = outcomes.as_array().and_then(|it| it.iter().find(|it| it["decision"] == "deny"));
        let verdict = json!({
            "decision": if decided.is_some() { "deny" } else { "allow" },
            "decidedBy": decided.map(|it| &it["hook"]),
            "outcomes": outcomes, "generation": 1, "hash": "", "eventId": "",
        });
        Arc::new(Judged {
            folder: "".into(),
            host: 1,
            seq,
            at: "2030-01-02T03:04:05.678Z".into(),
            event: Arc::new(Event::from_json(event).unwrap()),
            verdict: serde_json::from_value(verdict).unwrap(),
            truncated: false,
        })
    }

    fn hook(definition: &str) -> Arc<Hook> {
        let checked = check(
            "/p/a.yaml",
            &format!("hooks:\n- {{ name: a, {definition} }}\n"),
            crate::syntax::source::Layer::Hooks,
        );
        let hook = checked.file.and_then(|file| file.hooks.into_iter().next()?.hook);
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
        let past = held(recent, Path::new("/p"));
        for (definition, pinned, expected) in [
            ("on: PreToolUse, if: 'Bash(git*)', deny: x", None, "live PreToolUse (Bash git push) runs"),
            ("on: PreToolUse, deny: x", None, "live PreToolUse (Bash ls) runs"),
            // None of them makes it run: the newest tells why.
            ("on: PreToolUse, if: 'Bash(rm*)', deny: x", None, "live PreToolUse (Bash ls) if"),
            ("on: [Stop, PreToolUse], if: 'Bash(git*)', deny: x", None, "live PreToolUse (Bash git push) runs"),
            ("on: [Stop, PreToolUse], matcher: Edit, deny: x", None, "live Stop matcher"),
            ("on: '*', deny: x", None, "live Stop runs"),
            ("on: SessionStart, deny: x", None, "sample SessionStart runs"),
            ("on: PreToolUse, deny: x", Some(1), "live PreToolUse (Bash git pull) runs"),
            ("on: PreToolUse, deny: x", Some(4), "live Stop on"),
            ("on: PreToolUse, deny: x", Some(5), "event 5 of process 1 is not known any more"),
        ] {
            let hook = hook(definition);
            let pinned = pinned.map(|seq| OfEvent { host: 1, seq });
            let is_pinned = pinned.is_some();
            let told = match Chosen::new(&hook, &past, pinned, Path::new("/p")) {
                Ok(chosen) => {
                    let subject = Some(subject(&chosen.event)).filter(|it| !it.is_empty());
                    let subject = subject.map(|it| format!(" ({it})")).unwrap_or_default();
                    let applies = chosen.applies.as_ref().map_or_else(|miss| &*miss.test, |_| "runs");
                    if !is_pinned {
                        let name = newest_name(&hook, &past).unwrap_or(sample::name(&hook));
                        assert_eq!(name, &*chosen.event.name, "the lens says the same: {definition}");
                    }
                    format!("{} {}{subject} {applies}", chosen.from(), chosen.event.name)
                }
                Err(Refusal::Failed(why)) => why,
                Err(other) => panic!("{other:?}"),
            };
            assert_eq!(told, expected, "{definition}");
        }
    }

    #[test]
    fn times_in_words() {
        for (micros, expected) in [
            (0, "0 µs"),
            (99, "99 µs"),
            (300, "0.3 ms"),
            (9_949, "9.9 ms"),
            (9_950, "10 ms"),
            (12_300, "12 ms"),
            (999_499, "999 ms"),
            (999_500, "1.0 s"),
            (61_000_000, "61.0 s"),
        ] {
            assert_eq!(took(micros), expected);
        }
    }
}
