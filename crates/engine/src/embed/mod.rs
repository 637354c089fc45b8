//! The host within a Rust program: hooks as closures, beside those of files.

#[cfg(feature = "systems")]
pub mod agent_hook;
mod builder;
mod closure_hook;

pub use builder::{BadHook, HostBuilder};
pub use closure_hook::ClosureHook;

use crate::engine::{self, HooksInForce, Question, Report};
use crate::host::{Asker, Host};
use hookwire_base::event::{Event, NotAnEvent};
use hookwire_base::verdict::Verdict;
use hookwire_dialects as dialects;
use hookwire_handlers::services::client::Client;
use hookwire_handlers::services::emit::EventSender;
use hookwire_handlers::services::state::Store;
use hookwire_rules::contract::Contract;
use hookwire_rules::contract::Honours;
use serde_json::Value;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// The verdict on an event of another system, and the same in that system's vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct TranslatedVerdict {
    /// The reply that a hook of that system would have given.
    pub reply: Value,
    /// The verdict that the reply expresses.
    pub verdict: Verdict,
}

impl Host {
    /// A host for a Rust program.
    ///
    /// ```
    /// # use hookwire_engine::face as hookwire;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use hookwire::{Answer, Decision, Event, Host};
    /// use serde_json::json;
    ///
    /// let host = Host::builder()
    ///     .root(".")
    ///     .on("UserPromptSubmit", "no-secrets", |event| async move {
    ///         match event.text("/prompt") {
    ///             Some(prompt) if prompt.contains("password") => Answer::deny("Leave passwords out."),
    ///             _ => Answer::default(),
    ///         }
    ///     })
    ///     .build()?;
    /// let event = Event::from_json(json!({"event": "UserPromptSubmit", "prompt": "My password is x."}))?;
    /// assert_eq!(host.dispatch(event).await.decision, Decision::Deny);
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Judges an event with the hooks that are in force when this is called. Needs a tokio runtime
    /// with time (`enable_time`, as `#[tokio::main]` has it), and with I/O for hooks that run a
    /// command. Never fails: what goes wrong in a hook counts in that hook's failure direction.
    /// Dropping the future cancels the hooks and ends their processes.
    pub fn dispatch(&self, event: Event) -> impl Future<Output = Verdict> + Send + '_ {
        let Asker { honours, client } = self.asker.clone();
        self.judge(
            Arc::new(event),
            &dialects::native().contract,
            honours,
            client,
        )
    }

    /// The same for an event in another system's words, with a verdict in its words too.
    ///
    /// ```
    /// # use hookwire_engine::face as hookwire;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use hookwire::{Answer, Host};
    /// use serde_json::json;
    ///
    /// let host = Host::builder().on("PreToolUse", "no", |_| async { Answer::deny("no") }).build()?;
    /// let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    /// let reply = host.dispatch_as("claude-code", payload).await?.reply;
    /// assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// There is no such dialect, or the payload is no event of it.
    pub fn dispatch_as(
        &self,
        dialect: &str,
        payload: Value,
    ) -> impl Future<Output = Result<TranslatedVerdict, NotAnEvent>> + Send + use<'_> {
        let asked = dialects::by_name(dialect)
            .map_err(|error| NotAnEvent(error.to_string()))
            .and_then(|dialect| {
                let event = Arc::new(dialect.read_event(payload)?);
                let honours = dialect.honours(&event);
                let judging = self.judge(
                    event.clone(),
                    &dialect.contract,
                    honours,
                    self.asker.client.clone(),
                );
                Ok((dialect, event, judging))
            });
        async move {
            let (dialect, event, judging) = asked?;
            let verdict = judging.await;
            Ok(TranslatedVerdict {
                reply: dialect.reply_to(&event, &verdict),
                verdict,
            })
        }
    }

    pub fn judge(
        &self,
        event: Arc<Event>,
        contract: &'static Contract,
        honours: Honours,
        client: Option<Arc<dyn Client>>,
    ) -> impl Future<Output = Verdict> + Send + '_ {
        let hooks = HooksInForce {
            files: self.joined(self.hooks(), &event),
            session: None,
        };
        let question = Question {
            deadline: engine::deadline(&event),
            event,
            hooks,
            contract,
            honours,
            client,
            early_deadline: CancellationToken::new(),
        };
        self.interceptor.intercept(question)
    }

    /// Adds a hook; events that are dispatched from now on meet it.
    ///
    /// # Errors
    /// The hook is not valid: an unknown event, a bad pattern.
    pub fn add(&self, hook: ClosureHook) -> Result<(), BadHook> {
        {
            let (written, handler) = hook.into_parts();
            let mut loader = self.loader();
            let position = loader.n_own();
            let (hook, remarks) = builder::compile_hook(written, handler, position)?;
            loader.add(hook, remarks);
        }
        self.reload();
        Ok(())
    }

    /// Every hook's run from now on. A listener that falls behind loses the oldest.
    pub fn subscribe(&self) -> broadcast::Receiver<Report> {
        self.engine.reports()
    }

    /// The events that hooks emit, for those who listen.
    pub fn events(&self) -> &EventSender {
        &self.engine.services.events
    }

    /// Mistakes in the definitions and remarks on closures' hooks, a line each.
    pub fn diagnostics(&self) -> Vec<String> {
        self.published()
            .diagnostics
            .iter()
            .map(|it| it.one_line())
            .collect()
    }

    /// The values that hooks share.
    pub fn state(&self) -> &Store {
        &self.engine.services.state
    }
}
