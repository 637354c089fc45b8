//! `hookwire history suggest`: rules that come of what was recorded.

use super::super::output::{Output, Tone, say_on_stderr};
use super::super::{Failure, Finding};
use super::kept;
use crate::suggest::{Proposal, Suggestions};
use hookwire_base::support::file;
use hookwire_base::support::json::parse;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct SuggestArgs {
    /// Events as `hookwire tail --record` writes them, instead of the history.
    file: Option<PathBuf>,
}

pub(super) fn run(args: &SuggestArgs, out: &mut Output) -> Result<Finding, Failure> {
    let mut suggestions = Suggestions::default();
    let mut take = |line: &str| {
        suggestions.take_record(&parse(line).unwrap_or_default());
        ControlFlow::Continue(())
    };
    match &args.file {
        Some(path) => {
            let at = |error: std::io::Error| Failure(format!("{}: {error}", path.display()));
            for line in BufReader::new(file::open_given(path).map_err(at)?).lines() {
                let _ = take(&line.map_err(at)?);
            }
        }
        None => kept::each_event("since:30d", None, &mut take)?,
    }
    let proposals = suggestions.proposals();
    if proposals.is_empty() && !out.json {
        out.line("There is nothing to suggest yet: no question always got the same answer, and nothing unguarded was tried often.");
    }
    for proposal in &proposals {
        if out.json {
            out.json(proposal);
        } else {
            show_proposal(proposal, out);
        }
    }
    if !proposals.is_empty() {
        say_on_stderr("nothing of this is in force: it is you who writes it into a definition");
    }
    Ok(Finding::Fine)
}

/// Why, where it goes, the text, the cases.
fn show_proposal(proposal: &Proposal, out: &mut Output) {
    let Proposal {
        name,
        reason,
        hook,
        definition,
        cases,
        ..
    } = proposal;
    out.line(&out.tone(Tone::Strong, reason));
    let place = match hook {
        Some(hook) => format!("into the hook `{hook}`:"),
        None => format!(".hookwire/{name}.yaml:"),
    };
    for (place, text) in [
        (place, definition),
        (format!("its cases, .hookwire/{name}.test.yaml:"), cases),
    ] {
        out.line(&out.tone(Tone::Dim, &place));
        text.lines().for_each(|line| out.line(&format!("  {line}")));
    }
}
