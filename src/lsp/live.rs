//! Running hosts of the workspace's folders: their real events, verdicts and counts.
//!
//! Attaches over their sockets, and again when one restarts. What they told stays when they are gone.
//! A host announces each event as it judges it, but under load it leaves some out; then it is asked for the events after
//! the last that was heard.

use super::project::{Project, key_of_root};
use super::workspaces::Workspaces;
use crate::dialects;
use crate::event::Event;
use crate::host::Changed;
use crate::journal::{Counts, HookCounts, MAX_WHOLE, Recent, Record, Ring, Tally};
use crate::support::amounts::rfc3339;
use crate::transport::client::{Received, Requests};
use crate::transport::framing::{Decoder, Incoming};
use crate::transport::socket;
use crate::verdict::Verdict;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

/// How often new sockets are looked for.
const LOOK: Duration = Duration::from_secs(1);
/// How often at most the editor is told that something has changed.
const REFRESH: Duration = Duration::from_millis(500);
/// How often at most a host is asked for what was missed.
const CATCH_UP: Duration = Duration::from_millis(250);
/// How long after the last event a host is asked whether it was the last.
const CONFIRM: Duration = Duration::from_secs(1);
/// A host answers at once; what doesn't is stuck.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest wait before a socket that is no good is tried again.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// The longest message that is read, in bytes.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// Hosts that are attached at once.
const MAX_ATTACHED: usize = 32;
/// Hosts whose counts are known apart.
const MAX_KNOWN: usize = 64;
/// Tools that are remembered.
const MAX_TOOLS: usize = 1000;
/// The longest name, in bytes.
const MAX_NAME: usize = 512;
/// The longest project root that is shown, in characters.
const MAX_ROOT: usize = 4096;
/// Reloads that wait for one host.
const MAX_RELOADS: usize = 8;
const READ_SIZE: usize = 64 * 1024;

/// The events and counts of all hosts that are or were attached.
#[derive(Default)]
pub(super) struct Live {
    told: Mutex<Told>,
    changed: Notify,
}

/// An event that a running host has judged.
#[derive(Debug)]
pub(super) struct Judged {
    /// The key of the host's project.
    pub folder: Arc<str>,
    /// The process of the host.
    pub host: u32,
    /// Counts the events of that host.
    pub seq: u64,
    /// When: RFC 3339, in UTC, to the millisecond.
    pub at: String,
    /// The event, as hooks read it.
    pub event: Arc<Event>,
    /// The verdict.
    pub verdict: Verdict,
    /// It was too large to be told: `event` has no more than its name and its tool's.
    pub truncated: bool,
}

/// A running host.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LiveHost {
    /// Its process.
    pub pid: u32,
    /// Its project root.
    pub root: String,
    /// The generation of its hooks.
    pub generation: u64,
}

#[derive(Default)]
struct Told {
    /// Every host that was heard of, the oldest first.
    known: Vec<Known>,
    /// The counts of hosts that have been forgotten, by project.
    past: HashMap<Arc<str>, Tally>,
    past_events: u64,
    events: Ring<Judged>,
    tools: BTreeSet<String>,
}

/// Identifies one run of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    pid: u32,
    started: String,
}

struct Known {
    key: Key,
    host: LiveHost,
    folder: Arc<str>,
    is_here: bool,
    /// Has it load its definitions.
    reloads: Option<mpsc::Sender<Reload>>,
    /// The number of its last event that was heard.
    heard: u64,
    tally: Tally,
}

/// Told whether it did.
type Reload = oneshot::Sender<bool>;

impl Live {
    /// No host is attached yet.
    pub(super) fn new() -> Arc<Live> {
        Arc::default()
    }

    /// The hosts that are attached now.
    pub(super) fn hosts(&self) -> Vec<LiveHost> {
        let told = self.told.lock();
        let mut hosts: Vec<_> = told.known.iter().filter(|it| it.is_here).map(|it| it.host.clone()).collect();
        hosts.sort_by_key(|it| it.pid);
        hosts
    }

