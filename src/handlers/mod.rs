//! How hooks are carried out. One file a kind, one line in the table below.
//!
//! A kind owns what its definition may say (`Raw`), turns it into something that can't be wrong
//! (`compile`) and runs it. Time limits, cancellation, panics and failure directions are the
//! engine's: a handler that is dropped must leave nothing behind.

#[cfg(feature = "models")]
mod agent;
mod callable;
mod callback;
mod closure;
mod command;
mod environment;
mod fixed;
pub mod guards;
mod http;
#[cfg(feature = "mcp")]
mod mcp;
pub(crate) mod process;
pub mod process_tree;
#[cfg(feature = "models")]
mod prompt;
#[cfg(test)]
mod sample;
#[cfg(feature = "script")]
mod script;

use crate::contract::{Contract, NATIVE};
use crate::event::Event;
use crate::event::On;
use crate::services::approvals::Approvals;
use crate::services::client::Client;
use crate::services::egress;
use crate::services::emit::EventSender;
#[cfg(feature = "models")]
use crate::services::models::{Bound, ModelError};
use crate::services::models::{ModelRef, RawModel};
use crate::services::state::Store;
use crate::services::state::runs::Runs;
use crate::syntax::fix::Fix;
use crate::syntax::node::{DecodeError, Node, NodeValue, decode};
use crate::syntax::source::{Layer, Source};
use crate::template::{self, Placeholders, Style, Template};
use crate::verdict::{Answer, Decision, Verdict};
use bytes::Bytes;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::future::Future;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use crate::services::egress::HostPort;
pub(crate) use callable::{node_file, python_files};
pub use callback::CallbackCall;
pub(crate) use closure::Closure;
pub(crate) use closure::depth;
pub use closure::{HookError, HookEvent, IntoAnswer};

/// One kind of handler.
pub(crate) trait Kind: std::fmt::Debug + Sized + Send + Sync {
    /// What the definition's key may hold.
    type Raw: DeserializeOwned + JsonSchema;

    /// Checks what was written.
    fn compile(raw: Self::Raw, cx: &Compile<'_>) -> Result<Self, Mistake>;

    /// Carries the hook out once.
    fn run(&self, call: &Call<'_>) -> impl Future<Output = Result<Answer, HandlerError>> + Send;

    /// What that does beyond looking at the event.
    fn effect(&self) -> Option<Effect> {
        None
    }
}

/// What carrying a hook out does to the world, for whoever is about to. Holds no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Starts this.
    Command(Program),
    /// Starts a worker in a runtime, and calls what it names.
    Worker(&'static str, Program),
    /// Sends something to this URL.
    Post(String),
    /// Asks a model; `None`: the one that is the default where it runs.
    Model(Option<String>),
    /// Lets a model use these tools.
    Agent(Vec<String>),
    /// Calls a tool of an MCP server.
    McpTool {
        /// The tool.
        tool: String,
        /// The server, where it is somewhere else.
        server: String,
        /// What is started to have one.
        starts: Option<Program>,
    },
    /// Appends to this file.
    Appends(PathBuf),
    /// Asks a person, and waits.
    Person,
}

/// Something that a definition has started, as it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// A shell text, a program with its arguments, or a function.
    pub text: String,
    /// The variables that have another value than in the host's own environment.
    pub sets: Vec<String>,
    /// Where, if the definition says.
    pub cwd: Option<PathBuf>,
}

/// What is known where a definition is compiled.
pub struct Compile<'a> {
    /// The directory of the definition's file: relative paths start here.
    pub dir: &'a Path,
    /// Where the definition came from.
    pub layer: Layer,
    /// The connection that registers the hook, if it comes over the wire.
    pub client: Option<&'a Arc<dyn Client>>,
    /// The model that the file's `defaults` name.
    pub model: Option<&'a RawModel>,
    /// How the hook's vocabulary names what an event says.
    pub placeholders: &'static Placeholders,
    /// Reads a file that the definition names, and has it watched: a change of it compiles the
    /// definition again. The error is for people.
    pub read: &'a dyn Fn(&Path) -> Result<String, String>,
    /// The lines of the definition's file where a member's text is written, one for each of its own,
    /// as far as it is written as it is. Of a definition that is a lone text, whatever the member.
    pub lines: &'a dyn Fn(&str) -> Vec<usize>,
}

