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
//! Each room uses only the rooms above it; a test holds this order.
//!
//! | room | what |
//! |---|---|
//! | `crates/acts` | a library of its own: what a call would do, read from shell texts and one table of programs; rules over commands |
//! | `crates/ask` | a library of its own: where the host of an agent's project is and how it is asked, for the two programs that agents start |
//! | `crates/fleet` | a library of its own: what hosts on many machines share by NATS, as bytes |
//! | `crates/run` | the small program: asks the host for an agent; watches programs that start |
//! | `support` | what has nothing to do with hooks: strict JSON, digests, files, the nearest name |
//! | [`event`], [`verdict`] | the table of events, the event, and the answer to it |
//! | `syntax` | what people write: three formats, the tree that they become, mistakes with their place and fix |
//! | `agents` | what is known of coding agents, one file each: their settings, switches, tools and places |
//! | `matching`, `template` | whether a hook applies: matcher, `Tool(pattern)`, CEL; texts with placeholders |
//! | `contract` | what a vocabulary says: how its hooks are called, understood and combined |
//! | `services` | what handlers use: [the way back to the client](client), approvals, egress, language models, shared values |
//! | `handlers` | how a hook is carried out, one file a kind, one file a guard |
//! | `hook`, `policy`, `hook_set` | the compiled definition, rules for tool calls, the indexed collection in force |
//! | `engine` | which hooks run when, and how their answers become a verdict |
//! | `dialects` | other systems' vocabularies, one file each |
//! | `definitions` | files to hooks and diagnostics; lint, load, watch |
//! | `trust` | which state of a project's definitions a person has approved |
//! | `journal`, `host` | the last events with their verdicts; the published hook set and the reload loop |
//! | `fleet` | what the host shares with others by a server: definitions that a team publishes |
//! | `embed`, [`agent_hook`] | the host within a Rust program: closures, the AgentHook trait |
//! | `transport` | bytes: framing, standard streams, sockets, and a client of another host |
//! | `fleet` | a host's part in a fleet: definitions, verdicts, budgets and approvals by a server |
//! | `running` | hosts that run: finding them, asking them, following what they judge |
//! | `lsp` | the language server for definition files |
//! | `rpc` | the method table, and what one connection is to the host |
//! | `http` | the same over loopback HTTP and WebSockets, and agents' http hooks |
//! | `cli` | the command line |
//!
//! # Invariants
//!
//! - A request judges with the set that was in force when it was read; a set is never changed.
//! - "No" is an answer and an error is not "no": `engine::aggregate::failure` is the only place
//!   where one becomes the other.
//! - Nothing is on stdout but the protocol, and no child outlives its event.
//! - Nothing in `engine` opens a file, nothing in `matching` starts anything.
//! - What a guard or a rule has to look up or work through is done within the event's time, on a thread apart where it
//!   may take long (`services::aside`), and files are opened by `support::file`, which waits for nobody.

#![warn(missing_docs)]
// Without the optional handlers, what only they use is dead.
#![cfg_attr(
    not(all(feature = "script", feature = "models", feature = "mcp", feature = "fleet")),
    allow(dead_code, unused_imports)
)]
// stdout belongs to the protocol, input never panics, and no file of anybody's is waited for (`clippy.toml`).
#![cfg_attr(
    not(test),
    warn(
        clippy::disallowed_methods,
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

#[doc(hidden)]
pub mod agents;
pub(crate) mod cli;
pub(crate) mod contract;
pub(crate) mod definitions;
pub(crate) mod dialects;
mod embed;
pub(crate) mod engine;
pub mod event;
#[cfg(feature = "fleet")]
pub(crate) mod fleet;
pub(crate) mod handlers;
// For the bench of a million events.
#[cfg(feature = "history")]
#[doc(hidden)]
pub mod history;
pub(crate) mod hook;
pub(crate) mod hook_set;
pub(crate) mod host;
pub(crate) mod http;
pub(crate) mod inspector;
pub mod journal;
pub(crate) mod lsp;
pub(crate) mod matching;
mod policy;
pub(crate) mod rpc;
pub(crate) mod running;
pub(crate) mod services;
mod starts;
pub(crate) mod suggest;
pub(crate) mod support;
pub(crate) mod syntax;
pub(crate) mod template;
pub(crate) mod transport;
pub(crate) mod trust;
pub mod verdict;

/// The program of the book, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../docs/embedding.md")]
struct Embedding;

pub use async_trait::async_trait;
#[doc(hidden)]
pub use cli::main;
pub use contract::Fail;
// For the tests of the cookbook.
#[doc(hidden)]
pub use definitions::cases;
pub use embed::agent_hook;
pub use embed::{BadHook, ClosureHook, HostBuilder, TranslatedVerdict};
pub use engine::{HooksInForce, Interceptor, Judging, PassThrough, Question, Report};
pub use event::{Event, NotAnEvent};
pub use handlers::{HookError, HookEvent, HostPort, IntoAnswer};
pub use host::{Changed, Host, HostOptions, LastGood, Projects, Published, Purpose};
pub use policy::Policy;
pub use services::client;
pub use services::emit::{AgentEvent, EventSender};
pub use services::models::ModelRef;
pub use services::state::{Scope, StateError, Store};
#[doc(hidden)]
pub use syntax::codes;
pub use syntax::source::{Layer, Source};
pub use transport::client::Client;
pub use verdict::{Answer, Decision, Observed, Outcome, Retry, RetryAction, Status, Verdict, Would};