    /// The last events of a folder that are known whole, newest first.
    pub(super) fn recent(&self, folder: &str) -> Vec<Arc<Judged>> {
        let mut events = self.timeline();
        events.retain(|it| !it.truncated && *it.folder == *folder);
        events
    }

    /// The last events of every folder, with those that were too large to be told.
    pub(super) fn timeline(&self) -> Vec<Arc<Judged>> {
        let mut events = self.told.lock().events.all();
        events.sort_by(|a, b| (&b.at, b.host, b.seq).cmp(&(&a.at, a.host, a.seq)));
        events
    }

    /// How many events were judged.
    pub(super) fn total(&self) -> u64 {
        let told = self.told.lock();
        told.known.iter().fold(told.past_events, |sum, it| sum.saturating_add(it.heard))
    }

    /// The counts of a hook in a project.
    pub(super) fn counts(&self, folder: &str, hook: &str) -> Counts {
        let told = self.told.lock();
        let mut counts = told.past.get(folder).map(|tally| tally.counts_of(hook)).unwrap_or_default();
        told.known.iter().filter(|it| *it.folder == *folder).for_each(|it| counts += it.tally.counts_of(hook));
        counts
    }

    /// The names of tools that were called.
    pub(super) fn tools(&self) -> BTreeSet<String> {
        self.told.lock().tools.clone()
    }

    /// Has every attached host load its definitions; how many did.
    pub(super) async fn reload(&self) -> usize {
        let ask = |known: &Known| {
            let (sender, reply) = oneshot::channel();
            known.reloads.as_ref()?.try_send(sender).ok()?;
            Some(timeout(PATIENCE, reply))
        };
        let asked: Vec<_> = self.told.lock().known.iter().filter_map(ask).collect();
        let replies = futures_util::future::join_all(asked).await;
        replies.into_iter().filter(|reply| matches!(reply, Ok(Ok(true)))).count()
    }

    /// A host is here. `None` if it is already.
    fn greet(self: &Arc<Live>, recent: &Recent<'_>, reloads: Option<mpsc::Sender<Reload>>) -> Option<Attached> {
        let key = Key { pid: recent.pid, started: recent.started.chars().take(MAX_NAME).collect() };
        let mut told = self.told.lock();
        match told.known.iter_mut().find(|it| it.key == key) {
            Some(known) if known.is_here => return None,
            Some(known) => (known.is_here, known.reloads) = (true, reloads),
            None => {
                if told.known.len() >= MAX_KNOWN {
                    let at = told.known.iter().position(|it| !it.is_here)?;
                    let oldest = told.known.remove(at);
                    if told.past.len() < MAX_KNOWN || told.past.contains_key(&oldest.folder) {
                        let past = told.past.entry(oldest.folder).or_default();
                        oldest.tally.iter().for_each(|(hook, counts)| past.add(hook, counts));
                    }
                    told.past_events = told.past_events.saturating_add(oldest.heard);
                }
                let root = recent.root.chars().take(MAX_ROOT).collect();
                let folder = key_of_root(Path::new(&root)).into();
                let host = LiveHost { pid: key.pid, root, generation: recent.generation };
                let (key, tally) = (key.clone(), Tally::default());
                told.known.push(Known { key, host, folder, is_here: true, reloads, heard: 0, tally });
            }
        }
        self.changed.notify_one();
        Some(Attached { live: self.clone(), key })
    }
}

/// A host that is here, until this is dropped.
struct Attached {
    live: Arc<Live>,
    key: Key,
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.update(|known| (known.is_here, known.reloads) = (false, None));
    }
}

impl Attached {
    /// Changes what is known of it.
    fn update(&self, change: impl FnOnce(&mut Known)) {
        let mut told = self.live.told.lock();
        if let Some(known) = told.known.iter_mut().find(|it| it.key == self.key) {
            change(known);
        }
        self.live.changed.notify_one();
    }

    fn folder(&self) -> Arc<str> {
        let told = self.live.told.lock();
        told.known.iter().find(|it| it.key == self.key).map(|it| it.folder.clone()).unwrap_or_default()
    }

