//! The connection to the host that judges: a running one, or one within this process.

use super::super::ending::make_runtime;
use super::super::serve::{MAX_MESSAGE, serve_guests, share_socket};
use super::super::warm_host::WarmHost;
use super::super::{Failure, StandingArgs};
use hookwire_base::transport::outbox::Outbox;
use hookwire_base::transport::socket::Socket;
use hookwire_engine::host::{Host, HostOptions, Purpose};
use hookwire_gateway::gateway::PINS;
use hookwire_gateway::lines::{Line, Lines};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The id of requests whose replies tell nothing; events have others.
const UNHEARD: u64 = 0;
/// The longest message of a host, in bytes.
const MAX_ANSWER: usize = 256 << 20;
/// How often it is looked whether an event is overdue.
const SWEEP: Duration = Duration::from_millis(500);
/// How much longer than its own limit an event is waited for.
const GRACE: Duration = Duration::from_millis(1500);

/// How the host is reached.
pub(super) enum Way {
    /// The one that listens here.
    Socket(PathBuf),
    /// The project's, which is started if it doesn't run.
    Project {
        hooks: Box<StandingArgs>,
        idle_exit: Duration,
        /// It is to be one within this process.
        is_own: bool,
    },
}

/// What comes from a host.
pub(super) enum FromHost {
    Message(Value),
    /// Nothing has come for a moment.
    Silence,
    /// The connection has ended; why.
    Lost(String),
}

/// What hears a host, by the number of its connection; whether it still does.
pub(super) type Heard = Arc<dyn Fn(u64, FromHost) -> bool + Send + Sync>;

/// See the module.
pub(super) struct HostLink {
    way: Way,
    limit: Duration,
    heard: Heard,
    own: Option<OwnHost>,
    up: Option<Up>,
    /// How often it was connected.
    n_connected: u64,
    /// Who the client is, and whether it can ask a person.
    client: Option<(String, bool)>,
    /// The events that wait for a verdict, and until when.
    waiting: HashMap<u64, Instant>,
    /// The events that couldn't be asked about.
    unasked: Vec<(u64, String)>,
    /// The server before whose calls the host asks back.
    asks_before: Option<String>,
}

struct Up {
    outbox: Outbox,
    stream: UnixStream,
}

/// A host within this process.
struct OwnHost {
    host: Arc<Host>,
    runtime: Runtime,
    _socket: Option<Socket>,
}

impl HostLink {
    pub(super) fn new(way: Way, limit: Duration, heard: Heard) -> HostLink {
        HostLink {
            way,
            limit,
            heard,
            own: None,
            up: None,
            n_connected: 0,
            client: None,
            waiting: HashMap::new(),
            unasked: Vec::new(),
            asks_before: None,
        }
    }

    /// Connects, unless it is connected.
    pub(super) fn connect(&mut self) -> Result<(), String> {
        if self.up.is_some() {
            return Ok(());
        }
        let stream = self.open().map_err(|Failure(problem)| problem)?;
        let up = self.begin(stream).map_err(|error| error.to_string())?;
        self.up = Some(up);
        self.initialize();
        self.register();
        Ok(())
    }

    fn open(&mut self) -> Result<UnixStream, Failure> {
        let (hooks, idle_exit) = match &self.way {
            Way::Socket(path) => {
                let about =
                    |error| Failure(format!("the host at unix:{}: {error}", path.display()));
                return hookwire_ask::socket::connect(path).map_err(about);
            }
            Way::Project {
                hooks,
                idle_exit,
                is_own,
            } => (hooks, (!is_own).then_some(*idle_exit)),
        };
        if let (Some(idle_exit), None) = (idle_exit, &self.own) {
            match WarmHost::new(hooks, idle_exit).and_then(|host| host.connect()) {
                Ok(stream) => return Ok(stream),
                Err(error) => {
                    tracing::warn!(%error, "No host; this process judges without one.");
                }
            }
        }
        let own = match self.own.take() {
            Some(own) => own,
            None => OwnHost::start(hooks)?,
        };
        let stream = own.connect();
        self.own = Some(own);
        Ok(stream?)
    }

