//! What the definitions in force say now about calls that were made, without any effect.

use super::super::super::own::dialect_of;
use super::super::super::{Failure, HostArgs};
use crate::transcripts::Call;
use hookwire_base::event::{Event, PRE_TOOL_USE};
use hookwire_base::support::amounts::millis;
use hookwire_base::verdict::{Decision, Verdict};
use hookwire_dialects::Dialect;
use hookwire_engine::engine::NOT_RUN;
use hookwire_engine::host::{Host, HostOptions, Purpose};
use hookwire_engine::running::told;
use hookwire_handlers::handlers::guards::without_secrets;
use hookwire_handlers::services::state::Store;
use hookwire_rules::agents::Agent;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one call may take, and all together.
const LIMIT: Duration = Duration::from_secs(2);
pub(super) const LIMIT_OF_ALL: Duration = Duration::from_secs(20);
/// The longest call that is judged, in bytes: what is longer takes seconds to read.
const MAX_JUDGED: usize = 256 << 10;
/// So much of a call is looked at to tell it in short: characters of a text, items of a list.
const MAX_TEXT: usize = 1000;
const MAX_ITEMS: usize = 50;

/// What the hooks say.
pub(super) struct Judged {
    pub(super) decision: Decision,
    pub(super) by: Option<String>,
    pub(super) reason: Option<String>,
    /// How many hooks would have to start something or count, and didn't.
    pub(super) n_not_run: usize,
}

impl Judged {
    fn new(verdict: &Verdict) -> Judged {
        let is_not_run = |reason: Option<&str>| reason == Some(NOT_RUN);
        Judged {
            decision: verdict.decision,
            by: verdict.decided_by.as_deref().map(str::to_string),
            reason: verdict.reason.clone().map(clean),
            n_not_run: verdict
                .outcomes
                .iter()
                .filter(|outcome| is_not_run(outcome.reason.as_deref()))
                .count(),
        }
    }

    pub(super) fn is_allowed(&self) -> bool {
        self.decision == Decision::Allow && self.n_not_run == 0
    }

    pub(super) fn is_denied(&self) -> bool {
        self.decision == Decision::Deny
    }
}

/// Why the hooks weren't asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotJudged {
    TooLong,
    NoTime,
    NoEvent,
}

impl NotJudged {
    /// In words.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            NotJudged::TooLong => "it is too long",
            NotJudged::NoTime => "there was no time",
            NotJudged::NoEvent => "it can't be read",
        }
    }
}

/// A call in short, and what the hooks say about it, or why they weren't asked.
type InShort = (String, Result<Judged, NotJudged>);

/// The definitions that judge.
pub(super) struct Judge {
    host: Arc<Host>,
    dialect: &'static Dialect,
}

impl Judge {
    /// The definitions by which an agent's calls are judged.
    pub(super) fn new(agent: &'static Agent, hooks: &HostArgs) -> Result<Judge, Failure> {
        let host = hooks.definitions.host_with(HostOptions {
            purpose: Purpose::Try,
            state: Store::default(),
            ask_elsewhere: None,
            self_defense: true,
            ..hooks.options()?
        })?;
        Judge::of_host(agent, host)
    }

    /// Those that are in force in a host.
    pub(super) fn of_host(agent: &'static Agent, host: Arc<Host>) -> Result<Judge, Failure> {
        let dialect = dialect_of(agent).ok_or_else(|| {
            Failure(format!(
                "hookwire doesn't know the words of {}",
                agent.title
            ))
        })?;
        Ok(Judge { host, dialect })
    }

    /// Each of some calls in short, with what the hooks say about it as long as there is time.
    pub(super) fn judge_all<'c>(
        &self,
        calls: impl Iterator<Item = &'c Call>,
        deadline: Instant,
    ) -> Result<Vec<InShort>, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        let judged = calls.map(|call| {
            let act = act_of(call);
            if length(&call.input) > MAX_JUDGED {
                return (act, Err(NotJudged::TooLong));
            }
            if Instant::now() >= deadline {
                return (act, Err(NotJudged::NoTime));
            }
            let Ok(event) = to_event(call, call.input.clone()) else {
                return (act, Err(NotJudged::NoEvent));
            };
            let trial = runtime.block_on(self.host.try_event(self.dialect, &event));
            (act, Ok(Judged::new(&trial.verdict)))
        });
        let judged = judged.collect();
        runtime.shutdown_background();
        Ok(judged)
    }
}

fn to_event(call: &Call, input: Value) -> Result<Event, Failure> {
    let mut event = json!({
        "event": PRE_TOOL_USE,
        "session": call.session,
        "deadlineMs": millis(LIMIT),
        "tool": { "name": call.tool, "input": input },
    });
    if let Some(cwd) = &call.cwd {
        event["cwd"] = json!(cwd);
    }
    Event::from_json(event).map_err(|error| Failure(error.to_string()))
}

/// How long the texts of a value are together, in bytes.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(length).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() + length(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// A value with the beginnings of its texts and lists.
fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) => text.chars().take(MAX_TEXT).collect::<String>().into(),
        Value::Array(items) => items.iter().take(MAX_ITEMS).map(shortened).collect(),
        Value::Object(members) => {
            let members = members.iter().take(MAX_ITEMS);
            let short = members.map(|(name, value)| (name.clone(), shortened(value)));
            Value::Object(short.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// A call in short, without secrets.
fn act_of(call: &Call) -> String {
    let input = shortened(&call.input);
    let event = to_event(call, input.clone()).ok();
    let about = told::about(&json!({ "tool": call.tool }), event.as_ref());
    clean(about.unwrap_or_else(|| input.to_string()))
}

/// A text without secrets.
fn clean(text: String) -> String {
    match without_secrets(Value::String(text)) {
        Value::String(clean) => clean,
        other => other.to_string(),
    }
}
