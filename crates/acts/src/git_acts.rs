//! What commands of git are about, as their words say it: the repository that they are told, and
//! what comes of the branch that is checked out.

use super::names::base_name;
use super::programs;
use super::word::Openness;
use super::{Command, Word};

/// A command of git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitAct {
    /// What it does: `commit`.
    pub verb: String,
    /// The directories that it goes into first, each from the one before (`-C`).
    pub into: Vec<String>,
    /// The settings that it is given (`-c`).
    pub settings: Vec<String>,
    /// The words behind the verb; what isn't known of one is [`UNKNOWN`]. None for a verb whose
    /// words don't matter, if one of them is computed.
    pub words: Vec<String>,
}

/// Stands for the rest of a word, of which the text says only how it begins.
pub const UNKNOWN: char = '…';

/// What a command of git does to the branch that is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Nothing.
    Stays,
    /// This branch is checked out then, which it begins or renames the one to that is.
    Begins(String),
    /// It checks a branch out, if there is one of the name.
    To(String),
    /// It checks out what is no branch.
    Detaches,
    /// What was checked out before is so again.
    Back,
    /// That isn't told.
    Somewhere,
}

/// What a push or a fetch is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// The remote, by name or address, if it is named.
    pub remote: Option<String>,
    /// The branches of the remote that are named, `*` in which is any text; `HEAD` is the one that
    /// is checked out here. Nothing if none is named, so that settings count.
    pub branches: Option<Vec<String>>,
    /// The branches that are named without where they go: settings may send them elsewhere.
    pub by_name: Vec<String>,
}

/// Every branch.
const ALL: &str = "*";

/// What exchanges branches with a remote.
const EXCHANGES: [&str; 3] = ["push", "fetch", "pull"];

/// A word that the text decides.
fn constant(word: &Word) -> Option<String> {
    match word.openness {
        _ if word.is_branch() => Some("HEAD".to_string()),
        // A pattern that fits no file stays what it is.
        Openness::Files(_) => Some(word.text.to_string()),
        _ => word.as_constant_path().map(|path| path.into_owned()),
    }
}

/// A word, as far as the text decides it: nothing if it may be an option, or several words.
fn beginning(word: &Word) -> Option<String> {
    let is_one = match word.openness {
        Openness::Operand(_) => true,
        Openness::Computed(at, spreads) => at > 0 && !spreads,
        Openness::Constant | Openness::Files(_) => false,
    };
    constant(word).or_else(|| is_one.then(|| format!("{}{UNKNOWN}", word.beginning())))
}

impl Command {
    /// The command of git that this is; none if it is another program's.
    ///
    /// # Errors
    /// Its words are computed, or name a repository in another way than by a directory.
    pub fn git_act(&self) -> Option<Result<GitAct, &'static str>> {
        const COMPUTED: &str = "a word of git is computed";
        let head = self.words.first()?;
        if base_name(&head.text) != "git" {
            return None;
        }
        let Some(at) = programs::git_verb(&self.words).0 else {
            return Some(Err(COMPUTED));
        };
        let before: Option<Vec<String>> = self.words[1..at].iter().map(constant).collect();
        let (Some(before), Some(verb)) = (before, constant(&self.words[at])) else {
            return Some(Err(COMPUTED));
        };
        let is_elsewhere = |word: &String| {
            ["--git-dir", "--work-tree", "--namespace"]
                .iter()
                .any(|option| word.starts_with(option))
        };
        if before.iter().any(is_elsewhere) {
            return Some(Err(
                "git is told another repository than that of a directory",
            ));
        }
        let is_setting = |word: &String| {
            let changes = [
                "alias.",
                "push.",
                "branch.",
                "include",
                "core.worktree",
                "core.bare",
            ];
            word.starts_with("--config-env") || changes.iter().any(|it| word.starts_with(it))
        };
        let runs = programs::git_runs(&verb);
        if before.iter().any(is_setting) || !runs.has("own") && verb != "lfs" {
            return Some(Err("settings of git may say what it does"));
        }
        let words: Option<Vec<String>> = self.words[at + 1..].iter().map(beginning).collect();
        let matter = !runs.has("stays") || EXCHANGES.contains(&&*verb);
        let words = match words {
            Some(words) => words,
            None if matter => return Some(Err(COMPUTED)),
            None => Vec::new(),
        };
        let values = |option: &str| {
            let pairs = before.windows(2).filter(|pair| pair[0] == option);
            pairs.map(|pair| pair[1].clone()).collect()
        };
        Some(Ok(GitAct {
            verb,
            into: values("-C"),
            settings: values("-c"),
            words,
        }))
    }
}

