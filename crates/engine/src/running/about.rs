//! What a running host says of itself: its program, its project, the definitions in force there.

use super::Running;
use crate::canaries::Canaries;
use crate::definitions::embedded::BUILT_IN;
use crate::journal::Recent;
use hookwire_base::support::program::Program;
use hookwire_base::syntax::source::Layer;
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::Result;
use std::path::PathBuf;

/// See the module.
pub struct About {
    /// Its version.
    pub version: String,
    /// The version of the protocol, if it says.
    pub protocol: Option<u64>,
    /// Its process.
    pub pid: u32,
    /// When it started: RFC 3339, in UTC.
    pub started: String,
    /// Who is connected beside who asks, each by its name; empty for one that hasn't said it.
    pub clients: Vec<String>,
    /// What of the definitions isn't in force, and why.
    pub not_in_force: Vec<String>,
    /// What became of the cases that are to be denied, once they were tried.
    pub canaries: Option<Canaries>,
    /// Its project.
    pub root: String,
    /// How many hooks are in force, without those of hookwire itself.
    pub n_hooks: usize,
    /// How many policies are in force; none if it is too old to say.
    pub n_policies: usize,
    /// Their generation.
    pub generation: u64,
    /// Their content hash.
    pub hash: String,
    /// Where they are read from: who vouches for it, and the path. Empty if it is too old to say.
    pub directories: Vec<(Layer, PathBuf)>,
    /// Its program, and what that was started with; empty if it is too old to say.
    pub program: Program,
}

impl Running {
    /// Asks a host what it is.
    ///
    /// # Errors
    /// It doesn't answer, or not as a host does.
    pub fn about(&mut self) -> Result<About> {
        #[derive(Deserialize)]
        struct Directory {
            layer: Layer,
            path: PathBuf,
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let is_written = |hook: &Value| hook["source"]["file"] != BUILT_IN;
        let hello = self
            .client
            .request("initialize", &json!({ "capabilities": {} }))?;
        let recent = self
            .client
            .request("hooks/recent", &json!({ "limit": 0 }))?
            .to_string();
        let recent: Recent<'_> = serde_json::from_str(&recent)?;
        let list = self.client.request("hooks/list", &json!({}))?;
        // Which event it is makes no difference.
        let explained = self
            .client
            .request("hooks/explain", &json!({ "event": "SessionStart" }))
            .unwrap_or_default();
        let said = ["broken", "notices"]
            .into_iter()
            .flat_map(|list| explained[list].as_array());
        let not_in_force = said.flatten().map(text).collect();
        let directories: Vec<Directory> =
            serde_json::from_value(list["directories"].clone()).unwrap_or_default();
        Ok(About {
            version: text(&hello["serverInfo"]["version"]),
            protocol: hello["protocolVersion"].as_u64(),
            pid: recent.pid,
            started: recent.started.into_owned(),
            clients: recent.clients.into_iter().map(Cow::into_owned).collect(),
            not_in_force,
            canaries: recent.canaries.map(Cow::into_owned),
            root: recent.root.into_owned(),
            n_hooks: list["hooks"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|it| is_written(it))
                .count(),
            n_policies: list["policies"].as_array().map_or(0, Vec::len),
            generation: recent.generation,
            hash: text(&list["hash"]),
            directories: directories
                .into_iter()
                .map(|it| (it.layer, it.path))
                .collect(),
            program: recent.program.map(Cow::into_owned).unwrap_or_default(),
        })
    }
}
