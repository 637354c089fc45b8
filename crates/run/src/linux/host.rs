//! The host that is asked: JSON-RPC 2.0 with `Content-Length` headers over its Unix socket.

use hookwire_ask::look::Look;
use hookwire_ask::peer::filters;
use libc::pid_t;
use serde_json::{Value, json};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The longest message that is read, in bytes.
const MAX_MESSAGE: usize = 16 << 20;
const MAX_HEADER: usize = 8 << 10;
/// How long the host may take for what needs no hook.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether somebody still waits for the answer to a question.
const LOOK: Duration = Duration::from_secs(1);

/// A connection to the host.
pub struct Link {
    stream: UnixStream,
    buffer: Vec<u8>,
    next_id: u64,
}

/// What the host says.
#[derive(Debug)]
pub enum Message {
    /// The reply to the request of this number: its result, or what went wrong.
    Reply(u64, std::result::Result<Value, String>),
    /// Something that needs no reply.
    Notification(String, Value),
}

impl Link {
    /// Says who this is. The reply to that is left to be read: its number is 1.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn over_stream(stream: UnixStream) -> Result<Link> {
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_read_timeout(Some(LOOK))?;
        let mut link = Link {
            stream,
            buffer: Vec::new(),
            next_id: 1,
        };
        link.send_request(
            "initialize",
            json!({
                "clientInfo": { "name": "hookwire-run", "version": env!("CARGO_PKG_VERSION") },
                "capabilities": { "hooks": { "decisions": ["allow", "deny"] } },
            }),
        )?;
        Ok(link)
    }

    /// The socket, to be waited on.
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Sends a request; gives its number.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn send_request(&mut self, method: &str, params: Value) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        let body =
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        self.stream
            .write_all(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())?;
        Ok(id)
    }

    /// Waits for the reply to a request, for as long as `is_awaited` says. Other messages are
    /// passed over.
    ///
    /// # Errors
    /// The connection is broken, or nobody waits any more.
    pub fn await_reply(
        &mut self,
        id: u64,
        mut is_awaited: impl FnMut() -> bool,
    ) -> Result<std::result::Result<Value, String>> {
        loop {
            match self.next_message() {
                Ok(Message::Reply(of, reply)) if of == id => return Ok(reply),
                Ok(_) => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if !is_awaited() {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The next message that has come already.
    pub fn take_message(&mut self) -> Result<Option<Message>> {
        while let Some(body) = self.take_body()? {
            if let Some(message) = read_message(&body)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// Reads once; call it when something is there.
    ///
    /// # Errors
    /// The connection is broken or has ended.
    pub fn fill_buffer(&mut self) -> Result<()> {
        let mut chunk = [0; 16 << 10];
        match self.stream.read(&mut chunk)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            n => {
                self.buffer.extend_from_slice(&chunk[..n]);
                Ok(())
            }
        }
    }

    fn next_message(&mut self) -> Result<Message> {
        loop {
            if let Some(message) = self.take_message()? {
                return Ok(message);
            }
            self.fill_buffer()?;
        }
    }

    fn take_body(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(end) = self.buffer.windows(4).position(|it| it == b"\r\n\r\n") else {
            return if self.buffer.len() > MAX_HEADER {
                Err(ErrorKind::InvalidData.into())
            } else {
                Ok(None)
            };
        };
        let header =
            std::str::from_utf8(&self.buffer[..end]).map_err(|_| ErrorKind::InvalidData)?;
        let length: usize = header
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .and_then(|(_, value)| value.trim().parse().ok())
            .filter(|length| *length <= MAX_MESSAGE)
            .ok_or(ErrorKind::InvalidData)?;
        let all = end + 4 + length;
        if self.buffer.len() < all {
            return Ok(None);
        }
        let body = self.buffer[end + 4..all].to_vec();
        self.buffer.drain(..all);
        Ok(Some(body))
    }
}

/// Reads a message; none if it is a request, which this program doesn't answer because it has
/// promised to answer none.
fn read_message(body: &[u8]) -> Result<Option<Message>> {
    let mut message: Value = serde_json::from_slice(body)?;
    let id = message.get("id").and_then(Value::as_u64);
    let method = message
        .get("method")
        .and_then(Value::as_str)
        .map(str::to_owned);
    Ok(match (id, method) {
        (None, Some(method)) => Some(Message::Notification(method, message["params"].take())),
        (Some(id), None) => {
            let error = message
                .get("error")
                .map(|error| error["message"].as_str().unwrap_or("an error").to_owned());
            Some(Message::Reply(
                id,
                error.map_or_else(|| Ok(message["result"].take()), Err),
            ))
        }
        _ => None,
    })
}

/// Whether a process is below the filter: a host that was started from here isn't, and stays.
pub fn is_held(pid: pid_t) -> bool {
    let (own, theirs) = (filters("self"), filters(&pid.to_string()));
    !matches!((own, theirs), (Look::Found(own), Look::Found(theirs)) if theirs <= own)
}

/// Reads within a time limit until the reply is there.
///
/// # Errors
/// The host doesn't answer in time, or says that something is wrong.
pub fn await_soon(link: &mut Link, id: u64) -> Result<Value> {
    let until = Instant::now() + PATIENCE;
    link.await_reply(id, || Instant::now() < until)?
        .map_err(Error::other)
}
