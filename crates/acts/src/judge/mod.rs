//! `Bash(...)`: what a rule means, and whether a text does it.
//!
//! A rule means an act, not characters: its program by name, its sub-commands past global options,
//! its options in every spelling, its operands in order. It is read two ways, as hits and as
//! covers.

mod covers;
mod hits;
mod named;
mod reading;
mod settings;

use super::directories::Directories;
use super::judged::{Held, RuleId, to_held};
use super::meeting::{self, glob};
use super::names::base_name;
use super::path;
use super::programs::options::{Act, Row, Style, Takes};
use super::programs::parsed::{Item, Parsed};
use super::programs::{self, options, running};
use super::word::{Openness, Word, behind_expansions};
use super::{Command, Doubt, Place};
use compact_str::format_compact;
pub use covers::{Uncovered, covers, excepts, uncovered};
pub use hits::hits;
use hits::may_run_what_flows_in;
pub(super) use reading::denotes;
use reading::{Reading, part_of, spellings};
pub(super) use settings::exports;
use std::ops::Range;

/// The inside of `Bash(...)`, compiled.
#[derive(Debug, Clone)]
pub struct CommandRule {
    id: RuleId,
    stages: Vec<Stage>,
}

/// One command of a rule: rules with `|` have several.
#[derive(Debug, Clone)]
struct Stage {
    /// The variables that are set before the command.
    settings: Vec<settings::Setting>,
    /// The program's name, with `*` for any characters.
    program: String,
    /// The program's other names, and whether a version may stand behind one.
    other_names: (Vec<&'static str>, bool),
    /// Other words may mean the same.
    has_twins: bool,
    /// It is about scripts, so that it matters which file runs: its program is none of the table's,
    /// and its name is told.
    may_be_script: bool,
    /// The directory that the pattern names.
    directory: Option<String>,
    row: Option<&'static Row>,
    /// Sub-commands and operands, in order.
    operands: Vec<Operand>,
    /// How many of them are sub-commands.
    commands: usize,
    options: Vec<OptionPattern>,
    /// `[-o out/*]`: options that may be there, each with such a value only.
    optional: Vec<OptionPattern>,
    /// Ends in a `*`: anything may follow.
    open: bool,
    /// It names `--`, which says what a word is: `git checkout -- *`.
    dashes: bool,
    /// The words after the program, until the first `*`.
    leading: Vec<String>,
    /// `*push*`: a glob over the whole command, where the program isn't named.
    whole: Option<String>,
}

#[derive(Debug, Clone)]
struct Operand {
    glob: String,
    /// The glob as a path without `.`, `..` and needless slashes; none if it is a URL.
    path: Option<String>,
    /// It names what is done, not what it is done to: a sub-command, or what follows a `*` for one.
    verb: bool,
    /// The sub-command's names, if it is one.
    names: Vec<&'static str>,
    /// A `*` that may stand for nothing: with options behind it, which may stand anywhere, or a
    /// sub-command that needs none before it.
    is_optional: bool,
    /// The pattern ends with its `*`: `build*`, and not `build* *`.
    is_beginning: bool,
}

#[derive(Debug, Clone)]
struct OptionPattern {
    /// As the pattern has it.
    written: String,
    /// Every name that stands for it; globs where the table has none.
    names: Vec<String>,
    /// Operands that say the same.
    operands: Vec<&'static str>,
    /// Options that say the same if all of a list are there.
    together: Vec<Vec<OptionPattern>>,
    value: Option<String>,
}

impl CommandRule {
    /// Compiles what stands in the parentheses.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(pattern: &str) -> Result<CommandRule, String> {
        let pattern = pattern.trim();
        if pattern.is_empty() {
            return Err("the pattern is empty; `*` matches every command".to_string());
        }
        if pattern.len() > 4096 || pattern.contains('\0') {
            return Err("the pattern is too long or holds a NUL byte".to_string());
        }
        let words = words(pattern)?;
        let mut stages = Vec::new();
        for words in words.split(|word| word == "|") {
            stages.push(Stage::new(words)?);
        }
        let last = stages.len() - 1;
        if last > 0 {
            if stages.iter().any(|stage| !stage.settings.is_empty()) {
                return Err("a pattern with `|` names no variables".to_string());
            }
            stages[last].open = true;
        }
        stages.iter_mut().for_each(Stage::shrink);
        stages.shrink_to_fit();
        Ok(CommandRule {
            id: RuleId::next(),
            stages,
        })
    }

