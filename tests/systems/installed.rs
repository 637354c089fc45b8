//! `hookwire hook AGENT`, as an agent's configuration runs it, and `hookwire install`, which writes
//! that.

use super::support::{await_end, copy_program, eventually, hooks, hookwire, in_our_world, skip};
use hookwire::agents::{AGENTS, Agent, Form};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const GUARD: &str = r#"
defaults: { fail: closed }
hooks:
  - { name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off. }
  - { name: pnpm, on: PreToolUse, if: Bash(npm i *), rewrite: { program: pnpm } }
  - { name: first, on: PreToolUse, once: true, command: "echo '{\"additionalContext\": [\"the first\"]}'" }
"#;

/// Which program an agent starts for an event.
#[derive(Clone, Copy, Debug)]
pub enum Asker {
    Large,
    Small,
}

/// A project, with a home and a runtime directory of its own.
pub struct Project(pub tempfile::TempDir, Asker);

impl Project {
    pub fn new() -> Project {
        Project::asked_by(Asker::Large)
    }

    /// One for each program that agents start: whatever holds for the large one holds for the small
    /// one.
    pub fn each() -> impl Iterator<Item = Project> {
        [Asker::Large, Asker::Small]
            .into_iter()
            .inspect(|it| println!("{it:?}"))
            .map(Project::asked_by)
    }

    fn asked_by(asker: Asker) -> Project {
        let project = hooks(&[("project/.hookwire/guard.yaml", GUARD)]);
        for name in ["home", "run"] {
            fs::create_dir(project.path().join(name)).unwrap();
        }
        Project(project, asker)
    }

    pub fn root(&self) -> PathBuf {
        self.0.path().join("project")
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let program = match (self.1, args) {
            (Asker::Small, ["hook", ..]) => Command::new(small()),
            _ => hookwire(),
        };
        self.command_of(program, args)
    }

    /// The same of another program than the built one.
    pub fn command_of(&self, command: Command, args: &[&str]) -> Command {
        let mut command = in_our_world(command);
        let home = self.0.path().join("home");
        // They are named: the home directory of whoever runs the tests is none of theirs.
        let user = [
            "--user-dir".into(),
            home.join(".config/hookwire").into_os_string(),
        ];
        let data = [
            "--data-dir".into(),
            home.join(".local/share/hookwire").into_os_string(),
        ];
        // As `install` writes it: the small program takes them there only.
        let n_before = match args.first() {
            Some(&"hook") => args.len(),
            Some(&"run") => 1,
            _ => 0,
        };
        command
            .args(&args[..n_before])
            .args(user)
            .args(data)
            .args(&args[n_before..]);
        command.current_dir(self.root()).env("HOME", home);
        let moving = AGENTS
            .iter()
            .flat_map(|agent| &agent.moved_by)
            .map(|(variable, _)| variable.as_str());
        for name in moving {
            command.env_remove(name);
        }
        command
            .env("XDG_RUNTIME_DIR", self.0.path().join("run"))
            .stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, args: &[&str], stdin: &str) -> Output {
        let mut child = self.command(args).spawn().unwrap();
        // Who fails early doesn't read.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What a program says: its exit code, stdout and stderr.
    fn said_by(&self, program: &Path, args: &[&str], stdin: &str) -> (i32, String, String) {
        let mut child = self
            .command_of(Command::new(program), args)
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
        (output.status.code().unwrap(), stdout, stderr)
    }

    /// What a hook of Claude Code says about a command: its decision, or the context, or nothing.
    pub fn hook(&self, command: &str) -> String {
        self.hook_with(&["--live"], command)
    }

    /// The same of a hook with these arguments.
    pub fn hook_with(&self, args: &[&str], command: &str) -> String {
        let output = self.run(
            &[&["hook", "claude-code"], args].concat(),
            &event(command).to_string(),
        );
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        if output.stdout.is_empty() {
            return String::new();
        }
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
        let said = &reply["hookSpecificOutput"];
        said["permissionDecision"]
            .as_str()
            .or(said["additionalContext"].as_str())
            // A message to the person, and no word of the call.
            .or(reply.get("systemMessage").map(|_| ""))
            .unwrap()
            .to_string()
    }

    /// The processes that serve this project.
    pub fn hosts(&self) -> Vec<u32> {
        let Ok(root) = self.root().canonicalize() else {
            return Vec::new();
        };
        let of = |entry: fs::DirEntry| {
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let args: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            let is_it = args.get(1) == Some(&&b"serve"[..])
                && args.contains(&root.as_os_str().as_encoded_bytes());
            if is_it {
                entry.file_name().to_str()?.parse().ok()
            } else {
                None
            }
        };
        fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(of)
            .collect()
    }

    /// Ends the host that serves this project at once. Its last thread may hold the socket longer
    /// than its first one lives.
    pub fn kill_host(&self) {
        await_end(self.signal(rustix::process::Signal::KILL), "the host ends");
        for entry in fs::read_dir(self.0.path().join("run/hookwire"))
            .into_iter()
            .flatten()
            .flatten()
        {
            eventually("nobody answers", || UnixStream::connect(entry.path()).err());
        }
    }

    pub fn signal(&self, signal: rustix::process::Signal) -> u32 {
        let [host] = self.hosts()[..] else {
            panic!("not one host: {:?}", self.hosts())
        };
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(host.cast_signed()).unwrap(),
            signal,
        )
        .unwrap();
        host
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        for host in self.hosts() {
            let pid = rustix::process::Pid::from_raw(host.cast_signed()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// The small program, which a build of the whole workspace puts beside the large one.
pub fn small() -> PathBuf {
    let small = Path::new(env!("CARGO_BIN_EXE_hookwire-host")).with_file_name("hookwire-run");
    assert!(
        small.is_file(),
        "{} is missing: `cargo build` makes it",
        small.display()
    );
    small
}

pub fn event(command: &str) -> Value {
    json!({ "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": command } })
}

#[test]
fn a_hosts_memory_outlives_the_event_and_its_death_allows_nothing() {
    for project in Project::each() {
        assert_eq!(project.hook("ls"), "the first");
        assert_eq!(project.hook("ls"), "", "`once` is kept");
        assert_eq!(project.hook("git push -f"), "deny");
        let [_] = project.hosts()[..] else {
            panic!("{:?}", project.hosts())
        };

        // An edit is in force.
        let guard = project.root().join(".hookwire/guard.yaml");
        super::support::replace(&guard, &GUARD.replace("git push --force*", "make deploy"));
        eventually("the edit is in force", || {
            (project.hook("make deploy") == "deny").then_some(())
        });
        super::support::replace(&guard, GUARD);
        eventually("the edit is in force", || {
            project.hook("make deploy").is_empty().then_some(())
        });

        let host = project.signal(rustix::process::Signal::STOP);
        assert_eq!(
            project.hook("git push -f"),
            "deny",
            "a host that is stopped"
        );
        let mut long = event("git push -f");
        long["padding"] = "x".repeat(1 << 20).into();
        let output = project.run(&["hook", "claude-code", "--live"], &long.to_string());
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("\"deny\""),
            "a host that reads nothing: {output:?}"
        );
        project.kill_host();
        assert_eq!(
            project.hook("git push -f"),
            "deny",
            "a host that was killed"
        );
        assert_ne!(project.hosts(), [host]);
    }
}

#[test]
fn a_host_tells_what_it_judged() {
    let project = Project::new();
    for command in ["ls", "git push -f", "ls -l"] {
        project.hook(command);
    }
    for (args, expected) in [
        (&[][..], &["ls", "git push -f", "ls -l"][..]),
        (&["--last", "1"], &["ls -l"]),
        (&["--denied"], &["git push -f"]),
        (&["--hook", "no-force-push"], &["git push -f"]),
        (&["--tool", "Write"], &[]),
        (&["--session", "s", "--denied"], &["git push -f"]),
        (&["--session", "other"], &[]),
    ] {
        let args = [&["tail", "--no-follow", "--format", "json"], args].concat();
        let output = project.run(&args, "");
        let text = String::from_utf8(output.stdout).unwrap();
        let commands: Vec<String> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|row| {
                row["params"]["payload"]["tool_input"]["command"]
                    .as_str()
                    .unwrap()
                    .to_string()
            })
            .collect();
        assert_eq!(commands, expected, "{args:?}");
    }
    let output = project.run(&["tail", "--no-follow", "--denied"], "");
    let text = String::from_utf8(output.stdout).unwrap();
    let expected = "claude-code  PreToolUse  Bash  git push -f\n  deny by no-force-push: Force pushes are off.  ";
    assert!(text.contains(expected), "{text}");
    // What is printed is without secrets, whatever the hooks do about them.
    let token = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    project.hook(&format!("curl -H 'X: {token}' x"));
    for format in [&[][..], &["--format", "json"]] {
        let output = project.run(
            &[&["tail", "--no-follow", "--last", "1"], format].concat(),
            "",
        );
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains("curl -H 'X: [redacted]' x") && !text.contains(&token),
            "{text}"
        );
    }
    let observing = project.root().join(".hookwire/observing.yaml");
    let hook =
        "hooks: [{ name: new, on: PreToolUse, if: Bash(make *), observe: true, deny: Not yet. }]";
    fs::write(observing, hook).unwrap();
    // The watcher is quick, but not at once.
    let text = eventually("what observes is in force", || {
        for command in ["make x", "ls"] {
            project.run(
                &["hook", "claude-code", "--live"],
                &event(command).to_string(),
            );
        }
        let output = project.run(&["tail", "--no-follow", "--observed"], "");
        Some(String::from_utf8(output.stdout).unwrap()).filter(|text| !text.is_empty())
    });
    assert!(
        text.contains("Bash  make x\n  allow  ")
            && text.ends_with("\n  new would deny (observe): Not yet.\n"),
        "{text}"
    );
    project.run(
        &["hook", "claude-code", "--live"],
        &event("npm i x").to_string(),
    );
    let output = project.run(&["tail", "--no-follow", "--last", "1"], "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("Bash  npm i x\n  allow, rewritten by pnpm: pnpm i x  "),
        "{text}"
    );
}

