//! How hooks are carried out, through the built binary: what each failure comes to in each
//! direction, what a command gets and doesn't get, what a POST may reach and carries, and that
//! secrets stay where they belong.

use crate::support::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

// -------------------------------------------------------------------------------------- services

/// A service on loopback. What it does is the path's first part.
struct Service {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    /// Lets one `/held` request go on.
    release: mpsc::Sender<()>,
}

#[derive(Clone, Debug)]
struct Request {
    path: String,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Service {
    fn start() -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (release, held) = mpsc::channel();
        let (seen, held) = (requests.clone(), Arc::new(Mutex::new(held)));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, held) = (seen.clone(), held.clone());
                // A peer that hangs up in the middle is what some cases are about.
                std::thread::spawn(move || drop(answer(stream, port, &seen, &held)));
            }
        });
        Service {
            port,
            requests,
            release,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(
    mut stream: TcpStream,
    port: u16,
    seen: &Mutex<Vec<Request>>,
    held: &Mutex<mpsc::Receiver<()>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or("/").to_string();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_string());
        }
    }
    let length = headers
        .get("content-length")
        .and_then(|it| it.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    seen.lock().unwrap().push(Request {
        path: path.clone(),
        headers,
        body,
    });
    let reply = |status: &str, headers: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let allow = "{\"decision\":\"allow\"}";
    let word = path
        .trim_start_matches('/')
        .split(['/', '?'])
        .next()
        .unwrap_or_default()
        .to_string();
    let text = match word.as_str() {
        "allow" => reply("200 OK", "", allow),
        "deny" => reply(
            "200 OK",
            "",
            "{\"decision\":\"deny\",\"reason\":\"the service says no\"}",
        ),
        "empty" => reply("200 OK", "", " \n"),
        "none" => reply("204 No Content", "", ""),
        "json" => reply("200 OK", "", "{\"decision\":"),
        "twice" => reply(
            "200 OK",
            "",
            "{\"decision\":\"deny\",\"decision\":\"allow\"}",
        ),
        "member" => reply("200 OK", "", "{\"decison\":\"deny\"}"),
        "word" => reply("200 OK", "", "{\"decision\":\"maybe\"}"),
        "list" => reply("200 OK", "", "[]"),
        "null" => reply("200 OK", "", "null"),
        "text" => reply("200 OK", "", "fine"),
        "oversize" => reply(
            "200 OK",
            "",
            &format!("{{\"reason\":\"{}\"}}", "x".repeat(1024 * 1024)),
        ),
        "short" => format!("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{allow}"),
        "garbage" => "SSH-2.0-OpenSSH_9.7\r\n".into(),
        "301" | "302" | "307" => reply(
            &format!("{word} Moved"),
            &format!("Location: http://127.0.0.1:{port}/allow/followed\r\n"),
            allow,
        ),
        "held" => {
            let _ = held.lock().unwrap().recv();
            reply("500 No", "", "")
        }
        "hang" => {
            // Until the client hangs up.
            let _ = reader.read_to_end(&mut Vec::new());
            return Ok(());
        }
        "drip" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")?;
            loop {
                stream.write_all(b" ")?;
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        status => reply(&format!("{status} No"), "", allow),
    };
    stream.write_all(text.as_bytes())
}

// --------------------------------------------------------------------------------------- helpers

fn serve(dir: &Path) -> std::process::Command {
    let mut command = hookwire();
    command.args(["serve", "--isolated", "--hooks"]).arg(dir);
    command
}

/// A client that can ask, and hears of failures.
fn initialize(host: &mut TestHost, notifications: &[&str]) {
    let hooks = json!({"decisions": ["allow", "deny", "ask", "defer", "rewrite"], "notifications": notifications});
    host.request("initialize", json!({"capabilities": {"hooks": hooks}}));
}

fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

// ------------------------------------------------------------------------- failure x direction

/// E2. No failure of a guard is an allow, whatever fails and however.
#[test]
fn no_failure_of_a_guard_allows() {
    let service = Service::start();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("plain.txt"), "#!/bin/sh\n").unwrap();
    script(dir.path(), "bad.sh", "#!/no/such/interpreter\n");
    let http = |path: &str| json!({"http": {"url": service.url(path)}});
    let url = |url: &str| json!({"http": {"url": url}});
    let sh = |text: &str| json!({ "command": text });
    let short = |mut handler: Value| {
        handler["timeout"] = "250ms".into();
        handler
    };
    let https = format!("https://127.0.0.1:{}/allow", service.port);
    let refused = format!("http://127.0.0.1:{}/allow", closed_port());
    let mut cases: Vec<(&str, Value)> = vec![
        ("no such program", json!({"command": ["./no-such-program"]})),
        (
            "no such name",
            json!({"command": ["no-such-program-anywhere"]}),
        ),
        ("not executable", json!({"command": ["./plain.txt"]})),
        ("no interpreter", json!({"command": ["./bad.sh"]})),
        (
            "no directory",
            json!({"command": {"run": "exit 0", "cwd": "no/such"}}),
        ),
        (
            "nul in argument",
            json!({"command": ["/bin/true", "${data.nul}"]}),
        ),
        ("exit 1", sh("exit 1")),
        ("exit 3", sh("exit 3")),
        ("exit 126", sh("exit 126")),
        ("exit 127", sh("no-such-program-anywhere")),
        ("exit 137", sh("exit 137")),
        (
            "exit 1 with an allow",
            sh("echo '{\"decision\":\"allow\"}'; exit 1"),
        ),
        ("SIGKILL", sh("kill -9 $$")),
        ("SIGTERM", sh("kill -TERM $$")),
        ("SIGSEGV", sh("kill -SEGV $$")),
        ("timeout", short(sh("sleep 60"))),
        (
            "timeout, deaf to signals",
            short(sh("trap '' TERM INT HUP; sleep 60; sleep 60")),
        ),
        (
            "timeout after an allow",
            short(sh("echo '{\"decision\":\"allow\"}'; sleep 60")),
        ),
        ("bad JSON", sh("printf '{\"decision\":'")),
        (
            "duplicate member",
            sh("printf '{\"decision\":\"deny\",\"decision\":\"allow\"}'"),
        ),
        ("unknown member", sh("printf '{\"decison\":\"deny\"}'")),
        ("unknown decision", sh("printf '{\"decision\":\"maybe\"}'")),
        (
            "wrong type",
            sh("printf '{\"decision\":\"allow\",\"userMessages\":\"x\"}'"),
        ),
        ("list", sh("printf '[]'")),
        ("string", sh("printf '\"allow\"'")),
        (
            "banner before JSON",
            sh("echo Welcome; printf '{\"decision\":\"allow\"}'"),
        ),
        (
            "text after JSON",
            sh("printf '{\"decision\":\"allow\"} bye'"),
        ),
        ("two replies", sh("printf '{}{\"decision\":\"allow\"}'")),
        ("not UTF-8", sh("printf '\\377\\376'")),
        (
            "another vocabulary",
            sh("printf '{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}'"),
        ),
        (
            "oversize stdout",
            sh("printf '{\"reason\":\"'; head -c 1048576 /dev/zero | tr '\\0' x; printf '\"}'"),
        ),
        ("endless stdout", json!({"command": ["yes"]})),
        ("never reads stdin, exit 3", sh("exec <&-; exit 3")),
        ("never reads stdin, timeout", short(sh("sleep 60"))),
        (
            "reply wanted, got nothing",
            json!({"command": {"run": "exit 0", "stdout": "reply"}}),
        ),
        (
            "reply wanted, got a text",
            json!({"command": {"run": "echo fine", "stdout": "reply"}}),
        ),
        (
            "reply wanted, got a list",
            json!({"command": {"run": "echo '[]'", "stdout": "reply"}}),
        ),
        (
            "printed and failed",
            json!({"command": {"run": "echo fine; exit 1", "stdout": "context"}}),
        ),
        ("floods stderr", sh("head -c 8000000 /dev/zero >&2; exit 3")),
        ("floods stderr until the timeout", short(sh("yes >&2"))),
        ("grandchild holds the pipes", sh("sleep 60 & exit 3")),
        (
            "grandchild in its own session",
            sh("setsid sleep 60 & exit 3"),
        ),
        (
            "foreign context",
            sh("printf '{\"context\":{\"cwd\":\"/\"}}'"),
        ),
        (
            "condition error",
            json!({"when": "data.nothing == 1", "deny": "no"}),
        ),
        ("http 400", http("400")),
        ("http 401", http("401")),
        ("http 404", http("404")),
        ("http 429", http("429")),
        ("http 500", http("500")),
        ("http 503", http("503")),
        ("http 301", http("301")),
        ("http 302", http("302")),
        ("http 307", http("307")),
        ("http refused", url(&refused)),
        ("http TLS", url(&https)),
        ("http name", short(url("http://no-such-host.invalid/"))),
        ("http hangs", short(http("hang"))),
        ("http drips", short(http("drip"))),
        ("http oversize", http("oversize")),
        ("http short", http("short")),
        ("http garbage", http("garbage")),
        ("http bad JSON", http("json")),
        ("http duplicate member", http("twice")),
        ("http unknown member", http("member")),
        ("http unknown decision", http("word")),
        ("http list", http("list")),
        ("http null", http("null")),
        ("http text", http("text")),
        (
            "http header without its variable",
            json!({"http": {
                "url": service.url("allow"), "headers": {"x-token": "${env.HOOKWIRE_TEST_UNSET}"}, "inheritEnv": ["HOOKWIRE_TEST_UNSET"],
            }}),
        ),
    ];
    for address in [
        "10.0.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "[fd00::1]",
        "[::ffff:10.0.0.1]",
        "0.0.0.0",
    ] {
        cases.push((
            "http blocked address",
            url(&format!("http://{address}/allow")),
        ));
    }
    let mut hooks = Vec::new();
    for (number, (_, handler)) in cases.iter().enumerate() {
        for direction in ["closed", "ask", "open"] {
            let mut hook = handler.clone();
            hook["name"] = format!("{number}-{direction}").into();
            hook["on"] = format!("custom:{number}-{direction}").into();
            hook["fail"] = direction.into();
            hooks.push(hook);
        }
    }
    std::fs::write(dir.path().join("hooks.json"), definitions(&hooks)).unwrap();
    let mut host = TestHost::start(serve(dir.path()).stderr(Stdio::null()));
    initialize(&mut host, &[]);
    let diagnostics = host.request("hooks/check", json!({}))["diagnostics"].take();
    let errors: Vec<_> = diagnostics
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["severity"] == "error")
        .collect();
    assert!(errors.is_empty(), "{errors:?}");

    let mut asked = Vec::new();
    for (number, (case, _)) in cases.iter().enumerate() {
        for direction in ["closed", "ask", "open"] {
            let big = if case.starts_with("never reads") {
                "x".repeat(1024 * 1024)
            } else {
                String::new()
            };
            let event = json!({"event": format!("custom:{number}-{direction}"), "data": {"big": big, "nul": "a\0b"}});
            asked.push((case, direction, host.ask("hooks/dispatch", event)));
        }
    }
    let (mut n_guards, mut allows) = (0, Vec::new());
    for (case, direction, id) in asked {
        let verdict = host.reply(id)["result"].take();
        let decision = verdict["decision"].as_str().unwrap();
        let outcome = &verdict["outcomes"][0];
        let expected = match direction {
            "closed" => "deny",
            "ask" => "ask",
            _ => "allow",
        };
        if direction != "open" {
            n_guards += 1;
            allows.extend((decision == "allow").then_some((case, direction)));
        }
        assert_eq!(decision, expected, "{case}, {direction}: {verdict}");
        let told = outcome["error"].is_string() || outcome["opaque"].is_string();
        assert!(told, "an error is not a no: {case}, {direction}: {verdict}");
    }
    eprintln!(
        "{n_guards} cells with a guard, {} allows: {allows:?}",
        allows.len()
    );
    assert!(allows.is_empty() && n_guards == cases.len() * 2);
    assert!(
        service
            .requests()
            .iter()
            .all(|it| it.path != "/allow/followed"),
        "a redirect was followed"
    );
}

