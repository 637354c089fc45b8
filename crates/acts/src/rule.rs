//! `Bash(...)`: what a rule means, and whether a text does it.
//!
//! A rule means an act, not characters: its program by name, its sub-commands past global options, its
//! options in every spelling, its operands in order. It is read two ways, as hits and as covers.

use super::commands::{Directories, base_name};
use super::expand::{Openness, Word, is_of_name};
use super::judged::RuleId;
use super::meeting;
use super::path;
use super::programs::options::{Act, Row, Style, Takes};
use super::programs::parsed::{Item, Parsed, takes_value};
use super::programs::{self, Names, options, running};
use super::{Command, Doubt, Judgement, Place, Role, Script, Span};
use compact_str::format_compact;
use std::collections::HashMap;
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
    /// The program's name, with `*` for any characters.
    program: String,
    /// The program's other names, and whether a version may stand behind one.
    other_names: (Vec<&'static str>, bool),
    /// Other words may mean the same.
    has_twins: bool,
    /// The directory that the pattern names.
    directory: Option<String>,
    row: Option<&'static Row>,
    /// Sub-commands and operands, in order.
    operands: Vec<Operand>,
    /// How many of them are sub-commands.
    commands: usize,
    options: Vec<OptionPattern>,
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
    /// The same as a path without `.`, `..` and needless slashes; none if it is a URL.
    path: Option<String>,
    /// It names what is done, not what it is done to: a sub-command, or what follows a `*` for one.
    verb: bool,
    /// The sub-command's names, if it is one.
    names: Vec<&'static str>,
    /// A `*` that may stand for nothing: with options behind it, which may stand anywhere, or a sub-command that needs none
    /// before it.
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

/// Three values for one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Held {
    No,
    Doubt(&'static str),
    Yes,
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
            stages[last].open = true;
        }
        Ok(CommandRule { id: RuleId::next(), stages })
    }

    /// Whether one command is what the rule names, as far as it can be told.
    pub fn fits(&self, command: &Command) -> bool {
        self.stages.iter().any(|stage| stage.hits(command, self.is_pipe()) == Held::Yes)
    }

    /// Whether one command is what the rule names, or may be.
    pub fn may_hit(&self, command: &Command) -> bool {
        self.stages.iter().any(|stage| stage.hits(command, self.is_pipe()) != Held::No)
    }

    /// Whether a text of any language names what the rule names: its words, whole and in order.
    pub fn is_named_in(&self, text: &str) -> bool {
        self.stages.iter().all(|stage| stage.is_named_in(text, Some(&[])))
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
    /// Its name within that word's text, in bytes: the letter in a cluster such as `-uf`, else all of `--name`.
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
        let Some(stage) = self.stage() else { return false };
        !stage.open && stage.options.is_empty() && stage.whole.is_none()
    }

    /// The options that the rule names, as written.
    pub fn options(&self) -> impl Iterator<Item = &str> {
        self.stages.iter().flat_map(|stage| &stage.options).map(|option| option.written.as_str())
    }

    /// A word that names no program or sub-command because a `*` in it stands for other words, as written.
    pub fn word_across_words(&self) -> Option<&str> {
        let across = |text: &str| text.trim_end_matches('*').find('*').is_some_and(|at| at > 0);
        let stage = self.stages.first().filter(|stage| stage.whole.is_none())?;
        let begins_across = stage.program.starts_with('*') && !stage.program.trim_start_matches('*').is_empty();
        if across(&stage.program) || begins_across {
            let is_known = options::program_names().any(|name| glob(&stage.program, name));
            return (!is_known && !stage.program.contains('/')).then_some(stage.program.as_str());
        }
        let row = stage.row.filter(|row| row.has_commands)?;
        let word = &stage.operands.first()?.glob;
        let is_known = || row.children.iter().any(|child| child.names.iter().any(|name| glob(word, name)));
        (across(word) && !is_known()).then_some(word.as_str())
    }

    /// The words that name programs, sub-commands and options. A glob over the whole command names none.
    pub fn names(&self) -> Vec<Name<'_>> {
        let mut names = Vec::new();
        for stage in self.stages.iter().filter(|stage| stage.whole.is_none()) {
            let mut row = stage.row;
            let known = if row.is_none() { options::program_names().collect() } else { Vec::new() };
            names.push(Name { word: &stage.program, of: String::new(), known });
            let mut of = stage.program.clone();
            let mut options: Vec<&Row> = row.into_iter().collect();
            for operand in &stage.operands[..stage.commands] {
                let children =
                    row.filter(|_| !stage.row.is_some_and(|row| row.habits.has("scripts"))).map(|row| &row.children);
                let known = children.into_iter().flatten().flat_map(|child| child.names.iter().copied()).collect();
                names.push(Name { word: &operand.glob, of: of.clone(), known });
                of = format!("{of} {}", operand.glob);
                row = row.and_then(|row| row.child(&operand.glob));
                options.extend(row);
            }
            // What isn't in the table may take any.
            let options = options.iter().filter(|_| row.is_some()).flat_map(|row| &row.options);
            let known: Vec<_> = options.flat_map(|option| option.names.iter().copied()).collect();
            for option in &stage.options {
                names.push(Name { word: &option.written, of: of.clone(), known: known.clone() });
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

    /// Which words of a command that the rule matches are the sub-commands and operands that it names, in order.
    pub fn operand_words(&self, command: &Command) -> Vec<usize> {
        let Some((stage, parsed)) = self.parsed(command) else { return Vec::new() };
        let mut items = parsed.operands.iter();
        let named = stage.operands.iter().map_while(|operand| {
            let item = items.find(|item| operand.could_be_item(item, parsed.directories) == Held::Yes)?;
            place_of(command, item.word)
        });
        named.collect()
    }

    /// Where a command has an option, in every spelling that its program takes.
    ///
    /// # Errors
    /// It can't be told whether, or where, the command has it; finishes the sentence "failed to ...".
    pub fn option_places(&self, command: &Command, name: &str) -> Result<Vec<OptionPlace>, String> {
        let failed = |why: String| Err(format!("change `{name}`: {why}"));
        let Some((stage, parsed)) = self.parsed(command) else { return Ok(Vec::new()) };
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
            let (Some((part, has_value)), Some(word)) = (found, place_of(command, item.word)) else { continue };
            if item.unsure && item.row.is_some() {
                return failed(format!("an option before `{text}` isn't known, so this may be that one's value"));
            }
            let is_beginning =
                |option: &&options::Opt| option.names.iter().any(|it| it.starts_with(&known[part.clone()]));
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
                Act::Operand(pattern) => parsed.operands.iter().find(|item| glob(pattern, item.word.beginning())),
                Act::Options(all) => parsed.options.iter().find(|item| {
                    let is_place = places.iter().any(|place| place_of(command, item.word) == Some(place.word));
                    !is_place && all.iter().any(|it| denotes(item.word.beginning(), it, item.row))
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
        Some((stage, Reading::new(words, stage.row, &stage.operands[..stage.commands], &command.directories)))
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

/// Every name of an option: those of the table, and the one as written.
fn spellings(name: &str, row: Option<&Row>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for option in row.iter().flat_map(|row| &row.options) {
        let same = |it: &&str| {
            glob(name, it)
                || row.is_some_and(|row| row.style == Style::Go)
                    && glob(name.trim_start_matches('-'), it.trim_start_matches('-'))
        };
        if option.names.iter().any(same) {
            names.extend(option.names.iter().map(|name| name.to_string()));
        }
    }
    if !names.iter().any(|it| it == name) {
        names.push(name.to_string());
    }
    names
}

/// The part of a word that is the name of an option, and whether its value follows.
fn part_of(word: &str, name: &str, row: Option<&Row>) -> Option<(Range<usize>, bool)> {
    if word == name {
        return Some((0..word.len(), false));
    }
    let bare = word.find('=').unwrap_or(word.len());
    let is_cluster = !word.starts_with("--") && row.is_some_and(Row::clusters);
    if !is_cluster {
        let is_it = glob(name, &word[..bare]) || denotes(word, name, row);
        return is_it.then_some((0..bare, bare < word.len()));
    }
    let (letter, takes) = letter_of(word, name, row)?;
    let is_alone = letter.start == 1 && letter.end == word.len();
    Some((if is_alone { 0 } else { letter.start }..letter.end, takes && letter.end < word.len()))
}

/// Where a cluster has the letter of an option, and whether that takes a value.
fn letter_of(word: &str, name: &str, row: Option<&Row>) -> Option<(Range<usize>, bool)> {
    let letter = name.strip_prefix('-').filter(|letter| letter.chars().count() == 1 && *letter != "-")?;
    let row = row.filter(|row| row.clusters() && word.starts_with('-'))?;
    for (at, c) in word.char_indices().skip(1) {
        let takes = row.option(&format_compact!("-{c}")).is_some_and(|option| option.value != Takes::Nothing);
        if letter.starts_with(c) {
            return Some((at..at + c.len_utf8(), takes));
        }
        if takes {
            return None;
        }
    }
    None
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

/// `git push*--force*` and `git push *--force*` as a glob over a text would have them: whatever stands between is left
/// out, as options may stand anywhere.
fn parted(words: &[String]) -> Vec<String> {
    let mut parted = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        // An operand may be a file's name that holds a dash.
        let dash = if at == 0 { "*-" } else { "*--" };
        match word.find(dash).filter(|_| !word.starts_with('-')) {
            Some(0) if at > 0 => parted.push(word[1..].to_string()),
            Some(at) if at > 0 => parted.extend([word[..at].to_string(), word[at + 1..].to_string()]),
            _ => parted.push(word.clone()),
        }
    }
    parted
}

/// The same for options with one dash: `terraform apply *-auto-approve`, `rm *-rf*`. More letters than two end the name of
/// a file: `rm *-dir`.
fn option_behind_star<'w>(word: &'w str, row: Option<&Row>) -> Option<&'w str> {
    let option = word.strip_prefix('*').filter(|option| option.starts_with('-'))?;
    let name = option.trim_end_matches('*');
    let is_known = |name: &str| row.is_some_and(|row| row.option(name).is_some());
    let are_letters =
        || (2..=3).contains(&name.len()) && name[1..].chars().all(|letter| is_known(&format!("-{letter}")));
    (is_known(name) || name.is_ascii() && are_letters()).then_some(option)
}

/// Whether nothing but options and their values are left of a pattern.
fn are_options(words: &[String], row: Option<&Row>) -> bool {
    let takes = |word: &str| row.and_then(|row| row.option(word)).is_some_and(|option| option.value == Takes::Value);
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
        let mut rest = parted(words);
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
        let whole = (rest.is_empty() && head.len() > 1 && head.starts_with('*')).then(|| head.clone());
        if whole.is_some() {
            head = "*".to_string();
        }
        let (directory, program) = match head.rsplit_once('/') {
            Some((directory, name)) => (Some(directory.to_string()), name.to_string()),
            None => (None, head),
        };
        let row = if program.contains('*') { None } else { options::row(&program) };
        let mut stage = Stage {
            other_names: options::other_names(&program),
            has_twins: programs::has_twins(&program),
            program,
            directory,
            row,
            operands: Vec::new(),
            commands: 0,
            options: Vec::new(),
            open: open || everything,
            dashes: false,
            leading: rest.iter().take_while(|word| *word != "*").cloned().collect(),
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
            let is_option = word.len() > 1 && word.starts_with('-') && node.is_none_or(|row| row.style != Style::None);
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
            let child = node.filter(|row| row.has_commands && stage.commands == stage.operands.len());
            // `push* --force`: a glob over the text goes on behind the name.
            let name = if at < rest.len() { word.trim_end_matches('*') } else { word };
            // `kubectl * delete *`: only options may stand between.
            let is_any = word == "*"
                && stage.operands.is_empty()
                && child.is_some_and(|row| rest.get(at).is_some_and(|next| row.child(next).is_some()));
            let is_optional = is_any || word == "*" && child.is_none() && are_options(&rest[at..], node);
            let names = match child {
                Some(_) if is_any => {
                    stage.commands += 1;
                    Vec::new()
                }
                Some(row) => {
                    stage.commands += 1;
                    node = row.child(name).or_else(|| {
                        // `aws * delete-*`: what follows stands where sub-commands of any child do.
                        let mut children =
                            row.children.iter().filter(|child| child.names.iter().any(|name| glob(word, name)));
                        children.find(|child| child.has_commands).filter(|_| word.contains('*'))
                    });
                    row.child(name).map(|row| row.names.clone()).unwrap_or_default()
                }
                None => Vec::new(),
            };
            let is_nested =
                || row.is_some_and(|row| row.has_commands) && stage.operands.iter().all(|it| it.glob == "*");
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
        Ok(stage)
    }

    /// Adds an option of the pattern; how many further words are its value.
    fn option(&mut self, word: &str, next: Option<&String>, row: Option<&Row>) -> usize {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if word.starts_with("--") || row.is_some_and(|row| row.style == Style::Go) => {
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
        let takes = row.and_then(|row| row.option(name)).is_some_and(|option| option.value == Takes::Value);
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
        for act in row.map(|row| row.acts).unwrap_or_default().same_as(&names.clone()) {
            match act {
                Act::Operand(glob) => operands.push(glob),
                Act::Options(others) => match others.as_slice() {
                    [other] => names.push(other.to_string()),
                    others => {
                        let all = others.iter().map(|it| OptionPattern::new(it.to_string(), spellings(it, row)));
                        together.push(all.collect());
                    }
                },
            }
        }
        names.dedup();
        self.options.push(OptionPattern { operands, together, value, ..OptionPattern::new(name.to_string(), names) });
    }

    /// Whether an operand or an option's value is written as a path.
    fn names_path(&self) -> bool {
        self.operands.iter().any(Operand::is_path)
            || self.options.iter().any(|option| option.value.as_deref().is_some_and(path::is_path))
    }

    /// Whether the command is one of this pattern's program.
    fn is_program(&self, command: &Command) -> bool {
        command.words.first().is_some_and(|head| self.is_named_by(head))
    }

    /// Whether a command that begins with the word may be hit; no other is worth a copy of its words.
    fn may_begin_with(&self, head: &Word, piped: bool) -> bool {
        let name = base_name(&head.text);
        let is_shell = || piped && self.program == "sh" && may_run_what_flows_in(name);
        self.is_named_by(head) || is_shell() || programs::has_twins(name)
    }

    fn is_named_by(&self, head: &Word) -> bool {
        let known = head.beginning();
        if matches!(head.openness, Openness::Operand(_)) && is_part_of_name(known) {
            let literal = self.program.split('*').next().unwrap_or_default();
            return literal.starts_with(known) || self.program.contains('*') && head.text.starts_with(literal);
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
        let name = command.words.first().map_or("", |head| base_name(&head.text));
        let twins =
            if self.has_twins && programs::has_twins(name) { programs::twins(&command.words) } else { Vec::new() };
        twins.into_iter().map(|words| command.with(words))
    }

    /// Whether the command does what the pattern says: any reading of it is enough.
    fn hits(&self, command: &Command, piped: bool) -> Held {
        if self.row.is_some() && only_helps(&command.words) {
            return Held::No;
        }
        match self.hits_words(command, piped) {
            Held::Yes => Held::Yes,
            held => {
                let held = self.twins(command).fold(held, |held, twin| held.max(self.hits_words(&twin, piped)));
                held.max(self.hits_without_vanishing(command, piped))
            }
        }
    }

    /// `git -C $x . push`: if nothing has set a variable, the next word stands in its place.
    fn hits_without_vanishing(&self, command: &Command, piped: bool) -> Held {
        // Behind the last word, nothing moves.
        let mut from_vanishing = command.words.iter().skip(1).skip_while(|word| !word.vanishes);
        if from_vanishing.all(|word| word.vanishes) || !self.is_program(command) {
            return Held::No;
        }
        let words = command.words.iter().enumerate().filter(|(at, word)| *at == 0 || !word.vanishes);
        let rest = command.with(words.map(|(_, word)| word.clone()).collect());
        self.hits_words(&rest, piped).min(Held::Doubt("a word may be another one's value if a variable is empty"))
    }

    /// `*`: every command, and what is written without one.
    fn is_everything(&self) -> bool {
        self.program == "*" && self.operands.is_empty() && self.options.is_empty() && self.whole.is_none()
    }

    fn hits_words(&self, command: &Command, piped: bool) -> Held {
        if command.words.is_empty() {
            return to_held(self.is_everything());
        }
        let flows_in = piped.then(|| runs_what_flows_in(command));
        // A shell with a script or a text of its own takes it for data.
        if flows_in == Some(false) && programs::is_shell(&self.program) {
            return Held::No;
        }
        let is_shell = flows_in == Some(true) && self.program == "sh";
        if !is_shell && !self.is_program(command) {
            return Held::No;
        }
        if let Some(whole) = &self.whole {
            return to_held(glob(whole, &command.normal()));
        }
        if let (Some(directory), Some(head)) = (&self.directory, command.words.first())
            && let Some((written, _)) = head.text.rsplit_once('/')
            && !glob(directory, written)
            && !head.text.starts_with('.')
            && !programs::is_system_path(&head.text)
            && directory.starts_with('.')
        {
            return Held::No;
        }
        let parsed = Reading::new(&command.words[1..], self.row, &self.operands[..self.commands], &command.directories);
        // A sub-command that a variable gives may bring options of its own.
        for (wanted, item) in self.operands.iter().take(self.commands).zip(&parsed.operands) {
            match wanted.could_be_item(item, parsed.directories) {
                Held::No => break,
                Held::Doubt(_) => return Held::Doubt("the sub-command is computed"),
                Held::Yes => {}
            }
        }
        let mut held = self.operands_hit(&parsed);
        if self.dashes && !command.words.iter().any(|word| word.as_constant() == Some("--")) {
            held = held.min(parsed.open.map_or(Held::No, Held::Doubt));
        }
        let ends_open =
            |head: &Word| matches!(head.openness, Openness::Operand(_)) && is_part_of_name(head.beginning());
        if command.words.first().is_some_and(ends_open) {
            held = held.min(Held::Doubt("the program's name is computed"));
        }
        if command.words.first().is_some_and(is_one_of_files) && self.program != "*" {
            held = held.min(Held::Doubt("the program is one of several files"));
        }
        for option in &self.options {
            if held == Held::No {
                break;
            }
            held = held.min(parsed.has(option));
        }
        match held {
            Held::No if self.program == "git" => self.git_doubt(command),
            held => held,
        }
    }

    /// Git does another command's work by its settings, aliases and plumbing.
    fn git_doubt(&self, command: &Command) -> Held {
        let (verb, settings) = programs::git_verb(&command.words);
        let Some(verb) = verb.and_then(|at| command.words.get(at)) else { return Held::No };
        // Of most of them no word is another command: `git lfs pull`, but `git lfs push`.
        let says = |name: &str| {
            let may_be = |word: &Word| match word.openness {
                Openness::Constant => word.text.contains(name),
                // `*.patch` doesn't become `commit`.
                Openness::Files(_) if !word.text.contains(['?', '[', '(', '$']) => glob(&word.text, name),
                _ => true,
            };
            command.words.iter().any(may_be)
        };
        let gives = |option: &OptionPattern| {
            let may_be = |word: &Word| match word.openness {
                Openness::Constant => {
                    option.is(&word.text, self.deepest())
                        || word.text.contains(' ')
                        || option.operands.iter().any(|it| glob(it, &word.text))
                }
                Openness::Files(_) => false,
                _ => true,
            };
            !option.together.is_empty() || command.words.iter().skip(1).any(may_be)
        };
        let is_said = || {
            let is_named = |operand: &Operand| match operand.is_optional || operand.glob.contains(['?', '[', '\\']) {
                true => true,
                false => operand.glob.split('*').all(&says),
            };
            self.operands.iter().all(is_named) && self.options.iter().all(gives)
        };
        let runs = programs::git_runs(&verb.text);
        if runs.has("instead") || runs.has("named") && is_said() {
            return Held::Doubt("a command of git that does another one's work");
        }
        // `git all push`: it hands the words behind it to git again.
        if verb.is_constant() && runs.has("again") && self.operands.first().is_some_and(|operand| says(&operand.glob)) {
            let behind = command.words.iter().position(|word| std::ptr::eq(word, verb)).unwrap_or(0);
            let again = command.words[behind..].iter().position(|word| self.operands[0].glob == word.text);
            let rest = again.map_or(&[][..], |again| &command.words[behind + again..]);
            let parsed = Reading::new(rest, self.row, &self.operands[..self.commands], &command.directories);
            let mut held = self.operands_hit(&parsed);
            for option in &self.options {
                held = held.min(parsed.has(option));
            }
            if held != Held::No {
                return Held::Doubt("a command of git that may run another one");
            }
        }
        let own = self.operands.first().is_some_and(|operand| glob(&operand.glob, &verb.text));
        if settings && (own || !runs.has("own")) {
            return Held::Doubt("a setting of git that changes what it does");
        }
        Held::No
    }

    fn operands_hit(&self, parsed: &Reading) -> Held {
        let is_open = self.open || !self.options.is_empty();
        let mut held = Held::Yes;
        let mut at = 0;
        for (index, operand) in self.operands.iter().enumerate() {
            let is_command = index < self.commands || index == 0 && self.row.is_some_and(|row| row.habits.has("first"));
            if operand.is_optional {
                let next = self.operands.get(index + 1).zip(parsed.operands.get(at));
                if next.is_none_or(|(next, item)| next.could_be_item(item, parsed.directories) == Held::Yes) {
                    continue;
                }
            }
            let (from, mut has_passed) = (at, false);
            let mut found = Held::No;
            while let Some(item) = parsed.operands.get(at) {
                let this = operand.could_be_item(item, parsed.directories);
                if !item.word.spreads() {
                    at += 1;
                }
                if this > Held::No && !(has_passed && item.leaf) {
                    found = this;
                    break;
                }
                if item.word.spreads() {
                    at += 1;
                    continue;
                }
                // A sub-command stands where it stands, unless an option before it isn't known.
                let is_any = index > 0 && self.operands[index - 1].is_any_verb() && !item.names.is_empty();
                has_passed |= is_any;
                if !item.unsure && (is_command || !is_open) && !is_any && !operand.spans() {
                    break;
                }
            }
            if found == Held::No && parsed.options.iter().any(|item| operand.is_within(item)) {
                (at, found) = (from, Held::Yes);
            }
            if found == Held::No {
                return Held::No;
            }
            held = held.min(found);
        }
        if is_open {
            return held;
        }
        // An exact pattern names all operands, and every option.
        let is_more = |item: &Item| !item.unsure && !item.word.spreads();
        let is_other = |option: &Item| option.depth >= self.commands || self.row.is_none() && self.program != "*";
        let names_all = !parsed.operands[at..].iter().any(is_more) && !parsed.options.iter().any(is_other);
        if names_all { held } else { Held::No }
    }

    /// Whether the pattern names all of the command; what runs code it must name itself.
    fn covers(&self, command: &Command, place: &Place) -> Held {
        let held = self.covers_words(command, place);
        let name = command.words.first().map_or("", |head| base_name(&head.text));
        let names_all = || {
            let parsed = Reading::new(&command.words[1..], self.row, &[], &command.directories);
            let names = |item: &Item| {
                let is_it = |pattern: &OptionPattern| pattern.is(&item.word.text, item.row);
                self.options
                    .iter()
                    .any(|pattern| is_it(pattern) && pattern.value_fits(item, parsed.directories) == Held::Yes)
            };
            // Who allows an interpreter whole allows its code.
            let is_whole = self.leading.is_empty() && programs::is_interpreter(name);
            let counts = |word: &&Word| !is_whole || !word.is_constant();
            running::code_words(name, &command.words).into_iter().filter(counts).all(|word| {
                match parsed.options.iter().find(|item| std::ptr::eq(item.word, word)) {
                    Some(item) => names(item),
                    None => self.names_option(&word.text),
                }
            })
        };
        match held {
            Held::Yes if !names_all() => Held::Doubt("an option that runs code"),
            Held::Yes if running::script_runs_code(name, &command.words) => {
                Held::Doubt("a script that may run code or write a file")
            }
            Held::Yes if programs::is_interpreter(name) && !self.leads(command) => {
                Held::Doubt("what an interpreter runs comes before what the rule names")
            }
            Held::Yes if programs::runs(name).has("runner") && !self.leads_behind_plain_options(command) => {
                Held::Doubt("an option of a runner before what the rule names")
            }
            held => held,
        }
    }

    /// Whether the command begins as the pattern does, word for word; an option may be spelt otherwise.
    fn leads(&self, command: &Command) -> bool {
        let is_option = |wanted: &str, word: &str| {
            wanted.starts_with('-') && spellings(wanted, self.row).iter().any(|name| name == word)
        };
        let mut words = command.words.iter().skip(1).map(Word::as_constant);
        let mut is_next =
            |wanted: &String| words.next().flatten().is_some_and(|word| glob(wanted, word) || is_option(wanted, word));
        self.leading.iter().all(&mut is_next)
    }

    /// The same, if the options that stand in between only say how a runner finds what it runs by itself.
    fn leads_behind_plain_options(&self, command: &Command) -> bool {
        let is_plain = |word: &Word| running::PLAIN_RUNNER_OPTIONS.has(&word.text);
        let behind = command.words.iter().enumerate().filter(|(at, word)| *at == 0 || !is_plain(word));
        self.leads(&command.with(behind.map(|(_, word)| word.clone()).collect()))
    }

    fn covers_words(&self, command: &Command, place: &Place) -> Held {
        match self.covers_these(command, place) {
            Held::Yes => Held::Yes,
            held => self.twins(command).fold(held, |held, twin| held.max(self.covers_these(&twin, place))),
        }
    }

    fn covers_these(&self, command: &Command, place: &Place) -> Held {
        let Some(head) = command.words.first() else { return Held::No };
        if let Some(whole) = &self.whole {
            return to_held(glob(whole, &command.normal()));
        }
        if self.program == "*" && self.operands.is_empty() && self.options.is_empty() && self.directory.is_none() {
            return Held::Yes;
        }
        let Some(name) = head.as_constant() else { return Held::No };
        let (written, name) = name.rsplit_once('/').map_or((None, name), |(directory, name)| (Some(directory), name));
        if !glob(&self.program, name) {
            return Held::No;
        }
        let is_elsewhere = match &self.directory {
            Some(own) => written != Some(own),
            None => written.is_some() && !programs::is_system_path(&head.text),
        };
        if is_elsewhere {
            return Held::No;
        }
        let parsed = Reading::new(&command.words[1..], self.row, &[], &command.directories);
        let everything = self.operands.is_empty() && self.open && self.commands == 0 && self.options.is_empty();
        if everything {
            return Held::Yes;
        }
        // Options: each of the rule's is there, and none that it doesn't name.
        for option in &self.options {
            if parsed.has(option) != Held::Yes || parsed.takes_back(option) || self.is_undone(option, &command.words) {
                return Held::No;
            }
        }
        // The value of an option may be a path as well: `cp -t /etc ./build/a`.
        let has_paths = self.operands.iter().skip(self.commands).any(Operand::is_path);
        for option in &parsed.options {
            let named = self.options.iter().any(|pattern| {
                pattern.is(&option.word.text, option.row) && pattern.value_fits(option, parsed.directories) == Held::Yes
            }) || self.names_cluster(option);
            let has_value = option.value.is_some() || option.word.text.contains('=');
            let after = option.depth >= self.commands.min(1) && self.open && !(has_paths && has_value);
            if !named && !after {
                return Held::No;
            }
        }
        let mut at = 0;
        for (index, operand) in self.operands.iter().enumerate() {
            let is_last = index + 1 == self.operands.len();
            let Some(item) = parsed.operands.get(at) else {
                return Held::No;
            };
            if item.unsure || !operand.is(item, command, place) {
                return Held::No;
            }
            at += 1;
            // Of files, `build*` names each: in `rm build /`, it doesn't name the second.
            if is_last && operand.begins_file() && self.row.is_some_and(|row| row.habits.has("each")) {
                let files = &parsed.operands[at - 1..];
                return to_held(files.iter().all(|item| operand.is_beginning_of(item.word, command, place)));
            }
            if is_last && index >= self.commands && operand.is_path() {
                // A path stands for all that follow: each is judged.
                if !parsed.operands[at..].iter().all(|item| operand.is(item, command, place)) {
                    return Held::No;
                }
                at = parsed.operands.len();
            }
        }
        to_held(parsed.operands.len() <= at || self.open)
    }

    /// Whether another option of the command undoes one that the rule names.
    fn is_undone(&self, option: &OptionPattern, words: &[Word]) -> bool {
        let row = self.deepest();
        let undoing: Vec<String> = self.acts().undone_by(&option.names).flat_map(|it| spellings(it, row)).collect();
        let is_other = |word: &Word| undoing.iter().any(|it| denotes(&word.text, it, row));
        !undoing.is_empty() && words.iter().skip(1).any(is_other)
    }

    /// What the options of the command say in other words; known of some programs whose other options aren't.
    fn acts(&self) -> options::Column {
        let row = self.deepest().or_else(|| options::any_row(&self.program).filter(|_| self.commands == 0));
        row.map(|row| row.acts).unwrap_or_default()
    }

    /// Whether the rule writes this option.
    fn names_option(&self, word: &str) -> bool {
        self.options.iter().any(|option| option.is(word, self.deepest()))
    }

    /// `-rf` where the rule says `-r` and `-f`.
    fn names_cluster(&self, option: &Item) -> bool {
        let text = option.word.text.as_str();
        text.len() > 1
            && !text.starts_with("--")
            && option.word.openness == Openness::Constant
            && text[1..].chars().all(|letter| {
                let short = format!("-{letter}");
                self.options.iter().any(|pattern| pattern.names.contains(&short))
            })
    }

    /// Whether a command that may run its words, or what they say, names what the pattern names: `gosu root sh`,
    /// `awk '{ print | "sh" }'`.
    fn may_be_run_by(&self, command: &Command) -> bool {
        let is_text = |word: &Word| word.text.contains([' ', ':', '"', '|', '(']);
        // `-s sh` is an option's value.
        let is_place = |before: &str| before == "--" || !before.starts_with('-');
        let names = |at: usize| {
            let (word, before) = (&command.words[at], &command.words[at - 1]);
            let may_start = word.is_constant() && is_place(&before.text) && self.may_begin_with(word, true);
            is_text(word) && self.is_named_in(&word.text, Some(&[]))
                || may_start && self.hits(&command.from(at), true) != Held::No
        };
        let is_many = || command.words.iter().filter(|word| self.may_begin_with(word, true)).count() > MAX_STARTS;
        command.runs_words
            && !command.shell_text
            && !self.program.contains('*')
            && (is_many() || (1..command.words.len()).any(names))
            || command.builds_code && self.program == "sh"
    }

    /// Whether a text that may end up as code names what the pattern names, in order. `beside`: constants that the code may
    /// be given.
    fn is_named_in(&self, text: &str, beside: Option<&[&str]>) -> bool {
        // What it is given beside its own words.
        let beside: Option<Vec<&str>> =
            beside.map(|beside| beside.iter().copied().filter(|it| !it.contains(text)).collect());
        let is_named = |text: &str| self.is_named_as_written(text, beside.as_deref());
        let is_read_as = |text: &str| is_named(text) || without_inner_quotes(text).is_some_and(|text| is_named(&text));
        let is_expanded_to = |text: &str| {
            let expands = text.contains(['$', '`']);
            let beside = beside.as_deref().unwrap_or_default();
            expands && (is_read_as(&expanded(text, beside)) || is_read_as(&with_nothing_set(text)))
        };
        // What reads it may take backslashes away: TAR_OPTIONS, a second shell.
        let bare = |text: &str| text.replace("\\\n", "").replace('\\', "");
        let taken_off = text.contains('\\').then(|| bare(text));
        // `"git\tpush"` of another language; what prints a text so is beside it as well.
        let decoded = || bare(&text.replace("\\t", "\t").replace("\\n", "\n"));
        let has_blanks = ["\\t", "\\n"].iter().any(|it| text.contains(it));
        std::iter::once(text).chain(taken_off.as_deref()).any(|text| is_read_as(text) || is_expanded_to(text))
            || has_blanks && self.is_named_as_written(&decoded(), Some(&[]))
    }

    fn is_named_as_written(&self, text: &str, beside: Option<&[&str]>) -> bool {
        if self.program.contains('*') {
            return false;
        }
        named_at(text, &self.program).any(|at| {
            let rest = &text[at + self.program.len()..];
            !is_prose(text, at) && (self.rest_is_named_in(rest) || self.is_put_together_in(text, at, beside))
        })
    }

    /// Whether a script of awk or sed names the program and its sub-commands and runs them with what its input gives.
    fn is_built_in(&self, text: &str) -> bool {
        let ends_open = |before: &str, rest: &str| match rest.find('"') {
            // A string of awk is joined with whatever stands behind it.
            Some(_) if before.matches('"').count().is_multiple_of(2) => false,
            Some(end) => {
                let behind = rest[end + 1..].trim_start();
                behind.starts_with(|c: char| c.is_alphanumeric() || "_$\"(".contains(c))
            }
            // The command of a sed is the line that it has made.
            None => true,
        };
        named_at(text, &self.program).any(|at| {
            let rest = &text[at + self.program.len()..];
            !follows_command_of_sed(text[..at].trim_end())
                && ends_open(&text[..at], rest)
                && self.sub_commands_named_in(rest).is_some()
        })
    }

    /// Whether code that names the program puts its words together from what it holds elsewhere: `["git", *args]`,
    /// `f"git push {option}"`, `git push $(FLAGS)`; or from what it may be given.
    fn is_put_together_in(&self, text: &str, at: usize, beside: Option<&[&str]>) -> bool {
        let behind = &text[at + self.program.len()..];
        let line = behind.find('\n').map_or(behind, |end| &behind[..end]);
        let is_literal = behind.starts_with(['"', '\'']) && text[..at].ends_with(['"', '\'']);
        // A string that ends in a blank is the beginning of a longer one.
        let goes_on = line.contains(['$', '{', '%', '@']) || [" \"", " '"].iter().any(|end| line.contains(end));
        let is_open = is_literal || goes_on;
        let Some(beside) = beside.filter(|_| text.len() <= MAX_CODE) else { return is_open };
        // What runs a line may give it more: npm what follows `--`. It doesn't give it the other lines.
        let own = if is_open { text } else { line };
        let words = || {
            let is_end = |c: char| c.is_whitespace() || "\"',[]();`{}".contains(c);
            let texts = std::iter::once(&own).chain(beside).flat_map(move |text| text.split(is_end));
            texts.flat_map(|word| word.split('=')).filter(|word| word.len() > 1)
        };
        let is_there = |operand: &Operand| {
            let names = operand.names.iter().copied().chain([operand.glob.as_str()]);
            operand.glob.contains('*') && is_open || names.into_iter().any(|name| words().any(|word| glob(name, word)))
        };
        let n_parts = self.commands.min(self.operands.len()) + self.options.len();
        n_parts > 0
            && self.operands.iter().take(self.commands).all(is_there)
            && self.options.iter().all(|option| {
                words().any(|word| {
                    word.starts_with('-') && option.is(word, self.deepest())
                        || option.operands.iter().any(|operand| glob(operand, word))
                })
            })
    }

    /// What follows the pattern's sub-commands, if a text names them.
    fn sub_commands_named_in<'t>(&self, rest: &'t str) -> Option<&'t str> {
        let mut end = rest.len().min(2048);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let mut rest = &rest[..end];
        for operand in self.operands.iter().filter(|operand| operand.glob != "*").take(self.commands.max(1)) {
            if operand.glob.contains('*') {
                let is_end = |c: char| !(c.is_alphanumeric() || "-_.:/+".contains(c));
                if !rest.split(is_end).any(|word| glob(&operand.glob, word)) {
                    return None;
                }
                continue;
            }
            let names: Vec<&str> =
                if operand.names.is_empty() { vec![operand.glob.as_str()] } else { operand.names.clone() };
            let next = names.iter().filter_map(|name| {
                memchr::memmem::find_iter(rest.as_bytes(), name)
                    .map(|at| (at, at + name.len()))
                    .find(|(at, end)| is_whole(rest, *at, *end))
            });
            match next.min() {
                Some((at, end)) if at <= 96 => rest = &rest[end..],
                _ => return None,
            }
        }
        Some(rest)
    }

    fn rest_is_named_in(&self, rest: &str) -> bool {
        let Some(rest) = self.sub_commands_named_in(rest) else { return false };
        let mut end = rest.len().min(400);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let words: Vec<&str> = rest[..end]
            .split(|c: char| c.is_whitespace() || "\"',[]{}();`<>|&".contains(c))
            .filter(|word| !word.is_empty())
            .collect();
        self.options.iter().all(|option| {
            words.iter().any(|word| {
                word.len() > 1 && word.starts_with('-') && option.is(word, self.deepest())
                    || option.operands.iter().any(|operand| word.len() > 1 && glob(operand, word))
            })
        })
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

/// Whether a command only prints how it is called: nothing but sub-commands stands before the option that asks for that.
fn only_helps(words: &[Word]) -> bool {
    let Some(([program, commands @ ..], last)) = words.split_last().map(|(last, rest)| (rest, last)) else {
        return false;
    };
    let Some(last) = last.as_constant().filter(|it| it.ends_with('h') || it.ends_with("help")) else { return false };
    let Some(row) = program.as_constant().and_then(|name| options::row(base_name(name))) else { return false };
    let mut leaf = row;
    let is_switch = |row: &Row, word: &str| row.option(word).is_some_and(|it| it.value == Takes::Nothing);
    for command in commands {
        if command.as_constant().is_some_and(|word| is_switch(leaf, word)) {
            continue;
        }
        let Some(child) = command.as_constant().and_then(|name| leaf.child(name)) else { return false };
        leaf = child;
    }
    let is_help = |option: &options::Opt| option.names.iter().any(|name| name.trim_start_matches('-') == "help");
    let asks = |row: &Row| row.option(last).is_some_and(is_help);
    last == "--help" || last.starts_with('-') && (asks(leaf) || asks(row))
}

/// Variables that make sets for each rule.
const AUTOMATIC_NAMES: [&str; 6] = ["@", "*", "<", "^", "+", "?"];

/// A text as make and others expand it: each of its variables is what the text, or a constant beside it, sets that to, and
/// nothing if neither does; a function is what it is given.
fn expanded(text: &str, beside: &[&str]) -> String {
    let mut settings: HashMap<&str, String> = HashMap::new();
    let has_automatic = text.as_bytes().windows(2).any(|pair| pair[0] == b'$' && b"@*<^+?".contains(&pair[1]));
    for line in std::iter::once(&text).chain(beside).flat_map(|text| text.lines()) {
        // `$@` is the target of a rule, `$^` what it is made of.
        if let Some((targets, parts)) = line.split_once(':').filter(|_| has_automatic) {
            let parts = parts.split(';').next().unwrap_or_default();
            AUTOMATIC_NAMES
                .iter()
                .for_each(|name| settings.entry(name).or_default().extend([" ", targets, " ", parts]));
        }
        let Some((before, value)) = line.split_once('=') else { continue };
        let before = before.trim_end_matches([':', '+', '?', ' ', '\t']);
        let name = before.rsplit(|c| !is_of_name(c)).next().unwrap_or_default();
        if !name.is_empty() {
            let known = settings.entry(name).or_default();
            known.extend([" ", value.trim().trim_matches(['"', '\''])]);
        }
    }
    let mut expanded = text.to_string();
    // A value holds variables in turn.
    for _ in 0..3 {
        if !expanded.contains('$') || expanded.len() > 2 * MAX_CODE {
            break;
        }
        expanded = expanded_once(&expanded, &settings);
    }
    expanded
}

/// A text as a shell expands it in which nothing is set, and whose substitutions print nothing.
fn with_nothing_set(text: &str) -> String {
    let outside = text.split('`').enumerate().filter(|(at, _)| at % 2 == 0).map(|(_, piece)| piece);
    // What stands in `$(…)` runs.
    let opened = outside.collect::<String>().replace("$(", "(");
    expanded_once(&opened, &HashMap::new())
}

fn expanded_once(text: &str, settings: &HashMap<&str, String>) -> String {
    let mut pieces = text.split('$');
    let mut made = pieces.next().unwrap_or_default().to_string();
    let set = |name: &str| settings.get(name).map_or("", |value| value.trim_start());
    for piece in pieces {
        // `$$x` is the shell's `$x`.
        let Some(first) = piece.chars().next().filter(|_| made.len() < 2 * MAX_CODE) else { continue };
        let close = match first {
            '(' => ')',
            '{' => '}',
            _ => {
                let name = piece.find(|c| !is_of_name(c)).map_or(piece, |end| &piece[..end]);
                let name = if settings.contains_key(name) { name } else { &piece[..first.len_utf8()] };
                made.push_str(set(name));
                made.push_str(&piece[name.len()..]);
                continue;
            }
        };
        let inner = &piece[1..];
        let (inner, rest) = inner.split_once(close).unwrap_or((inner, ""));
        let name_end = inner.find(|c| !is_of_name(c)).unwrap_or(inner.len());
        let default = inner[name_end..].trim_start_matches(':').strip_prefix(['-', '=', '+']);
        match (inner.split_once(' '), default) {
            // A shell's `${x:-git}`
            (_, Some(default)) if first == '{' => made.push_str(default),
            (Some((_, given)), _) => made.push_str(&given.replace(',', " ")),
            (None, _) => made.push_str(set(inner)),
        }
        made.push_str(rest);
    }
    made
}

/// A text without the quotes in its words, as a shell reads it: `push` for `pu""sh`. Nothing if there are none.
fn without_inner_quotes(text: &str) -> Option<String> {
    let is_quote = |c: char| matches!(c, '"' | '\'');
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '+');
    let mut made = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let begins_inside =
            made.ends_with(is_of_word) && rest.peek().is_some_and(|next| is_of_word(*next) || is_quote(*next));
        if !(is_quote(c) && begins_inside) {
            made.push(c);
        }
    }
    (made.len() < text.len()).then_some(made)
}

/// Where a name stands as a word of its own.
fn named_at<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> {
    memchr::memmem::find_iter(text.as_bytes(), name).filter(move |at| is_whole(text, *at, *at + name.len()))
}

fn is_whole(text: &str, from: usize, to: usize) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let bytes = text.as_bytes();
    let begins = !is_part(from.checked_sub(1).and_then(|at| bytes.get(at))) || follows_command_of_sed(&text[..from]);
    begins && !is_part(bytes.get(to))
}

/// Whether a name stands in a sentence: `# Try to find it`. What runs a program is called otherwise.
fn is_prose(text: &str, at: usize) -> bool {
    static BEFORE: Names = Names::new(
        "\
        a an the to and or of for with from by as is are was be can could will would should must may we you it this that these \
        those all any each every no first also just only your our my its their which when",
    );
    let before = text[..at].trim_end_matches([' ', '\t']);
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    before.len() < at && BEFORE.has(word)
}

/// Whether a text ends as a command of sed does that runs or writes the rest: `1egit push`, `$agit push`.
fn follows_command_of_sed(text: &str) -> bool {
    let before = text.strip_suffix(['e', 'i', 'a', 'c']).and_then(|address| address.chars().next_back());
    before.is_some_and(|c| c.is_ascii_digit() || "/$!,~".contains(c))
}

impl OptionPattern {
    /// Whether a constant word is this option.
    fn is(&self, word: &str, row: Option<&Row>) -> bool {
        // Most are written in full.
        self.names.iter().any(|name| glob(name, word)) || self.names.iter().any(|name| is_spelling_of(word, name, row))
    }
}

impl Operand {
    fn could_be_item(&self, item: &Item, directories: &Directories) -> Held {
        // A variable behind what has no sub-commands: `docker logs $X`.
        if self.verb && item.leaf && matches!(item.word.openness, Openness::Operand(_)) && self.glob != "*" {
            return Held::No;
        }
        if self.is_head(item.word) {
            return Held::Yes;
        }
        let is_perhaps = item.names.is_empty() && item.perhaps.iter().any(|name| glob(&self.glob, name));
        let mut held = self.could_be(item.word, item.names);
        if let Some(pattern) = self.path.as_deref().filter(|_| held != Held::Yes && !self.verb)
            && (self.is_path() || path::is_written_as_path(item.word))
        {
            held = held.max(path::could_be(pattern, item.word, directories));
        }
        if is_perhaps { held.max(Held::Doubt("a sub-command that may be short for another")) } else { held }
    }

    fn could_be(&self, word: &Word, names: &[&'static str]) -> Held {
        // `publish*` means the command by its main name, however it is spelt.
        let is_glob_of = || self.glob.contains('*') && names.first().is_some_and(|name| glob(&self.glob, name));
        if self.names.iter().any(|name| names.contains(name)) || is_glob_of() {
            return Held::Yes;
        }
        match word.openness {
            Openness::Constant => {
                // What begins with `~` isn't what begins with `/`.
                to_held(match word.home {
                    true => glob(&self.glob, &format!("~{}", word.text)),
                    false => glob(&self.glob, &word.text),
                })
            }
            openness => {
                let beginning = word.beginning();
                let literal = self.glob.split('*').next().unwrap_or_default();
                let is_directory = matches!(self.glob.trim_end_matches('/'), "." | "..");
                let fits = match openness {
                    // Who names a file or a branch by a variable doesn't mean a directory, nor git's signs for all.
                    Openness::Operand(0) if is_directory || self.glob.starts_with(':') => false,
                    Openness::Files(_) if self.glob.starts_with(':') => word.text.starts_with(':'),
                    // `*.c` isn't the directory either.
                    Openness::Files(_) if is_directory && !word.text.contains(['$', '…', '{', '/']) => {
                        meeting::may_be(&word.text, self.glob.trim_end_matches('/'))
                    }
                    // A variable's value ends a word that is something else: `feature/$N` isn't `*:main`.
                    Openness::Operand(1..) if literal.is_empty() && self.glob != "*" => glob(&self.glob, &word.text),
                    _ => {
                        beginning.is_empty()
                            || literal.starts_with(beginning)
                            || (self.glob.contains('*') && beginning.starts_with(literal))
                    }
                };
                match (fits, openness) {
                    (true, _) if self.glob == "*" => Held::Yes,
                    (true, Openness::Computed(..)) => Held::Doubt("a computed word"),
                    (true, Openness::Files(_)) => Held::Doubt("a pattern of file names"),
                    (true, _) => Held::Doubt("a variable's value"),
                    (false, Openness::Computed(_, true)) => Held::Doubt("a computed word"),
                    (false, _) => Held::No,
                }
            }
        }
    }

    /// `*main`: as a glob over the text has it, anything may stand before.
    fn spans(&self) -> bool {
        !self.verb && self.glob.len() > 1 && self.glob.starts_with('*')
    }

    /// `gcloud * delete`: a `*` for one sub-command or several.
    fn is_any_verb(&self) -> bool {
        self.verb && self.glob == "*"
    }

    /// `*DROP*`, which an option may be given too.
    fn is_within(&self, option: &Item) -> bool {
        let is_it = |word: &Word| word.as_constant().is_some_and(|text| glob(&self.glob, text));
        self.spans() && self.glob.ends_with('*') && (is_it(option.word) || option.value.is_some_and(is_it))
    }

    fn is_path(&self) -> bool {
        path::is_path(&self.glob)
    }

    /// For covers: certain, and as a path where the pattern is one.
    fn is(&self, item: &Item, command: &Command, place: &Place) -> bool {
        let word = item.word;
        if self.names.iter().any(|name| item.names.contains(name)) {
            return true;
        }
        if self.is_path() {
            // `feature/x:main` is two names.
            if word.text.contains(':') && !self.glob.contains(':') {
                return false;
            }
            return !command.relinked && path::is_within(&self.glob, word, &command.directories, place);
        }
        if self.glob == "*" {
            return !matches!(word.openness, Openness::Computed(_, true));
        }
        word.as_constant().is_some_and(|text| glob(&self.glob, text)) || self.is_head(word)
    }

    /// `build*`
    fn begins_file(&self) -> bool {
        self.is_beginning && !self.glob.starts_with('*') && !self.is_path()
    }

    /// Whether a word is a path that begins so where its command runs.
    fn is_beginning_of(&self, word: &Word, command: &Command, place: &Place) -> bool {
        let inside = format!("{}/**", self.glob);
        let is_within = |pattern: &str| path::is_within(pattern, word, &command.directories, place);
        !command.relinked && (is_within(&self.glob) || is_within(&inside))
    }

    /// Whether a word is what the pattern calls HEAD, by the name of its branch.
    fn is_head(&self, word: &Word) -> bool {
        self.glob == "HEAD" && word.is_branch()
    }
}

/// A command's words, told apart, and where it runs.
struct Reading<'c> {
    words: Parsed<'c>,
    directories: &'c Directories,
}

impl<'c> std::ops::Deref for Reading<'c> {
    type Target = Parsed<'c>;

    fn deref(&self) -> &Parsed<'c> {
        &self.words
    }
}

impl<'c> Reading<'c> {
    fn new(
        words: &'c [Word],
        row: Option<&'static Row>,
        wanted: &[Operand],
        directories: &'c Directories,
    ) -> Reading<'c> {
        let child_of = |parent: &'static Row, depth: usize, item: &Item| {
            let wanted = wanted.get(depth).filter(|it| it.could_be_item(item, directories) != Held::No)?;
            Some(parent.child(&wanted.glob))
        };
        Reading { words: Parsed::wanting(words, row, &child_of), directories }
    }

    fn has(&self, option: &OptionPattern) -> Held {
        let mut held = Held::No;
        for item in &self.options {
            let this = match item.word.openness {
                Openness::Constant => match option.is(&item.word.text, item.row) {
                    true => option.value_fits(item, self.directories),
                    false => Held::No,
                },
                _ => option.could_be(item),
            };
            held = held.max(this);
        }
        // `$x-f` is `-f` if `x` is empty.
        for item in self.operands.iter().filter(|item| item.word.openness.from() == Some(0)) {
            let behind = running::behind_expansions(&item.word.text);
            if behind.len() > 1 && behind.starts_with('-') && option.is(behind, item.row) {
                let (is_known, _) = takes_value(&Word::constant(behind), item.row);
                if is_known || item.row.is_none() {
                    held = held.max(Held::Doubt("an option behind a variable that may be empty"));
                }
            }
        }
        for glob_text in &option.operands {
            for item in &self.operands {
                // `$x+main` is `+main` if `x` is empty; `$x:main` is mostly meant as it is written.
                if item.word.openness.from() == Some(0) {
                    let behind = running::behind_expansions(&item.word.text);
                    if behind.starts_with('+') && glob(glob_text, behind) {
                        held = held.max(Held::Doubt("an operand behind a variable that may be empty"));
                    }
                }
                let beginning = item.word.beginning();
                let this = match item.word.openness {
                    Openness::Computed(0, _) => Held::Doubt("a computed word"),
                    _ => to_held(!beginning.is_empty() && glob(glob_text, beginning)),
                };
                held = held.max(this);
            }
        }
        for all in &option.together {
            held = held.max(all.iter().map(|it| self.has(it)).min().unwrap_or(Held::No));
        }
        match (held, self.open) {
            (Held::No, Some(why)) => Held::Doubt(why),
            (held, _) => held,
        }
    }
}

