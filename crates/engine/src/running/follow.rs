//! Following what hosts judge, or what they ask people, without asking again and again.
//!
//! A host announces each event as it judges it, and each end of an `async` hook, with sequence
//! numbers. Where a number is missing, the host is asked for what it has kept since the last one
//! that was heard; what it has no more is told as lost. How far a host was heard is remembered
//! beyond its connection, so that nothing is told twice after a break.

use crate::host::Changed;
use crate::journal::{Ended, Recent, Record};
use hookwire_base::transport::client::Client;
use hookwire_base::transport::socket;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Result};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// How often new sockets are looked for.
const LOOK: Duration = Duration::from_secs(1);
/// A host answers at once; one that doesn't is stuck.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest wait before a socket that is no good is tried again.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// The longest message that is read, in bytes.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// Hosts that are followed at once.
const MAX_FOLLOWED: usize = 32;
/// Hosts of which is remembered how far they were heard.
const MAX_KNOWN: usize = 64;
/// The longest text that tells hosts apart, in characters.
const MAX_STARTED: usize = 64;

/// Identifies one run of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its process.
    pub pid: u32,
    /// When it started, as it says.
    pub started: String,
}

/// What is told of a host.
pub enum News<'n> {
    /// It is followed from now on.
    Here(&'n Recent<'n>),
    /// It has judged an event.
    Judged(&'n Record<'n>),
    /// An `async` hook has ended.
    Ended(&'n Ended),
    /// So many events and ends can't be told: they came faster than they were read.
    Lost(u64),
    /// What it says of itself, after all that it judged until then was told.
    Standing(&'n Recent<'n>),
    /// Other definitions are in force there.
    Changed(&'n Changed),
    /// Other questions wait for a person there.
    Questions,
    /// It isn't followed any more.
    Gone,
}

/// Takes news of hosts, from a thread of each; `Break` if no more are wanted.
pub type Take<'t> = dyn Fn(&Run, News<'_>) -> ControlFlow<()> + Send + Sync + 't;

/// How far a host was heard: the numbers of the last event and of the last end.
#[derive(Clone, Copy, Default)]
pub struct Heard {
    judged: u64,
    ended: u64,
}

/// What hosts are followed for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Topic {
    /// The events that they judge.
    #[default]
    Events,
    /// The questions that wait for a person.
    Questions,
}

impl Topic {
    /// The notifications that a host is asked for.
    fn notifications(self) -> &'static [&'static str] {
        match self {
            Topic::Events => &["hooks/judged", "hooks/changed"],
            Topic::Questions => &["approvals/changed"],
        }
    }

    /// How much a host is asked to tell of the past.
    fn past(self) -> Value {
        match self {
            Topic::Events => json!({}),
            Topic::Questions => json!({ "limit": 0 }),
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct Following {
    topic: Topic,
    known: Mutex<Vec<Known>>,
    sockets: Mutex<HashMap<(PathBuf, u64), Socket>>,
}

struct Known {
    run: Run,
    /// `None` before it has told anything.
    heard: Option<Heard>,
    is_here: bool,
}

/// A socket that was found.
#[derive(Default)]
struct Socket {
    is_followed: bool,
    /// How often in a row it was no good.
    failures: u32,
    /// When it may be tried again.
    again: Option<Instant>,
}

impl Heard {
    /// The number of the last event.
    pub fn judged(self) -> u64 {
        self.judged
    }

    /// So many events, and no end.
    pub fn up_to(judged: u64) -> Heard {
        Heard { judged, ended: 0 }
    }
}

impl Run {
    /// The run that a reply is of.
    pub fn of(recent: &Recent<'_>) -> Run {
        Run {
            pid: recent.pid,
            started: recent.started.chars().take(MAX_STARTED).collect(),
        }
    }
}

/// A notice whenever other questions wait for a person in a host. One stands for many: whoever
/// hears it asks all hosts.
///
/// # Errors
/// No thread could be started.
pub fn notices_of_questions() -> Result<Receiver<()>> {
    let (sender, notices) = sync_channel(1);
    let notice: Arc<Take<'static>> = Arc::new(move |_, news| {
        if matches!(news, News::Here(_) | News::Questions | News::Gone) {
            // If there is no room, a notice waits already.
            let _ = sender.try_send(());
        }
        ControlFlow::Continue(())
    });
    let following = Arc::new(Following {
        topic: Topic::Questions,
        ..Following::default()
    });
    let look = move || following.follow(|| socket::of_projects(&[]), &notice, || false);
    std::thread::Builder::new()
        .name("questions".into())
        .spawn(look)?;
    Ok(notices)
}

