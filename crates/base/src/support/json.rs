//! JSON as hookwire accepts it: what two parsers could read differently is refused.
//!
//! A duplicate key at any depth is an error, never last-wins; a number keeps every digit, and one
//! beyond what floats of 64 bits reach is an error; lone surrogates and depths over 128 are errors
//! (serde_json's rule). Only events may hold lone surrogates ([`parse_event`]): agents cut texts in
//! the middle of an emoji.
//!
//! For the digits, serde_json hands a number that 64 bits don't hold to a visitor as an object with
//! the one member [`NUMBER`]. Types that serde reads twice (`untagged`, `flatten`, `tag`) take a
//! fraction for that object, unless they are read from a [`Value`]. So what comes from outside is
//! read with [`parse`] first, and its types from that.

use super::decimal;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};
use std::cell::Cell;

/// Parses one JSON text.
///
/// # Errors
/// Says what is wrong and where.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict {
        left: &Cell::new(MAX_VALUES),
    }
    .deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Parses what an agent says of a moment. Half of a surrogate pair is read as U+FFFD, as whatever
/// takes it for a text does: otherwise a character that was cut in two would keep the event from
/// its guards. A byte order mark, which some programs write before each text, is passed over.
///
/// # Errors
/// Says what is wrong and where.
pub fn parse_event(text: &str) -> Result<Value, serde_json::Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    parse(text).or_else(|error| match mend_halves(text) {
        Some(mended) => parse(&mended),
        None => Err(error),
    })
}

/// The text with `\ufffd` for each escape that is half of a surrogate pair, if it has one.
pub fn mend_halves(text: &str) -> Option<String> {
    let mut mended = text.as_bytes().to_vec();
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut at, mut has_half) = (0, false);
    while at < mended.len() {
        at += match (mended[at], unit(at)) {
            (b'\\', Some(0xD800..=0xDBFF)) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => 12,
            (b'\\', Some(0xD800..=0xDFFF)) => {
                mended[at + 2..at + 6].copy_from_slice(b"fffd");
                has_half = true;
                6
            }
            (b'\\', _) => 2,
            _ => 1,
        };
    }
    has_half.then(|| String::from_utf8(mended).ok()).flatten()
}

/// A whole number, however it is written: `3` or `3.0`.
pub fn whole(value: &Value) -> Option<u64> {
    let float = || {
        value
            .as_f64()
            .filter(|it| it.fract() == 0.0 && (0.0..9e15).contains(it))
            .map(|it| it as u64)
    };
    value.as_u64().or_else(float)
}

/// Parses the JSON value that a text begins with, and says where it ends.
///
/// # Errors
/// Says what is wrong and where.
pub fn parse_first(text: &str) -> Result<(Value, usize), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict {
        left: &Cell::new(MAX_VALUES),
    }
    .deserialize(&mut deserializer)?;
    Ok((value, deserializer.into_iter::<IgnoredAny>().byte_offset()))
}

/// The member that stands for a number with all its digits in what serde_json hands on, and nowhere
/// else.
pub const NUMBER: &str = "$serde_json::private::Number";

/// Values in one text. In memory a small one takes fifty times the place that it has in the text,
/// and whoever walks over them takes their time for each.
pub const MAX_VALUES: usize = 500_000;

#[derive(Clone, Copy)]
struct Strict<'a> {
    /// How many more values there may be.
    left: &'a Cell<usize>,
}

impl Strict<'_> {
    fn count<E: Error>(self) -> Result<(), E> {
        let left = self.left.get().checked_sub(1);
        self.left
            .set(left.ok_or_else(|| E::custom(format_args!("more than {MAX_VALUES} values")))?);
        Ok(())
    }
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
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom(OUT_OF_RANGE))
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
            self.count()?;
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            self.count()?;
            if key == NUMBER {
                return access.next_value_seed(Digits).map(Value::Number);
            }
            match map.entry(key) {
                Entry::Vacant(entry) => entry.insert(access.next_value_seed(self)?),
                Entry::Occupied(entry) => {
                    return Err(A::Error::custom(format_args!(
                        "duplicate key `{}`",
                        entry.key()
                    )));
                }
            };
        }
        Ok(Value::Object(map))
    }
}

const OUT_OF_RANGE: &str = "number out of range";

/// The value of [`NUMBER`].
struct Digits;

impl<'de> DeserializeSeed<'de> for Digits {
    type Value = Number;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Number, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Digits {
    type Value = Number;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a number: the key `{NUMBER}` is not for objects")
    }

    /// Only serde_json itself gives a text that it owns; the one of an object with this key is
    /// borrowed.
    fn visit_string<E: Error>(self, text: String) -> Result<Number, E> {
        let number = decimal::is_in_range(&text)
            .then(|| text.parse().ok())
            .flatten();
        number.ok_or_else(|| E::custom(OUT_OF_RANGE))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        Err(E::invalid_type(serde::de::Unexpected::Str(text), &self))
    }
}

