//! A model on this machine: it has the agent run some commands, one after the other, and then it's
//! done.
//!
//! It speaks what agents speak: Anthropic's messages, OpenAI's chat completions and responses,
//! Gemini's contents. Which of them is told by the path of the request.

use bytes::Bytes;
use hookwire_base::support::json::parse;
use hookwire_rules::matching::tools;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::net::TcpListener;

/// The longest request, in bytes: agents send all of their instructions and tools.
const MAX_REQUEST: usize = 16 * 1024 * 1024;
/// What it says at the end.
const DONE: &str = "All done.";

/// What the model has heard.
#[derive(Clone, Copy, Default)]
pub(crate) struct Heard {
    pub(crate) n_requests: usize,
    /// The commands that it has had the agent run, or try to.
    pub(crate) n_commands: usize,
    /// A text was among what came of the calls.
    pub(crate) model_was_told: bool,
}

/// The model, as long as it is kept.
pub(crate) struct Model {
    url: String,
    heard: Arc<Mutex<Heard>>,
    listening: tokio::task::JoinHandle<()>,
}

impl Drop for Model {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// How a request is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Messages,
    Chat,
    Responses,
    Contents,
}

/// A tool for shell commands that a request offers, and the call of it.
struct Call {
    name: String,
    arguments: Value,
}

impl Model {
    /// Begins to listen. `why` is what the model is to hear.
    pub(crate) async fn start(commands: Vec<String>, why: &'static str) -> std::io::Result<Model> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let heard = Arc::new(Mutex::new(Heard::default()));
        let commands: Arc<[String]> = commands.into();
        let listening = tokio::spawn({
            let heard = heard.clone();
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let (heard, commands) = (heard.clone(), commands.clone());
                    let answer = service_fn(move |request| {
                        let (heard, commands) = (heard.clone(), commands.clone());
                        async move {
                            Ok::<_, Infallible>(
                                answer_request(request, &commands, why, &heard).await,
                            )
                        }
                    });
                    // An agent that hangs up has its own reasons.
                    tokio::spawn(async move {
                        let _ = http1::Builder::new()
                            .serve_connection(TokioIo::new(stream), answer)
                            .await;
                    });
                }
            }
        });
        Ok(Model {
            url,
            heard,
            listening,
        })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn heard(&self) -> Heard {
        *self.heard.lock()
    }
}

