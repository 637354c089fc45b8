//! Every command and snippet of the README and of the pages in `docs` does what it says.

use crate::support::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The fenced blocks of a page, by language.
fn blocks_of(page: &Path, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_string()).collect()
}

fn blocks(language: &str) -> Vec<String> {
    blocks_of(&repo("README.md"), language)
}

/// The README and everything in `docs`.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![repo("README.md")];
    let mut rest = vec![repo("docs")];
    while let Some(dir) = rest.pop() {
        for path in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { rest.push(path) } else { pages.push(path) }
        }
    }
    pages
}

fn all_blocks(language: &str) -> Vec<String> {
    pages().iter().flat_map(|page| blocks_of(page, language)).collect()
}

/// A directory with the repository's examples in it, to run commands in.
fn checkout() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in ["examples", "schema"] {
        std::os::unix::fs::symlink(repo(name), dir.path().join(name)).unwrap();
    }
    dir
}

#[test]
fn every_command_runs() {
    let dir = checkout();
    let bin = Path::new(env!("CARGO_BIN_EXE_hookwire")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut n_run = 0;
    for block in all_blocks("sh") {
        // Cargo is running already: what it would build is here, and the tests are these.
        let script = block.replace("cargo run --release --", "hookwire");
        let runs_itself = |line: &&str| !line.trim_start().starts_with("cargo ") && !line.contains(".ci/");
        let script: String = script.lines().filter(runs_itself).map(|line| format!("{line}\n")).collect();
        if script.trim().is_empty() {
            continue;
        }
        let output =
            Command::new("bash").args(["-euc", &script]).env("PATH", &path).current_dir(dir.path()).output().unwrap();
        assert!(
            output.status.success(),
            "{script}\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        if script.contains("git push --force") && script.contains("serve") {
            assert!(String::from_utf8_lossy(&output.stdout).contains(r#""decision":"deny""#));
        }
        n_run += 1;
    }
    assert!(n_run >= 5, "only {n_run} blocks were found");
}

#[test]
fn every_definition_loads_without_a_diagnostic() {
    let dir = tempfile::tempdir().unwrap();
    for (language, blocks) in [("yaml", all_blocks("yaml")), ("toml", all_blocks("toml"))] {
        assert!(!blocks.is_empty());
        for (n, block) in blocks.iter().enumerate() {
            let file = dir.path().join(format!("{n}.{language}"));
            std::fs::write(&file, block).unwrap();
            let output = hookwire().args(["check", "--format", "json"]).arg(&file).output().unwrap();
            let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            // What this machine hasn't got, a reader's may have.
            let of_the_machine = ["no-key", "no-model", "no-module", "no-program", "small-model"];
            let is_of_the_text = |it: &&serde_json::Value| !of_the_machine.contains(&it["code"].as_str().unwrap());
            let told: Vec<_> = told["diagnostics"].as_array().unwrap().iter().filter(is_of_the_text).collect();
            assert!(told.is_empty(), "{block}\n{told:?}");
        }
    }
}

#[test]
fn every_json_is_what_it_stands_for() {
    use hookwire::event::Event;
    use hookwire::verdict;
    let mut kinds = Vec::new();
    for block in blocks("json") {
        let value: serde_json::Value = serde_json::from_str(&block).unwrap();
        kinds.push(if value.get("event").is_some() {
            Event::from_json(value).map(drop).unwrap();
            "event"
        } else if value.get("outcomes").is_some() {
            serde_json::from_value::<verdict::Verdict>(value).unwrap();
            "verdict"
        } else {
            serde_json::from_value::<verdict::Answer>(value).unwrap();
            "answer"
        });
    }
    assert_eq!(kinds, ["answer", "event", "verdict"]);
}

#[test]
fn the_agent_is_the_file() {
    assert_eq!(blocks("python"), [std::fs::read_to_string(repo("examples/agents/minimal.py")).unwrap()]);
}

#[test]
fn every_method_event_field_and_handler_is_named() {
    let text = std::fs::read_to_string(repo("README.md")).unwrap();
    let (definitions, protocol) = (schema("definitions"), schema("protocol"));
    let fields = &definitions["$defs"]["Hook"]["properties"];
    let names = [&protocol["requests"], &protocol["notifications"], fields];
    let names = names.into_iter().flat_map(|names| names.as_object().unwrap().keys().map(String::as_str));
    // They have no params.
    for name in names.chain(["initialized", "exit"]) {
        assert!(text.contains(&format!("`{name}`")), "`{name}` is not in the README");
    }
}

/// Each row of the promises names what shows it: a test or an example.
#[test]
fn every_promise_is_shown() {
    let page = std::fs::read_to_string(repo("docs/promises.md")).unwrap();
    let mut shown = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise")) {
        let proofs = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let names: Vec<_> = proofs.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "nothing shows: {row}");
        for name in names {
            let (file, test) = name.split_once("::").unwrap_or((name, ""));
            assert!(repo(file).exists(), "{name} isn't there: {row}");
            if !test.is_empty() {
                let text = std::fs::read_to_string(repo(file)).unwrap();
                let function = test.rsplit("::").next().unwrap();
                assert!(text.contains(&format!("fn {function}(")), "{name} isn't there: {row}");
            }
            shown += 1;
        }
    }
    assert!(shown > 100, "only {shown} proofs");
}

/// Links within the repository lead somewhere.
#[test]
fn every_link_leads_somewhere() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap();
            if !link.contains("://") && !path.is_empty() {
                assert!(page.parent().unwrap().join(path).exists(), "{}: {link}", page.display());
            }
        }
    }
}
