//! What a text would do to files: those that its redirections open, and those that its programs are given, as the table of
//! [programs](super::programs) says what they do with them.

use super::commands::{Directories, tail};
use super::expand::{Openness, Word};
use super::programs::files::{Kind, Use, Uses};
use super::programs::{is_plain_sed, running};
use super::{Command, Script, Span};
use compact_str::format_compact;

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

/// How far an act reaches from the path that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// That file.
    File,
    /// That file or some of what the directory holds. Which it is isn't told.
    Below,
    /// That file, or the directory with all that it holds.
    All,
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
    directories: Directories,
}

impl FileAct {
    /// The directories that a relative path counts from: each from where the text begins, which is the empty one, from the
    /// root, or from the home, which is `~`; nothing if it may be any.
    pub fn directories(&self) -> Option<impl Iterator<Item = &str>> {
        (self.directories != Directories::Unknown).then(|| self.directories.all())
    }

    /// What its word names.
    pub fn named(&self) -> Named {
        let word = &self.word;
        let is_known = !word.text.contains(['$', '`', '…']);
        match word.openness {
            Openness::Constant => Named::Path(word.path().into_owned()),
            Openness::Files(_) if word.found && is_known => Named::Found(word.path().into_owned()),
            Openness::Files(_) if is_known => Named::Pattern(word.path().into_owned()),
            _ => {
                let known = Word { openness: Openness::Constant, ..word.clone() };
                let before = Word { text: word.beginning().into(), ..known }.path().into_owned();
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
    /// The paths that find comes across: `**` is any number of directories, and it follows no links.
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

/// What stands behind the last expansion of a text.
fn behind_expansions(text: &str) -> &str {
    let Some(at) = text.rfind(['$', '`', '…']) else { return "" };
    let rest = &text[at..];
    match rest.as_bytes() {
        [b'$', b'{', ..] => rest.find('}').map_or("", |end| &rest[end + 1..]),
        [b'$', b'(', ..] => rest.rfind(')').map_or("", |end| &rest[end + 1..]),
        [b'$', ..] => {
            let name = rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len() - 1);
            &rest[1 + name..]
        }
        _ => rest.char_indices().nth(1).map_or("", |(at, _)| rest[at..].trim_start_matches(')')),
    }
}

/// A file that a redirection opens.
#[derive(Clone, Debug)]
pub(super) struct Redirected {
    pub(super) word: Word,
    pub(super) access: Access,
    pub(super) directories: Directories,
    pub(super) at: Span,
}

/// So many words of code are looked at.
const MOST_TOKENS: usize = 1024;
const NAMED_IN_CODE: &str = "code names it";
const NOT_KNOWN: &str = "it isn't known what the program does with it";
const HANDED_ON: &str = "one command finds it and hands it to another";
const REVISION: &str = "it may be a revision or a file";

impl Script {
    /// What the text would do to files, as far as it names them.
    pub fn file_acts(&self) -> Vec<FileAct> {
        let mut acts = Vec::new();
        let opened = self.redirected.iter().filter(|it| !is_device(&it.word)).map(|it| FileAct {
            access: it.access,
            reach: Reach::File,
            word: it.word.clone(),
            certainty: Certainty::Certain,
            at: it.at.clone(),
            directories: it.directories.clone(),
        });
        acts.extend(opened);
        let mut may_run = self.runs_constants || !self.gaps.is_empty();
        for command in self.commands.iter().filter(|it| !it.words.is_empty()) {
            may_run |= add(command, &mut acts);
        }
        self.add_handed_on(&mut acts);
        // What runs unseen may be what constants say.
        if may_run {
            for (text, at) in &self.texts {
                let directories = Directories::First;
                acts.extend(tokens(text).map(|word| named_in_code(word, directories.clone(), at.clone())));
            }
        }
        acts
    }
}

impl Script {
    /// `find . -name x | xargs cat`: what one command comes across and another may take from it.
    fn add_handed_on(&self, acts: &mut Vec<FileAct>) {
        for flow in &self.flows {
            let commands = || flow.iter().flat_map(|range| self.commands.get(range.clone()).unwrap_or_default());
            let found: Vec<(Word, &Command)> = commands()
                .filter(|it| it.words.first().is_some_and(|word| Uses::of(std::slice::from_ref(word)).finds))
                .flat_map(|it| running::found_by(&it.words).into_iter().flatten().map(move |word| (word, it)))
                .collect();
            if found.is_empty() {
                continue;
            }
            let mut own = Vec::new();
            for command in commands().filter(|it| !it.is_read_on()) {
                add(command, &mut own);
            }
            for taking in own.iter().filter(|it| it.named() == Named::Nothing) {
                acts.extend(found.iter().map(|(word, by)| FileAct {
                    word: word.clone(),
                    certainty: Certainty::Doubt(HANDED_ON),
                    directories: by.directories.clone(),
                    at: by.span.clone(),
                    ..taking.clone()
                }));
            }
        }
    }
}

/// Paths that a text names which isn't read as a shell's: each may be read or written.
pub fn named_in_text(text: &str) -> Vec<FileAct> {
    tokens(text).map(|word| named_in_code(word, Directories::First, 0..text.len())).collect()
}

fn named_in_code(word: Word, directories: Directories, at: Span) -> FileAct {
    let certainty = Certainty::Doubt(NAMED_IN_CODE);
    FileAct { access: Access::Either, reach: Reach::File, word, certainty, at, directories }
}

/// Whether it is no file but a device that everybody may write: `/dev/null`, a terminal, what is open already.
fn is_device(word: &Word) -> bool {
    let path = word.beginning();
    matches!(
        path,
        "/dev/null"
            | "/dev/tty"
            | "/dev/stdin"
            | "/dev/stdout"
            | "/dev/stderr"
            | "/dev/zero"
            | "/dev/full"
            | "/dev/random"
            | "/dev/urandom"
    ) || path.starts_with("/dev/fd/")
        || path.starts_with("/dev/tcp/")
        || path.starts_with("/dev/udp/")
}

/// Adds what one command does, and says whether what it reads may be code.
fn add(command: &Command, acts: &mut Vec<FileAct>) -> bool {
    let mut uses = Uses::of(&command.words);
    if command.is_read_on() {
        // What it runs is listed by itself.
        uses.words.retain(|it| it.of_option && it.kind != Kind::Any);
        uses.may_run = false;
    }
    let directories =
        uses.directories.iter().fold(command.directories.clone(), |all, word| match word.as_constant_path() {
            Some(path) => all.changed(&path),
            None => Directories::Unknown,
        });
    let act = |access, reach, word: &Word, certainty| FileAct {
        access,
        reach,
        word: word.clone(),
        certainty,
        at: word.span.clone().unwrap_or_else(|| command.span.clone()),
        directories: directories.clone(),
    };
    if uses.finds {
        acts.extend(found(command, &directories));
        return false;
    }
    let certain = Certainty::Certain;
    for Use { word, kind, is_file, .. } in &uses.words {
        if is_device(word) {
            continue;
        }
        let perhaps = || if *is_file { Certainty::Certain } else { Certainty::Doubt(REVISION) };
        match kind {
            Kind::Text | Kind::Look | Kind::Url | Kind::Dir => {}
            Kind::Read => acts.push(act(Access::Read, Reach::File, word, certain.clone())),
            Kind::Write => acts.push(act(Access::Write, Reach::File, word, certain.clone())),
            Kind::Edit => acts.push(act(Access::Either, Reach::File, word, certain.clone())),
            Kind::ReadTree => acts.push(act(Access::Read, Reach::Below, word, certain.clone())),
            Kind::ChangeTree => acts.push(act(Access::Write, Reach::All, word, certain.clone())),
            Kind::Take => acts.push(act(Access::Either, Reach::All, word, certain.clone())),
            Kind::Fill => {
                acts.push(act(Access::Write, Reach::Below, word, certain.clone()));
                acts.extend(
                    uses.sources()
                        .filter_map(|it| below(word, &it.word))
                        .map(|it| act(Access::Write, Reach::Below, &it, certain.clone())),
                );
            }
            Kind::Into => {
                acts.push(act(Access::Write, Reach::File, word, certain.clone()));
                for source in uses.sources() {
                    match below(word, &source.word) {
                        Some(file) => acts.push(act(Access::Write, Reach::File, &file, certain.clone())),
                        None => acts.push(act(Access::Write, Reach::Below, word, certain.clone())),
                    }
                }
            }
            Kind::PerhapsRead => {
                acts.push(act(Access::Read, Reach::Below, word, perhaps()));
                // `git show HEAD:x`
                if let Some((at, _)) = word.text.char_indices().find(|(_, c)| *c == ':').filter(|_| !is_file) {
                    acts.push(act(Access::Read, Reach::File, &tail(word, at + 1), certain.clone()));
                }
            }
            Kind::PerhapsChange => acts.push(act(Access::Write, Reach::All, word, perhaps())),
            Kind::At => {
                // `-F name=@file`
                if let Some(at) = word.text.find('@').filter(|at| *at == 0 || word.text[..*at].ends_with('=')) {
                    acts.push(act(Access::Read, Reach::File, &tail(word, at + 1), certain.clone()));
                }
            }
            Kind::Sed if is_plain_sed(&word.text) => {}
            Kind::Awk if !may_open(&word.text) => {}
            Kind::Code | Kind::Sed | Kind::Awk => {
                let at = word.span.clone().unwrap_or_else(|| command.span.clone());
                acts.extend(tokens(&word.text).map(|it| named_in_code(it, directories.clone(), at.clone())));
            }
            Kind::Any => {
                let doubt = |word: &Word| act(Access::Either, Reach::File, word, Certainty::Doubt(NOT_KNOWN));
                acts.push(doubt(word));
                acts.extend(pieces(word).map(|it| doubt(&it)));
            }
        }
    }
    uses.may_run
}

/// Whether a program of awk may open files or run programs.
fn may_open(code: &str) -> bool {
    code.contains(['>', '|', '@']) || code.contains("getline") || code.contains("system")
}

/// The place that a source gets in a directory; nothing if its name isn't told.
fn below(directory: &Word, source: &Word) -> Option<Word> {
    let name = source.as_constant_path()?;
    let name = name.trim_end_matches('/').rsplit('/').next().filter(|it| !matches!(*it, "" | "." | ".." | "~"))?;
    let is_constant = directory.openness == Openness::Constant;
    is_constant
        .then(|| Word { text: format_compact!("{}/{name}", directory.text.trim_end_matches('/')), ..directory.clone() })
}

/// The parts of a word that may each be a path: `--file=x`, `a:b`.
fn pieces(word: &Word) -> impl Iterator<Item = Word> {
    let starts = word.text.match_indices(['=', ':', ',', '@']).map(|(at, _)| at + 1).take(16);
    let wholes = starts.map(|at| tail(word, at)).collect::<Vec<_>>();
    let firsts = wholes.clone().into_iter().filter_map(|it| {
        let end = it.text.find([':', ','])?;
        Some(Word::constant(&it.text[..end]))
    });
    let first = word.text.find([':', ',']).map(|end| Word::constant(&word.text[..end]));
    wholes.into_iter().chain(firsts.collect::<Vec<_>>()).chain(first)
}

/// What may be a path in code: the longest parts without signs that end one.
fn tokens(code: &str) -> impl Iterator<Item = Word> {
    let is_end = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '<' | '>' | '|' | '&' | '='
            )
    };
    let parts = code.split(is_end).filter(|part| !part.is_empty() && part.len() < 4096).take(MOST_TOKENS);
    let word = |part: &str| {
        let is_home = part.starts_with("~/");
        Word { home: is_home, ..Word::constant(if is_home { &part[1..] } else { part }) }
    };
    parts.map(word).filter(|word| !is_device(word))
}

/// What find itself does below where it starts: what it runs for what it comes across is listed as commands.
fn found(command: &Command, directories: &Directories) -> Vec<FileAct> {
    let words = &command.words[1..];
    let is_expression = |word: &Word| word.beginning().starts_with(['-', '(', '!']);
    let starts = words
        .iter()
        .skip_while(|it| matches!(it.text.as_str(), "-H" | "-L" | "-P"))
        .take_while(|it| !is_expression(it));
    let mut starts: Vec<Word> = starts.cloned().collect();
    if starts.is_empty() {
        starts.push(Word::constant("."));
    }
    let mut acts = Vec::new();
    let act = |access, reach, word: &Word| FileAct {
        access,
        reach,
        word: word.clone(),
        certainty: Certainty::Certain,
        at: word.span.clone().unwrap_or_else(|| command.span.clone()),
        directories: directories.clone(),
    };
    for pair in words.windows(2) {
        if matches!(pair[0].text.as_str(), "-fprint" | "-fprint0" | "-fls" | "-fprintf") {
            acts.push(act(Access::Write, Reach::File, &pair[1]));
        }
    }
    if words.iter().any(|word| word.text == "-delete") {
        match names_found(words) {
            Some(names) => {
                let found = starts.iter().flat_map(|start| names.iter().map(move |name| found_below(start, name)));
                acts.extend(found.map(|it| act(Access::Write, Reach::File, &it)));
            }
            None => acts.extend(starts.iter().map(|it| act(Access::Write, Reach::All, it))),
        }
    }
    acts
}

/// The names of which each path that find comes across fits one, as patterns; nothing if an alternative says no name.
fn names_found(words: &[Word]) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for alternative in words.split(|word| matches!(word.text.as_str(), "-o" | "-or" | ",")) {
        let is_name = |at: &usize| matches!(alternative[*at].text.as_str(), "-name" | "-iname");
        let is_negated = |at: usize| at > 0 && matches!(alternative[at - 1].text.as_str(), "!" | "-not");
        let at = (0..alternative.len().saturating_sub(1)).find(|at| is_name(at) && !is_negated(*at))?;
        names.push(alternative[at + 1].as_constant()?);
    }
    Some(names)
}

fn found_below(start: &Word, name: &str) -> Word {
    let text = format_compact!("{}/**/{name}", start.text.trim_end_matches('/'));
    Word { openness: Openness::Files(start.text.len()), found: true, text, ..start.clone() }
}
