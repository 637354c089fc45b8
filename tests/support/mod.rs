//! The one place that knows how to talk to the built binary.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "each test binary uses its part"
)]

pub mod editor;
pub use hookwire_testing::models;
pub mod skipped;

pub use hookwire_conformance::framing::Framing;
use serde_json::{Value, json};
pub use skipped::{is_there, skip, tried_elsewhere};
use std::collections::VecDeque;
use std::io::{BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// When a test gives up: more than anything here may take, on the slowest and busiest machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Copies a program that is to be started. Another process does it: one that another thread starts
/// meanwhile would have the copy open for writing for a moment, and the kernel starts no such file.
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let mut copying = Command::new("cp");
    copying.arg(from.as_ref()).arg(to.as_ref());
    assert!(
        copying.status().unwrap().success(),
        "{}",
        to.as_ref().display()
    );
}

/// Whether each row and each try is wanted: `HOOKWIRE_FULL` says so, and a few of them show as much
/// most of the time.
pub fn is_full() -> bool {
    std::env::var_os("HOOKWIRE_FULL").is_some()
}

/// All of these, or one in so many.
pub fn sampled<T>(all: Vec<T>, one_in: usize) -> Vec<T> {
    all.into_iter()
        .step_by(if is_full() { 1 } else { one_in })
        .collect()
}

/// What whoever runs the tests may have set for programs, and what none of them is about: how a
/// text is shown, where a repository is, what is logged, and where settings of their own are.
const WISHES: &[&str] = &[
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "FORCE_COLOR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
    "HOOKWIRE_LOG",
    "HOOKWIRE_TOKEN",
    "NO_COLOR",
    "TERM",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// The built binary, in a world that is the same for whoever runs the tests.
pub fn hookwire() -> Command {
    in_our_world(Command::new(env!("CARGO_BIN_EXE_hookwire-host")))
}

/// A program without the wishes of whoever runs the tests. `.cargo/config.toml` has the rest: the
/// language, and where temporary files go.
pub fn in_our_world(mut command: Command) -> Command {
    // What a test gives it stays.
    let given: Vec<_> = command
        .get_envs()
        .map(|(variable, _)| variable.to_owned())
        .collect();
    for variable in WISHES
        .iter()
        .filter(|variable| !given.iter().any(|it| it == *variable))
    {
        command.env_remove(variable);
    }
    if !given.iter().any(|it| it == "PATH") {
        command.env("PATH", &*PATH);
    }
    command
}

/// Where programs are looked for. Before the rest stands where Python is, if the one that is found
/// first is a script that looks for it: that took twice as long as Python's own start, and tests
/// start hundreds.
pub static PATH: LazyLock<String> = LazyLock::new(|| {
    let path = std::env::var("PATH").unwrap();
    let found = std::env::split_paths(&path)
        .map(|dir| dir.join("python3"))
        .find(|it| it.is_file());
    let is_script = found.is_some_and(|it| {
        let mut begin = [0; 2];
        std::fs::File::open(it)
            .and_then(|mut it| it.read_exact(&mut begin))
            .is_ok()
            && begin == *b"#!"
    });
    let dirs = is_script
        .then(dir_of_python)
        .into_iter()
        .flatten()
        .chain(std::env::split_paths(&path));
    std::env::join_paths(dirs).unwrap().into_string().unwrap()
});

/// Where the Python is that starts. Whoever asked within the last hour has written it down: each
/// test may be a process.
fn dir_of_python() -> Option<PathBuf> {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dir-of-python");
    let age = kept
        .metadata()
        .and_then(|it| it.modified())
        .ok()
        .and_then(|it| it.elapsed().ok());
    if age.is_none_or(|age| age > Duration::from_secs(60 * 60)) {
        let code = "import os, sys; print(os.path.dirname(sys.executable), end='')";
        let output = Command::new("python3").args(["-c", code]).output().ok()?;
        let new = kept.with_extension(std::process::id().to_string());
        std::fs::write(&new, output.stdout)
            .and_then(|()| std::fs::rename(&new, &kept))
            .ok()?;
    }
    std::fs::read_to_string(&kept)
        .ok()
        .map(PathBuf::from)
        .filter(|dir| dir.join("python3").is_file())
}

/// A file of the repository.
pub fn repo(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A committed schema: `definitions` or `protocol`. A test holds it to what the binary prints.
pub fn schema(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(repo(&format!("schema/{name}.json"))).unwrap()).unwrap()
}

/// The fields of a hook that are a handler: exactly one of them is written.
pub fn handler_kinds() -> Vec<String> {
    let schema = schema("definitions");
    let kinds = schema["$defs"]["Hook"]["oneOf"].as_array().unwrap();
    kinds
        .iter()
        .map(|kind| kind["required"][0].as_str().unwrap().into())
        .collect()
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

/// A definition file in JSON with these hooks.
pub fn definitions(hooks: &[Value]) -> String {
    json!({ "hooks": hooks }).to_string()
}

/// Replaces a file in one step, so that a watcher never sees half of it.
pub fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(&new, path).unwrap();
}

/// A port where nobody listens: it is held, so that nobody else gets it.
pub fn closed_port() -> u16 {
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
    static HELD: LazyLock<(OwnedFd, u16)> = LazyLock::new(|| {
        let held = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&held, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = SocketAddrV4::try_from(getsockname(&held).unwrap())
            .unwrap()
            .port();
        (held, port)
    });
    HELD.1
}

/// A directory without definitions.
pub fn no_hooks() -> &'static Path {
    let dir = Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/no-hooks"));
    std::fs::create_dir_all(dir).unwrap();
    dir
}

