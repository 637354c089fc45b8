//! What the code promises of itself: each crate uses only the crates above it, each room only the
//! rooms above it. Cargo holds the first; the tests here hold the second, and keep the table of
//! `src/lib.rs` and the picture of the house true.

use crate::support::repo;
use std::path::{Path, PathBuf};

/// The crates that a host is made of, from the ground up, each with its rooms. A room uses what
/// stands above it in this list, and nothing below.
const HOUSE: &[(&str, &[&str])] = &[
    ("acts", &[]),
    ("ask", &[]),
    ("run", &[]),
    ("fleet", &[]),
    (
        "base",
        &[
            "support",
            "event",
            "verdict",
            "syntax",
            "template",
            "transport",
        ],
    ),
    ("rules", &["agents", "matching", "contract", "policy"]),
    ("dialects", &[]),
    ("handlers", &["services", "handlers"]),
    (
        "engine",
        &[
            "hook",
            "hook_set",
            "starts",
            "callable",
            "engine",
            "definitions",
            "trust",
            "canaries",
            "journal",
            "ledger",
            "host",
            "fleet",
            "embed",
            "running",
            "face",
        ],
    ),
    ("gateway", &[]),
    ("lsp", &[]),
    (
        "hookwire",
        &[
            "suggest",
            "history",
            "always",
            "permissions",
            "transcripts",
            "model_server",
            "rpc",
            "http",
            "inspector",
            "cli",
            "demo",
        ],
    ),
];

/// Crates beside the house: a program of its own, and what tests share.
const BESIDE: &[&str] = &["conformance", "testing"];

/// The directory of a crate's sources.
fn crate_dir(name: &str) -> PathBuf {
    if name == "hookwire" {
        repo("src")
    } else {
        repo("crates").join(name).join("src")
    }
}

/// Every source file below a directory, but for tests.
fn sources(dir: &Path, visit: &mut impl FnMut(&Path)) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, visit);
        } else if path.extension().is_some_and(|it| it == "rs")
            && path.file_stem().unwrap() != "tests"
        {
            visit(&path);
        }
    }
}

/// Every source file of a crate with its room.
fn rooms(name: &str, visit: &mut impl FnMut(&Path, &str)) {
    let dir = crate_dir(name);
    sources(&dir, &mut |path| {
        let below = path.strip_prefix(&dir).unwrap();
        let room = below
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap();
        visit(path, room.trim_end_matches(".rs"));
    });
}

/// The names that a text has behind a prefix, and within the braces behind it.
fn named<'t>(code: &'t str, prefix: &str) -> Vec<&'t str> {
    let word = |text: &str| {
        text.chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .count()
    };
    let behind = code.split(prefix).skip(1).flat_map(move |rest| {
        let list = rest
            .strip_prefix('{')
            .and_then(|rest| rest.split('}').next());
        let parts: Vec<&str> = list.map_or_else(
            || vec![rest],
            |list| list.split(',').map(str::trim).collect(),
        );
        parts.into_iter().map(move |part| &part[..word(part)])
    });
    behind.collect()
}

