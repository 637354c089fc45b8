//! `serve --listen http://`: agents' http hooks, single messages, sessions over WebSockets, and who
//! is refused.

use crate::support::*;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

const DEFINITIONS: &str = "
hooks:
  - { name: no-push, on: PreToolUse, if: Bash(git push*), deny: Not from here. }
  - { name: careful, on: PreToolUse, if: Bash(pay *), ask: This pays. }
  - { name: shout, on: PreToolUse, if: Bash(echo *), rewrite: { patch: { command: echo HI } } }
  - { name: tidy, on: UserPromptSubmit, command: { run: echo be brief, stdout: context } }
  - { name: slow, on: PreToolUse, if: Bash(sleep *), fail: closed, command: 'echo $$ > \"$HOME/pid\"; exec sleep 1000' }
";

/// A host that listens on some port, with everything that it logs.
struct HttpHost {
    child: Child,
    port: u16,
    token: String,
    token_file: PathBuf,
    log: Option<JoinHandle<String>>,
    _runtime: tempfile::TempDir,
    home: tempfile::TempDir,
}

impl HttpHost {
    fn start(arguments: &[&str]) -> HttpHost {
        let (runtime, home) = (
            tempfile::tempdir().unwrap(),
            hooks(&[("hooks/hooks.yaml", DEFINITIONS)]),
        );
        let mut command = serve(&home.path().join("hooks"));
        command
            .args(["--log", "trace", "--listen", "http://127.0.0.1:0", "--root"])
            .arg(home.path())
            .args(arguments);
        command
            .env("XDG_RUNTIME_DIR", runtime.path())
            .env("HOME", home.path());
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut log = String::new();
        while !log.contains("listening on") {
            assert_ne!(stderr.read_line(&mut log).unwrap(), 0, "{log}");
        }
        let said = log.lines().last().unwrap().to_string();
        let (port, file) = said
            .split_once("127.0.0.1:")
            .unwrap()
            .1
            .split_once("; the token is in ")
            .unwrap();
        let (port, token_file) = (port.parse().unwrap(), PathBuf::from(file));
        let token = std::fs::read_to_string(&token_file).unwrap();
        let rest = move || {
            stderr.read_to_string(&mut log).unwrap();
            log
        };
        let log = Some(std::thread::spawn(rest));
        HttpHost {
            child,
            port,
            token,
            token_file,
            log,
            _runtime: runtime,
            home,
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// What every good request has.
    fn headers(&self) -> Vec<(&'static str, String)> {
        vec![
            ("Host", format!("127.0.0.1:{}", self.port)),
            ("Authorization", format!("Bearer {}", self.token)),
        ]
    }

    fn head(&self, line: &str, headers: &[(&str, String)], length: usize) -> String {
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        format!("{line} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n")
    }

    fn post(&self, path: &str, body: &str) -> Reply {
        let mut stream = self.connect();
        let head = self.head(&format!("POST {path}"), &self.headers(), body.len());
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
        Reply::read(&mut stream)
    }

    fn rpc(&self, message: &Value) -> Value {
        serde_json::from_str(&self.post("/rpc", &message.to_string()).body).unwrap()
    }

    /// What an agent's http hook gets.
    fn hook(&self, target: &str, payload: &Value) -> Value {
        said(&self.post(&format!("/hook/{target}"), &payload.to_string()))
    }

    fn open(&self, headers: &[(&str, String)]) -> Result<WebSocket<TcpStream>, String> {
        let url = format!("ws://127.0.0.1:{}/rpc", self.port);
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            let name: tokio_tungstenite::tungstenite::http::HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let (socket, response) =
            client(request, self.connect()).map_err(|error| error.to_string())?;
        assert!(
            !format!("{:?}", response.headers()).contains(&self.token),
            "the token is sent back"
        );
        Ok(socket)
    }

    /// Ends the host in good order and gives its log.
    fn end(&mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(128 + 15));
        self.log.take().unwrap().join().unwrap()
    }
}

impl Drop for HttpHost {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn read(stream: &mut TcpStream) -> Reply {
        // Whoever is refused before all is sent sees the connection reset behind the reply.
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no reply: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply {
            status,
            head: head.to_lowercase(),
            body: body.into(),
        }
    }
}

/// The reply to an http hook, null if there is nothing to say. To agents anything but a 2xx is a
/// hook that failed.
fn said(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", reply.body);
    if reply.body.is_empty() {
        Value::Null
    } else {
        serde_json::from_str(&reply.body).unwrap()
    }
}

fn pre_tool(command: &str) -> Value {
    json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t",
        "tool_input": {"command": command}
    })
}

