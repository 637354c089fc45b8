//! What a text would do to files: those that its redirections open, and those that its programs are
//! given, as the table of [programs](super::programs) says what they do with them.

use super::directories::Directories;
use super::finds::Finds;
use super::names::base_name;
use super::programs::files::{Kind, Use, Uses};
use super::programs::{Names, is_plain_sed, options};
use super::whole_environment::{self, ENVIRONMENT_FILE};
use super::word::{Globs, Openness, Word, from_here, tail};
use super::{Command, Doubt, GIVEN, Script, Span};
use compact_str::format_compact;
use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// What it holds is read.
    Read,
    /// It is made, changed, moved or removed.
    Write,
    /// One of the two, or both.
    Either,
}

impl Access {
    /// Whether the one may be the other.
    pub fn may_be(self, other: Access) -> bool {
        self == other || self == Access::Either || other == Access::Either
    }
}

/// How far an act reaches from the path that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// That file.
    File,
    /// That file or some of what the directory holds. Which it is isn't told.
    Below,
    /// That file, or the same if it is a directory: it isn't told whether the word names any.
    Perhaps,
    /// That file, or the directory with all that it holds.
    All,
    /// Those of the files that it stands for that are there and no rule leaves out: a search reads
    /// them by their names.
    Sought,
    /// Some of the files that it stands for, whether they are there or not: a program makes them.
    Begun,
    /// Any file: nothing tells which.
    Any,
}

/// How certain it is that an act happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// It happens if its command runs.
    Certain,
    /// It may, for this reason.
    Doubt(&'static str),
}

/// A file that is read or written.
#[derive(Clone, Debug)]
pub struct FileAct {
    /// What is done.
    pub access: Access,
    /// How far it reaches.
    pub reach: Reach,
    /// The path as the text names it.
    pub word: Word,
    /// Whether it happens.
    pub certainty: Certainty,
    /// Where in the text, in bytes.
    pub at: Span,
    /// Which of the text's commands does it; nothing for redirections, for what one command tells
    /// another, and for constants that may become code.
    pub by: Option<usize>,
    directories: Directories,
}

impl Command {
    /// Whether it may run code that the text doesn't show, or isn't known.
    pub fn may_run_unseen(&self) -> bool {
        !self.is_read_on() && Uses::of(&self.words).may_run
    }

    /// This command with words in which `.` stands for the working directory.
    fn with_directory(&self) -> Cow<'_, Command> {
        let is_one = |word: &Word| word.openness != Openness::Constant && word.text.contains("PWD");
        if !self.words.iter().any(is_one) {
            return Cow::Borrowed(self);
        }
        let words = self
            .words
            .iter()
            .map(|word| word.with_directory().unwrap_or_else(|| word.clone()));
        Cow::Owned(self.with(words.collect()))
    }

    /// The values of options of which it isn't told that they are files, each whole and in its
    /// parts, by the longest names of the options.
    pub fn other_values(&self) -> Vec<(&'static str, Word)> {
        let texts = Uses::of(&self.words).texts;
        let all = |(name, word): &(&'static str, Word)| {
            let whole = std::iter::once(word.clone());
            whole
                .chain(pieces(word))
                .map(|it| (*name, it))
                .collect::<Vec<_>>()
        };
        texts.iter().flat_map(all).collect()
    }
}

impl FileAct {
    /// The directories that a relative path counts from: each from where the text begins, which is
    /// the empty one, from the root, or from the home, which is `~`; nothing if it may be any.
    pub fn directories(&self) -> Option<impl Iterator<Item = &str>> {
        (!self.directories.is_unknown()).then(|| self.directories.all())
    }

    /// What its word names.
    pub fn named(&self) -> Named {
        let word = &self.word;
        let is_known = !word.text.contains(['$', '`', '…']);
        match word.openness {
            Openness::Constant => Named::Path(word.path().into_owned()),
            Openness::Files(_) if word.found && is_known => Named::Found(word.path().into_owned()),
            Openness::Files(_) if is_known => Named::Pattern(with_plain_classes(&word.path())),
            // One of the names that a pattern stands for, which a loop takes: `for f in .e*`.
            Openness::Operand(at) if is_known && word.text[at..].contains(['*', '?', '[']) => {
                Named::Pattern(with_plain_classes(&word.path()))
            }
            _ => {
                let known = Word {
                    openness: Openness::Constant,
                    ..word.clone()
                };
                let before = Word {
                    text: word.beginning().into(),
                    ..known
                }
                .path()
                .into_owned();
                let after = behind_expansions(&word.text[word.beginning().len()..]).to_string();
                match before.is_empty() && after.is_empty() {
                    true => Named::Nothing,
                    false => Named::Open { before, after },
                }
            }
        }
    }
}

/// What an act's word names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// This path; `~` at its beginning is the home.
    Path(String),
    /// The paths that a shell finds for a pattern of file names.
    Pattern(String),
    /// The paths that find comes across: `**` is any number of directories, and it follows no
    /// links.
    Found(String),
    /// A path that only the run tells, but for what it begins and ends with.
    Open {
        /// Possibly empty.
        before: String,
        /// Possibly empty.
        after: String,
    },
    /// The text tells nothing of it.
    Nothing,
}

/// A pattern with ranges for the classes of characters that it names: `[[:alpha:]]`.
fn with_plain_classes(pattern: &str) -> String {
    const CLASSES: &[(&str, &str)] = &[
        ("[:alpha:]", "a-zA-Z"),
        ("[:lower:]", "a-z"),
        ("[:upper:]", "A-Z"),
        ("[:digit:]", "0-9"),
        ("[:alnum:]", "a-zA-Z0-9"),
        ("[:xdigit:]", "a-fA-F0-9"),
        ("[:word:]", "a-zA-Z0-9_"),
        ("[:punct:]", "!-/:-@_{-~"),
        ("[:graph:]", "!-~"),
        ("[:print:]", " -~"),
    ];
    match pattern.contains("[:") {
        true => CLASSES
            .iter()
            .fold(pattern.to_string(), |made, (class, range)| {
                made.replace(class, range)
            }),
        false => pattern.to_string(),
    }
}