/// Options of `checkout` and `switch` that have a value behind them, but for those that begin a
/// branch.
const WITH_VALUE: [&str; 2] = ["--conflict", "--pathspec-from-file"];

impl GitAct {
    /// What it does to the branch that is checked out.
    pub fn moves(&self) -> Moves {
        match &*self.verb {
            "switch" | "checkout" => self.checks_out(),
            verb if programs::git_runs(verb).has("stays") => Moves::Stays,
            "pull" | "worktree" | "clone" | "gc" | "config" | "notes" | "maintenance"
            | "submodule" | "lfs" | "apply" | "format-patch" | "reflog" | "repack" | "prune"
            | "update-index" | "sparse-checkout" => Moves::Stays,
            "stash" => match self.operands().as_slice() {
                ["branch", name, ..] => Moves::Begins((*name).to_string()),
                _ => Moves::Stays,
            },
            "branch" if !self.words.iter().any(|word| is_renaming(word)) => Moves::Stays,
            "branch" => match self.operands().as_slice() {
                [new] => Moves::Begins((*new).to_string()),
                [_, new] => Moves::To((*new).to_string()),
                _ => Moves::Somewhere,
            },
            "symbolic-ref" => match self.operands().as_slice() {
                [_] => Moves::Stays,
                ["HEAD", to, ..] => Moves::Begins(branch_name(to).to_string()),
                _ => Moves::Somewhere,
            },
            "rebase" => self.rebases(),
            _ => Moves::Somewhere,
        }
    }

