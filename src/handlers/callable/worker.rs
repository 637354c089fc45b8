//! One worker process and the calls that it has in flight.
//!
//! The protocol is one JSON object a line. To the worker: `{"id", "hook", "call", "dialect", "args",
//! "deadlineMs", "event"}` is a call, `{"cancel": id}` ends one, `{"id", "value"}` or `{"id",
//! "error"}` answers what it asked of the store. From the worker: `{"ready": true}` once, `{"id",
//! "answer"}` or `{"id", "error", "place"}` for each call; and if it likes `{"id", "abandoned":
//! true}` for a cancelled call that it can't end, `{"loaded": [paths]}` for files whose change makes
//! it stale, and `{"id", "state": {...}, "call": id}` to ask the store.

use super::super::environment::Secrets;
use super::super::process::{self, Child};
use super::super::process_tree;
use super::launch::Launch;
use super::pool::{FREED, Slot, Slots, room};
use crate::services::state::{Scope, Store};
use crate::support::file::{Signature, signature};
use bytes::Bytes;
use futures_util::FutureExt;
use parking_lot::Mutex;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Number, Value, json};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{Notify, Semaphore, SemaphorePermit, mpsc, oneshot, watch};
use tokio::time::Instant;

/// Calls that one worker may have in flight; more wait.
const MAX_IN_FLIGHT: usize = 128;
/// Calls that a worker may have given up on and still be working at, before another takes its place.
const MAX_ABANDONED: usize = 8;
/// Cancelled calls that it may not have heard of yet.
const MAX_CANCELLED: usize = 1024;
/// A worker that has said nothing about a cancelled call for this long hangs as a whole.
const STUCK: Duration = Duration::from_secs(2);
/// How long a worker may take until it is ready.
const START: Duration = Duration::from_secs(10);
/// How long a worker may take to end by itself once it isn't needed.
pub(super) const LEAVE: Duration = Duration::from_millis(500);
/// How long the pipes are read after the worker has exited.
const GRACE: Duration = Duration::from_millis(100);
/// The longest line that a worker may write, in bytes.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// Source files whose changes are noticed.
const MAX_SOURCES: usize = 4096;
/// Looking for changes may take this part of the time ...
const LOOKING_SHARE: u32 = 20;
/// ... but is never put off for longer than this.
const MAX_BLIND: Duration = Duration::from_millis(20);
/// How often dead descendants of a busy worker are reaped.
const TIDY: Duration = Duration::from_secs(30);
/// Requests to the store whose replies wait until it is saved.
const MAX_ASKED: usize = 1024;
/// Values that one `list` gives.
const MAX_LISTED: usize = 1000;

/// A call as it goes to a worker.
pub(super) struct Request<'a> {
    pub(super) hook: &'a str,
    pub(super) target: Option<&'a str>,
    pub(super) dialect: &'a str,
    /// JSON.
    pub(super) args: &'a str,
    pub(super) deadline_ms: u64,
    /// JSON.
    pub(super) event: &'a Bytes,
    pub(super) session: &'a str,
    /// How long the worker is to stay up after it.
    pub(super) idle: Duration,
}

