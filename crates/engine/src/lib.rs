//! The hook host: definitions in, verdicts out.

// These docs are for those who work on hookwire: a link may lead to what is private.
#![allow(rustdoc::private_intra_doc_links)]
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

pub mod callable;
pub mod canaries;
pub mod definitions;
pub mod embed;
pub mod engine;
pub mod face;
#[cfg(feature = "fleet")]
pub mod fleet;
pub mod hook;
pub mod hook_set;
pub mod host;
pub mod journal;
pub mod ledger;
pub mod running;
pub mod starts;
pub mod trust;
