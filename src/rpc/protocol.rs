//! The types of the messages. `schema/protocol.json` is generated from them.

use super::outgoing::{NotificationKind, RequestKind};
use hookwire_base::event::{EventShape, Phase};
use hookwire_base::support::amounts::millis;
use hookwire_base::syntax::diagnostic::Diagnostic;
use hookwire_base::syntax::source::{Layer, Source};
use hookwire_base::verdict::{Decision, Verdict};
use hookwire_engine::definitions::layer_dir::LayerDir;
use hookwire_engine::definitions::watch::Watching;
use hookwire_engine::hook::{Hook, Miss};
use hookwire_engine::host::Published;
use hookwire_engine::journal::{Excerpt, Recent};
use hookwire_engine::ledger::UnaskedCalls;
use hookwire_handlers::services::approval::{ApprovalReply, ApprovalRequest};
use hookwire_handlers::services::state::Item;
use hookwire_rules::contract::Fail;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

/// The codes of errors.
pub mod code {
    /// The message is not JSON. (JSON-RPC.)
    pub const PARSE: i32 = -32700;
    /// The message is no request, or comes at the wrong time. (JSON-RPC.)
    pub const INVALID_REQUEST: i32 = -32600;
    /// There is no such method. (JSON-RPC.)
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The params are not what the method takes. (JSON-RPC.)
    pub const INVALID_PARAMS: i32 = -32602;
    /// A bug in hookwire. (JSON-RPC.)
    pub const INTERNAL: i32 = -32603;
    /// A request was cancelled with `$/cancelRequest`. (LSP.)
    pub const CANCELLED: i32 = -32800;
    /// The documents have changed since a question about them was asked. (LSP.)
    pub const CONTENT_MODIFIED: i32 = -32801;
    /// What was asked for can't be done. (LSP.)
    pub const REQUEST_FAILED: i32 = -32803;
    /// Too many requests are in flight.
    pub const OVERLOADED: i32 = -32001;
    /// The shared store can't do what was asked: too large, not a number, full, not writable.
    pub const STATE: i32 = -32002;
}

/// `initialize`: what LSP clients send is understood too.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeParams {
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Who the client is: for people who watch, and nothing else.
    #[schemars(with = "Option<ClientInfo>")]
    pub client_info: Option<Value>,
}

/// `clientInfo`, as LSP has it.
#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "for the schema: what a client says of itself wrongly is no reason to refuse it"
)]
struct ClientInfo {
    /// Its name.
    name: String,
    /// Its version.
    version: Option<String>,
}

/// `capabilities`, or their LSP form.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientCapabilities {
    /// What concerns hookwire.
    pub hooks: Option<HookCapabilities>,
    /// The same for LSP clients, whose libraries let nothing else through.
    pub experimental: Option<Experimental>,
}

/// LSP's place for what is not LSP.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Experimental {
    /// See `capabilities.hooks`.
    pub hooks: Option<HookCapabilities>,
}

/// What a client can honour and wants to hear.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct HookCapabilities {
    /// The decisions that it can honour, in every vocabulary; any other becomes a deny. Default:
    /// allow, deny and rewrite, in another vocabulary those that it knows.
    pub decisions: Option<Vec<Honour>>,
    /// The notifications that it wants.
    pub notifications: Vec<NotificationKind>,
    /// The requests that it answers.
    pub requests: Vec<RequestKind>,
    /// The vocabulary of its events, where a dispatch doesn't say.
    pub dialect: Option<String>,
}

/// Something a client can honour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Honour {
    /// Going on.
    Allow,
    /// Not doing it.
    Deny,
    /// Asking a person.
    Ask,
    /// Putting it off.
    Defer,
    /// Taking a rewritten subject.
    Rewrite,
}

/// Members and methods are added without a new version: a client passes over what it doesn't know.
pub const PROTOCOL_VERSION: u32 = 1;

