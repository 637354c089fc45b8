//! Conditions that take time. An event's conditions are held where the event was read, as long as
//! that hardly takes time. Where a condition has to list a directory, to look into a script or at a
//! path that the kernel hasn't at hand, or the event is long, they are held on a thread apart,
//! which the event waits for as long as its deadline allows. Over it, what the conditions are about
//! counts as unread, and so every one of them is in doubt.

use super::clock;
use super::question::RunLimits;
use super::state::Engine;
use hookwire_handlers::handlers::Moment;
use hookwire_rules::matching::{Facts, patience};
use std::sync::Arc;
use std::time::Duration;

impl Engine {
    /// The longest that conditions may take where no event's deadline says so.
    pub const LONGEST: Duration = Duration::from_secs(5);

    /// Does work that may take time on a thread apart. `None`: it hasn't ended within that time.
    pub async fn aside<T: Send + 'static>(
        &self,
        within: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        tokio::time::timeout(within, self.services.aside.run(work))
            .await
            .ok()
            .flatten()
    }
}

/// Holds conditions against a moment, which becomes an unread one if that takes too long.
pub(super) async fn hold<T: Send + 'static>(
    engine: &Engine,
    limits: &RunLimits<'_>,
    moment: &mut Arc<Moment>,
    conditions: impl Fn(&Facts) -> T + Send + Sync + 'static,
) -> T {
    match patience::quickly(|| conditions(&moment.facts)) {
        Some(result) => result,
        // Boxed, or the state of the wait would be part of every event's future.
        None => Box::pin(hold_aside(engine, limits, moment, conditions)).await,
    }
}

/// Holds conditions that take long, on another thread.
async fn hold_aside<T: Send + 'static>(
    engine: &Engine,
    limits: &RunLimits<'_>,
    moment: &mut Arc<Moment>,
    conditions: impl Fn(&Facts) -> T + Send + Sync + 'static,
) -> T {
    // Hooks in doubt need some of the time to run.
    let deadline = limits.question.deadline.filter(|_| !engine.unhurried);
    let half = deadline.map(|deadline| deadline.saturating_duration_since(clock::now()) / 2);
    let within = half.map_or(Engine::LONGEST, |half| half.min(Engine::LONGEST));
    let conditions = Arc::new(conditions);
    let (theirs, there) = (conditions.clone(), moment.clone());
    let found = tokio::select! {
        found = engine.aside(within, move || theirs(&there.facts)) => found,
        () = limits.question.early_deadline.cancelled() => None,
    };
    found.unwrap_or_else(|| {
        tracing::warn!(event = %moment.event().name, event_id = %moment.event().id, "It takes too long to tell which hooks apply; they are in doubt.");
        // Another one, since a thread that hangs holds what it is deriving from this one.
        *moment = Arc::new(moment.unread("reading the call took too long"));
        conditions(&moment.facts)
    })
}
