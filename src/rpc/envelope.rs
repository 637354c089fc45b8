//! The outer layer of a message: which members it has, and which id. What is in `params` or
//! `result` is somebody else's matter.

use super::error::{RpcError, RpcResult};
use hookwire_base::support::json;
use jsonrpsee::core::server::MethodResponse;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A message, its members as they were written.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow, default)]
    pub(super) jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "method")]
    pub(super) method: Option<Method<'a>>,
    #[serde(borrow, default)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// A method name; anything else is an invalid request, not a malformed one.
pub(super) enum Method<'a> {
    Name(Cow<'a, str>),
    NotText,
}

/// Keeps `null` apart from absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn method<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Method<'de>>, D::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(Some(match serde_json::from_str::<Text<'_>>(raw.get()) {
        Ok(Text(name)) => Method::Name(name),
        Err(_) => Method::NotText,
    }))
}

/// A request whose params were parsed on the way.
pub(super) struct ParsedRequest<'a> {
    pub(super) id: &'a str,
    pub(super) method: &'a str,
    pub(super) params: Value,
    pub(super) params_text: &'a str,
}

/// Reads a request of a method that wants its params parsed, in one pass. `None` for everything
/// that is unusual or wrong: then [`Envelope`] decides what it is.
pub(super) fn read_parsed(
    text: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Option<ParsedRequest<'_>> {
    let (mut version, mut id, mut method, mut params) = (None, None, None, None);
    let mut rest = skip_space(text).strip_prefix('{')?;
    loop {
        let (key, after) = read_text(skip_space(rest))?;
        let value = skip_space(skip_space(after).strip_prefix(':')?);
        rest = match key {
            "jsonrpc" if version.is_none() => set(&mut version, read_text(value)?),
            "id" if id.is_none() => set(&mut id, read_id(value)?),
            "method" if method.is_none() => {
                let (name, after) = read_text(value)?;
                method = Some(is_wanted(name).then_some(name)?);
                after
            }
            "params" if params.is_none() && method.is_some() => {
                let (parsed, length) = json::parse_first(value).ok()?;
                let (params_text, after) = value.split_at_checked(length)?;
                set(&mut params, ((parsed, params_text), after))
            }
            _ => return None,
        };
        rest = skip_space(rest);
        match rest.split_at_checked(1)? {
            (",", after) => rest = after,
            ("}", after) if skip_space(after).is_empty() => break,
            _ => return None,
        }
    }
    let (params, params_text) = params?;
    let request = ParsedRequest {
        id: id?,
        method: method?,
        params,
        params_text,
    };
    (version == Some("2.0")).then_some(request)
}

fn set<'t, T>(member: &mut Option<T>, (value, rest): (T, &'t str)) -> &'t str {
    *member = Some(value);
    rest
}

/// Whether a byte may not stand in a string as it is. Asked for every byte of a message's names.
static IS_SPECIAL: [bool; 256] = {
    let mut is_special = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is_special[byte] = byte < b' ' as usize || byte == b'"' as usize || byte == b'\\' as usize;
        byte += 1;
    }
    is_special
};

/// The string at the beginning of a text, if nothing in it is escaped, and what is behind it.
fn read_text(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('"')?;
    let end = rest
        .bytes()
        .position(|byte| IS_SPECIAL[usize::from(byte)])?;
    let (string, end) = rest.split_at_checked(end)?;
    Some((string, end.strip_prefix('"')?))
}

