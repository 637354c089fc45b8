//! When to load again. The watcher only says "something changed"; what changed is the loader's to
//! find out, so a lost or doubled event does no harm.
//!
//! Directories are watched, not files: a watch on a file dies with an editor's rename-over. Where
//! watching fails (limits, network file systems) the directories are looked at regularly instead.

use super::cases::{is_cases_file, is_definition_file};
use super::kernel::Kernel;
use super::load::{Loaded, Look};
use super::scan::{Interest, Watch};
use hookwire_base::support::failpoint;
use notify::event::{AccessKind, AccessMode, CreateKind, Event, EventKind, ModifyKind, RenameMode};
use parking_lot::{Condvar, Mutex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::mem::take;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

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

/// After a write that was closed, a rename or a creation: too short for anybody to notice.
const SETTLED: Duration = Duration::from_millis(12);
/// The kernel's clock for files may be late by this much.
const CLOCK_TICK: Duration = Duration::from_millis(10);
/// Once more has happened than one save does, with pauses of a busy machine: a checkout of many
/// files is one change.
const BURST: Duration = Duration::from_millis(60);
const MANY: usize = 16;
/// A directory that never comes to rest is loaded all the same.
const PATIENCE: Duration = Duration::from_secs(1);
/// A file that was written to and not closed is left alone, but not for ever.
const ABANDONED: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(500);
/// The second look at a file that was just found changed.
const SECOND_LOOK: Duration = Duration::from_millis(100);

/// How many changes may wait to be looked at: in a directory where others write all the time, more
/// happen than that.
const MAX_WAITING: usize = 4096;

/// Ends the watching when it is dropped.
pub struct Watcher(Arc<Messages>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.tell(|waiting| waiting.is_over = true);
    }
}

/// What was told and isn't heard yet. It takes memory only while something waits.
#[derive(Default)]
struct Messages {
    waiting: Mutex<Waiting>,
    news: Condvar,
}

#[derive(Default)]
struct Waiting {
    changes: VecDeque<notify::Result<Event>>,
    /// Changes found no place.
    is_lost: bool,
    is_over: bool,
}

/// The message that ended a wait.
enum Told {
    Changed(notify::Result<Event>),
    /// More happened than could be told.
    Lost,
    /// Nothing has happened until then.
    Nothing,
    End,
}

impl Messages {
    fn tell(&self, what: impl FnOnce(&mut Waiting)) {
        what(&mut self.waiting.lock());
        self.news.notify_one();
    }

    /// Never waits for a place: the thread that tells of changes also answers whoever reads them.
    fn changed(&self, event: notify::Result<Event>) {
        self.tell(|waiting| match waiting.changes.len() < MAX_WAITING {
            true => waiting.changes.push_back(event),
            false => waiting.is_lost = true,
        });
    }

    fn next(&self, until: Option<Instant>) -> Told {
        let mut waiting = self.waiting.lock();
        let mut is_late = false;
        loop {
            if waiting.is_over {
                return Told::End;
            }
            if take(&mut waiting.is_lost) {
                return Told::Lost;
            }
            if let Some(event) = waiting.changes.pop_front() {
                return Told::Changed(event);
            }
            match until {
                _ if is_late => return Told::Nothing,
                Some(until) => is_late = self.news.wait_until(&mut waiting, until).timed_out(),
                None => self.news.wait(&mut waiting),
            }
        }
    }
}