/// Kept apart from the failures: these are answers.
#[test]
fn what_is_no_failure() {
    let service = Service::start();
    let cases = [
        // Exit 0 without a word is no opinion by design, as is an empty 2xx: in every direction an
        // allow.
        ("empty", json!({"command": "exit 0"}), "allow"),
        ("blank", json!({"command": "echo"}), "allow"),
        ("no opinion", json!({"command": "echo '{}'"}), "allow"),
        (
            "http empty",
            json!({"http": {"url": service.url("empty")}}),
            "allow",
        ),
        (
            "http no content",
            json!({"http": {"url": service.url("none")}}),
            "allow",
        ),
        (
            "exit 2",
            json!({"command": "echo 'not here' >&2; exit 2"}),
            "deny by h: not here",
        ),
        (
            "exit 2 in silence",
            json!({"command": "exit 2"}),
            "deny by h: the hook denied it without a reason",
        ),
        (
            "exit 2 with an allow",
            json!({"command": "echo '{\"decision\":\"allow\"}'; echo no >&2; exit 2"}),
            "deny by h: no",
        ),
        (
            "deny",
            json!({"command": "echo '{\"decision\":\"deny\",\"reason\":\"no\"}'"}),
            "deny by h: no",
        ),
        (
            "stderr beside it",
            json!({"command": "echo noise >&2; echo '{\"decision\":\"deny\",\"reason\":\"no\"}'"}),
            "deny by h: no",
        ),
        (
            "stdin unread",
            json!({"command": ["/bin/sh", "-c", "exec <&-; echo no >&2; exit 2"]}),
            "deny by h: no",
        ),
        (
            "pipes held",
            json!({"command": "sleep 60 & echo no >&2; exit 2"}),
            "deny by h: no",
        ),
        (
            "stderr flood",
            json!({"command": "head -c 8000000 /dev/zero >&2; echo '{\"decision\":\"deny\",\"reason\":\"no\"}'"}),
            "deny by h: no",
        ),
        (
            "http deny",
            json!({"http": {"url": service.url("deny")}}),
            "deny by h: the service says no",
        ),
    ];
    let mut hooks = Vec::new();
    for (number, (_, handler, _)) in cases.iter().enumerate() {
        for direction in ["closed", "ask", "open"] {
            let mut hook = handler.clone();
            hook["name"] = "h".into();
            hook["on"] = format!("custom:{number}-{direction}").into();
            hook["fail"] = direction.into();
            hooks.push(hook);
        }
    }
    let dir = crate::support::hooks(&[("hooks.json", &definitions(&hooks))]);
    let mut host = TestHost::start(serve(dir.path()).stderr(Stdio::null()));
    for (number, (case, _, expected)) in cases.iter().enumerate() {
        for direction in ["closed", "ask", "open"] {
            let event = json!({"event": format!("custom:{number}-{direction}"), "data": "x".repeat(1024 * 1024)});
            let verdict = host.dispatch(event);
            assert_eq!(brief(&verdict), *expected, "{case}, {direction}: {verdict}");
        }
    }
}

