//! Hooks that worktrees of one repository of git share. What was trusted of the first worktree
//! guards the others, and git puts the same definitions into each, so that a hook would run twice.
//! A hook of another worktree that is the same is left out: then the first worktree's runs, which
//! nobody changes from there. Where anything differs, both hold.

use super::approved::{DEFINITIONS, content_of, digest_of, first_worktree};
use super::cases::is_cases_file;
use super::names;
use crate::hook::Hook;
use hookwire_base::syntax::node::Span;
use hookwire_base::syntax::problem::Problem;
use hookwire_base::syntax::source::Layer;
use hookwire_handlers::handlers::approved::Approved;
use hookwire_handlers::handlers::{Effect, Program};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A hook of a repository's first worktree, and the same hook of another one.
pub(super) struct Twins<'h> {
    pub(super) first: &'h Arc<Hook>,
    pub(super) other: &'h Arc<Hook>,
}

impl<'h> Twins<'h> {
    /// The one that doesn't run where both are loaded together. Whoever looks at a worktree's
    /// definitions as they are now sees these.
    pub(super) fn left_out_of_all(&self) -> Option<&'h Arc<Hook>> {
        let left_out = if self.other.copy.is_some() {
            self.other
        } else {
            self.first
        };
        self.is_one().then_some(left_out)
    }

    /// Whether one run does the work of both: neither works or writes in a directory of its own
    /// worktree. Where the servers of an agent's tools work isn't known.
    fn is_one(&self) -> bool {
        let works_in = |hook: &Hook| match hook.handler.effect()? {
            Effect::Command(Program { cwd, .. })
            | Effect::McpTool {
                starts: Some(Program { cwd, .. }),
                ..
            } => cwd,
            _ => None,
        };
        let (first, other) = (&self.first.handler, &self.other.handler);
        let starts = || !first.programs().is_empty() || !first.files(Path::new("/")).is_empty();
        let has_servers = matches!(first.effect(), Some(Effect::Agent(_))) && starts();
        !has_servers
            && works_in(self.first) == works_in(self.other)
            && first.writes() == other.writes()
    }
}

/// The hooks of a project, by the paths of their files below its definitions.
type OfProject<'h> = Vec<(&'h Path, &'h Arc<Hook>)>;

/// The hooks that are there twice, because a worktree has them from the repository's first one.
pub(super) fn twins<'h>(hooks: impl Iterator<Item = &'h Arc<Hook>>) -> Vec<Twins<'h>> {
    let mut projects: BTreeMap<&Path, OfProject<'_>> = BTreeMap::new();
    let is_written = |hook: &&Arc<Hook>| {
        hook.source.layer == Layer::Project && hook.definition.is_some() && !hook.is_broken()
    };
    for hook in hooks.filter(is_written) {
        if let Some((root, below)) = place(Path::new(&*hook.source.file)) {
            projects.entry(root).or_default().push((below, hook));
        }
    }
    let mut twins = Vec::new();
    for (root, others) in projects.iter().filter(|_| projects.len() > 1) {
        let first_root = first_worktree(root);
        let Some((first_root, firsts)) =
            first_root.and_then(|first| projects.get_key_value(&*first))
        else {
            continue;
        };
        let names = |(below, hook): &(&'_ Path, &'_ Arc<Hook>)| {
            (below.to_path_buf(), hook.name.clone(), hook.definition)
        };
        let by_name: HashMap<_, _> = firsts.iter().map(|it| (names(it), it.1)).collect();
        let definitions = firsts
            .iter()
            .chain(others)
            .map(|(below, _)| Path::new(DEFINITIONS).join(below))
            .collect();
        let pair = Pair {
            first_root,
            root,
            definitions,
        };
        for it in others {
            let twin = by_name
                .get(&names(it))
                .filter(|first| pair.runs_the_same(first, it.1));
            twins.extend(twin.map(|first| Twins { first, other: it.1 }));
        }
    }
    twins
}

/// Leaves out the hooks of worktrees that the repository's first worktree has, too. One that is
/// loaded as it is now stays: nobody has approved it, and nobody is told when what it runs changes.
pub(super) fn leave_out_twins(hooks: &mut Vec<Arc<Hook>>) {
    let twins = twins(hooks.iter());
    let approved = twins.iter().filter(|twins| twins.other.copy.is_some());
    let left_out: HashSet<_> = approved
        .filter_map(Twins::left_out_of_all)
        .map(Arc::as_ptr)
        .collect();
    hooks.retain(|hook| !left_out.contains(&Arc::as_ptr(hook)));
}

