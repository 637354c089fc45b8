//! `hookwire inspect`: what the page is told and may ask, and who is refused.

use super::support::*;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tempfile::TempDir;

const RULES: &str = "
hooks:
  - { name: no-push, on: PreToolUse, if: Bash(git push*), deny: Not from here. }
  - { name: careful, on: PreToolUse, if: Bash(pay *), ask: This pays. }
";

/// A person's directories: a project with definitions, and everything else of theirs.
struct Desk(TempDir);

impl Desk {
    fn new() -> Desk {
        let desk = Desk(hooks(&[
            ("project/.hookwire/rules.yaml", RULES),
            ("run/empty", ""),
            ("home/empty", ""),
        ]));
        std::fs::set_permissions(
            desk.at("run"),
            std::os::unix::fs::PermissionsExt::from_mode(0o700),
        )
        .unwrap();
        assert!(
            desk.command()
                .args(["trust", "--yes"])
                .output()
                .unwrap()
                .status
                .success()
        );
        desk
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn command(&self) -> Command {
        let mut command = hookwire();
        for (name, value) in [
            ("XDG_RUNTIME_DIR", "run"),
            ("HOME", "home"),
            ("XDG_DATA_HOME", "home/data"),
        ] {
            command.env(name, self.at(value));
        }
        command
            .env("XDG_CONFIG_HOME", self.at("home/config"))
            .current_dir(self.at("project"));
        command
            .arg("--user-dir")
            .arg(self.at("home/config"))
            .arg("--data-dir")
            .arg(self.at("home/data"));
        command
    }

    /// An agent that is about to run a command.
    fn agent(&self, command: &str) -> Child {
        self.agent_that_waits("60s", command)
    }

    fn agent_that_waits(&self, limit: &str, command: &str) -> Child {
        // A call of the same name is the same one, which is judged once.
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let call = CALLS.fetch_add(1, Ordering::Relaxed).to_string();
        let event = json!({
            "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": call,
            "tool_input": {"command": command}, "cwd": self.at("project"),
        });
        self.hook_that_waits("codex", limit, event)
    }

    fn event(&self, payload: Value) -> Child {
        self.hook("codex", payload)
    }

    fn hook(&self, agent: &str, payload: Value) -> Child {
        self.hook_that_waits(agent, "60s", payload)
    }

    /// With how long somebody who looks at the page may take for an answer.
    fn hook_that_waits(&self, agent: &str, limit: &str, payload: Value) -> Child {
        let mut command = self.command();
        let agent = command.args([
            "hook",
            agent,
            "--idle-exit",
            "60s",
            "--ask-elsewhere",
            limit,
        ]);
        let mut agent = agent
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        agent
            .stdin
            .take()
            .unwrap()
            .write_all(payload.to_string().as_bytes())
            .unwrap();
        agent
    }

    fn inspect(&self) -> Page {
        let mut command = self.command();
        command.args(["inspect", "--no-open", "--format", "json"]);
        Page::start(command)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.command().args(["host", "stop", "--all"]).output();
    }
}

/// The agent's reply.
fn reply(agent: Child) -> Value {
    let output = agent.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

/// Headers of a request.
type Headers = Vec<(&'static str, String)>;

/// What a browser does.
pub(super) struct Page {
    child: Child,
    port: u16,
    start: String,
    token: String,
}

impl Page {
    /// Of a `hookwire inspect --no-open --format json`.
    pub(super) fn start(mut command: Command) -> Page {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        let url: Value = serde_json::from_str(&said).unwrap();
        let (address, start) = url["url"].as_str().unwrap().split_once("/#start=").unwrap();
        let port = address
            .strip_prefix("http://127.0.0.1:")
            .unwrap()
            .parse()
            .unwrap();
        Page {
            child,
            port,
            start: start.to_string(),
            token: String::new(),
        }
    }

    fn headers(&self) -> Headers {
        vec![
            ("Host", format!("127.0.0.1:{}", self.port)),
            ("Origin", format!("http://127.0.0.1:{}", self.port)),
            ("Content-Type", "application/json".into()),
            ("Authorization", format!("Bearer {}", self.token)),
        ]
    }

    /// Headers with which something would be changed, and the status that they get.
    pub(super) fn kinds_of_headers(&self) -> Vec<(&'static str, Headers, u16)> {
        let with = |name: &str, value: &str| {
            let mut headers = self.headers();
            headers.retain(|(it, _)| *it != name);
            headers.extend((!value.is_empty()).then(|| (leak(name), value.to_string())));
            headers
        };
        let twice = |name: &str, value: &str| {
            let mut headers = self.headers();
            headers.push((leak(name), value.to_string()));
            headers
        };
        let own = format!("127.0.0.1:{}", self.port);
        vec![
            ("all is well", self.headers(), 200),
            ("a foreign host", with("Host", "evil.example"), 403),
            (
                "another name of this machine",
                with("Host", &format!("localhost:{}", self.port)),
                403,
            ),
            ("another port", with("Host", "127.0.0.1:1"), 403),
            ("two hosts", twice("Host", &own), 400),
            ("no origin", with("Origin", ""), 403),
            (
                "a foreign origin",
                with("Origin", "http://evil.example"),
                403,
            ),
            ("an origin without a place", with("Origin", "null"), 403),
            (
                "another port's origin",
                with("Origin", "http://127.0.0.1:1"),
                403,
            ),
            (
                "the secure origin",
                with("Origin", &format!("https://{own}")),
                403,
            ),
            (
                "two origins",
                twice("Origin", &format!("http://{own}")),
                403,
            ),
            ("a form's type", with("Content-Type", "text/plain"), 415),
            ("no type", with("Content-Type", ""), 415),
            ("no token", with("Authorization", ""), 401),
            (
                "the start token",
                with("Authorization", &format!("Bearer {}", self.start)),
                401,
            ),
            (
                "a wrong token",
                with("Authorization", &format!("Bearer {}0", self.token)),
                401,
            ),
        ]
    }

    fn send(&self, line: &str, headers: &[(&str, String)], body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let length = body.len();
        let request = format!(
            "{line} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        // Who is refused may be hung up on before all is sent.
        let _ = stream.write_all(request.as_bytes());
        BufReader::new(stream)
    }

    /// Status, head and body.
    pub(super) fn ask(
        &self,
        line: &str,
        headers: &[(&str, String)],
        body: &str,
    ) -> (u16, String, String) {
        let mut bytes = Vec::new();
        let _ = self.send(line, headers, body).read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no reply: {text:?}"));
        (
            head.split(' ').nth(1).unwrap().parse().unwrap(),
            head.to_lowercase(),
            body.into(),
        )
    }

    fn exchange(&self, start: &str) -> Option<String> {
        let (status, _, body) = self.ask(
            "POST /api/session",
            &self.headers()[..3],
            &json!({ "start": start }).to_string(),
        );
        assert_eq!(status == 200, body.starts_with('{'), "{status} {body}");
        Some(
            serde_json::from_str::<Value>(&body).ok()?["token"]
                .as_str()
                .unwrap()
                .to_string(),
        )
    }

    pub(super) fn opened(mut self) -> Page {
        self.token = self.exchange(&self.start).expect("the link is new");
        self
    }

    pub(super) fn call(&self, body: &Value) -> Value {
        let (status, _, reply) = self.ask("POST /api/call", &self.headers(), &body.to_string());
        assert_eq!(status, 200, "{reply}");
        serde_json::from_str(&reply).unwrap()
    }

    pub(super) fn result(&self, method: &str, host: &str, params: &Value) -> Value {
        let mut answer = self.call(&json!({ "method": method, "host": host, "params": params }));
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    pub(super) fn events(&self) -> Events {
        let mut stream = self.send("GET /api/events", &self.headers(), "");
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        Events(stream)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The stream, chunked as HTTP has it: a line of JSON is a message.
pub(super) struct Events(BufReader<TcpStream>);

impl Events {
    pub(super) fn until(&mut self, mut fits: impl FnMut(&Value) -> bool) -> Value {
        // The stream says something now and then, so it never runs into its time limit.
        let started = Instant::now();
        loop {
            assert!(started.elapsed() < PATIENCE, "it wasn't told");
            let mut line = Vec::new();
            assert_ne!(
                self.0.read_until(b'\n', &mut line).unwrap(),
                0,
                "the stream has ended"
            );
            let Ok(message) = serde_json::from_slice::<Value>(&line) else {
                continue;
            };
            if message.is_object() && fits(&message) {
                return message;
            }
        }
    }

    pub(super) fn verdict(&mut self, text: &str) -> Value {
        self.until(|it| {
            it["kind"] == "verdict"
                && it["about"]["text"]
                    .as_str()
                    .is_some_and(|it| it.contains(text))
        })
    }
}

#[test]
fn what_changes_something_comes_from_the_page_alone() {
    let desk = Desk::new();
    let page = desk.inspect().opened();
    let list = json!({ "method": "inspect/hosts" }).to_string();
    let start = json!({ "start": page.start }).to_string();
    for (why, headers, expected) in page.kinds_of_headers() {
        let (status, head, body) = page.ask("POST /api/call", &headers, &list);
        // hyper answers two hosts by itself or hands them on.
        assert!(
            status == expected || why == "two hosts" && status == 403,
            "{why}: {status} {body}"
        );
        assert!(
            !head.contains("set-cookie") && !head.contains("access-control-"),
            "{why}: {head}"
        );
        if ![401, 200].contains(&expected) {
            let (status, ..) = page.ask("POST /api/session", &headers, &start);
            assert!(
                status == expected || why == "two hosts" && status == 403,
                "session, {why}: {status}"
            );
        }
    }
    let own = format!("127.0.0.1:{}", page.port);
    for (line, expected) in [
        ("GET /api/call", 405),
        ("GET /api/session", 405),
        ("PUT /api/call", 405),
        ("OPTIONS /api/call", 405),
        ("DELETE /", 405),
        ("POST /", 405),
        ("GET /../Cargo.toml", 404),
        ("GET /api/other", 404),
        (&format!("GET http://{own}/"), 403),
        ("GET /api/events?after=x", 400),
    ] {
        let (status, ..) = page.ask(line, &page.headers(), "");
        assert_eq!(status, expected, "{line}");
    }
    let (status, ..) = page.ask("GET /api/events", &page.headers()[..3], "");
    assert_eq!(status, 401, "the stream has no token");
    let (status, ..) = page.ask("POST /api/call", &page.headers(), &"x".repeat(2 << 20));
    assert_eq!(status, 413);
    for body in [
        "",
        "[]",
        "{",
        r#"{"method":"inspect/hosts","method":"hooks/list"}"#,
        r#"{"method":"x","more":1}"#,
    ] {
        assert_eq!(
            page.ask("POST /api/call", &page.headers(), body).0,
            400,
            "{body}"
        );
    }
    for method in [
        "hooks/dispatch",
        "hooks/reload",
        "hooks/register",
        "state/set",
        "host/retire",
        "initialize",
        "exit",
    ] {
        let answer = page.call(&json!({ "method": method, "host": "1@x" }));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    let answer = page.call(&json!({ "method": "hooks/list", "host": "1@x" }));
    assert_eq!(answer["error"]["message"], "that host runs no more");
}

/// The name of a header.
fn leak(name: &str) -> &'static str {
    ["Host", "Origin", "Content-Type", "Authorization"]
        .into_iter()
        .find(|it| *it == name)
        .unwrap()
}

#[test]
fn the_page_may_load_nothing_of_others() {
    let desk = Desk::new();
    let page = desk.inspect();
    for path in ["/", "/app.js", "/app.css", "/editor.js"] {
        let (status, head, _) = page.ask(&format!("GET {path}"), &page.headers()[..1], "");
        assert_eq!(status, 200, "{path}");
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; ",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
            "referrer-policy: no-referrer",
        ] {
            assert!(head.contains(header), "{path}: {head}");
        }
        assert!(
            !head.contains("unsafe") && !head.contains("set-cookie"),
            "{path}: {head}"
        );
    }
}

#[test]
fn a_stolen_link_helps_nobody() {
    let desk = Desk::new();
    let page = desk.inspect().opened();
    let mut events = page.events();
    assert!(page.exchange("0123").is_none());
    assert_eq!(
        page.call(&json!({ "method": "inspect/hosts" }))["result"],
        json!({ "hosts": [] })
    );
    // Which of the two is the thief can't be told: neither goes on.
    assert!(page.exchange(&page.start).is_none());
    assert_eq!(
        page.ask(
            "POST /api/call",
            &page.headers(),
            r#"{"method":"inspect/hosts"}"#
        )
        .0,
        401
    );
    let mut rest = Vec::new();
    events.0.read_to_end(&mut rest).unwrap();
}

#[test]
fn an_event_comes_with_its_verdict_and_is_explained() {
    let desk = Desk::new();
    let page = desk.inspect().opened();
    let mut events = page.events();
    let denied = reply(desk.agent("git push -f"));
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    let message = events.verdict("git push -f");
    let about = &message["about"];
    assert_eq!(
        (&about["agent"], &about["session"]),
        (&json!("codex"), &json!("s")),
        "{about}"
    );
    assert_eq!(message["record"]["verdict"]["decidedBy"], "no-push");
    let host = message["host"].as_str().unwrap();
    let explained = page.result(
        "inspect/explain",
        host,
        &json!({ "seq": message["record"]["seq"] }),
    );
    assert_eq!(
        explained["commands"][0]["command"], "git push -f",
        "{explained}"
    );
    let hosts = page.result("inspect/hosts", "", &json!({}));
    assert_eq!(
        (&hosts["hosts"][0]["id"], &hosts["hosts"][0]["root"]),
        (&json!(host), &json!(desk.at("project")))
    );
    // What is defined, and only that, is read.
    let listed = page.result("hooks/list", host, &json!({}));
    let named = |it: &&Value| it["name"] == "no-push";
    let file = listed["hooks"]
        .as_array()
        .unwrap()
        .iter()
        .find(named)
        .unwrap()["source"]["file"]
        .clone();
    assert_eq!(
        page.result("inspect/definition", host, &json!({ "file": file }))["text"],
        RULES
    );
    for other in ["/etc/passwd", "built-in", "rules.yaml"] {
        let answer = page.call(
            &json!({ "method": "inspect/definition", "host": host, "params": { "file": other } }),
        );
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("no definition file"),
            "{answer}"
        );
    }
    assert_eq!(
        page.result("inspect/trust", host, &json!({}))["isTrusted"],
        true
    );
    replace(
        Path::new(file.as_str().unwrap()),
        &format!("{RULES}  - {{ name: more, on: Stop, deny: No. }}\n"),
    );
    let review = page.result("inspect/trust", host, &json!({}));
    let lines = review["lines"].as_array().unwrap();
    assert!(
        lines
            .iter()
            .any(|it| it["look"] == "added" && it["text"].as_str().unwrap().contains("more")),
        "{review}"
    );
}

/// To the letter, whether the host still runs or only the page knows the event.
#[test]
fn the_reply_is_what_the_agent_got() {
    let desk = Desk::new();
    let page = desk.inspect().opened();
    let mut events = page.events();
    let call = |command: &str| {
        json!({ "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": command,
            "tool_input": { "command": command }, "cwd": desk.at("project") })
    };
    let kiro = json!({ "session_id": "s", "hook_event_name": "preToolUse", "tool_name": "execute_bash",
        "tool_input": { "command": "git push kiro" }, "cwd": desk.at("project") });
    let mut records = Vec::new();
    for (agent, event, text, exit) in [
        ("codex", call("git push codex"), "push codex", 0),
        ("claude-code", call("ls claude"), "ls claude", 0),
        ("kiro", kiro, "push kiro", 2),
    ] {
        let got = desk.hook(agent, event).wait_with_output().unwrap();
        let record = events.verdict(text);
        let host = record["host"].as_str().unwrap().to_string();
        let seq = json!({ "seq": record["record"]["seq"] });
        let told = page.result("inspect/reply", &host, &seq);
        assert_eq!(
            (got.status.code(), &told["exit"]),
            (Some(exit), &json!(exit)),
            "{agent}: {got:?}"
        );
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_string();
        assert_eq!(
            said(&got.stdout),
            told["stdout"].as_str().unwrap(),
            "{agent}"
        );
        assert_eq!(
            said(&got.stderr),
            told["stderr"].as_str().unwrap(),
            "{agent}"
        );
        records.push((record["record"].clone(), told));
    }
    assert!(
        desk.command()
            .args(["host", "stop", "--all"])
            .output()
            .unwrap()
            .status
            .success()
    );
    for (record, told) in records {
        assert_eq!(
            page.result("inspect/reply", "", &json!({ "record": record })),
            told
        );
    }
}

#[test]
fn the_cases_that_reach_a_hook_are_named() {
    let desk = Desk::new();
    let rules = format!(
        "{RULES}  - {{ name: odd, on: PreToolUse, if: Bash(odd *), when: 'tool.name == \"x\"', deny: No. }}\n"
    );
    let pipe = desk.at("project/.hookwire/pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    // Nobody waits for who may write into a pipe, and what happens ten thousand times is looked at
    // once.
    let cases = "cases:\n  - { bash: git push -f, expect: deny }\n  - { recorded: 'pipe:1', expect: deny }\n  \
                 - { name: twice, bash: ls, before: [{ bash: git push, times: 10000 }], expect: allow }\n  - { bash: odd one }\n";
    let own = |name: &str| desk.at("project/.hookwire").join(name);
    std::fs::write(own("rules.yaml"), rules).unwrap();
    std::fs::write(own("rules.test.yaml"), cases).unwrap();
    assert!(
        desk.command()
            .args(["trust", "--yes"])
            .output()
            .unwrap()
            .status
            .success()
    );
    let page = desk.inspect().opened();
    let mut events = page.events();
    reply(desk.agent("ls"));
    let host = events.verdict("ls")["host"].as_str().unwrap().to_string();
    let covered = page.result("inspect/cases", &host, &json!({}));
    let of = |name: &str| {
        let hooks = covered["hooks"].as_array().unwrap();
        let hook = hooks.iter().find(|it| it["hook"] == name).unwrap();
        let told = |it: &Value| {
            let line = it["line"].as_u64().unwrap();
            (
                line,
                it["name"].as_str().unwrap().to_string(),
                it["expect"].clone(),
                it["maybe"] == true,
            )
        };
        hook["cases"]
            .as_array()
            .unwrap()
            .iter()
            .map(told)
            .collect::<Vec<_>>()
    };
    let pushes = [
        (2, "git push -f".into(), json!("deny"), false),
        (4, "twice".into(), json!("allow"), false),
    ];
    assert_eq!(of("no-push"), pushes, "{covered}");
    assert_eq!(of("careful"), []);
    assert_eq!(of("odd"), [(5, "odd one".into(), Value::Null, true)]);
    let file = json!({ "file": own("rules.yaml"), "cases": own("rules.test.yaml"), "isThere": true, "problems": [] });
    assert!(
        covered["files"].as_array().unwrap().contains(&file),
        "{covered}"
    );
    std::fs::write(own("rules.test.yaml"), "cases: [{ bash: 1 }]").unwrap();
    let covered = page.result("inspect/cases", &host, &json!({}));
    assert!(
        covered["files"][0]["problems"][0]
            .as_str()
            .unwrap()
            .contains("rules.test.yaml:1"),
        "{covered}"
    );
}

/// What would be in force is told, and nothing of it runs.
#[test]
fn a_definition_is_tried_without_its_handlers() {
    let desk = Desk::new();
    let page = desk.inspect().opened();
    let mut events = page.events();
    reply(desk.agent("ls"));
    let host = events.verdict("ls")["host"].as_str().unwrap().to_string();
    let touched = desk.at("home/touched");
    let marked = touched.display();
    let definition = format!(
        "hooks:\n  - {{ name: mark, on: PreToolUse, fail: open, command: 'touch {marked}' }}\n  \
           - {{ name: no-tag, on: PreToolUse, if: Bash(git tag*), deny: No. }}\n"
    );
    let event = |command: &str| json!({ "event": "PreToolUse", "tool": { "name": "Bash", "input": { "command": command } } });
    let payload = json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": "git tag x" } });
    for (event, applies) in [
        (event("git tag x"), true),
        (event("git log"), false),
        (
            json!({ "dialect": "claude-code", "payload": payload }),
            true,
        ),
    ] {
        let tried = page.result(
            "inspect/try",
            &host,
            &json!({ "definition": definition, "event": event }),
        );
        let hooks = tried["explanation"]["hooks"].as_array().unwrap();
        let of = |name: &str| hooks.iter().find(|it| it["hook"] == name).unwrap();
        assert_eq!(
            (&of("no-tag")["applies"], &of("mark")["applies"]),
            (&json!(applies), &json!(true)),
            "{tried}"
        );
        let decision = if applies { "deny" } else { "allow" };
        assert_eq!(
            (&tried["verdict"]["decision"], &tried["expect"]),
            (&json!(decision), &Value::Null),
            "{tried}"
        );
        assert_eq!(tried["notRun"], json!(["mark"]), "{tried}");
        assert_eq!(tried["diagnostics"], json!([]), "{tried}");
    }
    let slip = json!({ "definition": "hooks:\n  - { name: x, on: PreToolUs, deny: No. }", "path": "my.yaml", "event": event("ls") });
    let tried = page.result("inspect/try", &host, &slip);
    assert_eq!(
        (
            &tried["diagnostics"][0]["file"],
            &tried["diagnostics"][0]["range"]["start"]["line"]
        ),
        (&json!("my.yaml"), &json!(2)),
        "{tried}"
    );
    for params in [
        json!({ "definition": definition, "event": { "event": 1 } }),
        json!({ "definition": definition, "path": "../x.sh", "event": event("ls") }),
        json!({ "definition": definition }),
    ] {
        let answer = page.call(&json!({ "method": "inspect/try", "host": host, "params": params }));
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
    }
    assert!(!touched.exists(), "a handler has run");
}

/// Whoever connects without a token takes no place from the person, however many they are.
#[test]
fn strangers_keep_nobody_out_of_the_page() {
    let desk = Desk::new();
    let page = desk.inspect().opened();
    let mut events = page.events();
    // More than there are places for both kinds together.
    let silent: Vec<TcpStream> = (0..150)
        .map(|_| TcpStream::connect(("127.0.0.1", page.port)).unwrap())
        .collect();
    for _ in 0..3 {
        assert!(page.call(&json!({ "method": "inspect/hosts" }))["result"]["hosts"].is_array());
    }
    // The page that is open goes on.
    reply(desk.agent("ls"));
    events.verdict("ls");
    drop(silent);
}

/// The verdict of the page is that of `explain --run`, over what a failure means and what is in
/// doubt, and however the verdict comes about. A case that the page offers is as `hookwire test`
/// finds it.
#[test]
fn the_page_says_what_the_host_says() {
    let desk = Desk::new();
    let page = desk.inspect().opened();
    let mut events = page.events();
    reply(desk.agent("ls"));
    let host = events.verdict("ls")["host"].as_str().unwrap().to_string();
    let mut rows = Vec::new();
    let push = "name: h, on: PreToolUse, if: Bash(git push *)";
    for decision in ["deny", "ask", "allow"] {
        for fail in ["", ", fail: open", ", fail: closed", ", fail: ask"] {
            rows.push((
                format!("hooks: [{{ {push}, {decision}: Why{fail} }}]"),
                "git $VERB origin",
            ));
        }
        rows.push((
            format!("hooks: [{{ {push}, {decision}: Why }}]"),
            "git push origin",
        ));
    }
    let rewrite = "{ name: r, on: PreToolUse, if: Bash(npm *), rewrite: { replace: { member: tool.input.command, pattern: ^npm, with: pnpm } } }";
    for hooks in [
        format!("defaults: {{ fail: closed }}\nhooks: [{{ {push}, deny: Why }}]"),
        format!("hooks: [{{ {push}, deny: Why, async: true }}]"),
        format!("hooks: [{{ {push}, deny: Why, observe: true }}]"),
        format!(
            "hooks: [{{ {push}, script: \"return deny('Why')\" }}, {{ name: a, on: PreToolUse, allow: Fine }}]"
        ),
    ] {
        rows.extend(
            ["git $VERB origin", "git push origin"].map(|command| (hooks.clone(), command)),
        );
    }
    rows.push(("policy: { deny: ['Bash(rm *)'] }\nhooks: []".into(), "rm x"));
    rows.push((
        "policy: { allow: ['Bash(ls *)'] }\nhooks: []".into(),
        "rm x",
    ));
    rows.push((
        "policies: [{ name: p, deny: ['Bash(rm *)'] }]".into(),
        "rm x",
    ));
    rows.push((
        format!("hooks: [{rewrite}, {{ name: d, on: PreToolUse, if: Bash(pnpm *), deny: No. }}]"),
        "npm i",
    ));
    rows.push((
        format!("hooks: [{{ name: d, on: PreToolUse, if: Bash(pnpm *), deny: No. }}, {rewrite}]"),
        "npm i",
    ));
    rows.push((format!("hooks: [{rewrite}]"), "npm i"));
    let (mut decisions, mut cases) = (Vec::new(), String::new());
    for (nth, (definition, command)) in rows.iter().enumerate() {
        let event = json!({ "event": "PreToolUse", "tool": { "name": "Bash", "input": { "command": command } } });
        let tried = page.result(
            "inspect/try",
            &host,
            &json!({ "definition": definition, "event": event }),
        );
        let dir = desk.at("project").join(nth.to_string());
        let file = dir.join("definition.yaml");
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(&file, definition).unwrap();
        let mut explain = desk.command();
        explain
            .args([
                "--format",
                "json",
                "explain",
                "--run",
                "--isolated",
                "--bash",
                command,
                "--hooks",
            ])
            .arg(&dir);
        let output = explain.output().unwrap();
        let judged: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let judged = judged.get("verdict").unwrap_or(&judged);
        let of = |verdict: &Value| {
            ["decision", "decidedBy", "reason", "subject"].map(|it| verdict[it].clone())
        };
        assert_eq!(of(&tried["verdict"]), of(judged), "{definition} {command}");
        assert_eq!(tried["notRun"], json!([]), "{tried}");
        decisions.push(tried["verdict"]["decision"].as_str().unwrap().to_string());
        // Where there are no hooks, there is nothing to test.
        if let Some(expect) = tried
            .get("expect")
            .filter(|it| !it.is_null() && definition.contains("hooks:"))
        {
            cases.push_str(&format!(
                "  - {{ bash: {}, expect: {expect} }}\n",
                json!(command)
            ));
            let file = file.with_extension("test.yaml");
            std::fs::write(&file, format!("cases:\n{cases}")).unwrap();
            let tested = desk.command().arg("test").arg(&file).output().unwrap();
            assert!(
                tested.status.success(),
                "{definition} {cases}: {}",
                String::from_utf8_lossy(&tested.stdout)
            );
            cases.clear();
        }
    }
    // Each decision is among what was held together.
    assert!(
        ["allow", "ask", "deny"]
            .iter()
            .all(|it| decisions.iter().any(|decision| decision == it)),
        "{decisions:?}"
    );
}

#[test]
fn what_waits_is_answered_from_the_page() {
    let desk = Desk::new();
    let page = desk.inspect().opened();
    let mut events = page.events();
    for (decision, said) in [("approve", "allow"), ("deny", "deny")] {
        let agent = desk.agent("pay 5");
        let waits = events.until(|it| {
            it["kind"] == "approvals" && !it["approvals"].as_array().unwrap().is_empty()
        });
        let question = &waits["approvals"][0];
        assert_eq!(
            (&question["message"], &question["subject"]["command"]),
            (&json!("This pays."), &json!("pay 5"))
        );
        let host = question["host"].as_str().unwrap();
        assert_eq!(
            page.result("inspect/approvals", "", &json!({}))["approvals"][0]["id"],
            question["id"]
        );
        let answer = json!({ "id": question["id"], "reply": { "decision": decision, "reason": "from the page" } });
        assert_eq!(page.result("approvals/answer", host, &answer), Value::Null);
        let reply = reply(agent);
        let got = reply["hookSpecificOutput"]["permissionDecision"]
            .as_str()
            .unwrap_or("allow");
        assert_eq!(got, said, "{reply}");
        // In whichever order they come.
        let (mut is_judged, mut is_gone) = (false, false);
        events.until(|it| {
            is_judged |=
                it["about"]["text"] == "pay 5" && it["record"]["verdict"]["decision"] == said;
            is_gone |= it["kind"] == "approvals" && it["approvals"] == json!([]);
            is_judged && is_gone
        });
        let again =
            page.call(&json!({ "method": "approvals/answer", "host": host, "params": answer }));
        assert!(
            again["error"]["message"]
                .as_str()
                .unwrap()
                .contains("waits"),
            "{again}"
        );
    }
}

/// An answer for always: the page shows the host's words, and nothing else than that is written.
#[test]
fn an_answer_for_always_is_written_as_it_was_shown() {
    let desk = Desk::new();
    let page = desk.inspect().opened();
    let mut events = page.events();
    let agent = desk.agent("pay 5");
    let waits = events
        .until(|it| it["kind"] == "approvals" && !it["approvals"].as_array().unwrap().is_empty());
    let (question, rules) = (
        &waits["approvals"][0],
        desk.at("project/.hookwire/rules.yaml"),
    );
    let (id, host) = (&question["id"], question["host"].as_str().unwrap());
    let always = page.result("approvals/always", host, &json!({ "id": id }));
    let text = always["text"].to_string();
    assert!(text.contains("  unless: Bash(pay 5)"), "{text}");
    let other = json!({ "method": "inspect/always", "host": host, "params": { "id": id, "digest": "other" } });
    let refused = page.call(&other)["error"]["message"].to_string();
    assert!(refused.contains("look again"), "{refused}");
    assert_eq!(std::fs::read_to_string(&rules).unwrap(), RULES);
    let shown = json!({ "id": id, "digest": always["digest"] });
    let written = page.result("inspect/always", host, &shown);
    assert_eq!(written["files"].as_array().unwrap().len(), 2, "{written}");
    let reply = reply(agent);
    assert!(
        reply["hookSpecificOutput"]["permissionDecision"] != "deny",
        "{reply}"
    );
    let after = std::fs::read_to_string(&rules).unwrap();
    assert!(after.contains("unless: Bash(pay 5)"), "{after}");
}

#[test]
fn the_history_is_written_while_it_is_wanted_and_searched() {
    let desk = Desk::new();
    let page = desk.inspect().opened();
    let mut events = page.events();
    reply(desk.agent("git push -f before"));
    let host = events.verdict("before")["host"]
        .as_str()
        .unwrap()
        .to_string();
    assert_eq!(page.result("inspect/record", "", &json!({}))["on"], false);
    assert_eq!(
        page.result("inspect/history", "", &json!({}))["events"],
        json!([])
    );
    let on = page.result("inspect/record", "", &json!({ "on": true, "days": 7 }));
    assert_eq!(
        (&on["on"], &on["keeps"]),
        (&json!(true), &json!("7 days, 1024 MiB")),
        "{on}"
    );
    reply(desk.agent("cat notes.txt"));
    reply(desk.agent(&format!(
        "echo ghp_{}",
        "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1cD3"
    )));
    let texts = |query: &str| -> Vec<String> {
        let found = page.result("inspect/history", "", &json!({ "query": query }));
        let text = |it: &Value| it["about"]["text"].as_str().unwrap().to_string();
        found["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(text)
            .collect()
    };
    // What the host had kept is there, too.
    eventually("all is written", || (texts("").len() == 3).then_some(()));
    assert_eq!(texts("decision:deny"), ["git push -f before"]);
    assert_eq!(texts("notes agent:codex since:1h"), ["cat notes.txt"]);
    assert_eq!(texts("-push -notes"), ["echo [redacted]"]);
    let first = page.result("inspect/history", "", &json!({ "limit": 2 }));
    let rest = page.result(
        "inspect/history",
        "",
        &json!({ "limit": 2, "before": first["next"] }),
    );
    assert_eq!(
        (
            first["events"].as_array().unwrap().len(),
            rest["events"].as_array().unwrap().len()
        ),
        (2, 1)
    );
    assert!(
        rest.get("next").is_none() && rest["events"][0]["host"] == host.as_str(),
        "{rest}"
    );
    let answer =
        page.call(&json!({ "method": "inspect/history", "params": { "query": "colour:red" } }));
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`colour:red`"),
        "{answer}"
    );
    // What an edit would change.
    let rules = RULES.replace("git push*", "cat *");
    let against = json!({ "definition": rules, "path": "rules.yaml", "since": "1d" });
    let against = page.result("inspect/against", &host, &against);
    let changed = against["differences"].as_array().unwrap().iter();
    let changed: Vec<_> = changed
        .map(|it| {
            (
                &it["about"]["text"],
                &it["before"]["decision"],
                &it["after"]["decision"],
            )
        })
        .collect();
    let [allow, deny] = [json!("allow"), json!("deny")];
    let [push, cat] = [json!("git push -f before"), json!("cat notes.txt")];
    assert_eq!(
        changed,
        [(&push, &deny, &allow), (&cat, &allow, &deny)],
        "{against}"
    );
    assert_eq!(against["judged"], 3);
    let starts = json!({ "definition": "hooks: [{ name: x, on: PreToolUse, fail: open, command: 'touch x' }]", "since": "1d" });
    let answer = page.call(&json!({ "method": "inspect/against", "host": host, "params": starts }));
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`x` starts something"),
        "{answer}"
    );
    // The command line has the same, as lines that `replay` reads.
    let all = desk
        .command()
        .args(["history", "query", "--all", "--format", "json"])
        .output()
        .unwrap();
    std::fs::write(desk.at("all.jsonl"), &all.stdout).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&all.stdout).lines().count(),
        3,
        "{all:?}"
    );
    let replayed = desk
        .command()
        .args(["history", "replay", "--format", "json"])
        .arg(desk.at("all.jsonl"))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&replayed.stdout).lines().count(),
        3,
        "{replayed:?}"
    );
    assert_eq!(
        page.result("inspect/suggest", "", &json!({})),
        json!({ "proposals": [] })
    );
    assert_eq!(
        page.result("inspect/record", "", &json!({ "on": false }))["on"],
        false
    );
    reply(desk.agent("ls after"));
    events.verdict("after");
    assert_eq!(texts("").len(), 3);
}

#[test]
fn a_definition_is_saved_and_not_in_force() {
    let desk = Desk::new();
    let page = desk.inspect().opened();
    let mut events = page.events();
    reply(desk.agent("ls first"));
    let host = events.verdict("first")["host"]
        .as_str()
        .unwrap()
        .to_string();
    let definition =
        "hooks:\n  - { name: no-tag, on: PreToolUse, if: Bash(git tag*), deny: No. }\n";
    let cases = "cases:\n  - { bash: git tag x, expect: deny }\n";
    let save = |name: &str, definition: &str| {
        page.call(&json!({ "method": "inspect/save", "host": host,
            "params": { "name": name, "definition": definition, "cases": cases } }))
    };
    for (name, text, problem) in [
        ("../x", definition, "`name`"),
        ("", definition, "`name`"),
        ("Rules", definition, "`name`"),
        (
            "no-tag",
            "hooks:\n  - { name: x, on: PreToolUs, deny: No. }",
            "PreToolUs",
        ),
        ("rules", definition, "it is there already"),
    ] {
        let answer = save(name, text);
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains(problem),
            "{name}: {answer}"
        );
    }
    assert_eq!(
        save("no-tag", definition)["result"]["path"],
        json!(desk.at("project/.hookwire/no-tag.yaml"))
    );
    let tested = desk.command().arg("test").output().unwrap();
    assert!(tested.status.success(), "{tested:?}");
    let reply = reply(desk.agent("git tag x"));
    assert_ne!(
        reply["hookSpecificOutput"]["permissionDecision"], "deny",
        "nobody has trusted it"
    );
    assert_eq!(
        page.result("inspect/trust", &host, &json!({}))["isTrusted"],
        false
    );
}