/// What a tool prints is its own affair where nothing is decided: linters after an edit.
#[test]
fn text_on_stdout_after_the_fact_is_fine() {
    let (mut host, _dir) = TestHost::with(
        "hooks: [{ name: lint, on: PostToolUse, fail: closed, command: echo All good. }]",
    );
    let verdict = host.dispatch(
        json!({"event": "PostToolUse", "tool": {"name": "Write", "input": {}, "output": "o"}}),
    );
    assert_eq!(
        (brief(&verdict), outcomes(&verdict)),
        ("allow".into(), vec!["lint success".into()])
    );
}

/// Where nothing waits for a decision, what a formatter finds is no failure, and its output is for
/// the model.
#[test]
fn what_a_formatter_finds_reaches_the_model() {
    for (fail, run, expected) in [
        (
            "open",
            "echo found; echo more >&2; exit 1",
            json!(["allow", ["found\nmore"], "success"]),
        ),
        ("open", "exit 1", json!(["allow", null, "success"])),
        (
            "open",
            "echo found; exit 2",
            json!(["deny", ["found"], "blocking"]),
        ),
        // Nothing like it was started.
        (
            "open",
            "echo found; exit 127",
            json!(["allow", null, "non_blocking_error"]),
        ),
        // It is a guard.
        (
            "closed",
            "echo found; exit 1",
            json!(["deny", null, "blocking"]),
        ),
    ] {
        let command = json!({"run": run, "stdout": "context"});
        let hook = json!({"name": "h", "on": "PostToolUse", "fail": fail, "command": command});
        let (mut host, _dir) = TestHost::with(&definitions(&[hook]));
        let event =
            json!({"event": "PostToolUse", "tool": {"name": "Write", "input": {}, "output": "o"}});
        let verdict = host.dispatch(event);
        let found = json!([
            verdict["decision"],
            verdict["additionalContext"],
            verdict["outcomes"][0]["status"]
        ]);
        assert_eq!(found, expected, "{fail} {run}: {verdict}");
    }
}

#[test]
fn stdout_goes_where_the_hook_says() {
    let deny = "echo '{\"decision\":\"deny\",\"reason\":\"no\"}'";
    for (stdout, run, expected) in [
        (
            "context",
            "echo; echo ' two'; echo lines",
            json!(["allow", ["two\nlines"], null]),
        ),
        ("context", "true", json!(["allow", null, null])),
        ("message", "echo one", json!(["allow", null, ["one"]])),
        ("log", "echo one", json!(["allow", null, null])),
        ("reply", deny, json!(["deny", null, null])),
        (
            "reply",
            "echo '{\"additionalContext\":[\"a\"]}'",
            json!(["allow", ["a"], null]),
        ),
        // What a tool prints decides nothing, its exit code does.
        (
            "context",
            deny,
            json!(["allow", ["{\"decision\":\"deny\",\"reason\":\"no\"}"], null]),
        ),
        ("log", deny, json!(["allow", null, null])),
        (
            "context",
            "echo one; exit 2",
            json!(["deny", ["one"], null]),
        ),
        ("reply", "echo one; exit 2", json!(["deny", null, null])),
    ] {
        let hook = json!({"name": "h", "on": "PreToolUse", "fail": "open", "command": {"run": run, "stdout": stdout}});
        let log = tempfile::NamedTempFile::new().unwrap();
        let dir = hooks(&[("hooks.json", &definitions(&[hook]))]);
        let mut host = TestHost::start(
            serve(dir.path())
                .env("HOOKWIRE_LOG", "info")
                .stderr(log.reopen().unwrap()),
        );
        let verdict = host.bash("x");
        let found = json!([
            verdict["decision"],
            verdict["additionalContext"],
            verdict["userMessages"]
        ]);
        assert_eq!(found, expected, "{stdout}: {run}: {verdict}");
        assert_eq!(
            verdict["outcomes"][0]["error"],
            json!(null),
            "{stdout}: {run}"
        );
        drop(host);
        let log = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(
            log.contains("one"),
            stdout == "log" && run == "echo one",
            "{stdout}: {run}: {log}"
        );
    }
}

