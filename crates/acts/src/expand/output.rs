//! What commands print, where the text says so: a substitution's value, what a pipe passes on.

use super::super::Shell;
use super::super::grammar::{
    Assign, Change, List, Node, Part, Pipeline, Redirect, RedirectKind, Stage, Tilde,
    Word as Written,
};
use super::super::names::base_name;
use super::super::programs::options::Column;
use super::super::programs::parsed::{Given, Item};
use super::super::programs::{self, Parsed, running};
use super::super::word::{Openness, SCRATCH, Word};
use super::{
    Resolved, Variables, begins_option_if_cut, edit_of, is_positional, is_short_constant,
    is_variable, puts_in_more_than_a_name,
};
use compact_str::format_compact;

/// What a list of commands prints.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Output {
    /// This text.
    Constant(String),
    /// This text, or nothing where the command fails.
    Perhaps(String),
    /// Something that is no option and no program's text: paths, names, numbers.
    Operands,
    /// The branch that is checked out.
    Branch,
    /// The working directory.
    Directory,
    /// A file or a directory that `mktemp` makes, or nothing where it fails.
    Scratch,
    Anything,
}

/// What is known where the commands run.
#[derive(Clone, Copy)]
pub(in super::super) struct Known<'k> {
    pub(in super::super) shell: Shell,
    pub(in super::super) variables: &'k Variables,
    /// The values that a name may have; none if the text doesn't set it.
    pub(in super::super) values: &'k dyn Fn(&str) -> Vec<Resolved>,
}

/// Whether a command prints nothing but paths, names and numbers, which are no options of what they
/// are given to.
pub(in super::super) fn are_operands(words: &[Word]) -> bool {
    let Some((head, args)) = words.split_first() else {
        return false;
    };
    let Some(name) = program(head) else {
        return false;
    };
    if name == "ls" {
        return lists_names(args);
    }
    let Some(row) = programs::options::any_row(name) else {
        return false;
    };
    let parsed = Parsed::new(args, Some(row));
    parsed
        .rows
        .last()
        .is_some_and(|row| prints_operands(row.prints, &parsed))
}

/// Whether a command holds nothing but what its row's column of what it prints names.
fn prints_operands(prints: Column, parsed: &Parsed) -> bool {
    if prints.is_empty()
        || !prints
            .of("if:")
            .all(|names| names.split('|').any(|name| parsed.has(name)))
    {
        return false;
    }
    if prints.has("all") {
        return true;
    }
    let takes = |item: &Item| {
        let given = item.given();
        let is_taken = |it: &Given| match (prints.sign(it.option), &it.value) {
            (None, _) => false,
            (Some(_), None) => item.word.is_constant(),
            (Some(sign), Some(value)) => is_harmless(value, sign),
        };
        (item.known || given.last().is_some_and(|it| it.value.is_some()))
            && given.iter().all(is_taken)
    };
    let sign = if prints.has("given") { ":" } else { "" };
    // Nothing says that what is computed is no option.
    let is_operand = |item: &Item| {
        let is_one_of = |all: &str| {
            item.word
                .as_constant()
                .is_some_and(|text| all.split('|').any(|it| it == text))
        };
        !matches!(item.word.openness, Openness::Computed(0, _))
            && is_harmless(item.word, sign)
            && prints.of("of:").next().is_none_or(is_one_of)
    };
    parsed.options.iter().all(takes)
        && parsed
            .operands
            .iter()
            .filter(|item| item.names.is_empty())
            .all(is_operand)
}

/// Whether a text begins as the path of a file does that is no option.
fn begins_path(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_'))
}

