//! What came of an event or a hook, for an editor that has a panel for it: the verdict first, then
//! each hook, then what was changed. Texts are plain; nothing in them is markup.

use super::live::Judged;
use super::past::main_argument;
use super::plain_text::{counts_in_words, one_line, plain_quotes, shown_lines};
use hookwire_base::event::Event;
use hookwire_base::support::amounts::duration;
use hookwire_base::verdict::{Decision, Outcome, Status, Verdict};
use hookwire_engine::journal::Counts;
use serde::Serialize;
use serde_json::Value;

/// The longest text of a report, in characters.
const MAX_TEXT: usize = 4000;
/// The longest title, in characters.
const MAX_TITLE: usize = 200;
/// The most values that are shown as they were and as they are.
const MAX_CHANGES: usize = 20;
/// How deep values are compared; what is deeper is shown whole.
const MAX_DEPTH: usize = 16;

/// See the module.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// In a few words: `deny`, `would run`, `matched 3 times`.
    pub(super) verdict: String,
    /// How good that is.
    pub(super) tone: Tone,
    /// The hook or the event that it is about.
    pub(super) title: String,
    /// The event that it was held against, in a line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) about: String,
    /// When that was: RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// The argument that matters, whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) subject: String,
    /// What the rows are: hooks or events.
    pub(super) heading: &'static str,
    pub(super) rows: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<Change>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<Note>,
}

/// A word for an icon and a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Tone {
    Allow,
    Ask,
    Defer,
    Deny,
    Changed,
    Error,
    /// Nobody had an opinion.
    #[default]
    None,
}

impl Tone {
    /// Of what a hook has done so far, what matters most.
    pub(super) fn of_counts(counts: &Counts) -> Tone {
        match counts {
            Counts { failed: 1.., .. } => Tone::Error,
            Counts { denied: 1.., .. } => Tone::Deny,
            Counts { asked: 1.., .. } => Tone::Ask,
            Counts { rewrote: 1.., .. } => Tone::Changed,
            Counts { matched: 1.., .. } => Tone::Allow,
            Counts { .. } => Tone::None,
        }
    }
}

/// A hook's part in a verdict, or an event.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) tone: Tone,
    pub(super) name: String,
    pub(super) verdict: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) took: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) text: String,
}

/// A value that hooks have changed.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Change {
    /// Its path.
    pub(super) what: String,
    /// Absent where it was a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<String>,
    pub(super) after: String,
}

/// Something else that a hook wants.
#[derive(Debug, Serialize)]
pub(super) struct Note {
    pub(super) title: &'static str,
    pub(super) text: String,
}

impl Note {
    pub(super) fn new(title: &'static str, text: impl Into<String>) -> Note {
        Note {
            title,
            text: text.into(),
        }
    }
}

impl Report {
    /// A report on a hook that says no more than this.
    pub(super) fn of_hook(name: &str, verdict: impl Into<String>, tone: Tone) -> Report {
        let title = one_line(name, MAX_TITLE);
        Report {
            title,
            verdict: verdict.into(),
            tone,
            heading: "Hooks",
            ..Report::default()
        }
    }

    /// The same with the event that it was held against.
    pub(super) fn at(mut self, about: String, event: &Event, at: Option<String>) -> Report {
        (self.about, self.at, self.subject) = (about, at, text(&main_argument(event, None)));
        self
    }

    /// The same with why.
    pub(super) fn because(mut self, reason: &str) -> Report {
        self.reason = Some(text(&plain_quotes(reason)));
        self
    }

    /// The same with all of a verdict but its decision.
    pub(super) fn with(mut self, event: &Event, verdict: &Verdict, is_redacted: bool) -> Report {
        if is_redacted {
            self.subject = text(&main_argument(event, verdict.subject.as_ref()));
        }
        self.rows = verdict.outcomes.iter().map(outcome_row).collect();
        if let Some(after) = &verdict.subject {
            let name = event
                .spec
                .subject
                .unwrap_or_default()
                .trim_start_matches('/')
                .replace('/', ".");
            compare_values(
                &name,
                event.subject(),
                Some(after),
                MAX_DEPTH,
                &mut self.changes,
            );
            if is_redacted {
                self.changes
                    .iter_mut()
                    .for_each(|change| change.before = None);
            }
        }
        let context = verdict
            .context
            .as_ref()
            .filter(|context| context.as_object().is_some_and(|it| !it.is_empty()));
        let sections: [(&str, Vec<String>); 6] = [
            ("Told the model", verdict.additional_context.clone()),
            ("Told the person", verdict.user_messages.clone()),
            ("Ends the run", verdict.stop.iter().cloned().collect()),
            (
                "Changed context",
                context.iter().map(|it| pretty_json(it)).collect(),
            ),
            ("Granted", verdict.grant.iter().map(pretty_json).collect()),
            (
                "Errors",
                verdict
                    .errors
                    .iter()
                    .map(|error| plain_quotes(error))
                    .collect(),
            ),
        ];
        let notes = sections.into_iter().filter(|(_, texts)| !texts.is_empty());
        self.notes = notes
            .map(|(title, texts)| Note::new(title, text(&texts.join("\n"))))
            .collect();
        self
    }