/// A command that serves a directory of definitions.
pub fn serve(hooks: &Path) -> Command {
    let mut command = hookwire();
    command.args(["serve", "--isolated", "--hooks"]).arg(hooks);
    command
}

/// A host on the other end of two pipes, one message a line unless a test says otherwise.
pub struct TestHost {
    child: Child,
    framing: Framing,
    stdin: Option<Box<dyn Write>>,
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
        TestHost::start(&mut serve(hooks))
    }

    /// Serves one definition file.
    pub fn with(yaml: &str) -> (TestHost, tempfile::TempDir) {
        let dir = hooks(&[("hooks.yaml", yaml)]);
        (TestHost::serve(dir.path()), dir)
    }

    /// Starts a command that serves.
    pub fn start(command: &mut Command) -> TestHost {
        TestHost::framed(command, Framing::Lines)
    }

    /// Starts a command that serves, with messages framed like this.
    pub fn framed(command: &mut Command, framing: Framing) -> TestHost {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        TestHost::over(child, framing, Some(Box::new(stdin)), stdout)
    }

    /// Starts a command that serves over one socket, which does not block, as Node spawns children.
    pub fn over_socket(command: &mut Command) -> TestHost {
        struct SendingHalf(UnixStream);
        impl Write for SendingHalf {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.write(bytes)
            }
            fn flush(&mut self) -> std::io::Result<()> {
                self.0.flush()
            }
        }
        impl Drop for SendingHalf {
            fn drop(&mut self) {
                let _ = self.0.shutdown(Shutdown::Write);
            }
        }
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let (stdin, stdout): (OwnedFd, OwnedFd) =
            (theirs.try_clone().unwrap().into(), theirs.into());
        let child = command.stdin(stdin).stdout(stdout).spawn().unwrap();
        // The command holds its ends of the socket until something takes their place.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let sending = SendingHalf(ours.try_clone().unwrap());
        TestHost::over(child, Framing::Lines, Some(Box::new(sending)), ours)
    }

    /// Starts a command that serves what is in a file.
    pub fn over_file(command: &mut Command, input: &Path) -> TestHost {
        let input = std::fs::File::open(input).unwrap();
        let mut child = command.stdin(input).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        TestHost::over(child, Framing::Lines, None, stdout)
    }

    fn over(
        child: Child,
        framing: Framing,
        stdin: Option<Box<dyn Write>>,
        stdout: impl Read + Send + 'static,
    ) -> TestHost {
        let mut stdout = BufReader::new(stdout);
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            while let Some(message) = framing.read_frame(&mut stdout) {
                if sender
                    .send(String::from_utf8_lossy(&message).into_owned())
                    .is_err()
                {
                    break;
                }
            }
        });
        TestHost {
            child,
            framing,
            stdin,
            lines,
            early: VecDeque::new(),
            next_id: 1,
            may_leave_unread: false,
        }
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
        self.send_text(&message.to_string());
    }

    /// Sends a text as one message.
    pub fn send_text(&mut self, message: &str) {
        let mut framed = Vec::new();
        self.framing.write_frame(message.as_bytes(), &mut framed);
        self.write(&framed);
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
        parse(&self.lines.recv_timeout(PATIENCE).expect("a message"))
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
        assert!(
            reply.get("result").is_none(),
            "{method} did not fail: {reply}"
        );
        reply["error"].take()
    }

    pub fn dispatch(&mut self, event: Value) -> Value {
        self.request("hooks/dispatch", event)
    }

    /// A Bash call, judged.
    pub fn bash(&mut self, command: &str) -> Value {
        self.dispatch(bash(command))
    }

    /// Everything that is sent until the host has ended.
    pub fn rest(&mut self) -> Vec<Value> {
        self.close();
        let rest = std::iter::from_fn(|| match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(parse(&line)),
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("stdout is still open"),
        });
        self.early.drain(..).chain(rest).collect()
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

