//! Reads YAML, TOML and JSON with comments into one tree, every key and value with its place.
//!
//! What the tree means is left to others. The input may be hostile: size, depth, number of values
//! and what YAML aliases expand to are bounded, and everything past a bound is a [`Problem`] with
//! a place. A file without content is an empty map.
//!
//! What the formats make of some unquoted words:
//!
//! - YAML is read by the core schema of version 1.2: only `true` and `false` (also `True`, `TRUE`)
//!   are booleans. `on`, `off`, `yes`, `no`, `y` and `n` are strings, so `on:` is a key like any
//!   other. `12:30` and `1_000` are strings, too.
//! - Octal: YAML's `0o17` and TOML's `0o17` are 15. YAML's `017` is 17 (YAML 1.1 said 15); TOML
//!   and JSON refuse it.
//! - Keys are text as written: YAML's `1:` and `true:` are the keys `1` and `true`.
//! - TOML dates and times become strings.
//! - Whole numbers beyond 64 bits and JSON numbers beyond a double are problems, not roundings.

mod json;
#[cfg(test)]
mod tests;
mod toml_format;
mod yaml;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use crate::syntax::diagnostic::LineIndex;
use crate::syntax::fix::{Edit, Fix};
use crate::syntax::node::{Entry, Node, NodeValue, Span, clip};
use crate::syntax::problem::Problem;

/// The table of formats: a format is a file with a function `parse`, and a row.
macro_rules! formats {
    ($($(#[$attribute:meta])* $format:ident($file:ident), $extensions:expr;)*) => {
        /// The formats of definition files. A file whose name tells none is YAML.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum Format {
            $($(#[$attribute])* $format,)*
        }

        impl Format {
            pub const ALL: &[Format] = &[$(Format::$format,)*];

            /// In lower case.
            pub fn extensions(self) -> &'static [&'static str] {
                match self {
                    $(Format::$format => &$extensions,)*
                }
            }

            fn parse(self, text: &str, index: &LineIndex<'_>) -> Result<Node, Vec<Problem>> {
                match self {
                    $(Format::$format => $file::parse(text, index),)*
                }
            }
        }
    };
}

formats! {
    /// Version 1.2, one document.
    #[default]
    Yaml(yaml), ["yaml", "yml"];
    /// Version 1.1.
    Toml(toml_format), ["toml"];
    /// With comments and trailing commas.
    Json(json), ["json"];
}

impl Format {
    /// The format that a file's extension tells, in any case.
    pub fn from_path(path: &Path) -> Option<Format> {
        Format::from_extension(path.extension()?.to_str()?)
    }

    /// The format of a file's extension, in any case.
    pub fn from_extension(extension: &str) -> Option<Format> {
        let extension = extension.to_ascii_lowercase();
        Format::ALL
            .iter()
            .copied()
            .find(|format| format.extensions().contains(&extension.as_str()))
    }
}

/// Texts beyond this are refused.
pub const MAX_BYTES: usize = crate::support::file::MAX_FILE as usize;
/// How many lists and maps may be inside one another.
pub const MAX_DEPTH: usize = 64;
/// How many values a file may have.
pub const MAX_NODES: usize = 200_000;

/// Bytes that anchors and what aliases expand to may occupy.
const EXPANSION_BUDGET: usize = 16 << 20;
/// The most problems that are reported of one file; the author fixes these first.
const MAX_PROBLEMS: usize = 50;

/// Reads a whole file. A byte-order mark at its start is skipped; spans count it.
pub fn parse(text: &str, format: Format) -> Result<Node, Vec<Problem>> {
    if text.len() > MAX_BYTES {
        let message = format!("the file is larger than {} MiB", MAX_BYTES >> 20);
        return Err(vec![Problem::syntax(0..0, message)]);
    }
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let n_skipped = text.len() - body.len();
    let index = LineIndex::new(body);
    let mut result = format.parse(body, &index);
    match &mut result {
        Ok(node) => shift(node, n_skipped),
        Err(problems) => {
            for problem in problems {
                problem.span = problem.span.start + n_skipped..problem.span.end + n_skipped;
            }
        }
    }
    result
}

impl Problem {
    fn duplicate(key: &str, span: Span, first: Option<&Span>, index: &LineIndex<'_>) -> Problem {
        let problem = Problem::syntax(span, format!("the key `{}` is given twice", clip(key)));
        match first.map(|first| index.position(first.start)) {
            None => problem,
            Some(first) => {
                let (line, column) = (first.line, first.column);
                problem.help(format!(
                    "it was first given at line {line}, column {column}"
                ))
            }
        }
    }

    /// With the advice to put the text in quotes.
    fn quoted(self, help: &str) -> Problem {
        self.help(help)
            .fix(Fix::new("Put it in quotes", Edit::QuoteLine))
    }

    fn too_deep(span: Span) -> Problem {
        let message = format!("more than {MAX_DEPTH} lists and maps are inside one another");
        Problem::syntax(span, message)
    }

    fn too_many(span: Span) -> Problem {
        Problem::syntax(span, format!("the file has more than {MAX_NODES} values"))
    }

    fn number_too_large(span: Span) -> Problem {
        Problem::syntax(span, "the number is too large")
            .quoted("put it in quotes if it is meant as text")
    }
}

fn shift(node: &mut Node, by: usize) {
    if by == 0 {
        return;
    }
    node.span = node.span.start + by..node.span.end + by;
    match &mut node.value {
        NodeValue::Seq(items) => items.iter_mut().for_each(|item| shift(item, by)),
        NodeValue::Map(entries) => {
            for entry in entries {
                entry.key_span = entry.key_span.start + by..entry.key_span.end + by;
                shift(&mut entry.value, by);
            }
        }
        _ => {}
    }
}

/// The character at `offset`, for problems that have a point but no extent.
fn span_at(text: &str, offset: usize) -> Span {
    let rest = text.get(offset..).unwrap_or("");
    match rest.chars().next() {
        Some(character) if character != '\n' && character != '\r' => {
            offset..offset + character.len_utf8()
        }
        _ => offset.min(text.len())..offset.min(text.len()),
    }
}

fn rest_of_line(text: &str, start: usize) -> Span {
    let rest = text.get(start..).unwrap_or("");
    start..start + rest.find(['\n', '\r']).unwrap_or(rest.len())
}

fn empty_map() -> Node {
    Node {
        span: 0..0,
        value: NodeValue::Map(Vec::new()),
    }
}

fn whole_number(digits: &str, radix: u32) -> Option<NodeValue> {
    match i64::from_str_radix(digits, radix) {
        Ok(number) => Some(NodeValue::Int(number)),
        Err(_) => u64::from_str_radix(digits, radix).ok().map(NodeValue::UInt),
    }
}
