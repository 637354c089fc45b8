//! A fleet on real servers. `FLEET_KILLS`, `FLEET_ROWS` and `HOSTS` are explained where they count:
//! in `faults` and `thousand`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;
mod counts;
mod definitions;
mod faults;
mod login;
mod pool;
mod server;
#[path = "../../../../tests/support/skipped.rs"]
mod skipped;
mod thousand;
mod verdicts;
