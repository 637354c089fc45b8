//! What a shell text would do, and rules over it. This library knows nothing of hooks, hosts and
//! agents.
//!
//! [`read`] lists every simple command on any control path of a text, and says what it can't tell.
//! It reads a small grammar of which it is certain; whatever stands outside is a gap.
//! [`Script::file_acts`] lists the files that the text reads and writes. [`hits`] and [`covers`]
//! hold rules against the commands: a rule names an act, not characters.
//!
//! # Where things are
//!
//! | file | what |
//! |---|---|
//! | `grammar` | from a text to its syntax |
//! | `commands`, `expand`, `word`, `directories` | from syntax to the commands that run, with what words, in which directory |
//! | `environment` | what a text is given by whoever has it run |
//! | `programs` | what programs are: one table, `programs.txt`, with one row for each, and one parser of their words |
//! | `act`, `finds` | which files are read and written, and what find comes across |
//! | `started` | a program that was seen to start |
//! | `told` | one command's words as its program reads them |
//! | `judge`, `path`, `meeting`, `judged` | rules over commands |
//!
//! A new program is a row of `programs.txt`, whose head says what the columns are, and examples in
//! `tests/acts.txt`, which are run beside the real program.

mod act;
mod commands;
mod connections;
mod directories;
mod environment;
mod expand;
mod finds;
mod git_acts;
mod grammar;
mod judge;
mod judged;
pub mod meeting;
mod names;
mod path;
mod programs;
mod started;
#[cfg(test)]
mod tests;
mod told;
mod whole_environment;
mod word;

pub use act::{Access, Certainty, FileAct, Named, Reach, named_in_shell_text, named_in_text};
pub use connections::Connection;
pub use environment::{Environment, GIVEN, HomeOf};
pub use finds::{Finds, Only, Test};
pub use git_acts::{Exchange, GitAct, Moves, UNKNOWN};
pub use judge::{CommandRule, Name, OptionPlace, Uncovered, covers, excepts, hits, uncovered};
pub use programs::To;
pub use started::{
    Starter, is_step, program_names, programs_of_files, programs_of_hosts, starts_of, text_of_shell,
};
pub use told::{Ends, Told};
pub use whole_environment::{ENVIRONMENT_FILE, is_read_in_code};
pub use word::Word;

use std::path::Path;
use std::sync::Arc;

/// A place in a text, in bytes.
pub type Span = std::ops::Range<usize>;

/// Which shell will read a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// GNU bash.
    Bash,
    /// dash and the like; `sh` may be one.
    Posix,
    /// zsh.
    Zsh,
    /// One of bash and dash: only what both read alike is certain.
    #[default]
    Unknown,
    /// A shell with another syntax: only plain words are certain.
    Other,
}

impl Shell {
    /// How many there are.
    pub const COUNT: usize = Shell::Other as usize + 1;

    /// Whether it is one of these two, whichever.
    fn is_bash_or_dash(self) -> bool {
        matches!(self, Shell::Bash | Shell::Posix | Shell::Unknown)
    }

    /// Whether dash may be it.
    fn may_be_dash(self) -> bool {
        matches!(self, Shell::Posix | Shell::Unknown)
    }

    /// The shell of that name or path.
    pub fn named(name: &str) -> Shell {
        match name
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default()
            .trim_end_matches(".exe")
        {
            "bash" | "rbash" => Shell::Bash,
            "zsh" => Shell::Zsh,
            "dash" | "ash" | "sh" | "posh" | "yash" | "busybox" => Shell::Posix,
            "" => Shell::Unknown,
            _ => Shell::Other,
        }
    }
}

