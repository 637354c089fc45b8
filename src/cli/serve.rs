//! `hookwire serve`.

use super::doctor::unasked_calls::last_day_of;
use super::ending::{self, LEAVE, SHUTDOWN, make_runtime};
use super::fleet::{Answering, Joined, Joining};
use super::output::say_on_stderr;
use super::record::Recording;
use super::{Failure, Finding, StandingArgs};
use crate::http::{Address, Listener, Origin, Service, Token};
use crate::rpc::askers::serve_askers;
use crate::rpc::connection::{Connection, Next};
use crate::rpc::serve::{AFTER_DRAIN, DRAIN, serve_stdin, serve_stream};
use crate::rpc::session::{Session, Side};
use hookwire_ask::limits;
use hookwire_ask::peer::Peer;
use hookwire_ask::socket::EVERYBODYS;
use hookwire_base::support::file;
use hookwire_base::support::os_error::in_words;
use hookwire_base::transport::outbox::Outbox;
use hookwire_base::transport::socket::{self, Socket};
use hookwire_base::transport::stdio;
use hookwire_engine::host::{Host, HostOptions, Projects, Purpose};
use hookwire_engine::ledger::Ledger;
use hookwire_handlers::handlers::process_tree;
use std::io::IsTerminal;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::signal::unix::signal;
use tokio_util::sync::CancellationToken;

#[derive(clap::Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    pub(super) hooks: StandingArgs,
    /// The largest message that is read, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = MAX_MESSAGE)]
    max_message: usize,
    /// Allow every event and run no hook, to see how an agent behaves without hooks.
    #[arg(long)]
    pass_through: bool,
    /// Don't listen on a socket: no `hookwire state`, `approvals` or editor reaches this host.
    #[arg(long)]
    no_share: bool,
    /// Serve on a socket, as `unix:PATH`, or over HTTP, as `http://127.0.0.1:PORT`, and not on
    /// stdin and stdout: one host for many agents.
    #[arg(long, value_name = "unix:PATH|http://127.0.0.1:PORT")]
    listen: Option<Listen>,
    /// With --listen http: the file that holds the token, for you alone to read. Without it and
    /// HOOKWIRE_TOKEN, a token is made and written beside the socket.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// With --listen http: a web page's origin that may ask, such as https://ide.example; may be
    /// given several times.
    #[arg(long, value_name = "ORIGIN")]
    origin: Vec<Origin>,
    /// Answer every user of this machine by the machine's definitions, at
    /// unix:/run/hookwire/ask.sock: the users may ask, and nothing else. Run it as a user of its own.
    #[arg(long, conflicts_with_all = ["listen", "pool", "idle_exit", "live", "isolated", "root", "hooks"])]
    system: bool,
    /// Answer for a pool of the fleet, and not on stdin and stdout: hosts of a pool share the
    /// events of clients that have no host. A signal lets this one finish what it has begun.
    #[arg(long, value_name = "NAME", conflicts_with = "idle_exit")]
    pool: Option<String>,
    /// With --listen: end once nobody has been connected for this long.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    idle_exit: Option<Duration>,
    /// Write every event with its verdict into `events.jsonl` in this directory, secrets replaced,
    /// for `history replay` and `test`. A full file, 10 MiB, is put aside; nine of these are kept.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// The path of the socket that is standard input.
    #[arg(long, hide = true)]
    inherit: Option<PathBuf>,
}

#[derive(Clone)]
enum Listen {
    Unix(PathBuf),
    Http(Address),
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Listen, String> {
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(Listen::Unix(path.into())),
            None if text.starts_with("http:") => text.parse().map(Listen::Http),
            Some(_) | None => Err("write unix:PATH or http://127.0.0.1:PORT".into()),
        }
    }
}

/// The variable that may hold the token: an argument list can be read by every user of the machine.
const TOKEN: &str = "HOOKWIRE_TOKEN";

/// The largest message that is read without `--max-message`, in bytes.
pub(super) const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// How long guests of a host that nobody finds any more may stay: longer than any event takes.
const LAST_GUESTS: Duration = Duration::from_secs(600);

