//! The agents of the documentation, against a real host: what really happened.

use crate::support::*;
use hookwire::event::EVENTS;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A run of the agent in a directory of its own.
struct Run {
    dir: tempfile::TempDir,
    stdout: String,
    stderr: String,
}

impl Run {
    /// The files that the commands made, of those that tests use.
    fn made(&self) -> Vec<&'static str> {
        let made = |name: &&str| self.dir.path().join(name).exists();
        ["one", "two", "three", "trash/build/out", "build"]
            .into_iter()
            .filter(made)
            .collect()
    }
}

/// Runs the agent to its end; `None` where it can't run.
fn agent(hooks: &Path, task: &[&str], env: &[(&str, &str)]) -> Option<Run> {
    if !is_there("python3") {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new("python3");
    command
        .arg(repo("examples/agents/minimal.py"))
        .arg(hooks)
        .args(task);
    // Tells on stderr what it otherwise keeps to itself, such as a pipe that failed to close.
    command
        .env("XDG_CONFIG_HOME", dir.path())
        .env("PYTHONDEVMODE", "1");
    let (run, code) = to_its_end(command, dir, env);
    assert_eq!(
        code,
        Some(0),
        "the agent failed: {}{}",
        run.stdout,
        run.stderr
    );
    Some(run)
}

/// Runs an agent in a directory of its own, with the built host.
fn to_its_end(
    command: Command,
    dir: tempfile::TempDir,
    env: &[(&str, impl AsRef<OsStr>)],
) -> (Run, Option<i32>) {
    let mut child = in_our_world(command)
        .current_dir(dir.path())
        .env("HOOKWIRE", env!("CARGO_BIN_EXE_hookwire-host"))
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("the agent ends", || child.try_wait().unwrap());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        Run {
            dir,
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        },
        output.status.code(),
    )
}

/// Leaves the host's process id where a command of the task finds it.
const TELL_PID: &str = "
defaults: { timeout: 5s, fail: closed }
hooks:
  - { name: tell-pid, on: PreToolUse, command: 'echo $PPID > host.pid' }
";

#[test]
fn obeys_a_deny_and_a_rewrite() {
    let Some(run) = agent(&repo("examples/agents/hooks"), &[], &[]) else {
        return;
    };
    assert_eq!(
        run.stdout,
        "\
running: mkdir build && echo hello > build/out
skipped: git push --force (Force pushes are off; push a branch and open a pull request.)
running: mkdir -p trash && mv build trash
running: cat trash/build/out
hello
"
    );
    assert_eq!(run.stderr, "");
    assert_eq!(run.made(), ["trash/build/out"]);
}

#[test]
fn runs_no_part_of_a_denied_command() {
    let task = ["touch one", "touch two && git push --force", "touch three"];
    let Some(run) = agent(&repo("examples/agents/hooks"), &task, &[]) else {
        return;
    };
    assert_eq!(run.made(), ["one", "three"], "{}{}", run.stdout, run.stderr);
}

#[test]
fn outlives_a_host_that_is_killed_between_two_commands() {
    let hooks = hooks(&[("hooks.yaml", TELL_PID)]);
    let task = [
        "touch one",
        "kill -9 $(cat host.pid)",
        "touch two",
        "touch three",
    ];
    let Some(run) = agent(hooks.path(), &task, &[]) else {
        return;
    };
    assert_eq!(run.made(), ["one"], "{}{}", run.stdout, run.stderr);
    assert_eq!(
        run.stdout,
        "\
running: touch one
running: kill -9 $(cat host.pid)
skipped: touch two (hookwire gave no verdict)
skipped: touch three (hookwire gave no verdict)
"
    );
    assert_eq!(run.stderr, "");
    let Some(run) = agent(hooks.path(), &task, &[("FAIL", "open")]) else {
        return;
    };
    assert_eq!(
        run.made(),
        ["one", "two", "three"],
        "{}{}",
        run.stdout,
        run.stderr
    );
}

#[test]
fn outlives_a_host_that_dies_while_it_judges() {
    let hooks = hooks(&[(
        "hooks.yaml",
        "
defaults: { timeout: 5s, fail: closed }
hooks:
  - { name: kill-host, on: PreToolUse, if: Bash(touch two), command: 'kill -9 $PPID' }
",
    )]);
    let Some(run) = agent(
        hooks.path(),
        &["touch one", "touch two", "touch three"],
        &[],
    ) else {
        return;
    };
    assert_eq!(run.made(), ["one"], "{}{}", run.stdout, run.stderr);
}

