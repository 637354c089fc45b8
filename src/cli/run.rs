//! `hookwire run -- COMMAND`: rules hold where programs start, whoever starts them.
//!
//! The project's host judges; the small program `hookwire-run` watches the starts and takes the place of this one.

use super::warm_host::{WarmHost, for_agents};
use super::{Failure, Finding, StandingArgs};
use hookwire_ask::programs::small;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct RunArgs {
    /// End all that the command has started when it ends, for certain.
    #[arg(long)]
    end_tree: bool,
    /// Run the command unheld where the kernel can't hold it, and say so; without this, it isn't run.
    #[arg(long)]
    best_effort: bool,
    /// Let debuggers work in the tree. What a debugger has in its hands is judged when it starts, and not looked at again.
    #[arg(long)]
    allow_debuggers: bool,
    /// The event of the tool call that the command belongs to, by the id that its verdict had.
    #[arg(long, value_name = "EVENT", id = "for")]
    of: Option<String>,
    /// Only start the project's host, and print its socket.
    #[arg(long, hide = true)]
    warm: bool,
    /// How long the host stays that this starts, after the last event.
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = humantime::parse_duration)]
    idle_exit: Duration,
    /// Let programs change hookwire's own files without asking a person.
    #[arg(long)]
    no_self_defence: bool,
    #[command(flatten)]
    hooks: StandingArgs,
    /// The command, which isn't judged itself: claude, make, sh -c '...'.
    #[arg(last = true, required_unless_present = "warm", value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &RunArgs) -> Result<Finding, Failure> {
    let hooks = for_agents(&args.hooks, !args.no_self_defence)?;
    hooks.host.definitions.are_there()?;
    let host = WarmHost::new(&hooks, args.idle_exit)?;
    drop(host.connect().map_err(|error| Failure(format!("the project's host can't be started: {error}")))?);
    if args.warm {
        // Nobody but the supervisor asks for this.
        #[allow(clippy::print_stdout, reason = "it is what was asked for")]
        {
            println!("{}", host.path().display());
        }
        return Ok(Finding::Fine);
    }
    hooks.host.definitions.tell_left_out();
    let mut supervisor = Command::new(supervisor()?);
    supervisor.arg("--socket").arg(host.path());
    for word in host.starts(!args.no_self_defence) {
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
    Err(Failure(format!("{} can't be started: {error}", supervisor.get_program().to_string_lossy())))
}

/// It stands beside this program.
pub(super) fn supervisor() -> Result<PathBuf, Failure> {
    small().map_err(|place| {
        Failure(format!(
            "{} isn't there, the program that watches starts: from a checkout, `cargo install --locked --path crates/run` puts \
             it beside an installed hookwire, and `cargo build` beside one that is built",
            place.display()
        ))
    })
}
