//! What has happened: the events of running hosts that a hook can be held against, and what came of
//! hooks that were run from the editor.

use super::document::Documents;
use super::live::{Judged, Live};
use super::plain_text::one_line;
use super::project::Project;
use hookwire_base::event::Event;
use hookwire_engine::hook::Hook;
use hookwire_rules::matching::{Facts, tools};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The longest that an event's subject is told in, in characters.
pub(super) const MAX_SUBJECT: usize = 120;

/// A real event of the past.
pub(super) struct Past {
    pub(super) judged: Arc<Judged>,
    pub(super) facts: Facts,
}

impl Past {
    /// The last events of a project, newest first.
    pub(super) fn of_project(live: &Live, project: Option<&Project>) -> Vec<Past> {
        let Some(project) = project else {
            return Vec::new();
        };
        Past::with_facts(live.recent_events(&project.key()), project.root())
    }

    /// Events with what conditions read of them.
    pub(super) fn with_facts(events: Vec<Arc<Judged>>, root: &Path) -> Vec<Past> {
        events
            .into_iter()
            .map(|judged| Past {
                facts: Facts::new(judged.event.clone(), root),
                judged,
            })
            .collect()
    }
}

/// The newest event at which a hook runs, else the newest that it is for.
pub(super) fn newest_event<'p>(hook: &Hook, past: &'p [Past]) -> Option<&'p Past> {
    let mut named = past
        .iter()
        .filter(|it| hook.on.includes(&it.judged.event.name))
        .peekable();
    let newest = *named.peek()?;
    Some(
        named
            .find(|named| hook.applies(&named.facts).is_ok())
            .unwrap_or(newest),
    )
}

/// The name of the event that [`newest_event`] finds.
pub(super) fn newest_name<'p>(hook: &Hook, past: &'p [Past]) -> Option<&'p str> {
    let mut names = past
        .iter()
        .map(|it| &*it.judged.event.name)
        .filter(|name| hook.on.includes(name));
    let first = names.next()?;
    // If all have the same name, the conditions needn't be evaluated.
    if names.all(|name| name == first) {
        Some(first)
    } else {
        newest_event(hook, past).map(|it| &*it.judged.event.name)
    }
}

/// The subject of an event in a few words.
pub(super) fn event_subject(event: &Event) -> String {
    subject_after(event, None)
}

/// The same with the subject that hooks made of it, if one is given.
pub(super) fn subject_after(event: &Event, rewritten: Option<&Value>) -> String {
    let argument = main_argument(event, rewritten);
    let text = match event.tool_name() {
        Some(tool) => format!("{tool} {argument}"),
        None => argument,
    };
    one_line(&text, MAX_SUBJECT)
}

/// The argument of an event that matters: what a tool is called with, or the event's subject; with
/// the subject that hooks made of it, if one is given.
pub(super) fn main_argument(event: &Event, rewritten: Option<&Value>) -> String {
    let is_of_call = event.spec.subject == Some("/tool/input");
    let input = rewritten.filter(|_| is_of_call).or(event.at("/tool/input"));
    if let Some(tool) = event.tool_name()
        && let Some(input) = input
    {
        // Where none stands out, all of them.
        return tools::main_argument(tool, input)
            .map(|(_, text)| text)
            .or_else(|| {
                input
                    .as_object()
                    .filter(|it| !it.is_empty())
                    .map(|_| input.to_string().into())
            })
            .unwrap_or_default()
            .into_owned();
    }
    match rewritten.or(event.subject()) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// The result of the last run of each hook of the open documents, for the lens above the hook.
#[derive(Default)]
pub(super) struct Runs(Mutex<HashMap<String, HashMap<String, Run>>>);

/// The result of running a hook.
pub(super) struct Run {
    /// Of the definition that was run.
    pub(super) digest: [u8; 16],
    pub(super) summary: String,
}

impl Runs {
    /// The result of the last run of a hook, if its definition is still the same.
    pub(super) fn last_result(&self, uri: &str, hook: &str, digest: &[u8; 16]) -> Option<String> {
        let runs = self.0.lock();
        runs.get(uri)?
            .get(hook)
            .filter(|run| run.digest == *digest)
            .map(|run| run.summary.clone())
    }

    /// Forgets those of a document.
    pub(super) fn forget_document(&self, uri: &str) {
        self.0.lock().remove(uri);
    }

    /// Keeps what came of a run.
    pub(super) fn keep_run(&self, documents: &Documents, uri: &str, hook: &str, run: Run) {
        // It may have been closed meanwhile.
        let Some(document) = documents.get(uri) else {
            return;
        };
        let mut runs = self.0.lock();
        let of_document = runs.entry(uri.to_string()).or_default();
        of_document.retain(|name, _| {
            document
                .readable()
                .is_some_and(|readable| readable.document.hook(name).is_some())
        });
        of_document.insert(hook.to_string(), run);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    /// One that a hook of three has denied.
    pub(crate) fn judged_by_three() -> Arc<Judged> {
        judged(
            7,
            json!({ "event": "PreToolUse", "tool": { "name": "Bash", "input": { "command": "git push\u{202e}" } } }),
            json!([
                { "hook": "a", "status": "skipped", "durationMicros": 1 },
                { "hook": "b", "status": "blocking", "decision": "deny", "reason": "no\nnever", "durationMicros": 41 },
                { "hook": "c", "status": "non_blocking_error", "error": "failed to run", "durationMicros": 1 },
            ]),
        )
    }

    /// An event as a running host tells it.
    pub(crate) fn judged(seq: u64, event: Value, outcomes: Value) -> Arc<Judged> {
        let decided = outcomes
            .as_array()
            .and_then(|it| it.iter().find(|it| it["decision"] == "deny"));
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
}