/// What a file says outside of comments and tests, which may look anywhere.
pub(crate) fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let tests = [
        "#[cfg(test)]\nmod tests {",
        "#[cfg(test)]\npub(super) mod tests {",
    ];
    let code = tests.iter().fold(text.as_str(), |code, tests| {
        code.split(tests).next().unwrap()
    });
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_room_uses_only_what_stands_above_it() {
    let mut wrong = Vec::new();
    for (name, order) in HOUSE.iter().filter(|(_, order)| !order.is_empty()) {
        rooms(name, &mut |path, room| {
            if ["lib", "main", "bin"].contains(&room) {
                return;
            }
            let place = |room: &str| order.iter().position(|it| *it == room);
            let here =
                place(room).unwrap_or_else(|| panic!("`{room}` of `{name}` has no place in HOUSE"));
            for used in named(&code(path), "crate::") {
                if place(used).is_some_and(|used| used > here) {
                    wrong.push(format!("{}: `{room}` uses `{used}`", path.display()));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A crate's manifest.
fn manifest(name: &str) -> toml::Table {
    let path = if name == "hookwire" {
        repo("Cargo.toml")
    } else {
        repo("crates").join(name).join("Cargo.toml")
    };
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Each heavy dependency is one crate's, and a feature of a crate is handed on by all that use the
/// crate.
#[test]
fn features_are_handed_on() {
    let features = |name: &str| -> toml::Table {
        manifest(name)
            .get("features")
            .and_then(|it| it.as_table().cloned())
            .unwrap_or_default()
    };
    let used = |name: &str, dependency: &str| {
        manifest(name)["dependencies"]
            .as_table()
            .unwrap()
            .contains_key(dependency)
    };
    for (name, _) in HOUSE {
        let below = HOUSE
            .iter()
            .map(|(below, _)| *below)
            .filter(|below| used(name, &format!("hookwire-{below}")));
        for below in below {
            for feature in features(below)
                .keys()
                .filter(|it| !["default", "review"].contains(&it.as_str()))
            {
                let own = features(name);
                let list = own
                    .get(feature)
                    .and_then(|it| it.as_array())
                    .cloned()
                    .unwrap_or_default();
                let handed_on = [
                    format!("hookwire-{below}/{feature}"),
                    format!("hookwire-{below}?/{feature}"),
                ];
                let is_handed_on = list
                    .iter()
                    .any(|it| handed_on.iter().any(|on| it.as_str() == Some(on)));
                // Where two ways lead to a crate, one is enough.
                let by_another = list.iter().any(|it| {
                    it.as_str()
                        .is_some_and(|it| it.ends_with(&format!("/{feature}")))
                });
                assert!(
                    is_handed_on || by_another,
                    "`{name}` doesn't hand `{feature}` on to `{below}`"
                );
            }
        }
    }
    for (dependency, owner) in [
        ("rquickjs", "handlers"),
        ("rmcp", "handlers"),
        ("reqwest", "handlers"),
        ("async-nats", "fleet"),
        ("rusqlite", "hookwire"),
        ("hyper", "hookwire"),
        ("clap", "hookwire"),
        ("ls-types", "lsp"),
    ] {
        let owners: Vec<_> = HOUSE
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| used(name, dependency))
            .collect();
        assert_eq!(owners, [owner], "{dependency}");
    }
}

/// Cargo allows no circle; that the order is this one is for those who read.
#[test]
fn a_crate_uses_only_what_stands_above_it() {
    let all: Vec<&str> = HOUSE.iter().map(|(name, _)| *name).collect();
    for (n, name) in all.iter().enumerate() {
        let manifest = if *name == "hookwire" {
            repo("Cargo.toml")
        } else {
            repo("crates").join(name).join("Cargo.toml")
        };
        let manifest: toml::Table =
            toml::from_str(&std::fs::read_to_string(manifest).unwrap()).unwrap();
        let used = manifest["dependencies"].as_table().unwrap().keys();
        for used in used.filter_map(|it| it.strip_prefix("hookwire-")) {
            assert!(all[..n].contains(&used), "`{name}` uses `{used}`");
        }
    }
    let mut dirs: Vec<_> = std::fs::read_dir(repo("crates"))
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    let mut known: Vec<&str> = all
        .iter()
        .filter(|it| **it != "hookwire")
        .chain(BESIDE)
        .copied()
        .collect();
    dirs.sort();
    known.sort_unstable();
    assert_eq!(dirs, known);
}

/// The first sentence of what a module says of itself.
fn about(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
        .take_while(|it| !it.is_empty());
    let paragraph = lines.collect::<Vec<_>>().join(" ");
    paragraph
        .split_once(". ")
        .map_or(paragraph.trim_end_matches('.'), |(first, _)| first)
        .to_string()
}

/// A crate's or a room's own file.
fn file_of(dir: &Path, room: Option<&str>) -> PathBuf {
    let places = match room {
        Some(room) => [
            dir.join(format!("{room}.rs")),
            dir.join(room).join("mod.rs"),
        ],
        None => [dir.join("lib.rs"), dir.join("main.rs")],
    };
    places
        .into_iter()
        .find(|it| it.is_file())
        .unwrap_or_else(|| panic!("{}: no {room:?}", dir.display()))
}

/// Holds a generated text to what is committed; `UPDATE_EXPECT=1` writes it anew.
fn compare(file: &str, fresh: &str) {
    let path = repo(file);
    match std::env::var_os("UPDATE_EXPECT") {
        Some(_) => std::fs::write(&path, fresh).unwrap(),
        None => assert!(
            std::fs::read_to_string(&path).unwrap_or_default() == fresh,
            "{file} isn't what the rooms say of themselves: UPDATE_EXPECT=1 writes it anew"
        ),
    }
}

/// The table says of each crate and room what its own file says first.
#[test]
fn the_table_of_rooms_is_true() {
    let mut table = String::from("//! | crate | room | what |\n//! |---|---|---|\n");
    let mut row = |name: &str, room: &str, path: &Path| {
        table.push_str(&format!("//! | {name} | {room} | {} |\n", about(path)));
    };
    for (name, order) in HOUSE {
        let dir = crate_dir(name);
        let shown = if *name == "hookwire" {
            "`src`".to_string()
        } else {
            format!("`crates/{name}`")
        };
        row(&shown, "", &file_of(&dir, None));
        order
            .iter()
            .for_each(|room| row("", &format!("`{room}`"), &file_of(&dir, Some(room))));
    }
    for name in BESIDE {
        row(
            &format!("`crates/{name}`"),
            "",
            &file_of(&crate_dir(name), None),
        );
    }
    let text = std::fs::read_to_string(repo("src/lib.rs")).unwrap();
    let (before, rest) = text.split_once("//! | crate |").unwrap();
    let after = rest.split_once("\n//!\n").unwrap().1;
    compare("src/lib.rs", &format!("{before}{table}//!\n{after}"));
}

/// The picture has each crate with its rooms, the ground at the bottom.
#[test]
fn the_picture_of_the_house_is_true() {
    let committed = std::fs::read_to_string(repo("docs/images/house.svg")).unwrap();
    let style = &committed[committed.find("<style>").unwrap()..committed.find("<rect").unwrap()];
    let height = 92 + 44 * HOUSE.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 {height}\" width=\"760\" height=\"{height}\" role=\"img\">\n\
         <title>The crates of the house: each uses only those below it</title>\n{style}\
         <rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"759\" height=\"{}\" rx=\"8\"/>\n\
         <path class=\"line\" d=\"M28 46 380 8 732 46\"/>\n",
        height - 1
    );
    for (n, (name, rooms)) in HOUSE.iter().rev().enumerate() {
        let y = 46 + 44 * n;
        let (class, shown) = match *name {
            "hookwire" => ("box", "src".to_string()),
            "engine" => ("yes", "crates/engine".to_string()),
            "acts" => ("key", "crates/acts".to_string()),
            name => ("box", format!("crates/{name}")),
        };
        let about = about(&file_of(&crate_dir(name), None))
            .replace('&', "&amp;")
            .replace('`', "");
        let about = if rooms.is_empty() {
            about
        } else {
            rooms.join(" · ")
        };
        svg.push_str(&format!(
            "<rect class=\"{class}\" x=\"28\" y=\"{y}\" width=\"704\" height=\"40\" rx=\"2\"/>\n\
             <text class=\"code\" x=\"40\" y=\"{}\">{shown}</text>\n<text class=\"dim\" x=\"40\" y=\"{}\">{about}</text>\n",
            y + 17,
            y + 33
        ));
    }
    svg.push_str(&format!(
        "<text class=\"mid dim\" x=\"380\" y=\"{}\">beside it: {}, tests, clients, editors, docs</text>\n</svg>\n",
        height - 22,
        BESIDE.iter().map(|name| format!("crates/{name}")).collect::<Vec<_>>().join(", ")
    ));
    compare("docs/images/house.svg", &svg);
}

/// The command line starts a host that serves editors, too, and knows nothing else of the language
/// server: what both need stands in a crate above them.
#[test]
fn the_command_line_knows_no_language_server() {
    let mut wrong = Vec::new();
    sources(&repo("src/cli"), &mut |path| {
        if code(path).contains("hookwire_lsp") {
            wrong.push(path.display().to_string());
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What stands between the formats and the rest is one room; the facts of agents are data of ours.
#[test]
fn one_room_reads_and_writes_the_formats() {
    let mut wrong = Vec::new();
    for (name, _) in HOUSE {
        rooms(name, &mut |path, room| {
            let libraries = ["granit_parser", "jsonc_parser", "toml", "toml_parser"];
            let uses = |name: &&str| code(path).contains(&format!("use {name}::"));
            if !["syntax", "agents"].contains(&room) && libraries.iter().any(uses) {
                wrong.push(path.display().to_string());
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whoever has made a project may have put links there: what commands and the inspector write into
/// one goes through `support::below`. These write elsewhere.
#[test]
fn one_module_writes_into_projects() {
    let elsewhere = [
        // Into copies and directories of their own.
        "cli/test/place.rs",
        "always.rs",
        "cli/drive.rs",
        "cli/import/proof.rs",
        "cli/sample_host.rs",
        "cli/fleet/cases.rs",
        "inspector/tried.rs",
        // Into what this user's data and runtime directories have.
        "cli/kept.rs",
        "cli/written/record.rs",
        "cli/copies.rs",
        "cli/mcp/pins_file.rs",
        "cli/serve.rs",
        "cli/warm_host.rs",
        // Where only root can put a link.
        "cli/managed/record.rs",
        "cli/managed/settings.rs",
        // For whoever packs hookwire.
        "cli/generate/share.rs",
        // Into an agent's settings, which people keep behind links.
        "cli/install/write.rs",
    ];
    let writes = [
        "fs::write(",
        "fs::copy(",
        "create_dir",
        "File::create",
        "OpenOptions",
        "File::options",
        "DirBuilder",
    ];
    let replaces = [
        "file::replace",
        "file::{replace",
        "new_beside",
        "set_permissions",
    ];
    let mut wrong = Vec::new();
    rooms("hookwire", &mut |path, room| {
        let code = code(path);
        let is_writer = writes.iter().chain(&replaces).any(|it| code.contains(it));
        let is_elsewhere = elsewhere
            .iter()
            .any(|it| path.ends_with(Path::new("src").join(it)));
        if ["cli", "inspector"].contains(&room) && is_writer && !is_elsewhere {
            wrong.push(path.display().to_string());
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a line of code gives a decision, and not only compares or matches one.
fn makes_decision(line: &str) -> bool {
    let is_made = |(at, _): (usize, &str)| {
        let before = line[..at].trim_end_matches("Some(").trim_end();
        !["==", "!=", ">", "<"].iter().any(|it| before.ends_with(it)) && !line[at..].contains("=>")
    };
    line.contains("Answer::decide(") || line.match_indices("Decision::").any(is_made)
}

/// An error is not "no": the engine makes a decision out of an error in one file. These places make
/// one of what somebody has said.
#[test]
fn one_file_makes_decisions_of_errors() {
    let said = [
        // A hook's allow, for the value that goes out.
        (
            "chain.rs",
            "(Some(Decision::Allow), Some(hook.clone()), reason.clone())",
        ),
        // A host that is started to run no hook.
        (
            "intercept.rs",
            "let verdict = question.without_hooks(Decision::Allow, None);",
        ),
        // A hook asked at an earlier event of the call.
        ("passed_on.rs", "verdict.decision = Decision::Ask;"),
        // A policy denies.
        ("policy_gate.rs", "decision: Some(Decision::Deny),"),
        // A hook ends the run.
        ("run.rs", "answer.decision = Some(Decision::Deny);"),
        // A hook has sent the agent back too often.
        ("sessions.rs", "verdict.decision = Decision::Allow;"),
        // What the person's terminal is told.
        ("settle.rs", "unanswered: Decision::Deny,"),
        // Nobody has said anything.
        (
            "verdict.rs",
            "decision: folded.decision.unwrap_or(Decision::Allow),",
        ),
        // A hook stops the agent that wants to rest.
        ("verdict.rs", "verdict.decision = Decision::Allow;"),
    ];
    let mut found = Vec::new();
    sources(&crate_dir("engine").join("engine"), &mut |path| {
        let file = path.file_name().unwrap().to_str().unwrap().to_string();
        let code = code(path);
        let lines = code
            .lines()
            .map(str::trim)
            .filter(|line| makes_decision(line));
        found.extend(
            lines
                .filter(|_| file != "failure.rs")
                .map(|line| (file.clone(), line.to_string())),
        );
    });
    let mut known: Vec<_> = said
        .iter()
        .map(|(file, line)| (file.to_string(), line.to_string()))
        .collect();
    found.sort();
    known.sort();
    assert_eq!(
        found, known,
        "a decision out of an error is made in `engine/failure.rs`"
    );
}

#[test]
fn uses_are_found() {
    let found = named(
        "use crate::engine::decide; use crate::{host::Host, rpc}; $crate::lsp::x",
        "crate::",
    );
    assert_eq!(found, ["engine", "host", "rpc", "lsp"]);
    let made = [
        "let it = Answer::decide(how, why);",
        "it.decision = Some(Decision::Deny);",
        "(Decision::Deny, why)",
    ];
    assert!(made.into_iter().all(makes_decision));
    let seen = [
        "if it == Some(Decision::Deny) {",
        "if how != Decision::Allow {",
        "Some(Decision::Ask) if is_open => how,",
    ];
    assert!(!seen.into_iter().any(makes_decision));
}
