//! The last events, filtered and in groups.

use super::listed::{ListedEvent, listed_event};
use super::live::Judged;
use super::past::subject_after;
use super::project::Project;
use super::report::{Tone, verdict_in_words};
use hookwire_base::support::amounts::number_of;
use hookwire_base::verdict::{Decision, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// What is wanted of the timeline.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfEvents {
    /// At most so many.
    #[serde(default = "default_limit")]
    limit: usize,
    /// Only those.
    #[serde(default)]
    only: Only,
    /// In these groups.
    #[serde(default)]
    by: By,
}

fn default_limit() -> usize {
    50
}

/// The events that are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Only {
    #[default]
    All,
    Judged,
    Stopped,
    Changed,
    Failed,
}

const FILTERS: [(Only, &str); 5] = [
    (Only::All, "All events"),
    (Only::Judged, "Events that a hook judged"),
    (Only::Stopped, "Denied, asked or put off"),
    (Only::Changed, "Rewritten or redacted"),
    (Only::Failed, "Where a hook failed"),
];

impl Only {
    fn takes(self, verdict: &Verdict) -> bool {
        match self {
            Only::All => true,
            Only::Judged => !verdict.outcomes.is_empty(),
            Only::Stopped => verdict.decision != Decision::Allow,
            Only::Changed => {
                verdict.subject.is_some() || verdict.outcomes.iter().any(|outcome| outcome.rewrote)
            }
            Only::Failed => verdict
                .outcomes
                .iter()
                .any(|outcome| outcome.error.is_some()),
        }
    }
}

/// What events in a group have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum By {
    #[default]
    Time,
    Verdict,
    Hook,
    Tool,
    Session,
}

const GROUPINGS: [(By, &str); 5] = [
    (By::Time, "By time"),
    (By::Verdict, "By verdict"),
    (By::Hook, "By the hook that decided"),
    (By::Tool, "By tool"),
    (By::Session, "By session"),
];

impl By {
    /// The group of an event.
    fn group_name(self, judged: &Judged, is_redacted: bool) -> String {
        let or = |text: Option<&str>, none: &str| text.unwrap_or(none).to_string();
        match self {
            By::Time => String::new(),
            By::Verdict => verdict_in_words(&judged.verdict, is_redacted),
            By::Hook => or(judged.verdict.decided_by.as_deref(), "no hook decided"),
            By::Tool => or(judged.event.tool_name(), "no tool"),
            By::Session => or(
                judged
                    .event
                    .text("/session")
                    .filter(|text| !text.is_empty()),
                "no session",
            ),
        }
    }
}

/// The result of `hookwire.events`.
#[derive(Serialize)]
pub(super) struct Timeline<'j> {
    /// Newest first.
    events: Vec<ListedEvent<'j>>,
    /// In the order of their newest events; none in order of time.
    groups: Vec<Group>,
    filters: Vec<Choice<Only>>,
    groupings: Vec<Choice<By>>,
    /// How many events are shown, and which, in words.
    summary: String,
}

#[derive(Serialize)]
struct Group {
    label: String,
    /// Of the events, by their places in the list of all.
    events: Vec<usize>,
    summary: String,
    /// That of its events, if they have one.
    tone: Tone,
}

/// What can be chosen.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Choice<Id> {
    id: Id,
    label: &'static str,
    is_chosen: bool,
    /// How much it would show.
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
}

/// The hooks that take something out of what passes.
pub(super) struct Redacting(HashSet<(String, Arc<str>)>);

impl Redacting {
    pub(super) fn in_projects(projects: &[Project]) -> Redacting {
        Redacting(
            projects
                .iter()
                .flat_map(|project| {
                    let (key, set) = (project.key(), project.hooks());
                    let redacting = set
                        .hooks
                        .iter()
                        .filter(|hook| hook.handler.is_redacting())
                        .map(|hook| (key.clone(), hook.name.clone()));
                    redacting.collect::<Vec<_>>()
                })
                .collect(),
        )
    }

    /// The subject of an event in a few words; of one that was redacted, what is left of it.
    pub(super) fn event_subject(&self, judged: &Judged) -> String {
        let is_redacted = self.has_redacted(&judged.folder, &judged.verdict);
        subject_after(
            &judged.event,
            judged.verdict.subject.as_ref().filter(|_| is_redacted),
        )
    }

    /// Whether one of them has changed the subject of an event of a project.
    pub(super) fn has_redacted(&self, project: &str, verdict: &Verdict) -> bool {
        verdict.subject.is_some()
            && verdict.outcomes.iter().any(|outcome| {
                outcome.rewrote
                    && self
                        .0
                        .contains(&(project.to_string(), outcome.hook.clone()))
            })
    }
}

