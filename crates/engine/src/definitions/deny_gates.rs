//! The definitions that stand in where those that should be in force can't be believed.

use serde_json::json;

/// Definitions that deny every tool call.
pub(super) fn deny_gates(name: &str, message: &str) -> String {
    let gates = ["PreToolUse", "PermissionRequest"];
    json!({ "hooks": [{ "name": name, "on": gates, "deny": message }] }).to_string()
}

/// Definitions that ask before every tool call.
pub(super) fn ask_at_gates(name: &str, message: &str) -> String {
    json!({ "hooks": [{ "name": name, "on": "PreToolUse", "ask": message }] }).to_string()
}
