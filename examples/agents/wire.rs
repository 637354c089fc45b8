//! What an agent needs: the host, and `fire`. Copy it unchanged.

use hookwire::Client;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::process::Command;
use std::time::Duration;

/// Why something was not done.
pub(crate) enum Fault {
    /// A hook's refusal. It is an answer, so nothing here treats it as a failure.
    Refused(String),
    /// What went wrong.
    Failed(String),
}

/// An agent's state that hooks see and may change.
pub(crate) struct Agent<'a> {
    pub(crate) host: &'a Host,
    pub(crate) name: String,
    pub(crate) run_id: Option<String>,
    pub(crate) step: u64,
    /// Name and run of the agent that started this one.
    pub(crate) parent: Option<(String, Option<String>)>,
    /// What hooks may change: metadata, system prompt and messages.
    pub(crate) context: Value,
    /// Messages of hooks to the model.
    pub(crate) notes: Vec<String>,
    /// Token usage of the run.
    pub(crate) usage: Value,
    /// Tokens read by the model in its last call.
    pub(crate) tokens: u64,
    /// Why a hook ended the run.
    ending: Option<String>,
}

/// A run that a hook has ended starts none of these.
const ACTS: [&str; 7] = [
    "StepStart",
    "PreCompact",
    "PreModelCall",
    "PreToolUse",
    "PermissionRequest",
    "SubagentStop",
    "Stop",
];
/// These events only inform hooks; they can't be refused.
const NOTES: [&str; 5] = [
    "PermissionDenied",
    "PostCompact",
    "Checkpoint",
    "Notification",
    "SessionEnd",
];

/// The member that hooks may rewrite at each event.
fn subject(event: &str) -> &'static str {
    match event {
        "UserPromptSubmit" | "RunStart" | "SubagentStart" => "/prompt",
        "RunEnd" | "RunError" => "/result",
        "StepEnd" | "SubagentStop" | "Stop" => "/lastMessage",
        "PreModelCall" => "/model/request",
        "PostModelCall" => "/model/response",
        "PreToolUse" | "PermissionRequest" => "/tool/input",
        "PostToolUse" | "PostToolUseFailure" => "/tool/output",
        "PreCompact" => "/compaction",
        _ => "none",
    }
}

impl<'a> Agent<'a> {
    pub(crate) fn new(host: &'a Host, name: &str) -> Agent<'a> {
        Agent {
            host,
            name: name.into(),
            run_id: None,
            step: 0,
            parent: None,
            context: json!({"metadata": {}, "systemPrompt": format!("You are {name}."), "messages": []}),
            notes: vec![],
            usage: no_usage(),
            tokens: 0,
            ending: None,
        }
    }

    /// An agent that this one starts, for a tool call.
    pub(crate) fn child(&self, name: &str, call: &str) -> Agent<'a> {
        let mut child = Agent::new(self.host, name);
        child.parent = Some((self.name.clone(), self.run_id.clone()));
        child.run_id = self.run_id.as_ref().map(|run| format!("{run}.{call}"));
        child
    }

    pub(crate) fn begin(&mut self, run: Option<String>) {
        (self.run_id, self.step, self.ending, self.usage) = (run, 0, None, no_usage());
    }

