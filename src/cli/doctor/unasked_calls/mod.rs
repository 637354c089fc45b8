//! `hookwire doctor --unasked`: calls that agents have made and nobody was asked about.
//!
//! Agents' transcripts are compared with the ledger, and what isn't there is judged now, without
//! effects. A guard that was off leaves such calls behind.

mod cause;
mod compare;
mod judged;

use super::super::output::{Output, Tone};
use super::super::{Failure, Finding, HostArgs};
use super::{Health, Report};
use crate::transcripts;
use compare::{Compared, Missed};
use hookwire_base::support::amounts::{number_of, rfc3339};
use hookwire_base::support::visible::first_line_cut;
use hookwire_base::verdict::Decision;
use hookwire_engine::host::Host;
use hookwire_engine::ledger::{KEPT, LastDay, UnaskedCalls};
use hookwire_rules::agents::{AGENTS, Agent};
use judged::{Judge, LIMIT_OF_ALL};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How long the transcripts of an agent may take to be read.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same where it is one line among others.
const SHORT_PATIENCE: Duration = Duration::from_secs(3);
/// How long that and judging may take in a host, for all agents.
const SHORT_LIMIT: Duration = Duration::from_secs(5);
/// What one line among others looks back at.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The calls that are shown of an agent, and the longest text of one, in characters.
const MAX_SHOWN: usize = 100;
const MAX_ACT: usize = 80;

#[derive(clap::Args)]
pub(in super::super) struct UnaskedArgs {
    /// Only compare agents' transcripts with what hookwire was asked: which calls nobody was asked
    /// about, and what your hooks say about them now. Exits with 1 if there is one.
    #[arg(long, conflicts_with_all = ["drive", "versions"])]
    pub(super) unasked: bool,
    /// With --unasked: how far back it looks, 14 days at most. Default: 1d.
    #[arg(long, value_name = "DURATION", requires = "unasked", value_parser = humantime::parse_duration)]
    since: Option<Duration>,
}

