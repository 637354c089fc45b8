//! `check --migrate`: patterns that meant something else in an older hookwire are written as what they were to mean.

use super::output::{Output, Tone, safe};
use super::{Failure, Finding};
use crate::lsp;
use crate::support::file::{read, replace};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::fix::{Edit, Fix};
use crate::syntax::source::Layer;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Whether it is said of a pattern whose meaning has changed, or that only looks as if it meant something, and that has
/// another spelling. What became several rules may hold for more than was meant: that is for a person.
pub(super) fn is_changed(diagnostic: &Diagnostic) -> bool {
    let is_spelling = |fix: &Fix| fix.is_preferred && matches!(fix.edit, Edit::Replace { .. });
    ["never-matches", "one-name"].contains(&diagnostic.code.as_str()) && diagnostic.fixes.iter().any(is_spelling)
}

/// Writes files anew in which something changed, and shows what.
pub(super) fn migrate(files: &BTreeSet<PathBuf>, out: &mut Output) -> Result<Finding, Failure> {
    if files.contains(Path::new("-")) {
        return Err(Failure("--migrate writes files: stdin is none".into()));
    }
    let mut n_changed = 0;
    for path in files {
        let failed = |error: &dyn std::fmt::Display| Failure(format!("{}: {error}", path.display()));
        let (old, _) = read(path).map_err(|error| failed(&error))?;
        let full = std::path::absolute(path)?;
        let new = lsp::mended(&full, &old, Layer::Hooks, &is_changed);
        if new == old {
            continue;
        }
        // A file may be a link into somebody's collection.
        replace(&path.canonicalize()?, &new, 0o644).map_err(|error| failed(&error))?;
        n_changed += 1;
        if out.json {
            out.json(&serde_json::json!({ "migrated": path }));
            continue;
        }
        let head = out.tone(Tone::Strong, &safe(&path.to_string_lossy()));
        out.line(&head);
        out.diff(&old, &new);
    }
    if !out.json {
        let said = match n_changed {
            0 => "No pattern has to be written in another way.".to_string(),
            1 => "1 file written anew.".to_string(),
            n => format!("{n} files written anew."),
        };
        out.line(&said);
    }
    Ok(Finding::Fine)
}
