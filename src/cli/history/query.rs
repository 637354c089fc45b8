//! `hookwire history query`: what `hookwire inspect` has recorded, searched or written out.

use super::super::output::{Output, Tone, safe};
use super::super::tail::{Clean, print_record};
use super::super::{Failure, Finding};
use super::kept;
use hookwire_base::support::json::parse;
use serde_json::json;
use std::ops::ControlFlow;

#[derive(clap::Args)]
pub(super) struct QueryArgs {
    /// What is looked for: words, and `decision:deny`, `agent:codex`, `tool:Bash`, `session:ID`,
    /// `event:NAME`, `hook:NAME`, `project:DIR`, `since:7d`, `until:2026-11-28`. A `-` before one
    /// leaves out what it is about.
    #[arg(allow_hyphen_values = true)]
    query: Vec<String>,
    /// The newest so many.
    #[arg(long, value_name = "N", default_value_t = 20)]
    last: usize,
    /// All of them. With `--format json`, a file for `hookwire history replay`.
    #[arg(long, conflicts_with = "last")]
    all: bool,
}

pub(super) fn run(args: &QueryArgs, out: &mut Output) -> Result<Finding, Failure> {
    let query = args.query.join(" ");
    let last = (!args.all).then_some(args.last);
    let mut n_shown = 0;
    kept::each_event(&query, last, &mut |line| {
        print_record(&Clean::new(parse(line).unwrap_or_default()), out);
        n_shown += 1;
        if out.is_gone() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if n_shown == 0 && !out.json {
        out.line("Nothing is there. The page of `hookwire inspect` switches recording on.");
    }
    for (at, run, events) in kept::find_gaps(&query)? {
        if out.json {
            // As `tail` has it, which `replay` passes over.
            out.line(&format!(
                r#"{{"lost":{events},"at":{},"run":{}}}"#,
                json!(at),
                json!(run)
            ));
        } else {
            let lacks = format!(
                "{events} of host {} aren't here: they came faster than they were written",
                safe(&run)
            );
            out.line(&out.tone(Tone::Warn, &format!("{at}  {lacks}")));
        }
    }
    Ok(Finding::Fine)
}
