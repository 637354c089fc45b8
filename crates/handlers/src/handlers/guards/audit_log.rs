//! `audit-log`: writes one JSON line an event into a file, and begins a new file when it is full.
//!
//! A record counts as written when the disk has it. Records that come while others are on their way
//! wait, and go together.

use super::super::call::{Call, HookView};
use super::super::compile::{Compile, Mistake};
use super::super::effect::Effect;
use super::super::error::HandlerError;
use super::super::kind::{Kind, TextKind};
use super::super::means::{Means, Obstacle};
use super::guard_kind::GuardKind;
use super::secrets;
use hookwire_base::event::EventSpec;
use hookwire_base::support::rotating::RotatingFile;
use hookwire_base::support::{digest, failpoint};
use hookwire_base::verdict::Answer;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Weak};
use tokio::sync::oneshot;

/// Writes when, which event, session, run, agent and tool, and the subject as a hash or whole. An
/// event whose subject another hook rewrites is written again, with the same `eventId`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "AuditLogGuard")]
pub struct RawAuditLog {
    /// Where to; a relative path starts at the definition's file. Created for its owner only.
    file: PathBuf,
    /// How large the file may become, in bytes.
    #[serde(default = "default_max_bytes")]
    max_bytes: u64,
    /// How many full files are kept: `file.1` is the latest.
    #[serde(default = "default_keep")]
    keep: usize,
    /// What is written of the subject.
    #[serde(default)]
    subject: Subject,
    /// Other members of the event to write, by path, e.g. `metadata.user`.
    #[serde(default)]
    fields: Vec<String>,
    /// Replaces secrets, as `redact-secrets` does.
    #[serde(default = "default_redact")]
    redact: bool,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AuditedSubject")]
enum Subject {
    /// Nothing.
    None,
    /// Its SHA-256, whatever the order of its members.
    #[default]
    Hash,
    /// All of it.
    Full,
}

fn default_max_bytes() -> u64 {
    10 * 1024 * 1024
}

fn default_keep() -> usize {
    5
}

fn default_redact() -> bool {
    true
}

/// What a line may have; a larger subject is left out, and said to be.
const MAX_LINE: usize = 1024 * 1024;

#[derive(Debug)]
pub struct AuditLog {
    log: Arc<Log>,
    subject: Subject,
    fields: Vec<String>,
    redact: bool,
}

/// The records that may wait for the disk.
const MAX_WAITING: usize = 4096;

/// What the hooks of this host share that write to one file.
#[derive(Debug, Default)]
struct Queue {
    /// Waited for without a thread, so that a disk that hangs keeps one thread and no more.
    turn: Arc<tokio::sync::Mutex<()>>,
    waiting: Mutex<Vec<Waiting>>,
}

/// Tells whoever waits what became of a record.
type Reply = oneshot::Sender<Result<(), String>>;

/// A record on its way.
#[derive(Debug)]
struct Waiting {
    log: Arc<Log>,
    record: Map<String, Value>,
    redact: bool,
    written: Reply,
}

#[derive(Debug)]
struct Log {
    file: RotatingFile,
    queue: Arc<Queue>,
}

impl GuardKind for AuditLog {
    const EXAMPLE: &'static str = "{ file: ../hookwire-audit.jsonl }";

    const EVENTS: &'static [&'static str] = &[
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "UserPromptSubmit",
        "Stop",
        "SessionStart",
        "SessionEnd",
    ];

    fn acts_at(_: &EventSpec) -> bool {
        true
    }
}

impl Kind for AuditLog {
    type Raw = RawAuditLog;

    const TEXTS: &'static [(&'static str, TextKind)] = &[("file", TextKind::File)];

    fn compile(raw: RawAuditLog, cx: &Compile<'_>) -> Result<Self, Mistake> {
        if raw.file.file_name().is_none() {
            return Err(Mistake::new("file", "the path of a file is needed"));
        }
        if raw.max_bytes < 1024 {
            return Err(Mistake::new(
                "maxBytes",
                format!("a file has at least 1024 bytes, found `{}`", raw.max_bytes),
            ));
        }
        if raw.keep > 100 {
            return Err(Mistake::new(
                "keep",
                format!("at most 100 files are kept, found `{}`", raw.keep),
            ));
        }
        if let Some(bad) = raw
            .fields
            .iter()
            .find(|field| field.split('.').any(str::is_empty))
        {
            return Err(Mistake::new(
                "fields",
                format!("`{bad}` names no member; write e.g. `metadata.user`"),
            ));
        }
        let path = cx.place().join(raw.file);
        let queue = queue(&path);
        let log = Log {
            file: RotatingFile {
                path,
                max_bytes: raw.max_bytes,
                keep: raw.keep,
            },
            queue,
        };
        Ok(AuditLog {
            log: Arc::new(log),
            subject: raw.subject,
            fields: raw.fields,
            redact: raw.redact,
        })
    }

    fn obstacle(&self, _: &HookView<'_>, _: &Means) -> Option<Obstacle> {
        let path = &self.log.file.path;
        let obstacle =
            |message: String| Some(Obstacle::new("no-directory", message).at("audit-log"));
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty())?;
        if path.is_dir() {
            return obstacle(format!("`{}` is a directory, and no log", path.display()));
        }
        if !dir.is_dir() && !path.to_string_lossy().contains(['~', '$']) {
            return obstacle(format!(
                "there is no directory `{}` for the log",
                dir.display()
            ));
        }
        None
    }

    fn writes(&self) -> Option<&Path> {
        Some(&self.log.file.path)
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let written = self
            .log
            .clone()
            .append(self.record(call), self.redact)
            .await;
        let failed = |error| {
            HandlerError(format!(
                "write the audit log {}: {error}",
                self.log.file.path.display()
            ))
        };
        written.map(|()| Answer::default()).map_err(failed)
    }

    fn effect(&self) -> Option<Effect> {
        Some(Effect::Appends(self.log.file.path.clone()))
    }
}

