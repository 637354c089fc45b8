//! One call of a model: where it is, which key it takes, when it is tried again, and what of its
//! reply is one.
//!
//! Everything goes through the guarded client and is bounded; a reply in pieces is put together
//! only when all of it is there, so that it is judged as a whole like any other.

use super::name::{ModelRef, Provider};
use super::{CompleteParams, Model, ModelError, Reply, Request, anthropic, gemini, ollama, openai};
use crate::services::client::{COMPLETE, Client};
use crate::services::egress::{Egress, Response};
use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A model with all that a call of it needs.
pub(crate) struct Bound<'a> {
    model: &'a ModelRef,
    egress: &'a Egress,
    client: Option<&'a Arc<dyn Client>>,
    /// When whoever asks gives up: no second try is begun that can't come back before it.
    until: Instant,
}

/// The largest reply, in bytes: pieces of a stream carry a hundred times their text.
const MAX_REPLY: usize = 8 * 1024 * 1024;
/// How often a provider that is busy is asked again.
const RETRIES: u32 = 2;
/// The wait before the first of these, where the provider names none; then twice as long.
const WAIT: Duration = Duration::from_millis(500);
/// The longest part of a provider's message that is passed on, in characters.
const MAX_MESSAGE: usize = 300;

/// What a provider's wire needs of a request.
pub(super) struct Post {
    pub(super) path: String,
    pub(super) body: Value,
}