    /// Whether one command is what the rule names, as far as it can be told.
    pub fn fits(&self, command: &Command) -> bool {
        self.stages
            .iter()
            .any(|stage| stage.hits(command, self.is_pipe()) == Held::Yes)
    }

    /// Whether one command is what the rule names, or may be.
    pub fn may_hit(&self, command: &Command) -> bool {
        self.stages
            .iter()
            .any(|stage| stage.hits(command, self.is_pipe()) != Held::No)
    }

    /// Whether a text of any language names what the rule names: its words, whole and in order.
    pub fn is_named_in(&self, text: &str) -> bool {
        self.stages
            .iter()
            .all(|stage| stage.is_named_in(text, Some(&[])))
    }

    /// The program's name if the rule names one and holds for nothing else.
    pub fn program(&self) -> Option<&str> {
        let first = self.stages.first()?;
        (!first.program.contains('*')).then_some(first.program.as_str())
    }
}

/// A word of a rule that names a program, a sub-command or an option.
#[derive(Clone, Debug)]
pub struct Name<'a> {
    /// As written, without quotes and the program's directory.
    pub word: &'a str,
    /// The program and its sub-commands before it; empty if it stands for a program.
    pub of: String,
    /// The names that are known in its place; none if it isn't known which there are.
    pub known: Vec<&'static str>,
}

/// Where a command has an option, for a change of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionPlace {
    /// Which of the command's words it is in.
    pub word: usize,
    /// Its name within that word's text, in bytes: the letter in a cluster such as `-uf`, else all
    /// of `--name`.
    pub name: Range<usize>,
    /// What follows the name in its word is its value, not more letters of a cluster.
    pub has_value: bool,
    /// Which word is its value, if that is a word of its own.
    pub value: Option<usize>,
}

impl CommandRule {
    /// Its command, if it is about one.
    fn stage(&self) -> Option<&Stage> {
        self.stages.first().filter(|_| !self.is_pipe())
    }

    /// Whether the rule is about several commands, as `a | b` is.
    pub fn is_pipe(&self) -> bool {
        self.stages.len() > 1
    }

    /// Whether the rule holds only for what it names, with nothing added.
    pub fn is_exact(&self) -> bool {
        let Some(stage) = self.stage() else {
            return false;
        };
        !stage.open && stage.options.is_empty() && stage.whole.is_none()
    }

    /// The options that the rule names, as written.
    pub fn options(&self) -> impl Iterator<Item = &str> {
        self.stages
            .iter()
            .flat_map(|stage| &stage.options)
            .map(|option| option.written.as_str())
    }

    /// A word that names no program or sub-command because a `*` in it stands for other words, as
    /// written.
    pub fn word_across_words(&self) -> Option<&str> {
        let across = |text: &str| {
            text.trim_end_matches('*')
                .find('*')
                .is_some_and(|at| at > 0)
        };
        let stage = self.stages.first().filter(|stage| stage.whole.is_none())?;
        let begins_across =
            stage.program.starts_with('*') && !stage.program.trim_start_matches('*').is_empty();
        if across(&stage.program) || begins_across {
            let is_known = options::program_names().any(|name| glob(&stage.program, name));
            return (!is_known && !stage.program.contains('/')).then_some(stage.program.as_str());
        }
        let row = stage.row.filter(|row| row.has_commands)?;
        let word = &stage.operands.first()?.glob;
        let is_known = || {
            row.children
                .iter()
                .any(|child| child.names.iter().any(|name| glob(word, name)))
        };
        (across(word) && !is_known()).then_some(word.as_str())
    }