#[cfg(feature = "models")]
impl Compile<'_> {
    /// The model that the hook names with `model`, else the file's; `None` leaves it to the host.
    fn model(&self, raw: Option<RawModel>) -> Result<Option<ModelRef>, Mistake> {
        let model = raw.or_else(|| self.model.cloned()).map(ModelRef::new).transpose();
        model.map_err(|bad| Mistake { help: bad.help, fix: bad.fix, ..Mistake::new("model", bad.message) })
    }
}

/// A mistake in a handler's definition.
#[derive(Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The member that `field` is within, if not the value itself.
    pub within: Option<&'static str>,
    /// The member it is about, if not the whole.
    pub field: Option<&'static str>,
    /// The part of the field's text that it is about, in bytes, where the text is written as it is.
    pub at: Option<std::ops::Range<usize>>,
    /// Lowercase, no full stop.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// The edit that mends it.
    pub fix: Option<Fix>,
}

impl Mistake {
    /// A mistake in the value as a whole.
    fn whole(message: impl Into<String>) -> Mistake {
        Mistake { within: None, field: None, at: None, message: message.into(), help: None, fix: None }
    }

    /// With what to do about it.
    fn help(self, help: impl Into<String>) -> Mistake {
        Mistake { help: Some(help.into()), ..self }
    }

    fn new(field: &'static str, message: impl Into<String>) -> Mistake {
        Mistake { field: Some(field), ..Mistake::whole(message) }
    }

    /// With the name that a wrong one was probably meant to be.
    #[cfg(feature = "models")]
    fn did_you_mean(self, wrong: &str, right: &str) -> Mistake {
        self.help(format!("did you mean `{right}`?")).fix(Fix::replace(wrong, right))
    }

    /// With the edit that mends it.
    fn fix(self, fix: Fix) -> Mistake {
        Mistake { fix: Some(fix), ..self }
    }
}

/// Why a handler gave no answer. The text finishes the sentence "failed to ...".
#[derive(Debug, PartialEq, Eq)]
pub struct HandlerError(pub String);

impl std::fmt::Display for HandlerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One run of one hook.
pub struct Call<'a> {
    /// The hook.
    pub hook: HookView<'a>,
    /// The event as the hook is to see it.
    pub moment: &'a Moment,
    /// What handlers share.
    pub services: &'a Services,
    /// Whoever sent the event, if it can be asked.
    pub client: Option<&'a Arc<dyn Client>>,
    /// What the run did, for the outcome.
    pub transcript: &'a Transcript,
    /// The way back to the hooks, for what the handler itself is about to do.
    pub judge: &'a dyn Judge,
}

/// What a handler knows of the hook that it carries out: all but its conditions.
#[derive(Clone, Copy)]
pub struct HookView<'a> {
    /// Names it in verdicts, logs and diagnostics.
    pub name: &'a Arc<str>,
    /// For people.
    pub description: Option<&'a str>,
    /// Which events.
    pub on: &'a On,
    /// For one run.
    pub timeout: Duration,
    /// For people and tools.
    pub tags: &'a [String],
    /// The vocabulary it is written for.
    pub contract: &'static Contract,
    /// Where it is written.
    pub source: &'a Source,
}

/// The hooks in force, as a handler that acts can ask them. The engine implements it.
pub trait Judge: Send + Sync {
    /// Judges an event of the handler's own.
    fn judge(&self, event: Event) -> Pin<Box<dyn Future<Output = Verdict> + Send + '_>>;

    /// How many handlers' own acts this run is within; 0 for what a client sent.
    fn depth(&self) -> u8;
}

