//! `hookwire host status`: the hosts that run, and what they are.

use super::super::output::{Output, Tone, safe};
use super::super::{Failure, Finding};
use crate::rpc::protocol::UnaskedReply;
use hookwire_base::support::amounts::number_of;
use hookwire_engine::canaries::Canaries;
use hookwire_engine::ledger::UnaskedCalls;
use hookwire_engine::running::{self, About, Running};
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

#[derive(clap::Args)]
pub(super) struct StatusArgs {
    /// Only the hosts of this project.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

pub(super) fn run(args: &StatusArgs, out: &mut Output) -> Result<Finding, Failure> {
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
    let hooks = number_of(host.n_hooks, "hook");
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