#[test]
fn a_host_logs_verdicts_only_if_it_is_told_to() {
    let project = Project::new();
    let event = json!({"jsonrpc": "2.0", "id": 1, "method": "hooks/dispatch", "params": {"event": "PreToolUse",
        "tool": {"name": "Bash", "input": {"command": "git push -f"}}}});
    for (args, is_told) in [(&["--log-verdicts"][..], true), (&["--log", "info"], false)] {
        let args = [&["serve", "--isolated", "--hooks", ".hookwire"], args].concat();
        let log = String::from_utf8(project.run(&args, &event.to_string()).stderr).unwrap();
        let line = r#"tool="Bash" session="" decision="deny" by="no-force-push" reason="Force pushes are off.""#;
        assert!(
            log.contains(line) == is_told && !log.contains("git push"),
            "{args:?}: {log}"
        );
    }
}

/// What is judged is recorded without secrets, and judged again.
#[test]
fn what_is_judged_is_recorded() {
    use std::os::unix::fs::MetadataExt;
    let project = Project::new();
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let secret = format!("curl -H 'Authorization: Bearer {token}' x");
    for command in ["git push -f", &*secret] {
        project.hook(command);
    }
    // A second time, the host hands on the same events.
    for _ in 0..2 {
        let output = project.run(&["tail", "--record", "kept", "--no-follow"], "");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let refused = project.run(&["tail", "--record", ".hookwire/guard.yaml"], "");
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("it is a file; name a directory"),
        "{refused:?}"
    );
    let event = json!({"event": "UserPromptSubmit", "prompt": secret});
    let lines: String = (1..=200)
        .map(|id| {
            json!({"jsonrpc": "2.0", "id": id, "method": "hooks/dispatch", "params": event})
                .to_string()
                + "\n"
        })
        .collect();
    project.run(
        &[
            "serve",
            "--isolated",
            "--hooks",
            ".hookwire",
            "--record",
            "served",
        ],
        &lines,
    );
    for (dir, n_events) in [("kept", 2), ("served", 200)] {
        let file = project.root().join(dir).join("events.jsonl");
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        let text = fs::read_to_string(file).unwrap();
        assert!(
            text.lines().count() == n_events
                && text.contains("[redacted]")
                && !text.contains(token),
            "{text}"
        );
    }
    let said = |args: &[&str]| {
        let output = project.run(
            &[&["history", "replay", "--isolated", "--hooks"], args].concat(),
            "",
        );
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, expected) = said(&[".hookwire", "kept/events.jsonl", "--format", "json"]);
    assert_eq!(code, 0);
    fs::write(project.root().join("expected.jsonl"), &expected).unwrap();
    fs::write(
        project.root().join("more.jsonl"),
        expected.lines().last().unwrap(),
    )
    .unwrap();
    fs::write(
        project.root().join("edited.yaml"),
        GUARD.replace("git push --force*", "make deploy"),
    )
    .unwrap();
    for (args, code, says) in [
        (
            &[".hookwire", "--expect", "expected.jsonl"][..],
            0,
            "0 judged otherwise",
        ),
        (
            &["edited.yaml", "--expect", "expected.jsonl"],
            1,
            "was deny no-force-push: Force pushes are off.",
        ),
        (
            &[".hookwire", "--expect", "more.jsonl"],
            1,
            "1 judged otherwise",
        ),
    ] {
        let (found, text) = said(&[args, &["kept/events.jsonl"]].concat());
        assert!(found == code && text.contains(says), "{args:?}: {text}");
    }
}

/// What was judged can be explained, and judged again by other definitions.
#[test]
fn what_was_judged_is_explained_and_replayed() {
    let project = Project::new();
    for command in ["git push -f", "make deploy"] {
        project.hook(command);
    }
    // What came of a call is no call.
    let mut after = event("make deploy");
    after["hook_event_name"] = "PostToolUse".into();
    project.run(&["hook", "claude-code", "--live"], &after.to_string());
    let said = |args: &[&str]| {
        let output = project.run(args, "");
        let text =
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), text)
    };
    for (args, code, says) in [
        (
            &["explain", "--last"][..],
            0,
            &["Bash  make deploy\n", "no      no-force-push "][..],
        ),
        (
            &["explain", "--last", "2"],
            0,
            &[
                "deny by no-force-push",
                "reads   git push -f",
                "runs    no-force-push ",
            ],
        ),
        (&["explain", "--last", "3"], 2, &["have 2 events"]),
        (
            &["explain"],
            2,
            &["there is no event on stdin; write --bash 'git push -f'"],
        ),
    ] {
        let (found, text) = said(args);
        assert!(
            found == code && says.iter().all(|part| text.contains(part)),
            "{args:?}: {text}"
        );
    }

    // The same events, by what an edit would make of the definitions.
    fs::write(
        project.root().join("recorded.jsonl"),
        said(&["tail", "--no-follow", "--format", "json"]).1,
    )
    .unwrap();
    fs::write(
        project.root().join("edited.yaml"),
        GUARD.replace("git push --force*", "make deploy"),
    )
    .unwrap();
    let edited = [
        "history",
        "replay",
        "--isolated",
        "--hooks",
        "edited.yaml",
        "recorded.jsonl",
    ];
    for (more, code, says) in [
        (
            &["--changed"][..],
            1,
            &[
                "      was deny no-force-push: Force pushes are off.",
                "2 judged otherwise",
            ][..],
        ),
        (
            &["--against", ".hookwire"],
            1,
            &[
                "Bash make deploy",
                "      was deny no-force-push",
                "2 judged otherwise",
            ],
        ),
        (&["--against", "edited.yaml"], 0, &["0 judged otherwise"]),
    ] {
        let (found, text) = said(&[&edited, more].concat());
        assert!(
            found == code && says.iter().all(|part| text.contains(part)),
            "{more:?}: {text}"
        );
    }
    // Nobody waits for a person's answer to what has happened already.
    let asking = "hooks: [{ name: asks, on: PreToolUse, if: Bash(make *), fail: closed, guard: { approval: { wait: 1h } } }]";
    fs::write(project.root().join("asking.yaml"), asking).unwrap();
    let (_, text) = said(&[
        "history",
        "replay",
        "--isolated",
        "--hooks",
        "asking.yaml",
        "recorded.jsonl",
    ]);
    assert!(text.contains("(a replay asks nobody)"), "{text}");
}

#[test]
fn ten_first_events_start_one_host() {
    for project in Project::each() {
        let mut children = Vec::new();
        for _ in 0..10 {
            let mut child = project
                .command(&["hook", "claude-code", "--live"])
                .spawn()
                .unwrap();
            child
                .stdin
                .take()
                .unwrap()
                .write_all(event("git push -f").to_string().as_bytes())
                .unwrap();
            children.push(child);
        }
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(
                String::from_utf8_lossy(&output.stdout).contains("\"deny\""),
                "{output:?}"
            );
        }
        assert_eq!(project.hosts().len(), 1);
    }
}

#[test]
fn an_idle_host_ends_and_takes_its_socket_along() {
    let project = Project::new();
    let path = project.0.path().join("run/host.sock");
    let listen = format!("unix:{}", path.display());
    let mut host = project
        .command(&["serve", "--listen", &listen, "--idle-exit", "1ms"])
        .spawn()
        .unwrap();
    assert!(host.wait().unwrap().success());
    assert!(!path.exists());

    // A project that is gone needs none.
    let project = Project::new();
    assert_eq!(project.hook("git push -f"), "deny");
    let [host] = project.hosts()[..] else {
        panic!("{:?}", project.hosts())
    };
    fs::remove_dir_all(project.root()).unwrap();
    await_end(host, "the host of a project that is gone");
}

#[test]
fn a_host_isnt_needed() {
    for project in Project::each() {
        // No runtime directory, a socket to which nobody listens, and none wanted.
        for (args, runtime) in [(&[][..], "/dev/null"), (&["--no-host"], "run")] {
            let mut args: Vec<&str> = args.to_vec();
            args.splice(0..0, ["hook", "claude-code", "--live"]);
            let mut child = project.command(&args);
            let runtime = project.0.path().join(runtime);
            let mut child = child
                .env("XDG_RUNTIME_DIR", runtime)
                .env("TMPDIR", "/nonexistent")
                .spawn()
                .unwrap();
            child
                .stdin
                .take()
                .unwrap()
                .write_all(event("git push -f").to_string().as_bytes())
                .unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(
                String::from_utf8_lossy(&output.stdout).contains("\"deny\""),
                "{args:?}: {output:?}"
            );
        }
        assert_eq!(project.hosts(), [0; 0]);
    }
}

#[test]
fn a_dead_socket_is_replaced() {
    for project in Project::each() {
        assert_eq!(project.hook("git push -f"), "deny");
        let host = project.signal(rustix::process::Signal::KILL);
        await_end(host, "the host ends");
        let runtime = project.0.path().join("run/hookwire");
        let is_socket = |path: &PathBuf| path.extension().is_some_and(|it| it == "sock");
        let socket = fs::read_dir(runtime)
            .unwrap()
            .map(|it| it.unwrap().path())
            .find(is_socket)
            .unwrap();
        // Somebody listens, takes what comes and says nothing.
        fs::remove_file(&socket).unwrap();
        let silent = UnixListener::bind(&socket).unwrap();
        let mute = std::thread::spawn(move || silent.accept().map(drop));
        assert_eq!(project.hook("git push -f"), "deny");
        mute.join().unwrap().unwrap();
        assert_eq!(project.hook("git push -f"), "deny");
    }
}

