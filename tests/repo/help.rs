//! Every help text: it is printed, names nothing that there isn't, and its examples run.

use crate::pages::{Checkout, said};
use crate::support::*;
use regex::Regex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The help of a command, or of one below it.
struct Help {
    words: Vec<String>,
    text: String,
}

impl Help {
    fn of(words: Vec<String>) -> Help {
        let output = hookwire()
            .args(&words)
            .arg("--help")
            .env("COLUMNS", "100")
            .output()
            .unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{words:?}: {output:?}"
        );
        Help {
            words,
            text: String::from_utf8(output.stdout).unwrap(),
        }
    }

    /// The lines below the headings that are wanted.
    fn below(&self, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
        let mut heading = "";
        let mut below = Vec::new();
        for line in self.text.lines() {
            match line.strip_prefix("  ") {
                Some(line) if is_wanted(heading) => below.push(line),
                Some(_) => {}
                None => heading = line.strip_suffix(':').unwrap_or_default(),
            }
        }
        below.into_iter()
    }

    /// The names of the commands that it lists.
    fn commands(&self) -> impl Iterator<Item = &str> {
        let is_of_commands =
            |it: &str| !["", "Arguments", "Options", "Global options", "Examples"].contains(&it);
        let names = self
            .below(is_of_commands)
            .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        names
            .filter_map(|line| line.split(' ').next())
            .filter(|name| *name != "help")
    }

    fn examples(&self) -> impl Iterator<Item = &str> {
        self.below(|heading| heading == "Examples")
    }

    fn has_option(&self, flag: &str) -> bool {
        let is_it = |word: &str| word.trim_end_matches(',') == flag;
        self.text
            .lines()
            .filter(|line| line.trim_start().starts_with('-'))
            .any(|line| line.split(' ').any(is_it))
    }
}

/// Each command's help, from the one of all commands on.
fn helps() -> Vec<Help> {
    let mut helps = vec![Help::of(Vec::new())];
    let mut at = 0;
    while let Some(help) = helps.get(at) {
        let below = |name: &str| [&help.words[..], &[name.to_string()]].concat();
        let found: Vec<Vec<String>> = help.commands().map(below).collect();
        helps.extend(found.into_iter().map(Help::of));
        at += 1;
    }
    helps
}

/// The names of all commands.
pub(crate) fn commands() -> Vec<String> {
    Help::of(Vec::new()).commands().map(String::from).collect()
}

#[test]
fn every_help_names_only_what_there_is() {
    let helps = helps();
    let commands: BTreeSet<&str> = helps
        .iter()
        .filter_map(|it| it.words.first().map(String::as_str))
        .collect();
    assert!(commands.len() >= 20, "{commands:?}");
    for Help { words, text } in &helps {
        assert!(text.contains("\nGlobal options:\n"), "{words:?}: {text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{words:?}: {line}");
        }
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for code in flat.split('`').skip(1).step_by(2) {
            let named: Vec<&str> = code.split(' ').collect();
            match named[..] {
                ["hookwire", "COMMAND", ..] => {}
                ["hookwire", name, ..] => assert!(commands.contains(name), "{words:?}: `{code}`"),
                [flag, ..] if flag.starts_with("--") => {
                    assert!(
                        helps.iter().any(|it| it.has_option(flag)),
                        "{words:?}: `{code}`"
                    );
                }
                _ => {}
            }
        }
    }
}

/// Where commands are named.
const PLACES: &[&str] = &[
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "action.yml",
    "flake.nix",
    ".ci",
    ".github",
    "benches",
    "clients",
    "crates",
    "docs",
    "editors",
    "examples",
    "inspector",
    "packaging",
    "schema",
    "src",
    "tests",
];

fn files(path: PathBuf, found: &mut Vec<PathBuf>) {
    let is_made = |path: &Path| {
        ["node_modules", "dist", "target"]
            .iter()
            .any(|it| path.ends_with(it))
    };
    if path.is_dir() && !is_made(&path) && !path.is_symlink() {
        std::fs::read_dir(path)
            .unwrap()
            .for_each(|entry| files(entry.unwrap().path(), found));
    } else if path.is_file() {
        found.push(path);
    }
}