impl Following {
    /// No host was heard yet.
    pub fn new() -> Arc<Following> {
        Arc::default()
    }

    /// Tells what these hosts have judged since they were heard last, and leaves them; how many
    /// answered.
    pub fn catch_up(&self, sockets: &[PathBuf], take: &Take<'_>) -> usize {
        sockets
            .iter()
            .filter(|socket| matches!(Followed::attach(self, socket, take), Ok(Some(_))))
            .count()
    }

    /// Follows every host whose socket is found, now and later, each on a thread of its own, until
    /// `is_over`.
    pub fn follow(
        self: &Arc<Following>,
        find: impl Fn() -> Result<Vec<PathBuf>>,
        take: &Arc<Take<'static>>,
        is_over: impl Fn() -> bool,
    ) {
        while !is_over() {
            match find() {
                Ok(paths) => self.attach_to(paths, take),
                Err(error) => tracing::debug!(%error, "Running hosts can't be looked for."),
            }
            std::thread::sleep(LOOK);
        }
    }

    fn attach_to(self: &Arc<Following>, paths: Vec<PathBuf>, take: &Arc<Take<'static>>) {
        // A host that takes nobody any more and its successor have one path, and each its own
        // inode.
        let inode = |path: PathBuf| path.metadata().ok().map(|it| (path, it.ino()));
        let found: Vec<_> = paths.into_iter().filter_map(inode).collect();
        let mut sockets = self.sockets.lock();
        sockets.retain(|key, socket| socket.is_followed || found.contains(key));
        for key in found {
            let n_followed = sockets.values().filter(|it| it.is_followed).count();
            let socket = sockets.entry(key.clone()).or_default();
            let may_be_tried = socket.again.is_none_or(|again| again <= Instant::now());
            if socket.is_followed || !may_be_tried || n_followed >= MAX_FOLLOWED {
                continue;
            }
            let (following, take) = (self.clone(), take.clone());
            let work = move || {
                let attached = Followed::attach(&following, &key.0, &*take);
                let ended = match attached {
                    Ok(Some(mut host)) => host.follow(&*take),
                    // It is followed already, by another socket.
                    Ok(None) => Err(Error::other("it is followed, or there are too many")),
                    Err(error) => Err(error),
                };
                following.ended(&key, &ended);
            };
            socket.is_followed = std::thread::Builder::new()
                .name("follow".into())
                .spawn(work)
                .is_ok();
        }
    }

    fn ended(&self, key: &(PathBuf, u64), ended: &Result<()>) {
        let (path, inode) = key;
        let mut sockets = self.sockets.lock();
        let socket = sockets.entry(key.clone()).or_default();
        socket.is_followed = false;
        socket.failures = match ended {
            Ok(()) => 0,
            // A killed host left it. The first time it could be one that is about to listen.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused && socket.failures > 0 => {
                if path.metadata().is_ok_and(|it| it.ino() == *inode) {
                    let _ = std::fs::remove_file(path);
                }
                0
            }
            // What it said isn't logged: it may be a secret.
            Err(error) => {
                tracing::debug!(socket = %path.display(), kind = %error.kind(), "A running host was left.");
                socket.failures + 1
            }
        };
        let wait = LOOK
            .saturating_mul(2_u32.saturating_pow(socket.failures))
            .min(MAX_WAIT);
        socket.again = (socket.failures > 0).then(|| Instant::now() + wait);
    }

    /// How far a host was heard that is here now. `None` if it is already, or too many are.
    fn enter(&self, run: &Run) -> Option<Option<Heard>> {
        let mut known = self.known.lock();
        if let Some(known) = known.iter_mut().find(|it| it.run == *run) {
            return (!std::mem::replace(&mut known.is_here, true)).then_some(known.heard);
        }
        if known.len() >= MAX_KNOWN {
            let oldest = known.iter().position(|it| !it.is_here)?;
            known.remove(oldest);
        }
        known.push(Known {
            run: run.clone(),
            heard: None,
            is_here: true,
        });
        Some(None)
    }

    fn update(&self, run: &Run, change: impl FnOnce(&mut Known)) {
        if let Some(known) = self.known.lock().iter_mut().find(|it| it.run == *run) {
            change(known);
        }
    }
}

/// A host that is followed, until this is dropped.
struct Followed<'f> {
    following: &'f Following,
    client: Client,
    run: Run,
    heard: Heard,
}