    pub(crate) fn messages(&self) -> Vec<Value> {
        self.context["messages"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    }

    pub(crate) fn add(&mut self, messages: impl IntoIterator<Item = Value>) {
        match &mut self.context["messages"] {
            Value::Array(all) => all.extend(messages),
            other => *other = messages.into_iter().collect(),
        }
    }

    pub(crate) fn add_notes(&mut self) {
        let notes = std::mem::take(&mut self.notes);
        self.add(notes.into_iter().map(|note| user(note.into())));
    }

    pub(crate) fn count(&mut self, usage: &Value) {
        let tokens = |usage: &Value, kind: &str| usage[kind].as_u64().unwrap_or(0);
        self.tokens = tokens(usage, "inputTokens");
        for kind in ["inputTokens", "outputTokens"] {
            self.usage[kind] = json!(tokens(&self.usage, kind) + tokens(usage, kind));
        }
    }

    /// Sends an event; returns the verdict with `data` as hooks changed it. A refusal is
    /// [`Fault::Refused`].
    pub(crate) fn fire(&mut self, name: &str, data: Value) -> Result<Value, Fault> {
        if let Some(reason) = self.ending.as_ref().filter(|_| ACTS.contains(&name)) {
            return Err(Fault::Refused(reason.clone()));
        }
        self.step += u64::from(name == "StepStart");
        let (parent, parent_run) = self.parent.clone().unzip();
        let event = json!({
            "event": name,
            "session": format!("s{}", std::process::id()),
            "run": self.run_id,
            "parentRun": parent_run,
            "step": (self.step > 0).then_some(self.step),
            "agent": {"name": self.name, "parent": parent},
            "cwd": std::env::current_dir().unwrap_or_default(),
            "metadata": self.context["metadata"],
        });
        let mut event = joined(event, data);
        let mut verdict = self.host.judge(&event);
        for text in texts(&verdict["userMessages"]) {
            println!("[hook] {text}");
        }
        self.notes
            .extend(texts(&verdict["additionalContext"]).map(String::from));
        if let Some(patch) = verdict.get("context") {
            for (member, value) in self.context.as_object_mut().into_iter().flatten() {
                patch
                    .get(member)
                    .into_iter()
                    .for_each(|patch| merge(value, patch));
            }
            merge(&mut event, patch);
        }
        if let Some(reason) = verdict["stop"].as_str().map(String::from) {
            // Refuses this act and whatever the run would do next.
            (verdict["decision"], verdict["reason"]) = (json!("deny"), json!(reason));
            self.ending = Some(reason);
        }
        if verdict["decision"] != "allow" && !NOTES.contains(&name) {
            return Err(Fault::Refused(
                verdict["reason"]
                    .as_str()
                    .unwrap_or("a hook said no")
                    .into(),
            ));
        }
        if name == "PermissionRequest" && verdict.get("decidedBy").is_none() {
            // Where your agent would ask its user.
            return Err(Fault::Refused("nobody has allowed it".into()));
        }
        if let (Some(value), Some(place)) =
            (verdict.get("subject"), event.pointer_mut(subject(name)))
        {
            *place = value.clone();
        }
        Ok(joined(verdict, event))
    }
}

/// Joins two objects; members of the second one win.
pub(crate) fn joined(mut first: Value, second: Value) -> Value {
    if let (Value::Object(first), Value::Object(second)) = (&mut first, second) {
        first.extend(second);
    }
    first
}

/// A message of the conversation.
pub(crate) fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

fn no_usage() -> Value {
    json!({"inputTokens": 0, "outputTokens": 0})
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Fault {
        Fault::Failed(error.to_string())
    }
}

/// A host. Without it every verdict is a deny, so that nothing runs unjudged.
pub(crate) struct Host {
    client: RefCell<Result<Client, String>>,
    patience: Duration,
}

impl Host {
    /// Starts `hookwire serve` with these arguments.
    pub(crate) fn start(arguments: impl Iterator<Item = String>) -> Host {
        let variable = |name: &str| std::env::var(name).ok();
        let program = variable("HOOKWIRE").unwrap_or_else(|| "hookwire".into());
        let patience = variable("PATIENCE")
            .and_then(|text| Duration::try_from_secs_f64(text.parse().ok()?).ok());
        let patience = patience.unwrap_or(Duration::from_secs(5));
        let client = Client::start(Command::new(program).arg("serve").args(arguments), patience);
        Host {
            client: RefCell::new(
                client.map_err(|problem| format!("hookwire did not start: {problem}")),
            ),
            patience,
        }
    }

    /// Asks for the verdict on an event.
    pub(crate) fn judge(&self, event: &Value) -> Value {
        let mut params = event.clone();
        // If a hook hangs, the host answers without it.
        params["deadlineMs"] = json!(self.patience.mul_f64(0.8).as_millis() as u64);
        let mut client = self.client.borrow_mut();
        if let Ok(host) = &mut *client {
            match host.request("hooks/dispatch", &params) {
                Ok(verdict) => return verdict,
                // It is dead or hangs; it is asked no more.
                Err(_) => *client = Err("hookwire gave no verdict".into()),
            }
        }
        json!({"decision": "deny", "reason": client.as_ref().err()})
    }

    /// Ends the host; returns what went wrong with it, if anything.
    pub(crate) fn stop(self) -> Option<String> {
        match self.client.into_inner() {
            Ok(client) => client.end().err().map(|problem| problem.to_string()),
            Err(problem) => Some(problem),
        }
    }
}

/// Applies a JSON merge patch, RFC 7396.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().and_then(|target| target.remove(key));
        } else {
            merge(&mut target[key], value);
        }
    }
}
