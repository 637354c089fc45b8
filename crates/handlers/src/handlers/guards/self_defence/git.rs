//! What git takes away without naming it: files that it has kept, when another state is checked
//! out, and files that it hasn't, when a directory is cleaned.

use super::ground::Ground;
use super::ignored::Ignored;
use hookwire_base::support::file;
use hookwire_rules::matching::shell::{Command, Told, Word};
use hookwire_rules::matching::{paths, patience};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// An index is read up to this size.
const MOST_INDEX: u64 = 64 * 1024 * 1024;
/// Settings of an agent are read up to this size.
const MOST_SETTINGS: u64 = 1024 * 1024;
/// What a file that leads to git's directory holds at most.
const MOST_POINTER: u64 = 4096;

/// The first guarded file that a command of git may take away or bring back.
pub(super) fn changes(
    command: &Command,
    ground: &Ground<'_>,
    directories: &[PathBuf],
) -> Option<PathBuf> {
    let told = command
        .told()
        .filter(|it| it.names.first() == Some(&"git"))?;
    let act = Act::of(&told)?;
    if !patience::allows_slow() {
        return None;
    }
    directories.iter().find_map(|directory| {
        let elsewhere = told.values("-C").filter_map(Word::as_constant_path);
        let here = elsewhere.fold(directory.clone(), |here, dir| here.join(&*dir));
        act.changes(ground, &paths::normalise(&here))
    })
}

/// The directories that the options of a command say git's files are in, which it doesn't know of
/// otherwise.
pub(super) fn work_trees(command: &Command) -> Vec<Word> {
    let told = command.told().filter(|it| it.names.first() == Some(&"git"));
    told.map(|told| told.values("--work-tree").cloned().collect())
        .unwrap_or_default()
}

/// What a command of git does to a work tree.
struct Act<'c> {
    /// It makes kept files what they are in another state.
    moves: bool,
    /// It takes away files that aren't kept.
    cleans: bool,
    /// Ignored ones, too.
    takes_ignored: bool,
    /// Where files are named, only these change.
    named: Vec<&'c Word>,
}

impl<'c> Act<'c> {
    fn of(told: &Told<'c>) -> Option<Act<'c>> {
        let verb = *told.names.get(1)?;
        let has = |options: &[&str]| options.iter().any(|it| told.has(it));
        let operands = &told.operands;
        let begins = has(&["-b", "-B", "--create", "--force-create"])
            || verb == "checkout" && told.has("--orphan");
        let moves = match verb {
            // An orphan begins without files.
            "switch" if told.has("--orphan") => true,
            "checkout" | "switch" => {
                !operands.is_empty() || !begins && has(&["--detach", "--force"])
            }
            "restore" => !told.has("--staged") || told.has("--worktree"),
            "reset" => has(&["--hard", "--merge", "--keep"]),
            "read-tree" => has(&["-u", "-m", "--reset"]),
            "stash" => told.dashes.is_some(),
            "checkout-index" | "revert" => !has(&["--abort", "--quit"]),
            _ => false,
        };
        let cleans = match verb {
            "clean" => told.has("--force") && !told.has("--dry-run"),
            "stash" => has(&["-u", "--include-untracked", "-a", "--all"]),
            _ => false,
        };
        if !moves && !cleans {
            return None;
        }
        // With settings of the command's own, other lists may hold than those that are there.
        let has_own_rules = has(&["-c", "--config-env"])
            || told.values("--exclude").any(|it| it.text.starts_with('!'));
        let takes_ignored = has_own_rules
            || if verb == "clean" {
                has(&["-x", "-X"])
            } else {
                has(&["-a", "--all"])
            };
        let named = match (told.dashes, verb) {
            (Some(at), _) => operands.get(at..).unwrap_or_default(),
            (None, "restore" | "clean") => operands,
            (None, "checkout") if has(&["--ours", "--theirs"]) => operands,
            (None, "checkout") if !begins => operands.get(1..).unwrap_or_default(),
            (None, _) => &[],
        };
        // `:/` is the top of the work tree, and other signs choose in other ways.
        let is_plain =
            !told.has("--pathspec-from-file") && named.iter().all(|it| !it.text.starts_with(':'));
        let named = if is_plain { named.to_vec() } else { Vec::new() };
        Some(Act {
            moves,
            cleans,
            takes_ignored,
            named,
        })
    }

    /// The first guarded file that goes with it, from a directory.
    fn changes(&self, ground: &Ground<'_>, here: &Path) -> Option<PathBuf> {
        let repository = Repository::around(here)?;
        let mut ignored = Ignored::new(&repository.work_tree, &repository.common);
        let here = [here.to_path_buf()];
        let paths: Vec<_> = self
            .named
            .iter()
            .flat_map(|word| ground.named(word, &here))
            .collect();
        let is_meant =
            |file: &Path| self.named.is_empty() || paths.iter().any(|it| it.reaches(file));
        let is_definition = |file: &Path| file.components().any(|it| it.as_os_str() == ".hookwire");
        let all = ground.files().iter().take_while(|_| patience::is_left());
        let mut own = all.filter(|file| file.starts_with(&repository.work_tree) && is_meant(file));
        let goes = |file: &&PathBuf| {
            let (may_be_kept, may_be_new) = match repository.keeps(file) {
                Some(is_kept) => (is_kept, !is_kept),
                None => (true, true),
            };
            // Of definitions, those that a person has trusted stay in force.
            may_be_kept && self.moves && !is_definition(file) && may_speak_of_it(file)
                || may_be_new && self.cleans && (self.takes_ignored || !ignored.has(file))
        };
        own.find(goes).cloned()
    }
}

/// Whether a file names hookwire. One that can't be read may.
fn may_speak_of_it(file: &Path) -> bool {
    match file::read_small(file, MOST_SETTINGS) {
        Ok(bytes) => memchr::memmem::find(&bytes, b"hookwire").is_some(),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// A work tree and what git keeps of it.
struct Repository {
    work_tree: PathBuf,
    /// Git's directory for all work trees of the repository.
    common: PathBuf,
    /// Nothing if it can't be read.
    index: Option<Vec<u8>>,
}

impl Repository {
    /// The nearest one upwards.
    fn around(here: &Path) -> Option<Repository> {
        let work_tree = here
            .ancestors()
            .find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
        let mut own = work_tree.join(".git");
        if !own.is_dir() {
            let pointer = file::read_small(&own, MOST_POINTER).ok()?;
            own = work_tree.join(
                std::str::from_utf8(&pointer)
                    .ok()?
                    .strip_prefix("gitdir:")?
                    .trim(),
            );
        }
        let common = file::read_small(&own.join("commondir"), MOST_POINTER).ok();
        let common = common
            .and_then(|it| String::from_utf8(it).ok())
            .map(|it| own.join(it.trim()));
        let index = match file::read_small(&own.join("index"), MOST_INDEX) {
            Ok(index) => Some(index),
            // Nothing is kept yet.
            Err(error) if error.kind() == ErrorKind::NotFound => Some(Vec::new()),
            Err(_) => None,
        };
        Some(Repository {
            work_tree: work_tree.to_path_buf(),
            common: common.unwrap_or(own),
            index,
        })
    }

    /// Whether git keeps a file; nothing if that can't be told.
    fn keeps(&self, file: &Path) -> Option<bool> {
        let index = self.index.as_ref()?;
        let name = file
            .strip_prefix(&self.work_tree)
            .ok()
            .and_then(Path::to_str)?;
        Some(memchr::memmem::find(index, format!("{name}\0").as_bytes()).is_some())
    }
}
