//! The directories that commands run in.

use compact_str::{CompactString, format_compact};
use std::sync::Arc;

/// The directories that a command may run in, as they are reached from where the text begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Directories {
    /// Where the text begins.
    #[default]
    First,
    /// One of these.
    Some(Arc<[CompactString]>),
    Unknown,
}

impl Directories {
    /// More are taken for any, and longer ones.
    const MOST: usize = 8;
    const LONGEST: usize = 1024;

    fn of(directories: Vec<CompactString>) -> Directories {
        match directories.as_slice() {
            [only] if only.is_empty() => Directories::First,
            more if more.len() > Directories::MOST => Directories::Unknown,
            _ => Directories::Some(directories.into()),
        }
    }

    /// Each of them; none if it may be any.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        let (first, directories): (Option<&str>, &[CompactString]) = match self {
            Directories::First => (Some(""), &[]),
            Directories::Some(directories) => (None, directories),
            Directories::Unknown => (None, &[]),
        };
        first.into_iter().chain(directories.iter().map(CompactString::as_str))
    }

    /// After a change to `path`, which begins at the root, at the home with `~`, or where the command runs.
    pub(super) fn changed(&self, path: &str) -> Directories {
        // Most are a plain name.
        if *self == Directories::First && !path.contains(['/', '.', '~']) && !path.is_empty() {
            return Directories::Some([CompactString::from(path)].into());
        }
        let mut changed = Vec::new();
        for directory in self.all() {
            let whole = match path.starts_with(['/', '~']) || directory.is_empty() {
                true => CompactString::from(path),
                false => format_compact!("{directory}/{path}"),
            };
            match tidied(&whole) {
                Some(whole) if changed.contains(&whole) => {}
                Some(whole) if whole.len() <= Directories::LONGEST => changed.push(whole),
                _ => return Directories::Unknown,
            }
        }
        match self {
            Directories::Unknown => Directories::Unknown,
            _ => Directories::of(changed),
        }
    }

    pub(super) fn join(&mut self, other: &Directories) {
        if self == other {
            return;
        }
        if *self == Directories::Unknown || *other == Directories::Unknown {
            return *self = Directories::Unknown;
        }
        let further = other.all().filter(|directory| self.all().all(|own| own != *directory));
        *self = Directories::of(self.all().chain(further).map(CompactString::from).collect());
    }
}

/// A path without `.` and `..`, as a shell goes there; nothing if it leads above the home, or above what a pattern stands for.
pub(super) fn tidied(path: &str) -> Option<CompactString> {
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
