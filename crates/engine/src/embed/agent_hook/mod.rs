//! The AgentHook trait: hooks over the life of an agent's session, turn, model calls and tools, as
//! Rust code.
//!
//! A [`HookChain`] runs them, and the hooks of definition files with them: each method is an event
//! of hookwire, judged by the one engine. Lower priority runs first; whatever comes after
//! (`post_*`, `on_*`) runs in reverse. What each [`HookAction`] does is said there.
//!
//! ```
//! # use hookwire_engine::face as hookwire;
//! use hookwire::agent_hook::{AgentHook, HookAction, HookChain, HookContext, HookResult, TurnInput};
//!
//! struct InputGuardrail;
//!
//! #[hookwire::async_trait]
//! impl AgentHook for InputGuardrail {
//!     fn name(&self) -> &str {
//!         "input-guardrail"
//!     }
//!
//!     fn priority(&self) -> u32 {
//!         10
//!     }
//!
//!     async fn pre_turn(&self, input: &TurnInput, _: &HookContext) -> HookResult<HookAction<TurnInput>> {
//!         if input.message.contains("password") {
//!             return Ok(HookAction::Reject("Message blocked by content policy".into()));
//!         }
//!         Ok(HookAction::Continue)
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let chain = HookChain::new().with(InputGuardrail);
//! let ctx = chain.context("session-1");
//! let refused = chain.run_pre_turn(TurnInput { message: "my password is".into() }, &ctx).await.unwrap_err();
//! assert_eq!(refused.to_string(), "aborted by hook `input-guardrail`: Message blocked by content policy");
//! # }
//! ```

mod chain;
mod context;
mod types;

pub use chain::{ChainError, Granted, HookChain};
pub use context::AgentContext;
pub use hookwire_handlers::handlers::HookError;
pub use hookwire_handlers::services::emit::{AgentEvent, EventSender};
pub use types::{
    AgentError, ChatMessage, CompactionHint, DispatchResult, ExecutionGrant, LlmCallInput,
    LlmResponse, ProviderError, RetryDecision, TokenBudget, ToolMeta, TurnInput, TurnOutput, Usage,
};

use async_trait::async_trait;
use hookwire_handlers::services::state::{Scope, StateError, Store};
use serde_json::Value;
use std::time::Duration;

/// The result of a hook's method. An error is not a "no": it counts by [`AgentHook::fail_open`].
pub type HookResult<T> = Result<T, HookError>;

/// How a hook wants to treat the value that it was asked about.
#[derive(Clone, Debug, PartialEq)]
pub enum HookAction<T> {
    /// Pass through to the next hook.
    Continue,
    /// Replace the value; the next hook sees this one.
    Transform(T),
    /// Abort the operation, for this reason; the remaining hooks don't run.
    Reject(String),
    /// Replace the value and use it as it is; the remaining hooks don't run.
    Replace(T),
}

/// Hooks over an agent's life. Every method does nothing unless it is written; an implementation is
/// written under `#[hookwire::async_trait]`.
#[async_trait]
#[allow(unused_variables, reason = "the names are documentation")]
pub trait AgentHook: Send + Sync {
    /// Names it in errors, verdicts and logs.
    fn name(&self) -> &str;

    /// Lower runs first. Equal ones run in the order in which they were added.
    fn priority(&self) -> u32 {
        100
    }

    /// How an error counts. `true`: it is logged, and the chain goes on with the value as it was.
    /// `false`: the operation is aborted. A `Reject` always aborts.
    fn fail_open(&self) -> bool {
        true
    }

    /// How long one call may take before it counts as an error: long enough for a person to answer.
    /// (The design knows no time limit.)
    fn timeout(&self) -> Duration {
        Duration::from_secs(300)
    }

    /// A session begins. An error aborts it if the hook doesn't fail open.
    async fn on_session_start(&self, ctx: &HookContext) -> HookResult<()> {
        Ok(())
    }

    /// A session is over.
    async fn on_session_end(&self, ctx: &HookContext) -> HookResult<()> {
        Ok(())
    }

    /// Before a turn.
    async fn pre_turn(
        &self,
        input: &TurnInput,
        ctx: &HookContext,
    ) -> HookResult<HookAction<TurnInput>> {
        Ok(HookAction::Continue)
    }

    /// After a turn.
    async fn post_turn(
        &self,
        input: &TurnInput,
        output: &TurnOutput,
        ctx: &HookContext,
    ) -> HookResult<HookAction<TurnOutput>> {
        Ok(HookAction::Continue)
    }