fn parse(message: &str) -> Value {
    serde_json::from_str(message).unwrap_or_else(|error| {
        panic!("stdout has something else than a message: {error}: {message:?}")
    })
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
        self.early.extend(std::iter::from_fn(|| {
            self.lines.recv_timeout(PATIENCE).ok().map(Value::String)
        }));
        assert!(
            self.may_leave_unread || self.early.is_empty(),
            "messages that nobody read: {:?}",
            self.early
        );
    }
}

/// An event before a Bash call.
pub fn bash(command: &str) -> Value {
    json!({"event": "PreToolUse", "session": "s", "tool": {"name": "Bash", "input": {"command": command}}})
}

/// Whether a process runs; a zombie doesn't.
pub fn is_alive(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .trim_start()
            .starts_with(['Z', 'X']),
        // No /proc on this system, or no such process.
        Err(_) => rustix::process::Pid::from_raw(pid.cast_signed())
            .is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok()),
    }
}

/// Waits until a process has ended.
pub fn await_end(pid: u32, what: &str) {
    eventually(what, || (!is_alive(pid)).then_some(()));
}

/// The number that a hook has written into a file, as soon as it is there.
pub fn pid_in(file: &Path) -> u32 {
    eventually("the hook has started", || {
        std::fs::read_to_string(file)
            .ok()?
            .strip_suffix('\n')?
            .parse()
            .ok()
    })
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

/// Why the first hook of a verdict failed.
pub fn error(verdict: &Value) -> String {
    verdict["outcomes"][0]["error"]
        .as_str()
        .unwrap_or_default()
        .into()
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

/// A message in one line: `ID: verdict`, `ID: ok`, `ID: CODE message`, or the method.
pub fn short(message: &Value) -> String {
    if let Some(batch) = message.as_array() {
        return format!(
            "[{}]",
            batch.iter().map(short).collect::<Vec<_>>().join(", ")
        );
    }
    let id = &message["id"];
    match (&message["method"], &message["error"], &message["result"]) {
        (Value::String(method), _, _) => method.clone(),
        (_, Value::Object(error), _) => {
            format!(
                "{id}: {} {}",
                error["code"],
                error["message"].as_str().unwrap_or_default()
            )
        }
        (_, _, result) if result.get("decision").is_some() => format!("{id}: {}", brief(result)),
        _ => format!("{id}: ok"),
    }
}
