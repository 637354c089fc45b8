//! `hookwire generate completions`: what a shell knows of the command line.

use super::super::output::Output;
use super::super::{Cli, Failure, Finding};
use clap::CommandFactory;
use clap_complete::Shell;

#[derive(clap::Args)]
pub(super) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs, out: &mut Output) -> Result<Finding, Failure> {
    out.bytes(&completion_script(args.shell));
    Ok(Finding::Fine)
}

pub(super) fn completion_script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "hookwire", &mut script);
    script
}
