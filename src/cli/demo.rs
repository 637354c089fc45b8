//! `hookwire demo`: a recorded agent session against a real host, with hooks edited in between.
//!
//! Nothing is staged: the host is this binary as `serve`, the payloads are a real client's, and
//! what is printed comes from the replies on the wire.

use super::output::{Output, Tone, safe, short};
use super::replay::{decision_tone, event_summary, verdict_summary};
use super::{Failure, Finding};
use crate::dialects;
use crate::event::Event;
use crate::transport::client::Client;
use crate::verdict::Verdict;
use serde_json::{Value, json};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command};
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

const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A host that was started for the demo, and the other end of its stdin and stdout.
struct DemoHost {
    process: Child,
    client: Client,
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
    let mut host = DemoHost::start(place, wire)?;
    let head = format!("A recorded Claude Code session, judged by hookwire serve (process {})", host.process.id());
    let head = out.tone(Tone::Strong, &head);
    out.line(&head);
    host.client.request(
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
    let mut printed_errors = Vec::new();
    for (position, payload) in session.iter().enumerate() {
        if position == settings {
            host.edit(place, &format!("{GUARD}{ADDED}{BROKEN}"), "broken: a bracket is missing", out)?;
        }
        let judged = host.judge(payload)?;
        print_judged(out, &judged, "");
        if judged.verdict.outcomes.iter().any(|outcome| &*outcome.hook == "audit") {
            host.client.notification("hooks/executed", |params| params["hook"] == "audit")?;
            let log = std::fs::read_to_string(place.0.join("audit.log"))?;
            let line = format!("      audit.log: {}", log.lines().last().unwrap_or_default());
            let line = out.tone(Tone::Dim, &safe(&line));
            out.line(&line);
        }
        if printed_errors != judged.verdict.errors {
            for error in &judged.verdict.errors {
                let line = out
                    .tone(Tone::Warn, &format!("      this and every verdict lists: {}", safe(&place.relative(error))));
                out.line(&line);
            }
            printed_errors = judged.verdict.errors;
        }
        if position == edit {
            host.edit(place, &format!("{GUARD}{ADDED}"), "edited: a hook `code-freeze` was added", out)?;
            print_judged(out, &host.judge(payload)?, " (the same call again)");
        }
    }
    host.end()?;
    out.line("");
    out.line("Yours next:  hookwire init && hookwire serve --hooks .hookwire");
    Ok(())
}

/// Prints one line of the timeline.
fn print_judged(out: &mut Output, judged: &Judged, remark: &str) {
    let Judged { event, verdict, took } = judged;
    let decision = match (&verdict.decided_by, &verdict.subject) {
        (None, Some(_)) => "rewrite",
        _ => verdict.decision.as_str(),
    };
    let word = out.tone(decision_tone(verdict.decision), &format!("{decision:<8}"));
    let took = out.tone(Tone::Dim, &format!("{:>6} µs", took.as_micros()));
    let subject = short(&event_summary(event), 38);
    let line = format!("  {:<18} {subject:<38} {word} {took}  {}{remark}", event.name, safe(&verdict_summary(verdict)));
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
        // Fails if the directory is there already, so that nothing of another user is loaded.
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

impl DemoHost {
    fn start(place: &Place, wire: Option<File>) -> Result<DemoHost, Failure> {
        let (ours, theirs) = UnixStream::pair()?;
        let process = Command::new(std::env::current_exe()?)
            .args(["--log", "error", "serve", "--isolated", "--root"])
            .arg(&place.0)
            .arg("--hooks")
            .arg(place.hooks())
            .stdin(OwnedFd::from(theirs.try_clone()?))
            .stdout(OwnedFd::from(theirs))
            .spawn()?;
        let mut host = DemoHost { process, client: Client::new(ours, TIME_LIMIT)? };
        if let Some(wire) = wire {
            host.client.log_into(wire);
        }
        Ok(host)
    }

    fn judge(&mut self, payload: &Value) -> Result<Judged, Failure> {
        let started = Instant::now();
        let mut result = self.client.request("hooks/dispatch", &json!({ "payload": payload }))?;
        let took = started.elapsed();
        let verdict = serde_json::from_value(result["verdict"].take())?;
        let event =
            dialects::by_name("claude-code").map_err(|error| Failure(error.to_string()))?.read(payload.clone())?;
        Ok(Judged { event, verdict, took })
    }

    /// Saves another guard.yaml and waits until the host says that it is in force.
    fn edit(&mut self, place: &Place, text: &str, what: &str, out: &mut Output) -> Result<(), Failure> {
        let started = Instant::now();
        std::fs::write(place.guard(), text)?;
        let change = self.client.notification("hooks/changed", |_| true)?;
        let took = started.elapsed().as_millis();
        let line = format!("hooks/guard.yaml {what}  (noticed after {took} ms, generation {})", change["generation"]);
        let line = out.tone(Tone::Strong, &line);
        out.line(&line);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.client.request("shutdown", &Value::Null)?;
        self.client.notify("exit")?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for DemoHost {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