impl<'a> Bound<'a> {
    /// Takes the model that the hook or its file names, else the host's, else the client's own.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn new(
        named: [Option<&'a ModelRef>; 2],
        egress: &'a Egress,
        client: Option<&'a Arc<dyn Client>>,
        until: Instant,
    ) -> Result<Bound<'a>, ModelError> {
        static CLIENT: ModelRef = ModelRef::CLIENT;
        let own = || client.filter(|client| client.answers().models).map(|_| &CLIENT);
        let model = named.into_iter().flatten().next().or_else(own).ok_or_else(|| {
            ModelError(
                "choose a model: none is named; write `model: anthropic:claude-haiku-4-5` (or another) in the hook or \
                 under the file's `defaults`, or start hookwire with --model"
                    .into(),
            )
        })?;
        Ok(Bound { model, egress, client, until })
    }

    /// Which model.
    pub(crate) fn model(&self) -> &'a ModelRef {
        self.model
    }

    async fn ask_client(&self, request: &Request) -> Result<Reply, String> {
        let client = self.client.ok_or("there is no client to ask")?;
        if !client.answers().models {
            return Err("the client doesn't answer it; a client that does says so in `initialize`, with \
                        `requests: [model/complete]`"
                .into());
        }
        let model = Some(self.model.name.clone()).filter(|name| !name.is_empty());
        let params = CompleteParams { model, request: request.clone() };
        let params = serde_json::to_value(params).map_err(|error| error.to_string())?;
        let reply = client.request(COMPLETE, params).await.map_err(|error| clean(&error, MAX_MESSAGE))?;
        let reply: Reply = serde_json::from_value(reply).map_err(|error| format!("its reply is none: {error}"))?;
        // Providers' words for a reply that isn't the model's last: an agent may pass them on.
        const WORDS: [&str; 8] = [
            "length",
            "max_tokens",
            "content_filter",
            "refusal",
            "safety",
            "recitation",
            "blocklist",
            "prohibited_content",
        ];
        match reply.finish_reason.as_deref() {
            Some(reason) if WORDS.contains(&reason.to_lowercase().as_str()) => {
                Err(format!("it stopped early (`{reason}`)"))
            }
            _ => Ok(reply),
        }
    }

    async fn ask_provider(&self, request: &Request) -> Result<Reply, String> {
        let (base, key) = self.service()?;
        let stream = self.model.stream;
        let Post { path, mut body } = self.post(request);
        if let (true, Provider::OpenAi | Provider::Anthropic | Provider::Ollama) = (stream, self.model.provider) {
            body["stream"] = Value::Bool(true);
        }
        let (url, body) = (format!("{base}{path}"), Bytes::from(body.to_string()));
        let headers = self.headers(key.as_deref())?;
        for tried in 0.. {
            let response = self.egress.post(&url, headers.clone(), body.clone(), MAX_REPLY).await;
            let mut response = response.map_err(|error| format!("can't {error}"))?;
            mask(&mut response, key.as_deref());
            if (200..300).contains(&response.status) {
                return self.read(&response);
            }
            let wait = match response.status {
                429 | 503 | 529 if tried < RETRIES => retry_after(&response.headers).unwrap_or(WAIT * 2_u32.pow(tried)),
                _ => return Err(refusal(&response)),
            };
            if Instant::now().checked_add(wait).is_none_or(|again| again >= self.until) {
                let seconds = wait.as_secs_f32().ceil();
                let refusal = refusal(&response);
                return Err(format!("{refusal}; trying again in {seconds} s would take longer than the hook may"));
            }
            tracing::debug!(model = %self.model, status = response.status, ?wait, "The provider is busy.");
            tokio::time::sleep(wait).await;
        }
        Err("it is busy".into())
    }

    /// The base URL and the key.
    fn service(&self) -> Result<(String, Option<String>), String> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let (url_variable, url, key_variable) = match self.model.provider {
            Provider::OpenAi => ("OPENAI_BASE_URL", "https://api.openai.com/v1", Some("OPENAI_API_KEY")),
            Provider::Anthropic => ("ANTHROPIC_BASE_URL", "https://api.anthropic.com", Some("ANTHROPIC_API_KEY")),
            Provider::Gemini => {
                ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com", Some("GEMINI_API_KEY"))
            }
            Provider::Ollama => ("OLLAMA_HOST", "http://127.0.0.1:11434", None),
            Provider::Client => return Err("it has no URL".into()),
        };
        let base = match &self.model.url {
            Some(url) => url.clone(),
            None => match variable(url_variable) {
                Some(host) if self.model.provider == Provider::Ollama => ollama::base(&host),
                Some(url) => url,
                None => url.into(),
            },
        };
        let name = match (&self.model.key, &self.model.url) {
            (Some(name), _) => Some(name.as_str()),
            // The provider's key is for the provider.
            (None, Some(_)) => None,
            (None, None) => key_variable,
        };
        let key = match name {
            Some(name) => Some(variable(name).ok_or_else(|| {
                format!("its key is missing: set the variable {name} where hookwire is started, or name another with the model's `key`")
            })?),
            None => None,
        };
        Ok((base.trim().trim_end_matches('/').to_string(), key.map(|key| key.trim().to_string())))
    }

    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (name, value) = match self.model.provider {
            Provider::Anthropic => {
                headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
                (HeaderName::from_static("x-api-key"), key.map(str::to_string))
            }
            Provider::Gemini => (HeaderName::from_static("x-goog-api-key"), key.map(str::to_string)),
            Provider::OpenAi | Provider::Ollama | Provider::Client => {
                (AUTHORIZATION, key.map(|key| format!("Bearer {key}")))
            }
        };
        if let Some(value) = value {
            let mut value = HeaderValue::try_from(value).map_err(|_| "its key has characters that no key has")?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    fn post(&self, request: &Request) -> Post {
        let max_tokens = request.max_tokens.or(self.model.max_tokens).unwrap_or(DEFAULT_MAX_TOKENS);
        let (name, stream) = (self.model.name.as_str(), self.model.stream);
        match self.model.provider {
            Provider::Anthropic => anthropic::post(name, request, max_tokens),
            Provider::Gemini => gemini::post(name, request, max_tokens, stream),
            Provider::Ollama => ollama::post(name, request, max_tokens),
            Provider::OpenAi | Provider::Client => openai::post(name, request, max_tokens, stream),
        }
    }

    fn read(&self, response: &Response) -> Result<Reply, String> {
        let body = std::str::from_utf8(&response.body).map_err(|_| "its reply is not UTF-8")?;
        // Some answer as a whole although asked for pieces.
        let form = response.headers.get(CONTENT_TYPE).and_then(|form| form.to_str().ok()).unwrap_or_default();
        let chunks = match form.split(';').next().unwrap_or_default().trim() {
            "text/event-stream" => events(body),
            "application/x-ndjson" => body.lines().filter(|line| !line.is_empty()).map(str::to_string).collect(),
            _ => vec![body.to_string()],
        };
        let mut values = Vec::new();
        for chunk in chunks {
            let value =
                crate::support::json::parse(&chunk).map_err(|error| format!("can't read its reply: {error}"))?;
            // Some say so in the middle of a stream, after a status of 200.
            if value.get("error").is_some_and(|error| !error.is_null()) {
                return Err(format!("it failed: {}", message(&value).unwrap_or_default()));
            }
            values.push(value);
        }
        match self.model.provider {
            Provider::Anthropic => anthropic::read(values),
            Provider::Gemini => gemini::read(values),
            Provider::Ollama => ollama::read(values),
            Provider::OpenAi | Provider::Client => openai::read(values),
        }
    }
}

