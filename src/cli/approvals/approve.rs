//! `hookwire approvals approve`: a person says yes, and sees before what that is about.

use super::super::output::Output;
use super::super::{Failure, Finding};
#[cfg(feature = "fleet")]
use super::SignedArgs;
use super::{Extent, answer_question, find_question, says_yes, show_approval};
use serde_json::json;
use std::io::IsTerminal;

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
    /// Don't ask on a terminal whether you mean it. What is approved is shown all the same.
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
    if !args.yes && std::io::stdin().is_terminal() && !says_yes("Approve this?")? {
        out.line("It still waits.");
        return Ok(Finding::Found);
    }
    answer_question(&mut host, &approval.id, &reply, out)
}
