//! OpenAI's chat completions, which many services speak.

use super::super::text::clean;
use super::wire::{Asked, Post, Provider, Service, check_finish, parse_input};
use crate::services::conversation::{
    Message, ModelReply, Request, Tool, ToolCall, ToolResult, Usage,
};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) static PROVIDER: Provider = Provider {
    name: "openai",
    example: "openai:gpt-5-mini",
    service: Some(Service {
        base_url: "https://api.openai.com/v1",
        base_url_variable: ("OPENAI_BASE_URL", str::to_string),
        key_variable: Some("OPENAI_API_KEY"),
        key_header: ("authorization", "Bearer "),
        headers: &[],
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
    let messages = messages(request, call, |result| ("tool_call_id", &result.id));
    let mut body =
        json!({"model": model, "messages": messages, "max_completion_tokens": max_tokens});
    if !request.tools.is_empty() {
        body["tools"] = tools(request);
    }
    if let Some(schema) = &request.schema {
        body["response_format"] = json!({"type": "json_schema", "json_schema": {"name": "reply", "strict": true, "schema": schema}});
    }
    if stream {
        body["stream"] = json!(true);
        body["stream_options"] = json!({"include_usage": true});
    }
    Post {
        path: "/chat/completions".into(),
        body,
    }
}

/// A conversation as this service and those that follow it have it. They differ in how a call is
/// written, and in the member by which a result names its call.
pub(super) fn messages(
    request: &Request,
    call: fn(&ToolCall) -> Value,
    called: fn(&ToolResult) -> (&str, &str),
) -> Vec<Value> {
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    for message in &request.messages {
        match message {
            Message::User { text } => messages.push(json!({"role": "user", "content": text})),
            Message::Assistant { text, calls } => {
                let mut turn = json!({"role": "assistant", "content": text});
                if !calls.is_empty() {
                    turn["tool_calls"] = calls.iter().map(call).collect();
                }
                messages.push(turn);
            }
            Message::Tools { results } => messages.extend(results.iter().map(|result| {
                let text = if result.is_error {
                    format!("error: {}", result.text)
                } else {
                    result.text.clone()
                };
                let (member, name) = called(result);
                json!({"role": "tool", member: name, "content": text})
            })),
        }
    }
    messages
}

/// What the model may call, in the same form.
pub(super) fn tools(request: &Request) -> Value {
    let function = |tool: &Tool| json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
    request
        .tools
        .iter()
        .map(|tool| json!({"type": "function", "function": function(tool)}))
        .collect()
}

fn call(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.input.to_string()},
    })
}

/// A whole reply or a piece of one: they differ in a name.
#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u32,
    #[serde(alias = "delta")]
    message: Said,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Called>>,
}

#[derive(Deserialize)]
struct Called {
    index: Option<u32>,
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

fn read(chunks: Vec<Value>) -> Result<ModelReply, String> {
    let (mut reply, mut refusal) = (ModelReply::default(), String::new());
    // A call's place, and its input so far.
    let mut inputs: Vec<(Option<u32>, String)> = Vec::new();
    for chunk in chunks {
        let Chunk { choices, usage } = serde_json::from_value(chunk)
            .map_err(|error| format!("its reply is not a chat completion: {error}"))?;
        if let Some(usage) = usage {
            reply.usage = Usage {
                input_tokens: usage.prompt_tokens,
                output_tokens: usage.completion_tokens,
            };
        }
        for choice in choices.into_iter().filter(|choice| choice.index == 0) {
            let Said {
                content,
                refusal: refused,
                tool_calls,
            } = choice.message;
            reply.text.push_str(&content.unwrap_or_default());
            refusal.push_str(&refused.unwrap_or_default());
            reply.finish_reason = choice.finish_reason.or(reply.finish_reason);
            for called in tool_calls.into_iter().flatten() {
                let Function { name, arguments } = called.function;
                let known = called
                    .index
                    .and_then(|index| inputs.iter().position(|(at, _)| *at == Some(index)));
                let at = known.unwrap_or_else(|| {
                    inputs.push((called.index, String::new()));
                    reply.calls.push(ToolCall::default());
                    inputs.len() - 1
                });
                reply.calls[at].id.push_str(&called.id.unwrap_or_default());
                reply.calls[at].name.push_str(&name.unwrap_or_default());
                inputs[at].1.push_str(&arguments.unwrap_or_default());
            }
        }
    }
    if !refusal.is_empty() {
        return Err(format!("it refused: {}", clean(&refusal, 200)));
    }
    check_finish(
        reply.finish_reason.as_deref(),
        &["stop", "tool_calls"],
        &["length"],
    )?;
    for (call, (_, text)) in reply.calls.iter_mut().zip(inputs) {
        call.input = parse_input(&call.name, &text)?;
    }
    Ok(reply)
}
