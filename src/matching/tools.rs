//! The table of tools whose arguments are understood: which argument is a shell text, which a path.
//!
//! Tools of other vocabularies are mapped to these names by their dialect. A tool that isn't here
//! is judged by the shape of its input.

use serde_json::{Map, Value};

/// How a tool's main argument is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Text for a shell.
    Shell,
    /// A file path.
    Path,
    /// Plain text: a URL, a query.
    Text,
}

/// One row: the tool, how its main argument is read, and the names it may go by.
pub struct Tool {
    /// The canonical name.
    pub name: &'static str,
    /// How the main argument is read.
    pub kind: ArgumentKind,
    /// The argument's names.
    pub arguments: &'static [&'static str],
}

const fn tool(name: &'static str, kind: ArgumentKind, arguments: &'static [&'static str]) -> Tool {
    Tool { name, kind, arguments }
}

const PATH: &[&str] = &["file_path", "path", "notebook_path"];

/// Every tool that is known by name.
pub static TOOLS: &[Tool] = &[
    tool("Bash", ArgumentKind::Shell, &["command"]),
    tool("Read", ArgumentKind::Path, PATH),
    tool("Write", ArgumentKind::Path, PATH),
    tool("Edit", ArgumentKind::Path, PATH),
    tool("MultiEdit", ArgumentKind::Path, PATH),
    tool("NotebookEdit", ArgumentKind::Path, PATH),
    tool("NotebookRead", ArgumentKind::Path, PATH),
    tool("LS", ArgumentKind::Path, PATH),
    tool("Glob", ArgumentKind::Text, &["pattern"]),
    tool("Grep", ArgumentKind::Text, &["pattern"]),
    tool("WebFetch", ArgumentKind::Text, &["url"]),
    tool("WebSearch", ArgumentKind::Text, &["query"]),
    tool("Agent", ArgumentKind::Text, &["prompt"]),
];

/// How an argument of an unknown tool is read, by its name; the first one that is there counts.
static BY_SHAPE: &[(&str, ArgumentKind)] = &[
    ("command", ArgumentKind::Shell),
    ("cmd", ArgumentKind::Shell),
    ("file_path", ArgumentKind::Path),
    ("filePath", ArgumentKind::Path),
    ("path", ArgumentKind::Path),
    ("notebook_path", ArgumentKind::Path),
    ("url", ArgumentKind::Text),
    ("query", ArgumentKind::Text),
    ("pattern", ArgumentKind::Text),
    ("prompt", ArgumentKind::Text),
];

/// The row of a known tool.
pub fn known(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// The main argument of a call and how to read it; `None` too where several could be it and differ:
/// the tool may take another one than a guard would.
pub fn main_argument<'v>(tool: &str, input: &'v Value) -> Option<(ArgumentKind, &'v str)> {
    let input = input.as_object()?;
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let row = known(tool);
    let of_row = row.into_iter().flat_map(|row| row.arguments.iter().map(|key| (*key, row.kind)));
    let by_shape = BY_SHAPE.iter().copied().filter(|_| row.is_none());
    let mut values = of_row.chain(by_shape).filter_map(|(key, kind)| Some((kind, text(key)?)));
    let Some((kind, value)) = values.next() else {
        return only_text(input).filter(|_| row.is_none()).map(|value| (ArgumentKind::Text, value));
    };
    let is_clear = kind == ArgumentKind::Text || values.all(|(it, other)| it != kind || other == value);
    is_clear.then_some((kind, value))
}

/// The path a call is about, whatever the argument's name.
pub fn main_path<'v>(tool: &str, input: &'v Value) -> Option<&'v str> {
    let object = input.as_object()?;
    match main_argument(tool, input) {
        Some((ArgumentKind::Path, path)) => Some(path),
        _ => ["path", "file_path", "filePath"].iter().find_map(|key| object.get(*key)?.as_str()),
    }
}

fn only_text(input: &Map<String, Value>) -> Option<&str> {
    let mut texts = input.values().filter_map(Value::as_str);
    let first = texts.next()?;
    texts.next().is_none().then_some(first)
}
