//! What the kernel says of a process.

use super::file::read_text;
use std::fmt::Display;

/// The fields of `/proc/PID/stat` behind the program's name, which may contain anything: the first
/// one is the state.
pub fn stat(pid: impl Display) -> Option<String> {
    let text = read_text(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(") ").map(|(_, fields)| fields.to_string())
}
