//! How long a search of a million recorded events takes.
//!
//! `cargo bench --bench history` takes some minutes. It lets this build of hookwire judge real
//! payloads of sixteen agents and 3,751 commands that agents ran, copies those records until there
//! are a million over thirty days, writes them as `hookwire inspect` does, and searches them: by
//! the history itself, by the page's own call, and by `hookwire history query`. A kind of query
//! whose median is above 100 ms fails it. After `--`: `--events N`, and `--dir DIR` for a history
//! that is kept and used again.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_macros,
    reason = "a measuring program: stdout is its report, and whatever fails ends it"
)]

use hookwire::Client;
use hookwire::history::{History, Order, Wishes, Written};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// The median of each kind, at most.
const MOST: Duration = Duration::from_millis(100);
/// Results on a page, and how often each query is asked.
const PAGE: usize = 100;
const TIMES: usize = 15;
/// The time over which the events are spread.
const SPAN: Duration = Duration::from_secs(30 * 24 * 3600);
/// Events that are written at once, as by `hookwire inspect`.
const BATCH: usize = 500;
/// Events of a session.
const SESSION: u64 = 180;

/// Kinds of queries.
const KINDS: [(&str, &[&str]); 9] = [
    ("everything", &[""]),
    (
        "text",
        &[
            "push",
            "\"git push\"",
            "docker",
            "pytest",
            "node_modules",
            "cargo build",
            "qemu",
            "nosuchword",
        ],
    ),
    (
        "decision and agent",
        &[
            "decision:deny agent:codex",
            "decision:ask agent:gemini",
            "decision:allow agent:claude-code",
        ],
    ),
    (
        "tool",
        &[
            "tool:Bash",
            "tool:Write",
            "tool:Read tool:Edit",
            "tool:run_shell_command",
            "tool:NoSuchTool",
        ],
    ),
    (
        "since",
        &[
            "since:1h",
            "since:7d push",
            "until:20d decision:deny",
            "since:20d until:10d tool:Write",
        ],
    ),
    (
        "negative only",
        &[
            "-decision:allow",
            "-tool:Bash",
            "-git",
            "-agent:claude-code -agent:codex -agent:gemini",
            "-e",
        ],
    ),
    (
        "a beginning",
        &[
            "pyt",
            "git",
            "text:depl*",
            "agent:cla*",
            "tool:mcp__*",
            "session:s-1*",
            "con",
        ],
    ),
    (
        "nothing fits",
        &[
            "decision:deny event:SessionStart push",
            "git docker python session:none",
            "app -app",
        ],
    ),
    (
        "many words",
        &[
            "python -docker decision:allow tool:Bash since:25d -session:s-1",
            "cd app \"pip install\" -git",
        ],
    ),
];

