//! The host within a Rust program: hooks as closures, beside those of files.

pub mod agent_hook;

use crate::contract::{Contract, Fail};
use crate::definitions::embedded::embedded;
use crate::dialects::{self, Dialect};
use crate::engine::{Honours, HooksInForce, Interceptor, Question, Report};
use crate::event::{Event, NotAnEvent};
use crate::handlers::{Closure, Handler, HookEvent, HostPort, IntoAnswer};
use crate::hook::Hook;
use crate::host::{Asker, Host, HostOptions, Own};
use crate::policy::Policy;
use crate::services::client::Client;
use crate::services::emit::EventSender;
use crate::services::models::ModelRef;
use crate::services::state::Store;
use crate::syntax::diagnostic::Diagnostic;
use crate::verdict::{Decision, Verdict};
use serde_json::{Map, Value};
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// What a host is to be made of; [`Host::builder`] begins one.
#[must_use = "nothing is started before `build`"]
pub struct HostBuilder {
    options: HostOptions,
    hooks: Vec<(Value, Handler)>,
    own: Own,
}

impl Default for HostBuilder {
    fn default() -> HostBuilder {
        let options = HostOptions { root: ".".into(), ..HostOptions::default() };
        HostBuilder { options, hooks: Vec::new(), own: Own::default() }
    }
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hooks: Vec<_> = self.hooks.iter().map(|(written, _)| &written["name"]).collect();
        f.debug_struct("HostBuilder").field("options", &self.options).field("hooks", &hooks).finish_non_exhaustive()
    }
}

impl HostBuilder {
    /// The project root: where commands run when an event has no `cwd`. Else the current directory.
    pub fn root(mut self, root: impl Into<PathBuf>) -> HostBuilder {
        self.options.root = root.into();
        self
    }

    /// Loads the definitions in a directory that the program vouches for.
    pub fn hooks(mut self, dir: impl Into<PathBuf>) -> HostBuilder {
        self.options.hooks.push(dir.into());
        self
    }

    /// Whether to load the project's own definitions, in `<root>/.hookwire`. They come with a clone:
    /// only for projects that the user trusts.
    pub fn project(mut self, load: bool) -> HostBuilder {
        self.options.project = load;
        self
    }

    /// Whether to load the machine's and the user's definitions.
    pub fn system(mut self, load: bool) -> HostBuilder {
        self.options.system = load;
        self
    }

    /// A host and port that `http` hooks and models may reach although it isn't on the public internet.
    pub fn allow_host(mut self, host: HostPort) -> HostBuilder {
        self.options.allow_hosts.push(host);
        self
    }

    /// What hooks know together: an [opened](Store::open) store survives the program.
    pub fn state(mut self, state: Store) -> HostBuilder {
        self.options.state = state;
        self
    }

    /// The model of hooks that ask one and don't say which.
    pub fn model(mut self, model: ModelRef) -> HostBuilder {
        self.options.model = Some(model);
        self
    }

    /// The decisions that the program obeys beside allow and deny. What it doesn't becomes a deny.
    pub fn obeys(mut self, decisions: impl IntoIterator<Item = Decision>) -> HostBuilder {
        for decision in decisions {
            match decision {
                Decision::Ask => self.own.asker.honours.ask = true,
                Decision::Defer => self.own.asker.honours.defer = true,
                Decision::Allow | Decision::Deny => {}
            }
        }
        self
    }

    /// Whom hooks may ask for a person's approval or a model's answer.
    pub fn client(mut self, client: Arc<dyn Client>) -> HostBuilder {
        self.own.asker.client = Some(client);
        self
    }

    /// Adds a hook on an event: its name and a closure. [`ClosureHook`] says more of one.
    pub fn on<F, R>(self, event: &str, name: &str, run: F) -> HostBuilder
    where
        F: Fn(HookEvent) -> R + Send + Sync + 'static,
        R: Future<Output: IntoAnswer> + Send + 'static,
    {
        self.hook(ClosureHook::new(event, name, run))
    }

    /// Adds a hook.
    pub fn hook(mut self, hook: ClosureHook) -> HostBuilder {
        self.hooks.push(hook.into_parts());
        self
    }

    /// What tool calls must keep to before any hook is asked, beside what files say under `policy`.
    /// Given more than once, calls must keep to all of them.
    pub fn policy(mut self, policy: Policy) -> HostBuilder {
        self.own.policies.push(policy);
        self
    }

    /// Whether to allow every event and run no hook.
    pub fn pass_through(mut self, pass: bool) -> HostBuilder {
        self.options.pass_through = pass;
        self
    }

