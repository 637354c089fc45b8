//! `redact-secrets`: replaces keys, tokens and passwords in what goes in and comes out, and asks
//! about those in tool calls. What is a secret is [`super::secrets`]' matter.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::{Kind, TextKind};
use super::super::pattern::Pattern;
use super::super::said::Redactor;
use super::super::text::{self, Abandoned};
use super::guard_kind::{GuardKind, has_subject};
use super::read_places::{changed, places};
use super::refusal::deny;
use super::secrets::{self, Redaction};
use hookwire_base::event::{EventSpec, Phase};
use hookwire_base::verdict::Answer;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Looks through every text of the subject, and of the error of a failed call, the names of members
/// included, and through what hooks of its layer and of inner ones say beside it: there a secret is
/// replaced whatever `action` is. The outcome names the rules that found something, never what they
/// found. What is too large to be looked through, more than 16 MiB of text, is denied.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RedactSecretsGuard")]
pub struct RawRedactSecrets {
    /// What is done about a secret. Default: `ask` before a tool call, `redact` elsewhere.
    action: Option<Action>,
    /// Secrets that one of these matches stay, e.g. those of test accounts.
    #[serde(default)]
    allow: Vec<Pattern>,
    /// What stands in for a secret.
    #[serde(default = "default_replacement")]
    replacement: String,
}

/// What is done about a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SecretsAction")]
enum Action {
    /// It is replaced.
    Redact,
    /// A person is asked. Where it has happened there is nothing to ask about: its result is
    /// withheld.
    Ask,
    /// It is denied; a result is withheld.
    Deny,
}

fn default_replacement() -> String {
    "[redacted]".into()
}

#[derive(Debug)]
pub struct RedactSecrets {
    action: Option<Action>,
    redaction: Arc<Redaction>,
}

impl GuardKind for RedactSecrets {
    const EXAMPLE: &'static str = "{ action: ask }";

    const EVENTS: &'static [&'static str] = &[
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "UserPromptSubmit",
    ];

    fn acts_at(spec: &EventSpec) -> bool {
        has_subject(spec)
    }
}

impl Kind for RedactSecrets {
    type Raw = RawRedactSecrets;

    const TEXTS: &'static [(&'static str, TextKind)] = &[("allow.*", TextKind::Regex)];

    fn compile(raw: RawRedactSecrets, _: &Compile<'_>) -> Result<Self, Mistake> {
        let allow = raw.allow.into_iter().map(|Pattern(regex)| regex).collect();
        let redaction = Arc::new(Redaction {
            allow,
            replacement: raw.replacement,
        });
        Ok(RedactSecrets {
            action: raw.action,
            redaction,
        })
    }

    fn redactor(&self) -> Option<Redactor> {
        let redaction = self.redaction.clone();
        Some(Arc::new(move |value, abandoned| {
            secrets::redact(value, &redaction, abandoned).map(|(clean, _)| clean)
        }))
    }

    fn has_effects(&self) -> bool {
        false
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let event = call.moment.event();
        let (mut changes, mut found, mut rules) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (place, value) in places(event) {
            let bytes = text::size(value);
            if bytes > text::MOST {
                let most = text::MOST;
                return Ok(deny(
                    event,
                    format!(
                        "{bytes} bytes of text can't be looked through for secrets, only {most}"
                    ),
                ));
            }
            let (redaction, shared) = (self.redaction.clone(), event.clone());
            let look = move |abandoned: &Abandoned| {
                secrets::redact(shared.at(place)?, &redaction, abandoned)
            };
            if let Some((clean, names)) = text::look_through(value, look).await? {
                changes.push((place, clean));
                found.push(format!(
                    "`{}`",
                    place.trim_start_matches('/').replace('/', ".")
                ));
                rules.extend(names);
            }
        }
        if changes.is_empty() {
            return Ok(Answer::default());
        }
        let rules = Vec::from_iter(rules).join(", ");
        let found = format!("Secrets in {}: {rules}", found.join(" and "));
        let action = self.action.unwrap_or(default_action(event.spec));
        Ok(match (action, event.spec.phase) {
            (Action::Redact, _) => Answer {
                reason: Some(format!("Redacted: {rules}")),
                ..changed(event, changes)
            },
            (Action::Ask, Phase::Gate | Phase::Note) => Answer::ask(found),
            (Action::Ask, Phase::After) | (Action::Deny, _) => deny(event, found),
        })
    }
}

/// A person knows whether a token belongs into the file or command that a tool call is about.
/// Redacted, the call would write or run something that nobody meant, and what the model knows it
/// would know still.
fn default_action(spec: &EventSpec) -> Action {
    if spec.tool && spec.phase == Phase::Gate {
        Action::Ask
    } else {
        Action::Redact
    }
}