    /// The words that are no options, and no values of those that have one behind them.
    pub fn operands_but(&self, with_value: &[&str]) -> Vec<&str> {
        let mut operands = Vec::new();
        let mut words = self.words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                _ if with_value.contains(&word) => drop(words.next()),
                _ if word.starts_with('-') => {}
                _ => operands.push(word),
            }
        }
        operands
    }

    fn operands(&self) -> Vec<&str> {
        self.operands_but(&[])
    }

    /// What `rebase` checks out: the branch that it is told to move.
    fn rebases(&self) -> Moves {
        const WITH_VALUE: [&str; 9] = [
            "-X",
            "--strategy-option",
            "-s",
            "--strategy",
            "--onto",
            "-x",
            "--exec",
            "-C",
            "--empty",
        ];
        let is_root = self.words.iter().any(|word| word == "--root");
        let operands = self.operands_but(&WITH_VALUE);
        match operands.as_slice() {
            [name] if is_root => Moves::To((*name).to_string()),
            [] | [_] => Moves::Stays,
            [_, name, ..] => Moves::To((*name).to_string()),
        }
    }

    /// The work tree that it makes, and the branch that is checked out there, if it does.
    pub fn makes_work_tree(&self) -> Option<(&str, Option<&str>)> {
        let mut words = self.words.iter().map(String::as_str);
        if self.verb != "worktree" || words.next() != Some("add") {
            return None;
        }
        let (mut operands, mut begun) = (Vec::new(), None);
        while let Some(word) = words.next() {
            match word {
                "-b" | "-B" => begun = words.next(),
                "--reason" => {
                    words.next();
                }
                "-d" | "--detach" | "--orphan" => return None,
                _ if word.starts_with('-') => {}
                _ => operands.push(word),
            }
        }
        let path = *operands.first()?;
        let branch = begun.or(match operands.get(1) {
            Some(branch) => Some(*branch),
            None => path.trim_end_matches('/').rsplit('/').next(),
        });
        Some((path, branch))
    }

    /// The first branch of the repository that it makes where it runs, if it says one.
    pub fn begins_repository(&self) -> Option<&str> {
        if self.verb != "init" {
            return None;
        }
        let (mut begun, mut words) = (None, self.words.iter().map(String::as_str));
        while let Some(word) = words.next() {
            match word.split_once('=') {
                Some(("--initial-branch", name)) => begun = Some(name),
                _ if matches!(word, "-b" | "--initial-branch") => begun = words.next(),
                _ if matches!(word, "-q" | "--quiet" | "--bare") => {}
                _ => return None,
            }
        }
        begun
    }

    fn checks_out(&self) -> Moves {
        let mut operands = Vec::new();
        let mut words = self.words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "-b" | "-B" | "-c" | "-C" | "--create" | "--force-create" | "--orphan" => {
                    return words
                        .next()
                        .map_or(Moves::Somewhere, |name| Moves::Begins(name.into()));
                }
                "-d" | "--detach" => return Moves::Detaches,
                "-p" | "--patch" => return Moves::Stays,
                // Paths stand behind it.
                "--" => {
                    if words.next().is_some() {
                        return Moves::Stays;
                    }
                }
                _ if WITH_VALUE.contains(&word) => drop(words.next()),
                "-" => return Moves::Back,
                _ if word.starts_with("--pathspec-from-file=") => return Moves::Stays,
                _ if word.starts_with("--") => {
                    if word.contains("create")
                        || word.starts_with("--track")
                        || word.starts_with("--orphan")
                    {
                        return Moves::Somewhere;
                    }
                }
                // Several in one: `-qp`, `-bname`.
                _ if word.starts_with('-') => {
                    match word.find(['b', 'B', 'c', 'C', 't', 'p', 'd']) {
                        Some(at) if word[at..].starts_with('p') => return Moves::Stays,
                        Some(at) if word[at..].starts_with('d') => return Moves::Detaches,
                        Some(_) => return Moves::Somewhere,
                        None => {}
                    }
                }
                _ => operands.push(word),
            }
        }
        match operands.as_slice() {
            [] => Moves::Stays,
            ["HEAD" | "@"] => Moves::Stays,
            [only] if only.contains("@{") => Moves::Somewhere,
            [only] => Moves::To((*only).to_string()),
            // A tree and paths of it.
            [_, _, ..] => Moves::Stays,
        }
    }

    /// What it exchanges with a remote, if it does.
    pub fn exchanges(&self) -> Option<Exchange> {
        if !EXCHANGES.contains(&&*self.verb) {
            return None;
        }
        let mut exchange = Exchange::default();
        let (mut operands, mut named) = (Vec::new(), Vec::new());
        let mut names_other = false;
        let mut words = self.words.iter().map(String::as_str);
        let is_push = self.verb == "push";
        while let Some(word) = words.next() {
            match word {
                "-o" | "--push-option" | "--receive-pack" | "--exec" | "--upload-pack"
                | "--depth" | "-j" | "--jobs" | "-s" | "--strategy" | "-X"
                | "--strategy-option" => {
                    words.next();
                }
                "--repo" => exchange.remote = words.next().map(str::to_string),
                "--all" | "--branches" | "--mirror" => named.push(ALL.to_string()),
                "--tags" => names_other = true,
                "--" => operands.extend(words.by_ref()),
                _ if word.starts_with("--repo=") => {
                    exchange.remote = word.split_once('=').map(|(_, remote)| remote.to_string());
                }
                _ if word.starts_with('-') => {}
                _ => operands.push(word),
            }
        }
        let mut operands = operands.into_iter();
        exchange.remote = operands.next().map(str::to_string).or(exchange.remote);
        let refspecs: Vec<&str> = operands.collect();
        names_other |= !refspecs.is_empty();
        let of_settings = self.settings.iter().filter_map(|setting| {
            let (name, value) = setting.split_once('=')?;
            let is_refspec = name.starts_with("remote.") && name.ends_with(".push");
            (is_push && !names_other && is_refspec).then_some(value)
        });
        for refspec in refspecs.iter().copied().chain(of_settings) {
            // What is left out.
            if refspec.starts_with('^') {
                continue;
            }
            let refspec = refspec.trim_start_matches('+');
            let (from, to) = refspec.split_once(':').unwrap_or_else(|| {
                exchange.by_name.push(branch_name(refspec).to_string());
                (refspec, refspec)
            });
            // A fetch is about what it takes.
            let name = if is_push { to } else { from };
            // What is unknown may have a colon, or be a reference of another kind.
            if !refspec.contains(':') && refspec.contains(UNKNOWN)
                || ["refs/heads/", "heads/"].iter().any(|it| {
                    name.strip_suffix(UNKNOWN)
                        .is_some_and(|name| it.starts_with(name))
                })
            {
                named.push(UNKNOWN.to_string());
                continue;
            }
            named.push(match name {
                "@" => "HEAD".to_string(),
                // Every branch that is on both sides.
                "" => ALL.to_string(),
                // `refs/*` and `*` hold for branches, too.
                "refs/*" => ALL.to_string(),
                name if name.starts_with("refs/") && !name.starts_with("refs/heads/") => continue,
                "tag" => continue,
                name => branch_name(name).to_string(),
            });
        }
        exchange.branches = (names_other || !named.is_empty()).then_some(named);
        Some(exchange)
    }
}

/// A branch without the place where references are.
fn branch_name(reference: &str) -> &str {
    let reference = reference.strip_prefix("refs/").unwrap_or(reference);
    reference.strip_prefix("heads/").unwrap_or(reference)
}

