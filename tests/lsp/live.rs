//! An editor beside running agents: what they judge shows there.

use crate::support::editor::{Editor, abilities};
use crate::support::*;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

const HOOKS: &str =
    "hooks:\n- { name: no-pushes, on: PreToolUse, if: Bash(git push*), deny: no pushes }\n";

/// An agent's host in a project, which is the runtime directory too.
fn agent(project: &Path, framing: Framing) -> TestHost {
    let dir = project.join("hooks");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("hooks.yaml"), HOOKS).unwrap();
    let mut command = serve(&dir);
    let mut host = TestHost::framed(
        command
            .arg("--root")
            .arg(project)
            .env("XDG_RUNTIME_DIR", project),
        framing,
    );
    host.request("hooks/list", json!({}));
    host
}

fn editor(project: tempfile::TempDir) -> Editor {
    let mut capabilities = abilities();
    capabilities["experimental"] = json!({ "hookwire": { "live": true } });
    Editor::within(project, capabilities, &[])
}

/// Waits until the editor is told this of its hosts and events.
fn await_live(editor: &mut Editor, mut hosts: Vec<u32>, events: u64) -> Value {
    hosts.sort_unstable();
    let is_it = |message: &Value| {
        let live = &message["params"];
        let pids: Vec<_> = live["hosts"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|it| it["pid"].clone())
            .collect();
        message["method"] == "hookwire/live"
            && json!(pids) == json!(hosts)
            && live["events"] == events
    };
    let told = editor.receive_where(is_it)["params"].take();
    assert_eq!(
        editor.execute("hookwire.status", json!({}))["events"],
        events
    );
    told
}

