//! `dispatch` and `replay`: events from the command line or a file, judged as `serve` would judge them.

use super::ending;
use super::output::{Output, Tone, safe, tell};
use super::record::RECORDED;
use super::rows::{About, event_summary, print_head, print_row};
use super::{DefinitionArgs, Failure, Finding, HostArgs, dialect};
use hookwire_base::event::Event;
use hookwire_base::support::file;
use hookwire_base::support::json::parse_event;
use hookwire_base::support::os_error::in_words;
use hookwire_base::support::shell_word;
use hookwire_base::verdict::{Decision, Verdict, Would};
use hookwire_dialects::recorded::{Recorded, is_remark, unwrap_capture};
use hookwire_dialects::{Dialect, NATIVE};
use hookwire_engine::definitions::slips;
use hookwire_engine::hook::Hook;
use hookwire_engine::host::Host;
use hookwire_engine::host::{HostOptions, Purpose};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, IsTerminal, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncBufReadExt;
use tokio::runtime::Runtime;

#[derive(clap::Args)]
pub(super) struct EventArgs {
    /// The event as JSON, a file that holds it, or - for stdin.
    #[arg(default_value = "-")]
    event: String,
    /// The call of a shell with this command, before it runs, instead of an event as JSON.
    #[arg(long, value_name = "COMMAND", group = "call", conflicts_with_all = ["event", "dialect"])]
    bash: Option<String>,
    /// The same for a call that writes this file.
    #[arg(long, value_name = "PATH", group = "call", conflicts_with_all = ["event", "dialect"])]
    write: Option<PathBuf>,
    /// The same for a call that reads this file.
    #[arg(long, value_name = "PATH", group = "call", conflicts_with_all = ["event", "dialect"])]
    read: Option<PathBuf>,
    /// The vocabulary of the event.
    #[arg(long, default_value = NATIVE, value_parser = dialect())]
    dialect: &'static Dialect,
}

#[derive(clap::Args)]
pub(super) struct DispatchArgs {
    #[command(flatten)]
    event: EventArgs,
    #[command(flatten)]
    hooks: HostArgs,
}

#[derive(clap::Args)]
pub(super) struct ReplayArgs {
    /// One JSON event a line, or what a capture of an agent's hooks holds, `{"stdin": event}`, or what
    /// `hookwire tail --format json` prints. - is stdin.
    file: PathBuf,
    /// Other definitions, a directory or a file: show only the events that they judge otherwise. Exits with 1 if
    /// there are any.
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
    /// Show only the events that are judged otherwise than the file says, as `hookwire tail --format json` prints
    /// it. Exits with 1 if there are any.
    #[arg(long, conflicts_with = "against")]
    changed: bool,
    /// Show only the events that are judged otherwise than this file says, which `hookwire replay --format json`
    /// printed of the same session. Exits with 1 if there are any.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["against", "changed"])]
    expect: Option<PathBuf>,
    /// The vocabulary of the events.
    #[arg(long, default_value = NATIVE, value_parser = dialect())]
    dialect: &'static Dialect,
    #[command(flatten)]
    hooks: HostArgs,
}

/// One line of `replay --format json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replayed<'a> {
    line: usize,
    event: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    micros: u128,
    /// What a hook of that system would have replied.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<Value>,
    verdict: &'a Verdict,
    /// What it is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a Verdict>,
}

impl EventArgs {
    /// The event of a call that an option stands for.
    fn call(&self) -> Option<Value> {
        let input = |path: &Path| json!({ "file_path": std::path::absolute(path).unwrap_or_else(|_| path.into()) });
        let (tool, input) = match self {
            EventArgs { bash: Some(command), .. } => ("Bash", json!({ "command": command })),
            EventArgs { write: Some(path), .. } => ("Write", {
                let mut input = input(path);
                input["content"] = json!("");
                input
            }),
            EventArgs { read: Some(path), .. } => ("Read", input(path)),
            EventArgs { .. } => return None,
        };
        Some(json!({ "event": "PreToolUse", "tool": { "name": tool, "input": input } }))
    }

