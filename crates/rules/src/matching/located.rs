//! `where`, and `act` of `when`: the directory, the repository, the branch and the remote of what a
//! rule hits.

use super::call::{Subject, Thing};
use super::paths::{self, PathPattern};
use super::repository::{Head, Repository};
use super::shell::{Command, Exchange, GitAct, Located, Moves, Script, UNKNOWN};
use super::when::When;
use super::{Facts, Reading, patience, text_glob};
use globset::GlobMatcher;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What `branch: default` stands for.
const DEFAULT: &str = "default";
/// What git calls a branch when none is checked out.
const NO_BRANCH: &str = "HEAD";
/// Behind so many commands of a text it isn't followed what these do.
const MOST_COMMANDS: usize = 256;
/// The names that git itself gives to a first branch.
const FIRST: [&str; 2] = ["main", "master"];

/// `where` of a hook. All that it says has to hold; of several patterns one is enough.
#[derive(Debug, Default)]
pub struct Where {
    branches: Vec<Branch>,
    directories: Vec<PathPattern>,
    repositories: Vec<PathPattern>,
    remotes: Vec<GlobMatcher>,
    /// An expression about the act.
    when: Option<Arc<When>>,
    /// The expression asks what only a repository tells.
    when_asks_repository: bool,
}

#[derive(Debug)]
enum Branch {
    /// The one that the remote has checked out.
    Default,
    Named(GlobMatcher),
}

/// A key of `where`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The branch that is checked out, or that a push or a fetch is for.
    Branch,
    /// The directory that it happens in.
    Directory,
    /// The root of the work tree.
    Repository,
    /// The remote of a push or a fetch, by name or address.
    Remote,
}