/// Calls `reload` in a thread of its own whenever something may have changed, until it answers
/// `None`. What it answers says where to watch from then on; `announce` hears how, the first time
/// before this returns.
///
/// # Errors
/// No thread could be started.
pub fn spawn(
    wanted: Watch,
    force_polling: bool,
    reload: impl Fn(Look<'_>) -> Option<Loaded> + Send + 'static,
    announce: impl Fn(Watching) + Send + 'static,
) -> std::io::Result<Watcher> {
    let messages = Arc::<Messages>::default();
    let mut places = Places {
        kernel: None,
        watched: HashMap::new(),
    };
    if !force_polling {
        let messages = messages.clone();
        let started =
            Kernel::new(Box::new(move |event| messages.changed(event))).and_then(|kernel| {
                places.kernel = Some(kernel);
                places.watch(&wanted)
            });
        if let Err(error) = started {
            places.give_up(&error);
        }
    }
    announce(places.watching());
    let watcher = Watcher(messages.clone());
    let run = move || run(&wanted, &mut places, &messages, &reload, &announce);
    std::thread::Builder::new()
        .name("watch".into())
        .spawn(run)?;
    Ok(watcher)
}

fn run(
    wanted: &Watch,
    places: &mut Places,
    messages: &Messages,
    reload: &dyn Fn(Look<'_>) -> Option<Loaded>,
    announce: &dyn Fn(Watching),
) {
    let mut wanted = wanted.clone();
    let mut unfinished = Unfinished::default();
    // Files may have changed before the watches were in place.
    let mut is_news = true;
    // When to look again, whatever happens until then.
    let mut again: Option<Instant> = None;
    let mut poll = POLL;
    loop {
        if places.kernel.is_none() {
            if !pause(messages, poll) {
                return;
            }
            let Some(loaded) = reload(Look::Settled) else {
                return;
            };
            poll = if loaded.unsettled || loaded.again.is_some() {
                SECOND_LOOK
            } else {
                POLL
            };
            continue;
        }
        // A change from here on is left to the next load, because this wait didn't see it.
        let quiet_since = match wait(messages, is_news, again, &wanted, places, &mut unfinished) {
            Waited::Settled => SystemTime::now().checked_sub(CLOCK_TICK),
            Waited::Restless => None,
            Waited::Ended => return,
            Waited::Failed(error) => {
                places.give_up(&error);
                announce(places.watching());
                continue;
            }
        };
        let Some(loaded) = reload(Look::Holding {
            open: &unfinished.open(),
            quiet_since,
        }) else {
            return;
        };
        wanted = loaded.watch;
        again = loaded.again.map(|pause| Instant::now() + pause);
        is_news = match places.watch(&wanted) {
            Ok(is_new) => is_new || loaded.unsettled,
            Err(error) => {
                places.give_up(&error);
                announce(places.watching());
                true
            }
        };
    }
}

/// Waits, whatever is said meanwhile, unless it is the end.
fn pause(messages: &Messages, time: Duration) -> bool {
    let until = Some(Instant::now() + time);
    loop {
        match messages.next(until) {
            Told::Changed(_) | Told::Lost => {}
            Told::Nothing => return true,
            Told::End => return false,
        }
    }
}

/// The directories in which the kernel reports changes.
struct Places {
    /// `None`: the directories are looked at regularly.
    kernel: Option<Kernel>,
    /// And what of each matters.
    watched: HashMap<PathBuf, Interest>,
}

impl Places {
    fn watching(&self) -> Watching {
        if self.kernel.is_some() {
            Watching::Events
        } else {
            Watching::Polling
        }
    }

    fn give_up(&mut self, error: &notify::Error) {
        tracing::warn!(%error, "Watching the definitions failed; looking at them twice a second instead.");
        *self = Places {
            kernel: None,
            watched: HashMap::new(),
        };
    }

    /// Watches these directories and no others. Whether a watch is new, so that what changed before
    /// it was in place has to be looked for.
    fn watch(&mut self, wanted: &Watch) -> notify::Result<bool> {
        let Some(kernel) = &mut self.kernel else {
            return Ok(false);
        };
        if failpoint::is_due("watch") {
            return Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch));
        }
        for (gone, _) in self
            .watched
            .extract_if(|path, _| !wanted.contains_key(path))
        {
            kernel.unwatch(&gone);
        }
        let mut is_new = false;
        for (path, interest) in wanted {
            if self.watched.get(path) == Some(interest) {
                continue;
            }
            if let Some(what) = is_remote(path) {
                let message = format!(
                    "{} is on {what}, which doesn't tell of others' changes",
                    path.display()
                );
                return Err(notify::Error::generic(&message));
            }
            match kernel.watch(path, interest) {
                Ok(()) => {
                    self.watched.insert(path.clone(), interest.clone());
                    is_new = true;
                }
                // It went meanwhile; its parent is watched.
                Err(_) if !path.is_dir() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(is_new)
    }

    fn catch_up(&mut self) {
        self.kernel.iter_mut().for_each(Kernel::catch_up);
    }

    /// A directory that was replaced has lost its watch, and so has what was in it.
    fn forget(&mut self, replaced: &Path) {
        self.watched.retain(|path, _| !path.starts_with(replaced));
    }
}

/// The kind of a file system whose changes are made on another machine.
#[cfg(target_os = "linux")]
fn is_remote(path: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(path).ok()?.f_type;
    // From linux/magic.h and the sources of the file systems.
    match kind as u64 & 0xffff_ffff {
        0x6969 => Some("NFS"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("SMB"),
        0x0102_1997 => Some("9p"),
        0x6573_5546 => Some("FUSE"),
        0x00c3_6400 => Some("Ceph"),
        0x5346_414f | 0x6b41_4653 => Some("AFS"),
        0x7863_f7a1 | 0x786f_4256 => Some("a virtual machine's shared folder"),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn is_remote(_: &Path) -> Option<&'static str> {
    None
}

enum Waited {
    /// Nothing has happened for a while.
    Settled,
    /// It never came to rest.
    Restless,
    Failed(notify::Error),
    Ended,
}

/// Files that are not to be read yet.
#[derive(Default)]
struct Unfinished {
    /// Written to and not closed, and when.
    open: Vec<(PathBuf, Instant)>,
}

impl Unfinished {
    fn open(&self) -> HashSet<PathBuf> {
        self.open.iter().map(|(path, _)| path.clone()).collect()
    }

    fn opened(&mut self, path: &Path) {
        self.closed(path);
        self.open.push((path.to_path_buf(), Instant::now()));
    }

    fn closed(&mut self, path: &Path) {
        self.open.retain(|(open, _)| !open.starts_with(path));
    }
}

/// Waits for something that matters, unless there `is_news` already, and then for quiet.
fn wait(
    messages: &Messages,
    is_news: bool,
    again: Option<Instant>,
    wanted: &Watch,
    places: &mut Places,
    unfinished: &mut Unfinished,
) -> Waited {
    let mut n_changes = 0;
    let mut is_caught_up = false;
    // When the first and the last thing that matters happened.
    let mut since: Option<(Instant, Instant)> = is_news.then(|| (Instant::now(), Instant::now()));
    loop {
        if since.is_some_and(|(first, _)| first.elapsed() >= PATIENCE) {
            return Waited::Restless;
        }
        let quiet = since.map(|(first, last)| {
            let window = if n_changes > MANY { BURST } else { SETTLED };
            (last + window).min(first + PATIENCE)
        });
        let given_up = unfinished
            .open
            .iter()
            .map(|(_, written)| *written + ABANDONED)
            .min();
        let until = [quiet, given_up, again].into_iter().flatten().min();
        let was_caught_up = std::mem::replace(&mut is_caught_up, false);
        let told = match messages.next(until) {
            Told::Changed(Ok(event)) if event.need_rescan() => Told::Lost,
            told => told,
        };
        match told {
            Told::Lost => {
                // Directories may be replaced and files may be closed unseen.
                places.watched.clear();
                *unfinished = Unfinished::default();
                return Waited::Restless;
            }
            Told::Changed(Ok(event)) => {
                if note(&event, wanted, places, unfinished) {
                    let now = Instant::now();
                    n_changes += 1;
                    since = Some((since.map_or(now, |(first, _)| first), now));
                }
            }
            Told::Changed(Err(error)) => return Waited::Failed(error),
            Told::End => return Waited::Ended,
            Told::Nothing if !was_caught_up => {
                places.catch_up();
                is_caught_up = true;
            }
            Told::Nothing => {
                unfinished
                    .open
                    .retain(|(_, written)| written.elapsed() < ABANDONED);
                return Waited::Settled;
            }
        }
    }
}

/// Whether the event matters; keeps track of what is unfinished and of directories that were
/// replaced.
fn note(event: &Event, wanted: &Watch, places: &mut Places, unfinished: &mut Unfinished) -> bool {
    let mut matters = false;
    for path in &event.paths {
        let about = About::classify(path, wanted);
        if about == About::Nothing {
            continue;
        }
        matters |= match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
                unfinished.closed(path);
                about != About::Other
            }
            // Reading raises these too: a reload would trigger itself.
            EventKind::Access(_) => false,
            EventKind::Modify(ModifyKind::Data(_)) => {
                if about != About::Other {
                    unfinished.opened(path);
                }
                about != About::Other
            }
            EventKind::Create(kind) => {
                places.forget(path);
                // Whoever has made it may be about to write.
                let is_empty =
                    |path| fs::symlink_metadata(path).is_ok_and(|it| it.is_file() && it.len() == 0);
                if kind == CreateKind::File && is_empty(path) {
                    unfinished.opened(path);
                }
                true
            }
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
                places.forget(path);
                unfinished.closed(path);
                true
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::To)) => {
                places.forget(path);
                unfinished.closed(path);
                true
            }
            _ => true,
        };
    }
    matters
}