async fn answer_request(
    request: Request<Incoming>,
    commands: &[String],
    why: &str,
    heard: &Mutex<Heard>,
) -> Response<Full<Bytes>> {
    let (path, is_post) = (
        request.uri().path().to_string(),
        request.method() == Method::POST,
    );
    let body = Limited::new(request.into_body(), MAX_REQUEST)
        .collect()
        .await
        .map(|it| it.to_bytes())
        .unwrap_or_default();
    let said = std::str::from_utf8(&body)
        .ok()
        .and_then(|text| parse(text).ok())
        .filter(|_| is_post);
    let (kind, text) = match (said, Wire::from_path(&path)) {
        (Some(said), Some(wire)) => {
            let results = call_results(&said);
            let is_told = results
                .iter()
                .any(|result| result.to_string().contains(why));
            {
                let mut heard = heard.lock();
                heard.n_requests += 1;
                heard.model_was_told |= is_told;
            }
            let call = commands
                .get(results.len())
                .and_then(|command| wire.offered_call(&said, command));
            if call.is_some() {
                let mut heard = heard.lock();
                heard.n_commands = heard.n_commands.max(results.len() + 1);
            }
            wire.write_reply(&path, &said, call, results.len())
        }
        // Agents ask for the list of models, too.
        _ => (
            "application/json",
            json!({ "data": [], "models": [], "input_tokens": 10, "totalTokens": 10 }).to_string(),
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// What came of the calls before, wherever a request says it.
fn call_results(said: &Value) -> Vec<&Value> {
    let turns = ["messages", "input", "contents"]
        .iter()
        .filter_map(|it| said.get(*it)?.as_array())
        .flatten();
    let with_parts = turns.flat_map(|turn| {
        let parts = ["content", "parts"]
            .iter()
            .filter_map(|it| turn.get(*it)?.as_array())
            .flatten();
        std::iter::once(turn).chain(parts)
    });
    with_parts.filter(|part| is_result(part)).collect()
}

fn is_result(part: &Value) -> bool {
    let kind = part["type"].as_str().unwrap_or_default();
    let is_named = kind == "tool_result" || kind.ends_with("_call_output");
    is_named || part["role"] == "tool" || part.get("functionResponse").is_some()
}

/// A stream of events; `named`: each has its type before it.
fn event_stream(items: &[Value], named: bool) -> (&'static str, String) {
    let mut text = String::new();
    for item in items {
        if let Some(name) = item["type"].as_str().filter(|_| named) {
            text.push_str(&format!("event: {name}\n"));
        }
        text.push_str(&format!("data: {item}\n\n"));
    }
    ("text/event-stream", text)
}

impl Wire {
    fn from_path(path: &str) -> Option<Wire> {
        let last = path.rsplit('/').next().unwrap_or_default();
        match last {
            "messages" => Some(Wire::Messages),
            "completions" => Some(Wire::Chat),
            "responses" => Some(Wire::Responses),
            _ if last.ends_with("enerateContent") => Some(Wire::Contents),
            _ => None,
        }
    }

    /// The call of the shell that a request offers, if it offers one.
    fn offered_call(self, said: &Value, command: &str) -> Option<Call> {
        let tools = said["tools"].as_array()?;
        let (within, schemas): (_, &[&str]) = match self {
            Wire::Messages => ("", &["input_schema"]),
            Wire::Chat => ("function", &["parameters"]),
            Wire::Responses => ("", &["parameters"]),
            Wire::Contents => (
                "functionDeclarations",
                &["parametersJsonSchema", "parameters"],
            ),
        };
        let mut declared = tools.iter().flat_map(|tool| match tool.get(within) {
            Some(Value::Array(functions)) => functions.iter().collect(),
            Some(function) => vec![function],
            None => vec![tool],
        });
        let tool = declared.find(|value| {
            value["name"]
                .as_str()
                .and_then(tools::known)
                .is_some_and(|tool| tool.name == "Bash")
        })?;
        let schema = schemas.iter().find_map(|name| tool.get(*name))?;
        Some(Call {
            name: tool["name"].as_str()?.to_string(),
            arguments: call_arguments(schema, command)?,
        })
    }

    fn write_reply(
        self,
        path: &str,
        said: &Value,
        call: Option<Call>,
        n: usize,
    ) -> (&'static str, String) {
        let is_stream = said["stream"] == true || path.contains("stream");
        match self {
            Wire::Messages => messages_reply(call, n, is_stream),
            Wire::Chat => chat_reply(call, n, is_stream),
            Wire::Responses => responses_reply(call, n),
            Wire::Contents => contents_reply(call, is_stream),
        }
    }
}

/// The arguments that a tool asks for, with the command.
fn call_arguments(schema: &Value, command: &str) -> Option<Value> {
    let properties = schema["properties"].as_object()?;
    let kind = |name: &str| {
        properties
            .get(name)
            .and_then(|properties| properties["type"].as_str())
            .unwrap_or_default()
            .to_lowercase()
    };
    let main = ["command", "cmd", "commands"]
        .into_iter()
        .find(|name| properties.contains_key(*name))?;
    let mut arguments = Map::new();
    for name in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        let value = match kind(name).as_str() {
            "boolean" => json!(false),
            "integer" | "number" => json!(1),
            _ => json!("d"),
        };
        arguments.insert(name.to_string(), value);
    }
    let value = match (main, kind(main).as_str()) {
        ("commands", _) => json!([command]),
        (_, "array") => json!(["bash", "-lc", command]),
        _ => json!(command),
    };
    arguments.insert(main.to_string(), value);
    Some(Value::Object(arguments))
}

fn messages_reply(call: Option<Call>, n: usize, is_stream: bool) -> (&'static str, String) {
    let stop = if call.is_some() {
        "tool_use"
    } else {
        "end_turn"
    };
    let mut message = json!({
        "id": format!("msg_{n}"), "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let (whole, start, delta) = match call {
        Some(Call { name, arguments }) => {
            let block = |input: &Value| json!({ "type": "tool_use", "id": format!("toolu_{n}"), "name": name, "input": input });
            let delta =
                json!({ "type": "input_json_delta", "partial_json": arguments.to_string() });
            (block(&arguments), block(&json!({})), delta)
        }
        None => {
            let block = |text: &str| json!({ "type": "text", "text": text });
            (
                block(DONE),
                block(""),
                json!({ "type": "text_delta", "text": DONE }),
            )
        }
    };
    if !is_stream {
        message["content"] = json!([whole]);
        message["stop_reason"] = stop.into();
        return ("application/json", message.to_string());
    }
    let items = [
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": start }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "usage": { "output_tokens": 1 },
            "delta": { "stop_reason": stop, "stop_sequence": null } }),
        json!({ "type": "message_stop" }),
    ];
    event_stream(&items, true)
}

fn chat_reply(call: Option<Call>, n: usize, is_stream: bool) -> (&'static str, String) {
    let reason = if call.is_some() { "tool_calls" } else { "stop" };
    let message = match call {
        Some(Call { name, arguments }) => {
            json!({ "role": "assistant", "content": null, "tool_calls": [{
            "index": 0, "id": format!("call_{n}"), "type": "function",
            "function": { "name": name, "arguments": arguments.to_string() },
        }] })
        }
        None => json!({ "role": "assistant", "content": DONE }),
    };
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
    let whole = |kind: &str, choice: Value| json!({ "id": "c", "object": kind, "created": 1, "model": "m", "choices": [choice], "usage": usage });
    if !is_stream {
        let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
        return (
            "application/json",
            whole("chat.completion", choice).to_string(),
        );
    }
    let piece = |delta: Value, reason: Value| {
        whole(
            "chat.completion.chunk",
            json!({ "index": 0, "delta": delta, "finish_reason": reason }),
        )
    };
    let (kind, text) = event_stream(
        &[piece(message, Value::Null), piece(json!({}), reason.into())],
        false,
    );
    (kind, format!("{text}data: [DONE]\n\n"))
}

fn responses_reply(call: Option<Call>, n: usize) -> (&'static str, String) {
    let item = match call {
        Some(Call { name, arguments }) => json!({
            "type": "function_call", "id": format!("f_{n}"), "call_id": format!("call_{n}"), "name": name,
            "arguments": arguments.to_string(),
        }),
        None => json!({ "type": "message", "id": "m", "role": "assistant",
            "content": [{ "type": "output_text", "text": DONE }] }),
    };
    let usage = json!({ "input_tokens": 1, "input_tokens_details": null, "output_tokens": 1,
        "output_tokens_details": null, "total_tokens": 2 });
    let items = [
        json!({ "type": "response.created", "response": { "id": "r" } }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": { "id": "r", "usage": usage } }),
    ];
    event_stream(&items, true)
}

fn contents_reply(call: Option<Call>, is_stream: bool) -> (&'static str, String) {
    let part = match call {
        Some(Call { name, arguments }) => {
            json!({ "functionCall": { "name": name, "args": arguments } })
        }
        None => json!({ "text": DONE }),
    };
    let reply = json!({
        "candidates": [{ "content": { "role": "model", "parts": [part] }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 },
    });
    if is_stream {
        event_stream(&[reply], false)
    } else {
        ("application/json", reply.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each wire offers the shell in its own way; the call has what the tool asks for, and nothing
    /// is called without a shell.
    #[test]
    fn the_shell_that_is_offered_is_called() {
        let schema = |main: &str, kind: &str| json!({ "type": "object", "properties": { main: { "type": kind }, "b": { "type": "BOOLEAN" } }, "required": [main, "b"] });
        for (path, said, expected) in [
            (
                "/v1/messages",
                json!({ "tools": [{ "name": "Read" }, { "name": "Bash", "input_schema": schema("command", "string") }] }),
                Some(("Bash", json!({ "command": "ls", "b": false }))),
            ),
            (
                "/v1/chat/completions",
                json!({ "tools": [{ "type": "function", "function": { "name": "run_commands", "parameters": schema("commands", "array") } }] }),
                Some(("run_commands", json!({ "commands": ["ls"], "b": false }))),
            ),
            (
                "/v1/responses",
                json!({ "tools": [{ "type": "web_search" }, { "name": "exec_command", "parameters": schema("cmd", "string") }] }),
                Some(("exec_command", json!({ "cmd": "ls", "b": false }))),
            ),
            (
                "/v1/responses",
                json!({ "tools": [{ "name": "shell", "parameters": schema("command", "array") }] }),
                Some((
                    "shell",
                    json!({ "command": ["bash", "-lc", "ls"], "b": false }),
                )),
            ),
            (
                "/v1beta/models/m:streamGenerateContent",
                json!({ "tools": [{ "functionDeclarations": [{ "name": "run_shell_command", "parameters": schema("command", "STRING") }] }] }),
                Some(("run_shell_command", json!({ "command": "ls", "b": false }))),
            ),
            (
                "/v1/messages",
                json!({ "tools": [{ "name": "Read" }] }),
                None,
            ),
            ("/v1/chat/completions", json!({}), None),
        ] {
            let call = Wire::from_path(path)
                .unwrap()
                .offered_call(&said, "ls")
                .map(|call| (call.name, call.arguments));
            let call = call
                .as_ref()
                .map(|(name, arguments)| (&**name, arguments.clone()));
            assert_eq!(call, expected, "{path} {said}");
        }
        assert_eq!(
            ["/v1/models", "/v1beta/models/m:countTokens", "/"].map(Wire::from_path),
            [None; 3]
        );
    }

    /// Results are counted once, wherever a request has them.
    #[test]
    fn what_came_of_calls_is_counted() {
        for (said, expected) in [
            (
                json!({ "messages": [{ "role": "user", "content": [{ "type": "tool_result", "content": "x" }, { "type": "text" }] }] }),
                1,
            ),
            (
                json!({ "messages": [{ "role": "tool", "content": "x" }, { "role": "tool", "content": [{ "type": "text" }] }] }),
                2,
            ),
            (
                json!({ "input": [{ "type": "function_call_output" }, { "type": "message", "content": [] }] }),
                1,
            ),
            (
                json!({ "contents": [{ "parts": [{ "functionResponse": {} }, { "text": "x" }] }] }),
                1,
            ),
            (json!({ "messages": "x", "input": "x" }), 0),
        ] {
            assert_eq!(call_results(&said).len(), expected, "{said}");
        }
    }
}