    /// The words that name programs, sub-commands and options. A glob over the whole command names
    /// none.
    pub fn names(&self) -> Vec<Name<'_>> {
        let mut names = Vec::new();
        for stage in self.stages.iter().filter(|stage| stage.whole.is_none()) {
            let mut row = stage.row;
            let known = if row.is_none() {
                options::program_names().collect()
            } else {
                Vec::new()
            };
            names.push(Name {
                word: &stage.program,
                of: String::new(),
                known,
            });
            let mut of = stage.program.clone();
            let mut options: Vec<&Row> = row.into_iter().collect();
            for operand in &stage.operands[..stage.commands] {
                let children = row
                    .filter(|_| !stage.row.is_some_and(|row| row.habits.has("scripts")))
                    .map(|row| &row.children);
                let known = children
                    .into_iter()
                    .flatten()
                    .flat_map(|child| child.names.iter().copied())
                    .collect();
                names.push(Name {
                    word: &operand.glob,
                    of: of.clone(),
                    known,
                });
                of = format!("{of} {}", operand.glob);
                row = row.and_then(|row| row.child(&operand.glob));
                options.extend(row);
            }
            // What isn't in the table may take any.
            let options = options
                .iter()
                .filter(|_| row.is_some())
                .flat_map(|row| &row.options);
            let known: Vec<_> = options
                .flat_map(|option| option.names.iter().copied())
                .collect();
            for option in &stage.options {
                names.push(Name {
                    word: &option.written,
                    of: of.clone(),
                    known: known.clone(),
                });
            }
        }
        names
    }

    /// Whether there is a table of what a program takes.
    pub fn knows(program: &str) -> bool {
        options::row(program).is_some()
    }

    /// Whether a program is known to have sub-commands.
    pub fn has_commands(program: &str) -> bool {
        options::row(program).is_some_and(|row| row.has_commands)
    }

    /// How many of the words that the rule names behind the program are sub-commands.
    pub fn sub_commands(&self) -> usize {
        self.stages.first().map_or(0, |stage| stage.commands)
    }

    /// Which words of a command that the rule matches are the sub-commands and operands that it
    /// names, in order.
    pub fn operand_words(&self, command: &Command) -> Vec<usize> {
        let Some((stage, parsed)) = self.parsed(command) else {
            return Vec::new();
        };
        let mut items = parsed.operands.iter();
        let named = stage.operands.iter().map_while(|operand| {
            let item =
                items.find(|item| operand.could_be_item(item, parsed.directories) == Held::Yes)?;
            place_of(command, item.word)
        });
        named.collect()
    }

    /// Where a command has an option, in every spelling that its program takes.
    ///
    /// # Errors
    /// It can't be told whether, or where, the command has it; finishes the sentence "failed to
    /// ...".
    pub fn option_places(&self, command: &Command, name: &str) -> Result<Vec<OptionPlace>, String> {
        let failed = |why: String| Err(format!("change `{name}`: {why}"));
        let Some((stage, parsed)) = self.parsed(command) else {
            return Ok(Vec::new());
        };
        if let Some(why) = parsed.open {
            return failed(why.to_string());
        }
        let mut places = Vec::new();
        for item in &parsed.options {
            let text = item.word.text.as_str();
            let names = spellings(name, item.row);
            // What is attached may be open, the name may not.
            let known = match (item.word.openness.from(), text.find('=')) {
                (None, _) => text,
                (Some(open), Some(end)) if end < open => &text[..=end],
                (Some(_), _) => {
                    let pattern = OptionPattern::new(name.to_string(), names);
                    match pattern.could_be(item) {
                        Held::No => continue,
                        Held::Doubt(_) | Held::Yes => {
                            return failed(format!("it can't be told whether `{text}` is it"));
                        }
                    }
                }
            };
            let found = names.iter().find_map(|name| part_of(known, name, item.row));
            let (Some((part, has_value)), Some(word)) = (found, place_of(command, item.word))
            else {
                continue;
            };
            if item.unsure && item.row.is_some() {
                return failed(format!(
                    "an option before `{text}` isn't known, so this may be that one's value"
                ));
            }
            let is_beginning = |option: &&options::Opt| {
                option
                    .names
                    .iter()
                    .any(|it| it.starts_with(&known[part.clone()]))
            };
            if let Some(row) = item.row.filter(|_| known.starts_with("--"))
                && row.option(&known[part.clone()]).is_none()
                && row.options.iter().filter(is_beginning).count() > 1
            {
                return failed(format!("`{text}` may be another option too"));
            }
            places.push(OptionPlace {
                word,
                name: part,
                has_value,
                value: item.value.and_then(|value| place_of(command, value)),
            });
        }
        // Another act that means the same.
        for act in stage.acts().same_as(&spellings(name, stage.deepest())) {
            let other = match act {
                Act::Operand(pattern) => parsed
                    .operands
                    .iter()
                    .find(|item| glob(pattern, item.word.beginning())),
                Act::Options(all) => parsed.options.iter().find(|item| {
                    let is_place = places
                        .iter()
                        .any(|place| place_of(command, item.word) == Some(place.word));
                    !is_place
                        && all
                            .iter()
                            .any(|it| denotes(item.word.beginning(), it, item.row))
                }),
            };
            if let Some(other) = other {
                return failed(format!("`{}` says the same", other.word.text));
            }
        }
        Ok(places)
    }

    /// The rule's one stage, and the command read as it reads it.
    fn parsed<'a>(&'a self, command: &'a Command) -> Option<(&'a Stage, Reading<'a>)> {
        let stage = self.stage()?;
        let words = command.words.get(1..)?;
        Some((
            stage,
            Reading::new(
                words,
                stage.row,
                &stage.operands[..stage.commands],
                &command.directories,
            ),
        ))
    }
}

