//! The life of a worker's process, from its start to its end.

use super::super::kept::{End, Kept, Life, Places, Upkeep};
use super::super::output_log::OutputLog;
use super::super::process::{self, Child};
use super::super::process_tree;
use super::launch::Launch;
use super::listen::listen;
use super::sources::Sources;
use super::store::{MAX_WAITING, send_replies};
use super::worker::{Start, Worker};
use crate::services::state::Store;
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
const LEAVE: Duration = Duration::from_millis(500);
/// How long the pipes are read after the worker has exited.
const GRACE: Duration = Duration::from_millis(100);
/// How often dead descendants of a busy worker are reaped.
const TIDY: Duration = Duration::from_secs(30);

/// How the process came to its end.
enum Exit {
    ByItself,
    /// It isn't needed any more.
    Left,
    Killed(String),
}

impl Kept for Worker {
    type Definition = Launch;
    type Start = Start;

    const SUBJECT: &'static str = "its worker";
    const NO_PLACE: &'static str = "start a worker: ";
    const START: Duration = Duration::from_secs(10);
    const PLACES: &'static Places = {
        static PLACES: Places = Places::new(process_tree::MAX_CALLABLE_WORKERS);
        &PLACES
    };

    fn log(launch: &Launch, start: &Start) -> OutputLog {
        OutputLog::of_hook(&start.hook, launch.secrets.clone())
    }

    fn new(launch: &Arc<Launch>, life: Life) -> Worker {
        Worker::new(launch.clone(), life)
    }

    fn life(&self) -> &Life {
        &self.life
    }

    fn is_stale(&self) -> bool {
        let is_stale = self.has_changed_source();
        if is_stale {
            tracing::info!(
                hook = self.life.log.name,
                "A source of the worker changed; a new one takes over."
            );
        }
        is_stale
    }

    async fn live(self: &Arc<Worker>, start: Start, place: SemaphorePermit<'static>) -> End {
        let plan = match self.launch.plan() {
            Ok(plan) => plan,
            Err(why) => return End::NotStarted(why),
        };
        self.set_sources(Sources::new(plan.sources));
        let child = match process::start(&plan.spec, place) {
            Ok(child) => child,
            Err(error) => return End::NotStarted(error.to_string()),
        };
        match converse(self, child, &start.store).await {
            Ok(end) => end,
            Err(error) => End::Failed(format!("talk to its worker: {error}")),
        }
    }

    fn fail_calls(&self, why: &str) {
        Worker::fail_calls(self, why);
    }
}

async fn converse(worker: &Worker, child: Child, store: &Store) -> std::io::Result<End> {
    let (life, to_write) = (&worker.life, worker.to_write.lock().take());
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
        let mut log = pin!(life.log.read(stderr).fuse());
        let mut keep = pin!(keep(worker));
        // Boxed: dropping it closes the worker's stdin.
        let mut talk = Box::pin(async move {
            let feed = async {
                if let Some(mut to_write) = to_write {
                    while let Some(line) = to_write.recv().await {
                        // The exit status tells what a broken pipe means.
                        let _ = stdin.write_all(&line).await;
                    }
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
        Exit::Killed(why) => End::Failed(why),
        Exit::ByItself => {
            let status = tree.finish()?;
            let is_ready = life.is_ready();
            // A program may end itself when it has nothing to do.
            if is_ready && status.success() && !worker.has_calls() {
                End::Left
            } else {
                let when = if is_ready { "" } else { " before it was ready" };
                End::Failed(format!(
                    "its worker ended{when} with {}{}",
                    describe_status(status),
                    life.log.last_words()
                ))
            }
        }
    })
}

/// Waits until the process is to be ended from this side.
async fn keep(worker: &Worker) -> Exit {
    let (life, started) = (&worker.life, Instant::now());
    let (too_late, mut tidied) = (started + Worker::START, started);
    loop {
        let now = Instant::now();
        if now >= tidied + TIDY {
            tidied = now;
            if worker.take_was_called() {
                process_tree::tidy();
            }
        }
        let stuck = worker.look_for_hanging(now);
        let is_leaving = life.is_leaving();
        let idle = match life.upkeep(now) {
            Upkeep::Leave if is_leaving => return Exit::Left,
            Upkeep::Leave => {
                tracing::info!(hook = %life.log.name, "A worker had nothing to do and is ended.");
                return Exit::Left;
            }
            Upkeep::LookAgain(at) => at,
        };
        let unready = (!life.is_ready()).then_some(too_late);
        if unready.is_some_and(|at| now >= at) {
            let words = life.log.last_words();
            return Exit::Killed(format!(
                "its worker was not ready within {} s{words}",
                Worker::START.as_secs()
            ));
        }
        let next = [idle, stuck, unready].into_iter().flatten();
        tokio::select! {
            () = tokio::time::sleep_until(next.fold(tidied + TIDY, Instant::min)) => {}
            () = life.changed() => {}
            () = worker.wake.notified() => {}
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
