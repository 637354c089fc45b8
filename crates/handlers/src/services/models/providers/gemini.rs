//! Gemini's generateContent.

use super::super::text::clean;
use super::wire::{Asked, Post, Provider, Service, check_finish};
use crate::services::conversation::{Message, ModelReply, ToolCall, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(super) static PROVIDER: Provider = Provider {
    name: "gemini",
    example: "gemini:gemini-2.5-flash",
    service: Some(Service {
        base_url: "https://generativelanguage.googleapis.com",
        base_url_variable: ("GOOGLE_GEMINI_BASE_URL", str::to_string),
        key_variable: Some("GEMINI_API_KEY"),
        key_header: ("x-goog-api-key", ""),
        headers: &[],
        is_name_in_path: true,
        post,
        read,
    }),
};

fn post(asked: &Asked<'_>) -> Post {
    let Asked {
        model,
        request,
        max_tokens,
        stream,
    } = *asked;
    let contents: Vec<Value> = request.messages.iter().map(content).collect();
    let mut body =
        json!({"contents": contents, "generationConfig": {"maxOutputTokens": max_tokens}});
    if !request.system.is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": request.system}]});
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(
                |tool| json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema}),
            )
            .collect();
        body["tools"] = json!([{"functionDeclarations": tools}]);
    } else if let Some(schema) = &request.schema {
        // Most of its models take either tools or a schema.
        body["generationConfig"]["responseMimeType"] = json!("application/json");
        body["generationConfig"]["responseJsonSchema"] = schema.clone();
    }
    let action = if stream {
        "streamGenerateContent?alt=sse"
    } else {
        "generateContent"
    };
    Post {
        path: format!("/v1beta/models/{model}:{action}"),
        body,
    }
}

fn content(message: &Message) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "parts": [{"text": text}]}),
        Message::Assistant { text, calls } => {
            let text = (!text.is_empty()).then(|| json!({"text": text}));
            let calls = calls.iter().map(|call| {
                let mut part = json!({"functionCall": {"name": call.name, "args": call.input}});
                if let Some(signature) = &call.signature {
                    part["thoughtSignature"] = json!(signature);
                }
                part
            });
            json!({"role": "model", "parts": text.into_iter().chain(calls).collect::<Vec<_>>()})
        }
        Message::Tools { results } => {
            let parts = results.iter().map(|result| {
                let key = if result.is_error { "error" } else { "output" };
                let response = Map::from_iter([(key.to_string(), json!(result.text))]);
                json!({"functionResponse": {"name": result.name, "response": response}})
            });
            json!({"role": "user", "parts": parts.collect::<Vec<_>>()})
        }
    }
}

/// A whole reply or a piece of one: they have the same form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Chunk {
    candidates: Vec<Candidate>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Tokens>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    function_call: Option<Function>,
    thought_signature: Option<String>,
}

#[derive(Deserialize)]
struct Function {
    id: Option<String>,
    name: String,
    args: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Tokens {
    prompt_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
}

fn read(chunks: Vec<Value>) -> Result<ModelReply, String> {
    let mut reply = ModelReply::default();
    for chunk in chunks {
        let chunk: Chunk = serde_json::from_value(chunk)
            .map_err(|error| format!("its reply is not generated content: {error}"))?;
        if let Some(reason) = chunk
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason)
        {
            return Err(format!(
                "the request was blocked (`{}`)",
                clean(&reason, 60)
            ));
        }
        if let Some(usage) = chunk.usage_metadata {
            reply.usage = Usage {
                input_tokens: usage.prompt_token_count,
                output_tokens: usage
                    .candidates_token_count
                    .saturating_add(usage.thoughts_token_count),
            };
        }
        let Some(candidate) = chunk.candidates.into_iter().next() else {
            continue;
        };
        reply.finish_reason = candidate.finish_reason.or(reply.finish_reason);
        for part in candidate
            .content
            .into_iter()
            .flat_map(|content| content.parts)
        {
            if !part.thought {
                reply.text.push_str(&part.text.unwrap_or_default());
            }
            if let Some(function) = part.function_call {
                // It often gives its calls no names.
                let id = function
                    .id
                    .unwrap_or_else(|| format!("call_{}", reply.calls.len()));
                let input = Value::Object(function.args.unwrap_or_default());
                reply.calls.push(ToolCall {
                    id,
                    name: function.name,
                    input,
                    signature: part.thought_signature,
                });
            }
        }
    }
    check_finish(reply.finish_reason.as_deref(), &["STOP"], &["MAX_TOKENS"])?;
    Ok(reply)
}
