//! Every command and snippet of the README and of the book in `docs` does what it says.

use crate::support::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A fenced block of a page.
struct Block {
    language: String,
    text: String,
}

/// The README, the pages of the book, and the READMEs of the examples.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![repo("README.md")];
    let mut rest = vec![repo("docs"), repo("examples")];
    while let Some(dir) = rest.pop() {
        for path in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                rest.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

fn blocks(page: &Path) -> Vec<Block> {
    let text = std::fs::read_to_string(page).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        // Within a list, it stands further right.
        match line.trim_start().strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(language) => {
                blocks.push(Block { language: language.into(), text: String::new() });
                is_open = true;
            }
            None if is_open => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    assert!(!is_open, "{}: a fence isn't closed", page.display());
    blocks
}

fn all_blocks(language: &str) -> Vec<String> {
    let blocks = pages().into_iter().flat_map(|page| blocks(&page));
    blocks.filter(|it| it.language == language).map(|it| it.text).collect()
}

/// A project with the repository's examples in it, to run commands in. Nothing of this machine's user is seen.
struct Checkout(tempfile::TempDir);

impl Checkout {
    fn new() -> Checkout {
        let dir = tempfile::tempdir().unwrap();
        for name in ["project/.git", "home"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        // Hooks may write beside themselves.
        let copied =
            Command::new("cp").arg("-r").arg(repo("examples")).arg(dir.path().join("project")).status().unwrap();
        assert!(copied.success());
        Checkout(dir)
    }

    fn command(&self, program: &str) -> Command {
        let bin = Path::new(env!("CARGO_BIN_EXE_hookwire")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(program);
        let home = self.0.path().join("home");
        command.env("PATH", &path).env("HOME", home).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
        command.current_dir(self.0.path().join("project"));
        command
    }

    fn bash(&self, script: &str) -> Output {
        self.command("bash").args(["-euc", script]).output().unwrap()
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Each page's commands run in order, in a project of their own; what a `console` block shows is what they print.
#[test]
fn every_command_runs_and_prints_what_is_shown() {
    let (mut n_run, mut n_shown) = (0, 0);
    for page in pages() {
        let blocks = blocks(&page);
        if !blocks.iter().any(|it| ["sh", "console"].contains(&&*it.language)) {
            continue;
        }
        let checkout = Checkout::new();
        for block in blocks {
            match block.language.as_str() {
                "sh" => {
                    // Cargo is running already: what it would build is here, and the tests are these.
                    let script = block.text.replace("cargo run --release --", "hookwire");
                    let runs_itself = |line: &&str| {
                        let line = line.trim_start();
                        !line.starts_with("cargo ")
                            && !line.starts_with("cd ")
                            && !line.contains(".ci/")
                            && !line.contains("~/hookwire")
                    };
                    let script: String = script.lines().filter(runs_itself).map(|line| format!("{line}\n")).collect();
                    if script.trim().is_empty() {
                        continue;
                    }
                    let output = checkout.bash(&script);
                    assert!(output.status.success(), "{}: {script}\n{}", page.display(), said(&output));
                    if script.contains("git push --force") && script.contains("serve") {
                        assert!(said(&output).contains(r#""decision":"deny""#));
                    }
                    n_run += 1;
                }
                "console" => {
                    for shown in block.text.split("$ ").filter(|it| !it.is_empty()) {
                        let (command, expected) = shown.split_once('\n').unwrap();
                        let output = checkout.bash(command);
                        let printed = said(&output);
                        assert!(output.status.success(), "{}: {command}\n{printed}", page.display());
                        assert!(
                            is_shown(expected, &printed),
                            "{}: {command}\nprints\n{printed}\nand not\n{expected}",
                            page.display()
                        );
                        n_shown += 1;
                    }
                }
                _ => {}
            }
        }
    }
    assert!(n_run >= 14 && n_shown >= 9, "only {n_run} blocks and {n_shown} commands were found");
}

/// Whether a page shows what was printed. A line `...` stands for any lines; numbers, and where a file is, differ.
fn is_shown(expected: &str, printed: &str) -> bool {
    let lines = |text: &str| text.trim_end().lines().map(alike).collect::<Vec<_>>();
    let (expected, printed) = (lines(expected), lines(printed));
    let mut rest = &printed[..];
    let mut may_skip = false;
    for line in &expected {
        if line == "..." {
            may_skip = true;
            continue;
        }
        let Some(at) = rest.iter().position(|it| it == line) else { return false };
        if at > 0 && !may_skip {
            return false;
        }
        rest = &rest[at + 1..];
        may_skip = false;
    }
    may_skip || rest.is_empty()
}

/// A line without its times and directories.
fn alike(line: &str) -> String {
    let number = regex::Regex::new(r"\(\d+ µs\)|\d+\.\d+ ms|\d\d:\d\d:\d\d\.\d+").unwrap();
    let place = regex::Regex::new(r"[^ ]*/([^ /]*\.yaml:\d+)").unwrap();
    place.replace_all(&number.replace_all(line, "#"), "$1").trim_end().to_string()
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
    for block in all_blocks("json") {
        let value: serde_json::Value = serde_json::from_str(&block).unwrap();
        kinds.push(if value.get("method").is_some() {
            let request = serde_json::to_string(&value).unwrap();
            let host = "hookwire serve --isolated <<< \"$0\"";
            let output = Checkout::new().command("bash").args(["-euc", host, &request]).output().unwrap();
            assert!(said(&output).contains(r#""result":"#), "{block}\n{}", said(&output));
            "request"
        } else if value.get("event").is_some() {
            Event::from_json(value).map(drop).unwrap();
            "event"
        } else if value.get("outcomes").is_some() {
            serde_json::from_value::<verdict::Verdict>(value).unwrap();
            "verdict"
        } else if value.get("decision").is_some() {
            serde_json::from_value::<verdict::Answer>(value).unwrap();
            "answer"
        } else {
            "in another system's words"
        });
    }
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["answer", "event", "in another system's words", "request", "verdict"]);
}

#[test]
fn every_python_program_runs_or_is_the_file() {
    let mut said_by = Vec::new();
    for program in all_blocks("python") {
        if program == std::fs::read_to_string(repo("examples/agents/minimal.py")).unwrap() {
            said_by.push("minimal.py".to_string());
        } else {
            let output = Checkout::new().command("python3").args(["-c", &program]).output().unwrap();
            assert!(output.status.success(), "{program}\n{}", said(&output));
            said_by.push(String::from_utf8_lossy(&output.stdout).trim().to_string());
        }
    }
    let denied = "deny because: Force pushes are off; push a branch and open a pull request.";
    assert_eq!(said_by, [denied, "minimal.py"]);
}

#[test]
fn every_method_field_and_command_is_in_the_book() {
    let book: String = pages().iter().map(|page| std::fs::read_to_string(page).unwrap()).collect();
    let (definitions, protocol) = (schema("definitions"), schema("protocol"));
    let fields = &definitions["$defs"]["Hook"]["properties"];
    let names = [&protocol["requests"], &protocol["notifications"], fields];
    let names = names.into_iter().flat_map(|names| names.as_object().unwrap().keys().map(String::as_str));
    // They have no params.
    for name in names.chain(["initialized", "exit"]) {
        assert!(book.contains(&format!("`{name}`")), "`{name}` is on no page");
    }
    let help = said(&hookwire().arg("--help").output().unwrap());
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap().lines();
    let commands = commands.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let page = std::fs::read_to_string(repo("docs/command-line.md")).unwrap();
    for command in commands.map(|line| line.split(' ').next().unwrap()).filter(|it| *it != "help") {
        assert!(page.contains(&format!("`hookwire {command}")) || page.contains(&format!("`{command}`")), "{command}");
    }
}

/// Each row of the promises names what shows it: a test or an example.
#[test]
fn every_promise_is_shown() {
    let page = std::fs::read_to_string(repo("docs/promises.md")).unwrap();
    let mut shown = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise")) {
        // Behind the proofs, the tables of systems say whether the original was run.
        let proofs = row.trim_end_matches(" |").rsplit(" | ").find(|cell| cell.contains('`')).unwrap_or_default();
        let names: Vec<_> = proofs.split('`').skip(1).step_by(2).collect();
        let is_proof =
            |name: &&str| ["examples/", "src/", "tests/", ".ci/"].iter().any(|place| name.starts_with(place));
        assert!(names.iter().any(is_proof), "nothing shows: {row}");
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

/// The name by which a link leads to a heading, as mdBook and code-hosting sites make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

fn anchors(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let mut is_code = false;
    let headings = text.lines().filter(|line| {
        is_code ^= line.trim_start().starts_with("```");
        !is_code && line.starts_with('#')
    });
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

/// Links within the repository lead to a file, and to a heading in it.
#[test]
fn every_link_leads_somewhere() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("://") {
                continue;
            }
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            assert!(target.exists(), "{}: {link}", page.display());
            assert!(
                heading.is_empty() || anchors(&target).iter().any(|it| it == heading),
                "{}: {link}",
                page.display()
            );
        }
    }
}

/// The book's contents are all pages in `docs`, and those that `hookwire docs` knows, in this order.
#[test]
fn every_page_is_in_the_book() {
    let summary = std::fs::read_to_string(repo("docs/SUMMARY.md")).unwrap();
    let listed: Vec<&str> = summary.split("](").skip(1).filter_map(|rest| rest.split(".md)").next()).collect();
    let output = hookwire().args(["docs", "--format", "json"]).output().unwrap();
    let known: Vec<serde_json::Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(known.iter().map(|it| it["page"].as_str().unwrap()).collect::<Vec<_>>(), listed);
    let mut there: Vec<PathBuf> = pages().into_iter().filter(|page| page.starts_with(repo("docs"))).collect();
    there.retain(|page| !page.ends_with("SUMMARY.md"));
    let mut named: Vec<PathBuf> = listed.iter().map(|name| repo(&format!("docs/{name}.md"))).collect();
    named.sort();
    assert_eq!(there, named);
}

/// What somebody reads first fits ten minutes.
#[test]
fn the_readme_is_short() {
    let n_lines = std::fs::read_to_string(repo("README.md")).unwrap().lines().count();
    assert!(n_lines <= 200, "{n_lines} lines; the book is for the rest");
}
