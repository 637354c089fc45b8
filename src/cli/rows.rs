//! Verdicts as rows of a table, and in one line, for people.

use super::output::{Output, Tone, safe, shorten_text};
use hookwire_base::event::Event;
use hookwire_base::verdict::{Decision, Verdict};

/// Prints the head of a table of verdicts, whose first column has this name.
pub(super) fn print_head(out: &mut Output, first: &str) {
    let head = format!(
        "{first:>4}  {:<20} {:<32} {:<6} {:>9}  {}",
        "event", "subject", "", "µs", "why"
    );
    let head = out.tone(Tone::Dim, &head);
    out.line(&head);
}

/// What an event is about, for people.
pub(super) struct About<'a> {
    /// Its name.
    pub(super) event: &'a str,
    /// See [`event_summary`].
    pub(super) subject: &'a str,
}

/// Prints a verdict as a row, and below it what it is compared with.
pub(super) fn print_row(
    out: &mut Output,
    number: usize,
    about: About<'_>,
    verdict: &Verdict,
    micros: u128,
    before: Option<&Verdict>,
) {
    let row = verdict_row(out, number, about, verdict, micros);
    out.line(&row);
    if let Some(before) = before {
        let was = format!(
            "      was {} {}",
            before.decision.as_str(),
            safe(&verdict_summary(before))
        );
        out.line(&out.tone(Tone::Dim, was.trim_end()));
    }
}

fn verdict_row(
    out: &Output,
    number: usize,
    about: About<'_>,
    verdict: &Verdict,
    micros: u128,
) -> String {
    let decision = if verdict.decided_by.is_none() && verdict.decision == Decision::Allow {
        "-"
    } else {
        verdict.decision.as_str()
    };
    let decision = out.tone(
        Tone::of_decision(verdict.decision),
        &format!("{decision:<6}"),
    );
    format!(
        "{number:>4}  {:<20} {:<32} {decision} {micros:>9}  {}",
        shorten_text(about.event, 20),
        shorten_text(about.subject, 32),
        safe(&verdict_summary(verdict))
    )
}

/// What an event is about: its tool and main argument, or its text.
pub(super) fn event_summary(event: &Event) -> String {
    let Some(tool) = event.tool_name() else {
        return event
            .text("/prompt")
            .or(event.text("/lastMessage"))
            .unwrap_or_default()
            .to_string();
    };
    let main = event
        .data()
        .pointer("/tool/input")
        .and_then(|input| hookwire_rules::matching::tools::main_argument(tool, input));
    match main {
        Some((_, argument)) => format!("{tool} {argument}"),
        None => tool.to_string(),
    }
}

/// What each hook that only observes would have done: `no-push would deny: no pushes`.
fn observed_in_words(verdict: &Verdict) -> impl Iterator<Item = String> {
    verdict.outcomes.iter().filter_map(|outcome| {
        let would = outcome.would()?.as_str();
        let why = outcome
            .why()
            .map(|why| format!(": {why}"))
            .unwrap_or_default();
        Some(format!("{} would {would}{why}", outcome.hook))
    })
}

/// Why a verdict is what it is, in one line.
pub(super) fn verdict_summary(verdict: &Verdict) -> String {
    let mut parts = Vec::new();
    if let Some(hook) = &verdict.decided_by {
        parts.push(match &verdict.reason {
            Some(reason) => format!("{hook}: {reason}"),
            None => hook.to_string(),
        });
    }
    if let Some(subject) = &verdict.subject {
        let by = verdict
            .outcomes
            .iter()
            .find(|outcome| outcome.rewrote)
            .map(|outcome| format!(" by {}", outcome.hook))
            .unwrap_or_default();
        // A subject may be a whole file; a reason is what people look for.
        parts.push(format!(
            "rewritten{by}: {}",
            shorten_text(&subject.to_string(), 90)
        ));
    }
    parts.extend(observed_in_words(verdict));
    parts.extend(
        verdict
            .user_messages
            .iter()
            .map(|text| format!("says: {text}")),
    );
    parts.extend(
        verdict
            .additional_context
            .iter()
            .map(|text| format!("context: {text}")),
    );
    parts.extend(
        verdict
            .outcomes
            .iter()
            .filter_map(|outcome| Some(format!("{} {}", outcome.hook, outcome.error.as_ref()?))),
    );
    parts.join("; ")
}
