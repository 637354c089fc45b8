//! MCP servers that stay up between events.
//!
//! A server is started at its first call, shared by every hook whose definition of it is equal,
//! started again at the next call after a crash, and ended when it was not called for a while, or
//! with the host. A call that waits for a start may give up; the start goes on for the next call.

mod flow;

use crate::handlers::effect::Program;
use crate::handlers::environment::{Secrets, changed};
use crate::handlers::headers::Headers;
use crate::handlers::named_files::{ApprovedCommand, Words, run_by_words};
use crate::handlers::output_log::OutputLog;
use crate::handlers::process;
use crate::handlers::process_tree::{self, Tree};
use crate::services::egress::EgressByLayer;
use flow::{Lines, MAX_MESSAGE, Wire};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hookwire_base::support::nearest::closest;
use hookwire_base::support::visible::cut;
use hookwire_base::syntax::source::Layer;
use parking_lot::Mutex;
use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
    Implementation, JsonObject, PaginatedRequestParams, Tool,
};
use rmcp::service::{
    ClientInitializeError, Peer, RoleClient, RunningService, ServiceError, ServiceExt,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tokio::process::ChildStderr;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How many servers may run at once.
const MAX_SERVERS: usize = 16;
/// How long a server may take until it answers for the first time.
const START: Duration = Duration::from_secs(30);
/// How long a server that is asked to end may take.
const FAREWELL: Duration = Duration::from_secs(2);
/// The most tools that are listed.
const MAX_TOOLS: usize = 1000;
/// The longest wait between two starts of a server that keeps failing.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Places for servers. A server that is ending keeps its place until it has ended.
static PROCESSES: Semaphore = Semaphore::const_new(process_tree::MAX_WORKERS);

/// What a server is; equal ones are one server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ServerDefinition {
    reach: Reach,
    /// How messages name it: no path, no query and no later argument, which may hold secrets.
    label: String,
    secrets: Secrets,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// A program that speaks over stdio.
    Command {
        argv: Vec<String>,
        env: Vec<(String, String)>,
        cwd: Option<PathBuf>,
        sets_path: bool,
        /// How it runs if a person has approved it.
        approved: Option<Arc<ApprovedCommand>>,
    },
    /// A streamable HTTP endpoint, as a layer may reach it.
    Url {
        url: String,
        headers: Headers,
        layer: Layer,
    },
}

impl ServerDefinition {
    /// The files that it is started from, as far as its command names them.
    pub fn files(&self, root: &Path) -> Vec<PathBuf> {
        match &self.reach {
            Reach::Command { argv, cwd, .. } => run_by_words(
                argv.iter().map(String::as_str),
                Some(cwd.as_deref().unwrap_or(root)),
                root,
            ),
            Reach::Url { .. } => Vec::new(),
        }
    }

    /// The programs that its command looks for by name.
    pub fn programs(&self) -> Vec<String> {
        match &self.reach {
            Reach::Command {
                argv,
                sets_path: false,
                ..
            } => Words::List(&argv.iter().map(String::as_str).collect::<Vec<_>>()).programs(),
            Reach::Command { .. } | Reach::Url { .. } => Vec::new(),
        }
    }

    pub fn new(reach: Reach, secrets: Secrets) -> ServerDefinition {
        let label = match &reach {
            Reach::Command { argv, .. } => {
                let name = |path: &String| path.rsplit('/').next().unwrap_or_default().to_string();
                let script = argv.get(1).filter(|it| !it.starts_with('-')).map(name);
                let program = argv.first().map(name).unwrap_or_default();
                script.map_or(program.clone(), |script| format!("{program} {script}"))
            }
            Reach::Url { url, .. } => {
                let parsed = url::Url::parse(url).ok();
                let host = parsed
                    .as_ref()
                    .and_then(|it| Some((it.host_str()?, it.port())));
                match host {
                    Some((host, Some(port))) => format!("{host}:{port}"),
                    Some((host, None)) => host.to_string(),
                    None => String::new(),
                }
            }
        };
        ServerDefinition {
            reach,
            label,
            secrets,
        }
    }