/// What stands behind the last expansion of a text.
fn behind_expansions(text: &str) -> &str {
    let Some(at) = text.rfind(['$', '`', '…']) else {
        // `find . -exec touch {}/x \;`
        return text.rsplit_once("{}").map_or("", |(_, after)| after);
    };
    // `${$}`
    let at = if text[..at].ends_with("${") {
        at - 2
    } else {
        at
    };
    let rest = &text[at..];
    match rest.as_bytes() {
        [b'$', b'{', ..] => rest.find('}').map_or("", |end| &rest[end + 1..]),
        [b'$', b'(', ..] => rest.rfind(')').map_or("", |end| &rest[end + 1..]),
        [b'$', ..] => {
            let name = rest[1..]
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len() - 1);
            &rest[1 + name..]
        }
        _ => rest
            .char_indices()
            .nth(1)
            .map_or("", |(at, _)| rest[at..].trim_start_matches(')')),
    }
}

/// A file that a redirection opens.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Redirected {
    pub(super) word: Word,
    pub(super) access: Access,
    pub(super) directories: Directories,
    pub(super) at: Span,
}

/// What takes patches.
const PATCHING: &[&str] = &["patch", "gpatch", "git"];
/// So many words of code are looked at.
const MOST_TOKENS: usize = 1024;
/// What sets variables by what it reads.
const SETTING: &[&str] = &[
    "read",
    "mapfile",
    "readarray",
    "printf",
    "getopts",
    "select",
];
/// So many files that other commands tell are looked at.
const MOST_TAKING: usize = 16;
/// How the names of files end that a program unpacks where they are.
const PACKED: &[&str] = &[".gz", ".bz2", ".xz", ".zst", ".lz4", ".lzma", ".br"];
const DIRECTORY: &str = "the directory isn't told";
const NAMED_IN_CODE: &str = "code names it";
const NOT_KNOWN: &str = "it isn't known what the program does with it";
const HANDED_ON: &str = "one command finds it and hands it to another";
const LEADS_THERE: &str = "a link that is made leads to it";
const PATCHED: &str = "a patch names it";
const ASTRAY: &str = "it may be in any directory";
const PATTERN: &str = "a pattern of file names may name it";
const REVISION: &str = "it may be a revision or a file";

/// What is found of a script once somebody has asked for it: rules and guards of one event ask, and
/// so does the next event with the same text.
pub(super) struct Found<T>(pub(super) OnceLock<Vec<T>>);

impl<T> Default for Found<T> {
    fn default() -> Found<T> {
        Found(OnceLock::new())
    }
}

/// Two readings of a text are the same whatever they were asked.
impl<T> fmt::Debug for Found<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Found")
    }
}

impl Script {
    /// What the text would do to files, as far as it names them.
    pub fn file_acts(&self) -> &[FileAct] {
        self.acts.0.get_or_init(|| self.find_file_acts())
    }

    fn find_file_acts(&self) -> Vec<FileAct> {
        let mut acts = Vec::new();
        let opened = self
            .redirected
            .iter()
            .filter(|it| !is_device(&it.word))
            .map(|it| FileAct {
                access: it.access,
                reach: Reach::File,
                word: it.word.with_directory().unwrap_or_else(|| it.word.clone()),
                certainty: Certainty::Certain,
                at: it.at.clone(),
                by: None,
                directories: it.directories.clone(),
            });
        acts.extend(opened.map(FileAct::plain));
        let mut may_run = self.runs_constants || !self.gaps.is_empty();
        for (n, command) in self
            .commands
            .iter()
            .enumerate()
            .filter(|(_, it)| !it.words.is_empty())
        {
            let command = &*command.with_directory();
            let (uses, before) = (Uses::of(&command.words), acts.len());
            if uses.patches {
                acts.extend(
                    self.texts
                        .iter()
                        .flat_map(|(text, at)| patched(text, command, &uses, at)),
                );
            }
            may_run |= add(command, uses, &mut acts);
            acts[before..].iter_mut().for_each(|act| act.by = Some(n));
        }
        self.add_handed_on(&mut acts);
        // What isn't read at all may do anything to any file.
        // Nor is what is computed for a shell.
        if let Some(Doubt { why, at }) = self.refused.as_ref().or(self.computed.as_ref()) {
            let (word, directories) = (Word::computed(), Directories::Unknown);
            let (access, reach, certainty) = (Access::Either, Reach::Any, Certainty::Doubt(why));
            acts.push(FileAct {
                access,
                reach,
                word,
                certainty,
                at: at.clone(),
                by: None,
                directories,
            });
        }
        let in_directories: Vec<FileAct> = acts
            .iter()
            .flat_map(FileAct::in_directories)
            .take(MOST_TOKENS)
            .collect();
        acts.extend(in_directories);
        let at_hand: Vec<FileAct> = acts.iter().filter_map(FileAct::at_hand).collect();
        acts.extend(at_hand);
        // What runs unseen may be what constants say.
        if may_run {
            for (text, at) in &self.texts {
                let directories = Directories::First;
                if whole_environment::is_read_in_code(text) {
                    let doubt = Certainty::Doubt(NAMED_IN_CODE);
                    acts.push(reads_environment(at.clone(), doubt));
                }
                acts.extend(
                    tokens(text).map(|it| named_in_code(it, directories.clone(), at.clone())),
                );
            }
        }
        acts
    }
}

impl Script {
    /// What the text would do to the files that a patch names, if a command of it takes a patch.
    pub fn acts_of_patch(&self, patch: &str) -> Vec<FileAct> {
        if !self.takes_patch() {
            return Vec::new();
        }
        let taking = self
            .commands
            .iter()
            .map(|it| (it, Uses::of(&it.words)))
            .filter(|(_, uses)| uses.patches);
        let acts =
            taking.flat_map(|(it, uses)| patched(patch, it, &uses, &it.span).collect::<Vec<_>>());
        acts.collect()
    }

    /// Whether a command of it takes a patch.
    pub fn takes_patch(&self) -> bool {
        let is_one = |it: &&Command| {
            it.words
                .first()
                .is_some_and(|head| PATCHING.contains(&base_name(&head.text)))
        };
        self.commands
            .iter()
            .filter(is_one)
            .any(|it| Uses::of(&it.words).patches)
    }