/// The reply to `initialize`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// Name and version.
    pub server_info: ServerInfo,
    /// The version of the protocol. It grows when a client that was written for the one before may
    /// misread a message.
    pub protocol_version: u32,
    /// What the host can do, in LSP's terms and its own.
    pub capabilities: Value,
    /// What is in force.
    pub hooks: InForce,
}

/// The name and version of the host.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ServerInfo {
    /// `hookwire`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Which definitions are in force.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InForce {
    /// Counts the published sets.
    pub generation: u64,
    /// Names the content.
    pub hash: Arc<str>,
    /// How many hooks there are.
    pub hooks: usize,
    /// How many errors and warnings there are; `hooks/check` lists them.
    pub diagnostics: usize,
    /// How changes are noticed.
    pub watching: Watching,
    /// Every event is allowed and no hook runs.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub pass_through: bool,
    /// What follows from what the client has declared, and can hardly be meant.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remarks: Vec<String>,
}

/// `hooks/dispatch`: either a native event, or a payload in a dialect's vocabulary.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(
    dead_code,
    reason = "for the schema: the reading is by hand, for its messages"
)]
pub(crate) enum DispatchParams {
    /// A native event.
    Native(Box<EventShape>),
    /// Another vocabulary.
    Dialect(DialectEvent),
}

/// An event in a dialect's vocabulary.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DialectEvent {
    /// The dialect; the client's own from `initialize` if absent.
    pub dialect: Option<String>,
    /// What a hook of that system would read.
    #[allow(
        dead_code,
        reason = "for the schema: the payload is taken from the params as a whole"
    )]
    pub payload: Value,
    /// How long the whole event may take, in milliseconds.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
}

/// `hooks/answer`: what the command of a coding agent's hook is asked.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerParams {
    /// The agent, by the name that `hookwire install` takes.
    pub agent: String,
    /// The event, for agents that don't name it in what they send.
    #[serde(default)]
    pub event: Option<String>,
    /// If hookwire itself fails, the agent is told nothing; without this, what it is about to do is
    /// denied.
    #[serde(default)]
    pub fails_open: bool,
    /// How long the whole event may take, in milliseconds.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// `false` where no person can be asked where the agent runs, and its payload doesn't say it.
    #[serde(default)]
    pub attended: Option<bool>,
    /// The text on the command's standard input.
    pub sent: String,
}

/// The reply to `hooks/answer`: what the command is to do.
#[derive(Serialize, JsonSchema)]
pub struct AnswerResult {
    /// What it writes to its standard output, if anything.
    pub stdout: String,
    /// What it writes to its standard error, if anything.
    pub stderr: String,
    /// What it exits with.
    pub exit: i32,
}

/// The reply to `hooks/dispatch` in a dialect's vocabulary.
#[derive(JsonSchema)]
#[allow(
    dead_code,
    reason = "for the schema: the writing is by hand, for its speed"
)]
pub(crate) struct DialectReply {
    /// What a hook of that system would have replied.
    reply: Value,
    /// The verdict behind it.
    verdict: Verdict,
}

/// The reply to `guard/begin`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum BeginReply {
    /// The verdict is there: what the command is to do.
    Said(AnswerResult),
    /// The user's own host may be asked about this event. Then `guard/finish` comes on the same
    /// connection.
    Theirs {
        /// The event in hookwire's own vocabulary, with the time that there is for it.
        event: Value,
    },
}

/// `guard/finish`: what the user's own host has said of an event, or why it says nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FinishParams {
    /// Its verdict, as `hooks/dispatch` replies.
    #[serde(default)]
    pub verdict: Option<Value>,
    /// Why there is none.
    #[serde(default)]
    pub problem: Option<String>,
}

// The reply to `hooks/dispatch`: its parts have their descriptions in the schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[allow(
    dead_code,
    reason = "for the schema: the writing is by hand, for its speed"
)]
pub(crate) enum DispatchResult {
    Native(Verdict),
    Translated(DialectReply),
}

