//! The builder of a host for a Rust program.

use super::ClosureHook;
use crate::definitions::embedded::embedded;
use crate::engine::Interceptor;
use crate::hook::Hook;
use crate::host::{Host, HostOptions, Own, Projects, Purpose};
use hookwire_base::syntax::diagnostic::Diagnostic;
use hookwire_base::verdict::Decision;
use hookwire_handlers::handlers::{Handler, HookEvent, HostPort, IntoAnswer};
use hookwire_handlers::services::client::Client;
use hookwire_handlers::services::models::ModelRef;
use hookwire_handlers::services::state::Store;
use hookwire_rules::policy::Policy;
use serde_json::Value;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

/// The settings and hooks of a host to be; [`Host::builder`] begins one.
#[must_use = "nothing is started before `build`"]
pub struct HostBuilder {
    options: HostOptions,
    hooks: Vec<(Value, Handler)>,
    own: Own,
}

impl Default for HostBuilder {
    fn default() -> HostBuilder {
        let options = HostOptions {
            root: ".".into(),
            ..HostOptions::default()
        };
        HostBuilder {
            options,
            hooks: Vec::new(),
            own: Own::default(),
        }
    }
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hooks: Vec<_> = self
            .hooks
            .iter()
            .map(|(written, _)| &written["name"])
            .collect();
        f.debug_struct("HostBuilder")
            .field("options", &self.options)
            .field("hooks", &hooks)
            .finish_non_exhaustive()
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

    /// Whether to load the project's own definitions, in `<root>/.hookwire`. They come with a
    /// clone: only for projects that the user trusts.
    pub fn project(mut self, load: bool) -> HostBuilder {
        self.options.projects = if load { Projects::Root } else { Projects::None };
        self
    }

    /// Whether to load the machine's and the user's definitions.
    pub fn system(mut self, load: bool) -> HostBuilder {
        self.options.system = load;
        self
    }

    /// A host and port that `http` hooks and models may reach although it isn't on the public
    /// internet.
    pub fn allow_host(mut self, host: HostPort) -> HostBuilder {
        self.options.allow_hosts.push(host);
        self
    }

    /// The values that hooks share: an [opened](Store::open) store survives the program.
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

    /// The client that hooks may ask for a person's approval or a model's answer.
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

    /// A policy that judges tool calls before any hook runs, beside those of files.
    /// Given more than once, calls must keep to all of them.
    pub fn policy(mut self, policy: Policy) -> HostBuilder {
        self.own.policies.push(policy);
        self
    }

    /// Whether to allow every event and run no hook.
    pub fn pass_through(mut self, pass: bool) -> HostBuilder {
        self.options.purpose = if pass {
            Purpose::PassThrough
        } else {
            Purpose::Judge
        };
        self
    }

    /// Has another interceptor judge events. The function is given the one that would judge
    /// otherwise, mostly the hooks, so that it can hand events on. Given more than once, the last
    /// is asked first and is given the one before.
    ///
    /// ```
    /// # use hookwire_engine::face as hookwire;
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

    /// Loads the definitions. What is wrong with files, and what is odd about closures' hooks, is
    /// in
    /// [`Host::diagnostics`]: the rest is in force.
    ///
    /// # Errors
    /// A closure's hook is not valid: an unknown event, a bad pattern.
    pub fn build(self) -> Result<Arc<Host>, BadHook> {
        let hooks = self.hooks.into_iter().enumerate();
        let hooks =
            hooks.map(|(position, (written, handler))| compile_hook(written, handler, position));
        Ok(Host::embedded(
            self.options,
            Own {
                hooks: hooks.collect::<Result<_, _>>()?,
                ..self.own
            },
        ))
    }
}

/// Compiles a closure's hook as if a file had it; `position` counts the program's hooks.
pub(super) fn compile_hook(
    written: Value,
    handler: Handler,
    position: usize,
) -> Result<(Hook, Vec<Diagnostic>), BadHook> {
    let name = written["name"].as_str().unwrap_or_default().to_string();
    embedded(written, handler, position).map_err(|problem| BadHook {
        hook: name,
        problem,
    })
}

/// A hook that is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadHook {
    /// Its name.
    pub hook: String,
    /// The mistake, and how to correct it.
    pub problem: String,
}

impl fmt::Display for BadHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hook `{}`: {}", self.hook, self.problem)
    }
}

impl std::error::Error for BadHook {}
