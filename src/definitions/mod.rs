//! Definition files: from text to hooks and diagnostics.
//!
//! `formats` reads YAML, TOML and JSON into one spanned tree (`node`), `compile` turns the tree
//! into hooks, `check` does both for one text, `load` keeps what is known of every file between reloads, `watch` says when to look
//! again. Nothing past this module sees what was written, only what was meant.

pub mod check;
pub mod compile;
pub mod load;
mod names;
pub mod schema;
#[cfg(test)]
mod tests;
pub mod watch;
