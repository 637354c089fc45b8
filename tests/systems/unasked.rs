//! Calls in agents' transcripts that nobody was asked about. `tests/data/transcripts` has what
//! agents have written down of sessions that were guarded: `asked.jsonl` is what they asked.

use crate::installed::Project;
use crate::support::*;
use hookwire_base::event::Event;
use hookwire_dialects as dialects;
use regex::{Captures, Regex};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// When the sessions were, in seconds since 1970.
const RECORDED: u64 = 1_796_010_600;

/// A text with the times of the last hours, and with the project's root.
fn brought_here(text: &str, root: &Path) -> String {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    // Wrapping, because a clock may stand before that.
    let shift = (now - 7200).wrapping_sub(RECORDED);
    let text = Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
        .unwrap()
        .replace_all(text, |found: &Captures<'_>| {
            let time = humantime::parse_rfc3339(&found[0]).unwrap();
            let millis = time
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap()
                .as_millis() as u64;
            let millis = millis.wrapping_add(shift.wrapping_mul(1000));
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
            humantime::format_rfc3339_millis(time).to_string()
        });
    let text = Regex::new(r"\b(179601\d{4})(\d{3})?\b")
        .unwrap()
        .replace_all(&text, |found: &Captures<'_>| {
            let seconds: u64 = found[1].parse().unwrap();
            let rest = found.get(2).map_or("", |it| it.as_str());
            format!("{}{rest}", seconds.wrapping_add(shift))
        });
    text.replace("ROOT", root.to_str().unwrap())
}

/// Puts an agent's transcripts where it would write them.
fn place(from: &Path, to: &Path, root: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            let encoded = root.to_str().unwrap().replace('/', "%2F");
            let to = to.join(name.replace("ENCODED", &encoded));
            fs::create_dir_all(&to).unwrap();
            place(&entry.path(), &to, root);
            continue;
        }
        let text = brought_here(&fs::read_to_string(entry.path()).unwrap(), root);
        match name.strip_suffix(".sql") {
            #[cfg(feature = "history")]
            Some(database) => rusqlite::Connection::open(to.join(database))
                .unwrap()
                .execute_batch(&text)
                .unwrap(),
            _ => fs::write(to.join(name), text).unwrap(),
        }
    }
}

