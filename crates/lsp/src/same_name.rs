//! Hooks of one name: in a file, and in the other files of its project.

use super::document::{Document, Lines};
use super::project::Project;
use super::surroundings::Surroundings;
use hookwire_base::support::file::read_named;
use hookwire_base::syntax::diagnostic::Diagnostic;
use hookwire_base::syntax::node::Span;
use hookwire_engine::definitions::names::FreeNames;
use hookwire_engine::definitions::worktrees::duplicate_name;
use ls_types::{Location, Uri};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The most files that are read again for the place of a name.
const MAX_FILES: usize = 20;

/// Other hooks of the same name: in this file, and in those of the workspace.
pub(super) fn same_name(
    document: &Document,
    origin: &Span,
    name: &str,
    around: &Surroundings<'_>,
) -> Vec<Location> {
    let (workspace, open, encoding) = (
        around.project.as_ref(),
        around.documents,
        around.abilities.encoding,
    );
    let lines = document.lines();
    let here = document
        .hooks()
        .iter()
        .filter(|hook| hook.name.as_deref() == Some(name) && hook.span != *origin);
    let mut places: Vec<Location> = here
        .map(|hook| Location {
            uri: document.uri.clone(),
            range: lines.range(&hook.span),
        })
        .collect();
    let set = workspace.map(|workspace| workspace.hooks());
    let files = set
        .iter()
        .flat_map(|set| &set.hooks)
        .filter(|hook| *hook.name == *name);
    let mut files: Vec<&str> = files.map(|hook| &*hook.source.file).collect();
    let root = workspace.map(|workspace| workspace.root());
    let unsaved: Vec<String> = open
        .values()
        .filter(|it| root.is_some_and(|root| it.path.starts_with(root)) && it.hook(name).is_some())
        .map(|it| it.file())
        .collect();
    files.extend(unsaved.iter().map(String::as_str));
    files.sort_unstable();
    files.dedup();
    for file in files
        .into_iter()
        .filter(|file| *file != document.file())
        .take(MAX_FILES)
    {
        if let Some(open) = open.values().find(|it| it.file() == file) {
            places.extend(open.hook(name).map(|hook| Location {
                uri: open.uri.clone(),
                range: open.lines().range(&hook.span),
            }));
            continue;
        }
        let path = PathBuf::from(file);
        let (Some(uri), Ok(text)) = (Uri::from_file_path(&path), read_named(&path)) else {
            continue;
        };
        let closed = Document::new(uri.clone(), path, 0, text, encoding);
        places.extend(closed.hook(name).map(|hook| Location {
            uri,
            range: closed.lines().range(&hook.span),
        }));
    }
    places
}

/// Hooks whose name a hook in another file has.
pub(super) fn taken_names(
    project: Option<&Project>,
    document: &Document,
    lines: &Lines<'_>,
) -> Vec<Diagnostic> {
    let file = document.file();
    let Some(workspace) = project else {
        return Vec::new();
    };
    let layer = workspace.layer_of(&document.path);
    let set = workspace.hooks();
    let others = set
        .hooks
        .iter()
        .filter(|hook| *hook.source.file != *file && Some(hook.source.layer) == layer);
    // The first of them counts.
    let others: HashMap<_, _> = others
        .rev()
        .map(|hook| (&hook.name, &hook.source))
        .collect();
    let own = document
        .hooks()
        .iter()
        .filter_map(|hook| hook.name.as_deref());
    let mut free = FreeNames::new(own.chain(set.hooks.iter().map(|hook| &*hook.name)));
    let mut taken = Vec::new();
    for hook in document.hooks() {
        let Some((name, source)) = hook
            .name
            .as_ref()
            .and_then(|name| Some((name, others.get(name)?)))
        else {
            continue;
        };
        let problem = duplicate_name(
            name,
            &hook.span,
            (Path::new(&*source.file), source.line),
            &document.path,
        );
        taken.push(
            problem
                .fix(free.numbering(name))
                .to_diagnostic(&file, &lines.index),
        );
    }
    taken
}
