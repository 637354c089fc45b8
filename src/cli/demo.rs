//! `hookwire demo`: a recorded agent session against a real host, with hooks edited in between.
//!
//! Nothing is staged: the host is this binary as `serve`, the payloads are a real client's, and
//! what is printed comes from the replies on the wire.

use super::output::{Output, Tone, safe, short};
use super::replay::{tone, what, why};
use super::{Failure, Finding};
use crate::dialects;
use crate::event::Event;
use crate::verdict::Verdict;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(super) struct DemoArgs {
    /// Write every message that goes over the wire into this file, `>` to the host and `<` from it.
    #[arg(long, value_name = "FILE")]
    wire: Option<PathBuf>,
}

const GUARD: &str = include_str!("../../examples/quickstart/hooks/guard.yaml");
const AUDIT: &str = include_str!("../../examples/quickstart/hooks/audit.yaml");
const SESSION: &str = include_str!("../../examples/quickstart/session.jsonl");

/// What the demo types into guard.yaml.
const ADDED: &str = "
  - name: code-freeze
    on: PreToolUse
    if: Edit(/home/dev/project/**)
    deny: Code freeze until Monday.
";
/// A typo in the last line.
const BROKEN: &str = "
  - name: next-guard
    on: [PreToolUse
";

const PATIENCE: Duration = Duration::from_secs(10);

/// The other end of a host's stdin and stdout.
struct Client {
    host: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    /// What came while something else was waited for: a notification may overtake a reply.
    early: Vec<Value>,
    wire: Option<File>,
    next_id: u64,
}

/// A judged event.
struct Judged {
    event: Event,
    verdict: Verdict,
    took: Duration,
}

pub(super) fn run(args: &DemoArgs, out: &mut Output) -> Result<Finding, Failure> {
    let place = Place::new()?;
    let result = play(args, &place, out);
    let cleaned = std::fs::remove_dir_all(&place.0);
    result?;
    cleaned?;
    Ok(Finding::Fine)
}

fn play(args: &DemoArgs, place: &Place, out: &mut Output) -> Result<(), Failure> {
    let wire = args.wire.as_ref().map(File::create).transpose()?;
    let mut client = Client::start(place, wire)?;
    let head = format!("A recorded Claude Code session, judged by hookwire serve (process {})", client.host.id());
    let head = out.tone(Tone::Strong, &head);
    out.line(&head);
    client.request(
        "initialize",
        &json!({"capabilities": {"hooks": {
            "dialect": "claude-code",
            "decisions": ["allow", "deny", "ask", "defer", "rewrite"],
            "notifications": ["hooks/changed", "hooks/executed"],
        }}}),
    )?;
    let session = session()?;
    let index = |name: &str, text: &str| {
        session.iter().position(|payload| payload["hook_event_name"] == name && payload.to_string().contains(text))
    };
    let (Some(edit), Some(settings)) = (index("PreToolUse", "old_string"), index("PreToolUse", "settings.json")) else {
        return Err(Failure("the recorded session lacks an event of the demo".into()));
    };
    let mut told = Vec::new();
    for (position, payload) in session.iter().enumerate() {
        if position == settings {
            client.edit(place, &format!("{GUARD}{ADDED}{BROKEN}"), "broken: a bracket is missing", out)?;
        }
        let judged = client.judge(payload)?;
        tell(out, &judged, "");
        if judged.verdict.outcomes.iter().any(|outcome| &*outcome.hook == "audit") {
            client.notification("hooks/executed", |params| params["hook"] == "audit")?;
            let log = std::fs::read_to_string(place.0.join("audit.log"))?;
            let line = format!("      audit.log: {}", log.lines().last().unwrap_or_default());
            let line = out.tone(Tone::Dim, &safe(&line));
            out.line(&line);
        }
        if told != judged.verdict.errors {
            for error in &judged.verdict.errors {
                let line = out
                    .tone(Tone::Warn, &format!("      this and every verdict lists: {}", safe(&place.relative(error))));
                out.line(&line);
            }
            told = judged.verdict.errors;
        }
        if position == edit {
            client.edit(place, &format!("{GUARD}{ADDED}"), "edited: a hook `code-freeze` was added", out)?;
            tell(out, &client.judge(payload)?, " (the same call again)");
        }
    }
    client.end()?;
    out.line("");
    out.line("Yours next:  hookwire init && hookwire serve --hooks .hookwire");
    Ok(())
}

/// One line of the timeline.
fn tell(out: &mut Output, judged: &Judged, remark: &str) {
    let Judged { event, verdict, took } = judged;
    let decision = match (&verdict.decided_by, &verdict.subject) {
        (None, Some(_)) => "rewrite",
        _ => verdict.decision.as_str(),
    };
    let word = out.tone(tone(verdict.decision), &format!("{decision:<8}"));
    let took = out.tone(Tone::Dim, &format!("{:>6} µs", took.as_micros()));
    let subject = short(&what(event), 38);
    let line = format!("  {:<18} {subject:<38} {word} {took}  {}{remark}", event.name, safe(&why(verdict)));
    out.line(line.trim_end());
}

fn session() -> Result<Vec<Value>, Failure> {
    let payload = |line: &str| Ok(crate::support::json::parse(line)?["stdin"].take());
    SESSION.lines().map(payload).collect()
}

/// A directory with a copy of the example.
struct Place(PathBuf);

impl Place {
    fn new() -> Result<Place, Failure> {
        let dir = std::env::temp_dir().join(format!("hookwire-demo-{}", std::process::id()));
        // Fails if somebody has been here before: nothing of theirs is loaded.
        std::fs::create_dir(&dir)?;
        let place = Place(dir);
        std::fs::create_dir(place.hooks())?;
        std::fs::write(place.guard(), GUARD)?;
        std::fs::write(place.hooks().join("audit.yaml"), AUDIT)?;
        Ok(place)
    }

    fn hooks(&self) -> PathBuf {
        self.0.join("hooks")
    }

    fn guard(&self) -> PathBuf {
        self.hooks().join("guard.yaml")
    }

    fn relative(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.display()), "")
    }
}

impl Client {
    fn start(place: &Place, wire: Option<File>) -> Result<Client, Failure> {
        let mut host = Command::new(std::env::current_exe()?)
            .args(["--log", "error", "serve", "--isolated", "--root"])
            .arg(&place.0)
            .arg("--hooks")
            .arg(place.hooks())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (host.stdin.take(), host.stdout.take()) else {
            return Err(Failure("the host has no pipes".into()));
        };
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let _ = BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| sender.send(line));
        });
        Ok(Client { host, stdin, lines, early: Vec::new(), wire, next_id: 1 })
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let mut reply = self.receive(|message| message["id"] == id)?;
        match reply.get("error") {
            Some(error) => Err(Failure(format!("{method}: {error}"))),
            None => Ok(reply["result"].take()),
        }
    }

    fn judge(&mut self, payload: &Value) -> Result<Judged, Failure> {
        let started = Instant::now();
        let mut result = self.request("hooks/dispatch", &json!({ "payload": payload }))?;
        let took = started.elapsed();
        let verdict = serde_json::from_value(result["verdict"].take())?;
        let event =
            dialects::by_name("claude-code").map_err(|error| Failure(error.to_string()))?.read(payload.clone())?;
        Ok(Judged { event, verdict, took })
    }

    fn notification(&mut self, method: &str, fits: impl Fn(&Value) -> bool) -> Result<Value, Failure> {
        self.receive(|message| message["method"] == method && fits(&message["params"]))
    }

    /// Saves another guard.yaml and waits until the host says that it is in force.
    fn edit(&mut self, place: &Place, text: &str, what: &str, out: &mut Output) -> Result<(), Failure> {
        let started = Instant::now();
        std::fs::write(place.guard(), text)?;
        let change = self.notification("hooks/changed", |_| true)?["params"].take();
        let took = started.elapsed().as_millis();
        let line = format!("hooks/guard.yaml {what}  (noticed after {took} ms, generation {})", change["generation"]);
        let line = out.tone(Tone::Strong, &line);
        out.line(&line);
        Ok(())
    }

    fn send(&mut self, message: &Value) -> Result<(), Failure> {
        let line = format!("{message}\n");
        self.log('>', line.trim_end())?;
        self.stdin.write_all(line.as_bytes())?;
        Ok(self.stdin.flush()?)
    }

    fn receive(&mut self, fits: impl Fn(&Value) -> bool) -> Result<Value, Failure> {
        if let Some(at) = self.early.iter().position(&fits) {
            return Ok(self.early.remove(at));
        }
        loop {
            let line = self.lines.recv_timeout(PATIENCE).map_err(|_| Failure("the host doesn't answer".into()))?;
            self.log('<', &line)?;
            let message: Value = serde_json::from_str(&line)?;
            if fits(&message) {
                return Ok(message);
            }
            self.early.push(message);
        }
    }

    fn log(&mut self, direction: char, line: &str) -> Result<(), Failure> {
        if let Some(wire) = &mut self.wire {
            writeln!(wire, "{direction} {line}")?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.request("shutdown", &Value::Null)?;
        self.send(&json!({"jsonrpc": "2.0", "method": "exit"}))?;
        self.host.wait()?;
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.host.kill();
        let _ = self.host.wait();
    }
}
