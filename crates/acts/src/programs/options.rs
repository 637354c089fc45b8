//! How programs take their options: a table, one line for each program and sub-command.

use super::super::word::Word;
use super::ByName;
use super::clause::{Clause, Kind};
use compact_str::CompactString;
use memchr::{memchr, memchr_iter, memrchr};
use std::sync::{Arc, LazyLock, OnceLock};

/// `PATH<TAB>HABITS<TAB>OPTIONS<TAB>FILES<TAB>RUNS<TAB>ACTS<TAB>PRINTS`; it says itself what the
/// columns are.
pub(super) static TABLE: &str = include_str!("programs.txt");

/// How a program's parser reads its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Style {
    /// Clusters of letters, any unambiguous beginning of a long name, options after operands too.
    #[default]
    Getopt,
    /// As `Getopt`, and options end at the first operand.
    Posix,
    /// One dash or two mean the same, no clusters.
    Go,
    /// Clusters, exact long names.
    Exact,
    /// Every word with a dash is an option by that name.
    Word,
    /// There are no options.
    None,
}

/// One option of a program.
#[derive(Clone, Debug)]
pub(in super::super) struct Opt {
    pub(in super::super) names: Vec<&'static str>,
    pub(in super::super) value: Takes,
    /// What its value is.
    pub(in super::super) kind: Kind,
    /// What it makes its program run.
    pub(in super::super) does: Does,
    /// It is no part of what the `*` of a rule that allows covers.
    pub(in super::super) is_code: bool,
}

words_of_table! {
    /// What an option makes its program run, as the table says behind a `!`.
    #[derive(Default)]
    enum Does {
        #[default]
        Nothing = "",
        Command = "command" | "text",
        Until = "until",
        Words = "words",
        Program = "program",
        Setting = "setting",
        Config = "config",
        Unit = "unit",
        Pipe = "pipe",
        Moves = "moves",
        Joined = "joined",
        Shows = "shows",
    }
}

impl Opt {
    /// Its letter, if it has one.
    pub(in super::super) fn letter(&self) -> Option<char> {
        let mut letters = self.names.iter().filter_map(|name| name.strip_prefix('-'));
        letters
            .find(|name| name.chars().count() == 1)
            .and_then(|name| name.chars().next())
    }
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Takes {
    Nothing,
    /// Attached or the next word.
    Value,
    /// Only attached.
    Attached,
}

/// A program or sub-command: how it takes its words.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Row {
    /// The sub-command's names.
    pub(in super::super) names: Vec<&'static str>,
    pub(in super::super) style: Style,
    /// Options end at the operand behind so many.
    pub(in super::super) stops: Option<usize>,
    pub(in super::super) habits: Column,
    pub(in super::super) options: Vec<Opt>,
    pub(in super::super) children: Vec<Row>,
    /// The names of the sub-commands, each with its place among them: git has 150.
    places: ByName<usize>,
    /// The names of the options, each with its place among them, once one is asked for: some have
    /// 200.
    option_places: OnceLock<ByName<usize>>,
    /// The first operand is a sub-command.
    pub(in super::super) has_commands: bool,
    /// The options hold after sub-commands too.
    pub(in super::super) deep: bool,
    /// Two letters may be one option.
    has_pairs: bool,
    /// What it does with files; nothing if that isn't known.
    pub(in super::super) files: Option<Arc<[Clause]>>,
    pub(in super::super) runs: Column,
    pub(in super::super) acts: Column,
    pub(in super::super) prints: Column,
    /// The options that make it run code, its own and those of its sub-commands.
    pub(in super::super) code_options: Vec<&'static str>,
    /// The names of these without their dashes, in order.
    code_names: Vec<&'static str>,
}

impl Row {
    fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    pub(in super::super) fn child(&self, name: &str) -> Option<&Row> {
        self.place(name).and_then(|place| self.children.get(place))
    }

    /// The names that a word may be short for, where the program takes beginnings of them.
    pub(in super::super) fn abbreviated(&self, word: &str) -> Vec<(&'static str, &Row)> {
        if word.is_empty() || !self.habits.has("short") || self.child(word).is_some() {
            return Vec::new();
        }
        let word = in_kebab_case(word);
        let names = |child: &Row| child.names.clone();
        let all = self
            .children
            .iter()
            .flat_map(|child| names(child).into_iter().map(move |name| (name, child)));
        all.filter(|(name, _)| begins(name, &word)).collect()
    }

