//! A program that was seen to start, by its words: nothing of them is computed any more.

use super::names::base_name;
use super::programs::{self, wrapper_of};
use super::word::Word;
use super::{Command, Script, Span};

/// So many programs that carry each other's words out in their own process are read.
const MOST: usize = 4;

impl Script {
    /// What a program does itself that starts with these words: it is one command, and nothing of it is in doubt. A program
    /// that it starts in turn is a start of its own, so that no word is read as another command's; but for programs that
    /// carry a command out without starting one: `busybox rm x`. `at`: what its words are as a text, in bytes.
    pub fn of_program<'w>(argv: impl IntoIterator<Item = &'w str>, at: Span) -> Script {
        let mut words: Vec<Word> = argv.into_iter().map(Word::constant).collect();
        let mut script = Script::default();
        while !words.is_empty() && script.commands.len() < MOST {
            let behind = behind(&words);
            script.commands.push(Command { words, span: at.clone(), ..Command::default() });
            words = behind;
        }
        script
    }
}

/// The command as it is mostly written, or the one that a program carries out in its own process.
fn behind(words: &[Word]) -> Vec<Word> {
    let Some(name) = words.first().and_then(Word::as_constant).map(base_name) else { return Vec::new() };
    if let Some(short) = programs::in_short(name, words) {
        return short;
    }
    if !programs::runs(name).has("itself") {
        return Vec::new();
    }
    let first = wrapper_of(name, words).and_then(|wrapper| wrapper.operands().first().map(|item| item.at + 1));
    first.map_or_else(Vec::new, |first| words[first..].to_vec())
}

/// The programs whose start rules may be about that name these programs, by their names without a directory.
pub fn starts_of(is_named: impl Fn(&str) -> bool) -> impl Iterator<Item = &'static str> {
    let is_it = move |name: &&'static str| {
        programs::same_program(name).is_some_and(&is_named)
            || programs::other_programs(name).any(&is_named)
            || programs::runs(name).has("itself")
    };
    // `coreutils --coreutils-prog=rm`
    programs::program_names().filter(is_it).chain(["coreutils"])
}

/// The programs that the table has.
pub fn program_names() -> impl Iterator<Item = &'static str> {
    programs::program_names()
}

/// The programs of which the table knows what they do with files.
pub fn programs_of_files() -> impl Iterator<Item = &'static str> {
    programs::program_names().filter(|name| programs::has_files(name))
}