/// A hook, for people and programs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookInfo {
    /// Its name.
    pub name: Arc<str>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its events; `*` is every one.
    pub on: Vec<Arc<str>>,
    /// The kind of its handler.
    pub handler: &'static str,
    /// Its dialect.
    pub dialect: &'static str,
    /// Its priority, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// What its failure means.
    pub fail: Fail,
    /// For one run, in milliseconds.
    pub timeout_ms: u64,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Whether it only observes: nothing that it says counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observe: bool,
    /// Started and not waited for.
    pub r#async: bool,
    /// For people and tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Where it is written.
    pub source: Source,
}

impl HookInfo {
    /// Describes a hook.
    pub fn from_hook(hook: &Hook) -> HookInfo {
        HookInfo {
            name: hook.name.clone(),
            description: hook.description.clone(),
            on: hook.on.names(),
            handler: hook.handler.key(),
            dialect: hook.contract.dialect,
            priority: hook.priority,
            fail: hook.fail_at(if hook.on.includes_a_gate() {
                Phase::Gate
            } else {
                Phase::After
            }),
            timeout_ms: millis(hook.timeout),
            enabled: hook.enabled,
            observe: hook.observe,
            r#async: hook.detached,
            tags: hook.tags.clone(),
            source: hook.source.clone(),
        }
    }
}

/// `hooks/list`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListParams {
    /// Only the hooks for this event, by any dialect's name for it; for an unknown name there
    /// are none.
    pub event: Option<String>,
}

/// The reply to `hooks/list`.
#[derive(Serialize, JsonSchema)]
pub struct ListResult {
    /// Which definitions are in force.
    #[serde(flatten)]
    pub in_force: InForceBrief,
    /// In the order in which the client has them run at `event`; without one, in that of an event
    /// that opens something.
    pub hooks: Vec<HookInfo>,
    /// The policies in force, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicyBrief>,
    /// The directories that definitions are read from, outermost first, be they there or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<Directory>,
}

/// A policy in force.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PolicyBrief {
    /// Where it is written.
    pub source: Source,
    /// What it holds, for people: `allows only what 4 rules cover`.
    pub says: String,
}

/// A directory of definitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Directory {
    /// Who vouches for it.
    pub layer: Layer,
    /// Absolute.
    pub path: String,
}

impl Directory {
    /// Describes one.
    pub fn from_dir(dir: &LayerDir) -> Directory {
        Directory {
            layer: dir.layer,
            path: dir.path.to_string_lossy().into_owned(),
        }
    }
}

/// Generation and hash.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InForceBrief {
    /// Counts the published sets.
    pub generation: u64,
    /// Names the content.
    pub hash: Arc<str>,
    /// The generation of the connection's registered hooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_generation: Option<u64>,
}

/// The reply to `hooks/explain`: for each hook whether it would run on the event.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct ExplainResult {
    /// For a shell tool: the commands that its text would run, as conditions see them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<ReadCommand>,
    /// What the call does to files, by whatever means: `reads /p/.env`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acts: Vec<String>,
    /// What the call does but doesn't show, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// Definitions that are not in force as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
    /// For a tool call: what each file's policy says of it before any hook is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policy: Vec<PolicyExplanation>,
    /// The hooks for the event come first, in the order in which its sender has them run.
    pub hooks: Vec<Explanation>,
    /// What keeps definitions of the project out of force until a person trusts them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// The generation of the file definitions that are held against the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// The content hash of those definitions. A verdict with another one was made by others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Arc<str>>,
}

/// A command of a shell text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReadCommand {
    /// Its words as they were read, joined by blanks.
    pub command: String,
    /// Where it begins, in bytes of the text; that of the whole text where it stands nowhere
    /// literally.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// What one rule of a hook says of the event.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RuleExplanation {
    /// `if` or `unless`.
    pub field: Cow<'static, str>,
    /// The rule as written.
    pub rule: String,
    /// Whether it holds; absent: it can't be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// The command, path or word that made or broke the match, or why it can't be told.
    pub why: String,
    /// Why a rule that misses may hold all the same, for something that the call does but doesn't
    /// show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<String>,
}

