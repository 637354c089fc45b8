//! What a host of a fleet has judged, on its way to the verdict stream: without secrets into the
//! spool, and from there to the server when there is one.

use super::judged::ByBundle;
use crate::host::Host;
use crate::journal::{Ended, Follower, Journal, News, Record};
use hookwire_base::support::json::parse;
use hookwire_fleet::server::Server;
use hookwire_fleet::spool::Spool;
use hookwire_fleet::verdicts::{Outbound, Progress, spool_limits};
use hookwire_handlers::handlers::guards::without_secrets;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long the last events may take to be spooled, of which secrets are taken out first. Only a
/// disk that hangs needs it.
const LAST: Duration = Duration::from_secs(10);

/// The way of a host's verdicts to the stream.
pub struct Verdicts {
    journal: Arc<Journal>,
    server: Server,
    outbound: Outbound,
    stop: CancellationToken,
    /// The last event that is waited for at the end.
    until: Arc<AtomicU64>,
    done: CancellationToken,
}

impl Verdicts {
    /// Spools from now on what the host judges, in a directory below this one, and sends it.
    ///
    /// # Errors
    /// There is no spool or no thread for it.
    pub fn start(
        host: &Arc<Host>,
        runtime: &Handle,
        server: &Server,
        dir: PathBuf,
        by_bundle: ByBundle,
    ) -> std::io::Result<Verdicts> {
        let outbound = Outbound::new(Spool::claim(&dir, spool_limits())?);
        let (draining, to) = (outbound.clone(), server.clone());
        runtime.spawn(async move { draining.drain_to(&to, Some(dir)).await });
        let (stop, until) = (CancellationToken::new(), Arc::new(AtomicU64::new(0)));
        let done = CancellationToken::new();
        let ends = done.clone().drop_guard();
        // From here on, not from when the thread begins: what is judged in between counts.
        let follower = host.journal.follow();
        let project = host.root().to_string_lossy().into_owned();
        let (journal, to) = (host.journal.clone(), outbound.clone());
        let reading = Reading {
            journal,
            follower,
            project,
            outbound: to,
            by_bundle,
        };
        let (stopped, end_at) = (stop.clone(), until.clone());
        let handle = runtime.clone();
        // A thread of its own, because taking secrets out and the disk take their time.
        std::thread::Builder::new()
            .name("verdicts".into())
            .spawn(move || {
                let _ends = ends;
                handle.block_on(reading.run(&stopped, &end_at));
            })?;
        Ok(Verdicts {
            journal: host.journal.clone(),
            server: server.clone(),
            outbound,
            stop,
            until,
            done,
        })
    }

    /// How far it is with sending, and each change of it.
    pub(super) fn progress(&self) -> watch::Receiver<Progress> {
        self.outbound.progress()
    }

    /// Spools what has been judged until now, and gives the server a moment to take it. What it
    /// doesn't take is sent by the next host of this machine.
    pub async fn finish(&self, moment: Duration) {
        self.until.store(self.journal.total(), Ordering::Release);
        self.stop.cancel();
        if tokio::time::timeout(LAST, self.done.cancelled())
            .await
            .is_err()
        {
            tracing::error!(
                "The last verdicts are not in the fleet's stream: the disk doesn't answer."
            );
            return;
        }
        let moment = if self.server.usable().is_ok() {
            moment
        } else {
            Duration::ZERO
        };
        if !self.outbound.wait_until_drained(moment).await {
            let waiting = self.outbound.progress().borrow().waiting;
            tracing::info!(waiting, "Verdicts wait on the disk for the next host.");
        }
    }
}

/// A journal that is read into a spool.
struct Reading {
    journal: Arc<Journal>,
    follower: Follower,
    project: String,
    outbound: Outbound,
    by_bundle: ByBundle,
}

impl Reading {
    /// Reads until it is told to stop, and spools what is there then.
    async fn run(mut self, stop: &CancellationToken, until: &AtomicU64) {
        let mut last = 0;
        loop {
            // Guests may go on while the host ends: what is judged from then on isn't waited for.
            if stop.is_cancelled() && last >= until.load(Ordering::Acquire) {
                return;
            }
            let news = tokio::select! {
                // Events that were judged are spooled before the end.
                biased;
                news = self.follower.next(&self.journal) => news,
                () = stop.cancelled() => return,
            };
            let Some(news) = news else { return };
            last = news.judged.last().map_or(last, |it| it.seq());
            self.keep(&news);
        }
    }

