//! Answers about a text that came before: agents repeat what they do. An answer is kept beside the
//! text with all that it was found by, so that it is given again only while that stands. Mostly it
//! depends on nothing but the text; some paths may have to lead where they led, which the kernel
//! says at once.
//!
//! Kept by thread while an answer is found, because whatever looks at the system is a leaf of it.

use super::at_hand;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Answers that are kept beside one text.
const MOST_NOTES: usize = 8;
/// Paths that one answer may depend on.
const MOST_PATHS: usize = 16;

/// Who asks: a set of hooks, a guard. Whoever else asks has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inquirer(u64);

impl Default for Inquirer {
    fn default() -> Inquirer {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Inquirer(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What an answer depends on beside the text and the call that has it.
#[derive(Debug, Default)]
pub(super) struct Grounds {
    /// No link takes part in these paths.
    straight: Vec<PathBuf>,
    /// Other looks were remembered until then.
    until: Option<Instant>,
    /// It depends on something else, so that it can't be given again.
    has_more: bool,
}

impl Grounds {
    /// Notes them for whoever is given an answer that was found by them.
    pub(super) fn note(&self) {
        self.straight.iter().for_each(|path| by_straight(path));
        self.until.into_iter().for_each(until);
        if self.has_more {
            by_more();
        }
    }

    fn stand(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
            && self.straight.iter().all(|path| at_hand::is_straight(path))
    }
}

thread_local! {
    static GROUNDS: RefCell<Option<Grounds>> = const { RefCell::new(None) };
}

/// Notes a path in which no link takes part.
pub(super) fn by_straight(path: &Path) {
    with_grounds(|grounds| {
        if !grounds.straight.iter().any(|known| known == path) {
            grounds.straight.push(path.to_path_buf());
        }
        grounds.has_more |= grounds.straight.len() > MOST_PATHS;
    });
}

/// Notes that what was looked up before counts until then.
pub(super) fn until(end: Instant) {
    with_grounds(|grounds| {
        grounds.until = Some(grounds.until.map_or(end, |until| until.min(end)));
    });
}

/// Notes that the answer depends on something else about the system.
pub fn by_more() {
    with_grounds(|grounds| grounds.has_more = true);
}

fn with_grounds(note: impl FnOnce(&mut Grounds)) {
    GROUNDS.with_borrow_mut(|grounds| {
        if let Some(grounds) = grounds {
            note(grounds);
        }
    });
}

/// Finds an answer, and what it was found by.
pub(super) fn found_by<T>(find: impl FnOnce() -> T) -> (T, Grounds) {
    /// Also if it panics: the thread lives on.
    struct Outer(Option<Grounds>);
    impl Drop for Outer {
        fn drop(&mut self) {
            GROUNDS.set(self.0.take());
        }
    }
    let outer = Outer(GROUNDS.replace(Some(Grounds::default())));
    let found = find();
    let grounds = GROUNDS.take().unwrap_or_default();
    drop(outer);
    grounds.note();
    (found, grounds)
}

/// What of a call an answer depends on beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    pub(super) by: Inquirer,
    /// The event and the tool, under each name that they have.
    pub(super) names: [Option<&'a str>; 4],
    pub(super) base: &'a Path,
}

/// An answer: what is left to look at.
#[derive(Debug)]
struct Note {
    by: Inquirer,
    names: [Option<Box<str>>; 4],
    base: PathBuf,
    left: Arc<[u32]>,
    grounds: Grounds,
}

impl Note {
    fn answers(&self, asked: &Asked<'_>) -> bool {
        self.by == asked.by
            && self.base.as_os_str() == asked.base.as_os_str()
            && self.names.each_ref().map(Option::as_deref) == asked.names
    }
}

/// The answers beside a text.
#[derive(Debug, Default)]
pub(super) struct Notes(Mutex<Vec<Note>>);

impl Notes {
    /// What was left last time, if nothing has changed since then.
    pub(super) fn recall(&self, asked: &Asked<'_>) -> Option<Arc<[u32]>> {
        let notes = self.0.lock();
        let note = notes.iter().find(|note| note.answers(asked))?;
        note.grounds.stand().then(|| note.left.clone())
    }

    /// Finds an answer, and keeps what is left of it, if that is told.
    pub(super) fn keep<T>(
        &self,
        asked: &Asked<'_>,
        find: impl FnOnce() -> T,
        left: impl FnOnce(&T) -> Option<Arc<[u32]>>,
    ) -> T {
        let (found, grounds) = found_by(find);
        let Some(left) = left(&found).filter(|_| !grounds.has_more) else {
            return found;
        };
        let mut notes = self.0.lock();
        notes.retain(|note| !note.answers(asked));
        if notes.len() >= MOST_NOTES {
            notes.remove(0);
        }
        notes.push(Note {
            by: asked.by,
            names: asked.names.map(|name| name.map(Into::into)),
            base: asked.base.to_path_buf(),
            left,
            grounds,
        });
        found
    }
}