/// A hook of the same layer has the same name as one in `file`; `first` is that one's file and
/// line.
pub fn duplicate_name(name: &str, span: &Span, first: (&Path, usize), file: &Path) -> Problem {
    let (first_file, line) = first;
    let problem = names::duplicate_name(name, span, &format!("{}:{line}", first_file.display()));
    let roots = place(first_file)
        .zip(place(file))
        .map(|((first, _), (root, _))| (first, root));
    if !roots.is_some_and(|(first, root)| {
        first != root && first_worktree(root).as_deref() == Some(first)
    }) {
        return problem;
    }
    let about =
        "that is the repository's first worktree, whose trusted hooks guard this worktree, too";
    let message = format!(
        "`{name}` is another hook than the one at {}:{line}: {about}; both run",
        first_file.display()
    );
    let help = "where the same is trusted in both worktrees, it runs once; else give this one another name";
    Problem { message, ..problem }.help(help)
}

/// The root of the project that a definition file is of, and the file's path below the project's
/// definitions.
fn place(file: &Path) -> Option<(&Path, &Path)> {
    let home = file.ancestors().find(|dir| dir.ends_with(DEFINITIONS))?;
    Some((home.parent()?, file.strip_prefix(home).ok()?))
}

/// Two worktrees of a repository.
struct Pair<'r> {
    first_root: &'r Path,
    root: &'r Path,
    /// The files that hooks of them are in, by their paths below the roots.
    definitions: BTreeSet<PathBuf>,
}

impl Pair<'_> {
    /// Whether equal definitions run equal files and programs. What a script names in turn isn't
    /// known of each hook, so one that runs a file of the project is the same only if all that is
    /// kept beside the definitions is.
    fn runs_the_same(&self, first: &Hook, other: &Hook) -> bool {
        let runs_files = [(first, self.first_root), (other, self.root)]
            .iter()
            .any(|(hook, root)| !hook.handler.files(root).is_empty());
        let programs = first.handler.programs();
        if !runs_files && programs.is_empty() {
            return true;
        }
        let Some(copy) = &first.copy else {
            return false;
        };
        match &other.copy {
            Some(of_other) => {
                let found = |copy: &Approved, name: &String| {
                    copy.programs.as_ref()?.found.get(name).cloned()
                };
                programs
                    .iter()
                    .all(|name| found(copy, name) == found(of_other, name))
                    && (!runs_files || self.is_kept_alike(copy, of_other))
            }
            // The programs will be looked up when it is approved.
            None => !runs_files || self.is_there_now(copy),
        }
    }

    /// Whether both states have the same files, links and programs, each at its place below its
    /// root.
    fn is_kept_alike(&self, first: &Approved, other: &Approved) -> bool {
        let files = |copy: &Approved| {
            copy.files
                .clone()
                .into_iter()
                .filter(|(file, _)| self.counts(file))
                .collect()
        };
        let [of_first, of_other]: [BTreeMap<_, _>; 2] = [first, other].map(files);
        let named: BTreeMap<_, _> = first
            .named
            .iter()
            .map(|(file, content)| (self.moved(file), content.clone()))
            .collect();
        let links: BTreeMap<_, _> = first
            .links
            .iter()
            .map(|(link, to)| (link.clone(), self.moved(to)))
            .collect();
        let found = |copy: &Approved| {
            copy.programs
                .as_ref()
                .map(|programs| programs.found.clone())
        };
        of_first == of_other
            && named == other.named
            && links == other.links
            && found(first) == found(other)
    }

    /// Whether the worktree has the files of the first one's approved state, as they are now.
    fn is_there_now(&self, first: &Approved) -> bool {
        let mut files = first.files.iter().filter(|(file, _)| self.counts(file));
        files.all(|(file, digest)| {
            digest_of(&self.root.join(file)).is_ok_and(|now| now.as_ref() == Some(digest))
        }) && first
            .named
            .iter()
            .all(|(file, content)| content_of(&self.moved(file)).is_ok_and(|now| now == *content))
    }

    /// Whether a file that is kept is more than a definition, of which each hook is compared by
    /// itself.
    fn counts(&self, file: &Path) -> bool {
        !self.definitions.contains(file) && !is_cases_file(file)
    }

    /// The path in the worktree of a file that is in the first one.
    fn moved(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.first_root)
            .map_or_else(|_| path.to_path_buf(), |below| self.root.join(below))
    }
}
