//! Shared by the readers of replies. An error finishes the sentence "failed to ...".

use crate::contract::Exit;
use serde_json::{Map, Value};
use std::fmt::Display;

/// A reply that can't be read.
pub(super) fn unreadable(what: impl Display) -> String {
    format!("read the reply: {what}")
}

/// The members of a reply.
pub(super) fn members(reply: &Value) -> Result<&Map<String, Value>, String> {
    reply.as_object().ok_or_else(|| unreadable("it is not a JSON object"))
}

/// A text among the members; null is absent.
pub(super) fn text(members: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(unreadable(format_args!("`{key}` is not a string"))),
    }
}

/// The JSON on a command's stdout.
pub(super) fn parse_stdout(stdout: &str) -> Result<Value, String> {
    crate::support::json::parse(stdout).map_err(|error| format!("read the reply on stdout: {error}"))
}

/// How a command failed, by its exit.
pub(super) fn bad_exit(exit: &Exit<'_>) -> String {
    let cause = match exit.stderr.trim().lines().last() {
        // The cause usually is at the end of stderr.
        Some(line) => format!(": {}", excerpt(line)),
        None => String::new(),
    };
    match exit.code {
        Some(code) => format!("run: exit status {code}{cause}"),
        None => format!("run: ended by a signal{cause}"),
    }
}

/// The beginning of a text's first line.
pub(super) fn excerpt(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= 200 { line.to_string() } else { line.chars().take(200).chain(['…']).collect() }
}

/// The text, or the default if it is empty.
pub(super) fn or(text: &str, default: &str) -> String {
    if text.is_empty() { default.to_string() } else { text.to_string() }
}
