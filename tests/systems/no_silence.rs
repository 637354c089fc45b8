//! No silence: whatever reaches an agent's entry, or doesn't, the tool is denied or somebody is
//! told. The table in tests/data/agents/no_silence.txt has a row for each agent and a column for
//! each case; the entry is run as `install` writes it, and as the agent runs it.

use crate::installed::Project;
use crate::support::*;
use hookwire::agents::{AGENTS, Agent, Form};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const GUARD: &str = "
hooks:
  - { name: no-echo, on: PreToolUse, if: Bash(echo *), deny: No echo. }
  - { name: budget, on: PreToolUse, if: Bash(printf *), guard: { rate-limit: { max: 1, within: 1h } } }
";
const DENIED: &str = "No echo.";
const FAILED: &str = "hookwire failed, so this is denied";
const COLUMNS: [&str; 11] = [
    "agent",
    "cut off",
    "unknown event",
    "unknown members",
    "mark of the byte order",
    "CRLF",
    "3 MB",
    "an older host",
    "two entries",
    "no program",
    "no program, --require",
];

/// An agent with its entry.
pub(super) struct Installed {
    pub(super) agent: &'static Agent,
    pub(super) project: Project,
    /// The payload before a shell's call that is denied.
    pub(super) call: Value,
}

/// Where a text is among an agent's payloads.
fn call(agent: &str, root: &Path) -> Value {
    let file = match agent {
        "claude-code" => "tests/data/claude-code/session.jsonl".to_string(),
        agent => format!("tests/data/agents/{agent}/session.jsonl"),
    };
    let text = fs::read_to_string(repo(&file)).unwrap();
    let line = text
        .lines()
        .find(|line| line.contains("\": \"echo h"))
        .unwrap_or_else(|| panic!("{agent}: no call"));
    let line: Value =
        serde_json::from_str(&line.replace("/home/dev/project", root.to_str().unwrap())).unwrap();
    line.get("stdin").unwrap_or(&line).clone()
}

/// A payload with another command.
pub(super) fn running(call: &Value, command: &str) -> Value {
    let mut parts: Vec<String> = call
        .to_string()
        .split("\":\"echo h")
        .map(str::to_string)
        .collect();
    for part in &mut parts[1..] {
        *part = format!("\":\"{command}{}", &part[part.find('"').unwrap()..]);
    }
    serde_json::from_str(&parts.concat()).unwrap()
}

impl Installed {
    pub(super) fn new(agent: &'static Agent) -> Installed {
        let project = Project::new();
        fs::write(project.root().join(".hookwire/guard.yaml"), GUARD).unwrap();
        let root = project.root().canonicalize().unwrap();
        let it = Installed {
            agent,
            call: call(agent.name, &root),
            project,
        };
        it.said(&["trust", "--yes"]);
        it.said(&["install", agent.name, it.place()]);
        it
    }

