//! `hookwire record` and `serve --record`: what hosts judge, as JSON lines without secrets, for `replay` and `test`.

use super::tail::EventsArgs;
use super::{Failure, Finding};
use crate::handlers::guards::without_secrets;
use crate::host::Host;
use crate::journal::Record;
use crate::support::rotating::RotatingFile;
use parking_lot::Mutex;
use serde_json::Value;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

#[derive(clap::Args)]
pub(super) struct RecordArgs {
    /// The directory of `events.jsonl`. It is made, for you alone, if it isn't there.
    dir: PathBuf,
    #[command(flatten)]
    events: EventsArgs,
}

/// How large the file may become, in bytes, and how many full ones are kept: 100 MiB together.
const MAX_BYTES: u64 = 10 * 1024 * 1024;
const KEPT: usize = 9;

pub(super) fn run(args: &RecordArgs) -> Result<Finding, Failure> {
    let file = Recorder::new(&args.dir)?;
    eprintln!("hookwire: recording into {}, secrets replaced; Ctrl-C ends it", file.0.path.display());
    args.events.each(usize::MAX, |record| file.write(record))?;
    Ok(Finding::Fine)
}

/// The file that is recorded into.
struct Recorder(RotatingFile);

impl Recorder {
    fn new(dir: &Path) -> Result<Recorder, Failure> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|error| Failure(format!("{}: {error}", dir.display())))?;
        Ok(Recorder(RotatingFile { path: dir.join("events.jsonl"), max_bytes: MAX_BYTES, keep: KEPT }))
    }

    fn write(&self, record: Value) -> Result<(), Failure> {
        let written = self.0.append(format!("{}\n", without_secrets(record)));
        written.map(drop).map_err(|error| Failure(format!("{}: {error}", self.0.path.display())))
    }
}

/// A host that is being recorded.
pub(super) struct Recording {
    stop: CancellationToken,
    done: Mutex<mpsc::Receiver<()>>,
}

/// How long the last events may take to be written, of which secrets are taken out first. Only a disk that hangs needs it.
const LAST: Duration = Duration::from_secs(30);

impl Recording {
    /// Records from now on. A file that can't be written is logged: guards matter more than their record.
    pub(super) fn start(host: &Arc<Host>, runtime: &Runtime, dir: &Path) -> Result<Arc<Recording>, Failure> {
        let recorder = Recorder::new(dir)?;
        let (host, handle, stop) = (host.clone(), runtime.handle().clone(), CancellationToken::new());
        let (end, done) = mpsc::channel();
        let (stopped, mut judged) = (stop.clone(), host.journal.follow());
        let listen = async move {
            let mut last = 0;
            loop {
                let heard = tokio::select! {
                    // What has been judged is written before the end.
                    biased;
                    heard = judged.recv() => heard,
                    () = stopped.cancelled() => return,
                };
                match heard {
                    Ok(entry) => entry.record().into_iter().for_each(|it| keep(&recorder, &it, &mut last)),
                    // Too much at once; the journal still has most of it.
                    Err(RecvError::Lagged(_)) => {
                        let missed = host.journal.excerpt(last, usize::MAX, |_| true);
                        missed.records().for_each(|it| keep(&recorder, &it, &mut last));
                    }
                    Err(RecvError::Closed) => return,
                }
            }
        };
        let work = move || {
            handle.block_on(listen);
            let _ = end.send(());
        };
        std::thread::Builder::new().name("record".into()).spawn(work)?;
        Ok(Arc::new(Recording { stop, done: Mutex::new(done) }))
    }

    /// Writes what has been judged until now, and ends.
    pub(super) fn finish(&self) {
        self.stop.cancel();
        let _ = self.done.lock().recv_timeout(LAST);
    }
}

/// Writes an event that comes after the last one.
fn keep(recorder: &Recorder, record: &Record<'_>, last: &mut u64) {
    if record.seq <= *last {
        return;
    }
    let lost = record.seq - *last - 1;
    *last = record.seq;
    if lost > 0 {
        tracing::warn!(lost, "Too many events at once: some are not recorded.");
    }
    let text = serde_json::to_string(record).unwrap_or_default();
    let written = match crate::support::json::parse(&text) {
        Ok(value) => recorder.write(value),
        Err(error) => Err(Failure(error.to_string())),
    };
    if let Err(Failure(error)) = written {
        tracing::warn!(error, "An event is not recorded.");
    }
}