/// What a text would run, as far as it can be told.
#[derive(Debug, Default)]
pub struct Script {
    commands: Vec<Command>,
    /// What could run and can't be told.
    gaps: Vec<Doubt>,
    /// Code runs that the text doesn't show.
    unseen: Option<Doubt>,
    /// It may be what the text's constants say.
    runs_constants: bool,
    /// What else the text does than its commands say: a rule that allows must not overlook it.
    beside: Option<Doubt>,
    /// Constants that may end up as code.
    texts: Vec<(String, Span)>,
    /// What flows from one to the next: for each pipe, the commands of its stages.
    flows: Vec<Vec<std::ops::Range<usize>>>,
    /// Scripts by their path, to be looked into by whoever has the files.
    scripts: Vec<String>,
    /// Those that run in another directory than the text, from where the text begins.
    moved_scripts: Vec<String>,
    /// The variables that the text sets by itself: `x=1`.
    assigned: Vec<compact_str::CompactString>,
    /// Files that a shell or an interpreter runs: `x` of `bash x a`, `. ./x a` and `sh -s a < x`.
    run_files: Vec<RunFile>,
    /// The files that redirections open.
    redirected: Vec<act::Redirected>,
    connections: act::Found<Connection>,
    /// Code runs that the text computes.
    computed: Option<Doubt>,
    /// What isn't read at all: it may do anything.
    refused: Option<Doubt>,
    judged: judged::Judged,
    acts: act::Found<FileAct>,
}

/// A file that is run as a script.
#[derive(Clone, Debug, PartialEq)]
struct RunFile {
    file: Word,
    /// How many of the last words of the command that runs it are for the script.
    n_args: usize,
    /// Where that command stands.
    span: Span,
    directories: directories::Directories,
    relinked: bool,
}

/// One simple command, or a redirection that no command is listed with: `> f`, `{ ls; } > f`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// The program and its arguments after expansion; none for a redirection by itself.
    pub words: Vec<Word>,
    /// Where it stands in the text, in bytes.
    pub span: Span,
    role: Role,
    assigns: bool,
    /// The assignments before it, if they are all that it has set: `NAME=value`.
    settings: Option<Arc<[Word]>>,
    writes: Writes,
    data: bool,
    directories: directories::Directories,
    /// An earlier command may have changed where paths lead.
    relinked: bool,
    /// What its words hold of other commands is in the list.
    shell_text: bool,
    /// It may run its own words as another command.
    runs_words: bool,
    /// It is given code that runs what it makes of its input: `awk '{ system("git push " $1) }'`.
    builds_code: bool,
}

/// What the redirections of a command write into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Writes {
    #[default]
    Nothing,
    /// These files, by constant names.
    Files(Arc<[Word]>),
    /// It can't be told. What is known of their names.
    Anything(Arc<[Word]>),
}

