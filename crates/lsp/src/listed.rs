//! Hooks and events as commands give them to extensions, with the words that editors show.

use super::editor::path_of;
use super::hints::{Orders, events_of};
use super::live::Judged;
use super::past::{MAX_SUBJECT, main_argument, subject_after};
use super::plain_text::{
    MAX_QUOTED, both_ends, code_block, escape_markdown, one_line, plain_quotes,
};
use super::project::Project;
use super::report::{Tone, outcome_in_words, tone_of_outcome, verdict_in_words, verdict_tone};
use super::surroundings::Surroundings;
use hookwire_base::event::Phase;
use hookwire_base::support::amounts::{duration, number_of};
use hookwire_base::syntax::diagnostic::Severity;
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::{Decision, Outcome, Status};
use hookwire_engine::hook::Hook;
use hookwire_engine::journal::Counts;
use hookwire_rules::contract::{Composition, Fail, NATIVE};
use ls_types::{Position, Range, Uri};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// The most places of a hook that its tooltip tells.
const MAX_PLACES: usize = 8;
/// The longest name in a tree, in characters: what it has done stands behind it.
const MAX_LABEL: usize = 32;

/// An event as `hookwire.events` gives it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListedEvent<'j> {
    host: u32,
    seq: u64,
    at: &'j str,
    event: &'j str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'j str>,
    /// Its subject in a few words.
    subject: String,
    decision: Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<&'j str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    micros: u64,
    /// When it was, in seconds since 1970.
    seconds: u64,
    /// How good the verdict is.
    tone: Tone,
    /// The verdict, the event, its tool and the argument that matters, in a line.
    pub(super) label: String,
    /// The event and its verdict in Markdown.
    tooltip: String,
    outcomes: Vec<ListedOutcome<'j>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedOutcome<'j> {
    hook: &'j str,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    duration_micros: u64,
    tone: Tone,
    /// The decision, the time it took and the reason, in a line.
    summary: String,
}

/// An event that was judged; of one that was redacted, what is left of it.
pub(super) fn listed_event(judged: &Judged, is_redacted: bool) -> ListedEvent<'_> {
    let Judged {
        folder: _,
        host,
        seq,
        at,
        event,
        verdict,
        truncated: _,
    } = judged;
    let seconds = humantime::parse_rfc3339(at)
        .ok()
        .and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let argument = one_line(
        &main_argument(event, verdict.subject.as_ref().filter(|_| is_redacted)),
        MAX_SUBJECT,
    );
    let subject = subject_after(event, verdict.subject.as_ref().filter(|_| is_redacted));
    let mut listed = ListedEvent {
        host: *host,
        seq: *seq,
        at,
        event: &event.name,
        tool: event.tool_name(),
        subject,
        decision: verdict.decision,
        decided_by: verdict.decided_by.as_deref(),
        reason: clip_text(&verdict.reason),
        micros: verdict
            .outcomes
            .iter()
            .fold(0, |sum, it| it.duration_micros.saturating_add(sum)),
        seconds: seconds.unwrap_or_default().as_secs(),
        tone: verdict_tone(verdict),
        label: String::new(),
        tooltip: String::new(),
        outcomes: verdict.outcomes.iter().map(listed_outcome).collect(),
    };
    let named = [
        &verdict_in_words(verdict, is_redacted),
        &*event.name,
        event.tool_name().unwrap_or_default(),
        &argument,
    ];
    listed.label = named
        .into_iter()
        .filter(|it| !it.is_empty())
        .collect::<Vec<_>>()
        .join("  ");
    listed.tooltip = listed.in_markdown();
    listed
}

impl ListedEvent<'_> {
    fn in_markdown(&self) -> String {
        let ListedEvent {
            host,
            seq,
            event,
            at,
            ..
        } = self;
        let by = self
            .decided_by
            .map(|decided_by| format!(" by {}", escape_markdown(decided_by)))
            .unwrap_or_default();
        let mut parts = vec![format!("**{}**{by}", self.decision.as_str())];
        parts.extend(self.reason.as_deref().map(escape_markdown));
        parts.extend((!self.subject.is_empty()).then(|| code_block(&self.subject)));
        let took = duration(self.micros);
        parts.push(format!(
            "{} #{seq} of host {host}, {}, judged in {took}",
            escape_markdown(event),
            escape_markdown(at)
        ));
        parts.join("\n\n")
    }
}

