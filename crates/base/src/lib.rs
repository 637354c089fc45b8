//! What every room of hookwire stands on.

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

pub mod event;
pub mod support;
pub mod syntax;
pub mod template;
pub mod transport;
pub mod verdict;
