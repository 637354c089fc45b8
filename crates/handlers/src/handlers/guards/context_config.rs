//! `context-config`: sets the system prompt, the response format or metadata when a run begins.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::Kind;
use super::guard_kind::{GuardKind, decides};
use hookwire_base::event::EventSpec;
use hookwire_base::verdict::Answer;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Gives the agent what it is to run with; later hooks see it, the verdict's `context` carries it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ContextConfigGuard")]
pub struct RawContextConfig {
    /// The system prompt; an empty one changes nothing.
    #[serde(default)]
    system_prompt: String,
    /// The form of the model's answers, e.g. a JSON Schema; null and an empty map change nothing.
    response_format: Option<Value>,
    /// Members of `metadata` to set; null removes one.
    #[serde(default)]
    metadata: Map<String, Value>,
}

#[derive(Debug)]
pub struct ContextConfig {
    patch: Map<String, Value>,
}

const FORMAT: &str = "responseFormat";

impl GuardKind for ContextConfig {
    const EXAMPLE: &'static str = "{ systemPrompt: Answer in English. }";

    const EVENTS: &'static [&'static str] = &["RunStart"];

    fn acts_at(spec: &EventSpec) -> bool {
        decides(spec)
    }
}

impl Kind for ContextConfig {
    type Raw = RawContextConfig;

    fn compile(raw: RawContextConfig, cx: &Compile<'_>) -> Result<Self, Mistake> {
        let mut patch = Map::new();
        if !raw.system_prompt.is_empty() {
            patch.insert("systemPrompt".into(), raw.system_prompt.into());
        }
        let is_empty = |format: &Value| match format {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        };
        if let Some(format) = raw.response_format.filter(|format| !is_empty(format)) {
            patch.insert(FORMAT.into(), format);
        }
        if !raw.metadata.is_empty() {
            patch.insert("metadata".into(), Value::Object(raw.metadata));
        }
        if patch.is_empty() && !cx.signals_stops {
            return Err(Mistake::whole("a context config sets nothing")
                .help("add `systemPrompt`, `responseFormat` or `metadata`"));
        }
        Ok(ContextConfig { patch })
    }

    fn has_effects(&self) -> bool {
        false
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        if self.patch.is_empty() {
            return Ok(Answer::default());
        }
        let mut patch = self.patch.clone();
        if let (Some(format), Some(present)) = (
            patch.get_mut(FORMAT),
            call.moment.event().data().get(FORMAT),
        ) {
            remove_others(format, present);
        }
        Ok(Answer {
            context: Some(Value::Object(patch)),
            ..Answer::default()
        })
    }
}

/// A merge patch leaves what it doesn't name; a format replaces the one before as a whole.
fn remove_others(patch: &mut Value, present: &Value) {
    let (Value::Object(patch), Value::Object(present)) = (patch, present) else {
        return;
    };
    for (key, value) in present {
        match patch.get_mut(key) {
            Some(inner) => remove_others(inner, value),
            None => {
                patch.insert(key.clone(), Value::Null);
            }
        }
    }
}