impl Request<'_> {
    fn line(&self, id: u64) -> Bytes {
        let mut line = Vec::with_capacity(self.event.len() + self.args.len() + 256);
        let hook = Value::from(self.hook);
        // Writing into memory doesn't fail.
        let _ = write!(line, r#"{{"id":{id},"hook":{hook}"#);
        if let Some(target) = self.target {
            let _ = write!(line, r#","call":{}"#, Value::from(target));
        }
        let _ = write!(line, r#","dialect":"{}","args":{}"#, self.dialect, self.args);
        let _ = write!(line, r#","deadlineMs":{},"event":"#, self.deadline_ms);
        line.extend_from_slice(self.event);
        line.extend_from_slice(b"}\n");
        line.into()
    }
}

/// Why a call has no answer.
pub(super) enum NotAnswered {
    /// It never reached the worker, which is leaving: another one is to be asked.
    Leaving,
    /// Finishes "failed to call it: ...".
    Failed(String),
}

type Reply = Result<Box<RawValue>, String>;

/// See the module. Its process is a task's, which lives until the process has ended.
pub(super) struct Worker {
    /// The hook that it was started for; others may share it.
    hook: String,
    secrets: Secrets,
    lines: mpsc::Sender<Bytes>,
    phase: watch::Sender<Phase>,
    vacancies: Semaphore,
    state: Mutex<State>,
    /// Something happened that its task may have to act on.
    wake: Notify,
    /// The last line on its stderr.
    last_words: Mutex<String>,
}

#[derive(Clone)]
enum Phase {
    Starting,
    Ready,
    /// As it was told to: another one is to be asked.
    Left,
    Failed(Arc<str>),
}

struct State {
    next_id: u64,
    calls: HashMap<u64, InFlight>,
    /// Cancelled, and not heard of since.
    cancelled: HashMap<u64, Instant>,
    /// Cancelled, and told to go on for nothing.
    abandoned: HashSet<u64>,
    /// No new call is taken; it ends when those in flight have.
    leaving: bool,
    /// When the last call ended.
    idle_since: Instant,
    idle: Duration,
    called: bool,
    started: SystemTime,
    sources: HashMap<PathBuf, Option<Signature>>,
    /// A source was changed while it was being loaded.
    stale: bool,
    look_again: Instant,
}

struct InFlight {
    reply: oneshot::Sender<Reply>,
    session: Arc<str>,
}

/// Why a process has ended.
enum End {
    /// It was told to.
    Left,
    /// It could not be started.
    NotStarted(String),
    Crashed(String),
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("hook", &self.hook).finish_non_exhaustive()
    }
}

impl Worker {
    /// Starts one; see [`Worker::ready`].
    pub(super) fn start(
        slot: Arc<Slot>,
        launch: Arc<Launch>,
        slots: Arc<Slots>,
        store: Store,
        request: &Request<'_>,
    ) -> Arc<Worker> {
        let (lines, to_write) = mpsc::channel(2 * MAX_IN_FLIGHT);
        let now = Instant::now();
        let worker = Arc::new(Worker {
            hook: request.hook.to_string(),
            secrets: launch.secrets.clone(),
            lines,
            phase: watch::Sender::new(Phase::Starting),
            vacancies: Semaphore::new(MAX_IN_FLIGHT),
            state: Mutex::new(State {
                next_id: 1,
                calls: HashMap::new(),
                cancelled: HashMap::new(),
                abandoned: HashSet::new(),
                leaving: false,
                idle_since: now,
                idle: request.idle,
                called: false,
                started: SystemTime::now(),
                sources: HashMap::new(),
                stale: false,
                look_again: now,
            }),
            wake: Notify::new(),
            last_words: Mutex::default(),
        });
        let task = worker.clone();
        tokio::spawn(async move {
            let phase = match task.live(&launch, &slots, &store, to_write).await {
                End::Left => Phase::Left,
                End::NotStarted(why) => Phase::Failed(why.into()),
                End::Crashed(why) => {
                    slot.crashed(&why);
                    Phase::Failed(why.into())
                }
            };
            slot.forget(&task);
            task.end(phase);
        });
        worker
    }

    /// Waits until it takes calls.
    ///
    /// # Errors
    /// Why it doesn't.
    pub(super) async fn ready(&self) -> Result<(), NotAnswered> {
        let mut phase = self.phase.subscribe();
        match phase.wait_for(|phase| !matches!(phase, Phase::Starting)).await.as_deref() {
            Ok(Phase::Ready | Phase::Starting) => Ok(()),
            // An error can't be: the sender is ours.
            Ok(Phase::Left) | Err(_) => Err(NotAnswered::Leaving),
            Ok(Phase::Failed(why)) => Err(NotAnswered::Failed(why.to_string())),
        }
    }

    /// Calls a function. Dropping the future cancels it.
    pub(super) async fn call(&self, request: &Request<'_>) -> Result<Box<RawValue>, NotAnswered> {
        let permit = self.vacancies.acquire().await.map_err(|_| NotAnswered::Leaving)?;
        let (mut call, reply) = self.register(request, permit).ok_or(NotAnswered::Leaving)?;
        // An error means that it has just ended, which the reply tells.
        let _ = self.lines.send(request.line(call.id)).await;
        call.is_sent = true;
        let reply = reply.await.unwrap_or_else(|_| Err("its worker was ended".into()));
        reply.map_err(NotAnswered::Failed)
    }

    fn register<'w>(
        &'w self,
        request: &Request<'_>,
        permit: SemaphorePermit<'w>,
    ) -> Option<(Registered<'w>, oneshot::Receiver<Reply>)> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state.lock();
        if state.leaving {
            return None;
        }
        let id = state.next_id;
        state.next_id += 1;
        state.idle = state.idle.max(request.idle);
        state.called = true;
        state.calls.insert(id, InFlight { reply: sender, session: request.session.into() });
        Some((Registered { worker: self, id, is_sent: false, _permit: permit }, receiver))
    }

    /// Takes no more calls, and ends when those in flight have.
    pub(super) fn retire(&self) {
        self.leave(&mut self.state.lock());
    }

    /// Ends it if nobody has called it meanwhile; tells whether it does.
    pub(super) fn retire_if_idle(&self) -> bool {
        let mut state = self.state.lock();
        let is_idle = state.calls.is_empty();
        if is_idle {
            self.leave(&mut state);
        }
        is_idle
    }

    fn leave(&self, state: &mut State) {
        state.leaving = true;
        // Whoever waits here goes to the next worker.
        self.vacancies.close();
        self.wake.notify_one();
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.state.lock().leaving
    }

    /// Since when it has nothing to do, if it has nothing to do. Whoever it was started for is given
    /// the time to call it.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let is_ready = matches!(*self.phase.borrow(), Phase::Ready);
        let state = self.state.lock();
        let is_new = state.next_id == 1 && state.idle_since.elapsed() < START;
        (is_ready && state.calls.is_empty() && !state.leaving && !is_new).then_some(state.idle_since)
    }

    /// Whether a source has changed since it was loaded.
    pub(super) fn is_stale(&self) -> bool {
        let mut state = self.state.lock();
        let started = Instant::now();
        if !state.stale && started >= state.look_again {
            state.stale = state.sources.iter().any(|(path, then)| signature(path) != *then);
            let now = Instant::now();
            state.look_again = now + ((now - started) * LOOKING_SHARE).min(MAX_BLIND);
        }
        state.stale
    }

    /// The process, from its start to its end.
    async fn live(&self, launch: &Launch, slots: &Slots, store: &Store, to_write: mpsc::Receiver<Bytes>) -> End {
        let Ok(permit) = tokio::time::timeout(START, room(slots)).await else {
            let most = process_tree::MAX_CALLABLE_WORKERS;
            return End::NotStarted(format!("start a worker: {most} are busy already, and no more may run"));
        };
        let plan = match launch.plan() {
            Ok(plan) => plan,
            Err(why) => return End::NotStarted(why),
        };
        {
            let mut state = self.state.lock();
            state.started = SystemTime::now();
            state.sources = plan.sources.into_iter().map(|path| (path.clone(), signature(&path))).collect();
        }
        match process::start(&plan.spec, permit) {
            Ok(child) => match self.converse(child, store, to_write).await {
                Ok(end) => end,
                Err(error) => End::Crashed(format!("talk to its worker: {error}")),
            },
            Err(error) => End::NotStarted(error.to_string()),
        }
    }

    async fn converse(&self, child: Child, store: &Store, mut to_write: mpsc::Receiver<Bytes>) -> std::io::Result<End> {
        let Child { mut stdin, stdout, stderr, tree } = child;
        let (asked, to_save) = mpsc::channel(MAX_ASKED);
        let how = {
            let mut exited = pin!(tree.exited());
            let mut hear = pin!(self.hear(stdout, asked, store).fuse());
            let mut log = pin!(self.log(stderr).fuse());
            let mut keep = pin!(self.keep());
            // Boxed: dropping it closes the worker's stdin.
            let mut talk = Box::pin(async move {
                let feed = async {
                    while let Some(line) = to_write.recv().await {
                        // What a broken pipe means, the exit status tells.
                        let _ = stdin.write_all(&line).await;
                    }
                };
                tokio::join!(feed, self.save(store, to_save))
            });
            let (mut deaf_since, mut is_mute) = (None, false);
            let how = loop {
                let is_deaf = deaf_since.is_some();
                tokio::select! {
                    result = &mut exited => break result.map(|()| How::Exited)?,
                    end = &mut keep => break end,
                    result = &mut hear => match result {
                        // Most likely it is about to exit.
                        Ok(()) => deaf_since = Some(Instant::now()),
                        Err(why) => break How::Killed(why),
                    },
                    () = &mut log => is_mute = true,
                    () = tokio::time::sleep_until(deaf_since.unwrap_or_else(Instant::now) + LEAVE), if is_deaf => {
                        break How::Killed("its worker closed its output without exiting".into());
                    }
                    _ = &mut talk => {}
                }
            };
            let hear = async { if deaf_since.is_none() { hear.await } else { Ok(()) } };
            let log = async {
                if !is_mute {
                    log.await
                }
            };
            let rest = async { tokio::join!(hear, log) };
            match how {
                // What it wrote is in the pipes already. A pipe that stays open is held by a process it left behind.
                How::Exited => match tokio::time::timeout(GRACE, rest).await {
                    Ok((Err(why), ())) => How::Killed(why),
                    Ok((Ok(()), ())) | Err(_) => How::Exited,
                },
                How::Left => {
                    drop(talk);
                    let read_on = async {
                        let _ = rest.await;
                        std::future::pending::<()>().await;
                    };
                    let exit = async {
                        tokio::select! { it = &mut exited => drop(it), () = read_on => {} }
                    };
                    let _ = tokio::time::timeout(LEAVE, exit).await;
                    How::Left
                }
                How::Killed(why) => How::Killed(why),
            }
        };
        Ok(match how {
            How::Left => End::Left,
            How::Killed(why) => End::Crashed(why),
            How::Exited => {
                let status = tree.finish()?;
                let is_ready = matches!(*self.phase.borrow(), Phase::Ready);
                // A program may end itself when it has nothing to do.
                if is_ready && status.success() && self.state.lock().calls.is_empty() {
                    End::Left
                } else {
                    let when = if is_ready { "" } else { " before it was ready" };
                    End::Crashed(format!("its worker ended{when} with {}{}", exit(status), self.last_words()))
                }
            }
        })
    }

    /// Waits until the process is to be ended from this side.
    async fn keep(&self) -> How {
        let (mut ready, started, mut tidied) = (self.phase.subscribe(), Instant::now(), Instant::now());
        loop {
            let now = Instant::now();
            let is_ready = matches!(*ready.borrow_and_update(), Phase::Ready);
            let next = {
                let mut state = self.state.lock();
                let stuck = state.cancelled.values().min().map(|since| *since + STUCK);
                if !state.leaving {
                    let is_stuck = stuck.is_some_and(|at| at <= now) || state.cancelled.len() > MAX_CANCELLED;
                    let why = if is_stuck {
                        Some(format!("it said nothing about a cancelled call for {} s", STUCK.as_secs()))
                    } else if state.abandoned.len() >= MAX_ABANDONED {
                        Some(format!("{MAX_ABANDONED} of its calls go on though they were cancelled"))
                    } else {
                        None
                    };
                    if let Some(why) = why {
                        tracing::warn!(hook = %self.hook, why, "A worker is replaced.");
                        self.leave(&mut state);
                    }
                }
                if state.leaving && state.calls.is_empty() {
                    return How::Left;
                }
                let idle = state.idle_since + state.idle;
                if state.calls.is_empty() && is_ready && idle <= now {
                    tracing::info!(hook = %self.hook, "A worker had nothing to do and is ended.");
                    self.leave(&mut state);
                    return How::Left;
                }
                if now >= tidied + TIDY {
                    tidied = now;
                    if std::mem::take(&mut state.called) {
                        process_tree::tidy();
                    }
                }
                let idle = if state.calls.is_empty() && is_ready { idle } else { now + TIDY };
                idle.min(stuck.filter(|_| !state.leaving).unwrap_or(idle)).min(tidied + TIDY)
            };
            if !is_ready && now >= started + START {
                let words = self.last_words();
                return How::Killed(format!("its worker was not ready within {} s{words}", START.as_secs()));
            }
            let next = if is_ready { next } else { next.min(started + START) };
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                () = self.wake.notified() => {}
                _ = ready.changed(), if !is_ready => {}
            }
        }
    }

    /// Fails whatever is in flight, and whoever waits for the start.
    fn end(&self, phase: Phase) {
        let why = match &phase {
            Phase::Failed(why) => why.to_string(),
            Phase::Starting | Phase::Ready | Phase::Left => "its worker was ended".into(),
        };
        let calls = {
            let mut state = self.state.lock();
            self.leave(&mut state);
            std::mem::take(&mut state.calls)
        };
        // Before the calls: whoever is told goes to the next worker.
        self.phase.send_replace(phase);
        for call in calls.into_values() {
            // An error means that nobody waits any more.
            let _ = call.reply.send(Err(why.clone()));
        }
        FREED.notify_waiters();
    }

    /// Takes what the worker writes, until it closes its output.
    async fn hear(&self, mut stdout: ChildStdout, asked: mpsc::Sender<Asked>, store: &Store) -> Result<(), String> {
        let mut buffer = Vec::new();
        loop {
            let before = buffer.len();
            buffer.reserve(16 * 1024);
            match stdout.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return Ok(()),
                Ok(_) => {}
            }
            let mut start = 0;
            while let Some(length) =
                memchr::memchr(b'\n', &buffer[start.max(before)..]).map(|at| at + start.max(before) - start)
            {
                let line = &buffer[start..start + length];
                if let Some(it) = self.heard(line, store).map_err(|why| self.garbage(line, &why))? {
                    // An error means that it is ending.
                    let _ = asked.send(it).await;
                }
                start += length + 1;
            }
            buffer.drain(..start);
            if buffer.len() > MAX_LINE {
                return Err(format!("its worker wrote a line of more than {} MiB", MAX_LINE >> 20));
            }
            if buffer.is_empty() {
                // One large answer is no reason to keep the memory.
                buffer.shrink_to(64 * 1024);
            }
        }
    }

    fn garbage(&self, line: &[u8], why: &str) -> String {
        let line = excerpt(&self.secrets.mask(&String::from_utf8_lossy(line)), 200);
        let why = self.secrets.mask(why);
        format!("its worker wrote what the protocol doesn't have ({why}): {line}")
    }

    fn heard(&self, line: &[u8], store: &Store) -> Result<Option<Asked>, String> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let said: Said<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        for path in said.loaded.iter().flatten() {
            self.loaded(path);
        }
        match said {
            Said { state: Some(request), id: Some(id), call, .. } => {
                let mut change = false;
                let result = self.ask(request, call, store, &mut change);
                return Ok(Some(Asked { id, result, change }));
            }
            Said { id: Some(id), answer: Some(answer), .. } => self.answered(id, Ok(answer.to_owned())),
            Said { id: Some(id), error: Some(error), place, .. } => {
                let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
                self.answered(id, Err(excerpt(&self.secrets.mask(&format!("{error}{place}")), 4000)));
            }
            Said { id: Some(id), abandoned: Some(true), .. } => {
                let mut state = self.state.lock();
                if state.cancelled.remove(&id).is_some() {
                    state.abandoned.insert(id);
                    self.wake.notify_one();
                }
            }
            Said { ready: Some(true), .. } => {
                // Starting is not idling.
                self.state.lock().idle_since = Instant::now();
                self.phase.send_if_modified(|phase| {
                    let is_starting = matches!(phase, Phase::Starting);
                    if is_starting {
                        *phase = Phase::Ready;
                    }
                    is_starting
                });
            }
            Said { loaded: Some(_), .. } => {}
            _ => return Err("neither `ready` nor an `id` with `answer`, `error`, `abandoned` or `state`".into()),
        }
        Ok(None)
    }

    fn answered(&self, id: u64, reply: Reply) {
        let mut state = self.state.lock();
        match state.calls.remove(&id) {
            Some(call) => {
                // An error means that the caller has just gone.
                let _ = call.reply.send(reply);
                self.ended_one(&mut state);
            }
            // Cancelled: nobody waits any more.
            None => {
                state.cancelled.remove(&id);
                state.abandoned.remove(&id);
            }
        }
    }

    fn ended_one(&self, state: &mut State) {
        if state.calls.is_empty() {
            state.idle_since = Instant::now();
            self.wake.notify_one();
            FREED.notify_waiters();
        }
    }

    fn loaded(&self, path: &Path) {
        let mut state = self.state.lock();
        if !path.is_absolute() || state.sources.len() >= MAX_SOURCES || state.sources.contains_key(path) {
            return;
        }
        let signature = signature(path);
        // Changed since the process started, so perhaps after it was read. A time in the future is another clock's.
        let changed = signature.map(|it| it.changed);
        state.stale |= changed.is_some_and(|at| at >= state.started && at <= SystemTime::now());
        state.sources.insert(path.to_path_buf(), signature);
    }

    /// Does what the worker wants of the store.
    fn ask(&self, request: &RawValue, call: Option<u64>, store: &Store, change: &mut bool) -> Result<Value, String> {
        let unreadable = |error: &dyn std::fmt::Display| format!("read what is wanted of the store: {error}");
        let value = crate::support::json::parse(request.get()).map_err(|error| unreadable(&error))?;
        let request = Wanted::deserialize(value).map_err(|error| unreadable(&error))?;
        let scope = match request.scope {
            WantedScope::Global => Scope::Global,
            WantedScope::Session => {
                let state = self.state.lock();
                let call = call.and_then(|id| state.calls.get(&id));
                Scope::Session(call.ok_or("reach the session's values: the call is over")?.session.clone())
            }
        };
        let ttl = request.ttl.map(|seconds| {
            Duration::try_from_secs_f64(seconds).map_err(|_| format!("keep it for {seconds} seconds: not a duration"))
        });
        let (key, ttl) = (request.key.as_str(), ttl.transpose()?);
        let value = request.value.unwrap_or_default();
        *change = true;
        let result = match request.op {
            Operation::Get => {
                *change = false;
                Ok(store.get(&scope, key).unwrap_or_default())
            }
            Operation::Set => store.set(&scope, key, value, ttl).map(|()| Value::Null),
            Operation::Increment => {
                store.increment(&scope, key, &request.by.unwrap_or_else(|| 1.into()), ttl).map(Value::Number)
            }
            Operation::CompareAndSet => {
                let expected = request.expected.filter(|it| !it.is_null());
                store.compare_and_set(&scope, key, expected.as_ref(), value, ttl).map(|(is_set, _)| is_set.into())
            }
            Operation::Delete => Ok(store.delete(&scope, key).into()),
            Operation::List => {
                *change = false;
                let items = store.list(&scope, key, MAX_LISTED);
                Ok(Value::Object(items.into_iter().map(|item| (item.key, item.value)).collect()))
            }
        };
        result.map_err(|error| error.to_string())
    }

    /// Replies to what was asked of the store, in order; after a change, once it is saved.
    async fn save(&self, store: &Store, mut to_save: mpsc::Receiver<Asked>) {
        while let Some(first) = to_save.recv().await {
            let mut batch = vec![first];
            while batch.len() < MAX_ASKED
                && let Ok(next) = to_save.try_recv()
            {
                batch.push(next);
            }
            let saved = if batch.iter().any(|it| it.change) { store.saved().await } else { Ok(()) };
            for Asked { id, result, change } in batch {
                let result = match (&saved, result) {
                    (Err(error), Ok(_)) if change => Err(error.to_string()),
                    (_, result) => result,
                };
                let reply = match result {
                    Ok(value) => json!({"id": id, "value": value}),
                    Err(error) => json!({"id": id, "error": format!("failed to {error}")}),
                };
                // An error means that the worker has ended.
                let _ = self.lines.send(format!("{reply}\n").into()).await;
            }
        }
    }

    /// Logs what the worker writes beside the protocol.
    async fn log(&self, mut stderr: ChildStderr) {
        let (mut chunk, mut line) = (Vec::with_capacity(8 * 1024), Vec::new());
        let mut tap = Tap { since: Instant::now(), n_lines: 0 };
        while read_some(&mut stderr, &mut chunk).await {
            for (at, part) in chunk.split(|byte| *byte == b'\n').enumerate() {
                if at > 0 {
                    self.said(&line, &mut tap);
                    line.clear();
                }
                let room = MAX_LOGGED.saturating_sub(line.len());
                line.extend_from_slice(&part[..part.len().min(room)]);
            }
        }
        self.said(&line, &mut tap);
    }

    fn said(&self, line: &[u8], tap: &mut Tap) {
        let line = self.secrets.mask(String::from_utf8_lossy(line).trim_end());
        if line.is_empty() {
            return;
        }
        let line = excerpt(&line, 2000);
        *self.last_words.lock() = excerpt(&line, 300);
        match tap.lets_through(Instant::now()) {
            Flow::Line => tracing::info!(hook = %self.hook, "{line}"),
            Flow::Last => {
                tracing::warn!(hook = %self.hook, "A worker writes too much; the rest of this second is left out.")
            }
            Flow::Nothing => {}
        }
    }

    fn last_words(&self) -> String {
        let words = self.last_words.lock();
        if words.is_empty() { String::new() } else { format!("; its last words: {words}") }
    }
}

