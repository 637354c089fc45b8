//! What is known of programs: which run other programs, which only read and print, which variables
//! and options decide what code runs, and how each takes its options ([`options`]).

/// An enum whose variants are words of the table.
macro_rules! words_of_table {
    ($(#[$about:meta])* enum $name:ident { $($(#[$of:meta])* $variant:ident = $($word:literal)|+,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(in super::super) enum $name {
            $($(#[$of])* $variant,)*
        }

        impl $name {
            pub(super) fn named(word: &str) -> Option<$name> {
                match word {
                    $($($word)|+ => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

mod clause;
mod connects;
pub(super) mod files;
pub(super) mod inline;
mod kept;
pub(super) mod options;
pub(super) mod parsed;
pub(super) mod running;
mod settings;
mod sheet;
#[cfg(test)]
mod tests;
mod twins;

pub use connects::To;
pub(super) use connects::{
    connect, connecting, connects, connects_by_setting, connects_by_variable, may_be_alias_of_git,
};
pub(super) use kept::kept;
pub(super) use options::{Does, Known, has_files, known, program_names, runs, same_program};
pub(super) use parsed::Parsed;
pub(super) use settings::{is_plain_setting, is_plain_word, minded};
pub(super) use twins::{has_twins, other_programs, twins};

use super::Shell;
use super::names::base_name;
use super::word::{Openness, Word};
use compact_str::{CompactString, format_compact};
use foldhash::fast::FixedState;
use options::{Column, Row};
use parsed::{Given, Item};
use std::collections::{HashMap, HashSet};
use std::iter::Peekable;
use std::str::Chars;
use std::sync::{LazyLock, OnceLock};

/// A table of our own names: nobody can add names that collide, and the hash of the standard
/// library took a tenth of reading a command.
pub(super) type ByName<V> = HashMap<&'static str, V, FixedState>;

/// A set of names: a line of `names.txt`.
pub(super) struct Names {
    key: &'static str,
    set: OnceLock<NameSet>,
}

struct NameSet {
    names: HashSet<&'static str, FixedState>,
    /// A bit for each length that a name has. Most of what is asked for has another one.
    lengths: u64,
}

impl FromIterator<&'static str> for NameSet {
    fn from_iter<I: IntoIterator<Item = &'static str>>(words: I) -> NameSet {
        let names: HashSet<_, _> = words.into_iter().collect();
        NameSet {
            lengths: names.iter().fold(0, |all, name| all | bit_of_length(name)),
            names,
        }
    }
}

fn bit_of_length(name: &str) -> u64 {
    1 << name.len().min(63)
}

impl Names {
    pub(super) const fn new(key: &'static str) -> Names {
        Names {
            key,
            set: OnceLock::new(),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        let set = self.set.get_or_init(|| self.words().collect());
        set.lengths & bit_of_length(name) != 0 && set.names.contains(name)
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &'static str> {
        let own = include_str!("names.txt")
            .lines()
            .find_map(|line| line.strip_prefix(self.key)?.strip_prefix('\t'));
        debug_assert!(own.is_some(), "{}", self.key);
        own.unwrap_or_default().split(' ')
    }
}

/// A command of a program that runs the rest of its arguments.
pub(super) struct Wrapper<'w> {
    pub(super) row: &'static Row,
    pub(super) runs: Column,
    /// Its words behind the program's name.
    pub(super) parsed: Parsed<'w>,
    /// Which of its operands names it: the sub-command; none if the program itself does.
    verb: Option<usize>,
}

impl<'w> Wrapper<'w> {
    /// The operands that aren't sub-commands.
    pub(super) fn operands(&self) -> &[Item<'w>] {
        self.parsed
            .operands
            .get(self.verb.map_or(0, |verb| verb + 1)..)
            .unwrap_or_default()
    }

    /// Its options that stand before its command, which begins with that word.
    pub(super) fn options(&self, command: usize) -> impl Iterator<Item = &Item<'w>> {
        self.parsed
            .options
            .iter()
            .filter(move |item| item.at < command)
    }

    /// Whether an option behind its name isn't known, so that what follows may be that one's value.
    pub(super) fn is_unsure(&self, command: usize) -> bool {
        let verb = self.verb.map(|verb| self.parsed.operands[verb].at);
        self.options(command)
            .any(|item| !item.known && verb.is_none_or(|verb| item.at > verb))
    }
}

/// The wrapper that a command is.
pub(super) fn wrapper_of<'w>(program: &Known<'_>, words: &'w [Word]) -> Option<Wrapper<'w>> {
    let row = program.wrapper()?;
    let parsed = Parsed::new(words.get(1..)?, Some(row));
    // A sub-command that says what it runs says it for itself: `hookwire-run hook` runs no command.
    let depth = parsed.rows.iter().rposition(|row| !row.runs.is_empty())?;
    parsed.rows[depth].runs.rest()?;
    let is_verb = |item: &Item| !item.names.is_empty();
    let verb = parsed
        .operands
        .iter()
        .enumerate()
        .filter(|(_, item)| is_verb(item))
        .map(|(at, _)| at);
    let verb = depth
        .checked_sub(1)
        .and_then(|depth| verb.into_iter().nth(depth));
    let row = parsed.rows[depth];
    Some(Wrapper {
        row,
        runs: row.runs,
        parsed,
        verb,
    })
}

/// The module that python is told to run, with its arguments: its options are letters, of which `W`
/// and `X` take a value and `m` and `c` end them.
pub(super) fn python_module(words: &[Word]) -> Option<Vec<Word>> {
    if !base_name(&words.first()?.text).starts_with("py") {
        return None;
    }
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        let letters = word.as_constant()?.strip_prefix('-')?;
        if letters.starts_with('-') {
            continue;
        }
        let Some((place, letter)) = letters
            .char_indices()
            .find(|(_, letter)| "mcWX".contains(*letter))
        else {
            continue;
        };
        let attached = &letters[place + 1..];
        match (letter, attached) {
            ('c', _) => return None,
            ('m', "") => {
                return words
                    .get(at..)
                    .filter(|rest| !rest.is_empty())
                    .map(<[Word]>::to_vec);
            }
            ('m', module) => {
                return Some(Word::constant(module).before(&words[at..]));
            }
            _ => at += usize::from(attached.is_empty()),
        }
    }
    None
}

/// The words of a command as they are mostly written, if its program has longer ones for the same.
pub(super) fn in_short(name: &str, words: &[Word]) -> Option<Vec<Word>> {
    let is = |at: usize, text: &str| words.get(at).and_then(Word::as_constant) == Some(text);
    let head = words.first()?;
    let (program, verb, skipped) = match name {
        "uv" if is(1, "tool") && is(2, "run") => ("uvx", None, 3),
        "gcloud" if is(1, "alpha") || is(1, "beta") => ("gcloud", None, 2),
        "coreutils" => (
            words
                .get(1)?
                .as_constant()?
                .strip_prefix("--coreutils-prog=")?,
            None,
            2,
        ),
        _ => match name.strip_prefix("git-").filter(|verb| !verb.is_empty()) {
            // `git-push` in git's own directory is `git push`.
            Some(verb) => ("git", Some(Word::constant(verb)), 1),
            None => (program_of_file(name)?, None, 1),
        },
    };
    let rest = words.get(skipped..)?.iter().cloned();
    Some(
        [in_place_of(head, program)]
            .into_iter()
            .chain(verb)
            .chain(rest)
            .collect(),
    )
}

/// A program in the directory of another one.
pub(super) fn in_place_of(head: &Word, program: &str) -> Word {
    let directory = head
        .text
        .rfind('/')
        .map_or("", |slash| &head.text[..=slash]);
    Word {
        text: format_compact!("{directory}{program}"),
        span: None,
        ..head.clone()
    }
}

/// The program that a file of it is: the scripts of node's package managers, and what starts them
/// on Windows.
pub(super) fn program_of_file(name: &str) -> Option<&'static str> {
    let is_file = [".js", ".cjs", ".cmd"]
        .iter()
        .any(|end| name.ends_with(end));
    if is_file { same_program(name) } else { None }
}

/// The program that an image of containers starts, where its name says so.
pub(super) fn entry_point(image: &Word) -> Option<CompactString> {
    let name = image
        .as_constant()?
        .rsplit('/')
        .next()?
        .split([':', '@'])
        .next()?;
    runs(name)
        .has("entry")
        .then(|| same_program(name).unwrap_or(name).into())
}

/// What a wrapper runs, if that is written with a version, as another name's package or behind
/// where it is: `npm@9`, `twine==5.0`, `nixpkgs#git`.
pub(super) fn without_version(runs: Column, words: &[Word]) -> Option<Vec<Word>> {
    let behind = |sign: char| {
        let (first, rest) = words.split_first()?;
        let (_, program) = first.as_constant()?.rsplit_once(sign)?;
        Some((Word::constant(program), rest))
    };
    if runs.has("flake") {
        let (program, rest) = behind('#')?;
        let rest = if rest.first().is_some_and(|word| word.text == "--") {
            &rest[1..]
        } else {
            rest
        };
        return Some(program.before(rest));
    }
    if runs.has("environment") {
        let (program, rest) = behind(':')?;
        return Some(program.before(rest));
    }
    if !runs.has("package") {
        return None;
    }
    let (first, rest) = words.split_first()?;
    let name = first.as_constant()?;
    let end = name
        .char_indices()
        .skip(1)
        .find(|(at, c)| *c == '@' || name[*at..].starts_with("=="));
    let bare = &name[..end.map_or(name.len(), |(at, _)| at)];
    let bare = bare.strip_prefix("npm:").unwrap_or(bare);
    let program = same_program(bare).unwrap_or(bare);
    (program != name).then(|| Word::constant(program).before(rest))
}

/// Whether a program is a shell, of some version: `bash-5.2`.
pub(super) fn is_shell(name: &str) -> bool {
    known(name).is_shell()
}

pub(super) fn is_interpreter(name: &str) -> bool {
    known(name).is_interpreter()
}

impl Known<'_> {
    pub(super) fn is_shell(&self) -> bool {
        let bare = self
            .name
            .trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
        self.runs().has("shell") || bare.len() < self.name.len() && runs(bare).has("shell")
    }

    pub(super) fn is_interpreter(&self) -> bool {
        let bare = self
            .name
            .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let runs = if bare.len() < self.name.len() {
            runs(bare)
        } else {
            self.runs()
        };
        runs.has("code")
    }
}

pub(super) fn is_system_path(path: &str) -> bool {
    static SYSTEM: Names = Names::new("system");
    path.rsplit_once('/')
        .is_some_and(|(directory, _)| SYSTEM.has(directory))
}

/// Whether shells set a variable as they go on, whatever a text sets it to.
pub(super) fn is_set_by_shells(name: &str) -> bool {
    static SET: Names = Names::new("set-by-shells");
    SET.has(name)
}

/// Whether a shell itself sets a variable: to its own name, to what it has run, to blanks. Zsh sets
/// many, and some of them to nothing.
pub(super) fn is_shells_own(name: &str, shell: Shell) -> bool {
    static OWN: Names = Names::new("shells-own");
    shell == Shell::Zsh || name.starts_with("BASH") || OWN.has(name)
}

/// What setting a variable may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hazard {
    None,
    /// A later program runs code of the caller's choice.
    Unseen,
    /// A later program runs its value.
    Text,
    /// Later words mean something else.
    Shell,
}

static CODE_VARIABLES: Names = Names::new("code-variables");

static TEXT_VARIABLES: Names = Names::new("text-variables");

static SHELL_VARIABLES: Names = Names::new("shell-variables");

static HARMLESS_OF_GIT: Names = Names::new("git-variables");

/// Whether a shell takes what is assigned to a variable of its own for arithmetic.
pub(super) fn is_integer(name: &str, shell: Shell) -> bool {
    static INTEGERS: Names = Names::new("integers");
    static OF_ZSH: Names = Names::new("zsh-integers");
    INTEGERS.has(name) || shell == Shell::Zsh && OF_ZSH.has(name)
}

pub(super) fn hazard(name: &str, value: Option<&str>) -> Hazard {
    if SHELL_VARIABLES.has(name)
        || name.starts_with("BASH_FUNC_")
        || name.starts_with("GIT_CONFIG")
        || name.starts_with("CARGO_ALIAS_")
        // A file that `sh -i` reads; as a rule it is the name of an environment.
        || name == "ENV" && value.is_some_and(|value| value.contains(['/', '.', '$', '`']))
    {
        return Hazard::Shell;
    }
    if matches!(name, "LESS" | "LESSEDIT")
        && value.is_none_or(|value| value.contains(['!', '|', '%']))
    {
        return Hazard::Text;
    }
    if matches!(name, "PS1" | "PS2" | "PROMPT" | "RPROMPT")
        && value.is_some_and(|value| value.contains("$(") || value.contains('`'))
    {
        return Hazard::Text;
    }
    let harmless = matches!(
        value,
        Some("" | "cat" | "true" | ":" | "less" | "vim" | "vi" | "nano")
    );
    if harmless && (name.ends_with("PAGER") || name.ends_with("EDITOR") || name == "VISUAL") {
        return Hazard::None;
    }
    if TEXT_VARIABLES.has(name) {
        return Hazard::Text;
    }
    let git = name.starts_with("GIT_")
        && !HARMLESS_OF_GIT
            .words()
            .any(|prefix| name.starts_with(prefix));
    let lower = name.to_ascii_lowercase();
    if git
        || CODE_VARIABLES.has(name)
        || ["LD_", "DYLD_", "BASH_", "npm_config_", "NPM_CONFIG_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || [
            "editor", "pager", "_browser", "_command", "_askpass", "_wrapper", "_rsh", "_shell",
            "_runner",
        ]
        .iter()
        .any(|suffix| lower.ends_with(suffix))
    {
        return Hazard::Unseen;
    }
    Hazard::None
}

/// Which word is git's command, and whether a setting before it may run a program.
pub(super) fn git_verb(words: &[Word]) -> (Option<usize>, bool) {
    // Mostly no option stands before it.
    if words
        .get(1)
        .is_some_and(|word| !word.beginning().starts_with('-'))
    {
        return (Some(1), false);
    }
    let parsed = Parsed::leading(words.get(1..).unwrap_or_default(), options::row("git"));
    let verb = parsed.operands.first().map(|item| item.at + 1);
    let mut settings = parsed
        .given()
        .filter(|given| given.option.does == Does::Config);
    (verb, settings.any(|given| may_configure_program(&given)))
}

/// Whether an option of git sets what may start a program.
fn may_configure_program(Given { option, value }: &Given) -> bool {
    let Some(value) = value else { return false };
    let (key, set) = value.text.split_once('=').unwrap_or((&value.text, "true"));
    // The value of `--config-env` is a variable's.
    let set = if option.names.contains(&"-c") {
        set
    } else {
        "…"
    };
    value.openness.from().is_some_and(|from| from <= key.len()) || !is_harmless_setting(key, set)
}

/// What a command of git runs.
pub(super) fn git_runs(command: &str) -> Column {
    static GIT: LazyLock<Option<&Row>> = LazyLock::new(|| options::row("git"));
    GIT.and_then(|row| row.child(command))
        .map(|row| row.runs)
        .unwrap_or_default()
}

static HARMLESS_SETTINGS: Names = Names::new("git-settings");

/// Settings that can't make git start a program. Everything else may.
pub(super) fn is_harmless_setting(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    if matches!(
        key.as_str(),
        "core.pager" | "core.editor" | "sequence.editor"
    ) {
        return matches!(value, "" | "cat" | "true" | ":" | "less" | "vim" | "nano");
    }
    // So scripts keep git from asking. Without a value, a list of helpers begins anew.
    if matches!(
        (key.as_str(), value),
        ("credential.helper", "") | ("core.askpass", "" | "true" | "echo" | "false")
    ) {
        return true;
    }
    HARMLESS_SETTINGS.words().any(|name| {
        if name.ends_with('.') {
            key.starts_with(name)
        } else {
            key == name
        }
    })
}

pub(super) fn is_harmless_ssh_option(letter: char, value: &Word) -> bool {
    let text = value.text.to_ascii_lowercase();
    match letter {
        'o' => {
            let is_risky = |it: &str| text.contains(it);
            ![
                "command",
                "exec",
                "include",
                "provider",
                "xauthlocation",
                "smartcard",
            ]
            .into_iter()
            .any(is_risky)
                && !matches!(value.openness, Openness::Computed(0, _))
        }
        'F' | 'E' => false,
        _ => true,
    }
}

/// Whether a sed script holds only commands that edit and print. Anything not understood isn't
/// plain.
pub(super) fn is_plain_sed(script: &str) -> bool {
    let mut rest = script.chars().peekable();
    loop {
        while rest
            .next_if(|c| c.is_whitespace() || matches!(c, ';' | '{' | '}'))
            .is_some()
        {}
        // The address.
        loop {
            match rest.peek() {
                Some(c) if c.is_ascii_digit() || matches!(c, '$' | ',' | '+' | '~' | '!' | ' ') => {
                    rest.next();
                }
                Some('/') => {
                    rest.next();
                    if !skip_regex(&mut rest, '/', true) {
                        return false;
                    }
                    while rest.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
                }
                _ => break,
            }
        }
        match rest.next() {
            None => return true,
            Some('{' | '}') => continue,
            Some(
                'p' | 'P' | 'd' | 'D' | '=' | 'n' | 'N' | 'h' | 'H' | 'g' | 'G' | 'x' | 'F' | 'z',
            ) => {}
            // Labels, and jumps to them.
            Some(':' | 'b' | 't' | 'T') => {
                while rest
                    .next_if(|c| c.is_alphanumeric() || matches!(c, ' ' | '_'))
                    .is_some()
                {}
            }
            Some('q' | 'Q') => while rest.next_if(char::is_ascii_digit).is_some() {},
            Some('a' | 'i' | 'c') => {
                // The text ends with the line; a backslash carries it on.
                while let Some(c) = rest.next() {
                    match c {
                        '\\' => drop(rest.next()),
                        '\n' => break,
                        _ => {}
                    }
                }
                continue;
            }
            Some(command @ ('s' | 'y')) => {
                let Some(delimiter) = rest
                    .next()
                    .filter(|c| !c.is_alphanumeric() && !matches!(c, '\\' | '\n'))
                else {
                    return false;
                };
                let is_first_known = match command {
                    's' => skip_regex(&mut rest, delimiter, true),
                    _ => skip_delimited(&mut rest, delimiter),
                };
                if !is_first_known || !skip_delimited(&mut rest, delimiter) {
                    return false;
                }
                let flags =
                    |c: &char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I' | 'M' | 'm');
                while command == 's' && rest.next_if(flags).is_some() {}
            }
            Some(_) => return false,
        }
        while rest.next_if(|c| *c == ' ').is_some() {}
        match rest.peek() {
            None | Some(';' | '\n' | '}') => {}
            Some(_) => return false,
        }
    }
}

/// Skips a regex with its end. In brackets the delimiter is a character as others are to every sed,
/// but not to every awk; false where it isn't certain which it is.
pub(super) fn skip_regex(rest: &mut Peekable<Chars>, delimiter: char, is_sed: bool) -> bool {
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '[' if !skip_bracket(rest, delimiter, is_sed) => return false,
            _ if c == delimiter => return true,
            _ => {}
        }
    }
    false
}

