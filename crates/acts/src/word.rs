//! A word of a command, and how much of it the text decides.

use super::Span;
use super::names::is_of_name;
use compact_str::CompactString;
use std::borrow::Cow;

/// How a word stands that is the working directory, or begins with it.
pub(super) const DIRECTORY: &str = "${PWD}";

/// How a word stands that is the branch that is checked out.
pub(super) const BRANCH: &str = "$(git branch --show-current)";

/// How a word stands that is a file or a directory that `mktemp` has just made.
pub(super) const SCRATCH: &str = "$(mktemp)";

/// How much of a word the text decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Openness {
    /// All of it.
    #[default]
    Constant,
    /// What follows its first `usize` bytes comes from a variable that the text doesn't set, a
    /// number, a program that prints no options: an operand, not an option.
    Operand(usize),
    /// It is a pattern of file names from there on.
    Files(usize),
    /// What follows is computed by the text and may be anything; `true`: also further words.
    Computed(usize, bool),
}

impl Openness {
    /// Where the constant beginning ends.
    pub(super) fn from(self) -> Option<usize> {
        match self {
            Openness::Constant => None,
            Openness::Operand(at) | Openness::Files(at) | Openness::Computed(at, _) => Some(at),
        }
    }

    /// This openness at another place.
    pub(super) fn moved(self, to: impl Fn(usize) -> usize) -> Openness {
        match self {
            Openness::Constant => Openness::Constant,
            Openness::Operand(at) => Openness::Operand(to(at)),
            Openness::Files(at) => Openness::Files(to(at)),
            Openness::Computed(at, splits) => Openness::Computed(to(at), splits),
        }
    }

    /// This openness behind another constant beginning.
    pub(super) fn behind(self, at: usize) -> Openness {
        self.moved(|_| at)
    }
}

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The text after quote removal; what isn't constant stands as it is written.
    pub text: CompactString,
    /// Where it is written; nothing if it came from a nested text or an expansion.
    pub span: Option<Span>,
    pub(super) openness: Openness,
    /// It began with an unquoted `~`.
    pub(super) home: bool,
    pub(super) quoted: bool,
    /// The shell makes no word of it if what it stands for is empty: `$x` without quotes.
    pub(super) vanishes: bool,
    /// A declaration's assignment, as written: what it sets is known.
    pub(super) assigned: bool,
    /// A pattern of what find comes across: `**` is any number of directories, and it follows no
    /// links.
    pub(super) found: bool,
}

impl Word {
    pub(super) fn constant(text: impl Into<CompactString>) -> Word {
        Word {
            text: text.into(),
            ..Word::default()
        }
    }

    /// This word and others behind it.
    pub(super) fn before(self, rest: &[Word]) -> Vec<Word> {
        std::iter::once(self).chain(rest.iter().cloned()).collect()
    }

    /// What only the run will tell.
    pub(super) fn computed() -> Word {
        Word {
            text: "…".into(),
            openness: Openness::Computed(0, true),
            ..Word::default()
        }
    }

    /// Whether it may become several words.
    pub(super) fn spreads(&self) -> bool {
        matches!(self.openness, Openness::Computed(_, true))
    }

    /// Whether the text decides all of it.
    pub fn is_constant(&self) -> bool {
        self.as_constant().is_some()
    }

    /// Whether it is a pattern of file names, or may have some in it.
    pub fn may_be_pattern(&self) -> bool {
        self.openness != Openness::Constant
    }

    /// Whether nothing but the run tells what it is.
    pub fn is_unknown(&self) -> bool {
        let is_open = matches!(
            self.openness,
            Openness::Operand(0) | Openness::Computed(0, _)
        );
        is_open && self.text.starts_with(['…', '$']) && !self.text.contains('/')
    }

    /// Whether it stands for whatever find comes across by a name.
    pub fn is_found(&self) -> bool {
        self.found
    }

    /// The text, with the `~` that it may begin with.
    pub fn path(&self) -> Cow<'_, str> {
        if self.home {
            format!("~{}", self.text).into()
        } else {
            self.text.as_str().into()
        }
    }

    /// This word with `.` for the working directory; nothing if it has none.
    pub(super) fn with_directory(&self) -> Option<Word> {
        if self.openness == Openness::Constant || !self.text.contains(DIRECTORY) {
            return None;
        }
        let text = from_here(&self.text);
        let glob = text
            .find(['*', '?', '['])
            .filter(|_| !self.quoted)
            .map(Openness::Files);
        let open = text.find(['$', '`', '…']).map(|at| match self.openness {
            Openness::Computed(_, splits) => Openness::Computed(at, splits),
            _ => Openness::Operand(at),
        });
        Some(Word {
            openness: open.or(glob).unwrap_or_default(),
            text: text.as_ref().into(),
            ..self.clone()
        })
    }

    /// The text with its `~`, if all of it is constant.
    pub fn as_constant_path(&self) -> Option<Cow<'_, str>> {
        (self.openness == Openness::Constant).then(|| self.path())
    }

    /// The text if all of it is constant.
    pub fn as_constant(&self) -> Option<&str> {
        (self.openness == Openness::Constant && !self.home).then_some(self.text.as_str())
    }

    /// Whether it is the branch that is checked out, which git calls HEAD, too.
    pub(super) fn is_branch(&self) -> bool {
        self.openness == Openness::Operand(0) && self.text == BRANCH
    }

    /// Whether it is what `mktemp` has made, and nothing before or behind it.
    pub fn is_scratch(&self) -> bool {
        self.openness == Openness::Operand(0) && self.text == SCRATCH
    }

    /// Makes it what only the run tells.
    pub(super) fn forget_branch(&mut self) {
        self.text = "$(…)".into();
    }

    /// The constant text that it begins with.
    pub(super) fn beginning(&self) -> &str {
        match self.openness.from() {
            Some(at) => self.text.get(..at).unwrap_or_default(),
            None => &self.text,
        }
    }
}