    /// Has somebody else judge events. What is given is whoever would: the hooks, mostly, to hand events on to.
    /// Given more than once, the last is asked first and is given the one before.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use hookwire::{Decision, Event, Host, Interceptor, Judging, Question};
    /// use serde_json::json;
    /// use std::sync::Arc;
    ///
    /// struct Loud(Arc<dyn Interceptor>);
    /// impl Interceptor for Loud {
    ///     fn intercept(&self, question: Question) -> Judging<'_> {
    ///         println!("{}", question.event.name);
    ///         self.0.intercept(question)
    ///     }
    /// }
    /// let host = Host::builder().interceptor(|hooks| Arc::new(Loud(hooks))).build()?;
    /// let event = Event::from_json(json!({"event": "SessionStart"}))?;
    /// assert_eq!(host.dispatch(event).await.decision, Decision::Allow);
    /// # Ok(())
    /// # }
    /// ```
    pub fn interceptor<F>(mut self, interceptor: F) -> HostBuilder
    where
        F: FnOnce(Arc<dyn Interceptor>) -> Arc<dyn Interceptor> + Send + 'static,
    {
        let inner = self.own.interceptor.take();
        self.own.interceptor = Some(Box::new(move |judge| match inner {
            Some(inner) => interceptor(inner(judge)),
            None => interceptor(judge),
        }));
        self
    }

    /// Loads the definitions. What is wrong with files, and what is odd about closures' hooks, is in
    /// [`Host::diagnostics`]: the rest is in force.
    ///
    /// # Errors
    /// A closure's hook can't be meant: an unknown event, a bad pattern.
    pub fn build(self) -> Result<Arc<Host>, BadHook> {
        let hooks = self.hooks.into_iter().enumerate();
        let hooks = hooks.map(|(position, (written, handler))| compiled(written, handler, position));
        Ok(Host::embedded(self.options, Own { hooks: hooks.collect::<Result<_, _>>()?, ..self.own }))
    }
}

fn compiled(written: Value, handler: Handler, position: usize) -> Result<(Hook, Vec<Diagnostic>), BadHook> {
    let name = written["name"].as_str().unwrap_or_default().to_string();
    embedded(written, handler, position).map_err(|problem| BadHook { hook: name, problem })
}

/// A hook that can't be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadHook {
    /// Its name.
    pub hook: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

impl fmt::Display for BadHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hook `{}`: {}", self.hook, self.problem)
    }
}

impl std::error::Error for BadHook {}

/// A hook of the program itself: when it applies, and a closure.
///
/// It has the limits, the failure direction and the outcomes of any hook, and its place among those
/// of files that the program vouches for. Blocking the thread is the one thing that no time limit
/// ends: await instead.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use hookwire::{Answer, ClosureHook, Decision, Event, Fail, Host};
/// use serde_json::json;
///
/// let no_force = ClosureHook::new("PreToolUse", "no-force-push", |event| async move {
///     event.set_state("pushes", json!(true))?;
///     Ok::<_, hookwire::HookError>(Answer::deny("Push a branch and open a pull request."))
/// });
/// let host = Host::builder().hook(no_force.rule("Bash(git push --force*)").priority(10).fail(Fail::Closed)).build()?;
///
/// let push = json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "cd x && git push --force"}}});
/// let verdict = host.dispatch(Event::from_json(push)?).await;
/// assert_eq!((verdict.decision, verdict.decided_by.as_deref()), (Decision::Deny, Some("no-force-push")));
/// # Ok(())
/// # }
/// ```
#[must_use = "a hook does nothing before a host has it"]
pub struct ClosureHook {
    written: Map<String, Value>,
    closure: Closure,
}

impl fmt::Debug for ClosureHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClosureHook").field("written", &self.written).finish_non_exhaustive()
    }
}

impl ClosureHook {
    /// A hook on an event, in hookwire's or another system's words; `*` is every event.
    pub fn new<F, R>(event: &str, name: &str, run: F) -> ClosureHook
    where
        F: Fn(HookEvent) -> R + Send + Sync + 'static,
        R: Future<Output: IntoAnswer> + Send + 'static,
    {
        ClosureHook { written: Map::new(), closure: Closure::new(run) }.with("name", name).with("on", vec![event])
    }

    /// A hook on every event of a vocabulary, as that vocabulary's hooks are.
    pub(crate) fn of<F, R>(dialect: &Dialect, name: &str, run: F) -> ClosureHook
    where
        F: Fn(HookEvent) -> R + Send + Sync + 'static,
        R: Future<Output: IntoAnswer> + Send + 'static,
    {
        let events: Vec<&str> = dialect.events.iter().map(|row| row.canonical).collect();
        ClosureHook { written: Map::new(), closure: Closure::new(run) }
            .with("name", name)
            .with("dialect", dialect.name())
            .with("on", events)
    }

    /// It is for this event too.
    pub fn also_on(mut self, event: &str) -> ClosureHook {
        if let Some(Value::Array(events)) = self.written.get_mut("on") {
            events.push(event.into());
        }
        self
    }

    /// Which tools: a regex that must match the whole name.
    pub fn matcher(self, regex: &str) -> ClosureHook {
        self.with("matcher", regex)
    }

    /// Which calls: `Tool(pattern)`, the `if` of a definition file.
    pub fn rule(self, rule: &str) -> ClosureHook {
        self.with("if", rule)
    }

