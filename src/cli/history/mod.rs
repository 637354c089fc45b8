//! `hookwire history`: what was judged, by what `hookwire inspect` has recorded or by a file.

mod query;
mod replay;
mod suggest;

use super::output::Output;
use super::{Failure, Finding};
use std::ops::ControlFlow;

#[derive(clap::Args)]
pub(super) struct HistoryArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Search what `inspect` has recorded, or write all of it out.
    Query(query::QueryArgs),
    /// Judge a recorded session again, one JSON event a line.
    Replay(Box<replay::ReplayArgs>),
    /// Suggest rules from what was recorded. Nothing of them is in force by itself.
    Suggest(suggest::SuggestArgs),
}

pub(super) fn run(args: &HistoryArgs, out: &mut Output) -> Result<Finding, Failure> {
    match &args.action {
        Action::Query(args) => query::run(args, out),
        Action::Replay(args) => replay::run(args, out),
        Action::Suggest(args) => suggest::run(args, out),
    }
}

#[cfg(feature = "history")]
mod kept {
    use super::*;
    use crate::history::{History, Order, history_dir};
    use hookwire_base::support::amounts::rfc3339;

    /// Where events are missing in the time of a query, the oldest first: when, of which run of a
    /// host, and how many.
    pub(super) fn find_gaps(query: &str) -> Result<Vec<(String, String, u64)>, Failure> {
        let Some(dir) = history_dir().filter(|it| it.is_dir()) else {
            return Ok(Vec::new());
        };
        let gaps = History::open(&dir)
            .and_then(|it| it.find_gaps(query))
            .map_err(Failure)?;
        Ok(gaps
            .into_iter()
            .rev()
            .map(|gap| (rfc3339(gap.at), gap.run, gap.events))
            .collect())
    }

    /// Hands on the newest so many events, or all, in the order of time.
    pub(super) fn each_event(
        query: &str,
        last: Option<usize>,
        take: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        // To look is not to begin one.
        let Some(dir) = history_dir().filter(|it| it.is_dir()) else {
            return Ok(());
        };
        let history = History::open(&dir).map_err(Failure)?;
        let Some(last) = last else {
            return history
                .each_found(query, None, |it| take(&it.line))
                .map_err(Failure);
        };
        let newest = history
            .search(query, None, Order::Newest, last)
            .map_err(Failure)?;
        let _ = newest.iter().rev().try_for_each(|it| take(&it.line));
        Ok(())
    }
}

#[cfg(not(feature = "history"))]
mod kept {
    use super::*;

    pub(super) fn find_gaps(_: &str) -> Result<Vec<(String, String, u64)>, Failure> {
        Ok(Vec::new())
    }

    pub(super) fn each_event(
        _: &str,
        _: Option<usize>,
        _: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        Err(Failure("this hookwire was built without `history`".into()))
    }
}
