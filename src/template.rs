//! `${path}` placeholders over an event.
//!
//! A path names a member of the event (`${tool.input.path}`); `${timestamp}` is the time in
//! RFC 3339. One pass: what a value contains is never expanded again. `$${` stands for `${`.

use super::Call;
use serde_json::Value;

/// What a template is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Text(String),
    Placeholder(String),
}

impl Template {
    /// Takes a text apart.
    ///
    /// # Errors
    /// An unclosed or empty placeholder.
    pub(crate) fn new(text: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if let Some(before) = rest[..at].strip_suffix('$') {
                literal.push_str(before);
                literal.push_str("${");
                rest = &rest[at + 2..];
                continue;
            }
            literal.push_str(&rest[..at]);
            let end = rest[at..].find('}').ok_or("a placeholder `${` is not closed")? + at;
            let path = rest[at + 2..end].trim();
            if path.is_empty() || path.split('.').any(str::is_empty) {
                return Err(format!("`{}` names no member; write `${{tool.name}}`", &rest[at..=end]));
            }
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            parts.push(Part::Placeholder(path.to_string()));
            rest = &rest[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Template(parts))
    }

    /// The paths that it names.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Placeholder(path) => Some(path.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The value: as it is for a lone placeholder, else text. What the event lacks is null, or
    /// empty within text.
    pub(crate) fn value(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Value {
        match &self.0[..] {
            [Part::Placeholder(path)] => lookup(path).unwrap_or(Value::Null),
            _ => Value::String(self.text(lookup)),
        }
    }

    /// The text.
    pub(crate) fn text(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> String {
        self.0
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Placeholder(path) => match lookup(path) {
                    Some(Value::String(text)) => text,
                    Some(Value::Null) | None => String::new(),
                    Some(other) => other.to_string(),
                },
            })
            .collect()
    }
}

/// Any JSON with its strings taken apart.
#[derive(Debug)]
pub(crate) enum Body {
    Text(Template),
    List(Vec<Body>),
    Map(Vec<(String, Body)>),
    Other(Value),
}

impl Body {
    /// Takes every string apart.
    ///
    /// # Errors
    /// As for [`Template::new`].
    pub(crate) fn new(value: Value) -> Result<Body, String> {
        Ok(match value {
            Value::String(text) => Body::Text(Template::new(&text)?),
            Value::Array(items) => Body::List(items.into_iter().map(Body::new).collect::<Result<_, _>>()?),
            Value::Object(members) => Body::Map(
                members.into_iter().map(|(key, value)| Ok((key, Body::new(value)?))).collect::<Result<_, String>>()?,
            ),
            other => Body::Other(other),
        })
    }

    /// The JSON with what the call's event says.
    pub(crate) fn fill(&self, call: &Call<'_>) -> Value {
        match self {
            Body::Text(template) => template.value(&|path| lookup(call, path)),
            Body::List(items) => items.iter().map(|item| item.fill(call)).collect(),
            Body::Map(members) => {
                Value::Object(members.iter().map(|(key, body)| (key.clone(), body.fill(call))).collect())
            }
            Body::Other(value) => value.clone(),
        }
    }
}

/// Looks a path up in the event of a call.
pub(crate) fn lookup(call: &Call<'_>, path: &str) -> Option<Value> {
    let event = call.moment.event();
    match path {
        "timestamp" => Some(Value::String(humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string())),
        "hook" => Some(Value::String(call.hook.name.to_string())),
        _ => path
            .split('.')
            .try_fold(&event.data, |at, key| match at {
                Value::Array(items) => items.get(key.parse::<usize>().ok()?),
                other => other.get(key),
            })
            .cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn templates() {
        let lookup = |path: &str| match path {
            "tool.name" => Some(json!("${timestamp}")),
            "n" => Some(json!({"a": 1})),
            _ => None,
        };
        for (text, expected) in [
            ("plain", json!("plain")),
            ("${tool.name}", json!("${timestamp}")),
            ("<${tool.name}>", json!("<${timestamp}>")),
            ("${n}", json!({"a": 1})),
            ("n=${n};", json!("n={\"a\":1};")),
            ("${missing}", json!(null)),
            ("[${missing}]", json!("[]")),
            ("a $${x} ${n}", json!("a ${x} {\"a\":1}")),
        ] {
            assert_eq!(Template::new(text).unwrap().value(&lookup), expected, "{text}");
        }
        for bad in ["${", "a ${} b", "${a..b}"] {
            assert!(Template::new(bad).is_err(), "{bad}");
        }
    }
}
