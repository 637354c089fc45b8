//! A model server on loopback that speaks the wires of OpenAI, Anthropic, Gemini and Ollama, plain
//! and streamed. What it says is scripted, what it was asked is kept.
//!
//! With `HOOKWIRE_RECORD` set, every exchange is appended to that file for `.ci/models`, which
//! holds requests and replies against the providers' own types.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Whose wire a request speaks; told by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

pub const WIRES: [Wire; 4] = [Wire::OpenAi, Wire::Anthropic, Wire::Gemini, Wire::Ollama];

impl Wire {
    /// The provider's name in definitions.
    pub fn provider(self) -> &'static str {
        match self {
            Wire::OpenAi => "openai",
            Wire::Anthropic => "anthropic",
            Wire::Gemini => "gemini",
            Wire::Ollama => "ollama",
        }
    }
}

/// What the server says to one request. `{{nonce}}` in texts and inputs becomes the request's
/// nonce.
#[derive(Clone)]
pub enum Say {
    /// A text.
    Text(String),
    /// A verdict with the request's nonce: decision, reason.
    Verdict(&'static str, &'static str),
    /// Calls of tools: name, input.
    Calls(Vec<(&'static str, Value)>),
    /// The model refuses, or its provider's filter does.
    Refusal,
    /// The text, cut by the limit of tokens.
    Truncated(String),
    /// A status, headers and a body.
    Status(u16, Vec<(&'static str, String)>, String),
    /// The start of a reply, then the end of the connection.
    Torn,
    /// White space, a byte at a time, for ever.
    Drip,
    /// Nothing, for ever.
    Hang,
    /// As many spaces as that many MiB, then the end.
    Flood(usize),
    /// What it is asked decides.
    By(Arc<dyn Fn(&Seen) -> Say + Send + Sync>),
}

impl Say {
    pub fn text(text: &str) -> Say {
        Say::Text(text.into())
    }

    /// An error in the provider's usual form.
    pub fn error(status: u16, message: &str) -> Say {
        Say::Status(
            status,
            vec![],
            json!({"error": {"message": message, "type": "some_error"}}).to_string(),
        )
    }

    /// Too many requests; come back after so many seconds.
    pub fn busy(status: u16, retry_after: &str) -> Say {
        Say::Status(
            status,
            vec![("retry-after", retry_after.into())],
            json!({"error": {"message": "slow down"}}).to_string(),
        )
    }
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub wire: Wire,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Value,
    pub streams: bool,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The instructions.
    pub fn system(&self) -> String {
        match self.wire {
            Wire::OpenAi | Wire::Ollama => self.texts("system"),
            Wire::Anthropic => self.body["system"].as_str().unwrap_or_default().into(),
            Wire::Gemini => content_texts(&self.body["systemInstruction"]["parts"]),
        }
    }

    /// What the user's side said, tool results left out.
    pub fn user(&self) -> String {
        self.texts("user")
    }

    fn texts(&self, role: &str) -> String {
        let (list, content) = match self.wire {
            Wire::Gemini => ("contents", "parts"),
            _ => ("messages", "content"),
        };
        let turns = self.body[list]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|turn| turn["role"] == role);
        turns
            .map(|turn| content_texts(&turn[content]))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The nonce: what stands behind the last `nonce: ` in the instructions.
    pub fn nonce(&self) -> String {
        let system = self.system();
        let after = system.rsplit_once("nonce: ").unwrap_or_default().1;
        after.chars().take_while(char::is_ascii_hexdigit).collect()
    }
}

fn content_texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

/// See the module.
pub struct ModelServer {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    script: Mutex<VecDeque<Say>>,
    always: Mutex<Option<Say>>,
    seen: Mutex<Vec<Seen>>,
    connections: Mutex<usize>,
    hung_up: Mutex<usize>,
}

impl ModelServer {
    /// Says these in turn.
    pub fn with(script: impl IntoIterator<Item = Say>) -> ModelServer {
        let server = ModelServer::start();
        server.shared.script.lock().unwrap().extend(script);
        server
    }

    /// Says this every time.
    pub fn always(say: Say) -> ModelServer {
        let server = ModelServer::start();
        *server.shared.always.lock().unwrap() = Some(say);
        server
    }

    /// Says what a file holds, one reply a line: `{"decision", "reason"}` is a verdict with the
    /// request's nonce, `{"text"}` a text, `{"calls": [{"name", "input"}]}` calls of tools.
    pub fn replaying(file: &Path) -> ModelServer {
        ModelServer::with(std::fs::read_to_string(file).unwrap().lines().map(|line| {
            let mut reply: Value = serde_json::from_str(line).unwrap();
            if let Some(calls) = reply["calls"].as_array() {
                return Say::Calls(
                    calls
                        .iter()
                        .map(|call| {
                            (
                                &*call["name"].as_str().unwrap().to_string().leak(),
                                call["input"].clone(),
                            )
                        })
                        .collect(),
                );
            }
            if reply["text"].is_string() {
                return Say::text(reply["text"].as_str().unwrap());
            }
            reply["nonce"] = json!("{{nonce}}");
            Say::Text(reply.to_string())
        }))
    }

    fn start() -> ModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, shared) = (listener.local_addr().unwrap(), Arc::<Shared>::default());
        let server = ModelServer {
            address,
            shared: shared.clone(),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                *shared.connections.lock().unwrap() += 1;
                let shared = shared.clone();
                std::thread::spawn(move || serve_client(&shared, &stream));
            }
        });
        server
    }