/// Compares the transcripts of these agents, or of all that have some, with the ledger.
pub(super) fn run(
    args: &UnaskedArgs,
    agents: &[&'static Agent],
    hooks: &HostArgs,
    out: &mut Output,
) -> Result<Finding, Failure> {
    let root = &hooks.definitions.root;
    let since = SystemTime::now() - args.since.unwrap_or(DAY).min(KEPT);
    let (mut n_compared, mut is_found) = (0, false);
    for agent in AGENTS.iter() {
        let is_named = agents.iter().any(|it| it.name == agent.name);
        if !agents.is_empty() && !is_named {
            continue;
        }
        if !transcripts::is_known(agent) {
            if is_named {
                return Err(Failure(format!(
                    "{} has no transcripts that hookwire can read",
                    agent.title
                )));
            }
            continue;
        }
        let mut compared = Compared::new(agent, root, since, PATIENCE);
        if compared.is_empty() && !is_named {
            continue;
        }
        judge(&mut compared, hooks)?;
        n_compared += 1;
        is_found |= compared.unasked().next().is_some();
        show(&compared, since, root, out);
    }
    if n_compared == 0 && !out.json {
        out.line(&format!(
            "No agent has a transcript of this project since {}.",
            rfc3339(since)
        ));
    }
    Ok(if is_found {
        Finding::Found
    } else {
        Finding::Fine
    })
}

/// Has the calls that nobody was asked about judged.
fn judge(compared: &mut Compared, hooks: &HostArgs) -> Result<(), Failure> {
    if compared.missed.is_empty() {
        return Ok(());
    }
    let judge = Judge::new(compared.agent, hooks)?;
    judge_by(&judge, compared, Instant::now() + LIMIT_OF_ALL)
}

fn judge_by(judge: &Judge, compared: &mut Compared, deadline: Instant) -> Result<(), Failure> {
    let calls = compared.missed.iter().map(|missed| &missed.call);
    let judged = judge.judge_all(calls, deadline)?;
    for (missed, (act, judged)) in compared.missed.iter_mut().zip(judged) {
        (missed.act, missed.judged) = (act, judged);
    }
    Ok(())
}

/// Counts for a host what nobody was asked about in the last day.
pub(in super::super) fn last_day_of(host: &Arc<Host>) -> LastDay {
    let host = Arc::downgrade(host);
    LastDay::new(move || {
        let host = host.upgrade();
        host.map(|host| count_last_day(&host)).unwrap_or_default()
    })
}

/// By the hooks that are in force in the host. It takes some seconds at most.
fn count_last_day(host: &Arc<Host>) -> Vec<UnaskedCalls> {
    let (since, began) = (SystemTime::now() - DAY, Instant::now());
    let mut counted = Vec::new();
    for agent in AGENTS.iter().filter(|agent| transcripts::is_known(agent)) {
        let left = SHORT_PATIENCE.saturating_sub(began.elapsed());
        let mut compared = Compared::new(agent, host.root(), since, left);
        if compared.is_empty() {
            continue;
        }
        let judged = Judge::of_host(agent, host.clone())
            .and_then(|judge| judge_by(&judge, &mut compared, began + SHORT_LIMIT));
        if let Err(Failure(error)) = judged {
            tracing::warn!(agent = agent.name, %error, "Calls that nobody was asked about can't be judged.");
        }
        let count = |is: fn(&&Missed) -> bool| compared.unasked().filter(is).count();
        counted.push(UnaskedCalls {
            agent: agent.name.into(),
            calls: compared.unasked().count(),
            would_be_denied: count(|missed| missed.is_denied()),
            not_judged: count(|missed| missed.judged.is_err()),
            asked: compared.n_asked,
            partial: !compared.problems.is_empty(),
        });
    }
    counted
}

/// Says in a line what the last day of an agent looks like.
pub(super) fn say_last_day(
    agent: &'static Agent,
    hooks: &HostArgs,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    if !transcripts::is_known(agent) {
        return Ok(());
    }
    let since = SystemTime::now() - DAY;
    let mut compared = Compared::new(agent, &hooks.definitions.root, since, SHORT_PATIENCE);
    judge(&mut compared, hooks)?;
    let n_unasked = compared.unasked().count();
    let n_denied = compared.unasked().filter(|it| it.is_denied()).count();
    if n_unasked > 0 {
        let health = if n_denied > 0 {
            Health::Bad
        } else {
            Health::Doubtful
        };
        let were = if n_unasked == 1 { "was" } else { "were" };
        let (calls, name) = (number_of(n_unasked, "call"), agent.name);
        report.say_health(
            health,
            &format!(
                "{calls} of the last day {were} never asked about, and {n_denied} would be denied: \
                 `hookwire doctor --unasked {name}`"
            ),
        );
    } else if compared.n_asked > 0 {
        let calls = number_of(compared.n_asked, "call");
        report.say_health(
            Health::Fine,
            &format!("{calls} in the last day, all asked about"),
        );
    }
    if compared.n_undated > 0 {
        let calls = number_of(compared.n_undated, "call");
        let name = agent.name;
        report.say_health(
            Health::Doubtful,
            &format!("{calls} without a time that can be read: `hookwire doctor --unasked {name}`"),
        );
    }
    Ok(())
}

/// What `hookwire doctor --unasked` says of an agent.
fn show(compared: &Compared, since: SystemTime, root: &Path, out: &mut Output) {
    if out.json {
        return out.json(&to_json(compared, since, root));
    }
    let head = out.tone(Tone::Strong, compared.agent.name);
    out.line(&head);
    let unasked: Vec<&Missed> = compared.unasked().collect();
    let asked = format!(
        "{} asked about since {}",
        number_of(compared.n_asked, "call"),
        rfc3339(since)
    );
    say(out, Tone::Good, "ok", &asked);
    if !unasked.is_empty() {
        let n_denied = unasked.iter().filter(|it| it.is_denied()).count();
        let were = if unasked.len() == 1 { "was" } else { "were" };
        let calls = number_of(unasked.len(), "call");
        say(
            out,
            Tone::Bad,
            "bad",
            &format!("{calls} {were} never asked about; would be denied: {n_denied}"),
        );
        show_calls(&unasked, out);
    }
    let others = || compared.missed.iter().filter(|it| !it.counts());
    if others().next().is_some() {
        let calls = number_of(others().count(), "call");
        let told = "that nobody can tell of: they failed, or the ledger lacks them";
        let shown: Vec<&Missed> = others().filter(|it| !it.is_allowed()).collect();
        let n_shown = shown.len();
        say(
            out,
            Tone::Warn,
            "look",
            &format!("{calls} {told}; would not be allowed: {n_shown}"),
        );
        show_calls(&shown, out);
    }
    for problem in &compared.problems {
        say(out, Tone::Warn, "look", problem);
    }
}

fn say(out: &mut Output, tone: Tone, word: &str, text: &str) {
    let word = out.tone(tone, &format!("{word:<4}"));
    out.line(&format!("  {word}  {text}"));
}

fn show_calls(calls: &[&Missed], out: &mut Output) {
    for missed in calls.iter().take(MAX_SHOWN) {
        let call = &missed.call;
        let at = rfc3339(time_of(call.at));
        let session = first_line_cut(&call.session, 12);
        let tool = first_line_cut(&call.tool, 40);
        let act = first_line_cut(&missed.act, MAX_ACT);
        out.line(&format!("        {at}  {session}  {tool}  {act}"));
        let (tone, said) = describe_judged(missed);
        let said = out.tone(tone, &said);
        out.line(&format!("          {said}; {}", missed.cause));
    }
    let n_more = calls.len().saturating_sub(MAX_SHOWN);
    if n_more > 0 {
        out.line(&format!(
            "        and {n_more} more: `--format json` has all"
        ));
    }
}

/// What the hooks say about a call now.
fn describe_judged(missed: &Missed) -> (Tone, String) {
    let judged = match &missed.judged {
        Ok(judged) => judged,
        Err(why) => return (Tone::Dim, format!("not judged, because {}", why.as_str())),
    };
    let by = judged.by.as_deref().unwrap_or("hookwire");
    let reason = judged.reason.as_deref().unwrap_or_default();
    let reason = first_line_cut(reason, MAX_ACT);
    match judged.decision {
        Decision::Deny => (Tone::Bad, format!("would be denied by {by}: {reason}")),
        Decision::Ask => (
            Tone::Warn,
            format!("would be asked about by {by}: {reason}"),
        ),
        Decision::Defer => (Tone::Warn, format!("would be left to the agent by {by}")),
        Decision::Allow if judged.n_not_run > 0 => {
            let hooks = number_of(judged.n_not_run, "hook");
            (
                Tone::Dim,
                format!("would be allowed, but for {hooks} that would have to run"),
            )
        }
        Decision::Allow => (Tone::Dim, "would be allowed".into()),
    }
}

fn time_of(millis: u64) -> SystemTime {
    // A transcript may say any number.
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_millis(millis))
        .filter(|time| *time < SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

fn to_json(compared: &Compared, since: SystemTime, root: &Path) -> Value {
    let calls = |counts: bool| -> Vec<Value> {
        compared
            .missed
            .iter()
            .filter(|it| it.counts() == counts)
            .map(call_to_json)
            .collect()
    };
    json!({
        "agent": compared.agent.name,
        "root": root.canonicalize().unwrap_or_else(|_| root.to_path_buf()),
        "since": rfc3339(since),
        "transcripts": compared.n_files,
        "asked": compared.n_asked,
        "undated": compared.n_undated,
        "unasked": calls(true),
        "wouldBeDenied": compared.unasked().filter(|it| it.is_denied()).count(),
        "unclear": calls(false),
        "problems": compared.problems,
    })
}

fn call_to_json(missed: &Missed) -> Value {
    let call = &missed.call;
    let judged = missed.judged.as_ref().ok();
    let not_judged = missed.judged.as_ref().err();
    json!({
        "at": rfc3339(time_of(call.at)),
        "session": call.session,
        "id": call.id,
        "tool": call.tool,
        "act": missed.act,
        "cwd": call.cwd,
        "cause": missed.cause.code(),
        "text": missed.cause.to_string(),
        "decision": judged.map(|it| it.decision),
        "decidedBy": judged.and_then(|it| it.by.clone()),
        "reason": judged.and_then(|it| it.reason.clone()),
        "notRun": judged.map(|it| it.n_not_run),
        "notJudged": not_judged.map(|why| why.as_str()),
    })
}
