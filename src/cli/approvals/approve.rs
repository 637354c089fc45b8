//! `hookwire approvals approve`: a person says yes, and sees before what that is about.

use super::super::output::{Output, safe};
use super::super::{Failure, Finding};
#[cfg(feature = "fleet")]
use super::SignedArgs;
use super::{Extent, answer_question, find_question, says_yes, show_approval};
use crate::always::{self, Always, Trusting};
use hookwire_base::transport::client::Client;
use serde_json::json;
use std::io::IsTerminal;
use std::path::Path;

#[derive(clap::Args)]
pub(in crate::cli) struct ApproveArgs {
    /// The question, as `hookwire approvals list` names it; without it, the only one that waits.
    pub(in crate::cli) id: Option<String>,
    /// Do this instead: the new value of what was asked about, as JSON.
    #[arg(long, value_name = "JSON")]
    #[cfg_attr(feature = "fleet", arg(conflicts_with = "fleet"))]
    input: Option<String>,
    /// A message for the agent.
    #[arg(long)]
    pub(in crate::cli) reason: Option<String>,
    /// Give the same answer to the same question for the rest of the session.
    #[arg(long)]
    remember: bool,
    /// Make an exception, as narrow as the call allows, in the hook that asks: it asks about this
    /// no more. What would be written is shown before.
    #[arg(long, conflicts_with = "input")]
    #[cfg_attr(feature = "fleet", arg(conflicts_with = "fleet"))]
    always: bool,
    /// Don't ask on a terminal whether you mean it. What is approved is shown all the same. Without
    /// a terminal, --always needs it.
    #[arg(long)]
    pub(in crate::cli) yes: bool,
    #[cfg(feature = "fleet")]
    #[command(flatten)]
    pub(in crate::cli) signed: SignedArgs,
}

pub(super) fn run(args: &ApproveArgs, out: &mut Output) -> Result<Finding, Failure> {
    let mut reply =
        json!({ "decision": "approve", "reason": args.reason, "remember": args.remember });
    if let Some(input) = &args.input {
        let input = hookwire_base::support::json::parse(input)
            .map_err(|error| Failure(format!("--input is not JSON: {error}")))?;
        reply["subject"] = input;
    }
    let (mut host, root, approval) = find_question(args.id.as_deref())?;
    // Nobody can mean what they haven't seen, so it is shown before the answer counts.
    if out.json {
        out.json(&approval);
    } else {
        show_approval(&approval, &root, Extent::Whole, out);
    }
    let always = match args.always {
        true => Some(show_always(&mut host, &approval.id, out)?),
        false => None,
    };
    let is_asked = !args.yes && std::io::stdin().is_terminal();
    if always.is_some() && !args.yes && !is_asked {
        let problem = "nobody can be asked here whether this is meant; `--always` needs `--yes` without a terminal";
        return Err(Failure(problem.into()));
    }
    let question = match always {
        Some(_) => "Approve this, and write that?",
        None => "Approve this?",
    };
    if is_asked && !says_yes(question)? {
        out.line("It still waits.");
        return Ok(Finding::Found);
    }
    if let Some(always) = &always {
        write_always(always, Path::new(&root), out)?;
    }
    answer_question(&mut host, &approval.id, &reply, out)
}

/// What an answer for always would be, as the host says it.
fn show_always(host: &mut Client, id: &str, out: &mut Output) -> Result<Always, Failure> {
    let proposed = host.request("approvals/always", &json!({ "id": id }))?;
    let always: Always = serde_json::from_value(proposed)?;
    if out.json {
        out.json(&always);
    } else {
        out.line("");
        always.text.iter().for_each(|line| out.line(line));
        out.line("");
    }
    Ok(always)
}

fn write_always(always: &Always, root: &Path, out: &mut Output) -> Result<(), Failure> {
    let written = always::write(always, root, Trusting::Kept).map_err(Failure)?;
    if out.json {
        out.json(&json!({ "files": written.files, "notes": written.notes }));
        return Ok(());
    }
    for file in &written.files {
        out.line(&format!("Wrote {}.", file.display()));
    }
    written.notes.iter().for_each(|note| out.line(&safe(note)));
    Ok(())
}
