//! The ledger: that an agent asked before a call of a tool, and what it was told. A call in an
//! agent's transcript that isn't in it was never asked about.
//!
//! `<data>/ledger/` has a directory for each project, and in it a file for each process that
//! answers. A line holds digests and never what a call says. Each line also holds a digest of the
//! line before, so that one that was changed or taken out leaves a mark. Verdicts wait for nothing
//! here: a thread writes, and what it can't write is a gap, with its time.

mod read;
mod unasked;
mod write;

pub use read::{Kept, others, project};
pub use unasked::{LastDay, UnaskedCalls};
pub use write::{Answered, Ledger, append};

use hookwire_base::support::file::read_small;
use hookwire_base::support::{digest, places};
use hookwire_base::verdict::Decision;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long a record is kept.
pub const KEPT: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// The bytes that are kept of a project.
const MAX_BYTES: u64 = 32 << 20;
/// The bytes of one file, from which on the next one begins.
const MAX_SEGMENT: u64 = 4 << 20;
/// The projects of which something is kept.
const MAX_PROJECTS: usize = 256;
/// What the name of a file ends in, and that of one that lacks what came behind its last line.
const WHOLE: &str = "jsonl";
const TORN: &str = "torn";
/// What the name of a file ends in that processes share, each for the one call that it answers.
const SHARED: &str = "-hooks.jsonl";

/// A digest, cut to what tells some thousand calls apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Short(u64);

impl Short {
    /// The digest of a text.
    pub fn of_text(text: &str) -> Short {
        Short::cut(digest::of_texts(&[text]))
    }

    /// The digest of a call: the tool and what it is given, whatever the order of its members.
    pub fn of_call(tool: &str, input: Option<&Value>) -> Short {
        let input = input.map(digest::of_value).unwrap_or_default();
        Short::cut(digest::of_texts(&[tool, &input]))
    }

    fn cut(digest: [u8; 32]) -> Short {
        let [a, b, c, d, e, f, g, h, ..] = digest;
        Short(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Short {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Short, D::Error> {
        let digits = std::borrow::Cow::<'de, str>::deserialize(from)?;
        u64::from_str_radix(&digits, 16)
            .map(Short)
            .map_err(serde::de::Error::custom)
    }
}

/// An answered call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// When it was answered, in milliseconds since 1970.
    #[serde(rename = "t")]
    pub at: u64,
    /// The agent, by its name.
    #[serde(rename = "a")]
    pub agent: String,
    /// The session, as the agent names it.
    #[serde(rename = "s")]
    pub session: Short,
    /// The call's id, if the agent gave one.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Short>,
    /// The call as it was asked about.
    #[serde(rename = "d")]
    pub call: Short,
    /// The call as hooks have rewritten it.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<Short>,
    /// What the agent was told; nothing where a host elsewhere has said it.
    #[serde(rename = "v", default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The generation of the definitions.
    #[serde(rename = "g")]
    pub generation: u64,
}

/// A time in which calls may have been answered that the ledger lacks, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// Its begin.
    pub from: u64,
    /// Its end.
    pub until: u64,
    /// How many calls are missing, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
}

/// The begin of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Begin {
    at: u64,
    root: String,
    pid: u32,
    /// Which start of the machine, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<Short>,
}

/// A line of a file. Flat, because a tagged form reads no number with all its digits.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Line {
    /// The digest of the line before.
    #[serde(rename = "p", skip_serializing_if = "Option::is_none")]
    before: Option<Short>,
    #[serde(skip_serializing_if = "Option::is_none")]
    begin: Option<Begin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<Gap>,
    /// When the process ended in good order, or began another file.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<u64>,
}

/// A time in milliseconds since 1970.
pub fn millis(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map(hookwire_base::support::amounts::millis)
        .unwrap_or_default()
}

/// Tells the starts of the machine apart, where the kernel does.
fn boot_id() -> Option<Short> {
    let id = read_small(Path::new("/proc/sys/kernel/random/boot_id"), 64).ok()?;
    Some(Short::of_text(&String::from_utf8_lossy(&id)))
}

/// The ledger of a project in a directory of what is kept for the user.
fn dir_of(data: &Path, root: &Path) -> PathBuf {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let name = digest::of_bytes(root.as_os_str().as_encoded_bytes());
    data.join("ledger").join(&name[..32])
}

/// Where the ledger of a project is written; nothing without a place for what is kept.
fn written_dir(root: &Path) -> Option<PathBuf> {
    Some(dir_of(&places::data()?, root))
}

#[cfg(test)]
mod tests;
