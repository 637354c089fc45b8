//! A hook of the program itself.

#[cfg(doc)]
use crate::host::Host;
use hookwire_handlers::handlers::{Closure, Handler, HookEvent, IntoAnswer};
use hookwire_rules::contract::Fail;
#[cfg(doc)]
use hookwire_rules::policy::Policy;
use serde_json::{Map, Value};
use std::fmt;
use std::future::Future;
use std::time::Duration;

/// A hook of the program itself: when it applies, and a closure.
///
/// It has the limits, the failure direction and the outcomes of any hook, and its place among those
/// of files that the program vouches for. Blocking the thread is the one thing that no time limit
/// ends: await instead.
///
/// ```
/// # use hookwire_engine::face as hookwire;
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
        f.debug_struct("ClosureHook")
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

impl ClosureHook {
    /// A hook on an event, in hookwire's or another system's words; `*` is every event.
    pub fn new<F, R>(event: &str, name: &str, run: F) -> ClosureHook
    where
        F: Fn(HookEvent) -> R + Send + Sync + 'static,
        R: Future<Output: IntoAnswer> + Send + 'static,
    {
        ClosureHook {
            written: Map::new(),
            closure: Closure::new(run),
        }
        .with("name", name)
        .with("on", vec![event])
    }

    /// A hook on every event of a vocabulary, and in that vocabulary.
    #[cfg(feature = "systems")]
    pub(super) fn on_every_event_of<F, R>(
        dialect: &hookwire_dialects::Dialect,
        name: &str,
        run: F,
    ) -> ClosureHook
    where
        F: Fn(HookEvent) -> R + Send + Sync + 'static,
        R: Future<Output: IntoAnswer> + Send + 'static,
    {
        let events: Vec<&str> = dialect.events.iter().map(|row| row.canonical).collect();
        ClosureHook {
            written: Map::new(),
            closure: Closure::new(run),
        }
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

    /// Lower runs earlier (100 unless it is said); reversed for after-events. That is among hooks
    /// of one vocabulary: where another system's asks ([`Host::chain`], [`Host::dispatch_as`]), all
    /// hooks of hookwire's own enter together as one hook of priority 100. What must come before
    /// everything belongs into a [`Policy`].
    pub fn priority(self, priority: i64) -> ClosureHook {
        self.with("priority", priority)
    }

    /// How long one run may take, at most 24 h; 30 s unless it is said.
    pub fn timeout(self, timeout: Duration) -> ClosureHook {
        self.with("timeout", timeout.as_secs_f64())
    }

    /// How a failure counts: an error, a panic, a run out of time. Open unless it is said.
    pub fn fail(self, fail: Fail) -> ClosureHook {
        self.with("fail", fail.as_str())
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

    pub(super) fn into_parts(self) -> (Value, Handler) {
        (Value::Object(self.written), Handler::Closure(self.closure))
    }
}
