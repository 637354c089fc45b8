//! Hooks in Rust, run by hookwire's engine: a method is an event on the way in, its action the
//! verdict on the way out, both in the words of the dialect `agent-hook-trait`.

use super::{
    AgentError, AgentEvent, AgentHook, ChatMessage, CompactionHint, DispatchResult, EventSender,
    ExecutionGrant, HookAction, HookContext, HookError, HookResult, HookState, LlmCallInput,
    LlmResponse, ProviderError, RetryDecision, TokenBudget, ToolMeta, TurnInput, TurnOutput,
};
use crate::embed::{ClosureHook, HostBuilder};
use crate::host::Host;
use hookwire_base::event::{Attached, Event, Phase};
use hookwire_base::syntax::values::MAX_TIMEOUT;
use hookwire_base::verdict::{Answer, Decision, Outcome, Verdict};
use hookwire_dialects::systems::agent_hook_trait::DIALECT;
use hookwire_handlers::handlers::HookEvent;
use hookwire_rules::contract::Fail;
use hookwire_rules::contract::Honours;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Why an operation doesn't go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainError {
    /// A hook said no, or the policy did (`policy`).
    Aborted {
        /// Its name.
        hook: String,
        /// Its reason.
        reason: String,
    },
    /// A hook that doesn't fail open failed.
    HookRejected {
        /// Its name.
        hook: String,
        /// How.
        error: String,
    },
}

impl std::fmt::Display for ChainError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ChainError::Aborted { hook, reason } => write!(f, "aborted by hook `{hook}`: {reason}"),
            ChainError::HookRejected { hook, error } => write!(f, "aborted: hook `{hook}` {error}"),
        }
    }
}

impl std::error::Error for ChainError {}

/// A tool call that may run.
#[derive(Clone, Debug, PartialEq)]
pub struct Granted {
    /// With these arguments.
    pub args: Value,
    /// Within these bounds: those that the agent gave, narrowed by the policy of hookwire's files.
    pub grant: ExecutionGrant,
}

/// The hooks of an agent: what its core calls at each point of a turn.
///
/// Cheap to clone; clones share the hooks.
///
/// Priorities order the hooks of this trait. Hooks in hookwire's own words, those of files and
/// [`ClosureHook`]s, enter a chain together, as one hook of priority 100, whatever theirs are: a
/// trait's hook before them may replace what they would have refused. A guard that must come first
/// belongs into a [`Policy`](hookwire_rules::policy::Policy).
#[derive(Clone)]
pub struct HookChain {
    host: Arc<Host>,
}

impl std::fmt::Debug for HookChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookChain")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

impl Default for HookChain {
    fn default() -> HookChain {
        HookChain::new()
    }
}

impl Host {
    /// The hooks of this host, as an agent's core calls them. Those in hookwire's own words enter
    /// as one hook of priority 100; see [`HookChain`].
    pub fn chain(self: &Arc<Host>) -> HookChain {
        HookChain { host: self.clone() }
    }
}

impl HostBuilder {
    /// Adds a hook in Rust.
    pub fn agent_hook(self, hook: impl AgentHook + 'static) -> HostBuilder {
        self.hook(as_closure(Arc::new(hook)))
    }
}

impl HookChain {
    /// A chain without hooks, and without definition files; [`Host::chain`] has both.
    pub fn new() -> HookChain {
        HookChain {
            host: Host::new(Default::default()),
        }
    }

    /// The same with another hook, after those of its priority.
    pub fn with(self, hook: impl AgentHook + 'static) -> HookChain {
        self.add(Arc::new(hook));
        self
    }

    /// Adds a hook, after those of its priority.
    pub fn add(&self, hook: Arc<dyn AgentHook>) {
        let name = hook.name().to_string();
        if let Err(error) = self.host.add(as_closure(hook)) {
            tracing::error!(hook = name, %error, "A hook was not added.");
        }
    }