/// Whether the constant beginning of a program's name says something of the name itself.
fn is_part_of_name(beginning: &str) -> bool {
    !beginning.is_empty() && !beginning.contains('/')
}

/// Whether a program's name is a pattern of file names: `./gi?`.
fn is_one_of_files(head: &Word) -> bool {
    matches!(head.openness, Openness::Files(at) if !head.text.get(at..).unwrap_or_default().contains('/'))
}

/// Which of the command's words this is.
fn place_of(command: &Command, word: &Word) -> Option<usize> {
    command.words.iter().position(|it| std::ptr::eq(it, word))
}

/// A pattern's words; quotes keep blanks.
fn words(pattern: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        None => return Err("a quote in the pattern is not closed".to_string()),
                        Some(end) if end == c => break,
                        Some(inner) => word.push(inner),
                    }
                }
            }
            '|' if word.is_none() && rest.peek() != Some(&'|') => words.push("|".to_string()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// `git push*--force*` and `git push *--force*` as a glob over a text would have them: whatever
/// stands between is left out, as options may stand anywhere.
fn parted(words: &[String]) -> Vec<String> {
    let mut parted = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        // An operand may be a file's name that holds a dash.
        let dash = if at == 0 { "*-" } else { "*--" };
        match word.find(dash).filter(|_| !word.starts_with('-')) {
            Some(0) if at > 0 => parted.push(word[1..].to_string()),
            Some(at) if at > 0 => {
                parted.extend([word[..at].to_string(), word[at + 1..].to_string()])
            }
            _ => parted.push(word.clone()),
        }
    }
    parted
}