    fn add(&mut self, mut child: Row) {
        self.has_commands = true;
        if self.deep {
            child.deep = true;
            let is_known =
                |option: &&Opt| option.names.iter().any(|name| child.option(name).is_some());
            let more: Vec<Opt> = self
                .options
                .iter()
                .filter(|option| !is_known(option))
                .cloned()
                .collect();
            child.options.extend(more);
            child.option_places.take();
        }
        for name in &child.names {
            // The first one of a name counts.
            self.places.entry(name).or_insert(self.children.len());
        }
        self.children.push(child);
    }

    /// Gives the row of a path all that the row of other words has, if both are sub-commands of it.
    fn share(&mut self, path: &str, words: &str) {
        let (programs, path) = path.split_once(' ').unwrap_or((path, ""));
        let (program, words) = words.split_once(' ').unwrap_or((words, ""));
        let mut words = words.split(' ').filter(|word| !word.starts_with('-'));
        let Some(mut shared) = words.try_fold(&*self, |row, word| row.child(word)).cloned() else {
            return;
        };
        let mut row = self;
        for word in path
            .split(' ')
            .filter(|_| programs.split('|').any(|it| it == program))
        {
            let Some(place) = row.place(word.split('|').next().unwrap_or(word)) else {
                return;
            };
            row = &mut row.children[place];
        }
        shared.names = std::mem::take(&mut row.names);
        *row = shared;
    }

    fn find_code_options(&self, found: &mut Vec<&'static str>) {
        let own = self
            .options
            .iter()
            .filter(|option| option.is_code)
            .flat_map(|option| &option.names);
        for name in own {
            if !found.contains(name) {
                found.push(name);
            }
        }
        self.children
            .iter()
            .for_each(|child| child.find_code_options(found));
    }

    pub(in super::super) fn option(&self, name: &str) -> Option<&Opt> {
        let places = self.option_places.get_or_init(|| {
            // The first one of a name counts.
            let options = self.options.iter().enumerate().rev();
            options
                .flat_map(|(at, it)| it.names.iter().map(move |name| (*name, at)))
                .collect()
        });
        self.options.get(*places.get(name)?)
    }

    /// Whether a word may give an option that makes it run code: letters may, and a long one that
    /// begins as such an option does. Most commands have none, and needn't be parsed to tell that.
    pub(in super::super) fn may_run_code(&self, word: &Word) -> bool {
        let Some(behind) = word.beginning().strip_prefix('-') else {
            return false;
        };
        if self.code_options.is_empty() || !behind.starts_with('-') {
            return !self.code_options.is_empty();
        }
        let name = bare(behind.split('=').next().unwrap_or_default());
        let first = self.code_names.partition_point(|option| *option < name);
        self.code_names
            .get(first)
            .is_some_and(|option| option.starts_with(name))
    }

    /// The option that a program takes for a word with a dash, without the word's value: by its
    /// name, with one dash or two where that is the same, or by the beginning of a long name if it
    /// is no other's.
    pub(in super::super) fn spelt(&self, name: &str) -> Option<&Opt> {
        if let Some(option) = self.option(name) {
            return Some(option);
        }
        if self.style == Style::Go {
            return self
                .options
                .iter()
                .find(|option| option.names.iter().any(|it| bare(it) == bare(name)));
        }
        if !self.abbreviates() || name.len() < 3 || !name.starts_with("--") {
            return None;
        }
        let mut found = self
            .options
            .iter()
            .filter(|option| option.names.iter().any(|it| it.starts_with(name)));
        found.next().filter(|_| found.next().is_none())
    }

    /// The option that has its value attached to its name without a sign, and where that begins:
    /// `-ofile`.
    pub(in super::super) fn attached(&self, text: &str) -> Option<(usize, &Opt)> {
        if self.style != Style::Word
            || self
                .spelt(text.split('=').next().unwrap_or_default())
                .is_some()
        {
            return None;
        }
        let begins = |it: &&&str| !it.starts_with("--") && text.starts_with(**it);
        let valued = self
            .options
            .iter()
            .filter(|option| option.value != Takes::Nothing);
        let all = valued.flat_map(|option| {
            option
                .names
                .iter()
                .filter(begins)
                .map(move |name| (name.len(), option))
        });
        all.max_by_key(|(length, _)| *length)
    }