#[test]
fn a_failure_takes_the_chosen_direction() {
    for project in Project::each() {
        for (args, stdin, expected) in [
            (&[][..], "not JSON", 2),
            (&[], "", 2),
            (&["--hooks", "missing"], "{}", 2),
            (&["--event", "PreTolUse"], "{}", 2),
            (&["--fail", "open"], "not JSON", 0),
            // The direction is that of the event, as far as its name can be read.
            (
                &[],
                r#"{"hook_event_name": "UserPromptSubmit", "prompt": nan}"#,
                2,
            ),
            (
                &[],
                r#"{"hook_event_name": "Stop", "last_assistant_message": nan}"#,
                0,
            ),
            (&[], r#"{"hook_event_name": "SessionEnd", "reason": "ot"#, 0),
        ] {
            let mut args: Vec<&str> = args.to_vec();
            args.splice(0..0, ["hook", "claude-code", "--no-host"]);
            let output = project.run(&args, stdin);
            assert_eq!(
                (output.status.code(), &*output.stdout),
                (Some(expected), &b""[..]),
                "{args:?} {stdin}"
            );
            assert!(!output.stderr.is_empty(), "{args:?}");
        }
    }
}

/// A host that is starting isn't asked whether it is one of an earlier program: nobody answers for
/// it yet, for three seconds.
#[test]
fn a_first_event_waits_for_nobody_but_its_own_host() {
    let project = Project::new();
    let start = || {
        let begun = Instant::now();
        project.hook("ls");
        let took = begun.elapsed();
        project.kill_host();
        took
    };
    // On a busy machine one may take long.
    let fastest = (0..3).map(|_| start()).min().unwrap();
    assert!(fastest < Duration::from_secs(3), "{fastest:?}");
}

/// The small program and the large one, in a directory of their own.
fn programs(project: &Project) -> [PathBuf; 2] {
    let dir = project.0.path().join("bin");
    fs::create_dir(&dir).unwrap();
    [
        ("hookwire-run", small()),
        ("hookwire", env!("CARGO_BIN_EXE_hookwire-host").into()),
    ]
    .map(|(name, program)| {
        let copy = dir.join(name);
        copy_program(program, &copy);
        copy
    })
}

/// What the small program asks, the host answers: the large program is started only where no host
/// answers, and where it can't be, nothing is allowed.
#[test]
fn a_small_program_asks_the_host_itself() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let [small, large] = programs(&project);
    let said = |args: &[&str], sent: &str| {
        project.said_by(
            &small,
            &[&["hook", "claude-code", "--live"], args].concat(),
            sent,
        )
    };
    let push = event("git push -f").to_string();
    let denied = said(&[], &push);
    assert!(
        denied.0 == 0 && denied.1.contains("Force pushes are off."),
        "{denied:?}"
    );
    let unreadable = said(&[], "not JSON");
    assert_eq!((unreadable.0, &*unreadable.1), (2, ""));
    // From now on the large program can't be started.
    fs::set_permissions(&large, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(said(&[], &push), denied);
    assert_eq!(said(&[], "not JSON"), unreadable);
    let list = || said(&[], &event("ls").to_string()).1;
    assert!(
        list().contains("the first") && list().is_empty(),
        "`once` is kept"
    );
    let failed = "hookwire failed, so this is denied: ";
    for (args, code, says) in [
        (&["--timeout", "5s"][..], 2, failed),
        (&["--root", "/nowhere"], 2, failed),
        (&["--fail", "open", "--timeout", "5s"], 0, "hookwire: "),
    ] {
        let (exit, stdout, stderr) = said(args, &push);
        let problem = format!("{says}{} can't be started: ", large.display());
        assert!(
            exit == code && stdout.is_empty() && stderr.starts_with(&problem),
            "{args:?}: {exit} {stderr}"
        );
    }
    project.kill_host();
    assert_eq!(said(&[], &push).0, 2);
    fs::remove_file(&large).unwrap();
    assert!(said(&[], &push).2.ends_with("hookwire isn't there\n"));
}

/// `hookwire-run -- COMMAND` asks a host that runs, as `hookwire run` does, and loads no large
/// program for it.
#[cfg(target_os = "linux")]
/// As in a container: a host of its own beside the agent, on a socket that both see.
#[test]
fn a_host_that_the_command_line_names_is_asked_and_no_other() {
    for project in Project::each() {
        let socket = project.0.path().join("host.sock");
        let address = format!("unix:{}", socket.display());
        let ask = |args: &[&str], command: &str| {
            let args = [&["hook", "claude-code", "--connect", &address], args].concat();
            let output = project.run(&args, &event(command).to_string());
            let [stdout, stderr] =
                [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
            (output.status.code(), stdout, stderr)
        };
        let (code, stdout, stderr) = ask(&[], "ls");
        assert_eq!(
            (code, &*stdout, stderr.contains(&address)),
            (Some(2), "", true),
            "nobody listens: {stderr}"
        );
        let (code, stdout, stderr) = ask(&["--fail", "open"], "ls");
        assert_eq!(
            (code, &*stdout, stderr.contains(&address)),
            (Some(0), "", true),
            "{stderr}"
        );
        assert_eq!(project.hosts(), [0; 0], "no host is started");

        let mut host = project
            .command(&["serve", "--live", "--listen", &address])
            .spawn()
            .unwrap();
        eventually("the host listens", || UnixStream::connect(&socket).ok());
        eventually("people find it too", || {
            project
                .run(&["state", "list"], "")
                .status
                .success()
                .then_some(())
        });
        assert!(ask(&[], "git push -f").1.contains("Force pushes are off"));
        let (_, stdout, _) = ask(&["--isolated"], "ls");
        assert!(
            stdout.contains("the first"),
            "what the host has counts, and nothing else"
        );
        // Alone, without the large program.
        let alone = project.0.path().join("hookwire-run");
        copy_program(small(), &alone);
        let args = ["hook", "claude-code", "--connect", &address];
        let (code, stdout, stderr) =
            project.said_by(&alone, &args, &event("git push -f").to_string());
        assert!(
            code == 0 && stdout.contains("Force pushes are off"),
            "{code} {stdout} {stderr}"
        );
        host.kill().unwrap();
        host.wait().unwrap();
        let (code, stdout, stderr) = project.said_by(&alone, &args, &event("ls").to_string());
        assert_eq!((code, &*stdout), (2, ""), "a deny by the exit code");
        assert!(
            stderr.contains(&address) && stderr.contains("isn't there"),
            "{stderr}"
        );
    }
}

#[test]
fn a_small_program_holds_a_command_itself() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let [small, large] = programs(&project);
    let probe = Command::new(&small).arg("--probe").output().unwrap();
    if !probe.status.success() {
        return skip(format_args!(
            "starts can't be held here: {}",
            String::from_utf8_lossy(&probe.stderr).trim_end()
        ));
    }
    let said = |args: &[&str]| {
        let output = project
            .command_of(Command::new(&small), args)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let push = [
        "--live",
        "--end-tree",
        "--",
        "sh",
        "-c",
        "git push --force; exit 7",
    ];
    let (code, stderr) = said(&push);
    assert!(
        code == Some(7) && stderr.contains("Force pushes are off."),
        "{code:?} {stderr}"
    );
    // From now on the large program can't be started.
    fs::set_permissions(&large, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(said(&push), (code, stderr));
    // Nobody has trusted the project's rules, which the large program says.
    for args in [
        &["--", "true"][..],
        &["--live", "--idle-exit", "5m", "--", "true"],
        &["--live", "true"],
    ] {
        let (code, stderr) = said(args);
        assert!(
            code == Some(2) && stderr.contains("hookwire can't be started"),
            "{args:?}: {stderr}"
        );
    }
    project.kill_host();
    let unheld = said(&push);
    assert!(unheld.1.contains("hookwire can't be started"), "{unheld:?}");
}

/// The small program has the name that people type: it asks and holds by itself where a host runs,
/// and is the large one in all else. In packages it has a name of its own, too.
#[cfg(target_os = "linux")]
#[test]
fn people_type_the_small_program() {
    use std::os::unix::fs::PermissionsExt;
    for is_packed in [false, true] {
        let project = Project::new();
        let [small, typed] = programs(&project);
        let host = typed.with_file_name("hookwire-host");
        fs::rename(&typed, &host).unwrap();
        copy_program(&small, &typed);
        if !is_packed {
            fs::remove_file(&small).unwrap();
        }
        let version = concat!("hookwire ", env!("CARGO_PKG_VERSION"), "\n");
        let said = |args: &[&str], stdin: &str| project.said_by(&typed, args, stdin);
        assert_eq!(said(&["--version"], ""), (0, version.into(), String::new()));
        let (code, listed, _) = said(&["check", "--list", "--live"], "");
        assert!(code == 0 && listed.contains("no-force-push"), "{listed}");
        let (code, installed, told) = said(&["install", "claude-code", "--project"], "");
        // It stands in a temporary directory, so a copy is started.
        let asking = if is_packed {
            "/hookwire-run hook claude-code"
        } else {
            "/hookwire hook claude-code"
        };
        assert!(
            code == 0 && installed.contains(asking),
            "{installed} {told}"
        );
        assert!(!told.contains("slower"), "{told}");
        let hook = || {
            said(
                &["hook", "claude-code", "--live"],
                &event("git push -f").to_string(),
            )
        };
        let denied = hook();
        assert!(
            denied.0 == 0 && denied.1.contains("Force pushes are off."),
            "{denied:?}"
        );
        let run = || {
            said(
                &[
                    "run",
                    "--live",
                    "--",
                    "sh",
                    "-c",
                    "git push --force; exit 7",
                ],
                "",
            )
        };
        if Command::new(&typed)
            .args(["run", "--probe"])
            .output()
            .unwrap()
            .status
            .success()
        {
            // Options that the small program doesn't know lead through the large one.
            let (code, _, stderr) = said(
                &[
                    "run",
                    "--live",
                    "--idle-exit",
                    "1m",
                    "--",
                    "sh",
                    "-c",
                    "git push -f; exit 7",
                ],
                "",
            );
            assert!(
                code == 7 && stderr.contains("Force pushes are off."),
                "{code} {stderr}"
            );
            // From now on only the small program can be started.
            fs::set_permissions(&host, fs::Permissions::from_mode(0o644)).unwrap();
            let (code, _, stderr) = run();
            assert!(
                code == 7 && stderr.contains("Force pushes are off."),
                "{code} {stderr}"
            );
        }
        fs::set_permissions(&host, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(hook(), denied);
        fs::remove_file(&host).unwrap();
        let gone = format!("hookwire: {} isn't there\n", host.display());
        assert_eq!(said(&["check", "--list"], ""), (2, String::new(), gone));
    }
}

/// What a command does, and its exit code, don't hang on whether somebody reads what it prints.
#[test]
fn nobody_needs_to_read() {
    for project in Project::each() {
        let root = project.root();
        fs::write(root.join(".hookwire/bad.yaml"), "hooks: [{ nme: x }]").unwrap();
        fs::write(root.join("guard.yaml"), GUARD).unwrap();
        fs::write(
            root.join("guard.test.yaml"),
            "cases: [{ bash: ls, expect: deny }]",
        )
        .unwrap();
        let push =
            r#"{"event":"PreToolUse","tool":{"name":"Bash","input":{"command":"git push -f"}}}"#;
        let denied = event("git push -f").to_string();
        let closed = || std::io::pipe().unwrap().1.into();
        let full = || Stdio::from(fs::File::options().write(true).open("/dev/full").unwrap());
        let gone: [(&str, &dyn Fn() -> Stdio); 2] = [("closed", &closed), ("full", &full)];
        // The exit code where nobody reads any more, and where what is printed can't be kept.
        for (args, stdin, codes) in [
            (&["check", "--list"][..], "", [0, 2]),
            (
                &["explain", "--run", "--hooks", "guard.yaml", push],
                "",
                [1, 1],
            ),
            (&["check"], "", [1, 1]),
            (&["test", "guard.test.yaml"], "", [1, 1]),
            (&["install", "claude-code"], "", [0, 2]),
            (
                &["hook", "claude-code", "--no-host", "--hooks", "guard.yaml"],
                &denied,
                [2, 2],
            ),
        ] {
            for ((name, stdout), code) in gone.iter().zip(codes) {
                let mut child = project
                    .command(args)
                    .stdin(Stdio::piped())
                    .stdout(stdout())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap();
                child
                    .stdin
                    .take()
                    .unwrap()
                    .write_all(stdin.as_bytes())
                    .unwrap();
                let output = child.wait_with_output().unwrap();
                assert_eq!(
                    output.status.code(),
                    Some(code),
                    "{name} {args:?}: {output:?}"
                );
            }
        }
        assert!(root.join(".claude/settings.local.json").is_file());
        // Where it is closed from the start, it is this by the time that a program sees it.
        let null = project.command(&["hook", "claude-code", "--no-host", "--hooks", "guard.yaml"]);
        let mut child = { null }
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(denied.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

/// A text that was cut in the middle of an emoji is judged, and so is one behind a byte order mark.
#[test]
fn half_a_character_keeps_no_event_from_its_hooks() {
    for project in Project::each() {
        let before = |command: &str| {
            format!(
                r#"{{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"{command} \ud83d"}}}}"#
            )
        };
        for (stdin, is_denied) in [
            (
                r#"{"hook_event_name":"Stop","stop_hook_active":true,"last_assistant_message":"ok \ud83d"}"#
                    .to_string(),
                false,
            ),
            (before("ls"), false),
            (before("git push -f; echo"), true),
            (format!("\u{feff}{}", before("git push -f; echo")), true),
        ] {
            let output = project.run(&["hook", "claude-code", "--no-host", "--live"], stdin.as_ref());
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!((output.status.code(), said.contains("deny")), (Some(0), is_denied), "{stdin}: {output:?}");
        }
    }
}

/// The settings of a person, with comments, an order and another hook.
const SETTINGS: &str = r#"{
  // mine
  "model": "opus", /* keep */
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "./my.sh" }] }, // first
    ],
  },
  "permissions": { "allow": ["Bash(ls:*)"] }
}
"#;

/// The files below a directory, with their texts.
pub fn files(root: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.clone(), fs::read_to_string(path).unwrap()));
        }
    }
    found.sort();
    found
}