/// How a path matters to the definitions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Nothing,
    /// A file of definitions or of cases, or what leads to one.
    Definition,
    /// Something else in a directory of definitions; it may be a directory or a symlink.
    Other,
}

impl About {
    fn classify(path: &Path, wanted: &Watch) -> About {
        let is_definition = is_definition_file(path) || is_cases_file(path);
        match path
            .parent()
            .zip(path.file_name())
            .map(|(parent, name)| (wanted.get(parent), name))
        {
            Some((Some(Interest { names, .. }), name)) if names.contains(name) => About::Definition,
            Some((Some(Interest { all: true, .. }), name)) => {
                if is_definition && !super::layer_dir::is_hidden(name) {
                    About::Definition
                } else {
                    About::Other
                }
            }
            // The watched directory itself.
            _ if wanted.contains_key(path) => About::Other,
            _ => About::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(n: usize) -> Messages {
        let messages = Messages::default();
        (0..n).for_each(|_| messages.changed(Ok(Event::new(EventKind::Any))));
        messages
    }

    #[test]
    fn more_than_can_wait_is_told_as_lost() {
        let messages = full(MAX_WAITING + 1);
        assert!(matches!(messages.next(None), Told::Lost));
        let now = Some(Instant::now());
        for _ in 0..MAX_WAITING {
            assert!(matches!(messages.next(now), Told::Changed(Ok(_))));
        }
        assert!(matches!(messages.next(now), Told::Nothing));
    }

    #[test]
    fn the_end_is_heard_before_what_waits() {
        for waiting in [0, MAX_WAITING] {
            let messages = Arc::new(full(waiting));
            drop(Watcher(messages.clone()));
            assert!(matches!(messages.next(None), Told::End));
        }
    }
}
