//! What a core is given of its agent.

use super::{EventSender, HookChain, HookContext};

/// What a core is given of its agent: the parts that the agent brings, of whatever types it has,
/// and its hooks. A core calls `ctx.hooks.run_pre_llm_call(...)` and the like at its points; one
/// that calls none of them has no hooks.
///
/// ```
/// # use hookwire_engine::face as hookwire;
/// use hookwire::agent_hook::{AgentContext, HookChain, TurnInput};
///
/// trait LlmProvider {}
/// struct Local;
/// impl LlmProvider for Local {}
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), hookwire::agent_hook::ChainError> {
/// let hooks = HookChain::new();
/// let ctx: AgentContext<Box<dyn LlmProvider>> =
///     AgentContext { provider: Box::new(Local), tools: (), memory: (), policy: (), events: hooks.events(), hooks, config: () };
/// let turn = ctx.hooks.run_pre_turn(TurnInput { message: "hello".into() }, &ctx.hook_context("session-1")).await?;
/// assert_eq!(turn.message, "hello");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct AgentContext<Provider = (), Tools = (), Memory = (), Policy = (), Config = ()> {
    /// The model's provider.
    pub provider: Provider,
    /// What runs tools.
    pub tools: Tools,
    /// What remembers.
    pub memory: Memory,
    /// Where and how tools may run. It is asked before the hooks.
    pub policy: Policy,
    /// The hooks.
    pub hooks: HookChain,
    /// Events for those who listen.
    pub events: EventSender,
    /// Settings.
    pub config: Config,
}

impl<Provider, Tools, Memory, Policy, Config>
    AgentContext<Provider, Tools, Memory, Policy, Config>
{
    /// What the hooks of a session are given, over the state and the events of this agent.
    pub fn hook_context(&self, session_id: impl Into<String>) -> HookContext {
        HookContext {
            events: self.events.clone(),
            ..self.hooks.context(session_id)
        }
    }
}
