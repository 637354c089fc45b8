//! A mistake in a definition file, before it is a diagnostic: where it is in the text, what is
//! wrong, and the edits that mend it.

use super::codes;
use super::diagnostic::{Diagnostic, LineIndex, Range, Severity};
use super::fix::Fix;
use super::node::Span;

/// A mistake, placed in the file's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Bytes of the text; empty if the point is that something is missing there.
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
    /// Edits that mend it, the best one first.
    pub fixes: Vec<Fix>,
    /// Another place that it is about, `file:line`.
    pub other_place: Option<String>,
}

impl Problem {
    /// A mistake because of which a hook, or the whole file, is not in force.
    pub fn error(span: &Span, code: &'static str, message: impl Into<String>) -> Problem {
        debug_assert!(codes::find(code).is_some(), "`{code}` isn't in `CODES`");
        let (span, message, severity) = (span.clone(), message.into(), Severity::Error);
        Problem {
            span,
            severity,
            code,
            message,
            help: None,
            hook: None,
            fixes: Vec::new(),
            other_place: None,
        }
    }

    /// Something that is in force, but probably not as meant.
    pub fn warning(span: &Span, code: &'static str, message: impl Into<String>) -> Problem {
        Problem {
            severity: Severity::Warning,
            ..Problem::error(span, code, message)
        }
    }

    /// Something that is fine, and could be better.
    pub fn hint(span: &Span, code: &'static str, message: impl Into<String>) -> Problem {
        Problem {
            severity: Severity::Hint,
            ..Problem::error(span, code, message)
        }
    }

    /// A mistake because of which the text can't be read at all.
    pub fn syntax(span: Span, message: impl Into<String>) -> Problem {
        Problem::error(&span, "syntax", message)
    }

    /// With what to do about it.
    pub fn help(self, help: impl Into<String>) -> Problem {
        Problem {
            help: Some(help.into()),
            ..self
        }
    }

    /// With what to do about it, unless that is said already.
    pub fn or_help(self, help: impl Into<String>) -> Problem {
        if self.help.is_some() {
            self
        } else {
            self.help(help)
        }
    }

    /// With the known name that a wrong one was probably meant to be, if one is near.
    pub fn did_you_mean(self, wrong: &str, right: Option<&str>) -> Problem {
        match right {
            Some(right) => self
                .help(format!("did you mean `{right}`?"))
                .fix(Fix::replace(wrong, right)),
            None => self,
        }
    }

    /// With an edit that mends it.
    pub fn fix(mut self, fix: Fix) -> Problem {
        self.fixes.push(fix);
        self
    }

    /// In this hook.
    pub fn in_hook(self, hook: &str) -> Problem {
        Problem {
            hook: Some(hook.to_string()),
            ..self
        }
    }

    /// As a diagnostic of its file, which has these lines.
    pub fn to_diagnostic(&self, file: &str, lines: &LineIndex<'_>) -> Diagnostic {
        self.clone().into_diagnostic(file, lines.range(&self.span))
    }

    /// As a diagnostic of its file, where it is at this place.
    pub fn into_diagnostic(self, file: &str, range: Range) -> Diagnostic {
        let Problem {
            span,
            severity,
            code,
            message,
            help,
            hook,
            fixes,
            other_place,
        } = self;
        Diagnostic {
            file: file.to_string(),
            severity,
            code: code.to_string(),
            message,
            help,
            hook,
            range,
            span,
            fixes,
            other_place,
        }
    }
}