impl Writes {
    fn and(self, other: Writes) -> Writes {
        match (self, other) {
            (Writes::Nothing, only) | (only, Writes::Nothing) => only,
            (Writes::Files(some), Writes::Files(more)) => {
                Writes::Files(some.iter().chain(&*more).cloned().collect())
            }
            (Writes::Anything(some), Writes::Files(more) | Writes::Anything(more))
            | (Writes::Files(some), Writes::Anything(more)) => {
                Writes::Anything(some.iter().chain(&*more).cloned().collect())
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Plain,
    /// It runs other commands of the list and does nothing else.
    Transparent,
}

impl Command {
    /// Whether it may write into a file, by a redirection. Every redirection of a text that writes
    /// is a command's.
    pub fn writes(&self) -> bool {
        self.writes != Writes::Nothing
    }

    /// The files that its redirections write, each by a constant path; nothing if some can't be
    /// told.
    pub fn files_written(&self) -> Option<&[Word]> {
        match &self.writes {
            Writes::Nothing => Some(&[]),
            Writes::Files(files) => Some(files),
            Writes::Anything(_) => None,
        }
    }

    /// Whether it does nothing but run other commands of the list.
    pub fn is_transparent(&self) -> bool {
        self.role == Role::Transparent
    }

    /// Whether all that its words hold of other commands is in the list: `sudo rm x`.
    pub fn is_read_on(&self) -> bool {
        self.is_transparent() || self.shell_text
    }

    /// The files that its redirections write, by names that may be computed.
    pub fn written(&self) -> &[Word] {
        match &self.writes {
            Writes::Nothing => &[],
            Writes::Files(words) | Writes::Anything(words) => words,
        }
    }

    /// The directories that it may run in, and its relative paths count from: each from where the
    /// text begins, which is the empty one, from the root, or from the home, which is `~`; nothing
    /// if it may be any.
    pub fn directories(&self) -> Option<impl Iterator<Item = &str>> {
        (!self.directories.is_unknown()).then(|| self.directories.all())
    }

    /// This command with other words.
    fn with(&self, words: Vec<Word>) -> Command {
        let (span, writes) = (self.span.clone(), self.writes.clone());
        Command {
            words,
            span,
            writes,
            directories: self.directories.clone(),
            settings: self.settings.clone(),
            ..*self
        }
    }

    /// The command that its words are from one of them on.
    fn from(&self, at: usize) -> Command {
        self.with(self.words[at..].to_vec())
    }

    /// Its words and the files that it writes by redirections, as paths.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        self.words
            .iter()
            .chain(self.written())
            .map(|word| word.path().to_string())
    }

    /// The words joined by blanks; of a redirection by itself, what it writes.
    pub fn normal(&self) -> String {
        if self.words.is_empty() {
            let files = self
                .files_written()
                .unwrap_or_default()
                .iter()
                .map(Word::path)
                .collect::<Vec<_>>();
            return if files.is_empty() {
                "> …".into()
            } else {
                format!("> {}", files.join(" > "))
            };
        }
        let words: Vec<_> = self.words.iter().map(Word::path).collect();
        words.join(" ")
    }
}

/// Gives the text of a script by its path as written, if it is at hand.
pub type Files<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Where links lead that a pattern of file names comes across.
pub type Linked<'a> = dyn Fn(&[&str]) -> Option<Vec<String>> + 'a;

/// Where a text would run: what paths and `~` are taken against.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The working directory.
    pub cwd: &'a Path,
    /// The directory that relative patterns count from.
    pub patterns: &'a Path,
    /// The user's home.
    pub home: Option<&'a Path>,
    /// Says whether a file may be written, by its absolute path; without it, none may.
    pub may_write: Option<&'a dyn Fn(&str) -> bool>,
    /// Looks into a script by its path as written, if it is at hand and small.
    pub files: Option<&'a Files<'a>>,
    /// Says where links lead an absolute path, as far as it exists; nothing if that can't be told.
    pub links: Option<&'a Files<'a>>,
    /// Says where links lead that an absolute pattern of file names comes across, by its parts;
    /// nothing if that can't be told.
    pub linked: Option<&'a Linked<'a>>,
    /// Says whether a command of the text is where the rules are to hold; without it, each is.
    pub located: Option<&'a Locator<'a>>,
}

/// Says whether the command at an index is where a rule is to hold.
pub type Locator<'a> = dyn Fn(&Script, usize) -> Located + 'a;

/// Whether something is where a rule is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Located {
    /// It is.
    Here,
    /// It is elsewhere.
    Elsewhere,
    /// That can't be told, and why.
    Unclear(&'static str),
}

impl<'a> Place<'a> {
    /// A directory, and nothing is known of homes, files and links.
    pub fn at(cwd: &'a Path) -> Place<'a> {
        Place {
            cwd,
            patterns: cwd,
            home: None,
            may_write: None,
            files: None,
            links: None,
            linked: None,
            located: None,
        }
    }

    /// What a rule comes to for a command where it is.
    fn held_there(&self, held: judged::Held, script: &Script, at: usize) -> judged::Held {
        match self.located {
            Some(located) if held != judged::Held::No => match located(script, at) {
                Located::Here => held,
                Located::Elsewhere => judged::Held::No,
                Located::Unclear(why) => held.min(judged::Held::Doubt(why)),
            },
            _ => held,
        }
    }
}

/// What couldn't be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The reason.
    pub why: &'static str,
    /// Where in the text, in bytes.
    pub at: Span,
}

/// Whether a rule holds for a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It doesn't.
    No,
    /// It doesn't by what the text shows, and other code runs that the text doesn't show.
    Delegates(Doubt),
    /// Neither can be told.
    Doubt(Doubt),
    /// It does, for these of the text's commands.
    Yes(Vec<usize>),
}

