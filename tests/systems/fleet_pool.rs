//! A pool as people use it: the built program answers, `hookwire hook` and the Python and
//! TypeScript clients ask, and hosts and the server are killed meanwhile.

use super::fleet::servers::{Servers, program};
use super::support::{eventually, hookwire, in_our_world, is_there, repo, skip};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How much later than its deadline an answer may be on a busy machine, process starts included, in
/// seconds.
const SLACK: f64 = 30.0;

pub(super) struct Scene {
    dir: TempDir,
    pub(super) servers: Servers,
}

/// A host of the pool.
pub(super) struct Member(Child);

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Scene {
    pub(super) fn new(program: &Path) -> Scene {
        let scene = Scene {
            dir: TempDir::new().unwrap(),
            servers: Servers::without_streams(program, 1),
        };
        for dir in ["project", "user", "data"] {
            fs::create_dir(scene.at(dir)).unwrap();
        }
        for user in ["pool-a", "pool-b", "thin-a", "host-a"] {
            fs::write(
                scene.at(&format!("{user}.conf")),
                scene.servers.settings_text(user),
            )
            .unwrap();
        }
        let thin = format!("pool = \"main\"\n{}", scene.servers.settings_text("thin-a"));
        fs::write(scene.at("thin-a.conf"), thin).unwrap();
        scene
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = hookwire();
        command.current_dir(self.dir.path());
        command
            .arg("--user-dir")
            .arg(self.at("user"))
            .arg("--data-dir")
            .arg(self.at("data"))
            .args(args);
        command.stdin(Stdio::null());
        command
    }

    /// A host of the pool that answers by now. The first host that is asked about `slow` says who
    /// it is and hangs; the next one has no opinion.
    pub(super) fn member(&self, name: &str) -> Member {
        let dir = self.dir.path().display();
        let text = format!(
            r#"
defaults: {{ fail: closed }}
hooks:
  - {{ name: no-force, on: PreToolUse, if: "Bash(git push --force*)", deny: Force pushes are off. }}
  - {{ name: use-pnpm, on: PreToolUse, if: "Bash(npm *)", rewrite: {{ program: pnpm }} }}
  - name: slow
    on: PreToolUse
    if: Bash(slow)
    command: "test -e {dir}/began || {{ echo {name} > {dir}/new; mv {dir}/new {dir}/began; exec sleep 600; }}"
  - {{ name: second, on: PreToolUse, if: Bash(second), command: "echo {name} > {dir}/began; sleep 1" }}
"#
        );
        let hooks = self.at(&format!("hooks-{name}"));
        fs::create_dir_all(&hooks).unwrap();
        fs::write(hooks.join("hooks.yaml"), text).unwrap();
        let (hooks, conf) = (format!("hooks-{name}"), format!("{name}.conf"));
        let args = [
            "serve",
            "--isolated",
            "--root",
            "project",
            "--hooks",
            &hooks,
            "--fleet",
            &conf,
            "--pool",
            "main",
        ];
        let mut child = self
            .command(&args)
            .arg("--no-share")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let ready = lines.find(|it| it.contains("answering for the pool main"));
        assert!(ready.is_some(), "{name} doesn't answer");
        std::thread::spawn(move || lines.for_each(|it| eprintln!("{it}")));
        Member(child)
    }

    /// The host that has begun to judge; the mark of it is gone then.
    fn began(&self) -> String {
        eventually("a host judges", || {
            fs::read_to_string(self.at("began")).ok()
        })
        .trim()
        .to_string()
    }
}

/// What asks the pool: a command with a deadline in seconds. Gives what may be run, and after how
/// many seconds.
type Ask = fn(&Scene, &str, f64) -> (String, f64);

pub(super) fn by_hook(scene: &Scene, command: &str, deadline: f64) -> (String, f64) {
    let begun = Instant::now();
    let output = hook(scene, command, deadline, "closed");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let specific = &said["hookSpecificOutput"];
    let found = match (
        specific["permissionDecision"].as_str(),
        specific["updatedInput"]["command"].as_str(),
    ) {
        (Some("deny"), _) => format!(
            "denied: {}",
            specific["permissionDecisionReason"]
                .as_str()
                .unwrap_or_default()
        ),
        (_, Some(rewritten)) => rewritten.to_string(),
        (None, None) if output.status.code() == Some(2) => format!("denied: {text}"),
        (None, None) if text.is_empty() && output.status.success() => command.to_string(),
        _ => text,
    };
    (found, begun.elapsed().as_secs_f64())
}

