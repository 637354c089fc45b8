//! What a model is asked and what it replies, whoever provides it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a model is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Request {
    /// The instructions.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// What it may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// The JSON Schema that its last text must fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// At most so many tokens in the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "role")]
pub enum Message {
    /// From whoever asks.
    User {
        /// What it says.
        text: String,
    },
    /// From the model.
    Assistant {
        /// What it said.
        text: String,
        /// What it called.
        #[serde(default)]
        calls: Vec<ToolCall>,
    },
    /// What its calls came to.
    Tools {
        /// One for each call.
        results: Vec<ToolResult>,
    },
}

/// A tool that the model may call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its input, an object.
    pub schema: Value,
}

/// A call that the model wants made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Names the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input.
    pub input: Value,
    /// What its provider wants back with the call, opaque to everybody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// What a call came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The call's.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What came out.
    pub text: String,
    /// It failed.
    #[serde(default)]
    pub is_error: bool,
}

/// The params of `model/complete`: a request, and which of the client's models is meant.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct CompleteParams {
    /// What stands behind `client:` in the definition; absent, the model is the client's choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What is asked.
    #[serde(flatten)]
    pub request: Request,
}

/// What a model said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "Reply")]
pub struct ModelReply {
    /// Its text.
    pub text: String,
    /// The calls that it wants made before it goes on.
    pub calls: Vec<ToolCall>,
    /// What it cost.
    pub usage: Usage,
    /// Why it stopped, in the provider's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
}

/// Tokens of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Read.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
}

/// Why there is no reply. The text finishes the sentence "failed to ..." and says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError(pub String);

impl std::fmt::Display for ModelError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ModelError {}

/// Something that completes conversations; tests have their own.
pub trait Model: Send + Sync {
    /// Asks once. Dropping the future cancels.
    fn complete(
        &self,
        request: &Request,
    ) -> impl Future<Output = Result<ModelReply, ModelError>> + Send;
}
