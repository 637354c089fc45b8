//! MCP servers that stay up between events, as [`kept`](super::kept) says. A server is a program,
//! or an endpoint that a connection stays open to.

mod flow;

use crate::handlers::effect::Program;
use crate::handlers::environment::{Secrets, changed};
use crate::handlers::headers::Headers;
use crate::handlers::kept::{End, Kept, Lease, Life, Places, Pool};
use crate::handlers::named_files::{ApprovedCommand, Words, run_by_words};
use crate::handlers::output_log::OutputLog;
use crate::handlers::process;
use crate::handlers::process_tree::{MAX_SERVERS, Tree};
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
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::process::ChildStderr;
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, timeout};

/// How long a server that is asked to end may take.
const FAREWELL: Duration = Duration::from_secs(2);
/// The most tools that are listed.
const MAX_TOOLS: usize = 1000;
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

/// A server as its callers see it.
pub(in crate::handlers) struct Server {
    life: Life,
    definition: Arc<ServerDefinition>,
    /// The way to it, once it is ready.
    peer: OnceLock<Peer<RoleClient>>,
    tools: Mutex<Option<Arc<[Tool]>>>,
}

/// What a server's start takes beside its definition.
pub(in crate::handlers) struct Start {
    root: Arc<Path>,
    egress: EgressByLayer,
}

impl Kept for Server {
    type Definition = ServerDefinition;
    type Start = Start;

    const SUBJECT: &'static str = "it";
    const NO_PLACE: &'static str = "";
    const START: Duration = Duration::from_secs(30);
    const PLACES: &'static Places = {
        static PLACES: Places = Places::new(MAX_SERVERS);
        &PLACES
    };

    fn log(definition: &ServerDefinition, _: &Start) -> OutputLog {
        OutputLog::of_server(&definition.label, definition.secrets.clone())
    }

    fn new(definition: &Arc<ServerDefinition>, life: Life) -> Server {
        Server {
            life,
            definition: definition.clone(),
            peer: OnceLock::new(),
            tools: Mutex::default(),
        }
    }

    fn life(&self) -> &Life {
        &self.life
    }

    fn is_stale(&self) -> bool {
        self.peer.get().is_some_and(Peer::is_transport_closed)
    }

    async fn live(self: &Arc<Server>, start: Start, place: SemaphorePermit<'static>) -> End {
        let started = Instant::now();
        let (service, link) = match self.connect(&start, place).await {
            Ok(connected) => connected,
            Err(end) => return end,
        };
        let (server, millis) = (&self.definition.label, started.elapsed().as_millis());
        tracing::info!(%server, millis, "MCP server started.");
        let _ = self.peer.set(service.peer().clone());
        self.life.set_ready();
        self.keep(service, link).await
    }

    // Each call hears from the connection that it has ended.
    fn fail_calls(&self, _: &str) {}
}

/// The running server of a definition, started if need be; `idle` is how long it stays up without a
/// call.
///
/// # Errors
/// Why there is none.
pub(in crate::handlers) async fn get(
    servers: &Pool<Server>,
    definition: &Arc<ServerDefinition>,
    idle: Duration,
    root: &Arc<Path>,
    egress: &EgressByLayer,
) -> Result<Lease<Server>, String> {
    let slot = servers.slot(definition.clone());
    let start = || Start {
        root: root.clone(),
        egress: egress.clone(),
    };
    servers
        .get(&slot, idle, start)
        .await
        .map_err(|error| format!("start the MCP server `{}`: {error}", definition.label))
}

