//! `hookwire hook AGENT`: the command that an agent's configuration names.
//!
//! One event on stdin, only the agent's own reply on stdout, exit 0 for every verdict. The
//! project's host judges the event: it stays up between events, and the first one starts it. Where
//! there can be none, the event is judged here. What fails inside is said in words that the agent
//! obeys.
//!
//! The small program `hookwire-run` asks a host that runs, and starts this command where none does.

use super::ending::{LEAVE, drop_runtime, make_runtime, room_for_files};
use super::fleet::Pool;
use super::output::say_on_stderr;
use super::serve::share_socket;
use super::warm_host::{WarmHost, for_agents};
use super::{Failure, StandingArgs, asking_agent};
use clap::ValueEnum;
use hookwire_ask::attended::is_attended;
use hookwire_ask::exchange::{Question, Unanswered};
use hookwire_ask::project::{foreign_projects, has_own};
use hookwire_ask::said::Said;
use hookwire_ask::socket;
use hookwire_ask::{MAX_EVENT, OBSERVE, said_of_option};
use hookwire_base::event::Event;
use hookwire_base::support::failpoint;
use hookwire_base::support::places::{self, Places};
use hookwire_base::verdict::Verdict;
use hookwire_dialects::Dialect;
use hookwire_dialects::asked::{self, Asked, EVENT, TIME_LIMIT};
use hookwire_engine::engine::panic_text;
use hookwire_engine::host::{HostOptions, Purpose};
use hookwire_engine::ledger::{self, Answered};
use hookwire_handlers::handlers::process_tree;
use parking_lot::Mutex;
use serde_json::Value;
use std::any::Any;
use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

#[derive(Clone, clap::Args)]
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
    /// Judge the event, note the verdict and tell the agent nothing: neither a deny nor a failure
    /// stops it.
    #[arg(long)]
    observe: bool,
    /// How long an event may take. The agent's own limit should be longer.
    #[arg(long, value_name = "DURATION", default_value = TIME_LIMIT, value_parser = humantime::parse_duration)]
    timeout: Duration,
    /// How long the host stays that this starts, after the last event.
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = humantime::parse_duration)]
    idle_exit: Duration,
    /// Let tools change hookwire's own files without asking a person.
    #[arg(long)]
    pub(super) no_self_defense: bool,
    /// Judge the event here and start no host. Nothing is kept between events then.
    #[arg(long)]
    no_host: bool,
    /// Ask the host that listens on this socket, as `serve --listen unix:PATH` of the same user
    /// does, and no other: no host is started, and nothing is judged here.
    #[arg(long, value_name = "unix:PATH", value_parser = socket::parse_address, conflicts_with = "no_host")]
    connect: Option<PathBuf>,
    /// The small program has asked the host in vain; why. The event is judged here then.
    #[arg(long, hide = true, value_name = "PROBLEM")]
    lost: Option<String>,
    /// How much of the time limit that took.
    #[arg(long, hide = true, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "0s")]
    spent: Duration,
    /// The root is what --root names, wherever the agent works: `hookwire install` writes the
    /// project's. Without it, it is the nearest directory upwards whose definitions are trusted,
    /// else that holds .hookwire or .git.
    #[command(flatten)]
    pub(super) hooks: StandingArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Fail {
    /// That the act is denied.
    Closed,
    /// Nothing; the reason goes to stderr.
    Open,
}

impl HookArgs {
    fn fails_open(&self) -> bool {
        self.fail == Fail::Open || self.observe
    }

    fn to_asked(&self) -> Asked {
        let asked = Asked::new(self.agent, self.event.clone());
        Asked {
            fails_open: self.fails_open(),
            time_limit: self.timeout,
            attended: is_attended(self.agent.name()),
            ..asked
        }
    }
}

/// How long after the limit what waits within it may take to say so itself, because it knows more.
const GRACE: Duration = Duration::from_millis(1500);
/// How long what an event has started may take to end once it is judged.
const END: Duration = Duration::from_secs(2);
/// The stack of the thread that reads the command line and judges: that of a main thread.
const STACK: usize = 8 * 1024 * 1024;

/// What is known of an event, by which the clock says no.
#[derive(Clone)]
pub(super) struct Clock {
    asked: Arc<Mutex<Asked>>,
    began: Instant,
    limit: Duration,
}