impl Where {
    /// Adds a pattern to one of the keys.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn add(&mut self, key: Key, pattern: &str) -> Result<(), String> {
        match key {
            Key::Branch if pattern == DEFAULT => self.branches.push(Branch::Default),
            Key::Branch => self.branches.push(Branch::Named(text_glob(pattern)?)),
            Key::Directory => self.directories.push(directory_pattern(pattern)?),
            Key::Repository => self.repositories.push(directory_pattern(pattern)?),
            Key::Remote => self.remotes.push(text_glob(pattern)?),
        }
        Ok(())
    }

    /// Adds an expression that names the act.
    pub fn add_when(&mut self, when: Arc<When>) {
        let of_repository = ["repository", "branch", "remote"];
        self.when_asks_repository = of_repository.iter().any(|it| when.reads_of_act(it));
        self.when = Some(when);
    }

    /// Whether a command of a text is there.
    pub(super) fn has_command(
        &self,
        facts: &Facts,
        (script, text): (&Script, &str),
        at: usize,
        reading: Reading,
    ) -> Located {
        // Whoever has no time for the disk is given no answer.
        if !patience::allows_slow() {
            return Located::Elsewhere;
        }
        let Some(command) = script.commands().get(at) else {
            return Located::Elsewhere;
        };
        if at >= MOST_COMMANDS {
            return Located::Unclear("too many commands stand before it");
        }
        let act = match command.git_act() {
            Some(Ok(act)) => Some(act),
            Some(Err(why)) => return Located::Unclear(why),
            None => None,
        };
        let Some(directories) = directories_of(facts, command, act.as_ref()) else {
            return Located::Unclear("the directory is computed");
        };
        let of_directory = |directory: PathBuf| {
            let normal = self.when.as_ref().map(|_| command.normal());
            self.has(facts, (normal, &directory), reading, || {
                Happening::of_command(facts, (script, text), at, act.as_ref(), &directory)
            })
        };
        among(reading, directories.into_iter().map(of_directory))
    }

    /// Whether what happens in a directory, and is no command, is there.
    pub(super) fn has_directory(
        &self,
        facts: &Facts,
        directory: &Path,
        reading: Reading,
    ) -> Located {
        if !patience::allows_slow() {
            return Located::Elsewhere;
        }
        // A file may be made with its directory.
        let there = directory.ancestors().find(|it| it.is_dir());
        let directory = there.unwrap_or(directory);
        self.has(facts, (None, directory), reading, || {
            Happening::at(directory)
        })
    }

    /// Whether some, or all, of a call is there.
    pub(super) fn has_subject(
        &self,
        facts: &Facts,
        subject: &Subject,
        reading: Reading,
    ) -> Located {
        match subject {
            Subject::Shell { script, text } if !script.commands().is_empty() => {
                let each = 0..script.commands().len();
                among(
                    reading,
                    each.map(|at| self.has_command(facts, (script, text), at, reading)),
                )
            }
            Subject::Items(items) if !items.is_empty() => {
                let each = items.iter();
                among(
                    reading,
                    each.map(|item| self.has_thing(facts, &item.value, reading)),
                )
            }
            Subject::Shell { .. } | Subject::Items(_) | Subject::Unclear(_) => {
                self.has_directory(facts, facts.runs_in(), reading)
            }
        }
    }

    /// Whether one thing that a call is about is there: a file is where its directory is.
    pub(super) fn has_thing(&self, facts: &Facts, thing: &Thing, reading: Reading) -> Located {
        match thing {
            Thing::Path(views) => self.has_files(facts, [&*views.lexical].into_iter(), reading),
            _ => self.has_directory(facts, facts.runs_in(), reading),
        }
    }

    /// Whether some, or all, of these files are there; without any, what happens is.
    pub(super) fn has_files<'p>(
        &self,
        facts: &Facts,
        files: impl Iterator<Item = &'p Path>,
        reading: Reading,
    ) -> Located {
        let mut directories: Vec<&Path> = files.map(|file| file.parent().unwrap_or(file)).collect();
        if directories.is_empty() {
            directories.push(facts.runs_in());
        }
        directories.dedup();
        let each = directories.into_iter();
        among(
            reading,
            each.map(|directory| self.has_directory(facts, directory, reading)),
        )
    }

    fn has(
        &self,
        facts: &Facts,
        (command, directory): (Option<String>, &Path),
        reading: Reading,
        happening: impl FnOnce() -> Result<Option<Happening>, &'static str>,
    ) -> Located {
        let fits = |patterns: &[PathPattern], path: &Path| {
            let views = paths::views(&path.to_string_lossy(), facts.base());
            let is_there = |pattern: &PathPattern| match reading {
                Reading::Hits => pattern.matches_any(&views),
                Reading::Covers => pattern.matches_all(&views),
            };
            patterns.is_empty() || patterns.iter().any(is_there)
        };
        if !fits(&self.directories, directory) {
            return Located::Elsewhere;
        }
        let names_place =
            !self.repositories.is_empty() || !self.branches.is_empty() || !self.remotes.is_empty();
        let happening = match names_place || self.when_asks_repository {
            true => happening(),
            false => Ok(None),
        };
        let placed = match &happening {
            _ if !names_place => Located::Here,
            Ok(Some(happening)) => self.has_place(happening, fits, reading),
            Ok(None) => Located::Elsewhere,
            Err(why) => Located::Unclear(why),
        };
        let by_expression = || match &self.when {
            Some(when) => holds_for(when, facts, (command, directory), &happening, reading),
            None => Located::Here,
        };
        both(placed, by_expression)
    }

    /// Whether something happens where all keys say that are about repositories.
    fn has_place(
        &self,
        happening: &Happening,
        fits: impl Fn(&[PathPattern], &Path) -> bool,
        reading: Reading,
    ) -> Located {
        let root = happening.repository.as_ref().map(|it| &*it.root);
        if !self.repositories.is_empty() && !root.is_some_and(|root| fits(&self.repositories, root))
        {
            return Located::Elsewhere;
        }
        let of_remote = match self.remotes.is_empty() {
            true => Located::Here,
            false => happening.is_with(&self.remotes),
        };
        both(of_remote, || match self.branches.is_empty() {
            true => Located::Here,
            false => happening.is_on(&self.branches, reading),
        })
    }
}