impl Call<'_> {
    /// What a placeholder of the hook's vocabulary stands for.
    fn placeholder(&self, name: &str) -> Option<Value> {
        let contract = self.hook.contract;
        match contract.dialect {
            NATIVE => self.path(name),
            _ => (contract.placeholders.value)(self.moment.event(), name),
        }
    }

    /// What a path of hookwire's own vocabulary stands for.
    fn path(&self, path: &str) -> Option<Value> {
        match path {
            "hook" => Some(self.hook.name.to_string().into()),
            _ => (template::PATHS.value)(self.moment.event(), path),
        }
    }
}

#[cfg(feature = "models")]
impl Call<'_> {
    /// The model to ask: the hook's, else the host's, else the client's own.
    fn model<'a>(&'a self, named: Option<&'a ModelRef>) -> Result<Bound<'a>, HandlerError> {
        let egress = self.services.egress(self.hook.source.layer);
        let until = tokio::time::Instant::now() + self.hook.timeout;
        Bound::new([named, self.services.model.as_deref()], egress, self.client, until).map_err(HandlerError::from)
    }
}

#[cfg(feature = "models")]
impl From<ModelError> for HandlerError {
    fn from(error: ModelError) -> HandlerError {
        HandlerError(error.0)
    }
}

/// What a run did, step by step, for whoever reads the outcome.
#[derive(Default)]
pub struct Transcript(Mutex<Vec<Value>>);

impl Transcript {
    /// The most steps; what is beyond is left out.
    const MAX_STEPS: usize = 200;

    /// Notes a step.
    pub fn note(&self, step: Value) {
        let mut steps = self.0.lock();
        if steps.len() < Transcript::MAX_STEPS {
            steps.push(step);
        }
    }

    /// The steps so far.
    pub fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.0.lock())
    }
}

/// One version of an event with what handlers derive from it, each made once.
pub struct Moment {
    /// The facts that conditions and handlers read.
    pub facts: crate::matching::Facts,
    native: OnceLock<Bytes>,
    environment: OnceLock<Vec<(String, String)>>,
}

impl Moment {
    /// A version of an event.
    pub fn new(event: Arc<Event>, root: &Path) -> Moment {
        Moment::of(crate::matching::Facts::new(event, root))
    }

    /// The next version of it.
    pub fn rewritten(&self, event: Arc<Event>) -> Moment {
        Moment::of(self.facts.rewritten(event))
    }

    fn of(facts: crate::matching::Facts) -> Moment {
        Moment { facts, native: OnceLock::new(), environment: OnceLock::new() }
    }

    /// The event.
    pub fn event(&self) -> &Arc<Event> {
        &self.facts.event
    }

    /// The event as JSON, in the vocabulary of the hook's dialect.
    fn payload(&self, contract: &Contract) -> Bytes {
        self.encoded(contract, contract.payload)
    }

    /// The same, for a command's stdin.
    fn stdin(&self, contract: &Contract) -> Bytes {
        self.encoded(contract, contract.stdin.unwrap_or(contract.payload))
    }

    fn encoded(&self, contract: &Contract, payload: fn(&Event) -> Value) -> Bytes {
        let encode = || Bytes::from(payload(self.event()).to_string());
        if contract.dialect == NATIVE { self.native.get_or_init(encode).clone() } else { encode() }
    }
}

/// What handlers share.
#[derive(Clone)]
pub struct Services {
    /// The project root: where commands run when the event has no usable `cwd`.
    pub root: Arc<Path>,
    /// Operator's grants for HTTP.
    pub grants: Vec<HostPort>,
    /// What hooks know together.
    pub state: Store,
    /// Who listens to what hooks tell.
    pub events: EventSender,
    /// Which run an event counts towards.
    pub runs: Arc<Runs>,
    /// Questions to a person.
    pub approvals: Approvals,
    /// The host's socket, for the commands of hooks.
    pub socket: Arc<OnceLock<PathBuf>>,
    /// The model of hooks and files that name none.
    pub model: Option<Arc<ModelRef>>,
    /// MCP servers that stay up between events.
    #[cfg(feature = "mcp")]
    servers: Arc<mcp::Servers>,
    #[cfg(feature = "script")]
    scripts: Arc<script::pool::Pool>,
    egress: Arc<[OnceLock<egress::Egress>; 2]>,
    /// Warm worker processes.
    workers: Arc<callable::WorkerPool>,
}

