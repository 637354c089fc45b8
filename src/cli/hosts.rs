//! `hookwire status` and `stop`: the hosts that run, what they are, and their end.

use super::output::{Output, Tone, safe, tell};
use super::{Failure, Finding, project};
use hookwire_base::support::amounts::number_of;
use hookwire_engine::running::{self, About, Running, Stopped};
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

#[derive(clap::Args)]
pub(super) struct StatusArgs {
    /// Only the hosts of this project.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(super) struct StopArgs {
    /// The project root of the hosts; else the nearest directory upwards that is a project's.
    #[arg(long, value_name = "DIR", default_value_os_t = project(), hide_default_value = true)]
    root: PathBuf,
    /// End the hosts of all projects.
    #[arg(long, conflicts_with = "root")]
    all: bool,
}

pub(super) fn status(args: &StatusArgs, out: &mut Output) -> Result<Finding, Failure> {
    let mut hosts = running::find(args.root.as_deref())?;
    let is_none = hosts.is_empty();
    let asked: Vec<_> = hosts.iter_mut().map(|host| (host.about(), host.socket.clone())).collect();
    let roots: Vec<String> = asked.iter().filter_map(|(about, _)| Some(about.as_ref().ok()?.root.clone())).collect();
    for (about, path) in asked {
        if out.json {
            out.json(&match about {
                Ok(it) => json!({ "socket": path, "root": it.root, "pid": it.pid, "started": it.started,
                    "version": it.version, "hooks": it.n_hooks, "generation": it.generation, "clients": it.clients,
                    "notInForce": it.not_in_force, "arguments": it.program.arguments,
                    "notRecorded": not_recorded(&it) }),
                Err(error) => json!({ "socket": path, "error": error.to_string() }),
            });
            continue;
        }
        match about {
            Ok(it) => show(&it, roots.iter().filter(|root| **root == it.root).count() > 1, out),
            Err(error) => out.line(&out.tone(Tone::Bad, &format!("{}: it doesn't answer: {error}", path.display()))),
        }
    }
    if is_none && !out.json {
        out.line("No host runs. The first event of an agent that asks hookwire starts one.");
    }
    Ok(Finding::Fine)
}

/// A host in lines, the project first. Where it `is_one_of_several` of its project, its arguments tell it apart.
fn show(host: &About, is_one_of_several: bool, out: &mut Output) {
    let root = out.tone(Tone::Strong, &host.root);
    let age = age(&host.started).map(|age| format!(", for {age}")).unwrap_or_default();
    out.line(&format!("{root}  process {}{age}, version {}", host.pid, host.version));
    let hooks = number_of(host.n_hooks, "hook");
    out.line(&format!("  {hooks} in force, generation {}; {}", host.generation, connected(&host.clients)));
    if is_one_of_several {
        let started = format!("  started as {}", safe(&host.program.command_line()));
        out.line(&out.tone(Tone::Dim, &started));
    }
    for problem in &host.not_in_force {
        let mark = out.tone(Tone::Warn, "not in force");
        out.line(&format!("  {mark}: {}", safe(problem)));
    }
    let n_lost = usize::try_from(not_recorded(host)).unwrap_or(usize::MAX);
    if n_lost > 0 {
        let mark = out.tone(Tone::Warn, "not recorded");
        out.line(&format!("  {mark}: the history lacks {} of it", number_of(n_lost, "event")));
    }
}

/// How many events of a host the history lacks, though it was to have them.
#[cfg(feature = "history")]
fn not_recorded(host: &About) -> u64 {
    use crate::history::{History, directory};
    // To look is not to begin one.
    let Some(dir) = directory().filter(|it| it.is_dir()) else { return 0 };
    let run = format!("{}@{}", host.pid, host.started);
    History::open(&dir).and_then(|it| it.lost(Some(&run))).unwrap_or_default()
}

#[cfg(not(feature = "history"))]
fn not_recorded(_: &About) -> u64 {
    0
}

/// Who is connected, in words.
fn connected(clients: &[String]) -> String {
    let unnamed = clients.iter().filter(|name| name.is_empty()).count();
    let named = clients.iter().filter(|name| !name.is_empty()).map(|name| safe(name));
    let unnamed = (unnamed > 0).then(|| format!("{unnamed} without a name"));
    let all: Vec<String> = named.chain(unnamed).collect();
    if all.is_empty() { "nobody is connected".into() } else { format!("connected: {}", all.join(", ")) }
}

/// How long ago a time was, to the second.
fn age(started: &str) -> Option<humantime::FormattedDuration> {
    let started = humantime::parse_rfc3339(started).ok()?;
    let age = SystemTime::now().duration_since(started).ok()?;
    Some(humantime::format_duration(Duration::from_secs(age.as_secs())))
}

pub(super) fn stop(args: &StopArgs, out: &mut Output) -> Result<Finding, Failure> {
    let root = (!args.all).then_some(&*args.root);
    let hosts = running::find(root)?;
    if hosts.is_empty() && !out.json {
        out.line(if args.all {
            "No host runs."
        } else {
            "No host of this project runs; `--all` ends those of others."
        });
    }
    let mut has_failed = false;
    for host in hosts {
        has_failed |= !end(host, out);
    }
    Ok(if has_failed { Finding::Found } else { Finding::Fine })
}

/// Ends one host, and says what became of it; whether it ended.
fn end(mut host: Running, out: &mut Output) -> bool {
    let socket = host.socket.clone();
    let (pid, root, ended) = match host.process() {
        Ok((pid, root, _)) => (pid, root, host.stop()),
        Err(error) => (0, socket.display().to_string(), Err(error)),
    };
    if out.json {
        let error = ended.as_ref().err().map(ToString::to_string);
        out.json(&json!({ "socket": socket, "pid": pid, "root": root,
            "stopped": matches!(ended, Ok(Stopped::Gone)), "error": error }));
        return ended.is_ok();
    }
    match &ended {
        Ok(Stopped::Gone) => out.line(&format!("{root}: process {pid} has ended.")),
        Ok(Stopped::WhenLeft) => {
            out.line(&format!("{root}: process {pid} takes nobody any more and ends when its clients have gone."));
        }
        Err(error) => tell(format_args!("{root}: process {pid} runs on: {error}")),
    }
    ended.is_ok()
}