    /// The options that a cluster gives, with where each one's value would begin; none for a letter
    /// that isn't known. Two letters may be one option: zip's `-TT`.
    pub(in super::super) fn letters<'r>(
        &'r self,
        cluster: &str,
    ) -> impl Iterator<Item = (usize, Option<&'r Opt>)> {
        let mut rest = cluster.char_indices().skip(1).peekable();
        std::iter::from_fn(move || {
            let (at, letter) = rest.next()?;
            let mut name = CompactString::from("-");
            name.push(letter);
            let pair = rest
                .peek()
                .filter(|_| self.has_pairs)
                .and_then(|(_, next)| self.option(&format!("-{letter}{next}")));
            let end = match pair {
                Some(_) => rest.next().map_or(at, |(at, next)| at + next.len_utf8()),
                None => at + letter.len_utf8(),
            };
            Some((end, pair.or_else(|| self.option(&name))))
        })
    }

    /// Whether letters may be written together after one dash.
    pub(in super::super) fn clusters(&self) -> bool {
        matches!(self.style, Style::Getopt | Style::Posix | Style::Exact)
    }

    /// Whether no letter may have a value written behind it: then no word with a sign such as `/`
    /// is a cluster.
    pub(in super::super) fn has_only_switches(&self) -> bool {
        let is_switch = |option: &Opt| {
            option.value == Takes::Nothing || option.names.iter().all(|name| name.starts_with("--"))
        };
        self.clusters() && !self.has_commands && self.options.iter().all(is_switch)
    }

    /// Whether the beginning of a long name stands for it.
    pub(in super::super) fn abbreviates(&self) -> bool {
        matches!(self.style, Style::Getopt | Style::Posix)
    }
}

/// An option's name without its dashes.
fn bare(name: &str) -> &str {
    name.trim_start_matches('-')
}

/// `distTag` as npm reads it.
fn in_kebab_case(word: &str) -> String {
    let mut kebab = String::with_capacity(word.len() + 2);
    for c in word.chars() {
        kebab.extend(c.is_ascii_uppercase().then_some('-'));
        kebab.push(c.to_ascii_lowercase());
    }
    kebab
}

/// Whether a word is the beginning of a name; of each of its parts, where it has several: `mig:fr`
/// of `migrate:fresh`.
fn begins(name: &str, word: &str) -> bool {
    let mut names = name.split(':');
    word.split(':')
        .all(|part| names.next().is_some_and(|name| name.starts_with(part)))
}

/// The words of a column of the table.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Column(&'static str);

impl Column {
    fn words(self) -> impl Iterator<Item = &'static str> {
        self.0.split([' ', ','])
    }

    /// Asked some twenty times for a command, so it splits nothing.
    pub(in super::super) fn has(self, word: &str) -> bool {
        let is_end = |byte: &u8| matches!(byte, b' ' | b',');
        let mut rest = self.0.as_bytes();
        while rest.len() >= word.len() {
            let begins =
                rest.first() == word.as_bytes().first() && rest.starts_with(word.as_bytes());
            if begins && rest.get(word.len()).is_none_or(is_end) {
                return true;
            }
            let Some(end) = rest.iter().position(is_end) else {
                return false;
            };
            rest = &rest[end + 1..];
        }
        false
    }

    pub(in super::super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// What its words of a kind say: `code:X`.
    pub(in super::super) fn of(self, kind: &str) -> impl Iterator<Item = &'static str> {
        self.words().filter_map(move |word| word.strip_prefix(kind))
    }
}

/// What a program runs.
impl Column {
    /// Behind how many operands of its own what it is given is a command, if it is.
    pub(in super::super) fn rest(self) -> Option<usize> {
        self.words().find_map(|word| match word {
            "rest" => Some(0),
            "rest+1" => Some(1),
            _ => None,
        })
    }
}

/// What a program prints.
impl Column {
    /// How an option decides what is printed, if it may be given.
    pub(in super::super) fn sign(self, option: &Opt) -> Option<&'static str> {
        let is_it = |name: &str| option.names.contains(&name);
        let own = self.words().find_map(|word| {
            let name = word.trim_end_matches([':', '%']);
            is_it(name).then(|| &word[name.len()..])
        });
        own.or_else(|| {
            self.of("if:")
                .any(|names| names.split('|').any(is_it))
                .then_some("")
        })
    }
}