fn sockets(project: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(project.join("hookwire"))
        .into_iter()
        .flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn an_editor_hears_what_was_and_what_will_be_judged() {
    let project = tempfile::tempdir().unwrap();
    let root = project.path().to_path_buf();
    let mut first = agent(&root, Framing::Lines);
    for command in ["ls", "git push", "make"] {
        first.bash(command);
    }
    let mut editor = editor(project);
    let live = await_live(&mut editor, vec![first.pid()], 3);
    assert_eq!(
        live["hosts"][0]["root"],
        json!(root.canonicalize().unwrap())
    );
    first.bash("git push");
    await_live(&mut editor, vec![first.pid()], 4);

    // Other definitions are in force when the editor says so.
    replace(&root.join("hooks/hooks.yaml"), "hooks: []");
    assert_eq!(
        editor.execute("hookwire.reload", json!({})),
        json!({ "reloaded": 1, "summary": "1 running host loaded its definitions" })
    );
    editor.receive_where(|message| message["params"]["hosts"][0]["generation"] == 2);
    assert_eq!(brief(&first.bash("git push")), "allow");
    await_live(&mut editor, vec![first.pid()], 5);

    // A host that was killed and started again adds to what it did before.
    first.kill();
    first.wait();
    await_live(&mut editor, vec![], 5);
    let mut second = agent(&root, Framing::Lines);
    second.bash("make");
    await_live(&mut editor, vec![second.pid()], 6);

    // Several at once. An editor that doesn't read for a while is told less, and catches up.
    let mut third = agent(&root, Framing::Lines);
    await_live(&mut editor, vec![second.pid(), third.pid()], 6);
    let process = rustix::process::Pid::from_raw(editor.pid().cast_signed()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
    let large = bash(&"x".repeat(10_000));
    for _ in 0..2000 {
        third.dispatch(large.clone());
    }
    rustix::process::kill_process(process, rustix::process::Signal::CONT).unwrap();
    await_live(&mut editor, vec![second.pid(), third.pid()], 2006);
    // Meanwhile, what the killed one left was removed.
    eventually("its socket is gone", || {
        (sockets(&root).len() == 2).then_some(())
    });
}

#[test]
fn an_agent_may_be_an_editor_too() {
    let mut editor = editor(tempfile::tempdir().unwrap());
    editor.bash("ls");
    let pid = editor.pid();
    await_live(&mut editor, vec![pid], 1);
    editor.bash("ls");
    await_live(&mut editor, vec![pid], 2);
}

#[test]
fn a_terminal_finds_the_agent_and_not_the_editor() {
    let project = tempfile::tempdir().unwrap();
    let root = project.path().to_path_buf();
    let agent = agent(&root, Framing::Lines);
    let own = sockets(&root);
    let mut editor = editor(project);
    await_live(&mut editor, vec![agent.pid()], 0);
    assert_eq!(sockets(&root), own);
    for (arguments, expected) in [
        (&["state", "set", "a", "1"][..], ""),
        (&["state", "get", "a"], "1\n"),
        (
            &["approvals", "list"],
            "Nothing waits for a person; `--watch` waits for questions.\n",
        ),
    ] {
        let output = hookwire()
            .current_dir(&root)
            .args(arguments)
            .env("XDG_RUNTIME_DIR", &root)
            .output()
            .unwrap();
        let problem = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (
                String::from_utf8_lossy(&output.stdout).as_ref(),
                problem.as_ref()
            ),
            (expected, "")
        );
    }
}

#[test]
fn guests_are_told_what_is_judged() {
    let project = tempfile::tempdir().unwrap();
    let mut agent = agent(project.path(), Framing::Headers);
    let mut guest = BufReader::new(UnixStream::connect(&sockets(project.path())[0]).unwrap());
    guest.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    let mut next = |request: Option<(&str, Value)>| -> Value {
        if let Some((method, params)) = request {
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            guest
                .get_mut()
                .write_all(format!("{request}\n").as_bytes())
                .unwrap();
        }
        let mut line = String::new();
        guest.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    // Who calls itself by something else than a text has no name.
    let wanted =
        json!({"clientInfo": 7, "capabilities": {"hooks": {"notifications": ["hooks/judged"]}}});
    next(Some(("initialize", wanted)));
    // Over several lines, in another vocabulary, in a list of one.
    let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git push"}});
    let params = json!([{ "dialect": "claude-code", "payload": payload }]);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "hooks/dispatch", "params": params});
    agent.send_text(&serde_json::to_string_pretty(&request).unwrap());
    let verdict = agent.reply(1)["result"]["verdict"].take();
    let judged = next(None);
    assert_eq!(judged["method"], "hooks/judged");
    let record = &judged["params"];
    assert_eq!((&record["params"], &record["verdict"]), (&params, &verdict));
    let head = json!([
        record["seq"],
        record["event"],
        record["tool"],
        record["dialect"]
    ]);
    assert_eq!(head, json!([1, "PreToolUse", "Bash", "claude-code"]));
    assert_eq!(record.get("client"), None);
    agent.request(
        "initialize",
        json!({"clientInfo": {"name": "billing-bot"}, "capabilities": {}}),
    );
    agent.dispatch(json!({"event": "Stop"}));
    assert_eq!(next(None)["params"]["client"], "billing-bot");

    let all = next(Some(("hooks/recent", json!({}))))["result"].take();
    assert_eq!(all["records"][0], *record);
    let counts = json!([{"hook": "no-pushes", "matched": 1, "denied": 1, "asked": 0, "rewrote": 0, "failed": 0, "observed": 0}]);
    assert_eq!(
        json!([all["total"], all["hooks"], all["tools"]]),
        json!([2, counts, ["Bash"]])
    );
    for (params, expected) in [
        (json!({}), json!([1, 2])),
        (json!({"limit": 1}), json!([2])),
        (json!({"after": 1}), json!([2])),
        (json!({"event": "PreToolUse"}), json!([1])),
        (json!({"event": "NoSuch"}), json!([])),
    ] {
        let recent = next(Some(("hooks/recent", params.clone())))["result"].take();
        let seqs: Vec<_> = recent["records"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["seq"].clone())
            .collect();
        assert_eq!(json!(seqs), expected, "{params}");
    }
    let refused = next(Some(("hooks/recent", json!({"n": 1}))))["error"]["message"].take();
    assert_eq!(
        refused,
        "invalid params: `n`: unknown field `n`, expected `limit`, `event` or `after`"
    );
}