    /// How it is reached.
    pub(super) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// What is started, if the server isn't somewhere else.
    pub(super) fn program(&self) -> Option<Program> {
        match &self.reach {
            Reach::Command { argv, env, cwd, .. } => Some(Program {
                text: argv.join(" "),
                sets: changed(env),
                cwd: cwd.clone(),
            }),
            Reach::Url { .. } => None,
        }
    }

    /// What must not be in what it says.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// How messages name it.
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// The label as part of a tool's name.
    #[cfg(feature = "models")]
    pub(crate) fn plain_label(&self) -> String {
        let name: String = self
            .label
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        if name.is_empty() {
            "server".into()
        } else {
            name
        }
    }
}

/// The servers of a host.
#[derive(Debug)]
pub struct Servers {
    table: Mutex<HashMap<Arc<ServerDefinition>, Arc<Slot>>>,
    gone: CancellationToken,
    _guard: DropGuard,
}

impl Default for Servers {
    fn default() -> Servers {
        let gone = CancellationToken::new();
        Servers {
            table: Mutex::default(),
            _guard: gone.clone().drop_guard(),
            gone,
        }
    }
}

impl Servers {
    /// The running server of a definition, started if need be; `idle` is how long it stays up
    /// without a call.
    pub async fn get(
        &self,
        definition: &Arc<ServerDefinition>,
        idle: Duration,
        root: &Arc<Path>,
        egress: &EgressByLayer,
    ) -> Result<Lease, String> {
        let slot = self.slot(definition)?;
        if let Some(lease) = slot.lease(idle) {
            return Ok(lease);
        }
        let (root, egress) = (root.clone(), egress.clone());
        let (gone, label) = (self.gone.clone(), &definition.label);
        // A task of its own: a call that runs out of time must not undo a slow start.
        let start = tokio::spawn(async move { slot.start(&root, &egress, idle, gone).await });
        start
            .await
            .unwrap_or_else(|error| Err(format!("start the MCP server `{label}`: {error}")))
    }

    fn slot(&self, definition: &Arc<ServerDefinition>) -> Result<Arc<Slot>, String> {
        let mut table = self.table.lock();
        if let Some(slot) = table.get(definition) {
            return Ok(slot.clone());
        }
        if table.len() >= MAX_SERVERS {
            let idle = table
                .iter()
                .filter_map(|(key, slot)| Some((slot.unused_since()?, key.clone())));
            let Some((_, longest)) = idle.min_by_key(|(since, _)| *since) else {
                return Err(format!(
                    "start the MCP server `{}`: {MAX_SERVERS} others run, and all are busy",
                    definition.label
                ));
            };
            if let Some(running) = table
                .remove(&longest)
                .and_then(|slot| slot.running.lock().take())
            {
                running.end.cancel();
            }
        }
        let slot = Arc::new(Slot {
            definition: definition.clone(),
            running: Mutex::default(),
            health: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
        });
        table.insert(definition.clone(), slot.clone());
        Ok(slot)
    }
}

/// The place of one server, whether it runs or not.
#[derive(Debug)]
struct Slot {
    definition: Arc<ServerDefinition>,
    running: Mutex<Option<Arc<Running>>>,
    health: Mutex<Health>,
    /// Held while it is being started.
    starting: tokio::sync::Mutex<()>,
}

/// How often a server has failed in a row.
#[derive(Debug, Default)]
struct Health {
    failures: u32,
    not_before: Option<Instant>,
    last: String,
}

impl Slot {
    /// The server, if it runs.
    fn lease(&self, idle: Duration) -> Option<Lease> {
        let running = self.running.lock();
        let running = running
            .as_ref()
            .filter(|it| !it.peer.is_transport_closed() && !it.end.is_cancelled())?;
        let mut usage = running.usage.lock();
        usage.calls += 1;
        usage.idle = usage.idle.max(idle);
        drop(usage);
        Some(Lease(running.clone()))
    }

