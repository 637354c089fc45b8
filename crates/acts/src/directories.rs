//! The directories that commands run in.

use super::word::{Word, join};
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
    /// It may be any. The words that it was changed to name it from where the text begins, as far
    /// as they tell.
    Told(Arc<[Word]>),
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
            Directories::Told(_) | Directories::Unknown => (None, &[]),
        };
        first
            .into_iter()
            .chain(directories.iter().map(CompactString::as_str))
    }

    /// After a change to `path`, which begins at the root, at the home with `~`, or where the
    /// command runs.
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
            Directories::Told(_) if path.split('/').all(|part| part != "..") => {
                self.named(&[Word::path_of(path)])
            }
            Directories::Told(_) | Directories::Unknown => Directories::Unknown,
            _ => Directories::of(changed),
        }
    }

    /// Whether it may be any.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Directories::Told(_) | Directories::Unknown)
    }

    /// After a change to what one of these words names, which only the run tells.
    pub(super) fn named(&self, words: &[Word]) -> Directories {
        let from: Vec<Word> = match self {
            Directories::Told(words) => words.to_vec(),
            Directories::First | Directories::Some(_) => self.all().map(Word::path_of).collect(),
            Directories::Unknown => Vec::new(),
        };
        let named = words.iter().flat_map(|word| match word.is_from_root() {
            true => vec![word.clone()],
            false => from.iter().map(|from| from.holding(word)).collect(),
        });
        let named: Vec<Word> = named
            .filter(|word| word.text.len() <= Directories::LONGEST)
            .collect();
        match named.is_empty() || named.len() > Directories::MOST {
            true => Directories::Unknown,
            false => Directories::Told(named.into()),
        }
    }

    /// The words that tell of it where it may be any.
    pub(super) fn words(&self) -> &[Word] {
        if let Directories::Told(words) = self {
            words
        } else {
            &[]
        }
    }

    pub(super) fn join(&mut self, other: &Directories) {
        if self == other {
            return;
        }
        if self.is_unknown() || other.is_unknown() {
            let mut words: Vec<Word> = self.words().to_vec();
            words.extend(
                other
                    .words()
                    .iter()
                    .filter(|word| !self.words().contains(word))
                    .cloned(),
            );
            // Where the text begins is looked at all the same.
            words.extend(
                self.all()
                    .chain(other.all())
                    .filter(|it| !it.is_empty())
                    .map(Word::path_of),
            );
            return *self = match words.is_empty() || words.len() > Directories::MOST {
                true => Directories::Unknown,
                false => Directories::Told(words.into()),
            };
        }
        let further = other
            .all()
            .filter(|directory| self.all().all(|own| own != *directory));
        *self = Directories::of(self.all().chain(further).map(CompactString::from).collect());
    }
}

impl Word {
    /// A path as it was [told](Word::path).
    pub(super) fn path_of(path: &str) -> Word {
        match path.strip_prefix('~') {
            Some(rest) => Word {
                home: true,
                ..Word::constant(rest)
            },
            None => Word::constant(path),
        }
    }

    /// Whether it is a path from the root or from a home.
    pub(super) fn is_from_root(&self) -> bool {
        self.home || self.text.starts_with('/')
    }

    /// A relative path in the directory that this word names.
    pub(super) fn holding(&self, path: &Word) -> Word {
        if self.text.is_empty() && !self.home {
            return path.clone();
        }
        let text = format_compact!("{}/{}", self.text.trim_end_matches('/'), path.text);
        let openness = join(text.len() - path.text.len(), self.openness, path.openness);
        Word {
            text,
            openness,
            span: path.span.clone(),
            ..self.clone()
        }
    }
}

/// A path without `.` and `..`, as a shell goes there; nothing if it leads above the home, or above
/// what a pattern stands for.
pub(super) fn tidied(path: &str) -> Option<CompactString> {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", None) if is_absolute => {}
            ("..", None | Some(&"..")) => parts.push(part),
            ("..", Some(last)) if last.starts_with('~') || last.contains(['*', '?', '[']) => {
                return None;
            }
            ("..", Some(_)) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    Some(format_compact!(
        "{}{}",
        if is_absolute { "/" } else { "" },
        parts.join("/")
    ))
}
