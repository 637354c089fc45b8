//! Which calls of a transcript the ledger has.

use super::cause::{Cause, Circumstances};
use super::judged::{Judged, NotJudged};
use crate::transcripts::{self, Call, Fate};
use hookwire_base::support::amounts::number_of;
use hookwire_engine::ledger::{self, Kept, Record, Short, millis};
use hookwire_rules::agents::Agent;
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// A call is answered so long after it began, at most, or so long before it is written down.
const AROUND: Duration = Duration::from_secs(60 * 60);
/// A call that began this shortly before may still wait for its answer.
const WAITING: u64 = 120_000;
/// So long after an answer it is in the ledger.
const SETTLES: Duration = Duration::from_secs(2);

/// An agent's calls, compared with the ledger.
pub(super) struct Compared {
    pub(super) agent: &'static Agent,
    pub(super) n_files: usize,
    pub(super) n_asked: usize,
    /// How many have no time that can be read.
    pub(super) n_undated: usize,
    /// Those that the ledger lacks, the first ones first.
    pub(super) missed: Vec<Missed>,
    /// What couldn't be read, for people.
    pub(super) problems: Vec<String>,
}

/// A call that the ledger lacks.
pub(super) struct Missed {
    pub(super) call: Call,
    pub(super) cause: Cause,
    /// The call in short, without secrets.
    pub(super) act: String,
    /// What the hooks say, or why they weren't asked.
    pub(super) judged: Result<Judged, NotJudged>,
}

fn is_just_made(call: &Call) -> bool {
    let now = millis(SystemTime::now());
    call.at <= now && Duration::from_millis(now - call.at) < SETTLES
}

impl Missed {
    /// Whether it is known that it ran and nobody was asked.
    pub(super) fn counts(&self) -> bool {
        self.cause.counts()
    }

    /// Whether the hooks are known to allow it.
    pub(super) fn is_allowed(&self) -> bool {
        self.judged.as_ref().is_ok_and(Judged::is_allowed)
    }

    pub(super) fn is_denied(&self) -> bool {
        self.judged.as_ref().is_ok_and(Judged::is_denied)
    }
}

impl Compared {
    /// Compares the calls that an agent has made in a project since a time.
    pub(super) fn new(
        agent: &'static Agent,
        root: &Path,
        since: SystemTime,
        patience: Duration,
    ) -> Compared {
        let found = transcripts::read(agent, root, since, patience);
        let around = since.checked_sub(AROUND).unwrap_or(since);
        let mut own = ledger::project(root, around);
        let is_asked_about =
            |call: &Call| call.fate != Fate::NeverRan && !agent.silent_tools.contains(&call.tool);
        let calls: Vec<Call> = found.calls.into_iter().filter(is_asked_about).collect();
        let n_calls = calls.len();
        let mut rest = unmatched(calls.clone(), &own.records);
        // A host answers first and writes then.
        let began = Instant::now();
        while rest.iter().any(is_just_made) && began.elapsed() < SETTLES {
            std::thread::sleep(Duration::from_millis(20));
            own = ledger::project(root, around);
            rest = unmatched(calls.clone(), &own.records);
        }
        let mut all = own;
        if !rest.is_empty() {
            // A host elsewhere may have been asked: one of a directory around, or that is named.
            let others = ledger::others(root, around);
            rest = unmatched(rest, &others.records);
            all.begun = all.begun.into_iter().chain(others.begun).min();
        }
        let n_asked = n_calls - rest.len();
        let now = millis(SystemTime::now());
        let circumstances = (!rest.is_empty()).then(|| Circumstances::new(agent, root));
        let missed = rest
            .into_iter()
            .filter(|call| call.fate == Fate::Ran || call.at.saturating_add(WAITING) < now)
            .filter_map(|call| {
                let cause = circumstances.as_ref()?.cause_of(&call, &all);
                Some(Missed {
                    act: String::new(),
                    judged: Err(NotJudged::NoTime),
                    cause,
                    call,
                })
            })
            .collect();
        Compared {
            agent,
            n_files: found.n_files,
            n_asked,
            n_undated: found.n_undated,
            missed,
            problems: problems_of(found.problems, found.n_undated, &all),
        }
    }

    /// Whether there was nothing to compare.
    pub(super) fn is_empty(&self) -> bool {
        self.n_files == 0 || self.n_asked == 0 && self.missed.is_empty() && self.problems.is_empty()
    }

    /// The calls that ran and that nobody was asked about.
    pub(super) fn unasked(&self) -> impl Iterator<Item = &Missed> {
        self.missed.iter().filter(|missed| missed.counts())
    }
}