/// The options in brackets of a pattern, each with its value, and the other words.
fn without_optional(words: &[String]) -> Result<(Vec<Optional>, Vec<String>), String> {
    let (mut optional, mut others) = (Vec::new(), Vec::with_capacity(words.len()));
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(inner) = word.strip_prefix('[').filter(|it| it.starts_with('-')) else {
            others.push(word.clone());
            continue;
        };
        let (name, value) = match inner.strip_suffix(']') {
            Some(inner) => match inner.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (inner, None),
            },
            None => {
                let value = rest.next().and_then(|word| word.strip_suffix(']'));
                let unclosed = || format!("`{word}` isn't closed; write `[-o value]`");
                (inner, Some(value.ok_or_else(unclosed)?))
            }
        };
        optional.push((name.to_string(), value.map(str::to_string)));
    }
    Ok((optional, others))
}

/// The name of an option that may be there, and what its value has to be.
type Optional = (String, Option<String>);

/// An option with one dash behind a `*`: `terraform apply *-auto-approve`, `rm *-rf*`. More letters
/// than two end the name of a file: `rm *-dir`.
fn option_behind_star<'w>(word: &'w str, row: Option<&Row>) -> Option<&'w str> {
    let option = word
        .strip_prefix('*')
        .filter(|option| option.starts_with('-'))?;
    let name = option.trim_end_matches('*');
    let is_known = |name: &str| row.is_some_and(|row| row.option(name).is_some());
    let are_letters = || {
        (2..=3).contains(&name.len())
            && name[1..]
                .chars()
                .all(|letter| is_known(&format!("-{letter}")))
    };
    (is_known(name) || name.is_ascii() && are_letters()).then_some(option)
}

/// Whether nothing but options and their values are left of a pattern.
fn are_options(words: &[String], row: Option<&Row>) -> bool {
    let takes = |word: &str| {
        row.and_then(|row| row.option(word))
            .is_some_and(|option| option.value == Takes::Value)
    };
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            return false;
        }
        if takes(word) {
            rest.next();
        }
    }
    !words.is_empty()
}

