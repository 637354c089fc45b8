//! Whether a word of a command is an option or an operand of a rule.

use super::super::programs::parsed::{Given, takes_value};
use super::super::word::SCRATCH;
use super::*;
use std::ops::Range;

impl OptionPattern {
    /// Whether a constant word is this option.
    pub(super) fn is(&self, word: &str, row: Option<&Row>) -> bool {
        // Most are written in full.
        self.names.iter().any(|name| glob(name, word))
            || self
                .names
                .iter()
                .any(|name| is_spelling_of(word, name, row))
    }
}

impl Operand {
    pub(super) fn could_be_item(&self, item: &Item, directories: &Directories) -> Held {
        // A variable behind what has no sub-commands: `docker logs $X`.
        if self.verb
            && item.leaf
            && matches!(item.word.openness, Openness::Operand(_))
            && self.glob != "*"
        {
            return Held::No;
        }
        if self.is_head(item.word) {
            return Held::Yes;
        }
        let is_perhaps =
            item.names.is_empty() && item.perhaps.iter().any(|name| glob(&self.glob, name));
        let mut held = self.could_be(item.word, item.names);
        if let Some(pattern) = self
            .path
            .as_deref()
            .filter(|_| held != Held::Yes && !self.verb)
            && (self.is_path() || path::is_written_as_path(item.word))
        {
            held = held.max(path::could_be(pattern, item.word, directories));
        }
        if is_perhaps {
            held.max(Held::Doubt("a sub-command that may be short for another"))
        } else {
            held
        }
    }

    pub(super) fn could_be(&self, word: &Word, names: &[&'static str]) -> Held {
        // `publish*` means the command by its main name, however it is spelt.
        let is_glob_of =
            || self.glob.contains('*') && names.first().is_some_and(|name| glob(&self.glob, name));
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
                    // Who names a file or a branch by a variable doesn't mean a directory, nor
                    // git's signs for all.
                    Openness::Operand(0) if is_directory || self.glob.starts_with(':') => false,
                    Openness::Files(_) if self.glob.starts_with(':') => word.text.starts_with(':'),
                    // `*.c` isn't the directory either.
                    Openness::Files(_)
                        if is_directory && !word.text.contains(['$', '…', '{', '/']) =>
                    {
                        meeting::may_be(&word.text, self.glob.trim_end_matches('/'))
                    }
                    // A variable's value ends a word that is something else: `feature/$N` isn't
                    // `*:main`.
                    Openness::Operand(1..) if literal.is_empty() && self.glob != "*" => {
                        glob(&self.glob, &word.text)
                    }
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
    pub(super) fn spans(&self) -> bool {
        !self.verb && self.glob.len() > 1 && self.glob.starts_with('*')
    }

    /// `gcloud * delete`: a `*` for one sub-command or several.
    pub(super) fn is_any_verb(&self) -> bool {
        self.verb && self.glob == "*"
    }

    /// `*DROP*`, which an option may be given too.
    pub(super) fn is_within(&self, option: &Item) -> bool {
        let is_it = |word: &Word| {
            word.as_constant()
                .is_some_and(|text| glob(&self.glob, text))
        };
        self.spans()
            && self.glob.ends_with('*')
            && (is_it(option.word) || option.value.is_some_and(is_it))
    }

    pub(super) fn is_path(&self) -> bool {
        path::is_path(&self.glob)
    }

    /// For covers: certain, and as a path where the pattern is one.
    pub(super) fn is(&self, item: &Item, command: &Command, place: &Place) -> bool {
        let word = item.word;
        if self.names.iter().any(|name| item.names.contains(name)) {
            return true;
        }
        if self.glob == SCRATCH {
            return word.is_scratch();
        }
        if self.is_path() {
            // `feature/x:main` is two names.
            if word.text.contains(':') && !self.glob.contains(':') {
                return false;
            }
            return !command.relinked
                && path::is_within(&self.glob, word, &command.directories, place);
        }
        if self.glob == "*" {
            return !matches!(word.openness, Openness::Computed(_, true));
        }
        word.as_constant()
            .is_some_and(|text| glob(&self.glob, text))
            || self.is_head(word)
    }

    /// `build*`
    pub(super) fn begins_file(&self) -> bool {
        self.is_beginning && !self.glob.starts_with('*') && !self.is_path()
    }

    /// Whether a word is a path that begins so where its command runs.
    pub(super) fn is_beginning_of(&self, word: &Word, command: &Command, place: &Place) -> bool {
        let inside = format!("{}/**", self.glob);
        let is_within = |pattern: &str| path::is_within(pattern, word, &command.directories, place);
        !command.relinked && (is_within(&self.glob) || is_within(&inside))
    }

    /// Whether a word is what the pattern calls HEAD, by the name of its branch.
    pub(super) fn is_head(&self, word: &Word) -> bool {
        self.glob == "HEAD" && word.is_branch()
    }
}

/// A command's words, told apart, and where it runs.
pub(super) struct Reading<'c> {
    pub(super) words: Parsed<'c>,
    pub(super) directories: &'c Directories,
}

impl<'c> std::ops::Deref for Reading<'c> {
    type Target = Parsed<'c>;