/// What a policy says of a tool call. Limits are not looked at.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PolicyExplanation {
    /// Where it is written.
    pub source: Source,
    /// Why it denies the call; absent: it doesn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denies: Option<String>,
}

/// Why a hook would or would not run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The hook.
    pub hook: Arc<str>,
    /// Where it is written.
    pub source: Source,
    /// Whether it would run.
    pub applies: bool,
    /// The first test that keeps it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_out_by: Option<Miss>,
    /// Why its condition can be neither held nor refuted; it runs all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opaque: Option<String>,
    /// What it decides when it runs, if that is always the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// An `unless` for the hook with which it would let this call pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// Whether it only observes: what it decides doesn't count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observe: bool,
    /// What each rule of `if` and `unless` says by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleExplanation>,
}

/// `hooks/check`: a text, or nothing for the files that are loaded.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CheckParams {
    /// The text of a definition file.
    pub text: Option<String>,
    /// Its name; the extension tells the format. `hooks.yaml` if absent.
    pub file: Option<String>,
}

/// The reply to `hooks/check`.
#[derive(Serialize, JsonSchema)]
pub struct CheckResult {
    /// Everything that is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// The reply to `hooks/reload`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReloadResult {
    /// The generation in force.
    pub generation: u64,
    /// The hash in force.
    pub hash: Arc<str>,
    /// Everything that is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// `hooks/recent`: the events that were judged last, from all connections.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RecentParams {
    /// At most so many of them. With 0, the reply is only what the host says of itself: no hooks
    /// and tools either.
    pub limit: Option<usize>,
    /// Only those of this name, in any dialect.
    pub event: Option<String>,
    /// Only those after the one of this number.
    pub after: u64,
}

/// The reply to `hooks/recent`, as a [`Recent`] that owns what it needs.
pub(crate) struct RecentReply {
    pub(crate) excerpt: Excerpt,
    pub(crate) root: String,
    pub(crate) published: Published,
    pub(crate) clients: Vec<Arc<str>>,
}

impl Serialize for RecentReply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let clients = self
            .clients
            .iter()
            .map(|name| Cow::Borrowed(&**name))
            .collect();
        let hooks = &self.published.hooks;
        let reply = self
            .excerpt
            .reply(&self.root, hooks.generation, &hooks.hash);
        let canaries = self.published.canaries().map(Cow::Borrowed);
        Recent {
            clients,
            canaries,
            ..reply
        }
        .serialize(serializer)
    }
}

impl JsonSchema for RecentReply {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RecentReply".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Recent<'static>>()
    }
}

/// The reply to `host/unasked`.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct UnaskedReply {
    /// The agents that have made calls in the last day where they were started in the project.
    pub agents: Vec<UnaskedCalls>,
}

/// `hooks/register`: hooks as in a definition file; `callback: ID` names a function of the client.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "for the schema: read as a definition file is")]
pub struct RegisterParams {
    /// As `hooks` in a definition file.
    pub hooks: Vec<Value>,
    /// As `defaults` in a definition file.
    #[serde(default)]
    pub defaults: Option<Value>,
    /// As `dialect` in a definition file.
    #[serde(default)]
    pub dialect: Option<String>,
}

/// The reply to `hooks/register` and `hooks/unregister`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisterResult {
    /// The generation of the connection's registered hooks.
    pub session_generation: u64,
    /// The names of all hooks that the connection has registered.
    pub registered: Vec<Arc<str>>,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// `hooks/unregister`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnregisterParams {
    /// The names of the hooks.
    pub names: Vec<String>,
}

/// `state/get` and `state/delete`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StateKey {
    /// The key, of 1 to 512 bytes.
    pub key: String,
    /// The session; absent: the values that everybody shares.
    #[serde(default)]
    pub session: Option<String>,
}