#[test]
fn callbacks() {
    let (mut host, _dir) = TestHost::with("hooks: []");
    initialize(&mut host, &[]);
    let mut hooks = Vec::new();
    for direction in ["closed", "ask", "open"] {
        hooks.push(json!({"name": direction, "on": format!("custom:{direction}"), "callback": "f", "fail": direction}));
        hooks.push(json!({"name": direction, "on": format!("custom:{direction}-late"), "callback": "f", "fail": direction, "timeout": "200ms"}));
        hooks.last_mut().unwrap()["name"] = format!("{direction}-late").into();
    }
    host.request("hooks/register", json!({ "hooks": hooks }));
    let (mut n_guards, mut n_allows) = (0, 0);
    for direction in ["closed", "ask", "open"] {
        let expected = ["deny", "ask", "allow"][["closed", "ask", "open"]
            .iter()
            .position(|it| *it == direction)
            .unwrap()];
        let replies = [
            json!({"error": {"code": -32603, "message": "it raised"}}),
            json!({"error": "not even an error object"}),
            json!({"result": {"decison": "deny"}}),
            json!({"result": {"decision": "maybe"}}),
            json!({"result": [1]}),
            json!({"result": "allow"}),
            json!({"result": true}),
            // Never answered: the timeout, and the client is told that nobody waits any more.
            Value::Null,
        ];
        for reply in replies {
            let late = if reply.is_null() { "-late" } else { "" };
            let event = json!({"event": format!("custom:{direction}{late}"), "data": 1});
            let id = host.ask("hooks/dispatch", event.clone());
            let invoke = host.receive_where(|message| message["method"] == "hooks/invoke");
            assert_eq!(
                invoke["params"],
                json!({"callback": "f", "hook": format!("{direction}{late}"), "event": event})
            );
            if reply.is_null() {
                let cancel = host.receive_where(|message| message["method"] == "$/cancelRequest");
                assert_eq!(cancel["params"]["id"], invoke["id"]);
            } else {
                let mut message = reply.clone();
                message["jsonrpc"] = "2.0".into();
                message["id"] = invoke["id"].clone();
                host.send(&message);
            }
            let verdict = host.reply(id)["result"].take();
            assert_eq!(
                verdict["decision"], expected,
                "{reply} {direction}: {verdict}"
            );
            assert!(verdict["outcomes"][0]["error"].is_string());
            n_guards += usize::from(direction != "open");
            n_allows += usize::from(direction != "open" && verdict["decision"] == "allow");
        }
        // Answers.
        for (result, expected) in [
            (Value::Null, "allow".to_string()),
            (json!({}), "allow".to_string()),
            (
                json!({"decision": "deny", "reason": "no"}),
                format!("deny by {direction}: no"),
            ),
        ] {
            let id = host.ask(
                "hooks/dispatch",
                json!({"event": format!("custom:{direction}")}),
            );
            let invoke = host.receive_where(|message| message["method"] == "hooks/invoke");
            host.send(&json!({"jsonrpc": "2.0", "id": invoke["id"], "result": result}));
            assert_eq!(brief(&host.reply(id)["result"]), expected);
        }
    }
    eprintln!("{n_guards} callback cells with a guard, {n_allows} allows");
    assert_eq!((n_guards, n_allows), (16, 0));
    // A file can't name a function of a client.
    let text = "hooks: [{ name: a, on: Stop, fail: open, callback: f }]";
    let diagnostics = host.request("hooks/check", json!({ "text": text }))["diagnostics"].take();
    assert_eq!(
        diagnostics[0]["message"],
        "a callback can't be defined in a file"
    );
}

// ------------------------------------------------------------------------------ what a command
// gets

/// The variables of a process that copied its own.
fn environment(file: &Path) -> BTreeMap<String, String> {
    let text = String::from_utf8(std::fs::read(file).unwrap()).unwrap();
    let pairs = text.split('\0').filter(|it| !it.is_empty());
    pairs
        .map(|pair| {
            pair.split_once('=')
                .map(|(name, value)| (name.into(), value.into()))
                .unwrap()
        })
        .collect()
}

/// H2: the environment is what DESIGN names, and nothing else.
#[test]
fn a_command_gets_a_small_environment() {
    let out = tempfile::tempdir().unwrap();
    let copy = |name: &str| json!(["/bin/cp", "/proc/self/environ", out.path().join(name)]);
    let dir = hooks(&[(
        "hooks.json",
        &definitions(&[
            json!({"name": "plain", "on": "custom:plain", "fail": "closed", "command": copy("plain")}),
            json!({"name": "more", "on": "PreToolUse", "fail": "closed", "command": {
                "run": copy("more"), "env": {"SET": "by the definition", "tool_name": "mine"}, "inheritEnv": ["WANTED", "ABSENT"],
            }}),
            json!({"name": "all", "on": "PreToolUse", "fail": "closed", "command": {
                "run": ["/bin/sh", "-c", "cat > \"$0\"", out.path().join("stdin")],
            }}),
        ]),
    )]);
    let root = tempfile::tempdir().unwrap();
    let host_environment = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/home/x"),
        ("USER", "x"),
        ("LANG", "C.UTF-8"),
        ("LC_TIME", "C"),
        ("TZ", "UTC"),
        ("TMPDIR", "/tmp"),
        ("SHELL", "/bin/sh"),
    ];
    let mut command = hookwire();
    command
        .args(["serve", "--isolated", "--root"])
        .arg(root.path())
        .arg("--hooks")
        .arg(dir.path());
    command.env_clear().envs(host_environment);
    command.envs([
        ("WANTED", "w"),
        ("SECRET", "s"),
        ("LOGNAME", "x"),
        ("LD_PRELOADED", "x"),
        ("AWS_KEY", "k"),
        ("event", "host"),
    ]);
    let mut host = TestHost::start(&mut command);

    assert_eq!(
        brief(&host.dispatch(json!({"event": "custom:plain"}))),
        "allow"
    );
    let mut plain = environment(&out.path().join("plain"));
    for own in ["HOOKWIRE_CALL_ID", "HOOKWIRE_EVENT_ID", "HOOKWIRE_SOCKET"] {
        assert!(
            plain.remove(own).is_some_and(|value| !value.is_empty()),
            "{own}"
        );
    }
    let mut expected: BTreeMap<String, String> = host_environment
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    for (name, value) in [
        ("HOOKWIRE_HOOK", "plain"),
        ("HOOKWIRE_PROJECT_DIR", root.path().to_str().unwrap()),
        ("event", "custom:plain"),
    ] {
        expected.insert(name.into(), value.into());
    }
    assert_eq!(plain, expected);

    let event = json!({
        "event": "PreToolUse", "session": "s1", "step": 3, "stopActive": false, "PATH": "/evil", "LD_PRELOAD": "/evil.so",
        "agent": {"name": "coder"}, "metadata": {"a": {"b": 1.5}},
        "tool": {"name": "Write", "input": {
            "file_path": "/x/y.ts", "content": "z".repeat(32 * 1024 + 1), "fits": "f".repeat(32 * 1024),
            "nul": "a\0b", "list": [1], "a-b": 1, "a_b": 2, "none": null,
        }},
    });
    assert_eq!(brief(&host.dispatch(event.clone())), "allow");
    let more = environment(&out.path().join("more"));
    for (name, value) in [
        ("PATH", Some("/usr/bin:/bin")),
        ("WANTED", Some("w")),
        ("SET", Some("by the definition")),
        ("SECRET", None),
        ("ABSENT", None),
        ("LD_PRELOAD", None),
        ("session", Some("s1")),
        ("step", Some("3")),
        ("stopActive", Some("false")),
        ("agent_name", Some("coder")),
        ("metadata_a_b", Some("1.5")),
        // What the definition sets stands.
        ("tool_name", Some("mine")),
        ("tool_input_path", Some("/x/y.ts")),
        ("tool_input_file_path", Some("/x/y.ts")),
        ("tool_input_content", None),
        ("tool_input_nul", None),
        ("tool_input_none", None),
        // The key as it stands, not the one that reads like it.
        ("tool_input_a_b", Some("2")),
        (
            "HOOKWIRE_OMITTED",
            Some("tool_input_a_b tool_input_content tool_input_list tool_input_nul"),
        ),
    ] {
        assert_eq!(more.get(name).map(String::as_str), value, "{name}");
    }
    assert_eq!(more["tool_input_fits"].len(), 32 * 1024);
    // stdin always has everything, followed by the end of file.
    let stdin: Value =
        serde_json::from_slice(&std::fs::read(out.path().join("stdin")).unwrap()).unwrap();
    assert_eq!(stdin, event);
}