/// Enough for a model that thinks before it judges.
const DEFAULT_MAX_TOKENS: u32 = 4096;

impl Model for Bound<'_> {
    async fn complete(&self, request: &Request) -> Result<Reply, ModelError> {
        let reply = match self.model.provider {
            Provider::Client => self.ask_client(request).await,
            Provider::OpenAi | Provider::Anthropic | Provider::Gemini | Provider::Ollama => {
                self.ask_provider(request).await
            }
        };
        reply.map_err(|error| ModelError(format!("ask the model `{}`: {error}", self.model)))
    }
}

/// The data of server-sent events, one text an event.
fn events(body: &str) -> Vec<String> {
    let mut events = Vec::new();
    let mut data: Vec<&str> = Vec::new();
    for line in body.lines().chain([""]) {
        match line.strip_prefix("data:") {
            Some(text) => data.push(text.strip_prefix(' ').unwrap_or(text)),
            None if line.is_empty() && !data.is_empty() => events.push(std::mem::take(&mut data).join("\n")),
            None => {}
        }
    }
    events.retain(|event| event != "[DONE]");
    events
}

/// Whole seconds, or a date, which isn't worth a calendar here: as if there were none.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    // What is too large for a duration is surely too long.
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// Some repeat the key: nobody here is to see it, before anything is cut.
fn mask(response: &mut Response, key: Option<&str>) {
    if let (Some(key), Ok(body)) = (key, std::str::from_utf8(&response.body))
        && body.contains(key)
    {
        response.body = body.replace(key, "***").into();
    }
}

/// What a status other than 2xx says.
fn refusal(response: &Response) -> String {
    let said = std::str::from_utf8(&response.body).ok().and_then(|body| message(&serde_json::from_str(body).ok()?));
    match said.filter(|text| !text.is_empty()) {
        Some(text) => format!("it answered {}: {text}", response.status),
        None => format!("it answered {}", response.status),
    }
}

/// The text of an error in any provider's form.
fn message(body: &Value) -> Option<String> {
    let error = &body["error"];
    let text = error["message"].as_str().or(error.as_str()).or(body["message"].as_str())?;
    Some(clean(text, MAX_MESSAGE))
}

/// A text from outside in one line of at most so many characters.
pub(crate) fn clean(text: &str, max: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control() || is_invisible(c));
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(max) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}

/// Characters that reorder or hide the text around them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether a reply is one, by the reason it stopped for.
pub(super) fn check_finish(reason: Option<&str>, fine: &[&str], cut: &[&str]) -> Result<(), String> {
    match reason {
        Some(reason) if fine.contains(&reason) => Ok(()),
        Some(reason) if cut.contains(&reason) => {
            Err(format!("its reply was cut off at the limit of tokens (`{reason}`); raise `maxTokens`"))
        }
        Some(reason) => Err(format!("it refused or was stopped (`{}`)", clean(reason, 60))),
        None => Err("its reply ends in the middle".into()),
    }
}

/// The input of a call as it came in a text.
pub(super) fn input(name: &str, text: &str) -> Result<Value, String> {
    match crate::support::json::parse(if text.trim().is_empty() { "{}" } else { text }) {
        Ok(input @ Value::Object(_)) => Ok(input),
        _ => Err(format!("its call of `{}` has something else than a JSON object as input", clean(name, 60))),
    }
}

