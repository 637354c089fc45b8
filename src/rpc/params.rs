//! The params of a message: from text to JSON to the type that a method takes.

use super::error::{RpcError, RpcResult};
use hookwire_base::support::json;
use hookwire_base::support::nearest::did_you_mean;
use hookwire_base::syntax::node::{Node, decode};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The params as JSON, which is read strictly. Without params: an empty object.
pub(super) fn parse(text: Option<&str>) -> RpcResult<Value> {
    match text {
        Some(text) => as_object(json::parse(text).map_err(RpcError::params)?),
        None => Ok(Value::Object(Map::new())),
    }
}

/// A list of one stands for its item; null and an empty list stand for an empty object.
pub(super) fn as_object(params: Value) -> RpcResult<Value> {
    match params {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Array(mut items) => match items.len() {
            0 => Ok(Value::Object(Map::new())),
            1 => Ok(items.remove(0)),
            n => Err(RpcError::params(format!(
                "`params` is one object, found a list of {n}"
            ))),
        },
        other => Ok(other),
    }
}

/// Reads params as definitions are read, so that an error names the field.
pub(super) fn decode_params<T: DeserializeOwned>(params: &Value) -> RpcResult<T> {
    decode(&Node::from_json(params)).map_err(|error| {
        let place = Some(&error.path)
            .filter(|it| !it.is_empty())
            .map(|it| format!("`{it}`: "))
            .unwrap_or_default();
        RpcError::params(format!(
            "{place}{}{}",
            error.message,
            did_you_mean(error.suggestion())
        ))
    })
}
