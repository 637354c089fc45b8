//! `hookwire mcp`: stands between an MCP client and an MCP server, and has the project's host judge
//! what they send.

mod carrier;
mod host_link;
#[cfg(feature = "mcp")]
mod http;
pub(super) mod pins_file;
mod server;

use super::ending::{LEAVE, ending_signals, exit_code};
use super::fleet::Pool;
use super::hook::Fail;
use super::output::say_on_stderr;
use super::warm_host::for_agents;
use super::{Failure, Finding, StandingArgs};
use carrier::Carrier;
use hookwire_ask::limits;
use hookwire_ask::project::foreign_projects;
use hookwire_ask::socket;
use hookwire_base::support::places::{self, Places};
use hookwire_base::support::shell_word;
use hookwire_base::transport::outbox::Outbox;
use hookwire_base::transport::stdio;
use hookwire_dialects::asked::TIME_LIMIT;
use hookwire_gateway::{Settings, Side};
use hookwire_handlers::handlers::process_tree;
#[cfg(feature = "mcp")]
use hookwire_handlers::services::mcp_http::McpHttp;
use host_link::Way;
use pins_file::PinsFile;
use server::Server;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tokio::signal::unix::signal;
use url::Url;

#[derive(clap::Args)]
pub(super) struct McpArgs {
    /// The server's name in rules, `mcp__NAME__TOOL`: the one that it has in the client's
    /// configuration. Without it, the name of its program.
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// What becomes of a call if hookwire itself fails.
    #[arg(long, value_enum, default_value_t = Fail::Closed)]
    fail: Fail,
    /// Judge everything, note the verdicts and let everything pass.
    #[arg(long)]
    observe: bool,
    /// How long an event may take, with the time that a person needs for an answer.
    #[arg(long, value_name = "DURATION", default_value = TIME_LIMIT, value_parser = humantime::parse_duration)]
    timeout: Duration,
    /// The largest message, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = super::serve::MAX_MESSAGE)]
    max_message: usize,
    /// How long the host stays that this starts, after the last event.
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = humantime::parse_duration)]
    idle_exit: Duration,
    /// Let tools change hookwire's own files without asking a person.
    #[arg(long)]
    no_self_defense: bool,
    /// Judge in this process and start no host.
    #[arg(long)]
    no_host: bool,
    /// Ask the host that listens on this socket, and no other.
    #[arg(long, value_name = "unix:PATH", value_parser = socket::parse_address, conflicts_with = "no_host")]
    connect: Option<PathBuf>,
    /// The address of the server, which speaks MCP over streamable HTTP. Without --server, its name
    /// is that of the host.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// With --url: a header of each request, as `Name: value`; may be given several times. `${NAME}`
    /// is a variable of the environment: an argument list can be read by every user.
    #[arg(long, value_name = "HEADER", requires = "url")]
    header: Vec<String>,
    #[command(flatten)]
    hooks: StandingArgs,
    /// The command that starts the server, which speaks MCP over its stdin and stdout.
    #[arg(last = true, required_unless_present = "url", value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How much of the time of an event is left for what follows a person's answer.
const AFTER_ANSWER: Duration = Duration::from_secs(2);
/// How long a server may take to end once its client has gone, and then once it was told to.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How soon it is looked again whether a request has gone on.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// How long what is written last may take.
const FLUSH: Duration = Duration::from_secs(2);

/// What is done to a server that doesn't end.
type Force = fn(&Server);

/// What ends the gateway.
enum End {
    /// The client sends no more.
    ClientIsDone,
    /// The client reads no more.
    ClientIsGone,
    /// The server has ended.
    ServerIsGone,
    /// A signal has come, which ends this process with this code.
    Signal(u8),
}

pub(super) fn run(args: &McpArgs, named: Places) -> Result<Finding, Failure> {
    let projects = foreign_projects(&args.hooks.host.definitions.root);
    places::settle_for_agent(named, |place| {
        projects.iter().any(|project| place.starts_with(project))
    });
    limits::raise_files();
    let way = args.way()?;
    let (settings, pins) = args.settings()?;
    if std::io::stdin().is_terminal() {
        say_on_stderr(format_args!(
            "waiting for the messages of an MCP client, one JSON object a line; Ctrl-D ends it. A client starts this \
             command itself, in the place of the server's."
        ));
    }
    let protocol = stdio::take_stdout()?;
    let (ends, end) = channel();
    let ended = ends.clone();
    let server = args.start_server(move || drop(ended.send(End::ServerIsGone)))?;
    let gone = ends.clone();
    let client = Outbox::new(protocol, move || drop(gone.send(End::ClientIsGone)))?;
    let carrier = Carrier::new(settings, client, server.outbox()?, way, pins);
    carrier.connect();
    read_in_thread(&carrier, Side::Client, args.max_message, ends.clone())?;
    let said = ends.clone();
    server.read_in_thread(&carrier, args.max_message, move || {
        drop(said.send(End::ServerIsGone));
    })?;
    send_signals(ends)?;
    let ended = wait_for_end(&carrier, &server, &end, args.timeout);
    process_tree::leave(LEAVE);
    Ok(ended)
}

