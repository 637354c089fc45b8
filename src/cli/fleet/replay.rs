//! `hookwire fleet publish --dry-run --replay 7d`: what the fleet has judged, judged again by a
//! bundle that isn't published yet.
//!
//! A recorded verdict is of all layers of its host, and a bundle is one of them. So an event is
//! judged twice here, by what is published and by the new bundle. Only where these two differ can
//! the agent have met something else.

use super::super::output::{Output, Tone, safe};
use super::super::rows::{About, event_summary, print_head, print_row};
use super::super::{Failure, Finding};
use super::verdicts::{read_stored, start_reader};
use hookwire_base::support::amounts::number_of;
use hookwire_base::verdict::{Decision, Verdict};
use hookwire_dialects::native;
use hookwire_dialects::recorded::Recorded;
use hookwire_engine::definitions::signed::Signed;
use hookwire_engine::engine::NOT_RUN;
use hookwire_engine::fleet::definitions::signed;
use hookwire_engine::host::{Host, HostOptions, LastGood, Projects, Purpose};
use hookwire_fleet::bundle::Files;
use hookwire_fleet::publish::{Channel, files_of};
use hookwire_fleet::server::Server;
use lru::LruCache;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How many projects have hosts of their own here at a time: rules may name files below a project's
/// root.
const MAX_PROJECTS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(31);
/// How many kinds of changes are told apart.
const MAX_KINDS: usize = 100;
/// Verdicts that are stored later than this after the start aren't waited for: on a busy fleet
/// there is always one more.
const SLACK: Duration = Duration::from_secs(60);
/// What stands in a record in the place of a secret.
const REDACTED: &str = "[redacted]";

/// Prints what a bundle would change about the verdicts that the servers have stored for so long.
pub(super) async fn compare_verdicts(
    server: &Server,
    seen: &Channel,
    bundle: (&Files, &Path),
    since: Duration,
    out: &mut Output,
) -> Result<Finding, Failure> {
    let published = seen
        .all
        .published
        .as_ref()
        .map(|published| &published.manifest);
    let before = match published {
        Some(manifest) => Some(files_of(server, manifest).await?),
        None => None,
    };
    // Scripts of what is published are there to be looked at, and nowhere else.
    let place = super::super::scratch::scratch_dir("fleet")?;
    if let Some(files) = &before {
        files
            .write_below(place.path())
            .map_err(|error| Failure(error.to_string()))?;
    }
    let after = signed(bundle.0, &std::path::absolute(bundle.1)?);
    let mut sides = Sides::new(before.map(|files| signed(&files, place.path())), after);
    let (now, mut found) = (SystemTime::now(), Found::default());
    let begin = now.checked_sub(since).unwrap_or(SystemTime::UNIX_EPOCH);
    let end = (now + SLACK)
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_millis();
    let mut reader = start_reader(server, None, Some(begin)).await?;
    while let Some(stored) = reader.next_stored().await {
        if out.is_gone()
            || stored
                .as_ref()
                .is_ok_and(|stored| u128::from(stored.at) > end)
        {
            break;
        }
        match read_stored(stored)? {
            Some(record) => found.judge_record(record, &mut sides).await,
            None => found.left_out.other += 1,
        }
    }
    let against = published.map_or("nothing".into(), |published| {
        format!("revision {}", published.revision)
    });
    found.print_found(&against, since, out);
    Ok(if found.n_changed > 0 {
        Finding::Found
    } else {
        Finding::Fine
    })
}

/// The hosts that judge again: by what is published, if anything is, and by the new bundle.
struct Sides {
    before: Option<Signed>,
    after: Signed,
    of_projects: LruCache<String, [Arc<Host>; 2]>,
}

impl Sides {
    fn new(before: Option<Signed>, after: Signed) -> Sides {
        Sides {
            before,
            after,
            of_projects: LruCache::new(MAX_PROJECTS),
        }
    }