#[test]
fn a_hostile_event_is_data() {
    let desk = Desk::new();
    let page = desk.inspect().opened();
    let mut events = page.events();
    let script = "echo '</script><script>alert(1)</script>' \u{202e}gnp.exe\u{0}\u{7f}\n{\"kind\":\"hosts\"}";
    // Nobody can read it, so a rule asks, and nobody answers.
    reply(desk.agent_that_waits("1s", script));
    let message = events.verdict("alert(1)");
    assert_eq!(
        message["record"]["params"]["payload"]["tool_input"]["command"],
        script
    );
    let text = message["about"]["text"].as_str().unwrap();
    assert!(!text.contains(['\u{202e}', '\u{0}', '\n']), "{text:?}");
    // Too much to be kept whole: it is told, without what it holds.
    reply(
        desk.event(json!({ "session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "x".repeat(1 << 20) })),
    );
    let message = events.until(|it| it["record"]["truncated"] == true);
    assert!(message["record"].get("params").is_none());
    let secret = format!("echo ghp_{}", "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1cD3");
    reply(desk.agent(&secret));
    assert!(
        !events
            .verdict("[redacted]")
            .to_string()
            .contains("ghp_aB3d")
    );
}

/// A program that `hookwire run` holds reaches the port, and isn't answered there.
#[test]
fn a_held_program_is_not_served() {
    if !is_there("curl") {
        return;
    }
    let desk = Desk::new();
    let page = desk.inspect();
    let url = format!("http://127.0.0.1:{}/", page.port);
    let get = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", &url];
    let free = Command::new(get[0]).args(&get[1..]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&free.stdout), "200");
    let held = desk
        .command()
        .args(["run", "--idle-exit", "1s", "--"])
        .args(get)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&held.stderr);
    // As in a container that forbids it.
    if said.contains("can't") {
        return skip(said.trim_end());
    }
    assert_eq!(String::from_utf8_lossy(&held.stdout), "403", "{said}");
    // Others go on.
    assert_eq!(page.ask("GET /", &page.headers()[..1], "").0, 200);
}
