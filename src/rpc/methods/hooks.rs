//! The definitions themselves: `hooks/list`, `hooks/check`, `hooks/reload`, `hooks/register` and
//! `hooks/unregister`.

use crate::rpc::aside::run_aside;
use crate::rpc::error::{RpcError, RpcResult};
use crate::rpc::protocol::{
    CallableParams, CheckParams, CheckResult, Directory, HookInfo, InForceBrief, ListParams,
    ListResult, PolicyBrief, RegisterResult, ReloadResult, UnregisterParams,
};
use crate::rpc::session::{Registered, Session};
use hookwire_base::support::file::read_named;
use hookwire_base::support::nearest::{closest, did_you_mean};
use hookwire_base::syntax::diagnostic::{Diagnostic, LineIndex, Severity};
use hookwire_base::syntax::node::{Node, NodeValue};
use hookwire_base::syntax::source::Layer;
use hookwire_dialects as dialects;
use hookwire_engine::callable::{self, CallableTools};
use hookwire_engine::definitions;
use hookwire_engine::definitions::compile::compile;
use hookwire_engine::definitions::origin::Origin;
use hookwire_engine::engine::{self, Engine, HooksInForce};
use hookwire_engine::hook_set::HookSet;
use hookwire_handlers::handlers::{Means, Obstacle};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) async fn callable(
    session: &Session,
    CallableParams { tools, agent }: CallableParams,
) -> RpcResult<CallableTools> {
    let HooksInForce {
        files,
        session: registered,
    } = session.hooks_when_read().await;
    let engine = &session.host.engine;
    let (generation, root) = (files.generation, engine.services.root.clone());
    let sort = move || {
        let sets = || std::iter::once(&*files).chain(registered.as_deref());
        let may_be_called = |tool: &String| {
            // What is no event can't be judged, so it may not pass either.
            callable::call_of(tool, agent.as_deref())
                .is_ok_and(|call| callable::is_callable(sets(), call, &root))
        };
        tools.into_iter().filter(may_be_called).collect()
    };
    let callable = engine.aside(Engine::LONGEST, sort).await;
    let callable = callable.ok_or_else(|| {
        RpcError::internal("it took too long to hold the hooks against the tools")
    })?;
    Ok(CallableTools {
        generation,
        callable,
    })
}

pub(super) async fn list(
    session: &Session,
    ListParams { event }: ListParams,
) -> RpcResult<ListResult> {
    let hooks = session.hooks_when_read().await;
    let registered = hooks.session.iter().flat_map(|set| &set.hooks);
    let all = hooks.files.hooks.iter().chain(registered);
    let client = session.dialect();
    // There is no hook for an event that no dialect knows.
    let events =
        event.map(|name| dialects::canonical_names(&name, client.name()).unwrap_or_default());
    // Several moments by one name: the first one stands for them.
    let event = events
        .as_ref()
        .and_then(|events| events.first())
        .map(|it| &**it);
    let listed = engine::in_running_order(
        all.filter(|hook| {
            events
                .as_ref()
                .is_none_or(|events| events.iter().any(|event| hook.on.includes(event)))
        }),
        event,
        &client.contract,
    );
    Ok(ListResult {
        in_force: InForceBrief {
            generation: hooks.files.generation,
            hash: hooks.files.hash.clone(),
            session_generation: hooks.session.as_ref().map(|set| set.generation),
        },
        hooks: listed
            .iter()
            .map(|hook| HookInfo::from_hook(hook))
            .collect(),
        policies: hooks
            .files
            .policies
            .iter()
            .map(|policy| PolicyBrief {
                source: policy.source.clone(),
                says: policy.told(),
            })
            .collect(),
        directories: session
            .host
            .dirs()
            .iter()
            .map(Directory::from_dir)
            .collect(),
    })
}

