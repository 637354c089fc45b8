//! One message of MCP as it was sent, and where in its text the parts stand.
//!
//! A message is read strictly and never written anew: what is to be changed is put in the place of
//! the bytes that say it, and all others stay.

use hookwire_base::support::json::parse_event;
use hookwire_base::transport::framing::salvage_id;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::ops::Range;

/// The members of a message. Some readers take `Method` for `method`, so that is refused.
const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
/// The longest text that is an id, in bytes.
const MAX_ID: usize = 1024;
/// The most messages of a batch.
const MAX_BATCH: usize = 1000;
/// How much of the end of a message that is too long is searched for its id.
const TAIL: usize = 512;

/// The id of a request. `1` and `"1"` are two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    /// A whole number, by its digits.
    Number(String),
    /// A text.
    Text(String),
}

impl Id {
    fn from_value(value: &Value) -> Option<Id> {
        match value {
            Value::String(text) if text.len() <= MAX_ID => Some(Id::Text(text.clone())),
            Value::Number(number) if number.is_i64() || number.is_u64() => {
                Some(Id::Number(number.to_string()))
            }
            _ => None,
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        match self {
            Id::Text(text) => json!(text),
            Id::Number(digits) => serde_json::from_str(digits).unwrap_or_default(),
        }
    }
}

/// A message that was read.
#[derive(Debug)]
pub struct Message<'a> {
    /// As it was sent.
    pub text: &'a str,
    /// What it is.
    pub kind: Kind,
    members: Map<String, Value>,
}

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It has to be answered.
    Request {
        /// By this id.
        id: Id,
        /// What is asked for.
        method: String,
    },
    /// It isn't answered.
    Notification {
        /// What is told.
        method: String,
    },
    /// An answer.
    Response {
        /// To this request; unknown if the other side couldn't read the request.
        id: Option<Id>,
        /// It is an error.
        is_error: bool,
    },
}

/// Why a line is no message.
#[derive(Debug, PartialEq, Eq)]
pub struct Bad {
    /// Finishes "the message ...".
    pub problem: String,
    /// It isn't JSON at all.
    pub is_unreadable: bool,
    /// The id of what it would have been, if that can be read.
    pub id: Option<Id>,
}

impl Bad {
    /// A line that is longer than this. Many write the id last.
    pub fn too_long(max: usize, start: &[u8], end: &[u8]) -> Bad {
        Bad {
            problem: format!("is over the limit of {max} bytes"),
            is_unreadable: false,
            id: salvage(start).or_else(|| id_at_end(end)),
        }
    }
}

fn salvage(bytes: &[u8]) -> Option<Id> {
    Id::from_value(&serde_json::from_str(&salvage_id(bytes)?).ok()?)
}

/// The id that the last member of a message may be. That it may be a text's costs no more than a
/// call's answer, and its sender gives that anyway.
fn id_at_end(bytes: &[u8]) -> Option<Id> {
    let tail = bytes.trim_ascii_end();
    let tail = tail.get(tail.len().saturating_sub(TAIL)..)?;
    let at = tail.windows(5).rposition(|window| window == b"\"id\":")?;
    let value = tail.get(at + 5..)?.trim_ascii().strip_suffix(b"}")?;
    Id::from_value(&serde_json::from_slice(value).ok()?)
}

/// The messages of a line: one, or those of a batch.
///
/// # Errors
/// The line holds none.
pub fn messages_of(line: &[u8]) -> Result<Vec<&str>, Bad> {
    let bad = |problem: &str| Bad {
        problem: problem.into(),
        is_unreadable: true,
        id: None,
    };
    let text = std::str::from_utf8(line).map_err(|_| Bad {
        id: salvage(line),
        ..bad("is not UTF-8")
    })?;
    if !text.trim_ascii_start().starts_with('[') {
        return Ok(vec![text]);
    }
    let parts: Vec<&RawValue> =
        serde_json::from_str(text).map_err(|error| bad(&format!("is not JSON: {error}")))?;
    match parts.len() {
        0 => Err(Bad {
            is_unreadable: false,
            ..bad("is an empty batch")
        }),
        n if n > MAX_BATCH => Err(Bad {
            is_unreadable: false,
            ..bad(&format!("is a batch of more than {MAX_BATCH}"))
        }),
        _ => Ok(parts.into_iter().map(RawValue::get).collect()),
    }
}