/// What a flag is given to say that it isn't meant: `--dry-run=false`, kubectl's `--dry-run=none`.
const NO: [&str; 8] = ["false", "f", "no", "n", "none", "never", "off", "0"];

impl Reading<'_> {
    /// Whether an option is there and may be taken back: `--dry-run=false`, `--no-dry-run`, or a word that only the run
    /// tells.
    fn takes_back(&self, option: &OptionPattern) -> bool {
        let is_negated = |item: &Item| {
            let text = item.word.text.as_str();
            let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            let is_no = |value: &str| NO.iter().any(|no| value.eq_ignore_ascii_case(no));
            // Git takes beginnings of it, as `--no-dry`.
            let opposes = |ours: &String| {
                let no = name.strip_prefix("--no-").or(name.strip_prefix("--no")).filter(|no| !no.is_empty());
                no.is_some_and(|no| ours.strip_prefix("--").is_some_and(|ours| ours.starts_with(no)))
            };
            // `--dry-run false`: some programs take it for the value.
            let is_apart = || self.operands.iter().any(|operand| operand.word.text == "false");
            let is_another = || match option.value {
                None => {
                    value.is_some_and(|value| is_no(value) || item.word.openness != Openness::Constant) || is_apart()
                }
                // The last one of several counts.
                Some(_) => option.value_fits(item, self.directories) != Held::Yes,
            };
            option.names.iter().any(opposes) || option.is(name, item.row) && is_another()
        };
        self.open.is_some() || self.options.iter().any(is_negated)
    }
}

