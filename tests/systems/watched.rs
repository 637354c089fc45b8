//! Running hosts as other processes see them: each event is told once, what can't be told is said,
//! what nobody waited for has an end, and a new program takes the place of an old one.

use super::installed::{Project, event};
use super::support::{TestHost, await_end, bash, copy_program, eventually, replace};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A process that doesn't outlive its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid.cast_signed()).unwrap(),
        signal,
    )
    .unwrap();
}

/// A host of the project's that a test speaks with.
fn serve(project: &Project, args: &[&str]) -> TestHost {
    let mut host = TestHost::start(
        &mut project.command(&[&["serve", "--isolated", "--hooks", ".hookwire"], args].concat()),
    );
    host.request("hooks/list", json!({}));
    host
}

fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    // The last line may be half written.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The numbers of the events of a recording, of which none comes twice, and how many it says are
/// lost.
fn heard(recording: &[Value]) -> (Vec<u64>, u64) {
    let seqs: Vec<u64> = recording
        .iter()
        .filter_map(|it| it["seq"].as_u64())
        .collect();
    assert!(
        seqs.is_sorted_by(|a, b| a < b),
        "an event comes twice: {seqs:?}"
    );
    (
        seqs,
        recording.iter().filter_map(|it| it["lost"].as_u64()).sum(),
    )
}

#[test]
fn a_recording_has_each_event_once_or_says_that_it_is_lost() {
    const BURST: u64 = 3000;
    let project = Project::new();
    let mut host = serve(&project, &["--record", "served"]);
    host.bash("first");
    let _recorder = Process(
        project
            .command(&["tail", "--record", "kept"])
            .spawn()
            .unwrap(),
    );
    let kept = project.root().join("kept/events.jsonl");
    eventually("the recorder has begun", || {
        (!lines(&kept).is_empty()).then_some(())
    });
    let ids: Vec<u64> = (0..BURST)
        .map(|_| host.ask("hooks/dispatch", bash(&"x".repeat(500))))
        .collect();
    ids.into_iter().for_each(|id| drop(host.reply(id)));
    let all_of = |file: &Path, n_judged: u64| {
        eventually("the last event is recorded", || {
            let recording = lines(file);
            (heard(&recording).0.last() == Some(&n_judged)).then_some(recording)
        })
    };
    for file in [kept.clone(), project.root().join("served/events.jsonl")] {
        let (seqs, lost) = heard(&all_of(&file, BURST + 1));
        assert_eq!(
            seqs.len() as u64 + lost,
            BURST + 1,
            "{} lost, {} told",
            BURST + 1 - seqs.len() as u64,
            lost
        );
    }
    // The host stands still for longer than a request may take.
    signal(host.pid(), rustix::process::Signal::STOP);
    std::thread::sleep(Duration::from_millis(3500));
    signal(host.pid(), rustix::process::Signal::CONT);
    host.bash("last");
    heard(&all_of(&kept, BURST + 2));
}

#[test]
fn who_follows_hosts_goes_on_with_the_next_one_after_a_stop() {
    let project = Project::new();
    project.hook("first");
    let _recorder = Process(
        project
            .command(&["tail", "--record", "kept"])
            .spawn()
            .unwrap(),
    );
    let kept = project.root().join("kept/events.jsonl");
    let holds = |n: usize| {
        eventually("the event is recorded", || {
            (lines(&kept).len() == n).then_some(())
        })
    };
    holds(1);
    let stopped = project.run(&["host", "stop"], "");
    assert!(stopped.status.success(), "{stopped:?}");
    project.hook("of the next host");
    holds(2);
}

const AUDIT: &str = r#"
hooks:
  - { name: audit, on: PreToolUse, matcher: Bash, async: true, command: "echo the archive is full >&2; exit 3" }
  - { name: log, on: PreToolUse, matcher: Read, async: true, command: "true" }
"#;

