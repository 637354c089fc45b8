//! The client's side of JSON-RPC: frames, ids, replies, notifications and a time limit. Knows no
//! methods.
//!
//! [`Requests`] and [`Received`] do no I/O, for those who have their own; [`Client`] talks over a
//! socket and waits.

use super::framing::{Decoder, Incoming};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
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

/// The requests that were sent and have no reply yet, each with what the sender wants to know then.
pub struct Requests<T> {
    next_id: u64,
    waiting: HashMap<u64, T>,
}

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Requests { next_id: 1, waiting: HashMap::new() }
    }
}

impl<T> Requests<T> {
    /// A request as one line without its end.
    pub fn add(&mut self, method: &str, params: &Value, note: T) -> String {
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.insert(id, note);
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    }

    /// The request that a reply belongs to; it waits no longer.
    pub fn take(&mut self, id: u64) -> Option<T> {
        self.waiting.remove(&id)
    }

    /// The requests that wait.
    pub fn waiting(&self) -> impl Iterator<Item = &T> {
        self.waiting.values()
    }
}

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
        let Message { id, method, params, result, error } = serde_json::from_slice(message)?;
        Ok(match (id, method) {
            (None, Some(method)) => Received::Notification { method, params: params.map_or("null", RawValue::get) },
            (Some(id), None) => Received::Reply { id, result: error.map_or(Ok(result), |error| Err(error.message)) },
            (Some(_), Some(_)) | (None, None) => Received::Other,
        })
    }
}

/// The result of a request, or the message of its error.
type Replied = std::result::Result<Value, String>;