/// Where what is installed stands; where an agent has a file an event, the one before a tool call.
fn installed() -> impl Iterator<Item = (&'static str, String)> {
    let in_projects = AGENTS
        .iter()
        .filter(|agent| !agent.project.entry.is_empty());
    in_projects.map(|agent| (agent.name, installed_of(agent)))
}

fn installed_of(agent: &Agent) -> String {
    let entry = &agent.project.entry;
    if matches!(agent.form, Form::Programs) {
        format!("{entry}/PreToolUse")
    } else {
        entry.clone()
    }
}

fn installed_for(name: &str) -> String {
    installed_of(AGENTS.iter().find(|agent| agent.name == name).unwrap())
}

#[test]
fn what_is_installed_can_be_taken_back() {
    for (agent, file) in installed() {
        for before in [None, Some(SETTINGS)] {
            let project = Project::new();
            let path = project.root().join(&file);
            let of_agent = AGENTS.iter().find(|it| it.name == agent).unwrap();
            let is_shared = of_agent.file().is_some_and(|file| file.own.is_none());
            if let (Some(before), true) = (before, is_shared) {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, before).unwrap();
            }
            let untouched = files(&project.root());
            let say = |args: &[&str]| {
                let output = project.run(args, "");
                assert!(output.status.success(), "{args:?}: {output:?}");
                String::from_utf8(output.stdout).unwrap()
            };
            assert!(say(&["install", agent, "--dry-run"]).contains("hook"));
            assert_eq!(
                files(&project.root()),
                untouched,
                "{agent}: a dry run writes nothing"
            );
            say(&["install", agent]);
            let installed = fs::read_to_string(&path).unwrap();
            let command = match of_agent.form {
                Form::Plugin => format!(r#""hook","{agent}""#),
                Form::File(ref file) if file.exec_form.is_some() => format!("\"{agent}\""),
                Form::File(_) | Form::Programs => format!(" hook {agent}"),
            };
            assert!(installed.contains(&command), "{agent}: {installed}");
            for mine in before
                .filter(|_| is_shared)
                .unwrap_or_default()
                .lines()
                .filter(|line| line.contains("my.sh"))
            {
                assert!(installed.contains(mine), "{agent}: {installed}");
            }
            assert!(say(&["install", agent]).contains("already"), "{agent}");
            assert_eq!(
                fs::read_to_string(&path).unwrap(),
                installed,
                "{agent}: twice is once"
            );
            say(&["uninstall", agent]);
            assert_eq!(files(&project.root()), untouched, "{agent}");
        }
    }
}