    /// A turn failed; an output recovers it.
    async fn on_turn_error(
        &self,
        input: &TurnInput,
        error: &AgentError,
        ctx: &HookContext,
    ) -> HookResult<HookAction<TurnOutput>> {
        Ok(HookAction::Continue)
    }

    /// Before a model call.
    async fn pre_llm_call(
        &self,
        messages: &[ChatMessage],
        tools: &[ToolMeta],
        ctx: &HookContext,
    ) -> HookResult<HookAction<LlmCallInput>> {
        Ok(HookAction::Continue)
    }

    /// After a model call.
    async fn post_llm_call(
        &self,
        response: &LlmResponse,
        ctx: &HookContext,
    ) -> HookResult<HookAction<LlmResponse>> {
        Ok(HookAction::Continue)
    }

    /// A model call failed, for the `attempt`th time.
    async fn on_llm_error(
        &self,
        error: &ProviderError,
        attempt: usize,
        ctx: &HookContext,
    ) -> HookResult<HookAction<RetryDecision>> {
        Ok(HookAction::Continue)
    }

    /// Before a tool runs, after the policy. `Replace` replaces its arguments: the tool still runs.
    async fn pre_tool_call(
        &self,
        tool_name: &str,
        args: &Value,
        grant: &ExecutionGrant,
        ctx: &HookContext,
    ) -> HookResult<HookAction<Value>> {
        Ok(HookAction::Continue)
    }

    /// After a tool ran. A result in place of an error recovers the call.
    async fn post_tool_call(
        &self,
        tool_name: &str,
        args: &Value,
        result: &Result<DispatchResult, String>,
        elapsed: Duration,
        ctx: &HookContext,
    ) -> HookResult<HookAction<DispatchResult>> {
        Ok(HookAction::Continue)
    }

    /// Before the conversation is compacted.
    async fn pre_compaction(
        &self,
        messages: &[ChatMessage],
        budget: &TokenBudget,
        ctx: &HookContext,
    ) -> HookResult<HookAction<CompactionHint>> {
        Ok(HookAction::Continue)
    }

    /// After the conversation was compacted.
    async fn post_compaction(
        &self,
        removed_count: usize,
        summary: &str,
        ctx: &HookContext,
    ) -> HookResult<()> {
        Ok(())
    }
}

/// Where an agent is, and what its hooks share. [`HookChain::context`] makes one.
#[derive(Clone, Debug, Default)]
pub struct HookContext {
    /// The session.
    pub session_id: String,
    /// The turn within the session.
    pub turn_number: usize,
    /// The step within the turn.
    pub step_number: usize,
    /// The kind of agent loop.
    pub core_type: String,
    /// Events for those who listen.
    pub events: EventSender,
    /// The values that the hooks of a session share.
    pub state: HookState,
}

/// The values that the hooks of a session share, by key. Clones share them too.
///
/// That of a chain's context is the session's part of hookwire's own store, so that files' hooks
/// and `hookwire state` see the same values.
#[derive(Clone, Debug)]
pub struct HookState {
    store: Store,
    scope: Scope,
}

impl Default for HookState {
    /// A state of its own.
    fn default() -> HookState {
        HookState::in_session(Store::default(), "")
    }
}

impl HookState {
    fn in_session(store: Store, session: &str) -> HookState {
        HookState {
            store,
            scope: Scope::of(Some(session)),
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.store.get(&self.scope, key)
    }

    /// Sets a value. In a full store the session that was changed longest ago is forgotten to make
    /// room. A value that can't be kept (over 256 KiB, or no other session is left to be forgotten)
    /// isn't, which is logged; [`HookState::update`] tells.
    pub fn set(&self, key: &str, value: Value) {
        if let Err(error) = self.store.set(&self.scope, key, value, None) {
            tracing::warn!(%error, "A hook's state was not kept.");
        }
    }

    /// Removes a value; says whether there was one.
    pub fn remove(&self, key: &str) -> bool {
        self.store.delete(&self.scope, key)
    }

    /// Replaces a value by what is made of it, in one step, so that no other change comes between.
    ///
    /// `change` runs while the store is locked: it must not block, and a call of this state
    /// within it would wait for itself for ever.
    ///
    /// # Errors
    /// The key or the value is too large, or the store is full.
    pub fn update(
        &self,
        key: &str,
        change: impl FnOnce(Option<&Value>) -> Value,
    ) -> Result<(), StateError> {
        self.store
            .update(&self.scope, key, None, |value| Ok(Some(change(value))))
            .map(drop)
    }
}
