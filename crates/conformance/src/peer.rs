//! The other end of a conversation: what it sends is read beside, so that nothing here waits for
//! ever.

use crate::framing::Framing;
use crate::strict;
use serde_json::Value;
use std::io::{BufReader, Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Messages in both directions.
pub(crate) struct Peer {
    name: &'static str,
    framing: Framing,
    /// `None` once it is closed.
    outgoing: Option<Sender<Vec<u8>>>,
    incoming: Receiver<Result<Value, String>>,
    /// What came while something else was waited for.
    early: Vec<Value>,
}

/// The reply to a message, if it gets one at once.
pub(crate) type Answer = Box<dyn Fn(&Value) -> Option<Value> + Send>;

/// How many messages are kept for later.
const MAX_EARLY: usize = 10_000;

impl Peer {
    /// With `answer`, some messages are replied to as soon as they have come; then its input stays
    /// open.
    pub(crate) fn new(
        name: &'static str,
        framing: Framing,
        input: impl Write + Send + 'static,
        output: impl Read + Send + 'static,
        answer: Option<Answer>,
    ) -> Peer {
        let (outgoing, to_write) = mpsc::channel::<Vec<u8>>();
        let (read, incoming) = mpsc::channel();
        let answers = answer.map(|answer| (answer, outgoing.clone()));
        std::thread::spawn(move || write_messages(input, &to_write));
        // The thread ends with the output, or when nobody listens any more.
        std::thread::spawn(move || {
            read_all(output, framing, |message| {
                if let (Ok(message), Some((answer, to))) = (&message, &answers)
                    && let Some(reply) = answer(message)
                {
                    let _ = to.send(frame_message(framing, reply.to_string().as_bytes()));
                }
                read.send(message).is_ok()
            });
        });
        Peer {
            name,
            framing,
            outgoing: Some(outgoing),
            incoming,
            early: Vec::new(),
        }
    }

    pub(crate) fn send_message(&self, message: &Value) {
        self.write_bytes(frame_message(self.framing, message.to_string().as_bytes()));
    }

    pub(crate) fn send_raw(&self, text: &str) {
        self.write_bytes([text.as_bytes(), b"\n"].concat());
    }

    fn write_bytes(&self, bytes: Vec<u8>) {
        // Whoever has closed its input is noticed by what doesn't come back.
        let _ = self.outgoing.as_ref().map(|outgoing| outgoing.send(bytes));
    }

    /// Ends its input.
    pub(crate) fn close_input(&mut self) {
        self.outgoing = None;
    }

    /// The first message that fits; others wait.
    pub(crate) fn receive_fitting(
        &mut self,
        what: &str,
        limit: Duration,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<Value, String> {
        if let Some(at) = self.early.iter().position(&fits) {
            return Ok(self.early.remove(at));
        }
        let until = Instant::now() + limit;
        loop {
            match self.next(until) {
                Ok(Some(message)) if fits(&message) => return Ok(message),
                Ok(Some(message)) if self.early.len() < MAX_EARLY => self.early.push(message),
                Ok(Some(_)) => return Err(format!("{} sends too much", self.name)),
                Ok(None) => {
                    return Err(format!(
                        "{} has ended without {what}{}",
                        self.name,
                        self.others()
                    ));
                }
                Err(Silence::Late) => return Err(format!("{what} didn't come{}", self.others())),
                Err(Silence::Unreadable(problem)) => {
                    return Err(format!("{} {problem}", self.name));
                }
            }
        }
    }

    /// Everything that it sends until it has ended.
    pub(crate) fn receive_rest(&mut self, limit: Duration) -> Result<Vec<Value>, String> {
        let until = Instant::now() + limit;
        loop {
            match self.next(until) {
                Ok(Some(message)) => self.early.push(message),
                Ok(None) => return Ok(std::mem::take(&mut self.early)),
                Err(Silence::Late) => return Err(format!("{} doesn't end", self.name)),
                Err(Silence::Unreadable(problem)) => {
                    return Err(format!("{} {problem}", self.name));
                }
            }
        }
    }

    fn next(&self, until: Instant) -> Result<Option<Value>, Silence> {
        match self
            .incoming
            .recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            Ok(Ok(message)) => Ok(Some(message)),
            Ok(Err(problem)) => Err(Silence::Unreadable(problem)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(Silence::Late),
        }
    }

    fn others(&self) -> String {
        match self.early.first() {
            Some(other) => format!("; what came is {}", crate::pattern::shorten_value(other)),
            None => String::new(),
        }
    }
}

enum Silence {
    Late,
    Unreadable(String),
}

fn frame_message(framing: Framing, message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.len() + 32);
    framing.write_frame(message, &mut bytes);
    bytes
}

fn write_messages(mut input: impl Write, messages: &Receiver<Vec<u8>>) {
    for bytes in messages {
        if input
            .write_all(&bytes)
            .and_then(|()| input.flush())
            .is_err()
        {
            break;
        }
    }
}

fn read_all(output: impl Read, framing: Framing, hand_on: impl Fn(Result<Value, String>) -> bool) {
    let mut output = BufReader::new(output);
    while let Some(message) = framing.read_frame(&mut output) {
        if !hand_on(parse_message(&message)) {
            return;
        }
    }
}

fn parse_message(message: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(message)
        .map_err(|error| format!("has sent what isn't UTF-8: {error}"))?;
    strict::parse(text).map_err(|error| format!("has sent what is no JSON: {error}: {text:.80}"))
}