/// `install` writes the small program where it is there and fits. Entries with either are
/// hookwire's.
#[test]
fn the_small_program_is_installed_where_it_is() {
    let project = Project::new();
    let [small, large] = programs(&project);
    fs::remove_file(&small).unwrap();
    let say = |args: &[&str]| {
        let output = project
            .command_of(Command::new(&large), args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    say(&["trust", "--yes"]);
    let untouched = files(&project.root());
    let settings = project.root().join(installed_for("claude-code"));
    // They stand in a temporary directory, so copies are started.
    let copies = project.0.path().join("home/.local/share/hookwire/programs");
    let names = |program: &Path| {
        let text = fs::read_to_string(&settings).unwrap();
        let copy = copies
            .join(env!("CARGO_PKG_VERSION"))
            .join(program.file_name().unwrap());
        text.contains(&format!("{:?}", copy.display().to_string()))
            && text.matches("PreToolUse").count() == 1
    };
    say(&["install", "claude-code"]);
    assert!(names(&large));
    fs::write(&small, "#!/bin/sh\necho hookwire-run 0.0.1\n").unwrap();
    fs::set_permissions(&small, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert!(
        say(&["install", "claude-code"]).contains("already"),
        "another version"
    );
    let differs = format!(
        "{} is version 0.0.1, and hookwire is {}: ",
        small.display(),
        env!("CARGO_PKG_VERSION")
    );
    let told = say(&["doctor", "claude-code"]);
    assert!(told.contains(&format!("look  {differs}")), "{told}");
    say(&["uninstall", "claude-code"]);
    let told = say(&["install", "claude-code"]);
    assert!(told.contains(&differs) && names(&large), "{told}");
    let run = project
        .command_of(Command::new(&large), &["run", "--", "true"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(told.contains(&format!("hookwire: {differs}")), "{told}");
    fs::remove_file(&small).unwrap();
    copy_program(self::small(), &small);
    say(&["install", "claude-code"]);
    assert!(names(&small));
    let said = say(&["doctor", "claude-code"]);
    assert!(said.contains("a probe was denied after"), "{said}");
    fs::remove_file(&small).unwrap();
    say(&["uninstall", "claude-code"]);
    assert_eq!(files(&project.root()), untouched);
}

/// Kimi Code's hooks stand in the settings of all projects, as a list in TOML.
#[test]
fn a_list_in_toml_is_added_to_and_taken_back() {
    let project = Project::new();
    let said = project.run(&["install", "kimi"], "");
    assert!(
        said.status.code() == Some(2) && String::from_utf8_lossy(&said.stderr).contains("--user"),
        "{said:?}"
    );
    let path = project.0.path().join("home/.kimi-code/config.toml");
    let mine = "[[hooks]]\nevent = \"Stop\"\ncommand = \"./my.sh\"\n";
    for before in [
        None,
        Some(""),
        Some("# mine\ndefault_model = \"m\"\n\n[models.m]\nprovider = \"p\"\n"),
        Some(mine),
    ] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
        for _ in 0..2 {
            let output = project.run(&["install", "kimi", "--user"], "");
            assert!(output.status.success(), "{before:?}: {output:?}");
        }
        let installed = fs::read_to_string(&path).unwrap();
        assert_eq!(installed.matches(" hook kimi").count(), 16, "{installed}");
        let output = project.run(&["doctor", "kimi"], "");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("a probe was denied after"),
            "{output:?}\n{installed}"
        );
        let output = project.run(&["uninstall", "kimi", "--user"], "");
        assert!(output.status.success(), "{before:?}: {output:?}");
        assert_eq!(
            fs::read_to_string(&path).ok().as_deref(),
            before,
            "{before:?}"
        );
    }
}

/// A person's settings may be a link into a collection of them. They stay one, and what it leads to
/// is edited.
#[test]
fn settings_that_are_a_link_stay_one() {
    for before in [SETTINGS, "{}\n"] {
        let project = Project::new();
        let (path, target) = (
            project.root().join(".claude/settings.local.json"),
            project.0.path().join("mine.json"),
        );
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&target, before).unwrap();
        symlink(&target, &path).unwrap();
        for (args, is_there) in [("install", true), ("uninstall", false)] {
            let output = project.run(&[args, "claude-code"], "");
            assert!(output.status.success(), "{args} {before}: {output:?}");
            assert_eq!(fs::read_link(&path).unwrap(), target, "{args} {before}");
            assert_eq!(
                fs::read_to_string(&target)
                    .unwrap()
                    .contains("\"claude-code\""),
                is_there,
                "{args} {before}"
            );
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), before);
        // The copies that hookwire keeps are in the person's home.
        let beside = files(project.0.path())
            .into_iter()
            .filter(|(path, _)| !path.starts_with(project.0.path().join("home")));
        assert_eq!(
            beside.count(),
            3,
            "{before}: the guard, the settings by both names and nothing else"
        );
    }
    let project = Project::new();
    let path = project.root().join(".claude/settings.local.json");
    fs::create_dir(path.parent().unwrap()).unwrap();
    symlink("nowhere.json", &path).unwrap();
    let output = project.run(&["install", "claude-code"], "");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("settings.local.json: it is a link, and what it leads to isn't there"),
        "{said}"
    );
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink() && !path.exists());
}

/// Who clones a project didn't make the links in it.
#[test]
fn a_projects_links_lead_no_write_out_of_it() {
    // A file that is hookwire's alone takes the place of a link.
    for agent in ["copilot", "cline", "opencode"] {
        let project = Project::new();
        let path = project.root().join(installed_for(agent));
        let outside = project.0.path().join("outside");
        // Cline's programs that aren't hookwire's stay.
        let text = if agent == "cline" {
            "#!/bin/sh\nexec /old/hookwire hook cline\n"
        } else {
            "mine"
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&outside, text).unwrap();
        for args in ["install", "uninstall"] {
            let _ = fs::remove_file(&path);
            symlink(&outside, &path).unwrap();
            let output = project.run(&[args, agent], "");
            assert!(output.status.success(), "{args} {agent}: {output:?}");
            // Nothing of hookwire's is where a link leads to `mine`.
            let stays = args == "uninstall" && agent != "cline";
            assert_eq!(
                fs::symlink_metadata(&path).is_ok_and(|it| it.is_symlink()),
                stays,
                "{args} {agent}"
            );
            assert_eq!(
                fs::read_to_string(&outside).unwrap(),
                text,
                "{args} {agent}"
            );
        }
    }
    // What is there and can't be read is left alone, and no copy is kept beside it.
    let project = Project::new();
    let path = project.root().join(".github/hooks/hookwire.json");
    let outside = project.0.path().join("outside");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "theirs").unwrap();
    symlink(&outside, path.with_extension("json.before-hookwire")).unwrap();
    let output = project.run(&["install", "copilot"], "");
    assert_eq!(
        (
            output.status.code(),
            fs::read_to_string(&path).unwrap().as_str()
        ),
        (Some(2), "theirs"),
        "{output:?}"
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("hookwire.json: line 1") && said.contains("; nothing was written"),
        "{said}"
    );
    // A person's own hooks in a file of that name stay.
    let theirs =
        r#"{"version": 9, "hooks": {"preToolUse": [{"type": "command", "bash": "./my.sh"}]}}"#;
    fs::write(&path, theirs).unwrap();
    assert!(project.run(&["install", "copilot"], "").status.success());
    let installed = fs::read_to_string(&path).unwrap();
    assert!(
        installed.contains("./my.sh") && installed.contains("\"version\": 9"),
        "{installed}"
    );
    assert!(project.run(&["uninstall", "copilot"], "").status.success());
    assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
    assert!(!outside.exists());
}

#[test]
fn what_is_installed_runs() {
    let project = Project::new();
    let said = project.run(&["install", "claude-code"], "");
    assert!(
        String::from_utf8_lossy(&said.stdout).contains("`hookwire trust`"),
        "{said:?}"
    );
    assert!(project.run(&["trust", "--yes"], "").status.success());
    let settings = fs::read_to_string(project.root().join(".claude/settings.local.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let handler = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(handler["onFailure"], "block");
    // No shell stands between, so none can be put in its place.
    let mut started = Command::new(handler["command"].as_str().unwrap());
    let args = handler["args"].as_array().unwrap();
    started
        .args(args.iter().map(|it| it.as_str().unwrap()))
        .current_dir(project.root());
    started
        .env("XDG_RUNTIME_DIR", project.0.path().join("run"))
        .env("HOME", project.0.path().join("home"));
    let mut child = started
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(event("git push origin +main").to_string().as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("Force pushes are off."),
        "{output:?}"
    );
}

#[test]
fn settings_that_cant_be_read_are_left_alone() {
    for (broken, says) in [
        ("{", "line 1, column 1: unterminated object"),
        ("{\n  \"a\": 1,\n  b: 2\n}", "line 3, column 3: "),
        ("{\"a\": [1}", "line 1, column 9: "),
        ("[]", "it isn't a JSON object"),
        (r#"{"hooks": []}"#, "settings.local.json: "),
        (r#"{"hooks": {"PreToolUse": {}}}"#, "settings.local.json: "),
    ] {
        let project = Project::new();
        let path = project.root().join(".claude/settings.local.json");
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&path, broken).unwrap();
        let output = project.run(&["install", "claude-code"], "");
        assert_eq!(output.status.code(), Some(2), "{broken}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            told.contains("settings.local.json: ") && told.contains(says),
            "{broken}: {output:?}"
        );
        let doctor = project.run(&["doctor", "claude-code"], "");
        let is_syntax = says.starts_with("line ");
        assert!(
            !is_syntax || String::from_utf8_lossy(&doctor.stdout).contains(says),
            "{broken}: {doctor:?}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), broken);
    }
}

#[test]
fn a_doctor_shows_that_a_deny_arrives() {
    let program = env!("CARGO_BIN_EXE_hookwire");
    for (agent, file) in installed() {
        let project = Project::new();
        project.run(&["trust", "--yes"], "");
        let say = |expected: i32| {
            let output = project.run(&["doctor", agent], "");
            assert_eq!(output.status.code(), Some(expected), "{agent}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(say(1).contains(&format!(
            "it doesn't ask hookwire: `hookwire install {agent}`"
        )));
        project.run(&["install", agent], "");
        if AGENTS.iter().any(|it| it.name == agent && it.only_in_git) {
            assert!(
                say(1).contains("it runs a project's hooks only in a repository of git"),
                "{agent}"
            );
            fs::create_dir(project.root().join(".git")).unwrap();
        }
        let wants_trust = AGENTS
            .iter()
            .find(|it| it.name == agent)
            .and_then(|it| it.trust.as_ref())
            .is_some_and(|trust| trust.only_with.is_none());
        let said = say(i32::from(wants_trust));
        assert!(said.contains("a probe was denied after"), "{agent}: {said}");
        assert_eq!(
            said.contains("it doesn't trust this folder"),
            wants_trust,
            "{agent}: {said}"
        );

        // The program has moved.
        let path = project.root().join(file);
        let installed = fs::read_to_string(&path).unwrap();
        fs::write(&path, installed.replace(program, "/nowhere/hookwire")).unwrap();
        let said = say(1);
        assert!(said.contains("a probe was not denied"), "{agent}: {said}");
    }
    // Such a file is dropped by some agents without a word; so is an event.
    let project = Project::new();
    project.run(&["install", "claude-code"], "");
    let path = project.root().join(".claude/settings.local.json");
    let installed = fs::read_to_string(&path).unwrap();
    for (wrong, expected) in [
        (
            installed.replacen('{', "", 1),
            "can't be read, so its hooks don't run",
        ),
        (
            installed.replace("\"Stop\"", "\"Halt\""),
            "doesn't ask at Stop; `hookwire install claude-code` adds them",
        ),
    ] {
        fs::write(&path, wrong).unwrap();
        let output = project.run(&["doctor", "claude-code"], "");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains(expected),
            "{expected}: {output:?}"
        );
    }
    let output = project.run(&["host", "status"], "");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("generation 1; nobody is connected"),
        "{output:?}"
    );
}

#[test]
fn a_doctor_tells_what_keeps_an_agent_from_asking() {
    for (agent, file, (from, to), expected) in [
        (
            "claude-code",
            "",
            ("{", "{\"disableAllHooks\": true,"),
            "`disableAllHooks` switches hookwire's hooks off",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            ("", "{\"disableAllHooks\": true}"),
            "`disableAllHooks` switches",
        ),
        (
            "claude-code",
            "",
            ("\"hooks\": [", "\"matcher\": \"Write\", \"hooks\": ["),
            "its entry is only for `Write`",
        ),
        (
            "claude-code",
            "",
            ("\"type\": \"command\"", "\"type\": \"comand\""),
            "its entry has the type \"comand\"",
        ),
        (
            "claude-code",
            "",
            ("\"type\":", "\"async\": true, \"type\":"),
            "its entry is `async`",
        ),
        (
            "claude-code",
            "",
            ("\"type\":", "\"if\": \"Bash(ls)\", \"type\":"),
            "its entry is under a condition",
        ),
        (
            "claude-code",
            "",
            ("\"timeout\": 60", "\"timeout\": 1"),
            "its entry is given up too early: `timeout` is 1",
        ),
        (
            "claude-code",
            "",
            ("\"onFailure\": \"block\"", "\"x\": 1"),
            "its entry lacks `onFailure: \"block\"`",
        ),
        ("claude-code", "", ("", "[]"), "it isn't a JSON object"),
        (
            "claude-code",
            "",
            (
                "\"claude-code\",",
                "\"claude-code\", \"--hooks\", \"/nosuch\",",
            ),
            "--hooks /nosuch: no such file",
        ),
        (
            "gemini",
            "",
            ("{", "{\"hooksConfig\": {\"enabled\": false},"),
            "`hooksConfig.enabled` switches",
        ),
        (
            "gemini",
            "",
            ("{", "{\"hooksConfig\": {\"disabled\": [\"hookwire\"]},"),
            "`hooksConfig.disabled` switches",
        ),
        (
            "qwen",
            "",
            ("{", "{\"disableAllHooks\": true,"),
            "`disableAllHooks` switches",
        ),
        (
            "copilot",
            "",
            ("{", "{\"disableAllHooks\": true,"),
            "`disableAllHooks` switches",
        ),
        (
            "codex",
            ".codex/config.toml",
            ("", "[features]\nhooks = false\n"),
            "`features.hooks` switches",
        ),
    ] {
        let project = Project::new();
        project.run(&["install", agent], "");
        let own = installed_for(agent);
        let path = project
            .root()
            .join(if file.is_empty() { &*own } else { file });
        let before = fs::read_to_string(&path).unwrap_or_default();
        // Nothing to replace is a file of its own.
        let is_once = from == "{";
        let after = match from {
            "" => to.to_string(),
            from => before.replacen(from, to, if is_once { 1 } else { usize::MAX }),
        };
        assert_ne!(before, after, "{agent} {to}");
        fs::write(&path, after).unwrap();
        let output = project.run(&["doctor", agent], "");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.code() == Some(1) && said.contains(expected),
            "{agent} {to}: {said}"
        );
    }
}

