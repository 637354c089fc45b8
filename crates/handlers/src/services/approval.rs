//! What a person is asked and what they say, whoever asks them.

use hookwire_base::verdict::Decision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a person is asked.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// Names the question; what `hookwire approvals approve` takes.
    pub id: String,
    /// The hook that asks.
    pub hook: String,
    /// Why it asks.
    pub message: String,
    /// The event's name.
    pub event: String,
    /// The session.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub session: String,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// The directory that it would be done in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cwd: Option<String>,
    /// What would be done: the event's subject.
    #[serde(skip_serializing_if = "Value::is_null", default)]
    pub subject: Value,
    /// How long an answer is waited for, in milliseconds.
    pub timeout_ms: u64,
    /// What the hook says if no answer comes in time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unanswered: Option<Decision>,
    /// When it was asked, in milliseconds since 1970.
    pub asked_at: u64,
}

/// What a person says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "an object with `decision`"
)]
pub struct ApprovalReply {
    /// Yes or no.
    pub decision: Approval,
    /// Why; the agent reads it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// With an approval: do this instead; null is a value.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "hookwire_base::verdict::present"
    )]
    pub subject: Option<Value>,
    /// Give the same answer to the same question for the rest of the session.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub remember: bool,
}

/// How a reason begins behind the question, where a person has said no.
pub const DENIED: &str = "denied by a person";

impl ApprovalReply {
    /// The decision that it comes to, and why. `by` is who has answered, where that is known. In
    /// other systems what a person says is the whole reason of a "no".
    pub fn decided(&self, question: &str, is_native: bool, by: Option<&str>) -> (Decision, String) {
        let by = by.map(|by| format!(", {by}")).unwrap_or_default();
        let said = self
            .reason
            .as_deref()
            .map(|said| format!("{by}: {said}"))
            .unwrap_or(by);
        match (self.decision, &self.reason) {
            (Approval::Approve, _) => (Decision::Allow, format!("approved by a person{said}")),
            (Approval::Deny, Some(bare)) if !is_native => (Decision::Deny, bare.clone()),
            (Approval::Deny, _) => (Decision::Deny, format!("{question} ({DENIED}{said})")),
        }
    }
}

/// The news that other questions wait for a person than before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalsChanged {
    /// How many wait now.
    pub waiting: usize,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// Go on.
    Approve,
    /// Don't.
    Deny,
}
