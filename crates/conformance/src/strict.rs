//! JSON in which no object names a member twice: two parsers could read that differently.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt::{Formatter, Result as Written};

/// Parses one JSON text.
pub(crate) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Unambiguous>(text)?;
    serde_json::from_str(text)
}

/// Any value whose objects name no member twice.
struct Unambiguous;

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unambiguous, D::Error> {
        deserializer.deserialize_any(Unambiguous)
    }
}

impl<'de> Visitor<'de> for Unambiguous {
    type Value = Unambiguous;

    fn expecting(&self, f: &mut Formatter<'_>) -> Written {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Unambiguous, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unambiguous, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unambiguous, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unambiguous, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unambiguous, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unambiguous, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unambiguous, A::Error> {
        while items.next_element::<Unambiguous>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Unambiguous, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            members.next_value::<Unambiguous>()?;
            if let Some(name) = names.replace(name) {
                return Err(A::Error::custom(format_args!("duplicate key `{name}`")));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_is_there_twice_is_refused() {
        for (text, is_fine) in [
            (r#"{"a":1.50,"b":[null,true,-1,"x",{"a":1}]}"#, true),
            (r#"{"a":1,"a":1}"#, false),
            (r#"[{"b":{"a":1,"\u0061":1}}]"#, false),
            ("{", false),
        ] {
            assert_eq!(parse(text).is_ok(), is_fine, "{text}");
        }
    }
}
