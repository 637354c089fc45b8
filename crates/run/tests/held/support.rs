//! A stand-in for the host, a directory with compiled attacks, and runs with a time limit.

use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// No run takes longer.
pub const LIMIT: Duration = Duration::from_secs(60);
const NOBODY: u32 = 65534;
/// Where it is kept when something was held.
pub const DATA: &str = ".data";

/// Rules, and what has been asked. A rule is a program's name and words that all have to be among
/// the arguments; `@x` is the name of the directory.
#[derive(Default)]
struct Rules {
    generation: u64,
    every: bool,
    rules: Vec<Vec<String>>,
    watchers: Vec<UnixStream>,
    open: Vec<UnixStream>,
    asked: Vec<Value>,
    /// Starts of this program have to wait for `release`.
    slow: Option<(String, Arc<Mutex<Receiver<()>>>)>,
}

/// A stand-in for the host.
pub struct Host {
    pub socket: PathBuf,
    rules: Arc<Mutex<Rules>>,
    haves: Receiver<u64>,
    _listener: UnixListener,
}

impl Host {
    pub fn start(socket: &Path, rules: &[&str]) -> Host {
        let _ = fs::remove_file(socket);
        let listener = UnixListener::bind(socket).unwrap();
        fs::set_permissions(socket, Permissions::from_mode(0o777)).unwrap();
        let state = Arc::new(Mutex::new(Rules {
            generation: 1,
            rules: words(rules),
            ..Rules::default()
        }));
        let (told, haves) = channel();
        let (accepting, known) = (listener.try_clone().unwrap(), state.clone());
        std::thread::spawn(move || {
            for stream in accepting.incoming().flatten() {
                let (rules, told) = (known.clone(), told.clone());
                rules.lock().unwrap().open.push(stream.try_clone().unwrap());
                std::thread::spawn(move || serve(stream, &rules, &told));
            }
        });
        Host {
            socket: socket.to_owned(),
            rules: state,
            haves,
            _listener: listener,
        }
    }

    pub fn asks_about_every_program(self) -> Host {
        self.rules.lock().unwrap().every = true;
        self
    }

    /// Starts of a program wait; gives what lets one go.
    pub fn is_slow_about(&self, program: &str) -> Sender<()> {
        let (release, released) = channel();
        self.rules.lock().unwrap().slow = Some((program.into(), Arc::new(Mutex::new(released))));
        release
    }

    /// Other rules are in force; returns when the supervisor judges by them.
    pub fn change(&self, rules: &[&str]) {
        let mut state = self.rules.lock().unwrap();
        state.generation += 1;
        state.rules = words(rules);
        let generation = state.generation;
        let message =
            json!({ "jsonrpc": "2.0", "method": "programs/changed", "params": state.named() });
        for watcher in &mut state.watchers {
            let _ = watcher.write_all(&frame(&message));
        }
        drop(state);
        while self
            .haves
            .recv_timeout(LIMIT)
            .expect("the supervisor says what it judges by")
            != generation
        {}
    }

    pub fn await_watcher(&self) {
        self.haves
            .recv_timeout(LIMIT)
            .expect("the supervisor says what it judges by");
    }

    /// The events that were asked about.
    pub fn asked(&self) -> Vec<Value> {
        self.rules.lock().unwrap().asked.clone()
    }

