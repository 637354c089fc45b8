//! Which model: `provider:model`, as definitions, options and the environment name it.

use super::providers::{CLIENT, PROVIDERS, Provider};
use crate::services::egress::{Grants, check_url};
use hookwire_base::support::nearest::closest;
use hookwire_base::syntax::fix::Fix;
use hookwire_base::syntax::values::text_or_map;
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// A model as a definition names it: a text, or a map with `name`.
#[derive(Clone, Debug, PartialEq)]
pub struct RawModel(RawLong);

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ModelMap")]
struct RawLong {
    /// `openai:MODEL`, `anthropic:MODEL`, `gemini:MODEL`, `ollama:MODEL`, or `client` for the
    /// agent's own model.
    name: String,
    /// The base URL of a service that speaks the provider's wire, such as
    /// `http://127.0.0.1:8000/v1`. The provider's usual key isn't sent there: name one with `key`.
    url: Option<String>,
    /// The name of the environment variable that holds the key. Default: the provider's own.
    key: Option<String>,
    /// At most so many tokens in a reply.
    #[schemars(range(min = 1))]
    max_tokens: Option<u32>,
    /// Let the reply come in pieces: it keeps slow connections open.
    #[serde(default)]
    stream: bool,
}

text_or_map!(
    RawModel(RawLong),
    "Model",
    "`provider:model` or a map with `name`",
    "`provider:model`, such as `anthropic:claude-haiku-4-5`; `client` is the agent's own model. Or a map with `name`.",
    |name| RawLong {
        name,
        ..RawLong::default()
    }
);

/// A model that can be asked: nothing here can be wrong any more but what only the provider knows.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRef {
    pub(super) provider: &'static Provider,
    pub(super) name: String,
    pub(super) url: Option<String>,
    pub(super) key: Option<String>,
    pub(super) max_tokens: Option<u32>,
    pub(super) stream: bool,
}

/// Why a name stands for no model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadModel {
    /// Lowercase, no full stop.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// The edit that mends it.
    pub fix: Option<Box<Fix>>,
}

