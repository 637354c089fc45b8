//! The verdict stream: what hosts have judged, each verdict once and in order.
//!
//! A host's records wait in its [`Spool`] and go in batches, one message at a time. A message names
//! the numbers of its records and the message that must be the last one of its subject. So what the
//! server has is always a beginning of what the host has spooled, its last message says how long,
//! and no record is lost or there twice, however old an unacknowledged message is: the server's
//! window for message ids isn't relied on.
//!
//! Records are bytes here, one JSON value each. A reader must take them for what a host claims;
//! that it was this host follows from the subject, which no other account may publish to.

use crate::name::{Identity, Name};
use crate::notices::Notices;
use crate::server::{Link, MAX_PAGE, Server, ServerError, jitter};
use crate::spool::{Batch, Limits, Spool};
use crate::streams;
use async_nats::HeaderMap;
use async_nats::header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_MESSAGE_ID};
use async_nats::jetstream::message::StreamMessage;
use bytes::Bytes;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::{Notify, watch};

/// The header of the numbers of a message's records: `<first>-<last>`.
pub(crate) const NUMBERS: &str = "Hw-Numbers";
/// The part of a message that is left for its headers, in bytes.
const HEADERS: usize = 2048;
/// How long one exchange with the server may take. A message that is sent again is stored once, so
/// there is no harm in trying early.
const PATIENCE: Duration = Duration::from_secs(3);
/// The longest pause after a failure.
const MAX_PAUSE: Duration = Duration::from_secs(3);
/// The pause before the server is asked again what it has, and how often that is done in a row.
const PAUSE: Duration = Duration::from_millis(20);
const MAX_CONFLICTS: usize = 100;
/// How often a reader looks that waits for news.
const AGAIN: Duration = Duration::from_secs(2);
/// How often the spools of processes that have ended are looked for.
const LOOK: Duration = Duration::from_secs(60);

/// The limits of a spool whose records go to the verdict stream.
pub fn spool_limits() -> Limits {
    let most = streams::MAX_VERDICT - HEADERS;
    Limits {
        record: most - 1,
        batch: (most, 500),
        ..Limits::default()
    }
}

/// How far a spool has been drained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many records wait.
    pub waiting: u64,
    /// How many records aren't in the stream and never will be, since the process has started.
    pub lost: u64,
    /// Why the last attempt failed, if it did.
    pub trouble: Option<String>,
}

/// The way of a host's records to the server. Clones are of the same way.
#[derive(Clone)]
pub struct Outbound(Arc<Shared>);

struct Shared {
    spool: Mutex<Spool>,
    written: Notify,
    progress: watch::Sender<Progress>,
    /// How many records were lost that the stream doesn't tell of yet.
    untold: Mutex<u64>,
}

impl std::fmt::Debug for Outbound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbound")
            .field("progress", &*self.0.progress.borrow())
            .finish_non_exhaustive()
    }
}

impl Outbound {
    /// Records go by this spool from now on. [`drain_to`](Self::drain_to) sends them.
    pub fn new(spool: Spool) -> Outbound {
        let progress = Progress {
            waiting: spool.waiting(),
            lost: 0,
            trouble: None,
        };
        Outbound(Arc::new(Shared {
            spool: Mutex::new(spool),
            written: Notify::new(),
            progress: watch::Sender::new(progress),
            untold: Mutex::new(0),
        }))
    }

    /// Keeps records, each a JSON value on one line; when this returns, the disk has them. Blocks.
    /// Where some were lost, a record `{"lost":N}` stands in their place as soon as the disk takes
    /// it; gives how many there was no room for now.
    ///
    /// # Errors
    /// The disk doesn't take them; they are counted as lost.
    pub fn keep_records(&self, records: &[Vec<u8>]) -> std::io::Result<u64> {
        let mut spool = self.spool();
        let kept = self
            .tell_lost(&mut spool)
            .and_then(|()| spool.append(records.iter().map(Vec::as_slice)));
        let n_lost = match &kept {
            Ok(appended) => appended.refused,
            Err(_) => records.len() as u64,
        };
        self.count_lost(n_lost);
        self.tell_waiting(&spool);
        drop(spool);
        self.0.written.notify_one();
        kept.map(|appended| appended.refused)
    }