impl Server {
    /// Calls a tool. Dropping the future cancels the request; the server stays up.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, String> {
        let what = format!("call tool `{tool}`");
        self.life.log.flow.refill();
        self.find(tool).await?;
        let params = CallToolRequestParams::new(tool.to_string()).with_arguments(arguments);
        match self.peer()?.call_tool_once(params).await {
            Ok(CallToolResponse::Complete(result)) => {
                self.life.set_answered();
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
    pub(super) async fn find(&self, tool: &str) -> Result<Tool, String> {
        let find = |tools: &[Tool]| tools.iter().find(|it| it.name == tool).cloned();
        let known = self.tools.lock().clone();
        if let Some(found) = known.as_deref().and_then(find) {
            return Ok(found);
        }
        let tools = self.list().await?;
        *self.tools.lock() = Some(tools.clone());
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
                self.definition.label
            )
        })
    }

    fn peer(&self) -> Result<&Peer<RoleClient>, String> {
        self.peer
            .get()
            .ok_or_else(|| "reach the MCP server: it isn't ready".to_string())
    }

    async fn list(&self) -> Result<Arc<[Tool]>, String> {
        let mut tools: Vec<Tool> = Vec::new();
        let mut cursor = None;
        loop {
            let page = self
                .peer()?
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
        let definition = &self.definition;
        match error {
            ServiceError::McpError(error) => {
                format!("{what}: {}", definition.censor(&error.message))
            }
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
                // How it ended is known a moment later.
                let why = timeout(FAREWELL, self.life.failure()).await;
                let why = why.ok().flatten();
                let why = why.as_deref().unwrap_or("it was ended");
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

/// What a server holds beside its connection.
enum Link {
    Child(Child),
    /// It is somewhere else; only its place is here.
    Url {
        _place: SemaphorePermit<'static>,
    },
}

impl Link {
    async fn exited(&mut self) {
        match self {
            Link::Child(child) => child.exited().await,
            Link::Url { .. } => std::future::pending().await,
        }
    }
}

impl Server {
    /// Starts a server, or connects to it.
    async fn connect(
        &self,
        start: &Start,
        place: SemaphorePermit<'static>,
    ) -> Result<(RunningService<RoleClient, Quiet>, Link), End> {
        let Server {
            life, definition, ..
        } = self;
        let start_time = Server::START;
        let silent = || {
            let seconds = start_time.as_secs();
            format!("it didn't answer `initialize` within {seconds} s")
        };
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
                    start.root.to_string_lossy().into_owned(),
                ));
                let cwd = cwd.clone().unwrap_or_else(|| start.root.to_path_buf());
                let spec = process::Spec {
                    argv: match approved {
                        Some(approved) => approved.list(argv, &cwd).map_err(End::NotStarted)?,
                        None => argv.clone(),
                    },
                    env,
                    pins: approved.as_ref().map(|approved| approved.pins(&cwd)),
                    cwd,
                    stdin: Default::default(),
                    limits: process::OutputLimits::default(),
                };
                let process::Child {
                    stdin,
                    stdout,
                    stderr,
                    tree,
                } = process::start(&spec, place)
                    .map_err(|error| End::NotStarted(error.to_string()))?;
                let stdout = Lines {
                    pipe: stdout,
                    line: 0,
                    flow: life.log.flow.clone(),
                };
                let mut child = Child::new(tree, stderr, life.log.clone());
                let handshake = timeout(
                    start_time,
                    Quiet.serve(Wire::Pipes(AsyncRwTransport::new(stdout, stdin))),
                );
                let mut handshake = pin!(handshake);
                let result = tokio::select! {
                    result = &mut handshake => Some(result),
                    () = child.exited() => None,
                };
                let problem = match result {
                    Some(Ok(Ok(service))) => return Ok((service, Link::Child(child))),
                    Some(Ok(Err(error))) => definition.refusal(&error),
                    Some(Err(_)) => silent(),
                    None => String::new(),
                };
                Err(End::Failed(
                    match timeout(Duration::from_millis(200), child.exited()).await {
                        _ if life.log.flow.excess().is_some() => {
                            life.log.flow.excess().unwrap_or_default()
                        }
                        Ok(()) => child.last_words().await,
                        Err(_) => problem,
                    },
                ))
            }
            Reach::Url {
                url,
                headers,
                layer,
            } => {
                let headers = headers.fill().map_err(|error| End::NotStarted(error.0))?;
                let client = start
                    .egress
                    .for_layer(*layer)
                    .client_for(url)
                    .map_err(|error| End::NotStarted(error.to_string()))?;
                let headers = headers
                    .into_iter()
                    .filter_map(|(name, value)| Some((name?, value)))
                    .collect();
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .custom_headers(headers)
                    .max_sse_event_size(MAX_MESSAGE);
                let http = StreamableHttpClientTransport::with_client(client, config);
                let wire = Wire::Http(http, life.log.flow.clone());
                match timeout(start_time, Quiet.serve(wire)).await {
                    Ok(Ok(service)) => Ok((service, Link::Url { _place: place })),
                    Ok(Err(error)) => Err(End::Failed(definition.refusal(&error))),
                    Err(_) => Err(End::Failed(silent())),
                }
            }
        }
    }

    /// Owns a server until its end.
    async fn keep(&self, service: RunningService<RoleClient, Quiet>, mut link: Link) -> End {
        let server = &self.definition.label;
        let stop = service.cancellation_token();
        let mut serving = pin!(service.waiting());
        let mut is_closed = false;
        let is_over = tokio::select! {
            _ = &mut serving => {
                is_closed = true;
                false
            }
            () = link.exited() => false,
            () = self.life.over() => true,
        };
        // Closes its stdin, or its session: the way MCP says good-bye.
        stop.cancel();
        let patience = if is_over {
            FAREWELL
        } else {
            Duration::from_millis(200)
        };
        let farewell = timeout(patience, async {
            if !is_closed {
                let _ = serving.await;
            }
            if let Link::Child(child) = &mut link {
                child.exited().await;
            }
        });
        let has_left = farewell.await.is_ok();
        if is_over {
            drop(link);
            tracing::info!(%server, "MCP server ended.");
            return End::Left;
        }
        let why = match link {
            _ if self.life.log.flow.excess().is_some() => {
                self.life.log.flow.excess().unwrap_or_default()
            }
            Link::Child(child) if has_left => child.last_words().await,
            Link::Child(_) => "it closed its stdout".to_string(),
            Link::Url { .. } => "the connection ended".to_string(),
        };
        tracing::warn!(%server, %why, "MCP server is gone; the next call starts it again.");
        End::Failed(why)
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
