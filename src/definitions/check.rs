//! A definition text by itself, whether saved or not: what it holds and everything that is wrong
//! with it. `check`, `hooks/check` and editors show the same.

use super::compile::{CompiledFile, Origin, compile};
use crate::support::file::read_named;
use crate::syntax::diagnostic::{Diagnostic, LineIndex, Severity};
use crate::syntax::formats::{self, Format};
use crate::syntax::node::Node;
use crate::syntax::problem::Problem;
use crate::syntax::problem::place;
use crate::syntax::source::Layer;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// What a text holds.
pub struct Checked {
    /// The text as a tree; `None` when it isn't YAML, TOML or JSON.
    pub root: Option<Node>,
    /// What the tree means; `None` when there is no tree.
    pub file: Option<CompiledFile>,
    /// Everything that is wrong, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a text; the name's extension tells the format, YAML if it tells none. `layer` is whose
/// rights its hooks would have.
pub fn check(file: &str, text: &str, layer: Layer) -> Checked {
    let lines = LineIndex::new(text);
    let path = Path::new(file);
    let root = match formats::parse(text, Format::from_path(path).unwrap_or(Format::Yaml)) {
        Ok(root) => root,
        Err(problems) => {
            let problems = problems.into_iter().map(|problem| place(file, &Problem::from(problem), &lines));
            return Checked { root: None, file: None, diagnostics: problems.collect() };
        }
    };
    let dir = path.parent().unwrap_or(Path::new(""));
    let compiled = compile(&root, &Origin { file, dir, layer, client: None, read: &read_named }, &lines);
    let mut diagnostics: Vec<_> = compiled.problems.iter().map(|problem| place(file, problem, &lines)).collect();
    let mut first: HashMap<&Arc<str>, usize> = HashMap::new();
    for hook in &compiled.hooks {
        let Some(name) = &hook.name else { continue };
        match first.get(name) {
            None => drop(first.insert(name, lines.position(hook.span.start).line)),
            Some(line) => {
                let duplicate = duplicate_name(name, &hook.span, &format!("{file}:{line}"));
                diagnostics.push(place(file, &duplicate, &lines));
            }
        }
    }
    diagnostics.sort_by_key(|it| it.span.start);
    Checked { root: Some(root), file: Some(compiled), diagnostics }
}

/// A hook of the same layer has the same name; `first` says where.
pub(crate) fn duplicate_name(name: &str, span: &crate::syntax::node::Span, first: &str) -> Problem {
    Problem {
        span: span.clone(),
        severity: Severity::Warning,
        code: "duplicate-name",
        message: format!("`{name}` is also the name of the hook at {first}; both run"),
        help: Some("give one of them another name".into()),
        hook: Some(name.to_string()),
    }
}
