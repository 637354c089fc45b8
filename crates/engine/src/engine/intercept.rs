//! Interceptors judge events: the engine is one, and a host can be given another in its place.
//!
//! (instructor: `CanInterceptAgentLifecycle`, with the hook stack and the pass-through as its own
//! two.)

use super::decide;
use super::question::{HooksInForce, Question};
use super::state::Engine;
use hookwire_base::verdict::{Decision, Verdict};
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// A verdict to come. Dropping it cancels the judging.
pub type Judging<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// Judges every event of a host.
pub trait Interceptor: Send + Sync {
    /// Judges one event. Never fails: what goes wrong is in the verdict.
    fn intercept(&self, question: Question) -> Judging<'_>;

    /// Whether no event is judged at all; people who expect hooks to run are warned then.
    fn is_pass_through(&self) -> bool {
        false
    }
}

impl Interceptor for Engine {
    fn intercept(&self, question: Question) -> Judging<'_> {
        // Boxed apart from the caller's own future: blocks over a kilobyte are the allocator's slow
        // way.
        Box::pin(decide(self, question))
    }
}

impl Question {
    /// An interceptor's own verdict: it only decides, and no hook has run.
    ///
    /// ```
    /// # use hookwire_engine::face as hookwire;
    /// use hookwire::{Decision, Interceptor, Judging, Question};
    ///
    /// struct Closed;
    /// impl Interceptor for Closed {
    ///     fn intercept(&self, question: Question) -> Judging<'_> {
    ///         let verdict = question.without_hooks(Decision::Deny, Some("We are closed.".into()));
    ///         Box::pin(std::future::ready(verdict))
    ///     }
    /// }
    /// ```
    pub fn without_hooks(&self, decision: Decision, reason: Option<String>) -> Verdict {
        let HooksInForce { files, session } = &self.hooks;
        let session_generation = session.as_ref().map(|set| set.generation);
        let silent = Verdict::silent(
            decision,
            files.generation,
            files.hash.clone(),
            self.event.id.clone(),
        );
        Verdict {
            reason,
            session_generation,
            ..silent
        }
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("event", &self.event)
            .field("hooks", &self.hooks)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HooksInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let session = self.session.as_ref().map(|set| set.generation);
        let mut debug = f.debug_struct("HooksInForce");
        debug
            .field("files", &self.files.generation)
            .field("session", &session)
            .finish_non_exhaustive()
    }
}

/// Allows every event; no hook runs.
#[derive(Clone, Copy, Debug)]
pub struct PassThrough;

impl Interceptor for PassThrough {
    fn intercept(&self, question: Question) -> Judging<'_> {
        let verdict = question.without_hooks(Decision::Allow, None);
        Box::pin(std::future::ready(verdict))
    }

    fn is_pass_through(&self) -> bool {
        true
    }
}