/// What else a pattern of file names stands for than a shell makes of it by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Globs {
    /// Names that begin with a dot: `dotglob`.
    pub(super) hidden: bool,
    /// Names in other letters: `nocaseglob`.
    pub(super) caseless: bool,
}

impl Globs {
    /// The patterns that are meant, too.
    pub(super) fn also(self, word: &Word) -> Vec<Word> {
        let mut also: Vec<Word> = Vec::new();
        let with = |text: String| Word {
            text: text.into(),
            ..word.clone()
        };
        if self.hidden {
            let parts: Vec<&str> = word.text.split('/').collect();
            let hidden = |part: &str| match part.as_bytes().first() {
                // Neither `.` nor `..` is among them.
                Some(b'*') if part == "*" => Some(".[!.]*".to_string()),
                // The star may be nothing.
                Some(b'*') if part.starts_with("*.") => Some(part[1..].to_string()),
                Some(b'*') => Some(format!(".{part}")),
                Some(b'?') => Some(format!(".{}", &part[1..])),
                Some(b'[') => part.split_once(']').map(|(_, rest)| format!(".{rest}")),
                _ => None,
            };
            for (at, part) in parts.iter().enumerate().rev().take(4) {
                let Some(hidden) = hidden(part) else { continue };
                let parts = parts
                    .iter()
                    .enumerate()
                    .map(|(n, part)| if n == at { &*hidden } else { part });
                also.push(with(parts.collect::<Vec<_>>().join("/")));
            }
        }
        if self.caseless && !word.text.contains('[') {
            let either = |text: &str| -> String {
                let each = |c: char| match c.is_ascii_alphabetic() {
                    true => format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase()),
                    false => c.to_string(),
                };
                text.chars().map(each).collect()
            };
            let texts: Vec<String> = also
                .iter()
                .chain([word])
                .map(|word| either(&word.text))
                .collect();
            also.extend(texts.into_iter().map(|text| Word {
                openness: Openness::Files(0),
                ..with(text)
            }));
        }
        also
    }
}

/// A text in which `.` stands for the working directory, where it begins a path: what it is where a
/// command runs.
pub(super) fn from_here(text: &str) -> Cow<'_, str> {
    const SPELT: &[&str] = &[DIRECTORY, "$PWD", "${outer_PWD}"];
    if !text.contains("PWD") {
        return text.into();
    }
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    let next = |rest: &str| {
        SPELT
            .iter()
            .filter_map(|it| Some((rest.find(it)?, it.len())))
            .min()
    };
    while let Some((at, length)) = next(rest) {
        let (before, directory) = rest.split_at(at);
        let (directory, behind) = directory.split_at(length);
        // `$PWD-old` is another one.
        let is_whole = !behind.starts_with(|c: char| c.is_alphanumeric() || "_-.$#".contains(c));
        made.extend([before, if is_whole { "." } else { directory }]);
        rest = behind;
    }
    made.push_str(rest);
    made.into()
}

/// The openness of two texts, one after another.
pub(super) fn join(length: usize, first: Openness, then: Openness) -> Openness {
    use Openness::{Computed, Constant};
    match (first, then.moved(|at| at + length)) {
        (Constant, moved) => moved,
        (first, Constant) => first,
        // A word that may become several does so wherever that stands.
        (first, Computed(_, splits)) => Computed(
            first.from().unwrap_or(0),
            splits || matches!(first, Computed(_, true)),
        ),
        (first, _) => first,
    }
}

/// A word without its first `skip` bytes.
pub(super) fn tail(word: &Word, skip: usize) -> Word {
    let openness = word.openness.moved(|at| at.saturating_sub(skip));
    Word {
        text: word.text.get(skip..).unwrap_or_default().into(),
        openness,
        quoted: word.quoted,
        ..Word::default()
    }
}

/// What follows the expansions that a text begins with.
pub(super) fn behind_expansions(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches('"');
        let Some(name) = rest.strip_prefix('$') else {
            return rest;
        };
        let end = match name.as_bytes().first() {
            Some(b'{') => name.find('}').map(|at| at + 1),
            Some(b'(') => name.rfind(')').map(|at| at + 1),
            _ => Some(name.find(|c| !is_of_name(c)).unwrap_or(name.len())),
        };
        match end {
            Some(end) if end > 0 => rest = &name[end..],
            _ => return rest,
        }
    }
}

/// A text as it is if whatever is expanded in it is empty: `s.sh` of `s$x.sh`.
pub(super) fn without_expansions(text: &str) -> Cow<'_, str> {
    let Some((first, rest)) = text.split_once('$') else {
        return text.into();
    };
    let mut made = first.to_string();
    let mut rest = &text[text.len() - rest.len() - 1..];
    while let Some(at) = rest.find('$') {
        made.push_str(&rest[..at]);
        let behind = behind_expansions(&rest[at..]);
        // A dollar sign that expands nothing.
        let is_sign = behind.len() == rest.len() - at;
        made.push_str(if is_sign { "$" } else { "" });
        rest = if is_sign { &rest[at + 1..] } else { behind };
    }
    made.push_str(rest);
    made.into()
}