pub(super) fn run(args: &ServeArgs) -> Result<Finding, Failure> {
    limits::raise_files();
    if let Some(path) = &args.inherit {
        let listener = rustix::stdio::stdin().try_clone_to_owned()?;
        return listen_on(args, Socket::inherited(listener, path.clone())?);
    }
    if args.system {
        return listen_on(args, bind_for_everybody()?);
    }
    if let Some(Listen::Http(address)) = &args.listen {
        return listen_http(args, address);
    }
    if args.token_file.is_some() || !args.origin.is_empty() {
        return Err(Failure(
            "--token-file and --origin are for --listen http://127.0.0.1:PORT".into(),
        ));
    }
    if let Some(Listen::Unix(path)) = &args.listen {
        if UnixStream::connect(path).is_ok() {
            return Err(Failure(format!(
                "--listen unix:{}: another host listens there",
                path.display()
            )));
        }
        let socket = Socket::bind_at(path.clone());
        let socket = socket
            .map_err(|error| Failure(format!("--listen unix:{}: {error}", path.display())))?;
        return listen_on(args, socket);
    }
    if args.pool.is_some() {
        return answer_pool(args);
    }
    if std::io::stdin().is_terminal() {
        say_on_stderr(format_args!(
            "waiting for JSON-RPC, one message a line; Ctrl-D ends it. An agent starts this command and \
             speaks to it. `hookwire demo` shows how, `hookwire explain --run` judges one event by hand."
        ));
    }
    let protocol = stdio::take_stdout()?;
    let (host, runtime, part) = start_host(args)?;
    let unfinished = begin_recording(args, &host, &runtime, part)?;
    let (gone, client_is_gone) = mpsc::channel();
    let outbox = Outbox::new(protocol, move || {
        let _ = gone.send(());
    })?;
    let _socket = if args.no_share {
        None
    } else {
        share_socket(&host, &runtime, args.max_message)
    };
    let session = Session::new(host, outbox.clone(), runtime.handle().clone(), Side::Parent);
    let connection = Arc::new(Connection::new(session));
    end_when_gone(connection.clone(), unfinished.clone(), client_is_gone)?;
    let ending = connection.clone();
    end_on_signal(&runtime, unfinished.clone(), move || {
        ending.abandon();
        ending.drain_hooks(Duration::ZERO, SHUTDOWN);
        remove_socket(&ending);
    })?;
    let result = serve_stdin(&connection, &outbox, args.max_message);
    end_runtime(runtime, &unfinished);
    // `exit` without `shutdown` before it is 1. (LSP.)
    let abrupt = result? == Next::Exit && !connection.session().is_shut_down();
    Ok(if abrupt {
        Finding::Found
    } else {
        Finding::Fine
    })
}

/// The socket that every user of the machine may reach, in a directory of this user's.
fn bind_for_everybody() -> Result<Socket, Failure> {
    let path = Path::new(EVERYBODYS);
    let problem = |why: String| Failure(format!("--system: {why}"));
    if rustix::process::geteuid().is_root() {
        return Err(problem(
            "as root, what any user sends would be judged by a process of root's: run it as a user of its own, such as \
             hookwire"
                .into(),
        ));
    }
    let directory = path.parent().unwrap_or(Path::new("/"));
    let shown = directory.display();
    let about = std::fs::symlink_metadata(directory)
        .map_err(|error| problem(format!("{shown}: {}", in_words(&error))))?;
    let is_own = about.is_dir() && about.uid() == rustix::process::geteuid().as_raw();
    if !is_own || about.permissions().mode() & 0o022 != 0 {
        return Err(problem(format!(
            "{shown} must be this user's, and nobody else's to write: `RuntimeDirectory=hookwire` of a service makes it so"
        )));
    }
    if UnixStream::connect(path).is_ok() {
        return Err(problem(format!("another host listens at {EVERYBODYS}")));
    }
    Socket::bind_for_everybody(path.into())
        .map_err(|error| problem(format!("{EVERYBODYS}: {}", in_words(&error))))
}

