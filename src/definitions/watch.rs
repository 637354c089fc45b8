//! When to load again. The watcher only says "something changed"; what changed is the loader's to
//! find out, so a lost or doubled event does no harm.
//!
//! Directories are watched, not files: a watch on a file dies with an editor's rename-over. Where
//! watching fails (limits, network file systems) the directories are looked at regularly instead.

use super::load::Interest;
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How changes are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Watching {
    /// Not at all.
    Off,
    /// The kernel tells.
    Events,
    /// By looking regularly.
    Polling,
}

/// After a write that was closed, a rename or a deletion: long enough to take a checkout of many
/// files as one change, short enough not to be noticed.
const SETTLED: Duration = Duration::from_millis(12);
/// While some file was written but not closed: a slow writer's half file is not to be read.
const UNSETTLED: Duration = Duration::from_millis(150);
/// A directory that never comes to rest is loaded all the same.
const PATIENCE: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(500);

/// Calls `reload` in a thread of its own whenever something may have changed, until it answers
/// `None`. `reload` gives the directories to watch from then on; `announce` hears how.
pub fn spawn(
    first: BTreeMap<PathBuf, Interest>,
    force_polling: bool,
    reload: impl Fn() -> Option<BTreeMap<PathBuf, Interest>> + Send + 'static,
    announce: impl Fn(Watching) + Send + 'static,
) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name("watch".into())
        .spawn(move || run(first, force_polling, &reload, &announce))
        .map(drop)
}

fn run(
    mut wanted: BTreeMap<PathBuf, Interest>,
    force_polling: bool,
    reload: &dyn Fn() -> Option<BTreeMap<PathBuf, Interest>>,
    announce: &dyn Fn(Watching),
) {
    let (sender, events) = mpsc::channel();
    let mut watcher = match (force_polling, notify::recommended_watcher(sender)) {
        (false, Ok(watcher)) => Some(watcher),
        (false, Err(error)) => {
            tracing::warn!(%error, "Watching is not possible; looking at the definitions twice a second instead.");
            None
        }
        (true, _) => None,
    };
    let mut watched = HashSet::new();
    loop {
        if let Some(it) = &mut watcher
            && let Err(error) = rewatch(it, &mut watched, &wanted)
        {
            tracing::warn!(%error, "Watching failed; looking at the definitions twice a second instead.");
            watcher = None;
        }
        announce(if watcher.is_some() { Watching::Events } else { Watching::Polling });
        if watcher.is_some() {
            // What changed before the watch was in place.
            match reload() {
                Some(next) if next == wanted => {}
                Some(next) => {
                    wanted = next;
                    continue;
                }
                None => return,
            }
            if wait(&events, &wanted).is_err() {
                watcher = None;
            }
        } else {
            std::thread::sleep(POLL);
        }
        match reload() {
            Some(next) => wanted = next,
            None => return,
        }
    }
}

fn rewatch(
    watcher: &mut RecommendedWatcher,
    watched: &mut HashSet<PathBuf>,
    wanted: &BTreeMap<PathBuf, Interest>,
) -> notify::Result<()> {
    for gone in watched.iter().filter(|path| !wanted.contains_key(*path)).cloned().collect::<Vec<_>>() {
        // The directory may be gone itself.
        let _ = watcher.unwatch(&gone);
        watched.remove(&gone);
    }
    for path in wanted.keys() {
        // A directory that was replaced by another of its name has lost its watch: renewing one
        // that stands costs a system call.
        match watcher.watch(path, RecursiveMode::NonRecursive) {
            Ok(()) => {
                watched.insert(path.clone());
            }
            Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) || !path.exists() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits for something that matters and then for quiet.
fn wait(events: &Receiver<notify::Result<notify::Event>>, wanted: &BTreeMap<PathBuf, Interest>) -> Result<(), ()> {
    let mut open: HashSet<PathBuf> = HashSet::new();
    let mut since: Option<Instant> = None;
    loop {
        let quiet = match since {
            None => Duration::from_secs(3600),
            Some(since) => {
                let window = if open.is_empty() { SETTLED } else { UNSETTLED };
                match PATIENCE.checked_sub(since.elapsed()) {
                    Some(left) => window.min(left),
                    None => return Ok(()),
                }
            }
        };
        match events.recv_timeout(quiet) {
            Ok(Ok(event)) if event.need_rescan() => return Ok(()),
            Ok(Ok(event)) => {
                if note(&event, wanted, &mut open) {
                    since.get_or_insert_with(Instant::now);
                }
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "Watching failed; looking at the definitions twice a second instead.");
                return Err(());
            }
            Err(RecvTimeoutError::Timeout) if since.is_some() => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(()),
        }
    }
}

/// Whether the event matters; keeps track of files that are written but not closed.
fn note(event: &notify::Event, wanted: &BTreeMap<PathBuf, Interest>, open: &mut HashSet<PathBuf>) -> bool {
    let matters = event.paths.iter().any(|path| {
        let Some((parent, name)) = path.parent().zip(path.file_name()) else { return true };
        match wanted.get(parent) {
            Some(Interest::All) => true,
            Some(Interest::Names(names)) => names.contains(name),
            // The watched directory itself.
            None => wanted.contains_key(path),
        }
    });
    if !matters {
        return false;
    }
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
            for path in &event.paths {
                open.remove(path);
            }
            true
        }
        // Reading raises these too: a reload would trigger itself.
        EventKind::Access(_) => false,
        EventKind::Modify(ModifyKind::Data(_)) => {
            open.extend(event.paths.iter().cloned());
            true
        }
        _ => true,
    }
}
