//! The JSON Schema of definition files, from the types that read them.

use super::written::{RawDefaults, RawHook, RawPolicy, RawToolName};
use crate::hook_set::Untrusted;
use hookwire_base::event::EVENTS;
use hookwire_dialects::DIALECTS;
use hookwire_handlers::handlers::KINDS;
use hookwire_rules::matching::tools::TOOLS;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The schema of a definition file. Editors take it for completion and checks of YAML, TOML and
/// JSON alike.
pub fn definitions() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let defaults = generator.subschema_for::<RawDefaults>();
    let policy = generator.subschema_for::<RawPolicy>();
    let untrusted = generator.subschema_for::<Untrusted>();
    let tool_name = generator.subschema_for::<RawToolName>();
    let _ = generator.subschema_for::<RawHook>();
    // The sample kind is for tests only; the schema is the product's.
    let kinds: Vec<_> = KINDS
        .iter()
        .filter(|kind| kind.key != "sample")
        .map(|kind| (kind, (kind.schema)(&mut generator)))
        .collect();
    let dialects: Vec<_> = DIALECTS
        .iter()
        .map(|dialect| dialect.name())
        .filter(|name| *name != "sample")
        .collect();
    let mut definitions = json!(generator.take_definitions(true));
    let hook = &mut definitions["Hook"];
    for (kind, schema) in &kinds {
        let mut schema = json!(schema);
        schema["description"] = json!(kind.about);
        hook["properties"][kind.key] = schema;
    }
    let names: Vec<_> = EVENTS
        .iter()
        .map(|spec| json!({ "const": spec.name, "description": spec.about }))
        .collect();
    definitions["EventName"] = json!({
        "description": "An event, by its canonical or a dialect's name; `custom:Anything` is known to its agent only.",
        "anyOf": [{ "oneOf": names }, { "type": "string" }],
    });
    let hook = &mut definitions["Hook"];
    hook["properties"]["on"] = json!({
        "description": hook["properties"]["on"]["description"],
        "anyOf": [
            { "const": "*" },
            { "$ref": "#/$defs/EventName" },
            { "type": "array", "items": { "$ref": "#/$defs/EventName" }, "minItems": 1 },
        ],
    });
    let about_name = hook["properties"]["name"]["description"].take();
    hook["properties"]["name"] = json!({ "description": about_name, "type": "string" });
    hook["properties"]["dialect"] =
        json!({ "description": hook["properties"]["dialect"]["description"], "enum": dialects });
    hook["required"] = json!(["name"]);
    // Guards know their events.
    hook["anyOf"] = json!([{ "required": ["on"] }, { "required": ["guard"] }]);
    hook["additionalProperties"] = json!(false);
    hook["oneOf"] = kinds
        .iter()
        .map(|(kind, _)| json!({ "required": [kind.key] }))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hookwire definitions",
        "description": "A file of hooks. YAML, TOML and JSON with comments are all the same model.",
        "type": "object",
        "properties": {
            "$schema": { "type": "string" },
            "dialect": { "description": "The vocabulary that the file's hooks are written for.", "enum": dialects },
            "policy": policy,
            "defaults": defaults,
            "untrusted": untrusted,
            "tools": {
                "description": "Names that the file adds to families of tools, for its layer and inner ones.",
                "type": "object",
                "propertyNames": { "enum": TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>() },
                "additionalProperties": { "anyOf": [tool_name, { "type": "array", "items": tool_name }] },
            },
            "hooks": { "type": "array", "items": { "$ref": "#/$defs/Hook" } },
        },
        "additionalProperties": false,
        "$defs": definitions,
    })
}
