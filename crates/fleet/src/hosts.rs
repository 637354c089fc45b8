//! What hosts say of themselves: which bundle is in force, which one they refuse and why, whether
//! it is stale.
//!
//! A report is a claim of the account that its subject names. A host may lie about itself, never
//! about another.

use crate::digest::Sha256;
use crate::name::{Identity, Name};
use crate::rates::Judged;
use crate::server::{PATIENCE, Server, ServerError};
use crate::streams::{self, HOST_AGE};
use async_nats::HeaderMap;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often a host reports when nothing happens.
pub const EVERY: Duration = Duration::from_secs(30);
/// The most characters of a text in a report, and how many mistakes it lists.
const MAX_TEXT: usize = 500;
const MAX_ERRORS: usize = 8;
const MAX_READS: usize = 64;
/// For how many bundles a report has counts.
const MAX_JUDGED: usize = 8;
/// Agents of which a report says what nobody was asked about.
const MAX_AGENTS: usize = 16;
/// How long a host is listed that has ended, in seconds.
const ENDED_FOR: u64 = 24 * 60 * 60;
/// The header by which the server lets a message go after so long.
pub(crate) const TTL: &str = "Nats-TTL";
/// The most hosts that are listed.
const MAX_HOSTS: usize = 100_000;

/// What a host says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// The version of hookwire.
    pub version: String,
    /// What it reads in definitions that older ones didn't: `where`.
    pub reads: Vec<String>,
    /// The channel that it follows.
    pub channel: Option<Name>,
    /// The bundle that is in force.
    pub in_force: Option<InForce>,
    /// The newest bundle that was refused, while it is newer than the one in force.
    pub refused: Option<Refused>,
    /// Since when the bundle in force has expired, in seconds since 1970.
    pub stale_since: Option<u64>,
    /// The generation of the host's hook set, and the hash of all its definitions.
    pub generation: u64,
    /// See `generation`.
    pub hash: String,
    /// Mistakes in definitions of the bundle.
    pub errors: Vec<String>,
    /// What became of the events that it has judged by the last bundles.
    pub judged: Vec<Judged>,
    /// How many of its verdicts aren't in the stream and never will be, since it started.
    pub lost: u64,
    /// What nobody was asked about in the last day, by agents.
    pub unasked: Vec<Unasked>,
    /// It has ended as it should: nobody has to look for it.
    pub ended: bool,
}

/// Calls of an agent that nobody was asked about, where the host's project is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unasked {
    /// The agent, by its name.
    pub agent: String,
    /// How many calls.
    pub calls: u64,
    /// How many of them the host's hooks would deny.
    pub would_be_denied: u64,
}

/// A bundle in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InForce {
    /// Its revision.
    pub revision: u64,
    /// Of what was signed.
    pub digest: Sha256,
    /// Of its files: the same files under another revision have the same.
    pub content: Sha256,
    /// It is in force on a part of the hosts.
    pub canary: bool,
    /// When it expires, in seconds since 1970.
    pub expires: u64,
}

/// A bundle that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refused {
    /// Its revision, if enough of it was believed to know that.
    pub revision: Option<u64>,
    /// Of the bytes that came: the manifest with its signatures.
    pub digest: Sha256,
    /// Why, for people.
    pub reason: String,
}

impl Report {
    /// With texts that fit, and without characters that a terminal obeys.
    fn bounded(mut self) -> Report {
        let short = |text: &str| {
            text.chars()
                .filter(|character| !character.is_control())
                .take(MAX_TEXT)
                .collect::<String>()
        };
        self.version = short(&self.version);
        self.hash = short(&self.hash);
        self.reads.truncate(MAX_READS);
        self.reads.iter_mut().for_each(|word| *word = short(word));
        self.errors.truncate(MAX_ERRORS);
        self.judged.truncate(MAX_JUDGED);
        self.unasked.truncate(MAX_AGENTS);
        self.unasked
            .iter_mut()
            .for_each(|unasked| unasked.agent = short(&unasked.agent));
        self.errors
            .iter_mut()
            .for_each(|error| *error = short(error));
        if let Some(refused) = &mut self.refused {
            refused.reason = short(&refused.reason);
        }
        self
    }

    /// Reads a report as hostile input.
    fn parse(payload: &[u8]) -> Option<Report> {
        if payload.len() > streams::MAX_REPORT {
            return None;
        }
        serde_json::from_slice::<Report>(payload)
            .ok()
            .map(Report::bounded)
    }
}