    /// Adds to what it says.
    pub fn say(&self, say: Say) {
        self.shared.script.lock().unwrap().push_back(say);
    }

    /// What it was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        *self.shared.connections.lock().unwrap()
    }

    /// How many left while it dripped or hung.
    pub fn hung_up(&self) -> usize {
        *self.shared.hung_up.lock().unwrap()
    }

    /// The base URL for a provider, as its own SDK takes it.
    pub fn url(&self, wire: Wire) -> String {
        let suffix = if wire == Wire::OpenAi { "/v1" } else { "" };
        format!("http://{}{suffix}", self.address)
    }

    /// Points all providers to this server, with keys that say whose they are.
    pub fn serve_for<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env("OPENAI_BASE_URL", self.url(Wire::OpenAi))
            .env("ANTHROPIC_BASE_URL", self.url(Wire::Anthropic))
            .env("GOOGLE_GEMINI_BASE_URL", self.url(Wire::Gemini))
            .env("OLLAMA_HOST", self.address.to_string())
            .env("OPENAI_API_KEY", "key-of-openai")
            .env("ANTHROPIC_API_KEY", "key-of-anthropic")
            .env("GEMINI_API_KEY", "key-of-gemini")
    }
}

fn serve_client(shared: &Shared, stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    while let Some(seen) = read_request(&mut reader) {
        shared.seen.lock().unwrap().push(seen.clone());
        let next = shared
            .script
            .lock()
            .unwrap()
            .pop_front()
            .or_else(|| shared.always.lock().unwrap().clone());
        let mut say =
            next.unwrap_or_else(|| Say::error(500, "nothing is scripted for this request"));
        while let Say::By(decide) = &say {
            say = decide(&seen);
        }
        if !answer_client(shared, stream, &seen, &say) {
            return;
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Seen> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let path = line.split(' ').nth(1)?.to_string();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        match header.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_lowercase(), value.to_string())),
            None => break,
        }
    }
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")?
        .1
        .parse()
        .ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).expect("a JSON body");
    let wire = match path.as_str() {
        "/v1/chat/completions" => Wire::OpenAi,
        "/v1/messages" => Wire::Anthropic,
        "/api/chat" => Wire::Ollama,
        gemini if gemini.starts_with("/v1beta/models/") => Wire::Gemini,
        other => panic!("no provider has the path {other}"),
    };
    let streams = body["stream"] == true || path.ends_with(":streamGenerateContent?alt=sse");
    Some(Seen {
        wire,
        path,
        headers,
        body,
        streams,
    })
}

