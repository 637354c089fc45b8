//! What may be written at a place of the tree, from the schema that the types make.

use hookwire_base::event::EventShape;
use hookwire_base::syntax::node::Step;
use hookwire_engine::definitions::schema;
use serde_json::Value;
use std::sync::LazyLock;

/// The schema of definition files.
pub(super) static FILE: LazyLock<Schema> = LazyLock::new(|| Schema(schema::definitions()));
/// The schema of events.
pub(super) static EVENT: LazyLock<Schema> =
    LazyLock::new(|| Schema(schemars::schema_for!(EventShape).as_value().clone()));

/// A JSON Schema that is walked by what is written.
pub(super) struct Schema(Value);

/// How far references and alternatives are followed: the schemas refer to themselves nowhere.
const MAX_DEPTH: usize = 16;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Text,
    Number,
    Bool,
    List,
    Map,
    Any,
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Number => "number",
            Kind::Bool => "`true` or `false`",
            Kind::List => "list",
            Kind::Map => "map",
            Kind::Any => "anything",
        }
    }
}

/// The schemas that apply at a place.
pub(super) struct Docs<'s> {
    schema: &'s Schema,
    /// Descriptions, the most particular first.
    pub(super) about: Vec<&'s str>,
    /// Every form that it may take.
    forms: Vec<&'s Value>,
}

/// A key that a map may have.
pub(super) struct Member<'s> {
    /// The key.
    pub(super) name: &'s str,
    /// It can't be left out.
    pub(super) is_required: bool,
    /// The value itself.
    pub(super) docs: Docs<'s>,
}

/// One of the values that are listed.
pub(super) struct Choice<'s> {
    /// The value.
    pub(super) value: &'s Value,
    /// Its description.
    pub(super) about: Option<&'s str>,
}

impl Schema {
    /// The schemas at a path; none for a path that the schema doesn't have.
    pub(super) fn docs_at(&self, path: &[Step<'_>]) -> Docs<'_> {
        path.iter()
            .fold(self.collect_docs([&self.0]), |docs, step| {
                docs.step_into(*step)
            })
    }

    fn collect_docs<'s>(&'s self, schemas: impl IntoIterator<Item = &'s Value>) -> Docs<'s> {
        let mut docs = Docs {
            schema: self,
            about: Vec::new(),
            forms: Vec::new(),
        };
        for schema in schemas {
            docs.add_schema(schema, true, 0);
        }
        docs
    }
}

impl<'s> Docs<'s> {
    fn add_schema(&mut self, schema: &'s Value, is_described: bool, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(about) = schema["description"]
            .as_str()
            .filter(|it| is_described && !self.about.contains(it))
        {
            self.about.push(about);
        }
        let reference = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
        if let Some(target) = reference.and_then(|pointer| self.schema.0.pointer(pointer)) {
            self.add_schema(target, is_described, depth + 1);
        }
        let mut has_forms = reference.is_some();
        for list in ["anyOf", "oneOf"] {
            // An alternative that only lists required keys is no form of its own.
            let forms: Vec<_> = schema[list]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|value| {
                    value["type"] != "null"
                        && value
                            .get("required")
                            .is_none_or(|_| value.get("properties").is_some())
                })
                .collect();
            has_forms |= !forms.is_empty();
            for form in &forms {
                self.add_schema(form, is_described && forms.len() == 1, depth + 1);
            }
        }
        if !has_forms {
            self.forms.push(schema);
        }
    }

    fn step_into(&self, step: Step<'_>) -> Docs<'s> {
        let within = self.forms.iter().filter_map(|form| match step {
            Step::Index(_) => form.get("items"),
            Step::Key(key) => form["properties"]
                .get(key)
                .or_else(|| form.get("additionalProperties").filter(|it| it.is_object())),
        });
        self.schema.collect_docs(within)
    }

    /// The keys of the maps that it may be.
    pub(super) fn members(&self) -> Vec<Member<'s>> {
        let mut members: Vec<Member<'s>> = Vec::new();
        for form in &self.forms {
            for (key, schema) in form["properties"].as_object().into_iter().flatten() {
                if !members.iter().any(|member| member.name == key) {
                    members.push(Member {
                        name: key,
                        is_required: form["required"]
                            .as_array()
                            .is_some_and(|it| it.iter().any(|it| it == key)),
                        docs: self.schema.collect_docs([schema]),
                    });
                }
            }
        }
        members
    }

    /// The values that are listed.
    pub(super) fn choices(&self) -> Vec<Choice<'s>> {
        let mut choices: Vec<Choice<'s>> = Vec::new();
        for form in &self.forms {
            let about = form["description"]
                .as_str()
                .filter(|_| form.get("const").is_some());
            let listed = form["enum"].as_array().into_iter().flatten();
            for value in form.get("const").into_iter().chain(listed) {
                if !choices.iter().any(|choice| choice.value == value) {
                    choices.push(Choice { value, about });
                }
            }
            if kinds_of(form).any(|kind| kind == Kind::Bool) {
                choices.extend(
                    [&Value::Bool(true), &Value::Bool(false)]
                        .map(|value| Choice { value, about: None }),
                );
            }
        }
        choices
    }

    /// The types that it may have.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = self.forms.iter().flat_map(|form| kinds_of(form)).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    /// It may be this and nothing else.
    pub(super) fn is_only(&self, kind: Kind) -> bool {
        self.kinds() == [kind]
    }