fn main() -> ExitCode {
    let (mut n_events, mut dir) = (1_000_000, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--events" => n_events = arguments.next().unwrap().parse().unwrap(),
            "--dir" => dir = Some(PathBuf::from(arguments.next().unwrap())),
            // Given by cargo.
            "--bench" => {}
            other => {
                eprintln!("unknown argument `{other}`; there are --events N and --dir DIR");
                return ExitCode::from(2);
            }
        }
    }
    let temporary = tempfile::tempdir().unwrap();
    let home = dir.unwrap_or_else(|| temporary.path().into());
    let store = home.join("data/history");
    let history = History::open(&store).unwrap();
    if history.size().unwrap().0 == 0 {
        fill(&history, n_events);
    }
    let (n_events, bytes) = history.size().unwrap();
    println!("{n_events} events, {} MiB\n", bytes >> 20);
    println!(
        "{:<20} {:>10} {:>10} {:>10}  the slowest",
        "kind", "p50", "p95", "worst"
    );
    let mut is_slow = false;
    for (kind, queries) in KINDS {
        is_slow |= told(kind, queries, |query, _| {
            history.search(query, None, Order::Newest, PAGE).unwrap();
        }) > MOST;
    }
    // As somebody reads page after page, from the middle on.
    let middle = history
        .before_newest(usize::try_from(n_events / 2).unwrap())
        .unwrap();
    let mut cursor = middle;
    is_slow |= told(
        "the next page",
        &["git", "-tool:Bash", "decision:deny"],
        |query, nth| {
            let found = history
                .search(
                    query,
                    if nth == 0 { middle } else { cursor },
                    Order::Newest,
                    PAGE,
                )
                .unwrap();
            cursor = found.last().map(|it| it.cursor);
        },
    ) > MOST;
    drop(history);
    println!("\nthe same by the page's call");
    let page = Page::open(&home);
    for (kind, queries) in KINDS {
        is_slow |= told(kind, queries, |query, _| page.search(query)) > MOST;
    }
    drop(page);
    println!("\n`hookwire history query`, with its start");
    let queries = ["push", "-decision:allow", "git docker python session:none"];
    is_slow |= told("20 events", &queries, |query, _| {
        let output = command(&home)
            .args(["history", "query", "--format", "json", query])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }) > MOST;
    if is_slow {
        println!("\na median is above {MOST:?}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Asks each query several times, and prints how long that took; gives the median.
fn told(kind: &str, queries: &[&str], mut ask: impl FnMut(&str, usize)) -> Duration {
    let mut took = Vec::new();
    for query in queries {
        for nth in 0..TIMES {
            let started = Instant::now();
            ask(query, nth);
            took.push((started.elapsed(), *query));
        }
    }
    took.sort();
    let at = |part: usize| took[(took.len() - 1) * part / 100];
    let show = |it: Duration| format!("{:.2} ms", it.as_secs_f64() * 1000.0);
    let (worst, slowest) = at(100);
    println!(
        "{kind:<20} {:>10} {:>10} {:>10}  {slowest}",
        show(at(50).0),
        show(at(95).0),
        show(worst)
    );
    at(50).0
}

fn command(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hookwire-host"));
    for (name, value) in [
        ("HOME", "home"),
        ("XDG_RUNTIME_DIR", "run"),
        ("XDG_DATA_HOME", "home/data"),
    ] {
        fs::create_dir_all(home.join(value)).unwrap();
        command.env(name, home.join(value));
    }
    fs::set_permissions(
        home.join("run"),
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    command
        .arg("--data-dir")
        .arg(home.join("data"))
        .arg("--user-dir")
        .arg(home.join("config"));
    command.current_dir(home);
    command
}

// The events.

/// Writes so many, as they come from the hosts of several projects.
fn fill(history: &History, n_events: u64) {
    let templates = records();
    println!("{} real records, copied", templates.len());
    history
        .set_wishes(Wishes {
            is_on: true,
            days: 40,
            mebibytes: 16 << 10,
        })
        .unwrap();
    let began = SystemTime::now() - SPAN;
    let started = Instant::now();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut records: Vec<(String, String, Value)> = Vec::with_capacity(BATCH);
    let mut longest = Duration::ZERO;
    for n in 0..n_events {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut record =
            templates[usize::try_from(random % templates.len() as u64).unwrap()].clone();
        let at = began + SPAN.mul_f64(n as f64 / n_events as f64);
        record["seq"] = (n + 1).into();
        record["at"] = humantime::format_rfc3339_millis(at).to_string().into();
        record["verdict"]["eventId"] = format!("{random:016x}").into();
        if let Some(session) = record.pointer_mut("/params/payload/session_id") {
            *session = format!("s-{}", n / SESSION).into();
        }
        let project = n / (20 * SESSION) % 7;
        records.push((
            format!("{}@host", 1000 + project),
            format!("/home/dev/project{project}"),
            record,
        ));
        if records.len() == BATCH || n + 1 == n_events {
            let events = records
                .iter()
                .map(|(run, root, record)| Written { run, root, record });
            let began = Instant::now();
            history.write_events(events).unwrap();
            longest = longest.max(began.elapsed());
            records.clear();
        }
    }
    let took = started.elapsed();
    let rate = n_events as f64 / took.as_secs_f64();
    println!(
        "written in {took:.1?}, {rate:.0} a second; the longest batch of {BATCH} took {longest:.1?}"
    );
}

/// What this build judges of real payloads, with the rules of the cookbook.
fn records() -> Vec<Value> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lines = |path: PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        text.lines()
            .filter_map(|it| serde_json::from_str(it).ok())
            .collect::<Vec<Value>>()
    };
    let mut payloads: Vec<(String, Value)> = Vec::new();
    for it in lines(here.join("tests/data/claude-code/session.jsonl")) {
        payloads.push(("claude-code".into(), it["stdin"].clone()));
    }
    for agent in fs::read_dir(here.join("tests/data/agents"))
        .unwrap()
        .flatten()
    {
        let session = agent.path().join("session.jsonl");
        if session.is_file() {
            let name = agent.file_name().into_string().unwrap();
            payloads.extend(lines(session).into_iter().map(|it| (name.clone(), it)));
        }
    }
    let is_command = |it: &&(String, Value)| {
        let is_before = !it.1.to_string().contains("tool_response");
        is_before
            && it
                .1
                .pointer("/tool_input/command")
                .is_some_and(Value::is_string)
    };
    let shells: Vec<(String, Value)> = payloads.iter().filter(is_command).cloned().collect();
    for (nth, it) in lines(here.join("tests/data/corpora/ordinary_commands.jsonl"))
        .into_iter()
        .enumerate()
    {
        let (agent, mut payload) = shells[nth % shells.len()].clone();
        payload["tool_input"]["command"] = it["command"].clone();
        payloads.push((agent, payload));
    }
    let mut serve = Command::new(env!("CARGO_BIN_EXE_hookwire-host"));
    serve.args(["--log", "error", "serve", "--isolated", "--root", "/"]);
    for definition in fs::read_dir(here.join("examples/cookbook"))
        .unwrap()
        .flatten()
    {
        let path = definition.path();
        let text = fs::read_to_string(&path).unwrap();
        // Those that start programs would measure the programs.
        if path.extension().is_some_and(|it| it == "yaml")
            && !text.contains("command:")
            && !text.contains("cases:")
        {
            serve.arg("--hooks").arg(path);
        }
    }
    let mut host = Client::start(&mut serve, Duration::from_secs(60)).unwrap();
    let mut records = Vec::new();
    let mut after = 0;
    for some in payloads.chunks(100) {
        for (dialect, payload) in some {
            // Not all that an agent sends is an event.
            let _ = host.request(
                "hooks/dispatch",
                &json!({ "dialect": dialect, "payload": payload }),
            );
        }
        let recent = host
            .request("hooks/recent", &json!({ "after": after }))
            .unwrap();
        let new = recent["records"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["seq"].as_u64().unwrap() > after);
        records.extend(new.filter(|it| it.get("params").is_some()).cloned());
        after = recent["total"].as_u64().unwrap();
    }
    host.end().unwrap();
    records
}

// The page.

/// A `hookwire inspect`, and what its page shows it.
struct Page {
    process: Child,
    host: String,
    token: String,
}

impl Page {
    fn open(home: &Path) -> Page {
        let mut inspect = command(home);
        inspect.args(["inspect", "--no-open", "--format", "json"]);
        let mut process = inspect
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let link: Value = serde_json::from_str(&line).unwrap();
        let (host, start) = link["url"]
            .as_str()
            .unwrap()
            .split_once("/#start=")
            .unwrap();
        let host = host.trim_start_matches("http://").to_string();
        let mut page = Page {
            process,
            host,
            token: String::new(),
        };
        page.token = page.post("/api/session", &json!({ "start": start }))["token"]
            .as_str()
            .unwrap()
            .into();
        page
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let (host, token, body) = (&self.host, &self.token, body.to_string());
        let mut stream = TcpStream::connect(host).unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n");
        let more = format!(
            "Content-Type: application/json\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
        );
        let request = format!("{head}{more}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head} {body}");
        serde_json::from_str(body).unwrap()
    }

    fn search(&self, query: &str) {
        let params = json!({ "query": query, "limit": PAGE });
        let answer = self.post(
            "/api/call",
            &json!({ "method": "inspect/history", "params": params }),
        );
        assert!(answer["result"]["events"].is_array(), "{answer}");
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
