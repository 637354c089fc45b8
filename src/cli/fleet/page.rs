//! `hookwire inspect --fleet`: which fleet the page shows, and with whose key it answers.

use super::super::Failure;
use super::ServerArgs;
use super::key::PassphraseArgs;
use crate::inspector::{FleetSource, Source};
use hookwire_fleet::server::Server;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(in crate::cli) struct PageArgs {
    /// Show a fleet instead of this machine's hosts: a settings file, or servers as
    /// nats://HOST[,HOST].
    #[arg(long, value_name = "FILE|nats://HOST")]
    fleet: Option<String>,
    /// With --fleet: your private key, so that the page can answer questions. It stays in this
    /// process.
    #[arg(long, value_name = "FILE", requires = "fleet")]
    key: Option<PathBuf>,
    /// With --key: a file with the key's passphrase on its first line. Without it,
    /// HOOKWIRE_PASSPHRASE counts, else you are asked.
    #[arg(long, value_name = "FILE", requires = "key")]
    passphrase_file: Option<PathBuf>,
}

impl PageArgs {
    /// Reads settings and key, and gives what connects. That needs a tokio runtime, in which nobody
    /// may be asked for a passphrase: a signal couldn't end it meanwhile. Servers may be away: the
    /// page says so.
    pub(in crate::cli) fn open_source(
        &self,
    ) -> Result<impl FnOnce() -> Result<Source, Failure> + use<>, Failure> {
        let fleet = match &self.fleet {
            Some(given) => {
                let settings = ServerArgs {
                    fleet: Some(given.clone()),
                }
                .settings()?;
                let passphrase = PassphraseArgs {
                    passphrase_file: self.passphrase_file.clone(),
                };
                Some((
                    given.clone(),
                    settings,
                    passphrase.read_keys(self.key.as_slice())?.pop(),
                ))
            }
            None => None,
        };
        Ok(move || {
            let Some((given, settings, key)) = fleet else {
                return Ok(Source::Here);
            };
            let server = Server::connect_in_background(&settings.server);
            let server =
                server.map_err(|error| Failure(format!("{}: {error}", settings.place())))?;
            let followed = settings.definitions;
            Ok(Source::Fleet(Box::new(FleetSource {
                server,
                given,
                followed,
                key,
            })))
        })
    }
}
