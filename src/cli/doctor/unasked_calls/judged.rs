//! What the definitions in force say now about calls that were made, without any effect.

use super::super::super::ending::make_runtime;
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
const LIMIT_OF_ALL: Duration = Duration::from_secs(20);

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

/// The definitions that judge.
pub(super) struct Judge {
    host: Arc<Host>,
    dialect: &'static Dialect,
}

impl Judge {
    /// The definitions by which an agent's calls are judged.
    pub(super) fn new(agent: &'static Agent, hooks: &HostArgs) -> Result<Judge, Failure> {
        let dialect = dialect_of(agent).ok_or_else(|| {
            Failure(format!(
                "hookwire doesn't know the words of {}",
                agent.title
            ))
        })?;
        let host = hooks.definitions.host_with(HostOptions {
            purpose: Purpose::Try,
            state: Store::default(),
            ask_elsewhere: None,
            self_defense: true,
            ..hooks.options()?
        })?;
        Ok(Judge { host, dialect })
    }

    /// Each of some calls in short, and what the hooks say about it as long as there is time.
    pub(super) fn judge_all<'c>(
        &self,
        calls: impl Iterator<Item = &'c Call>,
    ) -> Result<Vec<(String, Option<Judged>)>, Failure> {
        let runtime = make_runtime()?;
        let deadline = Instant::now() + LIMIT_OF_ALL;
        let judged = calls.map(|call| {
            let Ok(event) = to_event(call) else {
                return (String::new(), None);
            };
            let judged = (Instant::now() < deadline).then(|| {
                let (verdict, _) = runtime.block_on(self.host.judge_as(self.dialect, &event));
                Judged::new(&verdict)
            });
            (act_of(call, &event), judged)
        });
        let judged = judged.collect();
        runtime.shutdown_background();
        Ok(judged)
    }
}

fn to_event(call: &Call) -> Result<Event, Failure> {
    let mut event = json!({
        "event": PRE_TOOL_USE,
        "session": call.session,
        "deadlineMs": millis(LIMIT),
        "tool": { "name": call.tool, "input": call.input },
    });
    if let Some(cwd) = &call.cwd {
        event["cwd"] = json!(cwd);
    }
    Event::from_json(event).map_err(|error| Failure(error.to_string()))
}

/// A call in short, without secrets.
fn act_of(call: &Call, event: &Event) -> String {
    let about = told::about(&json!({ "tool": call.tool }), Some(event));
    let about = about.unwrap_or_else(|| call.input.to_string());
    clean(about)
}

/// A text without secrets.
fn clean(text: String) -> String {
    match without_secrets(Value::String(text)) {
        Value::String(clean) => clean,
        other => other.to_string(),
    }
}