    /// A context for a session, over the chain's own state and listeners.
    pub fn context(&self, session_id: impl Into<String>) -> HookContext {
        let session_id = session_id.into();
        let services = &self.host.engine.services;
        HookContext {
            state: HookState::in_session(services.state.clone(), &session_id),
            events: services.events.clone(),
            session_id,
            turn_number: 0,
            step_number: 0,
            core_type: String::new(),
        }
    }

    /// The events that its hooks and its agent emit for those who listen.
    pub fn events(&self) -> EventSender {
        self.host.engine.services.events.clone()
    }

    /// The host that runs the hooks.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// A session begins.
    ///
    /// # Errors
    /// It must not.
    pub async fn run_on_session_start(&self, ctx: &HookContext) -> Result<(), ChainError> {
        self.run("on_session_start", json!({}), ctx).await.map(drop)
    }

    /// A session is over.
    ///
    /// # Errors
    /// A hook that doesn't fail open failed; the others ran all the same.
    pub async fn run_on_session_end(&self, ctx: &HookContext) -> Result<(), ChainError> {
        self.run("on_session_end", json!({}), ctx).await.map(drop)
    }

    /// Before a turn: its input after all hooks.
    ///
    /// # Errors
    /// The turn must not begin.
    pub async fn run_pre_turn(
        &self,
        input: TurnInput,
        ctx: &HookContext,
    ) -> Result<TurnInput, ChainError> {
        let run = self.run("pre_turn", json!({ "input": input }), ctx).await?;
        Ok(run.value()?.unwrap_or(input))
    }

    /// After a turn: its output after all hooks.
    ///
    /// # Errors
    /// The turn fails.
    pub async fn run_post_turn(
        &self,
        input: &TurnInput,
        output: TurnOutput,
        ctx: &HookContext,
    ) -> Result<TurnOutput, ChainError> {
        let run = self
            .run(
                "post_turn",
                json!({ "input": input, "output": output }),
                ctx,
            )
            .await?;
        Ok(run.value()?.unwrap_or(output))
    }

    /// A turn failed: an output that recovers it, if a hook has one.
    ///
    /// # Errors
    /// A hook has another error in its place.
    pub async fn run_on_turn_error(
        &self,
        input: &TurnInput,
        error: &AgentError,
        ctx: &HookContext,
    ) -> Result<Option<TurnOutput>, ChainError> {
        self.run(
            "on_turn_error",
            json!({ "input": input, "error": error }),
            ctx,
        )
        .await?
        .value()
    }

    /// Before a model call: what to send after all hooks.
    ///
    /// # Errors
    /// It must not be sent.
    pub async fn run_pre_llm_call(
        &self,
        messages: Vec<ChatMessage>,
        tools: Vec<ToolMeta>,
        ctx: &HookContext,
    ) -> Result<LlmCallInput, ChainError> {
        let run = self
            .run(
                "pre_llm_call",
                json!({ "messages": messages, "tools": tools }),
                ctx,
            )
            .await?;
        Ok(run.value()?.unwrap_or(LlmCallInput {
            messages,
            tools,
            ..LlmCallInput::default()
        }))
    }

    /// After a model call: the response after all hooks.
    ///
    /// # Errors
    /// The response must not be used.
    pub async fn run_post_llm_call(
        &self,
        response: LlmResponse,
        ctx: &HookContext,
    ) -> Result<LlmResponse, ChainError> {
        let run = self
            .run("post_llm_call", json!({ "response": response }), ctx)
            .await?;
        Ok(run.value()?.unwrap_or(response))
    }

    /// A model call failed: what to do, if a hook has an opinion.
    ///
    /// # Errors
    /// Give up, for this reason.
    pub async fn run_on_llm_error(
        &self,
        error: &ProviderError,
        attempt: usize,
        ctx: &HookContext,
    ) -> Result<Option<RetryDecision>, ChainError> {
        self.run(
            "on_llm_error",
            json!({ "error": error, "attempt": attempt }),
            ctx,
        )
        .await?
        .value()
    }