/// How the work under a clock ends.
enum End {
    Said(Said),
    Failed(String),
    /// Without a word for the agent: what was to be read of the command line is read.
    Code(ExitCode),
}

impl Clock {
    /// The clock of a command line that begins with `hook` and an agent. It counts before the rest
    /// is read, because what stands there by default is looked for on the disk.
    pub(super) fn from_words(words: &[OsString]) -> Option<Clock> {
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        let value = |option: &str| said_of_option(&words, option);
        let agent = words
            .split_first()
            .filter(|(first, _)| **first == "hook")?
            .1
            .iter()
            .find_map(|it| asked::agent_dialect(it).ok());
        let duration =
            |option: &str| value(option).and_then(|it| humantime::parse_duration(it).ok());
        let limit = duration("--timeout").unwrap_or(hookwire_ask::TIME_LIMIT);
        let mut asked = Asked::new(agent?, value("--event").map(str::to_string));
        asked.fails_open = value("--fail") == Some("open") || words.contains(&OBSERVE);
        asked.time_limit = limit;
        Some(Clock::new(asked, duration("--spent").unwrap_or_default()))
    }

    fn new(asked: Asked, spent: Duration) -> Clock {
        let limit = asked.time_limit.saturating_sub(spent);
        Clock {
            asked: Arc::new(Mutex::new(asked)),
            began: Instant::now(),
            limit,
        }
    }

    /// What is left of the time. Whole seconds are taken off, so that the host knows the events of
    /// two entries for one.
    fn left(&self) -> Duration {
        self.limit
            .saturating_sub(Duration::from_secs(self.began.elapsed().as_secs()))
    }

    /// Reads the command line and answers, in time.
    pub(super) fn answer_in_time(
        self,
        read: impl FnOnce() -> Result<(HookArgs, Places), ExitCode> + Send + 'static,
    ) -> ExitCode {
        // A person who types an event may take longer.
        let limit = if std::io::stdin().is_terminal() {
            Duration::MAX
        } else {
            self.limit.saturating_add(GRACE)
        };
        let (sender, ended) = sync_channel(1);
        let clock = self.clone();
        // Whatever keeps that thread, this one says no when the time is over.
        let end = match std::thread::Builder::new()
            .name("judge".into())
            .stack_size(STACK)
            .spawn(move || {
                let judged = catch_unwind(AssertUnwindSafe(|| {
                    while failpoint::is_due("entry") {
                        std::thread::park();
                    }
                    let (args, places) = match read() {
                        Ok(read) => read,
                        Err(code) => return drop(sender.send(End::Code(code))),
                    };
                    let judged =
                        clock.judge_event(args, places, |said| drop(sender.send(End::Said(said))));
                    if let Err(Failure(problem)) = judged {
                        let _ = sender.send(End::Failed(problem));
                    }
                }));
                if let Err(panic) = judged {
                    let _ = sender.send(End::Failed(describe_bug(&*panic)));
                }
            }) {
            Ok(_) => ended.recv_timeout(limit),
            Err(error) => Ok(End::Failed(error.to_string())),
        };
        match end {
            Ok(End::Code(code)) => code,
            Ok(End::Said(said)) => {
                let _ = ended.recv_timeout(END);
                ExitCode::from(said.say())
            }
            Ok(End::Failed(problem)) => ExitCode::from(self.say_failure(problem).say()),
            Err(RecvTimeoutError::Timeout) => {
                end_programs();
                let time = humantime::format_duration(self.asked.lock().time_limit);
                self.say_failure(format!("no answer within {time}"))
                    .say_and_end()
            }
            Err(RecvTimeoutError::Disconnected) => ExitCode::from(
                self.say_failure("a bug in hookwire, no answer".into())
                    .say(),
            ),
        }
    }

    fn say_failure(&self, problem: String) -> Said {
        self.asked.lock().said(Err(problem))
    }