    /// `find . -name x | xargs cat`, `cat "$(ls x)"`: where a command takes a file of which nothing
    /// is told, it may be any that another one comes across or is given and does nothing with.
    fn add_handed_on(&self, acts: &mut Vec<FileAct>) {
        let mut taking: Vec<(Access, Taken)> = Vec::new();
        // The value of a variable that the text doesn't set is from elsewhere.
        let sets = |it: &Command| {
            it.words
                .first()
                .is_some_and(|word| SETTING.contains(&word.text.as_str()))
        };
        let has_values = self.commands.iter().any(sets);
        let is_from_elsewhere = |it: &FileAct| {
            let Openness::Operand(at) = it.word.openness else {
                return false;
            };
            !has_values
                && it
                    .word
                    .text
                    .get(at..)
                    .is_some_and(|it| it.starts_with("${"))
        };
        let is_told = |it: &&FileAct| it.certainty == Certainty::Certain && !is_from_elsewhere(it);
        for act in acts.iter().filter(is_told) {
            let Some(taken) = Taken::of(act) else {
                continue;
            };
            if taking.len() < MOST_TAKING && !taking.contains(&(act.access, taken.clone())) {
                taking.push((act.access, taken));
            }
        }
        if taking.is_empty() {
            return;
        }
        let mut add = |word: &Word,
                       reach: Reach,
                       start: Option<&Word>,
                       directories: &Directories,
                       at: &Span| {
            let is_start =
                |before: &str| start.is_some_and(|it| it.text.trim_end_matches('/') == before);
            let takes = |it: &&(Access, Taken)| {
                it.1.start
                    .as_ref()
                    .is_none_or(|it| is_start(it.trim_end_matches('/')))
            };
            for (access, taken) in taking.iter().filter(takes) {
                // What find comes across may be all that is told.
                let afters = [
                    Some(taken.after.as_str()),
                    Some("").filter(|_| start.is_some() && !taken.after.is_empty()),
                ];
                for after in afters.into_iter().flatten() {
                    let at = word.span.clone().unwrap_or_else(|| at.clone());
                    let openness = if taken.is_pattern {
                        Openness::Files(word.text.len())
                    } else {
                        word.openness
                    };
                    let word = Word {
                        text: format_compact!("{}{after}", word.text),
                        openness,
                        ..word.clone()
                    };
                    let (access, directories) = (*access, directories.clone());
                    let certainty = Certainty::Doubt(HANDED_ON);
                    let reach = if after.is_empty() { reach } else { Reach::File };
                    acts.push(
                        FileAct {
                            access,
                            reach,
                            word,
                            certainty,
                            at,
                            by: None,
                            directories,
                        }
                        .plain(),
                    );
                }
            }
        };
        for (text, at) in &self.texts {
            tokens(text).for_each(|(word, reach)| add(&word, reach, None, &Directories::First, at));
        }
        for command in self.commands.iter().filter(|it| !it.words.is_empty()) {
            let command = &*command.with_directory();
            let words = handed_on(command)
                .into_iter()
                .filter(|(it, _)| !is_device(it))
                .take(MOST_TOKENS);
            // Of a directory, what it holds is told.
            words.for_each(|(it, start)| {
                add(
                    &it,
                    Reach::Below,
                    start.as_ref(),
                    &command.directories,
                    &command.span,
                )
            });
        }
    }
}

/// What is known of a file that another command tells.
#[derive(Clone, PartialEq)]
struct Taken {
    /// Where it begins, if that is known.
    start: Option<String>,
    /// What stands behind what is told.
    after: String,
    /// It is a pattern of file names.
    is_pattern: bool,
}

impl Taken {
    fn of(act: &FileAct) -> Option<Taken> {
        let (start, after, is_pattern) = match act.named() {
            Named::Nothing => (None, String::new(), false),
            // What find comes across begins with where it starts.
            Named::Open { before, after } => {
                (Some(before).filter(|it| !it.is_empty()), after, false)
            }
            Named::Path(path) => (None, format!("/{path}"), false),
            Named::Pattern(path) => (None, format!("/{path}"), true),
            Named::Found(_) => return None,
        };
        let is_relative = matches!(act.named(), Named::Path(_) | Named::Pattern(_));
        let is_lost =
            act.directories.is_unknown() && !["//", "/~"].iter().any(|it| after.starts_with(it));
        (!is_relative || is_lost).then_some(Taken {
            start,
            after,
            is_pattern,
        })
    }
}

/// The names of files that a command may print; those that find comes across with where it starts.
fn handed_on(command: &Command) -> Vec<(Word, Option<Word>)> {
    let uses = Uses::of(&command.words);
    if uses.finds {
        let words = &command.words[1..];
        let finds = Finds::new(words);
        let names = finds.names().unwrap_or_else(|| vec!["*".into()]);
        let found = |start: Word| {
            names
                .iter()
                .map(move |name| (found_below(&start, name), Some(start.clone())))
        };
        return finds.starts.into_iter().flat_map(found).collect();
    }
    let is_name =
        |kind: Kind| matches!(kind, Kind::Look | Kind::Text | Kind::Read | Kind::ReadTree);
    let given = uses
        .words
        .into_iter()
        .filter(|it| is_name(it.kind))
        .map(|it| it.word.into_owned());
    let is_told = |it: &Word| {
        matches!(it.openness, Openness::Constant | Openness::Files(_))
            && !it.text.contains(char::is_whitespace)
    };
    given.filter(is_told).map(|it| (it, None)).collect()
}

impl FileAct {
    /// Whether nothing but code that the text doesn't show would do it.
    pub fn is_by_code(&self) -> bool {
        self.certainty == Certainty::Doubt(NAMED_IN_CODE)
    }

