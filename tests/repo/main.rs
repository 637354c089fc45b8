//! What the repository says of itself is so: its rooms, schemas, pages, examples, the cookbook and
//! the demo.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod agents;
mod architecture;
mod cases;
mod circles;
mod codes;
mod cookbook;
mod definitions;
mod demo;
mod help;
mod pages;

#[path = "../support/mod.rs"]
mod support;
