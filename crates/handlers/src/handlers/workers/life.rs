//! The life of a worker's process, from its start to its end.

use super::super::process::{self, Child};
use super::super::process_tree;
use super::launch::Launch;
use super::listen::listen;
use super::sources::Sources;
use super::store::{MAX_WAITING, send_replies};
use super::wire::Request;
use super::worker::{Phase, START, Upkeep, Worker};
use crate::services::state::Store;
use bytes::Bytes;
use futures_util::FutureExt;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::sync::{SemaphorePermit, mpsc};
use tokio::time::Instant;

/// How long a worker may take to end by itself once it isn't needed.
pub(super) const LEAVE: Duration = Duration::from_millis(500);
/// How long the pipes are read after the worker has exited.
const GRACE: Duration = Duration::from_millis(100);
/// How often dead descendants of a busy worker are reaped.
const TIDY: Duration = Duration::from_secs(30);

/// Why a process has ended.
enum End {
    /// It was asked to.
    Left,
    /// It could not be started.
    NotStarted(String),
    Crashed(String),
}

/// How the process came to its end.
enum Exit {
    ByItself,
    /// It isn't needed any more.
    Left,
    Killed(String),
}

/// Starts a worker; it takes calls once it is [ready](Worker::ready).
///
/// `permit` waits until one more process may run. `ended` is called when the process has ended,
/// with the reason if it crashed, before the calls in flight fail.
pub(super) fn start(
    launch: Arc<Launch>,
    store: Store,
    request: &Request<'_>,
    permit: impl Future<Output = SemaphorePermit<'static>> + Send + 'static,
    ended: impl FnOnce(&Arc<Worker>, Option<&str>) + Send + 'static,
) -> Arc<Worker> {
    let (worker, to_write) = Worker::new(&launch, request);
    let task = worker.clone();
    tokio::spawn(async move {
        let end = live(&task, &launch, permit, &store, to_write).await;
        ended(
            &task,
            if let End::Crashed(why) = &end {
                Some(why)
            } else {
                None
            },
        );
        task.end(match end {
            End::Left => Phase::Left,
            End::NotStarted(why) | End::Crashed(why) => Phase::Failed(why.into()),
        });
    });
    worker
}

async fn live(
    worker: &Worker,
    launch: &Launch,
    permit: impl Future<Output = SemaphorePermit<'static>>,
    store: &Store,
    to_write: mpsc::Receiver<Bytes>,
) -> End {
    let Ok(permit) = tokio::time::timeout(START, permit).await else {
        let most = process_tree::MAX_CALLABLE_WORKERS;
        return End::NotStarted(format!(
            "start a worker: {most} are busy already, and no more may run"
        ));
    };
    let plan = match launch.plan() {
        Ok(plan) => plan,
        Err(why) => return End::NotStarted(why),
    };
    worker.set_sources(Sources::new(plan.sources));
    match process::start(&plan.spec, permit) {
        Ok(child) => match converse(worker, child, store, to_write).await {
            Ok(end) => end,
            Err(error) => End::Crashed(format!("talk to its worker: {error}")),
        },
        Err(error) => End::NotStarted(error.to_string()),
    }
}

async fn converse(
    worker: &Worker,
    child: Child,
    store: &Store,
    mut to_write: mpsc::Receiver<Bytes>,
) -> std::io::Result<End> {
    let Child {
        mut stdin,
        stdout,
        stderr,
        tree,
    } = child;
    let (replies, to_reply) = mpsc::channel(MAX_WAITING);
    let how = {
        let mut exited = pin!(tree.exited());
        let mut hear = pin!(listen(worker, stdout, replies, store).fuse());
        let mut log = pin!(worker.log.read(stderr).fuse());
        let mut keep = pin!(keep(worker));
        // Boxed: dropping it closes the worker's stdin.
        let mut talk = Box::pin(async move {
            let feed = async {
                while let Some(line) = to_write.recv().await {
                    // The exit status tells what a broken pipe means.
                    let _ = stdin.write_all(&line).await;
                }
            };
            tokio::join!(feed, send_replies(store, to_reply, &worker.lines))
        });
        let (mut deaf_since, mut is_mute) = (None, false);
        let how = loop {
            let is_deaf = deaf_since.is_some();
            tokio::select! {
                result = &mut exited => break result.map(|()| Exit::ByItself)?,
                end = &mut keep => break end,
                result = &mut hear => match result {
                    // Most likely it is about to exit.
                    Ok(()) => deaf_since = Some(Instant::now()),
                    Err(why) => break Exit::Killed(why),
                },
                result = &mut log => match result {
                    Ok(()) => is_mute = true,
                    Err(why) => break Exit::Killed(format!("its worker is ended: {why}")),
                },
                () = tokio::time::sleep_until(deaf_since.unwrap_or_else(Instant::now) + LEAVE), if is_deaf => {
                    break Exit::Killed("its worker closed its output without exiting".into());
                }
                _ = &mut talk => {}
            }
        };
        let hear = async {
            if deaf_since.is_none() {
                hear.await
            } else {
                Ok(())
            }
        };
        let log = async {
            // It has ended, or is about to.
            if !is_mute {
                let _ = log.await;
            }
        };
        let rest = async { tokio::join!(hear, log) };
        match how {
            // What it wrote is in the pipes already. A pipe that stays open is held by a process it
            // left behind.
            Exit::ByItself => match tokio::time::timeout(GRACE, rest).await {
                Ok((Err(why), ())) => Exit::Killed(why),
                Ok((Ok(()), ())) | Err(_) => Exit::ByItself,
            },
            Exit::Left => {
                drop(talk);
                let read_on = async {
                    let _ = rest.await;
                    std::future::pending::<()>().await;
                };
                let exit = async {
                    tokio::select! { it = &mut exited => drop(it), () = read_on => {} }
                };
                let _ = tokio::time::timeout(LEAVE, exit).await;
                Exit::Left
            }
            Exit::Killed(why) => Exit::Killed(why),
        }
    };
    Ok(match how {
        Exit::Left => End::Left,
        Exit::Killed(why) => End::Crashed(why),
        Exit::ByItself => {
            let status = tree.finish()?;
            let is_ready = worker.is_ready();
            // A program may end itself when it has nothing to do.
            if is_ready && status.success() && !worker.has_calls() {
                End::Left
            } else {
                let when = if is_ready { "" } else { " before it was ready" };
                End::Crashed(format!(
                    "its worker ended{when} with {}{}",
                    describe_status(status),
                    worker.log.last_words()
                ))
            }
        }
    })
}

/// Waits until the process is to be ended from this side.
async fn keep(worker: &Worker) -> Exit {
    let (mut phase, started, mut tidied) = (worker.phases(), Instant::now(), Instant::now());
    loop {
        let now = Instant::now();
        let is_ready = matches!(*phase.borrow_and_update(), Phase::Ready);
        if now >= tidied + TIDY {
            tidied = now;
            if worker.take_was_called() {
                process_tree::tidy();
            }
        }
        let next = match worker.upkeep(is_ready, now, tidied + TIDY) {
            Upkeep::Leave => return Exit::Left,
            Upkeep::LookAgain(at) => at,
        };
        if !is_ready && now >= started + START {
            let words = worker.log.last_words();
            return Exit::Killed(format!(
                "its worker was not ready within {} s{words}",
                START.as_secs()
            ));
        }
        let next = if is_ready {
            next
        } else {
            next.min(started + START)
        };
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            () = worker.changed(&mut phase, is_ready) => {}
        }
    }
}

fn describe_status(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}