    /// This act with its word as plain as it can be said.
    fn plain(mut self) -> FileAct {
        // All that find comes across below a directory is that directory with all that it holds.
        if let Some(start) = self
            .word
            .text
            .strip_suffix("/**/*")
            .filter(|_| self.word.found)
        {
            let openness = if start.contains(['*', '?', '[']) {
                self.word.openness
            } else {
                Openness::Constant
            };
            self.reach = if self.access == Access::Read {
                Reach::Below
            } else {
                Reach::All
            };
            self.word = Word {
                text: start.into(),
                openness,
                ..self.word
            };
        }
        // `.@(env|x)`: what such a pattern fits isn't followed.
        if self.word.text.contains('(')
            && matches!(self.word.openness, Openness::Files(_))
            && let [pattern] = open_words(&self.word.text).as_slice()
        {
            self.word = Word {
                text: pattern.as_str().into(),
                openness: Openness::Files(0),
                ..self.word
            };
            self.certainty = Certainty::Doubt(PATTERN);
        }
        if is_astray(&self.word) {
            (self.reach, self.certainty) = (Reach::Any, Certainty::Doubt(ASTRAY));
        }
        self
    }

    /// This act in the directories that words tell of and only the run decides: `cd p*; touch x`.
    fn in_directories(&self) -> impl Iterator<Item = FileAct> {
        let is_lost = self.reach != Reach::Any
            && !self.word.is_from_root()
            && self.word.openness.from() != Some(0);
        // Of a plain name in a directory of which nothing is told, nothing more is told.
        let is_path = self.word.text.contains('/');
        let tells = move |directory: &&Word| is_path || !directory.is_unknown();
        let words = self
            .directories
            .words()
            .iter()
            .filter(move |_| is_lost || self.is_pattern())
            .filter(tells);
        words.map(|directory| FileAct {
            word: directory.holding(&self.word),
            certainty: Certainty::Doubt(DIRECTORY),
            directories: Directories::First,
            ..self.clone()
        })
    }

    fn is_pattern(&self) -> bool {
        matches!(self.word.openness, Openness::Files(_)) && !self.word.is_from_root()
    }

    /// This act from the directory at hand, where the directory isn't told.
    fn at_hand(&self) -> Option<FileAct> {
        let Named::Open { before, after } = self.named() else {
            return None;
        };
        if self.reach == Reach::Any {
            return None;
        }
        let path = after
            .strip_prefix('/')
            .filter(|path| before.is_empty() && !path.is_empty())?;
        let word = Word {
            span: self.word.span.clone(),
            ..Word::constant(path)
        };
        // The directory that a variable has kept.
        let is_kept = self.word.text.starts_with("$PWD/");
        let directories = if is_kept {
            Directories::First
        } else {
            self.directories.clone()
        };
        Some(FileAct {
            word,
            certainty: Certainty::Doubt(DIRECTORY),
            directories,
            ..self.clone()
        })
    }
}

/// Whether a path begins with the directory that a shell was in before, or with what is made of a
/// home: both are known to the shell alone.
fn is_astray(word: &Word) -> bool {
    let Some(name) = word
        .text
        .strip_prefix('$')
        .filter(|_| word.openness.from() == Some(0))
    else {
        return false;
    };
    let name = name.trim_start_matches('{');
    let (name, rest) = name.split_at(
        name.find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(name.len()),
    );
    name == "OLDPWD" || rest.starts_with("#}") && GIVEN.contains(&name)
}

/// Paths that a text names which isn't read as a shell's: each may be read or written.
pub fn named_in_text(text: &str) -> Vec<FileAct> {
    tokens(text)
        .map(|it| named_in_code(it, Directories::First, 0..text.len()))
        .collect()
}

/// Paths that a shell's text names which isn't read as such. A word in which something is expanded
/// is a pattern.
pub fn named_in_shell_text(text: &str) -> Vec<FileAct> {
    const HIDDEN: &[&str] = &[
        "dotglob",
        "globdots",
        "glob_dots",
        "GLOBIGNORE",
        "(D",
        "${(",
        "${:",
        "${${",
    ];
    const CASELESS: &[&str] = &["nocaseglob", "no_case_glob", "(#i"];
    let has = |names: &[&str]| names.iter().any(|name| text.contains(name));
    let globs = Globs {
        hidden: has(HIDDEN),
        caseless: has(CASELESS),
    };
    let mut acts = named_in_text(text);
    for pattern in open_words(text).iter().take(MOST_TOKENS) {
        let word = Word {
            openness: Openness::Files(0),
            ..Word::constant(pattern.as_str())
        };
        for word in [word.clone()].into_iter().chain(globs.also(&word)) {
            let is_said =
                |part: &str| !matches!(part, "." | "..") && part.contains(|c| !"*?[]".contains(c));
            if word.text.split('/').any(is_said) || globs.hidden {
                acts.push(named_in_code(
                    (word, Reach::File),
                    Directories::First,
                    0..text.len(),
                ));
            }
        }
    }
    acts
}

/// The words of a shell's text in which something is expanded, each with `*` for what only a shell
/// knows.
fn open_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut is_open) = (String::new(), false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            c if c.is_whitespace() || ";&|<>)=".contains(c) => {
                let whole = std::mem::take(&mut word);
                if std::mem::take(&mut is_open) {
                    words.push(whole);
                }
                after
            }
            '\'' | '"' | '\\' => after,
            '$' | '(' => {
                // `(.e*)` may hold the words of a loop.
                let is_list = c == '(' && word.is_empty() && !after.starts_with('#');
                let inner = after.trim_start_matches(['{', '(']);
                let end = match rest.find(['{', '(']).filter(|at| *at < 2) {
                    Some(at) => at + closed(&rest[at..]),
                    None => {
                        rest.len()
                            - inner
                                .trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
                                .len()
                    }
                };
                if is_list {
                    after
                } else {
                    let is_flag = after.starts_with('#') && c == '(';
                    while word.ends_with(['@', '!', '+', '*']) {
                        word.pop();
                    }
                    word.push_str(if is_flag { "" } else { "*" });
                    is_open = true;
                    &rest[end..]
                }
            }
            '^' | '#' if !word.is_empty() => {
                word.push('*');
                is_open = true;
                after.trim_start_matches(|c: char| !c.is_whitespace() && c != '/')
            }
            c => {
                is_open |= matches!(c, '*' | '?' | '[');
                word.push(c);
                after
            }
        };
    }
    words.extend(Some(word).filter(|_| is_open));
    words
}

/// Where the bracket is closed that a text begins with.
fn closed(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + c.len_utf8();
        }
    }
    text.len()
}