#[test]
fn waits_for_a_hung_host_as_long_as_it_chose() {
    let hooks = hooks(&[("hooks.yaml", TELL_PID)]);
    let task = [
        "touch one",
        "kill -STOP $(cat host.pid)",
        "touch two",
        "touch three",
    ];
    let Some(run) = agent(hooks.path(), &task, &[("PATIENCE", "3")]) else {
        return;
    };
    assert_eq!(run.made(), ["one"], "{}{}", run.stdout, run.stderr);
}

#[test]
fn hears_which_hook_is_late_and_goes_on() {
    let hooks = hooks(&[(
        "hooks.yaml",
        "hooks: [{ name: slow, on: PreToolUse, if: Bash(touch two), command: sleep 60, fail: closed }]",
    )]);
    let task = ["touch one", "touch two", "touch three"];
    let Some(run) = agent(hooks.path(), &task, &[("PATIENCE", "3")]) else {
        return;
    };
    assert_eq!(run.made(), ["one", "three"], "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout
            .contains("skipped: touch two (hook `slow` failed to "),
        "{}",
        run.stdout
    );
}

#[test]
fn takes_a_missing_binary_for_a_dead_host() {
    let hooks = repo("examples/agents/hooks");
    let missing = ("HOOKWIRE", "/nonexistent/hookwire");
    let Some(run) = agent(&hooks, &["touch one"], &[missing]) else {
        return;
    };
    assert_eq!(run.made(), Vec::<&str>::new());
    assert_eq!(
        run.stdout,
        "skipped: touch one (hookwire gave no verdict)\n"
    );
    assert!(
        run.stderr.starts_with("hookwire did not start: "),
        "{}",
        run.stderr
    );
    let Some(run) = agent(&hooks, &["touch one"], &[missing, ("FAIL", "open")]) else {
        return;
    };
    assert_eq!(run.made(), ["one"]);
}

#[test]
fn its_definitions_are_without_a_diagnostic() {
    let check = hookwire()
        .args(["check", "--isolated", "--hooks"])
        .arg(repo("examples/agents/hooks"))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&check.stdout),
        "15 hooks in force, 0 errors, 0 warnings\n"
    );
}

/// How to start a program of the examples, where it can be.
type Start = fn(&str) -> Option<Command>;

/// The same agent loop in each language. The first two also have a small agent.
const LOOPS: [(&str, Start); 6] = [
    ("Python", python),
    ("TypeScript", typescript),
    ("Rust", rust),
    ("C#", csharp),
    ("PHP", php),
    ("Go", go),
];

fn python(name: &str) -> Option<Command> {
    let mut command = Command::new("python3");
    command
        .arg("-B")
        .arg(repo("examples/agents").join(name).with_extension("py"));
    command
        .env("PYTHONDEVMODE", "1")
        .env("PYTHONPATH", repo("clients/python/src"));
    is_there("python3").then_some(command)
}

/// Checked and compiled if TypeScript is there, as `.ci/loops` installs it; else run as it is,
/// where Node does that.
fn typescript(name: &str) -> Option<Command> {
    if !is_there("node") {
        return None;
    }
    let mut node = Command::new("node");
    let wanted = std::env::var_os("HOOKWIRE_TYPESCRIPT");
    let modules = wanted
        .clone()
        .map_or_else(|| repo("target/loops/node_modules"), PathBuf::from);
    if modules.join("typescript").exists() {
        static COMPILED: OnceLock<PathBuf> = OnceLock::new();
        node.arg(
            COMPILED
                .get_or_init(|| compile(&modules))
                .join(name)
                .with_extension("js"),
        );
        return Some(node);
    }
    assert!(
        wanted.is_none(),
        "HOOKWIRE_TYPESCRIPT names {}, where no TypeScript is",
        modules.display()
    );
    let as_it_is = ["--experimental-strip-types", "--no-warnings"];
    if Command::new("node")
        .args(as_it_is)
        .args(["--eval", "0"])
        .output()
        .unwrap()
        .status
        .success()
    {
        node.args(as_it_is)
            .arg(repo("examples/agents").join(name).with_extension("ts"));
        return Some(node);
    }
    tried_elsewhere("no TypeScript is installed and this Node runs none; .ci/loops installs it");
    None
}

fn compile(modules: &Path) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loops");
    let compiled = Command::new("node")
        .arg(modules.join("typescript/bin/tsc"))
        .arg("--project")
        .arg(repo("examples/agents"))
        .arg("--typeRoots")
        .arg(modules.join("@types"))
        .arg("--outDir")
        .arg(&out)
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stdout)
    );
    // The client is compiled along, so both lie as they do here.
    let agents = out.join("examples/agents");
    std::fs::copy(
        repo("examples/agents/package.json"),
        out.join("package.json"),
    )
    .unwrap();
    std::fs::copy(
        repo("examples/agents/session.json"),
        agents.join("session.json"),
    )
    .unwrap();
    agents
}

