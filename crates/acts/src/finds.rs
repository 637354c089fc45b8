//! A command of find, taken apart: where it starts, and what its tests say of what it comes across.
//! Tests that aren't known let everything through.

use super::word::Word;
use super::{Command, names::base_name};
use std::cmp::Ordering;
use std::time::Duration;

/// Options and tests with a value that says nothing here.
const WITH_VALUE: &[&str] = &[
    "-regextype",
    "-printf",
    "-fprint",
    "-fprintf",
    "-fls",
    "-fprint0",
    "-D",
    "-files0-from",
    "-perm",
    "-group",
    "-uid",
    "-gid",
    "-newer",
    "-anewer",
    "-cnewer",
    "-newermt",
    "-newerat",
    "-newerct",
    "-fstype",
    "-links",
    "-used",
    "-samefile",
    "-lname",
    "-ilname",
    "-context",
];
/// Alternatives of which no more are kept apart: what is found may then be anything.
const MOST: usize = 64;
const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

/// A command of find's, taken apart.
pub struct Finds {
    /// Where it starts.
    pub starts: Vec<Word>,
    /// Each path that it comes across passes all tests of one of these.
    pub alternatives: Vec<Vec<Test>>,
}

/// A test of find's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// What it lets through.
    pub only: Only,
    /// It lets through what it would keep back.
    pub is_negated: bool,
}

/// What a test lets through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Only {
    /// Paths that end in a name, or several, which fits one of these patterns. `is_exact`: no
    /// others.
    Named {
        /// The patterns.
        patterns: Vec<String>,
        /// The patterns say all of it.
        is_exact: bool,
    },
    /// A name that the text doesn't tell.
    Unknown,
    /// Files, directories or links, by find's letters.
    Kinds(String),
    /// What is no deeper below its start.
    AtMostDeep(usize),
    /// What is no less deep.
    AtLeastDeep(usize),
    /// Empty files and directories.
    Empty,
    /// What was changed at least so long ago.
    Older(Duration),
    /// What was last read at least so long ago.
    Unread(Duration),
    /// What takes more (`Greater`), less or just so many of these units of bytes, a part of one
    /// counting as one.
    Sized {
        /// How it is to the count.
        order: Ordering,
        /// How many units.
        count: u64,
        /// How many bytes are one.
        unit: u64,
    },
    /// The one of this number in its file system.
    Inode(u64),
    /// What belongs to a user of this name or number.
    OfUser(String),
}

impl Command {
    /// What it comes across, if it is a find.
    pub fn finds(&self) -> Option<Finds> {
        let is_find = base_name(&self.words.first()?.text) == "find";
        is_find.then(|| Finds::new(&self.words[1..]))
    }
}

impl Finds {
    pub(super) fn new(words: &[Word]) -> Finds {
        let starts = starts(words);
        let (mut alternatives, mut tests) = (Vec::new(), Vec::new());
        // Depths hold for all alternatives.
        let mut depths: Vec<Test> = Vec::new();
        let (mut is_negated, mut prunes) = (false, false);
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let only = match word.text.as_str() {
                "!" | "-not" => {
                    is_negated = !is_negated;
                    continue;
                }
                "-o" | "-or" | "," => {
                    let ended = std::mem::take(&mut tests);
                    // What it doesn't go into is nothing that it finds.
                    if !std::mem::take(&mut prunes) {
                        alternatives.push(ended);
                    }
                    is_negated = false;
                    continue;
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let _ = rest.find(|word| matches!(word.text.as_str(), ";" | "+"));
                    prunes = false;
                    continue;
                }
                "-delete" | "-print" | "-print0" | "-ls" => {
                    prunes = false;
                    continue;
                }
                "-prune" => {
                    prunes = true;
                    continue;
                }
                "-empty" => Only::Empty,
                name if WITH_VALUE.contains(&name) => {
                    rest.next();
                    is_negated = false;
                    continue;
                }
                name => match rest.clone().next().and_then(|value| only(name, value)) {
                    Some(only) => {
                        rest.next();
                        only
                    }
                    None => {
                        // What stands in parentheses is negated as a whole, which no test of it
                        // says by itself.
                        if name == "(" && is_negated {
                            let mut depth = 1;
                            let _ = rest.find(|word| {
                                depth += usize::from(word.text == "(");
                                depth -= usize::from(word.text == ")");
                                depth == 0
                            });
                        }
                        is_negated = false;
                        continue;
                    }
                },
            };
            let test = Test {
                only,
                is_negated: std::mem::take(&mut is_negated),
            };
            match test.only {
                Only::AtMostDeep(_) | Only::AtLeastDeep(_) => depths.push(test),
                _ => tests.push(test),
            }
        }
        if !prunes {
            alternatives.push(tests);
        }
        if alternatives.len() > MOST {
            alternatives = vec![Vec::new()];
        }
        alternatives
            .iter_mut()
            .for_each(|it| it.extend(depths.iter().cloned()));
        Finds {
            starts,
            alternatives,
        }
    }

    /// The names of which each path that it comes across fits one, as patterns; nothing if an
    /// alternative says no name.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        let name_of = |tests: &Vec<Test>| {
            tests
                .iter()
                .filter(|test| !test.is_negated)
                .find_map(|test| match &test.only {
                    Only::Named { patterns, .. } => Some(Some(patterns.clone())),
                    Only::Unknown => Some(None),
                    _ => None,
                })
        };
        let all: Option<Vec<_>> = self
            .alternatives
            .iter()
            .map(|tests| name_of(tests).flatten())
            .collect();
        all.map(|all| all.concat())
            .filter(|names| !names.is_empty())
    }
}