#[test]
fn the_end_of_an_async_hook_is_told_wherever_its_event_is() {
    let project = Project::new();
    fs::write(project.root().join(".hookwire/guard.yaml"), AUDIT).unwrap();
    let mut host = serve(&project, &["--record", "served"]);
    let _recorder = Process(
        project
            .command(&["tail", "--record", "kept"])
            .spawn()
            .unwrap(),
    );
    let read = json!({"event": "PreToolUse", "session": "s", "tool": {"name": "Read", "input": {"file_path": "a"}}});
    for event in [read, bash("ls")] {
        let verdict = host.dispatch(event);
        assert_eq!(verdict["outcomes"][0]["status"], "started");
        assert_eq!(verdict["outcomes"][0].get("reason"), None);
    }
    let recent = eventually("both have ended", || {
        let recent = host.request("hooks/recent", json!({}));
        (recent["ended"].as_array()?.len() == 2).then_some(recent)
    });
    let failed = |hooks: &Value, name: &str| {
        hooks
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["hook"] == name)
            .map(|it| it["failed"].clone())
    };
    let counts = [
        failed(&recent["hooks"], "audit"),
        failed(&recent["hooks"], "log"),
    ];
    assert_eq!(counts, [Some(json!(1)), Some(json!(0))]);
    for (args, says, says_not) in [
        (
            &["tail", "--no-follow"][..],
            &[
                "  audit started, nobody waits for it",
                "  audit failed: failed to",
                "the archive is full",
                "  log ended well",
            ][..],
            &["success"][..],
        ),
        (
            &["tail", "--no-follow", "--last", "1"],
            &["  audit failed"],
            &["  log "],
        ),
        (
            &["tail", "--no-follow", "--tool", "Read"],
            &["  log ended well"],
            &["audit"],
        ),
        (
            &["explain", "--last"],
            &[
                "  audit started",
                "  audit failed: failed to",
                "the archive is full",
            ],
            &["  log ended"],
        ),
        (
            &["tail", "--no-follow", "--format", "json"],
            &["{\"ended\":{", "\"status\":\"non_blocking_error\""],
            &[],
        ),
    ] {
        let said = String::from_utf8(project.run(args, "").stdout).unwrap();
        assert!(says.iter().all(|it| said.contains(it)), "{args:?}: {said}");
        assert!(
            !says_not.iter().any(|it| said.contains(it)),
            "{args:?}: {said}"
        );
    }
    for dir in ["kept", "served"] {
        let file = project.root().join(dir).join("events.jsonl");
        let mut ends = eventually("the ends are recorded", || {
            let ends: Vec<Value> = lines(&file)
                .into_iter()
                .filter_map(|it| Some(it.get("ended")?["outcome"].clone()))
                .collect();
            (ends.len() == 2).then_some(ends)
        });
        ends.sort_by_key(|it| it["hook"].to_string());
        assert_eq!(
            [&ends[0]["status"], &ends[1]["status"]],
            ["non_blocking_error", "success"],
            "{dir}"
        );
        let replayed = project.run(
            &[
                "history",
                "replay",
                "--isolated",
                "--hooks",
                ".hookwire",
                &format!("{dir}/events.jsonl"),
            ],
            "",
        );
        assert!(
            replayed.status.success(),
            "an end is no event: {replayed:?}"
        );
    }
}

#[test]
fn an_explanation_says_that_the_definitions_are_others_than_judged() {
    let project = Project::new();
    let said = || {
        let output = project.run(&["explain", "--last"], "");
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    project.hook("git push -f");
    assert!(!said().contains("have changed since"), "{}", said());
    let none = project.run(&["explain", "--last", "0"], "");
    assert_eq!(none.status.code(), Some(2), "{none:?}");
    let guard = project.root().join(".hookwire/guard.yaml");
    replace(
        &guard,
        &fs::read_to_string(&guard)
            .unwrap()
            .replace("git push --force*", "make deploy"),
    );
    eventually("the edit is in force", || {
        said()
            .contains("the definitions have changed since")
            .then_some(())
    });
    project.kill_host();
    // Nobody has trusted what this one would read.
    project.hook_with(&[], "git push -f");
    assert!(
        said().contains("nobody has trusted these definitions"),
        "{}",
        said()
    );
}

#[test]
fn a_doctors_probe_is_no_event() {
    let project = Project::new();
    project.run(&["install", "claude-code"], "");
    project.run(&["hook", "claude-code", "--live"], &event("ls").to_string());
    let output = project.run(&["doctor", "claude-code"], "");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("a probe was denied"),
        "{output:?}"
    );
    // Whoever else asks for that tool is told of.
    let mut other = event("ls");
    other["tool_name"] = "hookwire_probe".into();
    project.run(&["hook", "claude-code", "--live"], &other.to_string());
    let output = project.run(&["tail", "--no-follow", "--format", "json"], "");
    let told: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<_> = told
        .iter()
        .map(|it| [&it["tool"], &it["params"]["payload"]["session_id"]])
        .collect();
    assert_eq!(told, [["Bash", "s"], ["hookwire_probe", "s"]]);
}

/// `hookwire hook` of another program than the built one.
fn hook(project: &Project, program: &Path) -> Command {
    project.command_of(Command::new(program), &["hook", "claude-code", "--live"])
}