/// A connection to a host in another process, on which each request waits for its reply.
///
/// For programs that don't want a [`Host`](crate::Host) within them; `docs/embedding.md` shows it. The methods
/// are those of the protocol, `hookwire docs protocol`.
///
/// An error means that there is no verdict: don't act then. A host that was started by a client doesn't outlive it.
pub struct Client {
    stream: UnixStream,
    decoder: Decoder,
    requests: Requests<()>,
    /// Notifications that came while something else was waited for.
    early: VecDeque<(String, Value)>,
    /// Replies that came while something else was waited for.
    early_replies: VecDeque<(u64, Replied)>,
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
        command.stdin(OwnedFd::from(theirs.try_clone()?)).stdout(OwnedFd::from(theirs));
        let mut client = Client::new(ours, time_limit)?;
        let process = command.spawn();
        // Otherwise the command would hold the host's end of the socket open, and that the host has ended would not show.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        client.process = Some(process?);
        Ok(client)
    }

    /// Ends a host that was started for this connection, by closing its stdin, and waits until it has ended.
    ///
    /// # Errors
    /// It doesn't end in time; then it is killed.
    pub fn end(mut self) -> Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let until = Instant::now() + self.time_limit;
        loop {
            match self.next_message(until) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                other => drop(other?),
            }
        }
        self.process.take().map_or(Ok(()), |mut process| process.wait().map(drop))
    }

    /// The id of a host that was started for this connection.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Talks over a socket, such as one on which `hookwire serve --listen` waits. Nothing is waited for longer than the
    /// time limit.
    ///
    /// # Errors
    /// The socket takes no time limit.
    pub fn new(stream: UnixStream, time_limit: Duration) -> Result<Client> {
        stream.set_write_timeout(Some(time_limit))?;
        let decoder = Decoder::new(MAX_MESSAGE);
        let (requests, early, early_replies) = (Requests::default(), VecDeque::new(), VecDeque::new());
        Ok(Client { stream, decoder, requests, early, early_replies, time_limit, log: None, process: None })
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
        let id = self.send_request(method, params)?;
        self.reply(id, Instant::now() + self.time_limit)?.map_err(Error::other)
    }

    /// Sends a request; gives its id.
    ///
    /// # Errors
    /// Writing failed.
    pub fn send_request(&mut self, method: &str, params: &Value) -> Result<u64> {
        let id = self.requests.next_id;
        let request = self.requests.add(method, params, ());
        self.send(&request)?;
        Ok(id)
    }

    /// The result of a request that was sent, or the message of its error. If the host is silent for this long,
    /// `is_alive` is asked, once.
    ///
    /// # Errors
    /// There is no reply in time, or the host isn't alive.
    pub fn await_reply(
        &mut self,
        id: u64,
        silence: Duration,
        is_alive: impl FnOnce() -> Result<()>,
    ) -> Result<Replied> {
        let until = Instant::now() + self.time_limit;
        match self.reply(id, until.min(Instant::now() + silence)) {
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                is_alive()?;
                self.reply(id, until)
            }
            reply => reply,
        }
    }

    fn reply(&mut self, wanted: u64, until: Instant) -> Result<Replied> {
        loop {
            let at = self.early_replies.iter().position(|(id, _)| *id == wanted);
            if let Some((_, reply)) = at.and_then(|at| self.early_replies.remove(at)) {
                return Ok(reply);
            }
            self.receive(until)?;
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
        let is_it = |(name, params): &(String, Value)| name == method && fits(params);
        let until = Instant::now() + self.time_limit;
        loop {
            let at = self.early.iter().position(is_it);
            if let Some((_, params)) = at.and_then(|at| self.early.remove(at)) {
                return Ok(params);
            }
            self.receive(until)?;
        }
    }

    /// Keeps the next message until somebody asks for it.
    fn receive(&mut self, until: Instant) -> Result<()> {
        let message = self.next_message(until)?;
        match Received::read(&message).map_err(unreadable)? {
            Received::Reply { id, result } if self.requests.take(id).is_some() => {
                let reply = match result {
                    Ok(value) => Ok(serde_json::from_str(value.get()).map_err(unreadable)?),
                    Err(problem) => Err(problem),
                };
                keep(&mut self.early_replies, (id, reply));
            }
            Received::Notification { method, params } => {
                let params = serde_json::from_str(params).map_err(unreadable)?;
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

    fn next_message(&mut self, until: Instant) -> Result<bytes::Bytes> {
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
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::new(ErrorKind::TimedOut, NO_ANSWER));
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(Error::new(ErrorKind::UnexpectedEof, "the host has closed the connection")),
                Ok(read) => self.decoder.push(bytes.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => return Err(Error::new(ErrorKind::TimedOut, NO_ANSWER)),
                Err(error) => return Err(error),
            }
        }
    }

    fn write_log(&mut self, direction: char, message: &[u8]) -> Result<()> {
        if let Some(log) = &mut self.log {
            log.write_all(format!("{direction} {}\n", String::from_utf8_lossy(message)).as_bytes())?;
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
        let ids: Vec<u64> = (0..3).map(|_| client.send_request("a", &Value::Null).unwrap()).collect();
        let say = |stream: &mut UnixStream, message: Value| writeln!(stream, "{message}").unwrap();
        say(&mut theirs, json!({"jsonrpc": "2.0", "id": ids[0], "result": "first"}));
        say(&mut theirs, json!({"jsonrpc": "2.0", "method": "early", "params": 1}));
        say(&mut theirs, json!({"jsonrpc": "2.0", "id": ids[2], "error": {"code": 1, "message": "third"}}));
        say(&mut theirs, json!({"jsonrpc": "2.0", "method": "late", "params": 2}));
        say(&mut theirs, json!({"jsonrpc": "2.0", "id": 99, "result": "nobody's"}));
        say(&mut theirs, json!({"jsonrpc": "2.0", "id": ids[1], "result": "second"}));
        let mut reply = |id| client.await_reply(id, Duration::from_secs(20), || Ok(())).unwrap();
        assert_eq!(reply(ids[1]), Ok(json!("second")));
        assert_eq!(reply(ids[0]), Ok(json!("first")));
        assert_eq!(reply(ids[2]), Err("third".to_string()));
        let mut notified = |name| client.notification(name, |_| true).unwrap();
        assert_eq!((notified("late"), notified("early")), (json!(2), json!(1)));
    }
}
