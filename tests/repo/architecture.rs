//! What the code promises of itself: each room uses only the rooms above it.

use crate::support::repo;
use std::path::Path;

/// The rooms of the house, from the ground up. A room uses what stands above it in this list, and nothing below.
const ROOMS: &[&str] = &[
    "support",
    "event",
    "verdict",
    "syntax",
    "agents",
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
    "fleet",
    "embed",
    "transport",
    "running",
    "suggest",
    "history",
    "lsp",
    "rpc",
    "http",
    "inspector",
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
pub(crate) fn code(path: &Path) -> String {
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

/// The command line starts a host that serves editors, too, and knows nothing else of the language server: what both
/// need stands in a room above them.
#[test]
fn the_command_line_knows_no_language_server() {
    let cli = ROOMS.iter().position(|it| *it == "cli").unwrap();
    let mut wrong = Vec::new();
    sources(&repo("src"), None, &mut |path, room| {
        if room == cli && named(&code(path), "crate::").contains(&"lsp") {
            wrong.push(path.display().to_string());
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What stands between the formats and the rest is one room; the facts of agents are data of ours.
#[test]
fn one_room_reads_and_writes_the_formats() {
    let mut wrong = Vec::new();
    sources(&repo("src"), None, &mut |path, room| {
        let libraries = ["granit_parser", "jsonc_parser", "toml", "toml_parser"];
        let uses = |name: &&str| code(path).contains(&format!("use {name}::"));
        if !["syntax", "agents"].contains(&ROOMS[room]) && libraries.iter().any(uses) {
            wrong.push(path.display().to_string());
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whoever has made a project may have put links there: what commands and the inspector write into one goes through
/// `support::below`. These write elsewhere.
#[test]
fn one_module_writes_into_projects() {
    let elsewhere = [
        // Into copies and directories of their own.
        "cli/cases/place.rs",
        "cli/demo.rs",
        "cli/demo_run.rs",
        "cli/drive/mod.rs",
        "cli/fleet/cases.rs",
        "cli/fleet/demo/machine.rs",
        "cli/fleet/demo/mod.rs",
        "cli/fleet/demo/server.rs",
        "inspector/tried.rs",
        // Into what this user's data and runtime directories have.
        "cli/kept.rs",
        "cli/serve.rs",
        "cli/warm_host.rs",
        // For whoever packs hookwire.
        "cli/generate.rs",
        // Into an agent's settings, which people keep behind links.
        "cli/install.rs",
    ];
    let writes =
        ["fs::write(", "fs::copy(", "create_dir", "File::create", "OpenOptions", "File::options", "DirBuilder"];
    let replaces = ["file::replace", "file::{replace", "new_beside", "set_permissions"];
    let mut wrong = Vec::new();
    sources(&repo("src"), None, &mut |path, room| {
        let code = code(path);
        let is_writer = writes.iter().chain(&replaces).any(|it| code.contains(it));
        let is_elsewhere = elsewhere.iter().any(|it| path.ends_with(Path::new("src").join(it)));
        if ["cli", "inspector"].contains(&ROOMS[room]) && is_writer && !is_elsewhere {
            wrong.push(path.display().to_string());
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn uses_are_found() {
    let found = named("use crate::engine::decide; use crate::{host::Host, rpc}; $crate::lsp::x", "crate::");
    assert_eq!(found, ["engine", "host", "rpc", "lsp"]);
}
