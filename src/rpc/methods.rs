//! The method table: one line a method, one short function each.
//!
//! A synchronous method runs on the reader, before the next message is read: registration and
//! reload take effect in the order in which they arrive. An asynchronous one is polled once on the
//! reader, which fixes its hook set in that order too, and goes on elsewhere if it has to wait.

use super::protocol::{
    ApprovalAnswer, ApprovalList, CheckParams, CheckResult, DialectEvent, DialectReply, ExplainResult, Explanation,
    HookInfo, InForce, InForceBrief, InitializeParams, InitializeResult, ListParams, ListResult, PolicyExplanation,
    RecentParams, RegisterResult, ReloadResult, ServerInfo, StateCompareAndSet, StateDeleted, StateIncrement,
    StateItems, StateKey, StateList, StateSet, StateValue, UnregisterParams, code,
};
use super::session::Session;
use crate::definitions;
use crate::definitions::compile::{Origin, compile};
use crate::dialects::{self, Dialect};
use crate::engine::{Honours, HooksInForce, Question};
use crate::event::{Event, Phase};
use crate::hook::Hook;
use crate::hook_set::HookSet;
use crate::lsp;
use crate::matching::Facts;
use crate::policy::{self, Policy};
use crate::services::state::{Scope, StateError};
use crate::support::file::read_named;
use crate::support::nearest::closest;
use crate::syntax::diagnostic::{Diagnostic, LineIndex, Severity};
use crate::syntax::node::{Node, NodeValue, decode};
use crate::syntax::problem::place;
use crate::syntax::source::Layer;
use crate::verdict::Verdict;
use jsonrpsee::RpcModule;
use jsonrpsee::core::RegisterMethodError;
use jsonrpsee_types::{ErrorObjectOwned, Params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Every request and notification that clients may send, for documentation and suggestions.
pub const METHODS: [&str; 22] = [
    "initialize",
    "initialized",
    "shutdown",
    "exit",
    "$/cancelRequest",
    "$/setTrace",
    "hooks/dispatch",
    "hooks/list",
    "hooks/explain",
    "hooks/check",
    "hooks/reload",
    "hooks/recent",
    "hooks/register",
    "hooks/unregister",
    "state/get",
    "state/set",
    "state/increment",
    "state/compareAndSet",
    "state/delete",
    "state/list",
    "approvals/list",
    "approvals/answer",
];

/// Those of them that are notifications only.
pub const NOTIFICATIONS: [&str; 4] = ["initialized", "exit", "$/cancelRequest", "$/setTrace"];

/// A result or the error object that the client gets.
pub type Reply<T> = Result<T, RpcError>;

/// Why a request can't be served.
#[derive(Debug)]
pub struct RpcError {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl RpcError {
    /// The params are not what the method takes.
    pub fn params(message: impl std::fmt::Display) -> RpcError {
        RpcError { code: -32602, message: format!("invalid params: {message}"), data: None }
    }

    /// The store can't do it.
    fn state(error: StateError) -> RpcError {
        RpcError { code: code::STATE, message: format!("failed to {error}"), data: None }
    }

    /// The request can't be served now.
    pub fn request(message: impl std::fmt::Display) -> RpcError {
        RpcError { code: -32600, message: format!("invalid request: {message}"), data: None }
    }
}

impl From<lsp::Refusal> for RpcError {
    fn from(refusal: lsp::Refusal) -> Self {
        let (code, message) = match refusal {
            lsp::Refusal::Params(problem) => return RpcError::params(problem),
            lsp::Refusal::Stale => (code::CONTENT_MODIFIED, "the documents have changed since".into()),
            lsp::Refusal::Failed(problem) => (code::REQUEST_FAILED, problem),
        };
        RpcError { code, message, data: None }
    }
}

impl From<RpcError> for ErrorObjectOwned {
    fn from(error: RpcError) -> Self {
        ErrorObjectOwned::owned(error.code, error.message, error.data)
    }
}

/// Results are serialised here, so that a type needs no more than `Serialize`.
fn value(result: impl Serialize) -> Reply<Box<RawValue>> {
    to_raw_value(&result).map_err(|error| RpcError { code: -32603, message: error.to_string(), data: None })
}

/// The router.
///
/// # Errors
/// A method is there twice: a bug.
pub fn router(session: Arc<Session>) -> Result<RpcModule<Session>, RegisterMethodError> {
    let mut router = RpcModule::from_arc(session);
    router.register_method("initialize", |params, session, _| initialize(&params, session))?;
    router.register_method("shutdown", |_, session, _| {
        session.shut_down();
        Value::Null
    })?;
    router.register_async_method(
        "hooks/dispatch",
        |params, session, _| async move { dispatch(&params, &session).await },
    )?;
    router.register_method("hooks/list", |params, session, _| list(&params, session).and_then(value))?;
    router.register_method("hooks/explain", |params, session, _| explain(&params, session).and_then(value))?;
    router.register_method("hooks/check", |params, session, _| check(&params, session).and_then(value))?;
    router.register_method("hooks/reload", |_, session, _| value(reload(session)))?;
    router.register_method("hooks/recent", |params, session, _| recent(&params, session))?;
    router.register_method("hooks/register", |params, session, _| register(&params, session).and_then(value))?;
    router.register_method("hooks/unregister", |params, session, _| unregister(&params, session).and_then(value))?;
    router.register_method("state/get", |params, session, _| state_get(&params, session).and_then(value))?;
    router
        .register_async_method("state/set", |params, session, _| async move { state_set(&params, &session).await })?;
    router.register_async_method("state/increment", |params, session, _| async move {
        state_increment(&params, &session).await
    })?;
    router.register_async_method("state/compareAndSet", |params, session, _| async move {
        state_compare_and_set(&params, &session).await
    })?;
    router.register_async_method("state/delete", |params, session, _| async move {
        state_delete(&params, &session).await
    })?;
    router.register_method("state/list", |params, session, _| state_list(&params, session).and_then(value))?;
    router.register_method("approvals/list", |_, session, _| value(approvals_list(session)))?;
    router
        .register_method("approvals/answer", |params, session, _| approvals_answer(&params, session).and_then(value))?;
    for (name, notice) in lsp::NOTICES {
        router.register_method(name, move |params, session, _| {
            let server = session.editor()?;
            notice(server, read(&params)?).map(|()| Value::Null).map_err(RpcError::from)
        })?;
    }
    for (name, query) in lsp::QUERIES {
        router.register_async_method(name, move |params, session, _| async move {
            let snapshot = session.editor()?.snapshot();
            snapshot.answer(*query, read(&params)?).await.map_err(RpcError::from)
        })?;
    }
    router.register_async_method("workspace/executeCommand", |params, session, _| async move {
        let snapshot = session.editor()?.snapshot();
        lsp::commands::execute(snapshot, read(&params)?).await.map_err(RpcError::from)
    })?;
    Ok(router)
}

/// The params as a value: strict JSON, and a list of one is the one.
fn read(params: &Params<'_>) -> Reply<Value> {
    let Some(text) = params.as_str() else { return Ok(Value::Object(Map::new())) };
    match crate::support::json::parse(text).map_err(RpcError::params)? {
        Value::Array(mut items) => match items.len() {
            0 => Ok(Value::Object(Map::new())),
            1 => Ok(items.remove(0)),
            n => Err(RpcError::params(format!("`params` is one object, found a list of {n}"))),
        },
        Value::Null => Ok(Value::Object(Map::new())),
        other => Ok(other),
    }
}

fn typed<T: DeserializeOwned>(params: &Params<'_>) -> Reply<T> {
    decode_value(&read(params)?)
}

/// As definitions are read: a mistake is told with the field that it is in.
fn decode_value<T: DeserializeOwned>(value: &Value) -> Reply<T> {
    decode(&Node::from_json(value)).map_err(|error| {
        let place = Some(&error.path).filter(|it| !it.is_empty()).map(|it| format!("`{it}`: ")).unwrap_or_default();
        RpcError::params(format!("{place}{}{}", error.message, did_you_mean(error.suggestion.as_deref())))
    })
}

pub(super) fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default()
}

fn initialize(params: &Params<'_>, session: &Session) -> Reply<Box<RawValue>> {
    let given = read(params)?;
    let params: InitializeParams = decode_value(&given)?;
    let capabilities = params.capabilities.hooks.or(params.capabilities.experimental.and_then(|it| it.hooks));
    let editor = lsp::is_editor(&given).then(|| session.language_server(&given)).transpose()?;
    let is_agent = capabilities.is_some();
    session.initialize(capabilities)?;
    let mut features = json!({ "positionEncoding": "utf-16" });
    if let Some(server) = editor {
        features = lsp::capabilities(&server);
        session.serve_editor(server, is_agent);
    }
    features["hooks"] = json!({
        "dialects": dialects::DIALECTS.iter().map(|it| it.name()).collect::<Vec<_>>(),
        "handlers": crate::handlers::KINDS.iter().map(|it| it.key).collect::<Vec<_>>(),
    });
    let published = session.host.published();
    value(InitializeResult {
        server_info: ServerInfo { name: "hookwire".into(), version: env!("CARGO_PKG_VERSION").into() },
        capabilities: features,
        hooks: InForce {
            generation: published.hooks.generation,
            hash: published.hooks.hash.clone(),
            hooks: published.hooks.hooks.len(),
            diagnostics: published.diagnostics.len(),
            watching: session.host.watching(),
            pass_through: session.host.interceptor.is_pass_through(),
        },
    })
}

/// An event as it was sent: native, or in a dialect's words.
fn event(mut params: Value, session: &Session) -> Reply<(Event, &'static Dialect)> {
    let is_native = params.get("event").is_some() && params.get("payload").is_none();
    if is_native || (params.get("payload").is_none() && params.get("dialect").is_none()) {
        let event = Event::from_json(params).map_err(RpcError::params)?;
        return Ok((event, dialects::native()));
    }
    // A payload may be large: it is moved past the check of its neighbours.
    let payload = params.get_mut("payload").map(Value::take).unwrap_or_default();
    let DialectEvent { dialect, payload: _, deadline_ms } = decode_value(&params)?;
    let dialect = match dialect {
        Some(name) => dialects::by_name(&name).map_err(RpcError::params)?,
        None => session.dialect(),
    };
    let mut event = dialect.read(payload).map_err(RpcError::params)?;
    if let Some(deadline) = deadline_ms {
        event.data["deadlineMs"] = deadline.into();
    }
    Ok((event, dialect))
}

async fn dispatch(params: &Params<'_>, session: &Session) -> Reply<Box<RawValue>> {
    let (event, dialect) = event(read(params)?, session)?;
    let event = Arc::new(event);
    let verdict = judge(event.clone(), dialect, session).await;
    let replied = value(&verdict)?;
    let sent = params.as_str().unwrap_or_default();
    session.host.journal.write(&event, dialect.name(), sent, &verdict, replied.get());
    if dialect.name() == dialects::NATIVE {
        return Ok(replied);
    }
    value(DialectReply { reply: (dialect.reply)(&event, &verdict), verdict: replied })
}

async fn judge(event: Arc<Event>, dialect: &'static Dialect, session: &Session) -> Verdict {
    let mut honours = session.honours();
    if let Some(row) = dialect.row(&event.name) {
        honours = Honours::from_contract(&dialect.contract, honours.rewrite && row.rewrites);
    }
    let question = Question {
        event,
        hooks: in_force(session),
        contract: &dialect.contract,
        honours,
        client: session.as_client(),
        early_deadline: session.early_deadline.clone(),
    };
    session.host.interceptor.intercept(question).await
}

fn in_force(session: &Session) -> HooksInForce {
    HooksInForce { files: session.host.hooks(), session: session.registered().set.clone() }
}

fn list(params: &Params<'_>, session: &Session) -> Reply<ListResult> {
    let ListParams { event } = typed(params)?;
    // For an event that nobody knows there is no hook.
    let events = event.map(|name| dialects::canonical(&name, session.dialect().name()).unwrap_or_default());
    let is_asked =
        |hook: &&Arc<Hook>| events.as_ref().is_none_or(|events| events.iter().any(|event| hook.on.includes(event)));
    let hooks = in_force(session);
    let registered = hooks.session.iter().flat_map(|set| &set.hooks);
    Ok(ListResult {
        in_force: InForceBrief {
            generation: hooks.files.generation,
            hash: hooks.files.hash.clone(),
            session_generation: hooks.session.as_ref().map(|set| set.generation),
        },
        hooks: hooks.files.hooks.iter().chain(registered).filter(is_asked).map(|hook| info(hook)).collect(),
    })
}

/// A hook as `list` tells it.
pub fn info(hook: &Hook) -> HookInfo {
    HookInfo {
        name: hook.name.clone(),
        description: hook.description.clone(),
        on: hook.on.names(),
        handler: hook.handler.key(),
        dialect: hook.contract.dialect,
        priority: hook.priority,
        fail: hook.fail_at(if hook.on.includes_a_gate() { Phase::Gate } else { Phase::After }),
        timeout_ms: u64::try_from(hook.timeout.as_millis()).unwrap_or(u64::MAX),
        enabled: hook.enabled,
        r#async: hook.detached,
        tags: hook.tags.clone(),
        source: hook.source.clone(),
    }
}

fn explain(params: &Params<'_>, session: &Session) -> Reply<ExplainResult> {
    let (event, _) = event(read(params)?, session)?;
    let hooks = in_force(session);
    let registered = hooks.session.iter().flat_map(|set| &set.hooks);
    let facts = Facts::new(Arc::new(event), &session.host.engine.services.root);
    Ok(explain_all(hooks.files.hooks.iter().chain(registered), &hooks.files.policies, &facts))
}

/// The same code as selection, told for each hook.
pub fn explain_all<'a>(
    hooks: impl Iterator<Item = &'a Arc<Hook>>,
    policies: &[Arc<Policy>],
    facts: &Facts,
) -> ExplainResult {
    let explain = |hook: &Arc<Hook>| {
        let (applies, kept_out_by, opaque) = match hook.applies(facts) {
            Ok(opaque) => (true, None, opaque.map(|it| it.to_string())),
            Err(failed) => (false, Some(hook.miss(failed, &facts.event)), None),
        };
        Explanation { hook: hook.name.clone(), source: hook.source.clone(), applies, kept_out_by, opaque }
    };
    let policies = policies.iter().filter(|_| policy::is_tool_request(&facts.event));
    let policy = policies
        .map(|policy| PolicyExplanation { source: policy.source.clone(), denies: policy.refusal(facts) })
        .collect();
    ExplainResult { policy, hooks: hooks.map(explain).collect() }
}