/// A program by one of its names: its lines, and what is read of them once it is asked for.
#[derive(Default)]
pub(super) struct Program {
    lines: Vec<&'static str>,
    /// The program of which this is another name.
    name: Option<&'static str>,
    /// The words of another program that it is the same as.
    same: Option<&'static str>,
    /// The ways to say the same of which one is about the program.
    ways: Vec<Same>,
    runs: OnceLock<Column>,
    /// It or one of its sub-commands runs what it is given as a command.
    wraps: OnceLock<bool>,
    /// Few programs are asked for theirs.
    row: OnceLock<Option<Box<Row>>>,
}

/// Two ways to say the same: the path of a line, and the words that the line says it is the same
/// as.
pub(in super::super) struct Same {
    pub(in super::super) path: &'static str,
    pub(in super::super) words: &'static str,
}

/// The lines by the names of their programs. Searching the table for a name took as long as all
/// else that a rule's program needs.
pub(super) static BY_NAME: LazyLock<ByName<Program>> = LazyLock::new(|| {
    let mut table = ByName::<Program>::default();
    for line in lines(TABLE).filter(|line| !line.starts_with('#')) {
        let path = path_of(line);
        let programs = first_part(path, b' ');
        let last = memrchr(b'\t', line.as_bytes())
            .and_then(|at| line.get(at + 1..))
            .unwrap_or(line);
        let same = last.strip_prefix("as:");
        for name in programs.split('|') {
            let program = table.entry(name).or_default();
            program.lines.push(line);
            if path == programs {
                (program.name, program.same) = (last.strip_prefix("name:"), same);
            }
        }
        let Some(words) = same else { continue };
        let other = words.split(' ').next().unwrap_or_default();
        let is_other = !programs.split('|').any(|name| name == other);
        for name in programs.split('|').chain(is_other.then_some(other)) {
            table
                .entry(name)
                .or_default()
                .ways
                .push(Same { path, words });
        }
    }
    table
});

/// What the table has of a program. A command's program is looked up once, and handed on.
pub(in super::super) struct Known<'n> {
    /// The name that it was looked up by.
    pub(in super::super) name: &'n str,
    /// By that name.
    own: Option<&'static Program>,
    /// By the name by which it is mostly known.
    program: Option<&'static Program>,
}

/// Looks a program up by one of its names.
pub(in super::super) fn known(name: &str) -> Known<'_> {
    let own = BY_NAME.get(name);
    let program = match own {
        Some(Program { name: None, .. }) => own,
        Some(Program {
            name: Some(main), ..
        }) => BY_NAME.get(main),
        None => without_version(name).and_then(|main| BY_NAME.get(main)),
    };
    Known { name, own, program }
}

/// The program of which a version's name is that one: `python3.11`.
fn without_version(name: &str) -> Option<&'static str> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (bare, program) = if bare.len() < name.len() {
        BY_NAME.get_key_value(bare)?
    } else {
        return None;
    };
    program
        .name
        .or_else(|| program.has_versions().then_some(*bare))
}

impl Known<'_> {
    /// The name by which the program is mostly known, if it was looked up by another one.
    pub(in super::super) fn same(&self) -> Option<&'static str> {
        self.own
            .and_then(|program| program.name)
            .or_else(|| without_version(self.name))
    }

    /// The name by which the program is mostly known.
    pub(in super::super) fn main_name(&self) -> &str {
        self.same().unwrap_or(self.name)
    }

    /// The ways to say the same of which one is about the program.
    pub(in super::super) fn ways(&self) -> &'static [Same] {
        self.own.map_or(&[], |program| &program.ways)
    }

    /// What it runs; nothing is said of one that the table doesn't have.
    pub(in super::super) fn runs(&self) -> Column {
        self.program.map(Program::runs).unwrap_or_default()
    }

    /// Its row with its sub-commands.
    pub(in super::super) fn any_row(&self) -> Option<&'static Row> {
        self.program?.row()
    }

    /// Its row, if some command of it runs what it is given as a command.
    pub(in super::super) fn wrapper(&self) -> Option<&'static Row> {
        let program = self.program?;
        if program.wraps() { program.row() } else { None }
    }
}