impl Stage {
    fn new(words: &[String]) -> Result<Stage, String> {
        let (settings, words) = settings::before(words)?;
        let (optional, words) = without_optional(words)?;
        let mut rest = parted(&words);
        if rest.is_empty() {
            return Err("a pipe in a pattern needs a command on both sides".to_string());
        }
        let (mut head, mut open) = (rest.remove(0), false);
        // `git push:*` is an older form of `git push *`.
        let last = rest.last_mut().unwrap_or(&mut head);
        if let Some(before) = last.strip_suffix(":*").filter(|before| !before.is_empty()) {
            *last = before.to_string();
            open = true;
        }
        if rest.last().is_some_and(|word| word == "*") {
            rest.pop();
            open = true;
        }
        if rest.is_empty() && head.len() > 1 && head.ends_with('*') {
            open = true;
        }
        let everything = head == "*" && rest.is_empty();
        let whole =
            (rest.is_empty() && head.len() > 1 && head.starts_with('*')).then(|| head.clone());
        if whole.is_some() {
            head = "*".to_string();
        }
        let (directory, program) = match head.rsplit_once('/') {
            Some((directory, name)) => (Some(directory.to_string()), name.to_string()),
            None => (None, head),
        };
        let row = if program.contains('*') {
            None
        } else {
            options::row(&program)
        };
        let is_told = || match program.contains('*') {
            true => program.contains('.'),
            false => options::any_row(&program).is_none(),
        };
        let mut stage = Stage {
            may_be_script: directory.is_some() || whole.is_none() && is_told(),
            settings,
            other_names: options::other_names(&program),
            has_twins: programs::has_twins(&program),
            program,
            directory,
            row,
            operands: Vec::new(),
            commands: 0,
            options: Vec::new(),
            optional: Vec::new(),
            open: open || everything,
            dashes: false,
            leading: rest
                .iter()
                .take_while(|word| *word != "*")
                .cloned()
                .collect(),
            whole,
        };
        let row = stage.row;
        let mut node = row;
        let mut at = 0;
        while let Some(word) = rest.get(at) {
            at += 1;
            let word = option_behind_star(word, node).unwrap_or(word);
            if word == "--" {
                stage.dashes = true;
                continue;
            }
            let is_option = word.len() > 1
                && word.starts_with('-')
                && node.is_none_or(|row| row.style != Style::None);
            if is_option {
                let taken = stage.option(word, rest.get(at), node);
                at += taken;
                // `python -m pytest*`.
                stage.open |= taken > 0 && at == rest.len() && rest[at - 1].ends_with('*');
                continue;
            }
            let last = at == rest.len() && !open;
            if last && word.ends_with('*') {
                stage.open = true;
            }
            let child =
                node.filter(|row| row.has_commands && stage.commands == stage.operands.len());
            // `push* --force`: a glob over the text goes on behind the name.
            let name = if at < rest.len() {
                word.trim_end_matches('*')
            } else {
                word
            };
            // `kubectl * delete *`: only options may stand between.
            let is_any = word == "*"
                && stage.operands.is_empty()
                && child
                    .is_some_and(|row| rest.get(at).is_some_and(|next| row.child(next).is_some()));
            let is_optional =
                is_any || word == "*" && child.is_none() && are_options(&rest[at..], node);
            let names = match child {
                Some(_) if is_any => {
                    stage.commands += 1;
                    Vec::new()
                }
                Some(row) => {
                    stage.commands += 1;
                    node = row.child(name).or_else(|| {
                        // `aws * delete-*`: what follows stands where sub-commands of any child do.
                        let mut children = row
                            .children
                            .iter()
                            .filter(|child| child.names.iter().any(|name| glob(word, name)));
                        children
                            .find(|child| child.has_commands)
                            .filter(|_| word.contains('*'))
                    });
                    row.child(name)
                        .map(|row| row.names.clone())
                        .unwrap_or_default()
                }
                None => Vec::new(),
            };
            let is_nested = || {
                row.is_some_and(|row| row.has_commands)
                    && stage.operands.iter().all(|it| it.glob == "*")
            };
            let verb = child.is_some() || is_nested();
            stage.operands.push(Operand {
                glob: word.to_string(),
                path: path::tidied_pattern(word),
                verb,
                names,
                is_optional,
                is_beginning: last && word.len() > 1 && word.ends_with('*'),
            });
            if node.is_none() {
                node = row.filter(|_| child.is_none());
            }
        }
        let row = stage.deepest();
        let compiled = optional.into_iter().map(|(name, value)| {
            let names = spellings(&name, row);
            OptionPattern {
                value,
                ..OptionPattern::new(name, names)
            }
        });
        stage.optional = compiled.collect();
        Ok(stage)
    }

    /// Gives back what was taken to grow: a host may have thousands of rules.
    fn shrink(&mut self) {
        self.operands.shrink_to_fit();
        self.options.shrink_to_fit();
    }

    /// Adds an option of the pattern; how many further words are its value.
    fn option(&mut self, word: &str, next: Option<&String>, row: Option<&Row>) -> usize {
        let (name, value) = match word.split_once('=') {
            Some((name, value))
                if word.starts_with("--") || row.is_some_and(|row| row.style == Style::Go) =>
            {
                (name, Some(value.to_string()))
            }
            _ => (word, None),
        };
        let exact = row.is_none_or(|row| row.option(name).is_some() || !row.clusters());
        // `-rf*`: letters, each an option of its own.
        let letters = name.trim_start_matches('-').trim_end_matches('*');
        if !name.starts_with("--")
            && letters.chars().count() > 1
            && !exact
            && letters.chars().all(char::is_alphanumeric)
        {
            for letter in letters.chars() {
                self.add_option(&format!("-{letter}"), None, row);
            }
            return 0;
        }
        let takes = row
            .and_then(|row| row.option(name))
            .is_some_and(|option| option.value == Takes::Value);
        match (takes && value.is_none(), next) {
            (true, Some(next)) => {
                self.add_option(name, Some(next.clone()), row);
                1
            }
            _ => {
                let name = if self.program != "rm" || name.starts_with("--") || letters.len() != 1 {
                    name
                } else {
                    &name[..2]
                };
                self.add_option(name, value, row);
                0
            }
        }
    }