    /// Where its hooks stand: in the project, if it has any there.
    pub(super) fn place(&self) -> &'static str {
        if self.agent.project.entry.is_empty() {
            "--user"
        } else {
            "--project"
        }
    }

    fn said(&self, args: &[&str]) -> String {
        let output = self.project.run(args, "");
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    }

    pub(super) fn path(&self, place: &str) -> PathBuf {
        match place {
            "--user" => self
                .project
                .0
                .path()
                .join("home")
                .join(&self.agent.place(true).entry),
            _ => self.project.root().join(&self.agent.project.entry),
        }
    }

    /// What the agent starts at an event.
    fn entry(&self, place: &str, event: &str) -> Command {
        let path = self.path(place);
        let shell = |text: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", text]);
            shell
        };
        let mut command = match &self.agent.form {
            Form::Programs => shell(path.join(event).to_str().unwrap()),
            Form::Plugin => {
                let text = fs::read_to_string(path).unwrap();
                let words = text
                    .lines()
                    .find_map(|line| line.strip_prefix("const COMMAND = "))
                    .unwrap();
                let words: Vec<String> = serde_json::from_str(words.trim_end_matches(';')).unwrap();
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                command
            }
            Form::File(_) => {
                let handler = self.handler(place, event);
                let started = handler[self.member()].as_str().unwrap();
                match handler["args"].as_array() {
                    Some(args) => {
                        let mut command = Command::new(started);
                        command.args(args.iter().map(|it| it.as_str().unwrap()));
                        command
                    }
                    None => shell(started),
                }
            }
        };
        let home = self.project.0.path().join("home");
        command
            .current_dir(self.project.root())
            .env("HOME", home)
            .env_remove("HOOKWIRE_LOG");
        let moving = AGENTS
            .iter()
            .flat_map(|agent| &agent.moved_by)
            .map(|(variable, _)| variable.as_str());
        for name in moving.chain(["XDG_CONFIG_HOME", "XDG_DATA_HOME"]) {
            command.env_remove(name);
        }
        command.env("XDG_RUNTIME_DIR", self.project.0.path().join("run"));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The member of a handler that is its command.
    fn member(&self) -> &'static str {
        self.agent
            .file()
            .map_or("", |file| file.command.rsplit('/').next().unwrap())
    }

    /// The handler at an event, of those that the file has.
    fn handler(&self, place: &str, event: &str) -> Value {
        let (path, file) = (self.path(place), self.agent.file().unwrap());
        let text = fs::read_to_string(&path).unwrap();
        let settings: Value = match path.extension().is_some_and(|it| it == "toml") {
            true => toml::from_str(&text).unwrap(),
            false => serde_json::from_str(&text).unwrap(),
        };
        let hooks = &settings[&file.at];
        let listed = match &file.event {
            Some(member) => hooks
                .as_array()
                .unwrap()
                .iter()
                .find(|it| it[member] == *event)
                .unwrap(),
            None => &hooks[event][0],
        };
        let handler = listed["hooks"]
            .as_array()
            .map_or(listed, |handlers| &handlers[0]);
        file.command
            .split('/')
            .rev()
            .skip(1)
            .fold(handler.clone(), |handler, name| handler[name].clone())
    }

    /// The agent's name of the moment before a tool call.
    pub(super) fn gate(&self) -> &'static str {
        gates(self.agent.name)
            .into_iter()
            .find(|(_, canonical)| *canonical == "PreToolUse")
            .unwrap()
            .0
    }

    pub(super) fn ask(&self, place: &str, event: &str, stdin: &[u8]) -> Output {
        let mut child = match self.entry(place, event).spawn() {
            Ok(child) => child,
            // As the plug-in finds it.
            Err(error) => {
                return Command::new("sh")
                    .args(["-c", &format!("echo '{error}'; exit 127")])
                    .output()
                    .unwrap();
            }
        };
        let _ = child.stdin.take().unwrap().write_all(stdin);
        child.wait_with_output().unwrap()
    }

    /// What comes of a call that is to be denied, and of one like it that isn't.
    fn both(&self, payload: impl Fn(&Value) -> Vec<u8>) -> String {
        let of =
            |call: &Value| outcome(&self.ask(self.place(), self.gate(), &payload(call)), DENIED);
        match (&*of(&self.call), &*of(&running(&self.call, "ls"))) {
            (denied, "goes on") => denied.to_string(),
            (denied, other) => format!("{denied}; `ls`: {other}"),
        }
    }

    fn doctor(&self, told: &str) -> &'static str {
        let said = self.said(&["doctor", self.agent.name]);
        if said.contains(told) {
            "`doctor` says so"
        } else {
            "silence"
        }
    }
}

/// The events at which a failure is a "no", each with its canonical name. Other tests hold the list
/// to the dialects.
fn gates(agent: &str) -> Vec<(&'static str, &'static str)> {
    static MOMENTS: &str = include_str!("../data/agents/moments.txt");
    let (mut found, mut moment) = (Vec::new(), None);
    for line in MOMENTS.lines() {
        match line.trim().split_once(' ') {
            Some(("failure:", "-")) => {}
            Some(("failure:", _)) => found.extend(moment),
            Some((name, rest)) if name == agent && !line.starts_with(' ') => {
                moment = rest.split_once(" = ")
            }
            Some(_) if !line.starts_with(' ') => moment = None,
            _ => {}
        }
    }
    found
}