    fn of_project(&mut self, root: &str) -> [Arc<Host>; 2] {
        let host = |fleet: Option<Signed>| {
            Host::new(HostOptions {
                root: root.into(),
                projects: Projects::None,
                system: false,
                last_good: LastGood::Ignored,
                purpose: Purpose::Rejudge,
                fleet,
                ..HostOptions::default()
            })
        };
        self.of_projects
            .get_or_insert(root.to_string(), || {
                [host(self.before.clone()), host(Some(self.after.clone()))]
            })
            .clone()
    }
}

/// What was found so far. Its size doesn't grow with the number of verdicts.
#[derive(Default)]
struct Found {
    n_judged: usize,
    n_changed: usize,
    before: BTreeMap<Decision, usize>,
    after: BTreeMap<Decision, usize>,
    kinds: BTreeMap<Kind, Changed>,
    /// Changes of further kinds.
    n_others: usize,
    left_out: LeftOut,
    /// Hooks that weren't run, and at how many events.
    not_run: BTreeMap<Arc<str>, usize>,
}

/// Records that can't be judged again.
#[derive(Default)]
struct LeftOut {
    /// What was sent is not in them, because it was too long.
    truncated: usize,
    /// A rule may have been about the secret.
    redacted: usize,
    /// Remarks, and what can't be read.
    other: usize,
}

/// Changes that are told together: the decision as it was and would be, and the hooks that make the
/// difference.
type Kind = (Decision, Decision, Option<Arc<str>>, Option<Arc<str>>);

/// The changes of a kind, with one of them as an example.
struct Changed {
    n: usize,
    event: Arc<str>,
    subject: String,
    micros: u128,
    was: Verdict,
    would_be: Verdict,
    of: Value,
}

impl Found {
    async fn judge_record(&mut self, mut record: Value, sides: &mut Sides) {
        if record.get("verdict").is_none() {
            self.left_out.other += 1;
            return;
        }
        if record["truncated"] == true {
            self.left_out.truncated += 1;
            return;
        }
        if has_redacted(&record["params"]) {
            self.left_out.redacted += 1;
            return;
        }
        let of = record["of"].take();
        let [before, after] = sides.of_project(of["project"].as_str().unwrap_or_default());
        let Ok(Recorded {
            event,
            dialect,
            verdict: Some(was),
        }) = Recorded::from_value(record, native())
        else {
            self.left_out.other += 1;
            return;
        };
        let (by_old, _) = before.judge_as(dialect, &event).await;
        let (by_new, took) = after.judge_as(dialect, &event).await;
        self.n_judged += 1;
        for outcome in by_new
            .outcomes
            .iter()
            .filter(|outcome| outcome.reason.as_deref() == Some(NOT_RUN))
        {
            *self.not_run.entry(outcome.hook.clone()).or_default() += 1;
        }
        let decision = decision_then(&was, &by_old, &by_new);
        *self.before.entry(was.decision).or_default() += 1;
        *self.after.entry(decision).or_default() += 1;
        let is_rewrite = by_old.decision == by_new.decision
            && by_old.differs(&by_new)
            && decision != Decision::Deny;
        if decision == was.decision && !is_rewrite {
            return;
        }
        self.n_changed += 1;
        let kind = (
            was.decision,
            decision,
            by_old.decided_by.clone(),
            by_new.decided_by.clone(),
        );
        if let Some(known) = self.kinds.get_mut(&kind) {
            known.n += 1;
        } else if self.kinds.len() < MAX_KINDS {
            let (event, subject, micros) =
                (event.name.clone(), event_summary(&event), took.as_micros());
            let would_be = Verdict { decision, ..by_new };
            self.kinds.insert(
                kind,
                Changed {
                    n: 1,
                    event,
                    subject,
                    micros,
                    was,
                    would_be,
                    of,
                },
            );
        } else {
            self.n_others += 1;
        }
    }

