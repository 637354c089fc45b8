//! One call of a model: where it is, which key it takes, when it is tried again, and which replies
//! are errors.
//!
//! Everything goes through the guarded client and is bounded; a reply in pieces is put together
//! only when all of it is there, so that it is judged as a whole like any other.

use super::name::ModelRef;
use super::providers::{Asked, Post, Provider, SMALL, Service};
use super::text::clean;
use crate::services::client::{COMPLETE, Client};
use crate::services::conversation::{CompleteParams, Model, ModelError, ModelReply, Request};
use crate::services::egress::{Egress, Grants, Response};
use crate::services::fakes::Fakes;
use crate::services::obstacle::Obstacle;
use ::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use bytes::Bytes;
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::Instant;

/// A model with all that a call of it needs.
pub struct Bound<'a> {
    model: &'a ModelRef,
    egress: &'a Egress,
    client: Option<&'a Arc<dyn Client>>,
    /// No second try is begun that can't come back before this.
    deadline: Instant,
    /// What replies in a test, and the hook that asks.
    fake: Option<(&'a Fakes, &'a str)>,
}

/// The largest reply, in bytes: pieces of a stream carry a hundred times their text.
const MAX_REPLY: usize = 8 * 1024 * 1024;
/// How often a provider that is busy is asked again.
const RETRIES: u32 = 2;
/// The wait before the first of these, where the provider names none; then twice as long.
const WAIT: Duration = Duration::from_millis(500);
/// The longest part of a provider's message that is passed on, in characters.
const MAX_MESSAGE: usize = 300;

impl<'a> Bound<'a> {
    /// Takes the model that the hook or its file names, else the host's, else the client's own,
    /// else a small one.
    ///
    /// # Errors
    /// None of them is there.
    pub fn new(
        named: [Option<&'a ModelRef>; 2],
        small: Option<&'static ModelRef>,
        egress: &'a Egress,
        client: Option<&'a Arc<dyn Client>>,
        deadline: Instant,
    ) -> Result<Bound<'a>, ModelError> {
        static CLIENT: ModelRef = ModelRef::CLIENT;
        let own = || {
            client
                .filter(|client| client.answers().models)
                .map(|_| &CLIENT)
        };
        let model = named.into_iter().flatten().next().or_else(own).or(small).ok_or_else(|| {
            ModelError(
                "choose a model: none is named; write `model: anthropic:claude-haiku-4-5` (or another) in the hook or \
                 under the file's `defaults`, or start hookwire with --model"
                    .into(),
            )
        })?;
        Ok(Bound {
            model,
            egress,
            client,
            deadline,
            fake: None,
        })
    }

    /// The same, where a test's fakes reply to a hook.
    pub fn faked(self, fake: Option<(&'a Fakes, &'a str)>) -> Bound<'a> {
        Bound { fake, ..self }
    }

    /// Whether the model is a test's: then each question is one.
    pub(crate) fn is_faked(&self) -> bool {
        self.fake.is_some()
    }

    /// Which model.
    pub fn model(&self) -> &'a ModelRef {
        self.model
    }

    async fn ask_client(&self, request: &Request) -> Result<ModelReply, String> {
        let client = self.client.ok_or("there is no client to ask")?;
        if !client.answers().models {
            return Err(
                "the client doesn't answer it; a client that does says so in `initialize`, with \
                        `requests: [model/complete]`"
                    .into(),
            );
        }
        let model = Some(self.model.name.clone()).filter(|name| !name.is_empty());
        let params = CompleteParams {
            model,
            request: request.clone(),
        };
        let params = serde_json::to_value(params).map_err(|error| error.to_string())?;
        let reply = client
            .request(COMPLETE, params)
            .await
            .map_err(|error| clean(&error, MAX_MESSAGE))?;
        let reply: ModelReply = serde_json::from_value(reply)
            .map_err(|error| format!("its reply is not a completion: {error}"))?;
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

    async fn ask_provider(
        &self,
        service: &Service,
        request: &Request,
    ) -> Result<ModelReply, String> {
        let (base, key) = self.model.place_and_key(service)?;
        let max_tokens = request
            .max_tokens
            .or(self.model.max_tokens)
            .unwrap_or(DEFAULT_MAX_TOKENS);
        let (model, stream) = (self.model.name.as_str(), self.model.stream);
        let Post { path, body } = (service.post)(&Asked {
            model,
            request,
            max_tokens,
            stream,
        });
        let (url, body) = (format!("{base}{path}"), Bytes::from(body.to_string()));
        let headers = headers(service, key.as_deref())?;
        for tried in 0.. {
            let response = self
                .egress
                .post(&url, headers.clone(), body.clone(), MAX_REPLY)
                .await;
            let mut response = response.map_err(|error| format!("can't {error}"))?;
            if (200..300).contains(&response.status) {
                // Only what is said of it is masked: a short key may be part of any word of the
                // reply.
                let reply = chunks(&response).and_then(|chunks| (service.read)(chunks));
                return reply.map_err(|error| masked(&error, key.as_deref()));
            }
            mask(&mut response, key.as_deref());
            let wait = match response.status {
                429 | 503 | 529 if tried < RETRIES => {
                    retry_after(&response.headers).unwrap_or(WAIT * 2_u32.pow(tried))
                }
                404 => {
                    return Err(format!(
                        "{}; are the model's name and its `url` right? An API like OpenAI's is mostly below /v1",
                        refusal(&response)
                    ));
                }
                _ => return Err(refusal(&response)),
            };
            if Instant::now()
                .checked_add(wait)
                .is_none_or(|again| again >= self.deadline)
            {
                let seconds = wait.as_secs_f32().ceil();
                let refusal = refusal(&response);
                return Err(format!(
                    "{refusal}; trying again in {seconds} s would take longer than the hook may"
                ));
            }
            tracing::debug!(model = %self.model, status = response.status, ?wait, "The provider is busy.");
            tokio::time::sleep(wait).await;
        }
        Err("it is busy".into())
    }
}