fn check(params: &Params<'_>, session: &Session) -> Reply<CheckResult> {
    let CheckParams { text, file } = typed(params)?;
    Ok(CheckResult {
        diagnostics: match text {
            Some(text) => {
                definitions::check::check(file.as_deref().unwrap_or("hooks.yaml"), &text, Layer::Hooks).diagnostics
            }
            None => session.host.published().diagnostics.to_vec(),
        },
    })
}

fn reload(session: &Session) -> ReloadResult {
    let published = session.host.reload();
    ReloadResult {
        generation: published.hooks.generation,
        hash: published.hooks.hash.clone(),
        diagnostics: published.diagnostics.to_vec(),
    }
}

fn recent(params: &Params<'_>, session: &Session) -> Reply<Box<RawValue>> {
    let RecentParams { limit, event, after } = typed(params)?;
    let events = event.map(|name| dialects::canonical(&name, session.dialect().name()).unwrap_or_default());
    let is_asked = |name: &str| events.as_ref().is_none_or(|events| events.iter().any(|event| **event == *name));
    let excerpt = session.host.journal.excerpt(after, limit.unwrap_or(usize::MAX), is_asked);
    let hooks = session.host.hooks();
    value(excerpt.reply(&session.host.root().to_string_lossy(), hooks.generation, &hooks.hash))
}