pub(super) async fn check(
    session: &Session,
    CheckParams { text, file }: CheckParams,
) -> RpcResult<CheckResult> {
    let (file, means) = (file.as_deref().unwrap_or("hooks.yaml"), session.means());
    let check = |text: &str| definitions::check::check(file, text, Layer::Hooks, Some(&means));
    Ok(CheckResult {
        diagnostics: match text {
            Some(text) if text.len() <= QUICK_TEXT => check(&text).diagnostics,
            Some(text) => run_aside(async { check(&text).diagnostics }).await,
            None => {
                session.hooks_when_read().await;
                session
                    .host
                    .published()
                    .diagnostics
                    .iter()
                    .cloned()
                    .collect()
            }
        },
    })
}

pub(super) async fn reload(session: &Session) -> RpcResult<ReloadResult> {
    session
        .change_definitions(|session| {
            let published = session.host.reload();
            Ok(ReloadResult {
                generation: published.hooks.generation,
                hash: published.hooks.hash.clone(),
                diagnostics: published.diagnostics.iter().cloned().collect(),
            })
        })
        .await
}

/// Definitions up to this length, in bytes, are compiled at once.
const QUICK_TEXT: usize = 4096;
/// As many hooks are registered at once.
const QUICK_HOOKS: usize = 4;

/// Up to as many hooks of one request may have an interpreter asked for their modules.
const MAX_ASKED: usize = 32;

/// Hooks that one connection may register.
const MAX_REGISTERED: usize = 10_000;

pub(super) async fn register(session: &Session, sent: Value) -> RpcResult<RegisterResult> {
    let n_hooks = sent["hooks"].as_array().map_or(1, Vec::len);
    // Only an interpreter knows which modules it has.
    let may_start = n_hooks <= MAX_ASKED && names_module(&sent);
    let mut left = QUICK_TEXT;
    if n_hooks <= QUICK_HOOKS && takes_from(&sent, &mut left) && !may_start && session.is_settled()
    {
        return register_now(session, &sent, false);
    }
    session
        .change_definitions(move |session| register_now(session, &sent, may_start))
        .await
}

/// Whether a definition has no more bytes than these, each value for one at least. Recursion is
/// bounded by the parser's depth limit.
fn takes_from(sent: &Value, left: &mut usize) -> bool {
    let takes =
        |bytes: usize, left: &mut usize| left.checked_sub(bytes + 1).map(|it| *left = it).is_some();
    match sent {
        Value::Object(members) => members
            .iter()
            .all(|(key, value)| takes(key.len(), left) && takes_from(value, left)),
        Value::Array(items) => items.iter().all(|item| takes_from(item, left)),
        Value::String(text) => takes(text.len(), left),
        Value::Null | Value::Bool(_) | Value::Number(_) => takes(0, left),
    }
}

/// Whether a definition names a module of Python. Recursion is bounded by the parser's depth limit.
fn names_module(sent: &Value) -> bool {
    match sent {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| key == "python" || key == "import_path" || names_module(value)),
        Value::Array(items) => items.iter().any(names_module),
        _ => false,
    }
}

