//! What a shell text does to the places: each word of each command is taken as a path where the command runs.

use super::code;
use super::find::{self, Find};
use super::git;
use super::ground::Ground;
use super::places::{Named, Part, What};
use super::programs::{self, Act, base_name};
use crate::matching::shell::{Command, Script, Word};
use std::path::PathBuf;

/// Programs that show that a file is there, and nothing that it holds.
const LISTING: &[&str] = &[
    "ls", "dir", "vdir", "stat", "test", "[", "[[", "cd", "pushd", "popd", "du", "tree", "file", "realpath",
    "readlink", "dirname", "basename", "find", "echo", "printf", "which", "command", "type", "export", "lsof", "ss",
    "netstat",
];
/// Programs that make another file of what they read.
const COPYING: &[&str] = &["cp", "cat", "dd", "install", "rsync", "scp", "tar", "base64", "ln", "zip", "xxd"];
/// Options whose value is the directory that a command works in.
const WORKING: &[&str] = &["-C", "--directory", "--chdir", "--prefix", "--cwd", "--work-tree", "--working-directory"];

/// So many words of texts are looked at.
const MOST_TOKENS: usize = 256;
/// So many directories are taken for those in which a command may run.
const MOST_ANCHORS: usize = 16;

/// Whether nothing in a text can change a file.
pub(super) fn only_shows(script: &Script) -> bool {
    script.is_readable() && script.commands().iter().all(is_reader)
}

fn is_reader(command: &Command) -> bool {
    let is_find = command.words.first().is_some_and(|word| base_name(&word.text) == "find");
    let only_finds =
        || is_find && find::act(&command.words).is_none() && !command.words.iter().any(|it| it.text.starts_with("-f"));
    !command.writes() && (command.is_read_on() || programs::only_reads(&command.words) || only_finds())
}

/// The first place that a text may change, as it names it.
pub(super) fn changed(script: &Script, ground: &Ground<'_>) -> Option<String> {
    // Where it isn't told in which directory a command runs, it may be one that the text names.
    let anchors = || {
        let here = [ground.base.to_path_buf()];
        let words = script.commands().iter().flat_map(|command| {
            let enters = command.words.first().is_some_and(|word| matches!(word.text.as_str(), "cd" | "pushd"));
            let may_be = move |word: &&Word| ground.places.may_be_in(&word.text) || enters && is_glob(word);
            command.words.iter().filter(may_be)
        });
        let named = words.take(MOST_ANCHORS).flat_map(|word| ground.named(word, &here));
        let directories = named.flat_map(|named| ground.expanded(&named)).take(MOST_ANCHORS);
        directories.chain(here.clone()).collect::<Vec<_>>()
    };
    let directories = |command: &Command| ground.directories(command.directories()).unwrap_or_else(anchors);
    for command in script.commands() {
        let at = Where::new(ground, directories(command));
        if let Some(what) = at.changed_by(command) {
            return Some(what);
        }
    }
    handed_on(script, ground, &directories).or_else(|| in_code(script, ground))
}

/// Whether a word is a pattern of file names that is told.
fn is_glob(word: &Word) -> bool {
    let is_told = |text: &str| text.contains(['*', '?', '[']) && !text.contains(['$', '`', '…', '{']);
    word.may_be_pattern() && !word.is_found() && is_told(&word.text)
}

/// What code names that a program reads from elsewhere than its words.
fn in_code(script: &Script, ground: &Ground<'_>) -> Option<String> {
    if !script.commands().iter().any(code::is_interpreter) {
        return None;
    }
    let here = [ground.base.to_path_buf()];
    script.texts().find_map(|text| code::names(text, ground, &here, ground.is_near)).map(str::to_string)
}