impl McpArgs {
    /// Starts the server, or finds the way to one at an address.
    fn start_server(&self, done: impl FnOnce() + Send + 'static) -> Result<Server, Failure> {
        if let Some(url) = &self.url {
            return self.reach_server(url, done);
        }
        Server::start(&self.command, done).map_err(|error| {
            let program = self.command.first().map(|it| it.to_string_lossy());
            Failure(format!("{}: {error}", program.unwrap_or_default()))
        })
    }

    #[cfg(feature = "mcp")]
    fn reach_server(
        &self,
        url: &str,
        done: impl FnOnce() + Send + 'static,
    ) -> Result<Server, Failure> {
        let headers = self.header.iter().map(|text| header_of(text));
        let headers = headers.collect::<Result<Vec<_>, _>>()?;
        let far = McpHttp::new(url, &headers)
            .map_err(|problem| Failure(format!("--url: failed to {problem}")))?;
        let max_message = self.max_message;
        Ok(Server::far(
            |stream, end| http::carry(far, stream, max_message, end),
            done,
        )?)
    }

    #[cfg(not(feature = "mcp"))]
    fn reach_server(&self, _: &str, _: impl FnOnce()) -> Result<Server, Failure> {
        Err(Failure(
            "--url: this hookwire was built without MCP over HTTP".into(),
        ))
    }

    /// How the host is reached.
    fn way(&self) -> Result<Way, Failure> {
        if let Some(socket) = &self.connect {
            return Ok(Way::Socket(socket.clone()));
        }
        let mut hooks = for_agents(&self.hooks, !self.no_self_defense)?;
        hooks.host.definitions.are_there()?;
        hooks.host.definitions.tell_left_out();
        if Pool::from_settings(&hooks)?.is_some() && !self.no_host {
            return Err(Failure(
                "the settings of the fleet name a pool, which `hookwire mcp` can't ask; `--connect unix:PATH` names a host \
                 that it can"
                    .into(),
            ));
        }
        let wait = self.timeout.saturating_sub(AFTER_ANSWER);
        let wait = wait.max(self.timeout / 2);
        // What passes anyway is no question.
        match self.observe {
            true => hooks.host.ask_elsewhere = None,
            false => hooks.host.ask_elsewhere = hooks.host.ask_elsewhere.or(Some(wait)),
        }
        Ok(Way::Project {
            hooks: Box::new(hooks),
            idle_exit: self.idle_exit,
            is_own: self.no_host,
        })
    }

    fn settings(&self) -> Result<(Settings, PinsFile), Failure> {
        let url = self.url.as_deref().map(Url::parse).transpose();
        let url = url.map_err(|error| Failure(format!("--url: it is no URL: {error}")))?;
        let host = url.and_then(|url| url.host_str().map(str::to_string));
        let name = self.server.clone().or(host).unwrap_or_else(|| {
            let program = self.command.first().map(Path::new);
            let stem = program.and_then(Path::file_stem);
            stem.map(|it| it.to_string_lossy().into_owned())
                .unwrap_or_default()
        });
        let server = name_in_rules(&name);
        if server.is_empty() {
            return Err(Failure(
                "--server: write the name that the client's configuration has".into(),
            ));
        }
        let random = getrandom::u32().map_err(|error| Failure(error.to_string()))?;
        let cwd = std::env::current_dir().unwrap_or_default();
        let words = self.command.iter().map(|word| word.to_string_lossy());
        let words: Vec<_> = words.collect();
        let from = match &self.url {
            Some(url) => url.clone(),
            None => shell_word::command(words.iter().map(|word| &**word)),
        };
        let (file, pins, others) = PinsFile::open(&server, &from)?;
        let settings = Settings {
            server,
            session: format!("mcp-{}-{random:08x}", std::process::id()),
            cwd: cwd.to_string_lossy().into_owned(),
            time_limit: self.timeout,
            fails_open: self.fail == Fail::Open,
            observes: self.observe,
            pins,
            others,
        };
        Ok((settings, file))
    }
}

