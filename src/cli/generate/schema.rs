//! `hookwire generate schema`: what tools know of definitions and of the protocol.

use super::super::output::Output;
use super::super::{Failure, Finding};

#[derive(clap::Args)]
pub(super) struct SchemaArgs {
    /// The schema.
    #[arg(value_enum, default_value_t = SchemaKind::Definitions)]
    kind: SchemaKind,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum SchemaKind {
    /// Definition files.
    Definitions,
    /// The messages of the protocol.
    Protocol,
}

pub(super) fn run(args: &SchemaArgs, out: &mut Output) -> Result<Finding, Failure> {
    let schema = match args.kind {
        SchemaKind::Definitions => hookwire_engine::definitions::schema::definitions(),
        SchemaKind::Protocol => crate::rpc::schema::protocol_schema(),
    };
    out.lines(&serde_json::to_string_pretty(&schema)?);
    Ok(Finding::Fine)
}