    fn add_option(&mut self, name: &str, value: Option<String>, row: Option<&Row>) {
        let mut names = spellings(name, row);
        let (mut operands, mut together) = (Vec::new(), Vec::new());
        for act in row
            .map(|row| row.acts)
            .unwrap_or_default()
            .same_as(&names.clone())
        {
            match act {
                Act::Operand(glob) => operands.push(glob),
                Act::Options(others) => match others.as_slice() {
                    [other] => names.push(other.to_string()),
                    others => {
                        let all = others
                            .iter()
                            .map(|it| OptionPattern::new(it.to_string(), spellings(it, row)));
                        together.push(all.collect());
                    }
                },
            }
        }
        names.dedup();
        self.options.push(OptionPattern {
            operands,
            together,
            value,
            ..OptionPattern::new(name.to_string(), names)
        });
    }

    /// Whether an operand or an option's value is written as a path.
    fn names_path(&self) -> bool {
        self.operands.iter().any(Operand::is_path)
            || self
                .options
                .iter()
                .any(|option| option.value.as_deref().is_some_and(path::is_path))
    }

    /// Whether the command is one of this pattern's program.
    fn is_program(&self, command: &Command) -> bool {
        command
            .words
            .first()
            .is_some_and(|head| self.is_named_by(head))
    }

    /// Whether a command that begins with the word may be hit; no other is worth a copy of its
    /// words.
    fn may_begin_with(&self, head: &Word, piped: bool) -> bool {
        let name = base_name(&head.text);
        let is_shell = || piped && self.program == "sh" && may_run_what_flows_in(name);
        self.is_named_by(head) || is_shell() || programs::has_twins(name)
    }

    fn is_named_by(&self, head: &Word) -> bool {
        let known = head.beginning();
        if matches!(head.openness, Openness::Operand(_)) && is_part_of_name(known) {
            let literal = self.program.split('*').next().unwrap_or_default();
            return literal.starts_with(known)
                || self.program.contains('*') && head.text.starts_with(literal);
        }
        let name = base_name(&head.text);
        if is_one_of_files(head) {
            return self.program == "*" || meeting::may_be(name, &self.program);
        }
        let (other_names, has_versions) = &self.other_names;
        let by_name = |name: &str| glob(&self.program, name) || other_names.contains(&name);
        // `python3.11`
        let bare = || name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        by_name(name)
            || (*has_versions || !other_names.is_empty()) && by_name(bare())
            || self.program.contains('*') && programs::same_program(name).is_some_and(by_name)
    }

    /// The command in the other words that mean the same, if the pattern may be about them.
    fn twins(&self, command: &Command) -> impl Iterator<Item = Command> {
        let name = command
            .words
            .first()
            .map_or("", |head| base_name(&head.text));
        let twins = if self.has_twins && programs::has_twins(name) {
            programs::twins(&command.words)
        } else {
            Vec::new()
        };
        twins.into_iter().map(|words| command.with(words))
    }

    /// `*`: every command, and what is written without one.
    fn is_everything(&self) -> bool {
        self.program == "*"
            && self.settings.is_empty()
            && self.operands.is_empty()
            && self.options.is_empty()
            && self.whole.is_none()
            && self.directory.is_none()
    }

    /// What the options of the command say in other words; known of some programs whose other
    /// options aren't.
    fn acts(&self) -> options::Column {
        let row = self
            .deepest()
            .or_else(|| options::any_row(&self.program).filter(|_| self.commands == 0));
        row.map(|row| row.acts).unwrap_or_default()
    }

    /// The row of the deepest sub-command that the pattern names.
    fn deepest(&self) -> Option<&Row> {
        let mut row = self.row?;
        for operand in &self.operands[..self.commands] {
            match row.child(&operand.glob) {
                Some(child) => row = child,
                None => break,
            }
        }
        Some(row)
    }
}