/// Whether the connection may go on.
fn answer_client(shared: &Shared, mut stream: &TcpStream, seen: &Seen, say: &Say) -> bool {
    let nonce = seen.nonce();
    let fill = |text: &str| text.replace("{{nonce}}", &nonce);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let said = match say {
        Say::Text(text) => Said {
            text: fill(text),
            ..Said::default()
        },
        Say::Verdict(decision, reason) => {
            let verdict = json!({"reason": reason, "decision": decision, "nonce": nonce});
            Said {
                text: verdict.to_string(),
                ..Said::default()
            }
        }
        Say::Calls(calls) => Said {
            calls: calls
                .iter()
                .map(|(name, input)| {
                    (
                        *name,
                        serde_json::from_str(&fill(&input.to_string())).unwrap(),
                    )
                })
                .collect(),
            ..Said::default()
        },
        Say::Refusal => Said {
            refuses: true,
            ..Said::default()
        },
        Say::Truncated(text) => Said {
            text: fill(text),
            truncated: true,
            ..Said::default()
        },
        Say::Status(status, headers, body) => {
            let mut reply = format!("HTTP/1.1 {status} Some\r\ncontent-type: application/json\r\n");
            headers
                .iter()
                .for_each(|(name, value)| reply.push_str(&format!("{name}: {value}\r\n")));
            reply.push_str(&format!(
                "content-length: {}\r\n\r\n{}",
                body.len(),
                fill(body)
            ));
            return stream.write_all(reply.as_bytes()).is_ok();
        }
        Say::Torn => {
            let whole = plain_reply(
                seen,
                &Said {
                    text: fill("{\"nonce\": \"{{nonce}}\""),
                    ..Said::default()
                },
            )
            .to_string();
            let _ = stream
                .write_all(format!("{head}content-length: {}\r\n\r\n", whole.len()).as_bytes());
            let _ = stream.write_all(&whole.as_bytes()[..whole.len() / 2]);
            return false;
        }
        Say::Drip => {
            let _ =
                stream.write_all(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes());
            while stream.write_all(b"1\r\n \r\n").is_ok() {
                std::thread::sleep(Duration::from_millis(10));
            }
            *shared.hung_up.lock().unwrap() += 1;
            return false;
        }
        Say::Hang => {
            let _ = stream.read(&mut [0]);
            *shared.hung_up.lock().unwrap() += 1;
            return false;
        }
        Say::Flood(n_mebibytes) => {
            let _ = stream.write_all(format!("{head}\r\n").as_bytes());
            (0..*n_mebibytes).all(|_| stream.write_all(&[b' '; 1024 * 1024]).is_ok());
            return false;
        }
        Say::By(_) => unreachable!("resolved by the caller"),
    };
    if !seen.streams {
        let reply = plain_reply(seen, &said);
        record_call(seen, &reply);
        let reply = reply.to_string();
        return stream
            .write_all(format!("{head}content-length: {}\r\n\r\n{reply}", reply.len()).as_bytes())
            .is_ok();
    }
    let chunks = stream_events(seen, &said);
    record_call(seen, &json!(chunks));
    let head = match seen.wire {
        Wire::Ollama => "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n",
        _ => "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n",
    };
    let mut body = String::new();
    for chunk in &chunks {
        match seen.wire {
            Wire::OpenAi | Wire::Gemini => body.push_str(&format!("data: {chunk}\n\n")),
            Wire::Anthropic => {
                body.push_str(&format!(
                    "event: {}\ndata: {chunk}\n\n",
                    chunk["type"].as_str().unwrap()
                ));
                // Providers keep the connection warm like this.
                body.push_str(": ping\n\n");
            }
            Wire::Ollama => body.push_str(&format!("{chunk}\n")),
        }
    }
    if seen.wire == Wire::OpenAi {
        body.push_str("data: [DONE]\n\n");
    }
    // In small pieces, so that a character or a line may be cut anywhere.
    let mut reply = format!("{head}transfer-encoding: chunked\r\n\r\n").into_bytes();
    for piece in body.as_bytes().chunks(31) {
        reply.extend(
            format!("{:x}\r\n", piece.len())
                .bytes()
                .chain(piece.iter().copied())
                .chain(*b"\r\n"),
        );
    }
    reply.extend(b"0\r\n\r\n");
    stream.write_all(&reply).is_ok()
}

