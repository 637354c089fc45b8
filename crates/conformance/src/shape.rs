//! Whether a message has the form that the protocol's schema gives it, in all members, not only
//! those that a case names.

use serde_json::Value;
use std::collections::HashMap;

/// The protocol's schema.
pub(crate) struct Shapes(Value);

/// The requests that were sent to the side that is tried: method by id.
pub(crate) type Sent = HashMap<String, String>;

fn protocol_schema() -> Value {
    serde_json::from_str(include_str!("../../../schema/protocol.json")).unwrap_or_default()
}

/// How deep a message is looked into.
const MAX_DEPTH: usize = 128;

impl Shapes {
    pub(crate) fn new() -> Shapes {
        Shapes(protocol_schema())
    }

    /// The version of the protocol.
    pub(crate) fn version(&self) -> &Value {
        &self.0["version"]
    }

    /// What is wrong with a message that was received.
    pub(crate) fn find_mismatch(&self, message: &Value, sent: &Sent) -> Option<String> {
        if let Value::Array(batch) = message {
            return batch
                .iter()
                .find_map(|message| self.find_mismatch(message, sent));
        }
        if !message.is_object() {
            return Some("the message is no object".into());
        }
        if message["jsonrpc"] != "2.0" {
            return Some("/jsonrpc is not \"2.0\"".into());
        }
        match message.get("method") {
            Some(Value::String(method)) => {
                let params = message.get("params").filter(|params| !params.is_null())?;
                let schema = match message.get("id") {
                    Some(_) => &self.0["requests"][method]["params"],
                    None => &self.0["notifications"][method],
                };
                self.check_schema(schema, params, "/params", 0)
            }
            Some(_) => Some("/method is no text".into()),
            None => self.reply_mismatch(message, sent),
        }
    }

    fn reply_mismatch(&self, reply: &Value, sent: &Sent) -> Option<String> {
        let id = reply.get("id");
        match (id, reply.get("result"), reply.get("error")) {
            (None, _, _) => Some("/id is missing".into()),
            (Some(id), Some(result), None) => match sent.get(&id.to_string()) {
                Some(method) => {
                    self.check_schema(&self.0["requests"][method]["result"], result, "/result", 0)
                }
                None => Some(format!("there was no request {id}")),
            },
            (Some(_), None, Some(error)) => match (&error["code"], &error["message"]) {
                (Value::Number(code), Value::String(_)) if code.is_i64() => None,
                _ => Some(
                    "/error has no `code` that is an integer or no `message` that is a text".into(),
                ),
            },
            _ => Some("a reply has either `result` or `error`".into()),
        }
    }