    pub(super) fn read(&self) -> Result<Event, Failure> {
        if let Some(call) = self.call() {
            return Event::from_json(call).map_err(|error| Failure(error.to_string()));
        }
        let text = if self.event == "-" {
            if std::io::stdin().is_terminal() {
                tell(format_args!("waiting for an event on stdin, as JSON"));
            }
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            if text.trim().is_empty() {
                let event = "there is no event on stdin; write --bash 'git push -f', --write PATH or --read PATH, or give an \
                             event as JSON: as an argument, in a file that you name, or on stdin";
                return Err(Failure(event.into()));
            }
            text
        } else if self.event.trim_start().starts_with('{') {
            self.event.clone()
        } else {
            file::read_given(Path::new(&self.event)).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    let command = shell_word::argument(&self.event);
                    Failure(format!("{}: there is no such file; for a command, write --bash {command}", self.event))
                }
                _ => Failure(format!("{}: {}", self.event, in_words(&error))),
            })?
        };
        let value = parse_event(&text).map_err(|error| Failure(format!("the event is not JSON: {error}")))?;
        if self.dialect.name() == NATIVE {
            for (wrong, meant) in slips::of_event(&value) {
                tell(format_args!("no event has `{}`; did you mean `{}`?", safe(&wrong), safe(&meant)));
            }
        }
        self.dialect.read(unwrap_capture(value)).map_err(|error| Failure(error.to_string()))
    }
}

pub(super) fn dispatch(args: &DispatchArgs, out: &mut Output) -> Result<Finding, Failure> {
    let DispatchArgs { event: args, hooks } = args;
    let event = args.read()?;
    let host = hooks.with_installed().host()?;
    ending::run(async |runtime| {
        // The commands of hooks reach the shared state through it.
        let _socket = super::serve::share(&host, runtime, super::serve::MAX_MESSAGE);
        let (verdict, elapsed) = host.judge_as(args.dialect, &event).await;
        if out.json {
            match reply(args.dialect, &event, &verdict) {
                Some(reply) => out.json(&serde_json::json!({ "reply": reply, "verdict": verdict })),
                None => out.json(&verdict),
            }
        } else {
            print_verdict(out, &verdict, elapsed);
        }
        if hooks.state.is_none() {
            forgotten(&host, &verdict).iter().for_each(|it| tell(format_args!("{}", safe(it))));
        }
        ending::settle(&host).await;
        Ok(if verdict.decision == Decision::Allow { Finding::Fine } else { Finding::Found })
    })
}

/// What hooks of a verdict would remember, if the host didn't end with the command.
fn forgotten(host: &Host, verdict: &Verdict) -> Vec<String> {
    let set = host.hooks();
    let ran = |hook: &&Arc<Hook>| verdict.outcomes.iter().any(|outcome| outcome.hook == hook.name);
    let told = set.hooks.iter().filter(ran).filter_map(|hook| {
        let name = &hook.name;
        if hook.once {
            Some(format!("`{name}` runs once in a session, which ends with this command; ask a running host (`hookwire serve`)"))
        } else if hook.handler.counts() {
            Some(format!("`{name}` counts, and nothing is kept after this command; keep it with --state FILE, or ask a running host (`hookwire serve`)"))
        } else {
            None
        }
    });
    told.collect()
}

fn reply(dialect: &Dialect, event: &Event, verdict: &Verdict) -> Option<Value> {
    (dialect.name() != NATIVE).then(|| dialect.reply_to(event, verdict))
}