/// Whether `ls` is given patterns of files that begin otherwise than an option, and no more than
/// their names are asked for: with `-l`, a line begins with a file's rights, and of a directory
/// without `-d` it lists what is in it.
fn lists_names(args: &[Word]) -> bool {
    let is_letters = |word: &str| {
        word.bytes()
            .skip(1)
            .all(|letter| b"1adtrSUvX".contains(&letter))
    };
    // As everywhere, `*.log` is no option unless the text makes such a file.
    let begins = |text: &str| begins_path(text) || text.starts_with("*.");
    let is_plain = |word: &Word| match word.text.strip_prefix('-') {
        Some(letters) => word.is_constant() && !letters.is_empty() && is_letters(&word.text),
        None => {
            !matches!(word.openness, Openness::Computed(..))
                && word.text.contains('*')
                && begins(&word.text)
        }
    };
    args.iter().any(|word| !word.text.starts_with('-')) && args.iter().all(is_plain)
}

/// The name of a program that isn't one of the project's own.
fn program(head: &Word) -> Option<&str> {
    head.as_constant()
        .filter(|path| !path.contains('/') || programs::is_system_path(path))
        .map(base_name)
}

/// Whether a redirection takes nothing but errors away: `2>&1` has them printed, and they repeat
/// arguments.
fn is_of_errors(redirect: &Redirect) -> bool {
    redirect.fd == Some(2) && matches!(redirect.kind, RedirectKind::Write(_))
}

/// Whether what a redirection opens is always there.
fn cannot_fail(redirect: &Redirect) -> bool {
    match &redirect.kind {
        RedirectKind::Read(word) | RedirectKind::Write(word) => word.plain() == Some("/dev/null"),
        _ => false,
    }
}

/// Whether an operand or a value, if it is printed, can't make an option of what is.
fn is_harmless(word: &Word, sign: &str) -> bool {
    let is_printed = matches!(sign, ":" | "%");
    // The end of a path may begin with a dash: `%f`, `%P`.
    let prints_end = |text: &str| {
        let is_end = |it: &str| {
            it.trim_start_matches(|c: char| !c.is_alphabetic())
                .starts_with(['f', 'P'])
        };
        text.split('%').skip(1).any(is_end)
    };
    if sign == "%" && prints_end(&word.text) {
        return false;
    }
    match word.openness {
        Openness::Computed(_, true) => false,
        Openness::Computed(..) if is_printed => false,
        // What is printed may stand in a file: `-o jsonpath-file=f`.
        _ => !is_printed || begins_no_option(&word.text) && !word.text.contains("-file="),
    }
}

/// Whether no dash in a text, or in what a format like it prints, is the first sign of a word, and
/// no plus, with which git is forced.
fn begins_no_option(text: &str) -> bool {
    // The format of `date`.
    let text = text
        .strip_prefix('+')
        .filter(|format| format.starts_with('%'))
        .unwrap_or(text);
    // `\055` is a dash.
    if text
        .split('\\')
        .skip(1)
        .any(|escape| escape.starts_with(|c: char| c.is_alphanumeric() && !"nt0".contains(c)))
        || text.contains("\\0") && !text.ends_with("\\0")
    {
        return false;
    }
    let follows_word = |before: &str| {
        let is_blank = ["%n", "%t"].iter().any(|it| before.ends_with(it)) || before.contains('\\');
        !is_blank && before.ends_with(|c: char| c.is_alphanumeric() || "/._-%".contains(c))
    };
    // `%z` is a time zone, such as `+0100`.
    let mut signs = ["-", "+", "%z", "%:z", "%_z"]
        .into_iter()
        .flat_map(|sign| text.match_indices(sign));
    signs.all(|(at, _)| follows_word(&text[..at]))
}

