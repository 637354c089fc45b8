//! The method table: a row for each method that clients may call. From it come the router, the
//! names for suggestions and the schema.
//!
//! A synchronous method runs on the reader, before the next message is read. An asynchronous one is
//! polled once on the reader and goes on elsewhere if it has to wait. That first poll fixes the
//! hook set that counts for it, and the order in which registrations and reloads take effect: that
//! in which they arrive.
//!
//! A function takes the session and its params, as the type in its row or, behind `json`, as JSON.

mod approvals;
pub(super) mod events;
mod guard;
mod hooks;
mod lifecycle;
mod programs;
mod state;
mod unasked;

use super::aside::run_aside;
use super::envelope::Reply;
use super::error::{RpcError, RpcResult};
use super::params;
use super::protocol::{
    AnswerParams, AnswerResult, ApprovalAnswer, ApprovalList, ApprovalNamed, BeginReply,
    CallableParams, CancelParams, CheckParams, CheckResult, DispatchParams, DispatchResult,
    ExplainResult, FinishParams, Have, InitializeParams, InitializeResult, ListParams, ListResult,
    RecentParams, RecentReply, RegisterParams, RegisterResult, ReloadResult, SetTraceParams,
    StateCompareAndSet, StateDeleted, StateIncrement, StateItems, StateKey, StateList, StateSet,
    StateValue, UnaskedReply, UnregisterParams,
};
use super::session::Session;
use crate::always::Always;
use futures_util::future::BoxFuture;
use hookwire_engine::callable::CallableTools;
use hookwire_engine::starts::NamedPrograms;
use hookwire_lsp as lsp;
use jsonrpsee::RpcModule;
use jsonrpsee::core::RegisterMethodError;
use jsonrpsee::core::server::Methods;
use jsonrpsee_types::Params;
use schemars::{Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;

/// A method that clients may call.
pub struct Method {
    /// Its name on the wire.
    pub name: &'static str,
    /// Every user of the machine may call it, over the socket that is there for that.
    pub for_everybody: bool,
    pub(super) run: Run,
    pub(super) schemas: fn(&mut SchemaGenerator) -> Schemas,
}

/// The result of a method, once it is there.
type FutureResult = BoxFuture<'static, RpcResult<Box<RawValue>>>;

/// How a method is carried out.
#[derive(Clone, Copy)]
pub(super) enum Run {
    /// By the router, on the reader.
    Sync(fn(&Session, &Params<'_>) -> RpcResult<Box<RawValue>>),
    /// By the router.
    Async(fn(Arc<Session>, Params<'static>) -> FutureResult),
    /// Past the router, since it would parse and write everything twice: takes the params parsed,
    /// and writes the reply.
    Direct(fn(Arc<Session>, DirectCall) -> BoxFuture<'static, Reply>),
    /// A notification only.
    Notification(fn(&Session, &str) -> serde_json::Result<Next>),
}

/// A request past the router.
pub(super) struct DirectCall {
    /// The id, as JSON.
    pub(super) id: String,
    pub(super) params: Value,
    /// The params as they were written.
    pub(super) params_text: String,
}

/// What a method takes and gives, where it takes and gives something.
pub(super) struct Schemas {
    pub(super) params: Option<Schema>,
    pub(super) result: Option<Schema>,
}

/// What the reader is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read on.
    Read,
    /// End, because the client said `exit`.
    Exit,
}

/// See [`METHODS`].
macro_rules! methods {
    ($($how:ident $name:literal $(($($params:tt)*))? $(-> $result:ty)? = $function:path $(, $everybody:ident)?;)*) => {
        &[$(Method {
            name: $name,
            for_everybody: is_for!($($everybody)?),
            run: run!($how $(($($params)*))? $(-> $result)? = $function),
            schemas: schemas!($(($($params)*))? $(-> $result)?),
        },)*]
    };
}

macro_rules! is_for {
    (everybody) => {
        true
    };
    () => {
        false
    };
}

macro_rules! run {
    (sync () -> $result:ty = $function:path) => {
        Run::Sync(|session, _| write_result::<$result>(&$function(session)?))
    };
    (sync ($($params:tt)*) -> $result:ty = $function:path) => {
        Run::Sync(|session, sent| {
            let result = $function(session, read!(sent.as_str(), $($params)*)?)?;
            write_result::<$result>(&result)
        })
    };
    (async () -> $result:ty = $function:path) => {
        Run::Async(|session, _| Box::pin(async move { write_result::<$result>(&$function(&session).await?) }))
    };
    (async ($($params:tt)*) -> $result:ty = $function:path) => {
        Run::Async(|session, sent| Box::pin(async move {
            let result = $function(&session, read!(sent.as_str(), $($params)*)?).await?;
            write_result::<$result>(&result)
        }))
    };
    (direct (json $params:ty) -> $result:ty = $function:path) => {
        Run::Direct(|session, call| Box::pin(async move {
            let mut json = Reply::begin(&call.id);
            let written = $function(&session, call.params, &call.params_text, &mut json).await;
            Reply::finish(&call.id, json, written)
        }))
    };
    (notification $(($params:ty))? = $function:path) => {
        Run::Notification(|session, _sent| Ok($function(session $(, serde_json::from_str::<$params>(_sent)?)?)))
    };
}

macro_rules! read {
    ($text:expr, json $params:ty) => {
        params::parse($text)
    };
    ($text:expr, $params:ty) => {
        params::parse($text).and_then(|json| params::decode_params::<$params>(&json))
    };
}

macro_rules! schemas {
    (() -> $result:ty) => { schemas!((()) -> $result) };
    ((json $params:ty) $(-> $result:ty)?) => { schemas!(($params) $(-> $result)?) };
    ($(($params:ty))? $(-> $result:ty)?) => {
        |_generator| Schemas {
            params: [$(_generator.subschema_for::<$params>())?].into_iter().next(),
            result: [$(_generator.subschema_for::<$result>())?].into_iter().next(),
        }
    };
}

/// Every request and notification that clients may send, but for those of LSP, which have their own
/// tables.
pub static METHODS: &[Method] = methods! {
    sync "initialize" (json InitializeParams) -> InitializeResult = lifecycle::initialize;
    notification "initialized" = lifecycle::initialized;
    sync "shutdown" () -> () = lifecycle::shutdown;
    notification "exit" = lifecycle::exit;
    notification "$/cancelRequest" (CancelParams) = lifecycle::cancel_request;
    notification "$/setTrace" (SetTraceParams) = lifecycle::set_trace;
    direct "hooks/dispatch" (json DispatchParams) -> DispatchResult = events::dispatch;
    direct "hooks/answer" (json AnswerParams) -> AnswerResult = events::answer, everybody;
    async "guard/begin" (json AnswerParams) -> BeginReply = guard::begin, everybody;
    async "guard/finish" (json FinishParams) -> AnswerResult = guard::finish, everybody;
    async "hooks/list" (ListParams) -> ListResult = hooks::list;
    async "hooks/explain" (json DispatchParams) -> ExplainResult = events::explain;
    async "hooks/check" (CheckParams) -> CheckResult = hooks::check;
    async "hooks/reload" () -> ReloadResult = hooks::reload;
    sync "hooks/recent" (RecentParams) -> RecentReply = events::recent;
    async "hooks/register" (json RegisterParams) -> RegisterResult = hooks::register;
    async "hooks/unregister" (UnregisterParams) -> RegisterResult = hooks::unregister;
    sync "state/get" (StateKey) -> StateValue = state::get;
    async "state/set" (StateSet) -> () = state::set;
    async "state/increment" (StateIncrement) -> StateValue = state::increment;
    async "state/compareAndSet" (StateCompareAndSet) -> StateValue = state::compare_and_set;
    async "state/delete" (StateKey) -> StateDeleted = state::delete;
    sync "state/list" (StateList) -> StateItems = state::list;
    sync "host/retire" () -> () = lifecycle::retire;
    async "host/unasked" () -> UnaskedReply = unasked::unasked;
    async "programs/named" () -> NamedPrograms = programs::named;
    async "tools/callable" (CallableParams) -> CallableTools = hooks::callable;
    sync "programs/have" (Have) -> () = programs::have;
    sync "approvals/list" () -> ApprovalList = approvals::list;
    sync "approvals/answer" (ApprovalAnswer) -> () = approvals::answer;
    async "approvals/always" (ApprovalNamed) -> Always = approvals::always;
};

/// The row of a method.
pub(super) fn find_method(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// The router, with the methods of LSP.
///
/// # Errors
/// A method is there twice: a bug.
pub(super) fn make_router(session: Arc<Session>) -> Result<Methods, RegisterMethodError> {
    let mut router = RpcModule::from_arc(session);
    for Method { name, run, .. } in METHODS {
        match *run {
            Run::Sync(run) => {
                router.register_method(name, move |params, session, _| run(session, &params))?;
            }
            Run::Async(run) => {
                router
                    .register_async_method(name, move |params, session, _| run(session, params))?;
            }
            Run::Direct(_) | Run::Notification(_) => {}
        }
    }
    for (name, notice) in lsp::NOTICES {
        router.register_method(name, move |sent, session, _| {
            let server = session.editor()?;
            notice(server, params::parse(sent.as_str())?).map_err(RpcError::from)
        })?;
    }
    for (name, query) in lsp::QUERIES {
        router.register_async_method(name, move |sent, session, _| async move {
            let snapshot = session.editor()?.snapshot();
            run_aside(snapshot.answer_query(*query, params::parse(sent.as_str())?))
                .await
                .map_err(RpcError::from)
        })?;
    }
    router.register_async_method("workspace/executeCommand", |sent, session, _| async move {
        let snapshot = session.editor()?.snapshot();
        run_aside(lsp::commands::execute_command(
            snapshot,
            params::parse(sent.as_str())?,
        ))
        .await
        .map_err(RpcError::from)
    })?;
    Ok(router.into())
}

/// Results are written here, so that a type needs no more than `Serialize`.
fn write_result<T: Serialize>(result: &T) -> RpcResult<Box<RawValue>> {
    to_raw_value(result).map_err(RpcError::internal)
}