/// `cargo test` builds examples, `cargo test --test systems` doesn't.
fn rust(name: &str) -> Option<Command> {
    let program = Path::new(env!("CARGO_BIN_EXE_hookwire-host"))
        .with_file_name("examples")
        .join(name);
    let built = |path: &Path| path.metadata().and_then(|it| it.modified()).ok();
    let sources = ["loop.rs", "wire.rs", "world.rs", "session.json"]
        .map(|name| repo("examples/agents").join(name));
    let fresh = sources
        .iter()
        .all(|source| built(&program) >= built(source));
    if !fresh {
        skip("the Rust loop is not built; run cargo build --example loop");
    }
    fresh.then(|| Command::new(program))
}

fn php(name: &str) -> Option<Command> {
    let mut command = Command::new("php");
    command.arg(repo("examples/agents").join(name).with_extension("php"));
    is_there("php").then_some(command)
}

/// Compiled by Mono.
fn csharp(name: &str) -> Option<Command> {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    if !is_there("mcs") || !is_there("mono") {
        return None;
    }
    let program = COMPILED.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loop.cs");
        std::fs::create_dir_all(&out).unwrap();
        let mut compiler = Command::new("mcs");
        compiler
            .args(["-langversion:latest", "-warnaserror"])
            .arg(format!("-out:{}/{name}.exe", out.display()));
        compiler
            .arg(repo("examples/agents").join(name).with_extension("cs"))
            .arg(repo("clients/csharp/Hookwire.cs"));
        built(&mut compiler);
        std::fs::copy(
            repo("examples/agents/session.json"),
            out.join("session.json"),
        )
        .unwrap();
        out.join(name).with_extension("exe")
    });
    let mut command = Command::new("mono");
    command.arg(program);
    Some(command)
}

fn go(_name: &str) -> Option<Command> {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    if !is_there("go") {
        return None;
    }
    let program = COMPILED.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loop.go");
        let mut compiler = Command::new("go");
        compiler
            .current_dir(repo("examples/agents"))
            .arg("build")
            .arg("-o")
            .arg(&out)
            .arg(".");
        built(&mut compiler);
        out
    });
    Some(Command::new(program))
}