/// What one command names and another takes from it: `find . | xargs rm`.
fn handed_on(script: &Script, ground: &Ground<'_>, directories: &dyn Fn(&Command) -> Vec<PathBuf>) -> Option<String> {
    let of_unknown = |command: &Command| {
        let is_find = command.words.first().is_some_and(|word| base_name(&word.text) == "find");
        let acts = if command.is_read_on() || is_find { Vec::new() } else { programs::acts(&command.words) };
        let unknown = command.words.iter().zip(acts).skip(1);
        let unknown = unknown.filter(|(word, _)| word.is_unknown() || word.is_found());
        unknown.map(|(_, act)| act).max()
    };
    let act = script.commands().iter().filter_map(of_unknown).max().filter(|act| *act > Act::Reads)?;
    let is_one = |named: &Named| {
        ground.places.at(named).is_some()
            || ground.places.is_folder(named)
            || act == Act::Destroys && (ground.holds(named) || ground.places.receives(named))
    };
    let named = script.commands().iter().find_map(|command| {
        let name = base_name(&command.words.first()?.text);
        if name == "find" {
            let met = Find::new(&command.words).meets(ground, &directories(command), act, false);
            return met.map(|path| path.display().to_string());
        }
        // `which hookwire | xargs rm`
        let is_program = |word: &Word| word.text == "hookwire";
        if matches!(name, "which" | "command" | "type" | "whereis") {
            return command.words.iter().any(is_program).then(|| "hookwire".to_string());
        }
        if !programs::only_reads(&command.words) || name == "cd" {
            return None;
        }
        let may_be = |word: &&Word| ground.places.may_be_in(&word.text) || is_glob(word);
        let mut words = command.words.iter().skip(1).filter(may_be).peekable();
        words.peek()?;
        let directories = directories(command);
        words.find(|word| ground.named(word, &directories).iter().any(is_one)).map(|word| word.path().into_owned())
    });
    // `while read x; do rm $x; done <<< .claude`
    let here = [ground.base.to_path_buf()];
    let tokens = script.texts().flat_map(str::split_whitespace).filter(|it| ground.places.may_be_in(it));
    let in_text = |token: &&str| ground.spelled(&ground.with_values(token), true, &here).iter().any(is_one);
    named.or_else(|| tokens.take(MOST_TOKENS).find(in_text).map(str::to_string))
}

/// Where a command runs.
struct Where<'a> {
    ground: &'a Ground<'a>,
    directories: Vec<PathBuf>,
    /// One of the directories may lie in a place, so that any name may.
    is_near: bool,
}

