//! A definition text by itself, whether saved or not: what it holds and everything that is wrong
//! with it. `check`, `hooks/check` and editors show the same.

use super::cases;
use super::compile::{CompiledFile, compile};
use super::names::{FreeNames, duplicate_name};
use super::origin::Origin;
use hookwire_base::support::file::read_named;
use hookwire_base::syntax::diagnostic::{Diagnostic, LineIndex};
use hookwire_base::syntax::formats::{self, Format};
use hookwire_base::syntax::node::Node;
use hookwire_base::syntax::source::Layer;
use hookwire_handlers::handlers::Means;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// A definition file's text, read and checked.
pub struct Checked {
    /// The text as a tree; `None` when it isn't YAML, TOML or JSON, or holds cases.
    pub root: Option<Node>,
    /// The hooks and the policy of the tree; `None` when there is no tree.
    pub file: Option<CompiledFile>,
    /// Everything that is wrong, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a text; the name's extension tells the format, YAML if it tells none. `layer` is whose
/// rights its hooks would have, `means` what they could use. A file of cases (`*.test.yaml`) is
/// read as such and holds no hooks.
pub fn check(file: &str, text: &str, layer: Layer, means: Option<&Means>) -> Checked {
    let path = Path::new(file);
    if cases::is_cases_file(path) {
        let diagnostics = cases::read(file, text).err().unwrap_or_default();
        return Checked {
            root: None,
            file: None,
            diagnostics,
        };
    }
    let lines = LineIndex::new(text);
    let root = match formats::parse(text, Format::from_path(path).unwrap_or_default()) {
        Ok(root) => root,
        Err(problems) => {
            let diagnostics = problems
                .iter()
                .map(|problem| problem.to_diagnostic(file, &lines))
                .collect();
            return Checked {
                root: None,
                file: None,
                diagnostics,
            };
        }
    };
    let dir = path.parent().unwrap_or(Path::new(""));
    let compiled = compile(
        &root,
        &Origin {
            means,
            ..Origin::new(file, dir, layer, &read_named)
        },
        &lines,
    );
    let mut diagnostics: Vec<_> = compiled
        .problems
        .iter()
        .map(|problem| problem.to_diagnostic(file, &lines))
        .collect();
    let mut free = FreeNames::new(
        compiled
            .hooks
            .iter()
            .filter_map(|hook| hook.name.as_deref()),
    );
    let mut first: HashMap<&Arc<str>, usize> = HashMap::new();
    for hook in &compiled.hooks {
        let Some(name) = &hook.name else { continue };
        match first.get(name) {
            None => drop(first.insert(name, lines.position(hook.span.start).line)),
            Some(line) => {
                let duplicate = duplicate_name(name, &hook.span, &format!("{file}:{line}"))
                    .fix(free.numbering(name));
                diagnostics.push(duplicate.to_diagnostic(file, &lines));
            }
        }
    }
    diagnostics.sort_by_key(|it| it.span.start);
    Checked {
        root: Some(root),
        file: Some(compiled),
        diagnostics,
    }
}
