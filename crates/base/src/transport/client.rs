//! The client's side of JSON-RPC: frames, ids, replies, notifications and a time limit. Knows no
//! methods.
//!
//! [`Received`] does no I/O, for those who have their own; [`Client`] talks over a socket and
//! waits.

use super::framing::{Decoder, Incoming};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest message that is read, in bytes.
const MAX_MESSAGE: usize = 256 * 1024 * 1024;
/// Notifications, and replies, that are kept for later.
const MAX_EARLY: usize = 10_000;
const NO_ANSWER: &str = "the host doesn't answer";
const READ_SIZE: usize = 64 * 1024;

/// A message from the other side.
#[derive(Debug)]
pub enum Received<'a> {
    /// A reply: its result, or the message of its error.
    Reply {
        /// The request's id.
        id: u64,
        /// What came.
        result: std::result::Result<&'a RawValue, String>,
    },
    /// A notification.
    Notification {
        /// Its name.
        method: Cow<'a, str>,
        /// Its params, as JSON.
        params: &'a str,
    },
    /// A request, or a reply to nothing that was asked.
    Other,
}

impl<'a> Received<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// It is not a JSON-RPC message.
    pub fn read(message: &'a [u8]) -> serde_json::Result<Received<'a>> {
        #[derive(Deserialize)]
        struct Message<'a> {
            #[serde(default)]
            id: Option<u64>,
            #[serde(borrow, default)]
            method: Option<Cow<'a, str>>,
            #[serde(borrow, default)]
            params: Option<&'a RawValue>,
            // Not an option: the result may be null.
            #[serde(borrow, default = "null")]
            result: &'a RawValue,
            #[serde(default)]
            error: Option<ErrorObject>,
        }
        #[derive(Deserialize)]
        struct ErrorObject {
            message: String,
        }
        fn null<'a>() -> &'a RawValue {
            RawValue::NULL
        }
        let Message {
            id,
            method,
            params,
            result,
            error,
        } = serde_json::from_slice(message)?;
        Ok(match (id, method) {
            (None, Some(method)) => Received::Notification {
                method,
                params: params.map_or("null", RawValue::get),
            },
            (Some(id), None) => Received::Reply {
                id,
                result: error.map_or(Ok(result), |error| Err(error.message)),
            },
            (Some(_), Some(_)) | (None, None) => Received::Other,
        })
    }
}

/// The result of a request, or the message of its error.
type Replied<T = Value> = std::result::Result<T, String>;

/// A connection to a host in another process, on which each request waits for its reply.
///
/// For programs that don't want a `Host` within them; `docs/embedding.md` shows it. The methods
/// are those of the protocol, `hookwire docs protocol`.
///
/// An error means that there is no verdict: don't act then. A host that was started by a client
/// doesn't outlive it.
pub struct Client {
    stream: UnixStream,
    decoder: Decoder,
    next_id: u64,
    /// The requests that were sent and have no reply yet.
    waiting: HashSet<u64>,
    /// Notifications that came while something else was waited for.
    early: VecDeque<(String, Box<RawValue>)>,
    /// Replies that came while something else was waited for.
    early_replies: VecDeque<(u64, Replied<Box<RawValue>>)>,
    time_limit: Duration,
    log: Option<File>,
    /// A host that was started for this connection.
    process: Option<Child>,
}

impl Client {
    /// Starts a host, `hookwire serve` with its arguments, and talks over its stdin and stdout.
    ///
    /// # Errors
    /// It can't be started.
    pub fn start(command: &mut Command, time_limit: Duration) -> Result<Client> {
        let (ours, theirs) = UnixStream::pair()?;
        command
            .stdin(OwnedFd::from(theirs.try_clone()?))
            .stdout(OwnedFd::from(theirs));
        let mut client = Client::new(ours, time_limit)?;
        let process = command.spawn();
        // Otherwise the command would hold the host's end of the socket open, and that the host has
        // ended would not show.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        client.process = Some(process?);
        Ok(client)
    }