fn skip_bracket(rest: &mut Peekable<Chars>, delimiter: char, is_sed: bool) -> bool {
    let mut has_class = false;
    rest.next_if_eq(&'^');
    // A first `]` is one of the characters.
    rest.next_if_eq(&']');
    while let Some(c) = rest.next() {
        match c {
            ']' => return true,
            '\\' if rest.next() == Some(']') => return false,
            // `[:alpha:]` has an end of its own, but not to busybox.
            '[' if rest.peek().is_some_and(|c| matches!(c, ':' | '.' | '=')) => {
                has_class = true;
                if !rest.by_ref().skip(1).any(|c| c == ']') {
                    return false;
                }
            }
            c if c == delimiter && (has_class || !is_sed) => return false,
            _ => {}
        }
    }
    false
}

pub(super) fn skip_delimited(rest: &mut Peekable<Chars>, delimiter: char) -> bool {
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            _ if c == delimiter => return true,
            _ => {}
        }
    }
    false
}

/// Where a setting of wget names the program that asks for a password: `wget -e use_askpass=curl`.
/// Letter case and joints don't count in a setting's name.
fn askpass_of_wget(word: &str) -> Option<usize> {
    let mut names = word.match_indices('=').scan(0, |start, (at, _)| {
        let name = &word[std::mem::replace(start, at + 1)..at];
        let letters = name
            .bytes()
            .filter(u8::is_ascii_alphanumeric)
            .map(|byte| byte.to_ascii_lowercase());
        Some((letters.collect::<Vec<_>>().ends_with(b"useaskpass"), at + 1))
    });
    names
        .find(|(is_askpass, _)| *is_askpass)
        .map(|(_, value)| value)
}

