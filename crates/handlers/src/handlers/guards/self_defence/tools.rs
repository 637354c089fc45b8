//! Tools of which nothing is known but their name and what they are given.

use super::ground::Ground;
use super::names::is_one;
use super::places::Named;
use hookwire_rules::matching::tools;
use serde_json::Value;
use std::path::PathBuf;

/// How many texts of a call are looked at.
const MOST: usize = 256;

/// What a tool does that only looks, by the first word of its name.
const READING: &str = "\
    read|get|list|search|find|grep|glob|view|stat|show|cat|ls|fetch|lookup|query|describe|tree|directory|head|\
    tail|open|inspect|browse|count|check|resolve|analyze|diff|log|status|blame";

/// What a tool does that takes away or changes, by any word of its name or of its members' names.
const CHANGING: &[&str] = &[
    "move", "rename", "delete", "remove", "rm", "mv", "trash", "unlink", "erase", "destroy",
    "clean", "purge", "replace", "chmod", "chown", "copy", "cp", "extract", "unzip", "link",
    "symlink", "write", "create", "edit", "update", "set", "put", "save", "append", "insert",
    "patch", "apply", "run", "exec", "execute", "shell", "command", "upload", "sync", "restore",
    "checkout", "reset", "stash", "truncate",
];

/// Members whose text is a command, or whose list is one.
const COMMANDS: &str =
    "cmd|command|commands|commandline|script|args|argv|arguments|shell|bash|exec|input|code";
/// Members that name a program, whose arguments stand beside it.
const PROGRAMS: &[&str] = &[
    "program",
    "executable",
    "command",
    "cmd",
    "file",
    "binary",
    "bin",
    "path",
];
const ARGUMENTS: &[&str] = &["args", "argv", "arguments", "params", "parameters"];

/// The words of a name: `mcp__files__moveFile` has `move` and `file`, which follow the server's.
fn words(name: &str) -> Vec<String> {
    let own = name.rsplit("__").next().unwrap_or(name);
    let mut words = vec![String::new()];
    for c in own.chars() {
        let is_new = !c.is_alphanumeric()
            || c.is_uppercase()
                && words
                    .last()
                    .is_some_and(|it| it.ends_with(char::is_lowercase));
        if is_new {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|it| it.extend(c.to_lowercase()));
        }
    }
    words.retain(|it| !it.is_empty());
    words
}

/// Whether a tool only looks, by its name.
pub(super) fn only_reads(name: &str) -> bool {
    let words = words(name);
    words.first().is_some_and(|first| is_one(READING, first))
        && !words.iter().any(|word| CHANGING.contains(&word.as_str()))
}

/// The texts of a call that are commands by the names of their members, as a shell would be given
/// them.
pub(super) fn commands(input: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(input, &mut found);
    found.truncate(MOST);
    found
}

fn walk(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let letters = |key: &str| key.replace(['_', '-'], "").to_ascii_lowercase();
            for (key, value) in members
                .iter()
                .filter(|(key, _)| is_one(COMMANDS, &letters(key)))
            {
                found.extend(tools::shell_text(value).map(|text| text.into_owned()));
                let texts = value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str);
                // A list may be one of commands, too.
                found.extend(
                    texts
                        .filter(|text| key.ends_with('s') && text.contains(' '))
                        .map(str::to_string),
                );
            }
            let by = |names: &[&str]| {
                members
                    .iter()
                    .find(|(key, _)| names.contains(&letters(key).as_str()))
                    .map(|(_, value)| value)
            };
            if let (Some(program), Some(arguments)) =
                (by(PROGRAMS).and_then(Value::as_str), by(ARGUMENTS))
            {
                let arguments = tools::shell_text(arguments).unwrap_or_default();
                found.push(format!("{program} {arguments}"));
            }
            members.values().for_each(|value| walk(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| walk(value, found)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The first text of a call that names a place, or one that goes away with what the text names.
/// `is_guarded`: says so of a text for the guard's own patterns.
pub(super) fn named<'v>(
    name: &str,
    input: &'v Value,
    ground: &Ground<'_>,
    is_guarded: impl Fn(&str) -> bool,
) -> Option<&'v str> {
    let takes_away = takes_away(name, input);
    let here = std::iter::once(ground.base.to_path_buf());
    let directories: Vec<PathBuf> = here
        .chain(tools::directories_of_paths(input).map(|it| ground.base.join(it)))
        .collect();
    let mut texts = tools::texts_like_paths(input);
    if takes_away {
        names(input, &mut texts);
    }
    // Links are looked up on the disk, so texts that say what they are come first.
    texts.sort_by_key(|text| !ground.places.may_be_in(text));
    let keyed = texts.partition_point(|text| ground.places.may_be_in(text));
    texts.truncate(keyed.max(MOST));
    let is_one =
        |named: &Named| ground.places.at(named).is_some() || takes_away && ground.holds(named);
    texts.into_iter().find(|text| {
        let file = tools::file_of_url(text).flatten();
        let all = ground.spelled(
            file.as_deref().unwrap_or(text),
            text.contains('*'),
            &directories,
        );
        all.iter()
            .any(|named| is_one(named) || ground.resolved(named).is_some_and(|it| is_one(&it)))
            || is_guarded(text)
    })
}

/// Whether a call may take away what it names, with all that this holds.
fn takes_away(name: &str, input: &Value) -> bool {
    const TAKING: &[&str] = &[
        "move", "rename", "delete", "remove", "rm", "mv", "trash", "unlink", "erase", "destroy",
        "clean", "purge", "replace", "chmod", "chown", "link", "symlink",
    ];
    let speaks = |name: &str| {
        words(name)
            .iter()
            .any(|word| TAKING.contains(&word.as_str()))
    };
    let members = || input.as_object().into_iter().flatten();
    let does = || {
        members().any(|(key, value)| {
            ["operation", "action", "op", "method", "command", "type"].contains(&key.as_str())
                && value.as_str().is_some_and(speaks)
        })
    };
    speaks(name) || does()
}

/// The texts of a call that may be names of files, without a sign of it.
fn names<'v>(input: &'v Value, found: &mut Vec<&'v str>) {
    match input {
        Value::String(text)
            if text.len() < 256 && !text.is_empty() && !text.contains(char::is_whitespace) =>
        {
            found.push(text)
        }
        Value::Array(items) => items.iter().for_each(|it| names(it, found)),
        Value::Object(members) => members.values().for_each(|it| names(it, found)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