/// Hooks that one connection may register.
const MAX_REGISTERED: usize = 10_000;

fn register(params: &Params<'_>, session: &Session) -> Reply<RegisterResult> {
    let text = params.as_str().unwrap_or("{}").to_string();
    let root = Node::from_json(&read(params)?);
    let client = session.as_client();
    let origin = Origin {
        file: "session",
        dir: session.host.root(),
        layer: Layer::Session,
        client: client.as_ref(),
        read: &read_named,
    };
    let lines = LineIndex::new(&text);
    let compiled = compile(&root, &origin, &lines);
    let diagnostics: Vec<_> = compiled.problems.iter().map(|problem| place("session", problem, &lines)).collect();
    if let Some(error) = diagnostics.iter().find(|it| it.severity == Severity::Error) {
        // All or nothing: a client that is told "registered" must not lack its guard.
        let hook = error.hook.as_deref().map(|hook| format!("hook `{hook}`: ")).unwrap_or_default();
        let help = error.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
        let mut refusal = RpcError::params(format!("{hook}{}{help}", error.message));
        refusal.data = serde_json::to_value(json!({ "diagnostics": diagnostics })).ok();
        return Err(refusal);
    }
    if compiled.policy.is_some() {
        return Err(RpcError::params("`policy`: it is written in a definition file, not registered"));
    }
    let mut new: Vec<_> = compiled.hooks.into_iter().filter_map(|it| it.hook).collect();
    session.may_register(&new)?;
    if new.is_empty() {
        return Err(RpcError::params("`hooks` is missing or empty; it is a list of hooks as in a definition file"));
    }
    let mut registered = session.registered();
    // A hook that wasn't named adds to those that weren't either.
    for n in 0..new.len() {
        let is_taken = |name: &str| registered.hooks.iter().chain(&new[..n]).any(|hook| *hook.name == *name);
        let name = new[n].name.clone();
        if is_taken(&name) && !is_said(&root, &name) {
            let stem = name.rsplit_once('#').map_or(&*name, |(stem, _)| stem);
            let free = (1..=MAX_REGISTERED + new.len()).map(|n| format!("{stem}#{n}")).find(|name| !is_taken(name));
            if let (Some(free), Some(hook)) = (free, Arc::get_mut(&mut new[n])) {
                hook.name = free.into();
            }
        }
    }
    let names: Vec<_> = new.iter().map(|hook| hook.name.clone()).collect();
    // A name that is registered again replaces the hook that had it.
    registered.hooks.retain(|hook| !names.contains(&hook.name));
    if registered.hooks.len() + new.len() > MAX_REGISTERED {
        let message = format!("`hooks`: a connection registers at most {MAX_REGISTERED} hooks; unregister some first");
        return Err(RpcError::params(message));
    }
    registered.hooks.extend(new);
    Ok(publish(&mut registered, diagnostics))
}