/// The longest text that is read, in bytes.
pub const MAX_TEXT: usize = 256 * 1024;
/// Steps that reading a text may take: some tenths of a second.
pub const MAX_WORK: usize = 400_000;
/// Why a text for another shell isn't read.
const UNKNOWN_SHELL: &str = "a shell whose syntax isn't known";

/// Lists what `text` would run, whatever it is given.
pub fn read(text: &str, shell: Shell) -> Script {
    read_given(text, shell, MAX_WORK, &[]).0
}

/// Reads a text that is given one of these environments: where they differ and the text asks, what
/// it would do in any of them is listed. A text may take many steps, because functions call each
/// other; says whether so many were enough.
pub fn read_given(
    text: &str,
    shell: Shell,
    max_work: usize,
    given: &[Arc<Environment>],
) -> (Script, bool) {
    let refused = |why, at: Span| {
        let doubt = Doubt { why, at };
        (
            Script {
                gaps: vec![doubt.clone()],
                refused: Some(doubt),
                ..Script::default()
            },
            true,
        )
    };
    if text.len() > MAX_TEXT {
        return refused("the text is too long", 0..0);
    }
    if shell == Shell::Other && !is_plain(text) {
        return refused(UNKNOWN_SHELL, 0..text.len());
    }
    let read_in = |environment: Arc<Environment>| {
        let mut walk = commands::Walk::new(shell, max_work, environment);
        walk.read(text);
        (walk.asks_environment(), walk.has_work_left(), walk.script)
    };
    let (first, others) = given
        .split_first()
        .map_or((Arc::default(), &[][..]), |(it, others)| {
            (it.clone(), others)
        });
    let (asks, mut was_enough, mut script) = read_in(first.clone());
    for other in others.iter().filter(|other| asks && !other.is_same(&first)) {
        let (_, is_all, also) = read_in(other.clone());
        was_enough &= is_all;
        script.add(also);
    }
    (script, was_enough)
}

/// Words that every shell reads alike.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b' ' | b'-' | b'_' | b'.' | b'/' | b':' | b'+')
    })
}

impl RunFile {
    /// The command that the script is by its own name, and which command runs it.
    fn as_command(&self, script: &Script) -> Option<(usize, Command)> {
        let runs_it = |command: &Command| {
            let at = command.words.len().checked_sub(self.n_args + 1);
            let file = at.and_then(|at| command.words.get(at));
            command.span == self.span && file.is_some_and(|word| word.text == self.file.text)
        };
        let commands = &script.commands;
        let is_there = |command: &Command| command.span == self.span;
        let by = commands.iter().rposition(runs_it);
        let by = by.or_else(|| commands.iter().rposition(is_there))?;
        let runner = &commands[by];
        let is_bare = !self.file.home && !self.file.text.contains('/') && self.file.is_constant();
        let file = match is_bare {
            true => Word::constant(format!("./{}", self.file.text)),
            false => self.file.clone(),
        };
        let first = runner.words.len().saturating_sub(self.n_args).max(1);
        let args = runner.words.get(first..).unwrap_or_default();
        let command = Command {
            directories: self.directories.clone(),
            relinked: self.relinked,
            ..runner.with(file.before(args))
        };
        Some((by, command))
    }
}

