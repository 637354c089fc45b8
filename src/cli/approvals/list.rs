//! `hookwire approvals list`: what waits for a person, in all running hosts.

use super::super::output::{Output, Tone};
use super::super::{Failure, Finding};
use super::{Extent, hosts_with_questions, none_waits, show_approval};
use crate::rpc::protocol::ApprovalList;
use hookwire_engine::running::follow::notices_of_questions;
use std::collections::HashSet;

#[derive(clap::Args)]
pub(in crate::cli) struct ListArgs {
    /// Show this question alone, and the whole of it.
    pub(in crate::cli) id: Option<String>,
    /// Wait, and show each new question when it comes; Ctrl-C ends it.
    #[arg(long, conflicts_with = "id")]
    watch: bool,
    /// The questions of a fleet instead: a settings file, or servers as nats://HOST[,HOST].
    #[cfg(feature = "fleet")]
    #[arg(long, value_name = "FILE|nats://HOST", conflicts_with = "watch")]
    pub(in crate::cli) fleet: Option<String>,
}

pub(super) fn run(args: &ListArgs, out: &mut Output) -> Result<Finding, Failure> {
    let extent = if args.id.is_some() {
        Extent::Whole
    } else {
        Extent::Folded
    };
    let mut known = HashSet::new();
    let lists = waiting_lists(|id| args.id.as_ref().is_none_or(|wanted| wanted == id))?;
    if out.json {
        // Of a host where nothing waits, programs learn that it is there.
        lists
            .iter()
            .filter(|list| list.approvals.is_empty())
            .for_each(|list| out.json(list));
    }
    let n_shown = show_new(lists, &mut known, extent, out);
    match &args.id {
        Some(id) if n_shown == 0 => return Err(none_waits(id)),
        _ if n_shown == 0 && !out.json => {
            let then = if args.watch {
                "waiting for a question; Ctrl-C ends it"
            } else {
                "`--watch` waits for questions"
            };
            let none = out.tone(Tone::Dim, &format!("Nothing waits for a person; {then}."));
            out.line(&none);
        }
        _ => {}
    }
    if args.watch {
        watch_questions(known, extent, out)?;
    }
    Ok(Finding::Fine)
}

/// Shows each new question as soon as its host says that there is one, until nobody reads any more.
fn watch_questions(
    mut known: HashSet<String>,
    extent: Extent,
    out: &mut Output,
) -> Result<(), Failure> {
    for () in notices_of_questions()? {
        show_new(waiting_lists(|_| true)?, &mut known, extent, out);
        if out.is_gone() {
            break;
        }
    }
    Ok(())
}

/// The questions that wait in each host and are wanted.
fn waiting_lists(is_wanted: impl Fn(&str) -> bool) -> Result<Vec<ApprovalList>, Failure> {
    let mut lists: Vec<_> = hosts_with_questions()?
        .into_iter()
        .map(|(_, list)| list)
        .collect();
    lists
        .iter_mut()
        .for_each(|list| list.approvals.retain(|approval| is_wanted(&approval.id)));
    Ok(lists)
}

/// Shows the questions that weren't known; how many there are.
fn show_new(
    lists: Vec<ApprovalList>,
    known: &mut HashSet<String>,
    extent: Extent,
    out: &mut Output,
) -> usize {
    let mut n_shown = 0;
    let before = std::mem::take(known);
    for mut list in lists {
        known.extend(list.approvals.iter().map(|approval| approval.id.clone()));
        list.approvals
            .retain(|approval| !before.contains(&approval.id));
        n_shown += list.approvals.len();
        match out.json {
            true if list.approvals.is_empty() => {}
            true => out.json(&list),
            false => list
                .approvals
                .iter()
                .for_each(|approval| show_approval(approval, &list.root, extent, out)),
        }
    }
    n_shown
}