fn listed_outcome(outcome: &Outcome) -> ListedOutcome<'_> {
    ListedOutcome {
        hook: &outcome.hook,
        status: outcome.status,
        decision: outcome.decision,
        reason: clip_text(&outcome.reason),
        error: clip_text(&outcome.error),
        duration_micros: outcome.duration_micros,
        tone: tone_of_outcome(outcome),
        summary: outcome_in_a_line(outcome),
    }
}

/// `deny · never force-push · 0.3 ms`
fn outcome_in_a_line(outcome: &Outcome) -> String {
    let why = outcome
        .why()
        .map(|it| one_line(&plain_quotes(it), MAX_SUBJECT));
    let parts = [
        outcome_in_words(outcome),
        why.unwrap_or_default(),
        duration(outcome.duration_micros),
    ];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" · ")
}

fn clip_text(text: &Option<String>) -> Option<String> {
    text.as_deref().map(|text| one_line(text, MAX_QUOTED))
}

/// A hook as `hookwire.hooks` gives it.
#[derive(Serialize)]
pub(super) struct ListedHook {
    name: Arc<str>,
    /// Its name, without its middle if it is long.
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    on: Vec<Arc<str>>,
    handler: &'static str,
    layer: Layer,
    uri: Option<Uri>,
    range: Range,
    order: Vec<Ordered>,
    composition: Composition,
    fail: Fail,
    /// It only observes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    observe: bool,
    enabled: bool,
    dialect: &'static str,
    counts: Counts,
    /// How it is doing.
    tone: Tone,
    /// What it has done and its handler, in a few words each, what matters most first.
    notes: Vec<String>,
    /// All about it, in Markdown.
    tooltip: String,
}

#[derive(Serialize)]
struct Ordered {
    event: Arc<str>,
    place: usize,
    of: usize,
}

/// A hook in force.
pub(super) fn listed_hook(
    hook: &Arc<Hook>,
    orders: &mut Orders,
    around: &Surroundings<'_>,
) -> ListedHook {
    let order = events_of(hook, orders.hooks())
        .into_iter()
        .filter_map(|event| {
            let (place, of) = orders.place_of(hook, &event)?;
            Some(Ordered { event, place, of })
        });
    let source = &hook.source;
    let uri = Uri::from_file_path(&*source.file);
    let open = around
        .documents
        .values()
        .find(|document| *document.file() == *source.file);
    let range = open.and_then(|document| {
        let readable = document.readable()?;
        let span = readable.part(&readable.document.hook(&hook.name)?.span)?;
        Some(document.lines().range(&span))
    });
    let range = match range {
        Some(range) => range,
        None => {
            // Columns of a file that isn't open: nothing but indentation stands before a hook.
            start_at(source.line, source.column)
        }
    };
    let mut listed = ListedHook {
        name: hook.name.clone(),
        label: both_ends(&one_line(&hook.name, MAX_QUOTED), MAX_LABEL),
        description: hook.description.clone(),
        on: hook.on.names(),
        handler: hook.handler.key(),
        layer: source.layer,
        uri,
        range,
        order: order.collect(),
        composition: hook.contract.composition,
        fail: hook.fail_at(if hook.on.includes_a_gate() {
            Phase::Gate
        } else {
            Phase::After
        }),
        observe: hook.observe,
        enabled: hook.enabled,
        dialect: hook.contract.dialect,
        counts: around.live.hook_counts(&around.key(), &hook.name),
        tone: Tone::None,
        notes: Vec::new(),
        tooltip: String::new(),
    };
    listed.tone = Tone::of_counts(&listed.counts);
    listed.notes = listed.in_words();
    listed.tooltip = listed.in_markdown();
    listed
}

impl ListedHook {
    fn counts_in_words(&self) -> Vec<String> {
        let Counts {
            matched,
            denied,
            asked,
            rewrote,
            failed,
            observed,
        } = self.counts;
        let counts = [
            ("failed", failed),
            ("denied", denied),
            ("asked", asked),
            ("rewrote", rewrote),
            ("observed", observed),
            ("matched", matched),
        ];
        counts
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .map(|(what, n)| format!("{what} {n}"))
            .collect()
    }