    /// Since when it is unused; `None` if it is in use.
    fn unused_since(&self) -> Option<Option<Instant>> {
        let _not_starting = self.starting.try_lock().ok()?;
        match &*self.running.lock() {
            None => Some(None),
            Some(running) => {
                let usage = running.usage.lock();
                (usage.calls == 0).then_some(Some(usage.last))
            }
        }
    }

    async fn start(
        self: &Arc<Slot>,
        root: &Path,
        egress: &EgressByLayer,
        idle: Duration,
        gone: CancellationToken,
    ) -> Result<Lease, String> {
        let _one_at_a_time = self.starting.lock().await;
        // Another call may have started it meanwhile.
        if let Some(lease) = self.lease(idle) {
            return Ok(lease);
        }
        let label = &self.definition.label;
        let why = {
            let health = self.health.lock();
            let left = health
                .not_before
                .map(|it| it.saturating_duration_since(Instant::now()));
            left.filter(|it| !it.is_zero()).map(|left| {
                let seconds = left.as_secs() + 1;
                format!(
                    "it has failed {} times, the next attempt is in {seconds} s ({})",
                    health.failures, health.last
                )
            })
        };
        if let Some(why) = why {
            return Err(format!("start the MCP server `{label}`: {why}"));
        }
        let started = Instant::now();
        let log = Arc::new(OutputLog::of_server(label, self.definition.secrets.clone()));
        let (service, child) = match connect(&self.definition, root, egress, &log).await {
            Ok(it) => it,
            Err(error) => {
                self.health.lock().fail(&error);
                return Err(format!("start the MCP server `{label}`: {error}"));
            }
        };
        tracing::info!(server = %label, millis = started.elapsed().as_millis(), "MCP server started.");
        let running = Arc::new(Running {
            definition: self.definition.clone(),
            peer: service.peer().clone(),
            log,
            tools: Mutex::default(),
            usage: Mutex::new(Usage {
                calls: 1,
                last: Instant::now(),
                idle,
            }),
            worked: AtomicBool::new(false),
            end: CancellationToken::new(),
            ended: CancellationToken::new(),
            obituary: OnceLock::new(),
        });
        *self.running.lock() = Some(running.clone());
        tokio::spawn(keep(
            service,
            child,
            running.clone(),
            Arc::downgrade(self),
            gone,
        ));
        Ok(Lease(running))
    }

    /// Takes a server out that was unused for its time.
    fn retire(&self, retiree: &Arc<Running>) -> bool {
        let mut running = self.running.lock();
        let usage = retiree.usage.lock();
        let idle = usage.calls == 0 && usage.last.elapsed() >= usage.idle;
        drop(usage);
        if idle && running.as_ref().is_some_and(|it| Arc::ptr_eq(it, retiree)) {
            *running = None;
        }
        idle
    }

    fn forget(&self, ended: &Arc<Running>) {
        let mut running = self.running.lock();
        if running.as_ref().is_some_and(|it| Arc::ptr_eq(it, ended)) {
            *running = None;
        }
    }
}

impl Health {
    /// The first failure is forgiven at once; from the second on, each pause is twice as long.
    fn fail(&mut self, error: &str) {
        self.failures = self.failures.saturating_add(1);
        let doubled = self
            .failures
            .checked_sub(2)
            .map(|n| Duration::from_millis(500) * 2_u32.pow(n.min(6)));
        self.not_before = doubled.map(|pause| Instant::now() + pause.min(MAX_PAUSE));
        self.last = error.to_string();
    }
}

/// A server that runs.
#[derive(Debug)]
struct Running {
    definition: Arc<ServerDefinition>,
    peer: Peer<RoleClient>,
    log: Arc<OutputLog>,
    tools: Mutex<Option<Arc<[Tool]>>>,
    usage: Mutex<Usage>,
    /// It has answered a call.
    worked: AtomicBool,
    /// Asks it to end.
    end: CancellationToken,
    /// Tells that it has.
    ended: CancellationToken,
    /// How it ended, if by itself.
    obituary: OnceLock<String>,
}

#[derive(Debug)]
struct Usage {
    calls: usize,
    last: Instant,
    idle: Duration,
}

