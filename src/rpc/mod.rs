//! JSON-RPC: the method table, and what the messages mean.
//!
//! The router is jsonrpsee's; framing is `transport`'s matter, judging the engine's.

mod aside;
pub mod askers;
pub mod connection;
mod envelope;
pub mod error;
mod explained;
mod guarded;
mod in_flight;
pub mod methods;
pub mod outgoing;
mod params;
pub mod protocol;
pub mod schema;
pub mod serve;
pub mod session;
pub mod single;

/// The target of the log's lines about verdicts: `serve --log-verdicts` lets them through.
pub const VERDICTS: &str = "verdicts";