    fn deref(&self) -> &Parsed<'c> {
        &self.words
    }
}

impl<'c> Reading<'c> {
    pub(super) fn new(
        words: &'c [Word],
        row: Option<&'static Row>,
        wanted: &[Operand],
        directories: &'c Directories,
    ) -> Reading<'c> {
        let child_of = |parent: &'static Row, depth: usize, item: &Item| {
            let wanted = wanted
                .get(depth)
                .filter(|it| it.could_be_item(item, directories) != Held::No)?;
            Some(parent.child(&wanted.glob))
        };
        Reading {
            words: Parsed::wanting(words, row, &child_of),
            directories,
        }
    }

    pub(super) fn has(&self, option: &OptionPattern) -> Held {
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
        for item in self
            .operands
            .iter()
            .filter(|item| item.word.openness.from() == Some(0))
        {
            let behind = behind_expansions(&item.word.text);
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
                    let behind = behind_expansions(&item.word.text);
                    if behind.starts_with('+') && glob(glob_text, behind) {
                        held = held.max(Held::Doubt(
                            "an operand behind a variable that may be empty",
                        ));
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
    /// Whether an option is there and may be taken back: `--dry-run=false`, `--no-dry-run`, or a
    /// word that only the run tells.
    pub(super) fn takes_back(&self, option: &OptionPattern, adds_up: bool) -> bool {
        let first = self
            .options
            .iter()
            .position(|item| option.is(&item.word.text, item.row));
        let is_negated = |item: &Item| {
            let text = item.word.text.as_str();
            let (name, value) = text
                .split_once('=')
                .map_or((text, None), |(name, value)| (name, Some(value)));
            let is_no = |value: &str| NO.iter().any(|no| value.eq_ignore_ascii_case(no));
            // Git takes beginnings of it, as `--no-dry`.
            let opposes = |ours: &String| {
                let no = name
                    .strip_prefix("--no-")
                    .or(name.strip_prefix("--no"))
                    .filter(|no| !no.is_empty());
                no.is_some_and(|no| {
                    ours.strip_prefix("--")
                        .is_some_and(|ours| ours.starts_with(no))
                })
            };
            // `--dry-run false`: some programs take it for the value.
            let is_apart = || {
                self.operands
                    .iter()
                    .any(|operand| operand.word.text == "false")
            };
            let is_another = || match option.value {
                None => {
                    value.is_some_and(|value| {
                        is_no(value) || item.word.openness != Openness::Constant
                    }) || is_apart()
                }
                // The last one of several counts, or the first if all of them do.
                Some(_) => {
                    let is_first =
                        || first.is_some_and(|first| std::ptr::eq(&self.options[first], item));
                    option.value_fits(item, self.directories) != Held::Yes
                        && (!adds_up || is_first())
                }
            };
            option.names.iter().any(opposes) || option.is(name, item.row) && is_another()
        };
        self.open.is_some() || self.options.iter().any(is_negated)
    }
}

impl OptionPattern {
    pub(super) fn new(written: String, names: Vec<String>) -> OptionPattern {
        OptionPattern {
            written,
            names,
            operands: Vec::new(),
            together: Vec::new(),
            value: None,
        }
    }

    pub(super) fn value_fits(&self, item: &Item, directories: &Directories) -> Held {
        let Some(wanted) = &self.value else {
            return Held::Yes;
        };
        let pattern = if path::is_path(wanted) {
            path::tidied_pattern(wanted)
        } else {
            None
        };
        let path = |value: &Word| match &pattern {
            Some(pattern) => path::could_be(pattern, value, directories),
            None => Held::No,
        };
        let attached = item.word.text.split_once('=').map(|(_, value)| value);
        let short = || {
            let letter = self
                .names
                .iter()
                .find(|name| name.len() == 2)
                .map(|name| &name[1..])?;
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
                    _ if !value.spreads()
                        && !meeting::may_be(&format!("{}*", value.beginning()), wanted) =>
                    {
                        Held::No
                    }
                    _ => Held::Doubt("a value that isn't constant"),
                },
                (None, None) => Held::No,
            },
        }
    }

    /// For covers: that a value which the pattern has as a path stays there.
    pub(super) fn stays(&self, item: &Item, command: &Command, place: &Place) -> bool {
        let Some(wanted) = self.value.as_deref().filter(|wanted| path::is_path(wanted)) else {
            return true;
        };
        let is_own = |given: &Given| {
            given
                .option
                .names
                .iter()
                .any(|name| self.names.iter().any(|own| own == name))
        };
        let given = item.given();
        let value = given
            .iter()
            .find(|given| is_own(given))
            .and_then(|given| given.value.clone());
        !command.relinked
            && value
                .is_some_and(|value| path::is_within(wanted, &value, &command.directories, place))
    }

    /// An option that isn't constant: `--"$x"`, `--for$(…)`.
    pub(super) fn could_be(&self, item: &Item) -> Held {
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
        let fits = self.names.iter().any(|name| {
            name.trim_end_matches('*').starts_with(beginning) || !long && !name.starts_with("--")
        });
        if fits || item.word.spreads() {
            Held::Doubt("an option that is computed")
        } else {
            Held::No
        }
    }
}