fn named_in_code((word, reach): (Word, Reach), directories: Directories, at: Span) -> FileAct {
    let certainty = Certainty::Doubt(NAMED_IN_CODE);
    FileAct {
        access: Access::Either,
        reach,
        word,
        certainty,
        at,
        by: None,
        directories,
    }
}

fn reads_environment(at: Span, certainty: Certainty) -> FileAct {
    FileAct {
        access: Access::Read,
        reach: Reach::File,
        word: Word::constant(ENVIRONMENT_FILE),
        certainty,
        at,
        by: None,
        directories: Directories::First,
    }
}

/// Whether it is no file but a device that everybody may write: `/dev/null`, a terminal, what is
/// open already.
fn is_device(word: &Word) -> bool {
    static DEVICES: Names = Names::new("devices");
    let path = word.beginning();
    // `/dev/fd/3/x` is a file of the directory that is open there.
    let is_open = path
        .strip_prefix("/dev/fd/")
        .is_some_and(|rest| !rest.contains('/'));
    DEVICES.has(path)
        || is_open
        || ["/dev/tcp/", "/dev/udp/"]
            .iter()
            .any(|place| path.starts_with(place))
}

/// Adds what one command does, and says whether what it reads may be code.
fn add(command: &Command, mut uses: Uses<'_>, acts: &mut Vec<FileAct>) -> bool {
    if command.is_read_on() {
        // What it runs is listed by itself.
        uses.words.retain(|it| it.of_option || it.kind != Kind::Any);
        uses.may_run = false;
    }
    if uses.finds {
        acts.extend(found(command));
        return false;
    }
    if whole_environment::is_read_by(command, &uses) {
        acts.push(reads_environment(command.span.clone(), Certainty::Certain));
    }
    let runs_code = uses.words.iter().any(|it| match it.kind {
        Kind::Code => true,
        Kind::Sed => !is_plain_sed(&it.word.text),
        Kind::Awk => may_open(&it.word.text),
        _ => false,
    });
    for it in &uses.words {
        // `-` is what a program is given or prints.
        if is_device(&it.word) || matches!(it.word.as_constant(), Some("-" | ":memory:")) {
            continue;
        }
        let directories = uses.gone_to(command, it.directories);
        let at = it.word.span.clone().unwrap_or_else(|| command.span.clone());
        acts.extend(done(it, &uses, runs_code).into_iter().map(
            |(access, reach, word, certainty)| {
                let (at, directories) = (at.clone(), directories.clone());
                FileAct {
                    access,
                    reach,
                    word,
                    certainty,
                    at,
                    by: None,
                    directories,
                }
                .plain()
            },
        ));
    }
    uses.may_run
}

impl Uses<'_> {
    /// Where a command is when it has gone to so many of the directories that it is told.
    fn gone_to(&self, command: &Command, count: usize) -> Directories {
        let gone_to = self.directories.iter().take(count);
        gone_to.fold(command.directories.clone(), |all, word| {
            match word.as_constant_path() {
                // In a text for another shell, these stand for what only the run tells.
                Some(path) if !path.contains(['$', '`', '…']) => all.changed(&path),
                _ => all.named(std::slice::from_ref(word)),
            }
        })
    }
}

/// What is done, how far it reaches, the path, and whether it happens.
type Done = (Access, Reach, Word, Certainty);

/// The file that a URL is.
fn of_url(word: &Word) -> Option<Word> {
    let known = word.beginning();
    known
        .get(.."file:".len())
        .filter(|scheme| scheme.eq_ignore_ascii_case("file:"))?;
    let path = known.get("file:".len()..).unwrap_or_default();
    let path = path.strip_prefix("//").unwrap_or(path);
    let path = path
        .strip_prefix("localhost")
        .filter(|path| path.starts_with('/'))
        .unwrap_or(path);
    Some(tail(word, known.len() - path.len()))
}

/// What a command does with one of its words.
fn done(it: &Use<'_>, uses: &Uses<'_>, runs_code: bool) -> Vec<Done> {
    let word = &*it.word;
    let certain = |access, reach| vec![(access, reach, word.clone(), Certainty::Certain)];
    let perhaps = || {
        if it.is_file {
            Certainty::Certain
        } else {
            Certainty::Doubt(REVISION)
        }
    };
    match it.kind {
        Kind::Text if runs_code => in_code(tokens(&word.text)),
        Kind::Text | Kind::Look | Kind::Dir | Kind::From => Vec::new(),
        Kind::Url => {
            let read = |file| (Access::Read, Reach::File, file, Certainty::Certain);
            of_url(word).map(read).into_iter().collect()
        }
        Kind::Read => certain(Access::Read, Reach::File),
        Kind::Write => certain(Access::Write, Reach::File),
        Kind::Edit => {
            // `gunzip x.gz` makes x.
            let unpacked = PACKED
                .iter()
                .find(|end| word.is_constant() && word.text.ends_with(**end));
            let file = unpacked.map(|end| beginning(word, word.text.len() - end.len()));
            let made = file.map(|file| (Access::Write, Reach::File, file, Certainty::Certain));
            certain(Access::Either, Reach::File)
                .into_iter()
                .chain(made)
                .collect()
        }
        Kind::ReadTree => certain(Access::Read, Reach::Below),
        Kind::ChangeTree | Kind::Member => certain(Access::Write, Reach::All),
        Kind::Take => certain(Access::Either, Reach::All),
        Kind::Fill => certain(Access::Write, Reach::Below),
        Kind::Into | Kind::IntoTree => copied(it, uses),
        Kind::Prefix => begun(word),
        Kind::Key => key(word),
        Kind::Aim => aimed(word, uses),
        Kind::PerhapsRead => {
            // `git show HEAD:x`
            let path = word
                .text
                .find(':')
                .filter(|_| !it.is_file)
                .map(|at| tail(word, at + 1));
            let path = path.map(|path| (Access::Read, Reach::File, path, Certainty::Certain));
            let read = |word: Word| (Access::Read, Reach::Below, word, perhaps());
            [word.clone()]
                .into_iter()
                .chain(pathspecs(word))
                .map(read)
                .chain(path)
                .collect()
        }
        Kind::PerhapsChange => {
            let change = |word: Word| (Access::Write, Reach::All, word, perhaps());
            [word.clone()]
                .into_iter()
                .chain(pathspecs(word))
                .map(change)
                .collect()
        }
        Kind::At => at_sign(word),
        Kind::Names => sought(uses, &[word.text.to_string()]),
        Kind::NamesRegex => sought(uses, &names_of_regex(&word.text)),
        Kind::Sed if is_plain_sed(&word.text) => Vec::new(),
        Kind::Awk if !may_open(&word.text) => Vec::new(),
        // `1r.env`
        Kind::Sed => {
            let names = word
                .text
                .split(char::is_whitespace)
                .flat_map(behind_letters);
            in_code(tokens(&word.text).chain(names.take(MOST_TOKENS).map(|it| (it, Reach::File))))
        }
        Kind::Code | Kind::Awk => in_code(tokens(&word.text)),
        Kind::Any => {
            let doubt = |word: Word| {
                (
                    Access::Either,
                    reach_of(&word, Reach::Perhaps),
                    word,
                    Certainty::Doubt(NOT_KNOWN),
                )
            };
            let words = [word.clone()]
                .into_iter()
                .chain(pieces(word))
                .chain(of_url(word));
            let mut all: Vec<Done> = words.map(doubt).collect();
            if word
                .text
                .contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '('))
            {
                all.extend(in_code(tokens(&word.text)));
            }
            all
        }
    }
}

