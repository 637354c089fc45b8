//! `workspace/executeCommand`: everything that the editor can do with hooks beyond their text. What
//! a command gives back is for extensions; editors without one are told with `window/showMessage`.

use super::{Answer, Server, Snapshot};
use serde_json::{Value, json};

/// Every command.
pub const COMMANDS: [&str; 7] = [
    "hookwire.run",
    "hookwire.explain",
    "hookwire.matches",
    "hookwire.hooks",
    "hookwire.events",
    "hookwire.status",
    "hookwire.reload",
];

/// What came of the last run of each hook, for the lens above it.
#[derive(Default)]
pub struct Runs {}

/// Which hosts are attached, and how the definitions stand.
pub(super) fn status(_server: &Server) -> Value {
    json!({})
}

/// Carries a command out.
pub async fn execute(_snapshot: Snapshot, _params: Value) -> Answer<Value> {
    Ok(Value::Null)
}
