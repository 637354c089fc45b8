//! `hookwire demo`: an agent's session against a real host, with hooks edited in between.
//!
//! The session is written, in Claude Code's own form. The rest is real: the host is this binary as
//! `serve`, it judges each event with real hooks, and what is printed of a verdict comes from the
//! replies on the wire.

#[cfg(feature = "fleet")]
mod fleet;
mod run;

use crate::cli::demo::DemoArgs;
use crate::cli::output::{Output, Tone, safe, shorten_text};
use crate::cli::scratch::scratch_dir;
use crate::cli::{Failure, Finding};
use hookwire_base::support::file;
use hookwire_base::transport::client::Client;
use hookwire_base::verdict::{Decision, Verdict};
use hookwire_rules::matching::tools::main_argument;
use serde_json::{Value, json};
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const GUARD: &str = include_str!("../../examples/quickstart/hooks/guard.yaml");
const AUDIT: &str = include_str!("../../examples/quickstart/hooks/audit.yaml");
const SESSION: &str = include_str!("../../examples/quickstart/session.jsonl");

/// The hook that the demo types into guard.yaml.
const ADDED: &str = "
  - name: people-merge
    on: PreToolUse
    if: Bash(gh pr merge *)
    deny: A person merges; ask for a review.
";
/// A typo in the last line.
const BROKEN: &str = "
  - name: next-guard
    on: [PreToolUse
";

/// The demo prints for a terminal of 80 columns.
const WIDTH: usize = 80;
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A line of the session.
struct Step {
    /// The JSON that the agent's hook would get on its stdin.
    payload: Value,
    /// The edit that a person makes to guard.yaml just before: `add` a hook, or `break` the file.
    scene: Option<String>,
    /// Why it matters what is decided about it.
    why: Option<String>,
}

/// A judged event.
struct Judged {
    verdict: Verdict,
    took: Duration,
}

/// Shows what the arguments say.
pub(crate) fn show(args: &DemoArgs, out: &mut Output) -> Result<Finding, Failure> {
    if args.run {
        return run::run(out);
    }
    #[cfg(feature = "fleet")]
    if args.fleet {
        return fleet::run(args.nats.as_deref(), out);
    }
    shown_session(args, out)
}

fn shown_session(args: &DemoArgs, out: &mut Output) -> Result<Finding, Failure> {
    play_session(args, &Place::new()?, out)?;
    Ok(Finding::Fine)
}

fn play_session(args: &DemoArgs, place: &Place, out: &mut Output) -> Result<(), Failure> {
    let wire = args.wire.as_ref().map(File::create).transpose()?;
    let mut host = Client::start(
        Command::new(std::env::current_exe()?)
            .args(["--log", "error", "serve", "--isolated", "--root"])
            .arg(place.0.path())
            .arg("--hooks")
            .arg(place.hooks()),
        TIME_LIMIT,
    )?;
    if let Some(wire) = wire {
        host.log_into(wire);
    }
    let head = out.tone(
        Tone::Strong,
        "A coding agent at work. A real hookwire host judges each step before it runs.",
    );
    out.line(&head);
    let about = format!(
        "Process {}, with the hooks of examples/quickstart/hooks.",
        host.process_id().unwrap_or_default()
    );
    let about = out.tone(Tone::Dim, &about);
    out.line(&about);
    host.request(
        "initialize",
        &json!({"capabilities": {"hooks": {
            "dialect": "claude-code",
            "decisions": ["allow", "deny", "ask", "defer", "rewrite"],
            "notifications": ["hooks/changed", "hooks/executed"],
        }}}),
    )?;
    let (mut n_events, mut n_stopped) = (0, 0);
    let mut printed_errors = Vec::new();
    for step in read_session()? {
        match step.scene.as_deref() {
            Some("add") => {
                edit_guard(
                    &mut host,
                    place,
                    &format!("{GUARD}{ADDED}"),
                    "You add the hook `people-merge` and save.",
                    out,
                )?;
            }
            Some("break") => {
                edit_guard(
                    &mut host,
                    place,
                    &format!("{GUARD}{ADDED}{BROKEN}"),
                    "You save the file with a bracket missing.",
                    out,
                )?;
            }
            _ => {}
        }
        let judged = judge_payload(&mut host, &step.payload)?;
        n_events += 1;
        n_stopped += usize::from(judged.verdict.decision == Decision::Deny);
        print_step(out, &step, &judged);
        if judged
            .verdict
            .outcomes
            .iter()
            .any(|outcome| &*outcome.hook == "audit")
        {
            host.notification("hooks/executed", |params| params["hook"] == "audit")?;
            let log = file::read_text(place.0.path().join("audit.log"))?;
            print_detail(
                out,
                "audit.log",
                Tone::Dim,
                log.lines().last().unwrap_or_default(),
            );
        }
        if printed_errors != judged.verdict.errors {
            for error in &judged.verdict.errors {
                print_detail(out, "error", Tone::Warn, &place.relative_text(error));
            }
            printed_errors = judged.verdict.errors;
        }
        if let Some(why) = &step.why {
            print_detail(out, "", Tone::Dim, why);
        }
    }
    host.end()?;
    out.line("");
    let summary =
        format!("{n_events} events judged, {n_stopped} calls stopped. None of those ran.");
    let summary = out.tone(Tone::Strong, &summary);
    out.line(&summary);
    out.line("");
    out.line("Now yours. In a project, with the agent that you use:");
    out.line("  hookwire init no-force-push no-env-read");
    out.line("  hookwire install claude-code          (or codex, gemini, qwen, cline, ...)");
    out.line("  hookwire docs tutorial                (ten minutes, step by step)");
    Ok(())
}

/// Prints an event and its verdict: what happens, then what was decided, by whom and why.
fn print_step(out: &mut Output, step: &Step, judged: &Judged) {
    let Judged { verdict, took } = judged;
    let text = |path: &str| step.payload.pointer(path).and_then(Value::as_str);
    let event = text("/hook_event_name").unwrap_or_default();
    let tool = text("/tool_name").unwrap_or_default();
    let input = step
        .payload
        .get("tool_input")
        .and_then(|input| main_argument(tool, input));
    let about = text("/prompt").or(text("/last_assistant_message"));
    let about = input
        .map(|(_, about)| about.into_owned())
        .or(about.map(str::to_string))
        .unwrap_or_default();
    // The project's own directory says nothing.
    let about = about.replace(&format!("{}/", text("/cwd").unwrap_or_default()), "");
    let decision = match (&verdict.decided_by, &verdict.subject) {
        (None, Some(_)) => "rewrite",
        _ => verdict.decision.as_str(),
    };
    let is_after = event.starts_with("Post");
    let what = format!("{event} {tool}");
    let what = format!("{:<18}", what.trim_end());
    let took = format!("{:>5.1} ms", took.as_secs_f64() * 1000.0);
    let word = out.tone(
        Tone::of_decision(verdict.decision),
        &format!("{decision:<8}"),
    );
    if is_after {
        // It happened as the line above says.
        let line = out.tone(Tone::Dim, &format!("{what} {:<43}", "it ran"));
        return out.line(&format!("{line} {word} {}", out.tone(Tone::Dim, &took)));
    }
    out.line("");
    let (head, rest) = wrap_text(&safe(&about), 43);
    let line = format!(
        "{} {head:<43} {word} {}",
        out.tone(Tone::Strong, &what),
        out.tone(Tone::Dim, &took)
    );
    out.line(line.trim_end());
    for line in rest {
        out.line(&format!("{:<19}{line}", ""));
    }
    if let Some(hook) = &verdict.decided_by {
        print_detail(
            out,
            hook,
            Tone::of_decision(verdict.decision),
            verdict.reason.as_deref().unwrap_or_default(),
        );
    }
    if let Some(subject) = &verdict.subject {
        let by = verdict
            .outcomes
            .iter()
            .find(|outcome| outcome.rewrote)
            .map(|outcome| &*outcome.hook)
            .unwrap_or_default();
        print_detail(
            out,
            by,
            Tone::Warn,
            &format!(
                "runs instead: {}",
                subject["command"].as_str().unwrap_or_default()
            ),
        );
    }
}

/// Prints what belongs to the event above: who says it, and what.
fn print_detail(out: &mut Output, who: &str, tone: Tone, what: &str) {
    let (head, rest) = wrap_text(&safe(what), WIDTH - 20);
    let who = if who.is_empty() {
        String::new()
    } else {
        format!("{who}:")
    };
    for (who, line) in std::iter::once((&*who, head)).chain(rest.into_iter().map(|line| ("", line)))
    {
        let line = out.tone(tone, &line);
        out.line(&format!("    {who:<14} {line}"));
    }
}

/// A text in lines of at most so many characters, broken at spaces where there are any.
fn wrap_text(text: &str, width: usize) -> (String, Vec<String>) {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let n_chars = |text: &str| text.chars().count();
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(&shorten_text(word, width)),
            Some(line) if n_chars(line) + 1 + n_chars(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(shorten_text(word, width)),
        }
    }
    (lines.remove(0), lines)
}