/// What a reply says, before it is put into a provider's words.
#[derive(Default)]
struct Said {
    text: String,
    calls: Vec<(&'static str, Value)>,
    refuses: bool,
    truncated: bool,
}

impl Said {
    fn finish_reason(&self, normal: &str, calls: &str, truncated: &str, refuses: &str) -> String {
        match (self.refuses, self.truncated, self.calls.is_empty()) {
            (true, ..) => refuses,
            (_, true, _) => truncated,
            (_, _, false) => calls,
            _ => normal,
        }
        .into()
    }

    /// The text in pieces, as a stream brings it.
    fn pieces(&self) -> Vec<String> {
        let characters: Vec<char> = self.text.chars().collect();
        characters
            .chunks(7)
            .map(|piece| piece.iter().collect())
            .collect()
    }
}

const REFUSAL: &str = "I can't help with that.";

fn plain_reply(seen: &Seen, said: &Said) -> Value {
    let model = &seen.body["model"];
    let calls = said.calls.iter().enumerate();
    match seen.wire {
        Wire::OpenAi => {
            let calls: Vec<Value> = calls
                .map(|(n, (name, input))| {
                    json!({"id": format!("call_{n}"), "type": "function", "function": {"name": name, "arguments": input.to_string()}})
                })
                .collect();
            let mut message = json!({"role": "assistant", "content": said.text, "refusal": null});
            if !calls.is_empty() {
                (message["content"], message["tool_calls"]) = (Value::Null, json!(calls));
            }
            if said.refuses {
                (message["content"], message["refusal"]) = (Value::Null, json!(REFUSAL));
            }
            json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model,
                "choices": [{"index": 0, "message": message, "logprobs": null,
                             "finish_reason": said.finish_reason("stop", "tool_calls", "length", "stop")}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
            })
        }
        Wire::Anthropic => {
            let text = (!said.text.is_empty())
                .then(|| json!({"type": "text", "text": said.text, "citations": null}));
            let calls = calls
                .map(|(n, (name, input))| json!({"type": "tool_use", "id": format!("toolu_{n}"), "name": name, "input": input}));
            json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": model,
                "content": text.into_iter().chain(calls).collect::<Vec<_>>(),
                "stop_reason": said.finish_reason("end_turn", "tool_use", "max_tokens", "refusal"), "stop_sequence": null,
                "usage": {"input_tokens": 11, "output_tokens": 7},
            })
        }
        Wire::Gemini if said.refuses => json!({
            "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "gemini",
            "usageMetadata": {"promptTokenCount": 11, "totalTokenCount": 11},
        }),
        Wire::Gemini => gemini_reply(said, &said.text, true),
        Wire::Ollama => ollama_reply(seen, said, &said.text, true),
    }
}

fn gemini_reply(said: &Said, text: &str, last: bool) -> Value {
    let text = (!text.is_empty()).then(|| json!({"text": text}));
    let calls = said.calls.iter().filter(|_| last);
    let calls =
        calls.map(|(name, input)| json!({"functionCall": {"name": name, "args": input}, "thoughtSignature": "c2ln"}));
    let mut chunk = json!({
        "candidates": [{"content": {"role": "model", "parts": text.into_iter().chain(calls).collect::<Vec<_>>()}, "index": 0}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 18},
        "modelVersion": "gemini",
    });
    if last {
        chunk["candidates"][0]["finishReason"] =
            json!(said.finish_reason("STOP", "STOP", "MAX_TOKENS", "SAFETY"));
    }
    chunk
}

fn ollama_reply(seen: &Seen, said: &Said, text: &str, last: bool) -> Value {
    let text = if said.refuses { REFUSAL } else { text };
    let mut chunk = json!({
        "model": seen.body["model"], "created_at": "2025-01-01T00:00:00.000000Z",
        "message": {"role": "assistant", "content": text}, "done": last,
    });
    let calls = said.calls.iter().filter(|_| last);
    let calls: Vec<Value> = calls
        .map(|(name, input)| json!({"function": {"name": name, "arguments": input}}))
        .collect();
    if !calls.is_empty() {
        chunk["message"]["tool_calls"] = json!(calls);
    }
    if last {
        chunk["done_reason"] = json!(said.finish_reason("stop", "stop", "length", "stop"));
        (chunk["prompt_eval_count"], chunk["eval_count"]) = (json!(11), json!(7));
    }
    chunk
}

