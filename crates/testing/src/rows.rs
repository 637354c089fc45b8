//! Tests whose cases are rows of a file of `tests/data`. It is read as they run, so that a new row
//! needs no build.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt::Debug;

/// A file's path and its text.
pub fn file_text(file: &str) -> (String, String) {
    let path = crate::repo("tests/data").join(file).display().to_string();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    (path, text)
}

/// The rows of a JSON Lines file, each with its place. What a row says in `note` is for people.
pub fn rows<Row: DeserializeOwned>(file: &str) -> impl Iterator<Item = (String, Row)> {
    let (path, text) = file_text(file);
    let rows: Vec<_> = text.lines().map(str::to_string).enumerate().collect();
    rows.into_iter().map(move |(index, line)| {
        let place = format!("{path}:{}", index + 1);
        let read = serde_json::from_str(&line).and_then(|mut row: Map<String, Value>| {
            row.remove("note");
            serde_json::from_value(row.into())
        });
        let row = read.unwrap_or_else(|error| panic!("{place}: {error}"));
        (place, row)
    })
}

/// A text that may be JSON, which then stands in a row as it is, and not in quotes.
pub fn written_value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        json => json.to_string(),
    }
}

/// Holds what was found against what was expected, both told of each row.
pub fn compare<Row: DeserializeOwned, T: Debug + PartialEq>(
    file: &str,
    told: impl Fn(Row) -> (T, T),
) {
    let wrong = rows(file).filter_map(|(place, row)| {
        let (found, expected) = told(row);
        (found != expected).then(|| format!("{place}: found {found:?}, expected {expected:?}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