/// A running server in use: it isn't idle as long as this lives.
pub struct Lease(Arc<Running>);

impl Drop for Lease {
    fn drop(&mut self) {
        let mut usage = self.0.usage.lock();
        usage.calls -= 1;
        usage.last = Instant::now();
    }
}

impl Lease {
    /// Calls a tool. Dropping the future cancels the request; the server stays up.
    pub async fn call(&self, tool: &str, arguments: JsonObject) -> Result<CallToolResult, String> {
        let what = format!("call tool `{tool}`");
        self.0.log.flow.refill();
        self.find(tool).await?;
        let params = CallToolRequestParams::new(tool.to_string()).with_arguments(arguments);
        let response = self.0.peer.call_tool_once(params).await;
        match response {
            Ok(CallToolResponse::Complete(result)) => {
                self.0.worked.store(true, Ordering::Relaxed);
                Ok(result)
            }
            Ok(CallToolResponse::InputRequired(_)) => Err(format!(
                "{what}: it asks for a person's input, which a hook hasn't got"
            )),
            Ok(_) => Err(format!(
                "{what}: it was put off as a task, which isn't supported"
            )),
            Err(error) => Err(self.explain(&what, error).await),
        }
    }

    /// One tool by its name.
    pub async fn find(&self, tool: &str) -> Result<Tool, String> {
        let find = |tools: &[Tool]| tools.iter().find(|it| it.name == tool).cloned();
        let known = self.0.tools.lock().clone();
        if let Some(found) = known.as_deref().and_then(find) {
            return Ok(found);
        }
        let tools = self.list().await?;
        *self.0.tools.lock() = Some(tools.clone());
        find(&tools).ok_or_else(|| {
            let names: Vec<&str> = tools.iter().map(|it| it.name.as_ref()).collect();
            let hint = match closest(tool, names.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None if names.is_empty() => "it has none at all".to_string(),
                None => format!(
                    "it has {}",
                    names
                        .iter()
                        .take(20)
                        .copied()
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            };
            format!(
                "call tool `{tool}`: the MCP server `{}` has no such tool; {hint}",
                self.0.definition.label
            )
        })
    }

    async fn list(&self) -> Result<Arc<[Tool]>, String> {
        let mut tools: Vec<Tool> = Vec::new();
        let mut cursor = None;
        loop {
            let page = self
                .0
                .peer
                .list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor)))
                .await;
            let page = match page {
                Ok(page) => page,
                Err(error) => return Err(self.explain("list the server's tools", error).await),
            };
            // A page without tools could go on for ever.
            let more = !page.tools.is_empty() && tools.len() < MAX_TOOLS;
            tools.extend(page.tools);
            cursor = page.next_cursor.filter(|_| more);
            if cursor.is_none() {
                return Ok(tools.into());
            }
        }
    }

    async fn explain(&self, what: &str, error: ServiceError) -> String {
        let definition = &self.0.definition;
        match error {
            ServiceError::McpError(error) => {
                format!("{what}: {}", definition.censor(&error.message))
            }
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
                // How it ended is known a moment later.
                let _ = timeout(FAREWELL, self.0.ended.cancelled()).await;
                let why = self.0.obituary.get().map_or("it was ended", String::as_str);
                format!(
                    "{what}: the MCP server `{}` is gone: {why}",
                    definition.label
                )
            }
            ServiceError::TransportSend(error) => {
                format!(
                    "{what}: reach the MCP server `{}`: {}",
                    definition.label,
                    definition.cause(&*error.error)
                )
            }
            other => format!("{what}: {}", definition.censor(&other.to_string())),
        }
    }
}