fn denied(reply: &Value) -> &str {
    assert_eq!(
        reply["hookSpecificOutput"]["permissionDecision"], "deny",
        "{reply}"
    );
    reply["hookSpecificOutput"]["permissionDecisionReason"]
        .as_str()
        .unwrap()
}

#[test]
fn an_http_hook_is_answered_as_a_command_hook_is() {
    let mut host = HttpHost::start(&[]);
    let prompt = json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "hi"});
    let copilot =
        json!({"sessionId": "s", "toolName": "bash", "toolArgs": {"command": "git push"}});
    for (agent, event, payload) in [
        ("claude-code", "", pre_tool("git push")),
        ("claude-code", "", pre_tool("pay 5")),
        ("claude-code", "", pre_tool("echo hi")),
        ("claude-code", "", pre_tool("ls")),
        ("claude-code", "", prompt.clone()),
        ("qwen", "", pre_tool("git push")),
        ("codex", "", pre_tool("git push")),
        ("copilot", "preToolUse", copilot),
    ] {
        let mut command = hookwire();
        command
            .args([
                "hook",
                agent,
                "--no-host",
                "--no-self-defense",
                "--isolated",
                "--root",
            ])
            .arg(host.home.path());
        command.arg("--hooks").arg(host.home.path().join("hooks"));
        let query = if event.is_empty() {
            String::new()
        } else {
            format!("?event={event}")
        };
        if !event.is_empty() {
            command.args(["--event", event]);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(payload.to_string().as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let by_command = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        assert_eq!(
            host.hook(&format!("{agent}{query}"), &payload),
            by_command,
            "{agent} {payload}"
        );
    }
    assert_eq!(
        denied(&host.hook("claude-code", &pre_tool("git push"))),
        "Not from here."
    );
    assert_eq!(host.hook("claude-code", &pre_tool("ls")), Value::Null);
    let rewritten =
        &host.hook("claude-code", &pre_tool("echo hi"))["hookSpecificOutput"]["updatedInput"];
    assert_eq!(rewritten["command"], "echo HI");
    let context = &host.hook("claude-code", &prompt)["hookSpecificOutput"]["additionalContext"];
    assert_eq!(context, "be brief");
    assert_eq!(host.post("/hook/nobody", "{}").status, 404);
    // An editor or another terminal finds the host by its socket.
    let runtime = host.token_file.parent().unwrap().parent().unwrap();
    let status = hookwire()
        .args(["host", "status"])
        .env("XDG_RUNTIME_DIR", runtime)
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&status.stdout).contains("5 hooks"),
        "{status:?}"
    );
    // The token is in its file, for its user alone, as long as the host runs, and nowhere else.
    let mode = std::fs::metadata(&host.token_file)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let log = host.end();
    assert!(!log.contains(&host.token), "{log}");
    assert!(!host.token_file.exists());
}

#[test]
fn a_failure_inside_is_a_verdict_that_the_agent_obeys() {
    let host = HttpHost::start(&["--max-message", "2000"]);
    let push = pre_tool("git push").to_string();
    let long = pre_tool(&"x".repeat(100_000)).to_string();
    let stop = json!({"session_id": "s", "hook_event_name": "Stop"}).to_string();
    let sleep = pre_tool("sleep 1").to_string();
    for (target, body, expected) in [
        (
            "",
            "not JSON",
            Some("hookwire failed, so this is denied: the event is not JSON"),
        ),
        ("", "{}", Some("hookwire failed, so this is denied: ")),
        (
            "",
            &long,
            Some("hookwire failed, so this is denied: the message is longer than 2000 bytes"),
        ),
        (
            "?event=PreTolUse",
            &push,
            Some("no such event, did you mean PreToolUse?"),
        ),
        ("?fial=open", &push, Some("?fial: there are event")),
        ("?timeout=soon", &push, Some("?timeout=")),
        ("?timeout=20ms", &sleep, Some("hook `slow` failed to ")),
        ("?fail=open", "not JSON", None),
        ("?fail=open&event=PreToolUse", &long, None),
        // The agent would be sent back to work for ever.
        ("?event=Stop", "not JSON", None),
        ("", &stop, None),
        (
            "",
            r#"{"hook_event_name": "Stop", "last_assistant_message": nan}"#,
            None,
        ),
    ] {
        let reply = said(&host.post(&format!("/hook/claude-code{target}"), body));
        match expected {
            Some(expected) => assert!(denied(&reply).contains(expected), "{target}: {reply}"),
            None => assert_eq!(reply, Value::Null, "{target}"),
        }
    }
    // What isn't a tool call is refused in that event's own words.
    for (target, body) in [
        ("?event=UserPromptSubmit", "not JSON"),
        (
            "",
            r#"{"hook_event_name": "UserPromptSubmit", "prompt": nan}"#,
        ),
        (
            "",
            r#"{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": {"stdout": "cut"#,
        ),
    ] {
        let reply = said(&host.post(&format!("/hook/claude-code{target}"), body));
        assert_eq!(reply["decision"], "block", "{target} {body}");
    }
}

