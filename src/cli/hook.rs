//! `hookwire hook AGENT`: the command that an agent's configuration names.
//!
//! One event on stdin, only the agent's own reply on stdout, exit 0 for every verdict. The project's host
//! judges the event: it stays up between events, and the first one starts it. Where there can be none, the
//! event is judged here. What fails inside is said in words that the agent obeys.

use super::ending::{room_for_files, runtime};
use super::output::{safe, tell, tell_plainly};
use super::serve::share;
use super::warm_host::{WarmHost, for_agents};
use super::{DefinitionArgs, Failure, PlaceArgs, StandingArgs, project};
use crate::definitions::approved::DEFINITIONS;
use crate::dialects::asked::{self, Moment, TIME_LIMIT, agent};
use crate::dialects::{Dialect, Said};
use crate::engine::panic_text;
use crate::support::places;
use crate::transport::client::Client;
use clap::ValueEnum;
use rustix::fs::FileType;
use serde_json::{Value, json};
use std::io::{IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct HookArgs {
    /// The agent that runs this as its hook: claude-code, codex, gemini, ...
    #[arg(value_parser = agent)]
    agent: &'static Dialect,
    /// The event, for agents that don't name it in what they send.
    #[arg(long)]
    event: Option<String>,
    /// What the agent is told if hookwire itself fails.
    #[arg(long, value_enum, default_value_t = Fail::Closed)]
    fail: Fail,
    /// How long an event may take. The agent's own limit should be longer.
    #[arg(long, value_name = "DURATION", default_value = TIME_LIMIT, value_parser = humantime::parse_duration)]
    time_limit: Duration,
    /// How long the host stays that this starts, after the last event.
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = humantime::parse_duration)]
    idle_exit: Duration,
    /// Let tools change hookwire's own files without asking a person.
    #[arg(long)]
    no_self_defence: bool,
    /// Judge the event here and start no host. Nothing is kept between events then.
    #[arg(long)]
    no_host: bool,
    /// The root is what --root names, wherever the agent works: `hookwire install` writes the project's. Without it, it is
    /// the nearest directory upwards whose definitions are trusted, else that holds .hookwire or .git.
    #[command(flatten)]
    hooks: StandingArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fail {
    /// That the act is denied.
    Closed,
    /// Nothing; the reason goes to stderr.
    Open,
}

/// How long a host may be silent before it is asked whether it is alive.
const SILENCE: Duration = Duration::from_secs(2);
/// The largest event, in bytes.
const MAX_EVENT: u64 = 64 * 1024 * 1024;

pub(super) fn run(args: &HookArgs, places: &PlaceArgs) -> ExitCode {
    let projects = foreign(&args.hooks.host.definitions);
    places::settle_for_agent(places.named(), |place| projects.iter().any(|project| place.starts_with(project)));
    let mut moment = Moment { name: args.event.clone().unwrap_or_default(), is_unknown_gate: false };
    let judged = catch_unwind(AssertUnwindSafe(|| judge(args, &mut moment)))
        .unwrap_or_else(|panic| Err(Failure(format!("a bug in hookwire, a panic: {}", panic_text(&*panic)))));
    let said = match judged {
        Ok(reply) => args.agent.say(&reply, &moment.name),
        Err(Failure(problem)) => {
            let reason = asked::refusal(&safe(&problem));
            let refused = match args.fail {
                Fail::Closed => args.agent.refuse(&reason, &moment),
                Fail::Open => Said::default(),
            };
            // What can't be denied isn't, but somebody should know.
            let is_silent = refused == Said::default();
            if is_silent { Said { stderr: format!("hookwire: {problem}"), ..refused } } else { refused }
        }
    };
    if !said.stderr.is_empty() {
        tell_plainly(format_args!("{}", said.stderr));
    }
    let mut stdout = std::io::stdout().lock();
    let written = match said.stdout.as_str() {
        "" => Ok(()),
        _ if nobody_reads() => Err(std::io::Error::other("nobody reads stdout")),
        text => writeln!(stdout, "{text}").and_then(|()| stdout.flush()),
    };
    match written {
        Ok(()) => ExitCode::from(u8::try_from(said.exit).unwrap_or(2)),
        // What can't be said must not pass for silence.
        Err(error) => {
            tell(format_args!("failed to write the reply, so this is denied: {error}"));
            ExitCode::from(2)
        }
    }
}

