//! How a hook is carried out, and what handlers use.

// Without the optional handlers, what only they use is dead.
#![cfg_attr(
    not(all(
        feature = "script",
        feature = "http",
        feature = "models",
        feature = "mcp",
        feature = "fleet"
    )),
    allow(dead_code, unused_imports, unused_variables)
)]
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

pub mod handlers;
pub mod services;