/// Prints a verdict for people.
fn print_verdict(out: &mut Output, verdict: &Verdict, elapsed: Duration) {
    let by = verdict.decided_by.as_deref().map(|hook| format!(" by {hook}")).unwrap_or_default();
    let head = out.tone(Tone::of(verdict.decision), verdict.decision.as_str());
    out.line(&format!("{head}{by}  ({} µs)", elapsed.as_micros()));
    if let Some(reason) = &verdict.reason {
        out.line(&format!("  reason   {}", safe(reason)));
    }
    if let Some(subject) = &verdict.subject {
        out.line(&format!("  subject  {}", safe(&subject.to_string())));
    }
    if let Some(stop) = &verdict.stop {
        out.line(&format!("  stop     {}", safe(stop)));
    }
    for text in &verdict.user_messages {
        out.line(&format!("  message  {}", safe(text)));
    }
    for text in &verdict.additional_context {
        out.line(&format!("  context  {}", safe(text)));
    }
    for outcome in &verdict.outcomes {
        let decision = outcome.decision.map(|it| format!(" {}", it.as_str())).unwrap_or_default();
        let would = outcome.observed.as_ref().map(|it| format!(", would {} (observe)", it.would().as_str()));
        let decision = would.unwrap_or(decision);
        // The reason above says it already.
        let is_new = |why: &&str| !verdict.reason.as_deref().is_some_and(|reason| reason.contains(why));
        let why = outcome.why().filter(is_new).map(|why| format!(": {}", safe(why))).unwrap_or_default();
        let status = outcome.status.as_str();
        let rejudged = if outcome.rejudged { ", again" } else { "" };
        out.line(&format!(
            "  hook     {} ({status}{decision}, {} µs{rejudged}){why}",
            outcome.hook, outcome.duration_micros
        ));
        // A reason that gives it has been printed.
        let is_told =
            |doubt: &&String| [&outcome.reason, &verdict.reason].into_iter().flatten().any(|it| it.contains(*doubt));
        if let Some(doubt) = outcome.opaque.as_ref().filter(|doubt| !is_told(doubt)) {
            out.line(&format!("  doubt    {}", out.tone(Tone::Warn, &safe(doubt))));
        }
    }
    for error in &verdict.errors {
        let error = out.tone(Tone::Warn, &safe(error));
        out.line(&format!("  error    {error}"));
    }
}

/// The verdict on each line of a session, as `replay --format json` printed it.
fn expected(path: &Path) -> Result<HashMap<usize, Verdict>, Failure> {
    #[derive(Deserialize)]
    struct Row {
        line: usize,
        verdict: Verdict,
    }
    let at = |error: String| Failure(format!("--expect {}: {error}", path.display()));
    let file = file::open_given(path).map_err(|error| at(in_words(&error)))?;
    let mut expected = HashMap::new();
    for (index, text) in std::io::BufReader::new(file).lines().enumerate() {
        let text = text.map_err(|error| at(error.to_string()))?;
        if !text.trim().is_empty() {
            let row: Row = serde_json::from_str(&text).map_err(|error| at(format!("line {}: {error}", index + 1)))?;
            expected.insert(row.line, row.verdict);
        }
    }
    Ok(expected)
}

pub(super) fn replay(args: &ReplayArgs, out: &mut Output) -> Result<Finding, Failure> {
    ending::run(async |runtime| replayed(args, runtime, out).await)
}

