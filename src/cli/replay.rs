//! `dispatch`, `replay` and `explain`: events from the command line or a file, judged as `serve`
//! would judge them.

use super::output::{Output, Tone, safe, short};
use super::{DefinitionArgs, Failure, Finding, HostArgs, dialect};
use crate::dialects::{Dialect, NATIVE};
use crate::engine::Honours;
use crate::event::Event;
use crate::hook::Hook;
use crate::host::Host;
use crate::matching::Facts;
use crate::rpc::protocol::ExplainResult;
use crate::verdict::{Decision, Verdict};
use serde::Serialize;
use serde_json::Value;
use std::io::{BufRead, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(super) struct EventArgs {
    /// The event as JSON, a file that holds it, or - for stdin.
    #[arg(default_value = "-")]
    event: String,
    /// The vocabulary of the event.
    #[arg(long, default_value = NATIVE, value_parser = dialect)]
    dialect: &'static Dialect,
}

#[derive(clap::Args)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    event: EventArgs,
    #[command(flatten)]
    hooks: DefinitionArgs,
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
    /// One JSON event a line, or what a capture of an agent's hooks holds: `{"stdin": event}`. - is stdin.
    file: PathBuf,
    /// The vocabulary of the events.
    #[arg(long, default_value = NATIVE, value_parser = dialect)]
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
}

impl EventArgs {
    fn read(&self) -> Result<Event, Failure> {
        let text = if self.event == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        } else if self.event.trim_start().starts_with('{') {
            self.event.clone()
        } else {
            std::fs::read_to_string(&self.event).map_err(|error| Failure(format!("{}: {error}", self.event)))?
        };
        let value =
            crate::support::json::parse(&text).map_err(|error| Failure(format!("the event is not JSON: {error}")))?;
        self.dialect.read(unwrap_capture(value)).map_err(|error| Failure(error.to_string()))
    }
}

/// A line of a capture wraps what a hook got on stdin.
fn unwrap_capture(mut value: Value) -> Value {
    match value.get_mut("stdin") {
        Some(stdin @ Value::Object(_)) => stdin.take(),
        _ => value,
    }
}

/// Judges an event as a client of that vocabulary would have it judged.
pub(super) async fn judge(host: &Host, dialect: &'static Dialect, event: &Event) -> (Verdict, Duration) {
    let can_rewrite = dialect.takes_rewrites(event);
    // Without anybody to ask, an `ask` is printed as an `ask`.
    let honours = Honours::from_contract(&dialect.contract, can_rewrite);
    let honours = Honours { ask: honours.ask && host.options.ask_elsewhere.is_none(), ..honours };
    let started = Instant::now();
    let verdict = host.judge(Arc::new(event.clone()), &dialect.contract, honours, None).await;
    (verdict, started.elapsed())
}

pub(super) fn dispatch(args: &DispatchArgs, out: &mut Output) -> Result<Finding, Failure> {
    let DispatchArgs { event: args, hooks } = args;
    let event = args.read()?;
    let host = hooks.host()?;
    let runtime = super::serve::runtime()?;
    // The commands of hooks reach the shared state through it.
    let _socket = super::serve::share(&host, &runtime, super::serve::MAX_MESSAGE);
    let (verdict, elapsed) = runtime.block_on(judge(&host, args.dialect, &event));
    if out.json {
        match reply(args.dialect, &event, &verdict) {
            Some(reply) => out.json(&serde_json::json!({ "reply": reply, "verdict": verdict })),
            None => out.json(&verdict),
        }
    } else {
        print_verdict(out, &verdict, elapsed);
    }
    if hooks.state.is_none() {
        forgotten(&host, &verdict).iter().for_each(|it| eprintln!("hookwire: {}", safe(it)));
    }
    settle(&host, &runtime);
    Ok(if verdict.decision == Decision::Allow { Finding::Fine } else { Finding::Found })
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

/// Hooks that were started and not waited for end with the process; give them the time that `serve` gives.
pub(super) fn settle(host: &Host, runtime: &tokio::runtime::Runtime) {
    let settled = async { tokio::time::timeout(crate::rpc::serve::DRAIN, host.engine.settle()).await };
    let _ = runtime.block_on(settled);
}

fn reply(dialect: &Dialect, event: &Event, verdict: &Verdict) -> Option<Value> {
    (dialect.name() != NATIVE).then(|| (dialect.reply)(event, verdict))
}

/// Prints a verdict for people.
fn print_verdict(out: &mut Output, verdict: &Verdict, elapsed: Duration) {
    let by = verdict.decided_by.as_deref().map(|hook| format!(" by {hook}")).unwrap_or_default();
    let head = out.tone(decision_tone(verdict.decision), verdict.decision.as_str());
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
        let why = outcome
            .error
            .as_deref()
            .or(outcome.reason.as_deref())
            .map(|why| format!(": {}", safe(why)))
            .unwrap_or_default();
        let status = outcome.status.as_str();
        let rejudged = if outcome.rejudged { ", again" } else { "" };
        out.line(&format!(
            "  hook     {} ({status}{decision}, {} µs{rejudged}){why}",
            outcome.hook, outcome.duration_micros
        ));
    }
    for error in &verdict.errors {
        let error = out.tone(Tone::Warn, &safe(error));
        out.line(&format!("  error    {error}"));
    }
}