fn hook(scene: &Scene, command: &str, deadline: f64, fail: &str) -> Output {
    let event = json!({ "session_id": "s", "hook_event_name": "PreToolUse", "cwd": scene.at("project"),
        "tool_name": "Bash", "tool_input": { "command": command } });
    let limit = format!("{}ms", deadline * 1000.0);
    let args = [
        "hook",
        "--root",
        "project",
        "--fleet",
        "thin-a.conf",
        "--timeout",
        &limit,
        "--fail",
        fail,
    ];
    let mut asking = scene.command(&args);
    asking
        .arg("claude-code")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = asking.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(event.to_string().as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

fn ask_by_client(client: &[&str], args: &[&str]) -> (String, f64) {
    let mut command = in_our_world(Command::new(client[0]));
    command
        .args(&client[1..])
        .args(args)
        .current_dir(repo("clients"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{error}");
    let (found, seconds) = text
        .trim_end()
        .split_once('\t')
        .unwrap_or_else(|| panic!("{text}{error}"));
    (found.to_string(), seconds.parse().unwrap())
}

fn by_client(client: &[&str], scene: &Scene, command: &str, deadline: f64) -> (String, f64) {
    let settings = scene.servers.settings("thin-a");
    let (servers, password) = (
        settings.servers.join(","),
        settings.password_file.unwrap().display().to_string(),
    );
    ask_by_client(
        client,
        &[
            &servers,
            "main",
            "thin-a",
            &password,
            "",
            command,
            &deadline.to_string(),
        ],
    )
}

const PYTHON: [&str; 4] = [
    "python3",
    "-W",
    "error::ResourceWarning",
    "python/tests/ask_pool.py",
];
const TYPESCRIPT: [&str; 4] = [
    "node",
    "--experimental-strip-types",
    "--no-warnings",
    "typescript/test/ask-pool.ts",
];

/// Whether there is a Node that runs TypeScript; without it, the test says so and is over.
fn runs_typescript() -> bool {
    if !is_there("node") {
        return false;
    }
    let tried = Command::new("node")
        .args(&TYPESCRIPT[1..3])
        .args(["--eval", "0"])
        .output()
        .unwrap();
    if !tried.status.success() {
        skip("this Node runs no TypeScript; Node 22.6 does");
    }
    tried.status.success()
}

fn by_python(scene: &Scene, command: &str, deadline: f64) -> (String, f64) {
    by_client(&PYTHON, scene, command, deadline)
}

fn by_typescript(scene: &Scene, command: &str, deadline: f64) -> (String, f64) {
    by_client(&TYPESCRIPT, scene, command, deadline)
}

/// Whatever dies: a verdict of a host that lives, or one failure in time, and nothing else.
fn holds(ask: Ask) {
    let Some(program) = program() else { return };
    let mut scene = Scene::new(&program);
    let members = [
        ("pool-a", scene.member("pool-a")),
        ("pool-b", scene.member("pool-b")),
    ];
    for (command, expected) in [
        ("ls", "ls"),
        ("git push --force", "denied: Force pushes are off."),
        ("npm test", "pnpm test"),
    ] {
        let (found, _) = ask(&scene, command, 20.0);
        assert!(found.starts_with(expected), "{command}: {found}");
    }

    // A host is killed while it judges: the other one does, within the same deadline.
    let (asking, mut members) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&scene, "slow", 20.0));
        let victim = scene.began();
        let rest: Vec<_> = members
            .into_iter()
            .filter(|(name, _)| *name != victim)
            .collect();
        assert_eq!(rest.len(), 1);
        (asking.join().unwrap(), rest)
    });
    assert!(asking.0 == "slow" && asking.1 < 15.0, "{asking:?}");

    // It hangs: its hook's own failure direction holds, in time.
    fs::remove_file(scene.at("began")).unwrap();
    let (found, seconds) = ask(&scene, "slow", 1.5);
    assert!(
        found.starts_with("denied: ") && seconds < 1.5 + SLACK,
        "{found} {seconds}"
    );

    // None is left.
    members.clear();
    let (found, seconds) = ask(&scene, "ls", 3.0);
    assert!(
        found.contains("no host answers for the pool main") && seconds < 3.0 + SLACK,
        "{found} {seconds}"
    );

    // One that is told to end finishes what it has begun.
    let _ = fs::remove_file(scene.at("began"));
    let member = scene.member("pool-a");
    let (found, mut member) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&scene, "second", 20.0));
        scene.began();
        let ended = Command::new("kill")
            .arg(member.0.id().to_string())
            .status()
            .unwrap();
        assert!(ended.success());
        (asking.join().unwrap(), member)
    });
    assert_eq!(found.0, "second");
    member.0.wait().unwrap();

    scene.servers.kill(0);
    let (found, seconds) = ask(&scene, "ls", 3.0);
    assert!(
        found.starts_with("denied: ") && seconds < 3.0 + SLACK,
        "{found} {seconds}"
    );
}

