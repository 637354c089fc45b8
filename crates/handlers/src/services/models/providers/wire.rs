//! What the providers' files share: a row of their table, and the parts that their wires have in
//! common.

use super::super::text::clean;
use crate::services::conversation::{ModelReply, Request};
use serde_json::Value;

/// A provider of models: a row of [`PROVIDERS`](super::PROVIDERS).
#[derive(Debug)]
pub(in super::super) struct Provider {
    /// What stands before the colon of a model's name.
    pub(in super::super) name: &'static str,
    /// A model of it, for messages.
    pub(in super::super) example: &'static str,
    /// Where it is asked; the agent's own model is asked through the client instead.
    pub(in super::super) service: Option<Service>,
}

impl PartialEq for Provider {
    fn eq(&self, other: &Provider) -> bool {
        self.name == other.name
    }
}

/// A provider's service.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "models"),
    expect(dead_code, reason = "names are checked also where no model is asked")
)]
pub(in super::super) struct Service {
    pub(in super::super) base_url: &'static str,
    /// The environment variable that names another base URL, and how its value is read.
    pub(in super::super) base_url_variable: (&'static str, fn(&str) -> String),
    /// The environment variable that holds the key.
    pub(in super::super) key_variable: Option<&'static str>,
    /// The header of the key, and what stands before the key in it.
    pub(in super::super) key_header: (&'static str, &'static str),
    /// Headers that every request has.
    pub(in super::super) headers: &'static [(&'static str, &'static str)],
    /// The model's name stands in the path of the URL.
    pub(in super::super) is_name_in_path: bool,
    /// What is sent for a request.
    pub(in super::super) post: fn(&Asked<'_>) -> Post,
    /// Reads the reply: a whole one, or its pieces.
    pub(in super::super) read: fn(Vec<Value>) -> Result<ModelReply, String>,
}

/// A request to one model.
pub(in super::super) struct Asked<'a> {
    pub(in super::super) model: &'a str,
    pub(in super::super) request: &'a Request,
    pub(in super::super) max_tokens: u32,
    /// The reply is to come in pieces.
    pub(in super::super) stream: bool,
}

/// What a provider's wire has for a request.
#[cfg_attr(
    not(feature = "models"),
    expect(dead_code, reason = "names are checked also where no model is asked")
)]
pub(in super::super) struct Post {
    pub(in super::super) path: String,
    pub(in super::super) body: Value,
}

/// Whether a reply is complete, by the reason that the model stopped for.
pub(super) fn check_finish(
    reason: Option<&str>,
    fine: &[&str],
    cut: &[&str],
) -> Result<(), String> {
    match reason {
        Some(reason) if fine.contains(&reason) => Ok(()),
        Some(reason) if cut.contains(&reason) => Err(format!(
            "its reply was cut off at the limit of tokens (`{reason}`); raise `maxTokens`"
        )),
        Some(reason) => Err(format!(
            "it refused or was stopped (`{}`)",
            clean(reason, 60)
        )),
        None => Err("its reply ends in the middle".into()),
    }
}

/// The input of a call as it came in a text.
pub(super) fn parse_input(name: &str, text: &str) -> Result<Value, String> {
    match hookwire_base::support::json::parse(if text.trim().is_empty() { "{}" } else { text }) {
        Ok(input @ Value::Object(_)) => Ok(input),
        _ => Err(format!(
            "its call of `{}` has something else than a JSON object as input",
            clean(name, 60)
        )),
    }
}