/// What a quoted pattern of git stands for, in which `*` stands for names with a dot, too.
fn pathspecs(word: &Word) -> Vec<Word> {
    let text = word.text.strip_prefix(":(glob)").unwrap_or(&word.text);
    let Some(at) = text
        .find(['*', '?', '['])
        .filter(|_| word.openness == Openness::Constant)
    else {
        return Vec::new();
    };
    let pattern = Word {
        text: text.into(),
        openness: Openness::Files(at),
        ..word.clone()
    };
    let hidden = Globs {
        hidden: true,
        caseless: false,
    }
    .also(&pattern);
    [pattern].into_iter().chain(hidden).collect()
}

fn in_code(words: impl Iterator<Item = (Word, Reach)>) -> Vec<Done> {
    words
        .map(|(word, reach)| (Access::Either, reach, word, Certainty::Doubt(NAMED_IN_CODE)))
        .collect()
}

/// Files below the trees that a command reads, as far as a pattern of the program's own says
/// something of their names. One that leaves names out says nothing of those that are read.
fn sought(uses: &Uses<'_>, patterns: &[String]) -> Vec<Done> {
    let is_said = |it: &&String| {
        !it.starts_with('!') && it.contains(|c: char| !matches!(c, '*' | '?' | '/' | '.'))
    };
    let below = |pattern: &String| {
        let pattern = literal_groups(pattern.trim_start_matches("./").trim_start_matches('/'));
        let found = |root: &Word| match pattern.starts_with("**/") {
            true => Word {
                text: format_compact!("{}/{pattern}", root.text.trim_end_matches('/')),
                ..found_below(root, "")
            },
            false => found_below(root, &pattern),
        };
        uses.trees().map(found).collect::<Vec<_>>()
    };
    let words = patterns.iter().filter(is_said).flat_map(below);
    words
        .map(|word| (Access::Read, Reach::Sought, word, Certainty::Certain))
        .collect()
}

/// A pattern of names without signs that only shells have: a backslash, and parentheses, which are
/// characters to others.
fn literal_groups(pattern: &str) -> String {
    let mut made = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => made.extend(
                rest.next()
                    .map(|it| if "*?[{".contains(it) { '?' } else { it }),
            ),
            '(' | ')' => made.push('?'),
            c => made.push(c),
        }
    }
    made
}

/// Patterns of file names of which whatever a regex finds fits one. What isn't understood fits any
/// name.
fn names_of_regex(regex: &str) -> Vec<String> {
    const MOST: usize = 16;
    if let Some((before, rest)) = regex.split_once('(')
        && let Some((group, after)) = rest.split_once(')')
        && !group.contains(['(', '\\', '['])
        && group.matches('|').count() < MOST
        && !after.starts_with(['?', '*', '+', '{'])
        && !before.ends_with('\\')
        && !after.contains('(')
    {
        let group = group.trim_start_matches("?:");
        return group
            .split('|')
            .flat_map(|it| names_of_regex(&format!("{before}{it}{after}")))
            .collect();
    }
    let (regex, begins) = regex
        .strip_prefix('^')
        .map_or((regex, false), |it| (it, true));
    let is_end = regex.ends_with('$') && !regex.ends_with("\\$");
    let mut made = String::from(if begins { "" } else { "*" });
    let mut rest = regex[..regex.len() - usize::from(is_end)]
        .chars()
        .peekable();
    while let Some(c) = rest.next() {
        let is_repeated = rest
            .next_if(|it| matches!(it, '*' | '+' | '?' | '{'))
            .is_some();
        match c {
            _ if is_repeated => made.push('*'),
            '\\' => match rest.next() {
                Some(c) if !c.is_alphanumeric() && !"*?[".contains(c) => made.push(c),
                _ => made.push('*'),
            },
            '.' => made.push('?'),
            '[' | '(' | '|' | '^' | '$' | ')' | ']' | '{' | '}' => return vec!["*".into()],
            c => made.push(c),
        }
    }
    made.push_str(if is_end { "" } else { "*" });
    vec![made]
}

/// A copy goes to the path, or to one in that directory.
fn copied(it: &Use<'_>, uses: &Uses<'_>) -> Vec<Done> {
    let of_tree = it.kind == Kind::IntoTree;
    let reach = if of_tree { Reach::Below } else { Reach::File };
    let mut all = vec![(
        Access::Write,
        reach,
        it.word.clone().into_owned(),
        Certainty::Certain,
    )];
    for source in uses.sources() {
        match below(&it.word, &source.word) {
            Some(file) => all.push((Access::Write, reach, file, Certainty::Certain)),
            None if of_tree => {}
            None => all.push((
                Access::Write,
                Reach::Below,
                it.word.clone().into_owned(),
                Certainty::Certain,
            )),
        }
    }
    all
}

