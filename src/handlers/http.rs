//! `http`: a POST to a service. What it may reach is [`crate::services::egress`]'s matter.

use super::call::{Call, HandlerError};
use super::compile::{Compile, Mistake};
use super::kind::{Effect, Kind, TextKind};
use crate::services::egress::{check_url, is_reserved};
use crate::syntax::fix::{Edit, Fix};
use crate::template::{Body, PATHS, Template};
use crate::verdict::Answer;
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A POST; a 2xx JSON reply is the hook's answer, an empty one no opinion, anything else an error.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Http")]
pub(crate) struct RawHttp {
    /// Where to. Public addresses; loopback only from trusted layers; others need `--allow-host`.
    url: String,
    /// The body: any JSON, `${path}` placeholders in its strings. Default: the event.
    body: Option<Value>,
    /// Headers; a value may hold `${env.NAME}` for a variable that `inheritEnv` names.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Variables of the host's environment that headers may hold, by name.
    #[serde(default)]
    inherit_env: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Http {
    url: String,
    body: Option<Body>,
    headers: Headers,
}

/// Headers that may hold variables of the host's environment, and nothing of the event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Headers(Vec<(HeaderName, Template)>);

/// The largest reply, in bytes.
const MAX_REPLY: usize = 1024 * 1024;

impl Kind for Http {
    type Raw = RawHttp;

    const TEXTS: &'static [(&'static str, TextKind)] =
        &[("body.**", TextKind::Template), ("headers.*", TextKind::NativeTemplate)];

    fn compile(raw: RawHttp, cx: &Compile<'_>) -> Result<Self, Mistake> {
        check(&raw.url).map_err(|message| Mistake::new("url", message))?;
        let headers = Headers::new(&raw.headers, &raw.inherit_env)?;
        let body = raw
            .body
            .map(|body| Body::new(body, cx.placeholders))
            .transpose()
            .map_err(|message| Mistake::new("body", message))?;
        Ok(Http { url: raw.url, body, headers })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let body = match &self.body {
            Some(body) => Bytes::from(body.fill(&|name| call.placeholder(name)).to_string()),
            None => call.moment.payload(call.hook.contract),
        };
        let egress = call.services.egress(call.hook.source.layer);
        let mut headers = self.headers.fill()?;
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        let response = egress.post(&self.url, headers, body, MAX_REPLY).await;
        let response = response.map_err(|error| HandlerError(error.to_string()))?;
        if !(200..300).contains(&response.status) {
            return Err(HandlerError(format!("get an answer: the service replied with status {}", response.status)));
        }
        if response.body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Answer::default());
        }
        let text =
            std::str::from_utf8(&response.body).map_err(|_| HandlerError("read the reply: it is not UTF-8".into()))?;
        let reply =
            crate::support::json::parse(text).map_err(|error| HandlerError(format!("read the reply: {error}")))?;
        (call.hook.contract.reply)(call.moment.event(), reply).map_err(HandlerError)
    }

    fn effect(&self) -> Option<Effect> {
        let mut url = reqwest::Url::parse(&self.url).ok()?;
        url.set_query(None);
        url.set_fragment(None);
        // What has no host has no credentials either.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        Some(Effect::Post(url.into()))
    }
}

/// Whether a text is a URL that may be used at all.
pub(super) fn check(url: &str) -> Result<(), String> {
    // Loopback and grants are judged when the hook runs: grants belong to the host, not the file.
    let lenient = crate::services::egress::Grants { loopback: true, hosts: Vec::new() };
    match check_url(url, &lenient) {
        Err(error) if !error.is_about_address() => Err(format!("can't {error}")),
        Ok(_) | Err(_) => Ok(()),
    }
}

impl Headers {
    /// Checks what was written; `inherit_env` names the variables that values may hold.
    pub(super) fn new(headers: &BTreeMap<String, String>, inherit_env: &[String]) -> Result<Headers, Mistake> {
        let mut compiled = Vec::new();
        for (name, value) in headers {
            let bad = |message: String| Mistake::new("headers", message);
            let header = HeaderName::try_from(name.as_str())
                .map_err(|_| bad(format!("`{name}` can't be the name of a header")))?;
            if is_reserved(&header) {
                return Err(bad(format!("header `{name}` is the client's own")));
            }
            let template = Template::new(value, &PATHS).map_err(bad)?;
            for path in template.paths() {
                match path.strip_prefix("env.") {
                    Some(variable) if inherit_env.iter().any(|it| it == variable) => {}
                    Some(variable) => {
                        return Err(bad(format!(
                            "header `{name}` reads the variable `{variable}`, which `inheritEnv` doesn't name"
                        ))
                        .help(format!("add `inheritEnv: [{variable}]`"))
                        .fix(Fix::new(
                            format!("Add `{variable}` to `inheritEnv`"),
                            Edit::AddItem { key: "inheritEnv", item: variable.to_string() },
                        )));
                    }
                    // Event text in a header could smuggle one.
                    None => return Err(bad(format!("header `{name}` may hold only `${{env.NAME}}` placeholders"))),
                }
            }
            compiled.push((header, template));
        }
        Ok(Headers(compiled))
    }

    /// The headers with their values, which no log shows.
    pub(super) fn fill(&self) -> Result<HeaderMap, HandlerError> {
        let mut headers = HeaderMap::new();
        for (name, template) in &self.0 {
            if let Some(missing) = template
                .paths()
                .filter_map(|path| path.strip_prefix("env."))
                .find(|name| std::env::var_os(name).is_none())
            {
                return Err(HandlerError(format!("fill header `{name}`: the variable `{missing}` is not set")));
            }
            let text = template.text(&|path| Some(Value::String(std::env::var(path.strip_prefix("env.")?).ok()?)));
            let mut value = HeaderValue::try_from(text).map_err(|_| {
                HandlerError(format!("fill header `{name}`: the value has characters that no header may have"))
            })?;
            value.set_sensitive(true);
            headers.insert(name.clone(), value);
        }
        Ok(headers)
    }
}