impl Drop for Followed<'_> {
    fn drop(&mut self) {
        self.following.update(&self.run, |known| {
            (known.heard, known.is_here) = (Some(self.heard), false)
        });
    }
}

impl Followed<'_> {
    /// Tells what the host has kept and hasn't been told. `None` if it is followed already.
    fn attach<'f>(
        following: &'f Following,
        socket: &Path,
        take: &Take<'_>,
    ) -> Result<Option<Followed<'f>>> {
        let mut client = Client::within(UnixStream::connect(socket)?, PATIENCE, MAX_MESSAGE)?;
        let wanted = json!({ "hooks": { "notifications": following.topic.notifications() } });
        client.request("initialize", &json!({ "capabilities": wanted }))?;
        let text = client.request_text("hooks/recent", &following.topic.past())?;
        let recent: Recent<'_> = serde_json::from_str(text.get())?;
        let run = Run::of(&recent);
        let Some(before) = following.enter(&run) else {
            return Ok(None);
        };
        let mut host = Followed {
            following,
            client,
            run,
            heard: before.unwrap_or_default(),
        };
        let told = take(&host.run, News::Here(&recent)).is_continue()
            && tell(&recent, &mut host.heard, before.is_some(), &mut |news| {
                take(&host.run, news)
            })
            .is_continue();
        Ok(told.then_some(host))
    }

    /// Tells what the host announces, for as long as it is there and more is wanted.
    fn follow(&mut self, take: &Take<'_>) -> Result<()> {
        let ended = loop {
            match self.next(take) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break Ok(()),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let _ = take(&self.run, News::Gone);
        ended
    }

    fn next(&mut self, take: &Take<'_>) -> Result<ControlFlow<()>> {
        let (method, params) = self.client.next_notification()?;
        let is_next = |seq: u64, heard: u64| (seq > heard).then(|| seq - heard == 1);
        Ok(match &*method {
            "hooks/judged" => {
                let record: Record<'_> = read(params.get())?;
                match is_next(record.seq, self.heard.judged) {
                    Some(true) => {
                        self.heard.judged = record.seq;
                        take(&self.run, News::Judged(&record))
                    }
                    Some(false) => self.close_gap(take)?,
                    None => ControlFlow::Continue(()),
                }
            }
            "hooks/ended" => {
                let ended: Ended = read(params.get())?;
                match is_next(ended.seq, self.heard.ended) {
                    Some(true) => {
                        self.heard.ended = ended.seq;
                        take(&self.run, News::Ended(&ended))
                    }
                    Some(false) => self.close_gap(take)?,
                    None => ControlFlow::Continue(()),
                }
            }
            "hooks/changed" => take(&self.run, News::Changed(&read(params.get())?)),
            "approvals/changed" => take(&self.run, News::Questions),
            _ => ControlFlow::Continue(()),
        })
    }

    fn close_gap(&mut self, take: &Take<'_>) -> Result<ControlFlow<()>> {
        let text = self
            .client
            .request_text("hooks/recent", &json!({ "after": self.heard.judged }))?;
        let recent: Recent<'_> = read(text.get())?;
        let run = &self.run;
        Ok(tell(&recent, &mut self.heard, true, &mut |news| {
            take(run, news)
        }))
    }
}

fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T> {
    Ok(serde_json::from_str(text)?)
}

/// Tells what a reply has that hasn't been heard. Of a host that was never heard, nothing can have
/// been lost.
pub fn tell(
    recent: &Recent<'_>,
    heard: &mut Heard,
    was_heard: bool,
    take: &mut dyn FnMut(News<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let judged: Vec<_> = recent
        .records
        .iter()
        .filter(|it| it.seq > heard.judged && it.seq <= recent.total)
        .collect();
    let ended: Vec<_> = recent
        .ended
        .iter()
        .filter(|it| it.seq > heard.ended)
        .collect();
    let last_end = ended.last().map_or(heard.ended, |it| it.seq);
    let missed = |last: u64, heard: u64, found: usize| {
        last.saturating_sub(heard).saturating_sub(found as u64)
    };
    let lost = missed(recent.total, heard.judged, judged.len())
        + missed(last_end, heard.ended, ended.len());
    *heard = Heard {
        judged: heard.judged.max(recent.total),
        ended: last_end,
    };
    if was_heard && lost > 0 {
        take(News::Lost(lost))?;
    }
    for record in judged {
        take(News::Judged(record))?;
    }
    for end in ended {
        take(News::Ended(end))?;
    }
    take(News::Standing(recent))
}