fn problems_of(found: Vec<String>, n_undated: usize, kept: &Kept) -> Vec<String> {
    let undated = (n_undated > 0).then(|| {
        let have = if n_undated == 1 { "has" } else { "have" };
        format!(
            "{} {have} no time that can be read, so nobody knows whether somebody was asked",
            number_of(n_undated, "call")
        )
    });
    let ledger = kept.problems.iter().map(|it| format!("the ledger: {it}"));
    let n_lost: u64 = kept.gaps.iter().filter_map(|gap| gap.calls).sum();
    let lost = usize::try_from(n_lost).unwrap_or(usize::MAX);
    let lost = (lost > 0).then(|| {
        format!(
            "the ledger lacks {} that came too fast or couldn't be judged or written",
            number_of(lost, "call")
        )
    });
    found
        .into_iter()
        .chain(undated)
        .chain(ledger)
        .chain(lost)
        .collect()
}

/// A call as records have it.
struct Digests {
    sessions: Vec<Short>,
    id: Option<Short>,
    call: Short,
}

impl Digests {
    fn new(call: &Call) -> Digests {
        let sessions = call.copied_to.iter().chain([&call.session]);
        Digests {
            sessions: sessions.map(|session| Short::of_text(session)).collect(),
            id: call.id.as_deref().map(Short::of_text),
            call: Short::of_call(&call.tool, Some(&call.input)),
        }
    }

    fn is_same(&self, record: &Record) -> bool {
        record.call == self.call || record.rewritten == Some(self.call)
    }

    fn has_id(&self, record: &Record) -> bool {
        record.id.is_some() && record.id == self.id
    }
}

/// How a record is known to be a call's, the surest way first. Some models give every call the same
/// id, and some agents make up an id for the hook.
const WAYS: [fn(&Digests, &Record) -> bool; 3] = [
    |call, record| call.is_same(record) && call.has_id(record),
    Digests::is_same,
    Digests::has_id,
];

/// The calls that the records lack. A record is of one call.
fn unmatched(calls: Vec<Call>, records: &[Record]) -> Vec<Call> {
    let mut free: HashMap<Short, Vec<&Record>> = HashMap::new();
    for record in records {
        free.entry(record.session).or_default().push(record);
    }
    let mut rest: Vec<(Digests, Call)> = calls
        .into_iter()
        .map(|call| (Digests::new(&call), call))
        .collect();
    for is_of in WAYS {
        rest.retain(|(call, _)| {
            let is_found = call.sessions.iter().any(|session| {
                let records = free.get_mut(session);
                let at = records
                    .as_ref()
                    .and_then(|records| records.iter().position(|record| is_of(call, record)));
                records
                    .zip(at)
                    .map(|(records, at)| records.remove(at))
                    .is_some()
            });
            !is_found
        });
    }
    rest.into_iter().map(|(_, call)| call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn call(id: &str, command: &str) -> Call {
        Call {
            at: 1,
            session: "s".into(),
            copied_to: Vec::new(),
            id: Some(id.into()).filter(|id: &String| !id.is_empty()),
            tool: "Bash".into(),
            input: input(command),
            cwd: None,
            fate: Fate::Ran,
            is_of_subagent: false,
        }
    }

    fn input(command: &str) -> Value {
        json!({ "command": command })
    }

    fn record(id: &str, command: &str, rewritten: &str) -> Record {
        let digest = |command: &str| Short::of_call("Bash", Some(&input(command)));
        Record {
            at: 2,
            agent: "claude-code".into(),
            session: Short::of_text("s"),
            id: Some(Short::of_text(id)).filter(|_| !id.is_empty()),
            call: digest(command),
            rewritten: Some(digest(rewritten)).filter(|_| !rewritten.is_empty()),
            decision: None,
            generation: 1,
        }
    }

    #[test]
    fn each_call_has_a_record_of_its_own() {
        for (calls, records, expected) in [
            (vec![("a", "ls")], vec![("a", "ls", "")], vec![]),
            // Codex writes down another form of the call, Qwen another id, Gemini none.
            (vec![("a", "ls")], vec![("a", "ls -l", "")], vec![]),
            (vec![("a", "ls")], vec![("b", "ls", "")], vec![]),
            (vec![("a", "ls")], vec![("", "ls", "")], vec![]),
            (vec![("", "pwd")], vec![("", "ls", "pwd")], vec![]),
            (vec![("a", "ls")], vec![("b", "pwd", "")], vec!["ls"]),
            (
                vec![("", "ls"), ("", "ls")],
                vec![("", "ls", "")],
                vec!["ls"],
            ),
            // A model that gives each call the same id.
            (
                vec![("a", "rm x"), ("a", "ls")],
                vec![("a", "ls", "")],
                vec!["rm x"],
            ),
        ] {
            let calls = calls
                .iter()
                .map(|(id, command)| call(id, command))
                .collect();
            let records: Vec<_> = records.iter().map(|(a, b, c)| record(a, b, c)).collect();
            let rest: Vec<_> = unmatched(calls, &records)
                .into_iter()
                .map(|call| call.input["command"].as_str().unwrap().to_string())
                .collect();
            assert_eq!(rest, expected);
        }
    }
}