    /// Which events: a CEL expression.
    pub fn when(self, expression: &str) -> ClosureHook {
        self.with("when", expression)
    }

    /// Lower runs earlier (100 unless it is said); reversed for after-events. That is among hooks of one
    /// vocabulary: where another system's asks ([`Host::chain`], [`Host::dispatch_as`]), all hooks of
    /// hookwire's own enter together as one hook of priority 100. What must come before everything
    /// belongs into a [`Policy`].
    pub fn priority(self, priority: i64) -> ClosureHook {
        self.with("priority", priority)
    }

    /// How long one run may take, at most 24 h; 30 s unless it is said.
    pub fn timeout(self, timeout: Duration) -> ClosureHook {
        self.with("timeout", timeout.as_secs_f64())
    }

    /// What a failure means: an error, a panic, a run out of time. Open unless it is said.
    pub fn fail(self, fail: Fail) -> ClosureHook {
        let word = match fail {
            Fail::Open => "open",
            Fail::Closed => "closed",
            Fail::Ask => "ask",
        };
        self.with("fail", word)
    }

    /// Starts it and doesn't wait: it can't decide anything.
    pub fn detached(self) -> ClosureHook {
        self.with("async", true)
    }

    /// Runs it side by side with its parallel neighbours.
    pub fn parallel(self) -> ClosureHook {
        self.with("parallel", true)
    }

    /// At most once in a session.
    pub fn once(self) -> ClosureHook {
        self.with("once", true)
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> ClosureHook {
        self.written.insert(key.to_string(), value.into());
        self
    }

    fn into_parts(self) -> (Value, Handler) {
        (Value::Object(self.written), Handler::Closure(self.closure))
    }
}

/// What came of an event in another system's vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What a hook of that system would have replied.
    pub reply: Value,
    /// The verdict that it says.
    pub verdict: Verdict,
}

impl Host {
    /// A host for a Rust program.
    ///
    /// ```
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

    /// Judges an event with the hooks that are in force when this is called. Needs a tokio runtime with
    /// time (`enable_time`, as `#[tokio::main]` has it), and with I/O for hooks that run a command.
    /// Never fails: what goes wrong in a hook counts in that hook's direction. Dropping the future cancels the hooks and ends
    /// their processes.
    pub fn dispatch(&self, event: Event) -> impl Future<Output = Verdict> + Send + '_ {
        let Asker { honours, client } = self.asker.clone();
        self.judge(Arc::new(event), &dialects::DIALECTS[0].contract, honours, client)
    }

    /// The same for an event in another system's words, with a verdict in its words too.
    ///
    /// ```
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
    ) -> impl Future<Output = Result<Reply, NotAnEvent>> + Send + use<'_> {
        let asked = dialects::by_name(dialect).map_err(|error| NotAnEvent(error.to_string())).and_then(|dialect| {
            let event = Arc::new(dialect.read(payload)?);
            let rewrite = dialect.row(&event.name).is_none_or(|row| row.rewrites);
            let honours = Honours::of(&dialect.contract, rewrite);
            let judging = self.judge(event.clone(), &dialect.contract, honours, self.asker.client.clone());
            Ok((dialect, event, judging))
        });
        async move {
            let (dialect, event, judging) = asked?;
            let verdict = judging.await;
            Ok(Reply { reply: (dialect.reply)(&event, &verdict), verdict })
        }
    }

    pub(crate) fn judge(
        &self,
        event: Arc<Event>,
        contract: &'static Contract,
        honours: Honours,
        client: Option<Arc<dyn Client>>,
    ) -> impl Future<Output = Verdict> + Send + '_ {
        let hooks = HooksInForce { files: self.hooks(), session: None };
        let question = Question { event, hooks, contract, honours, client, hurry: CancellationToken::new() };
        self.interceptor.intercept(question)
    }

    /// Adds a hook; events that are dispatched from now on meet it.
    ///
    /// # Errors
    /// It can't be meant: an unknown event, a bad pattern.
    pub fn add(&self, hook: ClosureHook) -> Result<(), BadHook> {
        {
            let (written, handler) = hook.into_parts();
            let mut loader = self.loader();
            let position = loader.n_own();
            let (hook, remarks) = compiled(written, handler, position)?;
            loader.add(hook, remarks);
        }
        self.reload();
        Ok(())
    }

    /// Every hook's run from now on. A listener that falls behind loses the oldest.
    pub fn subscribe(&self) -> broadcast::Receiver<Report> {
        self.engine.reports()
    }

    /// Where hooks tell what they do, for whoever listens.
    pub fn events(&self) -> &EventSender {
        &self.engine.services.events
    }

    /// What is wrong with the definitions, and odd about closures' hooks, a line each.
    pub fn diagnostics(&self) -> Vec<String> {
        self.published().diagnostics.iter().map(|it| it.one_line()).collect()
    }

    /// What hooks know together.
    pub fn state(&self) -> &Store {
        &self.engine.services.state
    }
}
