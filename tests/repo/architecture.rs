//! What the code promises of itself: each room uses only the rooms above it.

use crate::support::repo;
use std::path::Path;

/// The rooms of the house, from the ground up. A room uses what stands above it in this list, and nothing below.
const ROOMS: &[&str] = &[
    "support",
    "event",
    "verdict",
    "syntax",
    "matching",
    "template",
    "contract",
    "services",
    "handlers",
    "hook",
    "policy",
    "hook_set",
    "starts",
    "engine",
    "dialects",
    "definitions",
    "trust",
    "journal",
    "host",
    "embed",
    "transport",
    "running",
    "lsp",
    "rpc",
    "http",
    "cli",
    "lib",
    "main",
];

/// The files of the language server, from the ground up. It has so many that it has an order of its own.
const LSP: &[&str] = &[
    "answer",
    "plain_text",
    "editor",
    "context",
    "texts",
    "docs",
    "half_typed",
    "document",
    "written",
    "project",
    "workspaces",
    "effects",
    "sample",
    "live",
    "past",
    "surroundings",
    "standing",
    "tokens",
    "symbols",
    "completion",
    "hover",
    "hints",
    "report",
    "listed",
    "timeline",
    "same_name",
    "definition",
    "rename",
    "lenses",
    "actions",
    "server",
    "diagnostics",
    "run",
    "trusting",
    "commands",
    "serve",
    "methods",
    "mod",
];

/// The files of `completion`, which is a part of the language server.
const COMPLETION: &[&str] =
    &["about", "snippet", "writer", "paths", "conditions", "placeholders", "rules", "keys", "values", "mod"];

/// Every source file with the room that it is in.
fn sources(dir: &Path, room: Option<usize>, visit: &mut impl FnMut(&Path, usize)) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let here =
            || ROOMS.iter().position(|it| *it == name).unwrap_or_else(|| panic!("`{name}` has no place in ROOMS"));
        if path.is_dir() {
            sources(&path, Some(room.unwrap_or_else(here)), visit);
        } else if path.extension().is_some_and(|it| it == "rs") && name != "tests" {
            visit(&path, room.unwrap_or_else(here));
        }
    }
}

/// The names that a text has behind a prefix, and within the braces behind it.
fn named<'t>(code: &'t str, prefix: &str) -> Vec<&'t str> {
    let word = |text: &str| text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
    let behind = code.split(prefix).skip(1).flat_map(move |rest| {
        let list = rest.strip_prefix('{').and_then(|rest| rest.split('}').next());
        let parts: Vec<&str> = list.map_or_else(|| vec![rest], |list| list.split(',').map(str::trim).collect());
        parts.into_iter().map(move |part| &part[..word(part)])
    });
    behind.collect()
}

/// What a file says outside of comments and tests, which may look anywhere.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let tests = ["#[cfg(test)]\nmod tests", "#[cfg(test)]\npub(super) mod tests"];
    let code = tests.iter().fold(text.as_str(), |code, tests| code.split(tests).next().unwrap());
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_room_uses_only_what_stands_above_it() {
    let mut wrong = Vec::new();
    sources(&repo("src"), None, &mut |path, room| {
        for used in named(&code(path), "crate::") {
            if ROOMS.iter().position(|it| *it == used).is_some_and(|used| used > room) {
                wrong.push(format!("{}: `{}` uses `{used}`", path.display(), ROOMS[room]));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with the order of the files of a folder. A folder in it is like a file.
fn disorder(dir: &Path, order: &[&str]) -> Vec<String> {
    fn visit(path: &Path, up: &str, own: usize, order: &[&str], wrong: &mut Vec<String>) {
        if path.is_dir() {
            let entries = std::fs::read_dir(path).unwrap().map(Result::unwrap);
            return entries.for_each(|it| visit(&it.path(), &format!("{up}super::"), own, order, wrong));
        }
        // One step further up is another folder.
        let text = code(path).replace(&format!("{up}super::"), "");
        for used in named(&text, up) {
            match order.iter().position(|it| *it == used) {
                Some(used) if used < own => {}
                Some(_) => wrong.push(format!("{} uses `{used}`", path.display())),
                // `pub(in super::super)` uses nothing.
                None if used == "super" => {}
                None => wrong.push(format!("{} uses `{used}`, which is in no file below", path.display())),
            }
        }
    }
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        match order.iter().position(|it| *it == name) {
            Some(_) if name == "mod" => {}
            Some(own) => visit(&path, "super::", own, order, &mut wrong),
            None => wrong.push(format!("`{name}` has no place in the order of {}", dir.display())),
        }
    }
    wrong
}

#[test]
fn the_language_server_has_no_circle() {
    let mut wrong = disorder(&repo("src/lsp"), LSP);
    wrong.extend(disorder(&repo("src/lsp/completion"), COMPLETION));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn uses_are_found() {
    let found = named("use crate::engine::decide; use crate::{host::Host, rpc}; $crate::lsp::x", "crate::");
    assert_eq!(found, ["engine", "host", "rpc", "lsp"]);
}
