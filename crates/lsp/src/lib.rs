//! The language server for definition files, on the connection that there is.
//!
//! The reader takes every message in order: a change makes a new version of its `Document`, a
//! question takes a `Snapshot` of all documents and is answered on another thread, on what was
//! there when it came. A version is analysed once, by the first feature that needs it. Only
//! `Editor` writes to the connection.
//!
//! Positions are bytes everywhere but in `document::Lines`, which knows how the editor counts.
//!
//! # The order of the files
//!
//! A file uses only files above it in this list; `tests/architecture.rs` holds them to it.
//!
//! - texts and trees: `answer`, `plain_text`, `editor` (how it counts, what it can take),
//!   `context`, `texts` (what a text is, by its keys), `docs`, `half_typed`, `document`, `written`
//! - what is known of projects: `project` (all that is asked of the host), `workspaces`, `effects`,
//!   `sample`, `live`, `past`, `surroundings`, `standing`
//! - features, each a function of a document and its [surroundings](surroundings::Surroundings):
//!   `tokens`, `symbols`, `completion`, `hover`, `hints`, `report`, `listed`, `timeline`,
//!   `same_name`, `definition`, `rename`, `lenses`, `actions`
//! - what acts: `server` (the state), `diagnostics`, `run`, `trusting`, `commands`, `serve`
//! - the tables of methods: `methods`

// These docs are for those who work on hookwire: a link may lead to what is private.
#![allow(rustdoc::private_intra_doc_links)]
// stdout belongs to the protocol, input never panics, and no file of anybody's is waited for
// (`clippy.toml`).
#![cfg_attr(
    not(test),
    warn(
        clippy::disallowed_methods,
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

mod actions;
mod answer;
pub mod commands;
mod completion;
mod context;
mod definition;
mod diagnostics;
mod docs;
mod document;
mod editor;
mod effects;
mod half_typed;
mod hints;
mod hover;
mod lenses;
mod listed;
mod live;
mod methods;
mod past;
mod plain_text;
mod project;
mod rename;
mod report;
mod run;
mod same_name;
mod sample;
mod serve;
mod server;
mod standing;
mod surroundings;
mod symbols;
mod texts;
mod timeline;
mod tokens;
mod trusting;
mod workspaces;
mod written;

pub use answer::Refusal;
pub use methods::{NOTICES, QUERIES, is_editor, server_capabilities};
pub use server::Server;