/// The output of the commands in `$( … )`.
pub(in super::super) fn of(list: &List, known: Known<'_>) -> Output {
    let Some((last, rest)) = list.0.split_last() else {
        return Output::Anything;
    };
    // `git describe || echo v0`
    let is_operand = |it: &Pipeline| match of_stages(&it.stages, known) {
        Output::Operands | Output::Branch | Output::Directory | Output::Scratch => true,
        Output::Constant(text) | Output::Perhaps(text) => {
            !text.is_empty() && begins_no_option(&text)
        }
        Output::Anything => false,
    };
    if !rest.is_empty() && list.0.iter().all(is_operand) {
        // `mktemp -d || mktemp -d -t x`
        let is_scratch = |it: &Pipeline| of_stages(&it.stages, known) == Output::Scratch;
        return match list.0.iter().all(is_scratch) {
            true => Output::Scratch,
            false => Output::Operands,
        };
    }
    // `cd x && pwd`: the last one prints.
    let is_quiet = |it: &Pipeline| {
        matches!(&*it.stages, [stage]
            if matches!(&stage.node, Node::Simple { words, .. } if words.first().and_then(Written::plain) == Some("cd")))
    };
    if !rest.iter().all(is_quiet) || !rest.is_empty() && last.stages.len() != 1 {
        return Output::Anything;
    }
    match of_stages(&last.stages, known) {
        // Another one.
        Output::Directory if !rest.is_empty() => known
            .directory_after(rest)
            .map_or(Output::Operands, Output::Perhaps),
        Output::Constant(text) if !rest.is_empty() => Output::Perhaps(text),
        output => output,
    }
}

/// How a word stands that is a path that `find` prints: its name is behind it.
pub(in super::super) const FOUND: &str = "$(find …)";

/// The name or pattern that all paths end in that a list prints, if it is nothing but `find` by one
/// name.
pub(in super::super) fn found_name(list: &List) -> Option<&str> {
    let [pipeline] = list.0.as_slice() else {
        return None;
    };
    let (first, rest) = pipeline.stages.split_first()?;
    let words = |stage: &Stage| -> Option<Vec<Word>> {
        let Node::Simple { words, .. } = &stage.node else {
            return None;
        };
        words
            .iter()
            .map(|word| constant(word).map(Word::constant))
            .collect()
    };
    let Node::Simple { words: written, .. } = &first.node else {
        return None;
    };
    let texts: Vec<&str> = written
        .iter()
        .map(|word| constant(word).unwrap_or_default())
        .collect();
    let at = texts.iter().position(|text| *text == "-name")?;
    let prints_other = |text: &&str| matches!(*text, "-o" | "-or" | "!" | "-not" | "," | "-printf");
    let is_plain = texts[0] == "find"
        && !texts[at + 1..].contains(&"-name")
        && !texts.iter().any(prints_other);
    let passes = rest
        .iter()
        .all(|stage| words(stage).is_some_and(|words| running::passes_lines(&words)));
    texts
        .get(at + 1)
        .copied()
        .filter(|name| is_plain && passes && !name.is_empty() && !name.contains('/'))
}

/// What the last of several stages prints.
pub(in super::super) fn of_stages(stages: &[Stage], known: Known<'_>) -> Output {
    let mut stages = stages.iter();
    let Some(first) = stages.next() else {
        return Output::Anything;
    };
    stages.fold(known.of_first(first), |output, stage| {
        known.of_next(output, stage)
    })
}

/// How much there is to look at to tell what a list prints.
pub(in super::super) fn steps(list: &List) -> usize {
    list.0.len() + list.0.iter().map(|it| steps_of(&it.stages)).sum::<usize>()
}

pub(in super::super) fn steps_of(stages: &[Stage]) -> usize {
    let n_words = |stage: &Stage| match &stage.node {
        Node::Simple { words, .. } => words.len(),
        _ => 1,
    };
    stages.iter().map(n_words).sum()
}

