//! A regex in a definition. Its mistakes are found while reading, so that they are told at its
//! place.

use hookwire_base::syntax::values::schema_of;
use hookwire_rules::matching::last_line;
use regex::{Regex, RegexBuilder};
use serde::de::{Deserialize, Deserializer, Error};

/// A regex.
#[derive(Clone, Debug)]
pub(super) struct Pattern(pub(super) Regex);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Err(D::Error::custom("an empty regex would match everything"));
        }
        let regex = RegexBuilder::new(&text).size_limit(1 << 20).build();
        regex.map(Pattern).map_err(|error| {
            D::Error::custom(format_args!(
                "bad regex `{text}`: {}",
                last_line(&error.to_string())
            ))
        })
    }
}

schema_of! { Pattern, "Regex", _ => {
    "description": "A regex, searched for.",
    "type": "string",
    "minLength": 1,
} }
