//! `http`: a POST to a service. What it may reach is [`crate::services::egress`]'s matter.

use super::call::{Call, HookView};
use super::compile::{Compile, Mistake};
use super::effect::Effect;
use super::environment::Secrets;
use super::error::HandlerError;
use super::headers::{Headers, check};
use super::kind::{Kind, TextKind};
use super::means::{Means, Obstacle};
use ::http::header::{CONTENT_TYPE, HeaderValue};
use bytes::Bytes;
use hookwire_base::template::Body;
use hookwire_base::verdict::Answer;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A POST; a 2xx JSON reply is the hook's answer, an empty one no opinion, anything else an error.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Http")]
pub struct RawHttp {
    /// Where to. Public addresses; loopback only from trusted layers; others need `--allow-host`.
    url: String,
    /// The body: any JSON, `${tool.name}` placeholders in its strings. Default: the event.
    body: Option<Value>,
    /// Headers; a value may hold `${env.NAME}` for a variable that `inheritEnv` names.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Variables of the host's environment that headers may hold, by name.
    #[serde(default)]
    inherit_env: Vec<String>,
}

#[derive(Debug)]
pub struct Http {
    url: String,
    body: Option<Body>,
    headers: Headers,
}

/// The largest reply, in bytes.
const MAX_REPLY: usize = 1024 * 1024;

impl Kind for Http {
    type Raw = RawHttp;

    const TEXTS: &'static [(&'static str, TextKind)] = &[
        ("body.**", TextKind::Template),
        ("headers.*", TextKind::NativeTemplate),
    ];

    fn compile(raw: RawHttp, cx: &Compile<'_>) -> Result<Self, Mistake> {
        check(&raw.url).map_err(|message| Mistake::new("url", message))?;
        let headers = Headers::new(&raw.headers, &raw.inherit_env)?;
        let body = raw
            .body
            .map(|body| Body::new(body, cx.placeholders))
            .transpose()
            .map_err(|message| Mistake::new("body", message))?;
        Ok(Http {
            url: raw.url,
            body,
            headers,
        })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let body = match &self.body {
            Some(body) => Bytes::from(call.filled(|value| body.fill(value))?.to_string()),
            None => call.moment.payload(call.hook.contract),
        };
        let egress = call.services.egress.for_layer(call.hook.source.layer);
        let mut headers = self.headers.fill()?;
        headers
            .entry(CONTENT_TYPE)
            .or_insert(HeaderValue::from_static("application/json"));
        let response = egress.post(&self.url, headers, body, MAX_REPLY).await;
        let response = response.map_err(|error| HandlerError(error.to_string()))?;
        if !(200..300).contains(&response.status) {
            return Err(HandlerError(format!(
                "get an answer: the service replied with status {}",
                response.status
            )));
        }
        if response.body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Answer::default());
        }
        let text = std::str::from_utf8(&response.body)
            .map_err(|_| HandlerError("read the reply: it is not UTF-8".into()))?;
        let reply = hookwire_base::support::json::parse(text)
            .map_err(|error| HandlerError(format!("read the reply: {error}")))?;
        (call.hook.contract.reply)(call.moment.event(), reply).map_err(HandlerError)
    }

    fn obstacle(&self, hook: &HookView<'_>, means: &Means) -> Option<Obstacle> {
        let unreachable =
            Obstacle::from_url(&self.url, &means.grants(hook.source.layer)).map(|it| it.at("url"));
        unreachable.or_else(|| self.headers.obstacle())
    }

    fn secrets(&self) -> Vec<&Secrets> {
        vec![&self.headers.secrets]
    }

    fn effect(&self) -> Option<Effect> {
        let mut url = url::Url::parse(&self.url).ok()?;
        url.set_query(None);
        url.set_fragment(None);
        // What has no host has no credentials either.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        Some(Effect::Post(url.into()))
    }
}