/// Whether a client has written this as somebody's `name`. Recursion is bounded by the parser's depth
/// limit.
fn is_said(node: &Node, name: &str) -> bool {
    match &node.value {
        NodeValue::Seq(items) => items.iter().any(|item| is_said(item, name)),
        NodeValue::Map(entries) => entries.iter().any(|entry| match &entry.value.value {
            NodeValue::String(said) => entry.key == "name" && said == name,
            _ => is_said(&entry.value, name),
        }),
        _ => false,
    }
}

fn unregister(params: &Params<'_>, session: &Session) -> Reply<RegisterResult> {
    let UnregisterParams { names } = typed(params)?;
    let mut registered = session.registered();
    if let Some(unknown) = names.iter().find(|name| !registered.hooks.iter().any(|hook| *hook.name == ***name)) {
        let nearest = closest(unknown, registered.hooks.iter().map(|hook| &*hook.name));
        let nearest = did_you_mean(nearest);
        return Err(RpcError::params(format!("`names`: this connection has registered no hook `{unknown}`{nearest}")));
    }
    registered.hooks.retain(|hook| !names.iter().any(|name| **name == *hook.name));
    Ok(publish(&mut registered, Vec::new()))
}

fn publish(registered: &mut super::session::Registered, diagnostics: Vec<Diagnostic>) -> RegisterResult {
    let generation = registered.set.as_ref().map_or(1, |set| set.generation + 1);
    registered.set = Some(Arc::new(HookSet::new(registered.hooks.clone(), generation, "session".into(), Vec::new())));
    RegisterResult {
        session_generation: generation,
        registered: registered.hooks.iter().map(|hook| hook.name.clone()).collect(),
        diagnostics,
    }
}

