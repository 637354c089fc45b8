//! The language server of the built binary, with an editor on the other end.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod complete;
mod edit;
mod folders;
mod lens;
mod live;
mod mistakes;
mod queries;

#[path = "../support/mod.rs"]
mod support;