    /// Ends a host that was started for this connection, by closing its stdin, and waits until it
    /// has ended.
    ///
    /// # Errors
    /// It doesn't end in time; then it is killed.
    pub fn end(mut self) -> Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let until = Instant::now() + self.time_limit;
        loop {
            match self.next_message(Some(until)) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                other => drop(other?),
            }
        }
        self.process
            .take()
            .map_or(Ok(()), |mut process| process.wait().map(drop))
    }

    /// The id of a host that was started for this connection.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Talks over a socket, such as one on which `hookwire serve --listen` waits. Nothing is waited
    /// for longer than the time limit.
    ///
    /// # Errors
    /// The socket takes no time limit.
    pub fn new(stream: UnixStream, time_limit: Duration) -> Result<Client> {
        Client::within(stream, time_limit, MAX_MESSAGE)
    }

    /// The same, where a longer message than this, in bytes, is the end.
    pub fn within(stream: UnixStream, time_limit: Duration, max_message: usize) -> Result<Client> {
        stream.set_write_timeout(Some(time_limit))?;
        let (waiting, early, early_replies) = (HashSet::new(), VecDeque::new(), VecDeque::new());
        let (decoder, log, process) = (Decoder::new(max_message), None, None);
        Ok(Client {
            stream,
            decoder,
            next_id: 1,
            waiting,
            early,
            early_replies,
            time_limit,
            log,
            process,
        })
    }

    /// Writes every message into a file, too: `>` those that are sent, `<` those that come.
    pub fn log_into(&mut self, file: File) {
        self.log = Some(file);
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// There is no result.
    pub fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        Ok(serde_json::from_str(
            self.request_text(method, params)?.get(),
        )?)
    }

    /// The same, as it was written.
    pub fn request_text(&mut self, method: &str, params: &Value) -> Result<Box<RawValue>> {
        let id = self.send_request(method, params)?;
        self.reply(id, Instant::now() + self.time_limit)?
            .map_err(Error::other)
    }

    /// Sends a request; gives its id.
    fn send_request(&mut self, method: &str, params: &Value) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.insert(id);
        self.send(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
        )?;
        Ok(id)
    }

    fn reply(&mut self, wanted: u64, until: Instant) -> Result<Replied<Box<RawValue>>> {
        loop {
            let at = self.early_replies.iter().position(|(id, _)| *id == wanted);
            if let Some((_, reply)) = at.and_then(|at| self.early_replies.remove(at)) {
                return Ok(reply);
            }
            self.receive(Some(until))?;
        }
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// Writing failed.
    pub fn notify(&mut self, method: &str) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method }).to_string())
    }

    /// The params of the next notification that fits.
    ///
    /// # Errors
    /// None came.
    pub fn notification(&mut self, method: &str, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        let until = Instant::now() + self.time_limit;
        let mut n_seen = 0;
        loop {
            while let Some((name, params)) = self.early.get(n_seen) {
                if name == method {
                    let params = serde_json::from_str(params.get()).map_err(unreadable)?;
                    if fits(&params) {
                        self.early.remove(n_seen);
                        return Ok(params);
                    }
                }
                n_seen += 1;
            }
            self.receive(Some(until))?;
            // The oldest may have been forgotten.
            n_seen = n_seen.min(self.early.len().saturating_sub(1));
        }
    }

    /// The next notification, with its params as they were written, however long that takes.
    pub fn next_notification(&mut self) -> Result<(String, Box<RawValue>)> {
        loop {
            if let Some(next) = self.early.pop_front() {
                return Ok(next);
            }
            self.receive(None)?;
        }
    }

    /// Keeps the next message until somebody asks for it.
    fn receive(&mut self, until: Option<Instant>) -> Result<()> {
        let message = self.next_message(until)?;
        match Received::read(&message).map_err(unreadable)? {
            Received::Reply { id, result } if self.waiting.remove(&id) => {
                keep(
                    &mut self.early_replies,
                    (id, result.map(RawValue::to_owned)),
                );
            }
            Received::Notification { method, params } => {
                let params = RawValue::from_string(params.to_string()).map_err(unreadable)?;
                keep(&mut self.early, (method.to_string(), params));
            }
            Received::Reply { .. } | Received::Other => {}
        }
        Ok(())
    }

    fn send(&mut self, message: &str) -> Result<()> {
        self.write_log('>', message.as_bytes())?;
        self.stream.write_all(format!("{message}\n").as_bytes())
    }

    fn next_message(&mut self, until: Option<Instant>) -> Result<bytes::Bytes> {
        let mut bytes = vec![0; READ_SIZE];
        loop {
            match self.decoder.next_message() {
                Some(Incoming::Message(message)) => {
                    self.write_log('<', &message)?;
                    return Ok(message);
                }
                Some(Incoming::Bad(bad)) => return Err(unreadable(bad.problem)),
                None => {}
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(Error::new(ErrorKind::TimedOut, NO_ANSWER));
            }
            self.stream.set_read_timeout(left)?;
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    return Err(Error::new(
                        ErrorKind::UnexpectedEof,
                        "the host has closed the connection",
                    ));
                }
                Ok(read) => self.decoder.push(bytes.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => {
                    return Err(Error::new(ErrorKind::TimedOut, NO_ANSWER));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn write_log(&mut self, direction: char, message: &[u8]) -> Result<()> {
        if let Some(log) = &mut self.log {
            log.write_all(
                format!("{direction} {}\n", String::from_utf8_lossy(message)).as_bytes(),
            )?;
        }
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The oldest is forgotten where there are too many.
fn keep<T>(kept: &mut VecDeque<T>, it: T) {
    if kept.len() >= MAX_EARLY {
        kept.pop_front();
    }
    kept.push_back(it);
}

fn is_timeout(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn unreadable(problem: impl std::fmt::Display) -> Error {
    Error::other(format!("the host's reply can't be read: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_kept_for_whoever_asks_later() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut client = Client::new(ours, Duration::from_secs(20)).unwrap();
        let ids: Vec<u64> = (0..3)
            .map(|_| client.send_request("a", &Value::Null).unwrap())
            .collect();
        let say = |stream: &mut UnixStream, message: Value| writeln!(stream, "{message}").unwrap();
        say(
            &mut theirs,
            json!({"jsonrpc": "2.0", "id": ids[0], "result": "first"}),
        );
        say(
            &mut theirs,
            json!({"jsonrpc": "2.0", "method": "early", "params": 1}),
        );
        say(
            &mut theirs,
            json!({"jsonrpc": "2.0", "id": ids[2], "error": {"code": 1, "message": "third"}}),
        );
        say(
            &mut theirs,
            json!({"jsonrpc": "2.0", "method": "late", "params": 2}),
        );
        say(
            &mut theirs,
            json!({"jsonrpc": "2.0", "id": 99, "result": "nobody's"}),
        );
        say(
            &mut theirs,
            json!({"jsonrpc": "2.0", "id": ids[1], "result": "second"}),
        );
        let until = Instant::now() + Duration::from_secs(20);
        let mut reply = |id| {
            client
                .reply(id, until)
                .unwrap()
                .map(|it| it.get().to_string())
        };
        assert_eq!(reply(ids[1]), Ok(r#""second""#.to_string()));
        assert_eq!(reply(ids[0]), Ok(r#""first""#.to_string()));
        assert_eq!(reply(ids[2]), Err("third".to_string()));
        let mut notified = |name| client.notification(name, |_| true).unwrap();
        assert_eq!((notified("late"), notified("early")), (json!(2), json!(1)));
    }
}
