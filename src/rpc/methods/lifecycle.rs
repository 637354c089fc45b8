//! What begins and ends a connection, and what concerns its messages: `initialize`, `shutdown`,
//! `exit`, `$/cancelRequest`, `$/setTrace`.

use super::Next;
use crate::rpc::envelope::canonical_id;
use crate::rpc::error::{RpcError, RpcResult};
use crate::rpc::params::decode_params;
use crate::rpc::protocol::{
    CancelParams, InForce, InitializeParams, InitializeResult, PROTOCOL_VERSION, ServerInfo,
    SetTraceParams,
};
use crate::rpc::session::{Session, Side};
use hookwire_dialects as dialects;
use hookwire_handlers::handlers;
use hookwire_lsp as lsp;
use serde_json::{Map, Value, json};

pub(super) fn initialize(session: &Session, sent: Value) -> RpcResult<InitializeResult> {
    let params: InitializeParams = decode_params(&without_nulls(&sent))?;
    let capabilities = params.capabilities.hooks.or(params
        .capabilities
        .experimental
        .and_then(|experimental| experimental.hooks));
    let editor = lsp::is_editor(&sent)
        .then(|| session.language_server(&sent))
        .transpose()?;
    let is_agent = capabilities.is_some();
    let remarks = session.initialize(capabilities)?;
    params
        .client_info
        .as_ref()
        .and_then(|client_info| client_info["name"].as_str())
        .into_iter()
        .for_each(|it| session.name_client(it));
    let mut features = json!({ "positionEncoding": "utf-16" });
    if let Some(server) = editor {
        features = lsp::server_capabilities(&server);
        session.serve_editor(server, is_agent);
    }
    features["hooks"] = json!({
        "dialects": dialects::DIALECTS.iter().map(|it| it.name()).collect::<Vec<_>>(),
        "handlers": handlers::KINDS.iter().map(|it| it.key).collect::<Vec<_>>(),
    });
    let published = session.host.published();
    Ok(InitializeResult {
        server_info: ServerInfo {
            name: "hookwire".into(),
            version: env!("CARGO_PKG_VERSION").into(),
        },
        protocol_version: PROTOCOL_VERSION,
        capabilities: features,
        hooks: InForce {
            generation: published.hooks.generation,
            hash: published.hooks.hash.clone(),
            hooks: published.hooks.hooks.len(),
            diagnostics: published.diagnostics.n_mistakes(),
            watching: session.host.watching(),
            pass_through: session.host.interceptor.is_pass_through(),
            remarks,
        },
    })
}

/// The params that concern hookwire, in which a member that is null is absent: so write Emacs, Go
/// and others what they haven't got.
fn without_nulls(sent: &Value) -> Value {
    let members = |value: Option<&Value>| {
        let members = value.and_then(Value::as_object).into_iter().flatten();
        members
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    let mut params: Map<String, Value> = members(Some(sent));
    for path in [
        &["capabilities"][..],
        &["capabilities", "experimental"],
        &["capabilities", "hooks"],
        &["capabilities", "experimental", "hooks"],
    ] {
        let Some((last, parents)) = path.split_last() else {
            continue;
        };
        let parent = parents
            .iter()
            .try_fold(&mut params, |at, key| at.get_mut(*key)?.as_object_mut());
        if let Some(it @ Value::Object(_)) = parent.and_then(|parent| parent.get_mut(*last)) {
            *it = Value::Object(members(Some(it)));
        }
    }
    Value::Object(params)
}

pub(super) fn initialized(session: &Session) -> Next {
    session.initialized();
    Next::Read
}

pub(super) fn shutdown(session: &Session) -> RpcResult<()> {
    session.shut_down();
    Ok(())
}

/// Whoever has connected is answered; nobody new comes, and then the host ends. The next event of
/// an agent starts another.
pub(super) fn retire(session: &Session) -> RpcResult<()> {
    let (Some(retires), Side::Guest(_)) = (session.host.retires.get(), session.side()) else {
        return Err(RpcError::request(
            "only a host that serves nobody in particular ends so; this one ends with the program that started it",
        ));
    };
    // It could take the place itself and allow everything.
    if session.is_from_held() {
        return Err(RpcError::request(
            "the program that asks is held, by `hookwire run` or another sandbox that this host is not in, and what is held \
             ends no host; after an upgrade, this one stays until a program from outside asks, or nobody uses it",
        ));
    }
    retires.cancel();
    Ok(())
}

pub(super) fn exit(_: &Session) -> Next {
    Next::Exit
}

pub(super) fn cancel_request(session: &Session, params: CancelParams) -> Next {
    session
        .in_flight
        .cancel_request(&canonical_id(params.id.get()));
    Next::Read
}

pub(super) fn set_trace(session: &Session, params: SetTraceParams) -> Next {
    session.set_trace(params.value);
    Next::Read
}
