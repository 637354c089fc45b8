//! `hookwire hook AGENT`: the command that an agent's configuration names.
//!
//! One event on stdin, only the agent's own reply on stdout, exit 0 for every verdict. The project's host
//! judges the event: it stays up between events, and the first one starts it. Where there can be none, the
//! event is judged here. What fails inside is said in words that the agent obeys.
//!
//! The small program `hookwire-run` asks a host that runs, and starts this command where none does.

use super::ending::{room_for_files, runtime};
use super::fleet::Pool;
use super::output::tell;
use super::serve::share;
use super::warm_host::{WarmHost, for_agents};
use super::{Failure, PlaceArgs, StandingArgs, asking_agent};
use crate::dialects::Dialect;
use crate::dialects::asked::{self, Asked, EVENT, TIME_LIMIT};
use crate::engine::panic_text;
use crate::support::places;
use clap::ValueEnum;
use hookwire_ask::MAX_EVENT;
use hookwire_ask::exchange::{Question, Unanswered};
use hookwire_ask::project::foreign;
use hookwire_ask::said::Said;
use hookwire_ask::socket;
use serde_json::Value;
use std::io::{IsTerminal, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct HookArgs {
    /// The agent that runs this as its hook.
    #[arg(value_parser = asking_agent())]
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
    pub(super) no_self_defence: bool,
    /// Judge the event here and start no host. Nothing is kept between events then.
    #[arg(long)]
    no_host: bool,
    /// Ask the host that listens on this socket, as `serve --listen unix:PATH` of the same user does, and no other: no host
    /// is started, and nothing is judged here.
    #[arg(long, value_name = "unix:PATH", value_parser = socket::named, conflicts_with = "no_host")]
    connect: Option<PathBuf>,
    /// The small program has asked the host in vain; why. The event is judged here then.
    #[arg(long, hide = true, value_name = "PROBLEM")]
    lost: Option<String>,
    /// The root is what --root names, wherever the agent works: `hookwire install` writes the project's. Without it, it is
    /// the nearest directory upwards whose definitions are trusted, else that holds .hookwire or .git.
    #[command(flatten)]
    pub(super) hooks: StandingArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fail {
    /// That the act is denied.
    Closed,
    /// Nothing; the reason goes to stderr.
    Open,
}

pub(super) fn run(args: &HookArgs, places: &PlaceArgs) -> ExitCode {
    let projects = foreign(&args.hooks.host.definitions.root);
    places::settle_for_agent(places.named(), |place| projects.iter().any(|project| place.starts_with(project)));
    let mut asked = Asked::new(args.agent, args.event.clone());
    (asked.fails_open, asked.time_limit) = (args.fail == Fail::Open, args.time_limit);
    let answered = catch_unwind(AssertUnwindSafe(|| answer(args, &mut asked)))
        .unwrap_or_else(|panic| Err(Failure(format!("a bug in hookwire, a panic: {}", panic_text(&*panic)))));
    let said = answered.unwrap_or_else(|Failure(problem)| asked.said(Err(problem)));
    ExitCode::from(said.say())
}

/// The reply for the agent. Fills in `asked` as soon as the event is known, because a failure is said in its words.
fn answer(args: &HookArgs, asked: &mut Asked) -> Result<Said, Failure> {
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
    let payload = read.and_then(|_| asked.read(&sent, EVENT)).map_err(Failure)?;
    room_for_files()?;
    if let Some(socket) = &args.connect {
        return ask_there(args, socket, &String::from_utf8_lossy(&sent));
    }
    let hooks = for_agents(&args.hooks, !args.no_self_defence).map_err(|Failure(problem)| {
        let agent = args.agent.name();
        Failure(format!("{problem}; `hookwire install {agent}` in the project writes it anew"))
    })?;
    let sent = String::from_utf8_lossy(&sent);
    // Without the pool's definitions, judging here would let everything pass.
    if let Some(pool) = Pool::of(&hooks)?.filter(|_| !args.no_host) {
        return pool.ask(&question(args, &sent));
    }
    match ask_host(args, &hooks, &sent) {
        Ok(said) => Ok(said),
        Err(Unasked::Refused(problem)) => Err(Failure(problem)),
        Err(Unasked::NoHost(problem)) => {
            if let Some(problem) = problem {
                tracing::warn!(%problem, "No host; the event is judged without one.");
            }
            Ok(asked.said(Ok(judge_here(args, asked.agent, &hooks, payload)?)))
        }
    }
}

/// Why no host has judged.
enum Unasked {
    /// There is none that answers; why, unless none was wanted.
    NoHost(Option<String>),
    /// It says why it doesn't.
    Refused(String),
}

fn ask_host(args: &HookArgs, hooks: &StandingArgs, sent: &str) -> Result<Said, Unasked> {
    if args.no_host || args.lost.is_some() {
        return Err(Unasked::NoHost(args.lost.clone()));
    }
    let gone = |error: std::io::Error| Unasked::NoHost(Some(error.to_string()));
    let host = WarmHost::new(hooks, args.idle_exit).map_err(gone)?;
    question(args, sent).ask(host.path(), || host.connect()).map_err(|unanswered| match unanswered {
        Unanswered::Unreached(error) | Unanswered::Lost(error) => gone(error),
        Unanswered::Refused(problem) => Unasked::Refused(problem),
    })
}

/// What the host says that the command line names. The definitions are there, so nobody else can judge.
fn ask_there(args: &HookArgs, socket: &Path, sent: &str) -> Result<Said, Failure> {
    if let Some(problem) = &args.lost {
        return Err(Failure(problem.clone()));
    }
    let answered = question(args, sent).ask(socket, || socket::connect(socket));
    answered.map_err(|unanswered| Failure(unanswered.by(socket)))
}

fn question<'a>(args: &'a HookArgs, sent: &'a str) -> Question<'a> {
    Question {
        event: args.event.as_deref(),
        fails_open: args.fail == Fail::Open,
        time_limit: args.time_limit,
        ..Question::new(args.agent.name(), sent)
    }
}

/// Judges the event in this process.
fn judge_here(
    args: &HookArgs,
    agent: &'static Dialect,
    hooks: &StandingArgs,
    payload: Value,
) -> Result<Value, Failure> {
    let event = asked::event(agent, payload, args.time_limit).map_err(|error| Failure(error.to_string()))?;
    let host = hooks.host.definitions.host_with(hooks.options()?)?;
    let runtime = runtime()?;
    let _socket = share(&host, &runtime, super::serve::MAX_MESSAGE);
    let (verdict, _) = runtime.block_on(host.judge_as(agent, &event));
    let reply = agent.reply_to(&event, &verdict);
    runtime.block_on(super::ending::settle(&host));
    Ok(reply)
}
