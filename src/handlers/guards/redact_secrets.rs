//! `redact-secrets`: replaces keys, tokens and passwords in what goes in and comes out. What is a
//! secret is [`super::secrets`]' matter.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::{Kind, TextKind};
use super::super::pattern::Pattern;
use super::super::text;
use super::guard_kind::{GuardKind, has_subject};
use super::secrets::{self, Redaction};
use crate::event::EventSpec;
use crate::verdict::Answer;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// Rewrites every text of the subject. The outcome names the rules that found something, never
/// what they found.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RedactSecretsGuard")]
pub(crate) struct RawRedactSecrets {
    /// Secrets that one of these matches stay, e.g. those of test accounts.
    #[serde(default)]
    allow: Vec<Pattern>,
    /// What stands in for a secret.
    #[serde(default = "default_replacement")]
    replacement: String,
}

fn default_replacement() -> String {
    "[redacted]".into()
}

#[derive(Debug)]
pub(crate) struct RedactSecrets(Arc<Redaction>);

impl GuardKind for RedactSecrets {
    const EVENTS: &'static [&'static str] = &["PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit"];

    fn acts_at(spec: &EventSpec) -> bool {
        has_subject(spec)
    }
}

impl Kind for RedactSecrets {
    type Raw = RawRedactSecrets;

    const TEXTS: &'static [(&'static str, TextKind)] = &[("allow.*", TextKind::Regex)];

    fn compile(raw: RawRedactSecrets, _: &Compile<'_>) -> Result<Self, Mistake> {
        let allow = raw.allow.into_iter().map(|Pattern(regex)| regex).collect();
        Ok(RedactSecrets(Arc::new(Redaction { allow, replacement: raw.replacement })))
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let event = call.moment.event();
        let Some(subject) = event.subject() else { return Ok(Answer::default()) };
        let (redaction, shared) = (self.0.clone(), event.clone());
        let redacted = text::look_through(subject, move || secrets::redact(shared.subject()?, &redaction));
        Ok(redacted.await?.map_or_else(Answer::default, |(subject, rules)| Answer {
            subject: Some(subject),
            reason: Some(format!("Redacted: {}", rules.join(", "))),
            ..Answer::default()
        }))
    }
}
