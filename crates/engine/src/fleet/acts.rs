//! What a host of a fleet does on the bus beside following definitions: its verdicts go to one
//! stream, its guards count with those of all hosts, its questions can be answered from anywhere.

use super::Member;
use super::asks::Asks;
use super::judged::ByBundle;
use super::settings::Approving;
use super::verdicts::Verdicts;
use crate::host::Host;
use hookwire_base::support::{digest, file, places};
use hookwire_base::syntax::source::Layer;
use hookwire_fleet::asks::Asker;
use hookwire_fleet::key::{PublicKey, describe_file};
use hookwire_fleet::server::check_private;
use hookwire_handlers::services::fleet::FleetCounts;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// How often idle leases of budgets are looked for.
const LOOK: Duration = Duration::from_secs(15);
/// How long the end of a host may wait for the servers, for its last verdicts and for its leases.
const MOMENT: Duration = Duration::from_secs(1);
/// The files of a directory that are looked at for keys.
const MAX_LOOKED: usize = 1000;

/// What runs for a host that is in a fleet.
pub struct Acts {
    member: Arc<Member>,
    verdicts: Verdicts,
    counts: FleetCounts,
}

impl Acts {
    /// Begins all of it.
    ///
    /// # Errors
    /// Verdicts can't be spooled, or the address of the chat can't be read; for people.
    pub fn start(host: &Arc<Host>, runtime: &Handle, member: &Arc<Member>) -> Result<Acts, String> {
        let (services, server) = (&host.engine.services, &member.server);
        let counts = services.fleet.clone();
        counts.join(server).map_err(|error| error.to_string())?;
        let spools = spools(member)?;
        let by_bundle = ByBundle {
            sets: host.published_sets.clone(),
            known: member.known.clone(),
            tally: member.tally.clone(),
        };
        let verdicts = Verdicts::start(host, runtime, server, spools.clone(), by_bundle);
        let verdicts = verdicts.map_err(|error| format!("{}: {error}", spools.display()))?;
        // Nobody else sets it.
        let _ = member.sending.set(verdicts.progress());
        let giving = counts.clone();
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                giving.give_back(false, LOOK).await;
            }
        });
        if let Some(Approving {
            approvers,
            webhook_file,
        }) = &member.settings.approvals
        {
            let asker = Asker::new(
                server.clone(),
                member.who().instance.clone(),
                approvers.values().copied(),
                &own_keys(),
            );
            match asker {
                Ok(asker) => {
                    let named = approvers.iter().map(|(name, key)| (name.clone(), *key));
                    let egress = services.egress(Layer::Managed);
                    let webhook = webhook_file.as_deref().map(address).transpose()?;
                    let webhook = webhook.map(|url| (url, egress.clone()));
                    let project = services.root.to_string_lossy().into_owned();
                    let asks = Asks::new(asker, server.host().clone(), named, webhook, project);
                    runtime.spawn(asks.run(services.approvals.clone()));
                }
                Err(error) => {
                    tracing::error!(%error, "Questions don't go to the fleet: approvers' keys that are on this machine count for nothing.")
                }
            }
        }
        Ok(Acts {
            member: member.clone(),
            verdicts,
            counts,
        })
    }

    /// Spools what was judged last, gives back what is left of budgets, and gives the servers a
    /// moment for both.
    pub async fn finish(&self) {
        tokio::join!(
            self.verdicts.finish(MOMENT),
            self.counts.give_back(true, MOMENT),
            self.member.tell_end(MOMENT)
        );
    }
}

/// Where the verdicts of this user's hosts wait for the servers of a fleet. Each host has a spool
/// of its own there, and sends what those have left that have ended.
fn spools(member: &Member) -> Result<PathBuf, String> {
    let mut servers = member.settings.server.servers.clone();
    servers.sort();
    let digest = digest::hex(&digest::of_texts(&[
        &servers.join(" "),
        member.server.host().as_str(),
    ]));
    Ok(super::data()?
        .join("spools")
        .join(digest.chars().take(12).collect::<String>()))
}

/// The address that a file holds on its first line.
fn address(path: &Path) -> Result<String, String> {
    check_private(path).map_err(|error| error.to_string())?;
    let (text, _) = file::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.lines().next().unwrap_or_default().trim().to_string())
}

/// The public keys of private ones that lie beside this machine's settings: an agent runs as the
/// host's user and could sign with them.
fn own_keys() -> Vec<PublicKey> {
    let dirs = places::user_dirs()
        .iter()
        .cloned()
        .chain([PathBuf::from(places::MACHINE)])
        .chain(places::data());
    let entries = dirs.flat_map(|dir| {
        std::fs::read_dir(dir)
            .into_iter()
            .flatten()
            .flatten()
            .take(MAX_LOOKED)
    });
    let paths = entries
        .map(|it| it.path())
        .filter(|it| it.extension().is_some_and(|it| it == "key") && it.is_file());
    paths
        .filter_map(|path| Some(describe_file(&path).ok()?.0))
        .collect()
}
