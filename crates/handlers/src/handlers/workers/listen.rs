//! What a worker's process writes, line by line.

use super::store::{StoreReply, perform};
use super::wire::WorkerLine;
use super::worker::Worker;
use crate::services::state::Store;
use std::path::PathBuf;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;
use tokio::sync::mpsc;

/// The longest line that a worker may write, in bytes.
const MAX_LINE: usize = 16 * 1024 * 1024;

/// Takes what the worker writes, until it closes its output.
///
/// # Errors
/// The worker doesn't keep to the protocol.
pub(super) async fn listen(
    worker: &Worker,
    mut stdout: ChildStdout,
    replies: mpsc::Sender<StoreReply>,
    store: &Store,
) -> Result<(), String> {
    let mut buffer = Vec::new();
    loop {
        let before = buffer.len();
        buffer.reserve(16 * 1024);
        match stdout.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return Ok(()),
            Ok(_) => {}
        }
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', &buffer[start.max(before)..])
            .map(|at| at + start.max(before) - start)
        {
            let line = &buffer[start..start + length];
            let (reply, is_of_call) = take_line(worker, line, store)
                .map_err(|why| describe_garbage(worker, line, &why))?;
            if let Some(reply) = reply {
                // An error means that the worker is ending.
                let _ = replies.send(reply).await;
            }
            start += length + 1;
            if !is_of_call
                && !worker
                    .life
                    .log
                    .flow
                    .takes("stdout", &buffer[start - length - 1..start])
            {
                return Err(format!(
                    "its worker is ended: {}",
                    worker.life.log.flow.excess().unwrap_or_default()
                ));
            }
        }
        buffer.drain(..start);
        if buffer.len() > MAX_LINE {
            return Err(format!(
                "its worker wrote a line of more than {} MiB",
                MAX_LINE >> 20
            ));
        }
        if buffer.is_empty() {
            // So that one large answer doesn't hold memory for good.
            buffer.shrink_to(64 * 1024);
        }
    }
}

fn describe_garbage(worker: &Worker, line: &[u8], why: &str) -> String {
    let line = worker.life.log.masked(&String::from_utf8_lossy(line), 200);
    let why = worker.life.log.secrets.mask(why);
    format!("its worker wrote what the protocol doesn't have ({why}): {line}")
}

/// Does what a line asks for. What is to be replied, and whether a call in flight wrote it, which
/// may take as many lines as it likes: it has a time limit.
fn take_line(
    worker: &Worker,
    line: &[u8],
    store: &Store,
) -> Result<(Option<StoreReply>, bool), String> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok((None, false));
    }
    let line: WorkerLine<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    worker.add_sources(line.loaded.iter().flatten().map(PathBuf::as_path));
    match line {
        WorkerLine {
            state: Some(request),
            id: Some(id),
            call,
            ..
        } => {
            let asker = call.and_then(|call| worker.asker(call));
            let reply = perform(
                id,
                request,
                worker.launch.runtime.language(),
                asker.as_ref(),
                store,
            );
            return Ok((Some(reply), asker.is_some()));
        }
        WorkerLine {
            id: Some(id),
            answer: Some(answer),
            ..
        } => {
            return Ok((None, worker.answer(id, Ok(answer.to_owned()))));
        }
        WorkerLine {
            id: Some(id),
            error: Some(error),
            place,
            ..
        } => {
            let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
            let error = worker.life.log.masked(&format!("{error}{place}"), 4000);
            return Ok((None, worker.answer(id, Err(error))));
        }
        WorkerLine {
            id: Some(id),
            abandoned: Some(true),
            ..
        } => worker.abandon(id),
        WorkerLine {
            ready: Some(true), ..
        } => worker.life.set_ready(),
        WorkerLine {
            loaded: Some(_), ..
        } => {}
        _ => {
            return Err(
                "neither `ready` nor an `id` with `answer`, `error`, `abandoned` or `state`".into(),
            );
        }
    }
    Ok((None, false))
}
