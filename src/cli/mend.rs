//! `check --fix`: the fixes that are certain are made in the files. `check --migrate`: patterns
//! that match nothing, or one agent's tool only, are written as what they most likely mean.

use super::output::{Output, Tone, safe, say_on_stderr};
use super::{Failure, Finding, root_of};
use hookwire_base::support::below::replace;
use hookwire_base::support::file::read;
use hookwire_base::syntax::diagnostic::Diagnostic;
use hookwire_base::syntax::fix::{Edit, Fix};
use hookwire_base::syntax::source::Layer;
use hookwire_engine::definitions::mend::mended;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Which fixes are made.
type IsWanted<'a> = &'a dyn Fn(&Diagnostic, &Fix) -> bool;

/// Whether a mistake is of a pattern whose meaning has changed, or that only looks as if it meant
/// something, and that has another spelling. What became several rules may hold for more than was
/// meant: that is for a person.
pub(super) fn is_changed(diagnostic: &Diagnostic) -> bool {
    ["never-matches", "one-name"].contains(&diagnostic.code.as_str())
        && diagnostic
            .fixes
            .iter()
            .any(|fix| fix.is_preferred && matches!(fix.edit, Edit::Replace { .. }))
}

/// Whether a mistake has one fix that is most likely meant. Where there are several, a person
/// chooses.
pub(super) fn is_certain(diagnostic: &Diagnostic) -> bool {
    matches!(&diagnostic.fixes[..], [fix] if fix.is_preferred)
}

/// Writes files anew in which a pattern changed, and shows what.
pub(super) fn migrate_files(
    files: &BTreeSet<PathBuf>,
    out: &mut Output,
) -> Result<Finding, Failure> {
    let n_changed = rewrite_files(
        "migrate",
        files,
        &|it, fix| is_changed(it) && fix.is_preferred,
        out,
    )?;
    if !out.json {
        let said = match n_changed {
            0 => "No pattern has to be written in another way.".to_string(),
            1 => "1 file written anew.".to_string(),
            n => format!("{n} files written anew."),
        };
        out.aside(&said);
    }
    Ok(Finding::Fine)
}

/// Makes the certain fixes of files, and shows what changed.
pub(super) fn fix_files(files: &BTreeSet<PathBuf>, out: &mut Output) -> Result<(), Failure> {
    let n_changed = rewrite_files("fix", files, &|it, _| is_certain(it), out)?;
    if !out.json {
        if n_changed == 0 {
            out.aside("Nothing has a certain fix.");
        }
        out.aside("");
    }
    Ok(())
}

/// Makes the wanted fixes of files; how many of them changed. A file that can't be written is told
/// and left alone.
fn rewrite_files(
    name: &str,
    files: &BTreeSet<PathBuf>,
    is_wanted: IsWanted<'_>,
    out: &mut Output,
) -> Result<usize, Failure> {
    if files.contains(Path::new("-")) {
        return Err(Failure(format!("--{name} writes files: stdin is none")));
    }
    let mut n_changed = 0;
    for path in files {
        let failed =
            |error: &dyn std::fmt::Display| Failure(format!("{}: {error}", path.display()));
        let (old, _) = read(path).map_err(|error| failed(&error))?;
        let full = std::path::absolute(path)?;
        let (new, done) = mended(&full.display().to_string(), &old, Layer::Hooks, is_wanted);
        if new == *old {
            continue;
        }
        if let Err(error) = replace(path, &root_of(path), &new, 0o644) {
            say_on_stderr(failed(&error).0);
            continue;
        }
        n_changed += 1;
        if out.json {
            let fixes: Vec<_> = done
                .iter()
                .map(|(it, title)| json!({ "code": it.code, "hook": it.hook, "message": it.message, "fix": title }))
                .collect();
            out.json(&match name {
                "fix" => json!({ "fixed": path, "fixes": fixes }),
                _ => json!({ "migrated": path }),
            });
            continue;
        }
        let head = out.tone(Tone::Strong, &safe(&path.to_string_lossy()));
        out.aside(&head);
        for (it, title) in done.iter().filter(|_| name == "fix") {
            let hook = it
                .hook
                .as_deref()
                .map(|hook| format!(" in `{hook}`"))
                .unwrap_or_default();
            out.aside(&format!(
                "  {}{}: {}",
                safe(title),
                safe(&hook),
                safe(&it.message)
            ));
        }
        out.diff(&old, &new);
    }
    Ok(n_changed)
}
