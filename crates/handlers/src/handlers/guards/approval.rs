//! `approval`: a person decides, through the client where it can ask, else from another terminal.
//! See [`crate::services::approvals`].

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::effect::Effect;
use super::super::error::HandlerError;
use super::super::kind::{Kind, TextKind};
use super::guard_kind::{GuardKind, gates};
use crate::services::approvals::{self, Remember};
use hookwire_base::event::EventSpec;
use hookwire_base::support::visible::safe;
use hookwire_base::syntax::values::RawDuration;
use hookwire_base::template::{PATHS, Template};
use hookwire_base::verdict::{Answer, Decision};
use hookwire_rules::contract::{Fail, NATIVE};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Approval")]
#[derive(Default)]
pub struct RawApproval {
    /// What the person is told, with `${tool.name}` placeholders. Default: the hook's description
    /// or name.
    message: Option<String>,
    /// How long an answer is waited for. Default 5 minutes; the hook's `timeout`, where it is
    /// given, and the event's deadline count too.
    wait: Option<RawDuration>,
    /// What happens when nobody answers in time.
    default: Fallback,
    /// What counts as the same question when a person says that the answer is to be remembered.
    remember: Remember,
}

/// What silence means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ApprovalDefault")]
enum Fallback {
    /// No.
    #[default]
    Deny,
    /// No opinion: other hooks decide.
    Allow,
    /// The hook has failed; its `fail` decides.
    Fail,
}

#[derive(Debug)]
pub struct Approval {
    message: Option<Template>,
    wait: Duration,
    default: Fallback,
    remember: Remember,
}

/// A value as a text on one line, in which nothing hides.
fn on_one_line(value: Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::String(text) => Value::String(safe(&text)),
        other => Value::String(safe(&other.to_string())),
    }
}

const DEFAULT_WAIT: Duration = Duration::from_secs(300);

impl GuardKind for Approval {
    const EXAMPLE: &'static str = "{ message: \"Push this?\" }";

    const EVENTS: &'static [&'static str] = &["PreToolUse"];

    fn acts_at(spec: &EventSpec) -> bool {
        gates(spec)
    }
}

impl Kind for Approval {
    type Raw = RawApproval;

    const TEXTS: &'static [(&'static str, TextKind)] = &[("message", TextKind::NativeTemplate)];

    fn judges_acts(&self) -> bool {
        true
    }

    fn compile(raw: RawApproval, _: &Compile<'_>) -> Result<Self, Mistake> {
        let message = raw
            .message
            .as_deref()
            .map(|text| Template::new(text, &PATHS))
            .transpose();
        Ok(Approval {
            message: message.map_err(|message| Mistake::new("message", message))?,
            wait: raw.wait.map_or(DEFAULT_WAIT, RawDuration::get),
            default: raw.default,
            remember: raw.remember,
        })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let hook = call.hook;
        let message = match (&self.message, hook.description) {
            // What the call says must not pass for what the hook says.
            (Some(message), _) => message.text(&|path| call.path(path).map(on_one_line)),
            (None, Some(description)) => description.to_string(),
            (None, None) => format!("`{}` needs an approval", hook.name),
        };
        if call.moment.event().unknown_gate().is_some() || call.judge.asks_nobody() {
            return Ok(Answer::decide(Decision::Ask, message));
        }
        let question = approvals::Question {
            hook: hook.name,
            file: &hook.source.file,
            definitions: vec![hook.fingerprint],
            message: message.clone(),
            event: call.moment.event(),
            files: call.moment.facts.files_run(),
            paths: call.moment.facts.paths_named(),
            timeout: self.wait.min(hook.timeout),
            unanswered: match self.default {
                Fallback::Deny => Decision::Deny,
                Fallback::Allow => Decision::Allow,
                Fallback::Fail => match hook.fail.unwrap_or(hook.contract.gates_fail) {
                    Fail::Open => Decision::Allow,
                    Fail::Closed => Decision::Deny,
                    Fail::Ask => Decision::Ask,
                },
            },
            remember: self.remember,
        };
        let services = call.services;
        let answered = match services
            .approvals
            .ask(question, &services.state, call.client)
            .await
        {
            Ok(answered) => answered,
            Err(approvals::NoAnswer::Silence(error)) => match self.default {
                Fallback::Deny => {
                    return Ok(Answer::decide(
                        Decision::Deny,
                        format!("{message} ({error})"),
                    ));
                }
                Fallback::Allow => return Ok(Answer::default()),
                Fallback::Fail => return Err(HandlerError(format!("get an approval: {error}"))),
            },
            Err(approvals::NoAnswer::Error(error)) => return Err(HandlerError(error)),
        };
        let (decision, reason) = answered.decided(&message, hook.contract.dialect == NATIVE);
        let subject = answered
            .reply
            .subject
            .filter(|_| decision == Decision::Allow);
        Ok(Answer {
            subject,
            ..Answer::decide(decision, reason)
        })
    }

    fn effect(&self) -> Option<Effect> {
        Some(Effect::Person)
    }

    /// The wait, and a little for the answer.
    fn default_timeout(&self) -> Option<Duration> {
        Some(self.wait + Duration::from_secs(1))
    }
}