/// Serves whoever connects, and nobody else.
fn listen_on(args: &ServeArgs, socket: Socket) -> Result<Finding, Failure> {
    let (host, runtime, part) = start_host(args)?;
    let unfinished = begin_recording(args, &host, &runtime, part)?;
    // Hooks' own commands say more than users may.
    if !args.system {
        host.engine
            .services
            .socket
            .get_or_init(|| socket.path().into());
    }
    match args.system {
        true => {
            let runtime = runtime.handle().clone();
            socket.serve(serve_askers(host.clone(), runtime, args.max_message))?;
        }
        false => socket.serve(serve_guests(&host, &runtime, args.max_message))?,
    }
    // Where nobody looks for running hosts, it has another one there; what listens there doesn't
    // keep it up.
    let shared = match &args.listen {
        Some(_) if !args.no_share => share_socket(&host, &runtime, args.max_message),
        None if args.system => share_socket(&host, &runtime, args.max_message),
        Some(_) | None => None,
    };
    if args.listen.is_some() || args.system {
        let path = socket.path().display();
        say_on_stderr(format_args!(
            "listening on {path}; an agent connects to it and sends JSON-RPC"
        ));
    }
    let paths = [Some(&socket), shared.as_ref()]
        .map(|socket| socket.map(|socket| socket.path().to_path_buf()));
    end_on_signal(&runtime, unfinished.clone(), move || {
        paths
            .iter()
            .flatten()
            .for_each(|path| drop(std::fs::remove_file(path)));
    })?;
    let root = host.root().to_path_buf();
    // Only a host that a hook has started has somebody who starts the next.
    let retires = CancellationToken::new();
    if args.inherit.is_some() {
        let _ = host.retires.set(retires.clone());
    }
    // Nobody comes back to a project that is gone.
    socket.await_idle(args.idle_exit.unwrap_or(Duration::MAX), |n_guests| {
        retires.is_cancelled() || n_guests == 0 && !root.is_dir()
    });
    // Who has connected meanwhile is answered; who only listens is left in the end.
    let (socket, retired) = (socket.retire()?, Instant::now());
    unfinished.part.answering.leave();
    socket.await_idle(Duration::ZERO, |_| retired.elapsed() > LAST_GUESTS);
    runtime.block_on(super::ending::settle_hooks(&host));
    end_runtime(runtime, &unfinished);
    Ok(Finding::Fine)
}

/// Serves whoever has the token, over HTTP, and the project's socket beside it.
fn listen_http(args: &ServeArgs, address: &Address) -> Result<Finding, Failure> {
    let given = given_token(args)?;
    let (host, runtime, part) = start_host(args)?;
    let listener = runtime.block_on(Listener::bind(address.clone()));
    let listener = listener.map_err(|error| Failure(format!("--listen {address}: {error}")))?;
    let unfinished = begin_recording(args, &host, &runtime, part)?;
    let socket = if args.no_share {
        None
    } else {
        share_socket(&host, &runtime, args.max_message)
    };
    let (token, held_in, made) = match given {
        Some((token, held_in)) => (token, held_in, None),
        None => {
            let (token, text) = Token::generate()?;
            let path = socket::path_beside(host.root(), &format!("{}.token", listener.name()))?;
            file::replace(&path, &text, 0o600)?;
            (token, path.display().to_string(), Some(path))
        }
    };
    say_on_stderr(format_args!(
        "listening on {}; the token is in {held_in}",
        listener.address()
    ));
    let retires = CancellationToken::new();
    let _ = host.retires.set(retires.clone());
    let guests = listener.serve(Service {
        host: host.clone(),
        runtime: runtime.handle().clone(),
        max_message: args.max_message,
        token,
        origins: args.origin.clone(),
        session: Arc::new(serve_guests(&host, &runtime, args.max_message)),
    });
    let shared = socket.as_ref().map(|socket| socket.path().to_path_buf());
    let own = [made.clone(), shared];
    end_on_signal(&runtime, unfinished.clone(), move || {
        own.iter()
            .flatten()
            .for_each(|path| drop(std::fs::remove_file(path)));
    })?;
    let root = host.root().to_path_buf();
    guests.await_idle(args.idle_exit.unwrap_or(Duration::MAX), |n_guests| {
        retires.is_cancelled() || n_guests == 0 && !root.is_dir()
    });
    unfinished.part.answering.leave();
    runtime.block_on(super::ending::settle_hooks(&host));
    made.iter()
        .for_each(|path| drop(std::fs::remove_file(path)));
    end_runtime(runtime, &unfinished);
    Ok(Finding::Fine)
}