/// Whether an option of `git branch` has a branch renamed.
fn is_renaming(word: &str) -> bool {
    word == "--move"
        || !word.starts_with("--") && word.starts_with('-') && word.contains(['m', 'M'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shell, read};

    fn git_act(text: &str) -> GitAct {
        let script = read(text, Shell::Bash);
        script.commands()[0].git_act().unwrap().unwrap()
    }

    #[test]
    fn what_is_checked_out_is_known() {
        for (text, moves) in [
            ("git switch main", Moves::To("main".into())),
            ("git switch -c fix origin/main", Moves::Begins("fix".into())),
            ("git checkout -b fix", Moves::Begins("fix".into())),
            ("git -C sub checkout main", Moves::To("main".into())),
            ("git checkout main -- README.md", Moves::Stays),
            ("git checkout -- README.md", Moves::Stays),
            ("git checkout HEAD README.md", Moves::Stays),
            ("git switch -", Moves::Back),
            ("git switch --detach v1", Moves::Detaches),
            ("git branch -m new", Moves::Begins("new".into())),
            ("git branch new", Moves::Stays),
            ("git branch -c copy", Moves::Stays),
            ("git branch -m old new", Moves::To("new".into())),
            ("git checkout HEAD", Moves::Stays),
            ("git checkout -qp topic", Moves::Stays),
            ("git config user.email x", Moves::Stays),
            ("git rebase -X ours topic main", Moves::To("main".into())),
            (
                "git rebase --onto topic HEAD main",
                Moves::To("main".into()),
            ),
            ("git rebase -i main", Moves::Stays),
            ("git rebase --root main", Moves::To("main".into())),
            ("git commit -m x", Moves::Stays),
            ("git status", Moves::Stays),
            ("git stash branch x", Moves::Begins("x".into())),
            ("git stash pop", Moves::Stays),
            ("git bisect start", Moves::Somewhere),
            ("git rebase main topic", Moves::To("topic".into())),
            ("git rebase main", Moves::Stays),
            (
                "git symbolic-ref HEAD refs/heads/x",
                Moves::Begins("x".into()),
            ),
            ("git symbolic-ref --short HEAD", Moves::Stays),
        ] {
            assert_eq!(git_act(text).moves(), moves, "{text}");
        }
    }

    #[test]
    fn what_is_pushed_is_known() {
        for (text, remote, branches) in [
            ("git push", None, None),
            ("git push origin", Some("origin"), None),
            ("git push --tags", None, Some("")),
            ("git push -f origin HEAD:main", Some("origin"), Some("main")),
            (
                "git push origin +refs/heads/a:refs/heads/b c",
                Some("origin"),
                Some("b c"),
            ),
            ("git push origin :gone", Some("origin"), Some("gone")),
            ("git push -d origin gone", Some("origin"), Some("gone")),
            ("git push -o ci.skip origin @", Some("origin"), Some("HEAD")),
            ("git push --all", None, Some("*")),
            ("git push origin :", Some("origin"), Some("*")),
            (
                "git push origin 'refs/heads/r*' '^refs/heads/x'",
                Some("origin"),
                Some("r*"),
            ),
            ("git push origin refs/tags/v1", Some("origin"), Some("")),
            ("git -c remote.o.push=HEAD:main push", None, Some("main")),
            ("git fetch up main:old", Some("up"), Some("main")),
            ("git push \"$r\" x:docs", Some("…"), Some("docs")),
            ("git push o \"$b\"", Some("o"), Some("…")),
            // It may have a colon.
            ("git push o \"v$b\"", Some("o"), Some("…")),
            ("git push o \"x:v$b\"", Some("o"), Some("v…")),
            ("git push o \"x:refs/h$b\"", Some("o"), Some("…")),
            ("git push o \"x:refs/tags/$b\"", Some("o"), Some("")),
        ] {
            let found = git_act(text).exchanges().unwrap();
            let named = found.branches.map(|names| names.join(" "));
            assert_eq!(
                (found.remote.as_deref(), named.as_deref()),
                (remote, branches),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_computed_is_said() {
        for text in [
            "git $x",
            "git -C \"$d\" commit",
            "git --git-dir=x commit",
            "git -c alias.p=push p",
            "git nothing-known",
        ] {
            let script = read(text, Shell::Bash);
            let found = script.commands().iter().find_map(Command::git_act);
            assert!(matches!(found, Some(Err(_))), "{text}: {found:?}");
        }
    }
}