impl ServerDefinition {
    /// The innermost error: outer ones repeat it and name the whole URL.
    fn cause(&self, error: &(dyn std::error::Error + 'static)) -> String {
        let mut innermost = error;
        loop {
            innermost = match (innermost.downcast_ref(), innermost.source()) {
                // It doesn't call it its source.
                (Some(StreamableHttpError::<reqwest::Error>::Client(inner)), _) => inner,
                (_, Some(inner)) => inner,
                (_, None) => break,
            };
        }
        self.censor(&innermost.to_string())
    }

    /// Why there is no conversation.
    fn refusal(&self, error: &ClientInitializeError) -> String {
        match error {
            ClientInitializeError::TransportError { error, context } => {
                format!("{context}: {}", self.cause(&*error.error))
            }
            other => self.cause(other),
        }
    }

    /// A text without the URL, whose path and query may hold secrets.
    fn censor(&self, text: &str) -> String {
        let text = match &self.reach {
            Reach::Command { .. } => text.to_string(),
            Reach::Url { url, .. } => {
                let normal = url::Url::parse(url).map(String::from).unwrap_or_default();
                let text = text.replace(url, &self.label);
                if normal.is_empty() {
                    text
                } else {
                    text.replace(&normal, &self.label)
                }
            }
        };
        excerpt(&self.secrets.mask(text.trim()), "no reason given")
    }
}

/// The program behind a server.
struct Child {
    tree: Tree,
    /// What it says on stderr.
    log: Arc<OutputLog>,
    /// Logs that, and ends if it is too much.
    flooded: BoxFuture<'static, ()>,
}

impl Child {
    fn new(tree: Tree, stderr: ChildStderr, log: Arc<OutputLog>) -> Child {
        let reader = log.clone();
        let flooded = async move {
            if reader.read(stderr).await.is_ok() {
                std::future::pending().await
            }
        };
        Child {
            tree,
            log,
            flooded: flooded.fuse().boxed(),
        }
    }