    /// The number of the last event that was heard.
    fn heard(&self) -> u64 {
        self.live.told.lock().known.iter().find(|it| it.key == self.key).map_or(0, |it| it.heard)
    }

    /// Takes in what it tells when it is asked.
    fn recent(&self, recent: &Recent<'_>) {
        if self.knows(recent) {
            return;
        }
        let heard = self.heard();
        let new = recent.records.iter().filter(|it| it.seq > heard && it.seq <= recent.total);
        let folder = self.folder();
        let new: Vec<_> = new.filter_map(|it| read(it, &folder, self.key.pid)).collect();
        self.keep(new, recent.tools.iter().map(|it| &**it));
        self.update(|known| {
            known.host.generation = recent.generation;
            known.heard = known.heard.max(recent.total);
            // Of very many hooks it tells only some.
            recent.hooks.iter().for_each(|it| known.tally.raise(&it.hook, it.counts));
        });
    }

    /// Whether it tells what is known already.
    fn knows(&self, recent: &Recent<'_>) -> bool {
        let told = self.live.told.lock();
        let Some(known) = told.known.iter().find(|it| it.key == self.key) else { return false };
        let is_same = |it: &HookCounts<'_>| known.tally.counts_of(&it.hook) == it.counts;
        known.heard == recent.total && known.host.generation == recent.generation && recent.hooks.iter().all(is_same)
    }

    /// Takes in the next event. Whether it is the next: otherwise some were missed.
    fn judged(&self, record: &Record<'_>) -> bool {
        match record.seq.checked_sub(self.heard()) {
            None | Some(0) => return true,
            Some(1) => {}
            Some(_) => return false,
        }
        let judged = read(record, &self.folder(), self.key.pid);
        self.keep(judged.clone(), record.tool.as_deref().into_iter());
        self.update(|known| {
            known.heard = record.seq;
            judged.iter().for_each(|(_, it)| known.tally.count(&it.verdict.outcomes));
        });
        true
    }

    fn keep<'a>(&self, events: impl IntoIterator<Item = (usize, Arc<Judged>)>, tools: impl Iterator<Item = &'a str>) {
        let mut told = self.live.told.lock();
        for (bytes, judged) in events {
            told.events.push(judged.event.name.clone(), bytes, judged);
        }
        for tool in tools.filter(|it| it.len() <= MAX_NAME) {
            if told.tools.len() < MAX_TOOLS && !told.tools.contains(tool) {
                told.tools.insert(tool.to_string());
            }
        }
    }
}

/// An event as it was told, and its size. What can't be read is left out.
fn read(record: &Record<'_>, folder: &Arc<str>, host: u32) -> Option<(usize, Arc<Judged>)> {
    let bytes = record.params.map_or(0, |it| it.get().len()) + record.verdict.get().len();
    let judged = || {
        if bytes > MAX_WHOLE || record.event.len() > MAX_NAME && record.params.is_none() {
            return None;
        }
        let at = humantime::parse_rfc3339(&record.at).ok()?;
        let verdict: Verdict = serde_json::from_str(record.verdict.get()).ok()?;
        let mut event = match record.params {
            Some(params) => sent(params.get(), &record.dialect)?,
            None => {
                let tool = record.tool.as_ref().map(|name| json!({ "name": name }));
                Event::from_json(json!({ "event": record.event, "tool": tool })).ok()?
            }
        };
        event.id = verdict.event_id.clone();
        let at = rfc3339(at);
        let (folder, seq, truncated) = (folder.clone(), record.seq, record.params.is_none());
        Some(Judged { folder, host, seq, at, event: event.into(), verdict, truncated })
    };
    let judged = judged();
    if judged.is_none() {
        // Not what it says: it may be a secret.
        tracing::debug!(host, seq = record.seq, "An event that a host has judged can't be read.");
    }
    Some((bytes, judged?.into()))
}

/// An event as `hooks/dispatch` reads it.
fn sent(params: &str, dialect: &str) -> Option<Event> {
    dialects::sent(crate::support::json::parse(params).ok()?, dialect)
}

