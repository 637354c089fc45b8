//! One question to a host, and its answer.

use crate::said::Said;
use crate::{TIME_LIMIT, socket};
use serde_json::{Value, json};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a host may be silent before it is asked whether it is alive.
const SILENCE: Duration = Duration::from_secs(2);
/// How long a host may read nothing of a long event.
const STUCK: Duration = Duration::from_secs(4);
/// The longest line that a host may answer with, in bytes.
const MAX_ANSWER: usize = 256 * 1024 * 1024;

/// The codes with which a host of another version says that it doesn't know the method, or a member
/// of the question.
const NOT_UNDERSTOOD: [i64; 2] = [-32601, -32602];

/// An event that an agent's hook asks about.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The event's name, where the command line says it.
    pub event: Option<&'a str>,
    /// A failure denies nothing.
    pub fails_open: bool,
    /// Whether a person can be asked where the agent runs, if that is looked up and known.
    pub attended: Option<bool>,
    /// How long the event may take.
    pub time_limit: Duration,
    /// What the agent has sent.
    pub sent: &'a str,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// The host doesn't have the question, or doesn't understand it.
    Unreached(Error),
    /// The host has the question, and may have run hooks.
    Lost(Error),
    /// The host says why it judges nothing.
    Refused(String),
}

impl Unanswered {
    /// Why the host at a socket that a person has named doesn't answer.
    pub fn describe_for(&self, socket: &Path) -> String {
        let problem: &dyn std::fmt::Display = match self {
            Unanswered::Unreached(error) | Unanswered::Lost(error) => error,
            Unanswered::Refused(problem) => problem,
        };
        format!("the host at unix:{}: {problem}", socket.display())
    }
}

