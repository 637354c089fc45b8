//! Messages that the gateway writes itself.

use super::message::Id;
use super::methods::About;
use hookwire_base::support::visible::{cut, safe};
use serde_json::{Value, json};

/// The message isn't JSON. (JSON-RPC.)
pub const PARSE: i32 = -32700;
/// The message is no request. (JSON-RPC.)
pub const INVALID_REQUEST: i32 = -32600;
/// The params aren't what the method takes. (JSON-RPC.)
pub const INVALID_PARAMS: i32 = -32602;
/// It was denied, or couldn't be judged.
pub const DENIED: i32 = -32000;
/// A person doesn't want the model asked. (MCP.)
const REJECTED: i32 = -1;

/// An error.
pub fn error(id: Option<&Id>, code: i32, message: &str) -> String {
    let id = id.map(Id::to_json);
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }).to_string()
}

fn result(id: &Id, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id.to_json(), "result": result }).to_string()
}

/// What a tool has to say, as a result.
pub fn tool_result(text: &str, is_error: bool) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
}

/// How whoever has asked is told no, and why.
pub fn refusal(about: About, id: &Id, reason: &str) -> String {
    match about {
        About::Tool | About::Task => result(id, &tool_result(reason, true)),
        About::Elicitation => result(id, &json!({ "action": "decline" })),
        About::Roots => result(id, &json!({ "roots": [] })),
        About::Sampling => error(Some(id), REJECTED, reason),
        About::Resource | About::Prompt | About::Tools => error(Some(id), DENIED, reason),
    }
}

/// The client is to list the tools again.
pub const LIST_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
/// What a person answers to let something happen.
pub const ALLOW: &str = "allow";
/// How much of each member of a call a person is shown.
const SHOWN: usize = 400;
/// How many members are shown.
const MOST_SHOWN: usize = 20;

/// A question for the person before the client.
pub fn elicitation(id: &str, request: &Value) -> String {
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    let mut message = format!("{} asks: {}", safe(text("hook")), safe(text("message")));
    if !text("tool").is_empty() {
        message.push_str(&format!("\n\n{}", safe(text("tool"))));
    }
    let members = request["subject"].as_object();
    for (name, value) in members.into_iter().flatten().take(MOST_SHOWN) {
        let value = match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        message.push_str(&format!(
            "\n  {}: {}",
            safe(&cut(name, SHOWN)),
            safe(&cut(&value, SHOWN))
        ));
    }
    let n_members = members.map_or(0, serde_json::Map::len);
    if n_members > MOST_SHOWN {
        message.push_str(&format!("\n  and {} more", n_members - MOST_SHOWN));
    }
    let schema = json!({
        "type": "object",
        "properties": {
            "answer": { "type": "string", "title": "Let this happen?", "enum": [ALLOW, "deny"] },
            "remember": { "type": "boolean", "title": "Give the same answer for the rest of this session", "default": false },
        },
        "required": ["answer"],
    });
    let params = json!({ "message": message, "requestedSchema": schema });
    json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params })
        .to_string()
}

/// A question is no longer one.
pub fn cancellation(id: &Id) -> String {
    let params = json!({ "requestId": id.to_json(), "reason": "it is decided, or took too long" });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string()
}