/// What serde says of a misfit, without the names of Rust's types: people who write JSON know none
/// of them.
pub fn without_types(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let known = [
        ("u64", "a whole number"),
        ("usize", "a whole number"),
        ("i64", "a whole number"),
        ("f64", "a number"),
    ];
    let types = known
        .iter()
        .find_map(|(name, words)| Some((text.find(&format!("expected {name}"))?, *name, *words)));
    match types {
        Some((at, name, words)) => {
            format!(
                "{}expected {words}{}",
                &text[..at],
                &text[at + "expected ".len() + name.len()..]
            )
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_in_an_event_is_mended() {
        for (text, expected) in [
            (r#"["ok \ud83d"]"#, Ok("[\"ok \u{fffd}\"]")),
            (r#"["\ude00 ok"]"#, Ok("[\"\u{fffd} ok\"]")),
            (r#"["\ud83d\ud83d\ude00"]"#, Ok("[\"\u{fffd}\u{1f600}\"]")),
            (
                r#"["\uD83D\n","é\uDE00"]"#,
                Ok("[\"\u{fffd}\\n\",\"é\u{fffd}\"]"),
            ),
            (
                r#"{"\ud83d":"\\ud83d \ud83d"}"#,
                Ok(r#"{"\u{fffd}":"\\ud83d \u{fffd}"}"#),
            ),
            (r#"["\ud83d\ude00"]"#, Ok("[\"\u{1f600}\"]")),
            // A byte order mark is no part of it; a second one is.
            ("\u{feff}[\"\\ud83d\"]", Ok("[\"\u{fffd}\"]")),
            ("\u{feff}\u{feff}[1]", Err("expected value")),
            // Two keys of which nothing is left to tell them apart.
            (
                r#"{"\ud83d":1,"\ud83e":2}"#,
                Err("duplicate key `\u{fffd}`"),
            ),
            (r#"{"a":"\ud83d","b":1,"b":2}"#, Err("duplicate key `b`")),
            (r#"["\ud83""#, Err("invalid escape")),
            (r#"["\ud83g"]"#, Err("invalid escape")),
            ("\\", Err("expected value")),
        ] {
            let read = parse_event(text)
                .map(|value| value.to_string())
                .map_err(|error| error.to_string());
            match (&read, expected) {
                (Ok(read), Ok(expected)) => {
                    assert_eq!(read, &expected.replace("\\u{fffd}", "\u{fffd}"), "{text}")
                }
                (Err(error), Err(expected)) => {
                    assert!(error.starts_with(expected), "{text}: {error}")
                }
                _ => panic!("{text}: {read:?}"),
            }
        }
    }

    #[test]
    fn refuses_what_could_be_read_differently() {
        for (text, expected) in [
            (r#"{"a":1,"b":{"c":1,"c":2}}"#, "duplicate key `c`"),
            (
                r#"{"$serde_json::private::Number":"1"}"#,
                "invalid type: string \"1\", expected a number: the key",
            ),
            (
                r#"{"\u0024serde_json::private::Number":"\u0031"}"#,
                "invalid type: string \"1\", expected a number: the key",
            ),
            (
                r#"{"$serde_json::private::Number":{}}"#,
                "invalid type: map, expected a number: the key",
            ),
            (
                r#"{"a":1,"$serde_json::private::Number":"1"}"#,
                "invalid type: string \"1\", expected a number: the key",
            ),
            ("[1e9999999999]", "number out of range"),
            (r#"["\ud800"]"#, "unexpected end of hex escape"),
            ("[1] x", "trailing characters"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        for (text, values) in [("[[0", ",0"), (r#"[{"a":1}"#, r#",{"b":1}"#)] {
            let text = format!("{text}{}", values.repeat(MAX_VALUES));
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.starts_with("more than 500000 values"), "{error}");
        }
        assert!(
            parse(&"[".repeat(10_000))
                .unwrap_err()
                .to_string()
                .starts_with("recursion limit")
        );
        for text in [
            "18446744073709551615",
            "-9223372036854775808",
            "9007199254740993",
            "1e300",
            "-1e309",
            r#"{"a":"99999999999999999999","b":1e25}"#,
        ] {
            let value = parse(text).unwrap();
            assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        }
        for number in [
            "18446744073709551616",
            "-9223372036854775809",
            "0.1234567890123456789",
            "1.50",
            "-0.0",
            "1e-400",
        ] {
            assert_eq!(
                parse(&format!("[{number}]")).unwrap().to_string(),
                format!("[{number}]")
            );
        }
    }
}
