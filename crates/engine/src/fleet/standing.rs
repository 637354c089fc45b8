//! How the hosts of a fleet are, as they report it.

use hookwire_base::support::amounts::{number_of, rfc3339};
use hookwire_base::support::visible::safe;
use hookwire_fleet::hosts::{Presence, Reported};
use std::time::SystemTime;

/// How a host is, in words.
pub struct State {
    pub words: String,
    pub is_wrong: bool,
    /// By how many revisions it is behind.
    pub lag: Option<u64>,
}

/// How a host is, by its last report. `newest`: the channel's revision, if that is known for sure.
pub fn state(host: &Reported, newest: Option<u64>) -> State {
    let report = &host.report;
    match host.presence() {
        Presence::There => {}
        Presence::Ended => {
            let lost = (report.lost > 0).then(|| format!("; {}", lost(report.lost)));
            let words = format!("has ended{}", lost.as_deref().unwrap_or_default());
            return State {
                words,
                is_wrong: report.lost > 0,
                lag: None,
            };
        }
        Presence::Silent => {
            let since = SystemTime::now()
                .checked_sub(host.ago)
                .map(rfc3339)
                .unwrap_or_default();
            let had = report
                .in_force
                .as_ref()
                .map(|it| format!("; had revision {} then", it.revision));
            let words = format!(
                "silent since {since}{}: ended without a word, or cut off; `--forget {}` takes it out",
                had.unwrap_or_default(),
                host.who
            );
            return State {
                words,
                is_wrong: true,
                lag: None,
            };
        }
    }
    let in_force = report.in_force.as_ref();
    let lag = newest.map(|newest| newest.saturating_sub(in_force.map_or(0, |it| it.revision)));
    let mut words = Vec::new();
    let mut is_wrong = false;
    match in_force {
        Some(in_force) => {
            let canary = if in_force.canary { " (canary)" } else { "" };
            words.push(format!("revision {}{canary} in force", in_force.revision));
        }
        None if report.channel.is_some() => {
            words.push("nothing published is in force, so tool calls are denied".into())
        }
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
        let which = refused
            .revision
            .map_or("what is published".into(), |it| format!("revision {it}"));
        wrong(format!("refuses {which}: {}", safe(&refused.reason)));
    }
    if report.stale_since.is_some() {
        wrong("expired".into());
    }
    if report.lost > 0 {
        wrong(lost(report.lost));
    }
    if let Some(error) = report.errors.first() {
        wrong(safe(error).to_string());
    }
    for unasked in report.unasked.iter().filter(|it| it.calls > 0) {
        let calls = number_of(usize::try_from(unasked.calls).unwrap_or(usize::MAX), "call");
        let text = format!(
            "{}: {calls} of the last day never asked, {} would be denied",
            safe(&unasked.agent),
            unasked.would_be_denied
        );
        is_wrong |= unasked.would_be_denied > 0;
        words.push(text);
    }
    State {
        words: words.join("; "),
        is_wrong,
        lag,
    }
}

fn lost(n: u64) -> String {
    format!(
        "{} lost",
        number_of(usize::try_from(n).unwrap_or(usize::MAX), "verdict")
    )
}

#[cfg(test)]
mod tests {
    use super::state;
    use hookwire_fleet::hosts::{Report, Reported, Unasked};
    use hookwire_fleet::name::Identity;
    use std::time::Duration;

    #[test]
    fn a_host_that_is_not_heard_of_is_missed_until_somebody_takes_it_out() {
        for (ago, ended, lost, is_wrong, words) in [
            (10, false, 0, false, "follows no channel"),
            (10, false, 7, true, "7 verdicts lost"),
            (10, true, 0, false, "has ended"),
            (9000, true, 0, false, "has ended"),
            (9000, true, 7, true, "7 verdicts lost"),
            (91, false, 0, true, "silent since"),
            (9_000_000, false, 0, true, "--forget host-a.p1"),
        ] {
            let who = Identity {
                host: "host-a".parse().unwrap(),
                instance: "p1".parse().unwrap(),
            };
            let report = Report {
                ended,
                lost,
                ..Report::default()
            };
            let state = state(
                &Reported {
                    who,
                    report,
                    ago: Duration::from_secs(ago),
                },
                Some(3),
            );
            let found = (state.is_wrong, state.words.contains(words));
            // One that is there and has nothing in force is behind.
            assert_eq!(
                found,
                (is_wrong || ago == 10 && !ended, true),
                "{ago} {ended} {lost}: {}",
                state.words
            );
        }
    }

    #[test]
    fn calls_that_nobody_was_asked_about_are_told() {
        for (would_be_denied, is_wrong) in [(0, false), (1, true)] {
            let unasked = Unasked {
                agent: "codex".into(),
                calls: 2,
                would_be_denied,
            };
            let reported = Reported {
                who: Identity {
                    host: "host-a".parse().unwrap(),
                    instance: "p1".parse().unwrap(),
                },
                report: Report {
                    unasked: vec![unasked],
                    ..Report::default()
                },
                ago: Duration::from_secs(10),
            };
            let state = state(&reported, None);
            let told = format!(
                "follows no channel; codex: 2 calls of the last day never asked, {would_be_denied} would be denied"
            );
            assert_eq!((state.words, state.is_wrong), (told, is_wrong));
        }
    }
}
