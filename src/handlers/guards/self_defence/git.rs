//! What git takes away without naming it: files that it has kept, when another state is checked out, and files that it
//! hasn't, when a directory is cleaned.

use super::ground::Ground;
use crate::matching::shell::Word;
use crate::support::places as user;
use std::path::{Path, PathBuf};

/// An index is read up to this size.
const MOST_INDEX: u64 = 64 * 1024 * 1024;

/// The first guarded file that a command of git may take away or bring back.
pub(super) fn changes(words: &[Word], ground: &Ground<'_>, directories: &[PathBuf]) -> Option<PathBuf> {
    let (at, verb) = verb_of(words)?;
    let args: Vec<&str> = words[at + 1..].iter().map(|word| word.text.as_str()).collect();
    let has = |options: &[&str]| args.iter().any(|it| options.contains(it));
    let operands = args.iter().filter(|it| !it.starts_with('-')).count();
    let has_letter =
        |letter: char| args.iter().any(|it| it.starts_with('-') && !it.starts_with("--") && it.contains(letter));
    let is_start = has(&["-b", "-B", "-c", "-C", "--orphan", "--create"]);
    let is_new = is_start && operands < 2;
    let moves = match verb {
        "checkout" | "switch" => (operands > 0 || has(&["-", "--detach"])) && !is_new,
        "restore" => !has(&["--staged", "-S"]) || has(&["--worktree", "-W"]),
        "reset" => has(&["--hard", "--merge", "--keep"]),
        "read-tree" => has(&["-u", "-m", "--reset"]),
        "stash" => has(&["--"]),
        "checkout-index" | "revert" => !has(&["--abort", "--quit"]),
        _ => false,
    };
    let cleans = match verb {
        "clean" => (has_letter('f') || has(&["--force"])) && !has_letter('n') && !has(&["--dry-run"]),
        "stash" => has_letter('u') || has_letter('a') || has(&["--include-untracked", "--all"]),
        _ => false,
    };
    let takes_ignored =
        has(&["--all"]) || if verb == "clean" { has_letter('x') || has_letter('X') } else { has_letter('a') };
    if !moves && !cleans {
        return None;
    }
    // Where files are named, only these change.
    let named: Vec<&Word> = match (words.iter().position(|word| word.text == "--"), verb) {
        (Some(at), _) => words[at + 1..].iter().collect(),
        (None, "restore") => words[at + 1..].iter().filter(|word| !word.text.starts_with('-')).collect(),
        (None, "checkout") if has(&["--ours", "--theirs"]) => words[at + 1..].iter().collect(),
        (None, "checkout") if !is_start => operands_of(&words[at + 1..]).skip(1).collect(),
        (None, _) => Vec::new(),
    };
    let here = directories.first().map_or(ground.base, PathBuf::as_path);
    let (work_tree, index) = repository(here)?;
    let is_kept = |file: &Path| {
        let name = file.strip_prefix(&work_tree).ok().and_then(Path::to_str);
        name.is_some_and(|name| memchr::memmem::find(&index, format!("{name}\0").as_bytes()).is_some())
    };
    let paths: Vec<_> = named.iter().flat_map(|word| ground.named(word, directories)).collect();
    let is_meant = |file: &Path| named.is_empty() || paths.iter().any(|it| it.reaches(file));
    let is_in = |file: &&PathBuf| file.starts_with(&work_tree) && is_meant(file);
    let speaks_of_it =
        |file: &Path| std::fs::read(file).is_ok_and(|text| memchr::memmem::find(&text, b"hookwire").is_some());
    let is_definition = |file: &Path| file.components().any(|it| it.as_os_str() == ".hookwire");
    ground
        .files()
        .iter()
        .filter(is_in)
        .find(|file| match is_kept(file) {
            // Of definitions, those that a person has trusted stay in force.
            true => moves && !is_definition(file) && speaks_of_it(file),
            false => cleans && (takes_ignored || !is_ignored(&work_tree, file)),
        })
        .cloned()
}

/// The verb behind git's own options, and where it stands. With settings of the call's own, any program may run.
fn verb_of(words: &[Word]) -> Option<(usize, &str)> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match word.text.as_str() {
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => at += 2,
            "-c" => return None,
            text if text.starts_with('-') => at += 1,
            text => return Some((at, text)),
        }
    }
    None
}

/// The directory that an option says that git's files are in, which it doesn't know of otherwise.
pub(super) fn work_tree(words: &[Word]) -> Option<String> {
    const OPTION: &str = "--work-tree";
    words.iter().enumerate().find_map(|(at, word)| match word.text.strip_prefix(OPTION)? {
        "" => Some(words.get(at + 1)?.path().into_owned()),
        value => Some(value.strip_prefix('=')?.to_string()),
    })
}

fn operands_of(args: &[Word]) -> impl Iterator<Item = &Word> {
    args.iter().filter(|word| !word.text.starts_with('-'))
}

/// The nearest work tree upwards, and its index.
fn repository(here: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let work_tree = here.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
    let git = work_tree.join(".git");
    let dir = match std::fs::read_to_string(&git) {
        Ok(text) => work_tree.join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let index = dir.join("index");
    let is_small = index.metadata().is_ok_and(|about| about.len() <= MOST_INDEX);
    let bytes = if is_small { std::fs::read(index).unwrap_or_default() } else { Vec::new() };
    Some((work_tree.to_path_buf(), bytes))
}

/// Whether a line of the usual lists says that git is to pass over a file, or over a directory above it.
fn is_ignored(work_tree: &Path, file: &Path) -> bool {
    let of_user = [user::config().and_then(|it| Some(it.parent()?.join("git/ignore")))];
    let lists = [work_tree.join(".gitignore"), work_tree.join(".git/info/exclude")]
        .into_iter()
        .chain(of_user.into_iter().flatten());
    let Ok(inner) = file.strip_prefix(work_tree) else { return false };
    let is_it = |line: &str| {
        let line = line.trim().trim_start_matches("**/").trim_matches('/');
        !line.is_empty() && (inner.starts_with(line) || inner.iter().any(|name| name == line) || inner.ends_with(line))
    };
    lists.filter_map(|list| std::fs::read_to_string(list).ok()).any(|text| text.lines().any(is_it))
}
