//! How a host joins its fleet.

use super::super::Failure;
use super::cases::try_cases;
use hookwire_engine::definitions::signed::Signed;
use hookwire_engine::fleet::Member;
use hookwire_engine::fleet::acts::Acts;
use hookwire_engine::fleet::definitions::{self, Followed};
use hookwire_engine::fleet::settings::Settings;
use hookwire_engine::host::{Host, HostOptions};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::{Handle, Runtime};

/// A host's way into a fleet, if there is one for it.
#[derive(Default)]
pub(in crate::cli) struct Joining(Option<(Arc<Member>, Option<Followed>)>);

impl Joining {
    /// Verifies what was published earlier and begins to connect, before the host reads its
    /// definitions.
    pub(in crate::cli) fn begin(
        given: Option<&str>,
        system: bool,
        root: &Path,
        runtime: &Runtime,
    ) -> Result<Joining, Failure> {
        let Some(settings) = Settings::find(given, system).map_err(Failure)? else {
            return Ok(Joining(None));
        };
        let mut followed = Followed::open(&settings, try_cases).map_err(Failure)?;
        if followed.is_none() {
            tracing::info!(
                "{}: no key is pinned, so no published definitions are followed.",
                settings.place()
            );
        }
        let member = {
            let _guard = runtime.enter();
            Member::join(settings, root).map_err(Failure)?
        };
        if let Some(followed) = &mut followed {
            runtime.block_on(followed.first_look(&member));
        }
        Ok(Joining(Some((Arc::new(member), followed))))
    }

    /// The host's part in the fleet.
    pub(super) fn member(&self) -> Option<&Arc<Member>> {
        self.0.as_ref().map(|(member, _)| member)
    }

    /// The options of a host that has joined.
    pub(in crate::cli) fn options(&self, options: HostOptions) -> HostOptions {
        let signed = self
            .0
            .as_ref()
            .and_then(|(_, followed)| Some(followed.as_ref()?.signed.clone()));
        HostOptions {
            fleet: signed,
            ..options
        }
    }

    /// Follows and reports from now on; verdicts, counts and questions go to the servers.
    ///
    /// # Errors
    /// Nothing can be kept for it on this machine.
    pub(in crate::cli) fn follow_channel(
        self,
        host: &Arc<Host>,
        runtime: &Runtime,
    ) -> Result<Joined, Failure> {
        let Some((member, followed)) = self.0 else {
            return Ok(Joined(None));
        };
        let acts = Acts::start(host, runtime.handle(), &member);
        let acts =
            acts.map_err(|problem| Failure(format!("{}: {problem}", member.settings.place())))?;
        let joined = Joined(Some((Arc::new(acts), runtime.handle().clone())));
        runtime.spawn(definitions::follow(Arc::downgrade(host), member, followed));
        Ok(joined)
    }
}

/// A host's part in a fleet, to be finished before the process ends.
#[derive(Clone, Default)]
pub(in crate::cli) struct Joined(Option<(Arc<Acts>, Handle)>);

impl Joined {
    /// Keeps or sends what is left. Blocks for a moment; not to be called on the runtime.
    pub(in crate::cli) fn finish(&self) {
        if let Some((acts, runtime)) = &self.0 {
            runtime.block_on(acts.finish());
        }
    }
}

/// What was published and is in force on this machine, verified, for a command that joins nothing.
pub(in crate::cli) fn find_published(
    given: Option<&str>,
    system: bool,
) -> Result<Option<Signed>, Failure> {
    let Some(settings) = Settings::find(given, system).map_err(Failure)? else {
        return Ok(None);
    };
    let followed = Followed::open(&settings, try_cases).map_err(Failure)?;
    Ok(followed.map(|followed| followed.signed))
}
