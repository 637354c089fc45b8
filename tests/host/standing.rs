//! The host stands, whatever it is sent and whatever becomes of its disk: other requests go on,
//! gates find a place, replies are flushed, and what is acknowledged is kept.

use crate::support::models::{ModelServer, Say};
use crate::support::*;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Requests in one write, so that the reader has them all at once; they are numbered from 1.
fn pipelined(requests: &[(&str, Value)]) -> Vec<u8> {
    let line = |(n, (method, params)): (usize, &(&str, Value))| {
        format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": n + 1, "method": method, "params": params})
        )
    };
    requests
        .iter()
        .enumerate()
        .map(line)
        .collect::<String>()
        .into_bytes()
}

/// The ids of the next messages, in the order of the wire.
fn ids(host: &mut TestHost, n: usize) -> Vec<Value> {
    (0..n).map(|_| host.receive()["id"].take()).collect()
}

/// A host in a shell, behind a line that limits what it may use.
fn limited(limits: &str, hooks: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &format!(r#"{limits}; exec "$0" "$@""#)])
        .arg(env!("CARGO_BIN_EXE_hookwire-host"));
    command
        .args(["serve", "--isolated", "--no-share", "--hooks"])
        .arg(hooks)
        .env_remove("HOOKWIRE_LOG");
    command
}

// ---------------------------------------------------------------------- content that is slow to
// judge

#[test]
fn what_is_slow_to_judge_keeps_no_other_request_waiting() {
    let many = "metadata.l.all(a, metadata.l.all(b, metadata.l.all(c, a + b + c >= 0)))";
    let rules: Vec<String> = (0..300)
        .map(|n| format!("Bash(tool-{n} --force*)"))
        .collect();
    let commands: String = (0..2000)
        .map(|n| format!("$X --a{n} | tool-{n} -x y; "))
        .collect();
    let list: Vec<u32> = (0..200).collect();
    let write = |content: String| json!({"event": "PreToolUse", "tool": {"name": "Write", "input": {"content": content}}});
    let small = || json!({"event": "PreToolUse", "tool": {"name": "T", "input": {}}, "metadata": {"l": list}});
    // More than one, because a text of that length is long on its way, too.
    let patterns: Vec<String> = (0..40).map(|n| format!("(a|b|ab)*c(x|y)+z{n}")).collect();
    let pattern = json!({"pattern-guard": {"deny": patterns}});
    for (what, hook, event) in [
        (
            "a rule over a long text",
            json!({"if": rules, "deny": "no"}),
            bash(&commands),
        ),
        ("`when`", json!({"when": many, "deny": "no"}), small()),
        (
            "`by`",
            json!({"guard": {"rate-limit": {"max": 1, "by": format!("{many} ? 'a' : 'b'")}}}),
            small(),
        ),
        (
            "a guard over long content",
            json!({"guard": pattern}),
            write("ab".repeat(1_000_000)),
        ),
    ] {
        let mut hook = hook;
        (hook["name"], hook["on"]) = ("h".into(), "PreToolUse".into());
        let dir = hooks(&[("hooks.json", &definitions(&[hook]))]);
        let mut host = TestHost::serve(dir.path());
        host.request("hooks/list", json!({}));
        host.write(&pipelined(&[
            ("hooks/dispatch", event),
            ("hooks/list", json!({})),
        ]));
        assert_eq!(ids(&mut host, 2), [2, 1], "{what}");
    }
}

#[test]
fn definitions_are_compiled_beside_the_reader_in_the_order_they_are_read() {
    let rule = |name: &str, n: usize| json!({"name": name, "on": "PreToolUse", "if": format!("Bash(git push --force{n}*)"), "deny": name});
    let many = |name: &str| json!({"hooks": (0..200).map(|n| rule(name, n)).collect::<Vec<_>>()});
    let hook = |deny: &str| json!({"hooks": [{"name": "new", "on": "PreToolUse", "matcher": "Bash", "deny": deny}]});
    let dir = hooks(&[("hooks.json", &many("file").to_string())]);
    let mut host = TestHost::serve(dir.path());
    fs::write(dir.path().join("hooks.json"), json!({"hooks": (0..200).map(|n| rule("edited", n)).chain([json!({"name": "file", "on": "PreToolUse", "if": "Bash(deploy)", "deny": "file"})]).collect::<Vec<_>>()}).to_string()).unwrap();
    host.write(&pipelined(&[
        ("hooks/register", many("slow")),
        ("hooks/register", hook("first")),
        ("hooks/dispatch", bash("ls")),
        ("hooks/register", hook("second")),
        ("hooks/dispatch", bash("ls")),
        ("hooks/unregister", json!({"names": ["new"]})),
        ("hooks/dispatch", bash("ls")),
        ("hooks/reload", json!({})),
        ("hooks/dispatch", bash("deploy")),
        ("state/set", json!({"key": "k", "value": 1})),
    ]));
    let replies: Vec<Value> = (0..10).map(|_| host.receive()).collect();
    assert_eq!(
        replies[0]["id"], 10,
        "what has nothing to do with it doesn't wait: {}",
        replies[0]
    );
    let verdict = |id: u32| brief(&replies.iter().find(|it| it["id"] == id).unwrap()["result"]);
    let expected = [
        "deny by new: first",
        "deny by new: second",
        "allow",
        "deny by file: file",
    ];
    assert_eq!([3, 5, 7, 9].map(verdict), expected);
}

#[test]
fn a_registration_that_is_cancelled_while_it_waits_is_not_made() {
    let rule = |n: usize| json!({"name": format!("rule-{n}"), "on": "PreToolUse", "if": format!("Bash(git push --force{n}*)"), "deny": "no"});
    let many = json!({"hooks": (0..200).map(rule).collect::<Vec<_>>()});
    let others = json!({"hooks": (0..5).map(|n| json!({"name": format!("new-{n}"), "deny": "no"})).collect::<Vec<_>>()});
    let mut host = TestHost::serve(no_hooks());
    let mut requests = pipelined(&[("hooks/register", many), ("hooks/register", others)]);
    requests
        .extend(b"{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":2}}\n");
    host.write(&requests);
    let mut replies = [host.receive(), host.receive()];
    replies.sort_by_key(|it| it["id"].as_u64());
    assert_eq!(replies[1]["error"]["code"], -32800, "{}", replies[1]);
    assert_eq!(
        host.request("hooks/list", json!({}))["hooks"]
            .as_array()
            .unwrap()
            .len(),
        200
    );
}