impl OptionPattern {
    fn new(written: String, names: Vec<String>) -> OptionPattern {
        OptionPattern { written, names, operands: Vec::new(), together: Vec::new(), value: None }
    }

    fn value_fits(&self, item: &Item, directories: &Directories) -> Held {
        let Some(wanted) = &self.value else { return Held::Yes };
        let pattern = if path::is_path(wanted) { path::tidied_pattern(wanted) } else { None };
        let path = |value: &Word| match &pattern {
            Some(pattern) => path::could_be(pattern, value, directories),
            None => Held::No,
        };
        let attached = item.word.text.split_once('=').map(|(_, value)| value);
        let short = || {
            let letter = self.names.iter().find(|name| name.len() == 2).map(|name| &name[1..])?;
            if item.word.text.starts_with("--") {
                return None;
            }
            let at = item.word.text.find(letter)? + 1;
            item.word.text.get(at..).filter(|value| !value.is_empty())
        };
        let is = |value: &str| to_held(glob(wanted, value)).max(path(&Word::constant(value)));
        match (attached, item.value) {
            (Some(value), _) if item.word.text.starts_with('-') => is(value),
            _ => match (short(), item.value) {
                (Some(value), _) => is(value),
                (None, Some(value)) => match value.openness {
                    Openness::Constant => to_held(glob(wanted, &value.path())).max(path(value)),
                    _ if value.home => path(value),
                    _ if !value.spreads() && !meeting::may_be(&format!("{}*", value.beginning()), wanted) => Held::No,
                    _ => Held::Doubt("a value that isn't constant"),
                },
                (None, None) => Held::No,
            },
        }
    }

