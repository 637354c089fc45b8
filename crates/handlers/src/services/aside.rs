//! Threads apart, for work that takes time: a file system that hangs, a text that is long. Who
//! waits for it does so as long as it likes; the work learns by its [patience] when nobody waits
//! any more.

use hookwire_rules::matching::patience;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Semaphore;

/// Threads that such work may occupy: a file system that hangs keeps what asks it for good.
const MOST: usize = 32;

/// The threads of a host.
#[derive(Clone)]
pub struct Aside(Arc<Semaphore>);

impl Default for Aside {
    fn default() -> Aside {
        Aside(Arc::new(Semaphore::new(MOST)))
    }
}

/// Tells the thread that nobody waits any more.
struct GiveUp(Arc<AtomicBool>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Aside {
    /// Does work on a thread apart; once this is dropped, the work's patience is over. `None`: it
    /// has panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let given_up = Arc::new(AtomicBool::new(false));
        let _give_up = GiveUp(given_up.clone());
        // It is never closed.
        let permit = self.0.clone().acquire_owned().await.ok()?;
        let work = move || {
            let _permit = permit;
            patience::unless_given_up(&given_up, work)
        };
        tokio::task::spawn_blocking(work).await.ok()
    }
}
