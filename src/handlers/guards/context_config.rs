//! `context-config`: sets the system prompt, the response format or metadata when a run begins.

use super::super::{Call, Compile, HandlerError, Kind, Mistake};
use crate::verdict::Answer;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Gives the agent what it is to run with; later hooks see it, the verdict's `context` carries it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ContextConfigGuard")]
pub(crate) struct RawContextConfig {
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
pub(crate) struct ContextConfig {
    patch: Value,
}

impl Kind for ContextConfig {
    type Raw = RawContextConfig;

    fn compile(raw: RawContextConfig, _: &Compile<'_>) -> Result<Self, Mistake> {
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
            patch.insert("responseFormat".into(), format);
        }
        if !raw.metadata.is_empty() {
            patch.insert("metadata".into(), Value::Object(raw.metadata));
        }
        if patch.is_empty() {
            return Err(Mistake::whole("a context config sets nothing")
                .help("add `systemPrompt`, `responseFormat` or `metadata`"));
        }
        Ok(ContextConfig { patch: Value::Object(patch) })
    }

    async fn run(&self, _: &Call<'_>) -> Result<Answer, HandlerError> {
        Ok(Answer { context: Some(self.patch.clone()), ..Answer::default() })
    }
}