/// What the agent does about what its hook has said.
fn outcome(output: &Output, reason: &str) -> String {
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    match output.status.code() {
        Some(0) if stdout.contains(reason) => "denied".into(),
        Some(2) if stderr.contains(reason) => "denied".into(),
        Some(0) => "goes on".into(),
        code => format!("{code:?} {stdout}{stderr}"),
    }
}

/// A host that knows no method of today's.
fn older_host(socket: &Path) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            for request in lines
                .map_while(Result::ok)
                .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
            {
                let error = json!({"code": -32601, "message": "Method not found"});
                let _ = writeln!(
                    stream,
                    "{}",
                    json!({"jsonrpc": "2.0", "id": request["id"], "error": error})
                );
            }
        }
    });
}

impl Installed {
    /// At each gate, a payload that ends in the middle.
    fn cut_off(&self) -> String {
        let gates = gates(self.agent.name);
        let members = [
            "hook_event_name",
            "hookEventName",
            "agent_action_name",
            "event",
        ];
        let member = members
            .iter()
            .find(|it| self.call.get(**it).is_some())
            .unwrap();
        let is_denied = |event: &str| {
            let cut = format!(r#"{{"{member}":"{event}","session_id":"s"#);
            outcome(&self.ask(self.place(), event, cut.as_bytes()), FAILED) == "denied"
        };
        let n_denied = gates.iter().filter(|(event, _)| is_denied(event)).count();
        format!("denied at {n_denied} of {} gates", gates.len())
    }

    pub(super) fn entry_names_event(&self) -> bool {
        self.agent.file().is_some_and(|file| file.names_event)
            || matches!(self.agent.form, Form::Programs)
    }

    fn unknown_event(&self) -> String {
        if self.entry_names_event() {
            return "can't be: the entry names it".into();
        }
        let gate = format!("\":\"{}\"", self.call_name());
        self.both(|call| {
            call.to_string()
                .replace(&gate, "\":\"PreBrandNew\"")
                .replace("pre_tool_use", "pre_brand_new")
                .into()
        })
    }

    /// How the payload calls the moment.
    fn call_name(&self) -> String {
        let members = ["hook_event_name", "agent_action_name", "event"];
        members
            .iter()
            .find_map(|it| self.call.get(*it)?.as_str())
            .unwrap()
            .to_string()
    }

    fn older(&self) -> String {
        self.project.kill_host();
        let socket = fs::read_dir(self.project.0.path().join("run/hookwire"))
            .unwrap()
            .flatten()
            .map(|it| it.path());
        let socket = socket
            .into_iter()
            .find(|path| path.extension().is_some_and(|it| it == "sock"))
            .unwrap();
        fs::remove_file(&socket).unwrap();
        older_host(&socket);
        let said = self.both(|call| call.to_string().into());
        fs::remove_file(&socket).unwrap();
        said
    }

    fn two_entries(&self) -> String {
        let user = &self.agent.place(true).entry;
        if user.is_empty() || self.place() == "--user" {
            return "can't be: one place".into();
        }
        self.said(&["install", self.agent.name, "--user"]);
        let both = |command: &str| {
            let payload = running(&self.call, command).to_string();
            ["--project", "--user"].map(|place| {
                outcome(
                    &self.ask(place, self.gate(), payload.as_bytes()),
                    "Rate limit",
                )
            })
        };
        let counted = match both("printf 1") {
            [a, b] if a == "goes on" && b == "goes on" => "counted once",
            [a, b] if a == "goes on" && b == "denied" => "counted twice",
            other => panic!("{}: {other:?}", self.agent.name),
        };
        assert!(
            both("printf 2").contains(&"denied".to_string()),
            "{}: nothing is counted",
            self.agent.name
        );
        assert_eq!(self.project.hosts().len(), 1, "{}", self.agent.name);
        let told = self.doctor("it is installed at 2 places");
        self.said(&["uninstall", self.agent.name, "--user"]);
        format!("{counted}; {told}")
    }

    /// The entry, when hookwire has moved.
    fn without_program(&self, flag: Option<&str>) -> String {
        self.said(&["uninstall", self.agent.name, self.place()]);
        let said =
            self.said(&[&["install", self.agent.name, self.place()], flag.as_slice()].concat());
        let path = match &self.agent.form {
            Form::Programs => self.path(self.place()).join(self.gate()),
            _ => self.path(self.place()),
        };
        let entry = fs::read_to_string(&path).unwrap();
        let moved = entry.replace(env!("CARGO_BIN_EXE_hookwire"), "/nowhere/hookwire");
        assert_ne!(entry, moved, "{}", self.agent.name);
        // In place, because a program of the agent's is to stay one.
        fs::write(&path, moved).unwrap();
        let output = self.ask(self.place(), self.gate(), self.call.to_string().as_bytes());
        let switch = self
            .agent
            .file()
            .and_then(|file| file.fails_closed.as_ref());
        let (does, told) = match switch {
            Some(switch) => {
                assert_eq!(
                    self.handler(self.place(), self.gate())[&switch.member],
                    switch.value
                );
                (
                    format!("denied: `{}: {}`", switch.member, switch.value),
                    self.doctor("a probe was not denied"),
                )
            }
            None => match &*outcome(&output, FAILED) {
                "denied" => ("denied".into(), self.doctor("a probe was not denied")),
                _ if outcome(&output, "not found") == "denied" => (
                    "denied: the shell says why".into(),
                    self.doctor("a probe was not denied"),
                ),
                _ => {
                    assert_eq!(
                        output.status.code(),
                        Some(127),
                        "{}: {output:?}",
                        self.agent.name
                    );
                    let is_told =
                        said.contains("goes on: `hookwire install") == self.agent.goes_on_without();
                    assert!(is_told, "{}: {said}", self.agent.name);
                    (
                        self.agent.gone.clone(),
                        self.doctor("a probe was not denied"),
                    )
                }
            },
        };
        format!("{does}; {told}")
    }

    fn row(&self) -> [String; 11] {
        let with = |members: Value| {
            move |call: &Value| {
                let mut call = call.clone();
                call.as_object_mut()
                    .unwrap()
                    .extend(members.as_object().unwrap().clone());
                call.to_string().into_bytes()
            }
        };
        [
            self.agent.name.into(),
            self.cut_off(),
            self.unknown_event(),
            self.both(with(json!({"brandNew": {"a": [1]}, "x_future": null}))),
            self.both(|call| format!("\u{feff}{call}").into()),
            self.both(|call| {
                serde_json::to_string_pretty(call)
                    .unwrap()
                    .replace('\n', "\r\n")
                    .into()
            }),
            self.both(with(json!({"brandNew": "x".repeat(3 << 20)}))),
            self.older(),
            self.two_entries(),
            self.without_program(None),
            self.without_program(Some("--require")),
        ]
    }
}

/// `UPDATE_EXPECT=1` writes the table anew.
#[test]
fn no_case_is_silent() {
    let mut rows = vec![COLUMNS.map(String::from)];
    rows.extend(std::thread::scope(|scope| {
        let of_some = |agents: &'static [Agent]| {
            scope.spawn(|| {
                agents
                    .iter()
                    .map(|agent| Installed::new(agent).row())
                    .collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = AGENTS.chunks(4).map(of_some).collect();
        threads
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect::<Vec<_>>()
    }));
    let width = |at: usize| {
        rows.iter()
            .map(|row| row[at].chars().count())
            .max()
            .unwrap()
    };
    let line = |row: &[String; 11]| {
        let cells = row
            .iter()
            .enumerate()
            .map(|(at, cell)| format!("{cell:<0$}", width(at)));
        cells.collect::<Vec<_>>().join(" | ").trim_end().to_string() + "\n"
    };
    let table: String = rows.iter().map(line).collect();
    let path = repo("tests/data/agents/no_silence.txt");
    match std::env::var_os("UPDATE_EXPECT") {
        Some(_) => fs::write(path, &table).unwrap(),
        None => assert_eq!(fs::read_to_string(path).unwrap(), table),
    }
    assert!(!table.contains("silence"), "{table}");
}
