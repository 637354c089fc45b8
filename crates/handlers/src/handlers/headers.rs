//! Where a request goes, and its headers, as far as a definition says.

use super::compile::Mistake;
use super::environment::Secrets;
use super::error::HandlerError;
use super::means::Obstacle;
use crate::services::egress::{check_url, is_reserved};
use ::http::header::{HeaderMap, HeaderName, HeaderValue};
use hookwire_base::syntax::fix::{Edit, Fix};
use hookwire_base::template::{PATHS, Template};
use serde_json::Value;
use std::collections::BTreeMap;

/// Headers that may hold variables of the host's environment, and nothing of the event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Headers {
    headers: Vec<(HeaderName, Template)>,
    /// The values of the variables in them.
    pub(super) secrets: Secrets,
}

/// Whether a text is a URL that may be used at all.
pub(super) fn check(url: &str) -> Result<(), String> {
    // Loopback and grants are judged when the hook runs: grants belong to the host, not the file.
    let lenient = crate::services::egress::Grants {
        loopback: true,
        hosts: Vec::new(),
    };
    match check_url(url, &lenient) {
        Err(error) if !error.is_about_address() => Err(format!("can't {error}")),
        Ok(_) | Err(_) => Ok(()),
    }
}

impl Headers {
    /// Checks what was written; `inherit_env` names the variables that values may hold.
    pub(super) fn new(
        headers: &BTreeMap<String, String>,
        inherit_env: &[String],
    ) -> Result<Headers, Mistake> {
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
                    None => {
                        return Err(bad(format!(
                            "header `{name}` may hold only `${{env.NAME}}` placeholders"
                        )));
                    }
                }
            }
            compiled.push((header, template));
        }
        let variables = compiled.iter().flat_map(|(_, template)| template.paths());
        let values: Vec<String> = variables.filter_map(variable).collect();
        Ok(Headers {
            secrets: Secrets::new(values.iter().map(String::as_str)),
            headers: compiled,
        })
    }

    /// Why they can't be filled here.
    pub(super) fn obstacle(&self) -> Option<Obstacle> {
        let (name, variable) = self.unset()?;
        let message =
            format!("header `{name}` needs the variable `{variable}`, which isn't set here");
        Some(
            Obstacle::new("no-key", message)
                .at("headers")
                .help("set it where hookwire is started"),
        )
    }

    /// A header, and a variable in it that isn't set.
    fn unset(&self) -> Option<(&HeaderName, &str)> {
        let variables = self
            .headers
            .iter()
            .flat_map(|(name, value)| value.paths().map(move |path| (name, path)));
        let mut variables =
            variables.filter_map(|(name, path)| Some((name, path.strip_prefix("env.")?)));
        variables.find(|(_, variable)| std::env::var_os(variable).is_none())
    }

    /// The headers with their values, which no log shows.
    pub(super) fn fill(&self) -> Result<HeaderMap, HandlerError> {
        if let Some((name, missing)) = self.unset() {
            return Err(HandlerError(format!(
                "fill header `{name}`: the variable `{missing}` is not set"
            )));
        }
        let mut headers = HeaderMap::new();
        for (name, template) in &self.headers {
            let text = template.text(&|path| variable(path).map(Value::String));
            let mut value = HeaderValue::try_from(text).map_err(|_| {
                HandlerError(format!(
                    "fill header `{name}`: the value has characters that no header may have"
                ))
            })?;
            value.set_sensitive(true);
            headers.insert(name.clone(), value);
        }
        Ok(headers)
    }
}

/// What `env.NAME` stands for.
fn variable(path: &str) -> Option<String> {
    std::env::var(path.strip_prefix("env.")?).ok()
}
