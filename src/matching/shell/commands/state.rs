//! What is known where the walk is: the directory, which variables are set, what a function or a text was given. Where a text
//! may take one way or another, only what holds on each of them is known.

use super::super::expand::Word;
use super::{Passed, Walk};
use compact_str::{CompactString, format_compact};
use smallvec::SmallVec;
use std::collections::HashSet;

/// The directories that a command may run in, as they are reached from where the text begins; none if that isn't told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Directories(SmallVec<[CompactString; 1]>);

impl Directories {
    /// More are taken for any.
    const MOST: usize = 8;

    /// Where the text begins.
    pub(super) fn first() -> Directories {
        Directories([CompactString::default()].into())
    }

    pub(super) fn unknown() -> Directories {
        Directories(SmallVec::new())
    }

    /// Whether it is certain to be where the text begins.
    pub(in super::super) fn is_first(&self) -> bool {
        matches!(self.0.as_slice(), [only] if only.is_empty())
    }

    /// Each of them; none if it may be any.
    pub(in super::super) fn all(&self) -> &[CompactString] {
        &self.0
    }

    /// After a change to `path`, which begins at the root, at the home with `~`, or where the command runs.
    pub(super) fn changed(&self, path: &str) -> Directories {
        let mut changed = SmallVec::new();
        for directory in &self.0 {
            let whole = match path.starts_with(['/', '~']) || directory.is_empty() {
                true => CompactString::from(path),
                false => format_compact!("{directory}/{path}"),
            };
            match tidied(&whole) {
                Some(whole) if changed.contains(&whole) => {}
                Some(whole) => changed.push(whole),
                None => return Directories::unknown(),
            }
        }
        Directories(changed)
    }

    pub(super) fn join(&mut self, other: &Directories) {
        if self.0.is_empty() || other.0.is_empty() {
            return *self = Directories::unknown();
        }
        for directory in &other.0 {
            if !self.0.contains(directory) {
                self.0.push(directory.clone());
            }
        }
        if self.0.len() > Directories::MOST {
            *self = Directories::unknown();
        }
    }
}

/// A path without `.` and `..`, as a shell goes there; nothing if it leads above the home, or above what a pattern stands for.
fn tidied(path: &str) -> Option<CompactString> {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", None) if is_absolute => {}
            ("..", None | Some(&"..")) => parts.push(part),
            ("..", Some(last)) if last.starts_with('~') || last.contains(['*', '?', '[']) => return None,
            ("..", Some(_)) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    Some(format_compact!("{}{}", if is_absolute { "/" } else { "" }, parts.join("/")))
}

/// The names of variables that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SetNames {
    here: HashSet<String>,
    /// Those that another shell is given, too.
    exported: HashSet<String>,
    /// `set -a`: all are.
    exports_all: bool,
}

impl SetNames {
    pub(super) fn has(&self, name: &str) -> bool {
        self.here.contains(name)
    }

    pub(super) fn set(&mut self, name: &str) {
        self.here.insert(name.to_string());
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.here.remove(name);
    }

    pub(super) fn export(&mut self, name: &str) {
        self.exported.insert(name.to_string());
    }

    pub(super) fn export_none(&mut self) {
        self.exported.clear();
        self.exports_all = false;
    }

    pub(super) fn export_all(&mut self) {
        self.exports_all = true;
    }

    fn of_another_shell(&self) -> SetNames {
        let is_given = |name: &&String| self.exports_all || self.exported.contains(*name);
        SetNames { here: self.here.iter().filter(is_given).cloned().collect(), ..self.clone() }
    }

    fn join(&mut self, other: &SetNames) {
        self.here.retain(|name| other.here.contains(name));
        self.exported.retain(|name| other.exported.contains(name));
        self.exports_all &= other.exports_all;
    }
}

/// What is known at one place of the walk.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) directories: Directories,
    pub(super) names: SetNames,
    pub(super) given: Option<Passed>,
}

impl State {
    /// What is known where the text may have come from either.
    pub(super) fn join(&mut self, other: &State) {
        self.directories.join(&other.directories);
        self.names.join(&other.names);
        match (&mut self.given, &other.given) {
            (Some(own), Some(other)) if own.words == other.words => own.shifted |= other.shifted,
            (None, None) => {}
            (own, _) => *own = Some(Passed::new(&[Word::computed()])),
        }
    }
}

impl Walk {
    /// What is known here. To copy it is work, too: a text may have many names and need many copies.
    pub(super) fn state(&mut self) -> State {
        self.spend(self.set_names.here.len());
        State { directories: self.directories.clone(), names: self.set_names.clone(), given: self.positional.clone() }
    }

    pub(super) fn restore(&mut self, state: State) {
        State { directories: self.directories, names: self.set_names, given: self.positional } = state;
    }

    /// Goes on from where the text is or from `state`.
    pub(super) fn join(&mut self, state: &State) {
        let mut joined = self.state();
        joined.join(state);
        self.restore(joined);
    }

    /// Reads what runs in a shell of its own that begins as this one is: what it changes is changed nowhere else.
    pub(super) fn in_subshell<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.state();
        let done = read(self);
        self.restore(outer);
        done
    }

    /// Reads what another shell runs, which has only what is exported.
    pub(super) fn with_exported<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        self.in_subshell(|this| {
            this.set_names = this.set_names.of_another_shell();
            read(this)
        })
    }

    /// Reads what runs some time later, wherever the shell is by then and whatever it was given; it may run before any command.
    pub(super) fn at_any_time(&mut self, read: impl FnOnce(&mut Self)) {
        let had_moved = std::mem::take(&mut self.has_moved);
        self.in_subshell(|this| {
            this.directories = Directories::unknown();
            if this.positional.is_some() {
                this.positional = Some(Passed::new(&[Word::computed()]));
            }
            read(this);
        });
        if self.has_moved {
            self.directories = Directories::unknown();
            self.is_anywhere = true;
        }
        self.has_moved |= had_moved;
    }

    /// A file may have changed all of it.
    pub(super) fn forget_state(&mut self) {
        self.directories = Directories::unknown();
        self.set_names.here.clear();
        if self.positional.is_some() {
            self.positional = Some(Passed::new(&[Word::computed()]));
        }
    }

    /// Reads what may run any number of times: each time begins where the last one ended.
    pub(super) fn repeatedly(&mut self, read: impl Fn(&mut Self)) {
        const ROUNDS: usize = 3;
        let mut begins = self.state();
        for round in 0..ROUNDS {
            let defined = self.functions.len() + self.named.len();
            read(self);
            let mut joined = begins.clone();
            joined.join(&self.state());
            let is_all = joined == begins && defined == self.functions.len() + self.named.len();
            // Where it goes on and on, it may be anywhere.
            if !is_all && joined.directories != begins.directories && round > 0 {
                joined.directories = Directories::unknown();
            }
            begins = joined;
            self.restore(begins.clone());
            if is_all {
                return;
            }
        }
    }
}