    /// Before a tool runs: its arguments after the policy and all hooks.
    ///
    /// # Errors
    /// It must not run. That is data for the model ([`DispatchResult::failed`]), not a failed turn.
    pub async fn run_pre_tool_call(
        &self,
        tool_name: &str,
        args: Value,
        grant: ExecutionGrant,
        ctx: &HookContext,
    ) -> Result<Granted, ChainError> {
        let payload = json!({ "tool_name": tool_name, "args": args, "grant": grant });
        let run = self.run("pre_tool_call", payload, ctx).await?;
        let granted = run
            .reply
            .get("grant")
            .and_then(|it| ExecutionGrant::deserialize(it).ok());
        Ok(Granted {
            args: run.value()?.unwrap_or(args),
            grant: granted.unwrap_or(grant),
        })
    }

    /// After a tool ran: its result after all hooks.
    ///
    /// # Errors
    /// The result must not be used.
    pub async fn run_post_tool_call(
        &self,
        tool_name: &str,
        args: &Value,
        result: Result<DispatchResult, String>,
        elapsed: Duration,
        ctx: &HookContext,
    ) -> Result<Result<DispatchResult, String>, ChainError> {
        let elapsed = elapsed.as_secs_f64();
        let payload =
            json!({ "tool_name": tool_name, "args": args, "result": result, "elapsed": elapsed });
        let run = self.run("post_tool_call", payload, ctx).await?;
        Ok(run.value()?.map_or(result, Ok))
    }

    /// Before the conversation is compacted: how to, if a hook has an opinion.
    ///
    /// # Errors
    /// It must not be compacted.
    pub async fn run_pre_compaction(
        &self,
        messages: &[ChatMessage],
        budget: &TokenBudget,
        ctx: &HookContext,
    ) -> Result<Option<CompactionHint>, ChainError> {
        self.run(
            "pre_compaction",
            json!({ "messages": messages, "budget": budget }),
            ctx,
        )
        .await?
        .value()
    }

    /// After the conversation was compacted.
    ///
    /// # Errors
    /// A hook that doesn't fail open failed; the others ran all the same.
    pub async fn run_post_compaction(
        &self,
        removed_count: usize,
        summary: &str,
        ctx: &HookContext,
    ) -> Result<(), ChainError> {
        let payload = json!({ "removed_count": removed_count, "summary": summary });
        self.run("post_compaction", payload, ctx).await.map(drop)
    }

    async fn run(
        &self,
        method: &str,
        mut payload: Value,
        ctx: &HookContext,
    ) -> Result<Ran, ChainError> {
        payload["method"] = method.into();
        payload["ctx"] = json!(WireContext::from(ctx));
        let broken = |error: String| ChainError::HookRejected {
            hook: OURS.to_string(),
            error,
        };
        let mut event = DIALECT
            .read_event(payload)
            .map_err(|error| broken(format!("failed to {error}")))?;
        event.attached = Some(Attached(Arc::new(ctx.clone())));
        let event = Arc::new(event);
        let honours = Honours::from_contract(&DIALECT.contract, &event, true, true);
        let client = self.host.asker.client.clone();
        let verdict = self
            .host
            .judge(event.clone(), &DIALECT.contract, honours, client)
            .await;
        emit_messages(&verdict, ctx);
        match refusal(&event, &verdict) {
            Some(refusal) => Err(refusal),
            None => Ok(Ran {
                reply: DIALECT.reply_to(&event, &verdict),
                verdict,
            }),
        }
    }
}

/// The name in an error where no hook is to blame.
const OURS: &str = "hookwire";