    /// Until it has exited or says too much on stderr, which is read meanwhile.
    async fn exited(&mut self) {
        tokio::select! {
            _ = self.tree.exited() => {}
            () = &mut self.flooded => {}
        }
    }
}

/// Starts a server, or connects to it.
async fn connect(
    definition: &ServerDefinition,
    root: &Path,
    egress: &EgressByLayer,
    log: &Arc<OutputLog>,
) -> Result<(RunningService<RoleClient, Quiet>, Option<Child>), String> {
    match &definition.reach {
        Reach::Command {
            argv,
            env,
            cwd,
            approved,
            ..
        } => {
            let mut env = env.clone();
            env.push((
                "HOOKWIRE_PROJECT_DIR".into(),
                root.to_string_lossy().into_owned(),
            ));
            let cwd = cwd.clone().unwrap_or_else(|| root.to_path_buf());
            let spec = process::Spec {
                argv: match approved {
                    Some(approved) => approved.list(argv, &cwd)?,
                    None => argv.clone(),
                },
                env,
                pins: approved.as_ref().map(|approved| approved.pins(&cwd)),
                cwd,
                stdin: Default::default(),
                limits: process::OutputLimits::default(),
            };
            let most = process_tree::MAX_WORKERS;
            let permit = PROCESSES.try_acquire().map_err(|_| {
                format!("start a program: {most} that outlive their calls run already")
            })?;
            let process::Child {
                stdin,
                stdout,
                stderr,
                tree,
            } = process::start(&spec, permit).map_err(|error| error.to_string())?;
            let stdout = Lines {
                pipe: stdout,
                line: 0,
                flow: log.flow.clone(),
            };
            let mut child = Child::new(tree, stderr, log.clone());
            let handshake = timeout(
                START,
                Quiet.serve(Wire::Pipes(AsyncRwTransport::new(stdout, stdin))),
            );
            let mut handshake = pin!(handshake);
            let result = tokio::select! {
                result = &mut handshake => Some(result),
                () = child.exited() => None,
            };
            let problem = match result {
                Some(Ok(Ok(service))) => return Ok((service, Some(child))),
                Some(Ok(Err(error))) => definition.refusal(&error),
                Some(Err(_)) => {
                    format!("it didn't answer `initialize` within {} s", START.as_secs())
                }
                None => String::new(),
            };
            Err(
                match timeout(Duration::from_millis(200), child.exited()).await {
                    _ if log.flow.excess().is_some() => log.flow.excess().unwrap_or_default(),
                    Ok(()) => child.last_words().await,
                    Err(_) => problem,
                },
            )
        }
        Reach::Url {
            url,
            headers,
            layer,
        } => {
            let headers = headers.fill().map_err(|error| error.0)?;
            let client = egress
                .for_layer(*layer)
                .client_for(url)
                .map_err(|error| error.to_string())?;
            let headers = headers
                .into_iter()
                .filter_map(|(name, value)| Some((name?, value)))
                .collect();
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .custom_headers(headers)
                .max_sse_event_size(MAX_MESSAGE);
            let http = StreamableHttpClientTransport::with_client(client, config);
            match timeout(START, Quiet.serve(Wire::Http(http, log.flow.clone()))).await {
                Ok(Ok(service)) => Ok((service, None)),
                Ok(Err(error)) => Err(definition.refusal(&error)),
                Err(_) => Err(format!(
                    "it didn't answer `initialize` within {} s",
                    START.as_secs()
                )),
            }
        }
    }
}

impl Child {
    /// How it ended and what it said last.
    async fn last_words(mut self) -> String {
        let _ = timeout(Duration::from_millis(50), &mut self.flooded).await;
        let status = match self.tree.finish() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        match self.log.last_line() {
            None => format!("it ended by itself ({status})"),
            Some(last) => format!("it ended by itself ({status}): {last}"),
        }
    }
}

/// Owns a server until its end.
async fn keep(
    service: RunningService<RoleClient, Quiet>,
    mut child: Option<Child>,
    running: Arc<Running>,
    slot: Weak<Slot>,
    gone: CancellationToken,
) {
    let label = &running.definition.label;
    let stop = service.cancellation_token();
    let mut serving = pin!(service.waiting());
    let mut closed = false;
    let crashed = loop {
        let until = {
            let usage = running.usage.lock();
            let since = if usage.calls == 0 {
                usage.last
            } else {
                Instant::now()
            };
            since + usage.idle
        };
        tokio::select! {
            _ = &mut serving => {
                closed = true;
                break true;
            }
            () = exited(&mut child) => break true,
            () = running.end.cancelled() => break false,
            () = gone.cancelled() => break false,
            () = sleep_until(until) => {
                if slot.upgrade().is_none_or(|slot| slot.retire(&running)) {
                    break false;
                }
            }
        }
    };
    // Closes its stdin, or its session: the way MCP says good-bye.
    stop.cancel();
    let patience = if crashed {
        Duration::from_millis(200)
    } else {
        FAREWELL
    };
    let farewell = timeout(patience, async {
        if !closed {
            let _ = serving.await;
        }
        if let Some(child) = &mut child {
            child.exited().await;
        }
    });
    let left = farewell.await.is_ok();
    if crashed {
        let why = match child {
            _ if running.log.flow.excess().is_some() => {
                running.log.flow.excess().unwrap_or_default()
            }
            Some(child) if left => child.last_words().await,
            Some(_) => "it closed its stdout".to_string(),
            None => "the connection ended".to_string(),
        };
        tracing::warn!(server = %label, %why, "MCP server is gone; the next call starts it again.");
        if let Some(slot) = slot.upgrade() {
            let mut health = slot.health.lock();
            if running.worked.load(Ordering::Relaxed) {
                health.failures = 0;
            }
            health.fail(&why);
        }
        let _ = running.obituary.set(why);
    } else {
        drop(child);
        tracing::info!(server = %label, "MCP server ended.");
    }
    if let Some(slot) = slot.upgrade() {
        slot.forget(&running);
    }
    running.ended.cancel();
}

async fn exited(child: &mut Option<Child>) {
    match child {
        Some(child) => child.exited().await,
        None => std::future::pending().await,
    }
}

/// The host as servers see it: a client that answers no requests.
struct Quiet;

impl ClientHandler for Quiet {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("hookwire", env!("CARGO_PKG_VERSION")),
        )
    }
}

/// The beginning of a text, in one line.
pub(super) fn excerpt(text: &str, default: &str) -> String {
    let text = if text.is_empty() { default } else { text };
    cut(text, 300).replace(char::is_control, " ")
}
