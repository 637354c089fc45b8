//! JSON as hookwire accepts it: what two parsers could read differently is refused.
//!
//! A duplicate key at any depth is an error, never last-wins; an integer that 64 bits can't hold is
//! an error, never rounded; lone surrogates and depths over 128 are errors (serde_json's rule).

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// Parses one JSON text.
///
/// # Errors
/// Says what is wrong and where.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict { text }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Parses what a program wrote that knows numbers as floats of 64 bits only: a longer integer is such a float.
///
/// # Errors
/// Says what is wrong and where.
pub(crate) fn parse_rounded(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // Nothing is found in an empty text.
    let value = Strict { text: "" }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Parses the JSON value that a text begins with, and says where it ends.
///
/// # Errors
/// Says what is wrong and where. A long integer behind the value may be taken for one in it.
pub(crate) fn parse_first(text: &str) -> Result<(Value, usize), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict { text }.deserialize(&mut deserializer)?;
    Ok((value, deserializer.into_iter::<IgnoredAny>().byte_offset()))
}

#[derive(Clone, Copy)]
struct Strict<'t> {
    text: &'t str,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // serde_json gives an integer beyond 64 bits as a rounded float. The text is searched only
        // then, since floats that large hardly ever come.
        if value.abs() >= 9.2e18 && has_long_integer(self.text) {
            return Err(E::custom("an integer beyond 64 bits would lose digits"));
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            match map.entry(key) {
                Entry::Vacant(entry) => entry.insert(access.next_value_seed(self)?),
                Entry::Occupied(entry) => {
                    return Err(A::Error::custom(format_args!("duplicate key `{}`", entry.key())));
                }
            };
        }
        Ok(Value::Object(map))
    }
}

/// Whether a run of 19 digits or more stands outside strings without a fraction or exponent.
fn has_long_integer(text: &str) -> bool {
    let (mut in_string, mut escaped, mut digits, mut real) = (false, false, 0, false);
    for byte in text.bytes().chain([b' ']) {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'0'..=b'9' => digits += 1,
            b'.' | b'e' | b'E' | b'+' => real = true,
            b'-' => {}
            _ => {
                if digits >= 19 && !real {
                    return true;
                }
                (digits, real) = (0, false);
                in_string = byte == b'"';
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_could_be_read_differently() {
        for (text, expected) in [
            (r#"{"a":1,"b":{"c":1,"c":2}}"#, "duplicate key `c`"),
            (r#"[18446744073709551616]"#, "an integer beyond 64 bits would lose digits"),
            (r#"[-9223372036854775809]"#, "an integer beyond 64 bits would lose digits"),
            (r#"["\ud800"]"#, "unexpected end of hex escape"),
            ("[1e400]", "number out of range"),
            ("[1] x", "trailing characters"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        assert!(parse(&"[".repeat(10_000)).unwrap_err().to_string().starts_with("recursion limit"));
        for text in [
            "18446744073709551615",
            "-9223372036854775808",
            "9007199254740993",
            "1e300",
            r#"{"a":"99999999999999999999","b":1e25}"#,
        ] {
            let value = parse(text).unwrap();
            assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        }
    }
}
