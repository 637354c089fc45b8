//! Definition files: from text to hooks and diagnostics.
//!
//! `syntax` reads YAML, TOML and JSON into one spanned tree. `written` is what may stand in it,
//! `compile` (with `policy`, `lint`, `rules` and `excepted`) turns the tree into hooks, `check`
//! does both for one text, `cases` reads what hooks are expected to say, `cookbook` has the rules
//! that come with the program, `layer_dir` is where they are, `approved` is where the approved
//! state of a project is kept, `worktrees` finds the hooks that two worktrees of git share, `mend`
//! writes fixes of mistakes, `links` follows symlinks, `file_state` is what is known of one file,
//! `last_good` keeps that on disk for the next host, `signed` is what a fleet has published, `load`
//! has it of all files between reloads, `watch` says when to look again, `kernel` tells it of
//! changes. `published_sets` is by which bundle of a fleet a host has judged, `untrusted` is what
//! becomes of calls in a project that nobody has trusted. Nothing past this room sees what was written, only what was meant.

pub mod approved;
pub mod cases;
pub mod check;
pub mod compile;
pub mod cookbook;
mod deny_gates;
pub mod embedded;
mod excepted;
mod file_state;
mod kernel;
pub mod last_good;
pub mod layer_dir;
mod links;
mod lint;
pub mod load;
pub mod mend;
pub mod names;
pub mod neighbours;
pub mod origin;
mod policy;
pub(crate) mod published_sets;
mod replies;
mod rule_places;
mod rules;
pub mod scan;
pub mod schema;
pub mod signed;
pub mod slips;
#[cfg(test)]
mod tests;
pub mod untrusted;
pub mod watch;
pub mod worktrees;
mod written;
