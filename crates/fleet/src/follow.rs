//! Following a channel: what was published comes, is verified, checked and swapped in; what isn't
//! sound is refused, and the last good one stays.
//!
//! What is in force is in memory, as it was verified. The disk has a copy for the next start and
//! for programs that are started from it; a change of that copy is told and undone, and counts for
//! nothing.
//!
//! No consumer is made. The server's notice says that something changed, and a direct get at each
//! connection, at each notice and every half minute reads it; so a notice that is lost costs half a
//! minute, not a version.

use crate::bundle::{Files, Stage};
use crate::digest::Sha256;
use crate::hosts::{EVERY, InForce, Refused, unix_now};
use crate::server::{Link, PATIENCE, Server, ServerError, is_at_least, jitter, version_numbers};
use crate::store::{Believed, Current, NotInForce, Store, unwritten_set};
pub use crate::store::{Bundle, Pins};
use crate::streams::{self, BLOBS, DEFS};
use futures_util::{FutureExt, StreamExt};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What a host makes of files that are bytes to this crate.
pub trait Judge: Send + Sync + 'static {
    /// Whether definitions are sound and may be in force here. `dir` has the files, too. May take
    /// long.
    ///
    /// # Errors
    /// Why not, for people.
    fn check(&self, files: &Files, dir: &Path) -> Result<(), String>;

    /// Whether definitions that were found sound before may be in force by this host's settings.
    /// Takes a moment.
    ///
    /// # Errors
    /// Why not, for people.
    fn permits(&self, files: &Files, dir: &Path) -> Result<(), String>;

    /// The version of the host's program.
    fn version(&self) -> &str;
}

/// How a followed channel is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// What is in force.
    pub in_force: Option<InForce>,
    /// The same, with its files.
    pub bundle: Option<Arc<Bundle>>,
    /// The newest that was refused, while it is newer than what is in force.
    pub refused: Option<Refused>,
    /// What this machine had kept can't be believed, and nothing is in force; why.
    pub broken: Option<String>,
    /// How somebody has changed what the disk has of the set in force, since that is in force.
    pub changed: Option<String>,
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
    /// What was refused, and until when, so that it isn't fetched and checked each time.
    refused: VecDeque<(Instant, Refused)>,
    /// A look at the disk that hasn't come back.
    verifying: Option<JoinHandle<std::io::Result<Status>>>,
}

/// How many refusals are remembered, and for how long: a clock that was wrong may be mended.
const MAX_REFUSED: usize = 16;
const REFUSED_FOR: Duration = Duration::from_secs(600);
/// The same of what the next look may find otherwise: a disk that was full.
const REFUSED_NOW: Duration = Duration::from_secs(15);
/// How long the disk may take to say what it has.
const VERIFIED_WITHIN: Duration = Duration::from_secs(30);

impl Follower {
    /// Opens the directory, and verifies what is kept in it. Where that is broken, nothing is in
    /// force.
    ///
    /// # Errors
    /// The directory can't be made or written.
    pub fn open(dir: &Path, pins: Pins, judge: Arc<dyn Judge>) -> std::io::Result<Follower> {
        let store = Store::open(dir, pins)?;
        let mut status = Status {
            unread: Some("no server was asked yet".into()),
            ..Status::default()
        };
        verify_disk(&store, &*judge, &mut status)?;
        let status = watch::Sender::new(status);
        Ok(Follower {
            store,
            judge,
            status,
            refused: VecDeque::new(),
            verifying: None,
        })
    }

    /// Where people find the files in force on the disk. The directory may not be there, and
    /// another one takes its place at once.
    pub fn files(&self) -> PathBuf {
        self.store.files()
    }