    /// An option that isn't constant: `--"$x"`, `--for$(…)`.
    fn could_be(&self, item: &Item) -> Held {
        let beginning = item.word.beginning();
        if let Some((name, _)) = beginning.split_once('=')
            && (beginning.starts_with("--") || item.row.is_some_and(|row| row.style == Style::Go))
        {
            return to_held(self.is(name, item.row)).min(Held::Yes);
        }
        if self.is(beginning, item.row) && beginning.len() > 1 && beginning != "--" {
            return Held::Yes;
        }
        let long = beginning.starts_with("--");
        let fits = self
            .names
            .iter()
            .any(|name| name.trim_end_matches('*').starts_with(beginning) || !long && !name.starts_with("--"));
        if fits || item.word.spreads() { Held::Doubt("an option that is computed") } else { Held::No }
    }
}

fn to_held(holds: bool) -> Held {
    if holds { Held::Yes } else { Held::No }
}

/// Whether a word is the option of that name, in any spelling that the program takes.
pub(super) fn denotes(word: &str, name: &str, row: Option<&Row>) -> bool {
    glob(name, word) || is_spelling_of(word, name, row)
}

/// Whether it is the option in another spelling than its full name.
fn is_spelling_of(word: &str, name: &str, row: Option<&Row>) -> bool {
    let style = row.map(|row| row.style);
    let (bare, has_value) = word.split_once('=').map_or((word, false), |(bare, _)| (bare, true));
    if style == Some(Style::Go) {
        return glob(name.trim_start_matches('-'), bare.trim_start_matches('-'));
    }
    if word.starts_with("--") {
        if has_value && glob(name, bare) {
            return true;
        }
        let abbreviates = bare.len() > 2 && name.starts_with("--") && name.trim_end_matches('*').starts_with(bare);
        let is_another = |row: &Row| row.option(bare).is_some();
        return abbreviates && row.is_some_and(|row| row.abbreviates() && !is_another(row));
    }
    letter_of(word, name, row).is_some()
}