/// It takes both.
fn both(first: Located, second: impl FnOnce() -> Located) -> Located {
    match first {
        Located::Elsewhere => Located::Elsewhere,
        Located::Here => second(),
        unclear => match second() {
            Located::Elsewhere => Located::Elsewhere,
            _ => unclear,
        },
    }
}

/// Whether an expression holds for an act. A member that can't be told isn't there, so that only
/// an expression that needs it is in doubt.
fn holds_for(
    when: &When,
    facts: &Facts,
    (command, directory): (Option<String>, &Path),
    happening: &Result<Option<Happening>, &'static str>,
    reading: Reading,
) -> Located {
    let text = |path: &Path| Value::from(path.to_string_lossy());
    let mut act = Map::new();
    act.insert("command".into(), command.into());
    act.insert("directory".into(), text(&paths::normalise(directory)));
    let (mut branches, mut doubt) = (vec![None], None);
    match happening {
        Err(why) => {
            doubt = Some(*why);
            branches = Vec::new();
        }
        Ok(None) => {
            for name in ["repository", "remote"] {
                act.insert(name.into(), Value::Null);
            }
        }
        Ok(Some(happening)) => {
            let root = happening.repository.as_ref().map(|it| text(&it.root));
            act.insert("repository".into(), root.into());
            match happening.remote_name() {
                Ok(name) => drop(act.insert("remote".into(), name.into())),
                Err(why) => doubt = Some(why),
            }
            let names = happening.branch_names();
            let is_known = |name: &&str| !name.contains(UNKNOWN) && !name.contains('*');
            let known = names.iter().copied().filter(is_known).map(Some);
            branches = known.collect();
            doubt = match names.iter().all(is_known) {
                true => happening.or_else.or(doubt),
                false => Some("the branch is computed"),
            };
        }
    }
    let holds = |act: Map<String, Value>| {
        when.holds_for_act(facts.event.data(), &Value::Object(act))
            .map_or_else(
                || Located::Unclear(doubt.unwrap_or("`when` can't be told of the act")),
                here_if,
            )
    };
    let of_branch = |branch: Option<&str>| {
        let mut act = act.clone();
        act.insert("branch".into(), branch.into());
        holds(act)
    };
    let of_unknown = (doubt.is_some() || branches.is_empty()).then(|| holds(act.clone()));
    let each = branches.into_iter().map(of_branch);
    among(reading, each.chain(of_unknown))
}

/// A pattern of directories: a relative one names them wherever they are.
fn directory_pattern(pattern: &str) -> Result<PathPattern, String> {
    let relative = pattern.strip_prefix("./").unwrap_or(pattern);
    match relative.starts_with(['/', '~']) || relative.is_empty() {
        true => PathPattern::new(pattern),
        false => PathPattern::new(&format!("/**/{}", relative.trim_start_matches("**/"))),
    }
}

/// Of several places that something may be at: any for what stops, all for what allows.
fn among(reading: Reading, places: impl Iterator<Item = Located>) -> Located {
    let mut unclear = None;
    let (mut is_here, mut is_elsewhere) = (false, false);
    for place in places {
        match place {
            Located::Here => is_here = true,
            Located::Elsewhere => is_elsewhere = true,
            Located::Unclear(why) => unclear = Some(why),
        }
    }
    match reading {
        Reading::Hits if is_here => Located::Here,
        Reading::Covers if is_elsewhere => Located::Elsewhere,
        _ => match unclear {
            Some(why) => Located::Unclear(why),
            None if is_here => Located::Here,
            None => Located::Elsewhere,
        },
    }
}

fn here_if(is_here: bool) -> Located {
    match is_here {
        true => Located::Here,
        false => Located::Elsewhere,
    }
}