/// Attaches to the running hosts of the workspaces, and to those that start later. Calls `refresh` when something has
/// changed, but not more often than an editor can follow.
pub(super) async fn follow(live: &Arc<Live>, own: &Project, workspaces: &Workspaces, refresh: impl Fn()) {
    tokio::join!(announce(live, refresh), listen(live, own), look(live, workspaces));
}

async fn announce(live: &Live, refresh: impl Fn()) {
    loop {
        live.changed.notified().await;
        refresh();
        sleep(REFRESH).await;
    }
}

/// Hears what the connection's own host judges, because the editor may be an agent as well.
async fn listen(live: &Arc<Live>, own: &Project) {
    let journal = own.journal();
    let mut judged = journal.follow();
    let mut attached: Option<Attached> = None;
    loop {
        // All that has come until now is in the excerpt.
        judged = judged.resubscribe();
        let excerpt = journal.excerpt(attached.as_ref().map_or(0, Attached::heard), usize::MAX, |_| true);
        if excerpt.total > 0 {
            let (root, hooks) = (own.root().to_string_lossy(), own.hooks());
            let recent = excerpt.reply(&root, hooks.generation, &hooks.hash);
            attached = attached.or_else(|| live.greet(&recent, None));
            attached.iter().for_each(|it| it.recent(&recent));
        }
        sleep(CATCH_UP).await;
        if let Err(RecvError::Closed) = judged.recv().await {
            return;
        }
    }
}

/// A socket that was found.
#[derive(Default)]
struct Found {
    is_attached: bool,
    /// How often in a row it was no good.
    failures: u32,
    /// When it may be tried again.
    again: Option<Instant>,
}

/// How a connection came to its end.
enum End {
    /// The host has gone.
    Gone,
    /// No process listens.
    Refused,
    /// It is not what it should be.
    Unfit(String),
}

/// Looks for sockets.
async fn look(live: &Arc<Live>, workspaces: &Workspaces) {
    let mut found: HashMap<PathBuf, Found> = HashMap::new();
    let mut attached: JoinSet<(PathBuf, End)> = JoinSet::new();
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            Some(Ok((path, end))) = attached.join_next() => {
                let socket = found.entry(path.clone()).or_default();
                ended(&path, end, socket);
                continue;
            }
        }
        let keys: Vec<_> = workspaces.projects().iter().map(Project::key).collect();
        let paths = match socket::others(&keys) {
            Ok(paths) => paths,
            Err(error) => {
                tracing::debug!(%error, "Running hosts can't be looked for.");
                continue;
            }
        };
        found.retain(|path, socket| socket.is_attached || paths.contains(path));
        for path in paths {
            let socket = found.entry(path.clone()).or_default();
            let may_be_tried = socket.again.is_none_or(|again| again <= Instant::now());
            if socket.is_attached || !may_be_tried || attached.len() >= MAX_ATTACHED {
                continue;
            }
            socket.is_attached = true;
            let live = live.clone();
            attached.spawn(async move {
                let end = attend(&live, &path).await;
                (path, end)
            });
        }
    }
}

fn ended(path: &Path, end: End, socket: &mut Found) {
    socket.is_attached = false;
    socket.failures = match end {
        End::Gone => 0,
        // A killed host left it. The first time it could be one that is about to listen.
        End::Refused if socket.failures > 0 => {
            let _ = std::fs::remove_file(path);
            0
        }
        End::Refused => 1,
        End::Unfit(problem) => {
            tracing::debug!(socket = %path.display(), problem, "A running host was left.");
            socket.failures + 1
        }
    };
    let wait = LOOK.saturating_mul(2_u32.saturating_pow(socket.failures)).min(MAX_WAIT);
    socket.again = (socket.failures > 0).then(|| Instant::now() + wait);
}