/// A glob over one word: `*` is any text.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    // Asked for each option of each command, and most differ in their first letters.
    let (signs, bytes) = (pattern.as_bytes(), text.as_bytes());
    let mut at = 0;
    while let (Some(sign), Some(byte)) = (signs.get(at), bytes.get(at))
        && sign == byte
        && *sign != b'*'
    {
        at += 1;
    }
    match &signs[at..] {
        [] => return at == bytes.len(),
        [b'*'] => return true,
        [b'*', ..] => {}
        _ => return false,
    }
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

fn may_run_what_flows_in(name: &str) -> bool {
    programs::is_shell(name) || matches!(name, "eval" | "." | "source" | "at" | "batch")
}

/// Whether a command runs what flows into it as a shell does.
fn runs_what_flows_in(command: &Command) -> bool {
    let Some(head) = command.words.first() else { return false };
    match base_name(&head.text) {
        name if !may_run_what_flows_in(name) => false,
        "eval" => true,
        "." | "source" => {
            let is_input = |file: &Word| file.text.starts_with("/dev/") || file.text.starts_with("/proc/");
            command.words.get(1).is_some_and(is_input)
        }
        // They keep it for a shell.
        "at" | "batch" => {
            !command.words.iter().any(|word| matches!(word.text.as_str(), "-f" | "-l" | "-r" | "-d" | "-c"))
        }
        _ => reads_its_input(&command.words),
    }
}

