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
pub(super) fn status(server: &Server) -> Value {
    json!({ "hosts": server.live.hosts(), "events": server.live.total() })
}

/// Carries a command out.
pub async fn execute(snapshot: Snapshot, params: Value) -> Answer<Value> {
    Ok(match params["command"].as_str() {
        Some("hookwire.status") => status(&snapshot.server),
        Some("hookwire.reload") => json!({ "reloaded": snapshot.server.live.reload().await }),
        _ => Value::Null,
    })
}