fn read_session() -> Result<Vec<Step>, Failure> {
    SESSION
        .lines()
        .map(|line| {
            let mut value = hookwire_base::support::json::parse(line)?;
            let text = |value: &Value| value.as_str().map(str::to_string);
            Ok(Step {
                scene: text(&value["scene"]),
                why: text(&value["why"]),
                payload: value["stdin"].take(),
            })
        })
        .collect()
}

/// A directory with a copy of the example.
struct Place(TempDir);

impl Place {
    fn new() -> Result<Place, Failure> {
        let place = Place(scratch_dir("demo")?);
        std::fs::create_dir(place.hooks())?;
        std::fs::write(place.guard(), GUARD)?;
        std::fs::write(place.hooks().join("audit.yaml"), AUDIT)?;
        Ok(place)
    }

    fn hooks(&self) -> PathBuf {
        self.0.path().join("hooks")
    }

    fn guard(&self) -> PathBuf {
        self.hooks().join("guard.yaml")
    }

    fn relative_text(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn judge_payload(host: &mut Client, payload: &Value) -> Result<Judged, Failure> {
    let started = Instant::now();
    let mut result = host.request("hooks/dispatch", &json!({ "payload": payload }))?;
    let took = started.elapsed();
    Ok(Judged {
        verdict: serde_json::from_value(result["verdict"].take())?,
        took,
    })
}

/// Saves another guard.yaml and waits until the host says that it is in force.
fn edit_guard(
    host: &mut Client,
    place: &Place,
    text: &str,
    what: &str,
    out: &mut Output,
) -> Result<(), Failure> {
    let started = Instant::now();
    std::fs::write(place.guard(), text)?;
    let change = host.notification("hooks/changed", |_| true)?;
    let took = started.elapsed().as_millis();
    out.line("");
    let line = out.tone(Tone::Strong, &format!("hooks/guard.yaml   {what}"));
    out.line(&line);
    print_detail(
        out,
        "",
        Tone::Dim,
        &format!(
            "Noticed after {took} ms, generation {}.",
            change["generation"]
        ),
    );
    Ok(())
}
