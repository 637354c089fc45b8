//! JSON-RPC: the method table, and what the messages mean.
//!
//! The router is jsonrpsee's; framing is `transport`'s matter, judging the engine's.

pub mod connection;
pub mod methods;
pub mod protocol;
pub mod schema;
pub mod serve;
pub mod session;
