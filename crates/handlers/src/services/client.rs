//! The client as what runs for it may ask it: its callbacks, a person's approval, its own model.
//! The connection implements the trait; handlers know no wire.

use serde_json::Value;
use std::future::Future;
use std::pin::Pin;

/// The way back to a client.
pub trait Client: Send + Sync {
    /// Sends a request and gives the client's reply, or why there is none. Dropping the future
    /// cancels.
    fn request(&self, method: &'static str, params: Value) -> Reply;

    /// Tells it something.
    fn notify(&self, method: &'static str, params: &Value);

    /// The requests that it answers besides `hooks/invoke`.
    fn answers(&self) -> Answers;
}

/// A client's reply, or why there is none.
pub type Reply = Pin<Box<dyn Future<Output = Result<Value, String>> + Send>>;

/// Run this registered callback.
pub const INVOKE: &str = "hooks/invoke";
/// Ask a person.
pub const APPROVE: &str = "approval/request";
/// Use the agent's own model.
pub const COMPLETE: &str = "model/complete";

/// What a client answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// `approval/request`.
    pub approvals: bool,
    /// `model/complete`.
    pub models: bool,
}
