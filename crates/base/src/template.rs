//! Texts with placeholders for what an event says. One pass: what a value contains is never
//! expanded again.
//!
//! hookwire's own are `${path}` ([`PATHS`]); other vocabularies have theirs.

use crate::event::Event;
use crate::support::amounts::rfc3339;
use serde_json::Value;
use std::ops::Range;
use std::time::SystemTime;

/// How a vocabulary writes placeholders, and what they stand for.
#[derive(Debug)]
pub struct Placeholders {
    /// How they are written.
    pub style: Style,
    /// Their names, to tell what was meant by another; none for paths.
    pub names: &'static [&'static str],
    /// Whether a name is one of them; where it isn't, the text stays as it is.
    pub knows: fn(&str) -> bool,
    /// What a name stands for at an event.
    pub value: fn(&Event, &str) -> Option<Value>,
}

/// How placeholders are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `${a.b}`; `$${` stands for `${`.
    Paths,
    /// `{name}`.
    Braces,
    /// `$name` and `${name}`; `$$` stands for `$`. (Python's `string.Template`.)
    Dollars,
}

/// hookwire's own: a path names a member of the event (`${tool.input.path}`), `${timestamp}` is the
/// time in RFC 3339.
pub const PATHS: Placeholders = Placeholders {
    style: Style::Paths,
    names: &[],
    knows: |_| true,
    value: at_path,
};

/// Names beside the event's members, with what they stand for: what a tool call is about, whatever
/// the tool calls its argument. At an event without a tool's input they are members like others.
pub const OF_CALLS: [(&str, &str); 3] = [
    (
        "path",
        "the path that the call is about, whatever its argument is called",
    ),
    (
        "command",
        "the command that the call runs, whatever its argument is called",
    ),
    (
        "url",
        "the URL that the call is about, whatever its argument is called",
    ),
];

fn at_path(event: &Event, path: &str) -> Option<Value> {
    if path == "timestamp" {
        return Some(Value::String(rfc3339(
            event.time.unwrap_or_else(SystemTime::now),
        )));
    }
    let step = |at: &'_ Value, key: &str| match at {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?).cloned(),
        other => other.get(key).cloned(),
    };
    let mut keys = path.split('.');
    let first = event.data().get(keys.next()?)?.clone();
    keys.try_fold(first, |at, key| step(&at, key))
}

/// What a template is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Text(String),
    Placeholder {
        name: String,
        /// Where it is written, in bytes of the text.
        at: Range<usize>,
    },
}

impl Template {
    /// Takes a text apart.
    ///
    /// # Errors
    /// An unclosed or empty placeholder.
    pub fn new(text: &str, placeholders: &Placeholders) -> Result<Template, String> {
        match placeholders.style {
            Style::Paths => Template::with_paths(text),
            style => Ok(Template::with_names(text, style, placeholders.knows)),
        }
    }

    /// Takes a text apart at everything that is written as a name in this style, whether there is
    /// such a name or not.
    pub fn with_any_name(text: &str, style: Style) -> Template {
        Template::with_names(text, style, |name| !name.is_empty())
    }