#[test]
fn a_message_or_a_batch_is_answered_and_forgotten() {
    let host = HttpHost::start(&[]);
    let request = |id: u32, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let push = request(1, "hooks/dispatch", bash("git push"));
    assert_eq!(
        short(&host.rpc(&push)),
        "1: deny by no-push: Not from here."
    );
    let set = json!({"jsonrpc": "2.0", "method": "state/set", "params": {"key": "a", "value": 1}});
    let reply = host.post("/rpc", &set.to_string());
    assert_eq!((reply.status, &*reply.body), (204, ""));
    // A batch is one session, the next request another; its client can be asked nothing, so a
    // person isn't.
    let wants = json!({"capabilities": {"hooks": {
        "requests": ["approval/request"], "notifications": ["hooks/executed"], "decisions": ["allow", "deny"]
    }}});
    let batch = json!([
        request(1, "initialize", wants),
        request(2, "hooks/dispatch", bash("pay 5")),
        request(3, "state/get", json!({"key": "a"})),
        set,
    ]);
    let replies = host.rpc(&batch);
    let mut replies: Vec<_> = replies.as_array().unwrap().iter().map(short).collect();
    replies.sort();
    assert_eq!(replies[0], "1: ok");
    assert!(
        replies[1].starts_with("2: deny by careful: This pays."),
        "{replies:?}"
    );
    assert_eq!(replies[2..], ["3: ok"]);
    for (message, expected) in [
        (
            request(
                1,
                "hooks/register",
                json!({"hooks": [{"name": "c", "on": "Stop", "callback": "c"}]}),
            )
            .to_string(),
            "1: -32600 invalid request: hooks are registered over a connection that stays; this one ends with its reply",
        ),
        (
            "[]".into(),
            "null: -32600 invalid request: a batch has 1 to 1000 messages, found 0",
        ),
        (
            String::new(),
            "null: -32700 parse error: EOF while parsing a value at line 1 column 0",
        ),
    ] {
        let reply = serde_json::from_str(&host.post("/rpc", &message).body).unwrap();
        assert_eq!(short(&reply), expected, "{message}");
    }
}

