//! What a definition says of an option. Its mistakes are found while reading, so that they are told
//! at its place.

use super::in_place::OptionChange;
use hookwire_base::syntax::values::schema_of;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;

/// What becomes of an option, as it is written.
pub(super) struct RawOption(pub(super) OptionChange);

impl<'de> Deserialize<'de> for RawOption {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = OptionChange;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an option, true to add it, or null to remove it")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<OptionChange, E> {
                Ok(OptionChange::Replace(text.to_string()))
            }

            fn visit_bool<E: Error>(self, is_there: bool) -> Result<OptionChange, E> {
                Ok(if is_there {
                    OptionChange::Add
                } else {
                    OptionChange::Remove
                })
            }

            fn visit_unit<E: Error>(self) -> Result<OptionChange, E> {
                Ok(OptionChange::Remove)
            }
        }
        deserializer.deserialize_any(Reader).map(RawOption)
    }
}

schema_of! { RawOption, "OptionChange", _ => {
    "description": "The option that stands in its place; true adds it, null or false removes it.",
    "type": ["string", "boolean", "null"],
} }
