//! The JSON Schema of the protocol, from the types.

use super::protocol as p;
use crate::engine::Report;
use crate::handlers::CallbackCall;
use crate::host::Changed;
use crate::journal::{Recent, Record};
use crate::services::approvals::{ApprovalReply, ApprovalRequest};
use crate::services::models::{CompleteParams, ModelReply};
use crate::verdict::{Answer, Verdict};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Params and results by method, and the types they are made of.
pub fn protocol() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut requests = Map::new();
    macro_rules! methods {
        ($($method:literal: $params:ty => $result:ty;)*) => {$(
            requests.insert($method.into(), json!({
                "params": generator.subschema_for::<$params>(),
                "result": generator.subschema_for::<$result>(),
            }));
        )*};
    }
    methods! {
        "initialize": p::InitializeParams => p::InitializeResult;
        "shutdown": () => ();
        "hooks/list": p::ListParams => p::ListResult;
        "hooks/explain": p::DispatchParams => p::ExplainResult;
        "hooks/check": p::CheckParams => p::CheckResult;
        "hooks/reload": () => p::ReloadResult;
        "hooks/recent": p::RecentParams => Recent<'static>;
        "hooks/register": p::RegisterParams => p::RegisterResult;
        "hooks/unregister": p::UnregisterParams => p::RegisterResult;
        "state/get": p::StateKey => p::StateValue;
        "state/set": p::StateSet => ();
        "state/increment": p::StateIncrement => p::StateValue;
        "state/compareAndSet": p::StateCompareAndSet => p::StateValue;
        "state/delete": p::StateKey => p::StateDeleted;
        "state/list": p::StateList => p::StateItems;
        "approvals/list": () => p::ApprovalList;
        "approvals/answer": p::ApprovalAnswer => ();
        "approval/request": ApprovalRequest => ApprovalReply;
        "hooks/invoke": CallbackCall => Answer;
        "model/complete": CompleteParams => ModelReply;
    }
    let (native, translated) = (generator.subschema_for::<Verdict>(), generator.subschema_for::<p::DialectReply>());
    requests.insert(
        "hooks/dispatch".into(),
        json!({
            "params": generator.subschema_for::<p::DispatchParams>(),
            "result": { "anyOf": [native, translated] },
        }),
    );
    let notifications = json!({
        "$/cancelRequest": generator.subschema_for::<p::CancelParams>(),
        "$/setTrace": generator.subschema_for::<p::SetTraceParams>(),
        "hooks/changed": generator.subschema_for::<Changed>(),
        "hooks/executed": generator.subschema_for::<Report>(),
        "hooks/failed": generator.subschema_for::<Report>(),
        "hooks/judged": generator.subschema_for::<Record<'static>>(),
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hookwire protocol",
        "description": "Requests with their params and results, and the params of notifications. `hooks/invoke`, `approval/request` and `model/complete` go from the host to the client, and so do `hooks/changed`, `hooks/executed`, `hooks/failed` and `hooks/judged`.",
        "requests": requests,
        "notifications": notifications,
        "$defs": generator.take_definitions(true),
    })
}