#[test]
fn event_text_is_never_shell_text() {
    let out = tempfile::tempdir().unwrap();
    let file = |name: &str| out.path().join(name);
    let (shell, exec, stdin) = (file("shell"), file("exec"), file("stdin"));
    let yaml = definitions(&[
        json!({"name": "shell", "on": "PreToolUse", "fail": "closed", "command": format!("printf %s \"$tool_input_command\" > {}", shell.display())}),
        json!({"name": "exec", "on": "PreToolUse", "fail": "closed", "command": ["/bin/sh", "-c", "printf %s \"$1\" > \"$0\"", exec, "<${tool.input.command}>"]}),
        json!({"name": "whole", "on": "PreToolUse", "fail": "closed", "command": ["/bin/sh", "-c", "test $# = 1 && test \"$1\" = Bash", "sh", "${tool.name}"]}),
        json!({"name": "stdin", "on": "PreToolUse", "fail": "closed", "command": format!("cat > {}", stdin.display())}),
    ]);
    let (mut host, _dir) = TestHost::with(&yaml);
    let marker = file("pwned");
    let touch = format!("touch {}", marker.display());
    for value in [
        format!("\"; {touch}; \""),
        format!("'; {touch}; '"),
        format!("$({touch})"),
        format!("`{touch}`"),
        format!("x\n{touch}\n"),
        format!("|| {touch} #"),
        format!("() {{ :; }}; {touch}"),
        "${tool.name} ${timestamp} $HOME ~ * \\".to_string(),
        "-rf --help".to_string(),
    ] {
        let verdict = host.bash(&value);
        assert_eq!(brief(&verdict), "allow", "{verdict}");
        assert_eq!(std::fs::read_to_string(&shell).unwrap(), value);
        assert_eq!(
            std::fs::read_to_string(&exec).unwrap(),
            format!("<{value}>")
        );
        let event: Value = serde_json::from_slice(&std::fs::read(&stdin).unwrap()).unwrap();
        assert_eq!(event["tool"]["input"]["command"], value.as_str());
    }
    assert!(!marker.exists());
    // Nor is the program, which the definition's author chooses.
    let text = "hooks: [{ name: a, on: Stop, fail: open, command: ['${tool.input.command}'] }]";
    let problem =
        host.request("hooks/check", json!({ "text": text }))["diagnostics"][0]["message"].take();
    assert_eq!(problem, "the program can't be taken from the event");
}

/// `${path}`, `${command}` and `${url}` are what a call is about, whatever its agent calls the
/// argument.
#[test]
fn what_a_call_is_about_has_one_name() {
    let service = Service::start();
    let say = "printf %s \"$1|$2|$3\" >&2; exit 2";
    let main = ["${path}", "${command}", "${url}"];
    let yaml = definitions(&[
        json!({"name": "a", "on": "PreToolUse", "fail": "closed", "command": ["/bin/sh", "-c", say, "sh", main[0], main[1], main[2]]}),
        json!({"name": "b", "on": "PostToolUse", "fail": "closed", "http": {"url": service.url("allow"), "body": main}}),
    ]);
    let mut command = serve(hooks(&[("hooks.json", &yaml)]).keep().as_path());
    let mut host =
        TestHost::start(command.args(["--allow-host", &format!("127.0.0.1:{}", service.port)]));
    for (tool, input, expected) in [
        ("Write", json!({"file_path": "/a", "content": "x"}), "/a||"),
        ("write_file", json!({"path": "/a", "content": "x"}), "/a||"),
        ("edit", json!({"filePath": "/a"}), "/a||"),
        ("Grep", json!({"pattern": "x", "path": "/src"}), "/src||"),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Add File: /a\n+x\n*** End Patch"}),
            "/a||",
        ),
        ("Bash", json!({"command": "git push"}), "|git push|"),
        (
            "run_shell_command",
            json!({"command": "git push"}),
            "|git push|",
        ),
        ("shell", json!({"command": ["git", "push"]}), "|git push|"),
        (
            "WebFetch",
            json!({"url": "https://a.example/b"}),
            "||https://a.example/b",
        ),
        ("mcp__x__y", json!({"amount": 3}), "||"),
        // It can't be told which one the tool takes.
        (
            "Write",
            json!({"file_path": "/a", "path": "/b"}),
            "hook `a` failed to fill in `path`: the call has several",
        ),
        (
            "web_fetch",
            json!({"prompt": "https://a.example and https://b.example"}),
            "hook `a` failed to fill in `url`: ",
        ),
    ] {
        let mut event = json!({"event": "PreToolUse", "tool": {"name": tool, "input": input}});
        let reason = host.dispatch(event.clone())["reason"].take();
        assert!(
            reason.as_str().unwrap().starts_with(expected),
            "{tool} {input}: {reason}"
        );
        let before = service.requests().len();
        event["event"] = json!("PostToolUse");
        let verdict = host.dispatch(event);
        let posted = service
            .requests()
            .get(before)
            .map(|it| serde_json::from_str::<Value>(&it.body).unwrap());
        let posted = posted.map(|body| {
            let text = |at: usize| body[at].as_str().unwrap_or_default().to_string();
            [text(0), text(1), text(2)].join("|")
        });
        let fails = expected.starts_with("hook");
        assert_eq!(
            posted.as_deref(),
            (!fails).then_some(expected),
            "{tool} {input}: {verdict}"
        );
    }
    // A hook of another vocabulary that writes placeholders so; a rewrite; an event that has a
    // member of this name.
    let yaml = definitions(&[
        json!({"name": "a", "dialect": "claude-code", "on": "PreToolUse", "matcher": "Write", "command": ["/bin/sh", "-c", "printf %s \"$0\" >&2; exit 2", "${path}"]}),
        json!({"name": "b", "on": "PreToolUse", "matcher": "LS", "rewrite": {"patch": {"about": "<${path}>"}}}),
        json!({"name": "c", "on": "custom:x", "fail": "closed", "command": ["/bin/sh", "-c", "printf %s \"$0\" >&2; exit 2", "${path}"]}),
        // What another agent calls it.
        json!({"name": "d", "on": "PreToolUse", "matcher": "Edit", "rewrite": {"patch": {"about": "${tool.input.path}"}}}),
    ]);
    let (mut host, _dir) = TestHost::with(&yaml);
    let call = |tool: &str, input: Value| json!({"event": "PreToolUse", "tool": {"name": tool, "input": input}});
    let denied = host.dispatch(call("Write", json!({"file_path": "/a"})));
    assert!(
        denied["reason"].as_str().unwrap().ends_with(": /a"),
        "{denied}"
    );
    assert_eq!(
        host.dispatch(call("LS", json!({"path": "/a"})))["subject"]["about"],
        "</a>"
    );
    assert_eq!(
        host.dispatch(call("Edit", json!({"filePath": "/a"})))["subject"]["about"],
        "/a"
    );
    assert_eq!(
        brief(&host.dispatch(json!({"event": "custom:x", "path": "/b"}))),
        "deny by c: /b"
    );
}