/// Files are made whose names begin so.
fn begun(word: &Word) -> Vec<Done> {
    let place = word
        .beginning()
        .rfind('/')
        .map_or(Word::constant("."), |at| beginning(word, at + 1));
    let begin = word.beginning().trim_end_matches('X');
    let write = |reach, word| (Access::Write, reach, word, Certainty::Certain);
    let open = Word {
        openness: Openness::Operand(begin.len()),
        text: format_compact!("{begin}…"),
        ..word.clone()
    };
    // Of such a name nothing is told but where it is.
    if begin.is_empty() || begin.ends_with('/') {
        return vec![write(Reach::Below, place), write(Reach::File, open)];
    }
    let pattern = Word {
        openness: Openness::Files(begin.len()),
        text: format_compact!("{begin}*"),
        ..word.clone()
    };
    vec![write(Reach::Begun, pattern), write(Reach::File, open)]
}

/// A key is made, and its public half beside it.
fn key(word: &Word) -> Vec<Done> {
    let public = Word {
        text: format_compact!("{}.pub", word.text),
        ..word.clone()
    };
    [word.clone(), public]
        .map(|word| (Access::Write, Reach::File, word, Certainty::Certain))
        .into()
}

/// A link leads there, and is made here if no place is named. A relative path counts from where the
/// link is.
fn aimed(word: &Word, uses: &Uses<'_>) -> Vec<Done> {
    let links = uses
        .words
        .iter()
        .filter(|it| matches!(it.kind, Kind::Into | Kind::IntoTree));
    let places = links.flat_map(|it| {
        let parent = it
            .word
            .text
            .rfind('/')
            .map(|at| beginning(&it.word, at + 1));
        parent.into_iter().chain([it.word.clone().into_owned()])
    });
    let aims = places.filter_map(|place| joined(&place, word));
    let leads = |word| {
        (
            Access::Either,
            Reach::All,
            word,
            Certainty::Doubt(LEADS_THERE),
        )
    };
    let is_alone = uses.words.iter().all(|it| it.kind == Kind::Aim) && word.text.contains('/');
    let here = is_alone
        .then(|| below(&Word::constant("."), word))
        .flatten();
    let made = here.map(|link| (Access::Write, Reach::File, link, Certainty::Certain));
    [word.clone()]
        .into_iter()
        .chain(aims)
        .map(leads)
        .chain(made)
        .collect()
}

/// `-d @file`, `-F name=<file;type=x`
fn at_sign(word: &Word) -> Vec<Done> {
    let signs = word.text.match_indices(['@', '<']).take(16);
    let read = signs.flat_map(|(at, _)| {
        let is_sign = at == 0 || word.text[..at].ends_with('=');
        let file = tail(word, at + 1);
        let end = file
            .text
            .find(';')
            .filter(|_| at > 0)
            .unwrap_or(file.text.len());
        let certainty = if is_sign {
            Certainty::Certain
        } else {
            Certainty::Doubt(NOT_KNOWN)
        };
        let files = beginning(&file, end);
        // `name=@a,b` has several.
        let each: Vec<Word> = match files
            .as_constant()
            .filter(|it| at > 0 && it.contains([',', '"']))
        {
            Some(list) => list
                .split(',')
                .map(|it| Word::constant(it.trim_matches('"')))
                .collect(),
            None => vec![files],
        };
        each.into_iter()
            .map(move |file| (Access::Read, Reach::File, file, certainty.clone()))
    });
    read.collect()
}

/// The files that a patch names, each without as many of its first parts as the command says; if it
/// says none, with and without the first.
fn patched<'t>(
    patch: &'t str,
    command: &'t Command,
    uses: &Uses<'_>,
    at: &'t Span,
) -> impl Iterator<Item = FileAct> + 't {
    const NAMING: &[&str] = &[
        "--- ",
        "+++ ",
        "rename from ",
        "rename to ",
        "copy to ",
        "Index: ",
    ];
    let directories = uses.gone_to(command, uses.directories.len());
    let stripped = uses.stripped.map_or([0, 1], |count| [count, count]);
    let paths = patch
        .lines()
        .filter_map(|line| NAMING.iter().find_map(|it| line.strip_prefix(it)))
        .take(MOST_TOKENS);
    let each = paths
        .map(|path| path.split('\t').next().unwrap_or(path).trim_end())
        .flat_map(move |path| {
            let without = |count: usize| path.splitn(count + 1, '/').nth(count);
            let first = without(stripped[0]);
            // What has fewer parts is named by the last one.
            let first = first.or_else(|| path.rsplit('/').next());
            [first, without(stripped[1]).filter(|it| Some(*it) != first)]
                .into_iter()
                .flatten()
        });
    each.map(Word::constant)
        .filter(|it| !is_device(it))
        .map(move |word| FileAct {
            access: Access::Write,
            reach: Reach::File,
            word,
            certainty: Certainty::Doubt(PATCHED),
            at: at.clone(),
            by: None,
            directories: directories.clone(),
        })
}

/// Whether a program of awk may open files or run programs.
fn may_open(code: &str) -> bool {
    code.contains(['>', '|', '@'])
        || ["getline", "system", "ARGV"]
            .iter()
            .any(|it| code.contains(it))
}

/// The place that a source gets in a directory; nothing if its name isn't told.
fn below(directory: &Word, source: &Word) -> Option<Word> {
    let name = source.as_constant_path()?;
    let name = name
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .filter(|it| !matches!(*it, "" | "." | ".." | "~"))?;
    let is_constant = directory.openness == Openness::Constant;
    is_constant.then(|| Word {
        text: format_compact!("{}/{name}", directory.text.trim_end_matches('/')),
        ..directory.clone()
    })
}

/// The first bytes of a word.
fn beginning(word: &Word, end: usize) -> Word {
    match word.beginning().get(..end) {
        Some(text) if end < word.text.len() => Word {
            text: text.into(),
            openness: Openness::Constant,
            ..word.clone()
        },
        _ => word.clone(),
    }
}

/// A relative path from a directory.
fn joined(directory: &Word, path: &Word) -> Option<Word> {
    let (from, path) = (directory.as_constant()?, path.as_constant()?);
    let is_relative = !path.starts_with('/') && !from.is_empty() && !directory.home;
    is_relative.then(|| Word::constant(format_compact!("{}/{path}", from.trim_end_matches('/'))))
}