impl fmt::Display for BadModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.help {
            Some(help) => write!(f, "{}; {help}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for BadModel {}

impl BadModel {
    fn new(message: String, help: impl Into<String>) -> BadModel {
        BadModel {
            help: Some(help.into()),
            ..BadModel::without_help(message)
        }
    }

    fn without_help(message: impl Into<String>) -> BadModel {
        BadModel {
            message: message.into(),
            help: None,
            fix: None,
        }
    }

    fn did_you_mean(self, wrong: &str, right: &str) -> BadModel {
        let help = Some(format!("did you mean `{right}`?"));
        BadModel {
            help,
            fix: Some(Box::new(Fix::replace(wrong, right))),
            ..self
        }
    }
}

impl ModelRef {
    /// The agent's own model, whichever that is.
    pub const CLIENT: ModelRef = ModelRef {
        provider: &CLIENT,
        name: String::new(),
        url: None,
        key: None,
        max_tokens: None,
        stream: false,
    };

    /// Checks what was written.
    ///
    /// # Errors
    /// An unknown provider, a name or a URL that can't be one.
    pub fn new(RawModel(raw): RawModel) -> Result<ModelRef, BadModel> {
        let (provider, name) = match raw.name.split_once(':') {
            Some((provider, name)) => (provider, name),
            None => (raw.name.as_str(), ""),
        };
        let Some(provider) = PROVIDERS.into_iter().find(|it| it.name == provider) else {
            return Err(unknown(&raw.name, provider, name));
        };
        let is_client = provider.service.is_none();
        if name.is_empty() && !is_client {
            let message = format!("`{}` names a provider but no model", raw.name);
            return Err(BadModel::new(
                message,
                format!("write `{}`, for example", provider.example),
            ));
        }
        let is_in_path = provider
            .service
            .as_ref()
            .is_some_and(|service| service.is_name_in_path);
        let is_fine = |c: char| match is_in_path {
            true => c.is_ascii_alphanumeric() || "-._".contains(c),
            false => !c.is_whitespace() && !c.is_control(),
        };
        if name.len() > 200 || !name.chars().all(is_fine) || name.starts_with('.') {
            let name = raw.name.escape_debug();
            return Err(BadModel::without_help(format!(
                "`{name}` can't be the name of a model"
            )));
        }
        if is_client && (raw.url.is_some() || raw.key.is_some() || raw.stream) {
            let message = "`client` has no `url`, `key` or `stream`".to_string();
            return Err(BadModel::new(
                message,
                "the agent answers `model/complete` with a model of its own",
            ));
        }
        if let Some(url) = &raw.url {
            check_base(url)?;
        }
        if let Some(key) = &raw.key {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if key.is_empty()
                || key.starts_with(|c: char| c.is_ascii_digit())
                || !key.chars().all(is_name)
            {
                // The message doesn't repeat the text, because it may be the key itself.
                let message = "`key` isn't the name of an environment variable".to_string();
                return Err(BadModel::new(
                    message,
                    "put the key into a variable and write the variable's name",
                ));
            }
        }
        if raw.max_tokens == Some(0) {
            return Err(BadModel::without_help("`maxTokens` of 0 leaves no reply"));
        }
        let RawLong {
            url,
            key,
            max_tokens,
            stream,
            ..
        } = raw;
        Ok(ModelRef {
            provider,
            name: name.to_string(),
            url,
            key,
            max_tokens,
            stream,
        })
    }

    /// All that makes a reply of this model another than one of another model.
    pub fn identity(&self) -> String {
        format!("{self}\0{}", self.url.as_deref().unwrap_or_default())
    }
}

/// `host:port` and paths, not what only one request has.
fn check_base(url: &str) -> Result<(), BadModel> {
    // Loopback and grants are judged when the model is asked: grants belong to the host.
    let lenient = Grants {
        loopback: true,
        hosts: Vec::new(),
    };
    match check_url(url, &lenient) {
        Err(error) if !error.is_about_address() => {
            Err(BadModel::without_help(format!("can't {error}")))
        }
        _ if url.contains(['?', '#']) => Err(BadModel::new(
            "`url` has a query or a fragment".into(),
            "write where the service is, such as `http://127.0.0.1:8000/v1`",
        )),
        _ => Ok(()),
    }
}

fn unknown(whole: &str, provider: &str, name: &str) -> BadModel {
    let whole = whole.chars().take(80).collect::<String>();
    match closest(provider, PROVIDERS.map(|it| it.name)) {
        Some(near) if name.is_empty() => {
            BadModel::without_help(format!("unknown provider `{whole}`"))
                .did_you_mean(provider, near)
        }
        Some(near) => {
            BadModel::without_help(format!("unknown provider `{}`", provider.escape_debug()))
                .did_you_mean(&format!("{provider}:{name}"), &format!("{near}:{name}"))
        }
        None => BadModel::new(
            format!("`{}` names no provider", whole.escape_debug()),
            format!(
                "write `provider:model`, such as {}",
                PROVIDERS.map(|it| format!("`{}`", it.example)).join(", ")
            ),
        ),
    }
}

impl FromStr for ModelRef {
    type Err = BadModel;

    fn from_str(name: &str) -> Result<ModelRef, BadModel> {
        ModelRef::new(RawModel(RawLong {
            name: name.to_string(),
            ..RawLong::default()
        }))
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.provider.name)?;
        if self.name.is_empty() {
            Ok(())
        } else {
            write!(f, ":{}", self.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (text, expected) in [
            ("openai:gpt-5-mini", "openai:gpt-5-mini"),
            ("ollama:qwen3:8b", "ollama:qwen3:8b"),
            (
                "openai:meta-llama/Llama-3.1-8B",
                "openai:meta-llama/Llama-3.1-8B",
            ),
            ("client", "client"),
            ("client:small", "client:small"),
            (
                "opnai:gpt",
                "unknown provider `opnai`; did you mean `openai:gpt`?",
            ),
            (
                "OpenAI:gpt",
                "unknown provider `OpenAI`; did you mean `openai:gpt`?",
            ),
            (
                "antropic",
                "unknown provider `antropic`; did you mean `anthropic`?",
            ),
            (
                "gemini",
                "`gemini` names a provider but no model; write `gemini:gemini-2.5-flash`, for example",
            ),
            (
                "gemini:../files",
                "`gemini:../files` can't be the name of a model",
            ),
            ("openai:a b", "`openai:a b` can't be the name of a model"),
        ] {
            let said = text
                .parse::<ModelRef>()
                .map_or_else(|error| error.to_string(), |model| model.to_string());
            assert_eq!(said, expected);
        }
        let error = "gpt-5-mini".parse::<ModelRef>().unwrap_err().to_string();
        assert!(
            error.starts_with("`gpt-5-mini` names no provider; write `provider:model`, such as"),
            "{error}"
        );
    }

    /// The texts for people that name every provider.
    #[test]
    fn every_provider_is_documented() {
        let schema = schemars::schema_for!(RawLong).to_value().to_string();
        let page = include_str!("../../../../../docs/handlers/prompt.md");
        for provider in PROVIDERS {
            let name = if provider.service.is_some() {
                format!("`{}:MODEL`", provider.name)
            } else {
                format!("`{}`", provider.name)
            };
            assert!(schema.contains(&name) && page.contains(&name), "{name}");
        }
    }

    #[test]
    fn maps() {
        for (map, expected) in [
            (
                r#"{"name": "openai:x", "url": "http://127.0.0.1:1/v1", "key": "MY_KEY"}"#,
                "",
            ),
            (
                r#"{"name": "openai:x", "url": "ftp://h"}"#,
                "can't use the URL: its scheme is not http or https",
            ),
            (
                r#"{"name": "openai:x", "url": "https://h/v1?a=b"}"#,
                "`url` has a query or a fragment",
            ),
            (
                r#"{"name": "openai:x", "key": "sk-123"}"#,
                "`key` isn't the name of an environment variable",
            ),
            (
                r#"{"name": "client", "stream": true}"#,
                "`client` has no `url`, `key` or `stream`",
            ),
            (
                r#"{"name": "openai:x", "maxTokens": 0}"#,
                "`maxTokens` of 0 leaves no reply",
            ),
        ] {
            let raw: RawModel = serde_json::from_str(map).unwrap();
            let said = ModelRef::new(raw).map_or_else(|error| error.message, |_| String::new());
            assert_eq!(said, expected, "{map}");
        }
    }
}
