//! What handlers use and share: the way back to the client, a person, language models, the network,
//! shared values, and events for listeners; and what stands for all that is outside while hooks are
//! tested.

pub mod approval;
pub mod approvals;
pub mod aside;
pub mod client;
pub mod conversation;
pub mod egress;
pub mod emit;
pub mod fakes;
pub mod fleet;
#[cfg(feature = "mcp")]
pub mod mcp_http;
pub mod models;
pub mod obstacle;
pub mod state;
