//! Programs that end or stop other processes, and whether one of these is a host.

use super::ground::Ground;
use super::names::{base_name, is_one};
use super::places::{Named, What};
use crate::agents::AGENTS;
use crate::matching::shell::{Command, Script, Word};
use hookwire_ask::programs;
use regex::RegexBuilder;
use std::path::Path;

/// Programs that end, stop or change processes by their numbers.
const BY_NUMBER: &[&str] = &["kill", "gdb", "lldb", "strace", "ltrace", "tkill", "reptyr", "skill", "snice", "xargs"];
/// By what they are called.
const BY_NAME: &[&str] = &["pkill", "killall", "skill", "slay", "zkill"];
/// Programs that run services, with the verbs that end one.
const SERVICES: &[&str] =
    &["systemctl", "service", "launchctl", "initctl", "rc-service", "supervisorctl", "pm2", "sv", "s6-svc"];
const ENDING: &str = "\
    stop|kill|disable|mask|restart|try-restart|unload|bootout|remove|freeze|delete|-d|-t|down|edit|revert|\
    set-property";

/// Whether a command of a script may end or stop a host.
pub(super) fn ends_host(script: &Script, bare: &str) -> bool {
    let speaks_of_it = bare.contains("hookwire");
    script.commands().iter().any(|command| {
        let name = command.words.first().map_or("", |word| base_name(&word.text));
        let args = command.words.get(1..).unwrap_or_default();
        if BY_NAME.contains(&name) {
            return args_name_host(name, args);
        }
        if SERVICES.contains(&name) {
            let ends = args.iter().any(|word| is_one(ENDING, &word.text));
            return ends && args.iter().any(|word| word.text.contains("hookwire") || word.is_unknown() && speaks_of_it);
        }
        match name {
            "kill" => args.iter().any(|word| is_host(word) || word.may_be_pattern() && speaks_of_it),
            "xargs" => speaks_of_it && args.iter().any(|word| BY_NUMBER.contains(&base_name(&word.text))),
            _ if BY_NUMBER.contains(&name) => attaches(command, speaks_of_it),
            "killall5" => true,
            _ => false,
        }
    })
}

/// Programs that install others, and their verbs that take one away.
const INSTALLERS: &[&str] = &[
    "apt", "apt-get", "apk", "brew", "bun", "cargo", "conda", "dnf", "dpkg", "nix-env", "npm", "pacman", "pip", "pip3",
    "pipx", "pnpm", "port", "rpm", "snap", "uv", "yarn", "yum", "zypper",
];
const REMOVING: &str = "uninstall|remove|rm|un|purge|erase|unlink|del|-R|-r|-e|-P|--purge|--remove";

/// Whether a command takes the program away by what has installed it.
pub(super) fn uninstalls(words: &[Word]) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    let is_hookwire = |word: &Word| word.text.rsplit('/').next().is_some_and(|it| it.starts_with("hookwire"));
    INSTALLERS.contains(&base_name(&program.text))
        && args.iter().any(|word| is_one(REMOVING, &word.text))
        && args.iter().any(is_hookwire)
}

/// Whether a command starts an agent that looks for its settings in another home: `HOME=/tmp/x claude`.
pub(super) fn starts_elsewhere(script: &Script, bare: &str) -> bool {
    let is_agent = |command: &Command| {
        let name = command.words.first().map_or("", |word| base_name(&word.text));
        AGENTS.iter().any(|it| it.program == name)
    };
    ["HOME=", "XDG_CONFIG_HOME=", "XDG_DATA_HOME="].iter().any(|it| bare.contains(it))
        && script.commands().iter().any(is_agent)
}

/// Whether a debugger is given a process.
fn attaches(command: &Command, speaks_of_it: bool) -> bool {
    let args = &command.words[1..];
    args.iter().any(|word| word.may_be_pattern() && speaks_of_it || is_host(word))
        || speaks_of_it && args.iter().any(|word| word.text.starts_with("-p") || word.text.contains("attach"))
}

/// Whether a word is the number of a host's process, or of all processes.
fn is_host(word: &Word) -> bool {
    let Some(text) = word.as_constant() else { return false };
    if text == "-1" {
        return true;
    }
    let digits = text.trim_start_matches(['-', 'p']);
    let Ok(number) = digits.parse::<u32>() else { return false };
    let program = || std::fs::read_link(Path::new("/proc").join(digits).join("exe")).ok();
    number == std::process::id() || number > 1 && program().is_some_and(|it| Some(it) == std::env::current_exe().ok())
}

/// Whether a pattern of names fits hookwire, or the whole command of its host.
fn args_name_host(name: &str, args: &[Word]) -> bool {
    let operands: Vec<&Word> = args.iter().filter(|word| !word.text.starts_with('-')).collect();
    let is_whole = name == "pkill"
        && args.iter().any(|word| {
            word.text == "--full"
                || word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('f')
        });
    let ignores_case = args.iter().any(|word| matches!(word.text.as_str(), "-i" | "-I" | "--ignore-case"));
    let is_pattern = name == "pkill" || args.iter().any(|word| matches!(word.text.as_str(), "-r" | "--regexp"));
    let own: Vec<String> = std::env::args().collect();
    let lines = ["hookwire serve".to_string(), own.join(" ")];
    let fits = |word: &&Word| {
        let text = word.text.as_str();
        if !is_pattern {
            return programs::NAMES.contains(&text);
        }
        let pattern = RegexBuilder::new(text).case_insensitive(ignores_case).size_limit(1 << 16).build();
        match pattern {
            Ok(pattern) => {
                let lines = lines.iter().map(String::as_str).filter(|_| is_whole);
                programs::NAMES.into_iter().chain(lines).any(|it| pattern.is_match(it))
            }
            Err(_) => text.contains("hookwire"),
        }
    };
    operands.iter().any(fits)
}

/// Whether a program that a command runs is hookwire, under whatever name.
pub(super) fn is_hookwire(program: &str, ground: &Ground<'_>) -> bool {
    if !program.contains('/') {
        return programs::NAMES.contains(&program) || programs::is_called(program);
    }
    let is_it = |named: &Named| ground.places.at(named) == Some(What::Program);
    let named = ground.spelled(program, false, &[ground.base.to_path_buf()]);
    named.iter().any(|it| is_it(it) || ground.resolved(it).is_some_and(|it| is_it(&it)))
}