    /// Where nothing was ever kept, goes on from the newest set that one of these other directories
    /// has and these pins believe: after a change of keys, what both the old and the new ones have
    /// signed stays in force.
    pub fn adopt_newest(&mut self, others: &[PathBuf]) {
        if self.status.borrow().bundle.is_some()
            || !matches!(self.store.current(), Current::Nothing)
        {
            return;
        }
        let kept = others.iter().filter_map(|dir| {
            Store::open(dir, self.store.pins().clone())
                .ok()?
                .current()
                .good_bundle()
        });
        let Some(newest) = kept.max_by_key(|it| it.in_force().revision) else {
            return;
        };
        match swap_set(
            &self.store,
            &*self.judge,
            &newest.believed,
            &newest.files.contents,
        ) {
            Ok(bundle) => self.in_force(bundle),
            Err(error) => tracing::warn!(
                "What was in force by other keys isn't by these: {}",
                error.reason()
            ),
        }
    }

    /// Looks once, if a server is reached in this time.
    pub async fn first_look(&mut self, server: &Server, within: Duration) {
        let look = async {
            if server.wait_until_ready(within).await.is_ok() {
                self.read_channel(server).await;
            }
        };
        // A set that is written too late is found on the disk.
        let _ = tokio::time::timeout(within, look).await;
    }

