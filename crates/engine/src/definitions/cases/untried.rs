//! The hooks that no case beside their definitions is about. Whoever writes no cases needs none.

use super::{Beside, Reach, Scene, beside, directory, reach};
use crate::hook::Hook;
use hookwire_base::support::places;
use hookwire_base::syntax::diagnostic::{Diagnostic, LineIndex};
use hookwire_base::syntax::problem::Problem;
use hookwire_rules::matching::tools::ToolNames;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A hint for each of these hooks that no event of the cases beside it would start, and one for
/// each file without any case where other files of its directory have some. The texts of the files
/// give their places.
pub fn untried(
    hooks: &[Arc<Hook>],
    names: &Arc<ToolNames>,
    root: &Path,
    mut text_of: impl FnMut(&str) -> Arc<str>,
) -> Vec<Diagnostic> {
    let mut files: BTreeMap<PathBuf, Vec<&Arc<Hook>>> = BTreeMap::new();
    for hook in hooks {
        files
            .entry(PathBuf::from(&*hook.source.file))
            .or_default()
            .push(hook);
    }
    // A mistake in cases is told where they are tried.
    let mut tried: HashMap<PathBuf, Vec<Beside>> = HashMap::new();
    let mut hints = Vec::new();
    let home = places::home().unwrap_or_else(|| PathBuf::from("/"));
    for (file, hooks) in files.into_iter().filter(|(file, _)| file.is_file()) {
        let dir = directory(&file).to_path_buf();
        let beside = tried.entry(dir.clone()).or_insert_with(|| beside(&dir));
        let about: Vec<&Beside> = beside.iter().filter(|it| it.is_about(&file)).collect();
        if beside.is_empty() {
            continue;
        }
        let name = file.to_string_lossy();
        let text = text_of(&name);
        let lines = LineIndex::new(&text);
        let mut hint = |line: usize, message: String| {
            let start = lines.offset_of_utf8(line - 1, 0);
            let end = lines.offset_of_utf8(line - 1, usize::MAX);
            let start = start
                + text
                    .get(start..end)
                    .map_or(0, |line| line.len() - line.trim_start().len());
            let hint = Problem::hint(&(start..end), "no-cases", message);
            hints.push(
                hint.help("`hookwire docs testing` shows how to write some")
                    .to_diagnostic(&name, &lines),
            );
        };
        if about.is_empty() {
            hint(
                1,
                "no case tries its hooks, though other files here have cases".into(),
            );
            continue;
        }
        // Of cases that can't be read, nobody knows what they reach.
        if about.iter().any(|it| it.cases.is_err()) {
            continue;
        }
        let mut untouched = hooks;
        let scene = Scene {
            dir: root,
            home: &home,
            files: &dir,
            session: "check",
        };
        for case in about.iter().flat_map(|it| it.cases.iter().flatten()) {
            if untouched.is_empty() {
                break;
            }
            let reached = reach(case, &scene, names, &untouched);
            let mut reached = reached.iter();
            untouched.retain(|_| reached.next() == Some(&Reach::No));
        }
        for hook in untouched {
            hint(hook.source.line, format!("no case reaches `{}`", hook.name));
        }
    }
    hints
}