/// Puts a host's report in the place of its last one.
///
/// # Errors
/// See [`ServerError`].
pub async fn put_report(
    server: &Server,
    who: &Identity,
    report: Report,
) -> Result<(), ServerError> {
    let has_ended = report.ended;
    let payload = serde_json::to_vec(&report.bounded())
        .map_err(|error| ServerError::Other(error.to_string()))?;
    let (subject, payload) = (streams::host_key(who), Bytes::from(payload));
    if has_ended {
        let mut headers = HeaderMap::new();
        headers.insert(TTL, format!("{ENDED_FOR}s"));
        if server
            .publish(&subject, headers, payload.clone(), PATIENCE)
            .await
            .is_ok()
        {
            return Ok(());
        }
        // An older version has made the stream, which lets all reports go anyway.
    }
    server
        .publish(&subject, HeaderMap::new(), payload, PATIENCE)
        .await
        .map(drop)
}

/// Whether a host is heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It has reported within [`HOST_AGE`].
    There,
    /// It has said that it ends.
    Ended,
    /// It was there, and hasn't said that it ends.
    Silent,
}

/// A host that the fleet knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    /// Who, as the server's permissions know it.
    pub who: Identity,
    /// What it says.
    pub report: Report,
    /// How long ago, by the server's clock and this machine's.
    pub ago: Duration,
}

impl Reported {
    /// Whether it is heard of.
    pub fn presence(&self) -> Presence {
        match (self.report.ended, self.ago > HOST_AGE) {
            (true, _) => Presence::Ended,
            (false, true) => Presence::Silent,
            (false, false) => Presence::There,
        }
    }

    /// Whether it judges at this moment, as far as anybody knows.
    pub fn is_there(&self) -> bool {
        self.presence() == Presence::There
    }
}

/// Takes what a host has reported out of what the fleet knows. It comes again if it reports again.
///
/// # Errors
/// See [`ServerError`]; the account may not.
pub async fn forget_host(server: &Server, who: &Identity) -> Result<(), ServerError> {
    let stream = server.stream(streams::HOSTS, PATIENCE).await?;
    let purged = stream.purge().filter(streams::host_key(who)).await;
    purged
        .map(drop)
        .map_err(|error| ServerError::Other(format!("{who} can't be taken out: {error}")))
}

/// All hosts that the fleet knows. What can't be read is left out and counted.
///
/// # Errors
/// See [`ServerError`].
pub async fn all_hosts(server: &Server) -> Result<(Vec<Reported>, usize), ServerError> {
    let (mut hosts, mut unread, mut from) = (Vec::new(), 0, 1);
    while hosts.len() + unread < MAX_HOSTS {
        let page = server
            .read_page(streams::HOSTS, streams::ALL_HOSTS, from, PATIENCE)
            .await?;
        let Some(last) = page.last() else { break };
        from = last.sequence.saturating_add(1);
        for message in &page {
            match (
                of_subject(&message.subject),
                Report::parse(&message.payload),
            ) {
                (Some(who), Some(report)) => hosts.push(Reported {
                    who,
                    report,
                    ago: time_since(message.time.unix_timestamp()),
                }),
                _ => unread += 1,
            }
        }
    }
    hosts.sort_by(|a, b| a.who.cmp(&b.who));
    Ok((hosts, unread))
}

/// A report as it was published, with who says it.
pub(crate) fn parse_report(subject: &str, payload: &[u8]) -> Option<(Identity, Report)> {
    Some((of_subject(subject)?, Report::parse(payload)?))
}

fn of_subject(subject: &str) -> Option<Identity> {
    let [host, instance] = streams::names_below("$KV.hw_hosts", subject)?
        .try_into()
        .ok()?;
    Some(Identity { host, instance })
}

fn time_since(unix: i64) -> Duration {
    let at = UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(unix).unwrap_or_default()));
    at.and_then(|at| SystemTime::now().duration_since(at).ok())
        .unwrap_or_default()
}

/// The seconds since 1970, now.
pub fn unix_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |it| it.as_secs())
}

#[cfg(test)]
mod tests {
    use super::{Report, parse_report};

    #[test]
    fn a_report_is_read_as_hostile_input() {
        let read = |subject: &str, text: &str| parse_report(subject, text.as_bytes());
        assert!(read("$KV.hw_hosts.a.b", "{}").is_some());
        for (subject, text) in [
            ("$KV.hw_hosts.a", "{}"),
            ("$KV.hw_hosts.a.b.c", "{}"),
            ("$KV.hw_defs.a.b", "{}"),
            ("$KV.hw_hosts.a.b", ""),
            ("$KV.hw_hosts.a.b", "[1]"),
            (
                "$KV.hw_hosts.a.b",
                &format!("{{\"version\":\"{}\"}}", "x".repeat(70_000)),
            ),
        ] {
            assert_eq!(read(subject, text), None, "{subject}");
        }
        let long = format!(
            "{{\"version\":\"\\u001b[2J{}\",\"errors\":[{}\"x\"]}}",
            "x".repeat(2000),
            "\"x\",".repeat(99)
        );
        let (
            _,
            Report {
                version, errors, ..
            },
        ) = read("$KV.hw_hosts.a.b", &long).unwrap();
        assert_eq!(
            (version.len(), version.starts_with("[2J"), errors.len()),
            (500, true, 8)
        );
    }
}
