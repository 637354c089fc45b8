//! The help of `hookwire` itself: its commands in groups, in the order in which somebody comes to
//! need them.

use clap::Command;
use std::fmt::Write as _;

/// The heading of the options that every command has.
pub(super) const GLOBAL: &str = "Global options";

/// Each command that is shown stands in one group. A test holds this against the commands that
/// there are.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["init", "install", "trust", "demo", "docs"]),
    ("Write", &["check", "test", "explain", "import"]),
    ("Watch", &["tail", "inspect", "history", "approvals"]),
    ("Run", &["hook", "serve", "run", "mcp", "host"]),
    ("Manage", &["doctor", "uninstall", "state", "generate"]),
    ("Many machines", &["fleet"]),
];

/// The examples of each command's help. A test runs each line.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "init",
        &[
            "hookwire init",
            "hookwire init --set strict",
            "hookwire init --list",
            "hookwire init no-force-push",
            "hookwire init --user no-rm-rf",
        ],
    ),
    (
        "install",
        &[
            "hookwire install claude-code",
            "hookwire install codex --user --dry-run",
            "hookwire install --mcp mcp.json",
        ],
    ),
    (
        "uninstall",
        &["hookwire uninstall claude-code", "hookwire uninstall --all"],
    ),
    ("trust", &["hookwire trust --yes", "hookwire trust show"]),
    ("demo", &["hookwire demo"]),
    (
        "docs",
        &[
            "hookwire docs",
            "hookwire docs cookbook",
            "hookwire docs never-matches",
        ],
    ),
    (
        "check",
        &[
            "hookwire check",
            "hookwire check --fix",
            "hookwire check --list",
            "hookwire check --list guards",
            "hookwire check --format github",
        ],
    ),
    (
        "test",
        &[
            "hookwire test",
            "hookwire test --coverage",
            "hookwire test --format junit",
        ],
    ),
    (
        "explain",
        &[
            "hookwire explain --bash 'git push -f'",
            "hookwire explain --run --bash 'git push -f'",
            "hookwire explain --run --write src/main.rs",
            "hookwire explain --run --read .env",
            r#"hookwire explain --run '{"event":"SessionStart"}'"#,
        ],
    ),
    ("import", &["hookwire import claude-code --dry-run"]),
    (
        "tail",
        &[
            "hookwire tail --no-follow",
            "hookwire tail --no-follow --denied --last 5",
            "hookwire tail --no-follow --record recorded",
        ],
    ),
    ("inspect", &["hookwire inspect --no-open"]),
    (
        "history",
        &[
            "hookwire history query decision:deny since:7d",
            "hookwire history query --all --format json",
            "hookwire history replay session.jsonl",
            "hookwire history replay session.jsonl --against .hookwire",
            "hookwire history suggest",
        ],
    ),
    (
        "approvals",
        &[
            "hookwire approvals list",
            "hookwire approvals list --watch",
            "hookwire approvals approve",
            "hookwire approvals approve 3f2a --remember",
            "hookwire approvals deny --reason 'not today'",
        ],
    ),
    (
        "hook",
        &[r#"echo '{"hook_event_name":"Stop"}' | hookwire hook claude-code"#],
    ),
    (
        "serve",
        &[
            "hookwire serve",
            "hookwire serve --listen unix:hooks.sock --idle-exit 1s",
        ],
    ),
    ("run", &["hookwire run -- make"]),
    ("mcp", &["hookwire mcp --server files -- python3 server.py"]),
    (
        "host",
        &[
            "hookwire host status",
            "hookwire host stop",
            "hookwire host stop --all",
        ],
    ),
    (
        "doctor",
        &[
            "hookwire doctor",
            "hookwire doctor claude-code",
            "hookwire doctor --versions",
        ],
    ),
    (
        "state",
        &[
            "hookwire state list",
            "hookwire state set build green --shared",
        ],
    ),
    (
        "fleet",
        &[
            "hookwire fleet key team.key --no-passphrase",
            "hookwire fleet init --fleet nats://127.0.0.1",
            "hookwire fleet publish .hookwire --dry-run",
            "hookwire fleet publish .hookwire --key team.key",
            "hookwire fleet status --fleet nats://127.0.0.1",
            "hookwire fleet query --fleet nats://127.0.0.1 decision:deny since:1h",
        ],
    ),
    (
        "generate",
        &[
            "hookwire generate schema",
            "hookwire generate schema protocol",
            "hookwire generate completions zsh",
            "hookwire generate share share",
        ],
    ),
];

/// The examples of a command, for the end of its help.
pub(super) fn command_examples(command: &Command) -> Option<String> {
    let (_, examples) = EXAMPLES
        .iter()
        .find(|(name, _)| *name == command.get_name())?;
    let heading = command.get_styles().get_header();
    let lines: String = examples
        .iter()
        .map(|example| format!("\n  {example}"))
        .collect();
    Some(format!("{heading}Examples:{heading:#}{lines}"))
}

/// The command line with its commands in groups. clap has none for commands, so the list is written
/// here. It is made only when it is shown: a process that answers an event has no time for it.
pub(super) fn group_commands(command: Command) -> Command {
    let styles = command.get_styles();
    let (heading, name) = (*styles.get_header(), *styles.get_literal());
    let mut list = String::new();
    for (group, names) in GROUPS {
        // Writing to a string can't fail.
        let _ = writeln!(list, "{heading}{group}:{heading:#}");
        for command in names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
        {
            let about = command
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            let _ = writeln!(
                list,
                "  {name}{:<12}{name:#} {}",
                command.get_name(),
                first_sentence(&about)
            );
        }
        list.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{{all-args}}{{after-help}}"
    );
    command
        .override_usage("hookwire [OPTIONS] <COMMAND>")
        .mut_subcommands(|command| command.hide(true))
        .help_template(template)
}

fn first_sentence(text: &str) -> &str {
    text.split(". ")
        .next()
        .unwrap_or_default()
        .trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn each_command_is_in_one_group_and_fits_a_line() {
        let command = crate::cli::Cli::command();
        let shown = command
            .get_subcommands()
            .filter(|subcommand| !subcommand.is_hide_set())
            .map(Command::get_name);
        let mut shown: Vec<&str> = shown.collect();
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        shown.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, shown);
        let exemplified: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
        assert!(
            shown.iter().all(|name| exemplified.contains(name)),
            "{exemplified:?}"
        );
        let help = group_commands(command).render_help().to_string();
        let long: Vec<&str> = help
            .lines()
            .filter(|line| line.chars().count() > 100)
            .collect();
        assert!(long.is_empty(), "{long:#?}");
    }
}
