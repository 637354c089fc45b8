//! `hookwire run -- COMMAND`: rules hold where programs start, whoever starts them.
//!
//! The project's host judges; the small program `hookwire-run` watches the starts and takes the
//! place of this one.

use super::output::say_on_stderr;
use super::warm_host::{WarmHost, for_agents};
use super::{Failure, Finding, StandingArgs};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use hookwire_ask::programs::{SMALL, small_program};
use hookwire_base::support::shell_word;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct RunArgs {
    /// End all that the command has started when it ends, for certain.
    #[arg(long)]
    end_tree: bool,
    /// Run the command unheld where the kernel can't hold it, and say so; without this, it isn't
    /// run.
    #[arg(long)]
    best_effort: bool,
    /// Let debuggers work in the tree. What a debugger has in its hands is judged when it starts,
    /// and not looked at again.
    #[arg(long)]
    allow_debuggers: bool,
    /// The event of the tool call that the command belongs to, by the id that its verdict had.
    #[arg(long = "for", value_name = "EVENT")]
    of: Option<String>,
    /// Only start the project's host, and print its socket.
    #[arg(long, hide = true)]
    warm: bool,
    /// How long the host stays that this starts, after the last event.
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = humantime::parse_duration)]
    idle_exit: Duration,
    /// Let programs change hookwire's own files without asking a person.
    #[arg(long)]
    no_self_defense: bool,
    #[command(flatten)]
    hooks: StandingArgs,
    /// The command, which isn't judged itself: claude, make, sh -c '...'.
    #[arg(last = true, required_unless_present = "warm", value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &RunArgs) -> Result<Finding, Failure> {
    let hooks = for_agents(&args.hooks, !args.no_self_defense)?;
    hooks.host.definitions.are_there()?;
    let host = WarmHost::new(&hooks, args.idle_exit)?;
    drop(
        host.connect()
            .map_err(|error| Failure(format!("the project's host can't be started: {error}")))?,
    );
    if args.warm {
        // Nobody but the supervisor asks for this.
        #[allow(clippy::print_stdout, reason = "it is what was asked for")]
        {
            println!("{}", host.path().display());
        }
        return Ok(Finding::Fine);
    }
    hooks.host.definitions.tell_left_out();
    let small = find_supervisor()?;
    if let Some(problem) = other_version(&small, &version_of(&small)) {
        say_on_stderr(problem);
    }
    let mut supervisor = Command::new(small);
    supervisor.arg("run").arg("--socket").arg(host.path());
    for word in host.start_command(!args.no_self_defense) {
        supervisor.arg("--host").arg(word);
    }
    if let Some(event) = &args.of {
        supervisor.arg("--for").arg(event);
    }
    for (flag, is_set) in [
        ("--end-tree", args.end_tree),
        ("--best-effort", args.best_effort),
        ("--allow-debuggers", args.allow_debuggers),
    ] {
        supervisor.args(is_set.then_some(flag));
    }
    let error = supervisor.arg("--").args(&args.command).exec();
    Err(Failure(format!(
        "{} can't be started: {error}",
        supervisor.get_program().to_string_lossy()
    )))
}

/// An error in the words of this process, with the words that were meant if the command isn't
/// behind `--`.
pub(super) fn with_dashes(mut error: clap::Error, words: &[String]) -> clap::Error {
    let Some(ContextValue::String(first)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let at = words
        .iter()
        .position(|word| word == first)
        .filter(|_| !first.starts_with('-'));
    let (before, behind) = words.split_at(at.unwrap_or_default());
    if error.kind() == ErrorKind::UnknownArgument && before.iter().any(|word| word == "run") {
        let before = ["hookwire"]
            .into_iter()
            .chain(before[1..].iter().map(String::as_str))
            .chain(["--"]);
        let meant = shell_word::command(before.chain(behind.iter().map(String::as_str)));
        let tip = format!("the command stands behind `--`: {meant}");
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![tip.into()]),
        );
    }
    error
}

/// It stands beside this program.
pub(crate) fn find_supervisor() -> Result<PathBuf, Failure> {
    small_program().map_err(|place| {
        Failure(format!(
            "{} isn't there, the program that watches starts: `cargo install --locked --path .` installs both programs",
            place.display()
        ))
    })
}

/// What a small program says of its version; nothing if it can't be run.
pub(super) fn version_of(small: &Path) -> Vec<u8> {
    let said = Command::new(small)
        .args(["run", "--version"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    said.map(|it| it.stdout).unwrap_or_default()
}

/// What a person is told of a small program that says this of its version, unless it is of the same
/// one as this program. Another one may not know this one's options, or hold less than this one's
/// pages say.
pub(super) fn other_version(small: &Path, said: &[u8]) -> Option<String> {
    let own = env!("CARGO_PKG_VERSION");
    let said = String::from_utf8_lossy(said);
    let version = said
        .trim()
        .strip_prefix(SMALL)
        .map(str::trim)
        .filter(|it| !it.is_empty());
    let found = match version {
        Some(version) if version == own => return None,
        Some(version) => format!("is version {version}"),
        None => "doesn't say its version".into(),
    };
    Some(format!(
        "{} {found}, and hookwire is {own}: agents are asked through the slower `hookwire`, and what `hookwire run` holds may \
         not be what its pages say; install both from one release, or from one checkout: `cargo install --locked --path .`",
        small.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    #[test]
    fn a_command_that_isnt_behind_dashes_is_told_with_them() {
        for (words, meant) in [
            ("run make", Some("hookwire run -- make")),
            (
                "--log warn run --best-effort make -j4 all",
                Some("hookwire --log warn run --best-effort -- make -j4 all"),
            ),
            ("run --bset-effort -- make", None),
            ("list make", None),
        ] {
            let words: Vec<String> = format!("hookwire {words}")
                .split(' ')
                .map(str::to_string)
                .collect();
            let Err(error) = Cli::try_parse_from(&words) else {
                panic!("{words:?}")
            };
            let told = with_dashes(error, &words).to_string();
            let is_told = told.contains("the command stands behind `--`");
            assert!(
                is_told == meant.is_some() && meant.is_none_or(|meant| told.contains(meant)),
                "{told}"
            );
        }
    }
}