/// Operands that hold a command line: which words, and where in them it begins.
pub(super) fn text_operands(program: &str, words: &[Word]) -> Vec<(usize, usize)> {
    let all = words.iter().enumerate().skip(1);
    match program {
        // `less '+!make'` begins with a command of less, here one that runs the rest.
        "less" | "more" | "most" => all
            .filter(|(_, word)| word.text.starts_with('+'))
            .filter_map(|(at, word)| Some((at, word.text.find(['!', '|', '#'])? + 1)))
            .collect(),
        // `gh alias set p '!make'`, or the last word with `--shell`.
        "gh" | "glab" if words.get(1).is_some_and(|word| word.text == "alias") => {
            let is_shell = words
                .iter()
                .any(|word| matches!(word.text.as_str(), "-s" | "--shell"));
            let last = words.len() - 1;
            all.filter(|(at, word)| word.text.starts_with('!') || is_shell && *at == last)
                .map(|(at, word)| (at, usize::from(word.text.starts_with('!'))))
                .collect()
        }
        "wget" => all
            .filter_map(|(at, word)| Some((at, askpass_of_wget(&word.text)?)))
            .collect(),
        _ => Vec::new(),
    }
}

/// The files that `curl` and `wget` write, by their names; `*` is one whose name only the run
/// tells.
pub(super) fn downloads(program: &str, args: &[Word]) -> Vec<String> {
    let Some(row) = options::row(program) else {
        return Vec::new();
    };
    let given = Parsed::new(args, Some(row));
    let mut names: Vec<String> = Vec::new();
    let is_wget = program == "wget";
    let output = if is_wget { "-O" } else { "-o" };
    names.extend(given.values(output).map(|word| word.text.to_string()));
    let remote = is_wget && names.is_empty()
        || given.has("-O") && !is_wget
        || given.has("--remote-name-all");
    if !remote {
        return names;
    }
    let chosen_by_server = match is_wget {
        true => [
            "--content-disposition",
            "--trust-server-names",
            "-i",
            "-r",
            "-m",
        ]
        .iter()
        .any(|it| given.has(it)),
        false => given.has("-J"),
    };
    if chosen_by_server {
        names.push("*".to_string());
    }
    let urls = given.operand_words().cloned().chain(given.values("--url"));
    for url in urls {
        let text = url.text.split('#').next().unwrap_or_default();
        // wget keeps the query.
        let path = if is_wget {
            text
        } else {
            text.split('?').next().unwrap_or_default()
        };
        let path = path.split_once("://").map_or(path, |(_, rest)| rest);
        let (place, name) = path.rsplit_once('/').unwrap_or((path, ""));
        let is_open =
            url.openness.from().is_some() && place.is_empty() || name.contains(['{', '[', '…']);
        names.push(match name {
            _ if is_open => "*".to_string(),
            "" => "index.html".to_string(),
            name => name.to_string(),
        });
    }
    names
}