impl<'a> Message<'a> {
    /// Reads a message. What two readers could read in two ways is refused.
    ///
    /// # Errors
    /// It is none.
    pub fn read(text: &'a str) -> Result<Message<'a>, Bad> {
        let value = parse_event(text).map_err(|error| Bad {
            problem: format!("can't be read: {error}"),
            is_unreadable: true,
            id: salvage(text.as_bytes()),
        })?;
        // A byte order mark, and half of a surrogate pair in a name, are read by some only.
        let members = match value {
            Value::Object(members) if text.trim_ascii_start().starts_with('{') => members,
            _ => {
                return Err(Bad {
                    problem: "is not an object".into(),
                    is_unreadable: false,
                    id: None,
                });
            }
        };
        let id = members.get("id").and_then(Id::from_value);
        let kind = kind_of(&members, id.clone()).map_err(|problem| Bad {
            problem,
            is_unreadable: false,
            id,
        })?;
        Ok(Message {
            text,
            kind,
            members,
        })
    }

    /// What it has at a JSON pointer.
    pub fn get(&self, path: &str) -> Option<&Value> {
        let rest = path.strip_prefix('/')?;
        let (first, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        self.members.get(first)?.pointer(rest)
    }

    /// A text that it has at a JSON pointer.
    pub fn text_at(&self, path: &str) -> Option<&str> {
        self.get(path)?.as_str()
    }

    /// What is written at these members, one within the other.
    pub fn written_at(&self, path: &[&str]) -> Option<&'a str> {
        place_of(self.text, path).and_then(|place| self.text.get(place))
    }
}

fn kind_of(members: &Map<String, Value>, id: Option<Id>) -> Result<Kind, String> {
    check_names(members, &ENVELOPE)?;
    let has = |name| members.contains_key(name);
    if has("id") && id.is_none() && members.get("id") != Some(&Value::Null) {
        return Err(
            "has an id that is neither a text of 1,024 bytes at most nor a whole number".into(),
        );
    }
    if !has("method") {
        let is_error = has("error");
        return match (has("result"), is_error) {
            (true, true) => Err("has both a result and an error".into()),
            (false, false) => Err("is neither a request nor a response".into()),
            (true, false) if id.is_none() => Err("has a result and no id".into()),
            _ => Ok(Kind::Response { id, is_error }),
        };
    }
    let Some(Value::String(method)) = members.get("method") else {
        return Err("has a `method` that isn't a text".into());
    };
    let method = method.clone();
    match id {
        _ if has("result") || has("error") => Err("is a request and a response".into()),
        Some(id) => Ok(Kind::Request { id, method }),
        None if has("id") => Err("has the id null".into()),
        None => Ok(Kind::Notification { method }),
    }
}

/// Refuses names that only differ from known ones by their case.
pub(crate) fn check_names(members: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    let looks_like = |name: &str| {
        let known = known.iter().find(|known| known.eq_ignore_ascii_case(name));
        known.filter(|known| **known != name)
    };
    let found = members
        .keys()
        .find_map(|name| Some((name, looks_like(name)?)));
    match found {
        Some((name, known)) => Err(format!("has `{name}`, which some take for `{known}`")),
        None => Ok(()),
    }
}

/// Where a text has the value at these members, one within the other.
pub(crate) fn place_of(text: &str, path: &[&str]) -> Option<Range<usize>> {
    let mut found = text;
    for name in path {
        found = member(found, name)?;
    }
    let start = (found.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    Some(start..start + found.len())
}

/// The text of an object's member.
fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    struct Member<'n>(&'n str);

    impl<'de> Visitor<'de> for Member<'_> {
        type Value = Option<&'de RawValue>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = None;
            while let Some(name) = map.next_key::<String>()? {
                if name == self.0 {
                    found = Some(map.next_value::<&RawValue>()?);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(found)
        }
    }

    let mut reader = serde_json::Deserializer::from_str(object);
    let found = reader.deserialize_map(Member(name)).ok().flatten();
    found.map(RawValue::get)
}

