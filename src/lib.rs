//! hookwire: a hook host for AI agents.
//!
//! One long-lived process that agents ask, over JSON-RPC, what their hooks say about what they are
//! about to do. It keeps hook definitions from watched directories in force, runs the hooks that
//! apply to an event and answers with one verdict.
//!
//! # In a Rust program
//!
//! [`Host`] is the same without a process around it: [closures](ClosureHook) and [AgentHook
//! traits](agent_hook) judge together with the hooks of files, under one [`Policy`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use hookwire::{Answer, Decision, Event, Host, Policy};
//! use serde_json::json;
//!
//! let host = Host::builder()
//!     .root(".")
//!     .hooks("examples/handlers/verdict")
//!     .policy(Policy::new().deny("WebFetch(http://*)")?)
//!     .on("PreToolUse", "no-tuesdays", |event| async move {
//!         match event.text("/metadata/weekday") {
//!             Some("Tuesday") => Answer::deny("Not on a Tuesday."),
//!             _ => Answer::default(),
//!         }
//!     })
//!     .build()?;
//! host.watch()?;
//! let event = json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "ls"}}, "metadata": {"weekday": "Tuesday"}});
//! let verdict = host.dispatch(Event::from_json(event)?).await;
//! assert_eq!((verdict.decision, verdict.reason.as_deref()), (Decision::Deny, Some("Not on a Tuesday.")));
//! # Ok(())
//! # }
//! ```
//!
//! `dispatch` and everything else that judges an event needs a tokio runtime with time (and with I/O for hooks
//! that run a command), as `#[tokio::main]` gives. An [`AgentHook`](agent_hook::AgentHook)
//! is written under `#[hookwire::async_trait]`.
//!
//! # The way of a request
//!
//! frame (`transport`) → message (`rpc`) → event (`dialects`) → verdict (`engine`: select,
//! run, aggregate) → reply (`dialects`) → frame. Each step takes a value and gives the next;
//! nothing calls back up.
//!
//! # Where things are
//!
//! | module | what |
//! |---|---|
//! | [`event`], [`verdict`], `hook`, `hook_set` | plain data |
//! | `matching` | whether a hook applies: matcher, `Tool(pattern)`, CEL |
//! | `engine` | which hooks run when, and how their answers become a verdict |
//! | `handlers` | how a hook is carried out, one file a kind |
//! | [`client`], `approvals`, `models`, `state` | what handlers use: the way back to the client, a person, language models, shared values |
//! | `definitions` | files to hooks and diagnostics |
//! | `dialects` | other systems' vocabularies, one file each |
//! | `rpc`, `transport` | the wire |
//! | `policy` | rules for tool calls, judged before any hook runs |
//! | `embed`, `emit`, [`agent_hook`] | the host within a Rust program: closures, outward events, the AgentHook trait |
//! | `host` | the published hook set and the reload loop: the only long-lived state |
//! | `journal` | the last events with their verdicts, for people and editors that watch |
//! | `cli` | the command line |
//!
//! # Invariants
//!
//! - A request judges with the set that was in force when it was read; a set is never changed.
//! - "No" is an answer and an error is not "no": `engine::aggregate::failure` is the only place
//!   where one becomes the other.
//! - Nothing is on stdout but the protocol, and no child outlives its event.
//! - Nothing in `engine` opens a file, nothing in `matching` starts anything.

#![warn(missing_docs)]
// stdout belongs to the protocol, and input never panics.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub(crate) mod cli;
pub(crate) mod contract;
pub(crate) mod definitions;
pub(crate) mod dialects;
mod embed;
pub(crate) mod engine;
pub mod event;
pub(crate) mod handlers;
pub(crate) mod hook;
pub(crate) mod hook_set;
pub(crate) mod host;
pub mod journal;
pub(crate) mod lsp;
pub(crate) mod matching;
mod policy;
pub(crate) mod rpc;
pub(crate) mod services;
pub(crate) mod support;
pub(crate) mod syntax;
pub(crate) mod template;
pub(crate) mod transport;
pub mod verdict;

/// The README's program, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use async_trait::async_trait;
#[doc(hidden)]
pub use cli::main;
pub use contract::Fail;
pub use embed::agent_hook;
pub use embed::{BadHook, ClosureHook, HostBuilder, TranslatedVerdict};
pub use engine::{HooksInForce, Interceptor, Judging, PassThrough, Question, Report};
pub use event::{Event, NotAnEvent};
pub use handlers::{HookError, HookEvent, HostPort, IntoAnswer};
pub use host::{Changed, Host, HostOptions, Published};
pub use policy::Policy;
pub use services::client;
pub use services::emit::{AgentEvent, EventSender};
pub use services::models::ModelRef;
pub use services::state::{Scope, StateError, Store};
pub use syntax::source::{Layer, Source};
pub use verdict::{Answer, Decision, Outcome, Retry, RetryAction, Status, Verdict};