/// `state/set`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StateSet {
    /// The key, of 1 to 512 bytes.
    pub key: String,
    /// The session; absent: the values that everybody shares.
    #[serde(default)]
    pub session: Option<String>,
    /// The new value, up to 256 KiB.
    #[serde(deserialize_with = "hookwire_base::verdict::any")]
    pub value: Value,
    /// How long it is kept, in milliseconds; absent: for good.
    #[serde(default)]
    pub ttl_ms: Option<u64>,
}

/// `state/compareAndSet`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StateCompareAndSet {
    /// The key, of 1 to 512 bytes.
    pub key: String,
    /// The session; absent: the values that everybody shares.
    #[serde(default)]
    pub session: Option<String>,
    /// The value that must be there; absent: none.
    #[serde(default, deserialize_with = "hookwire_base::verdict::present")]
    pub expected: Option<Value>,
    /// The new value.
    #[serde(deserialize_with = "hookwire_base::verdict::any")]
    pub value: Value,
    /// How long it is kept, in milliseconds; absent: for good.
    #[serde(default)]
    pub ttl_ms: Option<u64>,
}

/// `state/increment`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StateIncrement {
    /// The key, of 1 to 512 bytes.
    pub key: String,
    /// The session; absent: the values that everybody shares.
    #[serde(default)]
    pub session: Option<String>,
    /// What to add; 1 if absent.
    #[serde(default)]
    pub by: Option<serde_json::Number>,
    /// How long a new number is kept, in milliseconds; absent: for good. One that is there keeps
    /// its own time.
    #[serde(default)]
    pub ttl_ms: Option<u64>,
    /// The run of a hook that counts. An event counts once, also where a rewrite makes the hook
    /// judge it again.
    #[serde(default)]
    pub occasion: Option<StateOccasion>,
}

/// One run of a hook about an event, as its environment names them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StateOccasion {
    /// The event: `HOOKWIRE_EVENT_ID`.
    pub event: String,
    /// The hook's name: `HOOKWIRE_HOOK`.
    pub hook: String,
    /// The run: `HOOKWIRE_CALL_ID`.
    pub run: String,
}

/// `state/list`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StateList {
    /// The session; absent: the values that everybody shares.
    pub session: Option<String>,
    /// What the keys start with.
    pub prefix: String,
    /// At most so many; 1,000 if absent.
    pub limit: Option<usize>,
}

/// The reply to `state/get`, `state/increment` and `state/compareAndSet`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StateValue {
    /// The value that is there now; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Whether `state/compareAndSet` has set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<bool>,
}

/// The reply to `state/delete`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StateDeleted {
    /// Whether there was a value.
    pub deleted: bool,
}

/// The reply to `state/list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StateItems {
    /// In order of the keys.
    pub items: Vec<Item>,
}

/// The reply to `approvals/list`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalList {
    /// The project root of the host.
    pub root: String,
    /// The questions that wait, oldest first.
    pub approvals: Vec<ApprovalRequest>,
}

/// `approvals/answer`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalAnswer {
    /// The question.
    pub id: String,
    /// What a person says to it.
    pub reply: ApprovalReply,
}

/// `approvals/always`: what an answer for always to this question would be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalNamed {
    /// The question.
    pub id: String,
}

/// `programs/have`: the client asks about programs that start by these definitions from now on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Have {
    /// The generation of `programs/named` or `programs/changed`.
    pub generation: u64,
}

/// `tools/callable`: which tools may be called at all.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallableParams {
    /// Their names, as events have them.
    pub tools: Vec<String>,
    /// The agent's name.
    #[serde(default)]
    pub agent: Option<String>,
}

/// `$/cancelRequest`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "an object with `id`")]
pub struct CancelParams {
    /// The id of the request.
    #[schemars(with = "Value")]
    pub id: Box<RawValue>,
}

/// `$/setTrace`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "an object with `value`")]
pub struct SetTraceParams {
    /// `off`, `messages` or `verbose`.
    pub value: Trace,
}

/// How much of the traffic is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trace {
    /// Nothing.
    #[default]
    Off,
    /// Method and id of every message.
    Messages,
    /// The same, and how long it took.
    Verbose,
}