/// The name by which a program is mostly known, if this is another one of it.
pub(in super::super) fn same_program(name: &str) -> Option<&'static str> {
    known(name).same()
}

impl Program {
    fn has_versions(&self) -> bool {
        let mut own = self
            .lines
            .iter()
            .filter(|line| !path_of(line).contains(' '));
        own.any(|line| column_of(line, 5).has("versions"))
    }

    fn runs(&'static self) -> Column {
        *self.runs.get_or_init(|| {
            if let Some(row) = self.row_of_same() {
                return row.runs;
            }
            let own = self.lines.iter().find(|line| !path_of(line).contains(' '));
            own.map(|line| column_of(line, 4)).unwrap_or_default()
        })
    }

    fn wraps(&'static self) -> bool {
        *self.wraps.get_or_init(|| match self.row_of_same() {
            Some(row) => {
                row.runs.rest().is_some()
                    || row.children.iter().any(|child| child.runs.rest().is_some())
            }
            None => self
                .lines
                .iter()
                .any(|line| column_of(line, 4).rest().is_some()),
        })
    }

    fn row(&'static self) -> Option<&'static Row> {
        self.row_of_same().or_else(|| {
            self.row
                .get_or_init(|| read(&self.lines).map(Box::new))
                .as_deref()
        })
    }

    /// The row of the words that it is the same as.
    fn row_of_same(&self) -> Option<&'static Row> {
        let mut words = self.same?.split(' ');
        let row = any_row(words.next()?)?;
        words
            .filter(|word| !word.starts_with('-'))
            .try_fold(row, Row::child)
    }
}

/// Other names of a program, and whether a version may stand behind its name.
pub(in super::super) fn other_names(program: &str) -> (Vec<&'static str>, bool) {
    let names = BY_NAME
        .iter()
        .filter(|(_, other)| other.name == Some(program))
        .map(|(name, _)| *name)
        .collect();
    (
        names,
        BY_NAME.get(program).is_some_and(Program::has_versions),
    )
}

/// The names of all programs in the table.
pub(in super::super) fn program_names() -> impl Iterator<Item = &'static str> {
    BY_NAME.keys().copied()
}

/// Whether the table says of some command of a program what it does with files.
pub(in super::super) fn has_files(name: &str) -> bool {
    let says = |line: &'static str| {
        line.split('\t')
            .nth(3)
            .is_some_and(|files| !files.is_empty())
    };
    known(name)
        .program
        .is_some_and(|program| program.lines.iter().any(|line| says(line)))
}

/// What a program runs.
pub(in super::super) fn runs(name: &str) -> Column {
    known(name).runs()
}

/// The row of a program with its sub-commands, if its options are known.
pub(in super::super) fn row(name: &str) -> Option<&'static Row> {
    any_row(name).filter(|row| !row.habits.has("-"))
}

/// The row of a program with its sub-commands.
pub(in super::super) fn any_row(name: &str) -> Option<&'static Row> {
    known(name).any_row()
}

fn column_of(line: &'static str, at: usize) -> Column {
    Column(line.split('\t').nth(at).unwrap_or_default())
}