/// What sed may read or write behind a letter that says so.
fn behind_letters(code: &str) -> impl Iterator<Item = Word> {
    let letters = code.match_indices(['r', 'R', 'w', 'W']).take(16);
    letters
        .map(|(at, _)| Word::constant(code[at + 1..].trim_end_matches([';', '}'])))
        .filter(|it| !it.text.is_empty())
}

/// The parts of a word that may each be a path: `--file=x`, `a:b`, `-fx`.
fn pieces(word: &Word) -> impl Iterator<Item = Word> {
    let is_letter = word.text.starts_with('-') && !word.text.starts_with("--");
    let attached = word
        .text
        .char_indices()
        .nth(2)
        .filter(|_| is_letter)
        .map(|(at, _)| at);
    let signs = word
        .text
        .match_indices(['=', ':', ',', '@'])
        .map(|(at, _)| at + 1)
        .take(16);
    let starts = attached.into_iter().chain(signs);
    let wholes = starts.map(|at| tail(word, at)).collect::<Vec<_>>();
    let firsts = wholes.clone().into_iter().filter_map(|it| {
        let end = it.text.find([':', ','])?;
        Some(Word::constant(&it.text[..end]))
    });
    let first = word
        .text
        .find([':', ','])
        .map(|end| Word::constant(&word.text[..end]));
    wholes
        .into_iter()
        .chain(firsts.collect::<Vec<_>>())
        .chain(first)
        .filter(|it| !it.text.is_empty())
}

/// What may be a path in code: the longest parts without signs that end one.
fn tokens(code: &str) -> impl Iterator<Item = (Word, Reach)> {
    tokens_of(&from_here(code)).collect::<Vec<_>>().into_iter()
}

fn tokens_of(code: &str) -> impl Iterator<Item = (Word, Reach)> {
    let is_end = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\''
                    | '`'
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | ','
                    | ';'
                    | '<'
                    | '>'
                    | '|'
                    | '&'
                    | '='
            )
    };
    let parts = code
        .split(is_end)
        .filter(|part| !part.is_empty() && part.len() < 4096)
        .take(MOST_TOKENS);
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`');
    let (mut end, mut is_command) = (0, false);
    let mut is_text = move |part: &str| {
        let at = part.as_ptr() as usize - code.as_ptr() as usize;
        let (before, after) = (&code[end..at], &code[at + part.len()..]);
        end = at + part.len();
        let quote = before.chars().next_back().filter(|c| is_quote(*c));
        let is_whole = quote.is_some() && after.chars().next() == quote;
        let behind_quote = before.rfind(is_quote).map(|quote| &before[quote + 1..]);
        if behind_quote.is_none() && at > 0 {
            return is_whole || is_command;
        }
        // A text that begins with a program's name may be its command: `system("rm -rf x")`, and
        // `!rm x` in an editor.
        let is_word = behind_quote.map_or(part.starts_with('!'), |it| it.trim().is_empty())
            && after.starts_with(char::is_whitespace);
        is_command = is_word && options::row(part.trim_start_matches('!')).is_some();
        is_whole
    };
    let word = |part: &str| {
        // `~+` is the directory at hand.
        let part = part.strip_prefix("~+/").unwrap_or(part);
        // `~1` is one of the directories that `pushd` keeps.
        let is_kept =
            |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        if let Some((name, path)) = part.strip_prefix('~').and_then(|part| part.split_once('/'))
            && is_kept(name.trim_start_matches(['+', '-']))
        {
            return Word {
                openness: Openness::Operand(0),
                ..Word::constant(format_compact!("…/{path}"))
            };
        }
        // `${:-.env}`
        let part = part.strip_prefix(":-").unwrap_or(part);
        let below_home = ["~", "$HOME"].iter().find_map(|it| part.strip_prefix(it));
        let below_home = below_home.filter(|rest| rest.starts_with('/'));
        Word {
            home: below_home.is_some(),
            ..Word::constant(below_home.unwrap_or(part))
        }
    };
    let reaching = |word: Word, is_text: bool| {
        let reach = reach_of(&word, if is_text { Reach::Below } else { Reach::File });
        (word, reach)
    };
    let words = parts
        .map(move |part| reaching(word(part), is_text(part)))
        .filter(|(word, _)| !is_device(word));
    words.flat_map(move |(word, reach)| {
        let more: Vec<_> = pieces(&word).map(|it| reaching(it, false)).collect();
        [(word, reach)].into_iter().chain(more)
    })
}

/// How far what may be done to a name reaches; `of_word`: without a slash. A directory is named by
/// a path with a slash and by a text of code; another word is mostly none, as in `import secrets`.
fn reach_of(word: &Word, of_word: Reach) -> Reach {
    if word.text.contains('/') {
        Reach::Below
    } else {
        of_word
    }
}

/// What find itself does below where it starts: what it runs for what it comes across is listed as
/// commands.
fn found(command: &Command) -> Vec<FileAct> {
    let words = &command.words[1..];
    let finds = Finds::new(words);
    let starts = &finds.starts;
    let mut acts = Vec::new();
    let act = |access, reach, word: &Word| FileAct {
        access,
        reach,
        word: word.clone(),
        certainty: Certainty::Certain,
        at: word.span.clone().unwrap_or_else(|| command.span.clone()),
        by: None,
        directories: command.directories.clone(),
    };
    for pair in words.windows(2) {
        match pair[0].text.as_str() {
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                acts.push(act(Access::Write, Reach::File, &pair[1]))
            }
            "-files0-from" => acts.push(act(Access::Read, Reach::File, &pair[1])),
            _ => {}
        }
    }
    if words.iter().any(|word| word.text == "-delete") {
        match finds.names() {
            Some(names) => {
                let found = starts
                    .iter()
                    .flat_map(|start| names.iter().map(move |name| found_below(start, name)));
                acts.extend(found.map(|it| act(Access::Write, Reach::File, &it)));
            }
            None => acts.extend(starts.iter().map(|it| act(Access::Write, Reach::All, it))),
        }
    }
    acts
}

fn found_below(start: &Word, name: &str) -> Word {
    let text = format_compact!("{}/**/{name}", start.text.trim_end_matches('/'));
    Word {
        openness: Openness::Files(start.text.len()),
        found: true,
        text,
        ..start.clone()
    }
}
