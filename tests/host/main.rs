//! A client that talks frames with the built binary: what each part of the host promises.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[cfg(feature = "models")]
mod agent;
#[cfg(feature = "script")]
mod attacks;
mod callable;
mod canaries;
mod conformance;
mod guards;
mod handlers;
mod http;
#[cfg(feature = "script")]
mod load;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "models")]
mod prompt;
mod reload;
#[cfg(feature = "script")]
mod script;
mod session;
mod shared;
mod standing;
mod wire;

#[path = "../support/mod.rs"]
mod support;