fn register_now(session: &Session, sent: &Value, may_start: bool) -> RpcResult<RegisterResult> {
    let root = Node::from_json(sent);
    let client = session.as_client();
    let means = Means {
        may_start,
        ..session.means()
    };
    let origin = Origin {
        client: client.as_ref(),
        means: Some(&means),
        ..Origin::new("session", session.host.root(), Layer::Session, &read_named)
    };
    // JSON off the wire has no places: every problem is at the beginning.
    let lines = LineIndex::new("");
    let compiled = compile(&root, &origin, &lines);
    let diagnostics: Vec<_> = compiled
        .problems
        .iter()
        .map(|problem| problem.to_diagnostic("session", &lines))
        .collect();
    if let Some(error) = diagnostics.iter().find(|diagnostic| {
        diagnostic.severity == Severity::Error || diagnostic.code == Obstacle::UNREACHABLE
    }) {
        // All or nothing: a client that is told "registered" must not lack its guard.
        let hook = error
            .hook
            .as_deref()
            .map(|hook| format!("hook `{hook}`: "))
            .unwrap_or_default();
        let help = error
            .help
            .as_deref()
            .map(|help| format!(" ({help})"))
            .unwrap_or_default();
        let mut refusal = RpcError::params(format!("{hook}{}{help}", error.message));
        refusal.data = serde_json::to_value(json!({ "diagnostics": diagnostics })).ok();
        return Err(refusal);
    }
    if compiled.policy.is_some() {
        return Err(RpcError::params(
            "`policy`: it is written in a definition file, not registered",
        ));
    }
    let mut new: Vec<_> = compiled
        .hooks
        .into_iter()
        .filter_map(|hook| hook.hook)
        .collect();
    session.may_register(&new)?;
    if new.is_empty() {
        return Err(RpcError::params(
            "`hooks` is missing or empty; it is a list of hooks as in a definition file",
        ));
    }
    let mut registered = session.registered();
    // A hook that wasn't named adds to those that weren't either.
    for n in 0..new.len() {
        let is_taken = |name: &str| {
            registered
                .hooks
                .iter()
                .chain(&new[..n])
                .any(|hook| *hook.name == *name)
        };
        let name = new[n].name.clone();
        if is_taken(&name) && !has_written_name(&root, &name) {
            let stem = name.rsplit_once('#').map_or(&*name, |(stem, _)| stem);
            let free = (1..=MAX_REGISTERED + new.len())
                .map(|n| format!("{stem}#{n}"))
                .find(|name| !is_taken(name));
            if let (Some(free), Some(hook)) = (free, Arc::get_mut(&mut new[n])) {
                hook.name = free.into();
            }
        }
    }
    let names: Vec<_> = new.iter().map(|hook| hook.name.clone()).collect();
    // A name that is registered again replaces the hook that had it.
    registered.hooks.retain(|hook| !names.contains(&hook.name));
    if registered.hooks.len() + new.len() > MAX_REGISTERED {
        let message = format!(
            "`hooks`: a connection registers at most {MAX_REGISTERED} hooks; unregister some first"
        );
        return Err(RpcError::params(message));
    }
    registered.hooks.extend(new);
    Ok(publish_registered(&mut registered, diagnostics))
}

/// Whether a client has written this as the `name` of a hook. Recursion is bounded by the parser's
/// depth limit.
fn has_written_name(node: &Node, name: &str) -> bool {
    match &node.value {
        NodeValue::Seq(items) => items.iter().any(|item| has_written_name(item, name)),
        NodeValue::Map(entries) => entries.iter().any(|entry| match &entry.value.value {
            NodeValue::String(written) => entry.key == "name" && written == name,
            _ => has_written_name(&entry.value, name),
        }),
        _ => false,
    }
}

pub(super) async fn unregister(
    session: &Session,
    params: UnregisterParams,
) -> RpcResult<RegisterResult> {
    if session.is_settled() {
        return unregister_now(session, params);
    }
    session
        .change_definitions(move |session| unregister_now(session, params))
        .await
}

fn unregister_now(session: &Session, params: UnregisterParams) -> RpcResult<RegisterResult> {
    let UnregisterParams { names } = params;
    let mut registered = session.registered();
    if let Some(unknown) = names
        .iter()
        .find(|name| !registered.hooks.iter().any(|hook| *hook.name == ***name))
    {
        let nearest = did_you_mean(closest(
            unknown,
            registered.hooks.iter().map(|hook| &*hook.name),
        ));
        return Err(RpcError::params(format!(
            "`names`: this connection has registered no hook `{unknown}`{nearest}"
        )));
    }
    registered
        .hooks
        .retain(|hook| !names.iter().any(|name| **name == *hook.name));
    Ok(publish_registered(&mut registered, Vec::new()))
}

fn publish_registered(registered: &mut Registered, diagnostics: Vec<Diagnostic>) -> RegisterResult {
    let generation = registered.set.as_ref().map_or(1, |set| set.generation + 1);
    registered.set = Some(Arc::new(HookSet::new(
        registered.hooks.clone(),
        generation,
        "session".into(),
        Vec::new(),
    )));
    RegisterResult {
        session_generation: generation,
        registered: registered
            .hooks
            .iter()
            .map(|hook| hook.name.clone())
            .collect(),
        diagnostics,
    }
}