    fn in_words(&self) -> Vec<String> {
        let off = (!self.enabled).then(|| "off".to_string());
        let observes = self.observe.then(|| "observes".to_string());
        off.into_iter()
            .chain(observes)
            .chain(self.counts_in_words())
            .chain([self.handler.to_string()])
            .collect()
    }

    fn in_markdown(&self) -> String {
        let places = self
            .order
            .iter()
            .map(|it| format!("{}: {} of {}", it.event, it.place, it.of));
        let mut places: Vec<_> = places.take(MAX_PLACES).collect();
        if self.order.len() > MAX_PLACES {
            places.push("…".into());
        }
        let counts = self.counts_in_words();
        let rows = [
            ("handler", self.handler.to_string()),
            ("on", self.on.join(", ")),
            (
                "runs",
                if self.enabled {
                    places.join(", ")
                } else {
                    "never: it is off".into()
                },
            ),
            ("layer", as_text(self.layer)),
            ("on failure", as_text(self.fail)),
            (
                "counts",
                if self.observe {
                    "nothing: it only observes".into()
                } else {
                    String::new()
                },
            ),
            ("composition", as_text(self.composition)),
            (
                "dialect",
                Some(self.dialect)
                    .filter(|it| *it != NATIVE)
                    .unwrap_or_default()
                    .into(),
            ),
            (
                "so far",
                if counts.is_empty() {
                    "no match yet".into()
                } else {
                    counts.join(" · ")
                },
            ),
        ];
        let rows = rows.into_iter().filter(|(_, value)| !value.is_empty());
        let rows: Vec<_> = rows
            .map(|(key, value)| format!("| {key} | {} |", escape_markdown(&value)))
            .collect();
        let about = self
            .description
            .as_deref()
            .map(|description| format!("{}\n\n", escape_markdown(description)))
            .unwrap_or_default();
        format!(
            "**{}**\n\n{about}| | |\n|---|---|\n{}",
            escape_markdown(&self.name),
            rows.join("\n")
        )
    }
}

/// The name of a variant as it is on the wire.
fn as_text(variant: impl Serialize) -> String {
    let value = serde_json::to_value(variant).unwrap_or_default();
    value.as_str().unwrap_or_default().to_string()
}

/// The hooks of one event, by their places in the list of all hooks, in order of running.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Group {
    event: String,
    hooks: Vec<usize>,
    /// The place of each among those that run there, in words.
    places: Vec<String>,
    /// How many they are, in words.
    summary: String,
}

/// The empty range at a line and a column that are counted from 1.
fn start_at(line: usize, column: usize) -> Range {
    let count = |n: usize| n.saturating_sub(1).try_into().unwrap_or(u32::MAX);
    let start = Position::new(count(line), count(column));
    Range::new(start, start)
}

/// The hooks of one file, as they are written; with those that are broken.
#[derive(Debug, Serialize)]
pub(super) struct ListedFile {
    /// Null for hooks that a client has registered.
    uri: Option<Uri>,
    /// Its path, from the project's root if it is in it.
    label: String,
    /// By their places in the list of all hooks.
    hooks: Vec<usize>,
    broken: Vec<ListedBroken>,
    summary: String,
}

/// A hook that is not in force as it is written.
#[derive(Debug, Serialize)]
struct ListedBroken {
    /// Absent where the file itself is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    label: String,
    range: Range,
    /// What is wrong with it first, in a line.
    message: String,
    /// All that is wrong with it, in Markdown.
    tooltip: String,
}