/// The colour of a decision.
pub(super) fn decision_tone(decision: Decision) -> Tone {
    match decision {
        Decision::Allow => Tone::Good,
        Decision::Deny => Tone::Bad,
        Decision::Ask | Decision::Defer => Tone::Warn,
    }
}

pub(super) fn replay(args: &ReplayArgs, out: &mut Output) -> Result<Finding, Failure> {
    let file: Box<dyn BufRead> = if args.file.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        let file =
            std::fs::File::open(&args.file).map_err(|error| Failure(format!("{}: {error}", args.file.display())))?;
        Box::new(std::io::BufReader::new(file))
    };
    let host = args.hooks.host()?;
    let runtime = super::serve::runtime()?;
    // The commands of hooks reach the shared state through it.
    let _socket = super::serve::share(&host, &runtime, super::serve::MAX_MESSAGE);
    if !out.json {
        let head = format!("{:>4}  {:<20} {:<32} {:<6} {:>9}  {}", "line", "event", "subject", "", "µs", "why");
        let head = out.tone(Tone::Dim, &head);
        out.line(&head);
    }
    let (mut n_read, mut n_denied, mut n_bad) = (0, 0, 0);
    for (index, line) in file.lines().enumerate() {
        let (number, line) = (index + 1, line?);
        if line.trim().is_empty() {
            continue;
        }
        let event = match crate::support::json::parse(&line) {
            Ok(value) => args.dialect.read(unwrap_capture(value)).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let event = match event {
            Ok(event) => event,
            Err(problem) => {
                n_bad += 1;
                eprintln!("hookwire: {}:{number}: {}", args.file.display(), safe(&problem));
                continue;
            }
        };
        let (verdict, elapsed) = runtime.block_on(judge(&host, args.dialect, &event));
        n_read += 1;
        n_denied += usize::from(verdict.decision == Decision::Deny);
        if out.json {
            let (event_name, tool) = (&*event.name, event.tool_name());
            let reply = reply(args.dialect, &event, &verdict);
            out.json(&Replayed {
                line: number,
                event: event_name,
                tool,
                micros: elapsed.as_micros(),
                reply,
                verdict: &verdict,
            });
        } else {
            let row = row(out, number, &event, &verdict, elapsed.as_micros());
            out.line(&row);
        }
    }
    settle(&host, &runtime);
    if !out.json {
        let summary = out.tone(Tone::Dim, &format!("{n_read} events, {n_denied} denied, {n_bad} unreadable"));
        out.line(&summary);
    }
    Ok(if n_bad > 0 { Finding::Found } else { Finding::Fine })
}

fn row(out: &Output, number: usize, event: &Event, verdict: &Verdict, micros: u128) -> String {
    let decision = if verdict.decided_by.is_none() && verdict.decision == Decision::Allow {
        "-"
    } else {
        verdict.decision.as_str()
    };
    let decision = out.tone(decision_tone(verdict.decision), &format!("{decision:<6}"));
    format!(
        "{number:>4}  {:<20} {:<32} {decision} {micros:>9}  {}",
        short(&event.name, 20),
        short(&event_summary(event), 32),
        short(&verdict_summary(verdict), 90)
    )
}