/// How the process came to its end.
enum How {
    Exited,
    /// Not needed any more.
    Left,
    Killed(String),
}

/// A call in flight. Dropped before its answer, it is cancelled.
struct Registered<'w> {
    worker: &'w Worker,
    id: u64,
    is_sent: bool,
    _permit: SemaphorePermit<'w>,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let mut state = self.worker.state.lock();
        if state.calls.remove(&self.id).is_none() {
            return;
        }
        // A full queue means that the worker doesn't read: it will say nothing, and so be replaced.
        if self.is_sent {
            state.cancelled.insert(self.id, Instant::now());
            let _ = self.worker.lines.try_send(format!("{{\"cancel\":{}}}\n", self.id).into());
            self.worker.wake.notify_one();
        }
        self.worker.ended_one(&mut state);
    }
}

/// A line from a worker.
#[derive(Deserialize)]
struct Said<'a> {
    ready: Option<bool>,
    id: Option<u64>,
    #[serde(borrow, default, deserialize_with = "present")]
    answer: Option<&'a RawValue>,
    error: Option<String>,
    place: Option<String>,
    abandoned: Option<bool>,
    loaded: Option<Vec<PathBuf>>,
    #[serde(borrow)]
    state: Option<&'a RawValue>,
    call: Option<u64>,
}