/// Hooks by file, in the order of the paths.
pub(super) fn group_by_file(project: &Project, hooks: &[ListedHook]) -> Vec<ListedFile> {
    let mut files: Vec<ListedFile> = Vec::new();
    let mut at = |uri: Option<Uri>| match files.iter().position(|file| file.uri == uri) {
        Some(at) => at,
        None => {
            let path = uri.as_ref().and_then(path_of);
            let inside = path
                .as_ref()
                .and_then(|path| path.strip_prefix(project.root()).ok());
            let label = inside
                .or(path.as_deref())
                .map(|it| it.display().to_string());
            let label = label.map_or("registered by a client".into(), |label| {
                one_line(&label, MAX_QUOTED)
            });
            files.push(ListedFile {
                uri,
                label,
                hooks: Vec::new(),
                broken: Vec::new(),
                summary: String::new(),
            });
            files.len() - 1
        }
    };
    let places: Vec<_> = hooks.iter().map(|hook| at(hook.uri.clone())).collect();
    let published = project.published();
    let errors = published
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error);
    let errors: Vec<_> = errors
        .map(|error| (at(Uri::from_file_path(&error.file)), error))
        .collect();
    for (n, place) in places.into_iter().enumerate() {
        files
            .get_mut(place)
            .into_iter()
            .for_each(|file| file.hooks.push(n));
    }
    for (place, error) in errors {
        let Some(file) = files.get_mut(place) else {
            continue;
        };
        let said = escape_markdown(&error.message);
        if let Some(known) = file.broken.iter_mut().find(|it| it.name == error.hook) {
            known.tooltip.push_str(&format!("\n- {said}"));
            continue;
        }
        let name = error.hook.as_deref().map(|hook| one_line(hook, MAX_QUOTED));
        let start = error.range.start;
        file.broken.push(ListedBroken {
            label: name
                .as_deref()
                .map_or("the file".into(), |name| both_ends(name, MAX_LABEL)),
            range: start_at(start.line, start.column),
            message: one_line(&plain_quotes(&error.message), MAX_QUOTED),
            tooltip: format!(
                "**{}** is not in force as it is written\n\n- {said}",
                escape_markdown(name.as_deref().unwrap_or("The file"))
            ),
            name: error.hook.clone(),
        });
    }
    files.sort_by(|a, b| a.label.cmp(&b.label));
    for file in &mut files {
        // In the order of the text.
        file.hooks.sort_by_key(|n| {
            hooks
                .get(*n)
                .map(|it| (it.range.start.line, it.range.start.character))
        });
        let broken = match file.broken.len() {
            0 => String::new(),
            n => format!("{n} broken"),
        };
        let hooks = if file.hooks.is_empty() {
            String::new()
        } else {
            number_of(file.hooks.len(), "hook")
        };
        file.summary = [broken, hooks]
            .into_iter()
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
            .join(", ");
    }
    files
}

/// The order in which events come in an agent's life; others come after them.
const LIFE: &str = "SessionStart UserPromptSubmit RunStart StepStart PreModelCall PostModelCall ModelCallError \
    PreToolUse PermissionRequest PermissionDenied PostToolUse PostToolUseFailure SubagentStart \
    SubagentStop PreCompact PostCompact Checkpoint Notification StepEnd Stop RunEnd RunError SessionEnd";

