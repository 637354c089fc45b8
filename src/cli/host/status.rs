//! `hookwire host status`: the hosts that run, and what they are.

use super::super::output::{Output, Tone, safe, shorten_text};
use super::super::tail::Clean;
use super::super::{Failure, Finding, find_project};
use crate::rpc::protocol::UnaskedReply;
use hookwire_base::support::amounts::{number_of, number_of_guards};
use hookwire_engine::canaries::Canaries;
use hookwire_engine::ledger::UnaskedCalls;
use hookwire_engine::running::{self, About, Running};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

#[derive(clap::Args)]
pub(super) struct StatusArgs {
    /// Only the hosts of this project.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Print one line for an agent's status line: what is in force in this project, and what was
    /// denied last. No host is started for it.
    #[arg(long)]
    line: bool,
}

/// Of so many events that were judged lately, the last deny is told.
const N_RECENT: usize = 64;
/// The width of the status line, in characters.
const LINE_WIDTH: usize = 160;

pub(super) fn run(args: &StatusArgs, out: &mut Output) -> Result<Finding, Failure> {
    if args.line {
        let line = status_line(&args.root.clone().unwrap_or_else(find_project));
        if out.json {
            out.json(&json!({ "line": line }));
        } else {
            out.line(&line);
        }
        return Ok(Finding::Fine);
    }
    let mut hosts = running::find(args.root.as_deref())?;
    let is_none = hosts.is_empty();
    let asked: Vec<_> = hosts
        .iter_mut()
        .map(|host| {
            let about = host.about();
            let unasked = match &about {
                Ok(_) => last_day_of(host),
                Err(_) => Vec::new(),
            };
            (about, unasked, host.socket.clone())
        })
        .collect();
    let roots: Vec<String> = asked
        .iter()
        .filter_map(|(about, ..)| Some(about.as_ref().ok()?.root.clone()))
        .collect();
    for (about, unasked, path) in asked {
        if out.json {
            out.json(&match about {
                Ok(it) => json!({ "socket": path, "root": it.root, "pid": it.pid, "started": it.started,
                    "version": it.version, "hooks": it.n_hooks, "generation": it.generation, "clients": it.clients,
                    "notInForce": it.not_in_force, "canaries": it.canaries, "unasked": unasked, "arguments": it.program.arguments,
                    "notRecorded": not_recorded(&it) }),
                Err(error) => json!({ "socket": path, "error": error.to_string() }),
            });
            continue;
        }
        match about {
            Ok(it) => {
                let is_one_of_several = roots.iter().filter(|root| **root == it.root).count() > 1;
                show_host(&it, is_one_of_several, out);
                unasked.iter().for_each(|calls| show_unasked(calls, out));
            }
            Err(error) => out.line(&out.tone(
                Tone::Bad,
                &format!("{}: it doesn't answer: {error}", path.display()),
            )),
        }
    }
    if is_none && !out.json {
        out.line("No host runs. The first event of an agent that asks hookwire starts one.");
    }
    Ok(Finding::Fine)
}

/// What is in force for a project and what was denied last, in one line without control characters.
/// Of several hosts, the youngest tells what is in force.
fn status_line(root: &Path) -> String {
    let looked = running::find(Some(root)).and_then(|mut hosts| {
        let looked = hosts
            .iter_mut()
            .map(|host| Ok((host.about()?, last_deny(host)?)));
        looked.collect::<std::io::Result<Vec<_>>>()
    });
    let told = match looked {
        Err(error) => format!("no answer: {error}"),
        Ok(hosts) => {
            let youngest = hosts.iter().map(|(about, _)| about);
            match youngest.max_by(|a, b| a.started.cmp(&b.started)) {
                None => "not running".into(),
                Some(about) => {
                    let denies = hosts.iter().filter_map(|(_, deny)| deny.as_ref());
                    let at = |deny: &&Clean| deny.value()["at"].as_str().map(str::to_string);
                    describe_guard(about, denies.max_by_key(at))
                }
            }
        }
    };
    shorten_text(&format!("hookwire: {told}"), LINE_WIDTH)
}

fn describe_guard(about: &About, denied: Option<&Clean>) -> String {
    let mut told = format!(
        "{} in force",
        number_of_guards(about.n_hooks, about.n_policies)
    );
    if !about.not_in_force.is_empty() {
        told.push_str(&format!(", {} not", about.not_in_force.len()));
    }
    let n_passed = about.canaries.as_ref().map_or(0, |it| it.not_denied);
    if n_passed > 0 {
        told.push_str(&format!(", {} not denied", number_of(n_passed, "case")));
    }
    let Some(record) = denied.map(Clean::value) else {
        return told;
    };
    told.push_str("; last deny");
    if let Some(age) = record["at"].as_str().and_then(age_of) {
        told.push_str(&format!(" {age} ago"));
    }
    for member in ["decidedBy", "reason"] {
        if let Some(text) = record["verdict"][member].as_str() {
            told.push_str(&format!(": {text}"));
        }
    }
    told
}