/// A text with other bytes in a place.
pub(crate) fn spliced(text: &str, place: Range<usize>, with: &str) -> Option<String> {
    let (before, behind) = (text.get(..place.start)?, text.get(place.end..)?);
    Some([before, with, behind].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_read_in_two_ways_is_no_message() {
        for (line, expected) in [
            (r#"{"id":1,"method":"a"}"#, "Request 1 a"),
            (
                r#"{"id":"1","method":"tools\/call"}"#,
                "Request \"1\" tools/call",
            ),
            (r#"{"method":"a","more":{"x":[1]}}"#, "Notification a"),
            ("  {\"id\":-3,\"result\":null}\r", "Response -3"),
            (r#"{"id":null,"error":{}}"#, "Response"),
            (r#"{"id":1,"error":{"message":"\ud83d"}}"#, "Response 1"),
            (
                r#"{"id":1,"method":"a","method":"b"}"#,
                "can't be read: duplicate key `method`",
            ),
            (
                r#"{"id":1,"method":"a","params":{"x":{"y":1,"\u0079":2}}}"#,
                "can't be read: duplicate key `y`",
            ),
            (
                r#"{"id":1,"method":"a","Method":"b"}"#,
                "has `Method`, which some take for `method`",
            ),
            (r#"{"id":1.0,"method":"a"}"#, "has an id that is neither"),
            (r#"{"id":[1],"method":"a"}"#, "has an id that is neither"),
            (r#"{"id":null,"method":"a"}"#, "has the id null"),
            (r#"{"id":1,"method":2}"#, "has a `method` that isn't a text"),
            (
                r#"{"id":1,"method":"a","result":1}"#,
                "is a request and a response",
            ),
            (
                r#"{"id":1,"result":1,"error":1}"#,
                "has both a result and an error",
            ),
            (r#"{"result":1}"#, "has a result and no id"),
            (r#"{"id":1}"#, "is neither a request nor a response"),
            (
                r#"{"id":1,"method":"a","params":{"n":NaN}}"#,
                "can't be read: expected value",
            ),
            ("\u{feff}{\"id\":1,\"method\":\"a\"}", "is not an object"),
            ("\"a\"", "is not an object"),
            ("Server started.", "can't be read: expected value"),
            (
                r#"{"id":1,"method":"a"} {"id":2,"method":"b"}"#,
                "can't be read: trailing",
            ),
        ] {
            let told = match Message::read(line) {
                Err(bad) => bad.problem,
                Ok(Message { kind, .. }) => match kind {
                    Kind::Request { id, method } => format!("Request {} {method}", id.to_json()),
                    Kind::Notification { method } => format!("Notification {method}"),
                    Kind::Response { id, .. } => {
                        format!(
                            "Response {}",
                            id.map(|id| id.to_json().to_string()).unwrap_or_default()
                        )
                    }
                },
            };
            assert!(told.trim_end().starts_with(expected), "{line}: {told}");
        }
    }

    #[test]
    fn a_batch_is_its_messages() {
        let parts = messages_of(b" [{\"a\":1}, 2 ]").unwrap();
        assert_eq!(parts, ["{\"a\":1}", "2"]);
        assert!(messages_of(b"[]").is_err());
        assert!(messages_of(b"[1").is_err());
        assert!(
            messages_of(b"{\"id\":7,\"x\":\"\xff\"}")
                .unwrap_err()
                .id
                .is_some()
        );
        let many = format!("[{}1]", "1,".repeat(MAX_BATCH));
        assert!(messages_of(many.as_bytes()).is_err());
    }

    #[test]
    fn a_place_is_found_and_filled() {
        let text = r#"{"params" : { "n\u0061me":"a" , "arguments": {"x": [1, 2]} }, "id":1}"#;
        for (path, expected) in [
            (&["params", "arguments"][..], Some(r#"{"x": [1, 2]}"#)),
            (&["params", "name"], Some("\"a\"")),
            (&["id"], Some("1")),
            (&["params", "none"], None),
            (&["id", "none"], None),
        ] {
            let place = place_of(text, path);
            assert_eq!(
                place.clone().and_then(|place| text.get(place)),
                expected,
                "{path:?}"
            );
        }
        let place = place_of(text, &["params", "arguments"]).unwrap();
        assert_eq!(
            spliced(text, place, "null").unwrap(),
            r#"{"params" : { "n\u0061me":"a" , "arguments": null }, "id":1}"#
        );
    }

    #[test]
    fn the_id_of_what_is_too_long_is_found_at_either_end() {
        for (start, end, expected) in [
            (
                &br#"{"jsonrpc":"2.0","id":5,"result":"aaaa"#[..],
                &b"aaaa"[..],
                Some("5"),
            ),
            (
                br#"{"result":"aaaa"#,
                br#"aaa"},"jsonrpc":"2.0","id":"x"}"#,
                Some("\"x\""),
            ),
            (br#"{"result":"aaaa"#, b"aaaa\"}", None),
        ] {
            let id = Bad::too_long(9, start, end)
                .id
                .map(|id| id.to_json().to_string());
            assert_eq!(id.as_deref(), expected);
        }
    }
}
