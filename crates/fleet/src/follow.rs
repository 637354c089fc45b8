//! Following a channel: what was published comes, is verified, checked and swapped in; what isn't sound is refused, and
//! the last good one stays.
//!
//! No consumer is made. The server's notice says that something changed, and a direct get at each connection, at each
//! notice and every half minute reads it; so a notice that is lost costs half a minute, not a version.

use crate::bundle::Stage;
use crate::digest::Sha256;
use crate::hosts::{EVERY, InForce, Refused, now};
use crate::server::{Link, PATIENCE, Server, ServerError, is_at_least, jitter, numbers};
pub use crate::store::Pins;
use crate::store::{Believed, Current, Store};
use crate::streams::{self, BLOBS, DEFS};
use futures_util::{FutureExt, StreamExt};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What a host makes of files that are bytes to this crate.
pub trait Judge: Send + Sync + 'static {
    /// Whether the definitions in a directory are sound and may be in force here. May take long.
    ///
    /// # Errors
    /// Why not, for people.
    fn check(&self, files: &Path) -> Result<(), String>;

    /// The name and text of a definition file that takes the place of a set which was in force and is broken.
    fn stand_in(&self, problem: &str) -> (String, String);

    /// The version of the host's program.
    fn version(&self) -> &str;
}

/// How a followed channel is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// What is in force.
    pub in_force: Option<InForce>,
    /// The newest that was refused, while it is newer than what is in force.
    pub refused: Option<Refused>,
    /// What was in force is broken, and something stands in for it; why.
    pub broken: Option<String>,
    /// Why the channel couldn't be read at the last attempt.
    pub unread: Option<String>,
    /// Counts the times that another set came into force here, so that each is news.
    pub swaps: u64,
}

/// Follows one channel into a directory.
pub struct Follower {
    store: Store,
    judge: Arc<dyn Judge>,
    status: watch::Sender<Status>,
    /// What was refused, and when, so that it isn't fetched and checked each time.
    refused: VecDeque<(Instant, Refused)>,
}

/// How many refusals are remembered, and for how long: a disk that was full, or a clock that was wrong, may be mended.
const MAX_REFUSED: usize = 16;
const REFUSED_FOR: Duration = Duration::from_secs(600);

impl Follower {
    /// Opens the directory, and verifies what is in force in it before anybody reads it. Where that is broken, the judge's
    /// stand-in is in force.
    ///
    /// # Errors
    /// The directory can't be made or written.
    pub fn open(dir: &Path, pins: Pins, judge: Arc<dyn Judge>) -> std::io::Result<Follower> {
        let store = Store::open(dir, pins)?;
        let mut status = Status::default();
        verify(&store, &*judge, &mut status)?;
        Ok(Follower { store, judge, status: watch::Sender::new(status), refused: VecDeque::new() })
    }

    /// The directory of the files in force. It may not be there, and another one takes its place at once.
    pub fn files(&self) -> PathBuf {
        self.store.files()
    }

