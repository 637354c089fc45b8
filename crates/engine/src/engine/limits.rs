//! The bounds of every run of an event.

use super::question::{HooksInForce, Question, Within};
use crate::hook::Hook;
use hookwire_handlers::services::client::Client;
use hookwire_rules::contract::Contract;
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The bounds of every run of an event.
pub(super) struct RunLimits<'a> {
    /// When hooks that haven't finished take their failure direction.
    pub deadline: Option<Instant>,
    /// When they take it before that time: see [`Question::early_deadline`].
    pub early_deadline: &'a CancellationToken,
    /// The client that sent the event.
    pub client: Option<&'a Arc<dyn Client>>,
    /// The hooks that judge what a hook itself is about to do.
    pub hooks: &'a HooksInForce,
    /// The vocabulary of the client.
    pub contract: &'static Contract,
    /// The hooks whose own act the event is.
    pub within: Within,
    /// The hooks of the event that take something out of what passes.
    pub redacting: &'a [Arc<Hook>],
}

impl<'a> RunLimits<'a> {
    /// For the hooks of an event.
    pub(super) fn of(question: &'a Question, within: Within, redacting: &'a [Arc<Hook>]) -> RunLimits<'a> {
        RunLimits {
            deadline: question.deadline,
            early_deadline: &question.early_deadline,
            client: question.client.as_ref(),
            hooks: &question.hooks,
            contract: question.contract,
            within,
            redacting,
        }
    }

    /// Returns when the event's time is over.
    pub(super) async fn wait_until_over(&self) {
        let deadline = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = deadline => {}
            () = self.early_deadline.cancelled() => {}
        }
    }
}