impl Services {
    /// Services for hooks of a project.
    pub fn new(root: PathBuf, grants: Vec<HostPort>) -> Services {
        Services {
            root: root.into(),
            grants,
            state: Store::default(),
            events: EventSender::default(),
            runs: Arc::default(),
            approvals: Approvals::default(),
            socket: Arc::default(),
            model: None,
            #[cfg(feature = "mcp")]
            servers: Arc::default(),
            #[cfg(feature = "script")]
            scripts: Arc::default(),
            egress: Arc::default(),
            workers: Arc::default(),
        }
    }

    fn egress(&self, layer: Layer) -> &egress::Egress {
        let loopback = layer.is_trusted();
        self.egress[usize::from(loopback)]
            .get_or_init(|| egress::Egress::new(egress::Grants { loopback, hosts: self.grants.clone() }))
    }
}

/// A row of the handler table, for the loader, the schema and the docs.
pub struct Row {
    /// The definition's key.
    pub key: &'static str,
    /// One line.
    pub about: &'static str,
    /// Compiles the key's value.
    pub compile: fn(&Node, &Compile<'_>) -> Result<Handler, CompileError>,
    /// The JSON Schema of the key's value.
    pub schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
}

/// Why a handler's definition doesn't compile.
pub enum CompileError {
    /// It hasn't the right form.
    Form(DecodeError),
    /// It has, but can't be meant.
    Meaning(Mistake),
}

macro_rules! handlers {
    ($($(#[$attribute:meta])* $key:literal, $about:literal => $variant:ident($kind:ty);)*) => {
        /// How a hook is carried out.
        #[derive(Debug)]
        pub enum Handler {
            $($(#[$attribute])* #[doc = $about] #[allow(private_interfaces, reason = "handlers are opaque outside")] $variant($kind),)*
            /// A closure of the program that embeds the host: nothing that a file could say.
            #[allow(private_interfaces, reason = "handlers are opaque outside")]
            Closure(Closure),
            /// A definition that is broken but says that it fails closed: always fails.
            Broken(String),
        }

        /// Every kind that a definition may name.
        pub static KINDS: &[Row] = &[$($(#[$attribute])* Row {
            key: $key,
            about: $about,
            compile: |node, cx| {
                let raw = decode(node).map_err(CompileError::Form)?;
                <$kind as Kind>::compile(raw, cx).map(Handler::$variant).map_err(CompileError::Meaning)
            },
            schema: |generator| generator.subschema_for::<<$kind as Kind>::Raw>(),
        },)*];

        impl Handler {
            /// The definition's key.
            pub fn key(&self) -> &'static str {
                match self {
                    $($(#[$attribute])* Handler::$variant(_) => $key,)*
                    Handler::Closure(_) => "closure",
                    Handler::Broken(_) => "broken",
                }
            }

            pub(crate) async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.run(call).await,)*
                    Handler::Closure(it) => it.run(call).await,
                    Handler::Broken(problem) => Err(HandlerError(problem.clone())),
                }
            }

            /// What a run does beyond looking at the event.
            pub fn effect(&self) -> Option<Effect> {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.effect(),)*
                    Handler::Closure(_) | Handler::Broken(_) => None,
                }
            }
        }
    };
}

handlers! {
    "allow", "a fixed allow, with its reason" => Allow(fixed::Allow);
    "deny", "a fixed deny, with its reason" => Deny(fixed::Deny);
    "ask", "ask a person, with this reason" => Ask(fixed::Ask);
    "command", "a shell text or a program with arguments; the event on its stdin" => Command(command::Command);
    "callable", "a function in a warm worker process: Python, Node or any program" => Callable(callable::Callable);
    "http", "a POST to a service, through guarded egress" => Http(http::Http);
    #[cfg(feature = "models")]
    "prompt", "a question to a language model about the event; its verdict is the hook's" => Prompt(prompt::Prompt);
    #[cfg(feature = "models")]
    "agent", "a bounded sub-agent with an allow-list of tools" => Agent(agent::Agent);
    "callback", "a call back into the client that registered the hook" => Callback(callback::Callback);
    #[cfg(feature = "script")]
    "script", "JavaScript in the definition or a file: no file, network or process" => Script(script::Script);
    "guard", "a built-in guard that needs no code: limits, patterns, secrets, audit" => Guard(guards::Guard);
    #[cfg(feature = "mcp")]
    "mcp", "a tool of an MCP server that stays up between events" => Mcp(mcp::Mcp);
    #[cfg(test)]
    "sample", "the commented sample: see sample.rs" => Sample(sample::Sample);
}

impl Handler {
    /// Whether its own rewrite leaves it nothing to rewrite.
    pub fn is_idempotent(&self) -> bool {
        matches!(self, Handler::Guard(_))
    }

