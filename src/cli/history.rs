//! `hookwire history` and `suggest`: what `hookwire inspect` has recorded, searched, and what comes of it.

use super::output::{Output, Tone, safe, tell};
use super::tail::{Clean, print};
use super::{Failure, Finding};
use crate::suggest::{Proposal, Suggestions};
use hookwire_base::support::file;
use hookwire_base::support::json::parse;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct HistoryArgs {
    /// What is looked for: words, and `decision:deny`, `agent:codex`, `tool:Bash`, `session:ID`, `event:NAME`, `hook:NAME`,
    /// `project:DIR`, `since:7d`, `until:2026-11-28`. A `-` before one leaves out what it is about.
    #[arg(allow_hyphen_values = true)]
    query: Vec<String>,
    /// The newest so many.
    #[arg(long, value_name = "N", default_value_t = 20)]
    last: usize,
    /// All of them. With `--format json`, a file for `hookwire replay`.
    #[arg(long, conflicts_with = "last")]
    all: bool,
}

#[derive(clap::Args)]
pub(super) struct SuggestArgs {
    /// Events as `hookwire record` writes them, instead of the history.
    file: Option<PathBuf>,
}

pub(super) fn run(args: &HistoryArgs, out: &mut Output) -> Result<Finding, Failure> {
    let query = args.query.join(" ");
    let last = (!args.all).then_some(args.last);
    let mut n_shown = 0;
    kept::each(&query, last, &mut |line| {
        print(&Clean::new(parse(line).unwrap_or_default()), out);
        n_shown += 1;
        if out.is_gone() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if n_shown == 0 && !out.json {
        out.line("Nothing is there. The page of `hookwire inspect` switches recording on.");
    }
    for (at, run, events) in kept::gaps(&query)? {
        if out.json {
            // As `tail` and `record` have it, which `replay` passes over.
            out.line(&format!(r#"{{"lost":{events},"at":{},"run":{}}}"#, json!(at), json!(run)));
        } else {
            let lacks = format!("{events} of host {} aren't here: they came faster than they were written", safe(&run));
            out.line(&out.tone(Tone::Warn, &format!("{at}  {lacks}")));
        }
    }
    Ok(Finding::Fine)
}

pub(super) fn suggest(args: &SuggestArgs, out: &mut Output) -> Result<Finding, Failure> {
    let mut suggestions = Suggestions::default();
    let mut take = |line: &str| {
        suggestions.take(&parse(line).unwrap_or_default());
        ControlFlow::Continue(())
    };
    match &args.file {
        Some(path) => {
            let at = |error: std::io::Error| Failure(format!("{}: {error}", path.display()));
            for line in BufReader::new(file::open_given(path).map_err(at)?).lines() {
                let _ = take(&line.map_err(at)?);
            }
        }
        None => kept::each("since:30d", None, &mut take)?,
    }
    let proposals = suggestions.proposals();
    if proposals.is_empty() && !out.json {
        out.line("There is nothing to suggest yet: no question always got the same answer, and nothing unguarded was tried often.");
    }
    for proposal in &proposals {
        if out.json {
            out.json(proposal);
        } else {
            show(proposal, out);
        }
    }
    if !proposals.is_empty() {
        tell("nothing of this is in force: it is you who writes it into a definition");
    }
    Ok(Finding::Fine)
}

/// Why, where it goes, the text, the cases.
fn show(proposal: &Proposal, out: &mut Output) {
    let Proposal { name, reason, hook, definition, cases, .. } = proposal;
    out.line(&out.tone(Tone::Strong, reason));
    let place = match hook {
        Some(hook) => format!("into the hook `{hook}`:"),
        None => format!(".hookwire/{name}.yaml:"),
    };
    for (place, text) in [(place, definition), (format!("its cases, .hookwire/{name}.test.yaml:"), cases)] {
        out.line(&out.tone(Tone::Dim, &place));
        text.lines().for_each(|line| out.line(&format!("  {line}")));
    }
}

#[cfg(feature = "history")]
mod kept {
    use super::*;
    use crate::history::{History, Order, directory};
    use hookwire_base::support::amounts::rfc3339;

    /// Where events are missing in the time of a query, the oldest first: when, of which run of a host, and how many.
    pub(super) fn gaps(query: &str) -> Result<Vec<(String, String, u64)>, Failure> {
        let Some(dir) = directory().filter(|it| it.is_dir()) else { return Ok(Vec::new()) };
        let gaps = History::open(&dir).and_then(|it| it.gaps(query)).map_err(Failure)?;
        Ok(gaps.into_iter().rev().map(|it| (rfc3339(it.at), it.run, it.events)).collect())
    }

    /// Hands on the newest so many events, or all, in the order of time.
    pub(super) fn each(
        query: &str,
        last: Option<usize>,
        take: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        // To look is not to begin one.
        let Some(dir) = directory().filter(|it| it.is_dir()) else { return Ok(()) };
        let history = History::open(&dir).map_err(Failure)?;
        let Some(last) = last else { return history.each(query, None, |it| take(&it.line)).map_err(Failure) };
        let newest = history.search(query, None, Order::Newest, last).map_err(Failure)?;
        let _ = newest.iter().rev().try_for_each(|it| take(&it.line));
        Ok(())
    }
}

#[cfg(not(feature = "history"))]
mod kept {
    use super::*;

    pub(super) fn gaps(_: &str) -> Result<Vec<(String, String, u64)>, Failure> {
        Ok(Vec::new())
    }

    pub(super) fn each(_: &str, _: Option<usize>, _: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Result<(), Failure> {
        Err(Failure("this hookwire was built without `history`".into()))
    }
}