/// Where a command may run, and a command of git goes from there; nothing if it may be anywhere.
pub(super) fn directories_of(
    facts: &Facts,
    command: &Command,
    act: Option<&GitAct>,
) -> Option<Vec<PathBuf>> {
    let whole = |directory: &str| -> Option<PathBuf> {
        let mut path = below(facts.runs_in(), directory)?;
        for into in act.iter().flat_map(|act| &act.into) {
            path = below(&path, into)?;
        }
        Some(path)
    };
    command.directories()?.map(whole).collect()
}

/// A directory from another one, from the root, or from the home with `~`.
fn below(from: &Path, directory: &str) -> Option<PathBuf> {
    match directory.strip_prefix('~') {
        Some("") => Some(paths::home()?.to_path_buf()),
        Some(rest) => Some(paths::home()?.join(rest.strip_prefix('/')?)),
        None => Some(from.join(directory)),
    }
}

/// Whether the last of these commands runs only if each before it has done what it is to do: `&&`
/// stands between them.
fn runs_only_after(commands: &[Command], text: &str) -> bool {
    commands.windows(2).all(|pair| {
        // What is within another is part of it.
        let between = pair[0].span.end..pair[1].span.start;
        text.get(between).is_none_or(|between| {
            let between = between
                .replace(">&", "")
                .replace("&>", "")
                .replace("\\\n", "");
            match between.split_once("&&") {
                Some((before, behind)) => {
                    let ends = [';', '|', '&', '\n'];
                    !before.contains(ends) && !behind.trim_start().contains(ends)
                }
                None => false,
            }
        })
    })
}

/// Whether a command of git sets where a later push goes.
fn sets_branches(command: &Command) -> bool {
    command.git_act().is_some_and(|act| {
        act.is_ok_and(|act| {
            let is_upstream = |word: &String| {
                word.starts_with("-u")
                    || word.starts_with("--set-upstream-to")
                    || word.starts_with("-t")
            };
            let names = |word: &String| {
                ["push", "remote", "branch", "include"]
                    .iter()
                    .any(|name| word.contains(name))
            };
            match &*act.verb {
                "branch" => act.words.iter().any(is_upstream),
                "config" => act.words.iter().any(names),
                _ => false,
            }
        })
    })
}

/// What happens in a repository.
#[derive(Default)]
struct Happening {
    /// None where there is none yet, as far as the text tells.
    repository: Option<Repository>,
    /// What may be checked out then.
    heads: Vec<Head>,
    /// Why something else may be.
    or_else: Option<&'static str>,
    /// What was checked out before that, as far as the text tells.
    before: Option<Vec<Head>>,
    /// The branches that it is about instead.
    named: Option<Vec<String>>,
    /// The remote that it is with, if it is.
    remote: Option<Option<String>>,
}