    fn print_found(&self, against: &str, since: Duration, out: &mut Output) {
        let mut kinds: Vec<&Changed> = self.kinds.values().collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.n));
        let LeftOut {
            truncated,
            redacted,
            other,
        } = self.left_out;
        if out.json {
            for Changed {
                n,
                event,
                subject,
                was,
                would_be,
                of,
                ..
            } in kinds
            {
                out.json(&json!({ "count": n, "event": event, "subject": subject, "before": was, "verdict": would_be,
                    "of": of }));
            }
            let counts = |counts: &BTreeMap<Decision, usize>| {
                counts
                    .iter()
                    .map(|(count, n)| (count.as_str().to_string(), json!(n)))
                    .collect::<serde_json::Map<_, _>>()
            };
            out.json(&json!({ "judged": self.n_judged, "changed": self.n_changed, "before": counts(&self.before),
                "after": counts(&self.after), "notShown": self.n_others, "notRun": self.not_run,
                "leftOut": { "truncated": truncated, "redacted": redacted, "other": other } }));
            return;
        }
        let span = humantime::format_duration(since);
        if self.n_judged == 0 {
            out.line(&format!(
                "the fleet's stream has no verdict of the last {span} that can be judged again"
            ));
        } else {
            out.line(&format!(
                "{} of the last {span}, judged again; what is published is {against}",
                number_of(self.n_judged, "verdict")
            ));
        }
        if !kinds.is_empty() {
            print_head(out, "n");
        }
        for Changed {
            n,
            event,
            subject,
            micros,
            was,
            would_be,
            ..
        } in kinds
        {
            print_row(
                out,
                *n,
                About { event, subject },
                would_be,
                *micros,
                Some(was),
            );
        }
        if self.n_others > 0 {
            out.line(&format!(
                "and {} more that are changed otherwise",
                self.n_others
            ));
        }
        if self.n_judged > 0 {
            let summary = match self.n_changed {
                0 => "nothing would change".to_string(),
                n => format!(
                    "{n} of {} would be judged otherwise: {}",
                    self.n_judged,
                    self.decisions()
                ),
            };
            let summary = out.tone(
                if self.n_changed > 0 {
                    Tone::Warn
                } else {
                    Tone::Good
                },
                &summary,
            );
            out.line(&summary);
        }
        self.tell_left_out(out);
    }

    /// The decisions that were and would be, such as `allow 40 → 38, deny 2 → 4`.
    fn decisions(&self) -> String {
        let n_of =
            |counts: &BTreeMap<Decision, usize>, it| counts.get(&it).copied().unwrap_or_default();
        let all = [
            Decision::Allow,
            Decision::Ask,
            Decision::Defer,
            Decision::Deny,
        ];
        let counts = all.map(|it| (it, n_of(&self.before, it), n_of(&self.after, it)));
        let counts = counts
            .into_iter()
            .filter(|(_, before, after)| before + after > 0);
        let words =
            counts.map(|(count, before, after)| format!("{} {before} → {after}", count.as_str()));
        words.collect::<Vec<_>>().join(", ")
    }

    fn tell_left_out(&self, out: &mut Output) {
        let LeftOut {
            truncated,
            redacted,
            other,
        } = self.left_out;
        let kinds = [
            (truncated, "without what was sent, which was too long"),
            (
                redacted,
                "with a secret replaced, which a rule may be about",
            ),
            (other, "of another kind than a verdict"),
        ];
        for (n, why) in kinds.into_iter().filter(|(n, _)| *n > 0) {
            let line = format!("not judged again: {n} {why}");
            out.line(&out.tone(Tone::Dim, &line));
        }
        for (hook, n) in &self.not_run {
            let line = format!(
                "{} was not run, because it starts something or counts: {}",
                safe(hook),
                number_of(*n, "event")
            );
            out.line(&out.tone(Tone::Dim, &line));
        }
    }
}

/// The decision that the host would have come to by the new bundle, given what it came to and what
/// the two bundles say.
fn decision_then(was: &Verdict, by_old: &Verdict, by_new: &Verdict) -> Decision {
    if by_old.decision == by_new.decision {
        return was.decision;
    }
    // A decision that is stronger than the bundle's came from another layer, and stands beside the
    // new bundle.
    if was.decision > by_old.decision {
        was.decision.max(by_new.decision)
    } else {
        by_new.decision
    }
}

/// Whether a secret was replaced in what was sent.
fn has_redacted(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(REDACTED),
        Value::Array(items) => items.iter().any(has_redacted),
        Value::Object(members) => members
            .iter()
            .any(|(name, member)| name.contains(REDACTED) || has_redacted(member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