/// A header as it is given, with the variables that it names.
#[cfg(feature = "mcp")]
fn header_of(text: &str) -> Result<(String, String), Failure> {
    let problem = |what: &str| Failure(format!("--header: {what}"));
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| problem("write `Name: value`"))?;
    let (mut filled, mut rest) = (String::new(), value.trim());
    while let Some((before, behind)) = rest.split_once("${") {
        let (variable, behind) = behind
            .split_once('}')
            .ok_or_else(|| problem("a `${` has no `}`"))?;
        let said = std::env::var(variable)
            .map_err(|_| problem(&format!("the variable {variable} isn't set")))?;
        filled.push_str(before);
        filled.push_str(&said);
        rest = behind;
    }
    filled.push_str(rest);
    Ok((name.trim().to_string(), filled))
}

/// A server's name as it stands in the names of its tools, where agents allow these letters only.
fn name_in_rules(name: &str) -> String {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars()
        .map(|c| if letter(c) { c } else { '_' })
        .collect()
}

/// Carries what an end of this process's own sends, until it sends no more.
fn read_in_thread(
    carrier: &Arc<Carrier>,
    side: Side,
    max_message: usize,
    ends: Sender<End>,
) -> std::io::Result<()> {
    let carrier = carrier.clone();
    std::thread::Builder::new()
        .name("client".into())
        .spawn(move || {
            carrier.carry(side, rustix::stdio::stdin(), max_message);
            let _ = ends.send(End::ClientIsDone);
        })
        .map(drop)
}

/// Tells of signals that end this process.
fn send_signals(ends: Sender<End>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(async {
                let [first, second, third] = ending_signals();
                let (Ok(mut a), Ok(mut b), Ok(mut c)) =
                    (signal(first), signal(second), signal(third))
                else {
                    return;
                };
                let kind = tokio::select! {
                    _ = a.recv() => first,
                    _ = b.recv() => second,
                    _ = c.recv() => third,
                };
                let _ = ends.send(End::Signal(exit_code(kind)));
            });
        })
        .map(drop)
}

/// Waits until one end is done, lets the other one finish, and gives the exit code.
///
/// A client that has ended its input may still wait for answers, so the server has its own time
/// then. Once nobody reads them, or a signal has come, it has little.
fn wait_for_end(
    carrier: &Carrier,
    server: &Server,
    ends: &Receiver<End>,
    limit: Duration,
) -> Finding {
    let holds_requests = || carrier.with(|gateway, _| gateway.holds_requests_of(Side::Client));
    let (mut is_done, mut is_finished, mut signal) = (false, false, None);
    // What is done next to a server that doesn't end, and when.
    let mut forced: Option<(Instant, Force)> = None;
    while server.ended().is_none() {
        if is_done && !is_finished && !holds_requests() {
            is_finished = true;
            server.finish_input();
        }
        let end = match forced {
            Some((at, _)) => ends.recv_timeout(at.saturating_duration_since(Instant::now())),
            None if is_done && !is_finished => ends.recv_timeout(LOOK_AGAIN),
            None => ends.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match end {
            Ok(End::ClientIsDone) => is_done = true,
            Ok(End::ClientIsGone) => {
                server.finish_input();
                let soon = (Instant::now() + LAST_WORDS, Server::terminate as Force);
                forced = forced.or(Some(soon));
            }
            Ok(End::Signal(code)) => {
                signal = Some(code);
                server.terminate();
                forced = Some((Instant::now() + LAST_WORDS, Server::kill));
            }
            // It may have closed its stdout only.
            Ok(End::ServerIsGone) => {
                let soon = (Instant::now() + LAST_WORDS, Server::terminate as Force);
                forced = forced.or(Some(soon));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some((_, force)) = forced {
                    force(server);
                    forced = Some((Instant::now() + LAST_WORDS, Server::kill));
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    server.await_rest();
    carrier.with(|gateway, wires| gateway.server_gone("the MCP server has ended", wires));
    if signal.is_none() {
        carrier.wait_until(limit, |gateway| !gateway.holds_responses_to(Side::Client));
        carrier.flush(FLUSH);
    }
    match signal.or_else(|| server.ended().map(code_of)) {
        None | Some(0) => Finding::Fine,
        Some(code) => Finding::Ended(code),
    }
}

/// The exit code of a program, as a shell gives it.
fn code_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