impl Happening {
    fn at(directory: &Path) -> Result<Option<Happening>, &'static str> {
        let Some(repository) = Repository::find(directory)? else {
            return Ok(None);
        };
        let heads = vec![repository.head()?];
        Ok(Some(Happening {
            repository: Some(repository),
            heads,
            ..Happening::default()
        }))
    }

    fn of_command(
        facts: &Facts,
        (script, text): (&Script, &str),
        at: usize,
        act: Option<&GitAct>,
        directory: &Path,
    ) -> Result<Option<Happening>, &'static str> {
        let exchange = act.and_then(GitAct::exchanges);
        let found = Happening::behind(facts, (script, text), at, directory);
        let Some(exchange) = exchange else {
            return found;
        };
        let Exchange {
            remote,
            branches,
            by_name,
        } = exchange;
        let mut happening = match (found, &branches) {
            (Ok(Some(happening)), _) => happening,
            // Their names are the same wherever it runs.
            (_, Some(_)) => Happening::default(),
            (found, None) => return found,
        };
        let is_open = branches.is_none() || !by_name.is_empty();
        let is_set_here = || {
            let before = script.commands().get(..at).unwrap_or_default();
            before.iter().any(sets_branches)
        };
        if is_open
            && happening.repository.is_some()
            && (is_set_here() || happening.is_set_otherwise(&by_name, remote.as_deref()))
        {
            happening.or_else = Some("settings of git may say another branch");
        }
        happening.named = branches;
        happening.remote = Some(remote);
        Ok(Some(happening))
    }

    /// What there is behind all that the text does before.
    fn behind(
        facts: &Facts,
        (script, text): (&Script, &str),
        at: usize,
        directory: &Path,
    ) -> Result<Option<Happening>, &'static str> {
        let before = script.commands().get(..at).unwrap_or_default();
        let at_hand = match Happening::at(directory) {
            Err(why) if !directory.exists() => {
                return Happening::in_new_work_tree(facts, before, directory)
                    .ok_or(why)
                    .map(Some);
            }
            at_hand => at_hand?,
        };
        let is_there = at_hand.is_some();
        let mut happening = at_hand.unwrap_or_default();
        if !is_there {
            let begun = before.iter().find_map(|command| {
                let act = command.git_act()?.ok()?;
                let is_here = directories_of(facts, command, Some(&act))? == [directory];
                Some(Head::Branch(act.begins_repository()?.to_string())).filter(|_| is_here)
            });
            let makes = |command: &Command| {
                let is_one = |act: GitAct| matches!(&*act.verb, "init" | "clone");
                command.git_act().is_some_and(|act| act.is_ok_and(is_one))
            };
            if begun.is_none() && before.iter().any(makes) {
                return Err("the text makes a repository");
            }
            happening.heads.extend(begun);
        }
        for (n, earlier) in before.iter().enumerate() {
            let heads = happening.heads.clone();
            happening.follow(facts, earlier)?;
            if heads == happening.heads {
                continue;
            }
            happening.before = Some(heads.clone());
            if !runs_only_after(&script.commands()[n..=at], text) {
                let more = heads
                    .into_iter()
                    .filter(|head| !happening.heads.contains(head));
                let more: Vec<Head> = more.collect();
                happening.heads.extend(more);
            }
        }
        // Where there is no repository, what the text checks out counts: it may be there by then.
        Ok(Some(happening).filter(|it| is_there || !it.heads.is_empty()))
    }

    /// What there is in a work tree that the text makes first.
    fn in_new_work_tree(facts: &Facts, before: &[Command], directory: &Path) -> Option<Happening> {
        before.iter().rev().find_map(|command| {
            let act = command.git_act()?.ok()?;
            let (path, branch) = act.makes_work_tree()?;
            let [from] =
                <[PathBuf; 1]>::try_from(directories_of(facts, command, Some(&act))?).ok()?;
            let made = paths::normalise(&below(&from, path)?);
            if made != paths::normalise(directory) {
                return None;
            }
            Some(Happening {
                repository: Repository::find(&from).ok()?,
                heads: vec![Head::Branch(branch?.to_string())],
                ..Happening::default()
            })
        })
    }

    /// What an earlier command of the text makes of what is checked out.
    fn follow(&mut self, facts: &Facts, earlier: &Command) -> Result<(), &'static str> {
        let act = match earlier.git_act() {
            Some(Ok(act)) => act,
            Some(Err(why)) => {
                self.or_else = Some(why);
                return Ok(());
            }
            None => {
                let words: Vec<&str> = earlier.words.iter().map(|word| &*word.text).collect();
                if let ["gh", "pr", "checkout" | "co", ..] = words.as_slice() {
                    self.or_else = Some("gh checks another branch out");
                    self.heads.clear();
                }
                if earlier.paths().any(|path| path.contains(".git/")) {
                    self.or_else = Some("what is git's may be written before");
                }
                return Ok(());
            }
        };
        let moves = act.moves();
        if moves == Moves::Stays {
            return Ok(());
        }
        let is_here = match directories_of(facts, earlier, Some(&act)) {
            None => None,
            Some(directories) => {
                let is_same = |directory: &PathBuf| {
                    Repository::find(directory).map(|found| match (found, &self.repository) {
                        (Some(it), Some(own)) => it.is_same(own),
                        (None, None) => true,
                        _ => false,
                    })
                };
                let same: Result<Vec<bool>, _> = directories.iter().map(is_same).collect();
                same.ok().map(|same| same.contains(&true))
            }
        };
        match is_here {
            Some(false) => return Ok(()),
            None => {
                self.or_else = Some("another branch may be checked out before");
                return Ok(());
            }
            Some(true) => {}
        }
        match moves {
            Moves::Stays => {}
            Moves::Somewhere => {
                self.or_else = Some("another branch may be checked out before");
                self.heads.clear();
            }
            Moves::Detaches => self.heads = vec![Head::Detached],
            Moves::Begins(name) => self.heads = vec![Head::Branch(name)],
            Moves::Back => match self.before.take() {
                Some(before) => self.heads = before,
                None => self.or_else = Some("another branch may be checked out before"),
            },
            Moves::To(name) => {
                let is_one = match &self.repository {
                    _ if name.contains(UNKNOWN) => false,
                    Some(repository) => repository.has_branch(&name)?,
                    None => true,
                };
                match is_one {
                    true => self.heads = vec![Head::Branch(name)],
                    // A file that gets what it was, a commit, a branch without one yet.
                    false => self.heads.extend([Head::Branch(name), Head::Detached]),
                }
            }
        }
        Ok(())
    }

    /// Whether settings have a push go elsewhere than its words say.
    fn is_set_otherwise(&self, by_name: &[String], remote: Option<&str>) -> bool {
        let Some(repository) = &self.repository else {
            return true;
        };
        let Ok(settings) = repository.settings() else {
            return true;
        };
        if repository.has_old_settings(remote) {
            return true;
        }
        settings.iter().any(|(name, value)| {
            let is_default = name == "push.default" && !matches!(&**value, "simple" | "current");
            // Only then the branch that is followed counts.
            let is_following =
                || by_name.is_empty() || settings.iter().any(|(name, _)| name == "push.default");
            let is_refspec = name.starts_with("remote.") && name.ends_with(".push");
            let is_other = || {
                let branch = name.strip_prefix("branch.")?.strip_suffix(".merge")?;
                let to = value.strip_prefix("refs/heads/")?;
                let is_checked_out = self.heads.contains(&Head::Branch(branch.to_string()));
                let may_be = |name: &String| match name.split_once(UNKNOWN) {
                    Some((beginning, _)) => branch.starts_with(beginning),
                    None => name == branch,
                };
                let is_meant = is_checked_out || by_name.iter().any(may_be);
                Some(is_meant && to != branch)
            };
            is_default && by_name.is_empty()
                || is_refspec
                || is_following() && is_other().unwrap_or(false)
        })
    }

    /// Whether it is about one of these branches.
    fn is_on(&self, wanted: &[Branch], reading: Reading) -> Located {
        let places = self.branch_names().into_iter().map(|name| {
            match self.named.is_some() && name.contains('*') {
                true => self.may_be_one(name, wanted),
                false => self.is_one(name, wanted),
            }
        });
        self.settle(places, reading)
    }

    /// The branches that it is about: the text may leave several.
    fn branch_names(&self) -> Vec<&str> {
        let heads = || {
            self.heads.iter().map(|head| match head {
                Head::Branch(name) => &**name,
                Head::Detached => NO_BRANCH,
            })
        };
        match &self.named {
            None => heads().collect(),
            Some(named) => named
                .iter()
                .flat_map(|name| match &**name {
                    NO_BRANCH => heads().collect(),
                    name => vec![name],
                })
                .collect(),
        }
    }

    /// Whether a pattern of branches holds for one of those that are wanted.
    fn may_be_one(&self, pattern: &str, wanted: &[Branch]) -> Located {
        let Ok(glob) = text_glob(pattern) else {
            return Located::Unclear("a pattern of branches can't be read");
        };
        let each = wanted.iter().map(|branch| match branch {
            Branch::Default => self.is_default(|name| glob.is_match(name)),
            Branch::Named(own) if own.glob().glob().contains(['*', '?', '[', '{']) => {
                Located::Unclear("a pattern of branches may hold for it")
            }
            Branch::Named(own) => here_if(glob.is_match(own.glob().glob())),
        });
        among(Reading::Hits, each)
    }

    fn settle(&self, places: impl Iterator<Item = Located>, reading: Reading) -> Located {
        let or_else = self.or_else.map(Located::Unclear);
        among(reading, places.chain(or_else))
    }

    fn is_one(&self, name: &str, wanted: &[Branch]) -> Located {
        if let Some((beginning, _)) = name.split_once(UNKNOWN) {
            return self.may_begin_so(beginning, wanted);
        }
        let each = wanted.iter().map(|branch| match branch {
            Branch::Named(glob) => here_if(glob.is_match(name)),
            Branch::Default => self.is_default(|it| it == name),
        });
        among(Reading::Hits, each)
    }

    /// Whether a branch may be wanted of whose name only the beginning is known.
    fn may_begin_so(&self, beginning: &str, wanted: &[Branch]) -> Located {
        let may_be = wanted.iter().any(|branch| match branch {
            Branch::Named(own) => {
                let own = own.glob().glob();
                own.contains(['*', '?', '[', '{']) || own.starts_with(beginning)
            }
            Branch::Default => match self.default_names() {
                Ok(names) => names.iter().any(|name| name.starts_with(beginning)),
                Err(_) => true,
            },
        });
        match may_be {
            true => Located::Unclear("the branch is computed"),
            false => Located::Elsewhere,
        }
    }

    /// Whether a default branch is meant.
    fn is_default(&self, is_meant: impl Fn(&str) -> bool) -> Located {
        match self.default_names() {
            Ok(names) => here_if(names.iter().any(|name| is_meant(name))),
            Err(why) => Located::Unclear(why),
        }
    }

    /// The branches that remotes have checked out; without any, git's own names of a first one.
    fn default_names(&self) -> Result<Vec<String>, &'static str> {
        let said = match &self.repository {
            Some(repository) => repository.default_branches()?,
            None => Vec::new(),
        };
        Ok(match said.is_empty() {
            false => said,
            true => FIRST.map(str::to_string).to_vec(),
        })
    }

    /// Whether it is with one of these remotes.
    fn is_with(&self, wanted: &[GlobMatcher]) -> Located {
        let name = match self.remote_name() {
            Ok(Some(name)) => name,
            Ok(None) => return Located::Elsewhere,
            Err(why) => return Located::Unclear(why),
        };
        let fits = |name: &str| wanted.iter().any(|glob| glob.is_match(name));
        let settings = match self.settings() {
            Ok(settings) => settings,
            Err(why) => return Located::Unclear(why),
        };
        let address = value_of(&settings, &format!("remote.{name}.pushurl"))
            .or_else(|| value_of(&settings, &format!("remote.{name}.url")));
        here_if(fits(&name) || address.is_some_and(fits))
    }

    /// The remote that it is with, by the name that the text or the repository's settings give.
    fn remote_name(&self) -> Result<Option<String>, &'static str> {
        let Some(remote) = &self.remote else {
            return Ok(None);
        };
        if let Some(name) = remote {
            return Ok(Some(name.clone()));
        }
        let settings = self.settings()?;
        let of_branch = self.heads.iter().find_map(|head| match head {
            Head::Branch(branch) => value_of(&settings, &format!("branch.{branch}.remote")),
            Head::Detached => None,
        });
        Ok(Some(of_branch.unwrap_or("origin").to_string()))
    }

    fn settings(&self) -> Result<Vec<(String, String)>, &'static str> {
        let repository = self.repository.as_ref();
        repository.map_or(Ok(Vec::new()), Repository::settings)
    }
}

/// The last value of a setting.
fn value_of<'s>(settings: &'s [(String, String)], name: &str) -> Option<&'s str> {
    let found = settings.iter().rev().find(|(it, _)| it == name);
    found.map(|(_, value)| &**value)
}