#[test]
fn programs_and_directories_are_where_the_definition_says() {
    let dir = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let where_it_ran = "#!/bin/sh\npwd >&2; exit 2\n";
    script(dir.path(), "sub/bin/check.sh", where_it_ran);
    script(dir.path(), "sub/planted", where_it_ran);
    script(elsewhere.path(), "planted", where_it_ran);
    script(elsewhere.path(), "bin/check.sh", "#!/bin/sh\nexit 0\n");
    std::fs::write(
        dir.path().join("sub/hooks.json"),
        definitions(&[
            json!({"name": "h", "on": "custom:relative", "fail": "closed", "command": ["bin/check.sh"]}),
            json!({"name": "h", "on": "custom:bare", "fail": "closed", "command": ["planted"]}),
            json!({"name": "h", "on": "custom:cwd", "fail": "closed", "command": {"run": "pwd >&2; exit 2", "cwd": "bin"}}),
            json!({"name": "h", "on": "custom:shell", "fail": "closed", "command": "pwd >&2; exit 2"}),
        ]),
    )
    .unwrap();
    let real = |path: &Path| path.canonicalize().unwrap().display().to_string();
    let mut command = hookwire();
    command
        .args(["serve", "--isolated", "--root"])
        .arg(project.path())
        .arg("--hooks")
        .arg(dir.path());
    let mut host = TestHost::start(&mut command);
    for (event, cwd, reason) in [
        ("relative", elsewhere.path(), real(elsewhere.path())),
        ("relative", Path::new("/no/such"), real(project.path())),
        ("shell", elsewhere.path(), real(elsewhere.path())),
        ("shell", Path::new("/no/such"), real(project.path())),
        ("shell", Path::new("."), real(project.path())),
        ("cwd", elsewhere.path(), real(&dir.path().join("sub/bin"))),
        // A name is looked up on PATH, never where an agent could plant it.
        (
            "bare",
            elsewhere.path(),
            "hook `h` failed to start program `planted`: not found on PATH".into(),
        ),
    ] {
        let verdict = host.dispatch(json!({"event": format!("custom:{event}"), "cwd": cwd}));
        assert_eq!(
            brief(&verdict),
            format!("deny by h: {reason}"),
            "{event} {}",
            cwd.display()
        );
    }
    assert_eq!(
        brief(&host.dispatch(json!({"event": "custom:shell"}))),
        format!("deny by h: {}", real(project.path()))
    );
}

/// A cancelled request is answered at once and leaves no process behind.
#[test]
fn cancelling_ends_the_whole_process_tree() {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("pids");
    let text = format!(
        "trap '' TERM; setsid sleep 600 & sleep 600 & echo $$ $! > {0}.new; mv {0}.new {0}; wait",
        file.display()
    );
    let (mut host, _dir) = TestHost::with(&definitions(&[
        json!({"name": "h", "on": "PreToolUse", "fail": "closed", "command": text}),
    ]));
    let id = host.ask("hooks/dispatch", bash("x"));
    let pids = eventually("the hook runs", || std::fs::read_to_string(&file).ok());
    host.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(host.reply(id)["error"]["code"], -32800);
    for pid in pids.split_whitespace() {
        eventually("the process is gone", || {
            (!Path::new("/proc").join(pid).exists()).then_some(())
        });
    }
}

// ------------------------------------------------------------------------------ what a POST
// carries

#[test]
fn a_post_carries_the_event_or_its_template() {
    let service = Service::start();
    let dir = hooks(&[(
        "hooks.json",
        &definitions(&[
            json!({"name": "plain", "on": "PreToolUse", "fail": "closed", "http": {"url": service.url("empty/plain")}}),
            json!({"name": "form", "on": "PreToolUse", "fail": "closed", "http": {
                "url": service.url("empty/form"),
                "body": {"event": "${event}", "tool": "${tool.name}", "all": "${tool.input}", "text": "n=${tool.input.n}, ${tool.input.none}!",
                    "none": "${nothing.here}", "fixed": [1, true, null], "list": ["${hook}"], "at": "${timestamp}", "plain": "$${event}",
                    "again": "${tool.input.sly}"},
                "headers": {"Authorization": "Bearer ${env.TOKEN}", "x-plain": "p"},
                "inheritEnv": ["TOKEN"],
            }}),
        ]),
    )]);
    let mut host = TestHost::start(serve(dir.path()).env("TOKEN", "t0p").env("OTHER", "o"));
    let input = json!({"n": 3, "sly": "${timestamp}"});
    let event = json!({"event": "PreToolUse", "tool": {"name": "pay", "input": input}});
    assert_eq!(brief(&host.dispatch(event.clone())), "allow");
    let [plain, form] = &service.requests()[..] else {
        panic!("two requests")
    };
    let body = |request: &Request| serde_json::from_str::<Value>(&request.body).unwrap();
    assert_eq!((plain.path.as_str(), body(plain)), ("/empty/plain", event));
    assert_eq!(plain.headers["content-type"], "application/json");
    assert!(!plain.headers.contains_key("authorization"));
    let mut sent = body(form);
    let at = sent["at"].take();
    assert!(
        at.as_str()
            .is_some_and(|at| at.len() == 24 && at.ends_with('Z')),
        "{at}"
    );
    assert_eq!(
        sent,
        json!({"event": "PreToolUse", "tool": "pay", "all": input, "text": "n=3, !", "none": null, "fixed": [1, true, null],
            "list": ["form"], "at": null, "plain": "${event}", "again": "${timestamp}"})
    );
    assert_eq!(
        (
            form.headers["authorization"].as_str(),
            form.headers["x-plain"].as_str()
        ),
        ("Bearer t0p", "p")
    );
}

