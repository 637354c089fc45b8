//! What a case is, as it is written: one a line.

use crate::strict;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One conversation.
#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Case {
    /// Its file's name.
    #[serde(skip)]
    pub(crate) topic: String,
    pub(crate) name: String,
    /// What is promised, in a sentence.
    pub(crate) about: String,
    /// Messages are behind `Content-Length` headers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) headers: bool,
    /// For a host: the handlers and dialects without which it can't be tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) needs: Vec<String>,
    /// For a host: the definition files that it starts with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) files: BTreeMap<String, String>,
    /// For a client: how it is set up. The client's program reads it as its first line.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) settings: Map<String, Value>,
    /// For a client: members of the reply to `initialize` that are not as usual.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) initialize: Map<String, Value>,
    pub(crate) steps: Vec<Step>,
}

/// Texts that are `$` and a name stand for what they met first; `$any` is anything, `$absent` a
/// member that isn't there, `$long` a text of a million letters.
#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Step {
    /// A message for the side that is tried. `jsonrpc` need not be written.
    Send(Value),
    /// A text as it is, with its line end.
    Raw(String),
    /// A message from that side: the reply with this id, or the request or notification of this
    /// name. Others may come before it. Only the members that are written are compared.
    Expect(Value),
    /// Writes or, if it is null, removes a definition file.
    Write(BTreeMap<String, Option<String>>),
    /// For a client: waits until it has started a host.
    Start,
    /// The input of the host ends; for a client, its host is dead.
    Close,
    /// The host has ended, with this exit code.
    Exit(i32),
    /// For a client: a line for its program.
    Do(Value),
    /// For a client: a line of its program. Others may come before it.
    Told(Value),
}

impl Case {
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.topic, self.name)
    }
}

/// The cases of one file. Empty lines are passed over.
pub(crate) fn read_cases(topic: &str, text: &str) -> Result<Vec<Case>, String> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| {
            let case = strict::parse(line).and_then(serde_json::from_value::<Case>);
            let case =
                case.map_err(|error| format!("line {} of {topic} is no case: {error}", n + 1))?;
            Ok(Case {
                topic: topic.into(),
                ..case
            })
        })
        .collect()
}
