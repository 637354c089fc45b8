//! Commands below `hookwire-run`, with a stand-in for the host.
//!
//! `HOOKWIRE_RUN_TIMES=1000` repeats what fails rarely so often.

#![cfg(target_os = "linux")]

mod asked;
mod attacks;
mod ends;
#[path = "../../../../tests/support/skipped.rs"]
mod skipped;
mod support;
mod work;