#[test]
fn a_doctor_says_what_an_agents_version_lacks() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    for args in [&["trust", "--yes"][..], &["install", "claude-code"]] {
        project.run(args, "");
    }
    let programs = project.0.path().join("bin");
    fs::create_dir(&programs).unwrap();
    let claude = programs.join("claude");
    for (version, code, expected) in [
        ("2.1.332 (Claude Code)", 0, "ok    version 2.1.332\n"),
        (
            "2.1.294 (Claude Code)",
            1,
            "bad   version 2.1.294 is older than 2.1.295: it passes over `onFailure`",
        ),
        (
            "claude v2.1.300",
            0,
            "look  version 2.1.300 is older than 2.1.332, with which hookwire was tried",
        ),
        (
            "2.2.0 (Claude Code)",
            0,
            "look  version 2.2.0 is newer than 2.1.332, with which hookwire was tried: it may ask at",
        ),
        ("beta", 0, "look  `claude --version` names no version"),
    ] {
        fs::write(&claude, format!("#!/bin/sh\necho '{version}'\n")).unwrap();
        fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
        let output = project
            .command(&["doctor"])
            .env("PATH", &programs)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.code() == Some(code) && said.contains(expected),
            "{version}: {said}"
        );
    }
}

#[test]
fn a_doctor_says_what_can_be_held() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let programs = project.0.path().join("bin");
    fs::create_dir(&programs).unwrap();
    let program = programs.join("hookwire");
    copy_program(env!("CARGO_BIN_EXE_hookwire-host"), &program);
    let supervisor = programs.join("hookwire-run");
    let said = |args: &[&str]| {
        let output = project
            .command_of(Command::new(&program), args)
            .env("PATH", "/usr/bin:/bin")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    said(&["trust", "--yes"]);
    said(&["install", "claude-code"]);
    let missing = said(&["doctor"]);
    assert!(
        missing.contains(&format!("look  {} isn't there", supervisor.display())),
        "{missing}"
    );
    let holds = |lacking: &str| {
        let row = |it: &str| match it == lacking {
            true => json!({"holds": false, "problem": "not permitted", "version": 5}),
            false => json!({"holds": true, "problem": null, "version": 6}),
        };
        let rows = [
            "listener",
            "trace",
            "memory",
            "namespace",
            "mount",
            "landlock",
        ]
        .map(|it| (it.to_string(), row(it)));
        Value::Object(rows.into_iter().collect()).to_string()
    };
    let fine = "ok    it can hold each program that starts here\n";
    let no_landlock =
        "can kill its supervisor, and then nothing starts there any more (Landlock 5, it takes 6)";
    let mut rows = vec![
        (holds(""), vec![fine]),
        (holds("mount"), vec![fine]),
        (holds("landlock"), vec![fine, no_landlock]),
        (
            holds("listener"),
            vec![
                "look  nothing can be held here (seccomp listener: not permitted), so it runs nothing",
            ],
        ),
        (
            holds("trace"),
            vec!["look  nothing can be held here (ptrace: not permitted)"],
        ),
        (
            "what?".into(),
            vec!["--probe` doesn't say what can be held"],
        ),
    ];
    if !rustix::process::geteuid().is_root() {
        rows.push((
            holds("namespace"),
            vec![
                fine,
                "unreadable is refused (user namespace: not permitted)",
            ],
        ));
    }
    let version = concat!("hookwire-run ", env!("CARGO_PKG_VERSION"));
    for (probed, expected) in rows {
        fs::write(
            &supervisor,
            format!("#!/bin/sh\n[ \"$1\" = --version ] && echo {version} || echo '{probed}'\n"),
        )
        .unwrap();
        fs::set_permissions(&supervisor, fs::Permissions::from_mode(0o755)).unwrap();
        let said = said(&["doctor"]);
        let (_, own) = said.split_once("\nhookwire run\n").unwrap();
        let own: Vec<&str> = own
            .lines()
            .take_while(|line| line.starts_with(' '))
            .collect();
        let is_told = expected.iter().all(|it| said.contains(it));
        assert!(is_told && own.len() == expected.len(), "{probed}: {said}");
    }
    let as_json = said(&["doctor", "--format", "json"]);
    let mut rows = as_json
        .lines()
        .map(|it| serde_json::from_str::<Value>(it).unwrap());
    assert!(
        rows.any(|it| it["about"] == "hookwire run" && it["health"] == "look"),
        "{as_json}"
    );
}

/// The agents' own names for what nobody knows: a "no" is the exit code, whatever else each takes
/// for one.
#[test]
fn an_unknown_gate_is_refused_by_the_exit_code() {
    for project in Project::each() {
        let bash = |name: &str, command: &str| json!({"session_id": "s", "hook_event_name": name, "tool_name": "Bash", "tool_input": {"command": command}});
        let copilot = json!({"hook_event_name": "preSkill", "toolName": "bash", "toolArgs": {"command": "git push -f"}});
        let call = json!({"name": "execute_command", "input": {"command": "git push -f"}});
        let cline = json!({"hook_event_name": "BeforeSkill", "tool_call": call});
        let off = "Force pushes are off.\n";
        for (agent, payload, code, stderr) in [
            ("claude-code", bash("PreSkillThing", "git push -f"), 2, off),
            ("claude-code", bash("PreSkillThing", "ls"), 0, ""),
            (
                "claude-code",
                bash("PreSkillThing", "npm i x"),
                2,
                "hook `pnpm` rewrote this, and the client can't take a rewrite\n",
            ),
            ("claude-code", bash("PostSkillThing", "git push -f"), 0, ""),
            ("codex", bash("BeforeSkill", "git push -f"), 2, off),
            ("gemini", bash("BeforeSkill", "git push -f"), 2, off),
            ("qwen", bash("BeforeSkill", "git push -f"), 2, off),
            ("copilot", copilot, 2, off),
            ("cline", cline, 2, off),
        ] {
            let output = project.run(&["hook", agent, "--live"], &payload.to_string());
            let said = (
                output.status.code(),
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr),
            );
            assert_eq!(
                said,
                (Some(code), "".into(), stderr.into()),
                "{agent} {payload}"
            );
        }
        let twice =
            bash("PreSkillThing", "ls")
                .to_string()
                .replacen('{', r#"{"tool_name":"x","#, 1);
        let output = project.run(&["hook", "claude-code", "--live"], &twice);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2)
                && stderr.starts_with("hookwire failed, so this is denied: "),
            "{stderr}"
        );
        let own = bash("PreSkillThing", "rm -rf .hookwire").to_string();
        assert_eq!(
            project
                .run(&["hook", "claude-code", "--live"], &own)
                .status
                .code(),
            Some(2),
            "self-defense"
        );
        assert_eq!(project.hook("ls"), "the first", "`once` isn't spent");
    }
}