fn state_get(params: &Params<'_>, session: &Session) -> Reply<StateValue> {
    let StateKey { key, session: of } = typed(params)?;
    Ok(StateValue { value: session.state().get(&Scope::of(of.as_deref()), &key), set: None })
}

/// Changes are made while the message is read, so that they take effect in order; the reply waits
/// until they are saved.
async fn state_set(params: &Params<'_>, session: &Session) -> Reply<Box<RawValue>> {
    let StateSet { key, session: of, value: new, ttl_ms } = typed(params)?;
    session.state().set(&Scope::of(of.as_deref()), &key, new, ttl(ttl_ms)).map_err(RpcError::state)?;
    session.state().saved().await.map_err(RpcError::state)?;
    value(())
}

async fn state_increment(params: &Params<'_>, session: &Session) -> Reply<Box<RawValue>> {
    let StateIncrement { key, session: of, by, ttl_ms } = typed(params)?;
    let by = by.unwrap_or(1.into());
    let sum = session.state().increment(&Scope::of(of.as_deref()), &key, &by, ttl(ttl_ms));
    let sum = sum.map_err(RpcError::state)?;
    session.state().saved().await.map_err(RpcError::state)?;
    value(StateValue { value: Some(Value::Number(sum)), set: None })
}

async fn state_compare_and_set(params: &Params<'_>, session: &Session) -> Reply<Box<RawValue>> {
    let StateCompareAndSet { key, session: of, expected, value: new, ttl_ms } = typed(params)?;
    let scope = Scope::of(of.as_deref());
    let result = session.state().compare_and_set(&scope, &key, expected.as_ref(), new, ttl(ttl_ms));
    let (set, present) = result.map_err(RpcError::state)?;
    session.state().saved().await.map_err(RpcError::state)?;
    value(StateValue { value: present, set: Some(set) })
}

