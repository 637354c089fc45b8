//! An agent's file as it is.

use super::super::Failure;
use hookwire_base::support::file;
use hookwire_base::syntax::diagnostic::{LineIndex, Position};
use hookwire_base::syntax::formats::{self, Format};
use serde_json::Value;
use std::io::ErrorKind;
use std::path::Path;

/// The text of a file; nothing if it isn't there.
pub(in crate::cli) fn read_file(path: &Path) -> Result<Option<String>, Failure> {
    match file::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure(format!("{}: {error}", path.display()))),
    }
}

/// What settings hold.
pub(in crate::cli) fn value_of(text: &str, format: Format) -> Result<Value, Failure> {
    formats::parse(text, format)
        .map(|root| root.to_json())
        .map_err(|problems| {
            let first = problems.into_iter().next().map(|problem| {
                let Position { line, column } = LineIndex::new(text).position(problem.span.start);
                format!("line {line}, column {column}: {}", problem.message)
            });
            Failure(first.unwrap_or_default())
        })
}

pub(super) fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink())
}