    /// It is a map with one member, which says which.
    pub(super) fn is_tagged(&self) -> bool {
        self.forms.iter().any(|form| form["maxProperties"] == 1)
    }

    /// The schemas of its items.
    pub(super) fn items(&self) -> Docs<'s> {
        self.step_into(Step::Index(0))
    }

    /// The default.
    pub(super) fn default(&self) -> Option<&'s Value> {
        self.forms
            .iter()
            .find_map(|form| form.get("default").filter(|default| !default.is_null()))
    }

    /// How soon it is thought of, as far as the schema tells: amounts, then what is said or not,
    /// then what is fine as it is. The schema has lost the order of the types.
    pub(super) fn rank(&self) -> usize {
        match self.default() {
            Some(Value::Number(_)) => 0,
            Some(Value::String(text)) if !text.is_empty() && self.choices().is_empty() => 2,
            Some(Value::Bool(false)) => 3,
            Some(Value::Array(it)) if it.is_empty() => 3,
            Some(Value::Object(it)) if it.is_empty() => 3,
            _ => 1,
        }
    }

    /// Its types and its default, in a line.
    pub(super) fn type_line(&self) -> Option<String> {
        let kinds: Vec<_> = self.kinds().iter().map(|kind| kind.words()).collect();
        let choices = self
            .choices()
            .iter()
            .filter_map(|choice| choice.value.as_str().map(|value| format!("`{value}`")))
            .collect::<Vec<_>>();
        let default = self.default();
        let default = default
            .filter(|value| !matches!(value, Value::Array(value) if value.is_empty()))
            .map(|default| format!("; default `{default}`"))
            .unwrap_or_default();
        let kinds = match &choices[..] {
            [] if kinds.is_empty() => return None,
            choices @ [_, ..] if choices.len() <= 12 && self.is_only(Kind::Text) => {
                choices.join(", ")
            }
            _ => kinds.join(" or "),
        };
        Some(format!("{kinds}{default}"))
    }

    /// Its description in Markdown; empty if there is none.
    pub(super) fn text(&self) -> String {
        self.about.join("\n\n")
    }
}

fn kinds_of(form: &Value) -> impl Iterator<Item = Kind> + use<'_> {
    let names = match &form["type"] {
        Value::Array(names) => names.as_slice(),
        Value::Null => &[],
        name => std::slice::from_ref(name),
    };
    let listed = form
        .get("const")
        .into_iter()
        .chain(form["enum"].as_array().into_iter().flatten());
    let of_values = listed
        .take(if names.is_empty() { 1 } else { 0 })
        .map(|value| match value {
            Value::Bool(_) => Kind::Bool,
            Value::Number(_) => Kind::Number,
            _ => Kind::Text,
        });
    let says_nothing =
        names.is_empty() && form.get("const").is_none() && form.get("enum").is_none();
    let named = names.iter().filter_map(|name| match name.as_str()? {
        "string" => Some(Kind::Text),
        "integer" | "number" => Some(Kind::Number),
        "boolean" => Some(Kind::Bool),
        "array" => Some(Kind::List),
        "object" => Some(Kind::Map),
        _ => None,
    });
    named
        .chain(of_values)
        .chain(says_nothing.then_some(Kind::Any))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_described() {
        let hook = [Step::Key("hooks"), Step::Index(0)];
        let at = |keys: &[&'static str]| {
            let keys = keys.iter().map(|key| Step::Key(key));
            FILE.docs_at(&hook.into_iter().chain(keys).collect::<Vec<_>>())
        };
        for (path, kinds, line, about) in [
            (
                &["timeout"][..],
                &[Kind::Text, Kind::Number][..],
                "text or number",
                "For one run",
            ),
            (
                &["once"],
                &[Kind::Bool],
                "`true` or `false`",
                "At most once",
            ),
            (
                &["fail"],
                &[Kind::Text],
                "`open`, `closed`, `ask`",
                "What a failure",
            ),
            (&["http"], &[Kind::Map], "map", "a POST to a service"),
            (&["http", "url"], &[Kind::Text], "text", "Where to"),
            (
                &["command", "run"],
                &[Kind::Text, Kind::List],
                "text or list",
                "A text for `sh -c`",
            ),
            (
                &["guard", "step-limit", "max"],
                &[Kind::Number],
                "number; default `20`",
                "How many pass.",
            ),
            (
                &["guard"],
                &[Kind::Text, Kind::Map],
                "text or map",
                "a built-in guard",
            ),
            (&["command", "env", "ANY"], &[Kind::Text], "text", ""),
        ] {
            let docs = at(path);
            assert_eq!(docs.kinds(), kinds, "{path:?}");
            assert_eq!(docs.type_line().as_deref(), Some(line), "{path:?}");
            assert!(docs.text().starts_with(about), "{path:?}: {}", docs.text());
        }
        assert!(at(&["nobody", "knows"]).kinds().is_empty());
        let members = at(&["guard"]).members();
        assert!(
            members
                .iter()
                .any(|it| it.name == "step-limit" && !it.docs.members().is_empty())
        );
        assert!(
            at(&["http"])
                .members()
                .iter()
                .any(|it| it.name == "url" && it.is_required)
        );
        let choices = at(&["guard"]).choices();
        assert!(
            choices
                .iter()
                .any(|it| it.value == "approval" && it.about.is_some())
        );
        let event = EVENT.docs_at(&[Step::Key("tool"), Step::Key("callId")]);
        assert_eq!(event.text(), "The call's identifier.");
    }
}