impl Script {
    /// Adds what the same text does in another environment.
    fn add(&mut self, other: Script) {
        // Mostly the same stands at the same place.
        fn add_new<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
            let known = all.len();
            for (at, it) in more.into_iter().enumerate() {
                if at >= known || all[at] != it {
                    all.push(it);
                }
            }
        }
        // What flows is told by places in the list.
        if self.flows.is_empty() && other.flows.is_empty() {
            add_new(&mut self.commands, other.commands);
        } else {
            let before = self.commands.len();
            let moved = |stage: std::ops::Range<usize>| stage.start + before..stage.end + before;
            self.flows.extend(
                other
                    .flows
                    .into_iter()
                    .map(|stages| stages.into_iter().map(moved).collect()),
            );
            self.commands.extend(other.commands);
        }
        add_new(&mut self.gaps, other.gaps);
        add_new(&mut self.texts, other.texts);
        add_new(&mut self.scripts, other.scripts);
        add_new(&mut self.redirected, other.redirected);
        add_new(&mut self.run_files, other.run_files);
        add_new(&mut self.assigned, other.assigned);
        self.runs_constants |= other.runs_constants;
        self.unseen = self.unseen.take().or(other.unseen);
        self.beside = self.beside.take().or(other.beside);
        self.computed = self.computed.take().or(other.computed);
        self.refused = self.refused.take().or(other.refused);
    }

    /// The simple commands in order.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// Whether all commands of the text are in the list, whatever these run in turn.
    pub fn is_readable(&self) -> bool {
        self.names_all() && self.scripts.is_empty()
    }

    /// Why more may run than the commands.
    pub fn untold(&self) -> Option<&Doubt> {
        self.gaps.first().or(self.unseen.as_ref())
    }

    /// Whether all commands of the text are in the list, but for those of the scripts that it runs.
    pub fn names_all(&self) -> bool {
        self.gaps.is_empty()
    }

    /// The scripts that it would run, by their paths as written.
    pub fn scripts(&self) -> &[String] {
        &self.scripts
    }

    /// The scripts that it would run, by each path from where the text begins at which one may be.
    pub fn scripts_at_hand(&self) -> impl Iterator<Item = &str> {
        self.scripts
            .iter()
            .chain(&self.moved_scripts)
            .map(String::as_str)
    }

    /// Constants that may end up as code: what a here-document gives to a program, a variable's
    /// value.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|(text, _)| text.as_str())
    }

    /// The files that it runs, as far as it names them: programs by their paths as written, and
    /// scripts.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let programs = self
            .commands
            .iter()
            .filter_map(|command| command.words.first()?.as_constant());
        programs
            .filter(|program| program.contains('/'))
            .chain(self.scripts.iter().map(String::as_str))
    }

    /// Every name that the [program](CommandRule::program) of a rule must be one of for the rule to
    /// hold or be in doubt; nothing if any program could be run.
    pub fn programs(&self) -> Option<Vec<&str>> {
        // A script may name any.
        if !self.gaps.is_empty() || !self.scripts.is_empty() || !self.run_files.is_empty() {
            return None;
        }
        let mut names = Vec::with_capacity(self.commands.len());
        for command in &self.commands {
            let Some(head) = command.words.first() else {
                continue;
            };
            let name = names::base_name(head.as_constant()?);
            let program = programs::known(name);
            names.extend([Some(name), program.same()].into_iter().flatten());
            programs::other_programs(&program).for_each(|name| names.push(name));
        }
        if self.runs_constants {
            // `prlimit g$x push`: a program may be one whose name a variable ends.
            let is_open = |word: &Word| {
                word.openness.from().is_some()
                    && !word.beginning().is_empty()
                    && !word.beginning().contains('/')
            };
            let unknown = self.commands.iter().filter(|command| command.runs_words);
            if unknown.flat_map(|command| &command.words).any(is_open) {
                return None;
            }
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
            let texts = self.texts.iter().map(|(text, _)| text.as_str());
            let words = self
                .commands
                .iter()
                .filter(|command| !command.data)
                .flat_map(|command| &command.words);
            let (mut has_expansions, mut has_settings) = (false, false);
            for text in texts.chain(words.map(|word| word.text.as_str())) {
                has_expansions |= text.contains('$');
                has_settings |= text.contains('=');
                for name in text.split(|c| !is_part(c)).filter(|name| !name.is_empty()) {
                    // `1egit push` is how sed runs git.
                    names.extend(
                        name.trim_start_matches(|c: char| c.is_ascii_digit())
                            .strip_prefix(['e', 'i', 'a', 'c']),
                    );
                    // `-@+git push` is how make runs it.
                    names.extend(name.split(|c: char| !c.is_alphanumeric() && c != '_'));
                    names.extend([
                        name,
                        name.trim_start_matches(|c: char| !c.is_alphanumeric()),
                    ]);
                }
            }
            // `g$(IT) push`: what make expands may be any.
            if has_expansions && has_settings {
                return None;
            }
        }
        Some(names)
    }
}