/// What an event is about: its tool and main argument, or its text.
pub(super) fn event_summary(event: &Event) -> String {
    let Some(tool) = event.tool_name() else {
        return event.text("/prompt").or(event.text("/lastMessage")).unwrap_or_default().to_string();
    };
    let main = event.data.pointer("/tool/input").and_then(|input| crate::matching::tools::main_argument(tool, input));
    match main {
        Some((_, argument)) => format!("{tool} {argument}"),
        None => tool.to_string(),
    }
}

/// Why a verdict is what it is, in one line.
pub(super) fn verdict_summary(verdict: &Verdict) -> String {
    let mut parts = Vec::new();
    if let Some(hook) = &verdict.decided_by {
        parts.push(match &verdict.reason {
            Some(reason) => format!("{hook}: {reason}"),
            None => hook.to_string(),
        });
    }
    if let Some(subject) = &verdict.subject {
        let by = verdict
            .outcomes
            .iter()
            .find(|outcome| outcome.rewrote)
            .map(|outcome| format!(" by {}", outcome.hook))
            .unwrap_or_default();
        parts.push(format!("rewritten{by}: {subject}"));
    }
    parts.extend(verdict.user_messages.iter().map(|text| format!("says: {text}")));
    parts.extend(verdict.additional_context.iter().map(|text| format!("context: {text}")));
    parts.extend(verdict.outcomes.iter().filter_map(|it| Some(format!("{} {}", it.hook, it.error.as_ref()?))));
    parts.join("; ")
}

pub(super) fn explain(args: &ExplainArgs, out: &mut Output) -> Result<Finding, Failure> {
    let event = Arc::new(args.event.read()?);
    let host = args.hooks.host(args.hooks.options())?;
    let hooks = host.hooks();
    let facts = Facts::new(event, &host.engine.services.root).with_names(&hooks.tool_names);
    let result = ExplainResult::new(hooks.hooks.iter(), &hooks.policies, &hooks.broken, &facts);
    if out.json {
        out.json(&result);
        return Ok(Finding::Fine);
    }
    for it in &result.commands {
        out.line(&out.tone(Tone::Dim, &safe(&format!("reads   {} ({}..{})", it.command, it.start, it.end))));
    }
    for it in &result.broken {
        let mark = out.tone(Tone::Bad, "broken");
        out.line(&format!("{mark}  {}", safe(it)));
    }
    for it in &result.policy {
        let (mark, why) = match &it.denies {
            Some(why) => (out.tone(Tone::Bad, "denies"), why.as_str()),
            None => (out.tone(Tone::Good, "fine  "), ""),
        };
        let place = out.tone(Tone::Dim, &safe(&format!("{}:{}", it.source.file, it.source.line)));
        out.line(&format!("{mark}  {:<24} {}  {place}", "policy", safe(why)));
    }
    for it in &result.hooks {
        let (mark, why) = match (&it.kept_out_by, &it.opaque) {
            (Some(miss), _) => (out.tone(Tone::Dim, "no    "), format!("{}: {}", miss.test, miss.why)),
            (None, Some(opaque)) => (out.tone(Tone::Warn, "opaque"), opaque.clone()),
            (None, None) => (out.tone(Tone::Good, "runs  "), String::new()),
        };
        let place = out.tone(Tone::Dim, &safe(&format!("{}:{}", it.source.file, it.source.line)));
        out.line(&format!("{mark}  {:<24} {}  {place}", short(&it.hook, 24), safe(&why)));
        // With one rule, the line above says it all, unless that is why it runs.
        for rule in it.rules.iter().filter(|_| it.rules.len() > 1 || it.kept_out_by.is_none() && it.opaque.is_none()) {
            let word = match rule.holds {
                Some(true) => "holds",
                Some(false) => "misses",
                None => "doubt",
            };
            let told = format!("        {:<6} {word:<6} {}: {}", rule.field, rule.rule, rule.why);
            out.line(&out.tone(Tone::Dim, &safe(&told)));
        }
    }
    Ok(Finding::Fine)
}