impl<'a> Where<'a> {
    fn new(ground: &'a Ground<'a>, directories: Vec<PathBuf>) -> Where<'a> {
        let is_near = ground.is_near || directories.iter().any(|it| is_close(ground, it));
        Where { ground, directories, is_near }
    }

    /// The first place that a command may change, as it names it.
    fn changed_by(mut self, command: &Command) -> Option<String> {
        let named = |word: &Word| Some(word.path().into_owned());
        if let Some(word) = command.written().iter().find(|word| self.uses(word, Act::Uses)) {
            return named(word);
        }
        let words = &command.words;
        if command.is_read_on() || words.is_empty() {
            return None;
        }
        let name = base_name(&words[0].text);
        if name == "find" {
            let met = |act: Act| Find::new(words).meets(self.ground, &self.directories, act, true);
            let met = find::act(words).and_then(met);
            return met.map(|path| path.display().to_string());
        }
        if name == "git"
            && let Some(path) = git::changes(words, self.ground, &self.directories)
        {
            return Some(path.display().to_string());
        }
        self.enter(words);
        let acts = programs::acts(words);
        if let Some(word) = words.iter().zip(&acts).skip(1).find(|(word, act)| self.is_hit(word, **act, words, &acts)) {
            return named(word.0);
        }
        let here = |directory: &PathBuf| {
            self.ground.places.receives(&Named::path(directory))
                || self.ground.places.at(&Named::path(directory)).is_some()
        };
        if programs::unpacks_here(words)
            && let Some(directory) = self.directories.iter().find(|it| here(it))
        {
            return Some(directory.display().to_string());
        }
        if !code::is_interpreter(command) {
            return None;
        }
        let mut codes = words[1..].iter().map(|word| word.text.as_str()).filter(|text| code::is_code(text));
        codes.find_map(|text| code::names(text, self.ground, &self.directories, self.is_near)).map(str::to_string)
    }

    /// Goes where an option says that a command works: `git -C x`, `make -C x`.
    fn enter(&mut self, words: &[Word]) {
        let mut more = Vec::new();
        for (at, word) in words.iter().enumerate().skip(1) {
            let attached = || WORKING.iter().find_map(|it| word.text.strip_prefix(it)?.strip_prefix('='));
            let value = match WORKING.contains(&word.text.as_str()) {
                true => words.get(at + 1).map(|word| self.ground.named(word, &self.directories)),
                false => attached().map(|text| self.ground.spelled(text, false, &self.directories)),
            };
            more.extend(value.into_iter().flatten().filter_map(|named| named.as_path()));
        }
        self.is_near |= more.iter().any(|it| is_close(self.ground, it));
        self.directories.extend(more);
    }

    /// Whether what a command does with a word changes a place, or shows what nobody is to see.
    fn is_hit(&self, word: &Word, act: Act, words: &[Word], acts: &[Act]) -> bool {
        // What find comes across is looked for by itself.
        if word.is_found() || word.text.contains("{}") {
            return false;
        }
        let name = base_name(&words[0].text);
        match act {
            Act::Nothing => false,
            Act::Reads => {
                let is_secret = |named: &Named| match self.ground.places.at(named) {
                    Some(What::Sockets) => !LISTING.contains(&name),
                    Some(What::Program) => COPYING.contains(&name),
                    Some(What::Guards | What::Settings) | None => false,
                };
                self.may_be_in(word) && self.named(word).iter().any(is_secret)
            }
            Act::Uses | Act::Destroys => {
                let deletes = name == "rsync" && words.iter().any(|it| it.text.starts_with("--del"));
                self.uses(word, if deletes { Act::Destroys } else { act })
            }
            Act::Fills => {
                let deletes = name == "rsync" && words.iter().any(|it| it.text.starts_with("--del"));
                self.uses(word, if deletes { Act::Destroys } else { Act::Uses }) || self.fills(word, words, acts)
            }
        }
    }

    fn may_be_in(&self, word: &Word) -> bool {
        self.is_near || self.ground.places.may_be_in(&word.text)
    }

    fn named(&self, word: &Word) -> Vec<Named> {
        self.ground.named(word, &self.directories)
    }

    /// Whether a word names a place, or a directory that holds one where it is taken away.
    fn uses(&self, word: &Word, act: Act) -> bool {
        let takes_away = act == Act::Destroys;
        let may_lead = word.may_be_pattern() || word.text.contains('/') || takes_away;
        if !may_lead && !self.may_be_in(word) {
            return false;
        }
        let is_one = |named: &Named| match named.is_open {
            true => self.ground.places.may_open_to(named, takes_away),
            false => {
                self.ground.places.at(named).is_some()
                    || takes_away && (self.ground.holds(named) || self.ground.places.receives(named))
                    || word.may_be_pattern() && self.ground.stands(named)
            }
        };
        let all = self.named(word);
        all.iter().any(is_one)
            || may_lead
                && !word.text.starts_with('-')
                && all.iter().any(|it| self.ground.resolved(it).is_some_and(|it| is_one(&it)))
    }

    /// Whether what is put into a directory may become a place.
    fn fills(&self, word: &Word, words: &[Word], acts: &[Act]) -> bool {
        let sources: Vec<&Word> = words
            .iter()
            .zip(acts)
            .skip(1)
            .filter(|(it, act)| matches!(act, Act::Reads | Act::Destroys) && !it.text.starts_with('-'))
            .map(|it| it.0)
            .collect();
        let puts = |source: &&Word, directory: &Named| {
            let text = source.text.trim_end_matches('/');
            // What a directory holds comes by names that aren't told.
            let is_content = source.text.ends_with(['/', '.']) || source.may_be_pattern();
            let becomes = directory.join(Part::Name(base_name(text).into()));
            is_content && self.ground.places.receives(directory)
                || self.ground.places.at(&becomes).is_some()
                || self.ground.is_around(directory) && self.ground.places.receives(&becomes)
        };
        let is_filled = |named: &Named| {
            !named.is_open
                && (self.ground.places.is_folder(named)
                    || sources.is_empty() && self.ground.places.receives(named)
                    || sources.iter().any(|source| puts(source, named)))
        };
        let all = self.named(word);
        all.iter().any(|named| is_filled(named) || self.ground.resolved(named).is_some_and(|it| is_filled(&it)))
    }
}

/// Whether a directory is one in which a plain name may be a place's.
fn is_close(ground: &Ground<'_>, directory: &std::path::Path) -> bool {
    ground.places.may_be_in(&directory.to_string_lossy()) || ground.places.receives(&Named::path(directory))
}