    /// Reads the event and judges it. Notes what is known of the event as soon as it is, because a
    /// failure is said in its words.
    fn judge_event(
        &self,
        args: HookArgs,
        places: Places,
        say: impl FnOnce(Said),
    ) -> Result<(), Failure> {
        let projects = foreign_projects(&args.hooks.host.definitions.root);
        places::settle_for_agent(places, |place| {
            projects.iter().any(|project| place.starts_with(project))
        });
        if std::io::stdin().is_terminal() {
            say_on_stderr(format_args!(
                "waiting for one event of {} as JSON; Ctrl-D ends it. The agent starts this command itself, \
                 after `hookwire install {0}`.",
                args.agent.name()
            ));
        }
        let observes = args.observe;
        let say = |said| say(if observes { Said::default() } else { said });
        let mut sent = Vec::new();
        let read = std::io::stdin()
            .lock()
            .take(MAX_EVENT)
            .read_to_end(&mut sent);
        read.map_err(|error| Failure(format!("failed to read the event: {error}")))?;
        let mut asked = args.to_asked();
        let payload = asked.read_payload(&sent, EVENT);
        *self.asked.lock() = asked.clone();
        Judge {
            args,
            asked,
            limit: self.left(),
            sent,
            payload: payload.map_err(Failure)?,
        }
        .hand_on(say)
    }
}

/// Answers an agent, whose clock counts from here on if it hasn't before.
pub(super) fn run(args: HookArgs, places: Places) -> ExitCode {
    Clock::new(args.to_asked(), args.spent).answer_in_time(move || Ok((args, places)))
}

fn describe_bug(panic: &(dyn Any + Send)) -> String {
    format!("a bug in hookwire, a panic: {}", panic_text(panic))
}

/// Ends the programs of hooks that aren't waited for any more.
fn end_programs() {
    let (ended, is_done) = sync_channel(1);
    if std::thread::Builder::new()
        .spawn(move || {
            process_tree::leave(LEAVE);
            let _ = ended.send(());
        })
        .is_ok()
    {
        let _ = is_done.recv_timeout(LEAVE * 2);
    }
}

/// One event that is judged, in the time that is left for it.
struct Judge {
    args: HookArgs,
    asked: Asked,
    limit: Duration,
    sent: Vec<u8>,
    payload: Value,
}

impl Judge {
    /// Hands on what is said to the agent as soon as it is known.
    fn hand_on(self, say: impl FnOnce(Said)) -> Result<(), Failure> {
        let Judge {
            args,
            asked,
            limit,
            sent,
            payload,
        } = self;
        let (args, sent) = (&args, String::from_utf8_lossy(&sent));
        room_for_files()?;
        if let Some(socket) = &args.connect {
            say(ask_there(args, socket, &make_question(args, &sent, limit))?);
            return Ok(());
        }
        let hooks =
            for_agents(&args.hooks, !args.no_self_defense).map_err(|Failure(problem)| {
                let agent = args.agent.name();
                Failure(format!(
                    "{problem}; `hookwire install {agent}` in the project writes it anew"
                ))
            })?;
        // Without the pool's definitions, judging here would let everything pass.
        if let Some(pool) = Pool::from_settings(&hooks)?.filter(|_| !args.no_host) {
            say(pool.ask(&make_question(args, &sent, limit))?);
            // The ledger of a host elsewhere isn't this user's.
            if let Ok(event) = asked.read_event(payload, limit) {
                note_answer(&hooks, asked.agent, &Arc::new(event), None);
            }
            return Ok(());
        }
        let began = Instant::now();
        let purpose = match ask_host(args, &hooks, &make_question(args, &sent, limit)) {
            Ok(said) => {
                say(said);
                return Ok(());
            }
            Err(Unasked::Refused(problem)) => return Err(Failure(problem)),
            Err(Unasked::NoHost(problem)) => {
                if let Some(problem) = problem {
                    tracing::warn!(%problem, "No host; the event is judged without one.");
                }
                Purpose::Judge
            }
            Err(Unasked::Lost(problem)) => {
                tracing::warn!(%problem, "The host doesn't answer; the event is judged without it, by hooks that only answer.");
                Purpose::AfterLost
            }
        };
        let limit = limit.saturating_sub(began.elapsed());
        judge_here(&hooks, &asked, purpose, limit, payload, say)
    }
}

/// Why no host has judged.
enum Unasked {
    /// There is none that answers; why, unless none was wanted.
    NoHost(Option<String>),
    /// One has the event and doesn't answer. It may have run hooks.
    Lost(String),
    /// It says why it doesn't.
    Refused(String),
}

