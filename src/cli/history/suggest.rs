//! `hookwire history suggest`: rules that come of what was recorded.

use super::super::output::{Output, Tone, say_on_stderr};
use super::super::sample_host::SampleHost;
use super::super::{Failure, Finding, find_project};
use super::kept;
use crate::suggest::{Proposal, Suggestions};
use hookwire_base::support::file;
use hookwire_base::support::json::parse;
use hookwire_base::support::places;
use hookwire_base::verdict::Decision;
use hookwire_engine::definitions::approved::DEFINITIONS;
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
    let mut proposals = suggestions.proposals();
    proposals.retain(|proposal| !is_there(proposal));
    if proposals.is_empty() && !out.json {
        out.line("There is nothing to suggest yet: no question always got the same answer, and nothing unguarded was tried often.");
    }
    for proposal in &proposals {
        if out.json {
            out.json(proposal);
        } else if let Some(rule) = proposal.rule {
            show_rule(proposal, rule, out)?;
        } else {
            show_proposal(proposal, out);
        }
    }
    if !proposals.is_empty() {
        say_on_stderr("nothing of this is in force: it is you who writes it into a definition");
    }
    Ok(Finding::Fine)
}

/// Whether a file of this name is in force already, or waits for its approval.
fn is_there(proposal: &Proposal) -> bool {
    let name = format!("{}.yaml", proposal.name);
    let project = find_project().join(DEFINITIONS);
    let mut dirs = places::user_dirs().iter().chain([&project]);
    proposal.hook.is_none() && dirs.any(|dir| dir.join(&name).exists())
}

/// Why, how to get the rule, and what it says about the commands that were tried.
fn show_rule(proposal: &Proposal, rule: &str, out: &mut Output) -> Result<(), Failure> {
    out.line(&out.tone(Tone::Strong, &proposal.reason));
    let files = [(format!("{rule}.yaml"), proposal.definition.clone())];
    let host = SampleHost::new(files)?;
    let mut told = Vec::new();
    for command in &proposal.examples {
        let decision = host.judge_command(command)?;
        told.push((decision, command));
    }
    for (decision, command) in told {
        let (word, tone) = match decision {
            Decision::Deny => ("would stop", Tone::Bad),
            Decision::Ask | Decision::Defer => ("would ask", Tone::Warn),
            Decision::Allow => ("lets pass", Tone::Good),
        };
        let word = out.tone(tone, &format!("{word:<10}"));
        out.line(&format!("  {word} {command}"));
    }
    out.line(&format!(
        "  `hookwire init {rule}` writes it with its cases."
    ));
    Ok(())
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
