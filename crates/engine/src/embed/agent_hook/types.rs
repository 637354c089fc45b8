//! The arguments and results of the methods of [`AgentHook`](super::AgentHook). Plain data; on the
//! wire the members have these names, durations are seconds.

use hookwire_base::verdict::any;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::time::Duration;

/// The input of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnInput {
    /// The user's message; of one in blocks, the text.
    #[serde(default, deserialize_with = "text")]
    pub message: String,
}

/// The output of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TurnOutput {
    /// The agent's message.
    pub message: String,
    /// The tokens of the whole turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Why a turn failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AgentError {
    /// For people.
    pub message: String,
    /// For programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// Why a model call failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProviderError {
    /// For people.
    pub message: String,
    /// The provider's HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the provider wants to be left alone.
    #[serde(skip_serializing_if = "Option::is_none", with = "maybe_seconds")]
    pub retry_after: Option<Duration>,
    /// The model that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A plain text, or the text of content in blocks; null is no text.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text),
        Value::Array(blocks) => Ok(text_of(&blocks)),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err(D::Error::custom("expected a text, or blocks of it"))
        }
    }
}

fn text_of(blocks: &[Value]) -> String {
    let text = |block: &Value| {
        block
            .as_str()
            .or_else(|| block.get("text")?.as_str())
            .map(str::to_string)
    };
    blocks
        .iter()
        .filter_map(text)
        .collect::<Vec<_>>()
        .join("\n")
}

/// A type that a plain text stands for too: other systems have no more than that.
macro_rules! or_text {
    ($($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* })*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                #[derive(Deserialize)]
                struct Whole {
                    #[serde(default, deserialize_with = "text")]
                    message: String,
                    $(#[serde(default)] $(#[$attribute])* $field: Option<$type>,)*
                }
                #[derive(Deserialize)]
                #[serde(untagged, expecting = "expected a text, or an object with `message`")]
                enum Either {
                    Text(#[serde(deserialize_with = "text")] String),
                    Whole(Whole),
                }
                Ok(match Either::deserialize(deserializer)? {
                    Either::Text(message) => $name { message, ..$name::default() },
                    Either::Whole(Whole { message, $($field),* }) => $name { message, $($field),* },
                })
            }
        }
    )*};
}

or_text! {
    TurnOutput { usage: Usage }
    AgentError { kind: String }
    ProviderError { status: u16, #[serde(with = "maybe_seconds")] retry_after: Duration, model: String }
}

impl std::fmt::Display for AgentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for AgentError {}

impl std::fmt::Display for ProviderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ProviderError {}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Read by the model.
    pub input_tokens: u64,
    /// Written by the model.
    pub output_tokens: u64,
}

/// A message of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// `user`, `assistant`, `system`, `tool`.
    pub role: String,
    /// A text, or what the provider has instead.
    #[serde(default)]
    pub content: Value,
    /// Whatever else the provider has.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl ChatMessage {
    /// A message of plain text.
    pub fn new(role: impl Into<String>, text: impl Into<String>) -> ChatMessage {
        ChatMessage {
            role: role.into(),
            content: Value::String(text.into()),
            extra: Map::new(),
        }
    }

    /// Its text; of content in blocks, that of all text blocks.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.content {
            Value::String(text) => Cow::Borrowed(text),
            Value::Array(blocks) => text_of(blocks).into(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Cow::Borrowed(""),
        }
    }
}