/// Answers for a pool, and serves the project's socket beside it.
fn answer_pool(args: &ServeArgs) -> Result<Finding, Failure> {
    let (host, runtime, part) = start_host(args)?;
    let unfinished = begin_recording(args, &host, &runtime, part)?;
    let socket = if args.no_share {
        None
    } else {
        share_socket(&host, &runtime, args.max_message)
    };
    let shared = socket.as_ref().map(|socket| socket.path().to_path_buf());
    end_on_signal(&runtime, unfinished.clone(), move || {
        shared
            .iter()
            .for_each(|path| drop(std::fs::remove_file(path)));
    })?;
    unfinished.part.answering.wait();
    runtime.block_on(super::ending::settle_hooks(&host));
    end_runtime(runtime, &unfinished);
    Ok(Finding::Found)
}

/// The token that the user gave, and where it is.
fn given_token(args: &ServeArgs) -> Result<Option<(Token, String)>, Failure> {
    let variable = std::env::var(TOKEN)
        .ok()
        .filter(|_| args.token_file.is_none());
    let (text, held_in) = match (&args.token_file, variable) {
        (Some(path), _) => {
            let about =
                |problem: String| Failure(format!("--token-file {}: {problem}", path.display()));
            let (text, _) = file::read(path).map_err(|problem| about(problem.to_string()))?;
            let mode = std::fs::metadata(path)?.permissions().mode();
            if mode & 0o077 != 0 {
                return Err(about("others can read it; `chmod 600` it".into()));
            }
            (text, path.display().to_string())
        }
        (None, Some(text)) => (text, TOKEN.to_string()),
        (None, None) => return Ok(None),
    };
    let token = Token::parse(&text).map_err(|problem| Failure(format!("{held_in}: {problem}")))?;
    Ok(Some((token, held_in)))
}

/// A host that watches its definitions, what runs its hooks, and its part in a fleet.
fn start_host(args: &ServeArgs) -> Result<(Arc<Host>, Runtime, Part), Failure> {
    // First, because what it does about signals holds for the files that the host opens.
    let runtime = make_runtime()?;
    let purpose = if args.pass_through {
        Purpose::PassThrough
    } else {
        Purpose::Judge
    };
    let mut options = HostOptions {
        purpose,
        ..args.hooks.options()?
    };
    if args.system {
        // Users' projects are theirs. What asks here is an agent, as for `hookwire hook`.
        (options.root, options.projects) = ("/".into(), Projects::None);
        options.self_defense = true;
    }
    let joining = Joining::begin(
        args.hooks.fleet.as_deref(),
        options.system,
        &options.root,
        &runtime,
    )?;
    let host = args
        .hooks
        .host
        .definitions
        .host_with(joining.options(options))?;
    if args.pass_through {
        tracing::error!("Pass-through: every event is allowed and no hook runs.");
    } else if host.options.system {
        // Nobody else can have set it.
        let _ = host.ledger.set(Ledger::new(host.root()));
        let _ = host.last_day.set(last_day_of(&host));
    }
    host.watch()?;
    if !args.pass_through {
        host.follow_cases(runtime.handle());
    }
    let answering = Answering::begin(&joining, args.pool.as_deref(), &host, &runtime)?;
    let joined = joining.follow_channel(&host, &runtime)?;
    if let Ok(program) = std::env::current_exe() {
        process_tree::enable_reaper(program, vec!["reaper".into()]);
    }
    Ok((host, runtime, Part { joined, answering }))
}

/// A host's part in a fleet: what it sends, and what it answers for a pool.
struct Part {
    joined: Joined,
    answering: Answering,
}

/// What must be finished before the process ends, because some of it is only in memory.
struct Unfinished {
    recording: Option<Arc<Recording>>,
    part: Part,
    host: Arc<Host>,
}

impl Unfinished {
    fn finish(&self) {
        self.recording.iter().for_each(|it| it.finish());
        self.part.joined.finish();
        if let Some(ledger) = self.host.ledger.get() {
            ledger.finish();
        }
    }
}

