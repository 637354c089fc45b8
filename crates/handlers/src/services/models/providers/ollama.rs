//! Ollama's chat.

use super::openai;
use super::wire::{Asked, Post, Provider, Service, check_finish};
use crate::services::conversation::{ModelReply, ToolCall};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(super) static PROVIDER: Provider = Provider {
    name: "ollama",
    example: "ollama:qwen3",
    service: Some(Service {
        base_url: "http://127.0.0.1:11434",
        base_url_variable: ("OLLAMA_HOST", base_url),
        key_variable: None,
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
    let call = |call: &ToolCall| json!({"function": {"name": call.name, "arguments": call.input}});
    let messages = openai::messages(request, call, |result| ("tool_name", &result.name));
    let mut body = json!({
        "model": model,
        "messages": messages,
        // Without it, the service streams.
        "stream": stream,
        // A request that doesn't fit is an error, and never cut in silence.
        "truncate": false,
        "shift": false,
        "options": {"num_predict": max_tokens},
    });
    if !request.tools.is_empty() {
        body["tools"] = openai::tools(request);
    } else if let Some(schema) = &request.schema {
        // With a format it could not call any more.
        body["format"] = schema.clone();
    }
    Post {
        path: "/api/chat".into(),
        body,
    }
}

/// `OLLAMA_HOST` as the URL of a service: `host`, `host:port` or a URL. The service takes the same
/// variable for where it listens, so that it may be any address.
fn base_url(host: &str) -> String {
    let host = host
        .trim()
        .trim_end_matches('/')
        .replacen("0.0.0.0", "127.0.0.1", 1);
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    match (host.contains("://"), has_port) {
        (true, _) => host,
        (false, true) => format!("http://{host}"),
        (false, false) => format!("http://{host}:11434"),
    }
}

/// A whole reply or a piece of one: they have the same form.
#[derive(Deserialize)]
struct Chunk {
    message: Said,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
    tool_calls: Option<Vec<Called>>,
}

#[derive(Deserialize)]
struct Called {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: Option<Map<String, Value>>,
}

fn read(chunks: Vec<Value>) -> Result<ModelReply, String> {
    let mut reply = ModelReply::default();
    for chunk in chunks {
        let chunk: Chunk = serde_json::from_value(chunk)
            .map_err(|error| format!("its reply is not a chat: {error}"))?;
        reply
            .text
            .push_str(&chunk.message.content.unwrap_or_default());
        reply.finish_reason = chunk.done_reason.or(reply.finish_reason);
        reply.usage.input_tokens = chunk.prompt_eval_count.unwrap_or(reply.usage.input_tokens);
        reply.usage.output_tokens = chunk.eval_count.unwrap_or(reply.usage.output_tokens);
        for called in chunk.message.tool_calls.into_iter().flatten() {
            // Older versions give their calls no names.
            let id = called
                .id
                .unwrap_or_else(|| format!("call_{}", reply.calls.len()));
            let input = Value::Object(called.function.arguments.unwrap_or_default());
            reply.calls.push(ToolCall {
                id,
                name: called.function.name,
                input,
                signature: None,
            });
        }
    }
    check_finish(reply.finish_reason.as_deref(), &["stop"], &["length"])?;
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::base_url;

    #[test]
    fn hosts() {
        for (host, expected) in [
            ("127.0.0.1", "http://127.0.0.1:11434"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080"),
            ("http://0.0.0.0:8080/", "http://127.0.0.1:8080"),
            ("https://h.example", "https://h.example"),
        ] {
            assert_eq!(base_url(host), expected, "{host}");
        }
    }
}