impl AuditLog {
    fn record(&self, call: &Call<'_>) -> Map<String, Value> {
        let event = call.moment.event();
        let mut record = Map::new();
        if let Some(time) = call.path("timestamp") {
            record.insert("time".into(), time);
        }
        record.insert("eventId".into(), json!(&*event.id));
        record.insert("event".into(), json!(&*event.name));
        for (name, path) in [
            ("session", "session"),
            ("run", "run"),
            ("agent", "agent.name"),
            ("tool", "tool.name"),
            ("callId", "tool.callId"),
        ] {
            if let Some(value) = call.path(path) {
                record.insert(name.into(), value);
            }
        }
        match (self.subject, event.subject()) {
            (Subject::None, _) | (_, None) => {}
            (Subject::Hash, Some(subject)) => {
                record.insert("subjectSha256".into(), json!(digest::of_value(subject)));
            }
            (Subject::Full, Some(subject)) => {
                record.insert("subject".into(), subject.clone());
            }
        }
        for field in &self.fields {
            record.insert(field.clone(), call.path(field).unwrap_or(Value::Null));
        }
        if event.rest().is_some()
            && let Some(active) = call.path("stopActive")
        {
            record.insert("stopActive".into(), active);
        }
        record
    }
}

/// A record as a line.
fn line(mut record: Map<String, Value>, redact: bool) -> std::io::Result<String> {
    let size = |record: &Map<String, Value>| serde_json::to_string(record).map(|text| text.len());
    if size(&record)? > MAX_LINE {
        record.remove("subject");
        record.insert("omitted".into(), json!("the subject is too large"));
    }
    if size(&record)? > MAX_LINE {
        return Err(std::io::Error::other(format!(
            "a line has at most {MAX_LINE} bytes"
        )));
    }
    let record = Value::Object(record);
    let record = if redact {
        secrets::without_secrets(record)
    } else {
        record
    };
    Ok(format!("{record}\n"))
}

impl Log {
    /// Writes a record; when this returns, the disk has it.
    async fn append(
        self: Arc<Log>,
        record: Map<String, Value>,
        redact: bool,
    ) -> Result<(), String> {
        let queue = self.queue.clone();
        let (written, mut result) = oneshot::channel();
        {
            let mut waiting = queue.waiting.lock();
            if waiting.len() >= MAX_WAITING {
                // Whoever doesn't wait any more has failed.
                waiting.retain(|it| !it.written.is_closed());
            }
            if waiting.len() >= MAX_WAITING {
                return Err(format!("{MAX_WAITING} records wait for the disk"));
            }
            waiting.push(Waiting {
                log: self,
                record,
                redact,
                written,
            });
        }
        let turn = queue.turn.clone().lock_owned().await;
        if let Ok(result) = result.try_recv() {
            // It went with those before.
            return result;
        }
        let writing = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let waiting = std::mem::take(&mut *queue.waiting.lock());
            write_all(waiting);
        });
        let _ = writing.await;
        result
            .await
            .unwrap_or_else(|_| Err("the work was cut off".into()))
    }
}

/// Writes records and tells whoever waits once they are on the disk: one sync a file.
fn write_all(waiting: Vec<Waiting>) {
    let mut files: Vec<((u64, u64), File, Vec<Reply>)> = Vec::new();
    for Waiting {
        log,
        record,
        redact,
        written,
    } in waiting
    {
        if written.is_closed() {
            continue;
        }
        let file = line(record, redact).and_then(|line| log.file.append(line));
        match file.and_then(|file| {
            file.metadata()
                .map(|about| ((about.dev(), about.ino()), file))
        }) {
            Ok((id, file)) => match files.iter_mut().find(|(known, ..)| *known == id) {
                Some((.., senders)) => senders.push(written),
                None => files.push((id, file, vec![written])),
            },
            // An error means that nobody waits any more; so below.
            Err(error) => drop(written.send(Err(error.to_string()))),
        }
    }
    for (_, file, senders) in files {
        let synced = match failpoint::is_due("sync") {
            true => Err("a test lets the disk fail".to_string()),
            false => file.sync_data().map_err(|error| error.to_string()),
        };
        for sender in senders {
            let _ = sender.send(synced.clone());
        }
    }
}

/// The queue of a file, by its path as written.
fn queue(path: &Path) -> Arc<Queue> {
    static QUEUES: LazyLock<Mutex<HashMap<PathBuf, Weak<Queue>>>> = LazyLock::new(Mutex::default);
    let mut queues = QUEUES.lock();
    queues.retain(|_, queue| queue.strong_count() > 0);
    if let Some(queue) = queues.get(path).and_then(Weak::upgrade) {
        return queue;
    }
    let queue = Arc::<Queue>::default();
    queues.insert(path.to_path_buf(), Arc::downgrade(&queue));
    queue
}