    /// The part of JSON Schema that is generated from our types; what isn't known holds.
    fn check_schema(
        &self,
        schema: &Value,
        value: &Value,
        place: &str,
        depth: usize,
    ) -> Option<String> {
        if depth > MAX_DEPTH {
            return Some(format!("{place} is too deep"));
        }
        let check = |schema: &Value, value: &Value, place: &str| {
            self.check_schema(schema, value, place, depth + 1)
        };
        if let Some(name) = schema["$ref"].as_str() {
            let named = self.0.pointer(name.trim_start_matches('#'));
            if let problem @ Some(_) = named.and_then(|schema| check(schema, value, place)) {
                return problem;
            }
        }
        for choice in ["anyOf", "oneOf"] {
            let Some(schemas) = schema[choice].as_array() else {
                continue;
            };
            let problems: Option<Vec<_>> = schemas
                .iter()
                .map(|schema| check(schema, value, place))
                .collect();
            // The first says most: what may be absent has `null` behind it.
            if let Some(problem) = problems.and_then(|problems| problems.into_iter().next()) {
                return Some(problem);
            }
        }
        if schema.get("const").is_some_and(|it| it != value) {
            return Some(format!("{place} is {value} and not {}", schema["const"]));
        }
        let types: Vec<&str> = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            it => it.as_str().into_iter().collect(),
        };
        if !types.is_empty() && !types.iter().any(|it| is_a(value, it)) {
            return Some(format!(
                "{place} is {} and not of type {}",
                crate::pattern::shorten_value(value),
                types.join(" or ")
            ));
        }
        match value {
            Value::Number(number) if schema["minimum"].as_f64() > number.as_f64() => Some(format!(
                "{place} is {number}, less than {}",
                schema["minimum"]
            )),
            Value::Array(items) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(n, item)| check(&schema["items"], item, &format!("{place}/{n}")))
            }
            Value::Object(members) => {
                let required = schema["required"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str);
                if let Some(key) = required.into_iter().find(|key| !members.contains_key(*key)) {
                    return Some(format!("{place}/{key} is missing"));
                }
                members
                    .iter()
                    .find_map(|(key, value)| match schema["properties"].get(key) {
                        Some(schema) => check(schema, value, &format!("{place}/{key}")),
                        None if schema["additionalProperties"] == false => {
                            Some(format!("{place}/{key} is unknown"))
                        }
                        None => None,
                    })
            }
            _ => None,
        }
    }
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_is_held_against_the_schema() {
        let sent = Sent::from([
            ("1".into(), "hooks/dispatch".into()),
            ("2".into(), "state/list".into()),
        ]);
        let verdict = |more: Value| {
            let mut verdict = json!({"decision": "allow", "outcomes": [], "generation": 1, "hash": "", "eventId": ""});
            verdict
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            json!({"jsonrpc": "2.0", "id": 1, "result": verdict})
        };
        for (message, expected) in [
            (verdict(json!({"more": 1, "reason": null})), ""),
            (verdict(json!({"decision": "maybe"})), "/result/decision"),
            (
                verdict(json!({"generation": -1})),
                "/result/generation is -1, less than 0",
            ),
            (
                verdict(json!({"outcomes": [{"hook": "a", "status": "success"}]})),
                "/result/outcomes/0/durationMicros is missing",
            ),
            (
                json!({"jsonrpc": "2.0", "id": 2, "result": {"items": {}}}),
                "/result/items is {} and not of type array",
            ),
            (
                json!({"jsonrpc": "2.0", "id": 3, "result": null}),
                "there was no request 3",
            ),
            (json!({"jsonrpc": "2.0", "id": 1}), "either"),
            (
                json!({"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": ""}}),
                "`code`",
            ),
            (
                json!({"id": 1, "error": {"code": 1, "message": ""}}),
                "/jsonrpc",
            ),
            (
                json!({"jsonrpc": "2.0", "id": 1, "method": "hooks/dispatch", "params": {"event": 3}}),
                "/params",
            ),
            (
                json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {}}),
                "/params/id is missing",
            ),
            (json!([{"jsonrpc": "2.0", "method": 1}]), "/method"),
        ] {
            let found = Shapes::new()
                .find_mismatch(&message, &sent)
                .unwrap_or_default();
            assert!(
                if expected.is_empty() {
                    found.is_empty()
                } else {
                    found.contains(expected)
                },
                "{message}: {found}"
            );
        }
    }

    /// A keyword that isn't known would hold whatever the message is.
    #[test]
    fn the_schema_uses_no_other_keywords() {
        fn look(schema: &Value) {
            const KNOWN: &str = "$ref anyOf oneOf const type minimum items required properties additionalProperties \
                                 description default format";
            for (key, value) in schema.as_object().into_iter().flatten() {
                assert!(KNOWN.split_whitespace().any(|it| it == key), "{key}");
                match key.as_str() {
                    "properties" => value.as_object().unwrap().values().for_each(look),
                    "anyOf" | "oneOf" => value.as_array().unwrap().iter().for_each(look),
                    "items" => look(value),
                    _ => {}
                }
            }
        }
        let schema = protocol_schema();
        schema["$defs"].as_object().unwrap().values().for_each(look);
    }
}