#[test]
fn headers_hold_named_variables_only() {
    let (mut host, _dir) = TestHost::with("hooks: []");
    for (fields, problem) in [
        (
            "headers: { a: '${env.TOKEN}' }",
            "header `a` reads the variable `TOKEN`, which `inheritEnv` doesn't name",
        ),
        (
            "headers: { a: '${tool.name}' }",
            "header `a` may hold only `${env.NAME}` placeholders",
        ),
        (
            "headers: { 'a b': x }",
            "`a b` can't be the name of a header",
        ),
        (
            "headers: { Host: example.com }",
            "header `Host` is the client's own",
        ),
        (
            "headers: { Content-Length: '3' }",
            "header `Content-Length` is the client's own",
        ),
    ] {
        let text = format!(
            "hooks: [{{ name: a, on: Stop, fail: open, http: {{ url: 'https://example.com/', {fields} }} }}]"
        );
        let diagnostics =
            host.request("hooks/check", json!({ "text": text }))["diagnostics"].take();
        assert_eq!(diagnostics[0]["message"], problem, "{diagnostics}");
    }
}

/// Loopback is for layers that somebody vouches for, or what the operator names.
#[test]
fn a_project_reaches_loopback_only_where_it_is_allowed() {
    let service = Service::start();
    let root = tempfile::tempdir().unwrap();
    let definitions = definitions(&[
        json!({"name": "h", "on": "PreToolUse", "fail": "closed", "http": {"url": service.url("deny")}}),
    ]);
    std::fs::create_dir(root.path().join(".hookwire")).unwrap();
    std::fs::write(root.path().join(".hookwire/hooks.json"), definitions).unwrap();
    let project = || {
        let mut command = hookwire();
        command
            .args(["serve", "--isolated", "--live", "--root"])
            .arg(root.path());
        command
    };
    let granted = format!("127.0.0.1:{}", service.port);
    let reason = |command: &mut std::process::Command| {
        TestHost::start(command).bash("x")["reason"]
            .as_str()
            .unwrap()
            .to_string()
    };
    assert_eq!(
        reason(&mut project()),
        format!(
            "hook `h` failed to reach 127.0.0.1: it is a loopback address; allow it with --allow-host {granted}"
        )
    );
    assert_eq!(service.requests().len(), 0);
    assert_eq!(
        reason(project().args(["--allow-host", &granted])),
        "the service says no"
    );
    // Another port is another grant.
    assert!(reason(project().args(["--allow-host", "127.0.0.1:9"])).contains("--allow-host"));
    assert_eq!(
        reason(&mut serve(&root.path().join(".hookwire"))),
        "the service says no"
    );
    assert_eq!(service.requests().len(), 2);
}

/// An audit that fails, or never answers, costs the agent nothing; its failure is told.
#[test]
fn fire_and_forget() {
    let service = Service::start();
    let dir = hooks(&[(
        "hooks.json",
        &definitions(&[
            json!({"name": "audit", "on": "PreToolUse", "async": true, "http": {"url": service.url("held")}}),
            json!({"name": "down", "on": "PreToolUse", "async": true, "fail": "closed", "http": {"url": format!("http://127.0.0.1:{}/", closed_port())}}),
        ]),
    )]);
    let mut host = TestHost::start(&mut serve(dir.path()));
    initialize(&mut host, &["hooks/failed"]);
    // The verdict is there while the service still holds its answer back.
    let verdict = host.bash("x");
    assert_eq!(
        (brief(&verdict), outcomes(&verdict)),
        (
            "allow".into(),
            vec!["audit started".into(), "down started".into()]
        )
    );
    let failed = host.receive_where(|message| message["method"] == "hooks/failed");
    assert_eq!(
        (&failed["params"]["hook"], &failed["params"]["detached"]),
        (&json!("down"), &json!(true))
    );
    service.release.send(()).unwrap();
    let failed = host.receive_where(|message| message["method"] == "hooks/failed");
    assert_eq!(
        failed["params"]["error"],
        "failed to get an answer: the service replied with status 500"
    );
}

/// The last event of a session is often audited: the end of input doesn't take the audit with it.
#[test]
fn what_nobody_waits_for_may_finish_at_the_end_of_input() {
    let service = Service::start();
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("ended");
    let hooks = definitions(&[
        json!({"name": "audit", "on": "SessionEnd", "async": true, "http": {"url": service.url("empty")}}),
        json!({"name": "note", "on": "SessionEnd", "async": true, "command": format!("sleep 0.05; touch {}", file.display())}),
    ]);
    let (mut host, dir) = TestHost::with(&hooks);
    host.dispatch(json!({"event": "SessionEnd"}));
    host.close();
    host.wait();
    assert!(file.exists() && service.requests().len() == 1);
    std::fs::remove_file(&file).unwrap();
    let status = hookwire()
        .args([
            "explain",
            "--run",
            "--isolated",
            "{\"event\":\"SessionEnd\"}",
            "--hooks",
        ])
        .arg(dir.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success() && file.exists() && service.requests().len() == 2);
    // But it doesn't keep a host from ending.
    let hooks = definitions(&[
        json!({"name": "slow", "on": "SessionEnd", "async": true, "command": "sleep 600"}),
    ]);
    let (mut host, _dir) = TestHost::with(&hooks);
    host.dispatch(json!({"event": "SessionEnd"}));
    host.close();
    host.wait();
}

