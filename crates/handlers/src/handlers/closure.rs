//! `closure`: a hook in the program that embeds the host. It can't be written in a file.

use super::call::Call;
use super::error::HandlerError;
use crate::services::emit::{AgentEvent, EventSender};
use crate::services::state::{Scope, StateError, Store};
use hookwire_base::event::Event;
use hookwire_base::verdict::Answer;
use serde_json::Value;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// The event, as a closure is asked about it. Everything of [`Event`] is there.
#[derive(Clone)]
pub struct HookEvent {
    event: Arc<Event>,
    store: Store,
    events: EventSender,
    ended: CancellationToken,
}

impl std::fmt::Debug for HookEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookEvent")
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}

impl Deref for HookEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}

impl HookEvent {
    /// Returns when the answer isn't waited for any more: it is given, out of time or no longer
    /// wanted. The closure's own future is dropped then; this is for what it has spawned.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.ended.cancelled()
    }

    /// A value that hooks keep for the event's session; files' hooks see the same.
    pub fn state(&self, key: &str) -> Option<Value> {
        self.store.get(&self.scope(), key)
    }

    /// Sets such a value.
    ///
    /// # Errors
    /// The key or the value is too large, or the store is full.
    pub fn set_state(&self, key: &str, value: Value) -> Result<(), StateError> {
        self.store.set(&self.scope(), key, value, None)
    }

    /// The values that hooks share.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Sends what `event` makes to those that listen with `Host::events`. Without a listener it
    /// isn't called at all.
    pub fn emit(&self, event: impl FnOnce() -> AgentEvent) {
        self.events.emit(event);
    }

    pub fn events(&self) -> &EventSender {
        &self.events
    }

    fn scope(&self) -> Scope {
        Scope::of(Some(self.event.session()))
    }
}

/// Why a hook gives no answer, for people: it finishes the sentence "failed to ...". Any error that
/// other threads may have, a boxed one or a text becomes one with `?`, the texts of its sources
/// with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookError(String);

impl HookError {
    /// An error with this text, such as `reach the policy service`.
    pub fn new(text: impl Into<String>) -> HookError {
        HookError(text.into())
    }
}

impl std::fmt::Display for HookError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for HookError {
    fn from(error: E) -> HookError {
        let error = error.into();
        let mut text = format!("run: {error}");
        let mut source = error.source();
        // Bounded, since whose sources go round in a circle is not ours to say.
        for _ in 0..16 {
            let Some(of) = source else { break };
            let cause = of.to_string();
            // Many an error says its source's text itself.
            if !text.contains(&cause) {
                text.push_str(": ");
                text.push_str(&cause);
            }
            source = of.source();
        }
        HookError(text)
    }
}

/// What a closure may give: an [`Answer`], `()` for no opinion, or a `Result` of either. An error
/// counts in the hook's failure direction.
pub trait IntoAnswer {
    /// The answer, or why there is none.
    ///
    /// # Errors
    /// The hook failed.
    fn into_answer(self) -> Result<Answer, HookError>;
}

impl IntoAnswer for Answer {
    fn into_answer(self) -> Result<Answer, HookError> {
        Ok(self)
    }
}

impl IntoAnswer for () {
    fn into_answer(self) -> Result<Answer, HookError> {
        Ok(Answer::default())
    }
}

impl<T: IntoAnswer, E: Into<HookError>> IntoAnswer for Result<T, E> {
    fn into_answer(self) -> Result<Answer, HookError> {
        self.map_err(Into::into)?.into_answer()
    }
}

tokio::task_local! {
    /// How many hooks' own acts a closure runs within: what it dispatches is one more.
    static WITHIN: u8;
}

/// How many closures the present task runs within.
pub fn depth() -> u8 {
    WITHIN.try_with(|depth| *depth).unwrap_or(0)
}

type Running = Pin<Box<dyn Future<Output = Result<Answer, HookError>> + Send>>;

/// A closure that answers events.
pub struct Closure(Box<dyn Fn(HookEvent) -> Running + Send + Sync>);

impl std::fmt::Debug for Closure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Closure")
    }
}

impl Closure {
    pub fn new<F, R>(run: F) -> Closure
    where
        F: Fn(HookEvent) -> R + Send + Sync + 'static,
        R: Future<Output: IntoAnswer> + Send + 'static,
    {
        Closure(Box::new(move |event| {
            let running = run(event);
            Box::pin(async move { running.await.into_answer() })
        }))
    }

    pub(super) async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let ended = CancellationToken::new();
        let _ended = ended.clone().drop_guard();
        let (store, events) = (call.services.state.clone(), call.services.events.clone());
        let event = HookEvent {
            event: call.moment.event().clone(),
            store,
            events,
            ended,
        };
        let within = call.judge.depth().saturating_add(1);
        WITHIN
            .scope(within, (self.0)(event))
            .await
            .map_err(|HookError(text)| HandlerError(text))
    }
}