/// Whatever a definition could use is registered, but where that would change what the agent does.
#[test]
fn every_event_that_a_hook_could_use_is_registered() {
    let project = Project::new();
    for (agent, asked, unasked) in [
        (
            "claude-code",
            &[
                "TaskCompleted",
                "UserPromptExpansion",
                "ConfigChange",
                "PostToolBatch",
                "PreSkillShellCommand",
            ][..],
            &[
                "WorktreeCreate",
                "WorktreeRemove",
                "FileChanged",
                "MessageDisplay",
            ][..],
        ),
        ("codex", &["Interrupt", "PostCompact"], &[]),
        ("gemini", &["BeforeModel"], &["AfterModel"]),
        ("qwen", &["StopFailure", "PostCompact"], &[]),
    ] {
        project.run(&["install", agent], "");
        let file = installed_for(agent);
        let settings: Value =
            serde_json::from_slice(&fs::read(project.root().join(file)).unwrap()).unwrap();
        for (events, is_there) in [(asked, true), (unasked, false)] {
            for event in events {
                assert_eq!(
                    settings["hooks"].get(event).is_some(),
                    is_there,
                    "{agent} {event}"
                );
            }
        }
    }
}

#[test]
fn hooks_that_no_agent_asks_about_are_told() {
    let project = Project::new();
    let path = project.root().join(".hookwire/guard.yaml");
    let definitions = "hooks:
  - { name: tree, on: [WorktreeCreate, WorktreeRemove], command: 'true' }
  - { name: done, on: TaskCompleted, command: 'true' }
  - { name: model, on: PreModelCall, command: 'true' }
  - { name: both, on: [PreToolUse, FileChanged], command: 'true' }
";
    fs::write(&path, definitions).unwrap();
    let said = |args: &[&str]| {
        let output = project.run(args, "");
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let why = "claude-code isn't told to ask there, because";
    let tree =
        format!("`tree` never runs at WorktreeCreate: {why} a hook there takes the place of");
    let both = format!("`both` never runs at FileChanged: {why} the matcher of a hook there");
    let done = "`done` doesn't run at TaskCompleted: claude-code isn't told to ask there; `hookwire install claude-code` tells it";
    let model = "`model` never runs here: claude-code tells nobody of PreModelCall";
    let commands = [
        &["check", "--live"][..],
        &["doctor", "claude-code", "--live"],
        &["trust", "show"],
    ];
    assert!(!said(commands[0]).contains("never"), "no agent asks");
    project.run(&["install", "claude-code"], "");
    let settings = project.root().join(".claude/settings.local.json");
    let installed = fs::read_to_string(&settings).unwrap();
    fs::write(
        &settings,
        installed.replace("\"TaskCompleted\"", "\"TaskGone\""),
    )
    .unwrap();
    for command in commands {
        let told = said(command);
        for text in [&tree, &both, done, model] {
            assert!(told.contains(text), "{command:?} lacks {text}: {told}");
        }
    }
    let checked = said(commands[0]);
    assert!(
        checked.contains(&format!("warning[never-asked]: {tree}"))
            && checked.contains("guard.yaml:2:5\n"),
        "{checked}"
    );
    // A hook has one note, however many agents don't ask about it.
    project.run(&["install", "qwen"], "");
    let checked = said(commands[0]);
    let both = "`model` never runs here: claude-code, qwen tell nobody of PreModelCall";
    assert!(
        checked.contains(both) && checked.matches("`model` ").count() == 1,
        "{checked}"
    );
    // Another agent asks about it, and what was missing is there again.
    project.run(&["install", "gemini"], "");
    project.run(&["install", "claude-code"], "");
    for command in commands {
        let told = said(command);
        assert!(!told.contains(done), "{command:?}: {told}");
        assert!(
            command[0] == "doctor" || !told.contains(model),
            "{command:?}: {told}"
        );
    }
}

/// What every entry lets hooks reach is no finding. What only some do fails for the others.
#[test]
fn what_installed_entries_let_hooks_reach_is_no_finding() {
    let project = Project::new();
    let audit = "hooks: [{ name: audit, on: PostToolUse, fail: open, http: { url: 'http://10.1.2.3:9000/' } }]";
    fs::write(project.root().join(".hookwire/guard.yaml"), audit).unwrap();
    let told = |args: &[&str]| String::from_utf8(project.run(args, "").stdout).unwrap();
    let refused = "reach 10.1.2.3: it is a private address";
    let allow = ["--allow-host", "10.1.2.3:9000"];
    let commands = [&["check", "--live"][..], &["doctor", "--live"]];
    let tell = |expected: bool, when: &str| {
        for command in commands {
            let told = told(command);
            assert_eq!(
                told.contains(refused),
                expected,
                "{when}: {command:?}: {told}"
            );
        }
    };
    tell(true, "nobody allows it");
    told(&[&["check"], &allow[..]].concat());
    // One agent of each form: a file, a program for each event, a plug-in.
    for agent in ["claude-code", "cline", "opencode"] {
        told(&[&["install", agent], &allow[..]].concat());
        tell(false, agent);
    }
    told(&["install", "codex"]);
    tell(true, "codex doesn't allow it");
    let doctor = told(&["doctor", "--live"]);
    let lacks =
        "config.toml doesn't say `--allow-host 10.1.2.3:9000`, which another agent's entry allows";
    assert!(
        doctor.contains(lacks) || doctor.contains(&lacks.replace("config.toml", "hooks.json")),
        "{doctor}"
    );
    let of_one = told(&["doctor", "claude-code", "--live"]);
    assert!(!of_one.contains(refused), "{of_one}");
    let call = r#"{"event":"PostToolUse","tool":{"name":"Bash","input":{"command":"ls"}}}"#;
    assert!(told(&["explain", "--run", "--live", call]).contains(refused));
    told(&[&["install", "codex"], &allow[..]].concat());
    assert!(
        !told(&["explain", "--run", "--live", call]).contains(refused),
        "each entry allows it"
    );
    // Who leaves the agents' definitions out goes by no agent.
    assert!(told(&["check", "--live", "--isolated"]).contains(refused));
}

/// What a team's entry does for whoever hasn't got hookwire, in each agent's words.
#[test]
fn a_teammate_without_hookwire_stops_or_is_told() {
    for agent in AGENTS.iter().filter(|it| !it.project.entry.is_empty()) {
        let name = agent.name;
        let project = Project::new();
        let said = |args: &[&str]| {
            let output = project.run(&[&["install", name, "--shared"], args].concat(), "");
            let text = String::from_utf8(output.stdout).unwrap();
            (output.status.code(), text)
        };
        let (code, shown) = said(&[]);
        let offers = shown.contains("--missing stop") && shown.contains("--missing tell");
        assert!(code == Some(0) && offers, "{name}: {shown}");
        assert!(
            agent.missing.is_empty() || shown.contains(&agent.missing),
            "{name}: {shown}"
        );
        let (code, shown) = said(&["--missing", "stop"]);
        assert!(
            code == Some(0) && shown.contains("acts no more"),
            "{name}: {shown}"
        );
        let (code, _) = said(&["--missing", "tell"]);
        if matches!(agent.form, Form::Plugin) {
            assert_eq!(code, Some(2), "{name}");
            continue;
        }
        let place = agent.place(false);
        let path = project
            .root()
            .join(place.shared.as_ref().unwrap_or(&place.entry));
        let programs: Vec<String> = match agent.form {
            Form::Programs => {
                let files = fs::read_dir(&path).unwrap().map(|it| it.unwrap().path());
                files.map(|it| fs::read_to_string(it).unwrap()).collect()
            }
            _ => commands_in(&fs::read_to_string(&path).unwrap()),
        };
        assert!(!programs.is_empty(), "{name}");
        let mut told = 0;
        for text in programs {
            // Missing, and failing: the first goes on, and the second doesn't.
            for (bin, expected) in [("", 0), ("exit 2", 2)] {
                let dir = tempfile::tempdir().unwrap();
                if !bin.is_empty() {
                    let program = dir.path().join("hookwire");
                    fs::write(&program, format!("#!/bin/sh\n{bin}\n")).unwrap();
                    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                    fs::set_permissions(&program, mode).unwrap();
                }
                let mut shell = Command::new("/bin/sh");
                let output = shell
                    .args(["-c", &text])
                    .env("PATH", dir.path())
                    .output()
                    .unwrap();
                assert_eq!(output.status.code(), Some(expected), "{name}: {text}");
                told += usize::from(format!("{output:?}").contains("nothing is guarded"));
            }
        }
        assert!(told > 0, "{name}");
        assert!(project.run(&["uninstall", name], "").status.success());
        assert!(!path.exists(), "{name}: it is hookwire's own");
    }
}

/// An entry that is written anew undoes the trust of an agent that knows hooks by what they are.
#[test]
fn a_trust_that_an_entry_undoes_is_told() {
    for (agent, expected) in [("codex", true), ("claude-code", false)] {
        let project = Project::new();
        let said = |args: &[&str]| {
            let output = project.run(&[&["install", agent], args].concat(), "");
            let text = String::from_utf8(output.stdout).unwrap();
            text.contains("until you trust its hooks again")
        };
        assert!(!said(&[]), "{agent}: the first one");
        assert!(!said(&[]), "{agent}: nothing has changed");
        assert_eq!(said(&["--live"]), expected, "{agent}");
    }
}

/// The commands in settings.
fn commands_in(text: &str) -> Vec<String> {
    fn of(value: &Value) -> Vec<String> {
        match value {
            Value::String(text) if text.contains("hookwire hook") => vec![text.clone()],
            Value::Array(items) => items.iter().flat_map(of).collect(),
            Value::Object(members) => members.values().flat_map(of).collect(),
            _ => Vec::new(),
        }
    }
    of(&serde_json::from_str(text).unwrap())
}

/// A shell starts the entry only where the agent, or another one that runs its hooks, needs one.
#[test]
fn no_shell_starts_an_entry_that_needs_none() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    project.run(&["trust", "--yes"], "");
    let bin = project.0.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let put = |name: &str, text: &str| {
        fs::write(bin.join(name), text).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    };
    let run = |args: &[&str]| {
        let mut command = project.command(args);
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let output = command.env("PATH", path).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let is_direct = || {
        run(&["install", "claude-code"]);
        let path = project.root().join(".claude/settings.local.json");
        let settings: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        settings["hooks"]["PreToolUse"][0]["hooks"][0]["args"].is_array()
    };
    let by_shell = "a shell starts its command";
    put("claude", "#!/bin/sh\necho 2.1.138\n");
    assert!(!is_direct());
    assert!(!run(&["doctor", "claude-code"]).contains(by_shell));
    put("claude", "#!/bin/sh\necho 2.1.332\n");
    assert!(run(&["doctor", "claude-code"]).contains(by_shell));
    assert!(is_direct());
    let told = run(&["doctor", "claude-code"]);
    assert!(
        !told.contains(by_shell) && told.contains("a probe was denied"),
        "{told}"
    );
    put("copilot", "#!/bin/sh\necho 1.0.102\n");
    assert!(run(&["doctor", "claude-code"]).contains("Copilot CLI runs it, too"));
    assert!(!is_direct());
    run(&["uninstall", "claude-code"]);
    assert!(!project.root().join(".claude").exists());
}

/// An entry with other options reaches a host that has them. The one with the earlier options has
/// nobody left to serve.
#[test]
fn a_host_that_no_entry_reaches_ends() {
    for project in Project::each() {
        let said = |args: &[&str]| String::from_utf8(project.run(args, "").stdout).unwrap();
        let ask = || {
            let path = project.root().join(".claude/settings.local.json");
            let installed: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            let handler = &installed["hooks"]["PreToolUse"][0]["hooks"][0];
            let args = handler["args"].as_array().unwrap();
            let words: Vec<&str> = args.iter().map(|it| it.as_str().unwrap()).collect();
            assert_eq!(
                project.run(&words, &event("ls").to_string()).status.code(),
                Some(0),
                "{handler}"
            );
            project.hosts()
        };
        said(&["install", "claude-code", "--live"]);
        let first = ask();
        assert_eq!(first.len(), 1);
        let again = said(&["install", "claude-code", "--live"]);
        assert!(
            again.contains("guarded already") && project.hosts() == first,
            "nothing has changed: {again}"
        );
        let other = said(&[
            "install",
            "claude-code",
            "--live",
            "--allow-host",
            "127.0.0.1:9000",
        ]);
        assert!(
            other.contains("The host of the earlier entry has ended"),
            "{other}"
        );
        assert!(project.hosts().is_empty());
        let second = ask();
        assert!(second.len() == 1 && second != first, "{second:?}");
        said(&["uninstall", "claude-code"]);
        assert!(project.hosts().is_empty(), "nobody asks any more");
    }
}

/// What a team commits names nothing of this machine, and the agent's PATH finds the program.
#[test]
fn a_shared_entry_fits_every_machine_and_nothing_stays_of_it() {
    let project = Project::new();
    let path = project.root().join(".claude/settings.json");
    let run = |args: &[&str]| {
        let mut command = hookwire();
        let bin = Path::new(env!("CARGO_BIN_EXE_hookwire-host"))
            .parent()
            .unwrap();
        command.env(
            "PATH",
            format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()),
        );
        command
            .env("HOME", project.0.path().join("home"))
            .env("XDG_RUNTIME_DIR", project.0.path().join("run"));
        let output = command
            .args(args)
            .current_dir(project.root())
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, said) = run(&["install", "claude-code", "--shared", "--timeout", "2m"]);
    assert!(
        code == Some(0)
            && said
                .contains(" events of claude-code -> hookwire hook claude-code --timeout 2m, in ")
    );
    let installed: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let handler = &installed["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(
        (&handler["command"], &handler["timeout"]),
        (
            &json!("hookwire hook claude-code --timeout 2m"),
            &json!(130)
        )
    );
    let (_, said) = run(&["doctor", "claude-code"]);
    assert!(
        said.contains("a probe was denied") && !said.contains("its command"),
        "{said}"
    );

    // One of another checkout is named as what it is.
    let other = Project::new();
    let words = [
        env!("CARGO_BIN_EXE_hookwire-host"),
        "hook",
        "claude-code",
        "--root",
    ]
    .join(" ");
    let of_other = format!("{words} {}", other.root().canonicalize().unwrap().display());
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("hookwire hook claude-code --timeout 2m", &of_other),
    )
    .unwrap();
    let (_, said) = run(&["doctor", "claude-code"]);
    assert!(
        said.contains("its command names another root, so the hooks of")
            && !said.contains("doesn't say `--root"),
        "{said}"
    );

    assert_eq!(run(&["uninstall", "claude-code"]).0, Some(0));
    assert!(
        !path.parent().unwrap().exists(),
        "the directory was made for the entry"
    );
    let (code, _) = run(&["install", "claude-code", "--shared", "--user"]);
    assert_eq!(code, Some(2), "one of these excludes the other");
    other
        .hosts()
        .iter()
        .chain(&project.hosts())
        .for_each(|host| {
            let pid = rustix::process::Pid::from_raw(host.cast_signed()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        });
}