#[test]
fn a_hook_asks_a_pool() {
    holds(by_hook);
}

#[test]
fn the_python_client_asks_a_pool() {
    if is_there("python3") {
        holds(by_python);
    }
}

#[test]
fn the_typescript_client_asks_a_pool() {
    if runs_typescript() {
        holds(by_typescript);
    }
}

/// Without a host, the entry says what holds; a local host's definitions judge nothing where a pool
/// is set.
#[test]
fn a_pool_that_fails_goes_the_way_of_the_entry() {
    let Some(program) = program() else { return };
    let scene = Scene::new(&program);
    let open = hook(&scene, "git push --force", 2.0, "open");
    let told = String::from_utf8_lossy(&open.stderr);
    assert!(open.status.success() && open.stdout.is_empty(), "{open:?}");
    assert!(
        told.contains("no host answers for the pool main; one does by `hookwire serve"),
        "{told}"
    );
    // An account that may not ask is told so, and not that there is nobody.
    let refused = format!("pool = \"main\"\n{}", scene.servers.settings_text("host-a"));
    fs::write(scene.at("thin-a.conf"), refused).unwrap();
    let (found, _) = by_hook(&scene, "ls", 2.0);
    assert!(
        found.contains("denied: ") && found.contains("doesn't permit that"),
        "{found}"
    );
    for (args, problem) in [
        (
            &["serve", "--isolated", "--pool", "main"][..],
            "of which fleet?",
        ),
        (
            &[
                "serve",
                "--isolated",
                "--pool",
                "a.b",
                "--fleet",
                "pool-a.conf",
            ],
            "no name here",
        ),
        (
            &["serve", "--pool", "main", "--idle-exit", "1m"],
            "cannot be used with",
        ),
    ] {
        let output = scene.command(args).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2) && told.contains(problem),
            "{args:?}: {told}"
        );
    }
    // The deadline, of which nothing is left once the connection is made.
    let begun = Instant::now();
    let _ = hook(&scene, "ls", 0.001, "closed");
    assert!(begun.elapsed() < Duration::from_secs_f64(SLACK));
}

/// A server that says what it likes: it answers each request with `says`, in which `{inbox}` stands
/// for where a reply is awaited, and ends the connection behind `{end}`.
fn hostile_server(says: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let says = says.clone();
            std::thread::spawn(move || talk(stream, &says));
        }
    });
    port
}