async fn state_delete(params: &Params<'_>, session: &Session) -> Reply<Box<RawValue>> {
    let StateKey { key, session: of } = typed(params)?;
    let deleted = session.state().delete(&Scope::of(of.as_deref()), &key);
    session.state().saved().await.map_err(RpcError::state)?;
    value(StateDeleted { deleted })
}

/// Values that one `state/list` gives where it doesn't say.
const LISTED: usize = 1000;

fn state_list(params: &Params<'_>, session: &Session) -> Reply<StateItems> {
    let StateList { session: of, prefix, limit } = typed(params)?;
    Ok(StateItems { items: session.state().list(&Scope::of(of.as_deref()), &prefix, limit.unwrap_or(LISTED)) })
}

fn ttl(ttl_ms: Option<u64>) -> Option<Duration> {
    ttl_ms.map(Duration::from_millis)
}

fn approvals_list(session: &Session) -> ApprovalList {
    ApprovalList {
        root: session.host.root().to_string_lossy().into_owned(),
        approvals: session.host.engine.services.approvals.list(),
    }
}

fn approvals_answer(params: &Params<'_>, session: &Session) -> Reply<()> {
    let ApprovalAnswer { id, reply } = typed(params)?;
    session
        .host
        .engine
        .services
        .approvals
        .answer(&id, reply)
        .map_err(|error| RpcError::params(format!("`id`: {error}")))
}
