//! Every command and snippet of the README and of the book in `docs` does what it says.

use crate::help;
use crate::support::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A fenced block of a page.
struct Block {
    language: String,
    text: String,
    /// The comment above it, which readers don't see: `before: SCRIPT` sets the scene, `not run:
    /// REASON` says why.
    comment: String,
    /// The file that the sentence before it names: "saved as `.hookwire/team.yaml`:".
    file: Option<String>,
}

impl Block {
    fn is_yaml(&self, key: &str) -> bool {
        self.language == "yaml" && self.text.lines().any(|line| line.starts_with(key))
    }

    fn is_cases(&self) -> bool {
        self.is_yaml("cases:")
    }

    /// Not so: cases, a workflow, the list of pre-commit.
    fn is_definition(&self) -> bool {
        self.language == "yaml"
            && !["cases:", "jobs:", "repos:"]
                .iter()
                .any(|key| self.is_yaml(key))
    }
}

/// The Markdown files in a directory of the repository.
fn markdown(dir: &str) -> Vec<PathBuf> {
    let (mut found, mut rest) = (Vec::new(), vec![repo(dir)]);
    while let Some(dir) = rest.pop() {
        for path in std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if path.is_dir() && !path.ends_with("node_modules") && !path.ends_with("dist") {
                rest.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// The pages of the repository itself, those of the book, and the READMEs of the examples.
fn pages() -> Vec<PathBuf> {
    let of_the_repository = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ]
    .map(repo)
    .to_vec();
    let mut pages = [of_the_repository, markdown("docs"), markdown("examples")].concat();
    pages.sort();
    pages
}

/// The file that a sentence before a block names.
fn named_file(sentence: &str) -> Option<String> {
    let names = sentence.strip_suffix(':')?.split('`').skip(1).step_by(2);
    let files =
        names.filter(|it| it.contains('/') && (it.ends_with(".yaml") || it.ends_with(".py")));
    files.last().map(String::from)
}

fn blocks(page: &Path) -> Vec<Block> {
    let text = std::fs::read_to_string(page).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let (mut is_open, mut in_comment) = (false, false);
    let (mut comment, mut sentence) = (String::new(), "");
    for line in text.lines() {
        // Within a list, it stands further right.
        let trimmed = line.trim();
        match trimmed.strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(language) => {
                let file = named_file(std::mem::take(&mut sentence));
                let comment = std::mem::take(&mut comment);
                blocks.push(Block {
                    language: language.into(),
                    text: String::new(),
                    comment,
                    file,
                });
                is_open = true;
            }
            None if is_open => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            None if in_comment || trimmed.starts_with("<!--") => {
                comment.push_str(
                    trimmed
                        .trim_start_matches("<!--")
                        .trim_end_matches("-->")
                        .trim(),
                );
                comment.push('\n');
                in_comment = !trimmed.ends_with("-->");
            }
            None => {
                comment.clear();
                sentence = if trimmed.is_empty() {
                    sentence
                } else {
                    trimmed
                };
            }
        }
    }
    assert!(
        !is_open && !in_comment,
        "{}: a fence or a comment isn't closed",
        page.display()
    );
    blocks
}

fn all_blocks(is_meant: impl Fn(&Block) -> bool) -> Vec<Block> {
    pages()
        .into_iter()
        .flat_map(|page| blocks(&page))
        .filter(is_meant)
        .collect()
}

fn texts(language: &str) -> Vec<String> {
    all_blocks(|it| it.language == language)
        .into_iter()
        .map(|it| it.text)
        .collect()
}

/// A project with the repository's examples in it, to run commands in. Nothing of this machine's
/// user is seen.
pub(crate) struct Checkout(tempfile::TempDir);

/// The directories of the examples that a text names, by themselves or by a file.
fn named_examples(text: &str) -> BTreeSet<PathBuf> {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let places = text.match_indices("examples").map(|(at, _)| &text[at..]);
    let paths = places.map(|rest| &rest[..rest.find(|c| !is_of_path(c)).unwrap_or(rest.len())]);
    let dirs = paths
        .map(|path| Path::new(path.trim_end_matches(['/', '.'])))
        .filter_map(|path| {
            let is_dir = repo("").join(path).is_dir();
            if is_dir { Some(path) } else { path.parent() }
        });
    dirs.filter(|dir| dir.starts_with("examples") && repo("").join(dir).is_dir())
        .map(Path::to_path_buf)
        .collect()
}

/// A host that a hook has started would stay.
impl Drop for Checkout {
    fn drop(&mut self) {
        if self.0.path().join("run/hookwire").exists() {
            let _ = self
                .command("hookwire")
                .args(["host", "stop", "--all"])
                .output();
        }
    }
}

impl Checkout {
    /// Without the examples.
    pub(crate) fn empty() -> Checkout {
        let dir = tempfile::tempdir().unwrap();
        for name in ["project/.git", "home", "run"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        Checkout(dir)
    }

    /// With those of the examples that a text names. All of them are hundreds of files, which took
    /// longer to copy than the commands took.
    pub(crate) fn of(text: &str) -> Checkout {
        let checkout = Checkout::empty();
        for dir in named_examples(text) {
            let to = checkout.0.path().join("project").join(&dir);
            std::fs::create_dir_all(&to).unwrap();
            // Hooks may write beside themselves.
            let copied = Command::new("cp")
                .arg("-R")
                .arg(repo("").join(dir).join("."))
                .arg(to)
                .status()
                .unwrap();
            assert!(copied.success());
        }
        checkout
    }

    fn command(&self, program: &str) -> Command {
        let bin = Path::new(env!("CARGO_BIN_EXE_hookwire-host"))
            .parent()
            .unwrap();
        let path = format!("{}:{}", bin.display(), *PATH);
        let mut command = in_our_world(Command::new(program));
        let home = self.0.path().join("home");
        command.env("PATH", &path).env("HOME", home);
        command.env("XDG_RUNTIME_DIR", self.0.path().join("run"));
        command.current_dir(self.0.path().join("project"));
        command
    }

    /// Where a reader would save the block: as the file that the page names in the project, else
    /// beside the others.
    fn save(&self, n: usize, block: &Block) -> PathBuf {
        let kind = if block.is_cases() { ".test" } else { "" };
        let name = block
            .file
            .clone()
            .unwrap_or(format!("{n}{kind}.{}", block.language));
        let dir = if name.starts_with(".hookwire/") {
            "project"
        } else {
            "project/snippets"
        };
        let file = self.0.path().join(dir).join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &block.text).unwrap();
        file
    }

    pub(crate) fn bash(&self, script: &str) -> Output {
        self.command("bash")
            .args(["-euc", script])
            .output()
            .unwrap()
    }
}

pub(crate) fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Each page's commands and cases run in order, in a project of their own; what a `console` block
/// shows is what they print. Cases are tried on the definitions that stand before them.
#[test]
fn every_command_runs_and_prints_what_is_shown() {
    let (mut n_run, mut n_shown, mut n_cases) = (0, 0, 0);
    for page in pages() {
        let blocks = blocks(&page);
        if !blocks
            .iter()
            .any(|it| ["sh", "console"].contains(&&*it.language) || it.is_cases())
        {
            continue;
        }
        let checkout = Checkout::of(
            &blocks
                .iter()
                .flat_map(|it| [&*it.text, &it.comment])
                .collect::<Vec<_>>()
                .join("\n"),
        );
        for (n, block) in blocks.into_iter().enumerate() {
            if let Some(script) = block.comment.strip_prefix("before: ") {
                let output = checkout.bash(script);
                assert!(
                    output.status.success(),
                    "{}: {script}\n{}",
                    page.display(),
                    said(&output)
                );
            }
            match block.language.as_str() {
                "yaml" | "python" => {
                    let file = checkout.save(n, &block);
                    if block.is_cases() {
                        let output = checkout
                            .command("hookwire")
                            .arg("test")
                            .arg(file)
                            .output()
                            .unwrap();
                        assert!(
                            output.status.success(),
                            "{}: {}\n{}",
                            page.display(),
                            block.text,
                            said(&output)
                        );
                        n_cases += 1;
                    }
                }
                "sh" => {
                    // Cargo is running already: what it would build is here, and the tests are
                    // these.
                    let script = block.text.replace("cargo run --", "hookwire");
                    let runs_itself = |line: &&str| {
                        let line = line.trim_start();
                        !line.starts_with("cargo ")
                            && !line.starts_with("cd ")
                            && !line.contains(".ci/")
                            && !line.contains("~/hookwire")
                    };
                    // It asks a person.
                    let at_terminal = |line: &str| match line.split('#').next().map(str::trim) {
                        Some("hookwire init") => {
                            let terminal = repo("tests/support/terminal.py");
                            format!("python3 {} y hookwire init\n", terminal.display())
                        }
                        _ => format!("{line}\n"),
                    };
                    let script: String = script
                        .lines()
                        .filter(runs_itself)
                        .map(at_terminal)
                        .collect();
                    if script.trim().is_empty() {
                        continue;
                    }
                    let output = checkout.bash(&script);
                    assert!(
                        output.status.success(),
                        "{}: {script}\n{}",
                        page.display(),
                        said(&output)
                    );
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
                        assert!(
                            output.status.success(),
                            "{}: {command}\n{printed}",
                            page.display()
                        );
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
    assert!(
        n_run >= 14 && n_shown >= 9 && n_cases >= 4,
        "found: {n_run} blocks, {n_shown} commands, {n_cases} cases"
    );
}

/// Whether a page shows what was printed. A line `...` stands for any lines; numbers, and where a
/// file is, differ.
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
        let Some(at) = rest.iter().position(|it| it == line) else {
            return false;
        };
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
    let number =
        regex::Regex::new(r"\(\d+ µs\)|\d+(\.\d+)? (µs|ms|s)\b|\d\d:\d\d:\d\d\.\d+").unwrap();
    let place = regex::Regex::new(r"[^ ]*/([^ /]*\.yaml:\d+)").unwrap();
    place
        .replace_all(&number.replace_all(line, "#"), "$1")
        .trim_end()
        .to_string()
}

/// What no test runs says why.
#[test]
fn every_block_is_run_or_says_why_not() {
    for page in pages() {
        for block in blocks(&page) {
            let is_run = match block.language.as_str() {
                "sh" | "console" | "yaml" | "toml" | "json" | "python" => true,
                // The crate's documentation contains this page.
                "rust" | "rust,no_run" => page.ends_with("docs/embedding.md"),
                "text" => block
                    .comment
                    .strip_prefix("not run: ")
                    .is_some_and(|reason| !reason.trim().is_empty()),
                _ => false,
            };
            let place = page.display();
            assert!(
                is_run,
                "{place}: nothing runs this, and no `<!-- not run: REASON -->` says why:\n{}",
                block.text
            );
        }
    }
}

/// What a service and pre-commit run passes beside a rule of the cookbook, and fails when a case of
/// it does. The snippets on the page lead to both.
#[test]
fn continuous_integration_fails_when_a_case_does() {
    let value_of = |file: &str, key: &str| {
        let text = std::fs::read_to_string(repo(file)).unwrap();
        let value = text
            .lines()
            .rev()
            .find_map(|line| line.trim_start_matches([' ', '-']).strip_prefix(key));
        value.unwrap().trim().to_string()
    };
    let version = env!("CARGO_PKG_VERSION");
    let id = value_of(".pre-commit-hooks.yaml", "id:");
    for (key, says) in [
        ("jobs:", format!("uses: hookwire/hookwire@v{version} ")),
        (
            "repos:",
            format!("rev: v{version}, hooks: [{{ id: {id} }}]"),
        ),
    ] {
        assert!(
            all_blocks(|it| it.is_yaml(key))
                .iter()
                .any(|it| it.text.contains(&says)),
            "{says}"
        );
    }
    let entry = repo(&value_of(".pre-commit-hooks.yaml", "entry:"))
        .display()
        .to_string();
    let action = format!(
        "export GITHUB_ACTION_PATH={}; {}",
        repo("").display(),
        value_of("action.yml", "run:")
    );
    let in_a_part = format!(
        "mkdir -p part; mv .hookwire part; {entry} || code=$?; mv part/.hookwire .; exit ${{code:-0}}"
    );
    for script in [
        action,
        format!("{entry} .hookwire/no-force-push.yaml"),
        in_a_part,
    ] {
        let checkout = Checkout::empty();
        assert!(
            checkout
                .bash("hookwire init no-force-push")
                .status
                .success()
        );
        let output = checkout.bash(&script);
        assert!(output.status.success(), "{script}\n{}", said(&output));
        let wrong =
            "echo '  - { bash: git push -f, expect: allow }' >> .hookwire/no-force-push.test.yaml";
        assert!(checkout.bash(wrong).status.success());
        let output = checkout.bash(&script);
        assert!(
            said(&output).contains("allow expected, found deny"),
            "{script}\n{}",
            said(&output)
        );
        assert!(!output.status.success(), "{script}");
    }
}

#[test]
fn every_definition_loads_without_a_diagnostic() {
    let dir = tempfile::tempdir().unwrap();
    let yaml = all_blocks(Block::is_definition)
        .into_iter()
        .map(|it| it.text)
        .collect();
    for (language, blocks) in [("yaml", yaml), ("toml", texts("toml"))] {
        assert!(!blocks.is_empty());
        for (n, block) in blocks.iter().enumerate() {
            let file = dir.path().join(format!("{n}.{language}"));
            std::fs::write(&file, block).unwrap();
            let output = hookwire()
                .args(["check", "--format", "json"])
                .arg(&file)
                .output()
                .unwrap();
            let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            // What this machine hasn't got, a reader's may have.
            let of_the_machine = [
                "no-key",
                "no-directory",
                "no-model",
                "no-module",
                "no-program",
                "small-model",
            ];
            let is_of_the_text =
                |it: &&serde_json::Value| !of_the_machine.contains(&it["code"].as_str().unwrap());
            let told: Vec<_> = told["diagnostics"]
                .as_array()
                .unwrap()
                .iter()
                .filter(is_of_the_text)
                .collect();
            assert!(told.is_empty(), "{block}\n{told:?}");
        }
    }
}

#[test]
fn every_json_is_what_it_stands_for() {
    use hookwire::event::Event;
    use hookwire::verdict;
    let mut kinds = Vec::new();
    for block in texts("json") {
        let value: serde_json::Value = serde_json::from_str(&block).unwrap();
        kinds.push(if value.get("method").is_some() {
            let request = serde_json::to_string(&value).unwrap();
            let host = "hookwire serve --isolated <<< \"$0\"";
            let output = Checkout::of(&request)
                .command("bash")
                .args(["-euc", host, &request])
                .output()
                .unwrap();
            assert!(
                said(&output).contains(r#""result":"#),
                "{block}\n{}",
                said(&output)
            );
            "request"
        } else if value.get("steps").is_some() {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), value.to_string()).unwrap();
            let (file, host) = (
                file.path().to_str().unwrap(),
                env!("CARGO_BIN_EXE_hookwire-host"),
            );
            let words = [
                "hookwire-conformance",
                "--cases",
                file,
                "--",
                host,
                "serve",
                "--isolated",
            ];
            let mut said = Vec::new();
            let is_fine = hookwire_conformance::run(words.map(Into::into), &mut said).unwrap();
            assert!(is_fine, "{block}\n{}", String::from_utf8_lossy(&said));
            "conversation"
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
    assert_eq!(
        kinds,
        [
            "answer",
            "conversation",
            "event",
            "in another system's words",
            "request",
            "verdict"
        ]
    );
}

#[test]
fn every_python_program_runs_or_is_the_file() {
    let mut said_by = Vec::new();
    for page in pages() {
        let blocks = blocks(&page);
        for Block {
            text: program,
            file,
            ..
        } in blocks.iter().filter(|it| it.language == "python")
        {
            match file {
                Some(file) if repo(file).exists() => {
                    assert_eq!(*program, std::fs::read_to_string(repo(file)).unwrap());
                    said_by.push(file.clone());
                }
                // A hook's function, which the cases of its page call.
                Some(_) => assert!(
                    blocks.iter().any(Block::is_cases),
                    "{}: nothing runs {program}",
                    page.display()
                ),
                None => {
                    let output = Checkout::of(program)
                        .command("python3")
                        .args(["-c", program])
                        .output()
                        .unwrap();
                    assert!(output.status.success(), "{program}\n{}", said(&output));
                    said_by.push(String::from_utf8_lossy(&output.stdout).trim().to_string());
                }
            }
        }
    }
    assert_eq!(said_by, ["examples/agents/minimal.py"]);
}

#[test]
fn every_method_field_and_command_is_in_the_book() {
    let book: String = pages()
        .iter()
        .map(|page| std::fs::read_to_string(page).unwrap())
        .collect();
    let (definitions, protocol) = (schema("definitions"), schema("protocol"));
    let fields = &definitions["$defs"]["Hook"]["properties"];
    let names = [&protocol["requests"], &protocol["notifications"], fields];
    let names = names
        .into_iter()
        .flat_map(|names| names.as_object().unwrap().keys().map(String::as_str));
    // They have no params.
    for name in names.chain(["initialized", "exit"]) {
        assert!(
            book.contains(&format!("`{name}`")),
            "`{name}` is on no page"
        );
    }
    let page = std::fs::read_to_string(repo("docs/command-line.md")).unwrap();
    for command in help::commands() {
        assert!(
            page.contains(&format!("`hookwire {command}"))
                || page.contains(&format!("`{command}`")),
            "{command}"
        );
    }
}

/// The attributes of a test function, as written above it; `None` if the text has no such function
/// outside of comments.
fn attributes<'t>(text: &'t str, function: &str) -> Option<Vec<&'t str>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let begins = |line: &&str| {
        let name = line
            .trim_start_matches("pub ")
            .trim_start_matches("async ")
            .strip_prefix("fn ");
        name.and_then(|rest| rest.strip_prefix(function))
            .is_some_and(|rest| rest.starts_with('('))
    };
    let at = lines.iter().position(begins)?;
    let above = lines[..at]
        .iter()
        .rev()
        .take_while(|line| line.starts_with("#[") || line.starts_with("///"));
    Some(
        above
            .copied()
            .filter(|line| line.starts_with("#["))
            .collect(),
    )
}

/// Why a test doesn't run when all tests do; `None` if it does.
fn why_not_run(file: &str, function: &str) -> Option<String> {
    let path = repo(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let Some(attributes) = attributes(&text, function) else {
        return Some("there is no such function".into());
    };
    if !attributes
        .iter()
        .any(|it| *it == "#[test]" || it.starts_with("#[tokio::test"))
    {
        return Some("it is no test".into());
    }
    if let Some(skipped) = attributes
        .iter()
        .find(|it| it.starts_with("#[ignore") || it.starts_with("#[cfg"))
    {
        return Some(format!("{skipped}: it doesn't always run"));
    }
    // The file is a module of the program that runs its folder's tests.
    let stem = path.file_stem().unwrap().to_str().unwrap();
    let roots = ["main.rs", "mod.rs", "lib.rs"].map(|root| path.with_file_name(root));
    let beside = path.parent().unwrap().with_extension("rs");
    let declares = |root: &Path| {
        let text = std::fs::read_to_string(root).unwrap_or_default();
        text.lines().any(|line| {
            line.trim_start_matches("pub(crate) ")
                .trim_start_matches("pub ")
                == format!("mod {stem};")
        })
    };
    let is_module =
        roots.contains(&path) || roots.iter().chain([&beside]).any(|root| declares(root));
    (!is_module).then(|| "no program has its file as a module".into())
}

#[test]
fn what_doesnt_run_is_no_proof() {
    let text = "
        // fn commented() {}
        fn helper() {}
        #[test]
        fn runs() {}
        /// Says what.
        #[tokio::test(flavor = \"multi_thread\")]
        async fn waits() {}
        #[test]
        #[ignore = \"slow\"]
        fn sleeps() {}
    ";
    for (function, expected) in [
        ("commented", None),
        ("run", None),
        ("helper", Some(&[][..])),
        ("runs", Some(&["#[test]"])),
        (
            "waits",
            Some(&["#[tokio::test(flavor = \"multi_thread\")]"]),
        ),
        ("sleeps", Some(&["#[ignore = \"slow\"]", "#[test]"])),
    ] {
        assert_eq!(
            attributes(text, function).as_deref(),
            expected,
            "{function}"
        );
    }
}

/// Each row of the promises names its proofs: tests that run with all the others, or examples.
#[test]
fn every_promise_is_shown() {
    let promises = std::fs::read_to_string(repo("tests/data/promises.txt")).unwrap();
    let mut shown = 0;
    for row in promises
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let names: Vec<&str> = row
            .split('\t')
            .nth(1)
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let is_proof = |name: &&str| {
            ["examples/", "crates/", "src/", "tests/", ".ci/"]
                .iter()
                .any(|place| name.starts_with(place))
        };
        assert!(names.iter().any(is_proof), "nothing shows: {row}");
        for name in names {
            let (file, test) = name.split_once("::").unwrap_or((name, ""));
            assert!(repo(file).exists(), "{name} isn't there: {row}");
            if !test.is_empty() {
                let why = why_not_run(file, test.rsplit("::").next().unwrap());
                assert_eq!(why, None, "{name}: {row}");
            }
            shown += 1;
        }
    }
    assert!(shown > 100, "only {shown} proofs");
}

/// The name by which a link leads to a heading, as mdBook and code-hosting sites make it.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c })
        .collect::<String>()
        .to_lowercase()
}

fn anchors(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let mut is_code = false;
    let headings = text.lines().filter(|line| {
        is_code ^= line.trim_start().starts_with("```");
        !is_code && line.starts_with('#')
    });
    headings
        .map(|line| anchor(line.trim_start_matches('#').trim()))
        .collect()
}

/// Links within the repository lead to a file, and to a heading in it. Pictures say what they show.
#[test]
fn every_link_leads_somewhere() {
    let mut n_pictures = 0;
    for page in [pages(), markdown("editors")].concat() {
        let text = std::fs::read_to_string(&page).unwrap();
        let behind = |mark: &'static str, end: char| {
            text.split(mark)
                .skip(1)
                .filter_map(move |rest| rest.split(end).next())
        };
        let drawn = text
            .lines()
            .filter_map(|line| line.strip_prefix("![")?.split(']').next());
        let alts: Vec<&str> = drawn.chain(behind("<img alt=\"", '"')).collect();
        let n_here = text.matches("\n![").count() + text.matches("<img").count();
        assert!(
            alts.len() == n_here && alts.iter().all(|alt| alt.contains(' ')),
            "{}: {alts:?}",
            page.display()
        );
        n_pictures += n_here;
        for link in behind("](", ')')
            .chain(behind(" src=\"", '"'))
            .chain(behind("srcset=\"", '"'))
        {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("://") {
                continue;
            }
            let target = if path.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(path)
            };
            assert!(target.exists(), "{}: {link}", page.display());
            assert!(
                heading.is_empty() || anchors(&target).iter().any(|it| it == heading),
                "{}: {link}",
                page.display()
            );
        }
    }
    assert!(n_pictures > 8, "only {n_pictures} pictures");
}