/// Every name of an option: those of the table, and the one as written.
pub(super) fn spellings(name: &str, row: Option<&Row>) -> Vec<String> {
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
pub(super) fn part_of(word: &str, name: &str, row: Option<&Row>) -> Option<(Range<usize>, bool)> {
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
    Some((
        if is_alone { 0 } else { letter.start }..letter.end,
        takes && letter.end < word.len(),
    ))
}

/// Where a cluster has the letter of an option, and whether that takes a value.
fn letter_of(word: &str, name: &str, row: Option<&Row>) -> Option<(Range<usize>, bool)> {
    let letter = name
        .strip_prefix('-')
        .filter(|letter| letter.chars().count() == 1 && *letter != "-")?;
    let row = row.filter(|row| row.clusters() && word.starts_with('-'))?;
    for (at, c) in word.char_indices().skip(1) {
        let takes = row
            .option(&format_compact!("-{c}"))
            .is_some_and(|option| option.value != Takes::Nothing);
        if letter.starts_with(c) {
            return Some((at..at + c.len_utf8(), takes));
        }
        if takes {
            return None;
        }
    }
    None
}

/// Whether a word is the option of that name, in any spelling that the program takes.
pub(in super::super) fn denotes(word: &str, name: &str, row: Option<&Row>) -> bool {
    glob(name, word) || is_spelling_of(word, name, row)
}

/// Whether it is the option in another spelling than its full name.
fn is_spelling_of(word: &str, name: &str, row: Option<&Row>) -> bool {
    let style = row.map(|row| row.style);
    let (bare, has_value) = word
        .split_once('=')
        .map_or((word, false), |(bare, _)| (bare, true));
    if style == Some(Style::Go) {
        return glob(name.trim_start_matches('-'), bare.trim_start_matches('-'));
    }
    if word.starts_with("--") {
        if has_value && glob(name, bare) {
            return true;
        }
        let abbreviates = bare.len() > 2
            && name.starts_with("--")
            && name.trim_end_matches('*').starts_with(bare);
        let is_another = |row: &Row| row.option(bare).is_some();
        return abbreviates && row.is_some_and(|row| row.abbreviates() && !is_another(row));
    }
    letter_of(word, name, row).is_some()
}