impl Known<'_> {
    /// Where one `cd` leads that names a directory from the root, or the home.
    fn directory_after(self, commands: &[Pipeline]) -> Option<String> {
        let [Pipeline { stages, .. }] = commands else {
            return None;
        };
        let Node::Simple { assigns, words } = &stages.first()?.node else {
            return None;
        };
        let to = match (assigns.as_slice(), words.get(1..)?) {
            ([], []) => (self.values)("HOME"),
            ([], [word]) => {
                let values = self.word(&word.parts)?.into_iter();
                values
                    .map(|(it, _)| Resolved {
                        text: it.text,
                        openness: it.openness,
                    })
                    .collect()
            }
            _ => return None,
        };
        let [to] = to.as_slice() else { return None };
        let is_whole = to.openness == Openness::Constant && to.text.starts_with('/');
        is_whole.then(|| to.text.trim_end_matches('/').to_string())
    }

    fn of_first(self, stage: &Stage) -> Output {
        let Node::Simple { assigns, words } = &stage.node else {
            return Output::Anything;
        };
        // None of those that are known prints what it reads.
        let is_unprinted =
            |it: &Redirect| is_of_errors(it) || matches!(it.kind, RedirectKind::Read(_));
        if !stage.redirects.iter().all(is_unprinted) || self.is_redefined(words) {
            return Output::Anything;
        }
        let output = self.of_command(assigns, words);
        // A command whose redirection fails isn't run.
        match output {
            Output::Constant(text) if !stage.redirects.iter().all(cannot_fail) => {
                Output::Perhaps(text)
            }
            Output::Directory if !stage.redirects.iter().all(cannot_fail) => Output::Operands,
            output => output,
        }
    }

    fn of_command(self, assigns: &[Assign], words: &[Written]) -> Output {
        let Some(readings) = self.readings(words) else {
            return Output::Anything;
        };
        if let [reading] = readings.as_slice() {
            let texts: Option<Vec<&str>> =
                reading.iter().map(|(word, _)| word.as_constant()).collect();
            match texts.as_deref() {
                Some(["which", name] | ["command", "-v", name] | ["type", "-p" | "-P", name])
                    if assigns.is_empty() && !self.variables.redefines(name) =>
                {
                    // Where programs are: a rule takes any such place for the same.
                    let place = if name.contains('/') { "" } else { "/usr/bin/" };
                    return Output::Perhaps(format!("{place}{name}"));
                }
                Some(
                    ["git", "branch", "--show-current"]
                    | ["git", "rev-parse", "--abbrev-ref", "HEAD"]
                    | ["git", "symbolic-ref", "--short", "HEAD"],
                ) if assigns.is_empty() => return Output::Branch,
                Some(["pwd"] | ["pwd", "-L" | "-P"]) if assigns.is_empty() => {
                    return Output::Directory;
                }
                Some(["printenv", name])
                    if assigns.is_empty() && self.variables.is_as_given(name) =>
                {
                    if let [value] = self.variables.values_given(name).as_slice() {
                        return Output::Constant(value.text.to_string());
                    }
                }
                Some(texts) => {
                    if let Some(text) = printed(texts, self.shell) {
                        return Output::Constant(text.trim_end_matches('\n').to_string());
                    }
                }
                None => {}
            }
        }
        let is_producer = |reading: &Vec<(Word, bool)>| {
            let words: Vec<Word> = reading.iter().map(|(word, _)| word.clone()).collect();
            // At any sign of what is printed, a word of its own may begin.
            let has_dash = |word: &Word| word.text.get(2..).is_some_and(|rest| rest.contains('-'));
            let may_split = reading.iter().any(|(_, splits)| *splits)
                || self.variables.separators && words.iter().any(has_dash);
            !may_split && are_operands(&words)
        };
        // The name of a time zone, the directory of temporary files and the active environment are
        // printed, too.
        let is_told = |name: &&str| {
            let word = |it: Resolved| Word {
                text: it.text,
                openness: it.openness,
                ..Word::default()
            };
            (self.values)(name)
                .into_iter()
                .any(|it| !is_harmless(&word(it), ":"))
        };
        let is_told = ["TZ", "TMPDIR", "VIRTUAL_ENV"].iter().any(is_told);
        match assigns.is_empty() && !is_told && readings.iter().all(is_producer) {
            true if self.makes_scratch(&readings) => Output::Scratch,
            true => Output::Operands,
            false => Output::Anything,
        }
    }

    /// Whether commands are `mktemp` that makes what it prints, by a name that no shell takes apart.
    fn makes_scratch(self, readings: &[Vec<(Word, bool)>]) -> bool {
        let is_plain = |text: &str| {
            text.chars()
                .all(|c| c.is_alphanumeric() || "._-+=@/".contains(c))
        };
        let makes = |reading: &Vec<(Word, bool)>| {
            let words: Vec<Word> = reading.iter().map(|(word, _)| word.clone()).collect();
            let Some((head, args)) = words.split_first() else {
                return false;
            };
            let parsed = Parsed::new(args, programs::options::any_row("mktemp"));
            program(head) == Some("mktemp")
                && !parsed.has("-u")
                && args
                    .iter()
                    .all(|word| word.as_constant().is_some_and(is_plain))
        };
        readings.iter().all(makes)
            && (self.values)("TMPDIR")
                .iter()
                .all(|it| it.openness == Openness::Constant && is_plain(&it.text))
    }

    /// What a stage prints that reads what the one before it has printed.
    fn of_next(self, read: Output, stage: &Stage) -> Output {
        let Node::Simple { assigns, words } = &stage.node else {
            return Output::Anything;
        };
        if self.is_redefined(words) {
            return Output::Anything;
        }
        let words: Option<Vec<Word>> = words
            .iter()
            .map(|word| constant(word).map(Word::constant))
            .collect();
        let Some(words) = words.filter(|_| assigns.is_empty()) else {
            return Output::Anything;
        };
        if !stage.redirects.iter().all(is_of_errors) {
            return Output::Anything;
        }
        let name = words.first().and_then(program).unwrap_or_default();
        match read {
            // Counts and sums, whatever they read.
            _ if matches!(
                name,
                "wc" | "nproc" | "md5sum" | "sha256sum" | "sha1sum" | "cksum"
            ) && are_operands(&words) =>
            {
                Output::Operands
            }
            Output::Operands | Output::Branch | Output::Directory | Output::Scratch
                if running::passes_lines(&words) =>
            {
                Output::Operands
            }
            Output::Constant(text) if name == "tee" || name == "cat" && words.len() == 1 => {
                Output::Constant(text)
            }
            _ => Output::Anything,
        }
    }

    fn is_redefined(self, words: &[Written]) -> bool {
        words
            .first()
            .and_then(constant)
            .is_some_and(|name| self.variables.redefines(name))
    }

    /// What words may become, and whether the shell would split one at a blank; nothing if that may
    /// be anything.
    fn readings(self, words: &[Written]) -> Option<Vec<Vec<(Word, bool)>>> {
        const MOST: usize = 16;
        let mut readings = vec![Vec::with_capacity(words.len())];
        for word in words {
            let values = self.word(&word.parts)?;
            if readings.len() * values.len() > MOST {
                return None;
            }
            let with = |before: &Vec<(Word, bool)>, value: &(Word, bool)| {
                before
                    .iter()
                    .cloned()
                    .chain([value.clone()])
                    .collect::<Vec<_>>()
            };
            readings = readings
                .iter()
                .flat_map(|it| values.iter().map(move |value| with(it, value)))
                .collect();
        }
        Some(readings)
    }

    fn word(self, parts: &[Part]) -> Option<Vec<(Word, bool)>> {
        const MOST: usize = 8;
        let constant = |text: &str| vec![Resolved::constant(text)];
        let operand = |text: &str| vec![Resolved::operand(text)];
        let mut made = vec![(Resolved::empty(), false)];
        let mut all_quoted = true;
        for part in parts {
            let is_cut = |quoted: bool| !quoted && self.variables.splits_oddly();
            let (values, quoted) = match part {
                Part::Variable { quoted, .. } | Part::Command { quoted, .. } if is_cut(*quoted) => {
                    return None;
                }
                Part::Text { text, quoted } => {
                    all_quoted &= quoted;
                    (constant(text), true)
                }
                Part::Tilde(tilde) => {
                    let values = match tilde {
                        Tilde::Home => (self.values)("HOME"),
                        Tilde::User(name) => self.variables.home_of(name),
                        Tilde::Here | Tilde::Before => Vec::new(),
                    };
                    (
                        if values.is_empty() {
                            operand("~")
                        } else {
                            values
                        },
                        true,
                    )
                }
                Part::Glob(c) => (operand(&c.to_string()), true),
                Part::Range(text) => (operand(text), true),
                Part::Arithmetic { .. } => (operand("$((…))"), true),
                Part::Process { .. } => (operand("/dev/fd/…"), true),
                Part::Brace(_) => return None,
                Part::Command { list, quoted, .. } => {
                    let openness = Openness::Computed(0, !quoted);
                    let values = match of(list, self) {
                        Output::Constant(text) => constant(&text),
                        Output::Perhaps(text) => [constant(&text), constant("")].concat(),
                        Output::Scratch => operand(SCRATCH),
                        Output::Operands | Output::Branch | Output::Directory => operand("$(…)"),
                        Output::Anything => vec![Resolved {
                            text: "$(…)".into(),
                            openness,
                        }],
                    };
                    (values, *quoted)
                }
                Part::Variable {
                    name,
                    change,
                    quoted,
                } => (self.variable(name, change, *quoted)?, *quoted),
            };
            if made.len() * values.len() > MOST {
                return None;
            }
            all_quoted &= quoted;
            let is_split = |value: &Resolved| !quoted && value.text.contains(char::is_whitespace);
            made = made
                .iter()
                .flat_map(|(before, splits)| {
                    values
                        .iter()
                        .map(|value| (before.then(value), *splits || is_split(value)))
                })
                .collect();
        }
        let word = |it: Resolved| Word {
            text: it.text,
            openness: it.openness,
            quoted: all_quoted,
            ..Word::default()
        };
        Some(
            made.into_iter()
                .map(|(it, splits)| (word(it), splits))
                .collect(),
        )
    }

    fn variable(self, name: &str, change: &Change, quoted: bool) -> Option<Vec<Resolved>> {
        let operand = || vec![Resolved::operand(format_compact!("${{{name}}}"))];
        if !is_variable(name) && !is_positional(name) || matches!(change, Change::Length) {
            return Some(operand());
        }
        let mut values = (self.values)(name);
        for value in &mut values {
            if let Openness::Computed(at, _) = value.openness {
                value.openness = Openness::Computed(at, !quoted);
            }
        }
        let is_set = !values.is_empty();
        if !is_set {
            values = operand();
        }
        match change {
            Change::None => Some(values),
            Change::Default(parts) | Change::Other(parts) | Change::Assign(parts) => {
                values.extend(self.word(parts)?.into_iter().map(|(it, _)| Resolved {
                    text: it.text,
                    openness: it.openness,
                }));
                Some(values)
            }
            Change::Cut { edit: Some(_), .. } if self.variables.is_as_given(name) => {
                let edit = edit_of(change, quoted).filter(|_| values.iter().all(is_short_constant));
                let edited = edit.and_then(|(operand, edit)| {
                    values
                        .into_iter()
                        .map(|it| it.edited(&operand, edit))
                        .collect::<Option<Vec<_>>>()
                });
                Some(edited.unwrap_or_else(operand))
            }
            // What is left of it may begin with a dash.
            Change::Replace(parts) if puts_in_more_than_a_name(parts) => None,
            Change::Replace(_) | Change::Cut { .. } if self.variables.is_as_given(name) => {
                Some(operand())
            }
            Change::Replace(_) | Change::Cut { .. } => values
                .iter()
                .all(|value| !begins_option_if_cut(value))
                .then(operand),
            Change::Element(_) => (!is_set).then(operand),
            Change::Length => None,
        }
    }
}