fn path_of(line: &'static str) -> &'static str {
    first_part(line, b'\t')
}

/// A text up to the first of these bytes.
fn first_part(text: &'static str, end: u8) -> &'static str {
    memchr(end, text.as_bytes())
        .and_then(|at| text.get(..at))
        .unwrap_or(text)
}

/// The lines of a text. Every start that reads a command goes over the whole table, which took
/// twice as long with the standard library's search.
fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut begin = 0;
    memchr_iter(b'\n', text.as_bytes())
        .filter_map(move |end| text.get(std::mem::replace(&mut begin, end + 1)..end))
}

fn read(lines: &[&'static str]) -> Option<Row> {
    let mut root: Option<Row> = None;
    let mut lines = lines.to_vec();
    // Shorter paths come first.
    lines.sort_by_key(|line| path_of(line).split(' ').count());
    for line in &lines {
        let mut columns = line.split('\t');
        let mut column = || columns.next().unwrap_or_default();
        let path = column();
        let mut row = parse(path, column(), column(), column());
        (row.runs, row.acts, row.prints) = (Column(column()), Column(column()), Column(column()));
        let words: Vec<&str> = path.split(' ').collect();
        match words.as_slice() {
            [_] => root = Some(row),
            [_, between @ .., _] => {
                let Some(mut parent) = root.as_mut() else {
                    continue;
                };
                for word in between {
                    let name = word.split('|').next().unwrap_or_default();
                    let known = parent.place(name);
                    // A group that takes no options of its own has no line.
                    let at = known.unwrap_or_else(|| {
                        parent.add(Row {
                            names: vec![name],
                            style: parent.style,
                            ..Row::default()
                        });
                        parent.children.len() - 1
                    });
                    parent = &mut parent.children[at];
                }
                parent.add(row);
            }
            [] => {}
        }
    }
    if let Some(root) = &mut root {
        for line in &lines {
            if let Some(words) = column_of(line, 5).0.strip_prefix("as:") {
                root.share(path_of(line), words);
            }
        }
        let mut found = Vec::new();
        root.find_code_options(&mut found);
        root.code_names = found.iter().map(|name| bare(name)).collect();
        root.code_names.sort_unstable();
        root.code_options = found;
    }
    root
}

fn parse(
    path: &'static str,
    habits: &'static str,
    options: &'static str,
    files: &'static str,
) -> Row {
    let mut row = Row {
        names: path
            .rsplit(' ')
            .next()
            .unwrap_or_default()
            .split('|')
            .collect(),
        ..Row::default()
    };
    row.files = (!files.is_empty()).then(|| Clause::all(files));
    row.habits = Column(habits);
    for habit in habits.split(',') {
        match habit {
            "getopt" | "git" | "argparse" | "npm" => row.style = Style::Getopt,
            "posix" => (row.style, row.stops) = (Style::Posix, Some(0)),
            "go" => (row.style, row.stops) = (Style::Go, Some(0)),
            "cobra" | "clap" | "exact" | "-" => row.style = Style::Exact,
            "word" => row.style = Style::Word,
            "none" => row.style = Style::None,
            "sub" => row.has_commands = true,
            "stop" => row.stops = Some(0),
            "stop+1" => row.stops = Some(1),
            "deep" => row.deep = true,
            _ => {}
        }
    }
    for text in options.split(' ').filter(|text| !text.is_empty()) {
        let (text, does) = text.split_once('!').unwrap_or((text, ""));
        let (names, kind, value) = match (text.split_once("[=]"), text.rsplit_once('=')) {
            (Some((names, kind)), _) => (names, kind, Takes::Attached),
            (None, Some((names, kind))) => (names, kind, Takes::Value),
            (None, None) => (text, "", Takes::Nothing),
        };
        let kind = Kind::named(kind).unwrap_or(Kind::Text);
        let marks = || does.split('!');
        let is_code = marks().any(|mark| matches!(mark, "code" | "command" | "until"));
        let does = marks().find_map(Does::named).unwrap_or_default();
        let is_pair = |name: &str| name.len() == 3 && name.as_bytes()[1] != b'-';
        row.has_pairs |= row.clusters() && names.split(',').any(is_pair);
        row.options.push(Opt {
            names: names.split(',').collect(),
            value,
            kind,
            does,
            is_code,
        });
    }
    row
}

/// Another way to say what an option says.
#[derive(Clone, Debug)]
pub(in super::super) enum Act {
    /// All of these options together.
    Options(Vec<&'static str>),
    /// An operand that matches this glob.
    Operand(&'static str),
}

/// What the options of a program say in other words.
impl Column {
    /// The other ways to say what an option says that has any of these names.
    pub(in super::super) fn same_as(self, names: &[String]) -> impl Iterator<Item = Act> {
        self.behind('=', names)
            .map(|other| match other.starts_with('-') {
                true => Act::Options(other.split('&').collect()),
                false => Act::Operand(other),
            })
    }

    /// The options that undo one of these names, wherever they stand.
    pub(in super::super) fn undone_by(
        self,
        names: &[String],
    ) -> impl Iterator<Item = &'static str> {
        self.behind('^', names)
    }

    fn behind(self, sign: char, names: &[String]) -> impl Iterator<Item = &'static str> {
        let all = self.words().filter_map(move |word| {
            let (option, others) = word.split_at(word.find(['=', '^'])?);
            Some((option, others.strip_prefix(sign)?))
        });
        let own = all.filter(|(option, _)| names.iter().any(|name| name == option));
        own.flat_map(|(_, others)| others.split('|'))
    }
}
