//! Settings that more than one guard has. Their mistakes are found while reading, so that they are
//! told at the very item of a list. Regexes are [`super::super::pattern`]'s.

use hookwire_base::syntax::values::schema_of;
use hookwire_rules::matching::when::When;
use serde::de::{Deserialize, Deserializer, Error};

/// A CEL expression over the event.
#[derive(Debug)]
pub(super) struct Expression(pub(super) When);

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        When::new(&text).map(Expression).map_err(|error| {
            let (at, message) = (error.at.start + 1, error.message);
            D::Error::custom(format_args!(
                "`{text}` is not valid CEL at character {at}: {message}"
            ))
        })
    }
}

schema_of! { Expression, "Expression", _ => {
    "description": "A CEL expression over the event, e.g. `tool.name`.",
    "type": "string",
    "minLength": 1,
} }