    /// Ends like a host that is killed.
    pub fn end(self) {
        fs::remove_file(&self.socket).unwrap();
        for stream in &self.rules.lock().unwrap().open {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Rules {
    fn named(&self) -> Value {
        let names: Vec<&String> = self
            .rules
            .iter()
            .map(|rule| &rule[0])
            .chain(self.slow.iter().map(|it| &it.0))
            .collect();
        json!({ "generation": self.generation, "names": names, "every": self.every })
    }

    fn verdict(&mut self, event: &Value) -> Value {
        self.asked.push(event.clone());
        let argv: Vec<&str> = event["exec"]["argv"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_str().unwrap())
            .collect();
        let name = argv[0].rsplit('/').next().unwrap();
        let directory = event["cwd"].as_str().unwrap().rsplit('/').next().unwrap();
        match self.rules.iter().find(|it| {
            it[0] == name
                && it[1..].iter().all(|word| {
                    argv.contains(&word.as_str()) || word.strip_prefix('@') == Some(directory)
                })
        }) {
            Some(rule) => json!({ "decision": "deny", "reason": format!("no {}", rule.join(" ")) }),
            None => json!({ "decision": "allow" }),
        }
    }
}

fn words(rules: &[&str]) -> Vec<Vec<String>> {
    rules
        .iter()
        .map(|rule| rule.split(' ').map(str::to_owned).collect())
        .collect()
}

fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn serve(stream: UnixStream, rules: &Mutex<Rules>, told: &Sender<u64>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream.try_clone().unwrap();
    loop {
        let (mut header, mut empty) = (String::new(), String::new());
        if reader.read_line(&mut header).unwrap_or(0) == 0 || reader.read_line(&mut empty).is_err()
        {
            return;
        }
        let length = header
            .trim()
            .strip_prefix("Content-Length: ")
            .unwrap()
            .parse()
            .unwrap();
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let message: Value = serde_json::from_slice(&body).unwrap();
        let params = &message["params"];
        let result = match message["method"].as_str().unwrap() {
            "initialize" => json!({ "protocolVersion": 1 }),
            "programs/named" => {
                let mut rules = rules.lock().unwrap();
                rules.watchers.push(stream.try_clone().unwrap());
                rules.named()
            }
            "programs/have" => {
                let _ = told.send(params["generation"].as_u64().unwrap());
                Value::Null
            }
            "hooks/dispatch" => {
                let slow = rules.lock().unwrap().slow.clone();
                let name = params["exec"]["argv"][0]
                    .as_str()
                    .unwrap()
                    .rsplit('/')
                    .next()
                    .unwrap();
                if let Some((_, released)) = slow.filter(|(program, _)| program == name) {
                    let _ = released.lock().unwrap().recv_timeout(LIMIT);
                }
                rules.lock().unwrap().verdict(params)
            }
            other => panic!("{other}"),
        };
        let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        if writer.write_all(&frame(&reply)).is_err() {
            return;
        }
    }
}

/// A directory with the attacks, for one test.
pub struct Jail {
    directory: tempfile::TempDir,
}

/// As whom the supervisor and its command run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    Own,
    Nobody,
}

/// The users that this test may be.
pub fn users() -> &'static [User] {
    if nix::unistd::geteuid().is_root() {
        &[User::Own, User::Nobody]
    } else {
        &[User::Own]
    }
}

/// How often something is done that may fail rarely.
pub fn times(default: usize) -> usize {
    std::env::var("HOOKWIRE_RUN_TIMES")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(default)
}

/// Whether a program is there.
pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|path| path.join(program).is_file());
    if !is_there {
        crate::skipped::skip(format_args!("{program} is missing"));
    }
    is_there
}

/// Skips the test; where all is tested that can be, that is a failure.
fn skip<T>(why: &str) -> Option<T> {
    crate::skipped::skip(why.trim_end());
    None
}

/// The attacks, compiled; none where there is no C compiler.
fn attacks() -> Option<&'static Path> {
    static ATTACKS: OnceLock<Option<PathBuf>> = OnceLock::new();
    ATTACKS
        .get_or_init(|| {
            if !has("cc") {
                return None;
            }
            let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacks");
            fs::create_dir_all(&target).unwrap();
            for source in
                fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attacks")).unwrap()
            {
                let source = source.unwrap().path();
                if source.extension().is_some_and(|extension| extension == "c") {
                    let program = target.join(source.file_stem().unwrap());
                    let changed =
                        |path: &Path| fs::metadata(path).and_then(|it| it.modified()).ok();
                    if changed(&program) > changed(&source) {
                        continue;
                    }
                    // Each test may be a process of its own, and they begin at once.
                    let name = source.file_stem().unwrap().to_string_lossy();
                    let fresh = target.with_file_name(format!("{name}-{}", std::process::id()));
                    let cc = Command::new("cc")
                        .args(["-O2", "-w", "-pthread", "-o"])
                        .arg(&fresh)
                        .arg(&source)
                        .status();
                    assert!(cc.unwrap().success(), "{}", source.display());
                    fs::rename(&fresh, &program).unwrap();
                }
            }
            Some(target)
        })
        .as_deref()
}

