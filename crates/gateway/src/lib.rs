//! The gateway between an MCP client and an MCP server: what they say goes through as it is, but for
//! what hookwire judges.
//!
//! [`Gateway`] takes messages and verdicts and gives messages and events. It does no I/O and knows
//! no transport: `hookwire mcp` carries.

pub mod ends;
pub mod gateway;
pub mod lines;
pub mod message;
pub mod methods;
pub mod pins;
pub mod replies;
mod tools;
pub mod verdict;

pub use ends::{Ends, Settings, Side, ToolsOfServers};
pub use gateway::Gateway;