/// 128 bits that nobody can foresee, in hex.
pub(crate) fn random_hex() -> Result<String, ModelError> {
    let mut bytes = [0; 16];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| ModelError("get random numbers from the system".into()))?;
    Ok(crate::support::digest::hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::egress::Grants;
    use crate::services::models::server::{ModelServer, Say, WIRES, Wire};
    use crate::services::models::{Message, Tool, ToolResult};
    use serde_json::json;

    /// A conversation with two calls in one turn, over every wire, plain and in pieces.
    #[test]
    fn tools() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false});
        let egress = Egress::new(Grants { loopback: true, hosts: Vec::new() });
        for (wire, stream) in WIRES.into_iter().flat_map(|wire| [(wire, false), (wire, true)]) {
            let inputs = [json!({"path": "ä/\"b\""}), json!({"path": ""})];
            let calls = inputs.clone().map(|input| ("look", input)).to_vec();
            let server = ModelServer::with([Say::Calls(calls), Say::text("done")]);
            let name = format!("{}:small", wire.provider());
            let raw = json!({"name": name, "url": server.url(wire), "stream": stream});
            let model = ModelRef::new(serde_json::from_value(raw).unwrap()).unwrap();
            let until = Instant::now() + Duration::from_secs(60);
            let bound = Bound::new([Some(&model), None], &egress, None, until).unwrap();
            let mut request = Request {
                system: "Look around.".into(),
                messages: vec![Message::User { text: "What is there?".into() }],
                tools: vec![Tool { name: "look".into(), description: "Looks.".into(), schema: schema.clone() }],
                schema: Some(schema.clone()),
                max_tokens: None,
            };
            let reply = runtime.block_on(bound.complete(&request)).unwrap();
            let said: Vec<_> = reply.calls.iter().map(|call| (call.name.as_str(), call.input.clone())).collect();
            assert_eq!(said, inputs.map(|input| ("look", input)), "{wire:?} {stream}");
            assert!(reply.calls[0].id != reply.calls[1].id && reply.usage.output_tokens == 7, "{reply:?}");
            let results = reply.calls.iter().zip([false, true]).map(|(call, is_error)| ToolResult {
                id: call.id.clone(),
                name: call.name.clone(),
                text: format!("seen {is_error}"),
                is_error,
            });
            let results = results.collect();
            request.messages.push(Message::Assistant { text: reply.text.clone(), calls: reply.calls });
            request.messages.push(Message::Tools { results });
            assert_eq!(runtime.block_on(bound.complete(&request)).unwrap().text, "done");
            let sent = server.seen()[1].body.clone();
            let (results, told) = match wire {
                Wire::OpenAi => {
                    ("/messages/4", json!({"role": "tool", "tool_call_id": "call_1", "content": "error: seen true"}))
                }
                Wire::Anthropic => (
                    "/messages/2/content/1",
                    json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen true", "is_error": true}),
                ),
                Wire::Gemini => {
                    assert_eq!(sent["contents"][1]["parts"][0]["thoughtSignature"], "c2ln");
                    (
                        "/contents/2/parts/1",
                        json!({"functionResponse": {"name": "look", "response": {"error": "seen true"}}}),
                    )
                }
                Wire::Ollama => {
                    ("/messages/4", json!({"role": "tool", "tool_name": "look", "content": "error: seen true"}))
                }
            };
            assert_eq!(sent.pointer(results), Some(&told), "{sent}");
        }
    }

    #[test]
    fn waits() {
        for (header, expected) in [
            ("2", Some(Duration::from_secs(2))),
            ("0.5", Some(Duration::from_millis(500))),
            ("1e300", Some(Duration::MAX)),
            ("-1", None),
            ("NaN", None),
            ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(header))]);
            assert_eq!(retry_after(&headers), expected, "{header}");
        }
    }

    #[test]
    fn texts_from_outside() {
        assert_eq!(clean("a\n\u{1b}[31mb\u{202e}c\t d", 99), "a [31mb c d");
        assert_eq!(clean("äöü", 2), "äö...");
        assert_eq!(events("event: x\ndata: {\"a\":\ndata: 1}\n\n: ping\n\ndata: [DONE]\n\n"), ["{\"a\":\n1}"]);
        let (one, other) = (random_hex().unwrap(), random_hex().unwrap());
        assert!(one.len() == 32 && one != other);
    }
}
