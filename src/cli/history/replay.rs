//! `hookwire history replay`: events from a file, judged as `serve` would judge them.

use super::super::ending;
use super::super::explain::run::dialect_reply;
use super::super::output::{Output, Tone, safe, say_on_stderr};
use super::super::record::RECORDED;
use super::super::rows::{About, event_summary, print_head, print_row};
use super::super::serve::{MAX_MESSAGE, share_socket};
use super::super::{DefinitionArgs, Failure, Finding, HostArgs, dialect_parser};
use hookwire_base::support::file;
use hookwire_base::support::os_error::in_words;
use hookwire_base::verdict::{Decision, Verdict, Would};
use hookwire_dialects::recorded::{Recorded, is_remark};
use hookwire_dialects::{Dialect, NATIVE};
use hookwire_engine::host::{HostOptions, Purpose};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::AsyncBufReadExt;
use tokio::runtime::Runtime;

#[derive(clap::Args)]
pub(super) struct ReplayArgs {
    /// One JSON event a line, or what a capture of an agent's hooks holds, `{"stdin": event}`, or
    /// what `hookwire tail --format json` prints. - is stdin.
    file: PathBuf,
    /// Other definitions, a directory or a file: show only the events that they judge otherwise.
    /// Exits with 1 if there are any.
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
    /// Show only the events that are judged otherwise than the file says, as `hookwire tail
    /// --format json` prints it. Exits with 1 if there are any.
    #[arg(long, conflicts_with = "against")]
    changed: bool,
    /// Show only the events that are judged otherwise than this file says, which `hookwire history
    /// replay --format json` printed of the same session. Exits with 1 if there are any.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["against", "changed"])]
    expect: Option<PathBuf>,
    /// The vocabulary of the events.
    #[arg(long, default_value = NATIVE, value_parser = dialect_parser())]
    dialect: &'static Dialect,
    #[command(flatten)]
    hooks: HostArgs,
}

/// One line of `history replay --format json`.
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

/// The verdict on each line of a session, as `history replay --format json` printed it.
fn read_expected(path: &Path) -> Result<HashMap<usize, Verdict>, Failure> {
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
            let row: Row = serde_json::from_str(&text)
                .map_err(|error| at(format!("line {}: {error}", index + 1)))?;
            expected.insert(row.line, row.verdict);
        }
    }
    Ok(expected)
}

pub(super) fn run(args: &ReplayArgs, out: &mut Output) -> Result<Finding, Failure> {
    ending::run_to_end(async |runtime| replay_events(args, runtime, out).await)
}

async fn replay_events(
    args: &ReplayArgs,
    runtime: &Runtime,
    out: &mut Output,
) -> Result<Finding, Failure> {
    let file = match args.file.as_os_str().as_encoded_bytes() {
        b"-" => Ok(std::io::stdin().as_fd().try_clone_to_owned()?.into()),
        _ => file::open_given(&args.file),
    };
    let file =
        file.map_err(|error| Failure(format!("{}: {}", args.file.display(), in_words(&error))))?;
    if args.file.is_dir() {
        let recorded = args.file.join(RECORDED);
        let instead = if recorded.exists() {
            format!("; write {}", recorded.display())
        } else {
            String::new()
        };
        return Err(Failure(format!(
            "{}: it is a directory{instead}",
            args.file.display()
        )));
    }
    let file = tokio::fs::File::from_std(file);
    // What a call ran then is not what it would run now.
    let host_of = |hooks: &HostArgs| {
        hooks.definitions.build_host(HostOptions {
            purpose: Purpose::Replay,
            ..hooks.options()?
        })
    };
    let hooks = args.hooks.with_installed();
    let host = host_of(&hooks)?;
    let other = args
        .against
        .as_ref()
        .map(|path| {
            let before = args.hooks.definitions.clone();
            let definitions = DefinitionArgs {
                hooks: vec![path.clone()],
                live: false,
                ..before
            };
            host_of(&HostArgs {
                definitions,
                ..hooks.clone()
            })
        })
        .transpose()?;
    let mut expected = args.expect.as_deref().map(read_expected).transpose()?;
    let is_comparing = args.changed || other.is_some() || expected.is_some();
    // The commands of hooks reach the shared state through it.
    let _socket = share_socket(&host, runtime, MAX_MESSAGE);
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
        let Recorded {
            event,
            dialect,
            verdict: was,
        } = match Recorded::read_line(&line, args.dialect) {
            Ok(recorded) => recorded,
            Err(problem) => {
                n_bad += 1;
                say_on_stderr(format_args!(
                    "{}:{number}: {}",
                    args.file.display(),
                    safe(&problem)
                ));
                continue;
            }
        };
        let (verdict, elapsed) = host.judge_as(dialect, &event).await;
        n_read += 1;
        n_denied += usize::from(verdict.decision == Decision::Deny);
        for outcome in &verdict.outcomes {
            let Some(it) = &outcome.observed else {
                continue;
            };
            *observed
                .entry(outcome.hook.clone())
                .or_default()
                .entry(it.would())
                .or_default() += 1;
        }
        let before = match (&other, &mut expected) {
            (Some(other), _) => Some(other.judge_as(dialect, &event).await.0),
            (None, Some(expected)) => expected.remove(&number),
            (None, None) => was.filter(|_| args.changed),
        };
        if is_comparing {
            // What isn't expected at all is new; what was recorded without a verdict can't differ.
            let is_changed = before
                .as_ref()
                .map_or(args.expect.is_some(), |before| before.differs(&verdict));
            if !is_changed {
                continue;
            }
            n_changed += 1;
        }
        if out.json {
            let (event_name, tool) = (&*event.name, event.tool_name());
            let reply = dialect_reply(dialect, &event, &verdict);
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
            let about = About {
                event: &event.name,
                subject: &event_summary(&event),
            };
            print_row(
                out,
                number,
                about,
                &verdict,
                elapsed.as_micros(),
                before.as_ref(),
            );
        }
    }
    ending::settle_hooks(&host).await;
    let n_missing = expected.map_or(0, |left| left.len());
    if n_missing > 0 {
        say_on_stderr(format_args!(
            "{n_missing} expected verdicts are about lines that {} doesn't have",
            args.file.display()
        ));
    }
    if !out.json {
        let changed = if is_comparing {
            format!(", {n_changed} judged otherwise")
        } else {
            String::new()
        };
        let summary = format!("{n_read} events, {n_denied} denied, {n_bad} unreadable{changed}");
        let summary = out.tone(Tone::Dim, &summary);
        out.line(&summary);
        for (hook, counts) in &observed {
            let counts = counts
                .iter()
                .rev()
                .map(|(would, n)| format!("{} {n}", would.as_str()));
            let line = format!(
                "{} would {} (observe)",
                safe(hook),
                counts.collect::<Vec<_>>().join(", ")
            );
            out.line(&out.tone(Tone::Dim, &line));
        }
    }
    Ok(if n_bad + n_changed + n_missing > 0 {
        Finding::Found
    } else {
        Finding::Fine
    })
}