/// A word's text if it is constant.
pub(in super::super) fn constant(word: &Written) -> Option<&str> {
    match word.parts.as_slice() {
        [Part::Text { text, .. }] => Some(text),
        _ => None,
    }
}

/// What `echo` or `printf` prints.
pub(in super::super) fn printed(words: &[&str], shell: Shell) -> Option<String> {
    spelt(words, shell)
        .filter(|text| text.exact)
        .map(|text| text.text)
}

/// What `echo` or `printf` prints, as near as it can be told where shells differ or more is needed
/// to tell it.
pub(in super::super) fn nearly_printed(words: &[&str], shell: Shell) -> Option<String> {
    spelt(words, shell).map(|text| text.text)
}

struct Text {
    text: String,
    /// All shells print it so.
    exact: bool,
}

fn spelt(words: &[&str], shell: Shell) -> Option<Text> {
    match words {
        ["echo", rest @ ..] => {
            // Only bash keeps backslashes as they are.
            let (mut rest, mut newline, mut decodes) = (rest, true, shell != Shell::Bash);
            while let [option, after @ ..] = rest
                && option.len() > 1
                && option.starts_with('-')
                && option[1..]
                    .bytes()
                    .all(|letter| matches!(letter, b'n' | b'e' | b'E'))
            {
                newline &= !option.contains('n');
                if option.contains('e') {
                    decodes = true;
                } else if option.contains('E') {
                    decodes = false;
                }
                rest = after;
            }
            let text = rest.join(" ");
            let mut text = if decodes {
                decoded(&text, false)
            } else {
                Text { text, exact: true }
            };
            text.text.extend(newline.then_some('\n'));
            Some(text)
        }
        ["printf", "--", format, rest @ ..] | ["printf", format, rest @ ..]
            if !format.starts_with('-') =>
        {
            let Text {
                text: format,
                mut exact,
            } = decoded(format, true);
            let pieces: Vec<&str> = format.split("%s").collect();
            exact &= !pieces.iter().any(|piece| piece.contains('%'));
            let places = pieces.len() - 1;
            let mut text = String::new();
            let mut rest = rest;
            loop {
                for (at, piece) in pieces.iter().enumerate() {
                    text.push_str(piece);
                    if at < places
                        && let [argument, after @ ..] = rest
                    {
                        text.push_str(argument);
                        rest = after;
                    }
                }
                if rest.is_empty() || places == 0 || text.len() > 64 * 1024 {
                    return Some(Text { text, exact });
                }
            }
        }
        _ => None,
    }
}