/// What a text has people type, behind `hookwire `: what stands in code, and in scripts at the
/// beginning of a line.
fn typed(file: &Path, text: &str) -> Vec<String> {
    let spans = Regex::new(r"(?:`|<code>)hookwire ([a-z][^`$\n]*?)(?:`|</code>)").unwrap();
    let lines = Regex::new(r"(?m)^\s*(?:\$ )?hookwire ([a-z][^\t\n]*)").unwrap();
    let scripts: String = match file.extension().and_then(|it| it.to_str()) {
        // In prose, a sentence may begin so.
        Some("md") => text.split("```").skip(1).step_by(2).collect(),
        None | Some("sh" | "yml" | "yaml" | "txt") => text.to_string(),
        Some(_) => String::new(),
    };
    // Self-defense asks before such a command: a guard of a word that isn't there guards nothing.
    let cases = Regex::new(r#""command": "hookwire ([a-z][^"]*)""#).unwrap();
    let found = spans
        .captures_iter(text)
        .chain(lines.captures_iter(&scripts))
        .chain(cases.captures_iter(text));
    found.map(|it| it[1].to_string()).collect()
}

/// What is wrong with words behind `hookwire`.
fn problem(helps: &[Help], typed: &str) -> Option<String> {
    let quoted = Regex::new("'[^']*'").unwrap().replace_all(typed, "''");
    let command = quoted.split(['|', ';', '&', '>', '<', '`']).next().unwrap();
    let words: Vec<&str> = command
        .split_whitespace()
        .map(|it| it.trim_end_matches(['.', ',', ':', ')']))
        .collect();
    let below = |help: &Help, name: &str| {
        helps.iter().position(|it| {
            it.words
                .split_last()
                .is_some_and(|(it, above)| it == name && above == help.words)
        })
    };
    let mut help = &helps[0];
    for (n, word) in words.iter().enumerate() {
        match below(help, word) {
            Some(at) => help = &helps[at],
            // Behind an option there may be its value.
            None if word.starts_with('-') || n > 0 && words[n - 1].starts_with('-') => {}
            None if help.text.contains(" <COMMAND>\n")
                && word.starts_with(|c: char| c.is_ascii_lowercase()) =>
            {
                return Some(format!("no command `{word}`"));
            }
            None => break,
        }
    }
    let flags = words
        .iter()
        .take_while(|word| **word != "--")
        .filter(|word| word.starts_with("--"));
    let mut flags = flags.map(|word| word.split(['=', '\\', '"', ']']).next().unwrap());
    flags
        .find(|flag| !help.has_option(flag))
        .map(|flag| format!("no option `{flag}` of `{}`", help.words.join(" ")))
}

/// Pages, messages, examples and scripts have nobody type a command or an option that there isn't.
#[test]
fn whatever_names_a_command_names_one_that_there_is() {
    let helps = helps();
    let (mut found, mut wrong, mut n_named) = (Vec::new(), Vec::new(), 0);
    PLACES
        .iter()
        .for_each(|place| files(repo(place), &mut found));
    for file in found {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        for typed in typed(&file, &text) {
            n_named += 1;
            wrong.extend(
                problem(&helps, &typed).map(|it| format!("{}: {typed}: {it}", file.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(n_named > 400, "only {n_named} commands");
    for (typed, expected) in [
        ("approvals list --watch", None),
        ("approve 3f2a", Some("no command `approve`")),
        (
            "history replay a.jsonl --changes",
            Some("no option `--changes` of `history replay`"),
        ),
    ] {
        assert_eq!(problem(&helps, typed).as_deref(), expected, "{typed}");
    }
}

/// People look an option up as they type it.
#[test]
fn an_option_is_looked_up_with_its_dashes() {
    for (words, code, says) in [
        (
            &["docs", "--bash"][..],
            0,
            "hookwire explain --bash <COMMAND>",
        ),
        (
            &["docs", "--", "--bash"],
            0,
            "hookwire explain --bash <COMMAND>",
        ),
        (
            &["docs", "--format", "json", "--idle-exit"],
            0,
            "{\"option\":\"hookwire ",
        ),
        (
            &["docs", "--nosuchthing"],
            2,
            "no page says anything about `nosuchthing`",
        ),
        (&["check", "--bash"], 2, "unexpected argument '--bash'"),
    ] {
        let output = hookwire().args(words).output().unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(code) && text.contains(says),
            "{words:?}: {text}"
        );
    }
}

/// What an example ends with, unless it is 0, and why.
const ENDS: &[(&str, i32, &str)] = &[
    ("hookwire explain --run --bash", 1, "deny by no-force-push"),
    ("hookwire approvals approve", 2, "waits"),
    ("hookwire approvals deny", 2, "nothing waits"),
    // There is no server.
    ("hookwire fleet init", 2, "no server is reached"),
    ("hookwire fleet status", 2, "no server is reached"),
    ("hookwire fleet query", 2, "no server is reached"),
    ("hookwire fleet publish .hookwire --key", 2, "which fleet?"),
    // Ended from here.
    (
        "hookwire approvals list --watch",
        124,
        "waiting for a question",
    ),
    ("hookwire inspect", 124, "http://127.0.0.1:"),
    ("hookwire init$", 2, "nobody is there to answer"),
    ("hookwire init --set", 2, "nobody is there to answer"),
];

/// In a project with a rule, an agent that asks and its host.
const SCENE: &str = r#"
hookwire init no-force-push
hookwire install claude-code
echo '{"hook_event_name":"Stop"}' | hookwire hook claude-code
echo '{"event":"PreToolUse","tool":{"name":"Bash","input":{"command":"ls"}}}' > session.jsonl
printf 'all:\n\t@true\n' > Makefile
echo '{"mcpServers":{"files":{"command":"python3"}}}' > mcp.json
: > server.py
"#;

#[test]
fn every_example_of_a_help_runs() {
    let helps = helps();
    let checkout = Checkout::of(
        &helps
            .iter()
            .map(|it| &*it.text)
            .collect::<Vec<_>>()
            .join("\n"),
    );
    let mut n_run = 0;
    for help in helps.iter().filter(|it| it.words.len() == 1) {
        let output = checkout.bash(SCENE);
        assert!(output.status.success(), "{}", said(&output));
        assert!(
            help.examples().next().is_some(),
            "{:?} has no example",
            help.words
        );
        for example in help.examples() {
            let known = ENDS
                .iter()
                .find(|(begin, ..)| match begin.strip_suffix('$') {
                    Some(whole) => example == whole,
                    None => example.starts_with(begin),
                });
            let (expected, says) = known.map_or((0, ""), |(_, code, says)| (*code, *says));
            let command = if expected == 124 {
                format!("timeout 2 {example}")
            } else {
                example.to_string()
            };
            let output = checkout.bash(&format!("({command}) < /dev/null"));
            let text = said(&output);
            let is_as_expected = output.status.code() == Some(expected) && text.contains(says);
            // The kernel of this machine may not do what that needs.
            if !is_as_expected
                && example.starts_with("hookwire run")
                && text.contains("can't be held")
            {
                skip(format_args!("{example}: {}", text.trim_end()));
                continue;
            }
            assert!(is_as_expected, "{example}: {:?}\n{text}", output.status);
            n_run += 1;
        }
    }
    assert!(n_run > 40, "only {n_run} examples");
}