    /// How the channel is, now and at each change.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Follows for as long as it is polled. While the server is away, what is in force stays, and
    /// is verified.
    pub async fn run(mut self, server: Server) {
        let mut link = server.link();
        loop {
            let connection = link.borrow_and_update().clone();
            let mut notices = None;
            if let Link::Up(_) = connection {
                let _ = server.wait_until_ready(PATIENCE).await;
                let changed = streams::changed_subject(&self.store.pins().channel);
                match server.client().subscribe(changed).await {
                    Ok(subscription) => notices = Some(subscription),
                    Err(_) => return,
                }
            }
            // Until the connection is another one: the subscription may have missed something then.
            loop {
                self.verify_current().await;
                if notices.is_some() {
                    self.read_channel(&server).await;
                } else {
                    let reason = server.usable().err().map(|it| it.to_string());
                    self.change_status(|status| status.unread = reason);
                }
                let notice = async {
                    match &mut notices {
                        Some(notices) => {
                            let is_one = notices.next().await.is_some();
                            // What came with it is the same news: a flood of notices costs few
                            // looks.
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

    /// Holds what is in force to what was signed. A disk that doesn't answer keeps nobody from
    /// following.
    async fn verify_current(&mut self) {
        // What it finds belongs to the time that it began in.
        if self
            .verifying
            .as_ref()
            .is_some_and(|verifying| !verifying.is_finished())
        {
            return;
        }
        let (store, judge, mut status) = (
            self.store.clone(),
            self.judge.clone(),
            self.status.borrow().clone(),
        );
        let mut verified = tokio::task::spawn_blocking(move || {
            let done = verify_disk(&store, &*judge, &mut status);
            done.map(|()| status)
        });
        let Ok(done) = tokio::time::timeout(VERIFIED_WITHIN, &mut verified).await else {
            let seconds = VERIFIED_WITHIN.as_secs();
            tracing::error!(
                "The definitions of the fleet can't be verified: the disk hasn't answered for {seconds} s."
            );
            self.verifying = Some(verified);
            return;
        };
        match done {
            Ok(Ok(now)) => self.change_status(|status| *status = now),
            Ok(Err(error)) => {
                tracing::error!(%error, "The definitions of the fleet can't be verified.")
            }
            Err(error) => tracing::error!(%error, "The definitions of the fleet weren't verified."),
        }
    }

    /// Reads the channel once, and puts in force what is newer.
    pub async fn read_channel(&mut self, server: &Server) {
        let unread = match self.try_look(server).await {
            Ok(()) => None,
            Err(error) => Some(error.to_string()),
        };
        self.change_status(|status| status.unread = unread);
    }

    async fn try_look(&mut self, server: &Server) -> Result<(), ServerError> {
        let channel = &self.store.pins().channel;
        let subjects = [
            (streams::channel_key(channel), false),
            (streams::canary_key(channel), true),
        ];
        let mut found: Vec<Believed> = Vec::new();
        let mut refusal = None;
        for (subject, is_canary) in subjects {
            let Some(message) = server.last_message(DEFS, &subject, PATIENCE).await? else {
                continue;
            };
            let digest = Sha256::of_bytes(&message.payload);
            let known = self
                .refused
                .iter()
                .find(|(until, it)| it.digest == digest && Instant::now() < *until);
            if let Some((_, known)) = known {
                refusal = newer_refusal(refusal, known.clone());
                continue;
            }
            match self.read_believed(&message.payload, is_canary, server) {
                Ok(believed) => found.extend(believed),
                Err(reason) => {
                    let which = if is_canary { "the canary: " } else { "" };
                    let refused = Refused {
                        revision: None,
                        digest,
                        reason: format!("{which}{reason}"),
                    };
                    self.remember_refusal(refused.clone(), REFUSED_FOR);
                    refusal = newer_refusal(refusal, refused);
                }
            }
        }
        // Each by itself: a canary that is refused is no reason to go without what all hosts have.
        found.sort_by_key(|it| std::cmp::Reverse(it.manifest.revision));
        for (n_refused, believed) in found.into_iter().enumerate() {
            let (revision, digest) = (
                believed.manifest.revision,
                Sha256::of_bytes(&believed.envelope),
            );
            if n_refused > 0
                && self
                    .status
                    .borrow()
                    .in_force
                    .as_ref()
                    .is_some_and(|in_force| in_force.revision > revision)
            {
                break;
            }
            match self.take_manifest(server, believed).await? {
                Ok(()) => break,
                Err(error) => {
                    let period = match error {
                        NotInForce::Refused(_) => REFUSED_FOR,
                        NotInForce::Now(_) => REFUSED_NOW,
                    };
                    let refused = Refused {
                        revision: Some(revision),
                        digest,
                        reason: error.reason(),
                    };
                    self.remember_refusal(refused.clone(), period);
                    refusal = newer_refusal(refusal, refused);
                }
            }
        }
        self.change_status(|status| status.refused = refusal);
        Ok(())
    }

    /// Reads what stands in a place of the channel. `None`: it isn't for this host.
    fn read_believed(
        &self,
        bytes: &[u8],
        is_canary: bool,
        server: &Server,
    ) -> Result<Option<Believed>, String> {
        let believed = Believed::from_envelope(bytes, self.store.pins())?;
        match (believed.manifest.stage, is_canary) {
            (Stage::All, false) => Ok(Some(believed)),
            // By the machine: its hosts share what is in force.
            (Stage::Canary { .. }, true) => {
                Ok(Some(believed).filter(|it| it.manifest.is_for(server.host().as_str())))
            }
            _ => Err("it was signed for another stage of the channel than where it stands".into()),
        }
    }

    /// Puts a manifest in force that is believed, unless it is already. The inner error says why
    /// not; the outer one is of the server and passes.
    async fn take_manifest(
        &mut self,
        server: &Server,
        believed: Believed,
    ) -> Result<Result<(), NotInForce>, ServerError> {
        let current = self.status.borrow().bundle.clone();
        if current
            .as_ref()
            .is_some_and(|current| current.believed.digest == believed.digest)
        {
            return Ok(Ok(()));
        }
        if let Err(reason) =
            self.may_follow(&believed, current.as_ref().map(|current| &current.believed))
        {
            return Ok(Err(reason.into()));
        }
        let mut contents = BTreeMap::new();
        for entry in &believed.manifest.files {
            if contents.contains_key(&entry.sha256) {
                continue;
            }
            let known = current
                .as_ref()
                .and_then(|current| current.files.contents.get(&entry.sha256).cloned());
            let content = match known {
                Some(content) => content,
                None => match fetch_file(server, entry).await? {
                    Ok(content) => content,
                    Err(reason) => return Ok(Err(reason.into())),
                },
            };
            contents.insert(entry.sha256, content);
        }
        let (store, judge) = (self.store.clone(), self.judge.clone());
        let swapped =
            tokio::task::spawn_blocking(move || swap_set(&store, &*judge, &believed, &contents))
                .await;
        match swapped {
            Ok(Ok(bundle)) => {
                self.in_force(bundle);
                Ok(Ok(()))
            }
            Ok(Err(error)) => Ok(Err(error)),
            Err(error) => Ok(Err(format!("the check of it ended: {error}").into())),
        }
    }

    /// Whether a manifest may come after what was in force.
    fn may_follow(&self, believed: &Believed, current: Option<&Believed>) -> Result<(), String> {
        let manifest = &believed.manifest;
        after_highest(&self.store, believed, current)?;
        if manifest.expires <= unix_now() {
            return Err(format!(
                "revision {} expired before it came here; publish it anew",
                manifest.revision
            ));
        }
        if let Some(least) = &manifest.min_host {
            let version = self.judge.version();
            let is_enough = version_numbers(least).is_some_and(|least| is_at_least(version, least));
            if !is_enough {
                return Err(format!(
                    "it needs hookwire {least} or newer, this is {version}"
                ));
            }
        }
        Ok(())
    }

    fn in_force(&self, bundle: Bundle) {
        self.change_status(|status| status.swap_bundle(bundle));
    }

    fn remember_refusal(&mut self, refused: Refused, period: Duration) {
        // Once, as long as the reason is the same.
        if !self.refused.iter().any(|(_, it)| *it == refused) {
            tracing::warn!(revision = ?refused.revision, "A published bundle is refused: {}", refused.reason);
        }
        self.refused.retain(|(_, it)| it.digest != refused.digest);
        if self.refused.len() == MAX_REFUSED {
            self.refused.pop_front();
        }
        self.refused.push_back((Instant::now() + period, refused));
    }

    fn change_status(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_if_modified(|status| {
            let before = status.clone();
            change(status);
            *status != before
        });
    }
}

impl Status {
    /// Another set is in force.
    fn swap_bundle(&mut self, bundle: Bundle) {
        self.swaps += 1;
        (self.broken, self.changed) = (None, None);
        self.in_force = Some(bundle.in_force().clone());
        self.bundle = Some(Arc::new(bundle));
    }
}

/// The refusal that people should hear of: the one of the higher revision, else the one of what all
/// hosts have.
fn newer_refusal(one: Option<Refused>, other: Refused) -> Option<Refused> {
    match one {
        Some(one) if one.revision >= other.revision => Some(one),
        _ => Some(other),
    }
}

/// Old definitions must not come back: a revision is above all that ever were in force here, or it
/// is the highest itself.
fn after_highest(
    store: &Store,
    believed: &Believed,
    current: Option<&Believed>,
) -> Result<(), String> {
    let highest = store
        .highest()
        .map_err(|error| format!("nobody knows which revisions were in force here: {error}"))?;
    let revision = believed.manifest.revision;
    let of_current = current.map(|current| (current.manifest.revision, current.digest));
    for (known, digest) in highest
        .map(|highest| (highest.revision, highest.digest))
        .into_iter()
        .chain(of_current)
    {
        if revision < known {
            return Err(format!(
                "revision {revision} is older than revision {known}, which was in force here"
            ));
        }
        if revision == known && believed.digest != digest {
            return Err(format!("another revision {revision} was in force here"));
        }
    }
    Ok(())
}

/// Gets a file, and holds it to its size and digest.
async fn fetch_file(
    server: &Server,
    entry: &crate::bundle::Entry,
) -> Result<Result<Vec<u8>, String>, ServerError> {
    let subject = streams::blob_key(&entry.sha256);
    let Some(message) = server.last_message(BLOBS, &subject, PATIENCE).await? else {
        // A replica may be behind the manifest's; a later look finds it.
        return Err(ServerError::Other(format!(
            "{} isn't there yet ({subject})",
            entry.path
        )));
    };
    if message.payload.len() as u64 != entry.size {
        return Ok(Err(format!(
            "{} came with {} bytes, not {}",
            entry.path,
            message.payload.len(),
            entry.size
        )));
    }
    if Sha256::of_bytes(&message.payload) != entry.sha256 {
        return Ok(Err(format!(
            "{} came with other bytes than those that were signed",
            entry.path
        )));
    }
    Ok(Ok(message.payload.to_vec()))
}

/// Puts a set in force, unless another host of this user was faster. The lock is held for the swap
/// only, because the check may take long.
fn swap_set(
    store: &Store,
    judge: &dyn Judge,
    believed: &Believed,
    contents: &BTreeMap<Sha256, Vec<u8>>,
) -> Result<Bundle, NotInForce> {
    let staged = store.stage_set(believed, contents, |files, dir| judge.check(files, dir))?;
    let _lock = store.lock().map_err(unwritten_set)?;
    let current = match store.current() {
        Current::Good(current) if current.believed.digest == believed.digest => {
            return Ok(*current);
        }
        Current::Good(current) | Current::Older(current, _) => Some(current),
        Current::Nothing | Current::Broken(_) => None,
    };
    after_highest(
        store,
        believed,
        current.as_ref().map(|current| &current.believed),
    )?;
    store.adopt_staged(believed, staged)
}

/// Holds what the disk has to what was signed. What is in memory was verified: where the disk has
/// something else, that is told and written anew, unless another host of this user has put a newer
/// set there.
fn verify_disk(store: &Store, judge: &dyn Judge, status: &mut Status) -> std::io::Result<()> {
    let _lock = store.lock()?;
    let current = store.current();
    let Some(known) = status.bundle.clone() else {
        let problem = match current {
            Current::Nothing => return Ok(()),
            // Whoever can write here could have put a signed set here that this host had refused.
            Current::Good(found) => match judge.permits(&found.files, &found.dir) {
                Ok(()) => {
                    status.swap_bundle(*found);
                    return Ok(());
                }
                Err(problem) => problem,
            },
            Current::Older(_, problem) | Current::Broken(problem) => problem,
        };
        if status.broken.as_ref() != Some(&problem) {
            tracing::error!("The definitions of the fleet are broken: {problem}");
            status.broken = Some(problem);
        }
        return Ok(());
    };
    let problem = match current {
        Current::Good(found) if found.believed.digest == known.believed.digest => {
            store.keep_highest(&known.believed)?;
            if *known != *found {
                // Another host of this user has written it anew.
                let changed = status.changed.take();
                status.swap_bundle(*found);
                status.changed = changed;
            }
            return Ok(());
        }
        Current::Good(found) if found.in_force().revision > known.in_force().revision => {
            match judge.permits(&found.files, &found.dir) {
                Ok(()) => {
                    status.swap_bundle(*found);
                    return Ok(());
                }
                Err(problem) => problem,
            }
        }
        Current::Good(found) => format!(
            "revision {} was put there, which isn't in force",
            found.in_force().revision
        ),
        // The set is the one that is in force: somebody has changed what is written down of it.
        Current::Older(found, problem) if found.believed.digest == known.believed.digest => {
            store.keep_highest(&known.believed)?;
            if status.changed.as_ref() != Some(&problem) {
                tracing::error!(
                    "Somebody has changed what this machine's disk knows of the fleet's definitions: {problem}."
                );
                status.changed = Some(problem);
            }
            return Ok(());
        }
        Current::Older(_, problem) => problem,
        Current::Broken(problem) => problem,
        Current::Nothing => "they are gone".into(),
    };
    tracing::error!(
        "Somebody has changed the fleet's definitions on this machine's disk: {problem}. What was signed stays in force."
    );
    status.changed = Some(problem.clone());
    match store.write_anew(&known) {
        Ok(anew) => {
            status.swap_bundle(anew);
            status.changed = Some(problem);
        }
        Err(error) => tracing::error!("They can't be written anew: {}", error.reason()),
    }
    Ok(())
}

/// Since when what is in force has expired, in seconds since 1970, if it has.
pub fn stale_since(in_force: &InForce) -> Option<u64> {
    (in_force.expires <= unix_now()).then_some(in_force.expires)
}

/// How long until a report is due when nothing happens, with jitter.
pub fn report_pause() -> Duration {
    EVERY.mul_f64(0.75 + jitter() / 4.0)
}

#[cfg(test)]
mod tests {
    use super::{Current, Follower, Judge, NotInForce, Status, swap_set, verify_disk};
    use crate::bundle::{Files, KIND, Manifest, Stage};
    use crate::envelope::{Signers, sign_payload};
    use crate::hosts::unix_now;
    use crate::key::SecretKey;
    use crate::store::{Believed, Pins, Store};
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::sync::Arc;
    use tempfile::TempDir;

    struct Simple;

    impl Judge for Simple {
        fn check(&self, files: &Files, _: &Path) -> Result<(), String> {
            let is_bad = files.iter().any(|(_, text)| text == b"bad");
            if is_bad {
                Err("it doesn't compile".into())
            } else {
                Ok(())
            }
        }

        fn permits(&self, _: &Files, _: &Path) -> Result<(), String> {
            Ok(())
        }

        fn version(&self) -> &str {
            "0.1.0"
        }
    }

    /// A machine that has had revisions.
    struct Machine {
        dir: TempDir,
        key: SecretKey,
        store: Store,
    }

    impl Machine {
        fn new() -> Machine {
            let (dir, key) = (TempDir::new().unwrap(), SecretKey::generate().unwrap());
            let store = Store::open(dir.path(), Machine::pins(&key)).unwrap();
            Machine { dir, key, store }
        }

        fn pins(key: &SecretKey) -> Pins {
            Pins {
                channel: "main".parse().unwrap(),
                signers: Signers::new([key.public()], 1).unwrap(),
            }
        }

        fn take(&self, revision: u64, text: &str) -> Result<(), NotInForce> {
            let published = TempDir::new().unwrap();
            fs::write(published.path().join("guard.yaml"), text).unwrap();
            let files = Files::read_dir(published.path()).unwrap();
            let manifest = Manifest {
                channel: "main".parse().unwrap(),
                revision,
                stage: Stage::All,
                created: unix_now(),
                expires: unix_now() + 3600,
                min_host: None,
                message: None,
                files: files.entries.clone(),
            };
            let believed = Believed::from_envelope(
                &sign_payload(KIND, &manifest.to_payload(), &[&self.key]),
                self.store.pins(),
            )
            .unwrap();
            swap_set(&self.store, &Simple, &believed, &files.contents).map(drop)
        }

        /// What is in force after a start, or why nothing is.
        fn started(&self) -> Result<u64, String> {
            let pins = Machine::pins(&self.key);
            let follower = Follower::open(self.dir.path(), pins, Arc::new(Simple))
                .map_err(|error| error.to_string())?;
            let status = follower.status.borrow().clone();
            status
                .in_force
                .map(|in_force| in_force.revision)
                .ok_or_else(|| status.broken.unwrap_or_default())
        }

        /// Does to the disk what words say.
        fn change(&self, words: &str) {
            let dir = self.dir.path();
            match *words.split(' ').collect::<Vec<_>>() {
                ["turn", revision] => {
                    let sets = fs::read_dir(dir.join("sets"))
                        .unwrap()
                        .map(|it| it.unwrap().file_name());
                    let mut names = sets.map(|set| set.into_string().unwrap());
                    let name = names
                        .find(|name| name.starts_with(&format!("{revision}-")))
                        .unwrap();
                    fs::remove_file(dir.join("current")).unwrap();
                    symlink(Path::new("sets").join(name), dir.join("current")).unwrap();
                }
                ["remove", file] => fs::remove_file(dir.join(file)).unwrap(),
                ["pipe", file] => {
                    let _ = fs::remove_file(dir.join(file));
                    mknodat(CWD, dir.join(file), FileType::Fifo, Mode::RWXU, 0).unwrap();
                }
                ["raise"] => {
                    let text = fs::read_to_string(dir.join("highest.json")).unwrap();
                    fs::write(
                        dir.join("highest.json"),
                        text.replace("\"revision\":2", "\"revision\":9"),
                    )
                    .unwrap();
                }
                _ => panic!("{words}"),
            }
        }
    }

    /// Each row: what becomes of the disk, what a start then says, and what one says after a host
    /// has looked at it that has revision 2 in memory.
    #[test]
    fn what_the_disk_has_is_believed_as_far_as_it_was_in_force() {
        let is_older = "revision 1 is there, and revision 2 was in force";
        let is_gone = "highest.json is gone, which says what the highest revision in force was";
        let is_raised = Err("revision 2 is there, and revision 9 was in force");
        for (changes, started, mended) in [
            (&["turn 1"][..], is_older, Ok(2)),
            (&["turn 1", "remove highest.json"], is_gone, Ok(2)),
            (&["remove highest.json"], is_gone, Ok(2)),
            (
                &["remove current"],
                "revision 2 was in force and is gone",
                Ok(2),
            ),
            (
                &["raise"],
                "revision 2 is there, and revision 9 was in force",
                is_raised,
            ),
            (
                &["pipe highest.json"],
                "highest.json: it is not a regular file",
                Ok(2),
            ),
            (
                &["pipe current/envelope.json"],
                "envelope.json: it is not a regular file",
                Ok(2),
            ),
            (
                &["pipe current/files/guard.yaml"],
                "guard.yaml is missing",
                Ok(2),
            ),
            (&["pipe current/files/more.yaml"], "", Ok(2)),
        ] {
            let machine = Machine::new();
            for (revision, text) in [(1, "one"), (2, "two")] {
                machine.take(revision, text).unwrap();
            }
            assert_eq!(machine.started(), Ok(2));
            let Current::Good(bundle) = machine.store.current() else {
                panic!("{changes:?}")
            };
            let mut status = Status::default();
            status.swap_bundle(*bundle);
            changes.iter().for_each(|change| machine.change(change));
            let said = machine.started();
            match started {
                "" => assert_eq!(said, Ok(2), "{changes:?}"),
                _ => assert!(
                    said.as_ref().is_err_and(|it| it.contains(started)),
                    "{changes:?}: {said:?}"
                ),
            }
            verify_disk(&machine.store, &Simple, &mut status).unwrap();
            assert_eq!(
                status.in_force.map(|it| it.revision),
                Some(2),
                "{changes:?}"
            );
            assert_eq!(status.changed.is_some(), !started.is_empty(), "{changes:?}");
            let said = machine.started();
            assert_eq!(
                said.as_ref().map(|it| *it).map_err(String::as_str),
                mended,
                "{changes:?}"
            );
            // No older one comes back, whatever was written down.
            assert!(machine.take(1, "one").is_err(), "{changes:?}");
        }
        let machine = Machine::new();
        machine.change("pipe lock");
        assert!(machine.started().is_err());
    }

    #[test]
    fn what_only_this_machine_is_like_is_tried_again_soon() {
        let machine = Machine::new();
        assert!(matches!(
            machine.take(1, "bad"),
            Err(NotInForce::Refused(_))
        ));
        fs::remove_dir(machine.dir.path().join("sets")).unwrap();
        assert!(matches!(machine.take(1, "good"), Err(NotInForce::Now(_))));
    }
}