/// The book's contents are all pages in `docs`, and those that `hookwire docs` knows, in this
/// order.
#[test]
fn every_page_is_in_the_book() {
    let summary = std::fs::read_to_string(repo("docs/SUMMARY.md")).unwrap();
    let listed: Vec<&str> = summary
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(".md)").next())
        .collect();
    let output = hookwire()
        .args(["docs", "--format", "json"])
        .output()
        .unwrap();
    let known: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        known
            .iter()
            .map(|it| it["page"].as_str().unwrap())
            .collect::<Vec<_>>(),
        listed
    );
    let mut there: Vec<PathBuf> = pages()
        .into_iter()
        .filter(|page| page.starts_with(repo("docs")))
        .collect();
    there.retain(|page| !page.ends_with("SUMMARY.md"));
    let mut named: Vec<PathBuf> = listed
        .iter()
        .map(|name| repo(&format!("docs/{name}.md")))
        .collect();
    named.sort();
    assert_eq!(there, named);
}

/// What somebody reads first fits three minutes.
#[test]
fn the_readme_is_short() {
    let n_lines = std::fs::read_to_string(repo("README.md"))
        .unwrap()
        .lines()
        .count();
    assert!(n_lines <= 120, "{n_lines} lines; the book is for the rest");
}

const MAX_WORDS: usize = 40;

