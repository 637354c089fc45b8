//! `http`: a POST to a service. What it may reach is [`crate::egress`]'s matter.

use super::template::{Template, lookup};
use super::{Call, Compile, HandlerError, Kind, Mistake};
use crate::egress::{check_url, is_reserved};
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
    headers: Vec<(HeaderName, Template)>,
}

/// A body with its strings taken apart.
#[derive(Debug)]
enum Body {
    Text(Template),
    List(Vec<Body>),
    Map(Vec<(String, Body)>),
    Other(Value),
}

/// The largest reply, in bytes.
const MAX_REPLY: usize = 1024 * 1024;

impl Kind for Http {
    type Raw = RawHttp;

    fn compile(raw: RawHttp, cx: &Compile<'_>) -> Result<Self, Mistake> {
        // Loopback and grants are judged when the hook runs: grants belong to the host, not the file.
        let lenient = crate::egress::Grants { loopback: true, hosts: Vec::new() };
        if let Err(error) = check_url(&raw.url, &lenient)
            && !error.is_about_address()
        {
            return Err(Mistake::new("url", format!("can't {error}")));
        }
        let mut headers = Vec::new();
        for (name, value) in &raw.headers {
            let bad = |message: String| Mistake::new("headers", message);
            let header = HeaderName::try_from(name.as_str())
                .map_err(|_| bad(format!("`{name}` can't be the name of a header")))?;
            if is_reserved(&header) {
                return Err(bad(format!("header `{name}` is the client's own")));
            }
            let template = Template::new(value).map_err(bad)?;
            for path in template.paths() {
                match path.strip_prefix("env.") {
                    Some(variable) if raw.inherit_env.iter().any(|it| it == variable) => {}
                    Some(variable) => {
                        return Err(bad(format!(
                            "header `{name}` reads the variable `{variable}`, which `inheritEnv` doesn't name"
                        ))
                        .help(format!("add `inheritEnv: [{variable}]`")));
                    }
                    // Event text in a header could smuggle one.
                    None => return Err(bad(format!("header `{name}` may hold only `${{env.NAME}}` placeholders"))),
                }
            }
            headers.push((header, template));
        }
        let _ = cx;
        let body = raw.body.map(Body::new).transpose().map_err(|message| Mistake::new("body", message))?;
        Ok(Http { url: raw.url, body, headers })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let body = match &self.body {
            Some(body) => Bytes::from(body.fill(call).to_string()),
            None => call.moment.payload(call.hook),
        };
        let egress = call.services.egress(call.hook.source.layer);
        let response = egress.post(&self.url, self.headers()?, body, MAX_REPLY).await;
        let response = response.map_err(|error| HandlerError(error.to_string()))?;
        if !(200..300).contains(&response.status) {
            return Err(HandlerError(format!("get an answer: the service replied with status {}", response.status)));
        }
        if response.body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Answer::default());
        }
        let text =
            std::str::from_utf8(&response.body).map_err(|_| HandlerError("read the reply: it is not UTF-8".into()))?;
        let reply = crate::json::parse(text).map_err(|error| HandlerError(format!("read the reply: {error}")))?;
        (call.hook.contract.reply)(call.moment.event(), reply).map_err(HandlerError)
    }
}

impl Http {
    fn headers(&self) -> Result<HeaderMap, HandlerError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, template) in &self.headers {
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

impl Body {
    fn new(value: Value) -> Result<Body, String> {
        Ok(match value {
            Value::String(text) => Body::Text(Template::new(&text)?),
            Value::Array(items) => Body::List(items.into_iter().map(Body::new).collect::<Result<_, _>>()?),
            Value::Object(members) => Body::Map(
                members.into_iter().map(|(key, value)| Ok((key, Body::new(value)?))).collect::<Result<_, String>>()?,
            ),
            other => Body::Other(other),
        })
    }

    fn fill(&self, call: &Call<'_>) -> Value {
        match self {
            Body::Text(template) => template.value(&|path| lookup(call, path)),
            Body::List(items) => items.iter().map(|item| item.fill(call)).collect(),
            Body::Map(members) => {
                Value::Object(members.iter().map(|(key, body)| (key.clone(), body.fill(call))).collect())
            }
            Body::Other(value) => value.clone(),
        }
    }
}