/// Every look at a path waits for ever, as on a network file system whose server is gone.
#[test]
fn a_disk_that_hangs_keeps_no_other_request_waiting() {
    let (_, dir) = TestHost::with(
        "
hooks:
  - { name: deny, on: PreToolUse, if: Write(secrets/**), deny: the rule says no }
  - { name: closed, on: PreToolUse, if: Write(secrets/**), fail: closed, deny: the rule says no }
  - { name: allow, on: PreToolUse, if: Write(src/**), allow: fine }
  - { name: other, on: PreToolUse, if: Read(**), deny: another tool }",
    );
    let mut host = TestHost::start(serve(dir.path()).env("HOOKWIRE_FAIL", "disk=1.."));
    let write = json!({"event": "PreToolUse", "tool": {"name": "Write", "input": {"file_path": "src/a"}}, "deadlineMs": 8000});
    let mut requests = pipelined(&[
        ("hooks/dispatch", write.clone()),
        ("hooks/dispatch", write),
        ("hooks/dispatch", bash("ls")),
        ("hooks/list", json!({})),
    ]);
    requests
        .extend(b"{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}\n");
    host.write(&requests);
    let mut first = ids(&mut host, 3);
    first.sort_by_key(|id| id.as_u64());
    assert_eq!(
        first,
        [1, 3, 4],
        "the others, and the one that was cancelled"
    );
    let verdict = host.receive()["result"].take();
    assert_eq!(verdict["decision"], "deny", "{verdict}");
    let doubts = verdict["outcomes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| [&it["hook"], &it["opaque"]].map(|it| it.as_str()));
    let doubt = |rule: &str| {
        format!("can't tell whether `Write({rule})` holds: reading the call took too long")
    };
    let (secrets, src) = (doubt("secrets/**"), doubt("src/**"));
    let expected = [("deny", &secrets), ("closed", &secrets), ("allow", &src)];
    assert_eq!(
        doubts.collect::<Vec<_>>(),
        expected.map(|(hook, doubt)| [Some(hook), Some(&**doubt)])
    );
}

// ---------------------------------------------------------------------- places for gates

#[test]
fn hooks_that_nobody_waits_for_leave_places_to_gates() {
    for (what, slow) in [("async", "async: true"), ("after the act", "timeout: 100s")] {
        let dir = hooks(&[(
            "hooks.yaml",
            &format!(
                "
hooks:
  - {{ name: slow, on: PostToolUse, {slow}, command: exec sleep 1000 }}
  - {{ name: guard, on: PreToolUse, command: 'echo no >&2; exit 2', timeout: 20s }}"
            ),
        )]);
        // A fifth of three quarters of the files may be children: 15.
        let mut host = TestHost::start(&mut limited("ulimit -n 100", dir.path()));
        let after = json!({"event": "PostToolUse", "tool": {"name": "Bash", "input": {}}});
        for _ in 0..20 {
            host.ask("hooks/dispatch", after.clone());
        }
        assert_eq!(brief(&host.bash("git push")), "deny by guard: no", "{what}");
        host.may_leave_unread = true;
    }
}

#[test]
fn a_slow_function_leaves_places_to_its_neighbours() {
    if !is_there("python3") {
        return;
    }
    let python = "
import asyncio
async def slow(event): await asyncio.sleep(1000)
async def guard(event): return {'decision': 'deny', 'reason': 'no'}
";
    let (mut host, _dir) = {
        let yaml = "
hooks:
  - { name: slow, on: PostToolUse, callable: { python: 'm:slow' }, timeout: 100s }
  - { name: guard, on: PreToolUse, callable: { python: 'm:guard' }, timeout: 30s }";
        let dir = hooks(&[("hooks.yaml", yaml), ("m.py", python)]);
        (TestHost::serve(dir.path()), dir)
    };
    for _ in 0..200 {
        host.ask(
            "hooks/dispatch",
            json!({"event": "PostToolUse", "tool": {"name": "Bash", "input": {}}}),
        );
    }
    assert_eq!(brief(&host.bash("git push")), "deny by guard: no");
    host.may_leave_unread = true;
}

// ---------------------------------------------------------------------- floods

/// Requests to set some large values, which `state/list` gives.
fn large_values(n: usize) -> Vec<(&'static str, Value)> {
    let value = "x".repeat(250_000);
    (0..n)
        .map(|n| ("state/set", json!({"key": n.to_string(), "value": value})))
        .collect()
}

/// Whether no thread of a process has anything to do.
#[cfg(target_os = "linux")]
fn is_asleep(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return true;
    };
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_none_or(|(_, rest)| rest.starts_with(['S', 'Z']))
    })
}

/// The client reads when the host has nothing more to do than to wait for it.
#[cfg(target_os = "linux")]
#[test]
fn short_requests_with_long_replies_are_answered_to_the_last() {
    // The lists are asked for in one read, and are 100 MB for a pipe of 64 KiB.
    let mut requests = large_values(10);
    requests.extend(vec![("state/list", json!({"prefix": ""})); 40]);
    let input = tempfile::NamedTempFile::new().unwrap();
    fs::write(input.path(), pipelined(&requests)).unwrap();
    let mut child = serve(no_hooks())
        .stdin(input.reopen().unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut replies = BufReader::new(child.stdout.take().unwrap());
    let (mut n, mut line) = (0, Vec::new());
    while replies.read_until(b'\n', &mut line).unwrap() > 0 {
        assert!(line.ends_with(b"}\n") && line.len() < 3_000_000);
        line.clear();
        n += 1;
        if n == 10 {
            while !is_asleep(child.id()) {
                std::thread::yield_now();
            }
        }
    }
    assert_eq!((n, child.wait().unwrap().code()), (requests.len(), Some(0)));
}

#[test]
fn the_replies_of_a_batch_are_bounded() {
    let mut host = TestHost::serve(no_hooks());
    host.write(&pipelined(&large_values(10)));
    ids(&mut host, 10);
    let request = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "state/list", "params": {"prefix": ""}});
    host.send(&(0..50).map(request).collect());
    let replies = host.receive();
    let replies = replies.as_array().unwrap();
    let refused: Vec<_> = replies
        .iter()
        .filter_map(|reply| reply["error"]["message"].as_str())
        .collect();
    assert_eq!((replies.len(), refused.len()), (50, 43));
    assert!(
        refused
            .iter()
            .all(|it| it.starts_with("overloaded: the replies of this batch")),
        "{refused:?}"
    );
}

// ---------------------------------------------------------------------- files

fn audited(file: &str) -> String {
    format!(
        "  - {{ name: {file}, on: PreToolUse, fail: closed, timeout: 60s, guard: {{ audit-log: {{ file: {file} }} }} }}\n"
    )
}

#[test]
fn a_pipe_in_place_of_an_audit_log_is_an_error_and_keeps_no_thread() {
    let dir = hooks(&[("hooks.yaml", &format!("hooks:\n{}", audited("pipe")))]);
    assert!(
        Command::new("mkfifo")
            .arg(dir.path().join("pipe"))
            .status()
            .unwrap()
            .success()
    );
    let reads = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(dir.path().join("pipe"))
        .unwrap();
    for reader in [Some(reads), None] {
        let mut host = TestHost::serve(dir.path());
        let verdict = host.bash("ls");
        assert_eq!(verdict["decision"], "deny", "{reader:?}");
        assert!(error(&verdict).contains("audit log"), "{verdict}");
    }
}

#[test]
fn a_line_that_could_not_be_written_whole_spoils_no_other() {
    let dir = hooks(&[("hooks.yaml", &format!("hooks:\n{}", audited("a.jsonl")))]);
    // Blocks of 512 bytes; a record has some 250.
    let mut host = TestHost::start(&mut limited("ulimit -S -f 2", dir.path()));
    let failed =
        (0..10).find_map(|_| Some(host.bash("ls")).filter(|verdict| verdict["decision"] == "deny"));
    assert!(error(&failed.expect("the disk is full")).contains("File too large"));
    let pid = rustix::process::Pid::from_raw(host.pid().cast_signed());
    let unlimited = rustix::process::Rlimit {
        current: None,
        maximum: None,
    };
    rustix::process::prlimit(pid, rustix::process::Resource::Fsize, unlimited).unwrap();
    let verdict = host.bash("ls");
    assert_eq!(verdict["decision"], "allow", "{verdict}");
    let log = fs::read_to_string(dir.path().join("a.jsonl")).unwrap();
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).expect(&log);
    assert_eq!(last["eventId"], verdict["eventId"]);
}

#[test]
fn a_state_file_beyond_the_limit_is_an_error_at_the_start() {
    let dir = hooks(&[("hooks.yaml", "hooks: []")]);
    let mut command = limited("ulimit -S -f 1", dir.path());
    let output = command
        .arg("--state-file")
        .arg(dir.path().join("state.db"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code().is_some() && said.contains("open the state file"),
        "{}: {said}",
        output.status
    );
}

#[test]
fn a_record_that_the_disk_does_not_have_is_not_acknowledged() {
    let dir = hooks(&[("hooks.yaml", &format!("hooks:\n{}", audited("a.jsonl")))]);
    let mut host = TestHost::start(serve(dir.path()).env("HOOKWIRE_FAIL", "sync=3..3"));
    let decisions: Vec<_> = (0..4).map(|_| host.bash("ls")["decision"].take()).collect();
    assert_eq!(decisions, ["allow", "allow", "deny", "allow"]);
    // Records that come at once go together, and none is lost.
    let ids: Vec<_> = (0..200)
        .map(|_| host.ask("hooks/dispatch", bash("ls")))
        .collect();
    assert!(
        ids.into_iter()
            .all(|id| host.reply(id)["result"]["decision"] == "allow")
    );
    let log = fs::read_to_string(dir.path().join("a.jsonl")).unwrap();
    assert!(
        log.lines()
            .all(|line| serde_json::from_str::<Value>(line).is_ok())
    );
    assert_eq!(log.lines().count(), 204);
}

#[test]
fn a_state_file_that_is_removed_under_the_host_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("state");
    let start = || TestHost::start(serve(no_hooks()).arg("--state-file").arg(&file));
    let mut host = start();
    let set = |host: &mut TestHost, key: &str| {
        host.request("state/set", json!({"key": key, "value": key}))
    };
    set(&mut host, "before");
    fs::remove_file(&file).unwrap();
    set(&mut host, "after");
    host.kill();
    host.wait();
    let mut host = start();
    for key in ["before", "after"] {
        assert_eq!(host.request("state/get", json!({"key": key}))["value"], key);
    }
}

// ---------------------------------------------------------------------- processes

/// The processes whose words end so.
fn running(words: &str) -> Vec<u32> {
    let pids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let has_words = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line)
            .replace('\0', " ")
            .trim_end()
            .ends_with(words)
            && is_alive(*pid)
    };
    pids.filter(has_words).collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')')
        .next()?
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

#[cfg(target_os = "linux")]
#[test]
fn what_hides_from_its_event_ends_with_it() {
    let words = |n: u32| format!("sleep 3{}{n}", std::process::id());
    let (ends, stays) = (words(1), words(2));
    let (mut host, _dir) = TestHost::with(&format!(
        "
defaults: {{ fail: open, timeout: 100s }}
hooks:
  - {{ name: ends, on: PreToolUse, command: '(setsid env -i {ends} >/dev/null 2>&1 &)' }}
  - {{ name: stays, on: PostToolUse, command: '(setsid env -i {stays} >/dev/null 2>&1 &); sleep 1000' }}"
    ));
    for _ in 0..20 {
        assert_eq!(host.bash("ls")["decision"], "allow");
    }
    eventually("all are gone with their events", || {
        running(&ends).is_empty().then_some(())
    });
    host.ask(
        "hooks/dispatch",
        json!({"event": "PostToolUse", "tool": {"name": "Bash", "input": {}}}),
    );
    eventually("it is there", || {
        (!running(&stays).is_empty()).then_some(())
    });
    host.bash("ls");
    assert_eq!(running(&stays).len(), 1, "its own event goes on");
    host.rest();
    host.wait();
    eventually("it is gone with the host", || {
        running(&stays).is_empty().then_some(())
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_reaper_that_is_killed_is_started_again() {
    let (mut host, _dir) = TestHost::with(
        "hooks: [{ name: h, on: PreToolUse, fail: closed, timeout: 100s, command: 'true' }]",
    );
    let mut killed = Vec::new();
    for n in 0..3 {
        let reaper = eventually("there is one", || {
            host.bash("ls");
            let is_new = |pid: &u32| parent(*pid) == Some(host.pid()) && !killed.contains(pid);
            running(" reaper").into_iter().find(is_new)
        });
        killed.push(reaper);
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(reaper.cast_signed()).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap_or_else(|error| panic!("{n}: {error}"));
    }
}

// ---------------------------------------------------------------------- memory

/// What a process holds, in MiB.
#[cfg(target_os = "linux")]
fn resident(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim()
        .trim_end_matches(" kB")
        .parse::<usize>()
        .unwrap()
        / 1024
}

/// Scripts, rules, sessions and values come and go, and the definitions with them. `cargo bench --
/// soak` does it for longer.
#[cfg(all(target_os = "linux", feature = "script"))]
#[test]
fn memory_is_bounded_under_mixed_load_with_reloads_and_given_back() {
    let dir = hooks(&[]);
    let define = |round: usize, scripts: usize| {
        let script = |n: usize| json!({"name": format!("s{n}"), "on": "PreToolUse", "matcher": "Script", "script": format!("return {{ reason: '{round} {n}' }}")});
        let mut all: Vec<Value> = (0..scripts).map(script).collect();
        all.push(json!({"name": "push", "on": "PreToolUse", "if": format!("Bash(git push* {round})"), "deny": "no"}));
        all.push(json!({"name": "once", "on": "PreToolUse", "once": true, "deny": "no", "matcher": "Once"}));
        fs::write(dir.path().join("hooks.json"), definitions(&all)).unwrap();
    };
    define(0, 30);
    let (log, stderr) = std::io::pipe().unwrap();
    let mut host = TestHost::start(
        serve(dir.path())
            .env("HOOKWIRE_LOG", "debug")
            .stderr(stderr),
    );
    let (told, gave_back) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(log).lines().map_while(Result::ok);
        lines
            .filter(|it| it.contains("gave their memory back") && it.contains("left=0"))
            .try_for_each(|_| told.send(()))
    });
    host.request("hooks/list", json!({}));
    let at_first = resident(host.pid());
    let mut sizes = Vec::new();
    for round in 1..=3 {
        define(round, 30);
        host.request("hooks/reload", json!({}));
        let mut ids = Vec::new();
        for n in 0..12 {
            let session = format!("{round}-{n}");
            for tool in ["Script", "Bash", "Once"] {
                let input = json!({"command": format!("git push {session}")});
                let event = json!({"event": "PreToolUse", "session": session, "tool": {"name": tool, "input": input}});
                ids.push(host.ask("hooks/dispatch", event));
            }
            ids.push(host.ask(
                "state/set",
                json!({"session": session, "key": "k", "value": "v".repeat(100)}),
            ));
        }
        ids.into_iter().for_each(|id| drop(host.reply(id)));
        sizes.push(resident(host.pid()));
    }
    gave_back.try_iter().for_each(drop);
    define(4, 0);
    host.request("hooks/reload", json!({}));
    gave_back.recv().unwrap();
    let at_last = resident(host.pid());
    println!("MiB at first: {at_first}, after each round: {sizes:?}, without scripts: {at_last}");
    // Thirty scripts on each of eight threads took 170 to 210 MiB, and kept them.
    assert!(sizes.iter().all(|size| *size < 150), "{sizes:?}");
    let grown = |size: usize| size.saturating_sub(at_first);
    assert!(
        grown(at_last) < grown(sizes[2]) / 2,
        "{at_first} {sizes:?} {at_last}"
    );
}

// ---------------------------------------------------------------------- failures

/// hookwire, in a mount namespace of its own that has this directory in place of `/etc`.
fn with_etc(etc: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args([
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        "mount --bind \"$1\" /etc && shift && exec \"$@\"",
        "sh",
    ]);
    command
        .arg(etc)
        .arg(hookwire().get_program())
        .env_remove("HOOKWIRE_LOG");
    command
}

/// A host with these hooks in one layer, in front of a model server that refuses everything.
fn in_layer(layer: &str, all: &[Value], models: &ModelServer) -> (TestHost, tempfile::TempDir) {
    let file = match layer {
        "managed" => "etc/hookwire/hooks.json",
        "user" => "config/hookwire/hooks.json",
        "hooks" => "hooks/hooks.json",
        "project" => "project/.hookwire/hooks.json",
        _ => "unused/hooks.json",
    };
    let dir = hooks(&[
        (file, &definitions(all)),
        ("config/unused", ""),
        ("hooks/unused", ""),
        ("project/unused", ""),
    ]);
    let mut command = if layer == "managed" {
        with_etc(&dir.path().join("etc"))
    } else {
        hookwire()
    };
    command
        .args(["serve", "--live", "--no-share", "--root"])
        .arg(dir.path().join("project"));
    command
        .arg("--hooks")
        .arg(dir.path().join("hooks"))
        .env("XDG_CONFIG_HOME", dir.path().join("config"));
    // Registered hooks reach nothing on the machine without a grant.
    command.args([
        "--allow-host",
        "127.0.0.1:9",
        "--allow-host",
        &models.address.to_string(),
    ]);
    let mut host = TestHost::start(models.serve_for(&mut command));
    if layer == "session" {
        host.request("hooks/register", json!({ "hooks": all }));
    }
    (host, dir)
}

/// Every way to fail, of every kind of handler, in every direction, at every kind of moment, from
/// every layer: printed as a table, and the direction alone decides.
#[test]
fn the_direction_of_a_failure_decides_and_nothing_else() {
    let mut kinds = vec![
        ("exit", json!({"command": "exit 1"})),
        ("killed", json!({"command": "kill -9 $$"})),
        ("missing", json!({"command": ["no-such-program"]})),
        (
            "late",
            json!({"command": "exec sleep 1000", "timeout": "40ms"}),
        ),
        ("http", json!({"http": {"url": "http://127.0.0.1:9/"}})),
        (
            "callable",
            json!({"callable": {"python": "no_such_module:f"}}),
        ),
        (
            "guard",
            json!({"guard": {"audit-log": {"file": "no/such/dir/a.jsonl"}}}),
        ),
        // Only over the wire.
        ("callback", json!({"callback": "f"})),
        ("silent", json!({"callback": "f", "timeout": "40ms"})),
    ];
    if cfg!(feature = "script") {
        kinds.push(("script", json!({"script": "throw new Error('x')"})));
    }
    if cfg!(feature = "mcp") {
        kinds.push((
            "mcp",
            json!({"mcp": {"server": {"command": ["no-such-program"]}, "tool": "t"}}),
        ));
    }
    if cfg!(feature = "models") {
        kinds.push((
            "prompt",
            json!({"prompt": {"text": "Is it well?", "model": "openai:small"}}),
        ));
        kinds.push((
            "agent",
            json!({"agent": {"task": "Is it well?", "model": "openai:small"}}),
        ));
    }
    let known: Vec<&str> = kinds
        .iter()
        .flat_map(|(_, it)| it.as_object().unwrap().keys())
        .map(|it| &**it)
        .collect();
    for kind in handler_kinds() {
        // These can't fail, but for a rewrite of what isn't there.
        let is_certain = ["allow", "deny", "ask", "rewrite"].contains(&&*kind);
        assert!(
            is_certain
                || known.contains(&&*kind)
                || !cfg!(all(feature = "script", feature = "mcp", feature = "models")),
            "{kind}"
        );
    }
    let models = ModelServer::always(Say::error(400, "no"));
    let mut table = String::from(
        "layer    failure   fail    gate          after               stop     note\n",
    );
    let mut wrong = Vec::new();
    let mut layers = vec!["user", "hooks", "project", "session"];
    match Command::new("unshare")
        .args(["--map-root-user", "--mount", "true"])
        .status()
        .is_ok_and(|it| it.success())
    {
        true => layers.insert(0, "managed"),
        false => skip("the managed layer, because there are no namespaces here"),
    }
    for layer in layers {
        let kinds = kinds
            .iter()
            .filter(|(_, it)| layer == "session" || it.get("callback").is_none());
        let mut all = Vec::new();
        for (kind, handler) in kinds.clone() {
            for fail in ["open", "closed", "ask"] {
                let mut hook = handler.clone();
                hook["name"] = format!("{kind}-{fail}").into();
                hook["on"] = json!(["PreToolUse", "PostToolUse", "Stop", "Notification"]);
                hook["when"] = format!("metadata.hook == '{kind}-{fail}'").into();
                hook["fail"] = fail.into();
                all.push(hook);
            }
        }
        let (mut host, _dir) = in_layer(layer, &all, &models);
        for (kind, _) in kinds {
            for (fail, expected) in [
                ("open", ["allow -", "allow -", "allow -", "allow -"]),
                (
                    "closed",
                    ["deny deny", "deny deny withheld", "allow -", "allow -"],
                ),
                (
                    "ask",
                    ["deny ask", "deny deny withheld", "allow -", "allow -"],
                ),
            ] {
                let cells = ["PreToolUse", "PostToolUse", "Stop", "Notification"].map(|event| {
                    let mut event =
                        json!({"event": event, "metadata": {"hook": format!("{kind}-{fail}")}});
                    if event["event"]
                        .as_str()
                        .is_some_and(|name| name.ends_with("ToolUse"))
                    {
                        event["tool"] = json!({"name": "T", "input": {}, "output": "secret"});
                    }
                    let id = host.ask("hooks/dispatch", event);
                    if *kind == "callback" {
                        let asked =
                            host.receive_where(|it| it["method"] == "hooks/invoke")["id"].take();
                        let error = json!({"code": -32603, "message": "it raised"});
                        host.send(&json!({"jsonrpc": "2.0", "id": asked, "error": error}));
                    }
                    let verdict = host.reply(id)["result"].take();
                    assert!(!error(&verdict).is_empty(), "it failed: {verdict}");
                    let said = verdict["outcomes"][0]["decision"].as_str().unwrap_or("-");
                    let withheld = if verdict.get("subject") == Some(&Value::Null) {
                        " withheld"
                    } else {
                        ""
                    };
                    format!("{} {said}{withheld}", verdict["decision"].as_str().unwrap())
                });
                let [gate, after, stop, note] = &cells;
                table +=
                    &format!("{layer:8} {kind:9} {fail:7} {gate:13} {after:19} {stop:8} {note}\n");
                if cells != expected {
                    wrong.push(format!("{layer} {kind} {fail}: {cells:?}"));
                }
            }
        }
        host.may_leave_unread = true;
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A command that runs hooks ends with their processes and its temporary directories, whichever
/// signal ends it.
#[test]
fn a_signal_leaves_no_process_and_no_directory_behind() {
    use rustix::process::Signal;
    let hook = "hooks: [{ name: slow, on: PreToolUse, timeout: 100s, command: 'sleep 1000 & echo $! > $PIDS/pid; wait' }]";
    let cases = "cases: [{ bash: ls, expect: allow }]";
    let event =
        json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "ls"}}})
            .to_string();
    for (words, stdin, signal) in [
        (
            &["explain", "--run", "--isolated", "--hooks", "guard.yaml"][..],
            &*event,
            Signal::INT,
        ),
        (
            &[
                "history",
                "replay",
                "-",
                "--isolated",
                "--hooks",
                "guard.yaml",
            ],
            &event,
            Signal::TERM,
        ),
        (&["test", "guard.test.yaml"], "", Signal::INT),
        (&["test", "guard.test.yaml", "--watch"], "", Signal::HUP),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let pids = tempfile::tempdir().unwrap();
        let temporary = dir.path().join("tmp");
        std::fs::create_dir(&temporary).unwrap();
        let definition = hook.replace("$PIDS", pids.path().to_str().unwrap());
        std::fs::write(dir.path().join("guard.yaml"), definition).unwrap();
        std::fs::write(dir.path().join("guard.test.yaml"), cases).unwrap();
        let mut command = hookwire();
        command
            .args(words)
            .current_dir(&dir)
            .env("TMPDIR", &temporary)
            .env("XDG_RUNTIME_DIR", pids.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        writeln!(pipe, "{stdin}").unwrap();
        // `replay` would read on.
        let pipe = (words[0] == "history").then_some(pipe);
        let sleep = pid_in(&pids.path().join("pid"));
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        assert_eq!(
            child.wait().unwrap().code(),
            Some(128 + signal.as_raw()),
            "{words:?}"
        );
        await_end(sleep, "the hook's process ends");
        drop(pipe);
        let left: Vec<_> = std::fs::read_dir(&temporary)
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        assert_eq!(left, [""; 0], "{words:?}");
    }
}
