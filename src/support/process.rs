//! What the kernel says of a process.

use std::fmt::Display;

/// The fields of `/proc/PID/stat` behind the program's name, which may contain anything: the first one is the state.
pub(crate) fn stat(pid: impl Display) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(") ").map(|(_, fields)| fields.to_string())
}
