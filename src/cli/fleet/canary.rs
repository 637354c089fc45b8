//! How a canary does beside what all others have: shown, and a reason to hold it or to take it
//! back.

use super::super::Failure;
use super::super::output::{Output, Tone, say_on_stderr};
use hookwire_base::support::amounts::number_of;
use hookwire_engine::fleet::definitions::CANARY_PAUSE;
use hookwire_fleet::hosts::{Reported, all_hosts};
use hookwire_fleet::name::Name;
use hookwire_fleet::publish::{Channel, Published};
use hookwire_fleet::rates::{Compared, Counts, MEASURES, MIN_EVENTS, Measure};
use hookwire_fleet::server::Server;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A canary and what all others have.
pub(super) struct Pair<'a> {
    pub(super) channel: &'a Name,
    pub(super) canary: &'a Published,
    pub(super) before: &'a Published,
}

impl<'a> Pair<'a> {
    /// What a channel has, if that is a canary beside something else that all others have.
    pub(super) fn from_channel(channel: &'a Name, seen: &'a Channel) -> Option<Pair<'a>> {
        let (before, canary) = (
            seen.all.published.as_ref()?,
            seen.canary.published.as_ref()?,
        );
        let is_newer = canary.manifest.revision > before.manifest.revision;
        let is_other = canary.manifest.content() != before.manifest.content();
        (is_newer && is_other).then_some(Pair {
            channel,
            canary,
            before,
        })
    }

    /// The rates that hosts report at the moment.
    pub(super) async fn compare_rates(&self, server: &Server) -> Result<Compared, Failure> {
        let (hosts, _) = all_hosts(server).await?;
        Ok(self.compare_hosts(&hosts))
    }

    /// The rates that these hosts report.
    pub(super) fn compare_hosts(&self, hosts: &[Reported]) -> Compared {
        let of_channel = hosts
            .iter()
            .filter(|host| host.is_there() && host.report.channel.as_ref() == Some(self.channel));
        let judged = of_channel.flat_map(|of_channel| &of_channel.report.judged);
        Compared::from_judged(
            judged,
            self.canary.manifest.revision,
            &self.before.manifest.content(),
        )
    }

    /// Watches the canary for so long, or until it does clearly worse.
    pub(super) async fn watch_canary(&self, server: &Server, wait: Duration) -> Compared {
        let end = Instant::now() + wait;
        let mut compared = Compared::default();
        loop {
            match self.compare_rates(server).await {
                Ok(now) => compared = now,
                // It may come back in time, and what was seen before still holds.
                Err(Failure(problem)) => {
                    say_on_stderr(format_args!("the canary can't be looked at now: {problem}"))
                }
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !compared.worse().is_empty() {
                return compared;
            }
            tokio::time::sleep(left.min(CANARY_PAUSE)).await;
        }
    }

    /// Prints the rates of both, and what is clearly worse.
    pub(super) fn print_rates(&self, compared: &Compared, out: &mut Output) {
        let head = format!(
            "{:<26} {:>10} {:>10} {:>10} {:>10}",
            "", "events", "denied", "in doubt", "failed"
        );
        let head = out.tone(Tone::Dim, &head);
        out.line(&head);
        let rows = [
            ("canary, ", self.canary, &compared.canary),
            ("", self.before, &compared.before),
        ];
        for (which, published, counts) in rows {
            out.line(&rates_row(
                &format!("{which}revision {}", published.manifest.revision),
                counts,
            ));
        }
        let words = in_words(compared);
        let tone = if compared.worse().is_empty() {
            Tone::Dim
        } else {
            Tone::Bad
        };
        out.line(&out.tone(tone, &words));
    }
}

fn rates_row(name: &str, counts: &Counts) -> String {
    let rates = MEASURES.map(|measure| format!(" {:>8.1} %", counts.rate(measure) * 100.0));
    format!("{name:<26} {:>10}{}", counts.events, rates.concat())
}

/// What the comparison has come to.
fn in_words(compared: &Compared) -> String {
    let worse: Vec<&str> = compared.worse().into_iter().map(measure_verb).collect();
    match (&*worse, compared.is_enough()) {
        ([], true) => "the canary does nothing of it clearly more often".into(),
        ([], false) => format!(
            "too few events to compare: each side needs {}",
            number_of(usize::try_from(MIN_EVENTS).unwrap_or(usize::MAX), "event")
        ),
        (worse, _) => format!("the canary {} clearly more often", worse.join(" and ")),
    }
}

fn measure_verb(measure: Measure) -> &'static str {
    match measure {
        Measure::Denied => "denies",
        Measure::Doubtful => "doubts",
        Measure::Failed => "fails",
    }
}

/// The rates as data.
pub(super) fn as_json(compared: &Compared) -> Value {
    json!({ "canary": compared.canary, "before": compared.before, "worse": compared.worse(),
        "enough": compared.is_enough() })
}
