//! Running hosts of the workspace's folders: their real events, verdicts and counts.
//!
//! Attaches over their sockets, and again when one restarts. What they told stays when they are gone.

use super::Server;
use crate::event::Event;
use crate::verdict::Verdict;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What all attached hosts have told so far.
#[derive(Default)]
pub struct Live {}

/// An event that a running host has judged.
#[derive(Debug)]
pub struct Judged {
    /// The process of the host.
    pub host: u32,
    /// Counts the events of that host.
    pub seq: u64,
    /// When: RFC 3339, in UTC, to the millisecond.
    pub at: String,
    /// The event, as hooks read it.
    pub event: Arc<Event>,
    /// What came of it.
    pub verdict: Verdict,
}

/// What a hook has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// How often its conditions held.
    pub matched: u64,
    /// How often it said no.
    pub denied: u64,
    /// How often it wanted a person asked.
    pub asked: u64,
    /// How often it changed something.
    pub rewrote: u64,
    /// How often it failed.
    pub failed: u64,
}

/// A running host.
#[derive(Clone, Debug, Serialize)]
pub struct LiveHost {
    /// Its process.
    pub pid: u32,
    /// Its project root.
    pub root: String,
    /// The generation of its hooks.
    pub generation: u64,
}

impl Live {
    /// Nobody is attached yet.
    pub fn new() -> Arc<Live> {
        Arc::default()
    }

    /// The hosts that are attached now.
    pub fn hosts(&self) -> Vec<LiveHost> {
        Vec::new()
    }

    /// The last events, newest first.
    pub fn recent(&self) -> Vec<Arc<Judged>> {
        Vec::new()
    }

    /// What a hook of this name has done.
    pub fn counts(&self, _hook: &str) -> Counts {
        Counts::default()
    }

    /// The names of tools that were called.
    pub fn tools(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Has every attached host load its definitions; how many did.
    pub async fn reload(&self) -> usize {
        0
    }
}

/// Attaches to the running hosts of the server's workspaces, and to those that start later. Has the
/// editor told when something has changed.
pub(super) async fn follow(_server: Arc<Server>) {}
