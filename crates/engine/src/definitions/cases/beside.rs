//! The cases beside definitions, and the hooks that they reach.

use super::{Case, Scene, directory, is_cases_file, read_unfinished, subject};
use crate::hook::{Condition, Hook};
use hookwire_base::support::file;
use hookwire_rules::matching::Facts;
use hookwire_rules::matching::tools::ToolNames;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of cases.
#[derive(Debug)]
pub struct Beside {
    pub path: PathBuf,
    /// The file, or the directory, of definitions that it is about.
    subject: PathBuf,
    /// Its cases, or the first reason why they can't be read. A case that doesn't say yet what is
    /// expected is one, too.
    pub cases: Result<Vec<Case>, String>,
}

/// Whether a case reaches a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    No,
    /// Only if `when` holds, which may ask for what only a test has.
    Perhaps,
    Yes,
}

impl Beside {
    /// Whether its cases are about the hooks of a definition file.
    pub fn is_about(&self, file: &Path) -> bool {
        self.subject == file || self.subject == directory(file)
    }
}

/// The files of cases in a directory, by their names.
pub fn beside(dir: &Path) -> Vec<Beside> {
    let files = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|path| is_cases_file(path)).collect();
    files.sort();
    let read = |path: PathBuf| Beside {
        subject: subject(&path),
        cases: cases_in(&path),
        path,
    };
    files.into_iter().map(read).collect()
}

fn cases_in(path: &Path) -> Result<Vec<Case>, String> {
    let name = path.to_string_lossy();
    let (text, _) = file::read(path).map_err(|unread| format!("{name}: {unread}"))?;
    let first = |problems: Vec<hookwire_base::syntax::diagnostic::Diagnostic>| {
        problems.first().map(|it| it.one_line())
    };
    read_unfinished(&name, &text)
        .map(|(cases, _)| cases.cases)
        .map_err(|it| first(it).unwrap_or_default())
}

/// Which of these hooks an event of a case would start, in their order.
pub fn reach(
    case: &Case,
    scene: &Scene<'_>,
    names: &Arc<ToolNames>,
    hooks: &[&Arc<Hook>],
) -> Vec<Reach> {
    let mut reached = vec![Reach::No; hooks.len()];
    for event in case.events(scene) {
        let facts = Facts::new(Arc::new(event), scene.dir).with_names(names);
        for (reached, hook) in reached.iter_mut().zip(hooks) {
            let now = match hook.applies(&facts) {
                Ok(_) => Reach::Yes,
                Err(Condition::When) => Reach::Perhaps,
                Err(_) => Reach::No,
            };
            *reached = now.max(*reached);
        }
    }
    reached
}