/// Why an operation doesn't go on, if it doesn't.
fn refusal(event: &Event, verdict: &Verdict) -> Option<ChainError> {
    let rejected = |it: &Outcome| {
        let error = it.error.clone()?;
        Some(ChainError::HookRejected {
            hook: it.hook.to_string(),
            error,
        })
    };
    let hook = verdict.refused_by().map_or(OURS, |it| it).to_string();
    match verdict.decision {
        // The trait has no word for a person or for later.
        Decision::Deny | Decision::Ask | Decision::Defer => {
            let decides = |it: &&Outcome| {
                *it.hook == *hook
                    && it
                        .decision
                        .is_some_and(|decision| decision != Decision::Allow)
            };
            let failed = verdict.outcomes.iter().find(decides).and_then(rejected);
            let reason = verdict
                .reason
                .clone()
                .unwrap_or_else(|| match verdict.decision {
                    Decision::Ask => "this needs a person's approval".into(),
                    Decision::Defer => "this would be put off".into(),
                    Decision::Allow | Decision::Deny => String::new(),
                });
            Some(failed.unwrap_or(ChainError::Aborted { hook, reason }))
        }
        Decision::Allow => {
            if let Some(reason) = verdict.stop.clone() {
                return Some(ChainError::Aborted { hook, reason });
            }
            // At a note nothing can be stopped any more, but a hook that fails closed still reports
            // its error.
            let is_note = event.spec.phase == Phase::Note;
            verdict
                .outcomes
                .iter()
                .filter(|it| is_note && it.fails_closed)
                .find_map(rejected)
        }
    }
}

/// Emits what files' hooks say beside a decision, because the trait has no word for it.
fn emit_messages(verdict: &Verdict, ctx: &HookContext) {
    for (name, texts) in [
        ("user_message", &verdict.user_messages),
        ("additional_context", &verdict.additional_context),
    ] {
        for text in texts {
            ctx.events.emit(|| {
                AgentEvent::new(name, json!({ "session_id": ctx.session_id, "text": text }))
            });
        }
    }
}

/// The result of a run, if the operation goes on.
struct Ran {
    reply: Value,
    verdict: Verdict,
}

impl Ran {
    /// The value that hooks made, if they made one.
    fn value<T: DeserializeOwned>(&self) -> Result<Option<T>, ChainError> {
        let Some(value) = self.reply.get("value") else {
            return Ok(None);
        };
        T::deserialize(value).map(Some).map_err(|error| {
            let rewrote = self
                .verdict
                .outcomes
                .iter()
                .rev()
                .find(|outcome| outcome.rewrote);
            let hook = rewrote.map_or(OURS, |outcome| &*outcome.hook).to_string();
            ChainError::HookRejected {
                hook,
                error: format!("failed to give a value that fits: {error}"),
            }
        })
    }
}

/// A context on the wire.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct WireContext {
    session_id: String,
    turn_number: usize,
    step_number: usize,
    core_type: String,
}

impl From<&HookContext> for WireContext {
    fn from(ctx: &HookContext) -> WireContext {
        let HookContext {
            session_id,
            turn_number,
            step_number,
            core_type,
            ..
        } = ctx.clone();
        WireContext {
            session_id,
            turn_number,
            step_number,
            core_type,
        }
    }
}

/// A hook on the events of all its methods.
fn as_closure(hook: Arc<dyn AgentHook>) -> ClosureHook {
    let (priority, timeout) = (hook.priority(), hook.timeout());
    // A hook without a valid name still runs.
    let name = if hook.name().trim().is_empty() {
        "unnamed"
    } else {
        hook.name()
    }
    .to_string();
    let timeout = timeout.clamp(Duration::from_millis(1), MAX_TIMEOUT);
    let fail = if hook.fail_open() {
        Fail::Open
    } else {
        Fail::Closed
    };
    let closure = ClosureHook::on_every_event_of(&DIALECT, &name, move |event| {
        let hook = hook.clone();
        async move { call(&*hook, &event).await }
    });
    closure
        .priority(priority.into())
        .timeout(timeout)
        .fail(fail)
}