    fn with_names(text: &str, style: Style, knows: fn(&str) -> bool) -> Template {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        let sign = if style == Style::Braces { '{' } else { '$' };
        while let Some(at) = rest.find(sign) {
            literal.push_str(&rest[..at]);
            rest = &rest[at..];
            let (name, len) = match (style, rest[1..].chars().next()) {
                (Style::Dollars, Some('$')) => {
                    literal.push('$');
                    rest = &rest[2..];
                    continue;
                }
                (Style::Dollars, Some('{')) => (word(&rest[2..]), 3),
                (Style::Dollars, _) => (word(&rest[1..]), 1),
                _ => (word(&rest[1..]), 2),
            };
            let is_closed = len == 1 || rest[len - 1 + name.len()..].starts_with('}');
            if is_closed && knows(name) {
                if !literal.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut literal)));
                }
                let start = text.len() - rest.len();
                parts.push(Part::Placeholder {
                    name: name.to_string(),
                    at: start..start + len + name.len(),
                });
                rest = &rest[len + name.len()..];
            } else {
                literal.push(sign);
                rest = &rest[1..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Template(parts)
    }

    fn with_paths(text: &str) -> Result<Template, String> {
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
            let end = rest[at..]
                .find('}')
                .ok_or("a placeholder `${` is not closed")?
                + at;
            let path = rest[at + 2..end].trim();
            if path.is_empty() || path.split('.').any(str::is_empty) {
                return Err(format!(
                    "`{}` names no member; write `${{tool.name}}`",
                    &rest[at..=end]
                ));
            }
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            let start = text.len() - rest.len();
            parts.push(Part::Placeholder {
                name: path.to_string(),
                at: start + at..start + end + 1,
            });
            rest = &rest[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Template(parts))
    }

    /// The paths that it names.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.places().map(|(path, _)| path)
    }

    /// The paths that it names with where they are written, in bytes of the text.
    pub fn places(&self) -> impl Iterator<Item = (&str, &Range<usize>)> {
        self.0.iter().filter_map(|part| match part {
            Part::Placeholder { name, at } => Some((name.as_str(), at)),
            Part::Text(_) => None,
        })
    }

    /// The value: as it is for a lone placeholder, else text. What the event lacks is null, or
    /// empty within text.
    pub fn value(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Value {
        match &self.0[..] {
            [Part::Placeholder { name, .. }] => lookup(name).unwrap_or(Value::Null),
            _ => Value::String(self.text(lookup)),
        }
    }

    /// The text.
    pub fn text(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> String {
        self.0
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Placeholder { name, .. } => match lookup(name) {
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
pub enum Body {
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
    pub fn new(value: Value, placeholders: &Placeholders) -> Result<Body, String> {
        let new = |value| Body::new(value, placeholders);
        Ok(match value {
            Value::String(text) => Body::Text(Template::new(&text, placeholders)?),
            Value::Array(items) => {
                Body::List(items.into_iter().map(new).collect::<Result<_, _>>()?)
            }
            Value::Object(members) => Body::Map(
                members
                    .into_iter()
                    .map(|(key, value)| Ok((key, new(value)?)))
                    .collect::<Result<_, String>>()?,
            ),
            other => Body::Other(other),
        })
    }

    /// The JSON with what the placeholders stand for.
    pub fn fill(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Value {
        match self {
            Body::Text(template) => template.value(lookup),
            Body::List(items) => items.iter().map(|item| item.fill(lookup)).collect(),
            Body::Map(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, body)| (key.clone(), body.fill(lookup)))
                    .collect(),
            ),
            Body::Other(value) => value.clone(),
        }
    }
}

/// The name that a text begins with.
fn word(text: &str) -> &str {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(text.len());
    &text[..end]
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
            assert_eq!(
                Template::new(text, &PATHS).unwrap().value(&lookup),
                expected,
                "{text}"
            );
        }
        for bad in ["${", "a ${} b", "${a..b}"] {
            assert!(Template::new(bad, &PATHS).is_err(), "{bad}");
        }
    }

    #[test]
    fn names() {
        let value = |name: &str| Some(json!(format!("<{name}>")));
        let knows: fn(&str) -> bool = |name| matches!(name, "NAME" | "toolName");
        for (style, text, expected) in [
            (
                Style::Dollars,
                "a $NAME, ${NAME}. $NAMES $$NAME $ ${NAME $other ${other}",
                "a <NAME>, <NAME>. $NAMES $NAME $ ${NAME $other ${other}",
            ),
            (Style::Dollars, "$", "$"),
            (
                Style::Braces,
                "a {toolName} {other} {{toolName}} {toolName",
                "a <toolName> {other} {<toolName>} {toolName",
            ),
            (Style::Braces, "{", "{"),
        ] {
            assert_eq!(
                Template::with_names(text, style, knows).text(&value),
                expected,
                "{text}"
            );
        }
    }
}
