//! What a host shares with others by the servers of a fleet.
//!
//! `hookwire_fleet` knows the servers and what is on them, as bytes; here they become definitions. Nothing of this is
//! started, and no server is spoken to, unless the machine's or user's `fleet.conf` or `--fleet` names one.

pub(crate) mod acts;
pub(crate) mod asked;
mod asks;
pub(crate) mod definitions;
mod instance;
mod judged;
pub(crate) mod settings;
pub(crate) mod standing;
pub(crate) mod stream;
mod verdicts;

use hookwire_fleet::name::Identity;
use hookwire_fleet::server::Server;
use instance::Instance;
use judged::Tally;
use settings::Settings;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A host's part in a fleet: the connection, and who it is there. The connection may be away.
#[derive(Debug)]
pub(crate) struct Member {
    /// As they were read.
    pub(crate) settings: Settings,
    /// The connection.
    pub(crate) server: Server,
    /// What it has judged by the last bundles.
    tally: Arc<Tally>,
    instance: Instance,
}

impl Member {
    /// Begins to connect, in the background. Needs a tokio runtime.
    ///
    /// # Errors
    /// The settings can't be used, or nothing can be kept for this host; for people.
    pub(crate) fn join(settings: Settings, root: &Path) -> Result<Member, String> {
        let at = |problem: String| format!("{}: {problem}", settings.place());
        let server = Server::start(&settings.server).map_err(|error| at(error.to_string()))?;
        let instance = Instance::of_host(server.host().clone(), root)?;
        Ok(Member { settings, server, tally: Arc::default(), instance })
    }

    /// Who the host is.
    pub(crate) fn who(&self) -> &Identity {
        self.instance.who()
    }
}

/// Where what is kept of fleets is.
pub(crate) fn data() -> Result<PathBuf, String> {
    let data = crate::support::places::data();
    data.map(|it| it.join("fleet")).ok_or_else(|| "you have no home directory to keep it in".into())
}
