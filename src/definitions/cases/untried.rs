//! The hooks that no case beside their definitions is about. Whoever writes no cases needs none.

use super::{Cases, Scene, directory, is_cases_file, read_unfinished, subject};
use crate::hook::{Condition, Hook};
use crate::matching::Facts;
use crate::matching::tools::ToolNames;
use crate::support::places;
use crate::syntax::diagnostic::{Diagnostic, LineIndex};
use crate::syntax::problem::Problem;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A hint for each of these hooks that no event of the cases beside it would start, and one for each file without any
/// case where other files of its directory have some. The texts of the files give their places.
pub(crate) fn untried(
    hooks: &[Arc<Hook>],
    names: &Arc<ToolNames>,
    root: &Path,
    mut text_of: impl FnMut(&str) -> Arc<str>,
) -> Vec<Diagnostic> {
    let mut files: BTreeMap<PathBuf, Vec<&Arc<Hook>>> = BTreeMap::new();
    for hook in hooks {
        files.entry(PathBuf::from(&*hook.source.file)).or_default().push(hook);
    }
    // The cases of each directory, with the file or the directory that they are about. A mistake in them is told where
    // cases are tried.
    let mut tried: HashMap<PathBuf, Vec<(PathBuf, Option<Cases>)>> = HashMap::new();
    let mut hints = Vec::new();
    let home = places::home().unwrap_or_else(|| PathBuf::from("/"));
    for (file, hooks) in files.into_iter().filter(|(file, _)| file.is_file()) {
        let dir = directory(&file).to_path_buf();
        let beside = tried.entry(dir.clone()).or_insert_with(|| {
            let files = std::fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path());
            files.filter(|path| is_cases_file(path)).map(|path| (subject(&path), cases_in(&path))).collect()
        });
        let about: Vec<&Option<Cases>> =
            beside.iter().filter(|it| it.0 == file || it.0 == dir).map(|it| &it.1).collect();
        if beside.is_empty() {
            continue;
        }
        let name = file.to_string_lossy();
        let text = text_of(&name);
        let lines = LineIndex::new(&text);
        let mut hint = |line: usize, message: String| {
            let start = lines.offset_of_utf8(line - 1, 0);
            let end = lines.offset_of_utf8(line - 1, usize::MAX);
            let start = start + text.get(start..end).map_or(0, |line| line.len() - line.trim_start().len());
            let hint = Problem::hint(&(start..end), "no-cases", message);
            hints.push(hint.help("`hookwire docs testing` shows how to write some").to_diagnostic(&name, &lines));
        };
        if about.is_empty() {
            hint(1, "no case tries its hooks, though other files here have cases".into());
            continue;
        }
        // Of cases that can't be read, nobody knows what they reach.
        if about.iter().any(|cases| cases.is_none()) {
            continue;
        }
        let mut untouched = hooks;
        let scene = Scene { dir: root, home: &home, files: &dir, session: "check" };
        for cases in about.into_iter().flatten() {
            untouched = untouched_by(cases, &scene, names, untouched);
        }
        for hook in untouched {
            hint(hook.source.line, format!("no case reaches `{}`", hook.name));
        }
    }
    hints
}

fn cases_in(file: &Path) -> Option<Cases> {
    // A case without `expect` has its events already, so it counts too.
    let text = std::fs::read_to_string(file).ok()?;
    read_unfinished(&file.to_string_lossy(), &text).ok().map(|(cases, _)| cases)
}

/// The hooks that no event of the cases would start.
fn untouched_by<'h>(
    cases: &Cases,
    scene: &Scene<'_>,
    names: &Arc<ToolNames>,
    mut hooks: Vec<&'h Arc<Hook>>,
) -> Vec<&'h Arc<Hook>> {
    for happening in cases.cases.iter().filter_map(|case| case.happenings(scene).ok()).flatten() {
        if hooks.is_empty() {
            break;
        }
        let facts = Facts::new(Arc::new(happening.event), scene.dir).with_names(names);
        // A `when` may ask for what only the scene of the case has.
        hooks.retain(|hook| !matches!(hook.applies(&facts), Ok(_) | Err(Condition::When)));
    }
    hooks
}