    /// How the channel is, now and at each change.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Follows for as long as it is polled. While the server is away, what is in force stays, and is verified.
    pub async fn run(mut self, server: Server) {
        let mut link = server.link();
        loop {
            let connection = link.borrow_and_update().clone();
            let mut notices = None;
            if let Link::Up(_) = connection {
                let _ = server.ready(PATIENCE).await;
                let changed = streams::changed(&self.store.pins().channel);
                match server.client().subscribe(changed).await {
                    Ok(subscription) => notices = Some(subscription),
                    Err(_) => return,
                }
            }
            // Until the connection is another one: the subscription may have missed something then.
            loop {
                self.verify().await;
                if notices.is_some() {
                    self.look(&server).await;
                } else {
                    let reason = server.usable().err().map(|it| it.to_string());
                    self.tell(|status| status.unread = reason);
                }
                let notice = async {
                    match &mut notices {
                        Some(notices) => {
                            let is_one = notices.next().await.is_some();
                            // What came with it is the same news: a flood of notices costs few looks.
                            while let Some(Some(_)) = notices.next().now_or_never() {}
                            is_one
                        }
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    is_one = notice => if !is_one { return },
                    () = tokio::time::sleep(EVERY.mul_f64(0.75 + jitter() / 2.0)) => {}
                    changed = link.wait_for(|it| *it != connection) => match changed {
                        Ok(_) => break,
                        Err(_) => return,
                    },
                }
            }
        }
    }

    /// Holds what is in force to what was signed.
    async fn verify(&mut self) {
        let (store, judge, mut status) = (self.store.clone(), self.judge.clone(), self.status.borrow().clone());
        let verified = tokio::task::spawn_blocking(move || {
            let done = verify(&store, &*judge, &mut status);
            done.map(|()| status)
        });
        match verified.await {
            Ok(Ok(now)) => self.tell(|status| *status = now),
            Ok(Err(error)) => tracing::error!(%error, "The definitions of the fleet can't be verified."),
            Err(error) => tracing::error!(%error, "The definitions of the fleet weren't verified."),
        }
    }

    /// Reads the channel once, and puts in force what is newer.
    pub async fn look(&mut self, server: &Server) {
        let unread = match self.try_look(server).await {
            Ok(()) => None,
            Err(error) => Some(error.to_string()),
        };
        self.tell(|status| status.unread = unread);
    }

    async fn try_look(&mut self, server: &Server) -> Result<(), ServerError> {
        let channel = &self.store.pins().channel;
        let subjects = [(streams::channel(channel), false), (streams::canary(channel), true)];
        let mut best: Option<Believed> = None;
        let mut refusal = None;
        for (subject, is_canary) in subjects {
            let Some(message) = server.last(DEFS, &subject, PATIENCE).await? else { continue };
            let digest = Sha256::of(&message.payload);
            let known = self.refused.iter().find(|(at, it)| it.digest == digest && at.elapsed() < REFUSED_FOR);
            if let Some((_, known)) = known {
                refusal = newer(refusal, known.clone());
                continue;
            }
            match self.believe(&message.payload, is_canary, server) {
                Ok(Some(believed)) => {
                    if best.as_ref().is_none_or(|best| best.manifest.revision < believed.manifest.revision) {
                        best = Some(believed);
                    }
                }
                Ok(None) => {}
                Err(reason) => {
                    let refused = Refused { revision: None, digest, reason };
                    self.remember(refused.clone());
                    refusal = newer(refusal, refused);
                }
            }
        }
        if let Some(believed) = best {
            let (revision, digest) = (believed.manifest.revision, Sha256::of(&believed.envelope));
            match self.take(server, believed).await? {
                Ok(()) => {}
                Err(reason) => {
                    let refused = Refused { revision: Some(revision), digest, reason };
                    self.remember(refused.clone());
                    refusal = newer(refusal, refused);
                }
            }
        }
        self.tell(|status| status.refused = refusal);
        Ok(())
    }

    /// Reads what stands in a place of the channel. `None`: it isn't for this host.
    fn believe(&self, bytes: &[u8], is_canary: bool, server: &Server) -> Result<Option<Believed>, String> {
        let believed = Believed::read(bytes, self.store.pins())?;
        match (believed.manifest.stage, is_canary) {
            (Stage::All, false) => Ok(Some(believed)),
            // By the machine: its hosts share what is in force.
            (Stage::Canary { .. }, true) => Ok(Some(believed).filter(|it| it.manifest.is_for(server.host().as_str()))),
            _ => Err("it was signed for another stage of the channel than where it stands".into()),
        }
    }

    /// Puts a manifest in force that is believed, unless it is already. The inner error says why not; the outer one is of
    /// the server and passes.
    async fn take(&mut self, server: &Server, believed: Believed) -> Result<Result<(), String>, ServerError> {
        // It was verified just now.
        if self.status.borrow().in_force.as_ref().is_some_and(|it| it.digest == believed.digest) {
            return Ok(Ok(()));
        }
        let store = self.store.clone();
        let current = tokio::task::spawn_blocking(move || store.current().good()).await.unwrap_or_default();
        if let Err(reason) = self.may_follow(&believed, current.as_ref()) {
            return Ok(Err(reason));
        }
        let mut contents = BTreeMap::new();
        for entry in &believed.manifest.files {
            if contents.contains_key(&entry.sha256) {
                continue;
            }
            let known = current.as_ref().and_then(|it| self.store.known(&it.manifest, &entry.sha256));
            let content = match known {
                Some(content) => content,
                None => match fetch(server, entry).await? {
                    Ok(content) => content,
                    Err(reason) => return Ok(Err(reason)),
                },
            };
            contents.insert(entry.sha256, content);
        }
        let (store, judge) = (self.store.clone(), self.judge.clone());
        let swapped = tokio::task::spawn_blocking(move || swap(&store, &*judge, &believed, &contents)).await;
        match swapped {
            Ok(Ok(in_force)) => {
                self.in_force(in_force);
                Ok(Ok(()))
            }
            Ok(Err(reason)) => Ok(Err(reason)),
            Err(error) => Ok(Err(format!("the check of it ended: {error}"))),
        }
    }

    /// Whether a manifest may come after what was in force.
    fn may_follow(&self, believed: &Believed, current: Option<&Believed>) -> Result<(), String> {
        let manifest = &believed.manifest;
        after_highest(&self.store, believed, current)?;
        if manifest.expires <= now() {
            return Err(format!("revision {} expired before it came here; publish it anew", manifest.revision));
        }
        if let Some(least) = &manifest.min_host {
            let version = self.judge.version();
            let is_enough = numbers(least).is_some_and(|least| is_at_least(version, least));
            if !is_enough {
                return Err(format!("it needs hookwire {least} or newer, this is {version}"));
            }
        }
        Ok(())
    }

    fn in_force(&self, in_force: InForce) {
        self.tell(|status| {
            status.swaps += 1;
            status.broken = None;
            status.in_force = Some(in_force);
        });
    }

    fn remember(&mut self, refused: Refused) {
        tracing::warn!(revision = ?refused.revision, "A published bundle is refused: {}", refused.reason);
        self.refused.retain(|(_, it)| it.digest != refused.digest);
        if self.refused.len() == MAX_REFUSED {
            self.refused.pop_front();
        }
        self.refused.push_back((Instant::now(), refused));
    }

    fn tell(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_if_modified(|status| {
            let before = status.clone();
            change(status);
            *status != before
        });
    }
}

/// The refusal that people should hear of: the one of the higher revision.
fn newer(one: Option<Refused>, other: Refused) -> Option<Refused> {
    match one {
        Some(one) if one.revision > other.revision => Some(one),
        _ => Some(other),
    }
}

/// Old definitions must not come back: a revision is above all that ever were in force here, or it is the highest itself.
fn after_highest(store: &Store, believed: &Believed, current: Option<&Believed>) -> Result<(), String> {
    let highest =
        store.highest().map_err(|error| format!("nobody knows which revisions were in force here: {error}"))?;
    let revision = believed.manifest.revision;
    let of_current = current.map(|it| (it.manifest.revision, it.digest));
    for (known, digest) in highest.map(|it| (it.revision, it.digest)).into_iter().chain(of_current) {
        if revision < known {
            return Err(format!("revision {revision} is older than revision {known}, which was in force here"));
        }
        if revision == known && believed.digest != digest {
            return Err(format!("another revision {revision} was in force here"));
        }
    }
    Ok(())
}

/// Gets a file, and holds it to its size and digest.
async fn fetch(server: &Server, entry: &crate::bundle::Entry) -> Result<Result<Vec<u8>, String>, ServerError> {
    let subject = streams::blob(&entry.sha256);
    let Some(message) = server.last(BLOBS, &subject, PATIENCE).await? else {
        // A replica may be behind the manifest's; a later look finds it.
        return Err(ServerError::Other(format!("{} isn't there yet ({subject})", entry.path)));
    };
    if message.payload.len() as u64 != entry.size {
        return Ok(Err(format!("{} came with {} bytes, not {}", entry.path, message.payload.len(), entry.size)));
    }
    if Sha256::of(&message.payload) != entry.sha256 {
        return Ok(Err(format!("{} came with other bytes than those that were signed", entry.path)));
    }
    Ok(Ok(message.payload.to_vec()))
}

/// Puts a set in force, unless another host of this user was faster. The lock is held for the swap only, because the check
/// may take long.
fn swap(
    store: &Store,
    judge: &dyn Judge,
    believed: &Believed,
    contents: &BTreeMap<Sha256, Vec<u8>>,
) -> Result<InForce, String> {
    let staged = store.stage(believed, contents, |files| judge.check(files))?;
    let _lock = store.lock().map_err(|error| format!("it can't be written: {error}"))?;
    let current = store.current().good();
    if let Some(current) = current.as_ref().filter(|it| it.digest == believed.digest) {
        return Ok(current.in_force());
    }
    after_highest(store, believed, current.as_ref())?;
    store.turn(believed, staged)?;
    Ok(believed.in_force())
}

/// Holds what is in force on the disk to what was signed, and has something stand in for it where it is broken.
fn verify(store: &Store, judge: &dyn Judge, status: &mut Status) -> std::io::Result<()> {
    let _lock = store.lock()?;
    match store.current() {
        Current::Nothing => {}
        // Another host of this user may have put it there.
        Current::Good(believed) => {
            let in_force = believed.in_force();
            if status.in_force.as_ref() != Some(&in_force) || status.broken.is_some() {
                status.swaps += 1;
                (status.in_force, status.broken) = (Some(in_force), None);
            }
        }
        // What stands in is no set either.
        Current::Broken(_) if status.broken.is_some() && store.has_stand_in() => {}
        Current::Broken(problem) => {
            tracing::error!("The definitions of the fleet are broken: {problem}");
            let (file, text) = judge.stand_in(&problem);
            store.stand_in(&file, &text)?;
            status.swaps += 1;
            (status.in_force, status.broken) = (None, Some(problem));
        }
    }
    Ok(())
}

/// Since when what is in force has expired, in seconds since 1970, if it has.
pub fn stale_since(in_force: &InForce) -> Option<u64> {
    (in_force.expires <= now()).then_some(in_force.expires)
}

/// What was signed of the files in a directory of a set, which were verified when they came.
pub fn in_force_in(files: &Path, pins: &Pins) -> Option<InForce> {
    crate::store::believed_in(files, pins).ok().map(|it| it.in_force())
}

/// How long until a report is due when nothing happens, with jitter.
pub fn report_pause() -> Duration {
    EVERY.mul_f64(0.75 + jitter() / 4.0)
}