/// The sentences of a page outside code, tables and headings.
fn sentences(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let mut paragraphs = vec![String::new()];
    let mut in_code = false;
    for line in text.lines().map(str::trim) {
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        let is_prose =
            !in_code && !is_fence && !["|", "#", "<"].iter().any(|it| line.starts_with(it));
        let is_item = line.starts_with("- ")
            || line
                .split_once(". ")
                .is_some_and(|(n, _)| n.parse::<u8>().is_ok());
        if !is_prose || line.is_empty() || is_item {
            paragraphs.push(String::new());
        }
        if is_prose {
            *paragraphs.last_mut().unwrap() += &format!("{line} ");
        }
    }
    let end = regex::Regex::new(r"[.!?][)*_]* ").unwrap();
    paragraphs
        .iter()
        .flat_map(|it| end.split(it).map(String::from).collect::<Vec<_>>())
        .collect()
}

/// Readers whose first language isn't English lose a longer sentence before it ends.
#[test]
fn no_sentence_is_long() {
    let pages = [pages(), markdown("clients"), markdown("editors")].concat();
    let mut n_sentences = 0;
    for page in &pages {
        for sentence in sentences(page) {
            let n_words = sentence
                .split(' ')
                .filter(|word| word.contains(char::is_alphanumeric))
                .count();
            assert!(
                n_words <= MAX_WORDS,
                "{}: {n_words} words: {sentence}",
                page.display()
            );
            n_sentences += 1;
        }
    }
    assert!(n_sentences > 1000, "only {n_sentences} sentences");
}