impl ModelRef {
    /// The small model of the first provider whose key is there: for hooks of systems that judge by
    /// one where none is named.
    pub fn small() -> Option<&'static ModelRef> {
        static FOUND: OnceLock<Option<ModelRef>> = OnceLock::new();
        let has_key = |provider: &Provider| {
            let service = provider.service.as_ref();
            service
                .and_then(|it| it.key_variable)
                .is_some_and(|name| variable(name).is_some())
        };
        let find = || {
            let (provider, name) = SMALL.into_iter().find(|(provider, _)| has_key(provider))?;
            Some(ModelRef {
                provider,
                name: name.into(),
                ..ModelRef::CLIENT
            })
        };
        FOUND.get_or_init(find).as_ref()
    }

    /// What is known to be in the way of a call, without calling: a missing key, or an address that
    /// isn't granted.
    pub fn obstacle(&self, grants: &Grants) -> Option<Obstacle> {
        let service = self.provider.service.as_ref()?;
        match self.place_and_key(service) {
            Err(message) => Some(Obstacle::new(
                "no-key",
                format!("`{self}` can't be asked: {message}"),
            )),
            Ok((base, _)) => Obstacle::from_url(&base, grants),
        }
    }

    /// The base URL and the key.
    fn place_and_key(&self, service: &Service) -> Result<(String, Option<String>), String> {
        let base = match &self.url {
            Some(url) => url.clone(),
            None => {
                let (name, read) = service.base_url_variable;
                variable(name).map_or_else(|| service.base_url.into(), |value| read(&value))
            }
        };
        let name = match (&self.key, &self.url) {
            (Some(name), _) => Some(name.as_str()),
            // The provider's key is for the provider.
            (None, Some(_)) => None,
            (None, None) => service.key_variable,
        };
        let key = match name {
            Some(name) => Some(variable(name).ok_or_else(|| {
                format!("its key is missing: set the variable {name} where hookwire is started, or name another with the model's `key`")
            })?),
            None => None,
        };
        Ok((
            base.trim().trim_end_matches('/').to_string(),
            key.map(|key| key.trim().to_string()),
        ))
    }
}

/// What a variable of the environment holds, if anything.
fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.trim().is_empty())
}

fn headers(service: &Service, key: Option<&str>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in service.headers {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    if let Some(key) = key {
        let (name, prefix) = service.key_header;
        let value = HeaderValue::try_from(format!("{prefix}{key}"));
        let mut value = value.map_err(|_| "its key has characters that no key has")?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}

/// The JSON values of a reply: one, or as many as it has pieces.
fn chunks(response: &Response) -> Result<Vec<Value>, String> {
    let body = std::str::from_utf8(&response.body).map_err(|_| "its reply is not UTF-8")?;
    // Some providers reply as a whole although pieces are asked for.
    let form = response
        .headers
        .get(CONTENT_TYPE)
        .and_then(|form| form.to_str().ok())
        .unwrap_or_default();
    let chunks = match form.split(';').next().unwrap_or_default().trim() {
        "text/event-stream" => events(body),
        "application/x-ndjson" => body
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_string)
            .collect(),
        _ => vec![body.to_string()],
    };
    let mut values = Vec::new();
    for chunk in chunks {
        let value = hookwire_base::support::json::parse(&chunk)
            .map_err(|error| format!("can't read its reply: {error}"))?;
        // Some providers report an error in the middle of a stream, after a status of 200.
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(format!(
                "it failed: {}",
                message(&value).unwrap_or_default()
            ));
        }
        values.push(value);
    }
    Ok(values)
}

/// Enough for a model that thinks before it judges.
const DEFAULT_MAX_TOKENS: u32 = 4096;

impl Model for Bound<'_> {
    async fn complete(&self, request: &Request) -> Result<ModelReply, ModelError> {
        let reply = match (&self.fake, &self.model.provider.service) {
            (Some((fakes, hook)), _) => fakes.complete(hook, request),
            (None, None) => self.ask_client(request).await,
            (None, Some(service)) => self.ask_provider(service, request).await,
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
            None if line.is_empty() && !data.is_empty() => {
                events.push(std::mem::take(&mut data).join("\n"))
            }
            None => {}
        }
    }
    events.retain(|event| event != "[DONE]");
    events
}