    /// A report on an event that was judged.
    pub(super) fn of_event(judged: &Judged, is_redacted: bool) -> Report {
        let Judged {
            event, verdict, at, ..
        } = judged;
        let mut title = one_line(&event.name, MAX_TITLE);
        title.extend(
            event
                .tool_name()
                .map(|name| format!("  {}", one_line(name, MAX_TITLE))),
        );
        let report = Report {
            title,
            verdict: verdict_in_words(verdict, is_redacted),
            tone: verdict_tone(verdict),
            about: verdict
                .decided_by
                .as_deref()
                .map(|decided_by| format!("by {}", one_line(decided_by, MAX_TITLE)))
                .unwrap_or_default(),
            at: Some(at.clone()),
            reason: verdict
                .reason
                .as_deref()
                .map(|reason| text(&plain_quotes(reason))),
            subject: text(&main_argument(event, None)),
            heading: "Hooks",
            ..Report::default()
        };
        report.with(event, verdict, is_redacted)
    }

    /// A report on what a hook has done so far.
    pub(super) fn of_counts(
        name: &str,
        counts: &Counts,
        rows: Vec<Row>,
        was_any_seen: bool,
    ) -> Report {
        let verdict = counts_in_words(counts, was_any_seen).unwrap_or("no event yet".into());
        Report {
            heading: "Last events",
            rows,
            ..Report::of_hook(name, verdict, Tone::of_counts(counts))
        }
    }
}

/// A verdict in a few words: `deny`, `allow, rewritten`.
pub(super) fn verdict_in_words(verdict: &Verdict, is_redacted: bool) -> String {
    let mut words = vec![verdict.decision.as_str().to_string()];
    words.extend(verdict.subject.as_ref().map(|_| {
        let what = if verdict.replaced {
            "replaced"
        } else {
            "rewritten"
        };
        if is_redacted { "redacted" } else { what }.to_string()
    }));
    words.extend(verdict.stop.as_ref().map(|_| "ends the run".into()));
    let failed = verdict
        .outcomes
        .iter()
        .filter(|outcome| outcome.error.is_some())
        .count();
    words.extend((failed > 0).then(|| format!("{failed} failed")));
    words.join(", ")
}

/// How good a verdict is.
pub(super) fn verdict_tone(verdict: &Verdict) -> Tone {
    match verdict.decision {
        Decision::Allow if verdict.subject.is_some() => Tone::Changed,
        // Nobody has allowed what nobody judged.
        Decision::Allow if verdict.outcomes.is_empty() => Tone::None,
        Decision::Allow
            if verdict
                .outcomes
                .iter()
                .any(|outcome| outcome.error.is_some()) =>
        {
            Tone::Error
        }
        decision => tone_of(decision),
    }
}

fn tone_of(decision: Decision) -> Tone {
    match decision {
        Decision::Allow => Tone::Allow,
        Decision::Ask => Tone::Ask,
        Decision::Defer => Tone::Defer,
        Decision::Deny => Tone::Deny,
    }
}

/// How a hook's part in a verdict is shown.
pub(super) fn tone_of_outcome(outcome: &Outcome) -> Tone {
    match (outcome.decision, outcome.status) {
        _ if outcome.error.is_some() => Tone::Error,
        (Some(decision), _) => tone_of(decision),
        (None, Status::Blocking) => Tone::Deny,
        (None, Status::NonBlockingError) => Tone::Error,
        _ if outcome.rewrote => Tone::Changed,
        _ => Tone::None,
    }
}