async fn replayed(args: &ReplayArgs, runtime: &Runtime, out: &mut Output) -> Result<Finding, Failure> {
    let file = match args.file.as_os_str().as_encoded_bytes() {
        b"-" => Ok(std::io::stdin().as_fd().try_clone_to_owned()?.into()),
        _ => file::open_given(&args.file),
    };
    let file = file.map_err(|error| Failure(format!("{}: {}", args.file.display(), in_words(&error))))?;
    if args.file.is_dir() {
        let recorded = args.file.join(RECORDED);
        let instead = if recorded.exists() { format!("; write {}", recorded.display()) } else { String::new() };
        return Err(Failure(format!("{}: it is a directory{instead}", args.file.display())));
    }
    let file = tokio::fs::File::from_std(file);
    // What a call ran then is not what it would run now.
    let host_of =
        |hooks: &HostArgs| hooks.definitions.host(HostOptions { purpose: Purpose::Replay, ..hooks.options()? });
    let hooks = args.hooks.with_installed();
    let host = host_of(&hooks)?;
    let against = |path: &PathBuf| {
        let before = args.hooks.definitions.clone();
        let definitions = DefinitionArgs { hooks: vec![path.clone()], project: false, ..before };
        host_of(&HostArgs { definitions, ..hooks.clone() })
    };
    let other = args.against.as_ref().map(against).transpose()?;
    let mut expected = args.expect.as_deref().map(expected).transpose()?;
    let is_comparing = args.changed || other.is_some() || expected.is_some();
    // The commands of hooks reach the shared state through it.
    let _socket = super::serve::share(&host, runtime, super::serve::MAX_MESSAGE);
    if !out.json {
        print_head(out, "line");
    }
    let (mut n_read, mut n_denied, mut n_bad, mut n_changed) = (0, 0, 0, 0);
    let mut observed: BTreeMap<Arc<str>, BTreeMap<Would, usize>> = BTreeMap::new();
    let mut lines = tokio::io::BufReader::new(file).lines();
    let mut number = 0;
    while let Some(line) = lines.next_line().await? {
        number += 1;
        if line.trim().is_empty() || is_remark(&line) {
            continue;
        }
        let Recorded { event, dialect, verdict: was } = match Recorded::read(&line, args.dialect) {
            Ok(recorded) => recorded,
            Err(problem) => {
                n_bad += 1;
                tell(format_args!("{}:{number}: {}", args.file.display(), safe(&problem)));
                continue;
            }
        };
        let (verdict, elapsed) = host.judge_as(dialect, &event).await;
        n_read += 1;
        n_denied += usize::from(verdict.decision == Decision::Deny);
        for outcome in &verdict.outcomes {
            let Some(it) = &outcome.observed else { continue };
            *observed.entry(outcome.hook.clone()).or_default().entry(it.would()).or_default() += 1;
        }
        let before = match (&other, &mut expected) {
            (Some(other), _) => Some(other.judge_as(dialect, &event).await.0),
            (None, Some(expected)) => expected.remove(&number),
            (None, None) => was.filter(|_| args.changed),
        };
        if is_comparing {
            // What isn't expected at all is new; what was recorded without a verdict can't differ.
            let is_changed = before.as_ref().map_or(args.expect.is_some(), |before| before.differs(&verdict));
            if !is_changed {
                continue;
            }
            n_changed += 1;
        }
        if out.json {
            let (event_name, tool) = (&*event.name, event.tool_name());
            let reply = reply(dialect, &event, &verdict);
            out.json(&Replayed {
                line: number,
                event: event_name,
                tool,
                micros: elapsed.as_micros(),
                reply,
                verdict: &verdict,
                before: before.as_ref(),
            });
        } else {
            let about = About { event: &event.name, subject: &event_summary(&event) };
            print_row(out, number, about, &verdict, elapsed.as_micros(), before.as_ref());
        }
    }
    ending::settle(&host).await;
    let n_missing = expected.map_or(0, |left| left.len());
    if n_missing > 0 {
        tell(format_args!("{n_missing} expected verdicts are about lines that {} doesn't have", args.file.display()));
    }
    if !out.json {
        let changed = if is_comparing { format!(", {n_changed} judged otherwise") } else { String::new() };
        let summary = format!("{n_read} events, {n_denied} denied, {n_bad} unreadable{changed}");
        let summary = out.tone(Tone::Dim, &summary);
        out.line(&summary);
        for (hook, counts) in &observed {
            let counts = counts.iter().rev().map(|(would, n)| format!("{} {n}", would.as_str()));
            let line = format!("{} would {} (observe)", safe(hook), counts.collect::<Vec<_>>().join(", "));
            out.line(&out.tone(Tone::Dim, &line));
        }
    }
    Ok(if n_bad + n_changed + n_missing > 0 { Finding::Found } else { Finding::Fine })
}