/// H1. Canaries in headers, in the environment, in URLs and in a tool's input, and everything that
/// can go wrong with them, at the loudest log there is.
#[test]
fn secrets_stay_where_they_belong() {
    let service = Service::start();
    let headers = json!({"authorization": "Bearer ${env.CANARY_HEADER}"});
    let http = |name: &str, url: String| {
        json!({"name": name, "on": "PreToolUse", "fail": "open", "timeout": "250ms",
            "http": {"url": url, "headers": headers, "inheritEnv": ["CANARY_HEADER"]}})
    };
    let command = |name: &str, run: Value| {
        json!({"name": name, "on": "PreToolUse", "fail": "open", "timeout": "250ms",
            "command": {"run": run, "env": {"API_KEY": "canary-set-2"}, "inheritEnv": ["CANARY_ENV"]}})
    };
    let mut all: Vec<Value> = [
        "500", "json", "302", "hang", "garbage", "short", "empty", "oversize",
    ]
    .iter()
    .map(|path| http(path, service.url(&format!("{path}?key=canary-query-3"))))
    .collect();
    all.push(http(
        "refused",
        format!("http://127.0.0.1:{}/canary-path-4", closed_port()),
    ));
    all.push(http(
        "blocked",
        "http://10.0.0.1/canary-path-4?key=canary-query-3".into(),
    ));
    all.push(http(
        "tls",
        format!("https://127.0.0.1:{}/canary-path-4", service.port),
    ));
    all.push(command("exit", json!("exit 3")));
    all.push(command(
        "says",
        json!("echo \"$API_KEY $CANARY_ENV\" >&2; exit 3"),
    ));
    all.push(command(
        "denies after the fact",
        json!("echo \"$API_KEY\" >&2; exit 1"),
    ));
    all.push(command("late", json!("sleep 60")));
    all.push(command("spawn", json!(["./no-such"])));
    all.push(command("noise", json!("printf x")));
    for to in ["context", "message", "log"] {
        let mut prints = command(to, json!("echo \"$API_KEY $CANARY_ENV\""));
        prints["command"]["stdout"] = to.into();
        all.push(prints);
    }
    let dir = hooks(&[("hooks.json", &definitions(&all))]);
    let log = tempfile::NamedTempFile::new().unwrap();
    let environment = [
        ("HOOKWIRE_LOG", "trace"),
        ("CANARY_HEADER", "canary-header-1"),
        ("CANARY_ENV", "canary-env-5"),
    ];
    let mut host = TestHost::start(
        serve(dir.path())
            .envs(environment)
            .stderr(log.reopen().unwrap()),
    );
    initialize(&mut host, &["hooks/failed", "hooks/executed"]);
    host.may_leave_unread = true;
    let mut told = Vec::new();
    for _ in 0..3 {
        let verdict = host.bash("export K=canary-input-6");
        assert_eq!(verdict["outcomes"].as_array().unwrap().len(), all.len());
        told.push(verdict.to_string());
    }
    // A failed notification for each that failed: all but `empty` and those that print for
    // somebody.
    for _ in 0..3 * (all.len() - 4) {
        told.push(
            host.receive_where(|message| message["method"] == "hooks/failed")
                .to_string(),
        );
    }
    for method in ["hooks/list", "hooks/check", "hooks/reload"] {
        told.push(host.request(method, json!({})).to_string());
    }
    // Whoever asks is shown the commands of the event that they sent, and in no other member.
    let mut explained = host.request("hooks/explain", bash("export K=canary-input-6"));
    let commands = explained
        .as_object_mut()
        .unwrap()
        .remove("commands")
        .unwrap();
    assert_eq!(
        commands,
        json!([{"command": "export K=canary-input-6", "start": 0, "end": 23}])
    );
    told.push(explained.to_string());
    drop(host);
    told.push(std::fs::read_to_string(log.path()).unwrap());
    assert!(
        told.last().unwrap().contains("Hook failed"),
        "the log was read"
    );
    let leaks: Vec<_> = told
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| line.contains("canary-"))
        .collect();
    assert!(leaks.is_empty(), "{} leaks: {leaks:#?}", leaks.len());
    // The service did get them.
    assert!(service.requests().iter().any(|it| {
        it.headers
            .get("authorization")
            .is_some_and(|it| it == "Bearer canary-header-1")
    }));
}

/// A command is rewritten wherever a tool has it.
#[test]
fn a_rewrite_finds_the_command_of_every_tool() {
    let dir = hooks(&[(
        "hooks.yaml",
        "defaults: { fail: closed }\nhooks: [{ name: pnpm, on: PreToolUse, if: Bash(npm *), rewrite: { program: pnpm } }]",
    )]);
    let mut host = TestHost::serve(dir.path());
    for (tool, input, expected) in [
        (
            "Bash",
            json!({"command": "npm i", "timeout": 5}),
            json!({"command": "pnpm i", "timeout": 5}),
        ),
        (
            "shell",
            json!({"command": ["bash", "-lc", "cd x; npm i"]}),
            json!({"command": ["bash", "-lc", "cd x; pnpm i"]}),
        ),
        (
            "shell",
            json!({"command": ["npm", "i"]}),
            json!({"command": ["pnpm", "i"]}),
        ),
        (
            "run_commands",
            json!({"commands": ["npm i"]}),
            json!({"commands": ["pnpm i"]}),
        ),
        ("Bash", json!({"command": "ls"}), Value::Null),
        // In doubt nothing is rewritten, and the defaults of the file are about guards.
        ("Bash", json!({"command": "sh -c 'npm i y'"}), Value::Null),
        ("Bash", json!({"command": "$X i y"}), Value::Null),
    ] {
        let verdict =
            host.dispatch(json!({"event": "PreToolUse", "tool": {"name": tool, "input": input}}));
        assert_eq!(verdict["subject"], expected, "{tool}: {verdict}");
        assert_eq!(verdict["decision"], "allow", "{tool}: {verdict}");
    }
}

/// Whatever a hook says of an event in the log, secrets are not in it, and no text of a client
/// begins a line.
#[test]
fn no_secret_and_no_line_of_others_is_in_the_log() {
    const SECRET: &str = "ghp_4kD9xQ2mZ7vB1nR8sT3wY6uE5iO0pL2aJ7hG";
    let quotes = |name: &str, handler: Value| {
        let mut hook = json!({"name": name, "on": "PreToolUse"});
        hook.as_object_mut()
            .unwrap()
            .extend(handler.as_object().unwrap().clone());
        hook
    };
    let python = "import sys\ndef f(event):\n    print(event, file=sys.stderr, flush=True)\n    raise ValueError(event)\n";
    let mut all = vec![
        quotes(
            "throws",
            json!({"script": "\nthrow new Error(JSON.stringify(event))"}),
        ),
        quotes(
            "logs",
            json!({"script": "log.error(event.tool.input.command); log.debug(JSON.stringify(event))"}),
        ),
        quotes("fails", json!({"command": "cat >&2; exit 3"})),
        quotes("warns", json!({"command": "cat >&2"})),
        quotes("babbles", json!({"command": "cat", "dialect": "agentpool"})),
        quotes(
            "replies",
            json!({"command": {"run": "cat", "stdout": "reply"}}),
        ),
        quotes("tells", json!({"command": {"run": "cat", "stdout": "log"}})),
    ];
    if is_there("python3") {
        all.push(quotes("raises", json!({"callable": {"python": "mine:f"}})));
    }
    let dir = hooks(&[("hooks.json", &definitions(&all)), ("mine.py", python)]);
    for format in [None, Some("--log-json")] {
        let log = dir.path().join("log.txt");
        let mut command = serve(dir.path());
        command
            .args(["--log", "debug"])
            .args(format)
            .stderr(std::fs::File::create(&log).unwrap());
        let mut host = TestHost::start(&mut command);
        host.bash(&format!(
            "curl -H 'Authorization: token {SECRET}' https://example.com"
        ));
        host.notify("bad\nWARN forged\u{1b}[2K", json!({}));
        host.refused("worse\nWARN forged", json!({}));
        host.refused("hooks/list", json!({"event": {"a\nWARN forged": SECRET}}));
        drop(host);
        let text = std::fs::read_to_string(log).unwrap();
        assert!(
            !text.contains(SECRET) && !text.contains(&SECRET[4..]),
            "{text}"
        );
        assert!(
            text.contains("[redacted]") && text.contains("curl"),
            "{text}"
        );
        for hook in all
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .filter(|it| *it != "replies")
        {
            assert!(text.contains(hook), "{hook}: {text}");
        }
        // Where to look for the mistake.
        assert!(
            text.contains("at line 2 of the script") || text.contains("of the definition"),
            "{text}"
        );
        assert!(
            text.contains("forged") && !text.lines().any(|line| line.starts_with("WARN")),
            "{text}"
        );
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
