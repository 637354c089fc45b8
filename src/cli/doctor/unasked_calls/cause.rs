//! Why nobody was asked about a call, as far as that can be seen afterwards.

use super::super::super::install::{Entry, InstallArgs};
use super::super::super::kept::Kept as KeptEntry;
use super::super::standing::switched_off;
use crate::transcripts::{Call, Fate};
use hookwire_base::support::amounts::rfc3339;
use hookwire_engine::ledger::{Kept, millis};
use hookwire_rules::agents::Agent;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long before its answer a call may have been written down: no event takes longer.
const BEFORE: u64 = 60_000;
/// How long after a gap a call of it may be written down.
const BEHIND: u64 = 2_000;

/// The likely cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// It failed or has no end, and nobody can tell whether it ran.
    Unclear,
    /// The ledger lacks calls of that time.
    Gap,
    /// The ledger begins later, and the agent may have asked.
    BeforeLedger,
    /// The agent isn't told to ask.
    NoEntry,
    /// It was told later.
    BeforeInstall(SystemTime),
    /// What tells it was changed later.
    EntryChanged(PathBuf, SystemTime),
    /// A setting switches its hooks off.
    SwitchedOff(String),
    /// The agent asks nobody about what its sub-agents do.
    Subagent,
    /// It was started where it has no entry.
    OtherDirectory(String),
    /// An entry is there.
    Unknown(&'static [String]),
}

impl Cause {
    /// Whether the call ran and nobody was asked.
    pub(super) fn counts(&self) -> bool {
        !matches!(self, Cause::Unclear | Cause::Gap | Cause::BeforeLedger)
    }

    /// The cause in JSON.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Cause::Unclear => "not-known-to-run",
            Cause::Gap => "gap",
            Cause::BeforeLedger => "before-ledger",
            Cause::NoEntry => "no-entry",
            Cause::BeforeInstall(_) => "before-install",
            Cause::EntryChanged(..) => "entry-changed",
            Cause::SwitchedOff(_) => "switched-off",
            Cause::Subagent => "sub-agent",
            Cause::OtherDirectory(_) => "other-directory",
            Cause::Unknown(_) => "unknown",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Unclear => f.write_str("it failed or has no end, and may not have begun"),
            Cause::Gap => f.write_str("the ledger has a gap there"),
            Cause::BeforeLedger => f.write_str("the ledger had not begun"),
            Cause::NoEntry => f.write_str("the agent has no entry that asks hookwire"),
            Cause::BeforeInstall(at) => {
                write!(f, "before hookwire was installed, at {}", rfc3339(*at))
            }
            Cause::EntryChanged(path, at) => {
                let (path, at) = (path.display(), rfc3339(*at));
                write!(f, "its entry was changed afterwards: {path}, at {at}")
            }
            Cause::SwitchedOff(problem) => f.write_str(problem),
            Cause::Subagent => {
                f.write_str("a sub-agent has made it, and this agent asks nobody about those")
            }
            Cause::OtherDirectory(cwd) => {
                write!(f, "it was started in another directory: {cwd}")
            }
            Cause::Unknown([]) => f.write_str("an entry is there, and was not run"),
            Cause::Unknown(ways) => {
                let ways = ways.join("`, `");
                write!(
                    f,
                    "an entry is there, and was not run: it may have been started as `{ways}`"
                )
            }
        }
    }
}

/// What is there of an agent's entries now.
pub(super) struct Circumstances {
    agent: &'static Agent,
    root: PathBuf,
    entries: Vec<EntryFile>,
    switched_off: Option<String>,
}

struct EntryFile {
    path: PathBuf,
    /// When it was written last.
    written: Option<SystemTime>,
    /// Since when hookwire knows of an entry there.
    known: Option<SystemTime>,
    is_of_project: bool,
}

impl Circumstances {
    pub(super) fn new(agent: &'static Agent, root: &Path) -> Circumstances {
        let places = InstallArgs::for_each_place(agent, root);
        let entries: Vec<EntryFile> = places
            .iter()
            .filter(|place| matches!(place.entry(), Some(Entry::Asks { .. })))
            .filter_map(|place| EntryFile::new(place.path().ok()?, root))
            .collect();
        Circumstances {
            agent,
            root: root.canonicalize().unwrap_or_else(|_| root.to_path_buf()),
            entries,
            switched_off: switched_off(agent, &places).into_iter().next(),
        }
    }

    /// Why the ledger lacks a call.
    pub(super) fn cause_of(&self, call: &Call, ledger: &Kept) -> Cause {
        if call.fate != Fate::Ran {
            return Cause::Unclear;
        }
        let is_in_gap = ledger.gaps.iter().any(|gap| {
            gap.from.saturating_sub(BEFORE) <= call.at
                && call.at <= gap.until.saturating_add(BEHIND)
        });
        if is_in_gap {
            return Cause::Gap;
        }
        let is_before = |time: Option<SystemTime>| time.is_some_and(|it| call.at < millis(it));
        let is_before_ledger = ledger.begun.is_none_or(|begun| call.at < begun);
        let may_have_asked = self
            .entries
            .iter()
            .any(|entry| !is_before(entry.known.or(entry.written)));
        if is_before_ledger && may_have_asked {
            return Cause::BeforeLedger;
        }
        let Some(newest) = self.entries.iter().max_by_key(|entry| entry.written) else {
            return Cause::NoEntry;
        };
        if let Some(written) = newest.written.filter(|written| is_before(Some(*written))) {
            return match may_have_asked || self.had_asked(call.at, ledger) {
                true => Cause::EntryChanged(newest.path.clone(), written),
                false => Cause::BeforeInstall(written),
            };
        }
        if let Some(problem) = &self.switched_off {
            return Cause::SwitchedOff(problem.clone());
        }
        if call.is_of_subagent && self.agent.silent_subagents {
            return Cause::Subagent;
        }
        let is_elsewhere = call.cwd.as_deref().is_none_or(|cwd| {
            let cwd = Path::new(cwd);
            *cwd != *self.root && cwd.canonicalize().is_ok_and(|cwd| cwd != self.root)
        });
        match call.cwd.clone().filter(|_| is_elsewhere) {
            Some(cwd) if self.entries.iter().all(|entry| entry.is_of_project) => {
                Cause::OtherDirectory(cwd)
            }
            _ => Cause::Unknown(&self.agent.without_hooks),
        }
    }

    /// Whether the agent has asked before a time.
    fn had_asked(&self, at: u64, ledger: &Kept) -> bool {
        ledger
            .records
            .iter()
            .any(|record| record.agent == self.agent.name && record.at < at)
    }
}

impl EntryFile {
    fn new(path: PathBuf, root: &Path) -> Option<EntryFile> {
        let written = std::fs::metadata(&path).and_then(|it| it.modified()).ok();
        let known = KeptEntry::of_file(&path).and_then(|kept| kept.known_since());
        // A clock's grain may put the second of two writes before the first.
        let known = known.map(|known| known + Duration::from_millis(10));
        Some(EntryFile {
            is_of_project: path.starts_with(root),
            path,
            written,
            known,
        })
    }
}
