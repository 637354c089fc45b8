//! What a host shares with others by the servers of a fleet.
//!
//! `hookwire_fleet` knows the servers and what is on them, as bytes; here they become definitions.
//! Nothing of this is started, and no server is spoken to, unless the machine's or user's
//! `fleet.conf` or `--fleet` names one.

pub mod acts;
pub mod asked;
mod asks;
pub mod definitions;
mod instance;
mod judged;
pub mod settings;
pub mod standing;
pub mod stream;
mod verdicts;

use hookwire_fleet::hosts::{self, Report};
use hookwire_fleet::name::Identity;
use hookwire_fleet::server::{Server, ServerError};
use hookwire_fleet::verdicts::Progress;
use instance::Instance;
use judged::{Known, Tally};
use settings::Settings;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A host's part in a fleet: the connection, and who it is there. The connection may be away.
#[derive(Debug)]
pub struct Member {
    /// As they were read.
    pub settings: Settings,
    /// The connection.
    pub server: Server,
    /// What it has judged by the last bundles.
    tally: Arc<Tally>,
    /// The last bundles.
    known: Arc<Known>,
    /// How far its verdicts are on their way.
    sending: std::sync::OnceLock<tokio::sync::watch::Receiver<Progress>>,
    instance: Instance,
    /// Locked while something is said.
    reported: tokio::sync::Mutex<Reported>,
}

/// What a host has said of itself.
#[derive(Debug, Default)]
struct Reported {
    last: Report,
    has_ended: bool,
}

impl Member {
    /// Begins to connect, in the background. Needs a tokio runtime.
    ///
    /// # Errors
    /// The settings can't be used, or nothing can be kept for this host; for people.
    pub fn join(settings: Settings, root: &Path) -> Result<Member, String> {
        let at = |problem: String| format!("{}: {problem}", settings.place());
        let server = Server::connect_in_background(&settings.server)
            .map_err(|error| at(error.to_string()))?;
        let instance = Instance::of_host(server.host().clone(), root)?;
        let (tally, known, sending, reported) = Default::default();
        Ok(Member {
            settings,
            server,
            tally,
            known,
            sending,
            instance,
            reported,
        })
    }

    /// How many of its verdicts are lost.
    fn lost(&self) -> u64 {
        self.sending.get().map_or(0, |it| it.borrow().lost)
    }

    /// Tells the fleet how this host is, unless it has told its end.
    async fn report(&self, report: Report) -> Result<(), ServerError> {
        let mut reported = self.reported.lock().await;
        if reported.has_ended {
            return Ok(());
        }
        reported.last = report.clone();
        hosts::put_report(&self.server, self.who(), report).await
    }

    /// Tells the fleet that this host ends as it should: nobody has to look for it.
    async fn tell_end(&self, within: Duration) {
        if self.server.usable().is_err() {
            return;
        }
        let told = async {
            let mut reported = self.reported.lock().await;
            reported.has_ended = true;
            let report = Report {
                ended: true,
                lost: self.lost(),
                ..reported.last.clone()
            };
            hosts::put_report(&self.server, self.who(), report).await
        };
        if !matches!(tokio::time::timeout(within, told).await, Ok(Ok(()))) {
            tracing::info!("The fleet doesn't know that this host ends.");
        }
    }

    /// Who the host is.
    pub fn who(&self) -> &Identity {
        self.instance.who()
    }
}

/// Where what is kept of fleets is.
pub fn data() -> Result<PathBuf, String> {
    let data = hookwire_base::support::places::data();
    data.map(|it| it.join("fleet"))
        .ok_or_else(|| "you have no home directory to keep it in".into())
}
