//! The question that the engine is asked: one event, with the hooks that judge it, what its client
//! can do, and until when.

use super::clock;
use crate::hook::Hook;
use crate::hook_set::{HookSet, Selected};
use hookwire_base::event::Event;
use hookwire_handlers::services::client::Client;
use hookwire_rules::contract::{Contract, Honours};
use hookwire_rules::matching::Facts;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// One event to decide.
#[derive(Clone)]
pub struct Question {
    /// The event.
    pub event: Arc<Event>,
    /// When it has to be decided, if it says so: its `deadlineMs` from when it was read, less the
    /// time to answer.
    pub deadline: Option<Instant>,
    /// The hooks in force when it was read.
    pub hooks: HooksInForce,
    /// The vocabulary, and with it the composition, of the client.
    pub contract: &'static Contract,
    /// The decisions that the client can honour.
    pub honours: Honours,
    /// The client, if hooks may ask it something.
    pub client: Option<Arc<dyn Client>>,
    /// Cancelled when the event's time is over before its deadline, as at the end of the input:
    /// hooks that still run take their failure direction.
    pub early_deadline: CancellationToken,
}

/// The hooks that judge an event: one published set and what the connection registered.
#[derive(Clone)]
pub struct HooksInForce {
    /// From files.
    pub files: Arc<HookSet>,
    /// Registered over the wire.
    pub session: Option<Arc<HookSet>>,
}

/// When an event that is read now has to be decided, if it says so: it leaves the host the time to
/// answer before the client gives up.
pub fn deadline(event: &Event) -> Option<Instant> {
    let budget = Duration::from_millis(event.deadline_ms()?.min(24 * 3_600_000));
    let margin = (budget / 20).max(Duration::from_millis(20));
    Some(clock::now() + budget.saturating_sub(margin))
}

impl HooksInForce {
    /// The hooks that apply, outermost layer first.
    pub fn select(&self, facts: &Facts) -> Vec<Selected> {
        let mut selected = self.files.select(facts);
        if let Some(session) = &self.session {
            selected.extend(session.select(facts));
        }
        selected
    }

    /// Every hook, whether it applies or not.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Hook>> {
        self.files
            .hooks
            .iter()
            .chain(self.session.iter().flat_map(|set| &set.hooks))
    }
}

/// The hooks whose own act an event is.
#[derive(Clone, Copy)]
pub(super) struct Within {
    /// How many there are.
    pub depth: u8,
    /// One of them only observes, and so no person is asked about what it does.
    pub asks_nobody: bool,
}

impl Within {
    /// For what a hook does that runs at such an event.
    pub(super) fn acts_of(self, hook: &Hook) -> Within {
        Within {
            asks_nobody: self.asks_nobody || hook.observe,
            ..self
        }
    }
}

/// The bounds of every run of an event.
pub(super) struct RunLimits<'a> {
    /// The question that the runs are about.
    pub question: &'a Question,
    /// The hooks whose own act the event is.
    pub within: Within,
    /// The hooks of the event that take something out of what passes.
    pub redacting: &'a [Arc<Hook>],
}

impl RunLimits<'_> {
    /// Returns when the event's time is over.
    pub(super) async fn wait_until_over(&self) {
        let deadline = async {
            match self.question.deadline {
                Some(deadline) => clock::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = deadline => {}
            () = self.question.early_deadline.cancelled() => {}
        }
    }
}
