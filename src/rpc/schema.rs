//! The JSON Schema of the protocol, from the tables of methods.

use super::methods::METHODS;
use super::outgoing::{notification_schemas, request_schemas};
use super::protocol::PROTOCOL_VERSION;
use hookwire_base::event::EVENTS;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Params and results by method, and the types they are made of.
pub fn protocol_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let (mut requests, mut notifications) = (Map::new(), Map::new());
    for method in METHODS {
        let schemas = (method.schemas)(&mut generator);
        match (schemas.params, schemas.result) {
            (params, Some(result)) => {
                requests.insert(
                    method.name.into(),
                    json!({ "params": params, "result": result }),
                );
            }
            (Some(params), None) => {
                notifications.insert(method.name.into(), params.into());
            }
            (None, None) => {}
        }
    }
    for (name, params, result) in request_schemas(&mut generator) {
        requests.insert(name.into(), json!({ "params": params, "result": result }));
    }
    for (name, params) in notification_schemas(&mut generator) {
        notifications.insert(name.into(), params.into());
    }
    // A client puts a rewritten value where the subject was, so it needs this table.
    let events = EVENTS.iter().map(|event| {
        (
            event.name.to_string(),
            json!({ "phase": event.phase, "subject": event.subject }),
        )
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hookwire protocol",
        "description": "Events with their phase and the JSON pointer of their subject, requests with their params and results, and the params of notifications. `hooks/invoke`, `approval/request` and `model/complete` go from the host to the client, and so do `hooks/changed`, `hooks/executed`, `hooks/failed`, `hooks/judged` and `approvals/changed`.",
        "version": PROTOCOL_VERSION,
        "events": events.collect::<Map<_, _>>(),
        "requests": requests,
        "notifications": notifications,
        "$defs": generator.take_definitions(true),
    })
}