    /// Spools what has come.
    fn keep(&self, news: &News) {
        self.outbound.count_lost(news.lost);
        let judged: Vec<Value> = news
            .judged
            .iter()
            .filter_map(|it| judged(&it.record()?, &self.by_bundle))
            .collect();
        let ended = news.ended.iter().filter_map(|it| ended(it));
        let (mut lines, mut n_long) = (Vec::new(), 0);
        for record in judged.into_iter().chain(ended) {
            match line(record, &self.project) {
                Some(line) => lines.push(line),
                None => n_long += 1,
            }
        }
        self.outbound.count_lost(n_long);
        match self.outbound.keep_records(&lines) {
            Ok(0) => {}
            Ok(refused) => {
                tracing::error!(
                    refused,
                    "The spool of verdicts is full: these are not in the fleet's stream."
                );
            }
            Err(error) => {
                tracing::error!(%error, "Verdicts are not in the fleet's stream: the spool can't be written.");
            }
        }
    }
}

/// A record with the bundle by which it was judged.
fn judged(record: &Record<'_>, by_bundle: &ByBundle) -> Option<Value> {
    let mut value = parse(&serde_json::to_string(record).ok()?).ok()?;
    if let Some(by) = by_bundle.of(record.verdict.get()) {
        value["published"] = json!({ "revision": by.revision, "digest": by.digest });
    }
    Some(value)
}

fn ended(ended: &Ended) -> Option<Value> {
    serde_json::to_value(ended)
        .ok()
        .map(|ended| json!({ "ended": ended }))
}

/// A record without secrets as a line. One that is too long for a message goes without what was
/// sent, and, if that isn't enough, without what the hooks have said.
fn line(mut record: Value, project: &str) -> Option<Vec<u8>> {
    if let Some(members) = record.as_object_mut() {
        members.insert("project".into(), project.into());
    }
    let mut record = without_secrets(record);
    let most = spool_limits().record;
    for cut in [
        &[][..],
        &["params"],
        &["outcomes", "subject", "userMessages"],
    ] {
        for name in cut {
            let at = if *name == "params" {
                Some(&mut record)
            } else {
                record.get_mut("verdict")
            };
            if let Some(members) = at.and_then(Value::as_object_mut) {
                members.remove(*name);
            }
            if let Some(members) = record.as_object_mut() {
                members.insert("truncated".into(), true.into());
            }
        }
        // A verdict is read with its outcomes.
        if cut.len() > 1
            && let Some(verdict) = record.get_mut("verdict").and_then(Value::as_object_mut)
        {
            verdict.insert("outcomes".into(), json!([]));
        }
        let line = record.to_string().into_bytes();
        if line.len() <= most {
            return Some(line);
        }
    }
    tracing::error!("A verdict is too long for the fleet's stream and is left out.");
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_as_long_as_a_message_may_be() {
        let record = |params: usize, reason: usize| {
            json!({
                "seq": 1, "event": "PreToolUse", "params": { "text": "x".repeat(params) },
                "verdict": { "decision": "deny", "reason": "Not here.", "outcomes": [{ "reason": "y".repeat(reason) }] },
            })
        };
        let most = spool_limits().record;
        for (params, reason, has_params, n_outcomes) in [
            (10, 10, true, 1),
            (most, 10, false, 1),
            (10, most, false, 0),
            (most, most, false, 0),
        ] {
            let line = line(record(params, reason), "/p").unwrap();
            let read: Value = serde_json::from_slice(&line).unwrap();
            assert!(line.len() <= most && !line.contains(&b'\n'));
            assert_eq!(
                (
                    read.get("params").is_some(),
                    read["verdict"]["outcomes"].as_array().unwrap().len()
                ),
                (has_params, n_outcomes)
            );
            assert_eq!(
                (&read["project"], &read["verdict"]["reason"]),
                (&json!("/p"), &json!("Not here."))
            );
            assert_eq!(read["truncated"] == true, !has_params);
        }
        let secret = line(
            json!({ "params": { "command": "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" } }),
            "/p",
        );
        assert!(
            !String::from_utf8(secret.unwrap())
                .unwrap()
                .contains("wJalrXUtnFEMI")
        );
    }
}