/// Where find begins.
pub(super) fn starts(words: &[Word]) -> Vec<Word> {
    let is_expression = |word: &Word| word.beginning().starts_with(['-', '(', '!']);
    let is_habit = |word: &&Word| {
        matches!(
            word.text.as_str(),
            "-H" | "-L" | "-P" | "-E" | "-X" | "-x" | "-s"
        ) || word.text.starts_with("-O")
    };
    let starts = words
        .iter()
        .skip_while(is_habit)
        .take_while(|it| !is_expression(it));
    let starts: Vec<Word> = starts.cloned().collect();
    if starts.is_empty() {
        vec![Word::constant(".")]
    } else {
        starts
    }
}

/// What a test with a value lets through; nothing if it is no such test.
fn only(name: &str, value: &Word) -> Option<Only> {
    let said = value.as_constant();
    let depth = || said.and_then(|it| it.parse().ok());
    let ago = |unit: u64| {
        let count: u64 = said?.strip_prefix('+')?.parse().ok()?;
        Some(Duration::from_secs(count.saturating_mul(unit)))
    };
    let everything = Only::AtLeastDeep(0);
    Some(match name {
        "-type" | "-xtype" => said.map_or(everything, |it| Only::Kinds(it.into())),
        "-maxdepth" => depth().map_or(everything, Only::AtMostDeep),
        "-mindepth" => depth().map_or(everything, Only::AtLeastDeep),
        "-mtime" => ago(DAY).map_or(everything, Only::Older),
        "-mmin" => ago(MINUTE).map_or(everything, Only::Older),
        "-atime" => ago(DAY).map_or(everything, Only::Unread),
        "-amin" => ago(MINUTE).map_or(everything, Only::Unread),
        "-ctime" | "-cmin" => everything,
        "-size" => said.and_then(sized).unwrap_or(everything),
        // No file has the number 0: find refuses what is no number, and does nothing.
        "-inum" => said.map_or(everything, |it| Only::Inode(it.parse().unwrap_or(0))),
        "-user" => said.map_or(everything, |it| Only::OfUser(it.into())),
        _ => {
            let (name, in_any_case) = match name.strip_prefix("-i") {
                Some(rest) => (format!("-{rest}"), true),
                None => (name.to_string(), false),
            };
            let (patterns, is_exact) = match (name.as_str(), said) {
                ("-name" | "-path" | "-wholename" | "-regex", None) => return Some(Only::Unknown),
                ("-name", Some(pattern)) => (vec![pattern.to_string()], true),
                ("-path" | "-wholename", Some(pattern)) => (of_path(pattern), false),
                ("-regex", Some(pattern)) => (vec![as_glob(pattern)], false),
                _ => return None,
            };
            match in_any_case {
                true => Only::Named {
                    patterns: patterns.into_iter().map(any_case).collect(),
                    is_exact: false,
                },
                false => Only::Named { patterns, is_exact },
            }
        }
    })
}

/// What `-size` lets through; nothing if it isn't understood.
fn sized(value: &str) -> Option<Only> {
    let (order, rest) = match value.as_bytes().first()? {
        b'+' => (Ordering::Greater, &value[1..]),
        b'-' => (Ordering::Less, &value[1..]),
        _ => (Ordering::Equal, value),
    };
    let (count, unit) = match rest.chars().next_back()? {
        'c' => (&rest[..rest.len() - 1], 1),
        'w' => (&rest[..rest.len() - 1], 2),
        'b' => (&rest[..rest.len() - 1], 512),
        'k' => (&rest[..rest.len() - 1], 1 << 10),
        'M' => (&rest[..rest.len() - 1], 1 << 20),
        'G' => (&rest[..rest.len() - 1], 1 << 30),
        _ => (rest, 512),
    };
    Some(Only::Sized {
        order,
        count: count.parse().ok()?,
        unit,
    })
}

/// Patterns for what a pattern of a whole path fits, whose `*` stands for slashes, too: for a name,
/// or the last names.
fn of_path(pattern: &str) -> Vec<String> {
    let path = ["./", "*/"]
        .iter()
        .find_map(|it| pattern.strip_prefix(it))
        .unwrap_or(pattern);
    match path.contains('/') {
        true => vec![path.into()],
        false => vec![path.into(), format!("{path}/*")],
    }
}

/// A pattern that fits whatever this one does, and the same in capitals and small letters.
fn any_case(pattern: String) -> String {
    if pattern.contains('[') {
        return "*".into();
    }
    let both = |c: char| match c.is_ascii_alphabetic() {
        true => format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase()),
        false => c.to_string(),
    };
    pattern.chars().map(both).collect()
}

/// A pattern of file names that fits whatever a regex does.
fn as_glob(regex: &str) -> String {
    const MEANING: [char; 14] = [
        '\\', '[', ']', '+', '?', '(', ')', '|', '^', '$', '{', '}', '*', '.',
    ];
    let last = regex.rsplit('/').next().unwrap_or_default();
    let glob = last.replace(".*", "*").replace("\\.", ".");
    if !glob.contains(['\\', '[', '+', '?', '(', '|', '^', '$', '{']) {
        return glob;
    }
    // What fits ends as the regex does, behind all that means something.
    let end = last
        .strip_suffix('$')
        .unwrap_or(last)
        .replace("\\.", "\u{0}");
    match end.contains('|') {
        true => "*".into(),
        false => format!(
            "*{}",
            end.rsplit(MEANING)
                .next()
                .unwrap_or_default()
                .replace('\u{0}', ".")
        ),
    }
}
