//! Programs that end or stop other processes, and whether one of these is a host.

use super::ground::Ground;
use super::names::base_name;
use super::places::{Named, What};
use hookwire_ask::programs;
use hookwire_rules::agents::AGENTS;
use hookwire_rules::matching::shell::{Command, Ends, Script, Word};
use hookwire_rules::matching::{noted, patience};
use regex::RegexBuilder;
use std::path::Path;

/// Patterns of names that are looked at.
const MOST_PATTERNS: usize = 16;

/// Whether a command may end or stop a host, or take the program away. `speaks_of_it`: the text
/// names hookwire.
pub(super) fn ends_host(command: &Command, speaks_of_it: bool) -> bool {
    let args = command.words.get(1..).unwrap_or_default();
    let names_it =
        |word: &Word| word.text.contains("hookwire") || word.is_unknown() && speaks_of_it;
    match command.ends() {
        None => false,
        Some(Ends::All) => true,
        Some(Ends::Names) => names_host(command),
        Some(Ends::Services) => args.iter().any(names_it),
        Some(Ends::Installed) => args.iter().any(|word| {
            word.text
                .rsplit('/')
                .next()
                .is_some_and(|it| it.starts_with("hookwire"))
        }),
        Some(Ends::Numbers) => {
            args.iter()
                .any(|word| word.may_be_pattern() && speaks_of_it || is_host(word))
                || speaks_of_it
                    && args
                        .iter()
                        .any(|word| word.text.starts_with("-p") || word.text.contains("attach"))
        }
    }
}

/// Whether a command starts an agent that looks for its settings in another home: `HOME=/tmp/x
/// claude`.
pub(super) fn starts_elsewhere(script: &Script, bare: &str) -> bool {
    let is_agent = |command: &Command| {
        let name = command
            .words
            .first()
            .map_or("", |word| base_name(&word.text));
        AGENTS.iter().any(|it| it.program == name)
    };
    ["HOME=", "XDG_CONFIG_HOME=", "XDG_DATA_HOME="]
        .iter()
        .any(|it| bare.contains(it))
        && script.commands().iter().any(is_agent)
}

/// Whether a word is the number of a host's process, or of all processes.
fn is_host(word: &Word) -> bool {
    let Some(text) = word.as_constant() else {
        return false;
    };
    if text == "-1" {
        return true;
    }
    let digits = text.trim_start_matches(['-', 'p']);
    let Ok(number) = digits.parse::<u32>() else {
        return false;
    };
    // Which program it is by now, only a look tells.
    noted::by_more();
    let program = || std::fs::read_link(Path::new("/proc").join(digits).join("exe")).ok();
    number == std::process::id()
        || number > 1 && program().is_some_and(|it| Some(it) == std::env::current_exe().ok())
}

/// Whether what a command ends by names is hookwire: a pattern fits it, or the whole command of its
/// host. Without a pattern, it is all that is a user's, a terminal's or a group's.
fn names_host(command: &Command) -> bool {
    let Some(told) = command.told() else {
        return command
            .words
            .iter()
            .any(|word| word.text.contains("hookwire"));
    };
    let is_pkill = told.names.first() == Some(&"pkill");
    if told.operands.is_empty() {
        const WHOSE: [&str; 8] = [
            "--user",
            "--euid",
            "--uid",
            "--group",
            "--pgroup",
            "--session",
            "--terminal",
            "--parent",
        ];
        return WHOSE.iter().any(|it| told.has(it));
    }
    let (is_whole, is_pattern) = (told.has("--full"), is_pkill || told.has("--regexp"));
    let ignores_case = told.has("--ignore-case");
    let own: Vec<String> = std::env::args().collect();
    let lines = ["hookwire serve".to_string(), own.join(" ")];
    let fits = |word: &Word| {
        let text = word.text.as_str();
        if !is_pattern {
            return programs::NAMES.contains(&text);
        }
        // A pattern is the agent's: it is compiled once, and no larger one than people write.
        match RegexBuilder::new(text)
            .case_insensitive(ignores_case)
            .size_limit(1 << 16)
            .build()
        {
            Ok(pattern) => {
                let lines = lines.iter().map(String::as_str).filter(|_| is_whole);
                programs::NAMES
                    .into_iter()
                    .chain(lines)
                    .any(|it| pattern.is_match(it))
            }
            Err(_) => text.contains("hookwire"),
        }
    };
    told.operands.len() > MOST_PATTERNS
        || told
            .operands
            .iter()
            .take_while(|_| patience::is_left())
            .any(|it| fits(it))
}

/// Whether a program that a command runs may be hookwire: which one an open file is, only the
/// process knows that runs it.
pub(super) fn may_be_hookwire(program: &str, ground: &Ground<'_>) -> bool {
    ["/proc/", "/dev/fd/"]
        .iter()
        .any(|it| program.starts_with(it))
        || is_hookwire(program, ground)
}

/// Whether a program that a command runs is hookwire, under whatever name.
pub(super) fn is_hookwire(program: &str, ground: &Ground<'_>) -> bool {
    if !program.contains('/') {
        return programs::NAMES.contains(&program) || programs::is_called(program);
    }
    let is_it = |named: &Named| ground.places.at(named) == Some(What::Program);
    let named = ground.spelled(program, false, &[ground.base.to_path_buf()]);
    named
        .iter()
        .any(|it| is_it(it) || ground.resolved(it).is_some_and(|it| is_it(&it)))
}