/// Calls the method that an event stands for.
async fn call(hook: &dyn AgentHook, event: &HookEvent) -> Result<Answer, HookError> {
    let mut payload = (DIALECT.contract.payload)(event);
    let attached = event
        .attached
        .as_ref()
        .and_then(|Attached(it)| it.downcast_ref::<HookContext>());
    let ctx = match attached {
        Some(ctx) => ctx.clone(),
        None => {
            let WireContext {
                session_id,
                turn_number,
                step_number,
                core_type,
            } = take(&mut payload, "ctx")?;
            let state = HookState::in_session(event.store().clone(), &session_id);
            let events = event.events().clone();
            HookContext {
                session_id,
                turn_number,
                step_number,
                core_type,
                events,
                state,
            }
        }
    };
    let method = payload
        .get("method")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_string();
    let payload = &mut payload;
    let reply = match &*method {
        "on_session_start" => no_action(hook.on_session_start(&ctx).await)?,
        "on_session_end" => no_action(hook.on_session_end(&ctx).await)?,
        "pre_turn" => action(hook.pre_turn(&take(payload, "input")?, &ctx).await)?,
        "post_turn" => action(
            hook.post_turn(&take(payload, "input")?, &take(payload, "output")?, &ctx)
                .await,
        )?,
        "on_turn_error" => action(
            hook.on_turn_error(&take(payload, "input")?, &take(payload, "error")?, &ctx)
                .await,
        )?,
        "pre_llm_call" => {
            let (messages, tools): (Vec<_>, Vec<_>) =
                (take(payload, "messages")?, take(payload, "tools")?);
            action(hook.pre_llm_call(&messages, &tools, &ctx).await)?
        }
        "post_llm_call" => action(hook.post_llm_call(&take(payload, "response")?, &ctx).await)?,
        "on_llm_error" => action(
            hook.on_llm_error(&take(payload, "error")?, take(payload, "attempt")?, &ctx)
                .await,
        )?,
        "pre_tool_call" => {
            let (tool, args): (String, Value) =
                (take(payload, "tool_name")?, take(payload, "args")?);
            action(
                hook.pre_tool_call(&tool, &args, &take(payload, "grant")?, &ctx)
                    .await,
            )?
        }
        "post_tool_call" => {
            let (tool, args): (String, Value) =
                (take(payload, "tool_name")?, take(payload, "args")?);
            let elapsed: f64 = take(payload, "elapsed")?;
            let elapsed = Duration::try_from_secs_f64(elapsed).unwrap_or_default();
            action(
                hook.post_tool_call(&tool, &args, &result(payload)?, elapsed, &ctx)
                    .await,
            )?
        }
        "pre_compaction" => {
            let messages: Vec<_> = take(payload, "messages")?;
            action(
                hook.pre_compaction(&messages, &take(payload, "budget")?, &ctx)
                    .await,
            )?
        }
        "post_compaction" => {
            let summary: String = take(payload, "summary")?;
            no_action(
                hook.post_compaction(take(payload, "removed_count")?, &summary, &ctx)
                    .await,
            )?
        }
        // An event that the trait has no method for.
        _ => return Ok(Answer::default()),
    };
    (DIALECT.contract.reply)(event, reply).map_err(HookError::new)
}

/// An argument of a method; one that the agent doesn't give is empty.
fn take<T: DeserializeOwned + Default>(payload: &mut Value, key: &str) -> Result<T, HookError> {
    match payload.get_mut(key).map(Value::take) {
        None | Some(Value::Null) => Ok(T::default()),
        Some(value) => T::deserialize(value)
            .map_err(|error| HookError::new(format!("read `{key}` of the event: {error}"))),
    }
}

/// A tool's result; an error that other systems have in another form becomes text.
fn result(payload: &mut Value) -> Result<Result<DispatchResult, String>, HookError> {
    let mut result: Value = take(payload, "result")?;
    Ok(match result.get_mut("Err").map(Value::take) {
        Some(Value::String(error)) => Err(error),
        Some(error) => Err(error.to_string()),
        None => Ok(take(&mut result, "Ok")?),
    })
}

/// The result of a method that has no action to give.
fn no_action(result: HookResult<()>) -> Result<Value, HookError> {
    result.map(|()| json!({ "action": "Continue" }))
}

/// An action on the wire.
fn action<T: Serialize>(result: HookResult<HookAction<T>>) -> Result<Value, HookError> {
    Ok(match result? {
        HookAction::Continue => json!({ "action": "Continue" }),
        HookAction::Transform(value) => json!({ "action": "Transform", "value": value }),
        HookAction::Reject(reason) => json!({ "action": "Reject", "reason": reason }),
        HookAction::Replace(value) => json!({ "action": "Replace", "value": value }),
    })
}
