//! A program that was seen to start, by its words: nothing of them is computed any more.

use super::names::base_name;
use super::programs::{self, wrapper_of};
use super::word::Word;
use super::{Command, Script, Shell, Span};

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

/// What a shell that starts is told to run: `bash -lc TEXT`.
pub fn text_of_shell<'e>(argv: &[&'e str]) -> Option<(Shell, &'e str)> {
    let (program, rest) = argv.split_first()?;
    let shell = Shell::named(program);
    let is_text = |word: &str| !word.starts_with("--") && word.ends_with('c');
    let at = rest.iter().take_while(|word| word.starts_with('-')).position(|word| is_text(word))?;
    rest.get(at + 1).filter(|_| !matches!(shell, Shell::Other | Shell::Unknown)).map(|text| (shell, *text))
}

/// Commands of git that start others only as steps of their own work, as `git stash` starts `git reset --hard`. Not here are
/// those that start what they are told to: `bisect run`, `submodule foreach`, `fetch` and `push` with a program of their own.
const WITH_STEPS: &[&[&str]] = &[
    &["am"],
    &["checkout"],
    &["cherry-pick"],
    &["gc"],
    &["merge"],
    &["pull"],
    &["rebase"],
    &["revert"],
    &["stash"],
    &["submodule--helper", "add"],
    &["submodule--helper", "clone"],
    &["submodule--helper", "update"],
    &["switch"],
    &["worktree"],
];
/// What speaks to another repository for a command of git. It pushes nothing itself: `send-pack` and `http-push` do.
const TRANSPORT: &[&str] =
    &["receive-pack", "remote-ext", "remote-fd", "remote-http", "remote-https", "upload-archive", "upload-pack"];
/// Where git has such programs, whoever installed it.
const GIT_PROGRAMS: &[&str] = &["/usr/lib/git-core", "/usr/libexec/git-core", "/usr/local/libexec/git-core"];

/// Who starts a program.
#[derive(Debug, Default)]
pub struct Starter<'e> {
    /// Its words.
    pub argv: Vec<&'e str>,
    /// It certainly is the same program.
    pub is_same: bool,
    /// The file that it runs, where that is certain.
    pub file: Option<&'e str>,
}

/// Whether a program that starts is a step of the work of those that start it, the nearest first. Rules are about what
/// somebody asks for, and that was judged when the first one started.
pub fn is_step<'e>(started: &[&str], by: impl FnOnce() -> Vec<Starter<'e>>) -> bool {
    let Some(verb) = git_words(started).and_then(|words| words.first().copied()) else { return false };
    let by = by();
    let Some((nearest, others)) = by.split_first() else { return false };
    match verb {
        _ if TRANSPORT.contains(&verb) => true,
        "send-pack" | "http-push" => {
            let is_helper = |file: &str| {
                let (directory, name) = file.rsplit_once('/').unwrap_or_default();
                GIT_PROGRAMS.contains(&directory) && name.starts_with("git-remote-http")
            };
            let pushes =
                |it: &Starter<'_>| it.is_same && git_words(&it.argv).is_some_and(|it| it.starts_with(&["push"]));
            nearest.file.is_some_and(is_helper) && others.iter().any(pushes)
        }
        // No step of another command pushes: code that was loaded into git would.
        "push" => false,
        _ => {
            let words = git_words(&nearest.argv).filter(|_| nearest.is_same).unwrap_or_default();
            WITH_STEPS.iter().any(|it| words.starts_with(it))
        }
    }
}

/// The words from git's command on: `push x` of `git -C y push x`, and of `git-push x`.
fn git_words<'e>(argv: &[&'e str]) -> Option<Vec<&'e str>> {
    let (name, rest) = argv.split_first()?;
    if let Some(verb) = base_name(name).strip_prefix("git-") {
        return Some([&[verb], rest].concat());
    }
    if base_name(name) != "git" {
        return None;
    }
    let words: Vec<Word> = argv.iter().copied().map(Word::constant).collect();
    Some(argv.get(programs::git_verb(&words).0?..)?.to_vec())
}

/// The command as it is mostly written, or the one that a program carries out in its own process.
fn behind(words: &[Word]) -> Vec<Word> {
    let Some(name) = words.first().and_then(Word::as_constant).map(base_name) else { return Vec::new() };
    if let Some(short) = programs::in_short(name, words) {
        return short;
    }
    let program = programs::known(name);
    if !program.runs().has("itself") {
        return Vec::new();
    }
    let first = wrapper_of(&program, words).and_then(|wrapper| wrapper.operands().first().map(|item| item.at + 1));
    first.map_or_else(Vec::new, |first| words[first..].to_vec())
}

/// The programs whose start rules may be about that name these programs, by their names without a directory.
pub fn starts_of(is_named: impl Fn(&str) -> bool) -> impl Iterator<Item = &'static str> {
    let is_it = move |name: &&'static str| {
        let program = programs::known(name);
        program.same().is_some_and(&is_named)
            || programs::other_programs(&program).any(&is_named)
            || program.runs().has("itself")
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