    /// How long a run may take where neither the hook nor its file says, if longer than others.
    pub fn patience(&self) -> Option<Duration> {
        match self {
            Handler::Guard(guard) => guard.patience(),
            #[cfg(feature = "models")]
            Handler::Agent(_) => Some(agent::PATIENCE),
            _ => None,
        }
    }

    /// The decision and reason of a fixed verdict.
    pub fn fixed(&self) -> Option<(Decision, &str)> {
        match self {
            Handler::Allow(it) => Some((Decision::Allow, &it.0)),
            Handler::Deny(it) => Some((Decision::Deny, &it.0)),
            Handler::Ask(it) => Some((Decision::Ask, &it.0)),
            // Whatever else there is runs, and decides by its answer.
            _ => None,
        }
    }
}

/// The texts of a handler's definition that are filled in with what the event says, each with how its
/// placeholders are written; `own` is the way of the hook's vocabulary.
pub(crate) fn templates<'n>(
    kind: &str,
    definition: &'n Node,
    own: &'static Placeholders,
) -> Vec<(&'n Node, &'static Placeholders)> {
    let member = |name: &str| definition.get(name).unwrap_or(definition);
    let nodes = match kind {
        "command" => match &member("run").value {
            NodeValue::Seq(words) => words.iter().skip(1).collect(),
            _ => Vec::new(),
        },
        "prompt" => vec![member("text")],
        "agent" => vec![member("task")],
        "http" => definition.get("body").into_iter().flat_map(texts).collect(),
        "mcp" => definition.get("arguments").into_iter().flat_map(texts).collect(),
        "guard" => definition.get("approval").and_then(|it| it.get("message")).into_iter().collect(),
        _ => Vec::new(),
    };
    let placeholders = if kind == "guard" { &template::PATHS } else { own };
    nodes.into_iter().filter(|node| node.text().is_some()).map(|node| (node, placeholders)).collect()
}

/// A text and the paths that it names, each with where it is written, in bytes of the text.
pub(crate) type Named<'n> = (&'n Node, Vec<(String, Range<usize>)>);

/// The paths of hookwire's own vocabulary that a handler's definition names, by the text that they are in.
pub(crate) fn paths<'n>(kind: &str, definition: &'n Node, own: &'static Placeholders) -> Vec<Named<'n>> {
    let named = |(node, placeholders): (&'n Node, &'static Placeholders)| {
        let template = Template::new(node.text()?, placeholders).ok()?;
        Some((node, template.places().map(|(path, at)| (path.to_string(), at.clone())).collect()))
    };
    let templates = templates(kind, definition, own).into_iter();
    templates.filter(|(_, placeholders)| placeholders.style == Style::Paths).filter_map(named).collect()
}

/// Every text of a value. The parser bounds the depth.
fn texts(node: &Node) -> Vec<&Node> {
    match &node.value {
        NodeValue::String(_) => vec![node],
        NodeValue::Seq(items) => items.iter().flat_map(texts).collect(),
        NodeValue::Map(entries) => entries.iter().flat_map(|entry| texts(&entry.value)).collect(),
        _ => Vec::new(),
    }
}

/// The path that an event's tool call is about.
fn tool_path(event: &Event) -> Option<&str> {
    crate::matching::tools::main_path(event.tool_name()?, event.at("/tool/input")?)
}
