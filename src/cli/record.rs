//! `tail --record` and `serve --record`: what hosts judge, as JSON lines without secrets, for
//! `history replay` and `test`.

use super::output::say_on_stderr;
use super::tail::{Clean, NOT_DENIED, TailArgs, ended_line, record_line};
use super::{Failure, Finding, root_of};
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::below;
use hookwire_base::support::file;
use hookwire_base::support::json::parse;
use hookwire_base::support::os_error::in_words;
use hookwire_base::support::rotating::RotatingFile;
use hookwire_engine::host::Host;
use hookwire_engine::journal::News;
use parking_lot::Mutex;
use serde_json::json;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// The file of a directory that events are recorded in.
pub(super) const RECORDED: &str = "events.jsonl";

/// How large the file may become, in bytes, and how many full ones are kept: 100 MiB together.
const MAX_BYTES: u64 = 10 * 1024 * 1024;
const KEPT: usize = 9;

/// Records events of running hosts, beginning with all that these have kept, until it is told to
/// end.
pub(super) fn run(args: &TailArgs) -> Result<Finding, Failure> {
    let TailArgs {
        events,
        record: Some(dir),
        ..
    } = args
    else {
        return Ok(Finding::Fine);
    };
    let mut file = Recorder::new(dir)?;
    file.known = written_lines(&file.file).collect();
    let end = if events.no_follow {
        ""
    } else {
        "; Ctrl-C ends it"
    };
    say_on_stderr(format_args!(
        "recording into {}, secrets replaced{end}",
        file.file.path.display()
    ));
    events.each_event(usize::MAX, |record| {
        // It is about definitions, and no event.
        if record.value().get(NOT_DENIED).is_some() {
            return Ok(ControlFlow::Continue(()));
        }
        if let Some(lost) = record.value()["lost"].as_u64() {
            let lost = number_of(usize::try_from(lost).unwrap_or(usize::MAX), "event");
            say_on_stderr(format_args!(
                "{lost} not recorded: they came faster than they were read"
            ));
        }
        file.write_record(&record).map(ControlFlow::Continue)
    })?;
    Ok(Finding::Fine)
}

/// The file that is recorded into.
struct Recorder {
    file: RotatingFile,
    /// What an earlier recording has written there, in short: hosts hand on again what they have
    /// kept.
    known: HashSet<u64>,
}

/// The lines of the full files and of the one that is written, each in short.
fn written_lines(file: &RotatingFile) -> impl Iterator<Item = u64> {
    let files = file
        .all()
        .into_iter()
        .filter_map(|path| file::open(&path).ok());
    files
        .flat_map(|(file, _)| BufReader::new(file).split(b'\n').map_while(Result::ok))
        .map(|line| in_short(&line))
}

fn in_short(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(line);
    hasher.finish()
}

impl Recorder {
    fn new(dir: &Path) -> Result<Recorder, Failure> {
        if dir.exists() && !dir.is_dir() {
            return Err(Failure(format!(
                "{}: it is a file; name a directory",
                dir.display()
            )));
        }
        let root = root_of(dir);
        let made = below::make_dir(dir, &root, 0o700)
            .and_then(|()| below::stays(&dir.join(RECORDED), &root));
        made.map_err(|error| Failure(format!("{}: {}", dir.display(), in_words(&error))))?;
        let file = RotatingFile {
            path: dir.join(RECORDED),
            max_bytes: MAX_BYTES,
            keep: KEPT,
        };
        Ok(Recorder {
            file,
            known: HashSet::new(),
        })
    }

    fn write_record(&self, record: &Clean) -> Result<(), Failure> {
        let line = record.value().to_string();
        // Losses that are alike are several.
        if record.value().get("lost").is_none() && self.known.contains(&in_short(line.as_bytes())) {
            return Ok(());
        }
        let written = self.file.append(line + "\n");
        written
            .map(drop)
            .map_err(|error| Failure(format!("{}: {error}", self.file.path.display())))
    }
}

/// A host that is being recorded.
pub(super) struct Recording {
    host: Arc<Host>,
    stop: CancellationToken,
    /// The last event that is waited for at the end.
    until: Arc<AtomicU64>,
    done: Mutex<mpsc::Receiver<()>>,
}

