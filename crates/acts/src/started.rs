//! A program that was seen to start, by its words: nothing of them is computed any more.

use super::names::base_name;
use super::programs::{self, wrapper_of};
use super::word::Word;
use super::{Command, Script, Shell, Span};

/// So many programs that carry each other's words out in their own process are read.
const MOST: usize = 4;

impl Script {
    /// What a program does itself that starts with these words: it is one command, and nothing of
    /// it is in doubt. A program that it starts in turn is a start of its own, so that no word is
    /// read as another command's; but for programs that carry a command out without starting one:
    /// `busybox rm x`. `at`: what its words are as a text, in bytes.
    pub fn of_program<'w>(argv: impl IntoIterator<Item = &'w str>, at: Span) -> Script {
        let mut words: Vec<Word> = argv.into_iter().map(Word::constant).collect();
        let mut script = Script::default();
        while !words.is_empty() && script.commands.len() < MOST {
            let behind = behind(&words);
            script.commands.push(Command {
                words,
                span: at.clone(),
                ..Command::default()
            });
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
    let at = rest
        .iter()
        .take_while(|word| word.starts_with('-'))
        .position(|word| is_text(word))?;
    rest.get(at + 1)
        .filter(|_| !matches!(shell, Shell::Other | Shell::Unknown))
        .map(|text| (shell, *text))
}

/// What commands of git start as steps of their own work: how a command begins, and how its steps
/// do. The first row that fits decides. A step that destroys something stands here with the options
/// that git gives it, because settings of git may have it start itself with other words:
/// `GIT_EXTERNAL_DIFF=git`.
const STEPS: &[(&str, &[&str])] = &[
    (
        "am",
        &[
            "apply",
            "gc --auto",
            "mailinfo",
            "mailsplit",
            "maintenance run --auto",
        ],
    ),
    ("checkout", PATCHES),
    ("cherry-pick", &["commit", "reset --merge"]),
    ("commit", &["gc --auto", "maintenance run --auto"]),
    ("fetch", &["gc --auto", "maintenance run --auto"]),
    (
        "gc",
        &[
            "pack-refs",
            "prune --expire",
            "prune-packed",
            "reflog expire --all",
            "repack -d",
            "rerere gc",
            "worktree prune --expire",
        ],
    ),
    (
        "maintenance run",
        &[
            "commit-graph write",
            "fetch",
            "gc",
            "multi-pack-index",
            "pack-refs",
            "prune-packed",
            "repack -d",
        ],
    ),
    (
        "merge",
        &[
            "gc --auto",
            "maintenance run --auto",
            "stash apply",
            "stash create",
            "stash store",
        ],
    ),
    ("pull", &["fetch", "merge", "rebase", "submodule update"]),
    (
        "rebase",
        &[
            "am --rebasing",
            "commit",
            "format-patch",
            "gc --auto",
            "maintenance run --auto",
            "merge -s",
            "notes copy",
            "stash apply",
            "stash create",
            "stash store",
        ],
    ),
    ("revert", &["commit", "reset --merge"]),
    ("stash list", &["log --format"]),
    ("stash show", &[]),
    (
        "stash",
        &[
            "add -u",
            "apply --cached",
            "apply --index",
            "apply -R",
            "checkout --no-overlay",
            "checkout -b",
            "checkout-index",
            "clean --force --quiet",
            "diff-index",
            "diff-tree",
            "read-tree",
            "reset --hard -q",
            "reset --quiet --refresh",
            "reset -q --refresh",
            "status",
            "update-index",
        ],
    ),
    (
        "submodule--helper add",
        &[
            "add --dry-run",
            "add --force",
            "add --no-warn-embedded-repo",
            "checkout -f -q",
            CLONE,
        ],
    ),
    ("submodule--helper clone", &[CLONE]),
    (
        "submodule--helper update",
        &[
            "checkout -f -q",
            "checkout -q",
            "fetch",
            "merge",
            "rebase",
            CLONE,
        ],
    ),
    ("switch", PATCHES),
    (
        "worktree add",
        &["branch", "reset --hard", "symbolic-ref HEAD", "update-ref"],
    ),
    ("worktree remove", &["status --porcelain"]),
];
const CLONE: &str = "clone --no-checkout";
const PATCHES: &[&str] = &[
    "apply",
    "diff-files -p",
    "diff-index -p",
    "read-tree",
    "update-index",
];
/// Commands of git that speak to other repositories, by the programs below.
const CALLERS: &[&str] = &["archive", "clone", "fetch", "ls-remote", "push", "remote"];
/// What speaks to another repository. It pushes nothing itself: `send-pack` and `http-push` do.
const HELPERS: &[&str] = &[
    "remote-ext",
    "remote-fd",
    "remote-ftp",
    "remote-ftps",
    "remote-http",
    "remote-https",
];
/// What git starts for a repository of the same machine, by a shell.
const SERVERS: &[&str] = &["receive-pack", "upload-archive", "upload-pack"];
/// Where git has such programs, whoever installed it.
const GIT_PROGRAMS: &[&str] = &[
    "/usr/lib/git-core",
    "/usr/libexec/git-core",
    "/usr/local/libexec/git-core",
];

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

/// Whether a program that starts is a step of the work of those that start it, the nearest first.
/// Rules are about what somebody asks for, and that was judged when the first one started. Nobody
/// stands between: what a hook of an allowed push starts, the hook has asked for.
pub fn is_step<'e>(started: &[&str], by: impl FnOnce() -> Vec<Starter<'e>>) -> bool {
    let Some(step) = git_words(started).filter(|it| !it.is_empty()) else {
        return false;
    };
    let by = by();
    let Some((nearest, others)) = by.split_first() else {
        return false;
    };
    match step[0] {
        verb if HELPERS.contains(&verb) => nearest.is_git(CALLERS),
        // `git submodule` is a script.
        "submodule--helper" => {
            matches!(*nearest.argv, ["/bin/sh", script, ..] if is_gits(script, &["git-submodule"]))
                && others
                    .first()
                    .is_some_and(|caller| caller.is_git(&["submodule"]))
        }
        verb if SERVERS.contains(&verb) => {
            let is_shells =
                text_of_shell(&nearest.argv).is_some_and(|(_, text)| text == text_of(&step));
            is_shells && others.first().is_some_and(|caller| caller.is_git(CALLERS))
                || verb != "receive-pack" && nearest.runs(&["git-daemon", "git-http-backend"])
        }
        "send-pack" | "http-push" => {
            nearest.runs(&["git-remote-http", "git-remote-https"])
                && matches!(others, [helper, push, ..] if helper.is_git(HELPERS) && push.is_git(&["push"]))
        }
        // No step of another command pushes: code that was loaded into git would.
        "push" => false,
        _ => {
            let words = nearest.git_words();
            let row = STEPS.iter().find(|(command, _)| begins(&words, command));
            row.is_some_and(|(_, steps)| steps.iter().any(|it| begins(&step, it)))
        }
    }
}