/// Hooks by event, in the order of an agent's life.
pub(super) fn group_by_event(hooks: &[ListedHook]) -> Vec<Group> {
    let rank = |event: &str| match event {
        "*" => 0,
        event => LIFE
            .split(' ')
            .position(|it| it == event)
            .map_or(usize::MAX, |at| at + 1),
    };
    let mut groups: BTreeMap<(usize, &str), Vec<usize>> = BTreeMap::new();
    for (n, hook) in hooks.iter().enumerate() {
        let events: BTreeSet<&str> = hook.on.iter().map(|it| &**it).collect();
        events
            .into_iter()
            .for_each(|event| groups.entry((rank(event), event)).or_default().push(n));
    }
    groups
        .into_iter()
        .map(|((_, event), mut members)| {
            let order = |n: &usize| hooks.get(*n)?.order.iter().find(|it| *it.event == *event);
            members.sort_by_key(|n| order(n).map_or(usize::MAX, |it| it.place));
            let places = members
                .iter()
                .map(|n| {
                    order(n)
                        .map(|it| format!("{} of {}", it.place, it.of))
                        .unwrap_or_default()
                })
                .collect();
            let event = if event == "*" { "every event" } else { event };
            Group {
                event: event.into(),
                summary: number_of(members.len(), "hook"),
                places,
                hooks: members,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::past::tests::{judged, judged_by_three};
    use super::*;
    use hookwire_base::event::spec;
    use serde_json::json;

    fn hook(name: &str, on: &[&str], order: &[(&str, usize)]) -> ListedHook {
        ListedHook {
            name: name.into(),
            label: name.into(),
            description: Some("$(x)".into()),
            on: on.iter().map(|it| (*it).into()).collect(),
            handler: "command",
            layer: Layer::Project,
            uri: None,
            range: Range::default(),
            order: order
                .iter()
                .map(|(event, place)| Ordered {
                    event: (*event).into(),
                    place: *place,
                    of: 2,
                })
                .collect(),
            composition: Composition::Onion,
            fail: Fail::Closed,
            observe: false,
            enabled: true,
            dialect: NATIVE,
            counts: Counts::default(),
            tone: Tone::None,
            notes: Vec::new(),
            tooltip: String::new(),
        }
    }

    #[test]
    fn hooks_are_grouped_by_event_in_the_order_of_an_agents_life_and_of_running() {
        assert!(LIFE.split(' ').all(|event| spec(event).is_some()));
        let hooks = [
            hook("custom", &["custom:Deploy"], &[]),
            hook(
                "last",
                &["Stop", "PreToolUse"],
                &[("PreToolUse", 2), ("Stop", 1)],
            ),
            hook("first", &["PreToolUse"], &[("PreToolUse", 1)]),
            hook("always", &["*"], &[("PreToolUse", 3)]),
        ];
        let group = |event: &str, hooks: &[usize], places: &[&str]| Group {
            event: event.into(),
            hooks: hooks.into(),
            places: places.iter().map(|place| place.to_string()).collect(),
            summary: number_of(hooks.len(), "hook"),
        };
        let expected = [
            group("every event", &[3], &[""]),
            group("PreToolUse", &[2, 1], &["1 of 2", "2 of 2"]),
            group("Stop", &[1], &["1 of 2"]),
            group("custom:Deploy", &[0], &[""]),
        ];
        assert_eq!(group_by_event(&hooks), expected);
    }

    #[test]
    fn a_hook_in_words() {
        let mut hook = hook("a|b", &["Stop"], &[("Stop", 1)]);
        hook.counts = Counts {
            matched: 12,
            denied: 2,
            ..Counts::default()
        };
        assert_eq!(hook.in_words(), ["denied 2", "matched 12", "command"]);
        let text = hook.in_markdown();
        assert!(
            text.starts_with(
                "**a\\|b**\n\n\\$\\(x\\)\n\n| | |\n|---|---|\n| handler | command |\n"
            ),
            "{text}"
        );
        assert!(
            text.ends_with("| composition | onion |\n| so far | denied 2 · matched 12 |"),
            "{text}"
        );
        hook.enabled = false;
        assert_eq!(
            hook.in_words(),
            ["off", "denied 2", "matched 12", "command"]
        );
        assert!(hook.in_markdown().contains("| runs | never: it is off |"));
    }

    #[test]
    fn what_agents_say_is_never_markdown() {
        let event = json!({ "event": "PreToolUse", "tool": { "name": "x", "input": { "command": "a ``` b" } } });
        let outcomes =
            json!([{ "hook": "h", "status": "blocking", "decision": "deny", "durationMicros": 1 }]);
        let mut judged = judged(1, event, outcomes);
        Arc::get_mut(&mut judged).unwrap().verdict.reason = Some("[x](command:evil) <b>".into());
        let text = listed_event(&judged, false).tooltip;
        assert!(text.contains("\\[x\\]\\(command:evil\\) \\<b\\>"), "{text}");
    }

    #[test]
    fn an_event_is_listed_in_short() {
        let judged = judged_by_three();
        let told = serde_json::to_value(listed_event(&judged, false)).unwrap();
        assert_eq!(
            told,
            json!({
                "host": 1, "seq": 7, "at": "2030-01-02T03:04:05.678Z", "event": "PreToolUse", "tool": "Bash",
                "subject": "Bash git push\\u{202e}", "decision": "deny", "decidedBy": "b", "micros": 43,
                "seconds": 1_893_553_445, "tone": "deny", "label": "deny, 1 failed  PreToolUse  Bash  git push\\u{202e}",
                "tooltip": "**deny** by b\n\n```\nBash git push\\u{202e}\n```\n\nPreToolUse #7 of host 1, 2030\\-01\\-02T03:04:05\\.678Z, judged in 43 µs",
                "outcomes": [
                    { "hook": "a", "status": "skipped", "durationMicros": 1, "tone": "none", "summary": "skipped · 1 µs" },
                    { "hook": "b", "status": "blocking", "decision": "deny", "reason": "no never", "durationMicros": 41, "tone": "deny", "summary": "deny · no never · 41 µs" },
                    { "hook": "c", "status": "non_blocking_error", "error": "failed to run", "durationMicros": 1, "tone": "error", "summary": "failed · failed to run · 1 µs" },
                ],
            })
        );
    }
}
