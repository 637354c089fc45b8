//! What hosts on many machines share by a NATS server with JetStream: definitions that a team
//! publishes, budgets that count everywhere, approvals, and one stream of verdicts. Nothing of
//! consensus, replication or delivery is written here; the server does it.
//!
//! This crate knows the bus and what is on it. It knows no hook, no event and no definition: those
//! are bytes to it, and hookwire's `fleet` room says what they mean.
//!
//! # Where things are
//!
//! | module | what |
//! |---|---|
//! | [`server`] | the connection: who, which servers, what a failure means |
//! | [`name`], [`digest`] | what may stand in a subject |
//! | [`streams`] | every stream, bucket and subject, in one table |
//! | [`key`], [`envelope`] | Ed25519 keys, and bytes that they have signed |
//! | [`bundle`] | the files that are published together, and the manifest of them |
//! | [`publish`] | publishing a bundle, and what became of it |
//! | [`follow`] | a host's side of that; `store` has it on disk |
//! | [`hosts`] | what hosts report of themselves |
//! | [`rates`] | how often they deny, doubt and fail by a bundle, and whether its canary is worse |
//! | [`spool`], [`verdicts`] | what hosts have judged: on the disk first, then in one stream, each verdict once |
//! | [`quota`], [`spend`] | what all hosts together may do, and may spend |
//! | [`state`] | values that hooks of all hosts share |
//! | [`notices`] | what tells whoever reads that there is something new |
//! | [`asks`] | questions that wait for a person, and one signed answer to each |
//! | [`pool`] | hosts that answer for clients which have none of their own |
//!
//! # Invariants
//!
//! - Everything that comes from the bus is hostile: sizes are bounded before it is parsed,
//!   signatures are checked before content, and a path is relative and plain before it is joined to
//!   another.
//! - Who did something is known by the subject, which a permission of the server guards, or by a
//!   signature.
//! - What is on the disk is hostile, too: `file` opens regular files, never waits, and reads no
//!   more than it is told.
//! - No secret is on the bus or in a log.

#![warn(missing_docs)]
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

pub mod asks;
pub mod bundle;
pub mod digest;
pub mod envelope;
pub mod follow;
#[cfg(test)]
mod hostile;
pub mod hosts;
pub mod key;
mod login;
pub mod name;
pub mod notices;
pub mod pool;
pub mod publish;
pub mod quota;
pub mod rates;
mod retry;
pub mod server;
pub mod spend;
pub mod spool;
pub mod state;
mod store;
pub mod streams;
pub mod verdicts;