/// One of a person's own stays, wherever it is; hookwire's goes with the entry, and nothing else
/// does.
#[test]
fn a_status_line_is_hookwires_only_where_there_was_none() {
    let project = Project::new();
    let (file, users) = (".claude/settings.local.json", ".claude/settings.json");
    let home = project.0.path().join("home").join(users);
    let file = project.root().join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::create_dir_all(home.parent().unwrap()).unwrap();
    let install = |code: i32| {
        let output = project.run(&["install", "claude-code", "--status-line"], "");
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    };
    let read = |path: &Path| -> Value {
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let own = r#"{"statusLine": {"type": "command", "command": "hookwire host status --line"}}"#;
    for path in [&file, &home] {
        fs::write(path, own).unwrap();
        install(2);
        assert_eq!(fs::read_to_string(path).unwrap(), own);
        fs::remove_file(path).unwrap();
    }
    let before = "{\n  \"model\": \"opus\"\n}\n";
    fs::write(&file, before).unwrap();
    assert!(
        project
            .run(&["install", "claude-code"], "")
            .status
            .success()
    );
    for _ in 0..2 {
        install(0);
    }
    let mut settings = read(&file);
    let command = settings["statusLine"]["command"].as_str().unwrap();
    let shown = Command::new("sh").args(["-c", command]).output().unwrap();
    assert!(shown.stdout.starts_with(b"hookwire: "), "{shown:?}");
    // An edit since then is kept, and so is no copy of what was there.
    settings["theme"] = json!("dark");
    fs::write(&file, settings.to_string()).unwrap();
    assert!(
        project
            .run(&["uninstall", "claude-code"], "")
            .status
            .success()
    );
    assert_eq!(read(&file), json!({"model": "opus", "theme": "dark"}));
    fs::write(&file, before).unwrap();
    install(0);
    assert!(
        project
            .run(&["uninstall", "claude-code"], "")
            .status
            .success()
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    for other in ["codex", "opencode"] {
        let other = project.run(&["install", other, "--status-line"], "");
        assert_eq!(other.status.code(), Some(2), "{other:?}");
    }
}

#[test]
fn a_host_is_shown_with_what_is_not_in_force_and_stopped() {
    let project = Project::new();
    let said = |args: &[&str], code: i32| {
        let output = project.run(args, "");
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(said(&["host", "status"], 0).starts_with("No host runs."));
    let line = said(&["host", "status", "--line"], 0);
    assert_eq!(line, "hookwire: not running\n");
    assert!(project.hosts().is_empty());
    project.hook("ls");
    let [host] = project.hosts()[..] else {
        panic!("one host runs")
    };
    let line = said(&["host", "status", "--line"], 0);
    assert_eq!(line, "hookwire: 3 hooks in force\n");
    project.hook("git push --force\u{1b}[2J");
    let line = said(&["host", "status", "--line"], 0);
    assert!(
        line.starts_with("hookwire: 3 hooks in force; last deny ")
            && line.ends_with(" ago: no-force-push: Force pushes are off.\n"),
        "{line}"
    );
    let status = said(&["host", "status"], 0);
    for part in [
        format!("  process {host}, for "),
        "3 hooks in force".into(),
        "nobody is connected".into(),
    ] {
        assert!(status.contains(&part), "{part}: {status}");
    }
    fs::write(project.root().join(".hookwire/guard.yaml"), "hooks: [").unwrap();
    eventually("what is broken is shown", || {
        said(&["host", "status"], 0)
            .contains("not in force: ")
            .then_some(())
    });
    let stopped = said(&["host", "stop"], 0);
    assert!(
        stopped.contains(&format!("process {host} has ended.")),
        "{stopped}"
    );
    assert!(project.hosts().is_empty());
    assert!(said(&["host", "stop"], 0).contains("No host of this project runs"));
}