/// Whether a shell reads its commands from its input, or is given a text or a file that isn't constant.
fn reads_its_input(words: &[Word]) -> bool {
    if running::only_looks(words) {
        return false;
    }
    let read = match running::words_of_shell(words) {
        Ok(Some(read)) => read,
        Ok(None) => return true,
        Err(_) => return !words.iter().all(Word::is_constant),
    };
    match words.get(read.at).filter(|_| !read.from_input).map(Word::as_constant) {
        Some(Some(text)) => !read.command && (text.starts_with("/dev/") || text.starts_with("/proc/")),
        Some(None) | None => true,
    }
}

/// Whether some command of the text matches one of `rules` and isn't covered by `unless`.
pub fn hits(rules: &[&CommandRule], unless: &[&CommandRule], script: &Script, place: &Place) -> Judgement {
    let mut matching = Vec::new();
    let mut doubt: Option<Doubt> = None;
    for rule in rules {
        let Some(stage) = rule.stage() else {
            for at in pipe_hits(&rule.stages, script, &mut doubt) {
                if !matching.contains(&at) {
                    matching.push(at);
                }
            }
            continue;
        };
        let judge = || script.commands.iter().map(|command| stage.hits(command, false)).collect();
        let held = script.judged.by(rule.id, judge);
        let names_path = stage.names_path();
        for (at, (command, held)) in script.commands.iter().zip(&*held).enumerate() {
            // Where the text runs is another place in another event.
            let from_here = || match names_path && *held != Held::Yes {
                true => path::from_here(command, place).map(|command| stage.hits(&command, false)),
                false => None,
            };
            match from_here().map_or(*held, |other| other.max(*held)) {
                Held::No => {}
                _ if is_excepted(unless, command, place) => {}
                Held::Yes if matching.contains(&at) => {}
                Held::Yes => matching.push(at),
                Held::Doubt(why) => {
                    doubt.get_or_insert(Doubt { why, at: command.span.clone() });
                }
            }
        }
    }
    if !matching.is_empty() {
        return Judgement::Yes(matching);
    }
    if let Some(doubt) = doubt {
        return Judgement::Doubt(doubt);
    }
    if let Some(gap) = script.gaps.first() {
        return Judgement::Doubt(gap.clone());
    }
    let Some(unseen) = &script.unseen else { return Judgement::No };
    for rule in rules.iter().filter(|_| script.runs_constants) {
        let Some((stage, later)) = rule.stages.split_first() else { continue };
        if let Some(at) = named_somewhere(stage, later, unless, script, place) {
            return Judgement::Doubt(Doubt {
                why: "code that the text doesn't show may run, and this names what the rule names",
                at,
            });
        }
    }
    Judgement::Delegates(unseen.clone())
}

