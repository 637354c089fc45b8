//! Every help text: it is printed, names nothing that there isn't, and its examples run.

use crate::pages::{Checkout, said};
use crate::support::*;
use std::collections::BTreeSet;

/// The help of a command, or of one below it.
struct Help {
    words: Vec<String>,
    text: String,
}

impl Help {
    fn of(words: Vec<String>) -> Help {
        let output = hookwire().args(&words).arg("--help").env("COLUMNS", "100").output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {output:?}");
        Help { words, text: String::from_utf8(output.stdout).unwrap() }
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
        let is_of_commands = |it: &str| !["", "Arguments", "Options", "Global options", "Examples"].contains(&it);
        let names = self.below(is_of_commands).filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help")
    }

    fn examples(&self) -> impl Iterator<Item = &str> {
        self.below(|heading| heading == "Examples")
    }

    fn has_option(&self, flag: &str) -> bool {
        let is_it = |word: &str| word.trim_end_matches(',') == flag;
        self.text.lines().filter(|line| line.trim_start().starts_with('-')).any(|line| line.split(' ').any(is_it))
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
    let commands: BTreeSet<&str> = helps.iter().filter_map(|it| it.words.first().map(String::as_str)).collect();
    assert!(commands.len() >= 28, "{commands:?}");
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
                    assert!(helps.iter().any(|it| it.has_option(flag)), "{words:?}: `{code}`");
                }
                _ => {}
            }
        }
    }
}

/// People look an option up as they type it.
#[test]
fn an_option_is_looked_up_with_its_dashes() {
    for (words, code, says) in [
        (&["docs", "--bash"][..], 0, "hookwire explain --bash <COMMAND>"),
        (&["docs", "--", "--bash"], 0, "hookwire explain --bash <COMMAND>"),
        (&["docs", "--format", "json", "--idle-exit"], 0, "{\"option\":\"hookwire "),
        (&["docs", "--nosuchthing"], 2, "no page says anything about `nosuchthing`"),
        (&["check", "--bash"], 2, "unexpected argument '--bash'"),
    ] {
        let output = hookwire().args(words).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && text.contains(says), "{words:?}: {text}");
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
    ("hookwire approvals list --watch", 124, "waiting for a question"),
    ("hookwire inspect", 124, "http://127.0.0.1:"),
];

/// In a project with a rule, an agent that asks and its host.
const SCENE: &str = r#"
hookwire init no-force-push
hookwire install claude-code
echo '{"hook_event_name":"Stop"}' | hookwire hook claude-code
echo '{"event":"PreToolUse","tool":{"name":"Bash","input":{"command":"ls"}}}' > session.jsonl
printf 'all:\n\t@true\n' > Makefile
"#;

#[test]
fn every_example_of_a_help_runs() {
    let helps = helps();
    let checkout = Checkout::of(&helps.iter().map(|it| &*it.text).collect::<Vec<_>>().join("\n"));
    let mut n_run = 0;
    for help in helps.iter().filter(|it| it.words.len() == 1) {
        let output = checkout.bash(SCENE);
        assert!(output.status.success(), "{}", said(&output));
        assert!(help.examples().next().is_some(), "{:?} has no example", help.words);
        for example in help.examples() {
            let known = ENDS.iter().find(|(begin, ..)| example.starts_with(begin));
            let (expected, says) = known.map_or((0, ""), |(_, code, says)| (*code, *says));
            let command = if expected == 124 { format!("timeout 2 {example}") } else { example.to_string() };
            let output = checkout.bash(&format!("({command}) < /dev/null"));
            let text = said(&output);
            let is_as_expected = output.status.code() == Some(expected) && text.contains(says);
            // The kernel of this machine may not do what that needs.
            if !is_as_expected && example.starts_with("hookwire run") && text.contains("can't be held") {
                skip(format_args!("{example}: {}", text.trim_end()));
                continue;
            }
            assert!(is_as_expected, "{example}: {:?}\n{text}", output.status);
            n_run += 1;
        }
    }
    assert!(n_run > 40, "only {n_run} examples");
}
