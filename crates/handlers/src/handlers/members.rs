//! The members that the definition of a handler may have, for people who write one of them beside
//! it.

use super::{KINDS, Row};
use schemars::SchemaGenerator;
use serde_json::Value;
use std::collections::BTreeSet;

/// How the text that stands for a whole definition is called in its map.
const OF_TEXT: [(&str, &str); 6] = [
    ("command", "run"),
    ("prompt", "text"),
    ("script", "code"),
    ("agent", "task"),
    ("http", "url"),
    ("callable", "python"),
];

/// How deep the forms of a definition are in one another.
const MAX_DEPTH: usize = 4;

/// The member that a text alone stands for.
pub fn of_text(key: &str) -> Option<&'static str> {
    OF_TEXT
        .iter()
        .find(|(it, _)| *it == key)
        .map(|(_, member)| *member)
}

/// Whether the definition of a handler may have a member, of a guard if one is named.
pub fn takes(key: &str, guard: Option<&str>, member: &str) -> bool {
    let Some(row) = KINDS.iter().find(|row| row.key == key) else {
        return false;
    };
    members(row, guard).contains(member)
}

/// The handler that alone may have a member, where a hook has none.
pub fn only_with(member: &str) -> Option<&'static str> {
    let mut having = KINDS
        .iter()
        .filter(|row| row.in_files && row.key != "guard");
    let first = having.find(|row| members(row, None).contains(member))?;
    having
        .all(|row| !members(row, None).contains(member))
        .then_some(first.key)
}

fn members(row: &Row, guard: Option<&str>) -> BTreeSet<String> {
    let mut generator = SchemaGenerator::default();
    let schema = (row.schema)(&mut generator);
    let all = generator.definitions();
    let mut found = BTreeSet::new();
    match guard {
        None => properties(schema.as_value(), all, MAX_DEPTH, &mut |name, _| {
            found.extend([name.to_string()])
        }),
        Some(guard) => properties(schema.as_value(), all, MAX_DEPTH, &mut |name, settings| {
            if name == guard {
                properties(settings, all, MAX_DEPTH, &mut |name, _| {
                    found.extend([name.to_string()])
                });
            }
        }),
    }
    found
}

/// Takes each property of each form that a schema has.
fn properties(
    schema: &Value,
    all: &serde_json::Map<String, Value>,
    depth: usize,
    take: &mut dyn FnMut(&str, &Value),
) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        take(name, property);
    }
    let named = schema["$ref"]
        .as_str()
        .and_then(|it| all.get(it.rsplit('/').next()?));
    let forms = ["anyOf", "oneOf", "allOf"]
        .iter()
        .flat_map(|it| schema[*it].as_array())
        .flatten();
    for form in forms.chain(named).filter(|_| depth > 0) {
        properties(form, all, depth - 1, take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_those_of_the_definitions() {
        for (key, guard, member, expected) in [
            ("command", None, "env", true),
            ("command", None, "args", false),
            ("prompt", None, "model", true),
            ("http", None, "headers", true),
            ("callable", None, "args", true),
            ("rewrite", None, "program", true),
            ("deny", None, "reason", false),
            ("guard", Some("step-limit"), "max", true),
            ("guard", Some("redact-secrets"), "action", true),
            ("guard", Some("redact-secrets"), "max", false),
        ] {
            assert_eq!(takes(key, guard, member), expected, "{key} {member}");
        }
        // What a text stands for is a member, too.
        for (key, member) in OF_TEXT
            .iter()
            .filter(|(key, _)| KINDS.iter().any(|row| row.key == *key))
        {
            assert!(takes(key, None, member), "{key} {member}");
        }
        assert_eq!(
            (only_with("program"), only_with("env")),
            (Some("rewrite"), None)
        );
    }
}