    /// Counts records that were lost before they came here.
    pub fn count_lost(&self, n: u64) {
        if n > 0 {
            *self.untold() += n;
            self.0.progress.send_modify(|it| it.lost += n);
        }
    }

    /// Writes down how many were lost, if the disk takes it now.
    fn tell_lost(&self, spool: &mut Spool) -> std::io::Result<()> {
        let mut untold = self.untold();
        if *untold > 0
            && spool
                .append([&*format!("{{\"lost\":{untold}}}").into_bytes()])?
                .kept
                == 1
        {
            *untold = 0;
        }
        Ok(())
    }

    fn untold(&self) -> MutexGuard<'_, u64> {
        self.0.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is, and each change of it.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.0.progress.subscribe()
    }

    /// Waits until the server has all records; says whether that was so in time.
    pub async fn wait_until_drained(&self, within: Duration) -> bool {
        let mut progress = self.progress();
        let empty = progress.wait_for(|it| it.waiting == 0);
        matches!(tokio::time::timeout(within, empty).await, Ok(Ok(_)))
    }

    /// Sends the records of this spool to the server as they come, and those that processes have
    /// left behind in spools beside it, `beside`. Ends only by being dropped; what is not sent
    /// stays on the disk.
    pub async fn drain_to(&self, server: &Server, beside: Option<PathBuf>) {
        let mut link = server.link();
        let (mut stored, mut n_failed) = (None, 0);
        let mut looked: Option<tokio::time::Instant> = None;
        loop {
            let is_due = looked.is_none_or(|looked| looked.elapsed() >= LOOK);
            if let Some(beside) = beside
                .as_deref()
                .filter(|_| is_due && matches!(*link.borrow(), Link::Up(_)))
            {
                looked = Some(tokio::time::Instant::now());
                drain_abandoned(server, beside).await;
            }
            let trouble = match self.send_waiting(server, &mut stored).await {
                Ok(()) => {
                    n_failed = 0;
                    let more = self.0.written.notified();
                    // A new connection is a reason to look, because the last attempt may have
                    // failed for want of one.
                    tokio::select! {
                        () = more => {}
                        _ = link.changed() => {}
                        () = tokio::time::sleep(LOOK) => {}
                    }
                    None
                }
                Err(error) => {
                    (stored, n_failed) = (None, n_failed + 1);
                    tracing::debug!(%error, "Verdicts wait.");
                    Some(error.to_string())
                }
            };
            let is_failed = trouble.is_some();
            self.0.progress.send_if_modified(|progress| {
                std::mem::replace(&mut progress.trouble, trouble.clone()) != trouble
            });
            if is_failed {
                let pause = Duration::from_millis(50 << n_failed.min(7))
                    .min(MAX_PAUSE)
                    .mul_f64(0.5 + jitter() / 2.0);
                tokio::select! {
                    changed = link.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }

    /// Sends what waits now. `stored` is the sequence of the last message that the server has of
    /// this spool and the number of its last record, if that is known.
    async fn send_waiting(
        &self,
        server: &Server,
        stored: &mut Option<(u64, u64)>,
    ) -> Result<(), ServerError> {
        let mut n_conflicts = 0;
        // Nothing else may come that it could stand before.
        let this = self.clone();
        self.on_disk(move |spool| this.tell_lost(spool)).await?;
        loop {
            let Some(batch) = self.on_disk(Spool::next_batch).await? else {
                return Ok(());
            };
            let subject = self.subject(server)?;
            let (sequence, last) = match *stored {
                Some(stored) => stored,
                None => self.last_stored(server, &subject).await?,
            };
            if self.catch_up(last).await? || batch.first != self.spool().sent() + 1 {
                *stored = None;
                continue;
            }
            let end = batch.last;
            match send_batch(server, &subject, batch, sequence).await? {
                Some(sequence) => {
                    self.acknowledge(end).await?;
                    *stored = Some((sequence, end));
                    n_conflicts = 0;
                }
                // The server has stored more than it said: the acknowledgement was lost, or a
                // replica was asked that is behind.
                None if n_conflicts < MAX_CONFLICTS => {
                    *stored = None;
                    n_conflicts += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                None => return Err(ServerError::Conflict(subject)),
            }
        }
    }

    fn subject(&self, server: &Server) -> Result<String, ServerError> {
        let instance: Name = self
            .spool()
            .id()
            .parse()
            .map_err(|error| ServerError::Other(format!("the spool: {error}")))?;
        Ok(streams::audit_subject(&Identity {
            host: server.host().clone(),
            instance,
        }))
    }

    /// The sequence of the last message that the server has of this spool, and the number of its
    /// last record.
    async fn last_stored(&self, server: &Server, subject: &str) -> Result<(u64, u64), ServerError> {
        let Some(message) = server
            .last_message(streams::AUDIT, subject, PATIENCE)
            .await?
        else {
            return Ok((0, 0));
        };
        let numbers = numbers_of(Some(&message.headers));
        let (_, last) = numbers.ok_or_else(|| {
            ServerError::Other(format!("the last message at {subject} has no numbers"))
        })?;
        Ok((message.sequence, last))
    }

    /// Takes the server's word of what it has. Says whether the spool has another name now: the
    /// server has records of this name that the spool never had, because its directory was put back
    /// from a copy.
    async fn catch_up(&self, last: u64) -> Result<bool, ServerError> {
        if last >= self.spool().next() {
            tracing::warn!(
                "The spool of verdicts is older than what the server has of it; it goes on under a new name."
            );
            self.on_disk(Spool::rename).await?;
            return Ok(true);
        }
        self.acknowledge(last).await?;
        Ok(false)
    }

    async fn acknowledge(&self, last: u64) -> Result<(), ServerError> {
        self.on_disk(move |spool| spool.acknowledge(last)).await?;
        self.tell_waiting(&self.spool());
        Ok(())
    }

    /// Says how many records wait, while nobody else changes the spool: told later, it would stand
    /// for what is newer.
    fn tell_waiting(&self, spool: &MutexGuard<'_, Spool>) {
        self.0
            .progress
            .send_modify(|it| it.waiting = spool.waiting());
    }

    /// Does something with the disk, off the runtime's threads.
    async fn on_disk<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Spool) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, ServerError> {
        let shared = self.0.clone();
        let acted = tokio::task::spawn_blocking(move || {
            act(&mut shared.spool.lock().unwrap_or_else(PoisonError::into_inner))
        })
        .await
        .map_err(|error| ServerError::Other(error.to_string()))?;
        acted.map_err(|error| ServerError::Other(format!("the spool of verdicts: {error}")))
    }

    fn spool(&self) -> MutexGuard<'_, Spool> {
        self.0.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends what processes have left behind that have ended.
async fn drain_abandoned(server: &Server, beside: &Path) {
    let beside = beside.to_path_buf();
    let found =
        tokio::task::spawn_blocking(move || Spool::abandoned(&beside, spool_limits())).await;
    for spool in found.ok().and_then(Result::ok).unwrap_or_default() {
        let (id, waiting) = (spool.id().to_string(), spool.waiting());
        if let Err(error) = Outbound::new(spool).send_waiting(server, &mut None).await {
            tracing::debug!(id, waiting, %error, "Verdicts of a process that has ended still wait.");
            return;
        }
    }
}

/// Sends a batch behind the message of that sequence. Gives its own sequence; `None` if another
/// message is the last one.
async fn send_batch(
    server: &Server,
    subject: &str,
    batch: Batch,
    behind: u64,
) -> Result<Option<u64>, ServerError> {
    let Batch { first, last, lines } = batch;
    let spool = subject.rsplit('.').next().unwrap_or_default();
    let mut headers = HeaderMap::new();
    headers.insert(
        NATS_MESSAGE_ID,
        format!("{}:{spool}:{first}-{last}", server.host()),
    );
    headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, behind.to_string());
    headers.insert(NUMBERS, format!("{first}-{last}"));
    match server
        .publish(subject, headers, Bytes::from(lines), PATIENCE)
        .await
    {
        Ok(ack) if ack.duplicate => Ok(None),
        Ok(ack) => Ok(Some(ack.sequence)),
        Err(ServerError::Conflict(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The numbers of a message's records.
fn numbers_of(headers: Option<&HeaderMap>) -> Option<(u64, u64)> {
    let (first, last) = headers?.get(NUMBERS)?.as_str().split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    (0 < first && first <= last).then_some((first, last))
}

/// A verdict as it is in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The host, which the server has let publish under this name.
    pub host: Name,
    /// The host's spool.
    pub spool: Name,
    /// The record's number in it, from 1. None is missing unless the stream's retention has let it
    /// go.
    pub number: u64,
    /// When the server stored it, in milliseconds since 1970.
    pub at: u64,
    /// The record, as JSON.
    pub record: Bytes,
}

/// Whose verdicts are read, and from when.
#[derive(Clone, Debug, Default)]
pub struct From {
    /// Only this host's.
    pub host: Option<Name>,
    /// Those that the server stored since then; `None`: from now on.
    pub since: Option<SystemTime>,
    /// Without a `since`, so many of the stream's last messages, too; each has up to 500 verdicts.
    pub back: u64,
}

/// Reads the verdict stream, the oldest first, page by page: no consumer is made for it, so an
/// account that may read can leave nothing behind on the server.
pub struct Reader {
    server: Server,
    subject: String,
    start: Start,
    /// The records that were read and not yet handed on, in order.
    read: VecDeque<Result<Stored, ServerError>>,
    news: Notices,
}

/// Where the next page begins.
enum Start {
    Since(SystemTime),
    At(u64),
}

impl Reader {
    /// Begins to read.
    ///
    /// # Errors
    /// There is no such stream, the account may not read it, or the server doesn't answer.
    pub async fn start(server: &Server, from: &From) -> Result<Reader, ServerError> {
        let subject = subject_of(from.host.as_ref());
        let start = match from.since {
            Some(since) => Start::Since(since),
            None => Start::At(
                next_sequence(server)
                    .await?
                    .saturating_sub(from.back)
                    .max(1),
            ),
        };
        let news = Notices::new(server, [subject.clone()]);
        Ok(Reader {
            server: server.clone(),
            subject,
            start,
            read: VecDeque::new(),
            news,
        })
    }

    /// The next verdict of those that are there. `None`: that was all.
    ///
    /// # Errors
    /// The server doesn't answer, or a message has no verdicts that can be read. The next call goes
    /// on.
    pub async fn next_stored(&mut self) -> Option<Result<Stored, ServerError>> {
        while self.read.is_empty() {
            match self.read_page().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        self.read.pop_front()
    }

    /// The next verdict, as soon as there is one. While the server is away, it is waited for.
    ///
    /// # Errors
    /// The account may not read, or a message has no verdicts that can be read. The next call goes
    /// on.
    pub async fn next(&mut self) -> Result<Stored, ServerError> {
        loop {
            // Subscribed before it is looked, so that nothing comes in between.
            self.news.subscribe_anew().await;
            match self.next_stored().await {
                Some(Ok(stored)) => return Ok(stored),
                Some(Err(error @ (ServerError::NotPermitted(_) | ServerError::Other(_)))) => {
                    return Err(error);
                }
                Some(Err(error)) => tracing::debug!(%error, "Verdicts aren't read now."),
                None => {}
            }
            // A notice may be lost, and comes before every replica has what was stored.
            self.news.wait_at_most(AGAIN).await;
        }
    }

    /// Reads the next page; says whether there was something on it.
    async fn read_page(&mut self) -> Result<bool, ServerError> {
        let page = match self.start {
            Start::Since(since) => {
                self.server
                    .page_since(streams::AUDIT, &self.subject, since, PATIENCE)
                    .await?
            }
            Start::At(sequence) => {
                self.server
                    .read_page(streams::AUDIT, &self.subject, sequence, PATIENCE)
                    .await?
            }
        };
        let Some(last) = page.last() else {
            return Ok(false);
        };
        self.start = Start::At(last.sequence.saturating_add(1));
        self.read.extend(page.iter().flat_map(read_records));
        Ok(true)
    }
}

/// Where verdicts are, of one host or of all.
fn subject_of(host: Option<&Name>) -> String {
    host.map_or_else(
        || "hw.audit.*.*".into(),
        |host| format!("hw.audit.{host}.*"),
    )
}

/// The sequence that the next message of the stream will have.
async fn next_sequence(server: &Server) -> Result<u64, ServerError> {
    let last = server
        .last_of(streams::AUDIT, streams::ALL_AUDIT, PATIENCE)
        .await?;
    Ok(last.map_or(1, |it| it.sequence.saturating_add(1)))
}

/// Before which message of the stream is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Before {
    /// From the last one on.
    #[default]
    End,
    /// What the server stored before then.
    Time(SystemTime),
    /// As [`Backwards::before`] has it.
    Sequence(u64),
}

/// Reads the verdict stream backwards, part by part, for whoever looks for the newest first.
pub struct Backwards {
    server: Server,
    subject: String,
    /// The sequence before which the next part ends.
    before: u64,
    /// How many sequences the next part spans: few messages of one host are among many of others.
    width: u64,
}

impl Backwards {
    /// Begins to read, one host's verdicts or all.
    ///
    /// # Errors
    /// There is no such stream, the account may not read it, or the server doesn't answer.
    pub async fn start(
        server: &Server,
        host: Option<&Name>,
        before: Before,
    ) -> Result<Backwards, ServerError> {
        let before = match before {
            Before::Sequence(before) => before,
            Before::End => next_sequence(server).await?,
            Before::Time(time) => {
                let page = server
                    .page_since(streams::AUDIT, streams::ALL_AUDIT, time, PATIENCE)
                    .await?;
                match page.first() {
                    Some(first) => first.sequence,
                    None => next_sequence(server).await?,
                }
            }
        };
        Ok(Backwards {
            server: server.clone(),
            subject: subject_of(host),
            before,
            width: MAX_PAGE as u64,
        })
    }

    /// Where it goes on, for another one.
    pub fn before(&self) -> u64 {
        self.before
    }

    /// The records of the next older part, in their order: at most as many messages as a page has.
    /// `None`: that was all.
    ///
    /// # Errors
    /// The server doesn't answer, or the account may not read. The next call tries the same part
    /// again.
    pub async fn read_part(
        &mut self,
    ) -> Result<Option<Vec<Result<Stored, ServerError>>>, ServerError> {
        while self.before > 1 {
            let from = self.before.saturating_sub(self.width).max(1);
            let Some(messages) = self.read_between(from).await? else {
                self.width = (self.width / 4).max(1);
                continue;
            };
            self.before = from;
            if messages.len() < MAX_PAGE / 4 {
                self.width = self.width.saturating_mul(4);
            }
            if !messages.is_empty() {
                return Ok(Some(messages.iter().flat_map(read_records).collect()));
            }
        }
        Ok(None)
    }

    /// The messages from there on to the end of the part; `None` if they are too many, or too
    /// large, for one part.
    async fn read_between(&self, from: u64) -> Result<Option<Vec<StreamMessage>>, ServerError> {
        let mut messages = self
            .server
            .read_page(streams::AUDIT, &self.subject, from, PATIENCE)
            .await?;
        let is_within = |message: &StreamMessage| message.sequence < self.before;
        if let Some(last) = messages
            .last()
            .filter(|message| message.sequence.saturating_add(1) < self.before)
        {
            // A page may end because there is no room in it, so the next one is looked at.
            let rest = self
                .server
                .read_page(
                    streams::AUDIT,
                    &self.subject,
                    last.sequence.saturating_add(1),
                    PATIENCE,
                )
                .await?;
            if rest.first().is_some_and(is_within) {
                return Ok(None);
            }
        }
        messages.retain(is_within);
        Ok(Some(messages))
    }
}

/// The records of a message, or that there are none.
fn read_records(message: &StreamMessage) -> Vec<Result<Stored, ServerError>> {
    match records_of(message) {
        Some(records) => records.into_iter().map(Ok).collect(),
        None => {
            let subject = message.subject.chars().take(200).collect::<String>();
            vec![Err(ServerError::Other(format!(
                "a message at {subject} has no verdicts that can be read"
            )))]
        }
    }
}

/// The records of a message.
pub(crate) fn records_of(message: &StreamMessage) -> Option<Vec<Stored>> {
    let names = streams::names_below("hw.audit", &message.subject)?;
    let [host, spool] = &*names else { return None };
    let (first, last) = numbers_of(Some(&message.headers))?;
    let at = u64::try_from(message.time.unix_timestamp_nanos() / 1_000_000).ok()?;
    let lines: Vec<&[u8]> = message
        .payload
        .split(|it| *it == b'\n')
        .filter(|it| !it.is_empty())
        .collect();
    // Bounds what is made of the numbers, too.
    if lines.len() as u64 != last - first + 1 {
        return None;
    }
    Some(
        lines
            .into_iter()
            .zip(first..=last)
            .map(|(record, number)| Stored {
                host: host.clone(),
                spool: spool.clone(),
                number,
                at,
                record: message.payload.slice_ref(record),
            })
            .collect(),
    )
}