/// A tool, as the model is told of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolMeta {
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of its arguments.
    #[serde(default)]
    pub parameters: Value,
    /// Whatever else the provider has.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The input of a model call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LlmCallInput {
    /// The conversation.
    #[serde(default)]
    pub messages: Vec<ChatMessage>,
    /// The tools that it may call.
    #[serde(default)]
    pub tools: Vec<ToolMeta>,
    /// Whatever else the request has.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The answer of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LlmResponse {
    /// Its text; of content in blocks, that of all text blocks.
    pub content: String,
    /// The tools that it wants to be called; of content in blocks, those among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Value>,
    /// The tokens that it cost.
    pub usage: Usage,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why it stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Whatever else the provider has.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl<'de> Deserialize<'de> for LlmResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LlmResponse, D::Error> {
        #[derive(Deserialize)]
        struct Whole {
            #[serde(default)]
            content: Value,
            tool_calls: Option<Vec<Value>>,
            usage: Option<Usage>,
            model: Option<String>,
            finish_reason: Option<String>,
            #[serde(flatten)]
            extra: Map<String, Value>,
        }
        // A guard that can't read what it is to guard is no guard: providers' own shapes count too.
        let whole = match Value::deserialize(deserializer)? {
            content @ (Value::String(_) | Value::Array(_)) => json!({ "content": content }),
            whole => whole,
        };
        let whole = Whole::deserialize(whole).map_err(D::Error::custom)?;
        let Whole {
            content,
            tool_calls,
            usage,
            model,
            finish_reason,
            extra,
        } = whole;
        let is_call = |block: &&Value| block.get("type").is_some_and(|it| it == "tool_use");
        let calls = || {
            content
                .as_array()
                .into_iter()
                .flatten()
                .filter(is_call)
                .cloned()
                .collect()
        };
        Ok(LlmResponse {
            tool_calls: tool_calls.unwrap_or_else(calls),
            content: text(content).map_err(D::Error::custom)?,
            usage: usage.unwrap_or_default(),
            model,
            finish_reason,
            extra,
        })
    }
}

/// The decision on a failed model call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RetryDecision {
    /// Call the same model again.
    Retry {
        /// How long to wait first.
        #[serde(with = "seconds", default)]
        after: Duration,
    },
    /// Give up.
    Fail,
    /// Call another model.
    Fallback {
        /// Its name.
        model: String,
    },
}

/// The bounds that the policy grants a tool call. hookwire passes them on; the agent that runs the
/// tool keeps to them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecutionGrant {
    /// The sandbox that the tool is to run in, as the policy names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// How long it may run, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How much it may give back, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u64>,
    /// How many calls of the run are left after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_left: Option<u64>,
    /// Whatever else the agent's own policy says.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The result of a tool. A tool that was denied is data for the model, not a failed turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DispatchResult {
    /// Whether the tool did what it was asked.
    pub success: bool,
    /// The output.
    pub output: Value,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl DispatchResult {
    /// A tool's output.
    pub fn ok(output: impl Into<Value>) -> DispatchResult {
        DispatchResult {
            success: true,
            output: output.into(),
            error: None,
        }
    }

    /// The result that the model reads of a tool that wasn't run or failed.
    pub fn failed(error: impl Into<String>) -> DispatchResult {
        DispatchResult {
            success: false,
            output: Value::Null,
            error: Some(error.into()),
        }
    }
}

impl<'de> Deserialize<'de> for DispatchResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DispatchResult, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Whole {
            success: bool,
            #[serde(deserialize_with = "any")]
            output: Value,
            error: Option<String>,
        }
        let value = Value::deserialize(deserializer)?;
        // Of an agent with another idea of a result, the whole is the output: nothing of it is
        // lost.
        Ok(match Whole::deserialize(&value) {
            Ok(Whole {
                success,
                output,
                error,
            }) => DispatchResult {
                success,
                output,
                error,
            },
            Err(_) => DispatchResult::ok(value),
        })
    }
}

/// How much the conversation may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenBudget {
    /// At most.
    pub max_tokens: u64,
    /// Now.
    pub used_tokens: u64,
}

/// How the conversation is to be compacted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompactionHint {
    /// How many of the latest messages stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_last: Option<usize>,
    /// Things that the summary must not leave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Whatever else the agent understands.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

mod seconds {
    use super::{Deserialize, Deserializer, Duration};
    use serde::Serializer;
    use serde::de::Error;

    pub(super) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

mod maybe_seconds {
    use super::{Deserialize, Deserializer, Duration};
    use serde::de::Error;
    use serde::{Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        duration.map(|it| it.as_secs_f64()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f64>::deserialize(deserializer)?;
        seconds
            .map(|it| Duration::try_from_secs_f64(it).map_err(D::Error::custom))
            .transpose()
    }
}