#[test]
fn who_has_no_business_here_is_refused() {
    let mut host = HttpHost::start(&["--max-message", "2000", "--origin", "https://ide.example"]);
    let [own, token] = &host.headers()[..] else {
        panic!()
    };
    let dispatch =
        json!({"jsonrpc": "2.0", "id": 1, "method": "hooks/dispatch", "params": bash("ls")})
            .to_string();
    let header = |name: &'static str, value: &str| (name, value.to_string());
    let wrong = header("Authorization", &format!("Bearer {}", "0".repeat(64)));
    let good = [own.clone(), token.clone()];
    let foreign = [header("Host", "hooks.evil.example"), token.clone()];
    let page = [
        own.clone(),
        token.clone(),
        header("Origin", "https://evil.example"),
    ];
    let allowed = [
        own.clone(),
        token.clone(),
        header("Origin", "https://ide.example"),
    ];
    let long_head = [
        own.clone(),
        token.clone(),
        header("X-Long", &"x".repeat(20_000)),
    ];
    for (line, headers, body, status) in [
        ("POST /rpc", &good[..], &dispatch, 200),
        ("POST /rpc", &allowed, &dispatch, 200),
        ("POST /rpc", std::slice::from_ref(own), &dispatch, 401),
        ("POST /rpc", &[own.clone(), wrong.clone()], &dispatch, 401),
        (
            "POST /hook/claude-code",
            &[own.clone(), wrong],
            &dispatch,
            401,
        ),
        ("POST /rpc", &foreign, &dispatch, 403),
        ("POST /rpc", &page, &dispatch, 403),
        ("OPTIONS /rpc", &page, &dispatch, 403),
        ("OPTIONS /rpc", &allowed, &dispatch, 405),
        ("GET /hook/claude-code", &good, &dispatch, 405),
        ("GET /rpc", &good, &dispatch, 400),
        ("POST /", &good, &dispatch, 404),
        ("POST /rpc", &good, &"x".repeat(2001), 413),
        ("POST /rpc", &long_head, &dispatch, 431),
    ] {
        let mut stream = host.connect();
        let head = host.head(line, headers, body.len());
        // Who is refused by its head alone is answered before the body is sent.
        stream.write_all(head.as_bytes()).unwrap();
        if [200, 413].contains(&status) {
            stream.write_all(body.as_bytes()).unwrap();
        }
        let reply = Reply::read(&mut stream);
        assert_eq!(reply.status, status, "{line} {headers:?}: {}", reply.body);
        assert!(!reply.head.contains("access-control"), "{}", reply.head);
    }
    let in_pieces = "Transfer-Encoding: chunked\r\n\r\n800\r\n";
    let head = host
        .head("POST /rpc", &good, 0)
        .replace("Content-Length: 0\r\n\r\n", in_pieces);
    let mut stream = host.connect();
    stream
        .write_all(format!("{head}{}\r\n0\r\n\r\n", "x".repeat(0x800)).as_bytes())
        .unwrap();
    assert_eq!(Reply::read(&mut stream).status, 413);
    let log = host.end();
    assert!(
        log.contains("its token is missing or wrong") && !log.contains("evil.example"),
        "{log}"
    );

    let refused = |arguments: &[&str], token: &str| {
        let mut command = hookwire();
        command
            .args(["serve", "--isolated", "--no-share"])
            .args(arguments)
            .env("HOOKWIRE_TOKEN", token);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let here = ["--listen", "http://127.0.0.1:0"];
    for (arguments, token, expected) in [
        (
            &["--listen", "http://0.0.0.0:80"][..],
            "",
            "this machine's own addresses only",
        ),
        (
            &["--listen", "http://example.com:80"],
            "",
            "this machine's own addresses only",
        ),
        (
            &["--listen", "http://127.0.0.1"],
            "",
            "write http://127.0.0.1:PORT",
        ),
        (
            &["--listen", "https://127.0.0.1:80"],
            "",
            "write unix:PATH or http://127.0.0.1:PORT",
        ),
        (
            &["--origin", "https://a.example"],
            "",
            "are for --listen http://127.0.0.1:PORT",
        ),
        (
            &here,
            "short",
            "HOOKWIRE_TOKEN: a token has at least 32 characters",
        ),
        (&[here[0], here[1], "--origin", "*"], "", "--origin"),
        (
            &[here[0], here[1], "--token-file", "/dev/null"],
            "",
            "not a regular file",
        ),
    ] {
        let said = refused(arguments, token);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "0123456789abcdef0123456789abcdef\n").unwrap();
    std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o644)).unwrap();
    let said = refused(
        &[
            here[0],
            here[1],
            "--token-file",
            file.path().to_str().unwrap(),
        ],
        "",
    );
    assert!(said.contains("others can read it"), "{said}");
}

#[test]
fn a_slow_client_holds_no_other() {
    let host = HttpHost::start(&[]);
    let push = pre_tool("git push").to_string();
    let mut slow: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = host.connect();
            let head = host.head("POST /hook/claude-code", &host.headers(), push.len());
            stream
                .write_all(format!("{head}{}", &push[..10]).as_bytes())
                .unwrap();
            stream
        })
        .collect();
    // Beside them, one whose head never ends.
    host.connect()
        .write_all(b"POST /rpc HTTP/1.1\r\nHost: ")
        .unwrap();
    assert_eq!(
        denied(&host.hook("claude-code", &pre_tool("git push"))),
        "Not from here."
    );
    for stream in &mut slow {
        stream.write_all(&push.as_bytes()[10..]).unwrap();
        assert_eq!(denied(&said(&Reply::read(stream))), "Not from here.");
    }
}

#[test]
fn who_goes_away_takes_its_hooks_along() {
    let host = HttpHost::start(&[]);
    let sleep = pre_tool("sleep 1").to_string();
    let mut stream = host.connect();
    let head = host.head("POST /hook/claude-code", &host.headers(), sleep.len());
    stream
        .write_all(format!("{head}{sleep}").as_bytes())
        .unwrap();
    let pid = pid_in(&host.home.path().join("pid"));
    drop(stream);
    await_end(pid, "the hook ends");
}