impl<'a> Question<'a> {
    /// A question with what holds unless a command line says otherwise.
    pub fn new(agent: &'a str, sent: &'a str) -> Question<'a> {
        Question {
            agent,
            event: None,
            fails_open: false,
            attended: None,
            time_limit: TIME_LIMIT,
            sent,
        }
    }

    /// Asks a host, to which `connect` connects, by its socket.
    ///
    /// # Errors
    /// Nobody has answered the question.
    pub fn ask_host(
        &self,
        socket: &Path,
        mut connect: impl FnMut() -> Result<UnixStream>,
    ) -> std::result::Result<Said, Unanswered> {
        let request = self.request();
        let mut send = || {
            let mut line = Line::open(connect())?;
            line.stream.write_all(request.as_bytes())?;
            Ok(line)
        };
        let is_stuck =
            |error: &Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        let line = match send() {
            // It may end just now, because it was idle.
            Err(error) if !is_stuck(&error) => send(),
            sent => sent,
        };
        let mut line = line.map_err(|error| match is_stuck(&error) {
            true => Unanswered::Lost(Error::new(ErrorKind::TimedOut, "the host doesn't read")),
            false => Unanswered::Unreached(error),
        })?;
        let until = Instant::now() + self.time_limit;
        let answer = match line.read_reply(until.min(Instant::now() + SILENCE)) {
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                is_alive(socket).and_then(|()| line.read_reply(until))
            }
            answer => answer,
        };
        Question::read_answer(answer.map_err(Unanswered::Lost)?)
    }

    /// Asks the machine's host, and beside it the user's own if the machine's lets it say
    /// something. What the user's own host doesn't say changes nothing.
    ///
    /// # Errors
    /// The machine's host hasn't answered the question.
    pub fn ask_both(
        &self,
        machine: &Path,
        own: impl FnOnce() -> Result<UnixStream>,
    ) -> std::result::Result<Said, Unanswered> {
        let until = Instant::now() + self.time_limit;
        let mut line = Line::open(socket::connect(machine)).map_err(Unanswered::Unreached)?;
        let begin = write_request("guard/begin", &self.params());
        let mut begun = line.ask(&begin, until).map_err(Unanswered::Lost)?;
        if begun["error"]["code"] == NOT_UNDERSTOOD[0] {
            // While hookwire is replaced, the host may be of before.
            return self.ask_host(machine, || socket::connect(machine));
        }
        let event = begun["result"]["event"].take();
        if !event.is_object() {
            return Question::read_answer(begun);
        }
        let left = Duration::from_millis(event["deadlineMs"].as_u64().unwrap_or_default());
        let can = json!({ "hooks": { "decisions": ["allow", "deny", "ask", "rewrite"] } });
        let about = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "capabilities": can } });
        let dispatch = format!("{about}\n{}", write_request("hooks/dispatch", &event));
        let answered = Line::open(own())
            .and_then(|mut own| own.ask(&dispatch, until.min(Instant::now() + left)));
        let finish = match answered {
            Ok(mut reply) if reply["result"].is_object() => {
                json!({ "verdict": reply["result"].take() })
            }
            Ok(reply) => {
                let problem = reply["error"]["message"].as_str();
                json!({ "problem": problem.unwrap_or("it gives no verdict") })
            }
            Err(error) => json!({ "problem": error.to_string() }),
        };
        let answer = line.ask(&write_request("guard/finish", &finish), until);
        Question::read_answer(answer.map_err(Unanswered::Lost)?)
    }

    /// The request with its end of line, for whoever carries it to a host another way.
    pub fn request(&self) -> String {
        write_request("hooks/answer", &self.params())
    }

    /// The answer in a reply to the request.
    ///
    /// # Errors
    /// It is none, or the host says why it judges nothing.
    pub fn read_answer(mut answer: Value) -> std::result::Result<Said, Unanswered> {
        if let Some(problem) = answer["error"]["message"].as_str() {
            let is_older = answer["error"]["code"]
                .as_i64()
                .is_some_and(|code| NOT_UNDERSTOOD.contains(&code));
            return Err(match is_older {
                true => Unanswered::Unreached(unreadable_reply(format_args!(
                    "it is another version: {problem}"
                ))),
                false => Unanswered::Refused(problem.to_string()),
            });
        }
        let lost = || Unanswered::Lost(unreadable_reply("it isn't an answer"));
        let result = &mut answer["result"];
        let exit = result["exit"]
            .as_i64()
            .and_then(|exit| i32::try_from(exit).ok())
            .ok_or_else(lost)?;
        let mut text = |name: &str| match result[name].take() {
            Value::String(text) => Ok(text),
            _ => Err(lost()),
        };
        Ok(Said {
            stdout: text("stdout")?,
            stderr: text("stderr")?,
            exit,
        })
    }

    fn params(&self) -> Value {
        let time_limit = u64::try_from(self.time_limit.as_millis()).unwrap_or(u64::MAX);
        let mut params =
            json!({ "agent": self.agent, "deadlineMs": time_limit, "failsOpen": self.fails_open });
        if let Some(event) = self.event {
            params["event"] = event.into();
        }
        // A host of before knows no such member, so it isn't said where nothing comes of it.
        if self.attended == Some(false) {
            params["attended"] = false.into();
        }
        params["sent"] = self.sent.into();
        params
    }
}

fn write_request(method: &str, params: &Value) -> String {
    let mut text =
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    text.push('\n');
    text
}

/// Whether a host answers on another connection.
fn is_alive(path: &Path) -> Result<()> {
    let mut stream = socket::connect(path)?;
    stream.set_write_timeout(Some(SILENCE))?;
    stream.write_all(write_request("state/list", &json!({ "limit": 0 })).as_bytes())?;
    Line {
        stream,
        read: Vec::new(),
    }
    .read_reply(Instant::now() + SILENCE)
    .map(drop)
}

/// A connection of which the lines are read.
struct Line {
    stream: UnixStream,
    read: Vec<u8>,
}