/// What `doctor --unasked` finds: its exit code, and what it says.
fn found(project: &Project, agent: &str) -> (i32, Value) {
    let doctor = ["doctor", agent, "--unasked", "--live", "--format", "json"];
    let output = project.run(&doctor, "");
    let said = String::from_utf8(output.stdout).unwrap();
    let said = serde_json::from_str(&said)
        .unwrap_or_else(|_| panic!("{agent}: {said}{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap(), said)
}

/// The calls of a list, each with the member that is asked for.
fn each(calls: &Value, member: &str) -> Vec<String> {
    let calls = calls.as_array().unwrap().iter();
    calls
        .map(|call| {
            let [tool, act] = ["tool", "act"].map(|it| call[it].as_str().unwrap());
            format!("{tool} {act}: {}", call[member].as_str().unwrap_or("-"))
        })
        .collect()
}

#[test]
fn calls_in_the_transcripts_of_each_agent_are_compared() {
    for entry in fs::read_dir(repo("tests/data/transcripts")).unwrap() {
        let data = entry.unwrap().path();
        // Behind a dot stands what is special.
        let name = data.file_name().unwrap().to_str().unwrap();
        let agent = name.split('.').next().unwrap();
        if agent == "opencode" && !cfg!(feature = "history") {
            continue;
        }
        let project = Project::new();
        let root = project.root().canonicalize().unwrap();
        let home = project.0.path().join("home");
        place(&data, &home, &root);
        let expected: Value = fs::read_to_string(data.join("expected.json"))
            .map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
        let (code, said) = found(&project, agent);
        let unguarded = json!({
            "unasked": each(&said["unasked"], "decision"),
            "unclear": each(&said["unclear"], "cause"),
        });
        let asked = brought_here(
            &fs::read_to_string(data.join("asked.jsonl")).unwrap(),
            &root,
        );
        for line in asked.lines() {
            let event = Event::from_json(serde_json::from_str(line).unwrap()).unwrap();
            let dialect = dialects::by_name(agent).unwrap();
            let payload = (dialect.contract.payload)(&event).to_string();
            let hook = [
                "hook",
                agent,
                "--no-host",
                "--live",
                "--event",
                "PreToolUse",
            ];
            let hook = &hook[..if agent == "copilot" { 6 } else { 4 }];
            project.run(hook, &payload);
        }
        let (code_guarded, guarded) = found(&project, agent);
        let both = json!({
            "unguarded": unguarded,
            "guarded": {
                "asked": guarded["asked"],
                "unasked": each(&guarded["unasked"], "decision"),
                "unclear": each(&guarded["unclear"], "cause"),
            },
        });
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let text = serde_json::to_string_pretty(&both).unwrap() + "\n";
            fs::write(data.join("expected.json"), text).unwrap();
        } else {
            assert_eq!(both, expected, "{name}: {said:#}\n{guarded:#}");
        }
        assert_eq!((code, code_guarded), (1, 0), "{name}");
    }
}

/// A transcript of Claude Code.
struct Session {
    path: PathBuf,
    root: PathBuf,
    lines: Vec<Value>,
}

impl Session {
    fn new(project: &Project) -> Session {
        let dir = project.0.path().join("home/.claude/projects/p");
        fs::create_dir_all(&dir).unwrap();
        Session {
            path: dir.join("s.jsonl"),
            root: project.root().canonicalize().unwrap(),
            lines: Vec::new(),
        }
    }

    /// Writes a call down that was made so many seconds ago.
    fn call(&mut self, id: &str, command: &str, seconds: u64) {
        let at = SystemTime::now() - Duration::from_secs(seconds);
        let mut line = |kind: &str, block: Value| {
            self.lines.push(json!({
                "type": kind, "sessionId": "s", "cwd": self.root,
                "timestamp": humantime::format_rfc3339_millis(at).to_string(),
                "message": { "content": [block] },
            }));
        };
        let input = json!({ "command": command });
        line(
            "assistant",
            json!({ "type": "tool_use", "id": id, "name": "Bash", "input": input }),
        );
        line(
            "user",
            json!({ "type": "tool_result", "tool_use_id": id, "content": "" }),
        );
    }

    fn write(&self) {
        let lines: Vec<String> = self.lines.iter().map(Value::to_string).collect();
        fs::write(&self.path, lines.join("\n") + "\n").unwrap();
    }
}

#[test]
fn what_hosts_answer_is_known_and_what_happens_without_them_is_found() {
    for project in Project::each() {
        let mut session = Session::new(&project);
        session.call("a", "make test", 0);
        session.write();
        assert_eq!(project.hook("make test"), "the first");
        let (code, said) = found(&project, "claude-code");
        assert_eq!((code, &said["asked"]), (0, &json!(1)), "{said:#}");
        // The host is killed. What happens just then, nobody can tell of.
        session.call("b", "make clean", 0);
        session.call("c", "git push --force", 600);
        session.call("d", "make install", 500);
        session.write();
        project.kill_host();
        let (code, said) = found(&project, "claude-code");
        assert_eq!(
            each(&said["unasked"], "decision"),
            ["Bash git push --force: deny", "Bash make install: allow"]
        );
        assert_eq!(each(&said["unclear"], "cause"), ["Bash make clean: gap"]);
        assert_eq!((code, &said["wouldBeDenied"]), (1, &json!(1)));
        let plain = project.run(&["doctor", "claude-code", "--live"], "");
        let plain = String::from_utf8(plain.stdout).unwrap();
        let line = "2 calls of the last day were never asked about, and 1 would be denied";
        assert!(plain.contains(line), "{plain}");
    }
}

#[test]
fn a_running_host_says_what_the_last_day_was_like() {
    let project = Project::new();
    let mut session = Session::new(&project);
    session.call("a", "make test", 0);
    session.call("b", "git push --force", 600);
    session.call("c", "make install", 500);
    session.write();
    assert_eq!(project.hook("make test"), "the first");
    let status = |arguments: &[&str]| {
        let output = project.run(&[&["host", "status"], arguments].concat(), "");
        String::from_utf8(output.stdout).unwrap()
    };
    let line = "last day: claude-code: 2 calls never asked, 1 would be denied: `hookwire doctor --unasked claude-code`";
    let plain = status(&[]);
    assert!(plain.contains(line), "{plain}");
    // For a minute it is what was counted first, and nothing of it was an event.
    session.call("d", "git push --force", 400);
    session.write();
    let said: Value = serde_json::from_str(&status(&["--format", "json"])).unwrap();
    let counted = json!([{ "agent": "claude-code", "calls": 2, "wouldBeDenied": 1, "asked": 1 }]);
    assert_eq!(said["unasked"], counted, "{said:#}");
    let tail = project.run(&["tail", "--no-follow", "--format", "json"], "");
    let tail = String::from_utf8(tail.stdout).unwrap();
    assert_eq!(tail.lines().count(), 1, "{tail}");
}

#[test]
fn the_cause_is_told() {
    let project = Project::new();
    let mut session = Session::new(&project);
    session.call("a", "make test", 600);
    session.write();
    let cause = |project: &Project| {
        let (code, said) = found(project, "claude-code");
        assert_eq!(code, 1, "{said:#}");
        each(&said["unasked"], "cause").remove(0)
    };
    assert_eq!(cause(&project), "Bash make test: no-entry");
    let install = project.run(&["install", "claude-code", "--live"], "");
    assert_eq!(install.status.code(), Some(0));
    assert_eq!(cause(&project), "Bash make test: before-install");
    let entry = project.root().join(".claude/settings.local.json");
    let set_age = |seconds| {
        let time = SystemTime::now() - Duration::from_secs(seconds);
        fs::File::open(&entry).unwrap().set_modified(time).unwrap();
    };
    set_age(60 * 60);
    session.call("b", "make", 0);
    session.write();
    project.hook("make");
    // `install` was here later, as far as its own record says.
    assert_eq!(cause(&project), "Bash make test: unknown");
    let text = fs::read_to_string(&entry).unwrap();
    fs::write(&entry, text.replacen('{', "{\"disableAllHooks\": true,", 1)).unwrap();
    set_age(60 * 60);
    assert_eq!(cause(&project), "Bash make test: switched-off");
}

#[test]
fn whatever_stands_in_a_transcript_is_only_read() {
    let project = Project::new();
    let mut session = Session::new(&project);
    session.call(
        "\u{1b}[2J",
        "echo '\u{1b}]0;x\u{7}' \u{202e} AKIAIOSFODNN7REALKEY",
        5,
    );
    session.call("a", &"x".repeat(100_000), 4);
    session.call("b", &"ls; ".repeat(1_800_000), 3);
    session.write();
    let dir = session.path.parent().unwrap();
    let text = fs::read_to_string(&session.path).unwrap();
    let deep = format!("{{\"type\":\"tool_use\",\"cwd\":{}", "[".repeat(100_000));
    let long = format!("{{\"tool_use\":\"{}\"}}", "y".repeat(9 << 20));
    let times = r#"{"type":"assistant","sessionId":"s","timestamp":"9999-99-99T99:99:99Z","message":{"content":[{"type":"tool_use","name":"Bash"},7]}}"#;
    fs::write(&session.path, [&deep, times, &long, &*text].join("\n")).unwrap();
    fs::write(dir.join("binary.jsonl"), b"\xff\xfetool_use\0\n\n\n").unwrap();
    std::os::unix::fs::symlink("loop.jsonl", dir.join("loop.jsonl")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", dir.join("zero.jsonl")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.join("pipe.jsonl"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let before = fs::read(&session.path).unwrap();
    let output = project.run(&["doctor", "claude-code", "--unasked", "--live"], "");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "3 calls were never asked about",
        "not judged, because it is too long",
        "1 call has no time that can be read",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let logged = String::from_utf8(output.stderr).unwrap();
    assert!(!logged.contains("takes too long"), "{logged}");
    assert!(!said.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{said:?}");
    assert!(said.lines().all(|line| line.len() < 500));
    assert_eq!(before, fs::read(&session.path).unwrap());
}