#[test]
fn a_host_that_is_killed_gives_no_verdict() {
    let mut host = HttpHost::start(&[]);
    let sleep = pre_tool("sleep 1").to_string();
    let mut stream = host.connect();
    let head = host.head("POST /hook/claude-code", &host.headers(), sleep.len());
    stream
        .write_all(format!("{head}{sleep}").as_bytes())
        .unwrap();
    let mut socket = host.open(&host.headers()[1..]).unwrap();
    let pid = pid_in(&host.home.path().join("pid"));
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    assert_eq!(reply, b"");
    assert!(socket.read().is_err());
    assert!(TcpStream::connect(("127.0.0.1", host.port)).is_err());
    await_end(pid, "the hook ends");
}

#[test]
fn a_websocket_is_a_session_in_both_directions() {
    let host = HttpHost::start(&["--max-message", "100000", "--origin", "https://ide.example"]);
    let token = || host.headers().remove(1);
    let mut socket = host.open(&[token()]).unwrap();
    let request = |id: u32, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let receive = |socket: &mut WebSocket<TcpStream>| -> Value {
        loop {
            match socket.read().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    };
    // The end of a line within a message isn't its end.
    let spread = request(1, "hooks/dispatch", bash("git push")).replace(',', ",\n\r\n");
    socket.send(Message::text(spread)).unwrap();
    assert_eq!(
        short(&receive(&mut socket)),
        "1: deny by no-push: Not from here."
    );
    socket.send(Message::Ping("p".into())).unwrap();
    let mine = json!([{"name": "mine", "on": "PreToolUse", "callback": "c"}]);
    socket
        .send(Message::text(request(
            2,
            "hooks/register",
            json!({ "hooks": mine }),
        )))
        .unwrap();
    assert_eq!(short(&receive(&mut socket)), "2: ok");
    socket
        .send(Message::text(request(3, "hooks/dispatch", bash("ls"))))
        .unwrap();
    let asked = receive(&mut socket);
    assert_eq!(
        (asked["method"].as_str(), &asked["params"]["callback"]),
        (Some("hooks/invoke"), &json!("c"))
    );
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"decision": "deny", "reason": "mine"}});
    socket.send(Message::text(answer.to_string())).unwrap();
    assert_eq!(short(&receive(&mut socket)), "3: deny by mine: mine");
    // The rights are a guest's, and the hooks are this session's.
    let command = json!([{"name": "x", "on": "Stop", "command": "touch /tmp/x"}]);
    socket
        .send(Message::text(request(
            4,
            "hooks/register",
            json!({ "hooks": command }),
        )))
        .unwrap();
    assert!(short(&receive(&mut socket)).contains("only callbacks can be registered"));
    let protocol = (
        "sec-websocket-protocol",
        format!("hookwire, hookwire.token.{}", host.token),
    );
    let mut other = host
        .open(&[protocol, ("origin", "https://ide.example".into())])
        .unwrap();
    other
        .send(Message::text(request(1, "hooks/dispatch", bash("ls"))))
        .unwrap();
    assert_eq!(short(&receive(&mut other)), "1: allow");
    // A long message, and one that is too long.
    other
        .send(Message::text(request(
            2,
            "hooks/dispatch",
            bash(&format!("echo {}", "x".repeat(90_000))),
        )))
        .unwrap();
    assert_eq!(
        receive(&mut other)["result"]["subject"],
        json!({"command": "echo HI"})
    );
    let _ = other.send(Message::text("x".repeat(100_001)));
    assert!(!matches!(other.read(), Ok(Message::Text(_))));
    // `exit` ends the session and not the host.
    socket
        .send(Message::text(
            json!({"jsonrpc": "2.0", "method": "exit"}).to_string(),
        ))
        .unwrap();
    assert!(matches!(socket.read(), Ok(Message::Close(_))));
    for headers in [
        vec![],
        vec![("authorization", format!("Bearer {}", "0".repeat(64)))],
        vec![(
            "sec-websocket-protocol",
            format!("hookwire, hookwire.token.{}", "0".repeat(64)),
        )],
        vec![token(), ("origin", "https://evil.example".into())],
        vec![token(), ("host", "evil.example".into())],
    ] {
        let refused = host
            .open(&headers)
            .err()
            .unwrap_or_else(|| panic!("{headers:?} was let in"));
        assert!(refused.starts_with("HTTP error: 40"), "{refused}");
    }
}

#[test]
fn it_ends_once_nobody_is_connected() {
    let mut command: Command = serve(no_hooks());
    command.args([
        "--no-share",
        "--listen",
        "http://localhost:0",
        "--idle-exit",
        "1ms",
    ]);
    let token = "0123456789abcdef0123456789abcdef";
    let output = command
        .env("HOOKWIRE_TOKEN", token)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("; the token is in HOOKWIRE_TOKEN") && !said.contains(token),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(0));
}