impl Line {
    /// A connection that gives up on a host which reads nothing.
    fn open(stream: Result<UnixStream>) -> Result<Line> {
        let stream = stream?;
        stream.set_write_timeout(Some(STUCK))?;
        Ok(Line {
            stream,
            read: Vec::new(),
        })
    }

    /// The reply to a request.
    fn ask(&mut self, request: &str, until: Instant) -> Result<Value> {
        self.stream.write_all(request.as_bytes())?;
        self.read_reply(until)
    }

    /// The reply to the one request, if it comes in time.
    fn read_reply(&mut self, until: Instant) -> Result<Value> {
        let mut bytes = vec![0; 16 * 1024];
        let mut n_searched = 0;
        loop {
            let end = self
                .read
                .iter()
                .skip(n_searched)
                .position(|byte| *byte == b'\n');
            if let Some(end) = end.map(|end| n_searched + end) {
                let rest = self.read.split_off(end + 1);
                let line = std::mem::replace(&mut self.read, rest);
                n_searched = 0;
                let message: Value = serde_json::from_slice(&line).map_err(unreadable_reply)?;
                // Others are notifications.
                if message["id"] == 1 {
                    return Ok(message);
                }
                continue;
            }
            n_searched = self.read.len();
            if n_searched > MAX_ANSWER {
                return Err(unreadable_reply("it is too long"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::new(ErrorKind::TimedOut, "the host doesn't answer"));
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    return Err(Error::new(
                        ErrorKind::UnexpectedEof,
                        "the host has closed the connection",
                    ));
                }
                Ok(read) => self
                    .read
                    .extend_from_slice(bytes.get(..read).unwrap_or_default()),
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn unreadable_reply(problem: impl std::fmt::Display) -> Error {
    Error::other(format!("the host's reply can't be read: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// Of whatever a host may answer, only an answer counts as one.
    #[test]
    fn an_answer_is_told_from_everything_else() {
        let said = |text: &str| Said {
            stdout: text.into(),
            stderr: "e".into(),
            exit: 2,
        };
        for (sent, expected) in [
            (
                r#"{"id":1,"result":{"stdout":"a","stderr":"e","exit":2}}"#,
                Ok(said("a")),
            ),
            (
                "{\"method\":\"x\"}\n{\"id\":1,\"result\":{\"stdout\":\"a\",\"stderr\":\"e\",\"exit\":2}}",
                Ok(said("a")),
            ),
            (
                r#"{"id":1,"error":{"code":1,"message":"no"}}"#,
                Err("Refused(\"no\")"),
            ),
            (
                r#"{"id":1,"error":{"code":-32601,"message":"no"}}"#,
                Err("it is another version: no"),
            ),
            (
                r#"{"id":1,"result":{"stdout":"a","stderr":"e"}}"#,
                Err("it isn't an answer"),
            ),
            (
                r#"{"id":1,"result":{"stdout":1,"stderr":"e","exit":0}}"#,
                Err("it isn't an answer"),
            ),
            ("not JSON", Err("can't be read")),
            ("", Err("can't be read")),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let socket = dir.path().join("s");
            let listener = UnixListener::bind(&socket).unwrap();
            let line = format!("{sent}\n");
            let host = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut bytes = [0; 4096];
                while !bytes.contains(&b'\n') {
                    assert!(stream.read(&mut bytes).unwrap() > 0);
                }
                stream.write_all(line.as_bytes()).unwrap();
            });
            let answered =
                Question::new("claude-code", "{}").ask_host(&socket, || socket::connect(&socket));
            host.join().unwrap();
            match (answered, expected) {
                (Ok(said), Ok(expected)) => assert_eq!(said, expected, "{sent}"),
                (Err(error), Err(expected)) => {
                    assert!(format!("{error:?}").contains(expected), "{sent}: {error:?}")
                }
                (answered, _) => panic!("{sent}: {answered:?}"),
            }
        }
    }
}