/// `Some(null)` for a member that is there and null.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// What a worker wants of the store.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    op: Operation,
    /// For `list`, a prefix.
    #[serde(default)]
    key: String,
    #[serde(default)]
    scope: WantedScope,
    value: Option<Value>,
    expected: Option<Value>,
    by: Option<Number>,
    /// Seconds.
    ttl: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Operation {
    Get,
    Set,
    Increment,
    CompareAndSet,
    Delete,
    List,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WantedScope {
    #[default]
    Session,
    Global,
}

/// A reply on its way to the worker.
struct Asked {
    id: u64,
    result: Result<Value, String>,
    /// It must be saved first.
    change: bool,
}

/// How much of a line is kept for the log; what is beyond what is shown lets secrets be found whole.
const MAX_LOGGED: usize = 64 * 1024;
/// Lines that a worker may log in a second.
const MAX_LINES: u32 = 100;

/// Bounds a worker's share of the log.
struct Tap {
    since: Instant,
    n_lines: u32,
}

enum Flow {
    Line,
    Last,
    Nothing,
}

impl Tap {
    fn lets_through(&mut self, now: Instant) -> Flow {
        if now - self.since >= Duration::from_secs(1) {
            *self = Tap { since: now, n_lines: 0 };
        }
        self.n_lines = self.n_lines.saturating_add(1);
        match self.n_lines {
            ..=MAX_LINES => Flow::Line,
            n if n == MAX_LINES + 1 => Flow::Last,
            _ => Flow::Nothing,
        }
    }
}

async fn read_some(pipe: &mut (impl AsyncRead + Unpin), into: &mut Vec<u8>) -> bool {
    into.clear();
    matches!(pipe.read_buf(into).await, Ok(n) if n > 0)
}

fn exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The beginning, without what would move a terminal's cursor.
fn excerpt(text: &str, most: usize) -> String {
    let printable = |letter: char| if letter.is_control() && letter != '\t' { '\u{fffd}' } else { letter };
    let mut letters = text.chars().map(printable);
    let mut short: String = letters.by_ref().take(most).collect();
    if letters.next().is_some() {
        short.push('…');
    }
    short
}