/// The seconds that a provider asks to wait. A date is ignored, because it isn't worth a calendar
/// here.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    // A number that is too large for a duration is surely too long to wait.
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// Takes the key out of a response, because some providers repeat it and messages quote the
/// response.
fn mask(response: &mut Response, key: Option<&str>) {
    if let Ok(body) = std::str::from_utf8(&response.body) {
        response.body = masked(body, key).into();
    }
}

/// A shorter key is ordinary text as well.
const SHORTEST_KEY: usize = 8;

fn masked(text: &str, key: Option<&str>) -> String {
    match key.filter(|key| key.len() >= SHORTEST_KEY) {
        Some(key) => text.replace(key, "***"),
        None => text.to_string(),
    }
}

/// What a status other than 2xx says.
fn refusal(response: &Response) -> String {
    let said = std::str::from_utf8(&response.body)
        .ok()
        .and_then(|body| message(&serde_json::from_str(body).ok()?));
    match said.filter(|text| !text.is_empty()) {
        Some(text) => format!("it answered {}: {text}", response.status),
        None => format!("it answered {}", response.status),
    }
}

/// The text of an error in any provider's form.
fn message(body: &Value) -> Option<String> {
    let error = &body["error"];
    let text = error["message"]
        .as_str()
        .or(error.as_str())
        .or(body["message"].as_str())?;
    Some(clean(text, MAX_MESSAGE))
}

/// 128 random bits that can't be foreseen, in hex.
pub fn random_hex() -> Result<String, ModelError> {
    let mut bytes = [0; 16];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random
        .fill(&mut bytes)
        .map_err(|_| ModelError("get random numbers from the system".into()))?;
    Ok(hookwire_base::support::digest::hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::egress::Grants;
    use crate::services::models::{Message, Tool, ToolResult};
    use hookwire_testing::models::{ModelServer, Say, WIRES, Wire};
    use serde_json::json;

    /// A conversation with two calls in one turn, over every wire, plain and in pieces.
    #[test]
    fn tools() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false});
        let egress = Egress::new(Grants {
            loopback: true,
            hosts: Vec::new(),
        });
        for (wire, stream) in WIRES
            .into_iter()
            .flat_map(|wire| [(wire, false), (wire, true)])
        {
            let inputs = [json!({"path": "ä/\"b\""}), json!({"path": ""})];
            let calls = inputs.clone().map(|input| ("look", input)).to_vec();
            let server = ModelServer::with([Say::Calls(calls), Say::text("done")]);
            let name = format!("{}:small", wire.provider());
            let raw = json!({"name": name, "url": server.url(wire), "stream": stream});
            let model = ModelRef::new(serde_json::from_value(raw).unwrap()).unwrap();
            let until = Instant::now() + Duration::from_secs(60);
            let bound = Bound::new([Some(&model), None], None, &egress, None, until).unwrap();
            let mut request = Request {
                system: "Look around.".into(),
                messages: vec![Message::User {
                    text: "What is there?".into(),
                }],
                tools: vec![Tool {
                    name: "look".into(),
                    description: "Looks.".into(),
                    schema: schema.clone(),
                }],
                schema: Some(schema.clone()),
                max_tokens: None,
            };
            let reply = runtime.block_on(bound.complete(&request)).unwrap();
            let said: Vec<_> = reply
                .calls
                .iter()
                .map(|call| (call.name.as_str(), call.input.clone()))
                .collect();
            assert_eq!(
                said,
                inputs.map(|input| ("look", input)),
                "{wire:?} {stream}"
            );
            assert!(
                reply.calls[0].id != reply.calls[1].id && reply.usage.output_tokens == 7,
                "{reply:?}"
            );
            let results = reply
                .calls
                .iter()
                .zip([false, true])
                .map(|(call, is_error)| ToolResult {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    text: format!("seen {is_error}"),
                    is_error,
                });
            let results = results.collect();
            request.messages.push(Message::Assistant {
                text: reply.text.clone(),
                calls: reply.calls,
            });
            request.messages.push(Message::Tools { results });
            assert_eq!(
                runtime.block_on(bound.complete(&request)).unwrap().text,
                "done"
            );
            let sent = server.seen()[1].body.clone();
            let (results, told) = match wire {
                Wire::OpenAi => (
                    "/messages/4",
                    json!({"role": "tool", "tool_call_id": "call_1", "content": "error: seen true"}),
                ),
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
                Wire::Ollama => (
                    "/messages/4",
                    json!({"role": "tool", "tool_name": "look", "content": "error: seen true"}),
                ),
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
    fn events_and_random_numbers() {
        assert_eq!(
            events("event: x\ndata: {\"a\":\ndata: 1}\n\n: ping\n\ndata: [DONE]\n\n"),
            ["{\"a\":\n1}"]
        );
        let (one, other) = (random_hex().unwrap(), random_hex().unwrap());
        assert!(one.len() == 32 && one != other);
    }
}
