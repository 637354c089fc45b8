//! The host tries the cases beside its definitions: once when it is ready, and again whenever other
//! definitions are in force or the cases themselves have changed.

use super::{Changed, Host, log};
use crate::canaries::{Tried, try_cases};
use crate::definitions::cases::{Looks, looks_of_cases};
use crate::definitions::layer_dir::{Kept, LayerDir};
use crate::definitions::load::Changes;
use crate::definitions::scan::is_about_trust;
use hookwire_base::syntax::diagnostic::Diagnostic;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// Whoever has just started a host, or saved several files, is answered first.
const PAUSE: Duration = Duration::from_millis(200);

/// What was tried last: a generation, and what the files of cases looked like.
type Key = (u64, Looks);

impl Host {
    /// Tries the [cases](crate::canaries) that are to be denied with the hooks in force now.
    pub async fn try_cases(&self) -> Tried {
        let tried = try_cases(&self.engine, &self.hooks(), &self.dirs(), || false).await;
        tried.unwrap_or_default()
    }

    /// Tries the cases that are to be denied from now on, in the background, and tells which aren't
    /// denied: as diagnostics, and in [`Changed`]. It ends with the host.
    pub fn follow_cases(self: &Arc<Host>, runtime: &Handle) {
        let (host, mut looks) = (Arc::downgrade(self), self.looks.subscribe());
        runtime.spawn(async move {
            let mut last = None;
            loop {
                tokio::time::sleep(PAUSE).await;
                looks.borrow_and_update();
                let Some(host) = host.upgrade() else { return };
                // Neither the readers nor the threads that judge are to wait for a trial.
                let trying = move || host.try_changed_cases(last);
                let Ok(tried) = tokio::task::spawn_blocking(trying).await else {
                    return tracing::error!("Cases are tried no more; this is a bug in hookwire.");
                };
                last = tried;
                if looks.changed().await.is_err() {
                    return;
                }
            }
        });
    }

    /// Tries the cases, unless that was done as they are.
    fn try_changed_cases(&self, last: Option<Key>) -> Option<Key> {
        let (hooks, dirs) = (self.hooks(), self.dirs());
        let key = (hooks.generation, looks_of_cases(&dirs));
        if last.as_ref() == Some(&key) {
            return last;
        }
        if !self.is_vouched_for(&dirs) {
            self.publish_tried(hooks.generation, Tried::default());
            return Some(key);
        }
        // A runtime of its own: the host's may end meanwhile, and doesn't wait for this.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => {
                tracing::warn!(%error, "The cases of the definitions can't be tried.");
                return last;
            }
        };
        let is_over = || self.hooks().generation != hooks.generation;
        let tried = runtime.block_on(try_cases(&self.engine, &hooks, &dirs, is_over));
        runtime.shutdown_background();
        if let Some(tried) = tried {
            self.publish_tried(hooks.generation, tried);
        }
        Some(key)
    }

    /// Whether somebody vouches for all definitions. An editor shows those that nobody has trusted
    /// as well, and their scripts are to run for nobody.
    fn is_vouched_for(&self, dirs: &[LayerDir]) -> bool {
        let is_compared = |dir: &LayerDir| matches!(dir.kept, Kept::Compared(_));
        !dirs.iter().any(is_compared) || !self.published().diagnostics.iter().any(is_about_trust)
    }

    /// Tells what a trial by this generation came to, unless another one is in force.
    fn publish_tried(&self, generation: u64, tried: Tried) {
        // As when definitions are loaded: news come in the order of the generations.
        let _loader = self.loader();
        let before = self.published();
        if before.hooks.generation != generation || before.tried.as_deref() == Some(&tried) {
            return;
        }
        let is_told = |tried: &Tried| !tried.diagnostics.is_empty();
        let is_news = is_told(&tried) || before.tried.as_deref().is_some_and(is_told);
        let is_known = |new: &Diagnostic| before.diagnostics.iter().any(|old| old == new);
        tried
            .diagnostics
            .iter()
            .filter(|new| !is_known(new))
            .for_each(|new| log(new));
        let published = before.with_tried(Some(tried.into()));
        let changed = Changed::new(&published, Changes::default());
        self.published.send_replace(published);
        if is_news {
            let _ = self.changes.send(changed);
        }
    }
}
