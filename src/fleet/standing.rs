//! How the hosts of a fleet are, as they report it.

use crate::support::visible::safe;
use hookwire_fleet::hosts::Report;

/// How a host is, in words.
pub(crate) struct State {
    pub(crate) words: String,
    pub(crate) is_wrong: bool,
    /// By how many revisions it is behind.
    pub(crate) lag: Option<u64>,
}

/// How a host is, by its report. `newest`: the channel's revision, if that is known for sure.
pub(crate) fn state(report: &Report, newest: Option<u64>) -> State {
    let in_force = report.in_force.as_ref();
    let lag = newest.map(|newest| newest.saturating_sub(in_force.map_or(0, |it| it.revision)));
    let mut words = Vec::new();
    let mut is_wrong = false;
    match in_force {
        Some(in_force) => {
            let canary = if in_force.canary { " (canary)" } else { "" };
            words.push(format!("revision {}{canary} in force", in_force.revision));
        }
        None if report.channel.is_some() => words.push("nothing published is in force".into()),
        None => words.push("follows no channel".into()),
    }
    let mut wrong = |text: String| {
        is_wrong = true;
        words.push(text);
    };
    if let Some(lag) = lag.filter(|lag| *lag > 0) {
        wrong(format!("{lag} behind"));
    }
    if let Some(refused) = &report.refused {
        let which = refused.revision.map_or("what is published".into(), |it| format!("revision {it}"));
        wrong(format!("refuses {which}: {}", safe(&refused.reason)));
    }
    if report.stale_since.is_some() {
        wrong("expired".into());
    }
    if let Some(error) = report.errors.first() {
        wrong(safe(error).to_string());
    }
    State { words: words.join("; "), is_wrong, lag }
}
