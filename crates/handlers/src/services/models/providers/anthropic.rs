//! Anthropic's messages.

use super::wire::{Asked, Post, Provider, Service, check_finish, parse_input};
use crate::services::conversation::{Message, ModelReply, ToolCall};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) static PROVIDER: Provider = Provider {
    name: "anthropic",
    example: "anthropic:claude-haiku-4-5",
    service: Some(Service {
        base_url: "https://api.anthropic.com",
        base_url_variable: ("ANTHROPIC_BASE_URL", str::to_string),
        key_variable: Some("ANTHROPIC_API_KEY"),
        key_header: ("x-api-key", ""),
        headers: &[("anthropic-version", "2023-06-01")],
        is_name_in_path: false,
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
    let messages: Vec<Value> = request.messages.iter().map(message).collect();
    let mut body = json!({"model": model, "max_tokens": max_tokens, "messages": messages});
    if !request.system.is_empty() {
        body["system"] = json!(request.system);
    }
    if !request.tools.is_empty() {
        body["tools"] = request
            .tools
            .iter()
            .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}))
            .collect();
    }
    if let Some(schema) = &request.schema {
        body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
    }
    if stream {
        body["stream"] = json!(true);
    }
    Post {
        path: "/v1/messages".into(),
        body,
    }
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls } => {
            // An empty text is refused.
            let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
            let calls = calls
                .iter()
                .map(|call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}));
            json!({"role": "assistant", "content": text.into_iter().chain(calls).collect::<Vec<_>>()})
        }
        Message::Tools { results } => {
            let results = results.iter().map(|result| {
                json!({
                    "type": "tool_result",
                    "tool_use_id": result.id,
                    "content": result.text,
                    "is_error": result.is_error,
                })
            });
            json!({"role": "user", "content": results.collect::<Vec<_>>()})
        }
    }
}

/// A whole reply, or the events of one that comes in pieces.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Chunk {
    Message(Whole),
    MessageStart {
        message: Whole,
    },
    ContentBlockStart {
        index: u32,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u32,
        delta: Delta,
    },
    MessageDelta {
        delta: Stop,
        usage: Option<Tokens>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Whole {
    content: Vec<Block>,
    stop_reason: Option<String>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Stop {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    /// Thoughts, and what is yet to come.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

fn read(chunks: Vec<Value>) -> Result<ModelReply, String> {
    let mut reply = ModelReply::default();
    // Which block a call is, and its input so far.
    let mut inputs: Vec<(u32, String)> = Vec::new();
    for chunk in chunks {
        let chunk = serde_json::from_value(chunk)
            .map_err(|error| format!("its reply is not a message: {error}"))?;
        match chunk {
            Chunk::Message(whole) | Chunk::MessageStart { message: whole } => {
                count(&mut reply, whole.usage);
                reply.finish_reason = whole.stop_reason;
                (0..)
                    .zip(whole.content)
                    .for_each(|(index, block)| begin(&mut reply, &mut inputs, index, block));
            }
            Chunk::ContentBlockStart {
                index,
                content_block,
            } => {
                begin(&mut reply, &mut inputs, index, content_block);
            }
            Chunk::ContentBlockDelta {
                delta: Delta::Text { text },
                ..
            } => reply.text.push_str(&text),
            Chunk::ContentBlockDelta {
                index,
                delta: Delta::Input { partial_json },
            } => {
                if let Some((_, text)) = inputs.iter_mut().find(|(at, _)| *at == index) {
                    text.push_str(&partial_json);
                }
            }
            Chunk::ContentBlockDelta {
                delta: Delta::Other,
                ..
            }
            | Chunk::Other => {}
            Chunk::MessageDelta { delta, usage } => {
                count(&mut reply, usage);
                reply.finish_reason = delta.stop_reason.or(reply.finish_reason);
            }
        }
    }
    check_finish(
        reply.finish_reason.as_deref(),
        &["end_turn", "tool_use", "stop_sequence"],
        &["max_tokens", "model_context_window_exceeded"],
    )?;
    for (call, (_, text)) in reply.calls.iter_mut().zip(inputs) {
        if !text.is_empty() {
            call.input = parse_input(&call.name, &text)?;
        }
    }
    Ok(reply)
}

fn begin(reply: &mut ModelReply, inputs: &mut Vec<(u32, String)>, index: u32, block: Block) {
    match block {
        Block::Text { text } => reply.text.push_str(&text),
        Block::ToolUse { id, name, input } => {
            reply.calls.push(ToolCall {
                id,
                name,
                input,
                signature: None,
            });
            inputs.push((index, String::new()));
        }
        Block::Other => {}
    }
}

/// Later counts replace earlier ones: they are running totals.
fn count(reply: &mut ModelReply, usage: Option<Tokens>) {
    let Some(usage) = usage else { return };
    if let Some(read) = usage.input_tokens {
        let cached = [
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        ];
        reply.usage.input_tokens = cached.into_iter().flatten().fold(read, u64::saturating_add);
    }
    reply.usage.output_tokens = usage.output_tokens.unwrap_or(reply.usage.output_tokens);
}
