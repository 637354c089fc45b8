//! `hookwire approvals deny`: a person says no.

use super::super::output::Output;
use super::super::{Failure, Finding};
#[cfg(feature = "fleet")]
use super::SignedArgs;
use super::{Extent, answer_question, find_question, show_approval};
use serde_json::json;

#[derive(clap::Args)]
pub(in crate::cli) struct DenyArgs {
    /// The question, as `hookwire approvals list` names it; without it, the only one that waits.
    pub(in crate::cli) id: Option<String>,
    /// Why; the agent reads it.
    #[arg(long)]
    pub(in crate::cli) reason: Option<String>,
    /// Give the same answer to the same question for the rest of the session.
    #[arg(long)]
    remember: bool,
    #[cfg(feature = "fleet")]
    #[command(flatten)]
    pub(in crate::cli) signed: SignedArgs,
}

pub(super) fn run(args: &DenyArgs, out: &mut Output) -> Result<Finding, Failure> {
    let (mut host, root, approval) = find_question(args.id.as_deref())?;
    // Without a name, it may be another one than the person has seen.
    if args.id.is_none() && !out.json {
        show_approval(&approval, &root, Extent::Folded, out);
    }
    let reply = json!({ "decision": "deny", "reason": args.reason, "remember": args.remember });
    answer_question(&mut host, &approval.id, &reply, out)
}