/// Begins to record, if that is wanted; gives what is to be finished.
fn begin_recording(
    args: &ServeArgs,
    host: &Arc<Host>,
    runtime: &Runtime,
    part: Part,
) -> Result<Arc<Unfinished>, Failure> {
    let recording = args
        .record
        .as_ref()
        .map(|dir| Recording::start(host, runtime, dir))
        .transpose()?;
    let host = host.clone();
    Ok(Arc::new(Unfinished {
        recording,
        part,
        host,
    }))
}

/// Drops the tasks that still run, which ends their processes.
fn end_runtime(runtime: Runtime, unfinished: &Unfinished) {
    unfinished.finish();
    ending::drop_runtime(runtime);
}

/// What serves one guest.
pub(super) fn serve_guests(
    host: &Arc<Host>,
    runtime: &Runtime,
    max_message: usize,
) -> impl Fn(UnixStream) -> std::io::Result<()> + Send + Sync + 'static {
    let (host, handle) = (host.clone(), runtime.handle().clone());
    move |stream| {
        let outbox = Outbox::new(stream.try_clone()?.into(), || {})?;
        let side = Side::Guest(Peer::from_stream(&stream)?);
        let session = Session::new(host.clone(), outbox.clone(), handle.clone(), side);
        let connection = Connection::new(session);
        let served = serve_stream(stream.as_fd(), &connection, &outbox, max_message);
        connection.abandon();
        // The threads that write hold it as well, until the client is gone; one that said `exit`
        // may wait for that.
        let _ = stream.shutdown(Shutdown::Both);
        served.map(drop)
    }
}

/// Listens on the host's socket. If that fails, it is logged, and the host serves without a socket.
pub(super) fn share_socket(
    host: &Arc<Host>,
    runtime: &Runtime,
    max_message: usize,
) -> Option<Socket> {
    let socket = Socket::bind(host.root()).and_then(|socket| {
        socket.serve(serve_guests(host, runtime, max_message))?;
        Ok(socket)
    });
    match socket {
        Ok(socket) => {
            host.engine
                .services
                .socket
                .get_or_init(|| socket.path().into());
            Some(socket)
        }
        Err(error) => {
            tracing::warn!(%error, "No socket: `hookwire state`, `hookwire approvals list` and editors can't reach this host.");
            None
        }
    }
}

/// A client that doesn't read any more is dead or about to close stdin, and the reader ends the
/// process in good order. If it doesn't, the process is ended from here.
fn end_when_gone(
    connection: Arc<Connection>,
    unfinished: Arc<Unfinished>,
    gone: mpsc::Receiver<()>,
) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name("end".into())
        .spawn(move || {
            if gone.recv().is_ok() {
                tracing::info!("The client reads no more.");
                std::thread::sleep(DRAIN);
                // Otherwise the reader is ending the process already, with the right exit code.
                if connection.session().hang_up() {
                    connection.drain_hooks(Duration::ZERO, AFTER_DRAIN);
                    unfinished.finish();
                    remove_socket(&connection);
                    process_tree::leave(LEAVE);
                    std::process::exit(0);
                }
            }
        })
        .map(drop)
}

/// For exits that drop nothing: dropping the socket would remove its file.
fn remove_socket(connection: &Connection) {
    if let Some(socket) = connection.session().host.engine.services.socket.get() {
        let _ = std::fs::remove_file(socket);
    }
}

fn end_on_signal(
    runtime: &Runtime,
    unfinished: Arc<Unfinished>,
    clean_up: impl FnOnce() + Clone + Send + 'static,
) -> std::io::Result<()> {
    let end = move |code: u8| {
        unfinished.part.answering.leave();
        clean_up();
        unfinished.finish();
        process_tree::leave(LEAVE);
        std::process::exit(code.into());
    };
    let _guard = runtime.enter();
    for kind in ending::ending_signals() {
        let mut signal = signal(kind)?;
        let end = end.clone();
        runtime.spawn(async move {
            if signal.recv().await.is_some() {
                // Off the runtime: the hooks that are to end run on it.
                std::thread::spawn(move || end(ending::exit_code(kind)));
            }
        });
    }
    Ok(())
}