/// A hook's part in a verdict in a few words.
pub(super) fn outcome_in_words(outcome: &Outcome) -> String {
    if let Some(observed) = &outcome.observed {
        return format!("would {} (observe)", observed.would().as_str());
    }
    let said = match (outcome.decision, outcome.status) {
        (Some(decision), _) => decision.as_str(),
        (None, Status::Success) if outcome.rewrote => "",
        (None, Status::Success) => "no opinion",
        (None, Status::Blocking) => "blocking",
        (None, Status::NonBlockingError) => "failed",
        (None, Status::Cancelled) => "cancelled",
        (None, Status::Skipped) => "skipped",
        (None, Status::Started) => "started",
    };
    let words = [said, if outcome.rewrote { "rewrote" } else { "" }];
    words
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

fn outcome_row(outcome: &Outcome) -> Row {
    let has_taken = !matches!(outcome.status, Status::Skipped | Status::Started);
    let took = if has_taken {
        duration(outcome.duration_micros)
    } else {
        String::new()
    };
    let observed = outcome
        .observed
        .as_ref()
        .and_then(|observed| observed.reason.as_ref());
    let why = [
        outcome.error.as_ref(),
        outcome.reason.as_ref(),
        observed,
        outcome.opaque.as_ref(),
    ]
    .into_iter()
    .flatten();
    let why: Vec<String> = why.map(|it| plain_quotes(it)).collect();
    Row {
        tone: tone_of_outcome(outcome),
        name: one_line(&outcome.hook, MAX_TITLE),
        verdict: outcome_in_words(outcome),
        took,
        text: text(&why.join("\n")),
    }
}

/// Where two values differ.
fn compare_values(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    depth: usize,
    changes: &mut Vec<Change>,
) {
    if before == after || changes.len() >= MAX_CHANGES {
        return;
    }
    match (before, after) {
        (Some(Value::Object(old)), Some(Value::Object(new))) if depth > 0 => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            for key in old.keys().chain(added) {
                let path = format!("{path}.{}", one_line(key, MAX_TITLE));
                compare_values(
                    path.trim_start_matches('.'),
                    old.get(key),
                    new.get(key),
                    depth - 1,
                    changes,
                );
            }
        }
        _ => {
            let value =
                |it: Option<&Value>| it.map_or("(absent)".into(), |it| text(&pretty_json(it)));
            changes.push(Change {
                what: path.into(),
                before: Some(value(before)),
                after: value(after),
            });
        }
    }
}

fn pretty_json(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

fn text(text: &str) -> String {
    shown_lines(text, MAX_TEXT)
}

#[cfg(test)]
mod tests {
    use super::super::past::tests::judged;
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn rewritten() -> Arc<Judged> {
        let event = json!({ "event": "PreToolUse", "tool": { "name": "Bash", "input": { "command": "a\u{202e}", "cwd": "/" } } });
        let outcomes = json!([
            { "hook": "a", "status": "success", "rewrote": true, "reason": "use `b`", "durationMicros": 41 },
            { "hook": "b", "status": "non_blocking_error", "error": "failed to run", "durationMicros": 1 },
            { "hook": "c", "status": "skipped", "reason": "once", "durationMicros": 0 },
        ]);
        let mut judged = judged(1, event, outcomes);
        let verdict = &mut Arc::get_mut(&mut judged).unwrap().verdict;
        verdict.subject = Some(json!({ "command": "b", "cwd": "/" }));
        verdict.additional_context = vec!["one".into(), "two".into()];
        judged
    }

    #[test]
    fn the_verdict_comes_first_then_each_hook_then_what_changed() {
        let told = serde_json::to_value(Report::of_event(&rewritten(), false)).unwrap();
        let expected = json!({
            "verdict": "allow, rewritten, 1 failed", "tone": "changed", "title": "PreToolUse  Bash",
            "at": "2030-01-02T03:04:05.678Z", "subject": "a\\u{202e}", "heading": "Hooks",
            "rows": [
                { "tone": "changed", "name": "a", "verdict": "rewrote", "took": "41 µs", "text": "use “b”" },
                { "tone": "error", "name": "b", "verdict": "failed", "took": "1 µs", "text": "failed to run" },
                { "tone": "none", "name": "c", "verdict": "skipped", "text": "once" },
            ],
            "changes": [{ "what": "tool.input.command", "before": "a\\u{202e}", "after": "b" }],
            "notes": [{ "title": "Told the model", "text": "one\ntwo" }],
        });
        assert_eq!(told, expected);
    }

    #[test]
    fn what_was_redacted_is_not_shown() {
        let told = serde_json::to_value(Report::of_event(&rewritten(), true)).unwrap();
        assert_eq!(
            (&told["verdict"], &told["subject"]),
            (&json!("allow, redacted, 1 failed"), &json!("b"))
        );
        assert_eq!(
            told["changes"],
            json!([{ "what": "tool.input.command", "after": "b" }])
        );
    }
}
