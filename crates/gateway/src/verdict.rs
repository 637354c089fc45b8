//! What the host says of an event, as far as the gateway obeys it.

use serde::Deserialize;
use serde_json::Value;

/// A verdict.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Verdict {
    /// `allow`; anything else is a no.
    pub decision: String,
    /// Why.
    pub reason: Option<String>,
    /// The subject's new value; null is a value.
    #[serde(deserialize_with = "hookwire_base::verdict::present")]
    pub subject: Option<Value>,
    /// For the model.
    pub additional_context: Vec<String>,
    /// For the person.
    pub user_messages: Vec<String>,
    /// Why the run is to end.
    pub stop: Option<String>,
    /// What each hook has said.
    pub outcomes: Vec<Outcome>,
}

/// What one hook has said.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Outcome {
    /// The hook.
    pub hook: String,
    /// Its decision.
    pub decision: Option<String>,
}

impl Verdict {
    /// Reads what the host has sent.
    ///
    /// # Errors
    /// It is no verdict.
    pub fn read(sent: Value) -> Result<Verdict, String> {
        if sent.get("decision").and_then(Value::as_str).is_none() {
            return Err("the host's reply is no verdict".into());
        }
        serde_json::from_value(sent)
            .map_err(|error| format!("the host's reply is no verdict: {error}"))
    }

    /// Whether it lets pass what was asked about.
    pub fn allows(&self) -> bool {
        self.decision == "allow"
    }

    /// Whether a hook has asked a person.
    pub fn was_asked_by(&self, hook: &str) -> bool {
        let mut outcomes = self.outcomes.iter();
        outcomes.any(|it| it.hook == hook && it.decision.as_deref() == Some("ask"))
    }

    /// Why not.
    pub fn reason(&self) -> &str {
        match (&self.reason, &self.stop) {
            (Some(reason), _) | (None, Some(reason)) if !reason.is_empty() => reason,
            _ => "denied by hookwire",
        }
    }
}