/// The last deny among the events that a host judged lately.
fn last_deny(host: &mut Running) -> std::io::Result<Option<Clean>> {
    let limit = json!({ "limit": N_RECENT });
    let recent = host.client.request("hooks/recent", &limit)?;
    let records = recent["records"].as_array().map(Vec::as_slice);
    let is_deny = |record: &&Value| record["verdict"]["decision"] == "deny";
    let denied = records.unwrap_or_default().iter().rev().find(is_deny);
    Ok(denied.map(|record| Clean::new(record.clone())))
}

/// A host in lines, the project first. Where it `is_one_of_several` of its project, its arguments
/// tell it apart.
fn show_host(host: &About, is_one_of_several: bool, out: &mut Output) {
    let root = out.tone(Tone::Strong, &host.root);
    let age = age_of(&host.started)
        .map(|age| format!(", for {age}"))
        .unwrap_or_default();
    out.line(&format!(
        "{root}  process {}{age}, version {}",
        host.pid, host.version
    ));
    let hooks = number_of_guards(host.n_hooks, host.n_policies);
    out.line(&format!(
        "  {hooks} in force, generation {}; {}",
        host.generation,
        describe_clients(&host.clients)
    ));
    if is_one_of_several {
        let started = format!("  started as {}", safe(&host.program.command_line()));
        out.line(&out.tone(Tone::Dim, &started));
    }
    for problem in &host.not_in_force {
        let mark = out.tone(Tone::Warn, "not in force");
        out.line(&format!("  {mark}: {}", safe(problem)));
    }
    host.canaries
        .iter()
        .for_each(|canaries| show_canaries(canaries, out));
    let n_lost = usize::try_from(not_recorded(host)).unwrap_or(usize::MAX);
    if n_lost > 0 {
        let mark = out.tone(Tone::Warn, "not recorded");
        out.line(&format!(
            "  {mark}: the history lacks {} of it",
            number_of(n_lost, "event")
        ));
    }
}

/// The last day's calls that nobody was asked about, as a host counts them; none if it is too old
/// to count them, or takes too long.
fn last_day_of(host: &mut Running) -> Vec<UnaskedCalls> {
    let reply = host.client.request("host/unasked", &json!({}));
    let reply = reply.and_then(|reply| Ok(serde_json::from_value::<UnaskedReply>(reply)?));
    reply.map(|reply| reply.agents).unwrap_or_default()
}

fn show_unasked(unasked: &UnaskedCalls, out: &mut Output) {
    if unasked.calls == 0 {
        return;
    }
    let tone = match unasked.would_be_denied {
        0 => Tone::Warn,
        _ => Tone::Bad,
    };
    let mark = out.tone(tone, "last day");
    out.line(&format!("  {mark}: {}", safe(&unasked.describe())));
}

/// What became of the cases that are to be denied.
fn show_canaries(canaries: &Canaries, out: &mut Output) {
    let Canaries {
        denied,
        not_tried,
        not_denied,
        failed,
    } = canaries;
    for case in failed {
        let mark = out.tone(Tone::Bad, "not denied");
        out.line(&format!("  {mark}: {}", safe(&case.describe())));
    }
    let n_more = not_denied - failed.len().min(*not_denied);
    if n_more > 0 {
        let mark = out.tone(Tone::Bad, "not denied");
        out.line(&format!("  {mark}: {} more", number_of(n_more, "case")));
    }
    if denied + not_tried > 0 {
        let tried =
            format!("  cases that are to be denied: {denied} denied, {not_tried} not tried");
        out.line(&out.tone(Tone::Dim, &tried));
    }
}

/// How many events of a host the history lacks, though it was to have them.
#[cfg(feature = "history")]
fn not_recorded(host: &About) -> u64 {
    use crate::history::{History, history_dir};
    // To look is not to begin one.
    let Some(dir) = history_dir().filter(|it| it.is_dir()) else {
        return 0;
    };
    let run = format!("{}@{}", host.pid, host.started);
    History::open(&dir)
        .and_then(|it| it.count_lost(Some(&run)))
        .unwrap_or_default()
}

#[cfg(not(feature = "history"))]
fn not_recorded(_: &About) -> u64 {
    0
}

/// Who is connected, in words.
fn describe_clients(clients: &[String]) -> String {
    let unnamed = clients.iter().filter(|name| name.is_empty()).count();
    let named = clients
        .iter()
        .filter(|name| !name.is_empty())
        .map(|name| safe(name));
    let unnamed = (unnamed > 0).then(|| format!("{unnamed} without a name"));
    let all: Vec<String> = named.chain(unnamed).collect();
    if all.is_empty() {
        "nobody is connected".into()
    } else {
        format!("connected: {}", all.join(", "))
    }
}

/// How long ago a time was, to the second.
fn age_of(started: &str) -> Option<humantime::FormattedDuration> {
    let started = humantime::parse_rfc3339(started).ok()?;
    let age = SystemTime::now().duration_since(started).ok()?;
    Some(humantime::format_duration(Duration::from_secs(
        age.as_secs(),
    )))
}