/// One host, for as long as it is there.
async fn attend(live: &Arc<Live>, path: &Path) -> End {
    let stream = match timeout(PATIENCE, UnixStream::connect(path)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => return End::Refused,
        Ok(Err(error)) => return End::Unfit(error.to_string()),
        Err(_) => return End::Unfit("nobody takes the connection".into()),
    };
    match converse(live, stream).await {
        Ok(()) => End::Gone,
        Err(problem) => End::Unfit(problem),
    }
}

/// What a host was asked.
enum Asked {
    Initialize,
    Recent,
    Reload(Reload),
}

struct Peer {
    live: Arc<Live>,
    output: OwnedWriteHalf,
    requests: Requests<Asked>,
    reloads: mpsc::Sender<Reload>,
    /// Once it has told what it is.
    attached: Option<Attached>,
    /// The number of the last event that it was known to have judged.
    noticed: u64,
    /// When it was asked last for what came lately.
    asked_at: Instant,
    /// When it is to be asked again.
    due: Option<Instant>,
}

async fn converse(live: &Arc<Live>, stream: UnixStream) -> Result<(), String> {
    let (mut input, output) = stream.into_split();
    let (reloads, mut asked) = mpsc::channel(MAX_RELOADS);
    let mut peer = Peer {
        live: live.clone(),
        output,
        requests: Requests::default(),
        reloads,
        attached: None,
        noticed: 0,
        asked_at: Instant::now(),
        due: None,
    };
    let wanted = json!({ "hooks": { "notifications": ["hooks/judged", "hooks/changed"] } });
    peer.ask("initialize", &json!({ "capabilities": wanted }), Asked::Initialize).await?;
    peer.catch_up().await?;
    let mut decoder = Decoder::new(MAX_MESSAGE);
    let mut bytes = vec![0; READ_SIZE];
    loop {
        tokio::select! {
            read = input.read(&mut bytes) => {
                let read = match read {
                    Ok(0) | Err(_) => return peer.attached.map(drop).ok_or_else(|| "it has hung up".into()),
                    Ok(read) => read,
                };
                decoder.push(bytes.get(..read).unwrap_or_default());
                while let Some(incoming) = decoder.next_message() {
                    match incoming {
                        Incoming::Message(message) => peer.take(&message)?,
                        Incoming::Bad(bad) => return Err(bad.problem),
                    }
                }
            }
            Some(reload) = asked.recv() => peer.ask("hooks/reload", &json!({}), Asked::Reload(reload)).await?,
            () = sleep_until(peer.wakes_at()) => peer.wake().await?,
        }
    }
}

