//! Language models: one request in, one reply out, whoever provides it.
//!
//! Prompts, nonces and verdicts are the handlers' matter. What a provider's wire looks like is
//! known only in its file under [`providers`].

#[cfg(feature = "models")]
mod call;
mod name;
mod providers;
mod text;

pub use super::conversation::{
    CompleteParams, Message, Model, ModelError, ModelReply, Request, Tool, ToolCall, ToolResult,
};
#[cfg(feature = "models")]
pub use call::{Bound, random_hex};
pub use name::{ModelRef, RawModel};
#[cfg(feature = "models")]
pub use text::clean;
