//! Serves whoever asks over the socket that every user of the machine may reach.
//!
//! Nobody there is trusted: a connection has one question at a time, each user has so many
//! connections, and who sends or reads nothing loses the connection.

use super::guarded::Asker;
use super::session::Side;
use super::single::answer_message;
use hookwire_ask::peer::Peer;
use hookwire_engine::host::Host;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// How many connections a user may have.
const MOST_OF_USER: usize = 32;
/// How long a question may take to come, and an answer to be read.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many bytes are read at once.
const PIECE: usize = 16 * 1024;

/// How many connections each user has.
#[derive(Default)]
struct Askers(Mutex<HashMap<u32, usize>>);

/// One of them, until it is dropped.
struct Place<'a>(&'a Askers, u32);

impl Askers {
    fn enter(&self, uid: u32) -> Option<Place<'_>> {
        let mut open = self.0.lock();
        let count = open.entry(uid).or_default();
        if *count >= MOST_OF_USER {
            return None;
        }
        *count += 1;
        Some(Place(self, uid))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut open = self.0.0.lock();
        if let Some(count) = open.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.1);
            }
        }
    }
}

/// What serves one who asks.
pub fn serve_askers(
    host: Arc<Host>,
    runtime: Handle,
    max_message: usize,
) -> impl Fn(UnixStream) -> Result<()> + Send + Sync + 'static {
    let askers = Askers::default();
    move |mut stream| {
        let uid = Peer::from_stream(&stream)?.uid;
        let Some(_place) = askers.enter(uid) else {
            return Err(Error::other(format!(
                "user {uid} has {MOST_OF_USER} connections already"
            )));
        };
        stream.set_write_timeout(Some(PATIENCE))?;
        let (mut read, asker) = (Vec::new(), Asker::new(uid));
        while let Some(message) = read_line(&mut stream, &mut read, max_message)? {
            let answer = answer_message(&host, &runtime, Side::Asker(asker.clone()), &message);
            let mut reply = runtime.block_on(answer);
            // A notification has none.
            if !reply.is_empty() {
                reply.push(b'\n');
                stream.write_all(&reply)?;
            }
        }
        Ok(())
    }
}

/// The next line, without its end; `read` has what was read behind it. Nothing where the client has
/// said all.
fn read_line(stream: &mut UnixStream, read: &mut Vec<u8>, most: usize) -> Result<Option<Vec<u8>>> {
    let until = Instant::now() + PATIENCE;
    let (mut piece, mut n_searched) = (vec![0; PIECE], 0);
    loop {
        let end = read.iter().skip(n_searched).position(|byte| *byte == b'\n');
        if let Some(end) = end.map(|end| n_searched + end) {
            let rest = read.split_off(end + 1);
            let mut line = std::mem::replace(read, rest);
            line.truncate(end);
            return Ok(Some(line));
        }
        n_searched = read.len();
        if n_searched > most {
            return Err(Error::new(ErrorKind::FileTooLarge, "a message is too long"));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::new(ErrorKind::TimedOut, "no question came"));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(None),
            Ok(n) => read.extend_from_slice(piece.get(..n).unwrap_or_default()),
            Err(error)
                if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(error) => return Err(error),
        }
    }
}
