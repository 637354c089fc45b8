//! Values that several definitions may hold: durations, one text or a list, a text or a map.

pub use crate::{forms, schema_of, text_or_map};
use serde::{Deserialize, Deserializer};
use std::fmt::Display;
use std::time::Duration;

/// The schema of a value that is read by hand: its name and its form.
#[macro_export]
macro_rules! schema_of {
    ($value:ty, $name:literal, $generator:pat_param => $form:tt) => {
        impl schemars::JsonSchema for $value {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($form)
            }
        }
    };
}

/// `5s`, `250ms`, `1m 30s`; a bare number is seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawDuration(Duration);

/// The longest time that one run of a hook may be given.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

impl RawDuration {
    /// More than 0 and at most 24 h.
    pub fn get(self) -> Duration {
        self.0
    }

    fn within_bounds<E: serde::de::Error>(
        duration: Option<Duration>,
        found: impl Display,
    ) -> Result<RawDuration, E> {
        match duration {
            Some(duration) if duration <= MAX_TIMEOUT && !duration.is_zero() => {
                Ok(RawDuration(duration))
            }
            _ => Err(E::custom(format_args!(
                "a duration is more than 0 and at most 24 h, found `{found}`"
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for RawDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = RawDuration;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a duration such as `5s` or `250ms`, or a number of seconds")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<RawDuration, E> {
                match humantime::parse_duration(text) {
                    Ok(duration) => RawDuration::within_bounds(Some(duration), text),
                    Err(_) => Err(E::custom(format_args!(
                        "expected a duration such as `5s` or `250ms`, found `{text}`"
                    ))),
                }
            }

            fn visit_u64<E: serde::de::Error>(self, seconds: u64) -> Result<RawDuration, E> {
                RawDuration::within_bounds(Some(Duration::from_secs(seconds)), seconds)
            }

            fn visit_i64<E: serde::de::Error>(self, seconds: i64) -> Result<RawDuration, E> {
                RawDuration::within_bounds(
                    seconds.try_into().ok().map(Duration::from_secs),
                    seconds,
                )
            }

            fn visit_f64<E: serde::de::Error>(self, seconds: f64) -> Result<RawDuration, E> {
                RawDuration::within_bounds(Duration::try_from_secs_f64(seconds).ok(), seconds)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

schema_of! { RawDuration, "Duration", _ => {
    "description": "`5s`, `250ms`, `1m 30s`; a bare number is seconds.",
    "anyOf": [{ "type": "string", "minLength": 1 }, { "type": "number", "exclusiveMinimum": 0 }],
} }

/// Reads a value that people may write in several forms. What an arm gives is the value, or what is
/// wrong.
#[macro_export]
macro_rules! forms {
    ($value:ty, $expecting:literal, $($form:ident($it:ident $(: $as:ty)?) => $read:expr),+ $(,)?) => {
        impl<'de> serde::Deserialize<'de> for $value {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Forms;
                impl<'de> serde::de::Visitor<'de> for Forms {
                    type Value = $value;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }

                    $($crate::forms! { @$form $value, $it $(: $as)?, $read })+
                }
                deserializer.deserialize_any(Forms)
            }
        }
    };
    (@text $value:ty, $it:ident, $read:expr) => {
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$value, E> {
            let read = |$it: String| -> Result<$value, String> { $read };
            read(text.to_string()).map_err(E::custom)
        }
    };
    (@list $value:ty, $it:ident: $as:ty, $read:expr) => {
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<$value, A::Error> {
            let read = |$it: $as| -> Result<$value, String> { $read };
            let list = serde::de::value::SeqAccessDeserializer::new(list);
            read(serde::Deserialize::deserialize(list)?).map_err(serde::de::Error::custom)
        }
    };
    (@map $value:ty, $it:ident: $as:ty, $read:expr) => {
        fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<$value, A::Error> {
            let read = |$it: $as| -> Result<$value, String> { $read };
            let map = serde::de::value::MapAccessDeserializer::new(map);
            read(serde::Deserialize::deserialize(map)?).map_err(serde::de::Error::custom)
        }
    };
}

/// One text or a list of them.
#[derive(Clone, Debug, PartialEq)]
pub struct OneOrMany(pub Vec<String>);

forms! { OneOrMany, "a string or a list of strings",
    text(text) => Ok(OneOrMany(vec![text])),
    list(texts: Vec<String>) => Ok(OneOrMany(texts)),
}

impl OneOrMany {
    /// The texts, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

schema_of! { OneOrMany, "OneOrMany", _ => {
    "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }],
} }

/// A value that is a text or, to say more, a map: how `$raw($long)` is read, and its schema.
#[macro_export]
macro_rules! text_or_map {
    ($raw:ident($long:ty), $schema:literal, $expecting:literal, $about:literal, $of_text:expr) => {
        $crate::forms! { $raw, $expecting,
            text(text) => {
                let of_text: fn(String) -> $long = $of_text;
                Ok($raw(of_text(text)))
            },
            map(map: $long) => Ok($raw(map)),
        }

        $crate::schema_of! { $raw, $schema, generator => {
            "description": $about,
            "anyOf": [{ "type": "string", "minLength": 1 }, generator.subschema_for::<$long>()],
        } }
    };
}