fn ask_host(
    args: &HookArgs,
    hooks: &StandingArgs,
    question: &Question<'_>,
) -> Result<Said, Unasked> {
    if let Some(problem) = &args.lost {
        return Err(Unasked::Lost(problem.clone()));
    }
    if args.no_host {
        return Err(Unasked::NoHost(None));
    }
    let gone = |error: std::io::Error| Unasked::NoHost(Some(error.to_string()));
    let host = WarmHost::new(hooks, args.idle_exit).map_err(gone)?;
    question
        .ask_host(host.path(), || host.connect())
        .map_err(|unanswered| match unanswered {
            Unanswered::Unreached(error) => gone(error),
            Unanswered::Lost(error) => Unasked::Lost(error.to_string()),
            Unanswered::Refused(problem) => Unasked::Refused(problem),
        })
}

/// What the host says that the command line names. The definitions are there, so nobody else can
/// judge.
fn ask_there(args: &HookArgs, socket: &Path, question: &Question<'_>) -> Result<Said, Failure> {
    if let Some(problem) = &args.lost {
        return Err(Failure(problem.clone()));
    }
    let answered = match socket == Path::new(socket::EVERYBODYS) {
        true => question.ask_both(socket, || connect_own(args)),
        false => question.ask_host(socket, || socket::connect(socket)),
    };
    answered.map_err(|unanswered| Failure(unanswered.describe_for(socket)))
}

/// The user's own host, where the machine's judges first.
fn connect_own(args: &HookArgs) -> std::io::Result<UnixStream> {
    let hooks = for_agents(&args.hooks, !args.no_self_defense);
    let mut hooks = hooks.map_err(|Failure(problem)| std::io::Error::other(problem))?;
    let root = &hooks.host.definitions.root;
    if !has_own(root, places::user_dirs(), places::data_dirs()) {
        return Err(std::io::Error::other("the user has no definitions"));
    }
    hooks.without_machine = true;
    WarmHost::new(&hooks, args.idle_exit)?.connect()
}

fn make_question<'a>(args: &'a HookArgs, sent: &'a str, time_limit: Duration) -> Question<'a> {
    Question {
        event: args.event.as_deref(),
        fails_open: args.fails_open(),
        attended: is_attended(args.agent.name()),
        time_limit,
        ..Question::new(args.agent.name(), sent)
    }
}

/// Judges the event in this process.
fn judge_here(
    hooks: &StandingArgs,
    asked: &Asked,
    purpose: Purpose,
    limit: Duration,
    payload: Value,
    say: impl FnOnce(Said),
) -> Result<(), Failure> {
    let agent = asked.agent;
    let event = asked
        .read_event(payload, limit)
        .map_err(|error| Failure(error.to_string()))?;
    let host = hooks.host.definitions.host_with(HostOptions {
        purpose,
        ..hooks.options()?
    })?;
    let runtime = make_runtime()?;
    let _socket = share_socket(&host, &runtime, super::serve::MAX_MESSAGE);
    let probed = runtime.block_on(host.answer_probe(agent, &event));
    let is_probe = probed.is_some();
    let verdict = probed.unwrap_or_else(|| runtime.block_on(host.judge_as(agent, &event)).0);
    say(asked.said(Ok(agent.reply_to(&event, &verdict))));
    if !is_probe {
        note_answer(hooks, agent, &Arc::new(event), Some(&verdict));
    }
    runtime.block_on(super::ending::settle_hooks(&host));
    drop_runtime(runtime);
    Ok(())
}

/// Notes in the project's ledger what an agent was told without a host of this machine. It has been
/// told, so nothing waits for this.
fn note_answer(
    hooks: &StandingArgs,
    agent: &'static Dialect,
    event: &Arc<Event>,
    verdict: Option<&Verdict>,
) {
    let definitions = &hooks.host.definitions;
    let Some(answered) =
        Answered::new(agent.name(), event, verdict).filter(|_| !definitions.isolated)
    else {
        return;
    };
    if let Err(error) = ledger::append(&definitions.root, Some(&answered)) {
        tracing::warn!(%error, "The ledger lacks a call that was judged: it can't be written.");
    }
}
