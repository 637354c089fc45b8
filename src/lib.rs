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
//! `dispatch` and everything else that judges an event needs a tokio runtime with time (and with
//! I/O for hooks that run a command), as `#[tokio::main]` gives. An
//! [`AgentHook`](agent_hook::AgentHook) is written under `#[hookwire::async_trait]`.
//!
//! # The way of a request
//!
//! frame (`transport`) → message (`rpc`) → event (`dialects`) → verdict (`engine`: select,
//! run, aggregate) → reply (`dialects`) → frame. Each step takes a value and gives the next;
//! nothing calls back up.
//!
//! # Where things are
//!
//! Each crate uses only the crates above it, and each room only the rooms above it; tests hold this
//! order and the table.
//!
//! | crate | room | what |
//! |---|---|---|
//! | `crates/acts` |  | What a shell text would do, and rules over it |
//! | `crates/ask` |  | How an agent's event reaches the host of its project, and how the host's answer is said |
//! | `crates/run` |  | `hookwire-run`: runs a command and has every program start below it judged by a hookwire host |
//! | `crates/fleet` |  | What hosts on many machines share by a NATS server with JetStream: definitions that a team publishes, budgets that count everywhere, approvals, and one stream of verdicts |
//! | `crates/base` |  | What every room of hookwire stands on |
//! |  | `support` | Code that has nothing to do with hooks: strict JSON, numbers by their digits, digests, files, changes of a text and what differs between two, texts that hide nothing, words for a shell, the nearest name, amounts in words, where users and agents keep their files |
//! |  | `event` | The event: one lifecycle moment with its data |
//! |  | `verdict` | The answer of a hook, the outcome of its run, and the verdict: the one combined answer to an event |
//! |  | `syntax` | Definition files as people write them: texts in three formats, the tree that they become, what is wrong with it, and how a text is changed |
//! |  | `template` | Texts with placeholders for what an event says |
//! |  | `transport` | Bytes to messages and back |
//! | `crates/rules` |  | Whether a rule applies to an event |
//! |  | `agents` | What is known of coding agents: one file each, which `install`, `uninstall`, `doctor`, `import`, self-defense, the dialects, the tables of the book and the tests read |
//! |  | `matching` | Whether a hook applies to an event: matcher, `Tool(pattern)`, CEL |
//! |  | `contract` | The contract of a vocabulary: how hooks that are written in it are called, understood and combined |
//! |  | `policy` | The policy: which tools may be called at all, how often and within what bounds |
//! | `crates/dialects` |  | Other systems' vocabularies |
//! | `crates/handlers` |  | How a hook is carried out, and what handlers use |
//! |  | `services` | What handlers use and share: the way back to the client, a person, language models, the network, shared values, and events for listeners; and what stands for all that is outside while hooks are tested |
//! |  | `handlers` | How hooks are carried out |
//! | `crates/engine` |  | The hook host: definitions in, verdicts out |
//! |  | `hook` | The compiled hook: a definition that can't be wrong any more |
//! |  | `hook_set` | The hook set in force: immutable, in order of running, indexed so that cost hardly grows with the number of hooks that don't apply |
//! |  | `starts` | Which programs the hooks in force ask about when they start, so that whoever watches all starts asks about no others |
//! |  | `callable` | Which tools may be called at all, so that a list of tools can leave out the others |
//! |  | `engine` | From an event to a verdict: select, run, judge rewrites again, aggregate |
//! |  | `definitions` | Definition files: from text to hooks and diagnostics |
//! |  | `trust` | A project's definitions come with a clone, so they are in force only in a state that a person has looked at |
//! |  | `canaries` | Canaries: cases that are to be denied, tried by the hooks in force |
//! |  | `journal` | The record of a host's last events with their verdicts, and the counts of each hook, for people and editors that watch |
//! |  | `ledger` | The ledger: that an agent asked before a call of a tool, and what it was told |
//! |  | `host` | The host: the published hook set, the engine, the reload loop |
//! |  | `fleet` | What a host shares with others by the servers of a fleet |
//! |  | `embed` | The host within a Rust program: hooks as closures, beside those of files |
//! |  | `running` | Hosts that run, of this user: finding them, asking them, following what they judge |
//! |  | `face` | What programs that embed the host see, by the names of the package `hookwire`, which re-exports it |
//! | `crates/gateway` |  | The gateway between an MCP client and an MCP server: what they say goes through as it is, but for what hookwire judges |
//! | `crates/lsp` |  | The language server for definition files, on the connection that there is |
//! | `src` |  | hookwire: a hook host for AI agents |
//! |  | `suggest` | Definitions that a person may want, from what was judged: a question that always gets the same answer needn't be asked again, and what many sessions try and nobody looks at may be worth a guard |
//! |  | `history` | What running hosts have judged, kept on the disk of the user, without secrets, for as long as a person wants: searched by words and by what is known of an event, and told as JSON lines |
//! |  | `always` | An answer for always: the exception that it is, as narrow as the call allows, what it would have let pass of what is recorded, and how it is written into the file of the hook that asks |
//! |  | `permissions` | Permission rules of coding agents: read from the agent's own files, held against calls as its documents say, and said as rules of hookwire's |
//! |  | `transcripts` | Transcripts: what coding agents write down of the calls that they have made |
//! |  | `model_server` | A model on this machine: it has the agent run some commands, one after the other, and then it's done |
//! |  | `rpc` | JSON-RPC: the method table, and what the messages mean |
//! |  | `http` | The host over loopback HTTP: agents' http hooks, single JSON-RPC messages, and WebSockets as sessions |
//! |  | `inspector` | The page on which a person watches agents: a listener of this machine's own, for one browser of one user |
//! |  | `cli` | The command line: parses, calls the library, maps results to exit codes |
//! |  | `demo` | `hookwire demo`: an agent's session against a real host, with hooks edited in between |
//! | `crates/conformance` |  | Conversations of hookwire's protocol, tried on a host or a client of anybody's |
//! | `crates/testing` |  | What tests of several crates share: rows of `tests/data`, and a model server on loopback |
//!
//! # Invariants
//!
//! - A request judges with the set that was in force when it was read; a set is never changed.
//! - "No" is an answer and an error is not "no": `failure.rs` of the `engine` lists each place
//!   where one becomes the other, and a test finds any other.
//! - Nothing is on stdout but the protocol, and no child outlives its event.
//! - Nothing in `engine` opens a file, nothing in `matching` starts anything.
//! - What a guard or a rule has to look up or work through is done within the event's time, on a
//!   thread apart where it may take long (`services::aside`), and files are opened by
//!   `support::file`, which waits for nobody.