fn stream_events(seen: &Seen, said: &Said) -> Vec<Value> {
    let model = &seen.body["model"];
    let pieces = said.pieces();
    let mut chunks = Vec::new();
    match seen.wire {
        Wire::OpenAi => {
            let chunk = |delta: Value, finish: Value| {
                json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model,
                       "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}], "usage": null})
            };
            chunks.push(chunk(
                json!({"role": "assistant", "content": "", "refusal": null}),
                Value::Null,
            ));
            if said.refuses {
                chunks.push(chunk(json!({"refusal": REFUSAL}), Value::Null));
            }
            chunks.extend(
                pieces
                    .iter()
                    .map(|piece| chunk(json!({"content": piece}), Value::Null)),
            );
            for (n, (name, input)) in said.calls.iter().enumerate() {
                let start = json!({"index": n, "id": format!("call_{n}"), "type": "function", "function": {"name": name, "arguments": ""}});
                chunks.push(chunk(json!({"tool_calls": [start]}), Value::Null));
                let input: Vec<char> = input.to_string().chars().collect();
                for piece in input
                    .chunks(5)
                    .map(|piece| piece.iter().collect::<String>())
                {
                    chunks.push(chunk(
                        json!({"tool_calls": [{"index": n, "function": {"arguments": piece}}]}),
                        Value::Null,
                    ));
                }
            }
            chunks.push(chunk(
                json!({}),
                json!(said.finish_reason("stop", "tool_calls", "length", "stop")),
            ));
            chunks.push(json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [],
                               "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}}));
        }
        Wire::Anthropic => {
            let mut message = plain_reply(seen, said);
            let stop = message["stop_reason"].take();
            (message["content"], message["usage"]["output_tokens"]) = (json!([]), json!(1));
            chunks.push(json!({"type": "message_start", "message": message}));
            let mut index = 0;
            let mut block = |start: Value, deltas: Vec<Value>, chunks: &mut Vec<Value>| {
                chunks.push(
                    json!({"type": "content_block_start", "index": index, "content_block": start}),
                );
                chunks.extend(deltas.into_iter().map(
                    |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
                ));
                chunks.push(json!({"type": "content_block_stop", "index": index}));
                index += 1;
            };
            if !pieces.is_empty() {
                let deltas = pieces
                    .iter()
                    .map(|piece| json!({"type": "text_delta", "text": piece}))
                    .collect();
                block(
                    json!({"type": "text", "text": "", "citations": null}),
                    deltas,
                    &mut chunks,
                );
            }
            for (n, (name, input)) in said.calls.iter().enumerate() {
                let input: Vec<char> = input.to_string().chars().collect();
                let pieces = input
                    .chunks(5)
                    .map(|piece| piece.iter().collect::<String>());
                let deltas = pieces
                    .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                    .collect();
                block(
                    json!({"type": "tool_use", "id": format!("toolu_{n}"), "name": name, "input": {}}),
                    deltas,
                    &mut chunks,
                );
            }
            chunks.push(json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 7}}));
            chunks.push(json!({"type": "message_stop"}));
        }
        Wire::Gemini if said.refuses => chunks.push(plain_reply(seen, said)),
        Wire::Gemini => {
            chunks.extend(pieces.iter().map(|piece| gemini_reply(said, piece, false)));
            chunks.push(gemini_reply(said, "", true));
        }
        Wire::Ollama => {
            chunks.extend(
                pieces
                    .iter()
                    .map(|piece| ollama_reply(seen, said, piece, false)),
            );
            chunks.push(ollama_reply(seen, said, "", true));
        }
    }
    chunks
}

fn record_call(seen: &Seen, reply: &Value) {
    let Some(file) = std::env::var_os("HOOKWIRE_RECORD") else {
        return;
    };
    let line = json!({
        "provider": seen.wire.provider(), "stream": seen.streams, "path": seen.path, "request": seen.body, "reply": reply,
    });
    let mut file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(file)
        .unwrap();
    // One write, so that lines of several tests don't mix.
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}
