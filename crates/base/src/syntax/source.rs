//! Where a definition came from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where a definition came from, outermost first. Inner layers may add and tighten.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// `/etc/hookwire/`.
    Managed,
    /// What a team has published to its fleet.
    Fleet,
    /// `$XDG_CONFIG_HOME/hookwire/`.
    User,
    /// A directory given with `--hooks`, or the program that embeds the host.
    Hooks,
    /// `<root>/.hookwire/`.
    Project,
    /// Registered over the wire.
    Session,
}

impl Layer {
    /// Whether hooks of the layer may do what could harm the machine. A project directory is not
    /// trusted, because it comes with a clone.
    pub fn is_trusted(self) -> bool {
        match self {
            Layer::Managed | Layer::Fleet | Layer::User | Layer::Hooks => true,
            Layer::Project | Layer::Session => false,
        }
    }

    /// Whether requests of the layer reach loopback services without being granted that. Who signs
    /// for a fleet knows nothing of what listens on each machine of it.
    pub fn reaches_loopback(self) -> bool {
        self.is_trusted() && self != Layer::Fleet
    }
}

/// Where a hook is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// The layer.
    pub layer: Layer,
    /// The file, `session` for a hook registered over the wire, or `program` for one of the program
    /// that embeds the host.
    pub file: Arc<str>,
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// The hook's place in its file, counted from 0.
    pub position: usize,
}