    /// Reads what comes on a new connection.
    fn begin(&mut self, stream: UnixStream) -> std::io::Result<Up> {
        self.n_connected += 1;
        // A host that doesn't read is lost, too.
        let ended = stream.try_clone()?;
        let outbox = Outbox::new(stream.try_clone()?.into(), move || {
            let _ = ended.shutdown(Shutdown::Both);
        })?;
        let (heard, reading, number) = (self.heard.clone(), stream.try_clone()?, self.n_connected);
        reading.set_read_timeout(Some(SWEEP))?;
        std::thread::Builder::new()
            .name("host".into())
            .spawn(move || read_host(&*heard, reading, number))?;
        Ok(Up { outbox, stream })
    }

    fn send(&mut self, message: &str) {
        if let Some(up) = &self.up {
            up.outbox.send_framed(&[message.as_bytes(), b"\n"].concat());
        }
    }

    fn initialize(&mut self) {
        let Some((name, elicits)) = &self.client else {
            return;
        };
        let requests: &[&str] = if *elicits { &["approval/request"] } else { &[] };
        let hooks = json!({ "decisions": ["allow", "deny", "rewrite"], "requests": requests, "notifications": ["hooks/changed"] });
        let params = json!({ "clientInfo": { "name": name }, "capabilities": { "hooks": hooks } });
        let id = UNHEARD;
        let message =
            json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params });
        self.send(&message.to_string());
    }

    /// Tells the host who the client is. What was said first holds.
    pub(super) fn meet(&mut self, name: &str, elicits: bool) {
        if self.client.is_none() {
            self.client = Some((name.into(), elicits));
            self.initialize();
        }
    }

    /// Asks about an event.
    pub(super) fn ask(&mut self, ticket: u64, event: &str) {
        self.request(ticket, "hooks/dispatch", event);
    }

    fn request(&mut self, ticket: u64, method: &str, params: &str) {
        if let Err(problem) = self.connect() {
            self.unasked.push((ticket, problem));
            return;
        }
        self.waiting
            .insert(ticket, Instant::now() + self.limit + GRACE);
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{ticket},"method":"{method}","params":{params}}}"#
        ));
    }

    /// Asks which tools may be called at all.
    pub(super) fn ask_callable(&mut self, ticket: u64, agent: &str, tools: &[String]) {
        self.request(
            ticket,
            "tools/callable",
            &json!({ "agent": agent, "tools": tools }).to_string(),
        );
    }

    /// Tells of an event, whose verdict nobody waits for.
    pub(super) fn note(&mut self, event: &str) {
        if self.connect().is_ok() {
            self.send(&format!(
                r#"{{"jsonrpc":"2.0","id":{UNHEARD},"method":"hooks/dispatch","params":{event}}}"#
            ));
        }
    }

    /// Has the host ask back before each call of a tool of a server.
    pub(super) fn ask_before_calls(&mut self, server: &str) {
        self.asks_before = Some(server.into());
        self.register();
    }

    fn register(&mut self) {
        let Some(server) = &self.asks_before else {
            return;
        };
        let hook = json!({
            "name": PINS,
            "on": "PreToolUse",
            "matcher": format!("mcp__{server}__.*"),
            "callback": PINS,
            "fail": "closed",
        });
        let params = json!({ "hooks": [hook] });
        let id = UNHEARD;
        let message =
            json!({ "jsonrpc": "2.0", "id": id, "method": "hooks/register", "params": params });
        self.send(&message.to_string());
    }

    /// The next event that couldn't be asked about, and why.
    pub(super) fn next_unasked(&mut self) -> Option<(u64, String)> {
        self.unasked.pop()
    }

    /// A verdict is no longer wanted.
    pub(super) fn withdraw(&mut self, ticket: u64) {
        if self.waiting.remove(&ticket).is_some() {
            self.send(&format!(
                r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{ticket}}}}}"#
            ));
        }
    }

    /// Answers a question of the host's.
    pub(super) fn answer(&mut self, question: &Value, answer: Result<Value, String>) {
        let message = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": question, "result": result }),
            Err(problem) => {
                let error = json!({ "code": -32000, "message": problem });
                json!({ "jsonrpc": "2.0", "id": question, "error": error })
            }
        };
        self.send(&message.to_string());
    }

    /// Whether the connection of this number is the present one.
    pub(super) fn is_at(&self, number: u64) -> bool {
        self.n_connected == number
    }

    /// The event that a reply is for, if its verdict is still wanted.
    pub(super) fn take_waiting(&mut self, reply: &Value) -> Option<u64> {
        let ticket = reply.as_u64().filter(|id| *id != UNHEARD)?;
        self.waiting.remove(&ticket).map(|_| ticket)
    }

    /// What has waited for too long.
    pub(super) fn take_overdue(&mut self) -> Vec<u64> {
        let now = Instant::now();
        let overdue = self.waiting.iter().filter(|(_, until)| **until <= now);
        let overdue: Vec<u64> = overdue.map(|(ticket, _)| *ticket).collect();
        overdue.iter().for_each(|ticket| self.withdraw(*ticket));
        overdue
    }

    /// The connection has ended: what waits gets no verdict.
    pub(super) fn lose(&mut self, problem: &str) {
        if let Some(up) = self.up.take() {
            let _ = up.stream.shutdown(Shutdown::Both);
        }
        let left = self.waiting.drain();
        self.unasked
            .extend(left.map(|(ticket, _)| (ticket, problem.to_string())));
    }
}