impl Jail {
    /// None where nothing can be compiled, or where the kernel can't hold anything.
    pub fn new() -> Option<Jail> {
        let directory = tempfile::Builder::new()
            .prefix("hookwire-run-")
            .tempdir()
            .unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
        // By a process of its own: what another test's child inherits open for writing can't be
        // started.
        let mut copy = Command::new("cp");
        copy.args(["-r", env!("CARGO_BIN_EXE_hookwire-run")])
            .arg(attacks()?.join("."))
            .arg(directory.path());
        assert!(copy.status().unwrap().success());
        let probe = Command::new(directory.path().join("hookwire-run"))
            .arg("--probe")
            .output()
            .unwrap();
        if !probe.status.success() {
            return skip(&String::from_utf8_lossy(&probe.stderr));
        }
        // Each user keeps there when something was held.
        fs::create_dir(directory.path().join(DATA)).unwrap();
        fs::set_permissions(directory.path().join(DATA), Permissions::from_mode(0o777)).unwrap();
        Some(Jail { directory })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn host(&self, rules: &[&str]) -> Host {
        Host::start(&self.path("socket"), rules)
    }

    /// A command that runs in the directory, unheld.
    pub fn bare(&self, user: User, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        self.set(&mut command, user);
        command
    }

    /// A command that runs in the directory below the supervisor. The directory comes first in its
    /// PATH, and `put/bin` second.
    pub fn held(&self, user: User, options: &[&str], words: &[&str]) -> Command {
        let mut command = Command::new(self.path("hookwire-run"));
        command
            .arg("--socket")
            .arg(self.path("socket"))
            .arg("--data-dir")
            .arg(self.path(DATA))
            .args(options)
            .arg("--")
            .args(words);
        self.set(&mut command, user);
        command
    }

    fn set(&self, command: &mut Command, user: User) {
        let path = std::env::var("PATH").unwrap();
        command
            .current_dir(self.directory.path())
            .process_group(0)
            .stdin(Stdio::null());
        let directory = self.directory.path().display();
        command.env("PATH", format!("{directory}:{directory}/put/bin:{path}"));
        command
            .env("STAND_IN_GIT", self.path("argecho"))
            .env("HOME", self.directory.path())
            .env_remove("XDG_DATA_HOME");
        if user == User::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
    }

    /// Waits until no supervisor of this jail is left: each has the directory of what is kept in
    /// its words.
    pub fn await_supervisors(&self) {
        let data = self.path(DATA).display().to_string();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(&data)
        }) {
            assert!(std::time::Instant::now() < end, "a supervisor doesn't end");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// Runs a shell text below the supervisor.
    pub fn sh(&self, user: User, options: &[&str], text: &str) -> Ran {
        run(self.held(user, options, &["sh", "-c", text]))
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; 128 and the signal for one that was killed.
    pub code: i32,
    /// stdout, then stderr.
    pub output: String,
    pub stdout: String,
    pub stderr: String,
}

/// Runs to the end, within the time limit.
pub fn run(mut command: Command) -> Ran {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (stdout, stderr) = (read_all(child.stdout.take()), read_all(child.stderr.take()));
    let code = end(&mut child, &command);
    let (stdout, stderr) = (
        stdout.recv_timeout(LIMIT).unwrap(),
        stderr.recv_timeout(LIMIT).unwrap(),
    );
    Ran {
        code,
        output: format!("{stdout}{stderr}"),
        stdout,
        stderr,
    }
}

fn read_all(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stream.unwrap().read_to_end(&mut text);
        let _ = sender.send(String::from_utf8_lossy(&text).into_owned());
    });
    receiver
}

/// Waits for the end of a run; kills it at the time limit, and the test fails.
pub fn end(child: &mut Child, command: &Command) -> i32 {
    let until = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap());
        }
        if Instant::now() > until {
            let group = nix::unistd::Pid::from_raw(-(child.id() as i32));
            let _ = nix::sys::signal::kill(group, nix::sys::signal::Signal::SIGKILL);
            panic!("hangs: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until something is so.
pub fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
