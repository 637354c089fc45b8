//! A mistake in a definition file, before it is told: where it is in the text, and what is wrong.

use super::diagnostic::{Diagnostic, LineIndex, Severity};
use super::formats;
use super::node::Span;

/// A mistake, placed in the file's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Bytes of the text.
    pub span: Span,
    /// How bad.
    pub severity: Severity,
    /// Kebab-case; stable, for programs.
    pub code: &'static str,
    /// What is wrong: lowercase, no full stop.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// The hook that it is in.
    pub hook: Option<String>,
}

impl From<formats::Problem> for Problem {
    fn from(it: formats::Problem) -> Problem {
        let formats::Problem { span, message, help } = it;
        Problem { span, severity: Severity::Error, code: "syntax", message, help, hook: None }
    }
}

/// A problem as a diagnostic of its file.
pub(crate) fn place(file: &str, problem: &Problem, lines: &LineIndex<'_>) -> Diagnostic {
    Diagnostic {
        file: file.to_string(),
        severity: problem.severity,
        code: problem.code.to_string(),
        message: problem.message.clone(),
        help: problem.help.clone(),
        hook: problem.hook.clone(),
        range: lines.range(&problem.span),
        span: problem.span.clone(),
    }
}
