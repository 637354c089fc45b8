//! The one place that knows how to talk to the built binary.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// More than anything here may take, on a slow and busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The built binary.
pub fn hookwire() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hookwire"));
    command.env_remove("HOOKWIRE_LOG");
    command
}

/// A file of the repository.
pub fn repo(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A directory with these definition files.
pub fn hooks(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

/// A host on the other end of two pipes, one message a line.
pub struct TestHost {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Messages that came while another was waited for.
    early: VecDeque<Value>,
    next_id: u64,
    /// Messages that nobody reads are a failure, unless a test says otherwise.
    pub may_leave_unread: bool,
}

impl TestHost {
    /// Serves a directory of definitions.
    pub fn serve(hooks: &Path) -> TestHost {
        TestHost::start(hookwire().args(["serve", "--isolated", "--hooks"]).arg(hooks))
    }

    /// Serves one definition file.
    pub fn with(yaml: &str) -> (TestHost, tempfile::TempDir) {
        let dir = hooks(&[("hooks.yaml", yaml)]);
        (TestHost::serve(dir.path()), dir)
    }

    /// Starts a command that serves.
    pub fn start(command: &mut Command) -> TestHost {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        TestHost { child, stdin, lines, early: VecDeque::new(), next_id: 1, may_leave_unread: false }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request and gives its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The next message, in the order of the wire.
    pub fn receive(&mut self) -> Value {
        if let Some(message) = self.early.pop_front() {
            return message;
        }
        self.next_line()
    }

    fn next_line(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("a message");
        serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("stdout has something else than JSON: {error}: {line:?}"))
    }

    /// The first message that fits; others wait.
    pub fn receive_where(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.early.iter().position(&fits) {
            return self.early.remove(at).unwrap();
        }
        loop {
            let message = self.next_line();
            if fits(&message) {
                return message;
            }
            self.early.push_back(message);
        }
    }

    /// The whole reply to a request.
    pub fn reply(&mut self, id: u64) -> Value {
        self.receive_where(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Sends a request and gives its result.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let mut reply = self.reply(id);
        assert!(reply.get("error").is_none(), "{method} failed: {reply}");
        reply["result"].take()
    }

    /// Sends a request and gives its error.
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let mut reply = self.reply(id);
        assert!(reply.get("result").is_none(), "{method} did not fail: {reply}");
        reply["error"].take()
    }

    pub fn dispatch(&mut self, event: Value) -> Value {
        self.request("hooks/dispatch", event)
    }

    /// A Bash call, judged.
    pub fn bash(&mut self, command: &str) -> Value {
        self.dispatch(bash(command))
    }

    /// Ends the input.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the process.
    pub fn wait(&mut self) -> ExitStatus {
        eventually("the host ends", || self.child.try_wait().unwrap())
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        self.stdin = None;
        if std::thread::panicking() {
            let _ = self.child.kill();
            let _ = self.child.wait();
            return;
        }
        self.wait();
        self.early.extend(std::iter::from_fn(|| self.lines.recv_timeout(PATIENCE).ok().map(Value::String)));
        assert!(self.may_leave_unread || self.early.is_empty(), "messages that nobody read: {:?}", self.early);
    }
}

/// An event before a Bash call.
pub fn bash(command: &str) -> Value {
    json!({"event": "PreToolUse", "session": "s", "tool": {"name": "Bash", "input": {"command": command}}})
}

/// Asks until there is an answer; fails when patience ends.
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < until, "gave up: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Decision and reason of a verdict, the short form of most expectations.
pub fn brief(verdict: &Value) -> String {
    let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_string();
    match (text("decidedBy"), text("reason")) {
        (by, reason) if by.is_empty() && reason.is_empty() => text("decision"),
        (by, reason) => format!("{} by {by}: {reason}", text("decision")),
    }
}

/// The statuses of a verdict's outcomes: `hook status`.
pub fn outcomes(verdict: &Value) -> Vec<String> {
    let text = |outcome: &Value, key: &str| outcome[key].as_str().unwrap_or_default().to_string();
    verdict["outcomes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}", text(it, "hook"), text(it, "status")))
        .collect()
}
