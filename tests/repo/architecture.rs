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
    "engine",
    "dialects",
    "definitions",
    "journal",
    "host",
    "embed",
    "transport",
    "lsp",
    "rpc",
    "cli",
    "lib",
    "main",
];

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

/// The rooms that a text names: behind `crate::`, and within the braces of `crate::{...}`.
fn named(code: &str) -> impl Iterator<Item = &str> {
    let word = |text: &str| text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
    code.split("crate::").skip(1).flat_map(move |rest| {
        let list = rest.strip_prefix('{').and_then(|rest| rest.split('}').next());
        let parts: Vec<&str> = list.map_or_else(|| vec![rest], |list| list.split(',').map(str::trim).collect());
        parts.into_iter().map(move |part| &part[..word(part)])
    })
}

#[test]
fn a_room_uses_only_what_stands_above_it() {
    let mut wrong = Vec::new();
    sources(&repo("src"), None, &mut |path, room| {
        let text = std::fs::read_to_string(path).unwrap();
        // Tests may look anywhere, and so may what is only for the documentation.
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        for used in named(&code) {
            if ROOMS.iter().position(|it| *it == used).is_some_and(|used| used > room) {
                wrong.push(format!("{}: `{}` uses `{used}`", path.display(), ROOMS[room]));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn uses_are_found() {
    let found: Vec<_> = named("use crate::engine::decide; use crate::{host::Host, rpc}; $crate::lsp::x").collect();
    assert_eq!(found, ["engine", "host", "rpc", "lsp"]);
}
