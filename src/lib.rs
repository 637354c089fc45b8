//! hookwire: a hook host for AI agents.
//!
//! One long-lived process that agents ask, over JSON-RPC, what their hooks say about what they are
//! about to do. It keeps hook definitions from watched directories in force, runs the hooks that
//! apply to an event and answers with one verdict.
//!
//! # The way of a request
//!
//! frame ([`transport`]) → message ([`rpc`]) → event ([`dialects`]) → verdict ([`engine`]: select,
//! run, aggregate) → reply ([`dialects`]) → frame. Each step takes a value and gives the next;
//! nothing calls back up.
//!
//! # Where things are
//!
//! | module | what |
//! |---|---|
//! | [`event`], [`verdict`], [`hook`], [`hook_set`] | plain data |
//! | [`matching`] | whether a hook applies: matcher, `Tool(pattern)`, CEL |
//! | [`engine`] | who runs when, and what comes of it |
//! | [`handlers`] | how a hook is carried out, one file a kind |
//! | [`client`], [`approvals`], [`models`], [`state`] | what handlers use: the way back to the client, a person, language models, shared values |
//! | [`definitions`] | files to hooks and diagnostics |
//! | [`dialects`] | other systems' vocabularies, one file each |
//! | [`rpc`], [`transport`] | the wire |
//! | [`host`] | the published hook set and the reload loop: the only long-lived state |
//! | [`cli`] | the command line |
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

pub mod agent_hook;
pub mod approvals;
pub mod cli;
pub mod client;
pub mod definitions;
pub mod dialects;
mod digest;
mod egress;
mod embed;
mod emit;
pub mod engine;
pub mod event;
pub mod handlers;
pub mod hook;
pub mod hook_set;
pub mod host;
pub mod json;
pub mod matching;
pub mod models;
mod policy;
pub mod rpc;
pub mod state;
mod sync;
pub mod template;
pub mod transport;
pub mod verdict;

pub use embed::{BadHook, ClosureHook, HostBuilder, Reply};
pub use emit::{AgentEvent, EventSender};
pub use engine::Report;
pub use event::{Event, NotAnEvent};
pub use handlers::{HookError, HookEvent, IntoAnswer};
pub use hook::Fail;
pub use host::{Changed, Host};
pub use policy::Policy;
pub use state::Store;
pub use verdict::{Answer, Decision, Outcome, Status, Verdict};
