//! `hookwire generate`: what other programs know of hookwire.

mod completions;
mod schema;
mod share;

use super::output::Output;
use super::{Failure, Finding};

#[derive(clap::Args)]
pub(super) struct GenerateArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Print a JSON Schema.
    Schema(schema::SchemaArgs),
    /// Print a completion script for a shell.
    Completions(completions::CompletionsArgs),
    /// Write the man pages and completion scripts below a directory, for who packages hookwire.
    Share(share::ShareArgs),
}

pub(super) fn run(args: &GenerateArgs, out: &mut Output) -> Result<Finding, Failure> {
    match &args.action {
        Action::Schema(args) => schema::run(args, out),
        Action::Completions(args) => completions::run(args, out),
        Action::Share(args) => share::run(args),
    }
}
