//! A definition from the page, written into a project. It is in force once a person trusts it, in a
//! terminal or an editor.

use super::problem::{Answer, Problem};
use hookwire_base::support::below;
use hookwire_base::syntax::diagnostic::{Diagnostic, Severity};
use hookwire_base::syntax::source::Layer;
use hookwire_engine::definitions::approved::DEFINITIONS;
use hookwire_engine::definitions::check::check;
use hookwire_engine::journal::Recent;
use serde::Deserialize;
use serde_json::json;
use std::io::ErrorKind;
use std::path::Path;

/// The longest name, in bytes.
const MAX_NAME: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Save {
    name: String,
    definition: String,
    #[serde(default)]
    cases: String,
}

impl Save {
    /// Writes it into the project of a host that takes the project's files only as far as they are
    /// trusted.
    pub(super) fn answer(&self, recent: &Recent<'_>) -> Answer {
        let root = Path::new(&*recent.root);
        let name = &self.name;
        if name.is_empty()
            || name.len() > MAX_NAME
            || !name.chars().all(|character| {
                character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-'
            })
            || name.starts_with('-')
        {
            return Err(Problem::params(
                "`name` has small letters, digits and `-` only, and begins with no `-`",
            ));
        }
        let dir = root.join(DEFINITIONS);
        if takes_files_as_they_are(recent, &dir) {
            let problem = "that host was started with --live or --hooks and takes the project's files as they are, so it \
                           would be in force at once; write it yourself";
            return Err(Problem::params(problem));
        }
        let (file, cases) = (
            dir.join(format!("{name}.yaml")),
            dir.join(format!("{name}.test.yaml")),
        );
        for (path, text) in [(&file, &self.definition), (&cases, &self.cases)] {
            let found = check(&path.to_string_lossy(), text, Layer::Project, None).diagnostics;
            let mistakes = found
                .iter()
                .filter(|it| it.severity == Severity::Error)
                .map(Diagnostic::one_line);
            let is_wanted = *path == file || !text.is_empty();
            if let Some(mistake) = mistakes.into_iter().next().filter(|_| is_wanted) {
                return Err(Problem::params(mistake));
            }
        }
        write_new(&file, root, &self.definition)?;
        if !self.cases.is_empty() {
            write_new(&cases, root, &self.cases)?;
        }
        Ok(json!({ "path": file, "cases": (!self.cases.is_empty()).then_some(cases) }))
    }
}

/// Whether what is written into a project is in force without anybody's trust.
fn takes_files_as_they_are(recent: &Recent<'_>, dir: &Path) -> bool {
    // One that doesn't say may.
    let Some(program) = &recent.program else {
        return true;
    };
    let words = &program.arguments;
    words
        .iter()
        .any(|word| word == "--live" || word.starts_with("--hooks="))
        || words.windows(2).any(|words| {
            words[0] == "--hooks"
                && (dir.starts_with(&words[1]) || Path::new(&words[1]).starts_with(dir))
        })
}

/// Writes a file that isn't there yet.
fn write_new(path: &Path, root: &Path, text: &str) -> Answer<()> {
    Ok(
        below::write_new(path, root, text, 0o666).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => format!(
                "{}: it is there already; choose another name",
                path.display()
            ),
            _ => format!("{}: {error}", path.display()),
        })?,
    )
}