/// Whatever is on the other side of a socket.
#[test]
fn what_is_no_host_harms_nothing() {
    let project = tempfile::tempdir().unwrap();
    let root = project.path().to_path_buf();
    let mut agent = agent(&root, Framing::Lines);
    agent.bash("ls");
    // `KEY-PID.sock`: the key is the project's.
    let own = sockets(&root).pop().unwrap();
    let named = |pid: &str| {
        let name = own.file_name().unwrap().to_str().unwrap();
        own.with_file_name(format!("{}-{pid}.sock", name.rsplit_once('-').unwrap().0))
    };
    let (sender, left) = mpsc::channel();
    let reply = |id: u32, result: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string() + "\n"
    };
    let record = |seq: u64, verdict: Value| json!({"seq": seq, "at": "2020-01-01T00:00:00Z", "event": "Stop", "dialect": "native", "params": {"event": "Stop"}, "verdict": verdict});
    let recent = |records: Value| json!({"root": "/", "pid": 1, "started": "x", "generation": 1, "hash": "", "total": 0, "records": records, "hooks": [], "tools": []});
    let servers: Vec<(&str, String)> = vec![
        ("garbage", "\u{1}\u{2} nonsense\n".repeat(3)),
        ("no JSON", "{\n".into()),
        (
            "headers",
            "Content-Length: 99999999999999999999\r\n\r\n{}".into(),
        ),
        ("no reply", "{\"id\":1}\n{\"id\":2}\n".into()),
        (
            "an error",
            "{\"id\":1,\"error\":{\"code\":1,\"message\":\"x\"}}\n".into(),
        ),
        (
            "not recent",
            reply(1, json!({})) + &reply(2, json!({"records": 7})),
        ),
        (
            "deep",
            format!("{}\n", "{\"params\":".to_string() + &"[".repeat(100_000)),
        ),
        (
            "not a record",
            reply(1, json!({})) + "{\"method\":\"hooks/judged\",\"params\":{\"seq\":-1}}\n",
        ),
        (
            "too many",
            reply(1, json!({})) + &reply(2, recent(json!([record(u64::MAX, json!(3))]))) + "x\n",
        ),
        ("endless", String::new()),
    ];
    for (n, (name, says)) in servers.into_iter().enumerate() {
        let listener = UnixListener::bind(named(&format!("9999{n}"))).unwrap();
        let sender = sender.clone();
        std::thread::spawn(move || {
            let (mut guest, _) = listener.accept().unwrap();
            let endless = vec![b'{'; 1024 * 1024];
            let written = match name {
                "endless" => (0..64).try_for_each(|_| guest.write_all(&endless)),
                _ => guest.write_all(says.as_bytes()),
            };
            // An editor that has had enough hangs up.
            let end = written
                .and_then(|()| std::io::copy(&mut guest.take(1_000_000), &mut std::io::sink()));
            let _ = sender.send((name, end.is_ok()));
        });
    }
    // It takes connections and says nothing.
    let silent = UnixListener::bind(named("88888")).unwrap();
    let mut editor = editor(project);
    let gone: Vec<_> = (0..10)
        .map(|_| left.recv_timeout(PATIENCE).unwrap())
        .collect();
    assert!(
        gone.contains(&("endless", false)),
        "the line was read to its end: {gone:?}"
    );
    silent.accept().unwrap();
    agent.bash("make");
    await_live(&mut editor, vec![agent.pid()], 2);
}

/// The host tries the cases of what is saved, and the editor marks the one that passes.
#[test]
fn a_case_that_is_denied_no_more_is_marked() {
    let cases = "cases:\n- { bash: git push -f, expect: deny }\n- { bash: ls, expect: deny }\n";
    let mut editor = Editor::start(&[("a.yaml", HOOKS), ("a.test.yaml", cases)]);
    editor.open("a.test.yaml", cases);
    let uri = editor.uri("a.test.yaml");
    let marked = |message: &Value| {
        let params = &message["params"];
        params["uri"] == uri
            && params["version"] == 1
            && params["diagnostics"][0]["code"] == "not-denied"
    };
    let told = editor.receive_where(marked);
    let diagnostics = &told["params"]["diagnostics"];
    assert_eq!(diagnostics[0]["range"]["start"]["line"], 2, "{diagnostics}");
    assert_eq!(diagnostics.as_array().map(Vec::len), Some(1));
}