fn talk(mut stream: TcpStream, says: &str) -> std::io::Result<()> {
    let info = json!({ "server_id": "S", "version": "2.15.1", "headers": true, "max_payload": 1 << 20, "proto": 1 });
    write!(stream, "INFO {info}\r\n")?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while let Some(Ok(line)) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["PING"] => stream.write_all(b"PONG\r\n")?,
            ["HPUB", _, inbox, ..] => {
                stream.write_all(
                    says.replace("{inbox}", inbox)
                        .replace("{end}", "")
                        .as_bytes(),
                )?;
                if says.ends_with("{end}") {
                    return stream.shutdown(std::net::Shutdown::Both);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A message with a header and a payload, for where a reply is awaited.
fn message(header: &str, payload: &str) -> String {
    let header = format!("NATS/1.0\r\n{header}\r\n\r\n");
    format!(
        "HMSG {{inbox}} 1 {} {}\r\n{header}{payload}\r\n",
        header.len(),
        header.len() + payload.len()
    )
}

/// Of whatever a server may say, only an answer is one. A client that believed anything else would
/// let the act pass.
fn believes_only_answers(client: &[&str]) {
    const DONE: &str = "Hookwire-State: done";
    let allow = r#"{"jsonrpc":"2.0","id":1,"result":{"decision":"allow"}}"#;
    let deep = "[".repeat(100_000);
    let (answer, header) = (message(DONE, allow), "NATS/1.0\r\n\r\n");
    let cases = [
        ("an answer", answer.clone(), "ls"),
        (
            "an answer behind signs of life",
            format!("PING\r\n{}{answer}", message("hookwire-state:working", "")),
            "ls",
        ),
        (
            "no header",
            format!("MSG {{inbox}} 1 {}\r\n{allow}\r\n", allow.len()),
            "denied: ",
        ),
        ("no state", message("A: done", allow), "denied: "),
        (
            "work",
            message("Hookwire-State: working", allow),
            "denied: ",
        ),
        (
            "a refusal",
            message("Hookwire-State: refused", "no \u{7}time"),
            "denied: hookwire gave no verdict: the host",
        ),
        (
            "another's answer",
            message(DONE, &allow.replace(":1", ":2")),
            "denied: ",
        ),
        ("no JSON", message(DONE, "allow"), "denied: "),
        (
            "no verdict",
            message(DONE, r#"{"id":1,"result":{"decision":true}}"#),
            "denied: ",
        ),
        (
            "nothing",
            message(DONE, r#"{"id":1,"result":null}"#),
            "denied: ",
        ),
        (
            "an error",
            message(DONE, r#"{"id":1,"error":7}"#),
            "denied: ",
        ),
        ("depth", message(DONE, &deep), "denied: "),
        (
            "a negative size",
            format!("HMSG {{inbox}} 1 -1 -1\r\n{header}"),
            "denied: ",
        ),
        (
            "a huge size",
            format!("HMSG {{inbox}} 1 12 99999999999\r\n{header}"),
            "denied: ",
        ),
        (
            "a header beyond its message",
            format!("HMSG {{inbox}} 1 99 12\r\n{header}"),
            "denied: ",
        ),
        ("no size", "HMSG {inbox} 1\r\n".into(), "denied: "),
        ("a long line", "x".repeat(200_000), "denied: "),
        (
            "another inbox",
            answer.replace("{inbox}", "{inbox}x"),
            "denied: ",
        ),
        (
            "another inbox of the client",
            answer.replace("{inbox}", "_INBOX.hookwire.1.1"),
            "denied: ",
        ),
        ("no inbox", answer.replace("{inbox}", ">"), "denied: "),
        ("a complaint", "-ERR 'Slow Consumer'\r\n".into(), "denied: "),
        ("the end", "{end}".into(), "denied: "),
        (
            "half an answer",
            format!("{}{{end}}", &answer[..answer.len() - 9]),
            "denied: ",
        ),
    ];
    for (what, says, expected) in cases {
        let url = format!("nats://127.0.0.1:{}", hostile_server(says));
        let (found, seconds) = ask_by_client(client, &[&url, "main", "", "", "", "ls", "1.2"]);
        assert!(
            found.starts_with(expected) && seconds < 1.2 + SLACK,
            "{what}: {found} {seconds}"
        );
        assert!(
            found.chars().all(|it| !it.is_control()),
            "{what}: {found:?}"
        );
    }
}

#[test]
fn the_python_client_believes_only_answers() {
    if is_there("python3") {
        believes_only_answers(&PYTHON);
    }
}

#[test]
fn the_typescript_client_believes_only_answers() {
    if runs_typescript() {
        believes_only_answers(&TYPESCRIPT);
    }
}