fn asks(mut command: Command) {
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(event("git push -f").to_string().as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("\"deny\""),
        "{output:?}"
    );
}

#[test]
fn a_new_program_takes_the_place_of_the_old_ones_host() {
    let project = Project::new();
    let program = project.0.path().join("hookwire");
    copy_program(env!("CARGO_BIN_EXE_hookwire-host"), &program);
    asks(hook(&project, &program));
    let [old] = project.hosts()[..] else {
        panic!("{:?}", project.hosts())
    };
    // Somebody who only listens doesn't keep it.
    let watcher = Process(
        project
            .command(&["tail", "--record", "kept"])
            .spawn()
            .unwrap(),
    );
    eventually("it listens", || {
        project
            .root()
            .join("kept/events.jsonl")
            .exists()
            .then_some(())
    });
    // An upgrade: another file is at the place of the program.
    let upgrade = project.0.path().join("upgrade");
    copy_program(&program, &upgrade);
    fs::File::options()
        .append(true)
        .open(&upgrade)
        .unwrap()
        .write_all(b"\n")
        .unwrap();
    fs::rename(&upgrade, &program).unwrap();
    asks(hook(&project, &program));
    let state = project.run(&["state", "list"], "");
    assert_eq!(state.status.code(), Some(0), "{state:?}");
    let status = String::from_utf8(project.run(&["host", "status"], "").stdout).unwrap();
    assert_eq!(status.matches("  process ").count(), 1, "{status}");
    drop(watcher);
    await_end(old, "the old host");
    assert_eq!(project.hosts().len(), 1);
    // The same program is asked again, and its host stays.
    let hosts = project.hosts();
    asks(hook(&project, &program));
    assert_eq!(project.hosts(), hosts);
}

/// A host of an earlier version knows neither its arguments nor how to retire.
#[test]
fn a_host_that_is_too_old_to_be_asked_is_ended() {
    let project = Project::new();
    project.hook("ls");
    let runtime = project.0.path().join("run/hookwire");
    let is_socket = |path: &Path| path.extension().is_some_and(|it| it == "sock");
    let own = fs::read_dir(&runtime)
        .unwrap()
        .map(|it| it.unwrap().path())
        .find(|it| is_socket(it))
        .unwrap();
    project.kill_host();
    let (key, _) = own
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .split_once('-')
        .unwrap();
    let socket = runtime.join(format!("{key}-hook-000000000000.sock"));
    let mut old = Process(
        Command::new("/bin/sh")
            .args(["-c", "read nothing"])
            .arg(&socket)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let pid = old.0.id();
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        for guest in listener.incoming() {
            let mut guest = BufReader::new(guest.unwrap());
            let mut line = String::new();
            while guest.read_line(&mut line).is_ok_and(|read| read > 0) {
                let asked: Value = serde_json::from_str(&line).unwrap();
                let recent = json!({"root": "/", "pid": pid, "started": "x", "generation": 1, "hash": "", "total": 0, "records": [], "hooks": [], "tools": []});
                let reply = match asked["method"].as_str() {
                    Some("hooks/recent") => {
                        json!({"jsonrpc": "2.0", "id": asked["id"], "result": recent})
                    }
                    _ => {
                        json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "method not found"}})
                    }
                };
                guest
                    .get_mut()
                    .write_all(format!("{reply}\n").as_bytes())
                    .unwrap();
                line.clear();
            }
        }
    });
    // On a busy machine it may be too slow to say that it is one, and is left alone then.
    eventually("the old host ends", || {
        project.hook("ls");
        let ended = old.0.try_wait().unwrap();
        if ended.is_none() {
            project.kill_host();
        }
        ended
    });
    assert_eq!(project.hosts().len(), 1);
}

#[test]
fn hosts_with_other_arguments_say_so() {
    let project = Project::new();
    project.hook_with(&["--live"], "ls");
    project.hook_with(&["--live", "--isolated"], "ls");
    let refused = project.run(&["state", "list"], "");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let of = |args: &str| {
        said.lines()
            .filter(|line| line.contains(".sock: process ") && line.contains(args))
            .count()
    };
    assert!(
        said.contains("different arguments; set HOOKWIRE_SOCKET to the one that you mean"),
        "{said}"
    );
    assert_eq!(
        (of("serve --root "), of(" --isolated "), of(" --live ")),
        (2, 1, 2),
        "{said}"
    );
    let doctor = String::from_utf8(project.run(&["doctor"], "").stdout).unwrap();
    assert!(
        doctor.contains("several run, because they were started with different arguments"),
        "{doctor}"
    );
}