/// The JSON value at the beginning of a text as it is written, and what is behind it.
fn read_id(text: &str) -> Option<(&str, &str)> {
    let digits = text
        .bytes()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (number, rest) = text.split_at_checked(digits)?;
    // Most clients count their requests.
    if is_count(number) && rest.starts_with([',', '}']) {
        return Some((number, rest));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = <&RawValue>::deserialize(&mut deserializer).ok()?;
    let length = deserializer.into_iter::<IgnoredAny>().byte_offset();
    Some((value.get(), text.get(length..)?))
}

/// Whether digits are a JSON number that every reader can hold.
fn is_count(digits: &str) -> bool {
    (1..=15).contains(&digits.len())
        && (digits == "0" || !digits.starts_with('0'))
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn skip_space(text: &str) -> &str {
    let blank = text
        .bytes()
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
        .count();
    text.get(blank..).unwrap_or_default()
}

/// Whether a text is JSON, and something else than an object.
pub(super) fn is_other_than_object(text: &str) -> bool {
    // For what isn't JSON at all, the parser's own message is better.
    !text.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Whether JSON can be the id of a request: a string, a number or null.
pub(super) fn is_id(id: &str) -> bool {
    match id.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<Cow<'_, str>>(id).is_ok(),
        Some(b'n') => true,
        // Beyond what a double holds, a reader may refuse the whole reply.
        Some(b'-' | b'0'..=b'9') => is_count(id) || id.parse().is_ok_and(f64::is_finite),
        _ => false,
    }
}

/// One spelling of an id, so that a cancel finds it however its text is escaped.
pub(super) fn canonical_id(id: &str) -> Cow<'_, str> {
    if !id.contains('\\') {
        return Cow::Borrowed(id);
    }
    match serde_json::from_str::<Value>(id) {
        Ok(value) => Cow::Owned(value.to_string()),
        Err(_) => Cow::Borrowed(id),
    }
}

/// A reply as it is sent.
pub(super) struct Reply {
    pub(super) json: Vec<u8>,
    pub(super) is_error: bool,
}

impl Reply {
    /// The beginning of a reply: its result is to be written behind it.
    pub(super) fn begin(id: &str) -> Vec<u8> {
        Reply::begin_with(id, "result")
    }

    /// The reply that was begun, or the error that came instead of its result.
    pub(super) fn finish(id: &str, mut json: Vec<u8>, written: RpcResult<()>) -> Reply {
        match written {
            Ok(()) => {
                json.push(b'}');
                Reply {
                    json,
                    is_error: false,
                }
            }
            Err(error) => Reply::error(id, &error),
        }
    }

    /// The reply to a request that can't be served.
    pub(super) fn error(id: &str, error: &RpcError) -> Reply {
        let mut json = Reply::begin_with(id, "error");
        // An error is made of numbers, texts and JSON: all of it can be written.
        let _ = serde_json::to_writer(&mut json, error);
        json.push(b'}');
        Reply {
            json,
            is_error: true,
        }
    }

    /// jsonrpsee's reply, under its id. jsonrpsee itself was given null, because it has no place
    /// for a number that is negative, fractional or very large.
    pub(super) fn from_jsonrpsee(id: &str, response: &MethodResponse) -> Reply {
        let Some(rest) = response
            .as_ref()
            .strip_prefix(r#"{"jsonrpc":"2.0","id":null"#)
        else {
            return Reply::error(
                id,
                &RpcError::internal("internal error: the router's reply has no id"),
            );
        };
        let mut json = Vec::with_capacity(response.as_ref().len() + id.len());
        for part in [r#"{"jsonrpc":"2.0","id":"#, id, rest] {
            json.extend_from_slice(part.as_bytes());
        }
        Reply {
            json,
            is_error: response.is_error(),
        }
    }

    fn begin_with(id: &str, member: &str) -> Vec<u8> {
        let mut json = Vec::with_capacity(512);
        for part in [r#"{"jsonrpc":"2.0","id":"#, id, r#",""#, member, r#"":"#] {
            json.extend_from_slice(part.as_bytes());
        }
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Id and params of a request that is read in one pass.
    fn read(text: &str) -> Option<(String, String)> {
        let request = read_parsed(text, |name| name == "m")?;
        let envelope: Envelope<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(envelope.id.unwrap().get(), request.id, "{text}");
        assert_eq!(
            envelope.params.map_or("null", RawValue::get),
            request.params_text,
            "{text}"
        );
        assert_eq!(
            json::parse(request.params_text).unwrap(),
            request.params,
            "{text}"
        );
        Some((request.id.into(), request.params_text.into()))
    }

    #[test]
    fn one_pass_reads_what_is_usual_and_leaves_the_rest() {
        for (text, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1.5]}}"#,
                Some(("1", r#"{"a":[1.5]}"#)),
            ),
            (
                " {\r\n\t\"method\" : \"m\" , \"params\" : [ {} ] , \"id\" : \"\\u00e9\" , \"jsonrpc\" : \"2.0\" } ",
                Some((r#""\u00e9""#, "[ {} ]")),
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"m","params":null}"#,
                Some(("null", "null")),
            ),
            (
                r#"{"jsonrpc":"2.0","id":-1e999,"method":"m","params":7}"#,
                Some(("-1e999", "7")),
            ),
            (
                r#"{"jsonrpc":"2.0","id":0,"method":"m","params":7}"#,
                Some(("0", "7")),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1234567890123456 ,"method":"m","params":7}"#,
                Some(("1234567890123456", "7")),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"m","params":7}"#,
                Some(("1.5", "7")),
            ),
            (
                r#"{"jsonrpc":"2.0","method":"m","params":7,"id":12}"#,
                Some(("12", "7")),
            ),
            (r#"{"jsonrpc":"2.0","id":01,"method":"m","params":7}"#, None),
            (r#"{"jsonrpc":"2.0","id":1a,"method":"m","params":7}"#, None),
            (r#"{"jsonrpc":"2.0","id":,"method":"m","params":7}"#, None),
            // Another method, or one that comes too late.
            (r#"{"jsonrpc":"2.0","id":1,"method":"n","params":{}}"#, None),
            (r#"{"jsonrpc":"2.0","id":1,"params":{},"method":"m"}"#, None),
            // A member is missing, is there twice, or is one too many.
            (r#"{"id":1,"method":"m","params":{}}"#, None),
            (r#"{"jsonrpc":"2.0","method":"m","params":{}}"#, None),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, None),
            (
                r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m","params":{}}"#,
                None,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{},"more":1}"#,
                None,
            ),
            (r#"{"jsonrpc":"1.0","id":1,"method":"m","params":{}}"#, None),
            (
                r#"{"jsonrpc":"2.0","\u0069d":1,"method":"m","params":{}}"#,
                None,
            ),
            // Not JSON, or not strict JSON.
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"a":2}}"#,
                None,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}}}"#,
                None,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{},}"#,
                None,
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}"#, None),
            (
                r#"{,"jsonrpc":"2.0","id":1,"method":"m","params":{}}"#,
                None,
            ),
            (
                "{\x0c\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{}}",
                None,
            ),
            ("{}", None),
            ("", None),
        ] {
            let expected =
                expected.map(|(id, params): (&str, &str)| (id.to_string(), params.to_string()));
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