/// Backslashes read as `printf` does, or as `echo -e`, which keeps the one before a quote.
fn decoded(text: &str, format: bool) -> Text {
    let mut read = Text {
        text: String::with_capacity(text.len()),
        exact: true,
    };
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            read.text.push(c);
            continue;
        }
        let Some(escape) = rest.next() else {
            read.text.push('\\');
            break;
        };
        let read_as = match escape {
            'n' => '\n',
            't' => '\t',
            '\\' => '\\',
            '"' if format => '"',
            '"' => {
                read.text.push('\\');
                escape
            }
            _ => {
                read.exact = false;
                let (radix, digits, first) = match escape {
                    'x' => (16, 2, None),
                    'u' => (16, 4, None),
                    'U' => (16, 8, None),
                    // `\0` may have three more digits.
                    _ => (8, if escape == '0' { 3 } else { 2 }, escape.to_digit(8)),
                };
                let mut value = first.unwrap_or(0);
                for _ in 0..digits {
                    let digit = rest.peek().and_then(|c| c.to_digit(radix));
                    let Some(digit) = digit.filter(|_| radix == 16 || first.is_some()) else {
                        break;
                    };
                    value = value.wrapping_mul(radix) + digit;
                    rest.next();
                }
                char::from_u32(value).filter(|c| *c != '\0').unwrap_or(' ')
            }
        };
        read.text.push(read_as);
    }
    read
}
