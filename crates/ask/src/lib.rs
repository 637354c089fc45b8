//! How an agent's event reaches the host of its project, and how the host's answer is said.
//!
//! Two programs that agents start share this: `hookwire hook`, which can do everything, and the
//! small `hookwire-run hook`, which is quick and does no more than this. Both must find the same
//! host, so where it is gets computed here and nowhere else. The rules, the agents' words and the
//! directions of failures are the host's and the large program's. [`mod@file`] is here because
//! every crate that opens files stands on this one.

pub mod attended;
pub mod exchange;
pub mod file;
pub mod limits;
pub mod look;
pub mod members;
pub mod peer;
pub mod places;
pub mod programs;
pub mod project;
pub mod said;
pub mod socket;
pub mod warm;

use std::fmt::Write;

/// The largest event, in bytes.
pub const MAX_EVENT: u64 = 64 * 1024 * 1024;
/// How long an event may take, unless it is said.
pub const TIME_LIMIT: std::time::Duration = std::time::Duration::from_secs(50);

/// The option with which an event is judged and the agent is told nothing of it.
pub const OBSERVE: &str = "--observe";
/// The option by which a host leaves out what is the machine's, because that has one of its own.
pub const WITHOUT_MACHINE: &str = "--without-machine";

/// Why an agent whose hook failed is denied what it is about to do.
pub fn refusal(problem: &str) -> String {
    format!("hookwire failed, so this is denied: {problem}")
}

/// What a command line says behind an option, as its next word or after `=`. Whoever has to answer
/// before the whole line is read asks so.
pub fn said_of_option<'w>(words: &[&'w str], option: &str) -> Option<&'w str> {
    words
        .iter()
        .enumerate()
        .find_map(|(at, word)| match word.strip_prefix(option)? {
            "" => words.get(at + 1).copied(),
            value => value.strip_prefix('='),
        })
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            // Writing into memory doesn't fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