#![warn(missing_docs)]
// stdout belongs to the protocol, input never panics, and no file of anybody's is waited for
// (`clippy.toml`).
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

#[cfg(feature = "program")]
mod always;
#[cfg(feature = "program")]
mod cli;
#[cfg(feature = "program")]
mod demo;
// For the bench of a million events.
#[cfg(feature = "history")]
#[doc(hidden)]
pub mod history;
#[cfg(feature = "program")]
mod http;
#[cfg(feature = "program")]
mod inspector;
#[cfg(feature = "program")]
mod model_server;
#[cfg(feature = "program")]
mod permissions;
#[cfg(feature = "program")]
mod rpc;
#[cfg(feature = "program")]
mod suggest;
#[cfg(feature = "program")]
mod transcripts;

/// The program of the book, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../docs/embedding.md")]
struct Embedding;

/// ```compile_fail
/// // The guards' counters can't be named, so that no hook resets what another counts.
/// let guards = hookwire::Scope::Guards;
/// ```
#[cfg(doctest)]
struct GuardsCounters;

// For the tests of the cookbook.
#[doc(hidden)]
pub use hookwire_engine::definitions::cases;
#[doc(inline)]
pub use hookwire_engine::face::*;
// For the tests of the book and of agents.
#[doc(hidden)]
pub use hookwire_base::syntax::codes;
#[doc(hidden)]
pub use hookwire_rules::agents;

/// The large program.
#[cfg(feature = "program")]
#[doc(hidden)]
pub fn main() -> std::process::ExitCode {
    cli::main(demo::show)
}