/// How long the last events may take to be written, of which secrets are taken out first. Only a
/// disk that hangs needs it.
const LAST: Duration = Duration::from_secs(30);

impl Recording {
    /// Records from now on. A file that can't be written is logged: guards matter more than their
    /// record.
    pub(super) fn start(
        host: &Arc<Host>,
        runtime: &Runtime,
        dir: &Path,
    ) -> Result<Arc<Recording>, Failure> {
        let recorder = Recorder::new(dir)?;
        let (handle, stop, until) = (
            runtime.handle().clone(),
            CancellationToken::new(),
            Arc::new(AtomicU64::new(0)),
        );
        let (end, done) = mpsc::channel();
        let (stopped, end_at, journal) = (stop.clone(), until.clone(), host.journal.clone());
        let mut follower = journal.follow();
        let listen = async move {
            let mut last = 0;
            loop {
                // Guests may go on while the host ends: what is judged from then on isn't waited
                // for.
                if stopped.is_cancelled() && last >= end_at.load(Ordering::Acquire) {
                    return;
                }
                let news = tokio::select! {
                    // Events that were judged are written before the recording ends.
                    biased;
                    news = follower.next(&journal) => news,
                    () = stopped.cancelled() => return,
                };
                let Some(news) = news else { return };
                last = news.judged.last().map_or(last, |judged| judged.seq());
                write_news(&recorder, &news);
            }
        };
        std::thread::Builder::new()
            .name("record".into())
            .spawn(move || {
                handle.block_on(listen);
                let _ = end.send(());
            })?;
        Ok(Arc::new(Recording {
            host: host.clone(),
            stop,
            until,
            done: Mutex::new(done),
        }))
    }

    /// Writes what has been judged until now, and ends.
    pub(super) fn finish(&self) {
        if !self.has_finished() {
            tracing::error!("The last events are not recorded: the disk doesn't answer.");
        }
    }

    /// Waits until all events so far are written; says whether that was done in time.
    fn has_finished(&self) -> bool {
        self.until
            .store(self.host.journal.total(), Ordering::Release);
        self.stop.cancel();
        // Who has finished before has also hung up.
        self.done.lock().recv_timeout(LAST) != Err(mpsc::RecvTimeoutError::Timeout)
    }
}

/// Writes what has come.
fn write_news(recorder: &Recorder, news: &News) {
    let lost = (news.lost > 0).then(|| json!({ "lost": news.lost }).to_string());
    if news.lost > 0 {
        tracing::warn!(
            lost = news.lost,
            "Too many events at once: some are not recorded."
        );
    }
    let judged = news
        .judged
        .iter()
        .filter_map(|it| record_line(&it.record()?));
    let ended = news.ended.iter().filter_map(|it| ended_line(it));
    for line in lost.into_iter().chain(judged).chain(ended) {
        let written = match parse(&line) {
            Ok(value) => recorder.write_record(&Clean::new(value)),
            Err(error) => Err(Failure(error.to_string())),
        };
        if let Err(Failure(error)) = written {
            tracing::warn!(error, "An event is not recorded.");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_base::event::Event;
    use hookwire_engine::host::HostOptions;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn the_end_doesnt_wait_for_guests_who_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::new(HostOptions {
            root: dir.path().into(),
            ..HostOptions::default()
        });
        let runtime = crate::cli::ending::make_runtime().unwrap();
        let recording = Recording::start(&host, &runtime, dir.path())
            .unwrap_or_else(|error| panic!("{}", error.0));
        let event = Event::from_json(json!({ "event": "Stop" })).unwrap();
        let verdict = serde_json::from_value(
            json!({ "decision": "allow", "outcomes": [], "generation": 1, "hash": "", "eventId": "e" }),
        )
        .unwrap();
        let write = || {
            let from = hookwire_engine::journal::Sender {
                dialect: "native",
                client: None,
                via: None,
            };
            host.journal.write(
                &event,
                from,
                "{\"event\":\"Stop\"}",
                &verdict,
                b"{\"decision\":\"allow\"}",
            );
        };
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    write();
                }
            });
            let is_done = recording.has_finished();
            is_over.store(true, Ordering::Relaxed);
            assert!(is_done);
        });
    }
}