/// The events that are wanted.
pub(super) fn build_timeline<'j>(
    all: &'j [Arc<Judged>],
    redacting: &Redacting,
    wanted: &OfEvents,
) -> Timeline<'j> {
    let OfEvents { limit, only, by } = *wanted;
    let is_redacted = |judged: &Judged| redacting.has_redacted(&judged.folder, &judged.verdict);
    let shown: Vec<&Arc<Judged>> = all
        .iter()
        .filter(|it| only.takes(&it.verdict))
        .take(limit)
        .collect();
    let mut groups: Vec<Group> = Vec::new();
    for (n, judged) in shown.iter().enumerate().filter(|_| by != By::Time) {
        let label = by.group_name(judged, is_redacted(judged));
        match groups.iter_mut().find(|group| group.label == label) {
            Some(group) => group.events.push(n),
            None => {
                let tone = if by == By::Verdict {
                    super::report::verdict_tone(&judged.verdict)
                } else {
                    Tone::None
                };
                groups.push(Group {
                    label,
                    events: vec![n],
                    summary: String::new(),
                    tone,
                });
            }
        }
    }
    groups
        .iter_mut()
        .for_each(|group| group.summary = number_of(group.events.len(), "event"));
    let filters = FILTERS.map(|(id, label)| Choice {
        id,
        label,
        is_chosen: id == only,
        note: number_of(
            all.iter().filter(|it| id.takes(&it.verdict)).count(),
            "event",
        ),
    });
    let groupings = GROUPINGS.map(|(id, label)| Choice {
        id,
        label,
        is_chosen: id == by,
        note: String::new(),
    });
    let mut summary: Vec<String> = filters
        .iter()
        .filter(|filter| filter.is_chosen && only != Only::All)
        .map(|filter| filter.label.to_lowercase())
        .collect();
    summary.extend(
        groupings
            .iter()
            .filter(|grouping| grouping.is_chosen && by != By::Time)
            .map(|grouping| grouping.label.to_lowercase()),
    );
    Timeline {
        events: shown
            .iter()
            .map(|it| listed_event(it, is_redacted(it)))
            .collect(),
        groups,
        filters: filters.into(),
        groupings: groupings.into(),
        summary: summary.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::super::past::tests::judged;
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn events_are_filtered_and_grouped() {
        let bash = |command: &str| json!({ "event": "PreToolUse", "session": "s", "tool": { "name": "Bash", "input": { "command": command } } });
        let outcome = |status: &str, decision: Value, error: Value| json!([{ "hook": "h", "status": status, "decision": decision, "error": error, "durationMicros": 1 }]);
        let mut events = vec![
            judged(4, json!({ "event": "Stop" }), json!([])),
            judged(
                3,
                bash("git push"),
                outcome("blocking", json!("deny"), Value::Null),
            ),
            judged(
                2,
                bash("ls"),
                outcome("non_blocking_error", Value::Null, json!("failed to run")),
            ),
            judged(
                1,
                bash("make"),
                outcome("success", Value::Null, Value::Null),
            ),
        ];
        let last = Arc::get_mut(events.last_mut().unwrap()).unwrap();
        last.verdict.subject = Some(json!({ "command": "make -n" }));
        last.verdict.outcomes[0].rewrote = true;
        let redacting = Redacting(HashSet::from([(String::new(), "h".into())]));
        for (wanted, labels, groups) in [
            (
                json!({}),
                &[
                    "allow  Stop",
                    "deny  PreToolUse  Bash  git push",
                    "allow, 1 failed  PreToolUse  Bash  ls",
                    "allow, redacted  PreToolUse  Bash  make -n",
                ][..],
                &[][..],
            ),
            (
                json!({ "only": "judged", "limit": 1 }),
                &["deny  PreToolUse  Bash  git push"],
                &[],
            ),
            (
                json!({ "only": "stopped", "by": "hook" }),
                &["deny  PreToolUse  Bash  git push"],
                &["h: 0"],
            ),
            (
                json!({ "only": "changed" }),
                &["allow, redacted  PreToolUse  Bash  make -n"],
                &[],
            ),
            (
                json!({ "only": "failed", "by": "verdict" }),
                &["allow, 1 failed  PreToolUse  Bash  ls"],
                &["allow, 1 failed: 0"],
            ),
            (
                json!({ "only": "judged", "by": "tool" }),
                &[
                    "deny  PreToolUse  Bash  git push",
                    "allow, 1 failed  PreToolUse  Bash  ls",
                    "allow, redacted  PreToolUse  Bash  make -n",
                ],
                &["Bash: 0 1 2"],
            ),
            (
                json!({ "limit": 2, "by": "session" }),
                &["allow  Stop", "deny  PreToolUse  Bash  git push"],
                &["no session: 0", "s: 1"],
            ),
        ] {
            let told = build_timeline(
                &events,
                &redacting,
                &serde_json::from_value(wanted.clone()).unwrap(),
            );
            let told_labels: Vec<&str> = told
                .events
                .iter()
                .map(|event| event.label.as_str())
                .collect();
            assert_eq!(told_labels, labels, "{wanted}");
            let members = |group: &Group| {
                group
                    .events
                    .iter()
                    .map(usize::to_string)
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            let told_groups: Vec<String> = told
                .groups
                .iter()
                .map(|group| format!("{}: {}", group.label, members(group)))
                .collect();
            assert_eq!(told_groups, groups, "{wanted}");
        }
        assert_eq!(
            events
                .last()
                .map(|it| redacting.event_subject(it))
                .as_deref(),
            Some("Bash make -n")
        );
        let told = build_timeline(
            &events,
            &redacting,
            &serde_json::from_value(json!({ "only": "stopped", "by": "tool" })).unwrap(),
        );
        assert_eq!(told.summary, "denied, asked or put off, by tool");
        assert_eq!(
            told.filters
                .iter()
                .map(|it| it.note.as_str())
                .collect::<Vec<_>>(),
            ["4 events", "3 events", "1 event", "1 event", "1 event"]
        );
    }
}