fn built(compiler: &mut Command) {
    let output = compiler.output().unwrap();
    assert!(
        output.status.success(),
        "{compiler:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs a loop in a directory of its own: its exit code is not judged here.
fn run(mut command: Command, hooks: &Path, env: &[(&str, &Path)]) -> (Run, Option<i32>) {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/agents/hooks");
    command
        .args(["--isolated", "--hooks", own, "--hooks"])
        .arg(hooks);
    to_its_end(command, tempfile::tempdir().unwrap(), env)
}

/// One moment and what came of it, in a line.
fn moment(event: &Value, verdict: &Value) -> String {
    let text = |pointer: &str| match event.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => "-".into(),
        Some(other) => other.to_string(),
    };
    let mut line = format!("{} {} {}", text("/run"), text("/step"), text("/event"));
    for pointer in ["/tool/callId", "/model/name", "/path"] {
        if event.pointer(pointer).is_some() {
            line += &format!(" {}", text(pointer));
        }
    }
    if verdict.get("decidedBy").is_some() {
        line += &format!(": {}", brief(verdict));
    }
    for member in [
        "subject",
        "stop",
        "userMessages",
        "additionalContext",
        "context",
        "retry",
    ] {
        if let Some(value) = verdict.get(member) {
            line += &format!(" | {member} {value}");
        }
    }
    line
}

/// What an event of each kind says beside its name, session and agent, as the wire has it.
const SAYS: [(&str, &[&str]); 20] = [
    ("UserPromptSubmit", &["/prompt"]),
    ("RunStart", &["/prompt", "/run"]),
    (
        "RunEnd",
        &[
            "/result",
            "/run",
            "/usage/inputTokens",
            "/usage/outputTokens",
        ],
    ),
    ("RunError", &["/error", "/run"]),
    ("StepStart", &["/step"]),
    ("StepEnd", &["/step", "/lastMessage"]),
    ("PreModelCall", &["/model/name", "/model/request/messages"]),
    (
        "PostModelCall",
        &[
            "/model/request",
            "/model/response",
            "/model/usage/inputTokens",
            "/model/usage/outputTokens",
            "/model/finishReason",
        ],
    ),
    (
        "ModelCallError",
        &["/model/name", "/model/error/status", "/model/attempt"],
    ),
    ("PreToolUse", &["/tool/name", "/tool/callId", "/tool/input"]),
    (
        "PostToolUse",
        &[
            "/tool/callId",
            "/tool/input",
            "/tool/output",
            "/tool/durationMs",
        ],
    ),
    (
        "PostToolUseFailure",
        &[
            "/tool/callId",
            "/tool/input",
            "/tool/error",
            "/tool/durationMs",
        ],
    ),
    ("PermissionRequest", &["/tool/callId", "/tool/input"]),
    ("PermissionDenied", &["/tool/callId", "/reason"]),
    (
        "SubagentStart",
        &["/prompt", "/run", "/parentRun", "/agent/parent"],
    ),
    (
        "SubagentStop",
        &[
            "/lastMessage",
            "/stopActive",
            "/run",
            "/parentRun",
            "/agent/parent",
        ],
    ),
    ("PreCompact", &["/compaction", "/messages", "/budget"]),
    ("PostCompact", &["/removedCount", "/summary"]),
    ("Checkpoint", &["/path"]),
    ("Stop", &["/lastMessage", "/stopActive"]),
];

#[test]
fn loops_tell_of_every_moment_and_obey() {
    let expected = std::fs::read_to_string(repo("tests/data/agents/session.txt")).unwrap();
    let (expected, said) = expected.split_once("\n\n").unwrap();
    for (language, command) in LOOPS {
        let Some(command) = command("loop") else {
            continue;
        };
        let wire = tempfile::tempdir().unwrap();
        let wire = wire.path().join("wire");
        let (tee, judge) = (
            repo("tests/data/agents/hookwire"),
            Path::new(env!("CARGO_BIN_EXE_hookwire-host")),
        );
        let env = [
            ("HOOKWIRE", &*tee),
            ("JUDGE", judge),
            ("WIRE", &*wire),
            ("PATIENCE", Path::new("20")),
        ];
        let (run, code) = run(command, no_hooks(), &env);
        assert_eq!(
            (code, &*run.stderr),
            (Some(0), ""),
            "{language}: {}",
            run.stdout
        );
        let messages = |of: &str, member: &str, mark: &str| -> Vec<Value> {
            let text = std::fs::read_to_string(wire.with_extension(of)).unwrap();
            let said = text
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap()[member].take());
            said.filter(|it| it.get(mark).is_some()).collect()
        };
        let (events, verdicts) = (
            messages("requests", "params", "event"),
            messages("replies", "result", "decision"),
        );
        let moments: Vec<_> = events
            .iter()
            .zip(&verdicts)
            .map(|(event, verdict)| moment(event, verdict))
            .collect();
        assert_eq!(moments.join("\n"), expected, "{language}");
        assert_eq!(run.stdout, said, "{language}");

        // The first block of the table is the canonical list.
        let canonical: BTreeSet<&str> = EVENTS
            .iter()
            .map(|spec| spec.name)
            .take_while(|name| *name != "Setup")
            .collect();
        assert_eq!(
            events
                .iter()
                .map(|event| event["event"].as_str().unwrap())
                .collect::<BTreeSet<_>>(),
            canonical
        );
        for event in &events {
            let says = SAYS
                .iter()
                .filter(|(name, _)| event["event"] == *name)
                .flat_map(|(_, says)| *says);
            for pointer in says.chain(&[
                "/session",
                "/agent/name",
                "/cwd",
                "/metadata",
                "/deadlineMs",
            ]) {
                assert!(
                    event.pointer(pointer).is_some_and(|it| !it.is_null()),
                    "{language}: no {pointer} in {event}"
                );
            }
        }

        let read = |name: &str| std::fs::read_to_string(run.dir.path().join(name)).ok();
        let [draft, env, release] = ["draft.md", ".env", "release.md"].map(read);
        assert_eq!(
            (draft, env, release.as_deref()),
            (None, None, Some("Version 2 is out.\n")),
            "{language}"
        );
        let checkpoint = |agent: &str| -> Value {
            serde_json::from_str(&read(&format!("checkpoint-{agent}.json")).unwrap()).unwrap()
        };
        let coder = checkpoint("coder");
        assert_eq!(
            (&coder["run"], &coder["metadata"]["team"]),
            (&"r1".into(), &"docs".into()),
            "{language}"
        );
        let contents: Vec<_> = coder["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["content"])
            .collect();
        assert_eq!(
            contents,
            [
                "Asked for a release note; release.md says that version 2 is out; draft.md is deleted.",
                "",
                "It says that version 2 is out.",
                "Done.",
                "Say what the file says.",
                "release.md says that version 2 is out."
            ],
            "{language}"
        );
        assert_eq!(checkpoint("reader")["run"], "r1.t7", "{language}");
    }
}

/// A hook that ends the host, in the middle of the session. It stays: a host takes a moment to
/// stop, in which it could answer.
fn fatal(signal: &str) -> tempfile::TempDir {
    let command = format!("kill -{signal} $PPID; sleep 3");
    let hook =
        format!("{{ name: fatal, on: PreToolUse, if: Write(draft.md), command: '{command}' }}");
    hooks(&[(
        "hooks.yaml",
        &format!("defaults: {{ timeout: 5s, fail: closed }}\nhooks: [{hook}]"),
    )])
}

/// The crate's client replaces no host.
const LEFT_ALONE: &str = "\
> Write the release note.
coder: Read: There is no release.md yet.
coder: Write: refused: hookwire gave no verdict
coder: Write: refused: hookwire gave no verdict
coder: Write: refused: hookwire gave no verdict
refused: hookwire gave no verdict
> Now translate it.
refused: hookwire gave no verdict
> Sign it. My password is hunter2.
refused: hookwire gave no verdict
> Publish it.
refused: hookwire gave no verdict
";

#[test]
fn loops_do_nothing_unjudged_when_the_host_ends_and_say_so() {
    for (language, command) in LOOPS {
        for (signal, patience) in [("KILL", "20"), ("STOP", "5")] {
            let Some(command) = command("loop") else {
                continue;
            };
            let (run, code) = run(
                command,
                fatal(signal).path(),
                &[("PATIENCE", Path::new(patience))],
            );
            let Run { stdout, stderr, .. } = &run;
            assert_eq!(code, Some(1), "{language}: {stdout}{stderr}");
            assert!(
                stderr.contains("hookwire gave no verdict"),
                "{language}: {stderr}"
            );
            assert!(
                !run.dir.path().join("draft.md").exists(),
                "{language}, {signal}: {stdout}"
            );
            if language != "Rust" {
                // Another host judges what comes after.
                let said: Vec<_> = stdout.lines().skip(2).take(3).collect();
                assert!(
                    said[0].starts_with("coder: Write: refused: hookwire gave no verdict: "),
                    "{language}: {stdout}"
                );
                let judged = [
                    "coder: Write: written",
                    "coder: Write: refused: Agents don't write .env.",
                ];
                assert_eq!(said[1..], judged, "{language}: {stdout}");
            } else if signal == "KILL" {
                assert_eq!(stdout, LEFT_ALONE);
            }
        }
    }
}

#[test]
fn loops_take_a_missing_binary_for_a_dead_host() {
    for (language, command) in LOOPS {
        let Some(command) = command("loop") else {
            continue;
        };
        let missing = Path::new("/nonexistent/hookwire");
        let (run, code) = run(command, no_hooks(), &[("HOOKWIRE", missing)]);
        assert_eq!(code, Some(1), "{language}: {}", run.stderr);
        let no_host = [
            "refused: hookwire gave no verdict: no host: ",
            "refused: hookwire did not start: ",
        ];
        assert!(
            no_host.iter().any(|it| run.stdout.starts_with(it)),
            "{language}: {}",
            run.stdout
        );
    }
}

const SMALL: &str = "\
running: Read release.md
running: Write draft.md
running: Write release.md
running: Delete draft.md
running: Delete release.md
running: Read release.md
It says that version 2 is out.
";

#[test]
fn small_agents_ask_before_they_act_and_obey() {
    for (language, command) in &LOOPS[..2] {
        for (prompt, code, stdout, stderr) in [
            ("Write the release note.", 0, SMALL, ""),
            (
                "My password is x.",
                1,
                "",
                "refused: Tell nobody your password.\n",
            ),
        ] {
            let Some(mut command) = command("small") else {
                continue;
            };
            let dir = tempfile::tempdir().unwrap();
            command
                .arg(repo("examples/agents/hooks"))
                .arg(prompt)
                .env("XDG_CONFIG_HOME", dir.path());
            let (run, ended) = to_its_end(command, dir, &[("NO_COLOR", "1")]);
            assert_eq!(
                (ended, &*run.stdout, &*run.stderr),
                (Some(code), stdout, stderr),
                "{language}"
            );
            let written = run.dir.path().join(".env");
            assert!(!written.exists(), "{language}: a hook denies it");
        }
    }
}