/// Whether stdout leads nowhere. Where it was closed, it is `/dev/null` by now.
fn nobody_reads() -> bool {
    let device = |about: rustix::fs::Stat| (FileType::from_raw_mode(about.st_mode), about.st_rdev);
    let stdout = rustix::fs::fstat(std::io::stdout()).map(device);
    let null = rustix::fs::stat("/dev/null").map(device);
    stdout.is_ok_and(|stdout| stdout.0 == FileType::CharacterDevice && null == Ok(stdout))
}

/// The agent's reply. Fills in what is known of the event as soon as it is.
fn judge(args: &HookArgs, moment: &mut Moment) -> Result<Value, Failure> {
    if std::io::stdin().is_terminal() {
        tell(format_args!(
            "waiting for one event of {} as JSON; Ctrl-D ends it. The agent starts this command itself, \
             after `hookwire install {0}`.",
            args.agent.name()
        ));
    }
    let mut sent = Vec::new();
    let read = std::io::stdin().lock().take(MAX_EVENT).read_to_end(&mut sent);
    let read = read.map_err(|error| format!("failed to read the event: {error}"));
    let mut payload = read.and_then(|_| asked::read(args.agent, moment, &sent)).map_err(Failure)?;
    let named = asked::name_event(args.agent, moment, &mut payload);
    named.map_err(|problem| Failure(format!("--event {problem}")))?;
    room_for_files()?;
    let hooks = for_agents(&args.hooks, !args.no_self_defence).map_err(|Failure(problem)| {
        let agent = args.agent.name();
        Failure(format!("{problem}; `hookwire install {agent}` in the project writes it anew"))
    })?;
    match ask_host(args, &hooks, &payload) {
        Ok(reply) => Ok(reply),
        Err(Unasked::Refused(problem)) => Err(Failure(problem)),
        Err(Unasked::NoHost(problem)) => {
            if let Some(problem) = problem {
                tracing::warn!(%problem, "No host; the event is judged without one.");
            }
            judge_here(args, &hooks, payload)
        }
    }
}

/// The projects that the agent works in, without symlinks. A clone may bring files of any kind and the environment, too, so
/// the environment adds nothing from there.
fn foreign(hooks: &DefinitionArgs) -> Vec<PathBuf> {
    let is_project = |dir: &PathBuf| dir.join(DEFINITIONS).exists() || dir.join(".git").exists();
    let projects = [hooks.root.clone(), project()].into_iter().filter_map(|dir| dir.canonicalize().ok());
    projects.filter(is_project).collect()
}

/// Why no host has judged.
enum Unasked {
    /// There is none that answers; why, unless none was wanted.
    NoHost(Option<String>),
    /// It says that this is no event.
    Refused(String),
}

fn ask_host(args: &HookArgs, hooks: &StandingArgs, payload: &Value) -> Result<Value, Unasked> {
    if args.no_host {
        return Err(Unasked::NoHost(None));
    }
    let gone = |error: std::io::Error| Unasked::NoHost(Some(error.to_string()));
    let params = asked::Params::new(args.agent, payload, args.time_limit);
    let host = WarmHost::new(hooks, args.idle_exit).map_err(gone)?;
    // It may end just now, because it was idle.
    let mut client = Client::new(host.connect().map_err(gone)?, args.time_limit).map_err(gone)?;
    let sent = client.send_request("hooks/dispatch", &params).or_else(|_| {
        client = Client::new(host.connect()?, args.time_limit)?;
        client.send_request("hooks/dispatch", &params)
    });
    let id = sent.map_err(gone)?;
    let is_alive = || {
        let stream = UnixStream::connect(host.path())?;
        Client::new(stream, SILENCE)?.request("state/list", &json!({ "limit": 0 })).map(drop)
    };
    match client.await_reply(id, SILENCE, is_alive).map_err(gone)? {
        Ok(mut result) => Ok(result["reply"].take()),
        Err(problem) => Err(Unasked::Refused(problem)),
    }
}

/// Judges the event in this process.
fn judge_here(args: &HookArgs, hooks: &StandingArgs, payload: Value) -> Result<Value, Failure> {
    let event = asked::event(args.agent, payload, args.time_limit).map_err(|error| Failure(error.to_string()))?;
    let host = hooks.host.definitions.host_with(hooks.options()?)?;
    let runtime = runtime()?;
    let _socket = share(&host, &runtime, super::serve::MAX_MESSAGE);
    let (verdict, _) = runtime.block_on(super::replay::judge(&host, args.agent, &event));
    let reply = args.agent.reply_to(&event, &verdict);
    runtime.block_on(super::ending::settle(&host));
    Ok(reply)
}