impl OwnHost {
    fn start(hooks: &StandingArgs) -> Result<OwnHost, Failure> {
        let runtime = make_runtime()?;
        let host = hooks.host.definitions.host_with(HostOptions {
            purpose: Purpose::Judge,
            ..hooks.options()?
        })?;
        host.watch()?;
        let _socket = share_socket(&host, &runtime, MAX_MESSAGE);
        Ok(OwnHost {
            host,
            runtime,
            _socket,
        })
    }

    fn connect(&self) -> std::io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        let serve = serve_guests(&self.host, &self.runtime, MAX_MESSAGE);
        std::thread::Builder::new()
            .name("judge".into())
            .spawn(move || serve(theirs))?;
        Ok(ours)
    }
}

/// Reads what a host says on a connection, until that ends or nobody hears it.
fn read_host(heard: &dyn Fn(u64, FromHost) -> bool, mut stream: UnixStream, number: u64) {
    let (mut lines, mut bytes) = (Lines::new(MAX_ANSWER), vec![0; 16 * 1024]);
    let problem = 'read: loop {
        match stream.read(&mut bytes) {
            Ok(0) => break "the host has closed the connection".to_string(),
            Ok(read) => {
                let mut taken = Vec::new();
                lines.push(bytes.get(..read).unwrap_or_default(), |line| {
                    taken.push(line)
                });
                for line in taken {
                    let is_heard = match read_line(line) {
                        Ok(message) => heard(number, FromHost::Message(message)),
                        Err(problem) => break 'read problem,
                    };
                    if !is_heard {
                        return;
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if !heard(number, FromHost::Silence) {
                    return;
                }
            }
            Err(error) => break error.to_string(),
        }
    };
    heard(number, FromHost::Lost(problem));
}

fn read_line(line: Line) -> Result<Value, String> {
    let unreadable =
        |problem: &dyn std::fmt::Display| format!("the host's reply can't be read: {problem}");
    match line {
        Line::Whole(line) => serde_json::from_slice(&line).map_err(|error| unreadable(&error)),
        Line::TooLong(_) => Err(unreadable(&"it is too long")),
    }
}