/// Where a constant names what the pattern names, if it may end up as code.
fn named_somewhere(
    stage: &Stage,
    later: &[Stage],
    unless: &[&CommandRule],
    script: &Script,
    place: &Place,
) -> Option<Span> {
    // What `kubectl exec x -- curl` prints reaches no shell if no word of the text could be one.
    let is_end = |c: char| !(c.is_alphanumeric() || "_-.+".contains(c));
    let may_start = |word: &Word, next: &Stage| {
        let is_next = |name: &str| match next.program.as_str() {
            "sh" => programs::is_shell(name) || matches!(name, "eval" | "source" | "."),
            program => program.contains('*') || name == program,
        };
        !word.is_constant() || word.text.split(is_end).any(is_next)
    };
    let words = || script.commands.iter().flat_map(|command| &command.words);
    let flows_on = later.iter().all(|next| words().any(|word| may_start(word, next)));
    let beside = given_to_code(script);
    let builds_code = script.commands.iter().any(|command| command.builds_code);
    let is_named = |text: &str| stage.is_named_in(text, beside.as_deref()) || builds_code && stage.is_built_in(text);
    let is_named_in =
        |text: &str| is_named(text) && (unless.is_empty() || is_named(&without_excepted(text, unless, place)));
    for (text, at) in &script.texts {
        if is_named_in(text) {
            return Some(at.clone());
        }
    }
    for path in &script.scripts {
        if let Some(text) = place.files.and_then(|files| files(path))
            && is_named_in(&text)
        {
            return Some(script.unseen.as_ref().map_or(0..0, |gap| gap.at.clone()));
        }
    }
    for command in &script.commands {
        if command.data {
            continue;
        }
        if !command.shell_text
            && command.words.iter().skip(1).any(|word| {
                word.text.len() > stage.program.len()
                    && word.text.contains([' ', '\n', '\t', '"', '('])
                    && (stage.is_named_in(&word.text, beside.as_deref())
                        || command.builds_code && stage.is_built_in(&word.text))
            })
        {
            return Some(command.span.clone());
        }
        // `src/*` is what it works on, `/usr/bin/gi?` may be the program.
        let may_be_found = |word: &Word| {
            let name = base_name(&word.text);
            name.contains(|c: char| c.is_ascii_alphanumeric()) && meeting::may_be(name, &stage.program)
        };
        // A copy of the program under another name; `$(which git)` is where it is.
        let head = command.words.first().map(|head| base_name(&head.text)).unwrap_or_default();
        let is_the_program = |word: &Word| match word.openness {
            Openness::Computed(..) => named_at(&word.text, &stage.program).next().is_some(),
            Openness::Files(_) => may_be_found(word),
            _ => word.text.contains('/') && base_name(&word.text) == stage.program,
        };
        if matches!(head, "cp" | "ln" | "mv" | "install" | "dd" | "rsync" | "scp")
            && command.words.iter().skip(1).any(is_the_program)
        {
            return Some(command.span.clone());
        }
        // An unknown program that is given a command line may run it, and a known one what follows `--`.
        let starts = match command.runs_words {
            true => 1..command.words.len(),
            false => {
                let end = command.words.iter().position(|word| word.text == "--");
                end.map_or(0..0, |end| end + 1..command.words.len().min(end + 2))
            }
        };
        let may_start = |word: &Word| {
            (!matches!(word.openness, Openness::Files(_)) || may_be_found(word)) && stage.may_begin_with(word, false)
        };
        let starts = starts.filter(|at| !stage.program.contains('*') && flows_on && may_start(&command.words[*at]));
        for (n_asked, at) in starts.enumerate() {
            if n_asked >= MAX_STARTS || stage.hits(&command.from(at), false) != Held::No {
                return Some(command.span.clone());
            }
        }
    }
    None
}

/// So many words of a command may each begin one that a rule is about; with more, one is taken to do it.
const MAX_STARTS: usize = 64;

/// So much code is looked through for words that could be put together; in more, any may be.
const MAX_CODE: usize = 64 * 1024;

/// The constants that code of a text may be given: values, what it reads, and the words of what may run code. Nothing if
/// they are too many to look through.
fn given_to_code(script: &Script) -> Option<Vec<&str>> {
    let runs_code = |command: &&Command| {
        let name = command.words.first().map_or("", |head| base_name(&head.text));
        !programs::runs(name).has("data") && !programs::runs(name).has("files")
    };
    let words = script.commands.iter().filter(runs_code).flat_map(|command| command.words.iter().skip(1));
    let texts = script.texts.iter().map(|(text, _)| text.as_str()).chain(words.map(|word| word.text.as_str()));
    let texts: Vec<&str> = texts.collect();
    (texts.iter().map(|text| text.len()).sum::<usize>() <= MAX_CODE).then_some(texts)
}

/// A text that may run, without the commands in it that an exception takes away wherever they run: a Dockerfile without
/// its `rm -rf /var/lib/apt/lists/*`. A text that isn't all read as a shell's keeps them.
fn without_excepted(text: &str, unless: &[&CommandRule], place: &Place) -> String {
    // A Dockerfile's RUN stands before the words of a command.
    let script = super::read(&text.replace("\nRUN ", "\n    "), super::Shell::Posix);
    if !script.names_all() {
        return text.to_string();
    }
    // Where it runs isn't known.
    let is_anywhere = |word: &Word| !word.home && word.beginning().starts_with(['-', '/']);
    let is_taken =
        |command: &&Command| command.words.iter().skip(1).all(is_anywhere) && is_excepted(unless, command, place);
    let (taken, others): (Vec<&Command>, Vec<&Command>) =
        script.commands.iter().filter(|command| !command.is_transparent()).partition(is_taken);
    let mut rest = text.as_bytes().to_vec();
    for command in &taken {
        if let Some(own) = rest.get_mut(command.span.clone()) {
            own.fill(b' ');
        }
    }
    // Those of one text for a shell stand in one place.
    for command in others {
        // Of a wrapper its name stays: what it runs is a command of its own.
        let head = command.words.first().filter(|head| programs::wrapper_of(&head.text, &command.words).is_some());
        let name = head.and_then(|head| head.span.clone());
        let is_within = taken.iter().any(|it| it.span == command.span);
        let span = name.filter(|_| is_within).unwrap_or_else(|| command.span.clone());
        if let (Some(own), Some(text)) = (rest.get_mut(span.clone()), text.as_bytes().get(span)) {
            own.copy_from_slice(text);
        }
    }
    String::from_utf8(rest).unwrap_or_else(|_| text.to_string())
}