impl Peer {
    async fn ask(&mut self, method: &str, params: &Value, asked: Asked) -> Result<(), String> {
        let message = self.requests.add(method, params, asked);
        match timeout(PATIENCE, self.output.write_all(format!("{message}\n").as_bytes())).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("it doesn't read".into()),
        }
    }

    /// Asks for what came after what was heard.
    async fn catch_up(&mut self) -> Result<(), String> {
        (self.asked_at, self.due) = (Instant::now(), None);
        let heard = self.attached.as_ref().map_or(0, Attached::heard);
        self.ask("hooks/recent", &json!({ "after": heard }), Asked::Recent).await
    }

    fn waits(&self) -> bool {
        self.requests.waiting().any(|it| matches!(it, Asked::Initialize | Asked::Recent))
    }

    fn wakes_at(&self) -> Instant {
        if self.waits() { self.asked_at + PATIENCE } else { self.due.unwrap_or_else(|| Instant::now() + MAX_WAIT) }
    }

    async fn wake(&mut self) -> Result<(), String> {
        if self.waits() {
            return Err("it doesn't answer".into());
        }
        if self.due.is_some() { self.catch_up().await } else { Ok(()) }
    }

    /// Takes a message in. Problems are told without its words: they may be secrets.
    fn take(&mut self, message: &[u8]) -> Result<(), String> {
        let unreadable = |_| "a message can't be read".to_string();
        match Received::read(message).map_err(unreadable)? {
            Received::Notification { method, params } if method == "hooks/judged" => {
                let record: Record<'_> = serde_json::from_str(params).map_err(unreadable)?;
                self.noticed = self.noticed.max(record.seq);
                let is_next = self.attached.as_ref().is_some_and(|it| it.judged(&record));
                self.due = Some(if is_next { Instant::now() + CONFIRM } else { self.asked_at + CATCH_UP });
            }
            Received::Notification { method, params } if method == "hooks/changed" => {
                let changed: Changed = serde_json::from_str(params).map_err(unreadable)?;
                self.attached.iter().for_each(|it| it.update(|known| known.host.generation = changed.generation));
            }
            Received::Notification { .. } | Received::Other => {}
            Received::Reply { id, result } => match (self.requests.take(id), result) {
                (Some(Asked::Reload(reload)), result) => drop(reload.send(result.is_ok())),
                (Some(Asked::Initialize), Ok(_)) | (None, _) => {}
                (Some(Asked::Recent), Ok(recent)) => {
                    let recent: Recent<'_> = serde_json::from_str(recent.get()).map_err(unreadable)?;
                    if self.attached.is_none() {
                        self.attached = self.live.greet(&recent, Some(self.reloads.clone()));
                    }
                    let attached = self.attached.as_ref().ok_or("there are too many hosts, or it is here already")?;
                    attached.recent(&recent);
                    let missed = self.noticed > attached.heard();
                    self.due = missed.then(|| self.asked_at + CATCH_UP);
                }
                (Some(Asked::Initialize | Asked::Recent), Err(_)) => return Err("it refuses; is it older?".into()),
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seq: u64, params: Value, more: Value) -> String {
        let verdict = json!({
            "decision": "deny",
            "outcomes": [{ "hook": "h", "status": "blocking", "decision": "deny", "durationMicros": 1 }],
            "generation": 1,
            "hash": "",
            "eventId": format!("e{seq}"),
        });
        let mut record = json!({
            "seq": seq,
            "at": format!("2026-01-01T00:00:{:02}Z", seq % 60),
            "event": "PreToolUse",
            "tool": "Bash",
            "dialect": "native",
            "params": params,
            "verdict": verdict,
        });
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record.to_string()
    }

    fn native() -> Value {
        json!({ "event": "PreToolUse", "tool": { "name": "Bash", "input": { "command": "ls" } } })
    }

    /// What a host says of itself, its hook having matched so often.
    fn recent(pid: u32, started: &str, total: u64, records: &[String], matched: u64) -> String {
        let records = records.join(",");
        format!(
            r#"{{"root":"/r","pid":{pid},"started":"{started}","generation":1,"hash":"","total":{total},"records":[{records}],"hooks":[{{"hook":"h","matched":{matched}}}],"tools":["T"]}}"#
        )
    }

    fn greet(live: &Arc<Live>, text: &str) -> Option<Attached> {
        let recent: Recent<'_> = serde_json::from_str(text).unwrap();
        let attached = live.greet(&recent, None)?;
        attached.recent(&recent);
        Some(attached)
    }

    #[test]
    fn events_are_read_as_they_were_dispatched() {
        let payload = json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {} });
        let claude = json!({ "dialect": "claude-code", "payload": payload, "deadlineMs": 5 });
        let speaks = |name: &str| json!({ "dialect": name });
        for (params, more, expected) in [
            (native(), json!({}), Some((None, false))),
            (json!([native()]), json!({}), Some((None, false))),
            (claude.clone(), speaks("claude-code"), Some((Some("claude-code"), false))),
            (json!({ "payload": payload }), speaks("claude-code"), Some((Some("claude-code"), false))),
            (json!({ "payload": native(), "dialect": "native" }), json!({}), Some((None, false))),
            (Value::Null, json!({ "params": null, "truncated": true }), Some((None, true))),
            (claude.clone(), speaks("no-such"), None),
            (claude, json!({}), None),
            (json!([]), json!({}), None),
            (json!([native(), native()]), json!({}), None),
            (json!({ "event": "NoSuch" }), json!({}), None),
            (native(), json!({ "verdict": {} }), None),
            (native(), json!({ "at": "9999999-01-01" }), None),
            (json!({ "event": "Stop", "metadata": { "large": "x".repeat(MAX_WHOLE) } }), json!({}), None),
            (Value::Null, json!({ "params": null, "event": format!("custom:{}", "x".repeat(MAX_NAME)) }), None),
        ] {
            let text = record(1, params, more);
            let judged = read(&serde_json::from_str(&text).unwrap(), &"".into(), 7).map(|(_, it)| it);
            let original = |it: &Arc<Judged>| it.event.original.as_ref().map(|it| it.dialect);
            assert_eq!(judged.as_ref().map(|it| (original(it), it.truncated)), expected, "{text}");
            if let Some(judged) = judged {
                assert_eq!((&*judged.event.id, judged.event.text("/tool/name")), ("e1", Some("Bash")));
                assert_eq!((judged.at.as_str(), judged.host), ("2026-01-01T00:00:01.000Z", 7));
            }
        }
    }

    #[test]
    fn nothing_is_counted_twice() {
        let live = Live::new();
        let here = key_of_root(Path::new("/r"));
        let seqs = |live: &Live| live.recent(&here).iter().map(|it| (it.host, it.seq)).collect::<Vec<_>>();
        let lines: Vec<_> = (0..9).map(|seq| record(seq, native(), json!({}))).collect();
        let judged = |attached: &Attached, seq: usize| attached.judged(&serde_json::from_str(&lines[seq]).unwrap());
        let first = greet(&live, &recent(1, "a", 2, &lines[1..3], 10)).unwrap();
        assert!(greet(&live, &recent(1, "a", 2, &lines[1..3], 10)).is_none(), "it is here");
        assert!(judged(&first, 2), "known");
        assert!(judged(&first, 3), "the next");
        assert!(!judged(&first, 5), "4 is missing");
        assert_eq!((seqs(&live), live.total(), live.counts(&here, "h").matched), (vec![(1, 3), (1, 2), (1, 1)], 3, 11));
        let whole = recent(1, "a", 5, &lines[1..6], 13);
        first.recent(&serde_json::from_str(&whole).unwrap());
        assert_eq!((seqs(&live).len(), live.total(), live.counts(&here, "h").matched), (5, 5, 13));
        // The connection broke, the host is the same.
        drop(first);
        assert_eq!(live.hosts().len(), 0);
        let first = greet(&live, &whole).unwrap();
        assert_eq!((seqs(&live).len(), live.total(), live.counts(&here, "h").matched), (5, 5, 13));
        drop(first);
        // It is another one, though the process has the same number.
        let second = greet(&live, &recent(1, "b", 1, &lines[1..2], 1)).unwrap();
        assert_eq!((seqs(&live).len(), live.total(), live.counts(&here, "h").matched), (6, 6, 14));
        assert_eq!((live.counts(&here, "h").denied, live.tools().len()), (1, 2));
        assert!(judged(&second, 2));
        assert_eq!(live.counts(&here, "h").denied, 2);
    }

    #[test]
    fn hosts_come_and_go_and_their_counts_stay() {
        let (live, here) = (Live::new(), key_of_root(Path::new("/r")));
        let stays = greet(&live, &recent(1, "here", 1, &[], 1)).unwrap();
        for n in 0..2 * MAX_KNOWN {
            assert!(greet(&live, &recent(2, &n.to_string(), 1, &[], 1)).is_some());
        }
        let all = 2 * MAX_KNOWN as u64 + 1;
        assert_eq!((live.total(), live.counts(&here, "h").matched), (all, all));
        assert_eq!(live.told.lock().known.len(), MAX_KNOWN);
        assert_eq!(live.hosts().iter().map(|it| it.pid).collect::<Vec<_>>(), [1]);
        drop(stays);
        let liar = recent(3, &"x".repeat(MAX_NAME * 2), u64::MAX, &[record(u64::MAX, native(), json!({}))], u64::MAX);
        let attached = greet(&live, &liar).unwrap();
        attached.recent(&serde_json::from_str(&liar).unwrap());
        assert_eq!((live.total(), live.counts(&here, "h").matched), (u64::MAX, u64::MAX));
    }
}