impl Starter<'_> {
    /// Its words from git's command on; none if it isn't certainly git.
    fn git_words(&self) -> Vec<&str> {
        git_words(&self.argv)
            .filter(|_| self.is_same)
            .unwrap_or_default()
    }

    /// Whether it certainly runs one of these programs that git has.
    fn runs(&self, programs: &[&str]) -> bool {
        self.file.is_some_and(|file| is_gits(file, programs))
    }

    /// Whether it is one of these commands of git.
    fn is_git(&self, verbs: &[&str]) -> bool {
        self.git_words()
            .first()
            .is_some_and(|verb| verbs.contains(verb))
    }
}

/// Whether a file is one of these programs that git has.
fn is_gits(file: &str, programs: &[&str]) -> bool {
    let (directory, name) = file.rsplit_once('/').unwrap_or_default();
    GIT_PROGRAMS.contains(&directory) && programs.contains(&name)
}

fn begins(words: &[&str], with: &str) -> bool {
    let mut words = words.iter();
    with.split(' ').all(|word| words.next() == Some(&word))
}

/// The text by which git has a shell start one of its commands.
fn text_of(words: &[&str]) -> String {
    let quoted = words[1..]
        .iter()
        .map(|word| format!(" '{}'", word.replace('\'', "'\\''").replace('!', "'\\!'")));
    format!("git-{}{}", words[0], quoted.collect::<String>())
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
    let Some(name) = words.first().and_then(Word::as_constant).map(base_name) else {
        return Vec::new();
    };
    if let Some(short) = programs::in_short(name, words) {
        return short;
    }
    let program = programs::known(name);
    if !program.runs().has("itself") {
        return Vec::new();
    }
    let first = wrapper_of(&program, words)
        .and_then(|wrapper| wrapper.operands().first().map(|item| item.at + 1));
    first.map_or_else(Vec::new, |first| words[first..].to_vec())
}

/// The programs whose start rules may be about that name these programs, by their names without a
/// directory.
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

/// The programs of which it is known which hosts they connect to, by all of their names.
pub fn programs_of_hosts() -> impl Iterator<Item = &'static str> {
    let connects = |name: &str| {
        let main = programs::same_program(name).unwrap_or(name);
        programs::connect(name) || programs::connect(main)
    };
    let others = programs::connecting();
    programs::program_names()
        .filter(move |name| connects(name))
        .chain(others)
}

/// The programs of which the table knows what they do with files.
pub fn programs_of_files() -> impl Iterator<Item = &'static str> {
    programs::program_names().filter(|name| programs::has_files(name))
}