fn pipe_hits(stages: &[Stage], script: &Script, doubt: &mut Option<Doubt>) -> Vec<usize> {
    let mut found = Vec::new();
    for flow in &script.flows {
        // Each stage of the rule in a later part of the flow than the one before.
        let mut from = 0;
        let mut held = Held::Yes;
        let mut first = None;
        for stage in stages {
            let mut best = (Held::No, 0, 0);
            for (at, range) in flow.iter().enumerate().skip(from) {
                for index in range.clone() {
                    let Some(command) = script.commands.get(index) else { continue };
                    let this = match stage.hits(command, true) {
                        Held::No if at > 0 && stage.may_be_run_by(command) => Held::Doubt("a program that may run it"),
                        held => held,
                    };
                    if this > best.0 {
                        best = (this, at, index);
                    }
                }
                if best.0 == Held::Yes {
                    break;
                }
            }
            held = held.min(best.0);
            if best.0 == Held::No {
                break;
            }
            first.get_or_insert(best.2);
            from = best.1 + 1;
        }
        match (held, first) {
            (Held::Yes, Some(at)) => found.push(at),
            (Held::Doubt(why), Some(at)) => {
                doubt.get_or_insert(Doubt { why, at: script.commands[at].span.clone() });
            }
            _ => {}
        }
    }
    found
}

/// Whether an exception takes a command away from what other rules hit.
pub fn excepts(rule: &CommandRule, command: &Command, place: &Place) -> bool {
    is_excepted(&[rule], command, place)
}

fn is_excepted(unless: &[&CommandRule], command: &Command, place: &Place) -> bool {
    // No rule names a redirection to a file or an assignment.
    let is_covered = |command: &Command| {
        unless.iter().filter_map(|rule| rule.stage()).any(|stage| stage.covers(command, place) == Held::Yes)
    };
    !command.writes()
        && !command.assigns
        && !unless.is_empty()
        && (is_covered(command)
            || one_by_one(command).is_some_and(|each| each.iter().all(is_covered))
            || options_behind(command).is_some_and(|command| is_covered(&command)))
}

/// `kubectl -n x apply` is `kubectl apply -n x`: the same command with its first options behind the sub-command, if its
/// program takes them there, and without those of git that only say how it prints.
fn options_behind(command: &Command) -> Option<Command> {
    let (head, words) = command.words.split_first()?;
    let name = base_name(head.as_constant()?);
    let row = options::row(name).filter(|row| row.deep || name == "git")?;
    let parsed = Reading::new(words, Some(row), &[], &command.directories);
    let verb = parsed.operands.first()?;
    let (before, behind) = words.split_at(words.iter().position(|word| std::ptr::eq(word, verb.word))?);
    let is_of_printing = |word: &Word| matches!(word.as_constant(), Some("--no-pager" | "-P" | "--no-optional-locks"));
    let before = match name {
        "git" if before.iter().all(is_of_printing) => &[],
        "git" => return None,
        _ => before,
    };
    let (verb, rest) = behind.split_first().filter(|_| !verb.unsure && behind.len() < command.words.len() - 1)?;
    Some(command.with([head, verb].into_iter().chain(before).chain(rest).cloned().collect()))
}

/// `rm a b` is `rm a` and `rm b`: the same command for each of its operands, if its program takes them so.
fn one_by_one(command: &Command) -> Option<Vec<Command>> {
    const MOST: usize = 64;
    let name = command.words.first().and_then(Word::as_constant)?;
    let row = options::row(base_name(name)).filter(|row| row.habits.has("each"))?;
    let parsed = Reading::new(&command.words[1..], Some(row), &[], &command.directories);
    let count = parsed.operands.len();
    if !(2..=MOST).contains(&count) || parsed.open.is_some() || parsed.operands.iter().any(|item| item.unsure) {
        return None;
    }
    let is_operand = |word: &Word| parsed.operands.iter().any(|item| std::ptr::eq(item.word, word));
    let with = |item: &Item| {
        let words = command.words.iter().filter(|word| std::ptr::eq(*word, item.word) || !is_operand(word));
        command.with(words.cloned().collect())
    };
    Some(parsed.operands.iter().map(with).collect())
}

/// Whether every command of the text is certain and covered by one of `rules`, and none is hit by `unless`.
pub fn covers(rules: &[&CommandRule], unless: &[&CommandRule], script: &Script, place: &Place) -> Judgement {
    if !unless.is_empty() {
        match hits(unless, &[], script, place) {
            Judgement::No | Judgement::Delegates(_) => {}
            Judgement::Doubt(doubt) => return Judgement::Doubt(doubt),
            Judgement::Yes(_) => return Judgement::No,
        }
        // Paths are the same however they are written: `cd /etc; cat x` is `cat /etc/x`.
        let is_named = |command: &Command| {
            unless.iter().filter_map(|rule| rule.stage()).any(|stage| stage.covers(command, place) != Held::No)
        };
        if script.commands.iter().any(is_named) {
            return Judgement::No;
        }
    }
    if rules.iter().filter_map(|rule| rule.stage()).any(Stage::is_everything) {
        return Judgement::Yes((0..script.commands.len()).collect());
    }
    if let Some(gap) = script.gaps.first() {
        return Judgement::Doubt(gap.clone());
    }
    if script.commands.is_empty() {
        return Judgement::No;
    }
    // What follows a pipe reads what a command writes that a rule names.
    let piped: Vec<usize> = script.flows.iter().flat_map(|flow| flow.iter().skip(1).cloned().flatten()).collect();
    // That may look at the disk.
    let may_write: Vec<bool> = script.commands.iter().map(|command| path::may_write(command, place)).collect();
    let is_beside = |at: usize, command: &Command| {
        let is_plain = may_write[at] && !command.assigns;
        let is_filter = || piped.contains(&at) && running::is_filter(&command.words);
        // Where no command is, what is written is all that is done.
        is_plain && (command.words.is_empty() || running::only_prints(&command.words) || is_filter())
    };
    if (0..).zip(&script.commands).all(|(at, command)| is_beside(at, command)) {
        // Alone it is what the call is about.
        return covers_each(rules, script, place, &may_write, &|_, _| false);
    }
    covers_each(rules, script, place, &may_write, &is_beside)
}

/// Whether some rule covers each command, but for those that need none.
fn covers_each(
    rules: &[&CommandRule],
    script: &Script,
    place: &Place,
    may_write: &[bool],
    needs_none: &dyn Fn(usize, &Command) -> bool,
) -> Judgement {
    for (at, command) in script.commands.iter().enumerate() {
        if needs_none(at, command) || is_named_by_wrapper(rules, &script.commands[..at], command, place) {
            continue;
        }
        // A shell that is given a text is what the text does.
        let is_all_named = may_write[at] && !command.assigns;
        if command.role == Role::Transparent && script.commands.len() > 1 && is_all_named {
            continue;
        }
        let covered = rules.iter().filter_map(|rule| rule.stage()).map(|stage| stage.covers(command, place));
        // No rule over commands names a redirection to a file or an assignment.
        match covered.max() {
            Some(Held::Yes | Held::Doubt(_)) if !is_all_named => return Judgement::No,
            Some(Held::Yes) => {}
            Some(Held::Doubt(why)) => return Judgement::Doubt(Doubt { why, at: command.span.clone() }),
            Some(Held::No) | None => return Judgement::No,
        }
    }
    if let Some(gap) = &script.beside {
        return Judgement::Doubt(gap.clone());
    }
    Judgement::Yes((0..script.commands.len()).collect())
}

/// Whether a rule covers the wrapper of a command and names the command too, as `npx eslint *` does `eslint`.
fn is_named_by_wrapper(rules: &[&CommandRule], before: &[Command], command: &Command, place: &Place) -> bool {
    let Some(name) = command.words.first().and_then(Word::as_constant) else { return false };
    let is_same = |(one, other): (&Word, &Word)| one.text == other.text && one.openness == other.openness;
    let wraps = |wrapper: &&Command| {
        let skipped = wrapper.words.len().saturating_sub(command.words.len());
        skipped > 0 && wrapper.span == command.span && wrapper.words[skipped..].iter().zip(&command.words).all(is_same)
    };
    let is_name = |word: &String| word != "*" && glob(word, name);
    let names = |stage: &Stage| {
        let is_whole = stage.leading.is_empty() && programs::is_interpreter(&stage.program);
        is_whole || stage.leading.iter().any(is_name) || stage.operands.iter().any(|operand| is_name(&operand.glob))
    };
    // What the wrapper's rule says nothing of.
    if running::has_code_options(base_name(name), &command.words) {
        return false;
    }
    before.iter().filter(wraps).any(|wrapper| {
        let covers = |stage: &Stage| names(stage) && stage.covers(wrapper, place) == Held::Yes;
        rules.iter().filter_map(|rule| rule.stage()).any(covers)
    })
}
